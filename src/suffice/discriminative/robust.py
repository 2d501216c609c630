"""Robust covariances: standard errors that hold where the variance of the response is not what the family says."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from suffice.data import EncodedDataset
from suffice.families import Response
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.native import is_csr
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics.base import FloatArray

Kind = Literal["HC0", "HC1", "HC2", "HC3"]

#: A block of rows takes about this many numbers.
CELLS = 1 << 20
#: A row that alone decides what is fitted to it has leverage 1 and no residual: 0 / 0. Leverages end here instead.
_MOST = 1 - 1e-8
_SQUARES = Response.of("gaussian")


class Rows(NamedTuple):
    """Some rows of a batch as they enter linear predictors: float64, in NumPy."""

    design: FloatArray  # (n, p), a 1 first where there is an intercept
    y: npt.NDArray[Any] | None  # (n,)
    weight: FloatArray  # (n,)
    trials: FloatArray | None  # (n,), the factor in the weight that belongs to one observation
    offset: FloatArray | float  # (n, 1) or (n, t); 0 where there is none

    def predictor(self, theta: FloatArray) -> FloatArray:
        """Return the linear predictors, (n, t)."""
        return self.design @ theta + self.offset


def read_rows(x: Any, start: int, stop: int) -> Any:
    """Return rows of an array of any library as float64 NumPy, those of a CSR matrix as CSR."""
    if is_csr(x):
        return x[start:stop].astype(np.float64, copy=False)
    return np.asarray(to_host(x[start:stop]), dtype=np.float64)


def blocks(part: Batch, intercept: bool, numbers: int) -> Iterator[Rows]:
    """Yield the rows of a batch in blocks, of which each row takes so many numbers, temporaries included."""
    height = max(1, CELLS // max(1, numbers))
    for start in range(part.start, part.stop, height):
        stop = min(start + height, part.stop)
        x = read_rows(part.x, start, stop)
        x = x.toarray() if is_csr(x) else x
        weight = np.ones(stop - start) if part.weight is None else read_rows(part.weight, start, stop)
        trials = None if part.trials is None else read_rows(part.trials, start, stop)
        offset = 0.0 if part.offset is None else read_rows(part.offset, start, stop).reshape(stop - start, -1)
        design = np.column_stack([np.ones(stop - start), x]) if intercept else x
        yield Rows(design, None if part.y is None else to_host(part.y[start:stop]), weight, trials, offset)


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
    """Return the weight and the sum of the weighted products of columns, (q, q), as a gaussian response's Hessian.

    The engine's kernels take it, whose threads do not get in one another's way as those of a BLAS would.
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
) -> FloatArray:
    """Return the covariance of theta that rests on the residuals themselves, (q, q), theta column by column.

    Parameters
    ----------
    kind
        ``"HC0"``: the rows' squared scores between two inverse informations. ``"HC1"``: the same times n / (n - rank).
        ``"HC2"`` and ``"HC3"`` divide a row's score by the root of 1 less its leverage, or by 1 less its leverage; with
        several predictors the leverage is a matrix. HC3 is close to the jackknife.
    data, response, theta, intercept
        The rows, and the model that was fitted to them.
    information
        The negative expected Hessian at theta, that of a penalty included, (q, q). A pseudo-inverse is taken where it
        is singular; then only the entries of identified parameters mean anything.

    Notes
    -----
    Weights are frequencies: a row of weight 2 counts as two rows, as with ``freq_weights`` in statsmodels' GLM (whose
    ``var_weights``, and the weights of its WLS, would enter squared). The trials of a row are one observation: their
    scores are summed before they are squared, and n counts the row once, as R's sandwich does of
    ``glm(cbind(k, n - k) ~ x)``; the weight of a class multiplies its rows' scores in the same way. For other families
    than the linear one statsmodels calls HC0 by all four names, and takes the observed Hessian where a link is not
    canonical; here it is the expected. A dispersion cancels.

    Examples
    --------
    >>> rows = Batch(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 2.0, 1.0, 3.0]))
    >>> data = EncodedDataset.of_batch(rows)
    >>> line, least_squares = np.array([[0.3], [0.8]]), np.array([[4.0, 6.0], [6.0, 14.0]])
    >>> robust_covariance("HC0", data, Response.of("gaussian"), line, True, least_squares).round(4)
    array([[ 0.1854, -0.0486],
           [-0.0486,  0.0324]])
    """
    if kind not in get_args(Kind):
        raise ValueError(f"a robust covariance is one of {', '.join(get_args(Kind))}; got {kind!r}")
    theta = np.asarray(theta, dtype=np.float64)
    inverse = Symmetric.of(information)
    bread = inverse.root() @ inverse.root().T
    squares = partial(_squared_scores, kind, response, theta, intercept, bread)
    weight, meat = 0.0, np.zeros_like(bread)
    for part_weight, part_meat in data.map(squares):
        weight += part_weight
        meat += part_meat
    covariance = bread @ meat @ bread
    if kind == "HC1":
        covariance *= weight / (weight - inverse.rank) if weight > inverse.rank else np.nan
    return np.asarray((covariance + covariance.T) / 2)


def _squared_scores(
    kind: str, response: Response, theta: FloatArray, intercept: bool, inverse: FloatArray, part: Batch, kernels: Any
) -> tuple[float, FloatArray]:
    """Return the weight of a batch's rows and the sum of their scores' products, (q, q)."""
    weight, total = 0.0, np.zeros((theta.size, theta.size))
    for rows in blocks(part, intercept, 2 * theta.size):
        curve = response.curve(rows.predictor(theta), rows.y)
        slope, curvature, often = curve.slope, curve.curvature, rows.weight
        if rows.trials is not None:  # an observation's score is that of all its trials, or times its class's weight
            slope, curvature = rows.trials[:, None] * slope, rows.trials[:, None, None] * curvature
            often = often / rows.trials
        if kind in ("HC2", "HC3"):
            slope = _without_the_row(kind, slope, curvature, predictor_covariance(rows.design, inverse))
        scores = (slope[:, :, None] * rows.design[:, None, :]).reshape(len(slope), -1)
        block_weight, products = second_moments(kernels, scores, often)
        weight += block_weight
        total += products
    return weight, total


def _without_the_row(kind: str, slope: FloatArray, curvature: FloatArray, spread: FloatArray) -> FloatArray:
    """Return each row's slope as it would be, about, had the row not pulled the fit towards itself.

    That is f(C G) s with C the curvature, G the covariance of the predictors and f(h) = 1 / (1 - h), or its root for
    HC2. C G is not symmetric and C may be singular; with G = L L' it is s + C L g(L' C L) L' s, g(h) = (f(h) - 1) / h.
    """
    values, vectors = np.linalg.eigh(spread)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    leverage, axes = np.linalg.eigh(np.swapaxes(root, 1, 2) @ curvature @ root)
    rest = 1 - np.clip(leverage, 0.0, _MOST)
    pull = 1 / rest if kind == "HC3" else 1 / (rest + np.sqrt(rest))  # g, without dividing by a small leverage
    turned = root @ axes
    inner = np.einsum("nab,na->nb", turned, slope) * pull
    return np.asarray(slope + np.einsum("nab,nb->na", curvature, np.einsum("nab,nb->na", turned, inner)))
