"""Local fits at queries: weighted by distance, solved one by one; bandwidths by leave-one-out cross-validation."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.families.links import array_namespace
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import Execution, engine_for
from suffice.kernels.libraries import is_foreign, is_sparse
from suffice.kernels.neighbourhood import Neighbourhood
from suffice.kernels.protocol import Kernels
from suffice.statistics.base import FloatArray
from suffice.store import Contents
from suffice.store.parameters import decode_parameters
from suffice.user_warnings import warn_user

#: A direction is not identified if its residual given the others is less than this share of its size.
_RANK = 1e-12


def solve_semidefinite(matrices: FloatArray, size: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solutions of systems with positive semi-definite matrices, of least norm if there are many.

    Parameters
    ----------
    matrices
        (m, k, k), symmetric.
    size
        The size of each diagonal entry before cancellation, (m, k): the scale of each unknown, for ranks and norms.
    right
        The right-hand sides, (m, k).

    Returns
    -------
    (m, k)

    Examples
    --------
    >>> solve_semidefinite(np.array([[[2.0, 0.0], [0.0, 0.0]]]), np.array([[2.0, 0.0]]), np.array([[1.0, 0.0]]))
    array([[0.5, 0. ]])
    """
    scale = np.sqrt(np.where(size > 0, size, 1.0))
    scaled = matrices / (scale[:, :, None] * scale[:, None, :])
    wanted = right / scale
    solution, determined = _eliminate(scaled, wanted)
    if not determined.all():
        solution[~determined] = _least_norm(scaled[~determined], wanted[~determined])
    return solution / scale


