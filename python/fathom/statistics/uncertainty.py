"""How sure a figure is: intervals for mean rates, for ratios between targets and for percentiles.

Seconds of a run resemble their neighbours, so the bootstrap draws blocks, not seconds. All draws come from a seeded
generator: the same series and seed give the same interval. Nothing here decides which figure is reported.
Definitions, sources and measured coverage: docs/explanation/statistics.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, hypot, inf, log10, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fathom.statistics.series import Floats, as_series
from fathom.statistics.student import critical

LEAST_SAMPLES = 5
"""Fewest samples from which an interval of a mean is given."""
LEAST_BEYOND = 100
"""Fewest I/Os beyond a percentile for it to be given."""
EQUIVALENT = 1.25
"""Greatest ratio, either way, at which two means count as equivalent: 0.80 to 1.25, as for bioequivalence (FDA,
Statistical Approaches to Establishing Bioequivalence, 2001). There the 90 % interval has to lie within, here the 95 %
one.
"""
RESAMPLES = 2000
_MOST_SAMPLES = 2048
_MOST_PHI = 0.95
_NORMAL = NormalDist()

Bounds = tuple[float, float]
"""Low and high of a figure, in its unit."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a mean, in the unit of the series.

    `n_effective` is how many independent samples would give the same certainty as the series.
    """

    mean: float
    low: float
    high: float
    n_effective: float
    confidence: float = 0.95

    def scaled(self, factor: float) -> "Interval":
        """Returns the interval of the mean times a positive constant (IOPS to MB/s at a fixed block size)."""
        return Interval(
            self.mean * factor, self.low * factor, self.high * factor, self.n_effective, self.confidence
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ratio a / b of two means with its interval; a winner only where the interval excludes 1."""

    ratio: float
    low: float
    high: float
    verdict: Literal["a", "b", "level"]
    confidence: float = 0.95
    drifts: bool = False
    """Whether a side drifts: the bounds are then those of single samples, between which both means lie."""

    @property
    def shows_level(self) -> bool:
        """Whether nobody wins, and the whole interval lies within 0.80 to 1.25. A wider one shows nothing."""
        return self.verdict == "level" and self.low >= 1 / EQUIVALENT and self.high <= EQUIVALENT


def mean_interval(series: ArrayLike, confidence: float = 0.95, seed: int = 0) -> Interval | None:
    """Returns the interval of the mean of equally long samples (seconds).

    `None` for fewer than `LEAST_SAMPLES`, and where they resemble their neighbours too much, as where they drift: then
    they hold less than one independent sample.

    It is a circular block bootstrap (Politis & Romano 1992) with automatic block length, of the residuals of a fitted
    AR(1). The AR(1) is put back afterwards (pre-whitening, Andrews & Monahan 1992). The result is widened from the
    normal to Student's t with the effective number of samples.
    """
    y = as_series(series)
    if len(y) < LEAST_SAMPLES:
        return None
    drawn = _deviations(y, confidence, np.random.default_rng(seed))
    return _interval(float(y.mean()), drawn, confidence) if drawn else None


