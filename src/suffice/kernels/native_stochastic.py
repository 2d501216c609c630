"""Walks along rows, one after another, in native code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.kernels import errors
from suffice.kernels.array_kernels import ArrayKernels
from suffice.kernels.batch import Batch
from suffice.kernels.descent import Ascent, Correction, Descent, Pace, check_correction, check_ridge, read_order
from suffice.kernels.native_regression import COMPILED, read_regression
from suffice.kernels.native_rows import Features, blame, intact, is_csr, read_codes, read_column

if TYPE_CHECKING:
    from suffice.families.response import Response
    from suffice.kernels.protocol import FloatArray

R = TypeVar("R")


class Ridge(NamedTuple):
    """A ridge penalty on theta, where scale * theta is what x is multiplied by."""

    l2: float  # above 0
    scale: FloatArray | None = None  # (d, t); 1 by default
    symmetric: bool = False  # whether every class has its predictor, none being pinned at 0


class NativeWalks(ABC):
    """The kernels that walk along rows; see :class:`~suffice.kernels.protocol.Kernels` for what each returns."""

    @abstractmethod
    def _read(self, batch: Batch, act: Callable[[Features], R], classes: int = 1, arguments: tuple[Any, ...] = ()) -> R:
        """Run what reads the features of a batch, turning an offence into a sentence."""

    @abstractmethod
    def _call(
        self, kernel: Callable[..., R], batch: Batch, codes: npt.NDArray[np.int64] | None, classes: int, *arguments: Any
    ) -> R:
        """Run a kernel over the rows of a batch and their weights."""

    @abstractmethod
    def class_weights(self, batch: Batch, classes: int) -> FloatArray:
        """Return the weight of the rows of each class."""

    def descend(
        self,
        batch: Batch,
        response: Response,
        theta: FloatArray,
        intercept: bool,
        order: npt.ArrayLike,
        pace: Pace,
        l2: float = 0.0,
    ) -> Descent:
        """Return where stochastic gradient steps lead."""
        family = COMPILED.get(response.kernel)
        if family is None:
            return self._interpreted_descent(batch, response, theta, intercept, order, pace, l2)
        rows = read_regression(batch, family, theta, intercept)
        places = read_order(order, batch)
        check_ridge(l2)
        steps = float(pace.step), float(pace.decay), float(pace.power), int(pace.first), int(pace.rows)
        more = family, rows.target, rows.offset, rows.theta, intercept
        last, total, totals = self._walk(
            batch, _native.descend, rows.codes, rows.theta.shape[1] + 1, places, *more, after=(steps, float(l2))
        )
        value, weight, slopes, made, finite = totals.tolist()
        finite = bool(finite) and bool(np.isfinite(last).all())
        if not finite:
            blame(batch)
        mean = total / made if made else last.copy()
        return Descent(last, mean, value, weight, int(made), slopes / weight if weight else 0.0, finite)

    def correct(
        self, batch: Batch, theta: FloatArray, classes: int, intercept: bool, order: npt.ArrayLike, step: float = 1.0
    ) -> Correction:
        """Return where the perceptron's rule leads."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        check_correction(batch, theta, classes, intercept, step)
        codes = read_codes(batch, classes)
        places = read_order(order, batch)
        last, total, totals = self._walk(
            batch, _native.correct, codes, classes, places, classes, theta, intercept, after=(float(step),)
        )
        mistakes, overflow = totals.tolist()
        if overflow >= 0 or not np.isfinite(last).all():
            blame(replace(batch, offset=None))
            raise errors.overflowing_scores(int(overflow) if overflow >= 0 else int(places[-1]))
        return Correction(last, total, int(mistakes))

    def dual_ascent(
        self,
        batch: Batch,
        response: Response,
        theta: FloatArray,
        intercept: bool,
        ridge: Ridge,
        probabilities: FloatArray,
        most: int,
        gap: float,
        seed: int,
    ) -> Ascent:
        """Return where at most so many rounds lead, by which the rows' probabilities, (n, k), move in place.

        Only the intercepts of theta, (p, t), are read: the probabilities tell all else. With k predictors each class
        has its own; with k - 1 that of the last class is 0. Of two classes and one predictor it is the first class's.
        """
        rows = read_regression(batch, COMPILED[response.kernel], theta, intercept, alike=ridge.symmetric)
        more = rows.target, rows.offset, rows.theta, intercept, ridge.scale, float(ridge.l2), ridge.symmetric
        moved, totals = self._call(
            _native.dual_ascent,
            batch,
            rows.codes,
            probabilities.shape[1],
            *(COMPILED[response.kernel], *more, probabilities, int(most), float(gap), int(seed)),
        )
        if not np.isfinite(totals).all():
            blame(batch)
        return Ascent(moved, int(totals[0]), float(totals[1]))

    def _walk(
        self,
        batch: Batch,
        kernel: Callable[..., R],
        codes: npt.NDArray[np.int64] | None,
        classes: int,
        places: npt.NDArray[np.int64],
        *before: Any,
        after: tuple[Any, ...],
    ) -> R:
        """Run a kernel that visits rows in an order, which comes between its other arguments."""
        weight = None if batch.weight is None else read_column("weight", batch.weight, batch)

        def act(part: Features) -> R:
            order = places - part.origin if part.origin else places
            return kernel(part.x, codes, weight, part.begin, part.end, *before, order, *after)

        return self._read(batch, act, classes)

    def _interpreted_descent(
        self,
        batch: Batch,
        response: Response,
        theta: FloatArray,
        intercept: bool,
        order: npt.ArrayLike,
        pace: Pace,
        l2: float,
    ) -> Descent:
        """Return what descend does for a response that is not compiled, through the array API."""
        if not is_csr(batch.x):
            return ArrayKernels().descend(batch, response, theta, intercept, order, pace, l2)
        self.class_weights(replace(batch, y=None), 1)  # bad rows are named here, by their place in the whole batch
        blame(batch)
        x = intact(batch.x)
        places = read_order(order, batch)
        steps = max(1, (1 << 20) // max(1, batch.features * pace.rows))  # whose rows are made dense together
        descent: Descent | None = None
        for start in range(0, max(1, len(places)), steps * pace.rows):
            some = places[start : start + steps * pace.rows]
            y, weight, offset = (
                None if column is None else np.asarray(column)[some] for column in (batch.y, batch.weight, batch.offset)
            )
            few = Batch(x[some].toarray(), y, weight, offset)
            onward = replace(pace, first=pace.first + start // pace.rows)
            part = ArrayKernels().descend(few, response, theta, intercept, np.arange(len(some)), onward, l2)
            theta, descent = part.theta, part if descent is None else descent.then(part)
            if not part.finite:
                break
        assert descent is not None
        return descent
