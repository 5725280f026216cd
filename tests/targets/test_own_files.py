"""What is not Fathom's file any more, or never was: every way in which a user's data may come under its name."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from loop_devices import Loops, sh

from fathom._core import Job
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.load.backend import EngineBackend
from fathom.targets.claim import Claimed, check_target, claim, recheck
from fathom.targets.files import file_target
from fathom.targets.scratch import scratch_file

MIB = 1 << 20
THESIS = b"three years of work\n" * 4096
WHOLE_FILE = {"mix": "write", "block": "64KiB", "pattern": "sequential", "until": {"written": "1x"}}


def make(path: Path, size_bytes: int = MIB) -> Claimed:
    with claim(file_target(path, size_bytes), writes=True) as ready:
        return ready


def load(ready: Claimed) -> None:
    """Writes every byte that a load sees."""
    handle = EngineBackend([ready]).start(Job(json.dumps(WHOLE_FILE | {"load": {"threads": 1}})), seed=1)
    while handle.poll(10.0) or not handle.done():
        pass
    handle.result()


def copied_into(path: Path) -> None:
    """`cp thesis own.bin`: the same inode, the same attributes."""
    thesis = path.with_name("thesis")
    thesis.write_bytes(THESIS)
    sh("cp", thesis, path)


def copied_into_with_its_size(path: Path) -> None:
    size_bytes = path.stat().st_size
    copied_into(path)
    os.truncate(path, size_bytes)


def written_into(path: Path) -> None:
    """`dd conv=notrunc`: the trailer stays."""
    with path.open("r+b") as file:
        file.write(THESIS)


def written_over_its_trailer(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-4096, os.SEEK_END)
        file.write(THESIS[:4096])


def appended_to(path: Path) -> None:
    with path.open("ab") as file:
        file.write(THESIS)


def replaced_by_a_copy_with_its_attributes(path: Path) -> None:
    sh("cp", "--preserve=all", path, path.with_name("copy"))
    path.unlink()
    path.with_name("copy").rename(path)


def given_another_name(path: Path) -> None:
    path.with_name("another").hardlink_to(path)


def marked_by_an_earlier_version(path: Path) -> None:
    os.setxattr(path, "user.fathom", f"fathom-file/2 inode={path.stat().st_ino} born=1".encode())


def given_another_files_mark(path: Path) -> None:
    make(path.with_name("other.bin"))
    os.setxattr(path, "user.fathom", os.getxattr(path.with_name("other.bin"), "user.fathom"))


ATTACKS = [
    (copied_into, "changed by others"),
    (copied_into_with_its_size, "changed by others"),
    (written_into, "changed by others"),
    (written_over_its_trailer, "changed by others"),
    (appended_to, "changed by others"),
    (replaced_by_a_copy_with_its_attributes, "copied from a file"),
    (given_another_name, "several names"),
    (marked_by_an_earlier_version, r"earlier version of Fathom.*remove it"),
    (given_another_files_mark, "copied from a file"),
]


@pytest.mark.parametrize(("attack", "why"), ATTACKS)
def test_an_own_file_that_others_had_their_hands_on_is_not_written(
    tmp_path: Path, attack: Callable[[Path], None], why: str
) -> None:
    path = tmp_path / "x.bin"
    make(path)
    attack(path)
    content = path.read_bytes()
    for size_bytes in (None, 4096):
        with pytest.raises(RefusedError, match=why), claim(file_target(path, size_bytes), writes=True):
            pass
    assert path.read_bytes() == content


@pytest.mark.parametrize("attack", [given_another_name, written_over_its_trailer, copied_into])
def test_a_held_file_that_others_change_fails_the_recheck(
    tmp_path: Path, attack: Callable[[Path], None]
) -> None:
    path = tmp_path / "x.bin"
    with claim(file_target(path, MIB), writes=True) as ready:
        recheck(ready, writes=True)
        attack(path)
        with pytest.raises(RefusedError, match="not overwritten"):
            recheck(ready, writes=True)


def test_a_file_stays_fathoms_through_loads_that_write_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    for _ in range(2):
        with claim(file_target(path, MIB), writes=True) as ready:
            load(ready)
            recheck(ready, writes=True)
    assert file_target(path, None).capacity_bytes == MIB
    assert any(path.read_bytes()[:MIB])


def left_by_a_killed_run(path: Path) -> None:
    """A file of 4 MiB whose run was killed in the middle of it: half of it is written."""
    code = (
        "import json, os, sys\n"
        "from pathlib import Path\n"
        "from fathom._core import Job\n"
        "from fathom.load.backend import EngineBackend\n"
        "from fathom.targets.claim import claim\n"
        "from fathom.targets.files import file_target\n"
        "job = {'mix': 'write', 'block': '64KiB', 'pattern': 'sequential', 'load': {'threads': 1}}\n"
        "with claim(file_target(Path(sys.argv[1]), 4 << 20), writes=True) as ready:\n"
        "    job = Job(json.dumps(job | {'until': {'bytes': '2MiB'}}))\n"
        "    EngineBackend([ready]).start(job, seed=1).result()\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -9
    assert b"written=open" in os.getxattr(path, "user.fathom")
    assert any(path.read_bytes()[: 2 * MIB])


def test_a_file_that_a_killed_run_left_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    left_by_a_killed_run(path)
    make(path, 4 * MIB)
    written_into(path)
    with pytest.raises(RefusedError, match="changed by others"):
        make(path, 4 * MIB)


@pytest.mark.parametrize("offset", [0, 64 * 1024, 4 * MIB - len(THESIS)])
def test_a_file_that_a_killed_run_left_and_others_wrote_into_is_not_written(
    tmp_path: Path, offset: int
) -> None:
    path = tmp_path / "fathom-scratch.bin"
    left_by_a_killed_run(path)
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(THESIS)
    content = path.read_bytes()
    with pytest.raises(RefusedError, match="changed by others"):
        make(path, 4 * MIB)
    assert path.read_bytes() == content
    assert scratch_file(tmp_path, want_bytes=64 * MIB).path == tmp_path / "fathom-scratch-2.bin"


def test_a_resumed_run_goes_on_with_the_file_that_it_began_with_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    began = make(path)
    again = file_target(path, MIB)
    resumed = replace(again, made=True, identity=replace(again.identity, file_uuid=began.identity.file_uuid))
    check_target(resumed, writes=True)
    path.unlink()
    make(path)
    with pytest.raises(RefusedError, match=r"is not the file that this run began with.*; start a new run$"):
        check_target(resumed, writes=True)


def test_a_file_that_another_run_gave_another_size_meanwhile_is_none_to_resume_on(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    began = make(path, 4 * MIB)
    for size_bytes in (MIB, 4 * MIB):
        make(path, size_bytes)
        again = file_target(path, 4 * MIB)
        identity = replace(again.identity, file_uuid=began.identity.file_uuid)
        with pytest.raises(RefusedError, match="was given another size since"):
            check_target(replace(again, made=True, identity=identity), writes=False)


@pytest.fixture
def no_xattrs(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object, **__: object) -> bytes:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "setxattr", unsupported)
    monkeypatch.setattr(os, "getxattr", unsupported)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that everybody may write to, as /tmp without its sticky bit."""
    if os.geteuid() != 0:
        pytest.skip("acting as another user needs root")
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o777)
    yield directory
    shutil.rmtree(directory)


