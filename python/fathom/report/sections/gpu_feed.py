"""GPU feed: the rate that large reads sustain, against the link of one GPU, and the number of drives that fill it. If
the machine has a GPU, reads end in its memory, and the run measures copies to it alone. Else, and on twins, reads end
in host memory; the GPU's link counts with its stated rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from fathom.analysis.finding import joined
from fathom.analysis.settled import Unsettled, no_target, tags, verbs
from fathom.catalog.pcie import link_of
from fathom.output.text import agreeing, percent, signed_pct
from fathom.prediction.interval import COVERAGE
from fathom.report.axes import Axis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Section, Table
from fathom.report.charts import Bars, Limit, Line, bar_chart, scatter_chart
from fathom.report.comparison import Cell, Column, Comparison
from fathom.report.findings import Gate, gate
from fathom.report.legend import legend_of, window_of
from fathom.report.style import grouped, plain, slot
from fathom.runs.gpu import Gpu
from fathom.sizing.drive import Drive, Noun
from fathom.sizing.drive import Figure as Rated
from fathom.sizing.measured import noun_of
from fathom.sizing.needs import parse_need
from fathom.sizing.size import size

ORDER = 24
METHOD = "gpu-feed"
WORKLOADS = {"1m-seq-read": "1 MiB sequential", "1m-brick-read": "1 MiB bricks in any order"}
FEEDS = (("One H100 at its link's rate", 64.0), ("One H100 training U-Net3D", 3.18))
"""GB/s: the SN861 review's figure for one H100; MLPerf Storage, per H100."""
DERATES = (1.0, 0.9)
GPU_LINK = "5x16"
LARGE_LEVEL = 0.02
FULL = 0.85
"""Share of the copy rate from which copies to the GPU, and not the target, may limit: as for a client's processors."""
EXPECTED = f"Expected: the drives that it takes at both ends of the range with {100 * COVERAGE:.0f} % of measurements."
MOST_COUNTS = 128
"""Most numbers of drives that are drawn; of slow drives, only some are."""
NONE = Item("–", tone="quiet", title="not measured")


@dataclass(frozen=True)
class Feed:
    """The rates that one target sustains, by workload."""

    column: Column
    cells: dict[str, Cell]
    gpu: Gpu | None
    copies: str = ""
    """Copies to the GPU in the words of an earlier version."""
    unsettled: Sequence[Unsettled] = ()
    """Why no rate is claimed; empty if one may be."""

    @property
    def noun(self) -> Noun:
        """What sustains the rates."""
        return noun_of(self.column.run.document.targets, self.column.target)

    @property
    def least_gbps(self) -> float:
        """GB/s of the slower workload."""
        return min(cell.point.mbps or 0.0 for cell in self.cells.values()) / 1e3


def build(comparison: Comparison) -> Section | None:
    """Returns the section, None for runs of other methods."""
    out = gate(comparison)
    feeds = [feed for column in comparison.columns if (feed := _feed(comparison, column, out))]
    if not feeds:
        return None
    landed = [_landed(feed, feed.gpu) for feed in feeds if feed.gpu]
    told = [*(_sentence(feed) for feed in feeds), *landed, *_bricks(feeds)]
    key = _key_figure(feeds, _figure(comparison, feeds))
    return Section(
        "gpu-feed", "Feeding a GPU", [_table(feeds)], short="GPU feed", answer=told, key_figure=key
    )


def _many(feeds: Sequence[Feed]) -> str:
    """Returns the heading of their numbers: drives, arrays or systems; targets where they are of several kinds."""
    nouns = {feed.noun for feed in feeds}
    return f"{nouns.pop() if len(nouns) == 1 else 'target'}s".capitalize()


