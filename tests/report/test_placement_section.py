"""Data placement in the report: the same streams with one handle and with one each, paired and compared."""

from pathlib import Path

import pytest

import fathom
from fathom.report.blocks import Figure, Table
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import amplification, placement

SN861 = "twin:wd-ultrastar-dc-sn861-7.68tb"
STEP = """
[[steps]]
name = "%(name)s"
label = "pair, %(name)s"
[steps.job]
until = { time = "0.1s" }
[[steps.job.streams]]
name = "log"
mix = "write"
block = "128KiB"
pattern = "sequential"
region = "50%%"
load = { iodepth = 4 }
%(log)s
[[steps.job.streams]]
name = "small"
mix = { read = 50, write = 50 }
block = "4KiB"
pattern = "uniform"
region = { start = "50%%" }
load = { iodepth = 16 }
%(small)s
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("placement")
    shared = STEP % {"name": "shared", "log": "", "small": ""}
    placed = STEP % {"name": "placed", "log": "placement = 1", "small": "placement = 2"}
    method = folder / "pair.toml"
    method.write_text('schema = "fathom-method/1"\nname = "pair"\n' + placed + shared)
    return fathom.run(str(method), SN861, out=folder).path


def test_steps_that_differ_in_handles_alone_are_one_load_the_shared_one_first(run: Path) -> None:
    data = load(run)
    section = placement.build(compare([data], lambda *_: ()))
    assert section is not None
    blocks = [block for block in section.blocks if isinstance(block, Figure | Table)]
    totals, by_stream = (block.data if isinstance(block, Figure) else block for block in blocks)
    [group] = totals.groups
    assert [row.label.text for row in group.rows] == ["pair, shared", "pair, placed"]
    waf = {point.step: point.waf or 0 for point in data.points if point.op == "write"}
    shared, placed = group.rows
    assert shared.cells[0].text == placement.grouped(waf["shared"])
    assert placed.cells[1].text == f"{waf['shared'] / waf['placed']:.2f}x"
    assert [[row.cells[0].text for row in one.rows] for one in by_stream.groups] == [
        ["default", "default", "default"],
        ["1", "2", "2"],
    ]


def test_steps_of_streams_are_left_to_their_own_section(run: Path) -> None:
    assert amplification.build(compare([load(run)], lambda *_: ())) is None
