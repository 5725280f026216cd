"""The sizes of a device's zones, from the kernel's report of them."""

import struct
from pathlib import Path

import pytest

from fathom.targets.target import Identity
from fathom.targets.zones import ZoneSizes, with_zones, zone_sizes

MIB_SECTORS = 2048
CONVENTIONAL, SEQUENTIAL = 1, 2


def report(
    monkeypatch: pytest.MonkeyPatch, zones: list[tuple[int, int]], *, has_capacity: bool = True
) -> None:
    """Zones of 64 MiB, each of a type and a capacity in MiB."""

    def ioctl(node: Path, request: int, argument: bytearray) -> int:
        assert request == 0xC0101282
        [sector] = struct.unpack_from("<Q", argument)
        first = sector // (64 * MIB_SECTORS)
        # One zone at a time: a report of a large device comes in parts too.
        part = zones[first : first + 1]
        struct.pack_into("<II", argument, 8, len(part), int(has_capacity))
        for kind, capacity in part:
            start = first * 64 * MIB_SECTORS
            struct.pack_into(
                "<QQQBBxx4xQ", argument, 16, start, 64 * MIB_SECTORS, start, kind, 1, capacity * MIB_SECTORS
            )
        return 0

    monkeypatch.setattr("fathom.targets.zones.device_ioctl", ioctl)


def test_the_first_zone_that_is_written_in_order_gives_the_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    report(monkeypatch, [(CONVENTIONAL, 64), (CONVENTIONAL, 64), (SEQUENTIAL, 48), (SEQUENTIAL, 48)])
    assert zone_sizes(Path("/dev/nvme1n1")) == ZoneSizes(64 << 20, 48 << 20)


def test_a_kernel_that_reports_no_capacities_means_whole_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    report(monkeypatch, [(SEQUENTIAL, 0)], has_capacity=False)
    assert zone_sizes(Path("/dev/nvme1n1")) == ZoneSizes(64 << 20, 64 << 20)


def test_a_device_of_conventional_zones_alone_has_no_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    report(monkeypatch, [(CONVENTIONAL, 64)])
    assert zone_sizes(Path("/dev/sdb")) is None


def test_what_reports_no_zones_has_no_sizes() -> None:
    assert zone_sizes(Path("/dev/null")) is None
    ordinary, refusing = Identity(zoned="none"), Identity(zoned="host-managed")
    assert with_zones(ordinary, Path("/dev/null")) is ordinary
    assert with_zones(refusing, Path("/dev/null")) is refusing
