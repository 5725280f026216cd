"""Methods from fio's jobs: the same I/O where there is a counterpart, a line where there is none."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathom import _core
from fathom.errors import FathomError, UsageError
from fathom.imports import import_method
from fathom.imports.variables import Variables
from fathom.method.method import parse_method


def imported(tmp_path: Path, text: str) -> tuple[list[dict[str, Any]], list[str]]:
    file = tmp_path / "job.fio"
    file.write_text(text)
    method, notes = import_method(file)
    return tomllib.loads(method)["steps"], [note.removeprefix(f"{file}:") for note in notes]


#: One device for all jobs, so that each of `numjobs` has no file of its own.
ON_A_DISK = ("filename=/dev/sdz", "direct=1")
TIMED = ("time_based", "runtime=60")


def job(tmp_path: Path, *options: str) -> dict[str, Any]:
    """The job of a timed random read by libaio, with these options instead or besides."""
    usual = (*ON_A_DISK, "ioengine=libaio", "rw=randread", "bs=4k", "iodepth=4", "size=1g", *TIMED)
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


def test_reads_into_a_gpu_stay_so_and_what_comes_another_way_is_noted(tmp_path: Path) -> None:
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
        "[global]\nbs=8k\nruntime=1m\ntime_based\n[a]\nrw=trim\n[b]\nstonewall\nrw=write\nbs=64k\n",
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
        ("rwmixread=30\nrwmixwrite=30", "mix", {"read": 70, "write": 30}),
        ("rwmixwrite=30\nrwmixread=30", "mix", {"read": 30, "write": 70}),
        ("norandommap", "pattern", "uniform"),
        ("random_distribution=zipf:1.2", "pattern", {"zipf": 1.2}),
        ("random_distribution=pareto:0.3", "pattern", {"pareto": 0.3}),
        ("percentage_random=80", "pattern", {"random": "80%"}),
        ("percentage_random=100,0", "pattern", {"random": {"read": "100%", "write": "0%"}}),
        ("offset=25%", "region", {"start": "25%", "size": "1GiB"}),
        ("iodepth=1\nthinktime=200", "load", {"threads": 1, "iodepth": 1, "think": "200us"}),
        (
            "bsrange=4k-16k",
            "block",
            [{"size": size, "share": 1} for size in ("4KiB", "8KiB", "12KiB", "16KiB")],
        ),
        ("kb_base=1000\nbs=4k", "block", "4000"),
        ("kb_base=1000\nbs=4KiB", "block", "4KiB"),
        ("buffered=0", "direct", True),
        ("buffered=1", "direct", False),
        ("buffered=1\ndirect=1", "direct", True),
        ("direct=0 # not yet", "direct", False),
        ("norandommap=0 ; with its map", "pattern", "random-once"),
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
    made = job(tmp_path, "rw=write", "numjobs=4", "offset=20%", "size=10%", "offset_increment=15%")
    regions = [stream["region"] for stream in made["streams"]]
    assert regions == [{"start": f"{start}%", "size": "10%"} for start in (20, 35, 50, 65)]
    assert len(made["streams"]) == 4
    whole = "\n".join(["[x]", *ON_A_DISK, "rw=write", "numjobs=4", "size=64m", "offset_increment=64m"])
    steps, notes = imported(tmp_path, whole)
    assert (steps[0]["job"]["region"], steps[0]["job"]["until"]) == ("256MiB", {"bytes": "256MiB"})
    assert "position" not in steps[0]["job"]
    assert notes == []
    steps, _ = imported(tmp_path, whole.replace("64m", "25%"))
    assert "region" not in steps[0]["job"]
    assert steps[0]["job"]["until"] == {"written": "1x"}


def test_bands_of_accesses_and_area_change_places(tmp_path: Path) -> None:
    assert job(tmp_path, "random_distribution=zoned:90/10:10/90")["pattern"] == {
        "hot-spots": [{"area": 10, "access": 90}, {"area": 90, "access": 10}]
    }


def test_shares_that_bssplit_leaves_open_divide_what_is_left(tmp_path: Path) -> None:
    block = job(tmp_path, "bssplit=4k/60:16k:64k", "norandommap")["block"]
    assert [(one["size"], one["share"]) for one in block] == [("4KiB", 60), ("16KiB", 20), ("64KiB", 20)]


def test_without_time_each_of_numjobs_does_its_size_and_loops(tmp_path: Path) -> None:
    def until(*options: str) -> object:
        steps, _ = imported(tmp_path, "\n".join(["[x]", *ON_A_DISK, *options]))
        return steps[-1]["job"]["until"]

    assert until("rw=read", "size=64m", "numjobs=2", "loops=3") == {"bytes": "384MiB"}
    assert until("rw=write", "loops=2") == {"written": "2x"}
    assert until("rw=randread", "number_ios=500", "numjobs=2") == {"count": 1000, "volume": "2x"}
    assert until("rw=randread", "number_ios=500", "size=1m") == {"count": 500, "bytes": "1MiB"}


def test_a_rate_of_each_operation_and_job_adds_up_and_makes_the_mix(tmp_path: Path) -> None:
    made = job(tmp_path, "rw=randrw", "rate_iops=300,100", "numjobs=2", "rate_process=poisson")
    assert made["load"] == {"threads": 2, "iodepth": 4, "rate": "800/s", "arrival": "exponential"}
    assert made["mix"] == {"read": 300, "write": 100}
    assert job(tmp_path, "rate=40m")["load"]["rate"] == "10240/s"


def test_an_engine_that_waits_has_one_in_flight_and_says_so(tmp_path: Path) -> None:
    steps, notes = imported(tmp_path, "[x]\nrw=randread\niodepth=32\ntime_based\nruntime=1\ndirect=1\n")
    assert steps[-1]["job"]["load"] == {"threads": 1, "iodepth": 1}
    assert notes == ["3: iodepth: psync waits for each I/O: the depth is 1, whatever iodepth says"]


def test_jobs_at_once_become_streams(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path,
        "[global]\nfilename=/dev/sdz\ntime_based\nruntime=9\n[a]\nrw=randread\n[b]\nrw=write\nbs=64k\n",
    )
    _, step = steps
    assert [stream["name"] for stream in step["job"]["streams"]] == ["a", "b"]
    assert step["job"]["until"] == {"time": "9s"}


def test_jobs_that_differ_in_their_files_alone_are_one_job_on_several_targets(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    file.write_text(
        "[global]\ntime_based\nruntime=9\n[a]\nfilename=/dev/nvme0n1\n[b]\nfilename=/dev/nvme1n1\n",
    )
    method, _ = import_method(file)
    assert "# Run it on array:/dev/nvme0n1,/dev/nvme1n1" in method
    assert "streams" not in method


def test_a_ramp_is_a_step_of_its_own_before(tmp_path: Path) -> None:
    steps, _ = imported(tmp_path, "[x]\nrw=read\ntime_based\nruntime=9\nramp_time=5\n")
    assert [(step["name"], step["job"]["until"]) for step in steps] == [
        ("lay-out-x", {"written": "1x"}),
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
        "#!/bin/sh\nfio --name=a --filename=/dev/sdz --rw=randread --bs 16k \\\n  --runtime=5 --time_based --output x\n"
        "sudo /usr/bin/fio --filename=/dev/sdz --runtime=7 --time_based --name=b --rw=write\n",
    )
    assert steps.pop(0)["kind"] == "fill"
    assert [(step["name"], step["job"]["mix"], step["job"]["until"]["time"]) for step in steps] == [
        ("a", "read", "5s"),
        ("b", "write", "7s"),
    ]


def test_what_has_no_counterpart_is_told_with_its_line(tmp_path: Path) -> None:
    text = "[x]\nrw=read\ntime_based\nruntime=9\ncpus_allowed=0-3\ngroup_reporting\ndirect=1\nstats=1\n"
    _, [place, reports] = imported(tmp_path, text)
    assert place.startswith("5: cpus_allowed=0-3: says on which processors")
    assert reports.endswith("which a run directory replaces: group_reporting (6), stats (8)")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[x]\nrw=randreed\n", ":2: rw: randreed has no counterpart"),
        ("[x]\nioengine=splice\n", ":2: ioengine: splice has no counterpart"),
        ("[x]\nrw=randread:8\nsize=1m\n", ":2: rw: randread:8: runs of one length"),
        ("[x]\nbsrange=50k-4k\nsize=1m\n", ":2: bsrange: 50k-4k: the largest size is below the smallest"),
        ("[x]\nrw=write\nsize=1m\nfrobnicate=1\n", ":4: frobnicate is not an option of fio"),
        ("[x]\nrw=write\nsize=1m\niodpeth=1\n", "did you mean iodepth?"),
        ("[x]\nrw=write\nsize=1m\nsync=1\n", ":4: sync: 1: every write waits"),
        ("[x]\nrw=write\nsize=1m\nend_fsync=1\n", ":4: end_fsync: 1: the flush at the end counts"),
        ("[x]\nrw=write\nsize=1m\nfilename=a:b\n", ":4: filename: 2 files of one job share"),
        ("[x]\nrw=write\nsize=1g\nzonemode=zbd\nmax_open_zones=1\n", ":4: zonemode: zones in their order"),
        (
            "[x]\nrw=randwrite\nnumjobs=3\nsize=1g\nzonemode=zbd\nmax_open_zones=4\n",
            ":6: max_open_zones: 4 zones",
        ),
        ("[x]\nrw=randrw\nsize=1m\nfsync=8\n", ":4: fsync: flushes beside reads"),
        (
            "[x]\nrw=write\nsize=1m\nfsync=8\nioengine=libaio\niodepth=2\n",
            ":4: fsync: libaio submits nothing",
        ),
        (
            "[x]\nrw=randread\nsize=1m\nioengine=libaio\niodepth=8\nthinktime=200\n",
            ":6: thinktime: fio waits for all",
        ),
        ("[x]\nrw=write\nsize=1m\nverify=md5\nloops=2\n", ":4: verify: fio reads back"),
        (
            "[x]\nrw=read\nsize=1m\n[y]\nstonewall\nfilename=x.0.0\nrw=read\n[z]\nstonewall\nfilename=x.0.0\nrw=read\n"
            "size=1m\n",
            ":4: [y] reads through the page cache",
        ),
        (
            "[x]\nrw=read\nsize=1m\nloops=2\nfilename=f\n[z]\nstonewall\nfilename=f\nrw=read\nsize=1m\n",
            ":6: [z] reads through",
        ),
        ("for i in 1 2; do fio --name=x --size=1m --rw=write; done\n", ":1: for i in 1 2; do fio"),
        ("timeout 60 fio --name=x --size=1m --rw=write\n", ":1: timeout 60 fio"),
        ("x=$(fio --name=x --size=1m --rw=write)\n", ":1: x=$(fio --name=x"),
        ("fio --name=x --size=1m --rw=write\nfio job.fio\n", ":2: job.fio: a job file among the options"),
        ("[x]\nrw=write\nsize=1m\niodepth=1e999\n", ":4: iodepth: 1e999 is not a size"),
        ("[x]\nrw=write\nsize=1m\nnumjobs=nan\n", ":4: numjobs: nan is not a size"),
        ("[x]\nrw=randrw\nsize=1m\nrwmixread=nan\n", ":4: rwmixread: nan is not a number"),
        ("[x]\nrw=write\nsize=1m\nnumjobs=" + "9" * 5000 + "\n", " is not a size"),
        ("[x]\nrw=write\nsize=1m\nbssplit=4k/inf\n", ":4: bssplit: inf is not a number"),
        ("[x]\nrw=write\nsize=1m\nbssplit=4k/0:8k/0\n", ":4: bssplit: 4k/0:8k/0: the shares come to 0"),
        ("[x]\nrw=write\nsize=1m\nruntime=" + "9" * 400 + "\n", " is not a duration"),
        (
            "[x]\nrw=write\nsize=1m\niodepth=100000\nioengine=libaio\n",
            ":4: iodepth: as a method: iodepth is 100000",
        ),
        (
            "[x]\nrw=randwrite\nsize=1m\nrandom_distribution=pareto:7\n",
            ":4: random_distribution: as a method: ",
        ),
        ("[x]\nbs=4x\nsize=1m\n", ":2: bs: 4x is not a size"),
        ("[x]\ntime_based\n", ":2: time_based: without a runtime"),
        ("rw=read\n[x]\n", ":1: an option before any [job]"),
        (
            "[x]\nfilename=${NOT_SET_ANYWHERE}\n",
            ":2: ${NOT_SET_ANYWHERE} has no value; give --set NOT_SET_ANYWHERE=VALUE",
        ),
        (
            "[a]\nioengine=null\nrw=read\nsize=1m\n[b]\nfilename=/b\nrw=write\n",
            ":5: [a] and [b] run at once, but one names no file",
        ),
        (
            "[a]\nfilename=/a\nrw=write\n[b]\nstonewall\nfilename=/a\nrw=write\n[c]\nfilename=/b\nrw=write\n",
            ":4: [b] runs on /a and others, and another step on some of them only",
        ),
        ("fio --name=x --filename=$DEV\n", ":1: $DEV has no value; give --set DEV=VALUE"),
        ("fio --rw=read\n", ":1: a fio command without --name"),
    ],
)
def test_what_would_be_another_test_is_refused_with_its_line(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(UsageError) as error:
        imported(tmp_path, text)
    assert what in str(error.value)


def test_sections_with_files_of_their_own_keep_to_them(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    file.write_text(
        "[global]\nsize=1m\n[a]\nfilename=/dev/sdy\nrw=randread\n[b]\nstonewall\nfilename=/dev/sdz\nrw=randwrite\n"
        "[c]\nstonewall\nfilename=/dev/sdy\nrw=read\ndirect=1\n"
    )
    text, notes = import_method(file)
    steps = tomllib.loads(text)["steps"]
    assert [(step["name"], step["target"], step["job"]["mix"]) for step in steps] == [
        ("lay-out-sdy", "sdy", "write"),
        ("a", "sdy", "read"),
        ("b", "sdz", "write"),
        ("c", "sdy", "read"),
    ]
    assert steps[0]["only_files"] is True
    assert "# Run it on sdy=/dev/sdy sdz=/dev/sdz" in text
    assert any("all steps on one target run before those on the next" in note for note in notes)


def test_what_an_earlier_job_wrote_whole_is_not_laid_out_again(tmp_path: Path) -> None:
    text = "[w]\nfilename=f\nrw=write\nsize=1m\n[r]\nstonewall\nfilename=f\nrw=read\nsize={size}\ndirect=1\n"
    steps, _ = imported(tmp_path, text.format(size="1m"))
    assert [step["name"] for step in steps] == ["w", "r"]
    steps, _ = imported(tmp_path, text.format(size="2m"))
    assert [step["name"] for step in steps] == ["w", "lay-out-r", "r"]


def test_a_name_is_of_its_section_and_one_of_global_is_noted(tmp_path: Path) -> None:
    text = "[global]\nname=all\ndirect=1\nsize=1m\nfilename=f\nrw=write\n[a]\n[b]\nname=c\nstonewall\n"
    steps, notes = imported(tmp_path, text)
    assert [step["name"] for step in steps] == ["a", "c"]
    assert notes == ["2: name=all: jobs have names of their own"]


def test_jobs_on_one_file_all_begin_at_its_start_and_a_mix_has_two_positions(tmp_path: Path) -> None:
    assert job(tmp_path, "rw=read", "numjobs=4")["position"] == "start"
    assert job(tmp_path, "rw=rw")["position"] == {"operations": "apart"}
    both = job(tmp_path, "rw=rw", "numjobs=4")["position"]
    assert both == {"threads": "start", "operations": "apart"}


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


def test_a_region_by_its_start_alone_is_refused_at_the_user_s_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        imported(tmp_path, "[x]\nrw=write\nfilename=/dev/sdz\noffset=1m\n")
    assert str(error.value).startswith(
        f"{tmp_path}/job.fio:4: offset: as a method: a region that starts at a byte"
    )


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


def written(tmp_path: Path, text: str) -> str:
    """The method as it is written."""
    file = tmp_path / "job.fio"
    file.write_text(text)
    return import_method(file)[0]


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
        ":3: for depth in 1 32; do: is left aside; what stands in it is done once",
        ":4: $BS: 8k, from the file",
        ":4: ${depth}: 32, from --set",
    ]


def test_a_value_that_a_script_sets_twice_or_in_a_loop_is_not_known(tmp_path: Path) -> None:
    for setting in ("BS=8k\nBS=4k\n", "if true; then\nBS=8k\nfi\n", "BS=$(nproc)\n"):
        with pytest.raises(UsageError, match=r"\$BS has no value"):
            imported(tmp_path, f"{setting}fio --name=x --bs=$BS\n")


def test_a_size_in_zones_needs_the_size_of_one(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\nrw=randwrite\nzonemode=zbd\nsize=3z\nmax_open_zones=2\ndirect=1\n"
    assert '"3MiB"' in written(tmp_path, f"{text}zonesize=1m\n")
    with pytest.raises(UsageError, match=":5: size: counts zones, whose size only the device knows"):
        written(tmp_path, text)


def test_areas_without_a_share_have_equal_parts_of_what_is_left(tmp_path: Path) -> None:
    text = (
        "[x]\nfilename=/dev/sdz\nrw=randread\nsize=1g\nrandom_distribution=zoned:50/5:30/15:20/\ndirect=1\n"
    )
    assert "{ area = 80, access = 20 }" in written(tmp_path, text)


def test_a_mapping_is_read_through_the_page_cache_and_a_line_says_what_differs(tmp_path: Path) -> None:
    text = "[x]\nioengine=mmap\niodepth=8\nrw=randread\nsize=8m\n"
    steps, notes = imported(tmp_path, text)
    assert (steps[-1]["job"]["direct"], steps[-1]["job"]["load"]["iodepth"]) == (False, 1)
    assert any("instead of page faults" in note for note in notes)
    with pytest.raises(UsageError, match="syncs the mapping after each I/O"):
        imported(tmp_path, f"{text}direct=1\n")


@pytest.mark.parametrize(
    ("end", "refused"), [("time_based\nruntime=5\n", False), ("", True), ("runtime=5\n", True)]
)
def test_jobs_that_end_each_other_are_taken_where_they_end_together_anyway(
    tmp_path: Path, end: str, *, refused: bool
) -> None:
    text = f"[global]\nfilename=/dev/sdz\nsize=1g\ndirect=1\nrw=read\nnumjobs=2\nexitall\n{end}[a]\n"
    if not refused:
        assert written(tmp_path, text)
        return
    with pytest.raises(UsageError, match=":7: exitall: ends jobs when another one ends"):
        imported(tmp_path, text)


def test_file_names_follow_the_format_and_a_directory_goes_before(tmp_path: Path) -> None:
    text = "[j]\ndirectory=/m\nrw=write\nsize=1m\nnumjobs=2\nfilename_format=f-$jobname-$jobnum.$filenum\n"
    assert "array:file:/m/f-j-0.0,file:/m/f-j-1.0" in written(tmp_path, text)
    shared = text.replace("-$jobnum", "")
    assert "# Run it on file:/m/f-j.0\n" in written(tmp_path, shared)


TWO_FILES = """[global]
direct=1
ioengine=libaio
size=8m
[a]
filename=/dev/sdy
rw=randread
iodepth=4
[b]
filename=/dev/sdz
rw=write
iodepth=32
[c]
filename=/dev/sdy
rw=read
"""


def test_jobs_at_once_on_different_files_are_streams_on_targets_of_their_own(tmp_path: Path) -> None:
    method = parse_method(written(tmp_path, TWO_FILES), "made.toml")
    assert "# Run it on array:/dev/sdy,/dev/sdz\n" in written(tmp_path, TWO_FILES)
    job = method.steps[-1].job
    assert job.stream_targets == {"a": [1], "b": [2], "c": [1]}
    first, second = job.of_parts(2)
    assert list(first.streams) == ["a", "c"]
    assert [one.iodepth for one in second.streams.values()] == [32]
    assert (first.destructive, second.destructive) == (False, True)


def test_jobs_at_once_end_each_by_their_own_volume(tmp_path: Path) -> None:
    text = TWO_FILES.replace("rw=read\n", "rw=read\nio_size=2m\n")
    [*_, step] = imported(tmp_path, text)[0]
    assert [one["until"] for one in step["job"]["streams"]] == [
        {"bytes": "8MiB"},
        {"bytes": "8MiB"},
        {"bytes": "2MiB"},
    ]
    assert "until" not in step["job"]
    [*_, step] = imported(tmp_path, text.replace("direct=1", "direct=1\nruntime=60\ntime_based"))[0]
    assert step["job"]["until"] == {"time": "60s"}
    assert not any("until" in one for one in step["job"]["streams"])


def test_a_job_without_a_size_moves_as_much_as_its_target_holds(tmp_path: Path) -> None:
    [*_, step] = imported(tmp_path, "[x]\nfilename=/dev/sdz\ndirect=1\nrw=randrw\nnumjobs=3\nruntime=60\n")[0]
    assert step["job"]["until"] == {"time": "60s", "volume": "3x"}


def test_what_was_written_to_a_whole_device_is_read_back_once(tmp_path: Path) -> None:
    steps = imported(tmp_path, "[x]\nfilename=/dev/sdz\ndirect=1\nrw=randwrite\nverify=crc32c\n")[0]
    assert [step["job"]["until"] for step in steps[-2:]] == [{"written": "1x"}, {"volume": "1x"}]
    assert steps[-1]["job"]["mix"] == "read"


def test_a_ramp_of_jobs_at_once_ends_by_its_time_alone(tmp_path: Path) -> None:
    steps = imported(tmp_path, TWO_FILES.replace("size=8m", "size=8m\nramp_time=5"))[0]
    [ramp] = [step for step in steps if step["name"].endswith("-ramp")]
    assert ramp["job"]["until"] == {"time": "5s"}
    assert not any("until" in one for one in ramp["job"]["streams"])


def test_a_file_is_the_same_by_every_text_of_its_path(tmp_path: Path) -> None:
    text = "[a]\nrw=write\nsize=1m\ndirect=1\n[b]\nstonewall\nfilename=./a.0.0\nrw=read\nsize=1m\ndirect=1\n"
    method = parse_method(written(tmp_path, text), "made.toml")
    assert [step.name for step in method.steps] == ["a", "b"]
    assert not any(step.targets for step in method.steps)


def test_gaps_of_a_job_that_ends_by_its_size_go_on_behind_it_on_a_device(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\ndirect=1\nrw=write:12k\nbs=4k\nsize=64k\n"
    job = parse_method(written(tmp_path, text), "made.toml").steps[-1].job
    asked = [offset for _, _, offset, _ in _core.requests(job, 1 << 20, 512, 1, 100)]
    assert asked == [number * 16384 for number in range(16)]
    with pytest.raises(UsageError, match=":4: rw: without time_based, gaps lead fio beyond"):
        written(tmp_path, text.replace("/dev/sdz", "f"))


def test_what_was_written_with_gaps_is_not_read_back_whole(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=":5: verify: fio reads back what it wrote"):
        written(tmp_path, "[x]\nrw=write:12k\nbs=4k\nsize=64k\nverify=md5\n")
