"""Importance of columns: how much the loss of held-out rows rises if the cells of a column are shuffled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block

if TYPE_CHECKING:
    from suffice.tables.model_search import HeldOut

#: Largest number of held-out rows whose cells are shuffled, and of columns.
_ROWS, _COLUMNS = 2000, 200


@dataclass(frozen=True)
class Importance:
    """Importance of a column.

    Parameters
    ----------
    column
        Its name.
    rise
        How much the mean loss of held-out rows rises if its cells are shuffled: log loss for classes, squared error for
        numbers, deviance for counts. A column that does not matter has a rise of about 0, also a negative one.
    error
        The standard error of the rise over the rows.

    Examples
    --------
    >>> import pandas as pd, suffice
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> rows = pd.DataFrame({"noise": x[:, 0], "cause": x[:, 1], "y": np.where(x[:, 1] > 0, "a", "b")})
    >>> suffice.fit(rows, "y", "nb").importance_[0].column
    'cause'
    """

    column: str
    rise: float
    error: float


def measure_importance(held_out: HeldOut, seed: int = 0) -> list[Importance]:
    """Return the importance of each column, the most important first; nothing for more than 200 columns.

    The model of the other folds predicts held-out rows again, with the cells of one column, or all parts of one date,
    in random order. Columns that say the same stand in for each other: each of them then matters little.
    """
    from suffice.metrics import LOSSES, mean_and_error, row_losses

    trial = held_out.trial
    columns = list(dict.fromkeys(feature.column for feature in trial.sample.features))
    if len(columns) > _COLUMNS:
        return []
    random = np.random.default_rng(seed)
    rises: dict[str, list[FloatArray]] = {column: [] for column in columns}
    weights, groups = [], []
    most = max(_ROWS // max(len(held_out.models), 1), 2)
    for number, model in held_out.models.items():
        fold = np.flatnonzero(trial.places == number)[:most]  # rows are in random order
        block, values = trial.sample[fold], trial.values[fold]
        weights.append(trial.weights[fold])
        groups.append(fold if trial.groups is None else trial.groups[fold])

        def losses(rows: Block) -> FloatArray:
            scores = model.scores(rows) / held_out.temperature  # noqa: B023  (called in this turn of the loop)
            return row_losses(trial.task, scores, values)[LOSSES[trial.task]]  # noqa: B023

        before = losses(block)
        for column in columns:
            rises[column].append(losses(_shuffle(block, column, random)) - before)
    found = []
    for column, parts in rises.items():
        rise, error = mean_and_error(np.concatenate(parts), np.concatenate(weights), np.concatenate(groups))
        found.append(Importance(column, rise, error))
    return sorted(found, key=lambda each: -each.rise)


def _shuffle(block: Block, column: str, random: np.random.Generator) -> Block:
    """Return rows with the cells of one column in random order."""
    other = block[random.permutation(block.rows)]
    columns = (
        theirs if feature.column == column else own
        for feature, own, theirs in zip(block.features, block.columns, other.columns, strict=True)
    )
    return replace(block, columns=tuple(columns))
