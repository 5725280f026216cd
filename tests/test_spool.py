"""Long steps on many targets stay small in memory: rows wait on disk and come back whole."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from fathom.columns.schema import TABLES
from fathom.runs.spool import ROWS_IN_MEMORY, Spool

LIMIT_BYTES = 256 << 20
TARGETS = 24


def second(index: int, bins: int) -> list[dict[str, object]]:
    """The rows of `latency` of one second: names as long as they get."""
    common = {
        "target": "twin:wd-ultrastar-dc-sn861-7.68tb",
        "step": "4k-rand-write-r070",
        "workload": "4k-rand-write",
    }
    rest: dict[str, object] = {"op": "write", "latency": "service", "index": index, "count": 7}
    return [common | rest | {"low_ns": 1000 * bin, "high_ns": 1000 * bin + 999} for bin in range(bins)]


def test_rows_come_back_in_order_whether_they_were_on_disk_or_not(tmp_path: Path):
    spool = Spool(TABLES["latency"], tmp_path)
    seconds, bins = 50, 400
    for index in range(seconds):
        spool += second(index, bins)
    other = Spool(TABLES["latency"], tmp_path)
    other += second(seconds, bins)
    spool.pour(other)
    table = pa.concat_tables(spool.tables())
    assert table.num_rows == (seconds + 1) * bins
    assert table["index"].to_pylist() == [index for index in range(seconds + 1) for _ in range(bins)]
    assert not list(tmp_path.iterdir())


def test_two_dozen_targets_with_full_histograms_stay_under_256_mib_however_long_they_run(tmp_path: Path):
    fullest = second(0, ROWS_IN_MEMORY - 1)
    before = pa.total_allocated_bytes()
    spools: list[Spool] = []
    for _ in range(TARGETS):
        spool = Spool(TABLES["latency"], tmp_path)
        spool += fullest
        spools.append(spool)
    assert TARGETS * (ROWS_IN_MEMORY - 1) * 100 < pa.total_allocated_bytes() - before < LIMIT_BYTES
    for spool in spools:
        spool += second(1, 1)
    assert pa.total_allocated_bytes() - before < LIMIT_BYTES / 10


def test_a_process_with_two_dozen_targets_grows_by_less_than_256_mib_of_resident_memory(tmp_path: Path):
    script, seconds, bins = Path(__file__).with_name("resident_memory.py"), 120, 600
    arrow_bytes = TARGETS * seconds * 2 * bins * 100
    assert arrow_bytes > 1.2 * LIMIT_BYTES
    ran = subprocess.run(
        [sys.executable, script, tmp_path, str(seconds), str(bins)],
        capture_output=True,
        text=True,
        check=True,
    )
    grown = json.loads(ran.stdout)
    assert 0 < grown["coming in"] <= grown["read back"] < LIMIT_BYTES, grown
