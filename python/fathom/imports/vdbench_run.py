"""A run (`rd`) of Vdbench as steps: one for each combination of the values that its loops list, in Vdbench's order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from fathom._core import THREADS_MAX
from fathom.errors import UsageError
from fathom.imports.draft import Draft, name_of
from fathom.imports.vdbench_file import Definition, GivenKey
from fathom.imports.vdbench_flags import Opened, opened_by
from fathom.imports.vdbench_hosts import Hosts, Work
from fathom.imports.vdbench_in_use import InUse
from fathom.imports.vdbench_loops import Loops
from fathom.imports.vdbench_place import Range, Storage, by_kind, range_of, region_of
from fathom.imports.vdbench_workload import Chosen, Workload, mix_of
from fathom.method.toml_text import Value, duration_text, rate_text, size_text

_Named = TypeVar("_Named", Storage, Definition)

#: By which of Vdbench's keys a job's is made.
_SOURCE_KEYS = {
    "mix": ("forrdpct", "readpct", "writepct"),
    "block": ("forxfersize", "xfersize"),
    "pattern": ("forseekpct", "seekpct"),
    "region": ("range", "size", "offset"),
    "align": ("align",),
    "load": ("forthreads", "iorate", "threads"),
    "until": ("elapsed", "maxdata"),
    "direct": ("openflags",),
}


@dataclass(frozen=True)
class File:
    """The definitions that stand before the runs."""

    storage: Sequence[Storage]
    workloads: Sequence[Definition]
    #: What a run without workloads does.
    default: Definition
    general: Definition
    hosts: Hosts
    _machines: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    @cached_property
    def storage_by_name(self) -> Mapping[str, Storage]:
        """The storage by its names."""
        return {one.name: one for one in self.storage}

    def machines_of(self, storage: Storage) -> frozenset[str]:
        """Returns the machines that storage is for. Raises UsageError for an unknown host."""
        known = self._machines.get(storage.name)
        if known is None:
            known = self._machines[storage.name] = frozenset(self.hosts.named_by(storage.definition))
        return known


class Run(Loops):
    """One `rd` with the workloads and the storage that it names."""

    def __init__(self, run: Definition, file: File, draft: Draft) -> None:
        """Finds the workloads and the storage that a run definition names in a file. Raises UsageError."""
        super().__init__(run, file.general, draft)
        self._hosts = file.hosts
        self.workloads = self._find_workloads(file)
        self._in_use = InUse({one.name: self._find_storage(file, one) for one in self.workloads})
        #: Workloads on storage of one kind each, with their parts of the I/O of the workload.
        self.parts: list[tuple[Definition, float]] = []
        self._opened_of: dict[str, Opened] = {}

    def work(self) -> dict[str, Work]:
        """Returns what each machine does that has anything to do. Raises UsageError."""
        found: dict[str, Work] = {}
        of_storage = {one.name: set(self._hosts.named_by(one.definition)) for one in self.storage}
        of_workload = {one.name: set(self._hosts.named_by(one)) for one in self.workloads}
        for machine in self._hosts.all:
            own = {
                one.name: [
                    storage
                    for storage in self.storage_of(one)
                    if machine in of_workload[one.name] and machine in of_storage[storage.name]
                ]
                for one in self.workloads
            }
            if any(own.values()):
                found[machine] = own
        return found

    def keep_to(self, work: Work, machines: int) -> None:
        """Keeps what one of several machines does that all do the same."""
        self._in_use = InUse(work)
        self.machines = machines

    def settle(self) -> None:
        """Gives each workload a part for each kind of its storage. Raises UsageError for storage that workloads share
        in part, and for that of several hosts under one name.
        """
        self._check_hosts()
        if self._in_use.shared_in_part():
            raise UsageError(
                f"{self.run.place}: rd={self.run.name}: workloads at once whose storage is the same in part",
                "give each wd a run of its own",
            )
        of_part: dict[str, list[Storage]] = {}
        kinds: dict[str, list[list[Storage]]] = {}
        self.parts = [part for one in self.workloads for part in self._parts_of(one, kinds, of_part)]
        self._in_use = self._in_use.with_parts(of_part)

    def _parts_of(
        self,
        workload: Definition,
        kinds: dict[str, list[list[Storage]]],
        of_part: dict[str, list[Storage]],
    ) -> list[tuple[Definition, float]]:
        """Returns a workload, or a copy for storage of each kind, with its share: all storage has an equal one
        (`HandleSkew.spreadWgSkew`). Adds the storage of each copy.
        """
        own = self.storage_of(workload)
        if not own:
            return []
        if (first := own[0].name) not in kinds:
            kinds[first] = by_kind(own)
        groups = kinds[first]
        if len(groups) == 1:
            return [(workload, 1.0)]
        parts: list[tuple[Definition, float]] = []
        for group in groups:
            name = f"{workload.name}-{group[0].name}"
            of_part[name] = group
            part = Definition(workload.section, name, workload.place, workload.keys)
            parts.append((part, len(group) / len(own)))
        return parts

    def _check_hosts(self) -> None:
        """Raises UsageError for storage of one name on hosts that do not do the same."""
        first: dict[str, Storage] = {}
        for one in self.storage:
            other = first.setdefault(one.lun, one)
            if self._hosts.named_by(one.definition) != self._hosts.named_by(other.definition):
                raise UsageError(
                    f"{self.run.place}: rd={self.run.name}: sd={other.name} and sd={one.name} are the same device, or "
                    "those of hosts that do not do the same in all runs",
                    "give each host a file of its own",
                )

    def _find_workloads(self, file: File) -> list[Definition]:
        named = self.run.get("wd")
        if named:
            return matching(named, {one.name: one for one in file.workloads})
        if not self.run.get("sd"):
            raise UsageError(f"{self.run.place}: rd={self.run.name} names no wd and no sd", "give it wd=")
        return [file.default]

    def _find_storage(self, file: File, workload: Definition) -> list[Storage]:
        """Returns the storage of a workload: of what it names, that of its hosts. Raises UsageError."""
        named = self.run.get("sd") or workload.get("sd")
        if named is None:
            raise UsageError(f"{workload.place}: wd={workload.name} names no sd", "give it sd=")
        if named.values == ("single",):
            raise named.error("repeats the run for each storage", "give each sd a run")
        machines = set(file.hosts.named_by(workload))
        matches = matching(named, file.storage_by_name)
        own = [one for one in matches if machines & file.machines_of(one)]
        if not own:
            raise named.error(f"no host of wd={workload.name} has that storage", "name such a host")
        return own

    @property
    def storage(self) -> list[Storage]:
        """All that its workloads use, each once."""
        return self._in_use.storage

    def storage_of(self, workload: Definition) -> list[Storage]:
        """Returns what a workload uses."""
        return self._in_use.of(workload)

    def numbers_of(self, workload: Definition) -> list[int]:
        """Returns the numbers, from 1, of the run's devices and files that a workload uses; empty for all."""
        return self._in_use.numbers_of(workload)

    @property
    def luns(self) -> tuple[str, ...]:
        """The devices and files that it uses, each once."""
        return self._in_use.luns

    def largest_bytes(self) -> int:
        """Returns the largest block of any of its steps. Raises UsageError."""
        return max(
            size
            for chosen, _ in self.combinations()
            for one in self.workloads
            for size, _ in Workload(one, chosen).sizes
        )

    def add(self, largest_bytes: int, target: str) -> None:
        """Adds the steps for a target (no name: the only one), with blocks of at most that many bytes there.

        Raises UsageError.
        """
        aimed: dict[str, Value] = {"target": target} if target else {}
        for chosen, ending in self.combinations():
            self.keep_at_rates(ending, Combination(self, chosen, largest_bytes).job, aimed)

    def place_of(self, key: str) -> str:
        """Returns where the file says a key of a job: in the run, else in its workload, else in its storage."""
        for definition in (self.run, self.workloads[0], self.storage[0].definition):
            if given := definition.get(*_SOURCE_KEYS.get(key, ())):
                return given.place
        return self.run.place

    def opened(self, workload: Definition) -> Opened:
        """Returns how its storage is opened: by the run's flags, else the workload's, else the storage's."""
        if given := self.run.get("openflags") or workload.get("openflags"):
            return _opened_by(given)
        storage = self.storage_of(workload)
        # Workloads share all of their storage or none (`settle`), so its first stands for all.
        known = self._opened_of.get(storage[0].name)
        if known is not None:
            return known
        found = {self._opened(one) for one in storage}
        if len(found) > 1:
            raise UsageError(f"{self.run.place}: openflags differ between its storage", "give all the same")
        return self._opened_of.setdefault(storage[0].name, found.pop())

    def _opened(self, storage: Storage) -> Opened:
        """Returns how storage is opened: by its flags. Without any the page cache is bypassed if it is a device."""
        if given := storage.definition.get("openflags"):
            return _opened_by(given)
        if storage.is_device:
            self.draft.note(
                f"{storage.definition.place}: no openflags=o_direct, without which Vdbench opens no device on "
                "Linux: the page cache is bypassed"
            )
        return Opened(direct=storage.is_device)


