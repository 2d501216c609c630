"""Outlier detection: rows of low density, and their least probable cells."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.tables.predictors.naive_bayes import to_cells
from suffice.tables.sources import open_table
from suffice.tables.table_writer import restore_integers

if TYPE_CHECKING:
    from suffice.tables.model import TableModel
    from suffice.typing import TableLike


@dataclass(frozen=True)
class Outlier:
    """A row of low density under the model.

    Parameters
    ----------
    row
        Its position in the table, from 0.
    log_evidence
        log p(x) of the row.
    cells
        The cells of the row.
    strange
        The least probable columns, each with the surprise (-log p) of its cell beyond the mean surprise of the column.
    """

    row: int
    log_evidence: float
    cells: dict[str, Any]
    strange: tuple[tuple[str, float], ...]


def outliers(model: TableModel, table: TableLike, n: int = 10) -> list[Outlier]:
    """Return the n rows of lowest density under the model, the lowest first."""
    heap: list[tuple[float, int, Any, Any]] = []
    total, rows = np.zeros(len(model.schema_.features)), 0
    source = open_table(table)
    for evidence, surprise, batch, first in _scored(model, source):
        total += surprise.sum(axis=0)
        for place in np.argsort(evidence)[:n]:
            entry = (
                -float(evidence[place]),
                first + int(place),
                restore_integers(batch.slice(int(place), 1), source.whole).to_pylist()[0],
                surprise[place],
            )
            if len(heap) < n:
                heapq.heappush(heap, entry)
            else:
                heapq.heappushpop(heap, entry)
        rows += len(evidence)
    usual = total / max(rows, 1)
    names = [feature.name for feature in model.schema_.features]
    found = []
    for negative, row, cells, surprise in sorted(heap, key=lambda each: -each[0]):
        beyond = surprise - usual
        order = [int(place) for place in np.argsort(-beyond)[:3] if beyond[place] > 1]
        found.append(Outlier(row, -negative, cells, tuple((names[place], float(beyond[place])) for place in order)))
    return found


def _scored(model: TableModel, table: Any) -> Iterator[tuple[Any, Any, Any, int]]:
    """Yield log p(x), and the surprise (-log p) of each cell in the most probable class of its row."""
    description = model.description_
    for batch, block in model.blocks(table):
        cells = to_cells(block)
        joint = description.joint_
        conditional: Any = joint.conditional
        parts, base = joint.contributions(conditional.readable(cells))
        stacked = np.stack(parts, axis=2)
        best = (base + stacked.sum(axis=1)).argmax(axis=1)
        surprise = -np.take_along_axis(stacked, best[:, None, None], axis=2)[:, :, 0]
        yield description.log_evidence(cells), surprise, batch, block.first
