"""Stochastic gradient descent: one row, or a few, per step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from suffice.kernels.descent import Descent, Pace
from suffice.parameter_names import NamedParameters
from suffice.solvers.base import SGDObjective, Solution, Trace, check_supports, gradient_norm
from suffice.solvers.gradient import GradientScale, diverged, is_far_above, is_near, largest_eigenvalue, scaling_advice
from suffice.statistics.base import FloatArray


def shuffled(rows: int, seed: int | None) -> npt.NDArray[np.int64]:
    """Return the rows' positions in the random order of a seed; in row order if it is None.

    Examples
    --------
    >>> shuffled(5, None)
    array([0, 1, 2, 3, 4])
    >>> sorted(shuffled(5, 0).tolist())
    [0, 1, 2, 3, 4]
    """
    return np.arange(rows) if seed is None else np.random.default_rng(seed).permutation(rows)


@dataclass(frozen=True)
class StochasticGradient(NamedParameters):
    """Stochastic gradient descent: theta := theta - step * gradient of the row, for each row of each epoch.

    It is near the optimum after few epochs, and converges slowly from there: the error is the noise of the last steps,
    which a decreasing step size and the average over steps both reduce.

    Parameters
    ----------
    step
        The first step size; one that is too long raises :class:`~suffice.solvers.base.DivergenceError`. By default,
        starting from 1 / the largest eigenvalue of the Hessian per row, step sizes a factor of 4 apart are tried for an
        epoch each, and that with the best progressive value (each row before its own step) is kept. That costs a few
        epochs, which the trace counts.
    decay, power
        The size of step s is ``step / (1 + decay s) ** power``. By default decay is 1 / the number of steps of an
        epoch; in ``partial_fit`` 0.
    batch_rows
        Number of rows per step, whose gradients are averaged.
    epochs
        Most epochs.
    tol
        Tolerance of the gradient per row, in units of its column and of the targets' spread. The gradient costs a pass,
        and is computed only once the value decreases by less than a share of ``tol`` per epoch.
    average
        Whether to return the average of theta over the steps, with weight e for epoch e, instead of the last.
    shuffle
        Whether to shuffle the rows for each epoch. Sorted rows need it.
    random_state
        Seed or generator of the shuffles; 0 by default. None for new ones at every fit.
    trace_steps
        Whether the trace also has each step of an epoch: the theta after it, and the value of its rows before it. For
        rows in memory; each step is made twice, and slowly.

    Notes
    -----
    Each line of the trace is an epoch. Its value is the sum over rows, each before its own step, without the penalty:
    a progressive score, not that of the theta at the epoch's end. The gradient is NaN if it was not computed.

    Examples
    --------
    >>> from suffice.data import EncodedDataset
    >>> from suffice.discriminative.objective import NegativeLogLikelihood
    >>> from suffice.families import Response
    >>> from suffice.kernels import Batch
    >>> rows = Batch(np.array([[1.0], [2.0], [3.0]]), np.array([2.0, 4.0, 6.0]))  # y = 2 x
    >>> objective = NegativeLogLikelihood(EncodedDataset.of_batch(rows), Response.of("gaussian"), intercept=False)
    >>> StochasticGradient(random_state=0).minimise(objective, np.zeros((1, 1))).theta.round(3)
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
    trace_steps: bool = False

    def __post_init__(self) -> None:
        Pace(1.0 if self.step is None else self.step, self.decay or 0.0, self.power, self.batch_rows)
        if self.epochs < 1:
            raise ValueError(f"epochs must be at least 1; got {self.epochs}")

    def minimise(self, objective: SGDObjective, start: FloatArray) -> Solution:
        """Return the result of the steps from a start, (p, t)."""
        check_supports(self, objective, start, "epoch", *(("steps",) if self.trace_steps else ()))
        run = _Run(self, objective, np.array(start, dtype=np.float64))
        if run.has_converged():
            return run.solution(True, f"the largest scaled gradient was no more than {self.tol:g} at the start")
        check, wait, before = 1, 1, math.inf
        for epoch in range(1, self.epochs + 1):
            value = run.epoch(epoch)
            if before - value <= self.tol * abs(before - objective.constant) and check <= epoch < self.epochs:
                run.evaluate()
                if run.has_converged():
                    break
                check, wait = epoch + wait, 2 * wait
            before = value
        else:
            run.evaluate()
        if run.has_converged():
            return run.solution(True, f"the largest scaled gradient is no more than {self.tol:g}")
        reason = f"all {self.epochs} epochs are over, and the largest scaled gradient is still {run.norm:.2g}"
        reason += scaling_advice(objective, run.theta, run._trace)
        return run.solution(False, reason)


def choose_pace(settings: StochasticGradient, objective: SGDObjective, theta: FloatArray) -> Pace:
    """Return the step sizes for settings without one: those with the best progressive value over an epoch."""
    return _Run(settings, objective, theta)._choose_pace(None)[0]


