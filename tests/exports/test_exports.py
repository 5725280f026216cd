"""Methods as fio's jobs: which sections and options they are, and that fio takes them."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from made_methods import exported, method, needs_fio, step

from fathom.catalog import method_names
from fathom.cli import app
from fathom.errors import UsageError
from fathom.exports import export_method
from fathom.imports import import_method
from fathom.method.method import load_method, parse_method
from small_trace import is_of_trace


def options(text: str, section: str = "x") -> list[str]:
    """The lines of a section, but for those that every section has."""
    whole = text.partition(f"\n[{section}]\n")[2].partition("\n\n")[0].splitlines()
    return [line for line in whole if not line.startswith(("stonewall", "description="))]


def of_job(job: Mapping[str, str]) -> list[str]:
    return options(exported(step(job=job))[0])


def accepted(text: str, tmp_path: Path) -> None:
    """Passes when fio takes every section."""
    file = tmp_path / "made.fio"
    file.write_text(text)
    found = subprocess.run(
        ["fio", "--parse-only", str(file)],
        env={"TARGET": "/dev/nvme0n1", "PATH": "/usr/bin:/bin:/usr/local/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "dropped" not in found.stdout + found.stderr


@needs_fio
@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("size_bytes", [None, 7_681_501_126_656], ids=["any", "sized"])
@pytest.mark.parametrize("name", [name for name in method_names() if not is_of_trace(name)])
def test_fio_takes_what_is_made_of_every_shipped_method(
    name: str, size_bytes: int | None, quick: bool, tmp_path: Path
) -> None:
    text, _ = export_method(load_method(name, quick=quick), None, size_bytes)
    accepted(text, tmp_path)
    filled = re.sub(r"^#(?! )", "", text, flags=re.MULTILINE)
    accepted(re.sub(r"=R(,W)?$", "=10", filled, flags=re.MULTILINE), tmp_path)


def test_a_section_says_operation_block_depth_and_time() -> None:
    assert of_job({"load": "{ threads = 3, iodepth = 4 }"}) == [
        "rw=randread",
        "bs=4k",
        "norandommap",
        "numjobs=3",
        "iodepth=4",
        "runtime=10s",
        "time_based",
    ]


@pytest.mark.parametrize(
    ("key", "value", "option"),
    [
        ("mix", "{ read = 65, write = 35 }", "rwmixread=65"),
        ("mix", "{ read = 50, write = 50, flush = 10 }", "fsync=5"),
        ("block", '{ read = "4KiB", write = "64KiB" }', "bs=4k,64k"),
        (
            "block",
            '[{ size = "4KiB", share = 3 }, { size = "12KiB", share = 1 }]',
            "bssplit=4k/75:12k/25",
        ),
        ("pattern", "{ zipf = 0.99 }", "random_distribution=zipf:0.99"),
        ("pattern", "{ pareto = 0.2 }", "random_distribution=pareto:0.2"),
        ("pattern", '{ random = { read = "80%", write = "20%" } }', "percentage_random=80,20"),
        ("pattern", "{ hot-spots = [{ area = 10, access = 90 }] }", "random_distribution=zoned:90/10:10/90"),
        ("pattern", "{ zones = 4 }", "max_open_zones=4"),
        ("pattern", '"backwards"', "rw=rw:-8k"),
        ("pattern", '{ stride = "1MiB" }', "rw=rw:1020k"),
        ("region", '{ start = "50%", size = "25%" }', "offset=50%"),
        ("region", '"10GiB"', "size=10g"),
        ("align", '"64KiB"', "blockalign=64k"),
        ("content", '{ compressible = "40%" }', "buffer_compress_percentage=40"),
        ("content", '{ dedup = "25%" }', "dedupe_percentage=25"),
        ("direct", "false", "direct=0"),
        ("sqpoll", "true", "sqthread_poll=1"),
        ("sync", '"data"', "sync=dsync"),
        ("sync", '"all"', "sync=sync"),
        ("huge_pages", "true", "iomem=mmaphuge"),
        ("load", "{ iodepth = 8, reap = 4 }", "iodepth_batch_complete_min=4"),
        ("load", '{ threads = 2, iodepth = 8, rate = "800/s" }', "rate_iops=200,200"),
        ("load", '{ threads = 2, iodepth = 3, think = "1ms" }', "numjobs=6"),
        ("until", '{ time = "1500ms" }', "runtime=1500ms"),
        ("until", "{ count = 1000 }", "number_ios=1000"),
        ("until", '{ bytes = "1GiB" }', "io_size=1g"),
    ],
)
def test_a_key_becomes_the_option_that_means_the_same(key: str, value: str, option: str) -> None:
    assert option in of_job({"mix": "{ read = 1, write = 1 }", key: value})


@needs_fio
@pytest.mark.parametrize(
    ("job", "found"),
    [
        (
            {"pattern": '{ strips = { size = "1MiB", gap = "2MiB" } }'},
            ["rw=read", "zonemode=strided", "zonesize=1m", "zoneskip=2m"],
        ),
        ({"pattern": '{ zones = "in-order" }'}, ["rw=read", "zonemode=zbd"]),
        (
            {"pattern": '{ zones = { open = "in-order", ends = true } }', "until": '{ volume = "1x" }'},
            ["rw=read", "zonemode=zbd"],
        ),
        (
            {
                "mix": '"write"',
                "pattern": '{ zones = { open = "most", choice = "random-once", '
                'reset = { above = "70%", every = 3 } } }',
            },
            ["zonemode=zbd", "zone_reset_threshold=0.7", "zone_reset_frequency=0.333333333"],
        ),
        (
            {"mix": "{ read = 1, write = 1 }", "align": '{ read = "8KiB", write = "16KiB" }'},
            ["rw=randrw", "blockalign=8k,16k"],
        ),
    ],
)
def test_zones_and_alignments_are_fio_s(job: Mapping[str, str], found: list[str], tmp_path: Path) -> None:
    text, _ = exported(step(job=job))
    assert set(found) <= set(options(text))
    accepted(text, tmp_path)


@pytest.mark.parametrize(
    ("zones", "until", "reason"),
    [
        ('open = "in-order", ends = true', '{ volume = "2x" }', "an end with the last zone"),
        ("open = 4, ends = true", '{ volume = "1x" }', "zones that are emptied before, or not written again"),
        ('open = "in-order", begin = "empty"', '{ volume = "1x" }', "zones that are emptied before"),
    ],
)
def test_zones_that_end_or_begin_as_fio_s_never_do_are_left_out_with_the_reason(
    zones: str, until: str, reason: str
) -> None:
    job = {"mix": '"write"', "pattern": f"{{ zones = {{ {zones} }} }}", "until": until}
    with pytest.raises(UsageError, match=reason):
        exported(step(job=job))


@needs_fio
def test_a_step_that_ends_when_it_holds_still_is_fio_s_steadystate(tmp_path: Path) -> None:
    rule = 'until_steady = { metric = "mbps", slope = "2%", over = "30s", after = "5s" }'
    text, _ = exported(step(keys=rule))
    assert {"group_reporting", "steadystate=bw_slope:2%", "steadystate_duration=30s"} <= set(options(text))
    accepted(text, tmp_path)
    (tmp_path / "x.fio").write_text(text.replace("${TARGET}", "/dev/sdz"))
    again, _ = import_method(tmp_path / "x.fio")
    assert (
        parse_method(again, "again.toml").steps[-1].until_steady
        == method(step(keys=rule)).steps[0].until_steady
    )
    _, notes = exported(
        step() + step("y", keys='until_steady = { metric = "latency", slope = "2%", over = "9s" }')
    )
    assert any(note.startswith("y: left out: an early end by latency") for note in notes)


@pytest.mark.parametrize("name", ["application-mixes", "four-corners", "depth-scaling"])
def test_what_is_exported_of_a_method_is_imported_again(name: str, tmp_path: Path) -> None:
    text, _ = export_method(load_method(name), None, None)
    (tmp_path / "x.fio").write_text(text.replace("${TARGET}", "/dev/sdz"))
    again, _ = import_method(tmp_path / "x.fio")
    sections = [line.strip("[]") for line in text.splitlines() if re.fullmatch(r"\[.+\]", line)]
    names = [one.name for one in parse_method(again, "again.toml").steps]
    assert set(sections) - {"global"} <= {*names, *(name.removeprefix("lay-out-") for name in names)}


def test_threads_that_start_at_equal_distances_are_jobs_with_a_part_each() -> None:
    made = {
        "pattern": '"sequential"',
        "mix": '"write"',
        "load": "{ threads = 4 }",
        "until": '{ written = "2x" }',
    }
    assert of_job(made)[2:5] == ["size=25%", "offset_increment=25%", "numjobs=4"]
    assert "loops=2" in of_job(made)
    assert "size=512m" in of_job(made | {"region": '"2GiB"'})


def test_threads_that_begin_together_are_jobs_on_the_whole_region() -> None:
    made = {
        "pattern": '"sequential"',
        "position": '{ threads = "start", operations = "apart" }',
        "mix": "{ read = 1, write = 1 }",
        "load": "{ threads = 4 }",
    }
    assert not [option for option in of_job(made) if option.startswith(("size=", "offset_increment="))]
    _, notes = exported(step(job=made))
    assert not [note for note in notes if "position" in note]


def test_a_part_that_is_no_whole_percentage_takes_the_size_of_the_target() -> None:
    eight = step(job={"pattern": '"sequential"', "load": "{ threads = 8 }"})
    with pytest.raises(UsageError, match=r"12\.5 %.*give its --size"):
        exported(eight)
    assert "size=128m" in options(exported(eight, size_bytes=1 << 30)[0])


def test_volumes_of_a_shared_region_are_divided_over_the_jobs() -> None:
    made = {"mix": '"write"', "load": "{ threads = 4 }"}
    assert "io_size=50%" in of_job(made | {"until": '{ written = "2x" }'})
    assert "loops=2" in of_job(made | {"until": '{ written = "8x" }'})
    both = of_job(made | {"until": '{ written = "4x", time = "6h" }'})
    assert both[-1] == "runtime=21600s"


def test_steps_wait_for_those_before_and_streams_run_beside_each_other() -> None:
    streams = """
