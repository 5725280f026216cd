"""Several runs and targets laid side by side: targets are columns, corners (a measured workload) are rows.

Says who leads by how much and when two figures are level. Draws nothing.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from string import ascii_uppercase
from typing import TypeVar, cast

import numpy as np

from fathom._core import LARGE_BLOCK_BYTES, Job
from fathom.analysis.consistency import floor_of
from fathom.analysis.finding import joined
from fathom.catalog.models import Device
from fathom.catalog.settings import split
from fathom.columns.schema import Point
from fathom.method.curve import SUSTAINED_LEAST, is_point
from fathom.method.method import AGAINST_ITS_DRIVE, WARM_UP, Quick
from fathom.output.text import many_of, told_apart
from fathom.prediction.interval import Spread, known_device, order_chance, spread_of
from fathom.report import published
from fathom.report.data import RunData
from fathom.report.published import Lookup, Metric, Published
from fathom.report.repeats import pool as pool_runs
from fathom.report.repeats import repeats_by_target
from fathom.report.rows import Busy, StepRecord
from fathom.report.style import plain
from fathom.report.totals import TOTAL, merged, rates_of_repeats, total
from fathom.runs.document import QuickFactors, TargetRecord
from fathom.sizing.files import Prices, read_prices
from fathom.statistics import failed, uncertainty
from fathom.statistics.percentiles import Histogram
from fathom.statistics.series import Floats

CAPACITY = re.compile(r"\s+\d+(\.\d+)?\s?[TG]i?B\b")
T = TypeVar("T")
LEAST_PCT = 0.001
"""A smaller margin is as good as none."""


@dataclass(frozen=True)
class Column:
    """One target of one run, or of its repeats pooled. `index` fixes its colour on every figure; `short` is the label
    for narrow places.
    """

    index: int
    run: RunData
    target: TargetRecord
    label: str
    short: str

    @property
    def repeats(self) -> int:
        """Number of runs that its figures pool; 1 without repeats."""
        return len(self.run.repeats)

    def is_of(self, run: RunData) -> bool:
        """Returns whether the run is the column's, or one of its repeats."""
        return any(one is run for one in self.run.repeats)

    @property
    def kind(self) -> str:
        """What kind of thing was measured how, for headings."""
        origin = self.run.document.origin
        by = f"by {plain(origin.title)}, elsewhere" if origin else ""
        how = by or "measured"
        what = "target" if self.target.kind == "unknown" else self.target.kind
        kind = f"twin, simulated {by}".rstrip() if self.is_twin else f"{what}, {how}"
        return kind if self.repeats == 1 else f"{kind}, mean of {self.repeats} repeats"

    @property
    def is_twin(self) -> bool:
        """Whether its figures are simulated."""
        return self.target.kind == "twin"

    @property
    def tag(self) -> str:
        """What its figures are of, in a word or few, to stand beside its name."""
        if self.twin_device and self.twin_device.is_of_data_sheet:
            return "twin of a data sheet"
        return "twin" if self.is_twin else self.target.kind

    @cached_property
    def twin_device(self) -> Device | None:
        """The catalogue's device of a twin; None of what was measured, or where this version does not know it."""
        return known_device(self.target.catalog) if self.is_twin else None

    def is_replay(self, step: str) -> bool:
        """Returns whether a step issues a trace, or those of several devices as streams."""
        loads = self._loads(step)
        return bool(loads) and all(one.pattern.kind == "replay" for one in loads)

    def offered_iops(self, step: str) -> float | None:
        """Returns the rate of an open load, all operations together; None of a closed one.

        That of a replay is the recorded one. A replay that is late has a longer window, in which less arrives. None too
        of a trace of one I/O, which has no rate.
        """
        if not self.is_replay(step):
            rates = (one.offered_iops for one in self._points(step))
            return next((rate for rate in rates if rate is not None), None)
        loads = self._loads(step)
        known = [(one.count, one.rate_iops) for one in loads if one.count and one.rate_iops]
        lengths_s = [ios / rate for ios, rate in known if ios > 1]
        if len(known) < len(loads) or not lengths_s:
            return None
        return sum(ios for ios, _ in known) / max(lengths_s)

    def keeps_up(self, step: str) -> bool | None:
        """Returns whether an open load was served at its rate; None of a closed one."""
        offered = self.offered_iops(step)
        if not offered:
            return None
        return sum(one.iops or 0.0 for one in self._points(step)) >= SUSTAINED_LEAST * offered

    def _loads(self, step: str) -> Sequence[Job]:
        """Returns the streams of a step's job, or the job alone; none of a run that keeps no job."""
        job = self.run.jobs.get(step)
        return [*job.streams.values()] or [job] if job else []

    def _points(self, step: str) -> Sequence[Point]:
        return [one for one in self.run.points if (one.target, one.step) == (self.target.name, step)]

    def spread(self, step: str, block_bytes: int | None) -> Spread | None:
        """Returns how far measurements may lie from a twin's rate of such blocks; None of what was measured."""
        return spread_of(self.twin_device, block_bytes, self.run.jobs.get(step)) if self.twin_device else None


