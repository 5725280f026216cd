"""How fast and how exactly a recorded trace is replayed, beside fio's replay of the same log.

One log of 4 KiB I/Os, 70 % reads, arrives at random at 200,000 a second. `null:` and fio's null engine complete at
once, so only the replay itself is left. Issue error is how much later than recorded an I/O is issued. Fathom's is taken
from the arrival to the completion, an upper bound. fio's is taken from its latency log, which has whole milliseconds.
The plainest loop only waits for each time on the clock: what it misses, no replay on that machine can hold.
Every repeat runs all programs in turn; figures are medians over the repeats.
"""

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import median

from harness import GATE_FAILED, fio_version, load_note, progress, table

from fathom import _core
from fathom._core import Job
from fathom.fitting.on_twin import fresh_twin, run_plain, twin_holding, write_once
from fathom.method.job import job_of
from fathom.plan.replay import Replay, Timing, measure_step
from fathom.traces.opening import open_trace
from fathom.traces.prepare import Prepared, prepare

RATE = 200_000
BLOCK_BYTES = 4096
EXTENT_BYTES = 1 << 30
TWIN = "wd-ultrastar-dc-sn861-7.68tb"
LEAST_IOPS = 3e6
MOST_ERROR_US = 20.0
READS = 0.7
THREADS = 2
LAPS = 10
"""A replay as fast as possible goes through the log so many times, so that it lasts."""


@dataclass(frozen=True)
class Log:
    """The recorded I/O: as fio reads it, as the core reads it, and its times in us."""

    fio: Path
    prepared: Prepared
    times_us: Sequence[int]

    def job(self, timing: Timing, laps: int = 1, threads: int = 1) -> Job:
        """Returns the job that replays it so many times. Several threads go through it once."""
        job = job_of(measure_step(self.prepared, Replay(self.fio, timing=timing, threads=threads)))
        return job.with_until(count=laps * self.prepared.ios)


