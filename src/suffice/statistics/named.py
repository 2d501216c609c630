"""Counts whose columns have names, so that sums over different vocabularies add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics.counts import ClassCounts
from suffice.statistics.labels import Labels
from suffice.statistics.rounding import FloatArray


@dataclass(frozen=True, eq=False)
class VocabularyCounts(ClassCounts):
    """Rows and counts of each class, the columns of each feature named by its vocabulary.

    Adding takes the union of the classes and, feature by feature, of the vocabularies, and puts every count in its
    place. Subtracting leaves the vocabularies as they are.
    """

    vocabularies: tuple[Labels, ...] = ()  # of each feature; their lengths sum to the columns of counts

    noun: ClassVar[str]  # what a vocabulary holds

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shapes = super()._shapes()
        if not isinstance(self.vocabularies, tuple) or not all(isinstance(one, Labels) for one in self.vocabularies):
            raise TypeError(f"vocabularies must be a tuple of Labels, one for each feature; got {self.vocabularies!r}")
        if sum(self.sizes) != self.counts.shape[1]:
            raise ValueError(
                f"vocabularies of {list(self.sizes)} names must sum to the {self.counts.shape[1]} columns of counts"
            )
        return shapes

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many names the vocabulary of each feature holds; 0 where a feature was only ever missing."""
        return tuple(len(vocabulary) for vocabulary in self.vocabularies)

    @property
    def features(self) -> int:
        """How many features a row has."""
        return len(self.vocabularies)

    def feature(self, index: int) -> FloatArray:
        """Return the counts of one feature's names, (k, size)."""
        start = sum(self.sizes[:index])
        return self.counts[:, start : start + self.sizes[index]]

    def widened(self, vocabularies: Sequence[Labels]) -> Self:
        """Return the same counts over vocabularies that hold these names and perhaps more."""
        vocabularies = tuple(vocabularies)
        if vocabularies == self.vocabularies:
            return self
        places, width = self._places(vocabularies), sum(map(len, vocabularies))

        def widen(table: FloatArray) -> FloatArray:
            wide = np.zeros((len(table), width))
            wide[:, places] = table
            return wide

        error = self.counts_error
        return replace(
            self,
            counts=widen(self.counts),
            counts_error=widen(error) if error.size else error,
            vocabularies=vocabularies,
        )

    def _places(self, vocabularies: tuple[Labels, ...]) -> npt.NDArray[np.intp]:
        """Return which column each column of counts becomes among wider vocabularies."""
        if len(vocabularies) != len(self.vocabularies):
            raise ValueError(f"vocabularies must be of {len(self.vocabularies)} features; got {len(vocabularies)}")
        places, start = [np.zeros(0, dtype=np.intp)], 0
        for index, (mine, wider) in enumerate(zip(self.vocabularies, vocabularies, strict=True)):
            try:
                places.append(start + wider.positions(mine))
            except KeyError:
                absent = next(name for name in mine if name not in set(wider))
                raise KeyError(f"the vocabulary of feature {index} lacks the {self.noun} {absent!r}") from None
            start += len(wider)
        return np.concatenate(places)

    def _paired(self, other: Self) -> tuple[Self, Self]:
        here, there = len(self.vocabularies), len(other.vocabularies)
        if here != there:
            raise ValueError(f"counts of {here} and of {there} features do not go together")
        labels, _, _ = self.labels.union(other.labels)
        pairs = zip(self.vocabularies, other.vocabularies, strict=True)
        united = tuple(mine if mine == theirs else mine.union(theirs)[0] for mine, theirs in pairs)
        return self.aligned(labels).widened(united), other.aligned(labels).widened(united)

    def _minus(self, other: Self) -> Self:
        rest = super()._minus(other)
        if rest.vocabularies == self.vocabularies:
            return rest
        # Names that only the other side knows, with no counts, do not come into the vocabulary by being taken away.
        return rest.take_columns(self._places(rest.vocabularies), self.vocabularies)

    def take_columns(self, columns: npt.NDArray[Any], vocabularies: tuple[Labels, ...]) -> Self:
        """Return some columns of counts, where a mask is true or of these numbers, whose names these are."""
        error = self.counts_error
        return replace(
            self,
            counts=self.counts[:, columns],
            counts_error=error[:, columns] if error.size else error,
            vocabularies=vocabularies,
        )

    def _feature_of(self, column: int) -> int:
        return int(np.searchsorted(np.cumsum(self.sizes), column, side="right"))

    def _called(self, place: tuple[int, ...]) -> str:
        ends, index = np.cumsum(self.sizes), self._feature_of(place[1])
        name = self.vocabularies[index].names[place[1] - int(ends[index]) + self.sizes[index]]
        label = self.labels.names[place[0]]
        return f"the count of the {self.noun} {name!r} of feature {index} in class {label!r}"


class NamedCategoryCounts(VocabularyCounts):
    """How often each category, by its name, of each feature occurred in each class.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> y, labels, engine = np.array([0, 1]), Labels.of(["ham", "spam"]), ThreadEngine()
    >>> monday = NamedCategoryCounts.over(labels, (Labels.of(["blue", "red"]),))
    >>> tuesday = NamedCategoryCounts.over(labels, (Labels.of(["green", "red"]),))
    >>> codes = Batch(np.array([[0], [1]]), y)
    >>> both = engine.accumulate(monday, codes) + engine.accumulate(tuesday, codes)
    >>> both.vocabularies[0].names
    ('blue', 'green', 'red')
    >>> both.feature(0)
    array([[1., 1., 0.],
           [0., 0., 2.]])
    """

    noun = "category"

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels, vocabularies: Sequence[Labels]) -> Self:
        """Return the counts of one batch, whose x holds codes into the vocabularies; missing cells add nothing."""
        sizes = tuple(len(vocabulary) for vocabulary in vocabularies)
        rows, counts = kernels.category_counts(batch, len(labels), sizes, True)
        return cls(labels, rows, counts, tuple(vocabularies))._with_bounds(batch, kernels)


class WordCounts(VocabularyCounts):
    """How often each word, by its name, of each text feature occurred in each class.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> spam = Labels.of(["spam"])
    >>> one = WordCounts.over(spam, (Labels.of(["buy", "now"]),))
    >>> two = WordCounts.over(spam, (Labels.of(["now", "win"]),))
    >>> engine, words = ThreadEngine(), Batch(np.array([[1, 2]]), np.array([0]))
    >>> both = engine.accumulate(one, words) + engine.accumulate(two, words)
    >>> dict(zip(both.vocabularies[0], both.counts[0].tolist()))
    {'buy': 1.0, 'now': 3.0, 'win': 2.0}
    """

    noun = "word"
    _counts_cells = True

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels, vocabularies: Sequence[Labels]) -> Self:
        """Return the counts of one batch, whose x holds one column per word, features side by side: dense or CSR."""
        rows, counts = kernels.event_counts(batch, len(labels))
        return cls(labels, rows, counts, tuple(vocabularies))._with_bounds(batch, kernels)
