"""Curves start from a stated state: each filled and covered by itself, on a twin of an SSD afresh."""

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from fathom import _core
from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.load.backend import TwinBackend
from fathom.load.resolve import resolve_targets
from fathom.method.method import Method, load_method, parse_method
from fathom.report.blocks import Figure
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import timeline
from fathom.report.sections.added_latency import published_most
from fathom.runs.layout import STEPS
from fathom.runs.steps import read_outcome
from fathom.runs.store import StepOutcome
from fathom.session import Options, start_run
from fathom.session.filled import FILL
from fathom.session.steady_rounds import SteadyRounds, Written
from fathom.session.target_run import _Known
from fathom.session.twin_windows import precision_of
from fathom.validation.cases import cases_of
from fathom.validation.trial import run_trial

CAPACITY = 10**9
CURVES = ("rate-curves", "application-mixes")


@pytest.mark.parametrize("name", CURVES)
def test_every_curve_is_filled_and_settled_right_before_its_maximum(name: str) -> None:
    steps = load_method(name).steps
    maxima = [place for place, step in enumerate(steps) if step.curve]
    assert maxima
    for place in maxima:
        mixed = len(steps[place].job.weights) > 1
        before = steps[place - (3 if mixed else 2) : place]
        assert [step.kind for step in before] == ["fill", *(["fill"] if mixed else []), "precondition"]
        assert before[0].afresh
        assert before[-1].job.weights == steps[place].job.weights


@pytest.mark.parametrize("name", CURVES)
def test_what_overwrites_for_a_mix_is_its_own_writes_alone(name: str) -> None:
    steps = {step.name: step for step in load_method(name).steps}
    overwrites = {name: step for name, step in steps.items() if name.startswith("overwrite-")}
    assert overwrites
    for name, step in overwrites.items():
        mix = steps[name.removeprefix("overwrite-")]
        assert set(step.job.weights) == {"write"}
        assert step.job.block_sizes["write"] == mix.job.block_sizes["write"]
        assert step.job.region_multiple == 1.0


