"""Runs from Python: twins repeat exactly, resume lives their life again, targets differ from one another."""

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import pytest

import fathom
from fathom import _core
from fathom.errors import FathomError, InterruptedRunError, UsageError, naming
from fathom.load.backend import EngineBackend
from fathom.load.initiator import ThisMachine
from fathom.load.resolve import resolve_targets
from fathom.method.compose import compose
from fathom.method.method import Step, load_method, parse_method
from fathom.plan.fit import check_fits
from fathom.runs.reader import Run
from fathom.runs.store import StepOutcome
from fathom.session import Options, SilentObserver, resume_run, start_run
from fathom.session.session import names_target
from fathom.session.stepper import Progress
from fathom.statistics.limits import limit_in
from fathom.targets import sysfs
from fathom.targets.claim import Claimed, claim
from fathom.targets.parse import parse_targets
from fathom.targets.sysfs import BlockDevice
from fathom.targets.target import Identity, Target

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
        assert point["window_s"] == pytest.approx(2.0)
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


@pytest.mark.parametrize("target", ["twin:wd-ultrastar-dc-hc560-20tb", "twin:samsung-pm9a3-7.68tb"])
def test_a_step_in_which_no_io_completes_has_no_figure_and_ends_the_run_as_failed(
    tmp_path: Path, target: str
) -> None:
    method = tmp_path / "empty.toml"
    method.write_text(
        """
schema = "fathom-method/1"
name = "empty"
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "256MiB"
pattern = "uniform"
load = { iodepth = 4 }
until = { time = "1ms" }
"""
    )
    with pytest.raises(FathomError, match=r"step read: no I/O completed in its window of 0\.001 s"):
        fathom.run(str(method), target)


def test_a_target_that_fails_most_of_its_io_ends_the_run_as_failed(tmp_path: Path) -> None:
    method = tmp_path / "placed.toml"
    method.write_text(
        """
schema = "fathom-method/1"
name = "appended"
title = "Zone appends to a drive without zones"
summary = "Does it say so?"
source = "this test"
[[steps]]
name = "write"
kind = "measure"
workload = "4k-rand-write"
label = "4 KiB random write"
[steps.job]
mix = "append"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 4 }
until = { time = "1s" }
"""
    )
    with pytest.raises(
        FathomError, match=r"step write: [\d,]+ of [\d,]+ I/O failed \([\d,]+ x Operation not supported"
    ):
        fathom.run(str(method), targets=[PM9A3], out=tmp_path / "runs")
    [path] = (tmp_path / "runs").iterdir()
    run = Run(path)
    assert run.document.status == "failed"
    assert run.points.to_pylist()[0]["errors"] > 0
    with pytest.raises(FathomError, match="I/O failed"):
        resume_run(path, Options())


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
    with pytest.raises(UsageError, match=r"nothing to measure: step placed left out: .*none to choose from"):
        fathom.run(str(method), targets=[PM9A3], out=runs)
    assert not runs.exists()
    assert fathom.run(str(method), targets=[PM9A3, E1S], out=runs).points.num_rows == 1


@pytest.mark.parametrize(("think", "limit"), [("20ms", "think time"), ("1us", "outstanding I/O")])
def test_a_load_is_limited_by_its_think_time_only_where_that_outlasts_the_io(
    think: str, limit: str, tmp_path: Path
) -> None:
    method = tmp_path / "thinking.toml"
    method.write_text(
        f"""
schema = "fathom-method/1"
name = "thinking"
[[steps]]
name = "write"
[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = {{ iodepth = 1, think = "{think}" }}
until = {{ time = "200ms" }}
"""
    )
    [point] = fathom.run(str(method), targets=[PM9A3], out=tmp_path / "runs").points.to_pylist()
    assert getattr(limit_in(point), "name", None) == limit


PRECISE = """
schema = "fathom-method/1"
name = "precise"
precision = "1%"
[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 32 }, until = { written = "1x" } }
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 8, iodepth = 32 }
until = { time = "8s" }
[[steps]]
name = "settle"
kind = "precondition"
workload = "write"
steady = { round = "2s", window = 2 }
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 64 }, until = { time = "8s" } }
[[steps]]
name = "write"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 64 }, until = { time = "6s" } }
"""


