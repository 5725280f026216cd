"""Which parameters of a twin drive which of its figures, kept in `sensitivities/NAME.toml`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import Field

from fathom.catalog.kept import load_kept, shipped_names, write_kept
from fathom.catalog.models.base import Count, Key, Many, Name, NotNegative, Strict, Text

FOLDER = "sensitivities"


class FigureOfStep(Strict):
    """A figure of a method: its step, and whether it is the total rate or the mean latency of all its I/Os."""

    step: Name
    label: Text
    metric: Literal["rate", "latency"]

    @property
    def words(self) -> str:
        """Its name in tables."""
        return self.label if self.metric == "rate" else f"{self.label}: mean latency"


class Effect(Strict):
    """How much a parameter moves each figure, in the order of `Sensitivity.figures`."""

    parameter: Key
    means: Many[NotNegative]
    """Mean of the absolute change of the figure's logarithm, from one end of the parameter's range to the other."""
    halves: Many[NotNegative]
    """Half the 95 % intervals of the means, by bootstrap over trajectories."""


class Sensitivity(Strict):
    """`sensitivities/NAME.toml`, schema `fathom-sensitivity/1`."""

    schema_: Literal["fathom-sensitivity/1"] = Field(alias="schema")
    name: Name
    digest: Text
    """Digest of the twin's parameters around which others were drawn."""
    method: Name
    quick: bool
    trajectories: Count
    figures: Many[FigureOfStep]
    effects: Many[Effect]

    def ranked(self) -> list[Effect]:
        """Returns the effects, those first that move some figure the most."""
        return sorted(self.effects, key=lambda one: -max(one.means))


def shipped_sensitivities() -> list[str]:
    """Returns the names of the devices whose sensitivities come with the catalogue."""
    return shipped_names(FOLDER)


def load_sensitivity(name: str) -> Sensitivity | None:
    """Returns what is kept of a device; None where nothing is. Raises CatalogError where the file is wrong."""
    return load_kept(FOLDER, name, Sensitivity)


def write_sensitivity(found: Sensitivity) -> Path:
    """Writes it into the user's catalogue. Raises FathomError where the file cannot be written."""
    return write_kept(FOLDER, found.name, sensitivity_toml(found))


def sensitivity_toml(found: Sensitivity) -> str:
    """Returns the file's text."""
    lines = [
        "# Which parameters drive which figures, by the method of Morris.",
        f"# `fathom sensitivity {found.name} --write` makes it anew.",
        'schema = "fathom-sensitivity/1"',
        f'name = "{found.name}"',
        f'digest = "{found.digest}"',
        f'method = "{found.method}"',
        f"quick = {json.dumps(found.quick)}",
        f"trajectories = {found.trajectories}",
    ]
    for figure in found.figures:
        lines += ["", "[[figures]]"]
        lines += [f"{key} = {json.dumps(text)}" for key, text in figure.to_dict().items()]
    for effect in found.effects:
        lines += ["", "[[effects]]", f'parameter = "{effect.parameter}"']
        lines += [
            f"{key} = [{', '.join(f'{value:.4f}' for value in values)}]"
            for key, values in (("means", effect.means), ("halves", effect.halves))
        ]
    return "\n".join(lines) + "\n"
