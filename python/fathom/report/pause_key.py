"""Writes after a pause, as the key figure of SNIA's host idle recovery: what a pause gives back, by its length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from fathom.analysis.settled import Unsettled
from fathom.report.axes import Axis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Table
from fathom.report.charts import Line, scatter_chart
from fathom.report.comparison import Column, margin_of
from fathom.report.findings import Gate
from fathom.report.legend import legend_of
from fathom.report.rounds import Mean, TargetRounds, unsettled_of
from fathom.report.style import compact, grouped, plain, slot

LEVEL_SHARE = 0.02
"""A smaller difference is none."""
PAUSES = {"idle-5s": 1.0, "idle-10s": 2.0, "idle-15s": 3.0, "idle-25s": 5.0, "idle-50s": 10.0}
"""Pauses of the standard in multiples of a burst, by the rounds' name."""


@dataclass(frozen=True)
class _Bursts:
    """A target's bursts by the name of their rounds, from the shortest pause to the longest.

    `doubt`: why the rates are not claimed; None where they are.
    """

    column: Column
    means: dict[str, Mean]
    doubt: Unsettled | None

    @property
    def points(self) -> list[list[float | None]]:
        """The IOPS over the pause, in multiples of a burst; pauses of other names are counted."""
        return [
            [PAUSES.get(name, float(number)), float(f"{mean.value:.5g}")]
            for number, (name, mean) in enumerate(self.means.items(), 1)
        ]

    @property
    def least(self) -> Mean:
        """After the shortest pause."""
        return next(iter(self.means.values()))

    @property
    def most(self) -> Mean:
        """After the longest pause."""
        return next(reversed(self.means.values()))

    @property
    def rates(self) -> str:
        """From the shortest pause to the longest."""
        return f"from {compact(self.least.value)} to {compact(self.most.value)} IOPS"

    @property
    def differs(self) -> bool:
        """Whether the longest pause makes a difference that is not small, nor within the 95 % intervals."""
        least, most = self.least.value, self.most.value
        ends = [mean.interval for mean in (self.least, self.most)]
        scatter = hypot(*((end.high - end.low) / 2 for end in ends if end))
        return abs(most - least) > max(scatter, LEVEL_SHARE * least)


def pause_key(found: Mapping[str, Sequence[TargetRounds]], out: Gate) -> KeyFigure | None:
    """Returns the rate of bursts over the pause before each; None without any burst. `found` are rounds by name."""
    columns = {one.column.index: one.column for members in found.values() for one in members}.values()
    bursts = [one for column in columns if (one := _bursts_of(column, found, out)).means]
    if not bursts:
        return None
    caption = (
        "Each point: bursts of writes, each after a pause. Pauses are in multiples of the burst's own length."
    )
    legend = legend_of([*columns])
    figure = Figure([_chart(bursts)], caption, _table([*columns], list(found), bursts), legend, columns=1)
    best = max([one for one in bursts if one.doubt is None] or bursts, key=lambda one: one.most.value)
    others = [f"{one.column.short}: {one.rates}." for one in bursts if one is not best]
    doubts = [f"{one.column.short} {one.doubt.verb}: {one.doubt.value}." for one in bursts if one.doubt]
    return KeyFigure(_sentence(best), figure, [*others, *doubts])


def _bursts_of(column: Column, found: Mapping[str, Sequence[TargetRounds]], out: Gate) -> _Bursts:
    means: dict[str, Mean] = {}
    doubts: list[Unsettled] = []
    for name, members in found.items():
        one = next((one for one in members if one.column.index == column.index), None)
        mean = next((mean for step in one.steps if (mean := one.mean(step))), None) if one else None
        if one and mean:
            means[name] = mean
            doubts += [why] if (why := unsettled_of(column, one, out)) else []
    return _Bursts(column, means, next(iter(doubts), None))


def _chart(bursts: Sequence[_Bursts]) -> Chart:
    lines = [
        Line(one.column.short, slot(one.column.index), one.points, marks=True, labelled=True)
        for one in bursts
    ]
    return Chart(
        "key-idle",
        "Writes after a pause",
        sub="IOPS of a burst over the pause before it",
        option=scatter_chart(Axis("pause, in bursts", "count", low=0), Axis("", "count", low=0), lines),
        summary="IOPS of bursts over the pause before each; the table below has the figures.",
        height_px=380,
    )


def _table(columns: Sequence[Column], names: Sequence[str], bursts: Sequence[_Bursts]) -> Table:
    """Returns a row for each pause that any target has."""
    known = {one.column.index: one.means for one in bursts}
    rows = []
    for name in names:
        cells = [known.get(column.index, {}).get(name) for column in columns]
        if any(cells):
            shown = [
                Item(grouped(mean.value), _half(mean)) if mean else Item("–", tone="quiet") for mean in cells
            ]
            rows.append(Row(Item(plain(name)), shown))
    heads = [Item(column.label, "IOPS", slot=slot(column.index)) for column in columns]
    return Table("Pause", heads, [Group("", rows)], ["± is half the 95 % interval of the mean over rounds."])


def _half(mean: Mean) -> str:
    return margin_of(mean.value, mean.interval.low, mean.interval.high) if mean.interval else ""


def _sentence(one: _Bursts) -> str:
    name = one.column.short
    if one.doubt:
        least, most = compact(one.least.value), compact(one.most.value)
        return (
            f"{name} {one.doubt.verb}: its writes ran at {least} IOPS after the shortest pause, and at {most} "
            "after the longest."
        )
    if one.differs:
        return f"Longer pauses take the writes of {name} {one.rates}."
    return f"Longer pauses do not speed up the writes of {name}: {compact(one.most.value)} IOPS."
