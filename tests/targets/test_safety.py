import json
import os
import subprocess
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest
from loop_devices import Loops, sh

from fathom._core import Job
from fathom.errors import ExitCode, FathomError, RefusedError, UsageError
from fathom.load.backend import EngineBackend
from fathom.targets import safety, sysfs
from fathom.targets.claim import claim, recheck
from fathom.targets.mounts import dev_text
from fathom.targets.parse import device_target
from fathom.targets.safety import (
    ExclusiveHold,
    authorise_destroy,
    check_device,
    destroy_token,
    ensure_same,
    recheck_identity,
)
from fathom.targets.sysfs import BlockDevice
from fathom.targets.target import Identity


def reasons(node: Path) -> list[str]:
    return [refusal.reason for refusal in check_device(node)]


def rules(node: Path) -> set[str]:
    return {refusal.rule for refusal in check_device(node)}


def held_open(node: Path, flags: str) -> subprocess.Popen[str]:
    code = f"import os; os.open({str(node)!r}, {flags}); print('open', flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.communicate("\n", timeout=10)


def test_a_clean_loop_device_is_accepted(loops: Loops):
    assert check_device(loops.attach()) == []


def test_a_mounted_device_is_refused_with_its_mount_point(loops: Loops):
    node = loops.attach()
    sh("mkfs.ext4", "-q", node)
    point = loops.mount(node)
    assert f"mounted on {point} (ext4)" in reasons(node)


def test_a_device_mounted_in_another_namespace_only_is_refused(loops: Loops, tmp_path: Path):
    node = loops.attach()
    sh("mkfs.ext4", "-q", node)
    point = tmp_path / "elsewhere"
    point.mkdir()
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", f"mount {node} {point} && echo mounted && read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "mounted\n"
    try:
        assert str(point) not in Path("/proc/self/mountinfo").read_text()
        assert f"mounted on {point} (ext4)" in reasons(node)
    finally:
        end(process)


def test_a_device_whose_partition_is_mounted_is_refused_and_names_the_partition(loops: Loops):
    node = loops.attach(64 << 20, "--partscan")
    sh("addpart", node, "1", "2048", "65536")
    child = Path(f"{node}p1")
    sh("mkfs.ext4", "-q", child)
    point = loops.mount(child)
    found = reasons(node)
    assert f"{child.name} is mounted on {point} (ext4)" in found
    assert "has 1 partition(s)" in found
    assert f"{child.name} holds ext2/ext3/ext4" in found


def test_a_partition_is_refused_while_its_whole_disk_is_open(loops: Loops):
    node = loops.attach(64 << 20, "--partscan")
    sh("addpart", node, "1", "2048", "65536")
    process = held_open(node, "os.O_RDWR")
    try:
        assert any(
            f"{node.name} is open in process {process.pid}" in reason for reason in reasons(Path(f"{node}p1"))
        )
    finally:
        end(process)


@pytest.mark.parametrize(
    ("command", "name"),
    [(("mkfs.ext4", "-q"), "ext2/ext3/ext4"), (("mkswap",), "swap")],
    ids=["ext4", "swap"],
)
def test_a_signed_device_is_refused_with_the_format(loops: Loops, command: tuple[str, ...], name: str):
    node = loops.attach()
    sh(*command, node)
    assert reasons(node) == [f"holds {name}"]


def test_active_swap_is_refused(loops: Loops):
    node = loops.attach()
    sh("mkswap", node)
    sh("swapon", node)
    loops.later("swapoff", str(node))
    assert "in use as swap" in reasons(node)


def test_a_device_below_another_loop_is_held(loops: Loops):
    lower = loops.attach()
    upper = loops.attach(lower)
    assert f"the backing of {upper.name}" in reasons(lower)


def test_a_device_below_a_mounted_loop_names_the_mount(loops: Loops):
    lower = loops.attach()
    upper = loops.attach(lower)
    sh("mkfs.ext4", "-q", upper)
    point = loops.mount(upper)
    assert f"{upper.name} is mounted on {point} (ext4)" in reasons(lower)


