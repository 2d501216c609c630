"""Rows drawn from what a model has learnt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.tables.blocks import Block
from suffice.tables.imputing import written
from suffice.tables.schema import Field
from suffice.tables.source import arrow

if TYPE_CHECKING:
    from suffice.tables.answering import Answering


def drawn(model: Answering, n: int, random_state: int | None) -> Any:
    """Return rows with their target as an Arrow table: classes first, then cells; or cells first, then numbers."""
    pa = arrow()
    random = np.random.default_rng(random_state)
    joint = model.description_._source()
    codes = joint.draw_classes(n, random)
    cells: Any = joint.conditional.sample(codes, random)
    kinds = {kind: iter(columns) for kind, columns in cells.items()}
    features = {(feature.column, feature.part): list(next(kinds[feature.kind])) for feature in model.schema_.features}
    columns: dict[str, Any] = {}
    for field in model.schema_.fields:
        if field.name == model.schema_.target:
            columns[field.name] = []  # holds its place
        elif field.kind != "ignore":
            columns[field.name] = _column(field, features, n)
    table = pa.table({name: cells for name, cells in columns.items() if name != model.schema_.target})
    columns[model.schema_.target] = _target(model, codes, table, random)
    return pa.table(columns)


def _column(field: Field, features: dict[tuple[str, str | None], list[Any]], n: int) -> Any:
    pa = arrow()
    if field.kind == "date":
        if "time" not in field.parts:
            return pa.nulls(n, pa.date32())
        start = datetime(1970, 1, 1, tzinfo=UTC)
        moments = [start + timedelta(days=days) for days in features[field.name, "time"]]
        return pa.array([each.replace(tzinfo=None) if field.type == "moment" else each.date() for each in moments])
    return pa.array([None if cell is None else written(cell, field) for cell in features[field.name, None]])


def _target(model: Answering, codes: Any, table: Any, random: np.random.Generator) -> Any:
    pa = arrow()
    if model.schema_.task == "classes":
        return pa.array([model._labels.names[code] for code in codes])
    expected = model.predictor_.answers(Block.of(table, model.schema_)) if table.num_rows else np.zeros(0)
    if model.schema_.task == "counts":
        return pa.array(random.poisson(np.maximum(expected, 0)))
    return pa.array(random.normal(expected, model.noise_))
