"""Where simulations and other long calls run: in processes of this machine. `fathom.fleet.workers` has hosts.

A worker takes a function of a module and plain arguments. No call depends on another, so any worker can have any.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Protocol, TypeVar

from fathom.errors import FathomError

_KILLED = (
    "the kernel kills processes when memory runs out, and `dmesg` says so; `taskset -c 0 fathom ...` simulates one "
    "drive at a time and needs less"
)
T = TypeVar("T")
K = TypeVar("K")


class Workers(Protocol):
    """Takes calls and makes them somewhere, as many at once as there are cores."""

    def submit(self, function: Callable[..., T], /, *arguments: object) -> "Future[T]":
        """Calls the function of the arguments; the future has what it returns or raises."""
        ...


class InProcess:
    """Makes each call at once in this process: for few calls, which end sooner than a process starts."""

    def submit(self, function: Callable[..., T], /, *arguments: object) -> "Future[T]":
        """Calls the function. Raises what it raises."""
        future: Future[T] = Future()
        future.set_result(function(*arguments))
        return future


@contextmanager
def local_workers(cores: int | None = None, most: int = 1 << 10) -> Iterator[Workers]:
    """Yields that many processes, or one for each core that this one may use, but at most `most`.

    When the `with` ends by an error they are ended too, and write nothing any more. Raises FathomError where a process
    was killed.
    """
    cores = min(most, cores or len(os.sched_getaffinity(0)))
    with ProcessPoolExecutor(cores, mp_context=_Context(), initializer=_begin) as pool:
        try:
            yield pool
        except BaseException as error:
            # The shutdown forgets them. The program may have other processes, which go on.
            own = list(pool._processes.values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in own:
                process.terminate()
                process.join()
            if isinstance(error, BrokenProcessPool):
                raise FathomError("a process that simulates was killed", _KILLED) from None
            raise


def as_they_end(futures: Mapping["Future[T]", K]) -> Iterator[tuple[K, T | FathomError]]:
    """Yields each call's key with its result, or with the error of Fathom's own that it ended with. Raises any
    other.
    """
    for future in as_completed(futures):
        try:
            yield futures[future], future.result()
        except Exception as error:
            cause = getattr(error, "cause", None) or error
            if not isinstance(cause, FathomError):
                raise
            yield futures[future], cause


_STARTING = threading.Lock()
"""Held while the program's main module has a stand-in: pools in several threads may start processes at once."""


class _Worker(SpawnProcess):
    """A process that does not run the program's main script again.

    `multiprocessing` would, to find the functions of that script. No worker needs one, and the script may be a
    user's that loads drives.
    """

    def start(self) -> None:
        """Starts the process."""
        with _STARTING:
            main = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")  # it has no file, so there is nothing to run
            try:
                super().start()
            finally:
                sys.modules["__main__"] = main


class _Context(SpawnContext):
    """Starts workers."""

    Process = _Worker


def _begin() -> None:
    """Leaves Ctrl-C, which goes to every process of the terminal, to the first process, and ends with that one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_first_process, daemon=True).start()


def _end_with_first_process() -> None:
    """Waits for the process that started this one. Processes of a pool outlive one that is killed."""
    first = multiprocessing.parent_process()
    if first is not None:
        first.join()
        os._exit(1)
