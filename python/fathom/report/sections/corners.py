"""The main table: every corner, every target side by side, the published figure under the measured one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from fathom.analysis.settled import Unsettled
from fathom.catalog.models import UNEXPLAINED_PCT
from fathom.columns.schema import Point
from fathom.output.text import signed_pct
from fathom.prediction.interval import COVERAGE
from fathom.report import left_open, power
from fathom.report.blocks import Group, Item, Row, Section, Table
from fathom.report.comparison import Cell, Column, Comparison, Corner
from fathom.report.findings import Gate, gate, ranked_of
from fathom.report.latencies import latency, percentile
from fathom.report.left_open import Figure
from fathom.report.power import power_item
from fathom.report.predicted import PREDICTED, range_item
from fathom.report.published import caveat, error_item
from fathom.report.reference import reason
from fathom.report.style import MIN_TAIL, compact, grouped, plain, seconds, slot
from fathom.report.waf import NOTE, waf_item
from fathom.statistics.latency_columns import QUANTILES
from fathom.statistics.limits import meanings

ORDER = 19
SHOWN = 12
WAF = "WAF"
POWER = "Power, mean"
PREDICTED_NOTE = (
    f"{PREDICTED}: the range around a twin's rate that holds {100 * COVERAGE:.0f} % of measurements of such drives. "
    "It is learnt from the published results of other devices, never from the drive's own."
)
TWIN_NOTE = (
    "± and intervals of a twin are of sampling alone: how well its window is known. They do not say how near a real "
    "drive is."
)
NEARNESS_NOTE = f"“{PREDICTED}” does that for rates, and nothing does for latencies."
NONE = Item("–", tone="quiet", title="does not apply, or was not recorded")
OPEN: Mapping[str, Figure] = {
    "Latency, mean": "mean_us",
    "p50": "p50_us",
    "p99": "p99_us",
    "p99.9": "p999_us",
    WAF: "waf",
}
"""The metrics beside the rate that members of an ensemble have too."""


def build(comparison: Comparison) -> Section | None:
    """Returns the table of corners: workloads and targets down, metrics across."""
    if not comparison.corners:
        return None
    sources: list[str] = []
    out = gate(comparison)
    lines = [line for corner in comparison.corners for line in _lines(corner, comparison, sources, out)]
    names = [metric for metric in METRICS if any(metric.name in line.items for line in lines)]
    nearness = [NEARNESS_NOTE] if any(metric.name == PREDICTED for metric in names) else []
    footnotes = [
        "MB/s are 10⁶ bytes per second. Latencies are service latencies, issue to completion, in us. ± is half "
        "the 95 % interval of the mean rate within the window; a latency's own interval stands under it.",
        *([" ".join([TWIN_NOTE, *nearness])] if comparison.twins else []),
        *left_open.notes(comparison),
        f"“n too small”: percentile p is given only if {MIN_TAIL} I/Os or more lie above it: n (1 − p) ≥ {MIN_TAIL}.",
        *(
            note
            for label, note in ((PREDICTED, PREDICTED_NOTE), (WAF, NOTE), (POWER, power.NOTE))
            if any(metric.name == label for metric in names)
        ),
        *meanings(cell.point.limit for corner in comparison.corners for cell in corner.cells),
        *(f"[{number}] {source}" for number, source in enumerate(sources, 1)),
        *(f"{c.label}: {said}" for c in comparison.columns if (said := caveat(c.target.catalog))),
        *_far(comparison),
        *(f"{text}." for text in comparison.refused),
    ]
    methods = {run.document.method.name for run in comparison.runs}
    title = "Four corners" if methods == {"four-corners"} else "Results"
    alone = len(comparison.columns) == 1
    table = Table(
        "Workload" if alone else "",
        [Item(metric.name, metric.unit) for metric in names],
        _groups(comparison, lines, names, alone=alone),
        footnotes,
        shown=None if alone else SHOWN,
        folded=[place for place, metric in enumerate(names) if metric.is_further],
        folded_name="Further percentiles",
    )
    return Section("results", title, [table])


@dataclass(frozen=True)
class Metric:
    """A column: its name, its unit, and whether it is hidden at first."""

    name: str
    unit: str = ""
    is_further: bool = False


METRICS = (
    Metric("Result"),
    Metric(PREDICTED),
    Metric("Published"),
    Metric("Difference"),
    Metric("Limited by"),
    Metric("Latency, mean", "us"),
    Metric("p50", "us", is_further=True),
    Metric("p95", "us", is_further=True),
    Metric("p99", "us"),
    Metric("p99.9", "us", is_further=True),
    Metric("p99.99", "us", is_further=True),
    Metric("p99.999", "us", is_further=True),
    Metric("Largest", "us", is_further=True),
    Metric(WAF),
    Metric(POWER, "W"),
    Metric("Errors"),
    Metric("Window, n"),
    Metric("Steady before"),
)


@dataclass(frozen=True)
class Line:
    """One target in one corner: its figures by metric, without missing ones."""

    corner: Corner
    cell: Cell
    items: Mapping[str, Item]


def _groups(
    comparison: Comparison, lines: Sequence[Line], metrics: Sequence[Metric], *, alone: bool
) -> list[Group]:
    """Returns a group per workload with a row per target; for a single target, one group with a row per workload."""

    def row(label: Item, line: Line) -> Row:
        return Row(label, [line.items.get(metric.name, NONE) for metric in metrics])

    if alone:
        rows = [row(Item(line.corner.label, line.corner.unit), line) for line in lines]
        [column] = comparison.columns
        return [Group(f"{column.label}: {column.kind}", rows)]
    return [
        Group(
            f"{corner.label}, {corner.unit}",
            [row(head(line.cell.column), line) for line in lines if line.corner is corner],
        )
        for corner in comparison.corners
    ]


def _far(comparison: Comparison) -> list[str]:
    """Returns why twins are far from published figures, if they are. Uncertain figures are left out."""
    lines = []
    for corner in comparison.corners:
        for cell in (corner.cell(column) for column in comparison.columns if column.is_twin):
            if cell is None or cell.published is None or cell.error_pct is None or not cell.step.published:
                continue
            if abs(cell.error_pct) > UNEXPLAINED_PCT and "uncertain" not in cell.published.role:
                why = reason(cell.column.target.catalog, cell.step.published)
                place = f"{cell.column.label}, {corner.label}, {signed_pct(cell.error_pct)}"
                lines.append(f"{place}: {why or 'no reason is known'}.")
    return lines


def head(column: Column) -> Item:
    """Returns a target's column heading."""
    return Item(column.label, column.kind, slot=slot(column.index))


