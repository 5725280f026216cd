"""Runs as files of other programs: fio's JSON, HdrHistogram's log, OpenMetrics, CSV and a workbook."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from fathom.errors import UsageError
from fathom.results.export import fio_json, hdr_log, openmetrics, workbook
from fathom.results.export.measured import as_reported, measured_of
from fathom.runs.reader import Run


class ExportFormat(StrEnum):
    """The formats, as `--format` names them."""

    FIO_JSON = "fio-json"
    FIO_JSON_PLUS = "fio-json+"
    HDRHISTOGRAM = "hdrhistogram"
    OPENMETRICS = "openmetrics"
    CSV = "csv"
    XLSX = "xlsx"


def _csv(run: Run) -> bytes:
    from fathom.report.export import runs_csv

    return runs_csv([run.path]).encode()


_WRITERS: Mapping[ExportFormat, Callable[[Run], bytes]] = {
    ExportFormat.FIO_JSON: lambda run: fio_json.text_of(run, measured_of(run), plus=False).encode(),
    ExportFormat.FIO_JSON_PLUS: lambda run: fio_json.text_of(run, measured_of(run), plus=True).encode(),
    ExportFormat.HDRHISTOGRAM: lambda run: hdr_log.text_of(run, as_reported(measured_of(run))).encode(),
    ExportFormat.OPENMETRICS: lambda run: openmetrics.text_of(run, as_reported(measured_of(run))).encode(),
    ExportFormat.CSV: _csv,
    ExportFormat.XLSX: workbook.bytes_of,
}


def export_results(run: Run | str | Path, format: ExportFormat) -> bytes:
    """Returns a run as a file of that format.

    Raises UsageError for a run without the data of the format, such as histograms, and for `xlsx` without its extra.
    Raises FathomError for a run that cannot be read.
    """
    opened = run if isinstance(run, Run) else Run.open(run)
    return _WRITERS[format](opened)


def export_format_named(name: str) -> ExportFormat:
    """Returns a format by its name. Raises UsageError where there is none of that name."""
    try:
        return ExportFormat(name)
    except ValueError as error:
        raise UsageError(f"no format {name!r}", f"formats: {', '.join(ExportFormat)}") from error