def inner(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the sums of left * right over their second axis, added in order for any shape.

    NumPy's sums use another order for one row: a prediction would depend on the other queries.

    >>> inner(np.array([[1.0, 2.0]]), np.array([[[3.0], [4.0]]]))
    array([[11.]])
    """
    left = left.reshape(left.shape + (1,) * (right.ndim - left.ndim))
    total = np.zeros(right.shape[:1] + right.shape[2:])
    for column in range(right.shape[1]):
        total = total + left[:, column] * right[:, column]
    return total


def _eliminate(matrices: FloatArray, right: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return the solutions, (m, k), and where every pivot was large enough for them to be valid, (m,)."""
    # The systems are the last axis, so that every step is one pass over all of them.
    rest = np.array(np.moveaxis(matrices, 0, -1), order="C")
    x = np.array(right.T, order="C")
    k = len(x)
    determined = np.ones(x.shape[1], dtype=bool)
    for j in range(k):
        determined &= rest[j, j] > _RANK  # False for NaN
        rest[j, j] = np.where(rest[j, j] > _RANK, rest[j, j], 1.0)
        share = rest[j + 1 :, j] / rest[j, j]
        for i in range(j + 1, k):
            rest[i, j + 1 : i + 1] -= share[i - j - 1] * rest[j + 1 : i + 1, j]
        x[j + 1 :] -= share * x[j]
    for j in reversed(range(k)):
        for i in range(j + 1, k):
            x[j] -= rest[i, j] * x[i]
        x[j] /= rest[j, j]
    return x.T.copy(), determined


def _least_norm(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solutions of least norm, (m, k), without nearly singular directions."""
    values, vectors = np.linalg.eigh(matrices)
    kept = values > _RANK * np.maximum(values[:, -1:], 1e-300)
    inverse = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)
    along = inverse * inner(right, vectors)
    return inner(along, np.swapaxes(vectors, 1, 2))


#: Penalty of every coefficient of a local logistic fit, so that it is finite if all neighbours have one class: factor
#: of half the mean square of the coefficient's part of the log-odds near the query, relative to the log-likelihood of
#: the nearest row.
STABILISER = 1e-4

_BLOCK_NUMBERS = 1 << 18  # of the products in memory, for any number of queries


class Answer(NamedTuple):
    """Local fits at some queries."""

    value: FloatArray  # (m, t), the fitted value, or log-odds
    variance: FloatArray  # (m,), l'l, where the fit is l'y; 0 unless requested
    influence: FloatArray  # (m,), derivative of the value by the target of a row of weight 1 at the query
    log_weight: FloatArray  # (m,), log-kernel at the nearest row
    converged: npt.NDArray[np.bool_]  # (m,)

    @classmethod
    def joined(cls, answers: Iterator[Answer]) -> Answer:
        """Return the results for all queries from those for parts of them."""
        return cls(*(np.concatenate(column) for column in zip(*answers, strict=True)))


@dataclass(frozen=True)
class LocalFit(ABC):
    """The rows and the local model; engines call it with blocks of queries."""

    rows: Batch
    targets: FloatArray  # (n, t), those of the rows, on the host
    neighbourhood: Neighbourhood
    l2: float

    def __call__(self, queries: Batch, kernels: Kernels) -> Answer:
        """Return the local fits at the queries; y of a query is the row to leave out."""
        height = max(1, _BLOCK_NUMBERS // self.neighbourhood.parameters(queries.features) ** 2)
        starts = range(queries.start, queries.stop, height)
        blocks = (replace(queries, start=start, stop=min(start + height, queries.stop)) for start in starts)
        return Answer.joined(self._answer(block, kernels) for block in blocks)

    @abstractmethod
    def _answer(self, queries: Batch, kernels: Kernels) -> Answer:
        """Return the local fits at a block of queries, whose products fit in memory."""

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
        """Return the factor of the kernels relative to the user's weights, (m,)."""
        if self.neighbourhood.kernel != "gaussian":
            return np.ones(len(log_weight))
        return np.exp(np.minimum(-log_weight, 600.0))  # beyond this the result does not change

    def _penalty(self, shift: FloatArray, log_weight: FloatArray) -> FloatArray:
        """Return the matrix of the ridge on the slopes and curvatures at the query, (m, p, p).

        The fit's coordinates are bandwidths from the nearest row; the penalty is that of the polynomial in x - query.
        """
        features = shift.shape[1]
        p = self.neighbourhood.parameters(features)
        turned = np.zeros((len(shift), p, p))  # maps coefficients about the nearest row to those about the query
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

        About the weighted mean the level is independent of the slopes: it is always identified, they may not be.
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
    """Local logistic regression by Newton's method, each step halved until the likelihood increases."""

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
            # Twice the distance from the maximum, for a parabola.
            finished = inner(gradient, step[moved]) <= self.tol * largest[better]
            theta[moved[finished]] += step[moved[finished]]
            searching = np.setdiff1d(searching, moved[finished], assume_unique=True)
            if not searching.size:
                break
        converged = ~np.isin(np.arange(count), searching)
        log_odds = inner(self.neighbourhood.design(-shift), theta)[:, None]
        return Answer(log_odds, np.zeros(count), np.zeros(count), log_weight, converged)

    def _largest(self, log_weight: FloatArray) -> FloatArray:
        """Return the kernel weight of the nearest row, (m,)."""
        if self.neighbourhood.kernel == "gaussian":
            return np.ones(len(log_weight))
        return np.where(np.isneginf(log_weight), 1.0, np.exp(log_weight))


def _some(queries: Batch, places: npt.NDArray[np.intp]) -> Batch:
    """Return some of the queries of a batch, by positions from its start."""
    if len(places) == queries.rows:
        return queries
    places = places + queries.start
    x: Any = queries.x
    if isinstance(x, np.ndarray):
        x = x[places]
    else:
        xp = array_namespace(x)
        x = xp.take(x, xp.asarray(places, device=array_api_compat.device(x)), axis=0)
    return Batch(x, None if queries.y is None else queries.y[places], work=queries.work)


#: Below this kernel weight of the nearest row, a query counts as far from all of them (Gaussian: 7.4 bandwidths).
_FAR = float(np.log(1e-12))


class FarFromDataWarning(UserWarning):
    """A query is so far from all rows that its prediction depends on the nearest row alone."""


def warn_of(answer: Answer, bandwidth: float, max_iter: int) -> None:
    """Warn about queries far from all rows, and fits that did not converge."""
    count = len(answer.value)
    far = np.flatnonzero(answer.log_weight < _FAR)
    if far.size:
        warn_user(
            f"{far.size} of the {count} queries are far from all rows for bandwidth {bandwidth:g}, the first of them "
            f"X[{far[0]}]: their predictions depend on the nearest rows alone",
            FarFromDataWarning,
        )
    lost = np.flatnonzero(~answer.converged)
    if lost.size:
        from sklearn.exceptions import ConvergenceWarning  # slow to import, and few fits need it

        warn_user(
            f"the fits at {lost.size} of the {count} queries, the first of them X[{lost[0]}], have not converged after "
            f"max_iter={max_iter} steps: raise max_iter, l2 or tol",
            ConvergenceWarning,
        )


def check_rows(x: Any) -> None:
    """Raise if X is sparse, or has a value that is NaN or infinite."""
    if is_sparse(x):
        raise TypeError("LocallyWeightedRegression needs dense rows, and X is sparse: use X.toarray()")
    validation.check_finite(x)


def numbers(y: Any, rows: int) -> tuple[FloatArray, tuple[int, ...]]:
    """Return finite targets in float64, (n, t), and the shape of a row's target."""
    column = validation.numbers(y, rows, several=True)
    return column.reshape(rows, -1), column.shape[1:]


def beside(X: Any, answer: npt.NDArray[Any]) -> Any:
    """Return a result in the array library of the queries, on their device; string labels stay in NumPy."""
    if not is_foreign(X) or answer.dtype.kind not in "biuf":
        return answer
    return array_namespace(X).asarray(answer, device=array_api_compat.device(X))


_GRID = 16  # bandwidths tried first, evenly spaced on a logarithmic scale
_REFINEMENTS = 10  # steps of golden section around the best of them: each leaves 0.618 of the interval
_STRIP = 64  # rows that native kernels process or skip together
_GOLDEN = (np.sqrt(5) - 1) / 2


def choose_bandwidth(score: Callable[[float], float], low: float, high: float) -> tuple[float, FloatArray]:
    """Return the bandwidth of the lowest score, and all bandwidths tried with their scores, (g, 2), sorted.

    A grid from low to high, then golden section between the neighbours of its best.

    Examples
    --------
    >>> best, table = choose_bandwidth(lambda bandwidth: (np.log(bandwidth) - 0.3) ** 2, 0.01, 100)
    >>> round(float(np.log(best)), 2)
    0.3
    """
    tried: dict[float, float] = {}

    def ask(logarithm: float) -> float:
        bandwidth = float(np.exp(logarithm))
        if bandwidth not in tried:
            value = score(bandwidth)
            tried[bandwidth] = value if np.isfinite(value) else np.inf
        return tried[bandwidth]

    grid = [float(each) for each in np.linspace(np.log(low), np.log(high), _GRID)]
    best = int(np.argmin([ask(each) for each in grid]))
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    for _ in range(_REFINEMENTS):
        inner_left, inner_right = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
        if ask(inner_left) <= ask(inner_right):
            right = inner_right
        else:
            left = inner_left
    table = np.array(sorted(tried.items()))
    return float(table[np.argmin(table[:, 1]), 0]), table


def neighbours_together(x: FloatArray) -> npt.NDArray[np.intp]:
    """Return an order of rows, (n,), in which nearby rows have nearby positions.

    The rows are halved along their widest side recursively, down to the size of a strip.

    Examples
    --------
    >>> neighbours_together(np.array([[3.0], [1.0], [2.0]]))
    array([1, 2, 0])
    """
    order = np.argsort(x[:, 0], kind="stable")
    waiting = [(0, len(x))] if x.shape[1] > 1 else []
    while waiting:
        first, last = waiting.pop()
        if last - first <= _STRIP:
            continue
        part = order[first:last]
        widest = int(np.argmax(np.ptp(x[part], axis=0)))
        middle = -(-((last - first) // 2) // _STRIP) * _STRIP  # whole strips on the left
        order[first:last] = part[np.argpartition(x[part, widest], middle)]
        waiting += [(first, first + middle), (first + middle, last)]
    return order


def log_expit(log_odds: FloatArray) -> FloatArray:
    """Return the logarithm of the probability with these log-odds.

    >>> log_expit(np.array([0.0, -800.0]))
    array([-6.93147181e-01, -8.00000000e+02])
    """
    return np.asarray(np.minimum(log_odds, 0.0) - np.log1p(np.exp(-np.abs(log_odds))))  # exponent <= 0: no overflow


#: Largest number of leave-one-out queries, to choose a bandwidth or to estimate a variance.
_ASKED = 2000


@dataclass(frozen=True, eq=False)
class QueryFit:
    """The fit of locally weighted regression at one query."""

    query: FloatArray  #: (d,)
    theta: FloatArray  #: (p,), of 1, the features and, for degree 2, their products: of x itself, not of x - query
    #: (n,), the kernel at each row, times the weight of the row
    weights: FloatArray = field(repr=False)
    #: (n, d), the rows that the model keeps, in the order of the weights
    X: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)  #: (n,)
    degree: int

    def predict(self, X: Any) -> FloatArray:
        """Return the line (or curve) of this fit at points, (n,)."""
        return np.asarray(Neighbourhood(degree=self.degree).design(np.asarray(X, dtype=np.float64)) @ self.theta)


def _about_zero(theta: FloatArray, query: FloatArray, neighbourhood: Neighbourhood) -> FloatArray:
    """Return the coefficients of a polynomial in x, from those in x - query."""
    d, found = len(query), theta.copy()
    for column, (one, two) in enumerate(zip(*neighbourhood.pairs(d), strict=True)):
        product = theta[1 + d + column]
        found[1 + one] -= product * query[two]
        found[1 + two] -= product * query[one]
        found[0] += product * query[one] * query[two]
    if neighbourhood.degree > 0:
        found[0] -= theta[1 : 1 + d] @ query
    return found


@dataclass(frozen=True)
class LocalRows:
    """Rows with their targets and weights, on their device."""

    batch: Batch  # x, (n, d), y, (n, t), and weight, (n,) or None: float64, of one array library
    targets: FloatArray  # (n, t), on the host
    weight: FloatArray  # (n,), on the host

    @classmethod
    def of(cls, x: Any, targets: FloatArray, weight: FloatArray | None, in_order: bool = False) -> LocalRows:
        """Return the rows of weight above 0; NumPy rows are sorted so that neighbours are close."""
        check_rows(x)
        if is_foreign(x):
            return cls._foreign(x, targets, weight)
        x = np.asarray(x, dtype=np.float64)
        if not in_order:
            kept = np.arange(len(x)) if weight is None else np.flatnonzero(weight)
            kept = kept[neighbours_together(x[kept])]
            x, targets, weight = x[kept], targets[kept], None if weight is None else weight[kept]
        return cls(Batch(x, targets, weight), targets, np.ones(len(x)) if weight is None else weight)

    @classmethod
    def _foreign(cls, x: Any, targets: FloatArray, weight: FloatArray | None) -> LocalRows:
        xp, device = array_namespace(x), array_api_compat.device(x)
        x = xp.astype(x, xp.float64)
        y = xp.asarray(targets, device=device)
        scale = None if weight is None else xp.asarray(weight, device=device)
        return cls(Batch(x, y, scale), targets, np.ones(len(targets)) if weight is None else weight)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], features: int, targets: int) -> LocalRows:
        """Return the rows that a model's file stores; raise if its arrays are not those of one model."""
        rows = len(arrays["x"])
        expected = {"x": (rows, features), "y": (rows, targets), "weight": (rows,)}
        for name in expected.keys() & arrays.keys():
            array = arrays[name]
            if array.shape != expected[name] or array.dtype != np.float64:
                raise ValueError(
                    f"{name} must hold float64 of shape {expected[name]}; it has {array.dtype} of shape {array.shape}"
                )
        return cls.of(arrays["x"], arrays["y"], arrays.get("weight"), in_order=True)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the rows as a model's file stores them."""
        weight = {} if self.batch.weight is None else {"weight": self.weight}
        return {"x": np.asarray(to_host(self.batch.x)), "y": self.targets, **weight}

    def ask(
        self,
        x: Any,
        settings: Mapping[str, Any],
        bandwidth: float,
        engine: Engine | Execution | None,
        with_variance: bool = False,
        left_out: npt.NDArray[np.int64] | None = None,
    ) -> Answer:
        """Return the local fits at queries, each without the row in ``left_out``, if given."""
        queries = Batch(self._beside(x), left_out, work=max(1, self.batch.rows))
        fit = self._fit(settings, bandwidth, with_variance)
        return Answer.joined(engine_for(engine, self.batch.x).map(fit, queries))

    def _fit(self, settings: Mapping[str, Any], bandwidth: float, with_variance: bool) -> LocalFit:
        neighbourhood = Neighbourhood(settings["kernel"], bandwidth, settings["degree"])
        what = self.batch, self.targets, neighbourhood, settings["l2"]
        if settings["family"] == "bernoulli":
            return Logistic(*what, settings["max_iter"], settings["tol"])
        return LeastSquares(*what, with_variance)

    def fit_at(self, query: FloatArray, neighbourhood: Neighbourhood, l2: float) -> QueryFit:
        """Return the least-squares fit at one query, (d,), with its weights."""
        x = np.asarray(to_host(self.batch.x) if is_foreign(self.batch.x) else self.batch.x)
        u = (x - query) / neighbourhood.bandwidth
        log_kernel = neighbourhood.log_weight(np.sqrt((u * u).sum(axis=1)))
        nearest = float(log_kernel.max())
        if nearest == -np.inf:
            raise ValueError(f"no row is within the bandwidth, {neighbourhood.bandwidth:g}, of the query: widen it")
        design = neighbourhood.design(u)
        root = np.sqrt(self.weight * np.exp(log_kernel - nearest))  # relative: far from all rows they underflow
        places = np.arange(design.shape[1])
        order = np.minimum(places, 1) + (places > u.shape[1])
        scale = neighbourhood.bandwidth ** -order.astype(np.float64)
        ridge = np.diag(np.sqrt(l2 * np.exp(min(-nearest, 600.0))) * scale)[1:]
        rows = np.concatenate([design * root[:, None], ridge])
        targets = np.concatenate([self.targets[:, 0] * root, np.zeros(len(ridge))])
        about_query = scale * np.linalg.lstsq(rows, targets, rcond=_RANK)[0]
        theta = _about_zero(about_query, query, neighbourhood)
        return QueryFit(query, theta, self.weight * np.exp(log_kernel), x, self.targets[:, 0], neighbourhood.degree)

    def _beside(self, x: Any) -> Any:
        """Return queries in the array library of the rows, on their device."""
        home = self.batch.x
        if isinstance(home, np.ndarray):
            return to_host(x) if is_foreign(x) else x
        xp, device = array_namespace(home), array_api_compat.device(home)
        if is_foreign(x) and array_namespace(x) is xp:
            return array_api_compat.to_device(x, device)
        return xp.asarray(to_host(x) if is_foreign(x) else np.array(x), device=device)

    def _themselves(self) -> tuple[Any, npt.NDArray[np.int64]]:
        """Return rows as queries, all or evenly spaced, and their positions."""
        count = self.batch.rows
        places = np.unique(np.linspace(0, count - 1, min(count, _ASKED)).astype(np.int64))
        if isinstance(self.batch.x, np.ndarray):
            return self.batch.x[places], places
        return to_host(self.batch.x)[places], places

    def residual_variance(
        self, settings: Mapping[str, Any], bandwidth: float, engine: Engine | Execution | None
    ) -> FloatArray:
        """Return the residual variance, (t,)."""
        x, places = self._themselves()
        answer = self.ask(x, settings, bandwidth, engine, with_variance=True)
        weight = self.weight[places]
        residual = self.targets[places] - answer.value
        # For a row of weight w, E(w residual²) is the variance times this.
        free = float(np.sum(weight * (1 - 2 * weight * answer.influence / weight + answer.variance)))
        if free <= 1e-9 * float(weight.sum()):
            raise ValueError(
                f"bandwidth {bandwidth:g} leaves no degrees of freedom: the fit interpolates every row, and its errors "
                "are unknown; choose a larger bandwidth"
            )
        return np.asarray((weight[:, None] * residual**2).sum(axis=0) / free)

    def tuned(self, settings: Mapping[str, Any], engine: Engine | Execution | None) -> tuple[float, FloatArray]:
        """Return the bandwidth of the lowest leave-one-out error, and the table of all that were tried."""
        if self.batch.rows < 2:
            raise ValueError("bandwidth='auto' needs at least two rows, to predict one from the others: pass a number")
        x, places = self._themselves()
        weight = self.weight[places] / self.weight[places].sum()
        y = self.targets[places]

        def score(bandwidth: float) -> float:
            value = self.ask(x, settings, bandwidth, engine, left_out=places).value
            if settings["family"] == "bernoulli":
                return float(-weight @ log_expit(np.where(y > 0, value, -value))[:, 0])
            return float(weight @ ((y - value) ** 2).mean(axis=1))

        low, high = self._scales(x, places, engine)
        if high == 0:
            return 1.0, np.array([[1.0, score(1.0)]])
        return choose_bandwidth(score, low, high)

    def _scales(self, x: Any, places: npt.NDArray[np.int64], engine: Engine | Execution | None) -> tuple[float, float]:
        """Return a typical distance between neighbours, and twice the largest distance between rows."""
        high = 2 * float(np.linalg.norm(np.ptp(x, axis=0)))
        constant = {"family": "gaussian", "degree": 0, "kernel": "gaussian", "l2": 0.0}
        if high == 0:
            return 0.0, 0.0
        # With the whole extent as bandwidth, the Gaussian kernel at the nearest other row gives its distance.
        log_weight = self.ask(x, constant, high, engine, left_out=places).log_weight
        low = high * float(np.median(np.sqrt(-2 * log_weight)))
        return max(low, high * 1e-4), high


#: Parameters of a local fit besides its bandwidth.
SETTINGS = ("family", "degree", "kernel", "l2", "max_iter", "tol")


@dataclass(frozen=True, eq=False)
class LocalScorer:
    """A fitted local regression: the rows, and how they are weighted at a query."""

    rows: LocalRows
    settings: Mapping[str, Any]  # values of SETTINGS
    bandwidth: float

    @classmethod
    def of_contents(cls, contents: Contents) -> LocalScorer:
        """Return the scorer of a LocallyWeightedRegression in a file."""
        settings = contents.settings
        given = decode_parameters(settings.get("fitted_parameters", settings["parameters"]))
        if given["family"] not in ("gaussian", "bernoulli"):
            raise ValueError(f"family must be 'gaussian' or 'bernoulli'; got {given['family']!r}")
        rows = LocalRows.from_arrays(contents.arrays, int(settings["features"]), math.prod(settings["shape"]))
        return cls(rows, {name: given[name] for name in SETTINGS}, float(settings["bandwidth"]))

    def values(self, x: FloatArray) -> FloatArray:
        """Return the fitted value at each query, or its log-odds, (n, t)."""
        check_rows(x)
        return self.rows.ask(x, self.settings, self.bandwidth, None).value
