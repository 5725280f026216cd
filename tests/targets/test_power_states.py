"""Power states of NVMe drives: what is set, what is put back, and every reason not to set it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

import pytest

import fathom
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.load.resolve import resolve_targets
from fathom.plan import power_states as words
from fathom.plan.power_states import states_of
from fathom.session import begin
from fathom.session.record import power_states_of
from fathom.targets import power_states
from fathom.targets.capabilities import parse_controller
from fathom.targets.power_states import POWER_MANAGEMENT, check_power_state, held_in
from fathom.targets.sysfs import BlockDevice
from fathom.targets.target import Identity, Target

NODE = Path("/dev/nvme9n7")
TARGET = Target(
    name=str(NODE),
    kind="device",
    path=NODE,
    capacity_bytes=1 << 30,
    logical_block_bytes=4096,
    direct_align_bytes=4096,
    identity=Identity(),
    label="a drive",
)
HINT = 1 << 5
"""A workload hint, which the dword has above the number of the state."""


def identity(*most_w: float, idle: int | None = None) -> bytes:
    """Identify Controller with these power states; `idle` is the number of one that is not operational."""
    data = bytearray(4096)
    data[263] = len(most_w) - 1
    for number, watts in enumerate(most_w):
        at = 2048 + 32 * number
        data[at : at + 2] = round(watts * 100).to_bytes(2, "little")
        data[at + 3] = (number == idle) << 1
    return bytes(data)


class Drive:
    """A controller with three power states. `refuses` and `sticks`: how it takes a new one."""

    def __init__(self, now: int = HINT, *, refuses: bool = False, sticks: bool = False) -> None:
        self.now, self.refuses, self.sticks = now, refuses, sticks

    def admin(self, path: Path) -> Callable[..., bytes]:
        return lambda *command: identity(25, 14, 8, 0.01, idle=3)

    def of(self, path: Path) -> "Drive":
        return self

    def get(self, feature: int) -> int:
        assert feature == POWER_MANAGEMENT
        return self.now

    def set(self, feature: int, value: int) -> None:
        assert feature == POWER_MANAGEMENT
        if self.refuses:
            raise OSError("NVMe status 0x10e")
        if not self.sticks:
            self.now = value


@pytest.fixture(autouse=True)
def _attached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def block_device(path: Path) -> BlockDevice:
        (tmp_path / path.name / "device").mkdir(parents=True, exist_ok=True)
        return BlockDevice(tmp_path / path.name, tmp_path)

    monkeypatch.setattr(power_states, "block_device", block_device)


def held(drive: Drive, number: int | None, before: dict[str, int] | None = None):
    return held_in([TARGET], number, before or {}, drive.admin, drive.of)


def test_a_drive_is_in_the_state_during_the_run_and_in_its_own_after_it() -> None:
    drive = Drive()
    with held(drive, 2) as found:
        assert drive.now == HINT | 2
        assert [(one.drive, one.state.most_w, one.before) for one in found] == [("nvme9n7", 8.0, HINT)]
    assert drive.now == HINT


def test_a_second_run_does_not_change_the_state_that_a_first_one_holds() -> None:
    drive = Drive()
    with held(drive, 2):
        refused = rf"^{NODE}: another run holds its drive in a power state; wait for it$"
        with pytest.raises(RefusedError, match=refused), held(drive, 1):
            pass
        assert drive.now == HINT | 2
    with held(drive, 1):
        assert drive.now == HINT | 1


def test_namespaces_of_one_controller_are_held_together(tmp_path: Path) -> None:
    drive, other = Drive(), replace(TARGET, name="/dev/nvme9n8", path=NODE.with_name("nvme9n8"))
    (tmp_path / "nvme9").mkdir()
    for name in (NODE.name, "nvme9n8"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "device").symlink_to(tmp_path / "nvme9")
    with held_in([TARGET, other], 2, {}, drive.admin, drive.of) as both:
        assert [one.drive for one in both] == ["nvme9n7", "nvme9n8"]
        with pytest.raises(RefusedError, match="another run holds"), held(drive, 1):
            pass
    assert drive.now == HINT


def test_without_a_state_nothing_is_asked_or_set() -> None:
    drive = Drive(refuses=True)
    with held(drive, None) as found:
        assert found == []


def test_a_run_that_fails_puts_its_drive_back_too() -> None:
    drive = Drive()
    with pytest.raises(FathomError, match=r"^the target died$"), held(drive, 1):
        raise FathomError("the target died")
    assert drive.now == HINT


def test_a_resumed_run_puts_back_what_its_first_part_found() -> None:
    drive = Drive(now=2)
    with held(drive, 2, {"nvme9n7": HINT | 1}):
        pass
    assert drive.now == HINT | 1


def test_the_state_to_put_back_is_read_from_the_run() -> None:
    recorded = {"power_state": {"number": 2, "most_w": {"nvme9n7": 8.0}, "before": {"nvme9n7": HINT}}}
    assert power_states_of(recorded) == (2, {"nvme9n7": HINT})
    assert power_states_of({"cpus": 2}) == (None, {})


def test_a_drive_that_refuses_the_state_is_not_run() -> None:
    drive = Drive(refuses=True)
    with pytest.raises(RefusedError, match="does not take power state 1: NVMe status 0x10e"), held(drive, 1):
        pytest.fail("it ran")
    drive = Drive(sticks=True)
    with pytest.raises(RefusedError, match="stays in power state 0 when set to 1"), held(drive, 1):
        pytest.fail("it ran")


def test_a_drive_that_cannot_be_read_back_is_put_back_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    drive = Drive()
    reads = iter([HINT])

    def get(feature: int) -> int:
        if (value := next(reads, None)) is None:
            raise OSError("no answer")
        return value

    monkeypatch.setattr(drive, "get", get)
    with (
        pytest.raises(RefusedError, match="does not show that it took power state 2: no answer"),
        held(drive, 2),
    ):
        pytest.fail("it ran")
    assert drive.now == HINT


def test_two_namespaces_of_one_controller_leave_it_as_the_first_found_it() -> None:
    drive, other = Drive(), Path("/dev/nvme9n8")
    both = [TARGET, replace(TARGET, name=str(other), path=other)]
    with held_in(both, 2, {}, drive.admin, drive.of) as found:
        assert [one.drive for one in found] == ["nvme9n7", "nvme9n8"]
    assert drive.now == HINT


def test_a_drive_that_was_reset_during_the_run_is_named_at_its_end() -> None:
    drive = Drive()

    def dies() -> None:
        with held(drive, 2):
            drive.refuses = True
            raise FathomError("the target died")

    with pytest.raises(
        FathomError, match="the target died; nvme9n7 could not be put back into power state 0: NVMe"
    ):
        dies()


def test_states_that_a_drive_lacks_or_has_for_idling_are_refused() -> None:
    drive = Drive()
    with pytest.raises(RefusedError, match="has no power state 4"):
        check_power_state(TARGET, 4, drive.admin)
    with pytest.raises(RefusedError, match="power state 3 is for idle drives"):
        check_power_state(TARGET, 3, drive.admin)
    assert [one.number for one in check_power_state(TARGET, 2, drive.admin).values()] == [2]


def test_what_is_no_bare_nvme_drive_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="is no NVMe drive"):
        check_power_state(replace(TARGET, path=Path("/dev/sda")), 1)
    with pytest.raises(
        RefusedError, match="a file system on a device: --power-state works on bare NVMe drives"
    ):
        check_power_state(replace(TARGET, makes="xfs"), 1)
    with pytest.raises(RefusedError, match="--power-state works on bare NVMe drives"):
        fathom.run("four-corners", f"file:{tmp_path / 'x'}", size_bytes=1 << 24, power_state=1, out=tmp_path)
    assert not list(tmp_path.glob("*/run.json"))
    assert not (tmp_path / "x").exists()


def test_hosts_are_not_asked_to_set_power_states(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="works only on this machine's own drives"):
        fathom.run("four-corners", "null:", local_hosts=2, power_state=1, out=tmp_path)


SHORT = """schema = "fathom-method/1"
name = "short"
[[steps]]
name = "reads"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 4 }
until = { count = 1000 }
"""


FILLED = SHORT.replace(
    "[[steps]]",
    """[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 32 }, until = { written = "1x" } }
