"""Data placement: the same streams with one placement handle and with a handle per stream, WAF over time and by stream.

Shown where measured steps issue several streams at once, none of them at a rate offered to it. Steps whose jobs differ
in nothing but placement handles are one load; a target without handles has its first half alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from fathom._core import WRITES, Job
from fathom.analysis.finding import joined
from fathom.analysis.settled import Unsettled, no_target
from fathom.columns.schema import Point, Stream
from fathom.output.text import span
from fathom.report.axes import Axis, time_axis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Section, Table
from fathom.report.charts import Bars, Line, bar_chart, line_chart
from fathom.report.comparison import Column, Comparison, margin_of
from fathom.report.findings import Gate, claims_waf, gate
from fathom.report.latencies import FEW, percentile, with_interval
from fathom.report.sections.amplification import DAY_S, endurance
from fathom.report.style import compact, grouped, plain, seconds
from fathom.report.waf import NOTE, waf_item, waf_text
from fathom.statistics.uncertainty import Bounds, compare_intervals

ORDER = 36
NONE = Item("–", tone="quiet")
RESTART = (
    " A measured step begins its logs at the start of their regions, wherever settling left them. The interval of one "
    "run leaves that out: the WAF of a flash cache with one handle differed by up to 9 % between three seeds of a "
    "twin. `continues = true` goes on where settling ended."
)
"""SN861 and PM9A3, three seeds each: `docs/explanation/ssd-twin-placement.md`."""
EQUAL_TURNS = (
    " A log of one block size has turns of equal length. On a twin, WAF with one handle then depends on where a turn "
    "ends within an erase unit: by up to 14 % of its mean on four drives, and alike in every run. A log of several "
    "block sizes averages over that."
)
"""Logs of 128 KiB beside random writes: `docs/explanation/ssd-twin-placement.md`."""
LEVEL_SHARE = 0.98
"""A sentence names a change of a WAF below this share of the other."""
PUBLISHED = (
    "Published results for such loads. A flash cache on a 1.88 TB FDP drive, with small objects in 4 % of it: "
    "3.22 with one handle and 1.03 with separate handles, when the whole drive is used. At half: 1.22 and 1.03 "
    "(CacheLib's key-value traces, EuroSys 2025). Four sequential namespaces: about 1.6 mixed and 1.02 apart "
    "(Micron). Other drives and mixes differ: read these as orders of magnitude, not targets."
)


@dataclass(frozen=True)
class Variant:
    """A measured step of streams: its rows, and WAF over time, from the settling before it."""

    step: str
    label: str
    placed: bool
    points: Sequence[Point]
    streams: Sequence[Stream]
    line: Sequence[tuple[float, float]]
    doubts: Sequence[str]
    """Sentences on what its interval leaves out."""

    @property
    def over(self) -> Bounds | None:
        """WAF's 95 % interval over its window or repeats."""
        return self.counted.interval("waf") if self.counted else None

    @property
    def handles(self) -> str:
        """The number of placement handles that its streams use, in words."""
        return "a handle per stream" if self.placed else "one handle"

    @property
    def counted(self) -> Point | None:
        """The operation whose row has the WAF of the whole step."""
        return counted_in(self.points)

    @property
    def waf(self) -> float | None:
        """Media bytes / host bytes over the measured window."""
        return self.counted.waf if self.counted else None

    @property
    def written_bps(self) -> float:
        """Bytes per second that the host wrote."""
        return sum((point.mbps or 0.0) * 1e6 for point in self.points if point.op in WRITES)


def counted_in(points: Sequence[Point]) -> Point | None:
    """Returns the operation whose row has the WAF of the whole step."""
    return next((point for point in points if point.waf is not None), None)


def build(comparison: Comparison) -> Section | None:
    """Returns each load's results, its WAF over time, and the table of the streams."""
    found = [(column, load) for column in comparison.columns if column.run.streams for load in _loads(column)]
    if not found:
        return None
    charts = [chart for column, load in found if (chart := _chart(column, load))]
    caption = (
        "Bytes written to the media per byte written by the host, from the first second of settling to the end "
        "of the measured window. The tables of loads and streams cover that window alone."
    )
    caption += "".join(
        dict.fromkeys(doubt for _, load in found for one in load if not one.placed for doubt in one.doubts)
    )
    drawn = {
        variant.handles: variant.placed + 0 for _, load in found for variant in load if len(variant.line) > 1
    }
    legend = [Item(name, slot=place) for name, place in drawn.items()]
    figures = [Figure(charts, caption, _lines(found), legend, columns=2)] if charts else []
    blocks = [_totals(found), *figures, _by_stream(found)]
    out = gate(comparison)
    claimed = [(column, kept) for column, load in found if (kept := _claimed(column, load, out))]
    told = [text for column, load in claimed if (text := _sentence(column, load))]
    steps = [(column.short, one.step) for column, load in found for one in load]
    key = _key_figure(found, claimed, [out[step] for step in steps if step in out])
    return Section("placement", "Data placement", blocks, short="Placement", answer=told, key_figure=key)


