"""Device-mapper and md as the kernel builds them: what uses a stack speaks against all that shares its bytes."""

from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from vm_guest import sh

from fathom.method.method import parse_method
from fathom.session import Options, start_run
from fathom.targets.files import file_target
from fathom.targets.parse import device_target
from fathom.targets.safety import check_device, destroy_token

DRIVE = Path("/dev/nvme2n1")
MIB_SECTORS = 2048


@pytest.fixture
def undo() -> Iterator[list[tuple[str, ...]]]:
    """Commands that take down what a test has built, run in reverse order."""
    commands: list[tuple[str, ...]] = []
    yield commands
    for command in reversed(commands):
        sh(*command)


def reasons(node: Path) -> list[str]:
    return [refusal.reason for refusal in check_device(node)]


def mapped(undo: list[tuple[str, ...]], name: str, start_mib: int, mib: int) -> Path:
    """A linear volume over a part of the drive."""
    sh("modprobe", "dm_mod")
    table = f"0 {mib * MIB_SECTORS} linear {DRIVE} {start_mib * MIB_SECTORS}"
    sh("dmsetup", "--noudevsync", "--noudevrules", "create", name, "--table", table)
    undo.append(("dmsetup", "--noudevsync", "remove", name))
    number = sh("dmsetup", "info", "-c", "--noheadings", "-o", "minor", name).strip()
    return Path(f"/dev/dm-{number}")


def mounted(undo: list[tuple[str, ...]], node: Path, point: Path) -> Path:
    sh("mkfs.ext4", "-q", str(node))
    point.mkdir()
    sh("mount", str(node), str(point))
    undo.append(("umount", str(point)))
    return point


def looped(undo: list[tuple[str, ...]], backing: Path, *options: str) -> Path:
    sh("modprobe", "loop")
    node = sh("losetup", "--find", "--show", *options, str(backing)).strip()
    undo.append(("losetup", "-d", node))
    return Path(node)


def cleared(undo: list[tuple[str, ...]]) -> None:
    sh("blkdiscard", "--zeroout", "--length", str(1 << 30), str(DRIVE))
    undo.append(("blkdiscard", "--zeroout", "--length", str(1 << 30), str(DRIVE)))


def test_a_mounted_volume_speaks_against_its_drive_and_not_against_its_neighbour(
    undo: list[tuple[str, ...]], tmp_path: Path
) -> None:
    cleared(undo)
    first, second = mapped(undo, "vg-first", 64, 256), mapped(undo, "vg-second", 320, 256)
    assert reasons(first) == []
    assert f"part of {first.name} (vg-first), {second.name} (vg-second)" in reasons(DRIVE)
    point = mounted(undo, first, tmp_path / "point")
    assert f"{first.name} is mounted on {point} (ext4)" in reasons(DRIVE)
    assert device_target(first).label == "vg-first (device-mapper) 268 MB"
    file = file_target(point / "x.bin", 1 << 20)
    assert file.label == "file on QEMU NVMe Ctrl through device-mapper (ext4)"
    assert reasons(second) == []
    beside = looped(undo, DRIVE, "--offset", "128M", "--sizelimit", "16M")
    assert f"{first.name} is mounted on {point} (ext4)" in reasons(beside)


def test_a_mounted_array_speaks_against_its_members_and_loops_on_them(
    undo: list[tuple[str, ...]], tmp_path: Path
) -> None:
    sh("modprobe", "raid1")
    members = []
    for number in range(2):
        image = Path(f"/dev/shm/member{number}.img")
        with image.open("wb") as file:
            file.truncate(128 << 20)
        members.append(looped(undo, image))
    array = Path("/dev/md7")
    command = ("mdadm", "--create", str(array), "--level=1", "--raid-devices=2", "--metadata=1.2")
    sh(*command, "--assume-clean", "--run", *map(str, members))
    undo.append(("mdadm", "--stop", str(array)))
    assert reasons(array) == []
    for member in members:
        assert f"part of {array.name}" in reasons(member)
        assert "holds md raid" in reasons(member)
    point = mounted(undo, array, tmp_path / "point")
    for member in members:
        assert f"{array.name} is mounted on {point} (ext4)" in reasons(member)
    assert file_target(point / "x.bin", 1 << 20).label == "file on 2 drives through raid1 (ext4)"
    inside = looped(undo, members[0], "--offset", "32M", "--sizelimit", "16M")
    assert f"{array.name} is mounted on {point} (ext4)" in reasons(inside)
    assert f"lies on {members[0]}, which holds md raid" in reasons(inside)


