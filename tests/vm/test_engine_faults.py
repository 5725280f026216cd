"""I/O in flight while a drive is removed or its controller reset, by the kernel's own means."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from vm_guest import GIB, start

from fathom import _core

KINDS = {"device": "/dev/nvme2n1", "nvme-generic": "/dev/ng2n1"}
LOAD = {"mix": "read", "block": "4KiB", "pattern": "uniform", "until": {"time": "20s"}}


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def seconds(handle: _core.Handle, n: int) -> None:
    """Until that many seconds have been reported."""
    seen = 0
    while seen < n:
        seen += len(handle.poll())


def finished(handle: _core.Handle) -> _core.Recording:
    while not handle.done():
        handle.poll()
    return handle.result()[0]


@pytest.fixture
def drive() -> Iterator[Path]:
    """The ordinary drive's PCI function, brought back at the end."""
    function = Path("/sys/class/nvme/nvme2/device").resolve()
    yield function
    Path("/sys/bus/pci/rescan").write_text("1")
    wait_until(lambda: all(Path(path).exists() for path in KINDS.values()))


@pytest.mark.parametrize("polled", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_drive_that_is_removed_under_load_ends_the_run_with_what_was_measured(
    drive: Path, kind: str, polled: bool
) -> None:
    job = LOAD if polled else LOAD | {"mix": {"read": 99, "flush": 1}}
    handle = start(kind, KINDS[kind], 2 * GIB, **job)
    seconds(handle, 1)
    removed = time.monotonic()
    (drive / "remove").write_text("1")
    with pytest.raises(_core.BackendError) as failed:
        finished(handle)
    assert time.monotonic() - removed < 15
    assert "the device is gone" in str(failed.value) or "no longer there" in str(failed.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_controller_that_is_reset_under_load_is_a_wait_and_loses_nothing(kind: str) -> None:
    handle = start(kind, KINDS[kind], 2 * GIB, **LOAD | {"until": {"time": "6s"}})
    seconds(handle, 1)
    Path("/sys/class/nvme/nvme2/reset_controller").write_text("1")
    recording = finished(handle)
    [read] = recording.ops
    assert (read.errors, recording.errno, recording.notes) == (0, {}, [])
    assert read.max_us is not None
    assert read.max_us > 20_000
