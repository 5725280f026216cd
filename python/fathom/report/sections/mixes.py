"""Mixed reads and writes: IOPS and latency over the share of reads, and a map where blocks or depths vary as well."""

from collections.abc import Callable, Sequence
from itertools import chain
from math import log
from typing import NamedTuple

from fathom.analysis.settled import no_target
from fathom.columns.schema import Point
from fathom.output.text import latency_text
from fathom.report.axes import Axis, around_1_2_5, from_zero
from fathom.report.blocks import Block, Chart, Figure, Group, Item, KeyFigure, Points, Row, Section, Table
from fathom.report.charts import Line, line_chart
from fathom.report.comparison import Column, Comparison
from fathom.report.findings import Gate, gate
from fathom.report.latencies import latency
from fathom.report.legend import legend_of
from fathom.report.predicted import PREDICTED, WHISKERS, range_item, whisker
from fathom.report.style import compact, grouped, plain, slot
from fathom.report.sweeps import (
    HOLLOW,
    SweptStep,
    claimed,
    expected,
    intervals_of,
    of_rounds,
    rate_margin,
    reasons_of,
    series,
    swept,
    unsettled,
    window_of,
)
from fathom.report.waf import NOTE

ORDER = 32
LEAST_SHARES = 4
KEY_PX = 380
MAX_LOADS = 4
LOWER = 0.99
"""A sentence names the least rate if it is below this share of the lower end."""
NONE = Item("–", tone="quiet", title="no such I/O, or too few of them")
Load = Sequence[Sequence[SweptStep]]
"""One workload on each target, by ascending share of reads."""


def build(comparison: Comparison) -> Section | None:
    """Returns up to four panels per load that was measured at four or more shares of reads, each load on lines of its
    own. Several loads get maps.
    """
    out = gate(comparison)
    steps = expected([one for one in swept(comparison) if {*one.shape.others} <= {"flush"}], out)
    loads = series(steps, lambda one: (one.shape.key, one.load), lambda one: one.read_pct, LEAST_SHARES)
    foremost = sorted(loads, key=_is_tracked, reverse=True)[:MAX_LOADS]
    if not loads:
        return None
    labels = [_label(load[0][0]) for load in loads]
    drawn = [(_label(load[0][0]), load) for load in foremost]
    panels = [_charts(number, label, load, out) for number, (label, load) in enumerate(drawn)]
    steps = [one for load in loads for members in load for one in members]
    more = (
        f" {MAX_LOADS} of {len(loads)} loads are drawn; those that judge the rounds come first."
        if len(loads) > MAX_LOADS
        else ""
    )
    caption = (
        "IOPS of reads and writes together, and the service latency of each, over the share of reads; "
        f"{window_of(steps)}.{more}"
        + HOLLOW * any(unsettled(one, out) is not None for one in steps)
        + WHISKERS * any(one.spread for one in steps)
    )
    figure = Figure(
        list(chain.from_iterable(panels)),
        caption,
        _table(labels, loads),
        legend_of(comparison.columns),
        columns=3 if all(len(own) == 3 for own in panels) else 2,
        group="mixes",
    )
    told = [text for label, load in drawn for steps in load for text in _sentences(label, steps, out)]
    columns = {members[0].column.index: members[0].column for load in loads for members in load}
    maps: list[Block] = (
        [_map(columns[index], labels, loads) for index in sorted(columns)] if len(loads) > 1 else []
    )
    key = _key_figure(*drawn[0], out)
    return Section(
        "mixes",
        "Mixed reads and writes",
        [Points(told), *maps, figure],
        short="Mixes",
        answer=told,
        key_figure=key,
    )


def _key_figure(label: str, load: Load, out: Gate) -> KeyFigure:
    """Returns the range of the rate over the share of reads, and curves of rate and read latency."""
    figure = Figure(
        _charts(0, label, load, out, "key-mix")[:2],
        "IOPS of reads and writes together, and the mean latency of reads, over the share of reads."
        + HOLLOW * any(unsettled(one, out) is not None for steps in load for one in steps)
        + WHISKERS * any(one.spread for steps in load for one in steps),
        _table([label], [load]),
        legend_of([steps[0].column for steps in load]),
        group="key-mix",
    )
    each = [claimed(steps, out, LEAST_SHARES, steps[0].column.short) for steps in load]
    kept = [steps for steps, _ in each if steps]
    unclaimed = [text for _, text in each if text]
    ranked = sorted(kept, key=lambda steps: -max(one.iops for one in steps))
    if not ranked:
        why = no_target(reasons_of((one for steps in load for one in steps), out))
        return KeyFigure(f"{why.capitalize()} in {label}, so no rate is claimed.", figure)
    reasons = [*map(_spanned, ranked[1:]), *unclaimed, *map(_least, ranked)]
    return KeyFigure(_spanned(ranked[0]), figure, reasons)


