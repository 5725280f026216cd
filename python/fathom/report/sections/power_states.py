"""One drive in several NVMe power states: rate, latency and watts of each workload, state below state."""

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.catalog.settings import apart
from fathom.output.text import signed_pct
from fathom.report import power
from fathom.report.blocks import Group, Item, Row, Section, Table
from fathom.report.comparison import Cell, Column, Comparison, Corner
from fathom.report.findings import gate
from fathom.report.latencies import latency, percentile
from fathom.report.power import power_item
from fathom.report.style import grouped, plain, slot

ORDER = 17
NONE = Item("–", tone="quiet", title="does not apply, or was not recorded")
KEPT = 0.99
"""Share of a rate from which a state costs nothing that a reader would notice."""
HEAD = (
    Item("Result"),
    Item("Latency, mean", "us"),
    Item("p99", "us"),
    Item("Power, mean", "W"),
    Item("IOPS per W"),
)


@dataclass(frozen=True)
class InState:
    """A column whose drive was in a power state. `most_w` is what the state allows, where that is known."""

    drive: str
    state: int
    most_w: float | None
    column: Column


def build(comparison: Comparison) -> Section | None:
    """Returns the states side by side; None where no drive was measured in two or more."""
    drives: dict[str, list[InState]] = {}
    for column in comparison.columns:
        if one := in_state(column):
            drives.setdefault(one.drive, []).append(one)
    several = [
        sorted(states, key=lambda one: one.state)
        for states in drives.values()
        if len({one.state for one in states}) > 1
    ]
    if not several:
        return None
    groups = [
        Group(
            f"{corner.label}, {corner.unit}" + (f": {_name(states[0])}" if len(several) > 1 else ""),
            _rows(corner, states),
        )
        for states in several
        for corner in comparison.corners
        if any(corner.cell(one.column) for one in states)
    ]
    footnotes = [
        "Below a result is its change from the first state of the drive. The watts of a state are the most that it "
        "allows, as the drive or the catalogue states them.",
        "A drive without its own sensor needs a meter (--power METER). IOPS per W is the rate over the mean power.",
        power.NOTE,
    ]
    answer = [text for states in several if (text := _sentence(comparison, states))]
    return Section(
        "power-states",
        "Power states",
        [Table("State", HEAD, groups, footnotes)],
        answer=answer,
    )


def in_state(column: Column) -> InState | None:
    """Returns the state that a column's drive was in; None where it was left as it was."""
    target = column.target
    if target.kind == "twin":
        return _twin_in_state(column)
    state = column.run.document.power_state
    if state is None:
        return None
    return InState(target.name, state, _most_w(column), column)


def _twin_in_state(column: Column) -> InState | None:
    name, stated = apart(column.target.catalog or "", "power_state")
    if stated is None or not stated.isdecimal():
        return None
    device, state = column.twin_device, int(stated)
    watts = device.twin.parameters.get("power_states") if device and device.twin else None
    listed = str(watts.value).split("+") if watts else []
    most_w = float(listed[state]) if state < len(listed) else None
    return InState(name, state, most_w, column)


def _most_w(column: Column) -> float | None:
    """Returns what the state allows a real target in all; None where a drive of it states no watts."""
    match column.run.document.environment.get("power_state"):
        case {"most_w": dict(most_w), "before": dict(before)} if before and most_w.keys() == before.keys():
            known = [watts for watts in most_w.values() if isinstance(watts, int | float)]
            return float(sum(known)) if len(known) == 1 else None
        case _:
            return None


def _rows(corner: Corner, states: Sequence[InState]) -> list[Row]:
    first = corner.cell(states[0].column)
    rows: list[Row] = []
    for one in states:
        cell = corner.cell(one.column)
        most = f"at most {one.most_w:g} W" if one.most_w is not None else one.column.kind
        label = Item(f"state {one.state}", most, slot=slot(one.column.index))
        rows.append(Row(label, _items(cell, first) if cell else [NONE] * len(HEAD)))
    return rows


def _items(cell: Cell, first: Cell | None) -> list[Item]:
    point = cell.point
    return [
        _result(cell, first),
        latency(point, "mean_us") or NONE,
        percentile(point, "p99_us"),
        power_item(cell.column, point) or NONE,
        _per_watt(cell),
    ]


def _result(cell: Cell, first: Cell | None) -> Item:
    if cell.value is None:
        return NONE
    if cell.failed:
        return Item(grouped(cell.value), cell.failed, tone="bad")
    change = ""
    if first and first is not cell and first.value and not first.failed:
        change = signed_pct(100 * (cell.value / first.value - 1))
    return Item(grouped(cell.value), change, tone="strong", title=cell.margin)


def _per_watt(cell: Cell) -> Item:
    watts = _watts(cell)
    return Item(grouped(cell.point.iops / watts)) if watts and cell.point.iops else NONE


def _watts(cell: Cell) -> float | None:
    point = cell.point
    return point.joules / point.window_s if point.joules and point.window_s else None


def _name(one: InState) -> str:
    """Returns the drive's name, without the state that a twin's label has in it."""
    device = one.column.twin_device
    return plain((device.identity.label if device else one.column.target.label) or one.drive)


def _sentence(comparison: Comparison, states: Sequence[InState]) -> str:
    """Returns where the last state costs most, with what it saves there, or that it costs nothing; empty where nothing
    can be compared.
    """
    first, last, out = states[0], states[-1], gate(comparison)
    pairs = [
        (b.value / a.value, corner.label, a, b)
        for corner in comparison.corners
        if (a := corner.cell(first.column)) and (b := corner.cell(last.column))
        if a.value and b.value and not a.failed and not b.failed
        if not any((cell.column.short, cell.step.name) in out for cell in (a, b))
    ]
    if not pairs:
        return ""
    share, label, a, b = min(pairs, key=lambda one: one[0])
    if share >= KEPT:
        return (
            f"{_name(last)}: in power state {last.state} no workload falls below "
            f"{100 * KEPT:.0f} % of its rate in state {first.state}."
        )
    before, after = _watts(a), _watts(b)
    saved = f", for {100 * after / before:.0f} % of its watts" if before and after else ""
    return (
        f"{_name(last)}: power state {last.state} costs most in {label}, "
        f"{100 * share:.0f} % of the rate in state {first.state}{saved}."
    )
