"""Steady state: the SNIA window as the standard has it, the combined criterion, and how often each is wrong."""

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from fathom.statistics.levels import change_points, mser5
from fathom.statistics.steady import SteadyState, Verdict, Volume, snia_window
from fathom.statistics.trend import distance_to_floor, theil_sen

WRITTEN = Volume(sequential_x=2.0, random_x=1.0)


def judge(rates: ArrayLike, *, wafs: list[float] | None = None, **options) -> Verdict:
    state = SteadyState(before=WRITTEN, **options)
    verdicts = [
        state.add_round(float(rate), waf=wafs[i] if wafs else None)
        for i, rate in enumerate(np.asarray(rates))
    ]
    return verdicts[-1]


def first_steady(rates: ArrayLike, written_x: float, before: Volume = WRITTEN) -> int | None:
    state = SteadyState(before=before)
    for i, rate in enumerate(np.asarray(rates)):
        if state.add_round(float(rate), written_x=written_x).steady:
            return i
    return None


def test_the_snia_window_gives_range_and_slope_excursion_of_the_last_five_rounds():
    window = snia_window([500, 100, 102, 104, 106, 108])
    assert (window.first_round, window.last_round, window.passed) == (1, 5, True)
    assert window.mean == pytest.approx(104)
    assert (window.range, window.range_allowed) == (pytest.approx(8), pytest.approx(20.8))
    assert (window.slope_per_round, window.slope_excursion) == (pytest.approx(2), pytest.approx(8))
    assert window.slope_excursion_allowed == pytest.approx(10.4)


@pytest.mark.parametrize(
    ("rounds", "passes"),
    [
        ([100, 100, 120, 100, 100], True),
        ([90, 110, 100, 110, 90], True),
        ([89, 110, 100, 110.5, 89], False),
        ([95, 97.5, 100, 102.5, 105], True),
        ([94, 97, 100, 103, 106.1], False),
        ([100, 100, 100, 100], False),
        ([0, 0, 0, 0, 0], False),
    ],
)
def test_the_snia_window_passes_up_to_its_two_limits_and_not_beyond(rounds: list[float], passes: bool):
    assert snia_window(rounds).passed is passes


def test_the_snia_window_passes_29_percent_of_pure_noise_and_the_combined_criterion_less_than_5(
    record_property,
):
    noise = 1 + 0.1 * np.random.default_rng(1).standard_normal((4000, 5))
    snia = float(np.mean([snia_window(rounds).passed for rounds in noise]))
    combined = float(np.mean([judge(rounds).steady for rounds in noise[:1000]]))
    record_property("snia_false_pass", snia)
    record_property("combined_false_pass", combined)
    assert snia == pytest.approx(0.297, abs=0.02)
    assert combined < 0.05


def test_a_whole_run_of_25_noisy_rounds_is_called_steady_less_than_5_percent_of_the_time():
    noise = 1 + 0.1 * np.random.default_rng(2).standard_normal((60, 25))
    assert np.mean([any(snia_window(run[: end + 1]).passed for end in range(4, 25)) for run in noise]) > 0.9
    assert np.mean([first_steady(run, 0.1) is not None for run in noise]) < 0.05


@pytest.mark.parametrize("noise", [0.0, 0.003, 0.01])
@pytest.mark.parametrize(("height", "constant_x"), [(0.3, 1.0), (1.0, 0.5), (1.0, 2.0), (3.0, 1.0)])
def test_a_slow_decay_is_not_called_steady_before_it_is_within_5_percent_of_its_floor(
    height: float, constant_x: float, noise: float
):
    rounds_per_capacity = 30
    at = np.arange(int(constant_x * rounds_per_capacity * np.log(height / 0.05)) + 1)
    course = 1 + height * np.exp(-at / (constant_x * rounds_per_capacity))
    rng = np.random.default_rng(3)
    for _ in range(3 if noise else 1):
        rates = course * (1 + noise * rng.standard_normal(len(at)))
        called = first_steady(rates, 1 / rounds_per_capacity, Volume(sequential_x=2.0))
        assert called is None or course[called] <= 1.05


