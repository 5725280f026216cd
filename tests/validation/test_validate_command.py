"""The two commands as a user meets them, on the tiny drive."""

import json
import os
import subprocess
import sys
import tomllib
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tiny_drive import NAME, RANDOM_READ, Catalogue

from fathom.load.workers import local_workers
from fathom.prediction.misses import Misses, shipped_misses
from fathom.validation import misses, terminal
from fathom.validation.terminal import TrialProgress
from fathom.validation.validate import TrialRunner, devices_to_validate, validate

KEYS = {"device", "workload", "metric", "role", "published", "simulated", "error_pct", "reason"}


def fathom(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fathom", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"COLUMNS": "100"},
        check=False,
    )


@pytest.fixture
def rows(catalogue: Catalogue) -> Catalogue:
    """One calibration row, near; one validation row far off; one that cannot be simulated."""
    catalogue.device(("read_sense_us",))
    catalogue.rows(
        f'{{ workload = "near", role = "calibration", {RANDOM_READ}, iops = 62000 }}',
        f'{{ workload = "far", role = "validation", {RANDOM_READ}, iops = 20000 }}',
        '{ workload = "desk", role = "validation", pattern = "trace", iops = 1000 }',
    )
    return catalogue


def test_json_has_a_row_per_published_figure_and_the_medians(rows: Catalogue) -> None:
    result = fathom("validate", NAME, "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["schema"] == "fathom-validate/1"
    assert all(set(row) >= KEYS for row in document["rows"])
    near, far, desk = document["rows"]
    assert (near["device"], near["workload"], near["metric"], near["role"]) == (
        NAME,
        "near",
        "iops",
        "calibration",
    )
    assert far["simulated"] == near["simulated"]
    assert far["error_pct"] == pytest.approx(100 * (far["simulated"] / 20000 - 1))
    assert "without a reason" in far["reason"]
    assert (desk["simulated"], desk["error_pct"]) == (None, None)
    assert "does not publish the mix" in desk["reason"]
    medians = {(one["device"], one["role"]): one["median_abs_error_pct"] for one in document["medians"]}
    assert medians[NAME, "validation"] == pytest.approx(abs(far["error_pct"]))
    assert medians[None, "calibration"] == pytest.approx(abs(near["error_pct"]))


def test_the_table_shows_both_roles_apart_and_rows_that_share_a_trial_run_it_once(rows: Catalogue) -> None:
    result = fathom("validate", NAME)
    assert result.returncode == 0, result.stderr
    for text in (
        "calibration",
        "validation",
        "near",
        "far",
        "62,000 IOPS",
        "without a reason",
        "not simulated",
    ):
        assert text in result.stdout
    trials: list[str] = []
    with local_workers() as workers:
        validate(
            devices_to_validate([NAME]), TrialRunner(workers, watch=lambda label, *_: trials.append(label))
        )
    assert len(trials) == 1


def test_the_gate_fails_with_its_exit_code_after_the_results(rows: Catalogue) -> None:
    result = fathom("validate", NAME, "--gate", "--json")
    assert result.returncode == 4
    assert json.loads(result.stdout)["rows"]
    assert f"{NAME}: validation" in result.stderr.splitlines()[-1]


def test_a_device_without_a_twin_and_an_unknown_one_are_one_line(catalogue: Catalogue) -> None:
    path = catalogue.folder / f"devices/{NAME}.toml"
    path.write_text(path.read_text().split("[twin]")[0])
    for arguments in (("validate", NAME), ("calibrate", NAME)):
        result = fathom(*arguments)
        assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
        assert "has no twin" in result.stderr
    assert fathom("validate", "acme-tinny-256mib").returncode == 2


def test_calibrate_prints_errors_sensitivities_and_values_and_writes_only_when_asked(rows: Catalogue) -> None:
    path = rows.folder / f"devices/{NAME}.toml"
    before = path.read_text()
    shown = fathom("calibrate", NAME)
    assert shown.returncode == 0, shown.stderr
    assert path.read_text() == before
    for text in ("near", "read_sense_us", "sensitivity", "[twin.parameters.read_sense_us]\nvalue = "):
        assert text in shown.stdout
    assert "far" not in shown.stdout
    written = fathom("calibrate", NAME, "--write")
    assert f"written to {path}" in written.stdout.replace("\n", " ")
    value = shown.stdout.split("[twin.parameters.read_sense_us]\n")[1].split("\n")[0]
    assert f"[twin.parameters.read_sense_us]\n{value} # a comment" in Path(path).read_text()


def test_a_row_that_relates_two_drives_shares_the_trials_of_both(catalogue: Catalogue) -> None:
    related = f'role = "validation", {RANDOM_READ}, value = 1'
    catalogue.rows(
        f'{{ workload = "near", role = "calibration", {RANDOM_READ}, iops = 62000 }}',
        f'{{ workload = "itself", {related}, unit = "ratio of IOPS to Tiny" }}',
        f'{{ workload = "power", {related}, unit = "ratio of IOPS/W to Tiny" }}',
    )
    result = fathom("validate", NAME, "--json")
    assert result.returncode == 0, result.stderr
    assert [row["simulated"] for row in json.loads(result.stdout)["rows"][1:]] == [1, 1]


def test_a_rate_outside_its_range_is_marked_and_the_share_inside_is_printed(rows: Catalogue) -> None:
    assert rows
    document = json.loads(fathom("validate", NAME, "--json").stdout)
    far = document["rows"][1]
    assert far["predicted_low"] < far["simulated"] < far["predicted_high"]
    assert far["predicted_low"] > far["published"]
    assert document["coverage"] is None
    [line] = [line for line in fathom("validate", NAME).stdout.splitlines() if line.strip().startswith("far")]
    assert " far " in line.split("%")[-1] or " out " in line.split("%")[-1]


def test_a_row_that_may_be_fitted_is_no_prediction_inside_its_range(rows: Catalogue) -> None:
    assert rows
    near, far, _ = json.loads(fathom("validate", NAME, "--json").stdout)["rows"]
    assert (near["role"], near["predicted_low"], near["predicted_high"]) == ("calibration", None, None)
    assert (far["role"], far["predicted_low"] is None) == ("validation", False)
    [line] = [
        line for line in fathom("validate", NAME).stdout.splitlines() if line.strip().startswith("near")
    ]
    assert line.split()[-1] == "fit"


def test_kept_misses_replace_those_of_the_same_device_and_leave_the_others(
    rows: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rows
    file = tmp_path / "misses.toml"
    file.write_text("")
    monkeypatch.setattr(misses, "FILE", str(file))
    with local_workers(1) as workers:
        compared = validate(devices_to_validate([NAME]), TrialRunner(workers))
    assert misses.keep_misses(compared) == file
    kept = {one.name: one for one in Misses.model_validate(tomllib.loads(file.read_text())).device}
    assert set(kept) == {one.name for one in shipped_misses()} | {NAME}
    assert [(row.workload, row.role) for row in kept[NAME].rows] == [
        ("near", "calibration"),
        ("far", "validation"),
    ]
    assert kept[NAME].rows[1].ratio == pytest.approx((compared[1].simulated or 0) / 20000, rel=1e-3)


def test_an_ensemble_is_printed_and_written_where_members_are_found(rows: Catalogue, tmp_path: Path) -> None:
    assert rows
    result = fathom("calibrate", NAME, "--ensemble", "--members", "10", "--write")
    assert result.returncode == 0, result.stderr
    assert "10 parameter sets of acme-tiny-256mib" in result.stdout
    assert "read_sense_us" in result.stdout
    written = tmp_path / "catalog" / "ensembles" / f"{NAME}.toml"
    assert f"written to {written}" in result.stdout.replace("\n", "")
    shown = fathom("plan", "four-corners", f"twin:{NAME}?member=10")
    assert shown.returncode == 0, shown.stderr
    refused = fathom("plan", "four-corners", f"twin:{NAME}?member=11")
    assert refused.returncode == 2
    assert "members 1 to 10" in refused.stderr


def test_progress_into_a_pipe_is_a_line_each_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr(terminal, "monotonic", lambda: now_s)
    out = StringIO()
    with TrialProgress(Console(file=out)) as watch:
        for done in range(1, 31):
            now_s = float(done)
            watch(f"set {done}", done, 30)
    assert out.getvalue().splitlines() == ["10/30 set 10", "20/30 set 20", "30/30 set 30"]
