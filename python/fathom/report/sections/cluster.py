"""A cluster as its clients ask for more: the maximum of each workload, totals at each depth, per TB."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from fathom.analysis.finding import joined
from fathom.analysis.settled import no_target
from fathom.prediction.interval import Spread
from fathom.report.axes import Axis, rounded
from fathom.report.blocks import (
    Block,
    Chart,
    Figure,
    Group,
    Item,
    KeyFigure,
    Option,
    Points,
    Prose,
    Row,
    Section,
    Table,
)
from fathom.report.charts import Bars, Line, bar_chart, line_chart
from fathom.report.comparison import Column, Comparison
from fathom.report.findings import Gate, gate
from fathom.report.legend import legend_of
from fathom.report.predicted import WHISKERS, bar_range, range_text, ranges_note, settled_spread
from fathom.report.reference import Figure as Metric
from fathom.report.reference import Pair, agreement, beside, find, reasons
from fathom.report.style import compact, grouped, plain, slot
from fathom.statistics.limits import Limit
from fathom.statistics.means import mean_by_count

ORDER = 15
METHOD = "cluster-scaling"
DEPTHS = (1, 4, 8, 16)
SMALL = {
    "4k-rand-read": ("4 KiB random read", "fio-4k-rand-read"),
    "4k-rand-write": ("4 KiB random write", "fio-4k-rand-write"),
    "4k-rand-70r30w": ("4 KiB random 70/30", "fio-4k-rand-70r30w"),
    "4k-rand-50r50w": ("4 KiB random 50/50", "fio-4k-rand-50r50w"),
    "4k-rand-30r70w": ("4 KiB random 30/70", "fio-4k-rand-30r70w"),
}
LARGE = {
    "128k-seq-read": ("128 KiB sequential read", "fio-128k-seq-read"),
    "128k-seq-write": ("128 KiB sequential write", "fio-128k-seq-write"),
    "1m-seq-read": ("1 MiB sequential read", "fio-1m-seq-read"),
    "1m-seq-write": ("1 MiB sequential write", "fio-1m-seq-write"),
}
LABELS = {published: label for label, published in (SMALL | LARGE).values()}
"""Labels of the tables by the published name of the workload."""
KINDS: tuple[tuple[str, dict[str, tuple[str, str]], Metric], ...] = (
    ("Small blocks, IOPS", SMALL, "iops"),
    ("Large blocks, MB/s", LARGE, "mbps"),
)
KEY = "4k-rand-read"
"""The workload of the key figure."""
KEY_LABEL = SMALL[KEY][0]
KEY_BYTES = 4 << 10
HEADLINES = ("4k-rand-read", "4k-rand-write", "1m-seq-read", "1m-seq-write")
TB = 1e12
NEARLY = 0.99
"""Share of the greatest rate over depths from which a rate counts as the maximum."""


@dataclass(frozen=True)
class _DepthFigures:
    """All operations of a workload at one depth."""

    depth: int
    iops: float
    mbps: float
    mean_us: float | None
    limit: Limit | None


def build(comparison: Comparison) -> Section | None:
    """Returns the section, None for runs of other methods."""
    columns = [column for column in comparison.columns if column.run.asks_for("cluster", METHOD)]
    if not columns:
        return None
    out = gate(comparison)
    blocks: list[Block] = [*_maxima(columns, out), *_scaling(columns), *_per_tb(columns)]
    told = [*(_reached(column, out) for column in columns), _conclusion(columns, out)]
    return Section(
        "cluster",
        "The cluster as its clients ask for more",
        blocks,
        short="Cluster",
        answer=[text for text in told if text],
        key_figure=_key_figure(columns, out),
    )


def _key_figure(columns: Sequence[Column], out: Gate) -> KeyFigure | None:
    """Returns IOPS of random reads by depth with the published maximum, in all or per TB, and their latency."""
    series = {column.index: _series(column, KEY) for column in columns}
    columns = [column for column in columns if series[column.index]]
    if not columns:
        return None
    bars = _bars(columns, series, {column.index: 1.0 for column in columns}, out)
    sizes = {column.index: tb for column in columns if (tb := _capacities(column)[0])}
    per_tb = _by_depth(*_bars(columns, series, sizes, out)) if len(sizes) == len(columns) else None
    rates = Chart(
        "key-cluster",
        KEY_LABEL,
        sub="IOPS by depth per job; hollow: published",
        option=_by_depth(*bars),
        summary=f"IOPS of {KEY_LABEL} by depth; the table below has the figures.",
        height_px=60 + 5 * (12 + 15 * len(columns)),
        views={"per-tb": per_tb} if per_tb else {},
    )
    views = (("all", "In all"), ("per-tb", "Per raw TB")) if per_tb else ()
    caption = "All clients together. A hollow bar is the published maximum over depths."
    caption += WHISKERS * any(one.whiskers for one in bars[0])
    data = _depth_table(columns, series, out)
    figure = Figure([rates, _latency_chart(columns, series)], caption, data, legend_of(columns), views=views)
    sentence, *others = _compared(columns, sizes if per_tb else {}, out)
    return KeyFigure(sentence, figure, [text for text in (*others, _conclusion(columns, out)) if text])


def _latency_chart(columns: Sequence[Column], series: Mapping[int, Sequence[_DepthFigures]]) -> Chart:
    lines = [
        Line(
            column.short,
            slot(column.index),
            [[log2(at.depth), float(f"{at.mean_us / 1e3:.4g}")] for at in series[column.index] if at.mean_us],
            marks=True,
        )
        for column in columns
    ]
    ticks = [log2(depth) for depth in DEPTHS]
    across = Axis("depth per job", "depth", low=ticks[0], high=ticks[-1], ticks=ticks)
    return Chart(
        "key-cluster-latency",
        KEY_LABEL,
        sub="mean latency, ms",
        option=line_chart(across, Axis("", "count", low=0), lines),
        summary=f"Mean latency of {KEY_LABEL} over depth; the table below has the figures.",
        height_px=280,
    )


def _compared(columns: Sequence[Column], sizes_tb: Mapping[int, float], out: Gate) -> list[str]:
    """Returns who gives the most, what the others give, and who gives the most per TB where all sizes are known.

    Only of what may be claimed.
    """
    claimed = [(column, _series(column, KEY, out)) for column in columns]
    tops = [(best.iops, column, _reached_at(own)) for column, own in claimed if (best := _best(own))]
    if not tops:
        return [f"{no_target(out.values()).capitalize()}, so no rate is claimed."]
    most, column, where = max(tops, key=lambda top: top[0])
    first = "the most, " if len(tops) > 1 else ""
    sentences = [
        f"{column.short} gives {first}{compact(most)} IOPS of {KEY_LABEL}, {where}.",
        *(
            f"{other.short} gives {compact(iops)} IOPS, {at}."
            for iops, other, at in tops
            if other is not column
        ),
    ]
    if sizes_tb and len(tops) > 1:
        per_tb = [(iops / sizes_tb[column.index], column) for iops, column, _ in tops]
        rate, densest = max(per_tb, key=lambda one: one[0])
        sentences.append(f"Per raw TB {densest.short} gives the most: {compact(rate)} IOPS.")
    return sentences


def _reached_at(series: Sequence[_DepthFigures]) -> str:
    """Returns the least depth of the maximum, and whether greater depths keep it."""
    first = next(place for place, at in enumerate(series) if at is _best(series))
    behind, most = series[first + 1 :], max(at.mbps for at in series)
    keeps = bool(behind) and all(at.mbps >= NEARLY * most for at in behind)
    return f"from depth {series[first].depth} on" if keeps else f"at depth {series[first].depth}"


def _by_depth(bars: Sequence[Bars], published: Sequence[Bars]) -> Option:
    """Returns the bars, grouped by depth and the maximum."""
    labels = [*(f"depth {depth}" for depth in DEPTHS), "maximum"]
    return bar_chart(Axis("", "count", low=0), labels, bars, published, width_px=11)


def _bars(
    columns: Sequence[Column],
    series: Mapping[int, Sequence[_DepthFigures]],
    divisors: Mapping[int, float],
    out: Gate,
) -> tuple[list[Bars], list[Bars]]:
    """Returns IOPS by depth and the maximum, and those published, each divided by the system's entry in `divisors`."""
    bars: list[Bars] = []
    published: list[Bars] = []
    for column in columns:
        own = divisors[column.index]
        rate_at = {at.depth: at.iops / own for at in series[column.index]}
        depths = [*DEPTHS, max(rate_at, key=lambda depth: rate_at[depth])]
        rates = [rate_at.get(depth) for depth in depths]
        ranges = [
            bar_range(_key_spread(column, depth, out), rate)
            for depth, rate in zip(depths, rates, strict=True)
        ]
        row = find(column.target.catalog, SMALL[KEY][1], "iops")
        values = [None if rate is None else rounded(rate) for rate in rates]
        bars.append(Bars(column.short, slot(column.index), values, ranges))
        stated = rounded(row.iops / own) if row and row.iops else None
        published.append(Bars(column.short, slot(column.index), [*[None] * len(DEPTHS), stated]))
    return bars, published


