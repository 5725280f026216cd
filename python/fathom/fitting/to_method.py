"""A fitted trace as a method file: a step that fills what the trace touches, and one that issues the fitted job."""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from math import ceil

from fathom.fitting.fit import Fitted, Part
from fathom.fitting.places import Heat
from fathom.method.toml_text import Value, rate_text, size_text, table_lines

STEP = "fitted"
MOST_SIZES = 16
"""Most block sizes that a job states for an operation."""
_FILL_BLOCK_BYTES = 128 << 10
_OPEN_DEPTH = 256
"""Most I/Os in flight of an open load, as in a replay; later ones wait."""
_LEAST_PCT = 1e-3
_LEAST_TIME_S = 1e-3


def method_toml(fitted: Fitted, notes: Sequence[str] = ()) -> str:
    """Returns the method file; `notes` stand in it as comments."""
    name = re.sub(r"[^a-z0-9]+", "-", fitted.name.lower().split(".")[0]).strip("-") or "trace"
    head: dict[str, Value] = {
        "schema": "fathom-method/1",
        "name": f"{name}-fitted",
        "title": f"The load of {fitted.name}, fitted",
        "summary": f"How does a load like that of {fitted.name} run on this target?",
        "source": f"fitted to {fitted.counts.ios:,} I/Os of {fitted.name}",
    }
    lines = [f"# {note}" for note in notes]
    lines += ["", *_lines(head)] if lines else _lines(head)
    for step, job in (("fill", fill_job(fitted)), (STEP, fitted_job(fitted))):
        lines += ["", "[[steps]]", *_lines({"name": step, **({"kind": "fill"} if step == "fill" else {})})]
        lines += ["[steps.job]", *_lines(job)]
    return "\n".join(lines) + "\n"


def _lines(values: Mapping[str, Value]) -> list[str]:
    return [line for _, line in table_lines(values)]


def fill_job(fitted: Fitted) -> dict[str, Value]:
    """Returns the job that writes once all that the trace reaches."""
    low = min(part.low_bytes for part in fitted.parts)
    span = max(part.high_bytes for part in fitted.parts) - low
    block = next(
        size for size in (_FILL_BLOCK_BYTES >> step for step in range(9)) if span % size == 0 or size == 512
    )
    return {
        "mix": "write",
        "block": size_text(block),
        "pattern": "sequential",
        "region": _region(low, span),
        "load": {"iodepth": 32},
        "until": {"written": "1x"},
    }


def fitted_job(fitted: Fitted, length_s: float | None = None) -> dict[str, Value]:
    """Returns the job of the measured step; it lasts as long as the trace, or as given."""
    until: dict[str, Value] = {"count": fitted.counts.ios}
    if fitted.length_s:
        until = {"time": f"{max(1, round(1e3 * (length_s or fitted.length_s)))}ms"}
    if len(fitted.parts) == 1:
        return {**_part(fitted.parts[0]), "load": _load(fitted, fitted.parts[0]), "until": until}
    streams = [{"name": part.name, **_part(part), "load": _load(fitted, part)} for part in fitted.parts]
    if "count" in until:
        # Streams end by a time, or each by its own count.
        streams = [
            {**stream, "until": {"count": part.total}}
            for stream, part in zip(streams, fitted.parts, strict=True)
        ]
        return {"streams": streams}
    return {"until": until, "streams": streams}


def _part(part: Part) -> dict[str, Value]:
    mixed = {op: ios for op, ios in part.ios.items() if not (op == "flush" and part.flush_every)}
    job: dict[str, Value] = {
        "mix": next(iter(mixed)) if len(mixed) == 1 else _shares(mixed),
        "block": _block(part.sizes),
    }
    if part.flush_every:
        job["flush_every"] = part.flush_every
    job |= {"pattern": _pattern(part)}
    return job | {"region": _region(part.low_bytes, part.high_bytes - part.low_bytes)}


