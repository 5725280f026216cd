"""The files of a new drive: its device with every parameter's basis and source, and its ratings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from fathom.catalog.models import Device, Parameter, Published
from fathom.catalog.store import SUFFIX, Kind, is_shipped, user_folders
from fathom.errors import FathomError, RefusedError

FITTED = "calibrated on its data sheet alone"
"""What the head of such a file says of its worth."""
CHECKED = f"{FITTED}; no outside measurement has checked it"
"""What a new drive is worth."""
KINDS: tuple[Kind, Kind] = ("devices", "published")
HIDDEN = {"devices": "is a device", "published": "are published results"}
"""What a name that a new drive would hide is in the catalogue."""


def folder_of(out: Path | None) -> Path:
    """Returns the catalogue's folder to write into: the one given, `$FATHOM_CATALOG`, or `~/.config/fathom`."""
    if out is not None:
        return out
    return user_folders()[0 if os.environ.get("FATHOM_CATALOG") else -1]


def paths_in(folder: Path, name: str) -> tuple[Path, Path]:
    """Returns the paths of the device and of its ratings."""
    return folder / "devices" / (name + SUFFIX), folder / "published" / (name + SUFFIX)


def check_free(paths: tuple[Path, ...], *, force: bool) -> None:
    """Passes where nothing would be overwritten, and no entry that comes with Fathom hidden. Raises RefusedError."""
    for kind, path in zip(KINDS, paths, strict=True):
        if is_shipped(kind, path.name.removesuffix(SUFFIX)) and not force:
            raise RefusedError(
                f"{path.name.removesuffix(SUFFIX)}: {HIDDEN[kind]} of the catalogue already",
                'give the sheet another "name", or --force to hide the catalogue\'s own',
            )
        if path.exists() and not force:
            raise RefusedError(f"{path}: exists", "give --force to overwrite it, or the sheet another name")


def write(device: Device, published: Published, paths: tuple[Path, Path]) -> None:
    """Writes both files, whole or not at all.

    Raises FathomError: a file cannot be written.
    """
    for path, text in zip(paths, (device_toml(device), published_toml(published)), strict=True):
        part = path.with_name(f".{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise FathomError(
                f"{path}: {error.strerror}", "give --out a folder that you may write"
            ) from error


def device_toml(device: Device) -> str:
    """Returns the text of `devices/NAME.toml`."""
    assert device.twin is not None
    page = "disk-twin.md" if device.twin.kind == "disk" else "ssd-twin.md"
    lines = [
        f"# {device.identity.label}: {FITTED}.",
        f"# Made by `fathom new-device`. What each parameter does: docs/explanation/{page}.",
        'schema = "fathom-device/1"',
        f"name = {_toml(device.name)}",
        f"published = {_toml(device.published or device.name)}",
        f"capacity_bytes = {device.capacity_bytes}",
        "",
        "[identity]",
        *_keys(device.identity.model_dump(exclude_none=True)),
        "",
        "[twin]",
        f"kind = {_toml(device.twin.kind)}",
        f"bench = {_toml(device.twin.bench)}",
    ]
    for name, parameter in device.twin.parameters.items():
        lines += ["", f"[twin.parameters.{name}]", *_parameter(parameter)]
    if device.twin.reasons:
        lines += ["", "[twin.reasons]", *_keys(device.twin.reasons)]
    for missed in device.twin.missed:
        lines += ["", "[[twin.missed]]", *_keys(missed.to_dict())]
    return "\n".join(lines) + "\n"


def published_toml(published: Published) -> str:
    """Returns the text of `published/NAME.toml`."""
    identity = published.identity.model_dump(exclude_none=True, exclude_defaults=True)
    lines = [
        "# Ratings of a data sheet; nobody's measurements.",
        'schema = "fathom-published/1"',
        f"name = {_toml(published.name)}",
        "",
        "[identity]",
        *_keys(identity),
    ]
    for row in published.ratings:
        stated = row.model_dump(exclude_none=True, exclude_defaults=True)
        source = stated.pop("source")
        inline = ", ".join(f"{key} = {_toml(value)}" for key, value in stated.items())
        lines += ["", "[[spec]]", f"source = {_toml(source)}", "rows = [", f"  {{ {inline} }},", "]"]
    return "\n".join(lines) + "\n"


def sheet_toml(answers: Mapping[str, object]) -> str:
    """Returns a data sheet's text, to keep what was answered at a terminal."""
    return "\n".join(_keys(answers)) + "\n"


def _parameter(parameter: Parameter) -> list[str]:
    """Returns its lines. A value keeps its kind: 50.0 is no count."""
    value = repr(parameter.value) if type(parameter.value) is float else _toml(parameter.value)
    rest = parameter.model_dump(exclude_none=True, exclude={"value"})
    return [f"value = {value}", *_keys(rest)]


def _keys(values: Mapping[str, object]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in values.items()]


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)
