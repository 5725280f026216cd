"""Zones that a job of fio goes through: those of a zoned device (`zonemode=zbd`), and strips (`strided`)."""

from collections.abc import Mapping

from fathom.imports.fio_blocks import Blocks
from fathom.imports.fio_content import is_verified
from fathom.imports.fio_given import GivenOptions
from fathom.imports.fio_one_pass import OF_ZONES
from fathom.method.toml_text import Value, size_text

#: When fio resets zones that have room.
_ZONE_RESETS = ("zone_reset_threshold", "zone_reset_frequency")
#: What goes through all zones in their order, and ends.
ZONES_ONCE: Value = {"zones": {"open": "in-order", "ends": True}}


def zones(given: GivenOptions, blocks: Blocks, jobs: int) -> "Value | None":
    """Returns the pattern of a job that goes through zones; None without `zonemode`. Raises UsageError."""
    mode = given.text("zonemode", "none")
    if mode != "zbd" or "write" not in blocks.ops:
        for key in _ZONE_RESETS:
            given.idle(key, "has no effect without writes to zones")
    if mode == "none":
        _check_no_zones(given)
        return None
    if mode == "strided":
        return _strips(given, blocks)
    if mode != "zbd":
        raise given.error("zonemode", f"{mode} has no counterpart", "leave zones out")
    return _of_device(given, blocks, jobs)


def _check_no_zones(given: GivenOptions) -> None:
    """Raises UsageError for an option of zones without `zonemode`."""
    for key in OF_ZONES:
        if given.text(key, "0") != "0":
            raise given.error(key, "goes through zones without zonemode", "give zonemode=zbd or strided")


def _of_device(given: GivenOptions, blocks: Blocks, jobs: int) -> Value:
    """Returns the pattern of zones of a zoned device. Raises UsageError."""
    given.idle("zonesize", "zones are those of the device")
    given.idle("zonerange", "zones are those of the device")
    if given.size("zoneskip"):
        raise given.error("zoneskip", "fio refuses it beside zonemode=zbd", "leave it out")
    reset = _zone_reset(given, blocks, jobs)
    given.note("zonemode", "zones that may be written anywhere are left out")
    if not blocks.random:
        return _zones_in_order(given, blocks, jobs)
    _note_random_zones(given, blocks, resets=bool(reset))
    how = reset or _verified(given, blocks, jobs)
    most = _open_zones(given, jobs)
    return {"zones": {"open": most, **how} if how else most}


def _note_random_zones(given: GivenOptions, blocks: Blocks, *, resets: bool) -> None:
    """Notes where random I/O in zones differs. Raises UsageError for trims that reset zones."""
    if "trim" in blocks.ops:
        raise given.error(
            "rw",
            "trims that reset zones have no counterpart: jobs share no zones, and reset one only for a write",
            "zone_reset_frequency has",
        )
    for key in ("random_distribution", "percentage_random", "norandommap", "ba"):
        given.idle(key, "has no effect on zones here")
    if "write" in blocks.ops and not (resets or given.flag("norandommap")):
        given.note("zonemode", "zones are drawn anew each time, as with norandommap")
    if "write" in blocks.ops and not given.is_timed and not is_verified(given):
        given.note(
            "zonemode",
            "where zones hold less than their size, fio writes as much as if they did not; here a pass is what they "
            "hold",
        )
    if "read" in blocks.ops:
        given.note(
            "zonemode",
            "each written block is as likely to be read as another; fio draws the zone first, so it reads the blocks "
            "of zones that are partly written more often",
        )
    if set(blocks.ops) == {"read", "write"}:
        given.note("zonemode", "reads before the first write find nothing written, where fio writes first")


def _open_zones(given: GivenOptions, jobs: int) -> Value:
    """Returns how many zones a job keeps open: as many as the device allows, unless the file says. Raises
    UsageError.
    """
    each, together = given.has("job_max_open_zones"), given.has("max_open_zones")
    if each and together:
        raise given.error("job_max_open_zones", "two limits have no counterpart", "give one of them")
    if each:
        return given.whole("job_max_open_zones", 0, 1)
    if not together:
        return "most"
    zones = given.whole("max_open_zones", 0, 1)
    if zones % jobs:
        raise given.error(
            "max_open_zones", f"{zones} zones of {jobs} jobs are not as many of each", "give a multiple"
        )
    return zones // jobs


def ends_with_zones(pattern: Value) -> bool:
    """Returns whether a job ends with its zones, before it would write one again."""
    return "ends" in _keys(pattern)


def fills_zones(pattern: Value) -> bool:
    """Returns whether a job that writes has filled all zones of its region when it ends."""
    return {"begin", "ends"} <= _keys(pattern).keys()


def _keys(pattern: Value) -> Mapping[str, Value]:
    """Returns the keys of a pattern of zones, where it has any."""
    zones = pattern.get("zones") if isinstance(pattern, Mapping) else None
    return zones if isinstance(zones, Mapping) else {}