[[steps]]
name = "both"
[steps.job]
direct = false
until = { time = "9s" }
streams = [
  { name = "a", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 1 } },
  { name = "b", mix = "write", block = "8KiB", pattern = "sequential", load = { iodepth = 2 } },
]
"""
    text, _ = exported(step("one") + streams + step("two"))
    begins = [
        line for line in text.splitlines() if line in ("stonewall", "new_group") or line.startswith("[")
    ]
    assert begins == [
        *("[global]", "[one]", "stonewall", "[both.a]", "stonewall"),
        *("[both.b]", "new_group", "[two]", "stonewall"),
    ]
    assert {"direct=0", "runtime=9s", "bs=8k"} <= set(options(text, "both.b"))


@pytest.mark.parametrize(
    "job",
    [
        {"until": '{ count = 100, volume = "4x" }'},
        {"pattern": '{ stride = "1MiB" }', "region": '"25%"', "until": '{ volume = "1x" }'},
    ],
)
def test_a_volume_that_no_loops_make_is_in_bytes(job: Mapping[str, str]) -> None:
    with pytest.raises(UsageError, match=r"needs a length in bytes: name the target or give its --size"):
        exported(step(job=job))
    made = options(exported(step(job=job), size_bytes=1 << 30)[0])
    assert [one for one in made if one.startswith(("io_size=", "loops="))] == [
        "io_size=4g" if "count" in job["until"] else "io_size=256m"
    ]


@pytest.mark.parametrize(
    ("pattern", "until"),
    [
        ('"sequential"', '{ volume = "4x" }'),
        ('"sequential"', '{ bytes = "2GiB" }'),
        ('"sequential"', "{ count = 300000 }"),
        ('{ stride = "64KiB" }', '{ volume = "1x" }'),
    ],
)
def test_passes_of_reads_and_writes_in_order_are_left_out(pattern: str, until: str) -> None:
    mixed = {"mix": "{ read = 1, write = 1 }", "pattern": pattern, "region": '"1GiB"', "until": until}
    with pytest.raises(UsageError, match="more than one pass of reads and writes in order"):
        exported(step(job=mixed))
    if "stride" not in pattern:
        assert exported(step(job=mixed | {"until": '{ volume = "1x" }'}))[0]
    assert exported(step(job=mixed | {"mix": '"read"'}), size_bytes=1 << 34)[0]


def test_a_volume_of_any_mix_is_the_size_of_the_region() -> None:
    mixed = {"mix": "{ read = 50, write = 50 }", "until": '{ volume = "3x" }'}
    assert "loops=3" in of_job(mixed)
    assert not any(line.startswith(("runtime", "time_based")) for line in of_job(mixed))


ENDS = """
[[steps]]
name = "both"
[steps.job]
streams = [
  { name = "a", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = { bytes = "8MiB" } },
  { name = "b", mix = "write", block = "8KiB", pattern = "sequential", load = {}, until = { written = "2x" } },
]
"""


def test_streams_end_each_by_their_own_volume() -> None:
    text, _ = exported(ENDS)
    assert "io_size=8m" in options(text, "both.a")
    assert "loops=2" in options(text, "both.b")
    assert "runtime" not in text


def test_streams_on_some_targets_only_have_no_counterpart() -> None:
    text, told = exported(step("first") + ENDS.replace("load = {}", "load = {}, targets = [2]"))
    assert "[both.b]" not in text
    assert any("streams that run on some of the targets only" in note for note in told)


def test_streams_in_step_are_sections_in_step_and_those_of_each_step_alone() -> None:
    flows = ENDS.replace("load = {}", "load = {}, flow = 2").replace(
        "{ iodepth = 1 }", '{ iodepth = 1 }, flow = { weight = 1, pause = "1ms" }'
    )
    text, _ = exported(flows + flows.replace("both", "again"))
    assert {"flow=1", "flow_id=1", "flow_sleep=1000"} <= set(options(text, "both.a"))
    assert {"flow=2", "flow_id=1"} <= set(options(text, "both.b"))
    assert {"flow=2", "flow_id=3"} <= set(options(text, "again.b"))


def test_streams_that_end_all_others_have_no_counterpart() -> None:
    text, told = exported(step("first") + ENDS.replace("load = {}", "load = {}, exitall = true"))
    assert "[both.b]" not in text
    assert any("streams that all end with one of them" in note for note in told)


def test_a_rate_of_blocks_of_several_sizes_is_in_bytes_and_comes_back_as_it_was(tmp_path: Path) -> None:
    load = {
        "block": '[{ size = "8KiB", share = 1 }, { size = "32KiB", share = 1 }]',
        "load": '{ iodepth = 4, rate = "500/s" }',
    }
    assert f"rate={500 * 20 * 1024}" in of_job(load)
    text, _ = exported(step("s", job=load), "file:/tmp/some.bin", 1 << 30)
    (tmp_path / "s.fio").write_text(text)
    back, _ = import_method(tmp_path / "s.fio")
    assert 'rate = "500/s"' in back


def test_the_share_of_a_rate_counts_in_the_smallest_of_several_block_sizes() -> None:
    text, _ = exported(
        step(
            "c",
            'kind = "curve"\ncurve = { points = ["50%"], time = "5s" }',
            {"block": '[{ size = "8KiB", share = 1 }, { size = "32KiB", share = 1 }]'},
        )
    )
    assert "# 50 % of the IOPS of [c]: R = 1.25 times its IOPS" in text


def test_points_of_a_curve_wait_in_comments_for_their_rate() -> None:
    text, notes = exported(
        step(
            "c",
            'kind = "curve"\ncurve = { points = ["50%"], time = "5s", slo = { p99 = "1ms", steps = 1 } }',
            {"mix": "{ read = 3, write = 1 }", "load": "{ threads = 2, iodepth = 4 }"},
        )
    )
    assert "[c]\n" in text
    assert "# 50 % of the IOPS of [c]: R = 0.1875 and W = 0.0625 times its IOPS" in text
    assert {"#[c@50]", "#rate_iops=R,W", "#rate_process=poisson", "#runtime=5s"} <= set(text.splitlines())
    assert "c@slo-1: left out: a search depends on the figures of earlier points" in notes


def test_a_share_of_another_step_names_its_section_and_its_stream() -> None:
    text, _ = export_method(load_method("write-amplification"))
    of_writes = text.partition("#[reads-beside-writes-50.writes]\n")
    assert "rate_iops=R" in of_writes[2].partition("\n\n")[0]
    assert "50 % of the IOPS of [" in of_writes[0].splitlines()[-1]


def test_a_share_of_a_step_that_is_left_out_is_left_out_too() -> None:
    curve = 'kind = "curve"\ncurve = { points = ["50%"], time = "5s" }'
    text, notes = exported(step("c", curve, {"pattern": "{ zipf = 1 }"}) + step())
    assert "c@50" not in text.partition("[global]")[2]
    assert "c@50: left out: its rate is a share of what c reaches, which is left out" in notes


def test_rounds_until_steady_stand_once_and_counted_ones_each() -> None:
    rounds = (
        '[[steps]]\nname = "r"\nkind = "rounds"\nrounds = { most = %d, window = %d, track = ["x"] }\n'
        + step().replace("[[steps]]", "[[steps.steps]]").replace("[steps.job]", "[steps.steps.job]")
    )
    text, notes = exported(rounds % (9, 5))
    assert text.count("\n[r.") == 1
    assert "r: round 1 of at most 9. Repeat these sections until the IOPS of x" in " ".join(notes)
    assert exported(rounds % (3, 3))[0].count("\n[r.") == 3


def test_a_flush_after_so_many_writes_is_fio_s() -> None:
    made = of_job({"mix": '"write"', "flush_every": "8"})
    assert "fsync=8" in made
    text, notes = exported(step("laid", 'kind = "fill"\nonly_files = true', FILL) + step())
    assert "[laid]" not in text
    assert notes == ["laid: left out: fio lays out files before it reads them, and a device keeps its data"]


FILL = {"mix": '"write"', "until": '{ written = "1x" }'}


def test_steps_with_targets_of_their_own_are_not_put_on_one() -> None:
    with pytest.raises(UsageError, match="its steps name their targets"):
        exported(step(keys='target = "a"'))


def test_a_pause_loads_nothing() -> None:
    text, _ = exported(step() + '[[steps]]\nname = "rest"\nkind = "idle"\ntime = "30s"\n')
    assert {"ioengine=null", "runtime=30s", "time_based"} <= set(options(text, "rest"))


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ({"mix": "{ read = 2, write = 1 }"}, "a share of reads of 66.6667 %"),
        ({"mix": "{ read = 1, trim = 1 }"}, "trims beside other operations"),
        ({"mix": '"write-zeroes"'}, "write-zeroes, which fio does not issue"),
        ({"mix": "{ write = 5, flush = 2 }"}, "flushes that are not one for a whole number of writes"),
        (
            {"mix": "{ read = 1, write = 1 }", "flush_every": "4"},
            "flushes after writes that go beside other I/O",
        ),
        ({"pattern": "{ zipf = 1 }"}, "zipf of 1"),
        ({"pattern": '{ random = "99.5%" }'}, "jumps of 99.5 %"),
        ({"pattern": "{ blocks = { order = [1, 0] } }"}, "a list of blocks"),
        ({"pattern": '{ strips = { size = "1MiB", gap = "0B" } }', "region": '"1GiB"'}, "strips of a part"),
        ({"mix": '"write"', "placement": "1"}, "placement handles"),
        (
            {"pattern": '"sequential"', "position": '"shared"', "load": "{ threads = 2 }"},
            "one position for all threads",
        ),
        (
            {"pattern": "{ sequential = 2 }", "position": '"start"', "load": "{ threads = 2, iodepth = 2 }"},
            "several sequential places of each thread",
        ),
        (
            {"pattern": '{ random = "80%" }', "position": '{ operations = "together" }'},
            "random jumps that reads and writes follow together",
        ),
        ({"load": '{ iodepth = 4, rate = "10/s", arrival = "uniform" }'}, "uniform arrivals"),
        ({"load": '{ iodepth = 4, rate = [{ rate = "10/s", time = "1s" }] }'}, "a rate that changes"),
        (
            {"load": "{ threads = 3, iodepth = 1 }", "until": "{ count = 100 }"},
            "a count that does not divide equally over 3 jobs",
        ),
        (
            {"block": '[{ size = "4KiB", share = 1 }, { size = "8KiB", share = 2 }]'},
            "block sizes with shares of 33",
        ),
    ],
)
def test_what_would_be_another_test_is_left_out_with_its_step(job: Mapping[str, str], why: str) -> None:
    text, notes = exported(step("odd", job=job) + step())
    assert "[odd]" not in text
    assert any(note.startswith(f"odd: left out: {why}") for note in notes), notes


@pytest.mark.parametrize(
    ("keys", "job", "what"),
    [
        ('kind = "precondition"\nsteady = { round = "1s" }', {}, "no early end: fio cannot run rounds until"),
        ('precision = "1%"', {}, "only twins end windows early"),
        ("", {"content": "{ verify = 1 }", "mix": '"write"'}, "blocks do not describe themselves"),
        ("", {"load": '{ iodepth = 4, rate = "10/s" }'}, "latency counts from submission"),
        ("", {"gpu": "true"}, "reads end in host memory"),
        ("", {"load": '{ iodepth = 4, split = "even" }'}, "the load is meant for all targets together"),
        ("", {"errors": "10"}, "the first error ends a job"),
        ("", {"mix": "{ read = 1, write = 1 }", "pattern": '"sequential"'}, "each have a position"),
    ],
)
def test_what_differs_is_told_with_its_step_and_stands_in_the_file(
    keys: str, job: Mapping[str, str], what: str
) -> None:
    text, notes = exported(step("told", keys, job))
    [note] = [note for note in notes if what in note]
    assert note.startswith("told: ")
    assert f"# {note}" in text


def test_of_a_step_that_is_left_out_nothing_else_is_told() -> None:
    odd = {
        "load": '{ iodepth = 4, rate = "10/s" }',
        "until": "{ count = 5 }",
        "mix": "{ write = 9, flush = 1 }",
    }
    _, notes = exported(step("odd", job=odd) + step())
    assert [note for note in notes if "odd" in note] == [
        "odd: left out: a count with flushes, which fio leaves out of its count"
    ]


def test_the_first_lines_say_whether_it_writes() -> None:
    assert "WRITES TO THE TARGET" in exported(step(job={"mix": '"write"'}))[0].splitlines()[1]
    assert "writes nothing" in exported(step())[0].splitlines()[1]


def test_a_target_is_named_as_fio_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a:b.bin"
    text, _ = exported(step(), f"file:{path}", 1 << 30)
    assert f"filename={tmp_path}/a\\:b.bin" in text
    assert f"fallocate -l {1 << 30} {path}" in text
    assert "filename=${TARGET}" in exported(step())[0]
    assert not path.exists()
    with pytest.raises(UsageError, match="cannot name it"):
        exported(step(), f"file:{tmp_path}/a\nrw=write", 1 << 30)
    with pytest.raises(UsageError, match="fio cannot load it"):
        exported(step(), "twin:wd-ultrastar-dc-sn861-7.68tb")


@pytest.mark.parametrize("name", ["a;b", "a#b", "a ", "a${HOME}", "a$ncpus"])
def test_a_file_whose_name_leads_fio_to_another_one_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name it"):
        exported(step(), f"file:{tmp_path}/{name}", 1 << 30)


def test_a_file_is_not_purged_and_a_method_of_a_file_system_wants_a_file(tmp_path: Path) -> None:
    purge = '[[steps]]\nname = "p"\nkind = "purge"\n'
    _, notes = exported(purge + step(), f"file:{tmp_path}/x", 1 << 30)
    assert "p: left out: a file cannot be purged" in notes
    assert "rw=trim" in options(exported(purge + step())[0], "p")
    _, notes = export_method(load_method("drive-array-filesystem"))
    assert "name one as the target" in notes[-1]


def test_the_command_prints_the_file_and_tells_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    app(["export", "four-corners", "--quick"], standalone_mode=False)
    out, err = capsys.readouterr()
    assert out.startswith("# ")
    assert "[fill]" in out
    assert err.startswith("fathom: ")
