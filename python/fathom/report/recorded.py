"""A replay beside what its trace recorded: latencies of all of it, and rate and latencies of its phases."""

from collections.abc import Iterator, Sequence

from fathom.columns.schema import PhaseOfOp
from fathom.output.text import many_of
from fathom.report.blocks import Block, Group, Item, Prose, Row, Table
from fathom.report.comparison import Cell, Column, Corner
from fathom.report.style import grouped, plain, seconds

LATENCIES = {"mean_us": "mean", "p50_us": "p50", "p99_us": "p99", "p999_us": "p99.9"}
OF_PHASES = {"iops": "IOPS", "mean_us": "mean, us", "p99_us": "p99, us"}
SHOWN_PHASES = 8
NONE = Item("–", tone="quiet")
AT_BLOCK_LAYER = (
    "Recorded latencies were taken in the kernel's block layer, those of the replay at the load generator. On a real "
    "target these also have the way through the kernel and back. `fathom capture` during the replay records both at "
    "the same place."
)
NOT_KNOWN = (
    "The trace does not show where its latencies were taken. Those of the replay are the load generator's."
)


def recorded_blocks(corners: Sequence[Corner]) -> list[Block]:
    """Returns tables of a replay beside its trace; none where no run kept what the trace recorded."""
    found = [(corner, cell, rows) for corner in corners for cell in corner.cells if (rows := _rows(cell))]
    whole = [(corner, _of_whole(cell, rows)) for corner, cell, rows in found]
    blocks: list[Block] = []
    if any(rows for _, rows in whole):
        taken = [row for _, _, rows in found for row in rows if row.recorded_mean_us is not None]
        blocks += [_latencies(whole), Prose([AT_BLOCK_LAYER if taken[0].at_block_layer else NOT_KNOWN])]
    columns = {cell.column.index: cell.column for _, cell, _ in found}
    for column in columns.values():
        rows = [row for _, cell, rows in found if cell.column is column for row in rows]
        blocks += _phases(column, rows)
    return blocks


def _rows(cell: Cell) -> list[PhaseOfOp]:
    """Returns what was kept of the cell's trace; nothing where too much of its I/O failed for figures."""
    point = cell.point
    if point.mean_us is None:
        return []
    key = (point.target, point.step, point.op)
    return [row for row in cell.column.run.phases if (row.target, row.step, row.op) == key]


def _of_whole(cell: Cell, rows: Sequence[PhaseOfOp]) -> list[Row]:
    return [
        Row(Item(_named(cell.column.label, row)), [_beside(row, name, times=True) for name in LATENCIES])
        for row in rows
        if row.phase is None and row.recorded_mean_us is not None
    ]


def _named(label: str, row: PhaseOfOp) -> str:
    return f"{label}, {plain(row.stream)}" if row.stream else label


def _latencies(whole: Sequence[tuple[Corner, list[Row]]]) -> Table:
    groups = {corner.cells[0].point.op: list[Row]() for corner, _ in whole}
    for corner, rows in whole:
        groups[corner.cells[0].point.op] += rows
    return Table(
        "Replayed and recorded",
        [Item(text, "us") for text in LATENCIES.values()],
        [Group(many_of(op), rows) for op, rows in groups.items() if rows],
        [
            "Service latency, from issue to completion. Beneath it are the recorded one, and the replay's as a "
            "multiple of that. A percentile needs 100 I/Os beyond it."
        ],
    )


def _beside(row: PhaseOfOp, name: str, *, times: bool = False) -> Item:
    """Returns a figure of the replay, and beneath it the recorded one."""
    own: float | None = getattr(row, name)
    recorded: float | None = getattr(row, f"recorded_{name}")
    if own is None and recorded is None:
        return NONE
    ratio = f", × {own / recorded:.3g}" if times and own is not None and recorded else ""
    sub = "" if recorded is None else f"recorded {grouped(recorded)}{ratio}"
    return Item("–" if own is None else grouped(own), sub, tone="quiet" if own is None else "")


def _phases(column: Column, rows: Sequence[PhaseOfOp]) -> Iterator[Table]:
    numbered = [row for row in rows if row.phase is not None]
    if max((row.phase or 0 for row in numbered), default=0) == 0:
        return
    groups: dict[tuple[str | None, int], list[PhaseOfOp]] = {}
    for row in sorted(numbered, key=lambda row: (row.stream or "", row.phase)):
        groups.setdefault((row.stream, row.phase or 0), []).append(row)
    notes = [
        "Phases are stretches of the trace at equal rates; their times are the recorded ones. "
        "Beneath a figure is the recorded one."
    ]
    if column.repeats > 1:
        notes.append(
            f"Rates and percentiles are means over {column.repeats} repeats; mean latency is that of all I/Os."
        )
    yield Table(
        f"Phases on {column.label}",
        [Item(text) for text in OF_PHASES.values()],
        [
            Group(
                when(own[0]),
                [Row(Item(many_of(row.op)), [_beside(row, n) for n in OF_PHASES]) for row in own],
            )
            for own in groups.values()
        ],
        notes,
        shown=SHOWN_PHASES,
    )


def when(row: PhaseOfOp) -> str:
    """Returns the stream of a phase, where it has one, and its recorded times."""
    until_s = row.recorded_start_s + row.recorded_length_s
    times = f"{seconds(row.recorded_start_s)} to {seconds(until_s)}"
    return f"{plain(row.stream)}, {times}" if row.stream else times
