"""When a job of fio ends, and what it has written by then."""

import math
from collections.abc import Iterable

from fathom.imports.fio_blocks import Blocks
from fathom.imports.fio_content import is_verified
from fathom.imports.fio_given import GivenOptions
from fathom.imports.fio_place import Place
from fathom.imports.fio_zones import ZONES_ONCE, ends_with_zones, fills_zones
from fathom.method.toml_text import Value, duration_text, size_text


class End:
    """The end of a job: `until` in the keys of a method's job."""

    def __init__(
        self,
        given: GivenOptions,
        blocks: Blocks,
        place: Place,
        ops: Iterable[str],
        *,
        threads: int,
        flushes: bool,
        moves_data: bool,
    ) -> None:
        """Reads it from the options of a job with these operations, on `threads` threads. Raises UsageError."""
        self._given = given
        self._blocks = blocks
        self._place = place
        self._ops = set(ops)
        self._threads = threads
        self._flushes = flushes
        self._moves_data = moves_data
        self.until = self._until()

    def _until(self) -> dict[str, Value]:
        given = self._given
        until: dict[str, Value] = {}
        runtime_s = given.seconds("runtime")
        if runtime_s:
            until["time"] = duration_text(runtime_s)
        loops, count = given.whole("loops", 1, 1), given.whole("number_ios", 0)
        amount, volume = self.moved_bytes(loops), self._regions(loops)
        if given.is_timed:
            if count:
                raise given.error("number_ios", "ends a time_based job sooner", "leave one of them out")
            return until
        if count:
            if loops > 1 or self._flushes:
                raise given.error(
                    "number_ios", "has no counterpart with loops or flushes", "leave one of them out"
                )
            until["count"] = count * self._threads
        if (listed := self._place.listed_ios) is not None:
            most = math.ceil((amount or 0) / self._blocks.largest) if amount is not None else listed
            until["count"] = min(listed, most, count or listed)
        elif amount is not None and not ends_with_zones(self._place.pattern):
            if not count or amount < count * self._threads * self._blocks.largest:
                until["bytes"] = size_text(amount)
        else:
            writes = self._blocks.ops == ("write",) and self._moves_data
            until["written" if writes else "volume"] = f"{volume:.12g}x"
        return until

    @property
    def fills(self) -> "Value | None":
        """The region that it has written completely when it ends; None if it has not."""
        writes = self._ops == {"write"} and self._moves_data
        whole = self._place.pattern in ("sequential", "random-once") and writes
        if fills_zones(self._place.pattern):
            whole, covers = writes, "count" not in self.until
        else:
            covers = bool(self._blocks.one_size) and self._covers()
        if self._place.has_gaps or not (whole and "time" not in self.until and covers):
            return None
        return self._place.keys().get("region", "100%")

    def read_back(self, ramp_s: float) -> dict[str, Value]:
        """Returns the keys that differ in a pass that reads back what was written. It needs a region that is written
        completely.
        """
        given = self._given
        reads = given.flag("do_verify", usual=True)
        if not is_verified(given) or not reads or "read" in self._ops:
            return {}
        region = self._place.size
        amount = self.moved_bytes(1)
        if amount is not None and region[0] == "B" and amount > max(region[1], self._blocks.largest):
            raise given.error(
                "io_size", "beside verify, fio reads each pass of size back before the next", "leave it out"
            )
        block = self._blocks.one_size
        one = self._threads == 1 and given.whole("loops", 1) == 1 and not ramp_s
        if one and block and self.fills is not None and "count" not in self.until:
            if fills_zones(self._place.pattern):
                return {"mix": "read", "pattern": ZONES_ONCE, "until": {"volume": "1x"}}
            end: Value = {"count": int(region[1]) // block} if region[0] == "B" else {"volume": "1x"}
            return {"mix": "read", "until": end}
        raise given.error(
            "verify",
            (
                "fio reads back what it wrote; here that needs a region whose size is given and which one job writes "
                "whole"
            ),
            "give size, without runtime, ramp_time, loops and numjobs, or do_verify=0",
        )

    def moved_bytes(self, loops: int) -> int | None:
        """Returns what all threads do without `time_based`: `io_size`, else `size`. None where it is not a number of
        bytes.
        """
        given, files = self._given, self._place.files
        if self._place.fills_device:
            self._check_filling()
            return None
        if self._place.spare:
            return None
        if files is not None:
            return None if files.is_whole else files.job_bytes * loops * self._threads
        if self._place.lap_bytes is not None:
            return self._place.lap_bytes * loops * self._threads
        usual = (
            given.text("filesize", "100%") if given.text("size", "100%") == "100%" else given.text("size", "")
        )
        text = given.text("io_size", usual)
        if text.endswith("%"):
            return None
        key = "io_size" if given.has("io_size") else "size"
        beyond = not usual.endswith("%") and given.size_of(text, key) > given.size_of(usual, "size")
        if beyond and loops > 1 and not given.is_timed:
            raise given.error(
                "loops",
                "beside an io_size above size, fio counts passes of size until both are done",
                "give one of io_size and loops",
            )
        return given.size_of(text, key) * loops * self._threads

    def _check_filling(self) -> None:
        """Raises UsageError where `fill_device` ends in another way than after one pass of writes, in order."""
        given = self._given
        once = self._threads == 1 and given.whole("loops", 1) == 1 and not given.has("io_size")
        if self._place.pattern != "sequential" or self._ops != {"write"} or not once:
            raise given.error(
                "fill_device",
                "has a counterpart for one job that writes in order, once",
                "give rw=write, without numjobs, loops and io_size",
            )
        if not given.text("filename", "").startswith("/dev/"):
            given.note(
                "fill_device",
                "fio goes on until the file system is full; here the file has the size of --size",
            )

    def _regions(self, loops: int) -> float:
        """Returns the volume that ends the job, in multiples of the region."""
        given = self._given
        if self._place.files is not None:
            return loops
        text = given.text("io_size", "100%")
        share = given.number_of(text, "io_size") / 100 if text.endswith("%") else 1.0
        share += self._place.spare
        return loops * share * (1 if self._place.parts == "joined" else self._threads)

    def _covers(self) -> bool:
        """Returns whether a job that ends by volume goes over its region at least once."""
        start, size = self._place.start, self._place.size
        if "written" in self.until:
            return float(str(self.until["written"]).rstrip("x")) >= 1
        amount = self.moved_bytes(self._given.whole("loops", 1))
        return size[0] == "B" and not start[1] and amount is not None and amount >= size[1] * self._threads
