"""What a twin names as its limit is what holds it back: doubled, the rate moves; what idles, doubled, moves nothing.

Outstanding I/O is the limit where more of it moves the rate, and only there.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache

import pytest

from fathom._core import Job, Recording
from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.load.backend import TwinBackend
from fathom.statistics.limits import Limit, limit_of
from fathom.validation.trial import FILL

DRIVES = ("samsung-pm9a3-7.68tb", "wd-ultrastar-dc-sn861-7.68tb")
JOBS = {
    "random read": ("read", "4KiB", "uniform", 512),
    "sequential read": ("read", "128KiB", "sequential", 64),
    "random write": ("write", "4KiB", "uniform", 128),
    "sequential write": ("write", "128KiB", "sequential", 32),
}
"""Operation or mix, block, pattern, outstanding I/O."""
MIXES = {
    f"8 KiB, 65 % read, {outstanding} outstanding": (
        {"read": 65, "write": 35},
        "8KiB",
        "uniform",
        outstanding,
    )
    for outstanding in (8, 32, 1024)
}
"""The demand of the SNIA DIRTH test: the middle one saturates nothing, and yet more I/O moves nothing there."""
FULL, IDLE = 0.95, 0.5
"""Busy shares from which a resource counts as a limit, and below which half its speed would do."""

Parameters = dict[str, float]


def scaled(by: float, *names: str) -> Callable[[Parameters], Parameters]:
    return lambda parameters: {name: parameters[name] * by for name in names}


FASTER: dict[str, tuple[Callable[[Parameters], Parameters], ...]] = {
    "PCIe link": (lambda parameters: {"pcie_generation": parameters["pcie_generation"] + 1},),
    "controller": (scaled(0.5, "command_ns", "read_unit_ns", "write_unit_ns"),),
    "flash channels": (scaled(2, "channel_mts"), scaled(0.5, "channel_command_ns")),
    "flash dies": (scaled(0.5, "read_sense_us", "program_us", "erase_us", "ecc_us"),),
    "program power budget": (scaled(2, "programming_dies_max"),),
}
"""How a resource of the drive becomes twice as fast."""


@dataclass(frozen=True)
class Found:
    rate: float
    limit: Limit
    busy: dict[str, float]


@cache
def measure(drive: str, job: str, doubled: Collection[str] = frozenset(), outstanding_x: int = 1) -> Found:
    parameters = json.loads(twin_params_json(load_device(drive)))
    for resource in {name.partition(" (")[0] for name in doubled}:
        if resource == "host CPU":
            parameters["host"] |= scaled(0.5, "submit_us", "complete_us")(parameters["host"])
        for change in FASTER.get(resource, ()):
            parameters |= change(parameters)
    twin = TwinBackend(json.dumps(parameters), seed=1)
    drain(twin, FILL)
    operation, block, pattern, outstanding = (JOBS | MIXES)[job]
    load = {"threads": 8, "iodepth": outstanding * outstanding_x // 8}
    asked = {"mix": operation, "block": block, "pattern": pattern, "load": load}
    if job in MIXES:
        run(twin, asked | {"mix": "write", "until": {"written": "1x"}})
    # Until the writes are random everywhere, or what the fill left in the buffer is programmed between the reads.
    run(twin, asked | {"until": {"written": "1x"} if job == "random write" else {"time": "0.3s"}})
    recording = run(twin, asked | {"until": {"time": "1s"}})
    limit = limit_of(recording)
    assert limit is not None
    return Found(
        sum(op.n for op in recording.ops) / recording.window_s,
        limit,
        {one.resource: one.mean for one in recording.utilisation},
    )


def run(twin: TwinBackend, job: Mapping[str, object]) -> Recording:
    return drain(twin, Job(json.dumps(job)))


def drain(twin: TwinBackend, job: Job) -> Recording:
    handle = twin.start(job, 1)
    while not handle.done():
        handle.poll()
    return handle.result()[0]


every_drive_and_job = pytest.mark.parametrize(
    ("drive", "job"), [(drive, job) for drive in DRIVES for job in JOBS]
)


@every_drive_and_job
def test_doubling_the_named_limit_moves_the_result_as_far_as_the_next_one(drive: str, job: str) -> None:
    found = measure(drive, job)
    full = frozenset(name for name, busy in found.busy.items() if busy >= FULL)
    if not full:
        assert found.limit.words.startswith("outstanding I/O")
        assert measure(drive, job, outstanding_x=2).rate > 1.05 * found.rate
        return
    assert found.limit.words.startswith(max(found.busy, key=lambda name: found.busy[name]))
    next_busy = max(busy for name, busy in found.busy.items() if name not in full)
    assert measure(drive, job, full).rate > 0.95 * min(2, 1 / next_busy) * found.rate


@pytest.mark.parametrize(("drive", "job"), [(drive, job) for drive in DRIVES for job in MIXES])
def test_outstanding_io_limits_where_more_of_it_moves_the_result_and_else_the_named_resource(
    drive: str, job: str
) -> None:
    found = measure(drive, job)
    limit = found.limit.name
    deeper = measure(drive, job, outstanding_x=2).rate / found.rate
    if limit == "outstanding I/O":
        assert deeper > 1.3
    else:
        faster = measure(drive, job, frozenset({limit})).rate / found.rate
        assert deeper < 1.15 < faster


def test_a_queue_limits_before_any_resource_is_saturated() -> None:
    found = measure("samsung-pm9a3-7.68tb", "8 KiB, 65 % read, 32 outstanding")
    assert found.limit.name == "flash dies"
    assert max(found.busy.values()) < 0.9


@every_drive_and_job
def test_doubling_what_idles_moves_nothing(drive: str, job: str) -> None:
    found = measure(drive, job)
    idle = {name for name, busy in found.busy.items() if busy < IDLE}
    assert idle
    if found.busy.get("program power budget", 0.0) >= IDLE:
        # Dies that program faster spend less of the budget, so they are no resource of their own there.
        idle.discard("flash dies")
    assert measure(drive, job, frozenset(idle)).rate == pytest.approx(found.rate, rel=0.03)
