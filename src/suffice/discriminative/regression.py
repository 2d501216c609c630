"""The base class of generalised linear models: validation, estimation, partial_fit, inference and the model file."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import special
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from suffice import monitoring, partitioned, validation
from suffice.data import Dataset, EncodedDataset, as_dataset
from suffice.data.dataset import Piece, engine_for_parts, model_for_parts, no_rows
from suffice.discriminative.base import (
    LinearPredictor,
    check_groups,
    check_inference_settings,
    check_tolerance,
    covariance_kind,
    dependence,
    solvers_read,
    solvers_written,
    warn_of_collinearity,
    warn_unless_converged,
    weights_as_trials,
)
from suffice.discriminative.diagnostics import Diagnostics, FittedModel, diagnose, with_rows_without_weight
from suffice.discriminative.encoding import EncodedPart, Seen, drop_rows_without_weight, holds_means, weight_factors
from suffice.discriminative.facts import Facts, estimates_dispersion, facts_of
from suffice.discriminative.firth import firth
from suffice.discriminative.fit_rows import rows_of_fit
from suffice.discriminative.inference import (
    PSEUDO_LIKELIHOOD,
    Inference,
    note_on_fractions,
    note_on_ridge,
    notes_on_rows,
)
from suffice.discriminative.intervals import critical_value
from suffice.discriminative.layout import Layout, lay_out
from suffice.discriminative.objective import NegativeLogLikelihood, column_products, predictors_of
from suffice.discriminative.path import Path, PenaltyNames, solve_path
from suffice.discriminative.penalties import RIDGE, Penalties
from suffice.discriminative.profile import profile_intervals
from suffice.discriminative.regression_fit import count_identified, null_theta, regression_contents
from suffice.discriminative.robust import RobustFacts, read_robust_facts, robust_covariance
from suffice.discriminative.row_sample import RowSample, UpdateObjective
from suffice.discriminative.separation import (
    Separation,
    SeparationWarning,
    find_separation,
    separable_rows,
)
from suffice.discriminative.theta_covariance import ThetaCovariance, null_outward, with_gaps
from suffice.families import Response
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.descent import Pace
from suffice.kernels.engine import engine_for
from suffice.kernels.inputs import check_host_memory
from suffice.kernels.libraries import beside, is_foreign, is_sparse
from suffice.solvers import CoordinateDescent, Newton, Solution, Step, StochasticGradient
from suffice.solvers.auto import solver_of
from suffice.solvers.base import MANY, thin_trace
from suffice.solvers.gradient import diverged
from suffice.solvers.linear_algebra import Symmetric, dependencies, flat, shaped
from suffice.solvers.stochastic import choose_pace
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, check_shapes, parameters
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, RandomState, SolverLike, VectorLike

#: The arguments of ``fit`` with an entry for each row, in its order.
COLUMNS = ("X", "y", "sample_weight", "offset", "exposure", "trials", "groups")
#: With inference="auto", the information is computed if rows times parameters squared is at most this.
DEAR = 2e10
#: A Newton step at the optimum that is a larger share of theta than this is a sign of separation.
SETTLED = 1e-3
#: Tolerance of updates in partial_fit: theta is refitted to a sample before their errors accumulate.
ABOUT = 1e-6
#: A mean is at the end of its range if it is nearer to it than this share of the mean of y.
AT_THE_END = 1e-9
#: A solution that has not converged is discarded if a predictor is beyond this: its exponential overflows.
FARTHEST = 700.0
#: A refit to the sample starts from the last theta only if no predictor was beyond this.
PLATEAU = 12.0


class Regression(LinearPredictor):
    """A model of p(y | x): y has a distribution of an exponential family, and the link of its mean is theta' [1, x].

    A fit, :meth:`fit`, encodes the rows (:meth:`_encode`), minimises minus the log-likelihood (:meth:`_estimate`) and
    reports on the result (:meth:`_report`).
    """

    #: Whether theta has a column for every class if there is a penalty, instead of one less.
    _treats_classes_alike: ClassVar[bool] = False
    #: Whether targets are codes of classes, and need no check.
    _has_classes: ClassVar[bool] = False

    solver: SolverLike
    tol: float
    max_iter: int
    warm_start: bool
    inference: bool | str
    random_state: RandomState
    n_iter_: Any
    weights: str
    dispersion: str | float
    covariance: str
    lags: int | None
    solution_: Solution
    bias_reduction: bool = False  #: Firth's; a parameter of classifiers
    separation_: Separation | None  #: a direction of separation, if there is one
    facts_: Facts
    dispersion_: float
    _layout: Layout
    _information: FloatArray | None  # the Hessian at the optimum, in the coordinates of _layout
    _covariance: ThetaCovariance | None  # of theta; computed from the information at first use
    _robust_facts: RobustFacts | None = None  # what a robust covariance is based on
    _null: FloatArray | None = None  # (k, p), directions of theta that change no row of the fit, if there are any
    _notes: list[str]
    _seen: float = 0.0  # the total weight of the rows learned
    # The state of partial_fit.
    _pace: Pace | None = None  # the step size of the next batch, of the stochastic rule
    _sample: RowSample | None = None  # a uniform sample of all rows learned
    _curvature: FloatArray | None = None  # (q, q), the Hessian of the objective of all rows learned, if known
    _warm: bool = False  # whether the next fit to the sample starts from theta

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        solver: SolverLike = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        warm_start: bool = False,
        inference: bool | str = "auto",
        weights: str = "frequency",
        dispersion: str | float = "family",
        covariance: str = "classical",
        lags: int | None = None,
        random_state: RandomState = 0,
        verbose: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.inference = inference
        self.weights = weights
        self.dispersion = dispersion
        self.covariance = covariance
        self.lags = lags
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.device = device

    def _check_settings(self) -> None:
        """Raise for an invalid parameter, before any row is read."""
        self._check_penalties()
        check_tolerance(self)
        if not (isinstance(self.max_iter, int | np.integer) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a whole number, 1 or more; got {self.max_iter!r}")
        if self.inference not in (True, False, "auto"):
            raise ValueError(f"inference must be True, False or 'auto'; got {self.inference!r}")
        check_inference_settings(self)
        solver_of(self.solver, self.tol, self.max_iter, False, None)
        if self._sets_zeros:
            self._check_solver_of_l1(self._penalty_named())

    def _check_solver_of_l1(self, what: str) -> None:
        if self.solver not in ("auto", "newton", "saga"):
            raise ValueError(f"{what} needs solver='auto' or 'newton'; got solver={self.solver!r}")

    # Hooks of subclasses.

    @abstractmethod
    def _penalties(self, weight: float) -> Penalties:
        """Return the penalties beside the log-likelihood of rows of this total weight."""

    @abstractmethod
    def _check_penalties(self) -> None:
        """Raise if a parameter of the penalties is invalid."""

    @abstractmethod
    def _penalty_named(self) -> str:
        """Return the penalty as the parameters state it, for messages."""

    @abstractmethod
    def _response(self) -> Response:
        """Return the family and link."""

    _fixed_parameters: ClassVar[tuple[str, ...]] = ("fit_intercept",)

    def _fitted_theta(self) -> FloatArray:
        return self.solution_.theta

    @abstractmethod
    def _parameter_names(self) -> list[str]:
        """Return the name of each parameter, theta read column by column."""

    def _moving(self) -> npt.NDArray[np.bool_]:
        """Return which parameters, theta read column by column, were estimated."""
        return np.ones(self.solution_.theta.size, dtype=bool)

    @abstractmethod
    def _targets(self, y: Any, rows: int, reset: bool) -> tuple[Any, int]:
        """Return the encoded y, and the number of classes or parts (1 for plain numbers).

        Classes and parts are stored (reset), or compared with those stored.
        """

    # Learning.

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        offset: VectorLike = None,
        exposure: VectorLike = None,
        trials: VectorLike = None,
        groups: VectorLike = None,
    ) -> Self:
        """Fit the model to rows and their targets.

        Parameters
        ----------
        X
            Rows, (n, d): NumPy, a data frame, CSR, an array of torch, CuPy or JAX; a Dask collection or Spark data
            frame, which is summed on its workers for every pass; a path, a URL or a list of paths of files, which are
            read for every pass; or a function that returns an iterator of batches (X, y), (X, y, sample_weight) or
            {"X": X, "y": y, ...}, which is called for every pass. An iterator of batches is stored in a temporary file
            if it does not fit into memory.
        y
            The target of each row; None if batches have them. For data frames in a stream or on a cluster, this and
            the following arguments may be names of columns; for files and Spark they must be.
        sample_weight
            The weight of each row, 1 by default; the parameter ``weights`` gives its meaning. If y holds shares between
            0 and 1 (bernoulli) or rates (Poisson; numbers that are not whole), frequency weights are the trials or the
            exposures.
        offset
            A known part of each row's linear predictor, (n,).
        exposure
            The exposure of each row, (n,), whose log is an offset; needs a log link.
        trials
            The number of trials of each row, (n,), for y of successes (bernoulli only). The trials of a row are one
            observation: degrees of freedom count it once, and robust covariances sum its scores first.
        groups
            The cluster of each row, (n,), a number or a string, for ``covariance="clustered"``.

        Returns
        -------
        self
        """
        with self._learning(anew=True):
            rows = {"y": y, "sample_weight": sample_weight, "offset": offset, "exposure": exposure, "trials": trials}
            data, targets = self._encode(X, **rows, groups=groups)
            try:
                self._estimate(data, targets)
            finally:
                data.release()
        return self

    def objective(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike = None) -> NegativeLogLikelihood:
        """Return what :meth:`fit` minimises over these rows, as a function of theta: J, to evaluate or to minimise.

        Parameters
        ----------
        X, y, sample_weight
            Rows in memory, as for :meth:`fit`. They need not be those of the fit.

        Returns
        -------
        NegativeLogLikelihood
            ``value_gradient(theta)`` and ``value_gradient_hessian(theta)`` are J and its derivatives at theta, (p, t),
            without terms that do not depend on theta. A solver minimises it: ``Newton().minimise(objective, start)``.

        Examples
        --------
        >>> from suffice import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
        >>> model = LogisticRegression().fit(X, y)
        >>> value, gradient = model.objective(X, y).value_gradient(np.zeros((2, 1)))
        >>> round(value, 4), gradient[1, 0]  # 4 log 2; the sum of (h(x) - y) x
        (2.7726, np.float64(-1.0))
        """
        self._check_fitted()
        copied = copy.copy(self).set_params(**self._params.get_params(deep=False))
        if copied._sets_zeros or copied.bias_reduction:
            what = "bias_reduction" if copied.bias_reduction else copied._penalty_named()
            raise ValueError(f"the objective of a fit with {what} is not a likelihood with a ridge alone: leave it out")
        copied._check_family("objective")
        rows, targets = copied._rows(X, y, sample_weight, None, None, None, reset=False)
        return copied._likelihood(EncodedDataset.of_batch(rows, copied._engine), targets)

    def _estimate(self, data: EncodedDataset, targets: int) -> None:
        """Estimate theta, and report on the fit."""
        self._forget_facts()
        likelihood = self._likelihood(data, targets)
        check_host_memory((data.n_rows, data.n_features), "theta, its gradient and coef_", 4, *likelihood.shape)
        laid = data
        try:
            is_plain = not (self.is_penalised() or self.bias_reduction)
            laid, layout = lay_out(data, self.fit_intercept, mix=is_plain)
            objective = likelihood if laid is data else self._likelihood(laid, targets)
            if objective.symmetric and (kind := covariance_kind(self.covariance, self.weights)) != "classical":
                raise ValueError(
                    f"covariance={kind!r} of more than two classes with a penalty is not available: use "
                    "'classical', C=np.inf, or SoftmaxRegression"
                )
            start = self._start(objective, targets, layout)
            objective, start = self._estimate_family(objective, start)
            solution, penalty = self._solve(objective, start, self._wants_information(objective))
            self._report(objective, layout, solution, penalty)
        except ValueError:
            with validation.naming_cells():
                # The solver may have read a sample, or fewer columns: name the cell of X as it was given.
                likelihood.value_gradient(np.zeros(likelihood.shape))
                raise
        finally:
            if laid is not data:
                laid.release()

    def _forget_facts(self) -> None:
        """Drop the report of a fit, which is unknown after partial_fit."""
        for name in ("facts_", "dispersion_"):
            self.__dict__.pop(name, None)
        self._information = self._covariance = self.separation_ = self._robust_facts = self._null = None
        self._notes = []

    def _likelihood(
        self, data: EncodedDataset, targets: int, penalties: Penalties | None = None
    ) -> NegativeLogLikelihood:
        """Return the objective: minus the log-likelihood of the rows, and the ridge; by default that of the model."""
        response = self._response()
        l1, l2 = self._penalties(data.weight) if penalties is None else penalties
        alike = self._treats_classes_alike and (l2 > 0 or l1 > 0) and targets > 2
        predictors = response.predictors(targets) + alike
        free = None
        if response.family.name == "beta":  # the precision is the same for all rows
            free = np.ones((data.n_features + self.fit_intercept, 2))
            free[int(self.fit_intercept) :, 1] = 0.0
        return NegativeLogLikelihood(data, response, self.fit_intercept, l2, alike, free, predictors)

    def _check_family(self, what: str) -> None:
        """Raise if the family has a parameter that a method does not estimate."""

    def _estimate_family(
        self, likelihood: NegativeLogLikelihood, start: FloatArray
    ) -> tuple[NegativeLogLikelihood, FloatArray]:
        """Return the objective, whose family has no unknown parameter, and the initial theta."""
        return likelihood, start

    def _wants_information(self, likelihood: NegativeLogLikelihood) -> bool:
        """Whether the Hessian at the optimum is computed, for standard errors."""
        if self.inference != "auto":
            return bool(self.inference)
        size = math.prod(likelihood.shape)
        return size <= MANY and likelihood.n_rows * float(size) ** 2 <= DEAR

    def _start(self, likelihood: NegativeLogLikelihood, targets: int, layout: Layout) -> FloatArray:
        """Return the initial theta: that of the null model; or the last, on a warm start."""
        shape = likelihood.shape
        if self.warm_start and self.__sklearn_is_fitted__():
            before = self._pinned_theta(shape[1])
            if before.shape == (self.n_features_in_ + int(self.fit_intercept), shape[1]):
                return layout.inward(before)
        return null_theta(likelihood, targets)

    def _pinned_theta(self, predictors: int) -> FloatArray:
        """Return theta with this number of columns, as in the objective."""
        return self.theta_

    def _solve(self, likelihood: NegativeLogLikelihood, start: FloatArray, hessian: bool) -> tuple[Solution, float]:
        """Return the minimum of the objective, and the penalty that its value includes."""
        if self.bias_reduction:
            data = likelihood.data.transform(_with_targets_on_host)
            solution = firth(data, start, self.fit_intercept, self.tol, self.max_iter)
            return solution, solution.value - likelihood.value_gradient(solution.theta).value
        l1, l2 = self._penalties(likelihood.weight)
        if l1 > 0:
            strength = np.full(start.shape, l1)
            strength[: int(self.fit_intercept)] = 0.0
            solution = CoordinateDescent(strength, self.tol, self.max_iter).minimise(likelihood, start)
        else:
            solver = solver_of(self.solver, self.tol, self.max_iter, hessian, self.random_state)
            solution = solver.minimise(likelihood, start)
            if hessian and solution.hessian is None:
                solution = replace(solution, hessian=likelihood.value_gradient_hessian(solution.theta).hessian)
        coef = solution.theta[int(self.fit_intercept) :]
        return solution, float(l2 / 2 * (coef * coef).sum() + l1 * np.abs(coef).sum())

    def _report(self, likelihood: NegativeLogLikelihood, layout: Layout, solution: Solution, penalty: float) -> None:
        """Set the fitted attributes; warn of missing convergence, collinearity and separation."""
        if not np.isfinite(solution.value):
            raise ValueError(
                f"{type(self).__name__} found no theta with finite likelihood ({likelihood.response.name}): "
                "give fit_intercept=True, another link, or standardise X"
            )
        theta, self._layout, self._information = solution.theta, layout, solution.hessian
        l1, l2 = self._penalties(likelihood.weight)
        factored = None if solution.hessian is None or l1 > 0 else Symmetric.of(solution.hessian)
        if factored is not None and factored.rank < theta.size and l2 == 0:
            self._warn_collinear(likelihood)
        rank = count_identified(likelihood, theta, factored, is_sparse=l1 > 0)
        self._robust_facts = None
        self.facts_ = facts_of(likelihood, theta, penalty - solution.value, rank, self.weights, self.dispersion)
        self.dispersion_ = self.facts_.dispersion
        self._covariance = None
        kind = covariance_kind(self.covariance, self.weights)
        if factored is not None and self._information is not None and kind != "classical":
            found = robust_covariance(
                kind,
                likelihood.data,
                likelihood.response,
                theta,
                self.fit_intercept,
                _of_free_parameters(self._information, likelihood.free),
                self.facts_.rows,
                self.lags,
            )
            self._covariance, self._robust_facts = ThetaCovariance.robust(layout, found, factored.undetermined)
        self.solution_ = layout.solution_outward(solution)
        self._set_steps(max(solution.n_steps, 1))
        warn_unless_converged(self, solution)
        self._find_means_at_the_end(likelihood, theta)
        self._set_theta(self.solution_.theta)
        if likelihood.response.can_separate and not (l1 > 0 or l2 > 0 or self.bias_reduction):
            if factored is None:
                is_far = solution.value < 1e-3 * likelihood.weight  # the saturated model
            else:
                step = shaped(factored.solve(flat(solution.gradient)), theta)
                is_far = not solution.converged or self._changes_predictors(likelihood, theta, step)
            if is_far:
                self._find_separation(likelihood, layout, theta)
        self._seen, self._pace, self._sample, self._warm = likelihood.weight, None, None, False
        self._curvature = solution.hessian if l1 == 0 and layout.is_plain else None

    def _find_means_at_the_end(self, likelihood: NegativeLogLikelihood, theta: FloatArray) -> None:
        """Warn if means are at an end of their range which finite predictors reach, as 0 under the identity.

        There the expected information is infinite: Newton's steps vanish, whether theta is the optimum or not.
        """
        response = likelihood.response
        name, link = response.family.name, response.link.name
        if not (link == "identity" and response.likelihood.positive_targets) and not (
            name == "bernoulli" and link in ("identity", "log")
        ):
            return
        scale = 1.0 if name == "bernoulli" else float(likelihood.target_moments[0])
        count = int(
            likelihood.data.reduce(partial(_count_means_at_the_end, response, theta, self.fit_intercept, scale))
        )
        if count:
            why = (
                f"the means of {count} of {likelihood.n_rows} rows are at an end of their range, so the optimum is on "
                f"the boundary of what link={link!r} allows: the solver may stop short of it, and standard errors do "
                "not hold; give another link"
            )
            self.solution_ = replace(self.solution_, converged=False, reason=why)
            self._notes.append(why)
            warn_user(f"{type(self).__name__} did not converge: {why}", ConvergenceWarning)

    def _changes_predictors(self, likelihood: NegativeLogLikelihood, theta: FloatArray, step: FloatArray) -> bool:
        """Whether one more Newton step would change a coefficient, and the linear predictor of some row.

        A coefficient that is 0 to rounding changes by any factor; where rows are separated, a step changes their
        predictors by about 1.
        """
        if not (np.abs(step) > SETTLED * np.abs(theta)).any():
            return False
        rows = replace(likelihood.data.some_rows, offset=None)
        change = predictors_of(step, self.fit_intercept, rows, likelihood.data.engine_for_some_rows)
        return bool(np.abs(change).max(initial=0.0) > SETTLED)

    @property
    def _sets_zeros(self) -> bool:
        """Whether an l1 penalty sets coefficients to zero."""
        return self._penalties(1.0).l1 > 0

    def _set_steps(self, steps: int) -> None:
        """Set ``n_iter_``."""
        self.n_iter_ = steps

    def _find_separation(self, likelihood: NegativeLogLikelihood, layout: Layout, theta: FloatArray) -> None:
        """Search for a direction that separates the classes, or zero counts from others; warn if there is one."""
        rows = likelihood.data.some_rows  # a direction that separates all rows separates these
        found = find_separation(
            likelihood.data.engine_for_some_rows,
            separable_rows(likelihood.response, rows),
            theta.shape[1] + 1,
            theta,
            self.fit_intercept,
            layout.select(self._names()),
            counts=likelihood.response.likelihood.positive_targets,
        )
        if found is None:
            return
        if rows.rows == likelihood.data.n_rows:
            self.separation_ = found
            words = found.message(RIDGE[self._penalty_scale], firth=self._has_classes)
            why = f"the {found.of} are separated: the likelihood has no maximum"
        else:
            why = words = (
                f"the next Newton step is still large, and a sample of {rows.rows} of the {likelihood.data.n_rows} "
                f"rows is separated: so are all rows, or nearly; {RIDGE[self._penalty_scale]}"
            )
        self.solution_ = replace(self.solution_, converged=False, reason=why)
        self._notes.append(words)
        warn_user(f"{type(self).__name__}: {words}", SeparationWarning)

    def _warn_collinear(self, likelihood: NegativeLogLikelihood) -> None:
        """Warn of collinear columns, if the information is singular.

        The columns are tested by their products: the information is also singular if means are at an end of their
        range.
        """
        names = self._layout.select(self._names())
        products = column_products(likelihood.data, likelihood.intercept)
        found = dependencies(products)
        if not found:
            self._notes.append(
                "the information matrix is singular, though no columns are collinear: some means are at an end of "
                "their range, and some standard errors are unknown"
            )
        sentences = [dependence(names[column], [names[other] for other in others]) for column, others in found]
        if sentences:
            self._notes.append(f"dependent columns: {'; '.join(sentences)}")
            warn_of_collinearity(self, sentences)
            self._null = null_outward(self._layout, products)

    # Encoding.

    def _rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        offset: Any,
        exposure: Any,
        trials: Any,
        groups: Any = None,
        *,
        reset: bool,
    ) -> tuple[Batch, int]:
        """Return validated rows as a batch, and the number of classes or parts of y (1 for plain numbers)."""
        x = validation.features(self, X, reset)
        count = x.shape[0]
        y = validation.beside_rows(x, y)
        often = validation.weights(sample_weight, count)
        targets, levels = self._targets(y, count, reset)
        known = None if offset is None and exposure is None else self._offset(offset, exposure, count)
        weight = self._weights(targets, often)
        times = None if weight is often else weight_factors(weight, often)
        if trials is not None:
            targets, times = self._proportions(to_host(targets), trials, count)
            weight = times if weight is None else weight * times
        if groups is not None:
            groups = validation.groups(groups, count)
        response = self._response()
        if (levels == 1 and not self._has_classes) or response.vector_targets:
            response.check_targets(targets)
        rows = Batch(x, targets, weight, known, trials=times, groups=groups)
        if weight is not None:
            rows = drop_rows_without_weight(rows)
            rows = weights_as_trials(rows) if self._weighs_observations(response, rows) else rows
        return rows, levels

    def _weighs_observations(self, response: Response, rows: Batch) -> bool:
        """Whether the weight of a row is not a frequency: the row is one observation."""
        return rows.weight is not None and (self.weights != "frequency" or holds_means(response, rows))

    def _encode(self, X: Any, **columns: Any) -> tuple[EncodedDataset, int]:
        """Return all rows as batches, cached between passes, and the number of classes or parts of y."""
        data = as_dataset(X, **columns)
        part = data.in_memory
        if part is not None:  # it has all classes
            check_groups(self.covariance, part.get("groups"))
            batch, levels = self._rows(**{name: part.get(name) for name in COLUMNS}, reset=True)
            return EncodedDataset.of_batch(batch, self._engine), levels
        validation.features(self, data.example(), reset=True)
        encoded = data.map_parts(partial(_encode_part, model_for_parts(self, data), self._reads_classes()))
        seen: Seen | None
        kept, seen = encoded.persist(Seen.of, Seen.plus)
        if seen is None:
            raise no_rows()
        try:
            _, levels = self._targets(seen.example, len(seen.example), reset=True)
            recode = partial(_recode_part, model_for_parts(self._settled(seen), data), seen.trials)
            sample = recode(EncodedPart(seen.summary.batch(), seen.labels))
            total = seen.summary.weight if seen.labels is None else float(np.sum(self._settled_weights(seen)))
            validation.check_weight(total)
            monitoring.report(1.0, seen.summary.rows, math.nan)
        except BaseException:
            kept.release()
            raise
        engine = engine_for_parts(data, self._engine)
        rows, features = seen.summary.rows, seen.summary.features
        return EncodedDataset(kept.map_parts(recode), engine, rows, features, total, sample), levels

    def _reads_classes(self) -> bool:
        return self._response().family.name == "multinomial"

    def _settled(self, seen: Seen) -> Self:
        """Return the model with parameters that depend on all rows resolved, such as balanced class weights."""
        return self

    def _settled_weights(self, seen: Seen) -> FloatArray:
        """Return the total weight of the rows of each class, multiplied by the class weight."""
        weight = self._settled(seen)._weights(np.arange(len(seen.weights)), seen.weights)
        assert weight is not None
        return weight

    def _weights(self, targets: Any, weight: FloatArray | None) -> FloatArray | None:
        """Return the weights of rows; a classifier multiplies them by those of their classes."""
        return weight

    def _offset(self, offset: Any, exposure: Any, count: int) -> FloatArray | None:
        """Return the offset of each row, (n,), with the log of its exposure added."""
        known = validation.per_row("offset", offset, count)
        if exposure is None:
            return known
        if self._response().link.name != "log":
            raise ValueError(
                f"exposure needs a log link, under which its log is an offset; this is {self._response().name}: give "
                "an offset"
            )
        times = validation.per_row("exposure", exposure, count)
        assert times is not None
        bad = np.flatnonzero(times <= 0)
        if bad.size:
            raise ValueError(f"exposure[{bad[0]}] is {times[bad[0]]:g}; it must be above 0")
        return np.log(times) if known is None else known + np.log(times)

    def _proportions(self, successes: FloatArray, trials: Any, count: int) -> tuple[FloatArray, FloatArray]:
        """Return the proportions of successes, and the trials."""
        if self._response().family.name != "bernoulli":
            raise ValueError(f"trials need the bernoulli family; this is {self._response().family.name}")
        if self._reads_classes():
            name = type(self).__name__
            raise ValueError(f"trials need counts of successes, but y of {name} holds classes: use GLM('binomial')")
        times = validation.per_row("trials", trials, count)
        assert times is not None
        bad = np.flatnonzero((times <= 0) | (successes > times) | (successes < 0))
        if bad.size:
            row = int(bad[0])
            raise ValueError(
                f"y[{row}] is {successes[row]:g} of trials[{row}] = {times[row]:g}: successes must be between 0 and "
                "the trials, which must be above 0"
            )
        return successes / times, times

    # partial_fit, and paths of penalties.

    def _learn_batches(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any, trials: Any) -> Self:
        """Learn from rows in one pass, part by part in order."""
        self._check_family("partial_fit")
        first = not self.__sklearn_is_fitted__()
        with self._learning(anew=first):
            data = as_dataset(X, y=y, sample_weight=sample_weight, offset=offset, exposure=exposure, trials=trials)
            part = data.in_memory
            if part is not None:
                names = ("X", "y", "sample_weight", "offset", "exposure", "trials")
                return self._learn_batch(*(part.get(name) for name in names))
            if first:
                self._announce(data)
            partitioned.learn_in_order(self, data, _learn_part)
        return self

    def _announce(self, data: Dataset) -> None:
        """Read all parts for what the first may lack: the classes of a classifier."""

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any, trials: Any) -> Self:
        """Learn from a batch of rows."""
        first = not self.__sklearn_is_fitted__()
        rows, targets = self._rows(X, y, sample_weight, offset, exposure, trials, reset=first)
        rows = replace(rows, y=to_host(rows.y)) if is_foreign(rows.y) else rows
        likelihood = self._likelihood(EncodedDataset.of_batch(rows, self._engine), targets)
        seen = (0.0 if first else self._seen) + likelihood.weight
        with validation.naming_cells():
            if self._steps is not None or not (first or self._sample is not None or self._curvature is not None):
                theta, value = self._descend(likelihood, targets, first, seen)
            else:
                if not first:
                    self._check_unassigned("what is learned from more rows")
                with np.errstate(over="ignore", invalid="ignore"):  # few rows may have no optimum
                    theta, value = self._refit(likelihood, targets, first)
        self._seen = seen
        self._forget_facts()
        trace = self.solution_.trace if not first else ()
        number = trace[-1].number + 1 if trace else 1
        trace = thin_trace((*trace, Step(float(number), value, float("nan"), 0.0, theta.copy(), number)))
        reason = "partial_fit reads each row once: theta is near the optimum, not at it"
        self.solution_ = Solution(theta, value, np.zeros_like(theta), False, reason, trace, weight=likelihood.weight)
        self._set_steps(number)
        self._set_theta(theta)
        return self

    @property
    def _steps(self) -> StochasticGradient | None:
        """The solver, if it is a stochastic gradient with a given step size."""
        solver = self.solver
        return solver if isinstance(solver, StochasticGradient) and solver.step is not None else None

    def _descend(
        self, likelihood: NegativeLogLikelihood, targets: int, first: bool, seen: float
    ) -> tuple[FloatArray, float]:
        """Return theta after a stochastic step for each row, and the sum of the rows' values before their steps."""
        # The penalty is for all rows learned: a batch has its share.
        likelihood = replace(likelihood, l2=self._penalties(seen).l2 * likelihood.weight / seen)
        shape = likelihood.shape
        theta = np.zeros(shape) if first else np.array(self._pinned_theta(shape[1]))
        layout = Layout(shape[0] - int(self.fit_intercept), self.fit_intercept)
        if first and not np.isfinite(likelihood.value_gradient(theta).value):
            theta = self._start(likelihood, targets, layout)
        data = likelihood.data
        if self._steps is None and not is_sparse(data.some_rows.x):  # columns far from zero need short steps
            data, layout = lay_out(data, self.fit_intercept)
            likelihood, theta = replace(likelihood, data=data), layout.inward(theta)
        pace = self._batch_pace(likelihood, theta, seen - likelihood.weight)
        descent = likelihood.epoch(theta, None, pace)
        if not descent.finite:
            raise diverged(pace.step, "in this batch", 0.0, np.nan, likelihood.weight, pace.step / 16)
        # A chosen step size is for this batch only: rows that are predicted well give one too short for others.
        self._pace = None if self._steps is None else replace(pace, first=pace.first + descent.steps)
        self._sample = self._curvature = None
        return layout.outward(descent.theta), -descent.log_likelihood

    def _batch_pace(self, likelihood: NegativeLogLikelihood, theta: FloatArray, before: float) -> Pace:
        """Return the step sizes for a batch: continued from the last batch, as given, or chosen for this batch.

        Rows learned before by ``fit`` count as steps.
        """
        if self._pace is not None:
            return self._pace
        given = self._steps
        if given is not None:
            first = int(before) // given.batch_rows
            return Pace(float(given.step or 0.0), given.decay or 0.0, given.power, given.batch_rows, first)
        settings = StochasticGradient()
        return replace(choose_pace(settings, likelihood, theta), first=int(before) // settings.batch_rows)

    def _refit(self, likelihood: NegativeLogLikelihood, targets: int, first: bool) -> tuple[FloatArray, float]:
        """Return theta after a batch, and the objective of the batch there.

        The objective of earlier rows is approximated by a parabola at their optimum. From time to time theta is
        refitted to the sample of all rows (all of them while they are few), so that it depends little on the order
        of the rows and the size of batches.
        """
        rows = likelihood.data.some_rows
        theta = None
        if not first:
            theta = np.array(self._pinned_theta(likelihood.predictors))
            if self._curvature is not None:
                # The parabola has the penalty of the earlier rows.
                added = self._penalties(self._seen + likelihood.weight).l2 - self._penalties(self._seen).l2
                solution = Newton(max(float(self.tol), ABOUT), 20).minimise(
                    UpdateObjective(replace(likelihood, l2=added), theta, self._curvature), theta
                )
                if np.isfinite(solution.value):
                    theta, self._curvature = solution.theta, solution.hessian
        if first or self._sample is not None:
            self._sample = RowSample.of(rows) if self._sample is None else self._sample.plus(rows)
            if first or self._curvature is None or self._sample.is_due:
                self._sample = self._sample.settled()
                theta = self._sample_theta(self._sample, targets, theta)
        assert theta is not None
        return theta, likelihood.value_gradient(theta).value

    def _sample_theta(self, sample: RowSample, targets: int, theta: FloatArray | None) -> FloatArray:
        """Return theta fitted to the sample of all rows; the current theta if the sample does not reject it."""
        laid, layout = lay_out(EncodedDataset.of_batch(sample.batch, self._engine), self.fit_intercept)
        likelihood = self._likelihood(laid, targets)
        start = self._start(likelihood, targets, layout)
        self._curvature, curvature = None, self._curvature
        if not sample.varies or len(sample.stands_for) <= start.size:
            self._warm = False  # a finite optimum is not certain
            return layout.outward(start)
        if self._warm and theta is not None:
            start = layout.inward(theta)
        wanted = start.size <= MANY and likelihood.n_rows * float(start.size) ** 2 <= DEAR / 100
        model = copy.copy(self)
        if isinstance(self.solver, StochasticGradient) or self.solver == "stochastic":
            model.solver = "auto"
        solution, _ = model._solve(likelihood, start, wanted)
        if not _is_usable(solution, likelihood):
            self._warm = False
            return layout.outward(start) if theta is None else theta
        # Large predictors: classes are separated or lack rows, and the Hessian at theta is nearly 0 for the next fit.
        self._warm = solution.converged and _farthest(solution, likelihood) < PLATEAU
        if not sample.is_whole and curvature is not None and theta is not None and not self._sets_zeros:
            # The theta of all rows is replaced only if it is worse on the sample than sampling error explains.
            size = float(theta.size)
            short = likelihood.value_gradient(layout.inward(theta)).value - solution.value
            if 2 * short / float(sample.stands_for.mean()) <= 2 * (size + 3 * np.sqrt(2 * size)):
                self._curvature = curvature
                return theta
        if wanted and not self._sets_zeros and layout.kept is None and layout.centre is None:
            self._curvature = solution.hessian
        return layout.outward(solution.theta)

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

    def _path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        offset: Any,
        ratio: float,
        penalties: Callable[[float, float], FloatArray],
        names: Callable[[float], PenaltyNames],
    ) -> Path:
        """Return the regularisation path of the elastic net; the model itself is not fitted.

        Parameters
        ----------
        X, y, sample_weight, offset
            Rows, as for :meth:`fit`.
        ratio
            The share of l1.
        penalties
            Given the largest gradient at zero coefficients and the total weight of the rows, returns the penalties.
        names
            Given the total weight, returns the function that names penalties as the model's parameters.
        """
        self._check_family("path")
        model = clone(self)
        model._check_settings()
        model._check_solver_of_l1("path")
        data, targets = model._encode(X, y=y, sample_weight=sample_weight, offset=offset)
        laid, layout = lay_out(data, self.fit_intercept)
        likelihood = model._likelihood(laid, targets, Penalties(l1=1.0))  # with a penalty, classes are symmetric
        start = model._start(likelihood, targets, layout)
        first = int(self.fit_intercept)
        if first:  # the intercepts alone
            free = np.zeros(start.shape)
            free[0] = 1.0
            with monitoring.fitting(type(self).__name__, self.verbose):
                start = Newton(self.tol, self.max_iter).minimise(replace(likelihood, free=free), start).theta
        gradient = likelihood.value_gradient(start).gradient[first:]
        weight = likelihood.weight
        values = penalties(float(np.abs(gradient).max(initial=0.0)), weight)
        moves = np.tile(np.arange(len(start)) >= first, start.shape[1]).astype(np.float64)
        known: list[FloatArray] = []  # the Hessian without the penalty, of the last solution

        def solve(l1: float, l2: float, theta: FloatArray) -> Any:
            hessian = known[0] + np.diag(l2 * moves) if known else None
            strength = np.where(np.arange(len(start)) < first, 0.0, l1)[:, None]
            net = CoordinateDescent(strength, self.tol, self.max_iter)
            solution = net.minimise(replace(likelihood, l2=l2), theta, hessian)
            warn_unless_converged(self, solution)
            if solution.hessian is not None:
                known[:] = [solution.hessian - np.diag(l2 * moves)]
            inner = solution.theta
            penalty = float(np.abs(l1 * inner[first:]).sum() + l2 / 2 * (inner[first:] ** 2).sum())
            coef, intercept = model._linear(layout.outward(inner))
            return coef, intercept, penalty - solution.value, inner

        with monitoring.fitting(type(self).__name__, self.verbose):
            return solve_path(values, ratio, start, solve, names(weight))

    # Inference.

    def _theta_covariance(self) -> ThetaCovariance | None:
        """Return the covariance of theta, if known."""
        if self._covariance is None and self._information is not None and not self._params._sets_zeros:
            self._covariance = ThetaCovariance.classical(self._layout, self._information, self.facts_.dispersion)
        return self._covariance

    def null_directions(self) -> FloatArray | None:
        """Return directions of theta, (k, p), that change no row of the fit; None without any, or if unknown."""
        return self._null

    def _shapes(self) -> int:
        """Return the number of estimated parameters of the family, without the dispersion."""
        return 0

    def _known_covariance(self, what: str) -> ThetaCovariance:
        """Return the covariance of theta; raise if it is unknown."""
        self._check_fitted()
        self._check_unassigned(what)
        covariance = None if not hasattr(self, "facts_") else self._theta_covariance()
        if covariance is None:
            raise ValueError(f"there is no {what}: {'; '.join(self._inference().notes)}")
        if not np.isfinite(covariance.matrix).all():
            why = "; ".join(self._inference().notes) or "the dispersion is unknown"
            raise ValueError(f"there is no {what}: {why}")
        return covariance

    def diagnostics(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        offset: VectorLike = None,
        exposure: VectorLike = None,
        trials: VectorLike = None,
        dfbetas: bool = True,
        terms: Mapping[str, Sequence[str]] | None = None,
        random_state: RandomState = 0,
    ) -> Diagnostics:
        """Return residuals, leverage and influence of each row of the fit, and variance inflation factors.

        As in R, leave-one-out quantities are those of one step from the fit, exact for linear models. Rows in parts are
        read at most three times; the results are in memory.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure, trials
            The rows of the fit, which a model does not keep.
        dfbetas
            Whether the change of each coefficient without each row, (n, p), is computed.
        terms
            The coefficients of each term, for generalised variance inflation factors; one each by default.
        random_state
            The seed of quantile residuals, which are drawn where y is discrete.

        Returns
        -------
        Diagnostics
            It prints as a summary; ``frame()`` has a row for each row.
        """
        self._check_fitted()
        self._check_unassigned("diagnostics")
        response, params = self._response(), self._params
        if self.solution_.theta.shape[1] != 1:
            raise ValueError(f"diagnostics need one linear predictor per row; {response.name} has several")
        if params._sets_zeros:
            raise ValueError(
                "there are no diagnostics under an l1 penalty: refit the columns with coefficients other than 0"
            )
        beside: dict[str, Any] = {"offset": offset, "exposure": exposure, "trials": trials}
        with rows_of_fit(self, "diagnostics", X, y, mix=True, sample_weight=sample_weight, **beside) as rows:
            quasi = response.likelihood.is_discrete and params.dispersion != "family"
            facts = FittedModel.of(self._inference(), not estimates_dispersion(response, params.dispersion), not quasi)
            found = diagnose(
                rows.objective, rows.theta, rows.layout, rows.here.hessian, facts, dfbetas, terms, random_state
            )
        return with_rows_without_weight(found, sample_weight)

    def _profile(self, level: float, X: Any, y: Any, **rows: Any) -> FloatArray:
        return profile_intervals(self, level, X, y, **rows)[self._moving()]

    def _df(self) -> float:
        """Return the degrees of freedom of intervals of means: infinite if the dispersion is known."""
        if self._robust_facts is not None and self._robust_facts.df is not None:
            return self._robust_facts.df
        return self._df_of_dispersion()

    def _df_of_dispersion(self) -> float:
        """Return the degrees of freedom of the dispersion: infinite if it is known."""
        return self.facts_.df_residual if estimates_dispersion(self._response(), self._params.dispersion) else np.inf

    def _predictor_error(self, X: Any, predictors: int) -> Any:
        """Return the standard error of the first linear predictor of each row, (n,), in the library of X."""
        covariance = self._known_covariance("standard error")
        x = validation.features(self, X, reset=False)
        with validation.naming_cells():
            error = covariance.predictor_error(engine_for(self._engine, x), x, predictors)
        return with_gaps(error, covariance.leaves_open(x, 1) | self._not_estimable(x))

    def _share_intervals(self, X: Any, shares: Any, predictors: int, level: float | None) -> Any:
        """Return intervals of shares, (n, k), normal on the logit scale; or the standard errors of the shares."""
        covariance = self._known_covariance("interval")
        p = np.asarray(to_host(shares), dtype=np.float64)
        x = validation.features(self, X, reset=False)
        errors = covariance.share_errors(x, p, predictors)
        errors[covariance.leaves_open(x, predictors) | self._not_estimable(x)] = np.nan
        if level is None:
            return beside(shares, errors * p * (1 - p))
        with np.errstate(divide="ignore"):
            logits, reach = special.logit(p), critical_value(level, self._df()) * errors
        return tuple(beside(shares, special.expit(logits + sign * reach)) for sign in (-1, 1))

    def _inference(self) -> Inference:
        if not hasattr(self, "facts_"):
            raise ValueError("partial_fit does not keep the information matrix for standard errors: use fit")
        known = self._theta_covariance()
        covariance = None if known is None else known.outward()
        notes = list(self._notes)
        response, params = self._response(), self._params
        kind = covariance_kind(params.covariance, params.weights)
        notes += params._notes_on_penalties(kind)
        if covariance is None and not params._sets_zeros:
            notes.append("standard errors were not computed, as they are expensive here: give inference=True")
        dispersed = estimates_dispersion(response, params.dispersion)
        notes += notes_on_rows(self.facts_.rows, self.facts_.rank, dispersed or kind != "classical")
        notes += [PSEUDO_LIKELIHOOD] if params.weights == "sampling" else []
        if self.facts_.fractional and params.dispersion == "family":
            notes.append(note_on_fractions(response.family.name, self.facts_.fractional))
        moving, names = self._moving(), self._parameter_names()
        robust = self._robust_facts or RobustFacts(kind)
        notes += robust.notes(names)
        if covariance is not None:
            covariance = covariance[np.ix_(moving, moving)]
        return Inference(
            title=f"{type(self).__name__} ({response.title})",
            names=tuple(np.array(names)[moving].tolist()),
            estimate=flat(self.solution_.theta)[moving],
            covariance=covariance,
            distribution="t" if dispersed or robust.df is not None else "z",
            df_tests=robust.df,
            df_residual=self.facts_.df_residual,
            rows=self.facts_.rows,
            rank=self.facts_.rank,
            log_likelihood=self.facts_.log_likelihood,
            null_log_likelihood=self.facts_.null_log_likelihood,
            deviance=self.facts_.deviance,
            null_deviance=self.facts_.null_deviance,
            dispersion=self.facts_.dispersion,
            covariance_kind=kind,
            covariance_title=robust.title,
            notes=tuple(notes),
            intercept=bool(params.fit_intercept),
            density=not response.likelihood.is_discrete,
            estimates_dispersion=dispersed,
            least_squares=response.name == "gaussian/identity" and not self._params.is_penalised(),
            shapes=self._shapes(),
        )

    def _notes_on_penalties(self, kind: str) -> list[str]:
        """Return what the penalty does to standard errors and criteria."""
        if self.bias_reduction:
            return [
                "bias_reduction=True: the coefficients are Firth's; log-likelihood and deviance leave out the prior"
            ]
        if self._sets_zeros:
            return [f"{self._penalty_named()}: coefficients set to zero have no standard errors"]
        return [note_on_ridge(self._penalty_named(), kind)] if self.is_penalised() else []

    # The file.

    def _contents(self) -> Contents:
        self._check_fitted()
        self._check_learned("a file")
        arrays = self._progress_arrays()
        if self._null is not None:
            arrays["null"] = self._null
        if self._is_assigned(self.solution_.theta):
            arrays |= {"coef": np.asarray(self.coef_), "intercept": np.asarray(self.intercept_)}
        settings = {
            **self._parameters_written(solvers_written),
            "feature_names": parameters.feature_names(self),
            "notes": list(self._notes),
            "robust": None if self._robust_facts is None else self._robust_facts._asdict(),
            "progress": self._progress(),
            **self._more_settings(),
        }
        facts, covariance = getattr(self, "facts_", None), self._theta_covariance()
        kind, features = type(self).__name__, self.n_features_in_
        return regression_contents(kind, features, self.solution_, facts, covariance, settings, arrays)

    def _theta_columns(self, columns: int) -> tuple[int, int]:
        """Return the smallest and the largest number of columns of theta, given the classes."""
        return columns, columns

    @abstractmethod
    def _more_settings(self) -> dict[str, Any]:
        """Return further settings for the model file."""

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings, arrays = contents.settings, contents.arrays
        model = cls._with_parameters(settings, solvers_read, contents.families)._restore_features(settings)
        model._restore(settings)
        size, columns = model.n_features_in_ + int(model._params.fit_intercept), arrays["theta"].shape[1]
        least, most = model._theta_columns(columns)
        check_shapes(arrays, {"theta": (size, min(max(columns, least), most))})
        coef, intercept = model._shown(arrays["theta"])
        shapes = {"gradient": arrays["theta"].shape, "coef": np.shape(coef), "intercept": np.shape(intercept)}
        check_shapes(arrays, shapes)
        model._resume(settings["progress"], arrays)
        if settings["facts"] is not None:
            model.facts_ = Facts(**settings["facts"])
            model.dispersion_ = model.facts_.dispersion
        model._notes, model._robust_facts = list(settings["notes"]), read_robust_facts(settings.get("robust"))
        model._null = arrays.get("null")
        check_shapes(arrays, {} if model._null is None else {"null": (len(model._null), size)})
        model._layout, model._information = Layout(model.n_features_in_, bool(model._params.fit_intercept)), None
        model._covariance = model.separation_ = None
        if "covariance" in arrays:
            model._covariance = ThetaCovariance.from_arrays(model._layout, arrays)
        about = dict(settings["solution"])
        trace = tuple(Step(*step) for step in about.pop("trace"))
        if "trace_theta" in arrays:
            check_shapes(arrays, {"trace_theta": (len(trace), *arrays["theta"].shape)})
            trace = tuple(step._replace(theta=theta) for step, theta in zip(trace, arrays["trace_theta"], strict=True))
        model.solution_ = Solution(arrays["theta"], gradient=arrays["gradient"], trace=trace, **about)
        model._set_steps(max(model.solution_.n_steps, 1))
        model._set_theta(model.solution_.theta)
        if "coef" in arrays:
            intercept = arrays["intercept"]
            model.coef_, model.intercept_ = arrays["coef"], intercept if intercept.ndim else float(intercept)
        return model

    def _restore(self, settings: Any) -> None:
        """Restore what :meth:`_more_settings` wrote."""


