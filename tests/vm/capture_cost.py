"""What it costs to capture a disk that answers at once: `fathom capture`, blktrace and `perf record` in one run, beside
the load alone. Prints CPU time for each I/O, the rate and what was lost.

    .venv/bin/python tests/vm/capture_cost.py [--ios N] [--rounds N]

Runs in a guest of `vmlab` whose clock counts instructions, 1 ns each, so that the load of this machine hardly changes
the figures. Every round has each of them once, beside the load alone: fio at depth 32. CPU time is that of the load,
which has the kernel's part of the tracing in it, and of the tool, from before the load to the end of the copying.
"""

import argparse
import json
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lab import ROOT, run_in_guest

from fathom import _core
from fathom.capture.session import BUFFER_BYTES, DEBUGFS

GUEST_S = 1500
SHIFT = "0,sleep=off"
"""An instruction of the guest takes 1 ns of its time, and the clock jumps over pauses."""
DISK = Path("/dev/nullb7")
SETTINGS = Path("/sys/kernel/config/nullb/nullb7")
WARM_UP_IOS = 5000


@dataclass
class Seen:
    """What a tool counted as lost, or the file of `perf record`, which counts nothing."""

    dropped: int = 0
    perf_data: Path | None = None

    def lost(self, ios: int) -> int:
        """Returns how many events of a load were lost. perf records two for each I/O."""
        return self.dropped if self.perf_data is None else max(0, 2 * ios - samples_of(self.perf_data))


def samples_of(perf_data: Path) -> int:
    """Returns how many events a file of `perf record` holds."""
    command = ["perf", "report", "-i", str(perf_data), "--stats"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"SAMPLE events: +(\d+)", said)
    return int(found[1]) if found else 0


def cpu_s() -> float:
    """Returns the CPU time in s of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def so_far_s(process: int) -> float:
    """Returns the CPU time in s that a process has had, and that `cpu_s` counts once it has ended."""
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def load(ios: int) -> float:
    """Reads from the disk. Returns the rate."""
    command = [
        *("fio", "--name=a", f"--filename={DISK}", "--rw=randread", "--bs=4k", "--direct=1", "--norandommap"),
        *("--ioengine=io_uring", "--registerfiles", "--fixedbufs", "--iodepth=32", f"--number_ios={ios}"),
        *("--size=100%", "--output-format=json"),
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(json.loads(said[said.index("{") :])["jobs"][0]["read"]["iops"])


@contextmanager
def nothing(folder: Path, seen: Seen) -> Iterator[Sequence[int]]:
    yield ()


@contextmanager
def fathom_capture(folder: Path, seen: Seen) -> Iterator[Sequence[int]]:
    capture = _core.Capture([DISK], folder, DEBUGFS, BUFFER_BYTES)
    yield ()
    seen.dropped = sum(one.lost for one in capture.stop())


@contextmanager
def blktrace(folder: Path, seen: Seen) -> Iterator[Sequence[int]]:
    tool = subprocess.Popen(
        ["blktrace", "-d", str(DISK), "-D", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    dropped = DEBUGFS / "block" / DISK.name / "dropped"
    while not dropped.exists():
        assert tool.poll() is None, tool.communicate()
        time.sleep(0.05)
    time.sleep(0.5)
    yield [tool.pid]
    seen.dropped = int(dropped.read_text())
    tool.send_signal(signal.SIGINT)
    tool.communicate(timeout=120)


@contextmanager
def perf(folder: Path, seen: Seen) -> Iterator[Sequence[int]]:
    """Records the tracepoints that bpftrace's `biosnoop` prints, by the same rings, without its work per event."""
    data = folder / "perf.data"
    events = [word for name in ("issue", "complete") for word in ("-e", f"block:block_rq_{name}")]
    tool = subprocess.Popen(
        ["perf", "record", "-a", "--no-buildid", "--no-buildid-cache", *events, "-o", str(data)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not data.exists() or not data.stat().st_size:
        assert tool.poll() is None, tool.communicate()
        time.sleep(0.05)
    time.sleep(0.5)
    yield [tool.pid]
    tool.send_signal(signal.SIGINT)
    tool.communicate(timeout=120)
    seen.perf_data = data


TOOLS = {
    "no capture": nothing,
    "fathom capture": fathom_capture,
    "blktrace": blktrace,
    "perf record": perf,
}


def make_disk() -> None:
    """Makes a disk that answers at once."""
    subprocess.run(["modprobe", "null_blk", "nr_devices=0"], check=True)
    SETTINGS.mkdir()
    for name, value in {"size": 1024, "irqmode": 0, "submit_queues": 2, "power": 1}.items():
        (SETTINGS / name).write_text(str(value))


def in_guest(ios: int, rounds: int, out: Path) -> None:
    """Measures, and writes a row for each tool and round."""
    make_disk()
    load(WARM_UP_IOS)
    rows: list[dict[str, object]] = []
    for number in range(1, rounds + 1):
        for name, tool in TOOLS.items():
            seen = Seen()
            with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
                with tool(Path(folder), seen) as processes:
                    began_s = cpu_s() + sum(map(so_far_s, processes))
                    iops = load(ios)
                took_s = cpu_s() - began_s
                written = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
                lost = seen.lost(ios)
            figures = {"iops": iops, "us": 1e6 * took_s / ios, "bytes": written / ios, "lost": lost}
            rows.append({"round": number, "tool": name, **figures})
            print(json.dumps(rows[-1]), flush=True)
    out.write_text(json.dumps(rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ios", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--inside", type=Path, metavar="FILE", help="measures here, and writes the rows")
    asked = parser.parse_args()
    if asked.inside is not None:
        in_guest(asked.ios, asked.rounds, asked.inside)
        return 0
    folder = ROOT / "target" / "capture-cost"
    folder.mkdir(parents=True, exist_ok=True)
    rows_file = folder / "rows.json"
    options = ["-t", str(GUEST_S), "-I", SHIFT]
    inside = ("--ios", asked.ios, "--rounds", asked.rounds, "--inside", rows_file)
    status = run_in_guest(options, Path(__file__), *inside)
    if status:
        return status
    rows = json.loads(rows_file.read_text())
    alone_us = median(row["us"] for row in rows if row["tool"] == "no capture")
    for name in TOOLS:
        own = [row for row in rows if row["tool"] == name]
        us, iops, size = (median(row[key] for row in own) for key in ("us", "iops", "bytes"))
        lost = sum(row["lost"] for row in own)
        each = ", ".join(f"{row['us']:.2f}" for row in own)
        print(
            f"{name}: {us:.2f} us of CPU for each I/O (+{us - alone_us:.2f}), {iops:,.0f} IOPS, {size:.0f} bytes for "
            f"each, {lost} events lost; the rounds: {each}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
