"""Rounds as reports show them: each step's figures by round, their means over the window, and their outcome.

A round has no counterpart in another repeat, which may take more of them; the means over the window have. What a round
is and when rounds are steady is `fathom.method.rounds`; nothing is drawn here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from fathom.analysis.settled import Unsettled
from fathom.columns.schema import Point
from fathom.method.rounds import Round, figure
from fathom.report.comparison import LEAST_PCT, Column, Comparison, run_letter
from fathom.report.data import RunData
from fathom.report.findings import Gate
from fathom.report.style import plain
from fathom.statistics.steady import SteadyState, Volume
from fathom.statistics.uncertainty import Interval, means_interval


@dataclass(frozen=True)
class Series:
    """One step on one target, by number of the round. Reports call the step by its `label`.

    `figures` lacks rounds in which nothing was completed, or too much I/O failed.
    """

    step: str
    label: str
    points: Mapping[int, Sequence[Point]]
    figures: Mapping[int, float]

    @property
    def values(self) -> list[float]:
        """The figures, in order."""
        return [self.figures[number] for number in sorted(self.figures)]

    @property
    def unbroken(self) -> list[float]:
        """The figures of the last rounds that follow each other: only such rounds can be steady."""
        broken = max((number for number in self.points if number not in self.figures), default=0)
        return [self.figures[number] for number in sorted(self.figures) if number > broken]

    def mean(self, window: int) -> float:
        """Returns the mean of the figure over the last rounds."""
        return float(np.mean(self.values[-window:])) if self.values else 0.0

    def latency_us(self, window: int) -> float:
        """Returns the mean service latency over the same rounds."""
        return figure([vars(point) for point in self.points_of(window)], "latency") or 0.0

    def max_us(self, window: int) -> float:
        """Returns the longest service latency of the same rounds."""
        return max((point.max_us or 0.0 for point in self.points_of(window)), default=0.0)

    def points_of(self, window: int) -> list[Point]:
        """Returns the points of the last rounds that have a figure."""
        return [point for number in sorted(self.figures)[-window:] for point in self.points.get(number, ())]


@dataclass(frozen=True)
class Rounds:
    """All rounds of one name on one target in one run. `place` belongs to any of their steps and has the limits."""

    run: RunData
    place: Round
    series: Sequence[Series]

    @property
    def tracked(self) -> list[Series]:
        """The steps that are judged, without those that the target does not have."""
        return [one for one in self.series if one.step in self.place.track]

    def points_of(self, step: str) -> list[Point]:
        """Returns the points of a step in the rounds of the window."""
        found = (one.points for one in self.series if one.step == step)
        return [
            point
            for points in found
            for number in sorted(points)[-self.place.window :]
            for point in points[number]
        ]

    @property
    def count(self) -> int:
        """Rounds that were run."""
        return max(number for one in self.series for number in (*one.points, *one.figures))

    @property
    def steady(self) -> bool:
        """Whether all tracked steps pass at once."""
        return self.place.steady([one.unbroken for one in self.tracked])


@dataclass(frozen=True)
class Mean:
    """A step's mean over the window. Its interval is over the rounds of a single run, or over repeats.

    `latency_us` is the mean service latency over the same rounds, `max_us` the longest.
    """

    value: float
    interval: Interval | None
    latency_us: float
    max_us: float


@dataclass(frozen=True)
class RepeatedRounds:
    """Rounds of one name on one target, per repeat. A single run is its only repeat."""

    repeats: Sequence[Rounds]

    @property
    def place(self) -> Round:
        """The place of any of their steps, which has the limits."""
        return self.repeats[0].place

    @property
    def steady(self) -> list[Rounds]:
        """The repeats that reached steady state."""
        return [one for one in self.repeats if one.steady]

    @property
    def pooled(self) -> Sequence[Rounds]:
        """The repeats behind the figures: those that reached steady state. All, if none did or none is judged."""
        return (self.steady or self.repeats) if self.place.judged else self.repeats

    @property
    def steps(self) -> list[str]:
        """Names of the steps that have a figure in any repeat."""
        return list(dict.fromkeys(series.step for one in self.repeats for series in one.series))

    @property
    def window_steps(self) -> list[str]:
        """Names in the method of the steps behind the means: each round of the window has its own."""
        window = self.place.window
        return [
            point.step for one in self.pooled for series in one.series for point in series.points_of(window)
        ]

    def a_point(self, step: str) -> Point:
        """Returns a point of the step, of the first repeat that ran it."""
        found = (series.points for one in self.repeats for series in one.series if series.step == step)
        return next(iter(next(found).values()))[0]

    def called(self, step: str) -> str:
        """Returns the step's label."""
        return next(series.label for one in self.repeats for series in one.series if series.step == step)

    def mean(self, step: str) -> Mean | None:
        """Returns the step's mean over the window; None where no repeat that is pooled has a figure."""
        window = self.place.window
        found = [one for rounds in self.pooled for one in rounds.series if one.step == step and one.values]
        if not found:
            return None
        value, interval = self.over([one.values[-window:] for one in found])
        mean_us = float(np.mean([one.latency_us(window) for one in found]))
        return Mean(value, interval, mean_us, max(one.max_us(window) for one in found))

    def over(self, windows: Sequence[Sequence[float]]) -> tuple[float, Interval | None]:
        """Returns the mean of a figure over the last rounds of every repeat that is pooled, and its 95 % interval.

        A single run has Student's interval over rounds, each round being a repeat. Several have Student's over repeats,
        never narrower than the rounds inside say. None where only one of them is pooled.
        """
        own = [means_interval(values) for values in windows]
        means = [float(np.mean(values)) for values in windows]
        if len(self.repeats) == 1:
            return means[0], own[0]
        halves = [None if one is None else (one.high - one.low) / 2 for one in own]
        return float(np.mean(means)), means_interval(means, halves)

    def each(self, step: str) -> list[float | None]:
        """Returns the mean of each repeat, steady or not; None for one without a figure."""
        found = [next((s for s in one.series if s.step == step and s.values), None) for one in self.repeats]
        return [one.mean(self.place.window) if one else None for one in found]


