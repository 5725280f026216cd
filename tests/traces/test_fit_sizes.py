"""A fitted job states a few block sizes and keeps the I/Os and bytes of all."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.fitting.to_method import MOST_SIZES, condensed

SIZES = st.dictionaries(st.integers(1, 4096).map(lambda one: 512 * one), st.integers(1, 10**6), min_size=1)


@given(SIZES)
def test_any_number_of_sizes_keeps_its_ios_and_bytes(counted: dict[int, int]) -> None:
    sizes = Counter(counted)
    kept = dict(condensed(sizes, MOST_SIZES))
    assert len(kept) == min(len(sizes), MOST_SIZES)
    assert kept.keys() <= sizes.keys()
    assert {min(kept), max(kept)} == {min(sizes), max(sizes)}
    assert sum(kept.values()) == pytest.approx(sizes.total())
    assert sum(size * ios for size, ios in kept.items()) == pytest.approx(
        sum(size * ios for size, ios in sizes.items())
    )


def test_few_sizes_are_stated_as_they_are() -> None:
    assert condensed(Counter({4096: 90, 8192: 10}), MOST_SIZES) == [(4096, 90.0), (8192, 10.0)]
