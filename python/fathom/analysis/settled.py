"""The gate before a sentence claims a figure: whether the target had settled, and had the cores that it needed.

Every sentence that a target leads, holds or sustains is checked here first, against the run's record.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache

from fathom._core import Job
from fathom.analysis.run_view import Key, RunView
from fathom.analysis.validity.of_curves import maximum_gaps
from fathom.output.text import percent
from fathom.prediction.interval import known_device
from fathom.runs.document import TargetRecord
from fathom.runs.remarks import CpuWait

WHOLE = 0.99
"""Share of a region that counts as all of it: a fill writes whole blocks."""


class Unsettled(Enum):
    """Why nothing is claimed of a target's figure. The values stand in parentheses behind `verb`."""

    NOT_STEADY = "steady state was not reached"
    NOT_FILLED = "its region had not been written once"
    NOT_OVERWRITTEN = "random writes had not covered its region once"
    MAXIMUM = "its maximum had changed while the curve was measured"
    MACHINE_BUSY = "other programs had the cores that its load threads waited for"

    @property
    def verb(self) -> str:
        """Returns what the target did, of one or several."""
        return "lacked cores" if self is Unsettled.MACHINE_BUSY else "had not settled"

    @property
    def tag(self) -> str:
        """Returns a word or two for a cell."""
        return "machine busy" if self is Unsettled.MACHINE_BUSY else "not settled"


def verbs(reasons: Iterable[Unsettled]) -> str:
    """Returns the verbs of several reasons."""
    return " or ".join(dict.fromkeys(one.verb for one in reasons))


def tags(reasons: Iterable[Unsettled]) -> str:
    """Returns the tags of several reasons."""
    return " or ".join(dict.fromkeys(one.tag for one in reasons))


def unsettled(view: RunView) -> Mapping[Key, Unsettled]:
    """Returns the measured steps that support no claim, with the reason. Only the others may be claimed."""
    found: dict[Key, Unsettled] = {}
    written, gaps = written_before(view), maximum_gaps(view)
    waited = {(one.target, one.step) for one in view.remarks if isinstance(one.fact, CpuWait)}
    for key, figures in view.steps.items():
        before, at_random = written.get(key, (1.0, 1.0))
        if any(row.steady is False for row in figures.rows):
            found[key] = Unsettled.NOT_STEADY
        elif key in gaps:
            found[key] = Unsettled.MAXIMUM
        elif before < WHOLE:
            found[key] = Unsettled.NOT_FILLED
        elif at_random < WHOLE and _overwrites(view.jobs[key[1]]):
            found[key] = Unsettled.NOT_OVERWRITTEN
        elif key in waited:
            found[key] = Unsettled.MACHINE_BUSY
    return found


def shortfall(before: float, at_random: float) -> str:
    """Returns in words how much of a region had been written."""
    return f"{percent(before)} of its region had been written, {percent(at_random)} at random"


def written_before(view: RunView) -> dict[Key, tuple[float, float]]:
    """Returns how often the region of each step had been written, and how often at random, by the time that it was
    measured.

    Only of SSDs, whose figures depend on it, and of arrays with one. A twin begins fresh, or with its `settled_share`
    overwritten at random. What a real drive held before is not known, so it is judged where the run writes to it. A
    write in order counts as part of the fill that it is judged by. A purge begins again, and a fill afresh what is
    written at random, unless it was passed over. What is written to a copy of a twin is lost. Hosts with drives of
    their own under one name have a region each.
    """
    written = view.written_bytes()
    found: dict[Key, tuple[float, float]] = {}
    for target in view.document.targets:
        known = target.kind == "twin" or any(name == target.name for name, _ in written)
        drives = view.document.drives_of(target) if target.kind == "array" else [target]
        if not known or not any(map(_keeps_state, drives)):
            continue
        capacity_bytes = target.known_bytes * (target.scale or 1)
        copies = view.document.copies_of(target)
        begins = _settled_share(target.catalog) if target.kind == "twin" else 0.0
        total = at_random = begins * capacity_bytes
        for step, job in view.jobs.items():
            kind = view.named[step].get("kind")
            if kind == "purge":
                total = at_random = 0.0
                continue
            own = written.get((target.name, step), 0)
            if own and view.named[step].get("afresh"):
                at_random = 0.0
            in_order = job.pattern.kind == "sequential"
            region = copies * job.region_on(round(capacity_bytes))[1]
            if not job.streams and region:
                found[target.name, step] = ((total + own * in_order) / region, at_random / region)
            if target.kind == "twin" and view.named[step].get("on_copy"):
                continue
            total += own
            at_random += own * (not in_order)
    return found


def _overwrites(job: Job) -> bool:
    return "write" in job.weights and job.pattern.kind != "sequential"


def _keeps_state(target: TargetRecord) -> bool:
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
