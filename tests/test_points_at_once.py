"""Points of a curve on a twin begin each from a copy of what the maximum left, so their order and number at once are
no part of their figures.
"""

import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, current_thread

import pytest

from fathom.errors import FathomError, InterruptedRunError
from fathom.load.backend import TwinBackend
from fathom.load.initiator import ThisMachine
from fathom.method.method import Method, Step, parse_method
from fathom.runs.document import RunDocument
from fathom.runs.reader import Run
from fathom.runs.store import RunStore, StepOutcome
from fathom.session import Options, SilentObserver, resume_run, start_run, step_run
from fathom.session.helpers import Helpers
from fathom.session.in_turn import InTurn
from fathom.session.options import Observer
from fathom.session.schedule import Schedule
from fathom.targets.target import Target

PM9A3 = "twin:samsung-pm9a3-7.68tb"
TABLES = ("points", "intervals", "latency", "telemetry")
CURVE = """
schema = "fathom-method/1"
name = "one-curve"
slice = "1GiB"
[[steps]]
name = "writes"
kind = "curve"
fill = "1x"
{curve}
[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = {{ threads = 4, iodepth = 8 }}
until = {{ time = "100ms" }}
[[steps]]
name = "after"
job = {{ mix = "write", block = "4KiB", pattern = "uniform", load = {{ iodepth = 4 }}, until = {{ time = "50ms" }} }}
"""
POINTS = (
    'curve = { points = ["40%", "80%", "100%", "120%"], time = "80ms", slo = { p99 = "400us", steps = 2 } }'
)
NAMES = ["writes", *(f"writes@{one}" for one in ("40", "80", "100", "120", "slo-1", "slo-2")), "after"]


def curve(points: str = POINTS) -> Method:
    return parse_method(CURVE.format(curve=points), "one-curve.toml")


def ran(out: Path, at_once: int, text: str = PM9A3, observer: Observer | None = None) -> Run:
    options = Options(out=out, at_once=at_once, observer=observer or SilentObserver())
    return start_run(curve(), ThisMachine().resolve([text]), options)


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return ran(tmp_path_factory.mktemp("serial"), at_once=1)


class Watcher(SilentObserver):
    """Keeps the steps that end. Fails where one is shown before another has ended."""

    def __init__(self) -> None:
        self.running: str | None = None
        self.ended: list[str] = []
        self.threads: set[str] = set()

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        assert self.running in (None, step.name)
        self.running = step.name

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        assert self.running == step.name
        self.running = None
        self.ended.append(step.name)
        self.threads.add(current_thread().name)


def test_points_at_once_have_the_bits_that_they_have_one_by_one_in_the_methods_order(
    serial: Run, tmp_path: Path
) -> None:
    seen = Watcher()
    at_once = ran(tmp_path, at_once=4, observer=seen)
    for name in TABLES:
        assert serial.table(name).equals(at_once.table(name)), name
    assert [row["step"] for row in at_once.points.to_pylist()] == [one for one in NAMES if one in seen.ended]
    assert sorted(seen.ended) == sorted({"fill-writes", *seen.ended})
    assert {"writes@40", "writes@120", "after"} <= set(seen.ended)


def test_what_points_write_changes_nothing_for_a_later_step(serial: Run, tmp_path: Path) -> None:
    method = curve(
        'curve = { points = ["40%", "80%", "100%", "150%"], time = "160ms", slo = { p99 = "1us", steps = 2 } }'
    )
    other = start_run(method, ThisMachine().resolve([PM9A3]), Options(out=tmp_path))
    [here], [there] = (
        [row for row in run.points.to_pylist() if row["step"] == "after"] for run in (serial, other)
    )
    assert here == there


