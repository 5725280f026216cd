"""A plan says what a run writes, wears and takes, from data sheets alone."""

import os
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from fathom.errors import UsageError
from fathom.load.resolve import resolve_targets
from fathom.method.method import Method, Step, load_method, parse_method
from fathom.plan.expect import expect
from fathom.plan.files import with_files
from fathom.plan.fit import check_fits, check_split
from fathom.plan.plan import plan_of
from fathom.plan.replay import Replay, Timing, replay_method
from fathom.plan.terminal import print_plan
from fathom.sizing.drive import Drive, Figure, rated_drive
from fathom.targets.parse import parse_targets
from fathom.targets.target import Target

PLACING = "wd-ultrastar-dc-sn861-e1s-7.68tb"
DRIVE = Drive(
    "x",
    "X",
    {
        ("bandwidth", "read"): Figure(4e9, "rated", "test"),
        ("bandwidth", "write"): Figure(1e9, "rated", "test"),
        ("iops", "read"): Figure(400_000, "rated", "test"),
        ("iops", "write"): Figure(100_000, "rated", "test"),
    },
)


def twin(name: str = "samsung-pm9a3-7.68tb") -> Target:
    [target] = resolve_targets([f"twin:{name}"])
    return target


def array() -> Target:
    [target] = resolve_targets(["array:twin:samsung-pm9a3-7.68tb,twin:samsung-pm1743-7.68tb"])
    return target


def step_of(method: str, name: str) -> Step:
    return next(step for step in load_method(method).steps if step.name == name)


def test_a_fill_takes_its_volume_at_the_rated_speed() -> None:
    target = twin()
    fill = expect(step_of("four-corners", "fill"), target, DRIVE)
    assert fill.written_bytes == 2 * target.capacity_bytes
    assert fill.time_s == pytest.approx(2 * target.capacity_bytes / 1e9)


def test_timed_random_writes_are_bound_by_rated_iops_and_large_ones_by_bandwidth() -> None:
    small = expect(step_of("enterprise-steady-state", "random-write-before"), twin(), DRIVE)
    assert (small.time_s, small.written_bytes) == (21100, 21100 * 100_000 * 4096)
    large = expect(step_of("enterprise-steady-state", "sequential-write"), twin(), DRIVE)
    assert large.written_bytes == round(2 * 3600 * 1e9)


def test_reads_of_a_mix_take_their_time_from_its_writes() -> None:
    half = expect(step_of("enterprise-steady-state", "4k-rand-r50"), twin(), DRIVE)
    pairs_per_s = 1 / (1 / 100_000 + 1 / 400_000)
    assert half.written_bytes == pytest.approx(600 * pairs_per_s * 4096, rel=1e-9)
    reads = expect(step_of("enterprise-steady-state", "4k-rand-r100"), twin(), DRIVE)
    assert reads.written_bytes == 0


def test_a_point_of_a_curve_writes_its_share_and_no_more_than_the_maximum() -> None:
    maximum = expect(replace(step_of("rate-curves", "16k-seq-write"), place=None), twin(), DRIVE)
    at = {
        share: expect(step_of("rate-curves", f"16k-seq-write@{share}"), twin(), DRIVE)
        for share in (50, 100, 120)
    }
    assert maximum.written_bytes == round(60 * 1e9)
    assert [one.written_bytes for one in at.values()] == [round(15e9), round(30e9), round(30e9)]


def test_wear_is_host_writes_over_the_rated_life() -> None:
    plan = plan_of(load_method("four-corners"), twin("wd-ultrastar-dc-sn861-7.68tb"))
    assert plan.endurance is not None
    assert plan.endurance.written_bytes == pytest.approx(7.68e12 * 365 * 5)
    # 2 x 7.68 TB filled, 26 min at 7.5 GB/s, 26 min at 430,000 x 4 KiB, against 14,016 TB.
    assert plan.wear_pct == pytest.approx(100 * (15.363 + 11.7 + 2.7476) / 14_016, rel=1e-3)


