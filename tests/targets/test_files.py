import errno
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path

import pytest
from loop_devices import Loops, sh
from meanwhile import meanwhile

from fathom._core import Job
from fathom.errors import ExitCode, FathomError, RefusedError, UsageError
from fathom.load.backend import EngineBackend
from fathom.load.initiator import ThisMachine
from fathom.plan.review import review_method, review_targets
from fathom.targets import file_hold, file_making, scratch
from fathom.targets.claim import check_target, claim, recheck
from fathom.targets.file_making import remove_file
from fathom.targets.file_path import target_path
from fathom.targets.files import SCRATCH_NAME, file_target
from fathom.targets.mounts import Mount
from fathom.targets.own_file import file_bytes, own
from fathom.targets.scratch import scratch_file
from fathom.targets.target import Target

MIB = 1 << 20
WHOLE = file_bytes(MIB)
"""Bytes of a file whose load sees a MiB."""


def make(path: Path, size_bytes: int = MIB, *, writes: bool = True) -> Target:
    with claim(file_target(path, size_bytes), writes=writes) as ready:
        return copy(ready)


def refused(target: Target, *, writes: bool = True) -> str:
    with pytest.raises(RefusedError) as caught:
        check_target(target, writes=writes)
    return str(caught.value)


def test_an_absent_file_is_made_with_its_blocks_reserved_and_marked(tmp_path: Path):
    path = tmp_path / "x.bin"
    ready = make(path)
    assert (path.stat().st_size, ready.capacity_bytes) == (WHOLE, MIB)
    assert path.stat().st_blocks * 512 >= MIB
    assert own(path)
    assert ready.direct_align_bytes in (512, 4096)


def test_a_file_is_never_seen_half_made_and_a_killed_run_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[Path] = []

    def killed() -> None:
        seen.extend(tmp_path.iterdir())
        raise KeyboardInterrupt

    meanwhile(monkeypatch, file_making, "allocate", killed)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "x.bin")
    assert [*seen, *tmp_path.iterdir()] == []


def test_a_file_that_another_run_makes_meanwhile_is_in_use_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "x.bin"
    meanwhile(monkeypatch, file_making, "allocate", lambda: make(path))
    with pytest.raises(RefusedError, match="another Fathom run is using it"):
        make(path)
    assert own(path)


def test_a_file_of_others_that_comes_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.bin"
    meanwhile(monkeypatch, file_making, "allocate", lambda: path.write_text("thesis"))
    with pytest.raises(RefusedError, match="another file has taken its place"):
        make(path)
    assert path.read_text() == "thesis"


def test_describing_and_checking_a_file_makes_nothing(tmp_path: Path):
    check_target(file_target(tmp_path / "x.bin", MIB), writes=True)
    assert list(tmp_path.iterdir()) == []


def test_an_own_file_is_used_again_and_takes_the_size_asked_for(tmp_path: Path):
    path = tmp_path / "x.bin"
    make(path)
    inode = path.stat().st_ino
    make(path, 2 * MIB)
    assert (path.stat().st_ino, path.stat().st_size) == (inode, file_bytes(2 * MIB))
    make(path, MIB)
    assert path.stat().st_size == WHOLE
    assert own(path)
    assert file_target(path, None).capacity_bytes == MIB


def test_somebody_elses_file_is_read_but_never_written(tmp_path: Path):
    path = tmp_path / "thesis.tex"
    path.write_bytes(b"x" * 8192)
    target = file_target(path, None)
    assert target.capacity_bytes == 8192
    with claim(target, writes=False):
        pass
    assert "was not made by Fathom" in refused(target)
    with pytest.raises(RefusedError), claim(target, writes=True):
        pass
    assert path.read_bytes() == b"x" * 8192


def test_somebody_elses_file_is_not_extended(tmp_path: Path):
    path = tmp_path / "thesis.tex"
    path.write_bytes(b"x" * 8192)
    with pytest.raises(RefusedError, match="not extended"):
        file_target(path, MIB)
    assert path.stat().st_size == 8192


