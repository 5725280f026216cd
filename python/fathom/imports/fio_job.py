"""One job of fio in a method's words. Meanings and defaults are those of fio's HOWTO and source, version 3.33."""

import math
from collections.abc import Collection

from fathom.imports.draft import Draft
from fathom.imports.fio_blocks import Blocks
from fathom.imports.fio_content import content_of, is_verified
from fathom.imports.fio_end import End
from fathom.imports.fio_engines import ASYNCHRONOUS, SYNCHRONOUS, TRIMS_ASYNCHRONOUSLY, USUAL
from fathom.imports.fio_file import FioJob
from fathom.imports.fio_files import DO_NOTHING, NO_DISKS
from fathom.imports.fio_given import GivenOptions
from fathom.imports.fio_place import Place
from fathom.imports.fio_priorities import priority_shares
from fathom.imports.fio_room import ON_ROOM, check_room
from fathom.imports.fio_sets import FileSet
from fathom.imports.fio_steady import until_steady
from fathom.imports.fio_together import exit_what
from fathom.method.toml_text import Value, duration_text, rate_text

#: What differs where an engine does not read and write by the kernel's calls for files.
_DIFFERS = {
    "io_uring_cmd": "passthrough is what /dev/ngXnY as a target gives",
    "mmap": "mmap: the same places and sizes, by reads and writes through the page cache instead of page faults",
    "libpmem": (
        "libpmem: the same places and sizes, by system calls instead of loads and stores; on a DAX file system "
        "both end in the memory itself"
    ),
    "libzbc": "libzbc: one I/O at a time, through the kernel's block layer instead of SCSI commands",
    "sg": "sg: one I/O at a time, through the kernel's block layer instead of SCSI commands",
    "libblkio": "libblkio: the same I/O in flight, submitted without that library",
}
#: Engines whose reads and writes pass the page cache by, whatever `direct` says.
_PAST_THE_CACHE = ("io_uring_cmd", "sg", "falloc")

#: From which of fio's options a key of the job comes, for errors.
_SOURCES: dict[str, tuple[str, ...]] = {
    "mix": ("rw",),
    "block": ("bssplit", "bsrange", "bs"),
    "flush_every": ("fdatasync", "fsync"),
    "pattern": ("zonemode", "random_distribution", "percentage_random", "rw"),
    "position": ("numjobs", "rw"),
    "region": ("offset_increment", "offset", "size", "filesize"),
    "files": ("file_service_type", "openfiles", "filesize", "nrfiles"),
    "align": ("ba", "rw"),
    "content": (
        "verify",
        "buffer_compress_percentage",
        "dedupe_percentage",
        "zero_buffers",
        "buffer_pattern",
    ),
    "placement": ("fdp_pli",),
    "priority": ("prioclass", "prio"),
    "priority_shares": ("cmdprio_bssplit", "cmdprio_percentage"),
    "load": ("rate_iops", "rate", "thinktime", "numjobs", "iodepth"),
    "until": ("number_ios", "io_size", "runtime", "loops", "size", "fill_device"),
    "streams": ("offset_increment", "numjobs"),
}


