"""Block devices as sysfs describes them: identity, geometry, children and stacks. Decides nothing.

Every function takes the sysfs root, so that drives which are not attached can be described in a directory
tree.
"""

from dataclasses import dataclass
from pathlib import Path
from string import digits

from fathom.errors import RefusedError
from fathom.targets.mounts import SYS
from fathom.targets.target import Identity

SECTOR_BYTES = 512
_NO_LIMIT_KIB = (1 << 31) - 1


def text(path: Path) -> str | None:
    """Returns the trimmed content of an attribute, None when it is absent, unreadable or empty."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").replace("\0", "").strip() or None
    except OSError:
        return None


def number(path: Path) -> int | None:
    """Returns an attribute that is a whole number; None when absent or something else."""
    content = text(path)
    try:
        return int(content) if content else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """One directory of block devices in sysfs: a whole disk or a partition."""

    directory: Path
    sys: Path = SYS

    @property
    def name(self) -> str:
        """The kernel's name, where `!` stands for the slash of names such as cciss/c0d0."""
        return self.directory.name

    @property
    def node(self) -> Path:
        """The device node that devtmpfs makes for it."""
        return Path("/dev") / self.name.replace("!", "/")

    @property
    def dev(self) -> str:
        """`major:minor`."""
        return text(self.directory / "dev") or ""

    @property
    def size_bytes(self) -> int:
        """The capacity; sysfs counts in 512-byte sectors whatever the block size is."""
        return (number(self.directory / "size") or 0) * SECTOR_BYTES

    @property
    def write_streams(self) -> int:
        """Placement handles that writes can name by the block layer (Linux 6.16 and FDP); 0 without."""
        return number(self.disk.directory / "queue/max_write_streams") or 0

    @property
    def counts_io(self) -> bool:
        """Whether the kernel counts the disk's I/O, a setting of its queue (Documentation/ABI/stable/sysfs-block)."""
        return number(self.disk.directory / "queue/iostats") != 0

    @property
    def shares_one_queue(self) -> bool:
        """Whether all cores share one queue and one interrupt to the disk, or to one below it."""
        return any(len(list((below.directory / "mq").glob("[0-9]*"))) == 1 for below in self.below())

    @property
    def read_only(self) -> bool:
        """Whether the kernel refuses writes to it."""
        return number(self.directory / "ro") == 1

    @property
    def is_zoned(self) -> bool:
        """Whether it is written in zones, by its disk."""
        return (text(self.disk.directory / "queue/zoned") or "none") != "none"

    @property
    def hidden(self) -> bool:
        """Whether it is only a path below a multipath disk and has no node of its own."""
        return number(self.directory / "hidden") == 1

    @property
    def is_partition(self) -> bool:
        """Whether it is part of another device."""
        return (self.directory / "partition").exists()

    @property
    def disk(self) -> "BlockDevice":
        """The whole disk: itself, or what it is a partition of."""
        return BlockDevice(self.directory.parent, self.sys) if self.is_partition else self

    @property
    def partitions(self) -> list["BlockDevice"]:
        """The partitions that the kernel knows."""
        found = sorted(self.directory.glob("*/partition"))
        return [BlockDevice(entry.parent, self.sys) for entry in found]

    def below(self) -> set["BlockDevice"]:
        """Returns all devices this one lies on, itself included: its disk and the members of every stack under it."""
        found: set[BlockDevice] = set()
        queue: list[BlockDevice] = [self]
        while queue:
            device = queue.pop()
            if device not in found:
                found.add(device)
                queue += [device.disk, *device.slaves]
        return found

    @property
    def drives(self) -> list["BlockDevice"]:
        """The whole disks at the bottom of every stack, by name: those that lie on no other device. Several paths to
        one, as multipath has them, are one.
        """
        found: dict[str, BlockDevice] = {}
        for one in sorted(self.below(), key=lambda disk: disk.name):
            if not one.is_partition and not one.slaves:
                found.setdefault(one.wwid or one.name, one)
        return [*found.values()]

    @property
    def layers(self) -> tuple[str, ...]:
        """What lies between it and its drives, from the top, each kind once: `LVM`, `dm-crypt`, `raid1`."""
        found: dict[str, None] = {}
        level = [self.disk]
        while level:
            stacked = [device for device in level if device.slaves]
            found |= dict.fromkeys(device.layer for device in stacked)
            level = [member.disk for device in stacked for member in device.slaves]
        return tuple(found)

    @property
    def layer(self) -> str:
        """What a stacked device is, by the kernel's words: dm's UUID names who made it, md has a level."""
        if level := text(self.directory / "md/level"):
            return level
        uuid = text(self.directory / "dm/uuid") or ""
        for prefix, word in _DM_MAKERS:
            if uuid.startswith(f"{prefix}-"):
                return word
        kind = self.name.rstrip(digits)
        return "device-mapper" if kind == "dm-" else kind

    @property
    def holders(self) -> list["BlockDevice"]:
        """The devices stacked directly on it."""
        return self._linked("holders")

    @property
    def slaves(self) -> list["BlockDevice"]:
        """The devices it is directly stacked on, by device-mapper, md or bcache."""
        return self._linked("slaves")

    def _linked(self, kind: str) -> list["BlockDevice"]:
        links = self.directory / kind
        return (
            [BlockDevice(link.resolve(), self.sys) for link in sorted(links.iterdir())]
            if links.is_dir()
            else []
        )

    @property
    def wwid(self) -> str | None:
        """The worldwide name of the disk, or what device-mapper or md identifies it by."""
        disk = self.disk.directory
        return _first(disk / "wwid", disk / "device/wwid", disk / "dm/uuid", disk / "md/uuid")

    @property
    def serial(self) -> str | None:
        """The serial number of the disk."""
        disk = self.disk.directory
        return _first(disk / "device/serial", disk / "serial") or _vpd_serial(disk / "device/vpd_pg80")

    def identity(self) -> Identity:
        """Returns the device's identity, as the kernel reports it."""
        disk = self.disk.directory
        device = disk / "device"
        queue = disk / "queue"
        pci = self._pci()
        return Identity(
            device=self.name,
            dev=self.dev,
            diskseq=number(disk / "diskseq"),
            model=text(device / "model"),
            serial=self.serial,
            firmware=_first(device / "firmware_rev", device / "rev"),
            wwid=self.wwid,
            transport=self._transport(),
            link_speed_gtps=_speed(pci, "current_link_speed"),
            link_width_lanes=_lanes(pci, "current_link_width"),
            link_max_speed_gtps=_speed(pci, "max_link_speed"),
            link_max_width_lanes=_lanes(pci, "max_link_width"),
            namespace=number(disk / "nsid"),
            size_bytes=self.size_bytes,
            logical_block_bytes=number(queue / "logical_block_size"),
            physical_block_bytes=number(queue / "physical_block_size"),
            block_metadata_bytes=number(disk / "metadata_bytes") or None,
            scheduler=_selected(text(queue / "scheduler")),
            rotational=_flag(queue / "rotational"),
            zoned=text(queue / "zoned"),
            drive_managed=_vpd_drive_managed(device / "vpd_pgb1"),
            numa_node=_node(_first_number(self.controller / "numa_node", device / "numa_node")),
            write_cache=text(queue / "write_cache"),
            backing_file=text(disk / "loop/backing_file"),
            io_bytes_max=_kib(queue / "max_sectors_kb"),
            command_bytes_max=_kib(queue / "max_hw_sectors_kb"),
            mapped=text(disk / "dm/name"),
            array_uuid=_array_uuid(disk / "md/uuid"),
            layers=self.layers,
            drives=many if (many := len(self.drives)) > 1 else None,
        )

    @property
    def controller(self) -> Path:
        """What drives the disk: its parent, or the first controller of an NVMe subsystem of several ports."""
        ports = self.ports
        return ports[0] if ports else (self.disk.directory / "device").resolve()

    @property
    def ports(self) -> list[Path]:
        """The NVMe controllers that lead to the disk: those of its subsystem, or its own; none of other disks."""
        parent = (self.disk.directory / "device").resolve()
        if not self.disk.name.startswith("nvme"):
            return []
        if (parent / "transport").exists():
            return [parent]
        return [
            entry.resolve() for entry in sorted(parent.glob("nvme[0-9]*")) if (entry / "transport").exists()
        ]

    def _pci(self) -> Path | None:
        """Returns the drive's own PCI function; None for SATA, SAS and USB drives, which have none."""
        if not self.disk.name.startswith("nvme"):
            return None
        return next((up for up in self.controller.parents if (up / "current_link_speed").exists()), None)

    def _transport(self) -> str | None:
        name = self.disk.name
        for prefix in ("loop", "zram", "ram", "md", "dm-", "nbd", "bcache", "rbd", "mmcblk"):
            if name.startswith(prefix):
                return {"dm-": "device-mapper", "mmcblk": "mmc"}.get(prefix, prefix)
        if name.startswith("nvme"):
            fabric = text(self.controller / "transport")
            return "nvme-" + fabric if fabric else "nvme"
        where = str((self.disk.directory / "device").resolve())
        known = {
            "/usb": "usb",
            "/ata": "sata",
            "/virtio": "virtio",
            "/session": "iscsi",
            "/end_device-": "sas",
        }
        return next((label for part, label in known.items() if part in where), None)


