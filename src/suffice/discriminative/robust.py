"""Robust covariances: standard errors that are valid if the response's variance is not that of the family.

Heteroscedasticity-consistent (HC0 to HC4), clustered, and Newey-West for rows in time order.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.data import EncodedDataset
from suffice.families import Response
from suffice.families.response import Curve
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.native import is_csr
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics.base import FloatArray

#: The covariances of theta, by their names in a summary.
COVARIANCES = (
    "classical", "HC0", "HC1", "HC2", "HC3", "HC4", "clustered", "clustered-residual-df", "newey-west"
)  # fmt: skip
#: Those that need the cluster of each row.
CLUSTERED = ("clustered", "clustered-residual-df")
#: Those that divide a residual by 1 - leverage.
LEVERAGED = ("HC2", "HC3", "HC4")
#: Errors of fewer clusters than these have a note.
FEW_CLUSTERS = 30

#: A block of rows takes about this many numbers.
CELLS = 1 << 20
#: Above this a leverage is 1: the residual is 0 whatever the error of the row, and its corrected value 0 / 0.
FULL_LEVERAGE = 1 - 1e-8
#: A coefficient does not depend on a row if its share of the row's effect is at most this: rounding gives less.
_NO_SHARE = 1e-6
_SQUARES = Response.of("gaussian")


class RobustFacts(NamedTuple):
    """What a robust covariance is based on."""

    kind: str
    clusters: int | None = None  #: number of clusters, of a clustered covariance
    lags: int | None = None  #: of ``"newey-west"``
    full_leverage: tuple[int, ...] = ()  #: the rows of leverage 1, among those that were fitted
    uncertain: tuple[int, ...] = ()  #: the coefficients that depend on the error of these rows, or clusters
    full_clusters: tuple[str, ...] = ()  #: the clusters that alone determine coefficients

    @property
    def df(self) -> float | None:
        """The degrees of freedom of tests, clusters - 1; None if they are those of other covariances."""
        return None if self.clusters is None or self.kind != "clustered" else self.clusters - 1.0

    @property
    def title(self) -> str:
        """The kind, the number of clusters or lags.

        Examples
        --------
        >>> RobustFacts("newey-west", lags=1).title, RobustFacts("clustered", clusters=12).title
        ('newey-west, 1 lag', 'clustered, 12 clusters')
        """
        if self.clusters is not None:
            return f"{self.kind}, {self.clusters} clusters"
        return self.kind if self.lags is None else f"{self.kind}, {self.lags} lag{'s' if self.lags != 1 else ''}"

    def notes(self, names: Sequence[str]) -> list[str]:
        """Return notes on standard errors that are unknown or too small, given the names of the coefficients.

        Examples
        --------
        >>> RobustFacts("HC3", full_leverage=(4,), uncertain=(1,)).notes(["intercept", "x0"])
        ['row 4 of the fitted rows has leverage 1, so its residual is 0 whatever its error: HC3 errors of x0 are \
unknown']
        """
        found = []
        of = ", ".join(names[place] for place in self.uncertain[:5]) + (", ..." if len(self.uncertain) > 5 else "")
        if self.full_clusters:
            which = ", ".join(self.full_clusters[:5]) + (", ..." if len(self.full_clusters) > 5 else "")
            several = len(self.full_clusters) > 1
            who, whose = (f"clusters {which} each", "their") if several else (f"cluster {which}", "its")
            found.append(
                f"{who} alone determine{'' if several else 's'} coefficients: {self.kind} errors of {of} leave out "
                f"{whose} variance and are too small"
            )
        if self.full_leverage:
            rows = ", ".join(map(str, self.full_leverage[:5])) + (", ..." if len(self.full_leverage) > 5 else "")
            several = len(self.full_leverage) > 1
            which = f"rows {rows} of the fitted rows have" if several else f"row {rows} of the fitted rows has"
            how = "are unknown" if self.kind in LEVERAGED else "leave out its variance and are too small"
            whose = "their residuals are 0 whatever their errors" if several else "its residual is 0 whatever its error"
            found.append(f"{which} leverage 1, so {whose}: {self.kind} errors of {of} {how}")
        if self.clusters is not None and self.clusters < FEW_CLUSTERS:
            by = "" if self.df is None else f"tests use t with {self.df:g} degrees of freedom, but "
            found.append(
                f"{self.clusters} clusters are few: {by}below {FEW_CLUSTERS} clusters these errors are too small on "
                "average, and intervals cover less than they say"
            )
        return found


def read_robust_facts(plain: Mapping[str, Any] | None) -> RobustFacts | None:
    """Return the facts that a file has, by name; None for None."""
    if plain is None:
        return None
    facts: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in plain.items()}
    return RobustFacts(**facts)


class RobustCovariance(NamedTuple):
    """A robust covariance of theta, column by column."""

    matrix: FloatArray  # (q, q), without what rows of leverage 1 add; NaN without residual degrees of freedom
    bread: FloatArray  # (q, q), the inverse information
    directions: FloatArray  # (k, q), effects on theta of the errors of rows of leverage 1, and of such clusters
    facts: RobustFacts  # without uncertain coefficients


class Rows(NamedTuple):
    """Some rows of a batch, as float64 of NumPy."""

    design: FloatArray  # (n, p), a 1 first if there is an intercept
    y: npt.NDArray[Any] | None  # (n,)
    weight: FloatArray  # (n,)
    trials: FloatArray | None  # (n,), the factor in the weight that belongs to one observation
    offset: FloatArray | float  # (n, 1) or (n, t); 0 without offsets
    groups: Any = None  # (n,), the cluster of each row; None without clusters

    def predictor(self, theta: FloatArray) -> FloatArray:
        """Return the linear predictors, (n, t)."""
        return self.design @ theta + self.offset


def read_rows(x: Any, start: int, stop: int) -> Any:
    """Return rows of an array of any library as float64 NumPy, those of a CSR matrix as CSR."""
    if is_csr(x):
        return x[start:stop].astype(np.float64, copy=False)
    return np.asarray(to_host(x[start:stop]), dtype=np.float64)


def blocks(part: Batch, intercept: bool, numbers: int) -> Iterator[Rows]:
    """Yield the rows of a batch in blocks; ``numbers`` is the memory of a row, temporaries included."""
    height = max(1, CELLS // max(1, numbers))
    for start in range(part.start, part.stop, height):
        stop = min(start + height, part.stop)
        x = read_rows(part.x, start, stop)
        x = x.toarray() if is_csr(x) else x
        weight = np.ones(stop - start) if part.weight is None else read_rows(part.weight, start, stop)
        trials = None if part.trials is None else read_rows(part.trials, start, stop)
        offset = 0.0 if part.offset is None else read_rows(part.offset, start, stop).reshape(stop - start, -1)
        design = np.column_stack([np.ones(stop - start), x]) if intercept else x
        y, groups = (None if column is None else to_host(column[start:stop]) for column in (part.y, part.groups))
        yield Rows(design, y, weight, trials, offset, groups)


def predictor_covariance(design: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the covariance of each row's linear predictors, (n, t, t), given that of theta column by column."""
    width = design.shape[1]
    predictors = len(covariance) // width if width else 1
    spread = np.empty((len(design), predictors, predictors))
    for a in range(predictors):
        for b in range(a + 1):
            between = covariance[a * width : (a + 1) * width, b * width : (b + 1) * width]
            spread[:, a, b] = spread[:, b, a] = np.einsum("ij,ij->i", design @ between, design)
    return spread


