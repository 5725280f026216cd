"""Consistency of a long step: every second as a dot; over its end the spread, latencies and IOPS per watt. With
repeats, figures cover all of them; the dots show the first.
"""

from collections.abc import Sequence

import numpy as np

from fathom.analysis.consistency import TAIL_S, TAIL_SHARE
from fathom.analysis.settled import Unsettled
from fathom.output.text import digits, percent
from fathom.report.axes import Axis, Switch, around_1_2_5, time_axis
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Section, Table
from fathom.report.charts import Bars, Dots, Line, Span, bar_chart, dots_chart, line_chart
from fathom.report.comparison import Comparison
from fathom.report.consistency_key import bars_of, key_figure, window_of
from fathom.report.findings import gate
from fathom.report.latencies import with_interval
from fathom.report.long_steps import STRETCH_DOTS, WHOLE_S, LongStep, dots_of, every_of, long_steps
from fathom.report.style import MIN_TAIL, compact, grouped, plain, seconds, slot
from fathom.statistics.latency_columns import QUANTILES, percentile_name
from fathom.statistics.percentiles import BUCKET_EDGES_MS, BUCKET_LABELS, Histogram
from fathom.statistics.uncertainty import count_for

ORDER = 30
POINTS_PER_DECADE = 40
LATE_MS = 5.0
"""Service times from here on count as long: the bound that enterprise suites of random writes draw."""
LONG_MS = (1.0, LATE_MS, 10.0)
"""Shares of I/Os from here on are rows: a histogram of latency, as such suites print it."""
NOT_KEPT = Item("–", tone="quiet", title="latencies were not kept by the second")


def build(comparison: Comparison) -> Section | None:
    """Returns the longest measured steps: two at most, of 100 s or more."""
    longs = [long for column in comparison.columns for long in long_steps(column)]
    if not longs:
        return None
    window = " or ".join(dict.fromkeys(window_of(long) for long in longs))
    figures = (
        [_dots(longs), *_bars(longs), _ranges(longs)]
        if any(long.latency for long in longs)
        else [_dots(longs)]
    )
    out = gate(comparison)
    told = [_sentence(long, out.get((long.column.short, long.step))) for long in longs]
    settled = [long for long in longs if not out.get((long.column.short, long.step))]
    key = key_figure(longs, settled, window, out)
    return Section(
        "consistency", "Consistency", [_table(longs, window), *figures], answer=told, key_figure=key
    )


def _sentence(long: LongStep, why: Unsettled | None) -> str:
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
        f"{long.column.label} {verb} {grouped(figures.mean)} IOPS{sure} over the last {window_of(long)} of "
        f"{plain(long.label)}: the worst second is {100 * figures.worst / figures.mean:.0f} % of that, the standard "
        f"deviation of seconds {100 * figures.spread:.1f} %"
    )
    if long.latency is not None:
        late = 100 * float(long.latency.bucket_shares((LATE_MS,))[-1])
        text += f"; {late:.3g} % of I/Os take {LATE_MS:g} ms or longer"
        if longest_us := long.longest_us:
            text += f", the longest {digits(longest_us / 1000)} ms"
    if long.iops_per_watt:
        sure = f" ({long.watt_margin})" if long.watt_margin else ""
        text += f"; {grouped(long.iops_per_watt)} IOPS per watt{sure}"
    return text + "."


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
            if any(long.end_s < 4 * TAIL_S for long in longs)
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
    if long.longest_us is None:
        return NOT_KEPT
    return Item(grouped(long.longest_us))


def _percentile(long: LongStep, name: str, q: float) -> Item:
    if long.latency is None:
        return NOT_KEPT
    found = long.latency.quantile(q)
    if found is None:
        need = f"needs {count_for(q):,} I/Os, has {long.latency.n:,}"
        return Item("n too small", tone="quiet", title=need)
    # The middle of a bin may lie above the longest I/O in it.
    return with_interval(min(found.us, long.longest_us or found.us), long.bounds.get(name))


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
    every = every_of(longs)
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
        f"dots-{long.column.index}-{long.step}",
        title,
        sub="IOPS",
        option=option,
        summary=summary,
        height_px=240,
        slot=slot(long.column.index),
    )


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
    names = [long.column.short for long in longs]
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
            option = bar_chart(Axis("", "count", low=0), names, bars_of(longs, values))
            charts.append(
                Chart(
                    f"bars-{key}",
                    title,
                    sub=sub,
                    option=option,
                    summary=f"{title}: the table above has the figures.",
                    height_px=60 + 40 * len(longs),
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
        sub="% of I/Os",
        option=option,
        summary="Shares per range; the table below has the figures.",
        height_px=300,
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
    return Chart(
        "beyond", "That long or longer", sub="% of I/Os", option=option, summary=summary, height_px=300
    )
