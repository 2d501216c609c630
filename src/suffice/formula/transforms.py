"""Transforms that learn from the rows: splines, polynomials, scaling and codings of categories.

Each is learned in one or more passes. A :class:`Learner` computes the statistic of a pass (statistics of parts are
merged), and from it the next learner, or the transform. So rows in memory and rows in batches give the same transform,
up to rounding; only quantiles of more than a million rows in batches are those of a sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.interpolate import BSpline
from scipy.linalg import solve_banded

from suffice.data.dataset import EncodedDataset
from suffice.data.sample import draw_rows, merge_samples
from suffice.formula.cells import Categories, Cell, Level, add_counts, sorted_levels
from suffice.formula.errors import FormulaError
from suffice.formula.expressions import Call, Constant, Expression
from suffice.kernels import Batch
from suffice.statistics import DiagonalMoments
from suffice.statistics.base import FloatArray
from suffice.tables.errors import TableError, listed, nearest

#: Most levels of a category.
MOST_LEVELS = 5000
#: Most columns of a spline, and the highest degree of a polynomial.
MOST_KNOTS = 1000
MOST_DEGREE = 30


class Transform(ABC):
    """A function of a column with learned parameters: knots, means, levels."""

    kinds: ClassVar[dict[str, type[Transform]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Transform.kinds[cls.__name__] = cls

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the learned parameters as plain values, for the model's file."""

    @classmethod
    @abstractmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the transform with these settings; they are untrusted."""


class NumberTransform(Transform):
    """A transform of numbers to one column or several."""

    @property
    @abstractmethod
    def width(self) -> int | None:
        """The number of columns; None for one, without a number in its name."""

    @abstractmethod
    def apply(self, x: FloatArray) -> FloatArray:
        """Return the columns, (n,) or (n, width)."""

    def outside(self, x: FloatArray) -> int | None:
        """Return the first row beyond the range in which the transform was learned, if it has a range."""
        return None


class Learner(ABC):
    """One pass over a column."""

    #: Whether rows with another missing cell are dropped, as for the levels of categories.
    complete_rows: ClassVar[bool] = False

    @abstractmethod
    def summarise(self, x: Any, whole: bool) -> Any:
        """Return the statistic of a part of the rows; ``whole`` if these are all rows. There are no NaN."""

    @abstractmethod
    def merge(self, one: Any, two: Any) -> Any:
        """Return the statistic of two parts."""

    @abstractmethod
    def settle(self, statistic: Any) -> Learner | Transform:
        """Return the next learner, or the transform."""


def learner_of(call: Call, name: str) -> Learner:
    """Return the first learner of a call of a stateful function.

    Parameters
    ----------
    call
        Of bs, cr, poly, scale, center or C.
    name
        The name of its argument, for messages.
    """
    given = {key: value for key, value in call.arguments if key != "x"}
    return _LEARNERS[call.function](given, str(call), name)


# Arguments of calls.


def _number(given: Mapping[str, Expression], name: str, call: str, default: Any) -> Any:
    value = given.get(name, Constant(default))
    if isinstance(value, Constant) and (
        value.value is None or (isinstance(value.value, int | float) and not isinstance(value.value, bool))
    ):
        return value.value
    raise FormulaError(f"formula: {name} of {call} must be a number; got {value}")


def _whole(given: Mapping[str, Expression], name: str, call: str, default: int | None, low: int, high: int) -> Any:
    value = _number(given, name, call, default)
    if value is not None and (value != int(value) or not low <= value <= high):
        raise FormulaError(f"formula: {name} of {call} must be a whole number, {low} to {high}; got {value:g}")
    return None if value is None else int(value)


def _truth(given: Mapping[str, Expression], name: str, call: str, default: bool) -> bool:
    value = given.get(name, Constant(default))
    if isinstance(value, Constant) and (isinstance(value.value, bool) or value.value in (0, 1)):
        return bool(value.value)
    raise FormulaError(f"formula: {name} of {call} must be True or False; got {value}")


def _knots(given: Mapping[str, Expression], call: str) -> FloatArray | None:
    value = given.get("knots")
    if value is None or value == Constant(None):
        return None
    items = value.value if isinstance(value, Constant) else None
    items = (items,) if isinstance(items, int | float) else items
    if not isinstance(items, tuple) or not all(
        isinstance(each, int | float) and np.isfinite(float(each)) for each in items
    ):
        raise FormulaError(f"formula: knots of {call} must be a list of numbers, as in knots=[20, 40]; got {value}")
    return np.sort(np.asarray(items, dtype=np.float64))


# Scaling.


@dataclass(frozen=True)
class Scaling(NumberTransform):
    """Scaling: (column - centre) / scale."""

    centre: float
    scale: float

    @property
    def width(self) -> None:
        """One column."""
        return None

    def apply(self, x: FloatArray) -> FloatArray:
        """Return the column."""
        return (x - self.centre) / self.scale

    def settings(self) -> dict[str, Any]:
        """Return the centre and the scale."""
        return {"centre": self.centre, "scale": self.scale}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the transform with these settings."""
        centre, scale = float(settings["centre"]), float(settings["scale"])
        if not (np.isfinite(centre) and np.isfinite(scale) and scale > 0):
            raise ValueError(f"a scaling needs a finite centre and a scale above 0; got {centre:g} and {scale:g}")
        return cls(centre, scale)


