"""The guest's part of test_multipath: a target of three namespaces in its own kernel, by loopback and by two TCP paths.

multipath_guest.py FOLDER    writes FOLDER/told.json
"""

import json
import sys
import time
from pathlib import Path
from threading import Thread

from vm_guest import NVMET, sh, shelf_method

from fathom.load.initiator import ThisMachine
from fathom.method.method import parse_method
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import added_latency
from fathom.runs.reader import Run
from fathom.session import Options, start_run
from fathom.targets.parse import parse_target

NQN = "nqn.shelf"
ADDRESS = "127.0.0.1"
PORTS = {"1": "4420", "2": "4421"}
LOOPBACK = "3"


def export(drives: list[str]) -> None:
    """Makes every drive a namespace of one subsystem, behind two TCP ports and a loopback port."""
    for module in ("nvmet", "nvmet_tcp", "nvme_tcp", "nvme_loop"):
        sh("modprobe", module)
    subsystem = NVMET / "subsystems" / NQN
    subsystem.mkdir()
    (subsystem / "attr_allow_any_host").write_text("1")
    for number, drive in enumerate(drives, 1):
        namespace = subsystem / "namespaces" / str(number)
        namespace.mkdir()
        (namespace / "device_path").write_text(drive)
        (namespace / "enable").write_text("1")
    for number in (*PORTS, LOOPBACK):
        port = NVMET / "ports" / number
        port.mkdir()
        if number in PORTS:
            for name, text in (
                ("addr_trtype", "tcp"),
                ("addr_adrfam", "ipv4"),
                ("addr_traddr", ADDRESS),
                ("addr_trsvcid", PORTS[number]),
            ):
                (port / name).write_text(text)
        else:
            (port / "addr_trtype").write_text("loop")
        (port / "subsystems" / NQN).symlink_to(subsystem)


def heads() -> list[str]:
    """The block devices of the target's namespaces, once they are all there."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for subsystem in Path("/sys/class/nvme-subsystem").iterdir():
            if (subsystem / "subsysnqn").read_text().strip() == NQN:
                found = sorted(f"/dev/{one.name}" for one in subsystem.glob("nvme*n*") if "c" not in one.name)
                if len(found) == 3 and all(Path(one).is_block_device() for one in found):
                    return found
        time.sleep(0.2)
    raise SystemExit("the namespaces of the target do not appear")


def measured(text: str, out: Path, seconds: str = "3s") -> Run:
    here = ThisMachine()
    method = parse_method(shelf_method(seconds), "shelf.toml")
    return start_run(method, here.resolve([text]), Options(out=out, initiator=here))


def told_of(run: Run) -> dict[str, object]:
    [row] = [row for row in run.points.to_pylist() if row["target"] == run.document.targets[0].name]
    rows = [row for row in run.telemetry.to_pylist() if row["name"] == "nvme_paths"]
    return {
        "status": run.document.status,
        "transport": run.document.targets[0].identity.get("transport"),
        "n": row["n"],
        "errors": row["errors"],
        "max_us": row["max_us"],
        "paths": max((one["value"] for one in rows), default=None),
        "notes": [f"{note.rule}: {note.text}" for note in run.notes if note.rule == "path-down"],
    }


def main(folder: Path) -> None:
    sh("modprobe", "null_blk", "nr_devices=1", "memory_backed=1", "gb=1", "bs=4096")
    local = "/dev/nvme2n1"
    export(["/dev/nvme0n1", local, "/dev/nullb0"])
    told: dict[str, object] = {}

    sh("nvme", "connect", "-t", "loop", "-n", NQN)
    namespaces = heads()
    shelf = measured(f"array:{','.join(namespaces)}", folder)
    looped = measured(namespaces[1], folder)
    alone = measured(local, folder)
    section = added_latency.build(compare([load(one.path) for one in (shelf, looped, alone)]))
    told["stages"] = [getattr(block, "corner", "") for block in section.blocks] if section else []
    told["loopback"] = told_of(looped)
    sh("nvme", "disconnect", "-n", NQN)

    for port in PORTS.values():
        sh("nvme", "connect", "-t", "tcp", "-a", ADDRESS, "-s", port, "-n", NQN)
    head = heads()[1]
    told["two paths"] = told_of(measured(head, folder))

    def fail() -> None:
        while not any(log.stat().st_size for log in folder.glob("*/steps/*.live.jsonl")):
            time.sleep(0.1)
        (NVMET / "ports/2/subsystems" / NQN).unlink()

    thread = Thread(target=fail)
    thread.start()
    told["one fails"] = told_of(measured(head, folder, "15s"))
    thread.join()
    told["plan"] = [parse_target(head).identity.transport]
    (folder / "told.json").write_text(json.dumps(told, indent=1))


main(Path(sys.argv[1]))
