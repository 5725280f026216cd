"""What captures lose at high rates: `fathom capture`, blktrace and `perf record`, each under the same loads.

    .venv/bin/python tests/vm/capture_rates.py [--dilation N] [--rounds N]

An emulated processor is too slow for such rates. So the guest's clock goes more slowly than that of this machine, by
the dilation. In the guest's time its processors are faster by the same factor. Source of the idea: Gupta et al., "To
Infinity and Beyond: Time-Warped Network Emulation", NSDI 2006. A loop in Python shows how fast they then are, beside
this machine's. Every round has each tool once under each load.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from capture_cost import DISK, TOOLS, Seen, make_disk
from lab import ROOT, run_in_guest

GUEST_S = 6000
LOAD_S = 2
"""How long each load takes, in the guest's time."""
LOOPS = 1_000_000


@dataclass(frozen=True)
class Load:
    """Processes that read, and the rate that is asked of them."""

    jobs: int
    iops: int | None
    """None: as fast as they can."""

    def __str__(self) -> str:
        return f"{self.jobs} x " + ("no limit" if self.iops is None else f"{self.iops:,} IOPS")

    def run(self) -> tuple[float, int]:
        """Reads from the disk. Returns the rate, and the number of I/Os."""
        command = [
            *(
                "fio",
                "--name=a",
                f"--filename={DISK}",
                "--rw=randread",
                "--bs=4k",
                "--direct=1",
                "--norandommap",
            ),
            *("--ioengine=io_uring", "--registerfiles", "--fixedbufs", "--iodepth=32", "--size=100%"),
            *(
                "--iodepth_batch_submit=16",
                "--iodepth_batch_complete_min=1",
                "--iodepth_batch_complete_max=16",
            ),
            *("--time_based", f"--runtime={LOAD_S}", f"--numjobs={self.jobs}", "--group_reporting"),
            *("--output-format=json", *([] if self.iops is None else [f"--rate_iops={self.iops}"])),
        ]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        read = json.loads(said[said.index("{") :])["jobs"][0]["read"]
        return float(read["iops"]), int(read["total_ios"])


LOADS = (Load(1, 100_000), Load(1, 200_000), Load(1, 500_000), Load(1, None), Load(2, None))


def loop_s() -> float:
    """Returns how long a loop takes, in s: the least of three."""
    took: list[float] = []
    for _ in range(3):
        began, total = time.perf_counter(), 0
        for number in range(LOOPS):
            total += number * number % 7
        took.append(time.perf_counter() - began)
    return min(took)


def in_guest(rounds: int, out: Path) -> None:
    """Measures, and writes how long the loop took and a row for each load, tool and round."""
    took_s = loop_s()
    print(f"a loop in Python: {took_s:.3f} s", flush=True)
    make_disk()
    LOADS[-1].run()
    rows: list[dict[str, object]] = []
    for number in range(1, rounds + 1):
        for load in LOADS:
            for name, tool in TOOLS.items():
                seen = Seen()
                with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
                    with tool(Path(folder), seen):
                        iops, ios = load.run()
                    written = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
                    lost = seen.lost(ios)
                figures = {"iops": iops, "ios": ios, "bytes": written / ios, "lost": lost}
                rows.append({"round": number, "load": str(load), "tool": name, **figures})
                print(json.dumps(rows[-1]), flush=True)
    out.write_text(json.dumps({"loop_s": took_s, "rows": rows}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dilation", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--inside", type=Path, metavar="FILE", help="measures here, and writes the rows")
    asked = parser.parse_args()
    if asked.inside is not None:
        in_guest(asked.rounds, asked.inside)
        return 0
    folder = ROOT / "target" / "capture-cost"
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "rates.json"
    here_s = loop_s()
    options = ["-t", str(GUEST_S), "-D", str(asked.dilation)]
    status = run_in_guest(options, Path(__file__), "--rounds", asked.rounds, "--inside", out)
    if status:
        return status
    found = json.loads(out.read_text())
    print(f"a loop in Python: {found['loop_s']:.3f} s in the guest, {here_s:.3f} s on this machine")
    for load in map(str, LOADS):
        for name in TOOLS:
            own = [row for row in found["rows"] if row["load"] == load and row["tool"] == name]
            iops, size = (median(row[key] for row in own) for key in ("iops", "bytes"))
            lost = [row["lost"] for row in own]
            print(f"{load}, {name}: {iops:,.0f} IOPS, {size:.1f} bytes for each I/O, events lost: {lost}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
