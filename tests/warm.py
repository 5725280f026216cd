"""Commands as processes that need not load the program first: each is forked from a process that has.

The first call of a command in a session is a program from its very start all the same, as a user's is: what a command
loads by itself is tested too. `python warm.py FD` is the process that forks. It takes calls from the socket FD, one
after the other, until the socket closes.
"""

import atexit
import gc
import importlib
import os
import pickle
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import NoReturn, cast

STREAMS = 3
MOST_BYTES = 1 << 20
AT_START = ("PYTHON", "LC_", "LANG")
"""Variables that Python obeys only when it starts."""


class Warm:
    """A process that has loaded the program, and the socket that leads to it."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            # Threads of a library would not be in what is forked.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        atexit.register(self.end)

    def end(self) -> None:
        """Ends the process: nobody calls any more."""
        self.channel.close()
        self.process.wait()

    def call(
        self, arguments: Sequence[str], environment: Mapping[str, str], timeout_s: float
    ) -> subprocess.CompletedProcess[bytes]:
        """Returns what `fathom` prints with these arguments, here and now, and how it ends."""
        with TemporaryFile() as out, TemporaryFile() as err:
            asked = pickle.dumps((list(arguments), dict(environment), Path.cwd()))
            socket.send_fds(self.channel, [asked], [0, out.fileno(), err.fileno()])
            self.channel.settimeout(timeout_s)
            worker = int(self.channel.recv(MOST_BYTES))
            try:
                status = int(self.channel.recv(MOST_BYTES))
            except TimeoutError:
                os.kill(worker, signal.SIGKILL)
                self.channel.recv(MOST_BYTES)
                raise subprocess.TimeoutExpired(["fathom", *arguments], timeout_s) from None
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(["fathom", *arguments], status, out.read(), err.read())


@cache
def warm() -> Warm:
    """The one of this test session."""
    return Warm()


def called(
    arguments: Sequence[str], environment: Mapping[str, str], timeout_s: float = 300
) -> subprocess.CompletedProcess[bytes]:
    """Returns what `fathom` prints and how it ends, with these variables over those of this process."""
    whole = os.environ | environment
    if arguments[:1] in _begun and not any(name.startswith(AT_START) for name in environment):
        return warm().call(arguments, whole, timeout_s)
    _begun.append(arguments[:1])
    command = [sys.executable, "-m", "fathom", *arguments]
    return subprocess.run(command, capture_output=True, timeout=timeout_s, env=whole, check=False)


_begun: list[Sequence[str]] = []
"""The commands that were called in this session, each as its one word."""


def load() -> None:
    """Imports what commands do, but for DuckDB and what needs it: it starts a thread, and forks have one thread."""
    import fathom

    sys.modules["duckdb"] = cast("ModuleType", None)
    for module in pkgutil.walk_packages(fathom.__path__, "fathom."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):
                importlib.import_module(module.name)
    del sys.modules["duckdb"]


def serve(channel: socket.socket) -> None:
    """Forks for each call, and answers with the number of the process, then with its status as `subprocess` has it."""
    while True:
        asked, streams, _, _ = socket.recv_fds(channel, MOST_BYTES, STREAMS)
        if not asked:
            return
        worker = os.fork()
        if not worker:
            channel.close()
            arguments, environment, folder = pickle.loads(asked)
            become(arguments, environment, folder, streams)
        for stream in streams:
            os.close(stream)
        channel.send(str(worker).encode())
        channel.send(str(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])).encode())


def become(
    arguments: list[str], environment: dict[str, str], folder: Path, streams: Sequence[int]
) -> NoReturn:
    """Is `python -m fathom` with these arguments, to its end; taking the modules apart would take the time saved."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["fathom", *arguments]
    status: object = 1
    try:
        runpy.run_module("fathom", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code or 0
        if isinstance(status, str):
            print(status, file=sys.stderr)
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)


if __name__ == "__main__":
    load()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
