"""One trial on the tiny drive: how long it measures, what it says, that it repeats and that it can be stopped."""

import json
import time
from dataclasses import replace
from threading import Event, Timer

import pytest
from tiny_drive import NAME, READ_ROW, Catalogue, depths_toml

from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import FathomError, InterruptedRunError
from fathom.validation.cases import Trial, cases_of
from fathom.validation.trial import LIMITS, Measured, run_trial

ON_EIGHT = 'block_kib = 4, pattern = "rand", iodepth = 8, iops = 1'
WRITE_ROW = f'{{ workload = "write", role = "validation", read_pct = 0, {ON_EIGHT} }}'
MIX_ROW = f'{{ workload = "mix", op = "read", role = "validation", read_pct = 70, {ON_EIGHT} }}'


def trial_of(row: str | None, catalogue: Catalogue) -> tuple[str, Trial]:
    if row:
        catalogue.rows(row)
    device = load_device(NAME)
    [case] = cases_of(device)
    assert case.trial is not None
    return twin_params_json(device, case.trial.bench), case.trial


def test_it_measures_until_the_interval_is_narrow_and_obeys_littles_law(catalogue: Catalogue) -> None:
    measured = run_trial(*trial_of(None, catalogue))
    assert measured.steady
    assert measured.interval_pct is not None
    assert measured.interval_pct <= 1
    assert measured.window_s >= 5
    total = measured.ops[None]
    assert total.iops * total.mean_us / 1e6 == pytest.approx(8, rel=0.001)
    assert total.value("mbps") == pytest.approx(total.iops * 4096 / 1e6)
    assert total.value("mibps") == pytest.approx(total.iops / 256)
    assert set(measured.ops) == {None, "read"}


def test_random_writes_are_measured_after_they_covered_their_region(catalogue: Catalogue) -> None:
    parameters, trial = trial_of(WRITE_ROW, catalogue)
    fresh = json.loads(parameters) | {"over_provisioning": 3.0}
    assert (
        run_trial(parameters, trial).ops[None].iops < 0.7 * run_trial(json.dumps(fresh), trial).ops[None].iops
    )


def test_halves_of_a_mix_add_up(catalogue: Catalogue) -> None:
    ops = run_trial(*trial_of(MIX_ROW, catalogue)).ops
    assert ops["read"].iops + ops["write"].iops == pytest.approx(ops[None].iops)
    assert ops["read"].iops / ops[None].iops == pytest.approx(0.7, abs=0.01)


def test_a_bench_that_goes_through_iodepths_measures_each_from_the_state_that_the_last_one_left(
    catalogue: Catalogue,
) -> None:
    catalogue.write("systems/acme-bench.toml", depths_toml())
    parameters, trial = trial_of(READ_ROW, catalogue)
    measured = run_trial(parameters, trial)
    rates = {one.iodepth: one.iops for one in measured.depths}
    assert list(rates) == [1, 2, 4, 8, 16]
    assert rates[1] < rates[2] < rates[4] < rates[8] < rates[16]
    assert rates[8] == pytest.approx(measured.ops[None].iops, rel=0.02)
    assert replace(measured, depths=()) == run_trial(parameters, replace(trial, iodepths=()))


def test_the_same_seed_gives_the_same_figures(catalogue: Catalogue) -> None:
    arguments = trial_of(WRITE_ROW, catalogue)
    assert run_trial(*arguments) == run_trial(*arguments)
    assert run_trial(*arguments) != run_trial(*arguments, seed=2)


def test_a_trial_that_does_not_get_there_says_why(catalogue: Catalogue) -> None:
    measured = run_trial(*trial_of(WRITE_ROW, catalogue), limits=replace(LIMITS, most_s=3))
    assert not measured.steady
    assert measured.interval_pct is None
    assert "3 of at least 5 rounds" in measured.grounds


def test_an_interrupt_ends_it_soon(catalogue: Catalogue) -> None:
    interrupt = Event()
    Timer(0.5, interrupt.set).start()
    started = time.monotonic()
    with pytest.raises(InterruptedRunError):
        run_trial(
            *trial_of(None, catalogue), limits=replace(LIMITS, most_s=1e4, interval=0), interrupt=interrupt
        )
    assert time.monotonic() - started < 10


def test_parameters_that_make_no_drive_are_one_line(catalogue: Catalogue) -> None:
    parameters, trial = trial_of(None, catalogue)
    with pytest.raises(FathomError, match="over_provisioning"):
        run_trial(json.dumps(json.loads(parameters) | {"over_provisioning": 0.0}), trial)


def test_measured_is_complete_even_without_a_round(catalogue: Catalogue) -> None:
    measured = run_trial(*trial_of(None, catalogue), limits=replace(LIMITS, most_s=0.5))
    assert isinstance(measured, Measured)
    assert measured.grounds == "no round finished"
