"""Whether a file may be used: it is the one that was checked, and to write it is one that Fathom made."""

import os
from pathlib import Path

from fathom.errors import NEW_RUN
from fathom.targets.contents import find_unknown
from fathom.targets.file_path import explained, replaced, status_of, target_path
from fathom.targets.file_users import users_of
from fathom.targets.own_file import TRAILER_BYTES, Foreign, OwnFile, examine
from fathom.targets.safety import Refusal
from fathom.targets.target import FileId, Target

SPARE = (Foreign.COPIED, Foreign.OLDER, Foreign.CHANGED)
"""Files that Fathom may have made: the user may not need them."""


def check_file(target: Target, *, writes: bool) -> list[Refusal]:
    """Returns the reasons not to use the file. `prepare_file` checks free space, permissions and O_DIRECT."""
    path = target_path(target)
    if status_of(path) is None:
        return []
    refusals = [Refusal("held", f"in use by {user}") for user in users_of(path)] if writes else []
    # What is held already was looked through before, and a load may be writing to it.
    found = examine(path) if target.held or not writes else examine_contents(path)
    if writes and isinstance(found, Foreign):
        advice = " (remove it if you can spare it)" if found in SPARE else ""
        refusals.append(Refusal("not-own", f"exists and {found.value}, so it is not overwritten{advice}"))
    began_with = target.identity.file_uuid
    if isinstance(found, OwnFile) and began_with is not None and found.uuid != began_with:
        changed = "is not the file that this run began with, or was given another size since"
        refusals.append(Refusal("not-own", changed, NEW_RUN))
    return refusals


def examine_contents(path: Path) -> OwnFile | Foreign:
    """Returns what `examine` does.

    Where a killed run left no time of change, only blanks and data of the engine may be in the file.
    """
    found = examine(path)
    if isinstance(found, Foreign) or found.written_ns is not None:
        return found
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise explained(path, error) from error
    try:
        unknown = find_unknown(fd, found.size_bytes - TRAILER_BYTES)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        raise explained(path, error) from error
    finally:
        os.close(fd)
    return Foreign.CHANGED if unknown else found


def check_held(target: Target) -> None:
    """Passes when the name still leads to the file that is held. Raises RefusedError."""
    path = target_path(target)
    status = status_of(path)
    if target.held and (status is None or FileId.of(status) != target.held):
        raise replaced(path)