def test_a_copy_of_an_own_file_with_all_its_attributes_is_not_own(tmp_path: Path):
    make(tmp_path / "x.bin")
    sh("cp", "--archive", tmp_path / "x.bin", tmp_path / "copy.bin")
    assert os.getxattr(tmp_path / "copy.bin", "user.fathom")
    assert not own(tmp_path / "copy.bin")


def test_a_renamed_own_file_stays_own(tmp_path: Path):
    make(tmp_path / "x.bin")
    moved = (tmp_path / "x.bin").rename(tmp_path / "y.bin")
    assert own(moved)


@pytest.fixture
def no_xattrs(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object, **__: object) -> bytes:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "setxattr", unsupported)
    monkeypatch.setattr(os, "getxattr", unsupported)


@pytest.mark.usefixtures("no_xattrs")
def test_without_extended_attributes_a_side_car_marks_the_file(tmp_path: Path):
    path = tmp_path / "x.bin"
    target = make(path)
    assert (tmp_path / ".x.bin.fathom-mark").exists()
    assert own(path)
    remove_file(target)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_xattrs")
def test_a_side_car_does_not_vouch_for_another_file_of_that_name(tmp_path: Path):
    path = tmp_path / "x.bin"
    make(path)
    path.unlink()
    path.write_bytes(b"x" * MIB)
    assert "was not made by Fathom" in refused(file_target(path, MIB))


def test_only_own_files_are_removed(tmp_path: Path):
    path = tmp_path / "thesis.tex"
    path.write_bytes(b"x" * 8192)
    remove_file(file_target(path, None))
    assert path.exists()
    own = make(tmp_path / "x.bin")
    remove_file(own)
    assert not (tmp_path / "x.bin").exists()


def test_a_missing_directory_is_one_line_that_names_it(tmp_path: Path):
    with pytest.raises(UsageError) as caught:
        file_target(tmp_path / "no/x.bin", MIB)
    assert f"directory {tmp_path / 'no'} does not exist" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_absent_file_without_a_size_asks_for_one(tmp_path: Path):
    with pytest.raises(UsageError, match="--size"):
        file_target(tmp_path / "x.bin", None)


@pytest.mark.parametrize("content", [b"", b"x" * 100])
def test_a_file_without_a_whole_block_is_a_usage_error(tmp_path: Path, content: bytes):
    (tmp_path / "x.bin").write_bytes(content)
    with pytest.raises(UsageError, match="smaller than one block"):
        file_target(tmp_path / "x.bin", None)


def test_a_file_system_without_locks_is_used_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(file_hold.fcntl, "flock", no_locks)
    make(tmp_path / "x.bin")
    assert (tmp_path / "x.bin").stat().st_size == WHOLE


def test_a_file_on_nfs_is_held_against_a_second_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    local = fcntl.flock

    def nfs(fd: int, how: int) -> None:
        may_write = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE
        if how & fcntl.LOCK_EX and not may_write:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        local(fd, how)

    monkeypatch.setattr(file_hold.fcntl, "flock", nfs)
    make(tmp_path / "x.bin", writes=False)
    with claim(file_target(tmp_path / "x.bin", MIB), writes=True) as first:
        assert first.held
        with pytest.raises(RefusedError, match="another Fathom run is using it"):
            make(tmp_path / "x.bin")


def test_symlinks_and_special_files_are_refused(tmp_path: Path):
    (tmp_path / "x.bin").write_bytes(b"x" * 4096)
    (tmp_path / "link").symlink_to(tmp_path / "x.bin")
    os.mkfifo(tmp_path / "pipe")
    for name, what in [("link", "symbolic link"), ("pipe", "not a regular file")]:
        with pytest.raises(RefusedError, match=what):
            file_target(tmp_path / name, MIB)


