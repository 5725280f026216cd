"""Sets of files: laid out, written, used again and replaced, and left alone as soon as anybody else was there."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from loop_devices import sh
from meanwhile import meanwhile

from fathom._core import FileSet, Job
from fathom.errors import FathomError, RefusedError
from fathom.load.backend import EngineBackend
from fathom.targets import file_sets
from fathom.targets.claim import Claimed, claim, recheck
from fathom.targets.file_sets import DIRECTORY_NAME, set_target
from fathom.targets.files import dir_target
from fathom.targets.own_set import OwnSet, examine_set
from fathom.targets.target import Target

FILES = {"count": 12, "size": "64KiB", "depth": 1, "width": 3}
THESIS = b"three years of work\n" * 1024


def job(files: dict[str, object], **keys: object) -> Job:
    whole = {
        "mix": "write",
        "block": "4KiB",
        "pattern": "sequential",
        "files": files | {"select": "sequential"},
        "load": {"threads": 2},
        "until": {"written": "1x"},
    }
    return Job(json.dumps(whole | keys))


def files_of(files: dict[str, object]) -> FileSet:
    found = job(files).files
    assert found is not None
    return found


def target(directory: Path, files: dict[str, object] = FILES) -> Target:
    return set_target(dir_target(directory, 1 << 20), files_of(files))


def load(ready: Claimed, own: Job | None = None) -> None:
    """Writes every byte of every file, or runs another job."""
    handle = EngineBackend([ready]).start(own or job(FILES), seed=1)
    while handle.poll(10.0) or not handle.done():
        pass
    handle.result()


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The directory of a set that a run has written and let go of."""
    with claim(target(tmp_path), writes=True) as ready:
        load(ready)
    return tmp_path / DIRECTORY_NAME


def test_a_set_is_laid_out_with_its_room_written_whole_and_used_again(tmp_path: Path, written: Path) -> None:
    files = [path for path in written.rglob("f*") if path.is_file()]
    assert len(files) == 12
    assert {path.stat().st_size for path in files} == {64 << 10}
    assert all(any(path.read_bytes()[at : at + 4096]) for path in files for at in (0, 60 << 10))
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert written.stat().st_mode & 0o777 == 0o700
    before = {path: path.stat().st_ino for path in files}
    with claim(target(tmp_path), writes=True) as ready:
        recheck(ready, writes=True)
        load(ready)
    assert {path: path.stat().st_ino for path in files} == before


def test_another_layout_replaces_the_files(tmp_path: Path, written: Path) -> None:
    other = {"count": 5, "size": "8KiB"}
    with claim(target(tmp_path, other), writes=True):
        pass
    assert sorted(path.name for path in written.iterdir()) == [f"f000000{n}" for n in range(1, 6)]


def test_somebody_elses_directory_of_the_name_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / DIRECTORY_NAME
    theirs.mkdir()
    (theirs / "f0000001").write_bytes(THESIS)
    for writes in (True, False):
        with pytest.raises(RefusedError, match="was not made by Fathom"):
            claim(target(tmp_path), writes=writes).__enter__()
    assert (theirs / "f0000001").read_bytes() == THESIS


def put_in(directory: Path) -> None:
    (directory / "d0001/thesis").write_bytes(THESIS)


def changed(directory: Path) -> None:
    with (directory / "d0001/f0000001").open("r+b") as file:
        file.write(THESIS)


def replaced(directory: Path) -> None:
    (directory / "d0002/f0000005").unlink()
    (directory / "d0002/f0000005").write_bytes(THESIS)


def linked(directory: Path) -> None:
    (directory / "thesis").hardlink_to(directory / "d0003/f0000012")
    (directory / "thesis").rename(directory.parent / "thesis")


def led_elsewhere(directory: Path) -> None:
    outside = directory.parent / "outside"
    (directory / "d0002").rename(outside)
    (directory / "d0002").symlink_to(outside)


def taken_away(directory: Path) -> None:
    (directory / "d0003/f0000010").unlink()


ATTACKS = [put_in, changed, replaced, linked, led_elsewhere, taken_away]


def content(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.parent.rglob("*") if path.is_file()}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_set_that_others_changed_is_neither_written_nor_removed(
    tmp_path: Path, written: Path, attack: Callable[[Path], None]
) -> None:
    attack(written)
    before = content(written)
    for files in (FILES, {"count": 2, "size": "4KiB"}):
        with pytest.raises(RefusedError, match=r"changed by others.*remove it if you can spare it"):
            claim(target(tmp_path, files), writes=True).__enter__()
    assert content(written) == before


def test_a_copy_of_a_set_is_not_own(tmp_path: Path, written: Path) -> None:
    written.rename(tmp_path / "moved")
    sh("cp", "--recursive", "--preserve=all", tmp_path / "moved", written)
    with pytest.raises(RefusedError, match="copied from"):
        claim(target(tmp_path), writes=True).__enter__()


def killed(directory: Path) -> Path:
    """A set whose run was killed in the middle of a write to all of it."""
    code = (
        "import json, os, sys\n"
        "from pathlib import Path\n"
        "from test_file_sets import claim, job, load, target, FILES\n"
        "with claim(target(Path(sys.argv[1])), writes=True) as ready:\n"
        "    load(ready, job(FILES, until={'bytes': '256KiB'}))\n"
        "    os._exit(9)\n"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code, str(directory)], check=False, env=os.environ | {"PYTHONPATH": paths}
    )
    assert done.returncode == 9
    return directory / DIRECTORY_NAME