class _Run:
    """A running solver."""

    def __init__(self, settings: StochasticGradient, objective: SGDObjective, start: FloatArray) -> None:
        self._settings, self._objective, self._start = settings, objective, start
        self._trace = Trace.of(objective)
        self._random = np.random.default_rng(settings.random_state)
        self._last, self._mean, self._steps = start, np.zeros_like(start), 0
        self._value, self._gradient = self._first = objective.value_gradient(start)
        self._trace.add(start, self._value, self._gradient)
        decay = settings.decay
        if decay is None:
            decay = settings.batch_rows / max(objective.n_rows, settings.batch_rows)
        self._pace = Pace(settings.step or 1.0, decay, settings.power, settings.batch_rows)

    @cached_property
    def _scale(self) -> GradientScale:
        return GradientScale(self._objective, self._start, self._trace)

    @property
    def norm(self) -> float:
        """The largest scaled gradient at the last evaluation."""
        return self._scale.norm(self._gradient)

    def has_converged(self) -> bool:
        """Whether the run may end at the last evaluation of the gradient."""
        tol = self._settings.tol
        return self.norm <= tol and is_near(self._objective, self.theta, self._gradient, tol, self._trace)

    @property
    def theta(self) -> FloatArray:
        """The result if the run ends here."""
        return self._mean if self._settings.average and self._steps else self._last

    def epoch(self, number: int) -> float:
        """Run one epoch; return the sum of the rows' values, each before its own step."""
        seed = int(self._random.integers(2**62)) if self._settings.shuffle else None
        if number == 1 and self._settings.step is None:
            self._pace, descent = self._choose_pace(seed)
        else:
            descent = self._try(replace(self._pace, first=self._steps), seed, self._last)
        if not descent.finite or self._is_far_above(-descent.log_likelihood):
            shorter = self._choose_pace(seed)[0].step if self._settings.step else self._pace.step / 16
            when = f"in epoch {number}"
            value = -descent.log_likelihood if descent.finite else math.nan
            raise diverged(self._pace.step, when, self._first.value, value, self._trace.weight, shorter)
        if self._settings.trace_steps:
            self._trace_steps(seed, descent)
        self._last = descent.theta
        self._mean = self._mean + (descent.mean - self._mean) * (2 / (number + 1))  # epoch e has weight e
        self._steps += descent.steps
        last = float(self._pace.size(np.array([self._steps - 1]))[0])
        if self._settings.average or not self._settings.trace_steps:  # else the last step of the epoch is traced
            self._trace.add(self.theta, -descent.log_likelihood, None, passes=0, step=last)
        return -descent.log_likelihood

    def _trace_steps(self, seed: int | None, descent: Descent) -> None:
        """Add each step of an epoch, whose pass is counted already, to the trace."""
        self._trace.passes -= 1
        pace = replace(self._pace, first=self._steps)
        for number, step in enumerate(self._objective.steps(self._last, seed, pace)):
            size = float(pace.size(self._steps + number))
            self._trace.add(step.theta, -step.log_likelihood, None, passes=1 / descent.steps, step=size)

    def evaluate(self) -> None:
        """Compute the value and gradient at the result."""
        self._value, self._gradient = self._objective.value_gradient(self.theta)
        norm = gradient_norm(self._gradient, self._trace.weight)
        last = self._trace.steps[-1]
        self._trace.passes += 1
        self._trace.steps[-1] = last._replace(passes=self._trace.passes, gradient_norm=norm)

    def solution(self, converged: bool, reason: str) -> Solution:
        """Return the solution: theta at the last evaluation of the gradient."""
        steps, weight = tuple(self._trace.steps), self._trace.weight
        return Solution(self.theta, self._value, self._gradient, converged, reason, steps, weight=weight)

    def _try(self, pace: Pace, seed: int | None, theta: FloatArray) -> Descent:
        self._trace.passes += 1
        return self._objective.epoch(theta, seed, pace)

    def _choose_pace(self, seed: int | None) -> tuple[Pace, Descent]:
        """Return the step sizes with the best progressive value over the first epoch, and that epoch."""
        step = 1 / largest_eigenvalue(self._objective, self._start, self._first.gradient, self._trace, self._scale)
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

    def _is_far_above(self, value: float) -> bool:
        """Whether a value is above that at the start by more than noise explains.

        The scale of the noise is that of the targets, by the rows' slopes at the start.
        """
        fixed = self._objective.constant
        weight, start, unit = self._trace.weight, self._first.value - fixed, self._objective.unit
        value -= fixed
        if not is_far_above(value, start, weight * unit):
            return False
        still = self._try(replace(self._pace, step=1e-300, decay=0.0), None, self._start)
        return is_far_above(value, start, weight * (unit + still.slope**2))


_QUARTERS = 30  #: most divisions of a step size by 4
