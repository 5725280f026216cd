"""Differences between measurements: Student's t against SciPy, intervals that hold, and few false alarms."""

import math

import numpy as np
import pytest
from scipy import stats

from fathom.statistics.differences import (
    Estimate,
    Verdict,
    confidence_of_each,
    difference,
    estimate,
    exactly,
    repeats_to_detect,
    verdict,
)
from fathom.statistics.student import critical, two_sided_p
from fathom.statistics.uncertainty import mean_interval


def test_repeats_that_are_the_same_to_the_bit_are_known_as_well_as_one_of_them():
    one, three = estimate([100.0], [(99.0, 101.0)]), estimate([100.0] * 3, [(99.0, 101.0)] * 3)
    assert one is not None
    assert three is not None
    assert (three.variance, three.repeats) == (one.variance, 3)
    apart = estimate([100.0] * 3, [(99.0, 101.0), (99.0, 101.0), (98.9, 101.1)])
    assert apart is not None
    assert apart.variance < 0.5 * one.variance


@pytest.mark.parametrize("freedom", [1, 1.7, 2, 4, 9.3, 60, 1e6, math.inf])
@pytest.mark.parametrize("t", [0.01, 0.7, 2.0, 5.5, 40.0])
def test_the_probability_of_a_t_is_that_of_scipy(t: float, freedom: float):
    assert two_sided_p(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-8, abs=1e-14)


@pytest.mark.parametrize("freedom", [1, 2, 3.5, 12, math.inf])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.9984])
def test_the_critical_t_is_that_of_scipy(confidence: float, freedom: float):
    assert critical(confidence, freedom) == pytest.approx(
        stats.t.ppf((1 + confidence) / 2, freedom), rel=1e-6
    )


@pytest.mark.parametrize("freedom", [1e7, 1e12, 1e15, 1e300])
def test_many_degrees_of_freedom_are_as_good_as_infinite(freedom: float):
    assert critical(0.95, freedom) == pytest.approx(critical(0.95, math.inf), rel=1e-6)
    assert two_sided_p(2.0, freedom) == pytest.approx(two_sided_p(2.0, math.inf), rel=1e-6)


def test_beside_a_published_figure_the_repeats_advised_are_those_of_one_side():
    base, new = exactly(100.0), Estimate(math.log(105.0), 0.02**2, 2.0, 3)
    count = repeats_to_detect(new, base, 0.95, 2.0)
    assert count is not None
    shown = [
        stats.t.ppf(0.975, repeats - 1) * 0.02 * math.sqrt(3 / repeats) < math.log(1.05)
        for repeats in (count - 1, count)
    ]
    assert shown == [False, True]


def test_the_interval_of_a_ratio_of_repeats_holds_it_as_often_as_it_says():
    random = np.random.default_rng(7)
    held = 0
    for _ in range(1000):
        base, new = (10_000 * mean * random.lognormal(0, 0.03, 3) for mean in (1.0, 1.1))
        sides = [estimate(list(side), [None] * 3) for side in (new, base)]
        assert sides[0]
        assert sides[1]
        found = difference(sides[0], sides[1])
        held += found.low < 1.1 < found.high
    assert 0.94 < held / 1000 < 0.985


def test_a_single_run_is_as_sure_as_its_own_interval():
    one = estimate([100.0], [(98.0, 102.0)])
    assert one
    found = difference(one, exactly(100.0))
    assert found.low == pytest.approx(0.98, abs=0.0005)
    assert found.high == pytest.approx(1.02, abs=0.0005)


def test_a_single_window_is_as_sure_as_the_root_of_its_seconds_lets_its_variance_be_known():
    known, window = estimate([100.0], [(98.0, 102.0)]), estimate([100.0], [(98.0, 102.0)], seconds=64.0)
    assert known
    assert window
    assert (known.freedom, window.freedom) == (math.inf, 7.0)
    sure, unsure = (difference(one, exactly(100.0), 0.9875) for one in (known, window))
    wider = critical(0.9875, 7.0) / critical(0.9875, math.inf)
    assert math.log(unsure.high) == pytest.approx(wider * math.log(sure.high))
    assert estimate([100.0, 101.0], [(98.0, 102.0), (99.0, 103.0)], seconds=64.0) == estimate(
        [100.0, 101.0], [(98.0, 102.0), (99.0, 103.0)]
    )


