"""The door for rows of a cluster: what is done to each part on its worker, and how parts make one model."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from suffice import door
from suffice.engines.choice import spread_of, text_columns
from suffice.engines.spread import Piece, Spread, traveller
from suffice.engines.thinning import drawn, together
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray

P = ParamSpec("P")
R = TypeVar("R")

#: What a question may bring for every row.
PER_ROW = ("offset", "exposure")
#: What is known of a sum's rows: their classes, the sum, and an empty array of the type the labels came in.
Learnt = tuple[Labels, Statistics, npt.NDArray[Any]]


def spread(X: Any, **beside: Any) -> Spread | None:
    """Return rows of a cluster or a stream with what comes beside them, or None for rows that are here."""
    found = spread_of(X, **beside)
    if found is not None and "y" in beside and beside["y"] is None and not found.is_here:  # a stream brings its own
        door.targets(None, 0)
    return found


def sampled(rows: Spread) -> Piece:
    """Return some of the rows, fetched, with what came beside them."""
    sample = rows.each(drawn).total(together)
    if sample is None:
        raise nothing()
    return sample[0]


def summed(model: Any, rows: Spread, known: Labels, fixed: bool) -> Learnt:
    """Return the sum that a model wants over all rows, taken on the workers, and the classes that were found.

    The model's door has seen an example of the rows already.
    """
    learnt = rows.each(partial(_summed, traveller(model), known, fixed)).total(_both)
    if learnt is None:
        raise nothing()
    door.check_weight(learnt[1].weight)
    return learnt


def classes_of(rows: Spread) -> Labels:
    """Return all classes that y has, anywhere."""
    found = rows.only("y").each(_classes).total(_united)
    if found is None:
        raise nothing()
    return found


def nothing() -> ValueError:
    """Return what is said where a cluster's collection is empty."""
    return ValueError("no partition has any rows: there is nothing to learn from")


class ClusterClassifierMixin(ClassifierMixin):  # type: ignore[misc]
    """A classifier of scikit-learn whose score takes rows of a cluster, as its fit does."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their classes and weights, as for ``fit``. Rows of a cluster are read once, where they are.
        """
        rows = judged_rows(self, X, y, sample_weight)
        if rows is None:
            return float(super().score(X, y, sample_weight))
        right, weight = added_up(rows, partial(_right, traveller(self)))
        return float(right / weight)


def judged_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> Spread | None:
    """Return rows of a cluster that a fitted model is judged by, or None for rows that are here."""
    rows = spread(X, y=y, sample_weight=sample_weight)
    if rows is not None:
        check_is_fitted(model)
        names = getattr(model, "feature_names_in_", None)
        rows = rows if names is None else rows.each(partial(_with_columns, list(names)))
    return rows


def added_up(rows: Spread, function: Callable[[Piece], Any]) -> Any:
    """Return the sum of a function of each part; the last entry is the rows' weight."""
    total: Any = rows.each(function).total(operator.add)
    if total is None:
        raise nothing()
    door.check_weight(float(total[-1]))
    return total


def mean_target(X: Any, y: Any, sample_weight: Any) -> FloatArray:
    """Return the mean of each target of rows of a cluster, (t,)."""
    rows = spread(X, y=y, sample_weight=sample_weight)
    assert rows is not None
    sums: FloatArray = added_up(rows.only("y", "sample_weight"), _target_sums)
    return np.asarray(sums[:-1] / sums[-1])


def weights_of(piece: Piece) -> FloatArray:
    """Return the weights of a part's rows, 1 each by default."""
    rows = len(piece["y"])
    with door.one_of_many():
        found = door.weights(piece.get("sample_weight"), rows)
    return np.ones(rows) if found is None else found


def _with_columns(names: list[str], piece: Piece) -> Piece:
    """Return a part without the columns that a model does not read."""
    x = piece["X"]
    fit = hasattr(x, "columns") and set(names) <= set(x.columns)
    return {**piece, "X": x[names]} if fit else piece


def _right(model: Any, piece: Piece) -> FloatArray:
    weights = weights_of(piece)
    right = np.asarray(model.predict(piece["X"])) == door.targets(piece["y"], len(weights))
    return np.array([weights @ right, weights.sum()])


def _target_sums(piece: Piece) -> FloatArray:
    weights = weights_of(piece)
    targets = door.numbers(piece["y"], len(weights), several=True).reshape(len(weights), -1)
    return np.append(weights @ targets, weights.sum())


def answered(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a method that answers row by row answer rows of a cluster, too, part by part and where they live.

    What comes of them is lazy, and of the cluster's own kind: a Dask array, or a Spark data frame with a column of
    this name more. Of a stream it is an iterator over the answers to each batch.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @wraps(method)
        def answer(*args: P.args, **kwargs: P.kwargs) -> R:
            X = args[1] if len(args) > 1 else kwargs.get("X")
            model, others = args[0], list(args[2:])
            if getattr(model, "_reads_one_text", False) and door.is_iterator(X):  # over texts, not over batches
                return method(*args, **kwargs)
            rows = spread_of(X, **{key: kwargs[key] for key in PER_ROW if kwargs.get(key) is not None})
            if rows is None:
                return method(*args, **kwargs)
            check_is_fitted(model)
            named = {key: value for key, value in kwargs.items() if key != "X"}
            ask = partial(_asked, method.__name__, traveller(model), others, named)
            found: R = rows.answers(ask, name, _columns_read(model, X))
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
    return Labels.of(door.targets(piece["y"], len(piece["y"])))


def _united(one: Labels, two: Labels) -> Labels:
    return one.union(two)[0]


def _summed(model: Any, known: Labels, fixed: bool, piece: Piece) -> Learnt:
    rows, labels, like = model._one_part(piece, known, fixed)
    return labels, model._sum(*rows, labels), like


def _both(one: Learnt, two: Learnt) -> Learnt:
    labels = one[0].union(two[0])[0]
    numbers = one[2].dtype.kind in "biuf" and two[2].dtype.kind in "biuf"
    kind = np.result_type(one[2], two[2]) if numbers else object
    return labels, one[1] + two[1], one[2] if one[2].dtype == two[2].dtype else np.empty(0, dtype=kind)
