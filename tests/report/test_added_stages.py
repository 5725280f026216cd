"""Added latency on real targets: which loads are alike, and what each stage between a drive and a system adds."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fathom.fleet.agent import HostAgent
from fathom.fleet.fleet import Fleet
from fathom.load.initiator import ThisMachine
from fathom.method.method import Method, parse_method
from fathom.report.added_loads import Measured
from fathom.report.blocks import Section, Table
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import added_latency
from fathom.runs.reader import Run
from fathom.session import Options, start_run

SIZE = 4 << 20
STEP = """
[[steps]]
name = "4k-rand-read-{load}"
workload = "4k-rand-read-{load}"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = {{ threads = {threads}, iodepth = 32{split} }}
until = {{ time = "1s" }}
"""


class Here:
    """A host in threads of this process."""

    def __init__(self, name: str, pool: ThreadPoolExecutor) -> None:
        self.agent, self._pool = HostAgent(name), pool

    def submit(self, method: Any, *arguments: object) -> "Future[Any]":
        return self._pool.submit(method, self.agent, *arguments)


def method(split: str) -> Method:
    head = 'schema = "fathom-method/1"\nname = "small"\nkey_figure = "added-latency"\n'
    fill = STEP.format(load="fill", threads=1, split="").replace('"read"', '"write"')
    fill = fill.replace("[[steps]]", '[[steps]]\nkind = "fill"').replace('time = "1s"', 'written = "1x"')
    loads = [STEP.format(load=f"{jobs}x32", threads=jobs, split=split) for jobs in (1, 3)]
    return parse_method("".join([head, fill, *loads]), "small.toml")


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    with ThreadPoolExecutor(16) as pool:
        yield Fleet([(name, Here(name, pool)) for name in ("h1", "h2")])


def folders(tmp_path: Path, names: Sequence[str]) -> list[str]:
    for name in names:
        (tmp_path / name).mkdir()
    return [f"dir:{tmp_path / name}" for name in names]


def run_of(fleet: Fleet | None, text: str, out: Path, split: str = ', split = "drives"') -> Run:
    initiator = fleet or ThisMachine()
    targets = initiator.resolve([text], SIZE)
    return start_run(method(split), targets, Options(out=out, initiator=initiator))


def loads_of(run: Run) -> tuple[str, str] | None:
    [column] = compare([load(run.path)]).columns
    return Measured(column).alike()


def table_of(section: Section, title: str) -> Table | None:
    tables = [block for block in section.blocks if isinstance(block, Table)]
    return next((table for table in tables if table.corner == title), None)


def test_loads_are_alike_when_as_much_is_in_flight_on_each_drive(tmp_path: Path, fleet: Fleet) -> None:
    shelf = "array:" + ",".join(folders(tmp_path, "ab"))
    assert loads_of(run_of(fleet, shelf, tmp_path / "out")) == ("1x32", "1x32")
    assert loads_of(run_of(fleet, shelf, tmp_path / "out", split="")) == ("1x32", "1x64")
    three = "array:" + ",".join(folders(tmp_path, "cde"))
    assert loads_of(run_of(None, three, tmp_path / "out")) == ("3x32", "1x32")


def test_each_stage_between_a_drive_and_a_system_stands_with_what_it_adds(
    tmp_path: Path, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whatever else this machine does, and so whether its load threads wait for cores.
    monkeypatch.setattr(added_latency, "gate", lambda _: {})
    local, behind = folders(tmp_path, ["local", "behind"])
    shelf = "array:" + ",".join(folders(tmp_path, "ab"))
    runs = [
        run_of(fleet, shelf, tmp_path / "out"),
        *(run_of(None, text, tmp_path / "out") for text in (behind, local)),
    ]
    section = added_latency.build(compare([load(run.path) for run in runs]))
    assert section is not None
    table = table_of(section, "Where the system adds it")
    assert table is not None
    means = []
    for run, target in zip(reversed(runs), (local, behind, shelf), strict=True):
        [point] = [
            row
            for row in run.points.to_pylist()
            if (row["target"], row["step"]) == (target, "4k-rand-read-1x32")
        ]
        means.append(point["mean_us"])
    key = section.key_figure
    assert key is not None
    added_us = means[2] - means[0]
    assert (f"adds {added_us:.0f} us" if added_us > 0 else "adds no latency") in key.sentence
    rows = table.groups[0].rows
    assert [row.cells[0].text for row in rows] == [f"{mean:.1f}" for mean in means]
    added = [f"{after - before:+.1f}" for before, after in pairwise(means)]
    assert [row.cells[1].text for row in rows] == ["–", *added]


def test_a_system_and_its_drive_alone_have_no_stages(tmp_path: Path) -> None:
    texts = folders(tmp_path, ["system", "drive"])
    runs = [run_of(None, text, tmp_path / "out") for text in texts]
    section = added_latency.build(compare([load(run.path) for run in runs]))
    assert section is not None
    assert table_of(section, "Where the system adds it") is None
    assert table_of(section, "Added at equal load per drive (1 x 32 per host against 1 x 32)") is not None