def margin_of(value: float | None, low: float | None, high: float | None) -> str:
    """Returns half an interval in percent of its value, `± 1.2 %` or `± 0.03 %`; empty where there is none.

    One that ends at 0 has no half: `−100 % to +175 %`.
    """
    if low is None or high is None or not value:
        return ""
    if low <= 0 < value:
        return f"−100 % to +{100 * (high / value - 1):.0f} %"
    half_pct = 50 * (high - low) / value
    if half_pct < LEAST_PCT:
        return f"± < {LEAST_PCT} %"
    return f"± {half_pct:.1f} %" if half_pct >= 1 else f"± {half_pct:.1g} %"


@dataclass(frozen=True)
class Cell:
    """What one target did in one corner."""

    column: Column
    point: Point
    step: StepRecord
    metric: Metric
    published: Published | None
    histogram: Histogram | None
    busy: list[Busy]
    repeats: Sequence[Floats]
    """IOPS of every whole second, of each repeat that has any."""

    @property
    def rates(self) -> Floats:
        """IOPS of every whole second, of the first repeat."""
        return self.repeats[0] if self.repeats else np.zeros(0)

    @property
    def value(self) -> float | None:
        """The headline figure: MB/s (10^6) or IOPS."""
        return self.point.mbps if self.metric == "mbps" else self.point.iops

    @property
    def failed(self) -> str:
        """The share of its I/O that failed, in words, where its figures carry it; else empty."""
        share = self.point.failed_share
        return failed.in_words(share) if share is not None and failed.is_marked(share) else ""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of `value`. MB/s scale with IOPS because the block size is fixed.

        A trace sets the rate of a replay that keeps up with it, so its seconds say nothing of the target.
        """
        point = self.point
        if self.is_rate_of_trace:
            return None
        if point.iops_low is None or point.iops_high is None or not point.iops or self.value is None:
            return None
        scale = self.value / point.iops
        return point.iops_low * scale, point.iops_high * scale

    @property
    def is_rate_of_trace(self) -> bool:
        """Whether the rate is that of the trace, because its replay kept up with the recorded times."""
        return self.is_replay and bool(self.keeps_up)

    @property
    def why_no_interval(self) -> str:
        """Why `interval` has none, in words."""
        if self.is_rate_of_trace:
            return "the trace sets its rate"
        return "too few seconds, or they drift"

    @property
    def iops_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the IOPS, the unit of `repeats`."""
        low, high = self.point.iops_low, self.point.iops_high
        return None if low is None or high is None else (low, high)

    @cached_property
    def spread(self) -> Spread | None:
        """How far a measurement may lie from the headline rate of a twin; None of what was measured.

        None too of an offered rate that was kept up with: it says what was asked, not what a drive can do.
        """
        unknown = self.value is None or self.is_offered_rate
        return None if unknown else self.column.spread(self.point.step, self.point.block_bytes)

    @property
    def is_offered_rate(self) -> bool:
        """Whether the rate is the one that was offered."""
        return self.point.limit is not None and self.point.limit.is_offered_rate

    @property
    def is_replay(self) -> bool:
        """Whether the step issues a trace, or those of several devices as streams."""
        return self.column.is_replay(self.point.step)

    @property
    def offered_iops(self) -> float | None:
        """The rate of an open load, all operations together; None of a closed one."""
        return self.column.offered_iops(self.point.step)

    @property
    def keeps_up(self) -> bool | None:
        """Whether an open load was served at its rate; None of a closed one."""
        return self.column.keeps_up(self.point.step)

    def order_chance(self, behind: "Cell") -> float | None:
        """Returns how likely measurements show this cell's headline ahead of a lower one's, 0..1.

        None where neither is a twin's, or where nothing is known of a twin's misses. None for one device's twin with
        other parameters too: both miss alike.
        """
        both = (self, behind)
        if any(cell.column.is_twin and not cell.spread for cell in both) or not behind.value:
            return None
        if len({split(cell.column.target.catalog or "")[0] for cell in both}) == 1:
            return None
        return order_chance((self.value or 0) / behind.value, self.spread, behind.spread)

    @property
    def margin(self) -> str:
        """Half the interval in percent of the value; empty where there is none."""
        return margin_of(self.value, *self.interval) if self.interval else ""

    @property
    def error_pct(self) -> float | None:
        """Headline against published figure; the floor of the seconds against a published floor."""
        if self.published is None or self.value is None:
            return None
        floor = floor_of(*self.repeats) if self.published.is_floor and self.metric == "iops" else None
        return self.published.error_pct(self.value if floor is None else floor)

    @property
    def fitted(self) -> bool:
        """Whether it is a twin's figure that may be fitted to the published one."""
        return (
            self.column.is_twin
            and self.error_pct is not None
            and bool(self.published and self.published.fitted)
        )


