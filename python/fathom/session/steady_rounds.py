"""When a precondition may end: the combined steady-state criterion applied to a method's rounds."""

from dataclasses import dataclass

from fathom import _core
from fathom._core import WRITES
from fathom.analysis.disk_caches import Cache
from fathom.method.method import Step
from fathom.session.filled import FILLED_X, settling
from fathom.statistics.steady import Since, SteadyState, ToFill, Verdict, Volume

WRITTEN_X = 3.0
"""Multiple of the capacity to write after a purge before random writes are judged: the fill, and 1x at random. Random
writes make up for a smaller fill, or none.
"""
DISK_ROUNDS = 25
"""Fewest rounds that the time of a disk's precondition is divided into. Its rounds need no volume, and ten rounds with
noise of 0.3 % leave a drift of 5 % open.
"""


@dataclass
class Written:
    """What has been written to a target since the run began, or since it was `purged` or filled afresh, in bytes.
    Failed writes wrote nothing.
    """

    sequential_bytes: int = 0
    random_bytes: int = 0
    purged: bool = False
    fill_bytes: int = 0
    """What the fill afresh was to write; 0 where there is none."""
    emptied_before_bytes: int | None = None
    """What had been written between a purge and the fill afresh; None where the target was not known to be empty."""

    @property
    def filled(self) -> bool:
        """Whether the target was filled afresh, as far as its writes did not fail."""
        return self.fill_bytes > 0

    def add(self, step: Step, written_bytes: int) -> None:
        """Counts a step's writes."""
        if step.job.pattern.kind == "sequential":
            self.sequential_bytes += written_bytes
        else:
            self.random_bytes += written_bytes

    def afresh(self, fill_bytes: int) -> "Written":
        """Returns what counts from a fill afresh on."""
        known = self.purged or self.emptied_before_bytes is not None
        earlier_bytes = (self.emptied_before_bytes or 0) + self.sequential_bytes + self.random_bytes
        return Written(fill_bytes=fill_bytes, emptied_before_bytes=earlier_bytes if known else None)

    @property
    def since(self) -> Since:
        """From when on writes are counted."""
        if self.filled:
            return Since.FILL
        return Since.PURGE if self.purged else Since.RUN

    def volume(self, capacity_bytes: float) -> Volume:
        """Returns the writes in multiples of the capacity."""
        return Volume(self.sequential_bytes / capacity_bytes, self.random_bytes / capacity_bytes)


def _since_purge(before: Volume) -> Volume:
    sequential_x = min(before.sequential_x, FILLED_X)
    return Volume(sequential_x, WRITTEN_X - sequential_x)


class SteadyRounds:
    """Judges the rounds of one precondition on one target.

    A full run ends its precondition when the combined criterion holds. A quick run cannot claim steady state. It ends
    when the SNIA window alone passes, so that at least the first seconds of a workload are over. Random writes from a
    purge are flat at first, before cleaning begins: a quick run of them takes its whole time.
    """

    def __init__(
        self,
        step: Step,
        capacity_bytes: int,
        before: Written,
        *,
        quick: bool,
        copies: float = 1.0,
        cache: Cache | None = None,
    ) -> None:
        """`copies` is how often hosts have the capacity, where each has a drive of its own. `cache` is that of disks,
        whose random writes have nothing else to fill.
        """
        assert step.steady is not None
        self.every_s = step.steady.round_s
        if cache and not quick and step.job.time_s:
            self.every_s = min(self.every_s, step.job.time_s / DISK_ROUNDS)
        self.rounds = 0
        self._open: list[_core.Interval] = []
        self._capacity_bytes = copies * capacity_bytes
        self._quick = quick
        writes_at_random = step.job.destructive and step.job.pattern.kind != "sequential"
        self._fresh = writes_at_random and before == Written(purged=True)
        region_share = step.job.region_on(capacity_bytes)[1] / capacity_bytes
        since, required = before.volume(self._capacity_bytes), None
        if cache:
            required = Volume()
        elif before.filled:
            _, settled = settling(at_random=writes_at_random, region_share=region_share)
            fill_x = before.fill_bytes / self._capacity_bytes
            required = Volume(
                fill_x, max(settled.random_x, self._room_x(before) if writes_at_random else 0.0)
            )
        elif writes_at_random and before.purged:
            required = _since_purge(since)
        self._state = SteadyState(
            pattern="random" if writes_at_random else "sequential",
            before=since,
            since=before.since,
            required=required,
            quick=quick,
            least_x=step.steady.written_x * region_share,
            cache=self._to_fill(cache, copies) if cache and writes_at_random else None,
            window=step.steady.window,
            range_fraction=step.steady.range_fraction,
            slope_fraction=step.steady.slope_fraction,
        )
        self._without_reads = step.without_reads
        self._last: Verdict | None = None

    def _to_fill(self, cache: Cache, copies: float) -> ToFill:
        holds_bytes = copies * cache.holds_bytes
        return ToFill(cache.name, holds_bytes, holds_bytes / self._capacity_bytes)

    def _room_x(self, before: Written) -> float:
        """Returns how much must be written at random until an emptied target was written once, in multiples of it. Less
        needs no cleaning, so it is flat at the rate of a fresh drive.
        """
        if before.emptied_before_bytes is None:
            return 0.0
        return 1.0 - (before.emptied_before_bytes + before.sequential_bytes) / self._capacity_bytes

    def add(self, interval: _core.Interval) -> bool:
        """Adds an interval, which may complete a round; returns whether the precondition may end."""
        self._open.append(interval)
        seconds = sum(part.length_s for part in self._open)
        if seconds < self.every_s * (1 - 1e-6) and not interval.ends_round:
            return False
        ops = [op for part in self._open for op in part.ops]
        written_bytes = sum(op.bytes for op in ops if op.op in WRITES)
        iops, waf, throttled = sum(op.n for op in ops) / seconds, self._waf(written_bytes), self._throttled
        self._open = []
        return self.add_round(iops, waf, written_bytes, throttled=throttled)

    def add_round(
        self, iops: float, waf: float | None, written_bytes: int, *, throttled: bool = False
    ) -> bool:
        """Adds a round: its rate, WAF if known, bytes written, and whether the target throttled. Returns whether to
        end.
        """
        self.rounds += 1
        self._last = self._state.add_round(iops, waf, written_bytes / self._capacity_bytes, throttled)
        if self._quick:
            return self._last.window.passed and not self._fresh
        return self._last.steady

    def _waf(self, written_bytes: int) -> float | None:
        media = [part.counters.get("media_write_bytes") for part in self._open]
        known = [value for value in media if value is not None]
        return sum(known) / written_bytes if written_bytes and len(known) == len(media) else None

    @property
    def _throttled(self) -> bool:
        return any(
            value > 0 for part in self._open for name, value in part.counters.items() if "throttle" in name
        )

    @property
    def steady(self) -> bool | None:
        """Whether the target is steady; None in a quick run, which makes no claim."""
        return None if self._quick or self._last is None else self._last.steady

    @property
    def reason(self) -> str:
        """Why it is steady, or why not yet, in plain words."""
        return self._last.reason if self._last else "no round finished yet"

    @property
    def state(self) -> str:
        """The state in a few words for a live display: the round, and the first criterion not met."""
        if self._last is None:
            return "first round"
        missing = self._last.missing
        return f"round {self._last.rounds}" + (f": {missing[0]}" if missing else "")

    def conclude(self) -> str:
        """Returns the reason when no round will follow."""
        reason = self._state.conclude().reason
        return f"{reason}; without its reads" if self._without_reads else reason