def _of_free_parameters(information: FloatArray, free: FloatArray | None) -> FloatArray:
    """Return the information with zeros for parameters that are fixed, so that they have no variance and no rank."""
    return information if free is None else information * np.outer(free.T.ravel(), free.T.ravel())


def _count_means_at_the_end(
    response: Response, theta: FloatArray, intercept: bool, scale: float, rows: Batch, engine: Engine
) -> int:
    """Return in how many rows of a batch the mean is at an end of its range."""
    mean = np.asarray(response.mean(predictors_of(theta, intercept, rows, engine)))
    left = np.minimum(mean, 1 - mean) if response.family.name == "bernoulli" else mean
    return int((left <= AT_THE_END * scale).sum())


def _with_targets_on_host(rows: Batch, _: Engine) -> Batch:
    return replace(rows, y=to_host(rows.y))


def _encode_part(model: Any, classes: bool, piece: Piece) -> EncodedPart:
    """Return the rows of one part; classes have the codes of the labels in this part."""
    columns = [piece.get(name) for name in COLUMNS]
    check_groups(model.covariance, piece.get("groups"))
    with validation.one_of_many():
        if not classes:
            model = copy.copy(model)
            model._targets(piece["y"], len(piece["y"]), reset=True)
            batch, _ = model._rows(*columns, reset=False)
            return EncodedPart(batch)
        x = validation.features(model, piece["X"], reset=False)
        column = validation.targets(piece["y"], x.shape[0])
        labels, codes = Labels.discover(column)
        weight = validation.weights(piece.get("sample_weight"), x.shape[0])
        offset = validation.per_row("offset", piece.get("offset"), x.shape[0])
        groups = validation.groups(piece.get("groups"), x.shape[0])
        rows = drop_rows_without_weight(Batch(x, codes, weight, offset, groups=groups))
        return EncodedPart(rows, labels, column[:0])


