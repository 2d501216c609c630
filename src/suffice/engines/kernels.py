"""What an engine's kernels can sum. Native code and the array API implement this one list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from suffice.engines.batch import Batch
    from suffice.families.response import Response

FloatArray = npt.NDArray[np.float64]


class Kernels(Protocol):
    """Sums over the rows of one batch.

    Everything is summed in float64 and comes back as NumPy arrays on the host, whatever the input's type and device.
    A batch without rows gives zeros. ``y`` of a sum per class holds codes 0 to k - 1 (None is allowed where k = 1).

    Every kernel raises ``ValueError`` (or ``TypeError`` for a dtype that is no number) naming the argument, the first
    offending position and the value: codes outside 0 to k - 1, weights that are negative, NaN or infinite, and NaN or
    infinite features or targets.
    """

    def class_weights(self, batch: Batch, classes: int) -> FloatArray:
        """Return the weight of the rows of each class, (k,)."""

    def event_counts(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray]:
        """Return class weights, (k,), and the sum of x per class, (k, d); x must not be negative."""

    def presence_counts(self, batch: Batch, classes: int, threshold: float) -> tuple[FloatArray, FloatArray]:
        """Return class weights, (k,), and the weight of rows with x > threshold per class, (k, d)."""

    def category_counts(self, batch: Batch, classes: int, sizes: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        """Return class weights, (k,), and the weight of each category, (k, sum of sizes), features side by side.

        x holds category codes: whole numbers, 0 to sizes[j] - 1 in column j.
        """

    def diagonal_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, (k,), means, (k, d), and centred sums of squares, (k, d)."""

    def full_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, (k,), means, (k, d), and centred scatter per class, (k, d, d)."""

    def tied_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, (k,), means, (k, d), and the scatter about the class means, summed, (d, d)."""

    def quartic_moments(self, batch: Batch, classes: int, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of ||z||^2 z, (k, d), and of ||z||^4, (k,), per class, with z = x - mean of the class.

        ``mean`` is (k, d), as :meth:`full_moments` returns it.
        """

    def normal_equations(self, batch: Batch) -> tuple[float, FloatArray, FloatArray]:
        """Return the weight, the mean, (d + t,), and the centred scatter, (d + t, d + t), of the rows [x, y]."""

    def curvature(
        self, batch: Batch, response: Response, theta: FloatArray, intercept: bool, hessian: bool
    ) -> tuple[float, float, FloatArray, FloatArray]:
        """Return weight, value, gradient, (p, t), and negative expected Hessian, (p t, p t), of a log-likelihood.

        ``theta`` is (p, t), one column per linear predictor; p is d, or d + 1 with the intercept first. The Hessian is
        that of theta read column by column; it is (0, 0) unless asked for. The value leaves out log b(y), which does
        not depend on theta.
        """

    def linear_scores(self, batch: Batch, coef: FloatArray, intercept: FloatArray) -> Any:
        """Return x coef' + intercept, (n, k), in the batch's own array library; coef is (k, d), intercept (k,)."""
