"""Classifiers that keep one sum over their rows: learn, merge and forget; and the sum that they keep."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice import validation
from suffice.data import Dataset, as_dataset
from suffice.data.dataset import Piece
from suffice.data.sql import DatabaseSums
from suffice.fitted_parameters import ReadFromStatistics, read_attribute
from suffice.kernels import Batch
from suffice.kernels.libraries import is_sparse
from suffice.partitioned import ClassifierInPartsMixin, sum_parts
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Stored

R = TypeVar("R")
Codes = npt.NDArray[np.int64]

#: Rows are held until they have this many values: adding to the sum costs at least as much as reading these.
_MOST_HELD = 1 << 16
#: A batch with more values than this is summed at once.
_SMALL = 1 << 12


class SummedClassifier(Stored, ClassifierInPartsMixin, ReadFromStatistics, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that keeps one sum over its rows, and nothing else of them.

    A subclass defines how rows are read (:meth:`_features`) and what is summed (:meth:`_sum`). ``partial_fit`` adds to
    the sum, ``forget`` subtracts from it, ``+`` adds two sums.
    """

    #: Attributes that describe one fit to one data set: another fit and ``+`` delete them.
    _fit_attributes: ClassVar[tuple[str, ...]] = ()

    n_jobs: int | None
    classes_: npt.NDArray[Any]
    _memory: RunningSum

    # Hooks of subclasses.

    @abstractmethod
    def _features(self, X: Any, reset: bool) -> Any:
        """Return validated rows as engines read them; ``reset`` for the first rows."""

    @abstractmethod
    def _sum(self, x: Any, codes: Codes, weight: FloatArray | None, labels: Labels) -> Any:
        """Return the sum over rows, codes being of the labels."""

    def _dataset(self, X: Any, y: Any, sample_weight: Any) -> Dataset:
        """Return rows, their classes and weights as a dataset."""
        return as_dataset(X, y=y, sample_weight=sample_weight)

    def _first_features(self, X: Any, sample_weight: Any) -> Any:
        """Return the features of the first rows, which may decide how all are read."""
        return self._features(X, reset=True)

    def _set_features(self, data: Dataset) -> None:
        """Set the number and the names of the features of a dataset in parts; some models read some of its rows."""
        self._features(data.example(), reset=True)

    def _reads_once(self) -> bool:
        """Whether the first fit needs one pass over the rows."""
        return True

    def _hold_rows(self, x: Any, codes: Codes, weight: FloatArray | None) -> tuple[Any, int] | None:
        """Return rows that may be added to the sum later, and their size; None for rows that must be summed now.

        Rows that their sum would refuse must be summed now.
        """
        return None

    def _sum_held(self, held: list[Any], labels: Labels) -> Any:
        """Return the sum over rows that :meth:`_hold_rows` returned."""
        raise NotImplementedError

    def _sum_in_database(self, sums: DatabaseSums, labels: Labels) -> Any:
        """Return the sum over a table, computed by its database; None where rows must be read."""
        return None

    def _sum_to_keep(self, statistics: Any) -> Any:
        """Return a sum in the form in which it is kept."""
        return statistics

    @abstractmethod
    def _check_mergeable(self, other: Self) -> None:
        """Raise where two models have not summed the same things."""

    # Learning.

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows. All batches together give what :meth:`fit` gives, in any split and order.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their classes and weights, as for :meth:`fit`.
        classes
            All classes there will be; others are then refused. By default, classes are added when they first occur.

        Returns
        -------
        self
        """
        first = "_memory" not in vars(self)
        with self._learning(anew=first):
            data = self._dataset(X, y, sample_weight)
            return self._learn_first(data, classes) if first else self._learn_more(data, classes)

    def _learn_first(self, data: Dataset, classes: Any = None) -> Self:
        """Learn from the first rows."""
        known, fixed = (Labels(), False) if classes is None else (Labels.of(np.asarray(classes)), True)
        if data.in_memory is None:
            data = data if self._reads_once() else data.rereadable()
            self._set_features(data)
            labels, statistics, like = sum_parts(self, data, known, fixed)
        else:
            piece = data.in_memory
            x = self._first_features(piece["X"], piece.get("sample_weight"))
            codes, weight, labels, like = self._encode(x, piece, known, fixed)
            statistics = self._sum(x, codes, weight, labels)
        self._remember(labels, like if classes is None else np.asarray(classes), statistics, fixed)
        return self

    def _learn_more(self, data: Dataset, classes: Any) -> Self:
        """Add rows to the sum."""
        memory = self._memory
        if classes is not None and not set(Labels.of(np.asarray(classes))) <= set(memory.labels):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
        if data.in_memory is None:
            labels, statistics, _ = sum_parts(self, data, memory.labels, memory.fixed)
        else:
            x = self._features(data.in_memory["X"], reset=False)
            codes, weight, labels, _ = self._encode(x, data.in_memory, memory.labels, memory.fixed)
            held = self._hold_rows(x, codes, weight) if labels is memory.labels else None
            if held is not None:
                memory.add_later(*held, self._sum_held)
                return self
            statistics = self._sum(x, codes, weight, labels)
        labels = memory.labels.union(labels)[0]
        memory.replace(labels, memory.statistics + statistics)
        self.classes_ = validation.classes_array(labels, self.classes_)
        return self

    def _encode(
        self, x: Any, piece: Piece, known: Labels, fixed: bool
    ) -> tuple[Codes, FloatArray | None, Labels, npt.NDArray[Any]]:
        """Return the class codes and weights of rows, all classes, and an empty array of the type of the labels."""
        column = validation.targets(piece.get("y"), x.shape[0])
        labels, codes = validation.known_codes(known, column, fixed)
        return codes, validation.weights(piece.get("sample_weight"), x.shape[0]), labels, column[:0]

    def _part(self, piece: Piece, known: Labels, fixed: bool) -> tuple[tuple[Any, Any, Any], Labels, Any]:
        """Return one part of many as rows, codes and weights; with the classes, and an empty array of their type."""
        x = self._features(piece["X"], reset=False)
        codes, weight, labels, like = self._encode(x, piece, known, fixed)
        return (x, codes, weight), labels, like

    def _one_part(self, piece: Piece, known: Labels, fixed: bool) -> tuple[tuple[Any, Any, Any], Labels, Any]:
        """Return the same for a part whose weights may all be 0."""
        with validation.one_of_many():
            return self._part(piece, known, fixed)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Unlearn rows exactly: what is left is what :meth:`fit` learns from the other rows.

        Parameters
        ----------
        X, y, sample_weight
            Rows that were learned, with their classes and weights.

        Returns
        -------
        self
            ``digits_lost_`` holds how many of the 15.9 decimal digits the subtraction cost at most.

        Raises
        ------
        NegativeEvidenceError
            Where it can be detected that rows were never learned. The model is unchanged then.
        LostDigitsError
            Where the rest would be rounding noise. The model is unchanged then.
        """
        self._check_fitted()
        labels = self._memory.labels
        with self._learning(anew=False):
            data = self._dataset(X, y, sample_weight)
            _, statistics, _ = sum_parts(self, data, labels, fixed=True)
            removal = self._memory.statistics.remove(statistics)
            self._memory.replace(labels, self._sum_to_keep(removal.left))
            self.digits_lost_ = max(getattr(self, "digits_lost_", 0.0), removal.digits_lost)
        return self

    def __add__(self, other: Any) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        self._check_mergeable(other)
        merged = copy.copy(self)
        for name in self._fit_attributes:
            merged.__dict__.pop(name, None)
        with merged._learning(anew=False):
            labels, _, _ = self._memory.labels.union(other._memory.labels)
            statistics = self.statistics_ + other.statistics_
            merged._memory = RunningSum(labels, statistics, self._memory.fixed and other._memory.fixed)
            merged.classes_ = validation.classes_array(labels, self.classes_)
        return merged

    def __radd__(self, other: Any) -> Self:
        """Let ``sum(models)`` start from its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    # The sum.

    def _drop_fit_attributes(self) -> None:
        """Delete the attributes that describe the fit before."""
        for name in ("digits_lost_", *self._fit_attributes):
            self.__dict__.pop(name, None)

    def _remember(self, labels: Labels, like: npt.NDArray[Any], statistics: Any, fixed: bool = False) -> None:
        """Keep a new sum in place of the one before."""
        self._memory = RunningSum(labels, self._sum_to_keep(statistics), fixed)
        self.classes_ = validation.classes_array(labels, like)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if "_memory" in state:  # a copy learns on its own
            state = {**state, "_memory": state["_memory"].copied()}
        return state

    def _unread(self) -> None:
        if "_memory" in vars(self):
            self._memory.unread()

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the model has learned from rows."""
        return "_memory" in vars(self)

    def _check_fitted(self) -> None:
        if "_memory" not in vars(self):  # faster than check_is_fitted for a fitted model
            check_is_fitted(self)

    @read_attribute
    def statistics_(self) -> Any:
        """The sum over all rows learned, from which the model is read."""
        self._check_fitted()
        return self._memory.statistics


