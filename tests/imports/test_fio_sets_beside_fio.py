"""Sets of files by fio, under strace, and as a method: the same files, blocks, and order from file to file."""

import re
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from fio_traces import Io, in_order

from fathom import _core
from fathom.errors import UsageError
from fathom.imports import import_method
from fathom.method.method import parse_method

needs_fio = pytest.mark.skipif(
    shutil.which("fio") is None or shutil.which("strace") is None, reason="fio or strace is not installed"
)
Visit = tuple[int, Io]
"""A file, by the order in which a job comes to it, and a request in it."""

IN_ORDER = {
    "roundrobin": "rw=read\nsize=1m\nbs=16k\nnrfiles=8",
    "several blocks a turn": "rw=read\nsize=1m\nbs=4k\nnrfiles=4\nfile_service_type=roundrobin:8",
    "one file after the other": "rw=read\nsize=1m\nbs=16k\nnrfiles=8\nfile_service_type=sequential",
    "few files open": "rw=write\nsize=1m\nbs=16k\nnrfiles=8\nfile_service_type=sequential\nopenfiles=1",
    "filesize": "rw=write\nfilesize=64k\nsize=512k\nbs=16k\nnrfiles=8",
    "loops": "rw=read\nsize=256k\nbs=16k\nnrfiles=4\nloops=3\ndirect=1",
    "a number of bytes": "rw=read\nsize=1m\nio_size=256k\nbs=16k\nnrfiles=8",
    "sections alike": "rw=read\nsize=512k\nbs=16k\nnrfiles=4\n[many2]\nrw=read\nsize=512k\nbs=16k\nnrfiles=4",
    "jobs with files of their own": "rw=read\nsize=512k\nbs=16k\nnrfiles=4\nnumjobs=3",
}
AT_RANDOM = {
    "each block once": "rw=randread\nsize=1m\nbs=4k\nnrfiles=8",
    "files at random": "rw=randread\nsize=1m\nbs=4k\nnrfiles=8\nfile_service_type=random",
    "files at random, each block in order": "rw=read\nsize=1m\nbs=4k\nnrfiles=8\nfile_service_type=random:4",
    "random writes one file after the other": "rw=randwrite\nsize=512k\nbs=4k\nnrfiles=4\nfile_service_type=sequential",
}
DRAWN = {
    "with replacement": "rw=randread\nsize=2m\nio_size=32m\nbs=4k\nnrfiles=8\nnorandommap\nfile_service_type=random",
    "by pareto": "rw=randread\nsize=2m\nio_size=32m\nbs=4k\nnrfiles=64\nnorandommap\nfile_service_type=pareto:0.2",
}


def job_file(tmp_path: Path, lines: str) -> Path:
    file = tmp_path / "set.fio"
    file.write_text(f"[global]\nioengine=psync\nrandrepeat=1\n[many]\n{lines}\n")
    return file


def numbered(requests: list[tuple[str, Io]]) -> list[Visit]:
    """The files numbered as they come."""
    names = list(dict.fromkeys(name for name, _ in requests))
    return [(names.index(name), one) for name, one in requests]


