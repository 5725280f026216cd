"""What a profile says of traces whose properties are known."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from test_convert import fathom

from fathom._core import TraceProfile
from fathom.report.blocks import Figure
from fathom.report.trace import words
from fathom.report.trace.page import render
from fathom.report.trace.sections import sections
from fathom.traces.batch import NO_LATENCY, Findings
from fathom.traces.convert import faults
from fathom.traces.profile import Profile

US, MS, S = 1_000, 1_000_000, 1_000_000_000


def profile(
    issue_ns: NDArray[np.integer],
    offset_bytes: NDArray[np.integer] | NDArray[np.floating],
    operation: int | NDArray[np.integer] = 0,
    latency_ns: int | None = None,
    size_bytes: int = 4096,
) -> Profile:
    """The profile of I/Os on one device, taken in two batches."""
    count = len(issue_ns)
    columns = [
        np.asarray(issue_ns, np.uint64),
        np.full(count, NO_LATENCY if latency_ns is None else latency_ns, np.uint64),
        np.asarray(offset_bytes, np.uint64),
        np.full(count, size_bytes, np.uint64),
        np.broadcast_to(np.asarray(operation, np.uint8), count).copy(),
        np.zeros(count, np.uint8),
        np.zeros(count, np.uint32),
        np.zeros(count, np.uint32),
    ]
    summed = TraceProfile()
    for part in (slice(None, count // 2), slice(count // 2, None)):
        summed.add(*(np.ascontiguousarray(column[part]) for column in columns))
    return Profile.model_validate_json(summed.json())


def evenly(count: int, gap_ns: int = MS) -> NDArray[np.int64]:
    return np.arange(count) * gap_ns


def test_poisson_arrivals_have_an_index_of_dispersion_of_one_and_bursts_a_larger_one():
    drawn = np.random.default_rng(1)
    poisson = np.cumsum(drawn.exponential(100 * US, 500_000)).astype(np.int64)
    found = profile(poisson, np.zeros(len(poisson)))
    assert {width for width, _ in found.bursts.dispersion} == {MS, 10 * MS, 100 * MS, S}
    assert all(index == pytest.approx(1, abs=0.5) for _, index in found.bursts.dispersion)
    assert found.bursts.gap_variation == pytest.approx(1, abs=0.02)
    bursts = np.sort(np.concatenate([evenly(1000, 100 * MS) + one for one in range(50)]))
    assert dict(profile(bursts, np.zeros(len(bursts))).bursts.dispersion)[10 * MS] == pytest.approx(
        45, rel=0.02
    )


def test_rates_add_up_however_often_windows_doubled():
    found = profile(evenly(100_000, 10 * MS), np.zeros(100_000))
    assert sum(window[0] for window in found.timeline.ios) == 100_000
    assert len(found.timeline.ios) <= 256
    assert found.duration_ns == 99_999 * 10 * MS


def test_interleaved_streams_are_found_and_random_io_has_none():
    streams = np.array(
        [[4096 * place + (stream << 40) for stream in range(4)] for place in range(500)]
    ).ravel()
    found = profile(evenly(len(streams)), streams).runs
    assert (found.streams, found.streams_most, found.strictly) == (4, 4, 0)
    assert found.followed == len(streams) - 4
    scattered = np.random.default_rng(2).integers(0, 1 << 40, 5000) * 4096
    assert profile(evenly(5000), scattered).runs.streams == 0


def test_runs_of_two_ios_have_two_and_not_the_middle_of_two_and_three():
    pairs = np.arange(2000) // 2 * (1 << 20) + np.arange(2000) % 2 * 4096
    last = np.arange(3) * 4096 + (1 << 40)
    found = profile(evenly(2003), np.concatenate([pairs, last])).runs
    assert found.run_ios[0] == 2


def test_a_hot_tenth_of_the_space_gets_the_accesses_that_it_got():
    drawn = np.random.default_rng(3)
    hot = drawn.random(400_000) < 0.9
    units = np.where(hot, drawn.integers(0, 1000, len(hot)), drawn.integers(1000, 10_000, len(hot)))
    found = profile(evenly(len(units)), units * 4096).reuse
    assert found.sampled == 1
    assert dict(found.heat)[0.1] == pytest.approx(0.9, abs=0.01)


def test_a_scan_hits_a_cache_that_holds_it_and_none_that_is_smaller():
    units = np.tile(np.arange(1000), 20)
    hits = profile(evenly(len(units)), units * 4096).reuse.hits
    assert all(share == 0 for size, share, _ in hits if size < 1000)
    assert hits[-1][:2] == (1023, pytest.approx(0.95))
    assert all(error == 0 for *_, error in hits)


def test_a_cache_that_serves_half_is_said_to_be_one_of_sizes_by_doublings():
    units = np.tile(np.arange(5), 20)
    said = words.cache(profile(evenly(len(units)), units * 4096))
    assert said.startswith("An LRU cache of 28 KiB serves 95 % of the accesses"), "7 units, where 5 do"
    assert said.endswith("counted exactly. Sizes are tried by doublings.")


@pytest.mark.parametrize("units", [300_000, 1_000_000])
def test_a_sample_of_the_space_finds_the_hits_of_uniform_accesses_within_its_error(units: int):
    drawn = np.random.default_rng(4).integers(0, units, 3_000_000)
    found = profile(evenly(len(drawn), US), drawn * 4096).reuse
    assert found.sampled == pytest.approx(65_536 / units, rel=0.05)
    # An access finds its unit in a cache of c units when it is among the last c different ones, or all so far.
    touched = units * -np.expm1(-np.arange(len(drawn)) / units)
    for size, share, error in found.hits:
        if units / 20 < size < units / 4:
            expected = np.minimum(touched, size).mean() / units
            assert share == pytest.approx(expected, abs=max(4 * error, 0.06 * expected)), size
    assert 0 < max(error for *_, error in found.hits) < 0.02


def test_data_lives_until_it_is_written_over_or_discarded():
    units = np.tile(np.arange(100), 10)
    operations = np.ones(1000, np.uint8)
    operations[-100:] = 3
    found = profile(evenly(1000), units * 4096, operations).reuse
    assert found.overwritten == 1
    assert found.life_quantiles_ns == pytest.approx((100 * MS,) * 3, rel=0.07)


def test_the_working_set_and_the_footprint_are_within_their_error():
    units = np.concatenate([np.arange(50_000) + 10_000 * window for window in range(10)])
    found = profile(evenly(len(units), 10 * US), units * 4096).timeline
    assert found.footprint_units[-1] == pytest.approx(140_000, rel=4 * 0.0325)
    assert np.median(found.working_set_units) == pytest.approx(found.width_ns / (10 * US), rel=4 * 0.0325)


@pytest.mark.parametrize(("ios", "unit"), [(20, "kB"), (4000, "MB"), (400_000, "GB")])
def test_the_touched_space_is_drawn_in_a_unit_of_its_size(ios: int, unit: str):
    found = profile(evenly(ios), np.arange(ios) * 4096)
    blocks = [block for section in sections(found) for block in section.blocks if isinstance(block, Figure)]
    [chart] = [chart for block in blocks for chart in block.charts if chart.title == "Touched space"]
    assert chart.sub == unit


def test_depth_obeys_littles_law():
    found = profile(evenly(10_000, 100 * US), np.zeros(10_000), latency_ns=450 * US).in_flight
    assert found.mean == pytest.approx(4.5, rel=0.01)
    assert (found.most, found.quantiles[0]) == (5, 5)
    assert found.busy == pytest.approx(1)


def test_every_section_has_a_sentence_and_the_page_shows_it(tmp_path: Path):
    lines = "".join(
        f"{100 * at},{'RW'[at % 3 == 0]},{4096 * (at * 37 % 500)},4096,80,app\n" for at in range(5000)
    )
    (tmp_path / "app.csv").write_text(lines)
    columns = "time_us,op,offset,size,latency_us,process"
    done = fathom("characterise", "app.csv", "--columns", columns, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "app.html").read_text()
    text = " ".join(done.stdout.decode().split())
    assert "67 % reads, 33.3 % writes" in text.replace("66.7", "67")
    for part in ("was busier", "Poisson", "in flight", "hottest tenth", "LRU cache", "app issues 100 %"):
        assert part in text
        assert part in page.replace("\N{NO-BREAK SPACE}", " ")


def test_a_trace_of_one_io_has_a_page_too():
    alone = profile(np.array([0]), np.array([4096]), 1)
    assert len(render(alone.model_copy(update={"name": "one", "format": "csv"}))) > 1000
    assert all(section.answer[0].endswith(".") for section in sections(alone))
    flushes = profile(evenly(3), np.zeros(3), 2, size_bytes=0)
    assert render(flushes)


def test_what_an_estimate_or_a_rounding_hides_is_said_in_words():
    alone = profile(np.array([0]), np.array([4096]), 1)
    assert words.rates(alone) == "The trace has one I/O, and so no rates."
    once = profile(evenly(20_000), np.arange(20_000) * 4096)
    over = once.timeline.model_copy(update={"footprint_units": [21_000]})
    assert "with an average of one access to each 4 KiB" in words.heat(
        once.model_copy(update={"timeline": over})
    )
    rarely = np.arange(2000) * 4096
    rarely[-1] = 0
    assert words.lives(profile(evenly(2000), rarely, 1)).startswith(
        "Less than 1 % of what is written is overwritten"
    )
    large = profile(evenly(9), np.arange(9) << 28, 0, size_bytes=1 << 28)
    assert words.working_set(large).endswith(
        "That is too little: only the first 64 MiB of an I/O count, and there are I/Os of 256 MiB."
    )
    assert "too little" not in words.working_set(
        profile(evenly(9), np.arange(9) << 26, 0, size_bytes=64 << 20)
    )


@pytest.mark.parametrize("latency_us", [0.9, 10, 10.5, 100, 12_345])
def test_no_percentile_of_equal_latencies_lies_beside_them(latency_us: float):
    found = profile(evenly(1000), 4096 * evenly(1000, 1), latency_ns=round(latency_us * US))
    one = words.time(latency_us * US)
    assert words.latency(found) == f"Reads took {one} on average, 99 % within {one}."
    own = found.mix.latencies[0]
    assert own
    assert set(own.shown_quantiles_ns) == {latency_us * US}


def test_a_mean_above_most_latencies_leaves_their_percentiles_below_it():
    found = profile(evenly(1000), 4096 * evenly(1000, 1), latency_ns=10 * US).mix.latencies[0]
    assert found
    # One I/O of 10 s among a thousand of 10 us: 99 % are far below the mean.
    skewed = found.model_copy(update={"mean_ns": 10.0 * MS, "most_ns": 10 * S})
    assert skewed.shown_quantiles_ns[2] == skewed.quantiles_ns[2]


def test_numbers_of_extreme_traces_have_no_exponent():
    burst = np.concatenate([np.arange(3000) * US, S * np.arange(1, 21)])
    assert "the variance of the arrivals is 2,980 times their mean" in words.arrivals(
        profile(burst, np.zeros(len(burst)))
    )
    apart = profile(np.array([0, MS, 5_184_000 * S]), np.zeros(3), latency_ns=10 * US)
    assert words.rates(apart).startswith("< 0.0001 IOPS")
    assert words.depth(apart).startswith("< 0.0001 I/Os are in flight on average")
    assert "Flushes are 100 %" in words.alignment(
        profile(evenly(2000), np.zeros(2000), np.where(np.arange(2000) < 2, 0, 2))
    )


def test_columns_of_different_lengths_are_refused():
    one, two = np.zeros(1, np.uint64), np.zeros(2, np.uint64)
    small, names = np.zeros(1, np.uint8), np.zeros(1, np.uint32)
    with pytest.raises(Exception, match="equal lengths"):
        TraceProfile().add(two, one, one, one, small, small, names, names)


def test_one_of_something_is_written_in_the_singular():
    alone = profile(np.array([0]), np.zeros(1), 1)
    assert words.mix(alone) == "The trace has one I/O, a write."
    one_by_one = profile(evenly(1000), 4096 * evenly(1000, 1), latency_ns=MS)
    assert words.depth(one_by_one).startswith("1 I/O is in flight on average, 1 at most")
    assert "an average of one access to each 4 KiB" in words.heat(one_by_one)
    drawn = np.random.default_rng(1)
    poisson = np.cumsum(drawn.exponential(100 * US, 500_000)).astype(np.int64)
    assert "times their mean" in words.arrivals(profile(poisson, np.zeros(len(poisson))))


def test_one_fault_of_a_kind_is_written_in_the_singular():
    one = Findings(late=1, unfinished=1, unknown=1, lost=1)
    assert faults(one, 10)[:4] == [
        "1 record of events was lost: the kernel had no room",
        "1 I/O stands too late in the file to be put in order",
        "1 I/O has no completion, and no latency",
        "1 completion belongs to no I/O of the trace",
    ]
    assert "2 I/Os have no completion, and no latency" in faults(Findings(unfinished=2), 10)


def test_arrivals_are_called_regular_poisson_or_bursts_only_where_windows_with_arrivals_show_it():
    drawn = np.random.default_rng(1)
    poisson = np.cumsum(drawn.exponential(100 * US, 200_000)).astype(np.int64)
    rare = np.cumsum(drawn.exponential(2.5 * S, 200)).astype(np.int64)
    bursts = np.sort(np.concatenate([evenly(200, 100 * MS) + one for one in range(50)]))
    for issues, said in (
        (poisson, "nearly a Poisson process"),
        (evenly(200_000, 100 * US), "more regular than a Poisson process"),
        (rare, "nearly a Poisson process"),
        (rare[:40], "too few I/Os to say more"),
        (evenly(3), "too short to say"),
        (bursts, "I/Os come in bursts"),
    ):
        assert said in words.arrivals(profile(issues, np.zeros(len(issues))))


def test_places_drawn_equally_likely_are_no_hot_spot_and_a_skew_is_one():
    drawn = np.random.default_rng(2)
    uniform = profile(evenly(12_000), drawn.integers(0, 2000, 12_000) * 4096)
    assert "chance alone gives it 17 %" in words.heat(uniform).replace("18 %", "17 %")
    skewed = profile(evenly(12_000), (drawn.power(0.3, 12_000) * 2000).astype(np.int64) * 4096)
    assert words.heat(skewed).endswith("a cache or a fast tier of that size would see them.")


def test_every_operation_with_latencies_has_them_in_the_sentence():
    operations = np.tile([1, 2], 500)
    found = words.latency(profile(evenly(1000), np.zeros(1000), operations, latency_ns=20 * US))
    assert (
        found
        == "Writes took 20 us on average, 99 % within 20 us; flushes took 20 us on average, 99 % within 20 us."
    )


def test_the_rate_of_a_steady_trace_does_not_fall_at_its_end():
    built = sections(profile(evenly(3000), np.zeros(3000)))
    rate = next(
        chart
        for section in built
        for block in section.blocks
        if isinstance(block, Figure)
        for chart in block.charts
        if chart.title == "Rate"
    )
    [series] = cast("list[dict[str, list[list[float]]]]", rate.option["series"])
    assert {round(y / 1000, 2) for _, y in series["data"]} == {1.0}
