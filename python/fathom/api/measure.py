"""Methods on targets: planned, run, repeated and resumed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Unpack

from fathom import session
from fathom.api.named import method_of
from fathom.api.options import (
    ReviewOptions,
    RunOptions,
    SessionOptions,
    check_options,
    check_repeats,
    checked_size_bytes,
    initiator_for,
    path_of,
    session_options,
)
from fathom.load.initiator import ThisMachine
from fathom.plan.plan import Plan, plan_of
from fathom.plan.power_states import in_each_state
from fathom.plan.prepare import Words, prepare
from fathom.plan.replay import Replay
from fathom.plan.review import review_method, review_targets
from fathom.runs.home import find_run
from fathom.runs.reader import Run
from fathom.targets.purge import purge_of


def run(method: str | Path, targets: Words, **options: Unpack[RunOptions]) -> Run:
    """Runs a method on one target or several and returns the run.

    It is given by its name, the path of its file, its text in TOML, or a fio command in quotes.

    A mapping gives each target the name by which the method's steps know it. Each thing that an imported file or
    command differs in is an `ImportedWarning`.

    Raises FathomError; whatever was measured before the error is in the run directory.
    """
    return repeat_run(method, targets, 1, **options)[0]


def repeat_run(method: str | Path, targets: Words, times: int, **options: Unpack[RunOptions]) -> list[Run]:
    """Runs a method `times` times, each with another seed, and returns the runs. `write_report` pools them.

    Raises FathomError, as `run`.
    """
    state = options.get("power_state")
    return _run_in_each(method, targets, None if state is None else str(state), times, options)


def run_in_power_states(
    method: str | Path,
    targets: Words,
    states: Sequence[int] | Literal["all"] = "all",
    **options: Unpack[RunOptions],
) -> list[Run]:
    """Runs a method once in each NVMe power state and returns the runs. `write_report` lays them side by side.

    Raises RefusedError, before the first run, where a target lacks one of the states; FathomError, as `run`.
    """
    word = states if isinstance(states, str) else ",".join(map(str, states))
    return _run_in_each(method, targets, word, 1, options)


def _run_in_each(
    method: str | Path, targets: Words, states: str | None, times: int, options: RunOptions
) -> list[Run]:
    """Runs a method in each power state that the word names, or once where there is none; each `times` times."""
    check_options(options, RunOptions)
    check_repeats(times)
    parsed = method_of(method, targets, options.get("replay"), quick=options.get("quick", False))
    size, together = checked_size_bytes(options.get("size_bytes")), options.get("together", False)
    purge = purge_of(options.get("purge", "trim"))
    with initiator_for(options) as initiator:
        found = in_each_state(
            states,
            initiator,
            lambda state: prepare(parsed, targets, initiator, size, together=together, power_state=state),
        )
        return [
            run
            for state, chosen in found
            for run in session.repeat_run(
                parsed, chosen, session_options(options, initiator, purge, state), times
            )
        ]


def plan_run(
    method: str | Path,
    targets: Words,
    *,
    quick: bool = False,
    size_bytes: int | None = None,
    together: bool = False,
    replay: Replay | None = None,
) -> list[Plan]:
    """Returns what `run` would do to each target: steps, seconds, bytes written. Touches nothing.

    Raises UsageError for a method or a target that is none.
    """
    parsed = method_of(method, targets, replay, quick=quick)
    chosen = prepare(parsed, targets, ThisMachine(), checked_size_bytes(size_bytes), together=together)
    return [plan_of(parsed, target) for target in chosen]


def review(
    targets: Words = (), *, full: bool = False, repeats: int = 1, **options: Unpack[ReviewOptions]
) -> list[Run]:
    """Runs the review on targets, or on a scratch file beside four twins, and returns the runs, one per repeat.

    Raises FathomError, as `run`.
    """
    check_options(options, ReviewOptions)
    check_repeats(repeats)
    method = review_method(full=full)
    with initiator_for(options) as initiator:
        chosen = review_targets(
            method,
            targets,
            path_of(options.get("out")),
            checked_size_bytes(options.get("size_bytes")),
            initiator,
        )
        return session.repeat_run(method, chosen, session_options(options, initiator), repeats)


def resume_run(run: str | Path, **options: Unpack[SessionOptions]) -> Run:
    """Goes on with a run after a crash or an interrupt. What is finished is kept.

    Raises RefusedError where a target is another, or the run still goes on; FathomError, as `run`.
    """
    check_options(options, SessionOptions)
    with initiator_for(options) as initiator:
        return session.resume_run(find_run(str(run)), session_options(ReviewOptions(**options), initiator))