def test_a_set_that_a_killed_run_left_is_used_again(tmp_path: Path) -> None:
    directory = killed(tmp_path)
    (directory / "d0001/f0000002").unlink()
    (directory / "d0001/f0000001").rename(directory / "d0001/f0000001r")
    (directory / "d0001/m0000003").mkdir()
    with claim(target(tmp_path), writes=True) as ready:
        load(ready)
    assert sorted(path.name for path in directory.rglob("*") if path.is_file()) == [
        f"f{number:07}" for number in range(1, 13)
    ]
    assert not list(directory.rglob("m*"))


@pytest.mark.parametrize("attack", [put_in, changed, replaced, linked, led_elsewhere])
def test_a_set_that_a_killed_run_left_and_others_changed_is_refused(
    tmp_path: Path, attack: Callable[[Path], None]
) -> None:
    directory = killed(tmp_path)
    attack(directory)
    before = content(directory)
    with pytest.raises(RefusedError, match="changed by others"):
        claim(target(tmp_path), writes=True).__enter__()
    assert content(directory) == before


def test_a_link_put_in_place_of_a_file_of_a_held_set_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "thesis").write_bytes(THESIS)
    with claim(target(tmp_path), writes=True) as ready:
        for path in [path for path in (tmp_path / DIRECTORY_NAME).rglob("f*") if path.is_file()]:
            path.unlink()
            path.symlink_to(tmp_path / "thesis")
        with pytest.raises(FathomError, match="symbolic link"):
            load(ready)
        with pytest.raises(RefusedError, match="changed by others"):
            recheck(ready, writes=True)
    assert (tmp_path / "thesis").read_bytes() == THESIS


def test_two_runs_cannot_write_one_set(tmp_path: Path) -> None:
    with (
        claim(target(tmp_path), writes=True),
        pytest.raises(RefusedError, match="another Fathom run"),
    ):
        claim(target(tmp_path), writes=True).__enter__()


@pytest.mark.parametrize("writes", [True, False])
@pytest.mark.parametrize("files", [FILES, {"count": 3, "size": "8KiB"}], ids=["alike", "another layout"])
def test_a_run_that_is_refused_leaves_the_files_of_the_run_before_it(
    tmp_path: Path, files: dict[str, object], writes: bool
) -> None:
    directory = tmp_path / DIRECTORY_NAME
    with claim(target(tmp_path), writes=True):
        (directory / "d0001/f0000001").rename(directory / "d0001/f0000001r")
        (directory / "d0001/m0000003").mkdir()
        before = sorted(directory.rglob("*"))
        with pytest.raises(RefusedError, match="another Fathom run"):
            claim(target(tmp_path, files), writes=writes).__enter__()
        assert sorted(directory.rglob("*")) == before


def test_a_set_that_another_run_makes_meanwhile_is_in_use_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def laid_out() -> None:
        with claim(target(tmp_path), writes=True) as ready:
            load(ready)

    meanwhile(monkeypatch, file_sets, "rename_new", laid_out)
    with pytest.raises(RefusedError, match="another Fathom run is using it"):
        claim(target(tmp_path), writes=True).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == [DIRECTORY_NAME]
    assert isinstance(examine_set(tmp_path / DIRECTORY_NAME), OwnSet)


def test_a_directory_of_others_that_comes_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, file_sets, "rename_new", lambda: (tmp_path / DIRECTORY_NAME).mkdir())
    with pytest.raises(RefusedError, match="another directory has taken its place"):
        claim(target(tmp_path), writes=True).__enter__()
    assert [path.name for path in tmp_path.rglob("*")] == [DIRECTORY_NAME]


@pytest.mark.parametrize("writes", [True, False])
def test_where_no_directory_can_be_named_last_it_is_made_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: bool
) -> None:
    monkeypatch.setattr(file_sets, "rename_new", lambda *_: False)
    with claim(target(tmp_path), writes=writes):
        assert [path.name for path in tmp_path.iterdir()] == [DIRECTORY_NAME]


def test_readers_join_a_reader_that_laid_the_files_out_and_no_writer_does(tmp_path: Path) -> None:
    with claim(target(tmp_path), writes=False), claim(target(tmp_path), writes=False):
        for files in (FILES, {"count": 3, "size": "8KiB"}):
            with pytest.raises(RefusedError, match="another Fathom run"):
                claim(target(tmp_path, files), writes=True).__enter__()


def test_a_directory_put_in_place_of_one_that_is_held_is_refused(tmp_path: Path) -> None:
    with claim(target(tmp_path), writes=True) as ready:
        directory = tmp_path / DIRECTORY_NAME
        sh("cp", "--recursive", "--preserve=all", directory, tmp_path / "copy")
        directory.rename(tmp_path / "away")
        (tmp_path / "copy").rename(directory)
        with pytest.raises(RefusedError, match="has taken its place"):
            recheck(ready, writes=True)
        with pytest.raises(FathomError, match="has taken its place"):
            load(ready)


def test_a_set_that_does_not_fit_is_refused_before_a_file_is_made(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=r"not enough space: 1,000 files need"):
        claim(target(tmp_path, {"count": 1000, "size": "1TB"}), writes=True).__enter__()
    assert not (tmp_path / DIRECTORY_NAME).exists()


def test_a_set_is_reused_by_readers_and_marks_survive_them(tmp_path: Path, written: Path) -> None:
    for _ in range(2):
        with claim(target(tmp_path), writes=False) as ready:
            assert not ready.writes
            load(ready, job(FILES, mix="read", until={"count": 100}))
    assert written.is_dir()
