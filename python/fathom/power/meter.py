"""The power meter of a run: read by a thread of its own while real targets are loaded, asked for each step's energy.

A meter that falls silent costs the energy figures of the steps concerned, each with its reason, and never the run.
"""

import threading
import time
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from types import TracebackType
from urllib.parse import urlsplit

from fathom.errors import UsageError
from fathom.output.text import duration
from fathom.power.csv_file import CsvFile
from fathom.power.energy import Energy, Sample, energy
from fathom.power.prometheus import Prometheus
from fathom.power.source import MeterError, Source
from fathom.text_file import expanded_path

PERIOD_S = 1.0
MARGIN_S = 120.0
"""Samples this long before a step are kept for its beginning, until the next step starts."""
SKEWED_S = 5.0
PATIENCE_S = 5.0
FORMS = "write csv:PATH, csv:PATH?column=NAME or prometheus:URL?query=QUERY"


class PowerMeter:
    """Samples between enter and exit. `text` is what the user typed, `accuracy` what he says of the meter."""

    def __init__(self, text: str, source: Source, accuracy: float | None) -> None:
        self.text = text
        self.accuracy = accuracy
        self._source = source
        self._times_s, self._watts = array("d"), array("d")
        self._trouble: str | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="power meter", daemon=True)

    def __enter__(self) -> "PowerMeter":
        """Start reading."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the thread; one that hangs in a question is left to end with the process."""
        self._stop.set()
        self._thread.join(PATIENCE_S)

    def begin(self) -> None:
        """Drops samples that no later step needs."""
        with self._lock:
            old = bisect_left(self._times_s, time.time() - MARGIN_S)
            del self._times_s[:old], self._watts[:old]

    def measure(self, start_s: float, end_s: float) -> Energy | str:
        """Returns the energy between two moments of the recent past, or in words why it is not known."""
        self.look()
        found = energy(self.samples(start_s - MARGIN_S, end_s + MARGIN_S), start_s, end_s, self.accuracy)
        if isinstance(found, Energy):
            return found
        with self._lock:
            trouble, newest_s = self._trouble, self._times_s[-1] if self._times_s else None
        if trouble is not None:
            return f"{found}; the meter cannot be read: {trouble}"
        if newest_s is not None and abs(end_s - newest_s) > SKEWED_S:
            order = "before" if newest_s < end_s else "after"
            return (
                f"{found}; its newest sample is {duration(abs(end_s - newest_s))} {order} the end: check its "
                "clock"
            )
        return found

    def samples(self, start_s: float, end_s: float) -> list[Sample]:
        """Returns the samples of that time, in order."""
        with self._lock:
            first, last = bisect_left(self._times_s, start_s), bisect_left(self._times_s, end_s)
            return list(zip(self._times_s[first:last], self._watts[first:last], strict=True))

    def look(self) -> None:
        """Reads new samples. A meter that cannot be read is noted and tried again."""
        with self._lock:
            try:
                self._take(self._source.read())
                self._trouble = None
            except MeterError as error:
                self._trouble = str(error)

    def _take(self, found: Sequence[Sample]) -> None:
        """Adds samples later than the last one. A clock set far back, or a wild time, restarts the series."""
        for seconds, watts in found:
            if self._times_s and seconds < self._times_s[-1] - MARGIN_S:
                del self._times_s[:], self._watts[:]
            if not self._times_s or seconds > self._times_s[-1]:
                self._times_s.append(seconds)
                self._watts.append(watts)

    def _run(self) -> None:
        while not self._stop.wait(PERIOD_S):
            self.look()


def open_meter(text: str) -> PowerMeter:
    """Returns the meter of `--power`, which must answer already. Raises UsageError."""
    kind, _, rest = text.partition(":")
    if kind not in ("csv", "prometheus") or not rest:
        raise UsageError(f"--power {text}: not a power meter", FORMS)
    place, _, tail = rest.partition("?")
    keys, query = _keys(text, tail)
    accuracy = _accuracy(text, keys.pop("accuracy", None))
    column = keys.pop("column", None)
    if keys or (kind == "csv" and query is not None) or (kind == "prometheus" and column is not None):
        odd = next(iter(keys), "query" if kind == "csv" else "column")
        known = "column and accuracy" if kind == "csv" else "accuracy and query"
        raise UsageError(f"--power {text}: {kind} has no key {odd!r}", f"its keys are {known}")
    try:
        if kind == "csv":
            source: Source = CsvFile(expanded_path(place, place), column)
        else:
            source = Prometheus(_url(text, place), _query(text, query))
            source.read()
    except MeterError as error:
        raise UsageError(f"--power: {error}") from error
    return PowerMeter(text, source, accuracy)


def _keys(text: str, tail: str) -> tuple[dict[str, str], str | None]:
    """Returns keys and values; a query is the last and taken as it stands, so that nothing in it needs escaping."""
    options, found, query = tail.partition("query=")
    pairs = [part.partition("=") for part in options.split("&") if part]
    for key, equals, value in pairs:
        if not equals or not value:
            raise UsageError(f"--power {text}: {key!r} has no value", f"write {key}=VALUE")
    return {key: value for key, _, value in pairs}, query if found else None


def _accuracy(text: str, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        accuracy = float(value.removesuffix("%")) / 100
    except ValueError:
        accuracy = -1.0
    if not value.endswith("%") or not 0 <= accuracy < 1:
        raise UsageError(f"--power {text}: accuracy {value!r} is not a percentage", "write accuracy=1%")
    return accuracy


def _url(text: str, place: str) -> str:
    """Returns the server's address. run.json keeps it, so it may have no password in it."""
    try:
        parts = urlsplit(place)
        host = parts.hostname
    except ValueError:
        parts, host = None, None
    if parts is None or parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"--power {text}: {place!r} is not an address of a server", FORMS)
    if parts.username is not None:
        raise UsageError(
            "--power: leave the password out of the address: run.json would keep it", "use a proxy"
        )
    return place


def _query(text: str, query: str | None) -> str:
    if not query:
        raise UsageError(f"--power {text}: the query is missing", FORMS)
    return query
