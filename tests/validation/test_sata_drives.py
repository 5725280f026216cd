"""The SATA drives of the 2015 enterprise suite, as slices: the shapes that their review describes."""

import json
from dataclasses import replace
from functools import cache

import pytest

from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.validation.cases import Trial, cases_of
from fathom.validation.trial import OpFigures, run_trial

M510DC, EVO, ECO = "micron-m510dc-480gb", "samsung-845dc-evo-480gb", "sandisk-cloudspeed-eco-480gb"
SLICE = 128
"""Latencies and rates are those of the whole drive; a flush of the map and what follows it are too short to be seen."""


def random_writes(iodepth: int) -> Trial:
    """The suite's last 500 s, at a depth of one's own."""
    trial = next(case.trial for case in cases_of(load_device(M510DC)) if case.trial)
    return replace(trial, job=trial.job.with_load(iodepth=iodepth))


@cache
def steady(name: str, iodepth: int = 32) -> OpFigures:
    trial = random_writes(iodepth)
    parameters = json.loads(twin_params_json(load_device(name), trial.bench)) | {"slice_denominator": SLICE}
    return run_trial(json.dumps(parameters), trial).ops[None]


def test_the_m510dc_makes_a_tenth_of_its_io_wait_and_the_rest_not_at_all() -> None:
    figures = steady(M510DC)
    assert 8 < figures.above_pct(5000) < 16
    assert figures.above_pct(1000) < figures.above_pct(5000) + 2
    assert 20_000 < figures.iops < 26_000


def test_the_845dc_evo_stays_below_5_ms_at_little_more_than_half_the_rate() -> None:
    figures = steady(EVO)
    assert figures.above_pct(5000) < 0.01
    assert 0.45 < figures.iops / steady(M510DC).iops < 0.7


def test_the_cloudspeed_eco_is_much_slower_than_the_m510dc() -> None:
    assert steady(ECO).iops < 0.75 * steady(M510DC).iops


def test_the_m510dc_is_at_its_maximum_by_depth_4() -> None:
    assert steady(M510DC, 4).iops == pytest.approx(steady(M510DC).iops, rel=0.03)