@pytest.mark.parametrize("height", [0.15, 0.3])
def test_an_exponential_decay_without_noise_is_not_called_early_even_if_the_volume_was_written_before(
    height: float,
):
    for constant in (20, 50, 100, 200):
        at = np.arange(80)
        course = 1 + height * np.exp(-at / constant)
        assert snia_window(course[:5]).passed
        called = first_steady(course, 1.0)
        assert called is None or course[called] <= 1.05


def test_five_rounds_are_judged_by_where_their_drift_leads_in_thirty():
    verdict = judge([100, 101, 102, 103, 104])
    assert verdict.window.passed
    assert "drift over 30 rounds is +28.4 %" in verdict.reason


def test_a_drift_below_nothing_is_said_to_be_open():
    verdict = judge([100, 20, 150, 30, 90])
    assert not verdict.steady
    assert "drift over 30 rounds is open: the last 5 vary too much (5 % allowed)" in verdict.reason


def test_a_decay_that_has_ended_is_called_steady():
    at = np.arange(200)
    rng = np.random.default_rng(4)
    rates = (1 + np.exp(-at / 10)) * (1 + 0.005 * rng.standard_normal(len(at)))
    called = first_steady(rates, 1 / 60, Volume(sequential_x=2.0))
    assert called is not None
    assert 59 <= called < 120


@pytest.mark.parametrize(("noise", "rounds"), [(0.0, 5), (0.01, 60), (0.02, 90)])
def test_a_steady_drive_with_ordinary_noise_is_called_steady_in_time(noise: float, rounds: int):
    rng = np.random.default_rng(5)
    called = [first_steady(1000 * (1 + noise * rng.standard_normal(rounds)), 0.01) for _ in range(5)]
    assert all(at is not None for at in called)


def test_every_missing_part_is_named():
    state = SteadyState(before=Volume(sequential_x=1.5))
    verdict = [state.add_round(100.0, written_x=0.05) for _ in range(4)][-1]
    assert verdict.status == "not-yet"
    assert "4 of at least 5 rounds" in verdict.reason
    assert "1.50x of 2x the capacity written sequentially" in verdict.reason
    assert "0.20x of 1x the capacity written at random" in verdict.reason


def test_a_sequential_workload_needs_no_random_writes():
    state = SteadyState(pattern="sequential", before=Volume(sequential_x=1.0))
    verdicts = [state.add_round(7000.0, written_x=0.25) for _ in range(5)]
    assert [verdict.steady for verdict in verdicts] == [False, False, False, False, True]
    assert "round 1 to 5" in verdicts[-1].reason


def test_a_rising_waf_is_not_steady_however_flat_the_rate():
    assert judge([100.0] * 10, wafs=[3.0] * 10).steady
    verdict = judge([100.0] * 10, wafs=[2.0 + 0.1 * i for i in range(10)])
    assert not verdict.steady
    assert "WAF drifts by" in verdict.reason


def test_a_new_level_has_to_last_as_long_as_what_it_is_compared_with():
    verdict = judge([100.0] * 95 + [50.0] * 5)
    assert verdict.window.passed
    assert "-50 % from the last 50 rounds' level" in verdict.reason


def test_throttled_rounds_are_not_steady():
    state = SteadyState(before=WRITTEN)
    verdicts = [state.add_round(100.0, throttled=i == 6) for i in range(8)]
    assert verdicts[5].steady
    assert "throttled in 1 of the last 5 rounds" in verdicts[7].reason


def test_a_quick_run_never_claims_steady_state():
    state = SteadyState(before=WRITTEN, quick=True)
    verdict = [state.add_round(100.0) for _ in range(30)][-1]
    assert (verdict.status, verdict.window.passed) == ("not-claimed", True)
    assert state.conclude().reason == "quick run: not claimed"


