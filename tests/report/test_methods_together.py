"""Runs of several methods in one report: each step is what its own method says."""

import json
from dataclasses import replace
from pathlib import Path

import synthetic
from fathom.report.comparison import compare
from fathom.report.data import RunData, load
from fathom.report.findings import finding_texts
from fathom.report.sections import build_all

PM1743, PM9A3 = synthetic.TWINS[2:4]


def run_of(folder: Path, target: synthetic.Fake, *, quick: bool = False) -> Path:
    return synthetic.make_run(folder, [target], quick=quick, notes=())


def other_method(run: Path, **changes: object) -> RunData:
    """The run as one of another method, whose measured steps have other values under the same names."""
    document = json.loads((run / "run.json").read_text())
    document["method"]["name"] = "other"
    for step in document["method"]["parsed"]["steps"]:
        if step["kind"] == "measure":
            step |= changes
    (run / "run.json").write_text(json.dumps(document))
    return load(run)


def test_a_step_has_the_published_figure_that_its_own_method_names(tmp_path: Path) -> None:
    runs = [load(run_of(tmp_path / "a", PM9A3)), other_method(run_of(tmp_path / "b", PM1743), published=None)]
    alone = finding_texts(compare(runs[:1], synthetic.lookup))
    assert finding_texts(compare(runs, synthetic.lookup)).agreement == alone.agreement != ""


def test_no_target_leads_where_one_of_the_runs_is_shortened(tmp_path: Path) -> None:
    runs = [load(run_of(tmp_path / "a", PM1743)), load(run_of(tmp_path / "b", PM9A3, quick=True))]
    for order in (runs, runs[::-1]):
        texts = finding_texts(compare(order, synthetic.lookup))
        assert "is ahead in" in texts.overall
        assert not any(" leads " in text for text in texts.outcomes)


def test_large_and_small_blocks_under_one_name_share_no_row(tmp_path: Path) -> None:
    small, large = (load(run_of(tmp_path / name, PM9A3)) for name in "ab")
    point = next(one for one in large.points if one.step == "4k-rand-read")
    changed = replace(point, block_bytes=1 << 20, mbps=6000.0, iops=5722.0)
    large = replace(large, points=[changed if one is point else one for one in large.points])
    comparison = compare([small, large], synthetic.lookup)
    units = [
        (corner.unit, cell.value)
        for corner in comparison.corners
        for cell in corner.cells
        if cell.step.name == "4k-rand-read"
    ]
    assert [unit for unit, _ in units] == ["IOPS", "MB/s"]
    assert units[1][1] == 6000.0
    assert len({corner.key for corner in comparison.corners}) == len(comparison.corners) == 5
    assert build_all(comparison)
