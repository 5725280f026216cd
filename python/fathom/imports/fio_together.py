"""Jobs of fio that depend on others of their step: `flow` keeps them in step, `exitall` ends them together.

Meanings are those of `flow.c`, and of `fio_terminate_threads` (`libfio.c`), of fio 3.33.
"""

from collections.abc import Sequence
from typing import Protocol

from fathom.errors import UsageError
from fathom.imports.fio_file import FioJob
from fathom.imports.fio_given import GivenOptions
from fathom.method.toml_text import Value, duration_text

EXIT_WHAT = ("group", "stonewall", "all")


class Dependent(Protocol):
    """What is asked of a job here."""

    job: FioJob
    jobs: int
    flow: int
    flow_id: int
    flow_pause_s: float
    exits_all: bool
    exit_what: str
    until: dict[str, Value]

    def place(self, key: str) -> str:
        """Returns where the file says an option."""
        ...


def exit_what(given: GivenOptions) -> str:
    """Returns which jobs `exitall` ends with this one. Raises UsageError."""
    what = given.text("exit_what", "group")
    if what not in EXIT_WHAT:
        raise given.error(
            "exit_what", f"{what} is none of its values", f"write one of {', '.join(EXIT_WHAT)}"
        )
    return what


def check_flows(groups: Sequence[Sequence[Dependent]]) -> None:
    """Raises UsageError where jobs with `flow` do not all begin at once: fio counts the weights of later ones too."""
    for flow_id in {one.flow_id for made in groups for one in made if one.flow}:
        own = [[one for one in made if one.flow and one.flow_id == flow_id] for made in groups]
        with_flow = [made for made in own if made]
        if len(with_flow) > 1:
            late = with_flow[1][0]
            raise UsageError(
                f"{late.place('flow')}: keeps step with [{with_flow[0][0].job.name}], which runs at another time",
                "give a flow_id of its own",
            )


def flow_keys(made: Sequence[Dependent], files: int) -> list[dict[str, Value]]:
    """Returns the stream's key of each job that keeps step with others. Raises UsageError."""
    several = [one for one in made if one.flow]
    if len(several) < 2:
        for one in several:
            if one.jobs > 1:
                raise UsageError(
                    f"{one.place('flow')}: keeps numjobs in step, which threads of one job do not",
                    "give each a section of its own",
                )
        return [{} for _ in made]
    if len({one.flow_id for one in several}) > 1:
        raise UsageError(
            f"{several[1].place('flow_id')}: jobs at once keep step by twos", "give all the same flow_id"
        )
    if files > 1:
        raise UsageError(
            f"{several[1].place('flow')}: jobs on different files do not keep step here",
            "give all the same filename",
        )
    return [{"flow": _flow(one)} if one.flow else {} for one in made]


def _flow(one: Dependent) -> Value:
    if not one.flow_pause_s:
        return one.flow
    return {"weight": one.flow, "pause": duration_text(one.flow_pause_s)}


def exit_keys(made: Sequence[Dependent], files: int, *, is_last: bool) -> list[dict[str, Value]]:
    """Returns the stream's key of each job that ends all others of the step, where `exitall` is on. Raises UsageError
    where a job would end some of them, or later ones.
    """
    for one in made:
        if one.exit_what == "all" and not is_last:
            raise UsageError(
                f"{one.place('exit_what')}: all: ends jobs that have not begun", "write stonewall, or group"
            )
    alone = len(made) == files == made[0].jobs == 1
    if alone or all(set(one.until) == {"time"} for one in made):
        return [{} for _ in made]
    return [_exit(made, number, files) for number in range(len(made))]


def _exit(made: Sequence[Dependent], number: int, files: int) -> dict[str, Value]:
    one = made[number]
    ends_by_time = set(one.until) == {"time"}
    if one.exit_what != "group" or not any(map(_begins_group, made[1:])):
        if files > 1 or len(made) == 1:
            raise UsageError(
                f"{one.place('exitall')}: ends jobs when another one ends, and "
                f"[{one.job.name}] does not end by its runtime alone",
                "give all jobs time_based and a runtime",
            )
        return {} if ends_by_time else {"exitall": True}
    last = number + 1 == len(made) or _begins_group(made[number + 1])
    if not (last and (number == 0 or _begins_group(one))):
        raise UsageError(
            f"{one.place('exit_what')}: [{one.job.name}] ends some of the jobs at once, and not all",
            "write exit_what=stonewall",
        )
    return {}


def _begins_group(one: Dependent) -> bool:
    given = one.job.options.get("new_group")
    return given is not None and given.value != "0"


def group_notes(made: Sequence[Dependent]) -> list[str]:
    """Returns notes on jobs that are a group of their own: fio ends the rest of it with the first of `numjobs`."""
    if not any(map(_begins_group, made[1:])):
        return []
    return [
        f"{one.place('numjobs')}: each of [{one.job.name}] does its part, where fio ends them with the first"
        for one in made
        if one.jobs > 1 and one.exit_what == "group" and set(one.until) != {"time"}
    ]


def idle_notes(made: Sequence[Dependent], *, exits: bool) -> list[str]:
    """Returns notes on options without effect in fio either: no job of the file `exits`, or none keeps step."""
    several = sum(one.flow > 0 for one in made) > 1
    idle = {
        "exit_what": (not exits, "has no effect without exitall"),
        "flow": (not several, "has no effect without another job at once that has it"),
        "flow_sleep": (not several, "has no effect without flow"),
        "flow_id": (not several, "has no effect without flow"),
    }
    return [
        f"{one.place(key)}: {why}"
        for one in made
        for key, (has_none, why) in idle.items()
        if has_none and key in one.job.options
    ]
