"""fio's sprandom under strace, where fio has it (3.41), and as the pattern `one-pass`: the same order and shares."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from fio_jobs import imported
from fio_traces import by_fio

from fathom import _core
from fathom.errors import UsageError
from fathom.imports import import_method
from fathom.method.method import parse_method

BLOCKS, STRETCHES, SPARE = 8192, 8, 0.2
JOB = "[x]\nfilename=x.bin\nioengine=psync\nrw=randwrite\nbs=4k\nsize=32m\ndirect=1\nsprandom=1\n"
OF_8 = f"{JOB}spr_num_regions={STRETCHES}\nspr_op={SPARE}\n"


def of_fathom(path: Path) -> list[int]:
    """The blocks that the imported job writes."""
    path.write_text(OF_8)
    [step] = parse_method(import_method(path)[0], "imported.toml").steps
    most = int(BLOCKS * (1 + SPARE))
    return [offset // 4096 for _, _, offset, _ in _core.requests(step.job, BLOCKS * 4096, 512, 7, 2 * most)]


def invalid(blocks: Sequence[int]) -> list[float]:
    """Which share of each stretch is written again later."""
    last = {block: at for at, block in enumerate(blocks)}
    length = int(BLOCKS * (1 + SPARE)) // STRETCHES
    return [
        sum(last[blocks[at]] != at for at in range(begin, begin + length)) / length
        for begin in range(0, (STRETCHES - 1) * length, length)
    ]


def check_order(blocks: Sequence[int]) -> None:
    """All blocks are written, and one is only written again in the next stretch, before new ones."""
    length = int(BLOCKS * (1 + SPARE)) // STRETCHES
    assert len(set(blocks)) > 0.99 * BLOCKS
    before: dict[int, int] = {}
    for at, block in enumerate(blocks[: (STRETCHES - 1) * length]):
        if block in before:
            assert at // length == before[block] // length + 1
            assert at % length < 0.4 * length
        before[block] = at


def test_an_imported_job_writes_all_flash_once(tmp_path: Path) -> None:
    blocks = of_fathom(tmp_path / "job.fio")
    assert len(blocks) == pytest.approx(BLOCKS * (1 + SPARE), abs=1)
    check_order(blocks)
    found = invalid(blocks)
    # WAF of 3.2: what is cleaned is 69 % valid.
    assert found[0] == pytest.approx(1 / (0.5 / SPARE + 0.7), abs=0.05)
    assert found == sorted(found, reverse=True)


@pytest.mark.skipif(
    shutil.which("fio") is None
    or shutil.which("strace") is None
    or "sprandom" not in subprocess.run(["fio", "--cmdhelp=all"], capture_output=True, text=True).stdout,
    reason="strace, or a fio with sprandom, is not installed",
)
def test_fio_writes_as_much_in_the_same_order(tmp_path: Path) -> None:
    own = of_fathom(tmp_path / "job.fio")
    (tmp_path / "x.bin").write_bytes(bytes(BLOCKS * 4096))
    [writes] = by_fio(tmp_path, tmp_path / "job.fio")["x.bin"]
    blocks = [one.offset // 4096 for one in writes]
    assert len(blocks) == pytest.approx(len(own), rel=0.01)
    check_order(blocks)
    assert invalid(blocks) == pytest.approx(invalid(own), abs=0.06)


def test_usual_values_are_those_of_fio(tmp_path: Path) -> None:
    steps, notes = imported(tmp_path, JOB)
    job = steps[-1]["job"]
    assert job["pattern"] == {"one-pass": {"spare": "15%", "stretches": 100}}
    assert (job["until"], job["region"]) == ({"written": "1.15x"}, "32MiB")
    assert any("sprandom: where all blocks are written" in note for note in notes)


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("numjobs=2\n", "has a counterpart for one job"),
        ("loops=2\n", "has a counterpart for one job"),
        ("rw=randrw\n", "has a counterpart for one job"),
        ("rw=write\n", "has a counterpart for one job"),
        ("bsrange=4k-8k\n", "has a counterpart for one job"),
        ("blockalign=8k\n", "has a counterpart for one job"),
        ("io_size=64m\n", "has a counterpart for one job"),
        ("time_based\nruntime=5\n", "has a counterpart for one job"),
        ("norandommap=0\n", "goes neither through zones nor by a map"),
        ("zonemode=zbd\n", "goes neither through zones nor by a map"),
        ("spr_cs=1m\n", "spr_cs: 1m: later fio: writes again later"),
    ],
)
def test_another_job_is_refused(tmp_path: Path, lines: str, what: str) -> None:
    with pytest.raises(UsageError) as error:
        imported(tmp_path, JOB + lines)
    assert what in str(error.value)
