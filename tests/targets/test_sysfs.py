import os
from pathlib import Path

import pytest
from trees import write_tree

from fathom.targets import mounts, safety, sysfs
from fathom.targets.discover import examine
from fathom.targets.mounts import Mount, mount_of, parse_mountinfo
from fathom.targets.parse import parse_targets
from fathom.targets.sysfs import BlockDevice, HiddenError


@pytest.fixture
def nvme(tmp_path: Path) -> BlockDevice:
    """A PCIe drive as the kernel shows it: link on the PCI function, identity on the controller above the disk."""
    pci = "devices/pci0000:00/0000:00:01.0/0000:01:00.0"
    disk = f"{pci}/nvme/nvme0/nvme0n1"
    write_tree(
        tmp_path,
        {
            f"{pci}/current_link_speed": "16.0 GT/s PCIe\n",
            f"{pci}/max_link_speed": "32.0 GT/s PCIe\n",
            f"{pci}/current_link_width": "4\n",
            f"{pci}/max_link_width": "4\n",
            f"{pci}/nvme/nvme0/model": "WUS5EA1A1ESP5E3                         \n",
            f"{pci}/nvme/nvme0/serial": "A0123456            \n",
            f"{pci}/nvme/nvme0/firmware_rev": "RGT50016\n",
            f"{pci}/nvme/nvme0/transport": "pcie\n",
            f"{pci}/nvme/nvme0/numa_node": "1\n",
            f"{disk}/dev": "259:0\n",
            f"{disk}/size": "15002931888\n",
            f"{disk}/nsid": "1\n",
            f"{disk}/wwid": "eui.0025\n",
            f"{disk}/diskseq": "9\n",
            f"{disk}/metadata_bytes": "8\n",
            f"{disk}/queue/scheduler": "[none] mq-deadline kyber\n",
            f"{disk}/queue/rotational": "0\n",
            f"{disk}/queue/zoned": "none\n",
            f"{disk}/queue/logical_block_size": "512\n",
            f"{disk}/queue/max_sectors_kb": "128\n",
            f"{disk}/queue/max_hw_sectors_kb": "2147483647\n",
            f"{disk}/queue/write_cache": "write through\n",
            f"{disk}/nvme0n1p1/partition": "1\n",
            f"{disk}/nvme0n1p1/dev": "259:1\n",
            f"{disk}/nvme0n1p1/size": "2048\n",
        },
    )
    (tmp_path / disk / "device").symlink_to("../../nvme0")
    (tmp_path / "block").mkdir()
    (tmp_path / "block/nvme0n1").symlink_to(tmp_path / disk)
    return BlockDevice(tmp_path / disk, tmp_path)


def test_an_nvme_drive_tells_who_it_is_and_that_its_link_is_slow(nvme: BlockDevice):
    identity = nvme.identity()
    assert (identity.model, identity.serial, identity.firmware) == ("WUS5EA1A1ESP5E3", "A0123456", "RGT50016")
    assert (identity.link_speed_gtps, identity.link_max_speed_gtps) == (16.0, 32.0)
    assert (identity.link_width_lanes, identity.link_max_width_lanes) == (4, 4)
    assert (identity.transport, identity.namespace, identity.numa_node) == ("nvme-pcie", 1, 1)
    assert (identity.scheduler, identity.rotational, identity.write_cache) == ("none", False, "write through")
    assert identity.size_bytes == 15002931888 * 512
    assert identity.block_metadata_bytes == 8
    assert (identity.io_bytes_max, identity.command_bytes_max) == (128 << 10, None)


def test_a_link_of_unknown_width_has_none(nvme: BlockDevice):
    pci = nvme.directory.parents[2]
    (pci / "current_link_width").write_text("0\n")
    (pci / "max_link_width").write_text("255\n")
    identity = nvme.identity()
    assert (identity.link_width_lanes, identity.link_max_width_lanes) == (None, None)


