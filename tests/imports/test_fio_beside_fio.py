"""The same job file by fio, under strace, and as a method: the same I/O, job by job.

A method's requests are a pure function of its job, so they are listed without issuing them.
"""

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import pytest
from fio_traces import Io, by_fio, follow_ons, shares

from fathom import _core
from fathom.imports import import_method
from fathom.method.method import Method, parse_method

pytestmark = pytest.mark.skipif(
    shutil.which("fio") is None or shutil.which("strace") is None, reason="fio or strace is not installed"
)

FILE_BYTES = 4 << 20
OP, SIZE = attrgetter("op"), attrgetter("size")
MOST = 3000
"""I/Os that are compared of a job that ends by time."""


def by_fathom(job_file: Path) -> tuple[Method, list[list[Io]], str]:
    """What the method asks for of each target, thread by thread, and the text of its target."""
    text, _ = import_method(job_file)
    method = parse_method(text, "imported.toml")
    [step] = [step for step in method.steps if step.kind == "measure"]
    requests = _core.requests(
        step.job, FILE_BYTES, 512, 7, MOST if "time" in text.split("until")[-1] else 1 << 20
    )
    threads: dict[int, list[Io]] = {}
    for thread, op, offset, size in requests:
        threads.setdefault(thread, []).append(Io(op, offset, size))
    [target] = re.findall(r"^# Run it on (.*)$", text, re.MULTILINE)
    return method, list(threads.values()), target


SEQUENTIAL = {
    "reads in order": "rw=read\nsize=4m\nbs=64k",
    "writes in order": "rw=write\nsize=1m\nbs=4k",
    "an offset": "rw=read\nsize=1m\noffset=2m\nbs=64k",
    "an offset alone": "rw=read\noffset=3m\nbs=64k",
    "percentages": "rw=read\nsize=25%\noffset=50%\nio_size=1m\nbs=64k",
    "less than its size": "rw=read\nsize=4m\nio_size=1m\nbs=64k",
    "loops": "rw=read\nsize=1m\nloops=3\nbs=64k\ndirect=1",
    "jobs that all begin at the start": "rw=read\nsize=1m\nbs=64k\nnumjobs=4",
    "a part for each job": "rw=read\nsize=1m\nbs=64k\nnumjobs=4\noffset_increment=1m",
    "a number of I/Os": "rw=read\nsize=4m\nbs=64k\nnumber_ios=10",
    "fewer bytes than the number of I/Os": "rw=read\nsize=256k\nbs=64k\nnumber_ios=10",
    "units of 1000": "kb_base=1000\nrw=read\nsize=512KiB\nbs=64KiB",
    "flushes after writes": "rw=write\nsize=1m\nbs=4k\nfsync=8",
    "data flushes after each write": "rw=write\nsize=256k\nbs=4k\nfdatasync=1",
    "rwmixread that leaves one operation": "rw=rw\nrwmixread=100\nsize=1m\nbs=4k,8k",
    "zones with gaps between them": "rw=read\nsize=1m\nbs=64k\nzonemode=strided\nzonesize=256k\nzoneskip=512k",
    "writes to the first part of each range": (
        "rw=write\nbs=64k\nsize=1m\nzonemode=strided\nzonesize=256k\nzonerange=512k\nzoneskip=256k\noffset=512k"
    ),
    "zones again from the first": "rw=read\nbs=64k\nzonemode=strided\nzonesize=256k\nzoneskip=512k",
    "zones of jobs that all begin at the start": (
        "rw=read\nsize=512k\nbs=64k\nnumjobs=2\nzonemode=strided\nzonesize=128k\nzoneskip=128k"
    ),
    "a comment behind a value": "rw=read # not write\nsize=1m ; not 4m\nbs=64k",
}
RANDOM = {
    "each block once": "rw=randread\nsize=4m\nbs=4k",
    "each block once, and again": "rw=randwrite\nsize=1m\nbs=4k\nloops=2",
    "flushes after random writes": "rw=randwrite\nsize=1m\nbs=4k\nfsync=4",
    "a map for each job": "rw=randread\nsize=1m\nbs=4k\nnumjobs=2",
}
DRAWN = {
    "with replacement": "rw=randread\nsize=4m\nbs=4k\nio_size=16m\nnorandommap",
    "a mix": "rw=randrw\nsize=4m\nbs=4k\nio_size=48m\nrwmixread=70\nnorandommap",
    "a mix by its writes": "rw=randrw\nsize=4m\nbs=4k\nio_size=48m\nrwmixread=70\nrwmixwrite=80\nnorandommap",
    "sizes with shares": "rw=randread\nsize=4m\nio_size=32m\nbssplit=4k/60:8k/30:16k/10\nnorandommap",
    "a range of sizes": "rw=randread\nsize=4m\nio_size=32m\nbsrange=4k-16k\nnorandommap",
    "a range that ends between": "rw=randread\nsize=4m\nio_size=32m\nbsrange=4k-10k\nnorandommap",
    "an alignment": "rw=randread\nsize=4m\nbs=4k\nio_size=8m\nblockalign=16k\nnorandommap",
    "alignments of each operation": (
        "rw=randrw\nsize=4m\nbs=4k\nio_size=48m\nblockalign=8k,16k\nnorandommap"
    ),
    "some at random": "rw=randread\nsize=4m\nbs=4k\nio_size=32m\npercentage_random=30\nnorandommap",
    "bands": "rw=randread\nsize=4m\nbs=4k\nio_size=32m\nrandom_distribution=zoned:80/25:20/75",
    "an alignment beside a map": "rw=randread\nsize=4m\nbs=4k\nio_size=8m\nblockalign=16k",
}
TIMED = {
    "gaps, from the start again": "rw=read:12k\nsize=256k\nbs=4k",
    "a mix with a position for each operation": "rw=rw\nsize=256k\nbs=4k",
    "parts that stay apart": "rw=read\nsize=512k\nbs=64k\nnumjobs=3\noffset_increment=1m",
}
LATER = {
    "a size that a later line leaves out": "rw=read\nsize=1m\nbs=16k\nbs=,8k",
    "a size that a later line leaves out behind": "rw=write\nsize=1m\nbs=4k,64k\nbs=16k,",
}
"""In order too, and behind the others: fio draws by the number of a job."""


