"""Open load at a share of what an earlier step achieved: reads beside writes at half of the writes' maximum.

The rate follows from what the earlier step recorded, so a resumed run offers the same. Nothing here issues I/O.
"""

from dataclasses import dataclass
from typing import TypedDict

from fathom._core import Job


class OfferedJson(TypedDict):
    """Normal form, as the parser returns it."""

    of: str
    share: float
    stream: str | None
    arrival: str


@dataclass(frozen=True)
class Offered:
    """A share of the IOPS of the step `of`, offered to one stream of the job, or to a job without streams."""

    of: str
    share: float
    stream: str | None
    arrival: str


def parse_offered(offered: OfferedJson) -> Offered:
    """Returns what the parser has checked already."""
    return Offered(**offered)


def offered_job(job: Job, offered: Offered, rate_iops: float) -> Job:
    """Returns the job with its load, or that of one of its streams, at the rate."""
    return job.with_rate(rate_iops, offered.arrival, offered.stream)
