"""When a drive may be called steady: the SNIA window, the combined criterion, truncation, trends and change points.

Everything here judges a series of rates (rounds, or seconds) that somebody else measured; nothing here runs a
round or decides how long to go on. Definitions, sources and measured error rates: docs/explanation/statistics.md.
"""

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fathom.text import percent

Floats = NDArray[np.float64]

VOLUME_TOLERANCE = 1e-3
"""A fill writes whole blocks, which fall a little short of a region's size."""
SLOPE_LIMIT = 0.05
"""Most drift of the rate over the judged rounds, as a fraction of its median (methods.md)."""
SLOPE_ROUNDS = 30
"""Fewest rounds over which the drift is expressed: fewer judged rounds are extrapolated to this many."""
WAF_LIMIT = 0.05
"""Most drift of the WAF over the judged rounds, as a fraction of its median (methods.md)."""
FLOOR_LIMIT = 0.05
"""How near the extrapolated floor of a decay the rate has to be, as a fraction of that floor."""
HORIZON_X = 3.0
"""Capacities written ahead over which a small, lasting drift has to stay within `SLOPE_LIMIT`."""
HORIZON_ROUNDS = 60
"""Fewest rounds after which a small, lasting drift may be forgiven."""
_MOST_POINTS = 240


@dataclass(frozen=True, slots=True)
class WindowVerdict:
    """The SNIA steady-state window over the last rounds, with every figure the standard asks to be reported.

    Rates are in the unit of the rounds. `first_round` and `last_round` are 0-based and inclusive.
    """

    passed: bool
    first_round: int
    last_round: int
    mean: float
    range: float
    range_allowed: float
    slope_per_round: float
    slope_excursion: float
    slope_excursion_allowed: float