@dataclass(frozen=True)
class ScalingLearner(Learner):
    """Mean and standard deviation, with n - 1, as R's ``scale``; without centring, the root mean square."""

    name: str
    centred: bool
    scaled: bool

    def summarise(self, x: FloatArray, whole: bool) -> DiagonalMoments:
        """Return the moments of the column."""
        return EncodedDataset.of_batch(Batch(x.reshape(-1, 1))).sum(DiagonalMoments.over())

    def merge(self, one: DiagonalMoments, two: DiagonalMoments) -> DiagonalMoments:
        """Return the moments of both."""
        return one + two

    def settle(self, statistic: DiagonalMoments) -> Transform:
        """Return the scaling."""
        count = float(statistic.weights.sum())
        mean, variance = (float(each[0]) for each in statistic.pooled())
        scale = 1.0
        if self.scaled:
            square = variance * count + (0.0 if self.centred else count * mean**2)
            scale = float(np.sqrt(square / (count - 1))) if count > 1 else 0.0
            if not scale > 0:
                raise TableError(f"{self.name} is constant, {mean:g}: it cannot be scaled; use center, or drop it")
        return Scaling(mean if self.centred else 0.0, scale)


def _scale(given: Mapping[str, Expression], call: str, name: str) -> Learner:
    return ScalingLearner(name, _truth(given, "center", call, True), _truth(given, "scale", call, True))


def _center(given: Mapping[str, Expression], call: str, name: str) -> Learner:
    return ScalingLearner(name, True, False)


# Polynomials.


