"""Methods from fio's jobs: the same I/O where there is a counterpart, a line where there is none."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathom.errors import FathomError, UsageError
from fathom.imports import import_method
from fathom.method import parse_method


def imported(tmp_path: Path, text: str) -> tuple[list[dict[str, Any]], list[str]]:
    file = tmp_path / "job.fio"
    file.write_text(text)
    method, notes = import_method(file)
    return tomllib.loads(method)["steps"], [note.removeprefix(f"{file}:") for note in notes]


def job(tmp_path: Path, *options: str) -> dict[str, Any]:
    """The job of a timed random read by libaio, with these options instead or besides."""
    usual = ("ioengine=libaio", "rw=randread", "bs=4k", "iodepth=4", "size=1g", "time_based", "runtime=60")
    steps, _ = imported(tmp_path, "\n".join(["[x]", *usual, *options]))
    return steps[-1]["job"]


def test_a_job_keeps_its_operation_block_depth_and_time(tmp_path: Path) -> None:
    assert job(tmp_path, "numjobs=3", "direct=1") == {
        "mix": "read",
        "block": "4KiB",
        "pattern": "random-once",
        "region": "1GiB",
        "load": {"threads": 3, "iodepth": 4},
        "direct": True,
        "until": {"time": "60s"},
    }


def test_reads_into_a_gpu_stay_so_and_what_comes_another_way_is_told(tmp_path: Path) -> None:
    gpu = "[x]\nioengine=libcufile\nrw=randrw\nbs=1m\nsize=1g\ntime_based\nruntime=60\ngpu_dev_ids=1\n"
    steps, notes = imported(tmp_path, gpu)
    assert steps[-1]["job"]["gpu"] is True
    told = " ".join(notes)
    assert "GPUDirect Storage is not used" in told
    assert "CUDA_VISIBLE_DEVICES" in told
    assert "writes are made from host memory" in told
    _, notes = imported(tmp_path, gpu.replace("randrw", "randread") + "cuda_io=posix\n")
    assert "GPUDirect" not in " ".join(notes)


def test_options_of_global_hold_for_later_jobs_which_may_say_otherwise(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path,
        "[global]\nbs=8k\nruntime=1m\ntime_based\n[a]\nrw=read\n[b]\nstonewall\nrw=write\nbs=64k\n",
    )
    assert [(step["name"], step["job"]["block"], step["job"]["until"]) for step in steps] == [
        ("a", "8KiB", {"time": "60s"}),
        ("b", "64KiB", {"time": "60s"}),
    ]


@pytest.mark.parametrize(
    ("option", "key", "value"),
    [
        ("bs=4k,64k", "block", {"read": "4KiB", "write": "64KiB"}),
        ("bs=4KiB", "block", "4000"),
        ("rwmixwrite=30", "mix", {"read": 70, "write": 30}),
        ("rwmixread=100", "mix", "read"),
        ("fsync=10", "mix", {"read": 50, "write": 50, "flush": 5}),
        ("norandommap", "pattern", "uniform"),
        ("random_distribution=zipf:1.2", "pattern", {"zipf": 1.2}),
        ("random_distribution=pareto:0.3", "pattern", {"pareto": 0.3}),
        ("percentage_random=80", "pattern", {"random": "80%"}),
        ("percentage_random=100,0", "pattern", {"random": {"read": "100%", "write": "0%"}}),
        ("offset=25%", "region", {"start": "25%", "size": "1GiB"}),
        ("thinktime=200", "load", {"threads": 1, "iodepth": 4, "think": "200us"}),
        ("iodepth_batch_complete_min=2", "load", {"threads": 1, "iodepth": 4, "reap": 2}),
        ("buffer_compress_percentage=40", "content", {"compressible": "40%"}),
        ("dedupe_percentage=25", "content", {"dedup": "25%"}),
        ("blockalign=16k", "align", "16KiB"),
        ("plids=0,3", "placement", [0, 3]),
        ("mem=mmaphuge", "huge_pages", True),
        ("sqthread_poll=1", "sqpoll", True),
    ],
)
def test_an_option_becomes_the_key_that_means_the_same(
    tmp_path: Path, option: str, key: str, value: object
) -> None:
    assert job(tmp_path, "rw=randrw", option)[key] == value


def test_an_operation_without_a_share_has_no_block_size_either(tmp_path: Path) -> None:
    made = job(tmp_path, "rw=randrw", "rwmixread=100", "bs=4k,8k")
    assert (made["mix"], made["block"]) == ("read", "4KiB")


def test_jobs_with_a_part_each_are_threads_on_all_of_it(tmp_path: Path) -> None:
    made = job(tmp_path, "rw=write", "numjobs=4", "offset=20%", "size=10%", "offset_increment=10%")
    assert made["region"] == {"start": "20%", "size": "40%"}
    steps, notes = imported(tmp_path, "[x]\nrw=write\nnumjobs=4\nsize=64m\noffset_increment=64m\nloops=2\n")
    assert (steps[0]["job"]["region"], steps[0]["job"]["until"]) == ("256MiB", {"bytes": "512MiB"})
    assert notes == []
    steps, _ = imported(tmp_path, "[x]\nrw=write\nnumjobs=4\nsize=25%\noffset_increment=25%\nloops=2\n")
    assert "region" not in steps[0]["job"]
    assert steps[0]["job"]["until"] == {"written": "2x"}


def test_bands_of_accesses_and_area_change_places(tmp_path: Path) -> None:
    assert job(tmp_path, "random_distribution=zoned:90/10:10/90")["pattern"] == {
        "hot-spots": [{"area": 10, "access": 90}, {"area": 90, "access": 10}]
    }


def test_shares_that_bssplit_leaves_open_divide_what_is_left(tmp_path: Path) -> None:
    block = job(tmp_path, "bssplit=4k/60:16k:64k", "norandommap")["block"]
    assert [(one["size"], one["share"]) for one in block] == [("4KiB", 60), ("16KiB", 20), ("64KiB", 20)]


def test_without_time_each_of_numjobs_does_its_size_and_loops(tmp_path: Path) -> None:
    steps, _ = imported(tmp_path, "[x]\nrw=read\nsize=64m\nnumjobs=2\nloops=3\n")
    assert steps[0]["job"]["until"] == {"bytes": "384MiB"}
    steps, _ = imported(tmp_path, "[x]\nrw=write\nloops=2\n")
    assert steps[0]["job"]["until"] == {"written": "2x"}
    steps, _ = imported(tmp_path, "[x]\nrw=randread\nnumber_ios=500\nnumjobs=2\n")
    assert steps[0]["job"]["until"] == {"count": 1000}


def test_a_rate_of_each_operation_and_job_adds_up_and_makes_the_mix(tmp_path: Path) -> None:
    made = job(tmp_path, "rw=randrw", "rate_iops=300,100", "numjobs=2", "rate_process=poisson")
    assert made["load"] == {"threads": 2, "iodepth": 4, "rate": "800/s", "arrival": "exponential"}
    assert made["mix"] == {"read": 600, "write": 200}
    assert job(tmp_path, "rate=40m")["load"]["rate"] == "10240/s"


def test_an_engine_that_waits_has_one_in_flight_and_says_so(tmp_path: Path) -> None:
    steps, notes = imported(tmp_path, "[x]\nrw=randread\niodepth=32\ntime_based\nruntime=1\n")
    assert steps[0]["job"]["load"] == {"threads": 1, "iodepth": 1}
    assert notes == ["3: iodepth: psync waits for each I/O: the depth is 1, whatever is written"]


def test_jobs_at_once_become_streams(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path, "[global]\ntime_based\nruntime=9\n[a]\nrw=randread\n[b]\nrw=write\nbs=64k\n"
    )
    [step] = steps
    assert [stream["name"] for stream in step["job"]["streams"]] == ["a", "b"]
    assert step["job"]["until"] == {"time": "9s"}


def test_jobs_that_differ_in_their_files_alone_are_one_job_on_several_targets(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    file.write_text(
        "[global]\ntime_based\nruntime=9\n[a]\nfilename=/dev/nvme0n1\n[b]\nfilename=/dev/nvme1n1\n",
    )
    method, _ = import_method(file)
    assert "# To be run on /dev/nvme0n1 /dev/nvme1n1" in method
    assert "streams" not in method


def test_a_ramp_is_a_step_of_its_own_before(tmp_path: Path) -> None:
    steps, _ = imported(tmp_path, "[x]\nrw=read\ntime_based\nruntime=9\nramp_time=5\n")
    assert [(step["name"], step["job"]["until"]) for step in steps] == [
        ("x-ramp", {"time": "5s"}),
        ("x", {"time": "9s"}),
    ]


def test_what_a_verified_write_has_written_whole_is_read_back(tmp_path: Path) -> None:
    steps, _ = imported(tmp_path, "[x]\nrw=randwrite\nbs=8k\nsize=64m\nverify=crc32c\n")
    write, read = (step["job"] for step in steps)
    assert write["content"] == read["content"] == {"verify": 1}
    assert read["mix"] == "read"
    assert read["until"] == {"count": 8192}


def test_commands_of_a_script_are_taken_one_after_the_other(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path,
        "#!/bin/sh\nfio --name=a --rw=randread --bs 16k \\\n  --runtime=5 --time_based --output x.json\n"
        "sudo /usr/bin/fio --runtime=7 --time_based --name=b --rw=write\n",
    )
    assert [(step["name"], step["job"]["mix"], step["job"]["until"]["time"]) for step in steps] == [
        ("a", "read", "5s"),
        ("b", "write", "7s"),
    ]


def test_what_has_no_counterpart_is_told_with_its_line(tmp_path: Path) -> None:
    _, notes = imported(tmp_path, "[x]\nrw=read\ntime_based\nruntime=9\ncpus_allowed=0-3\ngroup_reporting\n")
    assert notes == ["5: cpus_allowed=0-3 has no counterpart and is left out"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[x]\nrw=randreed\n", ":2: rw: randreed has no counterpart"),
        ("[x]\nioengine=mmap\n", ":2: ioengine: mmap has no counterpart"),
        ("[x]\nrw=randread:8\nsize=1m\n", ":2: rw: randread:8: runs of one length"),
        ("[x]\nbsrange=4k-64k\nsize=1m\n", ":2: bsrange: sizes at random"),
        ("[x]\nbs=4x\nsize=1m\n", ":2: bs: 4x is no size"),
        ("[x]\nrw=read\n", ":1: [x] ends when it has read its files once"),
        ("[x]\ntime_based\n", ":2: time_based: without a runtime"),
        ("rw=read\n[x]\n", ":1: an option before any [job]"),
        ("[x]\nfilename=${NOT_SET_ANYWHERE}\n", ":2: ${NOT_SET_ANYWHERE} is not set"),
        ("[a]\nfilename=/a\nrw=read\n[b]\nfilename=/b\nrw=write\n", ":4: [a] and [b] run at once"),
        ("fio --name=x --filename=$DEV\n", ":1: --filename=$DEV: shell syntax"),
        ("fio --rw=read\n", ":1: a fio command without --name"),
    ],
)
def test_what_would_be_another_test_is_refused_with_its_line(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(UsageError) as error:
        imported(tmp_path, text)
    assert what in str(error.value)


LINES = st.sampled_from(
    [
        *(
            "rw=randrw",
            "rw=write",
            "rw=read:4k",
            "rw=read:-8k",
            "rw=randtrim",
            "bs=4k",
            "bs=,8k",
            "bs=x",
            "bssplit=4k/:8k/50",
        ),
        *(
            "bssplit=4k/200",
            "size=1g",
            "size=50%",
            "size=",
            "io_size=2g",
            "io_size=10%",
            "offset=1m",
            "numjobs=0",
            "numjobs=4",
        ),
        *(
            "iodepth=0",
            "iodepth=64",
            "runtime=10",
            "runtime=-1",
            "time_based",
            "time_based=0",
            "rate=1m",
            "rate=,5m",
            "loops=2",
        ),
        *(
            "rate_iops=100",
            "rate_iops=x",
            "thinktime=1ms",
            "verify=md5",
            "do_verify=0",
            "fsync=3",
            "ramp_time=2",
            "stonewall",
        ),
        *(
            "percentage_random=50",
            "random_distribution=zipf",
            "random_distribution=zoned:1",
            "plids=a",
            "nrfiles=3",
        ),
        *(
            "ioengine=libaio",
            "ioengine=null",
            "ioengine=libcufile",
            "zonemode=zbd",
            "max_open_zones=4",
            "number_ios=7",
            "[global]",
            "[other]",
            "=",
            "x y",
        ),
    ]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES | st.text(max_size=12), max_size=14))
def test_whatever_is_written_gives_a_method_that_can_be_run_or_a_refusal(
    tmp_path: Path, lines: list[str]
) -> None:
    file = tmp_path / "job.fio"
    file.write_text("[x]\n" + "\n".join(lines), encoding="utf-8")
    try:
        method, _ = import_method(file)
    except FathomError:
        return
    assert parse_method(method, "again").steps
