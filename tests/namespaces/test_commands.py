"""What `fathom namespaces` asks before it changes a drive, and what it prints."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_drive import FakeDrive, free

from fathom.cli.namespaces import namespaces
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.namespaces import commands, use
from fathom.namespaces.drive import Drive, drive_of
from fathom.namespaces.manager import Manager
from fathom.namespaces.record import load
from fathom.targets.refusal import Refusal

SIZE = 3000 * 256


def port(sys: Path, name: str, number: int, serial: str = "S1", nqn: str = "nqn.a") -> Path:
    """A controller of a drive in sysfs."""
    where = sys / "devices" / name
    where.mkdir(parents=True)
    for attribute, text in (("serial", serial), ("subsysnqn", nqn), ("cntlid", str(number)), ("model", "M")):
        (where / attribute).write_text(text)
    (where / "transport").write_text("pcie")
    (sys / "class/nvme").mkdir(parents=True, exist_ok=True)
    (sys / "class/nvme" / name).symlink_to(where)
    return where


def disk(sys: Path, name: str, controller: Path, namespace: int) -> Path:
    where = controller / name
    where.mkdir()
    (where / "device").symlink_to(controller)
    (where / "nsid").write_text(str(namespace))
    (sys / "block").mkdir(exist_ok=True)
    (sys / "block" / name).symlink_to(where)
    return where


def test_a_drive_has_all_controllers_of_its_serial_and_name_and_their_disks(tmp_path: Path) -> None:
    second, first = port(tmp_path, "nvme1", 7), port(tmp_path, "nvme3", 4)
    other = port(tmp_path, "nvme0", 1, nqn="nqn.b")
    disk(tmp_path, "nvme3n1", first, 1)
    disk(tmp_path, "nvme1n2", second, 1)
    disk(tmp_path, "nvme3n5", first, 9)
    disk(tmp_path, "nvme0n1", other, 1)
    drive, namespace = drive_of(Path("/dev/nvme3"), tmp_path)
    assert (drive.serial, drive.model, drive.node, namespace) == ("S1", "M", Path("/dev/nvme3"), None)
    assert {number: where.name for number, where in drive.ports.items()} == {4: "nvme3", 7: "nvme1"}
    names = {number: sorted(one.name for one in disks) for number, disks in drive.disks().items()}
    assert names == {1: ["nvme1n2", "nvme3n1"], 9: ["nvme3n5"]}


def test_what_is_no_nvme_device_is_refused() -> None:
    with pytest.raises(UsageError, match="does not exist"):
        drive_of(Path("/dev/nvme999"))
    with pytest.raises(UsageError, match="is not a block device"):
        drive_of(Path("/dev/null"))


@pytest.fixture
def memory() -> FakeDrive:
    drive = FakeDrive()
    drive.add(SIZE, {4}, 0, 1)
    return drive


@pytest.fixture
def here(tmp_path: Path, memory: FakeDrive, monkeypatch: pytest.MonkeyPatch) -> Drive:
    """The drive in memory as one of this machine: sysfs shows what is attached, and nobody uses it."""
    controller = port(tmp_path, "nvme3", 4)
    drive, _ = drive_of(Path("/dev/nvme3"), tmp_path)

    def disks() -> None:
        for number, one in memory.namespaces.items():
            if one.controllers and not (tmp_path / f"block/nvme3n{number}").exists():
                disk(tmp_path, f"nvme3n{number}", controller, number)

    def found(path: Path) -> tuple[Drive, int | None]:
        disks()
        return drive, 1 if path.name == "nvme3n1" else None

    @contextmanager
    def alone(drive: Drive) -> Iterator[None]:
        yield

    def right(target: str, *tokens: str) -> None:
        if "S1@nvme3n1" not in tokens:
            raise RefusedError(f"{target}: this destroys all data on it")

    monkeypatch.setattr(commands, "drive_of", found)
    monkeypatch.setattr(commands, "manager_of", lambda drive: memory.manager())
    monkeypatch.setattr(commands, "authorise_destroy", right)
    monkeypatch.setattr(commands, "device_target", str)
    monkeypatch.setattr(commands, "_look_again", lambda drive: disks())
    monkeypatch.setattr(use, "alone_with", alone)
    monkeypatch.setattr(use, "held", lambda drive, namespaces, unknown_data: free(namespaces))
    return drive


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "records" / "S1.json"


NODE, CONTROLLER = Path("/dev/nvme3n1"), Path("/dev/nvme3")


@pytest.mark.usefixtures("here")
def test_the_command_splits_lists_and_puts_back(
    memory: FakeDrive, record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = memory.facts()
    namespaces(NODE, split=2, destroy=["S1@nvme3n1"], record=record)
    printed = capsys.readouterr().out
    assert "/dev/nvme3n2" in printed
    assert "Fathom has split namespace 1 (3.15 GB)" in printed
    assert "fathom namespaces /dev/nvme3 --restore --destroy S1" in printed
    namespaces(CONTROLLER, record=record, as_json=True)
    document = json.loads(capsys.readouterr().out)
    found = [(one["namespace"], one["handles"]) for one in document["namespaces"]]
    assert found == [(1, [0, 1, 2, 3]), (2, [4, 5, 6, 7])]
    assert document["split"]["stage"] == "ours"
    namespaces(CONTROLLER, restore=True, destroy=["S1"], record=record)
    printed = capsys.readouterr().out
    assert "namespace 1 is back with its size and format; it holds no data" in printed
    assert "Fathom has split" not in printed
    assert memory.facts() == before


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda record: commands.split_namespace(NODE, 2, [], record=record), "this destroys all data on it"),
        (
            lambda record: commands.split_namespace(NODE, 2, ["S2"], record=record),
            "this destroys all data on it",
        ),
        (lambda record: commands.restore_namespace(CONTROLLER, ["S1"], record=record), "nothing to put back"),
        (lambda record: namespaces(NODE, split=2, restore=True, record=record), "exclude each other"),
    ],
)
def test_without_its_word_or_record_nothing_is_sent(
    memory: FakeDrive, record: Path, call: Callable[[Path], object], message: str
) -> None:
    with pytest.raises(FathomError, match=message):
        call(record)
    assert memory.sent == []
    assert not record.exists()


@pytest.mark.usefixtures("here")
def test_what_is_split_is_not_split_again_and_takes_the_serial_to_be_put_back(
    memory: FakeDrive, record: Path
) -> None:
    commands.split_namespace(NODE, 2, ["S1@nvme3n1"], record=record)
    memory.sent.clear()
    with pytest.raises(RefusedError, match="is split already, by the record"):
        commands.split_namespace(NODE, 2, ["S1@nvme3n1"], record=record)
    with pytest.raises(RefusedError, match="namespaces that Fathom made; if you mean it: --destroy S1"):
        commands.restore_namespace(CONTROLLER, ["S2"], record=record)
    kept = load(record)
    assert kept
    record.write_text(kept.model_copy(update={"serial": "S9"}).model_dump_json(by_alias=True))
    with pytest.raises(RefusedError, match="is the record of another drive, S9"):
        commands.restore_namespace(CONTROLLER, ["S1"], record=record)
    assert memory.sent == []


@pytest.mark.usefixtures("here")
def test_a_drive_with_fixed_namespaces_is_listed_and_not_split(
    memory: FakeDrive, record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.manages = False
    namespaces(CONTROLLER, record=record)
    assert "/dev/nvme3n1" in capsys.readouterr().out
    with pytest.raises(RefusedError, match="does not create and delete namespaces"):
        commands.split_namespace(NODE, 2, ["S1@nvme3n1"], record=record)


@pytest.mark.usefixtures("here")
def test_a_drive_that_does_not_answer_is_one_line(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*command: object, **more: object) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(commands, "manager_of", lambda drive: Manager(silent, silent))
    with pytest.raises(FathomError, match=r"/dev/nvme3: .*Permission denied; run as root"):
        commands.list_namespaces(CONTROLLER, record)


def test_a_use_of_any_namespace_of_the_drive_refuses_and_data_of_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = port(tmp_path, "nvme3", 4)
    for number in (1, 2):
        disk(tmp_path, f"nvme3n{number}", controller, number)
    drive, _ = drive_of(CONTROLLER, tmp_path)
    said = [Refusal("unknown-data", "holds unknown data")]
    claimed: list[str] = []

    @contextmanager
    def hold(target: str, unknown_data: bool) -> Iterator[None]:
        claimed.append(f"{target} {unknown_data}")
        yield

    def look(path: Path, sample: bool) -> list[Refusal]:
        assert (path, sample) == (Path("/dev/nvme3n2"), False)
        return said

    monkeypatch.setattr(use, "check_device", look)
    monkeypatch.setattr(use, "device_target", str)
    monkeypatch.setattr(use, "ExclusiveHold", hold)
    with use.held(drive, [1], unknown_data=False):
        assert claimed == ["/dev/nvme3n1 False"]
    said.append(Refusal("mounted", "mounted on /srv (xfs)"))
    with (
        pytest.raises(RefusedError, match="/dev/nvme3n2 refused: mounted on /srv"),
        use.held(drive, [1], unknown_data=True),
    ):
        pytest.fail("it was held")


def test_two_processes_do_not_change_one_drive_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = tmp_path / "nvme3"
    node.touch()
    monkeypatch.setattr(Drive, "node", node)
    drive = Drive("S1", "M", {})
    with (
        use.alone_with(drive),
        pytest.raises(RefusedError, match="another Fathom process"),
        use.alone_with(drive),
    ):
        pytest.fail("both are in")
    with use.alone_with(drive):
        pass
