"""Intervals: that they cover as often as they say, on series whose truth is known."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal, stats

from fathom.statistics import uncertainty
from fathom.statistics.percentiles import Histogram, repeats_interval_us
from fathom.statistics.uncertainty import (
    block_length,
    compare,
    compare_intervals,
    effective_count,
    latency_interval,
    mean_interval,
    means_interval,
    percentile_allowed,
    quantile_interval_us,
    repeats_interval,
)


def autoregressive(rng: np.random.Generator, phi: float, n: int) -> NDArray[np.float64]:
    return np.asarray(signal.lfilter([1], [1, -phi], rng.standard_normal(n + 100)))[100:]


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer draws make the ends of an interval less exact, not less right: thousands of intervals in seconds."""
    monkeypatch.setattr(uncertainty, "RESAMPLES", 400)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(("phi", "n"), [(0.0, 60), (0.5, 60), (0.8, 60), (0.5, 240)])
def test_mean_intervals_cover_95_percent_on_autoregressive_seconds(phi: float, n: int, record_property):
    rng = np.random.default_rng(1)
    intervals = [mean_interval(100 + autoregressive(rng, phi, n), seed=i) for i in range(800)]
    covered = float(np.mean([one is not None and one.low <= 100 <= one.high for one in intervals]))
    record_property("coverage", covered)
    assert covered == pytest.approx(0.95, abs=0.02)


def test_intervals_of_independent_seconds_are_hardly_wider_than_students():
    rng = np.random.default_rng(2)
    width = [
        (one.high - one.low) / 2 / (y.std(ddof=1) / np.sqrt(120) * stats.t.ppf(0.975, 119))
        for y in (1000 + rng.standard_normal((200, 120)))
        if (one := mean_interval(y))
    ]
    assert 0.95 < np.mean(width) < 1.12


def test_the_effective_number_of_seconds_follows_the_autocorrelation():
    rng = np.random.default_rng(3)
    found = [one.n_effective for _ in range(60) if (one := mean_interval(autoregressive(rng, 0.5, 600) + 9))]
    assert np.median(found) == pytest.approx(600 * (1 - 0.5) / (1 + 0.5), rel=0.25)


def test_the_same_series_and_seed_give_the_same_interval():
    y = np.random.default_rng(4).standard_normal(100) + 50
    assert mean_interval(y, seed=7) == mean_interval(y, seed=7)
    assert mean_interval(y, seed=7) != mean_interval(y, seed=8)


def test_a_constant_rate_has_an_interval_of_no_width():
    interval = mean_interval([500.0] * 60)
    assert interval is not None
    assert (interval.low, interval.mean, interval.high) == (500, 500, 500)


def test_four_seconds_are_too_few_for_an_interval():
    assert mean_interval([1.0, 2.0, 3.0, 4.0]) is None
    assert compare([1.0, 2.0, 3.0, 4.0], [1.0] * 60) is None


@pytest.mark.parametrize("drifting", [[9000] * 3 + [0] * 3, np.linspace(9000, 0, 30)], ids=["drop", "ramp"])
def test_seconds_that_drift_throughout_have_no_interval_and_win_nothing(drifting: list[float]):
    assert mean_interval(drifting) is None
    assert latency_interval(drifting, [100.0] * len(drifting)) is None
    assert repeats_interval([drifting, drifting]) is None
    of_ranges = compare(drifting, [1.0, 2.0] * 30)
    assert of_ranges is not None
    assert of_ranges.verdict == "level"
    assert compare([1.0, 2.0] * 30, drifting) is None


def test_noisy_seconds_without_a_drift_have_an_interval():
    assert mean_interval([100.0, 101.0, 99.0, 100.0, 102.0, 99.0]) is not None


def test_eight_hours_of_seconds_give_the_interval_of_their_mean():
    y = autoregressive(np.random.default_rng(5), 0.5, 28_800) + 100
    interval = mean_interval(y)
    assert interval is not None
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * 2 / np.sqrt(28_800), rel=0.15)


def test_an_interval_scales_to_another_unit():
    interval = mean_interval([1.0, 3.0, 2.0, 2.0, 1.0, 3.0])
    assert interval is not None
    assert interval.scaled(0.5).high == pytest.approx(interval.high / 2)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("between", [0.0, 2.0])
def test_intervals_over_five_repeats_cover_whether_or_not_repeats_differ(between: float):
    rng = np.random.default_rng(6)
    covered = []
    for i in range(300):
        repeats = [100 + between * rng.standard_normal() + autoregressive(rng, 0.3, 60) for _ in range(5)]
        interval = repeats_interval(repeats, seed=i)
        assert interval is not None
        covered.append(interval.low <= 100 <= interval.high)
    assert 0.93 <= np.mean(covered) <= (0.97 if between else 1.0)


