"""The kernels in native code: NumPy arrays and scipy CSR on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.kernels import errors, inputs
from suffice.kernels.descent import Ascent, Correction, Descent, Pace, check_correction, check_ridge, read_order
from suffice.kernels.engine import Batch
from suffice.kernels.inputs import JOINT, Reading, What, check_host_memory
from suffice.kernels.neighbourhood import LocalCurvature, LocalMoments, Neighbourhood, Shape
from suffice.kernels.sparse import csr_indices, intact

if TYPE_CHECKING:
    from suffice.families.response import Response
    from suffice.kernels.array_kernels import ArrayKernels

FloatArray = npt.NDArray[np.float64]
R = TypeVar("R")
Sums = TypeVar("Sums", bound=tuple[FloatArray, ...])
#: The responses whose curve is compiled, by ``Response.kernel``; the numbers are those of Model::Family in
#: native/kernels.hpp.
COMPILED: dict[str | None, int] = {
    "gaussian/identity": 0,
    "bernoulli/logit": 1,
    "poisson/log": 2,
    "gamma/log": 3,
    "exponential/log": 3,
    "multinomial/softmax": 4,
    "tweedie/log": 5,
}
_SOFTMAX = COMPILED["multinomial/softmax"]
#: In the order of Local::Shape in native/kernels.hpp.
_SHAPES = {shape: number for number, shape in enumerate(get_args(Shape))}
#: In the order of Reading::What in native/kernels.hpp.
_READINGS = {what: number for number, what in enumerate(get_args(What))}


#: The rows of a block of :func:`quartic_moments` take about this many bytes in float64.
_BLOCK_BYTES = 1 << 20


def _array_kernels() -> ArrayKernels:
    """Return the kernels of any array, which sum what native code does not."""
    from suffice.kernels.array_kernels import ArrayKernels

    return ArrayKernels()


class Ridge(NamedTuple):
    """A ridge penalty on theta, where scale * theta is what x is multiplied by."""

    l2: float  # above 0
    scale: FloatArray | None = None  # (d, t); 1 by default
    symmetric: bool = False  # whether every class has its predictor, none being pinned at 0


class Features(NamedTuple):
    """Features as the native code reads them: an array or the parts of CSR, and the rows that count."""

    x: Any
    begin: int
    end: int
    origin: int  # the batch's row that is row 0 here


class NativeKernels:
    """Kernels over NumPy arrays and scipy CSR matrices, in native code that releases the interpreter lock.

    Integers, bool, float32 and float64 of any stride are read in place, a cache-sized block at a time; half
    precision, long double and foreign byte orders are converted first.

    Examples
    --------
    >>> from suffice.kernels import Batch
    >>> NativeKernels().class_weights(Batch(np.zeros((3, 1)), np.array([0, 1, 1])), 2)
    array([1., 2.])
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"dual_ascent"})

    def depth(self, batch: Batch, classes: int) -> float:
        """Return how many rows are summed one after another, at most."""
        if is_csr(batch.x):
            return float(min(batch.rows, max(65536, 16 * classes * batch.features)))
        # A block at a time; the sums of blocks are added one after another, and those of folds.
        return float(min(batch.rows, max(256, 16 * classes) + batch.rows // 256 + 32))

    def class_weights(self, batch: Batch, classes: int) -> FloatArray:
        """Return the weight of the rows of each class."""
        weights = self._per_class(_native.class_weights, batch, classes)
        inputs.check_overflow(weights)
        return weights

    def event_counts(self, batch: Batch, classes: int, missing: bool = False) -> tuple[FloatArray, ...]:
        """Return class weights, the sum of x per class and, with ``missing``, the weight of the known cells."""
        self._check_room(batch, classes, batch.features)
        return self._finite(batch, self._per_class(_native.event_counts, batch, classes, missing), missing=missing)

    def presence_counts(
        self, batch: Batch, classes: int, threshold: float, missing: bool = False
    ) -> tuple[FloatArray, ...]:
        """Return class weights, the weight of rows with x > threshold and, with ``missing``, that of known cells."""
        inputs.check_threshold(threshold)
        self._check_room(batch, classes, batch.features)
        sums = self._per_class(_native.presence_counts, batch, classes, missing, threshold)
        return self._finite(batch, sums, missing=missing)

    def category_counts(
        self, batch: Batch, classes: int, sizes: tuple[int, ...], missing: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return class weights and the weight of each category."""
        inputs.check_sizes(sizes, batch.features, 0 if missing else 1)
        self._check_room(batch, classes, sum(sizes))
        weights, counts = self._per_class(_native.category_counts, batch, classes, missing, list(sizes))
        inputs.check_overflow(weights)
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
        """Return the sums of z_j^2 z_l and of z_j^2 z_l^2 per class, with z = x - mean of the class."""
        mean = np.asarray(mean, dtype=np.float64)
        inputs.check_mean(mean, classes, batch.features)
        self._check_room(batch, classes, batch.features, batch.features)
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
        shape = family, response.likelihood.variance_power, response.slope_share
        arguments = *shape, rows.target, rows.offset, rows.theta, intercept, hessian
        classes = rows.theta.shape[1] + 1
        totals, gradient, curve, finite = self._call(_native.curvature, batch, rows.codes, classes, *arguments)
        if not finite:
            blame(batch)  # otherwise the likelihood itself is out of range at this theta: a solver must see that
        return float(totals[0]), float(totals[1]), gradient, curve

    def _interpreted(
        self, batch: Batch, response: Response, *arguments: Any
    ) -> tuple[float, float, FloatArray, FloatArray]:
        """Return the curvature of a response that is not compiled, through the array API."""
        if not is_csr(batch.x):
            return _array_kernels().curvature(batch, response, *arguments)
        self.class_weights(replace(batch, y=None), 1)  # bad rows are named here, by their place in the whole batch
        blame(batch)
        x = intact(batch.x)
        height = max(1, (1 << 20) // max(1, batch.features))
        sums: Any = None
        for start in range(batch.start, max(batch.stop, batch.start + 1), height):
            stop = min(start + height, batch.stop)
            columns: dict[str, Any] = {
                name: None if getattr(batch, name) is None else getattr(batch, name)[start:stop]
                for name in ("y", "weight", "offset", "trials", "groups")
            }
            block = replace(batch, x=x[start:stop].toarray(), start=0, stop=stop - start, **columns)
            part = _array_kernels().curvature(block, response, *arguments)
            sums = part if sums is None else [one + two for one, two in zip(sums, part, strict=True)]
        weight, value, gradient, hessian = sums
        return weight, value, gradient, hessian

    def _check_room(self, batch: Batch, classes: int, *lengths: int) -> None:
        """Raise if the sums of all classes, and the estimates from them, do not fit in memory."""
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
            # An overflow of one feature is in its products with all others: its own square identifies it.
            last = np.diagonal(sums[-1], axis1=-2, axis2=-1) if scatter else sums[-1]
            inputs.check_overflow(*sums[:-1], last, features=batch.features)
        return sums

    # Scores.

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
        model = inputs.linear_parameters(batch.features, coef, intercept, threshold, missing)
        return self._scores(_native.linear_scores, batch, reading, len(model.intercept), model)

    def diagonal_scores(
        self, batch: Batch, mean: FloatArray, variance: FloatArray, intercept: FloatArray, reading: Reading = JOINT
    ) -> npt.NDArray[Any]:
        """Return the reading of the features' Gaussian log-densities and the intercept."""
        model = inputs.diagonal_parameters(batch.features, mean, variance, intercept)
        return self._scores(_native.diagonal_scores, batch, reading, len(model.intercept), model)

    def quadratic_scores(
        self, batch: Batch, mean: FloatArray, whitener: FloatArray, intercept: FloatArray, reading: Reading = JOINT
    ) -> npt.NDArray[Any]:
        """Return the reading of the intercept less half the squared length of whitener (x - mean)."""
        model = inputs.quadratic_parameters(batch.features, mean, whitener, intercept)
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
        model = inputs.category_parameters(batch.features, tables, sizes, intercept)
        return self._scores(_native.category_scores, batch, reading, len(model.intercept), model, (model.sizes,))

    def read_scores(self, scores: npt.NDArray[Any], reading: Reading) -> npt.NDArray[Any]:
        """Return the reading of scores that are there already."""
        scores = np.asarray(scores)
        inputs.check_scores(scores)
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

    # Steps row by row.

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
        """Return theta after stochastic gradient steps."""
        family = COMPILED.get(response.kernel)
        if family is None:
            return self._interpreted_descent(batch, response, theta, intercept, order, pace, l2)
        rows = read_regression(batch, family, theta, intercept)
        places = read_order(order, batch)
        check_ridge(l2)
        steps = float(pace.step), float(pace.decay), float(pace.power), int(pace.first), int(pace.rows)
        more = family, response.likelihood.variance_power, rows.target, rows.offset, rows.theta, intercept
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
        """Return theta after the perceptron's rule."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        check_correction(batch, theta, classes, intercept, step)
        codes = read_codes(batch, classes)
        places = read_order(order, batch)
        last, total, totals = self._walk(
            batch, _native.correct, codes, classes, places, classes, theta, intercept, after=(float(step),)
        )
        mistakes, overflow, loss = totals.tolist()
        if overflow >= 0 or not np.isfinite(last).all():
            blame(replace(batch, offset=None))
            raise errors.ScoreOverflowError(int(overflow) if overflow >= 0 else int(places[-1]))
        return Correction(last, total, int(mistakes), loss)

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
        """Return theta after at most ``most`` rounds; the rows' probabilities, (n, k), are updated in place.

        Only the intercepts of theta, (p, t), are read; the rest follows from the probabilities. With k predictors each
        class has its own; with k - 1 that of the last class is 0. With two classes and one predictor it is the first
        class's.
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
        """Return the steps of descend for a response that is not compiled, through the array API."""
        if not is_csr(batch.x):
            return _array_kernels().descend(batch, response, theta, intercept, order, pace, l2)
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
            part = _array_kernels().descend(few, response, theta, intercept, np.arange(len(some)), onward, l2)
            theta, descent = part.theta, part if descent is None else descent.then(part)
            if not part.finite:
                break
        assert descent is not None
        return descent

    # Local fits.

    def local_moments(
        self, batch: Batch, rows: Batch, neighbourhood: Neighbourhood, squares: bool = False
    ) -> LocalMoments:
        """Return the weighted products of the local design and the targets around each query."""
        nearest, shift, products, targets, squared, _ = _local_sums(batch, rows, neighbourhood, squares, None)
        return LocalMoments(nearest, shift, products, targets, squared)

    def local_curvature(
        self, batch: Batch, rows: Batch, neighbourhood: Neighbourhood, theta: FloatArray
    ) -> LocalCurvature:
        """Return the local log-likelihood of Bernoulli targets and its derivatives around each query."""
        inputs.check_local_theta(theta, batch.rows, neighbourhood.parameters(batch.features))
        sums = _local_sums(batch, rows, neighbourhood, False, np.ascontiguousarray(theta, dtype=np.float64))
        nearest, shift, hessian, gradient, _, value = sums
        return LocalCurvature(nearest, shift, value, gradient[:, :, 0], hessian)


class Regression(NamedTuple):
    """What belongs to the rows that count, and where theta is."""

    codes: npt.NDArray[np.int64] | None  # (n,), of the multinomial
    target: FloatArray | None  # (n,), of all others
    offset: FloatArray | None  # (n t,)
    theta: FloatArray  # (p, t)


def read_regression(batch: Batch, family: int, theta: FloatArray, intercept: bool, alike: bool = False) -> Regression:
    """Return targets, offset and theta; raise if they do not fit the family or each other.

    With softmax, theta has a column less than there are classes, or as many where all are treated ``alike``.
    """
    theta = np.ascontiguousarray(theta, dtype=np.float64)
    parameters = batch.features + int(intercept)
    if theta.ndim != 2 or theta.shape[0] != parameters or theta.shape[1] == 0:
        raise errors.wrong_shape("theta", f"({parameters}, t)", theta.shape)
    if family != _SOFTMAX and theta.shape[1] != 1:
        raise errors.wrong_shape("theta", f"({parameters}, 1)", theta.shape)
    predictors = theta.shape[1]
    offset = None
    if batch.offset is not None:
        inputs.check_offset(batch.offset, predictors)
        offset = read_column("offset", batch.offset, batch)
        if offset.size != batch.rows * predictors:
            offset = np.repeat(offset, predictors)
    codes = read_codes(batch, predictors + (not alike)) if family == _SOFTMAX else None
    target = None if family == _SOFTMAX else np.ascontiguousarray(read_targets(batch), dtype=np.float64).reshape(-1)
    if target is not None and target.size != batch.rows:
        raise errors.wrong_shape("y", f"({len(batch.y)},)", batch.y.shape)
    return Regression(codes, target, offset, theta)


def _local_sums(
    batch: Batch, rows: Batch, neighbourhood: Neighbourhood, squares: bool, theta: FloatArray | None
) -> tuple[Any, ...]:
    inputs.check_queries(batch, rows, one_target=theta is not None)
    targets = np.ascontiguousarray(read_targets(rows), dtype=np.float64)
    weight = None if rows.weight is None else read_column("weight", rows.weight, rows)
    asked, known = read_features(batch), read_features(rows)
    try:
        nearest, *sums = _native.local_sums(
            (*asked[:3], _left_out(batch, rows, known.origin)),
            (*known[:3], weight, targets.reshape(rows.rows, -1 if rows.rows else inputs.count_targets(rows.y))),
            (_SHAPES[neighbourhood.kernel], neighbourhood.bandwidth, neighbourhood.degree, squares, theta),
        )
        return np.where(nearest < 0, -1, nearest + known.origin).astype(np.int64), *sums
    except _native.OffenceError as offence:
        what, *place = str(offence).split()
        row, column, value = int(place[0]), int(place[1]), float(place[2])
        match what:
            case "finite":
                raise errors.NonFiniteError("x", (row + asked.origin, column), value) from None
            case "row":
                raise errors.NonFiniteError("rows.x", (row + known.origin, column), value) from None
            case "target":
                at = (row + known.origin, column)[: len(rows.y.shape)]
                raise errors.NonFiniteError("y", at, value) from None
            case _:
                raise errors.bad_weight(row + known.origin, value) from None


def _left_out(batch: Batch, rows: Batch, origin: int) -> npt.NDArray[np.int64] | None:
    """Return the row that each query does without, as the native code counts rows; None where none does."""
    if batch.y is None:
        return None
    places = np.ascontiguousarray(np.asarray(batch.y)[batch.start : batch.stop], dtype=np.int64)
    inputs.check_left_out(places, batch, rows)
    return np.where(places < 0, -1, places - origin)


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
    return results, (_READINGS[reading.what], reading.temperature, reading.prior_over(classes), results)


def _complaint(
    what: str, row: int, column: int, value: float, batch: Batch, classes: int, arguments: tuple[Any, ...]
) -> Exception:
    match what:
        case "code":
            return errors.bad_code(row, int(batch.y[row]), classes)
        case "weight":
            return errors.bad_weight(row, value)
        case "finite":
            return errors.NonFiniteError("x", (row, column), value)
        case "negative":
            return errors.NegativeCountError("x", (row, column), value)
        case "category":
            return errors.bad_category((row, column), value, arguments[-1][column])
        case "overflow":
            return errors.ScoreOverflowError(row)
        case "changed":
            return ValueError(
                "x changed while it was read: another thread writes to it; wait for that thread, or pass x.copy()"
            )
        case _:  # indptr or indices of a broken CSR matrix
            return ValueError(f"x.{what}[{row}] is {value:g}, which is out of range: the CSR matrix is broken")


def is_csr(x: Any) -> bool:
    """Whether x is a scipy CSR matrix or array."""
    return getattr(x, "format", None) == "csr" and hasattr(x, "indptr")


def check_numbers(name: str, array: npt.NDArray[Any]) -> None:
    """Raise where an array holds anything but real numbers."""
    if array.dtype.kind not in "biuf":
        raise errors.no_numbers(name, array.dtype)


def _is_plain(array: npt.NDArray[Any]) -> bool:
    """Whether the native code can read the array in place."""
    whole_strides = all(stride % array.itemsize == 0 for stride in array.strides)
    return (
        array.dtype.isnative
        and array.flags.aligned
        and whole_strides
        and array.itemsize in (1, 2, 4, 8)
        and array.dtype != np.float16
    )


def read_features(batch: Batch) -> Features:
    """Return x if native code can read it in place, else its rows converted to float64."""
    x = batch.x
    if is_csr(x):
        return _csr(batch)
    if not isinstance(x, np.ndarray):
        name = f"{type(x).__module__.partition('.')[0]} {type(x).__name__}"
        cure = "x.tocsr()" if hasattr(x, "tocsr") else "ArrayEngine, or numpy.asarray(x)"
        raise TypeError(f"ThreadEngine sums NumPy arrays and scipy CSR matrices; x is a {name}: use {cure}")
    check_numbers("x", x)
    if _is_plain(x):
        return Features(x, batch.start, batch.stop, 0)
    return Features(x[batch.start : batch.stop].astype(np.float64), 0, batch.rows, batch.start)


def _csr(batch: Batch) -> Features:
    x, data = batch.x, batch.x.data
    check_numbers("x", data)
    if not _is_plain(data):
        data = data.astype(np.float64)
    if len(x.indptr) != x.shape[0] + 1:
        raise ValueError(f"x.indptr has {len(x.indptr)} entries for {x.shape[0]} rows: the CSR matrix is broken")
    return Features((np.ascontiguousarray(data), *csr_indices(x), x.shape[1]), batch.start, batch.stop, 0)


def read_codes(batch: Batch, classes: int) -> npt.NDArray[np.int64] | None:
    """Return the class codes of the rows that count; None where all are of one class."""
    inputs.check_classes(classes, batch.y)
    if batch.y is None:
        return None
    y = np.asarray(batch.y)
    if y.dtype.kind not in "iub":
        raise errors.no_codes(y.dtype)
    return np.ascontiguousarray(y[batch.start : batch.stop], dtype=np.int64)


def read_targets(batch: Batch) -> npt.NDArray[Any]:
    """Return the targets of the rows that count."""
    if batch.y is None:
        raise errors.missing_targets()
    y = np.asarray(batch.y)
    check_numbers("y", y)
    y = y[batch.start : batch.stop]
    return y if _is_plain(y) else y.astype(np.float64)


def read_column(name: str, values: Any, batch: Batch) -> FloatArray:
    """Return the weights or offsets of the rows that count, side by side in float64."""
    values = np.asarray(values)
    check_numbers(name, values)
    return np.ascontiguousarray(values[batch.start : batch.stop], dtype=np.float64).reshape(-1)


def blame(batch: Batch, missing: bool = False) -> None:
    """Raise about the first feature, target or offset that is not finite; return if there is none.

    With ``missing``, a feature may be NaN.
    """
    x = batch.x
    if is_csr(x):
        bounds = x.indptr[batch.start], x.indptr[batch.stop]
        bad = np.flatnonzero(_bad(x.data[bounds[0] : bounds[1]], missing)) + bounds[0]
        if bad.size:
            rows = np.searchsorted(x.indptr, bad, side="right") - 1
            row, column, stored = min(zip(rows, x.indices[bad], bad, strict=True))
            raise errors.NonFiniteError("x", (row, column), x.data[stored])
    else:
        _blame_array("x", x, batch, missing)
    for name, column in (("y", batch.y), ("offset", batch.offset)):
        if column is not None:
            _blame_array(name, np.asarray(column), batch)


def _bad(values: npt.NDArray[Any], missing: bool) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isinf(values) if missing else ~np.isfinite(values))


def _blame_array(name: str, array: npt.NDArray[Any], batch: Batch, missing: bool = False) -> None:
    for start in range(batch.start, batch.stop, 4096):
        bad = np.argwhere(_bad(array[start : min(start + 4096, batch.stop)], missing))
        if bad.size:
            place = (int(bad[0][0]) + start, *(int(index) for index in bad[0][1:]))
            raise errors.NonFiniteError(name, place, float(array[place]))


@np.errstate(over="ignore", invalid="ignore")  # overflow is found by what it leaves
def quartic_moments(batch: Batch, mean: FloatArray, block_bytes: int = _BLOCK_BYTES) -> tuple[FloatArray, FloatArray]:
    """Return the sums of z_j^2 z_l and of z_j^2 z_l^2, (k, d, d), with z = x - mean of the class, (k, d)."""
    d = batch.features
    cubes, quartic = np.zeros((len(mean), d, d)), np.zeros((len(mean), d, d))
    for z, classes, starts, weight in _deviations(batch, mean, block_bytes):
        if weight is not None:
            z[weight == 0] = 0.0  # 0 times a square that overflows would be NaN
        both = np.concatenate([z, z * z], axis=1)
        for code, start, stop in zip(classes, starts, (*starts[1:], len(z)), strict=True):
            own = None if weight is None else weight[start:stop]
            # The native loop over pairs of columns: BLAS would start threads of its own in each of the engine's.
            mass, centre, scatter = _native.scatter(both, None, own, int(start), int(stop), 1, True, None)
            products = scatter + mass[0] * centre[0][:, None] * centre[0]
            cubes[code] += products[d:, :d]
            quartic[code] += products[d:, d:]
    if not (np.isfinite(cubes).all() and np.isfinite(quartic).all()):
        blame(batch)
        widest = np.zeros(batch.features)
        for z, *_ in _deviations(batch, mean, block_bytes):
            np.maximum(widest, np.abs(z).max(axis=0), out=widest)
        raise errors.feature_overflow(int(np.argmax(widest)))
    return cubes, quartic


def _deviations(
    batch: Batch, mean: FloatArray, block_bytes: int
) -> Iterator[tuple[FloatArray, npt.NDArray[np.int64], npt.NDArray[np.intp], FloatArray | None]]:
    """Yield blocks of rows less their class means, grouped by class.

    With the rows, (n, d), come the classes among them, where the rows of each of these start, and the weights, (n,).
    """
    codes = read_codes(batch, len(mean))
    features = intact(batch.x) if is_csr(batch.x) else batch.x
    weight = None if batch.weight is None else read_column("weight", batch.weight, batch)
    narrow = np.uint16 if len(mean) <= 1 << 16 else np.int64  # 16 bits are sorted by radix
    height = max(len(mean), block_bytes // (8 * max(1, batch.features)))  # a row for each class, at least
    for first in range(0, batch.rows, height):
        rows = slice(first, min(first + height, batch.rows))
        x = _dense_rows(features, slice(batch.start + rows.start, batch.start + rows.stop))
        mass = None if weight is None else weight[rows]
        if codes is None:
            z, present, starts = x - mean[0], np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.intp)
        else:
            order = np.argsort(codes[rows].astype(narrow, copy=False), kind="stable")
            grouped = codes[rows].take(order)
            starts = np.flatnonzero(np.diff(grouped, prepend=-1))
            z, present = x.take(order, axis=0), grouped.take(starts)
            z -= mean.take(grouped, axis=0)
            mass = None if mass is None else mass.take(order)
        yield z, present, starts, mass


def _dense_rows(x: Any, rows: slice) -> FloatArray:
    """Return rows of a NumPy array or CSR matrix as a dense float64 array."""
    return np.asarray(x[rows].toarray() if is_csr(x) else x[rows], dtype=np.float64)
