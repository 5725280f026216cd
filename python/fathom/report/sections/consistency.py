"""Consistency of a long step: every second as a dot; over its end the spread, latencies and IOPS per watt. With
repeats, figures cover all of them; the dots show the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fathom.analysis.consistency import TAIL_S, TAIL_SHARE, Consistency, consistency, tail_s
from fathom.analysis.efficiency import Efficiency, efficiency, over_repeats
from fathom.analysis.settled import Unsettled
from fathom.output.text import percent
from fathom.report.axes import Axis, Switch, around_1_2_5, time_axis
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Section, Table
from fathom.report.charts import Bars, Dots, Line, Span, bar_chart, dots_chart, line_chart
from fathom.report.comparison import Column, Comparison, margin_of
from fathom.report.consistency_key import key_figure
from fathom.report.data import Bounds, RunData
from fathom.report.findings import gate
from fathom.report.latencies import with_interval
from fathom.report.rows import Seconds
from fathom.report.style import MIN_TAIL, compact, grouped, plain, seconds, slot
from fathom.statistics.latency_columns import QUANTILES, percentile_name
from fathom.statistics.percentiles import BUCKET_EDGES_MS, BUCKET_LABELS, Histogram, repeats_interval_us
from fathom.statistics.series import Floats
from fathom.statistics.uncertainty import count_for

ORDER = 30
LEAST_S = 100.0
MOST_STEPS = 2
WHOLE_S = 0.999
"""A second that is shorter is the last of its step."""
MAX_DOTS = 3600
STRETCH_DOTS = 10
"""Number of dots over which the least and greatest second are drawn too, so that no dip is lost."""
POINTS_PER_DECADE = 40
LATE_MS = 5.0
"""Service times from here on count as long: the bound that enterprise suites of random writes draw."""


LONG_MS = (1.0, LATE_MS, 10.0)
"""Shares of I/Os from here on are rows: a histogram of latency, as such suites print it."""
NOT_KEPT = Item("–", tone="quiet", title="latencies were not kept by the second")


@dataclass(frozen=True)
class LongStep:
    """A long measured step on one target, and its end. `figures` and what follows cover every repeat; the seconds are
    of the first. `bounds` are the 95 % intervals of percentiles in us by column.
    """

    column: Column
    step: str
    label: str
    seconds: Seconds
    from_s: float
    repeats: int
    figures: Consistency
    latency: Histogram | None
    bounds: Bounds
    efficiency: Efficiency | None

    @property
    def iops_per_watt(self) -> float | None:
        """I/O completed per joule over the end of the step; None where no energy is known."""
        return self.efficiency.iops_per_watt if self.efficiency else None

    @property
    def watt_margin(self) -> str:
        """Half the 95 % interval of IOPS per watt, in percent; empty where there is none."""
        found = self.efficiency.interval if self.efficiency else None
        return margin_of(found.mean, found.low, found.high) if found else ""

    @property
    def margin(self) -> str:
        """Half the 95 % interval of the mean rate, in percent; empty where the seconds drift."""
        found = self.figures.interval
        return margin_of(self.figures.mean, found.low, found.high) if found else ""

    @property
    def end_s(self) -> float:
        """Length of the step."""
        return self.seconds.end_s


def build(comparison: Comparison) -> Section | None:
    """Returns the longest measured steps: two at most, of 100 s or more."""
    longs = [long for column in comparison.columns for long in _longs(column)]
    if not longs:
        return None
    window = seconds(longs[0].end_s - longs[0].from_s)
    figures = (
        [_dots(longs), *_bars(longs), _ranges(longs)]
        if any(long.latency for long in longs)
        else [_dots(longs)]
    )
    out = gate(comparison)
    told = [_sentence(long, window, out.get((long.column.short, long.step))) for long in longs]
    settled = [long for long in longs if not out.get((long.column.short, long.step))]
    key = key_figure(longs, settled, window, out)
    return Section(
        "consistency", "Consistency", [_table(longs, window), *figures], answer=told, key_figure=key
    )


def _sentence(long: LongStep, window: str, why: Unsettled | None) -> str:
    """Returns the rate held at the end, how evenly, for how much power, and how many I/Os took long.

    A target without a claim holds nothing; a shortened run claims no more than what was done.
    """
    if why:
        return (
            f"{long.column.label} {why.verb} in {plain(long.label)} ({why.value}): no rate is claimed for it."
        )
    figures = long.figures
    verb = "did" if long.column.run.document.quick else "holds"
    sure = f" ({long.margin})" if long.margin else ""
    text = (
        f"{long.column.label} {verb} {grouped(figures.mean)} IOPS{sure} over the last {window} of {plain(long.label)}: "
        f"the worst second is {100 * figures.worst / figures.mean:.0f} % of that, the standard deviation of seconds "
        f"{100 * figures.spread:.1f} %"
    )
    if long.latency is not None:
        late = 100 * float(long.latency.bucket_shares((LATE_MS,))[-1])
        text += f"; {late:.3g} % of I/Os take {LATE_MS:g} ms or longer"
        if longest_us := long.latency.longest_us:
            text += f", the longest {longest_us / 1000:.3g} ms"
    if long.iops_per_watt:
        sure = f" ({long.watt_margin})" if long.watt_margin else ""
        text += f"; {grouped(long.iops_per_watt)} IOPS per watt{sure}"
    return text + "."


def _longs(column: Column) -> list[LongStep]:
    run, target = column.run, column.target.name
    measured = {
        name: intervals
        for name, intervals in run.seconds(target).items()
        if name in run.steps and run.steps[name].kind == "measure"
    }
    lengths = {name: float(found.length_s.sum()) for name, found in measured.items()}
    longest_s = max(lengths.values(), default=0.0)
    names = [name for name, length_s in lengths.items() if length_s >= 0.9 * longest_s]
    if longest_s < LEAST_S or len(names) > MOST_STEPS:
        return []
    found = [_long(column, name, measured[name]) for name in names]
    return [long for long in found if long is not None]


@dataclass(frozen=True)
class _StepEnd:
    """The end of the step in one run."""

    from_s: float
    rates: Floats
    latency: tuple[Histogram, Bounds] | None
    efficiency: Efficiency | None


def _long(column: Column, step: str, intervals: Seconds) -> LongStep | None:
    """Returns a step; if the next one goes on with its load, both, with the next as its end."""
    target = column.target.name
    last = _last_part(column.run, step)
    ends = [end for run in column.run.repeats if (end := _end(run, target, last or step, whole=bool(last)))]
    figures = consistency(*(end.rates for end in ends)) if ends else None
    if figures is None:
        return None
    if last:
        before_s = intervals.end_s
        behind = column.run.seconds(target).get(last)
        intervals = intervals.before(behind.shifted(before_s)) if behind else intervals
        ends = [replace(end, from_s=before_s) for end in ends]
        step = last
    latency, bounds = _latency([end.latency for end in ends])
    label = plain(column.run.steps[step].label)
    watts = _efficiency_of([end.efficiency for end in ends])
    return LongStep(
        column, step, label, intervals, ends[0].from_s, len(ends), figures, latency, bounds, watts
    )


def _last_part(run: RunData, step: str) -> str | None:
    """Returns the next measured step if it goes on with the same workload: some suites measure their window so."""
    names = list(run.steps)
    behind = names[names.index(step) + 1 :][:1]
    same = [name for name in behind if run.steps[name].kind == "measure"]
    return next((name for name in same if run.steps[name].workload == run.steps[step].workload), None)


def _end(run: RunData, target: str, step: str, *, whole: bool) -> _StepEnd | None:
    intervals = run.seconds(target).get(step)
    full = intervals.longer_than(WHOLE_S) if intervals else None
    if not intervals or not full:
        return None
    end_s = intervals.end_s
    from_s = 0.0 if whole else end_s - tail_s(end_s)
    rates = full.rates[full.start_s >= from_s]
    ios = np.column_stack([intervals.start_s, intervals.length_s, intervals.n.astype(np.float64)])
    tail_from_s = full[-len(rates)].start_s
    energies, accuracy = run.energies(target, step), run.meter_accuracy(target, step)
    latency = run.latency_from(target, step, tail_from_s)
    return _StepEnd(from_s, rates, latency, efficiency(ios, energies, tail_from_s, accuracy))


def _latency(known: Sequence[tuple[Histogram, Bounds] | None]) -> tuple[Histogram | None, Bounds]:
    """Returns the histogram of all repeats with the intervals between them; one repeat has its own. None where a repeat
    has none.
    """
    found = [one for one in known if one]
    if len(found) < len(known):
        return None, {}
    if len(found) == 1:
        return found[0]
    own = [histogram for histogram, _ in found]
    between = {name: repeats_interval_us(own, q) for name, q in QUANTILES.items()}
    return Histogram.merged(own), {name: bounds for name, bounds in between.items() if bounds}


def _efficiency_of(known: Sequence[Efficiency | None]) -> Efficiency | None:
    """Returns the mean over repeats with its interval; None if a repeat lacks it."""
    found = [one for one in known if one]
    if not found or len(found) < len(known):
        return None
    return Efficiency(
        over_repeats([(one.iops_per_watt, one.interval) for one in found]),
        sum(one.stretches for one in found),
        iops_per_watt=sum(one.iops_per_watt for one in found) / len(found),
    )


def _table(longs: Sequence[LongStep], window: str) -> Table:
    head = [Item(long.column.label, long.label, slot=slot(long.column.index)) for long in longs]
    rows = [
        Row(
            Item("Mean", "IOPS"),
            [Item(grouped(long.figures.mean), long.margin, tone="strong") for long in longs],
        ),
        _row("Standard deviation of 1 s", "IOPS", [grouped(long.figures.deviation) for long in longs]),
        Row(Item("Mean / deviation", "larger is steadier"), [_steadiness(long) for long in longs]),
        _row("Deviation / mean", "%", [grouped(100 * long.figures.spread) for long in longs]),
        _row("Worst second", "IOPS", [grouped(long.figures.worst) for long in longs]),
        _row("p1 / median of 1 s", "", [f"{long.figures.p1_over_median:.3f}" for long in longs]),
        Row(Item("IOPS per watt", "I/O per joule"), [_efficiency(long) for long in longs]),
        *_percentiles(longs),
        *_longest(longs),
        _row("Seconds", "n", [f"{long.figures.n:,}" for long in longs]),
    ]
    notes = [
        f"Window: the last {window} of the step"
        + (
            f": of steps shorter than {4 * TAIL_S:.0f} s the last {percent(TAIL_SHARE)}, else the last {TAIL_S:.0f} s."
            if longs[0].end_s < 4 * TAIL_S
            else "."
        ),
        "± is half the 95 % interval of the mean, or of the ratio. A mean without ± has seconds that drift.",
        "IOPS per watt are I/Os completed per joule over that window; – where no source of energy was read. ± "
        "includes a power meter's accuracy where it was given (accuracy=1%). It leaves out the error of a "
        "sensor, of a meter without a known accuracy, and of a twin's model of power.",
        "Service latencies are of all operations together over that window; beneath, their 95 % interval.",
    ]
    if any(long.repeats > 1 for long in longs):
        notes.append(
            "For repeats: the mean of their means, also for IOPS per watt, with intervals that include how "
            "repeats differ. The deviation of seconds is that inside a repeat. The worst second is the worst of "
            "all repeats; latencies are of all their I/Os together."
        )
    return Table("", head, [Group("", rows)], notes)


def _percentiles(longs: Sequence[LongStep]) -> list[Row]:
    """Returns the window's percentiles, where latencies were kept."""
    if not any(long.latency for long in longs):
        return []
    return [
        Row(Item(percentile_name(name), "us"), [_percentile(long, name, q) for long in longs])
        for name, q in QUANTILES.items()
    ]


