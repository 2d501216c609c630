"""How a model learns: all at once, batch by batch, merged from others; and how it forgets."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice import door, partitioned
from suffice.data import Dataset, as_dataset
from suffice.data.dataset import Piece
from suffice.data.encoded import model_for_parts
from suffice.generative import left_out, mixture
from suffice.generative.memory import Memory, is_small
from suffice.generative.summed import Summed, is_auto
from suffice.selection import tuning
from suffice.selection.rows import Rows
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray


class Learning(Summed):
    """Sums grow, merge and shrink; models follow."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        unlabelled: Any = None,
        unlabelled_weight: float = 1.0,
    ) -> Self:
        """Learn from rows and their classes, forgetting what was learnt before.

        Parameters
        ----------
        X
            Rows, (n, d); a stream of batches (X, y) or (X, y, sample_weight), which may be larger than memory: an
            iterator, or a function that starts one; a collection of Dask or a data frame of Spark, which is summed
            where it lives; or a :class:`~suffice.data.Dataset`.
        y
            The class of each row, (n,): numbers, strings or booleans. Of a cluster's data frame, it may be the name of
            its column, and of Spark's must be.
        sample_weight
            One weight per row; every row counts once by default.
        unlabelled
            Rows without a class. They are taken in by expectation maximisation; ``em_trace_`` holds the
            log-likelihood after each step. What is kept are expected sums: ``+`` adds them, which is not what
            a fit to all rows would have expected.
        unlabelled_weight
            How much such a row counts beside one with a class.

        Returns
        -------
        self
        """
        with self._learning(anew=True):
            data = as_dataset(X, y=y, sample_weight=sample_weight)
            others = None if unlabelled is None else as_dataset(unlabelled)
            kept = data if self._reads_once() and others is None else data.rereadable()
            try:
                return self._fit(kept, others, unlabelled_weight)
            finally:
                if kept is not data:
                    kept.release()

    def _reads_once(self) -> bool:
        """Whether one pass over the rows is enough."""
        return not self._wants_tuning()

    def _fit(self, data: Dataset, unlabelled: Dataset | None, unlabelled_weight: float) -> Self:
        self._chosen = {}
        if data.in_memory is not None:
            rows = self._prepare(*(data.in_memory.get(name) for name in ("X", "y", "sample_weight")))
            if unlabelled is not None or self._wants_tuning():
                rows = rows.with_codes_here()
            labels, like = rows.labels, np.asarray(rows.like)
            statistics, trace = self._first_sum(rows)
        else:
            self._set_features(data)
            (labels, statistics, like), trace = partitioned.sum_parts(self, data, Labels(), fixed=False), []
        self._remember(labels, like, statistics)
        if trace:
            self.em_trace_ = trace
        if unlabelled is not None:
            self._learn_unlabelled(data, unlabelled, unlabelled_weight)
        if self._wants_tuning():
            self._tune(rows if data.in_memory is not None else self._rows_of(labels, partitioned.sample_rows(data)))
        _ = self._joint  # what cannot be read from the sum is said now, not at the first prediction
        return self

    def _learn_unlabelled(self, data: Dataset, unlabelled: Dataset, weight: float) -> None:
        """Take in rows without a class by expectation maximisation."""
        labels = self._memory.labels
        rows = data.map_parts(partial(_rows_of_part, model_for_parts(self, data), labels))
        kept = unlabelled.rereadable()
        try:
            features = kept.map_parts(partial(_features_of_part, model_for_parts(self, kept)))
            statistics, self.em_trace_ = mixture.learn(self, rows, features, weight, self._memory.statistics)
        finally:
            if kept is not unlabelled:
                kept.release()
        self._memory.replace(labels, statistics)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Return rows and classes as they come to a model that has learnt nothing yet."""
        x = self._first_features(X, sample_weight)
        labels, codes, like = door.coded(door.beside_rows(x, y), x.shape[0])
        return Rows(x, codes, door.weights(sample_weight, x.shape[0]), labels, like)

    def _first_features(self, X: Any, sample_weight: Any) -> Any:
        """Return the features of the first rows, which may decide how all are read."""
        return self._features(X, reset=True)

    def _first_sum(self, rows: Rows) -> tuple[Statistics, list[float]]:
        """Return the sum over rows that come all at once; and the log-likelihood step by step, if there are steps."""
        return self._sum(rows.x, rows.codes, rows.weight, rows.labels), []

    def _set_features(self, data: Dataset) -> None:
        """Set the number and the names of the features of a dataset in parts; of some models, some rows are read."""
        self._features(data.example(), reset=True)

    def _rows_of(self, labels: Labels, piece: Piece) -> Rows:
        """Return the rows of a part, whose classes are known."""
        rows, known, like = self._one_part(piece, labels, True)
        return Rows(*rows, known, like)

    def _part(self, piece: Piece, known: Labels, fixed: bool) -> tuple[tuple[Any, Any, Any], Labels, Any]:
        """Return one part of many as rows, codes and weights; with the classes, and an empty array of their type."""
        x = self._features(piece["X"], reset=False)
        column = door.targets(piece["y"], x.shape[0])
        labels, codes = door.known_codes(known, column, fixed)
        return (x, codes, door.weights(piece.get("sample_weight"), x.shape[0])), labels, column[:0]

    def _one_part(self, piece: Piece, known: Labels, fixed: bool) -> tuple[tuple[Any, Any, Any], Labels, Any]:
        """Return the same of a part whose rows may all weigh nothing."""
        with door.one_of_many():
            return self._part(piece, known, fixed)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows. All batches together give what :meth:`fit` gives, in any split and order.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their classes and weights, as for :meth:`fit`.
        classes
            All classes there will be; others are then refused. Without it, classes are discovered as they come.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_memory")
        with self._learning(anew=first):
            return self._learn_more(X, y, classes, sample_weight, first)

    def _learn_more(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> Self:
        if first:
            known, fixed = (Labels(), False) if classes is None else (Labels.of(np.asarray(classes)), True)
        else:
            known, fixed = self._memory.labels, self._memory.fixed
            self._check_announced(classes)
        data = as_dataset(X, y=y, sample_weight=sample_weight)
        if data.in_memory is None:
            data = data if not first or self._reads_once() else data.rereadable()
            if first:
                self._set_features(data)
            labels, statistics, like = partitioned.sum_parts(self, data, known, fixed)
        else:
            x = self._first_features(X, sample_weight) if first else self._features(X, reset=False)
            like = door.targets(y, x.shape[0])
            weight = door.weights(sample_weight, x.shape[0])
            labels, codes = door.known_codes(known, like, fixed)
            if not first and labels is known and is_small(x) and self._can_wait(x):
                self._memory.add_later(x, codes, weight, self._sum_batch)
                return self
            statistics = self._sum(x, codes, weight, labels)
        if first:
            self._chosen = {}
            self._remember(labels, like if classes is None else np.asarray(classes), statistics, fixed)
        else:
            labels = known.union(labels)[0]
            self._memory.replace(labels, self._memory.statistics + statistics)
            self.classes_ = door.classes_array(labels, self.classes_)
        return self

    def _check_announced(self, classes: Any) -> None:
        if classes is not None and not set(Labels.of(np.asarray(classes))) <= set(self._memory.labels):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows exactly: what is left is what :meth:`fit` learns from the other rows.

        Parameters
        ----------
        X, y, sample_weight
            Rows that were learnt, with their classes and weights.

        Returns
        -------
        self
            ``digits_lost_`` holds how many of the 15.9 decimal digits the subtraction cost at most.

        Raises
        ------
        NegativeEvidenceError
            Where that can be known: rows that were never learnt.
        LostDigitsError
            Where so little would be left that it is rounding noise. Nothing is changed then.
        """
        self._check_fitted()
        labels = self._memory.labels
        with self._learning(anew=False):
            data = as_dataset(X, y=y, sample_weight=sample_weight)
            _, statistics, _ = partitioned.sum_parts(self, data, labels, fixed=True)
            removal = self._memory.statistics.remove(statistics)
            self._memory.replace(labels, removal.left)
            self.digits_lost_ = max(getattr(self, "digits_lost_", 0.0), removal.digits_lost)
        return self

    def __add__(self, other: Any) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        self._check_alike(other)
        merged = copy.copy(self)
        with merged._learning(anew=False):
            labels, _, _ = self._memory.labels.union(other._memory.labels)
            statistics = self.statistics_ + other.statistics_
            merged._memory = Memory(labels, statistics, self._memory.fixed and other._memory.fixed)
            merged.classes_ = door.classes_array(labels, self.classes_)
        return merged

    def __radd__(self, other: Any) -> Self:
        """Let ``sum(models)`` start from its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _check_alike(self, other: Self) -> None:
        """Raise where two models did not look at the same features in the same way."""
        mine, theirs = self._sum_shape(), other._sum_shape()
        for name in mine:
            if repr(mine[name]) != repr(theirs[name]):
                raise ValueError(
                    f"models with {name}={mine[name]!r} and {name}={theirs[name]!r} have not summed the same things: "
                    "they cannot be merged"
                )
        if self.n_features_in_ != other.n_features_in_:
            raise ValueError(f"models of {self.n_features_in_} and of {other.n_features_in_} features cannot be merged")
        names = [list(getattr(model, "feature_names_in_", [])) for model in (self, other)]
        if all(names) and names[0] != names[1]:
            raise ValueError(f"models of the features {names[0]!r} and {names[1]!r} cannot be merged")

    def _remember(self, labels: Labels, like: npt.NDArray[Any], statistics: Statistics, fixed: bool = False) -> None:
        """Hold a new sum in the place of what was learnt before."""
        for name in ("digits_lost_", "em_trace_"):
            self.__dict__.pop(name, None)
        self._memory = Memory(labels, statistics, fixed)
        self.classes_ = door.classes_array(labels, like)

    def _wants_tuning(self) -> bool:
        return any(is_auto(getattr(self._params, name)) for name in (*self._tuned, "temperature"))

    def _tune(self, rows: Rows) -> None:
        """Choose the settings that are "auto" by how well they predict rows held out."""
        wanted = {name: grid for name, (grid, _) in self._tuned.items() if is_auto(getattr(self._params, name))}
        self._chosen = tuning.choose(self, rows, wanted, is_auto(self._params.temperature))
        self._memory.unread()

    def _left_out(self, statistics: Statistics, rows: Rows) -> FloatArray:
        """Return log p(x, y) of each row, (n, k), under what all other rows teach."""
        return left_out.one_by_one(self, statistics, rows)


def _rows_of_part(model: Learning, labels: Labels, piece: Piece) -> Rows:
    return model._rows_of(labels, piece).with_codes_here()


def _features_of_part(model: Learning, piece: Piece) -> Any:
    return model._features(piece["X"], reset=False)
