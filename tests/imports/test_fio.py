"""Methods from fio's jobs: the same I/O where there is a counterpart, a line where there is none."""

import re
from pathlib import Path

import pytest
from fio_jobs import ON_A_DISK, imported, job, written

from fathom.errors import UsageError


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


def test_a_job_that_says_one_operation_otherwise_keeps_the_others_of_global(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path,
        "[global]\nbs=16k\nrate_iops=100\nfilename=/dev/sdz\n[a]\nrw=rw\nsize=1m\nbs=,8k\nrate_iops=,50\n",
    )
    assert steps[-1]["job"]["block"] == {"read": "16KiB", "write": "8KiB"}
    assert steps[-1]["job"]["mix"] == {"read": 100, "write": 50}


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
        ("bs=0x2000", "block", "8KiB"),
        ("size=0X200000", "region", "2MiB"),
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


def test_a_switch_is_on_by_any_number_but_zero(tmp_path: Path) -> None:
    assert job(tmp_path, "norandommap=5")["pattern"] == job(tmp_path, "norandommap")["pattern"]
    assert job(tmp_path, "time_based=10")["until"] == {"time": "60s"}
    assert job(tmp_path, "time_based=00")["until"] != job(tmp_path, "time_based=1")["until"]
    with pytest.raises(UsageError, match="direct: 2 is neither 0 nor 1"):
        job(tmp_path, "direct=2")


@pytest.mark.parametrize("written", ["4k:16k", "16k-4k", "16k:4k"])
def test_a_range_of_sizes_may_have_a_colon_and_begin_with_the_largest(tmp_path: Path, written: str) -> None:
    made = job(tmp_path, f"bsrange={written}", "norandommap")
    assert made["block"] == job(tmp_path, "bsrange=4k-16k", "norandommap")["block"]


@pytest.mark.parametrize(("key", "written"), [("bsrange", "4k-8k"), ("bssplit", "4k:8k")])
def test_an_operation_that_sizes_leave_out_has_the_block_size_of_the_job(
    tmp_path: Path, key: str, written: str
) -> None:
    several = job(tmp_path, f"{key}={written}", "norandommap")["block"]
    for value, block in ((f",{written}", ["16KiB", several]), (f"{written},", [several, "16KiB"])):
        made = job(tmp_path, "rw=randrw", "bs=16k", f"{key}={value}", "norandommap")
        assert [made["block"][op] for op in ("read", "write")] == block


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


def test_a_map_in_smaller_blocks_than_those_written_is_noted_and_visits_none_exactly_once(
    tmp_path: Path,
) -> None:
    lines = "[x]\nfilename=/dev/sdz\nioengine=libaio\ndirect=1\nsize=4m\n"
    [step], notes = imported(tmp_path, lines + "rw=randwrite\nbs=4k,64k\n")
    assert (step["job"]["block"], step["job"]["pattern"]) == ("64KiB", "uniform")
    assert any("leaves out a block that overlaps a used place" in note for note in notes)
    steps, _ = imported(tmp_path, lines + "rw=randread\nbs=4k,64k\n")
    assert steps[-1]["job"]["pattern"] == "random-once"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("bssplit=4k/50:16k/50", "bssplit .* cuts a block short where the next place is used"),
        ("bsrange=4k-16k", "bsrange .* cuts a block short where the next place is used"),
        ("percentage_random=50\nbs=4k", "percentage_random .* draws no place twice in a pass"),
        ("percentage_random=50\nbssplit=4k/50:16k/50", "percentage_random .* cuts a block short"),
    ],
)
def test_what_the_map_of_fio_does_is_noted_unless_it_keeps_none(
    tmp_path: Path, options: str, said: str
) -> None:
    lines = f"[x]\nfilename=/dev/sdz\nioengine=libaio\ndirect=1\nrw=randread\n{options}\n"
    key, _, text = said.partition(" ")
    _, notes = imported(tmp_path, lines)
    assert any(re.search(f"{key}: {text}", note) for note in notes), notes
    _, notes = imported(tmp_path, f"{lines}norandommap\n")
    assert not any("keeps a map" in note for note in notes)


def test_smallest_blocks_that_differ_by_operation_are_noted_where_no_counterpart_aligns_to_them(
    tmp_path: Path,
) -> None:
    lines = (
        "[x]\nfilename=/dev/sdz\nioengine=libaio\ndirect=1\nrw=randrw\nruntime=9\ntime_based\nnorandommap\n"
    )
    lines += "percentage_random=80,20\nbssplit=8k/90:32k/10,32k/100\n"
    steps, notes = imported(tmp_path, lines)
    assert "align" not in steps[-1]["job"]
    assert any("blocks begin at multiples of their own size" in note for note in notes)
    with pytest.raises(UsageError, match="alignments that differ by operation"):
        imported(tmp_path, f"{lines}ba=8k,32k\n")


