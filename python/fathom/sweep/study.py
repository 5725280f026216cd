"""Simulates the combinations of a sweep on workers and keeps its folder.

A folder holds `sweep.json`, a run for each combination under `points/`, and the gathered tables. It is named after
all that its figures depend on, so that the same command finds it again and goes on with what is missing.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fathom import __version__, _core
from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.load.initiator import ThisMachine
from fathom.load.resolve import ensure_simulable
from fathom.load.workers import Workers, as_they_end
from fathom.method.method import Method, parse_method
from fathom.plan.prepare import prepare
from fathom.runs.document import RunDocument
from fathom.runs.files import alone_in, sync_directory, write_errors_named, write_json
from fathom.runs.layout import SWEEP, SWEEP_SCHEMA
from fathom.runs.manifest import leave_out_steps
from fathom.session import Options, start_run
from fathom.session.prepared import PreparedTwins
from fathom.session.record import now
from fathom.sweep.grid import Axis, Combination

Watch = Callable[[str, int, int], None]
"""Called for every combination that ends, with its name, the number of ended ones and the total."""


@dataclass(frozen=True)
class Sweep:
    """What to simulate: a method on targets, once for each combination."""

    method: Method
    targets: Sequence[str]
    axes: Sequence[Axis]
    combinations: Sequence[Combination]
    seed: int
    quick: bool

    @property
    def name(self) -> str:
        """The folder's name: the method, and a digest of everything that the figures depend on."""
        parts: list[object] = [_core_digest(), self.seed, self.quick]
        parts += [[one.settings, *_depends_on(one, self.quick)] for one in self.combinations]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        return f"sweep-{self.method.name}-{digest[:8]}"


@dataclass(frozen=True)
class Outcome:
    """A combination with the folder of its run, or the reason why there is none."""

    combination: Combination
    run: Path
    error: str | None


def simulate_all(sweep: Sweep, folder: Path, workers: Workers, watch: Watch) -> list[Outcome]:
    """Simulates the combinations missing in the folder; one that fails does not stop the others.

    Raises RefusedError where another process simulates the same sweep.
    """
    points = folder / "points"
    points.mkdir(parents=True, exist_ok=True)
    busy = RefusedError(f"{folder}: another process simulates this sweep", "wait for it, or interrupt it")
    with alone_in(folder, busy):
        return _simulate_missing(sweep, folder, points, workers, watch)


def _simulate_missing(
    sweep: Sweep, folder: Path, points: Path, workers: Workers, watch: Watch
) -> list[Outcome]:
    runs = {one: points / f"{one.number:04}" for one in sweep.combinations}
    missing = [one for one, run in runs.items() if not _complete(run)]
    _save(sweep, folder, "running", {})
    futures = {
        workers.submit(simulate, one.method_text, sweep.quick, one.targets, sweep.seed): one
        for one in missing
    }
    errors: dict[Combination, str] = {}
    for done, (one, result) in enumerate(as_they_end(futures), len(runs) - len(missing) + 1):
        if isinstance(result, FathomError):
            errors[one] = str(result)
        else:
            with write_errors_named(runs[one]):
                _keep(runs[one], result)
        watch(one.label, done, len(runs))
    _save(sweep, folder, "failed" if errors else "complete", errors)
    return [Outcome(one, run, errors.get(one)) for one, run in runs.items()]


def check_values(sweep: Sweep, workers: Workers) -> None:
    """Raises UsageError where no twin can be made of a combination, before any of them is simulated."""
    alike: dict[tuple[str, ...], Combination] = {}
    for one in sweep.combinations:
        alike.setdefault(tuple(one.targets), one)
    futures = {
        workers.submit(make_once, one.method_text, sweep.quick, one.targets): one for one in alike.values()
    }
    errors = {one: error for one, error in as_they_end(futures) if error is not None}
    if errors:
        first = min(errors, key=lambda one: one.number)
        others = f" (and of {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise UsageError(f"no twin can be made of {first.label}{others}: {errors[first]}")


def make_once(method_text: str, quick: bool, targets: Sequence[str]) -> None:
    """Makes the twins and leaves them. Raises FathomError where one cannot be made. Runs on a worker."""
    method = parse_method(method_text, _file(method_text), quick=quick)
    for target in prepare(method, targets, ThisMachine()):
        ensure_simulable(target)


def simulate(method_text: str, quick: bool, targets: Sequence[str], seed: int) -> dict[str, bytes]:
    """Runs the method on the twins: the files of its run directory, by name. Runs on a worker."""
    method = parse_method(method_text, _file(method_text), quick=quick)
    with tempfile.TemporaryDirectory(prefix="fathom-sweep-") as folder:
        chosen = prepare(method, targets, ThisMachine())
        try:
            options = Options(seed=seed, out=Path(folder), at_once=1, prepared=_prepared_twins())
            run = start_run(method, chosen, options)
        except FathomError as error:
            raise _without_run(error, Path(folder)) from error
        leave_out_steps(run.path, run.id)
        return {path.name: path.read_bytes() for path in run.path.iterdir() if path.is_file()}


@cache
def _prepared_twins() -> PreparedTwins:
    """Returns the twins that the combinations of this worker share: those of one preparation come one after another."""
    return PreparedTwins()


def _without_run(error: FathomError, folder: Path) -> FathomError:
    """Returns why it failed, without the path of the run, which is gone with the worker's folder."""
    why = [RunDocument.load(path.parent).error for path in folder.glob("*/run.json")]
    return FathomError(why[0]) if why and why[0] else error


def _file(method_text: str) -> str:
    return "method.json" if method_text.lstrip().startswith("{") else "method.toml"


def _keep(run: Path, contents: Mapping[str, bytes]) -> None:
    """Puts a run in its place, whole or not at all."""
    new = run.with_name(f".{run.name}.new")
    for old in (new, run):
        shutil.rmtree(old, ignore_errors=True)
    new.mkdir()
    for name, content in contents.items():
        (new / name).write_bytes(content)
    sync_directory(new)
    new.rename(run)
    sync_directory(run.parent)


def _complete(run: Path) -> bool:
    try:
        return RunDocument.load(run).status == "complete"
    except FathomError:
        return False


def _save(sweep: Sweep, folder: Path, status: str, errors: Mapping[Combination, str]) -> None:
    write_json(
        folder / SWEEP,
        {
            "schema": SWEEP_SCHEMA,
            "id": folder.name,
            "saved": now(),
            "status": status,
            "method": {"name": sweep.method.name, "title": sweep.method.title, "text": sweep.method.text},
            "quick": sweep.quick,
            "targets": list(sweep.targets),
            "settings": {axis.key: list(axis.values) for axis in sweep.axes},
            "seed": sweep.seed,
            "versions": {"fathom": __version__, "core": _core.__version__},
            "points": [
                {
                    "run": f"points/{one.number:04}",
                    "settings": dict(one.settings),
                    "error": errors.get(one),
                }
                for one in sweep.combinations
            ],
        },
    )


def _depends_on(one: Combination, quick: bool) -> list[object]:
    """Returns the steps and the twins' parameters. Raises UsageError for a target or a parameter that does not
    exist.
    """
    method = parse_method(one.method_text, _file(one.method_text), quick=quick)
    benches = dict.fromkeys(step.bench for step in method.steps)
    targets = [
        [target.name, twin_params_json(load_device(target.catalog or target.name), bench)]
        for target in prepare(method, one.targets, ThisMachine())
        for bench in benches
    ]
    return [method.parsed, targets]


@cache
def _core_digest() -> str:
    """Returns a digest of the simulator: another build may give other figures under the same version."""
    file = _core.__file__ or ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()
