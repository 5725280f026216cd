"""CPU time per I/O of the engine beside fio and beside the plainest submission loop, on one core.

4 KiB random reads with full latency histograms at iodepth 32 and 128 on a RAM-backed block device and on a
page-cached file, and two floors: the load loop's own (`null:`, beside fio's null engine) and that of loop, ring and
system calls (`nop:`). Every repeat runs all programs in turn; figures are medians over the repeats. CPU time is the
whole process's, kernel workers included. Beside each bar stands what the plainest loop comes to: a bar that it misses
cannot be met on that machine.
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from harness import (
    GATE_FAILED,
    MIB,
    Load,
    Result,
    Target,
    engine,
    fio,
    fio_version,
    load_note,
    one_core,
    progress,
    scratch_file,
    table,
    yardstick,
    zram,
)

SIZE_BYTES = 512 * MIB
BATCH = 32
DEPTHS = (32, 128)
BATCHES = [
    "--norandommap=1",
    f"--iodepth_batch_submit={BATCH}",
    f"--iodepth_batch_complete_min={BATCH}",
    f"--iodepth_batch_complete_max={BATCH}",
]
BEST = ["--registerfiles=1", "--fixedbufs=1", *BATCHES]

Runner = Callable[[Target, Load], Result]

ENGINE, BATCHED, PLAIN = "engine", "engine, batches of 32", "plainest loop, batches of 32"
FIO, FIO_BEST = "fio, default", "fio, best settings"


def runners(with_fio: bool) -> dict[str, Runner]:
    """The programs, in the order they take turns."""
    own: dict[str, Runner] = {
        ENGINE: engine,
        BATCHED: lambda target, load: engine(target, load, reap=BATCH),
        PLAIN: yardstick,
    }
    theirs: dict[str, Runner] = {FIO: fio, FIO_BEST: lambda target, load: fio(target, load, BEST)}
    return own | (theirs if with_fio else {})


def measure(programs: dict[str, Runner], target: Target, load: Load, repeats: int) -> dict[str, Result]:
    """Medians over interleaved repeats."""
    found: dict[str, list[Result]] = {name: [] for name in programs}
    for repeat in range(repeats):
        for name, program in programs.items():
            progress(f"{target.label}, iodepth {load.iodepth}, repeat {repeat + 1} of {repeats}: {name}")
            found[name].append(program(target, load))
    progress("")
    return {
        name: Result(
            median(r.iops for r in results),
            median(r.user_us for r in results),
            median(r.sys_us for r in results),
        )
        for name, results in found.items()
    }


@dataclass(frozen=True)
class Bar:
    """One demand, and what became of it."""

    what: str
    measured: float
    most: float
    plainest: float | None
    """The plainest loop's figure by the same measure; None where the bar is relative to that loop."""

    @property
    def passed(self) -> bool:
        return self.measured <= self.most

    @property
    def verdict(self) -> str:
        if self.passed:
            return "pass"
        if self.plainest is None or self.plainest <= self.most:
            return "MISSED"
        return f"missed, unreachable here: the plainest loop needs {self.plainest:.3f}"

    def row(self) -> list[str]:
        plainest = "-" if self.plainest is None else f"{self.plainest:.3f}"
        return [self.what, f"{self.measured:.3f}", f"{self.most:.3f}", plainest, self.verdict]


def bars(case: str, found: dict[str, Result]) -> list[Bar]:
    """The bars of one target and depth. Like is compared with like: batches with batches."""
    own, batched, plain = found[ENGINE], found[BATCHED], found[PLAIN]
    user = batched.user_us
    checks = [
        Bar(f"{case}: user us per I/O in batches (required)", user, 0.10, plain.user_us),
        Bar(f"{case}: user us per I/O in batches (wanted)", user, 0.04, plain.user_us),
        Bar(f"{case}: total / plainest loop, both in batches", batched.total_us / plain.total_us, 1.05, None),
    ]
    if FIO in found:
        default, best = found[FIO], found[FIO_BEST]
        checks += [
            Bar(f"{case}: user / fio, both by default", own.user_us / default.user_us, 1 / 3, None),
            Bar(f"{case}: user / fio, in batches", user / best.user_us, 1 / 3, plain.user_us / best.user_us),
            Bar(
                f"{case}: total / fio best, in batches",
                batched.total_us / best.total_us,
                0.65,
                plain.total_us / best.total_us,
            ),
        ]
    return checks


def show(title: str, found: dict[str, Result]) -> None:
    """One target and depth as a table."""
    rows = [
        [name, f"{r.iops:,.0f}", f"{r.user_us:.3f}", f"{r.sys_us:.3f}", f"{r.total_us:.3f}"]
        for name, r in found.items()
    ]
    table(title, ["program", "IOPS", "user us/IO", "sys us/IO", "total us/IO"], rows)


def targets(stack: ExitStack) -> list[Target]:
    """What can be had here; what cannot is said."""
    found: list[Target] = []
    try:
        device = stack.enter_context(zram(SIZE_BYTES))
        found.append(Target("zram", "device", device, SIZE_BYTES, direct=True))
    except OSError as reason:
        print(f"No RAM-backed block device: {reason}; its rows are left out.")
    path = stack.enter_context(scratch_file(SIZE_BYTES))
    found.append(Target("page-cached file", "file", path, SIZE_BYTES, direct=False))
    return found


def floors(with_fio: bool, load: Load, repeats: int) -> list[Bar]:
    """What an I/O costs with nothing behind it: within the process, and by way of the kernel."""
    theirs: dict[str, Runner] = {FIO: fio, FIO_BEST: lambda target, load: fio(target, load, BATCHES)}
    null = Target("null:", "null", "null", SIZE_BYTES, direct=False)
    found = measure({ENGINE: engine} | (theirs if with_fio else {}), null, load, repeats)
    show("null: the load loop's own floor, no system call (fio: ioengine=null)", found)
    total = found[ENGINE].total_us
    nop = Target("nop:", "nop", "nop", SIZE_BYTES, direct=False)
    found = measure({ENGINE: engine, PLAIN: yardstick}, nop, load, repeats)
    show("nop: the floor of loop, ring and system calls (IORING_OP_NOP)", found)
    beyond = found[ENGINE].total_us - found[PLAIN].total_us
    return [
        Bar("null: total CPU, us per I/O", total, 0.06, None),
        Bar("nop: engine - plainest loop, us per I/O", beyond, 0.02, None),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 repeats of 0.5 s instead of 5 of 2 s")
    quick = parser.parse_args().quick
    repeats, time_s = (3, 0.5) if quick else (5, 2.0)
    version = fio_version()
    note = load_note()
    core = one_core()
    print(f"# Engine: CPU per I/O, 4 KiB random reads, core {core}, medians of {repeats} x {time_s} s")
    print(f"Beside {version}." if version else "fio is not installed: its rows and bars are left out.")
    if note:
        print(note)
    programs = runners(with_fio=version is not None)
    checks: list[Bar] = []
    with ExitStack() as stack:
        for target in targets(stack):
            for iodepth in DEPTHS:
                case = f"{target.label}, iodepth {iodepth}"
                found = measure(programs, target, Load(iodepth=iodepth, time_s=time_s), repeats)
                show(case, found)
                checks += bars(case, found)
        checks += floors(with_fio=version is not None, load=Load(time_s=time_s), repeats=repeats)
    table("Bars", ["what", "measured", "at most", "plainest loop", ""], [bar.row() for bar in checks])
    return 0 if all(bar.passed for bar in checks) else GATE_FAILED


if __name__ == "__main__":
    sys.exit(main())
