"""What failed I/O does to a row of figures. One definition, for every table and every decision.

Failed I/O is in no rate and no latency, so a row describes the I/O that succeeded. Above a share of 0.1 % the p99.9 of
what was asked for lies among the failures. The row is marked with the share, and nothing is ranked or sized by it.
Above 1 % its p99 does too, and fewer than the 99 % of a sustained load were done: the row has no figures.
"""

from fathom.output.text import percent_digits

MARKED_SHARE = 1e-3
WITHHELD_SHARE = 1e-2


def failed_share(n: int | None, errors: int | None) -> float | None:
    """Returns the share of the I/O that failed; None where none ended, or it was not counted."""
    if n is None or errors is None or n + errors == 0:
        return None
    return errors / (n + errors)


def is_marked(share: float | None) -> bool:
    """Returns whether so much failed that figures carry the share."""
    return share is not None and share > MARKED_SHARE


def is_withheld(share: float | None) -> bool:
    """Returns whether so much failed that there are no figures."""
    return share is not None and share > WITHHELD_SHARE


def in_words(share: float) -> str:
    """Returns `48 % failed`, `0.25 % failed`."""
    return f"{percent_digits(share, 2)} failed"
