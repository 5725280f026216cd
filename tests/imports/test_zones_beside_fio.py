"""Zones that are reset with room left: fio under strace on zones that it keeps itself, and a twin of a zoned disk."""

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from fio_jobs import imported
from fio_traces import by_fio

from fathom import _core
from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.fitting.on_twin import fresh_twin, run_logged
from fathom.imports import import_method
from fathom.method.method import parse_method

HC650 = "wd-ultrastar-dc-hc650-20tb"
#: A zone of this twin holds 8 blocks of 32 MiB.
OF_THE_TWIN = ("32m", 256 << 20, 512 << 30)
OF_A_FILE = ("32k", 256 << 10, 0)
ZONES, BLOCKS, WRITES = 8, 8, 640
ABOVE, EVERY = 0.7, 8


def job_file(path: Path, block: str, zone_bytes: int, start: int) -> Path:
    path.write_text(
        f"[x]\nfilename={'/dev/sdz' if start else 'x.bin'}\nrw=randwrite\nbs={block}\ndirect=1\nioengine=psync\n"
        f"zonemode=zbd\nzonesize={zone_bytes}\nsize={ZONES}z\noffset={start}\n"
        f"io_size={WRITES * zone_bytes // BLOCKS}\n"
        f"zone_reset_threshold={ABOVE}\nzone_reset_frequency={1 / EVERY}\n"
    )
    return path


