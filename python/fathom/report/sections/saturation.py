"""Write saturation as SNIA's WSAT plots it: the rate of a fresh drive over the capacities written.

WSAT writes at random; Multi-WSAT issues the streams of a recorded workload, and its reads count in the rate too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathom.analysis.run_view import remarks_of
from fathom.analysis.settled import Unsettled
from fathom.output.text import capacity, digits, percent_digits
from fathom.report.axes import Axis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Points, Row, Section, Table
from fathom.report.charts import Line, line_chart
from fathom.report.comparison import Column, Comparison
from fathom.report.findings import gate
from fathom.report.legend import legend_of
from fathom.report.style import compact, grouped, slot
from fathom.runs.remarks import LeftOut

ORDER = 34
LOADS = {"snia-wsat": "random writes", "snia-rwsw-multi-wsat": "the workload"}
"""What saturates the drive, by method."""
STEPS = "satura"
"""How the names of the steps begin that write."""
STEADY_SHARE = 0.95
"""A plateau above this share of the first rate is no loss."""
MAX_DOTS = 240
LEVELS = (0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Capacities written at which the table has the rate."""
NEARLY = 0.999
"""A volume asked for ends with a whole block before it."""
NONE = Item("–", tone="quiet", title="no more was written")


@dataclass(frozen=True)
class Stretch:
    """One point: the capacities written by its end, and its mean rate."""

    capacities: float
    iops: float


@dataclass(frozen=True)
class Saturation:
    """A target's load since the place of the purge, in order, a second or several to a stretch."""

    column: Column
    load: str
    stretches: Sequence[Stretch]
    was_purged: bool
    """Whether the purge before it was done; a file has none."""

    @property
    def capacities(self) -> float:
        """Capacities written in all."""
        return self.stretches[-1].capacities

    def at(self, capacities: float) -> Stretch | None:
        """Returns the stretch in which that many capacities were written; None if the run ended before."""
        return next((one for one in self.stretches if one.capacities >= NEARLY * capacities), None)


def build(comparison: Comparison) -> Section | None:
    """Returns one line per target."""
    found = [one for column in comparison.columns if (one := _saturation(column))]
    if not found:
        return None
    load = found[0].load
    lines = [Line(one.column.short, slot(one.column.index), _points(one), labelled=True) for one in found]
    across = Axis("capacities written", "count", low=0)
    since = " since the purge" if all(one.was_purged for one in found) else ""
    chart = Chart(
        "saturation",
        f"{load[0].upper()}{load[1:]}{since}",
        sub="IOPS",
        option=line_chart(across, Axis("", "count", low=0), lines),
        summary="IOPS over capacities written; the table below has the figures.",
        height_px=380,
    )
    caption = (
        f"All of that load, in up to {MAX_DOTS} means of seconds per target. The x axis is what had "
        "been written by then, in multiples of the target's capacity. A twin may simulate a slice of its drive: "
        "bytes are given for the whole drive."
    )
    figure = Figure([chart], caption, _table(found), legend_of([one.column for one in found]), columns=1)
    told = [_sentence(one) for one in found]
    out = gate(comparison)
    changing = {column: why for (column, step), why in out.items() if step.startswith(STEPS)}
    reasons = [
        f"{one.column.short}: {why.value}." if (why := changing.get(one.column.short)) else _fall(one)
        for one in found
    ]
    key = KeyFigure(_cliff(found, changing), figure, reasons)
    return Section(
        "saturation", "Write saturation", [Points(told)], short="Saturation", answer=told, key_figure=key
    )


def _cliff(found: Sequence[Saturation], changing: Mapping[str, Unsettled]) -> str:
    """Returns the share of its first rate that the best target keeps; of `changing` it is not claimed."""
    best = max(found, key=lambda one: one.stretches[-1].iops)
    first, last = best.stretches[0].iops, best.stretches[-1].iops
    name, rate, written = best.column.short, compact(last), f"{digits(best.capacities, 2)} capacities"
    if why := changing.get(name):
        return f"{name} {why.verb} after {written}: it was at {rate} IOPS."
    if last >= STEADY_SHARE * first:
        return f"{name} loses nothing to {best.load}: {rate} IOPS after {written}."
    return f"{name} keeps {100 * last / first:.0f} % of its first rate: {rate} IOPS."


