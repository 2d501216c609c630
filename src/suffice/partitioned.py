"""What estimators do with datasets in parts: sums, samples, scores, and answers row by row."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from suffice import validation
from suffice.data.dataset import (
    Dataset,
    Piece,
    dataset_in_parts,
    length,
    model_for_parts,
    no_rows,
    open_location,
    text_columns,
)
from suffice.data.frames import select_columns
from suffice.data.sample import draw_rows, merge_samples, stack_rows
from suffice.data.sql import DatabaseSums
from suffice.kernels.errors import UnsupportedKernelError
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray

P = ParamSpec("P")
R = TypeVar("R")

#: What a question may bring for every row.
PER_ROW = ("offset", "exposure")
#: What is known of a sum's rows: their classes, the sum, and an empty array of the type the labels came in.
Learned = tuple[Labels, Statistics, npt.NDArray[Any]]


def sample_rows(data: Dataset, model: Any = None) -> Piece:
    """Return a sample of rows in parts, with what belongs to them; a model is given where parts may differ in width."""
    shape: tuple[int, ...] = () if model is None else getattr(data.example(), "shape", ())
    if len(shape) == 2:
        data = data.map_parts(partial(_check_width, model, shape[1]))
    sample = data.map_parts(draw_rows).reduce(merge_samples)
    if sample is None:
        raise no_rows()
    return sample[0]


def _check_width(model: Any, width: int, piece: Piece) -> Piece:
    if piece["X"].shape[1] != width:
        raise validation.wrong_width(model, int(piece["X"].shape[1]), width)
    return piece


def sum_parts(model: Any, data: Dataset, known: Labels, fixed: bool) -> Learned:
    """Return the sum that a generative model keeps of all rows, taken where they are, and the classes that were found.

    The model has seen an example of the rows already.
    """
    if data.aggregates is not None:
        summed = _sum_in_database(model, data.aggregates, known, fixed)
        if summed is not None:
            return summed
    model = model_for_parts(model, data)
    parts = data.map_parts(partial(_sum_part, model, known, fixed))
    learned: Learned | None = parts.reduce(partial(_both, model._sum_to_keep))
    if learned is None:
        raise no_rows()
    validation.check_weight(learned[1].weight)
    return learned


def _sum_in_database(model: Any, sums: DatabaseSums, known: Labels, fixed: bool) -> Learned | None:
    """Return the sum over a table, computed by its database; None where the model needs the rows."""
    found = np.array(sums.find_classes().names)
    labels, _ = validation.known_codes(known, found, fixed)
    try:
        statistics = model._sum_in_database(sums, labels)
    except UnsupportedKernelError:
        return None
    if statistics is None:
        return None
    validation.check_weight(statistics.weight)
    return labels, statistics, found[:0]


def learn_in_order(model: Any, data: Dataset, learn: Callable[[Any, Piece], Any]) -> None:
    """Let a model learn parts one after another; a copy of it goes from worker to worker.

    Parameters
    ----------
    learn
        Returns a model that has learned a part more, and leaves the one it is given as it is. Parts whose rows all
        weigh nothing are passed over.
    """
    start: tuple[Any, float | None] = model_for_parts(model, data), None
    learned, weight = data.fold(partial(_learn_part, learn), start)
    if weight is None:
        raise no_rows()
    validation.check_weight(weight)
    vars(model).update({**vars(learned), "n_jobs": model.n_jobs})


def _learn_part(
    learn: Callable[[Any, Piece], Any], state: tuple[Any, float | None], piece: Piece
) -> tuple[Any, float | None]:
    model, before = state
    weight = float(part_weights(piece).sum())
    return (learn(model, piece) if weight > 0 else model), (before or 0.0) + weight


def gather_rows(data: Dataset) -> Piece:
    """Return all rows, in memory, with what belongs to them: for models that keep their rows."""
    if data.in_memory is not None:
        return dict(data.in_memory)
    parts = list(data.iterate())
    if not parts:
        raise no_rows()
    return {name: stack_rows([part[name] for part in parts]) for name in parts[0] if name != "place"}


def find_classes(data: Dataset) -> Labels:
    """Return the classes of all rows."""
    found = data.select("y").map_parts(_classes).reduce(_united)
    if found is None:
        raise no_rows()
    return found


class ClassifierInPartsMixin(ClassifierMixin):  # type: ignore[misc]
    """A classifier of scikit-learn whose score takes rows of a cluster, as its fit does."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their classes and weights, as for ``fit``. Rows in parts are read once, where they are.
        """
        data = scored_dataset(self, X, y, sample_weight)
        return float(super().score(X, y, sample_weight)) if data is None else accuracy_in_parts(self, data)


def accuracy_in_parts(model: Any, data: Dataset) -> float:
    """Return the share of rows in parts whose class a model predicts."""
    right, weight = sum_over(data, partial(_right, model_for_parts(model, data)))
    return float(right / weight)


def scored_dataset(model: Any, X: Any, y: Any, sample_weight: Any, **others: Any) -> Dataset | None:
    """Return rows in parts that a fitted model is scored by, and what else belongs to them; None for rows in memory."""
    X = X if getattr(model, "_reads_one_text", False) else open_location(X)
    data = dataset_in_parts(X, y=y, sample_weight=sample_weight, **others)
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


def mean_target(data: Dataset) -> FloatArray:
    """Return the mean of each target of rows in parts, (t,)."""
    sums: FloatArray = sum_over(data.select("y", "sample_weight"), _target_sums)
    return np.asarray(sums[:-1] / sums[-1])


def part_weights(piece: Piece) -> FloatArray:
    """Return the weights of a part's rows, 1 each by default."""
    rows = length(piece["X"] if "X" in piece else piece["y"])
    with validation.one_of_many():
        found = validation.weights(piece.get("sample_weight"), rows)
    return np.ones(rows) if found is None else found


