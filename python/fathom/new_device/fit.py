"""Fits a drive's draft to its ratings: each rating sets one parameter, in an order that leaves earlier ones met.

A search over all parameters at once would find the same: a maximum feels what limits it and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.catalog.models import Device, MissedRating, Parameter, SpecRow
from fathom.catalog.sheet import rated_in
from fathom.new_device.draft import Draft
from fathom.prediction.priors import shipped_priors
from fathom.report.style import grouped
from fathom.validation.calibrate import FittedParameter, fit_to, row_job
from fathom.validation.cases import Case
from fathom.validation.comparison import error_of
from fathom.validation.ratings import PRECISION, Rating, cases_of_ratings
from fathom.validation.trial import Measured
from fathom.validation.validate import TrialRunner

MET_PCT = 3.0
"""Error up to which a rating counts as met: figures are rounded, and trials sampled."""


@dataclass(frozen=True)
class Met:
    """A rating and what the twin makes of it."""

    key: str
    case: Case
    rated: float
    simulated: float
    error_pct: float
    parameter: str | None
    """What the rating has set; None where it sets nothing."""
    limited_by: str | None

    @property
    def met(self) -> bool:
        """Whether the twin has the rating."""
        return abs(self.error_pct) <= MET_PCT

    @property
    def miss(self) -> MissedRating:
        """The rating as the device's file keeps it where the twin misses it."""
        return MissedRating(
            rating=self.key,
            rated=self.rated,
            simulated=float(f"{self.simulated:.4g}"),
            limited_by=self.limited_by,
        )


@dataclass(frozen=True)
class Outside:
    """A value that ratings set, outside the range in which 80 % of its class are expected."""

    parameter: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Fitted:
    """A drive that has been fitted to its ratings."""

    device: Device
    ratings: Sequence[Met]
    outside: Sequence[Outside]


def fit(draft: Draft, ratings: SpecRow, runner: TrialRunner) -> Fitted:
    """Fits the draft of a device to its ratings, and compares all of them in the end.

    Raises FathomError where the twin refuses the parameters of the draft.
    """
    device = draft.device
    for rating, case in cases_of_ratings(device, [ratings]):
        if rating.key in draft.sets:
            start = _start(device, draft.sets[rating.key])
            found = fit_to(device, [case], start, runner, covered=PRECISION)
            device = _with(device, rating, case, found.parameters[0])
    cases = cases_of_ratings(device, [ratings])
    results = runner.run([row_job(device, case, {}, case.name, covered=PRECISION) for _, case in cases])
    met = [
        _met(rating, case, one, draft.sets.get(rating.key))
        for (rating, case), one in zip(cases, results, strict=True)
    ]
    return Fitted(_with_misses(device, met), met, _outside(draft, device))


def _met(rating: Rating, case: Case, measured: Measured, parameter: str | None) -> Met:
    rated, simulated = case.figures[rating.metric], measured.value(case.row, rating.metric)
    error_pct = error_of(case.row, rated, simulated) or 0.0
    return Met(rating.key, case, rated, simulated, error_pct, parameter, measured.limited_by)


def _with_misses(device: Device, ratings: Sequence[Met]) -> Device:
    """Returns the device with the ratings that its twin misses."""
    assert device.twin is not None
    missed = tuple(one.miss for one in ratings if not one.met)
    return device.model_copy(update={"twin": device.twin.model_copy(update={"missed": missed})})


def _start(device: Device, name: str) -> dict[str, float]:
    assert device.twin is not None
    return {name: float(device.twin.parameters[name].value)}


def _with(device: Device, rating: Rating, case: Case, one: FittedParameter) -> Device:
    """Returns the device with what a rating has set; as it is where the rating does not feel the parameter."""
    assert device.twin is not None
    before = device.twin.parameters[one.name]
    if not one.sensitivity.felt:
        return device
    rated = case.figures[rating.metric]
    why = f"; {before.source}" if before.basis == "derived" else ""
    new = Parameter(
        value=int(one.after) if type(before.value) is int else one.after,
        basis="calibrated",
        source=f"{rating.workload}: rated {grouped(rated)} {rated_in(rating.key)}{why}",
    )
    twin = device.twin.model_copy(update={"parameters": {**device.twin.parameters, one.name: new}})
    return device.model_copy(update={"twin": twin})


def _outside(draft: Draft, device: Device) -> list[Outside]:
    """Returns the values of an SSD that ratings set, by a fit or in the draft, outside their class's range.

    It is around what the draft assumes, or around the class's own value where the draft derives it from ratings.
    """
    drafted = draft.device
    if drafted.twin is None or device.twin is None or drafted.twin.kind != "ssd":
        return []
    found = []
    for name, one in device.twin.parameters.items():
        start, width = drafted.twin.parameters[name], shipped_priors().parameters.get(name)
        usual = start.value if start.basis == "assumed" else draft.of_class.get(name)
        if (
            one.basis not in ("calibrated", "derived")
            or width is None
            or usual is None
            or isinstance(usual, str)
        ):
            continue
        low, high = usual / width.factor, usual * width.factor
        if not low <= float(one.value) <= high:
            found.append(Outside(name, float(one.value), low, high))
    return found
