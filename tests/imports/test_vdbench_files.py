"""Imported Vdbench runs on files ask for the files, blocks, order and mix that Vdbench asks for.

The model is written after the sources of Vdbench 5.04.06; the names in parentheses are of the class there, with file
and line.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from fathom import _core
from fathom.errors import UsageError
from fathom.imports import import_method
from fathom.method.method import parse_method

DRAWN = 30_000
KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class FileRun:
    """One workload of one run: what differs from Vdbench's defaults.

    10 files in the only directory (FsdEntry.java:32 to 34), of 4096 bytes (FsdEntry.java:26). One thread
    (FwdEntry.java:40) reads (FwdEntry.java:45) 4096 bytes (FwdEntry.java:29) in order (FwdEntry.java:35) from files in
    order (FwdEntry.java:31), each as many bytes as it has (ActiveFile.java:90) or `blocks` of them (`stopafter`,
    ActiveFile.java:98).
    """

    count: int = 10
    sizes: Mapping[int, float] = field(default_factory=lambda: {4 * KIB: 100})
    directories: int = 1
    threads: int = 1
    reads: float = 100
    blocks: Mapping[int, float] = field(default_factory=lambda: {4 * KIB: 100})
    random: bool = False
    random_files: bool = False
    visit: int = 0
    rate: float | None = None
    direct: bool = False
    sync: str | None = None
    shared: bool = False
    targets: tuple[int, ...] = ()
    seconds: float = 30
    fill: bool = False
    names: Mapping[str, float] = field(default_factory=dict)
    present: float = 1


FORMAT = FileRun(fill=True, threads=8, reads=0, blocks={128 * KIB: 100})
"""Eight threads write blocks of 128 KiB (FwdEntry.java:57 and 58), every file whole."""


def made(**keys: Any) -> FileRun:
    """A format of files like those of a run."""
    return FileRun(**{**FORMAT.__dict__, **keys})


CASES: dict[str, tuple[str, list[FileRun]]] = {
    "defaults": (
        "fsd=fsd1,anchor=/x\nfwd=fwd1,fsd=fsd1\nrd=rd1,fwd=fwd1,fwdrate=max,format=yes\n",
        [made(blocks={4 * KIB: 100}), FileRun()],
    ),
    "random-reads-in-a-tree": (
        "fsd=fsd1,anchor=/x,depth=2,width=3,files=10,size=1m,openflags=o_direct\n"
        "fwd=fwd1,fsd=fsd1,operation=read,xfersize=4k,fileio=random,fileselect=random,threads=8\n"
        "rd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=60,interval=5\n",
        [
            made(count=90, sizes={MIB: 100}, directories=9),
            FileRun(
                count=90,
                sizes={MIB: 100},
                directories=9,
                threads=8,
                random=True,
                random_files=True,
                direct=True,
                seconds=60,
            ),
        ],
    ),
    "sequential-writes-after-a-format": (
        "fsd=fsd1,anchor=/x,depth=1,width=1,files=20,sizes=256k\n"
        "fwd=fwd1,fsd=fsd1,operation=write,xfersize=64k,fileio=sequential,fileselect=sequential,threads=4\n"
        "rd=rd1,fwd=fwd1,fwdrate=500,format=yes,elapsed=20,interval=5\n",
        [
            made(count=20, sizes={256 * KIB: 100}),
            FileRun(
                count=20,
                sizes={256 * KIB: 100},
                threads=4,
                reads=0,
                blocks={64 * KIB: 100},
                rate=500,
                seconds=20,
            ),
        ],
    ),
    "a-mix-by-rdpct-and-a-quota-of-blocks": (
        "fsd=fsd1,anchor=/x,files=50,size=(128k,75,512k,25)\n"
        "fwd=fwd1,fsd=fsd1,rdpct=70,xfersize=(4k,75,16k,25),fileio=random,fileselect=random,threads=2,stopafter=10\n"
        "rd=rd1,fwd=fwd*,fwdrate=max,format=restart\n",
        [
            made(count=50, sizes={128 * KIB: 75, 512 * KIB: 25}),
            FileRun(
                count=50,
                sizes={128 * KIB: 75, 512 * KIB: 25},
                threads=2,
                reads=70,
                blocks={4 * KIB: 75, 16 * KIB: 25},
                random=True,
                random_files=True,
                visit=10,
            ),
        ],
    ),
    "a-block-is-no-larger-than-its-file": (
        "fsd=fsd1,anchor=/x,files=30,size=16k\n"
        "fwd=fwd1,fsd=fsd1,operation=read,xfersize=64k,fileselect=random\n"
        "rd=rd1,fwd=fwd1,fwdrate=max,format=yes\n",
        [
            made(count=30, sizes={16 * KIB: 100}, blocks={16 * KIB: 100}),
            FileRun(count=30, sizes={16 * KIB: 100}, blocks={16 * KIB: 100}, random_files=True),
        ],
    ),
    "operations-of-a-run-divide-its-threads": (
        "fsd=fsd1,anchor=/x,files=40,size=64k\n"
        "fwd=fwd1,fsd=fsd1,xfersize=4k,fileio=random,fileselect=random,threads=8\n"
        "rd=rd1,fwd=fwd1,fwdrate=1000,format=yes,operations=(read,write)\n",
        [
            made(count=40, sizes={64 * KIB: 100}, blocks={64 * KIB: 100}),
            *(
                FileRun(
                    count=40,
                    sizes={64 * KIB: 100},
                    threads=4,
                    reads=reads,
                    random=True,
                    random_files=True,
                    rate=500,
                )
                for reads in (100, 0)
            ),
        ],
    ),
    "shares-of-a-rate-by-skew": (
        "fsd=fsd1,anchor=/x,files=40,size=64k\n"
        "fwd=default,fsd=fsd1,xfersize=4k,fileio=random,threads=2\n"
        "fwd=fwd1,operation=read,skew=80\nfwd=fwd2,operation=write\n"
        "rd=rd1,fwd=(fwd1,fwd2),fwdrate=1000,format=yes\n",
        [
            made(count=40, sizes={64 * KIB: 100}, blocks={64 * KIB: 100}),
            FileRun(count=40, sizes={64 * KIB: 100}, threads=2, random=True, rate=800),
            FileRun(count=40, sizes={64 * KIB: 100}, threads=2, reads=0, random=True, rate=200),
        ],
    ),
    "a-loop-and-a-second-run-without-a-format": (
        "fsd=fsd1,anchor=/x,files=8,size=1m\n"
        "fwd=fwd1,fsd=fsd1,operation=read,fileio=random\n"
        "rd=rd1,fwd=fwd1,fwdrate=max,format=yes,forthreads=(1,4),forxfersize=(4k,8k)\n"
        "rd=rd2,fwd=fwd1,fwdrate=max,format=no\n",
        [
            made(count=8, sizes={MIB: 100}),
            *(
                FileRun(count=8, sizes={MIB: 100}, threads=threads, blocks={block * KIB: 100}, random=True)
                for threads in (1, 4)
                for block in (4, 8)
            ),
            FileRun(count=8, sizes={MIB: 100}, random=True),
        ],
    ),
    "creates-of-every-file": (
        "fsd=fsd1,anchor=/x,depth=2,width=2,files=100,size=4k\n"
        "fwd=fwd1,fsd=fsd1,operation=create,fileselect=seq,threads=4\nrd=rd1,fwd=fwd1,fwdrate=max,elapsed=20\n",
        [FileRun(count=400, directories=4, threads=4, names={"create": 100}, present=0, seconds=20)],
    ),
    "operations-on-names-keep-their-shares": (
        "fsd=fsd1,anchor=/x,files=200,size=4k\nfwd=fwd1,fsd=fsd1,fileselect=random,threads=6\n"
        "rd=rd1,fwd=fwd1,fwdrate=900,operations=(create,getattr,delete)\n",
        [
            FileRun(
                count=200,
                threads=6,
                names={"create": 100 / 3, "stat": 100 / 3, "delete": 100 / 3},
                present=0,
                # Each create is followed by a close, which Vdbench counts with it.
                rate=1200,
                random_files=True,
            )
        ],
    ),
    "deletes-after-a-format": (
        "fsd=fsd1,anchor=/x,files=50,size=4k\nfwd=fwd1,fsd=fsd1,operation=delete\n"
        "rd=rd1,fwd=fwd1,fwdrate=max,format=yes\n",
        [made(count=50, blocks={4 * KIB: 100}), FileRun(count=50, names={"delete": 100}, present=1)],
    ),
    "several-fsd-have-equal-parts-of-threads-and-rate": (
        # RD_entry.java:1247 for the threads, and :1256 for the share of the rate.
        "fsd=default,files=20,size=64k\nfsd=a,anchor=/a\nfsd=b,anchor=/b\n"
        "fwd=fwd1,fsd=(a,b),fileio=random,threads=6\nrd=rd1,fwd=fwd1,fwdrate=100,format=yes\n",
        [
            made(count=20, sizes={64 * KIB: 100}, blocks={64 * KIB: 100}),
            FileRun(count=20, sizes={64 * KIB: 100}, threads=3, rate=50, random=True),
        ],
    ),
    "operations-on-names-that-are-alike-on-fsd-of-their-own": (
        # An FwgEntry for each fwd and fsd, with an equal part of the skew (RD_entry.java:1225 and :1256).
        "fsd=default,files=20,size=4k\nfsd=a,anchor=/a\nfsd=b,anchor=/b\nfwd=default,operation=getattr,threads=5\n"
        "fwd=fwd1,fsd=a\nfwd=fwd2,fsd=b\nfwd=both,fsd=(a,b),operation=open,threads=4\n"
        "rd=rd1,fwd=fwd*,fwdrate=100,format=yes\nrd=rd2,fwd=(fwd*,both),fwdrate=90,format=no\n",
        [
            made(count=20, blocks={4 * KIB: 100}),
            FileRun(count=20, threads=5, names={"stat": 100}, present=1, rate=50),
            # Each open is followed by a close, which Vdbench counts with it.
            FileRun(count=20, threads=7, names={"stat": 200 / 3, "open": 100 / 3}, present=1, rate=60),
        ],
    ),
    "workloads-on-fsd-of-their-own": (
        "fsd=default,files=20,size=64k\nfsd=a,anchor=/a\nfsd=b,anchor=/b\n"
        "fwd=default,fileio=random\nfwd=fwd1,fsd=b,operation=write,threads=2\nfwd=fwd2,fsd=a,threads=3\n"
        "rd=rd1,fwd=(fwd1,fwd2),fwdrate=100,format=yes\n",
        [
            made(count=20, sizes={64 * KIB: 100}, blocks={64 * KIB: 100}),
            FileRun(count=20, sizes={64 * KIB: 100}, threads=2, reads=0, rate=50, random=True, targets=(2,)),
            FileRun(count=20, sizes={64 * KIB: 100}, threads=3, rate=50, random=True, targets=(1,)),
        ],
    ),
    "threads-that-share-files": (
        # FileAnchor.java:1055 to 1100: a busy file is passed over only where files are not shared.
        "fsd=a,anchor=/a,files=2,size=64k\nfwd=fwd1,fsd=a,fileio=(random,shared),threads=4\n"
        "rd=rd1,fwd=fwd1,fwdrate=max,format=yes\n",
        [
            made(count=2, sizes={64 * KIB: 100}, threads=2, blocks={64 * KIB: 100}),
            FileRun(count=2, sizes={64 * KIB: 100}, threads=4, random=True, shared=True),
        ],
    ),
    "writes-that-wait-until-they-are-safe": (
        # OpenFlags.java:211: o_sync is O_DSYNC on Linux.
        "fsd=a,anchor=/a,size=64k,openflags=o_sync\nfwd=fwd1,fsd=a,operation=write,fileio=random\n"
        "rd=rd1,fwd=fwd1,fwdrate=max,format=yes\n",
        [
            made(sizes={64 * KIB: 100}, blocks={64 * KIB: 100}),
            FileRun(sizes={64 * KIB: 100}, reads=0, random=True, sync="data"),
        ],
    ),
    "only-a-format": (
        "fsd=fsd1,anchor=/x,files=8,size=1m\nfwd=format,threads=2\nfwd=fwd1,fsd=fsd1\n"
        "rd=rd1,fwd=fwd1,fwdrate=max,format=only\nrd=rd2,fwd=fwd1,fwdrate=10\n",
        [made(count=8, sizes={MIB: 100}, threads=2), FileRun(count=8, sizes={MIB: 100}, rate=10)],
    ),
}

REFUSED = {
    "fwd=fwd1,fsd=fsd1,operation=copy,target=fsd2": "2: target=fsd2: copies or moves",
    "fwd=fwd1,fsd=fsd1,operation=mkdir": "2: operation=mkdir: mkdir has no counterpart",
    "fwd=fwd1,fsd=fsd1,operation=create": "3: after a format all files are there",
    "fwd=fwd1,fsd=fsd1,fileio=(random,shared),fileselect=random": "2: fileio=.random,shared. and fileselect=random",
    "fwd=fwd1,fsd=fsd1,fileio=(seq,delete)": "2: fileio=.seq,delete.: files deleted before",
    "fwd=fwd1,fsd=fsd1,fileselect=(random,once)": "2: fileselect=.random,once.: once has no counterpart",
    "fwd=fwd1,fsd=fsd1,rdpct=50": "2: fileio=sequential and rdpct= exclude each other",
    "fwd=fwd1,fsd=fsd1,threads=11": "2: 11 threads wait for 10 files",
    "fwd=fwd1,fsd=fsd1,openflags=fsync": "2: openflags=fsync: fsync has no counterpart",
    "fwd=fwd1,fsd=fsd1,stopafter=20%": "2: stopafter=20%: a share of a file",
    "fwd=fwd1": "2: fwd=fwd1 names no fsd",
}


def jobs_of(tmp_path: Path, parm: str) -> list[dict[str, Any]]:
    """The jobs of all steps, those of streams one by one, in their normal form."""
    file = tmp_path / "case.parm"
    file.write_text(parm)
    method = parse_method(import_method(file)[0], "made.toml")
    found = [json.loads(step.job.json) | {"kind": step.kind} for step in method.steps]
    return [
        one
        for whole in found
        for one in (
            [
                stream["job"] | {"kind": "measure", "targets": stream.get("targets", [])}
                for stream in whole.get("streams", [])
            ]
            or [whole]
        )
    ]


@pytest.mark.parametrize("name", CASES)
def test_a_run_on_files_asks_for_what_vdbench_asks_for(tmp_path: Path, name: str) -> None:
    parm, runs = CASES[name]
    jobs = jobs_of(tmp_path, parm)
    assert [one["kind"] == "fill" for one in jobs] == [run.fill for run in runs]
    for whole, run in zip(jobs, runs, strict=True):
        assert tuple(whole.pop("targets", ())) == run.targets
        job = _core.Job(json.dumps({key: value for key, value in whole.items() if key != "kind"}))
        assert job.files is not None
        check_files(job.files, run)
        check_load(job, run)
        if run.names:
            check_names(job, job.files, run)
        else:
            check_requests(job, job.files, run)


def check_files(files: _core.FileSet, run: FileRun) -> None:
    paths = files.paths()
    assert files.count == len(paths) == run.count
    assert len({path.rpartition("/")[0] for path, _ in paths}) == run.directories
    for size, share in run.sizes.items():
        assert 100 * sum(one == size for _, one in paths) / run.count == pytest.approx(share, abs=5)


def check_load(job: _core.Job, run: FileRun) -> None:
    assert job.threads == run.threads
    assert job.rate_iops == run.rate
    if run.fill:
        assert job.region_multiple == 1
        return
    assert job.iodepth == 1  # A thread waits for each of its I/Os.
    assert job.time_s == run.seconds
    assert run.names or (job.direct, job.sync) == (run.direct, run.sync)


def check_names(job: _core.Job, files: _core.FileSet, run: FileRun) -> None:
    """Only missing files are made (`FwgThread.findNonExistingFile`), and only what is there is worked on.

    A thread ends where nothing is left to do (`FwgThread.canWeGetMoreFiles`).
    """
    assert files.present == run.present
    size = files.paths()[0][1]
    there = set(range(run.count)) if run.present else set[int]()
    asked = _core.requests(job, files.total_bytes, 512, 1, DRAWN // run.threads)
    for _, op, offset, _ in asked:
        file = offset // size
        assert (file in there) is (op != "create")
        there = there | {file} if op == "create" else there - {file} if op == "delete" else there
    counted = [op for _, op, _, _ in asked if op != "close"]
    if run.names.keys() in ({"create"}, {"delete"}):
        assert len(counted) == run.count
        return
    for op, share in run.names.items():
        assert 100 * counted.count(op) / len(counted) == pytest.approx(share, abs=3)


def check_requests(job: _core.Job, files: _core.FileSet, run: FileRun) -> None:
    """Blocks inside their files; each visit of a file, its order and its length; and the mix."""
    starts, sizes = starts_of(files)
    each = DRAWN // run.threads
    asked = _core.requests(job, files.total_bytes, 512, 1, each)
    reads = sum(op == "read" for _, op, _, _ in asked)
    assert 100 * reads / len(asked) == pytest.approx(run.reads, abs=0 if run.reads in (0, 100) else 1.5)
    blocks = [size for *_, size in asked]
    for block, share in run.blocks.items():
        assert 100 * blocks.count(block) / len(blocks) == pytest.approx(share, abs=1.5)
    by_thread: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for thread, _, offset, size in asked:
        file = (
            max(number for number, start in enumerate(starts) if start <= offset)
            if run.count < 60
            else (offset // sizes[0])
        )
        at = offset - starts[file]
        assert at + size <= sizes[file]
        by_thread[thread].append((file, at, size))
    # A file is one thread's at a time (FwgThread.java:480 and 612).
    owners: dict[int, set[int]] = defaultdict(set)
    for thread, requests in by_thread.items():
        for file, _, _ in requests:
            owners[file].add(thread)
        check_visits(requests, sizes, run)
    assert all(len(threads) == (run.threads if run.shared else 1) for threads in owners.values())
    if run.fill:
        assert sum(blocks) == files.total_bytes
    if not run.random_files:
        assert len(owners) == run.count


def check_visits(requests: Sequence[tuple[int, int, int]], sizes: Sequence[int], run: FileRun) -> None:
    visits = [list(group) for _, group in groupby(requests, key=lambda one: one[0])]
    if run.random:
        places = {at for visit in visits for _, at, _ in visit}
        assert len(places) > 8
        if not run.random_files and not run.visit:
            assert all(
                abs(sum(size for *_, size in visit) - sizes[visit[0][0]]) < max(run.blocks)
                for visit in visits[:-1]
            )
    elif not run.random_files:
        # Every file from its first byte to its last, then the next one (FileAnchor.java:1146).
        for visit in visits[:-1]:
            file = visit[0][0]
            laps = sum(size for *_, size in visit) / sizes[file]
            assert laps == int(laps)
            assert [at for _, at, _ in visit][: sizes[file] // visit[0][2]] == list(
                range(0, sizes[file], visit[0][2])
            )
    if run.visit:
        assert all(len(visit) % run.visit == 0 for visit in visits[:-1])


def starts_of(files: _core.FileSet) -> tuple[list[int], list[int]]:
    sizes = [size for _, size in files.paths()]
    starts = [0]
    for size in sizes[:-1]:
        starts.append(starts[-1] + size)
    return starts, sizes


@pytest.mark.parametrize("workload", REFUSED)
def test_what_vdbench_does_otherwise_with_files_is_refused_with_its_line(
    tmp_path: Path, workload: str
) -> None:
    parm = f"fsd=fsd1,anchor=/x,size=64k\n{workload}\nrd=rd1,fwd=fwd1,fwdrate=max,format=yes\n"
    with pytest.raises(UsageError, match=rf"case\.parm:{REFUSED[workload]}"):
        jobs_of(tmp_path, parm)


@pytest.mark.parametrize(
    ("parm", "what"),
    [
        ("fsd=f,anchor=/x\nfwd=w,fsd=f\nrd=r,fwd=w,iorate=max\n", "3: iorate=max: is of raw I/O"),
        ("fsd=f,anchor=/x\nfwd=w,fsd=f\nrd=r,fwd=w\n", "3: rd=r has no fwdrate, and Vdbench refuses it"),
        ("fsd=f,anchor=/x,wss=1g\nfwd=w,fsd=f\nrd=r,fwd=w\n", "1: wss=1g: works on a part of the files"),
        ("fsd=f\nfwd=w,fsd=f\nrd=r,fwd=w,fwdrate=1\n", "1: fsd=f has no anchor"),
        ("fsd=f,anchor=/x,sizes=0\nfwd=w,fsd=f\nrd=r,fwd=w,fwdrate=1\n", "1: sizes=0: 0 bytes are no size"),
        (
            "fsd=a,anchor=/a\nfsd=b,anchor=/b,files=9\nfwd=w,fsd=(a,b)\nrd=r,fwd=w,fwdrate=1\n",
            "4: rd=r works on files of several layouts at once",
        ),
        (
            "fsd=a,anchor=/a\nfsd=b,anchor=/a\nfwd=w,fsd=(a,b)\nrd=r,fwd=w,fwdrate=1\n",
            "4: rd=r: two of its fsd have one anchor",
        ),
        (
            "fsd=a,anchor=/a\nfsd=b,anchor=/b\nfwd=v,fsd=a\nfwd=w,fsd=(a,b)\n"
            "rd=q,fwd=v,fwdrate=1\nrd=r,fwd=w,fwdrate=1\n",
            "6: rd=r works on a part of the files of rd=q",
        ),
        (
            "fsd=a,anchor=/a\nfsd=b,anchor=/b,openflags=o_sync\nfwd=w,fsd=(a,b)\nrd=r,fwd=w,fwdrate=1\n",
            "4: openflags differ between its fsd",
        ),
        (
            "fsd=a,anchor=/a\nfsd=b,anchor=/b\nfwd=default,operation=getattr\nfwd=v,fsd=a\nfwd=w,fsd=b,threads=2\n"
            "rd=r,fwd=(v,w),fwdrate=1\n",
            "6: operations on names of one fsd beside others on another",
        ),
        ("sd=s,lun=/dev/sdb\nwd=w,sd=s\nrd=r,wd=w,format=yes\n", "3: format=yes: is of runs on files"),
    ],
)
def test_a_run_that_is_none_on_files_is_refused_with_its_line(tmp_path: Path, parm: str, what: str) -> None:
    with pytest.raises(UsageError, match=rf"case\.parm:{what}"):
        jobs_of(tmp_path, parm)


def test_the_method_names_the_directory_and_notes_what_differs(tmp_path: Path) -> None:
    file = tmp_path / "case.parm"
    file.write_text(
        "fsd=data,anchor=/mnt/a\nfsd=log,anchor=/mnt/b\nfwd=w1,fsd=data\nfwd=w2,fsd=log\n"
        "rd=r1,fwd=w1,fwdrate=max,format=yes\nrd=r2,fwd=w2,fwdrate=max\n"
    )
    text, notes = import_method(file)
    assert "# Run it on data=dir:/mnt/a log=dir:/mnt/b\n" in text
    assert [note for note in notes if "expects files that are there already" in note]


def test_several_directories_at_once_are_an_array(tmp_path: Path) -> None:
    file = tmp_path / "case.parm"
    file.write_text(
        "fsd=one,anchor=/mnt/a\nfsd=two,anchor=/mnt/b\nfwd=w,fsd=*\nrd=r,fwd=w,fwdrate=max,format=yes\n"
    )
    assert "# Run it on array:dir:/mnt/a,dir:/mnt/b\n" in import_method(file)[0]


def test_more_workloads_at_once_than_a_job_has_streams_are_refused_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "many.parm"
    anchors = "".join(f"fsd=f{n},anchor=/mnt/{n},depth=1,width=1,files=10,size=1m\n" for n in range(65))
    workloads = "".join(f"fwd=w{n},fsd=f{n},operation=read\n" for n in range(65))
    run = "rd=r,fwd=w*,fwdrate=max,elapsed=10,format=no\n"
    file.write_text(anchors + workloads + run)
    with pytest.raises(UsageError) as refused:
        import_method(file)
    assert refused.value.message == (f"{file}:131: 65 workloads at once, and a job has 64 streams at most")
    assert (
        refused.value.hint == "where they differ in their fsd alone, give one fwd all of these: fwd=w,fsd=*"
    )
    file.write_text(f"{anchors}fwd=w,fsd=*,operation=read\n{run}")
    assert "(65 in all, in the order of the file)" in import_method(file)[0]
