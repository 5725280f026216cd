"""What the figures were measured on: a picture of the path from the load to the drives, and tables of its parts."""

from collections.abc import Iterator
from itertools import pairwise, product

from fathom.catalog.settings import split
from fathom.output.text import without_document
from fathom.report.bed_of_run import NOTHING, bed_of_run
from fathom.report.bed_of_twin import bed_of_twin
from fathom.report.blocks import Block, Diagram, Group, Item, Join, Node, Prose, Row, Section, Table
from fathom.report.comparison import Comparison
from fathom.report.style import grouped, slot
from fathom.report.test_bed import Component, Role, TestBed, shared

ORDER = 66
MACHINES: dict[Role, str] = {
    "host": "Host",
    "switch": "Network",
    "enclosure": "Enclosure",
    "controller": "Controller",
    "server": "Server",
    "software": "Software",
}
ASKED = ("processor", "memory", "operating system", "kernel", "tool", "network")
"""Rows that the table of machines always has, because readers look for them."""
ON_NODE = ("processor", "memory", "tool", "network", "capacity", "firmware")
"""Facts for which the picture has room."""


def build(comparison: Comparison) -> Section | None:
    """Returns a picture and a table for each test bed."""
    # What another program measured, it measured on a machine that nobody described.
    known = [one for one in comparison.columns if one.run.document.origin is None]
    columns = [one for one in known if one.target.kind not in NOTHING] or known
    beds = shared([bed_of_twin(column) if column.is_twin else bed_of_run(column) for column in columns])
    blocks = [block for place, bed in enumerate(beds) for block in _blocks(bed, place)]
    if prices := _prices(comparison):
        blocks.append(prices)
    return Section("test-bed", "What it was measured on", blocks, short="Test bed") if blocks else None


def _blocks(bed: TestBed, place: int) -> Iterator[Block]:
    yield Prose([_sentence(bed)])
    yield _diagram(bed, place)
    yield from _tables(bed)


def _sentence(bed: TestBed) -> str:
    if not bed.simulated:
        return f"{bed.title}: {bed.source}."
    source = without_document(bed.source)
    return f"Simulated. The twins stand for drives on this bench: {bed.title}." + (
        f" Source: {source}." if source else ""
    )


def _named(piece: Component) -> str:
    return f"{piece.count} × {piece.title}" if piece.count > 1 else piece.title


def _diagram(bed: TestBed, place: int) -> Diagram:
    keys = {(i, j): f"{i}-{j}" for i, stage in enumerate(bed.stages) for j in range(len(stage))}
    nodes = [
        Node(keys[i, j], piece.role, _named(piece), [text for name, text in piece.facts if name in ON_NODE])
        for i, stage in enumerate(bed.stages)
        for j, piece in enumerate(stage)
    ]
    joins = [
        Join(keys[i, a], keys[i + 1, b], following[b].uplink or stage[a].link)
        for i, (stage, following) in enumerate(pairwise(bed.stages))
        for a, b in product(range(len(stage)), range(len(following)))
    ]
    path = ", then ".join(" and ".join(map(_named, stage)) for stage in bed.stages)
    return Diagram(f"bed-{place}", f"The path from the load to the drives: {path}", nodes, joins)


def _tables(bed: TestBed) -> Iterator[Table]:
    """Yields a table of the machines and one of the drives, each with a column per component."""
    footnote = f"–: {'the source does not say' if bed.simulated else 'not known'}."
    machines = [piece for stage in bed.stages[:-1] for piece in stage]
    for corner, pieces, asked in (("Machine", machines, ASKED), ("Drive", bed.stages[-1], ("firmware",))):
        if pieces:
            names = dict.fromkeys([*asked, *(name for piece in pieces for name in piece.stated)])
            rows = [
                Row(Item(name), [Item(piece.stated.get(name, "–")) for piece in pieces]) for name in names
            ]
            heads = [Item(_named(piece), MACHINES.get(piece.role, "")) for piece in pieces]
            yield Table(corner, heads, [Group("", rows)], [footnote], numeric=False)


def _prices(comparison: Comparison) -> Table | None:
    """Returns the cost of the drives that the price list has."""
    prices = comparison.prices
    rows = []
    for column in comparison.columns:
        item = prices.items.get(split(column.target.catalog or "")[0])
        if item:
            per_tb = item.price / (column.target.usable_bytes / 1e12)
            cells = [Item(grouped(item.price)), Item(grouped(per_tb)), Item(item.source)]
            rows.append(Row(Item(column.label, slot=slot(column.index)), cells))
    heads = [Item("Price", prices.currency), Item("Price per TB", prices.currency), Item("Where it is from")]
    footnotes = [f"{prices.note[0].upper()}{prices.note[1:]}."] if prices.note else []
    return Table("Drive", heads, [Group("", rows)], footnotes, numeric=False) if rows else None