@pytest.mark.usefixtures("few_draws")
def test_level_targets_are_told_apart_at_most_5_percent_of_the_time():
    rng = np.random.default_rng(7)
    verdicts = []
    for i in range(400):
        a, b = (100 + 3 * autoregressive(rng, 0.4, 60) for _ in range(2))
        comparison = compare(a, b, seed=i)
        assert comparison is not None
        verdicts.append(comparison.verdict)
    assert 0.01 < np.mean([verdict != "level" for verdict in verdicts]) < 0.07


def test_a_clear_winner_is_declared_and_lower_can_be_better():
    rng = np.random.default_rng(8)
    a, b = 110 + rng.standard_normal(60), 100 + rng.standard_normal(60)
    rate, latency = compare(a, b), compare(a, b, higher_is_better=False)
    assert rate is not None
    assert latency is not None
    assert (rate.verdict, latency.verdict) == ("a", "b")
    assert rate.low < 1.1 < rate.high
    assert rate.high - rate.low < 0.02


def test_repeats_that_differ_are_level_where_their_seconds_alone_would_name_a_winner():
    rng = np.random.default_rng(9)
    a = [level + rng.standard_normal(60) for level in (90, 110, 106)]
    b = [level + rng.standard_normal(60) for level in (88, 108, 104)]
    together = compare(a, b)
    alone = compare(a[1], b[1])
    assert together is not None
    assert alone is not None
    assert (together.verdict, alone.verdict) == ("level", "a")


def test_a_rate_that_is_not_clear_of_zero_has_no_ratio():
    assert compare([10.0] * 20, [0.0] * 20) is None


def test_blocks_are_long_for_slow_series_and_short_for_noise():
    rng = np.random.default_rng(10)
    noise = [block_length(rng.standard_normal(500)) for _ in range(20)]
    slow = [block_length(autoregressive(rng, 0.8, 500)) for _ in range(20)]
    assert np.median(noise) <= 4
    # Closed form for AR(1): b = (2 G^2 / D)^(1/3) n^(1/3) with G / g = 2 phi / (1 - phi^2), D = 4/3 g^2.
    theory = (1.5 * (2 * 0.8 / (1 - 0.8**2)) ** 2 * 500) ** (1 / 3)
    assert np.median(slow) == pytest.approx(theory, rel=0.4)


@pytest.mark.parametrize(
    ("n", "q", "allowed"),
    [
        (199, 0.5, False),
        (200, 0.5, True),
        (9_999, 0.99, False),
        (10_000, 0.99, True),
        (1_000_000, 0.9999, True),
    ],
)
def test_a_percentile_needs_a_hundred_samples_beyond_it(n: int, q: float, allowed: bool):
    assert percentile_allowed(n, q) is allowed


@pytest.mark.parametrize(("q", "n"), [(0.5, 1000), (0.99, 10_000)])
def test_percentile_intervals_cover_as_stated(q: float, n: int):
    rng = np.random.default_rng(11)
    truth = 1e5 * np.exp(stats.norm.ppf(q)) / 1000
    covered = []
    for _ in range(500):
        values = np.sort((1e5 * rng.lognormal(0, 1, n)).astype(np.int64))
        found = quantile_interval_us(values, values + 1, np.ones(n, dtype=np.int64), q)
        assert found is not None
        covered.append(found[0] <= truth <= found[1])
    assert np.mean(covered) == pytest.approx(0.95, abs=0.025)


def test_percentile_intervals_widen_when_the_ios_of_a_second_resemble_each_other():
    rng = np.random.default_rng(12)
    seconds, each, covered, naive = 60, 500, [], []
    truth = 100 * np.exp(stats.norm.ppf(0.9) * np.sqrt(1 + 0.5**2))
    for _ in range(150):
        values = (
            1e5 * np.exp(0.5 * rng.standard_normal((seconds, 1)) + rng.standard_normal((seconds, each)))
        ).astype(int)
        bins = Histogram.of(values.ravel(), values.ravel() + 1, np.ones(values.size))
        at = np.quantile(values, 0.9)
        independent = effective_count((values > at).sum(axis=1), np.full(seconds, each))
        for found, n_effective in ((covered, independent), (naive, None)):
            ends = quantile_interval_us(bins.low_ns, bins.high_ns, bins.count, 0.9, n_effective=n_effective)
            assert ends is not None
            found.append(ends[0] <= truth <= ends[1])
    assert np.mean(covered) == pytest.approx(0.95, abs=0.04)
    assert np.mean(naive) < 0.7


def test_known_intervals_name_a_winner_only_where_that_of_the_ratio_excludes_one():
    clear = compare_intervals((108.0, 112.0), (98.0, 102.0))
    assert clear is not None
    assert (clear.verdict, clear.ratio) == ("a", pytest.approx(1.1))
    assert clear.low > 1
    level = compare_intervals((99.0, 105.0), (98.0, 102.0))
    assert level is not None
    assert level.verdict == "level"
    assert compare_intervals((1.0, 2.0), (-1.0, 1.0)) is None


