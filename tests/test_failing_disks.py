"""The disk under a run directory that fills, turns read-only or goes: one line with the run's path, nothing lost."""

import gc
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fathom.errors import ExitCode, FathomError
from fathom.load.resolve import resolve_targets
from fathom.method.method import Step, load_method
from fathom.runs import spool
from fathom.runs.check import check
from fathom.runs.home import run_directories
from fathom.runs.reader import Run
from fathom.runs.store import StepOutcome
from fathom.session import Options, SilentObserver, resume_run, start_run
from fathom.session.stepper import Progress
from fathom.targets.target import Target

METHOD = Path(__file__).parent / "data" / "two-reads.toml"
TARGETS = ("twin:samsung-pm9a3-7.68tb",)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Path]:
    """A small ext4 of its own; an error of the file system makes it read-only, as on disks that fail."""
    if os.geteuid() != 0:
        pytest.skip("needs root for mounts")
    image, folder = tmp_path / "image", tmp_path / "mount"
    image.write_bytes(b"")
    os.truncate(image, 16 << 20)
    folder.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    _mount(folder)
    yield folder
    subprocess.run(["umount", "-l", folder], check=False, stderr=subprocess.DEVNULL)


def _mount(folder: Path) -> None:
    image = folder.with_name("image")
    subprocess.run(["mount", "-o", "loop,errors=remount-ro", image, folder], check=True)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Run:
    options = Options(seed=5, out=tmp_path_factory.mktemp("unbroken"))
    return start_run(load_method(str(METHOD)), resolve_targets(TARGETS), options)


def fill(mount: Path) -> None:
    with suppress(OSError), (mount / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def empty(mount: Path) -> None:
    (mount / "filler").unlink()


def make_read_only(mount: Path) -> None:
    found = subprocess.run(["findmnt", "-no", "SOURCE", mount], capture_output=True, text=True, check=True)
    trigger = Path("/sys/fs/ext4") / Path(found.stdout.strip()).name / "trigger_fs_error"
    trigger.write_text("a test\n")


def check_and_mount(mount: Path) -> None:
    subprocess.run(["umount", mount], check=True)
    image = mount.with_name("image")
    subprocess.run(
        ["e2fsck", "-fy", image], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _mount(mount)


TROUBLES = {"full": (fill, empty), "read-only": (make_read_only, check_and_mount)}


class Trouble(SilentObserver):
    """Brings trouble at one moment of a run."""

    def __init__(self, at: str, bring: Callable[[], None]) -> None:
        self._at = at
        self._bring = bring
        self.came = False

    def _now(self, moment: str) -> None:
        if moment == self._at and not self.came:
            self.came = True
            self._bring()

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        self._now(f"start of {number}")

    def progressed(self, target: Target, progress: Progress) -> None:
        self._now("rows")

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        self._now(f"end of {step.name}")

    def target_ended(self, target: Target, error: str | None) -> None:
        self._now("end")


@pytest.mark.parametrize("at", ["start of 1", "rows", "end of first", "start of 2", "end of second", "end"])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_disk_that_takes_no_more_is_one_line_and_the_run_goes_on_when_it_does(
    mount: Path, monkeypatch: pytest.MonkeyPatch, unbroken: Run, trouble: str, at: str
) -> None:
    monkeypatch.setattr(spool, "ROWS_IN_MEMORY", 8)
    home = mount / "runs"
    monkeypatch.setenv("FATHOM_RUNS", str(home))
    bring, mend = TROUBLES[trouble]
    observer = Trouble(at, lambda: bring(mount))
    with pytest.raises(FathomError) as failed:
        start_run(load_method(str(METHOD)), resolve_targets(TARGETS), Options(seed=5, observer=observer))
    assert observer.came
    [run] = run_directories()
    assert f"cannot write the run directory {run}" in str(failed.value)
    assert failed.value.exit_code == ExitCode.FAILED
    assert check(run).damage == ()
    # The traceback holds the spool's file, which keeps the disk busy.
    del failed
    gc.collect()
    mend(mount)
    assert resume_run(run, Options()).points.equals(unbroken.points)
    assert check(run).whole


@pytest.mark.parametrize("at", ["rows", "end of first", "end"])
def test_a_disk_that_is_gone_is_one_line_with_the_path_of_the_run(
    mount: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    home = mount / "runs"
    monkeypatch.setenv("FATHOM_RUNS", str(home))
    observer = Trouble(at, lambda: subprocess.run(["umount", "-l", mount], check=True) and None)
    with pytest.raises(FathomError, match=f"cannot write the run directory {home}/"):
        start_run(load_method(str(METHOD)), resolve_targets(TARGETS), Options(observer=observer))
    assert observer.came
