"""Validates devices: every published row of each, simulated in parallel, compared. Draws nothing.

A simulation runs outside Python's global lock, so threads use all cores. Rows that ask for the same trial share it.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Event

from fathom.catalog import device_names, load_device
from fathom.catalog.models import Device
from fathom.errors import UsageError
from fathom.validation.cases import Case, Trial, cases_of
from fathom.validation.comparison import Compared, compare_case
from fathom.validation.trial import LIMITS, Limits, Measured, run_trial

Watch = Callable[[str, int, int], None]
"""Told of every trial as it ends: what it is called, how many are through, how many there are."""
Job = tuple[str, Callable[[Event], Measured]]
"""What a trial is called, and the trial."""


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
                f"{device.name} is the twin of a system, whose figures stand beside the published ones in its report",
                f"`fathom run added-latency twin:{device.name}` or `fathom run cluster-scaling twin:{device.name}`",
            )
        if device.twin is None:
            raise UsageError(
                f"{device.name} has no twin, so there is nothing to validate",
                "`fathom catalog` lists those that do",
            )
    return devices


def validate(
    devices: Sequence[Device],
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
        if case.trial:
            jobs.setdefault((case.device.name, case.trial), _job(case, case.trial, seed, limits))
    found = dict(zip(jobs, in_parallel(list(jobs.values()), watch), strict=True))
    return [
        row
        for case in cases
        for row in compare_case(case, found[case.device.name, case.trial] if case.trial else None)
    ]


def _job(case: Case, trial: Trial, seed: int, limits: Limits) -> Job:
    parameters_json = case.device.twin_params_json(trial.bench)
    label = f"{case.device.identity.label}: {case.row.workload}"
    return label, lambda interrupt: run_trial(parameters_json, trial, seed, limits, interrupt)


def in_parallel(jobs: Sequence[Job], watch: Watch | None = None) -> list[Measured]:
    """The results in the order of the jobs. The first failure, or Ctrl-C, ends all of them."""
    interrupt = Event()
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        futures = {pool.submit(run, interrupt): label for label, run in jobs}
        try:
            for number, future in enumerate(as_completed(futures), 1):
                future.result()
                if watch:
                    watch(futures[future], number, len(futures))
        except BaseException:
            interrupt.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]
