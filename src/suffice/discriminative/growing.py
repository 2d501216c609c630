"""What a generalised linear model does besides fitting once: learn batch by batch, and go along a path of penalties."""

from __future__ import annotations

import copy
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from suffice import afar, door
from suffice.discriminative.arriving import COLUMNS
from suffice.discriminative.layout import Layout, lay_out
from suffice.discriminative.objective import Likelihood
from suffice.discriminative.path import Path, strengths, walk
from suffice.discriminative.regression import Regression
from suffice.discriminative.solving import warn_unless_converged
from suffice.engines.array_blocks import to_host
from suffice.engines.choice import is_foreign
from suffice.engines.descent import Pace
from suffice.engines.spread import Piece, Spread, traveller
from suffice.solvers import ElasticNet, Newton, Solution, Step, StochasticGradient
from suffice.solvers.gradient import diverged
from suffice.solvers.stochastic import chosen_pace
from suffice.statistics.base import FloatArray

#: A step that we choose is not made shorter than this.
SHORTEST = 1e-12


class Growing(Regression):
    """A generalised linear model that can also be fed by batches, and followed along a path."""

    _pace: Pace | None = None  # of the next batch
    _seen: float = 0.0  # the weight of all rows learnt by batches

    def _learn_batches(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any, trials: Any) -> Self:
        """Go once through rows; those of a cluster part by part, the model going from worker to worker."""
        first = not self.__sklearn_is_fitted__()
        with self._learning(anew=first):
            spread = afar.spread(X, y=y, sample_weight=sample_weight, offset=offset, exposure=exposure, trials=trials)
            if spread is None:
                return self._learn_batch(X, y, sample_weight, offset, exposure, trials)
            if first:
                self._announce(spread)
            learnt = spread.fold(_learnt, traveller(self))
            if not learnt.__sklearn_is_fitted__():
                raise afar.nothing()
            self.__dict__.update({**vars(learnt), "engine": self.engine})
        return self

    def _announce(self, spread: Spread) -> None:
        """Take down what the first part need not show: a classifier's classes."""

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any, trials: Any) -> Self:
        """Go once through a batch of rows, as they come, by stochastic steps."""
        first = not self.__sklearn_is_fitted__()
        rows, targets = self._rows(X, y, sample_weight, offset, exposure, trials, reset=first)
        rows = replace(rows, y=to_host(rows.y)) if is_foreign(rows.y) else rows
        likelihood = self._likelihood(rows, targets)
        # The penalty is that of all rows learnt: a batch bears its share.
        before = 0.0 if first else self._seen
        seen = before + likelihood.weight
        likelihood = replace(likelihood, l2=likelihood.l2 * likelihood.weight / seen)
        with door.naming_cells():
            if first:
                theta = self._start(likelihood, targets, Layout(rows.features, self.fit_intercept))
            else:
                theta = np.array(self._pinned_theta(self._shape(rows, targets)[1]))
            pace = self._batch_pace(likelihood, theta, first, before)
            descent = likelihood.descend(theta, None, pace)
            while not descent.finite and self._stochastic().step is None and pace.step > SHORTEST:
                pace = replace(pace, step=pace.step / 4)  # it was ours to choose, by rows that were easier
                descent = likelihood.descend(theta, None, pace)
        if not descent.finite:
            raise diverged(pace.step, "in this batch", 0.0, np.nan, likelihood.weight, pace.step / 16)
        length = float(pace.size(pace.first + np.arange(descent.steps)).sum())
        theta = self._soft(descent.theta, length * self.l1 / seen)
        self._seen, self._pace = seen, replace(pace, first=pace.first + descent.steps)
        self._forget_facts()
        trace = self.solution_.trace if not first and hasattr(self, "solution_") else ()
        passed = Step(len(trace) + 1.0, descent.log_likelihood, float("nan"), 0.0)
        why = "partial_fit goes once through a batch: theta is near the optimum, not at it"
        self.solution_ = Solution(theta, descent.log_likelihood, np.zeros_like(theta), False, why, (*trace, passed))
        self.n_iter_ = len(self.solution_.trace)
        self._set_theta(theta)
        return self

    def _batch_pace(self, likelihood: Likelihood, theta: FloatArray, first: bool, before: float) -> Pace:
        """Return the pace at which to go through a batch: where the last one ended, or as the first batch bears.

        The rows that were learnt before, all at once, count as steps: the next ones do not start from afar.
        """
        if self._pace is not None and not first:
            return self._pace
        settings = self._stochastic()
        return replace(chosen_pace(settings, likelihood, theta), first=int(before) // settings.batch_rows)

    def _stochastic(self) -> StochasticGradient:
        return self.solver if isinstance(self.solver, StochasticGradient) else StochasticGradient()

    def _take(self, likelihood: Likelihood, layout: Layout, solution: Solution) -> None:
        super()._take(likelihood, layout, solution)
        self._seen, self._pace = likelihood.weight, None

    def _progress(self) -> dict[str, Any]:
        return {"seen": self._seen, "pace": None if self._pace is None else asdict(self._pace)}

    def _resume(self, progress: Any) -> None:
        self._seen = float(progress["seen"])
        self._pace = None if progress["pace"] is None else Pace(**progress["pace"])

    def _soft(self, theta: FloatArray, by: float) -> FloatArray:
        """Return theta with coefficients moved towards zero, and held there."""
        theta = theta.copy()
        coef = theta[int(self.fit_intercept) :]
        coef[:] = np.sign(coef) * np.maximum(np.abs(coef) - by, 0.0)
        return theta

    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        penalties: Any = None,
        count: int = 50,
        least: float = 1e-3,
        ratio: float = 1.0,
        offset: Any = None,
    ) -> Path:
        """Return the coefficients along the elastic net's path; the model itself is not fitted.

        Parameters
        ----------
        X, y, sample_weight, offset
            Rows, as for :meth:`fit`.
        penalties
            The penalties to go through: ``l1 = ratio * penalty``, ``l2 = (1 - ratio) * penalty``. By default ``count``
            of them, from the one that holds all coefficients at zero down to its ``least`` share, evenly on the log
            scale.
        ratio
            The share of l1: 1 is the lasso.
        """
        model = clone(self).set_params(l1=1.0, l2=0.0)  # with any penalty, classes are treated alike
        model._check_settings()
        rows, targets = model._rows(X, y, sample_weight, offset, None, None, reset=True)
        laid, layout = lay_out(rows, self.fit_intercept)
        likelihood = model._likelihood(laid, targets)
        start = model._start(likelihood, targets, layout)
        first = int(self.fit_intercept)
        if first:  # the intercepts alone
            free = np.zeros(start.shape)
            free[0] = 1.0
            start = Newton(self.tol, self.max_iter).minimise(replace(likelihood, free=free), start).theta
        slopes = likelihood.slope(start).gradient[first:]
        values = strengths(float(np.abs(slopes).max(initial=0.0)), penalties, count, least, ratio)
        moves = np.tile(np.arange(len(start)) >= first, start.shape[1]).astype(np.float64)
        known: list[FloatArray] = []  # the curvature of the rows alone, from the last penalty

        def solve(l1: float, l2: float, theta: FloatArray) -> Any:
            bend = known[0] + np.diag(l2 * moves) if known else None
            strength = np.where(np.arange(len(start)) < first, 0.0, l1)[:, None]
            net = ElasticNet(strength, self.tol, self.max_iter)
            solution = net.minimise(replace(likelihood, l2=l2), theta, bend)
            warn_unless_converged(self, solution)
            if solution.information is not None:
                known[:] = [solution.information - np.diag(l2 * moves)]
            inner = solution.theta
            penalty = float(np.abs(l1 * inner[first:]).sum() + l2 / 2 * (inner[first:] ** 2).sum())
            coef, intercept = model._linear(layout.outward(inner))
            return coef, intercept, solution.log_likelihood + penalty, inner

        return walk(values, ratio, start, solve)


def _learnt(model: Growing, piece: Piece) -> Growing:
    return copy.copy(model)._learn_batch(*(piece.get(name) for name in COLUMNS))
