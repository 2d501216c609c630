"""Counts per class: how often events, presences and categories occurred."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import ALL_DIGITS, Cost, KnownCells, Statistics, check_factor, placed
from suffice.statistics.labels import ONE_CLASS, Labels
from suffice.statistics.rounding import (
    EPSILON,
    EXACT,
    REFIT,
    TOLERANCE,
    UNKNOWN,
    FloatArray,
    LostDigitsError,
    NegativeEvidenceError,
    all_whole,
    difference,
    error_of_sum,
    is_exact,
    least_weight,
    sum_error,
    weight_left,
)


@dataclass(frozen=True, eq=False)
class ClassCounts(Statistics):
    """Rows and counts of each class. Whole numbers are exact up to 2**53; the sums of others carry a bound."""

    labels: Labels
    rows: FloatArray  # (k,) weight of the rows of each class
    counts: FloatArray  # (k, d)
    rows_error: FloatArray = field(default_factory=lambda: np.zeros(0), kw_only=True)  # (k,)
    counts_error: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), kw_only=True)  # (k, d); (k, 0) if exact
    least: float = field(default=1.0, kw_only=True)  # at most the least weight or count of a row; 0 if not known
    forgotten: float = field(default=0.0, kw_only=True)  # the weight of the rows that were taken out

    _bound_fields = frozenset({"rows_error", "counts_error", "least", "forgotten"})

    def __post_init__(self) -> None:
        fields = vars(self)
        if np.size(self.rows_error) == 0:
            fields["rows_error"] = np.zeros(np.shape(self.rows))
        if np.size(self.counts_error) == 0:
            fields["counts_error"] = np.zeros((*np.shape(self.rows)[:1], 0))
        super().__post_init__()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        if self.counts.ndim != 2:
            raise ValueError(f"counts must have shape (classes, features); got {self.counts.shape}")
        classes = len(self.labels)
        table = classes, self.counts.shape[1]
        return {
            "rows": (classes,),
            "counts": table,
            "rows_error": (classes,),
            "counts_error": table if self.counts_error.size else (classes, 0),
        }

    def _with_bounds(self, batch: Any, kernels: Any) -> Self:
        """Return the counts of one batch with the bounds of their error, for the engine's depth of summation."""
        depth = kernels.depth(batch, len(self.labels))
        cells = batch.x if isinstance(batch.x, np.ndarray) else getattr(batch.x, "data", batch.x)
        cells = cells if self._counts_cells else None
        changed: dict[str, Any] = {}
        if batch.weight is not None:
            (rows_error,) = sum_error(is_exact((batch.weight,), self.rows), depth, self.rows)
            changed = {"rows_error": rows_error, "least": least_weight(batch.weight)}
        if not is_exact((batch.weight, cells), self.counts):
            (changed["counts_error"],) = sum_error(False, depth, self.counts)
            if not all_whole(cells):
                changed["least"] = changed.get("least", 1.0) * min(1.0, least_weight(cells))
        return self._with(**changed) if changed else self

    #: Whether cells are added up, and not only the weights of rows.
    _counts_cells: ClassVar[bool] = False

    @property
    def count_errors(self) -> FloatArray:
        """The bounds of the errors of the counts, (k, d)."""
        return self.counts_error if self.counts_error.size else np.zeros(self.counts.shape)

    def check_digits(self, added: npt.ArrayLike = 0.0) -> None:
        """Raise if rows were taken out, and the counts that are left may be off by more than the tolerance.

        Parameters
        ----------
        added
            What smoothing adds to each count.
        """
        if not self.forgotten:
            return
        error = self.count_errors
        absent = (self.counts == 0) & (2 * error < self.least)
        unsure = (error > TOLERANCE * (self.counts + np.asarray(added))) & ~absent
        if unsure.any():
            code, column = (int(index) for index in np.unravel_index(int(np.argmax(unsure)), unsure.shape))
            raise LostDigitsError(
                f"without the rows that were taken out, {self._called((code, column))} is "
                f"{self.counts[code, column]:g}, with a rounding error of up to {error[code, column]:.2g}: {REFIT}",
                (self._feature_of(column),),
            )

    def _feature_of(self, column: int) -> int:
        """Return the feature that a column of counts belongs to."""
        return column

    def digits_kept(self) -> float:
        """Return to how many decimal digits the counts are known at least."""
        error, counts = self.counts_error, self.counts
        if not (self.forgotten and error.size):
            return ALL_DIGITS
        lost = np.where(counts > 0, error / np.where(counts > 0, counts, 1.0), 0.0)
        return float(min(ALL_DIGITS, max(0.0, -np.log10(max(lost.max(initial=0.0), EPSILON)))))

    def _unbounded(self) -> Self:
        return self._with(
            rows_error=np.full(self.rows.shape, UNKNOWN), counts_error=np.full(self.counts.shape, UNKNOWN), least=0.0
        )

    @classmethod
    def zero(cls) -> Self:
        """Return the counts over no rows."""
        return cls(Labels(), np.zeros(0), np.zeros((0, 0)))

    @classmethod
    def cost_of(cls, batch: Any, labels: Labels = ONE_CLASS, *what: Any) -> Cost:
        """Return the cost of a (k, d) table."""
        return Cost(batch.size, len(labels) * batch.features)

    @property
    def weight(self) -> float:
        """The total weight of the rows."""
        return float(self.rows.sum())

    @property
    def features(self) -> int:
        """How many features a row has."""
        return int(self.counts.shape[1])

    def aligned(self, labels: Labels) -> Self:
        """Return the same counts over a vocabulary that holds these classes and perhaps more."""
        if labels == self.labels:
            return self
        places = labels.positions(self.labels)
        moved = {name: placed(array, places, len(labels)) for name, array in self._arrays().items()}
        return self._with(labels=labels, **moved)

    def _paired(self, other: Self) -> tuple[Self, Self]:
        here, there = self.counts.shape[1], other.counts.shape[1]
        if here != there:
            raise ValueError(f"counts of {here} and of {there} features do not go together")
        labels, _, _ = self.labels.union(other.labels)
        return self.aligned(labels), other.aligned(labels)

    #: The fields that are sums of weights of rows.
    _weighings: ClassVar[tuple[str, ...]] = ("rows",)

    def _plus(self, other: Self) -> Self:
        one, two = self._paired(other)
        changed: dict[str, Any] = {}
        for name in self._weighings:
            mine, theirs = getattr(one, name), getattr(two, name)
            errors = getattr(one, f"{name}_error"), getattr(two, f"{name}_error")
            changed[name], changed[f"{name}_error"] = mine + theirs, error_of_sum(mine, theirs, *errors)
        counts = one.counts + two.counts
        if one.counts_error.size or two.counts_error.size or not counts.max(initial=0.0) < EXACT:
            changed["counts_error"] = error_of_sum(one.counts, two.counts, one.count_errors, two.count_errors)
        least, forgotten = min(one.least, two.least), one.forgotten + two.forgotten
        return one._with(counts=counts, least=least, forgotten=forgotten, **changed)

    def _minus(self, other: Self) -> Self:
        whole, part = self._paired(other)
        least, changed = min(whole.least, part.least), dict[str, Any]()
        for name in self._weighings:
            errors = getattr(whole, f"{name}_error") + getattr(part, f"{name}_error")
            left, error = weight_left(
                getattr(whole, name), getattr(part, name), errors, least, partial(_place_in, name)
            )
            changed[name], changed[f"{name}_error"] = left, error
        counts, error = difference(whole.counts, part.counts, whole.count_errors + part.count_errors, whole._called)
        over = (counts > error) & ~(changed["rows"] > 0)[:, None]
        if over.any():
            code, column = (int(index) for index in np.unravel_index(int(np.argmax(over)), over.shape))
            raise NegativeEvidenceError(
                f"all rows of class {whole.labels.names[code]!r} would be gone, but {whole._called((code, column))} "
                f"would be {counts[code, column]:g}: these rows were never in the sum"
            )
        rest = whole._with(
            counts=counts,
            counts_error=error if error.any() else error[:, :0],
            least=least,
            forgotten=whole.forgotten + part.forgotten + part.weight,
            **changed,
        )
        return rest._without_absent()

    def _without_absent(self) -> Self:
        """Return the counts without those of classes, or cells, of which no row is left."""
        absent = self.rows <= 0
        if not absent.any():
            return self
        error = self.counts_error
        return self._with(
            counts=np.where(absent[:, None], 0.0, self.counts),
            counts_error=np.where(absent[:, None], 0.0, error) if error.size else error,
        )

    def _called(self, place: tuple[int, ...]) -> str:
        """Return what a place in counts is called."""
        return _place_in("counts", place)

    def scaled(self, factor: float) -> Self:
        """Return the counts with every row's weight multiplied by ``factor``."""
        factor = check_factor(factor)
        if factor == 1:
            return self
        changed = {name: array * factor for name, array in self._arrays().items()}
        for name in (*self._weighings, "counts"):
            error = self.count_errors if name == "counts" else getattr(self, f"{name}_error")
            changed[f"{name}_error"] = error * factor + 0.5 * EPSILON * changed[name]
        return self._with(**changed, least=self.least * factor, forgotten=self.forgotten * factor)


