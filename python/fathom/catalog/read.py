"""Reads an entry of the catalogue as its model; a variant is laid over the device that it is of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from fathom.catalog.store import CatalogError, Entry, find

if TYPE_CHECKING:
    from fathom.catalog.models import Device, Published, System

_VARIANT = re.compile(r"""(?m)^variant_of\s*=\s*(["'])(?P<base>.*?)\1""")
_OF_MISSES = re.compile(r"(?m)^\[(?:twin\.reasons|\[twin\.missed\])\]")


def read(entry: Entry) -> Device | System | Published:
    """Returns the model of an entry that is not a method.

    Raises:
        CatalogError: its file is wrong.
    """
    from fathom.catalog.check import parse

    text = entry.text()
    model = parse(entry.kind, text, str(entry.file), _base_of(entry, text))
    if model.name != entry.name:
        raise CatalogError(f'{entry.file}: name is "{model.name}"; a file and its entry need the same name')
    return model


def load_system(name: str) -> System:
    """Returns a test bench by name. Raises as `read`."""
    return cast("System", read(find("systems", name)))


def _base_of(entry: Entry, text: str) -> str:
    """Returns the file of the device that an entry is a variant of; empty for one that stands by itself.

    What is written about the base's misses is not true of its variants, so `[twin.reasons]` and `[[twin.missed]]` stay
    behind. Raises CatalogError where that file is wrong.
    """
    named = _VARIANT.search(text) if entry.kind == "devices" else None
    if named is None:
        return ""
    found = find("devices", named["base"])
    base = found.text()
    if _VARIANT.search(base):
        raise CatalogError(
            f"{entry.file}: {named['base']} is a variant itself; name the device that it is of"
        )
    read(found)  # A wrong file is named by its own path.
    return _OF_MISSES.split(base)[0]
