"""Ordinal regression: ordered classes, by cumulative probabilities (proportional odds)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_ndtr, logit, ndtri
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice import validation
from suffice.data import EncodedDataset, as_dataset
from suffice.data.dataset import Piece, model_for_parts, no_rows
from suffice.discriminative.base import (
    dependence,
    warn_of_collinearity,
    warn_of_extrapolation,
    warn_unless_converged,
)
from suffice.discriminative.contrasts import estimate_contrasts
from suffice.discriminative.covariance import Covariance
from suffice.discriminative.inference import Inference, note_on_ridge
from suffice.discriminative.layout import lay_out
from suffice.discriminative.objective import column_products
from suffice.discriminative.penalties import PenalisedModel, check_strength
from suffice.discriminative.perceptron import ClassTotals
from suffice.discriminative.result_table import ResultTable
from suffice.discriminative.robust import depend_on
from suffice.discriminative.separation import SeparationWarning
from suffice.discriminative.summary import Summary
from suffice.discriminative.theta_covariance import null_outward
from suffice.estimator import ClassifierInPartsMixin, row_wise
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import engine_for
from suffice.kernels.libraries import beside, is_sparse, named_classes
from suffice.kernels.protocol import Kernels
from suffice.solvers import Newton, Solution
from suffice.solvers.base import MANY, Capability, Objective, ValueGradient, ValueGradientHessian
from suffice.solvers.linear_algebra import Symmetric, dependencies
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored, check_shapes, parameters
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, VectorLike

_LOG_ROOT_2PI = math.log(2 * math.pi) / 2
#: At an optimum the next Newton step is below this share of the parameters; if classes are separated, it is not.
_SETTLED = 1e-3


class _Distribution(NamedTuple):
    """The distribution F of the latent variable, on which classes are intervals."""

    quantile: Callable[[FloatArray], FloatArray]
    log_interval: Callable[[FloatArray, FloatArray], FloatArray]  #: log(F(a) - F(b)) of a > b, which may be infinite
    log_density: Callable[[FloatArray], FloatArray]
    log_density_slope: Callable[[FloatArray], FloatArray]  #: finite at infinity, where the density is 0


def _log1mexp(x: FloatArray) -> FloatArray:
    """Return log(1 - e^-x) for x >= 0, without cancellation."""
    return np.where(x < 0.7, np.log(-np.expm1(-np.minimum(x, 1.0))), np.log1p(-np.exp(-np.maximum(x, 0.5))))


def _logistic_interval(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(_log1mexp(a - b) - np.logaddexp(0.0, -a) - np.logaddexp(0.0, b))


def _normal_interval(a: FloatArray, b: FloatArray) -> FloatArray:
    flip = b > 0  # the smaller of the two tails does not cancel
    upper, lower = log_ndtr(np.where(flip, -b, a)), log_ndtr(np.where(flip, -a, b))
    return np.asarray(upper + _log1mexp(upper - lower))


def _gumbel_rate(a: FloatArray) -> FloatArray:
    """Return e^a, finite where a is."""
    return np.exp(np.where(np.isfinite(a), np.minimum(a, 700.0), a))


_DISTRIBUTIONS = {
    "logit": _Distribution(
        logit,
        _logistic_interval,
        lambda a: -np.logaddexp(0.0, -a) - np.logaddexp(0.0, a),
        lambda a: 1 - 2 * expit(a),
    ),
    "probit": _Distribution(
        ndtri,
        _normal_interval,
        lambda a: -a * a / 2 - _LOG_ROOT_2PI,
        lambda a: np.where(np.isinf(a), 0.0, -a),
    ),
    "cloglog": _Distribution(
        lambda share: np.log(-np.log1p(-share)),
        lambda a, b: _log1mexp(_gumbel_rate(a) - _gumbel_rate(b)) - _gumbel_rate(b),
        lambda a: np.where(np.isinf(a), -np.inf, np.where(np.isinf(a), 0.0, a) - _gumbel_rate(a)),
        lambda a: 1 - np.where(np.isinf(a), 0.0, _gumbel_rate(a)),
    ),
}


@dataclass(frozen=True, eq=False)
class OrdinalLikelihood(Objective):
    """Minus the log-likelihood of ordered classes as a function of coefficients and thresholds, in this order.

    Examples
    --------
    >>> rows = Batch(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1]))
    >>> objective = OrdinalLikelihood(EncodedDataset.of_batch(rows), "logit", 2)
    >>> round(objective.value_gradient(np.zeros((2, 1))).value, 4)  # 3 log 2
    2.0794
    """

    data: EncodedDataset
    link: str
    classes: int
    l2: float = 0.0  #: of the coefficients

    capabilities: frozenset[Capability] = frozenset({"hessian"})

    @property
    def weight(self) -> float:
        """The total weight."""
        return self.data.weight

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.data.n_rows

    def value_gradient(self, theta: FloatArray) -> ValueGradient:
        """Return value and gradient."""
        sums = self._sums(theta, hessian=False)
        return ValueGradient(float(sums[0]), sums[1:, None])

    def value_gradient_hessian(self, theta: FloatArray) -> ValueGradientHessian:
        """Return value, gradient and observed Hessian."""
        size = len(theta)
        sums = self._sums(theta, hessian=True)
        return ValueGradientHessian(float(sums[0]), sums[1 : size + 1, None], sums[size + 1 :].reshape(size, size))

    def _sums(self, theta: FloatArray, hessian: bool) -> FloatArray:
        features = self.data.n_features
        coef, thresholds = theta[:features, 0], theta[features:, 0]
        size = len(theta)
        if (np.diff(thresholds) <= 0).any():
            return np.concatenate([[np.inf], np.zeros(size + size * size * hessian)])
        what = partial(_sums_of_part, self.link, coef, thresholds, hessian)
        total = np.array(self._added(what))
        total[0] += self.l2 / 2 * coef @ coef
        total[1 : features + 1] += self.l2 * coef
        if hessian:
            places = 1 + size + np.arange(features) * (size + 1)  # of the diagonal
            total[places] += self.l2
        return total

    def _added(self, what: Callable[[Batch, Kernels], FloatArray]) -> FloatArray:
        return reduce(add, self.data.map(what))


def _bounds(thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the upper and the lower end of each class on the latent scale, (k,)."""
    return np.append(thresholds, np.inf), np.append(-np.inf, thresholds)