def _longest(longs: Sequence[LongStep]) -> list[Row]:
    """Returns how many I/Os took long, and the longest of the window, where latencies were kept."""
    if not any(long.latency for long in longs):
        return []
    shares = [
        Row(Item(f"{edge_ms:g} ms or longer", "% of I/Os"), [_share(long, edge_ms) for long in longs])
        for edge_ms in LONG_MS
    ]
    return [*shares, Row(Item("Longest I/O", "us"), [_longest_of(long) for long in longs])]


def _share(long: LongStep, edge_ms: float) -> Item:
    if long.latency is None or not long.latency.n:
        return NOT_KEPT
    return Item(f"{100 * float(long.latency.bucket_shares((edge_ms,))[-1]):.3g}")


def _longest_of(long: LongStep) -> Item:
    longest_us = long.latency.longest_us if long.latency else None
    if longest_us is None:
        return NOT_KEPT
    return Item(grouped(longest_us), title="the end of its histogram bin: at most so much")


def _percentile(long: LongStep, name: str, q: float) -> Item:
    if long.latency is None:
        return NOT_KEPT
    found = long.latency.quantile(q)
    if found is None:
        need = f"needs {count_for(q):,} I/Os, has {long.latency.n:,}"
        return Item("n too small", tone="quiet", title=need)
    return with_interval(found.us, long.bounds.get(name))


