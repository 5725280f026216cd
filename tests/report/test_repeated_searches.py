"""Rounds and searches for an SLO over repeats: what of them is pooled, with which interval, and what is not."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import fathom
from fathom.method.curve import Curve, Figures, Slo
from fathom.method.rounds import Round
from fathom.report import runs_json
from fathom.report.blocks import Table
from fathom.report.capacity import Capacity, Search
from fathom.report.comparison import Comparison, compare, margin_of
from fathom.report.data import RunData, load
from fathom.report.findings import gate
from fathom.report.rounds import RepeatedRounds, Rounds, Series, axes, verdicts
from fathom.report.rounds import rounds_of as found_rounds
from fathom.report.sections import curves, mixes
from fathom.report.sections import repeats as section
from fathom.report.style import compact

PLACE = Round("iops", "rnd", 1, 25, 5, 0.2, 0.1, ("rnd",), "iops")
CURVE = Path(__file__).parent.parent / "data" / "curve.toml"
SN861 = "twin:wd-ultrastar-dc-sn861-7.68tb"
ROUNDS = """
[[steps]]
name = "iops"
kind = "rounds"
rounds = { most = 6, window = 3, track = ["rnd"] }

[[steps.steps]]
name = "rnd"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 2 }, until = { time = "1s" } }
"""
FLAT = [100.0, 101.0, 100.0, 99.0, 100.0]
FALLING = [300.0, 240.0, 200.0, 160.0, 120.0]
STUDENT_2 = 4.302653
"""Student's t, 97.5 %, two degrees of freedom."""


def rounds(values: list[float]) -> Rounds:
    run = cast("RunData", SimpleNamespace(document=SimpleNamespace(quick=None)))
    return Rounds(run, PLACE, [Series("rnd", "random", {}, dict(enumerate(values, 1)))])


@pytest.mark.parametrize(
    ("labels", "rows", "columns"),
    [
        ("random, 4T/32Q, {a} KiB, {b} % reads", ["4 KiB", "8 KiB"], ["65 % reads", "5 % reads"]),
        ("a name of its own", ["rnd-4", "rnd-8"], ["65", "5"]),
    ],
)
def test_a_matrix_of_rounds_is_headed_by_the_labels_of_its_sweep(
    labels: str, rows: list[str], columns: list[str]
) -> None:
    names = [(a, b) for a in (4, 8) for b in (65, 5)]
    series = [Series(f"rnd-{a}-{b}", labels.format(a=a, b=b), {}, dict(enumerate(FLAT, 1))) for a, b in names]
    own = RepeatedRounds([replace(rounds(FLAT), series=series)])
    assert [list(axis.values()) for axis in axes(own)] == [rows, columns]
    assert [list(axis) for axis in axes(own)] == [["rnd-4", "rnd-8"], ["65", "5"]]
    assert axes(RepeatedRounds([replace(rounds(FLAT), series=series[:3])])) == ({}, {})


def scaled(values: list[float], share: float) -> list[float]:
    return [share * value for value in values]


def search(best_iops: float | None, failing_iops: float | None) -> Search:
    best = None
    if best_iops:
        best = Figures("m@1", best_iops, best_iops, 0.0, 0.0, 4, 1.0, 1.0)
    return Search(best, failing_iops, 1000.0, judged=True)


def capacity(*searches: Search) -> Capacity:
    return Capacity(Curve((0.5,), 1, "exponential", "response", Slo("p99", 200, 5)), searches)


def test_a_mean_over_repeats_is_students_over_their_window_means() -> None:
    repeats = RepeatedRounds([rounds(scaled(FLAT, share)) for share in (0.9, 1.0, 1.1)])
    mean = repeats.mean("rnd")
    assert mean is not None
    assert mean.value == pytest.approx(100)
    assert mean.interval is not None
    assert mean.interval.high - mean.value == pytest.approx(STUDENT_2 * 10 / np.sqrt(3), rel=1e-3)


