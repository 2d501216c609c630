"""Gaussian discriminant analysis: a Gaussian per class, with covariances of several structures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from suffice.data.sql import DatabaseSums
from suffice.estimator import keeps_precision, matrix_html, read_attribute, row_wise
from suffice.families import MultivariateGaussian, SingularCovarianceError
from suffice.families.gaussian import LOG_2PI
from suffice.families.multivariate_gaussian import SingularGaussian
from suffice.generative import em_missing, leave_one_out
from suffice.generative.base import PriorsGiven, Tuned
from suffice.generative.conditional import Conditional, log_ratio
from suffice.generative.correlated import (
    STRUCTURES,
    Correlated,
    Structure,
    estimate_gaussians,
    is_ledoit_wolf,
    shrinkage_share,
)
from suffice.html_fragments import notes, title
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.errors import NonFiniteError
from suffice.kernels.libraries import dense
from suffice.kernels.protocol import Kernels
from suffice.selection.rows import Rows
from suffice.statistics import DiagonalMoments, Labels, QuarticMoments, Statistics
from suffice.statistics.base import FloatArray
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import ClassPriors, MatrixLike

#: Other words for a structure of covariances.
_SYNONYMS = {
    **dict.fromkeys(("shared", "pooled", "common", "lda", "linear"), "tied"),
    **dict.fromkeys(("separate", "qda", "quadratic"), "full"),
    "diag": "diagonal",
}
#: Most covariances of a model in a notebook.
_MOST_COVARIANCES = 4
SHRINKAGES = (0.0, *(float(share) for share in np.logspace(-4, 0, 17)))


class GDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PriorsGiven):  # type: ignore[misc]
    """Gaussian discriminant analysis: x | y ~ N(mu_y, Sigma), fitted by maximum likelihood.

    With one covariance for all classes the posterior is the logistic (softmax) function of a linear form, as in
    scikit-learn's ``LinearDiscriminantAnalysis``; with one per class the boundaries are quadratic, as in its
    ``QuadraticDiscriminantAnalysis``.

    Parameters
    ----------
    covariance
        "tied" (one covariance for all classes), "full" (one per class), "diagonal" and "tied_diagonal" (independent
        features), "spherical" and "tied_spherical" (one variance for all features).
    shrinkage
        The share, 0 to 1, of the mean variance in each variance, and what is taken from each covariance: a number;
        "ledoit_wolf" for their estimate from the standardised rows of each class, which scikit-learn calls "auto", a
        word that is taken too: a "tied" covariance is then the average of the classes' shrunk covariances, weighted by
        the priors; "oas" for the oracle approximating shrinkage; "cv" to choose it by how well rows are predicted that
        were held out. "ledoit_wolf" and "oas" are for "tied" and "full". With shrinkage there may be more features than
        rows. None for none: directions in which rows of a class do not vary (constant features, linear combinations of
        others) are then left out of a "tied" covariance, with a warning, as scikit-learn does; other covariances are
        refused.
    priors
        The class priors, (k,), or a dictionary from class to prior; by default the classes' shares of the rows,
        "laplace" for these with one row more of each class.
    missing
        "em" to learn from rows with missing cells (NaN) by maximising the likelihood of what is known; None to refuse
        them. Predictions integrate missing cells out either way. What "em" keeps are expected sums: ``+`` adds them,
        which is not what a fit to all rows would have expected.
    n_components
        How many discriminant directions :meth:`transform` projects on, at most the smaller of the features and the
        classes less one; as many as there are by default.
    unbiased
        Whether covariances are divided by n - k ("tied") or n_k - 1 (one per class) instead of n or n_k, the maximum
        likelihood estimate.
    temperature
        Scores are divided by it: above 1, posteriors are less extreme; "auto" calibrates it on held-out rows.
    n_jobs
        Number of threads: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine.
    device
        None: the device that holds the rows. ``"cuda"``: rows in host memory are streamed through the GPU.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        The classes.
    means_ : ndarray of shape (k, d)
        The mean of each class.
    covariance_ : ndarray
        The covariance: (d, d) where it is shared, else (k, d, d); only variances for independent features.
    priors_ : ndarray of shape (k,)
        The class priors.
    xbar_ : ndarray of shape (d,)
        The mean of the classes, weighted by their priors.
    scalings_ : ndarray of shape (d, components)
        The discriminant directions.
    explained_variance_ratio_ : ndarray of shape (components,)
        The share of each direction in the variance between classes.
    coef_, intercept_ : ndarray
        The linear form of the log-odds, where they are linear in x: (1, d) and (1,) for two classes, else (k, d), (k,).
    shrinkage_ : float or ndarray of shape (k,)
        The shrinkage used: one for each class with "auto", and where covariances are not shared.
    class_count_ : ndarray of shape (k,)
        The weight of the rows of each class.
    joint_ : Joint
        The estimated p(x, y): its class conditionals, prior and temperature.
    statistics_ : Statistics
        The sum over all rows, from which the model is read.
    em_trace_ : list of float
        The log-likelihood after each step of expectation maximisation, where there were any.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["adelie", "gentoo"], 100)
    >>> X = rng.normal([190.0, 39.0], [6.0, 2.5], (200, 2)) + (y == "gentoo")[:, None] * [27.0, 8.5]
    >>> model = GDA().fit(X, y)
    >>> model.predict([[214.0, 46.0]])
    array(['gentoo'], dtype='<U6')
    >>> log_odds = model.coef_ @ [214.0, 46.0] + model.intercept_       # theta' x: a logistic form
    >>> bool(np.isclose(1 / (1 + np.exp(-log_odds))[0], model.predict_proba([[214.0, 46.0]])[0, 1]))
    True
    """

    _keeps_float32 = True
    _symbols: ClassVar[Mapping[str, str]] = {"mu": "means_", "sigma": "covariance_", "phi": "priors_"}
    _tuned: ClassVar[dict[str, Tuned]] = {"shrinkage": Tuned(SHRINKAGES, 0.1, word="cv")}

    def __init__(
        self,
        covariance: Literal["tied", "full", "diagonal", "tied_diagonal", "spherical", "tied_spherical"] = "tied",
        shrinkage: float | Literal["ledoit_wolf", "auto", "oas", "cv"] | None = None,
        priors: ClassPriors = None,
        *,
        missing: Literal["em"] | None = None,
        n_components: int | None = None,
        unbiased: bool = False,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.priors = priors
        self.missing = missing
        self.n_components = n_components
        self.unbiased = unbiased
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.device = device

    @classmethod
    def _conversion(cls, name: str, value: Any) -> str | None:
        if name in ("solver", "store_covariance"):
            return f"GDA has no {name}: one method serves all settings, and covariance_ is always there; leave it out"
        return super()._conversion(name, value)

    # What to sum, and how to read it.

    def _summed_parameters(self) -> dict[str, Any]:
        quartic = "auto" if is_ledoit_wolf(self._params.shrinkage) else None
        return {"covariance": self._params.covariance, "missing": self._params.missing, "shrinkage": quartic}

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.covariance not in STRUCTURES:
            other = _SYNONYMS.get(str(self.covariance).lower())
            meant = "" if other is None else f": it is covariance={other!r}"
            raise ValueError(f"covariance must be one of {', '.join(STRUCTURES)}; got {self.covariance!r}{meant}")
        if self.missing not in (None, "em"):
            raise ValueError(f"missing must be None or 'em'; got {self.missing!r}")
        if isinstance(self.shrinkage, str):
            if self.shrinkage not in ("ledoit_wolf", "auto", "oas", "cv"):
                raise ValueError(
                    "shrinkage must be a number from 0 to 1, 'ledoit_wolf' (or 'auto'), 'oas', 'cv' (chosen by "
                    f"held-out rows) or None; got {self.shrinkage!r}"
                )
            if self.shrinkage != "cv" and STRUCTURES[self.covariance].moments is DiagonalMoments:
                raise ValueError(
                    f"shrinkage={self.shrinkage!r} is for tied and full covariances; "
                    f"for covariance={self.covariance!r} give a number or 'cv'"
                )
            if is_ledoit_wolf(self.shrinkage) and self.missing is not None:
                raise ValueError(
                    f"shrinkage={self.shrinkage!r} needs the fourth moments of complete rows; with missing='em' give "
                    "a number, 'oas' or 'cv'"
                )
        elif self.shrinkage is not None and not 0 <= self.shrinkage <= 1:
            raise ValueError(f"shrinkage must be a number from 0 to 1; got {self.shrinkage!r}")
        if self.n_components is not None and not (isinstance(self.n_components, Integral) and self.n_components >= 1):
            raise ValueError(f"n_components must be a whole number of 1 or more, or None; got {self.n_components!r}")

    def _check_read(self) -> None:
        super()._check_read()
        wanted, classes, features = self._params.n_components, len(self.classes_), self.n_features_in_
        if wanted is not None and wanted > min(features, classes - 1):
            raise ValueError(
                "n_components cannot be larger than min(n_features, n_classes - 1); got "
                f"{wanted} for {features} features and {classes} classes"
            )

    @property
    def _structure(self) -> Structure:
        return STRUCTURES[self._params.covariance]

    def _sum_in_database(self, sums: DatabaseSums, labels: Labels) -> Any:
        return super()._sum_in_database(sums, labels) if self._params.missing is None else None

    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        if is_ledoit_wolf(self._params.shrinkage):
            return QuarticMoments.over(labels)
        if self._structure.moments is DiagonalMoments:
            return DiagonalMoments.over(labels, self._params.missing == "em")
        what: Callable[[Batch, Kernels], Statistics] = self._structure.moments.over(labels)
        return what

    def _sum(self, x: Any, codes: Any, weight: FloatArray | None, labels: Labels) -> Statistics:
        try:
            return super()._sum(x, codes, weight, labels)
        except NonFiniteError as error:
            if not np.isnan(error.value):
                raise
            cure = "give missing='em', or fill the cell"
            if self._params.missing == "em":
                cure = "rows with missing cells can be learned by fit, all at once, not added or taken out later"
            raise ValueError(f"Input X contains NaN: {error.entry}; {cure}") from None

    def _first_sum(self, rows: Rows) -> tuple[Statistics, list[float]]:
        if self._params.missing != "em" or self._structure.moments is DiagonalMoments:
            return super()._first_sum(rows)
        return em_missing.learn(self, rows.with_codes_here())

    def _conditional(self, statistics: Any) -> Conditional:
        estimate = partial(
            estimate_gaussians,
            statistics,
            self._structure,
            self._setting("shrinkage"),
            prior=self._prior(statistics),
            unbiased=bool(self._params.unbiased),
        )
        try:
            return estimate()
        except SingularCovarianceError as error:
            given = self._params.shrinkage is not None or self._params.missing is not None
            if given or not self._structure.tied:
                raise
            names = getattr(self, "feature_names_in_", None)
            feature = error.feature if names is None else repr(str(names[error.feature]))
            warn_user(
                f"feature {feature} does not vary within classes, or is a combination of others: directions in which "
                "the rows of a class do not vary are left out; drop the feature, or give shrinkage > 0"
            )
            return estimate(family=SingularGaussian)

    def _left_out(self, statistics: Any, rows: Rows) -> FloatArray:
        share = self._setting("shrinkage") or 0.0
        if self._params.unbiased:
            return super()._left_out(statistics, rows)
        if isinstance(statistics, DiagonalMoments):
            return leave_one_out.independent(self, statistics, rows, partial(left_variances, self._structure, share))
        if isinstance(statistics, QuarticMoments):
            return super()._left_out(statistics, rows)
        return leave_one_out.correlated(self, statistics, rows, self._structure.tied, share)

    # What was read.

    @read_attribute
    def priors_(self) -> FloatArray:
        """The class priors, (k,)."""
        return self.joint_.prior

    @read_attribute
    def means_(self) -> FloatArray:
        """The mean of each class, (k, d)."""
        conditional: Any = self.joint_.conditional
        means: FloatArray = conditional.family.mu
        return means

    @read_attribute
    def covariance_(self) -> FloatArray:
        """The covariance: (d, d) where it is shared, else (k, d, d); only variances for independent features."""
        family: Any = self.joint_.conditional.family  # type: ignore[attr-defined]
        if isinstance(family, MultivariateGaussian):
            return family.covariance
        variance: FloatArray = family.sigma2[0] if self._structure.tied else family.sigma2
        return variance

    @read_attribute
    def shrinkage_(self) -> float | FloatArray:
        """The shrinkage used: one share, or one for each class."""
        share: float | FloatArray = shrinkage_share(self.statistics_, self._structure, self._setting("shrinkage"))
        return share

    def _parameters_html(self) -> list[str]:
        names, classes = [str(name) for name in self._feature_names()], [str(label) for label in self.classes_]
        parts = [title("μ: the mean of each class"), matrix_html(names, self.means_.T, classes)]
        spread = self.covariance_
        if self._structure.moments is DiagonalMoments:
            columns = ["all classes"] if self._structure.tied else classes
            return [*parts, title("σ²: the variances"), matrix_html(names, np.atleast_2d(spread).T, columns)]
        if self._structure.tied:
            return [*parts, title("Σ: the covariance of all classes"), matrix_html(names, spread, names)]
        for label, matrix in zip(classes[:_MOST_COVARIANCES], spread, strict=False):
            parts += [title(f"Σ: the covariance of class {label}"), matrix_html(names, matrix, names)]
        left = len(classes) - _MOST_COVARIANCES
        return [*parts, notes([f"... and {left} more classes: covariance_"] if left > 0 else [])]

    def _theta(self) -> tuple[FloatArray, FloatArray]:
        joint = self.joint_ if hasattr(self, "_memory") else None
        conditional: Any = None if joint is None else joint.conditional
        if joint is None or len(joint.labels) == 2 or not (isinstance(conditional, Correlated) and conditional.is_tied):
            return super()._theta()
        theta = conditional.about(self.xbar_)
        return theta.coef / joint.temperature, (theta.intercept + joint.log_prior) / joint.temperature

    @row_wise("decision")
    @keeps_precision()
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the log-odds of the second of two classes, (n,), or scores of more classes, (n, k).

        The softmax of the scores is the posterior. With one full covariance they are ``X @ coef_.T + intercept_``; else
        log p(x, y), up to a constant.
        """
        self._check_fitted()
        rows = self._features(X, reset=False)
        joint = self.joint_
        conditional: Any = joint.conditional
        if len(joint.labels) == 2:
            log_posterior = to_host(self._score_features(joint, rows, "log_posterior"))
            return np.asarray(log_ratio(log_posterior[:, 1], log_posterior[:, 0]))
        if isinstance(conditional, Correlated) and conditional.is_tied:
            return conditional.linear(dense(rows), self.xbar_, joint.log_prior) / joint.temperature
        scores = to_host(self._score_features(joint, rows, "joint")) + 0.5 * LOG_2PI * self.n_features_in_
        return np.asarray(scores) / joint.temperature

    # Discriminant directions.

    @row_wise("component")
    @keeps_precision()
    def transform(self, X: MatrixLike) -> FloatArray:
        """Return the rows projected on the discriminant directions, (n, components).

        Along them the class means lie furthest apart, measured in the standard deviations within classes. A row with
        missing cells is projected where it is expected to be, given what is known of it.
        """
        self._check_fitted()
        rows = dense(self._features(X, reset=False))
        if np.isinf(rows).any():
            row, column = np.argwhere(np.isinf(rows))[0]
            raise ValueError(
                f"X[{row}, {column}] is {rows[row, column]:g}; it must be finite, or NaN where it is missing"
            )
        if np.isnan(rows).any():
            posterior = self._score_features(self.joint_.with_temperature(1.0), rows, "posterior")
            rows = em_missing.expected(rows, posterior, self.joint_)
        return np.asarray((rows - self.xbar_) @ self.scalings_)

    @read_attribute
    def xbar_(self) -> FloatArray:
        """The mean of the classes, weighted by their priors, (d,)."""
        return np.asarray(self.joint_.prior @ self.means_)

    @read_attribute
    def scalings_(self) -> FloatArray:
        """The discriminant directions, (d, components)."""
        return self._directions()[0]

    @read_attribute
    def explained_variance_ratio_(self) -> FloatArray:
        """The share of each discriminant direction in the variance between classes, (components,)."""
        return self._directions()[1]

    @property
    def _n_features_out(self) -> int:
        return int(self.scalings_.shape[1])

    def _directions(self) -> tuple[FloatArray, FloatArray]:
        """Return the discriminant directions, (d, components), and their shares of the variance between classes."""
        joint, conditional = self.joint_, self.joint_.conditional
        mu, centre = self.means_, self.xbar_
        if isinstance(conditional, Correlated) and conditional.is_tied:
            whitener = conditional.family.whitener
        else:
            covariance = self.covariance_ if self.covariance_.ndim > 1 else np.tile(self.covariance_, (len(mu), 1))
            within = np.tensordot(joint.prior, covariance, axes=1)
            within = np.diag(within) if within.ndim == 1 else within
            whitener = MultivariateGaussian(centre, within).whitener
        between = np.sqrt(joint.prior)[:, None] * (mu - centre) @ whitener.T
        _, strength, axes = np.linalg.svd(between, full_matrices=False)
        most = min(len(mu) - 1, mu.shape[1], int((strength > 1e-10 * strength.max(initial=0.0)).sum()))
        if self._params.n_components is not None and not 1 <= self._params.n_components <= max(most, 1):
            raise ValueError(f"n_components must be 1 to {most}; got {self._params.n_components!r}")
        if most == 0:
            raise ValueError("the class means do not differ, or there is one class only: there are no directions")
        chosen = slice(self._params.n_components or most)
        directions = (axes[chosen] @ whitener).T
        heaviest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
        shares = strength**2 / (strength**2).sum()
        return directions * np.sign(heaviest), shares[chosen]  # of two opposite directions always the same

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "em"
        return tags


def left_variances(
    structure: Structure, share: float, weights: FloatArray, spread: FloatArray, total: FloatArray, overall: FloatArray
) -> FloatArray:
    """Return the variances of each class, (n, k, d), from what is left for each row."""
    if structure.tied:
        variance = np.broadcast_to(spread.sum(axis=1, keepdims=True) / total[:, None, None], spread.shape)
    else:
        variance = spread / weights[:, :, None]
    level = variance.mean(axis=2, keepdims=True)
    return np.broadcast_to(level, spread.shape) if structure.spherical else (1 - share) * variance + share * level
