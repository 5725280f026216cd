"""The sentences of a trace's page, one for each figure: what the figure shows, in numbers."""

from math import ceil, exp, lgamma, log, sqrt

from fathom._core import TRACE_OPERATIONS
from fathom.output.text import agreeing, capacity, digits, duration, many_of, percent, percent_digits, size
from fathom.report.style import compact
from fathom.traces.profile import COUNTED_BYTES, FOOTPRINT_ERROR, UNIT_BYTES, Profile

READ, WRITE, FLUSH, DISCARD = (TRACE_OPERATIONS.index(name) for name in ("read", "write", "flush", "discard"))
BURSTY = 2.0
"""Arrivals with at least this index of dispersion are called bursts."""
_REGULAR = 0.5
"""Arrivals with at most this index of dispersion are more regular than a Poisson process."""
_JUDGED_WINDOWS = 32
"""Least windows for such a judgement: the index of a Poisson process then has a standard deviation of 0.25."""
BUSIER = 1.05
"""A window with less than this many times the mean rate is no busier than others."""
NS_PER_S = 1e9
_FEW = 4.0
"""With fewer accesses per unit of space, chance decides which units are hot."""
_EVEN = 0.15
"""Least share of the accesses from which the hottest tenth of space is called hot."""
_BEYOND_CHANCE = 1.25
"""How many times what chance gives the hottest tenth it has to get to be called hot."""


def time(ns: float) -> str:
    """Returns a time from nanoseconds to hours: `850 ns`, `12.3 us`, `4.56 ms`, `2 min 30 s`."""
    for unit, scale in (("ns", 1), ("us", 1e3), ("ms", 1e6)):
        if ns < 999.5 * scale:
            return f"{ns / scale:.3g} {unit}"
    return duration(round(ns / NS_PER_S, 1))


def rates(profile: Profile) -> str:
    """Returns the mean rate, and the rate of the busiest window."""
    line = profile.timeline
    if profile.ios == 1:
        return "The trace has one I/O, and so no rates."
    if not _has_times(profile):
        return "The trace has no times, and so no rates."
    length_s = max(profile.duration_ns, 1) / NS_PER_S
    mean = profile.ios / length_s
    moved = sum(profile.mix.bytes[op] for op in (READ, WRITE)) / length_s
    most = max(sum(window) for window in line.ios) / (line.width_ns / NS_PER_S)
    text = f"{compact(mean)} IOPS and {capacity(moved)}/s on average over {time(profile.duration_ns)}"
    if profile.doubts:
        return f"{text}. {_doubted(profile)}"
    if len(line.ios) < 3:
        return f"{text}."
    if most < BUSIER * mean:
        return f"{text}; no window of {time(line.width_ns)} was busier."
    return f"{text}; the busiest {time(line.width_ns)} had {compact(most)} IOPS, {digits(most / mean)} times as many."


def _has_times(profile: Profile) -> bool:
    return profile.duration_ns > 0


def _doubted(profile: Profile) -> str:
    """Returns what is wrong with the times, as sentences."""
    return " ".join(f"{doubt[0].upper()}{doubt[1:]}." for doubt in profile.doubts)


def mix(profile: Profile) -> str:
    """Returns the share of each operation."""
    ios = profile.mix.ios
    if profile.ios == 1:
        return f"The trace has one I/O, a {TRACE_OPERATIONS[ios.index(1)]}."
    shares = [
        f"{percent_digits(ios[op] / profile.ios)} {many_of(name)}"
        for op, name in enumerate(TRACE_OPERATIONS)
        if ios[op]
    ]
    return f"The {profile.ios:,} I/Os are {', '.join(shares)}."


def sizes(profile: Profile) -> str:
    """Returns the most frequent size of each operation."""
    found = []
    for op in (READ, WRITE):
        if profile.mix.sizes[op]:
            bytes_, ios = profile.mix.sizes[op][0]
            share = percent(ios / profile.mix.ios[op])
            found.append(f"{share} of the {many_of(TRACE_OPERATIONS[op])} have {size(bytes_)}")
    return f"{' and '.join(found)}." if found else "No I/O moves data."


