"""Holds NVMe drives in a power state for the length of a run, and puts them back.

The state is a feature of the controller: all its namespaces have it. The drive does not save it, so a reset of the
controller ends it too. Fields are those of NVM Express base 2.0 (Power Management, feature 02h).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fathom.errors import FathomError, RefusedError
from fathom.targets.capabilities import IDENTIFY_BYTES, PowerState, parse_controller
from fathom.targets.capability_reader import OF_CONTROLLER
from fathom.targets.locks import alone_with
from fathom.targets.nvme_admin import IDENTIFY, Admin, Features, admin_of
from fathom.targets.safety import block_device
from fathom.targets.target import KIND_IN_WORDS, Target

POWER_MANAGEMENT = 0x02
_STATE = 0x1F
"""Bits of the feature's dword that hold the number; those above are a hint about the load."""


class FeatureAccess(Protocol):
    """Reads and sets features of one controller. Both raise OSError."""

    def get(self, feature: int) -> int:
        """Returns the current value."""
        ...

    def set(self, feature: int, value: int) -> None:
        """Sets the value until the controller is reset."""
        ...


@dataclass(frozen=True, slots=True)
class Held:
    """A drive in a power state. `before` is the feature's dword to put back."""

    drive: str
    state: PowerState
    before: int


def states_by_drive(
    target: Target, admin: Callable[[Path], Admin] = admin_of
) -> dict[Path, tuple[PowerState, ...]]:
    """Returns the states by drive of a target. Raises RefusedError where it is no bare NVMe drive. Changes nothing."""
    if target.members:
        return {
            path: states
            for member in target.members
            for path, states in states_by_drive(member, admin).items()
        }
    if target.kind != "device" or target.path is None or target.makes:
        what = "a file system on a device" if target.makes else KIND_IN_WORDS[target.kind]
        raise RefusedError(
            f"{target.name} is {what}: --power-state works on bare NVMe drives and twins", "leave it out"
        )
    if not block_device(target.path).name.startswith("nvme"):
        raise RefusedError(f"{target.name} is no NVMe drive: --power-state works on those", "leave it out")
    try:
        controller = parse_controller(admin(target.path)(IDENTIFY, 0, OF_CONTROLLER, 0, IDENTIFY_BYTES))
    except OSError as error:
        raise RefusedError(
            f"{target.name}: cannot read its power states: {error}", "run as root, or leave --power-state out"
        ) from error
    return {target.path: controller.power_states if controller else ()}


def check_power_state(
    target: Target, number: int, admin: Callable[[Path], Admin] = admin_of
) -> dict[Path, PowerState]:
    """Returns the state by drive of a target; nothing of a twin, whose state is a parameter. Changes nothing.

    Raises RefusedError where a drive has no such state.
    """
    if target.kind == "twin":
        return {}
    return {path: _found(path, states, number) for path, states in states_by_drive(target, admin).items()}


def _found(path: Path, states: Sequence[PowerState], number: int) -> PowerState:
    found = next((one for one in states if one.number == number), None)
    if found is None:
        raise RefusedError(
            f"{path} has no power state {number}",
            f"it has 0 to {len(states) - 1}; `fathom devices {path}` lists them",
        )
    if not found.operational:
        raise RefusedError(
            f"{path}: power state {number} is for idle drives, I/O ends it", "choose an operational one"
        )
    return found


@contextmanager
def held_in(
    targets: Sequence[Target],
    number: int | None,
    before: Mapping[str, int],
    admin: Callable[[Path], Admin] = admin_of,
    features: Callable[[Path], FeatureAccess] = Features,
) -> Iterator[list[Held]]:
    """Puts all drives into a power state and yields what was done; nothing for None. Puts them back at the end.

    Args:
        targets: claimed targets.
        number: of the state.
        before: dwords to put back at the end, by drive, of a run that goes on; else what the drive has now.
        admin: the controller behind a device node.
        features: the features of that controller.

    Raises:
        RefusedError: another run holds a drive in a state, or a drive does not take this one. Those before it are put
            back.
        FathomError: at the end, a drive was not in the state any more, or could not be put back.
    """
    if number is None:
        yield []
        return
    states = {
        path: one for target in targets for path, one in check_power_state(target, number, admin).items()
    }
    with _locked(states), _set_to(states, before, features) as held:
        yield held


@contextmanager
def _locked(paths: Iterable[Path]) -> Iterator[None]:
    """Keeps other runs from holding these drives in a state. Raises RefusedError where one does."""
    with ExitStack() as stack:
        for drive, path in {_drive_of(path): path for path in paths}.items():
            busy = RefusedError(f"{path}: another run holds its drive in a power state", "wait for it")
            stack.enter_context(alone_with(drive, busy))
        yield


def _drive_of(path: Path) -> Path:
    """Returns the sysfs directory that all namespaces of a drive share: of its controller, or of its controllers'
    subsystem.
    """
    return (block_device(path).disk.directory / "device").resolve()


@contextmanager
def _set_to(
    states: Mapping[Path, PowerState], before: Mapping[str, int], features: Callable[[Path], FeatureAccess]
) -> Iterator[list[Held]]:
    held: dict[Path, Held] = {}
    failure: BaseException | None = None
    try:
        for path, state in states.items():
            held[path] = _enter(path, state, before, features(path))
        yield list(held.values())
    except BaseException as error:
        failure = error
        raise
    finally:
        # The last one first: drives that share a controller then find it as each of them left it.
        left = [text for path, one in reversed(held.items()) for text in _put_back(one, features(path))]
        if left:
            first = [str(failure)] if failure and str(failure) else []
            raise FathomError(
                "; ".join([*first, *left]),
                "`nvme get-feature DEVICE -f 2` shows the state, `nvme set-feature` sets it",
            )


def _enter(path: Path, state: PowerState, before: Mapping[str, int], features: FeatureAccess) -> Held:
    """Sets the state and reads it back."""
    try:
        now = features.get(POWER_MANAGEMENT)
        features.set(POWER_MANAGEMENT, now & ~_STATE | state.number)
    except OSError as error:
        raise RefusedError(
            f"{path}: does not take power state {state.number}: {error}", "leave --power-state out"
        ) from error
    held = Held(path.name, state, before.get(path.name, now))
    if wrong := _not_entered(state, features):
        left = _put_back(held, features, checked=False)
        raise RefusedError("; ".join([f"{path}: {wrong}", *left]), "leave --power-state out")
    return held


def _not_entered(state: PowerState, features: FeatureAccess) -> str:
    """Returns how the drive shows that it did not take the state; empty where it did."""
    try:
        after = features.get(POWER_MANAGEMENT) & _STATE
    except OSError as error:
        return f"does not show that it took power state {state.number}: {error}"
    return "" if after == state.number else f"stays in power state {after} when set to {state.number}"


def _put_back(held: Held, features: FeatureAccess, *, checked: bool = True) -> list[str]:
    """Puts the drive back, whether or not it can be read, and returns what went wrong."""
    wrong: list[str] = []
    if checked:
        try:
            at_end = features.get(POWER_MANAGEMENT) & _STATE
        except OSError as error:
            wrong.append(f"{held.drive} does not show its power state at the end: {error}")
        else:
            if at_end != held.state.number:
                wrong.append(
                    f"{held.drive} left power state {held.state.number} during the run, at its end it was in {at_end}"
                )
    try:
        features.set(POWER_MANAGEMENT, held.before)
    except OSError as error:
        wrong.append(f"{held.drive} could not be put back into power state {held.before & _STATE}: {error}")
    return wrong
