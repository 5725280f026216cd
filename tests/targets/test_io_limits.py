"""What the control group of this process may do on a device, by the files of both versions of cgroups."""

from pathlib import Path

import pytest
from trees import write_tree

from fathom.targets.io_limits import IoLimits, io_limits
from fathom.targets.sysfs import BlockDevice


@pytest.fixture
def volume(tmp_path: Path) -> BlockDevice:
    """A volume, 253:0, on a partition of a drive, 8:0."""
    sys = tmp_path / "sys"
    write_tree(
        sys, {"devices/sda/dev": "8:0\n", "devices/sda/sda1/dev": "8:1\n", "devices/dm-0/dev": "253:0\n"}
    )
    write_tree(sys, {"devices/sda/sda1/partition": "1\n"})
    (sys / "devices/dm-0/slaves").mkdir()
    (sys / "devices/dm-0/slaves/sda1").symlink_to(sys / "devices/sda/sda1")
    return BlockDevice(sys / "devices/dm-0", sys)


def limits_of(device: BlockDevice, own_groups: str, files: dict[str, str]) -> IoLimits:
    root = device.sys.parent
    write_tree(
        root, {"proc/self/cgroup": own_groups} | {f"sys/fs/cgroup/{name}": x for name, x in files.items()}
    )
    return io_limits([device], root / "proc", device.sys)


def test_the_tightest_limit_of_a_group_and_of_those_around_it_holds(volume: BlockDevice):
    files = {
        "box/io.max": "8:0 rbps=max wbps=4000 riops=900 wiops=max\n259:0 rbps=1 wbps=1 riops=1 wiops=1\n",
        "box/inner/io.max": "8:0 rbps=max wbps=5000 riops=800 wiops=max\n253:0 rbps=max wbps=max riops=max wiops=70",
    }
    assert limits_of(volume, "0::/box/inner\n", files) == IoLimits(None, 4000, 800, 70)
    assert limits_of(volume, "0::/box\n", files) == IoLimits(None, 4000, 900, None)
    assert limits_of(volume, "0::/other\n", files) == IoLimits()


def test_version_1_has_a_file_for_each_limit(volume: BlockDevice):
    files = {
        "blkio/box/blkio.throttle.read_bps_device": "8:0 1048576\n",
        "blkio/box/blkio.throttle.write_iops_device": "8:16 3\n253:0 500\n",
        "blkio/blkio.throttle.read_iops_device": "8:0 1\n",
    }
    groups = "7:blkio:/box\n1:cpu:/box\n0::/\n"
    assert limits_of(volume, groups, files) == IoLimits(read_bytes_per_s=1 << 20, write_iops=500)


@pytest.mark.parametrize(
    ("groups", "file", "line"),
    [
        ("7:blkio:/docker/1f\n", "blkio/blkio.throttle.read_iops_device", "8:0 9"),
        ("0::/docker/1f\n", "io.max", "8:0 rbps=max wbps=max riops=9 wiops=max"),
    ],
)
def test_a_container_that_sees_its_own_group_as_the_root_has_its_limits(
    volume: BlockDevice, groups: str, file: str, line: str
):
    assert limits_of(volume, groups, {file: line}) == IoLimits(read_iops=9)


def test_without_control_groups_nothing_is_limited(volume: BlockDevice):
    assert limits_of(volume, "", {}) == IoLimits()
    assert io_limits([volume], Path("/nowhere"), volume.sys) == IoLimits()
