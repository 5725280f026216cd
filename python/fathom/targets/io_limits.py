"""The most I/O that the control group of this process may do on a device, as an administrator or a container set it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, Self

from fathom._core import MOVES_DATA, WRITES
from fathom.output.text import iops_text, mbps_text
from fathom.targets.mounts import PROC, SYS
from fathom.targets.sysfs import BlockDevice, text
from fathom.targets.target import Identity

LIMIT_REACHED, LIMIT_PASSED = 0.85, 1.25
"""Shares of a limit between which it may set the rate. Reads of 8 MiB reached 90 % of 21 MB/s in a window of 4 s, which
holds nine of them. What passes a limit by more came from memory.
"""


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


class RecordedLimit(NamedTuple):
    """A limit of reads or writes, `direction`, as a run keeps it: I/Os a second, or else bytes a second."""

    direction: Literal["read", "write"]
    of_ios: bool
    most: int

    @property
    def amount(self) -> str:
        """The limit in words: `21.0 MB/s`, `200 IOPS`."""
        return iops_text(self.most) if self.of_ios else mbps_text(self.most / 1e6)


def recorded_limits(identity: Mapping[str, object]) -> Iterator[RecordedLimit]:
    """Yields the limits in the identity of a run's target."""
    for direction in ("read", "write"):
        for what in ("bytes_per_s", "iops"):
            most = identity.get(f"{direction}_{what}_max")
            if isinstance(most, int):
                yield RecordedLimit(direction, what == "iops", most)


def limits_reached(
    identity: Mapping[str, object], moved: Iterable[tuple[str, float, float]]
) -> list[RecordedLimit]:
    """Returns the limits in the identity of a run's target that a step came near.

    `moved` has an operation, its I/Os a second and its bytes a second.
    """
    iops, bytes_per_s = dict.fromkeys(("read", "write"), 0.0), dict.fromkeys(("read", "write"), 0.0)
    for op, own_iops, own_bytes_per_s in moved:
        if op in MOVES_DATA:
            direction = "write" if op in WRITES else "read"
            iops[direction] += own_iops
            bytes_per_s[direction] += own_bytes_per_s
    return [
        limit
        for limit in recorded_limits(identity)
        if _is_near((iops if limit.of_ios else bytes_per_s)[limit.direction], limit.most)
    ]


def _is_near(rate: float, limit: float) -> bool:
    return LIMIT_REACHED * limit <= rate <= LIMIT_PASSED * limit


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


_FILES = {
    "read_bytes_per_s": "blkio.throttle.read_bps_device",
    "write_bytes_per_s": "blkio.throttle.write_bps_device",
    "read_iops": "blkio.throttle.read_iops_device",
    "write_iops": "blkio.throttle.write_iops_device",
}
"""A control group's file of each limit in version 1 (Documentation/admin-guide/cgroup-v1/blkio-controller.rst)."""


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
    for name, file in _FILES.items():
        for device, words in _lines(group / file):
            if device in devices:
                yield IoLimits(**{name: _number(words[0])})


def _lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yields the device of each line of a control group's file, and the words behind it."""
    for line in (text(path) or "").splitlines():
        if len(parts := line.split()) > 1:
            yield parts[0], parts[1:]


def _number(word: str | None) -> int | None:
    return int(word) if word is not None and word.isdigit() else None


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)
