"""What every kernel must return or raise, by brute force: row by row, in exact fractions, from NumPy arrays.

Nothing here is shared with the library: sums are those of the definitions, and messages are written out once more.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from suffice.kernels.engine import Batch


class Row(NamedTuple):
    x: list[Fraction]
    code: int
    targets: list[Fraction]
    weight: Fraction


def rows(batch: Batch, read: tuple[str, ...] = ("x", "y", "weight")) -> Iterator[Row]:
    for i in range(batch.start, batch.stop):
        x = [exact(value) for value in batch.x[i]] if "x" in read else []
        y = [exact(value) for value in np.atleast_1d(batch.y[i])] if "y" in read and batch.y is not None else []
        weight = exact(batch.weight[i]) if "weight" in read and batch.weight is not None else Fraction(1)
        yield Row(x, int(y[0]) if y else 0, y, weight)


def exact(value: Any) -> Fraction:
    """A number as the kernels see it: rounded to float64, then exact."""
    return Fraction(float(value))


def floats(fractions: Any, shape: tuple[int, ...]) -> np.ndarray:
    return np.array([float(value) for value in np.ravel(np.array(fractions, dtype=object))]).reshape(shape)


def class_weights(batch: Batch, classes: int) -> np.ndarray:
    members = [(row.code, row.weight) for row in rows(batch, ("y", "weight"))]
    return floats([sum(weight for code, weight in members if code == k) for k in range(classes)], (classes,))


def _class_sums(batch: Batch, classes: int, columns: int, read: Callable[[Row], list[Fraction]]) -> tuple[Any, ...]:
    sums = [[Fraction(0)] * columns for _ in range(classes)]
    for row in rows(batch):
        for column, value in enumerate(read(row)):
            sums[row.code][column] += row.weight * value
    return class_weights(batch, classes), floats(sums, (classes, columns))


def event_counts(batch: Batch, classes: int) -> tuple[Any, ...]:
    return _class_sums(batch, classes, batch.features, lambda row: row.x)


def presence_counts(batch: Batch, classes: int, threshold: float) -> tuple[Any, ...]:
    return _class_sums(batch, classes, batch.features, lambda row: [Fraction(value > threshold) for value in row.x])


def category_counts(batch: Batch, classes: int, sizes: tuple[int, ...]) -> tuple[Any, ...]:
    def belongs(row: Row) -> list[Fraction]:
        pairs = zip(row.x, sizes, strict=True)
        return [Fraction(value == category) for value, size in pairs for category in range(size)]

    return _class_sums(batch, classes, sum(sizes), belongs)


def _moments(weighted: list[tuple[Fraction, list[Fraction]]], columns: int) -> tuple[Fraction, list[Any], list[Any]]:
    """Weight, mean and scatter of some rows, in two passes."""
    total = sum((weight for weight, _ in weighted), Fraction(0))
    if total == 0:
        return total, [Fraction(0)] * columns, [[Fraction(0)] * columns for _ in range(columns)]
    mean = [sum(weight * row[j] for weight, row in weighted) / total for j in range(columns)]
    scatter = [
        [sum(weight * (row[i] - mean[i]) * (row[j] - mean[j]) for weight, row in weighted) for j in range(columns)]
        for i in range(columns)
    ]
    return total, mean, scatter


def full_moments(batch: Batch, classes: int) -> tuple[Any, ...]:
    d = batch.features
    of_class = [_moments([(r.weight, r.x) for r in rows(batch) if r.code == k], d) for k in range(classes)]
    weights, means, scatters = zip(*of_class, strict=True)
    return floats(weights, (classes,)), floats(means, (classes, d)), floats(scatters, (classes, d, d))


def diagonal_moments(batch: Batch, classes: int) -> tuple[Any, ...]:
    weights, mean, scatter = full_moments(batch, classes)
    return weights, mean, np.diagonal(scatter, axis1=1, axis2=2)


def tied_moments(batch: Batch, classes: int) -> tuple[Any, ...]:
    weights, mean, scatter = full_moments(batch, classes)
    return weights, mean, scatter.sum(axis=0)


def quartic_moments(batch: Batch, classes: int, mean: np.ndarray) -> tuple[Any, ...]:
    d = batch.features
    cubes = [[[Fraction(0)] * d for _ in range(d)] for _ in range(classes)]
    quartic = [[[Fraction(0)] * d for _ in range(d)] for _ in range(classes)]
    for row in rows(batch):
        z = [value - exact(centre) for value, centre in zip(row.x, mean[row.code], strict=True)]
        for j in range(d):
            for other in range(d):
                cubes[row.code][j][other] += row.weight * z[j] ** 2 * z[other]
                quartic[row.code][j][other] += row.weight * z[j] ** 2 * z[other] ** 2
    return floats(cubes, (classes, d, d)), floats(quartic, (classes, d, d))


def skipping(kernel: str, batch: Batch, classes: int, *more: Any) -> tuple[Any, ...]:
    """What a kernel that may skip missing cells returns: each column is summed over the rows that know it, alone."""
    x, keep = batch.x.astype(float), np.arange(len(batch.x))
    keep = (keep >= batch.start) & (keep < batch.stop)
    missing = np.isnan(x) | ((x < 0) & (kernel == "category_counts"))
    sums, cells = [], np.zeros((classes, batch.features))
    for j in range(batch.features):
        known = keep & ~missing[:, j]
        y, weight = (None if column is None else column[known] for column in (batch.y, batch.weight))
        part = Batch(x[known, j : j + 1], y, weight)
        own = ((more[0][j],),) if kernel == "category_counts" else more
        weights, *tables = globals()[kernel](part, classes, *own)
        cells[:, j] = weights
        sums.append(tables)
    tables = [np.hstack(columns) for columns in zip(*sums, strict=True)]
    if kernel != "category_counts":
        tables.append(cells if missing[keep].any() else np.zeros((classes, 0)))
    return class_weights(batch, classes), *tables


def normal_equations(batch: Batch) -> tuple[Any, ...]:
    columns = batch.features + (1 if batch.y.ndim == 1 else batch.y.shape[1])
    weight, mean, scatter = _moments([(row.weight, row.x + row.targets) for row in rows(batch)], columns)
    return float(weight), floats(mean, (columns,)), floats(scatter, (columns, columns))


#: The curve of one row: from its predictors and targets to value, slopes and curvatures.
RowCurve = Callable[[list[float], list[float]], tuple[float, list[float], list[list[float]]]]


def bernoulli(z: list[float], y: list[float]) -> tuple[float, list[float], list[list[float]]]:
    mean = 1 / (1 + math.exp(-z[0]))
    return y[0] * z[0] - math.log1p(math.exp(z[0])), [y[0] - mean], [[mean * (1 - mean)]]


def poisson(z: list[float], y: list[float]) -> tuple[float, list[float], list[list[float]]]:
    mean = math.exp(z[0])
    return y[0] * z[0] - mean, [y[0] - mean], [[mean]]


def tweedie(z: list[float], y: list[float], observed: bool = False) -> tuple[float, list[float], list[list[float]]]:
    """Of the power 1.3, under the log link."""
    amount, level = y[0] * math.exp(-0.3 * z[0]), math.exp(0.7 * z[0])
    curvature = 0.3 * amount + 0.7 * level if observed else level
    return -amount / 0.3 - level / 0.7, [amount - level], [[curvature]]


def observed_tweedie(z: list[float], y: list[float]) -> tuple[float, list[float], list[list[float]]]:
    return tweedie(z, y, observed=True)


def observed_gamma(z: list[float], y: list[float]) -> tuple[float, list[float], list[list[float]]]:
    """Under the log link."""
    ratio = y[0] * math.exp(-z[0])
    return -ratio - z[0], [ratio - 1], [[ratio]]


def cloglog(z: list[float], y: list[float]) -> tuple[float, list[float], list[list[float]]]:
    """Bernoulli under the complementary log-log link."""
    rate = math.exp(z[0])
    mean, rest = -math.expm1(-rate), math.exp(-rate)
    value = y[0] * math.log(mean) - (1 - y[0]) * rate
    return value, [y[0] * rate * rest / mean - (1 - y[0]) * rate], [[rate**2 * rest / mean]]


def multinomial(z: list[float], y: list[float]) -> tuple[float, list[float], list[list[float]]]:
    """A class code, of t classes with a predictor and a last one whose predictor is 0."""
    classes = range(len(z))
    total = 1 + sum(math.exp(value) for value in z)
    mean = [math.exp(value) / total for value in z]
    value = [*z, 0.0][int(y[0])] - math.log(total)
    slope = [(y[0] == a) - mean[a] for a in classes]
    return value, slope, [[mean[a] * ((a == b) - mean[b]) for b in classes] for a in classes]


def curvature(batch: Batch, row_curve: RowCurve, theta: np.ndarray, intercept: bool) -> tuple[Any, ...]:
    p, t = theta.shape
    weight, value, gradient, hessian = 0.0, 0.0, np.zeros((p, t)), np.zeros((p * t, p * t))
    for i, row in zip(range(batch.start, batch.stop), rows(batch), strict=True):
        x = [1.0] * intercept + [float(entry) for entry in row.x]
        offset = np.zeros(t) if batch.offset is None else np.broadcast_to(batch.offset[i], t)
        z = [math.fsum(x[j] * theta[j, a] for j in range(p)) + float(offset[a]) for a in range(t)]
        row_value, slope, curve = row_curve(z, [float(target) for target in row.targets])
        w = float(row.weight)
        weight += w
        value += w * row_value
        for a in range(t):
            for j in range(p):
                gradient[j, a] += w * slope[a] * x[j]
                for b in range(t):
                    for i in range(p):
                        hessian[a * p + j, b * p + i] += w * curve[a][b] * x[j] * x[i]
    return weight, value, gradient, hessian


def linear_scores(batch: Batch, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    def score(row: Row, k: int) -> Fraction:
        return exact(intercept[k]) + sum(exact(slope) * value for slope, value in zip(coef[k], row.x, strict=True))

    scores = [[score(row, k) for k in range(len(coef))] for row in rows(batch, ("x",))]
    return floats(scores, (batch.rows, len(coef)))


#: A complaint that a kernel may make: the exception's type and its words.
Fault = tuple[type[Exception], str]


def faults(
    kernel: str, batch: Batch, classes: int | None, sizes: tuple[int, ...] = (), missing: bool = False
) -> set[Fault]:
    """Every complaint that is right about a batch: a kernel must make one of them, or none where there is none.

    ``classes`` is None where y holds targets; with ``missing``, features may be NaN.
    """
    finite = lambda value, _: math.isfinite(value), lambda _: "it must be finite"
    whole = lambda value: math.isfinite(value) and value == math.floor(value)  # noqa: E731
    found: set[Fault] = set()
    if classes is not None:
        found |= _code_faults(batch, classes)
    elif kernel != "linear_scores" and batch.y is None:
        found.add((ValueError, "y is needed: it holds the target of each row"))
    elif kernel != "linear_scores":
        found |= _entry_faults("y", batch, *finite)
        if kernel == "curvature" and batch.y.shape[1:] not in ((), (1,)):
            found.add((ValueError, f"y must have shape ({len(batch.y)},); got {batch.y.shape}"))
    if kernel != "linear_scores":
        found |= _entry_faults(
            "weight", batch, lambda value, _: 0 <= value < math.inf, lambda _: "weights must be finite and not negative"
        )
    if kernel == "curvature":
        found |= _entry_faults("offset", batch, *finite)
    if missing:
        found |= _entry_faults("x", batch, lambda value, _: not math.isinf(value), finite[1])
    elif kernel != "class_weights":
        found |= _entry_faults("x", batch, *finite)
    else:
        found |= _entry_faults("x", batch, lambda *_: True, str)
    if kernel == "event_counts":
        found |= _entry_faults("x", batch, lambda value, _: not value < 0, lambda _: "counts must not be negative")
    if kernel == "category_counts":
        words = lambda j: f"categories of feature {j} must be whole numbers 0 to {sizes[j] - 1}"  # noqa: E731
        # NaN is no category either, but may have been complained about as what it is.
        skipped = lambda value: missing and (math.isnan(value) or (value < 0 and whole(value)))  # noqa: E731
        valid = lambda value, j: value in range(sizes[j]) or skipped(value)  # noqa: E731
        found |= _entry_faults("x", batch, valid, words)
        found |= _entry_faults("x", batch, lambda value, j: not math.isfinite(value) or valid(value, j), words)
    return found


def _code_faults(batch: Batch, classes: int) -> set[Fault]:
    if batch.y is None:
        missing = f"y is needed: it says which of the {classes} classes each row belongs to"
        return {(ValueError, missing)} if classes > 1 else set()
    if batch.y.ndim != 1:
        return {(ValueError, f"y must have shape ({len(batch.y)},); got {batch.y.shape}")}
    if batch.y.dtype.kind not in "iub":
        return {(TypeError, f"y must hold integer class codes; got {batch.y.dtype}")}
    for i in range(batch.start, batch.stop):
        if not 0 <= batch.y[i] < classes:
            return {(ValueError, f"y[{i}] is {batch.y[i]}; class codes must be 0 to {classes - 1}")}
    return set()


def _entry_faults(
    name: str, batch: Batch, valid: Callable[[float, int], bool], words: Callable[[int], str]
) -> set[Fault]:
    """The first entry, row by row, that is not valid (a function of its value and column)."""
    array = getattr(batch, name)
    if array is None:
        return set()
    if array.dtype.kind not in "biuf":
        return {(TypeError, f"{name} must hold real numbers; got {array.dtype}")}
    for i in range(batch.start, batch.stop):
        for column, value in enumerate(np.atleast_1d(array[i]).tolist()):
            if not valid(float(value), column):
                place = f"{i}" if array.ndim == 1 else f"{i}, {column}"
                return {(ValueError, f"{name}[{place}] is {float(value):g}; {words(column)}")}
    return set()
