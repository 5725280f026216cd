"""Jobs of fio without a counterpart are refused or noted, with their line."""

from pathlib import Path

import pytest
from fio_jobs import imported
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathom.errors import FathomError, UsageError
from fathom.imports import import_method
from fathom.method.method import MOST_IN_NAME, parse_method


def test_what_has_no_counterpart_is_told_with_its_line(tmp_path: Path) -> None:
    text = "[x]\nrw=read\ntime_based\nruntime=9\ncpus_allowed=0-3\ngroup_reporting\ndirect=1\nstats=1\n"
    _, [place, reports] = imported(tmp_path, text)
    assert place.startswith("5: cpus_allowed=0-3: sets the processors")
    assert reports.endswith("which a run directory replaces: group_reporting (6), stats (8)")


def test_jobs_with_names_of_any_length_are_steps_whose_names_folders_can_have(tmp_path: Path) -> None:
    name = "q" * 1000
    job = "rw=read\nfilename=/dev/nvme0n1\nsize=1g\nstonewall\n"
    steps, _ = imported(tmp_path, f"[{name}]\n{job}[{name}b]\n{job}")
    names = [step["name"] for step in steps]
    assert len(set(names)) == len(names) == 3
    assert max(map(len, names)) <= MOST_IN_NAME


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[x]\nrw=randreed\n", ":2: rw: randreed has no counterpart"),
        ("[x]\nioengine=splice\n", ":2: ioengine: splice has no counterpart"),
        (
            "[x]\nhostname=a\nfilename=${X}\nioengine=net\n",
            ":4: ioengine: net sends data to another host; it has no counterpart",
        ),
        (
            "[x]\nrw=write\nioengine=io_uring_cmd\ncmd_type=bsg\n",
            ":4: cmd_type: bsg has no counterpart",
        ),
        (
            "[x]\nrw=write\nioengine=sg\nsg_write_mode=same\nfilename=/dev/sdz\n",
            ":4: sg_write_mode: same has no counterpart",
        ),
        (
            "[x]\nioengine=libblkio\nlibblkio_driver=io_uring\nlibblkio_path=f\n",
            ":4: libblkio_path: f: fio lays no file out",
        ),
        ("[x]\nioengine=libblkio\nrw=read\n", ":2: ioengine: libblkio needs a driver and a path"),
        (
            "[x]\nioengine=libblkio\nlibblkio_driver=io_uring\nlibblkio_path=/dev/sdz\nfilename=/dev/sdy\n",
            ":5: filename: libblkio works on libblkio_path alone",
        ),
        ("[x]\nrw=randread:8\nsize=1m\n", ":2: rw: randread:8: runs of one length"),
        ("[x]\nbsrange=4k\nsize=1m\n", ":2: bsrange: 4k is not a range"),
        ("[x]\nbsrange=512:1m\nsize=1m\n", ":2: bsrange: 512:1m: the largest size exceeds the smallest"),
        ("[x]\nrw=write\nsize=1m\nfrobnicate=1\n", ":4: frobnicate is not an option of fio"),
        ("[x]\nrw=write\nsize=1m\niodpeth=1\n", "did you mean iodepth?"),
        ("[x]\nrw=write\nsize=1m\nsync=2\n", ":4: sync: has no such value"),
        ("[x]\nrw=write\nsize=1m\nioengine=mmap\nsync=1\n", ":5: sync: has no effect on a mapping"),
        ("[x]\nrw=write\nsize=1m\nend_fsync=1\n", ":4: end_fsync: 1: the flush at the end counts"),
        ("[x]\nrw=write\nsize=1m\nfilename=a:b\n", ":4: filename: 2 files of one job share"),
        ("[x]\nrw=randtrim\nsize=1g\nzonemode=zbd\n", ":2: rw: trims that reset zones"),
        (
            "[x]\nrw=randwrite\nnumjobs=2\nsize=1g\nzonemode=zbd\nzone_reset_frequency=0.1\n",
            ":6: zone_reset_frequency: resets have a counterpart for one job",
        ),
        (
            "[x]\nrw=randwrite\nsize=1g\nzonemode=zbd\nmax_open_zones=1\njob_max_open_zones=1\n",
            ":6: job_max_open_zones: two limits have no counterpart",
        ),
        ("[x]\nrw=rw\nsize=1g\nzonemode=zbd\n", ":4: zonemode: zones in their order"),
        ("[x]\nrw=read\nsize=1g\nzonemode=zbd\nzoneskip=1m\n", ":5: zoneskip: fio refuses it beside"),
        ("[x]\nrw=read\nsize=1g\nzonesize=1m\n", ":4: zonesize: goes through zones without zonemode"),
        ("[x]\nrw=randread\nsize=1g\nzonemode=strided\nzonesize=1m\n", ":4: zonemode: strided zones have"),
        (
            "[x]\nrw=read\nsize=1g\nzonemode=strided\nzonesize=2m\nzonerange=1m\n",
            ":5: zonesize: strided zones",
        ),
        (
            "[x]\nrw=read\nsize=1g\nzonemode=strided\nzonesize=1m\ntime_based\nruntime=5\n",
            ":4: zonemode: strided zones have no counterpart with loops",
        ),
        (
            "[x]\nrw=randread\nsize=8k\nrandom_distribution=sequence:2,0,1\n",
            ":4: random_distribution: names a block beyond size",
        ),
        (
            "[x]\nrw=randrw\nsize=1m\nrandom_distribution=sequence:2,0,1\n",
            ":4: random_distribution: a list of blocks",
        ),
        (
            "[x]\nrw=read\nsize=1m\nnumjobs=2\nss_dur=9\n",
            ":5: steadystate_duration: each of numjobs is judged",
        ),
        ("[x]\nrw=read\nsize=1m\nss=iops:50\nss_dur=9\n", ":4: steadystate: 50 is no share of the mean"),
        (
            "[x]\nrw=read\nsize=1m\nss=iops:5%\nss_dur=9\n[y]\nrw=read\nsize=1m\n",
            ":5: steadystate_duration: each job is judged and ends by itself",
        ),
        ("[x]\nrw=write\nsize=1m\nfill_device=1\n", ":4: fill_device: writes beyond size"),
        ("[x]\nrw=randwrite\nfill_device=1\nfilename=f\n", ":3: fill_device: has a counterpart for one job"),
        (
            "[x]\nrw=read\nsize=1m\ndirect=1\nverify=md5\n",
            ":5: verify: checks data that no job of the file has written before",
        ),
        (
            "[x]\nrw=randrw\nsize=1m\nblockalign=4k,8k\nrandom_distribution=zipf\n",
            ":4: ba: alignments that differ by operation have a counterpart for",
        ),
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
            "[x]\nrw=randread\nsize=1m\nioengine=io_uring\niodepth=8\nthinktime=200\n",
            ":6: thinktime: fio waits for all",
        ),
        ("[x]\nrw=write\nsize=1m\nverify=md5\nloops=2\n", ":4: verify: fio reads back"),
        ("[global]\nsize=50%\n[x]\nrw=read\nsize=1m\n", ":5: size: fio keeps the 50% that stands before it"),
        ("[global]\noffset=25%\n[x]\nrw=read\noffset=0\n", ":5: offset: fio keeps the 25%"),
        ("[x]\nrw=write\nsize=1m\nverify=md5\nio_size=2m\n", ":5: io_size: beside verify, fio reads each"),
        ("[x]\nrw=read\nsize=1m\ninvalidate=0\n", ":4: invalidate: reads what earlier I/O left"),
        ("[x]\nrw=read\nsize=1m\nloops=2\n", ":4: loops: through the page cache"),
        (
            "[x]\nrw=read\nsize=1m\nruntime=9\ntime_based\nramp_time=2\n",
            ":6: ramp_time: through the page cache",
        ),
        (
            "[a]\nfilename=/a\nrw=write\n[b]\nfilename=/b\nrw=write\n[c]\nfilename=/a\nwait_for=a\nrw=write\n",
            ":9: [c] begins when [a] has ended",
        ),
        ("[a]\nrw=write\nsize=1m\nwait_for=b\n", ":4: wait_for: b is not one job before it"),
        (
            "[a]\nfilename=/a\nrw=write\n[b]\nfilename=/a\nwait_for=a\nrw=write\n[c]\nfilename=/b\nrw=write\n",
            ":8: [c] begins before [b]",
        ),
        (
            "[a]\nfilename=/a\nrw=write\n[b]\nfilename=/a\nrw=write\nstonewall\nstartdelay=4\n",
            ":8: startdelay: counts from the start of fio",
        ),
        (
            "[global]\nfilename=/a\nrw=read\nsize=1m\nrate_iops=9\n[a]\n[b]\nstartdelay=4\n",
            ":8: startdelay: drops pages of the cache",
        ),
        (
            "[a]\nfilename=/a\nrw=write\nsize=1m\n[b]\nfilename=/b\nrw=write\nsize=1m\nstartdelay=4\n",
            ":9: startdelay: begins later than others here only with a rate",
        ),
        (
            "[global]\nnrfiles=4\nfilesize=4k\nrw=write\n[a]\ndirectory=/a\n[b]\ndirectory=/b\n",
            ":7: [a] and others run at once on sets of files in several directories",
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
            "[x]\nrw=write\nsize=1m\niodepth=100000\nioengine=io_uring\n",
            ":4: iodepth: as a method: iodepth is 100000",
        ),
        (
            "[x]\nrw=randwrite\nsize=1m\nrandom_distribution=pareto:7\n",
            ":4: random_distribution: as a method: ",
        ),
        ("[x]\nbs=4x\nsize=1m\n", ":2: bs: 4x is not a size"),
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


