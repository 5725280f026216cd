"""Long runs keep their memory and file descriptors: a day of virtual time, and hours of real time.

`FATHOM_SOAK_SECONDS` is the length of the real run, two hours without it; the virtual day shrinks with it.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

REAL_S = int(os.environ.get("FATHOM_SOAK_SECONDS", "7200"))
VIRTUAL_S = 12 * REAL_S
SAMPLE_S = 0.5
MOST_GROWTH_BYTES = 32 << 20
"""Allocators keep some of what a second's tables took; a leak of 100 bytes a row exceeds this within the hour."""


@dataclass(frozen=True)
class Sample:
    """What a process holds at one moment."""

    resident_bytes: int
    descriptors: int


def method(folder: Path, seconds: int, load: str) -> Path:
    path = folder / "soak.toml"
    path.write_text(
        f"""
schema = "fathom-method/1"
name = "soak"
# A twin's memory grows until its flash has been written once: 4 bytes for each page of it. A slice is soon written.
slice = "8GB"
[[steps]]
name = "soak"
[steps.job]
mix = {{ read = 70, write = 30 }}
block = "4KiB"
pattern = "uniform"
# A twin keeps nothing of blocks that nobody wrote: a small region is written at once, and the map no longer grows.
region = {{ size = "up to 1GiB" }}
load = {load}
until = {{ time = "{seconds}s" }}
"""
    )
    return path


def watched(command: list[str], out: Path) -> list[Sample]:
    """Runs the command to its end and returns what it held while its step ran. Raises AssertionError when it fails."""
    samples = []
    log = out.with_suffix(".log")
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        while process.poll() is None:
            sample = _sample(process.pid)
            if sample and _in_step(out):
                samples.append(sample)
            time.sleep(SAMPLE_S)
    assert process.returncode == 0, log.read_text(errors="replace")[-4000:]
    return samples


def _in_step(out: Path) -> bool:
    journals = [path.read_text() for path in out.glob("*/journal.jsonl")]
    return any('"step-start"' in journal and '"step-end"' not in journal for journal in journals)


def _sample(pid: int) -> Sample | None:
    """Returns None when the process has ended meanwhile."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208
    except OSError:
        return None
    resident = next((line for line in status.splitlines() if line.startswith("VmRSS")), None)
    return Sample(int(resident.split()[1]) << 10, descriptors) if resident else None


def check_flat(samples: list[Sample]) -> None:
    """Compares the third quarter with the second: the first warms up, the last may end the step."""
    quarter = len(samples) // 4
    second, third = samples[quarter : 2 * quarter], samples[2 * quarter : 3 * quarter]
    assert quarter >= 5, f"{len(samples)} samples are too few to see growth"
    # A sample may meet a file that is open for an instant; a leak raises the least too.
    assert min(one.descriptors for one in third) <= min(one.descriptors for one in second)
    growth = max(one.resident_bytes for one in third) - max(one.resident_bytes for one in second)
    assert growth <= MOST_GROWTH_BYTES, f"resident memory grew by {growth >> 20} MiB"


@pytest.mark.parametrize(
    ("target", "seconds", "load"),
    [
        ("null:", REAL_S, "{ threads = 2, iodepth = 32, rate = '200k/s' }"),
        ("twin:micron-m510dc-480gb", VIRTUAL_S, "{ iodepth = 1 }"),
    ],
)
def test_memory_and_descriptors_of_a_long_run_stay_flat(
    tmp_path: Path, target: str, seconds: int, load: str
) -> None:
    fathom = [sys.executable, "-m", "fathom"]
    out = tmp_path / "runs"
    run = ["run", str(method(tmp_path, seconds, load)), target, "--out", str(out)]
    check_flat(watched([*fathom, *run], out))


def test_a_full_size_soak_on_a_file_stays_flat_and_every_second_is_there(tmp_path: Path) -> None:
    import fathom

    path = method(tmp_path, REAL_S, "{ iodepth = 8, rate = '2k/s' }")
    target = f"file:{tmp_path / 'scratch.bin'}"
    out = tmp_path / "runs"
    options = ["run", str(path), target, "--size", "256MiB", "--out", str(out)]
    check_flat(watched([sys.executable, "-m", "fathom", *options], out))
    [run] = out.iterdir()
    found = fathom.open_run(run).intervals.column("index").to_pylist()
    assert sorted(set(found)) == list(range(len(set(found))))
    assert abs(len(set(found)) - REAL_S) <= 1
