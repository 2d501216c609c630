"""Imputation of missing cells from the other cells of their row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block, CodedColumn, Targets
from suffice.tables.predictors.naive_bayes import to_cells
from suffice.tables.schema import Feature, Field, Schema
from suffice.tables.sources.base import arrow

if TYPE_CHECKING:
    from suffice.tables.fitted import FittedTable


def impute_batch(
    model: FittedTable, batch: Any, block: Block, schema: Schema, random: np.random.Generator | None = None
) -> tuple[Any, int]:
    """Return a batch with its missing cells filled in, and their number.

    The distribution of a cell given the other cells of its row is a mixture of the class-conditional distributions,
    weighted by the posterior of the classes. A missing number becomes the mean, a missing category the most probable
    one; or all are drawn from the distribution. Texts and dates stay missing.

    Parameters
    ----------
    model
        A fitted model.
    batch, block
        Rows, and their encoding.
    schema
        How the cells are read.
    random
        Generator that draws the cells; None for expected values.
    """
    weights = _classes(model, batch, block, schema)
    columns = {name: batch.column(name) for name in batch.schema.names}
    filled = 0
    for place, feature in enumerate(block.features):
        if feature.part is not None or feature.kind == "text":
            continue
        column = block.columns[place]
        gaps = column.codes < 0 if isinstance(column, CodedColumn) else np.isnan(column)
        if not gaps.any():
            continue
        cells = _predict_cells(model, feature, weights[gaps], random)
        field = schema.field(feature.column)
        columns[feature.column] = _fill_cells(columns[feature.column], gaps, cells, field)
        filled += int(gaps.sum())
    return arrow().RecordBatch.from_arrays(list(columns.values()), names=list(columns)), filled


def _classes(model: FittedTable, batch: Any, block: Block, schema: Schema) -> FloatArray:
    """Return the posterior of the classes of the description given the known cells and the target, (n, k)."""
    description = model.description_
    weights = np.array(description.score(to_cells(block), "posterior"))
    if model.schema_.target not in batch.schema.names:
        return weights
    targets = Targets.of(batch.column(model.schema_.target), schema)
    codes = model.description_codes(
        targets.places(model._labels) if model.schema_.task == "classes" else targets.values
    )
    weights[np.flatnonzero(targets.known)[codes >= 0]] = np.eye(weights.shape[1])[codes[codes >= 0]]
    return weights


def _predict_cells(model: FittedTable, feature: Feature, weights: FloatArray, random: Any) -> npt.NDArray[Any]:
    """Return the expected cells of a feature, or drawn ones, (n,)."""
    factor: Any = model.description_.joint_.conditional
    factor = factor.factors[feature.kind]
    alike = [each.name for each in model.schema_.features if each.kind == feature.kind]
    place = alike.index(feature.name)
    if random is not None:
        totals = weights.cumsum(axis=1)
        codes = (random.random((len(weights), 1)) * totals[:, -1:] > totals).sum(axis=1)
        weights = np.eye(weights.shape[1])[np.minimum(codes, weights.shape[1] - 1)]
    match feature.kind:
        case "category":
            table = np.exp(factor.tables[place][:-1])  # (levels, k)
            shares = weights @ table.T
            if random is not None:
                totals = shares.cumsum(axis=1)
                chosen = (random.random((len(shares), 1)) * totals[:, -1:] > totals).sum(axis=1)
            else:
                chosen = shares.argmax(axis=1)
            return np.asarray(np.array(factor.vocabularies[place].names, dtype=object)[chosen])
        case "boolean":
            chances = weights @ factor.family.p[:, place]
            cut = 0.5 if random is None else random.random(len(chances))
            return np.asarray(chances >= cut)
        case "count":
            rates = weights @ factor.family.rate[:, place]
            return np.asarray(np.rint(rates) if random is None else random.poisson(rates))
    means = weights @ factor.family.mu[:, place]
    if random is None:
        return np.asarray(means)
    return np.asarray(random.normal(means, np.sqrt(weights @ factor.family.sigma2[:, place])))


def _fill_cells(column: Any, gaps: npt.NDArray[np.bool_], cells: npt.NDArray[Any], field: Field) -> Any:
    """Return a column with its missing cells replaced, in the column's own type if it can represent them."""
    pa = arrow()
    if field.format is not None and pa.types.is_string(column.type):
        column, _ = field.format.parse(column)
    whole = column.to_pylist()
    for row, cell in zip(np.flatnonzero(gaps).tolist(), cells.tolist(), strict=True):
        whole[row] = format_cell(cell, field)
    try:
        return pa.array(whole, type=column.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array(whole)


def format_cell(cell: Any, field: Field) -> Any:
    """Return a cell in the notation of its column: booleans in its spelling, integers as integers."""
    if field.kind == "boolean" and field.truth is not None:
        word = field.truth[int(cell)]
        return int(word) if field.type == "whole" else word
    if field.type == "whole" and not isinstance(cell, bool):
        return round(float(cell))  # the names of a category of numbers are numbers
    return cell