def check_resets(offsets: Sequence[int], zone_bytes: int, start: int) -> None:
    """Each zone has as many writes in a pass of the region, each at its pointer. Full zones are reset, and those before
    every 8th write while enough holds data. Each pass of the region begins to count anew.
    """
    for begin in range(0, WRITES, ZONES * BLOCKS):
        zones = Counter((offset - start) // zone_bytes for offset in offsets[begin : begin + ZONES * BLOCKS])
        assert set(zones.values()) == {BLOCKS}
    held: Counter[int] = Counter()
    left, with_room = EVERY, 0
    for number, offset in enumerate(offsets):
        zone, place = divmod(offset - start, zone_bytes)
        due = False
        if number % (ZONES * BLOCKS) == 0:
            left = EVERY
        if held.total() >= ABOVE * ZONES * BLOCKS:
            left = (left or EVERY) - 1
            due = not left
        if held[zone] == BLOCKS or due:
            with_room += 0 < held[zone] < BLOCKS
            held[zone] = 0
        assert place == held[zone] * zone_bytes // BLOCKS
        held[zone] += 1
    assert len(offsets) == WRITES
    assert with_room > 5


@pytest.mark.skipif(
    shutil.which("fio") is None or shutil.which("strace") is None, reason="fio or strace is not installed"
)
def test_fio_resets_zones_by_the_rule_of_the_pattern(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(bytes(4 << 20))
    [writes] = by_fio(tmp_path, job_file(tmp_path / "job.fio", *OF_A_FILE))["x.bin"]
    check_resets([one.offset for one in writes], *OF_A_FILE[1:])


def test_an_imported_job_resets_zones_by_the_same_rule(tmp_path: Path) -> None:
    text, _ = import_method(job_file(tmp_path / "job.fio", *OF_THE_TWIN))
    [step] = parse_method(text, "imported.toml").steps
    ran = run_logged(step.job, fresh_twin(twin_params_json(load_device(HC650)), 1), 1, "x")
    check_resets(ran.trace.columns["offset_bytes"].tolist(), *OF_THE_TWIN[1:])


@pytest.mark.parametrize(("end", "differs"), [("", True), ("time_based\nruntime=10\n", False)])
def test_random_writes_that_end_by_volume_are_said_to_end_sooner_where_zones_have_gaps(
    tmp_path: Path, end: str, differs: bool
) -> None:
    path = tmp_path / "x.fio"
    path.write_text(f"[x]\nfilename=/dev/sdz\nrw=randwrite\nbs=32k\ndirect=1\nzonemode=zbd\nsize=1g\n{end}")
    assert any("hold less than their size" in note for note in import_method(path)[1]) is differs


def test_without_a_limit_as_many_zones_are_open_as_the_device_allows(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\nrw=randwrite\nbs=1m\ndirect=1\nsize=64g\nio_size=2g\nzonemode=zbd\n"
    steps, _ = imported(tmp_path, text)
    assert steps[-1]["job"]["pattern"] == {"zones": "most"}
    job = _core.Job(
        '{"mix": "write", "block": "1MiB", "pattern": {"zones": "most"}, "load": {"iodepth": 128}, '
        '"region": {"start": "512GiB", "size": "64GiB"}, "until": {"count": 4096}}'
    )
    ran = run_logged(job, fresh_twin(twin_params_json(load_device(HC650)), 1), 1, "x")
    assert len(set((ran.trace.columns["offset_bytes"] // (256 << 20)).tolist())) == 128


def verified_file(path: Path, rw: str, block: str, zone_bytes: int, start: int) -> Path:
    path.write_text(
        f"[x]\nfilename={'/dev/sdz' if start else 'x.bin'}\nrw={rw}\nbs={block}\ndirect=1\nioengine=psync\n"
        f"zonemode=zbd\nzonesize={zone_bytes}\nsize={ZONES * zone_bytes}\noffset={start}\n"
        "max_open_zones=3\nverify=crc32c\n"
    )
    return path


def check_verified(writes: Sequence[int], reads: Sequence[int], zone_bytes: int, start: int) -> None:
    """Every block of the zones is written once, each at its zone's pointer, in at most three zones at a time, and read
    back once.
    """
    held: Counter[int] = Counter()
    for offset in writes:
        zone, place = divmod(offset - start, zone_bytes)
        assert place == held[zone] * zone_bytes // BLOCKS
        held[zone] += 1
        assert sum(0 < count < BLOCKS for count in held.values()) <= 3
    assert held == dict.fromkeys(range(ZONES), BLOCKS)
    assert sorted(reads) == sorted(writes)


@pytest.mark.skipif(
    shutil.which("fio") is None or shutil.which("strace") is None, reason="fio or strace is not installed"
)
@pytest.mark.parametrize("rw", ["write", "randwrite"])
def test_fio_fills_zones_that_it_verifies_once_and_reads_all_of_them(tmp_path: Path, rw: str) -> None:
    (tmp_path / "x.bin").write_bytes(bytes(4 << 20))
    job = verified_file(tmp_path / "job.fio", rw, *OF_A_FILE)
    [ios] = by_fio(tmp_path, job)["x.bin"]
    ops = [one.op for one in ios]
    assert ops == ["write"] * ZONES * BLOCKS + ["read"] * ZONES * BLOCKS
    writes, reads = ([one.offset for one in ios if one.op == op] for op in ("write", "read"))
    check_verified(writes, reads, *OF_A_FILE[1:])


@pytest.mark.parametrize("rw", ["write", "randwrite"])
def test_an_imported_job_fills_zones_that_it_verifies_in_the_same_way(tmp_path: Path, rw: str) -> None:
    text, notes = import_method(verified_file(tmp_path / "job.fio", rw, *OF_THE_TWIN))
    write, read = parse_method(text, "imported.toml").steps
    twin = fresh_twin(twin_params_json(load_device(HC650)), 1)
    # The second time the zones are full, and emptied before.
    for _ in range(2):
        writes, reads = (run_logged(step.job, twin, 1, "x").trace.columns for step in (write, read))
        written, read_back = (columns["offset_bytes"].tolist() for columns in (writes, reads))
        check_verified(written, read_back, *OF_THE_TWIN[1:])
    assert any("emptied before" in note for note in notes) == (rw == "randwrite")


def test_zones_in_order_end_where_fio_ends(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\nrw=write\nbs=32m\ndirect=1\nsize=2g\noffset=512g\nzonemode=zbd\n"
    steps, notes = imported(tmp_path, text)
    assert steps[-1]["job"]["pattern"] == {"zones": {"open": "in-order", "ends": True}}
    assert not any("goes on with the first" in note for note in notes)
    steps, notes = imported(tmp_path, text + "io_size=4g\n")
    assert steps[-1]["job"]["pattern"] == {"zones": "in-order"}
    assert any("goes on with the first" in note for note in notes)
