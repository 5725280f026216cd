"""Operations and block sizes of a job of fio, in a method's words."""

from collections.abc import Sequence

from fathom._core import BLOCK_SIZES_MAX
from fathom.imports.fio_given import GivenOptions
from fathom.method.toml_text import Value, size_text

_OPS: dict[str, tuple[str, ...]] = {
    "read": ("read",),
    "write": ("write",),
    "trim": ("trim",),
    "rw": ("read", "write"),
    "readwrite": ("read", "write"),
    "randread": ("read",),
    "randwrite": ("write",),
    "randtrim": ("trim",),
    "randrw": ("read", "write"),
}

_EVERY = ("read", "write", "trim")

Sizes = list[tuple[int, float]]


class Blocks:
    """The operations that a job issues. `sizes` has the block sizes of each in bytes, with their shares."""

    def __init__(self, given: GivenOptions) -> None:
        """Raises UsageError."""
        self._given = given
        self.rw, _, self.modifier = given.text("rw", "read").partition(":")
        if self.rw not in _OPS:
            raise given.error("rw", f"{self.rw} has no counterpart", f"expected one of {', '.join(_OPS)}")
        self.ops = _OPS[self.rw]
        stated = self._sizes()
        self.sizes = {op: stated[op] for op in self.ops}
        self._least = min(size for sizes in stated.values() for size, _ in sizes)

    @property
    def random(self) -> bool:
        """Whether offsets are drawn."""
        return self.rw.startswith("rand")

    @property
    def one_size(self) -> int | None:
        """The size of every block, where there is one."""
        sizes = {size for op in self.sizes.values() for size, _ in op}
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def is_mapped_whole(self) -> bool:
        """Whether fio's map of blocks has one entry for each block.

        The map counts in the smallest block of any operation, issued or not (`rw_min_bs` of its `init.c`).
        """
        return self.one_size == self._least

    @property
    def least(self) -> dict[str, int]:
        """The smallest block of each operation, by which fio aligns it."""
        return {op: min(size for size, _ in sizes) for op, sizes in self.sizes.items()}

    @property
    def largest(self) -> int:
        """The largest block of any operation."""
        return max(size for sizes in self.sizes.values() for size, _ in sizes)

    def mean(self, op: str) -> float:
        """Returns the mean size of an operation's blocks, by their shares."""
        sizes = self.sizes[op]
        return sum(size * share for size, share in sizes) / sum(share for _, share in sizes)

    def block(self, ops: Sequence[str]) -> Value:
        """Returns the key `block` for the operations that the job issues."""
        texts = {op: _block_of(sizes) for op, sizes in self.sizes.items() if op in ops}
        first = texts[ops[0]]
        return first if all(text == first for text in texts.values()) else texts

    def _sizes(self) -> dict[str, Sizes]:
        given = self._given
        bs = given.per_op("bs", "4k", _EVERY)
        sizes = {op: [(self._block_size(size, "bs"), 100.0)] for op, size in bs.items()}
        sizes |= {op: self._range(text) for op, text in self._said("bsrange", "bs").items()}
        sizes |= {op: self._split(text) for op, text in self._said("bssplit", "bs", "bsrange").items()}
        return sizes

    def _said(self, key: str, *others: str) -> dict[str, str]:
        """Returns what an option says of each operation. One that it leaves out has its size from the other options."""
        given = self._given
        if not given.has(key):
            return {}
        said = given.per_op(key, "", _EVERY)
        found = {op: text for op, text in said.items() if text} or said
        if len(found) == len(_EVERY):
            for other in others:
                given.idle(other, f"{key} says the sizes")
        return found

    def _block_size(self, text: str, key: str) -> int:
        size = self._given.size_of(text, key)
        if not 0 < size <= 1 << 30:
            raise self._given.error(key, f"{text} is not a block size", "write one up to 1g")
        return size

    def _range(self, text: str) -> Sizes:
        """Returns the sizes of `4k-64k`. Each multiple of the smallest is equally likely, and the largest has the rest.

        fio draws a number from the smallest to the sum of both. It cuts that to a multiple of the smallest, and to the
        largest (`get_next_buflen` of its `io_u.c`).
        """
        given = self._given
        first, _, last = text.partition("-" if "-" in text else ":")
        if not last:
            raise given.error("bsrange", f"{text or 'nothing'} is not a range", 'expected one like "4k-64k"')
        # fio puts the two into order, whichever is first.
        least, most = sorted(self._block_size(one, "bsrange") for one in (first, last))
        if most // least > BLOCK_SIZES_MAX - 1:
            raise given.error(
                "bsrange",
                f"{text}: the largest size exceeds the smallest more than {BLOCK_SIZES_MAX - 1} times",
                "list sizes with shares: bssplit",
            )
        whole = [(size, least) for size in range(least, most, least)]
        return [*((size, float(share)) for size, share in whole), (most, float(most - least * len(whole)))]

    def _split(self, text: str) -> Sizes:
        """Returns the sizes of `4k/60:64k/40`. Sizes without a share divide the rest."""
        given = self._given
        parts = [one.partition("/") for one in text.split(":")]
        shares = [given.number_of(share, "bssplit") if share else None for _, _, share in parts]
        known = sum(share or 0.0 for share in shares)
        open_ones = shares.count(None)
        if known > 100 or (known < 100 and not open_ones):
            raise given.error("bssplit", f"{text}: the shares come to {known:g} %", "make them 100 together")
        left = (100.0 - known) / max(open_ones, 1)
        sizes = [
            (self._block_size(size, "bssplit"), left if share is None else share)
            for (size, _, _), share in zip(parts, shares, strict=True)
        ]
        if len(sizes) > BLOCK_SIZES_MAX:
            raise given.error("bssplit", f"{len(sizes)} sizes", f"list {BLOCK_SIZES_MAX} at most")
        return [(size, share) for size, share in sizes if share]


def _block_of(sizes: Sizes) -> Value:
    if len(sizes) == 1:
        return size_text(sizes[0][0])
    if len({share for _, share in sizes}) == 1:
        sizes = [(size, 1.0) for size, _ in sizes]
    return [{"size": size_text(size), "share": share} for size, share in sizes]
