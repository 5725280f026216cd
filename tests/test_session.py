"""Runs from Python: twins repeat exactly, resume lives their life again, targets differ from one another."""

import json
import os
import platform
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from threading import Event

import pytest
from rich.console import Console

import fathom
from fathom.errors import FathomError, InterruptedRunError, RefusedError, UsageError
from fathom.load.backend import EngineBackend
from fathom.load.initiator import ThisMachine
from fathom.method.compose import compose
from fathom.method.method import Method, Step, load_method, parse_method
from fathom.report import write_html
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import view_of_all
from fathom.report.terminal import print_table
from fathom.runs.check import check
from fathom.runs.document import RunDocument
from fathom.runs.event_log import read_events
from fathom.runs.reader import Run
from fathom.runs.remarks import Words
from fathom.runs.steps import StepKey
from fathom.runs.store import RunStore, StepOutcome
from fathom.session import Options, SilentObserver, repeat_run, resume_run, start_run
from fathom.session.schedule import Schedule
from fathom.session.stepper import Progress
from fathom.session.target_run import TargetRun
from fathom.targets import file_room, sysfs
from fathom.targets.claim import claim
from fathom.targets.parse import parse_targets
from fathom.targets.sysfs import BlockDevice
from fathom.targets.target import Target

SHORT = str(Path(__file__).parent / "data" / "short.toml")
SN861 = "twin:wd-ultrastar-dc-sn861-7.68tb"
E1S = "twin:wd-ultrastar-dc-sn861-e1s-7.68tb"
PM9A3 = "twin:samsung-pm9a3-7.68tb"
PLACED = """
[[steps]]
name = "placed"
[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
placement = 1
load = { iodepth = 4 }
until = { time = "20ms" }
"""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fathom.run(SHORT, targets=[SN861, PM9A3], seed=5, out=tmp_path_factory.mktemp("runs"))


def test_a_twin_with_one_seed_gives_identical_tables(first: Run, tmp_path: Path) -> None:
    again = fathom.run(SHORT, targets=[SN861, PM9A3], seed=5, out=tmp_path)
    for name in ("points", "intervals", "latency", "telemetry"):
        assert first.table(name).equals(again.table(name)), name


def test_another_seed_gives_other_seconds(first: Run, tmp_path: Path) -> None:
    other = fathom.run(SHORT, targets=[SN861, PM9A3], seed=6, out=tmp_path)
    assert not first.table("latency").equals(other.table("latency"))


def test_a_twin_beside_others_measures_what_it_measures_alone(first: Run, tmp_path: Path) -> None:
    alone = fathom.run(SHORT, targets=[PM9A3], seed=5, out=tmp_path)
    beside = [row for row in first.points.to_pylist() if row["target"] == PM9A3]
    assert alone.points.to_pylist() == beside