def _claimed(column: Column, load: Sequence[Variant], out: Gate) -> list[Variant]:
    """Returns the variants whose write amplification may be claimed."""
    return [one for one in load if claims_waf(out, column, one.step)]


def _named(column: Column, load: Sequence[Variant]) -> str:
    return f"{column.short}: {load[0].label.partition(',')[0]}"


def _key_figure(
    found: Sequence[tuple[Column, list[Variant]]],
    claimed: Sequence[tuple[Column, list[Variant]]],
    why: Sequence[Unsettled],
) -> KeyFigure | None:
    """Returns pairs of bars: the WAF of each load with one handle and with a handle per stream.

    Its sentences are about what is `claimed` alone; `why` rules out the others.
    """
    known = [(column, load) for column, load in found if any(variant.waf for variant in load)]
    if not known:
        return None
    labels = [_named(column, load) for column, load in known]
    kinds = dict.fromkeys((variant.placed, variant.handles) for _, load in known for variant in load)
    bars = [
        Bars(
            handles,
            placed + 0,
            [next((one.waf for one in load if one.placed is placed), None) for _, load in known],
        )
        for placed, handles in sorted(kinds)
    ]
    figure = _figure(labels, bars)
    told = [text for one in claimed if (text := change_in_words(_named(*one), one[1]))]
    if not told:
        return KeyFigure(f"{no_target(why).capitalize()}, so no write amplification is claimed.", figure)
    return KeyFigure(told[0], figure, told[1:])


def _figure(labels: Sequence[str], bars: Sequence[Bars]) -> Figure:
    drawn = [Bars(one.name, one.slot, [_short(waf) for waf in one.values]) for one in bars]
    option = bar_chart(Axis("", "count", low=0), labels, drawn, width_px=16)
    chart = Chart(
        "key-waf",
        "Write amplification",
        sub="bytes written to the media per byte of the host",
        option=option,
        summary="WAF of each load with one handle and with one per stream; the table below has the figures.",
        height_px=50 + len(labels) * 62,
    )
    data = Table(
        "Load",
        [Item(one.name, "WAF") for one in bars],
        [
            Group(
                "",
                [
                    Row(Item(label), [_waf_cell(one.values[place]) for one in bars])
                    for place, label in enumerate(labels)
                ],
            )
        ],
    )
    legend = [Item(one.name, slot=one.slot) for one in bars]
    caption = "Shorter is better: at one, the media write what the host writes and no more."
    return Figure([chart], caption, data, legend, columns=1)


def change_in_words(label: str, load: Sequence[Variant]) -> str:
    """Returns the change in WAF by handles; the WAF itself without both kinds.

    A change is one that the ratio's interval shows, or without an interval one beyond `LEVEL_SHARE`.
    """
    whole = next((one for one in load if not one.placed and one.waf), None)
    parted = next((one for one in load if one.placed and one.waf), None)
    shared, apart = (one.waf if one else None for one in (whole, parted))
    if whole and parted and shared and apart:
        ratio = compare_intervals(whole.over, parted.over) if whole.over and parted.over else None
        is_shown = ratio is None or ratio.verdict != "level"
        if is_shown and not LEVEL_SHARE <= apart / shared <= 1 / LEVEL_SHARE:
            verb = "cuts" if apart < shared else "raises"
            return f"A handle per stream {verb} the WAF of {label} from {shared:.2f} to {apart:.2f}."
        return f"A handle per stream leaves the WAF of {label} at {apart:.2f}."
    known = shared or apart
    return (
        f"{label.replace(': ', ', ', 1)}: {known:.2f} bytes go to the media per byte that the host writes."
        if known
        else ""
    )


def _short(waf: float | None) -> float | None:
    return None if waf is None else float(f"{waf:.4g}")


def _waf_cell(waf: float | None) -> Item:
    return NONE if waf is None else Item(f"{waf:.2f}")


def _sentence(column: Column, load: Sequence[Variant]) -> str:
    """Returns WAF with one handle and with several. A job without handles, and without a counterpart, may still use
    several: one per namespace.
    """
    known = [variant for variant in load if variant.waf]
    told = len(known) > 1 or any(variant.placed for variant in known)
    parts = [
        waf_text(variant.waf or 0.0, variant.over) + (f" with {variant.handles}" if told else "")
        for variant in known
    ]
    return f"{column.label}, {load[0].label.partition(',')[0]}: WAF {joined(parts)}." if parts else ""


