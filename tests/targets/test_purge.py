"""Purges by NVMe Format: the command that is sent, and every reason not to send it."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

import fathom
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.targets import purge
from fathom.targets.parse import parse_target
from fathom.targets.purge import check_purge, format_of, purge_of, send_format
from fathom.targets.sysfs import BlockDevice
from fathom.targets.target import Identity, Target

FORMAT_SUPPORTED = 1 << 1
TARGET = Target(
    name="/dev/nvme9n7",
    kind="device",
    path=Path("/dev/nvme9n7"),
    capacity_bytes=1 << 30,
    logical_block_bytes=4096,
    direct_align_bytes=4096,
    identity=Identity(),
    label="a drive",
)


def controller(optional: int = FORMAT_SUPPORTED, attributes: int = 0) -> bytes:
    data = bytearray(4096)
    data[256:258] = optional.to_bytes(2, "little")
    data[524] = attributes
    return bytes(data)


def namespace(formatted: int = 0, protection: int = 0) -> bytes:
    data = bytearray(4096)
    data[26], data[29] = formatted, protection
    return bytes(data)


class Drive:
    """A controller that answers Identify from what it is given, and keeps what else it is sent."""

    def __init__(self, active: tuple[int, ...] = (7,), attributes: int = 0, fails: bool = False) -> None:
        self.sent: list[tuple[int, int, int]] = []
        self.timeouts_ms: list[int] = []
        self._answers = [namespace(), controller(attributes=attributes)]
        self._answers.append(struct.pack(f"<{len(active)}I", *active).ljust(4096, b"\0"))
        self._fails = fails

    def __call__(
        self, opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = 0
    ) -> bytes:
        if opcode == 0x06:
            return self._answers[cdw10]
        self.sent.append((opcode, namespace, cdw10))
        self.timeouts_ms.append(timeout_ms)
        if self._fails:
            raise OSError("NVMe status 0x6")
        return b""


@pytest.fixture
def attached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that has namespace 7 as nvme9n7."""
    directory = tmp_path / "nvme9n7"
    directory.mkdir()
    (directory / "nsid").write_text("7\n")
    monkeypatch.setattr(purge, "block_device", lambda path: BlockDevice(tmp_path / path.name, tmp_path))
    monkeypatch.setattr(purge, "_forget_cached", lambda path: None)


@pytest.mark.parametrize(
    ("formatted", "protection", "how", "cdw10"),
    [
        (0x00, 0x0, "format", 0x0200),
        (0x00, 0x0, "format-crypto", 0x0400),
        (0x03, 0x0, "format", 0x0203),
        (0x12, 0x0, "format", 0x0212),
        (0x00, 0x1, "format", 0x0220),
        (0x00, 0xB, "format", 0x0360),
        (0x61, 0x0, "format", 0x3201),
    ],
)
def test_a_format_erases_and_keeps_lba_format_metadata_and_protection(
    formatted: int, protection: int, how: purge.Purge, cdw10: int
) -> None:
    command = format_of("x", 7, how, controller(attributes=0b100), namespace(formatted, protection), (7,))
    assert (command.namespace, command.cdw10) == (7, cdw10)


def test_a_controller_without_format_or_cryptographic_erase_is_refused() -> None:
    with pytest.raises(RefusedError, match="no Format NVM"):
        format_of("x", 7, "format", controller(optional=0xFFFF & ~FORMAT_SUPPORTED), namespace(), (7,))
    with pytest.raises(RefusedError, match="no cryptographic erase"):
        format_of("x", 7, "format-crypto", controller(), namespace(), (7,))


@pytest.mark.parametrize("attributes", [0b01, 0b10, 0b11])
def test_a_format_that_reaches_other_namespaces_is_refused_and_names_them(attributes: int) -> None:
    with pytest.raises(RefusedError, match="has others: 1, 9"):
        format_of("x", 7, "format", controller(attributes=attributes), namespace(), (1, 7, 9))
    assert format_of("x", 7, "format", controller(attributes=attributes), namespace(), (7,))
    assert format_of("x", 7, "format", controller(), namespace(), (1, 7, 9))


@pytest.mark.usefixtures("attached")
def test_one_format_is_sent_to_the_namespace_alone_with_time_to_finish() -> None:
    drive = Drive(active=(7, 8))
    assert check_purge(TARGET, "format", lambda path: drive)
    assert not drive.sent
    text, took_s = send_format(TARGET, "format", lambda path: drive)
    assert drive.sent == [(0x80, 7, 0x200)]
    assert drive.timeouts_ms == [3_600_000]
    assert "user data erase" in text
    assert took_s >= 0


@pytest.mark.usefixtures("attached")
def test_the_drive_is_looked_at_again_right_before_a_format() -> None:
    grown = Drive(active=(7, 8), attributes=0b01)
    with pytest.raises(RefusedError, match="has others: 8"):
        send_format(TARGET, "format", lambda path: grown)
    assert not grown.sent


@pytest.mark.usefixtures("attached")
def test_a_format_that_fails_says_so_with_its_status() -> None:
    with pytest.raises(FathomError, match=r"nvme9n7: NVMe Format .* failed: NVMe status 0x6"):
        send_format(TARGET, "format", lambda path: Drive(fails=True))


@pytest.mark.usefixtures("attached")
def test_partitions_other_disks_and_file_systems_are_refused(tmp_path: Path) -> None:
    (tmp_path / "nvme9n7p1").mkdir()
    (tmp_path / "nvme9n7p1" / "partition").write_text("1\n")
    for name in ("nvme9n7p1", "sda", "dm-0", "loop0"):
        (tmp_path / name).mkdir(exist_ok=True)
        with pytest.raises(RefusedError, match="only a whole NVMe namespace"):
            check_purge(replace(TARGET, path=Path("/dev") / name), "format", lambda path: Drive())
    with pytest.raises(RefusedError, match="a file system on a device cannot be formatted"):
        check_purge(replace(TARGET, makes="xfs"), "format", lambda path: Drive())


def test_files_and_null_are_refused_and_a_trim_asks_for_nothing(tmp_path: Path) -> None:
    for text in (f"file:{tmp_path / 'x'}", "null:"):
        target = parse_target(text, size_bytes=1 << 24)
        with pytest.raises(RefusedError, match="cannot be formatted"):
            check_purge(target, "format")
        assert check_purge(target, "trim") == []


def test_a_purge_has_to_be_known_and_the_method_to_have_a_step_for_it() -> None:
    with pytest.raises(UsageError, match="expected one of trim, format, format-crypto"):
        purge_of("sanitize")
    with pytest.raises(UsageError, match="four-corners has no purge step"):
        fathom.run("four-corners", "twin:samsung-pm9a3-7.68tb", purge="format")


def test_a_run_that_cannot_format_is_refused_before_it_writes(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be formatted"):
        fathom.run(
            "snia-wsat", f"file:{tmp_path / 'x'}", size_bytes=1 << 24, purge="format", out=tmp_path / "runs"
        )
    assert list(tmp_path.iterdir()) == []