def by_fathom(file: Path) -> tuple[_core.FileSet, list[list[Visit]]]:
    """The files of the method, and what each of its threads asks for."""
    text, _ = import_method(file)
    assert re.search(r"^# Run it on dir:\.$", text, re.MULTILINE)
    [step] = [step for step in parse_method(text, "imported.toml").steps if step.kind == "measure"]
    files = step.job.files
    assert files is not None
    sizes = {size for _, size in files.paths()}
    assert len(sizes) == 1
    size_bytes = sizes.pop()
    threads: dict[int, list[tuple[str, Io]]] = {}
    for thread, op, offset, size in _core.requests(step.job, files.total_bytes, 512, 7, 1 << 20):
        one = Io(op, offset % size_bytes, size)
        threads.setdefault(thread, []).append((str(offset // size_bytes), one))
    return files, [numbered(requests) for requests in threads.values()]


def by_fio(tmp_path: Path, file: Path) -> tuple[Counter[int], list[list[Visit]]]:
    """The sizes of the files that fio leaves, and what each of its jobs asks of them; laying out is not counted."""
    op = "read" if "read" in file.read_text().partition("rw=")[2].partition("\n")[0] else "write"
    jobs = [
        [(name, one) for name, one in calls if re.fullmatch(r"many2?\.\d+\.\d+", name) and one.op == op]
        for calls in in_order(tmp_path, file)
    ]
    made = Counter(path.stat().st_size for path in tmp_path.glob("many*.*.*"))
    return made, [numbered(calls) for calls in jobs if calls]


@needs_fio
@pytest.mark.parametrize("name", IN_ORDER)
def test_every_request_of_a_set_in_order_is_fios(tmp_path: Path, name: str) -> None:
    file = job_file(tmp_path, IN_ORDER[name])
    made, theirs = by_fio(tmp_path, file)
    files, ours = by_fathom(file)
    assert Counter(size for _, size in files.paths()) == made
    assert sorted(map(repr, ours)) == sorted(map(repr, theirs))


@needs_fio
@pytest.mark.parametrize("name", AT_RANDOM)
def test_every_block_of_every_file_is_visited_once_as_by_fio(tmp_path: Path, name: str) -> None:
    file = job_file(tmp_path, AT_RANDOM[name])
    made, theirs = by_fio(tmp_path, file)
    files, ours = by_fathom(file)
    assert Counter(size for _, size in files.paths()) == made
    [mine], [fios] = ours, theirs
    assert len(set(mine)) == len(mine) == len(fios) == len(set(fios))
    for requests in (mine, fios):
        counts = Counter(number for number, _ in requests)
        assert set(counts.values()) == {len(mine) // len(counts)}
    runs = [sum(a[0] == b[0] for a, b in pairwise(one)) for one in (mine, fios)]
    assert abs(runs[0] - runs[1]) <= len(mine) / 8


@needs_fio
@pytest.mark.parametrize("name", DRAWN)
def test_files_that_are_drawn_have_fios_shares(tmp_path: Path, name: str) -> None:
    file = job_file(tmp_path, DRAWN[name])
    _, theirs = by_fio(tmp_path, file)
    _, ours = by_fathom(file)
    [mine], [fios] = ours, theirs
    assert len(mine) == len(fios)
    shares = [sorted(Counter(number for number, _ in one).values(), reverse=True) for one in (mine, fios)]
    for count in (1, 4, 8):
        found = [sum(share[:count]) / len(mine) for share in shares]
        assert found[0] == pytest.approx(found[1], abs=0.03)


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("rw=read\nsize=1m\nnrfiles=8\nfilename=x", "8: filename: names one of several files"),
        ("rw=read\nsize=1m\nnrfiles=8\noffset=4k", "7: nrfiles: an offset in each file"),
        ("rw=read\nnrfiles=8", "6: nrfiles: how large are the files"),
        ("rw=read\nsize=1000k\nnrfiles=7", "6: size: 1000k in 7 files leaves parts of blocks over"),
        ("rw=read\nfilesize=4k-64k\nnrfiles=8", "6: filesize: sizes at random between two"),
        ("rw=read\nsize=1m\nnrfiles=8\nopenfiles=2", "8: openfiles: fio issues nothing to the other 6"),
        ("rw=read\nsize=1m\nnrfiles=8\nfile_service_type=normal", "8: file_service_type: normal has no"),
        (
            "rw=read\nsize=1m\nnrfiles=8\n[other]\nsize=2m\nnrfiles=2",
            "10: nrfiles: .many. and .other. run at once",
        ),
        (
            "rw=read\nsize=1m\nnrfiles=8\n[other]\nstonewall\nsize=2m\nnrfiles=2",
            "11: nrfiles: other files in the directory of an earlier job",
        ),
    ],
)
def test_what_has_no_counterpart_in_sets_is_refused_with_its_line(
    tmp_path: Path, lines: str, what: str
) -> None:
    with pytest.raises(UsageError, match=rf"set\.fio:{what}"):
        import_method(job_file(tmp_path, lines))
