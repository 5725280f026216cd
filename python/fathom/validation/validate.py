"""Validates devices: every published row of each, simulated in parallel, compared. Draws nothing.

Rows that ask for the same trial share it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fathom.catalog import device_names, load_device
from fathom.catalog.models import Device
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import FathomError, UsageError
from fathom.load.workers import Workers, as_they_end
from fathom.validation.cases import Case, Trial
from fathom.validation.comparison import Compared, compare_case, compare_system
from fathom.validation.ratings import rated_cases
from fathom.validation.systems import SystemCase, every_case
from fathom.validation.trial import LIMITS, Limits, Measured, run_trial

Watch = Callable[[str, int, int], None]
"""Called for every trial that ends, with its name, the number of ended ones and the total."""


@dataclass(frozen=True)
class Job:
    """A trial of a twin with these parameters, and a name for it."""

    label: str
    parameters_json: str
    trial: Trial


@dataclass(frozen=True)
class TrialRunner:
    """Runs trials of twins on its workers. All have one seed of random choices and the same limits."""

    workers: Workers
    seed: int = 1
    limits: Limits = LIMITS
    watch: Watch | None = None

    def run(self, jobs: Sequence[Job]) -> list[Measured]:
        """Runs trials at once. Returns their results in the order of the jobs.

        Raises FathomError where a twin refuses its parameters: the first failure.
        """
        futures = {
            self.workers.submit(run_trial, job.parameters_json, job.trial, self.seed, self.limits): job
            for job in jobs
        }
        found: dict[Job, Measured] = {}
        for number, (job, result) in enumerate(as_they_end(futures), 1):
            if isinstance(result, FathomError):
                raise result
            found[job] = result
            if self.watch:
                self.watch(job.label, number, len(jobs))
        return [found[job] for job in jobs]


def devices_to_validate(names: Sequence[str]) -> list[Device]:
    """Returns the named devices, or every device of the catalogue with a twin and published rows.

    Raises:
        CatalogError: no device of that name, or its file is wrong.
        UsageError: a named device has no twin, or nothing measured is published of it.
    """
    devices = [load_device(name) for name in names or device_names()]
    if not names:
        return [device for device in devices if device.twin and every_case(device)]
    for device in devices:
        if device.twin is None:
            raise UsageError(
                f"{device.name} has no twin, so there is nothing to validate",
                "`fathom catalog` lists those that do",
            )
        if not every_case(device):
            systems = " or ".join(f"`fathom validate {name}`" for name in _systems_with(device.name))
            rated = (
                f"`fathom calibrate {device.name}` compares it with its ratings"
                if rated_cases(device)
                else None
            )
            raise UsageError(f"{device.name}: no published result was measured on it alone", systems or rated)
    return devices


def _systems_with(device: str) -> list[str]:
    """Returns the systems that have such a drive."""
    return [name for name in device_names() if (twin := load_device(name).twin) and device in twin.members]


def validate(devices: Sequence[Device], runner: TrialRunner) -> list[Compared]:
    """Simulates the published rows of the devices and compares; the order is that of devices and files.

    Raises:
        FathomError: a catalogue file is wrong, or a twin refuses its parameters.
    """
    cases = [case for device in devices for case in every_case(device)]
    jobs: dict[tuple[str, Trial], Job] = {}
    for case in cases:
        for device, trial in _runs(case):
            jobs.setdefault((device.name, trial), _job(device, case.row.workload, trial))
    found = dict(zip(jobs, runner.run(list(jobs.values())), strict=True))
    return [row for case in cases for row in _compared(case, found)]


def _runs(case: Case) -> list[tuple[Device, Trial]]:
    """Returns the trials of a case, each with the device that runs it."""
    if isinstance(case, SystemCase):
        return [run for reading in case.readings for run in reading.runs]
    devices = (case.device, case.other)
    return [(device, case.trial) for device in devices if device and case.trial]


def _compared(case: Case, found: Mapping[tuple[str, Trial], Measured]) -> list[Compared]:
    if isinstance(case, SystemCase):
        runs = [[found[device.name, trial] for device, trial in one.runs] for one in case.readings]
        return compare_system(case, runs)
    return compare_case(case, *_measured(case, found))


def _measured(
    case: Case, found: Mapping[tuple[str, Trial], Measured]
) -> tuple[Measured | None, Measured | None]:
    """Returns what was measured on the case's device, and on the other one that its row relates it to."""
    if case.trial is None:
        return None, None
    return found[case.device.name, case.trial], found[case.other.name, case.trial] if case.other else None


def _job(device: Device, workload: str, trial: Trial) -> Job:
    parameters_json = twin_params_json(device, trial.bench)
    return Job(f"{device.identity.label}: {workload}", parameters_json, trial)
