"""What `run` and `plan` do with `--trace`: the method `replay` is made from a trace instead of read from a file."""

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
    """Returns the method of that name or file, or the one that replays the trace. Raises UsageError."""
    from fathom.method.method import load_method
    from fathom.plan.replay import NAME, Fill, Offsets, Replay, Timing, replay_method

    if name != NAME:
        if options.trace is not None:
            raise UsageError(
                f"--trace belongs to the method {NAME}, not to {name}", f"run {NAME} --trace FILE"
            )
        return load_method(name, quick=quick)
    if options.trace is None:
        raise UsageError(f"the method {NAME} needs a trace", "give --trace FILE")
    if quick:
        raise UsageError("a replay has no shortened form", "leave out --quick, or give --speed")
    method, notes = replay_method(
        Replay(
            options.trace,
            options.trace_device,
            _word("--timing", options.timing, get_args(Timing)),
            options.speed,
            _word("--offsets", options.offsets, get_args(Offsets)),
            _word("--fill", options.fill, get_args(Fill)),
            options.iodepth,
            size_bytes(options.align) or 1,
        )
    )
    for note in notes:
        print(f"fathom: {note}", file=sys.stderr)
    return method


def _word(option: str, given: str, known: Sequence[Word]) -> Word:
    found = next((word for word in known if word == given), None)
    if found is None:
        raise UsageError(f"{option} is {given!r}", f"use {', '.join(known[:-1])} or {known[-1]}")
    return found
