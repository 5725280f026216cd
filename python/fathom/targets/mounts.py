"""Who uses which block device, by /proc and /sys: mounts of every visible namespace, swap, open files.

Read once into a `Usage`, so that one check or one listing sees one consistent picture. Decides nothing.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISBLK, S_ISREG

from fathom.targets.target import FileId

PROC = Path("/proc")
SYS = Path("/sys")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo; `dev` is `major:minor`, `source` the device as mount(8) got it."""

    dev: str
    point: str
    file_system: str
    source: str
    options: str


@dataclass(frozen=True, slots=True)
class Opener:
    """A process that has a block device open."""

    pid: int
    command: str


@dataclass(frozen=True, slots=True)
class Usage:
    """All present uses of block devices, each keyed by the device's `major:minor`, and of files."""

    mounts: dict[str, list[Mount]]
    swaps: frozenset[str]
    openers: dict[str, list[Opener]]
    exports: frozenset[str]
    swap_files: frozenset[FileId] = frozenset()
    file_openers: Mapping[FileId, list[Opener]] = field(default_factory=dict)

    @property
    def roots(self) -> frozenset[str]:
        """The devices that carry `/` in any visible mount namespace."""
        return frozenset(dev for dev, mounts in self.mounts.items() if any(m.point == "/" for m in mounts))


def read_usage(*, openers: bool = True) -> Usage:
    """Takes the picture. Processes that end meanwhile, or that may not be looked into, are passed over.

    Without `openers` the open files of processes are left out, which is most of the work.
    """
    mounts: dict[str, list[Mount]] = {}
    for mount in _all_mounts():
        for dev in devices_of(mount):
            known = mounts.setdefault(dev, [])
            if mount not in known:
                known.append(mount)
    swaps, swap_files = _swaps()
    devices, files = _openers() if openers else ({}, {})
    return Usage(
        mounts=mounts,
        swaps=swaps,
        openers=devices,
        exports=_nvmet_exports(),
        swap_files=swap_files,
        file_openers=files,
    )


def parse_mountinfo(text: str) -> list[Mount]:
    """Parses /proc/PID/mountinfo, proc(5): optional fields end at a lone dash, octal escapes are undone."""
    mounts = []
    for line in _lines(text):
        head, _, tail = line.partition(" - ")
        first, last = head.split(" "), tail.split(" ")
        mounts.append(
            Mount(
                dev=first[2],
                point=_unescape(first[4]),
                file_system=last[0],
                source=_unescape(last[1]),
                options=",".join(dict.fromkeys([*first[5].split(","), *last[2].split(",")])),
            )
        )
    return mounts


def mount_of(path: Path) -> Mount | None:
    """Returns the mount that `path` lies on for this process: the last one whose point is its nearest ancestor."""
    resolved = path.resolve()
    own = parse_mountinfo(_with_names(PROC / "self/mountinfo"))
    around = [m for m in own if resolved == Path(m.point) or Path(m.point) in resolved.parents]
    return max(enumerate(around), key=lambda at: (len(Path(at[1].point).parts), at[0]))[1] if around else None


def dev_of_path(path: str | Path) -> str | None:
    """Returns `major:minor` of the block device that `path` names, or None when it names none."""
    try:
        stat = Path(path).stat()
    except (OSError, ValueError):
        return None
    return dev_text(stat.st_rdev) if (stat.st_mode & 0o170000) == 0o060000 else None


def dev_text(rdev: int) -> str:
    """Returns `major:minor` of a device number."""
    return f"{os.major(rdev)}:{os.minor(rdev)}"


def _with_names(path: Path) -> str:
    """Returns a file of the kernel that names paths, which may have any bytes. Raises OSError."""
    return path.read_bytes().decode(errors="surrogateescape")


def _lines(text: str) -> list[str]:
    """Returns lines as the kernel ends them: it escapes no other character that Python takes for an end of a line."""
    return [line for line in text.split("\n") if line]


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), text)


def _processes() -> Iterator[Path]:
    return (entry for entry in PROC.iterdir() if entry.name.isdigit())


def _all_mounts() -> Iterator[Mount]:
    seen: set[str] = set()
    for process in [PROC / "self", *_processes()]:
        try:
            namespace = str((process / "ns/mnt").readlink())
            if namespace in seen:
                continue
            text = _with_names(process / "mountinfo")
        except OSError:
            continue
        seen.add(namespace)
        yield from parse_mountinfo(text)


def devices_of(mount: Mount) -> set[str]:
    """Returns the block devices below a mount; for btrfs, which shows an anonymous 0:N, from its source and sysfs."""
    if not mount.dev.startswith("0:"):
        return {mount.dev}
    source = dev_of_path(mount.source) if mount.source.startswith("/") else None
    if source is None:
        return {mount.dev}
    members = {source}
    if mount.file_system == "btrfs":
        for listing in SYS.glob("fs/btrfs/*/devices"):
            devs = {_text(entry / "dev") for entry in listing.iterdir()}
            if source in devs:
                members |= devs
    return members


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _swaps() -> tuple[frozenset[str], frozenset[FileId]]:
    """Active swap: devices and files."""
    devices, files, text = set[str](), set[FileId](), ""
    with suppress(OSError):
        text = _with_names(PROC / "swaps")
    for line in _lines(text)[1:]:
        with suppress(OSError):
            status = Path(_unescape(re.split("[ \t]", line)[0])).stat()
            if S_ISBLK(status.st_mode):
                devices.add(dev_text(status.st_rdev))
            else:
                files.add(FileId.of(status))
    return frozenset(devices), frozenset(files)


def _openers() -> tuple[dict[str, list[Opener]], dict[FileId, list[Opener]]]:
    """Returns the block devices and files among the open files of all other processes; Fathom's own are its
    business.
    """
    devices: dict[str, list[Opener]] = {}
    files: dict[FileId, list[Opener]] = {}
    for process in _processes():
        if process.name == str(os.getpid()):
            continue
        try:
            descriptors = list((process / "fd").iterdir())
        except OSError:
            continue
        opened = [status for fd in descriptors if _names_a_path(fd) and (status := _status(fd))]
        opener = Opener(int(process.name), _text(process / "comm") or "?") if opened else None
        if opener is None:
            continue
        for dev in sorted({dev_text(status.st_rdev) for status in opened if S_ISBLK(status.st_mode)}):
            devices.setdefault(dev, []).append(opener)
        for file in {FileId.of(status) for status in opened if S_ISREG(status.st_mode)}:
            files.setdefault(file, []).append(opener)
    return devices, files


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _names_a_path(descriptor: Path) -> bool:
    try:
        return descriptor.readlink().is_absolute()
    except OSError:
        return False


def _nvmet_exports() -> frozenset[str]:
    """Returns devices that the kernel's NVMe-oF target serves: it opens them with no claim and no process."""
    entries = SYS.glob("kernel/config/nvmet/subsystems/*/namespaces/*")
    served = (_text(entry / "device_path") for entry in entries if _text(entry / "enable") == "1")
    return frozenset(dev for path in served if (dev := dev_of_path(path)))