@dataclass(frozen=True)
class TargetRounds(RepeatedRounds):
    """Rounds as a column of a report has them."""

    column: Column

    def labelled(self, comparison: Comparison) -> list[tuple[str, Rounds]]:
        """Returns every repeat under the target's name, with its run's letter where there are several."""
        if len(self.repeats) == 1:
            return [(self.column.short, self.repeats[0])]
        letters = {id(run): run_letter(place) for place, run in enumerate(comparison.runs)}
        return [(f"{self.column.short}, run {letters[id(one.run)]}", one) for one in self.repeats]


def rounds_of(comparison: Comparison) -> dict[str, list[TargetRounds]]:
    """Returns the rounds by name, on each target that ran them."""
    found: dict[str, list[TargetRounds]] = {}
    for column in comparison.columns:
        for name, one in repeated_rounds(column.run, column.target.name).items():
            found.setdefault(name, []).append(TargetRounds(one.repeats, column))
    return found


def repeated_rounds(run: RunData, target: str) -> dict[str, RepeatedRounds]:
    """Returns the rounds of a target by name, over the run's repeats."""
    found: dict[str, list[Rounds]] = {}
    for one in run.repeats:
        for rounds in _rounds(one, target):
            found.setdefault(rounds.place.of, []).append(rounds)
    return {name: RepeatedRounds(repeats) for name, repeats in found.items()}


def _rounds(run: RunData, target: str) -> list[Rounds]:
    """Returns points of a target by rounds, step and number."""
    places: dict[str, Round] = {}
    steps: dict[str, dict[str, dict[int, list[Point]]]] = {}
    for point in run.points:
        place = run.round_of(point.step)
        if place is None or point.target != target:
            continue
        places[place.of] = place
        of_step = steps.setdefault(place.of, {}).setdefault(place.step, {})
        of_step.setdefault(place.number, []).append(point)
    return [
        Rounds(run, place, [_series(run, place, step, points) for step, points in steps[of].items()])
        for of, place in places.items()
    ]


def _series(run: RunData, place: Round, step: str, points: Mapping[int, Sequence[Point]]) -> Series:
    found = {number: figure([vars(point) for point in own], place.metric) for number, own in points.items()}
    of_first = run.steps.get(next(iter(points.values()))[0].step)
    label = plain(of_first.label if of_first else step)
    known = {number: value for number, value in found.items() if value is not None}
    return Series(step, label, points, known)


def axes(rounds: RepeatedRounds) -> tuple[dict[str, str], dict[str, str]]:
    """Returns steps `a-b` of a matrix as rows a and columns b, each with its part of their labels, `..., A, B`; empty
    where they are none.
    """
    pairs = [step.rpartition("-") for step in rounds.steps]
    rows = list(dict.fromkeys(row for row, _, _ in pairs))
    columns = list(dict.fromkeys(column for _, _, column in pairs))
    if len(rows) * len(columns) != len(pairs) or min(len(rows), len(columns)) < 2:
        return {}, {}
    labels = {(row, column): rounds.called(f"{row}-{column}").split(", ") for row, _, column in pairs}
    if min(map(len, labels.values())) < 3:
        return {row: plain(row) for row in rows}, {column: plain(column) for column in columns}
    return (
        {row: labels[row, columns[0]][-2] for row in rows},
        {column: labels[rows[0], column][-1] for column in columns},
    )


def verdicts(found: dict[str, list[TargetRounds]], out: Gate) -> list[str]:
    """Returns the outcome of the rounds, and by how much they still drifted and scattered.

    `out` has the steps that support no claim.
    """
    return [
        _verdict(name, one, unsettled_of(one.column, one, out))
        for name, members in found.items()
        for one in members
    ]


