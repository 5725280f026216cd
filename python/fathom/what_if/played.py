"""What a page plays with: a drive or a system of the catalogue, as the page's script takes it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

from fathom import _core
from fathom.catalog import CatalogError, load_device
from fathom.catalog.models import Device
from fathom.catalog.settings import MARK
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import UsageError
from fathom.method.method import Method
from fathom.statistics.limits import NAMES_OF_LOADS, STANDS_OUT, LimitKind
from fathom.what_if import ssd_sliders, system_sliders
from fathom.what_if.choice import Parameters, Slider, can_be
from fathom.what_if.steps import SEED, of_drives, of_systems, steps

if TYPE_CHECKING:
    from pydantic import JsonValue

PREFIX = "twin:"
ONLY = "only twins of single SSDs without zones and of systems can be played with"
ALONE = "see `fathom catalog --kind devices`"
IN_FLIGHT = {"fabric": "in flight per host", "cluster": "in flight per client"}
"""What a point of the curve has, by the kind of a system; of others simply in flight."""
LEVEL_OF_DRIVES, LEVEL_OF_SYSTEMS = 0.05, 0.08
"""More than a rate of the methods' short windows was off that of longer ones, with blocks of 4 KiB."""


SETTLED: Parameters = {"settled_share": 1.0}
"""What an SSD begins with at first."""


@dataclass(frozen=True)
class Played:
    """A twin with its sliders.

    `noun` is what the page calls it. `in_flight` is what a depth counts. `hosts` have the job's threads, each. A
    difference below `level` may be that of short windows.
    """

    target: str
    noun: str
    in_flight: str
    parameters: Parameters
    hosts: int
    method: Method
    level: float
    sliders: Sequence[Slider]

    def in_page(self) -> "dict[str, JsonValue]":
        """Returns what the page's script reads, without the command."""
        return {
            "noun": self.noun,
            "inFlight": self.in_flight,
            "parameters": self.parameters,
            "hosts": self.hosts,
            "level": self.level,
            "limits": {
                "names": {kind.value: name for kind, name in NAMES_OF_LOADS.items()},
                "queue": LimitKind.QUEUE.value,
                "standsOut": STANDS_OUT,
            },
            "seed": str(SEED),
            "steps": cast("JsonValue", steps(self.method)),
            "sliders": [_in_page(slider) for slider in self.sliders],
        }


def played(target: str) -> Played:
    """Returns what a target such as `twin:NAME?op=0.28` is to a page.

    Raises UsageError for what is no twin of a single SSD or a system, and for an SSD that cannot begin settled.
    """
    name = target.removeprefix(PREFIX)
    if name == target or any(mark in name.partition(MARK)[0] for mark in "*#/"):
        raise UsageError(
            f"{target}: not a single virtual drive or system", "name one, such as twin:samsung-pm9a3-7.68tb"
        )
    device = load_device(name)
    kind = device.twin.kind if device.twin else None
    try:
        fits = kind is not None and _fits(load_device(name.partition(MARK)[0]))
    except (_core.ParseError, _core.BackendError) as error:
        raise UsageError(f"{target}: {error}", "give another value") from error
    if kind is None or not fits:
        raise UsageError(f"{target}: {ONLY}", ALONE)
    return _drive(target, device) if kind == "ssd" else _system(target, name, device, kind)


def can_be_played(device: Device) -> bool:
    """Returns whether there is a page to play with a device of the catalogue: a single SSD that can begin settled, or a
    system. There is none of a drive whose file has values that the model does not take.
    """
    try:
        return _fits(device)
    except (CatalogError, _core.ParseError, _core.BackendError):
        return False


def _fits(device: Device) -> bool:
    kind = device.twin.kind if device.twin else None
    return device.is_system or (kind == "ssd" and can_be(_of_ssd(device) | SETTLED))


def _drive(target: str, device: Device) -> Played:
    method = of_drives()
    parameters = _of_ssd(device)
    _ensure(target, parameters | SETTLED)
    offered = ssd_sliders.sliders(parameters, steps(method))
    return Played(target, "drive", "in flight", parameters, 1, method, LEVEL_OF_DRIVES, offered)


def _of_ssd(device: Device) -> Parameters:
    given = twin_params_json(device, slice_bytes=of_drives().slice_bytes)
    return cast("Parameters", json.loads(_core.ssd_parameters(given))) | {"kind": "ssd"}


def _system(target: str, name: str, device: Device, kind: str) -> Played:
    method = of_systems()
    parameters = cast("Parameters", json.loads(twin_params_json(device)))
    _ensure(target, parameters)
    offered = system_sliders.sliders(name, device, steps(method))
    in_flight = IN_FLIGHT.get(kind, "in flight")
    return Played(target, "system", in_flight, parameters, device.hosts, method, LEVEL_OF_SYSTEMS, offered)


def _ensure(target: str, parameters: Parameters) -> None:
    """Raises UsageError for parameters that the model does not take."""
    try:
        _core.TwinDevice(json.dumps(parameters), SEED)
    except (_core.ParseError, _core.BackendError) as error:
        raise UsageError(f"{target}: {error}", "give another value") from error


def _in_page(slider: Slider) -> "dict[str, JsonValue]":
    """Returns the slider as the script reads it."""
    choices = [
        {key: value for key, value in asdict(choice).items() if value is not None}
        for choice in slider.choices
    ]
    return {
        "key": slider.key,
        "start": slider.start,
        "isLoad": slider.is_load,
        "isStated": slider.is_stated,
        "choices": cast("JsonValue", choices),
    }
