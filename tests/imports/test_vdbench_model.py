"""Imported Vdbench files ask for the I/O that Vdbench asks for: addresses, ranges, sizes, mix, threads and order.

The model is written after the sources of Vdbench 5.04.06 (`Dist.version` vdbench50406). The names in its parentheses
are of the class and method there that say so, with their file and line.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fathom import _core
from fathom.errors import UsageError
from fathom.imports import import_method
from fathom.method.method import parse_method

CASES: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parents[1] / "data" / "vdbench" / "cases.toml").read_text()
)["case"]
GIB = 1 << 30
DRAWN = 20_000


@dataclass(frozen=True)
class VdbenchRun:
    """One run: what differs from Vdbench's defaults.

    Eight threads (`SD_entry.threads`, SD_entry.java:61), 4096 bytes (`WD_entry.xf_table`, WD_entry.java:56), only reads
    (`WD_entry.readpct`, WD_entry.java:57), all at random (`WD_entry.seekpct`, WD_entry.java:46) for 30 s
    (`RD_entry.elapsed`, RD_entry.java:61).

    Of several workloads at once each has its skew of the rate (WG_entry.java:695). `targets` are the storage of one
    among several, from 1; the threads are those of its storage.
    """

    threads: int = 8
    sizes: Mapping[str, float] = field(default_factory=lambda: {"4096": 100})
    reads: float = 100
    seeks: float = 100
    seconds: float = 30
    rate: float | None = None
    device: bool = True
    direct: bool = True
    size: int = GIB
    offset: int = 0
    align: int = 0
    range: Sequence[float] = (0, 100)
    largest: int = 0
    passes: float = 0
    bytes: int = 0
    bands: Mapping[str, float] = field(default_factory=dict)
    fill: bool = False
    inside: int = 0
    targets: Sequence[int] = ()

    @property
    def bounds(self) -> tuple[int, int]:
        """The first byte, and the one after the last (`WG_entry.calculateContext`, WG_entry.java:388).

        Up to 100 a bound is percent of the size, else bytes. The first block of a device is not touched
        (`SD_entry.canWeUseBlockZero`, SD_entry.java:876). Both bounds are cut to multiples of the largest block; the
        offset moves the first.
        """
        largest = self.largest or max(map(int, self.sizes))
        low, high = self.range
        first = int(self.size * low / 100) if low <= 100 else int(low)
        last = int(self.size * high / 100) if high <= 200 else int(high)
        if self.device and first == 0:
            first = largest
        return first // largest * largest + self.offset, last // largest * largest

    def in_order(self, number: int) -> int:
        """Where the sequential request of that number begins: one position of all threads, which begins again at
        the first byte behind the last (`WG_entry.wg_get_next_seq`, synchronized, WG_entry.java:786).
        """
        first, last = self.bounds
        size = int(next(iter(self.sizes)))
        return first + number % ((last - first) // size) * size


class Asked(NamedTuple):
    """One request."""

    thread: int
    op: str
    offset: int
    size: int


def jobs_of(tmp_path: Path, parm: str) -> list[dict[str, Any]]:
    """The jobs of all steps that have one, in their normal form; of streams each with its targets."""
    file = tmp_path / "case.parm"
    file.write_text(parm)
    method = parse_method(import_method(file)[0], "made.toml")
    found = [json.loads(step.job.json) for step in method.steps if step.job and step.kind != "idle"]
    return [
        one
        for whole in found
        for one in (
            [stream["job"] | {"targets": stream.get("targets", [])} for stream in whole.get("streams", [])]
            or [whole]
        )
    ]


def asked_of(job: dict[str, Any]) -> list[Asked]:
    """Requests of a job on 1 GiB."""
    each = DRAWN // job["load"]["threads"]
    own = {key: value for key, value in job.items() if key != "targets"}
    return [Asked(*one) for one in _core.requests(_core.Job(json.dumps(own)), GIB, 512, 1, each)]


def test_there_are_at_least_forty_files() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_file_asks_for_what_vdbench_asks_for(case: dict[str, Any], tmp_path: Path) -> None:
    if "refused" in case:
        with pytest.raises(UsageError, match=case["refused"]):
            jobs_of(tmp_path, case["parm"])
        return
    jobs = jobs_of(tmp_path, case["parm"])
    runs = [VdbenchRun(**step) for step in case["steps"]]
    assert len(jobs) == len(runs)
    for job, run in zip(jobs, runs, strict=True):
        check_load(job, run)
        asked = asked_of(job)
        check_mix(asked, run)
        check_places(asked, run)
        check_order(asked, run)


def check_load(job: dict[str, Any], run: VdbenchRun) -> None:
    assert job["load"]["threads"] * job["load"]["iodepth"] == run.threads
    assert job["load"].get("rate_iops") == run.rate
    assert job.get("targets", []) == list(run.targets)
    if run.fill:
        return
    assert job["direct"] is run.direct
    assert job["until"]["time_ns"] == run.seconds * 10**9


def check_mix(asked: Sequence[Asked], run: VdbenchRun) -> None:
    count = len(asked)
    reads = sum(one.op == "read" for one in asked)
    assert 100 * reads / count == pytest.approx(run.reads, abs=0 if run.reads in (0, 100) else 1.5)
    sizes = Counter(str(one.size) for one in asked)
    assert set(sizes) == set(run.sizes)
    for size, share in run.sizes.items():
        assert 100 * sizes[size] / count == pytest.approx(share, abs=1.5)


def check_places(asked: Sequence[Asked], run: VdbenchRun) -> None:
    """Nothing outside of what Vdbench touches, and all of it."""
    first, last = run.bounds
    if run.reads == 100 and run.size == GIB and run.range[0] == 0:
        first = 0  # A read of a whole device may read its first block.
    low, high = min(one.offset for one in asked), max(one.offset + one.size for one in asked)
    assert first <= low
    assert high <= last
    if run.bytes or run.passes:
        return
    if run.seeks:
        slack = run.inside + (last - first) // 20
        assert low <= first + slack
        assert high >= last - slack
    if run.align:
        assert all((one.offset - first) % run.align == 0 for one in asked)
    for (low_edge, _), (edge, share) in pairwise([("0", 0.0), *run.bands.items()]):
        inside = sum(
            run.size * int(low_edge) / 100 <= one.offset < run.size * int(edge) / 100 for one in asked
        )
        assert 100 * inside / len(asked) == pytest.approx(share, abs=1.5)


def check_order(asked: Sequence[Asked], run: VdbenchRun) -> None:
    """Random, sequential from one position of all threads, or some of both; and where it ends."""
    first, last = run.bounds
    if run.seeks == 0:
        whole_device = run.reads == 100 and run.size == GIB
        moved = first if whole_device else 0  # Such a read begins at the first block.
        span = (last if whole_device else last - first) // asked[0].size
        expected = [first - moved + number % span * asked[0].size for number in range(len(asked))]
        if not whole_device and not run.fill:
            assert expected == [run.in_order(number) for number in range(len(asked))]
        assert [one.offset for one in asked] == expected
    elif len(run.sizes) == 1:
        follows = sum(before.offset + before.size == after.offset for before, after in pairwise(asked))
        assert 100 - 100 * follows / len(asked) == pytest.approx(run.seeks, abs=1.5)
    if run.passes:
        assert sum(one.size for one in asked) == run.passes * (last - first)
    if run.bytes:
        assert sum(one.size for one in asked) == run.bytes
