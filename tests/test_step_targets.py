"""Steps with targets of their own: planned, checked, claimed, run, resumed and reported on these alone."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fathom
from fathom.cli import app
from fathom.errors import FathomError, UsageError
from fathom.load.binding import bound_targets
from fathom.load.resolve import resolve_targets
from fathom.method.method import load_method, parse_method
from fathom.plan.plan import plan_of

METHOD = """
schema = "fathom-method/1"
name   = "two"

[[steps]]
name       = "lay-out"
kind       = "fill"
target     = "log"
only_files = true
[steps.job]
mix     = "write"
block   = "64KiB"
pattern = "sequential"
load    = { iodepth = 4 }
until   = { written = "1x" }

[[steps]]
name   = "reads"
target = "data"
[steps.job]
mix     = "read"
block   = "4KiB"
pattern = "uniform"
load    = { iodepth = 4 }
until   = { count = 100 }

[[steps]]
name   = "writes"
target = "log"
[steps.job]
mix     = "write"
block   = "4KiB"
pattern = "uniform"
load    = { iodepth = 4 }
until   = { count = 50 }
"""
SIZE_BYTES = 4 << 20


@pytest.fixture
def method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FATHOM_RUNS", str(tmp_path / "runs"))
    file = tmp_path / "two.toml"
    file.write_text(METHOD)
    return str(file)


def users_file(tmp_path: Path) -> Path:
    """A file that Fathom did not make, which it may read and must not write."""
    path = tmp_path / "precious.bin"
    path.write_bytes(os.urandom(SIZE_BYTES))
    return path


def test_each_step_runs_on_its_own_target_and_one_that_is_only_read_is_not_written(
    tmp_path: Path, method: str
) -> None:
    precious = users_file(tmp_path)
    before = precious.read_bytes()
    log = tmp_path / "log.bin"
    run = fathom.run(method, {"data": f"file:{precious}", "log": f"file:{log}"}, size_bytes=SIZE_BYTES)
    done = {(row["step"], Path(row["target"]).name) for row in run.points.to_pylist()}
    assert done == {("reads", "precious.bin"), ("writes", "log.bin")}
    assert precious.read_bytes() == before
    document = json.loads((run.path / "run.json").read_text())
    assert [one["bound"] for one in document["targets"]] == ["data", "log"]


def test_a_target_of_a_step_that_writes_is_checked_as_one_that_is_written(
    tmp_path: Path, method: str
) -> None:
    precious = users_file(tmp_path)
    with pytest.raises(FathomError, match="was not made by Fathom"):
        fathom.run(
            method,
            {"log": f"file:{precious}", "data": f"file:{tmp_path / 'new.bin'}"},
            size_bytes=SIZE_BYTES,
        )
    assert not (tmp_path / "new.bin").exists()


def test_a_plan_shows_the_steps_of_each_target_with_their_numbers(tmp_path: Path, method: str) -> None:
    parsed = load_method(method)
    texts = ["log=null:", f"data=file:{users_file(tmp_path)}"]
    log, data = bound_targets(parsed, texts, resolve_targets)
    assert [(step.number, step.step) for step in plan_of(parsed, log).steps] == [(3, "writes")]
    assert [(step.number, step.step) for step in plan_of(parsed, data).steps] == [(2, "reads")]
    shown = CliRunner().invoke(app, ["plan", method, *texts])
    assert shown.exit_code == 0, shown.output
    assert "data: " in shown.output
    assert "only read: nothing is written to it" in shown.output


def test_a_resumed_run_keeps_the_names_of_its_targets(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fathom.runs.steps import StepOutcome
    from fathom.session import Options, resume_run
    from fathom.session.step_run import StepRun, Turn

    began: list[str] = []
    run = StepRun.run

    def failing(self: StepRun, turn: Turn) -> StepOutcome:
        began.append(turn.step.name)
        if turn.step.name == "writes" and began.count("writes") == 1:
            raise FathomError("the cable was pulled")
        return run(self, turn)

    monkeypatch.setattr(StepRun, "run", failing)
    texts = {"data": f"file:{users_file(tmp_path)}", "log": f"file:{tmp_path / 'log.bin'}"}
    with pytest.raises(FathomError, match="the cable was pulled"):
        fathom.run(method, texts, size_bytes=SIZE_BYTES)
    [path] = (tmp_path / "runs").iterdir()
    resumed = resume_run(path, Options())
    assert began == ["reads", "lay-out", "writes", "writes"]
    assert set(resumed.to_pandas("points")["step"]) == {"reads", "writes"}


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (["null:"], "name their targets, but this one has no name; write data=null: or log=null:"),
        (["data=null:"], "no target named 'log'"),
        (["data=null:", "lgo=nop:"], "no step of two runs on 'lgo'; did you mean log=...?"),
        (["data=null:", "log=nop:", "more=nop:"], "no step of two runs on 'more'"),
        (["data=null:", "log=/nowhere"], "'/nowhere' is not a target"),
    ],
)
def test_a_name_that_is_missing_or_wrong_is_one_line(method: str, texts: list[str], what: str) -> None:
    with pytest.raises(UsageError) as error:
        bound_targets(load_method(method), texts, resolve_targets)
    # The order of names in the method is that of its steps.
    assert what.replace("data=null: or log=null:", "log=null: or data=null:") in str(error.value).replace(
        "\n", "; "
    )


def test_names_are_refused_where_no_step_asks_for_them() -> None:
    with pytest.raises(UsageError, match="the steps of four-corners name no targets"):
        bound_targets(load_method("four-corners"), ["a=null:"], resolve_targets)


def test_a_session_without_the_names_does_not_begin(tmp_path: Path, method: str) -> None:
    from fathom.session import Options, start_run

    with pytest.raises(UsageError, match="name their targets"):
        start_run(load_method(method), resolve_targets(["null:"]), Options(out=tmp_path))


def test_a_step_for_files_alone_leaves_devices_as_they_are() -> None:
    text = METHOD.replace('target     = "log"\n', "").replace('target = "data"\n', "").split("[[steps]]")
    method = parse_method("[[steps]]".join(text[:3]), "m.toml")
    [null] = resolve_targets(["null:"])
    assert [step.name for _, step in method.steps_on(null)] == ["reads"]
    assert not method.writes_to(null)
