"""Methods from Vdbench's parameter files: the same I/O where there is a counterpart, a line where there is none."""

import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathom.errors import FathomError, UsageError
from fathom.imports import import_method
from fathom.imports.variables import Variables
from fathom.method.method import parse_method

ONE = "sd=sd1,lun=/dev/nvme0n1,openflags=o_direct\n"


def imported(tmp_path: Path, text: str) -> tuple[list[dict[str, Any]], list[str]]:
    file = tmp_path / "oltp.parm"
    file.write_text(text)
    method, notes = import_method(file)
    return tomllib.loads(method)["steps"], [note.removeprefix(f"{file}:") for note in notes]


def test_a_run_at_the_maximum_keeps_its_workload_threads_and_time(tmp_path: Path) -> None:
    [step], notes = imported(
        tmp_path,
        "* four corners\ncompratio=2\n"
        + ONE
        + "wd=wd1,sd=sd*,rdpct=70,xfersize=(8k,90,32k,10),range=(0,25)\n"
        "rd=run1,wd=wd1,iorate=max,elapsed=5m,threads=32,interval=1\n",
    )
    assert step == {
        "name": "run1",
        "job": {
            "mix": {"read": 70, "write": 30},
            "block": [{"size": "8KiB", "share": 90}, {"size": "32KiB", "share": 10}],
            "pattern": "uniform",
            "region": {"start": "0.1%", "size": "24.8%"},
            "content": {"compressible": "50%"},
            "load": {"threads": 32, "iodepth": 1},
            "direct": True,
            "until": {"time": "300s"},
        },
    }
    [reports] = notes
    assert reports.endswith(
        "options of the tool's own reports and logs, which a run directory replaces: interval (5)"
    )


def test_vdbenchs_own_defaults_count_where_nothing_is_said(tmp_path: Path) -> None:
    _, step = imported(tmp_path, "sd=sd1,lun=/data/file\nwd=w,sd=sd1\nrd=r,wd=w\n")[0]
    assert step["job"] == {
        "mix": "read",
        "block": "4KiB",
        "pattern": "uniform",
        "load": {"threads": 8, "iodepth": 1},
        "direct": False,
        "until": {"time": "30s"},
    }


def test_defaults_hold_for_the_lines_after_them(tmp_path: Path) -> None:
    first, second = imported(
        tmp_path,
        ONE + "wd=default,xfersize=64k,seekpct=0\nwd=a,sd=sd1\nwd=b,sd=sd1,xfersize=8k\n"
        "rd=default,elapsed=7\nrd=r1,wd=a\nrd=r2,wd=b\n",
    )[0]
    assert (first["job"]["block"], first["job"]["pattern"], first["job"]["until"]) == (
        "64KiB",
        "sequential",
        {"time": "7s"},
    )
    assert second["job"]["block"] == "8KiB"


def test_a_curve_is_a_curve_judged_by_service_latency(tmp_path: Path) -> None:
    [step], _ = imported(tmp_path, ONE + "wd=w,sd=sd1\nrd=r,wd=w,iorate=curve,curve=(10-30,10),elapsed=60\n")
    assert step["kind"] == "curve"
    assert step["curve"] == {"points": ["10%", "20%", "30%"], "time": "60s", "response": "service"}
    [step], _ = imported(tmp_path, ONE + "wd=w,sd=sd1\nrd=r,wd=w,iorate=curve\n")
    assert step["curve"]["points"] == ["10%", "50%", "70%", "80%", "90%", "100%"]


def test_each_rate_is_a_step_of_arrivals_on_their_own_clock(tmp_path: Path) -> None:
    steps, _ = imported(tmp_path, ONE + "wd=w,sd=sd1\nrd=r,wd=w,iorate=(100,250),distribution=d\n")
    assert [(step["name"], step["job"]["load"]["rate"]) for step in steps] == [
        ("r-100", "100/s"),
        ("r-250", "250/s"),
    ]
    assert steps[0]["job"]["load"]["arrival"] == "deterministic"