FORGE = """
import os, sys
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
path, mark = sys.argv[1:]
os.replace(mark + ".new", mark) if os.path.exists(mark + ".new") else None
with open(mark, "wb") as file:
    file.write(os.environ["MARK"].encode())
"""


def forge(path: Path, text: str) -> None:
    """Writes a side-car beside the file as another user."""
    mark = path.with_name(f".{path.name}.fathom-mark")
    subprocess.run([sys.executable, "-c", FORGE, path, mark], check=True, env=os.environ | {"MARK": text})


def mark_of(path: Path, version: int) -> str:
    from fathom.targets.syscalls import statx

    status, born = path.stat(), statx(path).born_ns
    if version == 2:
        return f"fathom-file/2 inode={status.st_ino} born={born}"
    uuid = "00000000-0000-4000-8000-000000000000"
    return f"fathom-file/3 inode={status.st_ino} born={born} size={status.st_size} uuid={uuid} written=open"


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("xattrs", [True, False])
def test_a_side_car_that_another_user_forged_does_not_open_a_victims_file(
    shared: Path, tmp_path: Path, request: pytest.FixtureRequest, version: int, linked: bool, xattrs: bool
) -> None:
    if not xattrs:
        request.getfixturevalue("no_xattrs")
    victim, path = tmp_path / "thesis", shared / "x.bin"
    victim.write_bytes(THESIS)
    if linked:
        try:
            path.hardlink_to(victim)
        except OSError:
            path = victim.rename(path)
    else:
        victim.rename(path)
    forge(path, mark_of(path, version))
    with (
        pytest.raises(RefusedError, match="so it is not overwritten"),
        claim(file_target(path, 8192), writes=True),
    ):
        pass
    assert path.read_bytes() == THESIS


@pytest.mark.usefixtures("no_xattrs")
def test_a_side_car_holds_only_for_its_own_user(shared: Path) -> None:
    path = shared / "x.bin"
    make(path)
    make(path)
    mark = shared / ".x.bin.fathom-mark"
    text = mark.read_bytes()
    mark.chmod(0o666)
    with pytest.raises(RefusedError, match="was not made by Fathom"):
        make(path)
    mark.unlink()
    (shared / "elsewhere").write_bytes(text)
    mark.symlink_to(shared / "elsewhere")
    with pytest.raises(RefusedError, match="was not made by Fathom"):
        make(path)


def test_where_attributes_are_kept_a_side_car_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    make(path)
    (tmp_path / ".x.bin.fathom-mark").write_bytes(os.getxattr(path, "user.fathom"))
    os.removexattr(path, "user.fathom")
    with pytest.raises(RefusedError, match="was not made by Fathom"):
        make(path)


