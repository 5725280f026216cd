"""Writes a trace in another format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom.errors import UsageError
from fathom.output.output_file import new_output
from fathom.output.text import agreeing
from fathom.traces.batch import Findings, Trace, first_wrong, no_io
from fathom.traces.writers import SUFFIXES, WRITERS

Progress = Callable[[float | None, int], None]
"""Called with the share that has been read, 0 to 1 if known, and the I/Os so far."""


@dataclass(frozen=True)
class Converted:
    """The result of a conversion."""

    path: Path
    ios: int
    devices: Sequence[str]
    duration_ns: int
    """From the first issue to the last."""
    size_bytes: int


NAME_IT = "end it in .parquet, .csv or .iolog"
"""What to do about a file whose name shows no format."""


def output_format(path: Path, asked: str | None = None, hint: str = f"{NAME_IT}, or give --to") -> str:
    """Returns the format to write: the one asked for, or what the file's name ends in. `hint` says what to do
    about a name that shows none. Raises UsageError.
    """
    if asked is not None:
        if asked not in WRITERS:
            raise UsageError(f"cannot write {asked!r}", f"use one of {', '.join(WRITERS)}")
        return asked
    found = SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise UsageError(f"{path}: its name shows no format", hint)
    return found


def convert(
    trace: Trace,
    out: Path,
    to: str | None = None,
    *,
    strict: bool = False,
    progress: Progress | None = None,
    lost: int = 0,
    empty_hint: str = "check --format and --columns",
) -> Converted:
    """Writes a trace to a new file, which appears whole or not at all. `lost` records are known to be missing.

    Raises UsageError where the trace cannot be read, holds no I/O or, when `strict`, has a wrong line; RefusedError
    where something is at `out`.
    """
    make = WRITERS[output_format(out, to)]
    ios = last_ns = 0
    with new_output(out) as temporary:
        with make(temporary) as writer:
            for batch in trace.batches():
                if strict:
                    refuse_wrong(trace)
                writer.write(batch, trace.devices, trace.processes)
                ios += len(batch)
                last_ns = max(last_ns, int(batch.issue_ns[-1]))
                if progress is not None:
                    progress(trace.share_read(), ios)
            if strict:
                refuse_wrong(trace)
            if not ios:
                raise no_io(trace, empty_hint)
            trace.findings.lost += lost
            writer.finish(trace.name, trace.format, trace.findings)
        size_bytes = temporary.stat().st_size
    return Converted(out, ios, list(trace.devices), last_ns, size_bytes)


def complaints(name: str, found: Findings, ios: int) -> list[str]:
    """Returns a sentence per kind of fault in the trace of a name, once it has been read."""
    lines = [f"{name}, line {number}: {text}" for number, text in found.first_wrong]
    return [*lines, *(f"{name}: {fault}" for fault in faults(found, ios))]


def faults(found: Findings, ios: int) -> list[str]:
    """Returns a sentence per kind of fault, without the trace's name and its first wrong lines."""
    texts = []
    if found.wrong:
        texts.append(f"lines or records left out: {found.wrong:,}; I/Os read: {ios:,}")
    if found.fields_left_out:
        texts.append(f"fields left out, whose names are not known: {', '.join(found.fields_left_out)}")
    if found.lost:
        texts.append(
            agreeing(f"{found.lost:,}", "record of events was", "records of events were")
            + " lost: the kernel had no room"
        )
    if found.late:
        texts.append(
            agreeing(f"{found.late:,}", "I/O stands", "I/Os stand")
            + " too late in the file to be put in order"
        )
    if found.unfinished:
        texts.append(
            agreeing(f"{found.unfinished:,}", "I/O has", "I/Os have") + " no completion, and no latency"
        )
    if found.unknown:
        texts.append(
            agreeing(f"{found.unknown:,}", "completion belongs", "completions belong")
            + " to no I/O of the trace"
        )
    return [*texts, *found.clock.doubts()]


def refuse_wrong(trace: Trace) -> None:
    """Raises UsageError where a trace has a wrong line so far."""
    if trace.findings.wrong:
        raise UsageError(f"{trace.name}{first_wrong(trace)}", "mend the file, or leave out --strict")
