"""Open load at a share of what an earlier step achieved: reads beside writes at half of the writes' maximum.

The rate follows from what the earlier step recorded, so a resumed run offers the same. Nothing here issues I/O.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict, cast


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


def open_load(load: Mapping[str, object], rate_iops: float, arrival: str) -> dict[str, object]:
    """Arrivals at `rate_iops` instead of the closed loop, with as many in flight at most."""
    return {
        "kind": "open",
        "rate_iops": rate_iops,
        "arrival": arrival,
        "threads": load["threads"],
        "iodepth": load["iodepth"],
    }


def offered_job(job_json: str, offered: Offered, rate_iops: float) -> str:
    """Returns the job with its load, or that of one of its streams, at the rate."""
    job = json.loads(job_json)
    loaded = job
    if offered.stream is not None:
        loaded = next(one["job"] for one in job["streams"] if one["name"] == offered.stream)
    loaded["load"] = open_load(cast("Mapping[str, object]", loaded["load"]), rate_iops, offered.arrival)
    return json.dumps(job)
