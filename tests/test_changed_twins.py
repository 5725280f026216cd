"""Twins whose parameters change after a run: it goes on with the same ones alone, and comparisons name the change."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fathom
from fathom.catalog import entries
from fathom.cli import app
from fathom.errors import UsageError
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import caveats
from fathom.runs.document import RunDocument
from fathom.runs.reader import Run
from fathom.session import resume_run
from fathom.session.options import Options

SHIPPED = "samsung-pm9a3-7.68tb"
TWIN = "twin:mine?slice_denominator=2048"
METHOD = """
schema = "fathom-method/1"
name = "two"
[[steps]]
name = "first"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 8 }, until = { time = "5s" } }
[[steps]]
name = "second"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 8 }, until = { time = "5s" } }
"""


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's own copy of a catalogue's device file."""
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    [shipped] = [one.file for one in entries("devices") if one.name == SHIPPED]
    path = tmp_path / "devices" / "mine.toml"
    path.parent.mkdir()
    path.write_text(shipped.read_text().replace(f'name = "{SHIPPED}"', 'name = "mine"'))
    return path


@pytest.fixture
def run(device: Path, tmp_path: Path) -> Run:
    return fathom.run(METHOD, TWIN, out=tmp_path / "runs")


def slow_down(device: Path) -> None:
    """Changes how long the drive decodes a page."""
    text = device.read_text()
    assert "[twin.parameters.ecc_us]\nvalue = 2.0" in text
    device.write_text(text.replace("ecc_us]\nvalue = 2.0", "ecc_us]\nvalue = 30.0"))


def test_a_run_does_not_go_on_with_other_parameters_than_it_began_with(
    device: Path, run: Run, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    copy = interrupted(run.path, ["00-002-second"])
    slow_down(device)
    with pytest.raises(
        UsageError, match=r"twin:mine.*: its parameters are not those that the run began with"
    ):
        resume_run(copy, Options())


def test_a_run_of_a_version_that_recorded_no_parameters_goes_on(
    run: Run, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    copy = interrupted(run.path, ["00-002-second"])
    document = RunDocument.load(copy)
    document.targets[0].identity.clear()
    document.save(copy)
    assert resume_run(copy, Options()).points.equals(run.points)


def test_a_comparison_names_parameters_that_differ(device: Path, run: Run, tmp_path: Path) -> None:
    slow_down(device)
    other = fathom.run(METHOD, TWIN, out=tmp_path / "runs")
    compared = CliRunner().invoke(app, ["compare", str(run.path), str(other.path)])
    assert "parameters sha256: " in " ".join(compared.output.split())


def test_a_report_says_that_the_catalogue_has_other_parameters_since(device: Path, run: Run) -> None:
    def said() -> bool:
        return any(
            "with other parameters than this catalogue has" in one
            for one in caveats(compare([load(run.path)]))
        )

    assert not said()
    slow_down(device)
    assert said()
