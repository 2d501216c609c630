"""Scores of rows under a fitted model, in native code, read in the same pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.kernels import errors, parameters
from suffice.kernels.native_rows import Features, check_numbers
from suffice.kernels.reading import JOINT, Reading, What

if TYPE_CHECKING:
    from suffice.kernels.batch import Batch
    from suffice.kernels.protocol import FloatArray

R = TypeVar("R")

#: In the order of Reading::What in native/kernels.hpp.
_NUMBERS = {what: number for number, what in enumerate(get_args(What))}


class NativeScores(ABC):
    """The kernels that score rows; see :class:`~suffice.kernels.protocol.Kernels` for what each returns."""

    @abstractmethod
    def _read(self, batch: Batch, act: Callable[[Features], R], classes: int = 1, arguments: tuple[Any, ...] = ()) -> R:
        """Run what reads the features of a batch, turning an offence into a sentence."""

    def linear_scores(
        self,
        batch: Batch,
        coef: FloatArray,
        intercept: FloatArray,
        reading: Reading = JOINT,
        threshold: float | None = None,
        missing: FloatArray | None = None,
    ) -> npt.NDArray[Any]:
        """Return the reading of x coef' + intercept."""
        model = parameters.linear(batch.features, coef, intercept, threshold, missing)
        return self._scores(_native.linear_scores, batch, reading, len(model.intercept), model)

    def diagonal_scores(
        self, batch: Batch, mean: FloatArray, variance: FloatArray, intercept: FloatArray, reading: Reading = JOINT
    ) -> npt.NDArray[Any]:
        """Return the reading of the features' Gaussian log-densities and the intercept."""
        model = parameters.diagonal(batch.features, mean, variance, intercept)
        return self._scores(_native.diagonal_scores, batch, reading, len(model.intercept), model)

    def quadratic_scores(
        self, batch: Batch, mean: FloatArray, whitener: FloatArray, intercept: FloatArray, reading: Reading = JOINT
    ) -> npt.NDArray[Any]:
        """Return the reading of the intercept less half the squared length of whitener (x - mean)."""
        model = parameters.quadratic(batch.features, mean, whitener, intercept)
        return self._scores(_native.quadratic_scores, batch, reading, len(model.intercept), model)

    def category_scores(
        self,
        batch: Batch,
        tables: FloatArray,
        sizes: tuple[int, ...],
        intercept: FloatArray,
        reading: Reading = JOINT,
    ) -> npt.NDArray[Any]:
        """Return the reading of the log-probabilities of the row's categories and the intercept."""
        model = parameters.categories(batch.features, tables, sizes, intercept)
        return self._scores(_native.category_scores, batch, reading, len(model.intercept), model, (model.sizes,))

    def read_scores(self, scores: npt.NDArray[Any], reading: Reading) -> npt.NDArray[Any]:
        """Return the reading of scores that are there already."""
        scores = np.asarray(scores)
        errors.check_scores(scores)
        check_numbers("scores", scores)
        scores = np.require(scores, np.float64, "A")
        results, arguments = _results(reading, *scores.shape)
        try:
            _native.read_scores(scores, arguments)
        except _native.OffenceError as offence:
            _, row, column, value = str(offence).split()
            raise errors.bad_score((int(row), int(column)), float(value)) from None
        return results

    def _scores(
        self,
        kernel: Callable[..., None],
        batch: Batch,
        reading: Reading,
        classes: int,
        model: tuple[Any, ...],
        named: tuple[Any, ...] = (),
    ) -> npt.NDArray[Any]:
        results, arguments = _results(reading, batch.rows, classes)
        self._read(batch, lambda part: kernel(*part[:3], *model, arguments), arguments=named)
        return results


def _results(reading: Reading, rows: int, classes: int) -> tuple[npt.NDArray[Any], tuple[Any, ...]]:
    """Return an array for the results of a reading, and the reading as native code takes it, which fills it."""
    results: npt.NDArray[Any]
    match reading.what:
        case "best":
            results = np.empty(rows, dtype=np.int64)
        case "evidence":
            results = np.empty(rows)
        case _:
            results = np.empty((rows, classes))
    return results, (_NUMBERS[reading.what], reading.temperature, reading.prior_over(classes), results)
