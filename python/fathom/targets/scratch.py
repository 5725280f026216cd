"""The scratch file of a review: where it goes, beside any of its name that Fathom did not make."""

import os
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from fathom.targets.file_check import SPARE, examine_contents
from fathom.targets.file_identity import MEMORY_FILE_SYSTEMS, is_network_file_system
from fathom.targets.file_path import place, status_of
from fathom.targets.files import SCRATCH_BYTES, SCRATCH_NAME, planned
from fathom.targets.mounts import mount_of
from fathom.targets.own_file import Foreign
from fathom.targets.target import Target


def scratch_file(directory: Path | None = None, want_bytes: int = SCRATCH_BYTES) -> Target:
    """Plans the scratch file of a review, beside any of its name that Fathom did not make.

    Without a directory the user's cache and /var/tmp are tried, servers and memory last. A directory that was copied
    or restored holds such files. Those that Fathom may have made and no longer writes to are said in the notes.

    Raises FathomError when not even 64 MiB fit, RefusedError for symlinks and special files of the name.
    """
    directory = (directory or _scratch_directory()).absolute()
    names = chain((SCRATCH_NAME,), (SCRATCH_NAME.replace(".", f"-{number}.") for number in count(2)))
    path, left = directory / next(names), list[str]()
    while status_of(place(path)) and isinstance(found := examine_contents(path), Foreign):
        left += [f"{path} is left in place: it {found.value}"] if found in SPARE else []
        path = directory / next(names)
    target = planned(path, want_bytes)
    return replace(target, notes=(*target.notes, *left))


def _scratch_directory() -> Path:
    """Makes and returns the first writable place on a disk: the user's cache, /var/tmp, the working directory.

    A disk of this machine goes before a server's. Without either it is the working directory.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fathom"
    usable = [one for one in (cache, Path("/var/tmp"), Path.cwd()) if _takes_files(one)]
    local = [one for one in usable if not is_network_file_system(_file_system(one))]
    directory = next(iter([*local, *usable]), Path.cwd())
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _takes_files(directory: Path) -> bool:
    return os.access(_existing(directory), os.W_OK) and _file_system(directory) not in MEMORY_FILE_SYSTEMS


def _file_system(directory: Path) -> str:
    mount = mount_of(_existing(directory))
    return mount.file_system if mount else "unknown"


def _existing(directory: Path) -> Path:
    return next(parent for parent in [directory, *directory.parents] if parent.is_dir())