def second_moments(kernels: Any, values: FloatArray, weight: FloatArray) -> tuple[float, FloatArray]:
    """Return the weight and the weighted products of columns, (q, q), as the Hessian of a gaussian response.

    The engine's kernels compute it: threads of a BLAS would compete with those of the engine.
    """
    rows = Batch(values, np.zeros(len(values)), weight)
    total, _, _, products = kernels.curvature(rows, _SQUARES, np.zeros((values.shape[1], 1)), False, True)
    return total, products


def robust_covariance(
    kind: str,
    data: EncodedDataset,
    response: Response,
    theta: FloatArray,
    intercept: bool,
    information: FloatArray,
    rows: float,
    lags: int | None = None,
) -> RobustCovariance:
    """Return a robust covariance of theta, theta column by column.

    Parameters
    ----------
    kind
        ``"HC0"``: the rows' squared scores between two inverse informations. ``"HC1"``: the same times n / (n - rank).
        ``"HC2"``, ``"HC3"`` and ``"HC4"`` divide a row's score by ``(1 - h)^(d / 2)``, h its leverage, with d = 1, 2
        and ``min(4, n h / rank)``; with several predictors the leverage is a matrix, and h in d its trace. HC3 is close
        to the jackknife. ``"clustered"``: the scores of each group are summed before they are squared, times
        ``g / (g - 1) (n - 1) / (n - rank)`` for g groups (``"clustered-residual-df"`` is the same matrix).
        ``"newey-west"``: the scores' autocovariances up to a lag,
        with Bartlett's weights ``1 - l / (lags + 1)``.
    data, response, theta, intercept
        The rows, and the model that was fitted to them.
    information
        The negative expected Hessian at theta, including that of the penalty, (q, q). If it is singular, its
        pseudo-inverse is used, and only the entries of identified parameters are valid.
    rows
        n, the number of observations.
    lags
        For ``"newey-west"``; by default :func:`default_lags`.

    Notes
    -----
    A row of leverage 1 has the residual 0 whatever its error e is, which moves theta by B x e, B the inverse
    information: HC2, HC3 and HC4 of the coefficients along B x are unknown. Likewise the scores of a cluster that alone
    determines coefficients sum to 0 along them.

    Weights are frequencies: a row of weight 2 is two observations, as with ``freq_weights`` in statsmodels' GLM (whose
    ``var_weights``, and the weights of its WLS, enter squared). The trials of a row are one observation: their scores
    are summed before they are squared, and n counts the row once, as R's sandwich for ``glm(cbind(k, n - k) ~ x)``; the
    weight of a class multiplies its rows' scores in the same way. For families other than the gaussian, statsmodels
    gives HC0 by all four names, and uses the observed Hessian if a link is not canonical; here it is the expected, as
    in R's sandwich. A dispersion cancels.

    Examples
    --------
    >>> rows = Batch(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 2.0, 1.0, 3.0]))
    >>> data = EncodedDataset.of_batch(rows)
    >>> line, least_squares = np.array([[0.3], [0.8]]), np.array([[4.0, 6.0], [6.0, 14.0]])
    >>> robust_covariance("HC0", data, Response.of("gaussian"), line, True, least_squares, 4).matrix.round(4)
    array([[ 0.1854, -0.0486],
           [-0.0486,  0.0324]])
    """
    theta = np.asarray(theta, dtype=np.float64)
    inverse = Symmetric.of(information)
    bread = inverse.root() @ inverse.root().T
    facts = RobustFacts(kind)
    if not rows > inverse.rank:  # no residual is left to tell the variance by
        return RobustCovariance(np.full_like(bread, np.nan), bread, np.zeros((0, len(bread))), facts)
    free = rows / (rows - inverse.rank)
    if kind not in COVARIANCES[1:]:
        raise ValueError(f"a robust covariance is one of {', '.join(COVARIANCES[1:])}; got {kind!r}")
    squares = partial(_squared_scores, kind, response, theta, intercept, bread, rows / max(inverse.rank, 1))
    found = _Squares.joined(list(data.map(squares)))
    if kind in CLUSTERED:
        groups = data.reduce(partial(_sum_groups, response, theta, intercept, bread))
        count = len(groups.names)
        if count < 2:
            raise ValueError(f"all rows are of one group, {groups.names[0]}: clustered errors need 2 groups or more")
        scores, leverage = groups.sums[:, :-1], groups.sums[:, -1]
        meat = scores.T @ scores * (count / (count - 1) * (rows - 1) / rows * free)
        alone = _determined_alone(data, response, theta, intercept, inverse, groups.names[leverage > FULL_LEVERAGE])
        names = tuple(str(name) for name, directions in alone if len(directions))
        facts = facts._replace(clusters=count, full_clusters=names)
        directions = np.concatenate([found.directions[:0], *(each for _, each in alone)])
        found = found._replace(places=found.places[:0], directions=directions)  # clusters are named, and not their rows
    elif kind == "newey-west":
        count = min(default_lags(rows), int(rows) - 1) if lags is None else lags
        if count >= rows:
            raise ValueError(f"lags={count} is too many for {rows:g} rows: give a number below it")
        start = _Lagged(np.zeros((0, theta.size)), np.zeros((count + 1, theta.size, theta.size)))
        weights = 1 - np.arange(count + 1) / (count + 1)
        products = np.einsum(
            "l,lab->ab", weights, data.fold(partial(_add_lags, response, theta, intercept), start).sums
        )
        meat = products + products.T
        facts = facts._replace(lags=count)
    else:
        meat = found.products * (free if kind == "HC1" else 1.0)
    covariance = bread @ meat @ bread
    facts = facts._replace(full_leverage=tuple(found.places.tolist()))
    return RobustCovariance(np.asarray((covariance + covariance.T) / 2), bread, found.directions, facts)