@pytest.mark.parametrize(
    ("values", "bounds"), [([100.0], [None]), ([100.0, None], [None, None]), ([0.0], [(0.0, 1.0)]), ([], [])]
)
def test_what_has_no_interval_is_not_estimated(
    values: list[float | None], bounds: list[tuple[float, float] | None]
):
    assert estimate(values, bounds) is None


def test_a_figure_from_a_histogram_is_anywhere_in_its_bin():
    assert estimate([100.0, 100.0], [None, None]) == estimate([100.0, 100.0], [None, None], 0.0)
    binned = estimate([100.0, 100.0], [None, None], 0.008)
    assert binned
    assert math.sqrt(binned.variance) == pytest.approx(0.008 / math.sqrt(12))


@pytest.mark.parametrize(
    ("ratio", "spread", "said"),
    [
        (1.10, 0.01, Verdict.BETTER),
        (0.90, 0.01, Verdict.WORSE),
        (1.005, 0.001, Verdict.LEVEL),
        (1.01, 0.05, Verdict.UNKNOWN),
        (1.10, 0.20, Verdict.UNKNOWN),
    ],
)
def test_a_verdict_is_what_the_interval_allows(ratio: float, spread: float, said: Verdict):
    new = estimate([ratio], [(ratio / (1 + spread), ratio * (1 + spread))])
    assert new
    found = difference(new, exactly(1.0))
    assert verdict(found, 2.0, higher_is_better=True) is said
    mirrored = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    assert verdict(found, 2.0, higher_is_better=False) is mirrored.get(said, said)


def test_the_repeats_advised_tell_a_difference_of_that_size():
    random = np.random.default_rng(3)
    base, new = (list(random.lognormal(mean, 0.02, 3)) for mean in (0.0, 0.03))
    sides = [estimate(side, [None] * 3) for side in (new, base)]
    assert sides[0]
    assert sides[1]
    confidence = confidence_of_each(10)
    needed = repeats_to_detect(sides[0], sides[1], confidence, 2.0)
    assert needed
    told = 0
    for _ in range(200):
        both = [estimate(list(random.lognormal(mean, 0.02, needed)), [None] * needed) for mean in (0.03, 0.0)]
        assert both[0]
        assert both[1]
        told += difference(both[0], both[1], confidence).is_shown
    assert told > 80


@pytest.mark.parametrize("repeats", [1, 3])
def test_equal_drives_are_told_apart_in_at_most_one_comparison_of_twenty(repeats: int):
    """Eight figures a comparison, from seconds that resemble their neighbours."""
    random = np.random.default_rng(repeats)
    comparisons, figures = 60, 8
    confidence = confidence_of_each(figures)
    alarms = 0
    for _ in range(comparisons):
        shown = [
            difference(_measured(random, repeats), _measured(random, repeats), confidence).is_shown
            for _ in range(figures)
        ]
        alarms += any(shown)
    assert alarms <= stats.binom.ppf(0.999, comparisons, 0.05)


def _measured(random: np.random.Generator, repeats: int) -> Estimate:
    values, bounds = [], []
    for _ in range(repeats):
        noise = random.normal(0, 0.01, 80)
        for at in range(1, len(noise)):
            noise[at] += 0.5 * noise[at - 1]
        found = mean_interval(1000 * (1 + noise[20:]))
        assert found
        values.append(found.mean)
        bounds.append((found.low, found.high))
    found = estimate(values, bounds)
    assert found
    return found


def test_repeats_that_scatter_beyond_all_numbers_leave_the_ratio_without_an_upper_end() -> None:
    found = difference(Estimate(0.0, 0.5, 1, 2), Estimate(1.0, 0.0, 1, 2), confidence_of_each(100))
    assert (found.low, found.high) == (0.0, math.inf)
    assert verdict(found, 2.0, higher_is_better=True) is Verdict.UNKNOWN
