"""The objective of solvers: minus the log-likelihood of a generalised linear model, plus a ridge penalty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.data import EncodedDataset
from suffice.families import Response
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.descent import Ascent, Descent, Pace
from suffice.kernels.engine import engine_for
from suffice.kernels.libraries import beside, is_sparse, taken
from suffice.kernels.native import Ridge
from suffice.solvers.base import (
    Capability,
    ColumnObjective,
    DualAscentResult,
    DualObjective,
    Product,
    SampledObjective,
    SGDObjective,
    ValueGradient,
    ValueGradientHessian,
)
from suffice.solvers.linear_algebra import EPSILON, inner
from suffice.solvers.stochastic import shuffled
from suffice.statistics import Curvature, DiagonalMoments
from suffice.statistics.base import FloatArray

_LEAST_SQUARES = Response.of("gaussian")
#: Most second derivatives in memory.
_HELD = 1 << 22


@dataclass(frozen=True, eq=False)
class NegativeLogLikelihood(SampledObjective, SGDObjective, DualObjective, ColumnObjective):
    """Minus the log-likelihood of rows under a family and link, plus a ridge penalty.

    Examples
    --------
    >>> data = EncodedDataset.of_batch(Batch(np.array([[1.0], [2.0]]), np.array([1.0, 3.0])))
    >>> least_squares = NegativeLogLikelihood(data, Response.of("gaussian"), intercept=False, l2=1.0)
    >>> least_squares.value_gradient(np.array([[1.0]]))  # without the terms that do not depend on theta
    ValueGradient(value=-4.0, gradient=array([[-1.]]))
    """

    data: EncodedDataset
    response: Response
    intercept: bool = True
    l2: float = 0.0  #: of every coefficient but the intercepts
    symmetric: bool = False
    """Whether every class has a column of theta, instead of one fixed at 0: the penalty is symmetric in the classes."""
    free: FloatArray | None = None  #: (p, t), 1 where theta is free and 0 where it is fixed; all free by default
    predictors: int = 1  #: t, the columns of theta
    constant: float = 0.0
    """What is added to the value: with half the sum of the squared targets, that of least squares is J."""
    shape: tuple[int, int] = field(init=False, repr=False, default=(0, 0))  #: of theta, (p, t)
    n_rows: int = field(init=False, repr=False, default=0)
    weight: float = field(init=False, repr=False, default=0.0)  #: of all rows

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (self.data.n_features + int(self.intercept), self.predictors))
        object.__setattr__(self, "n_rows", self.data.n_rows)
        object.__setattr__(self, "weight", self.data.weight)

    @cached_property
    def target_moments(self) -> tuple[Any, Any]:
        """The mean and the variance of the targets, or of a sample; see :func:`target_moments`."""
        return target_moments(self.data.some_rows.y, self.data.some_rows.weight)

    @cached_property
    def unit(self) -> float:
        """The scale of one row's value.

        Its units are those of gaussian targets squared, of poisson rates, or a power of those of Tweedie targets; the
        others have none.
        """
        family = self.response.family.name
        if not self.response.likelihood.value_has_units:
            return 1.0
        rows, (mean, variance) = self.data.some_rows, self.target_moments
        if rows.offset is not None and self.response.link.name == "identity":
            mean, variance = target_moments(to_host(rows.y) - rows.offset, rows.weight)
        if family == "poisson":
            return min(float(mean), 1.0) or 1.0
        if family != "gaussian":
            return float(variance) / float(self.response.unit_variance(float(mean))) or 1.0
        about = (16 * EPSILON) ** 2 if self.intercept else 1.0  # rounding error of the mean
        return max(float(variance), about * float(mean) ** 2) or 1.0

    def supports(self, capability: Capability, theta: FloatArray) -> bool:
        """Whether a method is available: products for one predictor, the dual for CSR rows in memory, ..."""
        if capability == "steps":
            return self.data.batch is not None and self.free is None and not self.symmetric
        if capability == "hessian_product":
            return bool(theta.shape[1] == 1)
        if capability == "observed_hessian":
            return self.response.has_observed
        return self._has_dual() if capability == "dual" else True

    def value_gradient(self, theta: FloatArray) -> ValueGradient:
        """Return value and gradient at theta, (p, t)."""
        value, gradient, _ = self._evaluate(self.response, theta, hessian=False)
        return ValueGradient(value, gradient)

    def value_gradient_hessian(self, theta: FloatArray) -> ValueGradientHessian:
        """Return value, gradient and expected Hessian (Fisher information plus penalty) at theta, (p, t)."""
        return ValueGradientHessian(*self._evaluate(self.response, theta, hessian=True))

    def value_gradient_observed(self, theta: FloatArray) -> ValueGradientHessian:
        """Return value, gradient and observed Hessian at theta, (p, t)."""
        return ValueGradientHessian(*self._evaluate(self._observed, theta, hessian=True))

    @cached_property
    def _observed(self) -> Response:
        """The response with observed curvatures."""
        return replace(self.response, observed=True)

    def _evaluate(self, response: Response, theta: FloatArray, hessian: bool) -> tuple[float, FloatArray, FloatArray]:
        """Return value, gradient and, if requested, expected Hessian at theta: one pass over the rows."""
        pinned = self.pinned(theta) if self.symmetric else theta
        sums = self.data.sum(Curvature.over(response, pinned, self.intercept, hessian))
        value, gradient, information = self.constant - sums.value, -sums.gradient, sums.hessian
        if hessian:
            information = np.array(information)
        if self.symmetric:
            gradient = np.concatenate([gradient, -gradient.sum(axis=1, keepdims=True)], axis=1)
            if hessian:
                information = _unpinned(information, pinned.shape, sums.total if self.intercept else 0.0)
        if self.l2 > 0:
            pull = self._strength * theta
            value, gradient = value + inner(pull, theta) / 2, gradient + pull
            if hessian:
                diagonal = information.reshape(-1)[:: len(information) + 1].reshape(theta.shape[1], -1)  # a view
                diagonal += self._strength.T
        if self.free is not None:
            gradient = gradient * self.free
            if hessian:
                moves = self.free.T.ravel()
                information *= np.outer(moves, moves)
                np.fill_diagonal(information, information.diagonal() + (1 - moves))
        return value, gradient, information

    def sample(self, count: int, strided: bool = False) -> NegativeLogLikelihood:
        """Return the objective of about ``count`` rows; see :meth:`EncodedDataset.sample`."""
        few = self.data.sample(count, strided)
        share = few.weight / self.weight
        return replace(self, data=few, l2=self.l2 * share, constant=self.constant * share)

    @property
    def has_slow_passes(self) -> bool:
        """Whether rows are not in memory, so that reading them dominates the cost of a pass."""
        return self.data.batch is None

    def epoch(self, theta: FloatArray, order_seed: int | None, pace: Pace) -> Descent:
        """Return theta after one epoch of stochastic steps, in random order by a seed, or in row order."""
        if self.free is not None:
            raise ValueError(
                f"there are no stochastic steps for {self.response.name}, whose precision is common to all rows: use "
                "another solver"
            )

        shrink = 0.0 if self.symmetric else self.l2 / self.weight
        descend = partial(_descend_batch, self.response, self.pinned(theta), self.intercept, order_seed, pace, shrink)
        descent: Descent | None = self.data.fold(descend, None)
        assert descent is not None
        descent = descent._replace(log_likelihood=descent.log_likelihood - self.constant)
        if not self.symmetric:
            return descent
        # The symmetric penalty is applied after the epoch, in one step as long as all steps together.
        length = float(pace.size(pace.first + np.arange(descent.steps)).sum())
        return descent._replace(theta=self._shrunk(descent.theta, length), mean=self._shrunk(descent.mean, length))

    def steps(self, theta: FloatArray, order_seed: int | None, pace: Pace) -> Iterator[Descent]:
        """Yield each step of an epoch by itself; for rows in memory."""
        rows = self.data.batch
        assert rows is not None
        kernels: Any = self.data.engine_for_part(rows).kernels
        order = rows.start + shuffled(rows.rows, order_seed)
        constants = half_squares(rows) if self.constant else np.zeros(len(rows.y))
        for number, first in enumerate(range(0, len(order), pace.rows)):
            chosen, here = order[first : first + pace.rows], replace(pace, first=pace.first + number)
            step: Descent = kernels.descend(
                rows, self.response, theta, self.intercept, chosen, here, self.l2 / self.weight
            )
            theta = step.theta
            yield step._replace(log_likelihood=step.log_likelihood - float(constants[chosen].sum()))

    def _has_dual(self) -> bool:
        rows = self.data.batch
        if rows is None or not is_sparse(rows.x) or rows.features >= 2**31:
            return False
        logistic = self.response.name in ("bernoulli/logit", "multinomial/softmax")
        kernels = self.data.engine_for_part(rows).kernels
        return bool(logistic and self.l2 > 0 and self.free is None and "dual_ascent" in kernels.capabilities)

    def dual_ascent(self, start: FloatArray) -> Callable[[float, int], DualAscentResult]:
        """Return the function for dual coordinate ascent."""
        rows = self.data.batch
        assert rows is not None
        kernels: Any = self.data.engine_for_part(rows).kernels
        y = np.asarray(rows.y)
        if start.shape[1] == 1 and y.dtype.kind == "f":
            probabilities = np.stack([y, 1 - y], axis=1)
        else:
            probabilities = np.eye(start.shape[1] + (not self.symmetric))[y]
        if rows.offset is not None and self.symmetric:  # 0 for the last class
            offset = np.broadcast_to(rows.offset.reshape(len(y), -1), (len(y), start.shape[1] - 1))
            rows = replace(rows, offset=np.concatenate([offset, np.zeros((len(y), 1))], axis=1))
        ridge = Ridge(self.l2, None, self.symmetric)
        theta = np.array(start)

        def ascend(gap: float, most: int) -> DualAscentResult:
            found: Ascent = kernels.dual_ascent(
                rows, self.response, theta, self.intercept, ridge, probabilities, most, gap, 0
            )
            theta[:] = found.theta
            return DualAscentResult(*found)

        return ascend

    def _shrunk(self, pinned: FloatArray, length: float) -> FloatArray:
        """Return theta of all classes, with the last fixed at 0, after a step along the penalty's gradient.

        The Hessian of the penalty about the mean of the classes is ``I - 1/k`` in the k - 1 free columns: 1 / k along
        their mean, and 1 orthogonal to it.
        """
        classes = pinned.shape[1] + 1
        curvature = length * self.l2 / self.weight
        moved, mean = np.array(pinned), pinned.mean(axis=1, keepdims=True)
        coef = slice(int(self.intercept), None)
        moved[coef] = ((pinned - mean) / (1 + curvature) + mean / (1 + curvature / classes))[coef]
        theta = np.concatenate([moved, np.zeros((len(moved), 1))], axis=1)
        return np.asarray(theta - theta.mean(axis=1, keepdims=True))

    def columns(self, places: npt.NDArray[np.intp]) -> NegativeLogLikelihood:
        """Return the objective as a function of these rows of theta, the others fixed at 0."""
        first = int(self.intercept)
        features = places[places >= first] - first
        free = None if self.free is None else self.free[places]
        return replace(self, data=self.data.transform(partial(_narrowed, features)), free=free)

    def linear_predictors(self, theta: FloatArray) -> FloatArray:
        """Return the linear predictors of every row, (n, t), on the host; for rows in memory."""
        rows = self.data.batch
        assert rows is not None
        return predictors_of(self.pinned(theta), self.intercept, rows, self.data.engine_for_part(rows))

    def hessian_diagonal(self, theta: FloatArray) -> FloatArray:
        """Return the diagonal of the expected Hessian at theta, in its shape."""
        across = self.data.reduce(partial(_diagonal, self.response, self.pinned(theta), self.intercept))
        if self.symmetric:  # the last class's curvature is about that of all others together
            across = np.concatenate([across, across.max(axis=1, keepdims=True)], axis=1)
        return np.asarray(across + self._strength)

    def hessian_product(self, theta: FloatArray) -> Product:
        """Return the function that multiplies a step by the expected Hessian at theta, in one pass; one predictor."""
        # Minus the product is the score of least squares with targets 0 and these weights.
        data = self.data.transform(partial(_weighted_by_curvature, self.response, theta, self.intercept))

        def product(step: FloatArray) -> FloatArray:
            what = Curvature.over(_LEAST_SQUARES, step, self.intercept, False)
            return np.asarray(self._strength * step - data.sum(what).gradient)

        return product

    def pinned(self, theta: FloatArray) -> FloatArray:
        """Return theta with the last class fixed at 0, which does not change the probabilities."""
        return theta[:, :-1] - theta[:, -1:] if self.symmetric else theta

    @cached_property
    def _strength(self) -> FloatArray:
        """The ridge of each row of theta, (p, 1)."""
        strength = np.full((self.shape[0], 1), self.l2)
        strength[: int(self.intercept)] = 0.0
        return strength


def half_squares(rows: Batch) -> FloatArray:
    """Return half the weighted squared target of each row, (n,): J at theta = 0."""
    squares = 0.5 * np.asarray(to_host(rows.y), dtype=np.float64) ** 2
    return squares if rows.weight is None else squares * rows.weight


def target_moments(y: Any, weight: FloatArray | None) -> tuple[Any, Any]:
    """Return the mean and the variance of targets, (n,) or (n, k): numbers, or (k,) each."""
    if not isinstance(y, np.ndarray):
        column = y if y.ndim == 2 else y[:, None]
        sums = engine_for(None, column).accumulate(DiagonalMoments.over(), Batch(column, None, weight))
        mean, variance = sums.mean[0], sums.spread[0] / sums.weight
        return (mean, variance) if y.ndim == 2 else (mean[0], variance[0])
    if weight is None:
        mean = y.mean(axis=0)
        return mean, ((y - mean) ** 2).mean(axis=0)
    mean = np.average(y, axis=0, weights=weight)
    return mean, np.average((y - mean) ** 2, axis=0, weights=weight)


def predictors_of(theta: FloatArray, intercept: bool, rows: Batch, engine: Engine) -> FloatArray:
    """Return the linear predictors of every row of a batch, (n, t), on the host, offsets included."""
    coef = np.ascontiguousarray(theta[int(intercept) :].T)
    level = theta[0] if intercept else np.zeros(theta.shape[1])
    z = to_host(engine.map_rows(partial(_scores, coef, level), replace(rows, y=None, offset=None)))
    offset = rows.offset if rows.offset is None else rows.offset[rows.start : rows.stop]
    return z if offset is None else z + offset.reshape(len(offset), -1)


def _scores(coef: FloatArray, intercept: FloatArray, batch: Batch, kernels: Any) -> Any:
    return kernels.linear_scores(batch, coef, intercept)


def curvatures_of(response: Response, theta: FloatArray, intercept: bool, rows: Batch, engine: Engine) -> FloatArray:
    """Return minus the second derivatives of every row's value by each predictor, (n, t), weighted.

    The mixed ones, (n, t, t), are computed in blocks of rows: for many classes they would not fit in memory.
    """
    z, y = predictors_of(theta, intercept, rows, engine), to_host(rows.y)
    step = max(1, _HELD // max(z.shape[1], 1) ** 2)
    parts = [
        np.diagonal(response.curve(z[first : first + step], y[first : first + step]).curvature, 0, 1, 2).copy()
        for first in range(0, len(z), step)
    ]
    own = np.concatenate([np.zeros((0, z.shape[1])), *parts])
    return np.asarray(own if rows.weight is None else rows.weight[:, None] * own)


def _diagonal(response: Response, theta: FloatArray, intercept: bool, rows: Batch, engine: Engine) -> FloatArray:
    """Return the diagonal of the information of the rows of a batch, (p, t)."""
    curvatures = curvatures_of(response, theta, intercept, rows, engine)
    sums = []
    for place in range(curvatures.shape[1]):
        weight = np.ascontiguousarray(curvatures[:, place])
        total = _squares(weight, rows, engine)
        sums.append(np.concatenate([[weight.sum()], total]) if intercept else total)
    return np.stack(sums, axis=1)


def _squares(weight: FloatArray, rows: Batch, engine: Engine) -> FloatArray:
    """Return the weighted sum of squares of each feature, (d,)."""
    x = rows.x
    if is_sparse(x):  # in any storage order
        return np.asarray(type(x)((x.data.astype(np.float64) ** 2, x.indices, x.indptr), shape=x.shape).T @ weight)
    sums = engine.accumulate(DiagonalMoments.over(), replace(rows, y=None, weight=weight))
    return np.asarray(sums.spread[0] + sums.weight * sums.mean[0] ** 2)


def _narrowed(features: npt.NDArray[np.intp], batch: Batch, _: Engine) -> Batch:
    return replace(batch, x=taken(batch.x, features, axis=1))


def _descend_batch(
    response: Response,
    start: FloatArray,
    intercept: bool,
    order_seed: int | None,
    pace: Pace,
    shrink: float,
    before: Descent | None,
    batch: Batch,
    kernels: Any,
) -> Descent:
    """Return theta after stochastic steps over a batch, continuing from those before."""
    at = start if before is None else before.theta
    pace = pace if before is None else replace(pace, first=pace.first + before.steps)
    order = batch.start + shuffled(batch.rows, order_seed)
    descent: Descent = kernels.descend(batch, response, at, intercept, order, pace, shrink)
    return descent if before is None else before.then(descent)


def _weighted_by_curvature(
    response: Response, theta: FloatArray, intercept: bool, batch: Batch, engine: Engine
) -> Batch:
    """Return rows with targets 0 and their curvatures as weights."""
    weight = curvatures_of(response, theta, intercept, batch, engine)[:, 0]
    return replace(batch, y=np.zeros(len(weight)), weight=np.ascontiguousarray(weight), offset=None)


def _unpinned(information: FloatArray, shape: tuple[int, ...], level: float) -> FloatArray:
    """Return the information for the columns of all classes, from that with the last fixed at 0.

    A common constant of all intercepts has no effect and no gradient: ``level`` is added in that direction, so that
    the matrix is not singular.
    """
    features, predictors = shape
    blocks = information.reshape(predictors, features, predictors, features)
    last = -blocks.sum(axis=2, keepdims=True)
    blocks = np.concatenate([blocks, last], axis=2)
    blocks = np.concatenate([blocks, -blocks.sum(axis=0, keepdims=True)], axis=0)
    blocks[:, 0, :, 0] += level / (predictors + 1) ** 2
    size = features * (predictors + 1)
    return np.ascontiguousarray(blocks.reshape(size, size))


def column_products(data: EncodedDataset, intercept: bool) -> FloatArray:
    """Return the weighted products of the columns of rows, (p, p), the intercept first."""
    plain = data.transform(_with_targets_zero)
    least_squares = NegativeLogLikelihood(plain, Response.of("gaussian"), intercept)
    products = least_squares.value_gradient_hessian(np.zeros((data.n_features + int(intercept), 1))).hessian
    return np.asarray(products)


def _with_targets_zero(rows: Batch, _: Engine) -> Batch:
    return Batch(rows.x, beside(rows.x, np.zeros(rows.x.shape[0])), rows.weight)