def _key_figure(feeds: Sequence[Feed], together: Figure) -> KeyFigure:
    """Returns the number of drives that fill one GPU, with the rate of several drives against its link."""
    _, gbps = FEEDS[0]
    counts = [_drives(feed, gbps, 1.0) for feed in feeds]
    names = [feed.column.short for feed in feeds]
    bars = [
        Bars(
            feed.column.short,
            slot(feed.column.index),
            [float(count) if other is feed else None for other in feeds],
        )
        for feed, count in zip(feeds, counts, strict=True)
    ]
    needed = Chart(
        "gpu-drives",
        f"{_many(feeds)} needed",
        sub=f"for {gbps:g} GB/s, the published rate of one H100",
        option=bar_chart(Axis("", "count", low=0), names, bars, stacked=True, width_px=18),
        summary=f"{_many(feeds)} needed for one GPU; the table below has the figures.",
        height_px=60 + 44 * len(feeds),
    )
    figure = replace(together, charts=[needed, *together.charts], columns=2)
    settled = [place for place in range(len(feeds)) if not feeds[place].unsettled]
    if not settled:
        subject = no_target([why for feed in feeds for why in feed.unsettled]).capitalize()
        return KeyFigure(f"{subject}, so no number of drives is claimed.", figure)
    best = min(settled, key=lambda place: counts[place])
    count, each_gbps = str(counts[best]), feeds[best].least_gbps
    of = f"of {names[best]}"
    noun = feeds[best].noun
    filled = agreeing(count, f"{noun} {of} fills", f"{noun}s {of} fill")
    sentence = f"{filled} one H100: each sustains {_rounded(each_gbps)} GB/s."
    reasons = [
        f"{names[place]} needs {counts[place]}, at {_rounded(feeds[place].least_gbps)} GB/s each."
        for place in settled
        if place != best
    ]
    reasons += [
        f"Over the range of measurements, {names[place]} needs {expected}."
        for place in settled
        if (expected := _expected(feeds[place], gbps))
    ]
    label, raw = link_of(GPU_LINK)
    if gbps * 1e9 > raw:
        reasons.append(f"The GPU's own link, {label}, carries less: {raw / 1e9:.1f} GB/s raw.")
    return KeyFigure(sentence, figure, [*reasons, *_bricks(feeds)])


def _feed(comparison: Comparison, column: Column, out: Gate) -> Feed | None:
    if not column.run.asks_for("gpu-feed", METHOD):
        return None
    found = {
        cell.point.workload: cell
        for corner in comparison.corners
        if (cell := corner.cell(column)) and cell.point.workload in WORKLOADS and cell.point.mbps
    }
    why = {out.get((column.short, cell.step.name)) for cell in found.values()}
    gpu = column.run.run.gpus.get(column.target.name)
    copies = "" if gpu else _copies_in_words(column)
    return Feed(column, found, gpu, copies, [one for one in Unsettled if one in why]) if found else None


def _copies_in_words(column: Column) -> str:
    """Returns the words of earlier versions on copies to the GPU; empty without any."""
    said = column.run.run.setups.get(column.target.name, {})
    return plain(next(iter(said.get("copies to the GPU alone", {})), ""))


def _rounded(gbps: float, decimals: int = 2) -> str:
    """Returns a rate with that many decimals; one below 0.1 GB/s with three digits, so that none reads as nothing."""
    return f"{gbps:.{decimals}f}" if gbps >= 0.1 else f"{gbps:.3g}"


def _gbps(gpu: Gpu) -> float:
    return gpu.copy_bytes_per_s / 1e9


def _expected(feed: Feed, gbps: float) -> str:
    """Returns the drives that a rate takes at both ends of the range of a twin's rate; empty without a range."""
    slower = min(feed.cells.values(), key=lambda cell: cell.point.mbps or 0.0)
    if feed.unsettled or slower.spread is None:
        return ""
    low, high = slower.spread.around(feed.least_gbps)
    least, most = (_drives(feed, gbps, 1.0, each) for each in (high, low))
    return f"{least} to {most}" if least < most else f"{most}"