def test_never_steady_is_a_result_with_its_reason():
    state = SteadyState(before=WRITTEN)
    for i in range(25):
        state.add_round(100.0 + 60 * (i % 2))
    verdict = state.conclude()
    assert verdict.status == "never"
    assert verdict.reason.startswith("steady state not reached in 25 rounds; last 5 rounds spread over")


def test_rounds_without_io_are_not_steady():
    assert "no I/O completed" in judge([0.0] * 6).reason


def test_theil_sen_agrees_with_scipy_and_shrugs_off_an_outlier():
    rng = np.random.default_rng(6)
    y = 3 + 0.5 * np.arange(40) + rng.standard_normal(40)
    y[7] += 500
    ours, theirs = theil_sen(y), stats.theilslopes(y, alpha=0.95)
    assert ours.value == pytest.approx(theirs[0])
    assert (ours.low, ours.high) == (pytest.approx(theirs[2]), pytest.approx(theirs[3]))
    assert ours.value == pytest.approx(0.5, abs=0.05)


def test_the_theil_sen_interval_covers_the_slope_as_stated():
    rng = np.random.default_rng(7)
    slopes = [theil_sen(0.2 * np.arange(20) + rng.standard_normal(20)) for _ in range(1000)]
    assert np.mean([slope.low <= 0.2 <= slope.high for slope in slopes]) == pytest.approx(0.95, abs=0.02)


def test_mser5_cuts_the_transient_and_leaves_a_flat_series_whole():
    rng = np.random.default_rng(8)
    flat = 100 + rng.standard_normal(200)
    assert mser5(flat) <= 20
    warm = flat + np.where(np.arange(200) < 50, 80 * np.exp(-np.arange(200) / 15), 0)
    assert 35 <= mser5(warm) <= 75
    assert mser5([1.0] * 9) == 0


def test_the_distance_to_the_floor_of_an_exponential_is_exact_without_noise():
    at = np.arange(60)
    course = 100 * (1 + np.exp(-at / 40))
    away = distance_to_floor(course)
    third = course[40:].mean()
    assert away == pytest.approx(third / 100 - 1, rel=0.005)
    assert distance_to_floor([100.0] * 30) is None
    assert distance_to_floor(100 - at.astype(float)) == np.inf


def test_change_points_are_found_where_the_level_changes_and_nowhere_else():
    rng = np.random.default_rng(9)
    level = np.repeat([100.0, 60.0, 80.0], [300, 200, 300])
    found = change_points(level + 5 * rng.standard_normal(800))
    assert len(found) == 2
    assert np.allclose(found, [300, 500], atol=3)
    assert change_points([42.0] * 100) == []


def test_seconds_that_resemble_their_neighbours_are_not_taken_for_levels():
    rng = np.random.default_rng(10)
    false = 0
    for _ in range(20):
        noise = rng.standard_normal(400)
        for i in range(1, 400):
            noise[i] += 0.6 * noise[i - 1]
        false += bool(change_points(100 + noise))
    assert false <= 2


def test_long_series_have_their_change_points_in_seconds():
    rng = np.random.default_rng(11)
    series = np.repeat([50.0, 20.0], [9000, 6000]) + rng.standard_normal(15000)
    assert np.allclose(change_points(series), [9000], atol=4)


def test_series_that_are_no_series_are_refused():
    with pytest.raises(ValueError, match="one-dimensional and finite"):
        snia_window([1.0, float("nan")])
    with pytest.raises(ValueError, match="needs two samples"):
        theil_sen([1.0])


def test_a_level_of_a_long_series_begins_at_the_sample_where_it_changes() -> None:
    first = 4097
    series = np.concatenate([np.full(first, 100.0), np.full(7 * 4096 + 6 - first, 200.0)])
    found = change_points(series)
    assert len(found) == 1
    assert abs(found[0] - first) < 4
