"""Lasso and elastic net with the penalty chosen by cross-validation, from the sums of folds: one pass over the rows."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_scalar

from suffice.data import as_dataset
from suffice.data.dataset import read_again
from suffice.discriminative.elastic_net import check_elastic_net, dual_gap, elastic_net_penalty
from suffice.discriminative.least_squares import LeastSquaresModel
from suffice.discriminative.least_squares_folds import (
    choice_arrays,
    held_out_squares,
    intercepts_of,
    sum_folds,
)
from suffice.discriminative.normal_equations import Penalty, products_of, solve_penalised
from suffice.statistics import NormalEquations
from suffice.statistics.base import FloatArray
from suffice.store import Contents

if TYPE_CHECKING:
    from suffice.typing import FoldsLike, MatrixLike, NumbersLike, RandomState, VectorLike

_CHOSEN = ("alpha", "l1_ratio", "alphas", "mse_path")


class ElasticNetCV(LeastSquaresModel):
    """Elastic net whose penalty is chosen by cross-validation.

    As scikit-learn's ElasticNetCV. The rows of each fold are summed once; the coefficients of every fold and penalty,
    and their errors on the rows held out, are computed from these sums.

    Parameters
    ----------
    l1_ratio
        Share of l1 in the penalty, or several to choose from.
    eps
        The smallest penalty of the grid, as a share of the largest.
    alphas
        The penalties to choose from; or their number, evenly spaced on the log scale, from the smallest at which all
        coefficients are zero.
    fit_intercept
        Whether there is an intercept.
    precompute, copy_X, random_state, selection, max_iter, tol
        As in scikit-learn. The minimum does not depend on them: it is computed from the sums up to rounding.
    cv
        Number of folds, None for 5, in the order of the rows; a splitter of scikit-learn; or pairs of row numbers of
        training and test rows. Rows in parts take a number.
    positive
        Whether coefficients, other than the intercept, are at least 0.
    verbose
        Whether the pass over the rows is printed to stderr.
    n_jobs
        Number of threads: None for all permitted cores, -1 for all cores of the machine.
    device
        None: the device that holds the rows. ``"cuda"``: rows in host memory are streamed through the GPU.

    Attributes
    ----------
    alpha_ : the chosen penalty
    l1_ratio_ : the chosen share of l1
    alphas_ : the grid, (a,), or one for each l1_ratio, (r, a); the largest first
    mse_path_ : mean squared errors of the folds, (a, folds), or (r, a, folds)
    coef_ : (d,)
    intercept_ : float
    dual_gap_ : bound of the distance of the objective from its minimum
    n_iter_ : number of passes over the rows
    statistics_ : the normal equations of all rows
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
    >>> random = np.random.default_rng(0)
    >>> x = random.normal(size=(100, 5))
    >>> y = x[:, 0] + random.normal(size=100)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0]).fit(x, y)
    >>> model.l1_ratio_, round(model.alpha_, 3), model.mse_path_.shape
    (1.0, 0.087, (2, 100, 5))
    """

    l1_ratio: float | NumbersLike
    _several_targets: ClassVar[bool] = False
    _estimated_by: ClassVar[tuple[str, ...]] = ()
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("l1_ratio", "eps", "alphas", "fit_intercept", "cv", "positive")
    alpha_: float
    l1_ratio_: float

    def __init__(
        self,
        *,
        l1_ratio: float | NumbersLike = 0.5,
        eps: float = 1e-3,
        alphas: int | NumbersLike = 100,
        fit_intercept: bool = True,
        precompute: bool | str | MatrixLike = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: FoldsLike = None,
        copy_X: bool = True,
        verbose: bool = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: RandomState = None,
        selection: str = "cyclic",
        device: str | None = None,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.device = device

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output, tags.target_tags.single_output = False, True
        return tags

    def is_penalised(self) -> bool:
        """Whether the parameters have a penalty: always."""
        return True

    def _check_settings(self) -> None:
        for ratio in np.atleast_1d(self.l1_ratio):
            check_elastic_net(0.0, ratio, self.selection)
        if not (isinstance(self.eps, int | float | np.number) and 0 < self.eps < np.inf):
            raise ValueError(f"eps must be a number above 0; got {self.eps!r}")
        if not isinstance(self.alphas, int | np.integer):
            for place, alpha in enumerate(self.alphas):
                check_scalar(alpha, f"alphas[{place}]", Real, min_val=0.0)
        elif self.alphas < 1:
            raise ValueError(f"alphas must be penalties, or their number, 1 or more; got {self.alphas!r}")
        super()._check_settings()

    def fit(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Choose the penalty, and fit the model to all rows.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their targets and weights, as for :meth:`suffice.ElasticNet.fit`. A stream is read twice, first for
            the number of rows.
        """
        with self._learning(anew=True):
            self._forget_the_rows()
            given = as_dataset(X, y=y, sample_weight=sample_weight)
            with nullcontext(given) if given.in_memory is not None else read_again(given) as data:
                folds = sum_folds(self, data, self.cv)
            whole = folds.whole.equations
            self._one_target = True
            ratios = [float(ratio) for ratio in np.atleast_1d(self.l1_ratio)]
            grid = np.stack([self._alphas(whole, ratio) for ratio in ratios])
            errors = np.array(
                [
                    [self._errors(*sums, ratio, alphas) for sums in zip(folds.others, folds.held_out, strict=True)]
                    for ratio, alphas in zip(ratios, grid, strict=True)
                ]
            )  # (ratios, folds, alphas)
            means = errors.mean(axis=1)
            best = np.unravel_index(int(means.argmin()), means.shape)
            self.l1_ratio_, self.alpha_ = ratios[best[0]], float(grid[best])
            self.mse_path_ = np.squeeze(np.moveaxis(errors, 2, 1))
            self.alphas_ = grid[0] if len(grid) == 1 or not isinstance(self.alphas, int | np.integer) else grid
            self._remember(whole, folds.whole.observations)
            self.solution_ = self._as_solution()
            _ = self.coef_  # computed now: predictions do not change the model
        return self

    def _alphas(self, sums: NormalEquations, ratio: float) -> FloatArray:
        """Return the penalties to choose from, the largest first."""
        if not isinstance(self.alphas, int | np.integer):
            return np.sort(np.asarray(self.alphas, dtype=np.float64))[::-1]
        if ratio == 0:
            raise ValueError(
                "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing "
                "your estimator with the appropriate `alphas=` argument."
            )
        right = products_of(sums, bool(self.fit_intercept)).xy
        steepest = float((right if self.positive else np.abs(right)).max(initial=0.0))
        return alpha_grid(steepest / (sums.total * ratio), int(self.alphas), float(self.eps))

    def _errors(self, sums: NormalEquations, held: NormalEquations, ratio: float, alphas: FloatArray) -> FloatArray:
        """Return the mean squared error on rows held out under each penalty, (a,)."""
        intercept = bool(self.fit_intercept)
        products, coef, coefs = products_of(sums, intercept), None, []
        for alpha in alphas:
            penalty = elastic_net_penalty(float(alpha), ratio, bool(self.positive), sums.total, sums.targets)
            coef, _ = solve_penalised(products, penalty, coef)
            coefs.append(coef)
        found = np.stack(coefs)
        return np.asarray(held_out_squares(held, found, intercepts_of(sums, intercept, found)).mean(axis=1))

    def _penalty(self) -> Penalty:
        sums = self._memory
        return elastic_net_penalty(self.alpha_, self.l1_ratio_, bool(self._params.positive), sums.total, sums.targets)

    def _penalty_named(self) -> str:
        return f"alpha = {self.alpha_:g}, l1_ratio = {self.l1_ratio_:g}"

    @property
    def dual_gap_(self) -> float | FloatArray:
        """The duality gap of the fit, which bounds the distance of the objective from its minimum."""
        return dual_gap(self)

    def _contents(self) -> Contents:
        contents = super()._contents()
        return replace(contents, arrays={**contents.arrays, **choice_arrays(self, _CHOSEN)})

    def _restore_choice(self, contents: Contents) -> None:
        self.alpha_, self.l1_ratio_ = (float(contents.arrays[name]) for name in ("alpha", "l1_ratio"))
        self.alphas_, self.mse_path_ = contents.arrays["alphas"], contents.arrays["mse_path"]


