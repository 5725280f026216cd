"""Purges by NVMe Format and Sanitize: the command that is sent, and every reason not to send it."""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

import fathom
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.targets import purge
from fathom.targets.parse import parse_target
from fathom.targets.purge import check_purge, erase_of, purge_of, send_purge
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


def controller(
    optional: int = FORMAT_SUPPORTED, attributes: int = 0, sanitizes: int = 0b11, several: bool = False
) -> bytes:
    data = bytearray(4096)
    data[76] = several << 1
    data[328:332] = sanitizes.to_bytes(4, "little")
    data[256:258] = optional.to_bytes(2, "little")
    data[524] = attributes
    return bytes(data)


def namespace(formatted: int = 0, protection: int = 0) -> bytes:
    data = bytearray(4096)
    data[26], data[29] = formatted, protection
    return bytes(data)


class Drive:
    """A controller that answers Identify and Sanitize Status from what it is given, and keeps what else it is sent.

    `states` are those that the log tells one after the other, the last of them from then on.
    """

    def __init__(
        self,
        active: tuple[int, ...] = (7,),
        attributes: int = 0,
        *,
        fails: bool = False,
        allocated: tuple[int, ...] | None = None,
        several: bool = False,
        states: tuple[int, ...] = (0,),
        progress: int = 0xFFFF,
        works: Callable[["Drive"], None] = lambda drive: None,
    ) -> None:
        self.sent: list[tuple[int, int, int]] = []
        self.timeouts_ms: list[int] = []
        optional = FORMAT_SUPPORTED | (allocated is not None) << 3
        lists = [struct.pack(f"<{len(one)}I", *one).ljust(4096, b"\0") for one in (active, allocated or ())]
        identity = controller(optional, attributes, several=several)
        kinds = (0x00, 0x01, 0x02, 0x10)
        self._answers: dict[int, bytes] = dict(zip(kinds, (namespace(), identity, *lists), strict=True))
        self._fails = fails
        self._progress, self._works = progress, works
        self.states = list(states)
        self.is_busy = False
        self.busy: bytes | None = None
        """What Identify answers while it works; None: it is refused."""

    def __call__(
        self, opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = 0
    ) -> bytes:
        if opcode == 0x06:
            if self.is_busy and self.busy is None:
                raise OSError("NVMe status 0x84")
            return self.busy if self.is_busy and self.busy else self._answers[cdw10]
        if opcode == 0x02:
            assert (namespace, cdw10, size) == (0xFFFFFFFF, 127 << 16 | 0x81, 512)
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            return struct.pack("<HH", self._progress, state | 1 << 8).ljust(size, b"\0")
        self.sent.append((opcode, namespace, cdw10))
        self.timeouts_ms.append(timeout_ms)
        if self._fails:
            raise OSError("NVMe status 0x6")
        self._works(self)
        return b""


