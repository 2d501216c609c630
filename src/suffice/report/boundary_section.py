"""Where the model changes its mind: its answers over two columns, the others held at typical values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.plots import DecisionBoundaryDisplay
from suffice.report.displays import AlongDisplay, SurfaceDisplay
from suffice.report.markup import Section, beside, figure, paragraph, table
from suffice.report.report_data import Seen
from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block, Names
from suffice.tables.errors import UsageError, nearest
from suffice.tables.schema import Feature

_GRID, _POINTS = 80, 300
#: More classes than these are not told apart by colour and shape.
_CLASSES = 10
_HELD = 12


def chosen_features(seen: Seen, features: Any, order: list[str]) -> tuple[str, ...]:
    """Return the columns that answers are drawn over: those that are asked for, or the most telling numbers.

    Parameters
    ----------
    seen
        The model and the table.
    features
        Two names, or None.
    order
        All features, the most telling first.
    """
    numbers = seen.numbers()
    if features is None:
        return tuple(name for name in order if name in numbers)[:2]
    wanted = [features] if isinstance(features, str) else [str(name) for name in features]
    if len(wanted) != 2 or wanted[0] == wanted[1]:
        raise UsageError(f"features must name two columns of numbers that differ; got {wanted!r}")
    for name in wanted:
        if name not in numbers:
            have = ", ".join(map(repr, list(numbers)[:8])) or "none"
            raise UsageError(f"{name!r} is no column of numbers; there are {have}{nearest(name, numbers)}")
    return tuple(wanted)


def boundary_section(seen: Seen, chosen: tuple[str, ...]) -> Section | None:
    """Return the section about answers over two columns, or along one; None where there is no number at all."""
    if not chosen or len(seen.classes) > _CLASSES or seen.reads_text:
        return None
    columns = seen.numbers()
    at = [_values(columns[name], _is_whole(seen, name)) for name in chosen]
    held = typical(seen.block, chosen)
    if len(chosen) == 1:
        title, picture = f"What is answered along {chosen[0]}", _along(seen, chosen[0], at[0], held)
    else:
        title = "Where it changes its mind" if seen.task == "classes" else "What is expected over two columns"
        picture = _over(seen, (chosen[0], chosen[1]), at[0], at[1], held)
    body = paragraph(f"What the model answers when {' and '.join(chosen)} change and nothing else does.")
    return Section("boundary", title, beside(picture, body, _held(seen, held)))


def _held(seen: Seen, held: Mapping[str, Any]) -> str:
    """Return what the other columns are held at."""
    features = {feature.name: feature for feature in seen.block.features}
    rows = [(name, _written(seen, features[name], value)) for name, value in held.items()]
    if not rows:
        return ""
    caption = "Other columns are held at typical values"
    if len(rows) > _HELD:
        caption += f"; the first {_HELD} of {len(rows)}"
    return table(caption, ["column", "held at"], rows[:_HELD], tight=True)


def _written(seen: Seen, feature: Feature, value: Any) -> Any:
    """Return a cell as the table has it."""
    if value is None or value == "":
        return "no text" if value == "" else value
    if feature.part == "time":
        return str(np.datetime64(int(value), "D"))
    if feature.kind == "boolean":
        return (seen.schema.field(feature.column).truth or ("false", "true"))[int(value)]
    return value


def _is_whole(seen: Seen, name: str) -> bool:
    return any(feature.name == name and feature.kind == "count" for feature in seen.block.features)


def _values(cells: FloatArray, whole: bool) -> FloatArray:
    """Return the values that are tried: those of nearly all rows, as a few far away would squeeze them."""
    known = cells[np.isfinite(cells)]
    low, high = np.quantile(known, [0.005, 0.995])
    if low == high:
        low, high = known.min(), known.max()
    if whole:
        return np.unique(np.linspace(np.floor(low), max(np.ceil(high), np.floor(low) + 1), _GRID).round())
    margin = 0.03 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, _GRID)


def typical(block: Block, without: tuple[str, ...]) -> dict[str, Any]:
    """Return a typical cell of each feature but some: the median, the most frequent name, no text; None of no cells."""
    return {
        feature.name: _typical(column, feature.kind)
        for feature, column in zip(block.features, block.columns, strict=True)
        if feature.name not in without
    }


def _typical(column: Any, kind: str) -> Any:
    if isinstance(column, list):
        return ""
    if isinstance(column, Names):
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
        return str(column.vocabulary.names[int(counts.argmax())]) if counts.any() else None
    known = column[np.isfinite(column)]
    if not len(known):
        return None
    return float(np.quantile(known, 0.5, method="linear" if kind == "numeric" else "lower"))


def answers_over(seen: Seen, cells: Mapping[str, FloatArray], held: Mapping[str, Any]) -> FloatArray:
    """Return the answers to rows that differ in some features only."""
    rows = len(next(iter(cells.values())))
    columns: list[Any] = []
    for feature, column in zip(seen.block.features, seen.block.columns, strict=True):
        value = held.get(feature.name)
        if feature.name in cells:
            columns.append(cells[feature.name])
        elif isinstance(column, list):
            columns.append([""] * rows)
        elif isinstance(column, Names):
            code = -1 if value is None else int(column.vocabulary._places([value])[0])
            columns.append(Names(column.vocabulary, np.full(rows, code, dtype=np.int64)))
        else:
            columns.append(np.full(rows, np.nan if value is None else value))
    return seen.model.predictor_.answers(Block(seen.block.features, tuple(columns), rows))


def _along(seen: Seen, name: str, at: FloatArray, held: Mapping[str, Any]) -> str:
    answers = answers_over(seen, {name: at}, held)
    if seen.task == "classes":
        curves = dict(zip(seen.classes, answers.T, strict=True))
        lead = f"The probability of each {seen.target}, given {name}."
        return figure(AlongDisplay(at, curves, name, "probability"), lead)
    some = seen.some(_POINTS)
    display = AlongDisplay(
        at, {"expected": answers}, name, seen.target, x=seen.numbers()[name][some], y=seen.values[some]
    )
    return figure(display, "The line is what is expected, dots are rows.")


def _over(seen: Seen, pair: tuple[str, str], first: FloatArray, second: FloatArray, held: Mapping[str, Any]) -> str:
    across, up = (each.reshape(-1) for each in np.meshgrid(first, second))
    answers = answers_over(seen, dict(zip(pair, (across, up), strict=True)), held)
    some = seen.some(_POINTS)
    points = np.stack([seen.numbers()[name][some] for name in pair], axis=1)
    if seen.task != "classes":
        heights = answers.reshape(len(second), len(first))
        display = SurfaceDisplay(first, second, heights, pair, seen.target, points)
        return figure(display, f"On each line, the same {seen.target} is expected; dots are rows.")
    names = np.array(seen.classes)
    boundary = DecisionBoundaryDisplay(
        first,
        second,
        answers.reshape(len(second), len(first), len(names)),
        names,
        features=pair,
        held=held,
        X=points,
        y=names[seen.values[some]],
    )
    title = f"The most probable {seen.target} over {pair[0]} and {pair[1]}"
    return figure(boundary, "Shades are stronger where it is surer, dots are rows.", title)
