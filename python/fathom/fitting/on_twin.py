"""Runs a job on a twin and keeps every I/O: its figures, and its trace."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fathom import _core
from fathom._core import Job
from fathom.analysis.validity.of_waf import LEAST_X
from fathom.catalog import load_device
from fathom.catalog.models import Device
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import FathomError, UsageError
from fathom.load.backend import make_twin
from fathom.method.job import read_job
from fathom.output.text import size
from fathom.traces.batch import Batch, Findings

_FILL = read_job(
    '{"mix": "write", "block": "128KiB", "pattern": "sequential", "load": {"iodepth": 32}, '
    '"until": {"written": "1x"}}'
)
MOST_SLICE_BYTES = 512 << 30
"""The largest part of a drive that is simulated for a trace: its map takes a gigabyte or two of memory."""
LEAST_BUFFERS = 10
"""Write buffers of the drive that a trace fills before its WAF is given. The fill leaves at most one to be programmed,
which is then a tenth of the trace's writes at most.
"""
_COLUMNS: Mapping[str, DTypeLike] = {
    "issue_ns": np.uint64,
    "latency_ns": np.uint64,
    "offset_bytes": np.uint64,
    "size_bytes": np.uint64,
    "operation": np.uint8,
    "flags": np.uint8,
    "device": np.uint32,
    "process": np.uint32,
    "pid": np.uint32,
    "cpu": np.uint32,
    "arrived_ns": np.uint64,
}


@dataclass
class IssuedTrace:
    """What a twin was issued, as a trace; see `fathom.traces.batch.Trace`."""

    name: str
    columns: Mapping[str, NDArray[np.integer]]
    format: str = "twin"
    findings: Findings = field(default_factory=Findings)
    devices: Sequence[str] = ("twin",)
    processes: Sequence[str] = ()

    def batches(self) -> Iterator[Batch]:
        """Yields all I/Os at once."""
        yield Batch(**{name: column for name, column in self.columns.items() if name != "arrived_ns"})  # type: ignore[arg-type]

    def share_read(self) -> float | None:
        """Returns 1: all is in memory."""
        return 1.0


@dataclass(frozen=True)
class Ran:
    """A job that a twin ran: the recording, and each I/O by time of issue."""

    recording: _core.Recording
    trace: IssuedTrace

    @property
    def response_ns(self) -> NDArray[np.uint64]:
        """Returns the time of each I/O from its arrival to its completion."""
        columns = self.trace.columns
        return (columns["issue_ns"] - columns["arrived_ns"] + columns["latency_ns"]).astype(np.uint64)


def twin_holding(name: str, extent_bytes: int) -> str:
    """Returns the parameters of a twin whose slice holds that many bytes. Raises UsageError where none does."""
    device = load_device(name)
    if extent_bytes > device.addressed_bytes:
        raise UsageError(
            f"the trace reaches {size(extent_bytes)}, and {name} has {size(device.addressed_bytes)}",
            "name a larger twin with --on",
        )
    parameters = json.loads(twin_params_json(device))
    if "slice_denominator" not in parameters:
        return json.dumps(parameters)
    if extent_bytes > MOST_SLICE_BYTES:
        raise UsageError(
            f"the trace reaches {size(extent_bytes)}, and a twin simulates {size(MOST_SLICE_BYTES)} at most",
            "write the method alone with --on none",
        )
    parameters["slice_denominator"] = _denominator(device, parameters["slice_denominator"], extent_bytes)
    return json.dumps(parameters)


def _denominator(device: Device, own: int, extent_bytes: int) -> int:
    """Returns the largest power of two, or the twin's own number, that leaves room for the trace."""
    while own > 1 and device.addressed_bytes // own < extent_bytes:
        own //= 2
    return own


def least_written_bytes(parameters: str, extent_bytes: int, capacity_bytes: int) -> int:
    """Returns how much a trace writes before its WAF is its own: what it reaches, and several write buffers."""
    buffer_bytes: int = json.loads(parameters).get("write_buffer_bytes", 0)
    return max(1, int(LEAST_X * min(extent_bytes, capacity_bytes)), LEAST_BUFFERS * buffer_bytes)


def run_logged(job: Job, device: _core.TwinDevice, seed: int, name: str) -> Ran:
    """Runs a job on a twin and returns its figures with every I/O. Raises FathomError."""
    [recording], columns = _run(job, device, seed, log=True)
    own = {key: np.frombuffer(columns[key], kind) for key, kind in _COLUMNS.items()}
    return Ran(recording, IssuedTrace(name, own))


def run_plain(job: Job, device: _core.TwinDevice, seed: int) -> _core.Recording:
    """Runs a job on a twin. Raises FathomError."""
    return _run(job, device, seed, log=False)[0][0]


def write_once(device: _core.TwinDevice, seed: int) -> None:
    """Writes all of a twin, in order. Raises FathomError."""
    run_plain(_FILL, device, seed)


def _run(
    job: Job, device: _core.TwinDevice, seed: int, *, log: bool
) -> tuple[list[_core.Recording], Mapping[str, bytes]]:
    try:
        handle = _core.start_twins(job, [device], [seed], log=log)
        while not handle.done():
            handle.poll()
        return handle.result(), handle.take_log()
    except _core.BackendError as error:
        raise FathomError(f"twin: {error}") from error


def fresh_twin(parameters: str, seed: int) -> _core.TwinDevice:
    """Returns a twin that was never written. Raises FathomError."""
    return make_twin(parameters, seed)
