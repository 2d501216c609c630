"""Stochastic gradient: one row, or a few, to a step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from suffice.kernels.descent import Descent, Pace
from suffice.solvers.gradient import Slopes, Steepness, diverged, is_far_below, is_near, largest_curvature
from suffice.solvers.objective import Trace, steepest
from suffice.solvers.solution import Solution
from suffice.statistics.base import FloatArray


class Wanders(Slopes, Protocol):
    """A log-likelihood of rows, less a penalty, that can be walked along row by row."""

    @property
    def count(self) -> int:
        """How many rows there are."""

    def descend(self, theta: FloatArray, order_seed: int | None, pace: Pace) -> Descent:
        """Return where one epoch over all rows leads, in the order of a seed, or as the rows come."""


def shuffled(rows: int, seed: int | None) -> npt.NDArray[np.int64]:
    """Return the rows' positions in the order of a seed; as they come where it is None.

    Examples
    --------
    >>> shuffled(5, None)
    array([0, 1, 2, 3, 4])
    >>> sorted(shuffled(5, 0).tolist())
    [0, 1, 2, 3, 4]
    """
    return np.arange(rows) if seed is None else np.random.default_rng(seed).permutation(rows)


@dataclass(frozen=True)
class StochasticGradient:
    """The stochastic rule: theta := theta + step * slope of the row * x, row after row, epoch after epoch.

    It comes near the optimum after few epochs, and then takes long to arrive: theta is as exact as the noise of its
    last steps, which a falling step size and the average over steps both reduce.

    Parameters
    ----------
    step
        The length of the first step; one that is too long raises :class:`~suffice.solvers.solution.DivergenceError`.
        By default it is chosen by trial: starting from 1 / the largest curvature of the log-likelihood per row, step
        sizes a factor of 4 apart are tried for an epoch each, and the one under which each row was best predicted
        before it was learnt is kept. That costs a few epochs, which the trace counts.
    decay, power
        Step number s is ``step / (1 + decay s) ** power`` long. By default decay is 1 / the number of steps of an
        epoch; in ``partial_fit``, where no epoch is known, 0.
    batch_rows
        How many rows make one step, whose slopes are averaged.
    epochs
        How many times to go through the rows at most.
    tol
        The largest slope per row at which to stop, in units of its column and of the targets' spread. It is looked at,
        which costs a pass, only once the log-likelihood has stopped rising by a share of ``tol`` an epoch.
    average
        Whether to return the average of theta over the steps, those of epoch e counted e times, rather than the last.
    shuffle
        Whether to draw a new order of the rows for each epoch. Rows that come sorted need it.
    random_state
        A seed or generator, for the same orders again; 0 by default. None draws other orders at every fit.

    Notes
    -----
    Each line of the trace is an epoch, and its log-likelihood is that of each row before its own step, without the
    penalty: an honest score, but not that of the theta at the epoch's end. The slope is NaN where it was not looked at.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> from suffice.families import Response
    >>> class Line:  # y = 2 x
    ...     batch, response = Batch(np.array([[1.0], [2.0], [3.0]]), np.array([2.0, 4.0, 6.0])), Response.of("gaussian")
    ...     weight, unit, count, kernels = 3.0, 56 / 3, 3, ThreadEngine().kernels
    ...
    ...     def slope(self, theta):
    ...         return self.kernels.curvature(self.batch, self.response, theta, False, False)[1:3]
    ...
    ...     def descend(self, theta, order_seed, pace):
    ...         order = shuffled(3, order_seed)
    ...         return self.kernels.descend(self.batch, self.response, theta, False, order, pace)
    >>> StochasticGradient(random_state=0).minimise(Line(), np.zeros((1, 1))).theta.round(3)
    array([[2.]])
    """

    step: float | None = None
    decay: float | None = None
    power: float = 0.5
    batch_rows: int = 1
    epochs: int = 50
    tol: float = 1e-4
    average: bool = True
    shuffle: bool = True
    random_state: int | np.random.Generator | None = 0

    def __post_init__(self) -> None:
        Pace(1.0 if self.step is None else self.step, self.decay or 0.0, self.power, self.batch_rows)
        if self.epochs < 1:
            raise ValueError(f"epochs must be at least 1; got {self.epochs}")

    def minimise(self, objective: Wanders, start: FloatArray) -> Solution:
        """Return where the steps lead from a start, (p, t)."""
        walk = _Walk(self, objective, np.array(start, dtype=np.float64))
        if walk.has_arrived():
            return walk.solution(True, f"the largest scaled slope was no more than {self.tol:g} at the start")
        look, wait, before = 1, 1, -math.inf
        for epoch in range(1, self.epochs + 1):
            value = walk.epoch(epoch)
            if value - before <= self.tol * abs(before) and look <= epoch < self.epochs:
                walk.look()
                if walk.has_arrived():
                    break
                look, wait = epoch + wait, 2 * wait
            before = value
        else:
            walk.look()
        if walk.has_arrived():
            return walk.solution(True, f"the largest scaled slope is no more than {self.tol:g}")
        why = f"all {self.epochs} epochs are over, and the largest scaled slope is still {walk.slope:.2g}"
        return walk.solution(False, why)


def chosen_pace(settings: StochasticGradient, objective: Wanders, theta: FloatArray) -> Pace:
    """Return the pace of settings without a step size: that under which an epoch from theta predicts best."""
    return _Walk(settings, objective, theta)._chosen(None)[0]


class _Walk:
    """A solver on its way."""

    def __init__(self, settings: StochasticGradient, objective: Wanders, start: FloatArray) -> None:
        self._settings, self._objective, self._start = settings, objective, start
        self._record = Trace(objective.weight or 1.0)
        self._random = np.random.default_rng(settings.random_state)
        self._last, self._mean, self._steps = start, np.zeros_like(start), 0
        self._value, self._gradient = self._first = objective.slope(start)
        self._record.add(self._value, self._gradient)
        decay = settings.decay
        if decay is None:
            decay = settings.batch_rows / max(objective.count, settings.batch_rows)
        self._pace = Pace(settings.step or 1.0, decay, settings.power, settings.batch_rows)

    @cached_property
    def _steepness(self) -> Steepness:
        return Steepness(self._objective, self._start, self._record)

    @property
    def slope(self) -> float:
        """The largest slope where the walk was last looked at."""
        return self._steepness(self._gradient)

    def has_arrived(self) -> bool:
        """Whether the walk may end where it was last looked at."""
        tol = self._settings.tol
        return self.slope <= tol and is_near(self._objective, self.theta, self._gradient, tol, self._record)

    @property
    def theta(self) -> FloatArray:
        """What is returned if the walk ends here."""
        return self._mean if self._settings.average and self._steps else self._last

    def epoch(self, number: int) -> float:
        """Go once through the rows; return the log-likelihood of each row before its own step."""
        seed = int(self._random.integers(2**62)) if self._settings.shuffle else None
        if number == 1 and self._settings.step is None:
            self._pace, descent = self._chosen(seed)
        else:
            descent = self._try(replace(self._pace, first=self._steps), seed, self._last)
        if not descent.finite or self._is_far_below(descent.log_likelihood):
            shorter = self._chosen(seed)[0].step if self._settings.step else self._pace.step / 16
            when = f"in epoch {number}"
            value = descent.log_likelihood if descent.finite else math.nan
            raise diverged(self._pace.step, when, self._first[0], value, self._record.weight, shorter)
        self._last = descent.theta
        self._mean = self._mean + (descent.mean - self._mean) * (2 / (number + 1))  # epoch e counts e times
        self._steps += descent.steps
        self._record.add(descent.log_likelihood, None, passes=0)
        return descent.log_likelihood

    def look(self) -> None:
        """Find the slope where the walk would end now."""
        self._value, self._gradient = self._objective.slope(self.theta)
        norm = steepest(self._gradient, self._record.weight)
        last = self._record.steps[-1]
        self._record.passes += 1
        self._record.steps[-1] = last._replace(passes=self._record.passes, gradient_norm=norm)

    def solution(self, converged: bool, why: str) -> Solution:
        """Return where the walk has ended, which was the last place looked at."""
        return Solution(self.theta, self._value, self._gradient, converged, why, tuple(self._record.steps))

    def _try(self, pace: Pace, seed: int | None, theta: FloatArray) -> Descent:
        self._record.passes += 1
        return self._objective.descend(theta, seed, pace)

    def _chosen(self, seed: int | None) -> tuple[Pace, Descent]:
        """Return the pace under which the first epoch predicts each row best before learning it, and that epoch."""
        step = 1 / largest_curvature(self._objective, self._start, self._first[1], self._record, self._steepness)
        tried: dict[int, tuple[Pace, Descent]] = {}

        def score(quarters: int) -> float:
            if quarters not in tried:
                pace = replace(self._pace, step=step / 4.0**quarters)
                tried[quarters] = pace, self._try(pace, seed, self._start)
            descent = tried[quarters][1]
            value = descent.log_likelihood if descent.finite else -math.inf
            return -math.inf if math.isnan(value) else value

        best = 0
        for shorter in (1, -1):
            while abs(best) < _QUARTERS and (score(best + shorter) > score(best) or score(best) == -math.inf):
                best += shorter
        return tried[best]

    def _is_far_below(self, value: float) -> bool:
        """Whether a log-likelihood is so far below that at the start that noise alone does not explain it.

        What is far depends on the scale of the targets, which the rows' slopes at the start tell.
        """
        weight, start, unit = self._record.weight, self._first[0], self._objective.unit
        if not is_far_below(value, start, weight * unit):
            return False
        still = self._try(replace(self._pace, step=1e-300, decay=0.0), None, self._start)
        return is_far_below(value, start, weight * (unit + still.slope**2))


_QUARTERS = 30  #: the most times that a step size is divided by 4
