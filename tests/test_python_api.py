"""The commands as functions of Python: files of others, questions to all runs, sweeps and validation."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fathom
from fathom.errors import FathomError, ImportedWarning, UsageError

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
    monkeypatch.setenv("FATHOM_RUNS", str(tmp_path))
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
    with pytest.raises(UsageError, match="no twin can be made of dies_per_channel 0: "):
        fathom.run_sweep(SHORT, TWIN, {"dies_per_channel": [0, 16]}, out=tmp_path)


def test_published_rows_stand_beside_what_a_twin_does() -> None:
    with pytest.raises(FathomError, match="no device"):
        fathom.validate("acme-one")
    rows = fathom.validate("wd-ultrastar-dc-sn640-3.2tb")
    assert {row.case.row.role for row in rows} == {"calibration", "validation"}
    assert all(row.measured for row in rows)


def test_a_script_without_a_guard_runs_once_though_its_sweep_has_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import fathom
with open("begun", "a") as begun:
    begun.write("once ")
swept = fathom.run_sweep({SHORT!r}, {TWIN!r}, {{"dies_per_channel": [2, 16]}}, out=".")
print(swept.points.num_rows, __name__)
"""
    )
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("2 __main__\n", "")
    assert (tmp_path / "begun").read_text() == "once "


@pytest.mark.parametrize(
    "call",
    [
        lambda **wrong: fathom.run(SHORT, TWIN, **wrong),
        lambda **wrong: fathom.review(TWIN, **wrong),
        lambda **wrong: fathom.run_in_power_states(SHORT, TWIN, **wrong),
        lambda **wrong: fathom.resume_run("last", **wrong),
        lambda **wrong: fathom.run_sweep(SHORT, TWIN, {"op": [0.1]}, **wrong),
        lambda **wrong: fathom.validate("samsung-pm9a3-7.68tb", **wrong),
        lambda **wrong: fathom.add_ensemble("last", 8, **wrong),
    ],
)
def test_an_option_with_a_wrong_name_is_refused_before_anything_runs(
    call: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_RUNS", str(tmp_path))
    with pytest.raises(UsageError, match=r"no option 'host'; did you mean \"hosts\""):
        call(host="hosts.txt")
    assert not list(tmp_path.iterdir())


def test_what_the_command_refuses_of_a_run_python_refuses_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--purge foo: unknown"):
        fathom.run(SHORT, TWIN, purge="foo", out=tmp_path)  # pyright: ignore[reportArgumentType]
    with pytest.raises(FathomError, match="has no power states"):
        fathom.run(SHORT, TWIN, power_state=0, out=tmp_path)
    for times in (0, -1):
        with pytest.raises(UsageError, match=f"{times} repeats; ask for 1 or more"):
            fathom.review(TWIN, repeats=times, out=tmp_path)
        with pytest.raises(UsageError, match=f"{times} repeats; ask for 1 or more"):
            fathom.repeat_run(SHORT, TWIN, times, out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_method_may_be_a_path(tmp_path: Path) -> None:
    file = tmp_path / "short.toml"
    file.write_text(SHORT)
    [planned] = fathom.plan_run(file, TWIN)
    assert [step.step for step in planned.steps] == ["r"]
    assert fathom.run(file, TWIN, out=tmp_path).document.method.name == "short"


def test_an_empty_name_is_no_run_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = fathom.run(SHORT, TWIN, out=tmp_path)
    for folder in (tmp_path, run.path):
        monkeypatch.chdir(folder)
        with pytest.raises(UsageError, match="a run's name is empty"):
            fathom.open_run("")


def test_a_text_is_one_word_where_several_may_stand(tmp_path: Path) -> None:
    base, new = (fathom.run(SHORT, TWIN, seed=seed, out=tmp_path) for seed in (1, 2))
    [compared] = fathom.compare_runs(base, new, metrics="iops", limits="iops < -90%")
    assert {row.metric.name for row in compared.rows} == {"iops"}
    swept = fathom.run_sweep(SHORT, TWIN, {"dies_per_channel": "2,16", "op": 0.2}, out=tmp_path)
    assert swept.points["dies_per_channel"].to_pylist() == [2, 16]


def test_nothing_to_report_compare_or_sweep_is_one_line(tmp_path: Path) -> None:
    run = fathom.run(SHORT, TWIN, out=tmp_path)
    with pytest.raises(UsageError, match="no run to report"):
        fathom.write_report([])
    with pytest.raises(UsageError, match="no run to hold against the base"):
        fathom.compare_runs(run)
    with pytest.raises(UsageError, match="without a key to vary"):
        fathom.run_sweep(SHORT, TWIN, {})


def test_one_serial_may_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr("fathom.session.repeat_run", lambda *given: seen.append(given[2].destroy) or [None])
    fathom.run(SHORT, TWIN, destroy="S64HNE0R500123")
    fathom.run(SHORT, TWIN, destroy=["A", "B"])
    assert seen == [("S64HNE0R500123",), ("A", "B")]


def test_completion_finds_the_interface_before_its_first_use() -> None:
    code = "import fathom; print('run_sweep' in dir(fathom), 'TYPE_CHECKING' in dir(fathom))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_a_path_is_a_target_and_what_is_neither_text_nor_path_is_one_error(tmp_path: Path) -> None:
    file = tmp_path / "data.bin"
    with pytest.raises(UsageError, match=re.escape(f"is not a target; write file:{file}")):
        fathom.plan_run(SHORT, targets=file)
    assert fathom.plan_run(SHORT, targets=[Path(f"file:{file}")], size_bytes=1 << 20)
    for wrong in (3, ["null:", None], {"a": 3}):
        with pytest.raises(UsageError, match=r"targets: .* is no target; write a text"):
            fathom.plan_run(SHORT, targets=wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="is no twin, and a sweep only simulates"):
        fathom.run_sweep(SHORT, file, {"op": [0.07]}, out=tmp_path)


def test_what_differs_from_a_fio_command_and_the_other_target_that_it_names_are_warnings(
    tmp_path: Path,
) -> None:
    named = tmp_path / "other.bin"
    command = (
        f"fio --name=j --filename={named} --rw=randread --bs=4k --size=16m --ioengine=libaio --iodepth=4 "
        "--time_based --runtime=1s --bssplit=4k/50:16k/50 --percentage_random=50"
    )
    with pytest.warns(ImportedWarning) as warned:
        fathom.plan_run(command, f"file:{tmp_path}/scratch.bin", size_bytes=16 << 20)
    texts = [str(one.message) for one in warned]
    assert any("bssplit" in text or "percentage_random" in text for text in texts), texts
    assert any(str(named) in text and "scratch.bin" in text for text in texts), texts
