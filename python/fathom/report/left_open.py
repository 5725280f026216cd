"""What a twin's parameters leave open of a figure: the range over its ensemble, or the command that finds it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fathom.catalog.ensemble import load_ensemble
from fathom.catalog.load import method_names
from fathom.catalog.settings import split
from fathom.errors import FathomError
from fathom.output.text import signed_pct
from fathom.prediction.interval import COVERAGE
from fathom.prediction.members import range_over
from fathom.report.comparison import Cell, Column, Comparison
from fathom.report.rows import StepOfTarget
from fathom.report.style import plain

MEMBERS = 16
"""How many members the command asks for: twice the fewest that make a range."""
Figure = Literal["iops", "mbps", "mean_us", "p50_us", "p99_us", "p999_us", "waf"]
NOTE = (
    f"[−1 to +2 %]: the range of the middle {100 * COVERAGE:.0f} % of the ensemble, as changes of the figure. It is "
    "what the calibration rows leave open about the parameters. It has no mechanism that the twin lacks."
)


@dataclass(frozen=True)
class LeftOpen:
    """The range of a figure over the members of an ensemble, as changes of the figure in percent."""

    low_pct: float
    high_pct: float

    @property
    def words(self) -> str:
        """The range as a line beneath the figure: `[−2.6 to +5.9 %]`."""
        return f"[{signed_pct(self.low_pct).removesuffix(' %')} to {signed_pct(self.high_pct)}]"


def left_open(cell: Cell, figure: Figure) -> LeftOpen | None:
    """Returns the range of a cell's figure over the members that ran; None where too few have it."""
    own: float | None = getattr(cell.point, figure)
    step = StepOfTarget(cell.point.target, cell.step.name)
    members = cell.column.run.repeats[0].ensemble.get(step, [])
    rows = [row for member in members for row in member if row.op == cell.point.op]
    values: list[float] = [value for row in rows if (value := getattr(row, figure)) is not None]
    found = range_over(values)
    if not own or found is None:
        return None
    low, high = found
    return LeftOpen(100 * (low / own - 1), 100 * (high / own - 1))


def notes(comparison: Comparison) -> list[str]:
    """Returns how to read the ranges, and the command that adds them for the twins whose members did not run."""
    ran = [column for column in comparison.twins if column.run.repeats[0].ensemble]
    able = [column for column in comparison.twins if column not in ran and _has_ensemble(column)]
    if any(cell.is_replay for corner in comparison.corners for cell in corner.cells):
        able = []
    return [*([NOTE] if ran else []), *([_command(able)] if able else [])]


def _has_ensemble(column: Column) -> bool:
    """Returns whether the catalogue has members of the twin's device."""
    try:
        return column.twin_device is not None and bool(load_ensemble(split(column.twin_device.name)[0]))
    except FathomError:
        return False


def _command(columns: Sequence[Column]) -> str:
    names = {column.run.document.method.name for column in columns}
    method = plain(names.pop()) if len(names) == 1 and names <= set(method_names()) else "METHOD"
    targets = " ".join(dict.fromkeys(plain(column.target.name) for column in columns))
    return (
        f"`fathom run {method} {targets} --ensemble {MEMBERS}` adds to each figure what the parameters of its twin "
        "leave open."
    )
