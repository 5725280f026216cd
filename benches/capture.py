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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
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
    """What a tool came to: CPU time in s, and how many events it has, or found no room for."""

    cpu_s: float = 0.0
    recorded: int | None = None
    lost: int = 0


@dataclass(frozen=True)
class Cost:
    """A load under a tool."""

    iops: float
    cpu_us: float
    lost: float
    """Share of the events."""


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
    """`perf record` with as large a buffer. It does not report all that it loses: its file is counted."""
    seen, out = Seen(), folder / "perf.data"
    major, minor = map(int, Path(f"/sys/class/block/{disk.name}/dev").read_text().split(":"))
    of_disk = f"dev == {major << 20 | minor}"
    words = [word for event in EVENTS for word in ("-e", event, "--filter", of_disk)]
    command = ["perf", "record", "-a", "-c", "1", "-m", f"{BUFFER_BYTES // MIB}M", *words, "-o", str(out)]
    tool = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(WARM_UP_S)
    yield seen
    tool.terminate()
    _, _, used = os.wait4(tool.pid, 0)
    seen.cpu_s = used.ru_utime + used.ru_stime
    shown = subprocess.run(
        ["perf", "report", "-i", out, "--stats"], capture_output=True, text=True, check=True
    ).stdout
    counted = re.search(r"^\s*SAMPLE events:\s+(\d+)", shown, re.MULTILINE)
    assert counted is not None, shown
    seen.recorded = int(counted[1])


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
NONE = "no capture"
TOOLS: dict[str, Tool] = {NONE: alone, "fathom capture": captured, "perf record": perf}


def cost(tool: Tool, disk: Path, rate: int | None, time_s: float) -> Cost:
    """Runs the load under the tool."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, tool(disk, Path(folder)) as seen:
        iops, ios, cpu_s = load(disk, rate, time_s)
    events = len(EVENTS) * ios
    lost = seen.lost if seen.recorded is None else max(events - seen.recorded, 0)
    return Cost(iops, (cpu_s + seen.cpu_s) * 1e6 / ios, lost / events)


def costs(tools: Sequence[str], disk: Path, rate: int | None, time_s: float, repeats: int) -> dict[str, Cost]:
    """Returns the medians of each tool."""
    all_of: dict[str, list[Cost]] = {name: [] for name in tools}
    for repeat in range(repeats):
        for name in tools:
            progress(f"{name}, repeat {repeat + 1} of {repeats}")
            all_of[name].append(cost(TOOLS[name], disk, rate, time_s))
    return {
        name: Cost(
            median(one.iops for one in own),
            median(one.cpu_us for one in own),
            median(one.lost for one in own),
        )
        for name, own in all_of.items()
    }


def rows(rate: int | None, found: Mapping[str, Cost]) -> list[list[str]]:
    """Returns a row for each tool; what is lost and added is nothing without one."""
    asked = "no limit" if rate is None else f"{rate:,}"
    bare = found[NONE]
    return [
        [
            name,
            asked,
            f"{own.iops:,.0f}",
            f"{own.cpu_us:.2f}",
            "" if name == NONE else f"{own.cpu_us - bare.cpu_us:+.2f}",
            "" if name == NONE else f"{100 * own.lost:.2f} %",
        ]
        for name, own in found.items()
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
    with ExitStack() as stack:
        try:
            disk = Path(stack.enter_context(zram(SIZE_BYTES)))
        except OSError as error:
            print(f"capture: not measured; {error}")
            return 0
        found = {rate: costs(tools, disk, rate, time_s, repeats) for rate in (RATE, None)}
    table(
        f"Captures of zram, {os.cpu_count()} cores, a buffer of {BUFFER_BYTES // MIB} MiB a core",
        ["tool", "IOPS asked", "IOPS", "CPU us an I/O", "more than alone", "events lost"],
        [row for rate, own in found.items() for row in rows(rate, own)],
    )
    if note:
        print(note)
    lossless = not any(own["fathom capture"].lost for own in found.values())
    return 0 if quick or lossless else GATE_FAILED


if __name__ == "__main__":
    raise SystemExit(main())
