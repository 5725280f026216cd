"""Measured figures beside published ones: which differ, by how much, and whether the order is the same."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, prod
from statistics import fmean
from typing import NamedTuple, Protocol

import numpy as np

from fathom._core import Job
from fathom.analysis.consistency import floor_of
from fathom.analysis.finding import Finding, cited, joined, number
from fathom.analysis.outcomes import interval_of
from fathom.analysis.run_view import Key, RunView, StepFigures
from fathom.analysis.settled import Unsettled
from fathom.output.text import signed_pct

SURPRISE_PCT = 10.0
"""A published figure counts as contradicted from this difference on."""
FITTED = "fitted"
"""Role of a row that a twin's free parameters were fitted to."""
UNCERTAIN = "uncertain"
"""Role of a row whose source leaves the figure in doubt: it proves nothing, so it is reported separately."""
ROWS = {
    "validation": "figures that nothing was fitted to",
    FITTED: "figures that twins were fitted to",
}


PATTERNS = {"seq": ("sequential", "sequential-streams"), "rand": ("uniform", "random-once")}
"""Kinds of a job's pattern by the order that a published row states; other orders are not compared."""
PCT_GAP = 0.5
"""Shares of reads closer than this, in percent, are the same."""


class PublishedRow(Protocol):
    """The fields of a published figure that findings read; absent ones are `None` or nan.
    `fathom.catalog.published_for` returns such rows.
    """

    @property
    def iops(self) -> float | None: ...  # noqa: D102
    @property
    def mbps(self) -> float | None: ...  # noqa: D102
    @property
    def role(self) -> str | None: ...  # noqa: D102
    @property
    def source(self) -> str | None: ...  # noqa: D102
    @property
    def statistic(self) -> str | None: ...  # noqa: D102
    @property
    def uncertain(self) -> bool: ...  # noqa: D102
    @property
    def bound(self) -> str | None: ...  # noqa: D102
    @property
    def block_kib(self) -> float | None: ...  # noqa: D102
    @property
    def read_pct(self) -> float | None: ...  # noqa: D102
    @property
    def pattern(self) -> str | None: ...  # noqa: D102
    @property
    def jobs(self) -> int | None: ...  # noqa: D102
    @property
    def threads(self) -> int | None: ...  # noqa: D102
    @property
    def iodepth(self) -> int | None: ...  # noqa: D102


def is_of_load(row: PublishedRow, job: Job | None) -> bool:
    """Returns whether a published figure can stand beside what a job measured.

    It cannot where the row states another block, mix, order or number of I/Os in flight. Nor can a bound, because it is
    no figure. What the row does not state is taken to be the method's. `job` is None where nobody recorded it.
    """
    if row.bound is not None:
        return False
    counts = [count for count in (row.jobs, row.threads, row.iodepth) if count]
    stated = counts or row.block_kib is not None or row.read_pct is not None or row.pattern in PATTERNS
    if job is None or not stated:
        return True
    if job.streams:
        return False
    sizes = {size_bytes for of_op in job.block_sizes.values() for size_bytes in of_op}
    kinds = PATTERNS.get(row.pattern or "")
    return (
        (row.block_kib is None or sizes == {round(row.block_kib * 1024)})
        and (
            row.read_pct is None or (job.read_pct is not None and abs(job.read_pct - row.read_pct) < PCT_GAP)
        )
        and (kinds is None or job.pattern.kind in kinds)
        and (not counts or (job.rate_iops is None and prod(counts) == job.threads * job.iodepth))
    )


class _Row(NamedTuple):
    """What a published figure is of, and whether a twin stands beside it."""

    device: str
    workload: str
    in_bandwidth: bool
    beside_twin: bool


PublishedLookup = Callable[[str, str], Sequence[PublishedRow]]
"""(catalogue device, published workload) -> its rows, best first."""


