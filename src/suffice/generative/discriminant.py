"""Gaussian discriminant analysis: a Gaussian per class, with covariances of several structures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from suffice.data.sql import DatabaseSums
from suffice.estimator import read_attribute, row_wise
from suffice.families import MultivariateGaussian
from suffice.families.gaussian import LOG_2PI
from suffice.families.priors import ledoit_wolf_shrinkage, oas_shrinkage
from suffice.generative import em_missing, leave_one_out
from suffice.generative.base import PriorsGiven
from suffice.generative.conditional import Conditional, Contributions, Theta
from suffice.generative.em_missing import patterns
from suffice.generative.gaussian_nb import Independent
from suffice.kernels import Batch
from suffice.kernels.errors import NonFiniteError
from suffice.kernels.inputs import JOINT, Reading
from suffice.kernels.libraries import beside, dense
from suffice.kernels.protocol import Kernels
from suffice.selection.rows import Rows
from suffice.statistics import DiagonalMoments, FullMoments, Labels, QuarticMoments, Statistics, TiedMoments
from suffice.statistics.base import FloatArray
from suffice.statistics.moments import never_varies


class Structure(NamedTuple):
    """The statistic of a covariance structure, and what classes share."""

    moments: type[Any]
    tied: bool  # one covariance for all classes
    spherical: bool = False  # one variance for all features


STRUCTURES = {
    "tied": Structure(TiedMoments, tied=True),
    "full": Structure(FullMoments, tied=False),
    "diagonal": Structure(DiagonalMoments, tied=False),
    "tied_diagonal": Structure(DiagonalMoments, tied=True),
    "spherical": Structure(DiagonalMoments, tied=False, spherical=True),
    "tied_spherical": Structure(DiagonalMoments, tied=True, spherical=True),
}

SHRINKAGES = (0.0, *(float(share) for share in np.logspace(-4, 0, 17)))


class GDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PriorsGiven):  # type: ignore[misc]
    """Gaussian discriminant analysis: x | y ~ N(mu_y, Sigma), fitted by maximum likelihood.

    With one covariance for all classes the posterior is the logistic (softmax) function of a linear form; with one per
    class the boundaries are quadratic.

    Parameters
    ----------
    covariance
        "tied" (one covariance for all classes), "full" (one per class), "diagonal" and "tied_diagonal" (independent
        features), "spherical" and "tied_spherical" (one variance for all features).
    shrinkage
        The share, 0 to 1, of the mean variance in each variance, and what is taken from each covariance: a number;
        "ledoit_wolf" or "oas" to estimate it ("tied" and "full" only); "auto" to choose it by how well rows are
        predicted that were held out. None for none. With shrinkage there may be more features than rows.
    priors
        The class priors, (k,), or a dictionary from class to prior; the classes' shares of the rows by default.
    missing
        "em" to learn from rows with missing cells (NaN) by maximising the likelihood of what is known; None to refuse
        them. Predictions integrate missing cells out either way. What "em" keeps are expected sums: ``+`` adds them,
        which is not what a fit to all rows would have expected.
    n_components
        How many discriminant directions :meth:`transform` projects on; as many as there are by default.
    temperature
        Above 1, posteriors are less sure of themselves; "auto" calibrates them on rows held out.
    n_jobs
        How many threads sum rows: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for
        all cores of the machine, or a number.
    device
        None reads rows where they are. ``"cuda"`` streams rows in host memory through the card.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["adelie", "gentoo"], 100)
    >>> X = rng.normal([190.0, 39.0], [6.0, 2.5], (200, 2)) + (y == "gentoo")[:, None] * [27.0, 8.5]
    >>> model = GDA().fit(X, y)
    >>> model.predict([[214.0, 46.0]])
    array(['gentoo'], dtype='<U6')
    >>> log_odds = model.coef_ @ [214.0, 46.0] + model.intercept_       # theta' x, the notes' logistic form
    >>> bool(np.isclose(1 / (1 + np.exp(-log_odds))[0], model.predict_proba([[214.0, 46.0]])[0, 1]))
    True
    """

    _tuned: ClassVar[dict[str, tuple[tuple[float, ...], float]]] = {"shrinkage": (SHRINKAGES, 0.1)}

    def __init__(
        self,
        covariance: Literal["tied", "full", "diagonal", "tied_diagonal", "spherical", "tied_spherical"] = "tied",
        shrinkage: float | Literal["ledoit_wolf", "oas", "auto"] | None = None,
        priors: Any = None,
        *,
        missing: Literal["em"] | None = None,
        n_components: int | None = None,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.priors = priors
        self.missing = missing
        self.n_components = n_components
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.device = device

    # What to sum, and how to read it.

    def _summed_parameters(self) -> dict[str, Any]:
        quartic = {"shrinkage": self._params.shrinkage} if self._params.shrinkage == "ledoit_wolf" else {}
        return {"covariance": self._params.covariance, "missing": self._params.missing, "shrinkage": None, **quartic}

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.covariance not in STRUCTURES:
            raise ValueError(f"covariance must be one of {', '.join(STRUCTURES)}; got {self.covariance!r}")
        if self.missing not in (None, "em"):
            raise ValueError(f"missing must be None or 'em'; got {self.missing!r}")
        if isinstance(self.shrinkage, str):
            if self.shrinkage not in ("ledoit_wolf", "oas", "auto"):
                raise ValueError(
                    "shrinkage must be a number from 0 to 1, 'ledoit_wolf', 'oas', 'auto' or None; "
                    f"got {self.shrinkage!r}"
                )
            if self.shrinkage != "auto" and STRUCTURES[self.covariance].moments is DiagonalMoments:
                raise ValueError(
                    f"shrinkage={self.shrinkage!r} is for tied and full covariances; "
                    f"for covariance={self.covariance!r} give a number or 'auto'"
                )
        elif self.shrinkage is not None and not 0 <= self.shrinkage <= 1:
            raise ValueError(f"shrinkage must be a number from 0 to 1; got {self.shrinkage!r}")

    @property
    def _structure(self) -> Structure:
        return STRUCTURES[self._params.covariance]

    def _sum_in_database(self, sums: DatabaseSums, labels: Labels) -> Any:
        return super()._sum_in_database(sums, labels) if self._params.missing is None else None

    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        if self._params.shrinkage == "ledoit_wolf":
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
        require_rows_that_differ(statistics)
        if isinstance(statistics, DiagonalMoments):
            return self._independent(without_gaps(statistics, self._structure.tied))
        moments = self._moments(statistics)
        share = self._share(statistics, moments)
        require_any_spread(moments)
        return Correlated(MultivariateGaussian.estimate(without_gaps(moments, self._structure.tied), share))

    def _moments(self, statistics: Any) -> Any:
        """Return the sums with the scatter of all classes together, where they share it."""
        return statistics.tied() if self._structure.tied and isinstance(statistics, FullMoments) else statistics

    def _share(self, statistics: Any, tied: Any) -> Any:
        """Return the shrinkage of each covariance, as a share."""
        shrinkage = self._setting("shrinkage")
        if shrinkage is None:
            return 0.0
        if not isinstance(shrinkage, str):
            return float(shrinkage)
        rows = tied.weights.sum() if self._structure.tied else np.maximum(tied.weights, 1e-300)
        covariance = tied.spread / rows[..., None, None]
        if shrinkage == "oas":
            return oas_shrinkage(covariance, rows)
        if not isinstance(statistics, QuarticMoments):
            raise ValueError("shrinkage='ledoit_wolf' needs sums that were not taken: fit the model again")
        quartic = statistics.quartic.sum() if self._structure.tied else statistics.quartic
        return ledoit_wolf_shrinkage(covariance, rows, quartic)

    def _independent(self, statistics: DiagonalMoments) -> Independent:
        """Return p(x | y) of independent features."""
        observed = statistics.observed
        spread = statistics.spread
        if self._structure.tied:
            observed, spread = (np.broadcast_to(part.sum(axis=0), part.shape) for part in (observed, spread))
        require_cells(statistics.labels, observed)
        variance = spread / observed
        level = variance.mean(axis=1, keepdims=True)
        share = self._share(statistics, statistics)
        variance = (
            np.broadcast_to(level, variance.shape)
            if self._structure.spherical
            else ((1 - share) * variance + share * level)
        )
        require_spread(statistics.labels, statistics.mean, variance)
        return Independent(statistics.mean, variance)

    def _left_out(self, statistics: Any, rows: Rows) -> FloatArray:
        share = self._setting("shrinkage") or 0.0
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
    def shrinkage_(self) -> Any:
        """The shrinkage used: one share, or one per class."""
        return self._share(self.statistics_, self._moments(self.statistics_))

    # Discriminant directions.

    @row_wise("component")
    def transform(self, X: Any) -> FloatArray:
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
        centre, directions = self._directions()
        return np.asarray((rows - centre) @ directions)

    @read_attribute
    def scalings_(self) -> FloatArray:
        """The discriminant directions, (d, components)."""
        return self._directions()[1]

    @property
    def _n_features_out(self) -> int:
        return int(self.scalings_.shape[1])

    def _directions(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean of the classes, (d,), and the discriminant directions, (d, components)."""
        joint, conditional = self.joint_, self.joint_.conditional
        mu = self.means_
        centre = joint.prior @ mu
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
        directions = (axes[: self._params.n_components or most] @ whitener).T
        heaviest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
        return centre, directions * np.sign(heaviest)  # of two opposite directions always the same

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "em"
        return tags


