"""Naive Bayes over a table, which reads cells as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy.typing as npt

from suffice.generative.product import kind_of, pruned
from suffice.statistics import LostDigitsError, Statistics
from suffice.statistics.base import FloatArray
from suffice.tables.blocks import Block
from suffice.tables.describing import Description, cells_of
from suffice.tables.errors import digits_error
from suffice.tables.predictors import Effects, Learnt, Predictor


class Described(Predictor):
    """Naive Bayes, which reads cells as they are."""

    reads = ("cells",)
    inner: Description

    def prepare(self, sample: Block) -> None:
        """Nothing is to be settled."""
        self.inner = Description.over(sample.features)

    def learn(self, rows: Iterable[Learnt]) -> Self:
        """Learn from rows, block by block."""
        for block, codes in rows:
            self.add(block, codes)
        return self

    def scores(self, block: Block) -> FloatArray:
        """Return log p(x, y), (n, k), divided by the temperature."""
        joint: FloatArray = self.inner._rows_read(cells_of(block), "joint")
        return joint / self.inner._temperature()

    def effects(self, block: Block) -> Effects:
        """Return the scores taken apart, feature by feature."""
        joint = self.inner._joint
        parts, base = joint.contributions(self.inner._readable(joint, cells_of(block)))
        return Effects([part / joint.temperature for part in parts], base / joint.temperature)

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Learn from more rows."""
        more = self.inner.summed(block, values, self.labels)
        self.inner.remember(more if self.inner.is_empty else self.inner.statistics_ + more)

    def remove(self, block: Block, values: npt.NDArray[Any]) -> float:
        """Unlearn rows exactly."""
        return take_out(self.inner, self.inner.summed(block, values, self.labels))

    def merged(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        both = Described(self.form, self.task, self.labels.union(other.labels)[0])
        both.inner = self.inner + other.inner
        return both


def take_out(description: Description, gone: Statistics) -> float:
    """Take a sum out of a description, and return the digits that this cost; say in which column too many are lost."""
    try:
        removal = description.statistics_.remove(gone)
    except LostDigitsError as error:
        raise digits_error(_column(description, error.place)) from None
    description.remember(pruned(removal.left))
    return float(removal.digits_lost)


def _column(description: Description, place: tuple[int, ...]) -> str:
    """Return the column at a place of a description's sums."""
    kind = kind_of(description.statistics_.parts[place[0]])
    names = [str(name) for name, each in description.column_kinds_.items() if each == kind]
    return names[place[1]] if len(place) > 1 else ", ".join(names)