def record(folder: Path, seconds: float) -> Log:
    """Writes the log. fio opens the file that it names, which is empty: its null engine reads none of it."""
    draw = random.Random(1)
    gaps = (draw.expovariate(RATE) * 1e6 for _ in range(round(RATE * seconds)))
    times_us = [int(time_us) for time_us in accumulate(gaps)]
    data, path = folder / "data", folder / "log"
    with data.open("wb") as file:
        file.truncate(EXTENT_BYTES)
    with path.open("w") as file:
        file.write(f"fio version 3 iolog\n0 {data} add\n0 {data} open\n")
        for time_us in times_us:
            op = "read" if draw.random() < READS else "write"
            place = BLOCK_BYTES * draw.randrange(EXTENT_BYTES // BLOCK_BYTES)
            file.write(f"{time_us} {data} {op} {place} {BLOCK_BYTES}\n")
    return Log(path, prepare(open_trace(path)), times_us)


def on_null(job: Job) -> _core.Recording:
    """Returns what the engine recorded on `null:`."""
    [found] = _core.start_engine(job, [_core.EngineTarget("", "null", EXTENT_BYTES)], 1).result()
    return found


def own_rate(log: Log) -> float:
    """I/Os per second of one thread on `null:`, as fast as possible."""
    found = on_null(log.job("as-fast-as-possible", LAPS))
    return sum(op.n for op in found.ops) / found.window_s


def shared_rate(log: Log, threads: int) -> float:
    """The same of several threads that divide the log and go through it once."""
    found = on_null(log.job("as-fast-as-possible", threads=threads))
    return sum(op.n for op in found.ops) / found.window_s


def own_error_us(log: Log) -> float:
    """99th percentile of the time from arrival to completion on `null:`."""
    found = on_null(log.job("as-recorded"))
    return max(op.response_p99_us or 0.0 for op in found.ops)


def plainest_error_us(log: Log) -> float:
    """The same of a loop that waits for each time and does nothing."""
    late_ns: list[int] = []
    gc.disable()
    start_ns = time.perf_counter_ns()
    for time_us in log.times_us:
        until_ns = start_ns + 1000 * time_us
        while (now_ns := time.perf_counter_ns()) < until_ns:
            pass
        late_ns.append(now_ns - until_ns)
    gc.enable()
    return p99(late_ns) / 1e3


def p99(values: Sequence[float]) -> float:
    """The value that 99 % are not above."""
    return sorted(values)[len(values) * 99 // 100]


def fio_rate(log: Log) -> float:
    """I/Os per second of fio's null engine, without the recorded times."""
    found = _fio(log, "--replay_no_stall=1", "--iodepth=32")
    return found["read"]["iops"] + found["write"]["iops"]


def fio_error_us(log: Log) -> float:
    """99th percentile of fio's issue error. At a higher depth its null engine keeps no times at all."""
    with tempfile.TemporaryDirectory() as folder:
        _fio(log, "--iodepth=1", f"--write_lat_log={folder}/x")
        lines = Path(folder, "x_lat.1.log").read_text().splitlines()
    ends_ms = (int(line.partition(",")[0]) for line in lines)
    return 1e3 * p99([end_ms - time_us / 1e3 for end_ms, time_us in zip(ends_ms, log.times_us, strict=True)])


def _fio(log: Log, *options: str) -> dict[str, dict[str, float]]:
    command = ["fio", "--name=replay", "--ioengine=null", f"--read_iolog={log.fio}", *options]
    done = subprocess.run([*command, "--output-format=json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]


def twin_rate(log: Log) -> float:
    """I/Os per second of CPU time of a twin that replays the log at its recorded times."""
    device = fresh_twin(twin_holding(TWIN, EXTENT_BYTES), 1)
    write_once(device, 1)
    before_s = time.process_time()
    found = run_plain(log.job("as-recorded", LAPS), device, 2)
    return sum(op.n for op in found.ops) / (time.process_time() - before_s)


def main() -> int:
    """Prints the figures and whether they are within their bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 repeats of 0.5 s instead of 5 of 2 s")
    quick = parser.parse_args().quick
    repeats, seconds = (3, 0.5) if quick else (5, 2.0)
    version = fio_version()
    print(f"# Replay: {RATE:,} I/Os a second over {seconds} s, medians of {repeats}")
    print(f"Beside {version}." if version else "fio is not installed: its column is left out.")
    if note := load_note():
        print(note)
    rate, error, twin = "`null:`, one thread, M I/O/s", "issue error, p99, us", "twin, M I/O per core-second"
    once, shared = (f"`null:`, the log once, {threads} threads, M I/O/s" for threads in (1, THREADS))
    programs: dict[tuple[str, str], Callable[[Log], float]] = {
        (rate, "fathom"): own_rate,
        (once, "fathom"): lambda log: shared_rate(log, 1),
        (shared, "fathom"): lambda log: shared_rate(log, THREADS),
        (error, "fathom"): own_error_us,
        (error, "plainest"): plainest_error_us,
        (twin, "fathom"): twin_rate,
    }
    if version:
        programs |= {(rate, "fio"): fio_rate, (error, "fio"): fio_error_us}
    found: dict[tuple[str, str], list[float]] = {key: [] for key in programs}
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch
        log = record(Path(scratch), seconds)
        for repeat in range(repeats):
            for key, program in programs.items():
                progress(f"repeat {repeat + 1} of {repeats}: {', '.join(key)}")
                found[key].append(program(log))
    progress("")
    middle = {key: median(values) for key, values in found.items()}
    rows: list[tuple[str, ...]] = [
        (what, f"{middle[what, 'fathom'] / 1e6:,.2f}", "-", "-", "-", "none", "") for what in (once, shared)
    ]
    passed: list[bool] = []
    for what, scale, bar, most in (
        (rate, 1e6, LEAST_IOPS, False),
        (error, 1.0, MOST_ERROR_US, True),
        (twin, 1e6, LEAST_IOPS, False),
    ):
        own, theirs, plainest = (middle.get((what, name)) for name in ("fathom", "fio", "plainest"))
        assert own is not None
        good = own <= bar if most else own >= bar
        reachable = plainest is None or plainest <= bar
        verdict = "pass" if good else "MISSED" if reachable else "missed, unreachable here"
        passed.append(good)
        ratio = None if theirs is None else theirs / own if most else own / theirs
        figures = [f"{value / scale:,.2f}" if value else "-" for value in (own, theirs, plainest)]
        better = f"{ratio:,.1f} x" if ratio else "-"
        rows.append(
            (what, *figures, better, f"{'at most' if most else 'at least'} {bar / scale:.0f}", verdict)
        )
    table("Bars", ("what", "fathom", "fio", "plainest loop", "better than fio", "bar", ""), rows)
    return 0 if all(passed) else GATE_FAILED


if __name__ == "__main__":
    sys.exit(main())
