"""When jobs of fio end because their figures hold still: `steadystate`, as fio's `steadystate.c` judges it."""

from fathom.imports.fio_given import GivenOptions
from fathom.method.toml_text import Value, duration_text

_METRICS = {"iops": "iops", "bw": "mbps", "lat": "latency"}


def until_steady(given: GivenOptions, jobs: int) -> dict[str, Value]:
    """Returns the keys of a step's rule; none where nothing is asked for. Raises UsageError."""
    over_s = given.seconds("steadystate_duration")
    others = ("steadystate", "steadystate_ramp_time", "steadystate_check_interval")
    if not over_s:
        for key in others:
            given.idle(key, "has no effect without steadystate_duration")
        return {}
    if jobs > 1 and not given.flag("group_reporting"):
        raise given.error(
            "steadystate_duration", "each of numjobs is judged and ends by itself", "give group_reporting"
        )
    if given.seconds("ramp_time"):
        raise given.error(
            "steadystate_duration", "counts from the start of ramp_time", "give steadystate_ramp_time alone"
        )
    every_s = given.seconds("steadystate_check_interval") or 1.0
    if every_s % 1 or over_s < 2 * every_s:
        raise given.error(
            "steadystate_check_interval", "is no whole number of seconds", "a run records whole seconds"
        )
    return {
        **_limit(given),
        "over": duration_text(over_s),
        **({"after": duration_text(after_s)} if (after_s := given.seconds("steadystate_ramp_time")) else {}),
        **({"every": duration_text(every_s)} if every_s > 1 else {}),
    }


def _limit(given: GivenOptions) -> dict[str, Value]:
    kind, _, limit = given.text("steadystate", "iops_slope:0.01%").partition(":")
    metric, _, slope = kind.partition("_")
    if metric not in _METRICS or slope not in ("", "slope"):
        raise given.error(
            "steadystate", f"{kind} is none of its kinds", "write iops, bw or lat, or one with _slope"
        )
    if not limit.endswith("%"):
        raise given.error(
            "steadystate", f"{limit or 'nothing'} is no share of the mean", 'write a percentage such as "10%"'
        )
    if not 0 < (share := given.number_of(limit, "steadystate")) < 100:
        raise given.error("steadystate", f"{limit} is no limit", "write more than 0% and less than 100%")
    return {"metric": _METRICS[metric], "slope" if slope else "deviation": f"{share:g}%"}
