"""From rows of a table to answers: what every model of a table does, in whichever way it reads rows."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from suffice.model_types import ModelType, Task
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents
from suffice.tables.encoding import Block
from suffice.tables.errors import TableError

if TYPE_CHECKING:
    from suffice.tables.predictors.naive_bayes import Description

EncodedRows = tuple[Block, npt.NDArray[Any]]  # rows, and codes of classes or numbers


class Effects(NamedTuple):
    """What each feature adds to the score of each class, or to the linear predictor of a number."""

    parts: list[FloatArray]  # of each class, (n, features)
    base: FloatArray  # (n, k)


class Predictor(ABC):
    """A fitted model of a target given the rows of a table.

    Parameters
    ----------
    form
        Which model it is.
    task
        What is predicted.
    labels
        The classes; empty where a number is predicted.
    """

    reads: ClassVar[tuple[str, ...]]
    inner: Any  # the estimator that does the work
    penalty: float = 1.0  # of a regression's coefficients
    columns: int = 0  # of the matrix that it reads

    def __init__(self, form: ModelType, task: Task, labels: Labels) -> None:
        self.form = form
        self.task = task
        self.labels = labels

    @abstractmethod
    def prepare(self, sample: Block) -> None:
        """Settle how rows are read, by a sample of them."""

    def extend_levels(self, description: Description) -> None:  # noqa: B027  (few have to)
        """Settle what a sample cannot tell of all rows, by their sums."""

    @abstractmethod
    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Learn from rows, block by block."""

    @abstractmethod
    def scores(self, block: Block) -> FloatArray:
        """Return log-scores of the classes, (n, k), whose softmax is p(y | x); or expected numbers, (n,)."""

    def effects(self, block: Block) -> Effects:
        """Return the scores taken apart, feature by feature."""
        raise TableError(f"the model {self.form.name!r} has no parts to show for each column: use another to explain")

    def answers(self, block: Block) -> FloatArray:
        """Return the probabilities of the classes, (n, k), or expected numbers, (n,)."""
        scores = self.scores(block)
        return np.asarray(softmax(scores, axis=1)) if self.task == "classes" else scores

    # The algebra. Only models whose form is exact have it: others are refused before.

    def unsupported(self, what: str) -> TableError:
        """Return the complaint about an operation that this model does not have."""
        return TableError(
            f"a {self.form.name!r} model cannot {what}: it is fitted to the rows themselves and keeps no sums of them. "
            "Fit it again to the rows that shall count, or use nb, gda, linear or text"
        )

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Learn from more rows, as if they had been there from the start."""
        raise NotImplementedError

    def remove(self, block: Block, values: npt.NDArray[Any]) -> float:
        """Unlearn rows, and return the digits that this cost."""
        raise NotImplementedError

    def finish_update(self) -> None:  # noqa: B027  (few have to)
        """Come to rest after rows were added or removed, or models merged."""

    def merge(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        raise NotImplementedError

    # Files.

    def settings(self) -> dict[str, Any]:
        """Return what a file must hold beside the inner model."""
        return {}

    def restore(self, settings: Any) -> None:  # noqa: B027  (few have to)
        """Take up what :meth:`settings` wrote."""

    def contents(self) -> Contents:
        """Return what a file holds of the inner model."""
        found: Contents = self.inner._contents()
        return found


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Keep warnings back that say what a table's columns are bound to be: dependent, far apart, few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
