"""A run (`rd`) of Vdbench on files (`fsd`, `fwd`) as steps.

Meanings and defaults are those of `FsdEntry`, `FwdEntry`, `ActiveFile`, `FwgThread` and `FileAnchor` of Vdbench
5.04.06. A workload opens a file that no other thread has. It works on that for as many bytes as it has, or for
`stopafter` blocks, and takes the next one. So each thread has its part of the files here.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fathom.errors import UsageError
from fathom.imports.draft import Draft, DraftStep, name_of
from fathom.imports.vdbench_file import Definition, GivenKey
from fathom.imports.vdbench_loops import Loops
from fathom.imports.vdbench_run import arrival_of, matching
from fathom.imports.vdbench_workload import Chosen, Sizes, sizes_of
from fathom.method.toml_text import Value, duration_text, size_text

_FILES, _FILE_BYTES, _XFER_BYTES, _THREADS = 10, 4096, 4096, 1
_FORMAT_BYTES = 128 << 10
_MOST_FILES = 1_000_000
#: Operations on data, and those on names as a mix has them.
_DATA = ("read", "write")
_NAMES = {"create": "create", "open": "open", "getattr": "stat", "delete": "delete"}
#: Keys of a run that are of raw I/O, or that end one in another way.
_OF_RAW = ("wd", "sd", "iorate", "maxdata", "forseekpct")
#: Keys of a run that are of files.
OF_FILES = ("fwdrate", "operations", "format")
_SAID_BY = {
    "mix": ("operations", "operation", "forrdpct", "readpct"),
    "block": ("forxfersize", "xfersizes"),
    "pattern": ("fileio",),
    "files": ("stopafter", "fileselect", "sizes", "files", "width", "depth"),
    "load": ("forthreads", "threads", "fwdrate"),
    "until": ("elapsed",),
    "direct": ("openflags",),
}


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
        if odd := next((size for size, _ in pairs if size % 512 or not size), None):
            raise given.error(f"{odd} bytes are no size of a file here", "a multiple of 512")
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
    """One operation of an `fwd` in one run, by as many threads."""

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
            what = "several threads in one file" if given.text.startswith("r") else "files deleted before"
            raise given.error(f"{what}, which has no counterpart", f"use fileio={given.text}")
        if given.text and "random".startswith(given.text):
            return True
        if given.text and "sequential".startswith(given.text):
            return False
        raise given.error("no order of I/O", "use random or sequential")

    @property
    def is_on_names(self) -> bool:
        """Whether it works on names and attributes instead of data."""
        return self.operation in _NAMES

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


class FileRun(Loops):
    """One `rd` with the file workloads that it names, and their files."""

    rate_key = "fwdrate"
    workload_key, called = "fwd", "workloads"

    def __init__(
        self,
        run: Definition,
        workloads: Sequence[Definition],
        anchors: Sequence[Anchor],
        general: Definition,
        draft: Draft,
    ) -> None:
        """Reads a run definition (rd) of files.

        Raises:
            UsageError: a key has no counterpart, or a value is wrong.
        """
        super().__init__(run, general, draft)
        if given := run.get(*_OF_RAW):
            raise given.error("is of raw I/O, or has no counterpart on files", "leave it out")
        if run.get("fwdrate") is None:
            raise UsageError(
                f"{run.place}: rd={run.name} has no fwdrate, and Vdbench refuses it", "give it one"
            )
        named = run.get("fwd")
        known = {one.name: one for one in workloads if one.name != "format"}
        self.workloads = matching(named, known) if named else []
        self.anchor = self._find_anchor({one.definition.name: one for one in anchors})

    def _find_anchor(self, known: Mapping[str, Anchor]) -> Anchor:
        found: dict[str, Anchor] = {}
        definitions = {name: one.definition for name, one in known.items()}
        for workload in self.workloads:
            named = workload.get("fsd")
            if named is None:
                raise UsageError(f"{workload.place}: fwd={workload.name} names no fsd", "give it fsd=")
            found |= {one.name: known[one.name] for one in matching(named, definitions)}
        if len(found) != 1:
            raise UsageError(
                f"{self.run.place}: rd={self.run.name} works on {len(found)} sets of files at once",
                "give each fsd a run of its own",
            )
        return next(iter(found.values()))

    def place_of(self, key: str) -> str:
        """Returns where the file says a key of a job: in the run, in its workload, or in its files."""
        for definition in (self.run, self.workloads[0], self.anchor.definition):
            if given := definition.get(*_SAID_BY.get(key, ())):
                return given.place
        return self.run.place

    @property
    def directories(self) -> tuple[str, ...]:
        """What it runs on."""
        return (self.anchor.directory,)

    @property
    def format(self) -> str:
        """How files are made before: `yes`, `restart`, `only` or `no`. Raises UsageError."""
        given = self.run.get("format")
        if given is None or any(text and "no".startswith(text) for text in given.values):
            return "no"
        words = {"yes": "yes", "y": "yes", "ye": "yes", "restart": "restart", "only": "only"}
        if odd := next((text for text in given.values if text not in words), None):
            raise given.error(f"{odd or 'nothing'} has no counterpart", "use yes, restart, only or no")
        found = {words[text] for text in given.values}
        return "only" if "only" in found else "restart" if "restart" in found else "yes"

    def add(self, target: str, *, laid_out: bool, format_threads: int) -> None:
        """Adds the steps for a target (no name: the only one). Raises UsageError."""
        aimed: dict[str, Value] = {"target": target} if target else {}
        wanted, on_data = self.format, any(not one.is_on_names for one in self._parts({}))
        if wanted == "no" and not on_data:
            laid_out = True
        if wanted == "no" and not laid_out:
            self.draft.note(
                f"{self.run.place}: rd={self.run.name} has no format=yes and expects files that are there already: "
                "here they are laid out"
            )
        if wanted in ("yes", "only") or not laid_out:
            self.keep(self._lay_out(aimed, min(format_threads, self.anchor.count)))
        if wanted == "only":
            return
        for chosen, ending in self.combinations():
            self.keep_at_rates(ending, partial(self._job, chosen), aimed)

    def _lay_out(self, aimed: Mapping[str, Value], threads: int) -> DraftStep:
        """Returns a fill of all files, each once, in blocks that all their sizes are multiples of."""
        block = math.gcd(_FORMAT_BYTES, *(size for size, _ in self.anchor.sizes))
        job: dict[str, Value] = {
            "mix": "write",
            "block": size_text(block),
            "pattern": "sequential",
            "files": {**self.anchor.layout(), "select": "sequential"},
            "load": {"threads": threads, "iodepth": 8},
            "until": {"written": "1x"},
        }
        name = f"lay-out-{name_of(self.anchor.definition.name)}"
        return DraftStep(name, {"kind": "fill", "label": "lay the files out", **aimed}, job)

    def _job(self, chosen: Chosen, rate: float | None) -> dict[str, Value]:
        parts = self._parts(chosen)
        if any(one.is_on_names for one in parts):
            return self._on_names(parts, rate)
        direct = {self._is_direct(one.definition) for one in parts}
        if len(direct) > 1:
            raise UsageError(f"{self.run.place}: openflags differ between its workloads", "give all the same")
        own: dict[str, Value] = {
            "direct": direct.pop(),
            "until": {"time": duration_text(self.seconds)},
        }
        if len(parts) == 1:
            return {**self._io(parts[0], chosen, rate), **own}
        if rate is None:
            self.draft.note(
                f"{self.run.place}: fwdrate=max over several workloads: each runs as fast as it can by its threads; "
                "Vdbench keeps their rates at their skew"
            )
        names: list[str] = []
        streams: list[dict[str, Value]] = []
        for one, share in self._shares(parts):
            name = name_of(f"{one.definition.name}-{one.operation}")
            names.append(name if name not in names else f"{name}-{len(names) + 1}")
            own_rate = None if rate is None else rate * share / 100
            streams.append({"name": names[-1], **self._io(one, chosen, own_rate)})
        return {**own, "streams": streams}

    def _on_names(self, parts: Sequence[FileWorkload], rate: float | None) -> dict[str, Value]:
        """Returns operations on names as one mix: Vdbench keeps several workloads at their shares. Raises
        UsageError.
        """
        first = parts[0]
        if any(not one.is_on_names or one.select() != first.select() for one in parts):
            raise UsageError(
                f"{self.run.place}: reads and writes beside operations on names, or files that they choose otherwise",
                "give each fwd a run of its own",
            )
        mix: dict[str, float] = {}
        for one, share in self._shares(parts):
            op = _NAMES[one.operation]
            mix[op] = mix.get(op, 0.0) + share
        formatted = self.format != "no"
        if formatted and set(mix) == {"create"}:
            raise UsageError(
                f"{self.run.place}: after a format all files are there, so none can be made",
                "take format= out",
            )
        threads = sum(one.threads for one in parts)
        if threads > self.anchor.count:
            raise UsageError(
                f"{self.run.place}: {threads} threads wait for {self.anchor.count} files, one for each",
                "give fewer threads, or more files",
            )
        closes = (mix.get("create", 0.0) + mix.get("open", 0.0)) / 100
        if closes:
            self.draft.note(
                f"{self.run.place}: closes have a row of their own here, and the rate has room for them; Vdbench "
                "counts a create or an open with its close"
            )
        load: dict[str, Value] = {"threads": threads}
        if rate is not None:
            load |= {"rate": f"{rate * (1 + closes):.6g}/s", "arrival": arrival_of(self.run), "iodepth": 1}
        present: dict[str, Value] = {"present": "0%" if "create" in mix and not formatted else "100%"}
        return {
            "mix": next(iter(mix)) if len(mix) == 1 else {op: round(share, 6) for op, share in mix.items()},
            "files": {**self.anchor.layout(), **first.select(), **present},
            "load": load,
            "until": {"time": duration_text(self.seconds)},
        }

    @property
    def changes_files(self) -> bool:
        """Whether files that it leaves hold no data. Raises UsageError."""
        return any(one.operation in ("create", "delete") for one in self._parts({}))

    def _parts(self, chosen: Chosen) -> list[FileWorkload]:
        """Returns each operation of each workload: those of the run, which divide its threads, else its own."""
        asked = self.run.get("operations")
        found: list[FileWorkload] = []
        for one in self.workloads:
            operations = list(asked.values) if asked else [self._operation_of(one)]
            threads = int(chosen.get("forthreads", one.number("threads", _THREADS)))
            for operation in operations:
                self._check(operation, asked or one.get("operation"))
                each = max(1, threads // len(operations))
                found.append(FileWorkload(one, operation, each, chosen))
        return found

    def _operation_of(self, workload: Definition) -> str:
        given = workload.get("operation")
        if given and len(given.values) > 1:
            raise given.error("one operation of an fwd, as in Vdbench", "give each an fwd")
        return given.text.lower() if given else "read"

    def _check(self, operation: str, given: GivenKey | None) -> None:
        if operation not in (*_DATA, *_NAMES):
            message = f"{operation} has no counterpart", f"{', '.join((*_DATA, *_NAMES))} have"
            raise (
                given.error(*message) if given else UsageError(f"{self.run.place}: {message[0]}", message[1])
            )

    def _shares(self, parts: Sequence[FileWorkload]) -> list[tuple[FileWorkload, float]]:
        """Returns each part's percent of the operations: its skew, else an equal part of what is left."""
        several = max(1, len(parts) // max(1, len(self.workloads)))
        given = [one.definition.number("skew", 0.0) / several for one in parts]
        free = given.count(0.0)
        left = 100.0 - sum(given)
        shares = [share or left / free for share in given]
        if abs(sum(shares) - 100) > 1e-4 or (free and left <= 0):
            raise UsageError(
                f"{self.run.place}: the skew of its workloads adds up to {sum(given):g}", "make it 100"
            )
        return list(zip(parts, shares, strict=True))

    def _io(self, one: FileWorkload, chosen: Chosen, rate: float | None) -> dict[str, Value]:
        sizes, reads = one.sizes(self.anchor), one.reads
        if any(file % size for size, _ in sizes for file, _ in self.anchor.sizes):
            self.draft.note(
                f"{one.definition.place}: the last block of a file, which is shorter, is left alone here"
            )
        mix: Value = {"read": reads, "write": 100.0 - reads}
        if reads in (0.0, 100.0):
            mix = "read" if reads else "write"
        if mix == "write" and not one.is_random and self.format == "no":
            self.draft.note(
                f"{one.definition.place}: writes go to files whose room is reserved; Vdbench makes those that are "
                "not there"
            )
        load: dict[str, Value] = {"threads": one.threads, "iodepth": 1}
        if rate is not None:
            load |= {"rate": f"{rate:g}/s", "arrival": arrival_of(self.run)}
        return {
            "mix": mix,
            "block": _block(sizes),
            "pattern": "uniform" if one.is_random else "sequential",
            "files": one.files(self.anchor),
            **self.content(chosen),
            "load": load,
        }

    def _is_direct(self, workload: Definition) -> bool:
        """By the run's flags, else the workload's, else the files'. Raises UsageError for flags that change the I/O."""
        given = (
            self.run.get("openflags") or workload.get("openflags") or self.anchor.definition.get("openflags")
        )
        if given is None:
            return False
        flags = {one.lower() for one in given.values}
        if other := flags - {"o_direct", "directio", "directio_off"}:
            raise given.error(f"{min(other)} has no counterpart", "use o_direct, or none")
        return bool(flags & {"o_direct", "directio"})


def _block(sizes: Sizes) -> Value:
    if len(sizes) == 1:
        return size_text(sizes[0][0])
    return [{"size": size_text(size), "share": round(share, 6)} for size, share in sizes]
