"""A database on a loop device of the guest: its load captured, then replayed on the same device, each replay captured.

Started by `databases.py`: FILE-SYSTEM DATABASE SECONDS TIMING FOLDER CAPTURES. Writes traces and figures into a folder
for each capture.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from random import Random
from threading import Event

import fathom
from fathom.capture.session import Asked, record
from fathom.plan.replay import Replay
from fathom.runs.reader import Run

BACKING = Path("/sys/kernel/config/nullb/nullb7")
BACKING_MIB = 512
BACKING_NS = 4_000_000
"""How long the disk under the loop device takes: by a timer, so that the guest's few CPUs do not set the latency."""
MOUNT = Path("/run/database")
POSTGRES = Path("/usr/lib/postgresql/15/bin")
SOCKET = Path("/run/postgres")
SETTINGS = """
listen_addresses = ''
unix_socket_directories = '/run/postgres'
shared_buffers = 16MB
max_wal_size = 64MB
min_wal_size = 32MB
checkpoint_timeout = 30s
autovacuum = off
"""
CLIENTS = 4
ROWS = 200_000
REPLAYS = 5


def sh(*command: str) -> str:
    """Runs a command; ends with its own words where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def as_postgres(program: str, *arguments: str) -> str:
    return sh(
        "setpriv",
        "--reuid=postgres",
        "--regid=postgres",
        "--clear-groups",
        str(POSTGRES / program),
        *arguments,
    )


def capture_until_asked(asked: Asked) -> None:
    ended = Event()
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    record(asked, ended)


@contextmanager
def captured(device: str, out: Path) -> Iterator[None]:
    """Captures a device in another process while the block runs."""
    asked = Asked([Path(device)], out)
    process = get_context("fork").Process(target=capture_until_asked, args=(asked,))
    process.start()
    records = out.with_name(f"{out.name}.records")
    while not (records.exists() and list(records.iterdir())):
        if not process.is_alive():
            sys.exit("the capture did not begin")
        time.sleep(0.05)
    time.sleep(0.5)
    try:
        yield
    finally:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGINT)
        process.join()


def pgbench(device: str, trace: Path, seconds: str) -> str:
    """Captures pgbench on a data base that is larger than PostgreSQL's buffers, with cold caches."""
    data = MOUNT / "data"
    for folder in (data, SOCKET):
        folder.mkdir(exist_ok=True)
        shutil.chown(folder, "postgres")
    as_postgres("initdb", "-D", str(data), "--no-sync", "--locale=C", "-E", "UTF8")
    with (data / "postgresql.conf").open("a") as file:
        file.write(SETTINGS)
    control = ("-D", str(data), "-w", "-t", "600", "-l", "/run/postgres/log")
    as_postgres("pg_ctl", *control, "start")
    client = ("-h", str(SOCKET))
    as_postgres("pgbench", *client, "-i", "-s", "8", "-q", "postgres")
    as_postgres("psql", *client, "-c", "checkpoint", "postgres")
    drop_caches()
    with captured(device, trace):
        said = as_postgres("pgbench", *client, "-c", str(CLIENTS), "-j", "2", "-T", seconds, "postgres")
    as_postgres("pg_ctl", *control, "-m", "fast", "stop")
    return next(line for line in said.splitlines() if line.startswith("tps"))


def sqlite(device: str, trace: Path, seconds: str) -> str:
    """Captures transactions as pgbench has them, on a table whose pages are read from the device."""
    base, drawn = str(MOUNT / "base"), Random(1)
    made = f"with recursive n(i) as (select 1 union all select i + 1 from n where i < {ROWS})"
    settings = "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -2000;"
    sh(
        "sqlite3",
        base,
        f"{settings} create table accounts (id integer primary key, balance integer, filler text);"
        "create table history (account integer, delta integer);"
        f"{made} insert into accounts select i, 0, hex(randomblob(50)) from n;",
    )
    drop_caches()
    script = Path("/run/script.sql")
    lines = [settings]
    for number in range(200_000):
        account, delta = drawn.randrange(1, ROWS), drawn.randrange(-5000, 5000)
        lines.append(
            f"begin immediate; update accounts set balance = balance + {delta} where id = {account};"
            f"insert into history values ({account}, {delta}); commit;"
            f"select balance from accounts where id = {drawn.randrange(1, ROWS)};"
            + (f"select {number + 1} as done;" if number % 100 == 99 else "")
        )
    script.write_text("\n".join(lines))
    with captured(device, trace), script.open() as file:
        done = subprocess.run(
            ["timeout", seconds, "sqlite3", base], stdin=file, capture_output=True, text=True, check=False
        )
    return f"{len(done.stdout.splitlines()) / float(seconds):.0f} lines a second"


LOADS = {"pgbench": pgbench, "sqlite": sqlite}


def drop_caches() -> None:
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def blank_loop() -> tuple[str, str]:
    """Returns a loop device over a new disk in memory that answers after a time, and the disk."""
    sh("modprobe", "loop")
    sh("modprobe", "null_blk", "nr_devices=0")
    if BACKING.exists():
        # Its memory is freed with it alone.
        BACKING.rmdir()
    BACKING.mkdir()
    settings = {
        "memory_backed": 1,
        "size": BACKING_MIB,
        "irqmode": 2,
        "completion_nsec": BACKING_NS,
        "power": 1,
    }
    for name, value in settings.items():
        (BACKING / name).write_text(str(value))
    disk = f"/dev/nullb{(BACKING / 'index').read_text().strip()}"
    below = disk if Path(disk).exists() else f"/dev/{BACKING.name}"
    return sh("losetup", "--show", "--find", "--direct-io=on", below).strip(), below


def replayed(device: str, below: str, trace: Path, number: int, timing: str) -> Run:
    out = trace.with_name(f"replay-{number}.parquet")
    # Memory answers for blocks that were never written as it does for others.
    replay = Replay(trace, timing=timing, fill="none")  # type: ignore[arg-type]
    token = f"{device.removeprefix('/dev/')}:{below}"
    with captured(device, out):
        return fathom.run("replay", [device], replay=replay, seed=number, out="/run/runs", destroy=[token])


def capture_and_replay(file_system: str, database: str, seconds: str, timing: str, folder: Path) -> None:
    """Captures a load on a new file system, then replays it on a new device."""
    folder.mkdir()
    device, _ = blank_loop()
    MOUNT.mkdir(exist_ok=True)
    sh(f"mkfs.{file_system}", "-q", device)
    sh("mount", device, str(MOUNT))
    trace = folder / "trace.parquet"
    said = LOADS[database](device, trace, seconds)
    print(f"{file_system} {database}: {said}", flush=True)
    sh("umount", str(MOUNT))
    sh("losetup", "-d", device)
    device, below = blank_loop()
    figures = []
    for number in range(1, REPLAYS + 1):
        run = replayed(device, below, trace, number, timing)
        figures.append([row for row in run.phases.to_pylist() if row["phase"] is None])
        print(f"replay {number} done", flush=True)
    sh("losetup", "-d", device)
    (folder / "figures.json").write_text(json.dumps(figures))


def main(file_system: str, database: str, seconds: str, timing: str, folder: Path, captures: int) -> None:
    os.environ["XDG_CACHE_HOME"] = "/run/cache"
    _ = fathom.run
    sh("modprobe", file_system)
    for number in range(1, captures + 1):
        capture_and_replay(file_system, database, seconds, timing, folder / f"capture-{number}")


if __name__ == "__main__":
    asked = sys.argv
    main(asked[1], asked[2], asked[3], asked[4], Path(asked[5]), int(asked[6]))
