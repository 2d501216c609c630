"""Warnings about the rows that models are compared on: columns that leak the target, and copies of rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray
from suffice.tables.candidates import Candidate
from suffice.tables.encoding import CodedColumn

if TYPE_CHECKING:
    from suffice.metrics import Evaluation
    from suffice.tables.fitted import FittedTable
    from suffice.tables.importance import Importance
    from suffice.tables.model_search import CrossValidation

Codes = npt.NDArray[np.int64]

#: Least number of rows, and of (held-out) rows outside the largest class, for a judgement about a column.
_FEW_ROWS, _FEW_OTHERS = 40, 10
#: Largest number of classes of which those that are never predicted are named.
_FEW_CLASSES = 10
#: Share of the errors of the baseline, or of the variance, that a column alone must remove.
_ERRORS_REMOVED, _VARIANCE_REMOVED = 0.98, 0.99
#: Share of the loss of the baseline that a model must remove: the log loss, or the squared error or the deviance.
_LOG_LOSS_REMOVED, _LOSS_REMOVED = 0.999, 0.9999
#: Numbers that often stand for missing cells.
_PLACEHOLDER = re.compile("-9|-?99+")
#: Bins of a column of numbers: the most, and the least number of rows of each on average.
_BINS, _ROWS_PER_BIN = 64, 25
#: A column of at least so many values, each in two rows or more, may mark rows that belong together.
_GROUPS = 10
#: Cells that are examined, at least of so many rows.
_CELLS, _LEAST_ROWS = 3_000_000, 2000
#: Code of the warning about a target with one value.
ONE_CLASS = "one-class"


@dataclass(frozen=True)
class Finding:
    """A warning about the rows of a fit.

    Parameters
    ----------
    code
        What was found: ``"target-copy"``, ``"near-perfect-column"``, ``"near-perfect-model"``,
        ``"duplicate-rows"``, ``"placeholder"``, ``"never-predicted"``, ``"few-rows"``, ``"one-class"``, or of an
        evaluation ``"training-rows"``.
    column
        The column; None if it concerns the rows.
    value
        The number that it is based on: a share of rows or of the variance, or a number of rows.
    message
        What was found, with its number, and what to do.

    Examples
    --------
    >>> import numpy as np, pandas as pd, suffice
    >>> y = np.random.default_rng(0).integers(0, 2, 200)
    >>> rows = pd.DataFrame({"x": y * 5 + np.arange(200) % 3, "result": np.where(y, "paid", "open"), "y": y})
    >>> [(each.code, each.column) for each in suffice.fit(rows, "y", "nb").warnings_][-1]
    ('target-copy', 'result')
    """

    code: str
    column: str | None
    value: float
    message: str


def find_warnings(
    trial: CrossValidation, target: str, candidates: Sequence[Candidate], importance: Sequence[Importance]
) -> list[Finding]:
    """Return the warnings about the rows of a cross-validation, and about the chosen model, the first candidate."""
    if trial.task == "classes" and len(trial.labels) == 1:
        message = (
            f"{target} is {str(trial.labels.names[0])!r} in every row, and so in every prediction, until the model is "
            "merged with models of other classes, or learns such rows"
        )
        return [Finding(ONE_CLASS, None, 1.0, message)]
    leaks, chosen = find_leaks(trial, target), candidates[0]
    perfect = None if any(each.column for each in leaks) else _judge_loss(trial, target, candidates, importance)
    others = [perfect, *_find_unpredicted(trial, target, chosen), _judge_size(chosen)]
    return [*leaks, *(each for each in others if each is not None)]


def find_leaks(trial: CrossValidation, target: str) -> list[Finding]:
    """Return the warnings about columns that leak the target, and about copies of rows."""
    rows = min(len(trial.values), max(_CELLS // max(len(trial.sample.features), 1), _LEAST_ROWS))
    some = trial[np.arange(rows)]  # rows are in random order
    places = range(len(trial.sample.features))
    leaks = [each for each in (_judge_column(place, some, target) for place in places) if each is not None]
    leaks = list({each.column: each for each in reversed(leaks)}.values())[::-1]  # the first part of a date
    others = [*(_find_placeholder(place, some) for place in places), _find_duplicates(trial)]
    return [*leaks, *(each for each in others if each is not None)]


def find_evaluation_warnings(model: FittedTable, evaluation: Evaluation) -> list[Finding]:
    """Return the warnings about an evaluation: training rows, and classes that are never predicted."""
    found = []
    if is_training_data(model, evaluation):
        message = (
            f"these are as many rows{' of each class' if evaluation.task == 'classes' else ''} as the model was fitted "
            "to: measures of training rows are too good; judge the model by held-out rows (suffice info) or other rows"
        )
        found.append(Finding("training-rows", None, evaluation.rows, message))
    if evaluation.task == "classes":
        found += _name_unpredicted(model.schema_.target, evaluation.labels.names, evaluation.confusion, "")
    return found


def is_training_data(model: FittedTable, evaluation: Evaluation) -> bool:
    """Whether a table has as many rows, and as many of each class, as the model was fitted to."""
    if evaluation.rows != model.rows_:
        return False
    if evaluation.task != "classes":
        return True
    fitted = model.description_.class_count_
    return bool(np.allclose(evaluation.confusion.sum(axis=1)[: len(fitted)], fitted, rtol=1e-9))


def _judge_column(place: int, trial: CrossValidation, target: str) -> Finding | None:
    """Return the warning about a column that copies the target, or predicts it almost perfectly alone.

    A column with missing cells is judged by all rows, and by those where it is known.
    """
    column = trial.sample.columns[place]
    if isinstance(column, list):
        return None
    known = column.codes >= 0 if isinstance(column, CodedColumn) else ~np.isnan(column)
    found = _judge_cells(place, trial, target, "")
    if found is None and not known.all():
        found = _judge_cells(place, trial[known], target, f" where it is known ({known.mean():.0%} of the rows)")
    return found


def _judge_cells(place: int, trial: CrossValidation, target: str, where: str) -> Finding | None:
    """Return the warning about a column by some rows; ``where`` says which ones."""
    column: Any = trial.sample.columns[place]
    feature, values = trial.sample.features[place], trial.values
    if len(values) < _FEW_ROWS:
        return None
    cure = f"leave it out (--ignore {feature.column}) unless it is known before {target!r}"
    codes, is_exact = _bin_cells(column)
    levels = len(np.unique(codes))
    if trial.groups is None or trial.copies:  # held out by no group that the user has named
        classes = len(trial.labels) if trial.task == "classes" else 1
        if is_exact and feature.part is None and max(_GROUPS, 3 * classes) <= levels <= len(values) / 2:
            cure = (
                f"if its {levels:,} values mark rows that belong together, such as those of a customer, hold these out "
                f"together (--group {feature.column}); else {cure}"
            )
    if trial.task == "classes":
        counts = np.bincount(values)
        if len(values) - counts.max() < _FEW_OTHERS:
            return None
        if is_exact and _is_copy(codes, values):
            rows = where or f" in all {len(values):,} rows"
            message = f"column {feature.name!r} is a copy of the target {target!r}{rows}: {cure}"
            return Finding("target-copy", feature.column, 1.0, message)
        wrong, baseline = _count_errors(codes, trial)
        if not is_exact and trial.groups is None:
            wrong = min(wrong, _count_changes(column, trial))
        if baseline >= _FEW_OTHERS and wrong <= (1 - _ERRORS_REMOVED) * baseline:
            right = 1 - wrong / int(trial.tested.sum())
            message = (
                f"column {feature.name!r} alone predicts {target!r} right in {right:.1%} of held-out rows{where}, the "
                f"largest class in {1 - baseline / int(trial.tested.sum()):.1%}: {cure}"
            )
            return Finding("near-perfect-column", feature.column, right, message)
        return None
    removed = ordered = 0.0
    if not isinstance(column, CodedColumn):
        removed, ordered = _linear_share(column, values), _linear_share(_rank(column), _rank(values))
    if removed > 1 - 1e-12:
        message = f"column {feature.name!r} is a linear function of the target {target!r}{where}: {cure}"
        return Finding("target-copy", feature.column, removed, message)
    removed = max(removed, _variance_share(codes, trial))
    if removed >= _VARIANCE_REMOVED:
        message = f"column {feature.name!r} alone explains {removed:.1%} of the variance of {target!r}{where}: {cure}"
        return Finding("near-perfect-column", feature.column, removed, message)
    if ordered >= _VARIANCE_REMOVED:
        message = (
            f"column {feature.name!r} alone orders the rows as {target!r} does{where}, with a rank correlation of "
            f"{ordered**0.5:.3f}: {cure}"
        )
        return Finding("near-perfect-column", feature.column, ordered, message)
    return None


def _find_placeholder(place: int, trial: CrossValidation) -> Finding | None:
    """Return the warning about a number such as -999, far from all others, that may stand for missing cells."""
    column, feature = trial.sample.columns[place], trial.sample.features[place]
    if feature.kind not in ("numeric", "count") or feature.part is not None or not isinstance(column, np.ndarray):
        return None
    known = column[~np.isnan(column)]
    for value in {known.min(), known.max()} if len(known) else ():
        others = known[known != value]
        rows = len(known) - len(others)
        if not len(others) or rows < 2 or not _PLACEHOLDER.fullmatch(f"{value:.10g}"):
            continue
        if np.abs(others - value).min() > max(np.ptp(others), 1):
            message = (
                f"column {feature.column!r} is {value:g} in {rows:,} of {len(known):,} rows, and {others.min():g} to "
                f"{others.max():g} in the others: if {value:g} stands for a missing cell, give --missing {value:g}"
            )
            return Finding("placeholder", feature.column, rows / len(known), message)
    return None


def _bin_cells(column: Any) -> tuple[Codes, bool]:
    """Return the code of each cell, and whether each value has its own; missing cells have the code 0."""
    if isinstance(column, CodedColumn):
        return column.codes.astype(np.int64) + 1, True
    known = ~np.isnan(column)
    distinct, counts = np.unique(column[known], return_counts=True)
    is_exact = len(distinct) <= _BINS
    bins = min(_BINS, len(column) // _ROWS_PER_BIN + 1)
    edges = distinct
    if not is_exact:  # lower quantiles are cells; many equal cells have a bin of their own, up to the next larger cell
        edges = np.unique(np.quantile(column[known], np.arange(bins) / bins, method="lower"))
        places = np.searchsorted(distinct, edges)
        frequent = places[counts[places] >= _ROWS_PER_BIN] + 1
        edges = np.union1d(edges, distinct[frequent[frequent < len(distinct)]])
    return np.where(known, np.searchsorted(edges, column, side="left" if is_exact else "right") + 1, 0), is_exact


def _is_copy(codes: Codes, values: Codes) -> bool:
    """Whether codes and classes correspond one to one."""
    pairs = len(np.unique(codes * (int(values.max()) + 1) + values))
    return bool(pairs == len(np.unique(codes)) == len(np.unique(values)))


def _count_errors(codes: Codes, trial: CrossValidation) -> tuple[int, int]:
    """Return the errors on held-out rows of the most frequent class of each code, and of the largest class."""
    k, bins = len(trial.labels), int(codes.max()) + 1
    if bins * k > 20 * len(codes):
        return len(codes), 0  # nearly every row has a level of its own
    cells = codes * k + trial.values
    wrong = baseline = 0
    for number in trial.tested_folds:
        fold = trial.places == number
        others = np.bincount(cells[trial.training_rows(number)], minlength=bins * k).reshape(bins, k)
        frequencies = others.sum(axis=0)
        best = (others + frequencies / max(frequencies.sum(), 1)).argmax(axis=1)  # the largest class of unseen codes
        wrong += int((best[codes[fold]] != trial.values[fold]).sum())
        baseline += int((trial.values[fold] != frequencies.argmax()).sum())
    return wrong, baseline


def _count_changes(column: FloatArray, trial: CrossValidation) -> int:
    """Return how many held-out rows have another class than the row with the next smaller cell.

    These are few if the column orders the rows by their class, as the numbers of a sorted table do.
    """
    order = np.argsort(column, kind="stable")
    changes = np.append(False, np.diff(trial.values[order]) != 0)
    return int((changes & trial.tested[order]).sum())


def _linear_share(column: FloatArray, values: FloatArray) -> float:
    """Return the squared correlation of the known cells with the target."""
    known = ~np.isnan(column)
    if known.sum() < _FEW_ROWS or not np.ptp(column[known]) or not np.ptp(values[known]):
        return 0.0
    with np.errstate(all="ignore"):
        found = float(np.corrcoef(column[known], values[known])[0, 1] ** 2 * known.mean())
    return found if np.isfinite(found) else 0.0


def _rank(cells: FloatArray) -> FloatArray:
    """Return the rank of each cell, the mean one of equal cells; NaN for missing cells."""
    _, places, counts = np.unique(cells, return_inverse=True, return_counts=True)
    return np.where(np.isnan(cells), np.nan, (counts.cumsum() - (counts - 1) / 2)[places])


def _variance_share(codes: Codes, trial: CrossValidation) -> float:
    """Return the share of the variance of held-out rows that the mean of each code removes."""
    bins = int(codes.max()) + 1
    left = variance = 0.0
    for number in trial.tested_folds:
        fold, others = trial.places == number, trial.training_rows(number)
        mean = trial.values[others].mean()
        sums = np.bincount(codes[others], trial.values[others] - mean, bins)
        means = sums / np.maximum(np.bincount(codes[others], minlength=bins), 1)
        gaps = trial.values[fold] - mean
        left += float(((gaps - means[codes[fold]]) ** 2).sum())
        variance += float((gaps**2).sum())
    share = 1 - left / variance if variance else 0.0
    return share if np.isfinite(share) else 0.0


def _find_duplicates(trial: CrossValidation) -> Finding | None:
    """Return the warning about copies of rows."""
    if not trial.copies:
        return None
    rows = len(trial.values)
    share = trial.copies / rows
    message = (
        f"{trial.copies:,} of {rows:,} compared rows ({share:.1%}) are copies of other rows, equal in every column: "
        "copies are held out together, but count as often in the fit as they occur; remove them if that is not intended"
    )
    return Finding("duplicate-rows", None, share, message)


def _find_unpredicted(trial: CrossValidation, target: str, chosen: Candidate) -> list[Finding]:
    """Return a warning about each class of held-out rows that is never predicted."""
    return _name_unpredicted(target, trial.labels.names, np.array(chosen.confusion), "held-out ")


def _name_unpredicted(target: str, names: Sequence[Any], confusion: npt.NDArray[Any], kind: str) -> list[Finding]:
    """Return a warning about each class that has rows, and is predicted for none; of few classes."""
    if not confusion.size or len(names) > _FEW_CLASSES:
        return []
    found = []
    for code in np.flatnonzero((confusion.sum(axis=0) == 0) & (confusion.sum(axis=1) > 0)).tolist():
        rows, share = confusion[code].sum(), float(confusion[code].sum() / confusion.sum())
        message = (
            f"{target} = {str(names[code])!r} is never predicted for {kind}rows, though it is the truth in {rows:,.0f} "
            f"of them ({share:.1%}): accuracy hides that; choose a threshold (--cost, --threshold) or use probabilities"
        )
        found.append(Finding("never-predicted", None, share, message))
    return found


def _judge_loss(
    trial: CrossValidation, target: str, candidates: Sequence[Candidate], importance: Sequence[Importance]
) -> Finding | None:
    """Return the warning about a model that leaves almost nothing of the loss of the baseline."""
    baseline = next((each.loss for each in candidates if each.is_baseline), 0.0)
    if not baseline > 0 or len(trial.values) < _FEW_ROWS:
        return None
    left = candidates[0].loss / baseline
    removed = 1 - (left**2 if trial.task == "numbers" else left)
    if not removed >= (_LOG_LOSS_REMOVED if trial.task == "classes" else _LOSS_REMOVED):
        return None
    columns = " and ".join(repr(each.column) for each in importance[:2])
    message = (
        f"{candidates[0].model} leaves {1 - removed:.1g} of the baseline's loss on held-out rows, suspiciously little: "
        f"columns may determine {target!r} together{f', above all {columns}' if columns else ''}; leave out (--ignore) "
        f"what is not known before {target!r}"
    )
    return Finding("near-perfect-model", None, removed, message)


def _judge_size(chosen: Candidate) -> Finding | None:
    """Return the warning about a comparison of few rows, with the interval of the loss."""
    if chosen.rows >= _FEW_ROWS or not chosen.intervals:
        return None
    low, high = chosen.intervals["loss"]
    message = (
        f"{chosen.rows} held-out rows are too few to compare models: the loss of {chosen.model} is {chosen.loss:.3g} "
        f"on them, and between {low:.3g} and {high:.3g} with 95 % confidence"
    )
    return Finding("few-rows", None, chosen.rows, message)
