"""Files of Vdbench (`fsd`) and a workload on them (`fwd`) in a method's words: how many, how chosen, in which blocks.

Meanings and defaults are those of `FsdEntry`, `FwdEntry` and `ActiveFile` of Vdbench 5.04.06. A workload opens a file
that no other thread has. It works on that for as many bytes as it has, or for `stopafter` blocks, and takes the next
one. So each thread has its part of the files here.
"""

from dataclasses import dataclass

from fathom.errors import UsageError
from fathom.imports.vdbench_file import Definition
from fathom.imports.vdbench_workload import Chosen, Sizes, sizes_of
from fathom.method.toml_text import Value, size_text

_FILES, _FILE_BYTES, _XFER_BYTES = 10, 4096, 4096
_MOST_FILES = 1_000_000
#: Operations on data, and those on names as a mix has them.
DATA = ("read", "write")
NAMES = {"create": "create", "open": "open", "getattr": "stat", "delete": "delete"}


@dataclass(frozen=True)
class Anchor:
    """One `fsd`: files in a directory."""

    definition: Definition

    @property
    def directory(self) -> str:
        """Where they lie. Raises UsageError."""
        given = self.definition.get("anchor")
        if given is None:
            raise UsageError(
                f"{self.definition.place}: fsd={self.definition.name} has no anchor", "give it anchor="
            )
        return given.text

    @property
    def sizes(self) -> Sizes:
        """Sizes of the files with their shares. Raises UsageError."""
        given = self.definition.get("sizes")
        if given is None:
            return ((_FILE_BYTES, 100.0),)
        values = [given.number(text) for text in given.values]
        if len(values) == 1:
            values.append(100.0)
        if len(values) % 2 or (len(values) == 2 and not values[1]):
            raise given.error(
                "sizes around a mean, or without a percent, have no counterpart", "(4k,50,8k,50)"
            )
        pairs = [(int(size), share) for size, share in zip(values[::2], values[1::2], strict=True) if share]
        if round(sum(share for _, share in pairs)) != 100:
            raise given.error(f"the percent add up to {sum(share for _, share in pairs):g}", "make them 100")
        for size, _ in pairs:
            if size % 512 or size <= 0:
                raise given.error(f"{size} bytes are no size of a file here", "a multiple of 512")
        return tuple(pairs)

    def layout(self) -> dict[str, Value]:
        """Returns count, sizes and directories as `files` has them. Raises UsageError."""
        width, depth = (int(self.definition.number(key, 1)) for key in ("width", "depth"))
        files = int(self.definition.number("files", _FILES))
        count = files * width**depth if width > 0 and 0 < depth <= 16 else 0
        if not 0 < count <= _MOST_FILES:
            raise UsageError(
                f"{self.definition.place}: fsd={self.definition.name} has {files} files in each of {width}^{depth} "
                "directories",
                f"give 1 to {_MOST_FILES} files in all, and up to 16 levels",
            )
        sizes = self.sizes
        size: Value = (
            size_text(sizes[0][0])
            if len(sizes) == 1
            else [{"size": size_text(one), "share": share} for one, share in sizes]
        )
        return {"count": count, "size": size, "depth": depth, "width": width}

    @property
    def count(self) -> int:
        """How many files there are. Raises UsageError."""
        count = self.layout()["count"]
        return count if isinstance(count, int) else 0


@dataclass(frozen=True)
class FileWorkload:
    """One operation of an `fwd` in one run, by as many threads on each of its sets of files."""

    definition: Definition
    operation: str
    threads: int
    chosen: Chosen

    @property
    def is_random(self) -> bool:
        """Whether it goes anywhere in its file. Raises UsageError."""
        given = self.definition.get("fileio")
        if given is None:
            return False
        if len(given.values) > 1:
            if self.is_shared:
                return True
            what = "files deleted before" if given.text.startswith("s") else "more than an order"
            raise given.error(f"{what}, which has no counterpart", f"use fileio={given.text}")
        if given.text and "random".startswith(given.text):
            return True
        if given.text and "sequential".startswith(given.text):
            return False
        raise given.error("no order of I/O", "use random or sequential")

    @property
    def is_shared(self) -> bool:
        """Whether several threads may work on one file at once."""
        given = self.definition.get("fileio")
        return given is not None and given.values == ("random", "shared")

    @property
    def is_on_names(self) -> bool:
        """Whether it works on names and attributes instead of data."""
        return self.operation in NAMES

    @property
    def reads(self) -> float:
        """Percent of reads: `rdpct` makes a mix of either operation. Raises UsageError."""
        given = self.definition.get("readpct")
        if "forrdpct" in self.chosen:
            share = self.chosen["forrdpct"]
        elif given is not None:
            share = given.number()
        else:
            return 100.0 if self.operation == "read" else 0.0
        if not self.is_random:
            place = given.place if given else self.definition.place
            raise UsageError(
                f"{place}: fileio=sequential and rdpct= exclude each other in Vdbench too",
                "use fileio=random",
            )
        return min(share, 100.0)

    def files(self, anchor: Anchor) -> dict[str, Value]:
        """Returns the files and how they are chosen. Raises UsageError."""
        if self.is_shared:
            return {**anchor.layout(), **self._select_shared(), **self._visit(), "open": 1}
        if self.threads > anchor.count:
            raise UsageError(
                f"{self.definition.place}: {self.threads} threads wait for {anchor.count} files, one for each",
                "give fewer threads, or more files",
            )
        return {
            **anchor.layout(),
            **self.select(),
            **({} if self.is_on_names else {**self._visit(), "open": 1}),
        }

    def select(self) -> dict[str, Value]:
        """Returns how the next file is chosen. Raises UsageError."""
        return {"select": "random"} if self._selects_random() else {}

    def _select_shared(self) -> dict[str, Value]:
        """Returns how each of several threads goes through all files. Raises UsageError."""
        if self._selects_random():
            raise UsageError(
                f"{self.definition.place}: fileio=(random,shared) and fileselect=random exclude each other in Vdbench "
                "too",
                "take one of them out",
            )
        return {"threads": "together"}

    def _selects_random(self) -> bool:
        given = self.definition.get("fileselect")
        if given is None:
            return False
        for text in given.values:
            if not text or not any(one.startswith(text) for one in ("random", "sequential")):
                raise given.error(f"{text or 'nothing'} has no counterpart", "use random or sequential")
        return "random".startswith(given.values[-1])

    def _visit(self) -> dict[str, Value]:
        given = self.definition.get("stopafter")
        if given is None:
            return {"visit": "whole"}
        if given.text.endswith("%") or given.number() < 1:
            raise given.error("a share of a file has no counterpart", "give a number of blocks")
        return {"visit": int(given.number())}

    def sizes(self, anchor: Anchor) -> Sizes:
        """Returns block sizes: a block is no larger than the file that it goes to. Raises UsageError."""
        given = self.definition.get("xfersizes")
        sizes = sizes_of(given) if given else ((_XFER_BYTES, 100.0),)
        if "forxfersize" in self.chosen:
            sizes = ((int(self.chosen["forxfersize"]), 100.0),)
        largest, least = max(size for size, _ in sizes), min(size for size, _ in anchor.sizes)
        if largest <= least:
            return sizes
        if len(anchor.sizes) > 1:
            raise UsageError(
                f"{self.definition.place}: blocks of {largest} bytes are cut at the end of files of {least} bytes and "
                "not of others",
                "give smaller blocks, or files of one size",
            )
        capped: dict[int, float] = {}
        for size, share in sizes:
            capped[min(size, least)] = capped.get(min(size, least), 0.0) + share
        return tuple(capped.items())
