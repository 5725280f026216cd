"""The bins of latency histograms for arrays of values, as `crates/recording/src/histogram.rs` has them."""

import numpy as np
from numpy.typing import NDArray

from fathom.statistics.percentiles import OVERFLOW_NS

_SUB_BITS = 7
BINS = (int(OVERFLOW_NS).bit_length() - 1 - _SUB_BITS << _SUB_BITS) + (1 << _SUB_BITS) + 1
"""Number of bins. The last one counts everything from `OVERFLOW_NS` on."""


def bin_numbers(values_ns: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Returns the bin of each value."""
    values = np.minimum(values_ns, np.uint64(OVERFLOW_NS)).astype(np.int64)
    # The exponent is the number of bits: values are far below 2^53, so that none is rounded up.
    _, bits = np.frexp(values.astype(np.float64))
    shift = np.maximum(bits.astype(np.int64) - _SUB_BITS - 1, 0)
    return (shift << _SUB_BITS) + (values >> shift)


def bin_edges_ns(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns from where each bin counts, and where it ends."""
    shift = np.maximum((numbers >> _SUB_BITS) - 1, 0)
    low = (numbers - (shift << _SUB_BITS)) << shift
    high = np.where(numbers < BINS - 1, low + (np.int64(1) << shift), np.iinfo(np.int64).max)
    return low, high
