"""What is remembered of documents: counts per class and word, and a sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.statistics import Labels, Removal, Statistics
from suffice.statistics.base import Cost, FloatArray, check_factor, digits_lost, less, placed
from suffice.statistics.labels import ONE_CLASS
from suffice.statistics.text import from_bytes, to_bytes
from suffice.text.features import Features
from suffice.text.sample import DocumentSample
from suffice.text.vocabulary import Columns, HashedVocabulary, Places, Vocabulary, under

#: So many documents are kept of all, to choose smoothing and temperature by.
SAMPLED = 1024


@dataclass(frozen=True)
class Counting:
    """What is to be counted of documents.

    Parameters
    ----------
    features
        How a document becomes features.
    vocabulary
        What the columns are: an empty vocabulary grows, one with words counts these alone.
    events
        Whether it is counted how often a word occurs in each class.
    presences
        Whether it is counted in how many documents of each class a word occurs.
    sampled
        How many documents are kept at most.
    """

    features: Features = field(default_factory=Features)
    vocabulary: Columns = field(default_factory=Vocabulary)
    events: bool = True
    presences: bool = False
    sampled: int = SAMPLED


@dataclass(frozen=True, eq=False)
class DocumentCounts(Statistics):
    """Documents of each class, how often words occur in them, and in how many.

    Adding takes the union of classes and vocabularies; exact words add to the slots of a hashed vocabulary. Subtracting
    also takes words out that are left in no document: what remains is what the other documents give.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> from suffice.text.documents import Documents
    >>> spam = Documents(["free money", "money, money!"])
    >>> counts = ThreadEngine().accumulate(DocumentCounts.over(ONE_CLASS, Counting()), Batch(spam))
    >>> dict(zip(counts.vocabulary, counts.events[0].tolist())), counts.documents
    ({'free': 1.0, 'money': 3.0}, array([1., 2.]))
    """

    labels: Labels
    vocabulary: Columns
    rows: FloatArray  # (k,) the weight of the documents of each class
    events: FloatArray  # (k, V), or (k, 0) where they are not counted
    presences: FloatArray  # (k, V), or (k, 0)
    documents: FloatArray  # (V,) the weight of the documents with a word
    sample: DocumentSample

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        k, width = len(self.labels), len(self.documents)
        if width and width != len(self.vocabulary):
            raise ValueError(f"a vocabulary of {len(self.vocabulary)} columns does not go with {width} counts")
        if self.sample.codes.size and not 0 <= self.sample.codes.min() <= self.sample.codes.max() < k:
            raise ValueError("the sample holds documents of no class")
        if self.sample.columns.size and not 0 <= self.sample.columns.min() <= self.sample.columns.max() < width:
            raise ValueError("the sample holds words without a column")
        counted = {name: (k, width) for name in ("events", "presences") if getattr(self, name).shape != (k, 0)}
        return {"rows": (k,), **counted}

    @classmethod
    def zero(cls) -> Self:
        """Return the counts over no documents."""
        nothing = np.zeros((0, 0))
        return cls(Labels(), Vocabulary(), np.zeros(0), nothing, nothing, np.zeros(0), DocumentSample.empty(0))

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS, counting: Counting | None = None) -> Self:
        """Return the counts of one batch of documents, whose y holds codes into the labels."""
        counting = counting or Counting()
        k, inside = len(labels), slice(batch.start, batch.stop)
        codes = np.zeros(batch.rows, dtype=np.int64) if batch.y is None else np.asarray(batch.y[inside], dtype=np.int64)
        weights = None if batch.weight is None else np.ascontiguousarray(batch.weight[inside], dtype=np.float64)
        words = Vocabulary()
        found = counting.features.native.counts(
            batch.x.native,
            batch.start,
            batch.stop,
            np.ascontiguousarray(codes),
            weights,
            k,
            words.native,
            counting.events,
            counting.presences,
            counting.sampled,
        )
        events, presences, documents, rows, (below, *held) = found
        sample = DocumentSample(counting.sampled, below if counting.sampled else 0.0, *held)
        exact = cls(labels, words, rows, events, presences, documents, sample)
        into = exact.into(counting.vocabulary)
        uncounted = np.zeros((k, 0))
        return into._with(
            events=into.events if counting.events else uncounted,
            presences=into.presences if counting.presences else uncounted,
        )

    @classmethod
    def cost_of(cls, batch: Any, labels: Labels = ONE_CLASS, *what: Any) -> Cost:
        """Return the cost of a table whose words are not known yet: they grow about as the root of the bytes."""
        return Cost(batch.size, (20 + len(labels)) * math.isqrt(batch.size))

    def into(self, vocabulary: Columns) -> Self:
        """Return counts of exact words as counts of another vocabulary's columns; an empty one takes in any word."""
        if isinstance(vocabulary, Vocabulary):
            return self._limited(vocabulary) if len(vocabulary) else self
        assert isinstance(self.vocabulary, Vocabulary)
        assert isinstance(vocabulary, HashedVocabulary)
        slots, columns = vocabulary.absorbed(self.vocabulary, self.documents)
        return self._spread(slots, columns)

    def _limited(self, vocabulary: Vocabulary) -> Self:
        """Return the counts of these words alone."""
        columns = np.array(vocabulary.native.places(self.vocabulary.native), dtype=np.intp)  # type: ignore[attr-defined]
        return self.taken(np.flatnonzero(columns >= 0))._spread(vocabulary, columns[columns >= 0])

    @property
    def weight(self) -> float:
        """The total weight of the documents."""
        return float(self.rows.sum())

    @property
    def is_zero(self) -> bool:
        """Whether there are no classes: not even an empty one."""
        return not len(self.labels)

    def aligned(self, labels: Labels) -> Self:
        """Return the same counts over classes that include these."""
        if labels == self.labels:
            return self
        places = labels.positions(self.labels)
        moved = {name: placed(getattr(self, name), places, len(labels)) for name in ("rows", "events", "presences")}
        return self._with(labels=labels, sample=self.sample.moved(codes=places), **moved)

    def taken(self, columns: Places) -> Self:
        """Return the counts of some words of an exact vocabulary. The sample's documents lose the others."""
        if len(columns) == len(self.documents) and np.array_equal(columns, np.arange(len(columns))):
            return self
        assert isinstance(self.vocabulary, Vocabulary)
        where = np.full(len(self.vocabulary), -1, dtype=np.int64)
        where[columns] = np.arange(len(columns))
        kept = where[self.sample.columns] >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[self.sample.ends]
        sample = replace(
            self.sample, ends=ends, columns=where[self.sample.columns[kept]], counts=self.sample.counts[kept]
        )
        return replace(
            self,
            vocabulary=self.vocabulary.take(columns),
            events=self.events[:, columns] if self.events.size else self.events,
            presences=self.presences[:, columns] if self.presences.size else self.presences,
            documents=self.documents[columns],
            sample=sample,
        )

    def _spread(self, vocabulary: Columns, columns: Places) -> Self:
        """Return the counts with each column moved to its place in another vocabulary; what meets there adds up."""
        width, here = len(vocabulary), len(self.documents)
        if width == here and np.array_equal(columns, np.arange(width)):
            return replace(self, vocabulary=vocabulary)

        def moved(table: FloatArray) -> FloatArray:
            if table.shape[-1] != here:
                return table
            if table.ndim == 1:
                return np.bincount(columns, table, width).astype(np.float64)
            return np.stack([np.bincount(columns, row, width).astype(np.float64) for row in table])

        return replace(
            self,
            vocabulary=vocabulary,
            events=moved(self.events),
            presences=moved(self.presences),
            documents=moved(self.documents),
            sample=self.sample.moved(columns=columns),
        )

    def _check_alike(self, other: Self) -> None:
        """Raise where two have not counted the same things."""
        for name in ("events", "presences"):
            # Without words there are no columns, counted or not: that goes with anything.
            counted = {getattr(side, name).shape[1] > 0 for side in (self, other) if len(side.documents)}
            if len(counted) > 1:
                raise ValueError(f"only one of the two has counted {name}: they do not go together")

    def _plus(self, other: Self) -> Self:
        if isinstance(self.vocabulary, Vocabulary) and not isinstance(other.vocabulary, Vocabulary):
            return other._plus(self)
        self._check_alike(other)
        labels, _, _ = self.labels.union(other.labels)
        both: Columns
        if isinstance(self.vocabulary, Vocabulary) == isinstance(other.vocabulary, Vocabulary):
            both, _, theirs = self.vocabulary.union(other.vocabulary)  # the words of this one come first
        else:  # exact words fall into the slots of the other, without as many slots of their own
            assert isinstance(self.vocabulary, HashedVocabulary)
            assert isinstance(other.vocabulary, Vocabulary)
            both, theirs = self.vocabulary.absorbed(other.vocabulary, other.documents)
        one, two, width = self.aligned(labels), other.aligned(labels), len(both)

        def added(name: str) -> FloatArray:
            left, right = getattr(one, name), getattr(two, name)
            if left.shape[-1] != len(self.documents) or right.shape[-1] != len(other.documents):
                return np.zeros((*left.shape[:-1], 0))  # not counted
            table = _native.text.added(np.atleast_2d(left), np.atleast_2d(right), theirs.astype(np.int64), width)
            return np.asarray(table).reshape(*left.shape[:-1], width)

        return replace(
            one,
            vocabulary=both,
            rows=one.rows + two.rows,
            events=added("events"),
            presences=added("presences"),
            documents=added("documents"),
            sample=one.sample.plus(two.sample.moved(columns=theirs)),
        )

    def _minus(self, other: Self) -> Removal:
        self._check_alike(other)
        labels, _, _ = self.labels.union(other.labels)
        if not isinstance(self.vocabulary, Vocabulary) and isinstance(other.vocabulary, Vocabulary):
            other = other.into(self.vocabulary)
        elif type(self.vocabulary) is not type(other.vocabulary):
            raise ValueError("documents over slots cannot be taken out of counts of exact words")
        both, mine, theirs = self.vocabulary.union(other.vocabulary)
        whole, part = self.aligned(labels)._spread(both, mine), other.aligned(labels)._spread(both, theirs)
        names = ("rows", "documents", "events", "presences")
        before = {name: getattr(whole, name) for name in names}
        gone = {name: getattr(part, name) for name in names}
        for name in ("events", "presences"):
            if before[name].shape != gone[name].shape:  # one side has no words, and so nothing that is counted
                before[name] = gone[name] = np.zeros((len(labels), 0))
        called: dict[str, Callable[[tuple[int, ...]], str]] = {
            "rows": lambda place: f"the documents of class {labels.names[place[0]]!r}",
            "documents": lambda place: f"the documents with {both.name(place[0])!r}",
            "events": lambda place: f"the count of {both.name(place[1])!r} in class {labels.names[place[0]]!r}",
            "presences": lambda place: (
                f"the documents with {both.name(place[1])!r} in class {labels.names[place[0]]!r}"
            ),
        }
        left = {name: less(name, before[name], gone[name], called.get(name)) for name in names}
        lost = max(digits_lost(before[name], gone[name], left[name]) for name in names)
        rest = whole._with(**left, sample=whole.sample.minus(part.sample))
        if isinstance(rest.vocabulary, Vocabulary):
            rest = rest.taken(np.flatnonzero(rest.documents > 0))
        return Removal(rest, lost)

    def scaled(self, factor: float) -> Self:
        """Return the counts with every document's weight multiplied by ``factor``."""
        factor = check_factor(factor)
        tables = {name: getattr(self, name) * factor for name in ("rows", "events", "presences", "documents")}
        return self._with(sample=self.sample.scaled(factor), **tables)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the counts, the vocabulary and the sample as plain arrays."""
        sample = {f"sample.{name}": np.asarray(value, order="C") for name, value in vars(self.sample).items()}
        words = {f"vocabulary.{name}": array for name, array in self.vocabulary.to_arrays().items()}
        tables = {
            name: np.asarray(getattr(self, name), order="C") for name in ("rows", "events", "presences", "documents")
        }
        kind = to_bytes(type(self.vocabulary).__name__)
        return {"labels": self.labels.to_array(), "vocabulary": kind, **tables, **words, **sample}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the counts that :meth:`to_arrays` wrote, or say what is wrong with the arrays."""
        try:
            kind = Columns.columns[from_bytes("vocabulary", np.asarray(arrays["vocabulary"]))]
        except (KeyError, TypeError) as error:
            known = sorted(Columns.columns)
            raise ValueError(f"{cls.__name__} is stored with an array 'vocabulary', one of {known} in JSON") from error
        expected = cls.zero()._with(vocabulary=kind()).to_arrays()
        if set(arrays) != set(expected):
            raise ValueError(f"{cls.__name__} is stored as the arrays {sorted(expected)}; got {sorted(arrays)}")
        for name, like in expected.items():
            array = np.asarray(arrays[name])
            if like.dtype.kind in "iu" and array.dtype.kind not in "iu":
                raise ValueError(f"array {name!r} must hold whole numbers; it holds {array.dtype}")
            if like.dtype == np.float64 and array.dtype.kind not in "fiu":
                raise ValueError(f"array {name!r} must hold numbers; it holds {array.dtype}")
            if array.ndim != like.ndim:
                raise ValueError(f"array {name!r} must have {like.ndim} dimensions; its shape is {array.shape}")
        words = kind.from_arrays(under("vocabulary", arrays))
        held = under("sample", arrays)
        sample = DocumentSample(
            int(held["size"]),
            float(held["below"]),
            *(np.asarray(held[name]) for name in ("hashes", "codes", "weights", "ends", "columns", "counts")),
        )
        tables = {name: np.asarray(arrays[name]) for name in ("rows", "events", "presences", "documents")}
        return cls(labels=Labels.from_array(arrays["labels"]), vocabulary=words, sample=sample, **tables)
