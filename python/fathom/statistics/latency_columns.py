"""How the columns of the points table that hold latencies are named."""

QUANTILES = {
    "p50_us": 0.50,
    "p95_us": 0.95,
    "p99_us": 0.99,
    "p999_us": 0.999,
    "p9999_us": 0.9999,
    "p99999_us": 0.99999,
}
"""Column of the points table -> quantile."""

PREFIXES = {"service": "", "response": "response_"}
"""Latency -> what the columns of its mean and percentiles begin with in the points table."""


def percentile_name(column: str) -> str:
    """Returns `p99.9` for `p999_us`."""
    return f"p{100 * QUANTILES[column]:g}"
