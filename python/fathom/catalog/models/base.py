"""What the models of all catalogue files share: kinds of values, strictness, and a parameter with its basis."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$")]
Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Percent = Annotated[float, Field(ge=0, le=100)]
Count = Annotated[int, Field(gt=0)]

_T = TypeVar("_T")
Many = Annotated[tuple[_T, ...], Field(strict=False)]


class Strict(BaseModel):
    """Refuses unknown keys, numbers written as text, and figures that are not finite."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def to_dict(self) -> dict[str, object]:
        """Returns what the file says, with rows complete and absent keys left out; valid input of the same model."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


class Parameter(Strict):
    """One parameter of a model: its value, how it was obtained, and its source."""

    value: bool | int | float | Text
    """In the unit that ends the parameter's name."""
    basis: Literal["published", "derived", "calibrated", "assumed"]
    """Printed in the source; computed from published figures; fitted to calibration rows; or assumed here."""
    source: Text
    """Where from: a document, a formula, or the rows it was fitted to."""
    note: Text | None = None


def values_of(parameters: dict[Key, Parameter]) -> dict[str, bool | int | float | str]:
    """Returns each parameter's value by its name."""
    return {name: parameter.value for name, parameter in parameters.items()}
