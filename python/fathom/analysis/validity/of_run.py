"""Rules on the run as a whole: how it ended, how it was shortened, what its load generator and samplers said."""

from collections.abc import Iterable

from fathom.analysis.validity.note import REAL, Note
from fathom.analysis.view import RunView


def unfinished(view: RunView) -> Iterable[Note]:
    """The run did not come to its end."""
    status = view.document.status
    if status in ("interrupted", "failed"):
        text = f"the run was {status}: what is shown is what was measured until then"
        yield Note("unfinished", "warning", None, None, text, f"`fathom resume {view.document.id}` goes on")


def quick(view: RunView) -> Iterable[Note]:
    """The run was shortened."""
    quick = view.document.quick
    if quick:
        volumes = f", volumes by {quick.divide_volumes_by:g}" if quick.divide_volumes_by != 1 else ""
        yield Note(
            "quick-run",
            "warning",
            None,
            None,
            f"quick run: durations are divided by {quick.divide_times_by:g}{volumes} "
            f"and preconditioning by {quick.divide_preconditioning_by:g}; steady state is not claimed",
            "before quoting a figure, run without --quick, or review with --full",
        )


def backend(view: RunView) -> Iterable[Note]:
    """What the load generator had to say."""
    said: dict[tuple[str, str], list[str]] = {}
    for remark in view.remarks:
        said.setdefault((remark.target, remark.text), []).append(remark.step)
    for (target, text), steps in said.items():
        fallback = "instead of io_uring" in text
        yield Note(
            "io-uring-fallback" if fallback else "load-generator",
            "warning",
            target,
            steps[0] if len(set(steps)) == 1 else None,
            text,
            "allow io_uring (container profile, kernel.io_uring_disabled) and repeat" if fallback else "",
        )


def not_measured(view: RunView) -> Iterable[Note]:
    """What nobody could sample."""
    for target in (one.name for one in view.document.targets if one.kind in (*REAL, "array")):
        pairs = [text.partition(": ") for text in view.not_measured.get(target, ())]
        if pairs:
            listed = "; ".join(f"{subject} ({why})" for subject, _, why in pairs)
            text = f"not measured, and nothing estimated in its place: {listed}"
            yield Note("not-measured", "info", target, None, text, "")
