"""Which sets of files Fathom made: a mark on their directory, which must agree with what lies below it.

The mark is the extended attribute `user.fathom` of the directory, or where the file system keeps none a side-car
`.NAME.fathom-mark` of the same user. It holds inode, time of birth, a random UUID and the layout. It also has the
digest of all that lay in the directory when Fathom let it go. So a copy is not taken for Fathom's, nor is a directory
into which others put, wrote or removed a file. While a run writes there the digest is not known. Then only files may
lie there that the layout has, each with blanks and data of Fathom's engine alone.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fathom._core import FileSet, ParseError
from fathom.output.marked import attribute, own_text, put_attribute, write_side_car
from fathom.targets.contents import find_unknown
from fathom.targets.own_file import ATTRIBUTE, Foreign
from fathom.targets.syscalls import statx

_VERSION = "fathom-set/1"
_FORM = re.compile(
    rf"{_VERSION} inode=(?P<inode>\d+) born=(?P<born>\d+|unknown) uuid=(?P<uuid>[0-9a-f-]{{36}})"
    r" listing=(?P<listing>[0-9a-f]{64}|open) files=(?P<files>\{.*\})"
)
_LAYOUT = ("count", "sizes", "width", "depth")


@dataclass(frozen=True, slots=True)
class Entry:
    """What lies below a set's directory: its path there, and its status, of a link itself."""

    path: str
    status: os.stat_result

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, and no link to one."""
        return stat.S_ISDIR(self.status.st_mode)


@dataclass(frozen=True, slots=True)
class OwnSet:
    """A set of files that Fathom made.

    `listing` is the digest of all that lay in its directory when Fathom let it go. It is None while a run writes there,
    and after one that was killed.
    """

    uuid: str
    inode: int
    born_ns: int | None
    files: FileSet
    listing: str | None

    @property
    def _mark(self) -> bytes:
        born = "unknown" if self.born_ns is None else self.born_ns
        return (
            f"{_VERSION} inode={self.inode} born={born} uuid={self.uuid} listing={self.listing or 'open'} "
            f"files={_layout(self.files)}"
        ).encode()


def examine_set(directory: Path) -> OwnSet | Foreign:
    """Returns the set if Fathom made it and nobody else has changed anything in it, else the reason why not.

    Raises OSError where what lies there cannot be looked at.
    """
    found = known_set(directory)
    if isinstance(found, Foreign):
        return found
    fd = _open(directory)
    try:
        entries = list(entries_of(fd))
        if found.listing is not None:
            return found if digest(entries) == found.listing else Foreign.CHANGED
        if not fits(found.files, entries):
            return Foreign.CHANGED
        return Foreign.CHANGED if any(_unknown(fd, one) for one in entries) else found
    finally:
        os.close(fd)


def known_set(directory: Path) -> OwnSet | Foreign:
    """Returns what the mark says, once it is that of this very directory; nothing below is looked at."""
    try:
        fd = _open(directory)
    except OSError:
        return Foreign.UNMARKED
    try:
        status = os.fstat(fd)
        marked = attribute(fd, ATTRIBUTE)
        text = marked if marked is not None else own_text(_side_car(directory)) or b""
        mark = _FORM.fullmatch(text.decode("ascii", "replace"))
        if mark is None:
            return Foreign.UNMARKED
        born = None if mark["born"] == "unknown" else int(mark["born"])
        if (int(mark["inode"]), born) != (status.st_ino, statx(fd).born_ns):
            return Foreign.COPIED
        files = _files(mark["files"])
        listing = None if mark["listing"] == "open" else mark["listing"]
        return OwnSet(mark["uuid"], status.st_ino, born, files, listing) if files else Foreign.UNMARKED
    finally:
        os.close(fd)


def mark_set(directory: Path, uuid: str, files: FileSet) -> OwnSet:
    """Makes a directory Fathom's own, as one that is written to. Raises OSError."""
    fd = _open(directory)
    try:
        made = OwnSet(uuid, os.fstat(fd).st_ino, statx(fd).born_ns, files, None)
        _put(fd, directory, made)
        return made
    finally:
        os.close(fd)


