"""The sections of a trace's page. Each has a sentence, which the terminal prints too."""

from collections.abc import Sequence

from fathom._core import TRACE_OPERATIONS
from fathom.output.text import capacity, capacity_unit, many_of, percent, percent_digits, size
from fathom.report.axes import Axis, rounded, time_axis
from fathom.report.blocks import Block, Points, Section, Table
from fathom.report.style import plain
from fathom.report.trace import words
from fathom.report.trace.figures import chart, figure, table
from fathom.traces.batch import FLAG_LETTERS
from fathom.traces.profile import UNIT_BYTES, Buckets, Counts, Latency, Profile

NS_PER_S = 1e9
NS_PER_US = 1e3
MB = 1e6
_FLAGS = ("sync", "forced unit access", "metadata", "read-ahead", "flush before")
_MOST_ROWS = 64
"""Windows in a table; the chart has them all."""


def sections(profile: Profile) -> list[Section]:
    """Returns all sections of a page, each with its sentence as `answer`."""
    return [
        _section("rates", "Rates over time", "Rates", words.rates(profile), _rates(profile)),
        _section(
            "mix",
            "Operations and sizes",
            "Mix",
            f"{words.mix(profile)} {words.sizes(profile)}",
            _mix(profile),
        ),
        _section("sequentiality", "Sequential runs", "Runs", words.sequentiality(profile), _runs(profile)),
        _section("heat", "Hot spots", "Hot spots", words.heat(profile), _heat(profile)),
        _section(
            "working-set", "Working set", "Working set", words.working_set(profile), _working_set(profile)
        ),
        _section("reuse", "Reuse distance", "Reuse", words.cache(profile), _cache(profile)),
        _section("lives", "How long data lives", "Overwrites", words.lives(profile), _lives(profile)),
        _section("arrivals", "Arrivals and bursts", "Arrivals", words.arrivals(profile), _arrivals(profile)),
        _section("depth", "I/Os in flight", "Depth", words.depth(profile), _depth(profile)),
        _section("latency", "Latency in the trace", "Latency", words.latency(profile), _latency(profile)),
        _section(
            "alignment", "Alignment and flags", "Alignment", words.alignment(profile), _alignment(profile)
        ),
        _section("owners", "Processes and devices", "Owners", plain(words.owners(profile)), _owners(profile)),
    ]


def _section(key: str, title: str, short: str, sentence: str, blocks: Sequence[Block]) -> Section:
    has_caption = any(block.template == "figure" for block in blocks)
    return Section(key, title, [*([] if has_caption else [Points([sentence])]), *blocks], short, [sentence])


def _operations(profile: Profile) -> list[int]:
    """Returns the operations that occur."""
    return [op for op in range(len(TRACE_OPERATIONS)) if profile.mix.ios[op]]


