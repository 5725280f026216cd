"""Scripts of fio commands, included files and variables."""

from pathlib import Path

import pytest
from fio_jobs import imported

from fathom.errors import UsageError
from fathom.imports import import_method
from fathom.imports.variables import Variables


def test_commands_of_a_script_are_taken_one_after_the_other(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path,
        "#!/bin/sh\nfio --name=a --filename=/dev/sdz --rw=randread --bs 16k \\\n  --runtime=5 --time_based --output x\n"
        "sudo /usr/bin/fio --filename=/dev/sdz --runtime=7 --time_based --name=b --rw=write\n",
    )
    assert steps.pop(0)["kind"] == "fill"
    assert [(step["name"], step["job"]["mix"], step["job"]["until"]["time"]) for step in steps] == [
        ("a", "read", "5s"),
        ("b", "write", "7s"),
    ]


def test_programs_before_fio_are_told_and_their_line_is_not_lost(tmp_path: Path) -> None:
    command = "fio --name=x --filename=/dev/sdz --direct=1 --rw=write --size=1m"
    for before in (
        "taskset -c 0",
        "numactl -N 0 -m 0",
        "sudo -E",
        "env A=B",
        "A=B",
        "nice -n 5 /usr/bin/env",
    ):
        steps, notes = imported(tmp_path, f"#!/bin/sh\n# fio --name=not\n{before} {command}\n")
        assert [step["name"] for step in steps] == ["x"]
        assert notes == [f"3: {before}: says where or as whom fio runs, and is left out"]


def test_a_name_that_begins_with_global_stands_for_all_jobs_after_it(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path,
        "fio --name=global --filename=/dev/sdz --rw=write --size=1m --direct=1 --name=a --bs=8k"
        " --name=globals --bs=16k --name=b --stonewall\n",
    )
    assert [(step["name"], step["job"]["block"]) for step in steps] == [("a", "8KiB"), ("b", "16KiB")]


def test_an_included_file_has_places_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "common.fio").write_text("size=1m\nnice=3\n")
    steps, _ = imported(tmp_path, "[x]\nfilename=f\ndirect=1\ninclude common.fio\nrw=write\n")
    assert steps[0]["job"]["region"] == "1MiB"
    (tmp_path / "job.fio").write_text("[x]\ninclude common.fio\nrw=write\n")
    assert any(
        note.startswith(f"{tmp_path}/common.fio:2: nice=3") for note in import_method(tmp_path / "job.fio")[1]
    )
    (tmp_path / "common.fio").write_text("include common.fio\n")
    with pytest.raises(UsageError, match="more than 8 files within files"):
        imported(tmp_path, "[x]\ninclude common.fio\n")
    with pytest.raises(UsageError, match=r"nowhere\.fio"):
        imported(tmp_path, "[x]\ninclude nowhere.fio\n")


def test_variables_have_the_value_that_is_set_or_that_of_the_environment_and_a_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPTH", "5")
    file = tmp_path / "job.fio"
    file.write_text(
        "[x]\nfilename=/dev/${DISK}\nrw=read\ndirect=1\nsize=$HALF\niodepth=${DEPTH}\nioengine=libaio\n"
    )
    method, notes = import_method(file, None, Variables({"DISK": "sdz", "HALF": "8m"}))
    assert "iodepth = 5" in method
    assert 'region  = "8MiB"' in method
    assert method.count("# Run it on /dev/sdz") == 1
    assert [note.removeprefix(str(file)) for note in notes[:3]] == [
        ":2: ${DISK}: sdz, from --set",
        ":5: $HALF: 8m, from --set",
        ":6: ${DEPTH}: 5, from the environment",
    ]


def test_a_value_that_the_file_does_not_ask_for_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    file.write_text("[x]\nrw=write\nsize=8m\n")
    with pytest.raises(UsageError, match=r"--set DISK: .*job\.fio has no \$DISK"):
        import_method(file, None, Variables({"DISK": "sdz"}))


SCRIPT = """#!/bin/sh
BS=8k
for depth in 1 32; do
    fio --name=x --filename=/dev/sdz --rw=read --direct=1 --size=8m --bs=$BS --ioengine=libaio --iodepth=${depth}
done
"""


def test_a_loop_of_a_script_is_left_aside_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "job.sh"
    file.write_text(SCRIPT)
    with pytest.raises(UsageError, match=r"job.sh:4: \$\{depth\} has no value; give --set depth=VALUE"):
        import_method(file)
    method, notes = import_method(file, None, Variables({"depth": "32"}))
    assert "iodepth = 32" in method
    assert 'block   = "8KiB"' in method
    assert [note.removeprefix(str(file)) for note in notes] == [
        ":3: for depth in 1 32; do: is ignored; the commands in it run once",
        ":4: $BS: 8k, from the file",
        ":4: ${depth}: 32, from --set",
    ]


def test_a_value_that_a_script_sets_twice_or_in_a_loop_is_not_known(tmp_path: Path) -> None:
    for setting in ("BS=8k\nBS=4k\n", "if true; then\nBS=8k\nfi\n", "BS=$(nproc)\n"):
        with pytest.raises(UsageError, match=r"\$BS has no value"):
            imported(tmp_path, f"{setting}fio --name=x --bs=$BS\n")


