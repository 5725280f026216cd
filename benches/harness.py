"""What the benchmarks share: running the engine, the yardstick and fio on one target, and tables.

Everything here is the standard library, so that the benchmarks run before any environment exists.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

BIN = Path(os.environ.get("FATHOM_BENCH_BIN", "target/release/examples"))
MIB = 1 << 20
GATE_FAILED = 4


@dataclass(frozen=True)
class Target:
    """What I/O goes to. `kind` is the engine's: file, device, null or nop."""

    label: str
    kind: str
    path: str
    size_bytes: int
    direct: bool


@dataclass(frozen=True)
class Result:
    """One run: rate, and CPU time per I/O of the whole process, kernel workers included."""

    iops: float
    user_us: float
    sys_us: float

    @property
    def total_us(self) -> float:
        return self.user_us + self.sys_us


@dataclass(frozen=True)
class Load:
    """What the I/O looks like; the same words for the engine and for fio."""

    op: str = "read"
    pattern: str = "rand"
    block_bytes: int = 4096
    iodepth: int = 32
    time_s: float = 2.0


def engine(target: Target, load: Load, reap: int = 1) -> Result:
    """Runs the engine."""
    settings = {
        "op": load.op,
        "pattern": load.pattern,
        "bs": load.block_bytes,
        "iodepth": load.iodepth,
        "time_s": load.time_s,
        "direct": int(target.direct),
        "reap": reap,
    }
    words = [f"{key}={value}" for key, value in settings.items()]
    return _own("drive", target, words)


def yardstick(target: Target, load: Load) -> Result:
    """Runs the plainest loop that io_uring allows: no statistics."""
    return _own("plain", target, [str(load.iodepth), str(load.time_s)])


def _own(program: str, target: Target, words: Sequence[str]) -> Result:
    command = [str(BIN / program), target.kind, target.path, str(target.size_bytes), *words]
    found = json.loads(_run(command)[0])
    return Result(found["iops"], found["user_us"], found["sys_us"])


def fio(
    target: Target, load: Load, extra: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Result:
    """Runs fio's io_uring engine, on the null target its null engine, with `environment` added to its own.

    fio's own CPU figures leave out the kernel workers of its ring, which do the I/O on targets that cannot take
    it without blocking. So CPU time is that of its processes, less that of the same command doing one I/O.
    """
    rw = {"rand": "rand", "seq": ""}[load.pattern] + load.op
    ioengine = "null" if target.kind == "null" else "io_uring"
    command = [
        "fio", "--name=bench", f"--ioengine={ioengine}", f"--filename={target.path}", f"--rw={rw}",
        f"--bs={load.block_bytes}", f"--iodepth={load.iodepth}", f"--size={target.size_bytes}",
        f"--direct={int(target.direct)}", "--invalidate=0", "--fallocate=none", "--randrepeat=0",
        "--output-format=json", *extra,
    ]  # fmt: skip
    text, user_us, sys_us = _run([*command, "--time_based", f"--runtime={load.time_s}"], environment)
    _, start_user_us, start_sys_us = _fio_start(tuple([*command, "--number_ios=1"]))
    side = json.loads(text)["jobs"][0][load.op]
    n = max(side["total_ios"], 1)
    return Result(side["iops"], (user_us - start_user_us) / n, (sys_us - start_sys_us) / n)


@cache
def _fio_start(command: tuple[str, ...]) -> tuple[str, float, float]:
    return _run(command)


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[str, float, float]:
    """(JSON printed, user us, system us) of a command and the processes it waited for."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, env=os.environ | dict(environment or {}))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text = out.read()
        if child.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{err.read().strip() or text.strip()}")
    return text[text.index("{") :], usage.ru_utime * 1e6, usage.ru_stime * 1e6


def fio_version() -> str | None:
    """fio's version, or None where there is no fio."""
    if shutil.which("fio") is None:
        return None
    return subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def scratch_file(size_bytes: int) -> Iterator[str]:
    """A file of random bytes in the temporary directory, written out and gone afterwards."""
    with tempfile.NamedTemporaryFile(prefix="fathom-bench-", suffix=".bin") as file:
        _fill(file.fileno(), size_bytes)
        yield file.name


@contextmanager
def zram(size_bytes: int) -> Iterator[str]:
    """An unused zram device full of incompressible data, reset afterwards. Raises OSError with the reason."""
    device = Path("/sys/block/zram0")
    if not device.exists():
        raise OSError("there is no /dev/zram0 (modprobe zram)")
    if int((device / "disksize").read_text()) != 0:
        raise OSError("/dev/zram0 is in use")
    if not os.access(device / "disksize", os.W_OK):
        raise OSError("setting up /dev/zram0 needs root")
    (device / "disksize").write_text(str(size_bytes))
    try:
        descriptor = os.open("/dev/zram0", os.O_WRONLY)
        try:
            _fill(descriptor, size_bytes)
        finally:
            os.close(descriptor)
        yield "/dev/zram0"
    finally:
        (device / "reset").write_text("1")


def _fill(descriptor: int, size_bytes: int) -> None:
    for at in range(0, size_bytes, 4 * MIB):
        os.pwrite(descriptor, os.urandom(min(4 * MIB, size_bytes - at)), at)
    os.fsync(descriptor)


def one_core() -> int:
    """Confines this process and all it starts to one core; which one."""
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table: figures right-aligned, the first column and one without a header left-aligned."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    print(f"\n{title}")
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [
            cell.ljust(w) if i == 0 or not header[i] else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def progress(text: str) -> None:
    """One line on stderr that the next one overwrites."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def load_note() -> str | None:
    """Says so when the machine was not idle: every figure suffers from that."""
    load = os.getloadavg()[0]
    return (
        f"The machine was busy before the start (load average {load:.1f}): repeat when it is idle."
        if load > 0.5
        else None
    )
