"""Writes after a pause, as the key figure of SNIA's host idle recovery: what a pause gives back, by its length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathom.report.axes import Axis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Table
from fathom.report.charts import Line, scatter_chart
from fathom.report.comparison import Column
from fathom.report.legend import legend_of
from fathom.report.rounds import TargetRounds
from fathom.report.style import compact, grouped, plain, slot

LEVEL_SHARE = 0.02
"""A smaller difference is none."""
PAUSES = {"idle-5s": 1.0, "idle-10s": 2.0, "idle-15s": 3.0, "idle-25s": 5.0, "idle-50s": 10.0}
"""Pauses of the standard in multiples of a burst, by the rounds' name."""


@dataclass(frozen=True)
class _Bursts:
    """The IOPS of a target's bursts by the name of their rounds, from the shortest pause to the longest."""

    column: Column
    iops: Mapping[str, float]

    @property
    def points(self) -> list[list[float | None]]:
        """The IOPS over the pause, in multiples of a burst; pauses of other names are counted."""
        return [
            [PAUSES.get(name, float(number)), float(f"{iops:.5g}")]
            for number, (name, iops) in enumerate(self.iops.items(), 1)
        ]

    @property
    def least(self) -> float:
        """After the shortest pause."""
        return self.points[0][1] or 0.0

    @property
    def most(self) -> float:
        """After the longest pause."""
        return self.points[-1][1] or 0.0


def pause_key(found: Mapping[str, Sequence[TargetRounds]]) -> KeyFigure | None:
    """Returns the rate of bursts over the pause before each; None without any burst. `found` are rounds by name."""
    columns = {one.column.index: one.column for members in found.values() for one in members}.values()
    bursts = [one for column in columns if (one := _bursts_of(column, found)).iops]
    if not bursts:
        return None
    caption = (
        "Each point: bursts of writes, each after a pause. Pauses are in multiples of the burst's own length."
    )
    legend = legend_of([*columns])
    figure = Figure([_chart(bursts)], caption, _table([*columns], list(found), bursts), legend, columns=1)
    best = max(bursts, key=lambda one: one.most)
    reasons = [
        f"{one.column.short}: from {compact(one.least)} to {compact(one.most)} IOPS."
        for one in bursts
        if one is not best
    ]
    return KeyFigure(_sentence(best), figure, reasons)


def _bursts_of(column: Column, found: Mapping[str, Sequence[TargetRounds]]) -> _Bursts:
    iops: dict[str, float] = {}
    for name, members in found.items():
        one = next((one for one in members if one.column.index == column.index), None)
        means = [mean for step in one.steps if (mean := one.mean(step))] if one else []
        if means:
            iops[name] = means[0].value
    return _Bursts(column, iops)


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
    known = {one.column.index: one.iops for one in bursts}
    rows = []
    for name in names:
        cells = [known.get(column.index, {}).get(name) for column in columns]
        if any(iops is not None for iops in cells):
            shown = [Item("–", tone="quiet") if iops is None else Item(grouped(iops)) for iops in cells]
            rows.append(Row(Item(plain(name)), shown))
    heads = [Item(column.label, "IOPS", slot=slot(column.index)) for column in columns]
    return Table("Pause", heads, [Group("", rows)])


def _sentence(one: _Bursts) -> str:
    name, least, most = one.column.short, one.least, one.most
    if abs(most / (least or most or 1.0) - 1) < LEVEL_SHARE:
        return f"Longer pauses do not speed up the writes of {name}: {compact(most)} IOPS."
    return f"Longer pauses take the writes of {name} from {compact(least)} to {compact(most)} IOPS."
