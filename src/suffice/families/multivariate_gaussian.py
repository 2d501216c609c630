"""The multivariate Gaussian family: correlated features."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from suffice.families.base import Distribution, RandomState, Size, finite, require
from suffice.families.gaussian import LOG_2PI
from suffice.families.priors import oas_shrinkage, require_evidence, shrink_covariance
from suffice.statistics.base import FloatArray
from suffice.statistics.moments import never_varies

if TYPE_CHECKING:
    from suffice.statistics.moments import FullMoments, TiedMoments

#: A feature is dependent if the features before it explain all but this share of its variance.
INDEPENDENT_SHARE = 1e-12
#: A direction of standardised features varies if its variance is above this: the square of scikit-learn's ``tol``.
SMALLEST_EIGENVALUE = 1e-8


class SingularCovarianceError(ValueError):
    """The covariance is singular: a feature is constant, or a linear combination of others."""

    def __init__(self, owner: str, place: tuple[int, ...], feature: int, cure: str = "") -> None:
        super().__init__(f"{owner} is singular: feature {feature} is constant or a combination of others{cure}")
        self.place, self.feature = place, feature


def _cholesky(covariance: FloatArray) -> FloatArray:
    """Return the Cholesky factors of a batch of covariances, computed from the correlations to be scale-free."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))
    factor = np.empty(covariance.shape)
    for place in np.ndindex(covariance.shape[:-2]):
        units = scale[place]
        if (units == 0).any():
            raise SingularCovarianceError(_owner(place), place, int(np.argmin(units)))
        correlation = covariance[place] / units[:, None] / units
        try:
            factor[place] = np.linalg.cholesky(correlation)
            independent = np.diagonal(factor[place]) ** 2
        except np.linalg.LinAlgError:
            # The linear combination that does not vary: the feature with the largest coefficient is named.
            independent = -np.abs(np.linalg.eigh(correlation)[1][:, 0])
        if (independent < INDEPENDENT_SHARE).any():
            raise SingularCovarianceError(_owner(place), place, int(np.argmin(independent)))
        factor[place] *= units[:, None]
    return factor


def _owner(place: tuple[int, ...]) -> str:
    return f"covariance[{', '.join(map(str, place))}]" if place else "covariance"


def _inverse(factor: FloatArray) -> FloatArray:
    """Return the inverses of triangular factors."""
    return np.asarray(
        np.linalg.solve(factor, np.broadcast_to(np.eye(factor.shape[-1]), factor.shape)), dtype=np.float64
    )


