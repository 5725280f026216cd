"""When a twin may end a step's window or a round: its figures are known well enough, and it has written enough."""

from math import ceil, sqrt

from fathom import _core
from fathom.load.backend import Backend
from fathom.method.method import Job, Step
from fathom.statistics.uncertainty import count_for

POINT_COUNT = 100_000
"""Fewest I/O of a twin's window: enough for its p99.9."""
POINT_WIDENING = 2
"""How much wider a point's interval may be than its maximum's: a curve is read by its shape over a dozen points."""
LARGE_READS_COUNT = 10_000
"""I/Os of a window of large reads through a file system. Minutes yield no more I/Os; enough for p99."""
MEASURED_COUNT = 1_000_000
"""Fewest I/O of small blocks in a measured step: enough for their p99.99."""
ROUND_COUNT = 20_000
"""Fewest I/O of a step in rounds: enough for its p99. The figure is the mean of several rounds, whose intervals shrink
with the root of their number."""
ROUND_TURNOVER = 1 / 16
"""Least share of its region that a writing step in rounds writes: many times the buffer. A round writes more."""
LEAST_TURNOVER = 1 / 4
"""Least share of its region that a twin's writing window or round writes, unless its step says otherwise. It shows what
is far from steady.
"""
MOST_TURNOVER = 2
"""Most that a twin's window writes of its region before it ends, however well its figures are known."""
VOLUME_ROUNDS = 64
"""Rounds of a twin's precondition that ends by volume too: its slice may take all of it within a minute."""
ROUND_WIDENING = 3
"""How much wider a round's interval may be than a result's: five rounds are judged within 10 and 20 %."""
COVERED_WIDENING = 6
COVERED_SHARE = 1 / 4
"""Least share once the workload's own writes have covered the region, and the part of its turnover that a round then
writes. Many short rounds show a drift for less I/O than few long ones.
"""
WRITES_ROUND_MOST = 1 / 8
"""Most of its region that a round writes where a mix settles without its reads. Many short rounds show a drift for less
I/O than few long ones.
"""
WITHOUT_LIMIT = (1 << 64) - 1


def precision_of(step: Step, backend: Backend) -> _core.Precision | None:
    """Returns when a twin may end the step's window or rounds; None: only at the end that the step states."""
    capacity_bytes = backend.capacity_bytes
    if step.precision is None or step.until_steady or capacity_bytes is None or step.kind == "fill":
        return None
    if backend.settled:
        return _core.Precision(step.precision, POINT_COUNT, 0, WITHOUT_LIMIT)
    drives = max(1, len(backend.parts))
    region_bytes = drives * step.job.region_on(capacity_bytes // drives)[1]
    least_bytes = round((LEAST_TURNOVER if step.turnover is None else step.turnover) * region_bytes)
    if step.kind == "precondition":
        return _of_precondition(step, step.precision, region_bytes, least_bytes)
    return _of_window(step, step.precision, region_bytes, least_bytes)


def _of_precondition(step: Step, precision: float, region_bytes: int, least_bytes: int) -> _core.Precision:
    """Returns when a round may end."""
    if step.job.region_multiple:
        round_bytes = round(step.job.region_multiple * region_bytes / VOLUME_ROUNDS)
        return _core.Precision(ROUND_WIDENING * precision, 0, round_bytes, round_bytes)
    if step.turnover is None:
        most_bytes = least_bytes if _writes_uniformly(step.job) else WITHOUT_LIMIT
        return _core.Precision(ROUND_WIDENING * precision, 0, least_bytes, most_bytes)
    round_bytes = round(COVERED_SHARE * least_bytes)
    most_bytes = round(WRITES_ROUND_MOST * region_bytes) if step.without_reads else WITHOUT_LIMIT
    return _core.Precision(COVERED_WIDENING * precision, 0, round_bytes, most_bytes)


def _of_window(step: Step, precision: float, region_bytes: int, least_bytes: int) -> _core.Precision:
    """Returns when a window may end. A point follows its maximum's state, so it need not write."""
    most_bytes = MOST_TURNOVER * region_bytes
    if step.place:
        return _core.Precision(POINT_WIDENING * precision, POINT_COUNT, 0, most_bytes)
    if step.round and step.round.metric != "latency":
        round_bytes = round(ROUND_TURNOVER * region_bytes)
        return _core.Precision(precision * sqrt(step.round.window), ROUND_COUNT, round_bytes, most_bytes)
    if step.percentile is not None:
        count = _count_for(step.job, step.percentile)
        return _core.Precision(precision, count, least_bytes, WITHOUT_LIMIT)
    if not step.job.direct:
        count = LARGE_READS_COUNT if _reads_large_blocks(step.job) else POINT_COUNT
        return _core.Precision(precision, count, least_bytes, least_bytes or WITHOUT_LIMIT)
    if step.curve or step.job.largest_block_bytes >= _core.LARGE_BLOCK_BYTES:
        return _core.Precision(precision, POINT_COUNT, least_bytes, most_bytes)
    return _core.Precision(precision, MEASURED_COUNT, least_bytes, WITHOUT_LIMIT)


def _writes_uniformly(job: Job) -> bool:
    """Returns whether the writes, or those of one of the streams, are uniform. The target then approaches one level.

    Many short rounds show a drift for less I/O than few long ones. Logs beside the uniform writes have cycles of a few
    rounds.
    """
    if job.streams:
        return any(_writes_uniformly(stream) for stream in job.streams.values())
    return job.weights.keys() == {"write"} and job.pattern.kind == "uniform"


def _reads_large_blocks(job: Job) -> bool:
    return not job.destructive and job.largest_block_bytes > _core.LARGE_BLOCK_BYTES


def _count_for(job: Job, percentile: float) -> int:
    """Returns the fewest I/O of a mix for that percentile of its rarest operation.

    An operation has a little less or more than its share, so four standard deviations are added.
    """
    weights = job.weights
    share = min(weights.values()) / sum(weights.values())
    needed = count_for(percentile)
    return ceil((needed + 4 * sqrt(needed * (1 - share))) / share)
