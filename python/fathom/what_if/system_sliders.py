"""The sliders of a system: its hosts, links, servers and drives, with what sets them on a command line.

What a value changes is read off the device that the setting makes, so that the page simulates what the command does.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from fathom.catalog import load_device
from fathom.catalog.models import Device
from fathom.catalog.models.base import values_of
from fathom.catalog.settings import ALL_MEMBERS, COUNT, joined, split
from fathom.catalog.twin_params import twin_params_json
from fathom.method.job import job_of
from fathom.what_if.choice import (
    Choice,
    Number,
    Parameters,
    Slider,
    block_slider,
    can_be,
    depth_slider,
    mix_slider,
)

if TYPE_CHECKING:
    from pydantic import JsonValue

HOSTS, CONTROLLER, SERVERS, DRIVES = "Hosts and links", "Controller", "Servers", "Drives"
"""Groups of sliders after the load."""
START_DEPTH = 128
"""What most results of systems are published with, per host, or near it."""
SPARE = "over_provisioning"


@dataclass(frozen=True)
class _Part:
    """A parameter that has a slider: the values offered beside its own, and how they are written."""

    parameter: str
    name: str
    group: str
    hint: str
    values: Sequence[Number]
    label: Callable[[Number], str]


def _many(one: str, more: str) -> Callable[[Number], str]:
    return lambda value: f"{value:,} {one if value == 1 else more}"


def _gbps(value: Number) -> str:
    return f"{value:g} Gbit/s"


def _percent(value: Number) -> str:
    return f"{100 * value:.3g} %"


def _mbps(value: Number) -> str:
    return f"{value / 1000:.4g} GB/s"


RATES_GBPS = (10, 25, 50, 100, 200, 400, 800)
_SPARE = _Part(
    SPARE,
    "Over-provisioning",
    DRIVES,
    "Flash beyond the capacity, which cleaning works with.",
    (0.07, 0.127, 0.2, 0.28, 0.352, 0.5, 1.0),
    _percent,
)
_PARTS: Mapping[str, Sequence[_Part]] = {
    "fabric": (
        _Part(
            "hosts",
            "Hosts",
            HOSTS,
            "Each has a network port and the load of all sliders above.",
            (1, 2, 3, 4, 5, 6, 8, 10, 12, 16),
            _many("host", "hosts"),
        ),
        _Part("host_nic_gbps", "Port of a host", HOSTS, "Rate of its network port.", RATES_GBPS, _gbps),
        _Part(
            "ports",
            "Ports of the controller",
            CONTROLLER,
            "Hosts come in over them.",
            (1, 2, 4, 6, 8),
            _many("port", "ports"),
        ),
        _Part("port_gbps", "Rate of a port", CONTROLLER, "Each way.", RATES_GBPS, _gbps),
        _Part(
            "pipelines",
            "Command pipelines",
            CONTROLLER,
            "Commands that the controller works on at once.",
            (1, 2, 4, 8, 16),
            _many("pipeline", "pipelines"),
        ),
        _Part(
            "link_mbps",
            "Link to the drives",
            CONTROLLER,
            "Between controller and drives, each way.",
            (1800, 3600, 7200, 10_000, 14_450, 20_000, 28_900, 57_800),
            _mbps,
        ),
    ),
    "cluster": (
        _Part(
            "clients",
            "Clients",
            HOSTS,
            "Each has a mount, a network port and the load of all sliders above.",
            (1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24),
            _many("client", "clients"),
        ),
        _Part("nic_gbps", "Network port", HOSTS, "Rate of a port of clients and servers.", RATES_GBPS, _gbps),
        _Part(
            "servers",
            "Servers",
            SERVERS,
            "The drives are shared out among them.",
            (4, 5, 6, 7, 8, 10, 12, 16),
            _many("server", "servers"),
        ),
        _Part(
            "server_cores",
            "Cores of a server",
            SERVERS,
            "Those that the file system has.",
            (4, 8, 12, 16, 19, 24, 32, 38, 48, 64),
            _many("core", "cores"),
        ),
        _Part(
            "server_nics",
            "Ports of a server",
            SERVERS,
            "Network ports of each server.",
            (1, 2, 4),
            _many("port", "ports"),
        ),
    ),
}
DRIVES_OF_A_KIND = (1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 36, 48, 60, 72, 96)


def sliders(name: str, device: Device, steps: "Sequence[dict[str, JsonValue]]") -> list[Slider]:
    """Returns the sliders for a system by its name in the catalogue, with or without settings, and the page's steps."""
    assert device.twin is not None
    kind, values = device.twin.kind, values_of(device.twin.parameters)
    named = {"fabric": " of each host", "cluster": " of each client"}.get(kind, "")
    hint = f"In flight{named}: which point of the curve the figures are of."
    load = [
        mix_slider(job_of(steps[-1])),
        replace(block_slider(), is_stated=True),
        depth_slider(steps, START_DEPTH, hint),
    ]
    made = _Made(name, device)
    parts = [made.slider(part.parameter, part, values[part.parameter]) for part in _PARTS[kind]]
    return [*load, *parts, *_of_drives(made, device)]


