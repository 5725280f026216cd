"""Method + targets -> what will happen: steps, bytes written, time. Touches nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.curve import MARK
from fathom.method import Job, Method
from fathom.targets.target import Target
from fathom.text import capacity, duration, size

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class PlannedStep:
    """What one step will do to one target. `None`: it depends on the target's speed."""

    target: str
    number: int
    step: str
    kind: str
    label: str
    time_s_max: float | None
    written_bytes: int | None
    destructive: bool


def plan_steps(method: Method, targets: Sequence[Target]) -> list[PlannedStep]:
    """Every step on every target, in the order of execution."""
    return [
        PlannedStep(
            target=target.name,
            number=number,
            step=step.name,
            kind=step.kind,
            label=step.label,
            time_s_max=step.job.time_s,
            written_bytes=_written(step.job, target),
            destructive=step.job.destructive,
        )
        for target in targets
        for number, step in enumerate(method.steps, 1)
    ]


def _written(job: Job, target: Target) -> int | None:
    """Bytes that a step writes, where its end is given in bytes; 0 for a step that only reads."""
    if not job.destructive:
        return 0
    if job.region_multiple is not None:
        return round(job.region_multiple * job.region_size(target.capacity_bytes))
    return job.bytes


def print_plan(console: "Console", method: Method, targets: Sequence[Target]) -> None:
    """The plan as tables, one per target."""
    from rich.table import Table

    shortened = ""
    if quick := method.quick:
        shortened = (
            f" (quick: times / {quick.divide_times_by:g}, preconditioning / {quick.divide_preconditioning_by:g}, "
            f"volumes / {quick.divide_volumes_by:g})"
        )
    console.print(f"[bold]{method.title}[/]{shortened}\n{method.summary}", highlight=False)
    for target in targets:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", title_justify="left")
        for column, justify in (
            ("#", "right"),
            ("step", "left"),
            ("what", "left"),
            ("at most", "right"),
            ("writes", "right"),
        ):
            table.add_column(column, justify=justify)  # pyright: ignore[reportArgumentType]
        planned = plan_steps(method, [target])
        for members in _curves_together(planned):
            table.add_row(*_cells(members))
        known_s = sum(step.time_s_max or 0 for step in planned)
        fixed = sum(step.written_bytes or 0 for step in planned)
        console.print(
            f"\n[bold]{target.label}[/] ({target.name}, {capacity(target.capacity_bytes)})", highlight=False
        )
        console.print(table)
        console.print(
            f"at most {duration(known_s)} of timed steps, plus the time to write {size(fixed)}; "
            "timed writes add what the target's speed allows",
            style="dim",
            highlight=False,
        )


def _curves_together(planned: Sequence[PlannedStep]) -> list[list[PlannedStep]]:
    """Each step by itself, but the points of one curve together."""
    groups: list[list[PlannedStep]] = []
    for step in planned:
        if step.kind == "point" and groups[-1][-1].kind == "point":
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _cells(members: Sequence[PlannedStep]) -> tuple[str, str, str, str, str]:
    first, last = members[0], members[-1]
    if first.kind != "point":
        return str(first.number), first.step, first.label, _time(first), _volume(first)
    curve, _, low = first.step.partition(MARK)
    high = last.step.partition(MARK)[2]
    what = f"{len(members)} points of that curve, at shares of its maximum"
    time_s = sum(step.time_s_max or 0 for step in members)
    numbers = f"{first.number}-{last.number}"
    return numbers, f"{curve}{MARK}{low} ... {high}", what, duration(time_s), _volume(first)


def _time(step: PlannedStep) -> str:
    return "-" if step.time_s_max is None else duration(step.time_s_max)


def _volume(step: PlannedStep) -> str:
    if not step.destructive:
        return "nothing"
    return "by time" if step.written_bytes is None else size(step.written_bytes)