def _key_spread(column: Column, depth: int, out: Gate) -> Spread | None:
    """Returns the spread of a settled twin's rate of the key figure at a depth."""
    return settled_spread(column, f"{KEY}-q{depth}", KEY_BYTES, out)


def _depth_table(
    columns: Sequence[Column], series: Mapping[int, Sequence[_DepthFigures]], out: Gate
) -> Table:
    groups = [
        Group(
            column.label,
            [
                Row(
                    Item(str(at.depth)),
                    [
                        Item(grouped(at.iops), range_text(_key_spread(column, at.depth, out), at.iops)),
                        Item("–" if at.mean_us is None else f"{at.mean_us / 1e3:.2f}"),
                    ],
                )
                for at in series[column.index]
            ],
        )
        for column in columns
    ]
    any_range = any(_key_spread(column, at.depth, out) for column in columns for at in series[column.index])
    head = [Item("Rate", "IOPS"), Item("Mean latency", "ms")]
    return Table("Depth per job", head, groups, ranges_note(any_range=any_range))


def _series(column: Column, workload: str, out: Gate | None = None) -> list[_DepthFigures]:
    """Returns the figures of a workload by depth, without those of the steps in `out`."""
    found = []
    for depth in DEPTHS:
        step = f"{workload}-q{depth}"
        if (column.short, step) in (out or {}):
            continue
        points = [p for p in column.run.points if p.target == column.target.name and p.step == step]
        if not points:
            continue
        found.append(
            _DepthFigures(
                depth,
                sum(point.iops or 0 for point in points),
                sum(point.mbps or 0 for point in points),
                mean_by_count((point.n, point.mean_us) for point in points),
                points[0].limit,
            )
        )
    return found


