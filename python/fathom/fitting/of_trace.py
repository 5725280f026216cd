"""Methods made from a trace: its replay, and those of the catalogue that take their workload from one."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fathom.errors import UsageError
from fathom.fitting.chosen import Choice
from fathom.fitting.io_streams import Cumulative, cumulative
from fathom.method.method import Method, load_method, method_file, parse_method
from fathom.method.template import Workload, Workloads, filled_in, is_template, uses_replay
from fathom.plan.replay import NAME, Replay, measure_step, refuse_times, replay_method
from fathom.traces.convert import complaints
from fathom.traces.opening import open_trace
from fathom.traces.prepare import prepare

if TYPE_CHECKING:
    from pydantic import JsonValue


def method_of(name: str, replay: Replay | None, *, quick: bool = False) -> tuple[Method, list[str]]:
    """Returns the method of that name or file, with the workload of the trace where it takes one.

    Also returns what is to be known of the trace, a sentence each. Raises UsageError.
    """
    if name == NAME:
        if replay is None:
            raise UsageError(
                f"the method {NAME} needs a trace", "give --trace FILE, in Python replay=Replay(FILE)"
            )
        if quick:
            raise UsageError("a replay has no shortened form", "leave out --quick, or give --speed")
        return replay_method(replay)
    if replay is None:
        return load_method(name, quick=quick), []
    text, file = method_file(name)
    if not is_template(text):
        raise UsageError(
            f"--trace belongs to the method {NAME} and to those with a workload of a trace, not to {name}",
            f"run {NAME} --trace FILE",
        )
    return _of_template(text, file, replay, quick=quick)


def _of_template(text: str, file: str, replay: Replay, *, quick: bool) -> tuple[Method, list[str]]:
    replayed = uses_replay(text)
    kept = (
        replace(replay, fill="reads")
        if replayed
        else Replay(replay.trace, replay.device, align_bytes=replay.align_bytes)
    )
    if replay != kept:
        raise UsageError(
            f"{file} {'writes the whole target first' if replayed else 'takes no times and places from a trace'}",
            f"leave out {'--fill' if replayed else '--timing, --speed, --offsets, --fill, --iodepth and --threads'}",
        )
    trace = open_trace(replay.trace)
    found = cumulative(Choice(lambda: trace, replay.device, replay.align_bytes), trace)
    whole = found.workload
    workloads = Workloads(
        whole,
        [stream.workload for stream in found.streams],
        _replayed(trace.name, replay, _shortened_by(text) if quick else 1.0) if replayed else whole,
    )
    notes = [*complaints(trace.name, trace.findings, trace.findings.clock.ios), *_notes(trace.name, found)]
    return filled_method(text, file, workloads, _source(trace.name, found), quick=quick), notes


def filled_method(text: str, file: str, workloads: Workloads, source: str, *, quick: bool = False) -> Method:
    """Returns the method that a template becomes; `source` says what the workload is. Raises UsageError."""
    document = filled_in(text, file, workloads)
    document["source"] = f"{document.get('source', '')}; the workload: {source}"
    try:
        text = json.dumps(document)
    except TypeError as error:
        raise UsageError(f"{file}: a date or time is no value of a method", "write it as text") from error
    return parse_method(text, f"{Path(file).stem}.json", quick=quick)


def _shortened_by(text: str) -> float:
    """Returns by what `quick` divides times; what is no number is left to the parser of methods."""
    quick = tomllib.loads(text).get("quick")
    found = quick.get("divide_times_by") if isinstance(quick, dict) else None
    return float(found) if isinstance(found, int | float) and found > 0 else 1.0


def _replayed(name: str, replay: Replay, shortened_by: float) -> Workload:
    trace = open_trace(replay.trace)
    prepared = prepare(
        trace,
        replay.device,
        speed=replay.speed,
        align_bytes=replay.align_bytes,
        waits=replay.timing == "dependent",
    )
    refuse_times(trace, replay, prepared.last_ns)
    step = measure_step(prepared, replay, shortened_by=shortened_by)
    return Workload(NAME, name, cast("dict[str, JsonValue]", step["job"]))


def _source(name: str, found: Cumulative) -> str:
    return (
        f"{len(found.streams)} I/O streams with {100 * found.share:.3g} % of the reads and writes of {name}"
    )


def _notes(name: str, found: Cumulative) -> list[str]:
    """Returns the streams with their shares, and what of the trace no stream has."""
    streams = ", ".join(
        f"{stream.workload.words} {100 * stream.ios / found.ios.total():.3g} %" for stream in found.streams
    )
    notes = [f"{name}: {streams}"]
    if found.share < 1:
        notes.append(
            f"{name}: {100 * (1 - found.share):.3g} % of the reads and writes are smaller streams, which count with "
            "those of their operation"
        )
    left_out = found.flushes + found.left_out
    if left_out:
        notes.append(
            f"{name}: {left_out:,} flushes, discards and I/Os beyond 64 MiB have no part in the streams"
        )
    return notes
