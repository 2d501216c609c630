"""p(x | y) of Gaussian features under a covariance structure, and its estimate from sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.families import MultivariateGaussian
from suffice.families.multivariate_gaussian import SMALLEST_EIGENVALUE, SingularCovarianceError
from suffice.families.priors import ledoit_wolf_shrinkage, oas_shrinkage, shrink_covariance
from suffice.generative.conditional import DENSITIES, Conditional, Contributions, Theta, read_distances
from suffice.generative.independent import Independent
from suffice.kernels import Batch
from suffice.kernels.inputs import JOINT, Reading, check_underflow
from suffice.kernels.libraries import beside, dense
from suffice.kernels.protocol import Kernels
from suffice.statistics import DiagonalMoments, FullMoments, Labels, QuarticMoments, TiedMoments
from suffice.statistics.moments import ClassMoments, never_varies
from suffice.statistics.rounding import TOLERANCE, Bounds, FloatArray


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


@dataclass(frozen=True, eq=False)
class Correlated(Conditional):
    """Correlated Gaussian features, with one covariance per class or one for all. Missing cells are integrated out."""

    family: MultivariateGaussian  # batch shape (k,); covariance (k, d, d), or (d, d) where it is shared

    @property
    def classes(self) -> int:
        """The number of classes."""
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
        return self.about(np.zeros(self.family.mu.shape[1]))

    @cached_property
    def apart(self) -> Theta | None:
        """The linear form of the means about their centre: at a large offset theta itself has no digits left."""
        return self.about(self.centre) if self.is_tied else None

    def check_digits(self, statistics: ClassMoments) -> None:
        """Raise if rows were taken out of the sum, and the Gaussians may be off by more than the tolerance.

        The sum over |Sigma^-1|_ij and the bound of Sigma_ij bounds the relative error of quadratic forms and of log
        det Sigma; the means are compared in the same units.
        """
        if not statistics.forgotten:
            return
        error, weights = statistics.error, statistics.weights
        if self.is_tied:
            error, weights = error.pooled(), weights.sum(keepdims=True)
        whitener = np.broadcast_to(self.family.whitener, (len(weights), *self.family.whitener.shape[-2:]))
        for code, (half, weight) in enumerate(zip(whitener, weights, strict=True)):
            if weight <= 0:
                continue
            products = Bounds(*(part[code : code + 1] for part in error)).products()[0] / weight
            precision = np.abs(half.T @ half)
            shares = (precision * products).sum(axis=1)
            blur = error.mean[code] @ precision @ error.mean[code]
            flat = ~(half != 0).any(axis=1)  # directions that were left out, as the rows do not vary along them
            if flat.any():
                deviation = np.sqrt(np.diagonal(np.atleast_3d(self.family.covariance.T).T[code]))
                units = products / np.maximum(deviation[:, None] * deviation, np.finfo(float).tiny)
                shares = shares + TOLERANCE / SMALLEST_EIGENVALUE * units.sum(axis=1)
            if not (shares.sum() <= TOLERANCE and blur <= TOLERANCE**2):
                raise statistics.lost_digits(int(np.argmax(shares)), None if self.is_tied else code)

    def about(self, centre: FloatArray) -> Theta:
        """Return the linear form of log p(x | y) less that of a class at the centre, where they share Sigma."""
        white = (self.family.mu - centre) @ self.family.whitener.T
        coef = white @ self.family.whitener
        return Theta(coef, -0.5 * (white**2).sum(axis=1) - coef @ centre)

    @property
    def centre(self) -> FloatArray:
        """The mean of the class means, (d,)."""
        return np.asarray(self.family.mu.mean(axis=0))

    @cached_property
    def log_scale(self) -> FloatArray:
        """-(d log 2 pi + log det Sigma) / 2, of each class."""
        return np.broadcast_to(self.family.log_scale, (self.classes,))

    def linear(self, rows: FloatArray, centre: FloatArray, log_prior: FloatArray) -> FloatArray:
        """Return the linear form about a centre, of the known cells, plus the log-prior, where they share Sigma."""
        known_cells = ~np.isnan(rows)
        if known_cells.all():
            theta = self.about(centre)
            return np.asarray(rows @ theta.coef.T + theta.intercept + log_prior)
        scores = np.tile(log_prior, (len(rows), 1))
        for pattern, members in patterns(known_cells):
            if pattern.any():
                known = self if pattern.all() else self.marginal(pattern)
                theta = known.about(centre[pattern])
                scores[members] += rows[np.ix_(members, pattern)] @ theta.coef.T + theta.intercept
        return scores

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
            turns = np.ascontiguousarray(whitener)
            if reading.what in DENSITIES:
                return kernels.quadratic_scores(batch, mu, turns, level, reading)
            joint = kernels.quadratic_scores(batch, mu, turns, level, JOINT)
            return read_distances(joint, batch, kernels, reading)
        coef, constant = self.apart
        if reading.what not in DENSITIES:  # what all classes share makes no difference
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
        return read_distances(beside(batch.x, joint), batch, kernels, reading)

    def marginal(self, pattern: npt.NDArray[np.bool_]) -> Correlated:
        """Return the distribution of the features where the pattern is true."""
        covariance = self.family.covariance[..., pattern, :][..., :, pattern]
        return Correlated(type(self.family)(self.family.mu[:, pattern], covariance))

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


def patterns(known: npt.NDArray[np.bool_]) -> Iterator[tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]]:
    """Yield each pattern of known cells, (d,), and the rows that have it."""
    packed = np.packbits(known, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(which.reshape(-1), minlength=len(first)))
    for row, members in zip(first, np.split(order, ends[:-1]), strict=True):
        yield known[row], members


def estimate_gaussians(
    statistics: Any,
    structure: Structure,
    shrinkage: Any,
    *,
    prior: FloatArray | None = None,
    unbiased: bool = False,
    family: type[MultivariateGaussian] = MultivariateGaussian,
) -> Conditional:
    """Return p(x | y) of a covariance structure, estimated from moments of classes.

    Parameters
    ----------
    statistics
        The moments.
    structure
        The covariance structure.
    shrinkage
        A share, "oas", "ledoit_wolf" (or "auto") or None.
    prior
        The weights of the classes in a covariance that is the average of shrunk covariances, (k,); their shares of the
        rows by default.
    unbiased
        Whether scatter is divided by the rows less those that the means take.
    family
        The distribution of correlated features.
    """
    _check_underflow(statistics)
    require_rows_that_differ(statistics)
    if isinstance(statistics, DiagonalMoments):
        share = shrinkage_share(statistics, structure, shrinkage)
        return _independent(statistics, structure, share, unbiased)
    if is_ledoit_wolf(shrinkage):
        moments, share = _shrunk_moments(statistics, structure, prior), 0.0
    else:
        moments, share = _pooled(statistics, structure), shrinkage_share(statistics, structure, shrinkage)
    require_any_spread(moments)
    if unbiased:
        rows = moments.weights.sum() if structure.tied else moments.weights
        growth = rows / _degrees_of_freedom(moments.labels, moments.weights, structure.tied)
        moments = replace(moments, spread=moments.spread * growth[..., None, None])
    try:
        gaussians = Correlated(family.estimate(without_gaps(moments, structure.tied), share))
    except SingularCovarianceError as error:
        if structure.tied or not _is_unsure(statistics):
            raise  # a tied covariance is estimated again, without the directions in which rows do not vary
        raise statistics.lost_digits(error.feature, error.place[0]) from None
    gaussians.check_digits(statistics)
    return gaussians


def _degrees_of_freedom(labels: Labels, weights: FloatArray, tied: bool) -> Any:
    """Return the rows less those that the means take: of each class, (k, ...), or of all together."""
    filled = weights > 0
    left = (weights - filled).sum(axis=0) if tied else np.where(filled, weights - 1, 1.0)
    if not (left > 0).all():
        place = int(np.unravel_index(np.argmin(left), left.shape)[0]) if left.ndim else 0
        few = "all classes" if tied else f"class {labels.names[place]!r}"
        total = float(weights.sum(axis=0).min()) if tied else float(weights[place].min())
        raise ValueError(
            f"unbiased=True needs more rows than means; the weight of the rows of {few} is {total:g}: "
            "give more rows, or unbiased=False"
        )
    return np.asarray(left)


def _pooled(statistics: Any, structure: Structure) -> Any:
    """Return the sums with the scatter of all classes together, where they share it."""
    return statistics.tied() if structure.tied and isinstance(statistics, FullMoments) else statistics


def is_ledoit_wolf(shrinkage: object) -> bool:
    """Whether a shrinkage is Ledoit and Wolf's; "auto" is scikit-learn's word for it."""
    return isinstance(shrinkage, str) and shrinkage in ("auto", "ledoit_wolf")


def shrinkage_share(statistics: Any, structure: Structure, shrinkage: Any) -> Any:
    """Return the shrinkage of each covariance, as a share."""
    if shrinkage is None:
        return 0.0
    if not isinstance(shrinkage, str):
        return float(shrinkage)
    if is_ledoit_wolf(shrinkage):
        return shrink_standardised(statistics).share
    moments = _pooled(statistics, structure)
    rows = moments.weights.sum() if structure.tied else np.maximum(moments.weights, 1e-300)
    covariance = moments.spread / rows[..., None, None]
    return oas_shrinkage(covariance, rows)


class Shrunk(NamedTuple):
    """Covariances that were shrunk, and by how much."""

    covariance: FloatArray  # (k, d, d)
    share: FloatArray  # (k,)


def shrink_standardised(statistics: Any) -> Shrunk:
    """Return Ledoit and Wolf's estimate of the covariance of each class, from its standardised features.

    As in scikit-learn, a feature that is constant in a class is not scaled.
    """
    if not isinstance(statistics, QuarticMoments):
        raise ValueError("shrinkage='auto' needs sums that were not taken: fit the model again")
    rows = np.where(statistics.weights > 0, statistics.weights, 1.0)
    covariance = statistics.spread / rows[:, None, None]
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    scale = np.sqrt(np.where(never_varies(statistics.mean, variance), 1.0, variance))
    units = scale[:, :, None] * scale[:, None, :]
    fourth = (statistics.quartic / units / units).sum(axis=(1, 2))
    share = ledoit_wolf_shrinkage(covariance / units, statistics.weights, fourth)
    return Shrunk(shrink_covariance(covariance / units, share) * units, share)


def _shrunk_moments(statistics: Any, structure: Structure, prior: FloatArray | None) -> FullMoments | TiedMoments:
    """Return the sums with the scatter of shrunk covariances: of each class, or their average where it is shared."""
    covariance, weights = shrink_standardised(statistics).covariance, statistics.weights
    if not structure.tied:
        scatter = weights[:, None, None] * covariance
        return FullMoments(statistics.labels, weights, statistics.mean, scatter)
    share = np.where(weights > 0, weights if prior is None else prior, 0.0)
    scatter = weights.sum() / share.sum() * np.tensordot(share, covariance, axes=1)
    return TiedMoments(statistics.labels, weights, statistics.mean, scatter)


def _independent(given: DiagonalMoments, structure: Structure, share: float, unbiased: bool) -> Independent:
    """Return p(x | y) of independent features."""
    statistics = without_gaps(given, structure.tied)
    observed = statistics.observed
    spread = statistics.spread
    if structure.tied:
        observed, spread = (np.broadcast_to(part.sum(axis=0), part.shape) for part in (observed, spread))
    require_cells(statistics.labels, observed)
    if unbiased:
        rows = given.observed.sum(axis=0) if structure.tied else given.observed
        spread = (
            spread * np.where(rows > 0, rows, 1.0) / _degrees_of_freedom(given.labels, given.observed, structure.tied)
        )
    variance = spread / observed
    level = variance.mean(axis=1, keepdims=True)
    variance = (
        np.broadcast_to(level, variance.shape) if structure.spherical else ((1 - share) * variance + share * level)
    )
    given.check_digits(variance)
    require_spread(statistics.labels, statistics.mean, variance)
    return Independent(statistics.mean, variance)


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


def _is_unsure(statistics: ClassMoments) -> bool:
    """Whether rows were taken out, so that it may be rounding that a feature does not vary, or does."""
    return bool(statistics.forgotten) and bool((statistics.error.squares() > 0).any())


def _check_underflow(statistics: Any) -> None:
    """Raise for a feature whose sum of squares underflows, or overflows."""
    spread, mean, weights = statistics.spread, statistics.mean, statistics.weights
    if isinstance(statistics, DiagonalMoments):
        weights = statistics.observed
    else:
        spread, weights = np.diagonal(spread, axis1=-2, axis2=-1), weights[:, None]
    total = weights.sum(axis=0)
    size = np.where(weights > 0, np.abs(mean), 0.0).max(axis=0, initial=0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # raised as an error
        within = spread.sum(axis=0) if spread.ndim == 2 else spread
        check_underflow(total, size, np.where(total > 0, within / np.where(total > 0, total, 1.0), 0.0))


def require_rows_that_differ(statistics: Any) -> None:
    """Raise where no class has rows that differ: one row, or copies of it."""
    spread = statistics.spread
    own = spread if isinstance(statistics, DiagonalMoments) else np.diagonal(spread, axis1=-2, axis2=-1)
    if not (own > 0).any():
        if _is_unsure(statistics):
            raise statistics.lost_digits(0)
        raise ValueError(
            "The number of samples must be more than the number of classes, and the rows of a class must differ: a "
            "covariance cannot be learned from one sample, or from rows that are alike in each class; give more rows"
        )


def require_any_spread(moments: Any) -> None:
    """Refuse a class whose rows are all alike: no shrinkage makes a covariance of nothing."""
    if moments.spread.ndim == 3:
        flat = (np.trace(moments.spread, axis1=1, axis2=2) <= 0) & (moments.weights > 0)
        if flat.any():
            place = int(np.argmax(flat))
            if _is_unsure(moments):
                raise moments.lost_digits(0, place)
            label = moments.labels.names[place]
            one = f"y has only 1 sample in class {label!r}: " if moments.weights[place] == 1 else ""
            raise ValueError(
                f"{one}the covariance of class {label!r} is singular: all rows of the class are alike; give it rows "
                "that differ, or share one covariance (covariance='tied')"
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