def test_random_writes_of_a_drive_whose_random_rating_nobody_states_are_not_planned_by_its_bandwidth() -> (
    None
):
    sequential_only = replace(
        DRIVE, figures={key: one for key, one in DRIVE.figures.items() if key[0] != "iops"}
    )
    random = expect(step_of("enterprise-steady-state", "random-write-before"), twin(), sequential_only)
    assert (random.time_s, random.written_bytes) == (21100, None)
    large = expect(step_of("enterprise-steady-state", "sequential-write"), twin(), sequential_only)
    assert large.written_bytes == round(2 * 3600 * 1e9)


@pytest.mark.parametrize(
    ("method", "step", "bound"),
    [
        ("enterprise-steady-state", "4k-rand-write-q16", "most"),
        ("enterprise-steady-state", "4k-rand-write-q32", None),
        ("write-amplification", "filled-50", "least"),
        ("write-amplification", "filled-100", None),
        ("four-corners", "fill", None),
    ],
)
def test_a_volume_is_a_bound_where_few_ios_are_in_flight_or_a_part_of_the_drive_is_written(
    method: str, step: str, bound: str | None
) -> None:
    assert expect(step_of(method, step), twin(), DRIVE).bound == bound


OPEN = """
schema = "fathom-method/1"
name = "open"
[[steps]]
name = "open"
job = { mix = { read = 50, write = 50 }, block = "4KiB", pattern = "uniform", load = { LOAD }, until = { UNTIL } }
"""


@pytest.mark.parametrize(
    ("load", "until", "written_bytes", "bound"),
    [
        ('iodepth = 64, rate = "1000/s"', 'time = "10s"', 5000 * 4096, None),
        ('iodepth = 4, rate = "1000/s"', 'time = "10s"', 5000 * 4096, "most"),
        ('iodepth = 64, rate = "1M/s"', 'time = "10s"', 800_000 * 4096, None),
        ('iodepth = 64, rate = "1000/s"', 'bytes = "40960KiB"', 5120 * 4096, None),
    ],
)
def test_an_open_load_writes_what_it_is_offered_unless_the_drive_is_slower(
    load: str, until: str, written_bytes: int, bound: str | None
) -> None:
    method = parse_method(OPEN.replace("LOAD", load).replace("UNTIL", until), "open.toml")
    found = expect(method.steps[0], twin(), DRIVE)
    assert (found.time_s, found.written_bytes, found.bound) == (
        pytest.approx(10.24 if "bytes" in until else 10),
        pytest.approx(written_bytes, rel=1e-6),
        bound,
    )


def test_an_open_load_that_drives_share_is_planned_once_for_all_of_them() -> None:
    load = 'iodepth = 64, rate = "1000/s", split = "even"'
    step = parse_method(OPEN.replace("LOAD", load).replace("UNTIL", 'time = "10s"'), "open.toml").steps[0]
    assert expect(step, twin("samsung-pm9a3-7.68tb*2"), DRIVE).written_bytes == 5000 * 4096


def test_at_an_unknown_speed_a_volume_that_time_may_cut_short_and_an_offered_one_are_the_most() -> None:
    unknown = replace(twin(), catalog=None, kind="null")
    for load, until, written_bytes in [
        ("iodepth = 64", 'written = "1x", time = "10s"', unknown.capacity_bytes),
        ('iodepth = 64, rate = "1000/s"', 'time = "10s"', 10_000 * 4096),
    ]:
        text = OPEN.replace("{ read = 50, write = 50 }", '"write"')
        method = parse_method(text.replace("LOAD", load).replace("UNTIL", until), "open.toml")
        found = expect(method.steps[0], unknown, None)
        assert (found.time_s, found.written_bytes, found.bound) == (10, written_bytes, "most")


def test_a_plan_says_why_its_volume_is_a_bound() -> None:
    said = planned("snia-latency", twin())
    assert any("at most" in line and "fewer than 32 in flight write less" in line for line in said)
    assert any(line.startswith("wear at most") for line in said)


def test_the_sum_over_repeats_is_a_bound_where_that_of_one_run_is() -> None:
    (said,) = [line for line in planned("snia-latency", twin(), repeats=2) if line.startswith("2 repeats")]
    assert re.fullmatch(r"2 repeats: about .*, at most .* written, wear at most .* %", said)


