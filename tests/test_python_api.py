"""The commands as functions of Python: files of others, questions to all runs, sweeps and validation."""

import re
from pathlib import Path

import pytest

import fathom
from fathom.errors import FathomError, UsageError

TWIN = "twin:samsung-pm9a3-7.68tb?settled_share=1.0"
SHORT = """
schema = "fathom-method/1"
name = "short"
[[steps]]
name = "r"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 8 }
until = { time = "20ms" }
"""


def test_a_job_file_becomes_a_method_with_notes_and_a_method_a_job_file(tmp_path: Path) -> None:
    file = tmp_path / "theirs.fio"
    file.write_text("[job]\nrw=randread\nbs=${BS}\niodepth=8\nioengine=libaio\ndirect=1\nsize=1g\n")
    method = fathom.import_method(file, name="mine", values={"BS": "8k"})
    assert re.search(r'^name += "mine"', method.text, re.MULTILINE)
    assert "8KiB" in method.text
    assert method.notes
    with pytest.raises(UsageError, match=r"theirs\.fio:3"):
        fathom.import_method(file)
    assert "bs=4k" in fathom.export_method(SHORT).text


def test_a_statement_asks_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_HOME", str(tmp_path))
    run = fathom.run(SHORT, TWIN)
    [row] = fathom.query("SELECT run, iops FROM points").to_pylist()
    assert row["run"] == run.id
    assert row["iops"] == run.points["iops"][0].as_py()
    with pytest.raises(UsageError):
        fathom.query("SELECT nothing FROM nowhere")


def test_a_sweep_simulates_every_combination_and_fails_where_one_does(tmp_path: Path) -> None:
    swept = fathom.run_sweep(
        SHORT, TWIN, {"dies_per_channel": [2, 16], "program_suspend": [True]}, out=tmp_path
    )
    assert swept.points["dies_per_channel"].to_pylist() == [2, 16]
    few, many = swept.points["iops"].to_pylist()
    assert many > few
    assert swept.page.is_file()
    with pytest.raises(FathomError, match="1 of 2 points failed"):
        fathom.run_sweep(SHORT, TWIN, {"dies_per_channel": [0, 16]}, out=tmp_path)


def test_published_rows_stand_beside_what_a_twin_does() -> None:
    with pytest.raises(FathomError, match="no device"):
        fathom.validate("acme-one")
    rows = fathom.validate("wd-ultrastar-dc-sn640-3.2tb")
    assert {row.case.row.role for row in rows} == {"calibration", "validation"}
    assert all(row.measured for row in rows)
