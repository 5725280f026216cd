"""Every parser of text or bytes from outside, as the fuzzer feeds it: what goes in and what may be raised.

Whatever a file, a drive, a host or a meter sends, a parser returns or refuses with one of the errors named here.
`corpus/NAME` keeps samples, and every input that once broke the parser.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import fathom
from fathom import _core
from fathom.catalog.check import parse
from fathom.catalog.load import load_device
from fathom.catalog.settings import altered
from fathom.errors import FathomError
from fathom.fitting.chosen import Choice
from fathom.fitting.io_streams import Cumulative, IoStream, cumulative
from fathom.fitting.of_trace import filled_method
from fathom.fleet import wire
from fathom.fleet.agent import HostAgent
from fathom.fleet.hosts import _read_hosts
from fathom.imports import import_method
from fathom.method.method import Method, parse_method
from fathom.method.template import Workloads, is_template
from fathom.power.csv_file import CsvFile
from fathom.power.meter import open_meter
from fathom.power.source import MeterError
from fathom.results.as_run import tables
from fathom.results.fio_logs import Kind
from fathom.results.formats import READERS, Format
from fathom.results.import_files import text_file
from fathom.results.reading import Unit
from fathom.runs.document import RunDocument
from fathom.runs.event_log import scan_events
from fathom.runs.manifest import Manifest
from fathom.sizing.files import read_needs, read_prices
from fathom.sizing.needs import parse_need
from fathom.targets.acknowledged import verify_journal
from fathom.targets.capability_reader import Capabilities, read_capabilities
from fathom.targets.capability_words import in_words
from fathom.targets.media_logs import MediaReader
from fathom.targets.parse import parse_target
from fathom.targets.purge import _namespaces, erase_of
from fathom.traces.opening import FORMATS, open_trace
from fathom.traces.prepare import prepare
from fathom.traces.profile import characterise

CATALOG = Path(fathom.__file__).parent / "catalog"
CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Parser:
    """`feed` takes the bytes of a file or a message; `refusals` are the errors by which it may refuse them."""

    feed: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...] = (FathomError,)
    shipped: str = ""
    """Files of the catalogue that are good samples too, as a glob."""

    def samples(self) -> list[bytes]:
        """Returns the catalogue's own files of this kind."""
        return [path.read_bytes() for path in sorted(CATALOG.glob(self.shipped))] if self.shipped else []


def _words(found: Capabilities | None) -> object:
    return found and in_words(found)


def _of_text(parse: Callable[[str], object]) -> Callable[[bytes], object]:
    """For a parser of text that its caller has decoded already: bytes that are not UTF-8 never reach it."""
    return lambda data: parse(data.decode("utf-8", errors="replace"))


def _of_file(parse: Callable[[Path], object], name: str = "input") -> Callable[[bytes], object]:
    """For a parser that opens the file itself."""
    folder = Path(tempfile.mkdtemp(prefix="fathom-fuzz-"))

    def feed(data: bytes) -> object:
        path = folder / name
        path.write_bytes(data)
        return parse(path)

    return feed


def _purge(data: bytes) -> object:
    """Identify Controller, Identify Namespace and a list of namespaces, a page each, as a controller answers."""
    pages = [data[at : at + 4096].ljust(4096, b"\0") for at in (0, 4096, 8192)]
    known = _namespaces(lambda *_, **__: pages[2], pages[0])
    purge = ("format", "format-crypto", "sanitize-block", "sanitize-crypto")[data[-1] % 4 if data else 0]
    return erase_of("nvme0n1", 1, purge, pages[0], pages[1], known)


def _results(form: Format, name: str = "input") -> Callable[[bytes], object]:
    """For a format of results: what a file says, and the rows that a run gets from it."""

    def feed(data: bytes) -> object:
        results = READERS[form].parse([text_file(name, data)], Unit.NS)
        return tables(results, "method")

    return feed


def _answer(frame: bytes) -> object:
    """A message of a host, as the answer to a call for news."""
    answer, values = wire.parse_answer(frame)
    return wire.error_of(answer.failure) if answer.failure else wire.result_of(HostAgent.poll, values)


def _call(frame: bytes) -> object:
    """A message of the coordinator, as the order to start."""
    call, values = wire.parse_call(frame)
    return wire.arguments_of(HostAgent.start, call, values)


def _trace(format: str, columns: str | None = None) -> Callable[[bytes], object]:
    """A trace of a format, read to its end."""
    name = "input.parquet" if format == "parquet" else "input"
    return _of_file(
        lambda path: sum(len(batch) for batch in open_trace(path, format, columns).batches()), name
    )