def test_a_mean_over_repeats_is_never_surer_than_the_rounds_inside_each() -> None:
    alone = RepeatedRounds([rounds(FLAT)]).mean("rnd")
    alike = RepeatedRounds([rounds(scaled(FLAT, share)) for share in (1, 1 + 1e-9, 1 - 1e-9)]).mean("rnd")
    assert alone is not None
    assert alone.interval is not None
    assert alike is not None
    assert alike.interval is not None
    assert alike.interval.high - alike.value == pytest.approx(
        (alone.interval.high - alone.value) / np.sqrt(3)
    )


def test_a_repeat_that_never_became_steady_is_shown_and_not_averaged() -> None:
    repeats = RepeatedRounds([rounds(FLAT), rounds(FALLING), rounds(scaled(FLAT, 1.02))])
    mean = repeats.mean("rnd")
    assert (len(repeats.steady), len(repeats.repeats)) == (2, 3)
    assert mean is not None
    assert mean.value == pytest.approx(101)
    assert repeats.each("rnd") == pytest.approx([100, 204, 102])


def test_a_single_steady_repeat_has_a_mean_and_no_interval_over_repeats() -> None:
    mean = RepeatedRounds([rounds(FLAT), rounds(FALLING)]).mean("rnd")
    assert mean is not None
    assert (mean.value, mean.interval) == (100, None)


def test_where_no_repeat_became_steady_all_are_shown_as_such() -> None:
    repeats = RepeatedRounds([rounds(FALLING), rounds(FALLING)])
    mean = repeats.mean("rnd")
    assert not repeats.steady
    assert mean is not None
    assert mean.value == pytest.approx(204)


def test_a_capacity_over_repeats_is_the_mean_of_what_each_search_found() -> None:
    found = capacity(search(500, 520), search(550, 572), search(600, 624))
    assert found.iops == pytest.approx(550)
    assert found.interval is not None
    assert found.interval.high - 550 == pytest.approx(STUDENT_2 * 50 / np.sqrt(3), rel=1e-3)
    assert (found.share, found.open_share) == (pytest.approx(0.55), pytest.approx(0.04))


def test_a_repeat_that_meets_the_objective_nowhere_leaves_no_mean() -> None:
    found = capacity(search(500, 520), search(None, 300))
    assert len(found.met) == 1
    assert (found.iops, found.interval) == (None, None)


