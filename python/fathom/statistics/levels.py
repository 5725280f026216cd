"""Levels: from where on a series has settled, and where it changes from one level to another."""

import numpy as np
from numpy.typing import ArrayLike

from fathom.statistics.series import Floats, as_series, block_means

_LEAST = 5
"""Samples of the shortest level."""
_STRICTNESS = 3.0


def mser5(series: ArrayLike) -> int:
    """Returns samples to drop from the front so that what is left has the least standard error of the mean.

    MSER-5: White, Cobb & Spratt, WSC 2000, 755: batches of five, the truncation point minimises
    sum((z - mean)^2) / count^2 over the first half. A multiple of 5; 0 for fewer than ten samples.
    """
    y = as_series(series)
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


def change_points(series: ArrayLike) -> list[int]:
    """Indices at which the level of the series changes: each is the first sample of a new level.

    PELT (Killick, Fearnhead & Eckley, JASA 107 (2012) 1590) with the least-squares cost. The penalty is
    `_STRICTNESS` x ln n x the long-run variance, so that seconds that resemble their neighbours are not taken for
    levels. Series longer than 4,096 are judged on their block means.
    """
    y = as_series(series)
    block = -(-len(y) // 4096)
    left_out = len(y) % block if block > 1 else 0
    y = block_means(y, block) if block > 1 else y
    n = len(y)
    if n < 2 * _LEAST:
        return []
    penalty = _STRICTNESS * np.log(n) * _long_run_variance(y)
    return [left_out + block * at for at in _pelt(y - y.mean(), penalty, _LEAST)]


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

    It comes from first differences, whose few jumps are clipped. With coefficient p, differences of an AR(1) have
    variance 2 s^2 (1 - p) and lag-one correlation -(1 - p) / 2.
    """
    step = np.diff(y)
    scale = 1.4826 * float(np.median(np.abs(step)))
    step = np.clip(step, -4 * scale, 4 * scale) if scale > 0 else step
    power = float(np.mean(step * step))
    if power == 0:
        return 0.0
    rho = float(np.clip(1 + 2 * np.mean(step[1:] * step[:-1]) / power, 0.0, 0.9))
    return power / (2 * (1 - rho)) * (1 + rho) / (1 - rho)
