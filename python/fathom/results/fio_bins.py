"""fio's latency histogram: which bin a value is in, and which value stands for a bin.

From fio 3.33, `stat.h` (FIO_IO_U_PLAT_BITS) and `stat.c` (`plat_val_to_idx`, `plat_idx_to_val`): below 128 ns a bin is
1 ns wide. Above, each power of two has 64 bins, and the middle of a bin stands for it.
"""

from functools import lru_cache

from fathom.results.records import Bin

BITS = 6
PER_OCTAVE = 1 << BITS
BINS = 29 * PER_OCTAVE
"""The number of bins; the last one holds all longer values."""
BINS_OF_US = 19 * PER_OCTAVE
"""The number of bins before version 3, which counts in us."""


@lru_cache(maxsize=BINS)
def edges_of(value_ns: int) -> tuple[int, int]:
    """Returns the lower and the upper edge of the bin with that value in it. Files of one fio share their values."""
    width = 1 << max(0, value_ns.bit_length() - 1 - BITS)
    low = value_ns // width * width
    return low, low + width


def bin_at(index: int, n: int) -> Bin:
    """Returns the bin at an index of a clat_hist log."""
    if index < 2 * PER_OCTAVE:
        return Bin(index, index + 1, n)
    shift = (index >> BITS) - 1
    low = (1 << (shift + BITS)) + (index % PER_OCTAVE << shift)
    return Bin(low, low + (1 << shift), n)


def value_of(value_ns: int) -> int:
    """Returns the value that stands in fio's files for the bin with `value_ns` in it."""
    low, high = edges_of(value_ns)
    return low + (high - low) // 2
