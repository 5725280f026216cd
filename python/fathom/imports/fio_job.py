"""One job of fio in a method's words. Meanings and defaults are those of fio's HOWTO."""

from collections.abc import Sequence

from fathom.errors import UsageError
from fathom.imports.draft import Draft, Value
from fathom.imports.fio_file import FioJob, Given
from fathom.imports.units import bytes_of, duration_text, number_of, size_text

#: Engines that keep `iodepth` I/Os in flight; the others wait for each.
_ASYNCHRONOUS = frozenset(("libaio", "io_uring", "io_uring_cmd", "posixaio", "windowsaio", "solarisaio"))
_SYNCHRONOUS = frozenset(("psync", "sync", "vsync", "pvsync", "pvsync2", "libcufile"))

_OPS = {
    "read": ("read",),
    "write": ("write",),
    "trim": ("trim",),
    "rw": ("read", "write"),
    "readwrite": ("read", "write"),
    "randread": ("read",),
    "randwrite": ("write",),
    "randtrim": ("trim",),
    "randrw": ("read", "write"),
}


class Conversion:
    """One job of fio in the keys of a method's job.

    `until` is when it ends, `ramp_s` what goes before uncounted, `read_back` what differs in a pass that reads what it
    wrote: nothing where there is none.
    """

    def __init__(self, draft: Draft, job: FioJob) -> None:
        """Converts it; notes go to the draft. Raises UsageError."""
        self.job = job
        self._draft = draft
        self._given = Given(job, draft)
        engine = self._engine()
        self._waits = engine in _SYNCHRONOUS
        rw, _, modifier = self._given.text("rw", "read").partition(":")
        if rw not in _OPS:
            raise self._given.error("rw", f"{rw} has no counterpart", f"expected one of {', '.join(_OPS)}")
        self._ops = _OPS[rw]
        self._sizes = self._blocks()
        self._rates = self._rate()
        self._weights = self._weigh()
        self._pattern = self._where(rw, modifier)
        self._stream: dict[str, Value] = {
            "mix": self._mix(),
            "block": self._block(),
            "pattern": self._pattern,
        }
        self._stream |= self._region() | self._content() | self._placement() | {"load": self._load()}
        self._of_job: dict[str, Value] = {"direct": self._given.flag("direct")} | self._means()
        self.until = self._until()
        self.read_back = self._read_back()
        self.ramp_s = self._given.seconds("ramp_time")
        self._given.tell_left()

    def of_stream(self) -> dict[str, Value]:
        """The keys that a stream has too."""
        return dict(self._stream)

    def of_job(self) -> dict[str, Value]:
        """The keys of a job alone."""
        return {**self._of_job, "until": self.until}

    def whole(self) -> dict[str, Value]:
        """All keys."""
        return {**self._stream, **self.of_job()}

    # What is issued

    def _engine(self) -> str:
        engine = self._given.text("ioengine", "psync")
        if engine == "null":
            self._draft.aim("null:")
        elif engine not in _ASYNCHRONOUS | _SYNCHRONOUS:
            raise self._given.error(
                "ioengine", f"{engine} has no counterpart", "Fathom submits reads and writes by io_uring"
            )
        if engine == "io_uring_cmd":
            self._given.note("ioengine", "passthrough is what /dev/ngXnY as a target gives")
        return engine

    def _weigh(self) -> dict[str, float]:
        """The share of each operation that is issued at all."""
        weights = dict.fromkeys(self._ops, 100.0)
        if len(self._ops) > 1:
            reads = 100.0 - self._given.number("rwmixwrite", 50.0)
            if self._given.has("rwmixread"):
                reads = self._given.number("rwmixread", 50.0)
            weights = self._rates or {"read": reads, "write": 100.0 - reads}
        return {op: weight for op, weight in weights.items() if weight > 0}

    def _mix(self) -> Value:
        weights = dict(self._weights)
        for key in ("fsync", "fdatasync"):
            every = self._given.number(key, 0)
            if every and "write" in weights:
                weights["flush"] = weights["write"] / every
                self._given.note(
                    key,
                    "one flush for so many writes, at random among them; fio issues it after each so many and waits",
                )
        if len(weights) == 1:
            return next(iter(weights))
        return {op: round(weight, 6) for op, weight in weights.items()}

    def _per_op(self, key: str, default: str) -> dict[str, str]:
        """A value for each operation: `reads,writes,trims`, of which the last stands for those that follow."""
        given = self._given.text(key, default).split(",")
        order = ("read", "write", "trim")
        return {op: given[min(order.index(op), len(given) - 1)] or default for op in self._ops}

    def _blocks(self) -> dict[str, list[tuple[int, float]]]:
        """Sizes in bytes with their shares, of each operation."""
        if self._given.has("bsrange"):
            raise self._given.error(
                "bsrange", "sizes at random have no counterpart", "list them with shares: bssplit"
            )
        if not self._given.has("bssplit"):
            place = self._given.place("bs")
            return {op: [(bytes_of(size, place), 100.0)] for op, size in self._per_op("bs", "4k").items()}
        self._given.text("bs", "")
        return {op: self._split(text) for op, text in self._per_op("bssplit", "").items()}

    def _split(self, text: str) -> list[tuple[int, float]]:
        """`4k/60:64k/40`; those without a share divide what is left."""
        place = self._given.place("bssplit")
        parts = [one.partition("/") for one in text.split(":")]
        given = [number_of(share, place) if share else None for _, _, share in parts]
        left = max(100.0 - sum(share or 0.0 for share in given), 0.0)
        shares = [left / given.count(None) if share is None else share for share in given]
        return [
            (bytes_of(size, place), share) for (size, _, _), share in zip(parts, shares, strict=True) if share
        ]

    def _block(self) -> Value:
        texts = {op: self._block_of(sizes) for op, sizes in self._sizes.items() if op in self._weights}
        first = next(iter(texts.values()))
        return first if all(text == first for text in texts.values()) else texts

    @staticmethod
    def _block_of(sizes: Sequence[tuple[int, float]]) -> Value:
        if len(sizes) == 1:
            return size_text(sizes[0][0])
        return [{"size": size_text(size), "share": share} for size, share in sizes]

    @property
    def _one_size(self) -> int | None:
        """The size of every block, where there is one."""
        sizes = {size for op in self._sizes.values() for size, _ in op}
        return sizes.pop() if len(sizes) == 1 else None

    # Where it goes

    def _where(self, rw: str, modifier: str) -> Value:
        zoned = self._given.text("zonemode", "none")
        if zoned == "zbd":
            return {"zones": int(self._given.number("max_open_zones", 1) or 1)}
        if zoned != "none":
            raise self._given.error(
                "zonemode",
                f"{zoned} has no counterpart",
                "strides are a pattern of methods: { stride = ... }",
            )
        if not rw.startswith("rand"):
            return self._sequence(modifier)
        if modifier:
            raise self._given.error(
                "rw", f"{rw}:{modifier}: runs of one length have no counterpart", "percentage_random has"
            )
        kind, _, rest = self._given.text("random_distribution", "random").partition(":")
        match kind:
            case "random":
                return self._random()
            case "zipf" | "pareto":
                usual = "1.1" if kind == "zipf" else "0.2"
                return {
                    kind: number_of(rest.split(",")[0] or usual, self._given.place("random_distribution"))
                }
            case "zoned":
                place = self._given.place("random_distribution")
                bands = [band.partition("/") for band in rest.split(",")[0].split(":")]
                return {
                    "hot-spots": [
                        {"area": number_of(area, place), "access": number_of(access, place)}
                        for access, _, area in bands
                    ]
                }
            case _:
                raise self._given.error(
                    "random_distribution", f"{kind} has no counterpart", "random, zipf, pareto and zoned have"
                )

    def _sequence(self, modifier: str) -> Value:
        if not modifier:
            if self._given.has("offset_increment") and not self._divided:
                self._given.text("offset_increment", "")
                self._given.note("offset_increment", "the threads start at equal distances over the region")
            return "sequential"
        size = self._one_size
        sign = -1 if modifier.startswith("-") else 1
        skip = sign * bytes_of(modifier.lstrip("+-"), self._given.place("rw"))
        if size and skip == -2 * size:
            return "backwards"
        if size and skip > 0:
            return {"stride": size_text(size + skip)}
        raise self._given.error(
            "rw", f"steps of {modifier} have no counterpart", "twice the block backwards, or a stride, have"
        )

    def _random(self) -> Value:
        if self._given.has("percentage_random"):
            place = self._given.place("percentage_random")
            shares = {
                op: number_of(one, place) for op, one in self._per_op("percentage_random", "100").items()
            }
            if set(shares.values()) == {0.0}:
                return "sequential"
            if set(shares.values()) != {100.0}:
                texts = {op: f"{share:g}%" for op, share in shares.items()}
                return {"random": texts if len(set(texts.values())) > 1 else next(iter(texts.values()))}
        if self._given.flag("norandommap"):
            return "uniform"
        if self._one_size is None:
            self._given.note(
                "bs", "several block sizes: blocks are drawn anew each time, as with norandommap"
            )
            return "uniform"
        return "random-once"

    @property
    def _divided(self) -> bool:
        """Whether each of `numjobs` has its own part of a region that they divide."""
        increment = self._given.text("offset_increment", "") if self._given.has("size") else ""
        return bool(increment) and increment == self._given.text("size", "100%")

    @property
    def _size(self) -> str:
        """The size of the region, of all jobs where they divide it."""
        size = self._given.text("size", "100%")
        if not self._divided:
            return size
        parts = int(self._given.number("numjobs", 1))
        if size.endswith("%"):
            return f"{parts * number_of(size, self._given.place('size')):g}%"
        return str(parts * bytes_of(size, self._given.place("size")))

    def _region(self) -> dict[str, Value]:
        start = self._given.text("offset", "0").split(",")[0]
        size = self._size
        region: dict[str, Value] = {}
        if start not in ("0", "0%"):
            region["start"] = (
                start if start.endswith("%") else size_text(bytes_of(start, self._given.place("offset")))
            )
        if size != "100%":
            region["size"] = (
                size if size.endswith("%") else size_text(bytes_of(size, self._given.place("size")))
            )
        if self._given.has("filesize"):
            self._given.note("filesize", "a run takes the file's size by --size")
            self._given.text("filesize", "")
        if self._given.number("nrfiles", 1) > 1:
            raise self._given.error(
                "nrfiles", "a set of files has no counterpart", "give one file of the whole size"
            )
        align: dict[str, Value] = (
            {"align": size_text(self._given.size("ba"))} if self._given.has("ba") else {}
        )
        if not region:
            return align
        return {"region": region["size"] if set(region) == {"size"} else region, **align}

    # What it carries

    def _content(self) -> dict[str, Value]:
        content: dict[str, Value] = {}
        if self._given.flag("zero_buffers"):
            self._given.note("zero_buffers", "writes carry data that compress away, not zeroes")
            content["compressible"] = "99%"
        if share := self._given.text("buffer_compress_percentage", ""):
            content["compressible"] = f"{share}%"
        if share := self._given.text("dedupe_percentage", ""):
            content["dedup"] = f"{share}%"
        if self._is_verified:
            content["verify"] = 1
            kind = self._given.text("verify", "")
            self._given.note(
                "verify", f"{kind}: blocks carry place, generation, seed and a checksum of Fathom's own"
            )
        return {"content": content} if content else {}

    @property
    def _is_verified(self) -> bool:
        return self._given.text("verify", "0") not in ("0", "null")

    def _placement(self) -> dict[str, Value]:
        if not self._given.has("fdp_pli"):
            return {}
        handles = self._given.text("fdp_pli", "").split(",")
        return {"placement": [int(number_of(one, self._given.place("fdp_pli"))) for one in handles]}

    def _means(self) -> dict[str, Value]:
        """How it is submitted."""
        means: dict[str, Value] = {}
        if self._given.flag("sqthread_poll"):
            means["sqpoll"] = True
        if self._given.text("iomem", "").startswith(("mmaphuge", "shmhuge")):
            means["huge_pages"] = True
        if self._given.text("ioengine", "psync") == "libcufile":
            means["gpu"] = True
            if self._given.text("cuda_io", "cufile") == "cufile":
                self._given.note(
                    "ioengine",
                    "reads come to the GPU by way of host memory, as with cuda_io=posix: GPUDirect Storage is not used",
                )
            if self._given.has("gpu_dev_ids"):
                self._given.note("gpu_dev_ids", "the GPU is the first that CUDA_VISIBLE_DEVICES shows")
            if "write" in self._weights:
                self._given.note("rw", "writes are made from host memory")
        return means

    # How hard

    def _rate(self) -> dict[str, float]:
        """I/Os per second of each operation, where they are bounded."""
        for key in ("rate_iops", "rate"):
            if self._given.has(key):
                values = self._per_op(key, "0")
                break
        else:
            return {}
        threads = self._given.number("numjobs", 1)
        rates: dict[str, float] = {}
        for op, text in values.items():
            each = float(bytes_of(text, self._given.place(key)))
            if key == "rate":
                sizes = self._sizes[op]
                each /= sum(size * share for size, share in sizes) / sum(share for _, share in sizes)
            rates[op] = each * threads
        if not all(rates.values()):
            raise self._given.error(
                key, "a rate for one operation and none for another", "give both, or neither"
            )
        return rates

    def _load(self) -> Value:
        threads = int(self._given.number("numjobs", 1))
        depth = int(self._given.number("iodepth", 1))
        if self._waits and depth > 1:
            self._given.note(
                "iodepth",
                f"{self._given.text('ioengine', 'psync')} waits for each I/O: the depth is 1, whatever is written",
            )
        load: dict[str, Value] = {"threads": threads, "iodepth": 1 if self._waits else depth}
        if self._rates:
            load["rate"] = f"{sum(self._rates.values()):.6g}/s"
            load["arrival"] = (
                "exponential" if self._given.text("rate_process", "linear") == "poisson" else "deterministic"
            )
            self._given.note(
                "rate_iops" if self._given.has("rate_iops") else "rate",
                "I/Os arrive on their own clock, from which response latency counts; fio slows a closed loop down",
            )
        elif pause_s := self._given.seconds("thinktime", "us"):
            load["think"] = duration_text(pause_s)
            self._given.note("thinktime", "each I/O in flight pauses by itself; fio stops the whole job")
        batch = int(self._given.number("iodepth_batch_complete_min", 0))
        if batch > 1 and not self._rates:
            load["reap"] = batch
        return load

    def _until(self) -> dict[str, Value]:
        until: dict[str, Value] = {}
        if runtime_s := self._given.seconds("runtime"):
            until["time"] = duration_text(runtime_s)
        count = int(self._given.number("number_ios", 0))
        amount, regions = self._bytes(), self._regions()
        if self._given.flag("time_based"):
            if not runtime_s:
                raise self._given.error("time_based", "without a runtime", "give one")
        elif count:
            until["count"] = count * int(self._given.number("numjobs", 1))
        elif amount is not None:
            until["bytes"] = size_text(amount)
        elif self._ops == ("write",):
            until["written"] = f"{regions:g}x"
        elif not runtime_s:
            raise UsageError(
                f"{self.job.place}: [{self.job.name}] ends when it has read its files once",
                "give it a runtime, or a size in bytes",
            )
        return until

    @property
    def _times(self) -> float:
        """How often its amount is done: every one of `numjobs` does it, and does it again."""
        return self._given.number("loops", 1) * self._given.number("numjobs", 1)

    def _bytes(self) -> int | None:
        """What is done without `time_based`: `io_size`, else `size`. None where it is no number of bytes."""
        text = self._given.text("io_size", self._given.text("size", "100%"))
        return None if text.endswith("%") else round(bytes_of(text, self._given.place("size")) * self._times)

    def _regions(self) -> float:
        """The same in multiples of the region."""
        text = self._given.text("io_size", "100%")
        share = number_of(text, self._given.place("io_size")) / 100 if text.endswith("%") else 1.0
        return self._times * share / (self._given.number("numjobs", 1) if self._divided else 1)

    def _read_back(self) -> dict[str, Value]:
        """How a pass that reads what was written differs; only a region written whole can be read back whole."""
        if not self._is_verified or self._ops != ("write",) or not self._given.flag("do_verify", usual=True):
            return {}
        size, block = self._given.text("size", "100%"), self._one_size
        amount = self._bytes()
        if (
            self._pattern in ("sequential", "random-once")
            and block
            and amount
            and set(self.until) == {"bytes"}
            and not size.endswith("%")
            and amount >= (region := bytes_of(self._size, self._given.place("size")))
        ):
            return {"mix": "read", "pattern": "sequential", "until": {"count": region // block}}
        self._given.note(
            "verify", "fio reads back what it wrote; here a region that is written whole can be: left out"
        )
        return {}
