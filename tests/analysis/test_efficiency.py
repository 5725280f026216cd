"""IOPS per watt as a ratio of what was done and used in the same time."""

import numpy as np
import pytest

from fathom.analysis.efficiency import efficiency, power

RNG = np.random.default_rng(7)


def each_second(values: "np.ndarray | list[float]") -> list[tuple[float, float, float]]:
    return [(float(at), 1.0, float(value)) for at, value in enumerate(values)]


def test_power_that_follows_the_rate_leaves_the_ratio_sure() -> None:
    ios = RNG.uniform(1_000, 4_000, 100)
    found = efficiency(each_second(ios), each_second(ios / 500), 0.0)
    assert found is not None
    assert found.iops_per_watt == pytest.approx(500)
    assert found.interval is not None
    assert found.interval.high - found.interval.low < 1e-6


def test_the_interval_covers_the_ratio_of_noisy_seconds_as_stated() -> None:
    """1,000 IOPS at 4 W, seconds that differ by 5 % in rate and 2 % in power."""
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        ios, joules = 1_000 * (1 + 0.05 * rng.standard_normal(200)), 4 * (1 + 0.02 * rng.standard_normal(200))
        found = efficiency(each_second(ios), each_second(joules), 0.0)
        assert found is not None
        assert found.interval is not None
        covered += found.interval.low <= 250 <= found.interval.high
    assert 0.91 <= covered / 200 <= 0.99


def test_the_accuracy_of_a_meter_is_in_the_interval() -> None:
    alike = each_second([1_000.0] * 50)
    found = efficiency(alike, each_second([4.0] * 50), 0.0, accuracy=0.01)
    assert found is not None
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((247.5, 252.5))


def test_energy_that_is_told_in_other_seconds_is_held_against_the_ios_of_its_own_time() -> None:
    """A meter's stretches of 2.5 s, of a load that changes halfway and whose joules per I/O do not."""
    ios = each_second([1_000.0] * 20 + [3_000.0] * 20)
    energies = [(2.5 * place, 2.5, 5.0 if place < 8 else 15.0) for place in range(16)]
    whole, end = efficiency(ios, energies, 0.0), efficiency(ios, energies, 11.0)
    assert whole is not None
    assert end is not None
    assert whole.iops_per_watt == pytest.approx(500)
    assert end.iops_per_watt == pytest.approx(500)
    assert (whole.stretches, end.stretches) == (16, 12)


def test_a_time_without_energy_counts_for_neither() -> None:
    """A sensor that could not be read for half of the time does not double what it says."""
    ios, energies = each_second([1_000.0] * 40), each_second([4.0] * 40)
    found = efficiency(ios, energies[:10] + energies[30:], 0.0)
    assert found is not None
    assert found.iops_per_watt == pytest.approx(250)
    assert efficiency(ios, [], 0.0) is None
    assert efficiency(ios, energies[:10], 10.0) is None


def test_without_an_interval_it_says_why() -> None:
    ios = each_second([1_000.0] * 40)
    few = efficiency(ios, [(10.0 * place, 10.0, 40.0) for place in range(4)], 0.0)
    drifting = efficiency(each_second(np.linspace(9_000, 100, 12)), each_second([4.0] * 12), 0.0)
    assert few is not None
    assert drifting is not None
    assert (few.interval, few.unsure) == (None, "energy read 4 times in the window, 5 readings are needed")
    assert (drifting.interval, drifting.unsure) == (None, "it drifts")


def test_the_interval_of_mean_power_covers_it_as_stated() -> None:
    """4 W, seconds that differ by 5 %."""
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        found = power(each_second(4 * (1 + 0.05 * rng.standard_normal(100))))
        assert found is not None
        assert found.interval is not None
        covered += found.interval.low <= 4 <= found.interval.high
    assert 0.91 <= covered / 200 <= 0.99


def test_mean_power_weighs_stretches_by_their_length_and_holds_the_accuracy_of_a_meter() -> None:
    stretches = [(float(at), 1.0, 4.0) for at in range(10)] + [(10.0, 0.5, 2.0)]
    found = power(stretches, accuracy=0.02)
    assert found is not None
    assert found.watts == pytest.approx(4)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((3.92, 4.08))


def test_mean_power_of_few_stretches_has_no_interval_and_none_without_energy() -> None:
    found = power(each_second([4.0] * 3))
    assert found is not None
    assert found.unsure == "energy read 3 times in the window, 5 readings are needed"
    assert power([]) is None
