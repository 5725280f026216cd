"""Files on a real NFS server: held against a second writer, measured, and called what they are."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from vm_guest import sh

from fathom.errors import RefusedError
from fathom.method.method import Method, parse_method
from fathom.plan.files import with_files
from fathom.runs.check import check
from fathom.runs.labels import change_labels, read_labels
from fathom.runs.reader import Run
from fathom.session import Options, start_run
from fathom.targets.claim import claim
from fathom.targets.file_sets import DIRECTORY_NAME
from fathom.targets.files import dir_target, file_target
from fathom.targets.own_file import own

MIB = 1 << 20
STEPS = """
schema = "fathom-method/1"
name = "short"
[[steps]]
name = "write"
[steps.job]
mix = "write"
block = "64KiB"
pattern = "sequential"
load = { threads = 1, iodepth = 4 }
until = { count = 64 }
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 4 }
until = { count = 200 }
"""


@pytest.fixture(scope="module")
def nfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory that this guest mounts from its own server."""
    kept, mounted = tmp_path_factory.mktemp("kept"), tmp_path_factory.mktemp("mounted")
    for module in ("nfsd", "nfsv4"):
        sh("modprobe", module)
    image = Path("/dev/shm/nfs.img")
    with image.open("wb") as file:
        file.truncate(256 * MIB)
    sh("modprobe", "loop")
    sh("mkfs.ext4", "-q", str(image))
    sh("mount", "-o", "loop", str(image), str(kept))
    for state in ("v4recovery", "rpc_pipefs"):
        Path("/var/lib/nfs", state).mkdir(parents=True, exist_ok=True)
    for state in ("etab", "rmtab"):
        Path("/var/lib/nfs", state).touch()
    Path("/etc/exports").touch()
    sh("ip", "link", "set", "lo", "up")
    sh("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    sh("exportfs", "-o", "rw,no_root_squash,insecure,no_subtree_check,fsid=0", f"127.0.0.1:{kept}")
    sh("rpc.nfsd", "-N", "3", "-V", "4.2", "4")
    sh("rpc.mountd", "-N", "3", "-V", "4")
    options = "vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1"
    # Without mount.nfs, which the guest lacks, the kernel takes the address from the options.
    sh("mount", "-i", "-t", "nfs4", "-o", options, "127.0.0.1:/", str(mounted))
    yield mounted
    sh("umount", str(mounted))
    sh("rpc.nfsd", "0")
    sh("exportfs", "-ua")
    sh("umount", str(kept))


def method(files: str = "") -> Method:
    return parse_method(STEPS.replace("[steps.job]\n", f"[steps.job]\n{files}\n"), "short.toml")


def iops(run: Run) -> list[float]:
    return run.points["iops"].to_pylist()


def test_nfs_locks_a_file_exclusively_only_where_it_is_open_to_write(nfs: Path) -> None:
    (nfs / "locked").touch()
    for mode, refused in ((os.O_RDONLY, True), (os.O_RDWR, False)):
        opened = os.open(nfs / "locked", mode)
        try:
            with pytest.raises(OSError, match=os.strerror(errno.EBADF)) if refused else nullcontext():
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(opened)


def test_a_file_on_nfs_is_measured_and_its_server_named(nfs: Path, tmp_path: Path) -> None:
    target = file_target(nfs / "x.bin", 64 * MIB)
    assert target.label == "file on 127.0.0.1:/ (nfs4)"
    run = start_run(method(), [target], Options(out=tmp_path))
    assert min(iops(run)) > 0
    assert any("figures include the network and the server" in note.text for note in run.document.notes)
    assert own(nfs / "x.bin")


def test_a_second_writer_of_a_file_on_nfs_is_refused(nfs: Path) -> None:
    target = file_target(nfs / "y.bin", MIB)
    with claim(target, writes=True), pytest.raises(RefusedError, match="another Fathom run is using it"):
        claim(target, writes=True).__enter__()


def test_a_set_of_files_on_nfs_is_measured(nfs: Path, tmp_path: Path) -> None:
    several = method('files = { count = 8, size = "1MiB" }')
    run = start_run(several, with_files(several, [dir_target(nfs, None)]), Options(out=tmp_path))
    assert min(iops(run)) > 0
    assert (nfs / DIRECTORY_NAME).is_dir()


def test_a_run_that_is_kept_on_nfs_is_whole_and_takes_labels(nfs: Path) -> None:
    run = start_run(method(), [file_target(nfs / "z.bin", 64 * MIB)], Options(out=nfs / "runs"))
    assert check(run.path).whole
    assert change_labels(run.path, lambda old: old.changed(["kept"], [], None)).tags == ("kept",)
    assert read_labels(run.path).tags == ("kept",)
