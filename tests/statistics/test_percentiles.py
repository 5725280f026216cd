"""Percentiles from histogram bins: the same rank and bin as the recording, and nothing where n is too small."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fathom.columns.schema import LATENCY
from fathom.statistics.percentiles import (
    BUCKET_LABELS,
    OVERFLOW_NS,
    Histogram,
    Parts,
    intervals_us,
    quantile_us,
    repeats_interval_us,
)
from fathom.statistics.uncertainty import effective_latencies, latency_interval


def bounds_ns(values_ns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The bins of crate `recording`: 1 ns wide below 256 ns, then 128 to a power of two."""
    shift = np.maximum(np.floor(np.log2(np.maximum(values_ns, 1))).astype(np.int64) - 7, 0)
    low = (values_ns >> shift) << shift
    return low, low + (1 << shift)


def histogram_of(values_ns: NDArray[np.int64]) -> Histogram:
    return Histogram.of(*bounds_ns(values_ns), np.ones(len(values_ns), dtype=np.int64))


@given(st.integers(0, 2**32), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_percentile_is_within_its_bin_error_of_the_value_at_its_rank(seed: int, q: float):
    rng = np.random.default_rng(seed)
    values = (1e5 * rng.lognormal(0, 1.5, 10_000)).astype(np.int64)
    exact = np.sort(values)[int(np.ceil(q * len(values))) - 1] / 1000
    found = histogram_of(values).quantile(q)
    assert found is not None
    assert abs(found.us - exact) <= found.error_us
    assert found.error_us <= 0.004 * found.us


def test_the_percentile_is_the_middle_of_the_bin_that_holds_rank_ceil_qn():
    low, high, count = [100_000, 200_704], [100_352, 201_728], [200, 200]
    assert quantile_us(low, high, count, 0.5) == quantile_us(low[:1], high[:1], [400], 0.5)
    at_half, above = quantile_us(low, high, count, 0.5), quantile_us(low, high, [199, 201], 0.5)
    assert at_half is not None
    assert above is not None
    assert at_half.us == (100_000 + 100_351) / 2 / 1000
    assert above.us == (200_704 + 201_727) / 2 / 1000


def test_a_percentile_with_fewer_than_a_hundred_ios_beyond_it_is_not_given():
    assert quantile_us([1000], [1008], [9_999], 0.99) is None
    assert quantile_us([1000], [1008], [10_000], 0.99) is not None
    assert quantile_us([], [], [], 0.5) is None


def test_the_overflow_bin_gives_a_lower_bound_without_an_error():
    found = quantile_us([1000, OVERFLOW_NS], [1008, 2**63 - 1], [100, 300], 0.5)
    assert found is not None
    assert (found.us, found.error_us) == (OVERFLOW_NS / 1000, np.inf)


def test_buckets_hold_every_io_once():
    milliseconds = np.array([0.5, 1.5, 3.0, 7.0, 15.0, 30.0, 400.0])
    counts = np.array([10, 20, 30, 10, 10, 15, 5])
    low, high = bounds_ns((milliseconds * 1e6).astype(np.int64))
    shares = Histogram(low, high, counts).bucket_shares()
    assert len(shares) == len(BUCKET_LABELS)
    assert shares == pytest.approx(counts / 100)


def test_a_bin_that_a_bucket_edge_cuts_is_divided():
    shares = Histogram.of([999_000], [1_001_000], [100]).bucket_shares()
    assert shares[:2] == pytest.approx([0.5, 0.5])


def test_the_ccdf_falls_to_zero_and_agrees_with_the_values():
    values = (1e5 * np.random.default_rng(1).lognormal(0, 1, 50_000)).astype(np.int64)
    edges_us, beyond = histogram_of(values).ccdf()
    assert beyond[-1] == 0
    assert np.all(np.diff(beyond) < 0)
    at = len(edges_us) // 2
    assert beyond[at] == pytest.approx(np.mean(values >= edges_us[at] * 1000))


def test_the_mean_of_a_histogram_is_within_its_bins():
    values = (1e5 * np.random.default_rng(2).lognormal(0, 1, 50_000)).astype(np.int64)
    assert histogram_of(values).mean_us() == pytest.approx(values.mean() / 1000, rel=0.004)
    assert Histogram.of([], [], []).mean_us() is None


def latency_table(seconds: int = 20) -> pa.Table:
    rng = np.random.default_rng(3)
    rows = []
    for target, scale in (("twin:a", 8e4), ("twin:b", 2e5)):
        for op in ("read", "write"):
            for index in range(seconds):
                values = (scale * rng.lognormal(0, 0.5, 1000)).astype(np.int64)
                bins = histogram_of(values)
                common = {
                    "target": target,
                    "step": "mixed",
                    "workload": "mix",
                    "op": op,
                    "latency": "service",
                    "index": index,
                }
                rows += [
                    common | {"low_ns": int(low), "high_ns": int(high), "count": int(count)}
                    for low, high, count in zip(bins.low_ns, bins.high_ns, bins.count, strict=True)
                ]
    return pa.Table.from_pylist(rows, schema=LATENCY)


def reads_of(table: pa.Table, target: str) -> Histogram:
    rows = table.filter((pc.field("target") == target) & (pc.field("op") == "read"))
    return Histogram.of(*(rows[name].to_numpy() for name in ("low_ns", "high_ns", "count")))


def test_seconds_and_targets_are_merged_by_adding_counts():
    table = latency_table()
    apart = [reads_of(table, target) for target in ("twin:a", "twin:b")]
    assert [one.n for one in apart] == [20_000] * 2
    together = Histogram.merged(apart)
    assert together.n == 40_000
    assert np.all(np.diff(together.low_ns) > 0)


def test_a_percentile_has_an_interval_from_the_seconds_beyond_its_bin():
    table = latency_table()
    drive = reads_of(table, "twin:a")
    found, edge = drive.quantile(0.99), drive.edge_ns(0.99)
    assert found is not None
    low, high = ((found.us + side * found.error_us) * 1000 for side in (-1, 1))
    assert edge in (round(low), round(high) + 1)
    shares = [drive.count[drive.low_ns >= end].sum() / drive.n for end in (round(low), round(high) + 1)]
    assert drive.count[drive.low_ns >= edge].sum() / drive.n == min(
        shares, key=lambda share: abs(share - 0.01)
    )
    alike, uneven, unlike = np.full(20, 10.0), np.repeat([9.0, 11.0], 10), np.repeat([0.0, 20.0], 10)
    total = np.full(20, drive.n / 20)
    narrow, wide = (drive.interval_us(0.99, beyond, total) for beyond in (alike, uneven))
    assert narrow is not None
    assert wide is not None
    assert wide[0] <= narrow[0] < found.us < narrow[1] < wide[1]
    assert drive.interval_us(0.99, unlike, total) is None
    assert drive.interval_us(0.99, alike[:4], total[:4]) is None
    assert drive.interval_us(0.999, alike, total) is None
    assert drive.edge_ns(0.999) is None


@given(low_ns=st.integers(1_000_000, 1 << 40), n=st.integers(20_000, 1 << 30))
def test_latencies_that_are_all_alike_have_their_bin_as_the_interval(low_ns: int, n: int) -> None:
    low, high = bounds_ns(np.array([low_ns]))
    alike = Histogram.of(low, high, [n])
    queued_us = np.where(np.arange(20) % 2, low[0] / 1000, high[0] / 1000)
    total = np.full(20, n / 20)
    found = alike.interval_us(0.99, np.zeros(20), total, alike.independent(queued_us, total))
    assert found == (low[0] / 1000, high[0] / 1000)


def test_a_single_burst_that_is_all_of_the_tail_gives_no_interval():
    """256 I/Os that waited for the same erase are one event, however many of them lie beyond the percentile."""
    total = np.full(36, 60_000.0)
    burst = np.zeros(36)
    burst[20] = 256
    whole = Histogram.of([1_000, 11_403_264], [1_008, 11_468_800], [int(total.sum()) - 256, 256])
    assert whole.quantile(0.9999) is not None
    edge_ns = whole.edge_ns(0.9999)
    assert edge_ns == 11_403_264
    assert whole.interval_us(0.9999, burst, total) is None
    many = np.tile([256.0, 0.0], 18)
    often = Histogram.of(
        [1_000, 11_403_264], [1_008, 11_468_800], [int(total.sum() - many.sum()), int(many.sum())]
    )
    assert often.interval_us(0.999, many, total) is not None


def test_intervals_from_a_latency_table_in_parts_are_those_of_its_seconds() -> None:
    rng = np.random.default_rng(3)
    rows, per_second = [], []
    for index in range(20):
        low_ns, count = np.unique(
            rng.exponential(1e5, 3000).astype(np.int64) // 1000 * 1000, return_counts=True
        )
        per_second.append(Histogram.of(low_ns, low_ns + 1000, count))
        common = {
            "target": "a",
            "step": "s",
            "workload": "w",
            "op": "read",
            "latency": "service",
            "index": index,
        }
        rows += [
            common | {"low_ns": low, "high_ns": low + 1000, "count": n}
            for low, n in zip(low_ns.tolist(), count.tolist(), strict=True)
        ]
    later = 10_000_000
    responses = [
        row | {"latency": "response", "low_ns": row["low_ns"] + later, "high_ns": row["high_ns"] + later}
        for row in rows
    ]
    rows += [row | {"target": "b", "low_ns": 10**9, "high_ns": 10**9 + 1000} for row in rows]
    rows += responses
    table = pa.Table.from_pylist(rows, schema=LATENCY)
    whole = Histogram.merged(per_second)
    edge_ns = whole.edge_ns(0.99)
    assert edge_ns is not None
    beyond = [int(one.count[one.low_ns >= edge_ns].sum()) for one in per_second]
    expected = whole.interval_us(0.99, beyond, [one.n for one in per_second])
    response = Histogram(whole.low_ns + later, whole.high_ns + later, whole.count)
    of_window = {("read", "service"): whole, ("read", "response"): response}
    portions = (table.slice(start, 1000) for start in range(0, table.num_rows, 1000))
    both = intervals_us([Parts.of_table(portion, "a", of_window) for portion in portions], of_window)
    found = both["read", "service"]
    assert expected is not None
    assert found["p99_us"] == expected
    assert set(found) == {"p50_us", "p95_us", "p99_us"}
    shifted = {name: pytest.approx((low + 10_000, high + 10_000)) for name, (low, high) in found.items()}
    assert both["read", "response"] == shifted


def test_ios_beyond_percentiles_are_counted_in_each_part_as_one_edge_at_a_time_counts_them() -> None:
    rng = np.random.default_rng(4)
    low_ns = rng.integers(0, 50, 500)
    parts = Parts(rng.integers(0, 9, 500), low_ns, low_ns + 1, rng.integers(1, 100, 500))
    edges_ns = [10, 20, 20, 45]
    expected = [
        [parts.count[(parts.index == part) & (low_ns >= edge)].sum() for part in range(9)]
        for edge in (0, *edges_ns)
    ]
    assert parts.beyond(edges_ns).tolist() == expected
    empty = np.zeros(0, dtype=np.int64)
    assert Parts(empty, empty, empty, empty).beyond(edges_ns).shape == (5, 0)


def queue(load: float, seconds: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Response times in ns of an M/M/1 queue of 1,000 I/O per s (Lindley's recursion), and the second each ended in."""
    warm_s, count = 20, int(1050 * load * (seconds + 20)) + 1000
    gaps_s, services_s = rng.exponential(1e-3 / load, count), rng.exponential(1e-3, count)
    walk = np.concatenate([[0.0], np.cumsum(services_s[:-1] - gaps_s[1:])])
    responses_s = walk - np.minimum.accumulate(walk) + services_s
    ends_s = np.cumsum(gaps_s) + responses_s - warm_s
    seen = (ends_s >= 0) & (ends_s < seconds)
    return (responses_s[seen] * 1e9).astype(np.int64), ends_s[seen].astype(np.int64)


def covered(load: float, seconds: int, series: int) -> dict[str, tuple[int, int]]:
    """How many series of a queue give the figure an interval, and how many of these hold the known value."""
    rng = np.random.default_rng(11)
    mean_us = 1e3 / (1 - load)
    found = {name: [] for name in ("mean_us", "p50_us", "p99_us")}
    for _ in range(series):
        responses_ns, second = queue(load, seconds, rng)
        whole, total = histogram_of(responses_ns), np.bincount(second, minlength=seconds)
        means_us = np.bincount(second, responses_ns, seconds) / np.maximum(total, 1) / 1000
        mean = latency_interval(means_us, total)
        assert mean is not None
        found["mean_us"].append(mean.low <= mean_us <= mean.high)
        for name, q in (("p50_us", 0.5), ("p99_us", 0.99)):
            beyond = np.bincount(second[responses_ns >= (whole.edge_ns(q) or 0)], minlength=seconds)
            bounds = whole.interval_us(q, beyond, total, whole.independent(means_us, total))
            if bounds:
                # Responses of an M/M/1 queue are exponential.
                found[name].append(bounds[0] <= -np.log(1 - q) * mean_us <= bounds[1])
    return {name: (len(held), sum(held)) for name, held in found.items()}


def test_intervals_of_response_latency_cover_the_known_ones_of_a_queue() -> None:
    assert all(given == 150 and held >= 135 for given, held in covered(0.6, 60, 150).values())


def test_a_percentile_of_responses_has_an_interval_only_where_it_would_cover() -> None:
    # 670 relaxation times, 1 / (rate of the server x (1 - sqrt(load))^2), and 38 of them.
    given, held = covered(0.8, 60, 150)["p99_us"]
    assert given > 100
    assert held >= 0.9 * given
    short = covered(0.95, 60, 150)
    assert short["p99_us"][0] <= 3
    assert short["p50_us"][0] > 130
    assert short["p50_us"][1] >= 0.9 * short["p50_us"][0]


def test_independent_latencies_are_as_many_as_there_are_and_a_queue_s_as_many_as_its_relaxation_times() -> (
    None
):
    rng = np.random.default_rng(5)
    alone_us = rng.exponential(100, (60, 1000))
    counts = np.full(60, 1000.0)
    assert effective_latencies(alone_us.mean(axis=1), counts, 100**2) == pytest.approx(60_000, rel=0.4)
    responses_ns, second = queue(0.8, 300, rng)
    total = np.bincount(second, minlength=300)
    means_us = np.bincount(second, responses_ns, 300) / total / 1000
    relaxation_s = 1e-3 / (1 - np.sqrt(0.8)) ** 2
    found = effective_latencies(means_us, total, float(np.var(responses_ns / 1000)))
    assert found == pytest.approx(300 / relaxation_s, rel=0.4)


def test_a_quantile_of_zero_has_no_interval_between_repeats() -> None:
    instant = Histogram.of([0, 1000], [1, 1016], [10_000, 10_000])
    slower = Histogram.of([1000], [1016], [10_000])
    assert repeats_interval_us([instant, instant], 0.5) is None
    assert repeats_interval_us([instant, slower], 0.5) is None
