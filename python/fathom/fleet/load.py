"""A step that runs on all hosts of a fleet at once: a handle like any other, whose parts are the hosts.

The coordinator asks every host for news without waiting for any of them. A second of the total is the sum of the hosts'
own. The recording of the total covers the seconds in which every host that began was active. A host that fails, dies,
falls silent or sends what cannot be is lost. What it sent is kept, the others go on, and nothing is sent to it again.

Death is seen at once, by the connection. Silence is a matter of patience. A host with a machine of its own may be cut
off. One that shares the coordinator's, or another host's, cannot be, and is more likely starved of the processor.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from fathom import _core
from fathom.errors import FathomError
from fathom.fleet.agent import Ended, HostAgent, JobProgress, Sampled
from fathom.fleet.clocks import Offset
from fathom.fleet.wire import MOST_WORDS
from fathom.load.parts import Totals

POLL_S = 1.0
SILENCE_S = 6.0
CROWDED_SILENCE_S = 30.0
RESULT_S = 60.0
START_S = 60.0
AHEAD_S = 5.0
"""How far the seconds of a host may be ahead of the coordinator's clock, which can be read late."""
MOST_APART_S = 1.0
"""How much a recording's window may differ from the sum of its seconds: the last second may be cut short."""

T = TypeVar("T")


class Remote(Protocol):
    """A way to call a host's agent."""

    def submit(self, method: Callable[..., T], *arguments: object) -> "Future[T]":
        """Calls a method of `HostAgent` there; the future has what it returns or raises, or that the host is gone."""
        ...


@dataclass
class Host:
    """A host of the fleet as the coordinator knows it. `crowded`: it shares its machine with the coordinator or with
    another host. `lost` says why, once it is."""

    name: str
    remote: Remote
    offset: Offset
    lost: str | None = None
    crowded: bool = False

    @property
    def silence_s(self) -> float:
        """For how long an answer may be overdue."""
        return CROWDED_SILENCE_S if self.crowded else SILENCE_S


@dataclass(eq=False)
class _Member:
    """One host's part of a running step."""

    host: Host
    news: "Future[JobProgress] | None" = None
    asked_s: float = 0.0
    patience_s: float = START_S
    started_unix_ns: int | None = None
    done: bool = False
    seconds: int = 0
    """Intervals that have come in; the number of the next."""
    recording: _core.Recording | None = None
    lost_before: bool = False
    """Whether the host had no part in the step from its start."""

    @property
    def active(self) -> bool:
        return not self.done and self.host.lost is None

    def lose(self, why: str) -> None:
        self.host.lost = why
        self.news = None


