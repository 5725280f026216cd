"""Where simulations run: in processes of this machine. `fathom.fleet.workers` has the same for hosts.

A worker takes a function of a module and plain arguments. Simulations are functions of their arguments and change
nothing outside, so any worker can have any of them.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Protocol, TypeVar

from fathom.errors import FathomError

T = TypeVar("T")
K = TypeVar("K")


class Workers(Protocol):
    """Takes calls and makes them somewhere, as many at once as there are cores."""

    def submit(self, function: Callable[..., T], /, *arguments: object) -> "Future[T]":
        """Calls the function of the arguments; the future has what it returns or raises."""
        ...


@contextmanager
def local_workers(cores: int | None = None) -> Iterator[Workers]:
    """Yields that many processes, or one for each core that this one may use.

    When the `with` ends by an error they are ended too.
    """
    context = multiprocessing.get_context("spawn")
    cores = cores or len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(cores, mp_context=context, initializer=_leave_interrupts) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
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


def _leave_interrupts() -> None:
    """Ignores Ctrl-C, which goes to every process of the terminal: the first process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