def _spanned(steps: Sequence[SweptStep]) -> str:
    first, last = steps[0], steps[-1]
    ends = [
        "writes alone" if first.read_pct == 0 else "few reads",
        "reads alone" if last.read_pct == 100 else "most",
    ]
    low, high = compact(first.iops), compact(last.iops)
    return f"{first.column.short} goes from {low} IOPS of {ends[0]} to {high} of {ends[1]}."


def _least(steps: Sequence[SweptStep]) -> str:
    """Returns the effect of few writes on reads, else the share of reads with the least rate."""
    if beside := _beside_writes(steps):
        times = beside.mixed_us / beside.alone_us
        return f"{beside.writes} make the reads of {steps[0].column.short} take {times:.1f} times as long."
    low = min(steps, key=lambda one: one.iops)
    return f"{steps[0].column.short} is slowest at {low.read_pct:g} % reads: {compact(low.iops)} IOPS."


class _BesideWrites(NamedTuple):
    """Mean latencies of reads, us: alone, and beside the fewest writes, `10 % of writes`."""

    alone_us: float
    mixed_us: float
    writes: str


def _beside_writes(steps: Sequence[SweptStep]) -> _BesideWrites | None:
    """Returns what the fewest writes do to reads; None where reads were not measured alone, or not beside writes."""
    alone = steps[-1].half("read") if steps[-1].half("write") is None else None
    mixed = next((one for one in reversed(steps) if one.half("read") and one.half("write")), None)
    beside = mixed.half("read") if mixed else None
    if not (alone and mixed and beside and alone.mean_us and beside.mean_us):
        return None
    return _BesideWrites(alone.mean_us, beside.mean_us, f"{100 - mixed.read_pct:g} % of writes")


def _is_tracked(load: Load) -> bool:
    """Returns whether one of the steps decides when rounds end."""
    places = (one.column.run.round_of(one.halves[0].step) for steps in load for one in steps)
    return any(place.step in place.track for place in places if place)


def _label(one: SweptStep) -> str:
    threads, iodepth = one.load
    return f"{plain(one.shape.label)}, {threads}T/{iodepth}Q"


def _sentences(label: str, steps: Sequence[SweptStep], out: Gate) -> list[str]:
    """Returns the sentence on what had settled, and one on what had not."""
    left, unclaimed = claimed(steps, out, LEAST_SHARES, f"{steps[0].column.label}, {label}")
    return [*([_sentence(label, left)] if left else []), *([unclaimed] if unclaimed else [])]


def _sentence(label: str, steps: Sequence[SweptStep]) -> str:
    """Returns the rates at both ends, the least rate between them, and the read latency beside writes."""
    first, last = steps[0], steps[-1]
    low = min(steps, key=lambda one: one.iops)
    text = (
        f"{first.column.label}, {label}: {_rate_text(first, ' IOPS')} at {first.read_pct:g} % reads, "
        f"{_rate_text(last)} at {last.read_pct:g} %"
    )
    if low.iops < LOWER * min(first.iops, last.iops):
        text += f", and the least, {_rate_text(low)}, at {low.read_pct:g} %"
    if beside := _beside_writes(steps):
        before, after = latency_text(beside.alone_us), latency_text(beside.mixed_us)
        text += (
            f"; {beside.writes} leave the mean read latency at {before}"
            if before == after
            else f"; {beside.writes} take the mean read latency from {before} to {after}"
        )
    return text + "."


def _rate_text(one: SweptStep, unit: str = "") -> str:
    """Returns `476k IOPS (± 0.8 %)`."""
    return f"{compact(one.iops)}{unit}" + (f" ({one.margin})" if one.margin else "")