def test_a_resumed_run_simulates_what_a_missing_point_begins_from_and_no_other_point(
    serial: Run,
    interrupted: Callable[[Path, Iterable[str]], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulated: list[str] = []
    run_step = step_run.run_step

    def counted(backend: TwinBackend, step: Step, *rest: object) -> object:
        simulated.append(step.name)
        return run_step(backend, step, *rest)  # type: ignore[arg-type]

    [lost] = [one.name for one in (serial.path / "steps").iterdir() if one.name.endswith("writes@80")]
    copy = interrupted(serial.path, [lost])
    monkeypatch.setattr(step_run, "run_step", counted)
    resumed = resume_run(copy, Options())
    assert simulated == ["fill-writes", "writes", "writes@80"]
    for name in TABLES:
        assert serial.table(name).equals(resumed.table(name)), name


@pytest.mark.parametrize("at_once", [1, 2])
def test_no_more_copies_live_than_simulations_run_at_once(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive: weakref.WeakSet[TwinBackend] = weakref.WeakSet()
    most = 0
    make = TwinBackend._copied

    def watched(twin: TwinBackend) -> TwinBackend:
        nonlocal most
        copied = make(twin)
        alive.add(copied)
        most = max(most, len(alive))
        return copied

    monkeypatch.setattr(TwinBackend, "_copied", watched)
    ran(tmp_path, at_once)
    assert 1 <= most <= at_once


@pytest.mark.parametrize("text", [f"{PM9A3}*2", f"{PM9A3}/xfs"])
def test_points_of_an_array_and_of_a_file_system_begin_from_copies_too(text: str, tmp_path: Path) -> None:
    one, other = (ran(tmp_path / str(at_once), at_once, text) for at_once in (1, 3))
    for name in TABLES:
        assert one.table(name).equals(other.table(name)), name


def test_an_interrupt_among_points_keeps_those_that_ended_and_the_rest_follows(
    serial: Run, tmp_path: Path
) -> None:
    class Hurried(SilentObserver):
        def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
            if step.kind == "point":
                interrupt.set()

    interrupt = Event()
    options = Options(out=tmp_path, at_once=2, observer=Hurried(), interrupt=interrupt)
    with pytest.raises(InterruptedRunError):
        start_run(curve(), ThisMachine().resolve([PM9A3]), options)
    [path] = tmp_path.glob("*-one-curve-*")
    resumed = resume_run(path, Options())
    for name in TABLES:
        assert serial.table(name).equals(resumed.table(name)), name


MIXES = """
schema = "fathom-method/1"
name = "mixes"
slice = "1GiB"
[[steps]]
name = "settled"
fill = "1x"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 32 }, until = { time = "100ms" } }
[[steps]]
name = "mix"
on_copy = true
sweep = [{ key = "mix", values = ["write", { read = 50, write = 50 }, "read"], names = ["w", "m", "r"] }]
job = { block = "4KiB", pattern = "uniform", load = { iodepth = 32 }, until = { time = "50ms" } }
[[steps]]
name = "half"
on_copy = true
offered = { of = "mix-m", share = "50%" }
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 8 }, until = { time = "50ms" } }
"""


def test_steps_on_copies_have_the_same_bits_at_once_and_what_needs_one_of_them_follows_it(
    tmp_path: Path,
) -> None:
    method = parse_method(MIXES, "mixes.toml")
    targets = ThisMachine().resolve([PM9A3])
    one, other = (start_run(method, targets, Options(out=tmp_path, at_once=number)) for number in (1, 3))
    for name in TABLES:
        assert one.table(name).equals(other.table(name)), name
    schedule = Schedule(RunStore(one.path, RunDocument.load(one.path)), method, targets[0], 0)
    names = [[key.name for key in group] for group in schedule.side_by_side(schedule.keys)]
    assert names == [["fill-settled"], ["settled"], ["mix-w", "mix-m", "mix-r"], ["half"]]


def test_what_a_mix_writes_changes_nothing_for_the_next(tmp_path: Path) -> None:
    targets = ThisMachine().resolve([PM9A3])
    reads = []
    for first in ('"write"', "{ read = 90, write = 10 }"):
        text = MIXES.replace('values = ["write"', f"values = [{first}")
        run = start_run(parse_method(text, "mixes.toml"), targets, Options(out=tmp_path))
        reads.append([row for row in run.points.to_pylist() if row["step"] == "mix-r"])
    assert reads[0] == reads[1]


class Pieces:
    """Work in pieces, by the helpers of a pool of that many threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.done: list[int] = []

    def share(self, pieces: int, work: Callable[[int, Observer], None] | None = None) -> None:
        [target] = ThisMachine().resolve([PM9A3])
        [voice] = InTurn(SilentObserver(), target, 1).voices
        with ThreadPoolExecutor(self.threads) as pool:
            busy = Helpers(pool, self.threads, voice)
            pool.submit(busy.share, range(pieces), work or self._do).result()

    def _do(self, piece: int, observer: Observer) -> None:
        self.done.append(piece)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_piece_is_done_once_however_many_threads_are_free(threads: int) -> None:
    pieces = Pieces(threads)
    pieces.share(40)
    assert sorted(pieces.done) == list(range(40))


def test_after_an_error_no_piece_is_begun_and_the_error_is_raised() -> None:
    pieces = Pieces(2)

    def fails(piece: int, observer: Observer) -> None:
        pieces.done.append(piece)
        raise FathomError(f"piece {piece}")

    with pytest.raises(FathomError, match="piece"):
        pieces.share(40, fails)
    assert len(pieces.done) <= 2
