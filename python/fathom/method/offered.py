"""Open load at a share of the rate that an earlier step achieved, such as reads next to writes at half of the writes'
maximum. The rate follows from the earlier step's record, so a resumed run offers the same rate. Nothing here issues
I/O.
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
    """A share of the IOPS of step `of`. It is the load of one stream of the job, or of a job without streams."""

    of: str
    share: float
    stream: str | None
    arrival: str


def parse_offered(offered: OfferedJson) -> Offered:
    """Returns the load from the parser's normal form, which is checked already."""
    return Offered(**offered)


def offered_job(job: Job, offered: Offered, rate_iops: float) -> Job:
    """Returns the job with its load at that rate, or with one of its streams at it."""
    return job.with_rate(rate_iops, offered.arrival, offered.stream)
