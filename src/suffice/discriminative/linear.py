"""Linear regression: least squares from normal equations, with exact streaming, merging and forgetting."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from suffice.discriminative.least_squares import StreamedLeastSquares
from suffice.discriminative.normal_equations import Penalty
from suffice.discriminative.penalties import Scale

if TYPE_CHECKING:
    from suffice.typing import RandomState, SolverLike


class LinearRegression(StreamedLeastSquares):
    """Linear regression: least squares, by normal equations.

    The model keeps the sums ``XᵀX``, ``Xᵀy`` and ``yᵀy`` about the means, not the rows, so that :meth:`partial_fit`,
    :meth:`forget` and ``+`` are exact. A warning names collinear columns; the solution is then that of least norm.
    :class:`~suffice.Ridge`, :class:`~suffice.Lasso` and :class:`~suffice.ElasticNet` add a penalty.

    Parameters
    ----------
    solver
        ``"normal"``: the normal equations. ``"newton"``, ``"batch"``, ``"stochastic"``, or a solver of
        :mod:`suffice.solvers`: iterations over the rows.
    fit_intercept
        Whether there is an intercept.
    positive
        Whether coefficients, other than the intercept, are at least 0. There are no standard errors then.
    weights
        Meaning of ``sample_weight``: ``"frequency"``, number of observations of the row; ``"precision"``, inverse
        variance of its y, as the weights of R's ``lm``; ``"sampling"``, inverse probability of selection, with robust
        errors (``"HC1"`` if ``covariance="classical"``).
    dispersion
        Variance of the noise: ``"family"`` or ``"pearson"``, estimated from the residuals; or its known value.
    covariance
        Covariance of the coefficients, for all standard errors and intervals: ``"classical"``; ``"HC0"`` to ``"HC4"``,
        robust to heteroscedasticity; ``"clustered"``, robust to dependence within groups, with tests by t with
        groups - 1 degrees of freedom (``"clustered-residual-df"``: as without groups, which is R's); ``"newey-west"``,
        robust to autocorrelation of rows in time order. All but the classical one need :meth:`fit`.
    lags
        Number of lags of ``"newey-west"``; None for ``4 (n / 100)^(2/9)``, which the summary shows.
    tol, max_iter, random_state
        For the solvers other than ``"normal"``.
    copy_X
        As in scikit-learn; rows are never changed.
    verbose
        Whether each pass over the rows is printed to stderr.
    n_jobs
        Number of threads: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine.
    device
        None: the device that holds the rows. ``"cuda"``: rows in host memory are streamed through the GPU.

    Attributes
    ----------
    coef_ : (d,), or (t, d) for several targets
    intercept_ : float, or (t,)
    theta_ : (p, t), intercept and coefficients
    covariance_ : (q, q), of theta column by column, with the names of the coefficients
    statistics_ : the normal equations
    rank_ : number of independent columns
    dependent_columns_ : the columns that are linear combinations of earlier columns, with those
    n_iter_ : int or ndarray of int
        Number of iterations of the solver.
    solution_ : Solution
        The result of the solver, where an iterative solver was used: theta, reason of stopping, trace.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 7.5])
    >>> model = LinearRegression().fit(x, y)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([2.15]), 0.9)
    >>> low, high = model.predict_interval([[4.0]], of="observation")
    >>> low.round(3), high.round(3)
    (array([8.183]), array([10.817]))
    >>> model.forget(x[3:], y[3:]).coef_.round(6)
    array([2.])
    """

    _penalty_scale: ClassVar[Scale] = "none"

    def __init__(
        self,
        solver: SolverLike = "normal",
        *,
        fit_intercept: bool = True,
        positive: bool = False,
        weights: str = "frequency",
        dispersion: str | float = "family",
        covariance: str = "classical",
        lags: int | None = None,
        tol: float = 1e-8,
        max_iter: int | None = 1000,
        random_state: RandomState = 0,
        copy_X: bool = True,
        verbose: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.weights = weights
        self.dispersion = dispersion
        self.covariance = covariance
        self.lags = lags
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.device = device

    def _penalty(self) -> Penalty:
        return Penalty.none(self._memory.targets)._replace(positive=bool(self._params.positive))
