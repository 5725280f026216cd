"""One way from words to a run: the commands and Python find the same targets for a method."""

import ast
import importlib.util
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest
from typer.testing import CliRunner

import fathom
from fathom import _core
from fathom.api import RunOptions
from fathom.cli import app
from fathom.cli import measure as commands
from fathom.errors import UsageError
from fathom.load.initiator import ThisMachine
from fathom.method.method import load_method
from fathom.plan.prepare import prepare
from fathom.plan.replay import Replay
from fathom.sweep import grid, study

ROOT = Path(__file__).parents[1]
SHELF = "twin:atto-xstreamcore-9400"
WAYS = ("cli/measure.py", "plan/review.py", "sweep/study.py", "api/measure.py")
SHORT = """
schema = "fathom-method/1"
name = "short"
title = "Short"
summary = "Reads for a moment."
source = "made for Fathom's own tests"

[[steps]]
name = "reads"

[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 4 }
until = { time = "200ms" }
"""


def test_the_plan_of_added_latency_shows_the_drive_that_a_run_adds() -> None:
    shown = CliRunner().invoke(app, ["plan", "added-latency", SHELF, "--quick"])
    assert shown.exit_code == 0, shown.output
    added = [one.name for one in prepare(load_method("added-latency"), SHELF, ThisMachine())]
    assert len(added) == 2
    assert all(name in shown.output for name in added)
    assert [one.target.name for one in fathom.plan_run("added-latency", SHELF)] == added


def test_a_sweep_gives_bare_drives_the_file_system_that_a_run_gives_them() -> None:
    method = load_method("drive-array-filesystem")
    [target] = prepare(method, "twin:samsung-pm9a3-7.68tb", ThisMachine())
    assert target.identity.file_system is not None
    axes = [grid.parse_axis("over_provisioning=0.07")]
    [one] = grid.combinations(axes, method, ["twin:samsung-pm9a3-7.68tb"])
    [[name, _], *_] = study._depends_on(one, quick=True)[1]  # pyright: ignore[reportGeneralTypeIssues]
    assert name.endswith(f"/{target.identity.file_system}")


@pytest.mark.parametrize("way", WAYS)
def test_targets_of_a_run_are_found_by_prepare_alone(way: str) -> None:
    text = (ROOT / "python" / "fathom" / way).read_text()
    names = {
        one.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }
    own = {"with_baselines", "with_file_system", "bound_targets", "resolve_targets", "together"}
    assert "prepare" in names
    assert names & own == set()


def test_python_takes_what_the_command_takes() -> None:
    command = set(get_type_hints(commands.run)) - {"return", "method", "targets", "as_json"}
    elsewhere = {
        "repeats": "repeat_run",
        "ensemble": "add_ensemble",
        "baseline": "write_report",
        "prices": "write_report",
        "size": "size_bytes",
    }
    of_a_trace = {"trace", "trace_device", "timing", "speed", "offsets", "fill", "iodepth", "align"}
    assert of_a_trace <= {
        {"device": "trace_device", "align_bytes": "align"}.get(f.name, f.name) for f in fields(Replay)
    }
    assert command - elsewhere.keys() - of_a_trace <= RunOptions.__annotations__.keys()
    assert {"size_bytes", "replay"} <= RunOptions.__annotations__.keys()
    assert {"repeat_run", "write_report", "add_ensemble"} <= set(fathom.__all__)


def test_repeats_have_seeds_of_their_own_and_name_the_first(tmp_path: Path) -> None:
    seen: set[str] = set()
    method = tmp_path / "short.toml"
    method.write_text(SHORT)
    first, second = fathom.repeat_run(
        str(method), "null:", 2, seed=3, out=tmp_path, progress=lambda target, progress: seen.add(target)
    )
    assert (first.document.seed, second.document.seed) == (3, 4)
    assert second.document.repeat_of == first.id
    assert seen == {"null:"}


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "python" / "fathom" / "py.typed").exists()


def test_the_stub_and_the_extension_agree_and_a_difference_is_found() -> None:
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "tools" / "stubs.py")
    assert spec
    assert spec.loader
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    text = stubs.STUB.read_text()
    assert stubs.differences(text, _core) == []
    assert stubs.differences(text.replace("def held(self", "def kept(self"), _core) == [
        "Handle.held: the stub lacks it",
        "Handle.kept: the extension lacks it",
    ]
    assert stubs.differences(
        text.replace("start_twins(\n    job: Job", "start_twins(\n    text: Job"), _core
    ) == [
        "start_twins: the stub has (text, devices, seeds, hold_every_ns, precision, log), "
        "the extension (job, devices, seeds, hold_every_ns, precision, log)"
    ]


def test_python_replays_a_trace_as_the_command_does(tmp_path: Path) -> None:
    trace = tmp_path / "one.csv"
    trace.write_text(
        "time_s,op,offset,length\n" + "".join(f"{n / 1000},R,{4096 * n},4096\n" for n in range(100))
    )
    with pytest.raises(UsageError, match="replay=Replay"):
        fathom.plan_run("replay", "null:")
    run = fathom.run("replay", "null:", out=tmp_path, replay=Replay(trace, timing="as-fast-as-possible"))
    assert run.points.column("n").to_pylist()[-1] == 100


def test_a_run_keeps_what_its_replay_leaves_out(tmp_path: Path) -> None:
    trace = tmp_path / "two.csv"
    trace.write_text("time_s,op,offset,size\n0.0,R,0,4096\n0.1,D,4096,4096\n")
    run = fathom.run("replay", "null:", out=tmp_path, replay=Replay(trace, timing="as-fast-as-possible"))
    assert "1 discards" in (run.path / "run.json").read_text()


def test_python_takes_the_text_of_a_method_and_names_its_line() -> None:
    text = """schema = "fathom-method/1"
name = "short"
[[steps]]
name = "reads"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "1s" } }
"""
    [planned] = fathom.plan_run(text, "null:")
    assert [step.step for step in planned.steps] == ["reads"]
    with pytest.raises(UsageError, match=r"method\.toml:5: unknown key `iodpeth`"):
        fathom.plan_run(text.replace("iodepth", "iodpeth"), "null:")
