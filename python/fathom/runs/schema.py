"""The columns of a run's Parquet tables: the single definition, documented in docs/reference/run-directory.md.

One row of *points* is one (target, step, workload, operation); of *streams* the same of each of several workloads at
once; of *intervals* the same as of *points* per second; of *latency* one occupied histogram bin of one second; of
*telemetry* one named value of one target at one time.
"""

import pyarrow as pa

RUN_SCHEMA = "fathom-run/1"

_BUSY = pa.struct(
    [("name", pa.string()), ("servers", pa.int32()), ("mean", pa.float64()), ("busiest", pa.float64())]
)
LIMIT = pa.struct(
    [
        ("kind", pa.string()),
        ("resource", _BUSY),
        ("waiting", pa.float64()),
        ("amount", pa.float64()),
        ("next", _BUSY),
    ]
)
"""What limits a step: the fields of `fathom.statistics.limits.Limit`."""

POINTS = pa.schema(
    [
        ("target", pa.string()),
        ("method", pa.string()),
        ("step", pa.string()),
        ("workload", pa.string()),
        ("op", pa.string()),
        ("block_bytes", pa.int64()),
        ("read_pct", pa.float64()),
        ("threads", pa.int32()),
        ("iodepth", pa.int32()),
        ("offered_iops", pa.float64()),
        ("iops", pa.float64()),
        ("iops_low", pa.float64()),
        ("iops_high", pa.float64()),
        ("mbps", pa.float64()),
        ("mean_us", pa.float64()),
        ("mean_low_us", pa.float64()),
        ("mean_high_us", pa.float64()),
        ("p50_us", pa.float64()),
        ("p50_low_us", pa.float64()),
        ("p50_high_us", pa.float64()),
        ("p95_us", pa.float64()),
        ("p95_low_us", pa.float64()),
        ("p95_high_us", pa.float64()),
        ("p99_us", pa.float64()),
        ("p99_low_us", pa.float64()),
        ("p99_high_us", pa.float64()),
        ("p999_us", pa.float64()),
        ("p999_low_us", pa.float64()),
        ("p999_high_us", pa.float64()),
        ("p9999_us", pa.float64()),
        ("p9999_low_us", pa.float64()),
        ("p9999_high_us", pa.float64()),
        ("p99999_us", pa.float64()),
        ("p99999_low_us", pa.float64()),
        ("p99999_high_us", pa.float64()),
        ("max_us", pa.float64()),
        ("censored", pa.int64()),
        ("censored_us", pa.float64()),
        ("response_mean_us", pa.float64()),
        ("response_mean_low_us", pa.float64()),
        ("response_mean_high_us", pa.float64()),
        ("response_p50_us", pa.float64()),
        ("response_p50_low_us", pa.float64()),
        ("response_p50_high_us", pa.float64()),
        ("response_p95_us", pa.float64()),
        ("response_p95_low_us", pa.float64()),
        ("response_p95_high_us", pa.float64()),
        ("response_p99_us", pa.float64()),
        ("response_p99_low_us", pa.float64()),
        ("response_p99_high_us", pa.float64()),
        ("response_p999_us", pa.float64()),
        ("response_p999_low_us", pa.float64()),
        ("response_p999_high_us", pa.float64()),
        ("response_p9999_us", pa.float64()),
        ("response_p9999_low_us", pa.float64()),
        ("response_p9999_high_us", pa.float64()),
        ("response_p99999_us", pa.float64()),
        ("response_p99999_low_us", pa.float64()),
        ("response_p99999_high_us", pa.float64()),
        ("response_censored_us", pa.float64()),
        ("errors", pa.int64()),
        ("failed_share", pa.float64()),
        ("waf", pa.float64()),
        ("waf_low", pa.float64()),
        ("waf_high", pa.float64()),
        ("joules", pa.float64()),
        ("joules_low", pa.float64()),
        ("joules_high", pa.float64()),
        ("outstanding", pa.float64()),
        ("backlog", pa.int64()),
        ("limited_by", pa.string()),
        ("limit", LIMIT),
        ("steady", pa.bool_()),
        ("window_s", pa.float64()),
        ("n", pa.int64()),
    ]
)

STREAMS = pa.schema(
    [
        ("target", pa.string()),
        ("step", pa.string()),
        ("workload", pa.string()),
        ("stream", pa.string()),
        ("op", pa.string()),
        ("placement", pa.string()),
        ("block_bytes", pa.int64()),
        ("threads", pa.int32()),
        ("iodepth", pa.int32()),
        ("iops", pa.float64()),
        ("iops_low", pa.float64()),
        ("iops_high", pa.float64()),
        ("mbps", pa.float64()),
        ("mean_us", pa.float64()),
        ("mean_low_us", pa.float64()),
        ("mean_high_us", pa.float64()),
        ("p50_us", pa.float64()),
        ("p50_low_us", pa.float64()),
        ("p50_high_us", pa.float64()),
        ("p95_us", pa.float64()),
        ("p95_low_us", pa.float64()),
        ("p95_high_us", pa.float64()),
        ("p99_us", pa.float64()),
        ("p99_low_us", pa.float64()),
        ("p99_high_us", pa.float64()),
        ("p999_us", pa.float64()),
        ("p999_low_us", pa.float64()),
        ("p999_high_us", pa.float64()),
        ("p9999_us", pa.float64()),
        ("p9999_low_us", pa.float64()),
        ("p9999_high_us", pa.float64()),
        ("p99999_us", pa.float64()),
        ("p99999_low_us", pa.float64()),
        ("p99999_high_us", pa.float64()),
        ("max_us", pa.float64()),
        ("censored", pa.int64()),
        ("censored_us", pa.float64()),
        ("errors", pa.int64()),
        ("failed_share", pa.float64()),
        ("window_s", pa.float64()),
        ("n", pa.int64()),
    ]
)

INTERVALS = pa.schema(
    [
        ("target", pa.string()),
        ("step", pa.string()),
        ("kind", pa.string()),
        ("workload", pa.string()),
        ("op", pa.string()),
        ("index", pa.int32()),
        ("start_s", pa.float64()),
        ("length_s", pa.float64()),
        ("n", pa.int64()),
        ("bytes", pa.int64()),
        ("errors", pa.int64()),
        ("iops", pa.float64()),
        ("mbps", pa.float64()),
        ("mean_us", pa.float64()),
        ("p50_us", pa.float64()),
        ("p99_us", pa.float64()),
        ("max_us", pa.float64()),
        ("offered", pa.int64()),
        ("backlog", pa.int64()),
    ]
)

LATENCY = pa.schema(
    [
        ("target", pa.string()),
        ("step", pa.string()),
        ("workload", pa.string()),
        ("op", pa.string()),
        ("latency", pa.string()),
        ("index", pa.int32()),
        ("low_ns", pa.int64()),
        ("high_ns", pa.int64()),
        ("count", pa.int64()),
        ("censored", pa.int64()),
    ]
)

TELEMETRY = pa.schema(
    [
        ("target", pa.string()),
        ("step", pa.string()),
        ("start_s", pa.float64()),
        ("length_s", pa.float64()),
        ("name", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
    ]
)

TABLES: dict[str, pa.Schema] = {
    "points": POINTS,
    "streams": STREAMS,
    "intervals": INTERVALS,
    "latency": LATENCY,
    "telemetry": TELEMETRY,
}

SPARSE = frozenset({"streams"})
"""Tables that a step has only where there are rows."""
