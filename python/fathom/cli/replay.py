"""What `run` and `plan` do with `--trace`: the method takes its I/Os, or its workload, from a trace."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, get_args

from fathom.cli.option_groups import ReplayOptions
from fathom.cli.options import size_bytes
from fathom.errors import UsageError

if TYPE_CHECKING:
    from fathom.method.method import Method

Word = TypeVar("Word", bound=str)


def method_of(name: str, options: ReplayOptions, *, quick: bool) -> "Method":
    """Returns the method of that name or file, with what it takes from the trace. Raises UsageError."""
    from fathom.fitting.of_trace import method_of
    from fathom.plan.replay import Fill, Offsets, Replay, Timing

    if options.trace is None:
        return method_of(name, None, quick=quick)[0]
    method, notes = method_of(
        name,
        Replay(
            options.trace,
            options.trace_device,
            word_of("--timing", options.timing, get_args(Timing)),
            options.speed,
            word_of("--offsets", options.offsets, get_args(Offsets)),
            word_of("--fill", options.fill, get_args(Fill)),
            options.iodepth,
            size_bytes(options.align) or 1,
            options.threads,
        ),
        quick=quick,
    )
    for note in notes:
        print(f"fathom: {note}", file=sys.stderr)
    return method


def word_of(option: str, given: str, known: Sequence[Word]) -> Word:
    """Returns what was given as one of the words that an option knows. Raises UsageError."""
    found = next((word for word in known if word == given), None)
    if found is None:
        raise UsageError(f"{option} is {given!r}", f"use {', '.join(known[:-1])} or {known[-1]}")
    return found
