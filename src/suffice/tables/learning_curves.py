"""Learning curves of generative and discriminative models on a table."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.metrics import row_losses
from suffice.model_types import MODEL_TYPES, ModelType, Task
from suffice.selection.folds import assign_folds
from suffice.statistics.base import FloatArray
from suffice.tables import scan
from suffice.tables.candidates import find_model_type
from suffice.tables.errors import TableError, UsageError, nearest
from suffice.tables.findings import Finding, find_leaks
from suffice.tables.model_search import (
    CrossValidation,
    fit_temperature,
    predict_constant,
    predict_held_out,
    split_rows,
)
from suffice.tables.predictors import Predictor, make_predictor
from suffice.tables.schema import Roles, Schema
from suffice.tables.sources import open_table
from suffice.tables.sources.base import Watch

if TYPE_CHECKING:
    from suffice.typing import TableLike

#: Share of the rows that are test rows, and their largest number.
_TESTED = 1 / 3
_MOST_TESTED = 10_000
#: Folds of the calibration of generative models.
_FOLDS = 5


@dataclass(frozen=True)
class Comparison:
    """Learning curves: the loss of models against the number of training rows.

    Parameters
    ----------
    sizes
        Numbers of training rows, (s,).
    curves
        Mean loss of each model on test rows, (s,); NaN where it could not be fitted.
    spreads
        Standard error of that mean over the repeats, (s,).
    generative
        Whether each model is generative.
    measure
        Name of the loss.
    rows
        Number of rows of the table.
    baseline
        Mean loss on test rows of the class frequencies, or the mean, of the training rows, (s,).
    warnings
        Columns that leak the target, and copies of rows.
    notes
        How the table and its columns are read, where that is not obvious.
    """

    sizes: npt.NDArray[np.int64]
    curves: dict[str, FloatArray]
    spreads: dict[str, FloatArray]
    generative: dict[str, bool]
    measure: str
    rows: int
    baseline: FloatArray
    warnings: list[Finding]
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """The model with the lowest loss at the largest size."""
        last = {name: curve[np.isfinite(curve)][-1] for name, curve in self.curves.items() if np.isfinite(curve).any()}
        return min(last, key=lambda name: last[name])


def compare(
    table: TableLike,
    target: str,
    models: tuple[str, ...] = (),
    *,
    columns: Any = None,
    task: str | None = None,
    measure: str | None = None,
    sizes: int = 8,
    repeats: int = 10,
    seed: int = 0,
    group: str | None = None,
    time: str | None = None,
    weight: str | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """Return the learning curves of models on a table.

    Parameters
    ----------
    table, target
        As for :func:`suffice.fit`.
    models
        Names of the models; generative and discriminative ones in pairs by default.
    columns, task
        Kinds of columns and the task, as for :class:`TableModel`.
    measure
        "log loss" or "error" for classes, "squared error" for numbers, "deviance" or "squared error" for counts; the
        first by default, by which :func:`suffice.fit` chooses, too.
    sizes
        Number of training set sizes, from a few rows to two thirds of all rows.
    repeats
        Number of random draws of each size.
    seed
        Seed of the draws.
    group, time, weight
        Columns, as for :class:`TableModel`: test rows are of other groups, or later, than all training rows; losses are
        weighted.
    watch
        Progress callback.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> found = compare(load_iris(as_frame=True).frame, "target", ("nb", "gda"), repeats=2, sizes=3)
    >>> sorted(found.curves), found.sizes.tolist()
    (['gda', 'nb'], [12, 34, 100])
    """
    roles = Roles(group, time, weight)
    found = scan.scan_table(scan.StreamScan(open_table(table), watch=watch), target, columns, task, roles=roles)
    model_types = _model_types(found.schema, models)
    measures = {
        "classes": ("log loss", "error"),
        "numbers": ("squared error",),
        "counts": ("deviance", "squared error"),
    }
    allowed = measures[found.schema.task]
    measure = measure or allowed[0]
    if measure not in allowed:
        raise UsageError(
            f"{measure!r} is not a measure of {found.schema.task}; use {' or '.join(allowed)}"
            f"{nearest(measure, allowed)}"
        )
    rows_compared = found.comparison_sample(seed)
    trial = split_rows(rows_compared, found.schema, found.labels, seed=seed)
    block, values, groups, times = rows_compared.sample, rows_compared.values, trial.groups, rows_compared.times
    random = np.random.default_rng(seed)
    few = max(10, 4 * len(found.labels))
    tested = min(int(len(values) * _TESTED), _MOST_TESTED)
    most = len(values) - tested
    if most < few:
        raise TableError(f"{len(values)} rows are too few to draw a learning curve from: {3 * few // 2} are needed")
    counts = np.unique(np.geomspace(few, most, sizes).astype(np.int64))
    errors: dict[str, list[list[float]]] = {model_type.name: [[] for _ in counts] for model_type in model_types}
    guessed: list[list[float]] = [[] for _ in counts]
    for repeat in range(repeats):
        test, rest = _split(random.permutation(len(values)), tested, groups, times)
        rest = _each_class_first(rest, values) if found.schema.task == "classes" else rest
        for place, count in enumerate(counts):
            if watch is not None:
                watch("drawing curves", repeat * len(counts) + place, repeats * len(counts))
            if repeat >= 3 and count > most // 2 and count > 5000:
                continue  # draws of many rows hardly differ
            rows = rest[:count]
            guess = predict_constant(found.schema.task, values[rows], trial.weights[rows], len(found.labels))
            guessed[place].append(_loss(found.schema.task, guess, block[test], values[test], measure))
            for model_type in model_types:
                with suppress(ValueError, ArithmeticError):  # too few rows for the model, or no variance
                    model = _fitted(model_type, found, block[rows], values[rows], seed)
                    errors[model_type.name][place].append(_error(model, block[test], values[test], measure))
    return Comparison(
        counts,
        {name: np.array([np.mean(each) if each else np.nan for each in rows]) for name, rows in errors.items()},
        {name: np.array([_standard_error(each) for each in rows]) for name, rows in errors.items()},
        {model_type.name: model_type.generative for model_type in model_types},
        measure,
        found.rows,
        np.array([np.mean(each) for each in guessed]),
        find_leaks(trial, target),
        found.schema.notes,
    )


def _split(
    order: npt.NDArray[np.int64],
    tested: int,
    groups: npt.NDArray[np.int64] | None,
    times: FloatArray | None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return test rows and training rows, in a given order: of other groups, or test rows later than training rows."""
    if times is not None:
        bound = np.sort(times)[len(times) - tested]
        is_test = times >= bound if bound > times.min() else times > bound  # rows of the same time are not split
    elif groups is not None:
        first = np.unique(groups[order], return_index=True)[1]  # groups are in the order of their first row
        rows = np.bincount(groups)[np.argsort(first)]
        test_groups = np.argsort(first)[: max(int(np.searchsorted(np.cumsum(rows), tested, side="right")), 1)]
        is_test = np.isin(groups, test_groups)
    else:
        return order[:tested], order[tested:]
    return order[is_test[order]], order[~is_test[order]]