def _block(sizes: Mapping[str, Counter[int]]) -> Value:
    by_op = {op: _sizes(of_op) for op, of_op in sizes.items()}
    first = next(iter(by_op.values()))
    return first if all(one == first for one in by_op.values()) else by_op


def _sizes(sizes: Counter[int]) -> Value:
    if len(sizes) == 1:
        return size_text(next(iter(sizes)))
    total = sizes.total()
    return [
        {"size": size_text(size), "share": _rounded(100 * ios / total)}
        for size, ios in condensed(sizes, MOST_SIZES)
    ]


def condensed(sizes: Counter[int], most: int) -> list[tuple[int, float]]:
    """Returns (size, I/Os) of the most frequent sizes, at most that many, the least and the greatest among them.

    The I/Os of another size are divided between its neighbours, so that both their number and their bytes are kept.
    """
    ends = {min(sizes), max(sizes)}
    frequent = (size for size, _ in sizes.most_common() if size not in ends)
    kept = sorted({*ends, *islice(frequent, most - 2)})
    ios = {size: float(sizes[size]) for size in kept}
    for size in sizes.keys() - ios.keys():
        place = bisect(kept, size)
        below, above = kept[place - 1 : place + 1]
        upward = (size - below) / (above - below)
        ios[below] += (1 - upward) * sizes[size]
        ios[above] += upward * sizes[size]
    return sorted(ios.items())


def _shares(mixed: Mapping[str, int]) -> Value:
    total = sum(mixed.values())
    return {op: _rounded(100 * ios / total) for op, ios in mixed.items()}


def _rounded(share: float) -> float:
    return float(f"{share:.4g}")


def _pattern(part: Part) -> Value:
    if part.shape == "sequential":
        return "sequential" if part.streams == 1 else {"sequential": part.streams}
    if part.shape == "jumping":
        shares = {op: f"{100 * share:.4g}%" for op, share in part.jumps.items()}
        return {"random": next(iter(shares.values())) if len(shares) == 1 else shares}
    return _of_heat(part.heat)


def _of_heat(heat: Heat) -> Value:
    if heat.bands:
        return {
            "hot-spots": [
                {"area": _rounded(100 * band.area), "access": max(_LEAST_PCT, _rounded(100 * band.access))}
                for band in heat.bands[:-1]
            ]
        }
    return {"zipf": round(heat.theta, 3)} if heat.theta else "uniform"


def _region(low: int, span: int) -> Value:
    return {"start": size_text(low), "size": size_text(span)} if low else size_text(span)


def _load(fitted: Fitted, part: Part) -> Value:
    """Returns a part's share of the rate, or of the I/O in flight."""
    arrivals = fitted.arrivals
    if arrivals.depth is not None:
        return {"iodepth": max(1, round(arrivals.depth * _share_in_flight(fitted, part)))}
    rate = fitted.rate_iops * part.total / fitted.counts.ios
    load: dict[str, Value] = {"iodepth": _OPEN_DEPTH, "rate": rate_text(rate)}
    if arrivals.phases:
        load["rate"] = [
            {
                "rate": rate_text(rate * phase.factor),
                "time": f"{ceil(max(phase.time_s, _LEAST_TIME_S) * 1e6)}us",
            }
            for phase in arrivals.phases
        ]
    if arrivals.gaps != "exponential":
        load["arrival"] = arrivals.gaps
    return load


def _share_in_flight(fitted: Fitted, part: Part) -> float:
    """Returns a part's share of the I/O in flight: by latency where the trace has it, else by number."""

    def in_flight(one: Part) -> float:
        ops = fitted.counts.ops
        known = [
            (ios, ops[op].latency_ns / ops[op].ios)
            for op, ios in one.ios.items()
            if op in ops and ops[op].ios
        ]
        if not fitted.counts.has_latencies:
            return float(one.total)
        return sum(ios * latency_ns for ios, latency_ns in known)

    total = sum(in_flight(one) for one in fitted.parts)
    return in_flight(part) / total if total else 1.0
