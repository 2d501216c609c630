"""p(x | y) of independent discrete features: presences, counts and categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.families import Bernoulli, Multinomial, Poisson
from suffice.generative.conditional import (
    Conditional,
    Contributions,
    Linear,
    Theta,
    log_factorials,
    log_without_zeros,
)
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.inputs import JOINT, Reading
from suffice.kernels.libraries import is_sparse
from suffice.kernels.protocol import Kernels
from suffice.statistics import EventCounts, Labels
from suffice.statistics.base import FloatArray

FORCED = 1e-10  # what an alpha below it becomes, unless it is forced


@dataclass(frozen=True, eq=False)
class Presences(Linear):
    """The multivariate Bernoulli event model: each feature is there or not; absence counts too."""

    family: Bernoulli = field(kw_only=True)  # (k, d)

    @classmethod
    def of(cls, family: Bernoulli, threshold: float | None) -> Presences:
        """Return the event model of these probabilities of presence."""
        # log q comes from the complementary count, not from 1 - p: it keeps its digits where p is near 1.
        log_p, never = log_without_zeros(family.p)
        log_q, always = log_without_zeros(family.q)
        veto = None
        if never is not None or always is not None:
            no, yes = (np.zeros_like(log_p) if part is None else part for part in (never, always))
            veto = Linear(no - yes, yes.sum(axis=1), -yes, threshold)
        return cls(log_p - log_q, log_q.sum(axis=1), -log_q, threshold, veto, family=family)

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return rows of 0 and 1; of numbers on either side of the threshold where 0 and 1 are not."""
        there = random.random((len(codes), self.family.p.shape[1])) < self.family.p[codes]
        cut = 0.0 if self.threshold is None else self.threshold
        return np.where(there, max(1, int(np.floor(cut)) + 1), min(0, int(np.floor(cut))))


@dataclass(frozen=True, eq=False)
class Words(Linear):
    """The multinomial event model: a row is a sequence of words, drawn independently from its class's."""

    family: Multinomial = field(kw_only=True)  # of batch shape (k,)
    lengths: FloatArray = field(kw_only=True)  # (k,), the words of an average row

    @classmethod
    def of(cls, family: Multinomial, lengths: FloatArray) -> Words:
        """Return the event model of these word probabilities."""
        log_p, zero = log_without_zeros(family.p)
        veto = None if zero is None else Linear(zero, np.zeros(len(zero)))
        return cls(log_p, np.zeros(len(log_p)), None, None, veto, family=family, lengths=lengths)

    @classmethod
    def estimate(cls, statistics: EventCounts, alpha: FloatArray) -> Words:
        """Return the event model of counts, smoothed by alpha, (d,)."""
        rows = np.where(statistics.rows > 0, statistics.rows, 1.0)
        return cls.of(Multinomial.estimate(statistics, alpha), statistics.counts.sum(axis=1) / rows)

    def log_base(self, x: Any) -> FloatArray:
        """Return the log of the multinomial coefficient: in how many orders the words can stand."""
        import scipy  # slow to import, and few rows need it

        if is_sparse(x):
            totals = np.asarray(x.sum(axis=1)).reshape(-1)
        else:
            totals = np.nansum((x if isinstance(x, np.ndarray) else to_host(x)).astype(np.float64), axis=1)
        return np.asarray(scipy.special.gammaln(totals + 1)) - log_factorials(x)

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return word counts; the number of words is Poisson about the class's average, or ``length``."""
        length = how.get("length")
        totals = random.poisson(self.lengths[codes]) if length is None else np.broadcast_to(length, codes.shape)
        return np.stack([random.multinomial(n, self.family.p[k]) for n, k in zip(totals, codes, strict=True)])