def test_a_symlink_put_in_place_of_a_checked_file_is_not_followed(tmp_path: Path):
    (tmp_path / "thesis.tex").write_bytes(b"x" * 8192)
    target = file_target(tmp_path / "x.bin", MIB)
    (tmp_path / "x.bin").symlink_to(tmp_path / "thesis.tex")
    with pytest.raises(RefusedError, match="symbolic link"), claim(target, writes=True):
        pass
    assert (tmp_path / "thesis.tex").stat().st_size == 8192


BLOCKS = {"block": "4KiB", "pattern": "sequential", "load": {"threads": 1}, "until": {"count": 8}}


def swap_in(path: Path, other: Path) -> None:
    """Puts `other` in the place of the file at `path`, as a rename does: at once."""
    other.rename(path)


def test_a_file_put_in_place_of_one_that_is_held_is_neither_written_nor_read(tmp_path: Path):
    thesis, content = tmp_path / "thesis.tex", b"x" * MIB
    for op in ("write", "read"):
        thesis.write_bytes(content)
        job = Job(json.dumps(BLOCKS | {"mix": op}))
        with claim(file_target(tmp_path / f"{op}.bin", MIB), writes=True) as ready:
            swap_in(tmp_path / f"{op}.bin", thesis)
            with pytest.raises(FathomError, match="another file or device has taken its place"):
                EngineBackend([ready]).start(job, seed=1)
        assert (tmp_path / f"{op}.bin").read_bytes() == content


def test_a_file_put_in_place_of_a_checked_one_is_not_given_another_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, thesis = tmp_path / "x.bin", tmp_path / "thesis.tex"
    make(path)
    thesis.write_bytes(b"x" * MIB)
    # The last look before the file is opened and cut.
    monkeypatch.setattr(file_making, "free_bytes", lambda _: swap_in(path, thesis) or 1 << 40)
    with pytest.raises(RefusedError, match="has taken its place"):
        make(path, 8192)
    assert path.stat().st_size == MIB


def test_another_file_of_fathoms_own_that_took_the_place_of_a_held_one_fails_the_recheck(tmp_path: Path):
    path = tmp_path / "x.bin"
    make(tmp_path / "y.bin")
    with claim(file_target(path, MIB), writes=True) as ready:
        recheck(ready, writes=True)
        swap_in(path, tmp_path / "y.bin")
        with pytest.raises(RefusedError, match="has taken its place"):
            recheck(ready, writes=True)


def test_a_directory_and_a_device_as_file_say_how_to_write_them(tmp_path: Path):
    with pytest.raises(UsageError, match=f"dir:{tmp_path}"):
        file_target(tmp_path, MIB)
    node = next((n for n in Path("/dev").iterdir() if n.is_block_device()), None)
    if node is not None:
        with pytest.raises(UsageError, match=f"write {node} without file:"):
            file_target(node, MIB)


def test_two_runs_cannot_write_one_file_but_can_read_it(tmp_path: Path):
    path = tmp_path / "x.bin"
    target = make(path)
    with (
        claim(target, writes=True),
        pytest.raises(RefusedError, match="another Fathom run"),
        claim(target, writes=False),
    ):
        pass
    with claim(target, writes=False), claim(target, writes=False):
        pass


def test_a_file_that_backs_a_loop_device_is_refused(loops: Loops, tmp_path: Path):
    path = tmp_path / "x.bin"
    target = make(path)
    node = loops.attach(path)
    assert f"in use by {node.name}" in refused(target)


def test_a_file_that_was_replaced_shrunk_or_removed_fails_the_recheck(tmp_path: Path):
    path = tmp_path / "x.bin"
    target = make(path)
    recheck(target, writes=True)
    os.truncate(path, 4096)
    with pytest.raises(RefusedError, match="changed by others"):
        recheck(target, writes=True)
    with pytest.raises(RefusedError, match="shrunk"):
        recheck(target, writes=False)
    path.unlink()
    with pytest.raises(FathomError, match="gone"):
        recheck(target, writes=True)
    path.write_bytes(b"x" * MIB)
    # File systems differ in whether the new file gets the number of the old one.
    with pytest.raises(RefusedError, match=r"not made by Fathom|another file has taken its place"):
        recheck(target, writes=True)


