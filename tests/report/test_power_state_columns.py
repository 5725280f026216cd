"""Runs of one drive in several power states: a column for each, and never repeats of one another."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

from rich.console import Console

import synthetic
from fathom.report import print_table
from fathom.report.comparison import compare
from fathom.report.data import load


def in_state(path: Path, state: int | None, seed: int, like: synthetic.Fake = synthetic.FILE) -> Path:
    """A run of a drive that was held in a power state, at the rates of `like`; None leaves it as it was."""
    drive = replace(like, kind="device", name="/dev/nvme0n1", label="A drive", catalog=None)
    run = synthetic.make_run(path, [drive], seed=seed)
    document = json.loads((run / "run.json").read_text())
    document["id"] = path.name
    if state is not None:
        document["environment"]["power_state"] = {"number": state, "most_w": {}, "before": {}}
    (run / "run.json").write_text(json.dumps(document))
    return run


def test_each_power_state_has_a_column_that_names_it(tmp_path: Path) -> None:
    runs = [in_state(tmp_path / f"run-{state}", state, seed) for seed, state in enumerate((0, 1, 2), 1)]
    labels = [column.label for column in compare([load(run) for run in runs]).columns]
    assert labels == [
        f"A drive · {letter}, power state {state}" for letter, state in zip("ABC", (0, 1, 2), strict=True)
    ]


def test_drives_of_one_model_have_the_names_of_their_devices(tmp_path: Path) -> None:
    drives = [
        replace(like, kind="device", name=f"/dev/nvme{number}n1", label="A drive", catalog=None)
        for number, like in enumerate((synthetic.FILE, synthetic.FILE))
    ]
    run = synthetic.make_run(tmp_path / "run", drives, seed=1)
    labels = [column.label for column in compare([load(run)]).columns]
    assert labels == ["A drive, nvme0n1", "A drive, nvme1n1"]


def test_runs_in_different_power_states_are_not_pooled(tmp_path: Path) -> None:
    same = [in_state(tmp_path / f"same-{seed}", 2, seed) for seed in (1, 2)]
    other = in_state(tmp_path / "other", 0, 3)
    found = compare([load(run) for run in (*same, other)], pool=True)
    assert [column.repeats for column in found.columns] == [2, 1]


def test_a_drive_left_as_it_was_has_no_state_in_its_name(tmp_path: Path) -> None:
    [column] = compare([load(in_state(tmp_path / "run", None, 1))]).columns
    assert column.label == "A drive"


def test_the_change_between_states_stays_beside_its_figure_at_80_columns(tmp_path: Path) -> None:
    runs = [
        in_state(tmp_path / f"run-{state}", state, seed, synthetic.TWINS[0])
        for seed, state in enumerate((0, 1), 1)
    ]
    console = Console(width=80, file=io.StringIO())
    print_table(console, runs, lambda *_: ())
    assert isinstance(console.file, io.StringIO)
    rows = [line for line in console.file.getvalue().splitlines() if line.startswith("state 1")]
    assert len(rows) == len(synthetic.CORNERS)
    assert [line for line in rows if not re.search(r"[\d,.]+ [+−]?\d+\.\d %", line)] == []
