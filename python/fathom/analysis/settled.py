"""The gate before a sentence claims a figure: whether the target had settled, had its cores, and saw the bytes of
its load.

Its rate must be known to be above 0. A replay also needs times that can be relied on.

Every sentence that a target leads, holds or sustains is checked here first, against the run's record.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from enum import Enum
from functools import cache
from math import inf
from typing import cast

from fathom._core import Job
from fathom.analysis.coverage import WHOLE, Coverage
from fathom.analysis.disk_caches import media_cache_of, writes_at_random
from fathom.analysis.interval_sums import IntervalSums
from fathom.analysis.run_view import IO_LIMIT, OFF_DEVICE, PAGE_CACHE, Key, RunView
from fathom.analysis.validity.of_curves import maximum_gaps
from fathom.method.rounds import Round, RoundJson, parse_round
from fathom.prediction.interval import known_device
from fathom.runs.document import TargetRecord
from fathom.runs.remarks import CpuWait, DoubtfulTimes, StoodStill, Stopped
from fathom.traces.clock import TimesFault

DEALLOCATES = ("trim", "write-zeroes")
"""Operations whose blocks may be answered without flash afterwards."""


class Unsettled(Enum):
    """Why nothing is claimed of a target's figure. The values stand in parentheses behind `verb`."""

    NOT_STEADY = "steady state was not reached"
    NOT_FILLED = "the run had left part of its region unwritten"
    NOT_OVERWRITTEN = "random writes had not come to the size of its region"
    NOT_TURNED_OVER = "less than its capacity had been written since it was empty"
    CACHE_NOT_FULL = "random writes had not filled its media cache"
    MAXIMUM = "its maximum had changed while the curve was measured"
    COARSE_CLOCK = "the trace's clock is too coarse to show when its I/Os came"
    OTHER_UNIT = "the trace's times have another unit than was read"
    PAGE_CACHE = "not all bytes reached the device"
    OFF_DEVICE = "its file system answered or compressed some of it"
    LIMITED = "a control group may have set the rate"
    HOSTS_MISSING = "not all hosts of the run loaded it"
    STOPPED = "its step was stopped before its end"
    STOOD_STILL = "its load generator stood still for a while"
    BRIEF = "it was measured for less than a second"
    MACHINE_BUSY = "its load threads waited for cores"
    UNCERTAIN = "the 95 % interval of its rate begins at 0"

    @property
    def verb(self) -> str:
        """Returns what the target did, of one or several."""
        return _WORDS.get(self, (_SETTLED, ""))[0]

    @property
    def of_rate_alone(self) -> bool:
        """Whether it speaks against rate and latency alone: bytes written to the media per byte of the host hold."""
        return self in (Unsettled.LIMITED, Unsettled.MACHINE_BUSY, Unsettled.UNCERTAIN)

    @property
    def tag(self) -> str:
        """Returns a word or two for a cell."""
        return _WORDS.get(self, ("", "not settled"))[1]


_SETTLED = "had not settled"
_WORDS = {
    Unsettled.COARSE_CLOCK: ("was loaded at doubtful times", "doubtful times"),
    Unsettled.OTHER_UNIT: ("was loaded at doubtful times", "doubtful times"),
    Unsettled.PAGE_CACHE: ("used the page cache", "page cache"),
    Unsettled.OFF_DEVICE: ("did not see all I/O", "not on device"),
    Unsettled.LIMITED: ("came near an I/O limit", "I/O limit"),
    Unsettled.HOSTS_MISSING: ("lacked hosts", "hosts missing"),
    Unsettled.STOPPED: ("was stopped early", "stopped early"),
    Unsettled.STOOD_STILL: ("had a load generator that stood still", "stood still"),
    Unsettled.BRIEF: ("was measured too briefly", "too brief"),
    Unsettled.MACHINE_BUSY: ("had a busy host", "machine busy"),
    Unsettled.UNCERTAIN: ("varied too much", "varied too much"),
}
"""The verb and the tag of what is no matter of steady state."""
BY_NOTE = {
    PAGE_CACHE: Unsettled.PAGE_CACHE,
    OFF_DEVICE: Unsettled.OFF_DEVICE,
    IO_LIMIT: Unsettled.LIMITED,
}
"""Rules of notes on figures that are not those of the target alone."""
TIMES = {TimesFault.COARSE: Unsettled.COARSE_CLOCK, TimesFault.UNIT: Unsettled.OTHER_UNIT}
"""Faults of a trace's times that a replay at these times has too."""


def verbs(reasons: Iterable[Unsettled]) -> str:
    """Returns the verbs of several reasons."""
    return " or ".join(dict.fromkeys(one.verb for one in reasons))


