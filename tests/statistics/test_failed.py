"""What is said of failed I/O."""

import pytest

from fathom.statistics.failed import in_words


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.00254, "0.25 % failed"), (0.48, "48 % failed"), (0.998, "100 % failed"), (1.0, "100 % failed")],
)
def test_a_share_that_failed_has_two_digits_and_no_exponent(share: float, said: str):
    assert in_words(share) == said
