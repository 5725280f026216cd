"""IOPS of `fathom run` against fio on the same file, block size, iodepth and time.

Two independent tools that measure the same thing must say the same: the median ratio of interleaved pairs must be
within 10 %. Which tool goes first alternates, so that a drift of the disk favours neither. Both use registered files
and buffers, so that neither pays for pinning pages, and large blocks lie in huge pages: scattered over small ones a
virtual disk moves them at half the rate or less, and how scattered they are is chance. All blocks are at random
places, since the kernel joins neighbours that one call submits. TMPDIR chooses the disk.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from harness import GATE_FAILED, MIB, Load, Target, fio, fio_version, load_note, progress, table

SIZE_BYTES = 1024 * MIB
PAIRS = 5
WITHIN = 0.10
FIO_EQUAL = ["--registerfiles", "--fixedbufs", f"--iomem_align={2 * MIB}"]
FIO_MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
CASES = {
    "4 KiB random read, iodepth 1": Load(iodepth=1),
    "4 KiB random read, iodepth 32": Load(iodepth=32),
    "256 KiB random read, iodepth 64": Load(block_bytes=262_144, iodepth=64),
    "256 KiB random write, iodepth 64": Load("write", block_bytes=262_144, iodepth=64),
}
METHOD = """
schema = "fathom-method/1"
name = "agreement"
title = "Agreement with fio"
summary = "One workload on a file that has been written once."
source = "benches/agreement.py"
[[steps]]
name = "fill"
kind = "fill"
workload = "fill"
[steps.job]
mix = "write"
block = "1MiB"
pattern = "sequential"
load = {{ threads = 1, iodepth = 8 }}
until = {{ written = "1x" }}
[[steps]]
name = "measure"
kind = "measure"
workload = "measure"
[steps.job]
mix = "{op}"
block = {block_bytes}
pattern = "uniform"
huge_pages = true
load = {{ threads = 1, iodepth = {iodepth} }}
until = {{ time = "{time_s}s" }}
"""


def fathom(target: Target, load: Load, folder: Path) -> float:
    """IOPS as `fathom run` reports them."""
    method = folder / "agreement.toml"
    method.write_text(METHOD.format(**vars(load)))
    command = [
        sys.executable,
        "-m",
        "fathom",
        "run",
        method,
        f"file:{target.path}",
        "--json",
        "--out",
        folder,
    ]
    done = subprocess.run(
        [*command, "--size", f"{SIZE_BYTES // MIB}MiB"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    [point] = json.loads(done.stdout)["points"]
    return point["iops"]


def pair(target: Target, load: Load, folder: Path, *, fathom_first: bool) -> tuple[float, float]:
    """IOPS of both tools, one after the other."""
    if fathom_first:
        ours = fathom(target, load, folder)
        return ours, fio(target, load, FIO_EQUAL, FIO_MEMORY).iops
    theirs = fio(target, load, FIO_EQUAL, FIO_MEMORY).iops
    return fathom(target, load, folder), theirs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="turns of 1 s instead of 3 s")
    time_s = 1 if parser.parse_args().quick else 3
    version = fio_version()
    if version is None:
        print("# Agreement with fio: fio is not installed, nothing to compare with (apt-get install fio).")
        return 0
    print(
        f"# `fathom run` and {version}: one {SIZE_BYTES // MIB} MiB file, direct I/O, {PAIRS} pairs of {time_s} s"
    )
    if note := load_note():
        print(note)
    rows: list[list[str]] = []
    agreed = True
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as name:
        folder = Path(name)
        target = Target("file", "file", str(folder / "x.bin"), SIZE_BYTES, direct=True)
        fathom(target, Load(time_s=1), folder)
        for label, case in CASES.items():
            load = Load(case.op, case.pattern, case.block_bytes, case.iodepth, time_s)
            found = []
            for number in range(PAIRS):
                progress(f"{label}: pair {number + 1} of {PAIRS}")
                found.append(pair(target, load, folder, fathom_first=number % 2 == 0))
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
    progress("")
    table("IOPS", ["workload", "fathom", "fio", "ratio", "ratios", "within 10 %"], rows)
    return 0 if agreed else GATE_FAILED


if __name__ == "__main__":
    sys.exit(main())
