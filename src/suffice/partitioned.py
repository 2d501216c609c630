"""What estimators do with datasets in parts: sums, samples, scores, and answers row by row."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from suffice import validation
from suffice.data.dataset import Dataset, Piece, dataset_in_parts, model_for_parts, no_rows, open_location, text_columns
from suffice.data.sample import draw_rows, merge_samples
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray

P = ParamSpec("P")
R = TypeVar("R")

#: What a question may bring for every row.
PER_ROW = ("offset", "exposure")
#: What is known of a sum's rows: their classes, the sum, and an empty array of the type the labels came in.
Learned = tuple[Labels, Statistics, npt.NDArray[Any]]


def sample_rows(data: Dataset) -> Piece:
    """Return a sample of rows in parts, with what belongs to them."""
    sample = data.map_parts(draw_rows).reduce(merge_samples)
    if sample is None:
        raise no_rows()
    return sample[0]


def sum_parts(model: Any, data: Dataset, known: Labels, fixed: bool) -> Learned:
    """Return the sum that a generative model keeps of all rows, taken where they are, and the classes that were found.

    The model has seen an example of the rows already.
    """
    learned = data.map_parts(partial(_sum_part, model_for_parts(model, data), known, fixed)).reduce(_both)
    if learned is None:
        raise no_rows()
    validation.check_weight(learned[1].weight)
    return learned


def find_classes(data: Dataset) -> Labels:
    """Return the classes of all rows."""
    found = data.select("y").map_parts(_classes).reduce(_united)
    if found is None:
        raise no_rows()
    return found


class ClassifierInPartsMixin(ClassifierMixin):  # type: ignore[misc]
    """A classifier of scikit-learn whose score takes rows of a cluster, as its fit does."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their classes and weights, as for ``fit``. Rows of a cluster are read once, where they are.
        """
        data = scored_dataset(self, X, y, sample_weight)
        if data is None:
            return float(super().score(X, y, sample_weight))
        right, weight = sum_over(data, partial(_right, model_for_parts(self, data)))
        return float(right / weight)


def scored_dataset(model: Any, X: Any, y: Any, sample_weight: Any) -> Dataset | None:
    """Return rows in parts that a fitted model is scored by, or None for rows in memory."""
    X = X if getattr(model, "_reads_one_text", False) else open_location(X)
    data = dataset_in_parts(X, y=y, sample_weight=sample_weight)
    if data is not None:
        check_is_fitted(model)
        names = getattr(model, "feature_names_in_", None)
        data = data if names is None else data.map_parts(partial(_with_columns, list(names)))
    return data


def sum_over(data: Dataset, function: Callable[[Piece], Any]) -> Any:
    """Return the sum of a function of each part; the last entry is the rows' weight."""
    total: Any = data.map_parts(function).reduce(operator.add)
    if total is None:
        raise no_rows()
    validation.check_weight(float(total[-1]))
    return total


def mean_target(X: Any, y: Any, sample_weight: Any) -> FloatArray:
    """Return the mean of each target of rows in parts, (t,)."""
    data = dataset_in_parts(open_location(X), y=y, sample_weight=sample_weight)
    assert data is not None
    sums: FloatArray = sum_over(data.select("y", "sample_weight"), _target_sums)
    return np.asarray(sums[:-1] / sums[-1])


def part_weights(piece: Piece) -> FloatArray:
    """Return the weights of a part's rows, 1 each by default."""
    rows = len(piece["y"])
    with validation.one_of_many():
        found = validation.weights(piece.get("sample_weight"), rows)
    return np.ones(rows) if found is None else found


def _with_columns(names: list[str], piece: Piece) -> Piece:
    """Return a part without the columns that a model does not read."""
    x = piece["X"]
    fit = hasattr(x, "columns") and set(names) <= set(x.columns)
    return {**piece, "X": x[names]} if fit else piece


def _right(model: Any, piece: Piece) -> FloatArray:
    weights = part_weights(piece)
    right = np.asarray(model.predict(piece["X"])) == validation.targets(piece["y"], len(weights))
    return np.array([weights @ right, weights.sum()])


def _target_sums(piece: Piece) -> FloatArray:
    weights = part_weights(piece)
    targets = validation.numbers(piece["y"], len(weights), several=True).reshape(len(weights), -1)
    return np.append(weights @ targets, weights.sum())


def row_wise(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a method that answers row by row answer datasets in parts, too, where their rows are.

    The result is computed when it is asked for, and of the kind of X: a Dask array, or a Spark data frame with one more
    column, of this name. Of a stream it is an iterator over the answers to each batch.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @wraps(method)
        def answer(*args: P.args, **kwargs: P.kwargs) -> R:
            X = args[1] if len(args) > 1 else kwargs.get("X")
            if isinstance(X, np.ndarray):
                return method(*args, **kwargs)
            model, others = args[0], list(args[2:])
            if not getattr(model, "_reads_one_text", False):
                X = open_location(X)
            elif validation.is_iterator(X):  # over texts, not over batches
                return method(*args, **kwargs)
            data = dataset_in_parts(X, **{key: kwargs[key] for key in PER_ROW if kwargs.get(key) is not None})
            if data is None:
                return method(*args, **kwargs)
            check_is_fitted(model)
            named = {key: value for key, value in kwargs.items() if key != "X"}
            ask = partial(_asked, method.__name__, model_for_parts(model, data), others, named)
            found: R = data.map_rows(ask, name, _columns_read(model, X))
            return found

        return answer

    return decorate


def _columns_read(model: Any, X: Any) -> list[str] | None:
    """Return the columns of a cluster's data frame that a model reads, where it knows; others stay beside them."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return list(names)
    if not getattr(model, "_reads_one_text", False):
        return None
    texts = text_columns(X)
    if texts is None or len(texts) == 1:
        return texts
    raise ValueError(
        f"X has {len(texts)} columns of strings, {texts}, and {type(model).__name__} reads one text a row: leave one, "
        "and put the others, such as a key, into a struct or a type other than strings"
    )


def _asked(method: str, model: Any, others: list[Any], kwargs: dict[str, Any], piece: Piece) -> Any:
    beside = {key: piece[key] for key in PER_ROW if key in piece}
    answer = getattr(model, method)(piece["X"], *others, **{**kwargs, **beside})
    if isinstance(answer, tuple):
        raise ValueError(
            f"{method} with {', '.join([*map(repr, others), *kwargs])} gives {len(answer)} arrays, and of rows on a "
            "cluster it can give one: ask for it with the rows here"
        )
    return answer


def _classes(piece: Piece) -> Labels:
    return Labels.of(validation.targets(piece["y"], len(piece["y"])))


def _united(one: Labels, two: Labels) -> Labels:
    return one.union(two)[0]


def _sum_part(model: Any, known: Labels, fixed: bool, piece: Piece) -> Learned:
    rows, labels, like = model._one_part(piece, known, fixed)
    return labels, model._sum(*rows, labels), like


def _both(one: Learned, two: Learned) -> Learned:
    labels = one[0].union(two[0])[0]
    numbers = one[2].dtype.kind in "biuf" and two[2].dtype.kind in "biuf"
    kind = np.result_type(one[2], two[2]) if numbers else object
    return labels, one[1] + two[1], one[2] if one[2].dtype == two[2].dtype else np.empty(0, dtype=kind)
