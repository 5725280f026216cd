"""`--power-state WHICH`: the NVMe power states to run a method in, and the targets in each of them.

The session holds real drives in a state. The state of a twin is a parameter, so it becomes part of the twin's name.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from fathom.catalog import load_device
from fathom.catalog.settings import with_settings
from fathom.errors import RefusedError, UsageError
from fathom.load.binding import split_name
from fathom.load.initiator import Initiator, ThisMachine
from fathom.load.resolve import ensure_simulable
from fathom.targets.array import PREFIX, array_text, member_texts
from fathom.targets.nvme_admin import Admin, admin_of
from fathom.targets.power_states import check_power_state, states_by_drive
from fathom.targets.target import Target

ALL = "all"
MOST = 31
"""The largest number that the feature holds."""
_HINT = "write such as --power-state 0,1,2, or --power-state all"

InState = tuple[int | None, list[Target]]
"""A state and the targets to run in it; None leaves drives as they are."""


def check_states_here(initiator: Initiator) -> None:
    """Raises UsageError where hosts would have to set a power state."""
    if not isinstance(initiator, ThisMachine):
        raise UsageError("--power-state: works only on this machine's own drives", "run it on one host")


def in_each_state(
    word: str | None, initiator: Initiator, find: Callable[[int | None], list[Target]]
) -> list[InState]:
    """Returns the targets for each state that the word names, in its order; without a word once, as they are.

    `find` returns the targets in a state. Raises UsageError for a word that names no states and for hosts, and
    RefusedError where a drive lacks one of the states. Changes nothing.
    """
    if word is None:
        return [(None, find(None))]
    check_states_here(initiator)
    plain = find(None)
    found: list[InState] = [(state, find(state)) for state in states_of(word, plain)]
    for _, targets in found:
        for target in targets:
            ensure_simulable(target)
    return found


def states_of(
    word: str, targets: Sequence[Target], admin: Callable[[Path], Admin] = admin_of
) -> tuple[int, ...]:
    """Returns the states that the word names; `all` are those that every target can do I/O in.

    Raises UsageError for a word that names none, and RefusedError where a drive lacks one.
    """
    if word == ALL:
        return _of_all(targets, admin)
    numbers = [int(text) if text.strip().isdecimal() else -1 for text in word.split(",")]
    if not all(0 <= number <= MOST for number in numbers):
        raise UsageError(f"--power-state {word}: states are numbers from 0 to {MOST}", _HINT)
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"--power-state {word}: a state appears twice", "name each once")
    for number in numbers:
        for target in targets:
            if target.kind == "twin":
                _check_twin(target, number)
            else:
                check_power_state(target, number, admin)
    return tuple(numbers)


def named_in_state(text: str, state: int | None) -> str:
    """Returns a target's text in a state: that of a twin with the parameter set, any other as it is."""
    name, target = split_name(text)
    if state is None:
        return text
    if target.startswith(PREFIX):
        target = array_text([named_in_state(one, state) for one in member_texts(target)])
    elif target.startswith("twin:"):
        target = with_settings(target, _setting(state))
    return f"{name}={target}" if name else target


def _setting(state: int) -> str:
    return f"power_state={state}"


def _of_all(targets: Sequence[Target], admin: Callable[[Path], Admin]) -> tuple[int, ...]:
    own = [_operational(target, admin) for target in targets]
    common = sorted(set[int]().union(*own).intersection(*own))
    if not common:
        raise RefusedError("--power-state all: the targets have no power state in common", "name one target")
    return tuple(common)


def _operational(target: Target, admin: Callable[[Path], Admin]) -> set[int]:
    """Returns the states in which a target can do I/O."""
    if target.kind == "twin":
        return set[int].intersection(*map(_of_twin, target.members or (target,)))
    found = states_by_drive(target, admin).values()
    return set[int].intersection(*({one.number for one in states if one.operational} for states in found))


def _check_twin(target: Target, number: int) -> None:
    """Raises RefusedError where a twin lacks a state."""
    for one in target.members or (target,):
        if number >= (count := len(_of_twin(one))):
            last = "state 0 alone is stated" if count == 1 else f"states 0 to {count - 1} are stated"
            raise RefusedError(f"{one.name} has no power state {number}: {last}", "name one of those")


def _of_twin(target: Target) -> set[int]:
    """Returns a twin's states. Raises RefusedError where it has none."""
    device = load_device(target.catalog) if target.catalog else None
    stated = device.twin.parameters.get("power_states") if device and device.twin else None
    watts = str(stated.value) if stated else "none"
    if watts == "none":
        raise RefusedError(
            f"{target.name} has no power states: no source states their watts",
            f"set them, from state 0 on: {with_settings(target.name, 'power_states=25+14+10')}",
        )
    return set(range(len(watts.split("+"))))
