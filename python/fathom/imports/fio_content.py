"""What the blocks of a job of fio carry."""

from collections.abc import Mapping

from fathom.imports.fio_given import GivenOptions
from fathom.imports.fio_pattern import repeated_bytes
from fathom.method.toml_text import Value


def is_verified(given: GivenOptions) -> bool:
    """Returns whether blocks are such that they can be checked."""
    return given.text("verify", "0") not in ("0", "null")


def content_of(given: GivenOptions, weights: Mapping[str, float]) -> dict[str, Value]:
    """Returns the key of a job with the data of its writes. Raises UsageError."""
    content: dict[str, Value] = {}
    if given.flag("zero_buffers"):
        given.note("zero_buffers", "writes carry data that compress away, not zeroes")
        content["compressible"] = "99%"
    if share := given.number("buffer_compress_percentage", 0):
        content["compressible"] = f"{share:g}%"
    if share := given.number("dedupe_percentage", 0):
        content["dedup"] = f"{share:g}%"
    if given.has("buffer_pattern"):
        content |= _repeated(given, weights, content)
    if is_verified(given):
        if len(weights) > 1 or "trim" in weights:
            raise given.error(
                "verify",
                "reads back beside other I/O",
                "a job that only writes has one",
            )
        content["verify"] = 1
        kind = given.text("verify", "")
        given.note("verify", f"{kind}: blocks carry place, generation, seed and a checksum of Fathom's own")
    return {"content": content} if content else {}


def _repeated(
    given: GivenOptions, weights: Mapping[str, float], beside: Mapping[str, Value]
) -> dict[str, Value]:
    """Returns the bytes that every block repeats. Raises UsageError for what fio makes of other options beside."""
    if beside or is_verified(given):
        raise given.error(
            "buffer_pattern",
            "fills a part of a block, or is replaced by verify",
            "leave one of the two out",
        )
    if "write" not in weights:
        given.idle("buffer_pattern", "has no effect without writes")
        return {}
    return {"pattern": repeated_bytes(given.text("buffer_pattern", ""), given)}
