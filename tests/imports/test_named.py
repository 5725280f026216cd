"""Files of fio and Vdbench, and fio commands, in the place of a method."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import fathom
from fathom.catalog import method_text
from fathom.cli import app
from fathom.errors import UsageError
from fathom.imports.named import method_named
from fathom.plan.replay import Replay

TWIN = "twin:samsung-pm9a3-7.68tb?slice_denominator=2048"
COMMAND = (
    "fio --name=four --ioengine=libaio --direct=1 --rw=randread --bs=4k --iodepth=8 --runtime=1 --time_based"
)
JOB = "[global]\ndirect=1\nioengine=libaio\nruntime=1\ntime_based\n[one]\nfilename=/dev/sdz\nrw=read\nbs=64k\nnice=3\n"
SD = "sd=s,lun=/dev/sdz,threads=4\nwd=w,sd=s,rdpct=100,xfersize=8k\nrd=r,wd=w,iorate=max,elapsed=5,interval=1\n"


def test_a_fio_command_is_run_on_a_twin(tmp_path: Path) -> None:
    run = fathom.run(COMMAND, TWIN, out=tmp_path)
    [point] = run.points.to_pylist()
    assert run.id.endswith(f"-four-{run.id[-4:]}")
    assert (point["op"], point["block_bytes"], point["iodepth"], point["window_s"]) == ("read", 4096, 8, 1.0)


@pytest.mark.parametrize(
    "command",
    [COMMAND.replace("fio ", "/usr/bin/fio ", 1), f"  {COMMAND}", COMMAND.replace(" --rw", " \\\n  --rw")],
)
def test_a_fio_command_may_be_written_as_shells_take_it(command: str) -> None:
    assert [step.name for step in method_named(command, None)[0].steps if not step.only_files] == ["four"]


@pytest.mark.parametrize(("name", "text", "steps"), [("job.fio", JOB, ["one"]), ("load.vdb", SD, ["r"])])
def test_a_file_of_another_program_is_imported_where_a_method_is_expected(
    name: str, text: str, steps: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    method, _, _ = method_named(str(tmp_path / name), None)
    assert [step.name for step in method.steps if not step.only_files] == steps


def test_a_method_file_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(method_text("four-corners"))
    assert method_named(str(tmp_path / "mine.txt"), None)[0].name == "four-corners"


def test_what_differs_from_the_imported_file_is_printed(tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text(JOB)
    planned = CliRunner().invoke(app, ["plan", str(tmp_path / "job.fio"), TWIN])
    assert planned.exit_code == 0
    assert "job.fio:10: nice=3: " in planned.stderr


def test_a_local_file_does_not_hide_a_method_of_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "four-corners").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    assert method_named("four-corners", None)[0].name == "four-corners"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (COMMAND.replace("--name=four ", ""), "the fio command:1: a fio command without --name"),
        (COMMAND.replace("randread", "randomread"), "the fio command:1: rw"),
        (f"{COMMAND} --verify=md5", "the fio command:1: verify"),
    ],
)
def test_a_mistake_in_a_fio_command_is_named(command: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        method_named(command, None)


def test_what_only_methods_have_is_refused_of_a_fio_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--trace does not belong to the fio command"):
        method_named(COMMAND, Replay(tmp_path / "trace"))
    with pytest.raises(UsageError, match=r"the fio command: method four has no \[quick\] table"):
        method_named(COMMAND, None, quick=True)
