"""How runs end when a target, a disk or a backend fails: the error, the run that stays, what resume says."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import pytest

import fathom
from fathom import _core
from fathom.errors import FathomError, InterruptedRunError, naming
from fathom.load.initiator import ThisMachine
from fathom.load.resolve import resolve_targets
from fathom.method.method import Step, load_method
from fathom.runs.reader import Run
from fathom.runs.store import RunStore
from fathom.session import Options, SilentObserver, resume_run, start_run
from fathom.session.session import AS_BEFORE, names_target
from fathom.session.stepper import Progress
from fathom.targets.claim import Claimed
from fathom.targets.parse import parse_targets
from fathom.targets.target import Target

SHORT = str(Path(__file__).parent / "data" / "short.toml")
PM9A3 = "twin:samsung-pm9a3-7.68tb"


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
    with pytest.raises(FathomError, match=r"step read: no I/O completed in its window of 0\.001 s") as raised:
        fathom.run(str(method), target)
    assert raised.value.hint == AS_BEFORE


@pytest.mark.parametrize("target", ["null:", PM9A3])
def test_a_step_in_whose_window_no_io_is_due_says_that_it_has_no_figures(target: str, tmp_path: Path) -> None:
    text = """
schema = "fathom-method/1"
name = "rare"
[[steps]]
name = "rare"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 1, rate = "0.001/s" }, until = UNTIL }
[[steps]]
name = "some"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = UNTIL }
"""
    run = fathom.run(text.replace("UNTIL", '{ time = "50ms" }'), target, out=tmp_path)
    assert run.points["step"].to_pylist() == ["some"]
    [said] = [note.text for note in run.notes if "due" in note.text]
    assert said == "step rare: no I/O was due in its window of 0.05 s, so it has no figures"


def test_a_disk_that_is_full_while_a_twin_runs_leaves_a_run_to_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "spool")

    monkeypatch.setattr(RunStore, "finish_step", full)
    with pytest.raises(FathomError, match="No space left on device") as raised:
        fathom.run(SHORT, PM9A3, out=tmp_path)
    assert (raised.value.hint or "").startswith("remove the cause, then `fathom resume ")


@pytest.mark.parametrize("at", ["compact", "seal"])
def test_a_disk_that_is_full_when_the_run_ends_leaves_a_run_to_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    def full(_: RunStore) -> None:
        raise FathomError("cannot write the run directory", "free some space there")

    with monkeypatch.context() as patch:
        patch.setattr(RunStore, at, full)
        with pytest.raises(FathomError, match="cannot write the run directory; what was measured") as raised:
            fathom.run(SHORT, PM9A3, out=tmp_path)
    [run] = tmp_path.iterdir()
    assert raised.value.hint == f"remove the cause, then `fathom resume {run}`"
    assert fathom.resume_run(run).document.status == "complete"


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
    # A busy disk may complete no write within 20 ms, which is another error.
    written.write_text(method.read_text().replace('mix = "read"', 'mix = "write"').replace("20ms", "400ms"))
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


def test_the_hint_to_resume_repeats_the_permissions_that_the_run_had(tmp_path: Path) -> None:
    interrupt = Event()
    interrupt.set()
    options = Options(interrupt=interrupt, out=tmp_path, destroy=("S1", "loop0:/a b"), unknown_data=True)
    with pytest.raises(InterruptedRunError) as stopped:
        start_run(load_method(SHORT), parse_targets(["null:"]), options)
    assert str(stopped.value).endswith(" --destroy S1 --destroy 'loop0:/a b' --unknown-data`")


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
    assert names_target(of_engine.value, replace(target, path=tmp_path / "block", passthrough=target.path))
    assert names_target(of_checks.value, target)
    assert not names_target(FathomError(f"no space left for the journal beside {target.path}"), target)
    assert not names_target(_core.BackendError("a twin failed"), twin)