def test_a_rate_of_ios_counts_in_the_smallest_of_several_block_sizes(tmp_path: Path) -> None:
    lines = "[x]\nfilename=/dev/sdz\nioengine=libaio\ndirect=1\nruntime=9\ntime_based\nrw=randread\n"
    steps, notes = imported(tmp_path, lines + "bssplit=8k/50:32k/50\nrate_iops=500\n")
    assert steps[-1]["job"]["load"]["rate"] == "200/s"
    assert any("fio keeps 4,096,000 bytes a second" in note for note in notes)


@pytest.mark.parametrize(
    ("option", "op"), [("rwmixread=100", "read"), ("rwmixread=0", "write"), ("rwmixwrite=0", "read")]
)
def test_an_operation_without_a_share_is_not_issued_at_a_rate_either(
    tmp_path: Path, option: str, op: str
) -> None:
    made = job(tmp_path, "rw=randrw", option, "rate_iops=200")
    assert (made["mix"], made["load"]["rate"]) == (op, "200/s")


@pytest.mark.parametrize(
    ("option", "rate"),
    [("rate_iops=2000000", "2000000/s"), ("rate_iops=1m", "1048576/s"), ("rate=12g", "3145728/s")],
)
def test_a_rate_of_a_million_and_more_keeps_all_its_digits(tmp_path: Path, option: str, rate: str) -> None:
    assert job(tmp_path, option)["load"]["rate"] == rate


def test_a_rate_of_zero_is_no_rate(tmp_path: Path) -> None:
    for none in ("rate=0", "rate_iops=0", "rate_iops=0,0"):
        assert job(tmp_path, "rw=randrw", none)["load"] == {"threads": 1, "iodepth": 4}
    assert job(tmp_path, "rate_iops=0", "rate=40m")["load"]["rate"] == "10240/s"


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


def test_a_delay_of_the_start_is_an_idle_step_before_the_ramp(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path, "[x]\nrw=write\ndirect=1\ntime_based\nruntime=9\nramp_time=5\nsize=1m\nstartdelay=4\n"
    )
    assert [step["name"] for step in steps] == ["x-delay", "x-ramp", "x"]
    assert (steps[0]["kind"], steps[0]["time"]) == ("idle", "4s")


def test_a_job_that_begins_later_than_others_has_a_rate_of_zero_first(tmp_path: Path) -> None:
    [step], _ = imported(
        tmp_path,
        "[global]\nrw=write\nbs=4k\nsize=1m\nrate_iops=64\n[a]\nfilename=/a\n[b]\nfilename=/b\nstartdelay=3\n",
    )
    first, later = (stream["load"]["rate"] for stream in step["job"]["streams"])
    assert first == "64/s"
    assert later == [{"rate": "0/s", "time": "3s"}, {"rate": "64/s", "time": "68s"}]


def test_a_job_that_waits_for_the_one_before_it_is_a_further_step(tmp_path: Path) -> None:
    steps, _ = imported(
        tmp_path, "[global]\nrw=write\nfilename=/a\nsize=1m\n[a]\n[b]\nwait_for=a\n[c]\nwait_for=a\n"
    )
    assert [step["name"] for step in steps] == ["a", "b-c"]


def test_a_ramp_is_a_step_of_its_own_before(tmp_path: Path) -> None:
    steps, _ = imported(tmp_path, "[x]\nrw=read\ndirect=1\ntime_based\nruntime=9\nramp_time=5\n")
    assert [(step["name"], step["job"]["until"]) for step in steps] == [
        ("lay-out-x", {"written": "1x"}),
        ("x-ramp", {"time": "5s"}),
        ("x", {"time": "9s"}),
    ]


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


def test_a_size_in_zones_needs_the_size_of_one(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\nrw=randwrite\nzonemode=zbd\nsize=3z\nmax_open_zones=2\ndirect=1\n"
    assert '"3MiB"' in written(tmp_path, f"{text}zonesize=1m\n")
    with pytest.raises(UsageError, match=":5: size: counts zones, whose size only the device knows"):
        written(tmp_path, text)


def test_random_reads_of_zones_note_that_fio_draws_the_zone_first(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\nzonemode=zbd\nmax_open_zones=2\ndirect=1\nrw="
    for rw, noted in (("randread", True), ("randrw", True), ("randwrite", False), ("read", False)):
        _, notes = imported(tmp_path, f"{text}{rw}\n")
        assert any("zonemode: " in note and "fio draws the zone first" in note for note in notes) is noted


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


def test_a_run_that_meets_the_end_of_size_is_noted_of_jobs_that_end_by_it(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\ndirect=1\nrw=randread\npercentage_random=50\nnorandommap\n"
    for more, is_said in (("size=1m\n", True), ("", False), ("size=1m\ntime_based\nruntime=9\n", False)):
        notes = imported(tmp_path, text + more)[1]
        assert any("fio may end early" in note for note in notes) == is_said
