"""What an NVMe drive says that it can do, from the bytes that it answers with."""

import errno
from pathlib import Path
from typing import Any

import pytest

from fathom.session import record
from fathom.targets.capabilities import (
    Erasure,
    parse_controller,
    parse_discovery,
    parse_fdp_configurations,
    parse_namespace,
    parse_namespace_list,
)
from fathom.targets.capability_reader import SECURITY_RECEIVE, read_capabilities
from fathom.targets.capability_words import in_words
from fathom.targets.nvme_admin import GET_LOG_PAGE, IDENTIFY, TIMEOUT_MS
from fathom.targets.target import Identity, Target


def put(data: bytearray, at: int, value: int, size: int) -> None:
    data[at : at + size] = value.to_bytes(size, "little")


def controller(*, optional: int = 0, format_nvm: int = 0, sanitize: int = 0, fdp: bool = False) -> bytearray:
    data = bytearray(4096)
    put(data, 80, 0x020000, 4)
    put(data, 96, fdp << 19, 4)
    put(data, 256, optional, 2)
    put(data, 280, 7_681_501_126_656, 16)
    put(data, 328, sanitize, 4)
    put(data, 516, 128, 4)
    data[524] = format_nvm
    return data


def power_state(
    data: bytearray, number: int, watts_x100: int, flags: int = 0, enter: int = 0, leave: int = 0
) -> None:
    data[263] = max(data[263], number)
    at = 2048 + 32 * number
    put(data, at, watts_x100, 2)
    data[at + 3] = flags
    put(data, at + 4, enter, 4)
    put(data, at + 8, leave, 4)


def discovery(*features: bytes) -> bytes:
    body = bytes(44) + b"".join(features)
    return len(body).to_bytes(4, "big") + body


def feature(code: int, data: bytes) -> bytes:
    return code.to_bytes(2, "big") + bytes([0x10, len(data)]) + data


OPAL = discovery(feature(0x0001, bytes(12)), feature(0x0002, bytes([0b1011])), feature(0x0203, bytes(16)))


def test_erasures_are_those_that_the_drive_offers() -> None:
    found = parse_controller(bytes(controller(optional=0b10, format_nvm=0b100, sanitize=0b011)))
    assert found
    assert found.erasures == (
        Erasure.FORMAT,
        Erasure.FORMAT_CRYPTO,
        Erasure.SANITIZE_BLOCK,
        Erasure.SANITIZE_CRYPTO,
    )


def test_cryptographic_format_needs_format_itself() -> None:
    found = parse_controller(bytes(controller(format_nvm=0b100)))
    assert found
    assert found.erasures == ()


def test_power_states_have_watts_in_both_scales_and_say_whether_they_take_io() -> None:
    data = controller()
    power_state(data, 0, 2500)
    power_state(data, 1, 500, flags=0b11, enter=1000, leave=9000)
    found = parse_controller(bytes(data))
    assert found
    first, second = found.power_states
    assert (first.most_w, first.operational) == (25.0, True)
    assert second.most_w == pytest.approx(0.05)
    assert (second.operational, second.enter_us, second.leave_us) == (False, 1000, 9000)


def test_formats_of_a_namespace_have_their_metadata_and_the_one_in_use_is_marked() -> None:
    data = bytearray(4096)
    data[25], data[26], data[28], data[29] = 1, 1, 0b101, 1
    data[128 + 2] = 9
    put(data, 132, 8, 2)
    data[132 + 2] = 12
    found = parse_namespace(bytes(data))
    assert found
    assert [(one.block_bytes, one.metadata_bytes, one.in_use) for one in found.formats] == [
        (512, 0, False),
        (4096, 8, True),
    ]
    assert (found.protection_types, found.protection_type) == ((1, 3), 1)


def test_a_list_of_namespaces_ends_with_the_first_zero() -> None:
    data = b"".join(number.to_bytes(4, "little") for number in (1, 2, 7, 0, 9))
    assert parse_namespace_list(data) == (1, 2, 7)