def _split(eta: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the vector and the symmetric matrix in a flat (..., d + d^2)."""
    flat = np.asarray(eta, dtype=np.float64)
    d = (math.isqrt(1 + 4 * flat.shape[-1]) - 1) // 2
    matrix = flat[..., d:].reshape(*flat.shape[:-1], d, d)
    return flat[..., :d], (matrix + matrix.swapaxes(-1, -2)) / 2


def _flat(vector: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return a vector and a matrix side by side on the last axis."""
    return np.concatenate([vector, matrix.reshape(*matrix.shape[:-2], -1)], axis=-1)


@dataclass(frozen=True, init=False, eq=False)
class MultivariateGaussian(Distribution):
    """y ~ N(mu, Sigma), a vector of d features on the last axis. eta = (Sigma^-1 mu, -Sigma^-1 / 2), T = (y, y y').

    T and eta are flat: d entries, then the d^2 entries of the matrix, row by row.

    Parameters
    ----------
    mu
        The mean, (..., d).
    covariance
        Symmetric and positive definite, (..., d, d); one (d, d) broadcasts to many means.

    Examples
    --------
    >>> MultivariateGaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]).log_prob([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([-1.694, -2.361])
    """

    mu: FloatArray  # (..., d)
    covariance: FloatArray  # (..., d, d)
    factor: FloatArray = field(repr=False)  # lower Cholesky factor of the covariance

    name = "multivariate_gaussian"
    support = "finite numbers"
    vector_values = True

    def __init__(self, mu: npt.ArrayLike, covariance: npt.ArrayLike) -> None:
        centre, matrix = finite("mu", mu), finite("covariance", covariance)
        d = centre.shape[-1] if centre.ndim else 0
        if d == 0 or matrix.shape[-2:] != (d, d):
            raise ValueError(f"mu (..., d) and covariance (..., d, d) disagree: {centre.shape} and {matrix.shape}")
        scale = np.sqrt(np.maximum(np.diagonal(matrix, axis1=-2, axis2=-1), 0.0))
        uneven = np.abs(matrix - matrix.swapaxes(-1, -2)) > 1e-8 * scale[..., :, None] * scale[..., None, :]
        require("covariance", matrix, ~uneven, "it must be symmetric")
        batch = np.broadcast_shapes(centre.shape[:-1], matrix.shape[:-2])
        self._hold(mu=np.broadcast_to(centre, (*batch, d)), covariance=matrix, factor=_cholesky(matrix))

    @staticmethod
    def sufficient(y: npt.ArrayLike) -> FloatArray:
        """Return y and y y', flat."""
        values = np.asarray(y, dtype=np.float64)
        return _flat(values, values[..., :, None] * values[..., None, :])

    @staticmethod
    def log_base(y: npt.ArrayLike) -> FloatArray:
        """Return -d log(2 pi) / 2."""
        return np.full(np.shape(y)[:-1], -LOG_2PI / 2 * np.shape(y)[-1])

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return mu' Sigma^-1 mu / 2 + log det Sigma / 2."""
        vector, matrix = _split(eta)
        factor = _cholesky(-2 * matrix)  # of the precision, whose log-determinant is minus that of the covariance
        white = np.linalg.solve(factor, vector[..., None])[..., 0]
        return np.asarray((white**2).sum(axis=-1) / 2 - np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1))

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return E y and E y y', flat."""
        member = MultivariateGaussian.from_natural(eta)
        return _flat(member.mu, member.covariance + member.mu[..., :, None] * member.mu[..., None, :])

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return the covariance of T, (..., d + d^2, d + d^2)."""
        member = MultivariateGaussian.from_natural(eta)
        mu, sigma = member.mu, member.covariance
        d, batch = mu.shape[-1], mu.shape[:-1]
        first = np.einsum("...j,...ik->...ijk", mu, sigma)  # Cov[y_i, y_j y_k] has mu_j S_ik and mu_k S_ij
        cross = (first + first.swapaxes(-1, -2)).reshape(*batch, d, d * d)
        raw = sigma + mu[..., :, None] * mu[..., None, :]
        # Cov[y_i y_j, y_k y_l] = R_ik R_jl - mu_i mu_j mu_k mu_l, plus the same with k and l exchanged
        fourth = np.einsum("...ik,...jl->...ijkl", raw, raw) - np.einsum("...i,...j,...k,...l->...ijkl", mu, mu, mu, mu)
        second = (fourth + fourth.swapaxes(-1, -2)).reshape(*batch, d * d, d * d)
        return np.concatenate(
            [np.concatenate([sigma, cross], axis=-1), np.concatenate([cross.swapaxes(-1, -2), second], axis=-1)],
            axis=-2,
        )

    @cached_property
    def whitener(self) -> FloatArray:
        """The inverse of the Cholesky factor: it turns y - mu into independent standard normals."""
        return _inverse(self.factor)

    @cached_property
    def log_scale(self) -> FloatArray:
        """-(d log 2 pi + log det Sigma) / 2: the logarithm of the density at the mean."""
        log_det = 2 * np.log(np.diagonal(self.factor, axis1=-2, axis2=-1)).sum(axis=-1)
        return np.asarray(-0.5 * (LOG_2PI * self.mu.shape[-1] + log_det))

    @property
    def natural(self) -> FloatArray:
        """Sigma^-1 mu and -Sigma^-1 / 2, flat."""
        whitener = self.whitener
        precision = np.broadcast_to(whitener.swapaxes(-1, -2) @ whitener, (*self.batch_shape, *whitener.shape[-2:]))
        return _flat((precision @ self.mu[..., None])[..., 0], -precision / 2)

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with this natural parameter."""
        vector, matrix = _split(eta)
        factor = _cholesky(-2 * matrix)
        half = _inverse(factor)
        covariance = half.swapaxes(-1, -2) @ half
        return cls((covariance @ vector[..., None])[..., 0], covariance)

    @classmethod
    def estimate(cls, statistics: FullMoments | TiedMoments, shrinkage: npt.ArrayLike | Literal["oas"] = 0.0) -> Self:
        """Return the means, (k, d), with one covariance per class (full moments) or one for all (tied moments).

        Parameters
        ----------
        statistics
            Moments per class. Scatter is divided by its weight: the maximum likelihood estimate.
        shrinkage
            The share, 0 to 1, of the mean variance times the identity in each covariance, one or one per class; "oas"
            chooses it from the number of rows.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics import Labels, TiedMoments
        >>> spread = np.array([[8.0, 4.0], [4.0, 8.0]])
        >>> tied = TiedMoments(Labels(("a", "b")), weights=np.array([2.0, 2.0]), mean=np.eye(2), spread=spread)
        >>> MultivariateGaussian.estimate(tied, shrinkage=0.5).covariance
        array([[2. , 0.5],
               [0.5, 2. ]])
        """
        labels, tied = statistics.labels, statistics.spread.ndim == 2
        require_evidence(labels, statistics.weights, "mean is", cure="drop the class")
        rows = statistics.weights.sum() if tied else statistics.weights
        covariance = statistics.spread / rows[..., None, None]
        if isinstance(shrinkage, str) and shrinkage != "oas":
            raise ValueError(f"shrinkage must be a number from 0 to 1, or 'oas'; got {shrinkage!r}")
        share = oas_shrinkage(covariance, rows) if isinstance(shrinkage, str) else shrinkage
        try:
            return cls(statistics.mean, shrink_covariance(covariance, share))
        except SingularCovarianceError as error:
            label = "all classes together" if tied else f"class {labels.names[error.place[0]]!r}"
            cure = "; give shrinkage > 0, or drop the feature"
            raise SingularCovarianceError(f"the covariance of {label}", error.place, error.feature, cure) from None

    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return draws."""
        noise = np.random.default_rng(random_state).standard_normal((*self._draws(size), self.mu.shape[-1]))
        return np.asarray(self.mu + (self.factor @ noise[..., None])[..., 0])

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isfinite(y).all(axis=-1))

    def _log_density(self, y: FloatArray) -> FloatArray:
        apart = y - self.mu
        batch = self.covariance.ndim - 2
        # One matrix product per covariance: the other axes are flattened and moved next to the features.
        rows = apart.reshape(-1, *apart.shape[apart.ndim - 1 - batch :])
        white = np.moveaxis(rows, 0, -2) @ self.whitener.swapaxes(-1, -2)
        distance = np.moveaxis((white**2).sum(axis=-1), -1, 0).reshape(apart.shape[:-1])
        return np.asarray(-0.5 * distance + self.log_scale)


@dataclass(frozen=True, init=False, eq=False)
class SingularGaussian(MultivariateGaussian):
    """y ~ N(mu, Sigma) on the subspace in which y varies: Sigma need not have full rank.

    Directions with less than 1e-8 of the variance of standardised features are left out, as scikit-learn's
    ``LinearDiscriminantAnalysis(solver="svd")`` does: distances along them count nothing, and the density is that of
    the other directions.

    Parameters
    ----------
    mu
        The mean, (..., d).
    covariance
        Symmetric, with non-negative eigenvalues, (d, d).

    Examples
    --------
    >>> family = SingularGaussian([0.0, 0.0], [[4.0, 0.0], [0.0, 0.0]])
    >>> family.rank, family.log_prob([[2.0, 0.0], [2.0, 5.0]]).round(3)
    (1, array([-2.112, -2.112]))
    """

    def __init__(self, mu: npt.ArrayLike, covariance: npt.ArrayLike) -> None:
        centre, matrix = finite("mu", mu), finite("covariance", covariance)
        if matrix.ndim != 2 or matrix.shape != (centre.shape[-1], centre.shape[-1]):
            raise ValueError(f"mu (..., d) and covariance (d, d) disagree: {centre.shape} and {matrix.shape}")
        scale, values, vectors = _principal_axes(centre, matrix)
        factor = scale[:, None] * vectors * np.sqrt(values)
        self._hold(mu=centre, covariance=matrix, factor=factor)

    @cached_property
    def rank(self) -> int:
        """The number of directions in which y varies."""
        return int((_principal_axes(self.mu, self.covariance)[1] > 0).sum())

    @cached_property
    def whitener(self) -> FloatArray:
        """A lower triangular W, of which W'W is the inverse of the covariance on the subspace."""
        scale, values, vectors = _principal_axes(self.mu, self.covariance)
        rows = (vectors / np.sqrt(np.where(values > 0, values, np.inf)) / scale[:, None]).T
        # W = Q L by a QR decomposition of the columns in reverse order.
        return np.ascontiguousarray(np.linalg.qr(rows[:, ::-1])[1][::-1, ::-1])

    @cached_property
    def log_scale(self) -> FloatArray:
        """-(r log 2 pi + log det Sigma) / 2 of the r directions in which y varies."""
        varying = self.factor[:, (self.factor != 0).any(axis=0)]
        log_det = np.linalg.slogdet(varying.T @ varying)[1]
        return np.asarray(-0.5 * (LOG_2PI * self.rank + log_det))


def _principal_axes(mu: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the scale of the features, and eigenvalues, 0 for small ones, and eigenvectors of their correlations."""
    variance = np.diagonal(covariance)
    constant = never_varies(np.abs(mu).reshape(-1, mu.shape[-1]).max(axis=0), variance)
    scale = np.sqrt(np.where(constant, 1.0, variance))
    values, vectors = np.linalg.eigh(np.where(constant | constant[:, None], 0.0, covariance / scale[:, None] / scale))
    return scale, np.where(values > SMALLEST_EIGENVALUE, values, 0.0), vectors
