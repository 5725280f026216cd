"""The two files of `fathom choose`: the needs, and the prices of the parts of systems. The shipped prices are relative,
and a note says so wherever they are used.
"""

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, PlainValidator

from fathom.catalog.check import parse_as
from fathom.catalog.models import Name, Positive, Text
from fathom.catalog.store import CatalogError
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


_MOST = 1e12
_Amount = Annotated[Positive, Field(le=_MOST)]
"""Sums over the parts of any number of systems, and over years, remain finite."""


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
    years: _Amount = 5.0
    """Over which cost is counted."""
    writes_tb_per_day: _Amount | None = None
    """What hosts write, 10^12 B: for the drives that wear out in these years."""
    waf_ratio: _Amount = 1.0
    """Write amplification of these writes over that of the drives' endurance rating."""


class Item(_File):
    """One part of a system."""

    price: _Amount
    watts: _Amount | None = None
    """At full load."""
    source: Text


class Prices(_File):
    """A price list."""

    schema_: Literal["fathom-prices/1"] = Field(alias="schema")
    currency: Text
    """`EUR`, `USD`, or `relative`."""
    note: Text | None = None
    """Printed with every comparison."""
    energy_per_kwh: _Amount | None = None
    """In the same currency; absent: energy is shown in kWh and not counted."""
    items: dict[Name, Item]


def read_needs(path: Path) -> Needs:
    """Returns the needs in a file. Raises UsageError: not readable, or a line for each thing wrong with it."""
    return _read(
        Needs, path, "fathom-needs/1", 'give one such as schema = "fathom-needs/1", needs = ["64 GB/s read"]'
    )


def read_prices(path: Path | None) -> Prices:
    """Returns the prices in a file; without one, those shipped. Raises as `read_needs`."""
    if path is not None:
        hint = "`fathom choose --show-prices` prints a price list to edit"
        return _read(Prices, path, "fathom-prices/1", hint)
    return parse_as(Prices, shipped_prices(), "the prices shipped")


def shipped_prices() -> str:
    """Returns the price list that comes with Fathom, verbatim, to copy and edit."""
    return files("fathom.sizing").joinpath("prices.toml").read_text(encoding="utf-8")


def _read(model: type[_Model], path: Path, schema: str, hint: str) -> _Model:
    text = read_text(path, hint)
    try:
        stated = tomllib.loads(text).get("schema")
    except RecursionError as error:
        raise UsageError(f"{path}: is nested too deeply", hint) from error
    except tomllib.TOMLDecodeError:
        try:
            return parse_as(model, text, str(path))
        except CatalogError as error:
            raise UsageError(error.message, hint) from error
    if stated != schema:
        found = "it has no schema" if stated is None else f"its schema is {stated!r}"
        raise UsageError(f'{path}: {found}, and "{schema}" is expected', hint)
    return parse_as(model, text, str(path))
