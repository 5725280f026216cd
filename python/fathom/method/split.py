"""A job as several parts run it: hosts of a fleet, drives of an array."""

from fathom import _core
from fathom.errors import FathomError


def split_job(job_json: str, parts: int) -> list[str]:
    """Returns what each part does: the job, or its share of a load that is for all together. Raises FathomError."""
    try:
        return _core.split_job(job_json, parts)
    except _core.ParseError as error:
        raise FathomError(str(error)) from error