@dataclass(frozen=True)
class Corner:
    """One measured workload across all columns; targets that did not run it have no cell."""

    key: str
    label: str
    metric: Metric
    cells: Sequence[Cell]

    @property
    def unit(self) -> str:
        """Unit of the headline figure."""
        return "MB/s" if self.metric == "mbps" else "IOPS"

    def cell(self, column: Column) -> Cell | None:
        """Returns the column's cell."""
        return next((cell for cell in self.cells if cell.column is column), None)

    @cached_property
    def ranking(self) -> list[Cell]:
        """Cells that have a figure, best first. Cells whose share of failed I/O is marked are left out."""
        able = (cell for cell in self.cells if cell.value and not cell.failed)
        return sorted(able, key=lambda cell: -(cell.value or 0))

    @cached_property
    def contest(self) -> list[tuple[Cell, uncertainty.Comparison | None]]:
        """The best against each of the others, best first; None where it cannot be known."""
        return [
            (
                cell,
                uncertainty.compare(
                    best.repeats, cell.repeats, known=(best.iops_interval, cell.iops_interval)
                ),
            )
            for best in self.ranking[:1]
            for cell in self.ranking[1:]
        ]

    @cached_property
    def unbeaten(self) -> list[Cell]:
        """Cells that may be as good as the best: the interval of their ratio includes 1, or cannot be known.

        Those that only have the rate that was offered, as the best has, are among them.
        """
        return [
            cell
            for cell, ratio in self.contest
            if cell in self.kept_up or ratio is None or ratio.verdict != "a"
        ]

    @cached_property
    def kept_up(self) -> list[Cell]:
        """The best, where several only have the rate that was offered: it ranks none of them. Empty elsewhere."""
        offered = [cell for cell in self.ranking if cell.is_offered_rate]
        return offered if len(offered) > 1 and offered[0] is self.ranking[0] else []

    @property
    def is_level(self) -> bool:
        """Whether those that may be as good as the best are shown to be near it."""
        return all(ratio and ratio.shows_level for cell, ratio in self.contest if cell in self.unbeaten)

    @property
    def has_few_seconds(self) -> bool:
        """Whether one of those that may be as good as the best has too few seconds to say more."""
        lengths = (map(len, cell.repeats) for cell in (*self.ranking[:1], *self.unbeaten))
        few = any(min(one, default=0) < uncertainty.LEAST_SAMPLES for one in lengths)
        return few and any(ratio is None for _, ratio in self.contest)

    @property
    def lead_pct(self) -> float:
        """How far the best is ahead of the second, in percent of the second."""
        return 100 * ((self.ranking[0].value or 0) / (self.ranking[1].value or 1) - 1)


