"""Naive Bayes over a table, which reads cells as they are; every TableModel carries one as its description."""

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
    """Return rows as naive Bayes reads them, kind by kind."""
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
    return np.stack(columns).T  # column after column, as they lie


class Description(MixedNB):
    """Naive Bayes over blocks of a table."""

    @classmethod
    def over(cls, features: tuple[Feature, ...]) -> Self:
        """Return a model of these features that has learned nothing yet."""
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
        """Whether nothing was learned yet."""
        return "_memory" not in vars(self)

    def levels(self) -> dict[str, tuple[str, ...]]:
        """Return the categories of each feature that has some."""
        return {str(name): tuple(map(str, found)) for name, found in self.categories_.items()}

    def known(self) -> dict[str, FloatArray]:
        """Return in how many rows of each class each feature is known; texts are always."""
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
        """Return the features that have one value in all rows, and that value."""
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
        """Return which features were ever missing."""
        rows = self._class_weights(self.statistics_).sum()
        return {name: bool(known.sum() < rows) for name, known in self.known().items()}


class NaiveBayesPredictor(Predictor):
    """Naive Bayes, which reads cells as they are."""

    reads = ("cells",)
    inner: Description

    def prepare(self, sample: Block) -> None:
        """Nothing is to be settled."""
        self.inner = Description.over(sample.features)

    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Learn from rows, block by block."""
        for block, codes in rows:
            self.add(block, codes)
        return self

    def scores(self, block: Block) -> FloatArray:
        """Return log p(x, y), (n, k), divided by the temperature."""
        joint = self.inner.joint_
        scores: FloatArray = self.inner.score_rows([joint], to_cells(block), "joint")[0]
        return scores / joint.temperature

    def effects(self, block: Block) -> Effects:
        """Return the scores taken apart, feature by feature."""
        joint = self.inner.joint_
        conditional: Any = joint.conditional
        parts, base = joint.contributions(conditional.readable(to_cells(block)))
        return Effects([part / joint.temperature for part in parts], base / joint.temperature)

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Learn from more rows."""
        more = self.inner.sum_block(block, values, self.labels)
        self.inner.set_statistics(more if self.inner.is_empty else self.inner.statistics_ + more)

    def remove(self, block: Block, values: npt.NDArray[Any]) -> float:
        """Unlearn rows exactly."""
        return subtract_statistics(self.inner, self.inner.sum_block(block, values, self.labels))

    def merge(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        both = NaiveBayesPredictor(self.form, self.task, self.labels.union(other.labels)[0])
        both.inner = self.inner + other.inner
        return both


def subtract_statistics(description: Description, gone: Statistics) -> float:
    """Take a sum out of a description, and return the digits that this cost; say in which column too many are lost."""
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
    """Return the column at a place of a description's sums."""
    kind = kind_of(description.statistics_.parts[place[0]])
    names = [str(name) for name, each in description.column_kinds_.items() if each == kind]
    return names[place[1]] if len(place) > 1 else ", ".join(names)
