"""Response latency has the intervals that service latency has: in points, of operations together, and in the report."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fathom
from fathom.columns.schema import POINTS
from fathom.report.blocks import Figure, Row
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.rows import StepOfTarget
from fathom.report.sections import curves
from fathom.runs.query import query
from fathom.runs.reader import Run
from old_runs import copy_of

CURVE = Path(__file__).parent.parent / "data" / "curve.toml"
SN861 = "twin:wd-ultrastar-dc-sn861-7.68tb"
LATENCIES = ("", "response_")
COLUMNS = [
    f"{prefix}{name}" for prefix in LATENCIES for name in ("mean", "p50", "p95", "p99", "p999", "p9999")
]


def curve_run(out: Path, *changes: tuple[str, str]) -> Run:
    """The tests' curve without a search, with other text in it."""
    text = CURVE.read_text()
    for old, new in ((', slo = { p99 = "500us", steps = 2 }', ""), *changes):
        assert old in text
        text = text.replace(old, new)
    method = out / "curve.toml"
    method.write_text(text)
    return fathom.run(str(method), targets=[SN861], seed=5, out=out)


READS = ("mix = { read = 70, write = 30 }", 'mix = "read"')
SIX_SECONDS = ('"1s"', '"6s"')


@pytest.fixture(scope="module")
def reads(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return curve_run(tmp_path_factory.mktemp("reads"), READS, SIX_SECONDS)


def points(run: Run) -> dict[str, dict[str, float]]:
    return {row["step"]: row for row in run.points.to_pylist()}


def test_mean_and_percentiles_of_either_latency_have_their_interval_around_them(reads: Run) -> None:
    for share in (30, 60):
        row = points(reads)[f"mixed@{share}"]
        for name in COLUMNS:
            if row[f"{name}_us"] is not None and (share, name) != (60, "mean"):
                assert row[f"{name}_low_us"] <= row[f"{name}_us"] <= row[f"{name}_high_us"], (share, name)


def test_near_saturation_a_short_window_knows_the_mean_response_and_not_how_well_it_knows_the_tail(
    reads: Run,
) -> None:
    row = points(reads)["mixed@90"]
    assert row["response_mean_low_us"] < row["response_mean_us"] < row["response_mean_high_us"]
    assert row["response_p99_low_us"] < row["response_p99_us"] < row["response_p99_high_us"]
    assert row["response_p999_us"] is not None
    assert (row["response_p999_low_us"], row["response_p999_high_us"]) == (None, None)
    assert row["p999_low_us"] < row["p999_high_us"], "service is no longer for the queue before it"


def test_a_percentile_of_too_few_responses_has_neither_value_nor_interval(reads: Run) -> None:
    row = points(reads)["mixed@30"]
    assert row["n"] * 1e-4 < 100 < row["n"] * 1e-3
    assert row["response_p999_us"] is not None
    assert [row[f"response_p9999{end}_us"] for end in ("", "_low", "_high")] == [None] * 3


def test_a_closed_load_has_no_response_latency(reads: Run) -> None:
    row = points(reads)["mixed"]
    assert row["p99_low_us"] is not None
    assert {row[f"{name}{end}_us"] for name in COLUMNS[5:] for end in ("", "_low", "_high")} == {None}


def test_response_is_known_less_well_than_service_where_requests_queue(reads: Run) -> None:
    row = points(reads)["mixed@90"]
    service, response = (
        (row[f"{prefix}mean_high_us"] - row[f"{prefix}mean_low_us"]) / row[f"{prefix}mean_us"]
        for prefix in LATENCIES
    )
    assert response > service


def test_a_window_that_a_twin_ends_early_knows_its_mean_response_by_batches(tmp_path: Path) -> None:
    precise = ('kind = "curve"', 'kind = "curve"\nprecision = "2%"')
    rows = points(curve_run(tmp_path, READS, SIX_SECONDS, precise))
    row = rows["mixed@60"]
    assert row["window_s"] < 5
    assert row["response_mean_low_us"] < row["response_mean_us"] < row["response_mean_high_us"]
    assert row["response_p99_low_us"] < row["response_p99_us"] < row["response_p99_high_us"]


def test_intervals_can_be_asked_for_in_sql(reads: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_RUNS", str(reads.path.parent))
    table = query("select response_p99_low_us from points where step = 'mixed@60'")
    assert table.to_pylist() == [{"response_p99_low_us": points(reads)["mixed@60"]["response_p99_low_us"]}]


def split(run: Run, path: Path) -> Path:
    """The run with half of the bins of its reads called writes'."""
    copy_of(run.path, path)
    latency = pq.read_table(path / "latency.parquet")
    odd = latency["low_ns"].to_numpy() >> 10 & 1
    op = pa.array(np.where(odd, "write", "read").tolist())
    pq.write_table(
        latency.set_column(latency.schema.get_field_index("op"), "op", op), path / "latency.parquet"
    )
    rows = [row | {"op": op} for row in run.points.to_pylist() for op in ("read", "write")]
    pq.write_table(pa.Table.from_pylist(rows, schema=POINTS), path / "points.parquet")
    return path


def test_operations_together_have_the_intervals_that_they_would_have_as_one(
    reads: Run, tmp_path: Path
) -> None:
    together = load(split(reads, tmp_path / "split")).together_us
    for step in ("mixed@30", "mixed@60"):
        one = points(reads)[step]
        found = together[StepOfTarget(SN861, step)]
        for name in COLUMNS:
            low, high = one[f"{name}_low_us"], one[f"{name}_high_us"]
            if low is None:
                assert f"{name}_us" not in found
            else:
                assert found[f"{name}_us"] == pytest.approx(
                    (low, high), rel=0.004 if "mean" in name else 1e-9
                )


def rows_of(run: Run) -> list[Row]:
    section = curves.build(compare([load(run.path)]))
    assert section is not None
    figure = next(block for block in section.blocks if isinstance(block, Figure))
    return list(figure.data.groups[0].rows)


def test_the_table_of_a_curve_has_intervals_but_for_responses_that_grow_without_end(tmp_path: Path) -> None:
    maximum, _, sustained, _, beyond = rows_of(curve_run(tmp_path, SIX_SECONDS))
    assert "±" in maximum.cells[1].sub
    assert all(" to " in cell.sub for cell in maximum.cells[3:6])
    assert {row.cells[-2].text for row in (maximum, sustained, beyond)} == {"6 s"}
    assert [cell.text for cell in (sustained.cells[-1], beyond.cells[-1])] == ["yes", "no"]
    assert all(" to " in cell.sub or "±" in cell.sub for cell in sustained.cells[3:9])
    assert all(cell.sub for cell in beyond.cells[3:6])
    assert not any(cell.sub for cell in beyond.cells[6:9])
    assert "grows" in beyond.cells[6].title
