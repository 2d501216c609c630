"""Protocol of kernels: the sums that native code and the array API implement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from suffice.kernels.inputs import JOINT, Reading

if TYPE_CHECKING:
    from suffice.families.response import Response
    from suffice.kernels.descent import Correction, Descent, Pace
    from suffice.kernels.engine import Batch
    from suffice.kernels.neighbourhood import LocalCurvature, LocalMoments, Neighbourhood

FloatArray = npt.NDArray[np.float64]


class Kernels(Protocol):
    """Sums over the rows of one batch.

    Everything is summed in float64 and comes back as NumPy arrays on the host, whatever the input's type and device.
    A batch without rows gives zeros. ``y`` of a sum per class holds codes 0 to k - 1 (None is allowed where k = 1).

    Every kernel raises ``ValueError`` (or ``TypeError`` for a dtype that is not numeric) naming the argument, the first
    offending position and the value: codes outside 0 to k - 1, weights that are negative, NaN or infinite, and NaN or
    infinite features or targets.

    With ``missing``, a NaN feature is a missing cell and is skipped; what CSR does not store is a known 0. The kernels
    that say so then return one more array at the end, ``cells``: the weight of the rows of each class in which each
    cell is known, (k, d), or (k, 0) where no cell of the batch is missing.
    """

    #: Kernels beyond this list that these have, by name: "dual_ascent" where rows may be CSR in host memory.
    capabilities: ClassVar[frozenset[str]]

    def depth(self, batch: Batch, classes: int) -> float:
        """Return how many rows of a batch are summed one after another, at most: rounding errors grow with them.

        Products of a column are summed about references so near to its means that those of its squares come to at most
        9 times its spread; where they do not, this many times more rows are counted.
        """

    def class_weights(self, batch: Batch, classes: int) -> FloatArray:
        """Return the weight of the rows of each class, (k,)."""

    def event_counts(self, batch: Batch, classes: int, missing: bool = False) -> tuple[FloatArray, ...]:
        """Return class weights, (k,), the sum of x per class, (k, d), and with ``missing`` the cells.

        x must not be negative.
        """

    def presence_counts(
        self, batch: Batch, classes: int, threshold: float, missing: bool = False
    ) -> tuple[FloatArray, ...]:
        """Return class weights, (k,), the weight of rows with x > threshold, (k, d), and with ``missing`` the cells."""

    def category_counts(
        self, batch: Batch, classes: int, sizes: tuple[int, ...], missing: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return class weights, (k,), and the weight of each category, (k, sum of sizes), features side by side.

        x holds category codes: whole numbers, 0 to sizes[j] - 1 in column j. With ``missing``, NaN or a negative code
        is a missing cell, which adds nothing: the categories of a feature sum to the weight of its known cells.
        """

    def diagonal_moments(self, batch: Batch, classes: int, missing: bool = False) -> tuple[FloatArray, ...]:
        """Return class weights, (k,), means and centred sums of squares, (k, d), and with ``missing`` the cells.

        The moments of a cell are those of the rows in which it is known; 0 where there are none.
        """

    def full_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, (k,), means, (k, d), and centred scatter per class, (k, d, d)."""

    def tied_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, (k,), means, (k, d), and the scatter about the class means, summed, (d, d)."""

    def quartic_moments(self, batch: Batch, classes: int, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of z_j^2 z_l and of z_j^2 z_l^2 per class, both (k, d, d), with z = x - mean of the class.

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

    # Kernels that process rows in order: each step depends on the rows before it, so a batch is not split.

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
        """Return theta, (p, t), laid out as for :meth:`curvature`, after stochastic gradient steps.

        ``order`` holds the positions of the rows to visit, ``pace.rows`` to a step. Step s moves theta by
        ``pace.size(s)`` times the mean over its rows of weight times slope times x, less ``l2`` times theta without the
        intercept. A walk ends before a step whose slopes are not finite or whose predictors are beyond 1e100, and says
        so.
        """

    def correct(
        self, batch: Batch, theta: FloatArray, classes: int, intercept: bool, order: npt.ArrayLike, step: float = 1.0
    ) -> Correction:
        """Return where the perceptron's rule leads from theta, one row of ``order`` after another.

        Theta is (p, 1) for two classes, and a row is of class 1 where its predictor is positive, of class 0 where it is
        negative, and a mistake where it is 0; for more theta is (p, k), and a row is of the first class with the
        largest predictor. A row whose class is not y moves theta
        towards y, and away from the class it was taken for, by ``step`` times its weight times x. A row without
        weight is not a mistake. Finite rows whose predictors overflow raise.
        """

    # Scores log p(x, y) of rows and classes. They come back in the array library of the batch, as the reading wants
    # them: read block by block, so that no (n, k) array is needed where the reading has one number a row. An intercept
    # of -inf says that a class is impossible. Infinite features are errors, and so is NaN unless said otherwise.

    def linear_scores(
        self,
        batch: Batch,
        coef: FloatArray,
        intercept: FloatArray,
        reading: Reading = JOINT,
        threshold: float | None = None,
        missing: FloatArray | None = None,
    ) -> Any:
        """Return the reading of x coef' + intercept; coef is (k, d), intercept (k,).

        With a threshold, each x is 1 if above it, else 0. With ``missing``, (k, d), a NaN in x is a
        missing cell and adds the entry of its class and feature. Finite rows whose scores overflow are refused.
        """

    def diagonal_scores(
        self, batch: Batch, mean: FloatArray, variance: FloatArray, intercept: FloatArray, reading: Reading = JOINT
    ) -> Any:
        """Return the reading of the intercept, (k,), and the sum of the features' Gaussian log-densities.

        Mean and variance are (k, d). A NaN in x is a missing cell, which adds nothing: its density is integrated out.
        A row so far off that its square overflows scores -inf.
        """

    def quadratic_scores(
        self, batch: Batch, mean: FloatArray, whitener: FloatArray, intercept: FloatArray, reading: Reading = JOINT
    ) -> Any:
        """Return the reading of ``intercept[c] - |whitener[c] (x - mean[c])|^2 / 2`` for each class c.

        Mean is (k, d), whitener (k, d, d) and lower triangular: what is above its diagonal is not read. The intercept,
        (k,), holds log-determinants too. A row so far off that its distance overflows scores -inf.
        """

    def category_scores(
        self,
        batch: Batch,
        tables: FloatArray,
        sizes: tuple[int, ...],
        intercept: FloatArray,
        reading: Reading = JOINT,
    ) -> Any:
        """Return the reading of the intercept, (k,), and the sum of the log-probabilities of the row's categories.

        x holds category codes: whole numbers, 0 to sizes[j] - 1 in column j. A negative one or NaN is a missing cell,
        which adds nothing. Tables are (sum of sizes, k), features one under another; entries may be -inf.
        """

    def read_scores(self, scores: Any, reading: Reading) -> Any:
        """Return the reading of scores that are there already, (n, k), in their own array library."""

    # Fits around queries. The batch holds the queries, so that they are what an engine cuts; the rows come beside it,
    # in the same array library. What is summed about one query does not depend on the others. ``y`` of the batch, where
    # there is one, is the row that each query does without, or -1: so a row is predicted as if it had not been seen.
    # If no row of weight above 0 is within a bounded kernel, the nearest ones have equal weights.

    def local_moments(
        self, batch: Batch, rows: Batch, neighbourhood: Neighbourhood, squares: bool = False
    ) -> LocalMoments:
        """Return the products of the local design and the targets around each query, weighted by how near rows are."""

    def local_curvature(
        self, batch: Batch, rows: Batch, neighbourhood: Neighbourhood, theta: FloatArray
    ) -> LocalCurvature:
        """Return the local log-likelihood of Bernoulli targets and its derivatives; theta is (m, p), one per query."""
