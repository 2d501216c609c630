"""Ridge regression from normal equations, with exact streaming, merging and forgetting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from suffice.discriminative.least_squares import StreamedLeastSquares
from suffice.discriminative.normal_equations import Penalty
from suffice.discriminative.penalties import Scale

if TYPE_CHECKING:
    from suffice.typing import NumbersLike, RandomState, SolverLike

#: scikit-learn's names of solvers. They have one minimum, which the normal equations give.
SKLEARN_SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


class Ridge(StreamedLeastSquares):
    """Ridge regression: minimises ``|y - X w|² + alpha |w|²``, by normal equations.

    As scikit-learn's Ridge. The model keeps the sums of :class:`~suffice.LinearRegression`, so that
    :meth:`partial_fit`, :meth:`forget` and ``+`` are exact, and ``with_params(alpha=...)`` needs no rows.

    Parameters
    ----------
    alpha
        Penalty, 0 or more; or one for each target, (t,). The intercept is not penalised.
    fit_intercept
        Whether there is an intercept.
    copy_X
        As in scikit-learn; rows are never changed.
    max_iter, tol, random_state
        For solvers that read the rows.
    solver
        ``"auto"``, and every other name of scikit-learn's: the normal equations. ``"newton"``, ``"batch"``,
        ``"stochastic"``, or a solver of :mod:`suffice.solvers`: iterations over the rows.
    positive
        Whether coefficients, other than the intercept, are at least 0. There are no standard errors then.
    weights, dispersion, covariance, lags
        As for :class:`~suffice.LinearRegression`. Classical standard errors are those of the posterior under a Gaussian
        prior.
    verbose
        Whether each pass over the rows is printed to stderr.
    n_jobs
        Number of threads: None for all permitted cores, -1 for all cores of the machine.
    device
        None: the device that holds the rows. ``"cuda"``: rows in host memory are streamed through the GPU.

    Attributes
    ----------
    coef_ : (d,), or (t, d) for several targets
    intercept_ : float, or (t,)
    theta_ : (p, t), intercept and coefficients
    covariance_ : (q, q), of theta column by column, with the names of the coefficients
    statistics_ : the normal equations
    n_iter_ : number of passes over the rows
    solver_ : the solver of the fit
    dependent_columns_ : list
        The columns that are linear combinations of earlier columns, with those.
    rank_ : int
        Number of independent columns.
    solution_ : Solution
        The result of the solver, where an iterative solver was used: theta, reason of stopping, trace.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 7.0])
    >>> model = Ridge(alpha=1.0).fit(x[:2], y[:2]).partial_fit(x[2:], y[2:])
    >>> model.coef_.round(4), model.with_params(alpha=0.0).coef_.round(4)
    (array([1.6667]), array([2.]))
    """

    alpha: float | NumbersLike
    _estimated_by: ClassVar[tuple[str, ...]] = ("alpha", "fit_intercept", "positive")

    _penalty_scale: ClassVar[Scale] = "ridge"

    def __init__(
        self,
        alpha: float | NumbersLike = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-8,
        solver: SolverLike = "auto",
        positive: bool = False,
        random_state: RandomState = None,
        weights: str = "frequency",
        dispersion: str | float = "family",
        covariance: str = "classical",
        lags: int | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.weights = weights
        self.dispersion = dispersion
        self.covariance = covariance
        self.lags = lags
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.device = device

    def _check_settings(self) -> None:
        check_alpha(self.alpha)
        super()._check_settings()

    @property
    def _method(self) -> Any:
        return "normal" if isinstance(self.solver, str) and self.solver in SKLEARN_SOLVERS else self.solver

    @property
    def solver_(self) -> SolverLike:
        """The solver of the fit: ``"cholesky"``, of the normal equations, for ``"auto"``."""
        self._check_fitted()
        return "cholesky" if self._params.solver == "auto" else self._params.solver

    def _penalty(self) -> Penalty:
        return ridge_penalty(self._params.alpha, self._memory.targets, bool(self._params.positive))

    def _penalty_named(self) -> str:
        return f"alpha = {np.ravel(self._params.alpha)[0]:g}"


def check_alpha(alpha: Any) -> None:
    """Raise unless a penalty is a finite number, 0 or more, or an array of them."""
    try:
        values = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim > 1 or not values.size or not ((values >= 0) & np.isfinite(values)).all():
        raise ValueError(f"alpha must be a finite number, 0 or more, or one for each target; got {alpha!r}")


def ridge_penalty(alpha: Any, targets: int, positive: bool) -> Penalty:
    """Return the penalty of a ridge regression.

    Examples
    --------
    >>> ridge_penalty([1.0, 2.0], 2, False).l2
    array([1., 2.])
    """
    values = np.ravel(np.asarray(alpha, dtype=np.float64))
    if len(values) not in (1, targets):
        raise ValueError(
            f"Number of targets and number of penalties do not correspond: {len(values)} != {targets}; give one alpha, "
            "or one for each target"
        )
    return Penalty(0.0, np.array(np.broadcast_to(values, (targets,))), positive)
