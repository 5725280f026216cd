"""The guest's part of test_power_cut: loads drives until the power is cut, or looks for what was acknowledged.

load NAME...            writes to both drives at once and prints `NAME WRITES` once a second
verify FOLDER NAME...   leaves the reports there as JSON, and the journals
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from vm_guest import sh

from fathom import _core

TARGETS = {"plain": ("/dev/nvme2n1", 128), "volatile": ("/dev/vdb", 512)}
"""The drive, and the MiB of it that are written."""
JOURNALS = Path("/mnt/journals")
DISK = "/dev/vda"


def start(name: str) -> _core.Handle:
    path, region_mib = TARGETS[name]
    job = {
        "mix": {"write": 999, "flush": 1},
        "block": "4KiB",
        "pattern": "uniform",
        "region": f"{region_mib}MiB",
        "content": {"verify": 1},
        "journal": str(JOURNALS / name),
        "load": {"threads": 2, "iodepth": 8},
        "until": {"time": "10min"},
        "direct": True,
    }
    return _core.start_engine(
        _core.Job(json.dumps(job)), [_core.EngineTarget(path, "device", 1 << 30)], 1, pin=False
    )


def load(names: list[str]) -> None:
    sh("mkfs.ext4", "-q", DISK)
    sh("mount", DISK, str(JOURNALS))
    handles = {name: start(name) for name in names}
    done = dict.fromkeys(names, 0)
    while True:
        for name, handle in handles.items():
            for interval in handle.poll(0.05):
                done[name] += sum(op.n for op in interval.ops if op.op == "write")
                print(name, done[name])


def verify(folder: Path, names: list[str]) -> None:
    sh("mount", DISK, str(JOURNALS))
    for name in names:
        command = [sys.executable, "-m", "fathom", "verify", str(JOURNALS / name), "--json"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.stdout, found.stderr
        (folder / f"{name}.json").write_text(found.stdout)
        shutil.copytree(JOURNALS / name, folder / name, dirs_exist_ok=True)
    sh("umount", str(JOURNALS))


JOURNALS.mkdir(exist_ok=True)
sh("modprobe", "-a", "virtio_blk", "ext4")
match sys.argv[1:]:
    case ["load", *names]:
        load(names)
    case ["verify", folder, *names]:
        verify(Path(folder), names)
