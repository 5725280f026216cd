"""The method that replays a trace: writes what it reads, then issues its I/Os as recorded or as fast as possible."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fathom._core import BLOCK_SIZES_MAX
from fathom.errors import UsageError
from fathom.method.method import Method, parse_method
from fathom.method.toml_text import rate_text
from fathom.output.text import duration
from fathom.plan.devices import together
from fathom.traces.batch import Trace
from fathom.traces.clock import MOST_LENGTH_S
from fathom.traces.convert import complaints, faults
from fathom.traces.opening import open_trace
from fathom.traces.prepare import Prepared, first_chunk, most_frequent, prepare, prepare_devices

NAME = "replay"
Timing = Literal["as-recorded", "as-fast-as-possible", "dependent"]
Offsets = Literal["as-is", "wrap", "scale"]
Fill = Literal["reads", "all", "none"]
RECORDED_DEPTH = 256
"""Most I/Os in flight of a replay at recorded times; later ones wait in the backlog."""
FASTEST_DEPTH = 32
MOST_THREADS = 256
MOST_SPEED = 1_000_000
_PATIENCE = 2.0
"""A replay at recorded times ends after this many times its length, whatever is left."""
_LONG_GAP_S = 3600.0
"""A longer time without an I/O is worth a line: a twin records a row of zeros for each of its seconds."""
_NS_PER_S = 1e9
_MOST_IOPS = 1e7
"""The rate that a job states at most; a job of 64 devices may state 64 of them."""
_HOW: Mapping[Timing, str] = {
    "as-recorded": "as recorded",
    "as-fast-as-possible": "as fast as possible",
    "dependent": "dependencies kept",
}


@dataclass(frozen=True)
class Replay:
    """How a trace is replayed. `iodepth`: most I/Os in flight; None takes the timing's own."""

    trace: Path
    device: str | None = None
    """Which device is replayed; None: all of them, each on a target of its own."""
    timing: Timing = "as-recorded"
    speed: float = 1.0
    offsets: Offsets = "as-is"
    fill: Fill = "reads"
    iodepth: int | None = None
    align_bytes: int = 512
    threads: int = 1
    """Threads that issue the I/Os of each device between them; `iodepth` is that of each."""

    @property
    def how(self) -> str:
        """Its timing and speed in words, as they stand in titles."""
        if self.speed == 1:
            return _HOW[self.timing]
        if self.timing == "as-recorded":
            return f"at {self.speed:g} times the recorded speed"
        return f"{_HOW[self.timing]}, {self.speed:g} times as fast"


def replay_method(replay: Replay) -> tuple[Method, list[str]]:
    """Prepares a trace and returns the method that replays it, with what is to be known of it, a sentence each.

    Raises UsageError for a trace or a choice that cannot be replayed.
    """
    _refuse_choices(replay)
    trace = open_trace(replay.trace)
    devices = _prepared(trace, replay)
    found = list(devices.values())
    refuse_times(trace, replay, max(one.last_ns for one in found))
    steps = _steps(devices, replay)
    length = duration(max(one.last_ns for one in found) / _NS_PER_S)
    omitted, ios = (sum(getattr(one, key) for one in found) for key in ("left_out", "ios"))
    left_out = f"{omitted:,} discards, or I/Os without data or beyond 64 MiB, left out"
    source = f"the trace {trace.name}: {ios:,} I/Os over {length}"
    told = [*([left_out] if omitted else []), *faults(trace.findings, ios + omitted)]
    head = {
        "schema": "fathom-method/1",
        "name": NAME,
        "title": f"Replay of {trace.name}",
        "summary": f"How would the load of {trace.name} run on these targets, {replay.how}?",
        "source": "; ".join([source, *told]),
    }
    method = parse_method(json.dumps(head | {"steps": steps}), f"{NAME}.json")
    notes = [
        *([f"{trace.name}: {left_out}"] if omitted else []),
        *complaints(trace.name, trace.findings, ios + omitted),
    ]
    if (gap_s := trace.findings.clock.longest_gap_ns / _NS_PER_S / replay.speed) > _LONG_GAP_S:
        notes += _of_gap(trace.name, gap_s, replay)
    if len(found) > 1:
        shown = ", ".join(f"{name} ({one.ios:,} I/Os)" for name, one in list(devices.items())[:8])
        notes.append(f"{trace.name}: {len(found)} devices: {shown}")
    return method, notes


def _of_gap(name: str, gap_s: float, replay: Replay) -> list[str]:
    """Returns what a long time without an I/O costs, and how to shorten it; nothing where times are left out."""
    if replay.timing == "as-fast-as-possible":
        return []
    return [
        f"{name}: at one place no I/O comes for {duration(gap_s)}, which is replayed second by second, on a twin too; "
        "--speed N shortens it, --timing as-fast-as-possible leaves it out"
    ]


def _refuse_choices(replay: Replay) -> None:
    """Raises UsageError for options that contradict each other, whatever the trace."""
    if not 1 / MOST_SPEED <= replay.speed <= MOST_SPEED:
        raise UsageError(
            f"--speed is {replay.speed:g}",
            f"give a factor from 1/{MOST_SPEED:,} to {MOST_SPEED:,}, such as 2",
        )
    if replay.timing == "as-fast-as-possible" and replay.speed != 1:
        raise UsageError("--speed changes recorded times, which are not kept", "leave out --timing")
    if not 1 <= replay.threads <= MOST_THREADS:
        raise UsageError(f"--threads is {replay.threads}", f"give 1 to {MOST_THREADS}")
    if replay.threads > 1 and replay.timing == "dependent":
        raise UsageError("one thread keeps the dependencies of a trace", "leave out --threads or --timing")


