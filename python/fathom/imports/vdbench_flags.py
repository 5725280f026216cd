"""What `openflags` of Vdbench ask for: whether the page cache is bypassed, and what each write waits for.

Meanings are those of `OpenFlags` of Vdbench 5.04.06 on Linux. There the three flags of synchronous writes are all
`O_DSYNC`.
"""

from collections.abc import Collection
from dataclasses import dataclass

from fathom.imports.vdbench_file import GivenKey
from fathom.method.toml_text import Value

_DIRECT = frozenset(("o_direct", "directio"))
_SYNC = frozenset(("o_sync", "o_dsync", "o_rsync"))


@dataclass(frozen=True)
class Opened:
    """How a file or device is opened."""

    direct: bool
    sync: bool = False

    def keys(self) -> dict[str, Value]:
        """Returns the keys of a job."""
        return {"direct": self.direct, **({"sync": "data"} if self.sync else {})}


def opened_by(given: GivenKey, ignored: Collection[str]) -> Opened:
    """Returns what flags ask for; those `ignored` change nothing. Raises UsageError for flags that change the I/O."""
    flags = {one.lower() for one in given.values}
    if other := flags - {*_DIRECT, *_SYNC, "directio_off", *ignored}:
        raise given.error(f"{min(other)} has no counterpart", "use o_direct, o_dsync, or none")
    return Opened(bool(flags & _DIRECT), bool(flags & _SYNC))