def test_resuming_a_twin_changes_no_figure(
    first: Run, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    copy = interrupted(first.path, ("00-004-read", "01-003-write", "01-004-read"))
    resumed = resume_run(copy, Options())
    assert resumed.points.equals(first.points)
    assert resumed.latency.equals(first.latency)


def test_every_measured_step_has_points_with_their_window(first: Run) -> None:
    points = first.points.to_pylist()
    assert [(p["target"], p["step"]) for p in points] == [
        (target, step) for target in (SN861, PM9A3) for step in ("write", "read")
    ]
    for point in points:
        assert point["window_s"] == pytest.approx(1.0 if point["step"] == "write" else 2.0)
        assert point["n"] == round(point["iops"] * point["window_s"])
        assert point["limited_by"]


def test_littles_law_holds_in_every_point(first: Run) -> None:
    for point in first.points.to_pylist():
        outstanding = point["iops"] * point["mean_us"] / 1e6
        assert outstanding == pytest.approx(8, rel=0.01)


def test_tables_come_as_arrow_pandas_and_polars(first: Run) -> None:
    assert first.to_pandas().shape[0] == first.to_polars().height == first.points.num_rows == 4


def test_one_target_needs_no_list_and_none_is_refused(tmp_path: Path) -> None:
    assert [target.name for target in fathom.run(SHORT, PM9A3, out=tmp_path).targets] == [PM9A3]
    with pytest.raises(UsageError, match="no target to run on"):
        fathom.run(SHORT, [], out=tmp_path)


def test_streams_are_told_apart_and_steps_with_handles_that_a_target_lacks_are_left_out(
    tmp_path: Path,
) -> None:
    method = tmp_path / "placed.toml"
    method.write_text(
        """
schema = "fathom-method/1"
name = "placed"
[[steps]]
name = "shared"
[steps.job]
until = { time = "20ms" }
streams = [
  { name = "log", mix = "write", block = "128KiB", pattern = "sequential", region = "50%", load = { iodepth = 2 } },
  { name = "reads", mix = "read", block = "4KiB", pattern = "uniform", load = { threads = 2, iodepth = 4 } },
]
"""
        + PLACED
    )
    run = fathom.run(str(method), targets=[PM9A3, E1S], out=tmp_path / "runs")
    streams = {(row["target"], row["stream"]): row for row in run.table("streams").to_pylist()}
    points = {(row["target"], row["step"], row["op"]): row for row in run.points.to_pylist()}
    assert len(streams) == 4
    assert streams[PM9A3, "log"]["iops"] == points[PM9A3, "shared", "write"]["iops"]
    assert streams[PM9A3, "reads"]["threads"] == 2
    assert points[PM9A3, "shared", "read"]["threads"] == 3
    assert points[PM9A3, "shared", "read"]["read_pct"] is None
    assert (PM9A3, "placed", "write") not in points
    assert (E1S, "placed", "write") in points
    assert any("none to choose from" in note.text for note in run.notes)


def test_a_run_that_could_measure_nothing_is_not_begun_unless_another_target_can(tmp_path: Path) -> None:
    method = tmp_path / "placed.toml"
    method.write_text(
        """
schema = "fathom-method/1"
name = "placed"
[[steps]]
name = "fill"
kind = "fill"
[steps.job]
mix = "write"
block = "4KiB"
pattern = "sequential"
region = "64MiB"
load = { iodepth = 4 }
until = { written = "1x" }
"""
        + PLACED
    )
    runs = tmp_path / "runs"
    with pytest.raises(
        UsageError,
        match=r"nothing to measure: step placed left out: placement handles are named.*none to choose from",
    ):
        fathom.run(str(method), targets=[PM9A3], out=runs)
    assert not runs.exists()
    assert fathom.run(str(method), targets=[PM9A3, E1S], out=runs).points.num_rows == 1


def test_a_method_in_json_is_resumed_as_it_began(
    tmp_path: Path, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    text = Path(SHORT).read_text().replace('"1s"', '"20ms"').replace('"2s"', '"40ms"')
    method = compose("both", "Both", "", [parse_method(text, SHORT), parse_method(text, SHORT)])
    names = [step.name for step in method.steps]
    assert names[len(names) // 2 :] == [f"short.{name}" for name in names[: len(names) // 2]]
    file = tmp_path / "both.json"
    file.write_text(method.text)
    run = fathom.run(str(file), targets=["null:"], seed=5, out=tmp_path)
    last = max(folder.name for folder in (run.path / "steps").iterdir())
    resumed = resume_run(interrupted(run.path, [last]), Options())
    assert [row["step"] for row in resumed.points.to_pylist()] == [
        row["step"] for row in run.points.to_pylist()
    ]


@pytest.mark.parametrize(
    ("target", "said"),
    [("null:", "fathom 0.0.1, then {}; kernel 2.4.37, then {}"), (PM9A3, "fathom 0.0.1, then {}")],
)
def test_a_run_that_goes_on_under_another_version_or_kernel_says_so(
    tmp_path: Path, interrupted: Callable[[Path, Iterable[str]], Path], target: str, said: str
) -> None:
    run = fathom.run(TWICE.replace('"write"', '"read"'), targets=target, out=tmp_path)
    for began_elsewhere in (False, True):
        copy = interrupted(run.path, ["00-002-two"])
        document = RunDocument.load(copy)
        if began_elsewhere:
            document.versions["fathom"] = "0.0.1"
            document.environment["kernel"] = "2.4.37"
            document.save(copy)
        notes = [one.text for one in resume_run(copy, Options()).notes if one.rule == "resumed"]
        now = said.format(fathom.__version__, platform.release())
        expected = [f"the run went on under other conditions than it began: {now}"]
        assert notes == (expected if began_elsewhere else [])
        shutil.rmtree(copy)


TWICE = """
schema = "fathom-method/1"
name = "twice"
[[steps]]
name = "one"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = { count = 8 } }
[[steps]]
name = "two"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = { count = 8 } }
"""


def test_what_a_machine_cannot_sample_is_journalled_once_and_noted(tmp_path: Path) -> None:
    class Hurried(SilentObserver):
        def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
            interrupt.set()

    interrupt = Event()
    method = parse_method(TWICE, "twice.toml")
    targets = parse_targets([f"file:{tmp_path / 'data'}"], size_bytes=1 << 20)
    with pytest.raises(InterruptedRunError):
        start_run(method, targets, Options(out=tmp_path, observer=Hurried(), interrupt=interrupt))
    [path] = tmp_path.glob("*-twice-*")
    run = resume_run(path, Options())
    events = [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]
    said = [event["text"] for event in events if event["event"] == "not-measured"]
    assert any("WAF" in text for text in said)
    assert len(said) == len(set(said))
    [note] = [note for note in run.document.notes if note.rule == "not-measured"]
    subjects = [text.partition(": ")[0].removesuffix(f" of {note.target}") for text in said]
    assert all(subject in note.text for subject in subjects)


def test_remarks_on_an_attempt_that_a_resumed_run_replaced_are_in_no_note_and_no_report(
    tmp_path: Path,
) -> None:
    class Hurried(SilentObserver):
        def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
            interrupt.set()

    interrupt = Event()
    method = parse_method(TWICE, "twice.toml")
    targets = parse_targets([f"file:{tmp_path / 'data'}"], size_bytes=1 << 20)
    with pytest.raises(InterruptedRunError):
        start_run(method, targets, Options(out=tmp_path, observer=Hurried(), interrupt=interrupt))
    [path] = tmp_path.glob("*-twice-*")
    store = RunStore(path, RunDocument.load(path))
    store.log_event("step-start", StepKey(0, 2, "two"))
    late = Words(text="an attempt that was given up")
    store.log_event("remark", StepKey(0, 2, "two"), **late.model_dump(mode="json"))
    run = resume_run(path, Options())
    assert run.document.status == "complete"
    assert not [note for note in run.notes if late.text in note.text]
    assert not [one for one in view_of_all(compare([load(path)])).remarks if one.fact == late]


def test_a_step_that_was_set_aside_is_no_damage_when_the_run_is_killed_again(tmp_path: Path) -> None:
    class Hurried(SilentObserver):
        def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
            interrupt.set()

    interrupt = Event()
    method = parse_method(TWICE, "twice.toml")
    targets = parse_targets([f"file:{tmp_path / 'data'}"], size_bytes=1 << 20)
    with pytest.raises(InterruptedRunError):
        start_run(method, targets, Options(out=tmp_path, observer=Hurried(), interrupt=interrupt))
    [path] = tmp_path.glob("*-twice-*")
    [table] = path.glob("steps/*/points.parquet")
    table.write_bytes(table.read_bytes() + b"x")
    for _ in range(2):
        RunStore.reopen(path)
        assert not [one for one in check(path).damage if "steps" in one.file]
    assert [event["event"] for event in read_events(path)].count("step-set-aside") == 1


def test_a_run_whose_files_have_no_room_together_makes_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_room, "free_bytes", lambda path: 3 << 20)
    method = parse_method(TWICE, "twice.toml")
    targets = parse_targets([f"file:{tmp_path / name}" for name in "ab"], size_bytes=2 << 20)
    with pytest.raises(FathomError, match=r"not enough space: 2 files need .* together"):
        start_run(method, targets, Options(out=tmp_path / "runs"))
    assert list(tmp_path.iterdir()) == []


LONG_READS = """
schema = "fathom-method/1"
name = "long-reads"
[[steps]]
name = "read"
label = "4 KiB random read"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = { time = "3s" } }
"""


def test_a_step_that_was_interrupted_is_claimed_by_neither_terminal_nor_page_until_it_is_measured_again(
    tmp_path: Path,
) -> None:
    class Hurried(SilentObserver):
        def progressed(self, target: Target, progress: Progress) -> None:
            interrupt.set()

    def shown(path: Path) -> tuple[str, str]:
        console = Console(file=StringIO(), width=200)
        print_table(console, [path])
        [sentence] = re.findall(
            r"<h1[^>]*>(.+?)</h1>", write_html([path], tmp_path / "page.html").read_text()
        )
        assert isinstance(console.file, StringIO)
        return console.file.getvalue(), sentence

    interrupt = Event()
    options = Options(out=tmp_path, observer=Hurried(), interrupt=interrupt)
    with pytest.raises(InterruptedRunError):
        start_run(parse_method(LONG_READS, "long.toml"), parse_targets(["null:"]), options)
    [path] = tmp_path.glob("*-long-reads-*")
    printed, sentence = shown(path)
    assert "Not claimed (stopped early): 4 KiB random read." in printed
    assert "the step was stopped after" in printed
    assert sentence.endswith(" was stopped early, so no figure is claimed.")
    resume_run(path, Options())
    printed, sentence = shown(path)
    assert "stopped" not in printed + sentence


@pytest.mark.parametrize(("times", "rest"), [(3, "--repeats 2 --seed 6"), (1, None)])
def test_an_interrupt_of_repeats_names_those_that_did_not_begin(
    tmp_path: Path, times: int, rest: str | None
) -> None:
    class Hurried(SilentObserver):
        def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
            options.interrupt.set()

    options = Options(out=tmp_path, observer=Hurried(), interrupt=Event(), seed=5)
    targets = parse_targets([f"file:{tmp_path / 'data'}"], size_bytes=1 << 20)
    with pytest.raises(InterruptedRunError, match="continue with `fathom resume") as stopped:
        repeat_run(parse_method(TWICE, "twice.toml"), targets, options, times)
    assert (rest in str(stopped.value)) if rest else ("--repeats" not in str(stopped.value))


def test_a_repeat_that_fails_names_those_that_did_not_begin(tmp_path: Path) -> None:
    class Failing(SilentObserver):
        def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
            raise OSError(5, "Input/output error", "/data")

    method = parse_method(TWICE, "twice.toml")
    targets = parse_targets([f"file:{tmp_path / 'data'}"], size_bytes=1 << 20)
    with pytest.raises(
        FathomError, match=r"fathom resume .* for the 2 repeats behind it .*--repeats 2 --seed 6`"
    ):
        repeat_run(method, targets, Options(out=tmp_path, observer=Failing(), seed=5), 3)

    def gone(number: int) -> None:
        if number == 2:
            (tmp_path / "data").write_bytes(b"another's")

    with pytest.raises(RefusedError, match=r"for the 2 repeats that did not begin .*--repeats 2 --seed 6`"):
        repeat_run(method, targets, Options(out=tmp_path, seed=5), 3, begin=gone)


def test_repeats_that_are_refused_at_once_have_no_advice_on_the_rest(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"another's" * 512)
    method = parse_method(TWICE, "twice.toml")
    targets = parse_targets([f"file:{tmp_path / 'data'}"])
    with pytest.raises(RefusedError) as refused:
        repeat_run(method, targets, Options(out=tmp_path), 3)
    assert "--repeats" not in str(refused.value)


def test_how_a_real_load_was_made_is_kept_once_for_steps_that_are_alike(tmp_path: Path) -> None:
    run = fathom.run(SHORT, targets=[f"file:{tmp_path / 'made.bin'}"], size_bytes=16 << 20, out=tmp_path)
    ways = run.setups[f"file:{tmp_path / 'made.bin'}"]
    assert ways["page cache"] == {"bypassed (O_DIRECT)": "fill"}
    assert all(len(steps) == 1 for steps in ways.values()), ways
    assert {"clock", "completions", "interface", "I/O buffers", "load threads"} < set(ways)
    assert fathom.run(SHORT, targets=[PM9A3], out=tmp_path).setups == {}


@pytest.mark.parametrize(("queues", "ways"), [(1, "not pinned"), (2, "pinned to core")])
def test_load_threads_are_not_pinned_where_one_interrupt_serves_all_cores(
    queues: int, ways: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = BlockDevice(tmp_path / "disk", tmp_path)
    for number in range(queues):
        (disk.directory / "mq" / str(number)).mkdir(parents=True)
    monkeypatch.setattr(sysfs, "by_dev", lambda *_: disk)
    [target] = parse_targets([f"file:{tmp_path}/x"], size_bytes=1 << 20)
    target = replace(target, identity=replace(target.identity, dev="8:0"))
    (tmp_path / "x").write_bytes(bytes(1 << 20))
    [read] = [step for step in load_method(SHORT).steps if not step.job.destructive][:1]
    with claim(target, writes=False) as ready:
        handle = EngineBackend([ready]).start(read.job.on_threads(1), 1)
        while not handle.done():
            handle.poll()
        [recording] = handle.result()
    assert recording.setup["load threads"].startswith(ways)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (
            'mix = "append"\npattern = { zones = 1 }',
            "appends to zones, but this target accepts no zone appends",
        ),
        ('mix = "write"\npattern = { zones = 4 }', "has the pattern zones, but this target has no zones"),
        (
            'mix = "read"\npattern = "uniform"',
            "an iodepth of 32768; a load thread keeps at most 32767 I/O",
        ),
    ],
)
def test_what_the_engine_would_refuse_is_refused_before_anything_is_made(
    job: str, said: str, tmp_path: Path
) -> None:
    method = tmp_path / "refused.toml"
    iodepth = 1 << 15 if "uniform" in job else 4
    method.write_text(
        PLACED.replace('mix = "write"\n', "")
        .replace("placement = 1\n", "")
        .replace('pattern = "uniform"', job)
        .replace("iodepth = 4", f"iodepth = {iodepth}")
        .replace("[[steps]]", 'schema = "fathom-method/1"\nname = "refused"\n[[steps]]', 1)
    )
    made = f"file:{tmp_path / 'made.bin'}"
    for target in (made, f"array:{made},{made}-2"):
        with pytest.raises(UsageError, match=f"step placed .*{said}"):
            fathom.run(str(method), target, size_bytes=16 << 20, out=tmp_path / "runs")
    assert list(tmp_path.iterdir()) == [method]


@pytest.mark.parametrize("operation", ["read", "write", "trim"])
def test_blocks_of_a_gibibyte_end_on_a_twin(operation: str, tmp_path: Path) -> None:
    method = tmp_path / "large.toml"
    job = PLACED.replace('"write"', f'"{operation}"').replace("placement = 1\n", "")
    job = job.replace('"4KiB"', '"1GiB"').replace('"20ms"', '"2s"').replace('"uniform"', '"sequential"')
    method.write_text(f'schema = "fathom-method/1"\nname = "large"\nslice = "8GB"\n{job}')
    [second] = fathom.run(str(method), PM9A3, out=tmp_path / "runs").intervals.to_pylist()[:1]
    assert second["n"] * (1 << 30) == second["bytes"] > 0


@pytest.mark.parametrize(("target", "waits"), [("twin", False), ("file", True)])
def test_steps_of_drives_wait_for_the_disk_those_of_twins_do_not_and_the_tables_of_both_do(
    target: str, waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[str] = set()
    sync = os.fsync

    def noted(descriptor: int) -> None:
        synced.add(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    name = PM9A3 if target == "twin" else f"file:{tmp_path / 'x.bin'}"
    run = fathom.run(SHORT, targets=[name], out=tmp_path / "runs", size_bytes=64 << 20)
    own = {Path(one).relative_to(run.path) for one in synced if Path(one).is_relative_to(run.path)}
    assert any("steps" in one.parts for one in own) == waits
    assert {f".{table}.parquet.new" for table in ("points", "intervals", "latency")} < {
        str(one) for one in own
    }
    assert ".manifest.json.new" in {str(one) for one in own}


CURVES = """
schema = "fathom-method/1"
name = "parts"
title = "Parts"
summary = "Three workloads, each on a twin of its own; the last at half the rate of the second."
slice = "1GiB"

{steps}
"""
PART = """
[[steps]]
name = "{name}"
fill = "1x"
afresh = true
{offered}
[steps.job]
mix = {{ read = 70, write = 30 }}
block = "{block}"
pattern = "uniform"
load = {{ threads = 1, iodepth = 8 }}
until = {{ time = "50ms" }}
"""


@pytest.fixture(scope="module")
def three_parts() -> Method:
    half = 'offered = { of = "b", share = "50%" }'
    parts = [("a", "4KiB", ""), ("b", "8KiB", ""), ("c", "8KiB", half)]
    steps = "".join(PART.format(name=name, block=block, offered=offered) for name, block, offered in parts)
    return parse_method(CURVES.format(steps=steps), "parts.toml")


class Sequence(SilentObserver):
    """Keeps the steps seen. Fails where one begins before another has ended."""

    def __init__(self) -> None:
        self.running: str | None = None
        self.ended: list[str] = []
        self.targets = 0

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        assert self.running is None or self.running == step.name
        self.running = step.name

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        assert self.running == step.name
        self.running = None
        self.ended.append(step.name)

    def target_ended(self, target: Target, error: str | None) -> None:
        assert error is None
        self.targets += 1


def test_parts_of_a_twin_that_begin_fresh_have_the_same_bits_at_once_as_one_after_another(
    three_parts: Method, tmp_path: Path
) -> None:
    targets = ThisMachine().resolve([PM9A3])
    serial = start_run(three_parts, targets, Options(out=tmp_path / "serial", at_once=1))
    seen = Sequence()
    at_once = start_run(three_parts, targets, Options(out=tmp_path / "at-once", at_once=3, observer=seen))
    for name in ("points", "intervals", "latency", "telemetry"):
        assert serial.table(name).equals(at_once.table(name)), name
    assert sorted(seen.ended) == ["a", "b", "c", "fill-a", "fill-b", "fill-c"]
    assert seen.targets == 1


def test_parts_that_need_a_result_of_each_other_are_in_one_chain(three_parts: Method, tmp_path: Path) -> None:
    [target] = ThisMachine().resolve([PM9A3])
    run = start_run(three_parts, [target], Options(out=tmp_path))
    schedule = Schedule(RunStore(run.path, RunDocument.load(run.path)), three_parts, target, 0)
    chains = schedule.chains(schedule.fresh_parts(afresh=True))
    names = [[key.name for _, keys in chain for key in keys] for chain in chains]
    assert names == [["fill-a", "a"], ["fill-b", "b", "fill-c", "c"]]


def test_a_failed_part_ends_its_target_once_and_keeps_the_other_parts(
    three_parts: Method, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(run: TargetRun, chain: object, helpers: object) -> None:
        raise FathomError("the disk is full")

    monkeypatch.setattr(TargetRun, "run_chain", fails)
    targets = ThisMachine().resolve([PM9A3])
    with pytest.raises(FathomError, match="the disk is full"):
        start_run(three_parts, targets, Options(out=tmp_path, at_once=1))
    [journal] = tmp_path.glob("*/journal.jsonl")
    events = [json.loads(line)["event"] for line in journal.read_text().splitlines()]
    assert events.count("target-failed") == 1