def latency_interval(
    means: ArrayLike, counts: ArrayLike, confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """Returns the interval of the mean over all I/Os, from each second's mean and number of I/Os; `None` as of
    `mean_interval`.

    The mean is a ratio, sum of latencies over sum of I/Os, so a second counts by its I/Os.
    """
    y, n = as_series(means), as_series(counts)
    return ratio_interval(y * n, n, confidence, seed)


def ratio_interval(
    numerator: ArrayLike, denominator: ArrayLike, confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """Returns the interval of the ratio of two sums over the same seconds, whose samples may go together.

    `None` as of `mean_interval`, and where the denominator's sum is 0. It is that of the linearised seconds: numerator
    - ratio x denominator. Their mean is 0 and varies as the ratio times the denominator's mean does (Woodruff 1952;
    Cochran 1977, 6.3).
    """
    over, under = as_series(numerator), as_series(denominator)
    whole = float(under.sum())
    if not whole:
        return None
    ratio = float(over.sum()) / whole
    return mean_interval(ratio + (over - ratio * under) / under.mean(), confidence, seed)


def repeats_interval(
    repeats: Sequence[ArrayLike], confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """Returns the interval of the mean over repeats of a run: repeats are drawn first, then blocks inside each.

    With few repeats a plain hierarchical bootstrap is too narrow. So the draw between repeats is scaled by sqrt(R / (R
    - 1)) and widened to Student's t with R - 1 degrees of freedom. One repeat gives `mean_interval`, and so do repeats
    that are all the same to the bit. `None` where a repeat alone has none.
    """
    runs = _distinct([as_series(repeat) for repeat in repeats])
    if len(runs) == 1:
        return mean_interval(runs[0], confidence, seed)
    if not runs or min(len(run) for run in runs) < LEAST_SAMPLES:
        return None
    drawn = _repeat_deviations(runs, confidence, np.random.default_rng(seed))
    return _interval(float(np.mean([run.mean() for run in runs])), drawn, confidence) if drawn else None


def means_interval(
    means: ArrayLike, half_widths: Sequence[float | None] = (), confidence: float = 0.95
) -> Interval | None:
    """Returns the interval of the mean over repeats that are known by their means alone; `None` for fewer than two.

    Student's t with R - 1 degrees of freedom, never narrower than what the repeats' own half-widths, where all are
    known, say of their mean. Repeats that are all the same say no more than one of them.
    """
    y = as_series(means)
    count = len(y)
    if count < 2:
        return None
    known = [width for width in half_widths if width is not None]
    within = hypot(*known) / count if len(known) == count else 0.0
    if len(known) == count and len({*zip(y.tolist(), known, strict=True)}) == 1:
        within = known[0]
    half = max(critical(confidence, count - 1) * float(y.std(ddof=1)) / sqrt(count), within)
    mean = float(y.mean())
    return Interval(mean, mean - half, mean + half, float(count), confidence)


def compare(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike],
    confidence: float = 0.95,
    seed: int = 0,
    *,
    known: tuple[Bounds | None, Bounds | None] = (None, None),
    higher_is_better: bool = True,
) -> Comparison | None:
    """Returns the ratio of the means of two targets measured independently; each a series, or a list of repeats.

    `known` are intervals that the load generators knew, for sides whose samples give none. Where a side has neither,
    because it drifts (as of `mean_interval`), the bounds are those of the samples of both, between which their means
    lie. `None` where a side has too few samples for that too, and where the mean of `b` is not clear of zero.
    """
    rng = np.random.default_rng(seed)
    first, second = (
        _side(_runs(samples), own, confidence, rng) for samples, own in zip((a, b), known, strict=True)
    )
    if first is None or second is None:
        return None
    if first.interval is None or second.interval is None:
        return _compare_ranges(first, second, confidence, higher_is_better=higher_is_better)
    if first.drawn is None or second.drawn is None:
        return compare_intervals(first.interval, second.interval, higher_is_better=higher_is_better)
    if second.mean <= 0 or second.interval[0] <= 0:
        return None
    # Drawn in another order, so that the two sides stay independent whatever their generators share.
    ratios = (first.mean + first.drawn.means) / (second.mean + rng.permutation(second.drawn.means))
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    verdict = _verdict(float(low), float(high), higher_is_better=higher_is_better)
    return Comparison(first.mean / second.mean, float(low), float(high), verdict, confidence)


def compare_intervals(a: Bounds, b: Bounds, *, higher_is_better: bool = True) -> Comparison | None:
    """Returns the ratio of two independent means, each known by its 95 % interval (low, high) alone.

    The relative half-widths add in squares (delta method on the logarithm). `None` where `b` is not clear of zero.
    """
    (middle_a, half_a), (middle_b, half_b) = (((low + high) / 2, (high - low) / 2) for low, high in (a, b))
    if middle_a <= 0 or middle_b - half_b <= 0:
        return None
    width = exp(hypot(half_a / middle_a, half_b / middle_b))
    ratio = middle_a / middle_b
    low, high = ratio / width, ratio * width
    return Comparison(ratio, low, high, _verdict(low, high, higher_is_better=higher_is_better))


def block_length(series: ArrayLike) -> int:
    """Returns the block length for the circular block bootstrap of the mean, from the autocorrelation of the series.

    Politis & White, Econometric Reviews 23 (2004) 53, with the correction of Patton, Politis & White, 28 (2009) 372.
    """
    y = as_series(series)
    n = len(y)
    covariance = _autocovariance(y)
    if n < 4 or covariance[0] <= 0:
        return 1
    rho = covariance / covariance[0]
    run = max(5, ceil(sqrt(log10(n))))
    longest = min(ceil(sqrt(n)) + run, n - 1)
    small = np.abs(rho[1 : longest + 1]) < 2 * sqrt(log10(n) / n)
    lags = np.flatnonzero(~small) + 1
    quiet = small.tobytes().find(b"\1" * run)
    cut = quiet if quiet >= 0 else int(lags[-1]) if len(lags) else 0
    taper_lags = min(2 * max(cut, 1), longest)
    k = np.arange(1, taper_lags + 1)
    taper = np.minimum(2 * (1 - k / taper_lags), 1.0)
    spread = 2 * float((taper * k * covariance[1 : taper_lags + 1]).sum())
    level = float(covariance[0] + 2 * (taper * covariance[1 : taper_lags + 1]).sum())
    if level <= 0:
        return 1
    best = (2 * spread**2 / (4 / 3 * level**2)) ** (1 / 3) * n ** (1 / 3)
    return max(1, min(round(best), ceil(min(3 * sqrt(n), n / 3))))


def percentile_allowed(n: int, q: float) -> bool:
    """Returns whether n samples may speak about quantile q: at least `LEAST_BEYOND` of them lie beyond it."""
    return n * (1 - q) >= LEAST_BEYOND * (1 - 1e-12)


def count_for(q: float) -> int:
    """Returns the fewest samples that may speak about quantile q: ten million about p99.999."""
    return round(LEAST_BEYOND / (1 - q))


def quantile_interval_us(
    low_ns: ArrayLike,
    high_ns: ArrayLike,
    count: ArrayLike,
    q: float,
    confidence: float = 0.95,
    n_effective: float | None = None,
) -> tuple[float, float] | None:
    """Returns the distribution-free interval of a percentile from its rank, in us.

    `None` by the minimum-n rule, and where so few independent I/Os leave an end open. The ranks are those between which
    a binomial(n, q) count falls (order statistics: David & Nagaraja, 7.1). n is reduced to `n_effective` where
    latencies of one second resemble each other. The ends are the outer edges of the bins that hold them. Bins ascend.
    """
    counts = np.asarray(count, dtype=np.int64)
    n = int(counts.sum())
    if n == 0 or not percentile_allowed(n, q):
        return None
    enough = min(float(n), n_effective or n)
    half_width = _NORMAL.inv_cdf((1 + confidence) / 2) * sqrt(q * (1 - q) / enough) * n
    ranks = np.floor(q * n - half_width), np.ceil(q * n + half_width) + 1
    if ranks[0] < 1 or ranks[1] > n:
        return None
    first, last = np.searchsorted(np.cumsum(counts), ranks)
    return float(np.asarray(low_ns)[first]) / 1000, float(np.asarray(high_ns)[last]) / 1000


def effective_count(beyond: ArrayLike, total: ArrayLike) -> float:
    """Returns how many independent I/Os would fix the share beyond a percentile as well as these seconds do.

    `beyond` and `total` are I/Os per second: above the percentile, and all. The variance of the ratio of their means
    (linearised, Woodruff 1952) over that of a binomial share. Never more than the I/Os there are.
    """
    x, n = as_series(beyond), as_series(total)
    whole = float(n.sum())
    share = float(x.sum()) / whole if whole else 0.0
    if len(n) < LEAST_SAMPLES or not 0 < share < 1:
        return whole
    variance = _long_run(x - share * n).variance * len(n) / whole**2
    return min(whole, share * (1 - share) / variance) if variance > 0 else whole


def effective_latencies(means: ArrayLike, counts: ArrayLike, variance: float) -> float:
    """Returns how many independent I/Os would fix the mean latency as well as these seconds do.

    `means` and `counts` are those of each second, `variance` is that of single latencies, in the square of their unit.
    For a queue this is its window in relaxation times, wherever the seconds are cut. Never more than the I/Os there
    are.
    """
    y, n = as_series(means), as_series(counts)
    whole = float(n.sum())
    if len(n) < LEAST_SAMPLES or not whole:
        return whole
    mean = float(y @ n) / whole
    of_mean = _long_run((y - mean) * n).variance * len(n) / whole**2
    return min(whole, variance / of_mean) if of_mean > 0 else whole


@dataclass(frozen=True, slots=True)
class _LongRun:
    """A series taken apart: its long-run variance, the AR(1) coefficient and the block length of its residuals."""

    variance: float
    phi: float
    residuals: Floats
    block: int


@dataclass(frozen=True, slots=True)
class _BootstrapMeans:
    """Bootstrap deviations of a mean, already widened to Student's t."""

    means: Floats
    n_effective: float


@dataclass(frozen=True, slots=True)
class _MeanEstimate:
    """What is known of the mean of one side of a comparison; one without an interval drifts over its range."""

    mean: float
    interval: Bounds | None
    range: Bounds
    drawn: _BootstrapMeans | None = None


def _side(
    runs: Sequence[Floats], known: Bounds | None, confidence: float, rng: np.random.Generator
) -> _MeanEstimate | None:
    if not runs or min(len(run) for run in runs) < LEAST_SAMPLES:
        return _MeanEstimate(sum(known) / 2, known, known) if known else None
    drawn = (
        _deviations(runs[0], confidence, rng) if len(runs) == 1 else _repeat_deviations(runs, confidence, rng)
    )
    mean = float(np.mean([run.mean() for run in runs]))
    samples = np.concatenate(runs)
    own = _interval(mean, drawn, confidence) if drawn else None
    interval = (own.low, own.high) if own else known
    return _MeanEstimate(mean, interval, (float(samples.min()), float(samples.max())), drawn)


def _compare_ranges(
    a: _MeanEstimate, b: _MeanEstimate, confidence: float, *, higher_is_better: bool
) -> Comparison | None:
    """Returns the ratio between the ranges of two sides; its upper bound is infinite where `b` may be zero."""
    if b.range[1] <= 0:
        return None
    low = a.range[0] / b.range[1]
    high = a.range[1] / b.range[0] if b.range[0] > 0 else inf
    if high == inf and low <= 1:
        return None
    verdict = _verdict(low, high, higher_is_better=higher_is_better)
    return Comparison(a.mean / b.mean, low, high, verdict, confidence, drifts=True)


def _verdict(low: float, high: float, *, higher_is_better: bool) -> Literal["a", "b", "level"]:
    above, below = ("a", "b") if higher_is_better else ("b", "a")
    return above if low > 1 else below if high < 1 else "level"


def _interval(mean: float, drawn: _BootstrapMeans, confidence: float) -> Interval:
    low, high = np.quantile(drawn.means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(mean, mean + float(low), mean + float(high), drawn.n_effective, confidence)


def _long_run(y: Floats) -> _LongRun:
    n = len(y)
    centred = y - y.mean()
    power = float(centred @ centred)
    if power <= 1e-24 * float(y @ y):
        return _LongRun(0.0, 0.0, np.zeros(n), 1)
    phi = float(centred[1:] @ centred[:-1]) / power
    # Kendall's bias of a fitted AR(1) with unknown mean is -(1 + 3 phi) / n. The width goes with 1 / (1 - phi). A
    # phi too small hurts it more than one too large: 0.4 standard errors make up for it (measured, see statistics.md).
    phi = phi + (1 + 3 * phi) / n + 0.4 * sqrt(max(1 - phi * phi, 0.0) / n)
    phi = max(0.0, min(phi, _MOST_PHI))
    residuals = centred[1:] - phi * centred[:-1]
    residuals = residuals - residuals.mean()
    block = block_length(residuals)
    sums = _block_sums(residuals, block)
    # Circular blocks take out the sample mean; (m - b) of every m degrees of freedom are left.
    left = len(residuals) / (len(residuals) - block)
    variance = float(np.mean(sums * sums)) / block * left / (1 - phi) ** 2
    return _LongRun(variance, phi, residuals, block)


def _deviations(y: Floats, confidence: float, rng: np.random.Generator) -> _BootstrapMeans | None:
    """Returns draws of (bootstrap mean - mean) for one series; `None` where it has less than one independent sample."""
    samples = len(y)
    if samples > _MOST_SAMPLES:
        y = _block_means(y, -(-samples // _MOST_SAMPLES))
    n = len(y)
    run = _long_run(y)
    if run.variance == 0:
        return _BootstrapMeans(np.zeros(RESAMPLES), float(samples))
    uncorrelated = n * (1 - run.phi) / (1 + run.phi)
    if uncorrelated < 1:
        return None
    sums = _block_sums(run.residuals, run.block)
    blocks = ceil(n / run.block)
    means = sums[rng.integers(0, len(sums), size=(RESAMPLES, blocks))].sum(axis=1) / (blocks * run.block)
    spread = float(means.std())
    independent = float(np.var(y, ddof=1)) / run.variance * n
    # What is left to estimate the spread from: blocks, fewer where neighbours resemble each other.
    freedom = max(min(n / run.block, uncorrelated) - 1, 3.0)
    widen = critical(confidence, freedom) / _NORMAL.inv_cdf((1 + confidence) / 2)
    scale = sqrt(run.variance / n) / spread if spread > 0 else 0.0
    return _BootstrapMeans(means * scale * widen, min(independent * samples / n, float(samples)))


def _repeat_deviations(
    runs: Sequence[Floats], confidence: float, rng: np.random.Generator
) -> _BootstrapMeans | None:
    means = np.array([run.mean() for run in runs])
    count = len(runs)
    inside = [drawn for run in runs if (drawn := _deviations(run, confidence, rng))]
    if len(inside) < count:
        return None
    within = np.mean([rng.permutation(drawn.means) for drawn in inside], axis=0)
    chosen = means[rng.integers(0, count, size=(RESAMPLES, count))].mean(axis=1) - means.mean()
    widen = critical(confidence, count - 1) / _NORMAL.inv_cdf((1 + confidence) / 2)
    between = chosen * sqrt(count / (count - 1)) * widen
    # The spread between repeats already holds that inside them; the latter is the least there can be.
    wider = between if between.std() >= within.std() else within
    return _BootstrapMeans(wider, float(sum(drawn.n_effective for drawn in inside)))


def _autocovariance(y: Floats) -> Floats:
    """Biased autocovariance at every lag, by FFT."""
    n = len(y)
    if n == 0:
        return np.zeros(1)
    power = np.abs(np.fft.rfft(y - y.mean(), 2 * n)) ** 2
    return np.fft.irfft(power)[:n] / n


def _block_sums(y: Floats, block: int) -> Floats:
    """Returns the sum of the circular block of that length from every sample on."""
    total = np.concatenate([[0.0], np.cumsum(np.concatenate([y, y[: block - 1]]))])
    return total[block:] - total[:-block]


def _block_means(y: Floats, block: int) -> Floats:
    """Means of consecutive blocks; samples at the end that fill no block are left out."""
    whole = len(y) // block * block
    return y[:whole].reshape(-1, block).mean(axis=1)


def _distinct(runs: list[Floats]) -> list[Floats]:
    """Returns one run of those that are all the same to the bit, as a twin's without chance are: more say no more."""
    return runs[:1] if all(np.array_equal(run, runs[0]) for run in runs) else runs


def _runs(side: ArrayLike | Sequence[ArrayLike]) -> list[Floats]:
    """Returns a side of a comparison as a list of repeats."""
    if isinstance(side, Sequence) and side and not np.isscalar(side[0]):
        return _distinct([as_series(repeat) for repeat in side])
    one = np.asarray(side, dtype=np.float64)
    return _distinct([as_series(repeat) for repeat in (one if one.ndim == 2 else [one])])
