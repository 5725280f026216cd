"""The state from which a workload is measured: all blocks written, then settled under the workload's own load. Sessions
and validation share this definition of how a fresh twin is filled and when it is steady. Runs nothing.
"""

from dataclasses import replace

from fathom._core import Job
from fathom.method.method import Step
from fathom.statistics.steady import SteadyState, Volume

FILLED_X = 2
"""Multiple of the capacity that a fill writes."""
FILL = Job(
    f"""
    mix = "write"
    block = "128KiB"
    pattern = "sequential"
    load = {{ threads = 1, iodepth = 32 }}
    until = {{ written = "{FILLED_X}x" }}
    """,
    "fill.toml",
)
"""Every block of a fresh twin holds data, and the spare area has turned over."""

FILLED_TURNOVER = 1 / 16
"""Least share of its region that a twin's window or round writes once the workload's writes have covered the region. It
is many times the write buffer.
"""


def settling(*, at_random: bool, region_share: float) -> tuple[Volume, Volume]:
    """Returns how much a filled target has written, and how much it must write before rounds count as steady. Random
    writes must cover their region once, not the whole target. Volumes are multiples of the capacity.
    """
    return Volume(FILLED_X), Volume(FILLED_X, region_share if at_random else 0.0)


def settled(*, at_random: bool, region_share: float) -> SteadyState:
    """Returns the combined criterion for rounds on a target that was just filled."""
    before, required = settling(at_random=at_random, region_share=region_share)
    return SteadyState("random" if at_random else "sequential", before=before, required=required)


def settled_by_writes(step: Step) -> Step:
    """Returns the step for the twin of an SSD: a mix settles it without its reads, which cost time and move no data.

    A real drive settles under the whole mix, because reads may disturb its data and its firmware.
    """
    judged = step.kind == "precondition" and step.steady is not None and step.job.ends_by_time
    job = step.job.without_reads() if judged else None
    return replace(step, job=job, without_reads=True) if job else step