def test_rates_of_a_million_and_more_keep_all_their_digits(tmp_path: Path) -> None:
    steps, _ = imported(tmp_path, ONE + "wd=w,sd=sd1\nrd=r,wd=w,iorate=(1000000,1234567)\n")
    assert [(step["name"], step["job"]["load"]["rate"]) for step in steps] == [
        ("r-1000000", "1000000/s"),
        ("r-1234567", "1234567/s"),
    ]


def test_runs_for_each_value_are_all_combinations_with_their_warm_ups(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path, ONE + "wd=w,sd=sd1\nrd=r,wd=w,forthreads=(1-4,d),forrdpct=(0,100),warmup=5\n"
    )
    assert [step["name"] for step in steps][:4] == [
        "r-t1-r0-warmup",
        "r-t1-r0",
        "r-t1-r100-warmup",
        "r-t1-r100",
    ]
    assert [step["job"]["load"]["threads"] for step in steps[1::2]] == [1, 1, 2, 2, 4, 4]


def test_several_storage_definitions_share_a_rate_and_have_threads_each(tmp_path: Path) -> None:
    [step], _ = imported(
        tmp_path, ONE + "sd=sd2,lun=/dev/nvme1n1,threads=4\nwd=w,sd=sd*\nrd=r,wd=w,iorate=1000\n"
    )
    assert step["job"]["load"] == {
        "threads": 12,
        "iodepth": 1,
        "rate": "1000/s",
        "arrival": "exponential",
        "split": [8, 4],
    }


def test_several_workloads_are_streams_with_the_rate_by_their_skew(tmp_path: Path) -> None:
    [step], _ = imported(
        tmp_path,
        ONE
        + "wd=w1,sd=sd1,skew=80\nwd=w2,sd=sd1,rdpct=0,seekpct=seq\nrd=r,wd=w*,iorate=1000,\n   elapsed=9\n",
    )
    assert [stream["load"]["rate"] for stream in step["job"]["streams"]] == ["800/s", "200/s"]
    assert step["job"]["streams"][1]["pattern"] == "sequential"


KEPT = (
    "skew= without a rate: here each sd and stream runs as fast as its threads can; Vdbench keeps their rates at their "
    "shares"
)
EQUAL = "workloads without skew= have equal shares here, which Vdbench does not promise"


@pytest.mark.parametrize(
    ("workloads", "rate", "said"),
    [
        # Without skew and a rate each workload of an sd runs uncontrolled (RD_entry.willWeUseWaiterForWG,
        # RD_entry.java:1107).
        ("wd=w,sd=*", "max", []),
        ("wd=w,sd=*,skew=100", "max", [KEPT]),
        ("wd=w,sd=*,skew=100", "100", []),
        ("wd=w,sd=sd1,skew=100", "max", []),
        ("wd=v,sd=sd1\nwd=w,sd=sd2", "max", []),
        ("wd=v,sd=sd1,skew=50\nwd=w,sd=sd2", "max", [KEPT]),
        ("wd=v,sd=sd1,seekpct=0\nwd=w,sd=sd1", "max", [EQUAL]),
        ("wd=v,sd=sd1,skew=50,rdpct=0\nwd=w,sd=sd1", "max", []),
    ],
)
def test_a_line_says_where_shares_at_the_maximum_are_not_kept(
    workloads: str, rate: str, said: list[str], tmp_path: Path
) -> None:
    storage = ONE + "sd=sd2,lun=/dev/nvme1n1,openflags=o_direct\n"
    _, notes = imported(tmp_path, f"{storage}{workloads}\nrd=r,wd=*,iorate={rate}\n")
    assert [note.partition(": ")[2] for note in notes] == said


def test_a_pause_is_an_idle_step(tmp_path: Path) -> None:
    steps, _ = imported(tmp_path, ONE + "wd=w,sd=sd1\nrd=r,wd=w,pause=30\n")
    assert steps[-1] == {"name": "r-pause", "kind": "idle", "time": "30s"}


