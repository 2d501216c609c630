"""Inference about the coefficients of a fitted model, and goodness of fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import stats

from suffice.discriminative.summary import Summary
from suffice.kernels import errors
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics.base import FloatArray

#: What the likelihood of sampling weights is.
PSEUDO_LIKELIHOOD = "weights='sampling': log-likelihood, AIC, BIC and deviance are of weighted rows, and no test"


def notes_on_rows(rows: float, rank: int, noise: bool) -> list[str]:
    """Return a note if frequency weights leave no residual degrees of freedom, or are not whole numbers.

    Parameters
    ----------
    rows
        The total weight of the rows.
    rank
        Number of fitted parameters.
    noise
        Whether standard errors depend on the residual degrees of freedom.

    Examples
    --------
    >>> notes_on_rows(100.0, 2, noise=True)
    []
    >>> print(*notes_on_rows(1.0, 2, noise=True))
    the rows' weights, 1 each by default, sum to 1 and leave no residual degrees of freedom for 2 parameters: there \
are no standard errors; sample_weight counts rows: if it is relative, give weights='precision' or 'sampling', or \
scale it to sum to the number of rows
    """
    cure = (
        "sample_weight counts rows: if it is relative, give weights='precision' or 'sampling', or scale it to sum to "
        "the number of rows"
    )
    if rows < rank or (noise and rows <= rank):
        unknown = ": there are no standard errors" if noise else ""
        few = f"sum to {rows:g} and leave no residual degrees of freedom for {rank} parameters{unknown}"
        return [f"the rows' weights, 1 each by default, {few}; {cure}"]
    if abs(rows - round(rows)) > 1e-9 * rows:
        return [f"rows, residual df and standard errors are based on weights that sum to {rows:g}; {cure}"]
    return []


def note_on_ridge(penalty: str, kind: str) -> str:
    """Return what a ridge penalty does to standard errors and criteria.

    Examples
    --------
    >>> note_on_ridge("alpha = 2", "HC3").partition("; ")[0]
    'alpha = 2: HC3 standard errors do not tell how far the coefficients were shrunk'
    """
    errors = "standard errors are those of the posterior under a Gaussian prior"
    if kind != "classical":
        errors = f"{kind} standard errors do not tell how far the coefficients were shrunk"
    return f"{penalty}: {errors}; AIC and BIC count every coefficient"


def note_on_fractions(family: str, rows: int) -> str:
    """Return what targets that are no counts do to the likelihood of counts.

    Examples
    --------
    >>> note_on_fractions("poisson", 3)
    "y is not a whole number in 3 rows: standard errors and log-likelihood are those of counts; give counts and their \
exposure, or dispersion='pearson'"
    """
    what, cure = "y is not a whole number", "counts and their exposure"
    if family == "bernoulli":
        what, cure = "the number of successes, y times the trials, is not whole", "successes and their trials"
    often = f"{rows:,} row{'s' if rows > 1 else ''}"
    return (
        f"{what} in {often}: standard errors and log-likelihood are those of counts; give {cure}, or "
        "dispersion='pearson'"
    )


def check_level(level: float) -> None:
    """Raise if the level of an interval is not between 0 and 1."""
    if not (isinstance(level, int | float | np.number) and 0 < level < 1):
        raise ValueError(f"level must be a probability between 0 and 1, as 0.95; got {level!r}")


class WaldTest(NamedTuple):
    """A test of linear combinations of coefficients by their covariance."""

    statistic: float  #: chi-squared; or F, where the dispersion is estimated
    df: int  #: number of independent combinations
    df_residual: float  #: the denominator of F; infinite for chi-squared
    p: float


@dataclass(frozen=True, eq=False)
class Inference:
    """Inference about each parameter of a fitted model, and facts about the fit.

    Examples
    --------
    >>> fit = Inference(
    ...     "LinearRegression (gaussian/identity)", ("intercept", "x0"), np.array([1.0, 2.0]), np.diag([0.25, 0.25]),
    ...     distribution="t", df_residual=8.0, rows=10.0, rank=2, log_likelihood=-12.0, null_log_likelihood=-20.0,
    ...     deviance=6.0, null_deviance=30.0, dispersion=0.75, estimates_dispersion=True,
    ... )
    >>> fit.statistic
    array([2., 4.])
    >>> fit.interval(0.95).round(3)
    array([[-0.153,  2.153],
           [ 0.847,  3.153]])
    >>> fit.aic, fit.explained
    (30.0, 0.8)
    """

    title: str  #: the model, its family and link
    names: tuple[str, ...]  #: of the q parameters
    estimate: FloatArray  #: (q,)
    covariance: FloatArray | None  #: (q, q), NaN for parameters that are not identified; None if unknown
    distribution: Literal["z", "t"]  #: of estimate / standard error: normal, or Student's with df_residual
    df_residual: float
    rows: float  #: total weight of the rows
    rank: int  #: number of identified parameters
    log_likelihood: float
    null_log_likelihood: float  #: of the null model: an intercept, if there is one, and offsets
    deviance: float
    null_deviance: float
    dispersion: float
    df_tests: float | None = None  #: of Student's t and the denominator of F; None for ``df_residual``
    covariance_title: str = ""  #: the kind, with the number of clusters or lags; by default the kind alone
    covariance_kind: str = "classical"  #: or a robust one of :data:`~suffice.discriminative.robust.COVARIANCES`
    notes: tuple[str, ...] = ()  #: notes on the numbers
    intercept: bool = True  #: whether the model has one; if not, the null model predicts 0, as in R
    shapes: int = 0  #: number of estimated parameters of the family, as theta of a negative binomial
    density: bool = False  #: whether the likelihood is that of a density, which may be larger than 1
    estimates_dispersion: bool = False  #: whether AIC and BIC count the dispersion as a parameter, as in R
    least_squares: bool = False  #: whether the response is gaussian with the identity link: there are R² and an F test
    targets: int = 1  #: number of targets, each with its own dispersion

    def __post_init__(self) -> None:
        parameters = len(self.names)
        object.__setattr__(self, "estimate", np.asarray(self.estimate, dtype=np.float64))
        if self.estimate.shape != (parameters,):
            raise errors.wrong_shape("estimate", f"({parameters},), one for each name", self.estimate.shape)
        if self.covariance is not None:
            object.__setattr__(self, "covariance", np.asarray(self.covariance, dtype=np.float64))
            if self.covariance.shape != (parameters, parameters):
                raise errors.wrong_shape("covariance", f"({parameters}, {parameters})", self.covariance.shape)
        object.__setattr__(self, "df_tests", float(self.df_residual if self.df_tests is None else self.df_tests))
        object.__setattr__(self, "covariance_title", self.covariance_title or self.covariance_kind)
        if self.distribution not in ("z", "t"):
            raise ValueError(f"distribution must be 'z' or 't'; got {self.distribution!r}")

    @property
    def standard_errors(self) -> FloatArray:
        """The standard error of each parameter, (q,); NaN if unknown."""
        if self.covariance is None:
            return np.full(len(self.names), np.nan)
        variance = np.diagonal(self.covariance)
        return np.sqrt(np.where(variance >= 0, variance, np.nan))

    @property
    def statistic(self) -> FloatArray:
        """Each estimate over its standard error, (q,): z or t, as ``distribution`` says."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.estimate / self.standard_errors

    @property
    def p_values(self) -> FloatArray:
        """Two-sided p-values of the hypothesis that a parameter is 0, (q,)."""
        return np.asarray(2 * self._law().sf(np.abs(self.statistic)))

    def critical_value(self, level: float) -> float:
        """Return the half-width of an interval in standard errors."""
        check_level(level)
        return float(self._law().isf((1 - level) / 2))

    def interval(self, level: float = 0.95) -> FloatArray:
        """Return the confidence interval of each parameter, (q, 2)."""
        reach = self.critical_value(level) * self.standard_errors
        return np.column_stack([self.estimate - reach, self.estimate + reach])

    @property
    def n_parameters(self) -> int:
        """Number of parameters in AIC and BIC: the rank, and an estimated dispersion, as in R's ``logLik``."""
        return self.rank + self.targets * self.estimates_dispersion + self.shapes

    @property
    def aic(self) -> float:
        """Akaike information criterion: 2 parameters - 2 log-likelihood."""
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Bayesian information criterion: log(rows) parameters - 2 log-likelihood."""
        return (self.n_parameters * float(np.log(self.rows)) if self.rows > 0 else np.nan) - 2 * self.log_likelihood

    @property
    def adjusted_r2(self) -> float:
        """Adjusted R² of least squares with one target; else NaN."""
        total = self.rows - self.intercept
        if not self.least_squares or self.targets > 1 or not self.df_residual > 0 or not total > 0:
            return np.nan
        return 1 - (1 - self.explained) * total / self.df_residual

    @property
    def f_test(self) -> WaldTest | None:
        """The test that all coefficients but the intercept are 0, for least squares with one target; else None.

        With the classical covariance it is the F test of R's ``summary(lm)``; with another, the Wald test.
        """
        if not self.least_squares or self.targets > 1 or self.covariance is None:
            return None
        identified = np.isfinite(np.diagonal(self.covariance))
        identified[: int(self.intercept)] = False
        places = np.flatnonzero(identified)
        if not (len(places) and self.df_residual > 0):
            return None
        if self.covariance_kind != "classical" and len(places) < self.rank - self.intercept:
            return None  # rows of leverage 1 leave some variances unknown
        found = self.wald_test(np.eye(len(self.names))[places])
        return None if np.isnan(found.statistic) else found

    def wald_test(self, directions: FloatArray, values: FloatArray | float = 0.0) -> WaldTest:
        """Return the Wald test that linear combinations of the parameters, (k, q), have these values, (k,).

        NaN where their covariance is singular, as that of fewer groups than combinations.

        Examples
        --------
        >>> fit = Inference(
        ...     "GLM (poisson/log)", ("a", "b"), np.array([1.0, 2.0]), np.eye(2), distribution="z", df_residual=8.0,
        ...     rows=10.0, rank=2, log_likelihood=-12.0, null_log_likelihood=-20.0, deviance=6.0, null_deviance=30.0,
        ...     dispersion=1.0,
        ... )
        >>> fit.wald_test(np.eye(2)).statistic
        5.0
        """
        if self.covariance is None:
            raise ValueError("there is no test: the covariance of the coefficients is unknown; see the summary's notes")
        directions = np.atleast_2d(np.asarray(directions, dtype=np.float64))
        used = np.flatnonzero((directions != 0).any(axis=0))
        spread = directions[:, used] @ self.covariance[np.ix_(used, used)] @ directions[:, used].T
        if not np.isfinite(spread).all():
            bad = used[~np.isfinite(np.diagonal(self.covariance)[used])]
            raise ValueError(
                f"there is no test: the coefficient {self.names[bad[0]]} is not identified, or its variance is "
                "unknown; see the notes of the summary"
            )
        distance = directions[:, used] @ self.estimate[used] - values
        factored, df = Symmetric.of(spread), int(np.linalg.matrix_rank(directions))
        if factored.rank < df:  # of fewer groups than coefficients, or of a perfect fit
            return WaldTest(np.nan, df, self._df_of_tests, np.nan)
        chi2 = float(distance @ factored.solve(distance))
        if self.distribution == "z":
            return WaldTest(chi2, df, np.inf, float(stats.chi2.sf(chi2, df)))
        free = self._df_of_tests
        return WaldTest(chi2 / df, df, free, float(stats.f.sf(chi2 / df, df, free)))

    @property
    def pseudo_r2(self) -> float:
        """McFadden's R², 1 - log-likelihood / null log-likelihood; NaN for densities, where it has no meaning."""
        known = self.null_log_likelihood and not self.density
        return 1 - self.log_likelihood / self.null_log_likelihood if known else np.nan

    @property
    def explained(self) -> float:
        """The share of the null deviance that the model explains: R² for a gaussian response, as in R.

        Without an intercept the null model predicts 0, and the deviances are not centred.
        """
        return 1 - self.deviance / self.null_deviance if self.null_deviance else np.nan

    def summary(self, level: float = 0.95) -> Summary:
        """Return a table of the results, with confidence intervals."""
        return Summary(self, level)

    def __str__(self) -> str:
        return str(self.summary())

    def _law(self) -> Any:
        return stats.norm() if self.distribution == "z" else stats.t(self._df_of_tests)

    @property
    def _df_of_tests(self) -> float:
        """The degrees of freedom of Student's t and the denominator of F; infinite for normal tests."""
        free = self.df_residual if self.df_tests is None else self.df_tests
        return np.inf if self.distribution == "z" else free