DM_CRYPT = "dm-crypt"

_DM_MAKERS = (
    ("LVM", "LVM"),
    ("CRYPT-VERITY", "dm-verity"),
    ("CRYPT-INTEGRITY", "dm-integrity"),
    ("CRYPT", DM_CRYPT),
    ("mpath", "multipath"),
    ("VDO", "VDO"),
)
"""How the UUIDs that lvm2, cryptsetup, multipath-tools and vdo give to device-mapper begin, and a word for each. What
cryptsetup makes begins with CRYPT, also where nothing is encrypted.
"""


class HiddenError(RefusedError):
    """The machine hides which block devices it has: nothing on them can be called safe."""


def all_disks(sys: Path = SYS) -> list[BlockDevice]:
    """Returns every whole disk that has a node, in natural order of its name."""
    disks = [BlockDevice(entry.resolve(), sys) for entry in (sys / "block").iterdir()]
    return sorted((disk for disk in disks if not disk.hidden), key=lambda disk: (len(disk.name), disk.name))


def by_dev(dev: str, sys: Path = SYS) -> BlockDevice | None:
    """Returns the device with this `major:minor`; None when there is none, as for anonymous file systems.

    Raises HiddenError where that cannot be known.
    """
    link = sys / "dev/block" / dev
    try:
        link.stat()  # `exists` says no to what it may not see, from Python 3.14 on
        return BlockDevice(link.resolve(), sys)
    except (FileNotFoundError, NotADirectoryError):
        if not _is_masked(link.parent, sys):
            return None
    except PermissionError:
        pass
    raise HiddenError(
        f"{link.parent}: hidden from this container, so what is on which device cannot be known",
        "run outside, or start the container with --security-opt unmask=/sys/dev/block",
    )