def test_a_known_interval_stands_in_for_samples_that_are_too_few():
    beside = [100.0, 101.0, 99.0, 100.0, 102.0, 99.0]
    assert compare([110.0] * 2, beside) is None
    found = compare([110.0] * 2, beside, known=((108.0, 112.0), None))
    own = mean_interval(beside)
    assert own is not None
    assert found == compare_intervals((108.0, 112.0), (own.low, own.high))


def test_a_side_that_drifts_is_compared_by_its_samples_and_the_comparison_says_so():
    drifting = list(np.linspace(90, 60, 30))
    found = compare([110.0] * 2, drifting, known=((108.0, 112.0), None))
    assert found is not None
    assert (found.verdict, found.drifts) == ("a", True)
    assert (found.low, found.high) == (pytest.approx(108 / 90), pytest.approx(112 / 60))
    stalled = compare([110.0] * 2, np.linspace(90, 0, 30), known=((108.0, 112.0), None))
    assert stalled is not None
    assert (stalled.verdict, stalled.low, stalled.high) == ("a", pytest.approx(108 / 90), np.inf)


def test_intervals_from_means_alone_cover_and_are_no_narrower_than_the_repeats_own():
    rng = np.random.default_rng(11)
    found = [means_interval(50 + rng.standard_normal(4)) for _ in range(2000)]
    covered = np.mean([one is not None and one.low <= 50 <= one.high for one in found])
    assert covered == pytest.approx(0.95, abs=0.015)
    alike = means_interval([10.0, 10.0], [1.0, 2.0])
    assert alike is not None
    assert alike.high - alike.mean == pytest.approx(np.sqrt(5) / 2)
    assert means_interval([10.0]) is None


def test_repeats_that_are_the_same_to_the_bit_say_no_more_than_one_of_them():
    seconds = 100 + np.random.default_rng(3).standard_normal(40)
    assert repeats_interval([seconds] * 3) == mean_interval(seconds)
    assert compare([seconds] * 3, seconds + 1) == compare(seconds, seconds + 1)
    same = means_interval([10.0] * 3, [1.0] * 3)
    assert same is not None
    assert same.high - same.mean == pytest.approx(1.0)


@pytest.mark.parametrize("differ", [0.0, 0.1])
def test_percentile_intervals_over_repeats_cover_whether_or_not_repeats_differ(differ: float):
    rng = np.random.default_rng(12)
    truth_us = 100 * np.exp(stats.norm.ppf(0.99) * np.hypot(differ, 0.3))
    covered = []
    for _ in range(150):
        repeats = [levelled_histogram(rng, differ * rng.standard_normal()) for _ in range(4)]
        interval = repeats_interval_us(repeats, 0.99)
        assert interval is not None
        covered.append(interval[0] <= truth_us <= interval[1])
    assert 0.88 < np.mean(covered) <= 1


def levelled_histogram(rng: np.random.Generator, level: float) -> Histogram:
    latency_ns = 1e5 * np.exp(level + 0.3 * rng.standard_normal(20_000))
    low_ns, count = np.unique(latency_ns.astype(np.int64) // 500 * 500, return_counts=True)
    return Histogram.of(low_ns, low_ns + 500, count)


def test_a_percentile_that_one_repeat_has_too_few_ios_for_has_no_interval():
    rng = np.random.default_rng(13)
    many = levelled_histogram(rng, 0.0)
    few = Histogram.of([10**5], [10**5 + 500], [50])
    assert repeats_interval_us([many, few], 0.99) is None
    assert repeats_interval_us([many], 0.99) is None


@pytest.mark.usefixtures("few_draws")
def test_the_interval_of_a_mean_latency_covers_the_mean_of_all_ios_not_of_the_seconds():
    rng = np.random.default_rng(14)
    covered = []
    for i in range(400):
        n = rng.integers(500, 2000, 60)
        # Seconds with more I/Os are slower, so the mean of all I/Os lies above that of the seconds.
        mean_us = 50 + n / 100 + rng.standard_normal(60)
        interval = latency_interval(mean_us, n, seed=i)
        assert interval is not None
        truth_us = 50 + (1249.5**2 + 1500**2 / 12) / 1249.5 / 100
        covered.append(interval.low <= truth_us <= interval.high)
        assert interval.mean == pytest.approx(float(mean_us @ n) / n.sum())
    assert 0.9 < np.mean(covered) < 0.99


def test_a_rate_that_drifts_far_below_another_is_not_level_with_it() -> None:
    falling = [130.0, 120.0, 110.0, 100.0, 90.0]
    steady = [500.0, 501.0, 499.0, 500.0, 500.0]
    assert mean_interval(falling) is None
    apart = compare(steady, falling)
    assert apart is not None
    assert apart.verdict == "a"
    assert (apart.low, apart.high) == pytest.approx((499 / 130, 501 / 90))
    near = compare([125.0, 126.0, 124.0, 125.0, 125.0], falling)
    assert near is not None
    assert near.verdict == "level"
