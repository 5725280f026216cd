"""What is known of a twin's parameters before its rows are read: a lognormal prior for each that may vary.

Counts of dies, channels and planes, and switches, do not vary: they are the drive's structure. A value of 0 switches
its mechanism off and does not vary either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import log
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from fathom.catalog.models.base import Key, Positive, Strict, Text
from fathom.catalog.shipped import shipped
from fathom.statistics.series import Floats

if TYPE_CHECKING:
    from fathom.catalog.models import Device

FILE = "priors.toml"
SHARE = 0.8
"""The part of a prior that lies within its factor."""
_QUANTILE = NormalDist().inv_cdf((1 + SHARE) / 2)


class Width(Strict):
    """How far a true value may lie from the one in the file."""

    factor: Positive
    least: Positive | None = None
    """Share of the value below which the twin cannot work."""
    source: Text


class Priors(Strict):
    """`priors.toml`, schema `fathom-priors/1`."""

    schema_: Literal["fathom-priors/1"] = Field(alias="schema")
    basis: dict[Literal["published", "derived"], Width]
    parameters: dict[Key, Width]


@dataclass(frozen=True)
class Prior:
    """A parameter's prior: lognormal around `centre`, `log_sd` its standard deviation in logarithms."""

    name: str
    centre: float
    log_sd: float
    whole: bool
    least: float = 0.0
    most: float = float("inf")
    """Values are cut off at both."""

    def values(self, scores: Floats) -> Floats:
        """Returns the values at standard normal scores, whole where the parameter is; shape as `scores`."""
        values = np.clip(self.centre * np.exp(self.log_sd * scores), self.least, self.most)
        return np.maximum(np.rint(values), 1.0) if self.whole else values


def priors_of(device: Device) -> list[Prior]:
    """Returns the priors of an SSD twin's parameters that vary, in the order of its file; of other twins none.

    Raises CatalogError where the file of priors is wrong.
    """
    if device.twin is None or device.twin.kind != "ssd":
        return []
    known, found = shipped_priors(), []
    values = {name: parameter.value for name, parameter in device.twin.parameters.items()}
    dies = float(values.get("channels", 1)) * float(values.get("dies_per_channel", 1))
    for name, parameter in device.twin.parameters.items():
        value = parameter.value
        width = known.parameters.get(name)
        if width is None or isinstance(value, bool | str) or value <= 0:
            continue
        factor = width.factor
        if parameter.basis == "published" or parameter.basis == "derived":
            factor = min(factor, known.basis[parameter.basis].factor)
        most = dies if name == "programming_dies_max" else float("inf")
        least = (width.least or 0.0) * value
        found.append(Prior(name, float(value), log(factor) / _QUANTILE, isinstance(value, int), least, most))
    return found


@cache
def shipped_priors() -> Priors:
    """Returns the priors that come with the catalogue.

    Raises CatalogError where the file is wrong.
    """
    return shipped(FILE, Priors)
