"""The kernels in native code: NumPy arrays and scipy CSR on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.kernels import errors
from suffice.kernels.array_kernels import ArrayKernels
from suffice.kernels.memory import check_host_memory
from suffice.kernels.native_local import NativeLocal
from suffice.kernels.native_regression import COMPILED, read_regression
from suffice.kernels.native_rows import (
    Features,
    blame,
    intact,
    is_csr,
    read_codes,
    read_column,
    read_features,
    read_targets,
)
from suffice.kernels.native_scores import NativeScores
from suffice.kernels.native_stochastic import NativeWalks
from suffice.kernels.quartic_blocks import quartic_moments

if TYPE_CHECKING:
    from suffice.families.response import Response
    from suffice.kernels.batch import Batch

FloatArray = npt.NDArray[np.float64]
R = TypeVar("R")
Sums = TypeVar("Sums", bound=tuple[FloatArray, ...])


class NativeKernels(NativeLocal, NativeScores, NativeWalks):
    """Kernels over NumPy arrays and scipy CSR matrices, in native code that releases the interpreter lock.

    Integers, bool, float32 and float64 of any stride are read where they lie, a cache-sized block at a time; half
    precision, long double and foreign byte orders are converted first.

    Examples
    --------
    >>> from suffice.kernels import Batch
    >>> NativeKernels().class_weights(Batch(np.zeros((3, 1)), np.array([0, 1, 1])), 2)
    array([1., 2.])
    """

    def class_weights(self, batch: Batch, classes: int) -> FloatArray:
        """Return the weight of the rows of each class."""
        weights = self._per_class(_native.class_weights, batch, classes)
        errors.check_overflow(weights)
        return weights

    def event_counts(self, batch: Batch, classes: int, missing: bool = False) -> tuple[FloatArray, ...]:
        """Return class weights, the sum of x per class and, with ``missing``, the weight of the known cells."""
        self._check_room(batch, classes, batch.features)
        return self._finite(batch, self._per_class(_native.event_counts, batch, classes, missing), missing=missing)

    def presence_counts(
        self, batch: Batch, classes: int, threshold: float, missing: bool = False
    ) -> tuple[FloatArray, ...]:
        """Return class weights, the weight of rows with x > threshold and, with ``missing``, that of known cells."""
        errors.check_threshold(threshold)
        self._check_room(batch, classes, batch.features)
        sums = self._per_class(_native.presence_counts, batch, classes, missing, threshold)
        return self._finite(batch, sums, missing=missing)

    def category_counts(
        self, batch: Batch, classes: int, sizes: tuple[int, ...], missing: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return class weights and the weight of each category."""
        errors.check_sizes(sizes, batch.features, 0 if missing else 1)
        self._check_room(batch, classes, sum(sizes))
        weights, counts = self._per_class(_native.category_counts, batch, classes, missing, list(sizes))
        errors.check_overflow(weights)
        return weights, counts

    def diagonal_moments(self, batch: Batch, classes: int, missing: bool = False) -> tuple[FloatArray, ...]:
        """Return class weights, means, centred sums of squares and, with ``missing``, the weight of the known cells."""
        self._check_room(batch, classes, 2, batch.features)
        return self._finite(batch, self._per_class(_native.diagonal_moments, batch, classes, missing), missing=missing)

    def full_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, means and centred scatter per class."""
        self._check_room(batch, classes, batch.features, batch.features)
        return self._finite(batch, self._per_class(_native.scatter, batch, classes, False, None), scatter=True)

    def tied_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, means and the scatter about the class means."""
        return self._finite(batch, self._per_class(_native.scatter, batch, classes, True, None), scatter=True)

    def quartic_moments(self, batch: Batch, classes: int, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of ||z||^2 z and of ||z||^4 per class, with z = x - mean of the class."""
        mean = np.asarray(mean, dtype=np.float64)
        errors.check_mean(mean, classes, batch.features)
        self.class_weights(batch, classes)  # bad codes and weights are named here
        return quartic_moments(batch, mean)

    def normal_equations(self, batch: Batch) -> tuple[float, FloatArray, FloatArray]:
        """Return the weight, mean and centred scatter of the rows [x, y]."""
        targets = read_targets(batch)
        targets = targets.reshape(batch.rows, -1 if batch.rows else int(np.prod(batch.y.shape[1:])))
        sums = self._call(_native.scatter, batch, None, 1, 1, True, targets)
        weights, mean, scatter = self._finite(batch, sums, scatter=True)
        return float(weights[0]), mean[0], scatter

    def curvature(
        self, batch: Batch, response: Response, theta: FloatArray, intercept: bool, hessian: bool
    ) -> tuple[float, float, FloatArray, FloatArray]:
        """Return weight, value, gradient and negative expected Hessian of a log-likelihood."""
        family = COMPILED.get(response.kernel)
        if family is None:
            return self._interpreted(batch, response, theta, intercept, hessian)
        rows = read_regression(batch, family, theta, intercept)
        arguments = family, rows.target, rows.offset, rows.theta, intercept, hessian
        classes = rows.theta.shape[1] + 1
        totals, gradient, curve = self._call(_native.curvature, batch, rows.codes, classes, *arguments)
        if not (np.isfinite(totals).all() and np.isfinite(gradient).all() and np.isfinite(curve).all()):
            blame(batch)  # otherwise the likelihood itself is out of range at this theta: a solver must see that
        return float(totals[0]), float(totals[1]), gradient, curve

    def _interpreted(
        self, batch: Batch, response: Response, *arguments: Any
    ) -> tuple[float, float, FloatArray, FloatArray]:
        """Return what curvature does for a response that is not compiled, through the array API."""
        if not is_csr(batch.x):
            return ArrayKernels().curvature(batch, response, *arguments)
        self.class_weights(replace(batch, y=None), 1)  # bad rows are named here, by their place in the whole batch
        blame(batch)
        x = intact(batch.x)
        height = max(1, (1 << 20) // max(1, batch.features))
        sums: Any = None
        for start in range(batch.start, max(batch.stop, batch.start + 1), height):
            stop = min(start + height, batch.stop)
            columns: dict[str, Any] = {
                name: None if getattr(batch, name) is None else getattr(batch, name)[start:stop]
                for name in ("y", "weight", "offset", "trials")
            }
            block = replace(batch, x=x[start:stop].toarray(), start=0, stop=stop - start, **columns)
            part = ArrayKernels().curvature(block, response, *arguments)
            sums = part if sums is None else [one + two for one, two in zip(sums, part, strict=True)]
        weight, value, gradient, hessian = sums
        return weight, value, gradient, hessian

    def _check_room(self, batch: Batch, classes: int, *lengths: int) -> None:
        """Raise where sums of so many numbers for each class, and what is read from them, cannot fit in memory."""
        check_host_memory(batch.x.shape, f"sums and parameters of {classes} classes", 2, classes, *lengths)

    def _per_class(self, kernel: Callable[..., R], batch: Batch, classes: int, *arguments: Any) -> R:
        return self._call(kernel, batch, read_codes(batch, classes), classes, classes, *arguments)

    def _call(
        self,
        kernel: Callable[..., R],
        batch: Batch,
        codes: npt.NDArray[np.int64] | None,
        classes: int,
        *arguments: Any,
    ) -> R:
        """Run a kernel over the rows of a batch and their weights."""
        weight = None if batch.weight is None else read_column("weight", batch.weight, batch)
        return self._read(
            batch, lambda part: kernel(part.x, codes, weight, part.begin, part.end, *arguments), classes, arguments
        )

    def _read(
        self,
        batch: Batch,
        act: Callable[[Features], R],
        classes: int = 1,
        arguments: tuple[Any, ...] = (),
    ) -> R:
        """Run what reads the features of a batch, turning an offence into a sentence."""
        part = read_features(batch)
        try:
            return act(part)
        except _native.OffenceError as offence:
            what, *place = str(offence).split()
            row, column, value = int(place[0]), int(place[1]), float(place[2])
            if what == "unsorted":  # scipy allows a column to be stored twice in a row, meaning the sum
                x = intact(batch.x).copy()
                x.sum_duplicates()
                return self._read(replace(batch, x=x), act, classes, arguments)
            raise _complaint(what, row + part.origin, column, value, batch, classes, arguments) from None

    def _finite(self, batch: Batch, sums: Sums, scatter: bool = False, missing: bool = False) -> Sums:
        """Return the sums (the last of them a scatter or not), or say which number kept them from being finite."""
        if not all(np.isfinite(part).all() for part in sums):
            blame(replace(batch, offset=None), missing)  # which these sums do not read
            # One overflow spoils a feature's products with all others: its own square tells which it was.
            last = np.diagonal(sums[-1], axis1=-2, axis2=-1) if scatter else sums[-1]
            errors.check_overflow(*sums[:-1], last, features=batch.features)
        return sums


def _complaint(
    what: str, row: int, column: int, value: float, batch: Batch, classes: int, arguments: tuple[Any, ...]
) -> Exception:
    match what:
        case "code":
            return errors.bad_code(row, int(batch.y[row]), classes)
        case "weight":
            return errors.bad_weight(row, value)
        case "finite":
            return errors.not_finite("x", (row, column), value)
        case "negative":
            return errors.negative_count((row, column), value)
        case "category":
            return errors.bad_category((row, column), value, arguments[-1][column])
        case "overflow":
            return errors.overflowing_scores(row)
        case "changed":
            return ValueError(
                "x changed while it was read: another thread writes to it; wait for that thread, or pass x.copy()"
            )
        case _:  # indptr or indices of a broken CSR matrix
            return ValueError(f"x.{what}[{row}] is {value:g}, which is out of range: the CSR matrix is broken")
