"""Fit lifecycle of classifiers that keep one sum over their rows: learn, merge and forget."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice import validation
from suffice.data import Dataset, as_dataset
from suffice.data.dataset import Piece
from suffice.fitted_parameters import ReadFromStatistics, read_attribute
from suffice.generative.running_sum import RunningSum
from suffice.partitioned import ClassifierInPartsMixin, sum_parts
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Stored

Codes = npt.NDArray[np.int64]


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

    def _remember(self, labels: Labels, like: npt.NDArray[Any], statistics: Any, fixed: bool = False) -> None:
        """Keep a new sum in place of the one before."""
        for name in ("digits_lost_", *self._fit_attributes):
            self.__dict__.pop(name, None)
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
