"""Commands of the guest, and jobs on its drives."""

import json
import subprocess
from pathlib import Path

from fathom import _core

GIB = 1 << 30
NVMET = Path("/sys/kernel/config/nvmet")
SHELF_METHOD = """
schema = "fathom-method/1"
name = "shelf"
key_figure = "added-latency"
[[steps]]
name = "4k-rand-read-1x32"
workload = "4k-rand-read-1x32"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 32, split = "drives" }
until = { time = "SECONDS" }
"""


def sh(*command: str) -> str:
    """Runs a command of the guest; fails the test with its own words."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


def end_target() -> None:
    """Takes every NVMe target of this guest away, so that another test can make its own."""
    for export in NVMET.glob("ports/*/subsystems/*"):
        export.unlink()
    for namespace in NVMET.glob("subsystems/*/namespaces/*"):
        (namespace / "enable").write_text("0")
        namespace.rmdir()
    for made in (*NVMET.glob("ports/*"), *NVMET.glob("subsystems/*")):
        made.rmdir()


def start(kind: str, path: str | Path, size: int, **job: object) -> _core.Handle:
    """One job on one device."""
    common = {"direct": True, "until": {"count": 600}}
    document = common | ({} if "streams" in job else {"load": {"threads": 1, "iodepth": 8}}) | job
    return _core.start_engine(_core.Job(json.dumps(document)), [_core.EngineTarget(str(path), kind, size)], 1)


def run(kind: str, path: str | Path, size: int, **job: object) -> _core.Recording:
    """One job on one device, to its end."""
    handle = start(kind, path, size, **job)
    while not handle.done():
        handle.poll()
    return handle.result()[0]


def counts(recording: _core.Recording) -> dict[str, tuple[int, int]]:
    """Completed and failed I/O of each operation."""
    return {op.op: (op.n, op.errors) for op in recording.ops}


def shelf_method(time: str) -> str:
    """The text of a method that reads from all drives of a shelf for that time."""
    return SHELF_METHOD.replace("SECONDS", time)
