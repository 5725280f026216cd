"""Trials whose prior work is computed: where that is the same state, and where the work is simulated instead."""

import json
from dataclasses import replace

import pytest
from tiny_drive import NAME, READ_ROW, Catalogue, depths_toml

from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.method.job import read_job
from fathom.validation import overwritten
from fathom.validation.cases import Trial, cases_of
from fathom.validation.comparison import compare_case
from fathom.validation.trial import Measured, run_trial

SUITE = ("micron-m510dc-480gb", "samsung-845dc-evo-480gb", "sandisk-cloudspeed-eco-480gb")
SLICE = 64
LAST = (
    '{"mix": "write", "block": "4KiB", "pattern": "uniform", "load": {"iodepth": 8}, "until": {"time": "8s"}}'
)
LONG_S = 4000.0
"""Of the whole drive: a window in which a slice's figures are known to some tenths of a percent."""


def suite_of(name: str) -> tuple[str, Trial]:
    """The suite on a slice, with a window long enough to compare, and two of its depths."""
    device = load_device(name)
    trial = next(case.trial for case in cases_of(device) if case.trial)
    parameters = json.loads(twin_params_json(device, trial.bench)) | {"slice_denominator": SLICE}
    longer = replace(trial, window_s=LONG_S, iodepths=(4, 128), depth_s=LONG_S)
    return json.dumps(parameters), longer


def simulated(monkeypatch: pytest.MonkeyPatch, parameters: str, trial: Trial) -> Measured:
    """The trial with every write of its prior work."""
    with monkeypatch.context() as patched:
        patched.setattr(overwritten, "settled_params", lambda *_: None)
        measured = run_trial(parameters, trial)
    assert not measured.begins_settled
    return measured


@pytest.mark.parametrize("name", SUITE)
def test_a_drive_that_begins_settled_has_the_figures_of_one_that_wrote_for_eight_hours(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters, trial = suite_of(name)
    one, other = run_trial(parameters, trial), simulated(monkeypatch, parameters, trial)
    assert one.begins_settled
    assert one.waf == pytest.approx(other.waf, rel=0.01)
    assert one.ops[None].iops == pytest.approx(other.ops[None].iops, rel=0.01)
    assert one.ops[None].mean_us == pytest.approx(other.ops[None].mean_us, rel=0.01)
    assert one.watts == pytest.approx(other.watts, rel=0.01)
    for at, also in zip(one.depths, other.depths, strict=True):
        assert at.iops == pytest.approx(also.iops, rel=0.015), "known to 1 % each"


def tiny(catalogue: Catalogue) -> tuple[str, Trial]:
    catalogue.write("systems/acme-bench.toml", depths_toml())
    catalogue.rows(READ_ROW)
    device = load_device(NAME)
    [case] = cases_of(device)
    assert case.trial is not None
    return twin_params_json(device, case.trial.bench), replace(case.trial, iodepths=(), window_s=0.1)


def lasting(trial: Trial, *seconds: float) -> Trial:
    """The trial whose parts of prior work take these times."""
    prior = (part.lasting(round(one * 1e9)) for part, one in zip(trial.prior, seconds, strict=True))
    return replace(trial, prior=tuple(prior))


def test_work_that_overwrites_the_drive_too_little_or_never_filled_it_is_simulated(
    catalogue: Catalogue,
) -> None:
    parameters, trial = tiny(catalogue)
    assert run_trial(parameters, lasting(trial, 3, 20)).begins_settled
    assert not run_trial(parameters, lasting(trial, 3, 2)).begins_settled
    assert not run_trial(parameters, lasting(trial, 0.1, 20)).begins_settled


@pytest.mark.parametrize(
    "changed",
    [
        {"mix": {"read": 50, "write": 50}},
        {"block": "8KiB"},
        {"region": "50%"},
        {"pattern": "sequential"},
        {"pattern": {"zipf": 1.1}},
        {"load": {"iodepth": 8, "think": "1ms"}},
    ],
)
def test_work_that_leads_to_another_state_is_simulated(
    changed: dict[str, object], catalogue: Catalogue
) -> None:
    parameters, trial = tiny(catalogue)
    assert overwritten.settled_params(parameters, trial) is not None
    last = json.loads(LAST) | changed
    other = replace(trial, prior=(*trial.prior[:-1], read_job(json.dumps(last), "other.json")))
    assert overwritten.settled_params(parameters, other) is None
    assert overwritten.settled_params(parameters, replace(trial, prior=trial.prior[-1:])) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"gc_policy": "cost-benefit"},
        {"gc_policy": "d-choices"},
        {"slc_bytes": 16 << 20, "slc_program_us": 200.0},
    ],
)
def test_a_drive_whose_state_theory_does_not_give_is_simulated(
    changed: dict[str, object], catalogue: Catalogue
) -> None:
    parameters, trial = tiny(catalogue)
    other = json.dumps(json.loads(parameters) | changed)
    assert not run_trial(other, lasting(trial, 3, 20)).begins_settled


def test_a_row_says_that_its_drive_begins_settled(catalogue: Catalogue) -> None:
    parameters, trial = tiny(catalogue)
    [case] = cases_of(load_device(NAME))
    row = compare_case(case, run_trial(parameters, lasting(trial, 3, 20)))[0]
    assert row.reason is not None
    assert "begins settled" in row.reason