def _drives(feed: Feed, gbps: float, derate: float, each_gbps: float | None = None) -> int:
    """Returns the number of drives for a rate, by the same rule as `fathom size`."""
    figure = Rated((each_gbps or feed.least_gbps) * 1e9, "measured", feed.column.run.document.id)
    drive = Drive(feed.column.short, feed.column.label, {("bandwidth", "read"): figure})
    return size(drive, [parse_need(f"{gbps:g} GB/s read")], derate, GPU_LINK).drives or 0


def _sentence(feed: Feed) -> str:
    if feed.unsettled:
        why = joined([one.value for one in feed.unsettled])
        return (
            f"{feed.column.label} did {_rounded(feed.least_gbps)} GB/s, and {verbs(feed.unsettled)} ({why}), so no "
            "number of drives is claimed."
        )
    _, gbps = FEEDS[0]
    label, raw = link_of(GPU_LINK)
    exact, derated = (_drives(feed, gbps, derate) for derate in DERATES)
    counts = agreeing(str(exact), feed.noun, f"{feed.noun}s") + (
        f", {derated} at {DERATES[1]:g} of it," if derated != exact else ""
    )
    carries = f"{raw / 1e9:.1f} GB/s raw"
    link = (
        f"more than its {label} carries ({carries})"
        if gbps * 1e9 > raw
        else f"of the {carries} that its {label} carries"
    )
    expected = _expected(feed, gbps)
    need = f" {100 * COVERAGE:.0f} % of measurements need {expected}." if expected else ""
    return (
        f"{feed.column.label} sustains {_rounded(feed.least_gbps)} GB/s: {counts} reach the {gbps:g} GB/s published "
        f"for one H100, {link}.{need}"
    )


def _landed(feed: Feed, gpu: Gpu) -> str:
    """Returns the measured rate of copies to the run's GPU."""
    taken = max(cell.point.mbps or 0.0 for cell in feed.cells.values()) / 1e3 / _gbps(gpu)
    if feed.unsettled:
        rest = "and no number of drives that fill it is claimed."
    elif taken >= FULL:
        rest = f"and these take {percent(taken)} of it: the way to the GPU limits, not the target."
    else:
        count = grouped(_drives(feed, _gbps(gpu), 1.0)).removesuffix(".00")
        rest = f"which {count} such {feed.noun}s fill."
    return (
        f"Reads of {feed.column.label} ended in the memory of a GPU ({plain(gpu.label)}); copies to it alone reach "
        f"{_gbps(gpu):.1f} GB/s, {rest}"
    )


def _bricks(feeds: Sequence[Feed]) -> list[str]:
    """Returns what reading bricks in any order costs; nothing without a target that did both and may be claimed."""
    parts, both = [], 0
    for feed in feeds:
        if feed.unsettled:
            continue
        rates = [feed.cells[name].point.mbps or 0.0 for name in WORKLOADS if name in feed.cells]
        both += len(rates) == len(WORKLOADS)
        if len(rates) == len(WORKLOADS) and abs(rates[1] / rates[0] - 1) > LARGE_LEVEL:
            parts.append(
                f"{feed.column.label} reads bricks in any order {signed_pct(100 * (rates[1] / rates[0] - 1))}"
            )
    if parts:
        return [f"Against reading in sequence: {', '.join(parts)}."]
    near = percent(LARGE_LEVEL)
    text = (
        f"Bricks read in any order come within {near} of reading in sequence: at 1 MiB, order costs nothing."
    )
    return [text] if both else []


