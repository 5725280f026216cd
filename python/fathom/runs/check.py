"""Whether a run directory is whole: compares files with checksums. Repairs tables whose rows other files hold."""

from dataclasses import dataclass
from pathlib import Path

from fathom.columns.schema import TABLES
from fathom.errors import FathomError, UsageError
from fathom.runs.compact import OF_STEPS, compact
from fathom.runs.damage import Damage, Fault, Substitute, first_of_each_file
from fathom.runs.document import FROM_A_COPY, RunDocument, Status
from fathom.runs.files import text_of, write_errors_named
from fathom.runs.layout import MANIFEST, RUN, STEPS
from fathom.runs.manifest import Manifest
from fathom.runs.tables import Tables
from fathom.runs.writer import writing_run


@dataclass(frozen=True)
class CheckResult:
    """The result of a check. `verified`: the run has checksums. `sealed`: it has a manifest, so a missing file is
    noticed.
    """

    run: Path
    status: Status | None
    verified: bool
    sealed: bool
    files: int
    damage: tuple[Damage, ...]
    error: str | None = None
    """Why run.json cannot be read."""

    @property
    def whole(self) -> bool:
        """Whether nothing is damaged."""
        return not self.damage


def check(run: Path) -> CheckResult:
    """Reads every file of a run."""
    try:
        document, error = RunDocument.load(run), None
    except FathomError as refused:
        document, error = None, str(refused)
    manifest = Manifest.load(run)
    sealed = isinstance(manifest, Manifest) and (document is None or document.has_ended)
    tables = Tables(run, document)
    tables.check_events()
    for name in TABLES:
        tables.files(name)
    before = {one.file for one in tables.damage}
    tables.check_steps()
    own_are_whole = sealed and not any(f"{name}.parquet" in before for name in TABLES)
    found = [
        Damage(one.file, one.fault, Substitute.FROM_TABLES)
        if own_are_whole and one.file.startswith(f"{STEPS}/")
        else one
        for one in tables.damage
    ]
    if error is not None:
        fault = Fault.CHANGED if (run / RUN).exists() else Fault.MISSING
        found.insert(0, Damage(RUN, fault, Substitute.RUN_LEFT_OUT))
    if sealed and isinstance(manifest, Manifest):
        found += _others(run, manifest)
    return CheckResult(
        run=run,
        status=document.status if document else None,
        verified=document.has_sums if document else sealed,
        sealed=sealed,
        files=len(manifest.files) if isinstance(manifest, Manifest) else 0,
        damage=tuple(first_of_each_file(found)),
        error=error,
    )


def repair(run: Path) -> list[str]:
    """Writes damaged tables, or a damaged manifest, again from the steps. Returns the names of what was written.

    Raises FathomError where the steps do not have all rows, or where a new manifest would hide other damage.
    """
    found = check(run)
    if found.error:
        raise FathomError(found.error)
    damaged = {one.file for one in found.damage}
    lost = MANIFEST in damaged
    names = [name for name in OF_STEPS if lost or f"{name}.parquet" in damaged]
    if not names:
        return []
    document = RunDocument.load(run)
    if not document.has_ended:
        raise UsageError(f"run {run.name} has not ended", "`fathom resume` measures damaged steps again")
    needed = [
        one for one in found.damage if one.file.startswith(f"{STEPS}/") or (lost and one.file != MANIFEST)
    ]
    if needed:
        raise FathomError(f"run {run.name} cannot be repaired: {needed[0]}", FROM_A_COPY)
    with write_errors_named(run), writing_run(run):
        tables = Tables(run, document, "steps")
        if not tables.records():
            raise FathomError(f"run {run.name} cannot be repaired: it has no folders of steps", FROM_A_COPY)
        compact(run, tables, names)
        text = text_of(run / RUN)
        manifest, before = Manifest.of_run(run, document.id, text), Manifest.load(run)
        if isinstance(before, Manifest):
            # What is damaged beside the tables stays known as such.
            written = {name: manifest.files[name] for name in (f"{table}.parquet" for table in names)}
            manifest = before.model_copy(update={"files": before.files | written})
        manifest.save(run)
    return [*(f"{name}.parquet" for name in names), MANIFEST]


def _others(run: Path, manifest: Manifest) -> list[Damage]:
    """Damage of files that hold no table: the seconds of attempts that were interrupted."""
    listed = {name: one for name, one in manifest.files.items() if name.endswith(".jsonl") and "/" in name}
    faults = {name: manifest.fault(run, name) for name in listed}
    return [Damage(name, fault, Substitute.LEFT_OUT) for name, fault in faults.items() if fault]


def in_words(found: CheckResult) -> list[str]:
    """Returns the result of a check in lines: the verdict, then each damaged file."""
    name = found.run.name
    if not found.whole:
        return [f"run {name}: damaged", *(f"  {one}" for one in found.damage)]
    if not found.verified:
        return [
            f"run {name}: unverified: it has no checksums, like runs of earlier versions, but can be read"
        ]
    if not found.sealed:
        return [f"run {name}: whole as far as it got; it is {found.status}"]
    return [f"run {name}: whole: its {found.files} files match their checksums"]


def to_json(found: CheckResult) -> dict[str, object]:
    """Returns the result of a check as JSON."""
    return {
        "run": found.run.name,
        "path": str(found.run),
        "status": found.status,
        "whole": found.whole,
        "verified": found.verified,
        "sealed": found.sealed,
        "damage": [
            {"file": one.file, "fault": one.fault.name.lower(), "instead": one.instead.name.lower()}
            for one in found.damage
        ],
    }