def _charts(number: int, label: str, load: Load, out: Gate, key: str = "mix") -> list[Chart]:
    """Returns a panel of the rates and up to three of latencies. Points that `out` names are hollow."""
    across = Axis("reads, %", "pct", low=0, high=100, step=20)
    panels: tuple[tuple[str, str, Callable[[SweptStep], float | None]], ...] = (
        ("iops", "IOPS, reads and writes", lambda one: one.iops),
        ("read", "mean read latency, us", lambda one: _figure(one, "read", "mean_us")),
        ("write", "mean write latency, us", lambda one: _figure(one, "write", "mean_us")),
        ("p99", "p99 read latency, us", lambda one: _figure(one, "read", "p99_us")),
    )
    charts = []
    for what, sub, value in panels:
        lines = [
            Line(
                steps[0].column.short,
                slot(steps[0].column.index),
                [[one.read_pct, float(f"{y:.5g}")] for one in steps if (y := value(one)) is not None],
                marks=True,
                hollow=[unsettled(one, out) is not None for one in steps if value(one) is not None],
                whiskers=[whisker(one.read_pct, one.spread, one.iops) for one in steps if one.spread]
                if what == "iops"
                else (),
            )
            for steps in load
        ]
        values = [y for line in lines for _, y in line.points if y]
        if not values:
            continue
        low, high = around_1_2_5(min(values), max(values))
        latency = Axis("", "us", log=True, low=low, high=high)
        axis = from_zero(max(line.highest for line in lines), "count") if what == "iops" else latency
        option = line_chart(across, axis, lines)
        summary = f"{sub} of {label} over the share of reads; the table below has the figures."
        charts.append(
            Chart(
                f"{key}-{number}-{what}",
                label,
                sub=sub,
                option=option,
                summary=summary,
                height_px=230 if key == "mix" else KEY_PX,
            )
        )
    return charts


def _figure(one: SweptStep, op: str, name: str) -> float | None:
    half = one.half(op)
    return getattr(half, name) if half else None


def _table(labels: Sequence[str], loads: Sequence[Load]) -> Table:
    steps = [one for load in loads for steps in load for one in steps]
    predicted = any(one.spread for one in steps)
    heads = [
        Item("Together", "IOPS"),
        *([Item(PREDICTED, "IOPS")] if predicted else []),
        Item("Reads", "IOPS"),
        Item("Writes", "IOPS"),
        *(Item(f"{op.capitalize()} {what}", "us") for op in ("read", "write") for what in ("mean", "p99")),
        Item("WAF"),
        Item("Limited by"),
    ]
    groups = [
        Group(f"{label}: {steps[0].column.label}", [_row(one, predicted) for one in steps])
        for label, load in zip(labels, loads, strict=True)
        for steps in load
    ]
    notes = intervals_of(steps)
    return Table("Reads", heads, groups, [*notes, NOTE] if any(one.waf for one in steps) else notes)


def _row(one: SweptStep, predicted: bool) -> Row:
    halves = [one.half(op) for op in ("read", "write")]
    rates = [NONE if half is None else _rate(half) for half in halves]
    latencies = [_latency(half, name) for half in halves for name in ("mean_us", "p99_us")]
    limit = Item(plain(one.limited_by)) if one.limited_by else NONE
    together = Item(grouped(one.iops), one.margin, tone="strong")
    range_of_twin = range_item(one.spread, one.iops) if one.spread else NONE
    cells = [together, *([range_of_twin] if predicted else []), *rates, *latencies, one.waf or NONE, limit]
    return Row(Item(f"{one.read_pct:g} %"), cells)


def _rate(half: Point) -> Item:
    return Item(grouped(half.iops or 0.0), rate_margin(half))


def _latency(half: Point | None, name: str) -> Item:
    return (latency(half, name) if half else None) or NONE


def _map(column: Column, labels: Sequence[str], loads: Sequence[Load]) -> Table:
    """Returns a map shaded by IOPS, on a log scale from the target's least to its greatest."""
    rows = [
        (label, {one.read_pct: one for one in steps})
        for label, load in zip(labels, loads, strict=True)
        for steps in load
        if steps[0].column is column
    ]
    shares = sorted({share for _, by_share in rows for share in by_share})
    rates = [one.iops for _, by_share in rows for one in by_share.values()]
    body = [
        Row(Item(label), [_place(by_share.get(share), rates) for share in shares]) for label, by_share in rows
    ]
    note = (
        "IOPS ± half their 95 % interval; beneath, mean latency of all operations. The table of the charts has "
        "their intervals per operation. Darker cells have more IOPS, on a logarithmic scale."
    )
    steps = [one for _, by_share in rows for one in by_share.values()]
    heads = [Item(f"{share:g} %", "reads") for share in shares]
    return Table(column.label, heads, [Group("", body)], [note, *of_rounds(steps)])


def _place(one: SweptStep | None, rates: Sequence[float]) -> Item:
    if one is None:
        return NONE
    spread = log(max(rates) / min(rates))
    heat = log(one.iops / min(rates)) / spread if spread > 0 else 0.0
    latency = "" if one.mean_us is None else latency_text(one.mean_us)
    # Breaks between the two only: a unit does not stand alone.
    sub = " · ".join(part.replace(" ", "\u00a0") for part in (one.margin, latency) if part)
    return Item(compact(one.iops), sub, heat=round(heat, 3))
