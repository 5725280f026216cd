"""What a sweep shows: which step changes most with what was set, and how each step is called. Computes no figure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import cast

import pyarrow as pa

from fathom._core import LARGE_BLOCK_BYTES
from fathom.method.step_names import Steps, called
from fathom.output.text import digits, many_of
from fathom.report.findings import SIMULATED
from fathom.report.style import grouped, plain
from fathom.sweep.grid import Axis
from fathom.sweep.keys import without
from fathom.sweep.study import Sweep

LEVEL_SHARE = 0.05
"""A figure that changes by less is unchanged."""
FIGURES = {"iops": "IOPS", "mbps": "MB/s", "mean_us": "mean us", "p99_us": "p99 us", "waf": "WAF"}
NOT_MEASURED = f"All targets are {SIMULATED}"
Rows = Sequence[dict[str, object]]


@dataclass(frozen=True)
class Panel:
    """An operation of a step in every combination."""

    step: str
    label: str
    rows: Rows
    prepares: bool

    @property
    def figure(self) -> str:
        """The figure to look at: MB/s of large blocks, as tables of results have it; MB/s too where blocks differ in
        size.
        """
        sizes = {cast("int", row["block_bytes"] or 0) for row in self.rows}
        return "mbps" if len(sizes) > 1 or min(sizes) >= LARGE_BLOCK_BYTES else "iops"


def panels(sweep: Sweep, table: pa.Table) -> list[Panel]:
    """Returns measured steps, then those that only prepare, in the order of the method."""
    found: dict[tuple[str, str], list[dict[str, object]]] = {}
    for row in table.to_pylist():
        found.setdefault((str(row["step"]), str(row["op"])), []).append(row)
    labels, counts = _labels(sweep), Counter(step for step, _ in found)
    preparing = {step.name for step in sweep.method.steps if step.prepares}
    made = [
        Panel(
            step,
            labels.get(step, plain(step)) + (f", {many_of(plain(op))}" if counts[step] > 1 else ""),
            rows,
            step in preparing,
        )
        for (step, op), rows in found.items()
    ]
    return sorted(made, key=lambda panel: panel.prepares)


def by_target(sweep: Sweep, panel: Panel) -> list[tuple[str, Rows]]:
    """Returns a panel's rows under its label, which names the target where there are several."""
    if len(sweep.targets) == 1:
        return [(panel.label, panel.rows)]
    rows: dict[str, list[dict[str, object]]] = {}
    for row in panel.rows:
        rows.setdefault(str(row["target"]), []).append(row)
    return [(f"{panel.label}: {plain(target)}", own) for target, own in rows.items()]


def _labels(sweep: Sweep) -> Mapping[str, str]:
    """Returns what each step is called, without the values that are set; equal names get the step's own behind them."""
    entries = cast("Sequence[Mapping[str, object]]", sweep.method.parsed["steps"])
    steps: Steps = {str(entry["name"]): entry for entry in entries}
    keys = [axis.job_key for axis in sweep.axes if axis.job_key]
    labels = {
        step.name: called(step.name, steps)
        if step.prepares or not keys
        else without(called(step.name, steps), step.job, keys)
        for step in sweep.method.steps
    }
    counts = Counter(labels.values())
    return {
        name: plain(label if counts[label] == 1 or label == name else f"{label} ({name})")
        for name, label in labels.items()
    }


def series(sweep: Sweep, x: Axis | None, row: Mapping[str, object]) -> str:
    """Returns what distinguishes a row from others of its panel at the same place on an axis.

    That is its other settings, and the target where there are several.
    """
    others = [axis for axis in sweep.axes if axis is not x and len(axis.values) > 1]
    targets = [plain(str(row["target"]))] if len(sweep.targets) > 1 else []
    return ", ".join(
        [*(f"{plain(axis.key)} {shown(axis.column, row[axis.column])}" for axis in others), *targets]
    )


def shown(name: str, value: object) -> str:
    """Returns a cell's text."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return grouped(value) if name in FIGURES else f"{value:.10g}"
    return plain(str(value))


def place(axis: Axis, row: Mapping[str, object]) -> float:
    """Returns where a row lies on an axis: its number, its size in bytes, or which of the values it has."""
    value = row[axis.column]
    if isinstance(value, float):
        return value
    return float(axis.sizes_bytes.get(str(value), axis.values.index(str(value))))


def answer(sweep: Sweep, x: Axis, found: Sequence[Panel]) -> str:
    """Returns which step's rate changes most from one end of the axis to the other, and whether any other does.

    Only rows that differ in nothing else are compared.
    """
    changes = _changes(sweep, x, found)
    if not changes:
        alone = len(sweep.combinations) == 1
        why = f"{sweep.combinations[0].label} alone" if alone else "no two combinations have a rate"
        return f"Nothing to compare: {why}."
    most = max(changes, key=lambda change: abs(log(change.ratio)))
    moved = {change.label for change in changes if abs(change.ratio - 1) >= LEVEL_SHARE}
    first, last = (shown(x.column, row[x.column]) for row in (most.first, most.last))
    span = f"From {plain(x.key)} {first} to {last}"
    between = any(change.between >= LEVEL_SHARE for change in changes if change.label not in moved)
    level = f"rate changes by {100 * LEVEL_SHARE:.0f} %{'; between them some do' * between}"
    if not moved:
        return f"{span}, no {level}."
    which = f" ({most.series})" if most.series else ""
    beside = " the most" if len(moved) > 1 else ""
    known = _known_throughout(found)
    rest = f"; no other {level}" if len(moved) == 1 and known else ""
    return (
        f"{span}, {FIGURES[most.figure]} of {most.label}{which} change{beside}: x {digits(most.ratio)}{rest}."
    )


def _known_throughout(found: Sequence[Panel]) -> bool:
    """Returns whether there are several measured steps, each with a rate in every combination."""
    measured = [panel for panel in found if not panel.prepares]
    return len(measured) > 1 and all(row[panel.figure] for panel in measured for row in panel.rows)


@dataclass(frozen=True)
class _Change:
    """A step's figure at both ends of the axis, where nothing else differs. `ratio` is the last over the first.

    `between` is how far the figure goes from the first on the way, as a share.
    """

    ratio: float
    between: float
    label: str
    figure: str
    series: str
    first: Mapping[str, object]
    last: Mapping[str, object]


def _changes(sweep: Sweep, x: Axis, found: Sequence[Panel]) -> list[_Change]:
    out: list[_Change] = []
    for panel in found:
        if panel.prepares:
            continue
        lines: dict[str, list[dict[str, object]]] = {}
        for row in panel.rows:
            if row[panel.figure]:
                lines.setdefault(series(sweep, x, row), []).append(row)
        for name, rows in lines.items():
            rows.sort(key=lambda row: place(x, row))
            values = [float(str(row[panel.figure])) for row in rows]
            low, high = values[0], values[-1]
            if len(rows) > 1 and low > 0 and high > 0:
                between = max(abs(value / low - 1) for value in values)
                out.append(_Change(high / low, between, panel.label, panel.figure, name, rows[0], rows[-1]))
    return out


def across(axes: Sequence[Axis]) -> Axis:
    """Returns the axis to look along: the last with several values, numbers or sizes where there are such."""
    several = [axis for axis in axes if len(axis.values) > 1] or axes
    ordered = [axis for axis in several if axis.is_numeric or axis.sizes_bytes]
    return [*several, *ordered][-1]
