"""Linear regression: least squares from normal equations, which stream, merge and forget exactly."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone

from suffice import door, partitioned
from suffice.data import Dataset, EncodedDataset, as_dataset
from suffice.data.dataset import Piece
from suffice.data.encoded import engine_for_parts, model_for_parts, no_rows
from suffice.discriminative.layout import lay_out
from suffice.discriminative.least_squares import elastic_net, products_of, solve, with_intercept
from suffice.discriminative.linear_sums import ReadFromSums
from suffice.discriminative.objective import Likelihood, predictors_of
from suffice.discriminative.path import Path, strengths, walk
from suffice.discriminative.regression import COVARIANCES, check_penalties
from suffice.discriminative.robust import robust_covariance
from suffice.discriminative.solving import (
    CollinearityWarning,
    dependence,
    solver_of,
    warn_unless_converged,
    warn_unsolved,
)
from suffice.engines import Batch, Engine
from suffice.engines.array_blocks import to_host
from suffice.engines.descent import Pace
from suffice.engines.results import beside
from suffice.families import Response
from suffice.solvers import Solution, StochasticGradient
from suffice.solvers.gradient import diverged
from suffice.statistics import NormalEquations
from suffice.statistics.base import FloatArray
from suffice.store import parameters
from suffice.user_warnings import warn_user

GAUSSIAN = Response.of("gaussian")
#: Where sums tell fewer digits of the residual than these, it is summed row by row.
ENOUGH_DIGITS = 6.0


class LinearRegression(MultiOutputMixin, RegressorMixin, ReadFromSums):  # type: ignore[misc]
    """Linear regression: least squares, by normal equations.

    The sums ``XᵀX``, ``Xᵀy``, ``yᵀy``, taken about the means, are all that is kept of the rows. So :meth:`partial_fit`,
    :meth:`forget` and ``+`` are exact. Columns that depend on others are named, and the smallest coefficients that fit
    are given.

    Parameters
    ----------
    solver
        ``"normal"`` reads theta from the normal equations. ``"newton"``, ``"batch"`` and ``"stochastic"``, or a solver
        of :mod:`suffice.solvers`, find it from the rows as the notes do.
    l2, l1
        Penalties, 0 by default: ``|y - X theta|² / 2 + l1 |theta| + l2 theta² / 2`` is least. The intercept goes free.
        ``l2`` is the alpha of scikit-learn's Ridge.
    fit_intercept
        Whether there is an intercept.
    covariance
        ``"classical"``, or ``"HC0"`` to ``"HC3"``: robust against unequal variances; for :meth:`fit` alone.
    tol, max_iter, random_state
        For the solvers other than ``"normal"``.
    engine
        Where rows are summed; by default what reads the kind of array.

    Attributes
    ----------
    coef_ : (d,), or (t, d) of several targets
    intercept_ : float, or (t,)
    theta_ : (p, t), both together, the intercept first
    statistics_ : the normal equations
    rank_ : how many columns are independent
    dependent_columns_ : the columns that are combinations of those before them, and these

    Examples
    --------
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 7.5])
    >>> model = LinearRegression().fit(x, y)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([2.15]), 0.9)
    >>> prediction, low, high = model.predict([[4.0]], interval=0.95)
    >>> low.round(3), high.round(3)
    (array([8.183]), array([10.817]))
    >>> model.forget(x[3:], y[3:]).coef_.round(6)
    array([2.])
    """

    def __init__(
        self,
        solver: Any = "normal",
        *,
        l2: float = 0.0,
        l1: float = 0.0,
        fit_intercept: bool = True,
        covariance: str = "classical",
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = 0,
        engine: Engine | None = None,
    ) -> None:
        self.solver = solver
        self.l2 = l2
        self.l1 = l1
        self.fit_intercept = fit_intercept
        self.covariance = covariance
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.engine = engine

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_settings(self) -> None:
        check_penalties(self)
        if self.solver != "normal":
            solver_of(self.solver, self.tol, self.max_iter, False, None)
        if self.solver != "normal" and self.l1 > 0:
            raise ValueError(f"l1 > 0 needs solver='normal'; got solver={self.solver!r}")
        if self.covariance not in COVARIANCES:
            raise ValueError(f"covariance must be one of {', '.join(COVARIANCES)}; got {self.covariance!r}")

    # Learning.

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows and their targets, forgetting what was learnt before.

        Parameters
        ----------
        X
            Rows, (n, d); an iterator of batches (X, y) or (X, y, sample_weight), or a function that starts one, which
            may be larger than memory; or a collection of Dask or a data frame of Spark, which is summed where it lives.
        y
            One target per row, (n,), or several, (n, t). Of a cluster's data frame, it may be the name of its column,
            and of Spark's must be.
        sample_weight
            How often each row counts, once by default: a row of weight 2 is two rows, in standard errors too.
        """
        with self._learning(anew=True):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._forget_the_rows()
        self.__dict__.pop("digits_lost_", None)
        given = as_dataset(X, y=y, sample_weight=sample_weight)
        sums_suffice = self.solver == "normal" and self.covariance == "classical"
        data = given if sums_suffice else given.rereadable()
        try:
            batches = self._encode(data, reset=True)
            self._remember(self._sum(batches, reset=True))
            self._say_dependent()
            if not sums_suffice or (data.is_rereadable and self._lacks_digits()):
                self._look_again(EncodedDataset.of_parts(batches, self.engine))
        finally:
            if data is not given:
                data.release()
        if self.solver == "normal":
            self.solution_ = self._as_solution()
        _ = self.coef_  # what cannot be read from the sums is said now, not at the first prediction
        return self

    def _look_again(self, data: EncodedDataset) -> None:
        """Ask the rows what their sums do not tell: a solver's way, a small residual, and robust covariances."""
        try:
            if self.solver != "normal":
                self._find(data)
            if self._lacks_digits():
                self._read_residuals(data)
            if self.covariance != "classical" and self.l1 == 0:
                self._robust = self._robust_covariance(data)
        finally:
            data.release()

    def _lacks_digits(self) -> bool:
        """Whether sums tell the residual, or theta, to few digits."""
        solved = self._solved()
        return solved.df_residual > 0 and bool((solved.digits < ENOUGH_DIGITS).any())

    def _read_residuals(self, data: EncodedDataset) -> None:
        """Sum the residuals row by row; without a penalty, they also correct theta."""
        theta = self._solved().theta
        sums = data.transform(partial(_residuals, theta, self.fit_intercept)).sum(NormalEquations.over())
        if self.solver == "normal" and self.l1 == 0 and self.l2 == 0:
            found = solve(sums, self.fit_intercept)
            self._found, self._residual = theta + found.theta, found.residual
        else:
            self._found, self._residual = theta, sums.about_zero()[sums.features :, sums.features :]
        self._unread()

    def _encode(self, data: Dataset, reset: bool) -> Dataset:
        """Return rows as batches; the number and names of the features are set (reset), or compared."""
        if reset:
            door.features(self, data.example(), reset=True)
        return data.map_parts(partial(_encode_part, model_for_parts(self, data)))

    def _sum(self, batches: Dataset, reset: bool) -> NormalEquations:
        """Return the normal equations of all rows."""
        with door.naming_cells():
            found = batches.map_parts(partial(_sum_part, engine_for_parts(batches, self.engine))).reduce(_both)
        if found is None:
            raise no_rows()
        sums, one_target = found
        door.check_weight(sums.weight)
        if reset:
            self._one_target = one_target
        return sums

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows: all batches together give what :meth:`fit` gives, in any split and order.

        If ``solver`` is a :class:`~suffice.solvers.StochasticGradient` with a ``step``, theta is found by the plain
        stochastic rule instead, from theta = 0: one step for each row, as they come. ``+`` and :meth:`forget` then
        refuse.
        """
        first = "_memory" not in vars(self)
        steps = self.solver if isinstance(self.solver, StochasticGradient) and self.solver.step else None
        if not first and steps is None:
            self._check_unassigned("what is learned from more rows")
        before = None if first or steps is None else np.array(self.theta_)
        with self._learning(anew=first):
            batches = self._encode(as_dataset(X, y=y, sample_weight=sample_weight), reset=first)
            if steps is not None and batches.in_memory is None:
                raise ValueError("steps row by row need the rows here: fetch X, or give solver='normal'")
            more = self._sum(batches, reset=first)
            pace = self._pace
            self._forget_the_rows()
            self._remember(more if first else self._memory + more)
            if steps is not None:
                self._pace = pace
                self._step_through(batches.in_memory, steps, before)
        return self

    def _step_through(self, rows: Batch, steps: StochasticGradient, before: FloatArray | None) -> None:
        """Go once through a batch of rows, as they come, by the stochastic rule."""
        shape = rows.features + int(self.fit_intercept), self._memory.targets
        theta = np.zeros(shape) if before is None else before
        pace = self._pace or Pace(float(steps.step or 0.0), steps.decay or 0.0, steps.power, steps.batch_rows)
        found = []
        for place in range(self._memory.targets):
            likelihood = self._likelihood(EncodedDataset.of_batch(_of_target(place, rows), self.engine))
            likelihood = replace(likelihood, l2=likelihood.l2 * likelihood.weight / self._memory.weight)
            found.append(likelihood.descend(np.array(theta[:, [place]]), None, pace))
            if not found[-1].finite:
                raise diverged(pace.step, "in this batch", 0.0, np.nan, likelihood.weight, pace.step / 16)
        self._found = np.concatenate([descent.theta for descent in found], axis=1)
        self._pace = replace(pace, first=pace.first + found[0].steps)
        self._unread()

    def _check_sums(self, what: str) -> None:
        """Raise where theta is not read from the sums, and does not follow them."""
        self._check_unassigned(what)
        if self._found is not None and (
            isinstance(self._params.solver, StochasticGradient) or self._params.solver == "stochastic"
        ):
            raise ValueError(
                f"theta was found row by row by solver={self._params.solver!r}, not read from the sums: {what} cannot "
                "be told; fit with solver='normal', or use with_params(solver='normal') first"
            )

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows exactly: what is left is what :meth:`fit` learns from the other rows.

        ``digits_lost_`` holds how many of the 15.9 decimal digits the subtraction cost at most; past 9 it is refused,
        and nothing is changed.
        """
        self._check_fitted()
        self._check_sums("what is left without some rows")
        with self._learning(anew=False):
            batches = self._encode(as_dataset(X, y=y, sample_weight=sample_weight), reset=False)
            removal = self._memory.remove(self._sum(batches, reset=False))
            self._forget_the_rows()
            self._remember(removal.left)
            self.digits_lost_ = max(getattr(self, "digits_lost_", 0.0), removal.digits_lost)
        return self

    def __add__(self, other: Any) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        mine, theirs = parameters.feature_names(self), parameters.feature_names(other)
        if mine is not None and theirs is not None and mine != theirs:
            raise ValueError(f"models of the features {mine} and {theirs} do not go together")
        for model in (self, other):
            model._check_sums("the model of both")
        merged = copy.copy(self)
        with merged._learning(anew=False):
            merged._forget_the_rows()
            merged.__dict__.pop("digits_lost_", None)
            merged._remember(self._memory + other._memory)
        return merged

    def __radd__(self, other: Any) -> Self:
        """Let ``sum(models)`` start from its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², the share of the variance that the model explains; of several targets, their average.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their targets and weights, as for :meth:`fit`. Rows of a cluster are read where they are: once for the
            mean of y, and once for the squares.
        """
        data = partitioned.scored_dataset(self, X, y, sample_weight)
        if data is None:
            return float(super().score(X, y, sample_weight))
        mean = partitioned.mean_target(X, y, sample_weight)
        left, all_of_it = np.split(
            partitioned.sum_over(data, partial(_squares, model_for_parts(self, data), mean))[:-1], 2
        )
        explained = 1 - left / np.where(all_of_it > 0, all_of_it, 1.0)
        return float(np.where(all_of_it > 0, explained, left == 0).mean())

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
    ) -> Path:
        """Return the coefficients along the elastic net's path, from one pass; the model itself is not fitted.

        Parameters
        ----------
        X, y, sample_weight
            Rows, as for :meth:`fit`.
        penalties
            The penalties to go through: ``l1 = ratio * penalty``, ``l2 = (1 - ratio) * penalty``. By default ``count``
            of them, from the one that holds all coefficients at zero down to its ``least`` share, evenly on the log
            scale.
        ratio
            The share of l1: 1 is the lasso.
        """
        model = clone(self).set_params(solver="normal")
        model._check_settings()
        sums = model._sum(model._encode(as_dataset(X, y=y, sample_weight=sample_weight), reset=True), reset=True)
        products = products_of(sums, self.fit_intercept)
        values = strengths(float(np.abs(products.xy).max(initial=0.0)), penalties, count, least, ratio)
        first = int(self.fit_intercept)

        def solve_one(l1: float, l2: float, theta: FloatArray) -> Any:
            bent = products.xx + l2 * np.eye(len(products.xx))
            coef, solved = elastic_net(bent, products.xy, l1, theta[first:])
            if not solved:
                warn_unsolved(model, l1)
            theta = with_intercept(sums, coef) if first else coef
            squares = products.yy - 2 * coef.T @ products.xy + coef.T @ products.xx @ coef
            return *model._linear(theta), -float(np.trace(squares)) / 2, theta

        start = np.zeros((sums.features + first, sums.targets))
        return walk(values, ratio, start, solve_one)

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Batch:
        x = door.features(self, X, reset=False)
        targets = door.numbers_there(door.beside_rows(x, y), x.shape[0], several=True)
        if "_memory" in vars(self) and (targets.shape[1] if targets.ndim == 2 else 1) != self._memory.targets:
            raise ValueError(
                f"y has shape {targets.shape}; the model has learnt {self._memory.targets} target(s) a row"
            )
        return Batch(x, targets, door.weights(sample_weight, x.shape[0]))

    def _forget_the_rows(self) -> None:
        """Drop what came from rows that all were there at once."""
        self._robust = self._found = self._residual = self._pace = None
        self.__dict__.pop("solution_", None)

    def _find(self, data: EncodedDataset) -> None:
        """Let another solver find theta from the rows, target by target."""
        start = np.zeros((data.n_features + self.fit_intercept, 1))
        found: list[Solution] = []
        laid, layout = lay_out(data, self.fit_intercept)
        try:
            for place in range(self._memory.targets):
                solver = solver_of(self.solver, self.tol, self.max_iter, False, self.random_state)
                likelihood = self._likelihood(laid.transform(partial(_of_target, place)))
                start = layout.inward(np.zeros_like(start))
                inside = solver.minimise(likelihood, start)
                gradient = layout.gradient_outward(inside.gradient)
                found.append(replace(inside, theta=layout.outward(inside.theta), gradient=gradient, information=None))
                warn_unless_converged(self, inside)
        finally:
            if laid is not data:
                laid.release()
        slowest = max(found, key=lambda solution: solution.passes)
        self._found = np.concatenate([solution.theta for solution in found], axis=1)
        gradient = np.concatenate([solution.gradient for solution in found], axis=1)
        value = sum(solution.log_likelihood for solution in found)
        self.solution_ = replace(slowest, theta=self._found, gradient=gradient, log_likelihood=value)
        self._solution = None

    def _likelihood(self, data: EncodedDataset) -> Likelihood:
        return Likelihood(data, GAUSSIAN, self.fit_intercept, float(self.l2))

    def _robust_covariance(self, data: EncodedDataset) -> FloatArray:
        if not self._one_target:
            raise ValueError(f"covariance={self.covariance!r} is for one target; y has several")
        laid, layout = lay_out(data, self.fit_intercept)
        try:
            likelihood, theta = self._likelihood(laid), layout.inward(self.theta_)
            information = likelihood.curvature(theta).information
            covariance = robust_covariance(self.covariance, laid, GAUSSIAN, theta, self.fit_intercept, information)
        finally:
            if laid is not data:
                laid.release()
        if layout.kept is not None:
            covariance = layout.covariance_outward(covariance)
        centre = 0.0 if layout.centre is None else layout.centre
        return self._shift_intercept(centre - self._memory.mean_x, covariance)

    def _say_dependent(self) -> None:
        if self.l2 > 0 or self.l1 > 0 or self._solved().factored.rank == self.n_features_in_:
            return
        said = [dependence(name, others) for name, others in self.dependent_columns_]
        warn_user(
            f"LinearRegression: {'; '.join(said[:10])}. The rows do not tell these coefficients apart: the smallest "
            "that fit are given. Drop the columns, or give l2 > 0",
            CollinearityWarning,
        )


