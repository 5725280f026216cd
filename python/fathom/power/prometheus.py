"""A power meter behind a Prometheus server: one query of its HTTP API, asked once a second.

A range vector (`node_hwmon_power_average_watt[1m]`) brings the meter's samples with their own times. An instant
vector brings what the server last scraped, with the time of the question: up to a scrape interval late.
See prometheus.io/docs/prometheus/latest/querying/api.
"""

import json
import math
from http.client import HTTPException
from typing import cast
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from fathom.power.energy import Sample
from fathom.power.source import MeterError

TIMEOUT_S = 2.0
MOST_BYTES = 4 << 20


class Prometheus:
    """Asks `query` of the server at `url`, which must give one series."""

    def __init__(self, url: str, query: str) -> None:
        self._url = url
        self._query = query
        self._newest_s = -math.inf

    def read(self) -> list[Sample]:
        """Returns samples newer than those of the last call."""
        found = [sample for sample in self._answer() if sample[0] > self._newest_s]
        self._newest_s = max((time_s for time_s, _ in found), default=self._newest_s)
        return found

    def _answer(self) -> list[Sample]:
        question = f"{self._url.rstrip('/')}/api/v1/query?{urlencode({'query': self._query})}"
        try:
            with urlopen(Request(question), timeout=TIMEOUT_S) as response:
                body = response.read(MOST_BYTES)
        except HTTPError as error:
            raise MeterError(f"{self._url}: {_refusal(error)}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise MeterError(f"{self._url}: {getattr(error, 'reason', None) or error}") from error
        try:
            return _samples(json.loads(body)["data"])
        except MeterError as error:
            raise MeterError(f"{self._url}: {error}") from error
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise MeterError(f"{self._url}: the answer is not one of Prometheus' HTTP API") from error


def _samples(data: dict[str, object]) -> list[Sample]:
    kind, result = data["resultType"], cast("list[dict[str, list[object]]]", data["result"])
    if kind == "scalar":
        return _finite([cast("list[object]", result)])
    if kind not in ("vector", "matrix"):
        raise MeterError(f"the query gives a {kind}, not a power")
    if len(result) != 1:
        many = f"{len(result)} series" if result else "no series"
        raise MeterError(f"the query gives {many}: choose one by its labels, or sum them")
    return _finite(
        [result[0]["value"]] if kind == "vector" else cast("list[list[object]]", result[0]["values"])
    )


def _finite(pairs: list[list[object]]) -> list[Sample]:
    found = [(float(str(time_s)), float(str(watts))) for time_s, watts in pairs]
    return [sample for sample in found if all(map(math.isfinite, sample))]


def _refusal(error: HTTPError) -> str:
    """Returns what the server says of the query, else the status."""
    try:
        return str(json.loads(error.read(MOST_BYTES))["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"HTTP {error.code} {error.reason}"