def test_what_says_nothing_of_the_io_is_told_with_its_line(tmp_path: Path) -> None:
    _, notes = imported(
        tmp_path,
        "monitor=/tmp/stop\nhd=h1,system=a\n" + ONE + "wd=w,sd=sd1,host=h1\nrd=r,wd=w,iorate=max,inter=5\n",
    )
    assert notes == [
        "2: system=a says how Vdbench reaches its hosts; fathom run has a file for that: --hosts FILE",
        " options of the tool's own reports and logs, which a run directory replaces: monitor (1), inter (5)",
    ]


def test_an_included_file_stands_where_it_is_named_and_has_lines_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "storage.parm").write_text("* the devices\n" + ONE + "eof\nnonsense\n")
    [step], _ = imported(tmp_path, "include=storage.parm\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max\n")
    assert step["name"] == "r"
    (tmp_path / "storage.parm").write_text("\nsd=sd1,lun=/dev/sdb,size=nan\n")
    with pytest.raises(UsageError, match=r"storage\.parm:2: size=nan: nan is not a number"):
        imported(tmp_path, "include=storage.parm\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max\n")
    (tmp_path / "storage.parm").write_text("include=storage.parm\n")
    with pytest.raises(UsageError, match=r"storage\.parm:1: .*includes no other"):
        imported(tmp_path, "include=storage.parm\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max\n")
    with pytest.raises(UsageError, match=r"oltp\.parm:1: include=other\.parm: there is no such file"):
        imported(tmp_path, "include=other.parm\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max\n")


def test_an_included_file_of_another_machine_may_lie_beside_the_file(tmp_path: Path) -> None:
    text = "include=/opt/nowhere/storage.parm\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max\n"
    with pytest.raises(
        UsageError, match=r"oltp\.parm:1: include=/opt/nowhere/storage\.parm: there is no such"
    ):
        imported(tmp_path, text)
    beside = tmp_path / "storage.parm"
    beside.write_text(ONE)
    [step], notes = imported(tmp_path, text)
    assert step["name"] == "r"
    assert notes == [
        f"1: include=/opt/nowhere/storage.parm: there is no such file here; {beside} is read in its place"
    ]


def test_several_storage_definitions_and_their_count_are_one_array(tmp_path: Path) -> None:
    file = tmp_path / "x.parm"
    file.write_text(
        "sd=sd,lun=/dev/sd*,count=(1,3),openflags=o_direct\nwd=w,sd=(sd1-sd3)\nrd=r,wd=w,iorate=max\n"
    )
    method, _ = import_method(file)
    assert "# Run it on array:/dev/sd1,/dev/sd2,/dev/sd3\n" in method
    assert tomllib.loads(method)["steps"][0]["job"]["load"] == {"threads": 24, "iodepth": 1, "split": "even"}


def test_twenty_thousand_storage_definitions_take_time_in_proportion(tmp_path: Path) -> None:
    def cpu_s(count: int) -> float:
        lines = "".join(f"sd=sd{n},lun=/dev/disk{n},openflags=o_direct\n" for n in range(count))
        begin = time.process_time()
        imported(tmp_path, f"{lines}wd=w,sd=sd*\nrd=r,wd=w,iorate=max,elapsed=10\n")
        return time.process_time() - begin

    cpu_s(10)
    assert cpu_s(20_000) < 40 * cpu_s(2_000)


def thousands(count: int, runs: str, *, openflags: str = ",openflags=o_direct") -> str:
    """As many devices, each with a workload of its own."""
    storage = "".join(f"sd=sd{n},lun=/dev/disk{n}{openflags}\n" for n in range(count))
    return storage + "".join(f"wd=wd{n},sd=sd{n},rdpct=70\n" for n in range(count)) + runs


def test_thousands_of_workloads_at_once_are_refused_in_time_in_proportion(tmp_path: Path) -> None:
    def cpu_s(count: int) -> float:
        begin = time.process_time()
        with pytest.raises(UsageError) as refused:
            imported(tmp_path, thousands(count, "rd=run,wd=*,iorate=max\n"))
        spent_s = time.process_time() - begin
        assert refused.value.message.endswith(
            f":{2 * count + 1}: {count:,} workloads at once, and a job has 64 streams at most"
        )
        assert "sd=*" in (refused.value.hint or "")
        return spent_s

    cpu_s(100)
    assert cpu_s(4_000) < 40 * cpu_s(400)


