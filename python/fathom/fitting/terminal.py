"""A fit in words: what was fitted, its proof, and what the job misses; and as the document `fathom-fit/1`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from fathom.fitting.fit import Fitted, Part
from fathom.fitting.missed import Miss, Property
from fathom.fitting.proof import LEAST_IOS, LEVEL, SEEDS, Proof, Row
from fathom.output.table import flush_table
from fathom.output.text import digits, duration, iops_text, percent, signed_pct, size

SCHEMA = "fathom-fit/1"
_NS_PER_S = 1e9


def _time(ns: float) -> str:
    return duration(ns / _NS_PER_S)


def _share(share: float) -> str:
    return percent(share, ".1f")


_WORDS: Mapping[Property, tuple[str, Callable[[float], str]]] = {
    Property.DISPERSION: ("bursts: index of dispersion in windows of {at}", "{:,.3g}".format),
    Property.GAPS: ("gaps between I/Os: deviation over mean", "{:.2f}".format),
    Property.PHASES: ("phases: deviation of the rate over a 64th of the time", _share),
    Property.MIX: ("changes of the mix: deviation of the share of reads", _share),
    Property.FOLLOWED: ("I/Os that go on with a run", _share),
    Property.REUSE: ("reuse: accesses that an LRU cache of {at} serves", _share),
    Property.FOOTPRINT: ("space touched", size),
    Property.OVERWRITTEN: ("written data that is overwritten", _share),
    Property.LIFE: ("time until written data is overwritten, median", _time),
    Property.FORCED: ("I/Os with forced unit access, which a job does not have", "{:,.0f}".format),
    Property.LEFT_OUT: ("discards, and I/Os without data or beyond 64 MiB", "{:,.0f}".format),
}


def notes(fitted: Fitted) -> list[str]:
    """Returns what was fitted, a sentence each, for the method's comments."""
    said = [f"Fitted to {fitted.counts.ios:,} I/Os of {fitted.name}, {_length(fitted)}."]
    said += [f"{part.name}: {_part_words(part, fitted)}." for part in fitted.parts]
    return [*said, f"Load: {_load_words(fitted)}."]


def _length(fitted: Fitted) -> str:
    if not fitted.length_s:
        return "which have no times"
    return f"{duration(fitted.length_s)} at {iops_text(fitted.rate_iops)}"


def _part_words(part: Part, fitted: Fitted) -> str:
    where = {
        "sequential": f"{part.streams} in turn" if part.streams > 1 else "in order",
        "random": "at random",
    }
    how = where.get(part.shape, "in runs that begin anywhere")
    if part.heat.theta:
        how = f"{how}, zipf {part.heat.theta:.2f}"
    if part.heat.bands:
        how = f"{how}, {len(part.heat.bands)} bands"
    span = f"{size(part.high_bytes - part.low_bytes)} from {size(part.low_bytes)}"
    return f"{percent(part.total / fitted.counts.ios)} of the I/Os, {how}, over {span}"


def _load_words(fitted: Fitted) -> str:
    if not fitted.step_ns:
        return _arrival_words(fitted)
    step = duration(fitted.step_ns / _NS_PER_S)
    return (
        f"{_arrival_words(fitted)}. The clock of the trace steps by {step} and does not show when within a step "
        "its I/Os came, so they are spread over it at random"
    )


def _arrival_words(fitted: Fitted) -> str:
    arrivals = fitted.arrivals
    if arrivals.assumed:
        return f"closed at {arrivals.depth} in flight, which is assumed: the trace shows no times"
    if arrivals.depth is not None:
        return f"closed at {arrivals.depth} in flight, as the trace holds it all the time"
    if arrivals.kind == "bursts":
        burst, pause = arrivals.phases
        return (
            f"open, in bursts of {digits(burst.factor)} times the mean rate for {duration(burst.time_s)}, "
            f"{duration(pause.time_s)} apart at {digits(pause.factor)} times"
        )
    if arrivals.kind == "phases":
        return f"open, in {len(arrivals.phases)} phases of different rates"
    return f"open, with {arrivals.gaps} gaps"


