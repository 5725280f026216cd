"""File systems that Fathom makes on devices: on loop devices, from the first check to what a run leaves behind."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from loop_devices import Loops, sh

import fathom
from fathom.errors import FathomError, InterruptedRunError, RefusedError, UsageError
from fathom.load.resolve import resolve_targets
from fathom.method.method import Step, load_method
from fathom.plan.file_system import with_file_system
from fathom.runs.document import RunDocument
from fathom.runs.store import StepOutcome
from fathom.session import Options, SilentObserver, resume_run, start_run
from fathom.targets import mkfs
from fathom.targets.claim import check_target, claim
from fathom.targets.mkfs import MAKERS, check_maker
from fathom.targets.mounts import mount_of
from fathom.targets.parse import parse_target
from fathom.targets.target import Identity, Target

KEPT = ("fill", "64k-seq-read", "64k-rand-read", "64k-rand-write")
TWO_STEPS = """schema = "fathom-method/1"
name = "two"
[[steps]]
name = "fill"
kind = "fill"
[steps.job]
mix = "write"
block = "1MiB"
pattern = "sequential"
direct = false
load = { threads = 1 }
until = { written = "1x" }
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "64KiB"
pattern = "uniform"
direct = false
load = { threads = 1 }
until = { count = 50 }
"""
SIZE = 512 << 20
FILE = 32 << 20


def made(node: Path, file_system: str) -> Target:
    if shutil.which(MAKERS[file_system].program) is None:
        pytest.skip(f"{MAKERS[file_system].program} is not installed")
    return parse_target(f"{node}/{file_system}", size_bytes=FILE)


def token(node: Path) -> str:
    identity = parse_target(str(node)).identity
    return f"{identity.device}:{identity.backing_file}"


@pytest.mark.parametrize("file_system", ["btrfs", "xfs", "ext4"])
def test_a_device_becomes_one_file_and_is_empty_again_afterwards(loops: Loops, file_system: str) -> None:
    node = loops.attach(SIZE)
    target = made(node, file_system)
    with claim(target, writes=False, destroy_tokens=[token(node)]) as ready:
        assert ready.path is not None
        place = mount_of(ready.path)
        assert place is not None
        assert (ready.name, ready.kind, ready.capacity_bytes) == (f"{node}/{file_system}", "dir", FILE)
        assert (place.file_system, ready.identity.device, ready.identity.file_system) == (
            file_system,
            node.name,
            file_system,
        )
        with pytest.raises(RefusedError, match="mounted"):
            check_target(parse_target(str(node)), writes=True, destroy_tokens=[token(node)])
    assert ready.path is not None
    assert not ready.path.parent.exists()
    check_target(parse_target(str(node)), writes=True, destroy_tokens=[token(node)])


def test_nothing_is_made_without_the_devices_token_or_on_what_holds_data(loops: Loops) -> None:
    node = loops.attach(64 << 20)
    target = made(node, "ext4")
    before = node.read_bytes()
    with pytest.raises(RefusedError, match="this destroys all data on it"):
        check_target(target, writes=False)
    sh("mkfs.ext4", "-q", node)
    assert before != node.read_bytes()
    with pytest.raises(RefusedError, match="holds ext"):
        check_target(target, writes=True, destroy_tokens=[token(node)])


def test_what_cannot_be_made_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    zoned = Target(
        name="/dev/sdz/xfs",
        kind="device",
        path=Path("/dev/sdz"),
        capacity_bytes=1 << 30,
        logical_block_bytes=4096,
        direct_align_bytes=4096,
        identity=Identity(zoned="host-managed"),
        label="disk",
        makes="xfs",
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: f"/sbin/{name}")
    with pytest.raises(UsageError, match=r"xfs writes in place, which .* refuses.*use /dev/sdz/btrfs"):
        check_maker(zoned)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UsageError, match="needs root"):
        check_maker(zoned)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match=r"mkfs\.xfs is not installed"):
        check_maker(zoned)


class Interrupting(SilentObserver):
    """Interrupts the run when its first step has ended."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        self.options.interrupt.set()


