"""When a trial's prior work may be computed instead of simulated: long uniform overwrites of the whole drive.

Such writes lead every drive to one state, which the twin can begin in (`settled_share`). The rule is the same for every
drive. What the bench wrote is judged by the rates of the state itself. At random, no drive writes slower on the way to
it. In order, it writes no slower than its flash programs under random writes.
"""

import json
from collections.abc import Sequence

from fathom._core import Job, Recording
from fathom.validation.cases import Trial

OVERWRITTEN_X = 2.0
"""Least multiple of the capacity that the bench writes at random. The state is reached before. On the SATA drives of
the catalogue, rate and WAF are within 0.2 % of their last values after three quarters of the capacity.
"""
WARMED_X = 0.25
"""What is simulated from the computed state on, in multiples of the capacity. Cleaning has then taken every superblock
about once, so that superblocks are as uneven, and the page map as scattered, as writes make them.
"""
PAGE_BYTES = 4096
UNIFORM_ENDS = ("greedy", "fifo")
"""Choices of victim for which theory gives the state."""


def settled_params(parameters_json: str, trial: Trial) -> str | None:
    """Returns the parameters of the same drive that begins settled. None: the trial's prior work leads elsewhere, or
    theory does not give the state.
    """
    parameters: dict[str, object] = json.loads(parameters_json)
    if (
        parameters.get("kind") != "ssd"
        or parameters.get("gc_policy", UNIFORM_ENDS[0]) not in UNIFORM_ENDS
        or parameters.get("settled_share")
        or trial.file_system is not None
        or not _fills_and_overwrites(trial.prior)
    ):
        return None
    return json.dumps(parameters | {"settled_share": 1.0})


def _fills_and_overwrites(prior: Sequence[Job]) -> bool:
    """Returns whether the work ends with writes of single pages, each as likely as any other, after writes in order."""
    if len(prior) < 2:
        return False
    *fills, last = prior
    return (
        all(_writes_all(fill, "sequential") for fill in fills)
        and _writes_all(last, "uniform")
        and last.largest_block_bytes <= PAGE_BYTES
    )


def _writes_all(job: Job, kind: str) -> bool:
    """Returns whether a job only writes, for a time, with this pattern and to the whole drive."""
    return (
        job.weights.keys() == {"write"}
        and job.pattern.kind == kind
        and job.ends_by_time
        and not job.streams
        and not job.thinks
        and job.region_on(1 << 40) == (0, 1 << 40)
    )


def warm_up(trial: Trial) -> Job:
    """Returns what is simulated of the prior work from the settled state on."""
    return trial.prior[-1].with_until(region_multiple=WARMED_X)


def suffices(trial: Trial, warmed: Recording, drive_bytes: float) -> bool:
    """Returns whether the prior work fills the drive and then overwrites it often enough, at the rates of `warmed`."""
    *fills, last = trial.prior
    host_bytes_per_s = sum(op.bytes for op in warmed.ops) / warmed.window_s
    media_bytes_per_s = warmed.counters.get("media_write_bytes", 0.0) / warmed.window_s
    filled_bytes = media_bytes_per_s * sum(fill.time_s or 0.0 for fill in fills)
    return (
        filled_bytes >= drive_bytes and host_bytes_per_s * (last.time_s or 0.0) >= OVERWRITTEN_X * drive_bytes
    )
