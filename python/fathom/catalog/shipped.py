"""Reads single files that come with the catalogue, such as priors and classes."""

import tomllib
from importlib.resources import files
from typing import TypeVar

from pydantic import ValidationError

from fathom.catalog.models.base import Strict
from fathom.catalog.store import CatalogError

Form = TypeVar("Form", bound=Strict)


def shipped(name: str, form: type[Form]) -> Form:
    """Returns the file of that name. Raises CatalogError where it is wrong."""
    file = files("fathom.catalog").joinpath(name)
    try:
        return form.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise CatalogError(f"{file}: {error}") from error
