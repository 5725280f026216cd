"""Purges by NVMe Format of QEMU's controller, through whole runs."""

from pathlib import Path

import pytest
from vm_guest import sh

import fathom
from fathom.errors import RefusedError
from fathom.runs.event_log import read_events
from fathom.targets.parse import parse_target
from fathom.targets.safety import destroy_token

DRIVE = Path("/dev/nvme2n1")
WRITTEN = b"before the purge" * 65536
METHOD = """schema = "fathom-method/1"
name = "one"
[[steps]]
name = "purge"
kind = "purge"
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 1 }
until = { count = 200 }
"""


@pytest.fixture
def method(tmp_path: Path) -> str:
    path = tmp_path / "method.toml"
    path.write_text(METHOD)
    return str(path)


@pytest.fixture
def written() -> None:
    # Signatures that other tests have left have copies that wipefs does not know.
    sh("blkdiscard", "--zeroout", str(DRIVE))
    with DRIVE.open("r+b") as drive:
        drive.seek(1 << 20)
        drive.write(WRITTEN)
    assert held() == WRITTEN


def held() -> bytes:
    with DRIVE.open("rb") as drive:
        drive.seek(1 << 20)
        return drive.read(len(WRITTEN))


@pytest.mark.usefixtures("written")
def test_a_format_leaves_zeroes_and_the_run_says_what_was_sent(method: str, tmp_path: Path) -> None:
    before = parse_target(str(DRIVE))
    run = fathom.run(
        method, str(DRIVE), destroy=[destroy_token(before.identity)], purge="format", out=tmp_path
    )
    assert held() == bytes(len(WRITTEN))
    assert parse_target(str(DRIVE)).logical_block_bytes == before.logical_block_bytes
    [sent] = [event for event in read_events(run.path) if event["event"] == "purge"]
    assert "user data erase, LBA format" in str(sent["sent"])
    [row] = run.points.to_pylist()
    assert (row["step"], row["n"], row["errors"]) == ("read", 200, 0)
    assert any("purged by NVMe Format" in note.text for note in run.document.notes)


@pytest.mark.usefixtures("written")
def test_without_its_token_or_where_it_is_mounted_nothing_is_formatted(method: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="--destroy"):
        fathom.run(method, str(DRIVE), purge="format", out=tmp_path)
    assert held() == WRITTEN
    token = destroy_token(parse_target(str(DRIVE)).identity)
    sh("mkfs.btrfs", "-f", str(DRIVE))
    sh("mount", str(DRIVE), "/mnt")
    try:
        with pytest.raises(RefusedError, match="mounted on /mnt"):
            fathom.run(method, str(DRIVE), destroy=[token], purge="format", out=tmp_path)
    finally:
        sh("umount", "/mnt")