def _table(feeds: Sequence[Feed]) -> Table:
    sustained = [
        Row(Item(label, "GB/s"), [_rate(feed.cells.get(name)) for feed in feeds])
        for name, label in WORKLOADS.items()
    ]
    sustained.append(Row(Item("reads end in"), [_end(feed) for feed in feeds]))
    counts = [
        Row(
            Item(name, f"{gbps:g} GB/s" + (f", derate {derate:g}" if derate < 1 else "")),
            [_count(feed, gbps, derate) for feed in feeds],
        )
        for name, gbps in FEEDS
        for derate in DERATES
    ]
    notes = [
        f"{_many(feeds)} = the rate / what one of them sustains in the slower of the two workloads / the derate, "
        "rounded up. Where one feeds several GPUs, their number stands beneath.",
        *([EXPECTED] if any(_expected(feed, gbps) for feed in feeds for _, gbps in FEEDS) else []),
        "64 GB/s per H100, ten drives of 6.8 GB/s or five of 13.7: the SN861 review. 3.18 GB/s: MLPerf Storage.",
        "`fathom size` answers other needs from the same run.",
    ]
    heads = [Item(feed.column.label, slot=slot(feed.column.index)) for feed in feeds]
    return Table("", heads, [Group("Sustained", sustained), Group(f"{_many(feeds)} needed", counts)], notes)


def _end(feed: Feed) -> Item:
    if feed.gpu is None and not feed.copies:
        return Item("host memory", "the way to a GPU is not measured")
    copies = f"{_gbps(feed.gpu):.1f} GB/s" if feed.gpu else feed.copies
    return Item("GPU memory", f"copies alone {copies}")


def _rate(cell: Cell | None) -> Item:
    if cell is None or cell.point.mbps is None:
        return NONE
    bounds = cell.interval
    sub = " to ".join(_rounded(bound / 1e3) for bound in bounds) if bounds else "no interval"
    return Item(_rounded(cell.point.mbps / 1e3), sub, tone="strong")


def _count(feed: Feed, gbps: float, derate: float) -> Item:
    fed = int(feed.least_gbps * derate / gbps)
    expected = _expected(feed, gbps) if derate == 1.0 else ""
    beneath = f"one feeds {fed}" if fed > 1 else f"{expected} expected" if expected else ""
    count = grouped(_drives(feed, gbps, derate)).removesuffix(".00")
    return Item(count, tags(feed.unsettled) or beneath, tone="quiet" if feed.unsettled else "")


def _figure(comparison: Comparison, feeds: Sequence[Feed]) -> Figure:
    """Returns the rate of several drives by their number, against the GPU's link."""
    label, raw = link_of(GPU_LINK)
    first = feeds[0].gpu
    if first and all(feed.gpu == first for feed in feeds):
        limit = Limit(_gbps(first), "copies to the GPU alone, measured")
    else:
        limit = Limit(raw / 1e9, f"{label}, raw")
    most = max(ceil(1.2 * raw / 1e9 / feed.least_gbps) for feed in feeds)
    counts = range(1, most + 1, -(-most // MOST_COUNTS))
    lines = [
        Line(
            feed.column.short,
            slot(feed.column.index),
            [
                [float(count), round(count * feed.least_gbps, 2)]
                for count in counts
                if (count - counts.step) * feed.least_gbps <= raw / 1e9
            ],
            marks=True,
        )
        for feed in feeds
    ]
    many = _many(feeds)
    axis = Axis(many.lower(), "count", low=0, step=max(1, most // 10))
    option = scatter_chart(axis, Axis("", "count", low=0), lines, (), limit)
    chart = Chart(
        "gpu-feed",
        f"{many} together",
        sub="GB/s",
        option=option,
        summary=f"GB/s over {many.lower()}; the table below has the figures.",
        height_px=260,
    )
    rows = [
        Row(Item(str(count)), [Item(_rounded(count * feed.least_gbps, 1)) for feed in feeds])
        for count in counts
    ]
    data = Table(many, [Item(feed.column.label, "GB/s") for feed in feeds], [Group("", rows)])
    cells = [cell for feed in feeds for cell in feed.cells.values()]
    caption = (
        f"What {many.lower()} sustain if nothing between them and the GPU is slower: the slower workload of one "
        f"times their number; {window_of(cells)}."
    )
    return Figure([chart], caption, data, legend_of(comparison.columns), columns=1)
