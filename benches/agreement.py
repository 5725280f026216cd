"""IOPS of the engine against fio on the same file, block size, iodepth and time.

Two independent tools that measure the same thing must say the same: the median ratio of interleaved pairs must be
within 10 %. Which tool goes first alternates, so that a drift of the disk favours neither. TMPDIR chooses the disk.
"""

import argparse
import sys
from statistics import median

from harness import (
    GATE_FAILED,
    MIB,
    Load,
    Target,
    engine,
    fio,
    fio_version,
    load_note,
    progress,
    scratch_file,
    table,
)

SIZE_BYTES = 1024 * MIB
WITHIN = 0.10
CASES = {
    "4 KiB random read, iodepth 1": Load(iodepth=1),
    "4 KiB random read, iodepth 32": Load(iodepth=32),
    "256 KiB sequential read, iodepth 64": Load(pattern="seq", block_bytes=262_144, iodepth=64),
    "256 KiB sequential write, iodepth 64": Load("write", "seq", 262_144, 64),
}


def pairs(target: Target, load: Load, n: int, label: str) -> list[tuple[float, float]]:
    """(engine, fio) IOPS of interleaved pairs, each of four turns in the order that cancels a linear drift."""
    found: list[tuple[float, float]] = []
    for pair in range(n):
        progress(f"{label}: pair {pair + 1} of {n}")
        outer, inner = (engine, fio) if pair % 2 == 0 else (fio, engine)
        turns = [program(target, load).iops for program in (outer, inner, inner, outer)]
        outer_iops, inner_iops = (turns[0] + turns[3]) / 2, (turns[1] + turns[2]) / 2
        found.append((outer_iops, inner_iops) if outer is engine else (inner_iops, outer_iops))
    progress("")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="turns of 0.5 s instead of 1.5 s")
    time_s = 0.5 if parser.parse_args().quick else 1.5
    version = fio_version()
    if version is None:
        print("# Agreement with fio: fio is not installed, nothing to compare with (apt-get install fio).")
        return 0
    print(f"# Agreement with {version}: one {SIZE_BYTES // MIB} MiB file, direct I/O")
    print(f"5 interleaved pairs, each of two turns of {time_s} s per program.")
    if note := load_note():
        print(note)
    rows: list[list[str]] = []
    agreed = True
    with scratch_file(SIZE_BYTES) as path:
        target = Target("file", "file", path, SIZE_BYTES, direct=True)
        for label, load in CASES.items():
            timed = Load(load.op, load.pattern, load.block_bytes, load.iodepth, time_s)
            found = pairs(target, timed, 5, label)
            ratios = sorted(ours / theirs for ours, theirs in found)
            ratio = median(ratios)
            agrees = abs(ratio - 1) <= WITHIN
            agreed &= agrees
            rows.append([
                label,
                f"{median(ours for ours, _ in found):,.0f}",
                f"{median(theirs for _, theirs in found):,.0f}",
                f"{ratio:.3f}",
                f"{ratios[0]:.2f} .. {ratios[-1]:.2f}",
                "pass" if agrees else "FAIL",
            ])  # fmt: skip
    table("IOPS", ["workload", "engine", "fio", "ratio", "ratios", "within 10 %"], rows)
    return 0 if agreed else GATE_FAILED


if __name__ == "__main__":
    sys.exit(main())
