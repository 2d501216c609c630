"""Naive Bayes over measurements: independent Gaussian features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from suffice.estimator import read_attribute
from suffice.families import Gaussian
from suffice.generative import leave_one_out
from suffice.generative.base import PriorsGiven, check_smoothing, smoothing_strength
from suffice.generative.conditional import Conditional, Contributions, Theta
from suffice.generative.discrete import ALPHAS
from suffice.kernels import Batch
from suffice.kernels.inputs import JOINT, Reading
from suffice.kernels.libraries import dense
from suffice.kernels.protocol import Kernels
from suffice.selection.rows import Rows
from suffice.statistics import DiagonalMoments, Labels, Statistics
from suffice.statistics.base import FloatArray
from suffice.statistics.moments import never_varies

#: Smoothing is a share of the largest variance, but of no more than this many times the feature's own: a feature in
#: small units is not drowned by one in large units.
_OWN_SCALE = 1e3


class GaussianNB(PriorsGiven):
    """Naive Bayes with a Gaussian per class and feature.

    A drop-in replacement for scikit-learn's class of the same name, which also takes missing cells (NaN) and sparse
    rows, merges, forgets, samples and explains.

    Parameters
    ----------
    priors
        The class priors, (k,), or a dictionary from class to prior; the classes' shares of the rows by default.
    var_smoothing
        The share of the largest feature variance that is added to all variances. For a feature whose own variance, over
        all rows, is less than a thousandth of the largest, it is that share of a thousand times its own.
    alpha
        A number of pseudo-observations with the feature's variance over all rows, added to each class: one number, one
        per feature, or "auto" to choose it by how well rows are predicted that were held out.
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
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0]])
    >>> model = GaussianNB().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1.0], [np.nan, 2.0]])
    array([1, 2])
    >>> model.theta_
    array([[-2.        , -1.33333333],
           [ 2.        ,  1.33333333]])
    """

    _tuned: ClassVar[dict[str, tuple[tuple[float, ...], float]]] = {"alpha": ((0.0, *ALPHAS), 0.0)}

    def __init__(
        self,
        *,
        priors: Any = None,
        var_smoothing: float = 1e-9,
        alpha: float | npt.ArrayLike | Literal["auto"] = 0.0,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.alpha = alpha
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.device = device

    def _check_settings(self) -> None:
        super()._check_settings()
        if isinstance(self.var_smoothing, str) or not 0 <= self.var_smoothing < np.inf:
            raise ValueError(f"var_smoothing must be a finite number, 0 or more; got {self.var_smoothing!r}")
        check_smoothing(self.alpha)

    def _can_wait(self, x: Any) -> bool:
        return isinstance(x, np.ndarray) and not np.isinf(x).any()

    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        return DiagonalMoments.over(labels, True)

    def _conditional(self, statistics: Any) -> Independent:
        return smoothed(statistics, self._params.var_smoothing, self._setting("alpha"))

    def _left_out(self, statistics: Any, rows: Rows) -> FloatArray:
        alpha = smoothing_strength(self._setting("alpha"), statistics.mean.shape[1])
        constant = never_varies(*statistics.pooled())

        def variances(weights: FloatArray, spread: FloatArray, total: FloatArray, overall: FloatArray) -> FloatArray:
            added = _added(np.where(constant, 0.0, overall), self._params.var_smoothing)[:, None, :]
            smooth = (spread + alpha * overall[:, None, :]) / (weights[:, :, None] + alpha) + added
            return np.where(constant, 1.0, smooth)

        return leave_one_out.independent(self, statistics, rows, variances)

    @read_attribute
    def class_prior_(self) -> FloatArray:
        """The class priors, (k,)."""
        return self._prior(self.statistics_)

    @read_attribute
    def theta_(self) -> FloatArray:
        """The mean of each class and feature, (k, d)."""
        conditional: Any = self.joint_.conditional
        mean: FloatArray = conditional.mean
        return mean

    @read_attribute
    def var_(self) -> FloatArray:
        """The variance of each class and feature, (k, d)."""
        conditional: Any = self.joint_.conditional
        variance: FloatArray = conditional.variance
        return variance

    @read_attribute
    def epsilon_(self) -> FloatArray:
        """The smoothing, added to the variances of each feature, (d,)."""
        return added_variance(self.statistics_, self._params.var_smoothing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def added_variance(statistics: DiagonalMoments, share: float) -> FloatArray:
    """Return the smoothing that is added to the variances of each feature, (d,)."""
    mean, variance = statistics.pooled()
    variance = np.where(never_varies(mean, variance), 0.0, variance)
    return _added(variance, share)


def _added(variance: FloatArray, share: float) -> FloatArray:
    """Return what is added to variances whose features, on the last axis, have these variances over all rows."""
    largest = variance.max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(np.where(variance > 0, share * np.minimum(largest, _OWN_SCALE * variance), share * largest))


def smoothed(statistics: DiagonalMoments, share: float, alpha: Any) -> Independent:
    """Return the Gaussian of each class and feature, with smoothed variances.

    A feature that never varies does not separate classes, and has the variance 1 (or the smoothing's) in each. For
    a class, or a feature in it, that was never seen, mean and variance are those of all rows.
    """
    strength = smoothing_strength(alpha, statistics.mean.shape[1])
    pooled_mean, pooled_variance = statistics.pooled()
    observed = statistics.observed
    seen = observed > 0
    constant = never_varies(pooled_mean, pooled_variance)
    variance = (statistics.spread + strength * pooled_variance) / np.where(seen, observed + strength, 1.0)
    added = _added(np.where(constant, 0.0, pooled_variance), share)
    mean = np.where(seen, statistics.mean, pooled_mean)
    variance = np.where(seen, variance, pooled_variance) + added
    variance = np.where(constant, np.where(added > 0, added, 1.0), variance)
    fine = ~never_varies(mean, variance) | constant
    if not fine.all():
        code, feature = np.unravel_index(int(np.argmin(fine)), fine.shape)
        label = statistics.labels.names[int(code)]
        raise ValueError(
            f"feature {feature} does not vary in class {label!r}: its variance is 0; give var_smoothing or alpha > 0, "
            "or drop the feature"
        )
    return Independent(mean, variance)


@dataclass(frozen=True, eq=False)
class Independent(Conditional):
    """Independent Gaussian features. A missing cell is integrated out: its factor is 1."""

    mean: FloatArray  # (k, d)
    variance: FloatArray  # (k, d), above 0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean).all() and np.isfinite(self.variance).all()):
            _ = self.family  # raises an error with the position and the value

    @cached_property
    def family(self) -> Gaussian:
        """The Gaussians, (k, d)."""
        return Gaussian(self.mean, self.variance)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.mean)

    @property
    def theta(self) -> Theta | None:
        """The linear form, where all classes have the same variances."""
        mu, sigma2 = self.mean, self.variance
        if not (sigma2 == sigma2[0]).all():
            return None
        return Theta(mu / sigma2, -0.5 * (mu**2 / sigma2).sum(axis=1))

    @property
    def apart(self) -> Theta | None:
        """The linear form of the means about their centre."""
        if self.theta is None:
            return None
        centre = self.mean.mean(axis=0)
        coef = (self.mean - centre) / self.variance
        return Theta(coef, -0.5 * ((self.mean - centre) * coef).sum(axis=1) - coef @ centre)

    def scores(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return a reading of the sum of the Gaussian log-densities."""
        return kernels.diagonal_scores(batch, self.mean, self.variance, intercept, reading)

    def contributions(self, x: Any) -> Contributions:
        """Return the log-density of every cell."""
        values = dense(x)
        known = ~np.isnan(values)
        parts = [
            np.where(known, Gaussian(mu, sigma2).log_prob(np.where(known, values, 0.0)), 0.0)
            for mu, sigma2 in zip(self.mean, self.variance, strict=True)
        ]
        return Contributions(parts, np.zeros((len(values), self.classes)))

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return rows."""
        noise = random.standard_normal((len(codes), self.mean.shape[1]))
        return self.mean[codes] + np.sqrt(self.variance[codes]) * noise
