"""A device with other values for some parameters of its twin: what follows `?` in `NAME?channels=8,program_us=900`.
Each value set is an assumption by the user and marked so. Published results do not apply to such a device.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

from fathom.catalog.read import load_system
from fathom.catalog.store import CatalogError, nearest

if TYPE_CHECKING:
    from fathom.catalog.models import Device, Parameter, TwinModel

MARK = "?"
ALL_MEMBERS = "drives"
MEMBER = "member"
"""The setting that takes a whole parameter set of the device's ensemble (`fathom.catalog.ensemble`)."""
COUNT = "count"
"""The setting of a system's drives that is no parameter of theirs: how many there are."""
MOST_DRIVES = 10_000
COUNT_MOST, WIDE_MOST = 2**32 - 1, 2**63 - 1
"""Largest whole number of a parameter, and of one in bytes, as the model keeps them."""
SHORT = {"op": "over_provisioning"}
"""Field words for parameters."""
_SETTING = re.compile(r"(?:(?P<member>[a-z0-9.-]+)\.)?(?P<key>[a-z][a-z0-9_]*)=(?P<value>[^,]+)")


def split(name: str) -> tuple[str, str]:
    """Returns the plain name, and what is set, without the mark."""
    plain, _, settings = name.partition(MARK)
    return plain, settings


def apart(name: str, key: str) -> tuple[str, str | None]:
    """Returns the name without what it sets of a parameter, and the value set last, which holds; None without one."""
    plain, settings = split(name)
    pairs = [text.partition("=") for text in settings.split(",") if text]
    values = [value for own, _, value in pairs if own == key]
    others = ",".join(f"{own}={value}" for own, _, value in pairs if own != key)
    return joined(plain, others), values[-1] if values else None


def joined(name: str, settings: str) -> str:
    """Returns the name with more set, after what it sets already: the last setting of a parameter holds."""
    return f"{name}{',' if MARK in name else MARK}{settings}" if settings else name


def with_settings(target: str, settings: str) -> str:
    """Returns the text of a twin as a target with more set: in front of `*8`, `#3` and `/btrfs`."""
    place = next((i for i, char in enumerate(target) if char in "*#/"), len(target))
    return joined(target[:place], settings) + target[place:]


def altered(device: Device, settings: str) -> Device:
    """Returns the device with parameters set: `key=value,...`, of a system's drives `DEVICE.key=value` or
    `drives.key=value`, and how many of them there are `DEVICE.count=N`.

    Raises:
        CatalogError: a text that is no setting, no such parameter or drive, or a value of another kind.
    """
    if device.twin is None:
        raise CatalogError(f"{device.name} has no twin, so it has no parameter to set")
    twin = device.twin
    for text in settings.split(","):
        if "&" in text:
            joined = text.replace("&", ",")
            raise CatalogError(f'"{text}": join settings with commas, {device.name}{MARK}{joined}')
        form = _SETTING.fullmatch(text)
        if form is None:
            raise CatalogError(f'"{text}" sets nothing; write {device.name}{MARK}PARAMETER=VALUE')
        key = SHORT.get(form["key"], form["key"])
        if key == MEMBER and not form["member"]:
            twin = _of_ensemble(device, twin, form["value"])
        elif form["member"]:
            twin = _with_members(device.name, twin, form["member"], key, form["value"])
        else:
            twin = _with_parameter(device, twin, key, form["value"])
    return device.model_copy(update={"twin": twin, "published": None})


def _of_ensemble(device: Device, twin: TwinModel, text: str) -> TwinModel:
    """Returns the twin with the parameters of a member of its ensemble."""
    from fathom.catalog.ensemble import check_may_have_one, load_ensemble

    if not text.isdecimal():
        raise CatalogError(f"{device.name}: {MEMBER}={text}: expected a whole number, such as 1")
    check_may_have_one(device.name, twin)
    known = dict(twin.parameters)
    for name, value in load_ensemble(device.name).member(int(text)).items():
        if name not in known:
            raise CatalogError(f"{device.name}: its ensemble sets {name}, which its twin no longer has")
        whole = isinstance(known[name].value, int)
        known[name] = known[name].model_copy(
            update={"value": int(value) if whole else value, "basis": "assumed", "source": f"member {text}"}
        )
    return twin.model_copy(update={"parameters": known})


def _with_parameter(device: Device, twin: TwinModel, key: str, text: str) -> TwinModel:
    name = device.name
    known = twin.parameters
    if key not in known:
        known = known | _left_to_the_model(device)
    if key not in known:
        near = nearest(key, [*known])
        raise CatalogError(
            f'{name} has no parameter "{key}"; {near}`fathom catalog show {name}` lists its own'
        )
    old = known[key]
    new = old.model_copy(
        update={"value": _value(name, key, old, text), "basis": "assumed", "source": "set by the user"}
    )
    return twin.model_copy(update={"parameters": twin.parameters | {key: new}})


def _left_to_the_model(device: Device) -> dict[str, Parameter]:
    """Returns the parameters that the model has and the device's file leaves out."""
    from fathom import _core
    from fathom.catalog.models import Parameter

    if device.twin is None or device.twin.kind != "ssd":
        return {}
    given = {**device.own_params, "host": load_system(device.twin.bench).share(1)}
    whole = json.loads(_core.ssd_parameters(json.dumps(given)))
    return {
        key: Parameter(value=value, basis="assumed", source="the model's default")
        for key, value in whole.items()
        if key not in given
    }


def _value(name: str, key: str, old: Parameter, text: str) -> bool | int | float | str:
    """Returns the text as a value of the kind that the parameter has."""
    most = WIDE_MOST if key.endswith("_bytes") else COUNT_MOST
    try:
        match old.value:
            case bool():
                return {"true": True, "false": False}[text]
            case int():
                return _whole(text, most)
            case float():
                return _finite(text)
            case _:
                return text
    except (KeyError, ValueError):
        kind = {bool: "true or false", int: "a whole number, 0 or more", float: "a number"}[type(old.value)]
        if type(old.value) is int and text.isdecimal():
            kind = f"at most {most:,}"
        raise CatalogError(f"{name}: {key}={text}: expected {kind}, such as {old.value}") from None


def _whole(text: str, most: int) -> int:
    number = int(text.replace("_", ""))
    if not 0 <= number <= most:
        raise ValueError(text)
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _with_members(name: str, twin: TwinModel, member: str, key: str, text: str) -> TwinModel:
    """Returns a system with a setting of some of its drives; the drive it is compared with is altered with them."""
    plain = {full: split(full)[0] for full in twin.members}
    if member not in (ALL_MEMBERS, *plain.values()) or not plain:
        raise CatalogError(
            f'{name} has no drive "{member}"; '
            + (
                f"it has {', '.join(plain.values())}, and {ALL_MEMBERS} is all"
                if plain
                else "it is one itself"
            )
        )
    meant = [full for full, one in plain.items() if member in (ALL_MEMBERS, one)]
    if key == COUNT:
        counts = dict(twin.members) | dict.fromkeys(meant, _count(name, member, text))
        return twin.model_copy(update={"members": counts})
    new = {full: joined(full, f"{key}={text}") if full in meant else full for full in plain}
    members = {new[full]: count for full, count in twin.members.items()}
    return twin.model_copy(
        update={"members": members, "baseline": new.get(twin.baseline or "", twin.baseline)}
    )


def _count(name: str, member: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_DRIVES:
        raise CatalogError(
            f"{name}: {member}.{COUNT}={text}: expected a whole number from 1 to {MOST_DRIVES}, such as 24"
        )
    return int(text)
