"""DocumentCounts: the statistic that text models are fitted from, counts per class and word with a sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import ALL_DIGITS, Cost, check_factor, placed
from suffice.statistics.labels import ONE_CLASS
from suffice.statistics.rounding import (
    EPSILON,
    EXACT,
    REFIT,
    TOLERANCE,
    UNKNOWN,
    FloatArray,
    LostDigitsError,
    difference,
    is_exact,
    least_weight,
)
from suffice.statistics.text import from_bytes, to_bytes
from suffice.text.features import Features
from suffice.text.sample import DocumentSample
from suffice.text.vocabulary import BaseVocabulary, HashedVocabulary, Index, Vocabulary, strip_prefix

#: The number of documents in the sample by which smoothing and temperature are chosen.
SAMPLED = 1024


@dataclass(frozen=True)
class CountSpec:
    """What is counted in documents.

    Parameters
    ----------
    features
        The features of a document.
    vocabulary
        The columns: an empty vocabulary takes all words, one with words counts these alone.
    events
        Whether to count the occurrences of each word in each class.
    presences
        Whether to count the documents of each class that contain a word.
    sampled
        The greatest number of documents in the sample.
    """

    features: Features = field(default_factory=Features)
    vocabulary: BaseVocabulary = field(default_factory=Vocabulary)
    events: bool = True
    presences: bool = False
    sampled: int = SAMPLED


@dataclass(frozen=True, eq=False)
class DocumentCounts(Statistics):
    """Counts of documents per class, of occurrences of words, and of documents that contain them.

    The sum of two has the union of their classes and vocabularies; exact words are added to the columns of a hashed
    vocabulary. Subtraction also removes words that no remaining document contains: the result is the sum over the
    remaining documents.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> from suffice.text.documents import Documents
    >>> spam = Documents(["free money", "money, money!"])
    >>> counts = ThreadEngine().accumulate(DocumentCounts.over(ONE_CLASS, CountSpec()), Batch(spam))
    >>> dict(zip(counts.vocabulary, counts.events[0].tolist())), counts.documents
    ({'free': 1.0, 'money': 3.0}, array([1., 2.]))
    """

    labels: Labels
    vocabulary: BaseVocabulary
    rows: FloatArray  # (k,) the weight of the documents of each class
    events: FloatArray  # (k, V) occurrences; (k, 0) where they are not counted
    presences: FloatArray  # (k, V) documents that contain a word; (k, 0) where they are not counted
    documents: FloatArray  # (V,) the weight of the documents of all classes that contain a word
    sample: DocumentSample
    error: float = 0.0  # bound of the error of each count, relative to it; 0 where whole numbers were added
    least: float = 1.0  # the least weight of a document; 0 if it is not known

    _bound_fields = frozenset({"error", "least"})

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        k, width = len(self.labels), len(self.documents)
        if width and width != len(self.vocabulary):
            raise ValueError(f"the vocabulary has {len(self.vocabulary)} columns and documents has {width} entries")
        if self.sample.codes.size and not 0 <= self.sample.codes.min() <= self.sample.codes.max() < k:
            raise ValueError("the sample has a class code that is out of range")
        if self.sample.columns.size and not 0 <= self.sample.columns.min() <= self.sample.columns.max() < width:
            raise ValueError("the sample has a column that is out of range")
        counted = {name: (k, width) for name in ("events", "presences") if getattr(self, name).shape != (k, 0)}
        return {"rows": (k,), **counted}

    @classmethod
    def zero(cls) -> Self:
        """Return the counts over no documents."""
        table = np.zeros((0, 0))
        return cls(Labels(), Vocabulary(), np.zeros(0), table, table, np.zeros(0), DocumentSample.empty(0))

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS, spec: CountSpec | None = None) -> Self:
        """Return the counts of one batch of documents, whose y holds codes of the labels."""
        spec = spec or CountSpec()
        k, rows = len(labels), slice(batch.start, batch.stop)
        codes = np.zeros(batch.rows, dtype=np.int64) if batch.y is None else np.asarray(batch.y[rows], dtype=np.int64)
        weights = None if batch.weight is None else np.ascontiguousarray(batch.weight[rows], dtype=np.float64)
        words = Vocabulary()
        events, presences, documents, class_rows, (below, *sampled) = spec.features.native.counts(
            batch.x.native,
            batch.start,
            batch.stop,
            np.ascontiguousarray(codes),
            weights,
            k,
            words.native,
            spec.events,
            spec.presences,
            spec.sampled,
        )
        sample = DocumentSample(spec.sampled, below if spec.sampled else 0.0, *sampled)
        counts = cls(labels, words, class_rows, events, presences, documents, sample).to_vocabulary(spec.vocabulary)
        uncounted = np.zeros((k, 0))
        exact = is_exact((weights,), class_rows, documents)
        return counts._with(
            events=counts.events if spec.events else uncounted,
            presences=counts.presences if spec.presences else uncounted,
            error=0.0 if exact else EPSILON * (batch.rows + 4),
            least=least_weight(weights),
        )

    @classmethod
    def cost_of(cls, batch: Any, labels: Labels = ONE_CLASS, *what: Any) -> Cost:
        """Return the cost of a table of unknown width: the number of words grows about as the root of the bytes."""
        return Cost(batch.size, (20 + len(labels)) * math.isqrt(batch.size))

    def to_vocabulary(self, vocabulary: BaseVocabulary) -> Self:
        """Return counts of exact words as counts over another vocabulary; an empty one stands for all words."""
        if isinstance(vocabulary, Vocabulary):
            return self._select_words(vocabulary) if len(vocabulary) else self
        assert isinstance(self.vocabulary, Vocabulary)
        assert isinstance(vocabulary, HashedVocabulary)
        hashed, columns = vocabulary.add_words(self.vocabulary, self.documents)
        return self._move_columns(hashed, columns)

    def _select_words(self, vocabulary: Vocabulary) -> Self:
        """Return the counts of the words of a vocabulary alone."""
        columns = np.array(vocabulary.native.places(self.vocabulary.native), dtype=np.intp)  # type: ignore[attr-defined]
        return self.take_columns(np.flatnonzero(columns >= 0))._move_columns(vocabulary, columns[columns >= 0])

    @property
    def weight(self) -> float:
        """The total weight of the documents."""
        return float(self.rows.sum())

    @property
    def is_zero(self) -> bool:
        """Whether there are no classes, with documents or without."""
        return not len(self.labels)

    def aligned(self, labels: Labels) -> Self:
        """Return the same counts over classes that include these."""
        if labels == self.labels:
            return self
        codes = labels.positions(self.labels)
        tables = {name: placed(getattr(self, name), codes, len(labels)) for name in ("rows", "events", "presences")}
        return self._with(labels=labels, sample=self.sample.renumber(codes=codes), **tables)

    def take_columns(self, columns: Index) -> Self:
        """Return the counts of some words of an exact vocabulary; the sample loses the others."""
        if len(columns) == len(self.documents) and np.array_equal(columns, np.arange(len(columns))):
            return self
        assert isinstance(self.vocabulary, Vocabulary)
        position = np.full(len(self.vocabulary), -1, dtype=np.int64)
        position[columns] = np.arange(len(columns))
        kept = position[self.sample.columns] >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[self.sample.ends]
        sample = replace(
            self.sample, ends=ends, columns=position[self.sample.columns[kept]], counts=self.sample.counts[kept]
        )
        return replace(
            self,
            vocabulary=self.vocabulary.take(columns),
            events=self.events[:, columns] if self.events.size else self.events,
            presences=self.presences[:, columns] if self.presences.size else self.presences,
            documents=self.documents[columns],
            sample=sample,
        )

    def _move_columns(self, vocabulary: BaseVocabulary, columns: Index) -> Self:
        """Return the counts with each column at its number in another vocabulary; columns with one number add up."""
        width, here = len(vocabulary), len(self.documents)
        if width == here and np.array_equal(columns, np.arange(width)):
            return replace(self, vocabulary=vocabulary)

        def move(table: FloatArray) -> FloatArray:
            if table.shape[-1] != here:
                return table
            if table.ndim == 1:
                return np.bincount(columns, table, width).astype(np.float64)
            return np.stack([np.bincount(columns, row, width).astype(np.float64) for row in table])

        return replace(
            self,
            vocabulary=vocabulary,
            events=move(self.events),
            presences=move(self.presences),
            documents=move(self.documents),
            sample=self.sample.renumber(columns=columns),
        )

    def _check_same_counts(self, other: Self) -> None:
        """Raise where two have not counted the same things."""
        for name in ("events", "presences"):
            # Counts without words have no columns, whatever is counted: they add to any others.
            counted = {getattr(side, name).shape[1] > 0 for side in (self, other) if len(side.documents)}
            if len(counted) > 1:
                raise ValueError(f"only one of the two has counted {name}: they cannot be added or subtracted")

    def _plus(self, other: Self) -> Self:
        if isinstance(self.vocabulary, Vocabulary) and not isinstance(other.vocabulary, Vocabulary):
            return other._plus(self)
        self._check_same_counts(other)
        labels, _, _ = self.labels.union(other.labels)
        merged: BaseVocabulary
        if isinstance(self.vocabulary, Vocabulary) == isinstance(other.vocabulary, Vocabulary):
            merged, _, columns = self.vocabulary.union(other.vocabulary)  # the words of this one come first
        else:  # exact words are added to hashed columns without a table of all columns of their own
            assert isinstance(self.vocabulary, HashedVocabulary)
            assert isinstance(other.vocabulary, Vocabulary)
            merged, columns = self.vocabulary.add_words(other.vocabulary, other.documents)
        one, two, width = self.aligned(labels), other.aligned(labels), len(merged)

        def add(name: str) -> FloatArray:
            left, right = getattr(one, name), getattr(two, name)
            if left.shape[-1] != len(self.documents) or right.shape[-1] != len(other.documents):
                return np.zeros((*left.shape[:-1], 0))  # not counted
            table = _native.text.added(np.atleast_2d(left), np.atleast_2d(right), columns.astype(np.int64), width)
            return np.asarray(table).reshape(*left.shape[:-1], width)

        rows, error = one.rows + two.rows, max(self.error, other.error)
        both = self.weight > 0 and other.weight > 0
        return replace(
            one,
            vocabulary=merged,
            rows=rows,
            events=add("events"),
            presences=add("presences"),
            documents=add("documents"),
            sample=one.sample.merge(two.sample.renumber(columns=columns)),
            error=error + EPSILON if both and (error or rows.max(initial=0.0) >= EXACT) else error,
            least=min(self.least, other.least),
        )

    def _minus(self, other: Self) -> Self:
        self._check_same_counts(other)
        labels, _, _ = self.labels.union(other.labels)
        if not isinstance(self.vocabulary, Vocabulary) and isinstance(other.vocabulary, Vocabulary):
            other = other.to_vocabulary(self.vocabulary)
        elif type(self.vocabulary) is not type(other.vocabulary):
            raise ValueError("counts over a hashed vocabulary cannot be subtracted from counts of exact words")
        merged, left_columns, right_columns = self.vocabulary.union(other.vocabulary)
        whole = self.aligned(labels)._move_columns(merged, left_columns)
        part = other.aligned(labels)._move_columns(merged, right_columns)
        names = ("rows", "documents", "events", "presences")
        before = {name: getattr(whole, name) for name in names}
        removed = {name: getattr(part, name) for name in names}
        for name in ("events", "presences"):
            if before[name].shape != removed[name].shape:  # one side has no words, and so no counts
                before[name] = removed[name] = np.zeros((len(labels), 0))
        describe: dict[str, Callable[[tuple[int, ...]], str]] = {
            "rows": lambda index: f"the documents of class {labels.names[index[0]]!r}",
            "documents": lambda index: f"the documents with {merged.name(index[0])!r}",
            "events": lambda index: f"the count of {merged.name(index[1])!r} in class {labels.names[index[0]]!r}",
            "presences": lambda index: (
                f"the documents with {merged.name(index[1])!r} in class {labels.names[index[0]]!r}"
            ),
        }
        left, errors, least = {}, [0.0], min(self.least, other.least)
        for name in names:
            error = np.minimum(self.error, 1.0) * before[name] + np.minimum(other.error, 1.0) * removed[name]
            left[name], error = difference(before[name], removed[name], error, describe[name])
            # What is within its error of 0 is 0 if it cannot be the weight of a document.
            lost = error / np.where(left[name] > 0, left[name], np.where(2 * error < least, np.inf, error))
            errors.append(float(np.where(error > 0, lost, 0.0).max(initial=0.0)))
            if errors[-1] > TOLERANCE:
                place = tuple(int(index) for index in np.unravel_index(int(np.argmax(lost)), lost.shape))
                raise LostDigitsError(
                    f"{describe[name](place)} would be {before[name][place]:g} - {removed[name][place]:g}, with a "
                    f"rounding error of up to {error[place]:.2g}: {REFIT}"
                )
        sample = whole.sample.remove(part.sample)
        rest = whole._with(**left, sample=sample, error=max(errors), least=least)
        if isinstance(rest.vocabulary, Vocabulary):
            rest = rest.take_columns(np.flatnonzero(rest.documents > 0))
        return rest

    def digits_kept(self) -> float:
        """Return to how many decimal digits the counts are known at least."""
        return float(min(ALL_DIGITS, -np.log10(max(self.error, EPSILON))))

    def _unbounded(self) -> Self:
        return self._with(error=UNKNOWN, least=0.0)

    def scaled(self, factor: float) -> Self:
        """Return the counts with every document's weight multiplied by ``factor``."""
        factor = check_factor(factor)
        if factor == 1:
            return self
        tables = {name: getattr(self, name) * factor for name in ("rows", "events", "presences", "documents")}
        sample, error = self.sample.scaled(factor), self.error + EPSILON
        return self._with(sample=sample, error=error, least=self.least * factor, **tables)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the counts, the vocabulary and the sample as plain arrays."""
        sample = {f"sample.{name}": np.asarray(value, order="C") for name, value in vars(self.sample).items()}
        words = {f"vocabulary.{name}": array for name, array in self.vocabulary.to_arrays().items()}
        tables = {
            name: np.asarray(getattr(self, name), order="C") for name in ("rows", "events", "presences", "documents")
        }
        kind = to_bytes(type(self.vocabulary).__name__)
        bounds = {name: np.asarray(getattr(self, name)) for name in ("error", "least")}
        return {"labels": self.labels.to_array(), "vocabulary": kind, **tables, **words, **sample, **bounds}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the counts that :meth:`to_arrays` wrote; raise where arrays are missing or of the wrong type."""
        try:
            kind = BaseVocabulary.vocabularies[from_bytes("vocabulary", np.asarray(arrays["vocabulary"]))]
        except (KeyError, TypeError) as error:
            known = sorted(BaseVocabulary.vocabularies)
            raise ValueError(f"{cls.__name__} is stored with an array 'vocabulary', one of {known} in JSON") from error
        expected = cls.zero()._with(vocabulary=kind()).to_arrays()
        if set(expected) - set(arrays) not in (set(), cls._bound_fields) or not set(arrays) <= set(expected):
            raise ValueError(f"{cls.__name__} is stored as the arrays {sorted(expected)}; got {sorted(arrays)}")
        for name, like in expected.items():
            array = np.asarray(arrays.get(name, like))
            if like.dtype.kind in "iu" and array.dtype.kind not in "iu":
                raise ValueError(f"array {name!r} must hold whole numbers; it holds {array.dtype}")
            if like.dtype == np.float64 and array.dtype.kind not in "fiu":
                raise ValueError(f"array {name!r} must hold numbers; it holds {array.dtype}")
            if array.ndim != like.ndim:
                raise ValueError(f"array {name!r} must have {like.ndim} dimensions; its shape is {array.shape}")
        words = kind.from_arrays(strip_prefix("vocabulary", arrays))
        sampled = strip_prefix("sample", arrays)
        sample = DocumentSample(
            int(sampled["size"]),
            float(sampled["below"]),
            *(np.asarray(sampled[name]) for name in ("hashes", "codes", "weights", "ends", "columns", "counts")),
        )
        tables: dict[str, Any] = {
            name: np.asarray(arrays[name]) for name in ("rows", "events", "presences", "documents")
        }
        found = cls(Labels.from_array(arrays["labels"]), words, **tables, sample=sample)
        if not cls._bound_fields <= set(arrays):
            return found._unbounded()
        return found._with(error=float(arrays["error"]), least=float(arrays["least"]))
