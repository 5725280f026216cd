"""The errors of a step on a failing target, and what a step without I/O says; each function returns None for none."""

from collections.abc import Sequence

from fathom import _core
from fathom.method.method import Step
from fathom.runs.remarks import LostIo, Refused, facts_of, in_words


def mostly_failed(step: Step, recordings: Sequence[_core.Recording], parts: Sequence[str]) -> str | None:
    """Returns the error of a step in which more I/O failed than succeeded, so that its figures are those of errors.

    The first recording is the target's own, and those of its `parts` follow. A part is enough: the others cannot stand
    for it.
    """
    whole = _mostly_failed(step, recordings[0], "")
    each = (
        _mostly_failed(step, recording, f" on {part}")
        for part, recording in zip(parts, recordings[1:], strict=True)
    )
    return whole or next((reason for reason in each if reason), None)


def _mostly_failed(step: Step, recording: _core.Recording, where: str) -> str | None:
    failed, done = (sum(getattr(op, name) for op in recording.ops) for name in ("errors", "n"))
    if failed <= done:
        return None
    kinds = ", ".join(f"{count:,} x {_core.describe_errno(code)}" for code, count in recording.errno.items())
    refused = next((f"; {in_words(fact)}" for fact in facts_of(recording) if isinstance(fact, Refused)), "")
    return (
        f"step {step.name}: {failed:,} of {failed + done:,} I/O failed{where}"
        + (f" ({kinds})" if kinds else "")
        + refused
    )


def nothing_done(step: Step, recording: _core.Recording) -> str | None:
    """Returns the error of a measured step without a completed I/O in its window, so that it has no figures."""
    if not _is_empty(step, recording) or recording.offered == 0:
        return None
    return f"step {step.name}: no I/O completed in its window of {recording.window_s:g} s"


def nothing_offered(step: Step, recording: _core.Recording) -> str | None:
    """Returns what to say of a measured step in whose window no I/O was due, so that it has no figures; no error."""
    if not _is_empty(step, recording) or recording.offered != 0:
        return None
    return f"step {step.name}: no I/O was due in its window of {recording.window_s:g} s, so it has no figures"


def _is_empty(step: Step, recording: _core.Recording) -> bool:
    return step.kind in ("measure", "point") and not any(op.n or op.errors for op in recording.ops)


def not_returned(step: Step, recording: _core.Recording) -> str | None:
    """Returns the error of a step with I/O that did not return, so that its target must not be used further."""
    lost = next((fact for fact in facts_of(recording) if isinstance(fact, LostIo)), None)
    return f"step {step.name}: {in_words(lost)}" if lost else None
