"""Section on the learning curve: the model and a counterpart, fitted to training sets of increasing size."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.metrics import LOSSES, row_losses
from suffice.model_types import MODEL_TYPES, ModelType
from suffice.plots import LearningCurveDisplay
from suffice.plots.learning_curve import one_of_each_class_first
from suffice.report.elements import Column, Section, Table, make_figure
from suffice.report.formats import capitalise, format_names, format_share, format_value
from suffice.report.report_data import ReportData
from suffice.statistics.base import FloatArray
from suffice.tables.candidates import candidates
from suffice.tables.encoding import Block
from suffice.tables.predictors import make_predictor

#: Rows of the sample that a learning curve needs, and rows that it uses at most.
_MIN_ROWS, _MAX_ROWS = 100, 5000
#: Maximum for local models, which fit once per predicted row.
_MAX_LOCAL_ROWS = 600
_N_SIZES, _MIN_SIZES, _REPEATS = 5, 3, 3
#: Maximum number of coefficients of a multi-class regression, which is fitted many times.
_MAX_COEFFICIENTS = 2000
#: Relative gain of the last step above which the curve still falls.
_MIN_GAIN = 0.02

Rows = npt.NDArray[np.intp]


def learning_curve_section(data: ReportData) -> Section | None:
    """Return the section on the learning curve; None where there is no curve."""
    display = learning_curve(data)
    if display is None:
        return None
    name = data.model.model_
    before, last = display.curves[name][-2:]
    still_falls = (before - last) / max(abs(before), 1e-300) > _MIN_GAIN
    introduction = [
        f"{' and '.join(display.curves)}, fitted to training sets of increasing size and measured on a held-out third "
        "of the rows.",
        f"The {display.measure} of {name} still falls at the largest size: more rows are likely to help."
        if still_falls
        else f"The {display.measure} of {name} hardly falls at the largest size: more rows are unlikely to help.",
    ]
    caption = f"{_crossings(display)} Shaded bands are one standard deviation over {_REPEATS} random splits."
    title = f"{capitalise(display.measure)} on held-out rows, by number of training rows"
    content = {"figure": make_figure(display, caption, title), "introduction": introduction, "table": _table(display)}
    return Section("learning", "Learning curve", "figure_and_table", content)


def _table(display: LearningCurveDisplay) -> Table:
    write = format_share if display.measure == "error" else format_value
    rows = [
        (format_value(int(size)), *(write(float(curve[index])) for curve in display.curves.values()))
        for index, size in enumerate(display.sizes)
    ]
    columns = [Column("training rows"), *(Column(name, "number") for name in display.curves)]
    return Table(f"{capitalise(display.measure)} on held-out rows", columns, rows, compact=True)


def _crossings(display: LearningCurveDisplay) -> str:
    if display.crossings:
        sizes = [format_value(round(crossing.size)) for crossing in display.crossings]
        return f"The curves cross at about {format_names(sizes)} rows."
    if len(display.curves) == 1:
        return "The curve is that of the model alone."
    worse, better = sorted(display.curves, key=lambda name: -display.curves[name][-1])
    return f"The curves do not cross: {better} is better than {worse} at every size."


def learning_curve(data: ReportData) -> LearningCurveDisplay | None:
    """Return the learning curves of the model and its counterpart; None where there are too few rows or models."""
    model_type, other = data.model.predictor_.model_type, counterpart(data)
    if data.block.rows < _MIN_ROWS or other is None:
        return None
    rows = data.sample_rows(_MAX_LOCAL_ROWS if model_type.reads == "near" else _MAX_ROWS)
    block, targets = data.block[rows], data.targets[rows]
    model_types = [each for each in (model_type, other) if not _is_expensive(each, data, block)]
    largest = 2 * len(rows) // 3
    smallest = min(max(20, 3 * len(data.classes)), largest // 2)
    sizes = np.unique(np.geomspace(smallest, largest, _N_SIZES).round().astype(np.int64))
    curves = {each.name: np.full((_REPEATS, len(sizes)), np.nan) for each in model_types}
    for repeat, (train, test) in enumerate(_splits(targets, largest, data.task == "classes")):
        for each in model_types:
            for index, size in enumerate(sizes):
                curves[each.name][repeat, index] = _fit_and_measure(each, data, block, targets, train[:size], test)
    return _make_display(data, sizes, curves)


def counterpart(data: ReportData) -> ModelType | None:
    """Return the best generative candidate for a discriminative model and vice versa, else the next best candidate."""
    model_type = data.model.predictor_.model_type
    known = [MODEL_TYPES[each.model] for each in data.models if np.isfinite(each.loss)]
    known += candidates(data.schema, len(data.classes), data.n_rows)
    others = [each for each in known if each.name != model_type.name and each.reads != "near"]
    opposite = [each for each in others if each.generative != model_type.generative]
    return next(iter([*opposite, *others]), None)


def _make_display(
    data: ReportData, sizes: npt.NDArray[np.int64], curves: dict[str, FloatArray]
) -> LearningCurveDisplay | None:
    """Return the curves at the sizes at which all models were fitted; the model's alone where these are too few."""
    own = {name: each for name, each in curves.items() if name == data.model.model_}
    for shown in (curves, own):
        is_fitted = np.all([~np.isnan(each).all(axis=0) for each in shown.values()], axis=0)
        if own and is_fitted.sum() >= _MIN_SIZES:
            return LearningCurveDisplay(
                sizes[is_fitted],
                {name: np.nanmean(each[:, is_fitted], axis=0) for name, each in shown.items()},
                {name: np.nanstd(each[:, is_fitted], axis=0) for name, each in shown.items()},
                measure={"classes": "error", "numbers": "RMSE", "counts": "Poisson deviance"}[data.task],
            )
    return None


def _is_expensive(model_type: ModelType, data: ReportData, block: Block) -> bool:
    """Return whether a multi-class regression has more coefficients than are fitted repeatedly."""
    if model_type.exact or len(data.classes) <= 2:
        return False
    predictor: Any = make_predictor(model_type, data.task, data.model.predictor_.labels)
    predictor.prepare(block)
    columns = len(predictor.binned) if model_type.reads == "bins" else predictor.design.width
    return bool(columns * len(data.classes) > _MAX_COEFFICIENTS)


def _splits(targets: npt.NDArray[Any], n_train: int, is_classification: bool) -> Iterator[tuple[Rows, Rows]]:
    """Yield random training and test rows; the first training rows are one of each class."""
    random = np.random.default_rng(0)
    for _ in range(_REPEATS):
        order = random.permutation(len(targets))
        train, test = order[:n_train], order[n_train:]
        if is_classification:
            train = one_of_each_class_first(train, targets)
        yield train, test


def _fit_and_measure(
    model_type: ModelType, data: ReportData, block: Block, targets: npt.NDArray[Any], train: Rows, test: Rows
) -> float:
    """Return the measure of a model on test rows; NaN where it cannot be fitted to the training rows."""
    penalties = {each.model: each.penalty for each in data.model.candidates_}
    predictor = make_predictor(model_type, data.task, data.model.predictor_.labels, penalties.get(model_type.name, 1.0))
    try:
        predictor.prepare(block)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few rows are often separable: the curve shows the effect
            scores = predictor.learn([(block[train], targets[train])]).scores(block[test])
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return np.nan
    losses = row_losses(data.task, scores, targets[test])
    if data.task == "classes":
        return float(1 - losses["accuracy"].mean())
    mean = float(losses[LOSSES[data.task]].mean())
    return mean**0.5 if data.task == "numbers" else mean
