"""Bytes of Namespace Management and Attachment, against the structures of libnvme."""

import ctypes
from ctypes import sizeof
from pathlib import Path

import pytest
from fake_drive import HostSpecified, IdentifyNamespace

from fathom.namespaces.layout import (
    Definition,
    block_bytes,
    controller_list,
    creation_data,
    granularity_bytes,
    handles_of,
    parse_controller_list,
    parse_definition,
    unused_handles,
)
from fathom.targets import nvme_admin, syscalls
from fathom.targets.capabilities import takes_command

WHOLE = Definition(
    size_blocks=0x1122334455,
    capacity_blocks=0x1122334400,
    block_format=0x31,
    protection=0x9,
    sharing=1,
    ana_group=0x01020304,
    nvm_set=7,
    endurance_group=0x0203,
    storage_tag_mask=0xFF00FF,
    handles=(4, 0x0105, 0),
)


def test_the_data_of_create_are_libnvmes_structure() -> None:
    assert sizeof(HostSpecified) == 4096
    found = HostSpecified.from_buffer_copy(creation_data(WHOLE))
    assert (found.nsze, found.ncap) == (0x1122334455, 0x1122334400)
    assert (found.flbas, found.dps, found.nmic) == (0x31, 0x9, 1)
    assert (found.anagrpid, found.nvmsetid, found.endgid) == (0x01020304, 7, 0x0203)
    assert (found.lbstm, found.nphndls, list(found.phndl[:4])) == (0xFF00FF, 3, [4, 0x0105, 0, 0])
    rest = [name for name, *_ in HostSpecified._fields_ if name.startswith("rsvd")]
    assert not any(any(getattr(found, name)) for name in rest)


def test_identify_namespace_gives_what_the_namespace_is_made_from_again() -> None:
    assert sizeof(IdentifyNamespace) == 4096
    found = IdentifyNamespace(nsze=0x1122334455, ncap=0x1122334400, flbas=0x31, dps=0x9, nmic=1)
    found.anagrpid, found.nvmsetid, found.endgid = 0x01020304, 7, 0x0203
    found.lbaf[17] = 12 << 16
    data = bytes(found)
    one = parse_definition(data)
    assert one
    assert (one.ana_group, one.nvm_set, one.endurance_group, one.format_number) == (0x01020304, 7, 0x0203, 17)
    assert one.describes(WHOLE)
    assert block_bytes(data) == 4096
    assert parse_definition(data[:100]) is None
    assert parse_definition(bytes(4096)) is None


def test_lists_of_controllers_have_their_count_first_and_end_with_the_data() -> None:
    data = controller_list((0x0105, 2))
    assert len(data) == 4096
    assert data[:8] == bytes([2, 0, 2, 0, 5, 1, 0, 0])
    assert parse_controller_list(data) == (2, 0x0105)
    assert parse_controller_list(b"\xff\xff\x01\x00") == (1,)


def test_handles_in_use_are_told_from_unused_ones() -> None:
    log = (4).to_bytes(2, "little") + bytes(6) + b"".join(bytes([one]) + bytes(7) for one in (1, 0, 2, 0))
    assert unused_handles(log) == (1, 3)
    assert unused_handles(log[:24]) == (1,)
    assert unused_handles(b"") == ()


def test_handles_of_a_namespace_are_counted_once_for_all_reclaim_groups() -> None:
    entries = [(0, 5), (1, 2), (0x4000, 5), (0x4001, 2)]
    status = bytearray(14) + len(entries).to_bytes(2, "little")
    for placement, handle in entries:
        status += placement.to_bytes(2, "little") + handle.to_bytes(2, "little") + bytes(28)
    assert handles_of(bytes(status)) == (5, 2)
    assert handles_of(bytes(status[:60])) == (5,)


def test_granularity_is_that_of_the_format_or_the_only_one() -> None:
    listed = bytearray(4096)
    listed[4] = 1
    for place, (size, capacity) in enumerate([(1 << 20, 1 << 21), (1 << 30, 1 << 20)]):
        at = 32 + 16 * place
        listed[at : at + 16] = size.to_bytes(8, "little") + capacity.to_bytes(8, "little")
    assert granularity_bytes(bytes(listed), 1) == 1 << 21
    listed[0] = 1
    assert granularity_bytes(bytes(listed), 1) == 1 << 30
    assert granularity_bytes(bytes(listed), 2) == 0


def test_a_command_is_supported_where_the_log_of_commands_has_its_bit() -> None:
    log = bytearray(4096)
    log[4 * 0x0D] = 1
    assert takes_command(bytes(log), 0x0D)
    assert not takes_command(bytes(log), 0x15)


def test_a_change_goes_to_the_kernel_with_its_data_and_gives_dword_0(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, tuple[int, ...], bytes]] = []

    def ioctl(descriptor: int, request: int, command: bytearray) -> int:
        fields = nvme_admin._COMMAND.unpack(command)
        seen.append((request, fields, ctypes.string_at(fields[3], fields[5])))
        command[-4:] = (3).to_bytes(4, "little")
        return 0

    monkeypatch.setattr(syscalls.fcntl, "ioctl", ioctl)
    data = creation_data(WHOLE)
    change = nvme_admin.change_of(Path("/dev/null"))
    assert change(nvme_admin.NAMESPACE_MANAGEMENT, 0, 0, data) == 3
    change(nvme_admin.NAMESPACE_MANAGEMENT, 9, 1, b"")
    (request, create, given), (_, delete, nothing) = seen
    assert (request, create[0], create[1], create[5:8]) == (0xC0484E41, 0x0D, 0, (4096, 0, 0))
    assert given == data
    assert (delete[0], delete[1], delete[3], delete[5:8], nothing) == (0x0D, 9, 0, (0, 1, 0), b"")


def test_a_change_that_the_drive_refuses_names_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syscalls.fcntl, "ioctl", lambda descriptor, request, command: 0x4001)
    with pytest.raises(OSError, match="NVMe status 0x4001"):
        nvme_admin.change_of(Path("/dev/null"))(nvme_admin.NAMESPACE_ATTACHMENT, 1, 0, controller_list((1,)))
