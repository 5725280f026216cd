"""Calls to hosts: waiting for their answers, putting their names in front of errors, and comparing their clocks."""

from collections.abc import Iterator
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as NotInTime
from contextlib import contextmanager, suppress
from typing import TypeVar

from fathom.errors import FathomError, UsageError
from fathom.fleet import clocks
from fathom.fleet.agent import HostAgent
from fathom.fleet.load import Host, Remote, reason

CALL_S = 60.0
"""How long a host may take to answer a call, s."""

T = TypeVar("T")


def meet(name: str, remote: Remote) -> Host:
    """Returns the host, with how far its clock is ahead.

    Raises UsageError where a round trip is too long to know the clock, FathomError where the host does not answer.
    """
    host = Host(name, remote, clocks.Offset(0, 0))
    with _named(host):
        host.offset = offset_of(host)
    if not host.offset.usable:
        raise UsageError(
            f"host {name}: a round trip takes {2 * host.offset.error_ns / 1000000.0:.1f} ms, so its clock is "
            f"known only to {host.offset.error_ns / 1000000.0:.1f} ms",
            "use a host within 10 ms",
        )
    return host


def offset_of(host: Host) -> clocks.Offset:
    """Returns how far its clock is ahead. Raises FathomError for a clock that jumps whenever it is looked at."""
    offset = _measured(host)
    if not offset.even:
        # A clock that is set just then jumps once.
        offset = _measured(host)
    if not offset.even:
        raise FathomError(
            f"its clock jumps: two readings are {offset.spread_ns / 1000000.0:.1f} ms further "
            "apart than the time between them",
            "set it by NTP or PTP, or leave the host out",
        )
    return offset


def _measured(host: Host) -> clocks.Offset:
    return clocks.measure(lambda: answered(host.remote.submit(HostAgent.clock_ns)))


@contextmanager
def _named(host: Host) -> Iterator[None]:
    """Puts the host's name in front of errors inside the `with`."""
    try:
        yield
    except FathomError as error:
        raise type(error)(f"host {host.name}: {error.message}", error.hint) from error


def wait_for(host: Host, answer: "Future[T]") -> T:
    """Returns a host's answer. Raises as `answered` does, with the host's name in front."""
    with _named(host):
        return answered(answer)


def answered(answer: "Future[T]", patience_s: float | None = None) -> T:
    """Returns the answer. Raises what the host raised when that is Fathom's own error, else FathomError."""
    patience_s = CALL_S if patience_s is None else patience_s
    try:
        return answer.result(patience_s)
    except NotInTime as error:
        raise FathomError(
            f"did not answer within {patience_s:.0f} s", "look at that host and start again"
        ) from error
    except Exception as error:
        cause = getattr(error, "cause", None) or error
        if isinstance(cause, FathomError):
            raise type(cause)(cause.message, cause.hint) from error
        raise FathomError(reason(error)) from error


def wait_through(host: Host, answer: "Future[T]") -> T:
    """Returns a host's answer, however long it takes while the host answers other calls. Raises as `wait_for`."""
    while not wait([answer], CALL_S).done:
        wait_for(host, host.remote.submit(HostAgent.clock_ns))
    return wait_for(host, answer)


def quietly(answer: "Future[None]") -> None:
    """Waits for an answer that changes nothing any more."""
    with suppress(Exception):
        answer.result(CALL_S)