def _best(series: Sequence[_DepthFigures]) -> _DepthFigures | None:
    """Returns the maximum over depths; the least depth that comes within 1 % of it."""
    if not series:
        return None
    most = max(at.mbps for at in series)
    return next(at for at in series if at.mbps >= NEARLY * most)


def _maxima(columns: Sequence[Column], out: Gate) -> list[Block]:
    groups = []
    pairs: list[Pair] = []
    for title, workloads, figure in KINDS:
        rows = []
        for workload, (label, published) in workloads.items():
            cells = []
            for column in columns:
                best = _best(_series(column, workload))
                if best is None:
                    cells += [Item("–", tone="quiet"), Item("")]
                    continue
                row = find(column.target.catalog, published, figure)
                value = best.iops if figure == "iops" else best.mbps
                pairs.append((value, row, figure))
                cells.append(beside(value, row, figure))
                limit = plain(best.limit.words) if best.limit else "–"
                cells.append(Item(f"depth {best.depth}", limit, tone="quiet"))
            rows.append(Row(Item(label), cells))
        groups.append(Group(title, rows))
    head = [
        item
        for column in columns
        for item in (Item(plain(column.short), "maximum over depths"), Item("Reached at", "limited by"))
    ]
    table = Table(
        "Workload",
        head,
        groups,
        [
            "Totals of all clients. Depth is that of each job of a client: the least within 1 % of the maximum. "
            "Below each figure: the published one and the difference; fitted: the model may be fitted to it. "
            "MB/s are 10⁶ B/s.",
        ],
    )
    limited = _conclusion(columns, out)
    return [
        *([Prose([limited])] if limited else []),
        table,
        Points([*agreement(pairs), *reasons((column.target.catalog for column in columns), LABELS)]),
    ]


