"""Samples, sums and classes of datasets in parts, for all estimators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from suffice import validation
from suffice.data.dataset import Dataset, Piece, length, model_for_parts, no_rows
from suffice.data.sample import draw_rows, merge_samples, stack_rows
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray


def sample_rows(data: Dataset, model: Any = None) -> Piece:
    """Return a sample of rows in parts, with their other entries; a model is given if parts may differ in width."""
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


def learn_in_order(model: Any, data: Dataset, learn: Callable[[Any, Piece], Any]) -> None:
    """Fit a model to parts in order; its state is passed from worker to worker.

    Parameters
    ----------
    learn
        Returns a model that has also learned a part, without changing the given one. Parts whose weights are all zero
        are skipped.
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
    """Return all rows in memory, with their other entries, for models that keep their rows."""
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


def _target_sums(piece: Piece) -> FloatArray:
    weights = part_weights(piece)
    targets = validation.numbers(piece["y"], len(weights), several=True).reshape(len(weights), -1)
    return np.append(weights @ targets, weights.sum())


def _classes(piece: Piece) -> Labels:
    return Labels.of(validation.targets(piece["y"], len(piece["y"])))


def _united(one: Labels, two: Labels) -> Labels:
    return one.union(two)[0]
