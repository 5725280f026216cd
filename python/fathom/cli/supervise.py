"""A command in a process of its own, where a terminal waits for it.

The kernel lets no process end whose I/O a file system or driver does not give back, SIGKILL or not. So another process
waits at the terminal. It passes signals on, and ends when the work is done, whether the worker can end or not.
"""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from fathom.errors import ExitCode

COMMANDS = ("run", "review", "resume")
"""Commands that do I/O for long."""
ASKING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
TICK_S = 0.1
GRACE_S = 1.5
"""Time for the worker to save the measurements, from the second request to end."""
END_S = 0.3
"""Time for it to end after it has reported its exit code."""
PR_SET_PDEATHSIG = 1

Report = Callable[[int], None]
"""Reports the exit code to the waiting process."""


def report_to_terminal(arguments: list[str]) -> Report:
    """Forks where a terminal waits. Returns only in the worker, with the function to call at its end."""
    if not arguments or arguments[0] not in COMMANDS or not sys.stdin.isatty():
        return lambda status: None
    reading, writing = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, ASKING)
    supervisor = os.getpid()
    worker = os.fork()
    if worker:
        os.close(writing)
        os._exit(_wait(worker, reading))
    os.close(reading)
    _die_with_terminal(signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)
    if os.getppid() != supervisor:
        os._exit(ExitCode.INTERRUPTED)
    return lambda status: _send(writing, status)


def outlive_terminal() -> None:
    """Lets the worker save what was measured for longer than the terminal waits."""
    _die_with_terminal(0)


def _die_with_terminal(by: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, by)


def _send(writing: int, status: int) -> None:
    # Nobody listens where the terminal did not wait.
    with suppress(BrokenPipeError):
        os.write(writing, bytes([status]))


def _wait(worker: int, reading: int) -> int:
    """Returns the worker's exit code, or 130 where it does not answer to the second request to end."""
    asked = 0
    give_up_s: float | None = None
    status: int | None = None
    while give_up_s is None or time.monotonic() < give_up_s:
        ended, how = os.waitpid(worker, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(how)
            return code if code >= 0 else 128 - code
        found = signal.sigtimedwait(ASKING, TICK_S)
        if found is not None:
            asked += 1
            # The terminal sends to every process in its foreground; anybody else to this one.
            if found.si_code <= 0:
                os.kill(worker, found.si_signo)
            if asked == 2:
                give_up_s = time.monotonic() + GRACE_S
        if status is None and select.select([reading], [], [], 0)[0] and (said := os.read(reading, 1)):
            status = said[0]
            give_up_s = time.monotonic() + END_S
    return ExitCode.INTERRUPTED if status is None else status
