"""Which controllers and block devices of this machine belong to one NVMe drive, as sysfs has it. Changes nothing."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from fathom.errors import UsageError
from fathom.targets import sysfs
from fathom.targets.mounts import SYS
from fathom.targets.safety import block_device
from fathom.targets.sysfs import BlockDevice, all_disks

_LIST = "`fathom devices` lists what is attached"


@dataclass(frozen=True, slots=True)
class Drive:
    """An NVMe drive. `ports` are this machine's controllers of it by their number in the drive (CNTLID)."""

    serial: str
    model: str
    ports: dict[int, Path]
    sys: Path = SYS

    @property
    def node(self) -> Path:
        """The device node of the first controller, which is there without any namespace."""
        return Path("/dev") / next(iter(self.ports.values())).name

    def disks(self) -> dict[int, list[BlockDevice]]:
        """Returns the block devices of each namespace: one, or one for each port that the kernel does not join."""
        found: defaultdict[int, list[BlockDevice]] = defaultdict(list)
        own = set(self.ports.values())
        for disk in all_disks(self.sys):
            number = sysfs.number(disk.directory / "nsid")
            if number is not None and own.intersection(disk.ports):
                found[number].append(disk)
        return dict(found)


def drive_of(path: Path, sys: Path = SYS) -> tuple[Drive, int | None]:
    """Returns the drive of a namespace's block device or of a controller's node, and the namespace's number.

    Raises UsageError where it is neither.
    """
    controller = sys / "class/nvme" / path.name
    if path.parent == Path("/dev") and controller.is_dir():
        return _with_ports(controller.resolve(), sys), None
    device = block_device(path)
    if device.is_partition or not device.ports:
        raise UsageError(f"{path} is neither an NVMe namespace nor a controller", _LIST)
    return _with_ports(device.ports[0], sys), sysfs.number(device.directory / "nsid")


def _with_ports(controller: Path, sys: Path) -> Drive:
    """Returns the drive with all controllers that have its serial and its subsystem's name."""
    same = _names(controller)
    siblings = [one for entry in (sys / "class/nvme").iterdir() if _names(one := entry.resolve()) == same]
    ports = {_number(one): one for one in sorted(siblings, key=lambda one: (one != controller, one.name))}
    return Drive(same[0] or "", sysfs.text(controller / "model") or "", ports, sys)


def _names(controller: Path) -> tuple[str | None, str | None]:
    return sysfs.text(controller / "serial"), sysfs.text(controller / "subsysnqn")


def _number(controller: Path) -> int:
    return sysfs.number(controller / "cntlid") or 0