def _sums_of_part(
    link: str, coef: FloatArray, thresholds: FloatArray, hessian: bool, part: Batch, kernels: Kernels
) -> FloatArray:
    """Return value, gradient and Hessian of some rows, in one vector."""
    rows = replace(part, y=None, offset=None, weight=None)
    z = to_host(kernels.linear_scores(rows, coef[None, :], np.zeros(1)))[:, 0]
    here = slice(part.start, part.stop)
    if part.offset is not None:
        z = z + to_host(part.offset[here])
    codes = np.asarray(to_host(part.y[here]), dtype=np.intp)
    weight = np.ones(len(z)) if part.weight is None else to_host(part.weight[here])
    law = _DISTRIBUTIONS[link]
    upper, lower = _bounds(thresholds)
    a, b = upper[codes] - z, lower[codes] - z
    # Far from a threshold the probability underflows to 0: its log is -inf, and the solver shortens the step.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_p = law.log_interval(a, b)
        of_a, of_b = np.exp(law.log_density(a) - log_p), np.exp(law.log_density(b) - log_p)
    k, size = len(thresholds) + 1, len(coef) + len(thresholds)
    if not np.isfinite(log_p).all():
        return np.concatenate([[np.inf], np.zeros(size + size * size * hessian)])
    x: Any = part.x[here, :]
    x = x if is_sparse(x) else np.asarray(to_host(x), dtype=np.float64)
    slope_a = np.bincount(codes, weights=weight * of_a, minlength=k)[:-1]
    slope_b = np.bincount(codes, weights=weight * of_b, minlength=k)[1:]
    found = [np.array([-weight @ log_p]), x.T @ (weight * (of_a - of_b)), slope_b - slope_a]
    if hessian:
        aa = weight * (of_a * of_a - of_a * law.log_density_slope(a))
        bb = weight * (of_b * of_b + of_b * law.log_density_slope(b))
        ab = -weight * of_a * of_b
        scaled = x.multiply((aa + 2 * ab + bb)[:, None]).tocsr() if is_sparse(x) else x * (aa + 2 * ab + bb)[:, None]
        own = x.T @ scaled
        across = np.zeros((len(z), k + 1))  # by the threshold above each class, after a dummy one
        across[np.arange(len(z)), codes + 1] -= aa + ab
        across[np.arange(len(z)), codes] -= bb + ab
        mixed = x.T @ across[:, 1:-1]
        ends = np.diag(
            np.bincount(codes, weights=aa, minlength=k)[:-1] + np.bincount(codes, weights=bb, minlength=k)[1:]
        )
        beside_each_other = np.bincount(codes, weights=ab, minlength=k)[1:-1]
        ends += np.diag(beside_each_other, 1) + np.diag(beside_each_other, -1)
        whole = np.block([[own.toarray() if is_sparse(own) else own, mixed], [mixed.T, ends]])
        found.append(whole.ravel())
    return np.concatenate(found)


