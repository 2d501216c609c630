"""Lasso and elastic net from normal equations, with exact streaming, merging and forgetting."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from suffice.data import as_dataset
from suffice.discriminative.least_squares import LeastSquaresModel, StreamedLeastSquares
from suffice.discriminative.normal_equations import (
    Penalty,
    products_of,
    residual_products,
    solve_penalised,
    with_intercept,
)
from suffice.discriminative.path import Path, alpha_strengths, by_alpha, check_ratio, solve_path
from suffice.discriminative.penalties import Scale
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, NumbersLike, RandomState, VectorLike


class ElasticNet(StreamedLeastSquares):
    """Linear regression with l1 and l2 penalties, from normal equations.

    Minimises ``|y - X w|² / (2 n) + alpha l1_ratio |w|₁ + alpha (1 - l1_ratio) |w|² / 2``, where n is the number of
    rows, or the sum of their weights, as scikit-learn's ElasticNet. The model keeps the sums of
    :class:`~suffice.LinearRegression`, so that :meth:`partial_fit`, :meth:`forget` and ``+`` are exact, and
    ``with_params(alpha=...)`` needs no rows. Several targets are solved separately.

    Parameters
    ----------
    alpha
        Strength of the penalty, 0 or more. The intercept is not penalised.
    l1_ratio
        Share of l1 in the penalty: 1 is the lasso, 0 a ridge.
    fit_intercept
        Whether there is an intercept.
    precompute, copy_X, warm_start, random_state, selection, max_iter, tol
        As in scikit-learn. The minimum does not depend on them: it is computed from the sums up to rounding.
    positive
        Whether coefficients, other than the intercept, are at least 0.
    n_jobs
        Number of threads: None for all permitted cores, -1 for all cores of the machine.
    device
        None: the device that holds the rows. ``"cuda"``: rows in host memory are streamed through the GPU.

    Attributes
    ----------
    coef_ : (d,), or (t, d) for several targets
    intercept_ : float, or (t,)
    sparse_coef_ : the coefficients as a matrix of scipy.sparse
    dual_gap_ : float, or (t,), bound of the distance of the objective from its minimum
    n_iter_ : number of passes over the rows
    statistics_ : the normal equations
    dependent_columns_ : list
        The columns that are linear combinations of earlier columns, with those.
    rank_ : int
        Number of independent columns.
    solution_ : Solution
        The result of the solver, where an iterative solver was used: theta, reason of stopping, trace.
    theta_ : ndarray of shape (p, t)
        Intercept and coefficients.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> model = ElasticNet(alpha=0.5, l1_ratio=0.8).fit(x, [1.0, 3.0, 5.0, 7.5])
    >>> model.coef_.round(4), model.with_params(alpha=0.1).coef_.round(4)
    (array([1.6944, 0.    ]), array([2.0531, 0.    ]))
    """

    alpha: float
    l1_ratio: float
    _penalty_scale: ClassVar[Scale] = "net"
    _estimated_by: ClassVar[tuple[str, ...]] = ("alpha", "l1_ratio", "fit_intercept", "positive")

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: bool | str | MatrixLike = False,
        max_iter: int = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: RandomState = None,
        selection: str = "cyclic",
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.n_jobs = n_jobs
        self.device = device

    def _check_settings(self) -> None:
        check_elastic_net(self.alpha, self.l1_ratio, self.selection)
        super()._check_settings()

    def _penalty(self) -> Penalty:
        params, sums = self._params, self._memory
        return elastic_net_penalty(params.alpha, params.l1_ratio, bool(params.positive), sums.total, sums.targets)

    def _penalty_named(self) -> str:
        return f"alpha = {self._params.alpha:g}, l1_ratio = {self._params.l1_ratio:g}"

    @property
    def dual_gap_(self) -> float | FloatArray:
        """The duality gap of the fit, which bounds the distance of the objective from its minimum."""
        return dual_gap(self)

    @property
    def sparse_coef_(self) -> sparse.csr_matrix:
        """The coefficients as a matrix of scipy.sparse."""
        return sparse.csr_matrix(self.coef_)

    def path(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        alphas: int | NumbersLike = 100,
        eps: float = 1e-3,
    ) -> Path:
        """Return the coefficients for a series of penalties, from one pass; the model itself is not fitted.

        Parameters
        ----------
        X, y, sample_weight
            Rows, as for :meth:`fit`.
        alphas
            The penalties; or their number, evenly spaced on the log scale, from the smallest at which all coefficients
            are zero down to its share ``eps``.

        Returns
        -------
        Path
            The largest penalty first.
        """
        model = clone(self)
        model._check_settings()
        check_ratio(self.l1_ratio, "l1_ratio")
        data = as_dataset(X, y=y, sample_weight=sample_weight)
        sums, _ = model._sum(model._encode(data, reset=True), reset=True, aggregates=data.aggregates)
        products, ratio = products_of(sums, self.fit_intercept), float(self.l1_ratio)
        values = alpha_strengths(float(np.abs(products.xy).max(initial=0.0)), alphas, eps, ratio, sums.total)
        first = int(self.fit_intercept)

        def solve_one(l1: float, l2: float, theta: FloatArray) -> Any:
            penalty = Penalty(l1, np.full(sums.targets, l2), bool(self.positive))
            coef, solved = solve_penalised(products, penalty, theta[first:])
            if not solved:
                model._warn_unsolved(f"alpha = {(l1 + l2) / sums.total:g}")
            theta = with_intercept(sums, coef) if first else coef
            return *model._linear(theta), -float(np.trace(residual_products(products, coef))) / 2, theta

        start = np.zeros((sums.features + first, sums.targets))
        found = solve_path(values, ratio, start, solve_one, by_alpha(sums.total))
        own = self.get_params(deep=False)
        return replace(found, penalties={name: each for name, each in found.penalties.items() if name in own})


class Lasso(ElasticNet):
    """Linear regression with an l1 penalty, from normal equations.

    Minimises ``|y - X w|² / (2 n) + alpha |w|₁``, where n is the number of rows, or the sum of their weights, as
    scikit-learn's Lasso: :class:`~suffice.ElasticNet` with ``l1_ratio=1``.

    Parameters
    ----------
    alpha
        Strength of the penalty, 0 or more. The intercept is not penalised.
    fit_intercept
        Whether there is an intercept.
    precompute, copy_X, warm_start, random_state, selection, max_iter, tol
        As in scikit-learn. The minimum does not depend on them: it is computed from the sums up to rounding.
    positive
        Whether coefficients, other than the intercept, are at least 0.
    n_jobs, device
        As for :class:`~suffice.ElasticNet`.

    Attributes
    ----------
    coef_ : (d,), or (t, d) for several targets
    intercept_ : float, or (t,)
    sparse_coef_ : the coefficients as a matrix of scipy.sparse
    dual_gap_ : float, or (t,), bound of the distance of the objective from its minimum
    n_iter_ : number of passes over the rows
    statistics_ : the normal equations
    dependent_columns_ : list
        The columns that are linear combinations of earlier columns, with those.
    rank_ : int
        Number of independent columns.
    solution_ : Solution
        The result of the solver, where an iterative solver was used: theta, reason of stopping, trace.
    theta_ : ndarray of shape (p, t)
        Intercept and coefficients.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> model = Lasso(alpha=0.1).fit(x, [1.0, 3.0, 5.0, 7.0])
    >>> model.coef_.round(4), round(model.intercept_, 4)
    (array([1.92, 0.  ]), 1.12)
    """

    l1_ratio: float = 1.0
    _penalty_scale: ClassVar[Scale] = "lasso"
    _estimated_by: ClassVar[tuple[str, ...]] = ("alpha", "fit_intercept", "positive")

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: bool | str | MatrixLike = False,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: RandomState = None,
        selection: str = "cyclic",
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.n_jobs = n_jobs
        self.device = device

    def _penalty_named(self) -> str:
        return f"alpha = {self._params.alpha:g}"


def check_elastic_net(alpha: Any, l1_ratio: Any, selection: Any) -> None:
    """Raise if a penalty of an elastic net is invalid."""
    if not (isinstance(alpha, int | float | np.number) and 0 <= alpha < np.inf):
        raise ValueError(f"alpha must be a finite number, 0 or more; got {alpha!r}")
    if not (isinstance(l1_ratio, int | float | np.number) and 0 <= l1_ratio <= 1):
        raise ValueError(f"l1_ratio must be a number from 0 to 1; got {l1_ratio!r}")
    if selection not in ("cyclic", "random"):
        raise ValueError(f"selection must be 'cyclic' or 'random'; got {selection!r}")


def elastic_net_penalty(alpha: float, l1_ratio: float, positive: bool, total: float, targets: int) -> Penalty:
    """Return the penalty of an elastic net on rows of this total weight.

    Examples
    --------
    >>> elastic_net_penalty(0.5, 0.25, False, 8.0, 1)
    Penalty(l1=1.0, l2=array([3.]), positive=False)
    """
    strength = float(alpha) * total
    return Penalty(strength * float(l1_ratio), np.full(targets, strength * (1 - float(l1_ratio))), positive)


def dual_gap(model: LeastSquaresModel) -> float | FloatArray:
    """Return the duality gap of the fit of an elastic net, on the scale of its objective; one for each target.

    The dual point is the residual, scaled until it is feasible. As a difference of sums the gap is known up to their
    rounding error.
    """
    solved, penalty, sums = model._solved(), model._penalty(), model.statistics_
    products = products_of(sums, solved.intercept)
    coef = solved.theta[int(solved.intercept) :]
    gradient = products.xy - products.xx @ coef - penalty.l2 * coef
    steepest = (gradient if penalty.positive else np.abs(gradient)).max(axis=0, initial=0.0)
    squares, fitted = np.diagonal(solved.residual), (coef * products.xy).sum(axis=0)
    share = np.where(steepest > penalty.l1, penalty.l1 / np.where(steepest > 0, steepest, 1.0), 1.0)
    across = np.diagonal(products.yy) - fitted  # residuals times targets
    gap = 0.5 * (1 + share**2) * (squares + penalty.l2 * (coef**2).sum(axis=0))
    gap = np.maximum(gap + penalty.l1 * np.abs(coef).sum(axis=0) - share * across, 0.0) / sums.total
    return float(gap[0]) if model._one_target else gap
