"""Fits positive parameters to residuals by damped least squares on their logarithms. Knows nothing of devices.

This is Levenberg-Marquardt with slopes from +-10 % steps, which are also the sensitivities in the report. Broyden's
rank-one formula keeps them up to date (Nocedal & Wright, Numerical Optimization, 10.3 and 11.1). Each parameter has a
slope for up and one for down, because bottlenecks are kinks: more of what does not limit does nothing. The damping is
equal for all parameters because a logarithm has no unit. So one that no residual feels stays where it was.
Deterministic.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.statistics.series import Floats

SPAN = 0.10
"""Relative step of the sensitivities."""
FELT = 0.005
"""Least change of a residual over +-`SPAN` for a parameter to count as having an effect."""
ALONE = 0.10
"""Least share of a parameter's effect that no other parameters can imitate, for it to count as identifiable."""
MOST_STEP = 0.35
"""Most change of a logarithm in one step."""
HELD_BACK = 0.02
"""Largest change by rounding, in a step of a logarithm, before the parameter counts as held."""
GOOD_ENOUGH = 0.002
"""Root mean square of the residuals at which the search ends."""
LEAST_GAIN = 0.02
"""A step that improves the sum of squares by less than this share, or promises less, is the last one."""
MOST_TRIES = 12

Evaluate = Callable[[Floats], Floats | None]
"""Maps parameters to residuals (0: perfect fit); None for invalid parameters."""
Tidy = Callable[[Floats], Floats]
"""Rounds parameters to valid values: whole numbers, a few digits."""


@dataclass(frozen=True)
class Sensitivity:
    """The effect of +-10 % of one parameter on each residual, and whether it can be identified by it.

    `up` and `down` are changes of the residuals; None where the changed parameter cannot be. `alone` is the share of
    its effect that no combination of the other parameters gives too (0: nothing separates it from them).
    """

    up: Floats | None
    down: Floats | None
    alone: float

    @property
    def strongest(self) -> int | None:
        """Index of the residual that moves most; None where none does."""
        sides = [np.abs(side) for side in (self.up, self.down) if side is not None]
        return int(np.max(sides, axis=0).argmax()) if self.felt else None

    @property
    def felt(self) -> bool:
        """Whether any residual moves."""
        return any(side is not None and np.abs(side).max() >= FELT for side in (self.up, self.down))


@dataclass
class Fit:
    """The best parameters found, their residuals, those of the start, and the sensitivities there."""

    values: Floats
    residuals: Floats
    start_residuals: Floats
    sensitivities: Sequence[Sensitivity]
    evaluations: int


def fit(evaluate: Evaluate, start: Floats, tidy: Tidy = lambda values: values) -> Fit:
    """Returns the least sum of squared residuals near the start.

    Args:
        evaluate: called with tidied values only; may be slow.
        start: positive; returned unchanged where nothing better was found.
        tidy: rounds values.

    Raises:
        ValueError: the start itself cannot be evaluated.
    """
    search = _Search(evaluate, tidy, start)
    search.look_around()
    search.descend()
    return search.found