def _rates(profile: Profile) -> Sequence[Block]:
    line = profile.timeline
    width_s = line.width_ns / NS_PER_S
    # A last window that the trace does not fill would show a fall of the rate.
    whole = max(1, profile.duration_ns // line.width_ns) if profile.duration_ns else len(line.ios)
    at_s = [(place + 0.5) * width_s for place in range(min(whole, len(line.ios)))]
    axis = time_axis(len(line.ios) * width_s)
    ops = _operations(profile)
    names = [many_of(TRACE_OPERATIONS[op]) for op in ops]
    iops = [
        (name, [(at, rounded(window[op] / width_s)) for at, window in zip(at_s, line.ios, strict=False)])
        for op, name in zip(ops, names, strict=True)
    ]
    mbps = [
        (
            name,
            [(at, rounded(window[op] / width_s / MB)) for at, window in zip(at_s, line.bytes, strict=False)],
        )
        for op, name in zip(ops, names, strict=True)
        if op in (words.READ, words.WRITE)
    ]
    every = -(-len(line.ios) // _MOST_ROWS)
    rows = [
        (words.time(place * line.width_ns), [line.ios[place][op] / width_s for op in ops])
        for place in range(0, len(line.ios), every)
    ]
    data = table("From", [f"{name}/s" for name in names], rows)
    charts = [chart("iops", "Rate", "IOPS", (axis, Axis("", "count", low=0)), iops)]
    if mbps:
        charts.append(chart("mbps", "Bandwidth", "MB/s", (axis, Axis("", "count", low=0)), mbps))
    return [figure(charts, words.rates(profile), data, names)]


def _mix(profile: Profile) -> Sequence[Block]:
    mix = profile.mix
    total_bytes = max(1, sum(mix.bytes[op] for op in (words.READ, words.WRITE)))
    rows = [
        (
            many_of(TRACE_OPERATIONS[op]),
            [
                f"{mix.ios[op]:,}",
                percent_digits(mix.ios[op] / profile.ios),
                capacity(mix.bytes[op]) if mix.bytes[op] else None,
                percent_digits(mix.bytes[op] / total_bytes) if op in (words.READ, words.WRITE) else None,
            ],
        )
        for op in _operations(profile)
    ]
    ops = [op for op in _operations(profile) if mix.sizes[op]]
    found = sorted({int(bytes_) for op in ops for bytes_, _ in mix.sizes[op]})
    sizes = [
        (size(bytes_), [_share(dict(mix.sizes[op]).get(bytes_), mix.ios[op]) for op in ops])
        for bytes_ in found
    ]
    blocks: list[Block] = [table("Operation", ["I/Os", "share", "bytes", "share of bytes"], rows)]
    if sizes:
        blocks.append(table("Size", [f"of {many_of(TRACE_OPERATIONS[op])}" for op in ops], sizes))
    return blocks


def _share(part: float | None, whole: int) -> str | None:
    return percent_digits(part / whole) if part else None


def _runs(profile: Profile) -> Sequence[Block]:
    runs = profile.runs
    if not runs.ios:
        return []
    rows = [
        ("I/Os of the run", [*runs.run_ios]),
        ("length of the run", [size(value) if value else None for value in runs.run_bytes]),
    ]
    return [table("Share of the I/Os in runs of at most", ["50 %", "90 %", "99 %"], rows)]


def _heat(profile: Profile) -> Sequence[Block]:
    heat = profile.reuse.heat
    if not heat:
        return []
    lines = [("accesses", [(100 * space, rounded(100 * share)) for space, share in heat])]
    axes = (Axis("share of the touched space, %", "count", low=0, high=100), Axis("", "pct", low=0, high=100))
    rows = [(percent_digits(space), [percent_digits(share)]) for space, share in heat]
    data = table("Hottest share of the touched space", ["share of accesses"], rows)
    return [figure([chart("heat", "Accesses", "% of all", axes, lines)], words.heat(profile), data)]


def _working_set(profile: Profile) -> Sequence[Block]:
    line = profile.timeline
    width_s = line.width_ns / NS_PER_S
    unit, unit_bytes = capacity_unit(UNIT_BYTES * max(line.footprint_units, default=0))
    scale = UNIT_BYTES / unit_bytes
    at_s = [(place + 1) * width_s for place in range(len(line.ios))]
    lines = [
        (
            "in the window",
            [(at, rounded(units * scale)) for at, units in zip(at_s, line.working_set_units, strict=True)],
        ),
        (
            "since the start",
            [(at, rounded(units * scale)) for at, units in zip(at_s, line.footprint_units, strict=True)],
        ),
    ]
    every = -(-len(at_s) // _MOST_ROWS)
    rows = [
        (
            words.time((place + 1) * line.width_ns),
            [
                capacity(line.working_set_units[place] * UNIT_BYTES),
                capacity(line.footprint_units[place] * UNIT_BYTES),
            ],
        )
        for place in range(0, len(at_s), every)
    ]
    names = [name for name, _ in lines]
    axes = (time_axis(len(at_s) * width_s), Axis("", "count", low=0))
    drawn = chart("working-set", "Touched space", unit, axes, lines)
    return [figure([drawn], words.working_set(profile), table("Until", names, rows), names)]


def _cache(profile: Profile) -> Sequence[Block]:
    hits = profile.reuse.hits
    if not hits:
        return []
    lines = [("hits", [(rounded(units * UNIT_BYTES / MB), rounded(100 * share)) for units, share, _ in hits])]
    axes = (Axis("LRU cache, MB", "count", log=True), Axis("", "pct", low=0, high=100))
    rows = [
        (size(units * UNIT_BYTES), [percent_digits(share), percent_digits(error, 1) if error else None])
        for units, share, error in hits
    ]
    data = table("LRU cache", ["accesses that hit", "standard error"], rows)
    return [figure([chart("cache", "Accesses that hit", "%", axes, lines)], words.cache(profile), data)]


def _lives(profile: Profile) -> Sequence[Block]:
    if not profile.reuse.lives_ns:
        return []
    points = _cumulative(profile.reuse.lives_ns, NS_PER_S)
    axes = (Axis("seconds until overwritten", "count", log=True), Axis("", "pct", low=0, high=100))
    data = _quantile_table("Overwritten within", profile.reuse.lives_ns)
    drawn = chart(
        "lives", "Data overwritten within that time", "% of what is overwritten", axes, [("", points)]
    )
    return [figure([drawn], words.lives(profile), data)]


def _arrivals(profile: Profile) -> Sequence[Block]:
    bursts = profile.bursts
    blocks: list[Block] = []
    charts = []
    if bursts.dispersion:
        # A logarithmic axis has no place for 0.
        points = [(width / NS_PER_S, rounded(index)) for width, index in bursts.dispersion if rounded(index)]
        axes = (Axis("window, s", "count", log=True), Axis("", "count", log=True))
        charts.append(chart("dispersion", "Index of dispersion", "1: Poisson", axes, [("", points)]))
    if bursts.gaps_ns:
        axes = (Axis("gap, us", "count", log=True), Axis("", "pct", low=0, high=100))
        points = _cumulative(bursts.gaps_ns, NS_PER_US)
        charts.append(chart("gaps", "Time since the I/O before", "% of gaps within", axes, [("", points)]))
    rows: list[tuple[str, Sequence[float | str | None]]] = [
        (f"Index of dispersion, {words.time(width)}", [index]) for width, index in bursts.dispersion
    ]
    names = ("10 %", "50 %", "90 %", "99 %")
    rows += [
        (f"Gap, {name}", [None if value is None else words.time(value)])
        for name, value in zip(names, bursts.gap_quantiles_ns, strict=True)
    ]
    data = table("Arrivals", ["value"], rows)
    blocks.append(figure(charts, words.arrivals(profile), data) if charts else data)
    return blocks


def _depth(profile: Profile) -> Sequence[Block]:
    flight = profile.in_flight
    if not flight.ios:
        return []
    points = _cumulative(flight.depths, 1)
    axes = (Axis("in flight", "count", log=True), Axis("", "pct", low=0, high=100))
    names = ("50 %", "90 %", "99 %")
    rows: list[tuple[str, Sequence[float | str | None]]] = [
        (f"{name} of the issues", [value]) for name, value in zip(names, flight.quantiles, strict=True)
    ]
    data = table("In flight", ["I/Os"], [*rows, ("most", [flight.most]), ("mean over time", [flight.mean])])
    drawn = chart("depth", "Depth at issue", "% of issues with at most", axes, [("", points)])
    return [figure([drawn], words.depth(profile), data)]


def _latency(profile: Profile) -> Sequence[Block]:
    found = [(op, own) for op, own in enumerate(profile.mix.latencies) if own is not None]
    if not found:
        return []
    names = [many_of(TRACE_OPERATIONS[op]) for op, _ in found]
    lines = [
        (name, _cumulative(own.buckets_ns, NS_PER_US)) for name, (_, own) in zip(names, found, strict=True)
    ]
    axes = (Axis("latency, us", "count", log=True), Axis("", "pct", low=0, high=100))
    rows = [(name, _latency_cells(own)) for name, (_, own) in zip(names, found, strict=True)]
    data = table("Operation", ["mean", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "most"], rows)
    drawn = chart("latency", "Latency", "% of I/Os within", axes, lines)
    return [figure([drawn], words.latency(profile), data, names)]


def _latency_cells(own: Latency) -> list[str | None]:
    quantiles = [None if value is None else words.time(value) for value in own.shown_quantiles_ns]
    return [words.time(own.mean_ns), *quantiles, words.time(own.most_ns)]


def _alignment(profile: Profile) -> Sequence[Block]:
    mix = profile.mix
    if not mix.placed:
        return []
    aligned = [(size(bytes_), [percent_digits(ios / mix.placed)]) for bytes_, ios in mix.aligned]
    flags = [
        (f"{name} ({letter})", [percent_digits(count / profile.ios)])
        for name, letter, count in zip(_FLAGS, FLAG_LETTERS, mix.flags, strict=True)
    ]
    return [table("Offset is a multiple of", ["share"], aligned), table("Flag", ["share of I/Os"], flags)]


def _owners(profile: Profile) -> Sequence[Block]:
    blocks: list[Block] = []
    for corner, names, counted in (
        ("Process", profile.processes, profile.mix.processes),
        ("Device", profile.devices, profile.mix.devices),
    ):
        rows = [
            (plain(names[number]) or "not named", _owned(counts, profile.ios))
            for number, counts in counted
            if number < len(names)
        ]
        if rows:
            head = ["share of I/Os", "reads", "read", "writes", "written"]
            blocks.append(table(corner, head, rows))
    return blocks


def _owned(counts: Counts, ios: int) -> list[str | None]:
    read, write = words.READ, words.WRITE
    return [
        percent_digits(sum(counts.ios) / ios),
        f"{counts.ios[read]:,}",
        capacity(counts.bytes[read]),
        f"{counts.ios[write]:,}",
        capacity(counts.bytes[write]),
    ]


def _cumulative(buckets: Buckets, unit: float) -> list[tuple[float, float | None]]:
    """Returns (value in units, percent at most as large); a logarithmic axis has no place for 0."""
    total, below = sum(count for _, count in buckets), 0
    points: list[tuple[float, float | None]] = []
    for value, count in buckets:
        below += count
        if value > 0:
            points.append((rounded(value / unit), rounded(100 * below / total)))
    return points


def _quantile_table(corner: str, buckets: Buckets) -> Table:
    """Returns the time within which a share of a histogram lies, for round shares."""
    total, below, rows = sum(count for _, count in buckets), 0, []
    wanted = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]
    for value, count in buckets:
        below += count
        while wanted and below >= wanted[0] * total:
            rows.append((percent(wanted.pop(0)), [words.time(value)]))
    return table("Share", [corner], rows)
