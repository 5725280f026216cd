"""What `run` and `plan` do with `--trace`: the method takes its I/Os, or its workload, from a trace."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, get_args

from fathom.cli.option_groups import ReplayOptions
from fathom.cli.options import size_bytes
from fathom.errors import UsageError

if TYPE_CHECKING:
    from fathom.method.method import Method
    from fathom.plan.replay import Replay

Word = TypeVar("Word", bound=str)


def method_of(
    name: str, options: ReplayOptions | None = None, targets: Sequence[str] = (), *, quick: bool
) -> "Method":
    """Returns the method of that name, file or fio command, with what it takes from the trace. Raises UsageError.

    Prints what is to be known of the trace, or what differs from an imported file or command and that it names others
    than `targets`. Prints names of published results that the catalogue lacks too.
    """
    from fathom.imports.named import method_named, notes_on_targets
    from fathom.method.method import is_file
    from fathom.plan.published_names import unknown_published

    replay = None if options is None else _replay(options)
    method, notes, named = method_named(name, replay, quick=quick)
    notes = [*notes, *notes_on_targets(name, named, targets)]
    if is_file(name):
        notes = [*notes, *unknown_published(method, name)]
    for note in notes:
        print(f"fathom: {note}", file=sys.stderr)
    return method


def _replay(options: ReplayOptions) -> "Replay | None":
    """Returns how the trace is replayed; None without one."""
    from fathom.plan.replay import Fill, Offsets, Replay, Timing

    if options.trace is None:
        _refuse_others(options)
        return None
    return Replay(
        options.trace,
        options.trace_device,
        word_of("--timing", options.timing, get_args(Timing)),
        options.speed,
        word_of("--offsets", options.offsets, get_args(Offsets)),
        word_of("--fill", options.fill, get_args(Fill)),
        options.iodepth,
        size_bytes(options.align) or 1,
        options.threads,
    )


def _refuse_others(options: ReplayOptions) -> None:
    """Raises UsageError for an option of a replay that is given without a trace: no job takes it."""
    defaults = ReplayOptions._field_defaults
    given = [name for name, value in options._asdict().items() if value != defaults[name]]
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(
            f"{names}: without --trace there is no replay that takes {'it' if len(given) == 1 else 'them'}",
            "give --trace FILE, or set the load in a method's job: `fathom methods show` prints one to copy",
        )


def word_of(option: str, given: str, known: Sequence[Word]) -> Word:
    """Returns what was given as one of the words that an option knows. Raises UsageError."""
    found = next((word for word in known if word == given), None)
    if found is None:
        raise UsageError(f"{option} is {given!r}", f"use {', '.join(known[:-1])} or {known[-1]}")
    return found
