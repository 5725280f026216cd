"""Ensembles of the tiny drive: what they agree with, what they leave open, and how a member is run."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from tiny_drive import NAME, RANDOM_READ, Catalogue

from fathom.catalog import CatalogError, load_device
from fathom.catalog.ensemble import ensemble_toml, load_ensemble, shipped_ensembles, write_ensemble
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import UsageError
from fathom.load.backend import make_twin
from fathom.prediction.misses import digest_of
from fathom.prediction.priors import priors_of
from fathom.validation.cases import cases_of
from fathom.validation.ensemble import SIMULATED, Sampled, deviation, sample_ensemble
from fathom.validation.trial import run_trial
from fathom.validation.validate import TrialRunner

WRITE = 'block_kib = 64, read_pct = 0, pattern = "seq", iodepth = 4'
MEMBERS = 30
TRUE_SENSE_US, FILE_SENSE_US = 80.0, 62.0


def row(workload: str, role: str, load: str, iops: float) -> str:
    return f'{{ workload = "{workload}", role = "{role}", {load}, iops = {iops:.5g} }}'


def sampled(members: int = MEMBERS, seed: int = 1) -> Sampled:
    with ThreadPoolExecutor(2) as workers:
        return sample_ensemble(load_device(NAME), TrialRunner(workers, seed), members)


@pytest.fixture
def published(catalogue: Catalogue) -> Catalogue:
    """Rows of the true drive and a validation row that is nonsense; the file's drive senses too fast."""
    catalogue.rows(row("read", "calibration", RANDOM_READ, 1), row("write", "calibration", WRITE, 1))
    device = load_device(NAME)
    rates = [
        run_trial(twin_params_json(device, case.trial.bench), replace(case.trial, covered=0.02))
        .ops[None]
        .iops
        for case in cases_of(device)
        if case.trial
    ]
    catalogue.rows(
        row("read", "calibration", RANDOM_READ, rates[0]),
        row("write", "calibration", WRITE, rates[1]),
        row("nonsense", "validation", RANDOM_READ, 10 * rates[0]),
    )
    catalogue.device(("read_sense_us",), read_sense_us=FILE_SENSE_US)
    return catalogue


def test_members_agree_with_the_calibration_rows_and_their_range_holds_the_truth(published: Catalogue):
    assert published
    found = sampled()
    assert [case.row.workload for case in found.cases] == ["read", "write"]
    assert found.ensemble.misfit_pct < 0.5 * found.ensemble.misfit_before_pct
    assert found.ensemble.misfit_pct < 5
    sense = {one.name: one for one in found.narrowed}["read_sense_us"]
    low, high = sense.posterior
    assert low < TRUE_SENSE_US < high
    assert sense.learnt > 0.3
    assert high / low < sense.prior[1] / sense.prior[0]
    others = [one.learnt for one in found.narrowed if one.name in ("erase_us", "dram_read_us", "ecc_us")]
    assert max(others) < sense.learnt


def test_the_same_seed_gives_the_same_members_and_another_seed_others(published: Catalogue):
    assert published
    first, again, other = (sampled(10, seed).ensemble for seed in (1, 1, 2))
    assert first == again
    assert first.members != other.members


def test_a_member_of_a_written_ensemble_is_run_by_its_number(published: Catalogue):
    assert published
    ensemble = sampled(10).ensemble
    path = write_ensemble(ensemble)
    assert path.read_text() == ensemble_toml(ensemble)
    kept = load_ensemble(NAME)
    assert kept.members == ensemble.members
    twin = load_device(f"{NAME}?member=3,read_sense_us=70").twin
    assert twin is not None
    assert twin.parameters["read_sense_us"].value == 70
    others = {name: value for name, value in kept.member(3).items() if name != "read_sense_us"}
    assert {name: twin.parameters[name].value for name in others} == others
    assert isinstance(twin.parameters["programming_dies_max"].value, int)


@pytest.mark.parametrize(
    ("setting", "says"), [("member=11", "members 1 to 10, not 11"), ("member=x", "expected a whole number")]
)
def test_a_member_that_is_not_there_is_refused(published: Catalogue, setting: str, says: str):
    assert published
    write_ensemble(sampled(10).ensemble)
    with pytest.raises(CatalogError, match=says):
        load_device(f"{NAME}?{setting}")


def test_a_device_without_an_ensemble_says_how_to_make_one(published: Catalogue):
    assert published
    with pytest.raises(CatalogError, match="calibrate acme-tiny-256mib --ensemble --write"):
        load_device(f"{NAME}?member=1")


def test_a_device_that_has_no_priors_or_no_row_is_refused(published: Catalogue):
    with ThreadPoolExecutor(1) as workers, pytest.raises(UsageError, match="only SSDs have priors"):
        sample_ensemble(load_device("wd-ultrastar-dc-hc560-20tb"), TrialRunner(workers))
    published.rows(row("nonsense", "validation", RANDOM_READ, 1000))
    with pytest.raises(UsageError, match="no calibration row"):
        sampled()


def test_without_the_library_one_line_says_what_to_install(
    published: Catalogue, monkeypatch: pytest.MonkeyPatch
):
    assert published
    monkeypatch.setitem(sys.modules, "pyesmda", None)
    with pytest.raises(UsageError, match="pyesmda"):
        sampled(10)


def test_priors_hold_80_percent_within_their_factor_and_keep_structure_and_zeros_fixed(
    catalogue: Catalogue,
):
    catalogue.device(("read_sense_us",), program_min_run_us=0.0)
    priors = {one.name: one for one in priors_of(load_device(NAME))}
    assert not {"channels", "dies_per_channel", "block_bytes", "program_min_run_us"} & set(priors)
    scores = np.random.default_rng(1).standard_normal(20_000)
    values = priors["read_sense_us"].values(scores)
    inside = np.mean((values > 80 / 1.25) & (values < 80 * 1.25))
    assert inside == pytest.approx(0.8, abs=0.01)
    assert priors["programming_dies_max"].values(scores).max() == 8
    assert np.array_equal(priors["programming_dies_max"].values(scores) % 1, np.zeros(len(scores)))


@pytest.mark.parametrize("name", shipped_ensembles())
def test_members_that_come_with_fathom_are_of_the_present_twin_and_can_be_simulated(name: str):
    ensemble = load_ensemble(name)
    assert ensemble.digest == digest_of(load_device(name)), f"run `fathom calibrate {name} --ensemble` again"
    assert len(ensemble.members) >= 100
    assert ensemble.misfit_pct < 5
    for number in (1, 50, 100):
        make_twin(twin_params_json(load_device(f"{name}?member={number}")), seed=1)


@pytest.mark.parametrize(("published", "rounding"), [(70_000, 5_000), (1_068_508, 0.5), (206.6, 0.05)])
def test_a_row_is_as_uncertain_as_its_rounding_and_the_noise_of_a_simulation(
    catalogue: Catalogue, published: float, rounding: float
):
    catalogue.rows(f'{{ workload = "read", role = "calibration", {RANDOM_READ}, iops = {published} }}')
    [case] = cases_of(load_device(NAME))
    wanted = np.hypot(SIMULATED, rounding / np.sqrt(3) / published)
    assert deviation(case) == pytest.approx(wanted, rel=1e-6)