class LassoCV(ElasticNetCV):
    """Lasso whose penalty is chosen by cross-validation.

    As scikit-learn's LassoCV: :class:`~suffice.ElasticNetCV` with ``l1_ratio=1``.

    Parameters
    ----------
    eps, alphas, fit_intercept, cv, positive
        As for :class:`~suffice.ElasticNetCV`.
    precompute, copy_X, random_state, selection, max_iter, tol
        As in scikit-learn. The minimum does not depend on them: it is computed from the sums up to rounding.
    verbose, n_jobs, device
        As for :class:`~suffice.ElasticNetCV`.

    Attributes
    ----------
    alpha_ : the chosen penalty
    alphas_ : the grid, (a,), the largest first
    mse_path_ : mean squared errors of the folds, (a, folds)
    coef_ : (d,)
    intercept_ : float
    dual_gap_ : bound of the distance of the objective from its minimum
    n_iter_ : number of passes over the rows
    statistics_ : the normal equations of all rows
    dependent_columns_ : list
        The columns that are linear combinations of earlier columns, with those.
    l1_ratio_ : float
        The chosen share of the l1 penalty.
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
    >>> random = np.random.default_rng(0)
    >>> x = random.normal(size=(100, 5))
    >>> y = x[:, 0] + random.normal(size=100)
    >>> model = LassoCV(cv=4).fit(x, y)
    >>> round(model.alpha_, 3), model.coef_.round(2)
    (0.076, array([0.83, 0.02, 0.  , 0.  , 0.  ]))
    """

    l1_ratio: float = 1.0
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("eps", "alphas", "fit_intercept", "cv", "positive")

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: int | NumbersLike = 100,
        fit_intercept: bool = True,
        precompute: bool | str | MatrixLike = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: FoldsLike = None,
        verbose: bool = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: RandomState = None,
        selection: str = "cyclic",
        device: str | None = None,
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.device = device


def alpha_grid(largest: float, count: int, eps: float) -> FloatArray:
    """Return penalties, evenly spaced on the log scale, from the largest down to its share eps.

    Examples
    --------
    >>> alpha_grid(2.0, 3, 0.01)
    array([2.  , 0.2 , 0.02])
    """
    least = float(np.finfo(np.float64).resolution)
    if largest <= least:
        return np.full(count, least)
    return np.geomspace(largest, largest * eps, num=count)