def _of_drives(made: "_Made", device: Device) -> Iterator[Slider]:
    """Yields a slider for the number of drives of each kind, and one for their spare space."""
    assert device.twin is not None
    own: set[Number] = set()
    for full, count in device.twin.members.items():
        member = load_device(full)
        assert member.twin is not None
        own.add(float(member.twin.parameters[SPARE].value))
        part = _Part(
            COUNT,
            member.identity.label,
            DRIVES,
            "How many there are. The address space stays as it is, and is shared out among all drives.",
            DRIVES_OF_A_KIND,
            _many("drive", "drives"),
        )
        yield made.slider(f"{split(full)[0]}.{COUNT}", part, count)
    if len(own) == 1:
        yield made.slider(f"{ALL_MEMBERS}.{SPARE}", _SPARE, own.pop())


class _Made:
    """Makes the choices of one system."""

    def __init__(self, name: str, device: Device) -> None:
        self._name, self._hosts = name, device.hosts
        self._base = dict(_leaves(json.loads(twin_params_json(device))))

    def slider(self, key: str, part: _Part, own: bool | Number | str) -> Slider:
        """Returns the slider of what `key` sets, over the values that the model takes."""
        assert isinstance(own, int | float)
        written = type(own)
        made = [
            (value, self._choice(key, value, part)) for value in sorted({own, *map(written, part.values)})
        ]
        choices = [(value, choice) for value, choice in made if choice is not None]
        start = [value for value, _ in choices].index(own)
        return Slider(key, part.name, part.group, part.hint, [choice for _, choice in choices], start)

    def _choice(self, key: str, value: Number, part: _Part) -> Choice | None:
        """Returns what setting the value does to the twin; None where the model does not take it."""
        setting = f"{key}={value!r}"
        device = load_device(joined(self._name, setting))
        parameters = cast("Parameters", json.loads(twin_params_json(device)))
        if not can_be(_with_one_drive_of_each_kind(parameters)):
            return None
        changed = {path: leaf for path, leaf in _leaves(parameters) if self._base[path] != leaf}
        hosts = device.hosts if device.hosts != self._hosts else None
        return Choice(part.label(value), (setting,), changed, hosts=hosts)


def _with_one_drive_of_each_kind(parameters: Parameters) -> Parameters:
    """Returns a system that is made faster, of the same parameters otherwise."""
    kinds = cast("list[dict[str, JsonValue]]", parameters["drives"])
    alone = [{**kind, "count": 1} for kind in kinds]
    return {**parameters, "drives": cast("JsonValue", alone)}


def _leaves(document: "JsonValue", path: str = "") -> "Iterator[tuple[str, JsonValue]]":
    """Yields every plain value of a document with the keys that lead to it, joined by dots."""
    match document:
        case dict():
            inner = list(document.items())
        case list():
            inner = [(str(place), one) for place, one in enumerate(document)]
        case _:
            yield path, document
            return
    for key, value in inner:
        yield from _leaves(value, f"{path}.{key}" if path else key)
