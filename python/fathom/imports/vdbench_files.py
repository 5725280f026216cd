"""A run (`rd`) of Vdbench on files (`fsd`, `fwd`) as steps.

Meanings and defaults are those of `RD_entry`, `FwgThread` and `FileAnchor` of Vdbench 5.04.06. Each set of files that
a workload names has an equal part of its threads and of its rate. Several sets are an array of directories here.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial

from fathom.errors import UsageError
from fathom.imports.draft import Draft, DraftStep, name_of
from fathom.imports.vdbench_file import Definition, GivenKey
from fathom.imports.vdbench_filework import DATA, NAMES, Anchor, FileWorkload
from fathom.imports.vdbench_flags import Opened, opened_by
from fathom.imports.vdbench_loops import Loops
from fathom.imports.vdbench_run import arrival_of, matching
from fathom.imports.vdbench_workload import Chosen, Sizes
from fathom.method.toml_text import Value, duration_text, rate_text, size_text
from fathom.output.text import distinct

_THREADS = 1
_FORMAT_BYTES = 128 << 10
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


class FileRun(Loops):
    """One `rd` with the file workloads that it names, and their files."""

    rate_key = "fwdrate"
    workload_key, called, storage_key = "fwd", "workloads", "fsd"

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
        self._anchors_of = self._find_anchors({one.definition.name: one for one in anchors})
        own = {one.definition.name: one for found in self._anchors_of.values() for one in found}
        #: All sets of files that its workloads use, each once and in the order of the file.
        self.anchors = [own[one.definition.name] for one in anchors if one.definition.name in own]
        self._check_alike()

    def _find_anchors(self, known: Mapping[str, Anchor]) -> dict[str, list[Anchor]]:
        """Returns the sets of files of each workload. Raises UsageError."""
        found: dict[str, list[Anchor]] = {}
        definitions = {name: one.definition for name, one in known.items()}
        for workload in self.workloads:
            named = workload.get("fsd")
            if named is None:
                raise UsageError(f"{workload.place}: fwd={workload.name} names no fsd", "give it fsd=")
            found[workload.name] = [known[one.name] for one in matching(named, definitions)]
        return found

    def _check_alike(self) -> None:
        """Raises UsageError unless all files are laid out alike, in directories of their own."""
        if any(one.layout() != self.anchor.layout() for one in self.anchors):
            raise UsageError(
                f"{self.run.place}: rd={self.run.name} works on files of several layouts at once",
                "give each fsd a run of its own",
            )
        if len(set(self.directories)) < len(self.anchors):
            raise UsageError(
                f"{self.run.place}: rd={self.run.name}: two of its fsd have one anchor",
                "give each an anchor of its own",
            )

    @property
    def anchor(self) -> Anchor:
        """The first of its sets of files. All are alike."""
        return self.anchors[0]

    def _numbers_of(self, workload: Definition) -> list[int]:
        """Returns the numbers, from 1, of the sets of files that a workload uses; empty for all."""
        own = self._anchors_of[workload.name]
        if len(own) == len(self.anchors):
            return []
        return [number for number, one in enumerate(self.anchors, 1) if one in own]

    def place_of(self, key: str) -> str:
        """Returns where the file says a key of a job: in the run, in its workload, or in its files."""
        for definition in (self.run, self.workloads[0], self.anchor.definition):
            if given := definition.get(*_SAID_BY.get(key, ())):
                return given.place
        return self.run.place

    @property
    def directories(self) -> tuple[str, ...]:
        """What it runs on."""
        return tuple(one.directory for one in self.anchors)

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
            **self.content({}),
            "load": {"threads": threads, "iodepth": 8},
            "until": {"written": "1x"},
        }
        name = f"lay-out-{name_of(self.anchor.definition.name)}"
        return DraftStep(name, {"kind": "fill", "label": "lay the files out", **aimed}, job)

    def _job(self, chosen: Chosen, rate: float | None) -> dict[str, Value]:
        parts = self._parts(chosen)
        if any(one.is_on_names for one in parts):
            return self._on_names(parts, rate)
        opened = {self._opened(one.definition) for one in parts}
        if len(opened) > 1:
            raise UsageError(f"{self.run.place}: openflags differ between its workloads", "give all the same")
        own: dict[str, Value] = {
            **opened.pop().keys(),
            "until": {"time": duration_text(self.seconds)},
        }
        if len(parts) == 1:
            return {**self._io(parts[0], chosen, rate), **own}
        self.check_streams(len(parts))
        if rate is None:
            self.draft.note(
                f"{self.run.place}: fwdrate=max over several workloads: each runs as fast as it can by its threads; "
                "Vdbench keeps their rates at their skew"
            )
        shares = self._shares(parts)
        names = distinct(name_of(f"{one.definition.name}-{one.operation}") for one, _ in shares)
        streams: list[dict[str, Value]] = []
        for name, (one, share) in zip(names, shares, strict=True):
            own_rate = None if rate is None else rate * share / 100
            numbers = self._numbers_of(one.definition)
            aimed: dict[str, Value] = {"targets": numbers} if numbers else {}
            streams.append({"name": name, **self._io(one, chosen, own_rate), **aimed})
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
        shares = self._alike_on_each(self._shares(parts))
        parts = [one for one, _ in shares]
        mix: dict[str, float] = {}
        for one, share in shares:
            op = NAMES[one.operation]
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
            each = rate * (1 + closes) / len(self.anchors)
            load |= {"rate": rate_text(each), "arrival": arrival_of(self.run), "iodepth": 1}
        present: dict[str, Value] = {"present": "0%" if "create" in mix and not formatted else "100%"}
        return {
            "mix": next(iter(mix)) if len(mix) == 1 else {op: round(share, 6) for op, share in mix.items()},
            "files": {**self.anchor.layout(), **first.select(), **present},
            "load": load,
            "until": {"time": duration_text(self.seconds)},
        }

    def _alike_on_each(
        self, shares: Sequence[tuple[FileWorkload, float]]
    ) -> list[tuple[FileWorkload, float]]:
        """Returns what goes on in the first set of files, in percent, once it is the same in all. Raises UsageError."""
        of = self._anchors_of
        first, *others = (
            [
                (one, share / len(of[one.definition.name]))
                for one, share in shares
                if anchor in of[one.definition.name]
            ]
            for anchor in self.anchors
        )
        described = [(one.operation, one.threads, share) for one, share in first]
        if any([(one.operation, one.threads, share) for one, share in own] != described for own in others):
            raise UsageError(
                f"{self.run.place}: operations on names of one fsd beside others on another",
                "give each fwd a run of its own",
            )
        whole = sum(share for _, share in first)
        return [(one, 100 * share / whole) for one, share in first]

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
                each = max(1, threads // len(operations) // len(self._anchors_of[one.name]))
                found.append(FileWorkload(one, operation, each, chosen))
        return found

    def _operation_of(self, workload: Definition) -> str:
        given = workload.get("operation")
        if given and len(given.values) > 1:
            raise given.error("one operation of an fwd, as in Vdbench", "give each an fwd")
        return given.text.lower() if given else "read"

    def _check(self, operation: str, given: GivenKey | None) -> None:
        if operation not in (*DATA, *NAMES):
            message = f"{operation} has no counterpart", f"{', '.join((*DATA, *NAMES))} have"
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
        if one.is_shared:
            self.draft.note(
                f"{one.definition.place}: each thread goes through all files, from a place of its own; in Vdbench all "
                "take the next file of one list"
            )
        load: dict[str, Value] = {"threads": one.threads, "iodepth": 1}
        if rate is not None:
            each = rate / len(self._anchors_of[one.definition.name])
            load |= {"rate": rate_text(each), "arrival": arrival_of(self.run)}
        return {
            "mix": mix,
            "block": _block(sizes),
            "pattern": "uniform" if one.is_random else "sequential",
            "files": one.files(self.anchor),
            **self.content(chosen),
            "load": load,
        }

    def _opened(self, workload: Definition) -> Opened:
        """By the run's flags, else the workload's, else the files'. Raises UsageError for flags that change the I/O."""
        own = self.run.get("openflags") or workload.get("openflags")
        found = {
            opened_by(given, ()) if given else Opened(direct=False)
            for given in (own or one.definition.get("openflags") for one in self._anchors_of[workload.name])
        }
        if len(found) > 1:
            raise UsageError(f"{self.run.place}: openflags differ between its fsd", "give all the same")
        return found.pop()


def _block(sizes: Sizes) -> Value:
    if len(sizes) == 1:
        return size_text(sizes[0][0])
    return [{"size": size_text(size), "share": round(share, 6)} for size, share in sizes]
