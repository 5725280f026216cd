"""IOPS over the whole run, one panel per target: fills, preconditioning and measurement, second by second."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fathom.analysis.settled import keeps_state
from fathom.method.curve import curve_of
from fathom.report.axes import Axis, Switch, time_axis
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Section, Table
from fathom.report.charts import Line, Span, line_chart
from fathom.report.comparison import Column, Comparison
from fathom.report.rows import Seconds
from fathom.report.style import compact, grouped, plain, seconds, slot

ORDER = 35
LEAST_S = 0.1
"""A last interval that is shorter is drawn with the one before it."""
MAX_BUCKETS = 1200
"""Points drawn per target: about one per pixel of a wide screen."""
LABEL_SHARE_PER_CHARACTER = 0.0085
"""Width of a label's character as a fraction of a panel's width on paper; on a wide screen it is less."""
MOST_OF_FILLS = 0.9
"""Share of a target's time beyond which fills are not drawn: they would leave no room for what is measured."""
WITHOUT_READS = "Random mixes settle twins of SSDs without their reads, which move no data."
MARGIN_SHARE = 0.06
"""How far a label may reach beyond either end of the axis, as a fraction of a panel's width on paper."""


@dataclass(frozen=True)
class Bucket:
    """Seconds drawn as one point: when (middle, from the start of the run), and mean, least and greatest IOPS."""

    at_s: float
    length_s: float
    mean: float
    least: float
    greatest: float


@dataclass(frozen=True)
class Stretch:
    """A step on a target's time line."""

    step: str
    start_s: float
    end_s: float
    seconds: Seconds


def build(comparison: Comparison) -> Section | None:
    """Returns one panel per target that has intervals."""
    whole = [(column, _stretches(column)) for column in comparison.columns]
    whole = [(column, stretches) for column, stretches in whole if stretches]
    if not whole:
        return None
    lines = [(column, _without_long_fills(column, stretches)) for column, stretches in whole]
    width = max(bucket_seconds(stretches) for _, stretches in lines)
    drawn = [
        (column, stretches, _buckets(stretches, bucket_seconds(stretches))) for column, stretches in lines
    ]
    switch = Switch.around(
        [rate for *_, groups in drawn for g in groups for b in g for rate in (b.least, b.greatest)]
    )
    charts = [
        _chart(column, stretches, groups, switch, spans)
        for (column, stretches, groups), spans in zip(drawn, _shading(lines), strict=True)
    ]
    figure = Figure(
        charts,
        _caption(lines, width, cut=lines != whole),
        _table(whole),
        columns=1,
        scale="log",
        group="timeline",
    )
    return Section("timeline", "IOPS over time", [figure], short="Over time")


def _stretches(column: Column) -> list[Stretch]:
    """Returns the steps laid end to end, without the pauses between them. Purges, which read and write nothing, are
    left out.
    """
    at_s = 0.0
    stretches = []
    steps = column.run.steps
    for step, intervals in column.run.seconds(column.target.name).items():
        if step in steps and steps[step].kind == "purge":
            continue
        start_s = float(intervals.start_s.min())
        length_s = float((intervals.start_s + intervals.length_s).max()) - start_s
        shifted = intervals.longer_than(0).with_end_of(LEAST_S).shifted(at_s - start_s)
        stretches.append(Stretch(step, at_s, at_s + length_s, shifted))
        at_s += length_s
    return stretches


def _without_long_fills(column: Column, stretches: list[Stretch]) -> list[Stretch]:
    """Returns what is drawn: all, or the steps but fills where fills take more than `MOST_OF_FILLS` of the time."""
    steps = column.run.steps
    others = [one for one in stretches if one.step not in steps or steps[one.step].kind != "fill"]
    others_s = sum(one.end_s - one.start_s for one in others)
    if not others or others_s >= (1 - MOST_OF_FILLS) * stretches[-1].end_s:
        return stretches
    at_s = 0.0
    drawn: list[Stretch] = []
    for one in others:
        begin_s, at_s = at_s, at_s + one.end_s - one.start_s
        drawn.append(Stretch(one.step, begin_s, at_s, one.seconds.shifted(begin_s - one.start_s)))
    return drawn


def bucket_seconds(stretches: Sequence[Stretch]) -> int:
    """Returns intervals per drawn point, so that a target has at most about MAX_BUCKETS of them."""
    return math.ceil(sum(len(stretch.seconds) for stretch in stretches) / MAX_BUCKETS)


def _buckets(stretches: Sequence[Stretch], size: int) -> list[list[Bucket]]:
    """Returns per step, its intervals in groups of `size`."""
    return [_bucketed(stretch.seconds, size) for stretch in stretches]