def test_a_precise_twin_ends_its_windows_early_and_comes_to_the_same_figures(tmp_path: Path) -> None:
    early, whole = tmp_path / "early.toml", tmp_path / "whole.toml"
    early.write_text(PRECISE)
    whole.write_text(PRECISE.replace('precision = "1%"\n', ""))
    target = "twin:wd-ultrastar-dc-sn861-7.68tb"
    runs = [fathom.run(str(method), targets=[target], seed=5, out=tmp_path) for method in (early, whole)]
    short, full = ({row["step"]: row for row in run.points.to_pylist()} for run in runs)
    assert short["read"]["window_s"] < full["read"]["window_s"] / 2
    assert (full["write"]["window_s"], full["read"]["window_s"]) == (6, 8)
    for step in ("write", "read"):
        assert short[step]["iops_low"] < full[step]["iops"] < short[step]["iops_high"]
        assert short[step]["iops"] == pytest.approx(full[step]["iops"], rel=0.02), step
        assert short[step]["mean_us"] == pytest.approx(full[step]["mean_us"], rel=0.03), step
        assert short[step]["mean_low_us"] < full[step]["mean_us"] < short[step]["mean_high_us"]
        for percentile in ("mean", "p50", "p99"):
            low, value, high = (full[step][f"{percentile}{end}_us"] for end in ("_low", "", "_high"))
            assert low <= value <= high
            assert high < 1.25 * low
    assert short["read"]["iops_high"] - short["read"]["iops_low"] <= 0.02 * short["read"]["iops"]


def test_a_method_in_json_is_resumed_as_it_began(
    tmp_path: Path, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    method = compose("both", "Both", "", [load_method(SHORT), load_method(SHORT)])
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
    assert all(text.partition(": ")[0] in note.text for text in said)


BURST = """
schema = "fathom-method/1"
name   = "burst"

[[steps]]
name = "burst"
[steps.job]
mix     = "read"
block   = "4KiB"
pattern = "uniform"
until   = { time = "8s" }
load    = { iodepth = 64, rate = RATES }
"""


def rates_of_a_burst(tmp_path: Path, *rates: tuple[str, str]) -> tuple[float | None, float, float | None]:
    """The rate that was measured, between the ends of its interval."""
    path = tmp_path / "burst.toml"
    listed = ", ".join(f'{{ rate = "{rate}", time = "{time}" }}' for rate, time in rates)
    path.write_text(BURST.replace("RATES", f"[{listed}]"))
    row = fathom.run(str(path), targets=[PM9A3], out=tmp_path).points.to_pylist()[0]
    return row["iops_low"], row["iops"], row["iops_high"]


def test_the_interval_of_a_rate_does_not_reach_below_nothing(tmp_path: Path) -> None:
    low, mean, high = rates_of_a_burst(tmp_path, ("9/s", "3s"), ("9k/s", "1s"), ("9/s", "4s"))
    assert low == 0
    assert high is not None
    assert 0 < mean < high


def test_a_rate_that_falls_throughout_has_no_interval(tmp_path: Path) -> None:
    assert rates_of_a_burst(tmp_path, ("9k/s", "3s"), ("9/s", "5s"))[::2] == (None, None)


READ_BACK = """
schema = "fathom-method/1"
name   = "read-back"

[[steps]]
name = "read"
[steps.job]
mix     = "read"
block   = "4KiB"
pattern = "sequential"
content = { verify = 1 }
until   = { count = 16 }
load    = { iodepth = 4 }
"""


def test_data_that_are_not_those_written_are_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "read-back.toml"
    path.write_text(READ_BACK)
    foreign = tmp_path / "foreign.bin"
    foreign.write_bytes(bytes(range(256)) * 4096)
    with pytest.raises(FathomError, match=r"16 of 16 I/O failed \(16 x the data read are not those written"):
        fathom.run(str(path), targets=[f"file:{foreign}"], out=tmp_path)


@dataclass
class DyingTarget(ThisMachine):
    """The file system of the target, as one of FUSE, loses its server at that moment."""

    at: str = ""

    def recheck(self, target: Target, *, writes: bool) -> None:
        """Nobody answers any more."""
        if self.at == "recheck":
            self._die(target)

    @contextmanager
    def claim(
        self, target: Target, *, writes: bool, destroy_tokens: Sequence[str] = (), unknown_data: bool = False
    ) -> Iterator[Claimed]:
        """Nobody answers when the target is let go."""
        with super().claim(
            target, writes=writes, destroy_tokens=destroy_tokens, unknown_data=unknown_data
        ) as held:
            yield held
        if self.at == "release":
            self._die(target)

    def _die(self, target: Target) -> None:
        raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN), str(target.path))


@pytest.mark.parametrize("at", ["recheck", "release"])
def test_a_target_whose_file_system_dies_is_one_error_with_the_path_of_the_run(
    tmp_path: Path, at: str
) -> None:
    method = Path(__file__).parent / "data" / "two-reads.toml"
    written = tmp_path / "writes.toml"
    written.write_text(method.read_text().replace('mix = "read"', 'mix = "write"'))
    options = Options(out=tmp_path / "runs", initiator=DyingTarget(at))
    targets = resolve_targets([f"file:{tmp_path / 'data.bin'}"], 1 << 20)
    with pytest.raises(FathomError, match="not connected; what was measured is in") as failed:
        start_run(load_method(str(written)), targets, options)
    [run] = (tmp_path / "runs").iterdir()
    assert str(run) in str(failed.value)
    assert str(tmp_path / "data.bin") in str(failed.value)