def test_what_a_method_refuses_is_told_at_the_user_s_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        imported(tmp_path, "[x]\nrw=write\nfilename=/dev/sdz\nioengine=io_uring\niodepth=100000\n")
    assert str(error.value).startswith(f"{tmp_path}/job.fio:5: iodepth: as a method: iodepth is 100000")


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


def test_results_of_fio_are_sent_to_the_command_that_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "fio.json"
    path.write_text('{\n "fio version" : "fio-3.33",\n "jobs" : [\n  {}\n ]\n}\n')
    with pytest.raises(UsageError, match="results of fio, not a job file; `fathom import-results`"):
        import_method(path)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ("rw=rw\nsize=4m\nloops=4", "loops"),
        ("rw=rw\nsize=4m\nio_size=8m", "io_size"),
        ("rw=write\nsize=4m\nio_size=50%\nloops=3", "loops"),
        ("rw=randread\nsize=4m\nio_size=50%\nloops=3", "loops"),
        ("rw=read\nsize=1m\nio_size=3m\nzonemode=strided\nzonesize=256k\nzoneskip=256k", "io_size"),
    ],
)
def test_passes_that_begin_anew_in_fio_alone_are_refused(tmp_path: Path, options: str, key: str) -> None:
    text = f"[x]\nfilename=/dev/sdz\ndirect=1\nbs=64k\n{options}\n"
    for engine in ("libaio", "io_uring"):
        with pytest.raises(UsageError, match=f": {key}: with {engine} fio begins each pass anew"):
            imported(tmp_path, f"{text}ioengine={engine}\n")
    for kept in (text, f"{text}ioengine=libaio\nloops=1\nio_size=1m\n"):
        assert imported(tmp_path, kept)[0]


def test_jobs_of_one_name_and_one_like_their_number_are_streams_of_three_names(tmp_path: Path) -> None:
    text = "[global]\nfilename=/dev/sdz\ndirect=1\nbs=4k\nsize=1g\nrw=read\ntime_based\nruntime=5\n[a]\n[a-3]\n[a]\n"
    streams = imported(tmp_path, text)[0][-1]["job"]["streams"]
    assert [one["name"] for one in streams] == ["a", "a-3", "a-2"]


def test_loops_multiply_no_io_size_above_size(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\ndirect=1\nrw=write\nbs=64k\nsize=4m\nloops=3\nio_size="
    with pytest.raises(UsageError, match=":7: loops: beside an io_size above size"):
        imported(tmp_path, f"{text}12m\n")
    assert imported(tmp_path, f"{text}2m\n")[0][-1]["job"]["until"] == {"bytes": "6MiB"}
    assert imported(tmp_path, f"{text}12m\ntime_based\nruntime=9\n")[0][-1]["job"]["until"] == {"time": "9s"}
