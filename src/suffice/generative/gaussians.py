"""Gaussian class conditionals: independent features, or correlated ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.families import Gaussian, MultivariateGaussian
from suffice.families.gaussian import LOG_2PI
from suffice.generative.conditional import Conditional, Contributions, Theta
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import beside, is_sparse
from suffice.kernels.protocol import Kernels
from suffice.kernels.scores import JOINT, Reading
from suffice.statistics.base import FloatArray


def dense(x: Any) -> FloatArray:
    """Return rows as a NumPy array of float64."""
    if is_sparse(x):
        return np.asarray(x.toarray(), dtype=np.float64)
    return np.asarray(x if isinstance(x, np.ndarray) else to_host(x), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Independent(Conditional):
    """Independent Gaussian features. A missing cell is integrated out: its factor is 1."""

    family: Gaussian  # (k, d)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.family.mu)

    @property
    def theta(self) -> Theta | None:
        """The linear form, where all classes have the same variances."""
        mu, sigma2 = self.family.mu, self.family.sigma2
        if not (sigma2 == sigma2[0]).all():
            return None
        return Theta(mu / sigma2, -0.5 * (mu**2 / sigma2).sum(axis=1))

    @property
    def apart(self) -> Theta | None:
        """The linear form of the means about their centre."""
        if self.theta is None:
            return None
        centre = self.family.mu.mean(axis=0)
        coef = (self.family.mu - centre) / self.family.sigma2
        return Theta(coef, -0.5 * ((self.family.mu - centre) * coef).sum(axis=1) - coef @ centre)

    def scores(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return what a reading makes of the Gaussian log-densities' sum."""
        return kernels.diagonal_scores(batch, self.family.mu, self.family.sigma2, intercept, reading)

    def contributions(self, x: Any) -> Contributions:
        """Return the log-density of every cell."""
        values = dense(x)
        known = ~np.isnan(values)
        parts = [
            np.where(known, Gaussian(mu, sigma2).log_prob(np.where(known, values, 0.0)), 0.0)
            for mu, sigma2 in zip(self.family.mu, self.family.sigma2, strict=True)
        ]
        return Contributions(parts, np.zeros((len(values), self.classes)))

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return rows."""
        noise = random.standard_normal((len(codes), self.family.mu.shape[1]))
        return self.family.mu[codes] + np.sqrt(self.family.sigma2[codes]) * noise


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
        """Return what a reading makes of the Gaussian log-densities."""
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


def patterns(known: npt.NDArray[np.bool_]) -> Iterator[tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]]:
    """Yield each pattern of known cells, (d,), and the rows that have it."""
    packed = np.packbits(known, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(which.reshape(-1), minlength=len(first)))
    for row, members in zip(first, np.split(order, ends[:-1]), strict=True):
        yield known[row], members


def _known(batch: Batch) -> npt.NDArray[np.bool_] | None:
    """Return which cells of the rows that count are known; None where no cell is missing or one is infinite."""
    rows = dense(batch.x[batch.start : batch.stop])
    missing = np.isnan(rows)
    return ~missing if missing.any() and not np.isinf(rows).any() else None
