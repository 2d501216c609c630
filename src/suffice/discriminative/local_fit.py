"""Local fits at queries: polynomials by least squares, and logistic curves by Newton's method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
import numpy.typing as npt

from suffice.discriminative.local_solve import inner, solve_semidefinite
from suffice.kernels import Batch
from suffice.kernels.neighbourhood import Neighbourhood
from suffice.kernels.protocol import Kernels
from suffice.statistics.base import FloatArray

#: What holds every coefficient of a local logistic curve, so that a neighbourhood of one class has a finite fit: the
#: weight of half the mean square that the coefficient adds to the log-odds around the query, beside the log-likelihood
#: of the nearest row.
STABILISER = 1e-4

_BLOCK_NUMBERS = 1 << 18  # of the products that are held at a time, whatever the number of queries


class Answer(NamedTuple):
    """What local fits say at some queries."""

    value: FloatArray  # (m, t), the fitted value; of a logistic curve the log-odds
    variance: FloatArray  # (m,), l'l, of the row l by which the fit weighs the targets; 0 unless asked for
    influence: FloatArray  # (m,), how the value moves with the target of a row of weight 1 at the query itself
    log_weight: FloatArray  # (m,), of the kernel at the nearest row
    converged: npt.NDArray[np.bool_]  # (m,)

    @classmethod
    def joined(cls, answers: Iterator[Answer]) -> Answer:
        """Return the answers about all queries, from those about parts of them."""
        return cls(*(np.concatenate(column) for column in zip(*answers, strict=True)))


@dataclass(frozen=True)
class LocalFit(ABC):
    """The rows, and what is fitted to those around a query. Called by engines with some queries at a time."""

    rows: Batch
    targets: FloatArray  # (n, t), those of the rows, on the host
    neighbourhood: Neighbourhood
    l2: float

    def __call__(self, queries: Batch, kernels: Kernels) -> Answer:
        """Return what the fits say at the queries; y of these says which row each does without."""
        height = max(1, _BLOCK_NUMBERS // self.neighbourhood.parameters(queries.features) ** 2)
        starts = range(queries.start, queries.stop, height)
        blocks = (replace(queries, start=start, stop=min(start + height, queries.stop)) for start in starts)
        return Answer.joined(self._answer(block, kernels) for block in blocks)

    @abstractmethod
    def _answer(self, queries: Batch, kernels: Kernels) -> Answer:
        """Return what the fits say at queries that are few enough to hold all their products."""

    def _log_weight(self, queries: Batch, nearest: npt.NDArray[np.int64], shift: FloatArray) -> FloatArray:
        """Return the logarithm of the kernel at the nearest row, (m,)."""
        lost = np.flatnonzero(nearest < 0)
        if lost.size:
            raise OverflowError(
                f"the distances from x[{queries.start + lost[0]}] to the rows overflow float64: rescale the features "
                "or choose a larger bandwidth"
            )
        return self.neighbourhood.log_weight(np.sqrt(inner(shift, shift)))

    def _relative(self, log_weight: FloatArray) -> FloatArray:
        """Return by what the kernels have multiplied the weights as the user knows them, (m,)."""
        if self.neighbourhood.kernel != "gaussian":
            return np.ones(len(log_weight))
        return np.exp(np.minimum(-log_weight, 600.0))  # beyond, nothing changes any more

    def _penalty(self, shift: FloatArray, log_weight: FloatArray) -> FloatArray:
        """Return the matrix of the ridge on the slopes and curvatures at the query, (m, p, p).

        The fit is written about the nearest row and in bandwidths; the penalty is that of the polynomial in x - query.
        """
        features = shift.shape[1]
        p = self.neighbourhood.parameters(features)
        turned = np.zeros((len(shift), p, p))  # from coefficients about the nearest row to those about the query
        if self.l2 == 0:
            return turned
        turned[:, range(1, p), range(1, p)] = 1.0
        for column, (one, two) in enumerate(zip(*self.neighbourhood.pairs(features), strict=True)):
            turned[:, 1 + one, 1 + features + column] -= shift[:, two]
            turned[:, 1 + two, 1 + features + column] -= shift[:, one]
        order = np.where(np.arange(p) > features, 2.0, 1.0)
        turned *= self.neighbourhood.bandwidth ** -order[:, None]
        strength = self.l2 * self._relative(log_weight)
        return np.asarray(strength[:, None, None] * (np.swapaxes(turned, 1, 2) @ turned))


@dataclass(frozen=True)
class LeastSquares(LocalFit):
    """Polynomials by weighted least squares: linear in the targets."""

    with_variance: bool = False

    def _answer(self, queries: Batch, kernels: Kernels) -> Answer:
        sums = kernels.local_moments(queries, self.rows, self.neighbourhood, squares=self.with_variance)
        log_weight = self._log_weight(queries, sums.nearest, sums.shift)
        at_query = self.neighbourhood.design(-sums.shift)
        equivalent = self._equivalent(sums.products, at_query, self._penalty(sums.shift, log_weight))
        value = self.targets[sums.nearest] + inner(equivalent, sums.targets)
        variance = influence = np.zeros(len(value))
        if self.with_variance:
            variance = inner(inner(equivalent, sums.squares), equivalent)
            influence = self._relative(log_weight) * inner(equivalent, at_query)
        return Answer(value, variance, influence, log_weight, np.ones(len(value), dtype=bool))

    def _equivalent(self, products: FloatArray, at_query: FloatArray, penalty: FloatArray) -> FloatArray:
        """Return c, (m, p), for which the fit at the query is the sum of w k c'f y: c = (sum of w k f f')^-1 f(query).

        About the weighted mean, the level is fitted apart from the slopes: those may be undetermined, it never is.
        """
        weight = products[:, 0, 0]
        mean = products[:, 0, 1:] / weight[:, None]
        size = products[:, 1:, 1:] + penalty[:, 1:, 1:]
        spread = size - products[:, 0, 1:, None] * mean[:, None, :]
        slopes = solve_semidefinite(spread, np.diagonal(size, axis1=1, axis2=2), at_query[:, 1:] - mean)
        level = 1 / weight - inner(slopes, mean)
        return np.concatenate([level[:, None], slopes], axis=1)


@dataclass(frozen=True)
class Logistic(LocalFit):
    """Logistic curves by Newton's method, each step halved until the likelihood grows."""

    max_iter: int = 100
    tol: float = 1e-10

    def _answer(self, queries: Batch, kernels: Kernels) -> Answer:
        count, p = queries.rows, self.neighbourhood.parameters(queries.features)
        theta, step, shift = np.zeros((count, p)), np.zeros((count, p)), np.zeros((count, queries.features))
        value, length, log_weight = np.full(count, -np.inf), np.ones(count), np.zeros(count)
        penalties: FloatArray | None = None  # (m, p, p)
        searching = np.arange(count)
        for _ in range(self.max_iter):
            trial = theta[searching] + length[searching, None] * step[searching]
            sums = kernels.local_curvature(_some(queries, searching), self.rows, self.neighbourhood, trial)
            if penalties is None:  # theta is 0, and all rows have the same curvature
                shift, log_weight = sums.shift, self._log_weight(queries, sums.nearest, sums.shift)
                mean_squares = np.diagonal(sums.hessian, axis1=1, axis2=2) / sums.hessian[:, :1, 0]
                penalties = self._penalty(shift, log_weight)
                penalties[:, range(p), range(p)] += STABILISER * self._largest(log_weight)[:, None] * mean_squares
            penalty, largest = penalties[searching], self._largest(log_weight[searching])
            pull = inner(trial, penalty)
            reached = sums.value - 0.5 * inner(pull, trial)
            before = value[searching]
            better = reached >= before - 1e-12 * np.abs(before)  # never where it is NaN
            length[searching] = np.where(better, 1.0, length[searching] / 2)
            moved = searching[better]
            theta[moved], value[moved] = trial[better], reached[better]
            hessian, gradient = sums.hessian[better] + penalty[better], sums.gradient[better] - pull[better]
            step[moved] = solve_semidefinite(hessian, np.diagonal(hessian, axis1=1, axis2=2), gradient)
            # Twice what the likelihood still lacks, were it a parabola.
            finished = inner(gradient, step[moved]) <= self.tol * largest[better]
            theta[moved[finished]] += step[moved[finished]]
            searching = np.setdiff1d(searching, moved[finished], assume_unique=True)
            if not searching.size:
                break
        converged = ~np.isin(np.arange(count), searching)
        log_odds = inner(self.neighbourhood.design(-shift), theta)[:, None]
        return Answer(log_odds, np.zeros(count), np.zeros(count), log_weight, converged)

    def _largest(self, log_weight: FloatArray) -> FloatArray:
        """Return the weight that the kernels give to the nearest row, (m,)."""
        if self.neighbourhood.kernel == "gaussian":
            return np.ones(len(log_weight))
        return np.where(np.isneginf(log_weight), 1.0, np.exp(log_weight))


def _some(queries: Batch, places: npt.NDArray[np.intp]) -> Batch:
    """Return some of the queries of a batch, counted from its start."""
    if len(places) == queries.rows:
        return queries
    places = places + queries.start
    x: Any = queries.x
    if isinstance(x, np.ndarray):
        x = x[places]
    else:
        xp = array_api_compat.array_namespace(x)
        x = xp.take(x, xp.asarray(places, device=array_api_compat.device(x)), axis=0)
    return Batch(x, None if queries.y is None else queries.y[places], work=queries.work)