def test_thousands_of_workloads_in_runs_of_few_take_time_in_proportion(tmp_path: Path) -> None:
    def cpu_s(count: int) -> float:
        runs = "".join(f"rd=r{n},wd=(wd{n}-wd{n + 39}),iorate=max,elapsed=10\n" for n in range(0, count, 40))
        begin = time.process_time()
        steps, _ = imported(tmp_path, thousands(count, runs))
        assert [len(step["job"]["streams"]) for step in steps] == [40] * (count // 40)
        return time.process_time() - begin

    cpu_s(40)
    assert cpu_s(4_000) < 40 * cpu_s(400)


def test_a_long_list_of_targets_or_lines_is_its_first_few_and_how_many_there_are(tmp_path: Path) -> None:
    file = tmp_path / "many.parm"
    file.write_text(thousands(200, "rd=run,sd=*,iorate=max\n", openflags=""))
    method, notes = import_method(file)
    aim = "/dev/disk0,/dev/disk1,/dev/disk2,/dev/disk3,/dev/disk4,... (200 in all, in the order of the file)"
    assert f"# Run it on array:{aim}\n" in method
    assert [note for note in notes if note.endswith("(also on line 2, 3, 4, 5, 6 and 194 more)")]
    assert max(map(len, method.splitlines())) < 300


def test_more_threads_than_a_job_has_are_more_ios_in_flight_of_fewer_and_a_line_says_so(
    tmp_path: Path,
) -> None:
    steps, notes = imported(tmp_path, thousands(200, "rd=run,sd=*,iorate=max\n"))
    assert steps[0]["job"]["load"] == {"threads": 800, "iodepth": 2, "split": "even"}
    [note] = [note for note in notes if "threads" in note]
    assert note == "401: 1,600 threads: a job has 1,024 at most, so here are 800, each with 2 I/Os in flight"
    _, notes = imported(tmp_path, thousands(100, "rd=run,sd=*,iorate=max\n"))
    assert notes == []


def test_one_device_under_several_names_goes_to_a_stream_for_each(tmp_path: Path) -> None:
    names = "".join(f"sd=s{n},lun=/dev/{lun}\n" for n, lun in enumerate(("a", "a", "b", "a", "b", "c")))
    [step], _ = imported(tmp_path, f"{names}wd=w,sd=s*\nrd=r,wd=w,iorate=max,elapsed=10\n")
    assert [(one["name"], one.get("targets")) for one in step["job"]["streams"]] == [
        ("w-s0", None),
        ("w-s1", [1, 2]),
        ("w-s3", [1]),
    ]


def test_runs_on_different_storage_name_their_targets_and_write_no_other(tmp_path: Path) -> None:
    file = tmp_path / "x.parm"
    file.write_text(
        "sd=data,lun=/dev/sdb,openflags=o_direct\nsd=log,lun=/tmp/log,size=1g,openflags=o_direct\n"
        "wd=r,sd=data\nwd=w,sd=log,rdpct=0,seekpct=0\nrd=one,wd=r,iorate=max\nrd=two,wd=w,iorate=max,threads=1\n"
    )
    method, notes = import_method(file)
    steps = tomllib.loads(method)["steps"]
    assert [(step["name"], step["target"], step["job"]["mix"]) for step in steps] == [
        ("one", "data", "read"),
        ("lay-out-log", "log", "write"),
        ("two", "log", "write"),
    ]
    assert "# Run it on data=/dev/sdb log=file:/tmp/log\n" in method
    assert [note for note in notes if "all steps on one target run before" in note]


def test_what_a_method_cannot_be_names_the_line_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"oltp\.parm:3: as a method: "):
        imported(tmp_path, ONE + "wd=w,sd=sd1\nrd=r,wd=w,iorate=1000000g\n")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("fsd=fsd1,anchor=/x\nrd=r,fwd=f,fwdrate=max\n", ":2: fwd=f: there is no f"),
        (ONE + "wd=w,sd=sd1,xfersize=(4k,1m,4k)\nrd=r,wd=w\n", ":2: xfersize=(4k,1m,4k): 256 sizes"),
        (ONE + "wd=w,sd=sd1\nrd=r,wd=other\n", ":3: wd=other: there is no other"),
        (ONE + "wd=w,sd=sd1,rdpct=x\nrd=r,wd=w\n", ":2: rdpct=x: x is not a number"),
        (
            ONE + "wd=a,sd=sd1\nwd=b,sd=sd1,seekpct=0\nrd=r,wd=(a,b),iorate=curve\n",
            ":4: a curve of several streams",
        ),
        (
            ONE + "sd=sd2,lun=/dev/sdx,size=1g\nwd=w,sd=(sd1,sd2)\nrd=r,wd=w,iorate=curve\n",
            ":4: a curve of several streams: each wd is one, on each sd that is unlike the others; give each wd, and "
            "each such sd, a run of its own",
        ),
        (ONE + "wd=w,sd=sd1,rhpct=20\nrd=r,wd=w\n", ":2: rhpct=20: aims a share of the I/O at a cache"),
        (ONE + "wd=w,sd=sd1\nrd=r,wd=w,stopcurve=5\n", ":3: stopcurve=5: ends a curve by its latency"),
        (ONE + "wd=w,sd=sd1\nrd=r,wd=w,threads=1e999\n", ":3: threads=1e999: 1e999 is not a number"),
        (ONE + "wd=w,sd=sd1\nrd=r,wd=w,iorate=nan\n", ":3: iorate=nan: nan is not a number"),
        (ONE + "wd=w,sd=sd1\nrd=r,wd=w,elapsed=inf\n", ":3: elapsed=inf: inf is not a number"),
        (ONE + "wd=w,sd=sd1\nrd=r,wd=w, iorate=max\n", ":3: to Vdbench a blank ends the line"),
        (ONE + "wd=w,sd=sd1\nrd=r,iorate=max\n", ":3: rd=r names no wd and no sd"),
        (
            ONE + "wd=w,sd=sd1,frobnicate=1\nrd=r,wd=w\n",
            ":2: frobnicate: Vdbench 5.04.06 knows no such key of wd",
        ),
        (
            ONE + "wd=w,sd=sd1,range=(90,110)\nrd=r,wd=w\n",
            ":2: range=(90,110): it goes on from the storage's end",
        ),
        (ONE + "wd=w,sd=sd1,seekpct=eof\nrd=r,wd=w\n", ":3: seekpct=eof needs the storage's size"),
        (
            ONE + "sd=sd2,lun=/dev/nvme1n1\nwd=w,sd=sd*\nrd=a,wd=w\nrd=b,wd=w,sd=sd2\n",
            ":5: rd=b runs on a part of the storage of rd=a",
        ),
        (ONE + "wd=w,sd=sd1\nrd=r,wd=w,iorate=$rate\n", ":3: $rate has no value; give --set rate=VALUE"),
    ],
)
def test_what_would_be_another_test_is_refused_with_its_line(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(UsageError) as error:
        imported(tmp_path, text)
    assert what in str(error.value)


PARTS = st.sampled_from(
    [
        *(
            "rdpct=50",
            "rdpct=",
            "xfersize=8k",
            "xfersize=(4k,50,8k,50)",
            "xfersize=(4k,)",
            "seekpct=50",
            "seekpct=eof",
        ),
        *(
            "range=(0,25)",
            "range=(1g,2g)",
            "range=5",
            "iorate=100",
            "iorate=(1-100,d)",
            "iorate=curve",
            "iorate=(5-1,0)",
            "iorate=(1-5,0)",
            "forthreads=(0-8,d)",
            "forthreads=(1-999999999,1)",
        ),
        *(
            "curve=(10-120,10)",
            "threads=4",
            "threads=0",
            "forthreads=(1,2)",
            "elapsed=1m",
            "elapsed=x",
            "warmup=3",
        ),
        *(
            "forxfersize=(4k,8k)",
            "forseekpct=(0,100)",
            "pause=1",
            "maxdata=10",
            "maxdata=5g",
            "skew=30",
            "openflags=directio",
        ),
    ]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    of_workload=st.lists(PARTS | st.text(alphabet="ab=(),1k ", max_size=8), max_size=4),
    of_run=st.lists(PARTS | st.text(alphabet="ab=(),1k ", max_size=8), max_size=4),
)
def test_whatever_is_written_gives_a_method_that_can_be_run_or_a_refusal(
    tmp_path: Path, of_workload: list[str], of_run: list[str]
) -> None:
    file = tmp_path / "x.parm"
    file.write_text(
        ONE + ",".join(["wd=w", "sd=sd1", *of_workload]) + "\n" + ",".join(["rd=r", "wd=w", *of_run])
    )
    try:
        method, _ = import_method(file)
    except FathomError:
        return
    assert parse_method(method, "again").steps


def test_a_variable_has_the_value_that_is_set_in_included_files_too(tmp_path: Path) -> None:
    (tmp_path / "disks").write_text("sd=sd1,lun=$disk,openflags=o_direct\n")
    file = tmp_path / "case.parm"
    file.write_text("include=$which\nwd=wd1,sd=sd1,xfersize=$size\nrd=rd1,wd=wd1,iorate=max,elapsed=5\n")
    with pytest.raises(UsageError, match=r"case.parm:1: \$which has no value; give --set which=VALUE"):
        import_method(file)
    method, notes = import_method(
        file, None, Variables({"which": "disks", "disk": "/dev/sdz", "size": "64k"})
    )
    assert 'block   = "64KiB"' in method
    assert "# Run it on /dev/sdz\n" in method
    assert f"{tmp_path}/disks:1: $disk: /dev/sdz, from --set" in notes


def test_a_script_that_writes_parameter_files_is_refused_as_one(tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text(
        "#!/bin/sh\ncat > f <<E\nsd=sd1,lun=/dev/sdz\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1\nE\nvdbench -f f\n"
    )
    with pytest.raises(UsageError, match=r"run\.sh:1: a shell script that writes parameter files of Vdbench"):
        import_method(file)


ON_TWO = """sd=sd1,lun=/dev/sdy,openflags=o_direct,threads=16
sd=sd2,lun=/dev/sdz,openflags=o_direct,threads=4
wd=wd1,sd=sd1,xfersize=4k,rdpct=80,skew=40
wd=wd2,sd=sd2,xfersize=8k,rdpct=0,skew=40
wd=wd3,sd=sd1,xfersize=16k,seekpct=0,skew=20
"""


def test_workloads_on_different_storage_are_streams_on_targets_of_their_own(tmp_path: Path) -> None:
    steps, _ = imported(tmp_path, f"{ON_TWO}rd=rd1,wd=wd*,iorate=200,elapsed=10\n")
    streams = steps[-1]["job"]["streams"]
    assert [one["targets"] for one in streams] == [[1], [2], [1]]
    # Threads of a storage are shared by the workloads on it: two thirds of 16, all of 4, and the rest of 16.
    assert [one["load"]["threads"] * one["load"]["iodepth"] for one in streams] == [11, 4, 5]
    assert [one["load"]["rate"] for one in streams] == ["80/s", "80/s", "40/s"]


def test_a_workload_that_only_reads_its_storage_may_read_its_first_block(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path, f"{ON_TWO}rd=rd1,wd=(wd2,wd3),iorate=200,elapsed=10\n".replace("20\n", "60\n")
    )
    regions = [one.get("region") for one in steps[-1]["job"]["streams"]]
    assert regions[0]["start"] == "16KiB"
    assert regions[1] is None


def test_workloads_on_storage_of_which_a_part_is_the_same_are_refused(tmp_path: Path) -> None:
    text = ON_TWO.replace("wd=wd3,sd=sd1", "wd=wd3,sd=sd*")
    with pytest.raises(UsageError, match="workloads at once whose storage is the same in part"):
        imported(tmp_path, f"{text}rd=rd1,wd=wd*,iorate=200,elapsed=10\n")
