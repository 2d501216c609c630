"""Synthetic rows drawn from a model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block
from suffice.tables.imputation import format_cell
from suffice.tables.schema import Field
from suffice.tables.sources.base import arrow

if TYPE_CHECKING:
    from suffice.tables.fitted import FittedTable


def draw_rows(model: FittedTable, n: int, random_state: int | None) -> Any:
    """Draw rows with their target as an Arrow table: the class, then the cells; or the cells, then the number.

    Numbers outside the observed range are drawn again, from the distribution truncated to it.
    """
    pa = arrow()
    random = np.random.default_rng(random_state)
    joint = model.description_.joint_
    codes = joint.draw_classes(n, random)
    cells: Any = joint.conditional.sample(codes, random)
    kinds = {kind: iter(columns) for kind, columns in cells.items()}
    features: dict[tuple[str, str | None], list[Any]] = {}
    places = {kind: iter(range(len(columns))) for kind, columns in cells.items()}
    for feature in model.schema_.features:
        column, place = list(next(kinds[feature.kind])), next(places[feature.kind])
        if feature.kind == "numeric" and feature.name in model.ranges_:
            product: Any = joint.conditional
            family = product.factors["numeric"].family
            mu, sigma = family.mu[codes, place], np.sqrt(family.sigma2[codes, place])
            column = _truncate(model.ranges_[feature.name], np.array(column), mu, sigma, random).tolist()
        features[feature.column, feature.part] = column
    columns: dict[str, Any] = {}
    for field in model.schema_.fields:
        if field.name == model.schema_.target:
            columns[field.name] = []  # placeholder
        elif field.kind != "ignore":
            columns[field.name] = _column(field, features, n)
    table = pa.table({name: cells for name, cells in columns.items() if name != model.schema_.target})
    columns[model.schema_.target] = _target(model, codes, table, random)
    return pa.table(columns)


def _column(field: Field, features: dict[tuple[str, str | None], list[Any]], n: int) -> Any:
    pa = arrow()
    if field.kind == "date":
        start = datetime(1970, 1, 1, tzinfo=UTC)
        moments = [start + timedelta(days=days) for days in features[field.name, "time"]]
        return pa.array([each.replace(tzinfo=None) if field.type == "moment" else each.date() for each in moments])
    return pa.array([None if cell is None else format_cell(cell, field) for cell in features[field.name, None]])


def _target(model: FittedTable, codes: Any, table: Any, random: np.random.Generator) -> Any:
    pa = arrow()
    if model.schema_.task == "classes":
        return pa.array([model._labels.names[code] for code in codes])
    expected = model.predictor_.predict(Block.of(table, model.schema_)) if table.num_rows else np.zeros(0)
    if model.schema_.task == "counts":
        return pa.array(random.poisson(np.maximum(expected, 0)))
    noise = np.full(len(expected), model.noise_)
    numbers = random.normal(expected, noise)
    span = model.ranges_.get(model.schema_.target)
    return pa.array(numbers if span is None else _truncate(span, numbers, expected, noise, random))


def _truncate(
    span: tuple[float, float], cells: FloatArray, mu: FloatArray, sigma: FloatArray, random: np.random.Generator
) -> FloatArray:
    """Return normal numbers, with those outside a range drawn again from the truncated normal distribution."""
    low, high = span
    outside = np.flatnonzero((cells < low) | (cells > high))
    if len(outside):
        mu, sigma = mu[outside], np.maximum(sigma[outside], np.finfo(np.float64).tiny)
        at_least, at_most = scipy.special.ndtr((low - mu) / sigma), scipy.special.ndtr((high - mu) / sigma)
        cells = cells.copy()
        cells[outside] = mu + sigma * scipy.special.ndtri(random.uniform(at_least, at_most))
    return np.clip(cells, low, high)  # if the distribution has no mass inside: the nearer end