def test_an_interrupted_run_leaves_its_file_system_for_resume_alone(loops: Loops, tmp_path: Path) -> None:
    node = loops.attach(SIZE)
    target, options = made(node, "ext4"), Options(destroy=(token(node),), out=tmp_path)
    options.observer = Interrupting(options)
    (tmp_path / "two.toml").write_text(TWO_STEPS)
    method = load_method(str(tmp_path / "two.toml"))
    with pytest.raises(InterruptedRunError):
        start_run(method, [target], options)
    [path] = tmp_path.glob("*/run.json")
    with pytest.raises(RefusedError, match="holds ext"):
        start_run(method, [target], Options(destroy=(token(node),), out=tmp_path))
    run = resume_run(path.parent, Options(destroy=(token(node),)))
    [row] = run.points.to_pylist()
    assert (row["step"], row["errors"]) == ("read", 0)
    assert check_target(parse_target(str(node)), writes=True, destroy_tokens=[token(node)])


def test_a_file_system_that_a_killed_run_left_mounted_is_unmounted_by_resume_unless_it_is_in_use(
    loops: Loops, tmp_path: Path
) -> None:
    node = loops.attach(SIZE)
    target, options = made(node, "ext4"), Options(destroy=(token(node),), out=tmp_path / "runs")
    options.observer = Interrupting(options)
    (tmp_path / "two.toml").write_text(TWO_STEPS)
    with pytest.raises(InterruptedRunError):
        start_run(load_method(str(tmp_path / "two.toml")), [target], options)
    [path] = tmp_path.glob("runs/*/run.json")
    left = tmp_path / "fathom-left"
    left.mkdir()
    sh("mount", node, left)
    with (left / "open").open("w"), pytest.raises(FathomError, match="busy"):
        resume_run(path.parent, Options(destroy=(token(node),)))
    assert left.is_mount()
    run = resume_run(path.parent, Options(destroy=(token(node),)))
    assert run.document.status == "complete"
    assert not left.exists()
    assert check_target(parse_target(str(node)), writes=True, destroy_tokens=[token(node)])


def test_a_file_system_of_a_run_that_its_user_has_mounted_elsewhere_is_left(
    loops: Loops, tmp_path: Path
) -> None:
    node = loops.attach(SIZE)
    target, options = made(node, "ext4"), Options(destroy=(token(node),), out=tmp_path / "runs")
    options.observer = Interrupting(options)
    (tmp_path / "two.toml").write_text(TWO_STEPS)
    with pytest.raises(InterruptedRunError):
        start_run(load_method(str(tmp_path / "two.toml")), [target], options)
    [path] = tmp_path.glob("runs/*/run.json")
    point = loops.mount(node)
    with pytest.raises(RefusedError, match=f"mounted on {point}"):
        resume_run(path.parent, Options(destroy=(token(node),)))
    assert point.is_mount()


MAKE = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-L", "fathom"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-L", "fathom"),
    "btrfs": ("mkfs.btrfs", "-q", "-f", "-L", "fathom"),
}


def users_file_system(loops: Loops, node: Path, file_system: str) -> Path:
    """A user's own file system that has the label of Fathom's, mounted, with a file on it."""
    sh(*MAKE[file_system], node)
    point = loops.mount(node)
    (point / "thesis").write_text("three years of work")
    return point


@pytest.mark.parametrize("file_system", ["btrfs", "xfs", "ext4"])
def test_resume_does_not_touch_a_users_own_file_system_of_the_same_label(
    loops: Loops, tmp_path: Path, file_system: str
) -> None:
    node = loops.attach(SIZE)
    target, options = made(node, file_system), Options(destroy=(token(node),), out=tmp_path)
    options.observer = Interrupting(options)
    (tmp_path / "two.toml").write_text(TWO_STEPS)
    with pytest.raises(InterruptedRunError):
        start_run(load_method(str(tmp_path / "two.toml")), [target], options)
    [path] = tmp_path.glob("*/run.json")
    point = users_file_system(loops, node, file_system)
    sh("umount", point)
    with pytest.raises(RefusedError, match=f"refused: holds {file_system[:3]}"):
        resume_run(path.parent, Options(destroy=(token(node),)))
    sh("mount", node, point)
    assert (point / "thesis").read_text() == "three years of work"


def test_the_uuid_of_the_file_system_is_in_run_json_from_the_start(loops: Loops, tmp_path: Path) -> None:
    node = loops.attach(SIZE)
    target, options = made(node, "ext4"), Options(destroy=(token(node),), out=tmp_path)
    options.observer = Interrupting(options)
    (tmp_path / "two.toml").write_text(TWO_STEPS)
    with pytest.raises(InterruptedRunError):
        start_run(load_method(str(tmp_path / "two.toml")), [target], options)
    [path] = tmp_path.glob("*/run.json")
    recorded = RunDocument.load(path.parent).targets[0].identity["file_system_uuid"]
    assert recorded == sh("blkid", "--probe", "--match-tag", "UUID", "--output", "value", node)


