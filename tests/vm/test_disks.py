"""A host-managed zoned disk through whole runs of Fathom: raw in zones, under btrfs, and against its rules."""

from pathlib import Path

import pytest
from vm_guest import sh

import fathom
from fathom.errors import FathomError
from fathom.method.method import load_method
from fathom.runs.reader import Run
from fathom.targets.parse import parse_target
from fathom.targets.safety import destroy_token

METHOD = """schema = "fathom-method/1"
name = "one"
[[steps]]
name = "write"
[steps.job]
mix = "write"
block = "64KiB"
region = { start = "64MiB", size = "256MiB" }
"""
IN_ZONES = 'pattern = { zones = 2 }\nload = { threads = 1, iodepth = 2 }\nuntil = { bytes = "96MiB" }\n'
OUT_OF_ORDER = 'pattern = "uniform"\nload = { threads = 1 }\nuntil = { count = 50 }\n'
KEPT = ("fill", "1m-seq-read", "1m-seq-write", "64k-rand-read", "64k-rand-write", "1m-rand-write")
FILE_BYTES = 64 << 20


def token(disk: Path) -> str:
    return destroy_token(parse_target(str(disk)).identity)


def method(folder: Path, text: str) -> str:
    path = folder / "method.toml"
    path.write_text(text)
    return str(path)


def test_zones_written_raw_are_never_refused(smr: Path, tmp_path: Path) -> None:
    run = fathom.run(method(tmp_path, METHOD + IN_ZONES), str(smr), destroy=[token(smr)], out=tmp_path)
    [row] = run.points.to_pylist()
    assert (row["n"], row["errors"]) == (1536, 0)
    assert run.targets[0].identity["zoned"] == "host-managed"


def test_a_write_out_of_order_is_told_with_zone_and_pointer(smr: Path, tmp_path: Path) -> None:
    sh("blkzone", "reset", str(smr))
    with pytest.raises(FathomError, match="I/O failed"):
        fathom.run(method(tmp_path, METHOD + OUT_OF_ORDER), str(smr), destroy=[token(smr)], out=tmp_path)
    [path] = tmp_path.glob("*/run.json")
    told = [note.text for note in Run.open(path.parent).document.notes if "was refused: zone" in note.text]
    assert told
    assert "has its write pointer at" in told[0]


def test_btrfs_on_zones_takes_the_whole_method_and_leaves_an_empty_disk(smr: Path, tmp_path: Path) -> None:
    sh("blkzone", "reset", str(smr))
    head, *steps = load_method("drive-array-filesystem").text.replace('"10min"', '"3s"').split("[[steps]]")
    kept = [step for step in steps if any(f'name      = "{name}"' in step for name in KEPT)]
    text = "[[steps]]".join([head, *kept])
    run = fathom.run(
        method(tmp_path, text), str(smr), size_bytes=FILE_BYTES, destroy=[token(smr)], out=tmp_path
    )
    points = {row["step"]: row for row in run.points.to_pylist()}
    assert list(points) == list(KEPT[1:])
    assert all(row["n"] > 0 and row["errors"] == 0 for row in points.values())
    [target] = run.targets
    assert (target.name, target.identity["file_system"], target.identity["zoned"]) == (
        f"{smr}/btrfs",
        "btrfs",
        "host-managed",
    )
    assert "btrfs" not in sh("wipefs", "--noheadings", str(smr))
