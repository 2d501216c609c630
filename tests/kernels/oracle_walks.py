"""Expected results of stochastic gradient and perceptron kernels, by loops over rows and features."""

import math
from typing import Any

import numpy as np

from suffice.kernels.descent import Pace
from suffice.kernels.engine import Batch

from .oracle import RowCurve


def design(batch: Batch, i: int, intercept: bool) -> list[float]:
    return [1.0] * intercept + [float(entry) for entry in batch.x[i]]


def weight_of(batch: Batch, i: int) -> float:
    return 1.0 if batch.weight is None else float(batch.weight[i])


def descend(
    batch: Batch, row_curve: RowCurve, theta: np.ndarray, intercept: bool, order: Any, pace: Pace, l2: float = 0.0
) -> tuple[Any, ...]:
    theta, total = np.array(theta), np.zeros_like(theta)
    p, t = theta.shape
    value, weight, slopes, steps = 0.0, 0.0, 0.0, 0
    for start in range(0, len(order), pace.rows):
        rows = order[start : start + pace.rows]
        move = np.zeros_like(theta)
        for i in rows:
            x, w = design(batch, i, intercept), weight_of(batch, i)
            offset = np.zeros(t) if batch.offset is None else np.broadcast_to(batch.offset[i], t)
            z = [math.fsum(x[j] * theta[j, a] for j in range(p)) + float(offset[a]) for a in range(t)]
            row_value, slope, _ = row_curve(z, [float(batch.y[i])])
            value += w * row_value
            weight += w
            for a in range(t):
                slopes += w * abs(slope[a])
                for j in range(p):
                    move[j, a] += w * slope[a] * x[j] / len(rows)
        pull = l2 * theta
        pull[: int(intercept)] = 0
        theta = theta + pace.step / (1 + pace.decay * (pace.first + steps)) ** pace.power * (move - pull)
        total += theta
        steps += 1
    return theta, total / steps if steps else theta, value, weight, steps, slopes / weight if weight else 0.0, True


def correct(
    batch: Batch, theta: np.ndarray, classes: int, intercept: bool, order: Any, step: float
) -> tuple[np.ndarray, np.ndarray, int, float]:
    theta, total, mistakes, loss = np.array(theta), np.zeros_like(theta), 0, 0.0
    for i in order:
        x, y, w = np.array(design(batch, i, intercept)), int(batch.y[i]), weight_of(batch, i)
        if w == 0:
            continue
        z = [math.fsum(x * theta[:, a]) for a in range(theta.shape[1])]
        if classes == 2:
            named = 1 - y if z[0] == 0 else int(z[0] > 0)
            loss += abs(z[0]) * (named != y)
            theta[:, 0] += step * w * (y - named) * x
        else:
            named = z.index(max(z))
            loss += z[named] - z[y]
            if named != y:
                theta[:, y] += step * w * x
                theta[:, named] -= step * w * x
        mistakes += named != y
        total += theta
    return theta, total, mistakes, loss