PLAIN = "fio --name=a --filename=/dev/sdz --direct=1 --rw=write --size=1m"


@pytest.mark.parametrize(
    "line",
    [
        "sudo fio precondition.fio",
        "numactl -N 0 fio mixed.fio",
        "timeout 60 fio mixed.fio",
        "$FIO --name=b --rw=read",
        "sudo ${fio_bin} b.fio",
        '"$BIN" --name=b',
        "X=$(fio b.fio)",
        "cd /x && fio b.fio",
        "run() { fio b.fio; }",
        "BS=64k; fio --name=b",
        f"{PLAIN}; echo",
    ],
)
def test_a_line_that_calls_fio_otherwise_is_refused_beside_a_plain_call(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError, match=r"job\.fio:3: "):
        imported(tmp_path, f"#!/bin/sh\n{PLAIN}\n{line}\n")


@pytest.mark.parametrize(
    "line",
    [
        "sudo apt install fio sysstat",
        "command -v fio >/dev/null || exit 1",
        "echo fio starts",
        "test -x $FIO || exit",
        "which fio && echo there  # or fio b.fio",
        "export FIO=/usr/bin/fio BS=4k",
        "mkdir -p results/fio x",
        "echo 'it is",
    ],
)
def test_a_line_that_only_names_fio_is_left_aside(tmp_path: Path, line: str) -> None:
    steps, notes = imported(tmp_path, f"#!/bin/sh\n{line}\n{PLAIN}\n")
    assert ([step["name"] for step in steps], notes) == (["a"], [])


@pytest.mark.parametrize("shell", ["#!/bin/sh", "#!/bin/bash -e", "#!/usr/bin/env bash"])
@pytest.mark.parametrize("line", ['[ -z "$1" ] && exit 1', "  [[ -b /dev/sdz ]] || exit", "[ -f x ]"])
def test_a_condition_in_brackets_is_no_section_of_a_job_file(tmp_path: Path, shell: str, line: str) -> None:
    steps, _ = imported(tmp_path, f"{shell}\n{line}\n{PLAIN}\n")
    assert [step["name"] for step in steps] == ["a"]


def test_a_script_that_writes_job_files_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a shell script that writes job files of fio"):
        imported(tmp_path, "#!/bin/sh\ncat > x.fio <<E\n[global]\nbs=4k\n[x]\nE\nfio x.fio\n")


def test_a_job_file_may_name_the_program_that_runs_it(tmp_path: Path) -> None:
    text = "#!/usr/bin/fio\n[x]\nfilename=/dev/sdz\ndirect=1\nrw=write\nsize=1m\n"
    assert [step["name"] for step in imported(tmp_path, text)[0]] == ["x"]


@pytest.mark.parametrize(
    "option", ["--output=$OUT/x.json", "--output $(hostname).json", "--write_bw_log=$OUT/bw"]
)
def test_a_variable_in_what_fio_reports_needs_no_value(tmp_path: Path, option: str) -> None:
    steps, _ = imported(tmp_path, f"#!/bin/sh\n{PLAIN} {option} --rwmixread=70\n")
    assert [step["name"] for step in steps] == ["a"]
    with pytest.raises(UsageError, match=r"\$OUT has no value"):
        imported(tmp_path, f"#!/bin/sh\n{PLAIN} {option} --bs=$OUT\n")


def test_a_command_behind_one_with_a_report_is_not_lost(tmp_path: Path) -> None:
    for behind in ("--group_reporting && fio", "--output=x; fio", "--output $OUT | tee", "--output x > $OUT"):
        with pytest.raises(UsageError):
            imported(tmp_path, f"#!/bin/sh\n{PLAIN} {behind}\n")


def test_a_job_file_may_leave_a_variable_of_its_reports_open(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\ndirect=1\nrw=write\nsize=1m\npercentile_list=${percentiles}\n"
    assert [step["name"] for step in imported(tmp_path, text)[0]] == ["x"]


def test_a_mark_within_a_word_begins_no_comment(tmp_path: Path) -> None:
    text = "fio --name=t --filename=/dev/sdz --direct=1 --output=run#1.log --rw=write --bs=64k --size=1m # it's done\n"
    steps, _ = imported(tmp_path, text)
    assert (steps[0]["job"]["mix"], steps[0]["job"]["block"]) == ("write", "64KiB")


def test_a_function_of_a_script_is_left_aside_with_its_line(tmp_path: Path) -> None:
    for header in ("run() {", "run()\n{", "function run {"):
        steps, notes = imported(tmp_path, f"#!/bin/sh\n{header}\n{PLAIN}\n}}\nrun\nrun\n{PLAIN}\n")
        assert len(steps) == 2
        what = header.partition("\n")[0]
        assert notes == [f"2: {what}: is ignored; the commands in it run once"]


def test_a_value_set_within_another_line_is_not_known(tmp_path: Path) -> None:
    for setting in ("BS=64k; echo", "test -n x && BS=64k", "for BS in 8k 16k; do echo $BS; done", "read BS"):
        with pytest.raises(UsageError, match=r"\$BS has no value"):
            imported(tmp_path, f"BS=4k\n{setting}\nfio --name=x --bs=$BS\n")
