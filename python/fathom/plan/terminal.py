"""A plan in the terminal: a table for each target, and beneath it the sums, the wear and what would be refused."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fathom.analysis.surprises import RATED_DEPTH
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.load.resolve import ensure_simulable
from fathom.method.curve import place_of
from fathom.method.method import Method
from fathom.output.text import (
    LEAST_SHOWN,
    agreeing,
    capacity,
    digits,
    duration,
    percent,
    percent_digits,
    without_document,
)
from fathom.plan.fit import check_fits, check_measures
from fathom.plan.plan import Plan, PlannedStep, plan_of
from fathom.plan.power_states import states_of
from fathom.targets.claim import check_target
from fathom.targets.file_room import check_room
from fathom.targets.purge import Purge, check_purge
from fathom.targets.target import Target


def print_plan(
    console: Console,
    method: Method,
    targets: Sequence[Target],
    repeats: int = 1,
    purge: Purge = "trim",
    power_state: str | None = None,
) -> None:
    """Prints the plan as tables, one per target, each with the sum over all repeats."""
    console.print(Text.assemble((method.title, "bold"), _shortened(method)))
    if method.summary:
        console.print(Text(method.summary))
    for target in targets:
        ensure_simulable(target)
        plan = plan_of(method, target)
        what = f" ({target.name}, {capacity(target.capacity_bytes)})"
        console.print(Text.assemble("\n", _bound(target), (target.label, "bold"), what))
        console.print(_table(plan))
        for line in _beneath(plan, method, repeats, purge, power_state):
            console.print(line, style="dim", highlight=False, soft_wrap=True, markup=False)
        if refusal := _refusal(target, targets, method, purge, power_state):
            _print_refusal(console, refusal)
    if len(targets) > 1 and (refusal := _no_room(targets)):
        _print_refusal(console, refusal)


def _print_refusal(console: Console, refusal: FathomError) -> None:
    console.print(f"would not run: {refusal}", style="yellow", highlight=False, soft_wrap=True, markup=False)


def _no_room(targets: Sequence[Target]) -> FathomError | None:
    """Returns why targets that fit each by itself do not together; None where they do, or one does not."""
    try:
        for target in targets:
            check_room([target])
    except FathomError:
        return None
    try:
        check_room(targets)
    except FathomError as error:
        return error
    return None


def _shortened(method: Method) -> str:
    """Returns by what a quick run is shortened, in brackets; empty for a full run."""
    quick = method.quick
    if quick is None:
        return ""
    volumes = f", volumes / {quick.divide_volumes_by:g}" if quick.divide_volumes_by != 1 else ""
    return (
        f" (quick: times / {quick.divide_times_by:g}, "
        f"preconditioning / {quick.divide_preconditioning_by:g}{volumes})"
    )


def _table(plan: Plan) -> Table:
    """Returns a row for each step, but one for all points of a curve and for all later rounds."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", title_justify="left")
    for column in ("#", "step", "what", "time", "writes"):
        table.add_column(column, justify="right" if column in ("#", "time", "writes") else "left")
    for members in _together(plan.steps):
        table.add_row(*_cells(members))
    return table


def _beneath(
    plan: Plan, method: Method, repeats: int, purge: Purge, power_state: str | None
) -> Iterator[str]:
    """Yields what stands beneath the table of a target: what is left out, the sums, and what to know of the target."""
    target = plan.target
    yield from _left_out_lines(plan.steps)
    yield from _totals(plan)
    yield from _of_runs(plan, repeats, _states(target, power_state))
    if target.kind == "twin":
        yield _of_twin(method)
    if not method.writes_to(target):
        yield "only read: nothing is written to it"
    yield from _of_purge(method, target, purge)
    yield from target.notes_before_run


def _bound(target: Target) -> str:
    return f"{target.bound}: " if target.bound else ""


