"""Replaces one namespace by several, and puts it back, each time by its record, which is on the disk before a command.

A kill at any point leaves the record, and `restore` goes on from there.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from fathom.errors import FathomError, RefusedError
from fathom.namespaces.layout import Definition
from fathom.namespaces.manager import Manager
from fathom.namespaces.record import Record, load, remove, save

Hold: TypeAlias = Callable[[Iterable[int]], AbstractContextManager[object]]
"""Holds namespaces against use by others. Raises RefusedError where one of them is in use."""


def split(
    manager: Manager, path: Path, record: Record, hold: Hold, look_again: Callable[[], None]
) -> tuple[int, ...]:
    """Puts ours in the place of the original and returns their numbers.

    Where a command fails, or the user interrupts, it puts the original back, without its data.

    Raises RefusedError before the first command where the namespace is in use, FathomError where a command fails.
    """
    try:
        return _split(manager, path, record, hold, look_again)
    except BaseException as error:
        if not path.exists():
            raise
        outcome = _undone(manager, path, hold, look_again)
        if isinstance(error, OSError | FathomError):
            raise FathomError(f"the namespace could not be split: {error}; {outcome}") from error
        raise


def _split(
    manager: Manager, path: Path, record: Record, hold: Hold, look_again: Callable[[], None]
) -> tuple[int, ...]:
    with hold([record.namespace]):
        save(path, record)
        manager.detach(record.namespace)
    look_again()
    manager.delete(record.namespace)
    record = _at(path, record, stage="ours")
    for one in record.ours:
        number = manager.create(one)
        record = _at(path, record, made=(*record.made, number))
        manager.attach(number, record.controllers)
    look_again()
    return record.made


def _undone(manager: Manager, path: Path, hold: Hold, look_again: Callable[[], None]) -> str:
    """Puts back what can be put back, and returns how that went."""
    try:
        if record := load(path):
            number = restore(manager, path, record, hold, look_again)
            return f"namespace {number} is back as it was, its data may be lost"
    except (OSError, FathomError) as error:
        return f"nor put back: {error}; the record {path} has what was there"
    return "there is no record of what was there"


def restore(manager: Manager, path: Path, record: Record, hold: Hold, look_again: Callable[[], None]) -> int:
    """Deletes ours, makes the original anew if it is gone, attaches it, and returns its number.

    Raises RefusedError where a namespace is in use or is none of the record's, OSError where a command fails.
    """
    there = [one for one in manager.allocated() if one not in record.others]
    if record.stage == "ours":
        _check_ours(manager, record, there)
        with hold(there):
            for one in there:
                manager.detach(one)
        look_again()
        for one in there:
            manager.delete(one)
        record = _at(path, record, stage="original", made=())
        there = []
    number = _original(manager, record, there)
    manager.attach(number, record.controllers)
    look_again()
    remove(path)
    return number


def _original(manager: Manager, record: Record, there: list[int]) -> int:
    """Returns the number of the original, which is created where it is gone."""
    if not there:
        return manager.create(record.original)
    _check_known(manager, (record.original,), there)
    if len(there) > 1:
        raise _unknown(there)
    return there[0]


def _check_ours(manager: Manager, record: Record, there: list[int]) -> None:
    """Passes where each is one that was made; the last may be missing in the record, where a kill came between."""
    unrecorded = [one for one in there if one not in record.made]
    if len(unrecorded) > min(1, len(record.ours) - len(record.made)):
        raise _unknown(unrecorded)
    _check_known(manager, record.ours, there)


def _check_known(manager: Manager, known: tuple[Definition, ...], there: list[int]) -> None:
    """Passes where each has the size and format of one that is known. Raises RefusedError."""
    strange = [one for one in there if not any(each.describes(manager.described(one)[0]) for each in known)]
    if strange:
        raise _unknown(strange)


def _unknown(namespaces: list[int]) -> RefusedError:
    numbers = ", ".join(map(str, namespaces))
    return RefusedError(
        f"not all of these namespaces are in the record, another program may have made them: {numbers}",
        "delete with nvme-cli those that may go, then --restore again",
    )


def _at(path: Path, record: Record, **changes: object) -> Record:
    """Returns the record with changes, once it is on the disk."""
    changed = record.model_copy(update=changes)
    save(path, changed)
    return changed
