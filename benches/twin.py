"""How fast the twins are: simulated I/O per CPU second, a drive's eight hours, all validation, a drive's ensemble.

CPU time comes from the scheduler, so that a busy machine counts less. The others are wall time, as their bars are.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from time import monotonic

from harness import BIN, GATE_FAILED, load_note, progress, table

REPEATS = 3
FATHOM = (sys.executable, "-m", "fathom")
HOURS = "twin:samsung-845dc-evo-480gb"
ENSEMBLE_OF = "samsung-pm9a3-7.68tb"
#: The least rates of the example's lines, in I/O per CPU second. Sequential reads have 64 outstanding. Their data lies
#: in order, as it was filled, or scattered: overwritten at random, so that the 64 pages of a read lie apart.
BARS = {
    "4 KiB random write, 1 x 32": 8e6,
    "4 KiB random read, 1 x 32": 8e6,
    "4 KiB random read, 8 x 32": 8e6,
    "256 KiB sequential read, in order": 0.4e6,
    "256 KiB sequential read, scattered": 0.4e6,
}
MOST_BYTES_PER_PAGE = 12.0
MOST_SECONDS = 180.0
MOST_VALIDATION_SECONDS = 300.0
MOST_ENSEMBLE_SECONDS = 600.0

Row = tuple[str, str, str, bool]


def speed(core: int) -> list[Row]:
    """Rates and memory of the example `speed`, medians of the repeats."""
    texts = [_on(core, [str(BIN / "speed")]) for _ in range(REPEATS)]
    rows: list[Row] = []
    for name, least in BARS.items():
        line = re.compile(rf"^{re.escape(name)} .*?([\d.]+) M I/O per s", re.MULTILINE)
        rate = statistics.median(float(found[1]) * 1e6 for text in texts for found in line.finditer(text))
        rows.append(
            (
                f"{name}, I/O per CPU second",
                f"{rate / 1e6:.2f} M",
                f"at least {least / 1e6:g} M",
                rate >= least,
            )
        )
    each = [float(found) for text in texts for found in re.findall(r"([\d.]+) bytes of state per page", text)]
    worst = max(each)
    rows.append(
        (
            "bytes of state per mapped page",
            f"{worst:.1f}",
            f"at most {MOST_BYTES_PER_PAGE:.0f}",
            worst <= MOST_BYTES_PER_PAGE,
        )
    )
    return rows


def hours(core: int, runs: Path) -> list[Row]:
    """The eight hours of a SATA drive at full size, and its eight depths, on one core."""
    _on(core, [*FATHOM, "run", "enterprise-steady-state", HOURS, "--out", str(runs)])
    ended = step_ends_s(runs)
    return [
        within("845DC EVO, eight hours, one core, s", ended["random-write"]),
        within("845DC EVO, eight hours and eight depths, one core, s", ended["4k-rand-write-q128"]),
    ]


def validation() -> Row:
    """Every twin against everything published about it, on all cores."""
    return within("validate of everything, s", _took_s("validate"), MOST_VALIDATION_SECONDS)


def ensemble() -> Row:
    """The hundred parameter sets of one drive, on all cores."""
    took_s = _took_s("calibrate", ENSEMBLE_OF, "--ensemble")
    return within(f"ensemble of 100, {ENSEMBLE_OF}, s", took_s, MOST_ENSEMBLE_SECONDS)


def _took_s(*words: str) -> float:
    """Wall time of a command of Fathom in s."""
    began = monotonic()
    subprocess.run([*FATHOM, *words], check=True, capture_output=True)
    return monotonic() - began


def step_ends_s(runs: Path) -> dict[str, float]:
    """When each step of the only run there ended, on the last target that had it, in s from the run's start."""
    [journal] = runs.glob("*/journal.jsonl")
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    began = datetime.fromisoformat(events[0]["time"])
    return {
        event["step"]: (datetime.fromisoformat(event["time"]) - began).total_seconds()
        for event in events
        if event["event"] == "step-end"
    }


def _on(core: int, command: list[str]) -> str:
    """Its output, held to one core."""
    held = ["taskset", "-c", str(core), *command]
    return subprocess.run(held, check=True, capture_output=True, text=True).stdout


def within(what: str, took_s: float, most_s: float = MOST_SECONDS) -> Row:
    """A time and its bar."""
    return what, f"{took_s:.0f}", f"at most {most_s:.0f}", took_s <= most_s


def main() -> int:
    """Prints the figures and whether they are within their bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    quick = parser.parse_args().quick
    core = max(os.sched_getaffinity(0))
    print(f"# Twins: core {core}, rates medians of {REPEATS}")
    if note := load_note():
        print(note)
    rows = speed(core)
    if not quick:
        with tempfile.TemporaryDirectory() as scratch:
            progress("eight hours of a SATA drive")
            rows += hours(core, Path(scratch, "hours"))
        progress("all validation")
        rows.append(validation())
        progress("an ensemble")
        rows.append(ensemble())
    table(
        "Bars",
        ("what", "measured", "bar", ""),
        [(what, measured, bar, "pass" if passed else "MISSED") for what, measured, bar, passed in rows],
    )
    return 0 if all(passed for *_, passed in rows) else GATE_FAILED


if __name__ == "__main__":
    sys.exit(main())
