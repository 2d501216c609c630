"""Naive Bayes over a table; every TableModel has one as the description of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.column_kinds import FEATURE_KINDS
from suffice.generative import MixedNB
from suffice.generative.categories import Coded
from suffice.generative.product import Bags, Cells, kind_of, pruned, summarise
from suffice.kernels import Batch, ThreadEngine
from suffice.statistics import Labels, LostDigitsError, Statistics
from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block
from suffice.tables.errors import TableError, digits_error
from suffice.tables.predictors.base import Effects, EncodedRows, Predictor
from suffice.tables.schema import Feature

_ENGINE = ThreadEngine()


def to_cells(block: Block) -> Cells:
    """Return rows as MixedNB takes them, grouped by kind."""
    places = {
        kind: tuple(place for place, feature in enumerate(block.features) if feature.kind == kind)
        for kind in FEATURE_KINDS
    }
    places = {kind: found for kind, found in places.items() if found}
    return Cells(len(block.features), places, {kind: _part(kind, block, found) for kind, found in places.items()})


def _part(kind: str, block: Block, places: tuple[int, ...]) -> Any:
    columns = [block.columns[place] for place in places]
    if kind == "text":
        return Bags.of(columns)
    if kind == "category":
        vocabularies = tuple(column.vocabulary for column in columns)
        codes = np.stack([column.codes for column in columns]).T
        return Coded(codes, vocabularies, tuple(map(len, vocabularies)))
    return np.stack(columns).T  # in column order, as they are in memory


class Description(MixedNB):
    """Naive Bayes over blocks of a table."""

    @classmethod
    def over(cls, features: tuple[Feature, ...]) -> Self:
        """Return an unfitted model of these features."""
        model = cls()
        model._hold_parameters()
        model.column_kinds_ = {feature.name: feature.kind for feature in features}
        model.feature_names_in_ = np.array([feature.name for feature in features], dtype=object)
        model.n_features_in_ = len(features)
        return model

    def sum_block(self, block: Block, codes: npt.NDArray[np.int64], labels: Labels) -> Statistics:
        """Return the sum over rows."""
        try:
            return _ENGINE.accumulate(partial(summarise, labels), Batch(to_cells(block), codes))
        except OverflowError as error:
            column = _find_overflow(block)
            raise (
                error if column is None else TableError(f"the sums of column {column!r} overflow float64: rescale it")
            ) from None

    @property
    def is_empty(self) -> bool:
        """Whether no row was learned."""
        return "_memory" not in vars(self)

    def levels(self) -> dict[str, tuple[str, ...]]:
        """Return the categories of each categorical feature."""
        return {str(name): tuple(map(str, found)) for name, found in self.categories_.items()}

    def known(self) -> dict[str, FloatArray]:
        """Return the number of rows of each class in which each feature is known; texts are never missing."""
        found: dict[str, FloatArray] = {}
        for part in self.statistics_.parts:
            kind = kind_of(part)
            names = [str(name) for name, each in self.column_kinds_.items() if each == kind]
            for place, name in enumerate(names):
                if kind == "category":
                    found[name] = part.feature(place).sum(axis=1)
                else:
                    found[name] = part.rows if kind == "text" else part.observed[:, place]
        return found

    def constants(self) -> dict[str, str]:
        """Return the features that are constant, with their value."""
        found: dict[str, str] = {}
        for part in self.statistics_.parts:
            kind = kind_of(part)
            names = [str(name) for name, each in self.column_kinds_.items() if each == kind]
            for place, name in enumerate(names):
                if kind == "numeric":
                    seen = part.observed[:, place] > 0
                    level = part.mean[seen, place]
                    if not part.spread[seen, place].any() and len(np.unique(level)) <= 1:
                        found[name] = f"{level[0]:g}" if len(level) else "missing"
                elif kind == "category" and len(part.vocabularies[place]) <= 1:
                    found[name] = next((repr(str(label)) for label in part.vocabularies[place]), "missing")
        return found

    def gaps(self) -> dict[str, bool]:
        """Return which features have missing cells."""
        rows = self._class_weights(self.statistics_).sum()
        return {name: bool(known.sum() < rows) for name, known in self.known().items()}


class NaiveBayesPredictor(Predictor):
    """Naive Bayes on the cells, without a design matrix."""

    reads = ("cells",)
    inner: Description

    def prepare(self, sample: Block) -> None:
        """Do nothing: there is no encoding to choose."""
        self.inner = Description.over(sample.features)

    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Fit the model to blocks of rows."""
        for block, codes in rows:
            self.add(block, codes)
        return self

    def scores(self, block: Block) -> FloatArray:
        """Return log p(x, y), (n, k), divided by the temperature."""
        joint = self.inner.joint_
        scores: FloatArray = self.inner.score_rows([joint], to_cells(block), "joint")[0]
        return scores / joint.temperature

    def effects(self, block: Block) -> Effects:
        """Return the contribution of each feature to the scores."""
        joint = self.inner.joint_
        conditional: Any = joint.conditional
        parts, base = joint.contributions(conditional.readable(to_cells(block)))
        return Effects([part / joint.temperature for part in parts], base / joint.temperature)

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Add rows."""
        more = self.inner.sum_block(block, values, self.labels)
        self.inner.set_statistics(more if self.inner.is_empty else self.inner.statistics_ + more)

    def remove(self, block: Block, values: npt.NDArray[Any]) -> float:
        """Subtract rows exactly."""
        return subtract_statistics(self.inner, self.inner.sum_block(block, values, self.labels))

    def merge(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        both = NaiveBayesPredictor(self.model_type, self.task, self.labels.union(other.labels)[0])
        both.inner = self.inner + other.inner
        return both


def subtract_statistics(description: Description, gone: Statistics) -> float:
    """Subtract a sum from a description, and return the digits lost; raise with the column if they are too many."""
    try:
        removal = description.statistics_.remove(gone)
    except LostDigitsError as error:
        raise digits_error(_column(description, error.place)) from None
    description.set_statistics(pruned(removal.left))
    return float(removal.digits_lost)


def _find_overflow(block: Block) -> str | None:
    """Return the column whose sum of squares overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        for feature, column in zip(block.features, block.columns, strict=True):
            if feature.kind in ("numeric", "count") and not np.isfinite(np.nansum(np.square(column))):
                return feature.name
    return None


def _column(description: Description, place: tuple[int, ...]) -> str:
    """Return the column at an index of the description's sums."""
    kind = kind_of(description.statistics_.parts[place[0]])
    names = [str(name) for name, each in description.column_kinds_.items() if each == kind]
    return names[place[1]] if len(place) > 1 else ", ".join(names)