def _verified(given: GivenOptions, blocks: Blocks, jobs: int) -> dict[str, Value]:
    """Returns how zones begin and end whose data are checked: fio empties them before, and writes none twice.

    Raises UsageError where it would (`zbd_file_reset` and `zbd_adjust_block` of its `zbd.c`).
    """
    if not is_verified(given) or blocks.ops != ("write",):
        return {}
    if jobs > 1 or not blocks.one_size or _goes_round(given):
        raise given.error(
            "verify",
            "zones that are checked have a counterpart where one job fills them with blocks of one size, once",
            "give size, without numjobs, loops, io_size and time_based",
        )
    given.note(
        "verify",
        "zones are emptied before, and read back one after the other; fio reads in the order of writing. Where zones "
        "hold less than their size, fio then writes on: here it ends with full zones",
    )
    return {"begin": "empty", "ends": True}


def _goes_round(given: GivenOptions) -> bool:
    """Returns whether fio goes on with the first zone behind the last one."""
    return given.is_timed or given.has("io_size") or given.whole("loops", 1) > 1


def _zone_reset(given: GivenOptions, blocks: Blocks, jobs: int) -> dict[str, Value]:
    """Returns when a zone with room is reset, and how it is chosen. Raises UsageError where fio counts otherwise.

    It begins to count anew when it begins a file again: after `size`, or where its map of blocks is full.
    """
    above, frequency = (given.number(key, 0) for key in _ZONE_RESETS)
    if not frequency:
        given.idle("zone_reset_threshold", "has no effect without zone_reset_frequency")
    if not frequency or "write" not in blocks.ops:
        return {}
    if frequency > 1 or above > 1:
        raise given.error(_ZONE_RESETS[frequency > 1], "is more than 1", "write a share of 1")
    drawn = given.flag("norandommap")
    alone = jobs == 1 and blocks.ops == ("write",) and blocks.one_size
    if not (alone and blocks.random) or (given.has("io_size") and (drawn or given.is_timed)):
        raise given.error(
            "zone_reset_frequency",
            "resets have a counterpart for one job that writes blocks of one size at random",
            "give rw=randwrite, without numjobs, and io_size neither with norandommap nor with time_based",
        )
    if given.whole("iodepth", 1) > 1:
        given.note("zone_reset_frequency", "fio waits for all I/O in flight before it resets a zone")
    # fio counts down from the whole part.
    when: dict[str, Value] = {"above": f"{above * 100:.10g}%", "every": int(1 / frequency)}
    return {"reset": when} if drawn else {"choice": "random-once", "reset": when}


def _zones_in_order(given: GivenOptions, blocks: Blocks, jobs: int) -> Value:
    """Returns the pattern of zones one after the other: fio begins each at its write pointer, or reads up to it."""
    ops = blocks.ops
    if len(ops) > 1 or "trim" in ops or blocks.modifier or jobs > 1:
        raise given.error(
            "zonemode",
            "zones in their order have a counterpart for one job that reads or writes them whole",
            "give rw=read or rw=write, without numjobs",
        )
    for key in (
        "random_distribution",
        "percentage_random",
        "norandommap",
        "ba",
        "random_sequence_stride",
    ):
        given.idle(key, "has no effect on sequential I/O")
    for key in ("max_open_zones", "job_max_open_zones"):
        given.idle(key, "zones are written one after the other")
    empties = {"begin": "empty"} if is_verified(given) and ops == ("write",) else {}
    if not (_goes_round(given) or not blocks.one_size):
        return {"zones": {"open": "in-order", **empties, "ends": True}}
    if empties:
        raise given.error(
            "verify",
            "zones that are checked have a counterpart where one job fills them with blocks of one size, once",
            "give size, without loops, io_size and time_based",
        )
    if not given.is_timed:
        given.note("zonemode", "behind the last zone it goes on with the first, until as much is moved")
    return {"zones": "in-order"}


def _strips(given: GivenOptions, blocks: Blocks) -> Value:
    for key in ("max_open_zones", "job_max_open_zones", "ba"):
        given.idle(key, "has no effect on strided zones")
    strip, skip = given.size("zonesize"), given.size("zoneskip")
    reach = given.size("zonerange") or strip
    if blocks.random or blocks.modifier or len(blocks.ops) > 1:
        raise given.error(
            "zonemode", "strided zones have a counterpart for reads, or writes, in order", "give rw=read"
        )
    for key in ("random_distribution", "percentage_random", "norandommap", "random_sequence_stride"):
        given.idle(key, "has no effect on sequential I/O")
    if not strip or not blocks.one_size or strip % blocks.one_size or strip > reach:
        raise given.error(
            "zonesize",
            "strided zones have a counterpart where they are whole blocks, and no longer than zonerange",
            "give a multiple of bs",
        )
    given.note("zonemode", "where the device ends within a zone, fio ends too; here the first one follows")
    return {"strips": {"size": size_text(strip), "gap": size_text(reach - strip + skip)}}