def _is_masked(devices: Path, sys: Path) -> bool:
    """Returns whether an empty directory lies over that of the devices, and there are some."""
    return devices.is_dir() and not any(devices.iterdir()) and any((sys / "block").iterdir())


def readable_by_dev(dev: str, sys: Path = SYS) -> BlockDevice | None:
    """Returns the device as `by_dev`; None too where sysfs is hidden, as in some containers.

    It is for what a run records of a target. What decides on safety uses `by_dev`, so that nothing hidden counts as
    absent.
    """
    try:
        return by_dev(dev, sys)
    except HiddenError:
        return None


def _first(*paths: Path) -> str | None:
    return next((content for path in paths if (content := text(path))), None)


def _first_number(*paths: Path) -> int | None:
    return next((value for path in paths if (value := number(path)) is not None), None)


def _vpd_serial(path: Path) -> str | None:
    """Returns the unit serial number page of SCSI (SPC-4, 7.8.15): four bytes of header, then ASCII."""
    try:
        return path.read_bytes()[4:].decode("ascii", "replace").strip("\0 ") or None
    except OSError:
        return None


def _vpd_drive_managed(path: Path) -> bool | None:
    """Returns whether a disk says that it orders shingled tracks by itself; the kernel reports such a disk as one
    without zones. It is 2 in the field ZONED of the page of block device characteristics (SBC-4).
    """
    try:
        return path.read_bytes()[8] >> 4 & 3 == 2
    except (OSError, IndexError):
        return None


def _speed(pci: Path | None, attribute: str) -> float | None:
    """Returns a PCI link speed; sysfs says `32.0 GT/s PCIe`."""
    words = (text(pci / attribute) or "").split() if pci else []
    try:
        return float(words[0]) if words else None
    except ValueError:
        return None


def _lanes(pci: Path | None, attribute: str) -> int | None:
    """Returns the width of a PCI link; sysfs says 0 or 255 where it does not know."""
    lanes = number(pci / attribute) if pci else None
    return None if lanes in (0, 255) else lanes


def _array_uuid(path: Path) -> str | None:
    """Returns the UUID of an md array; None where sysfs says zeros, as of an array without one."""
    uuid = text(path)
    return uuid if uuid and uuid.strip("0-") else None


def _selected(choices: str | None) -> str | None:
    """Returns the bracketed one of `none [mq-deadline] kyber`; a lone word is the choice itself."""
    if choices is None:
        return None
    return next((word[1:-1] for word in choices.split() if word.startswith("[")), choices)


def _kib(path: Path) -> int | None:
    """Returns the bytes of an attribute in KiB; None where it has no limit, which the kernel writes as the most."""
    value = number(path)
    return None if value is None or value >= _NO_LIMIT_KIB else value << 10


def _flag(path: Path) -> bool | None:
    value = number(path)
    return None if value is None else value == 1


def _node(value: int | None) -> int | None:
    return None if value is None or value < 0 else value