def default_lags(rows: float) -> int:
    """Return the default lags of the Newey-West covariance, 4 (n / 100)^(2/9).

    Examples
    --------
    >>> default_lags(100), default_lags(1000)
    (4, 6)
    """
    return int(4 * (rows / 100) ** (2 / 9))


class _Squares(NamedTuple):
    """The products of the scores of some rows, and their rows of leverage 1."""

    products: FloatArray  # (q, q)
    rows: int
    places: npt.NDArray[np.intp]  # (k,), the rows of leverage 1, from the first of these rows
    directions: FloatArray  # (k', q), the effect of their errors on theta

    @classmethod
    def joined(cls, parts: Sequence[_Squares]) -> _Squares:
        """Return the sum of parts in their order."""
        starts = np.cumsum([0, *(part.rows for part in parts)])
        return cls(
            np.sum([part.products for part in parts], axis=0),
            int(starts[-1]),
            np.concatenate([part.places + start for part, start in zip(parts, starts, strict=False)]),
            np.concatenate([part.directions for part in parts]),
        )


def _squared_scores(
    kind: str,
    response: Response,
    theta: FloatArray,
    intercept: bool,
    inverse: FloatArray,
    rows_per_parameter: float,
    part: Batch,
    kernels: Any,
) -> _Squares:
    """Return the sum of the products of the scores of a batch's observations, and its rows of leverage 1."""
    found = []
    for rows in blocks(part, intercept, 2 * theta.size):
        slope, curvature, often = _observations(rows, response.curve(rows.predictor(theta), rows.y))
        leverage = _Leverage.of(curvature, predictor_covariance(rows.design, inverse))
        places, axes = np.nonzero(leverage.is_full & (often > 0)[:, None])
        effects = np.einsum("nab,nb->na", curvature[places], leverage.turned[places, :, axes])
        if kind in LEVERAGED:
            slope = leverage.without_the_row(kind, slope, curvature, rows_per_parameter)
        products = second_moments(kernels, _scores(slope, rows.design), often)[1]
        directions = _scores(effects, rows.design[places]) @ inverse
        found.append(_Squares(products, len(slope), np.unique(places), directions))
    if not found:
        return _Squares(np.zeros_like(inverse), 0, np.zeros(0, dtype=np.intp), np.zeros((0, len(inverse))))
    return _Squares.joined(found)


