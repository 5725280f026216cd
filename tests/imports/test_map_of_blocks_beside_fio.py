"""What fio's map of visited blocks does to blocks of several sizes: the notes of an import say it."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
MIB = 1 << 20


def sizes(folder: Path, *options: str) -> Counter[int]:
    """The sizes that fio issues in one pass over 4 MiB."""
    log = folder / "log"
    log.unlink(missing_ok=True)
    usual = [
        "--name=x",
        "--filename=data",
        "--size=4m",
        "--ioengine=psync",
        "--randseed=7",
        f"--write_iolog={log}",
    ]
    subprocess.run(["fio", *usual, *options], cwd=folder, check=True, capture_output=True, timeout=60)
    fields = [line.split() for line in log.read_text().splitlines()]
    return Counter(int(line[-1]) for line in fields if "read" in line or "write" in line)


def test_fio_cuts_blocks_of_several_sizes_unless_it_keeps_no_map(tmp_path: Path) -> None:
    split = ("--rw=randwrite", "--bssplit=4k/50:16k/50")
    mapped, drawn = sizes(tmp_path, *split), sizes(tmp_path, *split, "--norandommap")
    assert {8 << 10, 12 << 10} < set(mapped)
    assert mapped[4 << 10] > 2 * mapped[16 << 10]
    assert set(drawn) == {4 << 10, 16 << 10}
    assert drawn[4 << 10] < 1.5 * drawn[16 << 10]


def test_fio_ends_before_its_size_where_a_block_is_larger_than_a_place_of_the_map(tmp_path: Path) -> None:
    larger = ("--rw=randread", "--bs=16k,4k")
    mapped, drawn = sizes(tmp_path, *larger), sizes(tmp_path, *larger, "--norandommap")
    assert set(mapped) == set(drawn) == {16 << 10}
    assert mapped.total() * (16 << 10) < 3 * MIB
    assert drawn.total() * (16 << 10) == 4 * MIB
