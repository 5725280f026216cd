"""The whole way from a data sheet to files of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fathom.catalog.store import CatalogError
from fathom.new_device.checks import problems
from fathom.new_device.draft import draft, published_of
from fathom.new_device.files import check_free, folder_of, paths_in, write
from fathom.new_device.fit import Fitted, fit
from fathom.new_device.sheet import DataSheet
from fathom.validation.validate import TrialRunner


@dataclass(frozen=True)
class Made:
    """A drive that has been written."""

    fitted: Fitted
    paths: tuple[Path, Path]


def check(sheet: DataSheet, out: Path | None, *, force: bool) -> tuple[Path, Path]:
    """Returns the paths that the drive would be written to.

    Raises:
        RefusedError: one of them exists, and not `force`.
        CatalogError: the ratings cannot be, one line each.
    """
    paths = paths_in(folder_of(out), sheet.device_name)
    check_free(paths, force=force)
    if found := problems(sheet):
        raise CatalogError(*map(str, found))
    return paths


def make(sheet: DataSheet, paths: tuple[Path, Path], runner: TrialRunner) -> Made:
    """Fits a checked sheet's drive and writes its files.

    Raises FathomError where the twin refuses the parameters, or a file cannot be written.
    """
    fitted = fit(draft(sheet), sheet.ratings, runner)
    write(fitted.device, published_of(sheet), paths)
    return Made(fitted, paths)
