import numpy as np
import pytest

from fathom.statistics.conformal import bound, two_sided_p


def test_the_bound_is_the_ordered_miss_that_the_coverage_asks_for():
    misses = [0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8, 0.9]
    assert bound(misses, 0.8) == pytest.approx(0.8)
    assert bound(misses, 0.5) == pytest.approx(0.5)


@pytest.mark.parametrize(("n", "coverage"), [(3, 0.8), (0, 0.8), (18, 0.95)])
def test_too_few_misses_give_no_bound(n: int, coverage: float):
    assert bound([0.1] * n, coverage) is None
    assert bound([0.1] * (n + 1), coverage) is not None or n == 0


def test_the_next_miss_lies_within_the_bound_as_often_as_asked_whatever_its_distribution():
    random = np.random.default_rng(5)
    n, turns = 24, 4000
    draws = random.standard_cauchy((turns, n + 1))
    held = sum(abs(row[-1]) <= (bound(row[:-1].tolist(), 0.8) or 0.0) for row in draws)
    assert held / turns == pytest.approx(0.8, abs=0.02)


def test_the_binomial_test_agrees_with_tables():
    assert two_sided_p(5, 10, 0.5) == pytest.approx(1.0)
    assert two_sided_p(0, 10, 0.5) == pytest.approx(2 / 1024)
    assert two_sided_p(50, 87, 0.8) < 1e-5