def _model_types(schema: Schema, models: tuple[str, ...]) -> list[ModelType]:
    if models:
        return [find_model_type(name, schema) for name in models]
    kinds = {feature.kind for feature in schema.features}
    if schema.task == "classes":
        names = ["nb", *(["gda"] if kinds & {"numeric", "count"} else []), "logistic"]
        names += ["additive"] if kinds & {"numeric", "count"} else []
        return [MODEL_TYPES[name] for name in names]
    return [MODEL_TYPES[name] for name in (["poisson"] if schema.task == "counts" else []) + ["linear", "additive"]]


def _each_class_first(rows: npt.NDArray[np.int64], values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return row indices with two of each class first, which every model needs."""
    first = np.concatenate([rows[values[rows] == code][:2] for code in np.unique(values)])
    return np.concatenate([first, rows[~np.isin(rows, first)]])


def _fitted(
    model_type: ModelType, found: scan.ScanResult, block: Any, values: npt.NDArray[Any], seed: int
) -> Predictor:
    """Return a model fitted to and calibrated on some rows, as :func:`suffice.fit` does."""
    model = make_predictor(model_type, found.schema.task, found.labels)
    model.prepare(block)
    model.learn([(block, values)])
    if model_type.is_tempered:
        folds = assign_folds(values, min(_FOLDS, len(values) // 2), np.random.default_rng(seed))
        trial = CrossValidation(block, values, folds, found.schema.task, found.labels)
        with suppress(ValueError, ArithmeticError):  # too few rows for cross-validation: a temperature of 1
            scores = predict_held_out(model_type, 1.0, trial).scores
            model.set_temperature(fit_temperature(scores, values, trial.weights))
    return model


def _error(model: Predictor, block: Any, values: npt.NDArray[Any], measure: str) -> float:
    return _loss(model.task, model.scores(block), block, values, measure)


def _loss(task: Task, scores: FloatArray, block: Any, values: npt.NDArray[Any], measure: str) -> float:
    """Return the mean loss of predictions; one prediction is that of all rows."""
    found = row_losses(task, np.broadcast_to(scores, (len(values), *scores.shape[1:])), values)
    if measure == "error":
        return float(1 - np.average(found["accuracy"], weights=block.weights))
    return float(np.average(found[measure], weights=block.weights))


def _standard_error(errors: list[float]) -> float:
    return float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else float("nan")