@dataclass(frozen=True, eq=False)
class Polynomial(NumberTransform):
    """Orthonormal polynomials over the rows, as R's ``poly``: by the three-term recurrence."""

    alpha: FloatArray  # (degree,)
    norms: FloatArray  # (degree + 1,), the sums of squares of the monic polynomials

    @property
    def width(self) -> int:
        """The degree."""
        return len(self.alpha)

    def apply(self, x: FloatArray) -> FloatArray:
        """Return the polynomials of degree 1 and more, (n, degree)."""
        return monic_polynomials(x, self.alpha, self.norms)[:, 1:] / np.sqrt(self.norms[1:])

    def settings(self) -> dict[str, Any]:
        """Return the coefficients of the recurrence."""
        return {"alpha": self.alpha.tolist(), "norms": self.norms.tolist()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the transform with these settings."""
        alpha, norms = _floats(settings["alpha"]), _floats(settings["norms"])
        if not 1 <= len(alpha) <= MOST_DEGREE or len(norms) != len(alpha) + 1 or not (norms > 0).all():
            raise ValueError("a polynomial needs one coefficient alpha for each degree, and norms above 0")
        return cls(alpha, norms)


def monic_polynomials(x: FloatArray, alpha: FloatArray, norms: FloatArray) -> FloatArray:
    """Return the polynomials that a recurrence defines, (n, len(alpha) + 1), the constant first.

    Examples
    --------
    >>> monic_polynomials(np.array([0.0, 1.0, 2.0]), np.array([1.0]), np.array([3.0]))
    array([[ 1., -1.],
           [ 1.,  0.],
           [ 1.,  1.]])
    """
    found = np.empty((len(x), len(alpha) + 1))
    found[:, 0] = 1.0
    for degree in range(len(alpha)):
        found[:, degree + 1] = (x - alpha[degree]) * found[:, degree]
        if degree > 0:
            found[:, degree + 1] -= norms[degree] / norms[degree - 1] * found[:, degree - 1]
    return found


@dataclass(frozen=True, eq=False)
class PolynomialLearner(Learner):
    """One more coefficient of the recurrence in each pass (Stieltjes procedure)."""

    name: str
    degree: int
    alpha: FloatArray  # (k,), known so far
    norms: FloatArray  # (k,)

    def summarise(self, x: FloatArray, whole: bool) -> tuple[float, float, float]:
        """Return a shift, and the sums of P² and (x - shift) P² of the polynomial P of degree k."""
        squares = monic_polynomials(x, self.alpha, self.norms)[:, -1] ** 2
        shift = float(x[0]) if len(self.alpha) == 0 and len(x) else float(self.alpha[0]) if len(self.alpha) else 0.0
        return shift, float(squares.sum()), float(((x - shift) * squares).sum())

    def merge(self, one: Any, two: Any) -> tuple[float, float, float]:
        """Return the sums of both parts, about the shift of the first."""
        if not two[1]:
            return (float(one[0]), float(one[1]), float(one[2]))
        return one[0], one[1] + two[1], one[2] + two[2] + (two[0] - one[0]) * two[1]

    def settle(self, statistic: tuple[float, float, float]) -> Learner | Transform:
        """Return the learner of the next degree, or the polynomials."""
        shift, squares, products = statistic
        norms = np.append(self.norms, squares)
        # The polynomial of degree k is 0 on k distinct points, up to rounding.
        span = float(np.sqrt(norms[1] / norms[0])) if len(norms) > 1 else 0.0
        expected = norms[0] * span ** (2 * len(self.alpha))
        if not squares > 1e-22 * expected or (len(norms) > 1 and span <= 1e-14 * abs(float(self.alpha[0]))):
            raise TableError(
                f"{self.name} has {len(self.alpha)} distinct values, and a polynomial of degree {self.degree} needs "
                f"{self.degree + 1} or more: lower the degree"
            )
        if len(self.alpha) == self.degree:
            return Polynomial(self.alpha, norms)
        return replace(self, alpha=np.append(self.alpha, shift + products / squares), norms=norms)


@dataclass(frozen=True)
class Powers(NumberTransform):
    """Plain powers: x, x², x³, ..."""

    degree: int

    @property
    def width(self) -> int:
        """The degree."""
        return self.degree

    def apply(self, x: FloatArray) -> FloatArray:
        """Return the powers, (n, degree)."""
        return x[:, None] ** np.arange(1.0, self.degree + 1)

    def settings(self) -> dict[str, Any]:
        """Return the degree."""
        return {"degree": self.degree}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the transform with these settings."""
        degree = int(settings["degree"])
        if not 1 <= degree <= MOST_DEGREE:
            raise ValueError(f"the degree must be 1 to {MOST_DEGREE}; got {degree}")
        return cls(degree)


@dataclass(frozen=True)
class PowersLearner(Learner):
    """Nothing is learned."""

    degree: int

    def summarise(self, x: FloatArray, whole: bool) -> None:
        """Return nothing."""

    def merge(self, one: None, two: None) -> None:
        """Return nothing."""

    def settle(self, statistic: None) -> Transform:
        """Return the powers."""
        return Powers(self.degree)


def _poly(given: Mapping[str, Expression], call: str, name: str) -> Learner:
    degree = _whole(given, "degree", call, 1, 1, MOST_DEGREE)
    if _truth(given, "raw", call, False):
        return PowersLearner(degree)
    return PolynomialLearner(name, degree, np.zeros(0), np.zeros(0))


# Splines.


@dataclass(frozen=True, eq=False)
class BasisSpline(NumberTransform):
    """B-splines, as R's ``bs``: extrapolated by the outer polynomials beyond the boundary knots."""

    knots: FloatArray  # (k,), the inner ones
    low: float
    high: float
    degree: int
    intercept: bool  # whether the first of the splines is kept

    @property
    def width(self) -> int:
        """The number of splines."""
        return len(self.knots) + self.degree + int(self.intercept)

    def apply(self, x: FloatArray) -> FloatArray:
        """Return the splines, (n, width)."""
        order = self.degree + 1
        knots = np.concatenate([np.full(order, self.low), self.knots, np.full(order, self.high)])
        found = BSpline.design_matrix(np.ascontiguousarray(x), knots, self.degree, extrapolate=True).toarray()
        return np.asarray(found if self.intercept else found[:, 1:])

    def outside(self, x: FloatArray) -> int | None:
        """Return the first row beyond the boundary knots."""
        return _first((x < self.low) | (x > self.high))

    def settings(self) -> dict[str, Any]:
        """Return the knots, the degree, and whether the first spline is kept."""
        return {
            "knots": self.knots.tolist(),
            "low": self.low,
            "high": self.high,
            "degree": self.degree,
            "intercept": self.intercept,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the transform with these settings."""
        knots, low, high = _floats(settings["knots"]), float(settings["low"]), float(settings["high"])
        degree = int(settings["degree"])
        _check_knots(knots, low, high)
        if not 0 <= degree <= MOST_DEGREE:
            raise ValueError(f"the degree of a spline must be 0 to {MOST_DEGREE}; got {degree}")
        return cls(knots, low, high, degree, bool(settings["intercept"]))


@dataclass(frozen=True, eq=False)
class NaturalSpline(NumberTransform):
    """Natural cubic regression splines, as patsy's ``cr`` (Wood 2006, p. 145): linear beyond the knots."""

    knots: FloatArray  # (k,), the outer ones included
    constraint: FloatArray | None  # (k, k - 1), columns as combinations of the k splines; None for these

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.knots) if self.constraint is None else self.constraint.shape[1]

    def apply(self, x: FloatArray) -> FloatArray:
        """Return the columns, (n, width)."""
        found = natural_splines(x, self.knots)
        return found if self.constraint is None else found @ self.constraint

    def outside(self, x: FloatArray) -> int | None:
        """Return the first row beyond the outer knots."""
        return _first((x < self.knots[0]) | (x > self.knots[-1]))

    def settings(self) -> dict[str, Any]:
        """Return the knots and the constraint."""
        return {
            "knots": self.knots.tolist(),
            "constraint": None if self.constraint is None else self.constraint.tolist(),
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the transform with these settings."""
        knots = _floats(settings["knots"])
        if len(knots) < 2:
            raise ValueError(f"a natural spline needs 2 knots or more; got {len(knots)}")
        _check_knots(knots[1:-1], float(knots[0]), float(knots[-1]))
        constraint = settings["constraint"]
        if constraint is None:
            return cls(knots, None)
        matrix = np.asarray(constraint, dtype=np.float64)
        if matrix.shape != (len(knots), len(knots) - 1) or not np.isfinite(matrix).all():
            raise ValueError(f"the constraint of {len(knots)} knots has shape {matrix.shape}")
        return cls(knots, matrix)


def natural_splines(x: FloatArray, knots: FloatArray) -> FloatArray:
    """Return the natural cubic splines that are 1 at one knot and 0 at the others, (n, k).

    Examples
    --------
    >>> natural_splines(np.array([0.0, 2.0, 4.0]), np.array([0.0, 2.0, 3.0]))
    array([[ 1.        ,  0.        ,  0.        ],
           [ 0.        ,  1.        ,  0.        ],
           [ 0.08333333, -1.25      ,  2.16666667]])
    """
    steps = np.diff(knots)
    inner = len(knots) - 2
    second = np.zeros((len(knots), len(knots)))  # the second derivatives at the knots
    if inner > 0:
        banded = np.zeros((3, inner))
        banded[0, 1:] = banded[2, :-1] = steps[1:-1] / 6
        banded[1] = (steps[:-1] + steps[1:]) / 3
        differences = np.zeros((inner, len(knots)))
        rows = np.arange(inner)
        differences[rows, rows] = 1 / steps[:-1]
        differences[rows, rows + 2] = 1 / steps[1:]
        differences[rows, rows + 1] = -1 / steps[:-1] - 1 / steps[1:]
        second[1:-1] = solve_banded((1, 1), banded, differences)
    place = np.clip(np.searchsorted(knots, x) - 1, 0, len(knots) - 2)
    step = steps[place]
    after, before = knots[place + 1] - x, x - knots[place]
    # Beyond the outer knots the splines are linear: the cubic parts are dropped.
    cubic_after = np.where(x > knots[-1], 0.0, after**3 / (6 * step)) - step * after / 6
    cubic_before = np.where(x < knots[0], 0.0, before**3 / (6 * step)) - step * before / 6
    found = cubic_after[:, None] * second[place] + cubic_before[:, None] * second[place + 1]
    rows = np.arange(len(x))
    found[rows, place] += after / step
    found[rows, place + 1] += before / step
    return found


@dataclass(frozen=True, eq=False)
class KnotLearner(Learner):
    """The range of a column and its quantiles: exact in memory, of a mergeable sample in batches."""

    name: str
    call: str
    natural: bool
    inner: int  # number of inner knots that are quantiles
    knots: FloatArray | None  # the inner knots, if given
    low: float | None
    high: float | None
    degree: int = 3
    intercept: bool = False
    centred: bool = False

    def summarise(self, x: FloatArray, whole: bool) -> Any:
        """Return the range, and all values or some of them."""
        if not len(x):
            return None
        sample = ({"X": x.reshape(-1, 1)}, np.ones(len(x))) if whole else draw_rows({"X": x.reshape(-1, 1)})
        return float(x.min()), float(x.max()), sample

    def merge(self, one: Any, two: Any) -> Any:
        """Return the range of both, and a sample of both."""
        if one is None or two is None:
            return two if one is None else one
        return min(one[0], two[0]), max(one[1], two[1]), merge_samples(one[2], two[2])

    def settle(self, statistic: Any) -> Learner | Transform:
        """Return the splines, or the learner of their means."""
        if statistic is None:
            raise TableError(f"{self.name} has no known cell to place knots by")
        low = statistic[0] if self.low is None else self.low
        high = statistic[1] if self.high is None else self.high
        if not low < high:
            raise TableError(
                f"{self.call}: {self.name} is between {low:g} and {high:g}: the range is too small for knots"
            )
        knots = self.knots
        if knots is None:
            values = statistic[2][0]["X"][:, 0]
            values = values[(low <= values) & (values <= high)]
            values = np.unique(values) if self.natural else values  # as in mgcv and patsy
            shares = np.linspace(0, 1, self.inner + 2)[1:-1]
            knots = np.quantile(values, shares) if len(values) else shares[:0]
            if len(knots) < self.inner:
                raise TableError(f"{self.call}: {self.name} has no value between {low:g} and {high:g}")
        strange = knots[(knots < low) | (knots > high)]
        if len(strange):
            raise FormulaError(f"formula: the knot {strange[0]:g} of {self.call} is not between {low:g} and {high:g}")
        if self.natural and len(np.unique([low, *knots, high])) < len(knots) + 2:
            raise TableError(
                f"{self.call}: {self.name} has too few distinct values for {len(knots)} inner knots: give fewer (df=), "
                "or knots=[...]"
            )
        if not self.natural:
            return BasisSpline(knots, float(low), float(high), self.degree, self.intercept)
        spline = NaturalSpline(np.concatenate([[low], knots, [high]]), None)
        return SplineMeanLearner(spline) if self.centred else spline


@dataclass(frozen=True, eq=False)
class SplineMeanLearner(Learner):
    """The means of natural splines, for the constraint that they sum to 0 over the rows."""

    spline: NaturalSpline

    def summarise(self, x: FloatArray, whole: bool) -> FloatArray:
        """Return the sums of the splines and the number of rows, (k + 1,)."""
        return np.append(self.spline.apply(x).sum(axis=0), len(x))

    def merge(self, one: FloatArray, two: FloatArray) -> FloatArray:
        """Return the sums of both."""
        return one + two

    def settle(self, statistic: FloatArray) -> Transform:
        """Return the constrained splines."""
        means = statistic[:-1] / statistic[-1]
        q, _ = np.linalg.qr(means[:, None], mode="complete")
        return NaturalSpline(self.spline.knots, np.asarray(q[:, 1:]))


def _bs(given: Mapping[str, Expression], call: str, name: str) -> Learner:
    degree = _whole(given, "degree", call, 3, 0, MOST_DEGREE)
    intercept = _truth(given, "include_intercept", call, False)
    least = degree + int(intercept)
    df, knots = _whole(given, "df", call, None, max(least, 1), MOST_KNOTS), _knots(given, call)
    if df is not None and knots is not None and df != least + len(knots):
        raise FormulaError(f"formula: {call} gives df and knots: {len(knots)} knots make df={least + len(knots)}")
    if df is None and knots is None:
        df = least
    low, high = (_number(given, each, call, None) for each in ("lower_bound", "upper_bound"))
    return KnotLearner(name, call, False, (df or least) - least, knots, low, high, degree, intercept)


def _cr(given: Mapping[str, Expression], call: str, name: str) -> Learner:
    constraints = given.get("constraints", Constant(None))
    if constraints not in (Constant(None), Constant("center")):
        raise FormulaError(f"formula: constraints of {call} must be 'center'; got {constraints}")
    centred = constraints == Constant("center")
    df, knots = _whole(given, "df", call, None, 1 if centred else 2, MOST_KNOTS), _knots(given, call)
    if (df is None) == (knots is None):
        raise FormulaError(f"formula: {call} needs df=, the number of columns, or knots=[...], the inner knots")
    low, high = (_number(given, each, call, None) for each in ("lower_bound", "upper_bound"))
    inner = len(knots) if knots is not None else df - 2 + int(centred)
    return KnotLearner(name, call, True, inner, knots, low, high, centred=centred)


# Categories.


@dataclass(frozen=True)
class Coding(Transform):
    """The levels of a category, and their contrast coding."""

    levels: tuple[Level, ...]
    contrast: str  # "treatment" or "sum"
    reference: int  # the level without a column: the reference level, or minus the sum of the others

    @property
    def names(self) -> list[str]:
        """The levels with a column."""
        return [str(level) for place, level in enumerate(self.levels) if place != self.reference]

    def matrix(self, full: bool) -> FloatArray:
        """Return the columns of each level, (k, k - 1), or one column for each, (k, k).

        Examples
        --------
        >>> Coding(("a", "b", "c"), "sum", 2).matrix(full=False)
        array([[ 1.,  0.],
               [ 0.,  1.],
               [-1., -1.]])
        """
        found = np.eye(len(self.levels))
        if full:
            return found
        found = np.delete(found, self.reference, axis=1)
        if self.contrast == "sum":
            found[self.reference] = -1.0
        return found

    def encode(self, cells: Cell, name: str, unseen: str) -> tuple[npt.NDArray[np.intp], int | None]:
        """Return the code of each cell, -1 if it is missing, and the first row with an unknown level, if any.

        With ``unseen="reference"`` unknown levels get the code of the reference level.
        """
        if isinstance(cells, Categories):
            places = {level: place for place, level in enumerate(self.levels)}
            texts = {_text(level): place for place, level in enumerate(self.levels)}  # text files have numbers as text
            found = [places.get(level, texts.get(_text(level), -2)) for level in cells.levels]
            codes = np.array([*found, -1], dtype=np.intp)[cells.codes]
        else:
            codes = self._encode_numbers(cells)
        strange = codes == -2
        if not strange.any():
            return codes, None
        if unseen == "reference":
            return np.where(strange, self.reference, codes), None
        return codes, int(np.argmax(strange))

    def _encode_numbers(self, x: FloatArray) -> npt.NDArray[np.intp]:
        values = np.array([_as_number(level) for level in self.levels])
        order = np.argsort(values)
        place = np.minimum(np.searchsorted(values, x, sorter=order), len(values) - 1)
        found = order[place]
        return np.where(np.isnan(x), -1, np.where(values[found] == x, found, -2))

    def settings(self) -> dict[str, Any]:
        """Return the levels and the contrast."""
        return {"levels": list(self.levels), "contrast": self.contrast, "reference": self.reference}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the coding with these settings."""
        levels, reference = tuple(settings["levels"]), int(settings["reference"])
        if settings["contrast"] not in ("treatment", "sum") or not 0 <= reference < len(levels):
            raise ValueError("a coding must be 'treatment' or 'sum', and its reference one of the levels")
        if len(set(levels)) != len(levels) or not all(isinstance(each, str | int | float) for each in levels):
            raise ValueError("levels must be texts or numbers, each once")
        return cls(levels, settings["contrast"], reference)


@dataclass(frozen=True)
class LevelLearner(Learner):
    """The levels that occur in rows without missing cells, as with R's ``drop.unused.levels``."""

    name: str
    contrast: str
    reference: Level | None
    levels: tuple[Level, ...] | None  # as given
    complete_rows: ClassVar[bool] = True

    def summarise(self, x: Cell, whole: bool) -> tuple[dict[Level, int], tuple[Level, ...] | None]:
        """Return the count of each level, and the order of the levels if the user gave it."""
        if isinstance(x, Categories):
            known = x.codes if not len(x.codes) or x.codes.min() >= 0 else x.codes[x.codes >= 0]
            counts = np.bincount(known, minlength=len(x.levels))
            found = {level: int(count) for level, count in zip(x.levels, counts, strict=True) if count}
            return found, x.levels if x.ordered and whole else None
        pairs = zip(*_distinct(x[~np.isnan(x)]), strict=True)
        return {int(value) if value == int(value) else value: count for value, count in pairs}, None

    def merge(self, one: Any, two: Any) -> Any:
        """Return the counts of both."""
        found = add_counts(one[0], two[0])
        self._check(len(found))
        return found, one[1]

    def _check(self, count: int) -> None:
        if count > MOST_LEVELS:
            raise TableError(
                f"{self.name} has more than {MOST_LEVELS} levels: is it an identifier? Remove it from the formula"
            )

    def settle(self, statistic: Any) -> Transform:
        """Return the coding."""
        counts, order = statistic
        self._check(len(counts))
        levels = (
            tuple(level for level in order if level in counts) if order is not None else sorted_levels(list(counts))
        )
        if self.levels is not None:
            strange = [level for level in levels if level not in self.levels]
            if strange:
                raise FormulaError(
                    f"formula: {self.name} has the level {strange[0]!r}, which is not among levels="
                    f"[{listed(self.levels)}]"
                )
            levels = tuple(level for level in self.levels if level in counts)
        if len(levels) < 2:
            only = f"one level, {levels[0]!r}," if levels else "no level"
            raise TableError(f"{self.name} has {only} in the rows without missing cells: remove it from the formula")
        place = len(levels) - 1 if self.contrast == "sum" else 0
        if self.reference is not None:
            place = find_level(self.reference, levels, self.name)
        return Coding(levels, self.contrast, place)


def _text(level: Level) -> str:
    """Return a level as text; true and false in lower case, as files write them."""
    text = str(level)
    return text.lower() if text.lower() in ("true", "false") else text


def _as_number(level: Level) -> float:
    """Return the numeric value of a level, also if written as text; NaN for others."""
    try:
        return float(level)
    except ValueError:
        return np.nan


def find_level(level: Level, levels: Sequence[Level], name: str) -> int:
    """Return the position of a level, or raise with the nearest."""
    if level in levels:
        return list(levels).index(level)
    texts = [str(each) for each in levels]
    if str(level) in texts:
        return texts.index(str(level))
    raise FormulaError(f"{name} has no level {level!r}; it has {listed(levels)}{nearest(str(level), texts)}")


def _distinct(x: FloatArray) -> tuple[list[float], list[int]]:
    """Return distinct numbers and their counts; whole numbers of a small range are counted, not sorted."""
    if len(x) and np.abs(x).max() < 2**40 and x.max() - x.min() <= 4 * len(x) and (x == np.floor(x)).all():
        low = int(x.min())
        every = np.bincount((x - low).astype(np.intp))
        places = np.flatnonzero(every)
        return (places + float(low)).tolist(), every[places].tolist()
    values, counts = np.unique(x, return_counts=True)
    return values.tolist(), counts.tolist()


def _categories(given: Mapping[str, Expression], call: str, name: str) -> Learner:
    contrast, reference = "treatment", None
    chosen = given.get("contrast")
    if chosen is not None and chosen != Constant(None):
        if not isinstance(chosen, Call) or chosen.function not in ("Treatment", "Sum"):
            raise FormulaError(f"formula: {call}: the contrast must be Treatment('level') or Sum; got {chosen}")
        contrast = chosen.function.lower()
        if chosen.arguments:
            reference = _level_of(chosen.arguments[0][1], call)
    levels = given.get("levels")
    if levels is None or levels == Constant(None):
        return LevelLearner(name, contrast, reference, None)
    items = levels.value if isinstance(levels, Constant) else None
    if not isinstance(items, tuple) or len(set(items)) != len(items):
        raise FormulaError(f"formula: levels of {call} must be a list of different levels; got {levels}")
    return LevelLearner(name, contrast, reference, tuple(_level_of(Constant(each), call) for each in items))


def _level_of(value: Expression, call: str) -> Level:
    if isinstance(value, Constant) and isinstance(value.value, str | int | float):
        number = value.value
        return int(number) if isinstance(number, float) and number.is_integer() else number
    raise FormulaError(f"formula: {call}: a level must be a text or a number; got {value}")


_LEARNERS = {"scale": _scale, "center": _center, "poly": _poly, "bs": _bs, "cr": _cr, "C": _categories}
#: The functions that learn from the rows.
STATEFUL = frozenset(_LEARNERS)


def _floats(values: Any) -> FloatArray:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ValueError("numbers of a transform must be finite, in one list")
    return found


def _check_knots(knots: FloatArray, low: float, high: float) -> None:
    if not (np.isfinite([low, high]).all() and low < high and len(knots) <= MOST_KNOTS):
        raise ValueError(f"boundary knots must be finite and in order; got {low:g} and {high:g}")
    if (np.diff(knots) < 0).any() or (knots < low).any() or (knots > high).any():
        raise ValueError("knots must be in order, between the boundary knots")


def _first(found: npt.NDArray[np.bool_]) -> int | None:
    return int(np.argmax(found)) if found.any() else None
