"""Section on the decision boundary: predictions over one or two columns, the others held constant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.plots import DecisionBoundaryDisplay
from suffice.report.displays import PredictionCurveDisplay, PredictionSurfaceDisplay
from suffice.report.elements import Column, Figure, Section, Table, make_figure
from suffice.report.report_data import ReportData
from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block, CodedColumn
from suffice.tables.errors import UsageError, nearest
from suffice.tables.schema import Feature

_GRID_SIZE, _MAX_POINTS = 80, 300
#: Maximum number of classes: more cannot be distinguished by colour and marker.
_MAX_CLASSES = 10
#: Maximum number of listed constant columns.
_MAX_HELD = 12


def select_features(data: ReportData, features: Any, order: list[str]) -> tuple[str, ...]:
    """Return the columns of the decision boundary: those given, or the most important numeric columns, up to two.

    Parameters
    ----------
    data
        The model and the table.
    features
        Two names, or None.
    order
        All features, the most important first.
    """
    numeric = data.numeric_columns()
    if features is None:
        return tuple(name for name in order if name in numeric)[:2]
    names = [features] if isinstance(features, str) else [str(name) for name in features]
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError(f"features must name two different numeric columns; got {names!r}")
    for name in names:
        if name not in numeric:
            known = ", ".join(map(repr, list(numeric)[:8])) or "none"
            raise UsageError(f"{name!r} is not a numeric column; there are {known}{nearest(name, numeric)}")
    return tuple(names)


def boundary_section(data: ReportData, features: tuple[str, ...]) -> Section | None:
    """Return the section on predictions over two columns, or along one; None without a numeric column."""
    if not features or len(data.classes) > _MAX_CLASSES or data.is_text_model:
        return None
    columns = data.numeric_columns()
    grid = [_grid_values(columns[name], _is_count(data, name)) for name in features]
    held = typical_values(data.block, features)
    if len(features) == 1:
        title, figure = f"Predictions along {features[0]}", _curve_figure(data, features[0], grid[0], held)
    else:
        title = "Decision boundary" if data.task == "classes" else f"Predicted {data.target} over two columns"
        figure = _grid_figure(data, (features[0], features[1]), grid[0], grid[1], held)
    content = {
        "figure": figure,
        "introduction": [f"Predictions as {' and '.join(features)} vary and all other columns are held constant."],
        "table": _held_table(data, held),
    }
    return Section("boundary", title, "figure_and_table", content)


def _held_table(data: ReportData, held: Mapping[str, Any]) -> Table | None:
    features = {feature.name: feature for feature in data.block.features}
    rows = [(name, _cell(data, features[name], value)) for name, value in held.items()]
    if not rows:
        return None
    caption = "Constant values of the other columns"
    if len(rows) > _MAX_HELD:
        caption += f"; the first {_MAX_HELD} of {len(rows)}"
    return Table(caption, [Column("column"), Column("value")], rows[:_MAX_HELD], compact=True)


def _cell(data: ReportData, feature: Feature, value: Any) -> Any:
    """Return an encoded value as a cell of the table."""
    if value is None:
        return None
    if value == "":
        return "no text"
    if feature.part == "time":
        return str(np.datetime64(int(value), "D"))
    if feature.kind == "boolean":
        return (data.schema.field(feature.column).truth or ("false", "true"))[int(value)]
    return value


def _is_count(data: ReportData, name: str) -> bool:
    return any(feature.name == name and feature.kind == "count" for feature in data.block.features)


def _grid_values(cells: FloatArray, integer: bool) -> FloatArray:
    """Return the grid values of a column, from its 0.5 % to its 99.5 % quantile."""
    known = cells[np.isfinite(cells)]
    low, high = np.quantile(known, [0.005, 0.995])
    if low == high:
        low, high = known.min(), known.max()
    if integer:
        return np.unique(np.linspace(np.floor(low), max(np.ceil(high), np.floor(low) + 1), _GRID_SIZE).round())
    margin = 0.03 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, _GRID_SIZE)


def typical_values(block: Block, excluded: tuple[str, ...]) -> dict[str, Any]:
    """Return a typical value of each other feature: the median, the most frequent category, the empty text.

    It is None for a column without known cells.
    """
    return {
        feature.name: _typical_value(column, feature.kind)
        for feature, column in zip(block.features, block.columns, strict=True)
        if feature.name not in excluded
    }


def _typical_value(column: Any, kind: str) -> Any:
    if isinstance(column, list):
        return ""
    if isinstance(column, CodedColumn):
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
        return str(column.vocabulary.names[int(counts.argmax())]) if counts.any() else None
    known = column[np.isfinite(column)]
    if not len(known):
        return None
    return float(np.quantile(known, 0.5, method="linear" if kind == "numeric" else "lower"))


def predict_grid(data: ReportData, cells: Mapping[str, FloatArray], held: Mapping[str, Any]) -> FloatArray:
    """Return the predictions for rows with these cells, and with constant values of the other features."""
    n_rows = len(next(iter(cells.values())))
    columns: list[Any] = []
    for feature, column in zip(data.block.features, data.block.columns, strict=True):
        value = held.get(feature.name)
        if feature.name in cells:
            columns.append(cells[feature.name])
        elif isinstance(column, list):
            columns.append([""] * n_rows)
        elif isinstance(column, CodedColumn):
            code = -1 if value is None else int(column.vocabulary.find([value])[0])
            columns.append(CodedColumn(column.vocabulary, np.full(n_rows, code, dtype=np.int64)))
        else:
            columns.append(np.full(n_rows, np.nan if value is None else value, dtype=np.float64))
    return data.model.predictor_.predict(Block(data.block.features, tuple(columns), n_rows))


def _curve_figure(data: ReportData, name: str, values: FloatArray, held: Mapping[str, Any]) -> Figure:
    predictions = predict_grid(data, {name: values}, held)
    if data.task == "classes":
        curves = dict(zip(data.classes, predictions.T, strict=True))
        caption = f"Probability of each class of {data.target}, given {name}."
        return make_figure(PredictionCurveDisplay(values, curves, name, "probability"), caption)
    sample = data.sample_rows(_MAX_POINTS)
    x, y = data.numeric_columns()[name][sample], data.targets[sample]
    display = PredictionCurveDisplay(values, {"prediction": predictions}, name, data.target, x=x, y=y)
    return make_figure(display, "The line is the prediction, points are rows.")


def _grid_figure(
    data: ReportData, pair: tuple[str, str], first: FloatArray, second: FloatArray, held: Mapping[str, Any]
) -> Figure:
    cells = (each.reshape(-1) for each in np.meshgrid(first, second))
    predictions = predict_grid(data, dict(zip(pair, cells, strict=True)), held)
    sample = data.sample_rows(_MAX_POINTS)
    points = np.stack([data.numeric_columns()[name][sample] for name in pair], axis=1)
    if data.task != "classes":
        surface = predictions.reshape(len(second), len(first))
        display = PredictionSurfaceDisplay(first, second, surface, pair, data.target, points)
        return make_figure(display, f"Lines connect points of equal predicted {data.target}; points are rows.")
    names = np.array(data.classes)
    boundary = DecisionBoundaryDisplay(
        first,
        second,
        predictions.reshape(len(second), len(first), len(names)),
        names,
        features=pair,
        held=held,
        X=points,
        y=names[data.targets[sample]],
    )
    title = f"Most probable {data.target} over {pair[0]} and {pair[1]}"
    caption = (
        "On the lines, two classes are equally probable; shades are stronger for more confidence; points are rows."
    )
    return make_figure(boundary, caption, title)