def _loads(column: Column) -> Iterator[list[Variant]]:
    """Yields the column's variants by workload, those with one handle first."""
    run, target = column.run, column.target.name
    loads: dict[tuple[tuple[str, Job], ...], list[Variant]] = {}
    for name, step in run.steps.items():
        streams = [row for row in run.streams if row.target == target and row.step == name]
        if not streams or _is_offered(run.raw_steps.get(name)):
            continue
        handles = {row.placement for row in streams if row.op in WRITES}
        points = [point for point in run.points if point.target == target and point.step == name]
        variant = Variant(
            name,
            plain(step.label),
            len(handles) > 1,
            points,
            streams,
            _waf_over_time(column, name),
            _doubts(column, name),
        )
        loads.setdefault(_without_placement(run.jobs.get(name)), []).append(variant)
    for load in loads.values():
        yield sorted(load, key=lambda variant: variant.placed)


def _is_offered(step: JsonValue) -> bool:
    """Returns whether one of its streams runs at an offered share: another section shows its effect on the others."""
    return isinstance(step, dict) and bool(step.get("offered"))


def _continues(step: JsonValue) -> bool:
    """Returns whether it goes on where the step before it ended."""
    return isinstance(step, dict) and bool(step.get("continues"))


def _without_placement(job: Job | None) -> tuple[tuple[str, Job], ...]:
    """Returns the streams of a job without their handles."""
    return tuple(job.without_placement().streams.items()) if job else ()


def _doubts(column: Column, step: str) -> list[str]:
    """Returns what the interval of a step leaves out if its streams have one handle."""
    job = column.run.jobs.get(step)
    writers = [stream for stream in job.streams.values() if stream.writes] if job else []
    logs = [stream for stream in writers if stream.pattern.kind == "sequential"]
    doubts = []
    if 0 < len(logs) < len(writers) and not _continues(column.run.raw_steps.get(step)):
        doubts.append(RESTART)
    if logs and len(writers) > 1 and column.is_twin and all(_has_one_block_size(log) for log in logs):
        doubts.append(EQUAL_TURNS)
    return doubts


def _has_one_block_size(job: Job) -> bool:
    return all(len(sizes) == 1 for sizes in job.block_sizes.values())


def _waf_over_time(column: Column, step: str) -> list[tuple[float, float]]:
    """Returns (seconds from the start of settling, WAF) of every interval of the load, settling first."""
    run = column.run
    workload = run.steps[step].workload
    written = run.written(column.target.name, ("precondition", "measure"))
    out: list[tuple[float, float]] = []
    begin_s = 0.0
    for name, samples in written.items():
        if name not in run.steps or run.steps[name].workload != workload:
            continue
        out += [(begin_s + start_s, float(f"{media / host:.4g}")) for start_s, host, media in samples]
        begin_s = out[-1][0] if out else 0.0
    return out


def _chart(column: Column, load: Sequence[Variant]) -> Chart | None:
    lines = [
        Line(
            variant.handles,
            variant.placed + 0,
            variant.line,
        )
        for variant in load
        if len(variant.line) > 1
    ]
    if not lines:
        return None
    end_s = max(variant.line[-1][0] for variant in load if variant.line)
    title = f"{column.label}: {load[0].label.partition(',')[0]}"
    summary = f"WAF over time of {title}: {', '.join(line.name for line in lines)}; the table below has the figures."
    option = line_chart(time_axis(end_s), Axis("", "count", low=0), lines)
    key = f"placement-{column.index}-{load[0].step}"
    return Chart(key, title, sub="WAF", option=option, summary=summary, height_px=180)


def _lines(found: Sequence[tuple[Column, list[Variant]]]) -> Table:
    """Returns a row per line drawn: its length, and WAF at its ends and between them."""
    heads = [Item(text) for text in ("Length", "First", "Least", "Greatest", "Last")]
    groups: dict[str, list[Row]] = {}
    for column, load in found:
        for variant in load:
            if len(variant.line) < 2:
                continue
            wafs = [waf for _, waf in variant.line]
            figures = [Item(grouped(waf)) for waf in (wafs[0], min(wafs), max(wafs), wafs[-1])]
            row = Row(Item(variant.label), [Item(seconds(variant.line[-1][0])), *figures])
            groups.setdefault(column.label, []).append(row)
    return Table("WAF over time", heads, [Group(label, rows) for label, rows in groups.items()])


