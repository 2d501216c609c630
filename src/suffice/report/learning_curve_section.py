"""What more rows are worth: a model and its counterpart, fitted to more and more rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.metrics import LOSSES, row_losses
from suffice.model_types import MODEL_TYPES, ModelType
from suffice.plots import LearningCurveDisplay
from suffice.report.report_data import Seen
from suffice.statistics.base import FloatArray
from suffice.tables.candidates import candidates
from suffice.tables.encoding import Block
from suffice.tables.predictors import make_predictor

#: Fewer rows say nothing about more; more than so many are not tried.
LEAST, MOST = 100, 5000
_SIZES, _FEWEST, _REPEATS = 5, 3, 3
#: A model that fits anew around every row is tried on fewer.
_MOST_LOCAL = 600
#: A regression on many classes is tried where it has no more coefficients than these.
_COEFFICIENTS = 2000


def counterpart(seen: Seen) -> ModelType | None:
    """Return the best candidate of the other manner: generative beside discriminative; else the next best one."""
    mine = seen.model.predictor_.form
    known = [MODEL_TYPES[each.model] for each in seen.model.candidates_ if np.isfinite(each.loss)]
    known += candidates(seen.schema, len(seen.classes), seen.rows)
    others = [form for form in known if form.name != mine.name and form.reads != "near"]
    opposite = [form for form in others if form.generative != mine.generative]
    return next(iter([*opposite, *others]), None)


def learning_curve(seen: Seen) -> LearningCurveDisplay | None:
    """Return the learning curves of a model and its counterpart; None where there are too few rows, or one model."""
    mine, other = seen.model.predictor_.form, counterpart(seen)
    if seen.block.rows < LEAST or other is None:
        return None
    rows = seen.some(_MOST_LOCAL if mine.reads == "near" else MOST)
    block, values = seen.block[rows], seen.values[rows]
    forms = [form for form in (mine, other) if not _is_long(form, seen, block)]
    most = 2 * len(rows) // 3
    least = min(max(20, 3 * len(seen.classes)), most // 2)
    sizes = np.unique(np.geomspace(least, most, _SIZES).round().astype(np.int64))
    curves = {form.name: np.full((_REPEATS, len(sizes)), np.nan) for form in forms}
    for repeat, (learnt, held) in enumerate(_divisions(values, most, seen.task == "classes")):
        for form in forms:
            for place, size in enumerate(sizes):
                curves[form.name][repeat, place] = _tried(form, seen, block, values, learnt[:size], held)
    return _drawn(seen, sizes, curves)


def _drawn(seen: Seen, sizes: npt.NDArray[np.int64], curves: dict[str, FloatArray]) -> LearningCurveDisplay | None:
    """Return the curves over the sizes at which all could be fitted; that of the model alone where these are few."""
    mine = {name: each for name, each in curves.items() if name == seen.model.model_}
    for some in (curves, mine):
        full = np.all([~np.isnan(each).all(axis=0) for each in some.values()], axis=0)
        if mine and full.sum() >= _FEWEST:
            return LearningCurveDisplay(
                sizes[full],
                {name: np.nanmean(each[:, full], axis=0) for name, each in some.items()},
                {name: np.nanstd(each[:, full], axis=0) for name, each in some.items()},
                measure={"classes": "error", "numbers": "RMSE", "counts": "Poisson deviance"}[seen.task],
            )
    return None


def _is_long(form: ModelType, seen: Seen, block: Block) -> bool:
    """Whether a regression on many classes has so many coefficients that fitting it again and again takes long."""
    if form.exact or len(seen.classes) <= 2:
        return False
    predictor: Any = make_predictor(form, seen.task, seen.model.predictor_.labels)
    predictor.prepare(block)
    return bool(predictor.design.width * len(seen.classes) > _COEFFICIENTS)


def _divisions(
    values: npt.NDArray[np.float64], most: int, grouped: bool
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Yield rows to learn from, one of each class first, and rows held out."""
    random = np.random.default_rng(0)
    for _ in range(_REPEATS):
        order = random.permutation(len(values))
        learnt, held = order[:most], order[most:]
        if grouped:
            _, firsts = np.unique(values[learnt], return_index=True)
            learnt = np.concatenate([learnt[np.sort(firsts)], np.delete(learnt, firsts)])
        yield learnt, held


def _tried(
    form: ModelType,
    seen: Seen,
    block: Block,
    values: npt.NDArray[np.float64],
    learnt: npt.NDArray[np.intp],
    held: npt.NDArray[np.intp],
) -> float:
    """Return what a model of some rows loses on others; NaN where so few cannot be fitted."""
    penalties = {each.model: each.penalty for each in seen.model.candidates_}
    predictor = make_predictor(form, seen.task, seen.model.predictor_.labels, penalties.get(form.name, 1.0))
    try:
        predictor.prepare(block)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few rows separate classes again and again: the curve shows what it costs
            scores = predictor.learn([(block[learnt], values[learnt])]).scores(block[held])
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return np.nan
    lost = row_losses(seen.task, scores, values[held])
    if seen.task == "classes":
        return float(1 - lost["accuracy"].mean())
    mean = float(lost[LOSSES[seen.task]].mean())
    return mean**0.5 if seen.task == "numbers" else mean
