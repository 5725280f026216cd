"""Runs of one drive in several power states: a column for each, and never repeats of one another."""

import json
from dataclasses import replace
from pathlib import Path

import synthetic
from fathom.report.comparison import compare
from fathom.report.data import load


def in_state(path: Path, state: int | None, seed: int) -> Path:
    """A run of a drive that was held in a power state; None leaves it as it was."""
    drive = replace(synthetic.TARGETS[0], kind="device", name="/dev/nvme0n1", label="A drive", catalog=None)
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


def test_runs_in_different_power_states_are_not_pooled(tmp_path: Path) -> None:
    same = [in_state(tmp_path / f"same-{seed}", 2, seed) for seed in (1, 2)]
    other = in_state(tmp_path / "other", 0, 3)
    found = compare([load(run) for run in (*same, other)], pool=True)
    assert [column.repeats for column in found.columns] == [2, 1]


def test_a_drive_left_as_it_was_has_no_state_in_its_name(tmp_path: Path) -> None:
    [column] = compare([load(in_state(tmp_path / "run", None, 1))]).columns
    assert column.label == "A drive"
