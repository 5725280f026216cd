"""When a drive may be called steady: the SNIA window and the combined criterion.

Everything here judges a series of rates (rounds, or seconds) that others measured. Nothing here runs a round or decides
how long to go on. Definitions, sources and measured error rates: docs/explanation/statistics.md.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fathom.output.text import percent, size
from fathom.statistics.series import Floats, as_series
from fathom.statistics.trend import Slope, distance_to_floor, relative_drift

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


class Since(StrEnum):
    """From when on writes are counted."""

    RUN = "in this run"
    PURGE = "since the purge"
    FILL = "since the fill began"


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
    """Returns the verdict of SNIA SSS PTS 2.0 on the last `window` rounds. They pass if max - min <= 20 % of the mean,
    and the least-squares line moves by at most 10 % of the mean within the window.

    With fewer rounds than `window` the figures are those of the rounds there are, and the window does not pass.
    """
    series = as_series(rounds)
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


def _ols_slope(y: Floats) -> float:
    if len(y) < 2:
        return 0.0
    x = np.arange(len(y)) - (len(y) - 1) / 2
    return float(x @ y / (x @ x))


@dataclass(frozen=True, slots=True)
class Volume:
    """What was written since the purge, the fill or the run's beginning, in multiples of the capacity."""

    sequential_x: float = 0.0
    random_x: float = 0.0


@dataclass(frozen=True, slots=True)
class ToFill:
    """A cache that the rounds must fill before they show the rate behind it.

    What it holds is in bytes, and in multiples of the capacity.
    """

    name: str
    holds_bytes: float
    holds_x: float


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
    missing: tuple[str, ...]
    """What keeps it from being steady; empty where the criterion holds."""
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

    Steady means that the SNIA window passes and `required` was written `since`. Over the later half of the
    rounds, never fewer than the window, it also means:

    - the Theil-Sen interval of the drift lies within +-5 %, and the last window is at the level of that half;
    - WAF drifts by no more than 5 % where it is known, and nothing throttled;
    - a drift that exceeds the noise, extrapolated, ends within 5 % of the rate.

    The later half is judged, not the last five rounds, because any slow decay looks flat in a short window.

    `before` is what was written before the first round, counted from `since`. `pattern` is what the rounds write.
    `required` defaults to 2x sequential, and 1x random for a random pattern. `least_x` is what the rounds have to write
    themselves, in multiples of the capacity: what another pattern wrote before says little of this one. `cache` is what
    they have to fill. A quick run never claims steady state.
    """

    pattern: Literal["sequential", "random"] = "random"
    before: Volume = Volume()
    since: Since = Since.RUN
    required: Volume | None = None
    least_x: float = 0.0
    cache: ToFill | None = None
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
        """Returns the verdict when no round will follow: what is not steady now never became so."""
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
            missing=now.missing,
            reasons=(f"steady state not reached in {now.rounds} rounds", *now.reasons),
        )

    def verdict(self) -> Verdict:
        """Returns the verdict on the rounds so far."""
        rates = as_series(self._rates)
        judged = max(self.window, (len(rates) + 1) // 2)
        window = snia_window(rates, self.window, self.range_fraction, self.slope_fraction)
        drift = None
        reasons = self._window_reasons(window)
        reasons += self._volume_reasons()
        if len(rates) >= self.window:
            half = rates[-judged:]
            drift = relative_drift(half, SLOPE_ROUNDS)
            reasons += self._level_reasons(half, window, drift)
            reasons += self._floor_reasons(rates, half)
            reasons += self._waf_reasons(judged)
        throttled = sum(self._throttled[-judged:])
        if throttled:
            reasons.append(f"throttled in {throttled} of the last {min(judged, len(rates))} rounds")
        status: Status = "not-yet" if reasons else "steady"
        missing = tuple(reasons)
        if self.quick:
            status, reasons = "not-claimed", ["quick run: not claimed", *reasons]
        elif not reasons:
            reasons = [self._grounds(window, drift, judged)]
        return Verdict(status, len(rates), judged, window, drift, self._volume(), missing, tuple(reasons))

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
            (f"sequentially {self.since}", have.sequential_x, need.sequential_x),
            (f"at random {self.since}", have.random_x, need.random_x),
            ("under this load", sum(self._written_x), self.least_x),
        ]
        reasons = [
            f"{done:.2f}x of {least:.3g}x the capacity written {how}"
            for how, done, least in pairs
            if done < least * (1 - VOLUME_TOLERANCE)
        ]
        if self.cache and (share := sum(self._written_x) / self.cache.holds_x) < 1:
            done = size(share * self.cache.holds_bytes)
            reasons.append(
                f"{done} of the {size(self.cache.holds_bytes)} that its {self.cache.name} holds written"
            )
        return reasons

    def _level_reasons(self, half: Floats, window: WindowVerdict, drift: Slope) -> list[str]:
        reasons = []
        n = len(half)
        if np.isinf(drift.high):
            reasons.append(f"most of the last {n} rounds completed nothing")
        elif drift.low < -1.0:
            # No rate falls by more than itself: the line says nothing of where it leads.
            reasons.append(
                f"drift over {max(n, SLOPE_ROUNDS)} rounds is open: the last {n} vary too much "
                f"({percent(SLOPE_LIMIT)} allowed)"
            )
        elif drift.low < -SLOPE_LIMIT or drift.high > SLOPE_LIMIT:
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
                    f"still {percent(away, '+.0f')} from the level that the last {len(part)} rounds approach"
                ]
        return []

    def _negligible(self, part: Floats) -> bool:
        """Returns whether the drift stays small over another 3x capacity and three times the history."""
        rounds = len(self._rates)
        if rounds < HORIZON_ROUNDS:
            return False
        drift = relative_drift(part)
        per_round = max(abs(drift.low), abs(drift.high)) / (len(part) - 1)
        written_x = float(np.mean(self._written_x[-len(part) :]))
        horizon = max(3 * rounds, HORIZON_X / written_x if written_x > 0 else 0)
        return per_round * horizon <= SLOPE_LIMIT

    def _waf_reasons(self, judged: int) -> list[str]:
        known = [waf for waf in self._wafs[-judged:] if waf is not None]
        if len(known) < 2:
            return []
        drift = relative_drift(as_series(known)).value
        if abs(drift) <= WAF_LIMIT:
            return []
        moved = f"WAF drifts by {percent(drift, '+.1f')} over the last {len(known)} rounds"
        return [f"{moved} ({percent(WAF_LIMIT)} allowed)"]

    def _grounds(self, window: WindowVerdict, drift: Slope | None, judged: int) -> str:
        known = sum(waf is not None for waf in self._wafs[-judged:])
        waf = "WAF settled" if known > 1 else "WAF not known" if not known else "WAF known in one round"
        moved = (
            f"drift {percent(drift.low, '+.1f')} to {percent(drift.high, '+.1f')} over {judged} rounds"
            if drift
            else ""
        )
        return f"steady from round {window.first_round + 1} to {window.last_round + 1}: {moved}, {waf}"