class OrdinalRegression(PenalisedModel, Stored, ClassifierInPartsMixin, BaseEstimator):  # type: ignore[misc]
    """Ordinal regression: P(y <= k | x) = F(threshold_k - x'coef), for ordered classes.

    The class is the interval between two thresholds that holds a latent variable, x'coef plus noise of distribution F.
    The logit link is the proportional odds model: x multiplies the odds of every cut between classes by the same
    factor. A positive coefficient makes higher classes more probable. R's ``MASS::polr`` and statsmodels'
    ``OrderedModel`` fit the same model.

    Parameters
    ----------
    link
        ``"logit"`` (proportional odds), ``"probit"``, or ``"cloglog"`` (proportional hazards).
    order
        The classes from the lowest to the highest. None: the order of numbers, or that of an ordered categorical
        series of pandas. Text needs it.
    l2
        Penalty, 0 by default: minimises ``-log-likelihood + l2 coef² / 2``. The thresholds are not penalised.
    tol, max_iter
        Newton's method: tolerance of the linear predictors, relative to their scale; most steps.
    verbose
        Whether each pass over the rows is printed to stderr.
    n_jobs
        Number of threads: None for all permitted cores, -1 for all cores of the machine.

    Attributes
    ----------
    classes_ : (k,), in their order
    coef_ : (d,)
    thresholds_ : (k - 1,), between neighbouring classes
    covariance_ : (q, q), of the coefficients and the thresholds, with their names
    solution_ : result of the solver: theta, reason of stopping, trace
    n_iter_ : int or ndarray of int
        Number of iterations of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> hours = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]])
    >>> grade = ["poor", "fair", "poor", "good", "fair", "good", "fair", "good"]
    >>> model = OrdinalRegression(order=["poor", "fair", "good"]).fit(hours, grade)
    >>> model.coef_.round(3), model.thresholds_.round(3)
    (array([0.697]), array([1.507, 4.016]))
    >>> model.predict([[0.0], [9.0]])
    array(['poor', 'good'], dtype='<U4')
    """

    classes_: npt.NDArray[Any]
    n_features_in_: int
    n_iter_: int
    coef_: FloatArray
    thresholds_: FloatArray
    solution_: Solution
    _covariance: FloatArray | None  # (q, q), of the coefficients and the thresholds
    _facts: dict[str, float]  # rows, rank, log-likelihoods
    _notes: list[str]
    _null: FloatArray | None = None  # (k, 1 + d), directions of theta that change no row of the fit, if there are any
    _least_features = 0

    def __init__(
        self,
        link: str = "logit",
        *,
        order: Sequence[Any] | npt.NDArray[Any] | None = None,
        l2: float = 0.0,
        tol: float = 1e-8,
        max_iter: int = 100,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.link = link
        self.order = order
        self.l2 = l2
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True  # classes without an order
        return tags

    def _check_settings(self) -> None:
        if self.link not in _DISTRIBUTIONS:
            raise ValueError(f"link must be one of {', '.join(_DISTRIBUTIONS)}; got {self.link!r}")
        check_strength("l2", self.l2)
        if not (isinstance(self.tol, int | float | np.number) and 0 < self.tol < np.inf):
            raise ValueError(f"tol must be a finite number above 0; got {self.tol!r}")
        if not (isinstance(self.max_iter, int | np.integer) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a whole number, 1 or more; got {self.max_iter!r}")
        if self.order is not None and len(set(self.order)) < max(2, len(list(self.order))):
            raise ValueError(f"order must name 2 different classes or more, each once; got {list(self.order)!r}")

    # Learning.

    def fit(
        self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None, *, offset: VectorLike = None
    ) -> Self:
        """Fit the model to rows and their classes.

        Parameters
        ----------
        X
            Rows, (n, d), in memory or in parts, as for :class:`LogisticRegression`.
        y
            The class of each row; None if batches have them; the name of a column for files and Spark.
        sample_weight
            Frequency weight of each row, 1 by default.
        offset
            A known part of each row's x'coef, (n,).
        """
        with self._learning(anew=True):
            given = as_dataset(X, y=y, sample_weight=sample_weight, offset=offset)
            rows = given.rereadable()
            try:
                validation.features(self, rows.example(), reset=True)
                order = self.order
                dtype: Any = getattr(y, "dtype", None)
                if order is None and getattr(dtype, "ordered", False):
                    order = dtype.categories
                found: ClassTotals | None = rows.map_parts(ClassTotals.of).reduce(ClassTotals.plus)
                if found is None:
                    raise no_rows()
                names = self._ordered(found.labels, order)
                encode = partial(_encode_part, model_for_parts(self, rows), names)
                data = EncodedDataset.of_parts(rows.map_parts(encode), self._engine)
                try:
                    with validation.naming_cells():
                        self._estimate(data, found.weights_of(names))
                finally:
                    data.release()
            finally:
                if rows is not given:
                    rows.release()
        return self

    def _ordered(self, found: Labels, order: Any) -> list[Any]:
        """Return the classes from the lowest to the highest, and set ``classes_``."""
        names = list(found)
        if order is None:
            if any(isinstance(name, str) for name in names):
                raise ValueError(
                    f"y holds text, {names[:5]!r}, whose order is unknown: give order=[...], from the lowest class "
                    "to the highest"
                )
        else:
            wanted = np.asarray(order).tolist()
            strange = [name for name in names if name not in wanted]
            if strange:
                raise ValueError(f"y holds {strange[0]!r}, which is not in order={wanted!r}: add it")
            names = wanted
        if len(names) < 2:
            raise ValueError(f"y has one class, {names[0]!r}: a classifier needs rows of at least 2 classes")
        self.classes_ = _as_classes(names)
        return names

    def _estimate(self, data: EncodedDataset, counts: FloatArray) -> None:
        """Estimate the parameters, and report on the fit; ``counts`` are the weights of the classes, in their order."""
        k = len(counts)
        validation.check_weight(float(counts.sum()))
        if not counts.all():
            absent = self.classes_.tolist()[int(np.argmin(counts))]
            raise ValueError(
                f"there are no rows of the class {absent!r} with a weight above 0: its thresholds are not identified; "
                "leave it out of order"
            )
        laid, layout = lay_out(data, True)
        try:
            objective = OrdinalLikelihood(laid, self.link, k, float(self.l2))
            law = _DISTRIBUTIONS[self.link]
            thresholds = law.quantile(np.cumsum(counts)[:-1] / counts.sum())
            offset = data.some_rows.offset
            if offset is not None:
                thresholds = thresholds + float(np.average(to_host(offset), weights=data.some_rows.weight))
            start = np.concatenate([np.zeros(laid.n_features), thresholds])[:, None]
            newton = len(start) <= MANY
            solver = Newton(self.tol, self.max_iter) if newton else QuasiNewton(self.tol, self.max_iter)
            solution: Solution = solver.minimise(objective, start)
            null = float((counts * np.log(counts / counts.sum())).sum())
            if offset is not None:
                alone = OrdinalLikelihood(laid.transform(_without_features), self.link, k)
                null = -Newton().minimise(alone, thresholds[:, None]).value
            self._report(objective, layout, solution, float(counts.sum()), null)
        finally:
            if laid is not data:
                laid.release()

    def _report(self, objective: OrdinalLikelihood, layout: Any, solution: Solution, rows: float, null: float) -> None:
        """Set the fitted attributes; warn of missing convergence, collinearity and separation."""
        theta, features = solution.theta, objective.data.n_features
        # The layout maps back the linear predictors of all thresholds, threshold - x'coef.
        back = partial(_outward, layout, features)
        whole = back(theta[:, 0])
        self.coef_, self.thresholds_ = whole[: self.n_features_in_], whole[self.n_features_in_ :]
        coef = theta[:features, 0]
        log_likelihood = self.l2 / 2 * float(coef @ coef) - solution.value
        self.solution_ = replace(solution, theta=whole[:, None], hessian=None, trace=())
        self.n_iter_ = max(solution.n_steps, 1)
        self._notes, self._covariance, self._null, rank = [], None, None, len(theta)
        warn_unless_converged(self, solution)
        if solution.hessian is not None:
            factored = Symmetric.of(solution.hessian)
            rank = factored.rank
            inverse = factored.inverse()
            known = np.isfinite(np.diagonal(inverse))
            jacobian = np.stack([back(unit) for unit in np.eye(len(theta))], axis=1)
            self._covariance = jacobian[:, known] @ inverse[np.ix_(known, known)] @ jacobian[:, known].T
            lost = (jacobian[:, ~known] != 0).any(axis=1) | ~jacobian.any(axis=1)
            self._covariance[lost, :] = self._covariance[:, lost] = np.nan
            if self.l2 == 0:
                self._warn_undetermined(objective, solution, factored, layout)
        self._facts = {
            "rows": rows,
            "rank": float(rank),
            "log_likelihood": log_likelihood,
            "null_log_likelihood": null,
        }

    def _warn_undetermined(
        self, objective: OrdinalLikelihood, solution: Solution, factored: Symmetric, layout: Any
    ) -> None:
        """Warn of collinear columns, and of separated classes."""
        features = len(solution.theta) - len(self.thresholds_)
        names = layout.select(["intercept", *self._feature_names()])[1:]
        if factored.rank < len(solution.theta) and solution.hessian is not None:
            order = np.roll(np.arange(len(solution.theta)), len(self.thresholds_))  # the thresholds first
            found = dependencies(solution.hessian[np.ix_(order, order)])
            shift = len(self.thresholds_)
            sentences = []
            for column, others in found:
                of = [names[other - shift] for other in others if other >= shift]
                if column >= shift:
                    name = names[column - shift]
                    sentences.append(dependence(name, of))
            if sentences:
                self._notes.append(f"dependent columns: {'; '.join(sentences)}")
                warn_of_collinearity(self, sentences)
                self._null = null_outward(layout, column_products(objective.data, intercept=True))
        step = factored.solve(solution.gradient)
        if features and (not solution.converged or bool((np.abs(step) > _SETTLED * np.abs(solution.theta)).any())):
            words = (
                "the next Newton step is still large: the classes are separated, or nearly, and the likelihood has no "
                "maximum; give l2 > 0"
            )
            self._notes.append(words)
            warn_user(f"{type(self).__name__}: {words}", SeparationWarning)

    # Predictions.

    def _latent(self, X: Any, offset: Any) -> tuple[Any, FloatArray]:
        """Return validated rows, and x'coef + offset of each, (n,)."""
        check_is_fitted(self)
        x = validation.features(self, X, reset=False)
        coef = np.ascontiguousarray(self.coef_, dtype=np.float64)[None, :]

        def score(part: Batch, kernels: Kernels) -> Any:
            return kernels.linear_scores(part, coef, np.zeros(1))

        with validation.naming_cells():
            z = to_host(engine_for(self._engine, x).map_rows(score, Batch(x)))[:, 0]
        if self._null is not None:
            warn_of_extrapolation(type(self).__name__, depend_on(self._null, x, intercept=True))
        known = validation.per_row("offset", offset, len(z))
        return x, z if known is None else z + known

    @row_wise("linear_predictor")
    def linear_predictor(self, X: MatrixLike, *, offset: VectorLike = None) -> FloatArray:
        """Return x'coef of each row, (n,): larger values make high classes more probable.

        Parameters
        ----------
        X
            Rows, (n, d).
        offset
            As for :meth:`fit`.
        """
        x, z = self._latent(X, offset)
        found: FloatArray = beside(x, z)
        return found

    @row_wise("log_probability")
    def predict_log_proba(self, X: MatrixLike, *, offset: VectorLike = None) -> FloatArray:
        """Return log p(y | x), (n, k); an offset is that of :meth:`linear_predictor`."""
        x, z = self._latent(X, offset)
        upper, lower = _bounds(np.asarray(self.thresholds_, dtype=np.float64))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            logs = _DISTRIBUTIONS[self._params.link].log_interval(upper - z[:, None], lower - z[:, None])
        found: FloatArray = beside(x, logs)
        return found

    @row_wise("probability")
    def predict_proba(self, X: MatrixLike, *, offset: VectorLike = None) -> FloatArray:
        """Return p(y | x), (n, k); an offset is that of :meth:`linear_predictor`."""
        logs = self.predict_log_proba(X, offset=offset)
        found: FloatArray = beside(logs, np.exp(to_host(logs)))
        return found

    @row_wise("prediction")
    def predict(self, X: MatrixLike, *, offset: VectorLike = None) -> npt.NDArray[Any]:
        """Return the most probable class of each row, (n,); an offset is that of :meth:`linear_predictor`."""
        logs = self.predict_log_proba(X, offset=offset)
        found: npt.NDArray[Any] = named_classes(self.classes_, beside(logs, to_host(logs).argmax(axis=1)))
        return found

    # Inference.

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{place}" for place in range(self.n_features_in_)] if names is None else [str(n) for n in names]

    def _inference(self) -> Inference:
        check_is_fitted(self)
        theta = np.concatenate([self.coef_, self.thresholds_])
        if not np.array_equal(theta, self.solution_.theta[:, 0]):
            raise ValueError("coef_ or thresholds_ was changed after the fit: fit again for a summary")
        notes = list(self._notes)
        if self._covariance is None:
            notes.append("there are no standard errors: there are too many parameters for a covariance matrix")
        notes += [note_on_ridge(f"l2 = {self._params.l2:g}", "classical")] if self._params.l2 > 0 else []
        names = [str(name) for name in self.classes_.tolist()]
        cuts = [f"{low}|{high}" for low, high in pairwise(names)]
        rows, value, null = (self._facts[name] for name in ("rows", "log_likelihood", "null_log_likelihood"))
        rank = int(self._facts["rank"])
        notes += _notes_on_counts(rows, rank)
        return Inference(
            title=f"{type(self).__name__} (cumulative {self._params.link})",
            names=(*self._feature_names(), *cuts),
            estimate=theta,
            covariance=self._covariance,
            distribution="z",
            df_residual=max(rows - rank, 0.0),
            rows=rows,
            rank=rank,
            log_likelihood=value,
            null_log_likelihood=null,
            deviance=-2 * value,
            null_deviance=-2 * null,
            dispersion=1.0,
            notes=tuple(notes),
        )

    def summary(self, level: float = 0.95) -> Summary:
        """Return a table of coefficients and thresholds with standard errors, tests and intervals.

        Parameters
        ----------
        level
            Confidence level.
        """
        return self._inference().summary(level)

    def confint(self, level: float = 0.95) -> ResultTable:
        """Return Wald confidence intervals of coefficients and thresholds, in the columns ``lower`` and ``upper``.

        Parameters
        ----------
        level
            Confidence level.
        """
        fit = self._inference()
        found = fit.interval(level)
        columns = {"lower": found[:, 0], "upper": found[:, 1]}
        return ResultTable(f"{100 * level:g}% intervals, {fit.covariance_kind}", fit.names, columns, fit.notes)

    def contrast(self, contrasts: str | Sequence[str], level: float = 0.95) -> ResultTable:
        """Return estimates, standard errors, tests and intervals of linear combinations of coefficients and thresholds.

        Parameters
        ----------
        contrasts, level
            As for :meth:`LogisticRegression.contrast`; quote the name of a threshold with backquotes, as
            ```low|high```.
        """
        return estimate_contrasts(self._inference(), contrasts, level)

    @property
    def covariance_(self) -> Covariance:
        """The covariance of the coefficients and the thresholds, (q, q), with their names."""
        fit = self._inference()
        if fit.covariance is None:
            raise AttributeError(f"covariance_ is unknown: {'; '.join(fit.notes)}")
        return Covariance(fit.names, fit.covariance, fit.covariance_kind)

    # The file.

    def _contents(self) -> Contents:
        check_is_fitted(self)
        arrays = {"coef": self.coef_, "thresholds": self.thresholds_, "theta": self.solution_.theta}
        arrays |= {"gradient": self.solution_.gradient}
        if self._null is not None:
            arrays["null"] = self._null
        if self._covariance is not None:
            known = np.isfinite(np.diagonal(self._covariance))
            arrays |= {"known": known, "covariance": self._covariance[np.ix_(known, known)]}
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(),
                "features": self.n_features_in_,
                "feature_names": parameters.feature_names(self),
                "classes": {"names": self.classes_.tolist(), "dtype": self.classes_.dtype.kind},
                "facts": self._facts,
                "notes": self._notes,
                "solution": {
                    "value": self.solution_.value,
                    "converged": self.solution_.converged,
                    "reason": self.solution_.reason,
                    "weight": self.solution_.weight,
                },
                "steps": self.n_iter_,
            },
            statistics={},
            arrays=arrays,
        )

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings, arrays = contents.settings, contents.arrays
        model = cls._with_parameters(settings)
        parameters.restore_features(model, settings)
        names = list(settings["classes"]["names"])
        if len(names) < 2:
            raise ValueError(f"a classifier has at least two classes; the file names {names!r}")
        model.classes_ = _as_classes(names, settings["classes"]["dtype"] == "O")
        features, cuts = model.n_features_in_, len(names) - 1
        size = features + cuts
        shapes: dict[str, tuple[int, ...]] = {"coef": (features,), "thresholds": (cuts,), "theta": (size, 1)}
        check_shapes(arrays, shapes)
        model.coef_, model.thresholds_ = arrays["coef"], arrays["thresholds"]
        model._facts = {name: float(value) for name, value in settings["facts"].items()}
        model._notes, model._covariance, model._null = list(settings["notes"]), None, arrays.get("null")
        check_shapes(arrays, {} if model._null is None else {"null": (len(model._null), features + 1)})
        if "covariance" in arrays:
            known = np.flatnonzero(arrays["known"])
            check_shapes(arrays, {"known": (size,), "covariance": (len(known), len(known))})
            model._covariance = np.full((size, size), np.nan)
            model._covariance[np.ix_(known, known)] = arrays["covariance"]
        model.solution_ = Solution(arrays["theta"], gradient=arrays["gradient"], trace=(), **settings["solution"])
        model.n_iter_ = int(settings["steps"])
        return model


