"""The three things that users do with namespaces of a drive: list them, split one, put it back.

Listing changes nothing. The others take the token of what is lost, hold what they replace, and keep a record.
"""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fathom.errors import FathomError, RefusedError
from fathom.namespaces import use
from fathom.namespaces.drive import Drive, drive_of
from fathom.namespaces.listing import Listing, rows_of
from fathom.namespaces.manager import Manager
from fathom.namespaces.plan import planned
from fathom.namespaces.record import Record, load, record_path
from fathom.namespaces.split import Hold, restore, split
from fathom.targets.nvme_admin import admin_of, change_of, rescan
from fathom.targets.parse import device_target
from fathom.targets.safety import authorise_destroy


def manager_of(drive: Drive) -> Manager:
    """Returns the first controller of a drive, by its own node: that of a namespace goes with the namespace."""
    return Manager(admin_of(drive.node), change_of(drive.node))


@dataclass(frozen=True)
class Restored:
    """A namespace that was put back."""

    node: Path
    """The drive's controller."""
    record: Record
    """What was there before the split."""
    namespace: int
    """The number that it has after it."""


def list_namespaces(device: Path, record: Path | None = None) -> Listing:
    """Returns what a drive holds. Raises FathomError where it does not answer."""
    drive, _ = drive_of(device)
    manager = manager_of(drive)
    with _answers(drive):
        rows = rows_of(manager, drive)
        unallocated = manager.facts().able.unallocated_bytes
    return Listing(drive, rows, unallocated, load(record or record_path(drive.serial)))


def split_namespace(
    device: Path,
    count: int,
    tokens: Sequence[str],
    *,
    unknown_data: bool = False,
    record: Path | None = None,
) -> Path:
    """Splits a namespace into equal ones and returns the node of the drive's controller.

    Raises RefusedError where it is not safe or not possible, before anything is changed.
    """
    drive, namespace = drive_of(device)
    path = record or record_path(drive.serial)
    with _answers(drive), use.alone_with(drive):
        _check_unsplit(drive, path)
        manager = manager_of(drive)
        plan = planned(manager, drive, namespace, count)
        authorise_destroy(device_target(device), *tokens)
        made = split(manager, path, plan, _hold(drive, unknown_data), partial(_look_again, drive))
        use.wait_for_nodes(drive, made)
        return drive.node


def restore_namespace(
    device: Path, tokens: Sequence[str], *, unknown_data: bool = False, record: Path | None = None
) -> Restored:
    """Puts back the namespace that was split.

    Raises RefusedError where one that is to go is in use, before anything is changed.
    """
    drive, _ = drive_of(device)
    path = record or record_path(drive.serial)
    with _answers(drive), use.alone_with(drive):
        before = _record_of(drive, path)
        _authorise(drive, tokens)
        number = restore(
            manager_of(drive), path, before, _hold(drive, unknown_data), partial(_look_again, drive)
        )
        use.wait_for_nodes(drive, [number])
        return Restored(drive.node, before, number)


def _hold(drive: Drive, unknown_data: bool) -> Hold:
    return partial(use.held, drive, unknown_data=unknown_data)


def _look_again(drive: Drive) -> None:
    for port in drive.ports.values():
        rescan(Path("/dev") / port.name)


def _check_unsplit(drive: Drive, path: Path) -> None:
    if path.exists():
        raise RefusedError(
            f"{drive.node} is split already, by the record {path}",
            f"`fathom namespaces {drive.node} --restore` puts it back first",
        )


def _record_of(drive: Drive, path: Path) -> Record:
    """Returns the record of this drive. Raises FathomError without one, RefusedError for that of another."""
    found = load(path)
    if found is None:
        raise FathomError(
            f"{drive.node}: nothing to put back, there is no record {path}", "name another file with --record"
        )
    if found.serial != drive.serial:
        raise RefusedError(f"{path} is the record of another drive, {found.serial}", "name this drive's")
    return found


def _authorise(drive: Drive, tokens: Sequence[str]) -> None:
    """Passes when one of `tokens` is the drive's serial. Raises RefusedError."""
    if drive.serial not in tokens:
        raise RefusedError(
            f"{drive.node} ({drive.model}): this destroys all data on the namespaces that Fathom made",
            f"if you mean it: --destroy {shlex.quote(drive.serial)}",
        )


@contextmanager
def _answers(drive: Drive) -> Iterator[None]:
    """Turns an OSError of the drive into an error for the user."""
    try:
        yield
    except OSError as error:
        raise FathomError(f"{drive.node}: {error}", "run as root; `dmesg` may have more") from error