class Conversion:
    """One job of fio in the keys of a method's job.

    `until` is its end, `ramp_s` the uncounted time before it. `read_back` has the keys that differ in a pass that reads
    back what was written; empty without such a pass. `still` are the keys of the rule that ends it once it holds still.
    With `own_files` each of `numjobs` has its own file.
    """

    def __init__(self, draft: Draft, job: FioJob, *, own_files: bool) -> None:
        """Converts it; notes go to the draft. Raises UsageError."""
        self.job = job
        self._draft = draft
        self._given = GivenOptions(job, draft)
        self._pass_over()
        self._engine = self._engine_of()
        self.jobs = self._given.whole("numjobs", 1, 1)
        self.delay_s = self._given.seconds("startdelay")
        self.exits_all = self._given.flag("exitall")
        self.exit_what = exit_what(self._given)
        self.flow, self.flow_id = self._given.whole("flow", 0), self._given.whole("flow_id", 0)
        self.flow_pause_s = self._given.seconds("flow_sleep", "us")
        self._own_files = own_files
        self._timed = self._given.is_timed
        self.blocks = Blocks(self._given)
        issued = self._weigh()
        self._rates = self._rate(issued)
        self._weights = self._rates or issued
        if self._engine == "falloc":
            check_room(self._given, self._weights)
        self._place = Place(self._given, self.blocks, self.jobs, own_files=own_files)
        self._common = self._common_keys()
        self.buffered = self._is_buffered()
        self._load = self._load_of()
        self._of_job: dict[str, Value] = {"direct": not self.buffered} | self._syncs() | self._means()
        self._end = self._end_of()
        self.until = self._end.until
        self._check_passes()
        self.ramp_s = self._ramp()
        self._check_cached()
        self.read_back = self._end.read_back(self.ramp_s)
        self.still = until_steady(self._given, self.jobs)
        self._refuse_forgotten()

    def _pass_over(self) -> None:
        """Takes the options that are read elsewhere, or say nothing of the I/O."""
        for key in (
            *("name", "description", "filename", "filename_format", "directory", "stonewall", "overwrite"),
            *("openfiles", "file_service_type", "wait_for"),
        ):
            self._given.has(key)
        if (path := self._given.text("filename", "")) in NO_DISKS:
            self._given.note("filename", f"{path} is no disk; nop: asks the kernel for nothing either")

    def _common_keys(self) -> "dict[str, Value]":
        """Returns the keys that every pass of the job has."""
        return {
            "mix": self._mix(),
            "block": self.blocks.block(list(self._weights)),
            **self._flushes(),
            **content_of(self._given, self._weights),
            **self._placement(),
            **self._priority(),
            **priority_shares(self._given, self.blocks, self._engine),
        }

    def _end_of(self) -> End:
        return End(
            self._given,
            self.blocks,
            self._place,
            self._weights,
            threads=self._threads,
            flushes="flush_every" in self._common,
            moves_data=self._engine != "falloc",
        )

    def _check_passes(self) -> None:
        """Raises UsageError where passes begin anew: positions go on only with an engine that waits for each I/O."""
        given = self._given
        if self._timed or self._engine in SYNCHRONOUS:
            return
        loops, size = given.whole("loops", 1) > 1, given.text("size", given.text("filesize", "100%"))
        moved = given.text("io_size", size)
        if loops and given.has("io_size") and moved.endswith("%") and given.number_of(moved, "io_size") < 100:
            raise given.error(
                "loops",
                f"with {self._engine} fio begins each pass anew, after a share of the region",
                "give io_size in bytes, or loops=1",
            )
        if not ((len(self._weights) > 1 and self._place.pattern == "sequential") or self._place.has_strips):
            return
        more = not (size.endswith("%") or moved.endswith("%")) and (
            given.size_of(moved, "io_size") > given.size_of(size, "size")
        )
        if loops or more:
            raise given.error(
                "loops" if loops else "io_size",
                f"with {self._engine} fio begins each pass anew, though a mix or strips end within the region",
                "give time_based and a runtime, or no more than one pass",
            )

    def _refuse_forgotten(self) -> None:
        """Raises UsageError where an option was not applied, noted or refused."""
        for key in self._given.forgotten:
            raise self._given.error(
                key, "was not applied", "this is an internal fault: report it, and leave it out"
            )

    @property
    def reads(self) -> bool:
        """Whether it reads what was there before."""
        return "read" in self._weights

    @property
    def writes(self) -> bool:
        """Whether it changes data."""
        return any(op != "read" for op in self._weights)

    @property
    def fills(self) -> "Value | None":
        """The region that it has written completely when it ends; None if it has not."""
        return self._end.fills

    @property
    def files(self) -> FileSet | None:
        """The files of all its jobs, where each has several."""
        return self._place.files

    @property
    def region(self) -> Value:
        """The region of all its parts."""
        return self._place.keys().get("region", "100%")

    def place(self, key: str) -> str:
        """Returns where the option stands from which a key of the job comes; without one, the job."""
        for option in _SOURCES.get(key, (key,)):
            if option in self.job.options:
                return self._given.place(option)
        return self.job.place

    def streams(self, after_s: float = 0.0) -> list[dict[str, Value]]:
        """Returns the keys of its streams: one, or one per part if `numjobs` have their own regions.

        They begin `after_s` seconds after others of the step. Raises UsageError where they cannot.
        """
        parts = self._place.part_keys() if self._place.parts == "apart" else [self._place.keys()]
        load = {**self._load, **(self._later_rate(after_s) if after_s else {})}
        return [{**self._common, **keys, "load": load} for keys in parts]

    def _later_rate(self, after_s: float) -> dict[str, Value]:
        """Returns a rate that is 0 at first. It lasts for twice the I/O and more, because a schedule begins anew."""
        given = self._given
        amount = self._end.moved_bytes(given.whole("loops", 1))
        if not self._rates or self.until.keys() - {"bytes", "volume", "written"} or amount is None:
            raise given.error(
                "startdelay",
                "begins later than others here only with a rate, no runtime, and a size in bytes",
                "give all the same startdelay, or such a rate",
            )
        bytes_per_s = sum(rate * self.blocks.mean(op) for op, rate in self._rates.items()) * self._threads
        phases: list[Value] = [
            {"rate": "0/s", "time": duration_text(after_s)},
            {"rate": self._load["rate"], "time": duration_text(2 * math.ceil(amount / bytes_per_s) + 60)},
        ]
        return {"rate": phases}

    def of_job(self) -> dict[str, Value]:
        """Returns the keys of a single job, without its end."""
        return dict(self._of_job)

    # What is issued

    def _engine_of(self) -> str:
        engine = self._given.text("ioengine", USUAL)
        if engine not in ASYNCHRONOUS | SYNCHRONOUS:
            raise self._given.error(
                "ioengine", f"{engine} has no counterpart", "Fathom submits reads and writes by io_uring"
            )
        for key in ("cmd_type", "sg_write_mode", "libblkio_driver", "libblkio_path"):
            self._given.has(key)
        if differs := _DIFFERS.get(engine):
            self._given.note("ioengine", differs)
        elif self._given.has("ioengine") and engine not in ("io_uring", "libaio", "libcufile", *DO_NOTHING):
            self._given.note("ioengine", f"{engine}: the same I/O in flight, submitted by io_uring")
        return engine

    def _weigh(self) -> dict[str, float]:
        """Returns the share of each operation that is issued at all, where no rates decide."""
        given, ops = self._given, self.blocks.ops
        latest = given.later("rwmixread", "rwmixwrite")
        if len(ops) == 1:
            for key in ("rwmixread", "rwmixwrite"):
                given.idle(key, "has no effect on one operation")
            return {ops[0]: 100.0}
        share = given.number(latest, 50.0) if latest else 50.0
        if share > 100:
            raise given.error(latest or "rw", f"{share:g} is more than 100 %", "write at most 100")
        reads = 100.0 - share if latest == "rwmixwrite" else share
        weights = {"read": reads, "write": 100.0 - reads}
        return {op: weight for op, weight in weights.items() if weight > 0}

    def _mix(self) -> Value:
        if len(self._weights) == 1:
            op = next(iter(self._weights))
            return ON_ROOM[op] if self._engine == "falloc" else op
        return {op: round(weight, 6) for op, weight in self._weights.items()}

    def _flushes(self) -> dict[str, Value]:
        given = self._given
        every = {key: given.whole(key, 0) for key in ("fsync", "fdatasync")}
        asked = [key for key, count in every.items() if count]
        if not asked:
            return {}
        if len(asked) > 1 or set(self._weights) != {"write"} or self._rates:
            raise given.error(
                asked[0],
                "flushes beside reads or trims, at a rate, or of both kinds have no counterpart",
                "a job that only writes has",
            )
        if self._engine != "io_uring" and self._engine in ASYNCHRONOUS and given.whole("iodepth", 1) > 1:
            raise given.error(
                asked[0],
                f"{self._engine} submits nothing during a flush; here writes continue",
                "give iodepth=1, or ioengine=io_uring, which does not wait either",
            )
        if asked == ["fdatasync"]:
            given.note("fdatasync", "the flush is an fsync, which also writes the file's times and size")
        return {"flush_every": every[asked[0]]}

    # What it carries

    def _priority(self) -> dict[str, Value]:
        """Returns the priority of fio's thread. Either option alone sets both: best effort, level 0."""
        given = self._given
        if not (given.has("prio") or given.has("prioclass")):
            return {}
        number, level = given.whole("prioclass", 0), given.whole("prio", 0)
        if number > 3 or level > 7:
            raise given.error(
                "prioclass" if number > 3 else "prio",
                "has no such value",
                "write a class from 0 to 3, a level from 0 to 7",
            )
        kind = ("best-effort", "realtime", "best-effort", "idle")[number]
        if self._engine == "io_uring_cmd" or self._engine in DO_NOTHING:
            given.idle("prio" if given.has("prio") else "prioclass", "goes by no I/O scheduler")
            return {}
        if kind == "idle":
            return {"priority": kind}
        return {"priority": {"class": kind, "level": level}}

    @property
    def checks(self) -> bool:
        """Whether its reads are checked against what was written before."""
        return is_verified(self._given) and self.reads

    @property
    def seals(self) -> bool:
        """Whether its writes are such that reads can be checked."""
        return is_verified(self._given) and self.writes

    def _placement(self) -> dict[str, Value]:
        if not self._given.has("fdp_pli"):
            return {}
        handles = self._given.text("fdp_pli", "").split(",")
        return {"placement": [self._given.size_of(one, "fdp_pli") for one in handles]}

    def _is_buffered(self) -> bool:
        latest = self._given.later("direct", "buffered")
        if self._engine in _PAST_THE_CACHE:
            if latest and self._engine == "sg":
                self._given.idle(latest, "SCSI commands pass the page cache by, and direct I/O does")
            elif latest and self._engine == "falloc":
                self._given.idle(latest, "has no effect on what moves no data")
            return False
        buffered = latest is None or self._given.flag(latest) is (latest == "buffered")
        if self._engine == "mmap" and not buffered:
            raise self._given.error(
                latest or "direct", "syncs the mapping after each I/O, and drops its pages", "leave it out"
            )
        if buffered and self._engine not in DO_NOTHING:
            self._given.note(
                latest or "direct",
                "through the page cache, as fio by default; the kernel gets no advice here (fadvise_hint)",
            )
        return buffered

    def _syncs(self) -> dict[str, Value]:
        """Returns what each write waits for, as the flags of its open file have it."""
        given = self._given
        waits = {"none": "", "0": "", "sync": "all", "1": "all", "dsync": "data"}.get(
            given.text("sync", "none")
        )
        if waits is None:
            raise given.error("sync", "has no such value", "write none, sync or dsync")
        if not waits:
            return {}
        if self._engine == "mmap":
            raise given.error("sync", "has no effect on a mapping, which is synced otherwise", "leave it out")
        if self._engine == "io_uring_cmd" or self._engine in DO_NOTHING or "write" not in self._weights:
            given.idle("sync", "has no effect without writes through an open file")
            return {}
        return {"sync": waits}

    def _check_cached(self) -> None:
        """Raises UsageError where pages in the cache would make it another test: each step begins without any."""
        given = self._given
        drops = given.flag("invalidate", usual=True)
        if not (self.buffered and self.reads) or self._engine in DO_NOTHING:
            if not drops:
                given.idle("invalidate", "has no effect on what does not read through the page cache")
            return
        if not drops:
            raise given.error(
                "invalidate",
                "reads what earlier I/O left in the page cache",
                "give direct=1, or leave it out",
            )
        for key, repeats in (("ramp_time", self.ramp_s > 0), ("loops", given.whole("loops", 1) > 1)):
            if repeats:
                raise given.error(
                    key,
                    "through the page cache: fio and a method drop its pages at other times",
                    "give direct=1",
                )

    def _means(self) -> dict[str, Value]:
        """Returns how it is submitted."""
        given = self._given
        means: dict[str, Value] = {}
        if given.flag("sqthread_poll"):
            means["sqpoll"] = True
        memory = given.text("mem", "malloc").partition(":")[0]
        if memory in ("mmaphuge", "shmhuge"):
            means["huge_pages"] = True
        elif memory not in ("malloc", "mmap", "shm", "mmapshared"):
            raise given.error("mem", f"{memory} has no counterpart", "leave it out")
        cuda_io = given.text("cuda_io", "cufile")
        if self._engine == "libcufile":
            means["gpu"] = True
            if cuda_io == "cufile":
                given.note(
                    "ioengine",
                    "reads come to the GPU by way of host memory, as with cuda_io=posix: GPUDirect Storage is not used",
                )
            if self.writes:
                given.note("rw", "writes are made from host memory")
        return means

    # How hard

    def _rate(self, issued: Collection[str]) -> dict[str, float]:
        """Returns I/Os per second of each operation that is issued, and of each job, where they are bounded.

        An operation whose share of the mix is nothing is not issued at any rate (`rate_ddir` of fio's `io_u.c`).
        """
        given, ops = self._given, self.blocks.ops
        stated = {
            key: {
                op: given.size_of(text, key)
                for op, text in given.per_op(key, "0", ops).items()
                if op in issued
            }
            for key in ("rate_iops", "rate")
            if given.has(key)
        }
        # A rate of 0 is fio's word for none.
        bounds = {key: each for key, each in stated.items() if any(each.values())}
        if not bounds:
            given.idle("rate_process", "has no effect without a rate")
            return {}
        if len(bounds) > 1:
            raise given.error("rate", "two rates have no counterpart", "give one of rate and rate_iops")
        [(key, each)] = bounds.items()
        if not all(each.values()):
            raise given.error(key, "a rate for one operation and none for another", "give both, or neither")
        rates: dict[str, float] = {}
        for op, asked in each.items():
            # fio keeps either as bytes a second, and takes the smallest block for all (`__setup_rate`).
            bytes_per_s = asked if key == "rate" else asked * self.blocks.least[op]
            rates[op] = bytes_per_s / self.blocks.mean(op)
            if key == "rate_iops" and len(self.blocks.sizes[op]) > 1:
                given.note(
                    key,
                    f"{asked:,}: fio keeps {bytes_per_s:,} bytes a second, so {op}s of several sizes are fewer",
                )
        return rates

    @property
    def _threads(self) -> int:
        return 1 if self._own_files else self.jobs

    def _load_of(self) -> dict[str, Value]:
        """Returns the load of each part where they are apart, else of all jobs together."""
        given = self._given
        threads = 1 if self._place.parts == "apart" else self._threads
        depth = given.whole("iodepth", 1, 1)
        if depth > 1 and (why := self._waits()):
            given.note("iodepth", f"{why}: the depth is 1, whatever iodepth says")
            depth = 1
        load: dict[str, Value] = {"threads": threads, "iodepth": depth}
        pause_s = given.seconds("thinktime", "us")
        batch = given.whole("iodepth_batch_complete_min", 1)
        process = given.text("rate_process", "linear")
        if self._rates:
            if pause_s:
                raise given.error("thinktime", "pauses beside a rate have no counterpart", "give one of them")
            if batch > 1:
                raise given.error(
                    "iodepth_batch_complete_min", "has no counterpart beside a rate", "leave it out"
                )
            load["rate"] = rate_text(sum(self._rates.values()) * threads)
            load["arrival"] = "exponential" if process == "poisson" else "deterministic"
            given.note(
                "rate_iops" if given.has("rate_iops") else "rate",
                "I/Os arrive on their own clock, from which response latency counts; fio slows a closed loop down",
            )
        elif pause_s:
            if depth > 1:
                raise given.error(
                    "thinktime",
                    "fio waits for all I/Os before it pauses, so fewer than iodepth are in flight",
                    "give iodepth=1",
                )
            load["think"] = duration_text(pause_s)
        if batch > 1:
            load["reap"] = min(batch, depth)
        return load

    def _waits(self) -> str:
        """Returns why no more than one I/O is in flight; empty where as many are as asked for. Raises UsageError."""
        engine = self._engine
        if engine in SYNCHRONOUS:
            return f"{engine} waits for each I/O"
        if self._place.pattern == {"zones": "in-order"} and self.writes:
            return "a zone takes one write at a time"
        if "trim" in self._weights and engine not in TRIMS_ASYNCHRONOUSLY:
            return "fio waits for each trim"
        if engine == "libaio" and self.buffered:
            return "the kernel does libaio's I/O through the page cache before it returns"
        if engine == "posixaio":
            if self.files is not None:
                raise self._given.error(
                    "iodepth",
                    "posixaio keeps one I/O in flight on each file, which has no counterpart",
                    "give iodepth=1, or ioengine=io_uring",
                )
            return "the C library does posixaio's I/O on a file one by one"
        return ""

    def _ramp(self) -> float:
        ramp_s = self._given.seconds("ramp_time")
        if ramp_s:
            counts = (
                ""
                if self._timed
                else ". fio counts what it moves towards the end of the job; here it comes on top"
            )
            self._given.note(
                "ramp_time", f"is a separate earlier step; after it, the order of offsets begins anew{counts}"
            )
        return ramp_s

    # When it ends
