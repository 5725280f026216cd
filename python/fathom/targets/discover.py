"""What is attached, and why each device is safe to write or refused: the answer of `fathom devices`."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import geteuid
from pathlib import Path

from rich.console import Console
from rich.text import Text

from fathom.errors import UsageError
from fathom.output.table import flush_table
from fathom.output.text import capacity
from fathom.targets import libblkid, sysfs
from fathom.targets.capability_words import capabilities_of
from fathom.targets.mounts import Usage, read_usage
from fathom.targets.parse import device_target
from fathom.targets.refusal import Refusal
from fathom.targets.safety import NO_LIBBLKID, check_device, destroy_token
from fathom.targets.stack import Stacks
from fathom.targets.target import Target

DEVICES_SCHEMA = "fathom-devices/1"
_AT_ONCE = 16
"""Disks that are examined at once: each waits for its own 64 reads."""
WITHOUT_DEVICE = (
    "`fathom run four-corners file:scratch.bin --size 1GiB --quick` tests a disk through a file of Fathom's own; "
    "twins need no disk (`fathom catalog --kind devices`)"
)
"""What can be tested where there is no device to write to."""


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One whole disk, every reason against writing to it, and the token that writing takes."""

    target: Target
    refusals: tuple[Refusal, ...]
    destroy_token: str

    @property
    def safe(self) -> bool:
        """Whether nothing speaks against writing (which still takes the token)."""
        return not self.refusals

    @property
    def verdict(self) -> str:
        """`safe`, or `refused: reason, reason`."""
        return "safe" if self.safe else "refused: " + ", ".join(refusal.reason for refusal in self.refusals)


def examine(device: str) -> DeviceReport:
    """Examines one device by its path. Raises UsageError where there is none."""
    target = device_target(Path(device))
    refusals = tuple(check_device(Path(target.name), usage=read_usage(), stacks=Stacks()))
    return DeviceReport(target, refusals, destroy_token(target.identity))


def discover() -> list[DeviceReport]:
    """Examines every whole disk, unattached loop and zram devices left out."""
    usage, stacks = read_usage(), Stacks()
    disks = [disk for disk in sysfs.all_disks() if disk.size_bytes > 0 or not _is_spare(disk)]
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        found = pool.map(lambda disk: _examined(disk, usage, stacks), disks)
    return [report for report in found if report]


def _examined(disk: sysfs.BlockDevice, usage: Usage, stacks: Stacks) -> DeviceReport | None:
    """Returns the report on a disk; None where it was removed after the listing."""
    try:
        target = device_target(disk.node)
        refusals = tuple(check_device(disk.node, usage=usage, stacks=stacks))
        return DeviceReport(target, refusals, destroy_token(target.identity))
    except UsageError:
        return None


def print_devices(console: Console, reports: Sequence[DeviceReport]) -> None:
    """Prints one row a device, with what `--destroy` takes; names and models are shown as they are, never as markup."""
    if not reports:
        console.print(Text(f"no block devices found; {WITHOUT_DEVICE}"))
        return
    table = flush_table(None, gap=2)
    for heading in ("device", "model", "size", "transport", "--destroy", "verdict"):
        table.add_column(heading, justify="right" if heading == "size" else "left", overflow="fold")
    for report in reports:
        identity = report.target.identity
        cells = [
            report.target.name,
            identity.model or identity.stack,
            capacity(report.target.capacity_bytes),
            identity.transport,
            report.destroy_token,
        ]
        row = [Text(cell or "-") for cell in cells]
        table.add_row(*row, Text(report.verdict, style="green" if report.safe else "yellow"))
    console.print(table)
    if not libblkid.available():
        console.print(Text(NO_LIBBLKID))
    console.print(Text(_next_step(reports)))


def _next_step(reports: Sequence[DeviceReport]) -> str:
    """Returns the next command to try: a plan for the first safe device, or what to test without one."""
    if safe := next((report for report in reports if report.safe), None):
        return f"`fathom plan four-corners {safe.target.name}` shows what a run would write and how long it takes"
    may_not_look = any(refusal.rule == "unreadable" for report in reports for refusal in report.refusals)
    as_root = "root may examine more of them; " if may_not_look and geteuid() else ""
    return f"none of them is safe to write; {as_root}{WITHOUT_DEVICE}"


def print_device(console: Console, report: DeviceReport) -> None:
    """Prints one device with what it says that it can do."""
    print_devices(console, [report])
    found = capabilities_of(report.target)
    for name, text in (found or {}).items():
        console.print(Text.assemble((f"{name}: ", "dim"), text))
    if found is None:
        console.print(Text("capabilities: not known; only NVMe drives state them, and only to root"))


def devices_json(reports: Sequence[DeviceReport]) -> dict[str, object]:
    """Returns the document of `fathom devices --json`."""
    devices = [
        {
            "name": report.target.name,
            "label": report.target.label,
            "capacity_bytes": report.target.capacity_bytes,
            "safe": report.safe,
            "refusals": [{"rule": refusal.rule, "reason": refusal.reason} for refusal in report.refusals],
            "destroy_token": report.destroy_token,
            "identity": report.target.identity.to_json(),
        }
        for report in reports
    ]
    return {"schema": DEVICES_SCHEMA, "libblkid": libblkid.available(), "devices": devices}


def _is_spare(disk: sysfs.BlockDevice) -> bool:
    return disk.name.startswith(("loop", "zram", "ram", "nbd"))