def test_a_run_of_an_earlier_version_that_kept_no_uuid_does_not_lift_the_refusal(loops: Loops) -> None:
    node = loops.attach(SIZE)
    sh(*MAKE["ext4"], node)
    with pytest.raises(RefusedError, match="holds ext"):
        check_target(replace(made(node, "ext4"), made=True), writes=True, destroy_tokens=[token(node)])


def test_at_the_end_nothing_is_wiped_that_the_run_did_not_make(
    loops: Loops, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = loops.attach(SIZE)
    run, commands = mkfs._run, []

    def meanwhile(target: Target, *command: str) -> None:
        run(target, *command)
        commands.append(command[0])
        if command[0] == "umount":
            sh(*MAKE["ext4"], node)

    monkeypatch.setattr(mkfs, "_run", meanwhile)
    with (
        pytest.raises(RefusedError, match="holds something other than this run's file system"),
        claim(made(node, "ext4"), writes=True, destroy_tokens=[token(node)]),
    ):
        pass
    assert commands[-1] == "umount"
    assert sh("blkid", "--probe", "--match-tag", "LABEL", "--output", "value", node) == "fathom"


def test_at_the_end_a_file_system_that_is_mounted_elsewhere_too_is_left(loops: Loops, tmp_path: Path) -> None:
    node = loops.attach(SIZE)
    with (
        pytest.raises(RefusedError, match="is in use, so this run's file system stays on it"),
        claim(made(node, "ext4"), writes=True, destroy_tokens=[token(node)]),
    ):
        loops.mount(node)
    assert [path.name for path in tmp_path.glob("mount-*/*.bin")] == ["fathom-scratch.bin"]


def test_another_device_in_the_place_of_the_claimed_one_is_not_wiped(
    loops: Loops, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = loops.attach(SIZE)
    run = mkfs._run

    def meanwhile(target: Target, *command: str) -> None:
        run(target, *command)
        if command[0] == "umount":
            loops.reattach(node, SIZE)
            sh(*MAKE["ext4"], node)

    monkeypatch.setattr(mkfs, "_run", meanwhile)
    with (
        pytest.raises(RefusedError, match="is no longer the same device"),
        claim(made(node, "ext4"), writes=True, destroy_tokens=[token(node)]),
    ):
        pass
    assert sh("blkid", "--probe", "--match-tag", "LABEL", "--output", "value", node) == "fathom"


def test_a_run_whose_file_system_is_gone_does_not_resume_on_another(loops: Loops) -> None:
    node = loops.attach(SIZE)
    target = replace(made(node, "ext4"), made=True)
    with (
        pytest.raises(FathomError, match="the file system that this run made is gone"),
        claim(target, writes=True, destroy_tokens=[token(node)]),
    ):
        pass


def test_a_method_gives_bare_devices_a_file_of_its_regions(loops: Loops) -> None:
    node = loops.attach(SIZE)
    method = load_method("drive-array-filesystem")
    bare, sized = resolve_targets([str(node)]), resolve_targets([f"{node}/ext4"], FILE)
    assert with_file_system(method, bare)[0].name == f"{node}/btrfs"
    assert with_file_system(method, bare)[0].capacity_bytes == SIZE // 3 // 512 * 512
    assert with_file_system(method, sized, FILE)[0].capacity_bytes == FILE


def test_the_method_runs_on_a_device_of_its_own(loops: Loops, tmp_path: Path) -> None:
    node = loops.attach(SIZE)
    if shutil.which("mkfs.btrfs") is None:
        pytest.skip("mkfs.btrfs is not installed")
    head, *steps = load_method("drive-array-filesystem").text.replace('"10min"', '"300ms"').split("[[steps]]")
    kept = [step for step in steps if any(f'name      = "{name}"' in step for name in KEPT)]
    (tmp_path / "short.toml").write_text("[[steps]]".join([head, *kept]))
    run = fathom.run(
        str(tmp_path / "short.toml"), str(node), size_bytes=64 << 20, destroy=[token(node)], out=tmp_path
    )
    points = {row["step"]: row for row in run.points.to_pylist()}
    assert list(points) == list(KEPT[1:])
    assert all(row["errors"] == 0 and row["iops"] > 0 for row in points.values())
    [target] = run.targets
    assert (target.name, target.identity["file_system"]) == (f"{node}/btrfs", "btrfs")
    assert any(note.rule == "cut-region" for note in run.document.notes)