def _totals(found: Sequence[tuple[Column, list[Variant]]]) -> Table:
    heads = [
        Item("WAF"),
        Item("Saved", "WAF with one handle / per stream"),
        Item("Host writes", "MB/s"),
        Item("Write", "IOPS"),
        Item("Write p99", "us"),
        Item("Read", "IOPS"),
        Item("Read p99", "us"),
        Item("Rated life", "years at that rate"),
        Item("Window"),
    ]
    groups: dict[str, list[Row]] = {}
    for column, load in found:
        rows = groups.setdefault(column.label, [])
        shared = next((variant for variant in load if not variant.placed and variant.waf), None)
        rows += [_total(column, variant, shared) for variant in load]
    notes = [
        f"{NOTE} The 95 % interval of the saving stands beneath it, where both WAFs have one. If it includes 1, "
        "the two are level. Settling ends when WAF drifts by less than 5 %.",
        "The 95 % intervals of IOPS and p99 stand beneath them. A p99 has none with too few seconds, seconds "
        "that drift, or too few independent I/Os.",
        "Rated life: the rated bytes written / the rate measured, whatever the WAF, because a rating holds for "
        "its own workload. At equal host writes, the media last longer by the saving.",
        PUBLISHED,
    ]
    return Table("Load", heads, [Group(label, rows) for label, rows in groups.items()], notes)


def _total(column: Column, variant: Variant, shared: Variant | None) -> Row:
    bps, rated_bytes = variant.written_bps, endurance(column)
    by_op = {point.op: point for point in variant.points}
    window_s = next((point.window_s for point in variant.points), None)
    cells = [
        (waf_item(variant.counted, strong=True) if variant.counted else None)
        or Item("–", tone="quiet", title="media writes are not counted"),
        saved(variant, shared) or NONE,
        Item(grouped(bps / 1e6)),
        *_rate_and_tail(by_op.get("write")),
        *_rate_and_tail(by_op.get("read")),
        Item(grouped(rated_bytes / bps / DAY_S / 365)) if rated_bytes and bps else NONE,
        Item(seconds(window_s or 0.0)),
    ]
    return Row(Item(variant.label), cells)


def saved(variant: Variant, shared: Variant | None) -> Item | None:
    """Returns the saving in media bytes with a handle per stream; None if either is unknown. It is better or worse only
    if the ratio's interval excludes 1, else level. Without an interval it has no verdict.
    """
    if not variant.placed or not variant.waf or shared is None or not shared.waf:
        return None
    text = f"{shared.waf / variant.waf:.2f}x"
    ratio = compare_intervals(shared.over, variant.over) if shared.over and variant.over else None
    if ratio is None:
        return Item(
            text,
            "no interval",
            title="one of the two WAFs has no interval: too few whole seconds, or they drift",
        )
    interval = span(ratio.low, ratio.high)
    match ratio.verdict:
        case "a":
            return Item(text, interval, tone="good")
        case "b":
            return Item(text, f"{interval} · worse", tone="bad")
        case "level":
            return Item(text, f"{interval} · level")


def _rate_and_tail(point: Point | None) -> list[Item]:
    if point is None:
        return [NONE, NONE]
    margin = margin_of(point.iops, point.iops_low, point.iops_high)
    return [Item(grouped(point.iops or 0.0), margin), percentile(point, "p99_us")]


def _by_stream(found: Sequence[tuple[Column, list[Variant]]]) -> Table:
    heads = [
        Item("Handle"),
        Item("IOPS"),
        Item("MB/s"),
        Item("Mean", "us"),
        Item("p95", "us"),
        Item("p99", "us"),
        Item("p99.9", "us"),
        Item("n"),
    ]
    groups = []
    for column, load in found:
        for variant in load:
            rows = [_stream(row) for row in variant.streams]
            groups.append(Group(f"{column.label}: {variant.label}", rows))
    notes = [
        "Service latency. A dash: too few I/Os for that percentile. Beneath a figure is its 95 % interval, for a "
        "rate half of it. A figure has none with too few seconds, seconds that drift, or too few independent "
        "I/Os."
    ]
    if any(column.repeats > 1 for column, _ in found):
        notes.append("These are of the first repeat: a run keeps no histograms per stream to pool.")
    return Table("Stream", heads, groups, notes)


def _stream(row: Stream) -> Row:
    def latency(name: str) -> Item:
        value_us: float | None = getattr(row, name)
        return NONE if value_us is None else with_interval(value_us, row.interval(name))

    def rate(value: float) -> Item:
        margin = margin_of(row.iops, row.iops_low, row.iops_high)
        return Item(grouped(value), margin, title="" if margin else FEW)

    cells = [
        Item(row.placement or "default"),
        rate(row.iops),
        rate(row.mbps),
        latency("mean_us"),
        latency("p95_us"),
        latency("p99_us"),
        latency("p999_us"),
        Item(compact(row.n)),
    ]
    return Row(Item(plain(row.stream), row.op), cells)