def _place_in(name: str, place: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, place))}]"


@dataclass(frozen=True, eq=False)
class CellCounts(KnownCells, ClassCounts):
    """Counts of single cells, some of which may be missing."""

    weights_field = "rows"
    table_field = "counts"

    def _paired(self, other: Self) -> tuple[Self, Self]:
        one, two = super()._paired(other)
        return one._observing(two)

    _weighings = ("rows", "cells")
    _bound_fields = ClassCounts._bound_fields | {"cells_error"}

    def _without_absent(self) -> Self:
        rest = super()._without_absent()
        if not rest.misses_cells:
            return rest
        known, error = rest.cells > 0, rest.counts_error
        return rest._with(
            counts=np.where(known, rest.counts, 0.0), counts_error=np.where(known, error, 0.0) if error.size else error
        )

    def complement(self) -> Self:
        """Return the counts of rows in which each feature is known and absent."""
        error = self.cells_error if self.misses_cells else self._of_rows("rows_error")
        return self._with(counts=np.maximum(self.observed - self.counts, 0.0), counts_error=self.count_errors + error)


class EventCounts(CellCounts):
    """How often each event occurred in each class: the multinomial event model's memory, and the Poisson's.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> words = np.array([[2, 0, 1], [0, 3, 0]])
    >>> labels = Labels.of(["ham", "spam"])
    >>> ThreadEngine().accumulate(EventCounts.over(labels), [Batch(words, np.array([1, 0]))]).counts
    array([[0., 3., 0.],
           [2., 0., 1.]])
    """

    _counts_cells = True

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS, missing: bool = False) -> Self:
        """Return the counts of one batch, whose y holds codes into ``labels``; with ``missing``, NaN is skipped."""
        return cls(labels, *kernels.event_counts(batch, len(labels), missing))._with_bounds(batch, kernels)


