"""Jobs in documents and between processes: the only place where the JSON of a job becomes a `Job`, and back."""

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import JsonValue, PlainSerializer, PlainValidator

from fathom import _core
from fathom._core import Job
from fathom.errors import FathomError

NS_PER_S = 1_000_000_000


def job_of(step: Mapping[str, object], file: str = "job.json") -> Job:
    """Returns the job of a step in a document, in normal form or as written. Raises FathomError."""
    return read_job(json.dumps(step["job"]), file)


def read_job(text: str, file: str = "job.json") -> Job:
    """Returns the job in a text: JSON, or TOML where `file` does not end in `.json`. Raises FathomError."""
    try:
        return Job(text, file)
    except _core.ParseError as error:
        raise FathomError(str(error)) from error


def document_of(job: Job) -> dict[str, JsonValue]:
    """Returns the normal form of a job as part of a document."""
    return json.loads(job.json)


def begins_ahead(job: Job) -> bool:
    """Returns whether positions of a job begin further on, as those of one that goes on where another ended."""
    positions = [document_of(one).get("position") for one in [*job.streams.values()] or [job]]
    return any(isinstance(one, dict) and one.get("ahead_bytes") for one in positions)


def is_uneven(job: Job) -> bool:
    """Returns whether a load gives hosts or drives unequal parts on purpose: by shares, or by streams on some only."""
    return bool(job.stream_targets) or any(one.uneven for one in [*job.streams.values()] or [job])


def _received(value: object) -> Job:
    if isinstance(value, Job):
        return value
    try:
        return Job(str(value))
    except _core.ParseError as error:
        raise ValueError(str(error)) from error


SentJob = Annotated[Job, PlainValidator(_received), PlainSerializer(lambda job: job.json, return_type=str)]
"""A job in a call to another process: its normal form in JSON."""


def fixed_bytes(job: Job, capacity_bytes: int) -> int:
    """Returns the size of a region that is as large on a larger target; 0 for one that is a share of the target."""
    size_bytes = job.region_on(capacity_bytes)[1]
    return size_bytes if size_bytes == job.region_on(2 * capacity_bytes)[1] else 0


def of_parts(job: Job, parts: int, *, hosts: bool = False) -> list[Job]:
    """Returns the job of each part of a target, whose parts are `hosts` of a fleet or drives.

    Raises FathomError for a load that cannot be split into these parts.
    """
    try:
        return job.of_parts(parts, hosts)
    except _core.ParseError as error:
        raise FathomError(str(error)) from error
