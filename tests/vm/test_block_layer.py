"""What the kernel's block layer does to I/O, and what a run says of it: counters, limits, splitting, schedulers."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from vm_guest import sh

from fathom.errors import RefusedError, UsageError
from fathom.method.method import load_method, parse_method
from fathom.plan.fit import check_fits
from fathom.runs.document import NoteRecord
from fathom.runs.reader import Run
from fathom.session import Options, start_run
from fathom.targets.parse import parse_targets
from fathom.targets.safety import destroy_token

DISK = Path("/sys/block/nvme2n1")
GROUPS = Path("/sys/fs/cgroup")
STEPS = """
schema = "fathom-method/1"
name = "short"
[[steps]]
name = "write"
[steps.job]
mix = "write"
block = "256KiB"
region = "64MiB"
pattern = "sequential"
load = { threads = 1, iodepth = 4 }
until = { written = "1x" }
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "64KiB"
region = "64MiB"
pattern = "uniform"
load = { threads = 1, iodepth = 4 }
until = { time = "3s" }
"""


Setting = Callable[[Path, str], None]


@pytest.fixture
def setting() -> Iterator[Setting]:
    """Changes settings of the kernel for a test."""
    before: dict[Path, str] = {}

    def change(path: Path, value: str) -> None:
        words = path.read_text().split()
        before[path] = next((word.strip("[]") for word in words if word.startswith("[")), words[0])
        path.write_text(value)

    yield change
    for path, value in before.items():
        path.write_text(value)


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group that this process is in."""
    if not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        sh("mount", "-t", "cgroup2", "none", "/sys/fs/cgroup")
    (GROUPS / "cgroup.subtree_control").write_text("+io")
    made = GROUPS / "limited"
    made.mkdir()
    (made / "cgroup.procs").write_text(str(os.getpid()))
    yield made
    (GROUPS / "cgroup.procs").write_text(str(os.getpid()))
    made.rmdir()


def measured(target: str, out: Path, steps: str = STEPS) -> Run:
    (parsed,) = parse_targets([target])
    options = Options(out=out, destroy=(destroy_token(parsed.identity),), unknown_data=True)
    return start_run(parse_method(steps, "short.toml"), [parsed], options)


def rules(run: Run) -> dict[str, NoteRecord]:
    return {note.rule: note for note in run.document.notes}


def test_a_run_by_passthrough_is_not_said_to_miss_the_device(tmp_path: Path) -> None:
    run = measured("/dev/ng2n1", tmp_path)
    assert "not-on-device" not in rules(run)
    assert (
        "traffic of the device (the kernel does not count I/O by passthrough)"
        in rules(run)["not-measured"].text
    )


def test_a_run_on_a_device_whose_io_is_not_counted_is_not_said_to_miss_it(
    setting: Setting, tmp_path: Path
) -> None:
    setting(DISK / "queue/iostats", "0")
    run = measured("/dev/nvme2n1", tmp_path)
    assert "not-on-device" not in rules(run)
    assert "queue/iostats of nvme2n1 is 0" in rules(run)["not-measured"].text


def test_blocks_that_the_kernel_splits_are_noted_and_by_passthrough_refused(
    setting: Setting, tmp_path: Path
) -> None:
    setting(DISK / "queue/max_sectors_kb", "128")
    note = rules(measured("/dev/nvme2n1", tmp_path))["split-io"]
    assert note.text.startswith("the kernel splits I/O of 256 KiB into commands of at most 128 KiB")
    with pytest.raises(UsageError, match="blocks of 8 MiB; by passthrough a block is one command"):
        measured("/dev/ng2n1", tmp_path, STEPS.replace("256KiB", "8MiB"))


def test_a_rate_that_a_control_group_limits_is_noted_and_not_claimed(group: Path, tmp_path: Path) -> None:
    number = (DISK / "dev").read_text().strip()
    (group / "io.max").write_text(f"{number} riops=200")
    run = measured("/dev/nvme2n1", tmp_path)
    note = rules(run)["io-limit"]
    assert (note.step, note.level) == ("read", "warning")
    assert note.text.startswith("the control group of this process allows 200 IOPS of reads")
    assert 150 < run.points["iops"].to_pylist()[-1] < 250
    by_passthrough = measured("/dev/ng2n1", tmp_path)
    assert "io-limit" not in rules(by_passthrough)
    assert by_passthrough.points["iops"].to_pylist()[-1] > 400


def test_a_scheduler_that_orders_the_io_of_an_ssd_is_noted(setting: Setting, tmp_path: Path) -> None:
    sh("modprobe", "mq-deadline")
    setting(DISK / "queue/scheduler", "mq-deadline")
    assert "scheduler mq-deadline orders" in rules(measured("/dev/nvme2n1", tmp_path))["io-scheduler"].text
    assert "io-scheduler" not in rules(measured("/dev/ng2n1", tmp_path))


@pytest.mark.parametrize("method", ["four-corners", "gpu-feed"])
def test_a_method_that_zones_must_refuse_is_refused_before_the_run(method: str) -> None:
    for name in ("/dev/nvme1n1", "/dev/ng1n1"):
        (zoned,) = parse_targets([name])
        with pytest.raises(UsageError, match="takes writes at the write pointers of its zones only"):
            check_fits(load_method(method), zoned)


def test_a_format_that_jobs_cannot_use_is_refused_before_the_run() -> None:
    in_use, beside, within = "4", "1", "5"
    try:
        sh("nvme", "format", "/dev/nvme2n1", "--force", "-l", beside)
        (block,), (generic,) = parse_targets(["/dev/nvme2n1"]), parse_targets(["/dev/ng2n1"])
        check_fits(load_method("four-corners"), block)
        with pytest.raises(UsageError, match="its blocks carry 8 B of metadata"):
            check_fits(load_method("four-corners"), generic)
        # The kernel has no use for metadata within the blocks' data: the device has no size.
        sh("nvme", "format", "/dev/nvme2n1", "--force", "-l", within, "--ms", "1")
        (unusable,) = parse_targets(["/dev/nvme2n1"])
        with pytest.raises(RefusedError, match="has no medium"):
            check_fits(load_method("four-corners"), unusable)
    finally:
        sh("nvme", "format", "/dev/nvme2n1", "--force", "-l", in_use)
