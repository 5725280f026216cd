"""The knee: found on curves that have one, and only there."""

import numpy as np

from fathom.statistics.knee import knee


def test_the_knee_of_a_closed_loop_that_saturates_is_where_its_asymptotes_cross():
    depth = [1, 2, 4, 8, 16, 32, 64, 128]
    assert knee(depth, [min(n, 16) * 1000.0 for n in depth]) == depth.index(16)


def test_the_knee_of_latency_over_rate_is_where_it_explodes():
    load = np.linspace(0.1, 0.99, 90)
    place = knee(list(load), list(1 / (1 - load)), "exploding")
    assert place is not None
    assert 0.85 < load[place] < 0.97


def test_straight_flat_and_short_curves_have_none():
    assert knee([1, 2, 3, 4, 5], [1.0, 2, 3, 4, 5]) is None
    assert knee([1, 2, 3, 4], [7.0, 7, 7, 7]) is None
    assert knee([1, 2, 3], [1.0, 5, 5.1]) is None
