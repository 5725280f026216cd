"""The Python interface: run a method on targets, open a run, all without the command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fathom.errors import UsageError
from fathom.load.binding import bindings, bound_targets
from fathom.load.resolve import resolve_targets
from fathom.method.method import load_method
from fathom.plan.file_system import with_file_system
from fathom.runs.reader import Run
from fathom.session import Options, start_run
from fathom.targets.purge import Purge


def run(
    method: str,
    targets: str | Sequence[str] | Mapping[str, str],
    *,
    quick: bool = False,
    seed: int = 1,
    size_bytes: int | None = None,
    destroy: Sequence[str] = (),
    unknown_data: bool = False,
    purge: Purge = "trim",
    out: str | Path | None = None,
    power: str | None = None,
) -> Run:
    """Runs a method (its name, or the path of a method file) on one target or several and returns the run.

    A mapping gives each target the name by which the method's steps know it. `size_bytes` is the size of files that
    Fathom makes. `destroy` lists serials of devices whose data may be lost. `unknown_data` says that data on them
    which no known format explains may be lost too.
    `purge` is how purge steps erase NVMe drives, as `--purge` says.
    `power` names a power meter as `--power` does. `out` is the directory in which the run gets its own.
    Raises FathomError; whatever was measured before the error is in the run directory.
    """
    texts = _texts(targets)
    if not texts:
        raise UsageError("no target to run on", "name one, such as twin:samsung-pm9a3-7.68tb")
    parsed = load_method(method, quick=quick)
    resolved = with_file_system(parsed, bound_targets(parsed, texts, resolve_targets, size_bytes), size_bytes)
    return start_run(
        parsed,
        resolved,
        Options(
            seed=seed,
            destroy=tuple(destroy),
            unknown_data=unknown_data,
            purge=purge,
            out=None if out is None else Path(out),
            power=power,
        ),
    )


def _texts(targets: str | Sequence[str] | Mapping[str, str]) -> Sequence[str]:
    if isinstance(targets, Mapping):
        return bindings(targets)
    return [targets] if isinstance(targets, str) else targets


def open_run(run: str | Path) -> Run:
    """The run named by a path, an id, a unique part of an id, or `last`."""
    return Run.open(run)
