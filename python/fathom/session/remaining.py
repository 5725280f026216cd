"""How much of a running step is done, how long the rest takes, and on what that is based."""

from dataclasses import dataclass

from fathom.method.job import of_parts
from fathom.method.method import Job, Step
from fathom.runs.live import Basis
from fathom.session.stepper import Progress
from fathom.targets.target import Identity, Target
from fathom.targets.zones import pass_bytes


@dataclass(frozen=True)
class Remaining:
    """What is left of a step. `left_s` is in the target's own time, which is virtual for a twin."""

    share: float
    """Share done, 0..1; 0 where nothing shows it."""
    left_s: float | None
    basis: Basis | None
    """None where nothing shows how much is done."""
    at_most: bool
    """Whether the step may end sooner: by steadiness, or when a twin's figures are precise enough."""


def remaining_of(step: Step, target: Target, progress: Progress) -> Remaining:
    """Returns what is left of a step, at its present rate where it ends by volume."""
    at_most = bool(step.steady or step.until_steady) or (step.precision is not None and target.kind == "twin")
    if progress.share is not None:
        left_s = progress.elapsed_s * (1 / progress.share - 1) if progress.share else None
        return Remaining(progress.share, left_s, "target", at_most)
    job = step.job
    capacity_bytes = progress.simulated_bytes or target.capacity_bytes
    total_bytes = _volume_bytes(job, target.identity, capacity_bytes, progress)
    if total_bytes:
        left_bytes = max(0, total_bytes - progress.moved_bytes)
        left_s = left_bytes / (progress.mbps * 1e6) if progress.mbps else None
        return Remaining(min(1.0, progress.moved_bytes / total_bytes), left_s, "volume", at_most)
    if job.time_s:
        share = min(1.0, progress.elapsed_s / job.time_s)
        return Remaining(share, max(0.0, job.time_s - progress.elapsed_s), "time", at_most)
    return Remaining(0.0, None, None, at_most)


def _volume_bytes(job: Job, identity: Identity, capacity_bytes: int, progress: Progress) -> int | None:
    """Returns the bytes that all parts of a target move together; None where the job does not end by volume."""
    parts, each_whole = progress.parts, progress.each_whole
    if job.region_multiple is not None:
        own_bytes = capacity_bytes if each_whole else capacity_bytes // parts
        return round(job.region_multiple * parts * pass_bytes(job, identity, own_bytes))
    return (
        None if job.bytes is None else sum(one.bytes or 0 for one in of_parts(job, parts, hosts=each_whole))
    )