def _used(data: bytes) -> object:
    """A trace in CSV, as everything takes it that reads a trace to its end: its profile, streams and replay."""
    path = Path(_USED) / "input.csv"
    path.write_bytes(data)
    trace = open_trace(path, "csv")
    found = cumulative(Choice(lambda: trace), trace)
    with patch.dict(os.environ, XDG_CACHE_HOME=_USED):
        prepared = prepare(open_trace(path, "csv"))
    for made in (prepared, prepared.fill):
        if made:
            made.path.unlink()
    return characterise(open_trace(path, "csv")), found.workload


def _template(text: str) -> Method:
    """A method that takes its workload from a trace."""
    if not is_template(text):
        return parse_method(text, "m.toml")
    return filled_method(text, "m.toml", WORKLOADS, "two streams", quick=True)


_USED = tempfile.mkdtemp(prefix="fathom-fuzz-")
_READ, _WRITE = IoStream("read", 8192, False, 7), IoStream("write", 4096, True, 3)
_BOTH = Cumulative((_READ, _WRITE), Counter(read=7, write=3), 0, 0).workload
WORKLOADS = Workloads(_BOTH, [_READ.workload, _WRITE.workload], _BOTH)
PARSERS: dict[str, Parser] = {
    "method": Parser(_of_text(lambda text: parse_method(text, "m.toml")), shipped="methods/*.toml"),
    "job": Parser(_of_text(lambda text: _core.Job(text, "job.json")), (_core.ParseError,)),
    "size": Parser(_of_text(_core.parse_size_bytes), (_core.ParseError,)),
    "duration": Parser(_of_text(_core.parse_duration_ns), (_core.ParseError,)),
    "device": Parser(_of_text(lambda text: parse("devices", text, "d.toml")), shipped="devices/*.toml"),
    "published": Parser(
        _of_text(lambda text: parse("published", text, "p.toml")), shipped="published/*.toml"
    ),
    "setting": Parser(_of_text(lambda text: altered(load_device("samsung-pm9a3-7.68tb"), text))),
    "fio": Parser(_of_file(import_method, "load.fio")),
    "vdbench": Parser(_of_file(import_method, "load.parm")),
    "needs": Parser(_of_file(read_needs)),
    "prices": Parser(_of_file(read_prices), shipped="../sizing/prices.toml"),
    "need": Parser(_of_text(parse_need)),
    "hosts": Parser(_of_file(_read_hosts)),
    "target": Parser(_of_text(parse_target)),
    "power-csv": Parser(_of_file(lambda path: CsvFile(path).read()), (MeterError,)),
    "power-option": Parser(_of_text(open_meter)),
    "run": Parser(_of_file(lambda path: RunDocument.load(path.parent), "run.json")),
    "journal": Parser(_of_file(lambda path: scan_events(path.parent), "journal.jsonl")),
    "manifest": Parser(_of_file(lambda path: Manifest.load(path.parent), "manifest.json")),
    "host-answer": Parser(_answer),
    "host-call": Parser(_call),
    "purge": Parser(_purge),
    "capabilities": Parser(lambda data: _words(read_capabilities(lambda *_, **__: data, 1))),
    "media-logs": Parser(lambda data: MediaReader(lambda *_: data, 1).read()),
    "interval": Parser(lambda data: _core.Interval.from_bytes(data, 0), (_core.BackendError, ValueError)),
    "recording": Parser(_core.Recording.from_bytes, (_core.BackendError, ValueError)),
    **{f"trace-{format}": Parser(_trace(format)) for format in FORMATS},
    **{
        f"trace-packed-{packed}": Parser(
            _of_file(
                lambda path: sum(len(batch) for batch in open_trace(path, "csv").batches()), f"input.{packed}"
            )
        )
        for packed in ("gz", "bz2", "zst", "lz4")
    },
    "trace-used": Parser(_used),
    "template": Parser(_of_text(_template), shipped="methods/snia-rwsw-*.toml"),
    "trace-columns": Parser(_of_text(lambda text: _core.TraceReader("csv", text)), (_core.ParseError,)),
    "trace-detect": Parser(_core.trace_format),
    "results-fio-json": Parser(_results(Format.FIO_JSON)),
    "results-fio-log": Parser(_results(Format.FIO_LOGS, f"x_{Kind.IOPS}.1.log")),
    "results-fio-latency-log": Parser(_results(Format.FIO_LOGS, f"x_{Kind.COMPLETION}.1.log")),
    "results-fio-histogram-log": Parser(_results(Format.FIO_LOGS, f"x_{Kind.HISTOGRAM}.1.log")),
    "results-vdbench-flatfile": Parser(_results(Format.VDBENCH_FLATFILE)),
    "results-vdbench-summary": Parser(_results(Format.VDBENCH_SUMMARY)),
    "results-elbencho": Parser(_results(Format.ELBENCHO)),
    "results-iometer": Parser(_results(Format.IOMETER)),
    "results-hdrhistogram": Parser(_results(Format.HDRHISTOGRAM)),
    "write-journal": Parser(
        _of_file(lambda path: verify_journal(path.parent, Path("/dev/null")), "0.journal")
    ),
}