def _observations(rows: Rows, curve: Curve) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return slope and curvature of each observation, summed over its trials, and its frequency."""
    if rows.trials is None:
        return curve.slope, curve.curvature, rows.weight
    slope, curvature = rows.trials[:, None] * curve.slope, rows.trials[:, None, None] * curve.curvature
    return slope, curvature, rows.weight / rows.trials


def _scores(slope: FloatArray, design: FloatArray) -> FloatArray:
    """Return the score of each row, (n, q), theta column by column."""
    return (slope[:, :, None] * design[:, None, :]).reshape(len(slope), slope.shape[1] * design.shape[1])


@dataclass(frozen=True, eq=False)
class _GroupScores:
    """The sum of the scores of each group, with ``+``."""

    names: npt.NDArray[Any]  # (g,), sorted
    sums: FloatArray  # (g, q)

    @classmethod
    def of(cls, names: npt.NDArray[Any], scores: FloatArray) -> _GroupScores:
        distinct, codes = np.unique(names, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(distinct)))
        return cls(distinct, np.add.reduceat(scores[order], starts, axis=0))

    def __add__(self, other: _GroupScores) -> _GroupScores:
        if (self.names.dtype.kind == "U") != (other.names.dtype.kind == "U"):
            raise ValueError("groups are numbers in one batch and strings in another: give numbers or strings alone")
        return self.of(np.concatenate([self.names, other.names]), np.concatenate([self.sums, other.sums]))


def _sum_groups(
    response: Response, theta: FloatArray, intercept: bool, inverse: FloatArray, part: Batch, engine: Engine
) -> _GroupScores:
    """Return the sums of the scores and leverages of each group in a part."""
    parts = engine.map(partial(_sum_groups_of_batch, response, theta, intercept, inverse), part)
    return reduce(operator.add, parts)


def _sum_groups_of_batch(
    response: Response, theta: FloatArray, intercept: bool, inverse: FloatArray, part: Batch, _: Any
) -> _GroupScores:
    if part.groups is None:
        raise ValueError("covariance='clustered' needs groups: the batches of X have none")
    found = []
    for rows in blocks(part, intercept, 2 * theta.size):
        curve, known = response.curve(rows.predictor(theta), rows.y), rows.weight > 0
        leverage = np.einsum("nab,nba->n", curve.curvature, predictor_covariance(rows.design, inverse))
        sums = rows.weight[:, None] * np.column_stack([_scores(curve.slope, rows.design), leverage])
        found.append(_GroupScores.of(rows.groups[known], sums[known]))
    return reduce(operator.add, found)


def _determined_alone(
    data: EncodedDataset,
    response: Response,
    theta: FloatArray,
    intercept: bool,
    inverse: Symmetric,
    names: npt.NDArray[Any],
) -> list[tuple[Any, FloatArray]]:
    """Return, for some groups, the directions of theta, (k, q), that no rows of other groups say anything about.

    Along these, the scores of a group sum to 0 whatever the error that its rows share. With B the inverse of the
    information of all rows and M that of the group, they are the eigenvectors of B M of eigenvalue 1; the sum of the
    eigenvalues is the leverage of the group.
    """
    if not len(names):
        return []
    root = inverse.root()
    found = []
    for name, own in zip(names, data.reduce(partial(_information_of, response, theta, intercept, names)), strict=True):
        values, axes = np.linalg.eigh(root.T @ own @ root)
        found.append((name, (root @ axes[:, values > FULL_LEVERAGE]).T))
    return found


def _information_of(
    response: Response, theta: FloatArray, intercept: bool, names: npt.NDArray[Any], part: Batch, _: Engine
) -> FloatArray:
    """Return the information of the rows of some groups, (g, q, q)."""
    total = np.zeros((len(names), theta.size, theta.size))
    for rows in blocks(part, intercept, 2 * theta.size):
        curvature = rows.weight[:, None, None] * response.curve(rows.predictor(theta), rows.y).curvature
        for place, name in enumerate(names):
            own = rows.groups == name
            if own.any():
                x, c = rows.design[own], curvature[own]
                total[place] += np.einsum("nab,ni,nj->aibj", c, x, x, optimize=True).reshape(total.shape[1:])
    return total


def _weighted_scores(response: Response, theta: FloatArray, rows: Rows) -> FloatArray:
    slope = response.curve(rows.predictor(theta), rows.y).slope
    return _scores(rows.weight[:, None] * slope, rows.design)


class _Lagged(NamedTuple):
    """Sums over rows in their order."""

    last: FloatArray  # (at most lags, q), the scores of the last rows
    sums: FloatArray  # (lags + 1, q, q), the products of each score with that l rows before; half at lag 0


def _add_lags(
    response: Response, theta: FloatArray, intercept: bool, state: _Lagged, part: Batch, kernels: Any
) -> _Lagged:
    """Return the sums with the rows of the next batch."""
    last, sums = state.last, np.array(state.sums)
    lags = len(sums) - 1
    for rows in blocks(part, intercept, 2 * theta.size):
        often = rows.weight if rows.trials is None else rows.weight / rows.trials
        if not (often == 1).all():
            raise ValueError(
                "covariance='newey-west' reads rows in their order, one observation each, and weights='frequency' "
                "repeats them: give weights='precision' or 'sampling', or leave out sample_weight"
            )
        scores = _weighted_scores(response, theta, rows)
        known = np.concatenate([last, scores])
        sums[0] += second_moments(kernels, scores, np.ones(len(scores)))[1] / 2
        for lag in range(1, min(lags, len(known) - 1) + 1):
            first = max(len(last), lag)  # the first row with another that many rows before
            sums[lag] += known[first:].T @ known[first - lag : len(known) - lag]
        last = known[max(len(known) - lags, 0) :]
    return _Lagged(last, sums)


class _Leverage(NamedTuple):
    """The eigenvalues of each row's leverage C G, with C the curvature and G = L L' the covariance of its predictors.

    C G is not symmetric and C may be singular; L' C L has its eigenvalues.
    """

    values: FloatArray  # (n, t), between 0 and 1
    turned: FloatArray  # (n, t, t), L times the eigenvectors of L' C L

    @classmethod
    def of(cls, curvature: FloatArray, spread: FloatArray) -> _Leverage:
        """Return the leverage of rows, given C and G, both (n, t, t)."""
        if spread.shape[1] == 1:
            return cls(np.clip(spread[:, :, 0] * curvature[:, :, 0], 0.0, 1.0), np.sqrt(np.maximum(spread, 0.0)))
        values, vectors = np.linalg.eigh(spread)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        leverage, axes = np.linalg.eigh(np.swapaxes(root, 1, 2) @ curvature @ root)
        return cls(np.clip(leverage, 0.0, 1.0), root @ axes)

    @property
    def is_full(self) -> npt.NDArray[np.bool_]:
        """Which are 1, (n, t)."""
        return self.values > FULL_LEVERAGE

    def without_the_row(
        self, kind: str, slope: FloatArray, curvature: FloatArray, rows_per_parameter: float
    ) -> FloatArray:
        """Return each row's slope with a leverage correction: approximately that of the fit without the row.

        That is f(C G) s with f(h) = (1 - h)^(-d / 2), or s + C L g(L' C L) L' s, g(h) = (f(h) - 1) / h. A slope along
        a leverage of 1 is not corrected.
        """
        leverage = np.where(self.is_full, 0.0, self.values)
        if kind == "HC4":
            power = np.minimum(4.0, rows_per_parameter * self.values.sum(axis=1))[:, None]
        else:
            power = np.full((len(slope), 1), 1.0 if kind == "HC2" else 2.0)
        grown = np.expm1(-power / 2 * np.log1p(-leverage))  # f - 1
        pull = np.divide(grown, leverage, out=np.broadcast_to(power / 2, leverage.shape).copy(), where=leverage > 0)
        pull[self.is_full] = 0.0
        inner = np.einsum("nab,na->nb", self.turned, slope) * pull
        return np.asarray(slope + np.einsum("nab,nb->na", curvature, np.einsum("nab,nb->na", self.turned, inner)))


def clean_directions(directions: FloatArray, spread: FloatArray) -> FloatArray:
    """Return directions of theta, (k, q), with 0 for the coefficients that they move by rounding alone.

    ``spread`` is the inverse information, (q, q), by which the coefficients have a scale.

    Examples
    --------
    >>> clean_directions(np.array([[1.0, 1e-14]]), np.eye(2))
    array([[1., 0.]])
    """
    level = np.sqrt(np.maximum(np.nan_to_num(np.diagonal(spread)), 0.0))
    shares = np.abs(directions) / np.where(level > 0, level, np.inf)
    return np.where(shares > _NO_SHARE * shares.max(axis=1, initial=0.0, keepdims=True), directions, 0.0)


def depend_on(directions: FloatArray, x: Any, intercept: bool) -> npt.NDArray[np.bool_]:
    """Whether the predictors of rows, (n,), change with theta along any of these directions, (k, p).

    Examples
    --------
    >>> depend_on(np.array([[0.0, 1.0, -1.0]]), np.array([[2.0, 2.0], [2.0, 1.0]]), True)
    array([False,  True])
    """
    found = [np.zeros(0, dtype=np.bool_)]
    for rows in blocks(Batch(x), intercept, 2 * (directions.shape[1] + len(directions))):
        reach = np.abs(rows.design) @ np.abs(directions.T)
        moved: npt.NDArray[np.bool_] = np.abs(rows.design @ directions.T) > _NO_SHARE * reach
        found.append(np.asarray(moved.any(axis=1)))
    return np.concatenate(found)
