"""The most I/O that the control group of this process may do on a device, as an administrator or a container set it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

from fathom.targets.mounts import PROC, SYS
from fathom.targets.sysfs import BlockDevice, text
from fathom.targets.target import Identity


@dataclass(frozen=True, slots=True)
class IoLimits:
    """Bytes and I/Os a second that may be read and written; None is no limit."""

    read_bytes_per_s: int | None = None
    write_bytes_per_s: int | None = None
    read_iops: int | None = None
    write_iops: int | None = None

    @classmethod
    def tightest(cls, limits: Iterable[Self]) -> Self:
        """Returns what all limits together allow."""
        known = [*limits]
        return cls(
            _least(one.read_bytes_per_s for one in known),
            _least(one.write_bytes_per_s for one in known),
            _least(one.read_iops for one in known),
            _least(one.write_iops for one in known),
        )


def with_io_limits(identity: Identity, devices: Iterable[BlockDevice]) -> Identity:
    """Returns the identity of a target that lies on the devices, with the limits of this process there."""
    limits = io_limits(devices)
    return replace(
        identity,
        read_bytes_per_s_max=limits.read_bytes_per_s,
        write_bytes_per_s_max=limits.write_bytes_per_s,
        read_iops_max=limits.read_iops,
        write_iops_max=limits.write_iops,
    )


class _Files(NamedTuple):
    """A control group's file of each limit in version 1 (Documentation/admin-guide/cgroup-v1/blkio-controller.rst)."""

    read_bytes_per_s: str = "blkio.throttle.read_bps_device"
    write_bytes_per_s: str = "blkio.throttle.write_bps_device"
    read_iops: str = "blkio.throttle.read_iops_device"
    write_iops: str = "blkio.throttle.write_iops_device"


def io_limits(devices: Iterable[BlockDevice], proc: Path = PROC, sys: Path = SYS) -> IoLimits:
    """Returns the limits of this process on the devices and on all that these lie on.

    Groups of version 2 are also bound by those that they lie in, as far as they can be seen from here.
    """
    numbers = {below.dev for device in devices for below in device.below()}
    return IoLimits.tightest(one for group in _groups(proc, sys) for one in _set_in(group, numbers))


def _groups(proc: Path, sys: Path) -> Iterator[Path]:
    """Yields the directories of the control groups whose limits hold for this process, cgroups(7).

    A container may see its own group as the root, and its path as seen from outside.
    """
    for line in (text(proc / "self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        root = sys / "fs/cgroup" / controllers
        own = root / path.lstrip("/")
        if "blkio" in controllers.split(","):
            yield own if own.is_dir() else root
        elif not controllers:
            yield from (group for group in (own, *own.parents) if group.is_relative_to(root))


def _set_in(group: Path, devices: set[str]) -> Iterator[IoLimits]:
    """Yields the limits that one control group sets on the devices."""
    for device, words in _lines(group / "io.max"):
        if device in devices:
            given = dict(word.split("=", 1) for word in words if "=" in word)
            yield IoLimits(*(_number(given.get(key)) for key in ("rbps", "wbps", "riops", "wiops")))
    given = {
        name: _least(
            _number(words[0]) for device, words in _lines(group / file) if device in devices and words
        )
        for name, file in _Files()._asdict().items()
    }
    yield IoLimits(**given)


def _lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yields the device of each line of a control group's file, and the words behind it."""
    for line in (text(path) or "").splitlines():
        if parts := line.split():
            yield parts[0], parts[1:]


def _number(word: str | None) -> int | None:
    return int(word) if word is not None and word.isdigit() else None


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)