@pytest.fixture
def attached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that has namespace 7 as nvme9n7."""
    directory = tmp_path / "nvme9n7"
    directory.mkdir()
    (directory / "nsid").write_text("7\n")
    monkeypatch.setattr(purge, "block_device", lambda path: BlockDevice(tmp_path / path.name, tmp_path))
    monkeypatch.setattr(purge, "_forget_cached", lambda path: None)
    monkeypatch.setattr(purge, "_POLL_S", 0.0)


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
    command = erase_of("x", 7, how, controller(attributes=0b100), namespace(formatted, protection), (7,))
    assert (command.namespace, command.cdw10) == (7, cdw10)


def test_a_controller_without_format_or_cryptographic_erase_is_refused() -> None:
    with pytest.raises(RefusedError, match="no Format NVM"):
        erase_of("x", 7, "format", controller(optional=0xFFFF & ~FORMAT_SUPPORTED), namespace(), (7,))
    with pytest.raises(RefusedError, match="no cryptographic erase"):
        erase_of("x", 7, "format-crypto", controller(), namespace(), (7,))


@pytest.mark.parametrize("attributes", [0b01, 0b10, 0b11])
def test_a_format_that_reaches_other_namespaces_is_refused_and_names_them(attributes: int) -> None:
    with pytest.raises(RefusedError, match="which has others: 1, 9"):
        erase_of("x", 7, "format", controller(attributes=attributes), namespace(), (1, 7, 9))
    assert erase_of("x", 7, "format", controller(attributes=attributes), namespace(), (7,))
    assert erase_of("x", 7, "format", controller(), namespace(), (1, 7, 9))


@pytest.mark.usefixtures("attached")
def test_one_format_is_sent_to_the_namespace_alone_with_time_to_finish() -> None:
    drive = Drive(active=(7, 8))
    assert check_purge(TARGET, "format", lambda path: drive)
    assert not drive.sent
    text, took_s = send_purge(TARGET, "format", admin=lambda path: drive)
    assert drive.sent == [(0x80, 7, 0x200)]
    assert drive.timeouts_ms == [3_600_000]
    assert "user data erase" in text
    assert took_s >= 0


@pytest.mark.usefixtures("attached")
def test_the_drive_is_looked_at_again_right_before_a_format() -> None:
    grown = Drive(active=(7, 8), attributes=0b01)
    with pytest.raises(RefusedError, match="which has others: 8"):
        send_purge(TARGET, "format", admin=lambda path: grown)
    assert not grown.sent


@pytest.mark.usefixtures("attached")
def test_a_format_that_fails_says_so_with_its_status() -> None:
    with pytest.raises(FathomError, match=r"nvme9n7: NVMe Format .* failed: NVMe status 0x6"):
        send_purge(TARGET, "format", admin=lambda path: Drive(fails=True))


@pytest.mark.usefixtures("attached")
@pytest.mark.parametrize(("how", "cdw10"), [("sanitize-block", 0x0A), ("sanitize-crypto", 0x0C)])
def test_a_sanitize_is_waited_for_until_its_log_says_that_it_is_done(how: purge.Purge, cdw10: int) -> None:
    drive = Drive(states=(1, 2, 2, 4, 3))
    text, _ = send_purge(TARGET, how, admin=lambda path: drive)
    assert drive.sent == [(0x84, 0, cdw10)]
    assert drive.states == [3]
    assert "Sanitize" in text


@pytest.mark.usefixtures("attached")
def test_how_far_a_sanitize_has_come_is_told_by_its_log() -> None:
    drive = Drive(states=(1, 2, 2, 1), progress=0x4000)
    told: list[float | None] = []
    send_purge(TARGET, "sanitize-block", lambda elapsed_s, share: told.append(share), lambda path: drive)
    assert told == [0.25, 0.25]


@pytest.mark.usefixtures("attached")
@pytest.mark.parametrize(
    ("indicator", "share"), [(0x80 | 63, 0.37), (0x80 | 100, 0.0), (0x80, None), (63, None), (None, None)]
)
def test_how_far_a_format_has_come_is_told_where_the_drive_has_an_indicator(
    indicator: int | None, share: float | None
) -> None:
    heard: list[float | None] = []
    twice = Event()

    def hear(_: float, share: float | None) -> None:
        heard.append(share)
        if heard[1:]:
            twice.set()

    def formatting(drive: Drive) -> None:
        drive.busy = None if indicator is None else bytes(32) + bytes([indicator])
        drive.is_busy = True
        heard.clear()
        twice.clear()
        assert twice.wait(30)

    send_purge(TARGET, "format", hear, lambda path: Drive(works=formatting))
    assert heard[-1] == share, "the first may have been on its way before"


@pytest.mark.usefixtures("attached")
@pytest.mark.parametrize("state", [0, 3])
def test_a_sanitize_that_fails_in_the_drive_is_told(state: int) -> None:
    drive = Drive(states=(1, 2, state))
    with pytest.raises(FathomError, match=f"Sanitize .* failed: Sanitize Status {state}"):
        send_purge(TARGET, "sanitize-block", admin=lambda path: drive)


@pytest.mark.usefixtures("attached")
@pytest.mark.parametrize(("state", "why"), [(2, "is in progress"), (3, "last Sanitize failed")])
def test_no_sanitize_is_sent_beside_another_or_after_one_that_failed(state: int, why: str) -> None:
    drive = Drive(states=(state,))
    with pytest.raises(RefusedError, match=why):
        check_purge(TARGET, "sanitize-crypto", lambda path: drive)
    assert check_purge(TARGET, "format", lambda path: drive)
    assert not drive.sent


@pytest.mark.usefixtures("attached")
def test_a_sanitize_is_refused_where_the_subsystem_holds_anything_else() -> None:
    def refused(drive: Drive, why: str) -> None:
        with pytest.raises(RefusedError, match=why):
            check_purge(TARGET, "sanitize-block", lambda path: drive)

    refused(Drive(active=(7, 8)), "others: 8")
    refused(Drive(allocated=(3, 7)), "others: 3")
    refused(Drive(several=True), "several controllers")
    assert check_purge(TARGET, "sanitize-block", lambda path: Drive(several=True, allocated=(7,)))
    assert check_purge(TARGET, "format", lambda path: Drive(several=True))


@pytest.mark.usefixtures("attached")
def test_a_format_for_all_namespaces_is_refused_for_those_of_other_controllers_too() -> None:
    for drive, why in (
        (Drive(attributes=1, allocated=(7, 9)), "others: 9"),
        (Drive(attributes=1, several=True), "several controllers"),
    ):
        with pytest.raises(RefusedError, match=why):
            check_purge(TARGET, "format", lambda path, drive=drive: drive)


def test_a_controller_without_that_sanitize_is_refused() -> None:
    for how, able in (("sanitize-block", 0b101), ("sanitize-crypto", 0b110)):
        with pytest.raises(RefusedError, match="no Sanitize by"):
            erase_of("x", 7, purge_of(how), controller(sanitizes=able), namespace(), (7,))


@pytest.mark.usefixtures("attached")
def test_partitions_other_disks_and_file_systems_are_refused(tmp_path: Path) -> None:
    (tmp_path / "nvme9n7p1").mkdir()
    (tmp_path / "nvme9n7p1" / "partition").write_text("1\n")
    for name in ("nvme9n7p1", "sda", "dm-0", "loop0"):
        (tmp_path / name).mkdir(exist_ok=True)
        with pytest.raises(RefusedError, match="only on a whole NVMe namespace"):
            check_purge(replace(TARGET, path=Path("/dev") / name), "format", lambda path: Drive())
    with pytest.raises(RefusedError, match="is a file system on a device, which --purge format cannot erase"):
        check_purge(replace(TARGET, makes="xfs"), "format", lambda path: Drive())


def test_files_and_null_are_refused_and_a_trim_asks_for_nothing(tmp_path: Path) -> None:
    for text, what in ((f"file:{tmp_path / 'x'}", "a file"), ("null:", "a target with nothing behind it")):
        target = parse_target(text, size_bytes=1 << 24)
        with pytest.raises(RefusedError, match=f"is {what}, which --purge format cannot erase"):
            check_purge(target, "format")
        assert check_purge(target, "trim") == []


def test_a_purge_has_to_be_known_and_the_method_to_have_a_step_for_it() -> None:
    with pytest.raises(UsageError, match="expected one of trim, format, format-crypto, sanitize-block"):
        purge_of("sanitize")
    with pytest.raises(UsageError, match="four-corners has no purge step"):
        fathom.run("four-corners", "twin:samsung-pm9a3-7.68tb", purge="format")


def test_a_run_that_cannot_format_is_refused_before_it_writes(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="--purge format cannot erase"):
        fathom.run(
            "snia-wsat", f"file:{tmp_path / 'x'}", size_bytes=1 << 24, purge="format", out=tmp_path / "runs"
        )
    assert list(tmp_path.iterdir()) == []
