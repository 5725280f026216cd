"""Rules on the run as a whole: how it ended, whether it was shortened, and remarks of load generator and samplers."""

from collections.abc import Iterable, Mapping

from fathom.analysis.run_view import RunView
from fathom.analysis.validity.note import Note
from fathom.output.text import agreeing, in_others
from fathom.runs.remarks import (
    CpuWait,
    DoubtfulTimes,
    Fact,
    FailedIo,
    Fallback,
    LateArrivals,
    LeftOut,
    LostIo,
    ShortWindow,
    StoodStill,
    Stopped,
    in_words,
)
from fathom.targets.not_measured import NotMeasured
from fathom.targets.target import REAL_KINDS
from fathom.traces.clock import TimesFault

WAITS = "cpu-wait"
"""Rule of the note on a load generator that waits for cores."""
_SAID: Mapping[type[Fact], tuple[str, str]] = {
    Fallback: (
        "io-uring-fallback",
        "allow io_uring (container profile, kernel.io_uring_disabled) and repeat",
    ),
    StoodStill: ("stood-still", "repeat, and leave the program running and its machine awake"),
}
"""Rule and advice of the notes on other remarks of a load generator."""


def unfinished(view: RunView) -> Iterable[Note]:
    """Yields a note where the run did not complete."""
    status = view.document.status
    if status in ("interrupted", "failed"):
        text = f"the run was {status}: the figures cover what was measured until then"
        yield Note(
            "unfinished", "warning", None, None, text, f"`fathom resume {view.document.id}` continues it"
        )


def quick(view: RunView) -> Iterable[Note]:
    """Yields a note where the run was shortened."""
    quick = view.document.quick
    if quick:
        volumes = f", volumes by {quick.divide_volumes_by:g}" if quick.divide_volumes_by != 1 else ""
        yield Note(
            "quick-run",
            "warning",
            None,
            None,
            f"quick run: durations are divided by {quick.divide_times_by:g}{volumes} and preconditioning by "
            f"{quick.divide_preconditioning_by:g}; steady state is not claimed",
            "before you quote a figure, run without --quick, or review with --full",
        )


def backend(view: RunView) -> Iterable[Note]:
    """Yields notes with the load generator's remarks.

    Waits for cores and late arrivals have one per target, on the worst step. Steps that were left out have one per
    target and reason.
    """
    from_hosts = {one.name for one in view.document.targets if view.document.hosts_of(one)}
    said: dict[tuple[str, Fact], list[str]] = {}
    left_out: dict[tuple[str, str], list[str]] = {}
    short: dict[tuple[str, str], list[tuple[float, str, Fact, str]]] = {}
    for remark in view.remarks:
        match remark.fact:
            case CpuWait(share=amount):
                do = (
                    "stop other programs on the hosts, and give each host a machine of its own"
                    if remark.target in from_hosts
                    else _for_cores(view, remark.target, remark.step)
                )
                own = short.setdefault((remark.target, remark.fact.code), [])
                own.append((amount, remark.step, remark.fact, do))
            case LateArrivals(mean_ns=amount):
                do = "offer less, or load from more threads on more cores"
                own = short.setdefault((remark.target, remark.fact.code), [])
                own.append((amount, remark.step, remark.fact, do))
            case LeftOut(reason=why):
                left_out.setdefault((remark.target, why), []).append(remark.step)
            case FailedIo() | LostIo() | ShortWindow() | Stopped() | DoubtfulTimes():
                pass
            case _:
                said.setdefault((remark.target, remark.fact), []).append(remark.step)
    for (target, fact), steps in said.items():
        rule, do = _SAID.get(type(fact), ("load-generator", ""))
        step = steps[0] if len(set(steps)) == 1 else None
        yield Note(rule, "warning", target, step, in_words(fact), do)
    for (target, why), steps in left_out.items():
        names = list(dict.fromkeys(view.called(step, any_round=True) for step in steps))
        text = f"{'steps' if len(names) > 1 else 'step'} {'; '.join(names)} left out: {why}"
        yield Note("left-out", "warning", target, None, text, "")
    for (target, _), found in short.items():
        _, step, fact, do = max(found, key=lambda one: one[:2])
        others = in_others("less", len({step for _, step, *_ in found}) - 1, "step")
        yield Note(WAITS, "warning", target, step, f"{in_words(fact)}{others}", do)


def _for_cores(view: RunView, target: str, step: str) -> str:
    """Returns what gives the load threads of a step cores: fewer threads, where they are more than the cores."""
    allowed = view.document.environment.get("threads_allowed")
    drives = next(
        (len(view.document.drives_of(one)) for one in view.document.targets if one.name == target), 0
    )
    threads = sum(job.threads for job in view.workloads(step)) * max(1, drives)
    if isinstance(allowed, int) and threads > allowed:
        cores = agreeing(str(allowed), "core", "cores")
        return f"{threads} load threads share {cores}: load with fewer, each with a larger iodepth"
    return "stop other programs on this machine"


def doubtful_times(view: RunView) -> Iterable[Note]:
    """Yields a note where a replay kept times that mislead."""
    for remark in view.remarks:
        if isinstance(remark.fact, DoubtfulTimes):
            do = (
                "run the job of `fathom fit`, which spreads the I/Os over the clock's step, or replay a finer trace"
                if remark.fact.doubt.fault is TimesFault.COARSE
                else "convert the trace with --columns, which names the unit, and replay that"
            )
            yield Note("doubtful-times", "warning", remark.target, remark.step, in_words(remark.fact), do)


def not_measured(view: RunView) -> Iterable[Note]:
    """Yields a note on what could not be sampled."""
    for target in (one.name for one in view.document.targets if one.kind in (*REAL_KINDS, "array")):
        found = view.not_measured.get(target, ())
        if found:
            listed = "; ".join(_unmeasured(one, target) for one in found)
            text = f"not measured and not estimated: {listed}"
            yield Note("not-measured", "info", target, None, text, "")


def _unmeasured(one: NotMeasured, target: str) -> str:
    """Returns the quantity and the reason. The note names its target already."""
    if one.quantity is None:
        return one.why
    subject = one.quantity if one.of == target else one.subject
    return f"{subject} ({one.reason})"
