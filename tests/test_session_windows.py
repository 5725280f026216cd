"""The windows of a run: what limits their load, when twins end them early, which intervals they have."""

from pathlib import Path

import pytest

import fathom
from fathom.statistics.limits import limit_in

PM9A3 = "twin:samsung-pm9a3-7.68tb"


@pytest.mark.parametrize(("think", "limit"), [("20ms", "think time"), ("1us", "outstanding I/O")])
def test_a_load_is_limited_by_its_think_time_only_where_that_outlasts_the_io(
    think: str, limit: str, tmp_path: Path
) -> None:
    method = tmp_path / "thinking.toml"
    method.write_text(
        f"""
schema = "fathom-method/1"
name = "thinking"
[[steps]]
name = "write"
[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = {{ iodepth = 1, think = "{think}" }}
until = {{ time = "200ms" }}
"""
    )
    [point] = fathom.run(str(method), targets=[PM9A3], out=tmp_path / "runs").points.to_pylist()
    assert getattr(limit_in(point), "name", None) == limit


PRECISE = """
schema = "fathom-method/1"
name = "precise"
precision = "1%"
[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 32 }, until = { written = "1x" } }
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 8, iodepth = 32 }
until = { time = "8s" }
[[steps]]
name = "settle"
kind = "precondition"
workload = "write"
steady = { round = "2s", window = 2 }
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 64 }, until = { time = "8s" } }
[[steps]]
name = "write"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 64 }, until = { time = "6s" } }
"""


def test_a_precise_twin_ends_its_windows_early_and_comes_to_the_same_figures(tmp_path: Path) -> None:
    early, whole = tmp_path / "early.toml", tmp_path / "whole.toml"
    early.write_text(PRECISE)
    whole.write_text(PRECISE.replace('precision = "1%"\n', ""))
    target = "twin:wd-ultrastar-dc-sn861-7.68tb"
    runs = [fathom.run(str(method), targets=[target], seed=5, out=tmp_path) for method in (early, whole)]
    short, full = ({row["step"]: row for row in run.points.to_pylist()} for run in runs)
    assert short["read"]["window_s"] < full["read"]["window_s"] / 2
    assert (full["write"]["window_s"], full["read"]["window_s"]) == (6, 8)
    for step in ("write", "read"):
        assert short[step]["iops_low"] < full[step]["iops"] < short[step]["iops_high"]
        assert short[step]["iops"] == pytest.approx(full[step]["iops"], rel=0.02), step
        assert short[step]["mean_us"] == pytest.approx(full[step]["mean_us"], rel=0.03), step
        assert short[step]["mean_low_us"] < full[step]["mean_us"] < short[step]["mean_high_us"]
        for percentile in ("mean", "p50", "p99"):
            low, value, high = (full[step][f"{percentile}{end}_us"] for end in ("_low", "", "_high"))
            assert low <= value <= high
            assert high < 1.25 * low
    assert short["read"]["iops_high"] - short["read"]["iops_low"] <= 0.02 * short["read"]["iops"]


BURST = """
schema = "fathom-method/1"
name   = "burst"

[[steps]]
name = "burst"
[steps.job]
mix     = "read"
block   = "4KiB"
pattern = "uniform"
until   = { time = "8s" }
load    = { iodepth = 64, rate = RATES }
"""


def rates_of_a_burst(tmp_path: Path, *rates: tuple[str, str]) -> tuple[float | None, float, float | None]:
    """The rate that was measured, between the ends of its interval."""
    path = tmp_path / "burst.toml"
    listed = ", ".join(f'{{ rate = "{rate}", time = "{time}" }}' for rate, time in rates)
    path.write_text(BURST.replace("RATES", f"[{listed}]"))
    row = fathom.run(str(path), targets=[PM9A3], out=tmp_path).points.to_pylist()[0]
    return row["iops_low"], row["iops"], row["iops_high"]


def test_the_interval_of_a_rate_does_not_reach_below_nothing(tmp_path: Path) -> None:
    low, mean, high = rates_of_a_burst(tmp_path, ("9/s", "3s"), ("9k/s", "1s"), ("9/s", "4s"))
    assert low == 0
    assert high is not None
    assert 0 < mean < high


def test_a_rate_that_falls_throughout_has_no_interval(tmp_path: Path) -> None:
    assert rates_of_a_burst(tmp_path, ("9k/s", "3s"), ("9/s", "5s"))[::2] == (None, None)
