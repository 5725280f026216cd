"""Comparisons of equals raise few false alarms: repeats of a twin, and the noise of a real file.

Twins are compared with repeats. Their reads right after writes meet what is left of those: a tenth of a percent of slow
reads, more or less by the seed. No interval of one run holds that.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray

import fathom
from fathom.analysis.settled import Unsettled
from fathom.columns.schema import Point
from fathom.compare.metrics import DEFAULT, metric_of
from fathom.compare.rows import compare_sides
from fathom.compare.sides import read_side
from fathom.report.repeats import percentiles_us
from fathom.statistics.differences import Difference, confidence_of_each, difference, estimate
from fathom.statistics.percentiles import Histogram, Parts, bounds_of, intervals_us
from fathom.statistics.uncertainty import mean_interval

pytestmark = pytest.mark.long

COMPARISONS = 1000
MOST_ALARMS = COMPARISONS // 20
"""The stated level: all figures of a comparison hold together with 95 %."""
TWINS = 48
"""Runs of a twin, of which a comparison draws two sides. Comparisons share them, so they are not independent."""
REPEATS = 3
REAL_S = 240
WINDOW_S = 60
BLOCK_S = 10
"""Seconds that are drawn together, so that what neighbours have in common stays."""
METRICS = (*DEFAULT, "mean")
METHOD = """
schema = "fathom-method/1"
name = "same"
precision = "0.5%"
slice = "4GB"
[[steps]]
name = "warm-up"
[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 32 }
until = { time = "200ms" }
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 4 }
until = { time = "2s" }
[[steps]]
name = "write"
[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 4 }
until = { time = "2s" }
[[steps]]
name = "mix"
[steps.job]
mix = { read = 70, write = 30 }
block = "4KiB"
pattern = "uniform"
load = { iodepth = 8 }
until = { time = "2s" }
[[steps]]
name = "offered"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 64, rate = "20000/s" }
until = { time = "2s" }
"""


class Tally:
    """Counts false alarms: of comparisons, and of each of their figures."""

    def __init__(self) -> None:
        self.alarms = 0
        self.compared = Counter[str]()
        self.shown = Counter[str]()

    def add(self, figures: Sequence[tuple[str, Difference]]) -> None:
        """Counts one comparison."""
        shown = [name for name, found in figures if found.is_shown]
        self.compared.update(name for name, _ in figures)
        self.shown.update(shown)
        self.alarms += bool(shown)

    def __str__(self) -> str:
        rates = (f"{name} {self.shown[name]} of {count}" for name, count in sorted(self.compared.items()))
        return f"{self.alarms} of {COMPARISONS} comparisons raise an alarm: {', '.join(rates)}"


def test_repeats_of_a_twin_are_told_apart_in_at_most_one_comparison_of_twenty(tmp_path: Path) -> None:
    path = tmp_path / "same.toml"
    path.write_text(METHOD)
    target = "twin:samsung-pm9a3-7.68tb?settled_share=1"
    paths = [
        str(fathom.run(str(path), targets=[target], seed=seed, out=tmp_path / "runs").path)
        for seed in range(TWINS)
    ]
    random, tally = np.random.default_rng(1), Tally()
    for _ in range(COMPARISONS):
        drawn = random.choice(TWINS, 2 * REPEATS, replace=False)
        one, other = (read_side(",".join(paths[place] for place in half)) for half in np.split(drawn, 2))
        rows = compare_sides(one, other, METRICS).rows
        tally.add([(f"{row.workload} {row.metric.name}", row.difference) for row in rows if row.difference])
    print(tally)
    assert len(tally.compared) >= 15
    assert tally.alarms <= MOST_ALARMS, tally


class Noise:
    """The seconds of a real file's reads, drawn again in blocks as windows of the same length."""

    def __init__(self, run: fathom.Run) -> None:
        [row] = run.points.to_pylist()
        self.point = Point.of(row)
        intervals = run.intervals.filter(pc.field("step") == self.point.step)
        self.n: NDArray[np.float64] = intervals["n"].to_numpy().astype(np.float64)[:REAL_S]
        bins = run.latency.filter(
            (pc.field("step") == self.point.step) & (pc.field("latency") == "service")
        ).to_pydict()
        self.seconds: list[list[tuple[int, int, int]]] = [[] for _ in self.n]
        for index, low, high, count in zip(
            bins["index"], bins["low_ns"], bins["high_ns"], bins["count"], strict=True
        ):
            if index is not None and index < len(self.seconds):
                self.seconds[index].append((low, high, count))

    def draw(self, random: np.random.Generator) -> Point:
        """A window of blocks of seconds, with figures and intervals as a run has them."""
        starts = random.integers(0, len(self.n), WINDOW_S // BLOCK_S)
        places = ((starts[:, None] + np.arange(BLOCK_S)) % len(self.n)).ravel().tolist()
        bins = [(at, *one) for at, place in enumerate(places) for one in self.seconds[place]]
        parts = Parts(*np.array(bins, dtype=np.int64).T)
        whole = Histogram.of(parts.low_ns, parts.high_ns, parts.count)
        figures: dict[str, float | None] = {"iops": float(self.n[places].mean()), **percentiles_us(whole)}
        key = ("read", "service")
        bounds = dict(intervals_us([{key: parts}], {key: whole})[key])
        if found := mean_interval(self.n[places]):
            bounds["iops"] = found.low, found.high
        for name in bounds:
            figures |= dict(zip(bounds_of(name), bounds[name], strict=True))
        missing = {one: None for name in ("iops", *percentiles_us(whole)) for one in bounds_of(name)}
        return replace(self.point, **(missing | figures))


def compared(base: Point, new: Point) -> list[tuple[str, Difference]]:
    """The figures of two windows beside each other, as a comparison has them."""
    metrics = [metric_of(name, in_bandwidth=False) for name in ("rate", "p50", "p99", "p99.9")]
    found = [
        (
            metric.name,
            *(
                estimate([metric.value(one)], [metric.bounds(one)], metric.resolution, WINDOW_S)
                for one in (base, new)
            ),
        )
        for metric in metrics
    ]
    known = [(name, one, other) for name, one, other in found if one and other]
    return [(name, difference(other, one, confidence_of_each(len(known)))) for name, one, other in known]


def test_windows_of_one_real_load_are_told_apart_in_at_most_one_comparison_of_twenty(tmp_path: Path) -> None:
    path = tmp_path / "noise.toml"
    path.write_text(
        f"""
schema = "fathom-method/1"
name = "noise"
[[steps]]
name = "fill"
kind = "fill"
[steps.job]
mix = "write"
block = "1MiB"
pattern = "sequential"
load = {{ iodepth = 8 }}
until = {{ written = "1x" }}
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = {{ iodepth = 4 }}
until = {{ time = "{REAL_S}s" }}
"""
    )
    run = fathom.run(
        str(path), targets=[f"file:{tmp_path / 'scratch.bin'}"], size_bytes=256 << 20, out=tmp_path / "runs"
    )
    if Unsettled.MACHINE_BUSY in read_side(str(run.path)).unsettled.values():
        pytest.skip("other programs kept the cores busy: of such runs a comparison claims nothing")
    noise, random, tally = Noise(run), np.random.default_rng(2), Tally()
    for _ in range(COMPARISONS):
        tally.add(compared(noise.draw(random), noise.draw(random)))
    print(tally)
    assert tally.compared["iops"] >= COMPARISONS / 2
    assert tally.alarms <= MOST_ALARMS, tally
