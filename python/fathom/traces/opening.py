"""Finds a trace's files and its format, and opens them."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from fathom import _core
from fathom.errors import UsageError
from fathom.traces.batch import Trace
from fathom.traces.header import Header, has_decimal_commas, has_values_only, header_of
from fathom.traces.parquet import ParquetTrace
from fathom.traces.text import Portions, RecordedTrace

PARQUET = "parquet"
FORMATS = (PARQUET, *_core.TRACE_FORMATS)
"""Formats that `open_trace` reads."""
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
_HEAD_BYTES = 1 << 14


def open_trace(path: Path, format: str | None = None, columns: str | None = None) -> Trace:
    """Returns the trace in a file, in the files of a blktrace, or on standard input (`-`).

    `format` is one of `FORMATS`, recognised by the content without it. `columns` names the fields of a CSV. Raises
    UsageError if there is no file, or none that can be read.
    """
    if format is not None and format not in FORMATS:
        raise UsageError(f"unknown trace format {format!r}", f"use one of {', '.join(FORMATS)}")
    if columns is not None and format not in (None, "csv"):
        raise UsageError(f"--columns names the fields of a CSV, not of {format}", "leave out --format")
    format = "csv" if columns is not None else format
    files = _files(path)
    head = _head(path, files)
    if format == PARQUET or (format is None and head.begins_with(b"PAR1")):
        if path == Path("-"):
            raise UsageError("a Parquet trace cannot come from standard input", "give its path")
        return ParquetTrace(path)
    if format in (None, "csv") and has_decimal_commas(head.head(_HEAD_BYTES)):
        head.take_commas_as_points()
    header = None if columns else _named_columns(path, head, format)
    columns = header.columns if header else columns
    format = "csv" if header else format or _recognised(path, head)
    try:
        reader = _core.TraceReader(format, columns, len(files))
    except _core.ParseError as error:
        raise UsageError(f"{path}: {error}", "see `fathom trace convert --help`") from error
    sources = [head, *(_open(file) for file in files[1:])]
    trace = RecordedTrace(path.name, format, reader, sources)
    trace.findings.fields_left_out = header.left_out if header else ()
    return trace


def open_blktrace(name: str, files: Sequence[Path]) -> Trace:
    """Returns the trace in files of `blktrace`, one per CPU and device. Raises UsageError for what cannot be opened."""
    reader = _core.TraceReader("blktrace", None, len(files))
    return RecordedTrace(name, "blktrace", reader, [_open(file) for file in files])


def _files(path: Path) -> Sequence[Path]:
    """Returns the files of a trace: blktrace writes one per CPU, `NAME.blktrace.0` and on."""
    if path == Path("-"):
        return [path]
    match = re.fullmatch(r"(.+\.blktrace)\.\d+", path.name)
    stem = match[1] if match else f"{path.name}.blktrace"
    if match or not path.exists():
        numbered = [
            (int(found[1]), file)
            for file in (path.parent.iterdir() if path.parent.is_dir() else ())
            if (found := re.fullmatch(re.escape(stem) + r"\.(\d+)", file.name))
        ]
        if numbered:
            return [file for _, file in sorted(numbered)]
    return [path]


def _head(path: Path, files: Sequence[Path]) -> Portions:
    """Opens the first file that holds something."""
    opened = _open(files[0])
    for file in files[1:]:
        if opened.head(_HEAD_BYTES):
            break
        opened = _open(file)
    if not opened.head(_HEAD_BYTES):
        raise UsageError(f"{path}: the trace is empty", "record it again")
    return _open(files[0]) if len(files) > 1 else opened


def _named_columns(path: Path, head: Portions, format: str | None) -> Header | None:
    """Returns the first line of a CSV with names of another program; None for anything else. Raises UsageError for
    names that leave a doubt.
    """
    begin = head.head(_HEAD_BYTES)
    if format not in (None, "csv") or _core.trace_format(begin) is not None:
        return None
    header = header_of(begin)
    if header and header.doubtful:
        what, remedy = header.refusal()
        raise UsageError(f"{path}: {what}", remedy)
    return header


def _recognised(path: Path, head: Portions) -> str:
    found = _core.trace_format(head.head(_HEAD_BYTES))
    if found is None and has_values_only(head.head(_HEAD_BYTES)):
        raise UsageError(
            f"{path}: its first line has values, and no names of columns",
            "give --columns in the order of its fields, such as time_us,op,offset,size",
        )
    if found is None:
        raise UsageError(
            f"{path}: no trace format that Fathom recognises",
            "give --format, or --columns for a CSV, such as time_us,op,offset,size",
        )
    return found


def _open(path: Path) -> Portions:
    if path == Path("-"):
        return Portions("standard input", sys.stdin.buffer, None)
    try:
        if not path.is_file():
            kind = "a directory" if path.is_dir() else "not a file" if path.exists() else "no such file"
            raise UsageError(f"{path}: {kind}", "give the path of a trace")
        size_bytes = path.stat().st_size
        raw = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", "give the path of a trace") from error
    compression = _COMPRESSIONS.get(path.suffix.lower())
    if compression is None:
        return Portions(str(path), raw, size_bytes, raw)
    unpacked = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), compression)
    return Portions(str(path), cast(BinaryIO, unpacked), size_bytes, raw)