class _Search:
    def __init__(self, evaluate: Evaluate, tidy: Tidy, start: Floats) -> None:
        self._evaluate = evaluate
        self._tidy = tidy
        residuals = evaluate(start)
        if residuals is None:
            raise ValueError("the start cannot be evaluated")
        self.found = Fit(start, residuals, residuals, [], evaluations=1)
        self._up = np.zeros((len(residuals), len(start)))
        self._down = self._up.copy()

    def _try(self, values: Floats) -> Floats | None:
        self.found.evaluations += 1
        return self._evaluate(values)

    def look_around(self) -> None:
        """Measures slopes and sensitivities of every parameter on both sides. One without an effect has no slope."""
        sides = [
            (self._side(index, 1 + SPAN, self._up), self._side(index, 1 / (1 + SPAN), self._down))
            for index in range(len(self.found.values))
        ]
        felt = np.array([Sensitivity(up, down, 1.0).felt for up, down in sides])
        self._up *= felt
        self._down *= felt
        steepest = np.where(
            np.abs(self._up).sum(axis=0) >= np.abs(self._down).sum(axis=0), self._up, self._down
        )
        self.found.sensitivities = [
            Sensitivity(up, down, _alone(steepest, index)) for index, (up, down) in enumerate(sides)
        ]

    def _side(self, index: int, factor: float, slopes: Floats) -> Floats | None:
        """Returns the change of the residuals with one parameter; None where that value is invalid. Keeps the slope."""
        values = self.found.values.copy()
        values[index] *= factor
        values = self._tidy(values)
        log = float(np.log(values[index] / self.found.values[index]))
        residuals = self._try(values) if log else None
        if residuals is None:
            return None
        slopes[:, index] = (residuals - self.found.residuals) / log
        return residuals - self.found.residuals

    def descend(self) -> None:
        """Takes steps until the fit is good, steps gain nothing, or tries run out."""
        found, damping = self.found, 1e-3
        for _ in range(MOST_TRIES):
            before = float(found.residuals @ found.residuals)
            if before <= GOOD_ENOUGH**2 * len(found.residuals):
                return
            slopes, step, values = self._step(damping)
            promised = found.residuals + slopes @ step
            if promised @ promised > before * (1 - LEAST_GAIN):
                damping *= 10
                continue
            residuals = self._try(values)
            after = np.inf if residuals is None else float(residuals @ residuals)
            if residuals is not None:
                self._learn(slopes, step, residuals - found.residuals)
            if residuals is None or after >= before:
                damping *= 10
                continue
            found.values, found.residuals = values, residuals
            damping /= 3
            if after > before * (1 - LEAST_GAIN):
                return

    def _step(self, damping: float) -> tuple[Floats, Floats, Floats]:
        """Slopes of the sides that the step goes to, the step as tidied, and the values it leads to.

        Sides and step are found in turn. A parameter that tidying holds back stays where it got to, and the others make
        the best of it.
        """
        residuals, count = self.found.residuals, len(self.found.values)
        slopes, held = (self._up + self._down) / 2, np.full(count, np.nan)
        taken, values = np.zeros(count), self.found.values
        for _ in range(3 * count):
            free = np.isnan(held)
            rest = residuals + slopes[:, ~free] @ held[~free]
            normal = slopes[:, free].T @ slopes[:, free] + damping * np.eye(int(free.sum()))
            wanted = held.copy()
            wanted[free] = np.linalg.solve(normal, -slopes[:, free].T @ rest).clip(-MOST_STEP, MOST_STEP)
            values = self._tidy(self.found.values * np.exp(wanted))
            taken = np.log(values / self.found.values)
            stuck = free & (np.abs(taken - wanted) > HELD_BACK)
            held[stuck] = taken[stuck]
            sided = np.where(taken > 0, self._up, self._down)
            if np.array_equal(sided, slopes) and not stuck.any():
                break
            slopes = sided
        return slopes, taken, values

    def _learn(self, slopes: Floats, step: Floats, moved: Floats) -> None:
        """Broyden's update of both sides, over the parameters that are felt."""
        step = np.where(np.abs(self._up).any(axis=0) | np.abs(self._down).any(axis=0), step, 0.0)
        if step.any():
            correction = np.outer(moved - slopes @ step, step) / (step @ step)
            self._up += correction
            self._down += correction


def _alone(jacobian: Floats, index: int) -> float:
    column = jacobian[:, index]
    norm = float(np.linalg.norm(column))
    if norm == 0:
        return 0.0
    others = np.delete(jacobian, index, axis=1)
    rest = column - others @ np.linalg.lstsq(others, column, rcond=None)[0] if others.size else column
    return float(np.linalg.norm(rest)) / norm