def test_too_little_space_is_said_before_anything_is_written(
    small_ext4: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    point = small_ext4()
    monkeypatch.setattr(file_making, "fallocate", lambda *_: pytest.fail("space was reserved"))
    with pytest.raises(FathomError) as caught:
        make(point / "x.bin", 64 * MIB)
    assert "needs 64 MiB" in str(caught.value)
    assert "MiB free" in str(caught.value)
    assert caught.value.exit_code == ExitCode.FAILED
    assert not (point / "x.bin").exists()


def test_a_disk_that_fills_while_space_is_reserved_leaves_no_file(
    small_ext4: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    point = small_ext4()
    before = os.statvfs(point).f_bavail
    monkeypatch.setattr(file_making, "free_bytes", lambda _: 1 << 40)
    with pytest.raises(FathomError, match="not enough space"):
        make(point / "x.bin", 64 * MIB)
    assert not (point / "x.bin").exists()
    assert os.statvfs(point).f_bavail == before


def test_growing_an_own_file_on_a_full_disk_leaves_it_as_it_was(
    small_ext4: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    path = small_ext4() / "x.bin"
    make(path)
    monkeypatch.setattr(file_making, "free_bytes", lambda _: 1 << 40)
    with pytest.raises(FathomError, match="not enough space"):
        make(path, 64 * MIB)
    assert path.stat().st_size == WHOLE
    assert own(path)


def test_a_read_only_file_system_is_one_line(small_ext4: Callable[..., Path]):
    point = small_ext4("-o", "ro")
    with pytest.raises(FathomError, match="the file system is read-only"):
        make(point / "x.bin")


def test_an_immutable_file_is_one_line(small_ext4: Callable[..., Path]):
    path = small_ext4() / "x.bin"
    target = make(path)
    sh("chattr", "+i", path)
    try:
        with pytest.raises(FathomError, match="no permission"), claim(target, writes=True):
            pass
        with claim(target, writes=False):
            pass
    finally:
        sh("chattr", "-i", path)


@pytest.fixture
def nobody() -> Iterator[Path]:
    """A directory that an ordinary user owns, with the test running as that user."""
    if os.geteuid() != 0:
        pytest.skip("changing the user needs root")
    directory = Path(tempfile.mkdtemp())
    os.chown(directory, 65534, 65534)
    os.seteuid(65534)
    yield directory
    os.seteuid(0)
    shutil.rmtree(directory)


def test_a_directory_or_file_without_permission_is_one_line(nobody: Path):
    target = make(nobody / "x.bin")
    (nobody / "x.bin").chmod(0o400)
    with pytest.raises(FathomError, match="no permission"), claim(target, writes=True):
        pass
    nobody.chmod(0o500)
    with pytest.raises(FathomError, match="no permission"):
        make(nobody / "y.bin")


def test_a_file_system_that_only_pretends_o_direct_is_refused(small_ext4: Callable[..., Path]):
    point = small_ext4("-o", "data=journal")
    with pytest.raises(FathomError, match="ext4 as mounted has no O_DIRECT"):
        make(point / "x.bin")
    assert not (point / "x.bin").exists()


def test_a_file_system_that_cannot_reserve_space_is_used_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def unsupported(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(file_making, "fallocate", unsupported)
    ready = make(tmp_path / "x.bin")
    assert (tmp_path / "x.bin").stat().st_size == WHOLE
    assert "reserves no space" in ready.notes[0]


def test_a_file_knows_its_file_system_mount_and_device(loops: Loops):
    node = loops.attach()
    sh("mkfs.ext4", "-q", node)
    point = loops.mount(node, "-o", "noatime")
    identity = file_target(point / "x.bin", MIB).identity
    assert (identity.file_system, identity.mount_point) == ("ext4", str(point))
    assert "noatime" in (identity.mount_options or "")
    assert (identity.device, identity.logical_block_bytes) == (node.name, 512)


def test_the_scratch_file_is_as_large_as_asked_where_there_is_room(tmp_path: Path):
    target = scratch_file(tmp_path, 8 * MIB)
    assert (target.capacity_bytes, target.notes) == (8 * MIB, ())
    assert not (tmp_path / SCRATCH_NAME).exists()


def test_a_review_makes_the_directory_of_its_scratch_file(tmp_path: Path):
    mine, *twins = review_targets(
        review_method(full=False), [], tmp_path / "new" / "runs", 8 * MIB, ThisMachine()
    )
    assert mine.path == tmp_path / "new" / "runs" / "fathom-scratch.bin"
    assert {one.kind for one in twins} == {"twin"}


def test_a_scratch_file_that_was_copied_is_left_alone_and_another_made_beside_it(tmp_path: Path):
    with claim(scratch_file(tmp_path, MIB), writes=True):
        original = tmp_path / SCRATCH_NAME
        copy = tmp_path / "copy"
        copy.mkdir()
        sh("cp", "--preserve=all", original, copy)
        kept = (copy / SCRATCH_NAME).read_bytes()
    with claim(scratch_file(copy, MIB), writes=True) as beside:
        assert beside.path == copy / "fathom-scratch-2.bin"
    assert (copy / SCRATCH_NAME).read_bytes() == kept


def test_the_scratch_file_is_smaller_where_there_is_less_room_and_says_so(loops: Loops):
    node = loops.attach(256 * MIB)
    sh("mkfs.ext4", "-q", node)
    point = loops.mount(node)
    target = scratch_file(point)
    room = os.statvfs(point)
    assert 64 * MIB <= target.capacity_bytes <= 0.9 * room.f_bavail * room.f_frsize
    assert "instead of 4 GiB" in target.notes[0]
    with claim(target, writes=True):
        left = os.statvfs(point)
        assert left.f_bavail >= 0.09 * room.f_bavail
    assert scratch_file(point).capacity_bytes >= target.capacity_bytes


def test_no_room_for_a_scratch_file_is_one_line(small_ext4: Callable[..., Path]):
    with pytest.raises(FathomError, match="a scratch file needs 64"):
        scratch_file(small_ext4())


def test_a_file_in_memory_is_named_as_such(loops: Loops, tmp_path: Path):
    point = tmp_path / "memory"
    point.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", point], check=False).returncode != 0:
        pytest.skip("tmpfs cannot be mounted here")
    loops.later("umount", str(point))
    target = scratch_file(point, MIB)
    assert "memory (tmpfs)" in target.label
    assert "not of a drive" in target.notes[0]


def test_without_a_directory_the_scratch_file_avoids_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert scratch_file(None, MIB).path == tmp_path / "cache/fathom" / SCRATCH_NAME
    monkeypatch.setattr(
        scratch, "MEMORY_FILE_SYSTEMS", frozenset({(scratch_file(tmp_path, MIB).identity.file_system)})
    )
    monkeypatch.chdir(tmp_path)
    assert scratch_file(None, MIB).path == tmp_path / SCRATCH_NAME


def test_a_home_on_a_server_gets_a_scratch_file_only_where_no_disk_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    served = [tmp_path]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def mount_of(directory: Path) -> Mount:
        kind = "nfs4" if any(directory.is_relative_to(one) for one in served) else "ext4"
        return Mount("0:9", "/", kind, "nas:/home", "rw")

    monkeypatch.setattr(scratch, "mount_of", mount_of)
    assert target_path(scratch_file(None, MIB)).parent == Path("/var/tmp")
    served.append(Path("/"))
    assert scratch_file(None, MIB).path == tmp_path / "cache/fathom" / SCRATCH_NAME
