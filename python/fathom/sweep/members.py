"""Simulates a run's method once more for members of its twins' ensembles: what the parameters leave open."""

import io
from collections.abc import Sequence

import pyarrow.parquet as pq

from fathom.catalog import load_device
from fathom.catalog.ensemble import check_may_have_one, load_ensemble
from fathom.catalog.settings import MEMBER, joined, split
from fathom.columns.schema import ENSEMBLE
from fathom.errors import FathomError, UsageError
from fathom.load.workers import Workers, as_they_end
from fathom.prediction.members import LEAST_MEMBERS
from fathom.prediction.misses import digest_of
from fathom.runs.document import TargetRecord
from fathom.runs.ensemble import keep_ensemble
from fathom.runs.reader import Run
from fathom.sweep.study import Watch, simulate
from fathom.targets.target import Target

Rows = list[dict[str, object]]


def check_ensemble(targets: Sequence[Target] | Sequence[TargetRecord], members: int) -> None:
    """Checks that every twin has an ensemble of that many members, before anything runs.

    Raises:
        UsageError: no target is a twin, a twin has no single drive, its ensemble was made around other parameters, or
            the number is too small or too large.
        CatalogError: a drive has no ensemble.
    """
    twins = [target for target in targets if target.kind == "twin"]
    if not twins:
        raise UsageError("--ensemble: no target is a twin, and only twins have parameters", "leave it out")
    if members < LEAST_MEMBERS:
        raise UsageError(f"--ensemble {members}: too few for a range", f"ask for {LEAST_MEMBERS} or more")
    for target in twins:
        name = split(_single_drive(target))[0]
        device = load_device(name)
        check_may_have_one(name, device.twin)
        ensemble = load_ensemble(name)
        if ensemble.digest != digest_of(device):
            raise UsageError(
                f"--ensemble: the ensemble of {name} was made around other parameters than its twin has",
                f"`fathom calibrate {name} --ensemble --write` makes it anew",
            )
        if (known := len(ensemble.members)) < members:
            raise UsageError(f"--ensemble {members}: {name} has {known} members", f"ask for at most {known}")


def add_ensemble(run: Run, members: int, workers: Workers, watch: Watch) -> None:
    """Simulates the run's method for the first `members` members of each twin's ensemble, and keeps their rows.

    Each has the run's seed. Members are exchangeable, so the first are as good as any.

    Raises:
        FathomError: as `check_ensemble`, for a run that has not ended, and for a member that cannot be simulated.
    """
    document = run.document
    own = [target for target in document.targets if target.part_of is None]
    check_ensemble(own, members)
    quick, text = document.quick is not None, document.method.text
    futures = {
        workers.submit(simulate, text, quick, [f"twin:{name}"], document.own_seed): (target.name, number)
        for target in own
        if target.kind == "twin"
        for number in range(1, members + 1)
        for name in [_member(_single_drive(target), number)]
    }
    rows: dict[tuple[str, int], Rows] = {}
    for (target, number), result in as_they_end(futures):
        if isinstance(result, FathomError):
            raise FathomError(
                f"{target}, member {number}: {result}; the run itself is whole: {run.path}",
                "another number of members, or `fathom report` without them",
            ) from result
        rows[target, number] = _rows(result["points.parquet"], target, number)
        watch(f"{target}, member {number}", len(rows), len(futures))
    keep_ensemble(run, [row for key in futures.values() for row in rows[key]])


def _single_drive(target: Target | TargetRecord) -> str:
    """Returns the catalogue's name of a twin of one drive, with what the user set.

    Raises UsageError for drives together, or under a file system.
    """
    if target.catalog is None or target.name != f"twin:{target.catalog}":
        raise UsageError(f"--ensemble: {target.name} is no twin of a single drive", "name one, as twin:NAME")
    return target.catalog


def _member(name: str, number: int) -> str:
    """Returns the name of a member; what the user set comes after the member's parameters, so it holds."""
    plain, settings = split(name)
    return joined(joined(plain, f"{MEMBER}={number}"), settings)


def _rows(points: bytes, target: str, number: int) -> Rows:
    """Returns the rows of a member's run as those of the run's own target."""
    columns = [name for name in ENSEMBLE.names if name != "member"]
    table = pq.read_table(io.BytesIO(points), columns=columns)
    return [row | {"target": target, "member": number} for row in table.to_pylist()]