def _recode_part(model: Any, trials: bool, part: EncodedPart) -> Batch:
    """Return the rows of one part with the codes of all classes; ``trials``: whether targets are means of trials."""
    batch, labels = part.batch, part.labels
    if labels is None:
        return weights_as_trials(batch) if trials and batch.trials is None else batch
    targets, _ = model._targets(validation.classes_array(labels), len(labels), reset=False)
    y = targets[batch.y]
    weight = model._weights(y, batch.weight)
    rows = replace(batch, y=y, weight=weight, trials=weight_factors(weight, batch.weight))
    return weights_as_trials(rows) if model._weighs_observations(model._response(), rows) else rows


def _is_usable(solution: Solution, likelihood: NegativeLogLikelihood) -> bool:
    """Whether a solver has converged, or stopped at predictors whose exponential does not overflow."""
    if not np.isfinite(solution.value):
        return False
    return solution.converged or _farthest(solution, likelihood) < FARTHEST


def _farthest(solution: Solution, likelihood: NegativeLogLikelihood) -> float:
    """Return the largest predictor of any row."""
    return float(np.abs(likelihood.linear_predictors(solution.theta)).max(initial=0.0))


def _learn_part(model: Regression, piece: Piece) -> Regression:
    return copy.copy(model)._learn_batch(*(piece.get(name) for name in COLUMNS[:6]))