def test_random_writes_behind_a_fill_have_to_cover_their_region_and_not_the_whole_target() -> None:
    step = next(step for step in load_method("rate-curves").steps if step.name == "settle-8k-rand-70r30w")
    missing = {}
    part = CAPACITY // 4
    filled = Written(part, fill_bytes=part)
    for before in (filled, replace(filled, random_bytes=part), Written(2 * CAPACITY)):
        steady = SteadyRounds(step, CAPACITY, before, quick=False)
        steady.add_round(1000.0, 1.0, 0)
        missing[before.random_bytes, before.filled] = steady.reason
    assert "0.00x of 0.25x the capacity written at random" in missing[0, True]
    assert "written" not in missing[CAPACITY // 4, True]
    assert "0.00x of 1x the capacity written at random" in missing[0, False]


def test_writes_of_a_fill_that_failed_are_missing_from_the_steady_state() -> None:
    step = next(step for step in load_method("rate-curves").steps if step.name == "settle-8k-rand-70r30w")
    known = _Known()
    fill = next(step for step in load_method("rate-curves").steps if step.name == "fill-8k-rand-70r30w")
    part = CAPACITY // 4
    known.add(fill, StepOutcome("complete", None, "", 60.0, round(0.7 * part)), part)
    steady = SteadyRounds(step, CAPACITY, known.written, quick=False)
    steady.add_round(1000.0, 1.0, 0)
    assert "0.17x of 0.25x the capacity written sequentially" in steady.reason
    known.add(fill, StepOutcome("complete", None, "", 60.0, part), part)
    steady = SteadyRounds(step, CAPACITY, known.written, quick=False)
    steady.add_round(1000.0, 1.0, 0)
    assert "sequentially" not in steady.reason


def test_a_twin_is_filled_as_validation_fills_it() -> None:
    from fathom.validation import trial

    assert trial.FILL is FILL


def test_the_most_of_a_shelf_stands_beside_the_published_one() -> None:
    assert published_most("atto-xstreamcore-9400", "4k-rand-write") == (1_655_172, "3x32")
    assert published_most("wd-ultrastar-dc-hc560-20tb", "4k-rand-write") is None
    assert published_most("wd-ultrastar-dc-sn640-3.2tb", "4k-rand-read") == (638_134, "1x128")
    assert published_most("samsung-pm9a3-7.68tb", "4k-rand-read") is None, "published with eight threads"


def alone(method: Method, name: str) -> Method:
    """The method with the steps of one maximum: its fill, what settles it, and the maximum itself."""
    steps = list(method.steps)
    last = next(place for place, step in enumerate(steps) if step.name == name)
    first = next(
        place for place in range(last, -1, -1) if steps[place].afresh and steps[place].kind == "fill"
    )
    keep = {step.name for step in steps[first : last + 1]}
    raw = [step for step in cast("list[dict[str, object]]", method.parsed["steps"]) if step["name"] in keep]
    return parse_method(json.dumps({**method.parsed, "steps": raw}), "alone.json")


@pytest.mark.parametrize(
    ("drive", "name", "method_name"),
    [
        ("samsung-pm1743-7.68tb", "8k-rand-70r30w", "rate-curves"),
        ("kioxia-cm7-r-7.68tb", "sql", "application-mixes"),
    ],
)
def test_a_review_settled_without_reads_gives_the_figure_that_validation_gives_with_them(
    drive: str, name: str, method_name: str, tmp_path: Path
) -> None:
    method = alone(load_method(method_name), name)
    run = start_run(method, resolve_targets([f"twin:{drive}"]), Options(out=tmp_path))
    points = [point for point in run.points.to_pylist() if point["step"] == name]
    assert [point["steady"] for point in points] == [True, True]
    reviewed = sum(point["iops"] for point in points)
    half_width = sum(point["iops_high"] - point["iops_low"] for point in points) / 2
    device = load_device(drive)
    trial = next(case.trial for case in cases_of(device) if case.row.workload == f"vdbench-{name}")
    assert trial is not None
    measured = run_trial(twin_params_json(device, trial.bench), trial)
    validated = sum(figures.iops for op, figures in measured.ops.items() if op is None)
    assert reviewed == pytest.approx(validated, abs=0.01 * validated + half_width)


MIXED = """
schema = "fathom-method/1"
name = "mixed"
title = "Mixed"
summary = "A mix that settles"

[[steps]]
name = "settle"
kind = "precondition"
steady = { round = "100ms" }
[steps.job]
mix = { read = 90, write = 10 }
block = "4KiB"
pattern = "PATTERN"
load = { iodepth = 4 }
until = { time = "800ms" }

[[steps]]
name = "measured"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "100ms" } }
"""


@pytest.mark.parametrize(
    ("target", "pattern", "alone"),
    [
        ("twin:samsung-pm9a3-7.68tb", "uniform", True),
        ("twin:samsung-pm9a3-7.68tb*2", "uniform", True),
        ("array:twin:samsung-pm9a3-7.68tb,twin:toshiba-mg10-20tb", "uniform", False),
        ("twin:samsung-pm9a3-7.68tb", "sequential", False),
        ("null:", "uniform", False),
    ],
)
def test_only_twins_of_ssds_settle_a_random_mix_without_its_reads_and_say_so(
    target: str, pattern: str, alone: bool, tmp_path: Path
) -> None:
    method = parse_method(MIXED.replace("PATTERN", pattern), "mixed.toml")
    run = start_run(method, resolve_targets([target]), Options(out=tmp_path))
    ops = {row["op"] for row in run.intervals.to_pylist() if row["step"] == "settle"}
    assert ops == ({"write"} if alone else {"read", "write"})
    folder = next((run.path / STEPS).glob("*-settle"))
    outcome = read_outcome(folder)
    assert outcome is not None
    assert outcome.reason.endswith("; without its reads") is alone
    section = timeline.build(compare([load(run.path)]))
    assert section is not None
    [figure] = section.blocks
    assert isinstance(figure, Figure)
    assert (timeline.WITHOUT_READS in figure.caption) is alone


def test_points_of_a_curve_may_be_known_half_as_well_as_its_maximum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[float, int, int, int]] = []
    monkeypatch.setattr(_core, "Precision", lambda *rule: asked.append(rule))
    twin = TwinBackend(twin_params_json(load_device("samsung-pm9a3-7.68tb")), 1)
    steps = {step.name: step for step in load_method("rate-curves").steps}
    for name in ("4k-rand-70r30w", "4k-rand-70r30w@50"):
        precision_of(steps[name], twin)
    (top, *_), (point, *_) = asked
    assert point == pytest.approx(2 * top)
