"""A job that a twin has run is found again in the trace of that run."""

from functools import cache
from pathlib import Path
from random import Random

import pytest

from fathom._core import Job, TwinDevice
from fathom.fitting.chosen import Choice, count
from fathom.fitting.fit import Fitted, fit
from fathom.fitting.on_twin import fresh_twin, run_logged, run_plain, twin_holding
from fathom.fitting.to_method import method_toml
from fathom.method.method import parse_method
from fathom.traces.opening import open_trace

OPEN = 'load = { rate = "20k/s", iodepth = 256 }\nuntil = { time = "3s" }'
FILL = """
mix = "write"
block = "128KiB"
pattern = "sequential"
region = "8GiB"
load = { iodepth = 32 }
until = { written = "1x" }
"""


@cache
def twin() -> TwinDevice:
    device = fresh_twin(twin_holding("samsung-pm9a3-7.68tb", 10 << 30), 1)
    run_plain(Job(FILL, "fill.toml"), device, 1)
    return device


def found(text: str, seed: int = 3) -> tuple[Fitted, Job]:
    """What is fitted to the trace of a job's run, and the job of the method's file."""
    ran = run_logged(Job(text, "job.toml"), twin(), seed, "trace")
    fitted = fit(count(Choice(lambda: ran.trace)))
    return fitted, parse_method(method_toml(fitted), "fitted.toml").steps[-1].job


def test_uniform_mixes_keep_their_shares_region_rate_and_size():
    _, job = found(
        f'mix = {{ read = 70, write = 30 }}\nblock = "8KiB"\npattern = "uniform"\nregion = "4GiB"\n{OPEN}'
    )
    assert job.pattern.kind == "uniform"
    assert job.read_pct == pytest.approx(70, abs=1)
    assert job.block_sizes == {"read": (8192,), "write": (8192,)}
    assert job.region_size.bytes == 4 << 30
    assert job.rate_iops == pytest.approx(20_000, rel=0.02)
    assert job.arrival == "exponential"


@pytest.mark.parametrize(("theta", "gib"), [(0.5, 1), (0.8, 4), (0.99, 1), (1.2, 4)])
def test_the_skew_of_zipf_is_known_to_two_hundredths(theta: float, gib: int):
    _, job = found(f'mix = {{ read = 70, write = 30 }}\nblock = "4KiB"\npattern = {{ zipf = {theta} }}\n'
                   f'region = "{gib}GiB"\n{OPEN}')  # fmt: skip
    assert job.pattern.theta == pytest.approx(theta, abs=0.02)


