"""Ridge regression with the penalty chosen by cross-validation: exact leave-one-out, or folds from their sums."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import check_scoring
from sklearn.utils import check_scalar

from suffice import validation
from suffice.data import Dataset, EncodedDataset, as_dataset
from suffice.data.dataset import read_again
from suffice.data.refusals import refused_in_parts
from suffice.discriminative.least_squares import LeastSquaresModel
from suffice.discriminative.least_squares_folds import (
    FoldSums,
    choice_arrays,
    held_out_squares,
    intercepts_of,
    rows_at,
    splits_of,
    sum_folds,
)
from suffice.discriminative.normal_equations import Penalty, products_of, solve_penalised
from suffice.discriminative.orthogonal import weighted_blocks
from suffice.discriminative.ridge import ridge_penalty
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import dense, is_sparse
from suffice.statistics import NormalEquations
from suffice.statistics.base import FloatArray
from suffice.store import Contents

if TYPE_CHECKING:
    from suffice.typing import FoldsLike, MatrixLike, NumbersLike, ScoringLike, VectorLike

#: Scores of rows held out that are computed from sums.
_FROM_SUMS = (None, "r2", "neg_mean_squared_error", "neg_root_mean_squared_error")


class RidgeCV(LeastSquaresModel):
    """Ridge regression whose penalty is chosen by cross-validation.

    As scikit-learn's RidgeCV. With ``cv=None`` each row is predicted from all others, exactly: the sums have the
    coefficients, and a second pass the leverage of each row, for all penalties together. With folds, the rows of each
    fold are summed once, and all scores are computed from these sums.

    Parameters
    ----------
    alphas
        The penalties to choose from: above 0 for leave-one-out.
    fit_intercept
        Whether there is an intercept.
    scoring
        None: mean squared error of leave-one-out, R² of folds. A name of scikit-learn's scorers, or a scorer: those
        that are not sums over rows need rows in memory. Scores of folds are weighted by ``sample_weight``, unlike those
        of scikit-learn.
    cv
        None for leave-one-out; the number of folds, in the order of the rows; a splitter of scikit-learn; or pairs of
        row numbers of training and test rows. Rows in parts take None or a number.
    gcv_mode
        As in scikit-learn; there is one computation.
    store_cv_results
        Whether ``cv_results_`` is kept: rows in memory, leave-one-out.
    alpha_per_target
        Whether each target has a penalty of its own: leave-one-out.
    n_jobs
        Number of threads: None for all permitted cores, -1 for all cores of the machine.
    device
        None: the device that holds the rows. ``"cuda"``: rows in host memory are streamed through the GPU.

    Attributes
    ----------
    alpha_ : the chosen penalty, or one for each target, (t,)
    best_score_ : its score, or one for each target
    cv_results_ : (n, a), or (n, t, a), with ``store_cv_results``: squared errors of rows left out; with a scoring,
        predictions of them
    coef_ : (d,), or (t, d) for several targets
    intercept_ : float, or (t,)
    statistics_ : the normal equations of all rows
    covariance_ : Covariance
        The covariance of theta, (q, q), column by column, with the names of the coefficients.
    dependent_columns_ : list
        The columns that are linear combinations of earlier columns, with those.
    n_iter_ : int or ndarray of int
        Number of iterations of the solver.
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
    >>> x = random.normal(size=(40, 3))
    >>> y = x[:, 0] + random.normal(size=40)
    >>> model = RidgeCV(alphas=[1.0, 10.0, 100.0]).fit(x, y)
    >>> model.alpha_, round(model.best_score_, 3)
    (1.0, -1.027)
    """

    _estimated_by: ClassVar[tuple[str, ...]] = ()
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("alphas", "fit_intercept", "scoring", "cv", "alpha_per_target")
    alpha_: Any
    best_score_: Any

    def __init__(
        self,
        alphas: NumbersLike = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: ScoringLike = None,
        cv: FoldsLike = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.n_jobs = n_jobs
        self.device = device

    def is_penalised(self) -> bool:
        """Whether the parameters have a penalty: always."""
        return True

    def _check_settings(self) -> None:
        alphas = list(np.atleast_1d(np.asarray(self.alphas, dtype=object)))
        bounds = "neither" if self.cv is None else "left"
        for place, alpha in enumerate(alphas):
            name = f"alphas[{place}]" if len(alphas) > 1 else "alphas"
            check_scalar(alpha, name, Real, min_val=0.0, include_boundaries=bounds)
        if not alphas:
            raise ValueError("alphas is empty: give at least one penalty")
        if self.gcv_mode not in (None, "auto", "svd", "eigen"):
            raise ValueError(f"gcv_mode must be None, 'auto', 'svd' or 'eigen'; got {self.gcv_mode!r}")
        for name in ("store_cv_results", "alpha_per_target"):
            if self.cv is not None and getattr(self, name):
                raise ValueError(f"cv!=None and {name}=True are incompatible")
        super()._check_settings()

    def fit(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Choose the penalty, and fit the model to all rows.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their targets and weights, as for :meth:`suffice.Ridge.fit`. A stream is read twice.
        """
        with self._learning(anew=True):
            self._forget_the_rows()
            self.__dict__.pop("cv_results_", None)
            given = as_dataset(X, y=y, sample_weight=sample_weight)
            with nullcontext(given) if given.in_memory is not None else read_again(given) as data:
                if self.cv is None:
                    self._leave_one_out(data)
                else:
                    self._by_folds(data, sum_folds(self, data, self.cv))
            self.solution_ = self._as_solution()
            _ = self.coef_  # computed now: predictions do not change the model
        return self

    @property
    def _grid(self) -> FloatArray:
        return np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))

    # Leave-one-out.

    def _leave_one_out(self, data: Dataset) -> None:
        batches = self._encode(data, reset=True)
        rows: Batch | None = batches.in_memory
        if rows is None and (self.scoring is not None or self.store_cv_results):
            what = "store_cv_results=True" if self.scoring is None else f"scoring={self.scoring!r}"
            raise refused_in_parts("rows in memory", f"RidgeCV({what})")
        self._remember(*self._sum(batches, reset=True, aggregates=data.aggregates))
        encoded = EncodedDataset.of_parts(batches, self._engine)
        kept = LeaveOneOut.of(self._memory, bool(self.fit_intercept), self._grid)
        with validation.naming_cells():
            if rows is None or (self.scoring is None and not self.store_cv_results):
                squares, count = encoded.reduce(partial(_left_out_squares, kept))
                scores = -squares.T / count  # (a, t)
            else:
                errors = np.concatenate([kept.errors(x, y) for x, y in kept.blocks(rows)])  # (n, a, t)
                scores = self._scores_of_errors(rows, errors)
        encoded.release()
        apart = self.alpha_per_target and not self._one_target
        scores = scores if apart else scores.mean(axis=1, keepdims=True)
        best = scores.argmax(axis=0)
        self.alpha_ = self._grid[best] if apart else float(self._grid[best[0]])
        self.best_score_ = scores.max(axis=0) if apart else float(scores.max())

    def _scores_of_errors(self, rows: Batch, errors: FloatArray) -> FloatArray:
        """Return the score of each penalty and target, (a, t), or of all targets together, (a, 1)."""
        results = np.moveaxis(errors, 1, 2) ** 2  # (n, t, a)
        scores: FloatArray = -results.mean(axis=0).T
        if self.scoring is not None:
            targets = np.asarray(to_host(rows.y), dtype=np.float64).reshape(rows.rows, -1)
            root = np.ones(rows.rows) if rows.weight is None else np.sqrt(to_host(rows.weight))
            with np.errstate(divide="ignore", invalid="ignore"):
                off = np.where(root[:, None, None] > 0, errors / root[:, None, None], 0.0)
            results = targets[:, :, None] - np.moveaxis(off, 1, 2)  # predictions
            scores = self._scored(results, targets, None if rows.weight is None else to_host(rows.weight))
        if self.store_cv_results:
            self.cv_results_ = results[:, 0] if self._one_target else results
        return scores

    def _scored(self, predictions: FloatArray, targets: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return the scores of predictions, (n, t, a), by a scorer: (a, t) for each target apart, else (a, 1)."""
        scorer = check_scoring(self, self.scoring)
        more = {} if weight is None else {"sample_weight": weight}
        alphas = range(predictions.shape[2])
        if self.alpha_per_target:
            places = range(targets.shape[1])
            return np.array(
                [[scorer(_Same(), predictions[:, t, a], targets[:, t], **more) for t in places] for a in alphas]
            )
        shown = targets[:, 0] if self._one_target else targets
        seen = predictions[:, 0] if self._one_target else predictions
        return np.array([[scorer(_Same(), seen[..., a], shown, **more)] for a in alphas])

    # Folds.

    def _by_folds(self, data: Dataset, folds: FoldSums) -> None:
        self._one_target = folds.whole.one_target
        self._remember(folds.whole.equations, folds.whole.observations)
        intercept = bool(self.fit_intercept)
        coefs = [np.stack([self._coef_under(sums, alpha) for alpha in self._grid]) for sums in folds.others]
        levels = [intercepts_of(sums, intercept, each) for sums, each in zip(folds.others, coefs, strict=True)]
        if isinstance(self.scoring, str | None) and self.scoring in _FROM_SUMS:
            per_fold = [
                score_from_sums(self.scoring, *each) for each in zip(folds.held_out, coefs, levels, strict=True)
            ]
        else:
            rows = self._encode(data, reset=False).in_memory
            if rows is None:
                raise refused_in_parts("rows in memory", f"RidgeCV(scoring={self.scoring!r})")
            per_fold = [
                self._fold_scores(rows_at(rows, test), *each)
                for (_, test), *each in zip(splits_of(self.cv, rows), coefs, levels, strict=True)
            ]
        scores = np.mean(per_fold, axis=0)
        best = int(scores.argmax())
        self.alpha_, self.best_score_ = float(self._grid[best]), float(scores[best])

    def _coef_under(self, sums: NormalEquations, alpha: float) -> FloatArray:
        penalty = ridge_penalty(alpha, sums.targets, positive=False)
        return solve_penalised(products_of(sums, bool(self.fit_intercept)), penalty)[0]

    def _fold_scores(self, rows: Batch, coefs: FloatArray, levels: FloatArray) -> FloatArray:
        """Return the score of each penalty on rows held out, (a,), by a scorer."""
        part = slice(rows.start, rows.stop)
        x = dense(rows.x[part]) if is_sparse(rows.x) else np.asarray(to_host(rows.x[part]), dtype=np.float64)
        targets = np.asarray(to_host(rows.y[part]), dtype=np.float64).reshape(len(x), -1)
        predictions = np.einsum("nd,adt->nta", x, coefs) + levels.T
        weight = None if rows.weight is None else to_host(rows.weight[part])
        return self._scored(predictions, targets, weight)[:, 0]

    def _penalty(self) -> Penalty:
        return ridge_penalty(self.alpha_, self._memory.targets, positive=False)

    def _penalty_named(self) -> str:
        return f"alpha = {np.ravel(self.alpha_)[0]:g}"

    def _contents(self) -> Contents:
        contents = super()._contents()
        chosen = choice_arrays(self, ("alpha", "best_score", "cv_results"))
        return replace(contents, arrays={**contents.arrays, **chosen})

    def _restore_choice(self, contents: Contents) -> None:
        alpha, score = contents.arrays["alpha"], contents.arrays["best_score"]
        self.alpha_, self.best_score_ = (each if each.ndim else float(each) for each in (alpha, score))
        if "cv_results" in contents.arrays:
            self.cv_results_ = contents.arrays["cv_results"]


class LeaveOneOut(NamedTuple):
    """Errors of rows that are predicted from all others, for several ridge penalties."""

    sums: NormalEquations
    intercept: bool
    vectors: FloatArray  # (d, d), principal axes of the features
    coefs: FloatArray  # (d, a, t), along the axes
    inverse: FloatArray  # (d, a), 1 / (squares along the axes + alpha)

    @classmethod
    def of(cls, sums: NormalEquations, intercept: bool, alphas: FloatArray) -> LeaveOneOut:
        """Return them for rows with these sums."""
        products = products_of(sums, intercept)
        squares, vectors = eigh(products.xx, check_finite=False)
        inverse = 1 / (np.maximum(squares, 0.0)[:, None] + alphas)
        return cls(sums, intercept, vectors, inverse[:, :, None] * (vectors.T @ products.xy)[:, None, :], inverse)

    def blocks(self, rows: Batch) -> Any:
        """Yield blocks of rows, with the intercept, and targets, times the roots of their weights."""
        return weighted_blocks(self.sums, self.intercept, rows)

    def errors(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the errors of a block of rows without each, times the root of its weight, (n, a, t).

        The error without a row is its residual divided by 1 - leverage.
        """
        first = int(self.intercept)
        along = x[:, first:] @ self.vectors
        residuals = y[:, None, :] - np.tensordot(along, self.coefs, axes=1)
        leverage = along**2 @ self.inverse
        if self.intercept:
            leverage += x[:, :1] ** 2 / self.sums.total
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = residuals / (1 - leverage)[:, :, None]
        return np.asarray(np.where(residuals == 0, 0.0, errors))


def _left_out_squares(kept: LeaveOneOut, rows: Batch, _: Any) -> Any:
    """Return the sums of squared errors, (t, a), and the number of rows."""
    total: Any = 0.0
    for x, y in kept.blocks(rows):
        total = total + (kept.errors(x, y) ** 2).sum(axis=0).T
    return _Counted(total, rows.rows)


class _Counted(NamedTuple):
    squares: FloatArray
    rows: int

    def __add__(self, other: Any) -> Any:
        return _Counted(self.squares + other.squares, self.rows + other.rows)


class _Same(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor that predicts its rows, for scorers."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing."""
        return self

    def predict(self, X: Any) -> Any:
        """Return the rows."""
        return X


def score_from_sums(
    scoring: str | None, sums: NormalEquations, coefs: FloatArray, intercepts: FloatArray
) -> FloatArray:
    """Return the score of each model on rows held out, (m,), from their sums; the mean over targets.

    Examples
    --------
    >>> line = NormalEquations(2.0, np.array([0.0, 1.0]), np.array([[2.0, 4.0], [4.0, 8.0]]), 1)
    >>> score_from_sums("r2", line, np.array([[[2.0]], [[0.0]]]), np.array([[1.0], [1.0]]))
    array([1., 0.])
    """
    squares = held_out_squares(sums, coefs, intercepts)
    if scoring == "neg_mean_squared_error":
        return np.asarray(-squares.mean(axis=1))
    if scoring == "neg_root_mean_squared_error":
        return np.asarray(-np.sqrt(squares).mean(axis=1))
    spread = np.diagonal(sums.yy) / sums.total
    shares = 1 - squares / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.where(spread > 0, shares, (squares == 0).astype(float)).mean(axis=1))
