"""Missing cells: in how much of a class's weight each feature is known."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from suffice.statistics.base import FloatArray, Statistics, check_shape


@dataclass(frozen=True, eq=False)
class KnownCells(Statistics):
    """What a sum per class and feature adds to itself so that rows may miss cells.

    Where no cell is missing, the weight of a class is that of all its cells, and nothing more is kept.
    """

    # (k, d) weight of the rows in which the cell is known; (k, 0) where no cell is missing
    cells: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    @abstractmethod
    def _class_weights(self) -> FloatArray:
        """The weight of all rows of each class, (k,)."""

    @property
    @abstractmethod
    def _table(self) -> FloatArray:
        """A sum with one entry per cell, (k, d)."""

    def __post_init__(self) -> None:
        if np.shape(self.cells)[1:] == (0,):
            object.__setattr__(self, "cells", np.zeros((*np.shape(self._class_weights)[:1], 0)))
        super().__post_init__()
        if self.misses_cells:
            check_shape("cells", self.cells, self._table.shape)

    @property
    def misses_cells(self) -> bool:
        """Whether the weights of cells are kept, since some cells were missing."""
        return self.cells.shape[1:] != (0,)

    @property
    def observed(self) -> FloatArray:
        """The weight of the rows in which each cell is known, (k, d)."""
        return self.cells if self.misses_cells else np.broadcast_to(self._class_weights[:, None], self._table.shape)

    def _observing(self, other: Self) -> tuple[Self, Self]:
        """Return this and another of its shape, both with the weights of their cells if either misses some."""
        if not (self.misses_cells or other.misses_cells):
            return self, other
        return self._with(cells=self.observed), other._with(cells=other.observed)
