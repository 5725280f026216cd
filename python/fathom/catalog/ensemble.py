"""Ensembles of a twin: parameter sets that agree with its calibration rows, kept in `ensembles/NAME.toml`.

The device's own file has the parameters of a default run. The members show what the rows leave open.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from fathom.catalog.kept import load_kept, shipped_names, write_kept
from fathom.catalog.models.base import Key, Many, Name, Positive, Strict, Text
from fathom.catalog.models.device import TwinModel
from fathom.catalog.store import CatalogError

FOLDER = "ensembles"
DIGITS = 4
"""Significant digits of a member's values."""


class Ensemble(Strict):
    """`ensembles/NAME.toml`, schema `fathom-ensemble/1`."""

    schema_: Literal["fathom-ensemble/1"] = Field(alias="schema")
    name: Name
    digest: Text
    """Digest of the twin's parameters that the ensemble was made around."""
    rows: Many[Name]
    """The calibration rows that members agree with."""
    misfit_before_pct: Positive
    misfit_pct: Positive
    """Root mean square of the members' errors over the rows, in the priors and now."""
    parameters: Many[Key]
    members: Many[Many[float]]
    """Values by member, in the order of `parameters`."""

    def member(self, number: int) -> dict[str, float]:
        """Returns the values of a member, counted from 1.

        Raises CatalogError where there is none of that number.
        """
        if not 1 <= number <= len(self.members):
            raise CatalogError(
                f"{self.name}: its ensemble has members 1 to {len(self.members)}, not {number}"
            )
        return dict(zip(self.parameters, self.members[number - 1], strict=True))


def shipped_ensembles() -> list[str]:
    """Returns the names of the devices whose ensembles come with the catalogue."""
    return shipped_names(FOLDER)


def check_may_have_one(name: str, twin: TwinModel | None) -> None:
    """Raises CatalogError where the twin of a device is no SSD, so that nothing can make it an ensemble."""
    if twin is None or twin.kind != "ssd":
        raise CatalogError(f"{name} has no ensemble: only twins of SSDs have one")


def load_ensemble(name: str) -> Ensemble:
    """Returns the ensemble of a device; the user's goes before the shipped one.

    Raises:
        CatalogError: there is none, or its file is wrong.
    """
    if found := load_kept(FOLDER, name, Ensemble):
        return found
    raise CatalogError(
        f"{name} has no ensemble, so it has no members; `fathom calibrate {name} --ensemble --write` makes one"
    )


def write_ensemble(ensemble: Ensemble) -> Path:
    """Writes the ensemble into the user's catalogue.

    Raises:
        FathomError: the file cannot be written.
    """
    return write_kept(FOLDER, ensemble.name, ensemble_toml(ensemble))


def ensemble_toml(ensemble: Ensemble) -> str:
    """Returns the file's text."""
    head = [
        "# Parameter sets that agree with the device's calibration rows.",
        f"# `fathom calibrate {ensemble.name} --ensemble --write` makes them anew.",
        'schema = "fathom-ensemble/1"',
        f'name = "{ensemble.name}"',
        f'digest = "{ensemble.digest}"',
        "rows = [" + ", ".join(f'"{row}"' for row in ensemble.rows) + "]",
        f"misfit_before_pct = {ensemble.misfit_before_pct:.3g}",
        f"misfit_pct = {ensemble.misfit_pct:.3g}",
        "parameters = [",
        *(f'  "{name}",' for name in ensemble.parameters),
        "]",
        "members = [",
    ]
    rows = [f"  [{', '.join(f'{value:.{DIGITS}g}' for value in member)}]," for member in ensemble.members]
    return "\n".join([*head, *rows, "]"]) + "\n"