@pytest.mark.parametrize(("text", "uuid"), [("0b1f6c4e-52d0\n", "0b1f6c4e-52d0"), ("00000000-0000\n", None)])
def test_an_array_has_the_uuid_that_md_gives_it(tmp_path: Path, text: str, uuid: str | None):
    write_tree(
        tmp_path, {"block/md127/dev": "9:127\n", "block/md127/size": "8\n", "block/md127/md/uuid": text}
    )
    assert BlockDevice(tmp_path / "block/md127", tmp_path).identity().array_uuid == uuid


def test_a_partition_has_its_own_size_and_its_disks_identity(nvme: BlockDevice):
    (partition,) = nvme.partitions
    assert partition.disk == nvme
    assert partition.identity().serial == "A0123456"
    assert partition.identity().size_bytes == 2048 * 512
    assert partition.below() == {partition, nvme}


def test_a_hidden_multipath_path_is_not_listed(nvme: BlockDevice):
    assert [disk.name for disk in sysfs.all_disks(nvme.sys)] == ["nvme0n1"]
    (nvme.directory / "hidden").write_text("1\n")
    assert sysfs.all_disks(nvme.sys) == []


def test_a_drive_with_two_ports_tells_the_link_of_its_first(nvme: BlockDevice):
    subsystem = nvme.sys / "devices/virtual/nvme-subsystem/nvme-subsys0"
    write_tree(
        subsystem, {"serial": "A0123456", "model": "SN861", "nvme0n1/dev": "259:0", "nvme0n1/size": "2048"}
    )
    (subsystem / "nvme0").symlink_to(nvme.directory.parent)
    (subsystem / "nvme0n1/device").symlink_to(subsystem)
    head = BlockDevice(subsystem / "nvme0n1", nvme.sys)
    identity = head.identity()
    assert (identity.serial, identity.model) == ("A0123456", "SN861")
    assert (identity.link_speed_gtps, identity.transport, identity.numa_node) == (16.0, "nvme-pcie", 1)
    assert head.controller == nvme.directory.parent


def test_the_link_of_an_adapter_is_not_taken_for_the_drives(tmp_path: Path):
    adapter = tmp_path / "devices/pci0/0000:00:17.0"
    write_tree(adapter, {"current_link_speed": "8.0 GT/s PCIe", "ata1/host0/0:0:0:0/block/sda/dev": "8:0"})
    disk = adapter / "ata1/host0/0:0:0:0/block/sda"
    (disk / "device").symlink_to(adapter / "ata1/host0/0:0:0:0")
    assert BlockDevice(disk, tmp_path).identity().link_speed_gtps is None


def test_a_stack_is_followed_down(nvme: BlockDevice):
    (partition,) = nvme.partitions
    mapper = nvme.sys / "devices/virtual/block/dm-0"
    write_tree(mapper, {"dev": "253:0", "size": "2048"})
    for directory, link, to in [
        (partition.directory, "holders", mapper),
        (mapper, "slaves", partition.directory),
    ]:
        (directory / link).mkdir()
        (directory / link / to.name).symlink_to(to)
    top = BlockDevice(mapper, nvme.sys)
    assert top.slaves == [partition]
    assert partition.holders == [top]
    assert top.below() == {top, partition, nvme}


def test_a_scsi_serial_is_read_from_its_vital_product_page(tmp_path: Path):
    device = tmp_path / "devices/pci0/ata1/host0/0:0:0:0"
    disk = device / "block/sda"
    write_tree(disk, {"dev": "8:0", "size": "2048"})
    write_tree(device, {"model": "WDC WUH721818AL", "rev": "W232"})
    (device / "vpd_pg80").write_bytes(b"\x00\x80\x00\x08  3WJ123")
    (disk / "device").symlink_to(device)
    identity = BlockDevice(disk, tmp_path).identity()
    assert (identity.serial, identity.firmware, identity.transport) == ("3WJ123", "W232", "sata")


