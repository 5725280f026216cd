"""What the published rows leave open: the run's figures for many parameter sets that all agree with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from fathom.catalog.settings import MARK
from fathom.output.text import signed_pct
from fathom.prediction.interval import COVERAGE
from fathom.prediction.members import narrowing, range_over
from fathom.report.axes import rounded
from fathom.report.blocks import Block, Chart, Figure, Group, Item, Row, Section, Table
from fathom.report.charts import Span, change_chart, row_px
from fathom.report.comparison import Cell, Column, Comparison, Corner
from fathom.report.rows import StepOfTarget
from fathom.report.style import grouped, plain
from fathom.statistics.means import mean_by_count

ORDER = 20
ROW_PX = 34
NONE = Item("–", tone="quiet", title="too few members have this figure")
HEADS = {
    "rate": Item("Rate", "IOPS or MB/s"),
    "mean_us": Item("Latency, mean", "us"),
    "p99_us": Item("p99", "us"),
    "waf": Item("Write amplification"),
}
MEASURED = {"rate": "rate", "mean_us": "mean latency", "p99_us": "p99", "waf": "write amplification"}
NEXT = (
    "Among the figures of this run. The range narrows by 1 − √(1 − r²), where r is the correlation of the logarithms "
    "over the members. That is about parameters alone, of a drive that works as the twin does."
)


@dataclass(frozen=True)
class Open:
    """A figure of the default run and those of the members, in its unit."""

    value: float
    members: Sequence[float]

    @property
    def changes_pct(self) -> tuple[float, float, float] | None:
        """The members' range and between its ends their median, as changes of the default run's figure."""
        found = range_over(self.members)
        if found is None or not self.value:
            return None
        low, high = found
        return _change(low, self.value), _change(median(self.members), self.value), _change(high, self.value)


@dataclass(frozen=True)
class Measurement:
    """A step on one target, all operations together: what it is called, its unit, and its figures by name."""

    column: Column
    step: str
    label: str
    unit: str
    figures: Mapping[str, Open]


def build(comparison: Comparison) -> Section | None:
    """Returns the ranges over the members of ensembles; None where no run has any."""
    found = _measurements(comparison)
    drawn = [(one, pcts) for one in found if (pcts := one.figures["rate"].changes_pct)]
    if not drawn:
        return None
    several = len({one.column.index for one, _ in drawn}) > 1
    spans = [Span(low, high, _name(one, several), strong=True) for one, (low, _, high) in drawn]
    count = max(len(one.figures["rate"].members) for one in found)
    share = f"{100 * COVERAGE:.0f} %"
    chart = Chart(
        "ensemble",
        "Rates of the members over the default run's",
        sub=f"median, and the range of {share} of them",
        option=change_chart(spans, [rounded(middle) for _, (_, middle, _) in drawn], ["" for _ in drawn]),
        summary="Change of the rate by workload, over the members of the ensemble; the table below has the figures.",
        height_px=56 + row_px([span.label for span in spans], ROW_PX) * len(drawn),
        wide=True,
    )
    caption = (
        f"{count} parameter sets agree with the drive's calibration rows. Each ran the whole method with the same "
        f"seed. A range holds the middle {share} of their figures: what those rows leave open about the parameters. "
        "It has no mechanism that the twin lacks. The range of expected measurements, beside the results, has both."
    )
    if any(MARK in (one.column.target.catalog or "") for one in found):
        caption += " What was set by hand holds in all of them, and those rows are not about it."
    figure = Figure([chart], caption, _table(found), columns=1)
    return Section(
        "ensemble",
        "What the parameters leave open",
        [figure, *_next(found)],
        short="Ensemble",
        answer=[_sentence(spans, count)],
    )


def _measurements(comparison: Comparison) -> list[Measurement]:
    """Returns the steps that members ran too, in the order of the page."""
    steps: dict[tuple[int, str], list[tuple[Corner, Cell]]] = {}
    for corner in comparison.corners:
        for cell in corner.cells:
            steps.setdefault((cell.column.index, cell.step.name), []).append((corner, cell))
    found = []
    for halves in steps.values():
        (corner, cell), *others = halves
        label = plain(cell.step.label) if others else corner.label
        if figures := _figures([one for _, one in halves]):
            found.append(Measurement(cell.column, cell.step.name, label, corner.unit, figures))
    return found


def _sentence(spans: Sequence[Span], count: int) -> str:
    """Returns the widest and the narrowest range of a rate over the members."""
    widest, narrowest = (choose(spans, key=lambda one: one.end - one.start) for choose in (max, min))
    text = (
        f"Over {count} parameter sets that agree with the calibration rows, the rate of {widest.label} changes by "
        f"{_range(widest.start, widest.end)}"
    )
    if widest is narrowest:
        return f"{text}."
    return f"{text}, that of {narrowest.label} by {_range(narrowest.start, narrowest.end)}."


def _figures(cells: Sequence[Cell]) -> Mapping[str, Open]:
    """Returns the figures of a step, all its operations together, that members have too; none without members."""
    first, points = cells[0], [cell.point for cell in cells]
    run = first.column.run.repeats[0]
    members = run.ensemble.get(StepOfTarget(first.point.target, first.step.name), [])
    values = [cell.value for cell in cells if cell.value is not None]
    if not members or len(values) < len(cells):
        return {}
    rates = [sum(getattr(row, first.metric) or 0.0 for row in member) for member in members]
    found = {"rate": Open(sum(values), rates)}
    mean_us = mean_by_count((point.n, point.mean_us) for point in points)
    further = {
        "mean_us": (mean_us, [mean_by_count((row.n, row.mean_us) for row in member) for member in members]),
        "waf": (points[0].waf, [member[0].waf for member in members]),
    }
    # Percentiles of several operations would need their histograms.
    if all(len(member) == 1 for member in members):
        further["p99_us"] = points[0].p99_us, [member[0].p99_us for member in members]
    for name, (value, of_members) in further.items():
        known = [one for one in of_members if one is not None]
        if value is not None and known:
            found[name] = Open(value, known)
    return found


def _next(found: Sequence[Measurement]) -> list[Block]:
    """Returns for each rate the figure of another step whose measurement would narrow its range most; nothing for few
    members.
    """
    rows: dict[int, list[Row]] = {}
    for one in found:
        own = one.figures["rate"].members
        known = [
            (share, f"{other.label}: {MEASURED[name]}")
            for other in found
            if other.column is one.column and other.step != one.step
            for name, figure in other.figures.items()
            if len(figure.members) == len(own)
            if (share := narrowing(own, figure.members)) is not None
        ]
        if known:
            share, label = max(known)
            cells = [Item(label), Item(f"{100 * share:.0f} %")]
            rows.setdefault(one.column.index, []).append(Row(Item(one.label), cells))
    if not rows:
        return []
    labels = {one.column.index: one.column.label for one in found}
    heads = [Item("measure"), Item("which narrows its range by")]
    groups = [Group(labels[place], own) for place, own in rows.items()]
    return [Table("To know the rate of", heads, groups, [NEXT], numeric=False)]


def _name(one: Measurement, several: bool) -> str:
    return f"{one.column.short}: {one.label}" if several else one.label


def _change(value: float, of: float) -> float:
    return 100 * (value / of - 1)


def _table(found: Sequence[Measurement]) -> Table:
    names = [name for name in HEADS if any(name in one.figures for one in found)]
    columns: dict[int, Column] = {one.column.index: one.column for one in found}
    groups = [
        Group(
            column.label,
            [
                Row(Item(one.label, one.unit), [_item(one.figures.get(name)) for name in names])
                for one in found
                if one.column is column
            ],
        )
        for column in columns.values()
    ]
    footnote = (
        "The figure is the default run's. Beneath it is the range over the members, as changes of the figure."
    )
    return Table("Workload", [HEADS[name] for name in names], groups, [footnote])


def _item(opened: Open | None) -> Item:
    pcts = opened.changes_pct if opened else None
    if opened is None or pcts is None:
        return NONE
    low, _, high = pcts
    count = f"{len(opened.members)} members, median {grouped(median(opened.members))}"
    return Item(grouped(opened.value), _range(low, high), title=count)


def _range(low_pct: float, high_pct: float) -> str:
    return f"{signed_pct(low_pct)} to {signed_pct(high_pct)}"
