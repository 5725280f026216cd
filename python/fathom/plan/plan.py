"""Method + targets -> what will happen: steps, bytes written, wear, time. Touches nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fathom.analysis.surprises import RATED_DEPTH
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.load.resolve import ensure_simulable
from fathom.method.curve import MARK
from fathom.method.method import Method, Step
from fathom.method.rounds import Round
from fathom.output.text import capacity, duration, percent, without_document
from fathom.plan.expect import Endurance, endurance_of, expect, rating_of
from fathom.plan.fit import check_fits, check_measures, inapplicable
from fathom.plan.power_states import states_of
from fathom.targets.claim import check_target
from fathom.targets.purge import Purge, check_purge
from fathom.targets.target import Target

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class PlannedStep:
    """What one step will do to one target (`fathom.plan.expect`). None where it depends on the target's speed."""

    number: int
    step: str
    kind: str
    label: str
    time_s: float | None
    written_bytes: int | None
    bound: Literal["most", "least"] | None = None
    round: Round | None = None
    left_out: str | None = None
    """Why a run leaves the step out; it then takes no time and writes nothing."""

    @property
    def may_be_left_out(self) -> bool:
        """Whether a steady target needs no such step."""
        place = self.round
        return self.kind == "precondition" or bool(place and place.judged and place.number > place.window)


@dataclass(frozen=True)
class Plan:
    """Every step on one target, in the order of execution, and the target's rated endurance."""

    target: Target
    steps: tuple[PlannedStep, ...]
    rated: bool
    endurance: Endurance | None

    @property
    def time_s(self) -> float:
        """Time in s of all steps whose time is known."""
        return sum(step.time_s or 0.0 for step in self.steps)

    @property
    def least_time_s(self) -> float:
        """Least time in s: preconditions are steady at once, and rounds as soon as they can be judged."""
        return sum(step.time_s or 0.0 for step in self.steps if not step.may_be_left_out)

    @property
    def written_bytes(self) -> int:
        """Bytes written by all steps whose volume is known."""
        return sum(step.written_bytes or 0 for step in self.steps)

    @property
    def whole(self) -> bool:
        """Whether time and volume of every step are known."""
        return all(step.time_s is not None and step.written_bytes is not None for step in self.steps)

    @property
    def wear_pct(self) -> float | None:
        """Host writes in percent of the rated endurance; None where either is unknown."""
        if self.endurance is None or not self.whole:
            return None
        return 100 * self.written_bytes / self.endurance.written_bytes


def plan_of(method: Method, target: Target) -> Plan:
    """Returns the plan of a method on a target."""
    drive = rating_of(target)
    steps: list[PlannedStep] = []
    left_out: dict[str, str] = {}
    for number, step in method.steps_on(target):
        if reason := _left_out(step, target, left_out):
            left_out[step.name] = reason
            steps.append(
                PlannedStep(number, step.name, step.kind, step.label, 0.0, 0, None, step.round, reason)
            )
            continue
        expected = expect(step, target, drive)
        steps.append(
            PlannedStep(
                number,
                step.name,
                step.kind,
                step.label,
                expected.time_s,
                expected.written_bytes,
                expected.bound,
                step.round,
            )
        )
    return Plan(target, tuple(steps), drive is not None, endurance_of(drive, max(1, len(target.parts))))


def _left_out(step: Step, target: Target, before: Mapping[str, str]) -> str | None:
    """Returns why a run leaves the step out on the target; None where it runs. `before` are those left out so far."""
    if reason := inapplicable(step, target):
        return reason
    return before.get(step.offered.of) if step.offered else None


