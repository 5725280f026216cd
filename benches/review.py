"""How long the full review of the catalogue's four NVMe twins takes, every point from its own settled state.

Wall time depends on the cores; the bar is for two that do nothing else. Processor time says what remains to be saved.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from harness import GATE_FAILED, load_note, progress, table

TWINS = (
    "twin:wd-ultrastar-dc-sn861-7.68tb",
    "twin:kioxia-cm7-r-7.68tb",
    "twin:samsung-pm1743-7.68tb",
    "twin:samsung-pm9a3-7.68tb",
)
MOST_S = 60.0


def reviewed(*options: str) -> tuple[float, float]:
    """Wall and processor time in s of a review with its report."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "fathom", "review", *options, *TWINS, "--out", folder],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"fathom review: exit status {os.waitstatus_to_exitcode(status)}")
        return time.monotonic() - began, used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quick review, which has no bar")
    quick = parser.parse_args().quick
    note = load_note()
    progress("reviewing four twins")
    wall_s, cpu_s = reviewed(*([] if quick else ["--full"]))
    bar = "" if quick else f"< {MOST_S:g} s"
    verdict = "" if quick else ("met" if wall_s < MOST_S else "missed")
    rows = [["wall time", f"{wall_s:.0f} s", bar, verdict], ["processor time", f"{cpu_s:.0f} s", "", ""]]
    kind = "Quick" if quick else "Full"
    table(
        f"{kind} review of {len(TWINS)} twins with its report, {os.cpu_count()} cores",
        ["figure", "value", "bar", ""],
        rows,
    )
    if note:
        print(note)
    return 0 if quick or wall_s < MOST_S else GATE_FAILED


if __name__ == "__main__":
    raise SystemExit(main())