def test_a_file_that_backs_a_loop_by_a_hard_link_or_a_bind_mount_is_refused(
    loops: Loops, tmp_path: Path
) -> None:
    path, place = tmp_path / "x.bin", tmp_path / "bound"
    make(path)
    place.mkdir()
    sh("mount", "--bind", tmp_path, place)
    loops.later("umount", str(place))
    node = loops.attach(place / "x.bin")
    with pytest.raises(RefusedError, match=f"in use by {node.name}"):
        make(path)


def test_a_file_whose_loop_knows_it_by_a_removed_name_is_refused(loops: Loops, tmp_path: Path) -> None:
    path, other = tmp_path / "x.bin", tmp_path / "other"
    make(path)
    other.hardlink_to(path)
    node = loops.attach(other)
    other.unlink()
    with pytest.raises(RefusedError, match=f"in use by {node.name}"):
        make(path)


def test_a_file_that_is_active_swap_under_another_name_is_refused(loops: Loops, tmp_path: Path) -> None:
    path, place = tmp_path / "x.bin", tmp_path / "bound"
    make(path)
    place.mkdir()
    sh("mount", "--bind", tmp_path, place)
    loops.later("umount", str(place))
    sh("mkswap", "-q", path)
    if subprocess.run(["swapon", place / "x.bin"], capture_output=True, check=False).returncode:
        pytest.skip("swap cannot be used here")
    loops.later("swapoff", str(place / "x.bin"))
    with pytest.raises(RefusedError, match="in use by swap"):
        check_target(file_target(path, None), writes=True)


LOCK = """
import fcntl, os, struct, sys
fd = os.open(sys.argv[1], os.O_RDWR)
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK if sys.argv[3] == "write" else fcntl.F_RDLCK, 0, 100, 1, 0)
fcntl.fcntl(fd, fcntl.F_SETLK if sys.argv[2] == "posix" else 37, lock)
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["posix", "ofd"])
@pytest.mark.parametrize("mode", ["write", "read"])
def test_a_file_that_another_process_has_locked_is_not_written(tmp_path: Path, kind: str, mode: str) -> None:
    path = tmp_path / "x.bin"
    target = make(path)
    with subprocess.Popen(
        [sys.executable, "-c", LOCK, path, kind, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        who = (
            f"process {other.pid}, which has locked it" if kind == "posix" else "a process that has locked it"
        )
        with pytest.raises(RefusedError, match=f"in use by {who}"):
            check_target(target, writes=True)
        check_target(target, writes=False)
        other.communicate()
    check_target(target, writes=True)


def test_links_above_a_file_are_resolved_and_said_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    target = file_target(tmp_path / "link" / "x.bin", MIB)
    assert target.path == tmp_path / "real" / "x.bin"
    assert target.name == f"file:{tmp_path}/link/x.bin"
    assert target.notes == (f"{tmp_path}/link/x.bin is {tmp_path}/real/x.bin, through symbolic links",)
    assert file_target(Path(f"/{tmp_path}/x.bin"), MIB).notes == (), "two slashes in front are no link"
    assert list((tmp_path / "real").iterdir()) == []
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(tmp_path)
    with claim(target, writes=True) as ready:
        assert ready.path == tmp_path / "real" / "x.bin"
    assert not (tmp_path / "x.bin").exists()


def test_the_command_line_shows_where_links_lead_before_the_run_begins(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    place = tmp_path / "link" / "x.bin"
    short = Path(__file__).parent.parent / "data" / "short.toml"
    plan = subprocess.run(
        [sys.executable, "-m", "fathom", "plan", short, f"file:{place}", "--size", "8MiB"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{place} is {tmp_path}/real/x.bin, through symbolic links" in plan.stdout
    (tmp_path / "real" / "x.bin").write_bytes(THESIS)
    os.truncate(tmp_path / "real" / "x.bin", 8 * MIB)
    run = subprocess.run(
        [sys.executable, "-m", "fathom", "run", short, f"file:{place}"],
        capture_output=True,
        text=True,
        check=False,
    )
    said = run.stderr.splitlines()
    assert said[0] == f"fathom: {place} is {tmp_path}/real/x.bin, through symbolic links"
    assert (run.returncode, len(said)) == (3, 2)


def test_links_in_a_circle_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises((UsageError, FathomError)) as caught:
        file_target(tmp_path / "a" / "x.bin", MIB)
    assert "\n" not in str(caught.value)


def test_a_review_leaves_a_scratch_file_of_an_earlier_version_alone_and_says_so(tmp_path: Path) -> None:
    old = scratch_file(tmp_path, MIB)
    with claim(old, writes=True):
        pass
    assert old.path is not None
    marked_by_an_earlier_version(old.path)
    beside = scratch_file(tmp_path, MIB)
    assert beside.path == tmp_path / "fathom-scratch-2.bin"
    assert any(str(old.path) in note and "earlier version" in note for note in beside.notes)