def print_plan(
    console: "Console",
    method: Method,
    targets: Sequence[Target],
    repeats: int = 1,
    purge: Purge = "trim",
    power_state: str | None = None,
) -> None:
    """Prints the plan as tables, one per target, each with the sum over all repeats."""
    from rich.table import Table
    from rich.text import Text

    shortened = ""
    if quick := method.quick:
        shortened = (
            f" (quick: times / {quick.divide_times_by:g}, preconditioning / {quick.divide_preconditioning_by:g}"
            + (f", volumes / {quick.divide_volumes_by:g}" if quick.divide_volumes_by != 1 else "")
            + ")"
        )
    console.print(Text.assemble((method.title, "bold"), f"{shortened}\n{method.summary}"))
    for target in targets:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", title_justify="left")
        for column, justify in (
            ("#", "right"),
            ("step", "left"),
            ("what", "left"),
            ("time", "right"),
            ("writes", "right"),
        ):
            table.add_column(column, justify=justify)  # pyright: ignore[reportArgumentType]
        ensure_simulable(target)
        plan = plan_of(method, target)
        for members in _together(plan.steps):
            table.add_row(*_cells(members))
        what = f" ({target.name}, {capacity(target.capacity_bytes)})"
        console.print(Text.assemble("\n", _bound(target), (target.label, "bold"), what))
        console.print(table)
        lines = [
            *_left_out_lines(plan.steps),
            *_totals(plan),
            *_of_runs(plan, repeats, _states(target, power_state)),
        ]
        if target.kind == "twin":
            lines.append(_of_twin(method))
        if not method.writes_to(target):
            lines.append("only read: nothing is written to it")
        lines += _of_purge(method, target, purge)
        for line in lines:
            console.print(line, style="dim", highlight=False, soft_wrap=True)
        for note in target.notes_before_run:
            console.print(note, style="dim", highlight=False, soft_wrap=True, markup=False)
        if refusal := _refusal(target, targets, method, purge, power_state):
            console.print(
                f"would not run: {refusal}",
                style="yellow",
                highlight=False,
                soft_wrap=True,
                markup=False,
            )


def _bound(target: Target) -> str:
    return f"{target.bound}: " if target.bound else ""


def _refusal(
    target: Target, targets: Sequence[Target], method: Method, purge: Purge, power_state: str | None
) -> FathomError | None:
    """Returns why a run on `targets` would be refused now because of one of them; None where it would begin.

    Reasons are a region that does not fit, nothing to measure on any target, or a device without its token.
    """
    try:
        check_measures(method, targets)
        check_fits(method, target)
        check_target(target, writes=method.writes_to(target))
        check_purge(target, purge)
        if power_state is not None:
            states_of(power_state, [target])
    except (UsageError, RefusedError) as error:
        return error
    return None


def _of_purge(method: Method, target: Target, purge: Purge) -> list[str]:
    """Returns a sentence on how purge steps erase, if not by TRIM."""
    if purge == "trim":
        return []
    if not any(step.kind == "purge" for step in method.steps):
        return [f"--purge {purge} would be refused: the method has no purge step"]
    if target.kind == "twin":
        return ["a purge resets a twin, whatever --purge says"]
    return [f"purge by NVMe {purge}: writes nothing, and takes an unknown time"]


def _left_out_lines(planned: Sequence[PlannedStep]) -> list[str]:
    """Returns a line for each reason that leaves steps out, with their numbers."""
    numbers: dict[str, list[int]] = {}
    for step in planned:
        if step.left_out:
            numbers.setdefault(step.left_out, []).append(step.number)
    return [
        f"{'step' if len(found) == 1 else 'steps'} {_ranges(found)} would be left out: {reason}"
        for reason, found in numbers.items()
    ]


def _ranges(numbers: Sequence[int]) -> str:
    """Returns ascending numbers, those without a gap between them as `7-12`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] + 1 == number:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return ", ".join("-".join(map(str, one)) for one in ranges)


def _totals(plan: Plan) -> list[str]:
    if not plan.whole:
        rating = "rated speed of such I/O is" if plan.rated else "rated speed and endurance are"
        return [_known(plan), f"wear unknown: no {rating} known for this target"]
    settles = any(step.kind == "precondition" or step.round for step in plan.steps)
    bounds = {step.bound for step in plan.steps if step.bound}
    if settles:
        bounds.discard("least")
    bound = f"at {bounds.pop()} " if len(bounds) == 1 else ""
    lines = [
        f"about {duration(plan.time_s)}, {bound}{capacity(plan.written_bytes)} written"
        + (f", at the rated speed of the drive{_why(plan)}" if plan.rated else "")
        + (
            f"; at least {duration(plan.least_time_s)}: preconditioning and rounds may end sooner"
            if settles
            else ""
        )
    ]
    if plan.endurance is None or plan.wear_pct is None:
        return [*lines, "wear unknown: no rated endurance is known for this target"]
    life = plan.endurance
    rated = f"{life.written_bytes / 1e12:,.0f} TB ({life.basis}; {without_document(life.source)})"
    return [*lines, f"wear {bound or 'about '}{plan.wear_pct:.2g} % of the rated life of {rated}"]


def _why(plan: Plan) -> str:
    """Returns why some steps write less or more than at the rated speed."""
    bounds = {step.bound for step in plan.steps}
    reasons = [
        *([f"fewer than {RATED_DEPTH} in flight write less"] if "most" in bounds else ()),
        *(["random writes to a part of it may be faster"] if "least" in bounds else ()),
    ]
    return f" ({', '.join(reasons)})" if reasons else ""


def _known(plan: Plan) -> str:
    """Returns the known time and volume where the rest depends on the target's speed."""
    timeless = sum(step.time_s is None for step in plan.steps)
    by_time = sum(step.written_bytes is None for step in plan.steps)
    time = f"at most {duration(plan.time_s)}"
    if timeless == len(plan.steps):
        time = "the time depends on the target's speed"
    elif timeless:
        time += f", not counting {_steps(timeless)} ended by volume"
    if not plan.written_bytes:
        return f"{time}; the volume written depends on the target's speed"
    written = f"{capacity(plan.written_bytes)} written"
    if by_time:
        written += f", not counting {_steps(by_time)} ended by time"
    return f"{time}; {written}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _of_twin(method: Method) -> str:
    """Returns why a twin takes less time and writes less than the plan, which is about the drive."""
    precisions = [step.precision for step in method.steps if step.precision]
    early = (
        f". It ends windows once rate and latency are known to {percent(max(precisions))}"
        if precisions
        else ""
    )
    return f"this describes the drive itself: a twin may simulate a slice of it, in virtual time{early}"