def sequentiality(profile: Profile) -> str:
    """Returns the share of I/Os that continue where another ended."""
    runs = profile.runs
    if not runs.ios:
        return "No I/O moves data."
    text = (
        f"{percent(runs.followed / runs.ios)} of the reads and writes begin where one of the last 4,096 ended, "
        f"{percent(runs.strictly / runs.ios)} where the one just before did."
    )
    if not runs.streams:
        return f"{text} No run has eight I/Os."
    share = percent(runs.stream_ios / runs.ios)
    if runs.streams == 1:
        return f"{text} One stream of {runs.stream_ios:,} carries {share}."
    return f"{text} {runs.streams:,} streams of eight or more carry {share}; at most {runs.streams_most:,} ran at once."


def heat(profile: Profile) -> str:
    """Returns the share of accesses to the hottest tenth of space."""
    found = dict(profile.reuse.heat)
    share = found.get(0.1)
    if share is None:
        return "Too little space is touched to find a hot part of it."
    moved = sum(profile.mix.bytes[op] for op in (READ, WRITE)) / UNIT_BYTES
    # The touched space is an estimate, and may come out larger than what was moved.
    each = max(1.0, moved / max(1.0, profile.timeline.footprint_units[-1]))
    if each < _FEW:
        accesses = "one access" if f"{each:.2g}" == "1" else f"{each:.2g} accesses"
        hint = f"with an average of {accesses} to each 4 KiB, chance alone makes some hotter"
    elif share < _BEYOND_CHANCE * (chance := _by_chance(each, 0.1)):
        hint = (
            f"with an average of {each:.3g} accesses to each 4 KiB, chance alone gives it {percent(chance)}"
        )
    elif share < _EVEN:
        hint = "accesses are even"
    else:
        hint = "a cache or a fast tier of that size would see them"
    return f"The hottest tenth of the touched space gets {percent(share)} of the accesses; {hint}."


def _by_chance(mean: float, part: float) -> float:
    """Returns the share of accesses that the hottest part of space gets where all is accessed equally likely.

    Accesses to a unit are then Poisson distributed. `mean` is their mean, 4 or more, so few units get none.
    """
    most = ceil(mean + 10 * sqrt(mean)) + 10
    left, accesses = part, 0.0
    for count in range(most, 0, -1):
        of_units = min(left, exp(count * log(mean) - mean - lgamma(count + 1)))
        left -= of_units
        accesses += count * of_units
    return accesses / mean