def test_a_volume_of_dm_crypt_on_a_drive_with_poll_queues_answers(
    undo: list[tuple[str, ...]], tmp_path: Path
) -> None:
    sh("modprobe", "-a", "dm_mod", "dm_crypt")
    table = f"0 {32 * MIB_SECTORS} crypt aes-xts-plain64 {'ab' * 32} 0 {DRIVE} 0"
    sh("dmsetup", "--noudevsync", "--noudevrules", "create", "secret", "--table", table)
    undo.append(("dmsetup", "--noudevsync", "remove", "secret"))
    number = sh("dmsetup", "info", "-c", "--noheadings", "-o", "minor", "secret").strip()
    target = device_target(Path(f"/dev/dm-{number}"))
    run = start_run(parse_method(READS.replace("8s", "2s"), "reads.toml"), [target], Options(out=tmp_path))
    [row] = run.points.to_pylist()
    timeout_us = 30e6
    assert row["n"] > 0
    assert row["max_us"] < timeout_us / 2


READS = """
schema = "fathom-method/1"
name = "reads"
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 4 }
until = { time = "8s" }
"""


def test_a_run_on_an_array_that_loses_a_member_says_so(undo: list[tuple[str, ...]], tmp_path: Path) -> None:
    sh("modprobe", "raid1")
    members = []
    for number in range(2):
        image = Path(f"/dev/shm/mirror{number}.img")
        with image.open("wb") as file:
            file.truncate(64 << 20)
        members.append(str(looped(undo, image)))
    array = "/dev/md9"
    command = ("mdadm", "--create", array, "--level=1", "--raid-devices=2", "--metadata=1.2")
    sh(*command, "--assume-clean", "--run", *members)
    undo.append(("mdadm", "--stop", array))
    target = device_target(Path(array))
    assert destroy_token(target.identity) == f"md9:{target.identity.array_uuid}"
    lost = Timer(4, sh, ("mdadm", array, "--fail", members[1]))
    lost.start()
    run = start_run(parse_method(READS, "reads.toml"), [target], Options(out=tmp_path))
    lost.join()
    [note] = [note for note in run.document.notes if note.rule == "array-degraded"]
    assert note.text.startswith("the md array lacked a member for ")


def test_a_volume_on_an_array_is_followed_through_both(undo: list[tuple[str, ...]], tmp_path: Path) -> None:
    sh("modprobe", "-a", "dm_mod", "raid1")
    image = Path("/dev/shm/alone.img")
    with image.open("wb") as file:
        file.truncate(128 << 20)
    member = looped(undo, image)
    array = Path("/dev/md8")
    command = ("mdadm", "--create", str(array), "--level=1", "--raid-devices=2", "--metadata=1.0")
    sh(*command, "--assume-clean", "--run", "--force", str(member), "missing")
    undo.append(("mdadm", "--stop", str(array)))
    sh("dmsetup", "--noudevsync", "--noudevrules", "create", "top", "--table", f"0 65536 linear {array} 0")
    undo.append(("dmsetup", "--noudevsync", "remove", "top"))
    top = Path("/dev/dm-" + sh("dmsetup", "info", "-c", "--noheadings", "-o", "minor", "top").strip())
    point = mounted(undo, top, tmp_path / "point")
    for lower in (array, member):
        assert f"{top.name} is mounted on {point} (ext4)" in reasons(lower)


def test_a_file_on_btrfs_of_two_drives_is_on_both(undo: list[tuple[str, ...]], tmp_path: Path) -> None:
    nodes = []
    for number in range(2):
        image = Path(f"/dev/shm/btrfs{number}.img")
        with image.open("wb") as file:
            file.truncate(128 << 20)
        nodes.append(str(looped(undo, image)))
    sh("modprobe", "btrfs")
    sh("mkfs.btrfs", "-q", *nodes)
    point = tmp_path / "point"
    point.mkdir()
    sh("mount", "-o", f"device={nodes[1]}", nodes[0], str(point))
    undo.append(("umount", str(point)))
    assert file_target(point / "x.bin", 1 << 20).label == "file on 2 drives (btrfs)"