def test_random_io_of_many_rare_sizes_beside_a_run_is_fitted_too(tmp_path: Path):
    lines, random = ["time_us,op,offset,size"], Random(1)
    for n in range(5000):
        run = (n - n // 5 - 1) * 131_072, 131_072
        anywhere = (1 << 33) + random.randrange(1 << 18) * 4096, random.randrange(1, 16_000) * 4096
        offset, size = anywhere if n % 5 == 0 else run
        lines.append(f"{n * 100},read,{offset},{size}")
    path = tmp_path / "sizes.csv"
    path.write_text("\n".join(lines) + "\n")
    fitted = fit(count(Choice(lambda: open_trace(path))))
    assert {part.name: part.total for part in fitted.parts}["random-reads"] == pytest.approx(1000, rel=0.05)


def test_sizes_keep_their_shares_and_zipf_its_skew_over_places_of_the_largest():
    _, job = found(
        'mix = "read"\nblock = [{ size = "4KiB", share = 60 }, { size = "16KiB", share = 40 }]\n'
        f'pattern = {{ zipf = 0.7 }}\nregion = {{ start = "1GiB", size = "2GiB" }}\n{OPEN}'
    )
    [reads] = job.ops
    weights = dict(reads.sizes)
    assert weights[4096] / sum(weights.values()) == pytest.approx(0.6, abs=0.01)
    assert job.pattern.theta == pytest.approx(0.7, abs=0.03)
    assert (job.region_start.bytes, job.region_size.bytes) == (1 << 30, 2 << 30)


def test_hot_bands_are_found_where_they_are():
    _, job = found(
        'mix = "read"\nblock = "4KiB"\nregion = "2GiB"\n'
        f"pattern = {{ hot-spots = [{{ area = 10, access = 60 }}, {{ area = 20, access = 30 }}] }}\n{OPEN}"
    )
    areas, accesses = zip(*job.pattern.bands, strict=True)
    assert areas == pytest.approx((10, 20, 70), abs=1)
    assert accesses == pytest.approx((60, 30, 10), abs=1)


@pytest.mark.parametrize(("pattern", "streams"), [('"sequential"', None), ("{ sequential = 4 }", 4)])
def test_sequential_streams_are_counted_and_a_closed_load_keeps_its_depth(pattern: str, streams: int | None):
    _, job = found(
        f'mix = "write"\nblock = "64KiB"\npattern = {pattern}\nregion = "8GiB"\n'
        'load = { iodepth = 16 }\nuntil = { count = 30000 }'
    )  # fmt: skip
    assert job.pattern.streams == streams
    assert job.pattern.kind == ("sequential-streams" if streams else "sequential")
    assert (job.iodepth, job.rate_iops) == (16, None)


def test_the_share_of_jumps_of_reads_and_of_writes_is_found():
    _, job = found(
        'mix = { read = 80, write = 20 }\nblock = "16KiB"\npattern = { random = { read = "40%", write = "10%" } }\n'
        'region = "8GiB"\nload = { iodepth = 4 }\nuntil = { count = 60000 }'
    )
    assert (job.pattern.read, job.pattern.write) == pytest.approx((0.4, 0.1), abs=0.01)
    assert job.iodepth == 4


def test_a_log_beside_random_io_is_a_stream_of_its_own():
    log = (
        'mix = "write", block = "32KiB", pattern = "sequential", region = "1GiB", load = { rate = "1k/s" %s }'
    )
    rest = 'mix = { read = 70, write = 30 }, block = "8KiB", pattern = { zipf = 0.9 }, load = { rate = "14k/s" %s }'
    place, depth = 'region = { start = "1GiB", size = "4GiB" }', ", iodepth = 256"
    streams = f'{{ name = "log", {log % depth} }}, {{ name = "q", {place}, {rest % depth} }}'
    fitted, job = found(f'until = {{ time = "3s" }}\nstreams = [{streams}]')
    assert set(job.streams) == {"sequential-writes", "random-reads-and-writes"}
    appends, others = job.streams["sequential-writes"], job.streams["random-reads-and-writes"]
    assert (appends.pattern.kind, appends.block_sizes) == ("sequential", {"write": (32768,)})
    assert appends.rate_iops == pytest.approx(1000, rel=0.05)
    assert others.pattern.theta == pytest.approx(0.9, abs=0.03)
    assert others.rate_iops == pytest.approx(14_000, rel=0.02)
    assert (others.region_start.bytes, others.region_size.bytes) == (1 << 30, 4 << 30)
    assert fitted.counts.left_out == 0


@pytest.mark.parametrize(("on_ms", "off_ms"), [(10, 90), (50, 150), (100, 60)])
def test_bursts_keep_their_rates_and_times(on_ms: int, off_ms: int):
    fitted, _ = found(
        'mix = "write"\nblock = "4KiB"\npattern = "uniform"\nregion = "4GiB"\nuntil = { time = "6s" }\n'
        f'load = {{ iodepth = 256, rate = [{{ rate = "40k/s", time = "{on_ms}ms" }}, '
        f'{{ rate = "5k/s", time = "{off_ms}ms" }}] }}'
    )
    assert fitted.arrivals.kind == "bursts"
    burst, pause = fitted.arrivals.phases
    assert (burst.time_s, pause.time_s) == pytest.approx((on_ms / 1e3, off_ms / 1e3), rel=0.1)
    assert (burst.factor * fitted.rate_iops, pause.factor * fitted.rate_iops) == pytest.approx(
        (40_000, 5_000), rel=0.05
    )


def test_slow_changes_of_the_rate_are_phases():
    fitted, _ = found(
        'mix = "read"\nblock = "4KiB"\npattern = "uniform"\nregion = "4GiB"\nuntil = { time = "12s" }\n'
        'load = { iodepth = 256, rate = [{ rate = "1k/s", time = "4s" }, { rate = "8k/s", time = "3s" }, '
        '{ rate = "3k/s", time = "5s" }] }'
    )
    assert fitted.arrivals.kind == "phases"
    rates = [phase.factor * fitted.rate_iops for phase in fitted.arrivals.phases]
    assert rates == pytest.approx([1000, 8000, 3000], rel=0.05)
    assert [phase.time_s for phase in fitted.arrivals.phases] == pytest.approx([4, 3, 5], rel=0.03)


@pytest.mark.parametrize("arrival", ["deterministic", "uniform", "exponential"])
def test_the_kind_of_gaps_is_found(arrival: str):
    _, job = found(
        'mix = "read"\nblock = "4KiB"\npattern = "uniform"\nregion = "4GiB"\nuntil = { time = "1s" }\n'
        f'load = {{ iodepth = 64, rate = "10k/s", arrival = "{arrival}" }}'
    )
    assert job.arrival == arrival


def test_regular_flushes_come_behind_writes_and_others_are_in_the_mix():
    head = 'block = "4KiB"\npattern = "uniform"\nregion = "4GiB"\nload = { iodepth = 1 }\nuntil = { count = 20000 }\n'
    _, job = found(f'mix = "write"\nflush_every = 8\n{head}')
    assert (job.flush_every, set(job.weights)) == (8, {"write"})
    _, job = found(f"mix = {{ write = 90, flush = 10 }}\n{head}")
    assert job.flush_every == 0
    assert job.weights["flush"] / sum(job.weights.values()) == pytest.approx(0.1, abs=0.01)
