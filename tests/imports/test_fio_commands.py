"""A fio command in the place of a method: for runs, sweeps and exports, and beside other targets than its own."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import fathom
from fathom.cli import app
from fathom.imports.named import notes_on_targets

TWIN = "twin:samsung-pm9a3-7.68tb"


def command(place: str | None = None) -> str:
    named = f"--filename={place} " if place else ""
    return f"fio --name=q8 {named}--size=1m --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=8"


def test_a_sweep_and_an_export_take_a_fio_command(tmp_path: Path) -> None:
    asked = ["sweep", command(), TWIN, "--set", "channels=4,8", "--out", str(tmp_path), "--csv"]
    swept = CliRunner().invoke(app, asked)
    assert swept.exit_code == 0, swept.output
    assert len(swept.stdout.splitlines()) == 3
    exported = CliRunner().invoke(app, ["export", command()])
    assert exported.exit_code == 0, exported.output
    assert "iodepth=8" in exported.stdout
    assert fathom.export_method(command()).text == exported.stdout
    assert fathom.run_sweep(command(), TWIN, {"channels": [4]}, out=tmp_path).points.num_rows == 1


def test_another_target_than_that_of_the_command_is_said(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    asked = ["plan", command(str(own)), f"file:{other}", "--size", "1MiB"]
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 0, said.output
    assert f"the fio command names file:{own}, and the target is file:{other}" in said.stderr
    asked[2] = f"file:{own}"
    assert "names" not in CliRunner().invoke(app, asked).stderr
    (tmp_path / "link").symlink_to(tmp_path)
    assert not notes_on_targets(command(), [f"file:{own}"], [f"data=file:{tmp_path}/link/own"])


@pytest.mark.parametrize("target", [TWIN, "null:"])
def test_a_twin_stands_in_for_any_target_of_a_command(target: str) -> None:
    assert not notes_on_targets(command(), ["/dev/nvme0n1"], [target])


def test_every_target_of_an_array_is_compared() -> None:
    named = ["array:/dev/nvme0n1,/dev/nvme1n1"]
    assert not notes_on_targets("both.fio", named, ["array:/dev/nvme1n1,/dev/nvme0n1"])
    [note] = notes_on_targets("both.fio", named, ["array:/dev/nvme1n1,/dev/nvme2n1"])
    assert note == "both.fio names /dev/nvme0n1, and the target is /dev/nvme1n1 /dev/nvme2n1"
