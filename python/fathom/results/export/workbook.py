"""A run as a workbook (xlsx): sheets of points, of seconds, of the figures' origin and of validity notes."""

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from fathom.columns.schema import CSV_NAMES, TABLES
from fathom.errors import MissingPackagesError, UsageError
from fathom.report.data import load
from fathom.report.style import plain
from fathom.runs.reader import Run

if TYPE_CHECKING:
    from openpyxl.worksheet._write_only import WriteOnlyWorksheet

MOST_ROWS = 1_048_576
"""Rows of a sheet, headings included (ECMA-376, as spreadsheets hold to)."""


def bytes_of(run: Run) -> bytes:
    """Returns the file. Raises UsageError where openpyxl is not installed, or a table has too many rows for a sheet."""
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise MissingPackagesError("xlsx needs openpyxl", "xlsx") from error
    book = Workbook(write_only=True)
    _fill(book.create_sheet("points"), CSV_NAMES, [point.as_row() for point in load(run.path).points])
    if run.intervals.num_rows >= MOST_ROWS:
        raise UsageError(
            f"run {run.id} has more seconds than a sheet has rows", "take --format csv, or `fathom query`"
        )
    _fill(book.create_sheet("seconds"), TABLES["intervals"].names, run.intervals.to_pylist())
    _fill(book.create_sheet("about"), ("what", "value"), _about(run))
    notes = [note.model_dump() for note in run.document.notes]
    _fill(book.create_sheet("notes"), ("level", "target", "step", "text", "next_step"), notes)
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def _about(run: Run) -> list[dict[str, object]]:
    document = run.document
    facts = {
        "run": document.id,
        "method": document.method.name,
        "measured": document.measured or "not recorded",
        f"{document.made} by": document.program,
        "simulated": ", ".join(one.name for one in document.targets if one.kind == "twin") or "nothing",
    }
    return [{"what": name, "value": value} for name, value in facts.items()]


def _fill(sheet: "WriteOnlyWorksheet", names: Sequence[str], rows: Iterable[dict[str, object]]) -> None:
    """Writes headings and rows. Text that a spreadsheet would take for a formula is text."""
    sheet.append(list(names))
    for row in rows:
        sheet.append([_cell(sheet, row[name]) for name in names])


def _cell(sheet: "WriteOnlyWorksheet", value: object) -> object:
    if not isinstance(value, str):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, plain(value))
    cell.data_type = "s"
    return cell