def _bucketed(whole: Seconds, size: int) -> list[Bucket]:
    """Returns intervals in groups of `size`; the last may have fewer."""
    if not whole:
        return []
    firsts = np.arange(0, len(whole), size)
    lasts = np.append(firsts[1:], len(whole)) - 1
    ends_s = whole.start_s[lasts] + whole.length_s[lasts]
    length_s = np.add.reduceat(whole.length_s, firsts)
    columns = (
        (whole.start_s[firsts] + ends_s) / 2,
        length_s,
        np.add.reduceat(whole.n, firsts) / length_s,
        np.minimum.reduceat(whole.rates, firsts),
        np.maximum.reduceat(whole.rates, firsts),
    )
    return [Bucket(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]


def _chart(
    column: Column,
    stretches: Sequence[Stretch],
    groups: Sequence[Sequence[Bucket]],
    switch: Switch,
    spans: Sequence[Span],
) -> Chart:
    end_s = stretches[-1].end_s
    place = slot(column.index)
    merged = any(bucket.least < bucket.greatest for group in groups for bucket in group)
    points: list[list[float | None]] = []
    envelope: list[list[float | None]] = []
    for group in groups:
        for b in group:
            rates = (b.mean, b.least, b.greatest) if merged else (b.mean,)
            # A line through one point shows nothing, so a step of one point is drawn as long as it took.
            halves = (-b.length_s / 2, b.length_s / 2) if len(group) == 1 else (0.0,)
            points += [_rounded((b.at_s + half, *rates)) for half in halves]
            envelope += [_rounded((b.at_s, b.least)), _rounded((b.at_s, b.greatest))]
        for line in (points, envelope):
            if line:
                line.append([line[-1][0], None])
    lines = [Line("IOPS", place, points, style="solid")]
    if merged:
        lines.append(Line("range", place, envelope, style="envelope"))
    axis = Axis("", "count", log=True, low=switch.log_low, high=switch.log_high)
    option = line_chart(time_axis(end_s), axis, lines, spans, zoom=True)
    clock = "virtual time" if column.is_twin else "wall time"
    summary = f"IOPS of {column.label} over {seconds(end_s)}, {len(stretches)} steps; the table below has the figures."
    return Chart(
        f"timeline-{column.index}",
        column.label,
        sub=f"IOPS, {clock}",
        option=option | switch.option(),
        summary=summary,
        height_px=160,
        slot=place,
    )


def _shading(lines: Sequence[tuple[Column, Sequence[Stretch]]]) -> list[list[Span]]:
    """Returns the measured steps of each target, shaded strongly and labelled: as in tables if all labels have room,
    else shorter. Neighbours of one name share a label. If even the shortest have no room, labels that would run into
    the one before are left out.
    """
    names = [
        list(zip(*(_names(column, stretch.step) for stretch in stretches), strict=True))
        for column, stretches in lines
    ]
    shown: list[list[Span]] = []
    for way in zip(*names, strict=True):
        spans = [_joined(stretches, called) for (_, stretches), called in zip(lines, way, strict=True)]
        shown = [_with_room(own) for own in spans]
        if shown == spans:
            break
    return shown


def _names(column: Column, name: str) -> tuple[str, ...]:
    """Returns the possible labels of a step, the shortest last; none if it is not measured."""
    run = column.run
    step = run.steps.get(name)
    if step is not None and step.kind not in ("measure", "point"):
        return ("",) * 3
    if place := run.round_of(name):
        short = f"{plain(place.of)}, round\N{NO-BREAK SPACE}{place.number}"
        return plain(run.called(name)), short, short
    whole = plain(run.called(curve_of(name)))
    return plain(run.called(name)), whole.rpartition(", ")[0] or whole, whole.partition(", ")[0]


def _joined(stretches: Sequence[Stretch], names: Sequence[str]) -> list[Span]:
    """Returns a span for each stretch, one for neighbours of one name; names in lines."""
    spans: list[Span] = []
    for stretch, name in zip(stretches, map(_in_two_lines, names), strict=True):
        start_s = stretch.start_s
        if spans and spans[-1].label == name:
            start_s = spans.pop().start
        spans.append(Span(start_s, stretch.end_s, name, strong=bool(name)))
    return spans


def _in_two_lines(label: str) -> str:
    """Returns a label in two lines, divided so that the longer one is as short as possible."""
    spaces = [place for place, char in enumerate(label) if char == " "]
    at = min(spaces, key=lambda place: max(place, len(label) - place - 1), default=None)
    return label if at is None else f"{label[:at]}\n{label[at + 1 :]}"


def _with_room(spans: Sequence[Span]) -> list[Span]:
    """Returns the spans without labels that would run into the one before, or over the edge."""
    end_s = spans[-1].end
    shown = []
    labelled_to = -MARGIN_SHARE * end_s
    for span in spans:
        width = max(map(len, span.label.split("\n")))
        half = width * LABEL_SHARE_PER_CHARACTER * end_s / 2
        middle_s = (span.start + span.end) / 2
        fits = labelled_to <= middle_s - half and middle_s + half <= (1 + MARGIN_SHARE) * end_s
        if span.label and fits:
            labelled_to = middle_s + half
        shown.append(span if fits else replace(span, label=""))
    return shown


def _rounded(point: Sequence[float]) -> list[float | None]:
    """Returns a value with five significant digits, so that the page stays small."""
    return [float(f"{value:.5g}") for value in point]


def _caption(lines: Sequence[tuple[Column, Sequence[Stretch]]], width: int, *, cut: bool) -> str:
    """Returns what is drawn. `cut`: long fills are not."""
    count = sum(int(stretch.seconds.n.sum()) for _, stretches in lines for stretch in stretches)
    longest = max(stretches[-1].end_s for _, stretches in lines)
    length_s = _interval_s([stretches for _, stretches in lines])
    intervals, each = (
        ("one-second intervals", "second")
        if length_s is None
        else (f"intervals of {length_s:g} s", "interval")
    )
    one = "one interval of a second" if length_s is None else f"one interval of {length_s:g} s"
    points = (
        f"Each point is the mean of up to {width} {intervals}; the faint line joins their least and greatest "
        f"{each}"
        if width > 1
        else f"Each point is {one} (the last of a step may be shorter, or up to 0.1 s longer)"
    )
    alone = " " + WITHOUT_READS if any(_settles_without_reads(column) for column, _ in lines) else ""
    fills = (
        f" Fills that take more than {100 * MOST_OF_FILLS:.0f} % of a target's time stand in the table alone."
        if cut
        else ""
    )
    return (
        f"{points}; all operations together, up to {seconds(longest)} and {compact(count)} I/Os in all, steps "
        "laid end to end without the pauses between them. Strong shading marks the measured steps, pale shading "
        f"fills and preconditioning.{fills}{alone}"
    )


def _interval_s(each: Sequence[Sequence[Stretch]]) -> float | None:
    """Returns the length of the longest intervals; None for seconds. Other programs may have had other intervals."""
    lengths_s = [
        float(stretch.seconds.length_s[0])
        for stretches in each
        for stretch in stretches
        if len(stretch.seconds) > 1
    ]
    longest_s = max(lengths_s, default=1.0)
    return None if abs(longest_s - 1) <= LEAST_S else float(f"{longest_s:.3g}")


def _settles_without_reads(column: Column) -> bool:
    """Returns whether the target is of SSDs' twins that random mixes settle (`session.filled.settled_by_writes`)."""
    run = column.run
    settling = [name for name, step in run.steps.items() if step.kind == "precondition" and name in run.jobs]
    drives = run.document.drives_of(column.target) or [column.target]
    is_twin = column.target.kind == "twin" and all(map(keeps_state, drives))
    return is_twin and any(run.jobs[name].without_reads() for name in settling)


def _table(whole: Sequence[tuple[Column, Sequence[Stretch]]]) -> Table:
    name = "second" if _interval_s([stretches for _, stretches in whole]) is None else "interval"
    heads = [
        Item(text)
        for text in ("Length", "n", "Mean IOPS", f"Least {name}", f"Greatest {name}", f"CV of {name}s")
    ]
    groups = [
        Group(column.label, [_summary(column, stretch) for stretch in stretches if stretch.seconds])
        for column, stretches in whole
    ]
    note = "The run's table `intervals` has every single one. CV: standard deviation / mean."
    return Table("Step", heads, groups, [note])


def _summary(column: Column, stretch: Stretch) -> Row:
    rates = stretch.seconds.rates
    [whole] = _bucketed(stretch.seconds, len(stretch.seconds))
    centre = float(rates.mean())
    spread = float(rates.std(ddof=1)) if len(rates) > 1 else None
    items = [
        Item(seconds(stretch.end_s - stretch.start_s)),
        Item(f"{int(stretch.seconds.n.sum()):,}"),
        *(Item(grouped(value)) for value in (whole.mean, whole.least, whole.greatest)),
        Item("–" if spread is None or not centre else f"{100 * spread / centre:.1f} %"),
    ]
    step = column.run.steps.get(stretch.step)
    return Row(Item(plain(column.run.called(stretch.step)), step.kind if step else ""), items)