BY_TIME = "time_based\nruntime=2"
CASES = [
    *SEQUENTIAL.values(),
    *RANDOM.values(),
    *DRAWN.values(),
    *(f"{one}\n{BY_TIME}" for one in TIMED.values()),
    *LATER.values(),
]


def section(name: str, options: str) -> str:
    return f"[{name}]\nioengine=psync\nthread=0\ngroup_reporting\n{options}\n"


@pytest.fixture(scope="module")
def theirs_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[Io]]]:
    """What fio does of each case: all at once, each on a file of its own."""
    directory = tmp_path_factory.mktemp("fio")
    names = [f"case-{number}.bin" for number in range(len(CASES))]
    for name in names:
        (directory / name).write_bytes(b"\1" * FILE_BYTES)
    sections = [section(name, f"filename={name}\n{one}") for name, one in zip(names, CASES, strict=True)]
    path = directory / "all.fio"
    path.write_text("".join(sections))
    found = by_fio(directory, path)
    return {one: found[name] for name, one in zip(names, CASES, strict=True)}


def ours_of(tmp_path: Path, options: str) -> list[list[Io]]:
    """What the method of a case does on its one file."""
    path = tmp_path / "job.fio"
    path.write_text(section("job", f"filename=shared.bin\n{options}"))
    _, ours, target = by_fathom(path)
    assert target == "file:shared.bin"
    return ours


Theirs = dict[str, list[list[Io]]]


@pytest.mark.parametrize("options", (SEQUENTIAL | LATER).values(), ids=SEQUENTIAL | LATER)
def test_io_in_order_is_the_same_request_by_request(tmp_path: Path, theirs_of: Theirs, options: str) -> None:
    theirs, ours = theirs_of[options], ours_of(tmp_path, options)
    assert sorted(map(str, ours)) == sorted(map(str, theirs)) or [
        without_last_flush(one) for one in ours
    ] == [without_last_flush(one) for one in theirs]
    assert ours[0]


def without_last_flush(requests: Sequence[Io]) -> list[Io]:
    """Whether a flush follows the very last write is a matter of when each of the two looks whether it is done."""
    kept = [Io(one.op, 0, 0) if one.op == "flush" else one for one in requests]
    return kept[:-1] if kept[-1].op == "flush" else kept


