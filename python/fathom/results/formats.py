"""The formats of results that Fathom reads: how each is recognised, and its reader."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fathom.errors import UsageError
from fathom.results import elbencho, fio_json, fio_logs, hdr_log, iometer, vdbench
from fathom.results.reading import Unit
from fathom.results.records import Results

HEAD_CHARS = 65_536


class Format(StrEnum):
    """The formats, as `--format` names them."""

    FIO_JSON = "fio-json"
    FIO_LOGS = "fio-logs"
    VDBENCH_FLATFILE = "vdbench-flatfile"
    VDBENCH_SUMMARY = "vdbench-summary"
    ELBENCHO = "elbencho"
    IOMETER = "iometer"
    HDRHISTOGRAM = "hdrhistogram"


@dataclass(frozen=True)
class TextFile:
    """A file that was read. `name` stands in errors."""

    name: str
    text: str


@dataclass(frozen=True)
class Reader:
    """How a format is recognised, and its reader for one measurement: a single file, except for fio's logs."""

    looks_like: Callable[[str], bool]
    parse: Callable[[Sequence[TextFile], Unit], Results]


def _alone(parse: Callable[[str, str], Results]) -> Callable[[Sequence[TextFile], Unit], Results]:
    """Returns the reader of a format with one file per measurement, whose latencies have a unit."""

    def parse_one(files: Sequence[TextFile], unit: Unit) -> Results:
        del unit
        [file] = files
        return parse(file.text, file.name)

    return parse_one


def _logs(files: Sequence[TextFile], unit: Unit) -> Results:
    return fio_logs.parse([(file.name, file.text) for file in files], unit)


def _hdr(files: Sequence[TextFile], unit: Unit) -> Results:
    [file] = files
    return hdr_log.parse(file.text, file.name, unit)


READERS: Mapping[Format, Reader] = {
    Format.FIO_JSON: Reader(fio_json.looks_like, _alone(fio_json.parse)),
    Format.HDRHISTOGRAM: Reader(hdr_log.looks_like, _hdr),
    Format.ELBENCHO: Reader(elbencho.looks_like, _alone(elbencho.parse)),
    Format.IOMETER: Reader(iometer.looks_like, _alone(iometer.parse)),
    Format.VDBENCH_FLATFILE: Reader(vdbench.is_flat_file, _alone(vdbench.parse_flat)),
    Format.VDBENCH_SUMMARY: Reader(vdbench.is_table, _alone(vdbench.parse_table)),
    Format.FIO_LOGS: Reader(fio_logs.looks_like, _logs),
}
"""In the order in which they are tried."""

_FOR_PEOPLE = re.compile(r"^fio-\d+\.\d+.*$|: \(g=\d+\): rw=", re.MULTILINE)
"""Lines of fio's normal output: its version, or a job and its pattern."""
_OF_FILES = re.compile(r"ReqstdOps|Requested FWD rate")
"""Headings of Vdbench's reports on its file system workloads."""


def format_of(file: TextFile) -> Format:
    """Returns the format of a file by its contents. Raises UsageError where none fits."""
    head = file.text[:HEAD_CHARS]
    for name, reader in READERS.items():
        if reader.looks_like(head):
            return name
    if not head.strip():
        raise UsageError(f"{file.name}: is empty", "name a file of results")
    if _FOR_PEOPLE.search(head):
        raise UsageError(
            f"{file.name}: is what fio prints for people, which has no figures for programs",
            "run fio with --output-format=json+",
        )
    if _OF_FILES.search(head):
        raise UsageError(
            f"{file.name}: is of a file system workload (fwd) of Vdbench, which Fathom does not read",
            "give the reports of workloads on storage (wd)",
        )
    raise UsageError(f"{file.name}: no format of results that Fathom reads", f"formats: {', '.join(Format)}")


def format_named(name: str) -> Format:
    """Returns a format by its name. Raises UsageError where there is none of that name."""
    try:
        return Format(name)
    except ValueError as error:
        raise UsageError(f"no format {name!r}", f"formats: {', '.join(Format)}") from error


def unit_named(name: str) -> Unit:
    """Returns a unit by its symbol. Raises UsageError where there is none of that name."""
    if name.upper() not in Unit.__members__:
        raise UsageError(f"no unit {name!r}", "units: ns, us, ms")
    return Unit[name.upper()]
