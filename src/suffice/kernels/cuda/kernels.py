"""Sums of large batches on a CUDA device, each in one read of the rows, by kernels that Triton compiles.

A method returns None for rows that may be invalid (a cell that is not finite, an invalid code or weight) and for too
many classes. The array code then processes the rows, and raises the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from suffice.kernels.array_blocks import Array
from suffice.kernels.cuda.rows import DeviceRows, device_rows
from suffice.kernels.engine import Batch
from suffice.kernels.memory import out_of_memory
from suffice.kernels.protocol import FloatArray
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.families.response import Response

#: A class whose mean is more than this many standard deviations from the reference is summed again, about its mean.
FAR = 1e2
#: The most classes that are summed in one read.
MOST_CLASSES = 64

R = TypeVar("R")
Moments = tuple[FloatArray, FloatArray, FloatArray]


def fused(batch: Batch) -> Fused | None:
    """Return the fused kernels for a batch; None if there are none.

    Examples
    --------
    >>> fused(Batch(np.zeros((2, 1)))) is None
    True
    """
    rows = device_rows(batch)
    return None if rows is None else Fused(rows)


def asked(batch: Batch, ask: Callable[[Fused], R | None]) -> R | None:
    """Return a sum of a batch by fused kernels; None if there are none.

    If kernels cannot be compiled, a warning is issued once, and the array code is used from then on.
    """
    sums = None if _broken else fused(batch)
    if sums is None:
        return None
    try:
        return ask(sums)
    except (ValueError, TypeError, OverflowError):
        raise
    except Exception as error:
        if out_of_memory(error):
            raise
        _broken.append(error)
        warn_user(
            f"no CUDA kernel could be compiled ({type(error).__name__}: {error}): array code sums instead, more slowly",
            RuntimeWarning,
        )
        return None


_broken: list[Exception] = []  # the error of the compilation, if there was one


class _Centred(NamedTuple):
    """Sums about references of the classes, on the host."""

    centre: FloatArray  # (k, d) or (1, d), the references
    weights: FloatArray  # (k,)
    sums: FloatArray  # (k, d), of the deviations
    spread: FloatArray  # about the means
    squares: FloatArray  # (k, d) or (1, d), the sums of squares in the spread


@dataclass(frozen=True)
class Fused:
    """Sums over rows on a CUDA device."""

    rows: DeviceRows

    def class_weights(self, classes: int) -> FloatArray | None:
        """Return the weight of the rows of each class, (k,)."""
        from suffice.kernels.cuda import launch

        if classes > MOST_CLASSES:
            return None
        found = launch.class_weights(self.rows, classes)
        faults, weights = launch.fetched(found.faults, found.weights)
        return None if faults or not _finite(weights) else weights

    def event_counts(self, classes: int) -> tuple[FloatArray, FloatArray] | None:
        """Return class weights, (k,), and the sum of x per class, (k, d)."""
        from suffice.kernels.cuda import sums as per_class

        return self._counts(per_class.EVENTS, classes, 0.0)

    def presence_counts(self, classes: int, threshold: float) -> tuple[FloatArray, FloatArray] | None:
        """Return class weights, (k,), and the weight of rows with x > threshold, (k, d)."""
        from suffice.kernels.cuda import sums as per_class

        return self._counts(per_class.PRESENCE, classes, threshold)

    def _counts(self, what: int, classes: int, threshold: float) -> tuple[FloatArray, FloatArray] | None:
        from suffice.kernels.cuda import launch

        if classes > MOST_CLASSES:
            return None
        found = launch.class_sums(self.rows, what, classes, None, self.rows.weight, float(threshold))
        faults, weights, sums = launch.fetched(*found[:3])
        return None if faults or not _finite(weights, sums) else (weights, sums)

    def diagonal_moments(self, classes: int) -> Moments | None:
        """Return class weights, (k,), means and centred sums of squares, (k, d)."""
        from suffice.kernels.cuda import launch
        from suffice.kernels.cuda import sums as per_class

        def about(reference: Array) -> _Centred | None:
            found = launch.class_sums(self.rows, per_class.MOMENTS, classes, reference, self.rows.weight)
            faults, weights, sums, squares, centre = launch.fetched(*found, reference)
            if faults:
                return None
            spread = np.maximum(squares - sums * _divided(sums, weights), 0.0)
            return _Centred(centre, weights, sums, spread, spread)

        return self._centred(classes, about)

    def tied_moments(self, classes: int) -> Moments | None:
        """Return class weights, (k,), means, (k, d), and the scatter about the class means, summed, (d, d)."""
        from suffice.kernels.cuda import products

        def about(reference: Array) -> _Centred | None:
            found = products.scatter(self.rows, reference, classes)
            if found is None:
                return None
            centre, weights, sums, raw = found
            spread = _about_means(raw, sums, weights)
            return _Centred(centre, weights, sums, spread, np.diagonal(spread)[None])

        return self._centred(classes, about)

    def full_moments(self, classes: int) -> Moments | None:
        """Return class weights, (k,), means, (k, d), and centred scatter per class, (k, d, d)."""
        from suffice.kernels.cuda import products

        def about(reference: Array) -> _Centred | None:
            found = products.scatter_by_class(self.rows, reference, classes)
            if found is None:
                return None
            centre, weights, sums, raw = found
            each = zip(raw, sums, weights, strict=True)
            spread = np.stack([_about_means(one, own[None], mass[None]) for one, own, mass in each])
            return _Centred(centre, weights, sums, spread, np.diagonal(spread, axis1=1, axis2=2))

        return self._centred(classes, about)

    def normal_equations(self) -> tuple[float, FloatArray, FloatArray] | None:
        """Return the weight, the mean, (d + t,), and the centred scatter, (d + t, d + t), of the rows [x, y]."""
        from suffice.kernels.cuda import products

        start = self.rows.torch.cat([self._mean(self.rows.x), self._mean(self.rows.targets)], dim=1)

        def about(reference: Array) -> _Centred | None:
            split = self.rows.features
            found = products.scatter_with_targets(self.rows, reference[:, :split], reference[0, split:])
            if found is None:
                return None
            centre, weights, sums, raw = found
            spread = _about_means(raw, sums, weights)
            return _Centred(centre, weights, sums, spread, np.diagonal(spread)[None])

        moments = self._centred(1, about, start)
        return None if moments is None else (float(moments[0][0]), moments[1][0], moments[2])

    def curvature(
        self, response: Response, theta: FloatArray, intercept: bool, hessian: bool
    ) -> tuple[float, float, FloatArray, FloatArray] | None:
        """Return weight, value, gradient, (p, t), and negative expected Hessian, (p t, p t), of a log-likelihood."""
        from suffice.kernels.cuda import regression

        found = regression.curvature(self.rows, response, theta, intercept, hessian)
        return found if found is not None and _finite(*map(np.asarray, found)) else None

    def _centred(
        self, classes: int, about: Callable[[Array], _Centred | None], reference: Array | None = None
    ) -> Moments | None:
        """Return weights, means and spreads, summed about a reference that is near the means.

        One reference for all classes is fastest. If the mean of a class is many standard deviations from it, the rows
        are summed again, about the class means.
        """
        if classes > MOST_CLASSES:
            return None
        reference = self._mean(self.rows.x) if reference is None else reference
        found = about(reference)
        if found is not None and not _near(found):
            found = about(self.rows.placed(found.centre + _divided(found.sums, found.weights)))
        if found is None or not _finite(found.weights, found.sums, found.spread):
            return None
        mean = found.centre + _divided(found.sums, found.weights)
        return found.weights, np.where(found.weights[:, None] > 0, mean, 0.0), found.spread

    def _mean(self, column: Array) -> Array:
        """Return the mean of some rows of an array, (1, d)."""
        some = self.rows.some(column)
        mean = some.mean(0, keepdim=True)
        if column.dtype == self.rows.torch.float64:
            # This has the rounding error of a long sum; the mean of the residuals corrects it.
            mean = mean + (some - mean).mean(0, keepdim=True)
        return self.rows.torch.nan_to_num(mean, nan=0.0, posinf=0.0, neginf=0.0)


def _near(found: _Centred) -> bool:
    """Whether every class is near its reference, relative to its spread, so that squares do not cancel."""
    away = found.sums * _divided(found.sums, found.weights)  # (k, d), weight times squared distance
    squares = found.squares if len(found.squares) == len(away) else found.squares.sum(axis=0)
    return not bool(np.any(away > FAR**2 * squares))


def _about_means(raw: FloatArray, sums: FloatArray, weights: FloatArray) -> FloatArray:
    """Return products about references, right in their upper half, as products about the means, all of them."""
    upper = np.triu(raw) - np.triu(sums.T @ _divided(sums, weights))
    spread = upper + np.triu(upper, 1).T
    np.fill_diagonal(spread, np.maximum(np.diagonal(spread), 0.0))  # not by rounding
    return spread


def _divided(sums: FloatArray, weights: FloatArray) -> FloatArray:
    return sums / np.where(weights > 0, weights, 1.0)[:, None]


def _finite(*sums: FloatArray) -> bool:
    return all(bool(np.isfinite(each).all()) for each in sums)