@pytest.mark.parametrize(
    ("attached", "unallocated", "words"),
    [
        (
            [1],
            0,
            "1 of at most 128, can be made and deleted, over 7.68 TB, all of it allocated; 2, 7 not attached here",
        ),
        ([1, 2, 7], 10**12, "1, 2, 7 of at most 128, can be made and deleted, over 7.68 TB, 1 TB in none"),
    ],
)
def test_namespaces_that_are_not_attached_and_capacity_in_none_are_told(
    attached: list[int], unallocated: int, words: str
) -> None:
    data = controller(optional=0b1000)
    put(data, 296, unallocated, 16)
    lists = {2: attached, 0x10: [1, 2, 7]}

    def admin(
        opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = TIMEOUT_MS
    ) -> bytes:
        if opcode == IDENTIFY and cdw10 == 1:
            return bytes(data)
        if opcode == IDENTIFY and cdw10 in lists:
            return b"".join(number.to_bytes(4, "little") for number in lists[cdw10]).ljust(size, b"\0")
        raise OSError(errno.EIO, "refused")

    found = read_capabilities(admin, 1)
    assert found
    assert in_words(found)["namespaces"] == words


def test_namespaces_that_the_drive_attaches_but_does_not_make_are_not_said_to_be_made() -> None:
    data = controller(optional=0b1000)
    data[261] = 0b10
    log = bytearray(4096)
    log[4 * 0x15] = 1

    def admin(
        opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = TIMEOUT_MS
    ) -> bytes:
        if opcode == IDENTIFY:
            return bytes(data) if cdw10 == 1 else bytes(size)
        return bytes(log)

    found = read_capabilities(admin, 1)
    assert found
    assert "can be attached and detached, over 7.68 TB" in in_words(found)["namespaces"]
    log[4 * 0x0D] = 1
    found = read_capabilities(admin, 1)
    assert found
    assert "can be made and deleted" in in_words(found)["namespaces"]


def test_a_drive_with_fixed_namespaces_is_not_asked_for_all_of_them() -> None:
    asked: list[int] = []

    def admin(
        opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = TIMEOUT_MS
    ) -> bytes:
        asked.append(cdw10)
        return bytes(controller()) if cdw10 == 1 else bytes(size)

    found = read_capabilities(admin, 1)
    assert found
    assert 0x10 not in asked
    assert in_words(found)["namespaces"] == "not known of at most 128, fixed, over 7.68 TB"


def test_fdp_configurations_have_groups_handles_and_the_size_of_a_unit() -> None:
    log = bytearray(16 + 64)
    put(log, 16, 64, 2)
    log[18] = 0x80
    put(log, 20, 2, 4)
    put(log, 24, 8, 2)
    put(log, 32, 32 << 20, 8)
    [found] = parse_fdp_configurations(bytes(log))
    assert (found.reclaim_groups, found.handles, found.unit_bytes, found.valid) == (2, 8, 32 << 20, True)
    assert parse_fdp_configurations(bytes(log[:60])) == ()


def test_level_0_discovery_names_opal_and_the_state_of_locking() -> None:
    found = parse_discovery(OPAL)
    assert found
    assert found.classes == ("Opal 2",)
    assert (found.encrypts, found.locking_enabled, found.locked) == (True, True, False)
    assert parse_discovery(bytes(512)) is None


def test_a_drive_that_refuses_a_question_answers_the_others() -> None:
    data = bytes(controller(optional=1, fdp=True))

    def admin(
        opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = TIMEOUT_MS
    ) -> bytes:
        if opcode == IDENTIFY and cdw10 == 1:
            return data
        if opcode == SECURITY_RECEIVE:
            return OPAL
        raise OSError(errno.EIO, "refused")

    found = read_capabilities(admin, 1)
    assert found
    words = in_words(found)
    assert words["self-encryption"] == "TCG Opal 2, encrypts its media, locking enabled"
    assert words["placement (FDP)"] == "supported; its configurations are not known"
    assert "protection information" not in words


def test_nothing_is_asked_that_could_change_a_drive() -> None:
    asked: set[int] = set()

    def admin(
        opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = TIMEOUT_MS
    ) -> bytes:
        asked.add(opcode)
        return bytes(controller(optional=0xFFFF, fdp=True))

    read_capabilities(admin, 1)
    assert asked == {IDENTIFY, GET_LOG_PAGE, SECURITY_RECEIVE}


def test_a_run_keeps_what_its_drive_said_and_a_file_has_nothing_to_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record, "capabilities_of", lambda _: {"NVMe": "2.0"})
    facts: dict[str, Any] = {
        "path": Path("/dev/x"),
        "capacity_bytes": 1,
        "logical_block_bytes": 512,
        "direct_align_bytes": 512,
    }
    drive = Target(name="/dev/x", kind="device", identity=Identity(model="M"), label="x", **facts)
    file = Target(name="file:x", kind="file", identity=Identity(), label="x", **facts)
    assert record._record(drive).identity == {"model": "M", "capabilities": {"NVMe": "2.0"}}
    assert record._record(file).identity == {}
