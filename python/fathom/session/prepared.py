"""Prepared twins, by all that their state follows from: what they are made of, and every step since.

Combinations of a sweep that differ in measured loads alone prepare their twins alike. The first keeps its twin and its
rows behind each such step. The others take both, and simulate what they measure. Each has the bits that it would have
by itself.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from fathom import _core
from fathom.load.backend import TwinBackend
from fathom.runs.spool import Row, Spool
from fathom.runs.store import StepOutcome

KEPT_BYTES = 1 << 29
"""Most memory of the twins that a process keeps, as estimated."""
STATE_SHARE = 12 / 4096
"""Most memory of a twin per byte of its capacity: 12 bytes a page of 4 KiB, the bar of `make bench`."""


@dataclass(frozen=True)
class Loaded:
    """What a step recorded of its target, its rows by table, and how it ended."""

    recording: _core.Recording
    tables: Mapping[str, Sequence[Row] | Spool]
    outcome: StepOutcome


@dataclass(frozen=True)
class Prepared:
    """A twin behind a step, and what the step left."""

    device: _core.TwinDevice
    loaded: Loaded


def next_history(history: str, *causes: object) -> str:
    """Returns what a twin has been through, behind one more step. `causes` are all that the step's result follows
    from; each has a text of all its values.
    """
    return hashlib.sha256("\n".join([history, *map(repr, causes)]).encode()).hexdigest()


class PreparedTwins:
    """Keeps twins behind steps that prepare them, the last used ones. Safe to use from several threads."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, Prepared] = OrderedDict()
        self._lock = Lock()

    def take(self, history: str, backend: TwinBackend) -> Prepared | None:
        """Brings the backend's twin into the state behind that history. Returns what the last step left; None where
        the history is not known, and the twin is as it was.
        """
        with self._lock:
            found = self._kept.get(history)
            if found is not None:
                self._kept.move_to_end(history)
        if found is not None:
            backend.device = found.device.copied()
        return found

    def keep(self, history: str, backend: TwinBackend, loaded: Loaded) -> None:
        """Keeps a copy of the backend's twin behind a step, and drops those that were used longest ago. A twin that is
        too large is not copied.
        """
        if _size_bytes(backend.device) > self._most_bytes:
            return
        prepared = Prepared(backend.device.copied(), loaded)
        with self._lock:
            self._kept[history] = prepared
            while sum(_size_bytes(one.device) for one in self._kept.values()) > self._most_bytes:
                self._kept.popitem(last=False)


def _size_bytes(device: _core.TwinDevice) -> float:
    return STATE_SHARE * device.capacity_bytes