def mark_set_open(fd: int, directory: Path, found: OwnSet) -> None:
    """Marks the open directory as being written to by a run."""
    _put(fd, directory, replace(found, listing=None))


def mark_set_closed(fd: int, directory: Path, found: OwnSet) -> None:
    """Keeps in the mark what lies in the open directory after Fathom's last write."""
    _put(fd, directory, replace(found, listing=digest(entries_of(fd))))


def entries_of(fd: int, below: str = "") -> Iterator[Entry]:
    """Yields what lies below an open directory, in order; other file systems mounted there are not entered."""
    device = os.fstat(fd).st_dev
    with os.scandir(fd) as found:
        names = sorted(one.name for one in found)
    for name in names:
        one = Entry(below + name, os.stat(name, dir_fd=fd, follow_symlinks=False))
        yield one
        if one.is_directory and one.status.st_dev == device:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
            try:
                yield from entries_of(inner, f"{one.path}/")
            finally:
                os.close(inner)


def fits(files: FileSet, entries: "list[Entry]") -> bool:
    """Returns whether nothing lies there but directories and files of the layout.

    Each must have one name and be this user's, and none may be larger than it is to be.
    """
    directories, sizes = known_names(files)
    user, devices = os.geteuid(), {one.status.st_dev for one in entries}
    for one in entries:
        if one.status.st_uid != user or len(devices) > 1:
            return False
        if one.is_directory:
            if one.path not in directories:
                return False
        elif (
            not stat.S_ISREG(one.status.st_mode)
            or one.status.st_nlink != 1
            or one.status.st_size > sizes.get(one.path, -1)
        ):
            return False
    return True


def known_names(files: FileSet) -> tuple[set[str], dict[str, int]]:
    """Returns the directories, and the files with their sizes, that may lie in a set while a run writes to it."""
    sizes = dict(files.paths())
    renamed = dict(zip(files.other_paths(), sizes.values(), strict=True))
    return {*files.directories(), *files.made_directories()}, sizes | renamed


def digest(entries: "Iterator[Entry] | list[Entry]") -> str:
    """Returns a digest that changes with any name, kind, link, owner, size or time of change."""
    whole = hashlib.sha256()
    for one in entries:
        of = one.status
        facts: tuple[object, ...] = (one.path, stat.S_IFMT(of.st_mode), of.st_uid, of.st_ino)
        if not one.is_directory:
            facts += (of.st_nlink, of.st_size, of.st_mtime_ns)
        whole.update(repr(facts).encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def unmark_set(directory: Path) -> None:
    """Removes the side-car of a directory that was removed."""
    _side_car(directory).unlink(missing_ok=True)


def _unknown(fd: int, one: Entry) -> bool:
    """Returns whether a file holds anything but blanks and data of Fathom's engine."""
    if one.is_directory or not one.status.st_size:
        return False
    file = os.open(one.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        found = find_unknown(file, one.status.st_size)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        return found is not None
    finally:
        os.close(file)


def _open(directory: Path) -> int:
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _layout(files: FileSet) -> str:
    """Returns the files alone, without what a job does with them."""
    whole = json.loads(files.json)
    return json.dumps({key: whole[key] for key in _LAYOUT}, separators=(",", ":"))


def _files(layout: str) -> FileSet | None:
    """Returns the files of a mark; None where it is damaged."""
    rest = {"select": {"kind": "roundrobin"}, "visit": {"requests": 1}, "open": None, "threads": "apart"}
    try:
        return FileSet(json.dumps(json.loads(layout) | rest))
    except (ParseError, ValueError, TypeError):
        return None


def _put(fd: int, directory: Path, made: OwnSet) -> None:
    if not put_attribute(fd, ATTRIBUTE, made._mark):
        write_side_car(_side_car(directory), made._mark)


def _side_car(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.fathom-mark")
