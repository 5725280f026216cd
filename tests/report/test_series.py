"""Rows of each second, read a part at a time: however a table is cut, and however its texts are kept."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fathom.columns.schema import INTERVALS as INTERVAL_SCHEMA
from fathom.columns.schema import TELEMETRY
from fathom.report.rows import StepOfTarget
from fathom.report.series import INTERVALS, READINGS, rates_of, readings_of
from fathom.runs.tables import read_parts

CUTS = [1, 3, 100]
"""Rows of a part: a second has two, so that parts of one and of three cut seconds apart."""


def second(target: str, step: str, op: str, start_s: float, length_s: float, n: int) -> dict[str, object]:
    kind = "fill" if step == "fill" else "measure"
    return dict.fromkeys(INTERVAL_SCHEMA.names) | {
        "target": target,
        "step": step,
        "kind": kind,
        "workload": step,
        "op": op,
        "index": int(start_s),
        "start_s": start_s,
        "length_s": length_s,
        "n": n,
        "iops": n / length_s,
    }


SECONDS = [
    second("b", "fill", "write", 0.0, 1.0, 5),
    second("b", "read", "read", 0.0, 1.0, 70),
    second("b", "read", "write", 0.0, 1.0, 30),
    second("b", "read", "read", 1.0, 1.0, 80),
    second("b", "read", "write", 1.0, 1.0, 20),
    second("b", "read", "read", 2.0, 0.5, 10),
    second("a", "read", "read", 0.0, 1.0, 7),
]


def reading(
    target: str | None, name: str, start_s: float, length_s: float, value: float
) -> dict[str, object]:
    return {"step": "read", "unit": "", "start_s": start_s, "length_s": length_s} | {
        "target": target,
        "name": name,
        "value": value,
    }


TELEMETRY_ROWS = [
    reading("b", "utilisation: dies", 0.0, 1.0, 0.5),
    reading(None, "cpu_user_ns", 0.0, 1.0, 9.0),
    reading("b", "joules", 0.0, 1.0, 4.0),
    reading("b", "at the end", 3.0, 0.0, 1.0),
    reading("b", "utilisation: dies", 1.0, 3.0, 0.1),
    reading("b", "joules", 1.0, 3.0, 5.0),
]


def written(folder: Path, name: str, rows: list[dict[str, object]], schema: pa.Schema, cut: int) -> Path:
    path = folder / f"{name}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=cut)
    return path


def each_way(path: Path, columns: tuple[str, ...]) -> Iterator[Iterator[pa.Table]]:
    for coded in (False, True):
        yield read_parts(path, columns, coded=coded)


@pytest.mark.parametrize("cut", CUTS)
def test_seconds_have_all_operations_and_rates_have_one_each(cut: int, tmp_path: Path) -> None:
    path = written(tmp_path, "intervals", SECONDS, INTERVAL_SCHEMA, cut)
    for parts in each_way(path, INTERVALS):
        found = rates_of(parts)
        assert list(found.seconds["b"]) == ["fill", "read"]
        assert list(found.seconds) == ["b", "a"]
        read = found.seconds["b"]["read"]
        assert read.start_s.tolist() == [0.0, 1.0, 2.0]
        assert read.length_s.tolist() == [1.0, 1.0, 0.5]
        assert read.n.tolist() == [100, 100, 10]
        assert {key: rates.tolist() for key, rates in found.iops.items()} == {
            ("b", "read", "read"): [70.0, 80.0],
            ("b", "read", "write"): [30.0, 20.0],
            ("a", "read", "read"): [7.0],
        }


@pytest.mark.parametrize("cut", CUTS)
def test_means_are_over_time_and_energies_in_order(cut: int, tmp_path: Path) -> None:
    path = written(tmp_path, "telemetry", TELEMETRY_ROWS, TELEMETRY, cut)
    for parts in each_way(path, READINGS):
        found = readings_of(parts)
        step = StepOfTarget("b", "read")
        assert found.means == [
            (step, "utilisation: dies", pytest.approx((0.5 + 3 * 0.1) / 4)),
            (step, "joules", pytest.approx((4 + 3 * 5) / 4)),
        ]
        assert np.array_equal(found.energies[step], [[0.0, 1.0, 4.0], [1.0, 3.0, 5.0]])


def test_seconds_that_come_out_of_order_stand_in_the_order_of_their_rows(tmp_path: Path) -> None:
    rows = [second("a", "read", "read", start_s, 1.0, int(start_s)) for start_s in (3.0, 1.0, 2.0, 1.0)]
    path = written(tmp_path, "intervals", rows, INTERVAL_SCHEMA, 2)
    found = rates_of(read_parts(path, INTERVALS, coded=True)).seconds["a"]["read"]
    assert found.start_s.tolist() == [3.0, 1.0, 2.0]
    assert found.n.tolist() == [3, 2, 2]


def test_texts_are_read_as_numbers_where_that_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "telemetry", TELEMETRY_ROWS, TELEMETRY, 100)
    [coded], [plain] = read_parts(path, READINGS, coded=True), read_parts(path, READINGS)
    assert pa.types.is_dictionary(coded.schema.field("name").type)
    assert coded["target"].cast(pa.string()) == plain["target"]
