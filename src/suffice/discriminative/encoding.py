"""Encoding of rows for kernels: weights, and the classes of a dataset in parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.data.dataset import Summary
from suffice.families import Response
from suffice.families.links import array_namespace
from suffice.kernels import Batch
from suffice.kernels.libraries import taken
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray


def weight_factors(weight: FloatArray | None, often: FloatArray | None) -> FloatArray | None:
    """Return the class weights of rows: total weight over row weight; None for None.

    Examples
    --------
    >>> weight_factors(np.array([6.0, 1.0]), np.array([2.0, 1.0]))
    array([3., 1.])
    """
    if weight is None or weight is often:
        return None
    factor = weight if often is None else np.divide(weight, often, out=np.ones(len(weight)), where=often > 0)
    return np.where(factor > 0, factor, 1.0)


def holds_means(response: Response, rows: Batch) -> bool:
    """Whether the weights of rows are trials or exposures: then some targets are not whole numbers.

    Examples
    --------
    >>> holds_means(Response.of("poisson"), Batch(np.zeros((2, 1)), np.array([0.5, 2.0]), np.array([4.0, 1.0])))
    True
    """
    if response.family.name not in ("bernoulli", "poisson") or rows.weight is None or rows.trials is not None:
        return False
    return has_fractions(rows.y)


def has_fractions(y: Any) -> bool:
    """Whether targets, in an array of any library, are not all whole numbers.

    Examples
    --------
    >>> has_fractions(np.array([1.0, 2.0])), has_fractions(np.array([1.0, 2.5]))
    (False, True)
    """
    return bool(array_namespace(y).any(y % 1 != 0))


def drop_rows_without_weight(rows: Batch) -> Batch:
    """Return the rows of weight above 0: the terms of others may overflow.

    Examples
    --------
    >>> drop_rows_without_weight(Batch(np.array([[1.0], [1e9]]), np.array([2.0, 3.0]), np.array([4.0, 0.0]))).y
    array([2.])
    """
    if rows.weight is None or rows.weight.all():
        return rows
    validation.check_finite(rows.x)  # before rows are dropped: the message names positions in X as it was given
    places = np.flatnonzero(rows.weight)
    x, y, weight, offset = (taken(column, places) for column in (rows.x, rows.y, rows.weight, rows.offset))
    groups = None if rows.groups is None else rows.groups[places]
    return Batch(x, y, weight, offset, trials=taken(rows.trials, places), groups=groups)


class EncodedPart(NamedTuple):
    """Rows of one part; classes in y are coded by the labels of this part."""

    batch: Batch
    labels: Labels | None = None
    like: Any = None  #: an empty array of the type of the labels


class Seen(NamedTuple):
    """Result of the first pass over a dataset in parts."""

    summary: Summary
    labels: Labels | None  #: all classes
    weights: FloatArray  #: total weight of each class
    example: Any  #: targets of every class; or one row of numbers
    trials: bool = False  #: whether targets are means of several trials

    @classmethod
    def of(cls, part: EncodedPart) -> Seen:
        """Return the result for the rows of one part."""
        batch, labels, like = part
        if labels is None:
            return cls(Summary.of(batch), None, np.empty(0), batch.y[:1], batch.trials is not None)
        weights = np.bincount(batch.y, weights=batch.weight, minlength=len(labels)).astype(np.float64)
        return cls(Summary.of(batch), labels, weights, validation.classes_array(labels, like))

    def plus(self, other: Seen) -> Seen:
        """Return the result for both; codes refer to the union of the labels."""
        if self.labels is None or other.labels is None:
            example = self.example if len(self.example) else other.example
            return Seen(self.summary.plus(other.summary), None, self.weights, example, self.trials or other.trials)
        labels, mine, theirs = self.labels.union(other.labels)
        weights = np.zeros(len(labels))
        weights[mine] += self.weights
        weights[theirs] += other.weights
        summary = _recoded(self.summary, mine).plus(_recoded(other.summary, theirs))
        return Seen(summary, labels, weights, validation.classes_array(labels, self.example))


def _recoded(summary: Summary, places: npt.NDArray[np.intp]) -> Summary:
    columns, stands_for = summary.sample
    return summary._replace(sample=({**columns, "y": places[columns["y"]]}, stands_for))
