"""fio's packaged examples by fio, under strace, and as methods: the same I/O, file by file.

Each runs in small: on files instead of devices, with small sizes and short times, and by one engine whose calls strace
reads. Nothing else of it is changed.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import pytest
from fio_traces import Io, by_fio, follow_ons, shares

from fathom import _core
from fathom.errors import UsageError
from fathom.imports import import_method
from fathom.imports.variables import Variables
from fathom.method.method import parse_method

EXAMPLES = Path(os.environ.get("FIO_EXAMPLES", "/usr/share/doc/fio/examples"))
FILE_BYTES = 4 << 20
MOST = 20_000
#: Examples that ask for no I/O on files, or for what files do not have.
NOT_ON_FILES = {
    "null.fio": "does nothing",
    "zipf.fio": "does nothing",
    "cpp_null.fio": "does nothing",
    "sequence-distribution.fio": "does nothing",
    "zbd-rand-write.fio": "needs zones",
    "zbd-rand-write-zone-reset-gc.fio": "needs zones: test_zones_beside_fio.py",
    "sprandom.fio": "writes all flash: test_sprandom_beside_fio.py",
    "uring-cmd-fdp.fio": "needs placement handles",
    "zbd-seq-read.fio": "needs zones",
    "uring-cmd-zoned.fio": "needs zones",
    "libzbc-seq-read.fio": "needs zones",
    "libzbc-rand-write.fio": "needs zones",
    "xnvme-fdp.fio": "needs placement handles",
    "falloc.fio": "moves no data: test_fio_room_beside_fio.py",
    "flow.fio": "goes by the others' I/Os: test_fio_together.py",
    "exitwhat.fio": "ends with the others: test_fio_together.py",
    **dict.fromkeys(
        (
            *("filecreate-ioengine.fio", "filedelete-ioengine.fio", "filestat-ioengine.fio"),
            *("dircreate-ioengine.fio", "dirdelete-ioengine.fio", "dirstat-ioengine.fio"),
        ),
        "works on names: test_fio_names_beside_fio.py",
    ),
}
#: What variables of the examples stand for.
VALUES = {"FIO_DIR": ".", "GPU_DEV_IDS": "0", "FIO_RW": "randread", "FIO_IODEPTH": "16", "FIO_BS": "4k"}

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not list(EXAMPLES.glob("*.fio")) or shutil.which("fio") is None or shutil.which("strace") is None,
        reason="fio, its examples or strace are not installed",
    ),
]


def accepted() -> list[str]:
    """The examples that are imported."""
    names = []
    for file in sorted(EXAMPLES.glob("*.fio")):
        try:
            import_method(
                file,
                None,
                Variables({name: value for name, value in VALUES.items() if name in file.read_text()}),
            )
        except UsageError:
            continue
        names.append(file.name)
    return [name for name in names if name not in NOT_ON_FILES]


#: Lines as they are in small; an empty one is left out.
SMALLER = (
    (r"ioengine=\w+", "ioengine=psync"),
    (r"(direct|buffered)=\d", ""),
    (r"size=\d+\w?\b(?!%)", "size=4m"),
    (r"filesize=\S+", "filesize=4m"),
    (r"loops=\d+", "loops=3"),
    (r"rate=1250", "rate=4m"),
    (r"zonesize=256m", "zonesize=256k"),
    (r"zoneskip=2g", "zoneskip=512k"),
    # The file has its size.
    (r"fill_device=1", ""),
    (r"startdelay=\d+", ""),
    # Its device is a file here.
    (r"allow_file_create=0", ""),
    (r"(runtime|timeout)=\S+", "runtime=2"),
    (r"bs=\d+[kK]", "bs=4k"),
    (
        r"(ramp_time|io_submit_mode|numa_\w+|cmd_type|registerfiles|sqthread_\w+|fixedbufs|hipri|nonvectored)\b.*",
        "",
    ),
    (r"write_\w+_log=.*", ""),
    (r"bs=1M", "bs=16k"),
    (r"bssplit=64k/40:1024k/60,1024k/100", "bssplit=4k/40:16k/60,16k/100"),
    (r"bssplit=1M/40:2M/60", "bssplit=4k/40:8k/60"),
    # Its own test looks at priorities: test_priority_shares_beside_fio.py
    (r"cmdprio\w*=.*", ""),
)


def filled(text: str) -> str:
    """An example with the values of its variables."""
    return re.sub(r"\$\{(\w+)\}", lambda found: VALUES.get(found[1], found[0]), text)


def smaller(text: str) -> str:
    """An example in small."""
    lines: list[str] = []
    for raw in text.splitlines():
        line = re.split("[;#]", raw)[0].strip()
        for pattern, instead in SMALLER:
            if re.fullmatch(pattern, line):
                line = instead
        if line.startswith(("filename=", "libblkio_path=")):
            line = f"filename={Path(line.partition('=')[2]).name}.bin"
        elif line.startswith(("directory=", "libblkio_driver=")):
            line = ""
        lines.append(line)
    return "\n".join(lines).replace("[global]", "[global]\nthread=0\ndirect=1", 1)


@pytest.mark.parametrize("name", accepted() if EXAMPLES.is_dir() else [])
def test_an_example_asks_for_the_same_io(tmp_path: Path, name: str) -> None:
    text = smaller(filled((EXAMPLES / name).read_text()))
    job_file = tmp_path / "job.fio"
    job_file.write_text(text if "[global]" in text else f"[global]\nthread=0\ndirect=1\n{text}")
    for path in re.findall(r"^filename=(.*)$", text, re.MULTILINE):
        (tmp_path / path).write_bytes(b"\1" * FILE_BYTES)
    subprocess.run(
        ["fio", "--create_only=1", job_file], cwd=tmp_path, check=True, capture_output=True, timeout=60
    )
    theirs = by_fio(tmp_path, job_file)
    ours = by_fathom(job_file)
    assert set(ours) == set(theirs)
    timed = "time_based" in text or "runtime" in text
    # fio ends where its map of visited blocks has no room left for the next size.
    anew = any("drawn anew each time, as with norandommap" in note for note in import_method(job_file)[1])
    for path, jobs in theirs.items():
        together = [one for job in jobs for one in job]
        # How far fio gets in a time depends on the machine.
        most = max(map(len, jobs)) if timed else MOST
        own = [one for job in ours[path] for one in job[:most]]
        if not timed and not anew:
            # fio reads back what a job wrote within that job; here that is a step of its own.
            assert len(ours[path]) == len(jobs) or "verify" in text
            assert sum(map(attrgetter("size"), own)) == pytest.approx(
                sum(map(attrgetter("size"), together)), abs=64 * 1024 * len(jobs)
            )
        check_shares(own, together, "op")
        if not anew:
            check_shares(own, together, "size")
        check_range(own, together)
        for op in sorted({one.op for one in together if one.op != "flush"}):
            own_order, other = (order_of(both, op) for both in (ours[path], jobs))
            assert own_order == pytest.approx(other, abs=0.05), op


def order_of(jobs: Sequence[Sequence[Io]], op: str) -> float:
    """The share of an operation's requests that follow on behind the one before, over jobs with enough of them."""
    of_op = [[one for one in job if one.op == op] for job in jobs]
    found = [follow_ons(one) for one in of_op if len(one) > 10]
    return sum(found) / len(found)


