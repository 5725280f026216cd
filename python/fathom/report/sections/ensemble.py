"""What the published rows leave open: the run's figures for many parameter sets that all agree with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from fathom.columns.schema import MemberOfOp
from fathom.output.text import signed_pct
from fathom.prediction.interval import COVERAGE
from fathom.prediction.members import range_over
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Section, Table
from fathom.report.charts import Span, change_chart, rounded
from fathom.report.comparison import Cell, Column, Comparison, Corner
from fathom.report.style import grouped
from fathom.report.totals import TOTAL
from fathom.statistics.means import mean_by_count

ORDER = 21
ROW_PX = 34
NONE = Item("–", tone="quiet", title="too few members have this figure")
HEADS = {
    "rate": Item("Rate", "IOPS or MB/s"),
    "mean_us": Item("Latency, mean", "us"),
    "p99_us": Item("p99", "us"),
    "waf": Item("Write amplification"),
}


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


def build(comparison: Comparison) -> Section | None:
    """Returns the ranges over the members of ensembles; None where no run has any."""
    found = [
        (corner, cell, opened)
        for corner in comparison.corners
        for cell in corner.cells
        if (opened := _figures(cell))
    ]
    drawn = [(corner, cell, pcts) for corner, cell, opened in found if (pcts := _rate_pct(opened))]
    if not drawn:
        return None
    several = len({cell.column.index for _, cell, _ in drawn}) > 1
    spans = [
        Span(low, high, _name(corner, cell, several), strong=True) for corner, cell, (low, _, high) in drawn
    ]
    count = max(len(opened["rate"].members) for _, _, opened in found)
    share = f"{100 * COVERAGE:.0f} %"
    chart = Chart(
        "ensemble",
        "Rates of the members over the default run's",
        f"median, and the range of {share} of them",
        change_chart(spans, [rounded(middle) for _, _, (_, middle, _) in drawn], ["" for _ in drawn]),
        "Change of the rate by workload, over the members of the ensemble; the table below has the figures.",
        56 + ROW_PX * len(drawn),
        wide=True,
    )
    caption = (
        f"{count} parameter sets agree with the drive's calibration rows. Each ran the whole method with the same "
        f"seed. A range holds the middle {share} of their figures: what those rows leave open about the parameters. "
        "It has no mechanism that the twin lacks. The range of expected measurements, beside the results, has both."
    )
    figure = Figure([chart], caption, _table(found), columns=1)
    return Section(
        "ensemble",
        "What the parameters leave open",
        [figure],
        short="Ensemble",
        answer=[_sentence(spans, count)],
    )


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


def _figures(cell: Cell) -> Mapping[str, Open]:
    """Returns the cell's figures that its target's members have too, by name; none without members."""
    point = cell.point
    members = cell.column.run.repeats[0].ensemble.get((point.target, point.step), [])
    own = [halves for one in members if (halves := _halves(one, point.op))]
    if not own or cell.value is None:
        return {}
    found = {
        "rate": Open(cell.value, [sum(getattr(half, cell.metric) or 0.0 for half in one) for one in own])
    }
    means = [mean_by_count((half.n, half.mean_us) for half in one) for one in own]
    lists: dict[str, tuple[float | None, Sequence[float | None]]] = {"mean_us": (point.mean_us, means)}
    lists["waf"] = point.waf, [one[0].waf for one in own]
    # Percentiles of several operations would need their histograms.
    if all(len(one) == 1 for one in own):
        lists["p99_us"] = point.p99_us, [one[0].p99_us for one in own]
    for name, (value, values) in lists.items():
        known = [one for one in values if one is not None]
        if value is not None and known:
            found[name] = Open(value, known)
    return found


def _halves(member: Sequence[MemberOfOp], op: str) -> list[MemberOfOp]:
    return [row for row in member if op in (row.op, TOTAL)]


def _rate_pct(opened: Mapping[str, Open]) -> tuple[float, float, float] | None:
    return opened["rate"].changes_pct


def _name(corner: Corner, cell: Cell, several: bool) -> str:
    return f"{cell.column.short}: {corner.label}" if several else corner.label


def _change(value: float, of: float) -> float:
    return 100 * (value / of - 1)


def _table(found: Sequence[tuple[Corner, Cell, Mapping[str, Open]]]) -> Table:
    names = [name for name in HEADS if any(name in opened for _, _, opened in found)]
    columns: dict[int, Column] = {cell.column.index: cell.column for _, cell, _ in found}
    groups = [
        Group(
            column.label,
            [
                Row(Item(corner.label, corner.unit), [_item(opened.get(name)) for name in names])
                for corner, cell, opened in found
                if cell.column is column
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
