"""Linear models from normal equations: their sums, estimates, inference and files."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from suffice import partitioned, validation
from suffice.data import ArrayDataset, Dataset, EncodedDataset, as_dataset
from suffice.data.dataset import Piece, engine_for_parts, model_for_parts, no_rows, read_again
from suffice.data.sql import DatabaseSums
from suffice.discriminative.base import (
    LinearPredictor,
    PrecisionWarning,
    check_groups,
    check_inference_settings,
    covariance_kind,
    dependence,
    solvers_read,
    solvers_written,
    warn_of_collinearity,
    warn_unless_converged,
    weights_as_trials,
)
from suffice.discriminative.diagnostics import Diagnostics, FittedModel, diagnose
from suffice.discriminative.facts import gaussian_log_likelihood, known_dispersion
from suffice.discriminative.fit_rows import check_same_rows
from suffice.discriminative.inference import (
    PSEUDO_LIKELIHOOD,
    Inference,
    check_level,
    note_on_ridge,
    notes_on_rows,
)
from suffice.discriminative.intervals import check_of, critical_value
from suffice.discriminative.layout import Layout, lay_out
from suffice.discriminative.normal_equations import LeastSquares, Penalty, products_of, solve_normal_equations
from suffice.discriminative.objective import NegativeLogLikelihood, predictors_of
from suffice.discriminative.orthogonal import are_dependent, solve_by_rows
from suffice.discriminative.robust import RobustFacts, read_robust_facts, robust_covariance
from suffice.discriminative.theta_covariance import PredictorVariance, ThetaCovariance, null_outward, with_gaps
from suffice.estimator import ReadFromStatistics, is_same, keeps_precision, row_wise, scored_dataset
from suffice.families import Response
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.descent import Pace
from suffice.kernels.engine import engine_for
from suffice.kernels.errors import NonFiniteError
from suffice.kernels.libraries import beside
from suffice.solvers import Solution, Step, StochasticGradient
from suffice.solvers.auto import solver_of
from suffice.solvers.base import thin_trace
from suffice.solvers.gradient import diverged
from suffice.solvers.linear_algebra import EPSILON, Symmetric, dependencies, flat
from suffice.statistics import NormalEquations
from suffice.statistics.base import FloatArray
from suffice.store import Contents, check_shapes, parameters
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, RandomState, SolverLike, VectorLike

#: A note is added if fewer digits of the residual variance than these are correct.
FEW_DIGITS = 4.0


GAUSSIAN = Response.of("gaussian")
#: The residual is summed row by row if the sums give fewer digits of it than these.
ENOUGH_DIGITS = 6.0
#: Rows are decomposed by QR if a column's squared residual given those before is below this share; most columns.
ILL_CONDITIONED, MOST_COLUMNS = 1e-4, 1000
#: A residual variance below this share of the squares of y is rounding: R says so at the same share.
EXACT = 1e-30
#: Tolerance of solvers that read the rows, if none is given.
ITERATED_TO = 1e-8


class LeastSquaresModel(MultiOutputMixin, RegressorMixin, ReadFromStatistics, LinearPredictor):  # type: ignore[misc]
    """A linear model of numbers that is estimated from normal equations, with or without a penalty.

    It keeps the sums ``XᵀX``, ``Xᵀy`` and ``yᵀy`` about the means, not the rows. A model defines :meth:`_penalty`, and
    has some of the parameters below; the others keep these values.
    """

    solver: SolverLike = "normal"
    positive: bool = False
    weights: str = "frequency"
    dispersion: str | float = "family"
    covariance: str = "classical"
    lags: int | None = None
    tol: float = 1e-8
    max_iter: int | None = None
    random_state: RandomState = None
    _several_targets: ClassVar[bool] = True  # whether y may have several columns
    #: Parameters, other than ``solver``, that change the coefficients.
    _estimated_by: ClassVar[tuple[str, ...]] = ("fit_intercept", "positive")

    _memory: NormalEquations
    _observations: Observations | None = None  # None if a database computed the sums
    _one_target: bool  # whether y had shape (n,)
    _found: FloatArray | None = None  # (p, t), theta computed from the rows
    _residual: FloatArray | None = None  # (t, t), products of the residuals, summed row by row
    _triangle: FloatArray | None = None  # (d, d), R of the features, if the rows were decomposed
    _robust: ThetaCovariance | None = None  # estimated from the rows
    _robust_facts: RobustFacts | None = None  # what it is based on
    _solution: LeastSquares | None = None  # the last solution
    _null: FloatArray | None = None  # (k, p), directions of theta that change no row, computed from it
    _pace: Pace | None = None  # of the next batch, by stochastic gradient
    _learned = "_memory"
    _coef: Any = None  # coef_ and intercept_, as set by the fit or assigned
    _intercept: Any = None

    @abstractmethod
    def _penalty(self) -> Penalty:
        """Return the penalty of the fit, on the scale of half the sum of squares, for the sums of the model."""

    @property
    def _method(self) -> Any:
        """The solver: ``"normal"`` for the normal equations, otherwise one that reads the rows."""
        return self.solver

    def _penalty_named(self) -> str:
        """Return the penalty as the parameters state it, for messages."""
        return ""

    def is_penalised(self) -> bool:
        """Whether the parameters have a penalty, which keeps coefficients finite."""
        return bool(np.any(getattr(self, "alpha", 0.0)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_settings(self) -> None:
        if not (isinstance(self.tol, int | float | np.number) and 0 <= self.tol < np.inf):
            raise ValueError(f"tol must be a number, 0 or more; got {self.tol!r}")
        if self._method != "normal":
            solver_of(self._method, self.tol or ITERATED_TO, self._most_steps, False, None, also=("normal",))
        for name in ("positive", "fit_intercept"):
            if not isinstance(getattr(self, name), bool | np.bool_ | int):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}")
        if self._method != "normal" and self.positive:
            raise ValueError(f"positive=True is solved from the sums; got solver={self.solver!r}: leave it out")
        check_inference_settings(self)

    @property
    def _most_steps(self) -> int:
        """Most iterations of a solver that reads the rows."""
        return 1000 if self.max_iter is None else self.max_iter

    # Learning.

    def _look_again(self, data: EncodedDataset) -> None:
        """Make a second pass if the sums are not enough: for another solver, a small residual, robust errors."""
        try:
            if self._method != "normal":
                self._find(data)
            if self._is_ill_conditioned():
                self._decompose(data)
            if self._lacks_digits():
                self._read_residuals(data)
            if self._covariance_kind != "classical" and self._has_errors():
                self._read_robust_covariance(data)
        finally:
            data.release()

    def _is_ill_conditioned(self) -> bool:
        """Whether the columns are nearly collinear, so that normal equations lose digits of theta."""
        if self._method != "normal" or not self._has_errors() or self._memory.features > MOST_COLUMNS:
            return False
        return self._solved().factored.least_pivot < ILL_CONDITIONED

    def _decompose(self, data: EncodedDataset) -> None:
        """Compute theta by QR of the rows, unless columns are collinear."""
        null = self._solved().factored.null
        if are_dependent(data, self._memory, self.fit_intercept, null):
            return
        found = solve_by_rows(data, self._memory, self.fit_intercept, float(self._penalty().l2.max()))
        if found is not None:
            self._found, self._residual, self._triangle = found
            self._unread()

    def _lacks_digits(self) -> bool:
        """Whether the sums give few digits of the residual, or of theta."""
        solved = self._solved()
        return solved.df_residual > 0 and bool((solved.digits < ENOUGH_DIGITS).any())

    def _read_residuals(self, data: EncodedDataset) -> None:
        """Sum the residuals row by row; without a penalty, also refine theta by them."""
        theta = self._solved().theta
        sums = data.transform(partial(_residuals, theta, self.fit_intercept)).sum(NormalEquations.over())
        if self._method == "normal" and self._penalty().is_none:
            found = solve_normal_equations(sums, self.fit_intercept)
            self._found, self._residual = theta + found.theta, found.residual
        else:
            self._found, self._residual = theta, sums.about_zero()[sums.features :, sums.features :]
        self._unread()

    def _encode(self, data: Dataset, reset: bool) -> Dataset:
        """Return rows as batches; set (reset) or compare the number and names of the features."""
        part = data.in_memory
        if part is not None:
            return ArrayDataset(
                self._rows(part["X"], part.get("y"), part.get("sample_weight"), part.get("groups"), reset)
            )
        if reset:
            validation.features(self, data.example(), reset=True)
        return data.map_parts(partial(_encode_part, model_for_parts(self, data)))

    @property
    def _covariance_kind(self) -> str:
        """The covariance that a fit estimates."""
        return covariance_kind(self.covariance, self.weights)

    def _sum(
        self, batches: Dataset, reset: bool, aggregates: DatabaseSums | None
    ) -> tuple[NormalEquations, Observations | None]:
        """Return the normal equations of all rows, computed by the database if there is one, and their number."""
        found: Summed | None
        rows = batches.in_memory
        try:
            if rows is not None:
                found = sum_rows(engine_for(self._engine, rows.x), rows)
            elif aggregates is not None and self.weights == "frequency":
                found = Summed(aggregates.sum_targets(NormalEquations.over()), True, None)
            else:
                engine = engine_for_parts(batches, self._engine)
                found = batches.map_parts(partial(_sum_part, engine)).reduce(Summed.plus)
        except NonFiniteError as error:
            raise validation.cell_error(error) from None
        if found is None:
            raise no_rows()
        sums, one_target, observations = found
        validation.check_weight(sums.total)
        if reset:
            self._one_target = one_target
        return sums, observations

    def score(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> float:
        """Return R², the share of the variance that the model explains; for several targets, their average.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`. Rows in parts are read twice: for the mean of y, and for the squares.
        """
        data = scored_dataset(self, X, y, sample_weight)
        if data is None:
            return float(super().score(X, y, sample_weight))
        with read_again(data) as rows:
            squares = partial(_squares, model_for_parts(self, rows), partitioned.mean_target(rows))
            left, all_of_it = np.split(partitioned.sum_over(rows, squares)[:-1], 2)
        explained = 1 - left / np.where(all_of_it > 0, all_of_it, 1.0)
        return float(np.where(all_of_it > 0, explained, left == 0).mean())

    def _rows(self, X: Any, y: Any, sample_weight: Any, groups: Any = None, reset: bool = False) -> Batch:
        x = validation.features(self, X, reset)
        targets = validation.numbers_there(validation.beside_rows(x, y), x.shape[0], several=self._several_targets)
        if (
            not reset
            and "_memory" in vars(self)
            and (targets.shape[1] if targets.ndim == 2 else 1) != self._memory.targets
        ):
            raise ValueError(f"y has shape {targets.shape}; the model has {self._memory.targets} target(s) per row")
        weight = validation.weights(sample_weight, x.shape[0])
        rows = Batch(x, targets, weight, groups=validation.groups(groups, x.shape[0]))
        return rows if weight is None or self.weights == "frequency" else weights_as_trials(rows)

    def _forget_the_rows(self) -> None:
        """Drop the results that need all rows at once."""
        self._robust = self._found = self._residual = self._triangle = self._pace = None
        self._robust_facts = None
        self.__dict__.pop("solution_", None)

    def _find(self, data: EncodedDataset) -> None:
        """Compute theta from the rows by another solver, target by target."""
        start = np.zeros((data.n_features + self.fit_intercept, 1))
        found: list[Solution] = []
        laid, layout = lay_out(data, self.fit_intercept)
        try:
            for place in range(self._memory.targets):
                solver = solver_of(self._method, self.tol or ITERATED_TO, self._most_steps, False, self.random_state)
                likelihood = self._likelihood(laid.transform(partial(_of_target, place)), place, self._memory)
                start = layout.inward(np.zeros_like(start))
                inside = solver.minimise(likelihood, start)
                found.append(layout.solution_outward(inside))
                warn_unless_converged(self, inside)
        finally:
            if laid is not data:
                laid.release()
        self.solution_ = _join_targets(found)
        self._found, self._solution = self.solution_.theta, None

    def objective(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike = None) -> NegativeLogLikelihood:
        """Return what :meth:`fit` minimises over these rows, as a function of theta: J, to evaluate or to minimise.

        Parameters
        ----------
        X, y, sample_weight
            Rows in memory, as for :meth:`fit`. They need not be those of the fit.

        Returns
        -------
        NegativeLogLikelihood
            ``value_gradient(theta)`` and ``value_gradient_hessian(theta)`` are J and its derivatives at theta, (p, 1):
            ½ Σ (h(x) - y)², and the penalty. A solver minimises it: ``Newton().minimise(objective, start)``.

        Examples
        --------
        >>> from suffice import LinearRegression
        >>> X, y = [[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]
        >>> objective = LinearRegression().fit(X, y).objective(X, y)
        >>> J = objective.value_gradient(np.zeros((2, 1)))
        >>> J.value, J.gradient.ravel()  # half the sum of y², and the sum of (h(x) - y) x
        (17.5, array([ -9., -13.]))
        """
        self._check_fitted()
        if self._memory.targets != 1:
            raise ValueError(f"the objective is of one target; y has {self._memory.targets}: fit each separately")
        copied = copy.copy(self).set_params(**self._params.get_params(deep=False))
        penalty = copied._penalty()
        if np.any(penalty.l1) or penalty.positive:
            what = "positive=True" if penalty.positive else copied._penalty_named()
            raise ValueError(
                f"the objective of a fit with {what} is not least squares with a ridge alone: leave it out"
            )
        rows = copied._rows(X, y, sample_weight)
        data = EncodedDataset.of_batch(_of_target(0, rows, None), copied._engine)
        return copied._likelihood(data, sums=sum_rows(engine_for(copied._engine, rows.x), rows).equations)

    def _likelihood(
        self, data: EncodedDataset, place: int = 0, sums: NormalEquations | None = None
    ) -> NegativeLogLikelihood:
        """Return the objective of the target at a place; its value is J if the sums of the rows are given."""
        l2 = float(self._penalty().l2[place])
        squares = 0.0 if sums is None else float(sums.yy[place, place] + sums.total * sums.mean_y[place] ** 2)
        return NegativeLogLikelihood(data, GAUSSIAN, self.fit_intercept, l2, constant=squares / 2)

    def _read_robust_covariance(self, data: EncodedDataset) -> None:
        """Estimate the robust covariance from the rows."""
        if not self._one_target:
            raise ValueError(f"covariance={self._covariance_kind!r} is for one target; y has several")
        laid, layout = lay_out(data, self.fit_intercept, mix=self._penalty().is_none)
        try:
            likelihood, theta = self._likelihood(laid), layout.inward(self.theta_)
            information = likelihood.value_gradient_hessian(theta).hessian
            found = robust_covariance(
                self._covariance_kind,
                laid,
                GAUSSIAN,
                theta,
                self.fit_intercept,
                information,
                self._solved().rows,
                self.lags,
            )
        finally:
            if laid is not data:
                laid.release()
        undetermined = Symmetric.of(information).undetermined
        self._robust, self._robust_facts = ThetaCovariance.robust(layout, found, undetermined)

    def _warn_collinear(self) -> None:
        if self._penalty().shrinks or self._solved().factored.rank == self.n_features_in_:
            return
        warn_of_collinearity(self, [dependence(name, others) for name, others in self.dependent_columns_])

    # Estimates from the sums.

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the model can predict: not if all its rows were forgotten."""
        if "_memory" in vars(self):
            return self._memory.total > 0
        return self._coef is not None  # assigned

    def _adopt(self) -> None:
        super()._adopt()
        self._one_target = np.ndim(self.coef_) == 1

    def _remember(self, statistics: NormalEquations, observations: Observations | None) -> None:
        self._memory, self._observations = statistics, observations
        self._unread()

    def _unread(self) -> None:
        self._solution = self._coef = self._intercept = self._null = None

    def _check_read(self) -> None:
        _ = self._solved()

    def _check_readable(self, wanted: Self) -> None:
        self._check_unassigned("a model computed from the sums")
        params = self._params
        changed = [name for name in self._estimated_by if not is_same(getattr(wanted, name), getattr(params, name))]
        if wanted._method != "normal" and (changed or wanted.solver != params.solver):
            raise ValueError(
                f"solver={wanted.solver!r} needs the rows, and the model keeps only their sums: fit again, or "
                "give solver='normal' as well"
            )
        kind = wanted._covariance_kind
        settings = ("covariance", "weights", "lags")
        changed += [name for name in settings if getattr(wanted, name) != getattr(params, name)]
        if kind != "classical" and changed:
            raise ValueError(
                f"covariance={kind!r} needs the rows, and the model keeps only their sums: fit "
                "again, or give covariance='classical' as well"
            )

    def _under(self, **params: Any) -> Self:
        found = super()._under(**params)
        settings = ("solver", *self._estimated_by)
        changed = any(not is_same(getattr(found._params, name), getattr(self._params, name)) for name in settings)
        if changed and found._params._method == "normal":
            found._found = found._residual = found._triangle = found._pace = None
            found.__dict__.pop("solution_", None)
        if found._params._covariance_kind == "classical":
            found._robust = found._robust_facts = None
        return found

    def _solved(self) -> LeastSquares:
        """Return the solution of the normal equations, computed once."""
        if self._solution is None:
            self._check_fitted()
            self._check_learned("an estimate")
            params = self._params
            known = known_dispersion(params.dispersion)
            self._solution = solve_normal_equations(
                self._memory,
                params.fit_intercept,
                self._penalty(),
                self._found,
                self._residual,
                self._counted().rows,
                known,
                self._triangle,
            )
            if not self._solution.solved:
                self._warn_unsolved(self._penalty_named())
        return self._solution

    def _warn_unsolved(self, penalty: str) -> None:
        what = f" at {penalty}" if penalty else ""
        warn_user(
            f"{type(self).__name__} did not converge: the conditions for a minimum do not hold{what}, as columns "
            "nearly depend on each other. Standardise the columns, or use a larger ridge penalty",
            ConvergenceWarning,
        )

    def _has_errors(self) -> bool:
        """Whether the coefficients have standard errors."""
        penalty = self._penalty()
        return not (penalty.l1 > 0 or penalty.positive or penalty.varies)

    def _no_errors(self) -> str:
        """Return why there are no standard errors."""
        penalty = self._penalty()
        if penalty.positive:
            return "positive=True: constrained coefficients have no standard errors"
        if penalty.l1 > 0:
            return f"{self._penalty_named()}: coefficients set to zero have no standard errors"
        return "targets have different penalties: there are no standard errors; fit each target separately"

    def _counted(self) -> Observations:
        """Return the number of observations, by the meaning of the weights."""
        if self._params.weights == "frequency":
            return Observations(self._memory.total, 0.0)
        if self._observations is None:
            raise ValueError(
                f"weights={self._params.weights!r} need the number of rows, which sums of a database, or of an "
                "older file, do not have: fit again"
            )
        return self._observations

    def _fitted_theta(self) -> FloatArray:
        return self._solved().theta

    def _is_assigned(self, theta: FloatArray) -> bool:
        return self._coef is not None and super()._is_assigned(theta)

    def _check_unassigned(self, what: str) -> None:
        if self._coef is not None:  # otherwise they are read from the sums
            super()._check_unassigned(what)

    def _as_solution(self) -> Solution:
        """Return the solution of the normal equations as that of a solver: one pass, and a gradient of 0."""
        found = self._solved()
        theta, coef = found.theta, found.theta[int(self._params.fit_intercept) :]
        penalty = self._penalty()
        penalised = penalty.l1 * float(np.abs(coef).sum()) + 0.5 * float(penalty.l2 @ (coef**2).sum(axis=0))
        value = 0.5 * float(np.trace(found.residual)) + penalised
        step = Step(1.0, value, 0.0, 0.0, theta)
        reason = "the normal equations are solved" if found.solved else "the conditions for a minimum do not hold"
        return Solution(theta, value, np.zeros_like(theta), found.solved, reason, (step,), weight=self._memory.total)

    @property
    def statistics_(self) -> NormalEquations:
        """The normal equations, from which the model is estimated."""
        self._check_fitted()
        self._check_learned("a sum")
        return self._memory

    @property
    def n_iter_(self) -> int:
        """Number of passes over the rows: 1 for the normal equations."""
        self._check_fitted()
        return max(self.solution_.n_steps, 1) if hasattr(self, "solution_") else 1

    def _shown(self, theta: FloatArray) -> tuple[FloatArray, Any]:
        coef, intercept = self._linear(theta)
        return (coef[0], float(intercept[0])) if self._one_target else (coef, intercept)

    @property
    def coef_(self) -> FloatArray:
        """The coefficients, (d,), or (t, d) for several targets."""
        if self._coef is None:
            self._coef, self._intercept = self._shown(self._solved().theta)
        coef: FloatArray = self._coef
        return coef

    @coef_.setter
    def coef_(self, value: Any) -> None:
        self._read_both()
        self._coef = value

    @property
    def intercept_(self) -> float | FloatArray:
        """The intercept, or one per target, (t,)."""
        if self._intercept is None:
            _ = self.coef_
        intercept: float | FloatArray = self._intercept
        return intercept

    @intercept_.setter
    def intercept_(self, value: Any) -> None:
        self._read_both()
        self._intercept = value

    def _read_both(self) -> None:
        """Read coefficients and intercept from the sums, if there are any, before one of them is assigned."""
        if "_memory" in vars(self):
            _ = self.coef_

    @property
    def rank_(self) -> int:
        """Number of independent columns of X."""
        return self._solved().factored.rank

    @property
    def dependent_columns_(self) -> list[tuple[str, list[str]]]:
        """The columns that are linear combinations of earlier columns, with those; empty for a constant column."""
        self._check_fitted()
        if self._triangle is not None:
            return []
        intercept = self._params.fit_intercept
        names = np.array(self._names()[int(intercept) :])
        found = dependencies(products_of(self._memory, intercept).xx)
        return [(str(names[column]), [str(name) for name in names[others]]) for column, others in found]

    # Predictions.

    @row_wise("prediction")
    @keeps_precision()
    def predict(self, X: MatrixLike) -> FloatArray:
        """Return the prediction for each row, (n,), or (n, t).

        Parameters
        ----------
        X
            Rows, (n, d).
        """
        predicted = self._read(X, *self._linear())
        found: FloatArray = predicted[:, 0] if self._one_target else predicted
        return found

    @row_wise("standard_error")
    def predict_se(self, X: MatrixLike) -> FloatArray:
        """Return the standard error of the predicted mean of each row, (n,), or (n, t).

        It uses the covariance of the fit.
        """
        errors = self._mean_variance(X) ** 0.5
        found: FloatArray = errors[:, 0] if self._one_target else errors
        return found

    @row_wise("lower", "upper")
    def predict_interval(
        self, X: MatrixLike, level: float = 0.95, *, of: str = "mean"
    ) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper end of an interval for each row, each (n,), or (n, t).

        Parameters
        ----------
        X
            Rows, (n, d).
        level
            Confidence level.
        of
            ``"mean"``: confidence interval of the mean of y. ``"observation"``: prediction interval of a new y (of
            weight 1 if weights are precisions).
        """
        check_level(level)
        check_of(of)
        predicted = self._read(X, *self._linear())
        variance, noise = self._mean_variance(X), np.diagonal(self._solved().noise())
        if of == "observation":
            if self._params.weights == "sampling" and known_dispersion(self._params.dispersion) is None:
                noise = noise * (self._solved().rows / self._memory.total)  # whatever the scale of the weights
            variance = variance + beside(variance, noise)[None, :]
        known = known_dispersion(self._params.dispersion) is not None
        df = np.inf if known else self._solved().df_residual
        if of == "mean" and self._robust_facts is not None and self._robust_facts.df is not None:
            df = self._robust_facts.df
        reach = critical_value(level, df) * variance**0.5
        low, high = predicted - reach, predicted + reach
        return (low[:, 0], high[:, 0]) if self._one_target else (low, high)

    def diagnostics(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        dfbetas: bool = True,
        terms: Mapping[str, Sequence[str]] | None = None,
        random_state: RandomState = 0,
    ) -> Diagnostics:
        """Return residuals, leverage and influence of each row of the fit, and variance inflation factors.

        Rows in parts are read at most three times; the results are in memory.

        Parameters
        ----------
        X, y, sample_weight
            The rows of the fit, which a model does not keep.
        dfbetas
            Whether the change of each coefficient without each row, (n, p), is computed.
        terms
            The coefficients of each term, for generalised variance inflation factors; one each by default.
        random_state
            Not used: y is not discrete.

        Returns
        -------
        Diagnostics
            It prints as a summary; ``frame()`` has a row for each row.
        """
        self._check_fitted()
        self._check_unassigned("diagnostics")
        params = self._params
        if not self._one_target:
            raise ValueError("diagnostics need one target; y has several: fit each separately")
        if not self._has_errors():
            raise ValueError(
                f"there are no diagnostics: {self._no_errors()}; fit LinearRegression to the columns with coefficients "
                "other than 0"
            )
        copied = copy.copy(self).set_params(**params.get_params(deep=False))
        given = as_dataset(X, y=y, sample_weight=sample_weight)
        with validation.naming_cells(), read_again(given) as rows:
            data = EncodedDataset.of_parts(copied._encode(rows, reset=False), self._engine)
            laid, layout = lay_out(data, params.fit_intercept, mix=copied._penalty().is_none)
            try:
                objective, theta = copied._likelihood(laid), layout.inward(self.theta_)
                here = objective.value_gradient_hessian(theta)
                check_same_rows(here, theta, self._inference(), "diagnostics")
                facts = FittedModel.of(self._inference(), known_dispersion(params.dispersion) is not None, True)
                return diagnose(objective, theta, layout, here.hessian, facts, dfbetas, terms, random_state)
            finally:
                if laid is not data:
                    laid.release()
                data.release()

    def _profile(self, level: float, X: Any, y: Any, **rows: Any) -> FloatArray:
        if self._params._covariance_kind != "classical":
            return self.with_params(covariance="classical", lags=None)._inference().interval(level)
        return self._inference().interval(level)

    def _mean_variance(self, X: Any) -> Any:
        """Return the variance of the predicted means, (n, t), in the library of X."""
        self._check_fitted()
        self._check_unassigned("an interval")
        sums, solved, intercept = self._memory, self._solved(), self._params.fit_intercept
        if not self._has_errors():
            raise ValueError(f"there is no interval: {self._no_errors()}")
        noise = np.diagonal(solved.noise())
        if not solved.df_residual > 0 and np.isnan(noise).any():
            raise ValueError(f"there is no interval: {notes_on_rows(solved.rows, solved.rank, noise=True)[0]}")
        if np.isnan(noise).any():
            raise ValueError(f"there is no interval: {self._notes_on_digits()[-1]}")
        robust = None if self._params._covariance_kind == "classical" else self._known_robust()
        x = validation.features(self, X, reset=False)
        with validation.naming_cells():
            engine, unknown = engine_for(self._engine, x), self._not_estimable(x)
            if robust is not None:
                errors = robust.predictor_error(engine, x, 1)[:, None]
                return with_gaps(errors * errors, unknown | robust.leaves_open(x, 1))
            centre = sums.mean_x if intercept else np.zeros(sums.features)
            level_variance = 1 / sums.weight if intercept else 0.0
            variance = PredictorVariance(centre, solved.factored.whitener(), level_variance, noise)
            return with_gaps(variance.at(engine, x), unknown)

    def null_directions(self) -> FloatArray | None:
        """Return directions of theta, (k, p), that change no row of the fit; None without any, or if unknown."""
        solved = self._solved()
        if solved.factored.rank == solved.sums.features or self._penalty().shrinks:
            return None
        if self._null is None:
            centre = solved.sums.mean_x if solved.intercept else None
            layout = Layout(solved.sums.features, solved.intercept, centre=centre)
            products = products_of(solved.sums, solved.intercept).xx
            if solved.intercept:
                products = np.pad(products, ((1, 0), (1, 0)))
                products[0, 0] = solved.sums.weight
            self._null = null_outward(layout, products)
        return self._null

    def _known_robust(self) -> ThetaCovariance:
        """Return the covariance estimated from the rows; raise if it is unknown."""
        if self._robust is None:
            raise ValueError(
                f"covariance={self._params._covariance_kind!r} needs all rows at once, and rows were added, merged or "
                "forgotten since the fit: fit again, or use with_params(covariance='classical')"
            )
        return self._robust

    @property
    def _is_read_from_sums(self) -> bool:
        """Whether theta is the solution of the normal equations, without a penalty or with a ridge."""
        return self._found is None and self._has_errors()

    def _notes_on_digits(self) -> list[str]:
        """Return notes if the sums give few digits of theta, or of the residual variance."""
        notes, pivot = [], self._solved().factored.least_pivot
        if self._is_read_from_sums and 0 < pivot < 1e6 * EPSILON:
            lost = float(np.log10(pivot / EPSILON))
            notes.append(
                f"the columns are nearly collinear: the sums give about {lost:.0f} correct decimal digits of the "
                "coefficients; fit, with all rows at once, makes a second pass"
            )
        digits = float(self._solved().digits.min())
        if digits >= FEW_DIGITS:
            return notes
        known = f"about {digits:.1f} correct decimal digits" if digits > 0 else "no correct digit"
        unknown = "" if digits > 0 else ": there are no standard errors"
        return [
            *notes,
            f"the features explain nearly all of y: the sums give {known} of the residual variance{unknown}; fit, with "
            "all rows at once, makes a second pass",
        ]

    # Inference.

    def _parameter_names(self) -> list[str]:
        names = self._names()
        if self._one_target:
            return names
        return [f"y{target}: {name}" for target in range(self._memory.targets) for name in names]

    def _inference(self) -> Inference:
        sums, solved = self._memory, self._solved()
        notes = [
            dependence(name, others)
            for name, others in (self.dependent_columns_ if solved.factored.rank < sums.features else [])
        ]
        params, covariance = self._params, None
        penalty = self._penalty()
        if not self._has_errors():
            notes.append(self._no_errors())
        elif penalty.l2.any():
            notes.append(note_on_ridge(self._penalty_named(), params._covariance_kind))
        if self._has_errors():
            classical = params._covariance_kind == "classical"
            covariance = solved.covariance() if classical else np.array(self._known_robust().outward())
            if not classical:
                loose = np.flatnonzero(solved.factored.undetermined) + int(params.fit_intercept)
                covariance[loose, :] = covariance[:, loose] = np.nan
        variance = known_dispersion(params.dispersion)
        known = variance is not None
        notes += notes_on_rows(solved.rows, solved.rank, not known or params._covariance_kind != "classical")
        notes += [PSEUDO_LIKELIHOOD] if params.weights == "sampling" else []
        robust = self._robust_facts or RobustFacts(params._covariance_kind)
        notes += robust.notes(self._parameter_names())
        if solved.df_residual > 0:
            notes += self._notes_on_digits()
            if not solved.digits.all():
                warn_user(f"{type(self).__name__}: {notes[-1]}", PrecisionWarning)
        deviance = np.where(solved.digits > 0, np.diagonal(solved.residual), np.nan)
        null = np.diagonal(products_of(sums, bool(params.fit_intercept)).yy)
        rows, log_weight = self._counted()
        scale = sums.mean_y**2 + null / sums.total
        if solved.df_residual > 0 and not (deviance / sums.total > EXACT * scale).all():
            notes.append("the fit is exact but for rounding: standard errors and tests mean nothing")
        return Inference(
            title=f"{type(self).__name__} (gaussian/identity)",
            names=tuple(self._parameter_names()),
            estimate=flat(solved.theta),
            covariance=covariance,
            distribution="z" if known and robust.df is None else "t",
            df_residual=solved.df_residual,
            df_tests=robust.df,
            rows=rows,
            rank=solved.rank * sums.targets,
            log_likelihood=sum(gaussian_log_likelihood(rows, each, log_weight, variance) for each in deviance),
            null_log_likelihood=sum(gaussian_log_likelihood(rows, each, log_weight, variance) for each in null),
            deviance=float(deviance.sum()),
            null_deviance=float(null.sum()),
            dispersion=float(np.trace(solved.noise())) / sums.targets,
            covariance_kind=params._covariance_kind,
            covariance_title=robust.title,
            notes=tuple(notes),
            intercept=bool(params.fit_intercept),
            density=True,
            estimates_dispersion=not known,
            least_squares=penalty.is_none,
            targets=sums.targets,
        )

    # The file.

    def _contents(self) -> Contents:
        self._check_fitted()
        found = {"found": self._found, "residual": self._residual, "triangle": self._triangle}
        arrays = {name: array for name, array in found.items() if array is not None}
        if self._robust is not None:
            arrays |= self._robust.arrays()
        if self._is_assigned(self._solved().theta):
            arrays["coef"], arrays["intercept"] = np.asarray(self.coef_), np.asarray(self.intercept_)
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(solvers_written),
                "features": self.n_features_in_,
                "feature_names": parameters.feature_names(self),
                "one_target": self._one_target,
                "pace": None if self._pace is None else asdict(self._pace),
                "observations": None if self._observations is None else list(self._observations),
                "robust": None if self._robust_facts is None else self._robust_facts._asdict(),
            },
            statistics={"sum": self._memory},
            arrays=arrays,
        )

    def _restore_choice(self, contents: Contents) -> None:
        """Restore what cross-validation chose, from a file."""

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls._with_parameters(settings, solvers_read)._restore_features(settings)
        model._one_target = bool(settings["one_target"])
        statistics = contents.statistics["sum"]
        if not isinstance(statistics, NormalEquations):
            raise ValueError(f"the sum must be NormalEquations; it is a {type(statistics).__name__}")
        if statistics.features != model.n_features_in_:
            raise ValueError(f"the sum is of {statistics.features} features, the model of {model.n_features_in_}")
        size, targets = model.n_features_in_ + int(model._params.fit_intercept), statistics.targets
        robust = dict.fromkeys(("centred_robust", "robust"), (size, size))
        check_shapes(contents.arrays, {**robust, "found": (size, targets), "residual": (targets, targets)})
        check_shapes(contents.arrays, {"triangle": (model.n_features_in_, model.n_features_in_)})
        model._found = contents.arrays.get("found")
        plain = Layout(model.n_features_in_, bool(model._params.fit_intercept))
        if "covariance" in contents.arrays:
            arrays = {**contents.arrays, "theta": np.zeros((size, 1))}
            model._robust = ThetaCovariance.from_arrays(plain, arrays)
        for name, centre in (("robust", None), ("centred_robust", statistics.mean_x)):
            if name in contents.arrays:  # older files: with the intercept at x = 0, or at the means
                matrix = contents.arrays[name]
                layout = replace(plain, centre=centre if plain.intercept else None)
                model._robust = ThetaCovariance(layout, np.nan_to_num(matrix), np.isnan(np.diagonal(matrix)))
        model._residual, model._triangle = contents.arrays.get("residual"), contents.arrays.get("triangle")
        model._robust_facts = read_robust_facts(settings.get("robust"))
        model._restore_choice(contents)
        pace = settings.get("pace")
        model._pace = None if pace is None else Pace(**pace)
        observations = settings.get("observations")
        model._remember(statistics, None if observations is None else Observations(*map(float, observations)))
        if "coef" in contents.arrays:
            check_shapes(contents.arrays, {"coef": model.coef_.shape, "intercept": np.shape(model.intercept_)})
            intercept = contents.arrays["intercept"]
            model.coef_, model.intercept_ = contents.arrays["coef"], intercept if intercept.ndim else float(intercept)
        return model


class StreamedLeastSquares(LeastSquaresModel):
    """A model from normal equations that learns more rows, forgets rows and adds up with others."""

    def fit(
        self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None, *, groups: VectorLike = None
    ) -> Self:
        """Fit the model to rows and their targets; earlier rows are forgotten.

        Parameters
        ----------
        X
            Rows, (n, d); an iterator of batches (X, y) or (X, y, sample_weight), or a function that returns one, which
            may be larger than memory; a path, a URL or a list of paths of files; or a Dask collection or Spark data
            frame, which is summed on its workers.
        y
            One target per row, (n,), or several, (n, t). For data frames on a cluster it may be the name of a column;
            for files and Spark it must be.
        sample_weight
            The weight of each row, 1 by default; the parameter ``weights`` gives its meaning.
        groups
            The cluster of each row, (n,), a number or a string, for ``covariance="clustered"``.
        """
        with self._learning(anew=True):
            self._forget_the_rows()
            sums_suffice = self._method == "normal" and self._covariance_kind == "classical"
            given = as_dataset(X, y=y, sample_weight=sample_weight, groups=groups)
            if given.in_memory is not None or groups is not None:
                check_groups(self.covariance, groups)
            with nullcontext(given) if sums_suffice else read_again(given) as data:
                batches = self._encode(data, reset=True)
                self._remember(*self._sum(batches, reset=True, aggregates=data.aggregates))
                unsure = self._lacks_digits() or self._is_ill_conditioned()
                if not sums_suffice or (unsure and data.is_rereadable):
                    self._look_again(EncodedDataset.of_parts(batches, self._engine))
            self._warn_collinear()
            exact = self._as_solution()
            self.solution_ = exact if self._method == "normal" else _with_value(self.solution_, exact.value)
            _ = self.coef_  # raises if the model cannot be estimated from the sums
        return self

    def partial_fit(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Learn from more rows: the result is that of :meth:`fit` to all rows, in any split and order.

        If ``solver`` is a :class:`~suffice.solvers.StochasticGradient` with a ``step``, stochastic gradient descent is
        used instead, from theta = 0: one step for each row, in order; rows in parts are visited part by part. ``+``
        and :meth:`forget` then raise.
        """
        first = "_memory" not in vars(self)
        steps = self.solver if isinstance(self.solver, StochasticGradient) and self.solver.step else None
        if not first and steps is None:
            self._check_unassigned("what is learned from more rows")
        before = None if first or steps is None else np.array(self.theta_)
        with self._learning(anew=first):
            data = as_dataset(X, y=y, sample_weight=sample_weight)
            if steps is not None and data.in_memory is None:
                partitioned.learn_in_order(self, data, _learn_part)
                return self
            batches = self._encode(data, reset=first)
            more, observations = self._sum(batches, reset=first, aggregates=data.aggregates)
            pace, trace = self._pace, getattr(getattr(self, "solution_", None), "trace", ())
            self._forget_the_rows()
            if first:
                self._remember(more, observations)
            else:
                self._remember(self._memory + more, _changed(self._observations, observations, Observations.plus))
            if steps is not None:
                self._pace = pace
                self._step_through(batches.in_memory, more, steps, before, () if before is None else trace)
        return self

    def _step_through(
        self,
        rows: Batch,
        sums: NormalEquations,
        steps: StochasticGradient,
        before: FloatArray | None,
        trace: tuple[Step, ...],
    ) -> None:
        """Make a stochastic gradient step for each row of a batch, in order, and add a line to the trace."""
        shape = rows.features + int(self.fit_intercept), self._memory.targets
        theta = np.zeros(shape) if before is None else before
        pace = self._pace or Pace(float(steps.step or 0.0), steps.decay or 0.0, steps.power, steps.batch_rows)
        found = []
        for place in range(self._memory.targets):
            likelihood = self._likelihood(EncodedDataset.of_batch(_of_target(place, rows), self._engine), place, sums)
            likelihood = replace(likelihood, l2=likelihood.l2 * likelihood.weight / self._memory.weight)
            found.append(likelihood.epoch(np.array(theta[:, [place]]), None, pace))
            if not found[-1].finite:
                raise diverged(pace.step, "in this batch", 0.0, np.nan, likelihood.weight, pace.step / 16)
        self._found = np.concatenate([descent.theta for descent in found], axis=1)
        self._pace = replace(pace, first=pace.first + found[0].steps)
        value = -sum(descent.log_likelihood for descent in found)
        number = trace[-1].number + 1 if trace else 1
        last = float(pace.size(max(self._pace.first - 1, 0)))
        line = Step(float(number), value, float("nan"), 0.0, self._found.copy(), number, last)
        reason = "partial_fit makes one step for each row: theta is near the optimum, not at it"
        gradient = np.full_like(self._found, np.nan)
        steps_made = thin_trace((*trace, line))
        self.solution_ = Solution(self._found, value, gradient, False, reason, steps_made, weight=likelihood.weight)
        self._unread()

    def _check_sums(self, what: str) -> None:
        """Raise if theta is not computed from the sums."""
        self._check_unassigned(what)
        if self._found is not None and (
            isinstance(self._params.solver, StochasticGradient) or self._params.solver == "stochastic"
        ):
            raise ValueError(
                f"theta was computed from the rows by solver={self._params.solver!r}, not from the sums: {what} is "
                "unknown; fit with solver='normal', or use with_params(solver='normal') first"
            )

    def forget(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Subtract rows: the result is that of :meth:`fit` to the other rows, exact to rounding, or refused.

        The sums carry a bound of their rounding error: coefficients are right to a millionth of themselves or of their
        standard errors.

        Raises
        ------
        NegativeEvidenceError
            If it can be detected that rows were never learned. The model is unchanged then.
        LostDigitsError
            If rounding would leave too few digits of what remains, such as without a row far from all others. The
            model is unchanged then: fit the remaining rows.
        """
        self._check_fitted()
        self._check_sums("what is left without some rows")
        with self._learning(anew=False):
            data = as_dataset(X, y=y, sample_weight=sample_weight)
            batches = self._encode(data, reset=False)
            gone, observations = self._sum(batches, reset=False, aggregates=data.aggregates)
            left = self._memory - gone
            self._forget_the_rows()
            self._remember(left, _changed(self._observations, observations, Observations.minus))
            if left.weight > 0:
                self._check_read()  # raises if too few digits are left
        return self

    def __add__(self, other: Any) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        for model in (self, other):
            if "_memory" not in vars(model):  # a model without rows adds nothing
                model._check_fitted()
        mine, theirs = parameters.feature_names(self), parameters.feature_names(other)
        if mine is not None and theirs is not None and mine != theirs:
            raise ValueError(f"models of different features cannot be added: {mine} and {theirs}")
        if self._params.weights != other._params.weights:
            raise ValueError(
                f"models with weights={self._params.weights!r} and weights={other._params.weights!r} cannot be added: "
                "their weights have different meanings; fit both with the same weights="
            )
        for model in (self, other):
            model._check_sums("the model of both")
        merged = copy.copy(self)
        with merged._learning(anew=False):
            merged._forget_the_rows()
            observations = _changed(self._observations, other._observations, Observations.plus)
            merged._remember(self._memory + other._memory, observations)
        return merged

    def __radd__(self, other: Any) -> Self:
        """Let ``sum(models)`` start from its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented


def _of_target(place: int, rows: Batch, _: Engine | None = None) -> Batch:
    y = to_host(rows.y)
    return replace(rows, y=np.ascontiguousarray(y.reshape(len(y), -1)[:, place]))


def _join_targets(found: list[Solution]) -> Solution:
    """Return the solution of all targets, each found by itself; a step of the trace is that of each of them."""
    if len(found) == 1:
        return found[0]
    slowest = max(found, key=lambda solution: (not solution.converged, solution.n_steps))
    longest = max(found, key=lambda solution: solution.n_steps).trace
    trace = []
    for step in longest:
        # Long traces drop some steps, and a target may have had fewer.
        each = [max((s for s in one.trace if s.number <= step.number), key=lambda s: s.number) for one in found]
        thetas = [one.theta for one in each if one.theta is not None]
        whole = np.concatenate(thetas, axis=1) if len(thetas) == len(found) else None
        value, norm = sum(one.value for one in each), float(np.max([one.gradient_norm for one in each]))
        trace.append(step._replace(value=value, gradient_norm=norm, theta=whole))
    theta, gradient = (np.concatenate([getattr(one, name) for one in found], axis=1) for name in ("theta", "gradient"))
    value = sum(one.value for one in found)
    return replace(slowest, theta=theta, gradient=gradient, value=value, trace=thin_trace(trace))


def _with_value(solution: Solution, value: float) -> Solution:
    """Return a solution with a value that was computed with more digits; the trace ends there."""
    more = value - solution.value
    trace = tuple(step._replace(value=step.value + more) for step in solution.trace)
    return replace(solution, value=value, trace=trace)


def _residuals(theta: FloatArray, intercept: bool, rows: Batch, engine: Engine) -> Batch:
    """Return rows with residuals as targets."""
    predicted = predictors_of(theta, intercept, rows, engine)
    return replace(rows, y=beside(rows.x, to_host(rows.y).reshape(predicted.shape) - predicted))


def _encode_part(model: LeastSquaresModel, piece: Piece) -> Batch:
    with validation.one_of_many():
        return model._rows(piece["X"], piece.get("y"), piece.get("sample_weight"), piece.get("groups"))


def _learn_part(model: StreamedLeastSquares, piece: Piece) -> StreamedLeastSquares:
    return copy.copy(model).partial_fit(piece["X"], piece["y"], piece.get("sample_weight"))


class Summed(NamedTuple):
    """The sums of rows, and whether y had shape (n,)."""

    equations: NormalEquations
    one_target: bool
    observations: Observations | None

    def plus(self, other: Summed) -> Summed:
        """Return the sums of both."""
        observations = _changed(self.observations, other.observations, Observations.plus)
        return Summed(self.equations + other.equations, self.one_target, observations)


def _sum_part(engine: Callable[[Batch], Engine], rows: Batch) -> Summed:
    return sum_rows(engine(rows), rows)


def sum_rows(engine: Engine, rows: Batch) -> Summed:
    """Return the sums of rows."""
    equations = engine.accumulate(NormalEquations.over(), rows)
    return Summed(equations, rows.y.ndim == 1, Observations.of(rows.weight, rows.rows))


def _changed(
    one: Observations | None, two: Observations | None, change: Callable[[Observations, Observations], Observations]
) -> Observations | None:
    """Return the sum or difference of two counts of rows, where both are known."""
    return None if one is None or two is None else change(one, two)


def _squares(model: LeastSquaresModel, mean: FloatArray, piece: Piece) -> FloatArray:
    """Return the sums of squares of residuals and about the mean of each target, and the total weight, (2 t + 1,)."""
    weights = partitioned.part_weights(piece)
    targets = validation.numbers(piece["y"], len(weights), several=True).reshape(len(weights), -1)
    predicted = np.asarray(model.predict(piece["X"])).reshape(targets.shape)
    return np.concatenate([weights @ (targets - predicted) ** 2, weights @ (targets - mean) ** 2, [weights.sum()]])


class Observations(NamedTuple):
    """Number of rows of weight above 0: the observations, unless weights are frequencies."""

    rows: float
    log_weight: float  # the sum of the logs of the weights

    @classmethod
    def of(cls, weight: FloatArray | None, rows: int) -> Observations:
        """Return the observations of rows with these weights."""
        if weight is None:
            return cls(float(rows), 0.0)
        there = weight[weight > 0]
        return cls(float(len(there)), float(np.log(there).sum()))

    def plus(self, other: Observations) -> Observations:
        """Return the sum of both."""
        return Observations(self.rows + other.rows, self.log_weight + other.log_weight)

    def minus(self, other: Observations) -> Observations:
        """Return the difference."""
        return Observations(self.rows - other.rows, self.log_weight - other.log_weight)
