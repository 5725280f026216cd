"""Objectives of latency, and whether a replay keeps them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from fathom import _core
from fathom.errors import UsageError

_FORM = r"(?P<figure>mean|max|p50|p95|p99|p99\.9|p99\.99) (?P<op>read|write|flush) ?<=? ?(?P<limit>[\d.]+ ?[a-z]+)"
_FIGURES = {
    "mean": "response_mean_us",
    "p50": "response_p50_us",
    "p95": "response_p95_us",
    "p99": "response_p99_us",
    "p99.9": "response_p999_us",
    "p99.99": "response_p9999_us",
}
SUSTAINED = 0.99
"""A replay that completes a smaller share of the rate that its I/Os arrive at does not keep up."""


@dataclass(frozen=True)
class Objective:
    """A limit of a latency, us, from the arrival of an I/O to its completion."""

    text: str
    figure: str
    op: str
    limit_us: float

    @property
    def least_ios(self) -> int:
        """Returns how many I/Os of the operation the figure takes: a hundred beyond a percentile."""
        if not self.figure.startswith("p"):
            return 1
        return ceil(100 / (1 - float(self.figure[1:]) / 100) - 1e-6)

    def value(self, recording: "_core.Recording") -> float | None:
        """Returns the latency that is limited, us; None where the load has no such operation."""
        own = next((one for one in recording.ops if one.op == self.op and one.n), None)
        if own is None:
            return None
        return _longest_us(own) if self.figure == "max" else getattr(own, _FIGURES[self.figure])


def _longest_us(op: "_core.OpResult") -> float | None:
    """Returns what no response took longer than: the end of its bin. Under a closed load it is the longest service."""
    ends_ns = [high_ns for _, high_ns, _ in op.response_bins]
    return max(ends_ns) / 1e3 if ends_ns else op.max_us


def parse_objective(text: str) -> Objective:
    """Reads `p99 read < 500us`. Raises UsageError with the form."""
    match = re.fullmatch(_FORM, text.strip())
    hint = 'write "p99 read < 500us": mean, p50, p95, p99, p99.9, p99.99 or max of read, write or flush'
    if match is None:
        raise UsageError(f"--slo {text!r}: not understood", hint)
    try:
        limit_ns = _core.parse_duration_ns(match["limit"].replace(" ", ""))
    except _core.ParseError as error:
        raise UsageError(f"--slo {text!r}: {error}", hint) from error
    if limit_ns <= 0:
        raise UsageError(f"--slo {text!r}: nothing is that fast", hint)
    return Objective(text.strip(), match["figure"], match["op"], limit_ns / 1e3)


def keeps(recording: "_core.Recording", rate_iops: float, objectives: Sequence[Objective]) -> bool:
    """Returns whether a replay at that rate was kept up with, within every objective.

    An operation that the load lacks limits nothing. A figure with too few I/Os is not known to be kept.
    """
    n = sum(op.n for op in recording.ops)
    if not recording.window_s or n / recording.window_s < SUSTAINED * rate_iops:
        return False
    had = {op.op for op in recording.ops if op.n}
    limits = [(one.value(recording), one.limit_us) for one in objectives if one.op in had]
    return all(value is not None and value <= limit for value, limit in limits)
