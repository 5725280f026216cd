"""CPU time per I/O of the engine beside fio and beside the plainest submission loop, on one core.

4 KiB random reads with full latency histograms at iodepth 32 and 128 on a RAM-backed block device and on a
page-cached file, and the engine's own floor on the null target. Every repeat runs all programs in turn; figures
are medians over the repeats. CPU time is the whole process's, kernel workers included.
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
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
BEST = [
    "--registerfiles=1",
    "--fixedbufs=1",
    "--norandommap=1",
    f"--iodepth_batch_submit={BATCH}",
    f"--iodepth_batch_complete_min={BATCH}",
    f"--iodepth_batch_complete_max={BATCH}",
]

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


def bars(case: str, found: dict[str, Result]) -> list[tuple[str, float, float]]:
    """(what, measured, at most) of one target and depth. Like is compared with like: batches with batches."""
    own, batched, plain = found[ENGINE], found[BATCHED], found[PLAIN]
    checks = [
        (f"{case}: user us per I/O in batches (required)", batched.user_us, 0.10),
        (f"{case}: user us per I/O in batches (wanted)", batched.user_us, 0.04),
        (f"{case}: total / plainest loop, both in batches", batched.total_us / plain.total_us, 1.05),
    ]
    if FIO in found:
        best = found[FIO_BEST]
        checks += [
            (f"{case}: user / fio, both by default", own.user_us / found[FIO].user_us, 1 / 3),
            (f"{case}: user / fio, both in batches", batched.user_us / best.user_us, 1 / 3),
            (f"{case}: total / fio best, both in batches", batched.total_us / best.total_us, 0.65),
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
    checks: list[tuple[str, float, float]] = []
    with ExitStack() as stack:
        for target in targets(stack):
            for iodepth in DEPTHS:
                case = f"{target.label}, iodepth {iodepth}"
                found = measure(programs, target, Load(iodepth=iodepth, time_s=time_s), repeats)
                show(case, found)
                checks += bars(case, found)
        floor = Target("null", "null", "null:", 1 << 40, direct=False)
        floor_programs = {name: programs[name] for name in (ENGINE, PLAIN)}
        found = measure(floor_programs, floor, Load(time_s=time_s), repeats)
        show("null target: the loop's own floor and the kernel's empty operation", found)
        checks.append(("null: total CPU, us per I/O", found[ENGINE].total_us, 0.06))
        checks.append(
            ("null: engine - plainest loop, us per I/O", found[ENGINE].total_us - found[PLAIN].total_us, 0.02)
        )
    rows = [
        [what, f"{value:.3f}", f"{most:.3f}", "pass" if value <= most else "FAIL"]
        for what, value, most in checks
    ]
    table("Bars", ["what", "measured", "at most", ""], rows)
    return 0 if all(value <= most for _, value, most in checks) else GATE_FAILED


if __name__ == "__main__":
    sys.exit(main())
