"""Keeps what a validation found: the misses from which the intervals of twins are learnt. Simulates nothing."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from fathom.catalog.models import Device
from fathom.errors import FathomError
from fathom.prediction.misses import (
    FILE,
    DeviceMisses,
    Miss,
    digest_of,
    family_of,
    misses_toml,
    shipped_misses,
)
from fathom.validation.comparison import Compared


def misses_of(rows: Sequence[Compared]) -> list[DeviceMisses]:
    """Returns the misses of every device among the rows: figures that count, simulated and published both known."""
    devices: dict[str, Device] = {row.case.device.name: row.case.device for row in rows}
    found = []
    for name, device in devices.items():
        own = [row for row in rows if row.case.device.name == name]
        misses = tuple(miss for row in own if (miss := _miss(row)))
        family = family_of(device)
        if family and misses:
            found.append(DeviceMisses(name=name, family=family, digest=digest_of(device), rows=misses))
    return found


def _miss(row: Compared) -> Miss | None:
    role = row.case.row.role
    if not row.counted or not row.simulated or role == "context":
        return None
    return Miss(
        workload=row.case.row.workload,
        op=row.case.row.op,
        metric=row.metric,
        role=role,
        block_bytes=block_of(row),
        ratio=float(f"{row.simulated / row.published:.4g}"),
    )


def block_of(row: Compared) -> int | None:
    """Returns the block size of a row's I/O, in bytes; None where it has several."""
    sizes = row.case.trial.job.block_sizes if row.case.trial else {}
    every = {size for own in sizes.values() for size in own}
    return every.pop() if len(every) == 1 else None


def keep_misses(rows: Sequence[Compared]) -> Path:
    """Writes the misses of the validated devices into the catalogue's file; those of other devices stay.

    Raises:
        FathomError: the file cannot be written.
    """
    new = {one.name: one for one in misses_of(rows)}
    path = Path(str(files("fathom.catalog").joinpath(FILE)))
    known = shipped_misses() if path.exists() else ()
    kept = {one.name: one for one in known} | new
    try:
        path.write_text(misses_toml(kept[name] for name in sorted(kept)), encoding="utf-8")
    except OSError as error:
        raise FathomError(
            f"{path}: {error.strerror}", "run from a checkout whose files you may write"
        ) from error
    return path
