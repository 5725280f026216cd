"""What an NVMe drive says that it can do: erasure, protection, power states, placement, namespaces, self-encryption.

Pure: bytes in, facts out; a structure that is too short gives nothing. Layouts: NVM Express base 2.0 with TP4146 (FDP),
NVM command set 1.0, TCG Storage Architecture Core 2.01 (level 0 discovery, numbers big-endian there, little-endian
elsewhere).
"""

from dataclasses import dataclass
from enum import StrEnum

IDENTIFY_BYTES = 4096
POWER_STATES_AT, POWER_STATE_BYTES, POWER_STATES_MOST = 2048, 32, 32
DISCOVERY_HEADER_BYTES = 48
FDP_HEADER_BYTES, FDP_LEAST_BYTES = 16, 64


class Erasure(StrEnum):
    """A way to erase all data of a drive."""

    FORMAT = "format"
    FORMAT_CRYPTO = "format, cryptographic"
    SANITIZE_BLOCK = "sanitize, block erase"
    SANITIZE_CRYPTO = "sanitize, cryptographic"
    SANITIZE_OVERWRITE = "sanitize, overwrite"


@dataclass(frozen=True, slots=True)
class PowerState:
    """One power state; `most_w` None where it is not stated. Latencies in us, to enter and to leave."""

    number: int
    most_w: float | None
    idle_w: float | None
    active_w: float | None
    enter_us: int
    leave_us: int
    operational: bool


@dataclass(frozen=True, slots=True)
class Controller:
    """Identify Controller, as far as it is about capabilities."""

    nvme_version: str
    namespaces_most: int
    capacity_bytes: int
    unallocated_bytes: int
    """Part of the capacity that no namespace has; known only where namespaces can be made."""
    volatile_cache: bool
    manages_namespaces: bool
    lists_effects: bool
    """Whether log 05h lists the commands that it takes."""
    takes_security_commands: bool
    has_fdp: bool
    erasures: tuple[Erasure, ...]
    power_states: tuple[PowerState, ...]


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """A format of logical blocks, in bytes."""

    block_bytes: int
    metadata_bytes: int
    in_use: bool


@dataclass(frozen=True, slots=True)
class Namespace:
    """Identify Namespace. Protection information types are 1 to 3; `protection_type` 0 is off."""

    formats: tuple[BlockFormat, ...]
    protection_types: tuple[int, ...]
    protection_type: int
    endurance_group: int


@dataclass(frozen=True, slots=True)
class FdpConfiguration:
    """One configuration of flexible data placement; `unit_bytes` is the nominal size of a reclaim unit."""

    reclaim_groups: int
    handles: int
    namespaces_most: int
    unit_bytes: int
    valid: bool


@dataclass(frozen=True, slots=True)
class SelfEncryption:
    """TCG level 0 discovery: classes of storage security, and the state of locking."""

    classes: tuple[str, ...]
    encrypts: bool
    locking_enabled: bool
    locked: bool


CLASSES = {
    0x0100: "Enterprise",
    0x0200: "Opal 1",
    0x0203: "Opal 2",
    0x0301: "Opalite",
    0x0302: "Pyrite 1",
    0x0303: "Pyrite 2",
    0x0304: "Ruby",
    0x0305: "Key per I/O",
}
LOCKING = 0x0002


def takes_command(effects: bytes, opcode: int) -> bool:
    """Returns whether log 05h lists an admin command as supported."""
    return bool(_number(effects, 4 * opcode, 4) & 1)


def parse_controller(data: bytes) -> Controller | None:
    """Returns the capabilities of Identify Controller; None where it is too short."""
    if len(data) < IDENTIFY_BYTES:
        return None
    version, optional = _number(data, 80, 4), _number(data, 256, 2)
    return Controller(
        nvme_version=f"{version >> 16}.{version >> 8 & 0xFF}" if version else "",
        namespaces_most=_number(data, 516, 4),
        capacity_bytes=_number(data, 280, 16),
        unallocated_bytes=_number(data, 296, 16),
        volatile_cache=bool(data[525] & 1),
        manages_namespaces=bool(optional & 1 << 3),
        lists_effects=bool(data[261] & 1 << 1),
        takes_security_commands=bool(optional & 1),
        has_fdp=bool(_number(data, 96, 4) & 1 << 19),
        erasures=tuple(_erasures(optional, data[524], _number(data, 328, 4))),
        power_states=tuple(
            _power_state(data, number) for number in range(min(data[263] + 1, POWER_STATES_MOST))
        ),
    )


