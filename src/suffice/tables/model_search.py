"""Which model suits a table: candidates, generative beside discriminative, judged by rows that were held out."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.metrics import LOSSES, row_losses
from suffice.model_types import ModelType, Task
from suffice.selection.tuning import best_temperature
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block
from suffice.tables.predictors import Predictor, make_predictor
from suffice.tables.sources.base import Watch

#: Rows that may sharpen posteriors, and not only soften them.
_MANY = 1000
#: Penalties that are tried, at the ends.
_WEAKEST, _STRONGEST = 1e-3, 1e3
#: With so many rows for each column, a penalty hardly matters.
_PLENTY = 100
#: Rows that a model is judged by which fits anew around each of them.
_NEAR_ROWS = 500
#: The share by which another penalty must lower the loss.
_WORTH = 0.005


@dataclass(frozen=True)
class Candidate:
    """How well a model predicts rows that were held out.

    Parameters
    ----------
    model
        The name of its form.
    title
        What it is.
    generative
        Whether it describes the rows of each class.
    loss
        The mean over the rows: of -log p(y | x) for classes, the root of the mean square for numbers, the Poisson
        deviance for counts. NaN where the model could not be fitted.
    spread
        The standard error of the loss over the folds.
    measures
        Other measures, by name.
    seconds
        How long it took.
    why
        Why it could not be fitted.
    temperature
        Of a generative model: what its posteriors are softened by.
    penalty
        Of a regression: what its coefficients are held back by.
    columns
        Of the matrix that it reads, where it reads one.
    """

    model: str
    title: str
    generative: bool
    loss: float
    spread: float
    measures: dict[str, float] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)  # a file does not hold it
    why: str = ""
    temperature: float = 1.0
    penalty: float = 1.0
    columns: int = 0


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Rows that models are judged by."""

    sample: Block
    values: npt.NDArray[Any]  # codes of the classes, or numbers
    places: npt.NDArray[np.int64]  # the fold of each row
    task: Task
    labels: Labels

    def __getitem__(self, rows: Any) -> CrossValidation:
        return replace(self, sample=self.sample[rows], values=self.values[rows], places=self.places[rows])

    @property
    def folds(self) -> list[npt.NDArray[np.int64]]:
        """The rows of each fold."""
        return [np.flatnonzero(self.places == fold) for fold in range(int(self.places.max()) + 1)]


def assign_folds(values: npt.NDArray[Any], folds: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the fold of each row, so that every fold has its share of each class, or of small and large numbers."""
    order = np.lexsort((random.random(len(values)), values))
    places = np.empty(len(values), dtype=np.int64)
    places[order] = np.arange(len(values)) % folds
    return places


def evaluate_candidates(
    forms: Sequence[ModelType],
    sample: Block,
    values: npt.NDArray[Any],
    task: Task,
    labels: Labels,
    folds: int = 5,
    seed: int = 0,
    watch: Watch | None = None,
) -> list[Candidate]:
    """Return how well each form predicts rows held out, the best first; those that cannot be fitted come last.

    Models that are sums are summed once for each fold, and the others' sums are added up; others are fitted anew.
    """
    folds = max(2, min(folds, len(values) // 2))
    random = np.random.default_rng(seed)
    trial = CrossValidation(sample, values, assign_folds(values, folds, random), task, labels)
    few = trial if len(values) <= _NEAR_ROWS else trial[np.sort(random.choice(len(values), _NEAR_ROWS, replace=False))]
    found = []
    for number, form in enumerate(forms):
        if watch is not None:
            watch(f"trying {form.name}", number, len(forms))
        start = time.perf_counter()
        try:
            candidate = _tune_penalty(form, few if form.reads == "near" else trial)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
            why = (str(error) or type(error).__name__).splitlines()[0]
            candidate = Candidate(form.name, form.title, form.generative, np.nan, np.nan, why=why)
        found.append(replace(candidate, seconds=time.perf_counter() - start))
    return sorted(found, key=lambda each: (np.isnan(each.loss), each.loss))


def _tune_penalty(form: ModelType, trial: CrossValidation) -> Candidate:
    """Return how well a form predicts rows held out, with the penalty that suits it best."""
    best = _evaluate(form, 1.0, trial)
    if not form.is_penalised or len(trial.values) >= _PLENTY * best.columns:
        return best
    for step in (0.1, 10.0):  # less and less of it while that helps; if it does not, more
        while _WEAKEST <= best.penalty * step <= _STRONGEST:
            other = _evaluate(form, best.penalty * step, trial)
            if not other.loss < best.loss * (1 - _WORTH):
                break
            best = other
        if best.penalty != 1.0:
            break
    return best


def _evaluate(form: ModelType, penalty: float, trial: CrossValidation) -> Candidate:
    answers, columns = predict_held_out(form, penalty, trial)
    task, values, folds = trial.task, trial.values, trial.folds
    temperature = 1.0
    if form.generative:
        temperature = fit_temperature(answers, values)
        answers = answers / temperature
    per_row = row_losses(task, answers, values)
    means = {name: np.array([rows[fold].mean() for fold in folds]) for name, rows in per_row.items()}
    finish = np.sqrt if task == "numbers" else np.asarray
    loss = finish(means.pop(LOSSES[task]))
    spread = float(loss.std(ddof=1) / np.sqrt(len(folds)))
    others = {name: float(rows.mean()) for name, rows in means.items()}
    return Candidate(
        form.name,
        form.title,
        form.generative,
        float(loss.mean()),
        spread,
        others,
        temperature=temperature,
        penalty=penalty,
        columns=columns,
    )


def fit_temperature(answers: FloatArray, values: npt.NDArray[Any]) -> float:
    """Return the temperature of a generative model by its log-scores of rows held out, (n, k), and their classes."""
    found = best_temperature(answers, values, np.ones(len(values)))
    return found if len(values) >= _MANY else max(found, 1.0)  # a few rows told apart are no reason to be surer


def predict_held_out(form: ModelType, penalty: float, trial: CrossValidation) -> tuple[FloatArray, int]:
    """Return the answers for each row of a model of the other folds' rows, and how many columns it reads."""
    sample, values, folds = trial.sample, trial.values, trial.folds
    blocks = [sample[fold] for fold in folds]
    found: FloatArray | None = None

    fresh = make_predictor(form, trial.task, trial.labels, penalty)
    fresh.prepare(sample)

    alone: list[Predictor] = []
    if form.exact:
        for block, fold in zip(blocks, folds, strict=True):
            alone.append(copy.deepcopy(fresh))
            alone[-1].add(block, values[fold])
    for number, fold in enumerate(folds):
        if form.exact:
            model, *others = alone[:number] + alone[number + 1 :]
            for other in others:
                model = model.merge(other)
            model.finish_update()
        else:
            rows = np.flatnonzero(trial.places != number)
            model = copy.deepcopy(fresh).learn([(sample[rows], values[rows])])
        answers = model.scores(blocks[number])
        found = np.zeros((len(values), *answers.shape[1:])) if found is None else found
        found[fold] = answers
    assert found is not None
    return found, model.columns
