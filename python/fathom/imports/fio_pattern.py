"""The bytes that fio's `buffer_pattern` stands for: `0xdeadbeef`, `"text"`, a number of one byte, and runs of these.

As in fio's pattern.c. Its hexadecimal digits are bytes in their order, an odd number of them with a 0 in front.
"""

import re

from fathom._core import PATTERN_BYTES_MAX
from fathom.imports.fio_given import GivenOptions

_PART = re.compile(r'0[xX](?P<digits>[0-9a-fA-F]+)|"(?P<text>[^"]*)"|(?P<number>[0-9]+)')


def repeated_bytes(text: str, given: GivenOptions) -> str:
    """Returns the bytes as a job has them, `0xdeadbeef`. Raises UsageError for a file, an offset or a long pattern."""
    found, at = b"", 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None or (part["number"] and int(part["number"]) > 255):
            raise given.error(
                "buffer_pattern",
                f"{text[at:]} has no counterpart",
                'write bytes, such as 0xdeadbeef or "text"',
            )
        found, at = found + _bytes_of(part), part.end()
    if not 1 <= len(found) <= PATTERN_BYTES_MAX:
        raise given.error("buffer_pattern", f"is {len(found)} bytes", f"write 1 to {PATTERN_BYTES_MAX}")
    return f"0x{found.hex()}"


def _bytes_of(part: re.Match[str]) -> bytes:
    if digits := part["digits"]:
        return bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}")
    if part["number"]:
        return bytes([int(part["number"])])
    return part["text"].encode()
