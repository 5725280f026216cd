"""What a capture costs, and what it loses, on a RAM disk of this machine: `fathom capture` and `perf record` beside the
load alone.

fio reads 4 KiB at random from zram, with a job on each core: at 500,000 IOPS, and as fast as it can. Both tools take
the tracepoints of the block layer, here the two that a disk without requests has. CPU time is that of the load, which
has the kernel's part of the tracing in it, and of the tool, until all is written. Every repeat runs all in turn;
figures are medians over the repeats. It needs root and tracefs.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from harness import GATE_FAILED, MIB, load_note, progress, table, zram

from fathom import _core
from fathom.capture.session import BUFFER_BYTES, TRACEFS

SIZE_BYTES = 256 * MIB
RATE = 500_000
WARM_UP_S = 0.5
EVENTS = ("block:block_bio_queue", "block:block_bio_complete")


@dataclass
class Seen:
    """What a tool came to: CPU time in s, and events that found no room."""

    cpu_s: float = 0.0
    lost: int = 0


@dataclass(frozen=True)
class Cost:
    """A load under a tool."""

    iops: float
    cpu_us: float
    lost_share: float


@dataclass
class Costs:
    """Those of all repeats."""

    all: list[Cost] = field(default_factory=list)

    def median(self, what: Callable[[Cost], float]) -> float:
        """Returns the median of a figure."""
        return median(what(one) for one in self.all)


@contextmanager
def alone(disk: Path, folder: Path) -> Iterator[Seen]:
    """No tool."""
    yield Seen()


@contextmanager
def captured(disk: Path, folder: Path) -> Iterator[Seen]:
    """`fathom capture`, in this process, whose only work it is."""
    seen, before = Seen(), time.process_time()
    capture = _core.Capture([disk], folder, TRACEFS, BUFFER_BYTES, tracepoints=True)
    yield seen
    seen.lost = sum(one.lost for one in capture.stop())
    seen.cpu_s = time.process_time() - before


@contextmanager
def perf(disk: Path, folder: Path) -> Iterator[Seen]:
    """`perf record` with as large a buffer."""
    seen, out = Seen(), folder / "perf.data"
    words = [word for event in EVENTS for word in ("-e", event)]
    command = ["perf", "record", "-a", "-c", "1", "-m", str(BUFFER_BYTES), *words, "-o", str(out)]
    tool = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(WARM_UP_S)
    yield seen
    tool.terminate()
    assert tool.stderr is not None
    said = tool.stderr.read()
    _, _, used = os.wait4(tool.pid, 0)
    seen.cpu_s = used.ru_utime + used.ru_stime
    report = subprocess.run(
        ["perf", "report", "-i", out, "--stats"], capture_output=True, text=True, check=False
    )
    counts = re.findall(r"LOST_SAMPLES events:\s+(\d+)|LOST events:\s+(\d+)", report.stdout + said)
    seen.lost = sum(int(number) for pair in counts for number in pair if number)


def load(disk: Path, rate: int | None, time_s: float) -> tuple[float, int, float]:
    """Returns the rate of fio's jobs, their I/Os, and their CPU time in s."""
    jobs = len(os.sched_getaffinity(0))
    command = [
        "fio", "--name=a", f"--filename={disk}", "--rw=randread", "--bs=4k", "--direct=1", "--norandommap",
        "--ioengine=io_uring", "--registerfiles", "--fixedbufs", "--iodepth=32", "--size=100%", f"--numjobs={jobs}",
        "--iodepth_batch_submit=16", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=16",
        "--time_based", f"--runtime={time_s}", "--group_reporting", "--output-format=json",
        *([] if rate is None else [f"--rate_iops={rate // jobs}"]),
    ]  # fmt: skip
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"fio: exit status {os.waitstatus_to_exitcode(status)}")
    side = json.loads(said[said.index("{") :])["jobs"][0]["read"]
    return float(side["iops"]), int(side["total_ios"]), used.ru_utime + used.ru_stime


Tool = Callable[[Path, Path], AbstractContextManager[Seen]]
TOOLS: dict[str, Tool] = {"no capture": alone, "fathom capture": captured, "perf record": perf}


def cost(tool: Tool, disk: Path, rate: int | None, time_s: float) -> Cost:
    """Runs the load under the tool."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, tool(disk, Path(folder)) as seen:
        iops, ios, cpu_s = load(disk, rate, time_s)
    return Cost(iops, (cpu_s + seen.cpu_s) * 1e6 / ios, seen.lost / (2 * ios))


def rows(tools: Sequence[str], disk: Path, rate: int | None, time_s: float, repeats: int) -> list[list[str]]:
    """Returns a row for each tool."""
    costs = {name: Costs() for name in tools}
    for repeat in range(repeats):
        for name in tools:
            progress(f"{name}, repeat {repeat + 1} of {repeats}")
            costs[name].all.append(cost(TOOLS[name], disk, rate, time_s))
    asked = "no limit" if rate is None else f"{rate:,}"
    bare = costs["no capture"].median(lambda one: one.cpu_us)
    return [
        [
            name,
            asked,
            f"{own.median(lambda one: one.iops):,.0f}",
            f"{own.median(lambda one: one.cpu_us):.2f}",
            "" if own is costs["no capture"] else f"{own.median(lambda one: one.cpu_us) - bare:+.2f}",
            "" if own is costs["no capture"] else f"{100 * own.median(lambda one: one.lost_share):.2f} %",
        ]
        for name, own in costs.items()
    ]


def main() -> int:
    """Prints the table. Returns an exit code: 4 where a capture loses events."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one repeat of 1 s, whose figures are for nobody"
    )
    quick = parser.parse_args().quick
    missing = [name for name in ("fio", "perf") if shutil.which(name) is None]
    if "fio" in missing or os.geteuid() != 0 or not (TRACEFS / "instances").is_dir():
        print(f"capture: not measured; it needs root, fio and tracefs at {TRACEFS}")
        return 0
    tools = [name for name in TOOLS if name.split()[0] not in missing]
    note = load_note()
    time_s, repeats = (1.0, 1) if quick else (3.0, 3)
    try:
        with zram(SIZE_BYTES) as disk:
            found = [row for rate in (RATE, None) for row in rows(tools, Path(disk), rate, time_s, repeats)]
    except OSError as error:
        print(f"capture: not measured; {error}")
        return 0
    table(
        f"Captures of zram, {os.cpu_count()} cores, a buffer of {BUFFER_BYTES // MIB} MiB a core",
        ["tool", "IOPS asked", "IOPS", "CPU us an I/O", "more than alone", "events lost"],
        found,
    )
    if note:
        print(note)
    lossless = all(row[-1] == "0.00 %" for row in found if row[0] == "fathom capture")
    return 0 if quick or lossless else GATE_FAILED


if __name__ == "__main__":
    raise SystemExit(main())
