"""fio's engine falloc, under strace, and as methods: the same calls, in the same order."""

import re
import shutil
from pathlib import Path

import pytest
from fio_jobs import imported
from fio_traces import lines_of

from fathom import _core
from fathom.errors import UsageError
from fathom.imports import import_method
from fathom.method.method import parse_method

FILE_BYTES = 1 << 20
#: The mode that the kernel is asked for.
MODES = {"0": "allocate", "FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE": "trim"}
CALL = re.compile(r"fallocate\(\d+<[^>]*>, ([A-Z_|0-9]+), (\d+), (\d+)\) += 0")


@pytest.mark.skipif(
    shutil.which("fio") is None or shutil.which("strace") is None, reason="fio or strace is not installed"
)
@pytest.mark.parametrize("rw", ["write", "trim", "randwrite", "randtrim"])
def test_room_is_reserved_and_freed_as_by_fio(tmp_path: Path, rw: str) -> None:
    file = tmp_path / "job.fio"
    file.write_text(f"[x]\nioengine=falloc\nfilename=x.bin\nsize=1m\nbs=64k\nrw={rw}\n")
    (tmp_path / "x.bin").write_bytes(b"\1" * FILE_BYTES)
    # The main process lays the file out.
    [calls] = [found for lines in lines_of(tmp_path, file, "fallocate")[1:] if (found := called(lines))]
    text, _ = import_method(file)
    [step] = parse_method(text, "imported.toml").steps
    own = [one[1:] for one in _core.requests(step.job, FILE_BYTES, 512, 7, 1000)]
    assert len(calls) == 16
    assert (sorted(own) == sorted(calls)) if rw.startswith("rand") else (own == calls)


def called(lines: list[str]) -> list[tuple[str, int, int]]:
    """Operation, first byte and length of each call."""
    found = [call for line in lines if (call := CALL.match(line))]
    return [(MODES[call[1]], int(call[2]), int(call[3])) for call in found]


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("rw=read", ":6: rw: reserves room behind the end of the file too"),
        ("rw=write\nfilename=/dev/sdz", ":7: filename: a device has no room to reserve"),
        ("rw=write\nfsync=1", ":7: fsync: has no counterpart in jobs of the engine falloc"),
    ],
)
def test_what_room_has_no_counterpart_for_is_refused(tmp_path: Path, lines: str, what: str) -> None:
    with pytest.raises(UsageError) as error:
        imported(tmp_path, f"[x]\nioengine=falloc\nfilename=f\nsize=1m\nbs=4k\n{lines}\n")
    assert what in str(error.value)
