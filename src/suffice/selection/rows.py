"""Rows with their classes, cut into folds whose sums are taken once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold

from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import permitted_threads
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray

Codes = npt.NDArray[np.int64]
Index = npt.NDArray[np.intp]


class Model(Protocol):
    """A model that is read from a sum."""

    def _first_sum(self, rows: Rows) -> tuple[Statistics, list[float]]:
        """Return the sum over rows."""

    def _read(self, statistics: Statistics) -> Any:
        """Return p(x, y) as it is read from a sum."""

    def _ask_many(self, joints: Sequence[Any], x: Any, what: Any) -> list[Any]:
        """Return one reading of every row under each of several p(x, y)."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that a model has validated."""

    x: Any
    codes: Any  # (n,), whole numbers, here or on the device of x
    weight: FloatArray | None  # (n,)
    labels: Labels
    like: Any = ()  # an empty array of the type the labels came in

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, index: Index) -> Rows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return Rows(self.x[index], self.codes[index], weight, self.labels, self.like)

    def with_codes_here(self) -> Rows:
        """Return the rows, with codes in NumPy's arrays."""
        return self if isinstance(self.codes, np.ndarray) else replace(self, codes=to_host(self.codes))

    @property
    def weights(self) -> FloatArray:
        """One weight per row."""
        return np.ones(len(self)) if self.weight is None else self.weight


class Folds:
    """Rows cut into folds. The sums of the other folds, added up, are what a fold's model learned from.

    Every row is summed once, however many folds and settings there are.
    """

    def __init__(self, rows: Rows, indices: Sequence[Index]) -> None:
        self.indices = list(indices)
        self.parts = [rows.take(index) for index in self.indices]

    def others(self, model: Model) -> list[Statistics]:
        """Return, for each fold, the sum over all other folds."""
        return sums_of_others([model._first_sum(part)[0] for part in self.parts])

    def read(self, models: Sequence[Model], others: Sequence[Statistics], what: str) -> Iterator[list[Any]]:
        """Yield, fold by fold, a reading of its rows under what each model has learned from the other folds."""
        for part, sums in zip(self.parts, others, strict=True):
            yield models[0]._ask_many(read_all(models, sums), part.x, what)


def sums_of_others(sums: Sequence[Statistics]) -> list[Statistics]:
    """Return, for each of several sums, the sum of all others."""
    # Added, not subtracted from the whole: subtraction costs digits, and there are few folds.
    before, after = [sums[0]], [sums[-1]]
    for one in sums[1:-1]:
        before.append(before[-1] + one)
    for one in sums[-2:0:-1]:
        after.append(after[-1] + one)
    after.reverse()
    inner = [left + right for left, right in zip(before[:-1], after[1:], strict=True)]
    return [after[0], *inner, before[-1]]


def read_all(models: Sequence[Model], sums: Statistics) -> list[Any]:
    """Return what each model reads from a sum; several at a time where there are many."""
    if len(models) < 8:
        return [model._read(sums) for model in models]
    with ThreadPoolExecutor(permitted_threads()) as threads:
        return list(threads.map(lambda model: model._read(sums), models))


def indices_of(folds: Any, y: npt.NDArray[Any], stratified: bool = True) -> list[Index]:
    """Return the row numbers of each fold, of rows with these class codes or targets.

    Examples
    --------
    >>> [held.tolist() for held in indices_of(2, np.array([0, 0, 1, 1]))]
    [[0, 2], [1, 3]]
    """
    rows = len(y)
    if isinstance(folds, int | np.integer):
        if folds < 2:
            raise ValueError(f"folds must be at least 2; got {folds}")
        if folds > rows:
            raise ValueError(f"{rows} rows cannot be cut into {folds} folds")
        folds = StratifiedKFold(int(folds)) if stratified else KFold(int(folds))
    if hasattr(folds, "split"):
        return [np.asarray(held) for _, held in folds.split(np.zeros((rows, 1)), y)]
    indices = [np.asarray(each, dtype=np.intp) for each in folds]
    if len(indices) < 2:
        raise ValueError(f"folds must be at least 2; got a list of {len(indices)}")
    return indices