def _reached(column: Column, out: Gate) -> str:
    """Returns the clients' highest rates that are claimed, with small and large blocks, and their depths."""
    parts = []
    for workload, (label, _) in (SMALL | LARGE).items():
        best = _best(_series(column, workload, out)) if workload in HEADLINES else None
        if best:
            rate = f"{best.iops:,.0f} IOPS" if workload in SMALL else f"{best.mbps / 1e3:.1f} GB/s"
            parts.append(f"{rate} of {label} at depth {best.depth}")
    return f"{plain(column.label)} gives {joined(parts)}." if parts else ""


def _conclusion(columns: Sequence[Column], out: Gate) -> str:
    """Returns what limits the maxima that are claimed; empty without any."""
    bests = [_best(_series(column, workload, out)) for column in columns for workload in SMALL | LARGE]
    limits = Counter(plain(best.limit.name) for best in bests if best and best.limit)
    if limits.total() == 1:
        return f"Its maximum is limited by {next(iter(limits))}."
    if len(limits) == 1:
        return f"All {limits.total()} maxima are limited by {next(iter(limits))}."
    parts = [f"{name} ({times})" for name, times in limits.most_common()]
    return f"The {limits.total()} maxima are limited by {joined(parts)}." if parts else ""


def _scaling(columns: Sequence[Column]) -> list[Block]:
    tables: list[Block] = []
    for column in columns:
        groups = []
        for title, workloads in (
            ("Small blocks: IOPS, mean latency in ms", SMALL),
            ("Large blocks: MB/s, mean latency in ms", LARGE),
        ):
            rows = []
            for workload, (label, _) in workloads.items():
                by_depth = {at.depth: at for at in _series(column, workload)}
                cells = [_at(by_depth.get(depth), small=workloads is SMALL) for depth in DEPTHS]
                rows.append(Row(Item(label), cells))
            groups.append(Group(title, rows))
        head = [Item(f"Depth {depth}", "per job") for depth in DEPTHS]
        tables.append(Table(plain(column.label), head, groups))
    return tables


def _at(at: _DepthFigures | None, *, small: bool) -> Item:
    if at is None:
        return Item("–", tone="quiet", title="the method does not ask for it")
    latency = "" if at.mean_us is None else f"{at.mean_us / 1e3:.2f} ms"
    return Item(grouped(at.iops if small else at.mbps), latency)


def _per_tb(columns: Sequence[Column]) -> list[Block]:
    rows = []
    for column in columns:
        raw, usable = _capacities(column)
        reads, large = (_best(_series(column, name)) for name in ("4k-rand-read", "1m-seq-read"))
        if raw is None or reads is None or large is None:
            continue
        published = find(column.target.catalog, "fio-4k-rand-read", "iops")
        expected = f"{published.iops / raw:,.0f} published" if published and published.iops else ""
        rows.append(
            Row(
                Item(plain(column.label)),
                [
                    Item(f"{raw:,.0f}"),
                    Item(f"{usable:,.0f}"),
                    Item(f"{reads.iops / raw:,.0f}", expected, tone="strong"),
                    Item(f"{reads.iops / usable:,.0f}"),
                    Item(f"{large.mbps / 1e3 / raw:.2f}", tone="strong"),
                    Item(f"{large.mbps / 1e3 / usable:.2f}"),
                ],
            )
        )
    if not rows:
        return []
    head = [
        Item("Raw", "TB"),
        Item("Usable", "TB"),
        Item("Reads per raw TB", "IOPS"),
        Item("per usable TB", "IOPS"),
        Item("1 MiB reads per raw TB", "GB/s"),
        Item("per usable TB", "GB/s"),
    ]
    hint = "Costs, watts and a recommendation for given needs: `fathom choose NEEDS.toml SYSTEM...`."
    return [Table("Per capacity", head, [Group("", rows)], [hint])]


def _capacities(column: Column) -> tuple[float | None, float]:
    """Returns raw and usable TB, the raw one from the drives that the catalogue names."""
    from fathom.catalog import CatalogError, load_device

    usable = column.target.known_bytes / TB
    try:
        twin = load_device(column.target.catalog or "").twin
        members = twin.members if twin else {}
        raw = sum(count * load_device(name).capacity_bytes for name, count in members.items()) / TB
    except CatalogError:
        return None, usable
    return (raw or None), usable
