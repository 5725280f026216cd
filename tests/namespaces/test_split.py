"""A namespace is replaced by several and put back, whatever fails and wherever the process is killed."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from fake_drive import BLOCK, FakeDrive, Killed, free

from fathom.errors import FathomError, RefusedError, UsageError
from fathom.namespaces import split as sequence
from fathom.namespaces.drive import Drive
from fathom.namespaces.plan import equal_parts, planned
from fathom.namespaces.record import Record, load, record_path, save
from fathom.namespaces.split import restore, split
from fathom.targets.sysfs import BlockDevice

TENANTS = 3
SIZE = 3000 * 256
"""Blocks of the namespace that is split: 3000 MiB."""
OTHER = 77 * 256


def attached(tmp_path: Path, drive: FakeDrive) -> Drive:
    """The drive as sysfs has it: two ports, and a block device for each namespace that is attached."""
    for number in drive.namespaces:
        disk = tmp_path / "block" / f"nvme7n{number}"
        (disk / "queue").mkdir(parents=True, exist_ok=True)
        (disk / "device").mkdir(exist_ok=True)
        (disk / "nsid").write_text(str(number))
        (disk / "device/transport").write_text("pcie")
    ports = {1: tmp_path / "block/nvme7n1/device", 4: tmp_path / "block/nvme7n2/device"}
    return Drive("S1", "M", ports, tmp_path)


@pytest.fixture
def drive() -> FakeDrive:
    """A drive whose first namespace has handles 0 to 3, whose second has 4, and which has 5 to 7 left."""
    drive = FakeDrive()
    drive.add(SIZE, {1, 4}, 0, 1, 2, 3)
    drive.add(OTHER, {1}, 4)
    return drive


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path / "state" / "S1.json"


def record_of(drive: FakeDrive, tmp_path: Path, count: int = TENANTS) -> Record:
    return planned(drive.manager(), attached(tmp_path, drive), 1, count)


def run_split(drive: FakeDrive, where: Path, record: Record) -> tuple[int, ...]:
    return split(drive.manager(), where, record, free, lambda: None)


def put_back(drive: FakeDrive, where: Path) -> int:
    record = load(where)
    assert record
    return restore(drive.manager(), where, record, free, lambda: None)


def test_a_split_leaves_equal_namespaces_with_handles_of_their_own(
    drive: FakeDrive, where: Path, tmp_path: Path
) -> None:
    other = drive.namespaces[2].facts()
    made = run_split(drive, where, record_of(drive, tmp_path))
    assert made == (1, 3, 4)
    assert drive.sent == ["detach", "delete", *["create", "attach"] * TENANTS]
    assert drive.namespaces[2].facts() == other
    ours = [drive.namespaces[number] for number in made]
    assert {(one.made_from.nsze, one.made_from.flbas) for one in ours} == {(1000 * 256, 1)}
    assert all(one.controllers == {1, 4} for one in ours)
    assert [list(one.made_from.phndl[: one.made_from.nphndls]) for one in ours] == [[0, 1], [2, 3], [5, 6, 7]]


def test_what_was_split_is_put_back_with_its_number_size_format_handles_and_controllers(
    drive: FakeDrive, where: Path, tmp_path: Path
) -> None:
    before = drive.facts()
    run_split(drive, where, record_of(drive, tmp_path))
    assert put_back(drive, where) == 1
    assert drive.facts() == before
    assert not where.exists()


def steps_of_a_split() -> int:
    """Changes of the drive, and writes of the record."""
    return 2 + 2 * TENANTS + 2 + TENANTS


@pytest.fixture
def counted(drive: FakeDrive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes of the record are steps, too."""

    def written(path: Path, record: Record) -> None:
        with drive.step("record"):
            save(path, record)

    monkeypatch.setattr(sequence, "save", written)


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(steps_of_a_split()))
def test_a_split_that_is_killed_at_any_point_can_be_put_back(
    drive: FakeDrive, where: Path, tmp_path: Path, at: int, after: bool
) -> None:
    before = drive.facts()
    record = record_of(drive, tmp_path)
    drive.kill_at, drive.kills_after = at, after
    with pytest.raises(Killed):
        run_split(drive, where, record)
    drive.revive()
    if at or after:
        put_back(drive, where)
    assert not where.exists()
    assert drive.facts() == before


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(2 * TENANTS + 3))
def test_putting_back_that_is_killed_at_any_point_can_be_done_again(
    drive: FakeDrive, where: Path, tmp_path: Path, at: int, after: bool
) -> None:
    before = drive.facts()
    run_split(drive, where, record_of(drive, tmp_path))
    drive.revive()
    drive.kill_at, drive.kills_after = at, after
    with pytest.raises(Killed):
        put_back(drive, where)
    drive.revive()
    put_back(drive, where)
    assert drive.facts() == before