def _with_columns(names: list[str], piece: Piece) -> Piece:
    """Return a part without the columns that a model does not read."""
    return {**piece, "X": select_columns(piece["X"], names)}


def _right(model: Any, piece: Piece) -> FloatArray:
    weights = part_weights(piece)
    beside = {key: piece[key] for key in PER_ROW if key in piece}
    right = np.asarray(model.predict(piece["X"], **beside)) == validation.targets(piece["y"], len(weights))
    return np.array([weights @ right, weights.sum()])


def _target_sums(piece: Piece) -> FloatArray:
    weights = part_weights(piece)
    targets = validation.numbers(piece["y"], len(weights), several=True).reshape(len(weights), -1)
    return np.append(weights @ targets, weights.sum())


def row_wise(name: str, **several: tuple[str, ...]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a method that answers row by row answer datasets in parts, too, where their rows are.

    The result is computed when it is asked for, and of the kind of X: a Dask array, or a Spark data frame with one more
    column, of this name. Of a stream it is an iterator over the answers to each batch.

    Parameters
    ----------
    name
        The column of the answers.
    **several
        By the name of an argument, the columns that are added to it where the argument is given: the method then
        returns a tuple of arrays. Of Dask the result is a tuple of arrays; of Spark, a data frame with all columns.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        arguments = signature(method)

        @wraps(method)
        def answer(*args: P.args, **kwargs: P.kwargs) -> R:
            X = args[1] if len(args) > 1 else kwargs.get("X")
            if isinstance(X, np.ndarray):
                return method(*args, **kwargs)
            model = args[0]
            if not getattr(model, "_reads_one_text", False):
                X = open_location(X)
            elif validation.is_iterator(X):  # over texts, not over batches
                return method(*args, **kwargs)
            data = dataset_in_parts(X, **{key: kwargs[key] for key in PER_ROW if kwargs.get(key) is not None})
            if data is None:
                return method(*args, **kwargs)
            check_is_fitted(model)
            given = arguments.bind(*args, **kwargs).arguments
            named = {key: value for key, value in given.items() if key not in ("self", "X")}
            names = [name, *(column for key, columns in several.items() if named.get(key) for column in columns)]
            ask = partial(_ask_part, method.__name__, model_for_parts(model, data), named)
            found: R = data.map_rows(ask, names, _columns_read(model, X))
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


def _ask_part(method: str, model: Any, arguments: dict[str, Any], piece: Piece) -> Any:
    beside = {key: piece[key] for key in PER_ROW if key in piece}
    return getattr(model, method)(piece["X"], **{**arguments, **beside})


def _classes(piece: Piece) -> Labels:
    return Labels.of(validation.targets(piece["y"], len(piece["y"])))


def _united(one: Labels, two: Labels) -> Labels:
    return one.union(two)[0]


def _sum_part(model: Any, known: Labels, fixed: bool, piece: Piece) -> Learned:
    rows, labels, like = model._one_part(piece, known, fixed)
    return labels, model._sum(*rows, labels), like


def _both(to_keep: Callable[[Any], Any], one: Learned, two: Learned) -> Learned:
    labels = one[0].union(two[0])[0]
    numbers = one[2].dtype.kind in "biuf" and two[2].dtype.kind in "biuf"
    kind = np.result_type(one[2], two[2]) if numbers else object
    return labels, to_keep(one[1]) + two[1], one[2] if one[2].dtype == two[2].dtype else np.empty(0, dtype=kind)
