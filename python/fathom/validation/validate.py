"""Validates devices: every published row of each, simulated in parallel, compared. Draws nothing.

Rows that ask for the same trial share it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fathom.catalog import device_names, load_device
from fathom.catalog.models import Device
from fathom.errors import FathomError, UsageError
from fathom.load.workers import Workers, as_they_end
from fathom.validation.cases import Case, Trial, cases_of
from fathom.validation.comparison import Compared, compare_case
from fathom.validation.trial import LIMITS, Limits, Measured, run_trial

SYSTEM_METHODS = {"fabric": "added-latency", "cluster": "cluster-scaling"}
"""The method that a kind of system was published by."""
Watch = Callable[[str, int, int], None]
"""Told of every trial as it ends: what it is called, how many are through, how many there are."""


@dataclass(frozen=True)
class Job:
    """A trial of a twin: the arguments of `run_trial`, and what to call it."""

    label: str
    parameters_json: str
    trial: Trial
    seed: int
    limits: Limits


def devices_to_validate(names: Sequence[str]) -> list[Device]:
    """The named devices, or every drive of the catalogue that has a twin; systems have methods of their own.

    Raises:
        CatalogError: no device of that name, or its file is wrong.
        UsageError: a named device has no twin, or is a system.
    """
    devices = [load_device(name) for name in names or device_names()]
    if not names:
        return [device for device in devices if device.twin and not device.starts_settled]
    for device in devices:
        if device.starts_settled:
            raise UsageError(
                f"{device.name}: the report of its method compares figures of systems and their drives with the "
                "published ones",
                " or ".join(f"`{command}`" for command in _methods_of(device)),
            )
        if device.twin is None:
            raise UsageError(
                f"{device.name} has no twin, so there is nothing to validate",
                "`fathom catalog` lists those that do",
            )
    return devices


def _methods_of(device: Device) -> list[str]:
    """The commands whose reports have the published figures of a system, or of the systems that a drive is in."""
    if device.twin and device.twin.kind in SYSTEM_METHODS:
        return [f"fathom run {SYSTEM_METHODS[device.twin.kind]} twin:{device.name}"]
    systems = [system for name in device_names() if (system := load_device(name)).twin]
    return [
        command
        for system in systems
        if system.twin and device.name in system.twin.members
        for command in _methods_of(system)
    ]


def validate(
    devices: Sequence[Device],
    workers: Workers,
    seed: int = 1,
    limits: Limits = LIMITS,
    watch: Watch | None = None,
) -> list[Compared]:
    """Simulates the published rows of the devices and compares; the order is that of devices and files.

    Raises:
        FathomError: a catalogue file is wrong, or a twin refuses its parameters.
    """
    cases = [case for device in devices for case in cases_of(device)]
    jobs: dict[tuple[str, Trial], Job] = {}
    for case in cases:
        for device in (case.device, case.other):
            if case.trial and device:
                key = (device.name, case.trial)
                jobs.setdefault(key, _job(device, case.row.workload, case.trial, seed, limits))
    found = dict(zip(jobs, in_parallel(list(jobs.values()), workers, watch), strict=True))
    return [row for case in cases for row in compare_case(case, *_measured(case, found))]


def _measured(
    case: Case, found: Mapping[tuple[str, Trial], Measured]
) -> tuple[Measured | None, Measured | None]:
    """What was measured on the case's device, and on the other one that its row relates it to."""
    if case.trial is None:
        return None, None
    return found[case.device.name, case.trial], found[case.other.name, case.trial] if case.other else None


def _job(device: Device, workload: str, trial: Trial, seed: int, limits: Limits) -> Job:
    parameters_json = device.twin_params_json(trial.bench)
    label = f"{device.identity.label}: {workload}"
    return Job(label, parameters_json, trial, seed, limits)


def in_parallel(jobs: Sequence[Job], workers: Workers, watch: Watch | None = None) -> list[Measured]:
    """The results in the order of the jobs. Raises the first failure."""
    futures = {
        workers.submit(run_trial, job.parameters_json, job.trial, job.seed, job.limits): job for job in jobs
    }
    found: dict[Job, Measured] = {}
    for number, (job, result) in enumerate(as_they_end(futures), 1):
        if isinstance(result, FathomError):
            raise result
        found[job] = result
        if watch:
            watch(job.label, number, len(jobs))
    return [found[job] for job in jobs]