class FullDisk(SilentObserver):
    """Fails at the first figures of a step."""

    def progressed(self, target: Target, progress: Progress) -> None:
        """The disk with the run directory is full."""
        raise OSError("no room")


def test_no_load_goes_on_when_its_figures_cannot_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "read-on.toml"
    path.write_text(READ_BACK.replace("content = { verify = 1 }", "").replace("count = 16", 'time = "20s"'))
    data = tmp_path / "data.bin"
    data.write_bytes(bytes(1 << 20))
    options = Options(observer=FullDisk(), out=tmp_path / "runs")
    with pytest.raises(FathomError, match="no room") as failed:
        start_run(load_method(str(path)), parse_targets([f"file:{data}"]), options)
    # The traceback, which holds the step's frames, is still there.
    assert failed.tb
    names = [task.read_text() for task in Path("/proc/self/task").glob("*/comm")]
    assert not [name for name in names if name.startswith("io-")]


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


@pytest.mark.parametrize("rotational", [True, False])
@pytest.mark.parametrize("quick", [True, False])
def test_the_steady_state_of_a_real_ssd_is_not_asked_of_a_shortened_run(
    quick: bool, rotational: bool
) -> None:
    method = load_method("enterprise-steady-state", quick=quick)
    drive = Target(
        name="/dev/sdb",
        kind="device",
        label="Drive",
        path=Path("/dev/sdb"),
        capacity_bytes=480_000_000_000,
        logical_block_bytes=512,
        direct_align_bytes=512,
        identity=Identity(rotational=rotational),
    )
    if quick and not rotational:
        with pytest.raises(
            UsageError, match="shortened, enterprise-steady-state does not fill a drive"
        ) as refused:
            check_fits(method, drive)
        assert refused.value.hint == "run it without --quick, which takes 11 h 10 min"
    else:
        check_fits(method, drive)


@pytest.mark.parametrize("elsewhere", [True, False])
def test_the_hint_to_resume_names_the_run_as_it_can_be_found(
    elsewhere: bool, tmp_path: Path, runs_home: Path
) -> None:
    interrupt = Event()
    interrupt.set()
    home = tmp_path / "else where" if elsewhere else runs_home
    options = Options(interrupt=interrupt, out=home if elsewhere else None)
    with pytest.raises(InterruptedRunError) as stopped:
        start_run(load_method(SHORT), parse_targets(["null:"]), options)
    [path] = home.iterdir()
    named = f"'{path}'" if elsewhere else path.name
    assert str(stopped.value).endswith(f"continue with `fathom resume {named}`")


class Remover(SilentObserver):
    """Removes a file when a step begins."""

    def __init__(self, file: Path, step: str) -> None:
        self.file = file
        self.step = step

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        """Somebody tidies up."""
        if step.name == self.step:
            self.file.unlink()


def test_a_run_whose_file_was_removed_asks_for_a_new_run_and_is_not_resumed(tmp_path: Path) -> None:
    file = tmp_path / "made.bin"
    targets = parse_targets([f"file:{file}"], size_bytes=16 << 20)
    options = Options(observer=Remover(file, "precondition"), out=tmp_path / "runs")
    with pytest.raises(FathomError, match=r"the file is gone; what was measured is in .*; start a new run$"):
        start_run(load_method(SHORT), targets, options)
    [path] = (tmp_path / "runs").iterdir()
    with pytest.raises(FathomError, match="the file that this run began with is gone; start a new run"):
        resume_run(path, Options())
    assert not file.exists()


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
    monkeypatch.setattr(sysfs, "by_dev", lambda _: disk)
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


def test_an_error_that_does_not_name_its_target_gets_its_name(tmp_path: Path) -> None:
    [target] = parse_targets([f"file:{tmp_path / 'data'}"], size_bytes=1 << 20)
    [twin] = resolve_targets([PM9A3])
    [read] = [step for step in load_method(SHORT).steps if not step.job.destructive][:1]
    absent = _core.EngineTarget(str(target.path), "file", 1 << 20)
    with pytest.raises(_core.BackendError, match="cannot open") as of_engine:
        _core.start_engine(read.job, [absent], 1)
    with pytest.raises(FathomError) as of_checks, naming(target.name):
        raise FathomError("the file is another")
    assert of_engine.value.path == target.path
    assert names_target(of_engine.value, target)
    assert not names_target(of_engine.value, replace(target, path=tmp_path / "other"))
    assert names_target(of_checks.value, target)
    assert not names_target(FathomError(f"no space left for the journal beside {target.path}"), target)
    assert not names_target(_core.BackendError("a twin failed"), twin)