[[steps]]""",
).replace("count = 1000", 'time = "1s"')


def test_words_name_states_and_all_are_those_that_take_io() -> None:
    drive = Drive()
    assert states_of("2,0", [TARGET], drive.admin) == (2, 0)
    assert states_of("all", [TARGET], drive.admin) == (0, 1, 2)
    for word, message in (
        ("1,1", "a state appears twice"),
        ("0,x", "numbers from 0 to 31"),
        ("", "numbers from 0 to 31"),
        ("32", "numbers from 0 to 31"),
    ):
        with pytest.raises(UsageError, match=message):
            states_of(word, [TARGET], drive.admin)
    with pytest.raises(RefusedError, match="power state 3 is for idle drives"):
        states_of("0,3", [TARGET], drive.admin)


@pytest.fixture
def attached(monkeypatch: pytest.MonkeyPatch) -> Drive:
    """`null:` as if it were an NVMe drive with power states."""
    drive = Drive()
    controller = parse_controller(identity(25, 14, 8, 0.01, idle=3))
    assert controller

    def states(target: Target, admin: object):
        return {NODE: controller.power_states}

    monkeypatch.setattr(power_states, "states_by_drive", states)
    monkeypatch.setattr(words, "states_by_drive", states)
    monkeypatch.setattr(begin, "held_in", partial(held_in, admin=drive.admin, features=drive.of))
    return drive


def test_one_command_runs_in_each_state_and_leaves_the_drive_as_it_was(
    attached: Drive, tmp_path: Path
) -> None:
    method = tmp_path / "short.toml"
    method.write_text(SHORT)
    seen: list[int] = []
    runs = fathom.run_in_power_states(
        str(method), "null:", out=tmp_path, progress=lambda target, progress: seen.append(attached.now)
    )
    assert [run.document.power_state for run in runs] == [0, 1, 2]
    assert list(dict.fromkeys(seen)) == [HINT, HINT | 1, HINT | 2]
    assert attached.now == HINT
    page = fathom.write_report(runs).read_text()
    assert "at most 14 W" in page


def test_an_interrupt_puts_the_drive_back_and_leaves_the_other_states(
    attached: Drive, tmp_path: Path
) -> None:
    method = tmp_path / "short.toml"
    method.write_text(SHORT.replace("count = 1000", 'time = "60s"'))
    stop = Event()

    def watch(target: str, progress: object) -> None:
        if attached.now == HINT | 2:
            stop.set()

    with pytest.raises(FathomError, match="interrupted"):
        fathom.run_in_power_states(str(method), "null:", (2, 1), out=tmp_path, interrupt=stop, progress=watch)
    assert attached.now == HINT
    assert len(list(tmp_path.glob("*/run.json"))) == 1


def test_a_state_that_is_not_there_is_refused_before_the_first_run(attached: Drive, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="has no power state 7"):
        fathom.run_in_power_states("four-corners", "null:", (0, 7), out=tmp_path)
    assert not list(tmp_path.glob("*/run.json"))


def test_a_twin_runs_in_each_of_its_states_and_the_page_lays_them_side_by_side(tmp_path: Path) -> None:
    method = tmp_path / "short.toml"
    method.write_text(FILLED.replace("uniform", "sequential").replace("4KiB", "128KiB"))
    twin = "twin:samsung-pm9a3-7.68tb?power_states=25+7"
    runs = fathom.run_in_power_states(str(method), twin, out=tmp_path)
    assert [run.document.targets[0].name for run in runs] == [f"{twin},power_state={n}" for n in (0, 1)]
    first, second = (run.points.to_pylist()[0] for run in runs)
    assert second["iops"] < first["iops"]
    assert second["joules"] / second["window_s"] == pytest.approx(7, rel=0.1)
    page = fathom.write_report(runs).read_text()
    assert "Power states" in page
    assert "at most 7 W" in page
    assert "power state 1 costs most in" in page
    with pytest.raises(RefusedError, match="no source states their watts"):
        fathom.run_in_power_states(str(method), "twin:samsung-pm9a3-7.68tb", out=tmp_path)


def test_a_state_that_lets_every_workload_run_as_before_costs_nothing(tmp_path: Path) -> None:
    method = tmp_path / "short.toml"
    twin = "twin:samsung-pm9a3-7.68tb?power_states=25+20"
    said = "in power state 1 no workload falls below 99\u00a0% of its rate in state 0"
    for text, claimed in ((FILLED, True), (SHORT, False)):
        method.write_text(text)
        runs = fathom.run_in_power_states(str(method), twin, out=tmp_path / str(claimed))
        page = fathom.write_report(runs).read_text()
        assert (said in page) is claimed
        assert "costs most" not in page


@pytest.mark.parametrize(
    ("settings", "word", "message"),
    [
        ("", "0", "has no power states: no source states their watts; set them"),
        ("?power_states=25+14", "0,2", "has no power state 2: states 0 to 1 are stated"),
        ("?power_states=25", "1", "has no power state 1: state 0 alone is stated"),
    ],
)
def test_a_state_that_a_twin_lacks_is_refused_before_the_first_of_them_runs(
    settings: str, word: str, message: str
) -> None:
    [twin] = resolve_targets([f"twin:samsung-pm9a3-7.68tb{settings}"])
    with pytest.raises(RefusedError, match=message):
        states_of(word, [twin])
