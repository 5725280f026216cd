"""Sentences about the latency that a system adds claim only figures of targets that had settled."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

import fathom
from fathom.columns.schema import Point
from fathom.report import run_json, runs_json
from fathom.report.added_interval import AddedMean, added_mean
from fathom.report.added_loads import Measured
from fathom.report.added_pairs import Added, no_pair, pairs_of
from fathom.report.blocks import Prose, Table
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import Gate, gate
from fathom.report.sections import added_latency

STEP = """
[[steps]]
name = "4k-rand-read-{name}"
workload = "4k-rand-read-{name}"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = {{ threads = {threads}, iodepth = 32 }}
until = {{ time = "50ms" }}
"""
METHOD = 'schema = "fathom-method/1"\nname = "small"\nkey_figure = "added-latency"\n' + "".join(
    STEP.format(name=f"{threads}x32", threads=threads) for threads in (1, 6)
)


@pytest.mark.parametrize("settled", [False, True])
def test_what_a_system_adds_is_claimed_only_where_both_had_settled(settled: bool, tmp_path: Path) -> None:
    keys = "?settled_share=1" if settled else ""
    targets = [f"twin:samsung-pm1743-7.68tb{keys}", f"twin:samsung-pm9a3-7.68tb{keys}"]
    run = fathom.run(METHOD, targets, out=tmp_path)
    section = added_latency.build(compare([load(run.path)]))
    assert section is not None
    told = " ".join(section.answer)
    assert ("the system adds most to" in told) is settled
    assert ("Its maximum is" in told) is settled
    assert ("no figure of those is claimed" in told) is not settled
    [table] = [
        one for one in section.blocks if isinstance(one, Table) and one.corner.startswith("Added at equal")
    ]
    assert [row.label.sub for row in table.groups[0].rows] == ["" if settled else "not claimed"]
    [row] = cast("list[dict[str, object]]", run_json(run.path)["added"])
    assert row["claimed"] is settled


def test_the_reason_names_the_side_alone_that_had_not_settled(tmp_path: Path) -> None:
    targets = ["twin:samsung-pm1743-7.68tb?settled_share=1", "twin:samsung-pm9a3-7.68tb"]
    pairs, columns, out = _pairs(targets, tmp_path)
    assert pairs
    sentence = no_pair(pairs, columns, out)
    assert (
        sentence == "Samsung PM9A3 7.68TB had not settled at the loads shown, so no added latency is claimed."
    )


def _pairs(targets: list[str], folder: Path) -> tuple[list[Added], list[Measured], Gate]:
    comparison = compare([load(fathom.run(METHOD, targets, out=folder).path)])
    system, drive = map(Measured, comparison.columns)
    return pairs_of(system, drive), [system, drive], gate(comparison)


def test_a_maximum_is_that_of_the_loads_claimed_where_others_are_not(tmp_path: Path) -> None:
    run = fathom.run(METHOD, "twin:samsung-pm9a3-7.68tb?settled_share=1", out=tmp_path)
    section = added_latency.build(compare([load(run.path)]))
    assert section is not None
    assert section.answer[0].startswith("Its maximum is")
    assert "published" not in section.answer[0], "its source gives no rate of a single job"
    system = Measured(compare([load(run.path)]).columns[0], {"4k-rand-read-6x32"})
    assert added_latency.reached(system)[0].startswith("Its maximum over the loads that are claimed is")


def _point(run_folder: Path, **changed: float | None) -> Point:
    run = load(fathom.run(METHOD, ["twin:samsung-pm9a3-7.68tb"], out=run_folder).path)
    return replace(run.points[0], **changed)


def test_an_added_latency_has_the_half_intervals_of_both_means_in_quadrature(tmp_path: Path) -> None:
    behind = _point(tmp_path, mean_us=120.0, mean_low_us=117.0, mean_high_us=123.0)
    direct = replace(behind, mean_us=100.0, mean_low_us=96.0, mean_high_us=104.0)
    added = added_mean(behind, direct)
    assert added is not None
    assert added == AddedMean(20.0, 5.0)
    assert (added.plus_minus, added.may_be_none) == ("±5.0", False)
    near = added_mean(behind, replace(direct, mean_us=116.0))
    assert near is not None
    assert near.may_be_none, "4 us ±5"


def test_an_added_latency_without_an_interval_says_which_mean_has_none_and_why(tmp_path: Path) -> None:
    behind = _point(tmp_path, mean_us=120.0, mean_low_us=117.0, mean_high_us=123.0, window_s=60.0)
    none = {"mean_low_us": None, "mean_high_us": None}
    for direct, why in (
        (replace(behind, **none, window_s=2.0), "the drive's mean has none (its window is shorter than 5 s)"),
        (replace(behind, **none, window_s=60.0), "the drive's mean has none (too few I/Os)"),
    ):
        added = added_mean(behind, direct)
        assert added is not None
        assert (added.half_us, added.plus_minus, added.why) == (None, "no interval", why)
    assert added_mean(behind, None) is None


def test_the_interval_of_an_added_latency_is_in_the_table_the_sentence_and_the_json(tmp_path: Path) -> None:
    method = METHOD.replace("50ms", "5s").replace('name = "small"', 'name = "small"\nprecision = "1%"')
    targets = [f"twin:samsung-{model}-7.68tb?settled_share=1" for model in ("pm9a3", "pm1743")]
    path = fathom.run(method, targets, out=tmp_path).path
    section = added_latency.build(compare([load(path)]))
    assert section is not None
    [row] = cast("list[dict[str, float]]", run_json(path)["added"])
    assert row["added_us"] == pytest.approx(row["system_mean_us"] - row["drive_mean_us"])
    half_us = row["added_high_us"] - row["added_us"]
    assert 0 < half_us < 0.2 * row["system_mean_us"]
    said = AddedMean(row["added_us"], half_us).plus_minus
    assert f"us ({said}" in " ".join(section.answer)
    tables = [one for one in section.blocks if isinstance(one, Table)]
    [table] = [one for one in tables if one.corner.startswith("Added at equal")]
    assert said in str(table.groups[0].rows[0].cells[2])
    assert any("in quadrature" in note for note in table.footnotes)


def _added_of(*runs: Path) -> set[tuple[object, object]]:
    rows = cast("list[dict[str, object]]", runs_json(runs)["added"])
    return {(row["system"], row["drive"]) for row in rows}


def test_a_system_is_compared_with_the_drive_of_its_own_run(tmp_path: Path) -> None:
    drives = [f"twin:{name}-7.68tb" for name in ("samsung-pm1743", "samsung-pm9a3", "kioxia-cm7-r")]
    first, second = (fathom.run(METHOD, pair, out=tmp_path).path for pair in (drives[:2], drives[1:]))
    assert _added_of(first, second) == {(drives[0], drives[1]), (drives[1], drives[2])}
    section = added_latency.build(compare([load(first), load(second)]))
    assert section is not None
    prose = [line for block in section.blocks if isinstance(block, Prose) for line in block.paragraphs]
    assert "Not compared here: 'Samsung PM9A3 7.68TB · B'. Report its run alone to see what it adds." in prose


def test_a_system_and_a_drive_of_a_run_each_are_compared(tmp_path: Path) -> None:
    drives = [f"twin:{name}-7.68tb" for name in ("samsung-pm1743", "samsung-pm9a3")]
    runs = [fathom.run(METHOD, drive, out=tmp_path).path for drive in drives]
    assert _added_of(*runs) == {(drives[0], drives[1])}
