"""Rounds as reports show them: each step's figures by round, their means over the window, and what became of them.

What a round is and when rounds are steady is `fathom.rounds`; nothing is drawn here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathom.analysis.steady import SteadyState, Volume
from fathom.analysis.uncertainty import means_interval
from fathom.report.comparison import Column, Comparison
from fathom.report.data import Point
from fathom.report.style import plain
from fathom.rounds import Round, figure


@dataclass(frozen=True)
class Series:
    """One step of the rounds on one target: its figures by round."""

    step: str
    points: dict[int, list[Point]]
    values: list[float]

    def mean(self, window: int) -> float:
        """Mean of the figure over the last rounds."""
        return float(np.mean(self.values[-window:])) if self.values else 0.0

    def half_width_pct(self, window: int) -> float | None:
        """Half the 95 % interval of that mean, each round being a repeat, in percent; None with fewer than two."""
        found = means_interval(self.values[-window:])
        return 50 * (found.high - found.low) / found.mean if found and found.mean else None

    def latency_us(self, window: int) -> float:
        """Mean service latency over the same rounds."""
        rows = [vars(point) for number in sorted(self.points)[-window:] for point in self.points[number]]
        return figure(rows, "latency") or 0.0


@dataclass(frozen=True)
class Rounds:
    """All rounds of one name on one target. `place` is of any of their steps: it has the limits."""

    column: Column
    place: Round
    series: Sequence[Series]

    @property
    def tracked(self) -> list[Series]:
        """The steps that are judged, without those that the target does not have."""
        return [one for one in self.series if one.step in self.place.track]

    @property
    def count(self) -> int:
        """Rounds that were run."""
        return max(len(one.values) for one in self.series)

    @property
    def steady(self) -> bool:
        """Whether all tracked steps pass at once."""
        return self.place.steady([one.values for one in self.tracked])


def rounds_of(comparison: Comparison) -> dict[str, list[Rounds]]:
    """Every rounds by name, on each target that ran them."""
    found: dict[str, list[Rounds]] = {}
    for column in comparison.columns:
        for one in _rounds(column):
            found.setdefault(one.place.of, []).append(one)
    return found


def _rounds(column: Column) -> list[Rounds]:
    """Points of the column by rounds, step and number."""
    run = column.run
    places: dict[str, Round] = {}
    steps: dict[str, dict[str, dict[int, list[Point]]]] = {}
    for point in run.points:
        place = run.round_of(point.step)
        if place is None or point.target != column.target.name:
            continue
        places[place.of] = place
        of_step = steps.setdefault(place.of, {}).setdefault(place.step, {})
        of_step.setdefault(place.number, []).append(point)
    return [
        Rounds(column, place, [_series(place, step, points) for step, points in steps[of].items()])
        for of, place in places.items()
    ]


def _series(place: Round, step: str, points: dict[int, list[Point]]) -> Series:
    found = [figure([vars(point) for point in points[number]], place.metric) for number in sorted(points)]
    return Series(step, points, [value for value in found if value is not None])


def axes(steps: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names `a-b` of a matrix as rows a and columns b; empty where they are none."""
    pairs = [step.rpartition("-") for step in steps]
    rows = list(dict.fromkeys(row for row, _, _ in pairs))
    columns = list(dict.fromkeys(column for _, _, column in pairs))
    whole = len(rows) * len(columns) == len(steps) and len(rows) > 1 and len(columns) > 1
    return (rows, columns) if whole else ([], [])


def verdicts(found: dict[str, list[Rounds]]) -> list[str]:
    """What became of the rounds, and by how much they still moved and strayed."""
    texts = []
    for name, members in found.items():
        for one in members:
            label = f"{one.column.label}, {name}"
            if not one.place.judged:
                texts.append(f"{label}: {one.count} rounds, counted and not judged.")
            elif one.steady:
                texts.append(
                    f"{label}: the standard's window passes after {one.count} rounds of at most {one.place.most}. "
                    f"{_found(one)} {_combined(one)}"
                )
            else:
                texts.append(
                    f"{label}: steady state not reached in {one.count} rounds. {_found(one)} The figures below are of "
                    f"the last {one.place.window} and not those of a settled drive."
                )
    return texts


def _found(one: Rounds) -> str:
    """The tracked step that is nearest to a limit of the window, with its figures."""
    judged = [(series, one.place.judge(series.values)) for series in one.tracked if series.values]
    if not judged:
        return "No tracked step applies to this target."
    series, window = max(
        judged,
        key=lambda pair: max(
            pair[1].range / pair[1].range_allowed, pair[1].slope_excursion / pair[1].slope_excursion_allowed
        ),
    )
    spread_pct, moved_pct = (100 * value / window.mean for value in (window.range, window.slope_excursion))
    return (
        f"Of the tracked steps {plain(series.step)} varies most: the last {len(series.values[-one.place.window :])} "
        f"rounds spread over {spread_pct:.2g} % of their mean ({100 * one.place.range_fraction:.0f} % allowed) and "
        f"their best fit moves by {moved_pct:.2g} % ({100 * one.place.slope_fraction:.0f} % allowed)."
    )


def _combined(one: Rounds) -> str:
    """What the combined criterion says of the same rounds; volumes are the preconditioning's matter."""
    if one.column.run.document.quick:
        return "A quick run claims no more than that."
    reasons = []
    for series in one.tracked:
        state = SteadyState(
            required=Volume(),
            window=one.place.window,
            range_fraction=one.place.range_fraction,
            slope_fraction=one.place.slope_fraction,
        )
        verdicts = [state.add_round(value) for value in series.values]
        reasons.append((verdicts[-1].steady, f"{plain(series.step)}: {verdicts[-1].reason}"))
    against = [text for steady, text in reasons if not steady]
    if against:
        return f"The stricter combined criterion does not hold: {'; '.join(against)}."
    return f"The stricter combined criterion holds too: {'; '.join(text for _, text in reasons)}."
