"""Where a Vdbench workload's I/O goes on its storage, as a region of a method.

Vdbench computes the bytes from size, range, offset and the largest block (`WG_entry.calculateContext`). It never
touches the first block of a device, and cuts a range to whole blocks of the largest size. A method keeps to that. Only
one that reads the whole of a device of unknown size reads its first block too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fathom.errors import UsageError
from fathom.imports.vdbench_file import Definition, GivenKey
from fathom.method.toml_text import Value, size_text

#: More bytes than any device has: all there is from a start on.
_ALL_THERE_IS = "up to 1024PiB"
#: A share of a device is whole MiB in a method and whole blocks in Vdbench: a method stays this far inside.
_MARGIN_PERCENT = 0.1


@dataclass(frozen=True)
class Storage:
    """One `sd`, or one of those that `count=` makes of it."""

    name: str
    lun: str
    definition: Definition

    @property
    def is_device(self) -> bool:
        """Whether it is what Vdbench calls raw."""
        return self.lun.startswith(("/dev", "\\\\"))

    @property
    def size_bytes(self) -> int | None:
        """The bytes used; None: all that there are. Raises UsageError."""
        given = self.definition.get("size")
        return int(divided(given)) or None if given else None

    @property
    def threads(self) -> int:
        """I/Os in flight where the run says nothing. Raises UsageError."""
        given = self.definition.get("threads")
        return int(divided(given)) if given else 8

    @cached_property
    def like(self) -> tuple[object, ...]:
        """What all storage of one job must have in common."""
        keys = ("size", "offset", "align", "range")
        given = (self.definition.get(key) for key in keys)
        return (self.is_device, *(one and one.values for one in given))


def divided(given: GivenKey) -> float:
    """Returns a value over its divisor, if it has one: `size=(100g,4)` is a quarter of 100g."""
    if len(given.values) > 2:
        raise given.error("more than two values", "a value, and what divides it")
    values = [given.number(text) for text in given.values]
    if len(values) > 1 and values[1] < 1:
        raise given.error("divided by less than 1", "divide by 1 or more")
    return values[0] // int(values[1]) if len(values) > 1 else values[0]


@dataclass(frozen=True)
class Range:
    """From one place of the storage to another; up to 100 in percent, as `range=` has it, else in bytes."""

    low: float
    high: float

    @property
    def percents(self) -> bool:
        """Whether both ends are shares."""
        return self.high <= 100


def range_of(workload: Definition, storage: Storage) -> Range:
    """Returns the workload's own range, else the storage's, else all. Raises UsageError."""
    given = workload.get("range") or storage.definition.get("range")
    if given is None:
        return Range(0, 100)
    if len(given.values) != 2:
        raise given.error("expected two places", "such as range=(0,25)")
    low, high = (given.number(text) for text in given.values)
    if low >= high:
        raise given.error("it ends before it begins", "such as range=(0,25)")
    if 100 < high <= 200:
        raise given.error("it goes on from the storage's end at its start", "give two ranges, each in a run")
    return Range(low, high)


def region_of(
    span: Range, storage: Storage, largest_bytes: int, place: str, *, writes: bool
) -> dict[str, Value] | str | None:
    """Returns the region of a job; None is the whole target. Raises UsageError."""
    offset_bytes = int(storage.definition.number("offset", 0))
    size_bytes = storage.size_bytes
    spared_bytes = largest_bytes if storage.is_device and (writes or size_bytes is not None) else 0
    if size_bytes is None:
        return _of_unknown(span, offset_bytes, spared_bytes, place)
    low = int(size_bytes * span.low / 100) if span.low <= 100 else int(span.low)
    high = int(size_bytes * span.high / 100) if span.percents else int(span.high)
    if high > size_bytes:
        raise UsageError(
            f"{place}: range ends at {high} bytes of {size_bytes}", "end it inside the sd's size"
        )
    start = (low or spared_bytes) // largest_bytes * largest_bytes + offset_bytes
    end = high // largest_bytes * largest_bytes
    if end - start < 2 * largest_bytes:
        raise UsageError(
            f"{place}: {max(end - start, 0)} bytes of storage are less than two blocks of {largest_bytes}",
            "give the sd more, or the wd smaller blocks",
        )
    return _table(start, end - start)


def _table(start_bytes: int, size_bytes: int) -> dict[str, Value] | str:
    if not start_bytes:
        return size_text(size_bytes)
    return {"start": size_text(start_bytes), "size": size_text(size_bytes)}


def _of_unknown(
    span: Range, offset_bytes: int, spared_bytes: int, place: str
) -> dict[str, Value] | str | None:
    """Returns the region on a target whose size only a run knows."""
    if not span.percents and (span.low > 100 or span.low == 0):
        start = (int(span.low) or spared_bytes) + offset_bytes
        return _table(start, int(span.high) - start)
    if not span.percents:
        raise UsageError(
            f"{place}: a range from a share to a byte needs the storage's size", "give the sd a size="
        )
    if span == Range(0, 100):
        start = spared_bytes + offset_bytes
        return {"start": size_text(start), "size": _ALL_THERE_IS} if start else None
    if offset_bytes:
        raise UsageError(
            f"{place}: a share of the storage with offset= needs its size", "give the sd a size="
        )
    low = span.low + _MARGIN_PERCENT if span.low or spared_bytes else 0.0
    high = span.high - _MARGIN_PERCENT if span.high < 100 else 100.0
    return {"start": f"{_short(low)}%", "size": f"{_short(high - low)}%"}


def _short(percent: float) -> str:
    return f"{percent:.6f}".rstrip("0").rstrip(".")


def by_kind(storage: Sequence[Storage]) -> list[list[Storage]]:
    """Returns storage in groups: alike in size, range, offset and alignment, and each on devices of its own."""
    groups: list[list[Storage]] = []
    #: The groups of each kind. The next device of a name goes to the first one that it is not in.
    of_kind: dict[tuple[object, ...], list[list[Storage]]] = {}
    seen: Counter[tuple[object, ...]] = Counter()
    for one in storage:
        own = of_kind.setdefault(one.like, [])
        times = seen[one.like, one.lun]
        seen[one.like, one.lun] += 1
        if times == len(own):
            own.append([])
            groups.append(own[-1])
        own[times].append(one)
    return groups
