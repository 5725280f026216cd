"""fio's latency histogram: which bin a value is in, and which value stands for a bin.

From fio 3.33, `stat.h` (FIO_IO_U_PLAT_BITS) and `stat.c` (`plat_val_to_idx`, `plat_idx_to_val`): below 128 ns a bin is
1 ns wide. Above, each power of two has 64 bins, and the middle of a bin stands for it.
"""

from fathom.results.records import Bin

BITS = 6
PER_OCTAVE = 1 << BITS
BINS = 29 * PER_OCTAVE
"""The number of bins; the last one holds all longer values."""


def bin_of(value_ns: int, n: int) -> Bin:
    """Returns the bin with that value in it: `n` I/Os between its edges."""
    width = 1 << max(0, value_ns.bit_length() - 1 - BITS)
    low = value_ns // width * width
    return Bin(low, low + width, n)


def bin_at(index: int, n: int) -> Bin:
    """Returns the bin at an index of a clat_hist log."""
    if index < 2 * PER_OCTAVE:
        return Bin(index, index + 1, n)
    shift = (index >> BITS) - 1
    low = (1 << (shift + BITS)) + (index % PER_OCTAVE << shift)
    return Bin(low, low + (1 << shift), n)


def value_of(value_ns: int) -> int:
    """Returns the value that stands in fio's files for the bin with `value_ns` in it."""
    low, high, _ = bin_of(value_ns, 0)
    return low + (high - low) // 2
