"""Real databases through all that a recorded load is for: captured, characterised, fitted, replayed on the same device
and on twins, recommended for. Prints the figures; ends with 1 where a replay misses a bar.

    .venv/bin/python tests/vm/databases.py [--seconds N] [--timing NAME] [--captures N] [--clock CLOCK] [CASE]...

A case is FILE-SYSTEM-DATABASE; all four are the default and take about ten minutes each. The databases run on a loop
device of a guest of `vmlab`, whose clock counts instructions, so that the load of this machine changes no latency.
A case may be captured several times, each time on a new file system and with replays of its own.
The bars compare the block layer's latency in both captures: IOPS within 3 %, mean latency within 10 %, medians of 5.
"""

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
from lab import HERE, ROOT, run_in_guest

from fathom._core import TRACE_OPERATIONS
from fathom.traces.batch import NO_LATENCY
from fathom.traces.opening import open_trace

WORK = ROOT / "target" / "databases"
CASES = ["-".join(case) for case in product(("ext4", "xfs"), ("pgbench", "sqlite"))]
REPLAYS = 5
GUEST_S = 1500
"""The longest that a guest may take."""
CLOCK = "0,sleep=off"
"""An instruction of the guest takes 1 ns of its time, and the clock jumps over pauses. At 4 ns its processors are short
in bursts of the load, and latencies are then those of a queue for processors."""
MOST_IOPS, MOST_LATENCY = 0.03, 0.10
TWINS = (
    "samsung-pm9a3-7.68tb",
    "samsung-pm1743-7.68tb",
    "kioxia-cm7-r-7.68tb",
    "solidigm-d5-p5336-61.44tb",
    "wd-ultrastar-dc-hc560-20tb",
)


@dataclass(frozen=True)
class Seen:
    """What the block layer saw of a load."""

    iops: float
    mean_us: float
    of_ops: dict[str, tuple[int, float]]
    """I/Os of each operation, and their mean latency in us."""


def seen(path: Path, *, replay: bool) -> Seen:
    """Returns rates and latencies of a trace; of a replay without what the checks before a run read."""
    trace = open_trace(path)
    batches = list(trace.batches())
    ops, latency, issued, process, size = (
        np.concatenate([getattr(batch, name) for batch in batches])
        for name in ("operation", "latency_ns", "issue_ns", "process", "size_bytes")
    )
    own = [number for number, name in enumerate(trace.processes) if name.startswith("python")]
    # A write of nothing asks for a flush, which is in the trace itself.
    moves = (size > 0) | (ops == TRACE_OPERATIONS.index("flush"))
    kept = (latency != NO_LATENCY) & moves & ~(np.isin(process, own) & replay)
    ops, latency, issued = ops[kept], latency[kept].astype(float) / 1000, issued[kept]
    span_s = float(issued[-1] - issued[0]) / 1e9
    of_ops = {
        name: (int(np.count_nonzero(ops == number)), float(latency[ops == number].mean()))
        for number, name in enumerate(TRACE_OPERATIONS)
        if (ops == number).any()
    }
    return Seen((len(ops) - 1) / span_s, float(latency.mean()), of_ops)


def beside(recorded_us: float, replayed_us: float) -> str:
    return (
        f"{recorded_us:.1f} us recorded, {replayed_us:.1f} us replayed ({replayed_us / recorded_us - 1:+.1%})"
    )


def in_guest(case: str, seconds: int, timing: str, folder: Path, captures: int, clock: str) -> None:
    """Captures and replays in a guest; ends where it fails."""
    file_system, database = case.split("-")
    options = ["-t", str(GUEST_S * captures), "-I", clock]
    inside = (file_system, database, seconds, timing, folder, captures)
    if run_in_guest(options, HERE / "databases_guest.py", *inside):
        sys.exit(f"{case}: the guest failed")


def compare(case: str, folder: Path) -> bool:
    """Prints a replay beside its trace. Returns whether it is within the bars."""
    recorded = seen(folder / "trace.parquet", replay=False)
    replays = [seen(folder / f"replay-{number}.parquet", replay=True) for number in range(1, REPLAYS + 1)]
    engine = json.loads((folder / "figures.json").read_text())
    iops = median(sum(row["iops"] for row in rows) for rows in engine)
    recorded_iops = sum(row["recorded_iops"] for row in engine[0])
    mean_us = median(one.mean_us for one in replays)
    of_engine = [
        sum(row["n"] * row["mean_us"] for row in rows) / sum(row["n"] for row in rows) for rows in engine
    ]
    off_iops, off_mean = iops / recorded_iops - 1, mean_us / recorded.mean_us - 1
    print(f"{case}: IOPS {recorded_iops:.1f} recorded, {iops:.1f} replayed ({off_iops:+.2%})")
    print(f"  mean latency in the block layer: {beside(recorded.mean_us, mean_us)}")
    print(f"    of each replay: {', '.join(f'{one.mean_us:.1f}' for one in replays)}")
    print(f"  at the load generator: {beside(recorded.mean_us, median(of_engine))}")
    for op, (n, op_us) in recorded.of_ops.items():
        found = [one.of_ops[op] for one in replays if op in one.of_ops]
        if found:
            counts = sorted({count for count, _ in found})
            print(f"  {op}: {n} I/Os, replayed {counts}; {beside(op_us, median(us for _, us in found))}")
    return abs(off_iops) <= MOST_IOPS and abs(off_mean) <= MOST_LATENCY


def fathom(folder: Path, *arguments: str) -> None:
    """Runs a command and prints what it printed, indented; ends where it fails."""
    command = [sys.executable, "-m", "fathom", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    print("\n".join(f"    {line}" for line in done.stdout.splitlines()))
    if done.returncode:
        sys.exit(f"fathom {' '.join(arguments)}: {done.stderr}")


def elsewhere(folder: Path) -> None:
    """Characterises and fits the trace, replays it on twins and asks which drive does."""
    twins = [f"twin:{name}" for name in TWINS]
    fathom(folder, "characterise", "trace.parquet")
    fathom(folder, "fit", "trace.parquet", "--out", "fitted.toml")
    fathom(folder, "run", "replay", "--trace", "trace.parquet", "--out", "runs", *twins)
    fathom(folder, "recommend", "trace.parquet", *twins, "--out", "drives.html")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", default=CASES)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--timing", default="as-recorded", choices=("as-recorded", "dependent"))
    parser.add_argument("--captures", type=int, default=1)
    parser.add_argument("--clock", default=CLOCK, help="SHIFT,sleep=on or SHIFT,sleep=off: vmlab's option -I")
    asked = parser.parse_args()
    missed = []
    for case in asked.cases:
        folder = WORK / f"{case}-{asked.timing}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        in_guest(case, asked.seconds, asked.timing, folder, asked.captures, asked.clock)
        captures = sorted(folder.glob("capture-*"))
        if not all([compare(case, capture) for capture in captures]):
            missed.append(case)
        elsewhere(captures[0])
    if missed:
        print(f"beyond the bars: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
