"""Model selection for tables: generative and discriminative candidates compared by cross-validation."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.model_types import ModelType, Task
from suffice.selection.folds import assign_folds, assign_folds_by_time
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.candidates import BASELINE, Candidate
from suffice.tables.encoding import Block
from suffice.tables.errors import TableError
from suffice.tables.predictors import Predictor, make_predictor
from suffice.tables.row_sample import find_copies
from suffice.tables.schema import Schema
from suffice.tables.sources.base import Watch

if TYPE_CHECKING:
    from suffice.tables.scan import ComparisonRows

#: Least number of rows for a temperature below 1, which makes posteriors more confident.
_MANY = 1000
#: Least and largest penalty that is tried.
_WEAKEST, _STRONGEST = 1e-3, 1e3
#: Rows per column from which the penalty is not tuned, as it hardly matters.
_PLENTY = 100
#: Largest number of rows for the comparison of local models, which fit once per row.
_NEAR_ROWS = 500
#: Least relative improvement of the loss for another penalty.
_WORTH = 0.005
#: Rows times features times predictors that are learned anew in a cross-validation: of larger tables, fewer folds are
#: held out.
_WORK = 800_000
#: Largest number of classes for the confusion matrix of a candidate.
_CONFUSED = 50
#: Models, the simplest first: the simplest within one standard error of the best is chosen.
SIMPLEST_FIRST = ("text", "nb", "gda", "poisson", "linear", "logistic", "softmax", "gda-full", "additive", "local")


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Rows of the cross-validation."""

    sample: Block
    values: npt.NDArray[Any]  # codes of the classes, or numbers
    places: npt.NDArray[np.int64]  # the fold of each row
    task: Task
    labels: Labels
    held: int | None = None  # how many folds are held out, one after another; None: all
    groups: npt.NDArray[np.int64] | None = None  # of rows that are in one fold: copies of a row, for example
    copies: int = 0  # rows of the sample that repeat another one
    times: FloatArray | None = None  # of rows whose folds are in their order: models are fitted to earlier ones only
    positive: int = 1  # code of the class whose precision and recall are measured

    def __getitem__(self, rows: Any) -> CrossValidation:
        groups, times = (None if each is None else each[rows] for each in (self.groups, self.times))
        sample, values, places = self.sample[rows], self.values[rows], self.places[rows]
        return replace(self, sample=sample, values=values, places=places, groups=groups, times=times)

    @property
    def is_ordered(self) -> bool:
        """Whether models are fitted to earlier folds only."""
        return self.times is not None

    @property
    def tested_folds(self) -> range:
        """The folds that are held out."""
        count = int(self.places.max()) + 1
        held = count if self.held is None else min(self.held, count)
        return range(max(1, count - held), count) if self.is_ordered else range(held)

    def training_folds(self, fold: int) -> list[int]:
        """Return the folds that the model of a held-out fold is fitted to."""
        return [each for each in range(fold if self.is_ordered else int(self.places.max()) + 1) if each != fold]

    def training_rows(self, fold: int) -> npt.NDArray[np.int64]:
        """Return the indices of the rows that the model of a held-out fold is fitted to."""
        return np.flatnonzero(self.places < fold if self.is_ordered else self.places != fold)

    @property
    def weights(self) -> FloatArray:
        """The weight of each row."""
        return np.ones(len(self.values)) if self.sample.weights is None else self.sample.weights

    @property
    def tested(self) -> npt.NDArray[np.bool_]:
        """Whether each row is held out once."""
        return np.isin(self.places, self.tested_folds)


