"""Jobs of fio that depend on others: kept in step by `flow`, ended together by `exitall`."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fio_jobs import imported

from fathom.errors import UsageError

AT_ONCE = "[global]\nfilename=/dev/sdz\ndirect=1\nbs=4k\nsize=1m\nrw=randread\n"


def streams(tmp_path: Path, text: str) -> dict[str, dict[str, Any]]:
    steps, _ = imported(tmp_path, text)
    return {one["name"]: one for one in steps[-1]["job"]["streams"]}


def test_weights_and_pauses_are_those_of_the_jobs(tmp_path: Path) -> None:
    found = streams(
        tmp_path, f"{AT_ONCE}flow_sleep=1000\n[a]\nflow=1\n[b]\nflow=8\nflow_sleep=0\n[c]\nbs=8k\n"
    )
    assert found["a"]["flow"] == {"weight": 1, "pause": "1ms"}
    assert found["b"]["flow"] == 8
    assert "flow" not in found["c"]


def test_a_job_alone_keeps_step_with_none(tmp_path: Path) -> None:
    steps, notes = imported(tmp_path, f"{AT_ONCE}[a]\nflow=3\nflow_sleep=9\n")
    assert "streams" not in steps[-1]["job"]
    assert "8: flow: has no effect without another job at once that has it" in notes


@pytest.mark.parametrize(
    ("jobs", "what"),
    [
        (
            "[a]\nflow=1\n[b]\nflow=1\n[c]\nstonewall\nflow=1\n",
            ":13: flow: keeps step with [a], which runs at",
        ),
        ("[a]\nflow=1\nnumjobs=4\n", ":8: flow: keeps numjobs in step"),
        ("[a]\nflow=1\n[b]\nflow=1\nbs=8k\nfilename=/dev/sdy\n", ":10: flow: jobs on different files"),
        ("[a]\nflow=1\n[b]\nflow=1\nbs=8k\nflow_id=2\n[c]\nflow=1\n", ":12: flow_id: jobs at once keep step"),
        ("[a]\nflow=1\n[b]\nflow=1\nthinktime=9\n", ":7: as a method: flow is of reads and writes"),
    ],
)
def test_what_does_not_keep_step_alike_is_refused(tmp_path: Path, jobs: str, what: str) -> None:
    with pytest.raises(UsageError) as error:
        imported(tmp_path, AT_ONCE + jobs)
    assert what in str(error.value)


@pytest.mark.parametrize(
    ("jobs", "ending"),
    [
        ("exitall\n[a]\n[b]\nbs=8k\n", {"a", "b"}),
        ("exitall\n[a]\nnew_group\n[b]\nbs=8k\nnew_group\n", set()),
        ("exitall\n[a]\nexit_what=stonewall\n[b]\nbs=8k\nnew_group\n", {"a"}),
        ("exitall\n[a]\n[b]\nbs=8k\nnew_group\nexit_what=all\n", {"b"}),
        ("[a]\nexit_what=stonewall\n[b]\nbs=8k\n", set()),
    ],
)
def test_who_ends_the_others_is_as_exit_what_says(tmp_path: Path, jobs: str, ending: set[str]) -> None:
    found = streams(tmp_path, AT_ONCE + jobs)
    assert {name for name, one in found.items() if one.get("exitall")} == ending


@pytest.mark.parametrize(
    ("jobs", "what"),
    [
        ("[a]\nexit_what=all\n[b]\nstonewall\n", ":9: exit_what: all: ends jobs that have not begun"),
        ("[a]\n[b]\nbs=8k\n[c]\nnew_group\n", ":8: [a] ends some of the jobs at once"),
        ("[a]\nexit_what=never\n", ":9: exit_what: never is none of its values"),
    ],
)
def test_what_ends_other_jobs_than_those_at_once_is_refused(tmp_path: Path, jobs: str, what: str) -> None:
    with pytest.raises(UsageError) as error:
        imported(tmp_path, f"{AT_ONCE}exitall\n{jobs}")
    assert what in str(error.value).replace("exit_what: [", "[")


@pytest.mark.skipif(
    shutil.which("fio") is None or shutil.which("strace") is None, reason="fio or strace is not installed"
)
def test_fio_keeps_jobs_in_step_by_their_weights(tmp_path: Path) -> None:
    """The meaning of `flow` that the method's streams have: I/Os in proportion to the weights."""
    text = "[global]\nfilename=x.bin\nsize=1m\nbs=4k\nrw=randread\nnorandommap\nnumber_ios=160\nflow_id=1\n"
    (tmp_path / "job.fio").write_text(f"{text}[a]\nflow=1\n[b]\nflow=4\n")
    traced = ["strace", "-f", "-qq", "-e", "trace=pread64", "-o", "trace", "fio", "job.fio"]
    subprocess.run(traced, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    begun = r"^(\d+) +pread64\(.*(?:= 4096|unfinished \.\.\.>)$"
    processes = re.findall(begun, (tmp_path / "trace").read_text(), re.MULTILINE)
    # The lighter one goes on alone when the other has ended.
    together = processes[:100]
    fewer, more = sorted(Counter(together).values())
    assert more / fewer == pytest.approx(4, abs=0.8)