def working_set(profile: Profile) -> str:
    """Returns the space touched, in all and in a median window."""
    line = profile.timeline
    windows = sorted(line.working_set_units)
    middle = windows[len(windows) // 2] * UNIT_BYTES
    whole = line.footprint_units[-1] * UNIT_BYTES
    text = (
        f"The trace touches {capacity(whole)}, and {capacity(middle)} in the median window of {time(line.width_ns)}, "
        f"each with a standard error of {percent(FOOTPRINT_ERROR)}."
    )
    largest = max((bytes_ for op in (READ, WRITE) for bytes_, _ in profile.mix.sizes[op]), default=0)
    if largest <= COUNTED_BYTES:
        return text
    less = f"only the first {size(COUNTED_BYTES)} of an I/O count, and there are I/Os of {size(largest)}"
    return f"{text} That is too little: {less}."


def cache(profile: Profile) -> str:
    """Returns the LRU cache that serves half of the accesses, with the error of the sample."""
    hits = profile.reuse.hits
    if not hits:
        return "No space is touched."
    basis = (
        "counted exactly"
        if profile.reuse.sampled >= 1
        else f"from {percent_digits(profile.reuse.sampled, 2)} of the space, chosen by hash (SHARDS)"
    )
    half = next(((units, share, error) for units, share, error in hits if share >= 0.5), None)
    if half is None:
        return f"No cache serves half of the accesses: {percent(1 - hits[-1][1])} touch space anew; {basis}."
    units, share, error = half
    spread = f" ± {digits(100 * error, 1)}" if error else ""
    return (
        f"An LRU cache of {size(units * UNIT_BYTES)} serves {100 * share:.0f}{spread} % of the accesses, "
        f"the largest useful one {percent(hits[-1][1])}; {basis}. "
        "Sizes are tried by doublings."
    )


def lives(profile: Profile) -> str:
    """Returns how long data lives until it is overwritten: write amplification depends on it."""
    quantiles = profile.reuse.life_quantiles_ns
    if quantiles is None:
        return "Nothing that is written is written over within the trace."
    low, middle, high = quantiles
    some = percent(profile.reuse.overwritten) if profile.reuse.overwritten >= 0.005 else "Less than 1 %"
    share = f"{some} of what is written is overwritten or discarded within the trace."
    if not _has_times(profile):
        return share
    return (
        f"{share} Half of that lives {time(middle)} or less, a tenth {time(low)}, nine tenths {time(high)}."
    )


def arrivals(profile: Profile) -> str:
    """Returns whether arrivals come in bursts, and at which scale."""
    bursts = profile.bursts
    if profile.doubts:
        return _doubted(profile)
    if not bursts.dispersion:
        return "The trace is too short to say whether I/Os come in bursts."
    bursty = [
        (width, index)
        for width, index in bursts.dispersion
        if index >= max(BURSTY, _most_by_chance(profile.duration_ns / width))
    ]
    if bursty:
        width, most = max(bursty, key=lambda one: one[1])
        return f"{_variance(width, most)}; for a Poisson process they are equal. I/Os come in bursts."
    # With less than one arrival in a window, any arrivals look like those of a Poisson process.
    judged = [
        one
        for one in bursts.dispersion
        if one[0] * profile.ios >= profile.duration_ns >= _JUDGED_WINDOWS * one[0]
    ]
    if not judged:
        most = max(bursts.dispersion, key=lambda one: one[1])
        return f"{_variance(*most)}. The trace has too few I/Os to say more of their arrivals."
    width, least = min(judged, key=lambda one: one[1])
    if least <= _REGULAR:
        return f"{_variance(width, least)}: more regular than a Poisson process, for which they are equal."
    return f"{_variance(*max(judged, key=lambda one: one[1]))}: nearly a Poisson process, for which they are equal."


def _most_by_chance(windows: float) -> float:
    """Returns the index of dispersion that one Poisson process in a thousand exceeds.

    Over n windows the index times n - 1 has a chi-square distribution. Its quantile is that of Wilson and Hilferty
    (1931).
    """
    part = 2 / (9 * max(1.0, windows - 1))
    return (1 - part + 3.09 * sqrt(part)) ** 3


def _variance(width_ns: float, index: float) -> str:
    ratio = agreeing(digits(index), "time", "times")
    return f"In windows of {time(width_ns)} the variance of the arrivals is {ratio} their mean"


def depth(profile: Profile) -> str:
    """Returns the number of I/Os in flight."""
    flight = profile.in_flight
    if flight.mean is None or flight.busy is None:
        return "The trace has no latencies, and so no depth."
    mean = agreeing(digits(flight.mean), "I/O is", "I/Os are")
    return (
        f"{mean} in flight on average, {flight.most:,} at most; "
        f"something is in flight {percent(min(flight.busy, 1.0))} of the time."
    )


def latency(profile: Profile) -> str:
    """Returns the latency of each operation that has any."""
    found = []
    for op in range(len(TRACE_OPERATIONS)):
        if own := profile.mix.latencies[op]:
            within = time(own.shown_quantiles_ns[2] or 0)
            found.append(
                f"{many_of(TRACE_OPERATIONS[op])} took {time(own.mean_ns)} on average, 99 % within {within}"
            )
    if not found:
        return "The trace has no latencies."
    text = "; ".join(found)
    return f"{text[0].upper()}{text[1:]}."


def alignment(profile: Profile) -> str:
    """Returns the share of I/Os aligned to 4 KiB, and the share that asks for durability."""
    mix, ios = profile.mix, profile.ios
    sync, fua = mix.flags[0], mix.flags[1]
    if not mix.placed:
        return "No I/O has an offset."
    return (
        f"{percent_digits(mix.whole_blocks / mix.placed)} of the I/Os begin and end on 4 KiB. Flushes are "
        f"{percent_digits(mix.ios[FLUSH] / ios, 2)}, forced unit access {percent_digits(fua / ios, 2)}, "
        f"marked sync {percent_digits(sync / ios, 2)}."
    )


def owners(profile: Profile) -> str:
    """Returns the process that issues most I/Os."""
    known = [(number, counts) for number, counts in profile.mix.processes if number < len(profile.processes)]
    if not known:
        devices = len(profile.devices)
        return f"The trace names no process; it has {devices:,} {'device' if devices == 1 else 'devices'}."
    number, counts = known[0]
    share, many = percent(sum(counts.ios) / profile.ios), len(profile.processes)
    rank = "the only process" if many == 1 else f"the most of {many:,} processes"
    return f"{profile.processes[number]} issues {share} of the I/Os, {rank}."
