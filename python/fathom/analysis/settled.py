"""The gate before a sentence claims a figure: whether the target had settled and had the cores that it needed.

A replay also needs times that can be relied on.

Every sentence that a target leads, holds or sustains is checked here first, against the run's record.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache

from fathom._core import Job
from fathom.analysis.coverage import WHOLE, Coverage
from fathom.analysis.interval_sums import IntervalSums
from fathom.analysis.run_view import Key, RunView
from fathom.analysis.validity.of_curves import maximum_gaps
from fathom.prediction.interval import known_device
from fathom.runs.document import TargetRecord
from fathom.runs.remarks import CpuWait, DoubtfulTimes
from fathom.traces.clock import TimesFault

DEALLOCATES = ("trim", "write-zeroes")
"""Operations whose blocks may be answered without flash afterwards."""


class Unsettled(Enum):
    """Why nothing is claimed of a target's figure. The values stand in parentheses behind `verb`."""

    NOT_STEADY = "steady state was not reached"
    NOT_FILLED = "the run had not written all of its region"
    NOT_OVERWRITTEN = "random writes had not come to the size of its region"
    MAXIMUM = "its maximum had changed while the curve was measured"
    COARSE_CLOCK = "the trace's clock is too coarse to show when its I/Os came"
    OTHER_UNIT = "the trace's times have another unit than was read"
    MACHINE_BUSY = "other programs had the cores that its load threads waited for"

    @property
    def verb(self) -> str:
        """Returns what the target did, of one or several."""
        return _WORDS.get(self, ("had not settled", ""))[0]

    @property
    def tag(self) -> str:
        """Returns a word or two for a cell."""
        return _WORDS.get(self, ("", "not settled"))[1]


_WORDS = {
    Unsettled.COARSE_CLOCK: ("was loaded at doubtful times", "doubtful times"),
    Unsettled.OTHER_UNIT: ("was loaded at doubtful times", "doubtful times"),
    Unsettled.MACHINE_BUSY: ("lacked cores", "machine busy"),
}
"""The verb and the tag of what is no matter of steady state."""
TIMES = {TimesFault.COARSE: Unsettled.COARSE_CLOCK, TimesFault.UNIT: Unsettled.OTHER_UNIT}
"""Faults of a trace's times that a replay at these times has too."""


def verbs(reasons: Iterable[Unsettled]) -> str:
    """Returns the verbs of several reasons."""
    return " or ".join(dict.fromkeys(one.verb for one in reasons))


def tags(reasons: Iterable[Unsettled]) -> str:
    """Returns the tags of several reasons."""
    return " or ".join(dict.fromkeys(one.tag for one in reasons))


def unsettled(view: RunView) -> Mapping[Key, Unsettled]:
    """Returns the measured steps that support no claim, with the reason. Only the others may be claimed.

    Steps of rounds are judged by what had been written alone: whether rounds are steady is their own standard's rule.
    """
    written, gaps = written_before(view), maximum_gaps(view)
    found = {
        key: Unsettled.NOT_FILLED
        for key, (covered, _) in written.items()
        if covered < WHOLE and view.named.get(key[1], {}).get("round")
    }
    jobs = {one.name: view.origin_of(one).jobs for one in view.document.targets}
    doubtful = {
        (one.target, one.step): TIMES[one.fact.doubt.fault]
        for one in view.remarks
        if isinstance(one.fact, DoubtfulTimes) and one.fact.doubt.fault in TIMES
    }
    waited = {(one.target, one.step) for one in view.remarks if isinstance(one.fact, CpuWait)}
    for key, figures in view.steps.items():
        before, at_random = written.get(key, (1.0, 1.0))
        if key in doubtful:
            found[key] = doubtful[key]
        elif any(row.steady is False for row in figures.rows):
            found[key] = Unsettled.NOT_STEADY
        elif key in gaps:
            found[key] = Unsettled.MAXIMUM
        elif before < WHOLE:
            found[key] = Unsettled.NOT_FILLED
        elif at_random < WHOLE and _overwrites(jobs[key[0]][key[1]]):
            found[key] = Unsettled.NOT_OVERWRITTEN
        elif key in waited:
            found[key] = Unsettled.MACHINE_BUSY
    return found


def written_before(view: RunView) -> dict[Key, tuple[float, float]]:
    """Returns the share of each step's region that held data, and how often it was written at random, by the time that
    it was measured.

    Only of SSDs, whose figures depend on it, and of arrays with one. A twin begins fresh, or with its `settled_share`
    overwritten at random. What a real drive held before is not known, so it is judged where the run writes to it. A
    write in order counts as part of the fill that it is judged by. A purge begins again, and a fill afresh what is
    written at random, unless it was passed over. What is written to a copy of a twin is lost. Hosts with drives of
    their own under one name have a region each. The repeat that wrote least counts.
    """
    found: dict[Key, tuple[float, float]] = {}
    for target in view.document.targets:
        for intervals in (view.intervals, *view.further):
            for key, (covered, at_random) in _written_of(view, target, intervals).items():
                least = found.get(key, (covered, at_random))
                found[key] = min(covered, least[0]), min(at_random, least[1])
    return found


def _written_of(
    view: RunView, target: TargetRecord, intervals: IntervalSums
) -> dict[Key, tuple[float, float]]:
    """Returns `written_before` of one target in one repeat; nothing where it is not judged."""
    if not any(name == target.name for name, *_ in intervals.counts):
        return {}
    written, freed = intervals.written_bytes(), intervals.bytes_of(DEALLOCATES)
    known = target.kind == "twin" or any(name == target.name for name, _ in written)
    origin = view.origin_of(target)
    drives = origin.drives or [target]
    if not known or target.identity.get("file_system") or not any(map(keeps_state, drives)):
        return {}
    units = len(origin.drives) or 1
    unit_bytes = target.known_bytes * (target.scale or 1) / units
    begins = min(_settled_share(one.catalog) for one in drives) if target.kind == "twin" else 0.0
    coverage = Coverage(origin.copies * units, unit_bytes, begins)
    found: dict[Key, tuple[float, float]] = {}
    for step, job in origin.jobs.items():
        key, named = (target.name, step), origin.steps[step]
        own = written.get(key, 0)
        if named.get("kind") == "purge":
            coverage.purge()
            continue
        afresh = own and named.get("afresh")
        if afresh:
            coverage.forget_random()
        before = coverage.of(job)
        if not (target.kind == "twin" and named.get("on_copy")):
            if afresh and target.kind == "twin":
                coverage.fill(own)
            else:
                coverage.write(job, own, freed.get(key, 0))
        in_order = job.pattern.kind == "sequential" and not job.streams
        found[key] = (coverage.of(job)[0] if in_order else before[0], before[1])
    return found


def _overwrites(job: Job) -> bool:
    return "write" in job.weights and job.pattern.kind != "sequential"


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
