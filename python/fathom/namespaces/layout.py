"""Bytes of Namespace Management and Attachment: what a namespace is made from, lists of controllers, placement handles.

Pure: bytes in, facts out, and back. Layouts: NVM Express base 2.0 with TP4146 (FDP), as `struct
nvme_ns_mgmt_host_sw_specified`, `nvme_id_ns`, `nvme_ctrl_list`, `nvme_fdp_ruhu_log` and `nvme_fdp_ruh_status` of
libnvme have them. Numbers are little-endian.
"""

from dataclasses import dataclass

from fathom.targets.capabilities import IDENTIFY_BYTES

MOST_HANDLES = 128
"""Placement handles that one namespace can have."""
HANDLE_USAGE_HEADER, HANDLE_USAGE_BYTES = 8, 8
HANDLE_STATUS_HEADER, HANDLE_STATUS_BYTES = 16, 32
GRANULARITIES_AT, GRANULARITY_BYTES = 32, 16


@dataclass(frozen=True, slots=True)
class Definition:
    """What a namespace is created from. Fields of Identify Namespace and of the command have the same places.

    Sizes are in logical blocks. `handles` are the reclaim unit handles behind the placement handles, in their order.
    """

    size_blocks: int
    capacity_blocks: int
    block_format: int
    """FLBAS: the number of the format, and where its metadata are."""
    protection: int
    sharing: int
    """NMIC: bit 0 lets several controllers have it."""
    nvm_set: int
    endurance_group: int
    ana_group: int = 0
    storage_tag_mask: int = 0
    handles: tuple[int, ...] = ()

    @property
    def format_number(self) -> int:
        """The format's place in the table of formats."""
        return self.block_format & 0xF | (self.block_format >> 5 & 3) << 4

    def describes(self, other: "Definition") -> bool:
        """Returns whether a namespace with the facts of `other` can have been made from this."""
        return (self.size_blocks, self.block_format, self.protection) == (
            other.size_blocks,
            other.block_format,
            other.protection,
        )


def parse_definition(identify: bytes) -> Definition | None:
    """Returns what Identify Namespace says; None where it is too short, or where there is no such namespace."""
    if len(identify) < IDENTIFY_BYTES or not _number(identify, 0, 8):
        return None
    return Definition(
        size_blocks=_number(identify, 0, 8),
        capacity_blocks=_number(identify, 8, 8),
        block_format=identify[26],
        protection=identify[29],
        sharing=identify[30],
        ana_group=_number(identify, 92, 4),
        nvm_set=_number(identify, 100, 2),
        endurance_group=_number(identify, 102, 2),
    )


def block_bytes(identify: bytes) -> int:
    """Returns the size of a logical block by Identify Namespace, without metadata."""
    number = identify[26] & 0xF | (identify[26] >> 5 & 3) << 4
    return 1 << identify[128 + 4 * number + 2]


def creation_data(one: Definition) -> bytes:
    """Returns the data of Namespace Management, create."""
    data = bytearray(IDENTIFY_BYTES)
    _put(data, 0, one.size_blocks, 8)
    _put(data, 8, one.capacity_blocks, 8)
    data[26], data[29], data[30] = one.block_format, one.protection, one.sharing
    _put(data, 92, one.ana_group, 4)
    _put(data, 100, one.nvm_set, 2)
    _put(data, 102, one.endurance_group, 2)
    _put(data, 384, one.storage_tag_mask, 8)
    _put(data, 392, len(one.handles), 2)
    for place, handle in enumerate(one.handles):
        _put(data, 512 + 2 * place, handle, 2)
    return bytes(data)


def controller_list(controllers: tuple[int, ...]) -> bytes:
    """Returns the data of Namespace Attachment: a count, then the identifiers in order."""
    data = bytearray(IDENTIFY_BYTES)
    for place, number in enumerate((len(controllers), *sorted(controllers))):
        _put(data, 2 * place, number, 2)
    return bytes(data)


def parse_controller_list(data: bytes) -> tuple[int, ...]:
    """Returns the identifiers of a controller list."""
    count = min(_number(data, 0, 2), len(data) // 2 - 1)
    return tuple(_number(data, 2 + 2 * place, 2) for place in range(count))


def unused_handles(log: bytes) -> tuple[int, ...]:
    """Returns the reclaim unit handles that no namespace has, by log 21h."""
    count = min(_number(log, 0, 2), max(0, len(log) - HANDLE_USAGE_HEADER) // HANDLE_USAGE_BYTES)
    return tuple(
        number for number in range(count) if not log[HANDLE_USAGE_HEADER + HANDLE_USAGE_BYTES * number] & 3
    )


def handle_status_bytes(header: bytes) -> int:
    """Returns the size of a whole handle status, by its header."""
    return HANDLE_STATUS_HEADER + HANDLE_STATUS_BYTES * _number(header, 14, 2)


def handles_of(status: bytes) -> tuple[int, ...]:
    """Returns the reclaim unit handles of a namespace, each once, in the order of its placement handles."""
    count = min(_number(status, 14, 2), max(0, len(status) - HANDLE_STATUS_HEADER) // HANDLE_STATUS_BYTES)
    starts = (HANDLE_STATUS_HEADER + HANDLE_STATUS_BYTES * place for place in range(count))
    # With several reclaim groups a handle has an entry for each of them.
    return tuple(dict.fromkeys(_number(status, at + 2, 2) for at in starts))


def granularity_bytes(listed: bytes, format_number: int) -> int:
    """Returns the multiple that the drive prefers for sizes of a format, by CNS 16h; 0 where it states none."""
    place = format_number if listed[0] & 1 else 0
    if place > listed[4]:
        return 0
    at = GRANULARITIES_AT + GRANULARITY_BYTES * place
    return max(_number(listed, at, 8), _number(listed, at + 8, 8))


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _put(data: bytearray, at: int, value: int, size: int) -> None:
    data[at : at + size] = value.to_bytes(size, "little")