@dataclass(frozen=True)
class Comparison:
    """Everything a page or a terminal table shows."""

    runs: Sequence[RunData]
    columns: Sequence[Column]
    corners: Sequence[Corner]
    lookup: Lookup
    prices: Prices
    made: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What `once` keeps, by function."""

    @property
    def twins(self) -> list[Column]:
        """The simulated columns."""
        return [column for column in self.columns if column.is_twin]

    @property
    def rivals(self) -> list[Column]:
        """The columns to rank. A system beside its own drive is ranked alone."""
        beside = all(run.document.method.name in AGAINST_ITS_DRIVE for run in self.runs)
        return list(self.columns[:1] if beside else self.columns)

    @property
    def key_figure(self) -> str | None:
        """The section that the runs' methods declare as their key figure; None where they declare none, or not the
        same.
        """
        declared = {run.key_figure for run in self.runs}
        return declared.pop() if len(declared) == 1 else None

    @property
    def refused(self) -> list[str]:
        """What is compared with nothing, because too much of its I/O failed: a line per figure."""
        several = len(self.columns) > 1
        return [
            f"{cell.column.label}, {corner.label}: {cell.failed}, so it is left out of comparisons"
            for corner in self.corners
            for cell in corner.cells
            if several and cell.failed
        ]

    @property
    def shortenings(self) -> list[str]:
        """The factors by which runs were shortened, in words. If there are several runs, each names those that it
        applies to.
        """
        said: dict[str, list[str]] = {}
        for place, run in enumerate(self.runs):
            if text := shortened(run.document.quick):
                said.setdefault(text, []).append(run_letter(place))
        if [len(letters) for letters in said.values()] == [len(self.runs)]:
            return list(said)
        return [
            f"run{'s' if len(letters) > 1 else ''} {joined(letters)}: {text}"
            for text, letters in said.items()
        ]

    def label_of(self, run: RunData, target: str) -> str:
        """Returns the column label of a target's name. A part has its whole's label, with the part's name in it."""
        column = self.column_of(run, target)
        if column:
            return column.label
        part = next((one for one in run.document.targets if one.name == target), None)
        whole = self.column_of(run, part.part_of) if part else None
        return f"{whole.label}, {part_name(part, whole.target)}" if part and whole else plain(target)

    def column_of(self, run: RunData, target: str | None) -> Column | None:
        """Returns the column of a target's name; None for a part, and without a name."""
        return next((c for c in self.columns if c.is_of(run) and c.target.name == target), None)


def once(make: Callable[[Comparison], T]) -> Callable[[Comparison], T]:
    """Computes a function of a comparison once: a dozen sections ask for the same."""

    @wraps(make)
    def made(comparison: Comparison) -> T:
        if make not in comparison.made:
            comparison.made[make] = make(comparison)
        return cast("T", comparison.made[make])

    return made


def part_name(part: TargetRecord, total: TargetRecord) -> str:
    """Returns what a part is called among those of its total: `drive 7`, a host, a member's name."""
    if total.has_members and part.is_drive_of(total):
        return plain(part.name)
    if part.is_drive_of(total):
        return f"drive {plain(part.name.removeprefix(f'{total.name}#'))}"
    return plain(part.name.removesuffix(f":{total.name}"))


def shortened(quick: Quick | QuickFactors | None) -> str | None:
    """Returns the factors by which a quick run is shorter, in words; None for a full run."""
    if quick is None:
        return None
    shortened = {
        "measured times": quick.divide_times_by,
        "times of preconditioning": quick.divide_preconditioning_by,
        "written volumes": quick.divide_volumes_by,
    }
    divided = [(what, factor) for what, factor in shortened.items() if factor != 1]
    return ", ".join(
        f"{what} {'' if number else 'are divided '}by {factor:g}"
        for number, (what, factor) in enumerate(divided)
    )


def run_letter(index: int) -> str:
    """Returns the letter of a run: A, B, ... Z, A2, ..."""
    turn, place = divmod(index, 26)
    return ascii_uppercase[place] + (str(turn + 1) if turn else "")