def by_fathom(job_file: Path) -> dict[str, list[list[Io]]]:
    """By file, what each thread of each step asks for."""
    text, _ = import_method(job_file)
    method = parse_method(text, "imported.toml")
    [called] = re.findall(r"^# Run it on (.*)$", text, re.MULTILINE)
    targets = {
        name: re.findall(r"file:(?:\./)?([^,]+)", target)
        for name, _, target in (
            one.rpartition("=") if "=" in one else ("", "", one) for one in called.split()
        )
    }
    found: dict[str, list[list[Io]]] = {}
    for step in method.steps:
        if step.kind != "measure":
            continue
        paths = targets[step.targets[0]] if step.targets else next(iter(targets.values()))
        for path, job in zip(paths, step.job.of_parts(len(paths)), strict=True):
            threads: dict[int, list[Io]] = {}
            for thread, op, offset, size in _core.requests(job, FILE_BYTES, 512, 7, MOST):
                threads.setdefault(thread, []).append(Io(op, offset, size))
            found.setdefault(path, []).extend(threads.values())
    return found


def check_shares(ours: Sequence[Io], theirs: Sequence[Io], what: str) -> None:
    """Operations or sizes, within 1 % and what chance makes of so many."""
    own, other = shares(ours, attrgetter(what)), shares(theirs, attrgetter(what))
    for value in set(own) | set(other):
        share = own.get(value, 0)
        chance = 3 * (share * (1 - share) / min(len(ours), len(theirs))) ** 0.5
        assert other.get(value, 0) == pytest.approx(share, abs=0.01 + chance), value


def check_range(ours: Sequence[Io], theirs: Sequence[Io]) -> None:
    """The first and the last byte, within a hundredth of the file."""
    for ends in (
        [min(one.offset for one in both) for both in (ours, theirs)],
        [max(one.offset + one.size for one in both) for both in (ours, theirs)],
    ):
        assert ends[0] == pytest.approx(ends[1], abs=FILE_BYTES // 100)
