"""The categorical family, one of k categories, and its base class, which the multinomial shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.families import links
from suffice.families.base import Distribution, RandomState, Size, require
from suffice.families.priors import check_alpha, laplace, require_evidence
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.statistics.counts import CategoryCounts


@dataclass(frozen=True, init=False, eq=False)
class Simplex(Distribution):
    """A family whose parameter is k probabilities on the last axis; eta is their k - 1 log-ratios to the last.

    Class-level maths is that of one trial.
    """

    p: FloatArray  # (..., k)

    def __init__(self, p: npt.ArrayLike) -> None:
        shares = np.asarray(p, dtype=np.float64)
        if shares.ndim == 0 or shares.shape[-1] == 0:
            raise ValueError(f"p must have one probability or more on its last axis; its shape is {shares.shape}")
        require("p", shares, (shares >= 0) & (shares <= 1 + 1e-9), "a probability must be between 0 and 1")
        total = shares.sum(axis=-1)
        require("the sum of p", total, np.abs(total - 1) <= 1e-9, "probabilities must sum to 1")
        self._hold(p=shares)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the batch; () for one distribution."""
        return self.p.shape[:-1]

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return log(1 + sum of e^eta)."""
        import scipy  # slow to import, and few rows need it

        ratios = np.asarray(eta, dtype=np.float64)
        return np.asarray(
            scipy.special.logsumexp(np.concatenate([ratios, np.zeros((*ratios.shape[:-1], 1))], axis=-1), axis=-1)
        )

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return the first k - 1 probabilities."""
        return np.asarray(links.softmax.mean(eta)[..., :-1])

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return diag(p) - p p' for the first k - 1 probabilities."""
        return np.asarray(links.softmax.mean_and_slope(eta)[1][..., :-1, :])

    @property
    def natural(self) -> FloatArray:
        """The log-ratios of the first k - 1 probabilities to the last; -inf for a probability of 0."""
        last = self.p[..., -1]
        require("p[..., -1]", last, last > 0, "log-ratios to a last category of probability 0 do not exist")
        return np.asarray(links.softmax.link(self.p))

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with these log-ratios."""
        return cls(links.softmax.mean(eta))


class Categorical(Simplex):
    """y is one of the codes 0 to k - 1. eta_i = log(p_i / p_k), T = the first k - 1 of y's one-hot vector.

    Parameters
    ----------
    p
        The probabilities of the codes, on the last axis; they sum to 1.

    Examples
    --------
    >>> Categorical([0.5, 0.25, 0.25]).log_prob([0, 2, 3]).round(3)
    array([-0.693, -1.386,   -inf])
    """

    name = "categorical"
    support = "a whole number, 0 to k - 1"

    @staticmethod
    def sufficient(y: npt.ArrayLike, categories: int | None = None) -> FloatArray:
        """Return the one-hot vector of y without its last entry, (..., categories - 1).

        Examples
        --------
        >>> Categorical.sufficient([0, 1, 2], categories=3)
        array([[1., 0.],
               [0., 1.],
               [0., 0.]])
        """
        codes = np.asarray(y, dtype=np.int64)
        if categories is None:
            raise ValueError(
                f"categories must be given: the codes, up to {codes.max(initial=0)}, do not say how many there are"
            )
        require("y", codes, (codes >= 0) & (codes < categories), f"a code must be 0 to {categories - 1}")
        return np.asarray(codes[..., None] == np.arange(categories - 1), dtype=np.float64)

    @classmethod
    def estimate(cls, statistics: CategoryCounts, alpha: npt.ArrayLike = 0.0) -> list[Self]:
        """Return one distribution per feature, of batch shape (k classes,): (c + alpha) / (n + categories alpha).

        ``alpha`` is one number, or one per feature.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics import CategoryCounts, Labels
        >>> counts = np.array([[3.0, 0.0, 1.0, 2.0, 0.0]])
        >>> seen = CategoryCounts(Labels(("ham",)), np.array([3.0]), counts, sizes=(2, 3))
        >>> [feature.p.tolist() for feature in Categorical.estimate(seen, alpha=1)]
        [[[0.8, 0.2]], [[0.3333333333333333, 0.5, 0.16666666666666666]]]
        """
        strength = check_alpha(alpha, len(statistics.sizes))
        statistics.check_digits(np.repeat(strength, statistics.sizes))
        blocks = [statistics.feature(index) for index in range(len(statistics.sizes))]
        for block, added in zip(blocks, strength, strict=True):
            require_evidence(statistics.labels, block.sum(axis=1) + added, "probabilities are")
        return [cls(laplace(block, added)) for block, added in zip(blocks, strength, strict=True)]

    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return drawn codes."""
        ends = np.cumsum(self.p, axis=-1)
        ends = ends[..., :-1] / ends[..., -1:]  # exactly 1 before a last category of probability 0: never drawn
        uniform = np.random.default_rng(random_state).random(self._draws(size))
        return np.asarray((uniform[..., None] >= ends).sum(axis=-1))

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return np.asarray((y >= 0) & (y < self.p.shape[-1]) & (y == np.floor(y)))

    def _log_density(self, y: FloatArray) -> FloatArray:
        shape = np.broadcast_shapes(y.shape, self.batch_shape)
        log_p = links.log.link(self.p)  # -inf at 0
        log_p = np.broadcast_to(log_p, (*shape, self.p.shape[-1]))
        codes = np.broadcast_to(y, shape)[..., None].astype(np.intp)
        return np.asarray(np.take_along_axis(log_p, codes, axis=-1)[..., 0])
