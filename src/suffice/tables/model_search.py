"""Model selection for tables: generative and discriminative candidates compared by cross-validation."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.model_types import ModelType, Task
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block
from suffice.tables.predictors import Predictor, make_predictor
from suffice.tables.sources.base import Watch

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
#: Name of the candidate that predicts the same for every row: the class frequencies, or the mean.
BASELINE = "baseline"
#: Models, the simplest first: the simplest within one standard error of the best is chosen.
SIMPLEST_FIRST = ("text", "nb", "gda", "poisson", "linear", "logistic", "softmax", "gda-full", "additive", "local")


@dataclass(frozen=True)
class Candidate:
    """Cross-validated loss of a model.

    Parameters
    ----------
    model
        Name of the model; ``"baseline"`` predicts the class frequencies, or the mean, for every row.
    title
        Description of the model.
    generative
        Whether it is a generative model.
    loss
        The loss on held-out rows: mean of -log p(y | x) for classes, root mean squared error for numbers, mean Poisson
        deviance for counts. NaN if the model could not be fitted.
    spread
        The standard error of the loss over the held-out rows.
    measures
        Other measures, by name.
    seconds
        Duration of the evaluation.
    why
        Why it could not be fitted.
    temperature
        Temperature of the posteriors of a generative model.
    penalty
        Penalty of the coefficients of a regression.
    columns
        Number of columns of the design matrix, if it has one.
    behind, behind_error
        How much larger the mean loss of a row is than that of the model with the lowest loss, over the same held-out
        rows (squared errors for numbers), and the standard error of this difference.
    rows
        Number of held-out rows.
    """

    model: str
    title: str
    generative: bool
    loss: float
    spread: float
    measures: dict[str, float] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)  # not stored in files
    why: str = ""
    temperature: float = 1.0
    penalty: float = 1.0
    columns: int = 0
    behind: float = 0.0
    behind_error: float = 0.0
    rows: int = 0

    @property
    def is_baseline(self) -> bool:
        """Whether it predicts the same for every row."""
        return self.model == BASELINE


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Rows of the cross-validation."""

    sample: Block
    values: npt.NDArray[Any]  # codes of the classes, or numbers
    places: npt.NDArray[np.int64]  # the fold of each row
    task: Task
    labels: Labels
    held: int | None = None  # how many folds are held out, one after another; None: all

    def __getitem__(self, rows: Any) -> CrossValidation:
        return replace(self, sample=self.sample[rows], values=self.values[rows], places=self.places[rows])

    @property
    def folds(self) -> list[npt.NDArray[np.int64]]:
        """The row indices of each fold."""
        return [np.flatnonzero(self.places == fold) for fold in range(int(self.places.max()) + 1)]

    @property
    def tested(self) -> npt.NDArray[np.bool_]:
        """Whether each row is held out once."""
        return np.ones(len(self.places), dtype=bool) if self.held is None else self.places < self.held