class RunningSum:
    """A sum that grows by small batches.

    Adding one row to a sum over fifty thousand words changes few of them but copies all, and reading a model from the
    sum takes as many logarithms. So small batches are held until the sum is asked for or they are enough, and the model
    that was read is kept until the sum or a setting changes.

    Parameters
    ----------
    labels
        The classes.
    statistics
        The sum: it has ``+`` and ``remove``.
    fixed
        Whether the classes were announced: others are then refused.
    model
        The model that was read from the sum.
    """

    def __init__(self, labels: Labels, statistics: Any, fixed: bool = False, model: Any = None) -> None:
        self.labels = labels
        self.fixed = fixed
        self._statistics = statistics
        self._held: list[Any] = []
        self._held_size = 0
        self._sum_held: Callable[[list[Any], Labels], Any] | None = None
        self._model = model

    def copied(self) -> RunningSum:
        """Return a copy that grows on its own."""
        return RunningSum(self.labels, self.statistics, self.fixed, self._model)

    def __getstate__(self) -> dict[str, Any]:
        return {"labels": self.labels, "statistics": self.statistics, "fixed": self.fixed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def statistics(self) -> Any:
        """The sum over all rows."""
        if self._held:
            assert self._sum_held is not None
            self._statistics = self._statistics + self._sum_held(self._held, self.labels)
            self._held, self._held_size = [], 0
        return self._statistics

    def replace(self, labels: Labels, statistics: Any) -> None:
        """Hold another sum."""
        self.labels, self._statistics = labels, statistics
        self._held, self._held_size, self._model = [], 0, None

    def add_later(self, rows: Any, size: int, sum_held: Callable[[list[Any], Labels], Any]) -> None:
        """Hold validated rows, whose codes are of these labels.

        Parameters
        ----------
        rows
            One item of the list that ``sum_held`` is called with.
        size
            About how many values they have.
        sum_held
            Returns the sum over all rows that are held.
        """
        self._held.append(rows)
        self._held_size += size + 64  # the cost of holding a batch
        self._sum_held, self._model = sum_held, None
        if self._held_size >= _MOST_HELD:
            _ = self.statistics

    @property
    def is_read(self) -> bool:
        """Whether nothing has changed since a model was read from the sum."""
        return self._model is not None

    def model(self, read: Callable[[Any], R]) -> R:
        """Return the model that is read from the sum, reading it once."""
        if self._model is None:
            self._model = read(self.statistics)
        model: R = self._model
        return model

    def unread(self) -> None:
        """Drop the model that was read: a setting has changed."""
        self._model = None


class HeldRows(NamedTuple):
    """Rows of an array or of CSR that are held until they are summed."""

    cells: Any  # a dense array, or the stored values, columns and row lengths of CSR
    shape: tuple[int, int]
    codes: npt.NDArray[np.int64]
    weight: FloatArray | None

    @property
    def weights(self) -> FloatArray:
        """One weight per row."""
        return np.ones(self.shape[0]) if self.weight is None else self.weight

    def dense(self) -> npt.NDArray[Any]:
        """Return the rows as an array."""
        if not isinstance(self.cells, tuple):
            return np.asarray(self.cells)
        data, indices, lengths = self.cells
        ends = np.concatenate([[0], np.cumsum(lengths)])
        return np.asarray(sparse.csr_array((data, indices, ends), shape=self.shape).toarray())


def is_small(x: Any) -> bool:
    """Whether rows are few enough to be held."""
    return (isinstance(x, np.ndarray) or is_sparse(x)) and count_values(x) <= _SMALL


def count_values(x: Any) -> int:
    """Return about how many values an array or CSR holds."""
    return int(x.nnz) + int(x.shape[0]) if is_sparse(x) else int(x.size)


def copy_rows(x: Any, codes: npt.NDArray[np.int64], weight: FloatArray | None) -> HeldRows:
    """Return a copy of rows; of CSR without the cost of another matrix object."""
    cells = (x.data.copy(), x.indices.copy(), np.diff(x.indptr)) if is_sparse(x) else x.copy()
    return HeldRows(cells, x.shape, codes.copy(), None if weight is None else weight.copy())


def stack_held(held: list[HeldRows]) -> Batch:
    """Return rows that are held as one batch."""
    codes = np.concatenate([rows.codes for rows in held])
    weight = None
    if any(rows.weight is not None for rows in held):
        weight = np.concatenate([rows.weights for rows in held])
    if not all(isinstance(rows.cells, tuple) for rows in held):
        return Batch(np.concatenate([rows.dense() for rows in held]), codes, weight)
    data, indices, lengths = (np.concatenate(parts) for parts in zip(*(rows.cells for rows in held), strict=True))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    x = sparse.csr_array((data, indices, ends), shape=(len(codes), held[0].shape[1]))
    return Batch(x, codes, weight)
