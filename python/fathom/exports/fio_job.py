"""One job in fio's options. Meanings and defaults are those of the HOWTO of fio 3.33.

NoCounterpartError is raised for what fio cannot do: the figures would be those of another test. A note describes what
fio does differently.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom._core import Job, JobOp
from fathom.exports.units import (
    NAME_IT,
    NoCounterpartError,
    Place,
    bytes_of,
    extent_text,
    size_text,
    time_text,
    whole,
    whole_percent,
)

#: Most processes and threads of one job file.
MOST_JOBS = 4096
_ORDER = ("read", "write", "trim")
#: Classes of I/O priorities by their number, from 1.
_CLASSES = ("realtime", "best-effort", "idle")
#: Patterns that give each thread its own part of the region.
_DIVIDED = frozenset(("sequential", "sequential-streams", "backwards", "strided", "random-once"))


_IN_ORDER = frozenset(("sequential", "sequential-streams", "backwards", "strided", "strips"))


@dataclass(frozen=True)
class RateFromSection:
    """A rate that is known only after another section has run: this share of its IOPS, over all operations."""

    section: str
    share: float


class FioOptions:
    """The options of one section: `job` is a workload of `whole`, or `whole` itself.

    `note` is called with what differs, `of_another` stands for the rate of an open load.
    """

    def __init__(
        self,
        job: Job,
        whole: Job,
        place: Place,
        note: Callable[[str], None],
        of_another: RateFromSection | None = None,
    ) -> None:
        """Converts it. Raises NoCounterpartError."""
        self._job = job
        self._whole = whole
        self._place = place
        self._note = note
        self._of_another = of_another
        self._kind = job.pattern.kind
        self._flushes = job.weights.get("flush", 0.0)
        self._flush_every = job.flush_every
        self._ops = [op for op in job.ops if op.op != "flush"]
        self._check()
        self.numjobs, self._iodepth = self._workers()
        #: What belongs beside the section for a reader.
        self.remark = ""
        self.options = [
            *self._mix(),
            *self._blocks(),
            *self._pattern(),
            *self._region(),
            *self._load(),
            *self._content(),
            *self._means(),
            *self._until(),
        ]
        self._note_left_out()

    def _check(self) -> None:
        """Raises NoCounterpartError for what fio cannot do at all."""
        self._check_operations()
        self._check_places()
        self._check_threads()
        if self._job.rate_changes:
            raise NoCounterpartError("a rate that changes over time: fio's is constant")

    def _check_operations(self) -> None:
        if self._kind == "replay":
            raise NoCounterpartError("a recorded trace: `fathom trace convert` writes it as an iolog of fio")
        if not self._ops:
            raise NoCounterpartError("flushes alone: fio's follow writes")
        for op in self._ops:
            if op.op not in _ORDER:
                raise NoCounterpartError(f"{op.op}, which fio does not issue")
        if len(self._ops) > 1 and {op.op for op in self._ops} != {"read", "write"}:
            raise NoCounterpartError("trims beside other operations: fio gives them no share")
        if self._place.is_file and self._has("trim"):
            raise NoCounterpartError("trims of a file: fio trims only devices")

    def _check_places(self) -> None:
        if self._kind == "blocks":
            raise NoCounterpartError("a list of blocks, which fio 3.33 does not take")
        if self._job.files:
            raise NoCounterpartError(
                "a set of files, which fio lays out and chooses from by rules of its own"
            )
        if self._job.placement:
            raise NoCounterpartError("placement handles, which fio 3.33 does not send")

    def _check_threads(self) -> None:
        """Raises NoCounterpartError for positions that threads or operations share, which fio's jobs never do."""
        several = self._job.threads > 1
        if self._job.thread_positions == "shared" and several:
            raise NoCounterpartError("one position for all threads: each of fio's jobs has its own")
        if self._job.thread_positions == "start" and several and self._kind == "sequential-streams":
            raise NoCounterpartError("several sequential places of each thread that all threads begin at")
        if self._job.operation_positions == "together" and self._kind == "mixed":
            raise NoCounterpartError("random jumps that reads and writes follow together")

    def _has(self, *ops: str) -> bool:
        return any(op.op in ops for op in self._ops)

    # What is issued

    @property
    def _weight(self) -> float:
        return sum(op.weight for op in self._ops)

    def _mix(self) -> list[str]:
        random = self._kind not in _IN_ORDER and not self._job.pattern.in_order
        mixed = len(self._ops) > 1
        if mixed and (self._kind == "strips" or self._job.pattern.in_order):
            raise NoCounterpartError("reads and writes together that go through zones in their order")
        rw = ("rand" if random else "") + ("rw" if mixed else self._ops[0].op)
        options = [f"rw={rw}{self._step()}"]
        if mixed:
            reads = next(op.weight for op in self._ops if op.op == "read")
            options.append(f"rwmixread={whole_percent(reads / self._weight, 'a share of reads')}")
            if not random and self._job.operation_positions != "apart":
                self._note("reads and writes each have a position, where Fathom's share one")
        if self._flushes:
            writes = next((op.weight for op in self._ops if op.op == "write"), 0.0)
            every = whole(writes / self._flushes)
            if not every:
                raise NoCounterpartError("flushes that are not one for a whole number of writes")
            options.append(f"fsync={every}")
            self._note(
                "a flush comes after a fixed number of writes and is waited for, where Fathom's are at random"
            )
        if self._flush_every:
            if mixed:
                raise NoCounterpartError("flushes after writes that go beside other I/O")
            options.append(f"fsync={self._flush_every}")
        if self._has("trim") and self._iodepth > 1:
            self._note("fio waits for each trim, whatever the iodepth")
        return options

    def _step(self) -> str:
        """Returns the distance from the end of one request to the next."""
        if self._kind not in ("backwards", "strided"):
            return ""
        size_bytes = self._one_size(f"{self._kind} requests")
        if self._kind == "backwards":
            return f":-{size_text(2 * size_bytes)}"
        gap_bytes = (self._job.pattern.stride_bytes or 0) - size_bytes
        if gap_bytes <= 0:
            raise NoCounterpartError("a stride that is no longer than a block")
        self._note("each lap begins at the start again, where Fathom's next one covers the gaps")
        return f":{size_text(gap_bytes)}"

    def _sizes(self) -> list[int]:
        return sorted({size_bytes for op in self._ops for size_bytes, _ in op.sizes})

    def _one_size(self, what: str) -> int:
        sizes = self._sizes()
        if len(sizes) > 1:
            raise NoCounterpartError(f"{what} of several block sizes")
        return sizes[0]

    def _blocks(self) -> list[str]:
        several = any(len(op.sizes) > 1 for op in self._ops)
        made = _bssplit if several else _bs
        texts = [made(op.sizes) for op in sorted(self._ops, key=_place_in_order)]
        options = [f"{'bssplit' if several else 'bs'}={','.join(dict.fromkeys(texts))}"]
        return [*options, *self._align()]

    def _align(self) -> list[str]:
        align_bytes = self._job.align_bytes
        if any(op.align_bytes for op in self._ops):
            aligns = [op.align_bytes or op.sizes[0][0] for op in sorted(self._ops, key=_place_in_order)]
            return [f"blockalign={','.join(map(size_text, aligns))}"]
        random = self._kind in ("uniform", "zipf", "pareto", "hot-spots")
        if align_bytes is None:
            if random and len(self._sizes()) > 1:
                self._note(
                    "offsets are multiples of the smallest block, where Fathom's are multiples of each block's "
                    "own size"
                )
            return []
        if random:
            return [f"blockalign={size_text(align_bytes)}"]
        if any(size_bytes % align_bytes for size_bytes in self._sizes()):
            raise NoCounterpartError("alignment of requests that are not drawn at random each")
        return []

    # Where it goes

    def _pattern(self) -> list[str]:
        pattern = self._job.pattern
        match self._kind:
            case "uniform":
                return ["norandommap"]
            case "random-once":
                self._one_size("every block once")
                return []
            case "zipf":
                theta = pattern.theta or 0.0
                if whole(theta) == 1:
                    raise NoCounterpartError("zipf of 1, which fio does not draw")
                return ["norandommap", f"random_distribution=zipf:{theta:g}"]
            case "pareto":
                return ["norandommap", f"random_distribution=pareto:{pattern.share or 0.0:g}"]
            case "mixed":
                return ["norandommap", f"percentage_random={self._jumps()}"]
            case "hot-spots":
                return ["norandommap", f"random_distribution=zoned:{self._bands()}"]
            case "zones":
                if self.numjobs > 1:
                    raise NoCounterpartError("zones that each thread keeps open for itself")
                return ["zonemode=zbd", *self._zones()]
            case "strips":
                return self._strips()
            case "one-pass":
                raise NoCounterpartError(
                    "writes of all flash in one pass, which only later versions of fio have (sprandom)"
                )
            case _:
                return []

    def _zones(self) -> list[str]:
        """Returns how many zones are open, how a write chooses one, and when one with room is reset."""
        pattern = self._job.pattern
        if pattern.empties or (pattern.ends and not pattern.in_order):
            raise NoCounterpartError("zones that are emptied before, or not written again")
        if pattern.ends and (self._job.bytes is not None or self._job.region_multiple != 1):
            raise NoCounterpartError('an end with the last zone, without one such as volume = "1x"')
        if pattern.in_order:
            if not pattern.ends:
                self._note("it ends with the last zone, where Fathom goes on with the first")
            return []
        lines = [f"max_open_zones={pattern.open}"] if pattern.open else []
        if not pattern.once:
            lines.append("norandommap")
        if pattern.zone_reset:
            if not pattern.once:
                raise NoCounterpartError("zones that are reset with room, and not chosen by random-once")
            above, every = pattern.zone_reset
            # Rounded down: fio takes the whole part of the inverse.
            lines += [
                f"zone_reset_threshold={above:g}",
                f"zone_reset_frequency={math.floor(1e9 / every) / 1e9:.9g}",
            ]
        return lines

    def _strips(self) -> list[str]:
        """Returns strided zones, which fio goes through to the end of the target, whatever its `size` is."""
        pattern, job = self._job.pattern, self._job
        size_bytes = self._one_size("strips")
        whole_target = job.region_size.fraction == 1.0 and not job.region_start.fraction
        if not whole_target or (pattern.strip_bytes or 0) % size_bytes:
            raise NoCounterpartError("strips of a part of the target, or that are not whole blocks")
        if self.numjobs > 1 and job.thread_positions != "start":
            raise NoCounterpartError("strips that the threads divide")
        self._note("it ends where the target ends within a strip, where Fathom goes on with the first")
        return [
            "zonemode=strided",
            f"zonesize={size_text(pattern.strip_bytes or 0)}",
            f"zoneskip={size_text(pattern.gap_bytes or 0)}",
        ]

    def _jumps(self) -> str:
        pattern = self._job.pattern
        jumps = {"read": pattern.read or 0.0, "write": pattern.write or 0.0}
        ops = sorted(self._ops, key=_place_in_order)
        shares = [jumps["read" if op.op == "read" else "write"] for op in ops]
        texts = [str(whole_percent(share, "jumps")) for share in shares]
        return ",".join(dict.fromkeys(texts))

    def _bands(self) -> str:
        bands = self._job.pattern.bands
        areas, accesses = sum(area for area, _ in bands), sum(access for _, access in bands)
        shares = [(access / accesses, area / areas) for area, access in bands]
        texts = ["/".join(str(whole_percent(share, "hot spots")) for share in pair) for pair in shares]
        return ":".join(texts)

    @property
    def _parts(self) -> int:
        """Returns the number of equal parts into which the jobs divide the region."""
        divided = self._kind in _DIVIDED and self._job.thread_positions == "part"
        return self.numjobs if divided else 1

    def _region(self) -> list[str]:
        start, length, parts = self._job.region_start, self._job.region_size, self._parts
        options: list[str] = []
        if start.bytes or start.fraction:
            options.append(f"offset={extent_text(start, self._place, 'a region that starts at a part')}")
        unit_bytes = self._sizes()[-1] if parts > 1 else 1
        what = "a part for each job" if parts > 1 else "a region"
        size = extent_text(length, self._place, what, parts, unit_bytes)
        if length.up_to is not None and self._place.capacity_bytes is None:
            self._note(f"a target of less than {size} uses its own size")
        if size != "100%":
            options.append(f"size={size}")
        if parts > 1:
            options.append(f"offset_increment={size}")
            self._note_parts()
        return options

    def _note_parts(self) -> None:
        """Notes how jobs that divide a region differ from threads. Within one pass they do not."""
        passes = self._job.region_multiple
        if passes is not None and passes <= 1:
            return
        self._note(
            "each job stays in its own part of the region, where Fathom's threads share every pass"
            if self._kind == "random-once"
            else "each job goes round in its own part of the region, where Fathom's threads go on into the next"
        )

    # How hard

    def _workers(self) -> tuple[int, int]:
        """Returns the number of jobs, and the I/Os in flight of each."""
        threads, iodepth = self._job.threads, self._job.iodepth
        streams = self._job.pattern.streams or 1
        if streams > 1:
            if iodepth % streams:
                raise NoCounterpartError("sequential places that do not divide the iodepth")
            self._note("one job per sequential position, where Fathom's threads share them in turn")
            threads, iodepth = threads * streams, iodepth // streams
        if self._job.think_ns and iodepth > 1:
            if self._kind in _DIVIDED:
                raise NoCounterpartError("pauses per I/O in flight: fio's are per job")
            threads, iodepth = threads * iodepth, 1
        if threads > MOST_JOBS:
            raise NoCounterpartError(f"more than {MOST_JOBS} jobs")
        return threads, iodepth

    def _load(self) -> list[str]:
        options = [f"numjobs={self.numjobs}", f"iodepth={self._iodepth}"]
        if self._job.arrival is not None:
            options += self._rate()
        if think_ns := self._job.think_ns:
            options.append(f"thinktime={time_text(think_ns)}")
        if (reap := self._job.reap) > 1:
            options.append(f"iodepth_batch_complete_min={reap}")
        return options

    def _rate(self) -> list[str]:
        arrival, rate_iops = self._job.arrival or "", self._job.rate_iops or 0.0
        processes = {"exponential": "poisson", "deterministic": "linear"}
        process = processes.get(arrival)
        if process is None:
            raise NoCounterpartError(f"{arrival} arrivals")
        self._note(
            "a rate slows the closed loop down, and latency counts from submission: fio has no backlog"
        )
        shares = [op.weight / self._weight / self.numjobs for op in sorted(self._ops, key=_place_in_order)]
        if self._of_another:
            rates = self._letters(shares, self._of_another)
        else:
            rates = [str(self._each(rate_iops * share)) for share in shares]
        return [
            f"rate_iops={','.join(rates)}",
            *([f"rate_process={process}"] if process == "poisson" else []),
        ]

    def _each(self, rate_iops: float) -> int:
        rounded = round(rate_iops)
        if not rounded:
            raise NoCounterpartError("less than one I/O per second and job")
        if whole(rate_iops) is None:
            self._note(f"rates are whole numbers: {rounded} of {rate_iops:.6g} I/O per second of each job")
        return rounded

    def _letters(self, shares: Sequence[float], other: RateFromSection) -> list[str]:
        """Returns a letter for each rate, and the remark that says what it is."""
        letters = ["R", "W"] if len(shares) > 1 else ["R"]
        terms = [
            f"{letter} = {other.share * share:.6g}" for letter, share in zip(letters, shares, strict=True)
        ]
        self.remark = (
            f"{100 * other.share:g} % of the IOPS of [{other.section}]: {' and '.join(terms)} times its IOPS, all "
            "operations together"
        )
        return letters

    # What it carries, and by what means

    def _content(self) -> list[str]:
        job = self._job
        options: list[str] = []
        if job.verifies:
            self._note(
                "blocks do not describe themselves, and reads are not checked: fio's verify has its own format"
            )
        if not self._has("write"):
            return options
        if job.compressible:
            percent = whole_percent(job.compressible, "compressible data")
            options += [f"buffer_compress_percentage={percent}", "buffer_compress_chunk=4k"]
        if job.write_pattern:
            options.append(f"buffer_pattern={job.write_pattern}")
        if dedup := job.dedup:
            options.append(f"dedupe_percentage={whole_percent(dedup, 'copies')}")
        return options

    def _means(self) -> list[str]:
        options = [] if self._whole.direct else ["direct=0"]
        if sync := self._whole.sync:
            options.append(f"sync={'dsync' if sync == 'data' else 'sync'}")
        if self._job.priority:
            kind, level = self._job.priority
            options.append(f"prioclass={_CLASSES.index(kind) + 1}")
            options += [f"prio={level}"] if level else []
        options += self._priority_shares()
        if self._whole.sqpoll:
            options.append("sqthread_poll=1")
        if self._whole.huge_pages:
            options.append("iomem=mmaphuge")
        return options

    def _priority_shares(self) -> list[str]:
        if not (shares := self._job.priority_shares):
            return []
        texts: list[str] = []
        for op in ("read", "write"):
            entries: list[str] = []
            sizes = sorted({size_bytes for one in self._ops if one.op == op for size_bytes, _ in one.sizes})
            for share, (of_op, of_block), (kind, level), limit in shares:
                entry = f"{whole_percent(share, 'a share of the I/O')}/{_CLASSES.index(kind) + 1}/{level}"
                entries += [
                    f"{size_text(size_bytes)}/{entry}{f'/{limit}' if limit else ''}"
                    for size_bytes in sizes
                    if of_op in (None, op) and of_block in (None, size_bytes)
                ]
            texts.append(":".join(entries))
        return [f"cmdprio_bssplit={','.join(texts)}"]

    def _note_left_out(self) -> None:
        if self._whole.gpu:
            self._note("reads end in host memory: fio's io_uring does not bring them to a GPU")
        if self._job.journal:
            self._note("the journal of acknowledged writes has no counterpart and is left out")
        if self._job.is_split(hosts=True):
            self._note("the load is meant for all targets together; here one target gets it all")
        if self._whole.errors_most:
            self._note("the first error ends a job, where Fathom accepts some")

    # When it ends

    def _until(self) -> list[str]:
        until = self._job
        options: list[str] = []
        if (count := until.count) is not None:
            options += self._count(count, sized=until.bytes is None and until.region_multiple is None)
        if until.bytes is not None:
            options.append(f"io_size={size_text(self._equal_part(until.bytes))}")
        elif until.region_multiple is not None:
            options += self._passes(until.region_multiple)
        if (time_ns := self._whole.time_ns) is not None:
            options.append(f"runtime={time_text(time_ns)}")
            if until.count is until.bytes is until.region_multiple is None:
                options.append("time_based")
        return options

    def _equal_part(self, amount_bytes: int) -> int:
        sizes = self._sizes()
        unit_bytes = sizes[0] if len(sizes) == 1 else 1
        if amount_bytes % (self.numjobs * unit_bytes):
            raise NoCounterpartError(
                f"bytes that do not divide equally into whole blocks over {self.numjobs} jobs"
            )
        return amount_bytes // self.numjobs

    def _count(self, count: int, *, sized: bool) -> list[str]:
        """Sets the number of I/Os; fio ends by its size too, which is therefore large enough."""
        flushes = self._flushes or self._flush_every
        if flushes or count % self.numjobs:
            raise NoCounterpartError(
                "a count with flushes, which fio leaves out of its count"
                if flushes
                else f"a count that does not divide equally over {self.numjobs} jobs"
            )
        each = count // self.numjobs
        most_bytes = size_text(each * self._sizes()[-1])
        return [f"number_ios={each}", *([f"io_size={most_bytes}"] if sized else [])]

    def _passes(self, multiple: float) -> list[str]:
        """Returns a multiple of the region; each job does its part of its own size."""
        passes = multiple * self._parts / self.numjobs
        if loops := whole(passes):
            return [f"loops={loops}"] if loops > 1 else []
        if passes < 1 and (percent := whole(100 * passes)):
            return [f"io_size={percent}%"]
        region_bytes = bytes_of(self._job.region_size, self._place)
        if region_bytes is None:
            raise NoCounterpartError(
                f"{multiple:g} times a region, which gives {self.numjobs} jobs no whole percentage each: {NAME_IT}"
            )
        unit_bytes = self._sizes()[-1]
        return [
            f"io_size={size_text(round(multiple * region_bytes) // self.numjobs // unit_bytes * unit_bytes)}"
        ]


def _place_in_order(op: JobOp) -> int:
    return _ORDER.index(op.op)


def _bs(sizes: Sequence[tuple[int, float]]) -> str:
    return size_text(sizes[0][0])


def _bssplit(sizes: Sequence[tuple[int, float]]) -> str:
    total = sum(weight for _, weight in sizes)
    return ":".join(
        f"{size_text(size_bytes)}/{whole_percent(weight / total, 'block sizes with shares')}"
        for size_bytes, weight in sizes
    )