def assign_folds(values: npt.NDArray[Any], folds: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the fold of each row, stratified by class or by quantiles of numbers."""
    order = np.lexsort((random.random(len(values)), values))
    places = np.empty(len(values), dtype=np.int64)
    places[order] = np.arange(len(values)) % folds
    return places


def evaluate_candidates(
    model_types: Sequence[ModelType],
    sample: Block,
    values: npt.NDArray[Any],
    task: Task,
    labels: Labels,
    folds: int = 5,
    seed: int = 0,
    watch: Watch | None = None,
) -> list[Candidate]:
    """Return the cross-validated losses of models, the chosen one first; those that cannot be fitted come last.

    Among them is the baseline, which is never chosen: the class frequencies, or the mean, of the other folds.
    Chosen is the simplest model within one standard error of the lowest loss: the standard error of the difference, row
    by row. Models that are fitted from sums are summed once per fold, and the sums of the other folds are added; others
    are refitted for each fold. Of a table with many rows and classes, only some folds are held out.
    """
    folds = max(2, min(folds, len(values) // 2))
    random = np.random.default_rng(seed)
    work = len(values) * len(sample.features) * (len(labels) if len(labels) > 2 else 1)
    held = min(max(_WORK // max(work, 1), 1), folds)
    trial = CrossValidation(sample, values, assign_folds(values, folds, random), task, labels, held)
    few_rows = np.arange(len(values))
    if len(values) > _NEAR_ROWS:
        few_rows = np.sort(random.choice(len(values), _NEAR_ROWS, replace=False))
    few = trial[few_rows]
    found: list[tuple[Candidate, FloatArray]] = []
    with suppress(ValueError):  # where no loss is finite, the models say so
        found.append(_evaluate_baseline(trial))
    for number, model_type in enumerate(model_types):
        if watch is not None:
            watch(f"trying {model_type.name}", number, len(model_types))
        start = time.perf_counter()
        losses = np.full(len(values), np.nan)
        try:
            near = model_type.reads == "near"
            candidate, some = _tune_penalty(model_type, few if near else trial)
            losses[few_rows if near else slice(None)] = some
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
            why = (str(error) or type(error).__name__).splitlines()[0]
            candidate = Candidate(model_type.name, model_type.title, model_type.generative, np.nan, np.nan, why=why)
        found.append((replace(candidate, seconds=time.perf_counter() - start), losses))
    return choose_simplest(found)


def choose_simplest(found: Sequence[tuple[Candidate, FloatArray]]) -> list[Candidate]:
    """Return candidates in the order of their losses, after the simplest within one standard error of the lowest.

    The baseline is neither chosen nor the lowest.

    Parameters
    ----------
    found
        Each candidate, with its loss of each row; NaN of rows that were not held out.

    Examples
    --------
    >>> simple = Candidate("nb", "", True, 1.1, 0.5), np.array([1.0, 1.2, np.nan])
    >>> best = Candidate("logistic", "", False, 1.0, 0.5), np.array([1.2, 0.8, np.nan])
    >>> [(each.model, round(each.behind, 3), round(each.behind_error, 3)) for each in choose_simplest([best, simple])]
    [('nb', 0.1, 0.3), ('logistic', 0.0, 0.0)]
    """
    ranked = sorted(found, key=lambda each: (np.isnan(each[0].loss), each[0].loss))
    compared = []
    lowest = next(losses for candidate, losses in ranked if not candidate.is_baseline)
    for candidate, losses in ranked:
        gap = losses - lowest
        gap = gap[~np.isnan(gap)]
        if len(gap) > 1:
            error = float(gap.std(ddof=1) / np.sqrt(len(gap)))
            candidate = replace(candidate, behind=float(gap.mean()), behind_error=error)
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


def _tune_penalty(model_type: ModelType, trial: CrossValidation) -> tuple[Candidate, FloatArray]:
    """Return the cross-validated loss of a model with the best penalty, and that of each row."""
    best, losses = _evaluate(model_type, 1.0, trial)
    if not model_type.is_penalised or len(trial.values) >= _PLENTY * best.columns:
        return best, losses
    for step in (0.1, 10.0):  # decrease the penalty while that helps; if it does not, increase it
        while _WEAKEST <= best.penalty * step <= _STRONGEST:
            other, others = _evaluate(model_type, best.penalty * step, trial)
            if not other.loss < best.loss * (1 - _WORTH):
                break
            best, losses = other, others
        if best.penalty != 1.0:
            break
    return best, losses


def _evaluate(model_type: ModelType, penalty: float, trial: CrossValidation) -> tuple[Candidate, FloatArray]:
    """Return the cross-validated loss of a model, and that of each row; NaN of rows that are not held out."""
    scores, columns = predict_held_out(model_type, penalty, trial)
    temperature = 1.0
    if model_type.generative:
        temperature = fit_temperature(scores[trial.tested], trial.values[trial.tested])
        scores = scores / temperature
    candidate, losses = _measure(model_type.name, model_type.title, scores, trial)
    found = replace(
        candidate, generative=model_type.generative, temperature=temperature, penalty=penalty, columns=columns
    )
    return found, losses


def _evaluate_baseline(trial: CrossValidation) -> tuple[Candidate, FloatArray]:
    """Return the cross-validated loss of the class frequencies, or the mean, of the other folds."""
    title = "class frequencies for every row" if trial.task == "classes" else "mean for every row"
    return _measure(BASELINE, title, predict_baseline(trial), trial)


def predict_baseline(trial: CrossValidation) -> FloatArray:
    """Return the same prediction for all rows of a fold: log-frequencies of classes, or the mean, of the others."""
    k = len(trial.labels)
    found = np.zeros((len(trial.values), k) if trial.task == "classes" else len(trial.values))
    for number, fold in enumerate(trial.folds[: trial.held]):
        others = trial.values[trial.places != number]
        if trial.task == "classes":
            found[fold] = np.log(np.bincount(others, minlength=k) + 0.5)  # a class may be absent
        else:
            found[fold] = others.mean()
    return found


def _measure(name: str, title: str, scores: FloatArray, trial: CrossValidation) -> tuple[Candidate, FloatArray]:
    """Return the loss of the predictions of held-out rows, and that of each row."""
    from suffice.metrics import LOSSES, row_losses

    task, tested = trial.task, trial.tested
    per_row = row_losses(task, scores[tested], trial.values[tested])
    own = per_row.pop(LOSSES[task])
    loss, spread = float(own.mean()), float(own.std() / np.sqrt(max(len(own) - 1, 1)))
    if not np.isfinite(loss):
        raise ValueError("the loss of held-out rows is not finite: rescale the target")
    if task == "numbers":  # of the root of the mean, by the delta method
        loss = loss**0.5
        spread = spread / (2 * loss) if loss else 0.0
    losses = np.full(len(tested), np.nan)
    losses[tested] = own
    measures = {measure: float(rows.mean()) for measure, rows in per_row.items()}
    return Candidate(name, title, False, loss, spread, measures, rows=len(own)), losses


def fit_temperature(scores: FloatArray, values: npt.NDArray[Any]) -> float:
    """Return the temperature that fits log-scores of held-out rows, (n, k), to their classes."""
    from suffice.selection.tuning import best_temperature

    found = best_temperature(scores, values, np.ones(len(values)))
    return found if len(values) >= _MANY else max(found, 1.0)  # a few rows do not justify more confidence


def predict_held_out(model_type: ModelType, penalty: float, trial: CrossValidation) -> tuple[FloatArray, int]:
    """Return the predictions of each row by the model of the other folds, and the number of columns.

    Predictions of rows that are not held out are 0.
    """
    sample, values, folds = trial.sample, trial.values, trial.folds
    blocks = [sample[fold] for fold in folds]
    found: FloatArray | None = None

    fresh = make_predictor(model_type, trial.task, trial.labels, penalty)
    fresh.prepare(sample)

    alone: list[Predictor] = []
    if model_type.exact:
        for block, fold in zip(blocks, folds, strict=True):
            alone.append(copy.deepcopy(fresh))
            alone[-1].add(block, values[fold])
    for number, fold in enumerate(folds[: trial.held]):
        if model_type.exact:
            model, *others = alone[:number] + alone[number + 1 :]
            for other in others:
                model = model.merge(other)
            model.finish_update()
        else:
            rows = np.flatnonzero(trial.places != number)
            model = copy.deepcopy(fresh).learn([(sample[rows], values[rows])])
        scores = model.scores(blocks[number])
        found = np.zeros((len(values), *scores.shape[1:])) if found is None else found
        found[fold] = scores
    assert found is not None
    return found, model.columns
