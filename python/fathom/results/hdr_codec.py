"""HdrHistogram's compressed encoding V2: a histogram as base64 text, and back.

Format: HdrHistogram 2.x, `AbstractHistogram.java` (`encodeIntoCompressedByteBuffer`) and `ZigZagEncoding.java`. It is
zlib around a head of 40 bytes and counts in ZigZag LEB128, where a negative count is a run of zeros. Own code, because
files come from others: the library's decoder is C without a bound on what a hostile file makes it allocate.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fathom.results.records import Bin

COMPRESSED = 0x1C849314
PLAIN = 0x1C849313
HEAD = struct.Struct(">iiiiqqd")
MOST_BYTES = 1 << 24
MOST_DIGITS = 5
DIGITS = 3
"""Significant decimal digits of what is written: finer than any bin of Fathom or fio."""
MOST_SHIFT = 62
LEB_LAST = 8
"""The ninth byte of a number has eight bits of it, the others seven."""


class CodecError(ValueError):
    """The text is no histogram of this encoding. The message says why."""


@dataclass(frozen=True)
class _Layout:
    """Layout of the bins: `half` is half the bins of an octave as a power of two, `unit` the lowest value's power."""

    half: int
    unit: int

    @classmethod
    def of(cls, digits: int, lowest: int) -> "_Layout":
        largest_exact = 2 * 10**digits
        return cls(max((largest_exact - 1).bit_length(), 1) - 1, max(lowest, 1).bit_length() - 1)

    def bin_at(self, index: int, n: int) -> Bin:
        bucket = (index >> self.half) - 1
        sub = (index & ((1 << self.half) - 1)) + (1 << self.half)
        if bucket < 0:
            bucket, sub = 0, sub - (1 << self.half)
        shift = bucket + self.unit
        if shift + self.half >= MOST_SHIFT:
            raise CodecError("a value beyond 64 bits")
        return Bin(sub << shift, (sub + 1) << shift, n)

    def index_of(self, value: int) -> int:
        bucket = max(0, value.bit_length() - self.unit - self.half - 1)
        return (bucket << self.half) + (value >> (bucket + self.unit))


def decode(text: str) -> list[Bin]:
    """Returns the bins with values in them. Raises CodecError."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CodecError("no base64") from error
    if len(data) < 8 or struct.unpack(">i", data[:4])[0] != COMPRESSED:
        raise CodecError("no histogram of version 2")
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(data[8:], MOST_BYTES)
    except zlib.error as error:
        raise CodecError("broken compression") from error
    if len(plain) < HEAD.size or inflater.unconsumed_tail:
        raise CodecError("cut short, or too large")
    cookie, length, offset, digits, lowest, _, _ = HEAD.unpack_from(plain)
    if (
        cookie != PLAIN
        or offset
        or not 0 <= digits <= MOST_DIGITS
        or length != len(plain) - HEAD.size
        or lowest < 0
    ):
        raise CodecError("a head that makes no sense")
    layout = _Layout.of(digits, lowest)
    return [layout.bin_at(index, n) for index, n in _counts(plain[HEAD.size :])]


def encode(bins: Sequence[Bin]) -> str:
    """Returns bins as text, each at the middle of its edges."""
    layout = _Layout.of(DIGITS, 1)
    counts: dict[int, int] = {}
    for low, high, n in bins:
        at = layout.index_of(low + (high - low) // 2)
        counts[at] = counts.get(at, 0) + n
    payload = bytearray()
    after = 0
    for index in sorted(counts):
        if index > after:
            payload += _zigzag(after - index)
        payload += _zigzag(counts[index])
        after = index + 1
    highest = max((high for _, high, _ in bins), default=2)
    head = HEAD.pack(PLAIN, len(payload), 0, DIGITS, 1, max(2, min(highest, 1 << MOST_SHIFT)), 1.0)
    packed = zlib.compress(head + bytes(payload))
    return base64.b64encode(struct.pack(">ii", COMPRESSED, len(packed)) + packed).decode()


def _counts(data: bytes) -> Iterator[tuple[int, int]]:
    index = at = 0
    while at < len(data):
        value = shift = 0
        for place in range(LEB_LAST + 1):
            if at >= len(data):
                raise CodecError("cut short")
            byte = data[at]
            at += 1
            value |= (byte if place == LEB_LAST else byte & 0x7F) << shift
            shift += 7
            if place == LEB_LAST or not byte & 0x80:
                break
        count = (value >> 1) ^ -(value & 1)
        if count > 0:
            yield index, count
        index += -count if count < 0 else 1
        if index >> MOST_SHIFT:
            raise CodecError("a bin beyond 64 bits")


def _zigzag(value: int) -> bytes:
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    for _ in range(LEB_LAST):
        if rest < 0x80:
            out.append(rest)
            return bytes(out)
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest & 0xFF)
    return bytes(out)