def test_a_plan_of_steps_that_write_less_and_steps_that_write_more_is_no_bound() -> None:
    said = planned("application-mixes", twin())
    assert any("write less, random writes to a part of it may be faster" in line for line in said)
    assert not any("at most" in line for line in said)


def test_a_load_with_think_time_is_planned_at_the_most_that_its_pauses_leave() -> None:
    load = 'threads = 4, iodepth = 64, think = "100ms"'
    step = parse_method(OPEN.replace("LOAD", load).replace("UNTIL", 'time = "10s"'), "open.toml").steps[0]
    found = expect(step, twin(), DRIVE)
    assert (found.written_bytes, found.bound) == (2560 * 10 * 4096 // 2, "most")
    said = planned_of(parse_method(OPEN.replace("LOAD", load).replace("UNTIL", 'time = "10s"'), "open.toml"))
    assert any(line.endswith("(loads that pause between I/Os write less)") for line in said)


def test_a_plan_says_where_files_have_no_room_alone_or_together(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    method = parse_method(OPEN.replace("LOAD", "iodepth = 1").replace("UNTIL", 'time = "1s"'), "open.toml")
    for size_bytes, said in ((2 * free, "needs "), (free * 2 // 3, "2 files need "), (1 << 20, "")):
        targets = parse_targets([f"file:{tmp_path}/a", f"file:{tmp_path}/b"], size_bytes=size_bytes)
        console = Console(width=200, file=StringIO())
        print_plan(console, method, targets)
        assert isinstance(console.file, StringIO)
        refusals = [line for line in console.file.getvalue().splitlines() if "would not run" in line]
        assert all(f"not enough space: {said}" in line for line in refusals)
        assert len(refusals) == (0 if not said else 2 if said == "needs " else 1)
    assert not list(tmp_path.iterdir())


def test_a_plan_says_where_a_set_of_files_has_no_room(tmp_path: Path) -> None:
    files = 'files = { count = 1000, size = "1TiB" }'
    text = (
        OPEN.replace("LOAD", "iodepth = 1")
        .replace("UNTIL", 'time = "1s"')
        .replace("pattern =", f"{files}, pattern =")
    )
    method = parse_method(text, "set.toml")
    said = planned_of(method, with_files(method, parse_targets([f"dir:{tmp_path}"]))[0])
    assert any("not enough space: 1,000 files need 1,000 TiB" in line for line in said)


def test_a_plan_adds_up_a_set_of_files_and_a_file_on_one_file_system(tmp_path: Path) -> None:
    room = os.statvfs(tmp_path)
    share = room.f_bavail * room.f_frsize * 2 // 3 >> 20
    text = OPEN.replace("LOAD", "iodepth = 1").replace("UNTIL", 'time = "1s"')
    head, step = text.split("[[steps]]")
    of_set = step.replace('name = "open"', 'name = "set"\ntarget = "a"').replace(
        "pattern =", f'files = {{ count = 2, size = "{share // 2}MiB" }}, pattern ='
    )
    of_file = step.replace('name = "open"', 'name = "file"\ntarget = "b"')
    method = parse_method(f"{head}[[steps]]{of_set}[[steps]]{of_file}", "both.toml")
    for size_mib, refused in ((share, True), (1, False)):
        targets = parse_targets([f"file:{tmp_path}/a", f"dir:{tmp_path}"], size_bytes=size_mib << 20)
        bound = [replace(targets[1], bound="a"), replace(targets[0], bound="b")]
        said = planned_on(method, with_files(method, bound, size_mib << 20))
        refusals = [line for line in said if "would not run" in line]
        assert len(refusals) == refused
        assert all("not enough space: 3 files need " in line for line in refusals)


def planned_of(method: Method, target: Target | None = None) -> list[str]:
    return planned_on(method, [target or twin()])


def planned_on(method: Method, targets: list[Target]) -> list[str]:
    console = Console(width=200, file=StringIO())
    print_plan(console, method, targets)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def planned(method: str, target: Target, repeats: int = 1) -> list[str]:
    console = Console(width=200, file=StringIO())
    print_plan(console, load_method(method, quick=True), [target], repeats)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_a_plan_of_unknown_speed_says_which_part_of_time_and_volume_it_knows() -> None:
    unknown = replace(twin(), catalog=None, kind="null")
    assert "at most 27 min 55 s; the volume written depends on the target's speed" in planned(
        "enterprise-steady-state", unknown
    )
    fill = f"{unknown.capacity_bytes / 1e12:.3g} TB written"
    known = (
        f"at most 1 min 20 s, plus 1 step that lasts until a volume is done; {fill}, plus what 4 steps write in a "
        "set time: how much depends on the target's speed"
    )
    assert known in planned("four-corners", unknown)
    assert "3 repeats: 3 times all this" in planned("four-corners", unknown, repeats=3)


def test_a_plan_whose_volume_is_known_says_that_the_time_depends_on_the_speed() -> None:
    [said] = [line for line in planned("gpu-feed", replace(twin(), catalog=None)) if "at most" in line]
    assert said.endswith("TB written: how long depends on the target's speed")


@pytest.mark.parametrize("devices", [("a",), ("a", "b")])
@pytest.mark.parametrize("timing", ["as-recorded", "as-fast-as-possible"])
def test_a_replay_writes_what_its_trace_wrote_and_lasts_as_long(
    tmp_path: Path, devices: tuple[str, ...], timing: Timing
) -> None:
    trace = tmp_path / "trace.csv"
    ios = [(1000 * number, devices[number % len(devices)], number) for number in range(100)]
    lines = [
        f"{us},{name},{'read' if n % 4 < 2 else 'write'},{n * 65536},{4096 << n % 3}" for us, name, n in ios
    ]
    trace.write_text("\n".join(["time_us,device,op,offset,size", *lines]))
    method, _ = replay_method(Replay(trace, timing=timing))
    target = twin() if len(devices) == 1 else array()
    planned = plan_of(method, target).steps[-1]
    assert planned.written_bytes == pytest.approx(
        sum(4096 << n % 3 for _, _, n in ios if n % 4 > 1), rel=1e-6
    )
    if len(devices) == 1 and timing == "as-recorded":
        assert planned.time_s == pytest.approx(0.099, rel=0.02)


def test_a_plan_counts_no_time_and_no_bytes_of_steps_that_a_run_leaves_out() -> None:
    method = load_method("data-placement", quick=True)
    without, able = (plan_of(method, twin(name)) for name in ("samsung-pm9a3-7.68tb", PLACING))
    out = [step for step in without.steps if step.left_out]
    assert [step.number for step in out] == [7, 8, 9, 10, 11, 12]
    assert not any(step.left_out for step in able.steps)
    assert without.written_bytes == sum(step.written_bytes or 0 for step in without.steps[:6])
    assert without.time_s == pytest.approx(sum(step.time_s or 0.0 for step in without.steps[:6]))
    said = planned("data-placement", twin("samsung-pm9a3-7.68tb"))
    assert any(line.startswith("steps 7-12 would be left out: placement handles are named") for line in said)
    assert sum(line.split()[-3:] == ["left", "out", "nothing"] for line in said) == 6


def test_a_plan_leaves_out_the_points_of_a_maximum_that_is_left_out() -> None:
    method = load_method("rate-curves")
    odd = replace(twin(), logical_block_bytes=65536)
    names = [step.step for step in plan_of(method, odd).steps if step.left_out]
    assert {"16k-seq-read", "16k-seq-read@50", "16k-seq-read@120"} <= set(names)


def test_a_plan_says_that_a_run_would_have_nothing_to_measure() -> None:
    said = planned("rate-curves", replace(twin(), logical_block_bytes=65536))
    assert any(line.startswith("would not run: ") and "nothing to measure" in line for line in said)


def test_the_plan_of_a_twin_says_that_it_is_the_drives() -> None:
    said = planned("four-corners", twin())[-1]
    assert said.startswith("this describes the drive itself: a twin may simulate a slice of it")
    assert said.endswith("once rate and latency are known to 1 %")


def test_a_target_without_a_data_sheet_has_no_wear_and_only_volumes_that_are_given() -> None:
    plan = plan_of(load_method("four-corners"), replace(twin(), catalog=None))
    assert plan.wear_pct is None
    assert [step.written_bytes for step in plan.steps if step.step in ("fill", "4k-rand-write")] == [
        2 * plan.target.capacity_bytes,
        None,
    ]


def test_of_variants_that_differ_the_least_endurance_counts() -> None:
    drive = rated_drive("samsung-pm9a3-7.68tb")
    assert drive.figures["endurance", None].value == 14_016e12, (
        "not the 1.3 drive writes a day of the E1.S variant"
    )


def test_only_a_twin_is_held_to_the_slice_that_it_simulates() -> None:
    method = load_method("cluster-scaling")
    with pytest.raises(UsageError, match=r"the twin simulates only 6\.986 GiB of 6\.986 TiB"):
        check_fits(method, twin())
    check_fits(method, replace(twin(), kind="device"))
    check_fits(method, twin("weka-6x-micron-9400-pro"))


READS = """
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 2, iodepth = 8 }
until = { time = "1s" }
"""
WRITES = READS.replace('"read"', '"write"')


def last_step(job: str) -> Method:
    """Returns a method that fills before the step, which a run would have done in vain."""
    fill = (
        '{ mix = "write", block = "128KiB", pattern = "sequential", load = {}, until = { written = "1x" } }'
    )
    return parse_method(
        'schema = "fathom-method/1"\nname = "odd"\n'
        f'[[steps]]\nname = "fill"\nkind = "fill"\njob = {fill}\n'
        f'[[steps]]\nname = "last"\n[steps.job]\n{job}',
        "odd.toml",
    )


@pytest.mark.parametrize(
    ("name", "job", "why"),
    [
        ("twin:samsung-pm9a3-7.68tb", f'{WRITES}sync = "data"', "has sync"),
        ("twin:samsung-pm9a3-7.68tb", f'{READS}priority = "idle"', "has a priority"),
        ("twin:samsung-pm9a3-7.68tb", WRITES.replace('"write"', '"allocate"'), "reserves room"),
        (
            "twin:samsung-pm9a3-7.68tb",
            f'{WRITES}content = {{ verify = 1 }}\njournal = "/mnt/acks"',
            "keeps a journal",
        ),
        (
            "twin:wd-ultrastar-dc-hc650-20tb",
            WRITES.replace('"uniform"', "{ zones = 4 }"),
            "iodepth of 8, but only 4 zones open",
        ),
        ("null:", f"{WRITES}content = {{ verify = 1 }}", "keeps none"),
        ("nop:", f"{WRITES}content = {{ verify = 1 }}", "keeps none"),
    ],
)
def test_a_step_that_the_target_never_runs_is_refused_before_the_steps_in_front_of_it(
    name: str, job: str, why: str
) -> None:
    [target] = resolve_targets([name])
    with pytest.raises(UsageError, match=f"step last .*{why}"):
        check_fits(last_step(job), target)


def test_a_purge_that_a_small_file_leaves_out_does_not_refuse_it(tmp_path: Path) -> None:
    [small] = resolve_targets([f"file:{tmp_path / 'x.bin'}"], 1 << 20)
    purge = '[[steps]]\nname = "purge"\nkind = "purge"\n'
    method = last_step(READS)
    check_fits(parse_method(method.text.replace("[[steps]]", f"{purge}[[steps]]", 1), "odd.toml"), small)


def test_a_twin_takes_reads_of_a_job_whose_writes_would_wait() -> None:
    check_fits(last_step(f'{READS}sync = "data"'), twin())


def test_shares_of_a_load_must_fit_the_targets_before_anything_is_written() -> None:
    shared = last_step(READS.replace("iodepth = 8", "iodepth = 8, split = [1, 2, 3]"))
    with pytest.raises(UsageError, match=r"array:.*step last: .*3 shares for 2 targets"):
        check_fits(shared, array())
    with pytest.raises(UsageError, match="step last splits its load by shares, and there is one target"):
        check_split(shared, twin(), hosts=0)
    with pytest.raises(UsageError, match=r"step last: .*3 shares for 2 targets"):
        check_split(shared, twin(), hosts=2)
    check_split(shared, twin(), hosts=3)
