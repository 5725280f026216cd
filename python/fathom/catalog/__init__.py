"""The catalogue: devices, systems, published results and methods, each a TOML file to read, copy and add to.

The public functions; their terminal views are in `fathom.catalog.terminal`. Importing this package imports only the
standard library. The first load brings in pydantic, tomllib and the files.
"""

from fathom.catalog.load import (
    device_names,
    entry_json,
    entry_text,
    json_schema,
    load_device,
    load_published,
    method_names,
    method_text,
    published_for,
)
from fathom.catalog.read import load_system
from fathom.catalog.store import KINDS, CatalogError, Entry, Kind, UnknownEntryError, entries, find

__all__ = [
    "KINDS",
    "CatalogError",
    "Entry",
    "Kind",
    "UnknownEntryError",
    "device_names",
    "entries",
    "entry_json",
    "entry_text",
    "find",
    "json_schema",
    "load_device",
    "load_published",
    "load_system",
    "method_names",
    "method_text",
    "published_for",
]