def test_a_member_of_a_stack_is_held(loops: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    node = loops.attach()
    real = safety.block_device(node)
    fake = tmp_path / "sys/block/loop0"
    upper = tmp_path / "sys/block/dm-0"
    (fake / "holders").mkdir(parents=True)
    (upper / "dm").mkdir(parents=True)
    (fake / "holders/dm-0").symlink_to(upper)
    (fake / "dev").write_text(real.dev)
    (fake / "size").write_text(str(real.size_bytes // 512))
    (upper / "dev").write_text("253:0")
    (upper / "dm/name").write_text("vg-data\n")
    monkeypatch.setattr(sysfs, "by_dev", lambda *_: BlockDevice(fake, tmp_path / "sys"))
    assert "part of dm-0 (vg-data)" in reasons(node)


@pytest.mark.parametrize("flags", ["os.O_RDWR", "os.O_RDWR | os.O_EXCL"], ids=["shared", "exclusive"])
def test_a_device_open_in_another_process_is_refused_with_the_process(loops: Loops, flags: str):
    node = loops.attach()
    process = held_open(node, flags)
    try:
        assert any(f"open in process {process.pid} (python" in reason for reason in reasons(node))
    finally:
        end(process)
    assert check_device(node) == []


def test_an_exclusive_claim_that_no_process_shows_is_refused(loops: Loops):
    node = loops.attach()
    fd = os.open(node, os.O_RDWR | os.O_EXCL)
    try:
        assert reasons(node) == ["in exclusive use by the kernel or another program"]
    finally:
        os.close(fd)


def test_the_root_disk_is_refused():
    root = Path(f"/sys/dev/block/{dev_text(Path('/').stat().st_dev)}")
    if not root.exists():
        pytest.skip("the root file system is on no block device")
    node = Path("/dev") / root.resolve().name
    if not node.exists():
        pytest.skip(f"{node} has no device node here")
    found = reasons(node)
    assert "root disk" in found
    assert any(reason.startswith("mounted on / (") for reason in found)


def test_a_read_only_device_is_refused_for_writing_only(loops: Loops):
    (refusal,) = check_device(loops.attach(64 << 20, "--read-only"))
    assert (refusal.rule, refusal.blocks_reads) == ("read-only", False)


def test_a_device_without_medium_is_refused_even_for_reading(loops: Loops):
    (refusal,) = check_device(loops.attach(0))
    assert (refusal.rule, refusal.blocks_reads) == ("empty", True)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/no-such-device"])
def test_what_is_no_block_device_is_a_usage_error(path: str):
    with pytest.raises(UsageError, match=path):
        check_device(Path(path))


def test_a_loop_device_has_its_name_and_backing_file_as_token(loops: Loops):
    image = loops.image(64 << 20)
    node = loops.attach(image)
    assert destroy_token(device_target(node).identity) == f"{node.name}:{image}"


def test_a_device_with_a_serial_of_its_own_has_it_as_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(safety, "SYS", disks_with_serials(tmp_path, nvme0n1="S1", nvme1n1="S2"))
    assert destroy_token(Identity(device="nvme0n1", serial="S1")) == "S1"


def test_namespaces_that_share_a_serial_are_told_apart_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(safety, "SYS", disks_with_serials(tmp_path, nvme0n1="S1", nvme0n2="S1"))
    assert destroy_token(Identity(device="nvme0n2", serial="S1")) == "S1@nvme0n2"


def test_a_partition_never_answers_to_the_serial_of_its_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(safety, "SYS", disks_with_serials(tmp_path, nvme0n1="S1"))
    assert destroy_token(Identity(device="nvme0n1p2", serial="S1")) == "S1@nvme0n1p2"


def test_zram_and_nameless_disks_have_documented_tokens():
    assert destroy_token(Identity(device="zram0", transport="zram", size_bytes=4096)) == "zram0"
    assert destroy_token(Identity(device="vdb", transport="virtio", size_bytes=4096)) == "vdb:4096"


def test_a_stack_answers_to_what_names_it_and_not_to_the_number_that_the_kernel_gave_it():
    volume = Identity(device="dm-0", transport="device-mapper", mapped="vg-data", size_bytes=4096)
    assert destroy_token(volume) == "vg-data:4096"
    array = Identity(device="md127", transport="md", array_uuid="0b1f6c4e", size_bytes=4096)
    assert destroy_token(array) == "md127:0b1f6c4e"


def disks_with_serials(root: Path, **serials: str) -> Path:
    for name, serial in serials.items():
        device = root / "block" / name / "device"
        device.mkdir(parents=True)
        (device / "serial").write_text(serial)
    return root


def test_a_wrong_or_missing_token_is_refused_with_the_right_one(loops: Loops):
    target = device_target(loops.attach())
    for tokens in [(), ("S1",), ("",)]:
        with pytest.raises(RefusedError) as caught:
            authorise_destroy(target, *tokens)
        assert destroy_token(target.identity) in str(caught.value)
        assert caught.value.exit_code == ExitCode.REFUSED


def test_the_right_token_among_several_is_accepted(loops: Loops):
    target = device_target(loops.attach())
    authorise_destroy(target, "S1", destroy_token(target.identity))


def test_a_hold_keeps_everybody_else_out_until_it_ends(loops: Loops):
    target = device_target(loops.attach())
    assert target.path is not None
    with ExclusiveHold(target):
        with pytest.raises(OSError, match="busy"):
            os.open(target.path, os.O_RDWR | os.O_EXCL)
        engine = os.open(target.path, os.O_RDWR)
        os.close(engine)
    os.close(os.open(target.path, os.O_RDWR | os.O_EXCL))


def test_a_hold_on_a_used_device_is_refused_with_every_reason_and_let_go(loops: Loops):
    node = loops.attach()
    target = device_target(node)
    sh("mkswap", node)
    with pytest.raises(RefusedError, match="holds swap"), ExclusiveHold(target):
        pass
    os.close(os.open(node, os.O_RDWR | os.O_EXCL))


def test_a_mounted_device_cannot_be_held(loops: Loops):
    node = loops.attach()
    sh("mkfs.ext4", "-q", node)
    target = device_target(node)
    point = loops.mount(node)
    with pytest.raises(RefusedError, match=f"mounted on {point}"), ExclusiveHold(target):
        pass


@pytest.mark.parametrize(("size_bytes", "changed"), [(32 << 20, "size_bytes"), (64 << 20, "diskseq")])
def test_another_disk_under_the_same_name_is_refused(loops: Loops, size_bytes: int, changed: str):
    target = device_target(loops.attach())
    assert target.path is not None
    recheck_identity(target)
    loops.reattach(target.path, size_bytes)
    with pytest.raises(RefusedError, match=changed):
        recheck_identity(target)


def test_a_device_that_went_away_is_said_to_be_gone(loops: Loops, monkeypatch: pytest.MonkeyPatch):
    target = device_target(loops.attach())
    monkeypatch.setattr(sysfs, "by_dev", lambda *_: None)
    with pytest.raises(FathomError, match="gone"):
        recheck_identity(target)


def test_a_run_goes_on_after_a_reboot_but_not_on_another_drive():
    then = Identity(device="nvme0n1", dev="259:0", diskseq=9, serial="S1", size_bytes=1 << 40)
    ensure_same("/dev/nvme0n1", then, replace(then, dev="259:4", diskseq=2))
    with pytest.raises(RefusedError, match="serial was S1, is S2"):
        ensure_same("/dev/nvme0n1", then, replace(then, serial="S2"))


def test_a_drive_that_was_formatted_to_other_blocks_is_not_taken_for_the_same():
    then = Identity(device="nvme0n1", serial="S1", size_bytes=1 << 40, logical_block_bytes=4096)
    with pytest.raises(RefusedError, match="logical_block_bytes was 4096, is 512"):
        ensure_same("/dev/nvme0n1", then, replace(then, logical_block_bytes=512))


def test_a_run_does_not_go_on_on_another_volume_that_got_the_number_of_its_own():
    then = Identity(device="dm-0", mapped="vg-data", size_bytes=1 << 30)
    with pytest.raises(RefusedError, match="mapped was vg-data, is vg-home"):
        ensure_same("/dev/dm-0", then, replace(then, mapped="vg-home"))


def test_an_identity_survives_its_json_form():
    identity = Identity(
        device="nvme0n1", serial="S1", size_bytes=1 << 40, rotational=False, link_speed_gtps=32.0
    )
    ensure_same("nvme0n1", identity, Identity.from_json(identity.to_json()))
    assert Identity.from_json({**identity.to_json(), "key_of_a_later_version": 1}) == identity


def test_without_permission_a_device_is_refused_even_for_reading(loops: Loops):
    node = loops.attach()
    os.seteuid(65534)
    try:
        (refusal,) = check_device(node)
    finally:
        os.seteuid(0)
    assert (refusal.reason, refusal.blocks_reads) == (
        "cannot be examined: permission denied (run as root)",
        True,
    )


def test_a_mounted_device_may_be_read_and_the_result_says_it_was_in_use(loops: Loops):
    node = loops.attach()
    sh("mkfs.ext4", "-q", node)
    target = device_target(node)
    point = loops.mount(node)
    with claim(target, writes=False) as ready:
        assert f"mounted on {point}" in ready.notes[0]
    token = destroy_token(target.identity)
    with (
        pytest.raises(RefusedError, match=f"mounted on {point}"),
        claim(target, writes=True, destroy_tokens=[token]),
    ):
        pass


def test_a_clean_device_is_claimed_for_writing_only_with_its_token(loops: Loops):
    target = device_target(loops.attach())
    assert target.path is not None
    with pytest.raises(RefusedError, match="--destroy"), claim(target, writes=True):
        pass
    with claim(target, writes=True, destroy_tokens=[destroy_token(target.identity)]) as ready:
        assert replace(copy(ready), held=None) == target
        recheck(ready, writes=True)
        with pytest.raises(OSError, match="busy"):
            os.open(target.path, os.O_RDWR | os.O_EXCL)


def test_another_disk_under_the_same_name_cannot_be_held(loops: Loops):
    target = device_target(loops.attach())
    assert target.path is not None
    loops.reattach(target.path, 64 << 20)
    with pytest.raises(RefusedError, match="diskseq"), ExclusiveHold(target):
        pass


def test_another_device_under_the_name_of_one_that_is_held_is_not_opened(loops: Loops, tmp_path: Path):
    name, other = tmp_path / "disk", loops.attach()
    target = device_target(loops.attach())
    job = {"mix": "write", "block": "4KiB", "pattern": "sequential"}
    eight = Job(json.dumps(job | {"load": {"threads": 1}, "until": {"count": 8}}))
    assert target.path is not None
    name.symlink_to(target.path)
    named = replace(target, path=name)
    with claim(named, writes=True, destroy_tokens=[destroy_token(target.identity)]) as ready:
        EngineBackend([ready]).start(eight, seed=1).result()
        name.unlink()
        name.symlink_to(other)
        with pytest.raises(FathomError, match="another file or device has taken its place"):
            EngineBackend([ready]).start(eight, seed=1)
    assert not any(other.read_bytes()[: 8 * 4096])