def split_rows(
    rows: ComparisonRows, schema: Schema, labels: Labels, folds: int = 5, seed: int = 0, positive: int = 1
) -> CrossValidation:
    """Return rows with their folds; of a table with many rows and classes, only some folds are held out.

    Rows of a group are in one fold. Without groups, copies of a row are in its fold: held out, a row is not unseen if a
    copy of it was learned. If rows have times, folds are in their order.
    """
    sample, values, groups, times = rows
    folds = max(2, min(folds, len(values) // 2))
    work = len(values) * len(sample.features) * (len(labels) if len(labels) > 2 else 1)
    held = min(max(_WORK // max(work, 1), 1), folds)
    trial = CrossValidation(sample, values, np.zeros(0, dtype=np.int64), schema.task, labels, held, positive=positive)
    if times is not None:
        if np.ptp(times) == 0:
            raise TableError(
                f"the time column {schema.roles.time!r} has one value only: there is no past and no future; leave it "
                "out"
            )
        places = assign_folds_by_time(times, folds)
        if schema.task == "classes":  # models need rows of each class
            first = max(int(places[values == code].min()) for code in np.unique(values)) + 1
            held = max(min(held, int(places.max()) + 1 - first), 1)
        return replace(trial, places=places, times=times, held=held)
    if groups is not None:
        folds = min(folds, int(groups.max()) + 1)
    else:
        groups = find_copies(sample, values, labels)
        trial = replace(trial, copies=0 if groups is None else len(values) - int(groups.max()) - 1)
    return replace(trial, places=assign_folds(values, folds, np.random.default_rng(seed), groups), groups=groups)


class HeldOut(NamedTuple):
    """Predictions of held-out rows by the models of the other folds."""

    trial: CrossValidation
    scores: FloatArray  # log-scores, (n, k), or expected numbers, (n,); 0 of rows that are not held out
    models: dict[int, Predictor]  # by held-out fold
    temperature: float = 1.0  # that the scores of the models are divided by


def evaluate_candidates(
    model_types: Sequence[ModelType], trial: CrossValidation, seed: int = 0, watch: Watch | None = None
) -> tuple[list[Candidate], HeldOut | None]:
    """Return the cross-validated losses of models, the chosen one first; those that cannot be fitted come last.

    And the predictions of the chosen model for held-out rows; None if it cannot be fitted.

    Among them is the baseline, which is never chosen: the class frequencies, or the mean, of the other folds.
    Chosen is the simplest model within one standard error of the lowest loss: the standard error of the difference, row
    by row. Models that are fitted from sums are summed once per fold, and the sums of the other folds are added; others
    are refitted for each fold.
    """
    values, random = trial.values, np.random.default_rng(seed)
    few_rows = np.arange(len(values))
    if len(values) > _NEAR_ROWS:
        few_rows = np.sort(random.choice(len(values), _NEAR_ROWS, replace=False))
    few = trial[few_rows]
    found: list[tuple[Candidate, FloatArray]] = []
    held_out: dict[str, HeldOut] = {}
    with suppress(ValueError):  # where no loss is finite, the models say so
        found.append(_evaluate_baseline(trial))
    for number, model_type in enumerate(model_types):
        if watch is not None:
            watch(f"trying {model_type.name}", number, len(model_types))
        start = time.perf_counter()
        losses = np.full(len(values), np.nan)
        try:
            near = model_type.reads == "near"
            candidate, some, held_out[model_type.name] = _tune_penalty(model_type, few if near else trial)
            losses[few_rows if near else slice(None)] = some
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
            why = (str(error) or type(error).__name__).splitlines()[0]
            candidate = Candidate(model_type.name, model_type.title, model_type.generative, np.nan, np.nan, why=why)
        found.append((replace(candidate, seconds=time.perf_counter() - start), losses))
    compared = choose_simplest(found, trial.groups, trial.sample.weights)
    return compared, held_out.get(compared[0].model)


def choose_simplest(
    found: Sequence[tuple[Candidate, FloatArray]],
    groups: npt.NDArray[np.int64] | None = None,
    weights: FloatArray | None = None,
) -> list[Candidate]:
    """Return candidates in the order of their losses, after the simplest within one standard error of the lowest.

    The baseline is neither chosen nor the lowest.

    Parameters
    ----------
    found
        Each candidate, with its loss of each row; NaN of rows that were not held out.
    groups
        The group of each row, if rows of a group are not independent of each other.
    weights
        The weight of each row; all the same by default.

    Examples
    --------
    >>> simple = Candidate("nb", "", True, 1.1, 0.5), np.array([1.0, 1.2, np.nan])
    >>> best = Candidate("logistic", "", False, 1.0, 0.5), np.array([1.2, 0.8, np.nan])
    >>> [(each.model, round(each.behind, 3), round(each.behind_error, 3)) for each in choose_simplest([best, simple])]
    [('nb', 0.1, 0.3), ('logistic', 0.0, 0.0)]
    """
    from suffice.metrics import mean_and_error

    ranked = sorted(found, key=lambda each: (np.isnan(each[0].loss), each[0].loss))
    compared = []
    lowest = next(losses for candidate, losses in ranked if not candidate.is_baseline)
    for candidate, losses in ranked:
        gap = losses - lowest
        known = ~np.isnan(gap)
        if known.sum() > 1:
            behind, error = mean_and_error(
                gap[known],
                None if weights is None else weights[known],
                None if groups is None else groups[known],
            )
            candidate = replace(candidate, behind=behind, behind_error=error)
        compared.append(candidate)
    models = [each for each in compared if not each.is_baseline]
    near = [each for each in models if not each.why and each.behind <= each.behind_error]
    chosen = min(near, key=lambda each: SIMPLEST_FIRST.index(each.model), default=models[0])
    return [chosen, *(each for each in compared if each is not chosen)]


def is_no_better_than_baseline(candidates: Sequence[Candidate]) -> bool:
    """Whether the baseline is within one standard error of the lowest loss, row by row.

    Examples
    --------
    >>> model = Candidate("nb", "", True, 0.68, 0.02), np.array([0.6, 0.8])
    >>> baseline = Candidate("baseline", "", False, 0.69, 0.0), np.array([0.69, 0.69])
    >>> is_no_better_than_baseline(choose_simplest([model, baseline]))
    True
    """
    return any(each.is_baseline and not each.why and each.behind <= each.behind_error for each in candidates)


def _tune_penalty(model_type: ModelType, trial: CrossValidation) -> tuple[Candidate, FloatArray, HeldOut]:
    """Return the cross-validated loss of a model with the best penalty, that of each row, and the predictions."""
    best = _evaluate(model_type, 1.0, trial)
    if not model_type.is_penalised or len(trial.values) >= _PLENTY * best[0].columns:
        return best
    for step in (0.1, 10.0):  # decrease the penalty while that helps; if it does not, increase it
        while _WEAKEST <= best[0].penalty * step <= _STRONGEST:
            other = _evaluate(model_type, best[0].penalty * step, trial)
            if not other[0].loss < best[0].loss * (1 - _WORTH):
                break
            best = other
        if best[0].penalty != 1.0:
            break
    return best


def _evaluate(model_type: ModelType, penalty: float, trial: CrossValidation) -> tuple[Candidate, FloatArray, HeldOut]:
    """Return the loss of a model, that of each row, NaN of rows that are not held out, and the predictions."""
    held_out = predict_held_out(model_type, penalty, trial)
    if model_type.generative:
        tested, scores = trial.tested, held_out.scores
        temperature = fit_temperature(scores[tested], trial.values[tested], trial.weights[tested])
        held_out = held_out._replace(scores=scores / temperature, temperature=temperature)
    candidate, losses = _measure(model_type.name, model_type.title, held_out.scores, trial)
    found = replace(
        candidate,
        generative=model_type.generative,
        temperature=held_out.temperature,
        penalty=penalty,
        columns=next(iter(held_out.models.values())).columns,
    )
    return found, losses, held_out


def _evaluate_baseline(trial: CrossValidation) -> tuple[Candidate, FloatArray]:
    """Return the cross-validated loss of the class frequencies, or the mean, of the other folds."""
    title = "class frequencies for every row" if trial.task == "classes" else "mean for every row"
    candidate, losses = _measure(BASELINE, title, predict_baseline(trial), trial)
    if "PR AUC" in candidate.measures:  # of rows in random order: their share
        is_positive = trial.values[trial.tested] == trial.positive
        share = float(np.average(is_positive, weights=trial.weights[trial.tested]))
        candidate = replace(candidate, measures={**candidate.measures, "PR AUC": share})
    return candidate, losses


def predict_baseline(trial: CrossValidation) -> FloatArray:
    """Return the same prediction for all rows of a fold: log-frequencies of classes, or the mean, of the others."""
    k = len(trial.labels)
    found = np.zeros((len(trial.values), k) if trial.task == "classes" else len(trial.values))
    for number in trial.tested_folds:
        fold, rows = trial.places == number, trial.training_rows(number)
        found[fold] = predict_constant(trial.task, trial.values[rows], trial.weights[rows], k)
    return found


def predict_constant(task: Task, values: npt.NDArray[Any], weights: FloatArray, k: int) -> FloatArray:
    """Return the best prediction for all rows: log-frequencies of k classes, (1, k), or the mean, (1,).

    Examples
    --------
    >>> predict_constant("numbers", np.array([1.0, 4.0]), np.array([2.0, 1.0]), 0)
    array([2.])
    """
    if task == "classes":
        return np.asarray(np.log(np.bincount(values, weights, minlength=k) + 0.5)[None])  # a class may be absent
    return np.array([np.average(values, weights=weights)])


def _measure(name: str, title: str, scores: FloatArray, trial: CrossValidation) -> tuple[Candidate, FloatArray]:
    """Return the loss of the predictions of held-out rows, and that of each row."""
    from suffice.metrics import (
        LOSSES,
        confusion_matrix,
        mean_and_error,
        mean_interval,
        row_losses,
        share_interval,
    )

    task, tested = trial.task, trial.tested
    scores, values = scores[tested], trial.values[tested]
    groups = None if trial.groups is None else trial.groups[tested]
    weights = None if trial.sample.weights is None else trial.sample.weights[tested]
    independent = len(values) if groups is None else len(np.unique(groups))
    per_row = row_losses(task, scores, values)
    own = per_row.pop(LOSSES[task])
    loss, spread = mean_and_error(own, weights, groups)
    if not np.isfinite(loss):
        raise ValueError("the loss of held-out rows is not finite: rescale the target")
    interval = [max(limit, 0.0) for limit in mean_interval(loss, spread, independent)]
    if task == "numbers":  # of the root of the mean, by the delta method
        loss, interval = loss**0.5, [limit**0.5 for limit in interval]
        spread = spread / (2 * loss) if loss else 0.0
    losses = np.full(len(tested), np.nan)
    losses[tested] = own
    measures = {measure: float(np.average(rows, weights=weights)) for measure, rows in per_row.items()}
    intervals, confusion = {"loss": interval}, []
    if task == "classes":
        right, error = mean_and_error(per_row["accuracy"], weights, groups)
        intervals["accuracy"] = list(share_interval(right, error, independent))
        measures |= _measure_ranking(scores, values, trial.positive, weights)
        if len(trial.labels) <= _CONFUSED:
            confusion = confusion_matrix(values, scores.argmax(axis=1), len(trial.labels), weights).tolist()
    found = Candidate(name, title, False, loss, spread, measures, rows=len(own))
    return replace(found, intervals=intervals, confusion=confusion), losses


def apply_decision(candidate: Candidate, predicted: npt.NDArray[np.int64], trial: CrossValidation) -> Candidate:
    """Return a candidate with the accuracy and the confusion matrix of other decisions about the held-out rows."""
    from suffice.metrics import confusion_matrix, mean_and_error, share_interval

    tested = trial.tested
    values, weights = trial.values[tested], None if trial.sample.weights is None else trial.sample.weights[tested]
    groups = None if trial.groups is None else trial.groups[tested]
    right, error = mean_and_error((predicted == values).astype(np.float64), weights, groups)
    independent = len(values) if groups is None else len(np.unique(groups))
    return replace(
        candidate,
        measures={**candidate.measures, "accuracy": right},
        intervals={**candidate.intervals, "accuracy": list(share_interval(right, error, independent))},
        confusion=confusion_matrix(values, predicted, len(trial.labels), weights).tolist()
        if candidate.confusion
        else [],
    )


def _measure_ranking(
    scores: FloatArray, values: npt.NDArray[Any], positive: int, weights: FloatArray | None
) -> dict[str, float]:
    """Return the area under the precision-recall curve of the positive one of two classes; for others, nothing."""
    from suffice.metrics import average_precision, precision_recall_curve, rank

    is_positive = values == positive
    if scores.shape[1] != 2 or not (is_positive if weights is None else is_positive & (weights > 0)).any():
        return {}
    with np.errstate(invalid="ignore"):
        odds = np.nan_to_num(scores[:, positive] - scores[:, 1 - positive])
    ranking = rank(is_positive, odds, weights)
    return {"PR AUC": average_precision(*precision_recall_curve(ranking))}


def fit_temperature(scores: FloatArray, values: npt.NDArray[Any], weights: FloatArray) -> float:
    """Return the temperature that fits log-scores of held-out rows, (n, k), to their classes."""
    from suffice.selection.tuning import best_temperature

    found = best_temperature(scores, values, weights)
    return found if len(values) >= _MANY else max(found, 1.0)  # a few rows do not justify more confidence


def predict_held_out(model_type: ModelType, penalty: float, trial: CrossValidation) -> HeldOut:
    """Return the predictions of each row by the model of the other folds."""
    sample, values = trial.sample, trial.values
    found: FloatArray | None = None
    models: dict[int, Predictor] = {}

    fresh = make_predictor(model_type, trial.task, trial.labels, penalty)
    fresh.prepare(sample)

    alone: list[Predictor] = []
    if model_type.exact:
        for number in range(int(trial.places.max()) + 1):
            fold = np.flatnonzero(trial.places == number)
            alone.append(copy.deepcopy(fresh))
            alone[-1].add(sample[fold], values[fold])
    for number in trial.tested_folds:
        if model_type.exact:
            model, *others = (alone[fold] for fold in trial.training_folds(number))
            for other in others:
                model = model.merge(other)
            model.finish_update()
        else:
            rows = trial.training_rows(number)
            model = copy.deepcopy(fresh)
            if not trial.copies:
                model.hold_out(
                    None if trial.groups is None else trial.groups[rows],
                    None if trial.times is None else trial.times[rows],
                )
            model.learn([(sample[rows], values[rows])])
        fold = np.flatnonzero(trial.places == number)
        models[number] = model
        scores = model.scores(sample[fold])
        found = np.zeros((len(values), *scores.shape[1:])) if found is None else found
        found[fold] = scores
    assert found is not None
    return HeldOut(trial, found, models)
