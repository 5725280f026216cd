"""Write amplification wherever a report prints it: with its interval, or with the reason for none."""

from pathlib import Path

import pytest

import fathom
from fathom.report.blocks import Figure, Item, Section, Table
from fathom.report.comparison import Comparison, compare
from fathom.report.data import load
from fathom.report.sections import amplification, balance, corners, mixes, placement
from fathom.report.waf import NOTE, WHY_NONE, waf_text

STEP = """
[[steps]]
name = "reads-%(reads)d"
job = { mix = { read = %(reads)d, write = %(writes)d }, block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, \
until = { time = "%(length)s" } }
"""
STREAMS = """
[[steps]]
name = "%(name)s"
label = "pair, %(name)s"
[steps.job]
until = { time = "8s" }
[[steps.job.streams]]
name = "log"
mix = "write"
block = "128KiB"
pattern = "sequential"
region = "50%%"
load = { iodepth = 1 }
%(log)s
[[steps.job.streams]]
name = "small"
mix = "write"
block = "4KiB"
pattern = "uniform"
region = { start = "50%%" }
load = { iodepth = 2 }
%(small)s
"""


def measured(folder: Path, steps: str, target: str) -> Comparison:
    method = folder / "waf.toml"
    method.write_text('schema = "fathom-method/1"\nname = "waf"\n' + steps)
    return compare([load(fathom.run(str(method), target, out=folder).path)], lambda *_: ())


def mixed(length: str) -> str:
    return "".join(
        STEP % {"reads": reads, "writes": 100 - reads, "length": length} for reads in (20, 40, 60, 80)
    )


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return measured(tmp_path_factory.mktemp("long"), mixed("8s"), "twin:micron-m510dc-480gb")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return measured(tmp_path_factory.mktemp("short"), mixed("3s"), "twin:micron-m510dc-480gb")


def table(section: Section | None) -> Table:
    """The last of a section."""
    assert section is not None
    last = section.blocks[-1]
    found = last.data if isinstance(last, Figure) else last
    assert isinstance(found, Table)
    return found


def column_of(found: Table, name: str) -> list[Item]:
    place = [item.text for item in found.head].index(name)
    return [row.cells[place] for group in found.groups for row in group.rows]


@pytest.mark.parametrize("section", [mixes, amplification])
def test_waf_of_seconds_has_its_interval_and_of_too_few_the_reason(
    section: object, long: Comparison, short: Comparison
) -> None:
    build = section.build  # pyright: ignore[reportAttributeAccessIssue]
    known, unknown = table(build(long)), table(build(short))
    assert all(item.sub.startswith("± ") for item in column_of(known, "WAF"))
    assert {(item.sub, item.title) for item in column_of(unknown, "WAF")} == {("", WHY_NONE)}
    assert NOTE in known.footnotes
    assert NOTE in unknown.footnotes


def test_the_table_of_results_says_how_sure_waf_is(long: Comparison, short: Comparison) -> None:
    for comparison, begins in ((long, "± "), (short, "")):
        found = table(corners.build(comparison))
        cells = [cell for cell in column_of(found, corners.WAF) if cell is not corners.NONE]
        assert cells
        assert all(cell.sub.startswith(begins) and bool(cell.sub) == bool(begins) for cell in cells)
        assert NOTE in found.footnotes


def test_waf_of_streams_and_what_a_handle_each_saves_have_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Eight seconds settle no drive; the sentence is the one of a drive that had settled.
    monkeypatch.setattr(placement, "gate", lambda _: {})
    steps = STREAMS % {"name": "placed", "log": "placement = 1", "small": "placement = 2"}
    steps += STREAMS % {"name": "shared", "log": "", "small": ""}
    built = placement.build(measured(tmp_path, steps, "twin:wd-ultrastar-dc-sn861-e1s-7.68tb"))
    assert built is not None
    totals = built.blocks[0]
    assert isinstance(totals, Table)
    shared, placed = totals.groups[0].rows
    assert shared.cells[0].sub.startswith("± ")
    assert placed.cells[0].sub.startswith("± ")
    low, high = map(float, placed.cells[1].sub.split(" to "))
    assert low <= float(placed.cells[1].text[:-1]) <= high
    assert f"({shared.cells[0].sub}) with one handle" in built.answer[0]


def test_waf_of_each_namespace_has_its_interval(tmp_path: Path) -> None:
    comparison = measured(
        tmp_path,
        STEP % {"reads": 30, "writes": 70, "length": "8s"},
        "twin:samsung-pm9a3-7.68tb?namespaces=2",
    )
    each = table(balance.build(comparison)).groups[0].rows[0].cells[-1]
    assert each.text.count("(± ") == 2


def test_a_waf_in_a_sentence_has_its_interval_where_there_is_one() -> None:
    assert waf_text(2.0, (1.9, 2.1)) == "2.00 (± 5.0 %)"
    assert waf_text(2.0, None) == "2.00 (no interval)"
