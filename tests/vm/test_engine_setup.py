"""What the engine says that it achieved on NVMe, against the kernel's own account of it."""

import time
from pathlib import Path

import pytest
from vm_guest import GIB, counts, run, start

KINDS = {"device": "/dev/nvme2n1", "nvme-generic": "/dev/ng2n1"}
READS = {"mix": "read", "block": "4KiB", "pattern": "uniform"}


def interrupts(drive: str) -> int:
    """Those of the drive's I/O queues so far, on all cores; queue 0 is for admin commands."""
    rows = [line.split() for line in Path("/proc/interrupts").read_text().splitlines()]
    of_queues = [row for row in rows if row[-1].startswith(f"{drive}q") and row[-1] != f"{drive}q0"]
    assert of_queues
    return sum(int(word) for row in of_queues for word in row[1:] if word.isdigit())


@pytest.mark.parametrize("kind", KINDS)
def test_reads_that_are_called_polled_raise_no_interrupt(kind: str) -> None:
    assert Path("/sys/block/nvme2n1/queue/io_poll").read_text().strip() == "1"
    job = READS | {"load": {"iodepth": 1}, "until": {"count": 1000}}
    raised = {}
    for completions, mix in (("polled", {"read": 1}), ("not polled", {"read": 999, "flush": 1})):
        before = interrupts("nvme2")
        recording = run(kind, KINDS[kind], 2 * GIB, **job | {"mix": mix})
        raised[completions] = interrupts("nvme2") - before
        assert recording.setup["completions"] == completions
        assert sum(n for n, _ in counts(recording).values()) == 1000
    # The kernel's own reads, of a partition table for one, raise a few.
    assert raised["polled"] < 50, raised
    assert raised["not polled"] > 900, raised


def registered() -> set[str]:
    """What the kernel tells of the resources of this process's rings; it tells nothing of one that is just in use."""
    told = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            if "io_uring" in str(descriptor.readlink()):
                lines = Path("/proc/self/fdinfo", descriptor.name).read_text().splitlines()
                told |= {" ".join(line.split()) for line in lines if line.startswith("User")}
        except FileNotFoundError:
            continue
    return told


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_counts_the_registered_file_and_buffer_of_the_ring(kind: str) -> None:
    mix, load = {"read": 99, "flush": 1}, {"rate": "50/s", "iodepth": 4}
    handle = start(kind, KINDS[kind], 2 * GIB, **READS | {"mix": mix, "load": load, "until": {"time": "3s"}})
    told = set()
    while not handle.done():
        told |= registered()
        time.sleep(0.05)
        handle.poll(0)
    [recording] = handle.result()
    assert recording.setup["I/O buffers"].startswith("registered")
    assert "single-issuer, defer-taskrun, no-sqarray" in recording.setup["interface"]
    assert {"UserFiles: 1", "UserBufs: 1"} <= told, told