def snia_window(
    rounds: ArrayLike,
    window: int = 5,
    range_fraction: float = 0.20,
    slope_fraction: float = 0.10,
) -> WindowVerdict:
    """SNIA SSS PTS 2.0: over the last `window` rounds, max - min <= 20 % of the mean, and the least-squares line
    moves by at most 10 % of the mean from the first to the last round of the window.

    With fewer rounds than `window` the figures are those of the rounds there are, and the window does not pass.
    """
    series = _series(rounds)
    last = series[-window:]
    n = len(last)
    mean = float(last.mean()) if n else 0.0
    spread = float(np.ptp(last)) if n else 0.0
    slope = _ols_slope(last)
    excursion = abs(slope) * (window - 1)
    passed = (
        n == window and mean > 0 and spread <= range_fraction * mean and excursion <= slope_fraction * mean
    )
    return WindowVerdict(
        passed=passed,
        first_round=len(series) - n,
        last_round=len(series) - 1,
        mean=mean,
        range=spread,
        range_allowed=range_fraction * mean,
        slope_per_round=slope,
        slope_excursion=excursion,
        slope_excursion_allowed=slope_fraction * mean,
    )


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope per sample with its confidence interval, in the unit of the series."""

    value: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


def theil_sen(series: ArrayLike, confidence: float = 0.95) -> Slope:
    """Median of all pairwise slopes over equally spaced samples, with Sen's interval.

    Sen, JASA 63 (1968) 1379; Kendall's variance of S with the correction for ties. Needs two samples; memory grows
    with the square of their number.
    """
    y = _series(series)
    n = len(y)
    if n < 2:
        raise ValueError(f"a slope needs two samples, there is {n}")
    i, j = np.triu_indices(n, k=1)
    slopes = np.sort((y[j] - y[i]) / (j - i))
    ties = np.unique(y, return_counts=True)[1].astype(np.float64)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * variance**0.5
    low = max(round((len(slopes) - reach) / 2) - 1, 0)
    high = min(round((len(slopes) + reach) / 2), len(slopes) - 1)
    return Slope(float(np.median(slopes)), float(slopes[low]), float(slopes[high]))


def mser5(series: ArrayLike) -> int:
    """Samples to drop from the front so that what is left has the least standard error of the mean.

    MSER-5: White, Cobb & Spratt, WSC 2000, 755: batches of five, the truncation point minimises
    sum((z - mean)^2) / count^2 over the first half. A multiple of 5; 0 for fewer than ten samples.
    """
    y = _series(series)
    batches = len(y) // 5
    if batches < 2:
        return 0
    z = y[: batches * 5].reshape(batches, 5).mean(axis=1)
    z = z - z.mean()
    count = np.arange(batches, 0, -1, dtype=np.float64)
    total = np.cumsum(z[::-1])[::-1]
    squares = np.cumsum((z * z)[::-1])[::-1]
    score = (squares - total * total / count) / (count * count)
    return 5 * int(np.argmin(score[: batches // 2 + 1]))


def change_points(series: ArrayLike, least: int = 5, strictness: float = 3.0) -> list[int]:
    """Indices at which the level of the series changes: each is the first sample of a new level.

    PELT (Killick, Fearnhead & Eckley, JASA 107 (2012) 1590) with the least-squares cost. The penalty is
    `strictness` x ln n x the long-run variance, so that seconds that resemble their neighbours are not taken for
    levels. `least` is the shortest level. Series longer than 4,096 are judged on their block means.
    """
    y = _series(series)
    block = -(-len(y) // 4096)
    y = _block_means(y, block) if block > 1 else y
    n = len(y)
    if n < 2 * least:
        return []
    penalty = strictness * np.log(n) * _long_run_variance(y)
    return [block * at for at in _pelt(y - y.mean(), penalty, least)]


def _pelt(y: Floats, penalty: float, least: int) -> list[int]:
    n = len(y)
    total = np.concatenate([[0.0], np.cumsum(y)])
    squares = np.concatenate([[0.0], np.cumsum(y * y)])
    tolerance = 1e-12 * squares[-1]
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    previous = np.zeros(n + 1, dtype=np.int64)
    starts = np.array([0])
    for end in range(least, n + 1):
        cost = squares[end] - squares[starts] - (total[end] - total[starts]) ** 2 / (end - starts)
        value = best[starts] + np.where(cost > tolerance, cost, 0.0) + penalty
        winner = int(np.argmin(value))
        best[end], previous[end] = value[winner], starts[winner]
        starts = starts[value - penalty <= best[end]]
        if end - least + 1 >= least:
            starts = np.append(starts, end - least + 1)
    points = []
    at = int(previous[n])
    while at > 0:
        points.append(at)
        at = int(previous[at])
    return points[::-1]


def _long_run_variance(y: Floats) -> float:
    """Long-run variance of the noise around a piecewise constant level, as of an AR(1) process.

    From first differences, whose few jumps are clipped: differences of an AR(1) with coefficient p have variance
    2 s^2 (1 - p) and lag-one correlation -(1 - p) / 2.
    """
    step = np.diff(y)
    scale = 1.4826 * float(np.median(np.abs(step)))
    step = np.clip(step, -4 * scale, 4 * scale) if scale > 0 else step
    power = float(np.mean(step * step))
    if power == 0:
        return 0.0
    rho = float(np.clip(1 + 2 * np.mean(step[1:] * step[:-1]) / power, 0.0, 0.9))
    return power / (2 * (1 - rho)) * (1 + rho) / (1 - rho)


@dataclass(frozen=True, slots=True)
class Volume:
    """What was written since the purge, in multiples of the capacity."""

    sequential_x: float = 0.0
    random_x: float = 0.0


Status = Literal["steady", "not-yet", "never", "not-claimed"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The combined criterion after a round. `drift` is the Theil-Sen drift over the judged rounds, as fractions."""

    status: Status
    rounds: int
    judged_rounds: int
    window: WindowVerdict
    drift: Slope | None
    volume: Volume
    reasons: tuple[str, ...]

    @property
    def steady(self) -> bool:
        """Whether every part of the criterion holds."""
        return self.status == "steady"

    @property
    def reason(self) -> str:
        """One line for a person: what is missing, or on what grounds it counts as steady."""
        return "; ".join(self.reasons)


