"""What simulations found out about a device, kept in a TOML file of its name: shipped, or in the user's catalogue."""

from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from fathom.catalog.check import parse_as
from fathom.catalog.models.base import Strict
from fathom.catalog.store import SUFFIX, CatalogError, user_folders
from fathom.errors import FathomError

M = TypeVar("M", bound=Strict)


def shipped_names(folder: str) -> list[str]:
    """Returns the names of the devices that have a file in that folder of the catalogue."""
    found = files("fathom.catalog").joinpath(folder).iterdir()
    return sorted(file.name.removesuffix(SUFFIX) for file in found if file.name.endswith(SUFFIX))


def load_kept(folder: str, name: str, model: type[M]) -> M | None:
    """Returns a device's file of that folder; the user's goes before the shipped one. None where there is none.

    Raises CatalogError where the file is wrong.
    """
    shipped = files("fathom.catalog").joinpath(folder)
    for place in (*(one / folder for one in user_folders()), shipped):
        file = place.joinpath(name + SUFFIX)
        if not file.is_file():
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CatalogError(f"{file}: cannot be read: {error}") from error
        return parse_as(model, text, str(file))
    return None


def write_kept(folder: str, name: str, text: str) -> Path:
    """Writes a device's file into that folder of the user's catalogue.

    Raises FathomError where it cannot be written.
    """
    path = user_folders()[0] / folder / (name + SUFFIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FathomError(
            f"{path}: {error.strerror}", "set FATHOM_CATALOG to a folder that you may write"
        ) from error
    return path