class FleetLoad:
    """A running step. Intervals of target 0 are the total's, those of target k the k-th host's.

    `starts` are the answers of the hosts in use to the order to start, each in its own time. So a slow one does not
    keep the others' news waiting. `divided` says that each host has a part of one fill. Such a load ends with the first
    host that is lost, since its part stays empty.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        starts: "Mapping[str, Future[JobProgress]]",
        on_end: Callable[[int | None, Sequence[Host]], None],
        *,
        divided: bool = False,
    ) -> None:
        self._ordered_s = time.monotonic()
        self.divided = divided
        self.members = [
            _Member(host, starts.get(host.name), self._ordered_s, lost_before=host.lost is not None)
            for host in hosts
        ]
        self.telemetry: list[tuple[Host, Sampled]] = []
        self._on_end = on_end
        self._totals = Totals(len(self.members))

    def poll(self, timeout_s: float = 0.2) -> list[_core.Interval]:
        """Returns seconds that have come in, of hosts and of the total; waits up to `timeout_s` for the first."""
        self._ask()
        waiting = {member.news: member for member in self.members if member.news is not None}
        answered = wait(waiting, timeout_s, return_when=FIRST_COMPLETED).done
        fresh = [interval for future in answered for interval in self._take(waiting[future], future)]
        self._miss_the_silent()
        if self.divided and self._lost:
            self.stop()
        return [*fresh, *self._totals.fresh([member.active for member in self.members])]

    def held(self) -> bool:
        """Returns False: real devices never wait."""
        return False

    def proceed(self) -> None:
        """Does nothing: real devices never wait."""

    def stop(self) -> None:
        """Ends the load on every host."""
        for member in self.members:
            if member.active:
                member.host.remote.submit(HostAgent.stop)

    def abandon(self) -> None:
        """Ends the load, and waits for no host any more: their agents give up by themselves."""
        self.stop()
        for member in self.members:
            if member.active:
                member.lose("was given up when the run had to end at once")

    def done(self) -> bool:
        """Returns whether every host has ended its part or is lost."""
        return not any(member.active for member in self.members)

    @property
    def started_unix_ns(self) -> int | None:
        """When the first host's load began, ns since 1970 by the coordinator's clock; None where no host said so."""
        return min(self._starts(), default=None)

    def skew_ns(self) -> int | None:
        """Returns the time between the first and the last host's start, by the coordinator's clock; None where no two
        are known.
        """
        starts = self._starts()
        return max(starts) - min(starts) if len(starts) > 1 else None

    def _starts(self) -> list[int]:
        return [
            member.started_unix_ns - member.host.offset.offset_ns
            for member in self.members
            if member.started_unix_ns is not None
        ]

    def result(self) -> list[_core.Recording]:
        """Returns the total over the seconds common to all hosts, then each host's own; a lost host's is what it sent.

        Raises BackendError when all are lost, or one with its part of a divided fill.
        """
        asked = [
            (member, member.host.remote.submit(HostAgent.result))
            for member in self.members
            if member.host.lost is None
        ]
        for member, future in asked:
            self._take_result(member, future)
        lost = self._lost
        # A fill was divided among the hosts that were left, so one lost before lacks nothing of it.
        self._on_end(self.skew_ns(), lost if self.divided else self._missing)
        parts = [
            member.recording or sum_ for member, sum_ in zip(self.members, self._totals.sums, strict=True)
        ]
        if all(member.host.lost for member in self.members):
            raise _core.BackendError(
                "; ".join(f"{member.host.name}: {member.host.lost}" for member in self.members)
            )
        if self.divided and lost:
            whose = "; ".join(f"host {host.name} was lost ({host.lost})" for host in lost)
            raise _core.BackendError(f"{whose} during a fill that hosts divide, so its part is not written")
        return self._totals.recordings(parts)

    @property
    def _lost(self) -> list[Host]:
        """The hosts that were lost since the step began."""
        return [member.host for member in self.members if member.host.lost and not member.lost_before]

    @property
    def _missing(self) -> list[Host]:
        """The hosts whose own load the step lacks, all or in part."""
        return [member.host for member in self.members if member.host.lost]

    def _ask(self) -> None:
        for member in self.members:
            if member.active and member.news is None:
                member.news = member.host.remote.submit(HostAgent.poll, POLL_S)
                member.asked_s, member.patience_s = time.monotonic(), member.host.silence_s + POLL_S

    def _take(self, member: _Member, future: "Future[JobProgress]") -> list[_core.Interval]:
        member.news = None
        try:
            news = future.result()
            fresh = self._intervals(member, news.intervals)
        except Exception as error:  # noqa: BLE001 (whatever a remote call raises, the host cannot be used on)
            member.lose(reason(error))
            return []
        for interval in fresh:
            self._totals.add(interval)
        member.started_unix_ns = news.started_unix_ns or member.started_unix_ns
        member.done = news.done
        return fresh

    def _intervals(self, member: _Member, sent: Sequence[bytes]) -> list[_core.Interval]:
        """Returns the next seconds of a host. Raises FathomError where they are none, not the next, or from
        the future.
        """
        place = self.members.index(member) + 1
        most_s = time.monotonic() - self._ordered_s + AHEAD_S
        fresh = []
        for number, data in enumerate(sent, member.seconds):
            try:
                interval = _core.Interval.from_bytes(data, place)
            except ValueError as error:
                raise FathomError(f"it sent an invalid second of a load: {error}") from error
            if interval.index != number:
                raise FathomError(f"it sent second {interval.index}, second {number} was due")
            if interval.start_s + interval.length_s > most_s:
                raise FathomError(f"it sent second {number} of a step that is {most_s - AHEAD_S:.0f} s old")
            fresh.append(interval)
        member.seconds += len(fresh)
        return fresh

    def _take_result(self, member: _Member, future: "Future[Ended]") -> None:
        try:
            ended = future.result(RESULT_S)
            recording = self._recording(member, ended.recording)
        except NotInTime:
            member.lose(f"did not give its result within {RESULT_S:.0f} s")
        except Exception as error:  # noqa: BLE001 (as above)
            member.lose(reason(error))
        else:
            member.recording = recording
            self.telemetry += [(member.host, row) for row in ended.telemetry]

    def _recording(self, member: _Member, sent: bytes) -> _core.Recording:
        """Returns a host's whole step. Raises FathomError where it is not what its seconds come to."""
        try:
            recording = _core.Recording.from_bytes(sent)
        except ValueError as error:
            raise FathomError(f"it sent an invalid recording: {error}") from error
        seconds = self._totals.sums[self.members.index(member)]
        if _moved(recording) != _moved(seconds) or abs(recording.window_s - seconds.window_s) > MOST_APART_S:
            raise FathomError("its recording is not the sum of the seconds that it sent")
        return recording

    def _miss_the_silent(self) -> None:
        for member in self.members:
            if member.news is not None and time.monotonic() - member.asked_s > member.patience_s:
                member.lose(f"has not answered for {member.patience_s:.0f} s")


def _moved(recording: _core.Recording) -> dict[str, int]:
    return {op.op: op.bytes for op in recording.ops if op.bytes}


def reason(error: BaseException) -> str:
    """Returns one line on why a host is lost: Fathom's own words, or the kind of failure and its first line."""
    cause: Any = getattr(error, "cause", None) or error
    if isinstance(cause, FathomError):
        return str(cause)
    name = type(cause).__name__
    if name in ("ActorDiedError", "ActorUnavailableError", "NodeDiedError"):
        return "the host or its agent has died"
    lines = str(cause).strip().splitlines()
    return f"{name}: {lines[0][:MOST_WORDS]}" if lines else name
