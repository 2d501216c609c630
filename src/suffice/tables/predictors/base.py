"""Base class of the predictors of a table."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from suffice.kernels.errors import ScoreOverflowError
from suffice.model_types import ModelType, Task
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents
from suffice.tables.encoding import Block
from suffice.tables.errors import TableError
from suffice.tables.predictors.scorers import Scorer, read_scorer, scorer_of
from suffice.tables.schema import Feature

if TYPE_CHECKING:
    from suffice.discriminative.summary import Summary
    from suffice.tables.predictors.naive_bayes import Description
    from suffice.tables.term_summary import TermSummary

EncodedRows = tuple[Block, npt.NDArray[Any]]  # rows, and codes of classes or numbers


class EffectTerm(NamedTuple):
    """A term whose contributions are known: of one feature, of a pair of them, or of a word of a text."""

    name: str
    features: tuple[int, ...]  # places of the features
    word: str | None = None


class Effects(NamedTuple):
    """Contributions of the features to the score of each class, or to the linear predictor of a number."""

    parts: list[FloatArray]  # of each class, (n, features) or (n, terms)
    base: FloatArray  # (n, k)
    terms: list[EffectTerm] | None = None  # None: one for each feature
    words: npt.NDArray[np.bool_] | None = None  # (n, terms), whether a row has the word of a term


def to_probabilities(scores: FloatArray) -> FloatArray:
    """Return the probabilities of classes, (n, k), given their log-scores.

    Examples
    --------
    >>> to_probabilities(np.array([[0.0, 0.0], [0.0, -np.inf]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))  # exponent <= 0: cannot overflow
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _overflow(block: Block, row: int) -> TableError:
    """Return the error about a row whose prediction overflows, with its largest number."""
    numbers = {
        feature.column: float(block[row : row + 1].columns[place][0])
        for place, feature in enumerate(block.features)
        if feature.kind in ("numeric", "count")
    }
    column = max(numbers, key=lambda name: abs(np.nan_to_num(numbers[name])), default="")
    return TableError(
        f"column {column!r} is {numbers.get(column, np.nan):g} in row {block.first + row + 1}, so far from the rows of "
        "the fit that its prediction overflows float64: correct the cell, or leave out the row"
    )


class Predictor(ABC):
    """A fitted model of a target given the rows of a table.

    Parameters
    ----------
    model_type
        The model type.
    task
        The task.
    labels
        The classes; empty if a number is predicted.
    """

    _inner: Any = None  # the estimator; None if it was not fitted, or is in a file and was not needed
    _stored: Contents | None = None  # contents of a file
    _stored_scorer: Scorer | None = None
    penalty: float = 1.0  # of the coefficients of a regression
    columns: int = 0  # number of columns of the design matrix

    def __init__(self, model_type: ModelType, task: Task, labels: Labels) -> None:
        self.model_type = model_type
        self.task = task
        self.labels = labels

    @property
    def inner(self) -> Any:
        """The estimator; that of a file is loaded when it is first needed."""
        if self._inner is None and self._stored is not None:
            self.inner = load_estimator(self._stored)
        return self._inner

    @inner.setter
    def inner(self, estimator: Any) -> None:
        self._inner, self._stored, self._stored_scorer = estimator, None, None

    def _set_contents(self, contents: Contents) -> None:
        """Set the estimator to what its file would hold; it is loaded when it is first needed."""
        self._stored, self._stored_scorer, self._inner = contents, read_scorer(contents), None

    @property
    def estimator(self) -> Any:
        """The estimator, as users see it."""
        return self.inner

    @property
    def scorer(self) -> Scorer | None:
        """What scores rows of the design matrix; None if only the estimator does."""
        return scorer_of(self.inner) if self._stored_scorer is None else self._stored_scorer

    @abstractmethod
    def prepare(self, sample: Block) -> None:
        """Choose the encoding of rows from a sample."""

    def extend_levels(self, description: Description) -> None:  # noqa: B027  (few have to)
        """Extend the encoding by levels that are missing in the sample, from the sums of all rows."""

    def hold_out(  # noqa: B027  (few have to)
        self, groups: npt.NDArray[np.int64] | None, times: FloatArray | None
    ) -> None:
        """Set groups or times of the rows to be learned: a model that holds out some of them does it by these."""

    @abstractmethod
    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Fit the model to blocks of rows."""

    @abstractmethod
    def scores(self, block: Block) -> FloatArray:
        """Return log-scores of the classes, (n, k), whose softmax is p(y | x); or expected numbers, (n,)."""

    def effects(self, block: Block) -> Effects:
        """Return the contribution of each feature to the scores."""
        raise TableError(
            f"the model {self.model_type.name!r} has no contributions of columns: use another model to explain"
        )

    def predict(self, block: Block) -> FloatArray:
        """Return the probabilities of the classes, (n, k), or expected numbers, (n,)."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                scores = self.scores(block)
        except ScoreOverflowError as error:
            raise _overflow(block, error.row) from None
        lost = ~np.isfinite(scores.max(axis=1)) if self.task == "classes" else np.isinf(scores)
        if lost.any():
            raise _overflow(block, int(np.argmax(lost)))
        return to_probabilities(scores) if self.task == "classes" else scores

    def summary(self, level: float, notes: tuple[str, ...] = ()) -> Summary | TermSummary:
        """Return the coefficients or the terms, with standard errors; ``notes`` are added to its own."""
        raise TableError(
            f"{self.model_type.name} is no regression, and has no coefficients: use explain, or fit model='linear', "
            "'logistic', 'softmax', 'poisson' or 'additive'"
        )

    def residual_noise(self) -> float | None:
        """Return the root mean square of the residuals; None if the sums do not tell."""
        return None

    def set_temperature(self, temperature: float) -> None:
        """Divide the scores of a generative model by a temperature."""
        raise NotImplementedError

    # Updates and merges, only of models that are fitted from sums.

    def unsupported(self, what: str) -> TableError:
        """Return the error about an operation that this model does not support."""
        return TableError(
            f"a {self.model_type.name!r} model cannot {what}: it is fitted to the rows themselves and keeps no sums. "
            "Fit it again to the rows that should count, or use nb, gda, linear or text"
        )

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Add rows."""
        raise NotImplementedError

    def remove(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Subtract rows."""
        raise NotImplementedError

    def column_at(self, place: tuple[int, ...]) -> str | None:
        """Return the column at a place of the sums, if it is one."""
        return None

    def finish_removal(self) -> float:
        """Finish after rows were subtracted, and return how many digits of the sums are known; raise if too few."""
        raise NotImplementedError

    def add_columns(self, features: Sequence[Feature], cells: Block) -> None:
        """Add columns that had the same cell in all rows.

        Parameters
        ----------
        features
            All features, in their new order.
        cells
            One row, with the cells of all rows in the new columns.
        """
        raise NotImplementedError

    def finish_update(self) -> None:  # noqa: B027  (few have to)
        """Finish after rows were added, or models merged."""

    def merge(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        raise NotImplementedError

    # Files.

    def settings(self) -> dict[str, Any]:
        """Return the settings that a file stores beside the estimator."""
        return {}

    def restore(self, settings: Any) -> None:  # noqa: B027  (few have to)
        """Set what :meth:`settings` returned."""

    def contents(self) -> Contents:
        """Return the file contents of the estimator."""
        if self._stored is not None:
            return self._stored
        found: Contents = self.inner._contents()
        return found

    def restore_estimator(self, contents: Contents) -> None:
        """Set the estimator to that of a file; it is loaded now only if predictions need it."""
        self._stored = contents
        if self._stored_scorer is None:  # as it is unless restore found it in the settings
            self._stored_scorer = read_scorer(contents)
        if self._stored_scorer is None:
            _ = self.inner


class StatisticsPredictor(Predictor):
    """A model that is estimated from sums: it holds them as a file does, and loads the estimator if it is asked for."""

    @property
    def inner(self) -> Any:
        """The estimator of the same sums."""
        if self._inner is None and self._stored is not None:
            self._inner = load_estimator(self._stored)
        return self._inner

    @inner.setter
    def inner(self, estimator: Any) -> None:
        self._set_contents(estimator._contents())
        self._inner = estimator

    @property
    def statistics(self) -> Any:
        """The sums; None before the first rows."""
        return None if self._stored is None else self._stored.statistics["sum"]


#: Package of each estimator that a file may hold.
_PACKAGES = {
    "AdditiveClassifier": "suffice.additive",
    "AdditiveRegressor": "suffice.additive",
    "GDA": "suffice.generative",
    "LinearRegression": "suffice.discriminative",
    "LocallyWeightedRegression": "suffice.discriminative",
    "LogisticRegression": "suffice.discriminative",
    "GLM": "suffice.discriminative",
    "SoftmaxRegression": "suffice.discriminative",
    "TextClassifier": "suffice.text",
}


def load_estimator(contents: Contents) -> Any:
    """Return the estimator that a file holds."""
    return getattr(import_module(_PACKAGES[contents.kind]), contents.kind)._from_contents(contents)


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Suppress warnings about collinear, separable or too few rows and columns, which are common in tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