def print_proof(console: Console, proof: Proof) -> None:
    """Prints trace and fitted job side by side, then what the job misses."""
    share = "all" if proof.whole else "the first"
    how = "at the recorded times"
    if proof.step_ns:
        how = f"spread over each {duration(proof.step_ns / _NS_PER_S)} of the trace's clock"
    if proof.closed:
        how = "as fast as possible at the trace's depth"
    console.print(
        Text(f"On twin:{proof.twin}, written once: {share} {proof.ios:,} I/Os {how}, {SEEDS} seeds"),
        highlight=False,
    )
    if proof.has_few:
        text = f"Too few I/Os to compare trace and job: {LEAST_IOS} are needed"
        console.print(Text(text), highlight=False)
        for miss in proof.misses:
            console.print(Text(f"missed: {miss_text(miss)}"), highlight=False)
        return
    table = flush_table()
    for head in ("", "trace", "fitted", "difference", "by chance"):
        table.add_column(head, justify="left" if not head else "right")
    for row in proof.rows:
        table.add_row(*(Text(cell) for cell in _cells(row)))
    console.print(table)
    if proof.least_written_bytes is not None:
        least = size(proof.least_written_bytes)
        text = (
            f"No WAF: it takes {least} of writes, the larger of what the trace reaches and ten write buffers"
        )
        console.print(Text(text), style="dim", highlight=False)
    if any(not row.within for row in proof.rows):
        least = percent(LEVEL, ".1f")
        note = f"* more apart than two runs of the job would be with 95 % confidence, and than {least}"
        console.print(Text(note), style="dim", highlight=False)
    for text in miss_texts(proof.misses):
        console.print(Text(text), highlight=False)


def _cells(row: Row) -> Sequence[str]:
    chance = "unknown"
    if row.low is not None and row.high is not None:
        chance = f"{signed_pct(100 * (row.low - 1))} to {signed_pct(100 * (row.high - 1))}"
    differs = "" if row.within else " *"
    form = "{:,.0f}" if row.trace >= 1000 else "{:,.4g}"
    figures = [f"{form.format(value)} {row.unit}".strip() for value in (row.trace, row.fitted)]
    return [row.name, *figures, f"{signed_pct(100 * (row.ratio - 1))}{differs}", chance]


def miss_texts(misses: Sequence[Miss]) -> list[str]:
    """Returns a sentence for each property that the job misses, or that it misses none."""
    if not misses:
        return ["The job misses none of the properties that are compared."]
    return [f"missed: {miss_text(miss)}" for miss in misses]


def miss_text(miss: Miss) -> str:
    """Returns `bursts: index of dispersion in windows of 1 ms is 45 in the trace, 1.1 in the job`."""
    words, form = _WORDS[miss.property]
    at = ""
    if miss.at is not None:
        at = size(miss.at) if miss.property == Property.REUSE else _time(miss.at)
    return f"{words.format(at=at)}: {form(miss.trace)} in the trace, {form(miss.fitted)} in the job"


def fit_json(fitted: Fitted, method: str, proof: Proof | None) -> dict[str, object]:
    """Returns `{"schema": "fathom-fit/1", "method", "trace", "ios", "twin", "figures", "missed"}`."""
    return {
        "schema": SCHEMA,
        "trace": fitted.name,
        "ios": fitted.counts.ios,
        "method": method,
        "twin": proof.twin if proof else None,
        "ios_run": proof.ios if proof else None,
        "figures": [asdict(row) | {"within": row.within} for row in proof.rows] if proof else [],
        "too_few_ios": proof.has_few if proof else None,
        "waf_needs_written_bytes": proof.least_written_bytes if proof else None,
        "missed": [asdict(miss) for miss in proof.misses] if proof else [],
    }