def _erasures(optional: int, of_format: int, of_sanitize: int) -> list[Erasure]:
    formats = bool(optional & 1 << 1)
    stated = (
        (Erasure.FORMAT, formats),
        (Erasure.FORMAT_CRYPTO, formats and bool(of_format & 1 << 2)),
        (Erasure.SANITIZE_BLOCK, bool(of_sanitize & 1 << 1)),
        (Erasure.SANITIZE_CRYPTO, bool(of_sanitize & 1)),
        (Erasure.SANITIZE_OVERWRITE, bool(of_sanitize & 1 << 2)),
    )
    return [erasure for erasure, offered in stated if offered]


def _power_state(data: bytes, number: int) -> PowerState:
    at = POWER_STATES_AT + POWER_STATE_BYTES * number
    flags = data[at + 3]
    most = _number(data, at, 2) * (1e-4 if flags & 1 else 1e-2)
    return PowerState(
        number=number,
        most_w=most or None,
        idle_w=_watts(_number(data, at + 16, 2), data[at + 18] >> 6),
        active_w=_watts(_number(data, at + 20, 2), data[at + 22] >> 6),
        enter_us=_number(data, at + 4, 4),
        leave_us=_number(data, at + 8, 4),
        operational=not flags & 1 << 1,
    )


def _watts(value: int, scale: int) -> float | None:
    """Returns watts by their scale: 1 is 0.1 mW, 2 is 10 mW, 0 is not stated."""
    return {1: value * 1e-4, 2: value * 1e-2}.get(scale) if value else None


def parse_namespace(data: bytes) -> Namespace | None:
    """Returns formats and protection of Identify Namespace; None where it is too short."""
    if len(data) < IDENTIFY_BYTES:
        return None
    used = data[26] & 0xF | (data[26] >> 5 & 3) << 4
    formats = [
        BlockFormat(1 << data[at + 2], _number(data, at, 2), number == used)
        for number in range(min(data[25] + 1, 64))
        if 9 <= data[(at := 128 + 4 * number) + 2] < 32
    ]
    return Namespace(
        formats=tuple(formats),
        protection_types=tuple(kind for kind in (1, 2, 3) if data[28] & 1 << kind - 1),
        protection_type=data[29] & 7,
        endurance_group=_number(data, 102, 2),
    )


def parse_namespace_list(data: bytes) -> tuple[int, ...]:
    """Returns the identifiers of a namespace list, which ends with the first zero."""
    found: list[int] = []
    for at in range(0, len(data) - 3, 4):
        number = _number(data, at, 4)
        if not number:
            break
        found.append(number)
    return tuple(found)


def parse_fdp_configurations(log: bytes) -> tuple[FdpConfiguration, ...]:
    """Returns the configurations of log 20h that are there in whole."""
    if len(log) < FDP_HEADER_BYTES:
        return ()
    found: list[FdpConfiguration] = []
    at = FDP_HEADER_BYTES
    for _ in range(_number(log, 0, 2) + 1):
        size = _number(log, at, 2)
        if size < FDP_LEAST_BYTES or at + size > len(log):
            break
        found.append(
            FdpConfiguration(
                reclaim_groups=_number(log, at + 4, 4),
                handles=_number(log, at + 8, 2),
                namespaces_most=_number(log, at + 12, 4),
                unit_bytes=_number(log, at + 16, 8),
                valid=bool(log[at + 2] & 1 << 7),
            )
        )
        at += size
    return tuple(found)


def parse_discovery(data: bytes) -> SelfEncryption | None:
    """Returns what level 0 discovery says; None where nothing does."""
    if len(data) < DISCOVERY_HEADER_BYTES:
        return None
    end = min(len(data), int.from_bytes(data[:4], "big") + 4)
    classes: list[str] = []
    locking = 0
    at = DISCOVERY_HEADER_BYTES
    while at + 4 <= end:
        code, size = int.from_bytes(data[at : at + 2], "big"), data[at + 3]
        if code in CLASSES:
            classes.append(CLASSES[code])
        if code == LOCKING and size and at + 4 < end:
            locking = data[at + 4]
        at += 4 + size
    if not classes and not locking:
        return None
    return SelfEncryption(
        tuple(classes), bool(locking & 1 << 3), bool(locking & 1 << 1), bool(locking & 1 << 2)
    )


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