@pytest.mark.parametrize("options", RANDOM.values(), ids=RANDOM)
def test_a_random_pass_visits_the_same_blocks_as_often(
    tmp_path: Path, theirs_of: Theirs, options: str
) -> None:
    theirs, ours = theirs_of[options], ours_of(tmp_path, options)
    assert len(ours) == len(theirs)
    for requests in (ours[0], theirs[0]):
        assert follow_ons(requests) < 0.1
    blocks = [Counter(one for job in jobs for one in job if one.op != "flush") for jobs in (ours, theirs)]
    assert blocks[0] == blocks[1]
    flushes = [
        [at for at, one in enumerate(without_last_flush(job)) if one.op == "flush"]
        for job in (ours[0], theirs[0])
    ]
    assert flushes[0] == flushes[1]


@pytest.mark.parametrize("options", DRAWN.values(), ids=DRAWN)
def test_drawn_io_has_the_same_count_mix_sizes_range_and_order(
    tmp_path: Path, theirs_of: Theirs, options: str
) -> None:
    [theirs], [ours] = theirs_of[options], ours_of(tmp_path, options)
    least, most = sorted((sum(one.size for one in theirs), sum(one.size for one in ours)))
    assert most - least <= max(one.size for one in theirs)
    # Quarters of the file: what follows on makes them uneven.
    for what, tolerance in ((OP, 0.01), (SIZE, 0.02), (lambda one: one.offset * 4 // FILE_BYTES, 0.05)):
        for value, share in shares(theirs, what).items():
            assert shares(ours, what).get(value, 0) == pytest.approx(share, abs=tolerance), value
    assert follow_ons(ours) == pytest.approx(follow_ons(theirs), abs=0.02)
    assert {one.offset % 16384 for one in ours} == {one.offset % 16384 for one in theirs}


@pytest.mark.parametrize("options", TIMED.values(), ids=TIMED)
def test_io_by_time_goes_the_same_way_round(tmp_path: Path, theirs_of: Theirs, options: str) -> None:
    timed = f"{options}\n{BY_TIME}"
    theirs, ours = theirs_of[timed], ours_of(tmp_path, timed)
    assert len(ours) == len(theirs)
    for op in ("read", "write"):
        of_op = [[[one for one in job if one.op == op] for job in jobs] for jobs in (theirs, ours)]
        by_start = [sorted(jobs, key=lambda job: [one.offset for one in job[:1]]) for jobs in of_op]
        for their, our in zip(*by_start, strict=True):
            both_did = min(len(their), len(our))
            assert both_did > 80 or not their
            assert our[:both_did] == their[:both_did]


@pytest.mark.parametrize(
    "amount", ["size=1m", "size=1m\nloops=3", "size=1m\noffset=1m", "size=1m\nio_size=256k", "size=100%"]
)
def test_gaps_on_a_target_that_is_longer_than_size_end_where_fio_ends(tmp_path: Path, amount: str) -> None:
    options = f"rw=write:60k\nbs=4k\n{amount}"
    (tmp_path / "long.bin").write_bytes(b"\1" * FILE_BYTES)
    path = tmp_path / "job.fio"
    path.write_text(section("job", f"filename=long.bin\n{options}"))
    theirs = by_fio(tmp_path, path)["long.bin"]
    path.write_text(section("job", f"filename=/dev/sdz\n{options}"))
    assert by_fathom(path)[1] == theirs


def test_jobs_without_a_file_name_have_a_file_each(tmp_path: Path) -> None:
    path = tmp_path / "job.fio"
    path.write_text(section("job", "rw=write\nsize=256k\nbs=64k\nnumjobs=4"))
    theirs = by_fio(tmp_path, path)
    _, ours, target = by_fathom(path)
    assert target == f"array:{','.join(f'file:{name}' for name in sorted(theirs))}"
    assert list(theirs.values()) == [[ours[0]]] * 4


def test_a_directory_goes_before_the_file_name(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    path = tmp_path / "job.fio"
    path.write_text(section("job", "rw=write\nsize=256k\nbs=64k\ndirectory=sub\nfilename=f.bin"))
    assert list(by_fio(tmp_path, path)) == ["f.bin"]
    assert (tmp_path / "sub" / "f.bin").exists()
    assert by_fathom(path)[2] == "file:sub/f.bin"