def _lines(
    corner: Corner,
    comparison: Comparison,
    sources: list[str],
    out: Gate,
) -> list[Line]:
    """Returns a corner's lines, one per target. p99.999 needs ten million I/Os. It is shown if a target has it, or a
    step was made for it.
    """
    five_nines = any(cell.point.p99999_us is not None or _resolves_five_nines(cell) for cell in corner.cells)
    ranked = ranked_of(corner, comparison, out)
    makers: dict[str, Callable[[Cell], Item]] = {
        "Result": lambda cell: _headline(cell, ranked, _unsettled(cell, out)),
        PREDICTED: lambda cell: NONE if _unsettled(cell, out) else _predicted(cell),
        "Published": lambda cell: _published(cell, sources),
        "Difference": _difference,
        "Latency, mean": lambda cell: latency(cell.point, "mean_us") or NONE,
        "p50": lambda cell: percentile(cell.point, "p50_us"),
        "p95": lambda cell: percentile(cell.point, "p95_us"),
        "p99": lambda cell: percentile(cell.point, "p99_us"),
        "p99.9": lambda cell: percentile(cell.point, "p999_us"),
        "p99.99": lambda cell: percentile(cell.point, "p9999_us"),
        "p99.999": lambda cell: percentile(cell.point, "p99999_us") if five_nines else NONE,
        "Largest": lambda cell: _largest(cell.point),
        WAF: lambda cell: _waf(cell) or NONE,
        POWER: lambda cell: power_item(cell.column, cell.point) or NONE,
        "Limited by": _limit,
        "Errors": lambda cell: Item(grouped(cell.point.errors), tone="bad") if cell.point.errors else NONE,
        "Window, n": _window,
        "Steady before": _steady,
    }
    found = []
    for column in comparison.columns:
        cell = corner.cell(column)
        if cell is None:
            continue
        items = {
            name: _opened(name, item, cell)
            for name, make in makers.items()
            if (item := make(cell)) is not NONE
        }
        if cell.failed:
            items.setdefault("Result", NONE)
            items = {name: _marked(item, cell) for name, item in items.items()}
        found.append(Line(corner, cell, items))
    return found


