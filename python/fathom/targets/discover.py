"""What is attached, and why each device is safe to write or refused: the answer of `fathom devices`."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from fathom.errors import UsageError
from fathom.table import flush_table
from fathom.targets import sysfs
from fathom.targets.mounts import read_usage
from fathom.targets.parse import device_target
from fathom.targets.safety import Refusal, check_device, destroy_token
from fathom.targets.target import Target
from fathom.text import capacity

DEVICES_SCHEMA = "fathom-devices/1"


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


def discover() -> list[DeviceReport]:
    """Examines every whole disk, unattached loop and zram devices left out."""
    usage = read_usage()
    disks = [disk for disk in sysfs.all_disks() if disk.size_bytes > 0 or not _is_spare(disk)]
    reports = []
    for disk in disks:
        # A disk may be pulled out between the listing and the look at it.
        with suppress(UsageError):
            target = device_target(disk.node)
            refusals = tuple(check_device(disk.node, usage=usage))
            reports.append(DeviceReport(target, refusals, destroy_token(target.identity)))
    return reports


def print_devices(console: Console, reports: Sequence[DeviceReport]) -> None:
    """Prints one row a device, with what `--destroy` takes; names and models are shown as they are, never as markup."""
    if not reports:
        console.print("No block devices found. Files (file:PATH) and twins (twin:NAME) can be tested.")
        return
    table = flush_table(None, gap=2)
    for heading in ("device", "model", "size", "transport", "--destroy", "verdict"):
        table.add_column(heading, justify="right" if heading == "size" else "left", overflow="fold")
    for report in reports:
        identity = report.target.identity
        cells = [
            report.target.name,
            identity.model,
            capacity(report.target.capacity_bytes),
            identity.transport,
            report.destroy_token,
        ]
        row = [Text(cell or "-") for cell in cells]
        table.add_row(*row, Text(report.verdict, style="green" if report.safe else "yellow"))
    console.print(table)


def devices_json(reports: Sequence[DeviceReport]) -> dict[str, object]:
    """The document of `fathom devices --json`."""
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
    return {"schema": DEVICES_SCHEMA, "devices": devices}


def _is_spare(disk: sysfs.BlockDevice) -> bool:
    return disk.name.startswith(("loop", "zram", "ram", "nbd"))
