"""Latency: percentile curves and histograms, one panel per corner, from the counts of latency.parquet."""

from collections.abc import Sequence

import numpy as np

from fathom.output.text import four_digits
from fathom.report.axes import Axis, Switch, around_1_2_5
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Section, Table
from fathom.report.charts import Line, line_chart
from fathom.report.comparison import Cell, Comparison, Corner
from fathom.report.latencies import percentile
from fathom.report.legend import legend_of, window_of
from fathom.report.style import MIN_TAIL, slot
from fathom.statistics.latency_columns import QUANTILES, percentile_name
from fathom.statistics.percentiles import BUCKET_EDGES_MS, BUCKET_LABELS, Histogram, middles_us
from fathom.statistics.series import Floats

ORDER = 40
MAX_PANELS = 12
BINS_PER_DECADE = 20
TICKS = (float(np.log10(2)), 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
"""Where the percentile axis is labelled: 50, 90, 99, 99.9 ... % at log10(1 / (1 - q))."""


def build(comparison: Comparison) -> Section | None:
    """Returns two figures over the corners that have histograms."""
    corners = [corner for corner in comparison.corners if any(cell.histogram for cell in corner.cells)]
    if not corners:
        return None
    shown = corners[:MAX_PANELS]
    more = (
        f" The first {MAX_PANELS} of {len(corners)} workloads are drawn." if len(corners) > MAX_PANELS else ""
    )
    window = window_of([cell for corner in shown for cell in corner.cells])
    legend = legend_of(comparison.columns)
    end = max(_last_place(cell.histogram.n) for corner in shown for cell in corner.cells if cell.histogram)
    curves = Figure(
        [chart for corner in shown if (chart := _curve(corner, end))],
        f"Service latency by percentile, {window}; a curve ends where fewer than {MIN_TAIL} I/Os lie above it.{more}",
        _curve_table(shown),
        legend,
        group="percentiles",
    )
    bars = Figure(
        [_histogram(corner) for corner in shown],
        f"Share of I/Os per latency bin, {BINS_PER_DECADE} bins per decade, {window}.{more}",
        _histogram_table(shown),
        legend,
        scale="value",
    )
    drawn = [curves, bars] if curves.charts else [bars]
    return Section("latency", "Latency", [*drawn, _ranges(shown, window)])


def _cells(corner: Corner) -> list[tuple[Cell, Histogram]]:
    return [
        (cell, cell.histogram) for cell in corner.cells if cell.histogram is not None and cell.histogram.n > 0
    ]


def _curve(corner: Corner, end: float) -> Chart | None:
    """Returns the percentiles of a corner; None where it has too few I/Os for any."""
    lines = []
    for cell, histogram in _cells(corner):
        found = [(float(x), histogram.quantile(1 - 10**-x)) for x in _places(histogram.n)]
        points = [(round(x, 3), float(f"{quantile.us:.4g}")) for x, quantile in found if quantile]
        lines.append(Line(cell.column.short, slot(cell.column.index), points))
    ticks = [tick for tick in TICKS if tick <= end + 0.01]
    x_axis = Axis("percentile of I/Os", "tail", low=TICKS[0], high=end, ticks=ticks)
    drawn = [y for line in lines for _, y in line.points if y]
    if not drawn:
        return None
    low, high = around_1_2_5(min(drawn), max(drawn))
    option = line_chart(x_axis, Axis("", "us", log=True, low=low, high=high), lines)
    summary = f"Latency percentiles of {corner.label}; the table below has the figures."
    return Chart(
        f"percentiles-{corner.key}", corner.label, sub="us", option=option, summary=summary, height_px=250
    )


def _last_place(n: int) -> float:
    """log10(1 / (1 - q)) of the last quantile that n I/Os support, just short of it because q is rounded."""
    return max(float(np.log10(max(n, 1) / MIN_TAIL)) - 1e-6, TICKS[0])


def _places(n: int) -> list[float]:
    """Returns the places at which a curve is drawn: every 0.05 from the median on, and the labelled percentiles."""
    last = _last_place(n)
    return sorted(
        {*np.arange(TICKS[0], last, 0.05).tolist(), *(tick for tick in TICKS if tick <= last), last}
    )


def _curve_table(corners: Sequence[Corner]) -> Table:
    groups = []
    for corner in corners:
        rows = []
        for cell, histogram in _cells(corner):
            items = [percentile(cell.point, name) for name in QUANTILES]
            rows.append(Row(Item(cell.column.label), [Item(f"{histogram.n:,}"), *items]))
        groups.append(Group(corner.label, rows))
    heads = [Item("n"), *(Item(percentile_name(column), "us") for column in QUANTILES)]
    return Table("Target", heads, groups, ["Beneath a percentile is its 95 % interval."])


def _histogram(corner: Corner) -> Chart:
    lines = []
    for cell, histogram in _cells(corner):
        edges, share = rebinned(histogram)
        x = np.append(edges, edges[-1] * 10 ** (1 / BINS_PER_DECADE))
        y = np.append(share, 0.0)
        points = [(float(f"{at:.4g}"), float(f"{value:.4g}")) for at, value in zip(x, y, strict=True)]
        lines.append(
            Line(cell.column.short, slot(cell.column.index), [(points[0][0], 0.0), *points], style="outline")
        )
    places = [point[0] or 0.0 for line in lines for point in line.points]
    low, high = around_1_2_5(min(places), max(places))
    option = line_chart(Axis("us", "us", log=True, low=low, high=high), Axis("", "pct"), lines)
    switch = Switch.around([point[1] or 0.0 for line in lines for point in line.points])
    summary = f"Latency histogram of {corner.label}; the table below has the figures."
    return Chart(
        f"histogram-{corner.key}",
        corner.label,
        sub="% of I/Os",
        option=option | switch.option(),
        summary=summary,
        height_px=250,
    )


def rebinned(histogram: Histogram) -> tuple[Floats, Floats]:
    """Returns the lower edges in us and the shares in percent of bins of equal width on a log axis, gaps filled with
    zeros.
    """
    middle_us = middles_us(histogram.low_ns, histogram.high_ns)
    place = np.floor(np.log10(middle_us.clip(1e-3)) * BINS_PER_DECADE).astype(int)
    first = int(place.min())
    share = np.bincount(place - first, weights=histogram.count) / histogram.n * 100
    return 10 ** ((first + np.arange(len(share))) / BINS_PER_DECADE), share


def _ranges(corners: Sequence[Corner], window: str) -> Table:
    """Returns the shares of I/Os in the millisecond ranges of reviews."""
    groups = []
    for corner in corners:
        found = [(cell, 100 * histogram.bucket_shares(BUCKET_EDGES_MS)) for cell, histogram in _cells(corner)]
        rows = [
            Row(Item(cell.column.label), [_share(float(share) or None) for share in shares])
            for cell, shares in found
        ]
        groups.append(Group(corner.label, rows))
    heads = [Item(f"{label} ms", "% of I/Os") for label in BUCKET_LABELS]
    return Table("Service latency", heads, groups, [f"Shares of I/Os per range; {window}. A dash: none."])


def _histogram_table(corners: Sequence[Corner]) -> Table:
    """Returns a table of the occupied bins. A share below 0.001 % is shown as such."""
    columns = {cell.column.label: cell.column for corner in corners for cell in corner.cells}
    groups = []
    for corner in corners:
        shares: dict[float, dict[str, float]] = {}
        for cell, histogram in _cells(corner):
            for edge, share in zip(*rebinned(histogram), strict=True):
                if share > 0:
                    shares.setdefault(round(float(edge), 4), {})[cell.column.label] = float(share)
        rows = [
            Row(
                Item(four_digits(edge), f"to {four_digits(edge * 10 ** (1 / BINS_PER_DECADE))} us"),
                [_share(of.get(c)) for c in columns],
            )
            for edge, of in sorted(shares.items())
        ]
        groups.append(Group(corner.label, rows))
    return Table("Latency from", [Item(label, "% of I/Os") for label in columns], groups)


def _share(value: float | None) -> Item:
    if value is None:
        return Item("–", tone="quiet")
    return Item(f"{value:.3f}" if value >= 0.0005 else "< 0.001")