def _opened(metric: str, item: Item, cell: Cell) -> Item:
    """Returns a figure with what its twin's parameters leave open, where members ran."""
    figure = cell.metric if metric == "Result" else OPEN.get(metric)
    found = left_open.left_open(cell, figure) if figure else None
    return replace(item, open=found.words) if found else item


def _unsettled(cell: Cell, out: Gate) -> Unsettled | None:
    return out.get((cell.column.short, cell.step.name))


def _resolves_five_nines(cell: Cell) -> bool:
    """Returns whether the step was made to resolve p99.999, as the steps of the standard's histograms are."""
    told = cell.column.run.percentile(cell.step.name)
    return told is not None and told > QUANTILES["p9999_us"]


def _headline(cell: Cell, corner: Corner, why: Unsettled | None) -> Item:
    """Returns the figure with its margin and its place among `corner`, the cells that may be ranked."""
    if cell.value is None:
        return NONE
    if why:
        margin = f"no interval: {cell.why_no_interval}" if cell.is_rate_of_trace else cell.margin
        sub = " · ".join(part for part in (margin, why.tag) if part)
        return Item(grouped(cell.value), sub, tone="strong", title=why.value)
    best = len(corner.ranking) > 1 and corner.ranking[0] is cell
    if cell.interval is None:
        kept = "keeps up" if cell.is_rate_of_trace and cell in corner.kept_up else ""
        sub = " · ".join(part for part in (kept, f"no interval: {cell.why_no_interval}") if part)
        return Item(grouped(cell.value), sub, tone="strong")
    low, high = cell.interval
    place = "best" if best and not corner.unbeaten else ""
    if cell in corner.kept_up:
        place = "keeps up"
    elif corner.is_level and corner.unbeaten and (best or cell in corner.unbeaten):
        place = "level"
    return Item(
        grouped(cell.value),
        " · ".join(part for part in (cell.margin, place) if part),
        tone="strong",
        title=f"95 % interval {grouped(low)} to {grouped(high)} {corner.unit}",
    )


def _predicted(cell: Cell) -> Item:
    """Returns the interval around a twin's rate that a measurement of the drive is expected in."""
    if cell.spread is None or cell.value is None:
        return NONE
    return range_item(cell.spread, cell.value)


def _published(cell: Cell, sources: list[str]) -> Item:
    if cell.published is None:
        return NONE
    source = cell.published.source
    if source not in sources:
        sources.append(source)
    mark = f"[{sources.index(source) + 1}]"
    return Item(
        grouped(cell.published.value), "\u00a0".join(part for part in (cell.published.role, mark) if part)
    )


def _difference(cell: Cell) -> Item:
    if cell.error_pct is None:
        return NONE
    return error_item(cell.error_pct, fitted=cell.fitted)


def _largest(point: Point) -> Item:
    if point.max_us is None:
        return NONE
    return latency(point, "max_us") or NONE if point.is_lower_bound("max_us") else Item(grouped(point.max_us))


def _marked(item: Item, cell: Cell) -> Item:
    """Returns a figure with the share of its I/O that failed, if that is notable. A withheld figure shows the share
    alone.
    """
    if not cell.failed:
        return item
    if item.tone == "quiet":
        return Item("–", cell.failed, tone="bad", title="withheld: too much of its I/O failed")
    sub = " · ".join(part for part in (item.sub, cell.failed) if part)
    return replace(item, sub=sub, tone="bad")


def _limit(cell: Cell) -> Item:
    """Returns the name of the limit. Its title has the utilisation of it and of the next one."""
    point = cell.point
    if point.limit:
        return Item(plain(point.limit.name), title=point.limited_by or "")
    return Item(point.limited_by) if point.limited_by else NONE


def _waf(cell: Cell) -> Item | None:
    return waf_item(cell.point)


def _window(cell: Cell) -> Item:
    point = cell.point
    if point.window_s is None or point.n is None:
        return NONE
    ios = "I/O" if point.n == 1 else "I/Os"
    return Item(seconds(point.window_s), f"{compact(point.n)} {ios}", title=f"{point.n:,} {ios}")


def _steady(cell: Cell) -> Item:
    if cell.point.steady is None:
        return NONE
    if cell.point.steady:
        return Item("yes")
    place, repeats = (cell.point.target, cell.point.step), cell.column.run.repeats
    reached = sum(
        any((one.target, one.step) == place and one.steady for one in run.points) for run in repeats
    )
    several = f"reached in {reached} of {len(repeats)} repeats" if len(repeats) > 1 else ""
    return Item("not reached", several, tone="bad")
