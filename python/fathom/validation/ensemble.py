"""Finds the parameter sets of a twin that agree with its calibration rows: an ensemble instead of one best fit.

Ensemble smoother with multiple data assimilation (Emerick & Reynolds, Computers & Geosciences 55, 2013), by the library
pyesmda. Members begin in the priors. Each pass simulates all of them and moves them towards the rows, as far as the
rows' own uncertainty allows. Validation rows are not simulated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import log10

import numpy as np

from fathom.catalog.ensemble import DIGITS, Ensemble
from fathom.catalog.models import Device
from fathom.errors import MissingPackagesError, UsageError
from fathom.prediction.misses import digest_of
from fathom.prediction.priors import Prior, priors_of
from fathom.statistics.series import Floats
from fathom.validation.calibrate import row_job
from fathom.validation.cases import Case, cases_of
from fathom.validation.validate import Job, TrialRunner

MEMBERS = 100
PASSES = 3
"""Passes of assimilation. A last round of simulations shows the result."""
PRECISION = 0.03
"""Half the 95 % interval of a member's rates, over their mean, at which a simulation ends."""
SIMULATED = 0.02
"""Standard deviation of a row beside its rounding, in logarithms. Assumed: sources give no interval, and the short
windows of members have noise of their own.
"""
TRUNCATION = 0.999
"""Share of the sum of singular values that pyesmda keeps when it inverts: all directions that rows differ in."""

Simulate = Callable[[Floats], Floats]
"""Maps scores, by parameter and member, to logarithms of figures, by row and member."""


@dataclass(frozen=True)
class Narrowed:
    """A parameter over the ensemble: its 80 % range before and after, and the share of its variance that went."""

    name: str
    prior: tuple[float, float]
    posterior: tuple[float, float]
    learnt: float


@dataclass(frozen=True)
class Sampled:
    """An ensemble with what it was made from: scores by parameter and member, logarithms of rates by row and member."""

    ensemble: Ensemble
    cases: Sequence[Case]
    priors: Sequence[Prior]
    scores_before: Floats
    scores: Floats
    rates_before: Floats
    rates: Floats

    def errors_pct(self, *, before: bool = False) -> list[tuple[float, float]]:
        """Returns by row the range of 80 % of the members' errors, now or in the priors."""
        rates = self.rates_before if before else self.rates
        published = np.array([np.log(_published(case)) for case in self.cases])
        bounds = 100 * np.expm1(np.quantile(rates - published[:, None], [0.1, 0.9], axis=1))
        return [(float(low), float(high)) for low, high in bounds.T]

    @property
    def narrowed(self) -> list[Narrowed]:
        """Returns what the rows taught about each parameter."""
        return [
            Narrowed(prior.name, _range(prior, before), _range(prior, after), _learnt(before, after))
            for prior, before, after in zip(self.priors, self.scores_before, self.scores, strict=True)
        ]


def sample_ensemble(device: Device, runner: TrialRunner, members: int = MEMBERS) -> Sampled:
    """Returns an ensemble of `members` parameter sets. The seed of its draws is that of the runner.

    Raises:
        UsageError: the device's twin is no SSD, it has no calibration row, or the library is not installed.
        FathomError: the twin refuses a parameter set.
    """
    priors = priors_of(device)
    if not priors:
        raise UsageError(f"{device.name} has no SSD twin, and only SSDs have priors")
    cases = [case for case in cases_of(device) if case.may_be_fitted and case.trial]
    if not cases:
        raise UsageError(
            f"{device.name} has no calibration row that can be simulated, so nothing narrows its priors"
        )
    runs = _Runs(device, cases, priors, runner)
    random = np.random.default_rng(runner.seed)
    before = random.standard_normal((len(priors), members))
    observed = np.array([np.log(_published(case)) for case in cases])
    variances = np.array([deviation(case) ** 2 for case in cases])
    after = _assimilated(observed, variances, before, runs.rates, random)
    first, last = runs.found[0], runs.found[-1]
    ensemble = Ensemble(
        schema="fathom-ensemble/1",
        name=device.name,
        digest=digest_of(device),
        rows=tuple(case.row.workload for case in cases),
        misfit_before_pct=_misfit_pct(first, observed),
        misfit_pct=_misfit_pct(last, observed),
        parameters=tuple(prior.name for prior in priors),
        members=tuple(map(tuple, runs.values(after).T.tolist())),
    )
    return Sampled(ensemble, cases, priors, before, after, first, last)