@pytest.mark.usefixtures("counted")
def test_the_points_of_a_kill_are_all_that_a_split_has(drive: FakeDrive, where: Path, tmp_path: Path) -> None:
    run_split(drive, where, record_of(drive, tmp_path))
    assert drive.steps == steps_of_a_split()
    drive.revive()
    put_back(drive, where)
    assert drive.steps == 2 * TENANTS + 3


@pytest.mark.parametrize("command", ["detach", "delete", "create", "attach"])
def test_a_command_that_is_refused_puts_everything_back_and_is_one_line(
    drive: FakeDrive, where: Path, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = drive.facts()
    drive.refuses = command

    def restored(*given: object) -> int:
        drive.refuses = None
        return restore(*given)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(sequence, "restore", restored)
    with pytest.raises(FathomError, match=f"could not be split: NVMe status 0x115 of {command}; .* is back"):
        run_split(drive, where, record_of(drive, tmp_path))
    assert drive.facts() == before
    assert not where.exists()


def test_where_putting_back_fails_too_the_record_stays_and_is_named(
    drive: FakeDrive, where: Path, tmp_path: Path
) -> None:
    drive.refuses = "create"
    with pytest.raises(FathomError, match=r"nor put back: .*; the record .*S1\.json has what was there"):
        run_split(drive, where, record_of(drive, tmp_path))
    drive.refuses = None
    assert put_back(drive, where) == 1


@pytest.mark.parametrize("command", ["detach", "delete", "create", "attach"])
def test_an_interrupt_puts_everything_back(
    drive: FakeDrive, where: Path, tmp_path: Path, command: str
) -> None:
    before = drive.facts()
    drive.interrupts = command
    with pytest.raises(KeyboardInterrupt):
        run_split(drive, where, record_of(drive, tmp_path))
    assert drive.facts() == before
    assert not where.exists()


def in_use(namespaces: Iterable[int]) -> AbstractContextManager[None]:
    raise RefusedError(f"namespaces {list(namespaces)} refused: mounted on /mnt")


def test_nothing_is_sent_where_a_namespace_is_in_use(drive: FakeDrive, where: Path, tmp_path: Path) -> None:
    record = record_of(drive, tmp_path)
    with pytest.raises(RefusedError, match="mounted"):
        split(drive.manager(), where, record, in_use, lambda: None)
    assert drive.sent == []
    assert not where.exists()
    run_split(drive, where, record)
    drive.sent.clear()
    kept = load(where)
    assert kept
    with pytest.raises(RefusedError, match=r"namespaces \[1, 3, 4\] refused"):
        restore(drive.manager(), where, kept, in_use, lambda: None)
    assert drive.sent == []
    assert load(where) == kept


def test_namespaces_of_another_program_are_not_deleted(drive: FakeDrive, where: Path, tmp_path: Path) -> None:
    run_split(drive, where, record_of(drive, tmp_path))
    drive.sent.clear()
    drive.add(1000 * 256, {1})
    with pytest.raises(RefusedError, match="another program may have made them: 5"):
        put_back(drive, where)
    del drive.namespaces[5]
    drive.namespaces[3].made_from.nsze += 1
    with pytest.raises(RefusedError, match="another program may have made them: 3"):
        put_back(drive, where)
    assert drive.sent == []


def test_ours_that_the_user_deleted_are_not_missed(drive: FakeDrive, where: Path, tmp_path: Path) -> None:
    before = drive.facts()
    run_split(drive, where, record_of(drive, tmp_path))
    del drive.namespaces[3]
    put_back(drive, where)
    assert drive.facts() == before


def test_a_record_outlives_the_process_and_is_read_as_it_was_written(
    drive: FakeDrive, where: Path, tmp_path: Path
) -> None:
    record = record_of(drive, tmp_path)
    assert (record.original.storage_tag_mask, record.original.handles) == (5, (0, 1, 2, 3))
    assert (record.controllers, record.others, record.block_bytes) == ((1, 4), (2,), BLOCK)
    save(where, record)
    assert load(where) == record
    where.write_text("{}")
    with pytest.raises(FathomError, match="is no record of namespaces"):
        load(where)
    assert load(where.with_name("none.json")) is None


def test_a_serial_names_a_file_in_the_folder_of_records_and_none_elsewhere() -> None:
    assert record_path("S64HNE0R500123").name == "S64HNE0R500123.json"
    for serial in ("../../etc/passwd", "..", "", "a b/c"):
        assert record_path(serial).parent == record_path("x").parent
        assert record_path(serial).resolve().parent == record_path("x").parent


def test_handles_are_dealt_out_as_a_twin_does(drive: FakeDrive, tmp_path: Path) -> None:
    one = record_of(drive, tmp_path).original
    parts = equal_parts(one, 3, 256, (3, 1, 2, 0))
    assert [part.handles for part in parts] == [(3,), (1,), (2, 0)]
    assert [part.handles for part in equal_parts(one, 3, 256, (3, 1))] == [(3, 1)] * 3
    assert [part.handles for part in equal_parts(one, 2, 256, ())] == [()] * 2


def test_sizes_are_multiples_of_what_the_drive_prefers(drive: FakeDrive, tmp_path: Path) -> None:
    one = record_of(drive, tmp_path).original
    part, *_ = equal_parts(replace(one, capacity_blocks=one.size_blocks // 2), 7, 256, ())
    assert (part.size_blocks, part.capacity_blocks) == (428 * 256, 214 * 256)
    with pytest.raises(UsageError, match="too small"):
        equal_parts(one, 3, one.size_blocks // 2, ())


def test_drives_and_namespaces_that_cannot_be_split_are_refused_before_anything_is_sent(
    drive: FakeDrive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = attached(tmp_path, drive)
    with pytest.raises(UsageError, match="needs the namespace"):
        planned(drive.manager(), here, None, 2)
    with pytest.raises(RefusedError, match="would be 17 namespaces, the drive has at most 16"):
        planned(drive.manager(), here, 1, 16)
    with pytest.raises(RefusedError, match="controllers that are not of this machine: 4"):
        planned(drive.manager(), Drive("S1", "M", {1: here.ports[1]}, tmp_path), 1, 2)
    drive.manages = False
    for drive.effects in (True, False):
        with pytest.raises(RefusedError, match="does not create and delete namespaces"):
            planned(drive.manager(), here, 1, 2)
    drive.manages = True
    monkeypatch.setattr(BlockDevice, "is_zoned", True)
    with pytest.raises(RefusedError, match="is zoned"):
        planned(drive.manager(), here, 1, 2)
    assert drive.sent == []


def test_without_fdp_namespaces_have_no_handles(tmp_path: Path) -> None:
    drive = FakeDrive(handles=0)
    drive.add(SIZE, {1, 4})
    record = record_of(drive, tmp_path)
    assert [one.handles for one in (record.original, *record.ours)] == [()] * 4
