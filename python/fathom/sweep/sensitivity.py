"""Finds which parameters of a twin drive which figures of a method: elementary effects (Morris, Technometrics 33, 1991;
mean of absolute effects: Campolongo et al., Environmental Modelling & Software 22, 2007), by the library SALib.

Every parameter goes through the 80 % range of its prior. A trajectory changes one after the other, so that k parameters
take k + 1 simulations; several trajectories begin at different places.
"""

import io
from collections.abc import Mapping, Sequence
from importlib.resources import files
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from fathom.catalog.ensemble import DIGITS
from fathom.catalog.models import Device
from fathom.catalog.sensitivity import Effect, FigureOfStep, Sensitivity
from fathom.columns.schema import Point
from fathom.errors import FathomError, MissingPackagesError, UsageError
from fathom.load.workers import Workers, as_they_end
from fathom.method.curve import is_point
from fathom.method.method import Method, parse_method
from fathom.prediction.misses import digest_of
from fathom.prediction.priors import SHARE, Prior, priors_of
from fathom.statistics.means import mean_by_count
from fathom.statistics.series import Floats
from fathom.sweep.study import Watch, simulate

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVELS = 4
"""Places of a parameter in its range, as Morris has it."""
TRAJECTORIES = 10
EDGE = NormalDist().inv_cdf((1 + SHARE) / 2)
"""The score at the end of a prior's range."""
FIGURES = "figures.toml"
LEAST = 1e-9
"""A figure of nothing counts as this, since its logarithm is taken."""

Figures = Mapping[FigureOfStep, float]
Problem = dict[str, object]
"""What SALib calls a problem: how many parameters, their names and their bounds."""


def figures_method() -> Method:
    """Returns the method whose figures are taken unless the user names another."""
    text = files("fathom.sweep").joinpath(FIGURES).read_text(encoding="utf-8")
    return parse_method(text, FIGURES)


def find_sensitivity(
    device: Device,
    method: Method,
    workers: Workers,
    watch: Watch,
    trajectories: int = TRAJECTORIES,
    seed: int = 1,
) -> Sensitivity:
    """Returns how much each parameter of the device's twin moves each figure of the method.

    Raises:
        UsageError: the twin is no SSD, the method measures nothing, or the library is not installed.
        FathomError: the twin refuses a parameter set.
    """
    priors = priors_of(device)
    if not priors:
        raise UsageError(f"{device.name} has no SSD twin, and only SSDs have priors")
    problem: Problem = {
        "num_vars": len(priors),
        "names": [one.name for one in priors],
        "bounds": [[-EDGE, EDGE]] * len(priors),
    }
    scores = _sampled(problem, trajectories, seed)
    found = _simulated(device.name, method, _settings(priors, scores), workers, watch, seed)
    names = [figure for figure in found[0] if all(figure in one for one in found)]
    if not names:
        raise UsageError(
            f"{method.name} measures no step by itself", "take another method, such as four-corners"
        )
    effects = [
        _effects(problem, scores, np.log([max(one[name], LEAST) for one in found]), seed) for name in names
    ]
    return Sensitivity(
        schema="fathom-sensitivity/1",
        name=device.name,
        digest=digest_of(device),
        method=method.name,
        quick=method.quick is not None,
        trajectories=trajectories,
        figures=tuple(names),
        effects=tuple(
            Effect(
                parameter=prior.name,
                means=tuple(float(means[place]) for means, _ in effects),
                halves=tuple(float(halves[place]) for _, halves in effects),
            )
            for place, prior in enumerate(priors)
        ),
    )


def _sampled(problem: Problem, trajectories: int, seed: int) -> Floats:
    """Returns scores by simulation and parameter. Raises UsageError where the library is not installed."""
    try:
        from SALib.sample import morris
    except ImportError:
        raise MissingPackagesError("sensitivities need the library SALib", "ensemble") from None
    return np.asarray(morris.sample(problem, trajectories, num_levels=LEVELS, seed=seed), dtype=np.float64)


def _effects(
    problem: Problem, scores: Floats, logs: "NDArray[np.float64]", seed: int
) -> tuple[Floats, Floats]:
    """Returns by parameter the mean of the absolute effects on a figure's logarithm, and half its 95 % interval."""
    from SALib.analyze import morris

    found = morris.analyze(problem, scores, logs, num_levels=LEVELS, seed=seed)
    return np.asarray(found["mu_star"], dtype=np.float64), np.asarray(found["mu_star_conf"], dtype=np.float64)


def _settings(priors: Sequence[Prior], scores: Floats) -> list[str]:
    """Returns by simulation what follows the twin's name."""
    columns = [prior.values(own) for prior, own in zip(priors, scores.T, strict=True)]
    return [
        ",".join(
            f"{prior.name}={int(value) if prior.whole else f'{value:.{DIGITS}g}'}"
            for prior, value in zip(priors, values, strict=True)
        )
        for values in zip(*columns, strict=True)
    ]


def _simulated(
    name: str, method: Method, settings: Sequence[str], workers: Workers, watch: Watch, seed: int
) -> list[Figures]:
    """Returns the figures by simulation. Raises the first failure."""
    quick = method.quick is not None
    futures = {
        workers.submit(simulate, method.text, quick, [f"twin:{name}?{one}"], seed): place
        for place, one in enumerate(settings)
    }
    found: dict[int, Figures] = {}
    for place, result in as_they_end(futures):
        if isinstance(result, FathomError):
            raise FathomError(f"twin:{name}?{settings[place]}: {result}") from result
        found[place] = _figures(method, result["points.parquet"])
        watch(f"simulation {place + 1}", len(found), len(settings))
    return [found[place] for place in range(len(settings))]


def _figures(method: Method, points: bytes) -> Figures:
    """Returns a figure of each step that is measured by itself: no point of a curve, no round.

    A closed loop has its total rate, from which its mean latency follows (Little). An open load has its mean latency.
    """
    labels = {step.name: step.label or step.workload for step in method.steps if step.round is None}
    rows: dict[str, list[Point]] = {}
    for row in map(Point.of, pq.read_table(io.BytesIO(points)).to_pylist()):
        if not is_point(row.step) and row.step in labels:
            rows.setdefault(row.step, []).append(row)
    found: dict[FigureOfStep, float] = {}
    for step, halves in rows.items():
        is_open = halves[0].offered_iops is not None
        mean_us = mean_by_count((half.n, half.mean_us) for half in halves)
        value = mean_us if is_open else sum(half.iops or 0.0 for half in halves)
        if value is not None:
            metric = "latency" if is_open else "rate"
            found[FigureOfStep(step=step, label=labels[step], metric=metric)] = value
    return found