@dataclass(slots=True)
class SteadyState:
    """The combined steady-state criterion, fed round by round.

    Steady means all of: the SNIA window passes; `required` was written since the purge; and over the later half of
    the rounds (never fewer than the window) the Theil-Sen interval of the drift lies within +-5 %, the last window is
    at the level of that half, WAF drifts by no more than 5 % where it is known, nothing throttled, and a drift that
    can be told from noise, extrapolated, ends within 5 % of the rate. The later half is judged, not the last five
    rounds, because any slow decay looks flat in a short window.

    `before` is what was written since the purge before the first round, `pattern` is what the rounds write.
    `required` defaults to 2x sequential, and 1x random for a random pattern. A quick run never claims steady state.
    """

    pattern: Literal["sequential", "random"] = "random"
    before: Volume = Volume()
    required: Volume | None = None
    quick: bool = False
    window: int = 5
    range_fraction: float = 0.20
    slope_fraction: float = 0.10
    _rates: list[float] = field(default_factory=list)
    _wafs: list[float | None] = field(default_factory=list)
    _written_x: list[float] = field(default_factory=list)
    _throttled: list[bool] = field(default_factory=list)

    def add_round(
        self, rate: float, waf: float | None = None, written_x: float = 0.0, throttled: bool = False
    ) -> Verdict:
        """Takes one round: its mean rate (IOPS or MB/s), its WAF where known, the capacities it wrote."""
        self._rates.append(rate)
        self._wafs.append(waf)
        self._written_x.append(written_x)
        self._throttled.append(throttled)
        return self.verdict()

    def conclude(self) -> Verdict:
        """The verdict when no round will follow: what is not steady now never became so."""
        now = self.verdict()
        if now.status != "not-yet":
            return now
        return Verdict(
            status="never",
            rounds=now.rounds,
            judged_rounds=now.judged_rounds,
            window=now.window,
            drift=now.drift,
            volume=now.volume,
            reasons=(f"steady state not reached in {now.rounds} rounds", *now.reasons),
        )

    def verdict(self) -> Verdict:
        """The verdict on the rounds so far."""
        rates = _series(self._rates)
        judged = max(self.window, (len(rates) + 1) // 2)
        window = snia_window(rates, self.window, self.range_fraction, self.slope_fraction)
        drift = None
        reasons = self._window_reasons(window)
        reasons += self._volume_reasons()
        if len(rates) >= self.window:
            half = rates[-judged:]
            drift = _relative_drift(half, SLOPE_ROUNDS)
            reasons += self._level_reasons(half, window, drift)
            reasons += self._floor_reasons(rates, half)
            reasons += self._waf_reasons(judged)
        throttled = sum(self._throttled[-judged:])
        if throttled:
            reasons.append(f"throttled in {throttled} of the last {min(judged, len(rates))} rounds")
        status: Status = "not-yet" if reasons else "steady"
        if self.quick:
            status, reasons = "not-claimed", ["quick run: not claimed", *reasons]
        elif not reasons:
            reasons = [self._grounds(window, drift, judged)]
        return Verdict(status, len(rates), judged, window, drift, self._volume(), tuple(reasons))

    def _volume(self) -> Volume:
        added = sum(self._written_x)
        random = self.pattern == "random"
        return Volume(
            self.before.sequential_x + (0.0 if random else added),
            self.before.random_x + (added if random else 0.0),
        )

    def _window_reasons(self, window: WindowVerdict) -> list[str]:
        rounds = len(self._rates)
        if rounds < self.window:
            return [f"{rounds} of at least {self.window} rounds"]
        if window.mean <= 0:
            return ["no I/O completed in the last rounds"]
        reasons = []
        if window.range > window.range_allowed:
            spread = window.range / window.mean
            reasons.append(
                f"last {self.window} rounds spread over {percent(spread)} of their mean "
                f"({percent(self.range_fraction)} allowed)"
            )
        if window.slope_excursion > window.slope_excursion_allowed:
            moved = window.slope_excursion / window.mean
            reasons.append(
                f"last {self.window} rounds move by {percent(moved)} of their mean "
                f"({percent(self.slope_fraction)} allowed)"
            )
        return reasons

    def _volume_reasons(self) -> list[str]:
        need = self.required or Volume(2.0, 1.0 if self.pattern == "random" else 0.0)
        have = self._volume()
        pairs = [
            ("sequentially", have.sequential_x, need.sequential_x),
            ("at random", have.random_x, need.random_x),
        ]
        return [
            f"{done:.2f}x of {least:g}x the capacity written {how} since the purge"
            for how, done, least in pairs
            if done < least * (1 - VOLUME_TOLERANCE)
        ]

    def _level_reasons(self, half: Floats, window: WindowVerdict, drift: Slope) -> list[str]:
        reasons = []
        n = len(half)
        if drift.low < -SLOPE_LIMIT or drift.high > SLOPE_LIMIT:
            reasons.append(
                f"drift over {max(n, SLOPE_ROUNDS)} rounds is {percent(drift.value, '+.1f')}, "
                f"between {percent(drift.low, '+.1f')} and {percent(drift.high, '+.1f')} "
                f"({percent(SLOPE_LIMIT)} allowed)"
            )
        level = float(np.median(half))
        if level > 0 and abs(window.mean / level - 1) > SLOPE_LIMIT:
            reasons.append(
                f"last {self.window} rounds are {percent(window.mean / level - 1, '+.0f')} "
                f"from the last {n} rounds' level"
            )
        return reasons

    def _floor_reasons(self, rates: Floats, half: Floats) -> list[str]:
        for part in (half, rates):
            away = distance_to_floor(part)
            if away is not None and abs(away) > FLOOR_LIMIT and not self._negligible(part):
                if np.isinf(away):
                    return [f"still drifting over {len(part)} rounds, and not slowing down"]
                return [
                    f"still {percent(away, '+.0f')} from the level that the last {len(part)} rounds tend to"
                ]
        return []

    def _negligible(self, part: Floats) -> bool:
        """Whether the drift stays small over another 3x capacity and three times the history."""
        rounds = len(self._rates)
        if rounds < HORIZON_ROUNDS:
            return False
        drift = _relative_drift(part)
        per_round = max(abs(drift.low), abs(drift.high)) / (len(part) - 1)
        written_x = float(np.mean(self._written_x[-len(part) :]))
        horizon = max(3 * rounds, HORIZON_X / written_x if written_x > 0 else 0)
        return per_round * horizon <= SLOPE_LIMIT

    def _waf_reasons(self, judged: int) -> list[str]:
        known = [waf for waf in self._wafs[-judged:] if waf is not None]
        if len(known) < 2:
            return []
        drift = _relative_drift(_series(known)).value
        if abs(drift) <= WAF_LIMIT:
            return []
        moved = f"WAF drifts by {percent(drift, '+.1f')} over the last {len(known)} rounds"
        return [f"{moved} ({percent(WAF_LIMIT)} allowed)"]

    def _grounds(self, window: WindowVerdict, drift: Slope | None, judged: int) -> str:
        waf = "WAF settled" if any(waf is not None for waf in self._wafs[-judged:]) else "WAF not known"
        moved = (
            f"drift {percent(drift.low, '+.1f')} to {percent(drift.high, '+.1f')} over {judged} rounds"
            if drift
            else ""
        )
        return f"steady from round {window.first_round + 1} to {window.last_round + 1}: {moved}, {waf}"


def distance_to_floor(series: ArrayLike) -> float | None:
    """How far a settling series still is from where it tends to, as a fraction of that level.

    `None` when no trend can be told from noise; infinite when the trend is not shown to slow down. Aitken's
    delta-squared on the means of three equal thirds: of an exponential approach their differences fall by a
    constant ratio q, and what remains after the last is d q / (1 - q). The upper 95 % limit of q is used, so that
    noise errs towards "not yet".
    """
    y = _shorten(_series(series))
    third = len(y) // 3
    if len(y) < 5 or not theil_sen(y).significant:
        return None
    last = y[-3 * third :].reshape(3, third)
    first, middle, final = last.mean(axis=1)
    before, after = middle - first, final - middle
    if before == 0 or after * before <= 0:
        return 0.0 if before else np.inf
    error = _noise(y) / third**0.5
    q = after / before
    q_high = q + 1.645 * error * (2 * (1 + q + q * q)) ** 0.5 / abs(before)
    if q_high >= 1:
        return np.inf
    floor = final + after * q_high / (1 - q_high)
    return float((final - floor) / floor) if floor > 0 else np.inf


def _noise(y: Floats) -> float:
    """Standard deviation around a smooth course: from second differences, whose variance is 6 s^2."""
    bend = np.diff(y, n=2)
    return float(np.sqrt(np.mean(bend * bend) / 6)) if len(bend) else 0.0


def _relative_drift(y: Floats, rounds: int = 0) -> Slope:
    """Theil-Sen drift from the first to the last sample, or over `rounds` if more, as fractions of the median."""
    level = float(np.median(y))
    short = _shorten(y)
    slope = theil_sen(short)
    span = (len(short) - 1) * max(1.0, (rounds - 1) / (len(y) - 1)) / level if level > 0 else np.inf
    if not np.isfinite(span):
        return Slope(0.0, -np.inf, np.inf)
    return Slope(slope.value * span, slope.low * span, slope.high * span)


def _shorten(y: Floats) -> Floats:
    return y if len(y) <= _MOST_POINTS else _block_means(y, -(-len(y) // _MOST_POINTS))


def _block_means(y: Floats, block: int) -> Floats:
    """Means of consecutive blocks; samples at the front that fill no block are left out."""
    whole = len(y) // block * block
    return y[len(y) - whole :].reshape(-1, block).mean(axis=1)


def _ols_slope(y: Floats) -> float:
    if len(y) < 2:
        return 0.0
    x = np.arange(len(y)) - (len(y) - 1) / 2
    return float(x @ y / (x @ x))


def _series(values: ArrayLike) -> Floats:
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1 or not np.all(np.isfinite(series)):
        raise ValueError("a series of rates is one-dimensional and finite")
    return series
