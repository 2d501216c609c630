"""Cross-validation of datasets in parts: folds are summed and scored where the parts are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.data import Dataset
from suffice.data.dataset import no_rows
from suffice.data.refusals import refused_in_parts
from suffice.selection import tuning
from suffice.selection.rows import Codes, Rows, SummedModel, estimate_joints, sums_of_others
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray

#: The number of rows of each class in the parts before one, by the place of the part.
Before = dict[tuple[int, int], npt.NDArray[np.int64]]


def scores_in_parts(models: Sequence[SummedModel], data: Dataset, folds: Any, scoring: Any) -> list[list[float]]:
    """Return the scores of models that share their sums, fold by fold; the folds are those of rows in memory.

    Parts of the dataset are :class:`~suffice.selection.rows.Rows`.
    """
    if callable(scoring):
        raise refused_in_parts("scoring functions", getattr(scoring, "__name__", repr(scoring)))
    if not isinstance(folds, str | int | np.integer):
        raise refused_in_parts("folds by position", repr(folds))
    first = models[0]
    counted = sorted(data.map_parts(_count_classes).iterate(), key=lambda found: found[0])
    if not counted:
        raise no_rows()
    labels = Labels.of([name for _, found, _ in counted for name in found])
    before, totals, order = _before(labels, counted)
    if isinstance(folds, str):
        whole = data.map_parts(partial(_fold_sums, first, labels, before, _all_alike(totals))).reduce(_each_added)
        assert whole is not None
        scored = data.map_parts(partial(_left_out, models, whole[0], labels, scoring)).reduce(_both)
    else:
        allocation = _allocation(totals, order, int(folds))
        sums = data.map_parts(partial(_fold_sums, first, labels, before, allocation)).reduce(_each_added)
        assert sums is not None
        others = sums_of_others(sums)
        scored = data.map_parts(partial(_held_out, models, others, labels, before, allocation, scoring)).reduce(_both)
    assert scored is not None
    values, weights = scored  # (models, folds), (folds,)
    return [list(map(float, row / weights)) for row in values]


def _count_classes(rows: Rows) -> tuple[tuple[int, int], list[Any], npt.NDArray[np.int64]]:
    """Return the place of a part, its classes as they first appear, and how many rows of each it has."""
    if rows.place is None:
        raise ValueError(
            "the parts of a Dataset must hold their 'place', a tuple of two whole numbers by which parts are ordered, "
            "to be cut into folds"
        )
    _, first, counts = np.unique(rows.codes, return_index=True, return_counts=True)
    order = np.argsort(first)
    return rows.place, [rows.labels.names[code] for code in order], counts[order]


def _before(labels: Labels, counted: Sequence[Any]) -> tuple[Before, npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Return the rows of each class before every part, in all, and the classes in the order of their first rows."""
    totals = np.zeros(len(labels), dtype=np.int64)
    before, appeared = {}, {}
    for place, found, counts in counted:
        before[place] = totals.copy()
        codes = labels.encode(found)
        totals[codes] += counts
        appeared.update(dict.fromkeys(codes.tolist()))
    return before, totals, np.array(list(appeared), dtype=np.intp)


def _all_alike(totals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return totals[None, :]


def _allocation(totals: npt.NDArray[np.int64], order: npt.NDArray[np.intp], folds: int) -> npt.NDArray[np.int64]:
    """Return how many rows of each class go to each fold, (folds, k), as scikit-learn's StratifiedKFold counts them."""
    if folds < 2:
        raise ValueError(f"folds must be at least 2; got {folds}")
    if folds > totals.sum():
        raise ValueError(f"{totals.sum()} rows cannot be cut into {folds} folds")
    ends = np.cumsum(totals[order])
    starts = ends - totals[order]
    # Of the rows in order of their classes, which are ordered by their first rows, every folds-th goes to a fold.
    fold = np.arange(folds)[:, None]
    allocation = np.empty((folds, len(totals)), dtype=np.int64)
    allocation[:, order] = (ends - fold + folds - 1) // folds - (starts - fold + folds - 1) // folds
    return allocation


def _folds(codes: Codes, before: npt.NDArray[np.int64], allocation: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the fold of each row: a class's rows fill one fold after another, in their order."""
    fold = np.empty(len(codes), dtype=np.int64)
    for code in np.unique(codes):
        places = np.flatnonzero(codes == code)
        ends = np.cumsum(allocation[:, code])
        fold[places] = np.searchsorted(ends, before[code] + np.arange(len(places)), "right")
    return fold


def _folds_of(rows: Rows, before: Before, allocation: npt.NDArray[np.int64]) -> list[Rows]:
    """Return the rows of a part, fold by fold."""
    assert rows.place is not None
    fold = _folds(rows.codes, before[rows.place], allocation)
    return [rows.take(np.flatnonzero(fold == number)) for number in range(len(allocation))]


def _fold_sums(
    model: SummedModel, labels: Labels, before: Before, allocation: npt.NDArray[np.int64], rows: Rows
) -> list[Statistics]:
    """Return the sum of each fold's rows in a part."""
    parts = _folds_of(rows.with_labels(labels), before, allocation)
    return [model.sum_rows(part, complete=False) for part in parts]


def _each_added(one: list[Statistics], two: list[Statistics]) -> list[Statistics]:
    return [mine + theirs for mine, theirs in zip(one, two, strict=True)]


def _held_out(
    models: Sequence[SummedModel],
    others: Sequence[Statistics],
    labels: Labels,
    before: Before,
    allocation: npt.NDArray[np.int64],
    scoring: str,
    rows: Rows,
) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the rows of a part, added up by model and fold, and the weights of the folds."""
    values, weights = np.zeros((len(models), len(allocation))), np.zeros(len(allocation))
    for number, part in enumerate(_folds_of(rows.with_labels(labels), before, allocation)):
        if not len(part):
            continue
        joints = models[0].score_rows(estimate_joints(models, others[number]), part.x, "joint")
        values[:, number] = [_score(scoring, model, part, joint) for model, joint in zip(models, joints, strict=True)]
        weights[number] = part.weights.sum()
    return values, weights


def _left_out(
    models: Sequence[SummedModel], whole: Statistics, labels: Labels, scoring: str, rows: Rows
) -> tuple[FloatArray, FloatArray]:
    rows = rows.with_labels(labels)
    values = [[_score(scoring, model, rows, model.score_left_out(whole, rows))] for model in models]
    return np.array(values), np.array([rows.weights.sum()])


def temperature_of(model: SummedModel) -> float:
    """Return the temperature of a model that is not fitted: nothing has chosen one that is "auto"."""
    return 1.0 if model.temperature == "auto" else float(model.temperature)


def _score(scoring: str, model: SummedModel, rows: Rows, joint: Any) -> float:
    """Return the sum of the rows' scores."""
    if scoring == "accuracy":
        return float(rows.weights @ (np.asarray(joint).argmax(axis=1) == rows.codes))
    log_p = tuning.log_posterior(np.asarray(joint) / temperature_of(model))[np.arange(len(rows)), rows.codes]
    return float(rows.weights @ np.maximum(log_p, tuning.LEAST))


def _both(one: tuple[FloatArray, FloatArray], two: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    return one[0] + two[0], one[1] + two[1]