def differences(
    view: RunView,
    ranked: Sequence[Sequence[StepFigures]],
    lookup: PublishedLookup,
    gate: Mapping[Key, Unsettled],
) -> Iterable[Finding]:
    """Yields contradictions one by one, the largest first; agreement in one sentence.

    A published figure that several targets have, as one drive in two runs, counts once: by its mean difference.
    """
    off: dict[str, dict[_Row, list[float]]] = {}
    far: list[tuple[float, Finding]] = []
    for beside in (one for members in ranked for one in _against_published(view, members, lookup, gate)):
        figures, off_pct = beside.figures, 100 * (beside.measured / beside.published - 1)
        twin = view.is_twin(figures.target)
        fitted = beside.role == "calibration" and twin
        row = _Row(beside.device, figures.published or "", figures.in_bandwidth, twin)
        off.setdefault(FITTED if fitted else beside.role, {}).setdefault(row, []).append(off_pct)
        if abs(off_pct) < SURPRISE_PCT or beside.role == UNCERTAIN:
            continue
        text = (
            f"{view.label(figures.target)} in {figures.label}: {'a floor of ' if beside.is_floor else ''}"
            f"{number(beside.measured)} {figures.unit} is {abs(off_pct):.0f} % "
            f"{'above' if off_pct > 0 else 'below'} the published {number(beside.published)}"
            f"{_although(fitted=fitted, quick=view.is_quick(figures.target))} ({cited(beside.source)})."
        )
        bounds = interval_of(view, figures)
        measured = {"measured": beside.measured, "published": beside.published}
        far.append(
            (abs(off_pct), Finding("surprise", text, (figures.target,), figures.step, measured, bounds))
        )
    yield from (finding for _, finding in sorted(far, key=lambda pair: -pair[0]))
    if off:
        yield _agreement({role: [*map(fmean, rows.values())] for role, rows in off.items()})


def order_beside_published(
    view: RunView,
    ranked: Sequence[Sequence[StepFigures]],
    lookup: PublishedLookup,
    gate: Mapping[Key, Unsettled],
) -> Iterable[Finding]:
    """Yields in how many workloads the published leader is ahead, and in how many the whole order is as published.

    One drive in several runs is no contest. A figure in doubt proves nothing, so it takes no part.
    """
    beside = [
        [one for one in _against_published(view, members, lookup, gate) if one.role != UNCERTAIN]
        for members in ranked
    ]
    contests = [known for known in beside if len({one.device for one in known}) > 1]
    if not contests:
        return
    others, ordered = [], 0
    for known in contests:
        here, there = (max(known, key=key) for key in (_measured, _published_value))
        if here.published != there.published:
            names = (view.label(there.figures.target), view.label(here.figures.target))
            others.append(f"{here.figures.label} (published {names[0]}, here {names[1]})")
        ordered += _in_order(known)
    same = len(contests) - len(others)
    text = (
        f"The published leader is ahead in {same} of {len(contests)} workloads, and all targets come out in the "
        f"published order in {ordered} of them."
    )
    if others:
        text += f" Another is ahead in {joined(others)}."
    yield Finding("order", text, (), None, {"same_leader": float(same), "of": float(len(contests))})


@dataclass(frozen=True)
class _AgainstPublished:
    """A measured figure and the published one for comparison."""

    figures: StepFigures
    device: str
    """The device of the catalogue, with what its user set."""
    measured: float
    published: float
    role: str
    source: str
    is_floor: bool


def _against_published(
    view: RunView, members: Sequence[StepFigures], lookup: PublishedLookup, gate: Mapping[Key, Unsettled]
) -> list[_AgainstPublished]:
    """Returns the settled figures of one step that are published too."""
    targets = {target.name: target for target in view.document.targets}
    found = []
    for figures in members:
        target = targets[figures.target]
        device, job = target.catalog, view.origin_of(target).jobs.get(figures.step)
        published = _published_figure(figures, device, lookup, job)
        if device is None or published is None or (figures.target, figures.step) in gate:
            continue
        own = floor_of(*view.repeats(figures)) if published.is_floor else None
        measured = figures.headline if own is None else own
        found.append(
            _AgainstPublished(
                figures,
                device,
                measured,
                published.value,
                published.role,
                published.source,
                is_floor=own is not None,
            )
        )
    return found