@dataclass(frozen=True, eq=False)
class Correlated(Conditional):
    """Correlated Gaussian features, with one covariance per class or one for all. Missing cells are integrated out."""

    family: MultivariateGaussian  # batch shape (k,); covariance (k, d, d), or (d, d) where it is shared

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.family.mu)

    @property
    def is_tied(self) -> bool:
        """Whether one covariance serves all classes."""
        return self.family.covariance.ndim == 2

    @cached_property
    def theta(self) -> Theta | None:
        """Sigma^-1 mu_k and -mu_k' Sigma^-1 mu_k / 2, where the covariance is shared."""
        if not self.is_tied:
            return None
        whitener, mu = self.family.whitener, self.family.mu
        white = mu @ whitener.T
        return Theta(white @ whitener, -0.5 * (white**2).sum(axis=1))

    @cached_property
    def apart(self) -> Theta | None:
        """The linear form of the means about their centre: at a large offset theta itself has no digits left."""
        if not self.is_tied:
            return None
        white = (self.family.mu - self.centre) @ self.family.whitener.T
        coef = white @ self.family.whitener
        return Theta(coef, -0.5 * (white**2).sum(axis=1) - coef @ self.centre)

    @property
    def centre(self) -> FloatArray:
        """The mean of the class means, (d,)."""
        return np.asarray(self.family.mu.mean(axis=0))

    @cached_property
    def log_scale(self) -> FloatArray:
        """-(d log 2 pi + log det Sigma) / 2, of each class."""
        log_det = 2 * np.log(np.diagonal(self.family.factor, axis1=-2, axis2=-1)).sum(axis=-1)
        return np.broadcast_to(-0.5 * (LOG_2PI * self.family.mu.shape[1] + log_det), (self.classes,))

    def scores(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return a reading of the Gaussian log-densities."""
        try:
            return self._complete(batch, kernels, intercept, reading)
        except ValueError:
            known = _known(batch)
            if known is None:
                raise
            return self._marginal(batch, known, kernels, intercept, reading)

    def _complete(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading) -> Any:
        """Return the scores of rows without missing cells."""
        mu, whitener, level = self.family.mu, self.family.whitener, self.log_scale + intercept
        if self.apart is None:
            return kernels.quadratic_scores(batch, mu, np.ascontiguousarray(whitener), level, reading)
        coef, constant = self.apart
        if reading.what not in ("joint", "evidence"):  # what all classes share makes no difference
            return kernels.linear_scores(batch, coef, constant + intercept, reading)
        # log N(x; mu_k) is log N(x; centre) plus a linear form: one whitening for all classes.
        shared = kernels.quadratic_scores(batch, self.centre[None], whitener[None], np.zeros(1))
        return kernels.read_scores(shared + kernels.linear_scores(batch, coef, constant + level), reading)

    def _marginal(
        self, batch: Batch, known: npt.NDArray[np.bool_], kernels: Kernels, intercept: FloatArray, reading: Reading
    ) -> Any:
        """Return the scores of rows with missing cells: pattern by pattern, under the Gaussian of what is known."""
        rows = dense(batch.x[batch.start : batch.stop])
        joint = np.tile(np.asarray(intercept, dtype=np.float64), (len(rows), 1))
        for pattern, members in patterns(known):
            if pattern.any():
                part = Batch(np.ascontiguousarray(rows[np.ix_(members, pattern)]))
                joint[members] = self.marginal(pattern)._complete(part, kernels, intercept, JOINT)
        return kernels.read_scores(beside(batch.x, joint), reading)

    def marginal(self, pattern: npt.NDArray[np.bool_]) -> Correlated:
        """Return the distribution of the features where the pattern is true."""
        covariance = self.family.covariance[..., pattern, :][..., :, pattern]
        return Correlated(MultivariateGaussian(self.family.mu[:, pattern], covariance))

    def contributions(self, x: Any) -> Contributions:
        """Return -z_j (P z)_j / 2 of every feature, z = x - mean; missing features add nothing.

        Where the covariance is shared, the part that all classes have in common is left out: what remains is
        linear in x, taken about the mean of the classes.
        """
        rows = dense(x)
        parts = [np.zeros(rows.shape) for _ in range(self.classes)]
        base = np.zeros((len(rows), self.classes))
        for pattern, members in patterns(~np.isnan(rows)):
            if pattern.any():
                self.marginal(pattern)._contribute(
                    rows[np.ix_(members, pattern)], np.ix_(members, pattern), parts, base
                )
        return Contributions(parts, base)

    def _contribute(self, rows: FloatArray, place: Any, parts: list[FloatArray], base: FloatArray) -> None:
        members = place[0].reshape(-1)
        for k in range(self.classes):
            if self.apart is not None:
                coef, constant = self.apart
                parts[k][place] = coef[k] * (rows - self.centre)
                base[members, k] = constant[k] + coef[k] @ self.centre
                continue
            z = rows - self.family.mu[k]
            parts[k][place] = -0.5 * z * (z @ self.family.whitener[k].T @ self.family.whitener[k])
            base[members, k] = self.log_scale[k]

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return rows."""
        noise = random.standard_normal((len(codes), self.family.mu.shape[1]))
        if self.is_tied:
            return self.family.mu[codes] + noise @ self.family.factor.T
        return self.family.mu[codes] + (self.family.factor[codes] @ noise[:, :, None])[:, :, 0]


def _known(batch: Batch) -> npt.NDArray[np.bool_] | None:
    """Return which cells of the rows that count are known; None where no cell is missing or one is infinite."""
    rows = dense(batch.x[batch.start : batch.stop])
    missing = np.isnan(rows)
    return ~missing if missing.any() and not np.isinf(rows).any() else None


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


def without_gaps(statistics: Any, tied: bool) -> Any:
    """Return the sums with a class that has no rows described by all other rows: its prior is 0 anyway."""
    empty = statistics.weights <= 0
    if not empty.any() or empty.all():
        return statistics
    weights = statistics.weights
    centre = weights @ statistics.mean / weights.sum()
    mean = np.where(empty[:, None], centre, statistics.mean)
    if tied:  # the scatter is there already; a weight that changes no sum lets the class be read
        return replace(statistics, mean=mean, weights=np.where(empty, 1e-300, weights))
    shared = statistics.spread.sum(axis=0) / weights.sum()
    each = empty.reshape(-1, *(1 for _ in shared.shape))
    spread = np.where(each, shared, statistics.spread)
    cells = {}
    if isinstance(statistics, DiagonalMoments) and statistics.cells.size:
        cells["cells"] = np.where(empty[:, None], 1.0, statistics.cells)
    return replace(statistics, mean=mean, spread=spread, weights=np.where(empty, 1.0, weights), **cells)


def require_cells(labels: Labels, observed: FloatArray) -> None:
    """Refuse a feature that is missing in every row of a class."""
    if not (observed > 0).all():
        code, feature = np.unravel_index(int(np.argmin(observed > 0)), observed.shape)
        raise ValueError(
            f"feature {feature} is missing in every row of class {labels.names[int(code)]!r}: its variance is "
            "undefined; drop the feature"
        )


def require_rows_that_differ(statistics: Any) -> None:
    """Raise where no class has rows that differ: one row, or copies of it."""
    spread = statistics.spread
    own = spread if isinstance(statistics, DiagonalMoments) else np.diagonal(spread, axis1=-2, axis2=-1)
    if not (own > 0).any():
        raise ValueError(
            "a covariance cannot be learned from one sample, or from rows that are alike in each class: give more rows"
        )


def require_any_spread(moments: Any) -> None:
    """Refuse a class whose rows are all alike: no shrinkage makes a covariance of nothing."""
    if moments.spread.ndim == 3:
        flat = (np.trace(moments.spread, axis1=1, axis2=2) <= 0) & (moments.weights > 0)
        if flat.any():
            label = moments.labels.names[int(np.argmax(flat))]
            raise ValueError(
                f"the covariance of class {label!r} is singular: all rows of the class are alike; give it rows that "
                "differ, or share one covariance (covariance='tied')"
            )


def require_spread(labels: Labels, mean: FloatArray, variance: FloatArray) -> None:
    """Refuse a feature that does not vary in a class."""
    constant = never_varies(mean, variance)
    if constant.any():
        code, feature = np.unravel_index(int(np.argmax(constant)), constant.shape)
        raise ValueError(
            f"the covariance of class {labels.names[int(code)]!r} is singular: feature {feature} is constant; give "
            "shrinkage > 0, or drop the feature"
        )