def test_what_bisection_left_open_is_unknown_where_nothing_tried_fails() -> None:
    assert capacity(search(500, None), search(500, 520)).open_share is None


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Rounds and a curve with an objective on a twin, with three seeds."""
    folder = tmp_path_factory.mktemp("repeats")
    method = folder / "both.toml"
    method.write_text(CURVE.read_text() + ROUNDS)
    return [fathom.run(str(method), targets=[SN861], seed=seed, out=folder).path for seed in (5, 6, 7)]


@pytest.fixture(scope="module")
def comparison(runs: list[Path]) -> Comparison:
    return compare([load(run) for run in runs], pool=True)


def test_json_has_rounds_and_capacities_over_repeats_and_no_point_that_repeats_do_not_share(
    runs: list[Path],
) -> None:
    document = runs_json(runs, pool=True)
    pooled, means, found = (
        cast("list[dict[str, object]]", document[n]) for n in ("pooled", "rounds", "capacities")
    )
    assert {str(row["step"]) for row in pooled} == {
        "mixed",
        *(f"mixed@{share}" for share in (30, 60, 90, 120)),
    }
    (mean,), (best,) = means, found
    assert (mean["repeats"], mean["steady"], mean["unit"]) == (3, 3, "IOPS")
    each = cast("list[float]", mean["each"])
    assert mean["mean"] == pytest.approx(np.mean(each))
    assert cast("float", mean["mean_low"]) <= min(each)
    assert (best["repeats"], best["met"], best["percentile"], best["limit_us"]) == (3, 3, "p99", 500)
    rates = cast("list[float]", best["each"])
    assert len(set(rates)) == 3
    assert best["iops"] == pytest.approx(np.mean(rates))
    assert cast("float", best["iops_low"]) < min(rates)


def test_points_of_a_curve_have_intervals_of_response_latency_over_repeats(runs: list[Path]) -> None:
    pooled = cast("list[dict[str, float]]", runs_json(runs, pool=True)["pooled"])
    for row in pooled:
        if row["step"] == "mixed@60":
            assert row["response_mean_low_us"] < row["response_mean_us"] < row["response_mean_high_us"]
            assert row["response_p99_low_us"] < row["response_p99_us"] < row["response_p99_high_us"]
            assert row["response_p9999_us"] is None
            assert row["response_p9999_low_us"] is None


def test_the_report_shows_rounds_and_capacity_of_every_repeat(comparison: Comparison) -> None:
    built = section.build(comparison)
    assert built is not None
    table = built.blocks[1]
    assert isinstance(table, Table)
    groups = {group.title: group.rows for group in table.groups}
    assert list(groups) == ["", "Rounds: means over the window", "Capacity at an SLO"]
    (of_rounds,), (of_search,) = list(groups.values())[1:]
    assert "3 of 3 steady" in of_rounds.cells[0].sub
    assert "met in 3 of 3" in of_search.cells[0].sub
    assert len({cell.text for cell in of_search.cells[2:]}) == 3
    assert "passes in 3 of 3 repeats" in verdicts(found_rounds(comparison), gate(comparison))[0]


def test_the_capacity_in_the_section_of_curves_is_that_of_all_repeats(comparison: Comparison) -> None:
    built = curves.build(comparison)
    assert built is not None
    table = built.blocks[0]
    assert isinstance(table, Table)
    cell = table.groups[0].rows[0].cells[0]
    assert cell.sub.startswith("± ")
    assert "more fails" in cell.sub
    alone = curves.build(compare(list(comparison.runs)[:1]))
    assert alone is not None
    assert isinstance(alone.blocks[0], Table)
    assert cell.text != alone.blocks[0].groups[0].rows[0].cells[0].text


MIXED_ROUNDS = """
schema = "fathom-method/1"
name = "mixed-rounds"

[[steps]]
name = "matrix"
kind = "rounds"
rounds = { most = 4, window = 3, track = ["rnd-r0-4k"] }

[[steps.steps]]
name = "rnd"
sweep = [
  { key = "mix", names = ["r100", "r70", "r30", "r0"], values = [
    "read", { read = 70, write = 30 }, { read = 30, write = 70 }, "write",
  ] },
  { key = "block", names = ["4k", "8k"], values = ["4KiB", "8KiB"] },
]
job = { block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "100ms" } }
"""


def test_the_map_of_mixes_is_of_all_repeats_rounds_and_says_how_sure_they_are(tmp_path: Path) -> None:
    method = tmp_path / "mixed.toml"
    method.write_text(MIXED_ROUNDS)
    runs = [load(fathom.run(str(method), targets=[SN861], seed=seed, out=tmp_path).path) for seed in (5, 6)]
    seen = compare(runs, pool=True)
    built = mixes.build(seen)
    assert built is not None
    mapped = next(block for block in built.blocks if isinstance(block, Table))
    (rounds,) = found_rounds(seen)["matrix"]
    assert len(rounds.pooled) == 2
    for row, block in zip(mapped.groups[0].rows, ("4k", "8k"), strict=True):
        for cell, mix in zip(row.cells, ("r0", "r30", "r70", "r100"), strict=True):
            mean = rounds.mean(f"rnd-{mix}-{block}")
            assert mean is not None
            assert mean.interval is not None
            assert cell.text == compact(mean.value)
            sure = margin_of(mean.value, mean.interval.low, mean.interval.high)
            assert cell.sub.replace("\u00a0", " ").startswith(f"{sure} · ")
    assert "of every repeat" in mapped.footnotes[-1]
