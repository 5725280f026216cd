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
    ran = run_logged(step.job, fresh_twin(load_device(HC650).twin_params_json(), 1), 1, "x")
    check_resets(ran.trace.columns["offset_bytes"].tolist(), *OF_THE_TWIN[1:])


def test_without_a_limit_as_many_zones_are_open_as_the_device_allows(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\nrw=randwrite\nbs=1m\ndirect=1\nsize=64g\nio_size=2g\nzonemode=zbd\n"
    steps, _ = imported(tmp_path, text)
    assert steps[-1]["job"]["pattern"] == {"zones": "most"}
    job = _core.Job(
        '{"mix": "write", "block": "1MiB", "pattern": {"zones": "most"}, "load": {"iodepth": 128}, '
        '"region": {"start": "512GiB", "size": "64GiB"}, "until": {"count": 4096}}'
    )
    ran = run_logged(job, fresh_twin(load_device(HC650).twin_params_json(), 1), 1, "x")
    assert len(set((ran.trace.columns["offset_bytes"] // (256 << 20)).tolist())) == 128
