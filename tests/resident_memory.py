"""The rows of one step on two dozen targets, a process of its own: prints in bytes by how much its resident memory grew
at most while seconds came in, and while their rows were read back.

`python resident_memory.py DIRECTORY SECONDS BINS`: seconds of reads and writes, each with so many occupied bins.
"""

import json
import sys
from pathlib import Path

from fathom import _core
from fathom.method.method import load_method
from fathom.runs.rows import StepRows
from fathom.runs.spool import Spool

TARGETS = 24
FIRST_BIN, PER_BIN = 1000, 7


def lowest_ns(bin: int) -> int:
    """The least latency of a bin: bins are 1 ns wide below 256 ns, then 128 per power of two."""
    octave, place = divmod(bin - 256, 128)
    return (128 + place) << (octave + 1)


def second(index: int, bins: int) -> _core.Interval:
    """A second that took no time."""
    count = bins * PER_BIN
    histogram = {
        "bins": [[bin, PER_BIN] for bin in range(FIRST_BIN, FIRST_BIN + bins)],
        "count": count,
        "sum_ns": count * lowest_ns(FIRST_BIN + bins // 2),
        "min_ns": lowest_ns(FIRST_BIN),
        "max_ns": lowest_ns(FIRST_BIN + bins - 1),
    }
    stats = {"bytes": 4096 * count, "errors": 0, "service": histogram, "response": None}
    interval = {
        "index": index,
        "start_ns": index * 10**9,
        "length_ns": 10**9,
        "ops": {"read": stats, "write": stats},
        "mean_outstanding": 1.0,
        "counters": {},
        "utilisation": [],
        "residence": [],
        "shares": [],
        "ends_round": False,
    }
    return _core.Interval.from_bytes(json.dumps(interval).encode(), 0)


def read_back(rows: StepRows) -> None:
    """As the end of a step does, a part at a time."""
    for table in rows.tables().values():
        if isinstance(table, Spool):
            for _ in table.tables():
                pass


def resident_bytes(what: str) -> int:
    """`VmRSS`: now; `VmHWM`: at most."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [line] = [line for line in status.splitlines() if line.startswith(what)]
    return int(line.split()[1]) << 10


def main(directory: Path, seconds: int, bins: int) -> None:
    """One target first, so that what libraries take once is not counted."""
    step = next(step for step in load_method("four-corners").steps if step.kind == "measure")
    unmeasured = StepRows("twin:first", step, scratch=directory)
    for index in range(seconds // TARGETS):
        unmeasured.add(second(index, bins))
    read_back(unmeasured)
    before = resident_bytes("VmRSS")
    rows = [StepRows(f"twin:{number}", step, scratch=directory) for number in range(TARGETS)]
    for index in range(seconds):
        interval = second(index, bins)
        for one in rows:
            one.add(interval)
    grown = resident_bytes("VmHWM") - before
    for one in rows:
        read_back(one)
    print(json.dumps({"coming in": grown, "read back": resident_bytes("VmHWM") - before}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