def _of_target(place: int, rows: Batch, _: Engine | None = None) -> Batch:
    y = to_host(rows.y)
    return replace(rows, y=np.ascontiguousarray(y.reshape(len(y), -1)[:, place]))


def _residuals(theta: FloatArray, intercept: bool, rows: Batch, engine: Engine) -> Batch:
    """Return rows whose targets are what theta leaves of them."""
    predicted = predictors_of(theta, intercept, rows, engine)
    return replace(rows, y=beside(rows.x, to_host(rows.y).reshape(predicted.shape) - predicted))


def _encode_part(model: LinearRegression, piece: Piece) -> Batch:
    with door.one_of_many():
        return model._rows(piece["X"], piece.get("y"), piece.get("sample_weight"))


def _sum_part(engine: Callable[[Batch], Engine], rows: Batch) -> tuple[NormalEquations, bool]:
    return engine(rows).accumulate(NormalEquations.over(), rows), rows.y.ndim == 1


def _both(one: tuple[NormalEquations, bool], two: tuple[NormalEquations, bool]) -> tuple[NormalEquations, bool]:
    return one[0] + two[0], one[1]


def _squares(model: LinearRegression, mean: FloatArray, piece: Piece) -> FloatArray:
    """Return the squares of residuals and those about the mean, of each target, and the rows' weight, (2 t + 1,)."""
    weights = partitioned.part_weights(piece)
    targets = door.numbers(piece["y"], len(weights), several=True).reshape(len(weights), -1)
    predicted = np.asarray(model.predict(piece["X"])).reshape(targets.shape)
    return np.concatenate([weights @ (targets - predicted) ** 2, weights @ (targets - mean) ** 2, [weights.sum()]])