class PresenceCounts(CellCounts):
    """In how many rows of each class a feature is present: the multivariate Bernoulli event model's memory.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> answers = np.array([[1.0, 0.0], [np.nan, 1.0]])
    >>> seen = ThreadEngine().accumulate(PresenceCounts.over(Labels((0,)), 0.5, True), Batch(answers))
    >>> seen.counts, seen.observed
    (array([[1., 1.]]), array([[1., 2.]]))
    """

    @classmethod
    def of(
        cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS, threshold: float = 0.0, missing: bool = False
    ) -> Self:
        """Return the counts of one batch; a feature is present where x is above the threshold.

        With ``missing``, NaN is skipped.
        """
        return cls(labels, *kernels.presence_counts(batch, len(labels), threshold, missing))._with_bounds(
            batch, kernels
        )


@dataclass(frozen=True, eq=False)
class CategoryCounts(ClassCounts):
    """How often each category of each feature occurred in each class; ``counts`` holds the features side by side.

    The counts of a feature sum to the weight of the rows in which it is known.
    """

    sizes: tuple[int, ...] = ()  # categories of each feature; they sum to the columns of counts

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shapes = super()._shapes()
        if any(size < 0 for size in self.sizes) or sum(self.sizes) != self.counts.shape[1]:
            raise ValueError(f"sizes {self.sizes} must sum to the {self.counts.shape[1]} columns of counts")
        return shapes

    @property
    def features(self) -> int:
        """How many features a row has."""
        return len(self.sizes)

    def _paired(self, other: Self) -> tuple[Self, Self]:
        if self.sizes != other.sizes:
            raise ValueError(f"features of {self.sizes} and of {other.sizes} categories do not go together")
        return super()._paired(other)

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels, sizes: tuple[int, ...], missing: bool = False) -> Self:
        """Return the counts of one batch, whose x holds codes 0 to sizes[j] - 1 in column j.

        With ``missing``, NaN and negative codes are skipped.
        """
        rows, counts = kernels.category_counts(batch, len(labels), sizes, missing)
        return cls(labels, rows, counts, sizes)._with_bounds(batch, kernels)

    @classmethod
    def cost_of(cls, batch: Any, labels: Labels, sizes: tuple[int, ...], *what: Any) -> Cost:  # type: ignore[override]
        """Return the cost of a (k, sum of sizes) table."""
        return Cost(batch.size, len(labels) * sum(sizes))

    def _feature_of(self, column: int) -> int:
        return int(np.searchsorted(np.cumsum(self.sizes), column, side="right"))

    def feature(self, index: int) -> FloatArray:
        """Return the counts of one feature's categories, (k, size)."""
        start = sum(self.sizes[:index])
        return self.counts[:, start : start + self.sizes[index]]
