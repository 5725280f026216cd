"""Loads catalogue entries by name, and finds the published results of a workload on a device."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from fathom.catalog.read import read
from fathom.catalog.settings import MARK, altered, split
from fathom.catalog.store import KINDS, CatalogError, Entry, Kind, UnknownEntryError, entries, find, nearest

if TYPE_CHECKING:
    from fathom.catalog.models import Device, Published, PublishedRow, SpecRow

DOCUMENT_SCHEMA = "fathom-catalog/1"
CAPACITY_TOLERANCE = 0.02
_FORM = re.compile(r"E[13]\.[SL]|M\.2")


def device_names() -> list[str]:
    """Returns the names that `twin:NAME` and `fathom catalog show` take."""
    return [entry.name for entry in entries("devices")]


def method_names() -> list[str]:
    """Returns the names of the built-in methods and the user's."""
    return [entry.name for entry in entries("methods")]


def load_device(name: str) -> Device:
    """Returns a device by name; with `NAME?KEY=VALUE,...` one whose twin has those parameters
    (`fathom.catalog.settings`).

    Raises:
        CatalogError: no such device or parameter, or its file is wrong; the text says where and what to do.
    """
    plain, settings = split(name)
    device = cast("Device", read(find("devices", plain)))
    if plain == name:
        return device
    device = altered(device, settings)
    for member in device.twin.members if device.twin else ():
        if MARK in member:
            load_device(member)  # This refuses what a drive of the system does not take.
    return device


def load_published(name: str) -> Published:
    """Returns data sheet and published results of a product or system. Raises as `load_device`."""
    return _with_others(name, ())


def _with_others(name: str, within: tuple[str, ...]) -> Published:
    """Returns the published results of a name, which the files `within` name one after the other."""
    entry = find("published", name)
    published = cast("Published", read(entry))
    if name in within:
        raise CatalogError(f"{entry.file}: results_in leads back to this file; take a name out of it")
    found = (_with_others(other, (*within, name)).published for other in published.results_in)
    others = [group for groups in found for group in groups]
    return published.model_copy(update={"published": (*published.published, *others)})


def method_text(name: str) -> str:
    """Returns a method's TOML, verbatim, to be parsed by the `workload` crate or copied. Raises as `load_device`."""
    return find("methods", name).text()


def published_for(
    device_name: str, workload: str, *, op: str | None = None, iodepth: int | None = None
) -> list[PublishedRow]:
    """Returns the published results of a workload on a device, best first; an empty list when there are none.

    The measured come before the context rows, the certain before the uncertain, then the file's order. Rows of
    another capacity are another device's.

    Args:
        device_name: a device of the catalogue.
        workload: published name, such as `fio-4k-rand-read`.
        op: `read` or `write` for one half of a mixed run; None for all of it.
        iodepth: as published; None for any.

    Raises:
        CatalogError: no such device, or a file is wrong.
    """
    device = load_device(device_name)
    if device.published is None:
        return []
    rows = [
        row
        for row in load_published(device.published).rows
        if row.workload == workload
        and row.op == op
        and (iodepth is None or row.iodepth == iodepth)
        and is_about(row, device)
    ]
    return sorted(rows, key=lambda row: (row.role == "context", row.uncertain))


def ratings_about(device: Device, published: Published | None) -> list[SpecRow]:
    """Returns the data sheet's ratings of one such device; none without a data sheet."""
    return [row for row in published.ratings if is_about(row, device)] if published else []


def rows_about(device: Device, published: Published | None) -> list[PublishedRow]:
    """Returns the published results of one such device; none where nothing is published."""
    return [row for row in published.rows if is_about(row, device)] if published else []


def is_about(row: PublishedRow | SpecRow, device: Device) -> bool:
    """Returns whether a row's subject is one such device: the same capacity and form, or none stated, and not several
    at once.
    """
    if getattr(row, "units", None) not in (None, 1):
        return False
    if row.form_factor and _form(row.form_factor) != _form(device.identity.form_factor):
        return False
    return (
        row.capacity_gb is None
        or abs(row.capacity_gb * 1e9 / device.capacity_bytes - 1) <= CAPACITY_TOLERANCE
    )


def _form(form_factor: str | None) -> str:
    """Returns the family of a form factor: `E1.S` or another of EDSFF or M.2; empty for the rest, 2.5 inch."""
    named = _FORM.search(form_factor or "")
    return named[0] if named else ""


def entry_json(name: str) -> dict[str, object]:
    """Returns everything in the catalogue under a name: `{"schema": "fathom-catalog/1", "name", "devices": ...}`.

    A device comes with its published results; a method is its parsed TOML.

    Raises:
        CatalogError: no entry of that name, or its file is wrong.
    """
    import tomllib

    document: dict[str, object] = {"schema": DOCUMENT_SCHEMA, "name": name}
    for entry in named(name):
        document[entry.kind] = (
            tomllib.loads(entry.text()) if entry.kind == "methods" else read(entry).to_dict()
        )
        if entry.kind == "devices" and (published := load_device(name).published):
            document["published"] = load_published(published).to_dict()
    return document


def entry_text(name: str) -> str:
    """Returns the TOML of the entry of that name, verbatim: the device's, where published results share its name.

    Raises:
        CatalogError: no entry of that name, or its file cannot be read.
    """
    return named(name)[0].text()


def named(name: str) -> list[Entry]:
    """Returns the entries of every kind that have this name, at least one.

    Raises:
        UnknownEntryError: there is none.
    """
    everything = [entry for kind in KINDS for entry in entries(kind)]
    if not (found := [entry for entry in everything if entry.name == name]):
        near = nearest(name, sorted({entry.name for entry in everything}))
        raise UnknownEntryError(
            f'nothing in the catalogue is called "{name}"; {near}`fathom catalog` lists all'
        )
    return found


def json_schema(kind: Kind) -> dict[str, object]:
    """Returns the JSON Schema for files of that kind; the schema of methods is in crate `workload`.

    Raises:
        CatalogError: no schema for that kind.
    """
    from fathom.catalog.models import MODELS

    if kind not in MODELS:
        raise CatalogError(f"no JSON Schema for {kind}; there is one for {', '.join(MODELS)}")
    schema = MODELS[kind].model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