def no_target(reasons: Iterable[Unsettled]) -> str:
    """Returns the subject and the verb of a sentence where no target supports a claim."""
    found = verbs(reasons)
    return f"every target {found}" if found not in ("", _SETTLED) else "no target had settled"


def tags(reasons: Iterable[Unsettled]) -> str:
    """Returns the tags of several reasons."""
    return " or ".join(dict.fromkeys(one.tag for one in reasons))


def unsettled(view: RunView) -> Mapping[Key, Unsettled]:
    """Returns the measured steps that support no claim, with the reason. Only the others may be claimed.

    Steps of rounds are judged by what had been written, by what reached the device, and by whether load threads had
    cores and went on. Whether rounds are steady is their own standard's rule, so they may begin without random writes;
    rounds that are only counted may not.
    """
    written, gaps = written_before(view), maximum_gaps(view)
    jobs = {one.name: view.origin_of(one).jobs for one in view.document.targets}
    stopped = {(one.target, one.step) for one in view.remarks if isinstance(one.fact, Stopped)}
    still = {(one.target, one.step) for one in view.remarks if isinstance(one.fact, StoodStill)}
    waited = {(one.target, one.step) for one in view.remarks if isinstance(one.fact, CpuWait)}
    found = dict.fromkeys((key for key in waited if _round_of(view, key)), Unsettled.MACHINE_BUSY)
    found |= dict.fromkeys((key for key in still if _round_of(view, key)), Unsettled.STOOD_STILL)
    found |= {
        key: why
        for key, before in written.items()
        if (place := _round_of(view, key))
        and (why := _unwritten(before, jobs[key[0]][key[1]], at_random_x=0.0 if place.judged else WHOLE))
    }
    short = set(_before_media_cache_is_full(view))
    found |= {key: Unsettled.CACHE_NOT_FULL for key in short if _round_of(view, key)}
    doubtful = {
        (one.target, one.step): TIMES[one.fact.doubt.fault]
        for one in view.remarks
        if isinstance(one.fact, DoubtfulTimes) and one.fact.doubt.fault in TIMES
    }
    not_its_own = {key: BY_NOTE[rule] for key, rule in view.not_its_own.items() if rule in BY_NOTE}
    found |= not_its_own
    for key, figures in view.steps.items():
        if key in not_its_own:
            continue
        if key in doubtful:
            found[key] = doubtful[key]
        elif key in view.absent:
            found[key] = Unsettled.HOSTS_MISSING
        elif key in stopped:
            found[key] = Unsettled.STOPPED
        elif key in still:
            found[key] = Unsettled.STOOD_STILL
        elif any(row.steady is False for row in figures.rows):
            found[key] = Unsettled.NOT_STEADY
        elif key in short:
            found[key] = Unsettled.CACHE_NOT_FULL
        elif key in gaps:
            found[key] = Unsettled.MAXIMUM
        elif key in written and (why := _unwritten(written[key], jobs[key[0]][key[1]])):
            found[key] = why
        elif key in view.brief:
            found[key] = Unsettled.BRIEF
        elif key in waited:
            found[key] = Unsettled.MACHINE_BUSY
        elif figures.interval and figures.interval[0] <= 0:
            found[key] = Unsettled.UNCERTAIN
    return found


def _round_of(view: RunView, key: Key) -> Round | None:
    """Returns the step's place in rounds; None for a step that is run once."""
    place = view.step_of(*key).get("round")
    return parse_round(cast("RoundJson", place)) if place else None


@dataclass(frozen=True)
class Before:
    """What had been written by the time that a step was measured."""

    covered: float
    """Share of its region that held data."""
    at_random_x: float
    """Volume of random writes, in multiples of its region."""
    turned_over_x: float
    """Volume of all writes since the target was empty, in multiples of its capacity; infinite where it is not known."""

    def least(self, other: "Before") -> "Before":
        """Returns the smaller of each."""
        return Before(
            min(self.covered, other.covered),
            min(self.at_random_x, other.at_random_x),
            min(self.turned_over_x, other.turned_over_x),
        )


def _unwritten(before: Before, job: Job, at_random_x: float = WHOLE) -> Unsettled | None:
    """Returns why nothing is claimed behind these writes. `at_random_x` is how often the region must have been written
    at random.
    """
    if before.covered < WHOLE:
        return Unsettled.NOT_FILLED
    if not writes_at_random(job):
        return None
    if before.at_random_x < at_random_x:
        return Unsettled.NOT_OVERWRITTEN
    return Unsettled.NOT_TURNED_OVER if before.turned_over_x < WHOLE else None


