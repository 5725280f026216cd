"""Data placement in the report: the same streams with one handle and with one each, paired and compared."""

from dataclasses import replace
from pathlib import Path

import pytest

import fathom
from fathom.report.blocks import Figure, Table
from fathom.report.comparison import compare, margin_of
from fathom.report.data import load
from fathom.report.sections import amplification, placement

SN861 = "twin:wd-ultrastar-dc-sn861-e1s-7.68tb"
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
    blocks = [block for block in section.blocks if isinstance(block, Table)]
    totals, by_stream = blocks
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


@pytest.mark.parametrize(
    ("beside", "continues", "is_doubted"),
    [("uniform", False, True), ("sequential", False, False), ("uniform", True, False)],
)
def test_a_log_that_begins_anew_beside_random_writes_has_the_doubt_that_this_leaves(
    beside: str, continues: bool, is_doubted: bool, tmp_path: Path
) -> None:
    text = STEP % {"name": "long", "log": "", "small": ""}
    method = tmp_path / "long.toml"
    text = text.replace('"0.1s"', '"3s"').replace('"uniform"', f'"{beside}"')
    if continues:
        steady = 'kind = "precondition"\nsteady = { round = "1s", window = 2 }'
        before = text.replace('"long"', f'"before"\n{steady}', 1)
        text = before + text.replace('"long"', '"long"\ncontinues = true', 1)
    method.write_text('schema = "fathom-method/1"\nname = "long"\n' + text)
    section = placement.build(
        compare([load(fathom.run(str(method), SN861, out=tmp_path).path)], lambda *_: ())
    )
    assert section is not None
    [figure] = [block for block in section.blocks if isinstance(block, Figure)]
    assert (placement.RESTART in figure.caption) is is_doubted


@pytest.mark.parametrize(
    ("block", "is_doubted"),
    [('"128KiB"', True), ('[{ size = "32KiB", share = 1 }, { size = "64KiB", share = 1 }]', False)],
)
def test_a_log_of_one_block_size_has_the_doubt_that_its_turns_are_alike(
    block: str, is_doubted: bool, tmp_path: Path
) -> None:
    text = STEP.replace('"0.1s"', '"3s"') % {"name": "long", "log": "", "small": ""}
    assert '"128KiB"' in text
    method = tmp_path / "long.toml"
    method.write_text('schema = "fathom-method/1"\nname = "long"\n' + text.replace('"128KiB"', block))
    section = placement.build(
        compare([load(fathom.run(str(method), SN861, out=tmp_path).path)], lambda *_: ())
    )
    assert section is not None
    [figure] = [one for one in section.blocks if isinstance(one, Figure)]
    assert (placement.EQUAL_TURNS in figure.caption) is is_doubted


def variant(run: Path, waf: float, half: float | None, *, placed: bool) -> placement.Variant:
    """A measured step with that WAF, known to `half` of it."""
    low, high = (None, None) if half is None else (waf * (1 - half), waf * (1 + half))
    points = [replace(point, waf=waf, waf_low=low, waf_high=high) for point in load(run).points]
    return placement.Variant("step", "label", placed, points, (), (), doubts=())


@pytest.mark.parametrize(
    ("waf", "half", "tone", "said", "change"),
    [
        (1.5, 0.01, "good", "1.97 to 2.03", "cuts the WAF of a load from 3.00 to 1.50"),
        (2.9, 0.20, "", "level", "leaves the WAF of a load at 2.90"),
        (2.9, None, "", "no interval", "cuts the WAF of a load from 3.00 to 2.90"),
        (3.1, 0.001, "bad", "worse", "raises the WAF of a load from 3.00 to 3.10"),
    ],
)
def test_what_handles_save_is_called_so_only_where_its_interval_excludes_one(
    run: Path, waf: float, half: float | None, tone: str, said: str, change: str
) -> None:
    own, shared = variant(run, waf, half, placed=True), variant(run, 3.0, half, placed=False)
    item = placement.saved(own, shared)
    assert item is not None
    assert item.text == f"{3.0 / waf:.2f}x"
    assert item.tone == tone
    assert said in item.sub
    assert placement.change_in_words("a load", [shared, own]) == f"A handle per stream {change}."


def test_every_stream_has_intervals_of_its_own_also_where_others_issue_its_operation(tmp_path: Path) -> None:
    text = STEP % {"name": "long", "log": "", "small": ""}
    method = tmp_path / "long.toml"
    method.write_text('schema = "fathom-method/1"\nname = "long"\n' + text.replace('"0.1s"', '"12s"'))
    data = load(fathom.run(str(method), "twin:wd-ultrastar-dc-sn861-7.68tb", out=tmp_path).path)
    section = placement.build(compare([data], lambda *_: ()))
    assert section is not None
    figure, table = section.blocks[-2:]
    assert isinstance(table, Table)
    assert isinstance(figure, Figure)
    assert [row.label.text for row in figure.data.groups[0].rows] == ["pair, long"]
    rows = {(row.label.text, row.label.sub): row.cells for row in table.groups[0].rows}
    [reads] = [point for point in data.points if point.op == "read"]
    assert rows["small", "read"][4].text == placement.grouped(reads.p95_us or 0)
    assert rows["small", "read"][1].sub == margin_of(reads.iops, reads.iops_low, reads.iops_high)
    for name in ("log", "small"):
        assert rows[name, "write"][1].sub.startswith("± ")
        assert rows[name, "write"][4].title == "95 % interval"
    [alone, *_] = [row for row in data.streams if row.op == "read"]
    assert alone.interval("p99_us") == reads.interval("p99_us")
    assert alone.interval("mean_us") == reads.interval("mean_us")


def test_the_table_of_the_bars_rounds_a_waf_as_that_of_the_loads_does(run: Path) -> None:
    data = load(run)
    points = [replace(point, waf=1.00501) if point.waf else point for point in data.points]
    section = placement.build(compare([replace(data, points=points)], lambda *_: ()))
    assert section
    assert section.key_figure
    assert isinstance(section.key_figure.block, Figure)
    shown = [
        item.text
        for group in section.key_figure.block.data.groups
        for row in group.rows
        for item in row.cells
    ]
    assert isinstance(section.blocks[0], Table)
    totals = [row.cells[0].text for group in section.blocks[0].groups for row in group.rows]
    assert set(shown) == set(totals) == {"1.01"}


def test_steps_of_streams_are_left_to_their_own_section(run: Path) -> None:
    assert amplification.build(compare([load(run)], lambda *_: ())) is None
