"""The guest's part of test_guest_namespaces: a QEMU drive with one namespace attached and two of half its size not.

namespaces_guest.py FOLDER    writes FOLDER/told.json

QEMU attaches and detaches namespaces, and neither creates nor deletes them. So those two commands are played here, by
two that are there already. Everything else goes to the kernel and the drive.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vm_guest import counts, sh

from fathom import _core
from fathom.errors import FathomError
from fathom.namespaces import commands
from fathom.namespaces.drive import Drive, drive_of
from fathom.namespaces.layout import Definition
from fathom.namespaces.manager import Facts, Manager
from fathom.targets.nvme_admin import admin_of, change_of
from fathom.targets.parse import device_target
from fathom.targets.safety import destroy_token

SERIAL = "VMLABSPARE"
TENANTS = {
    "mix": "write",
    "block": "128KiB",
    "pattern": "sequential",
    "load": {"threads": 1, "iodepth": 4, "split": [1, 3]},
    "direct": True,
    "until": {"time": "2s"},
}


class Played(Manager):
    """The drive as if it created and deleted; a file has which namespaces there are, for the next process."""

    __slots__ = ("created", "state")

    def __init__(self, node: Path, state: Path) -> None:
        super().__init__(admin_of(node), change_of(node))
        object.__setattr__(self, "state", state)
        object.__setattr__(self, "created", lambda: None)

    def there(self) -> list[int]:
        return json.loads(self.state.read_text()) if self.state.exists() else [1]

    def takes_changes(self, facts: Facts) -> bool:
        return True

    def allocated(self) -> tuple[int, ...]:
        return tuple(self.there())

    def create(self, one: Definition) -> int:
        number = next(
            each for each in (1, 2, 3) if each not in self.there() and one.describes(self.described(each)[0])
        )
        self.state.write_text(json.dumps([*self.there(), number]))
        self.created()
        return number

    def delete(self, namespace: int) -> None:
        assert not self.controllers_of(namespace)
        self.state.write_text(json.dumps([one for one in self.there() if one != namespace]))


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except FathomError as error:
        return str(error)
    return ""


def spare() -> Path:
    """The controller's node."""
    for entry in Path("/sys/class/nvme").iterdir():
        if (entry / "serial").read_text().strip() == SERIAL:
            return Path("/dev") / entry.name
    raise SystemExit(f"no {SERIAL}")


def nodes(drive: Drive) -> dict[int, str]:
    return {number: str(disks[0].node) for number, disks in drive.disks().items()}


def rows(node: Path, record: Path) -> list[list[Any]]:
    found = commands.list_namespaces(node, record).rows
    return [[one.namespace, one.size_bytes, one.node is not None, list(one.handles)] for one in found]


def loaded(tenants: list[Path]) -> list[dict[str, tuple[int, int]]]:
    """Writes to all at once, each at its own pace, and returns what each completed and failed."""
    targets = [_core.EngineTarget(str(one), "device", 128 << 20) for one in tenants]
    handle = _core.start_engine(_core.Job(json.dumps(TENANTS)), targets, 1)
    while not handle.done():
        handle.poll()
    return [counts(one) for one in handle.result()]


def killed_split(first: Path, record: Path, manager: Played) -> int:
    """Splits in a process that is killed when it has created one, and returns the signal that ended it."""
    child = os.fork()
    if child == 0:
        object.__setattr__(manager, "created", lambda: os.kill(os.getpid(), signal.SIGKILL))
        commands.split_namespace(first, 2, [SERIAL], record=record)
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


def main(folder: Path) -> None:
    node, record = spare(), folder / "record.json"
    drive, _ = drive_of(node)
    first = Path(nodes(drive)[1])
    told: dict[str, object] = {"rows": rows(node, record), "first": str(first)}
    told["placed"] = rows(Path("/dev/nvme0"), record)

    token = destroy_token(device_target(first).identity)
    told["refused"] = refusal(lambda: commands.split_namespace(first, 2, [token], record=record))
    real = commands.manager_of(drive)
    ports = tuple(drive.ports)
    real.attach(2, ports)
    commands._look_again(drive)
    commands.use.wait_for_nodes(drive, [2])
    told["attached"] = [sorted(nodes(drive)), list(real.controllers_of(2)) == list(ports)]
    real.detach(2)
    commands._look_again(drive)
    told["detached"] = list(real.controllers_of(2))

    played = Played(node, folder / "there.json")
    commands.manager_of = lambda drive: played
    told["without token"] = refusal(lambda: commands.split_namespace(first, 2, [], record=record))
    sh("mkfs.btrfs", "-f", "-m", "single", str(first))
    sh("mount", str(first), "/mnt")
    told["mounted"] = refusal(lambda: commands.split_namespace(first, 2, [SERIAL], record=record))
    sh("umount", "/mnt")
    sh("blkdiscard", "--zeroout", str(first))

    commands.split_namespace(first, 2, [SERIAL], record=record)
    told["split"] = rows(node, record)
    tenants = {number: Path(path) for number, path in nodes(drive).items()}
    told["tenants"] = sorted(tenants)
    told["loaded"] = loaded([tenants[2], tenants[3]])

    sh("mkfs.btrfs", "-f", "-m", "single", str(tenants[3]))
    sh("mount", str(tenants[3]), "/mnt")
    told["in use"] = refusal(lambda: commands.restore_namespace(node, [SERIAL], record=record))
    sh("umount", "/mnt")
    sh("blkdiscard", "--zeroout", str(tenants[3]))
    commands.restore_namespace(node, [SERIAL], record=record)
    told["restored"] = [nodes(drive), record.exists()]

    told["killed"] = killed_split(first, record, played)
    told["after the kill"] = [sorted(played.there()), record.exists()]
    commands.restore_namespace(node, [SERIAL], record=record)
    told["restored again"] = [nodes(drive), record.exists()]
    (folder / "told.json").write_text(json.dumps(told, indent=1))


main(Path(sys.argv[1]))
