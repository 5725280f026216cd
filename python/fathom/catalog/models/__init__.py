"""What a catalogue file may say: schemas `fathom-device/1`, `fathom-system/1` and `fathom-published/1`.

Strict: an unknown key, a number written as text or a value outside its set is refused. Units are the last
part of a key; an absent key means that the source does not say. Methods have theirs in crate `workload`.
"""

from fathom.catalog.models.base import Key, Name, Parameter, Positive, Text
from fathom.catalog.models.device import Device, DeviceIdentity, MissedRating, TwinModel
from fathom.catalog.models.machine import Machine, MachineRole
from fathom.catalog.models.published import (
    UNEXPLAINED_PCT,
    Part,
    PartGroup,
    ProductIdentity,
    Published,
    PublishedRow,
    SpecRow,
)
from fathom.catalog.models.system import System

__all__ = [
    "MODELS",
    "UNEXPLAINED_PCT",
    "Device",
    "DeviceIdentity",
    "Key",
    "Machine",
    "MachineRole",
    "MissedRating",
    "Name",
    "Parameter",
    "Part",
    "PartGroup",
    "Positive",
    "ProductIdentity",
    "Published",
    "PublishedRow",
    "SpecRow",
    "System",
    "Text",
    "TwinModel",
]

MODELS: dict[str, type[Device | System | Published]] = {
    "devices": Device,
    "systems": System,
    "published": Published,
}