def _assimilated(
    observed: Floats, variances: Floats, scores: Floats, simulate: Simulate, random: np.random.Generator
) -> Floats:
    """Returns the scores after all passes, by parameter and member.

    Raises UsageError where the library is not installed.
    """
    try:
        from covmats import CovViaDiagonal
        from pyesmda import ESMDA
    except ImportError:
        raise MissingPackagesError("an ensemble needs the library pyesmda", "ensemble") from None
    solver = ESMDA(
        obs=observed,
        m_init=scores,
        cov_obs=CovViaDiagonal(variances),
        forward_model=simulate,
        n_assimilations=PASSES,
        random_state=random,
        truncation=TRUNCATION,
        is_parallel_analyse_step=False,
    )
    solver.solve()
    return np.asarray(solver.m_posterior, dtype=np.float64)


class _Runs:
    """Simulates the rows for many parameter sets at once."""

    def __init__(
        self, device: Device, cases: Sequence[Case], priors: Sequence[Prior], runner: TrialRunner
    ) -> None:
        self.found: list[Floats] = []
        self._device = device
        self._cases = cases
        self._priors = priors
        self._runner = runner

    def values(self, scores: Floats) -> Floats:
        """Returns parameter values at scores, both by parameter and member, as they are written to a file."""
        pairs = zip(self._priors, scores, strict=True)
        rounded = np.vectorize(lambda value: float(f"{value:.{DIGITS}g}"))
        return np.array([rounded(prior.values(row)) for prior, row in pairs])

    def rates(self, scores: Floats) -> Floats:
        """Returns the logarithm of each row's figure, by row and member."""
        members = self.values(np.asarray(scores)).T.tolist()
        jobs = [
            self._job(case, member, number)
            for (number, member), case in product(enumerate(members, 1), self._cases)
        ]
        measured = self._runner.run(jobs)
        figures = [
            np.log(max(one.value(case.row, next(iter(case.figures))), 1e-9))
            for one, (_, case) in zip(measured, product(members, self._cases), strict=True)
        ]
        self.found.append(np.array(figures).reshape(len(members), len(self._cases)).T)
        return self.found[-1]

    def _job(self, case: Case, member: Sequence[float], number: int) -> Job:
        values = {
            prior.name: int(value) if prior.whole else value
            for prior, value in zip(self._priors, member, strict=True)
        }
        label = f"pass {len(self.found) + 1} of {PASSES + 1}, member {number}: {case.name}"
        return row_job(self._device, case, values, label, covered=PRECISION)


def _published(case: Case) -> float:
    return next(iter(case.figures.values()))


def deviation(case: Case) -> float:
    """Returns the standard deviation of a row, in logarithms: its rounding and the noise of a simulation."""
    value = _published(case)
    digits = f"{value:.10g}".replace(".", "").strip("0")
    step = 10 ** (np.floor(log10(value)) + 1 - max(len(digits), 1))
    return float(np.hypot(SIMULATED, step / np.sqrt(12) / value))


def _misfit_pct(rates: Floats, observed: Floats) -> float:
    return float(100 * np.sqrt(np.mean((rates - observed[:, None]) ** 2)))


def _range(prior: Prior, scores: Floats) -> tuple[float, float]:
    low, high = np.quantile(prior.values(scores), [0.1, 0.9])
    return float(low), float(high)


def _learnt(before: Floats, after: Floats) -> float:
    return float(max(0.0, 1 - np.var(after) / np.var(before)))
