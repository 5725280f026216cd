"""Many runs of twins: for every combination of values, beside published results, and over an ensemble."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fathom.api.named import method_of
from fathom.api.options import HostOptions, check_options, path_of, wanted_hosts
from fathom.errors import UsageError
from fathom.fleet.initiators import workers_of
from fathom.plan.prepare import Word, texts_of
from fathom.runs.reader import Run

if TYPE_CHECKING:
    from fathom.sweep.sweep import Swept
    from fathom.validation.comparison import Compared


def run_sweep(
    method: str,
    targets: Word | Sequence[Word],
    settings: Mapping[str, object],
    *,
    quick: bool = False,
    seed: int = 1,
    out: str | Path | None = None,
    **options: Unpack[HostOptions],
) -> "Swept":
    """Simulates a method for every combination of values, as `fathom sweep` does: `{"op": [0.07, 0.28]}`.

    A single value needs no list; a text is read as the command reads it: `{"op": "0.07,0.28"}`.

    The result has the `points` of all as a table, the sweep's `folder` and its `page`. Raises UsageError for a key or
    a value that is none, and FathomError where a combination fails.
    """
    from fathom.sweep.sweep import run_sweep as of_settings

    check_options(options, HostOptions)
    if not settings:
        raise UsageError("a sweep without a key to vary", 'give one or more, such as {"op": [0.07, 0.28]}')
    axes = [f"{key}={','.join(_values(one))}" for key, one in settings.items()]
    chosen = texts_of(targets)
    parsed = method_of(method, targets, quick=quick)
    with workers_of(wanted_hosts(options)) as workers:
        swept = of_settings(
            parsed, chosen, axes, workers, _unwatched, quick=quick, seed=seed, out=path_of(out)
        )
    swept.check()
    return swept


def validate(*devices: str, seed: int = 1, **options: Unpack[HostOptions]) -> "list[Compared]":
    """Returns each published row of the devices, or of every twin, beside what the twin does, as `fathom validate`.

    Raises FathomError for a device without a twin or without published results.
    """
    from fathom.validation.validate import TrialRunner, devices_to_validate
    from fathom.validation.validate import validate as of_devices

    check_options(options, HostOptions)
    with workers_of(wanted_hosts(options)) as workers:
        return of_devices(devices_to_validate(devices), TrialRunner(workers, seed))


def add_ensemble(run: Run | str | Path, members: int, **options: Unpack[HostOptions]) -> Run:
    """Simulates a run's method for members of its twins' ensembles, as `fathom run --ensemble` does; returns the run.

    Its table `ensemble` has their rows. Raises FathomError for a twin without an ensemble, and for a run that has not
    ended.
    """
    from fathom.sweep import members as of_ensemble

    check_options(options, HostOptions)
    opened = run if isinstance(run, Run) else Run.open(run)
    with workers_of(wanted_hosts(options)) as workers:
        of_ensemble.add_ensemble(opened, members, workers, _unwatched)
    return Run(opened.path)


def _unwatched(label: str, done: int, total: int) -> None:
    """Shows nothing of what ends."""


def _values(of_key: object) -> list[str]:
    """Returns what a key of a sweep is set to, as the command has it; a single value stands for itself."""
    if isinstance(of_key, str) or not isinstance(of_key, Iterable):
        return [_written(of_key)]
    return [_written(value) for value in of_key]


def _written(value: object) -> str:
    """Returns a value as a setting of the command has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