def _row(label: str, unit: str, texts: Sequence[str]) -> Row:
    return Row(Item(label, unit), [Item(text) for text in texts])


def _steadiness(long: LongStep) -> Item:
    steadiness = long.figures.steadiness
    if steadiness is None:
        return Item("–", tone="quiet", title="no two seconds differ: there is no deviation to divide by")
    return Item(grouped(steadiness))


def _efficiency(long: LongStep) -> Item:
    found = long.efficiency
    if found is None:
        return Item("–", tone="quiet", title="no source of energy was read")
    return Item(grouped(found.iops_per_watt), long.watt_margin or f"no interval: {found.unsure}")


def _dots(longs: Sequence[LongStep]) -> Figure:
    rates = [long.seconds.longer_than(0).rates for long in longs]
    switch = Switch.around([float(end) for own in rates if len(own) for end in (own.min(), own.max())])
    every = max(-(-len(long.seconds) // MAX_DOTS) for long in longs)
    which = (
        "each second"
        if every == 1
        else f"one second in {every}, with the least and the greatest of each {seconds(every * STRETCH_DOTS)}"
    )
    caption = f"IOPS in {which}; shaded: the window of the figures above."
    if any(long.repeats > 1 for long in longs):
        caption += " With several repeats, the first is drawn."
    charts = [_dots_chart(long, switch, every) for long in longs]
    return Figure(charts, caption, _dots_table(longs), columns=1, scale="value", group="consistency")


def _dots_chart(long: LongStep, switch: Switch, every: int) -> Chart:
    points = dots_of(long, every)
    end_s = long.end_s
    option = (
        dots_chart(
            time_axis(end_s),
            Axis("", "count", log=True, low=switch.log_low, high=switch.log_high),
            [Dots(long.column.short, slot(long.column.index), points)],
            [Span(long.from_s, end_s, "window", strong=True)],
        )
        | switch.option()
    )
    summary = f"IOPS of {long.column.short} second by second over {seconds(end_s)}; the table above has the statistics."
    title = f"{long.column.label}: {long.label}"
    return Chart(
        f"dots-{long.column.index}-{long.label}", title, "IOPS", option, summary, 240, slot(long.column.index)
    )


def dots_of(long: LongStep, every: int) -> list[tuple[float, float]]:
    """Returns start (s) and IOPS of the seconds that are drawn."""
    shown = thinned(long.seconds.longer_than(WHOLE_S), every)
    return list(zip(shown.start_s.round(3).tolist(), shown.rates.round(1).tolist(), strict=True))


def thinned(whole: Seconds, every: int) -> Seconds:
    """Returns one second in `every`, and the least and the greatest of each stretch of `STRETCH_DOTS` times as many.

    A plain pick would mostly miss the worst second, which is what such a figure is looked at for.
    """
    rates, width = whole.rates, every * STRETCH_DOTS
    # The last stretch is filled up with its own last second, which is neither less nor greater than itself.
    rows = np.pad(rates, (0, -len(rates) % width), mode="edge").reshape(-1, width)
    starts = np.arange(len(rows)) * width
    picked = (np.arange(0, len(whole), every), starts + rows.argmin(axis=1), starts + rows.argmax(axis=1))
    return whole.at(np.unique(np.concatenate(picked)))


def _dots_table(longs: Sequence[LongStep]) -> Table:
    """Returns a row per tenth of the step: the dots as a table."""
    groups = []
    for long in longs:
        rows = []
        whole = long.seconds.longer_than(WHOLE_S)
        rates = whole.rates
        for part in range(10):
            low, high = long.end_s * part / 10, long.end_s * (part + 1) / 10
            own = rates[(low <= whole.start_s) & (whole.start_s < high)]
            if len(own):
                cells = [Item(grouped(float(value))) for value in (own.min(), own.mean(), own.max())]
                rows.append(Row(Item(f"{seconds(low) if low else '0 s'} to {seconds(high)}"), cells))
        groups.append(Group(f"{long.column.label}: {long.label}", rows))
    return Table(
        "Part of the step", [Item("Least", "IOPS"), Item("Mean", "IOPS"), Item("Greatest", "IOPS")], groups
    )


def _bars(longs: Sequence[LongStep]) -> list[Figure]:
    """Returns bars of steadiness and efficiency; none for a single target."""
    if len(longs) < 2:
        return []
    names = [f"{long.column.short}" for long in longs]
    charts = []
    for key, title, sub, values in (
        (
            "steadiness",
            "Consistency",
            "mean / deviation of 1 s IOPS",
            [long.figures.steadiness for long in longs],
        ),
        ("efficiency", "Efficiency", "IOPS per watt", [long.iops_per_watt for long in longs]),
    ):
        if sum(value is not None for value in values) > 1:
            bars = [
                Bars(name, slot(long.column.index), [value if other is long else None for other in longs])
                for name, long, value in zip(names, longs, values, strict=True)
            ]
            option = bar_chart(Axis("", "count", low=0), names, bars)
            charts.append(
                Chart(
                    f"bars-{key}",
                    title,
                    sub,
                    option,
                    f"{title}: the table above has the figures.",
                    60 + 40 * len(longs),
                )
            )
    if not charts:
        return []
    rows = [
        Row(
            Item(name),
            [_steadiness(long), _efficiency(long)],
        )
        for name, long in zip(names, longs, strict=True)
    ]
    data = Table("", [Item("Mean / deviation"), Item("IOPS per watt")], [Group("", rows)])
    return [Figure(charts, "Larger is better; window and n as in the table above.", data)]


def _ranges(longs: Sequence[LongStep]) -> Figure:
    """Returns the shares of I/Os in the suite's latency ranges."""
    known = [(long, long.latency) for long in longs if long.latency is not None]
    shares = [100 * latency.bucket_shares(BUCKET_EDGES_MS) for _, latency in known]
    names = [f"{label} ms" for label in BUCKET_LABELS]
    bars = [
        Bars(long.column.short, slot(long.column.index), [round(float(value), 4) for value in row])
        for (long, _), row in zip(known, shares, strict=True)
    ]
    option = bar_chart(Axis("", "pct", low=0, high=100), names, bars)
    n = ", ".join(compact(latency.n) for _, latency in known)
    chart = Chart(
        "ranges",
        "Service latency",
        "% of I/Os",
        option,
        "Shares per range; the table below has the figures.",
        300,
    )
    rows = [
        Row(Item(name), [Item(f"{row[place]:.3f} %") for row in shares]) for place, name in enumerate(names)
    ]
    head = [Item(long.column.label, long.label, slot=slot(long.column.index)) for long, _ in known]
    caption = f"Share of I/Os by service latency over the same window, n = {n} I/Os"
    charts = [chart]
    if beyond := _beyond(known):
        charts.append(beyond)
        caption += f"; and the share of I/Os that took as long or longer, down to {MIN_TAIL} I/Os"
    legend = [Item(long.column.short, slot=slot(long.column.index)) for long, _ in known]
    return Figure(charts, f"{caption}.", Table("Latency", head, [Group("", rows)]), legend)


def _beyond(known: Sequence[tuple[LongStep, Histogram]]) -> Chart | None:
    """Returns the complementary distribution on two logarithmic axes, a point for each bin that an eye can tell apart.

    None where no latency but one was seen.
    """
    lines, ends_us = [], []
    for long, latency in known:
        edges_us, beyond = latency.ccdf()
        kept = beyond * latency.n >= MIN_TAIL
        place = np.unique((np.log10(edges_us[kept]) * POINTS_PER_DECADE).astype(int), return_index=True)[1]
        points = [(float(f"{edges_us[at]:.4g}"), float(f"{100 * beyond[at]:.4g}")) for at in place]
        lines.append(Line(long.column.short, slot(long.column.index), points))
        ends_us += [x for x, _ in points]
    if len(set(ends_us)) < 2:
        return None
    low_us, high_us = around_1_2_5(min(ends_us), max(ends_us))
    least = min((y for line in lines for _, y in line.points if y), default=1.0)
    option = line_chart(
        Axis("us", "us", log=True, low=low_us, high=high_us),
        Axis("", "pct", log=True, low=around_1_2_5(least, 100)[0], high=100),
        lines,
    )
    summary = "Share of I/Os that took longer, over latency; the table below has shares per range."
    return Chart("beyond", "That long or longer", "% of I/Os", option, summary, 300)