@dataclass(frozen=True)
class _PublishedFigure:
    """A published rate, or bandwidth."""

    value: float
    role: str
    source: str
    is_floor: bool
    """Whether it is the least rate of the test, not its mean."""


def _published_figure(
    figures: StepFigures, device: str | None, lookup: PublishedLookup, job: Job | None
) -> _PublishedFigure | None:
    """Returns the published figure of a step; one in doubt only where there is no other."""
    if device is None or figures.published is None:
        return None
    doubtful = None
    for row in lookup(device, figures.published):
        value = row.mbps if figures.in_bandwidth else row.iops
        if value is not None and isfinite(value) and value > 0 and is_of_load(row, job):
            is_floor = row.statistic == "floor"
            found = _PublishedFigure(value, row.role or "", row.source or "source not given", is_floor)
            if not row.uncertain:
                return found
            doubtful = doubtful or replace(found, role=UNCERTAIN)
    return doubtful


def _measured(one: _AgainstPublished) -> float:
    return one.measured


def _published_value(one: _AgainstPublished) -> float:
    return one.published


def _in_order(known: Sequence[_AgainstPublished]) -> bool:
    """Returns whether the measured order is the published order."""
    values = [one.published for one in sorted(known, key=_measured)]
    return values == sorted(values)


def _agreement(off: Mapping[str, Sequence[float]]) -> Finding:
    """Returns the median and worst difference over all rows, separately for rows that the twin was fitted to."""
    parts, figures = [], {}
    doubtful = off.get(UNCERTAIN, ())
    counted = [one for one in off.items() if one[0] != UNCERTAIN]
    for role, errors in sorted(counted, key=lambda one: one[0] == FITTED):
        near = sum(abs(one) < SURPRISE_PCT for one in errors)
        middle, worst = float(np.median(np.abs(errors))), max(errors, key=abs)
        what = ROWS.get(role, "published figures")
        parts.append(
            f"over all {len(errors)} {what}, the median difference is {middle:.1f} %, the largest {signed_pct(worst)}; "
            f"{near} {'is' if near == 1 else 'are'} within {SURPRISE_PCT:.0f} %"
            if len(errors) > 1
            else f"the one {what.replace('figures', 'figure', 1)} is off by {signed_pct(worst)}"
        )
        figures |= {f"{role}_median_pct": middle, f"{role}_worst_pct": worst, f"{role}_n": float(len(errors))}
    sentences = [f"{part[0].upper()}{part[1:]}." for part in parts]
    if doubtful:
        figures |= {"uncertain_worst_pct": max(doubtful, key=abs), "uncertain_n": float(len(doubtful))}
        sentences.append(left_out(doubtful))
    if FITTED in off:
        sentences.append("Fitted rows show that the model can be right, not that it predicts.")
    return Finding("agreement", " ".join(sentences), (), None, figures)


def left_out(doubtful: Sequence[float]) -> str:
    """Returns the differences of rows that are not counted, so that nothing is hidden."""
    if len(doubtful) == 1:
        return (
            f"One figure is left out because its source is in doubt: it is off by {signed_pct(doubtful[0])}."
        )
    worst = signed_pct(max(doubtful, key=abs))
    return f"{len(doubtful)} figures are left out because their sources are in doubt: the largest is off by {worst}."


def _although(*, fitted: bool, quick: bool) -> str:
    """Returns a caveat for a figure that is far from the published one."""
    if quick:
        return ", but this run is shortened, and its drive may be less worn in"
    return ", although the twin may be fitted to it" if fitted else ""