def compare(
    runs: Sequence[RunData],
    lookup: Lookup = published.catalogue,
    prices: Prices | None = None,
    *,
    pool: bool = False,
) -> Comparison:
    """Lays runs side by side in the order given. Runs made as repeats are pooled; with `pool`, so are all runs of one
    method on one target. Without prices, the shipped relative ones are taken. Steps that warm up have no corner: their
    figures are not for reading.
    """
    columns = _columns(runs, pool=pool)
    cells: dict[str, list[Cell]] = {}
    labels: dict[str, str] = {}
    for column in columns:
        own = [point for point in column.run.points if point.target == column.target.name]
        points = [
            p
            for p in own
            if not is_point(p.step) and column.run.round_of(p.step) is None and p.workload != WARM_UP
        ]
        for halves in _figures(column.run, points):
            key, label = _corner_of(column.run, halves[0], points)
            whole = len(halves) == len(_same_step(halves[0], points))
            cell = cell_of(column, halves, lookup, whole=whole)
            if key in cells and cells[key][0].metric != cell.metric:
                # Methods may call different blocks by one name. Figures in two units share no row.
                key = f"{cell.metric}-{key}"
            cells.setdefault(key, []).append(cell)
            labels.setdefault(key, label)
    corners = [Corner(key, labels[key], members[0].metric, members) for key, members in cells.items()]
    return Comparison(runs, columns, corners, lookup, prices or read_prices(None))


def _columns(runs: Sequence[RunData], *, pool: bool) -> list[Column]:
    """Returns the columns. Labels are unique: drives of one model have the names of their devices behind them. Short
    ones drop the capacity unless that would confuse two targets.
    """
    found = repeats_by_target(runs, by_hand=pool)
    apart = len({tuple(map(id, members)) for members, _ in found}) > 1
    given: list[str] = []
    for members, target in found:
        letters = ", ".join(run_letter(_place(run, runs)) for run in members)
        label = plain(target.label or target.name) + (f" · {letters}" if apart else "")
        state = members[0].document.power_state
        if state is not None and target.kind == "device":
            label += f", power state {state}"
        given.append(label)
    names = [plain(Path(one.name).name) if one.kind == "device" else None for _, one in found]
    labels: list[str] = []
    for label in told_apart(given, names):
        labels.append(label if label not in labels else f"{label} ({len(labels) + 1})")
    shorts = [CAPACITY.sub("", label) for label in labels]
    shorts = shorts if len(set(shorts)) == len(shorts) else labels
    pooled: dict[tuple[int, ...], RunData] = {}
    columns = []
    for (members, target), label, short in zip(found, labels, shorts, strict=True):
        key = tuple(map(id, members))
        if key not in pooled:
            pooled[key] = pool_runs(members)
        columns.append(Column(len(columns), pooled[key], target, label, short))
    return columns


def _place(run: RunData, runs: Sequence[RunData]) -> int:
    return next(place for place, one in enumerate(runs) if one is run)


def _same_step(point: Point, points: Sequence[Point]) -> list[Point]:
    return [other for other in points if other.step == point.step]


def _figures(run: RunData, points: Sequence[Point]) -> Iterator[list[Point]]:
    """Yields the points that become one figure: each by itself, but of a curve's maximum all operations together."""
    seen: set[str] = set()
    for point in points:
        if run.curve(point.step) is None:
            yield [point]
        elif point.step not in seen:
            seen.add(point.step)
            yield _same_step(point, points)


def _corner_of(run: RunData, point: Point, points: Sequence[Point]) -> tuple[str, str]:
    """Returns the key and label of a point's row.

    Runs of different methods meet by workload; where a method measures a workload more than once, by step.
    """
    once = len({other.step for other in points if other.workload == point.workload}) == 1
    label = plain(run.steps[point.step].label)
    several = len(_same_step(point, points)) > 1
    summed = several and run.curve(point.step) is not None
    return (
        f"{point.workload if once else point.step}/{TOTAL if summed else point.op}",
        f"{label}, {many_of(plain(point.op))}" if several and not summed else label,
    )


def cell_of(column: Column, halves: Sequence[Point], lookup: Lookup, *, whole: bool) -> Cell:
    """Returns the cell of a step. Halves of a mix get no published figure: reviews print the total."""
    run = column.run
    point = total(run, halves)
    step = run.steps[point.step]
    metric: Metric = "mbps" if (point.block_bytes or 0) >= LARGE_BLOCK_BYTES else "iops"
    job = run.jobs.get(point.step)
    figure = published.find(lookup, column.target.catalog, step.published, metric, job) if whole else None
    return Cell(
        column,
        point,
        step,
        metric,
        None if failed.is_marked(point.failed_share) else figure,
        None if failed.is_withheld(point.failed_share) else merged(run, halves),
        run.busy(point.target, point.step),
        rates_of_repeats(run, halves),
    )