@pytest.mark.parametrize(("characteristics", "is_managed"), [(0x20, True), (0x10, False), (0x00, False)])
def test_a_disk_that_orders_shingled_tracks_by_itself_says_so_in_its_characteristics(
    characteristics: int, is_managed: bool, tmp_path: Path
):
    device = tmp_path / "devices/pci0/ata1/host0/0:0:0:0"
    disk = device / "block/sda"
    write_tree(disk, {"dev": "8:0", "size": "2048"})
    page = b"\x00\xb1\x00\x3c\x1c\x20\x00\x02" + bytes([characteristics]) + bytes(55)
    (device / "vpd_pgb1").write_bytes(page)
    (disk / "device").symlink_to(device)
    assert BlockDevice(disk, tmp_path).identity().drive_managed is is_managed
    (device / "vpd_pgb1").write_bytes(page[:8])
    assert BlockDevice(disk, tmp_path).identity().drive_managed is None


def test_what_the_kernel_does_not_say_is_unknown(tmp_path: Path):
    write_tree(tmp_path / "block/vdb", {"dev": "254:16", "size": "oops"})
    identity = BlockDevice(tmp_path / "block/vdb", tmp_path).identity()
    assert (identity.serial, identity.rotational, identity.link_speed_gtps) == (None, None, None)
    assert identity.size_bytes == 0


MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
36 35 98:0 /mnt1 /mnt\040with\011tab rw,noatime shared:1 master:1 - ext3 /dev/ro\134ot rw,errors=continue
"""


def test_mountinfo_with_escapes_and_optional_fields_is_understood():
    assert parse_mountinfo(MOUNTINFO)[1] == Mount(
        dev="98:0",
        point="/mnt with\ttab",
        file_system="ext3",
        source="/dev/ro\\ot",
        options="rw,noatime,errors=continue",
    )


def test_the_mount_of_a_path_is_its_nearest_and_of_two_at_one_place_the_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lines = [
        f"1 0 8:{n} / {point} rw - ext4 /dev/sda{n} rw"
        for n, point in enumerate(["/", "/data", "/", "/datb"])
    ]
    write_tree(tmp_path, {"self/mountinfo": "\n".join(lines)})
    monkeypatch.setattr(mounts, "PROC", tmp_path)
    found = {
        path: mount.dev for path in ("/data/x", "/data", "/database", "/") if (mount := mount_of(Path(path)))
    }
    assert found == {"/data/x": "8:1", "/data": "8:1", "/database": "8:2", "/": "8:2"}


def test_a_disk_with_one_queue_for_all_cores_is_told_from_one_with_more(nvme: BlockDevice):
    assert not nvme.shares_one_queue, "a device without queues of its own"
    (nvme.directory / "mq/0").mkdir(parents=True)
    assert nvme.shares_one_queue
    assert nvme.partitions[0].shares_one_queue
    (nvme.directory / "mq/1").mkdir()
    assert not nvme.shares_one_queue


def test_an_empty_directory_over_the_devices_hides_them_and_none_of_them_counts_as_absent(
    tmp_path: Path,
) -> None:
    (tmp_path / "dev/block").mkdir(parents=True)
    (tmp_path / "block").mkdir()
    assert sysfs.by_dev("259:0", tmp_path) is None
    (tmp_path / "block/nvme0n1").mkdir()
    with pytest.raises(HiddenError, match="hidden from this container"):
        sysfs.by_dev("259:0", tmp_path)
    assert sysfs.readable_by_dev("259:0", tmp_path) is None


def test_where_sysfs_is_hidden_a_file_has_no_drive_below_it_and_a_device_is_still_not_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = Path.stat

    def stat(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.parent == sysfs.SYS / "dev/block":
            raise PermissionError(13, "Permission denied", str(path))
        return seen(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", stat)
    [file] = parse_targets([f"file:{tmp_path / 'x.bin'}"], size_bytes=1 << 20)
    assert file.identity.model is None
    assert file.identity.file_system
    # A root disk that cannot be seen must not count as none.
    monkeypatch.setattr(safety, "dev_of_path", lambda path: "259:0")
    with pytest.raises(HiddenError, match="/sys/dev/block: hidden from this container"):
        safety.block_device(Path("/dev/nvme0n1"))
    with pytest.raises(HiddenError, match="hidden from this container"):
        examine("/dev/nvme0n1")