class Combination:
    """One combination of a run's values."""

    def __init__(self, run: Run, chosen: Chosen, largest_bytes: int) -> None:
        """Holds a combination of a run, with blocks of at most that many bytes on its storage."""
        self._run = run
        self._place = run.run.place
        self._chosen = chosen
        self._largest_bytes = largest_bytes
        self._workloads = [Workload(one, chosen, part) for one, part in run.parts]

    def job(self, rate: float | None) -> dict[str, Value]:
        """Returns the whole job. Raises UsageError."""
        opened = {self._run.opened(one.definition) for one in self._workloads}
        if len(opened) > 1:
            raise UsageError(f"{self._place}: openflags differ between its workloads", "give all the same")
        own: dict[str, Value] = {**opened.pop().keys(), "until": self._until()}
        together = self._together()
        if rate is None and self._keeps_shares and (not together or len(self._run.storage) > 1):
            self._run.draft.note(
                f"{self._place}: skew= without a rate: here each sd and stream runs as fast as its threads can; "
                "Vdbench keeps their rates at their shares"
            )
        if together:
            only = self._own_rate(self._workloads[0]) if len(self._workloads) == 1 else 0.0
            return {
                **together,
                **self._run.content(self._chosen),
                "load": self._load(self._workloads[0], rate or only or None),
                **own,
            }
        self._run.check_streams(len(self._workloads))
        return {**own, "streams": [self._stream(one, share, rate) for one, share in self._shares]}

    @cached_property
    def _keeps_shares(self) -> bool:
        """Whether Vdbench holds workloads back that go beyond their share (`RD_entry.willWeUseWaiterForWG`)."""
        return any(one.skew or one.rate for one in self._workloads)

    def _note_equal_shares(self) -> None:
        self._run.draft.note(
            f"{self._place}: workloads without skew= have equal shares here, which Vdbench does not promise"
        )

    def _together(self) -> dict[str, Value] | None:
        """Returns all workloads as one: a single one, a mix in one region, or bands of one. None: they are streams."""
        first = self._workloads[0]
        if len(self._workloads) == 1:
            return {**mix_of([(first, 100.0)]), **self._where(first)}
        storage = self._run.storage_of(first.definition)
        apart = any(self._run.storage_of(one.definition) != storage for one in self._workloads)
        if apart or any(one.rate or not one.is_random for one in self._workloads):
            return None
        ranges = [self._range(one) for one in self._workloads]
        if not any(one.skew for one in self._workloads):
            self._note_equal_shares()
        if len(set(ranges)) == 1:
            return {**mix_of(self._shares), **self._where(first)}
        alike = len({(one.reads, one.sizes) for one in self._workloads}) == 1
        return self._bands(ranges) if alike else None

    def _bands(self, ranges: Sequence[Range]) -> dict[str, Value] | None:
        """Returns bands that lie side by side from the start to the end of the storage; None for others."""
        shares = [share for _, share in self._shares]
        laid = sorted(zip(ranges, shares, strict=True), key=lambda one: one[0].low)
        edges = [0.0, *(one.high for one, _ in laid)]
        if edges[-1] != 100 or any(one.low != edge for (one, _), edge in zip(laid, edges, strict=False)):
            return None
        first = self._workloads[0]
        bands: Value = [{"area": one.high - one.low, "access": share} for one, share in laid]
        return {
            **mix_of([(first, 100.0)]),
            **self._where(first, Range(0, 100)),
            "pattern": {"hot-spots": bands},
        }

    def _range(self, workload: Workload) -> Range:
        return range_of(workload.definition, self._run.storage_of(workload.definition)[0])

    def _where(self, workload: Workload, span: Range | None = None) -> dict[str, Value]:
        """Returns pattern, position, region and alignment."""
        storage = self._run.storage_of(workload.definition)[0]
        place = workload.definition.place
        writes = any(one.reads < 100 for one in self._beside(workload))
        region = region_of(span or self._range(workload), storage, self._largest_bytes, place, writes=writes)
        keys = workload.pattern(min(self._threads(workload)))
        return {**keys, **({"region": region} if region else {}), **self._align(workload)}

    def _align(self, workload: Workload) -> dict[str, Value]:
        given = self._run.storage_of(workload.definition)[0].definition.get("align")
        align_bytes = int(given.number()) if given else 0
        if not given or not align_bytes:
            return {}
        if align_bytes % 512:
            raise given.error("no multiple of 512", "write one like 4k")
        if workload.is_random:
            return {"align": size_text(align_bytes)}
        if any(size % align_bytes for size, _ in workload.sizes):
            raise given.error("sequential blocks that are no multiples of it", "take align= out")
        return {}

    def _beside(self, workload: Workload) -> list[Workload]:
        """Returns the workloads that share a workload's storage, itself too."""
        return self._by_storage[self._first_storage(workload)]

    @cached_property
    def _by_storage(self) -> Mapping[str, list[Workload]]:
        """The workloads of each storage, by the name of its first: a run's workloads share all of it or none."""
        found: dict[str, list[Workload]] = {}
        for one in self._workloads:
            found.setdefault(self._first_storage(one), []).append(one)
        return found

    def _first_storage(self, workload: Workload) -> str:
        return self._run.storage_of(workload.definition)[0].name

    def _threads(self, workload: Workload) -> list[int]:
        """Returns I/Os in flight of each storage of a workload."""
        chosen = self._chosen.get("forthreads")
        storage = self._run.storage_of(workload.definition)
        threads = [max(int(chosen), 1) if chosen is not None else one.threads for one in storage]
        if min(threads) < 1 or sum(threads) > THREADS_MAX**2:
            raise UsageError(
                f"{self._place}: {sum(threads)} threads", f"write 1 to {THREADS_MAX**2} over all storage"
            )
        return threads

    def _load(self, workload: Workload, rate: float | None, share: float = 1.0) -> dict[str, Value]:
        """Returns the load: closed, or open at a rate. With several targets it is that of all together."""
        each = self._threads(workload)
        total = max(round(sum(each) * share), len(each))
        threads = next(one for one in range(min(total, THREADS_MAX), 0, -1) if total % one == 0)
        load: dict[str, Value] = {"threads": threads, "iodepth": total // threads}
        if total > threads:
            self._run.draft.note(
                f"{self._place}: {total:,} threads: a job has {THREADS_MAX:,} at most, so here are {threads:,}, "
                f"each with {total // threads:,} I/Os in flight"
            )
        if rate is not None:
            load |= {"rate": rate_text(rate), "arrival": arrival_of(self._run.run)}
        if len(each) > 1:
            load["split"] = "even" if len(set(each)) == 1 else [float(one) for one in each]
        return load

    @cached_property
    def _shares(self) -> list[tuple[Workload, float]]:
        """Each workload's percent of the I/O: its skew, else an equal part of what is left. Raises UsageError."""
        given = [one.skew for one in self._workloads]
        free = {index for index, one in enumerate(self._workloads) if not one.skew and not one.rate}
        left = 100.0 - sum(given)
        parts = sum(self._workloads[index].part for index in free)
        shares = [
            left * self._workloads[index].part / parts if index in free else one
            for index, one in enumerate(given)
        ]
        rated = all(one.rate for one in self._workloads)
        if not rated and (abs(sum(shares) - 100) > 1e-4 or (free and left <= 0)):
            raise UsageError(
                f"{self._place}: the skew of its workloads adds up to {sum(given):g}", "make it 100"
            )
        return list(zip(self._workloads, shares, strict=True))

    def _stream(self, workload: Workload, share: float, rate: float | None) -> dict[str, Value]:
        """Returns one of several workloads at once."""
        if workload.rate or rate is not None:
            own = self._own_rate(workload) or (rate or 0.0) * share / 100
            part = share or 100.0 / len(self._workloads)
        else:
            own, part = None, share
            if len(self._beside(workload)) > 1 and not self._keeps_shares:
                self._note_equal_shares()
        io = {**mix_of([(workload, 100.0)]), **self._where(workload), **self._run.content(self._chosen)}
        name = name_of(workload.definition.name)
        numbers = self._run.numbers_of(workload.definition)
        aimed: dict[str, Value] = {"targets": numbers} if numbers else {}
        return {"name": name, **io, **aimed, "load": self._load(workload, own, part / self._shared(workload))}

    def _own_rate(self, workload: Workload) -> float:
        """Returns a workload's own rate on one machine; 0: none."""
        return workload.rate / self._run.machines

    def _shared(self, workload: Workload) -> float:
        """Returns the percent of the I/O that goes to a workload's storage, which is what divides its threads."""
        return self._percent_by_storage[self._first_storage(workload)]

    @cached_property
    def _percent_by_storage(self) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for one, share in self._shares:
            first = self._first_storage(one)
            found[first] = found.get(first, 0.0) + (share or 100.0 / len(self._workloads))
        return found

    def _until(self) -> dict[str, Value]:
        until: dict[str, Value] = {"time": duration_text(self._run.seconds)}
        ends = any(one.seeks < 0 for one in self._workloads)
        given = self._run.run.get("maxdata")
        if len(self._workloads) > 1 and (ends or given):
            raise UsageError(
                f"{self._place}: several workloads that end by bytes", "give each wd a run of its own"
            )
        if ends:
            until |= self._pass(1.0, "seekpct=eof", self._range(self._workloads[0]))
        if given:
            amount = given.number()
            if amount <= 100:
                until |= self._pass(amount, "maxdata", Range(0, 100))
            else:
                until["bytes"] = size_text(int(amount) // (len(self._run.storage) * self._run.machines))
        return until

    def _pass(self, times: float, what: str, span: Range) -> dict[str, Value]:
        """Returns a multiple of the storage, or once through its range."""
        storage = self._run.storage[0]
        only_writes = self._workloads[0].reads == 0
        whole = self._range(self._workloads[0]) == span
        if only_writes and whole:
            return {"written": f"{times:g}x"}
        if storage.size_bytes is None and span.percents:
            raise UsageError(f"{self._place}: {what} needs the storage's size", "give the sd a size=")
        if what == "maxdata":
            return {"bytes": size_text(int(times * (storage.size_bytes or 0)))}
        bounds = region_of(span, storage, self._largest_bytes, self._place, writes=True)
        return {"bytes": bounds["size"] if isinstance(bounds, dict) else bounds or "0"}


def matching(named: GivenKey, among: Mapping[str, _Named]) -> list[_Named]:
    """Returns those that a key names, ranges and stars at the end included. Raises UsageError where there is none of a
    name.
    """
    found: dict[str, _Named] = {}
    for name in named.names():
        begin = name.removesuffix("*")
        if begin != name:
            matching = {one: among[one] for one in among if one.startswith(begin)}
        else:
            matching = {name: among[name]} if name in among else {}
        if not matching:
            raise named.error(f"there is no {name}", f"define it above, with {named.word}={name}")
        found |= matching
    return list(found.values())


def _opened_by(given: GivenKey) -> Opened:
    """Returns how flags open storage. An fsync before it is closed comes behind what is measured. Raises UsageError
    for flags that change the I/O.
    """
    return opened_by(given, ("fsync",))


def arrival_of(run: Definition) -> str:
    """Returns how a run's requests arrive at a rate. Raises UsageError for arrivals that have no counterpart."""
    given = run.get("distribution")
    if given is None:
        return "exponential"
    for known in ("exponential", "uniform", "deterministic"):
        if known.startswith(given.text.lower()) and len(given.values) == 1:
            return known
    raise given.error("arrivals that have no counterpart", "use exponential, uniform or deterministic")
