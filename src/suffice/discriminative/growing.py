"""What a generalised linear model does besides fitting once: learn batch by batch, and go along a path of penalties."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from suffice import door
from suffice.data import Dataset, EncodedDataset, as_dataset
from suffice.data.dataset import Piece
from suffice.data.encoded import model_for_parts, no_rows
from suffice.discriminative.arriving import COLUMNS
from suffice.discriminative.layout import Layout, lay_out
from suffice.discriminative.objective import Likelihood
from suffice.discriminative.path import Path, strengths, walk
from suffice.discriminative.regression import DEAR, Regression
from suffice.discriminative.row_sample import Beside, RowSample
from suffice.discriminative.solving import warn_unless_converged
from suffice.engines.array_blocks import to_host
from suffice.engines.choice import is_foreign, is_sparse
from suffice.engines.descent import Pace
from suffice.solvers import ElasticNet, Newton, Solution, Step, StochasticGradient
from suffice.solvers.gradient import diverged
from suffice.solvers.objective import MANY
from suffice.solvers.stochastic import chosen_pace
from suffice.statistics.base import FloatArray
from suffice.store import check_shapes

#: The tolerance with which new rows are taken in: theta is found anew from a sample before errors add up.
ABOUT = 1e-6
#: Where a solver did not come to rest, predictors beyond this say that it ran off: their exponentials overflow.
FARTHEST = 700.0
#: A fit to the sample starts from the last one only where no predictor was beyond this.
PLATEAU = 12.0


class Growing(Regression):
    """A generalised linear model that can also be fed by batches, and followed along a path."""

    _seen: float = 0.0  # the weight of all rows learned
    _pace: Pace | None = None  # of the next batch, where steps are made row by row
    _sample: RowSample | None = None  # of the rows learned by batches
    _curvature: FloatArray | None = None  # (q, q), of all rows learned and the penalty, at theta; where it is known
    _warm: bool = False  # whether the last fit to the sample is a good start for the next

    def _learn_batches(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any, trials: Any) -> Self:
        """Go once through rows; those of a cluster part by part, the model going from worker to worker."""
        first = not self.__sklearn_is_fitted__()
        with self._learning(anew=first):
            data = as_dataset(X, y=y, sample_weight=sample_weight, offset=offset, exposure=exposure, trials=trials)
            if data.in_memory is not None:
                return self._learn_batch(X, y, sample_weight, offset, exposure, trials)
            if first:
                self._announce(data)
            learned = data.fold(_learn_part, model_for_parts(self, data))
            if not learned.__sklearn_is_fitted__():
                raise no_rows()
            self.__dict__.update({**vars(learned), "engine": self.engine})
        return self

    def _announce(self, data: Dataset) -> None:
        """Take down what the first part need not show: a classifier's classes."""

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any, trials: Any) -> Self:
        """Learn from a batch of rows."""
        first = not self.__sklearn_is_fitted__()
        rows, targets = self._rows(X, y, sample_weight, offset, exposure, trials, reset=first)
        rows = replace(rows, y=to_host(rows.y)) if is_foreign(rows.y) else rows
        likelihood = self._likelihood(EncodedDataset.of_batch(rows, self.engine), targets)
        seen = (0.0 if first else self._seen) + likelihood.weight
        with door.naming_cells():
            if self._steps is not None or not (first or self._sample is not None or self._curvature is not None):
                theta, value = self._descended(likelihood, targets, first, seen)
            else:
                if not first:
                    self._check_unassigned("what is learned from more rows")
                with np.errstate(over="ignore", invalid="ignore"):  # few rows may have no optimum: a solver runs off
                    theta, value = self._refitted(likelihood, targets, first)
        self._seen = seen
        self._forget_facts()
        trace = self.solution_.trace if not first else ()
        passed = Step(len(trace) + 1.0, value, float("nan"), 0.0)
        why = "partial_fit sees each row once: theta is near the optimum, not at it"
        self.solution_ = Solution(theta, value, np.zeros_like(theta), False, why, (*trace, passed))
        self.n_iter_ = len(self.solution_.trace)
        self._set_theta(theta)
        return self

    @property
    def _steps(self) -> StochasticGradient | None:
        """The stochastic rule, where the user gave the length of its steps."""
        given = isinstance(self.solver, StochasticGradient) and self.solver.step is not None
        return self.solver if given else None

    def _descended(self, likelihood: Likelihood, targets: int, first: bool, seen: float) -> tuple[FloatArray, float]:
        """Return theta after one step for each row, as they come, and the log-likelihood of each before its step."""
        # The penalty is that of all rows learnt: a batch bears its share.
        likelihood = replace(likelihood, l2=likelihood.l2 * likelihood.weight / seen)
        shape = self._shape(likelihood.data.n_features, targets)
        theta = np.zeros(shape) if first else np.array(self._pinned_theta(shape[1]))
        layout = Layout(shape[0] - int(self.fit_intercept), self.fit_intercept)
        if first and not np.isfinite(likelihood.slope(theta).value):
            theta = self._start(likelihood, targets, layout)
        data = likelihood.data
        if self._steps is None and not is_sparse(data.some_rows.x):  # columns far from zero allow no long step
            data, layout = lay_out(data, self.fit_intercept)
            likelihood, theta = replace(likelihood, data=data), layout.inward(theta)
        pace = self._batch_pace(likelihood, theta, seen - likelihood.weight)
        descent = likelihood.descend(theta, None, pace)
        if not descent.finite:
            raise diverged(pace.step, "in this batch", 0.0, np.nan, likelihood.weight, pace.step / 16)
        # A step that we chose suits this batch alone: where rows are predicted well, it is too short for others.
        self._pace = None if self._steps is None else replace(pace, first=pace.first + descent.steps)
        self._sample = self._curvature = None
        return layout.outward(descent.theta), descent.log_likelihood

    def _batch_pace(self, likelihood: Likelihood, theta: FloatArray, before: float) -> Pace:
        """Return the pace at which to go through a batch: where the last one ended, as given, or as this batch bears.

        The rows that were learnt before, all at once, count as steps: the next ones do not start anew.
        """
        if self._pace is not None:
            return self._pace
        given = self._steps
        if given is not None:
            first = int(before) // given.batch_rows
            return Pace(float(given.step or 0.0), given.decay or 0.0, given.power, given.batch_rows, first)
        settings = StochasticGradient()
        return replace(chosen_pace(settings, likelihood, theta), first=int(before) // settings.batch_rows)

    def _refitted(self, likelihood: Likelihood, targets: int, first: bool) -> tuple[FloatArray, float]:
        """Return theta that all rows so far suggest, and the log-likelihood of this batch under it.

        New rows are taken in beside a parabola that stands for all rows before. Now and then theta is found anew from
        the sample of all rows, which holds all of them while they are few: so neither the order of the rows nor the
        size of batches matters much.
        """
        rows = likelihood.data.some_rows
        theta = None
        if not first:
            theta = np.array(self._pinned_theta(self._shape(rows.features, targets)[1]))
            if self._curvature is not None:
                solution = Newton(max(float(self.tol), ABOUT), 20).minimise(
                    Beside(replace(likelihood, l2=0.0), theta, self._curvature), theta
                )
                if np.isfinite(solution.log_likelihood):
                    theta, self._curvature = solution.theta, solution.information
        if first or self._sample is not None:
            self._sample = RowSample.of(rows) if self._sample is None else self._sample.plus(rows)
            if first or self._curvature is None or self._sample.is_due:
                self._sample = self._sample.settled()
                theta = self._sample_theta(self._sample, targets, theta)
        assert theta is not None
        return theta, likelihood.slope(theta).value

    def _sample_theta(self, sample: RowSample, targets: int, theta: FloatArray | None) -> FloatArray:
        """Return theta that a sample of all rows suggests, or the one so far where that is as good for all it tells."""
        laid, layout = lay_out(EncodedDataset.of_batch(sample.batch, self.engine), self.fit_intercept)
        likelihood = self._likelihood(laid, targets)
        start = self._start(likelihood, targets, layout)
        self._curvature, curvature = None, self._curvature
        if not sample.varies or len(sample.stands_for) <= start.size:
            self._warm = False  # too little is known for a finite theta
            return layout.outward(start)
        if self._warm and theta is not None:
            start = layout.inward(theta)
        wanted = start.size <= MANY and likelihood.count * float(start.size) ** 2 <= DEAR / 100
        model = copy.copy(self)
        if isinstance(self.solver, StochasticGradient) or self.solver == "stochastic":
            model.solver = "auto"
        solution = model._solve(likelihood, start, wanted)
        if not _is_usable(solution, likelihood):
            self._warm = False
            return layout.outward(start) if theta is None else theta
        # Where predictors are so large, classes are separated or lack rows: the next fit would start on a plateau.
        self._warm = solution.converged and _farthest(solution, likelihood) < PLATEAU
        if not sample.is_whole and curvature is not None and theta is not None and self.l1 == 0:
            # The sample tells theta with some error: it is held against the theta of all rows beyond that error alone.
            size = float(theta.size)
            short = solution.log_likelihood - likelihood.slope(layout.inward(theta)).value
            if 2 * short / float(sample.stands_for.mean()) <= 2 * (size + 3 * np.sqrt(2 * size)):
                self._curvature = curvature
                return theta
        if wanted and self.l1 == 0 and layout.kept is None and layout.centre is None:
            self._curvature = solution.information
        return layout.outward(solution.theta)

    def _take(self, likelihood: Likelihood, layout: Layout, solution: Solution) -> None:
        super()._take(likelihood, layout, solution)
        self._seen, self._pace, self._sample, self._warm = likelihood.weight, None, None, False
        plain = self.l1 == 0 and layout.kept is None and layout.centre is None
        self._curvature = solution.information if plain else None

    def _progress(self) -> dict[str, Any]:
        pace = None if self._pace is None else asdict(self._pace)
        return {"seen": self._seen, "pace": pace, "warm": self._warm}

    def _progress_arrays(self) -> dict[str, Any]:
        found = {} if self._curvature is None else {"curvature": self._curvature}
        if self._sample is not None:
            self._sample = self._sample.settled()
            found |= {f"sample.{name}": each for name, each in self._sample.arrays().items()}
        return found

    def _resume(self, progress: Any, arrays: Mapping[str, Any]) -> None:
        self._seen, self._warm = float(progress["seen"]), bool(progress.get("warm", False))
        self._pace = None if progress["pace"] is None else Pace(**progress["pace"])
        size = arrays["theta"].size
        check_shapes(arrays, {"curvature": (size, size)})
        self._curvature = arrays.get("curvature")
        sample = {name.removeprefix("sample."): each for name, each in arrays.items() if name.startswith("sample.")}
        self._sample = RowSample.from_arrays(sample) if sample else None

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
        data, targets = model._encode(as_dataset(X, y=y, sample_weight=sample_weight, offset=offset))
        laid, layout = lay_out(data, self.fit_intercept)
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


def _is_usable(solution: Solution, likelihood: Likelihood) -> bool:
    """Whether a solver came to rest, or has at least not run off to where predictors overflow."""
    if not np.isfinite(solution.log_likelihood):
        return False
    return solution.converged or _farthest(solution, likelihood) < FARTHEST


def _farthest(solution: Solution, likelihood: Likelihood) -> float:
    """Return the largest predictor of any row."""
    return float(np.abs(likelihood.predictors(solution.theta)).max(initial=0.0))


def _learn_part(model: Growing, piece: Piece) -> Growing:
    return copy.copy(model)._learn_batch(*(piece.get(name) for name in COLUMNS))