def complement_weights(statistics: EventCounts, alpha: FloatArray, norm: bool = False) -> Linear:
    """Return the scores of complement naive Bayes: how unlike a row is to all *other* classes.

    Parameters
    ----------
    statistics
        Counts of each class.
    alpha
        Smoothing of each feature, (d,).
    norm
        Whether each class's weights are divided by their sum.
    """
    statistics.check_digits(alpha)
    others = statistics.counts.sum(axis=0) + alpha - statistics.counts
    # A word of this class alone, unsmoothed: its weight is large, not infinite.
    np.maximum(others, FORCED, out=others)
    others /= others.sum(axis=1, keepdims=True)
    logged = np.log(others, out=others)
    weights = logged / logged.sum(axis=1, keepdims=True) if norm else np.negative(logged, out=logged)
    return Linear(weights, np.zeros(len(weights)))


@dataclass(frozen=True, eq=False)
class Arrivals(Linear):
    """Independent Poisson counts; their posterior is logistic, though nothing here is Gaussian."""

    family: Poisson = field(kw_only=True)  # (k, d)

    @classmethod
    def of(cls, family: Poisson) -> Arrivals:
        """Return the event model of these rates."""
        log_rate, never = log_without_zeros(family.rate)
        veto = None if never is None else Linear(never, np.zeros(len(never)))
        return cls(log_rate, -family.rate.sum(axis=1), family.rate, None, veto, family=family)

    def log_base(self, x: Any) -> FloatArray:
        """Return -log x! of each row."""
        return -log_factorials(x)

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return counts."""
        return random.poisson(self.family.rate[codes])


@dataclass(frozen=True, eq=False)
class Categories(Conditional):
    """Independent categorical features. The last code of each stands for every category that was never seen."""

    tables: list[FloatArray]  # per feature, (size, k): the log-probabilities of its codes
    vocabularies: tuple[Labels, ...]  # per feature: the names of all codes but the last

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.tables[0].shape[1])

    @property
    def theta(self) -> Theta | None:
        """None: codes are names, not numbers."""
        return None

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each feature has."""
        return tuple(len(table) for table in self.tables)

    def scores(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return what a reading makes of the sum of the features' log-probabilities."""
        return kernels.category_scores(batch, np.concatenate(self.tables), self.sizes, intercept, reading)

    def contributions(self, x: Any) -> Contributions:
        """Return each feature's log-probability, 0 where its cell is missing."""
        codes = np.asarray(x, dtype=np.int64)
        terms = [
            np.where((codes[:, j] >= 0)[:, None], table[np.maximum(codes[:, j], 0)], 0.0)
            for j, table in enumerate(self.tables)
        ]
        parts = np.stack(terms, axis=1)  # (n, d, k)
        return Contributions([parts[:, :, k] for k in range(self.classes)], np.zeros((len(codes), self.classes)))

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return category codes, of the categories that were seen."""
        rows = np.full((len(codes), len(self.tables)), -1, dtype=np.int64)
        for j, table in enumerate(self.tables):
            for k in np.unique(codes) if len(table) > 1 else ():
                p = np.exp(table[:-1, k])
                rows[codes == k, j] = random.choice(len(p), size=int((codes == k).sum()), p=p / p.sum())
        return rows


def category_table(counts: FloatArray, alpha: float, size: int) -> FloatArray:
    """Return the log-probability of each category, and of one that was never seen, in each class, (categories + 1, k).

    Parameters
    ----------
    counts
        How often each category occurred in each class, (k, categories).
    alpha
        The smoothing, added to each count.
    size
        How many categories there are, those that did not occur included.

    Examples
    --------
    >>> np.exp(category_table(np.array([[2.0, 0.0], [0.0, 1.0]]), 1.0, 2)).round(3)
    array([[0.75 , 0.333],
           [0.25 , 0.667],
           [0.25 , 0.333]])
    """
    total = counts.sum(axis=1) + alpha * size
    with np.errstate(divide="ignore", invalid="ignore"):
        table = np.log(np.vstack([counts.T + alpha, np.full(len(counts), alpha)])) - np.log(total)
    # Without smoothing, a feature without counts in a class contributes 0: 0 / 0 is no evidence.
    return np.where(total > 0, table, 0.0)