def written_before(view: RunView) -> dict[Key, Before]:
    """Returns what had been written by the time that each step was measured.

    Only of SSDs, whose figures depend on it, and of arrays with one. A twin begins fresh, or with its `settled_share`
    overwritten at random. What a real drive held before is not known, so it is judged where the run writes to it. A
    write in order counts as part of the fill that it is judged by. A purge begins again, and a fill afresh what is
    written at random, unless it was passed over. What is written to a copy of a twin is lost. Hosts with drives of
    their own under one name have a region each. The repeat that wrote least counts. Only of a fresh twin, or after a
    purge, is it known when the target was empty.
    """
    found: dict[Key, Before] = {}
    repeats = [_Repeat.of(intervals) for intervals in (view.intervals, *view.further)]
    for target in view.document.targets:
        for repeat in repeats:
            for key, before in _written_of(view, target, repeat).items():
                found[key] = before.least(found.get(key, before))
    return found


@dataclass(frozen=True)
class _Repeat:
    """What one repeat did: the targets that it loaded and wrote to, and bytes by target and step."""

    loaded: Set[str]
    writes_to: Set[str]
    written: Mapping[Key, int]
    freed: Mapping[Key, int]

    @classmethod
    def of(cls, intervals: IntervalSums) -> "_Repeat":
        """Returns that of its intervals."""
        written = intervals.written_bytes()
        loaded = {target for target, *_ in intervals.counts}
        return cls(loaded, {target for target, _ in written}, written, intervals.bytes_of(DEALLOCATES))


def _written_of(view: RunView, target: TargetRecord, repeat: _Repeat) -> dict[Key, Before]:
    """Returns `written_before` of one target in one repeat; nothing where it is not judged."""
    if target.name not in repeat.loaded:
        return {}
    known = target.kind == "twin" or target.name in repeat.writes_to
    origin = view.origin_of(target)
    drives = origin.drives or [target]
    if not known or target.identity.get("file_system") or not any(map(keeps_state, drives)):
        return {}
    units = len(origin.drives) or 1
    unit_bytes = target.known_bytes * (target.scale or 1) / units
    begins = min(_settled_share(one.catalog) for one in drives) if target.kind == "twin" else 0.0
    coverage = Coverage(origin.copies * units, unit_bytes, begins, origin.taken_share(target))
    # A twin with a share that is settled begins as after writes without end.
    empty = target.kind == "twin" and not begins
    found: dict[Key, Before] = {}
    for step, job in origin.jobs.items():
        key, named = (target.name, step), origin.steps[step]
        own = repeat.written.get(key, 0)
        if named.get("kind") == "purge":
            coverage.purge()
            empty = True
            continue
        afresh = own and named.get("afresh")
        if afresh:
            coverage.forget_random()
        before, turned_over_x = coverage.of(job), coverage.written_x if empty else inf
        if not (target.kind == "twin" and named.get("on_copy")):
            if afresh and target.kind == "twin":
                coverage.fill(own)
            else:
                coverage.write(job, own, repeat.freed.get(key, 0))
        in_order = job.pattern.kind == "sequential" and not job.streams
        found[key] = Before(coverage.of(job)[0] if in_order else before[0], before[1], turned_over_x)
    return found


def _before_media_cache_is_full(view: RunView) -> Iterable[Key]:
    """Yields the steps that write at random to disks of known drive-managed SMR before their media caches were full.
    What is written to a copy is lost.
    """
    written = [intervals.written_bytes() for intervals in (view.intervals, *view.further)]
    for target in view.document.targets:
        origin = view.origin_of(target)
        caches = [cache for one in origin.drives or [target] if (cache := media_cache_of(one))]
        holds_bytes = sum(cache.holds_bytes for cache in caches)
        random_bytes = [0] * len(written)
        for step, job in origin.jobs.items():
            if not caches or not writes_at_random(job):
                continue
            key = (target.name, step)
            if min(random_bytes) < holds_bytes:
                yield key
            if not origin.steps[step].get("on_copy"):
                random_bytes = [
                    before + own.get(key, 0) for before, own in zip(random_bytes, written, strict=True)
                ]


def keeps_state(target: TargetRecord) -> bool:
    """Returns whether earlier writes affect the target's figures: an SSD without a file system."""
    if target.kind == "twin":
        return not target.identity.get("file_system") and _is_ssd((target.catalog or "").partition("?")[0])
    return target.kind == "device" and target.identity.get("rotational") is False


@cache
def _settled_share(device: str | None) -> float:
    """Returns the share of an SSD's twin that begins as after random overwrites without end."""
    known = known_device(device)
    return known.settled_share if known else 0.0


@cache
def _is_ssd(device: str) -> bool:
    known = known_device(device)
    return bool(known and known.twin and known.twin.kind == "ssd")
