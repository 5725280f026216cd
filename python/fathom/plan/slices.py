"""Whether a region in bytes fits what a twin simulates of its drive, and how much of the drive is simulated."""

import json
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

from fathom import _core
from fathom.catalog.load import load_device
from fathom.catalog.settings import with_settings
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import UsageError
from fathom.method.job import fixed_bytes
from fathom.method.method import Method
from fathom.output.text import size
from fathom.targets.target import Target

ROOM_X = 4
"""How often a region in bytes fits the slice that is advised. A file that fills a slice makes a twin clean as on a full
drive, which the same file leaves nearly empty.
"""
MOST_ADVISED_BYTES = 512 << 30
"""Largest slice that is advised: a twin takes about 2 GiB of memory to simulate it."""


def check_slice(method: Method, target: Target) -> None:
    """Raises UsageError for a region in bytes that is larger than what a twin simulates of its drive."""
    for twin in target.members or (target,):
        if twin.kind == "twin" and twin.catalog is not None:
            _check_slice(method, target, twin, twin.catalog)


def _check_slice(method: Method, target: Target, twin: Target, device: str) -> None:
    capacity_bytes = twin.unit_capacity_bytes
    in_bytes = _regions_in_bytes(method, target, capacity_bytes)
    if not in_bytes:
        return
    most_bytes, step = max(in_bytes, key=itemgetter(0))
    parameters = parameters_of(device, method.slice_bytes)
    simulated = simulated_bytes(parameters)
    if most_bytes > simulated:
        advised = None if method.slice_bytes else _denominator(parameters, capacity_bytes, most_bytes)
        larger = f", or {with_settings(twin.name, f'slice_denominator={advised}')}" if advised else ""
        raise UsageError(
            f"{twin.name}: step {step} has a region of {size(most_bytes)}, but the twin simulates only "
            f"{size(simulated)} of {size(capacity_bytes)}",
            f"use a region in percent{larger}",
        )


def _regions_in_bytes(method: Method, target: Target, capacity_bytes: int) -> Sequence[tuple[int, str]]:
    """Returns the regions that would be as large on a larger drive, each with its step."""
    return [
        (region_bytes, step.name)
        for _, step in method.steps_on(target)
        for job in step.job.streams.values() or (step.job,)
        if (region_bytes := fixed_bytes(job, capacity_bytes))
    ]


def _denominator(parameters_json: str, capacity_bytes: int, region_bytes: int) -> int | None:
    """Returns the number of slices at which one holds the region with room; None where that is too much to simulate."""
    now: int | None = json.loads(parameters_json).get("slice_denominator")
    wanted_bytes = ROOM_X * region_bytes
    if now is None or wanted_bytes > capacity_bytes:
        return None
    slices = 1 << ((capacity_bytes // wanted_bytes).bit_length() - 1)
    return slices if slices < now and capacity_bytes // slices <= MOST_ADVISED_BYTES else None


def parameters_of(device: str, slice_bytes: int | None) -> str:
    """Returns the parameters of a device's twin, which simulates at most `slice_bytes` of it where a method says so."""
    return twin_params_json(load_device(device), None, slice_bytes=slice_bytes)


@lru_cache(maxsize=16)
def simulated_bytes(parameters_json: str) -> int:
    """Returns what a twin simulates of its device. A cluster's is not made for each plan and check of a run."""
    return _core.TwinDevice(parameters_json, 1).capacity_bytes
