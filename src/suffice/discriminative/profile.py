"""Profile likelihood intervals of coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from suffice.discriminative.firth import firth
from suffice.discriminative.fit_rows import FitRows, rows_of_fit
from suffice.solvers import Newton
from suffice.solvers.linear_algebra import Symmetric, flat, shaped
from suffice.statistics.base import FloatArray

#: Tolerance of the ends, in standard errors.
PRECISION = 1e-9
#: An end is infinite if the profile has not decreased enough this many standard errors away.
FARTHEST = 1e4
#: Tolerance of the other coefficients.
TOLERANCE = 1e-10


def profile_intervals(model: Any, level: float, X: Any, y: Any, **columns: Any) -> FloatArray:
    """Return the profile likelihood interval of each parameter, (q, 2), theta column by column.

    An end is where twice the difference of the (penalised) log-likelihood from its maximum, over the dispersion, is the
    square of the normal quantile, as in R's ``confint`` of a glm; infinite if the likelihood never decreases so far.

    Parameters
    ----------
    model
        A fitted regression.
    level
        Confidence level.
    X, y, **columns
        The rows of the fit.
    """
    theta, intercept = model.solution_.theta, int(model._params.fit_intercept)
    if model._params._sets_zeros:
        raise ValueError("there is no profile likelihood under an l1 penalty, which sets coefficients to zero")
    found = np.full((*theta.shape, 2), np.nan)
    what = "a profile likelihood interval"
    with rows_of_fit(model, what, X, y, **columns) as rows:
        if rows.objective.symmetric:  # the intercepts of all classes together are not identified
            raise ValueError(
                "profile likelihood intervals of more than two classes with a penalty are not available: give "
                "method='wald', or use SoftmaxRegression"
            )
        seen = np.arange(rows.layout.features) if rows.layout.kept is None else rows.layout.kept
        places = [(intercept + int(feature), intercept + inside) for inside, feature in enumerate(seen)]
        is_moved = rows.layout.centre is not None  # then the intercept is another one
        places += [(0, 0)] if intercept and not is_moved else []
        _fill(found, model, rows, places, level)
    if intercept and is_moved:
        with rows_of_fit(model, what, X, y, plain=True, **columns) as rows:
            _fill(found, model, rows, [(0, 0)], level)
    return np.concatenate([found[:, column] for column in range(theta.shape[1])])


def _fill(found: FloatArray, model: Any, rows: FitRows, places: list[tuple[int, int]], level: float) -> None:
    """Set the intervals of rows of theta, each given with its position in the objective's theta."""
    errors = model.summary().inference.standard_errors
    moving = model._moving()
    for place, inside in places:
        for column in range(found.shape[1]):
            parameter = column * len(found) + place
            error = errors[int(moving[:parameter].sum())] if moving[parameter] else np.nan
            if np.isfinite(error):
                found[place, column] = _interval(rows, model, inside, column, level, error)


def _interval(rows: FitRows, model: Any, place: int, column: int, level: float, error: float) -> tuple[float, float]:
    """Return both ends of the interval of one parameter."""
    best, here = rows.theta, rows.here
    unit = np.zeros(best.shape)
    unit[place, column] = 1.0
    along = shaped(Symmetric.of(here.hessian).solve(flat(unit)), best)
    # The others start at their conditional expectation: predictors stay moderate if columns are far from zero.
    along = along / along[place, column]
    root = partial(_signed_root, rows, model, best, here.value, along, place, column)
    reach = float(stats.norm.isf((1 - level) / 2))
    low, high = (_end(root, float(best[place, column]), sign, reach, error) for sign in (-1, 1))
    return low, high


def _signed_root(
    rows: FitRows,
    model: Any,
    best: FloatArray,
    least: float,
    along: FloatArray,
    place: int,
    column: int,
    value: float,
    start: FloatArray | None,
) -> tuple[float, FloatArray]:
    """Return the root of the difference in deviance with one parameter fixed at a value, and theta there."""
    theta = best if start is None else start
    theta = theta + (value - theta[place, column]) * along
    theta[place, column] = value
    objective = rows.objective
    if model._params.bias_reduction:
        solution = firth(objective.data, theta, objective.intercept, TOLERANCE, 200, fixed=place)
        least = model.solution_.value
    else:
        free = np.ones(theta.shape) if objective.free is None else np.array(objective.free)
        free[place, column] = 0.0
        solution = Newton(TOLERANCE, 200).minimise(replace(objective, free=free), theta)
    fall = 2 * (solution.value - least) / model.facts_.dispersion
    return float(np.sqrt(max(fall, 0.0))) if np.isfinite(fall) else np.inf, solution.theta


def _end(root: Callable[..., tuple[float, FloatArray]], centre: float, sign: int, reach: float, error: float) -> float:
    """Return where this root is ``reach``, on one side: by false position, from the Wald interval."""
    low, at_low = centre, -reach
    step, theta = sign * reach * error, None
    while True:
        high = centre + step
        height, theta = root(high, theta)
        at_high = height - reach
        if at_high >= 0:
            break
        low, at_low = high, at_high
        step *= 2
        if abs(step) > FARTHEST * error:
            return sign * np.inf
    for _ in range(100):
        if abs(at_high) <= PRECISION:
            return high
        share = at_high / (at_high - at_low) if np.isfinite(at_high) else 0.5
        middle = high - share * (high - low)
        height, theta = root(middle, theta)
        value = height - reach
        if abs(value) <= PRECISION:
            return float(middle)
        if value < 0:
            low, at_low, at_high = middle, value, at_high / 2  # Illinois: the value of the other end is halved
        else:
            high, at_high, at_low = middle, value, at_low / 2
    return float(middle)
