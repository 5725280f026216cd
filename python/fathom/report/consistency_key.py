"""The key figure of a long step: every second of every target as a dot, and bars for its end."""

from collections.abc import Callable, Sequence

from fathom.analysis.finding import joined
from fathom.analysis.settled import no_target
from fathom.output.text import many_of
from fathom.report.axes import Axis, Switch, time_axis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Table
from fathom.report.charts import Bars, Dots, Span, bar_chart, dots_chart
from fathom.report.findings import Gate
from fathom.report.legend import legend_of
from fathom.report.long_steps import LongStep, dots_of, every_of
from fathom.report.style import compact, grouped, seconds, slot


def key_figure(longs: Sequence[LongStep], settled: Sequence[LongStep], window: str, out: Gate) -> KeyFigure:
    """Returns the scatter over the whole step, and bars of rate, consistency and efficiency over its end.

    `out` is the report's gate.
    """
    columns = list({long.column.index: long.column for long in longs}.values())
    figure = Figure(
        [_scatter(longs), *_bars(longs)],
        f"A dot is the rate of a second. Shaded: the last {window}, which the bars cover. Consistency is mean / "
        "deviation of these seconds; larger is better in all bars.",
        _table(longs),
        legend_of(columns),
        columns=3,
        scale="value",
    )
    ranked = sorted(settled, key=lambda long: -long.figures.mean)
    if not ranked:
        return KeyFigure(f"{no_target(out.values()).capitalize()}, so no rate is claimed.", figure)
    return KeyFigure(_held(ranked[0]), figure, [_also(long) for long in ranked[1:]] + _watts(ranked))


def window_of(long: LongStep) -> str:
    """Returns how long the end is that the figures of a step cover."""
    return seconds(long.end_s - long.from_s)


def _held(long: LongStep) -> str:
    verb = "did" if long.column.run.document.quick else "holds"
    run, own = long.column.run, (long.column.target.name, long.step)
    ops = list(dict.fromkeys(point.op for point in run.points if (point.target, point.step) == own))
    rate = f"{long.column.short} {verb} {grouped(long.figures.mean)} IOPS"
    return f"{rate} over the last {window_of(long)} of its {joined([many_of(op) for op in ops])}."


def _also(long: LongStep) -> str:
    worst = 100 * long.figures.worst / long.figures.mean
    return (
        f"{long.column.short}: {grouped(long.figures.mean)} IOPS, its worst second at {worst:.0f} % of that."
    )


def _watts(ranked: Sequence[LongStep]) -> list[str]:
    known = [long for long in ranked if long.iops_per_watt]
    best = max(known, key=lambda long: long.iops_per_watt or 0.0, default=None)
    if best is None:
        return []
    most = ", the most" if len(known) > 1 else ""
    return [f"{best.column.short} does {compact(best.iops_per_watt or 0)} IOPS per watt{most}."]


def _scatter(longs: Sequence[LongStep]) -> Chart:
    every = every_of(longs)
    dots = [
        Dots(
            long.column.short,
            slot(long.column.index),
            dots_of(long, every),
        )
        for long in longs
    ]
    switch = Switch.around([rate for one in dots for _, rate in one.points])
    end_s = max(long.end_s for long in longs)
    # Ends of steps as long as each other are one span.
    ends = {(seconds(long.from_s), seconds(long.end_s)): long for long in longs}
    spans = [Span(long.from_s, long.end_s, "window", strong=True) for long in ends.values()]
    option = (
        dots_chart(
            time_axis(end_s),
            Axis("", "count", low=0),
            dots,
            spans,
        )
        | switch.option()
    )
    summary = f"IOPS second by second over {seconds(end_s)}; the table below has the figures of its end."
    return Chart(
        "key-dots",
        longs[0].label,
        sub="IOPS, second by second",
        option=option,
        summary=summary,
        height_px=290,
        wide=True,
    )


def bars_of(longs: Sequence[LongStep], values: Sequence[float | None]) -> list[Bars]:
    """Returns a bar for each target, in its colour and at its own place; `values` are in the order of `longs`."""
    return [
        Bars(
            long.column.short, slot(long.column.index), [value if other is long else None for other in longs]
        )
        for long, value in zip(longs, values, strict=True)
    ]


def _bars(longs: Sequence[LongStep]) -> list[Chart]:
    """Returns a panel for each figure that any target has."""
    names = [long.column.short for long in longs]
    charts = []
    for key, title, sub, measure in MEASURES:
        values = [measure(long) for long in longs]
        if not any(value is not None for value in values):
            continue
        axis = Axis("", "count", low=0)
        option = bar_chart(axis, names, bars_of(longs, values), stacked=True, width_px=14)
        charts.append(
            Chart(
                f"key-{key}",
                title,
                sub=sub,
                option=option,
                summary=f"{title}; the table has the figures.",
                height_px=50 + 34 * len(longs),
            )
        )
    return charts


MEASURES: Sequence[tuple[str, str, str, Callable[[LongStep], float | None]]] = (
    ("rate", "Rate", "mean IOPS", lambda long: long.figures.mean),
    ("steadiness", "Consistency", "mean / deviation", lambda long: long.figures.steadiness),
    ("watts", "Efficiency", "IOPS per watt", lambda long: long.iops_per_watt),
)


def _table(longs: Sequence[LongStep]) -> Table:
    head = [Item(title, sub) for _, title, sub, _ in MEASURES]
    rows = [
        Row(
            Item(long.column.label, long.label, slot=slot(long.column.index)),
            [Item("–" if (value := measure(long)) is None else grouped(value)) for *_, measure in MEASURES],
        )
        for long in longs
    ]
    return Table("", head, [Group("", rows)])