def unsettled_of(column: Column, rounds: RepeatedRounds, out: Gate) -> Unsettled | None:
    """Returns why no figure of the rounds is claimed, whatever their window says; None where nothing is in the way."""
    keys = [(column.short, step) for step in rounds.window_steps]
    return next((out[key] for key in keys if key in out), None)


def _verdict(name: str, one: TargetRounds, why: Unsettled | None) -> str:
    label = f"{one.column.label}, {name}"
    if len(one.repeats) > 1:
        return f"{label}: {_over_repeats(one, why)}"
    rounds = one.repeats[0]
    if not one.place.judged:
        return f"{label}: {rounds.count} rounds, counted and not judged."
    if rounds.steady:
        return (
            f"{label}: the standard's window passes after {rounds.count} rounds of at most {one.place.most}. "
            f"{_found(rounds)} {_combined(rounds, why)}"
        )
    return (
        f"{label}: steady state not reached in {rounds.count} rounds. {_found(rounds)} The figures below are of "
        f"the last {one.place.window}, not of a settled drive."
    )


def _over_repeats(one: TargetRounds, why: Unsettled | None) -> str:
    """Returns how many repeats pass the window, after how many rounds, and which of them the figures cover."""
    place, many = one.place, len(one.repeats)
    if not place.judged:
        return f"{many} repeats of {_counts(one.repeats)} rounds, counted and not judged."
    if not one.steady:
        return (
            f"steady state not reached in any of {many} repeats, in {_counts(one.repeats)} rounds. The figures "
            f"below are of the last {place.window} of each, not of a settled drive."
        )
    text = (
        f"the standard's window passes in {len(one.steady)} of {many} repeats, after {_counts(one.steady)} rounds of "
        f"at most {place.most}."
    )
    if len(one.steady) < many:
        text += " The figures below are of those alone: the other repeats did not settle."
    if one.column.run.document.quick:
        return f"{text} A quick run claims no more than that."
    if why:
        return f"{text} {_in_none(why)}"
    strict = sum(all(steady for steady, _ in _reasons(rounds)) for rounds in one.steady)
    return f"{text} The stricter combined criterion holds in {strict} of {len(one.steady)}."


def _counts(repeats: Sequence[Rounds]) -> str:
    """Returns how many rounds they took: `5`, or `5 to 7`."""
    counts = [one.count for one in repeats]
    return " to ".join(dict.fromkeys((str(min(counts)), str(max(counts)))))


def _found(one: Rounds) -> str:
    """Returns the tracked step that is nearest to a limit of the window, with its figures."""
    judged = [(series, one.place.judge(series.unbroken)) for series in one.tracked if series.unbroken]
    if not judged:
        return "No tracked step applies to this target."
    series, window = max(
        judged,
        key=lambda pair: max(
            _share_of(pair[1].range, pair[1].range_allowed),
            _share_of(pair[1].slope_excursion, pair[1].slope_excursion_allowed),
        ),
    )
    spread_pct, moved_pct = (100 * value / window.mean for value in (window.range, window.slope_excursion))
    return (
        f"“{series.label}” varies most among the tracked steps. Its last {len(series.unbroken[-one.place.window :])} "
        f"rounds spread over {_pct(spread_pct)} of their mean ({100 * one.place.range_fraction:.0f} % allowed). "
        f"Their best fit moves by {_pct(moved_pct)} ({100 * one.place.slope_fraction:.0f} % allowed)."
    )


def _share_of(value: float, allowed: float) -> float:
    """Returns how much of a limit a value takes; infinite where a method allows nothing."""
    return value / allowed if allowed else inf


def _pct(value: float) -> str:
    """Returns a percentage in two digits, `0.83 %`, `140 %`. Residues of floating point become `< 0.001 %`."""
    if value < LEAST_PCT:
        return f"< {LEAST_PCT:g} %"
    return f"{value:.2g} %" if value < 10 else f"{value:.0f} %"


def _in_none(why: Unsettled) -> str:
    return f"The stricter combined criterion does not hold: {why.value}."


def _combined(one: Rounds, why: Unsettled | None) -> str:
    """Returns what the combined criterion says of the same rounds. `why` is what was too little before them."""
    if one.run.document.quick:
        return "A quick run claims no more than that."
    if why:
        return _in_none(why)
    reasons = _reasons(one)
    against = [text for steady, text in reasons if not steady]
    if against:
        return f"The stricter combined criterion does not hold: {'; '.join(against)}."
    return f"The stricter combined criterion holds too: {'; '.join(text for _, text in reasons)}."


def _reasons(one: Rounds) -> list[tuple[bool, str]]:
    """Returns whether the combined criterion calls each tracked step steady, and why."""
    reasons = []
    for series in one.tracked:
        state = SteadyState(
            required=Volume(),
            window=one.place.window,
            range_fraction=one.place.range_fraction,
            slope_fraction=one.place.slope_fraction,
        )
        verdicts = [state.add_round(value) for value in series.unbroken]
        reasons.append((verdicts[-1].steady, f"{series.label}: {verdicts[-1].reason}"))
    return reasons
