"""Methods as files of other programs, and those as methods."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fathom.api.options import checked_size_bytes
from fathom.imports.named import method_named


class Translated(NamedTuple):
    """A file in another program's language."""

    text: str
    notes: list[str]
    """What differs from the original, or is left out."""


def import_method(
    file: str | Path, *, name: str | None = None, values: Mapping[str, str] | None = None
) -> Translated:
    """Returns a file of fio or Vdbench as the text of a method, and notes on what differs, as `fathom import` does.

    `run` takes the text. `values` stand for `${NAME}` and `$NAME` of the file. Raises UsageError for a line without a
    counterpart.
    """
    from fathom import imports
    from fathom.imports.variables import variables_of

    variables = variables_of([f"{key}={value}" for key, value in (values or {}).items()])
    return Translated(*imports.import_method(Path(file), name, variables))


def export_method(
    method: str, target: str | None = None, *, quick: bool = False, size_bytes: int | None = None
) -> Translated:
    """Returns a method as a job file of fio, and notes on what differs, as `fathom export` does. Touches nothing.

    Without a target the file reads the environment's `TARGET`. Raises UsageError for a target that fio cannot use.
    """
    from fathom import exports

    found = method_named(method, None, quick=quick)
    text, notes = exports.export_method(found.method, target, checked_size_bytes(size_bytes))
    return Translated(text, [*found.notes, *notes])
