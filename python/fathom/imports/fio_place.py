"""Where the I/O of a job of fio goes: pattern, position, region and alignment."""

import math
import re
from collections.abc import Mapping, Sequence

from fathom.imports.fio_blocks import Blocks
from fathom.imports.fio_given import GivenOptions
from fathom.imports.fio_one_pass import one_pass
from fathom.imports.fio_sets import files_each, set_of
from fathom.imports.fio_zones import zones
from fathom.method.toml_text import Value, size_text

#: The size of a region that begins at a byte and ends with the target.
_TO_THE_END = "up to 1024PiB"
#: A place or a length: bytes, or percent of the target.
Extent = tuple[str, float]


class Place:
    """Pattern, position, region and alignment of a job, and of each of its parts where they divide a region."""

    def __init__(self, given: GivenOptions, blocks: Blocks, jobs: int, *, own_files: bool) -> None:
        """Places a job that runs `numjobs` times, each with a file of its own or all on one.

        Raises UsageError.
        """
        self._given = given
        self._blocks = blocks
        self._jobs = jobs
        self._own_files = own_files
        self._timed = given.is_timed
        self._align: int | None = None
        self._aligns: dict[str, int] = {}
        #: What sprandom writes beyond the region, as a share of it.
        self.spare = 0.0
        self.pattern = self._pattern()
        #: The files of all jobs, where each has several.
        self.files = set_of(given, blocks, jobs, self.pattern) if files_each(given) > 1 else None
        self.start, self.size = ("B", 0.0), ("%", 100.0)
        if self.files is None:
            self.start, self.size = self._extent("offset", "0"), self._extent("size", "100%")
            self._check_filesize()
        self.listed_ios = self._listed_ios()
        if self.has_strips:
            self._check_strips()
        if self.fills_device and (self.size != ("%", 100.0) or self.start[1]):
            raise given.error("fill_device", "writes beyond size, or behind an offset", "leave those out")
        #: What a lap with gaps moves, where the job ends with its last one.
        self.lap_bytes = self._lap(self._align) if self.has_gaps and self._align and not self._timed else None
        self.parts = self._parts()

    def keys(self) -> dict[str, Value]:
        """Returns the keys of a job on the region of all its parts."""
        size = self.size if self.parts != "joined" else (self.size[0], self.size[1] * self._jobs)
        if self.files is not None:
            return {"pattern": self.pattern, "files": self.files.keys}
        return {**self._ordered(), **_region(self.start, size), **self._alignment()}

    def part_keys(self) -> list[dict[str, Value]]:
        """Returns the keys of each part, where they are streams of their own."""
        unit, step = self._extent("offset_increment", "0")
        return [
            {
                **self._ordered(),
                **_region((unit, self.start[1] + number * step), self.size),
                **self._alignment(),
            }
            for number in range(self._jobs)
        ]

    def _ordered(self) -> dict[str, Value]:
        threads = 1 if self.parts == "apart" or self._own_files else self._jobs
        position: dict[str, Value] = {}
        ordered = isinstance(self.pattern, Mapping) and bool({"random", "strips"} & self.pattern.keys())
        if (
            threads > 1
            and self.parts != "joined"
            and (ordered or self.pattern in ("sequential", "backwards"))
        ):
            position["threads"] = "start"
        if self.pattern == "sequential" and len(self._blocks.ops) > 1:
            position["operations"] = "apart"
        keys: dict[str, Value] = {"pattern": self.pattern}
        if position:
            keys["position"] = position if "operations" in position else "start"
        return keys

    def _alignment(self) -> dict[str, Value]:
        if self._aligns:
            return {"align": {op: size_text(align) for op, align in self._aligns.items()}}
        return {} if self._align is None else {"align": size_text(self._align)}

    # Patterns

    def _pattern(self) -> Value:
        if given_pass := one_pass(self._given, self._blocks, self._jobs):
            self.spare = given_pass.spare
            return given_pass.pattern
        if (in_zones := zones(self._given, self._blocks, self._jobs)) is not None:
            return in_zones
        if not self._blocks.random:
            for key in ("random_distribution", "percentage_random", "norandommap", "random_sequence_stride"):
                self._given.idle(key, "has no effect on sequential I/O")
            return self._sequence()
        if self._blocks.modifier:
            raise self._given.error(
                "rw",
                f"{self._blocks.rw}:{self._blocks.modifier}: runs of one length have no counterpart",
                "percentage_random has",
            )
        self._align_random()
        pattern = self._drawn()
        if self._aligns and pattern != "uniform":
            self._leave_out_aligns()
        return pattern

    def _leave_out_aligns(self) -> None:
        """Lets blocks begin at multiples of their own size. Raises UsageError where alignments were asked for."""
        if self._given.has("ba"):
            raise self._given.error(
                "ba",
                "alignments that differ by operation have a counterpart for blocks that are drawn independently",
                "give one for all, or norandommap",
            )
        self._given.note(
            next((key for key in ("bssplit", "bsrange") if self._given.has(key)), "bs"),
            "blocks begin at multiples of their own size; fio's begin at those of the operation's smallest block",
        )
        self._aligns = {}

    def _drawn(self) -> Value:
        """Returns the pattern of random I/O."""
        kind, _, rest = self._given.text("random_distribution", "random").partition(":")
        if kind != "random":
            self._given.idle("norandommap", "has no effect on such a distribution")
            self._given.idle("percentage_random", "has no effect on such a distribution")
        if kind != "sequence":
            self._given.idle("random_sequence_stride", "has no effect on such a distribution")
        match kind:
            case "random":
                return self._random()
            case "zipf" | "pareto":
                usual = "1.1" if kind == "zipf" else "0.2"
                return {kind: self._given.number_of(rest or usual, "random_distribution")}
            case "zoned":
                return self._hot_spots(rest)
            case "sequence":
                return self._listed(rest)
            case _:
                raise self._given.error(
                    "random_distribution",
                    f"{kind} has no counterpart",
                    "random, zipf, pareto, zoned and sequence have",
                )

    @property
    def has_strips(self) -> bool:
        """Whether it goes through strips of the region and leaves out what lies between them."""
        return isinstance(self.pattern, Mapping) and "strips" in self.pattern

    def _check_strips(self) -> None:
        """fio goes on behind `size`, to the end of the file; `size` only says how much is moved. Raises UsageError."""
        given = self._given
        sized = given.has("size") or given.has("filesize")
        share = given.text("size", "100%").endswith("%") and given.text("size", "100%") != "100%"
        if given.whole("loops", 1) > 1 or share or (sized and self._timed) or given.has("offset_increment"):
            raise given.error(
                "zonemode",
                "strided zones have no counterpart with loops, parts, a size in percent, or size and time_based",
                "give a size in bytes, or time_based and a runtime",
            )
        self.size = ("%", 100.0)

    def _listed(self, rest: str) -> Value:
        """Returns the pattern of blocks that are listed. Raises UsageError."""
        given = self._given
        numbers = rest.split(",")
        if not all(re.fullmatch(r"\d{1,9}", one) for one in numbers):
            raise given.error(
                "random_distribution", f"{rest} is no list of blocks", "write one such as 2,0,1"
            )
        alone = len(self._blocks.ops) == 1 and self._blocks.one_size and (self._jobs == 1 or self._own_files)
        if not alone or self._timed or given.whole("loops", 1) > 1 or given.has("ba"):
            raise given.error(
                "random_distribution",
                "a list of blocks has a counterpart for one operation of one job, without loops and time_based",
                "leave those out",
            )
        order: list[Value] = [int(one) for one in numbers]
        moves = given.flag("random_sequence_stride")
        return {"blocks": {"order": order, **({"moves": True} if moves else {})}}

    def _listed_ios(self) -> int | None:
        """Returns after how many I/Os a list leaves the region, where fio ends; None without a list."""
        if not (isinstance(self.pattern, Mapping) and isinstance(self.pattern.get("blocks"), Mapping)):
            return None
        given, block = self._given, self._blocks.one_size or 1
        _, _, rest = given.text("random_distribution", "").partition(":")
        order = [int(one) for one in rest.split(",")]
        unit, size = self.size
        places = int(size) // block
        if unit == "%" or max(order) >= places:
            raise given.error(
                "random_distribution", "names a block beyond size", "give a size that holds all"
            )
        if not given.flag("random_sequence_stride"):
            return places
        return next(
            number
            for number in range(places + len(order) + 1)
            if number // len(order) * len(order) + order[number % len(order)] >= places
        )

    @property
    def fills_device(self) -> bool:
        """Whether it writes until there is no more room."""
        return self._given.flag("fill_device")

    def _sequence(self) -> Value:
        given, modifier = self._given, self._blocks.modifier
        if given.has("ba"):
            given.idle("ba", "has no effect on sequential I/O")
        if not modifier:
            return "sequential"
        size = self._blocks.one_size
        backwards = modifier.startswith("-")
        skip = given.size_of(modifier.lstrip("+-"), "rw")
        if size and len(self._blocks.ops) == 1 and backwards and skip == 2 * size:
            given.note(
                "rw",
                "fio begins with the first block and leaves out the last one; here it is the other way round",
            )
            return "backwards"
        if not size or backwards or not skip:
            raise given.error(
                "rw",
                f"steps of {modifier} have no counterpart",
                "twice the block backwards, or a gap forwards, have",
            )
        self._align = size + skip
        return "sequential"

    def _lap(self, step_bytes: int) -> int | None:
        """Returns what a lap with gaps moves; None where fio goes round until all is moved. Raises UsageError.

        fio goes round only at the end of the device or file (`get_next_seq_offset` of its `io_u.c`), or to move an
        `io_size` that is left.
        """
        given, block_bytes = self._given, self._blocks.largest
        unit, size_bytes = self.size
        whole = self.size == ("%", 100.0) and not self.start[1]
        moved = given.text("io_size", "")
        if len(self._blocks.ops) > 1 or moved.endswith("%") or (moved and given.whole("loops", 1) > 1):
            raise given.error(
                "rw",
                "without time_based, gaps have no counterpart for reads beside writes, an io_size in percent, or "
                "io_size and loops",
                "give time_based and a runtime",
            )
        if moved or whole or self._own_files:
            return None
        if unit == "%" or not given.text("filename", "").startswith("/dev/"):
            raise given.error(
                "rw",
                "without time_based, fio ends a lap with gaps where the device or file is longer, which is not known",
                "give time_based and a runtime, or io_size",
            )
        if (size_bytes % step_bytes or step_bytes) < block_bytes:
            raise given.error("rw", "a lap with gaps ends within a block", "give a size of whole steps")
        given.note("rw", "ends with a lap of size, as fio does where the device is longer")
        return math.ceil(size_bytes / step_bytes) * block_bytes

    @property
    def has_gaps(self) -> bool:
        """Whether a pass leaves some of the region alone."""
        return self.pattern == "sequential" and self._align is not None

    def _random(self) -> Value:
        given = self._given
        if given.has("percentage_random"):
            per_op = given.per_op("percentage_random", "100", self._blocks.ops)
            shares = {op: given.number_of(one, "percentage_random") for op, one in per_op.items()}
            if set(shares.values()) == {0.0}:
                given.idle("norandommap", "has no effect without random I/O")
                return "sequential"
            if set(shares.values()) != {100.0}:
                if not given.flag("norandommap"):
                    self._note_map("percentage_random", "the random ones are")
                if not self._timed and given.text("size", "100%") != "100%":
                    given.note(
                        "percentage_random",
                        "fio may end early, where I/O in order meets the end of size on a longer target and io_size is "
                        "not larger; here it goes on",
                    )
                texts = {op: f"{share:g}%" for op, share in shares.items()}
                return {"random": texts if len(set(texts.values())) > 1 else next(iter(texts.values()))}
        if given.flag("norandommap"):
            return "uniform"
        if not self._blocks.is_mapped_whole:
            key = next((key for key in ("bssplit", "bsrange") if given.has(key)), "bs")
            self._note_map(key, "several block sizes: places are")
            return "uniform"
        # fio's map says nothing of places that are no multiples of the block, so it draws them again.
        if self._align not in (None, self._blocks.one_size):
            return "uniform"
        if self._jobs > 1 and not self._own_files and files_each(given) == 1:
            given.note(
                "numjobs",
                "the threads together visit each block as often as fio's jobs do, though each of those has a map",
            )
        return "random-once"

    def _note_map(self, key: str, what: str) -> None:
        """Notes what the map of blocks does in fio, which only its `norandommap` has in common with the method."""
        if any(len(sizes) > 1 for sizes in self._blocks.sizes.values()):
            by_map = (
                "cuts a block short where the next place is used, so it issues more small ones than asked for"
            )
        elif not self._blocks.is_mapped_whole:
            by_map = "leaves out a block that overlaps a used place, so it may end before `size`"
        else:
            by_map = "draws no place twice in a pass"
        self._given.note(
            key,
            f"{what} drawn anew each time, as with norandommap; without it fio keeps a map, and {by_map}: add it where "
            "the two are compared",
        )

    def _align_random(self) -> None:
        """fio aligns random offsets to the smallest block of the operation, or to `ba`."""
        given = self._given
        ops = self._blocks.ops
        if given.has("ba"):
            aligns = {op: given.size_of(one, "ba") for op, one in given.per_op("ba", "0", ops).items()}
        elif all(len(sizes) == 1 for sizes in self._blocks.sizes.values()):
            return
        else:
            aligns = dict(self._blocks.least)
        if not all(aligns.values()):
            raise given.error("ba", "is no alignment", "give one above 0")
        if len(set(aligns.values())) == 1:
            self._align = next(iter(aligns.values()))
        else:
            self._aligns = aligns

    def _hot_spots(self, rest: str) -> Value:
        given = self._given
        if "," in rest:
            raise given.error(
                "random_distribution",
                "bands that differ by operation have no counterpart",
                "give one for all",
            )
        bands = [band.partition("/") for band in rest.split(":")]
        accesses = self._whole_shares([access for access, _, _ in bands])
        areas = self._whole_shares([area for _, _, area in bands])
        return {
            "hot-spots": [
                {"area": area, "access": access} for area, access in zip(areas, accesses, strict=True)
            ]
        }

    def _whole_shares(self, texts: Sequence[str]) -> list[float]:
        """Returns percentages. Missing ones share the rest equally."""
        given = [self._given.number_of(text, "random_distribution") if text else None for text in texts]
        left = 100.0 - sum(share or 0.0 for share in given)
        part = left / max(given.count(None), 1)
        return [round(part, 6) if share is None else share for share in given]

    # Regions

    def _extent(self, key: str, usual: str) -> Extent:
        text = self._given.text(key, usual)
        if text.endswith("%"):
            share = self._given.number_of(text, key)
            if share > 100:
                raise self._given.error(key, f"{text} is more than there is", "write at most 100%")
            return "%", share
        return "B", float(self._given.size_of(text, key))

    def _check_filesize(self) -> None:
        given = self._given
        if not given.has("filesize"):
            return
        filesize = ("B", float(given.size("filesize")))
        if self.size not in (("%", 100.0), filesize) or self.start[1]:
            raise given.error(
                "filesize", "differs from size, or goes with an offset", "leave one of them out"
            )
        self.size = filesize

    def _parts(self) -> str:
        """Returns how parts of `numjobs` lie: "same" place for all, "joined" in one region, or "apart" as streams."""
        given = self._given
        increment = self._extent("offset_increment", "0")
        if not increment[1] or self._jobs == 1:
            return "same"
        if self._own_files:
            raise given.error("offset_increment", "an offset of each file has no counterpart", "leave it out")
        if increment[0] != self.size[0] or (self.start[1] and self.start[0] != self.size[0]):
            raise given.error(
                "offset_increment",
                "percentages and bytes side by side have no counterpart",
                "write all in one",
            )
        if self._timed:
            return "apart"
        in_order = self.pattern in ("sequential", "random-once") and self._align is None
        if increment == self.size and in_order and given.whole("loops", 1) == 1:
            return "joined"
        raise given.error(
            "offset_increment",
            "parts that end by bytes have a counterpart only where they follow on each other",
            "make it equal to size, without loops, or give time_based",
        )


def _region(start: Extent, size: Extent) -> dict[str, Value]:
    region: dict[str, Value] = {}
    if start[1]:
        region["start"] = _text(start)
    if start[1] and size == ("%", 100.0):
        return {"region": region if start[0] == "%" else {**region, "size": _TO_THE_END}}
    if start[0] == "%" and size[0] == "%":
        size = ("%", min(size[1], 100.0 - start[1]))
    if size != ("%", 100.0):
        region["size"] = _text(size)
    if not region:
        return {}
    return {"region": region["size"] if set(region) == {"size"} else region}


def _text(extent: Extent) -> str:
    unit, value = extent
    return f"{value:.10g}%" if unit == "%" else size_text(round(value))