def _of_runs(plan: Plan, repeats: int, states: int) -> list[str]:
    """Returns the sum over all runs, where there are several."""
    kinds = ((states, "power states"), (repeats, "repeats"))
    if not (what := ", ".join(f"{count} {kind}" for count, kind in kinds if count > 1)):
        return []
    what += " of each" if repeats > 1 and states > 1 else ""
    runs = repeats * states
    if not plan.whole:
        return [f"{what}: {runs} times all this"]
    wear = "" if plan.wear_pct is None else f", wear {runs * plan.wear_pct:.2g} %"
    volume = capacity(runs * plan.written_bytes)
    return [f"{what}: {duration(runs * plan.time_s)}, {volume} written{wear}"]


def _states(target: Target, word: str | None) -> int:
    """Returns in how many power states it would run; 1 where it would be refused."""
    try:
        return len(states_of(word, [target])) if word is not None else 1
    except (UsageError, RefusedError):
        return 1


def _together(planned: Sequence[PlannedStep]) -> list[list[PlannedStep]]:
    """Returns each step by itself, but the points of one curve together, and all rounds behind the first."""
    groups: list[list[PlannedStep]] = []
    for step in planned:
        before = groups[-1][-1] if groups else None
        if before and ((step.kind == before.kind == "point") or _repeats(before, step)):
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _repeats(before: PlannedStep, step: PlannedStep) -> bool:
    """Returns whether both are of later rounds of the same."""
    one, other = before.round, step.round
    return bool(one and other and one.of == other.of and one.number > 1)


def _cells(members: Sequence[PlannedStep]) -> tuple[str, str, str, str, str]:
    first, last = members[0], members[-1]
    if first.round and first.round.number > 1:
        place, numbers = first.round, f"{first.number}-{last.number}"
        known = [step.time_s for step in members if step.time_s is not None]
        until = f"until {', '.join(place.track)} are steady" if place.judged else "counted, not judged"
        what = f"the same for rounds 2 to {place.most}, {until}"
        time = "left out" if all(step.left_out for step in members) else duration(sum(known))
        return numbers, f"{place.of}.02 ...", what, time, _volume(members)
    if first.kind != "point":
        return str(first.number), first.step, first.label, _time(first), _volume(members)
    curve, _, low = first.step.partition(MARK)
    high = last.step.partition(MARK)[2]
    what = f"{len(members)} points of that curve, at shares of its maximum"
    time_s = sum(step.time_s or 0 for step in members)
    time = "left out" if first.left_out else duration(time_s)
    numbers = f"{first.number}-{last.number}"
    return numbers, f"{curve}{MARK}{low} ... {high}", what, time, _volume(members)


def _time(step: PlannedStep) -> str:
    if step.left_out:
        return "left out"
    return "-" if step.time_s is None else duration(step.time_s)


def _volume(members: Sequence[PlannedStep]) -> str:
    volumes = [step.written_bytes for step in members]
    known = [volume for volume in volumes if volume is not None]
    if len(known) < len(volumes):
        return "by time"
    return capacity(sum(known)) if any(known) else "nothing"
