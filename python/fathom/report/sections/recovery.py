"""Cross stimulus recovery: the rate over one load, another, then the first again, and the time to recover."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean as mean

from fathom.analysis.settled import Unsettled
from fathom.report.axes import Axis, time_axis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Section, Table
from fathom.report.charts import Line, Span, line_chart
from fathom.report.comparison import Column, Comparison
from fathom.report.data import RunData
from fathom.report.findings import Gate, gate
from fathom.report.legend import legend_of
from fathom.report.style import grouped, plain, seconds, slot

ORDER = 28
METHOD = "snia-xsr"
MAX_DOTS = 600
RECOVERED = 0.9
"""Share of the first sequential rate from which a drive counts as recovered."""
RECOVERED_S = 10
"""Seconds over which it must have that rate in the mean: a drive that scatters has it in some second anyway."""


@dataclass(frozen=True)
class Part:
    """One step: its start, and (start in s, MB/s) of its whole seconds."""

    step: str
    label: str
    start_s: float
    rates: Sequence[tuple[float, float]]
    end_s: float

    @property
    def settled_mbps(self) -> float:
        """MB/s, the mean of its second half."""
        later = [rate for _, rate in self.rates[len(self.rates) // 2 :]]
        return mean(later) if later else 0.0


@dataclass(frozen=True)
class Recovery:
    """A target's steps in order. The last has the workload of the first."""

    column: Column
    parts: Sequence[Part]

    @property
    def after_s(self) -> float | None:
        """Seconds that the last step takes to reach the rate of the first again; None if it never does."""
        return recovered_s(self.parts[-1].rates, self.parts[0].settled_mbps)


def recovered_s(rates: Sequence[tuple[float, float]], before_mbps: float) -> float | None:
    """Returns when the rate of seconds is back, and keeps to what it was in the mean; None if it never is."""
    values, needed = [rate for _, rate in rates], RECOVERED * before_mbps
    return next(
        (
            at_s
            for place, (at_s, _) in enumerate(rates[: max(1, len(rates) - RECOVERED_S + 1)])
            if min(values[place], mean(values[place : place + RECOVERED_S]), mean(values[place:])) >= needed
        ),
        None,
    )


def build(comparison: Comparison) -> Section | None:
    """Returns the section, None for runs that ask for no recovery, or do not end with the load that they began with."""
    found = [one for column in comparison.columns if (one := _recovery(column))]
    if not found:
        return None
    end_s = max(one.parts[-1].end_s for one in found)
    spans = [
        Span(part.start_s, part.end_s, part.label, strong=bool(place % 2))
        for place, part in enumerate(found[0].parts)
    ]
    lines = [Line(one.column.short, slot(one.column.index), _points(one), style="line") for one in found]
    option = line_chart(time_axis(end_s), Axis("", "count", low=0), lines, spans)
    chart = Chart(
        "key-recovery",
        "Loads, one after the other",
        sub="MB/s",
        option=option,
        summary="MB/s over the steps; the table below has the figures.",
        height_px=380,
    )
    caption = (
        f"Steps laid end to end, in up to {MAX_DOTS} seconds each target. MB/s: the I/Os of a "
        "second times their mean size in its step. Recovered: {100 * RECOVERED:.0f} % of the "
        f"rate in the second half of the first step, from a second on that has it, if the next {RECOVERED_S} s and all "
        "that follow have it in the mean."
    )
    figure = Figure([chart], caption, _table(found), legend_of([one.column for one in found]), columns=1)
    out = gate(comparison)
    sentences = [_sentence(one, _doubt(one, out)) for one in found]
    doubts = [f"{one.column.short}: {why.value}." for one in found if (why := _doubt(one, out))]
    key = KeyFigure(sentences[0], figure, [*sentences[1:], *doubts, *map(_dip, found)])
    return Section("recovery", "Recovery", [], key_figure=key)


def _recovery(column: Column) -> Recovery | None:
    run, target = column.run, column.target.name
    if not run.asks_for("recovery", METHOD):
        return None
    measured = {
        step: intervals
        for step, intervals in run.seconds(target).items()
        if step in run.steps and run.steps[step].kind == "measure"
    }
    loads = [run.steps[step].workload for step in measured]
    if len(loads) < 3 or loads[0] != loads[-1]:
        return None
    parts, at_s = [], 0.0
    for step, intervals in measured.items():
        bytes_ = _mean_bytes(run, target, step)
        whole = [second for second in intervals if second.length_s > 0]
        rates = [(second.start_s, second.n * bytes_ / second.length_s / 1e6) for second in whole]
        length_s = whole[-1].start_s + whole[-1].length_s if whole else 0.0
        parts.append(Part(step, plain(run.steps[step].label), at_s, rates, at_s + length_s))
        at_s += length_s
    return Recovery(column, parts) if all(part.rates for part in parts) else None


def _mean_bytes(run: RunData, target: str, step: str) -> float:
    """Returns the mean bytes of an I/O of a step."""
    moved = [
        counts for (name, own, _), counts in run.interval_sums.counts.items() if (name, own) == (target, step)
    ]
    return sum(one.bytes for one in moved) / max(1, sum(one.n for one in moved))


def _points(one: Recovery) -> list[tuple[float, float]]:
    points = [(part.start_s + at_s, rate) for part in one.parts for at_s, rate in part.rates]
    every = -(-len(points) // MAX_DOTS)
    return [(round(at_s, 2), float(f"{rate:.4g}")) for at_s, rate in points[::every]]


def _doubt(one: Recovery, out: Gate) -> Unsettled | None:
    """Returns why the rate before, or that to which it comes back, is not claimed; what lies between has to be new."""
    name = one.column.short
    return out.get((name, one.parts[0].step)) or out.get((name, one.parts[-1].step))


def _sentence(one: Recovery, doubt: Unsettled | None) -> str:
    name, rate = one.column.short, f"its {grouped(one.parts[0].settled_mbps)} MB/s"
    if one.after_s is None:
        back = f"{'did' if doubt else 'does'} not regain {rate} within the last step"
    else:
        when = f"in {seconds(one.after_s)}" if one.after_s else "at once"
        back = f"{'regained' if doubt else 'regains'} {rate} {when} after {one.parts[-2].label}"
    return f"{name} {doubt.verb}: it {back}." if doubt else f"{name} {back}."


def _dip(one: Recovery) -> str:
    least = min(rate for _, rate in one.parts[-1].rates)
    return f"The slowest second of {one.column.short} after them has {grouped(least)} MB/s."


def _table(found: Sequence[Recovery]) -> Table:
    head = [
        Item("Second half", "MB/s"),
        Item("Least second", "MB/s"),
        Item("First second", "MB/s"),
        Item("Recovered after"),
    ]
    groups = [
        Group(
            one.column.label,
            [
                Row(
                    Item(part.label),
                    [
                        Item(grouped(part.settled_mbps)),
                        Item(grouped(min(rate for _, rate in part.rates))),
                        Item(grouped(part.rates[0][1])),
                        Item(
                            "–" if part is not one.parts[-1] or one.after_s is None else seconds(one.after_s)
                        ),
                    ],
                )
                for part in one.parts
            ],
        )
        for one in found
    ]
    return Table("Step", head, groups)
