"""fio's `sprandom`: random writes of all flash of a drive in one pass, which leave it as long random writing would."""

from dataclasses import dataclass

from fathom.imports.fio_blocks import Blocks
from fathom.imports.fio_given import GivenOptions
from fathom.method.toml_text import Value

#: Options of zones, which sprandom has none of.
OF_ZONES = ("zonesize", "zonerange", "zoneskip", "max_open_zones", "job_max_open_zones")


@dataclass(frozen=True)
class OnePass:
    """The pattern, and what it writes beyond the region, as a share of that."""

    pattern: Value
    spare: float


def one_pass(given: GivenOptions, blocks: Blocks, jobs: int) -> OnePass | None:
    """Returns the pattern of a job with `sprandom`; None without it. Raises UsageError."""
    if not given.flag("sprandom"):
        for key in ("spr_op", "spr_num_regions"):
            given.idle(key, "has no effect without sprandom")
        return None
    _check(given, blocks, jobs)
    for key in ("norandommap", *OF_ZONES, "zone_reset_threshold", "zone_reset_frequency"):
        given.idle(key, "has no effect on sprandom")
    for key in ("random_distribution", "percentage_random", "random_sequence_stride"):
        given.idle(key, "has no effect on sprandom, which has an order of its own")
    spare = given.number("spr_op", 0.15)
    given.note("sprandom", "where all blocks are written, fio ends, and here a few are written again")
    stretches = given.whole("spr_num_regions", 100, 2)
    return OnePass({"one-pass": {"spare": f"{spare * 100:.10g}%", "stretches": stretches}}, spare)


def _check(given: GivenOptions, blocks: Blocks, jobs: int) -> None:
    """Raises UsageError for a job of another kind."""
    alone = blocks.ops == ("write",) and blocks.random and blocks.one_size and jobs == 1
    ends = given.is_timed or given.whole("loops", 1) > 1 or given.has("io_size") or given.has("number_ios")
    aligned = not given.has("ba") or given.size("ba") == blocks.one_size
    if not (alone and aligned) or ends or blocks.modifier:
        raise given.error(
            "sprandom",
            "has a counterpart for one job that writes blocks of one size at random, once",
            "give rw=randwrite, and leave out numjobs, loops, io_size, number_ios, time_based",
        )
    if given.text("zonemode", "none") != "none" or given.text("norandommap", "1") == "0":
        raise given.error(
            "sprandom",
            "goes neither through zones nor by a map of blocks",
            "leave out zonemode, norandommap=0",
        )