def _fall(one: Saturation) -> str:
    """Returns the capacities written when the rate is first nearer to its plateau than to its start; none without a
    loss.
    """
    first, last = one.stretches[0].iops, one.stretches[-1].iops
    start = f"{one.column.short}: {compact(first)} IOPS {'fresh' if one.was_purged else 'at first'}"
    if last >= STEADY_SHARE * first:
        return f"{start}, {compact(last)} at the end."
    cliff = next(
        (
            at.capacities
            for at in one.stretches
            if (at.iops - last) * (first - last) < (first - last) ** 2 / 2
        ),
        0.0,
    )
    return f"{start}; half of the loss is over at {digits(cliff, 2)} capacities."


def _saturation(column: Column) -> Saturation | None:
    run, target = column.run, column.target
    load = LOADS.get(run.document.method.name, "the writes")
    purged = any(step.kind == "purge" for step in run.steps.values())
    if not any(run.asks_for("saturation", name) for name in LOADS) or not purged or not target.capacity_bytes:
        return None
    rows = run.query(
        "intervals",
        "select max(length_s) as length_s, sum(n)::bigint as n, "
        "coalesce(sum(bytes) filter (op = 'write'), 0)::double as written, min(ordinal) as place "
        "from rows where target = $target[1] and starts_with(step, $steps[1]) group by step, start_s order by place",
        {"target": [target.name], "steps": [STEPS]},
    ).to_pylist()
    capacity_bytes = round(target.usable_bytes * (target.scale or 1))
    width = -(-len(rows) // MAX_DOTS) or 1
    stretches: list[Stretch] = []
    written = 0.0
    for first in range(0, len(rows), width):
        part = rows[first : first + width]
        written += sum(row["written"] for row in part)
        length_s = sum(row["length_s"] for row in part)
        if length_s:
            stretches.append(Stretch(written / capacity_bytes, sum(row["n"] for row in part) / length_s))
    if not written or len(stretches) < 2:
        return None
    return Saturation(column, load, stretches, _was_purged(column))


def _was_purged(column: Column) -> bool:
    """Returns whether no purge of the column's run was left out on its target."""
    kinds = {name: step.kind for name, step in column.run.steps.items()}
    return not any(
        remark.target == column.target.name
        and kinds.get(remark.step) == "purge"
        and isinstance(remark.fact, LeftOut)
        for remark in remarks_of(column.run.run.events)
    )


def _points(one: Saturation) -> list[tuple[float, float]]:
    return [(float(f"{s.capacities:.4g}"), float(f"{s.iops:.4g}")) for s in one.stretches]


def _sentence(one: Saturation) -> str:
    first, last = one.stretches[0], one.stretches[-1]
    size = capacity(one.column.target.usable_bytes * one.capacities)
    begun = percent_digits(first.capacities, 2)
    return (
        f"{one.column.label}: {compact(first.iops)} IOPS in the first {begun} of its capacity, "
        f"{compact(last.iops)} after {digits(last.capacities)} capacities ({size})."
    )


def _table(found: Sequence[Saturation]) -> Table:
    most = max(one.capacities for one in found)
    heads = [Item(one.column.label, "IOPS", slot=slot(one.column.index)) for one in found]
    rows = [
        Row(Item(f"{level:g}x"), [Item(grouped(at.iops)) if (at := one.at(level)) else NONE for one in found])
        for level in LEVELS
        if NEARLY * level <= most
    ]
    whole = Row(
        Item("in all"),
        [
            Item(f"{digits(one.capacities)}x", capacity(one.column.target.usable_bytes * one.capacities))
            for one in found
        ],
    )
    return Table(
        "Written", heads, [Group("", [*rows, whole])], ["The rate is that of the stretch that reaches it."]
    )
