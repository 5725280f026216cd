"""Uses of devices that this machine cannot be brought to show: made in a directory tree instead."""

from pathlib import Path

import pytest
from loop_devices import Loops

from fathom.targets import mounts
from fathom.targets.mounts import Mount, read_usage
from fathom.targets.safety import block_device, check_device


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def test_a_device_exported_over_nvme_of_is_refused(
    loops: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    served, disabled = loops.attach(), loops.attach()
    for number, (node, enable) in enumerate([(served, "1"), (disabled, "0")]):
        namespace = f"kernel/config/nvmet/subsystems/nqn/namespaces/{number}"
        write(tmp_path, {f"{namespace}/device_path": f"{node}\n", f"{namespace}/enable": f"{enable}\n"})
    monkeypatch.setattr(mounts, "SYS", tmp_path)
    usage = read_usage()
    assert [refusal.rule for refusal in check_device(served, usage=usage)] == ["exported"]
    assert check_device(disabled, usage=usage) == []


def test_every_member_of_a_mounted_btrfs_is_refused(
    loops: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first, second, other = loops.attach(), loops.attach(), loops.attach()
    for uuid, nodes in {"a": [first, second], "b": [other]}.items():
        for node in nodes:
            write(tmp_path, {f"fs/btrfs/{uuid}/devices/{node.name}/dev": block_device(node).dev})
    mount = Mount(dev="0:50", point="/data", file_system="btrfs", source=str(first), options="rw")
    monkeypatch.setattr(mounts, "SYS", tmp_path)
    monkeypatch.setattr(mounts, "_all_mounts", lambda: [mount])
    usage = read_usage()
    for node in (first, second):
        assert [refusal.reason for refusal in check_device(node, usage=usage)] == ["mounted on /data (btrfs)"]
    assert check_device(other, usage=usage) == []