def _refusal(
    target: Target, targets: Sequence[Target], method: Method, purge: Purge, power_state: str | None
) -> FathomError | None:
    """Returns why a run on `targets` would be refused now because of one of them; None where it would begin.

    Reasons are a region that does not fit, nothing to measure on any target, a device without its token, or no room.
    """
    try:
        check_measures(method, targets)
        check_fits(method, target)
        check_target(target, writes=method.writes_to(target))
        check_room([target])
        check_purge(target, purge)
        if power_state is not None:
            states_of(power_state, [target])
    except FathomError as error:
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
    bound = _bound_of(plan)
    lines = [
        f"about {duration(plan.time_s)}, {bound}{capacity(plan.written_bytes)} written"
        + (f", at the rated speed of the drive{_why(plan)}" if plan.rated else "")
        + (
            f"; at least {duration(plan.least_time_s)}: preconditioning and rounds may end sooner"
            if _settles(plan)
            else ""
        )
    ]
    if plan.endurance is None or plan.wear_pct is None:
        return [*lines, "wear unknown: no rated endurance is known for this target"]
    life = plan.endurance
    rated = f"{life.written_bytes / 1e12:,.0f} TB ({life.basis}; {without_document(life.source)})"
    wear = percent_digits(plan.wear_pct / 100, 2)
    # `< 0.0001 %` is a bound already.
    about = (bound or "about ") if plan.wear_pct >= LEAST_SHOWN else ""
    return [*lines, f"wear {about}{wear} of the rated life of {rated}"]


def _settles(plan: Plan) -> bool:
    return any(step.kind == "precondition" or step.round for step in plan.steps)


def _bound_of(plan: Plan) -> str:
    """Returns `at most ` or `at least ` where the volume of all steps is such a limit, else an empty text."""
    bounds = {step.bound for step in plan.steps if step.bound}
    if len(bounds) != 1 or (bounds == {"least"} and _settles(plan)):
        # Steps that end sooner write less, steps that are faster write more: neither bounds the whole.
        return ""
    return f"at {bounds.pop()} "


def _why(plan: Plan) -> str:
    """Returns why some steps write less or more than at the rated speed."""
    bounds = {step.bound for step in plan.steps}
    most = {step.thinks for step in plan.steps if step.bound == "most"}
    reasons = [
        *([f"fewer than {RATED_DEPTH} in flight write less"] if False in most else ()),
        *(["loads that pause between I/Os write less"] if True in most else ()),
        *(["random writes to a part of it may be faster"] if "least" in bounds else ()),
    ]
    return f" ({', '.join(reasons)})" if reasons else ""


_MUCH_BY_SPEED = ": how much depends on the target's speed"
_LONG_BY_SPEED = ": how long depends on the target's speed"


def _known(plan: Plan) -> str:
    """Returns the known time and volume where the rest depends on the target's speed."""
    timeless = sum(step.time_s is None for step in plan.steps)
    by_time = sum(step.written_bytes is None for step in plan.steps)
    time = f"at most {duration(plan.time_s)}"
    if timeless == len(plan.steps):
        time = "the time depends on the target's speed"
    elif timeless:
        time += (
            f", plus {agreeing(f'{timeless}', 'step that lasts', 'steps that last')} until a volume is done"
        )
    if not plan.written_bytes:
        return f"{time}; the volume written depends on the target's speed"
    most = "at most " if any(step.bound == "most" for step in plan.steps) else ""
    written = f"{most}{capacity(plan.written_bytes)} written"
    if by_time:
        written += f", plus what {agreeing(f'{by_time}', 'step writes', 'steps write')} in a set time"
    if by_time:
        return f"{time}; {written}{_MUCH_BY_SPEED}"
    return f"{time}; {written}" + (_LONG_BY_SPEED if timeless not in (0, len(plan.steps)) else "")


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
    bound = _bound_of(plan)
    wear = "" if plan.wear_pct is None else f", wear {bound}{digits(runs * plan.wear_pct, 2)} %"
    volume = capacity(runs * plan.written_bytes)
    return [f"{what}: about {duration(runs * plan.time_s)}, {bound}{volume} written{wear}"]


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
    what = f"{len(members)} points of that curve, at shares of its maximum"
    time_s = sum(step.time_s or 0 for step in members)
    time = "left out" if first.left_out else duration(time_s)
    numbers = f"{first.number}-{last.number}"
    return numbers, f"{first.step} ... {place_of(last.step)}", what, time, _volume(members)


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
