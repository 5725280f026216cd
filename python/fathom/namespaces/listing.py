"""The namespaces of a drive as rows: number, block device, size, format, controllers, handles. Changes nothing."""

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from fathom.namespaces.drive import Drive
from fathom.namespaces.manager import Facts, Manager
from fathom.namespaces.record import Record
from fathom.output.table import flush_table
from fathom.output.text import capacity, size

NONE = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One namespace. Without a `node` this machine does not reach it."""

    namespace: int
    node: str | None
    size_bytes: int
    block_bytes: int
    controllers: tuple[int, ...]
    handles: tuple[int, ...]


@dataclass(frozen=True)
class Listing:
    """The namespaces of a drive, and what is known of them as a whole."""

    drive: Drive
    rows: list[Row]
    unallocated_bytes: int
    record: Record | None
    """What was there before a split; None where Fathom has split nothing."""


def rows_of(manager: Manager, drive: Drive) -> list[Row]:
    """Returns all namespaces that the drive lists. Raises OSError where it does not answer."""
    facts = manager.facts()
    disks = drive.disks()
    if not facts.able.manages_namespaces:
        return [_reached(drive, number) for number in sorted(disks)]
    return [_row(manager, facts, drive, number) for number in manager.allocated()]


def _row(manager: Manager, facts: Facts, drive: Drive, number: int) -> Row:
    found, block_bytes = manager.described(number)
    nodes = [disk.node for disk in drive.disks().get(number, [])]
    try:
        handles = manager.handles(number, nodes[0], facts, found.endurance_group) if nodes else ()
    except OSError:
        handles = ()
    return Row(
        number,
        str(nodes[0]) if nodes else None,
        found.size_blocks * block_bytes,
        block_bytes,
        manager.controllers_of(number),
        handles,
    )


def _reached(drive: Drive, number: int) -> Row:
    """Returns a namespace of a drive that does not list its own, as the kernel has it."""
    disk = drive.disks()[number][0]
    block_bytes = disk.identity().logical_block_bytes or 512
    return Row(number, str(disk.node), disk.size_bytes, block_bytes, tuple(drive.ports), ())


def print_listing(console: Console, found: Listing) -> None:
    """Prints the table, the capacity that is in none, and whether Fathom has split one."""
    table = flush_table(None, gap=2)
    for heading in ("namespace", "device", "size", "blocks", "controllers", "handles"):
        table.add_column(heading, justify="right" if heading in ("namespace", "size") else "left")
    for row in found.rows:
        cells = (
            str(row.namespace),
            row.node or NONE,
            capacity(row.size_bytes),
            size(row.block_bytes),
            _listed(row.controllers),
            _listed(row.handles),
        )
        table.add_row(*map(Text, cells))
    console.print(table)
    if found.unallocated_bytes:
        console.print(Text(f"{capacity(found.unallocated_bytes)} in no namespace"))
    if found.record:
        console.print(Text(split_in_words(found.drive, found.record)))


def split_in_words(drive: Drive, record: Record) -> str:
    """Returns what was split and how it is put back."""
    whole = capacity(record.original.size_blocks * record.block_bytes)
    return (
        f"Fathom has split namespace {record.namespace} ({whole}); "
        f"`fathom namespaces {drive.node} --restore --destroy {record.serial}` puts it back, empty"
    )


def restored_in_words(record: Record, number: int) -> str:
    """Returns that the original is back, and whether the drive gave it another number."""
    other = "" if number == record.namespace else f", as number {number}"
    return f"namespace {record.namespace} is back with its size and format{other}; it holds no data"


def listing_json(found: Listing) -> dict[str, object]:
    """Returns the document of `fathom namespaces --json`."""
    return {
        "schema": "fathom-namespace-list/1",
        "device": str(found.drive.node),
        "serial": found.drive.serial,
        "namespaces": [
            {
                "namespace": row.namespace,
                "device": row.node,
                "size_bytes": row.size_bytes,
                "block_bytes": row.block_bytes,
                "controllers": row.controllers,
                "handles": row.handles,
            }
            for row in found.rows
        ],
        "split": found.record.model_dump(by_alias=True, mode="json") if found.record else None,
    }


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers)) or NONE