def _notes_on_counts(rows: float, rank: int) -> list[str]:
    """Return a sentence where weights, which count rows, do not count anything."""
    cure = "sample_weight counts rows: if it is relative, scale it to sum to the number of rows"
    if rows < rank:
        return [f"the weights of the rows sum to {rows:g}, for {rank} parameters; {cure}"]
    if abs(rows - round(rows)) > 1e-9 * rows:
        return [f"rows and standard errors rest on weights that sum to {rows:g}; {cure}"]
    return []


def _as_classes(names: list[Any], objects: bool = False) -> npt.NDArray[Any]:
    """Return classes in their order as an array, of objects if their types differ."""
    if objects or len({isinstance(name, str) for name in names}) > 1:
        mixed = np.empty(len(names), dtype=object)
        mixed[:] = names
        return mixed
    return np.array(names)


def _encode_part(model: OrdinalRegression, names: list[Any], piece: Piece) -> Batch:
    """Return rows whose y is the position of each class in the order."""
    x = validation.features(model, piece["X"], reset=False)
    column = validation.targets(piece.get("y"), x.shape[0])
    labels, codes = Labels.discover(column)
    places = {name: place for place, name in enumerate(names)}
    with validation.one_of_many():
        weight = validation.weights(piece.get("sample_weight"), x.shape[0])
        offset = validation.per_row("offset", piece.get("offset"), x.shape[0])
    return Batch(x, np.array([places[name] for name in labels], dtype=np.int64)[codes], weight, offset)


def _without_features(rows: Batch, _: Any) -> Batch:
    return replace(rows, x=np.empty((rows.x.shape[0], 0)))


def _outward(layout: Any, features: int, theta: FloatArray) -> FloatArray:
    """Return coefficients and thresholds, (q,), in the coordinates of X."""
    coef, thresholds = theta[:features], theta[features:]
    predictors = np.concatenate([thresholds[None, :], np.repeat(-coef[:, None], len(thresholds), axis=1)])
    back = layout.outward(predictors)
    return np.concatenate([-back[1:, 0], back[0]])
