"""Models that are estimated from sums; their validated rows, and folds of them that are summed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from suffice.data import Dataset
from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import permitted_threads
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray

Codes = npt.NDArray[np.int64]
Index = npt.NDArray[np.intp]


@runtime_checkable
class SummedModel(Protocol):
    """A classifier that is estimated from sums, by the steps that cross-validation takes.

    The generative classifiers implement it; so can a classifier of your own.

    Examples
    --------
    >>> from suffice import GaussianNB
    >>> from suffice.data import ArrayDataset
    >>> data = ArrayDataset({"X": np.array([[1.0], [2.0], [5.0], [7.0]]), "y": ["low", "low", "high", "high"]})
    >>> model = GaussianNB()
    >>> rows = model.encode_rows(data).in_memory
    >>> joint = model.estimate_joint(model.sum_rows(rows))
    >>> model.score_rows([joint], np.array([[1.4], [6.5]]), "best")[0], rows.labels.names
    (array([1, 0]), ('high', 'low'))
    """

    temperature: float | str  #: of the posteriors; "auto" counts as 1 until a fit chooses it

    def summed_parameters(self) -> dict[str, Any]:
        """Return the parameters that determine what is summed: models that agree on them can share their sums."""

    def encode_rows(self, data: Dataset) -> Dataset:
        """Return a dataset whose parts are :class:`Rows`; the number and the names of the features are set."""

    def sum_rows(self, rows: Rows, *, complete: bool = True) -> Statistics:
        """Return the sum over rows: all that the sum is taken over (``complete``), or one part of them."""

    def estimate_joint(self, statistics: Statistics) -> Any:
        """Return p(x, y), estimated from a sum."""

    def score_rows(self, joints: Sequence[Any], x: Any, what: Any) -> list[Any]:
        """Return the scores of validated rows under each of several p(x, y): ``"joint"``, (n, k), or ``"best"``."""

    def score_left_out(self, statistics: Statistics, rows: Rows) -> FloatArray:
        """Return log p(x, y) of each row, (n, k), estimated from all other rows."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Validated rows, with the codes of their classes.

    Examples
    --------
    >>> rows = Rows(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 1]), None, Labels(("a", "b")))
    >>> rows.take(np.array([0, 2])).codes, rows.weights
    (array([0, 1]), array([1., 1., 1.]))
    """

    x: Any
    codes: Any  # (n,), whole numbers, in memory or on the device of x
    weight: FloatArray | None  # (n,)
    labels: Labels
    like: Any = ()  # an empty array of the type of the labels
    place: tuple[int, int] | None = None  # by which the parts of a dataset are ordered

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, index: Index) -> Rows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return Rows(self.x[index], self.codes[index], weight, self.labels, self.like)

    def with_labels(self, labels: Labels) -> Rows:
        """Return the same rows with the codes of a vocabulary that holds all their classes."""
        return replace(self, labels=labels, codes=labels.positions(self.labels)[self.codes])

    def with_codes_here(self) -> Rows:
        """Return the rows, with codes in NumPy's arrays."""
        return self if isinstance(self.codes, np.ndarray) else replace(self, codes=to_host(self.codes))

    @property
    def weights(self) -> FloatArray:
        """One weight per row."""
        return np.ones(len(self)) if self.weight is None else self.weight


class Folds:
    """Rows split into folds. The model that predicts a fold is estimated from the sums of the other folds.

    Every row is summed once, however many folds and settings there are.
    """

    def __init__(self, rows: Rows, indices: Sequence[Index]) -> None:
        self.indices = list(indices)
        self.parts = [rows.take(index) for index in self.indices]

    def others(self, model: SummedModel) -> list[Statistics]:
        """Return, for each fold, the sum over all other folds."""
        return sums_of_others([model.sum_rows(part) for part in self.parts])

    def scores(self, models: Sequence[SummedModel], others: Sequence[Statistics], what: str) -> Iterator[list[Any]]:
        """Yield, fold by fold, the scores of its rows under each model, estimated from the other folds."""
        for part, sums in zip(self.parts, others, strict=True):
            yield models[0].score_rows(estimate_joints(models, sums), part.x, what)


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


def estimate_joints(models: Sequence[SummedModel], sums: Statistics) -> list[Any]:
    """Return the p(x, y) that each model estimates from a sum; in threads if there are many models."""
    if len(models) < 8:
        return [model.estimate_joint(sums) for model in models]
    with ThreadPoolExecutor(permitted_threads()) as threads:
        return list(threads.map(lambda model: model.estimate_joint(sums), models))


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
        from sklearn.model_selection import KFold, StratifiedKFold

        folds = StratifiedKFold(int(folds)) if stratified else KFold(int(folds))
    if hasattr(folds, "split"):
        return [np.asarray(held) for _, held in folds.split(np.zeros((rows, 1)), y)]
    indices = [np.asarray(each, dtype=np.intp) for each in folds]
    if len(indices) < 2:
        raise ValueError(f"folds must be at least 2; got a list of {len(indices)}")
    return indices
