"""Devices that share bytes under several names: what uses one of them speaks against writing to the others."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from loop_devices import Loops, sh

from fathom.targets import sysfs
from fathom.targets.file_users import users_of
from fathom.targets.mounts import dev_text, read_usage
from fathom.targets.safety import block_device, check_device
from fathom.targets.stack import Stacks
from fathom.targets.sysfs import BlockDevice
from fathom.targets.uses import uses

MIB = 1 << 20


def reasons(node: Path) -> list[str]:
    return [refusal.reason for refusal in check_device(node)]


def rules(node: Path) -> set[str]:
    return {refusal.rule for refusal in check_device(node)}


@pytest.fixture
def mounted(loops: Loops) -> tuple[Path, Path, Path]:
    """An ext4 image, its loop device, and where that is mounted."""
    image = loops.image(128 * MIB)
    node = loops.attach(image)
    sh("mkfs.ext4", "-q", node)
    return image, node, loops.mount(node)


def test_a_loop_at_an_offset_of_a_mounted_loop_is_refused_by_the_mount(
    loops: Loops, mounted: tuple[Path, Path, Path]
):
    _, lower, point = mounted
    upper = loops.attach(lower, "--offset", "64M")
    assert f"{lower.name} is mounted on {point} (ext4)" in reasons(upper)
    assert f"lies on {lower}, which holds ext2/ext3/ext4" in reasons(upper)


def test_a_second_loop_on_the_image_of_a_mounted_one_is_refused_by_the_mount(
    loops: Loops, mounted: tuple[Path, Path, Path]
):
    image, lower, point = mounted
    for options in ((), ("--offset", "64M"), ("--offset", "1M", "--sizelimit", "1M")):
        assert f"{lower.name} is mounted on {point} (ext4)" in reasons(loops.attach(image, *options))


def test_a_loop_on_an_image_under_another_hard_link_is_refused_by_the_mount(
    loops: Loops, mounted: tuple[Path, Path, Path]
):
    image, lower, point = mounted
    other = image.with_name("another-name.img")
    other.hardlink_to(image)
    assert f"{lower.name} is mounted on {point} (ext4)" in reasons(loops.attach(other, "--offset", "64M"))


def test_a_loop_on_an_image_whose_name_is_gone_is_refused_by_the_mount(
    loops: Loops, mounted: tuple[Path, Path, Path]
):
    image, lower, point = mounted
    upper = loops.attach(image, "--offset", "64M")
    image.unlink()
    assert f"{lower.name} is mounted on {point} (ext4)" in reasons(upper)


def test_another_file_under_the_name_of_a_backing_file_is_not_taken_for_it(loops: Loops):
    image = loops.image(64 * MIB)
    node = loops.attach(image, "--offset", "32M")
    assert reasons(node) == []
    blank = loops.image(64 * MIB)
    image.unlink()
    blank.rename(f"{image} (deleted)")
    (refusal,) = check_device(node)
    assert (refusal.rule, "another file has its name" in refusal.reason) == ("unreadable", True)


def test_a_part_of_an_image_that_is_mounted_from_another_offset_is_refused(loops: Loops):
    image = loops.image(128 * MIB)
    inner = loops.attach(image, "--offset", "64M")
    sh("mkfs.ext4", "-q", inner)
    point = loops.mount(inner)
    whole = loops.attach(image)
    assert f"{inner.name} is mounted on {point} (ext4)" in reasons(whole)


def test_parts_of_one_image_that_do_not_overlap_are_no_reason_against_each_other(loops: Loops):
    image = loops.image(128 * MIB)
    first = loops.attach(image, "--sizelimit", "64M")
    second = loops.attach(image, "--offset", "64M")
    assert (reasons(first), reasons(second)) == ([], [])


def test_an_attached_alias_that_nobody_mounts_is_named(loops: Loops):
    image = loops.image(64 * MIB)
    first, second = loops.attach(image), loops.attach(image, "--offset", "32M")
    assert reasons(first) == [f"shares its bytes with {second.name}"]
    assert reasons(second) == [f"shares its bytes with {first.name}"]


def test_a_loop_at_an_offset_of_a_file_system_that_nobody_mounts_is_refused(loops: Loops):
    lower = loops.attach(128 * MIB)
    sh("mkfs.ext4", "-q", lower)
    upper = loops.attach(lower, "--offset", "64M")
    assert f"lies on {lower}, which holds ext2/ext3/ext4" in reasons(upper)


def test_a_loop_at_an_offset_of_an_image_of_a_file_system_is_refused(loops: Loops):
    image = loops.image(128 * MIB)
    sh("mkfs.ext4", "-q", "-F", image)
    upper = loops.attach(image, "--offset", "64M")
    assert f"lies on {image}, which holds ext2/ext3/ext4" in reasons(upper)


def put(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def mbr(*, start: int, sectors: int) -> bytes:
    """A table of one Linux partition."""
    entry = struct.pack("<4B4BII", 0, 0, 0, 0, 0x83, 0, 0, 0, start, sectors)
    return bytes(446) + entry + bytes(48) + b"\x55\xaa"


def test_a_loop_over_a_blank_part_of_a_partitioned_image_is_refused(loops: Loops):
    image = loops.image(128 * MIB)
    put(image, 0, mbr(start=2048, sectors=100 * 2048))
    expected = f"lies on {image}, which has a partition table: MBR with 1 partition(s)"
    assert reasons(loops.attach(image, "--offset", "64M", "--sizelimit", "16M")) == [expected]


@pytest.mark.parametrize("content", [b"SQLite format 3\0", b"QFI\xfb\0\0\0\3"], ids=["SQLite", "qcow2"])
def test_a_loop_over_a_blank_part_of_a_file_of_unknown_data_is_refused(loops: Loops, content: bytes):
    image = loops.image(128 * MIB)
    put(image, 0, content)
    first = f"first bytes {content[:8].hex(' ')} at 0"
    (refusal,) = check_device(loops.attach(image, "--offset", "64M", "--sizelimit", "16M"))
    assert refusal.rule == "unknown-data"
    assert refusal.reason == f"lies on {image}, which holds unknown data ({first})"


def test_what_a_loop_itself_holds_is_not_said_again_of_the_file_that_it_is_a_part_of(loops: Loops):
    image = loops.image(128 * MIB)
    node = loops.attach(image, "--offset", str(64 * MIB), "--sizelimit", str(64 * MIB - 4096))
    put(image, 64 * MIB, b"thesis")
    assert reasons(node) == ["holds unknown data (first bytes 74 68 65 73 69 73 00 00 at 0)"]
    put(image, 64 * MIB, bytes(6))
    put(image, 128 * MIB - 4096, b"thesis")
    assert [r.rule for r in check_device(node)] == ["unknown-data"]
    put(image, 128 * MIB - 4096, bytes(6))
    assert reasons(node) == []


def test_a_loop_over_active_swap_is_refused(loops: Loops):
    lower = loops.attach(64 * MIB)
    sh("mkswap", lower)
    sh("swapon", lower)
    loops.later("swapoff", str(lower))
    assert f"{lower.name} is in use as swap" in reasons(loops.attach(lower, "--offset", "32M"))


def test_a_loop_over_an_active_swap_file_is_refused(loops: Loops):
    lower = loops.attach(64 * MIB)
    sh("mkfs.ext4", "-q", lower)
    swap = loops.mount(lower) / "swap"
    with swap.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 16 * MIB)
    swap.chmod(0o600)
    sh("mkswap", swap)
    node = loops.attach(swap, "--offset", "8M")
    assert "swap" not in rules(node)
    sh("swapon", swap)
    loops.later("swapoff", str(swap))
    assert "its backing file is in use as swap" in reasons(node)


@pytest.mark.parametrize("name", ["a\x0bb", "a\rb", "a\u2028b", "a\x85b", "a\nb", "a - b", "a\\b", "\udcff"])
def test_no_name_of_a_mount_point_or_swap_file_hides_what_it_uses(loops: Loops, tmp_path: Path, name: str):
    node = loops.attach(64 * MIB)
    sh("mkfs.ext4", "-q", node)
    point = tmp_path / name
    point.mkdir()
    sh("mount", node, point)
    loops.later("umount", str(point))
    assert f"mounted on {point} (ext4)" in reasons(node)
    swap = point / name
    with swap.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 16 * MIB)
    swap.chmod(0o600)
    sh("mkswap", swap)
    upper = loops.attach(swap, "--offset", "8M")
    sh("swapon", swap)
    loops.later("swapoff", str(swap))
    assert "its backing file is in use as swap" in reasons(upper)


def test_the_first_part_of_a_file_that_cannot_be_opened_is_refused(loops: Loops):
    image = loops.image(64 * MIB)
    part, whole = loops.attach(image, "--sizelimit", "16M"), loops.attach(loops.image(64 * MIB))
    image.unlink()
    Path(sh("losetup", "--noheadings", "--output", "BACK-FILE", whole)).unlink()
    assert [r.rule for r in check_device(part)] == ["unreadable"]
    assert reasons(whole) == []


def test_a_partition_of_a_loop_is_refused_where_its_bytes_are_mounted_and_its_sibling_is_not(loops: Loops):
    image = loops.image(128 * MIB)
    node = loops.attach(image, "--partscan")
    sh("addpart", node, "1", "2048", "65536")
    sh("addpart", node, "2", str(64 * 2048), str(32 * 2048))
    inner = loops.attach(image, "--offset", "64M", "--sizelimit", "32M")
    sh("mkfs.ext4", "-q", inner)
    point = loops.mount(inner)
    assert f"{inner.name} is mounted on {point} (ext4)" in reasons(Path(f"{node}p2"))
    assert reasons(Path(f"{node}p1")) == []


def test_a_loop_over_a_partition_is_refused_where_another_loop_covers_the_same_bytes_of_the_disk(
    loops: Loops,
):
    node = loops.attach(128 * MIB, "--partscan")
    sh("addpart", node, "1", str(64 * 2048), str(32 * 2048))
    over_partition = loops.attach(Path(f"{node}p1"))
    over_disk = loops.attach(node, "--offset", "80M", "--sizelimit", "1M")
    assert f"shares its bytes with {over_disk.name}" in reasons(over_partition)


def test_a_loop_whose_file_another_process_has_open_is_refused(loops: Loops):
    image = loops.image(64 * MIB)
    node = loops.attach(image)
    code = f"import os; os.open({str(image)!r}, os.O_RDWR); print('open', flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    try:
        (reason,) = reasons(node)
        assert reason.startswith(f"its backing file is open in process {process.pid} (")
    finally:
        process.communicate("\n", timeout=10)


def test_a_device_under_the_file_of_a_loop_names_it_even_when_its_mount_is_not_seen(loops: Loops):
    lower = loops.attach(128 * MIB)
    sh("mkfs.ext4", "-q", lower)
    image = loops.mount(lower) / "inner.img"
    with image.open("wb") as file:
        file.truncate(16 * MIB)
    upper = loops.attach(image)
    device = block_device(lower)
    unseen = read_usage()
    unseen.mounts.clear()
    assert [refusal.reason for refusal in uses(device, unseen, Stacks())] == [
        f"shares its bytes with {upper.name}"
    ]
    assert "held" not in rules(upper)
    assert not any(upper.name in reason for reason in reasons(lower)), "its mount says enough"


def test_the_devices_on_a_file_are_found_by_inode_under_any_name(loops: Loops):
    image = loops.image(64 * MIB)
    node = loops.attach(image, "--offset", "1M")
    upper = loops.attach(node)
    other = image.with_name("link.img")
    other.hardlink_to(image)
    assert users_of(other) == [node.name]
    assert f"the backing of {upper.name}" in reasons(node)
    assert users_of(loops.image(4096)) == []


def test_without_permission_to_ask_the_kernel_the_path_is_looked_up(
    loops: Loops, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("fathom.targets.stack._asked", lambda device: None)
    image = loops.image(64 * MIB)
    first, second = loops.attach(image), loops.attach(image, "--offset", "32M")
    assert f"shares its bytes with {second.name}" in reasons(first)


class Tree:
    """A sysfs of devices that this machine cannot be brought to show, as the kernel lays it out."""

    def __init__(self, root: Path) -> None:
        self.sys = root
        self._minor = 0

    def disk(self, name: str, *slaves: BlockDevice, mib: int = 1024, mapped: str = "") -> BlockDevice:
        device = self._device(self.sys / "block" / name, mib)
        if mapped:
            (device.directory / "dm").mkdir()
            (device.directory / "dm/name").write_text(mapped)
        for slave in slaves:
            for directory, kind, to in [(device, "slaves", slave), (slave, "holders", device)]:
                (directory.directory / kind).mkdir(exist_ok=True)
                (directory.directory / kind / to.name).symlink_to(to.directory)
        return device

    def partition(self, disk: BlockDevice, number: int, start_mib: int, mib: int) -> BlockDevice:
        device = self._device(disk.directory / f"{disk.name}{number}", mib)
        (device.directory / "partition").write_text(str(number))
        (device.directory / "start").write_text(str(start_mib * 2048))
        return device

    def loop(self, name: str, backing: Path, offset_mib: int, mib: int) -> BlockDevice:
        device = self._device(self.sys / "block" / name, mib)
        (device.directory / "loop").mkdir()
        (device.directory / "loop/backing_file").write_text(str(backing))
        (device.directory / "loop/offset").write_text(str(offset_mib * MIB))
        return device

    def _device(self, directory: Path, mib: int) -> BlockDevice:
        self._minor += 1
        directory.mkdir(parents=True)
        (directory / "dev").write_text(f"250:{self._minor}")
        (directory / "size").write_text(str(mib * 2048))
        (self.sys / "dev/block").mkdir(parents=True, exist_ok=True)
        (self.sys / f"dev/block/250:{self._minor}").symlink_to(directory)
        return BlockDevice(directory, self.sys)

    def relatives(self, device: BlockDevice) -> set[str]:
        return {other.name for other in Stacks(self.sys).relatives(device)}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "sys")


def test_a_volume_is_a_relative_of_its_disks_and_not_of_other_volumes_there(tree: Tree):
    disk = tree.disk("sda")
    whole = tree.partition(disk, 1, 1, 512)
    other = tree.partition(disk, 2, 513, 100)
    root, data = tree.disk("dm-0", whole, mapped="vg-root"), tree.disk("dm-1", whole, mapped="vg-data")
    crypt = tree.disk("dm-2", data, mapped="crypt")
    assert tree.relatives(data) == {"sda", "sda1", "dm-2"}
    assert tree.relatives(crypt) == {"sda", "sda1", "dm-1"}
    assert tree.relatives(disk) == {"sda1", "sda2", "dm-0", "dm-1", "dm-2"}
    assert tree.relatives(other) == {"sda"}
    assert tree.relatives(root) == {"sda", "sda1"}


def test_members_of_an_array_and_what_lies_on_it_are_relatives(tree: Tree):
    members = [tree.disk("sda"), tree.disk("sdb")]
    array = tree.disk("md0", *members)
    tree.partition(array, 1, 1, 100)
    assert tree.relatives(members[0]) == {"md0", "md01"}
    assert tree.relatives(array) == {"sda", "sdb", "md01"}


def test_a_stack_that_is_used_is_told_against_what_lies_below_beside_and_above_it(tree: Tree):
    disk = tree.disk("sda")
    part = tree.partition(disk, 1, 1, 512)
    volume = tree.disk("dm-0", part, mapped="vg-data")
    usage = read_usage(openers=False)
    usage.mounts.clear()
    found = {device: uses(device, usage, Stacks(tree.sys)) for device in (disk, part, volume)}
    assert [refusal.reason for refusal in found[part]] == ["part of dm-0 (vg-data)"]
    assert [refusal.reason for refusal in found[disk]] == ["has 1 partition(s)"]
    assert found[volume] == []
    multipath = tree.disk("dm-1", disk, mapped="mpatha")
    found = {device: uses(device, usage, Stacks(tree.sys)) for device in (part, multipath)}
    assert "shares its bytes with dm-1 (mpatha)" in [refusal.reason for refusal in found[part]]
    assert found[multipath]


def test_a_root_on_a_loop_over_a_file_makes_the_disk_of_that_file_the_root_disk(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    stick = tree.disk("sdb")
    image = tmp_path / "squash.img"
    image.write_bytes(bytes(4096))
    live = tree.loop("loop0", image, 0, 1)
    (tree.sys / f"dev/block/{dev_text(image.stat().st_dev)}").symlink_to(stick.directory)
    usage = read_usage(openers=False)
    usage.mounts.clear()
    mount = next(iter(read_usage(openers=False).mounts.values()))[0]
    usage.mounts[live.dev] = [type(mount)(live.dev, "/", "squashfs", "/dev/loop0", "ro")]
    found = uses(stick, usage, Stacks(tree.sys))
    assert "on the root disk" not in [refusal.reason for refusal in found]
    assert "root-disk" in {refusal.rule for refusal in found}


def test_a_loop_over_a_disk_is_kept_from_the_members_of_a_volume_group_there(tree: Tree, tmp_path: Path):
    disk = tree.disk("sda")
    tree.disk("dm-0", disk, mapped="vg-root")
    node = tmp_path / "sda"
    node.touch()
    loop = tree.loop("loop0", node, 64, 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fathom.targets.stack.dev_of_path", lambda path: disk.dev)
        assert tree.relatives(loop) == {"sda", "dm-0"}
        found = uses(loop, read_usage(openers=False), Stacks(tree.sys))
    assert [refusal.reason for refusal in found] == ["shares its bytes with dm-0 (vg-root)"]


def test_a_device_that_is_gone_lies_on_nothing(tmp_path: Path):
    gone = BlockDevice(tmp_path / "block/loop9", tmp_path)
    (tmp_path / "block").mkdir()
    assert sysfs.by_dev("7:9", tmp_path) is None
    assert Stacks(tmp_path).relatives(gone) == []
