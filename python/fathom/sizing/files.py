"""The two files of `fathom choose`: the needs, and the prices of the parts of systems. The shipped prices are relative,
and a note says so wherever they are used.
"""

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, PlainValidator

from fathom.catalog.check import parse_as
from fathom.catalog.models import Name, Positive, Text
from fathom.errors import UsageError
from fathom.sizing.needs import OP, Kind, Need, Op, parse_need
from fathom.text_file import read_text

_Model = TypeVar("_Model", bound=BaseModel)
_PREFERENCES: dict[Kind | Literal["cost"], str] = {
    "cost": "least cost",
    "power": "least power",
    "capacity": "most capacity",
    "bandwidth": "most GB/s (?P<op>read|write)",
    "iops": f"most IOPS {OP}",
}
PREFERENCES = '"least cost", "least power", "most capacity", "most GB/s read" or "most IOPS 70/30"'


@dataclass(frozen=True)
class Preference:
    """The preference between systems that all meet the needs."""

    text: str
    kind: Kind | Literal["cost"]
    op: Op | None = None


def parse_preference(text: object) -> Preference:
    """Reads `least cost` or `most IOPS 70/30`. Raises ValueError with the forms there are."""
    for kind, form in _PREFERENCES.items():
        if match := re.fullmatch(form, str(text)):
            return Preference(match[0], kind, cast("Op | None", match.groupdict().get("op")))
    raise ValueError(f"prefer {str(text)!r}: not understood; write {PREFERENCES}")


def _need(text: object) -> Need:
    """Returns a need from a file; its ValueError becomes an error with the file's line."""
    try:
        return parse_need(str(text), "need")
    except UsageError as error:
        raise ValueError(str(error)) from error


class _File(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Needs(_File):
    """NEEDS.toml."""

    schema_: Literal["fathom-needs/1"] = Field(alias="schema")
    needs: Annotated[tuple[Annotated[Need, PlainValidator(_need)], ...], Field(strict=False, min_length=1)]
    """As `fathom size --need` takes them; capacity is usable capacity."""
    budget: Positive | None = None
    """In the currency of the prices."""
    prefer: Annotated[Preference, PlainValidator(parse_preference)] = Preference("least cost", "cost")
    derate: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of a system's bandwidth and IOPS to count on."""
    years: Positive = 5.0
    """Over which cost is counted."""
    writes_tb_per_day: Positive | None = None
    """What hosts write, 10^12 B: for the drives that wear out in these years."""
    waf_ratio: Positive = 1.0
    """Write amplification of these writes over that of the drives' endurance rating."""


class Item(_File):
    """One part of a system."""

    price: Positive
    watts: Positive | None = None
    """At full load."""
    source: Text


class Prices(_File):
    """A price list."""

    schema_: Literal["fathom-prices/1"] = Field(alias="schema")
    currency: Text
    """`EUR`, `USD`, or `relative`."""
    note: Text | None = None
    """Printed with every comparison."""
    energy_per_kwh: Positive | None = None
    """In the same currency; absent: energy is shown in kWh and not counted."""
    items: dict[Name, Item]


def read_needs(path: Path) -> Needs:
    """Returns the needs in a file. Raises UsageError: not readable, or a line for each thing wrong with it."""
    return _read(Needs, path)


def read_prices(path: Path | None) -> Prices:
    """Returns the prices in a file; without one, those shipped. Raises as `read_needs`."""
    if path is not None:
        return _read(Prices, path)
    return parse_as(Prices, shipped_prices(), "the prices shipped")


def shipped_prices() -> str:
    """Returns the price list that comes with Fathom, verbatim, to copy and edit."""
    return files("fathom.sizing").joinpath("prices.toml").read_text(encoding="utf-8")


def _read(model: type[_Model], path: Path) -> _Model:
    return parse_as(model, read_text(path, f"give a {model.__name__.lower()} file"), str(path))