def _steps(devices: Mapping[str, Prepared], replay: Replay) -> list[dict[str, object]]:
    """Returns the fills of all devices at once, where any needs one, and their replays at once."""
    found = list(devices.values())
    fills = [_fill(one, replay) for one in found]
    if len(found) > 1 and any(fills):
        fills = [fill or _fill_of(first_chunk(one), replay) for fill, one in zip(fills, found, strict=True)]
    each = [[fill for fill in fills if fill], [measure_step(one, replay) for one in found]]
    longest = max(range(len(found)), key=lambda place: found[place].lap_ns)
    return [together(steps, list(devices), longest) for steps in each if steps]


def refuse_times(trace: Trace, replay: Replay, last_ns: int) -> None:
    """Raises UsageError where a replay keeps times that the trace lacks, or that reach beyond any recording.

    The trace has been read; `last_ns` is when its last I/O is issued, at the replay's speed.
    """
    if replay.timing == "as-fast-as-possible":
        return
    if last_ns > MOST_LENGTH_S * _NS_PER_S:
        days = last_ns / _NS_PER_S / 86400
        raise UsageError(
            f"{trace.name}: a replay of {days:,.0f} days; its times may jump, or have another unit",
            "cut the trace before the jump, give --speed, or give --timing as-fast-as-possible",
        )
    if not trace.findings.clock.has_times:
        raise UsageError(
            f"{trace.name}: its I/Os have no times to be replayed at",
            "give --timing as-fast-as-possible, or a trace with times",
        )


def _prepared(trace: Trace, replay: Replay) -> dict[str, Prepared]:
    """Returns the prepared trace of each device."""
    waits = replay.timing == "dependent"
    if replay.device is None:
        return prepare_devices(trace, speed=replay.speed, align_bytes=replay.align_bytes, waits=waits)
    only = prepare(trace, replay.device, speed=replay.speed, align_bytes=replay.align_bytes, waits=waits)
    return {replay.device: only}


def measure_step(
    prepared: Prepared, replay: Replay, ios: int | None = None, *, shortened_by: float = 1.0
) -> dict[str, object]:
    """Returns the step that issues the I/Os of a prepared trace, or the first ones, as methods have it.

    A method that divides its times by `shortened_by` leaves this step as long as it is.
    """
    used = {op: sizes for op, sizes in prepared.sizes.items() if sizes}
    fastest = replay.timing == "as-fast-as-possible"
    length_s = max(prepared.lap_ns, 1) / _NS_PER_S
    depth = replay.iodepth or (FASTEST_DEPTH if fastest else RECORDED_DEPTH)
    load: dict[str, object] = {"iodepth": depth}
    if replay.threads > 1:
        load["threads"] = replay.threads
    until: dict[str, object] = {"count": ios or prepared.ios}
    if replay.timing == "as-recorded":
        load |= {"rate": rate_text(min(prepared.ios / length_s, _MOST_IOPS)), "arrival": "recorded"}
        until["time"] = f"{round(1e3 * shortened_by * (_PATIENCE * length_s + 10))}ms"
    pattern: dict[str, object] = {"file": str(prepared.path), "offsets": replay.offsets}
    if replay.timing == "dependent":
        pattern["waits"] = True
    return {
        "name": NAME,
        "kind": "measure",
        "workload": NAME,
        "label": f"{prepared.name}, {replay.how}",
        "job": {
            "mix": {op: sum(sizes.values()) for op, sizes in used.items()},
            "block": {
                op: [{"size": size, "share": ios} for size, ios in most_frequent(sizes, BLOCK_SIZES_MAX)]
                for op, sizes in used.items()
                if op != "flush"
            },
            "pattern": {"replay": pattern},
            "load": load,
            "until": until,
        },
    }


def _fill(prepared: Prepared, replay: Replay) -> dict[str, object] | None:
    """Returns the step that writes what the trace reads; scaled offsets are everywhere, so it then writes it all."""
    everything = replay.fill == "all" or (replay.fill == "reads" and replay.offsets == "scale")
    if replay.fill == "none" or (prepared.fill is None and not everything):
        return None
    if everything:
        job: dict[str, object] = {
            "mix": "write",
            "block": "128KiB",
            "pattern": "sequential",
            "load": {"iodepth": 32},
            "until": {"written": "1x"},
        }
        return {
            "name": "fill",
            "kind": "fill",
            "workload": "fill",
            "label": "writes the whole target",
            "job": job,
        }
    assert prepared.fill is not None
    return _fill_of(prepared.fill, replay)


def _fill_of(fill: Prepared, replay: Replay) -> dict[str, object]:
    """Returns the step that issues prepared writes."""
    sizes = most_frequent(fill.sizes["write"], BLOCK_SIZES_MAX)
    job: dict[str, object] = {
        "mix": "write",
        "block": [{"size": size, "share": ios} for size, ios in sizes],
        "pattern": {"replay": {"file": str(fill.path), "offsets": replay.offsets}},
        "load": {"iodepth": 32},
        "until": {"bytes": sum(size * ios for size, ios in fill.sizes["write"].items())},
    }
    return {
        "name": "write-what-is-read",
        "kind": "fill",
        "workload": "write-what-is-read",
        "label": "writes the space that the trace reads",
        "job": job,
    }
