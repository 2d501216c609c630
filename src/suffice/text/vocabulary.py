"""Vocabularies: the column of each word. Exact ones grow with the words; hashed ones have a fixed size."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored
from suffice.text.features import native_words

Index = npt.NDArray[np.intp]
Arrays = dict[str, npt.NDArray[Any]]


class VocabularyUnion(NamedTuple):
    """The union of two vocabularies, and the columns in it of the words of each."""

    vocabulary: Any
    left: Index
    right: Index


class BaseVocabulary(Stored):
    """A map from words to columns, which can be saved to a file."""

    #: All kinds of vocabulary, by the name of the class.
    vocabularies: ClassVar[dict[str, type[BaseVocabulary]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        BaseVocabulary.vocabularies[cls.__name__] = cls

    def _contents(self) -> Contents:
        return Contents(type(self).__name__, {}, {}, self.to_arrays())

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        return cls.from_arrays(contents.arrays)

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of columns."""

    @abstractmethod
    def name(self, column: int) -> str:
        """Return the name of a column."""

    @abstractmethod
    def names(self) -> npt.NDArray[Any]:
        """Return the names of all columns, (V,)."""

    @abstractmethod
    def union(self, other: Self) -> VocabularyUnion:
        """Return a vocabulary of all words of both, and the columns of each in it."""

    @abstractmethod
    def columns_of(self, words: Iterable[str]) -> list[int]:
        """Return the column of each word, -1 for a word without a column."""

    @abstractmethod
    def to_arrays(self) -> Arrays:
        """Return the vocabulary as plain arrays."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the vocabulary that :meth:`to_arrays` wrote."""

    @property
    @abstractmethod
    def native_lookup(self) -> dict[str, Any]:
        """The arguments with which native code finds the column of a word."""


class Vocabulary(BaseVocabulary):
    """Exact words in the order of their first occurrence. Immutable: :meth:`union` returns another vocabulary.

    Parameters
    ----------
    words
        Distinct words.

    Examples
    --------
    >>> union = Vocabulary(["buy", "now"]).union(Vocabulary(["now", "win"]))
    >>> union.vocabulary.names().tolist(), union.right.tolist()
    (['buy', 'now', 'win'], [1, 2])
    """

    def __init__(self, words: Iterable[str] | Any = ()) -> None:
        if isinstance(words, _native.text.Words):
            self.native = words
            return
        words = list(words)
        for position, word in enumerate(words):
            if not isinstance(word, str):
                raise TypeError(f"words[{position}] is {word!r} of type {type(word).__name__}; a word is a str")
        if len(set(words)) < len(words):
            repeated = next(word for position, word in enumerate(words) if word in words[:position])
            raise ValueError(f"words of a vocabulary must be distinct; {repeated!r} occurs twice")
        self.native = native_words(words)

    def __len__(self) -> int:
        return len(self.native)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names().tolist())

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.columns_of([word])[0] >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.native is other.native or (
            len(self) == len(other)
            and np.array_equal(self.native.ends(), other.native.ends())
            and self.native.text() == other.native.text()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        some = ", ".join(repr(self.name(column)) for column in range(min(3, len(self))))
        return f"<Vocabulary of {len(self):,} words: {some}{', …' if len(self) > 3 else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_vocabulary, (self.native.text(), self.native.ends())

    def name(self, column: int) -> str:
        """Return the word of a column."""
        word: str = self.native.word(column)
        return word

    @cached_property
    def _names(self) -> npt.NDArray[Any]:
        return np.array(self.native.list(), dtype=object)

    def names(self) -> npt.NDArray[Any]:
        """Return all words."""
        return self._names

    def columns_of(self, words: Iterable[str]) -> list[int]:
        """Return the column of each word, -1 for a word that is not in the vocabulary."""
        words = list(words)
        distinct = list(dict.fromkeys(words))
        found = dict(zip(distinct, self.native.places(Vocabulary(distinct).native).tolist(), strict=True))
        return [found[word] for word in words]

    def union(self, other: Vocabulary) -> VocabularyUnion:
        """Return the words of both, those of the other after these."""
        left = np.arange(len(self))
        if self.native is other.native:
            return VocabularyUnion(self, left, left)
        merged = self.native.copy()
        right = merged.merge(other.native).astype(np.intp)
        # Most batches of a stream have no new words: the vocabulary stays the same object then.
        return VocabularyUnion(self if len(merged) == len(self) else Vocabulary(merged), left, right)

    def take(self, columns: npt.ArrayLike) -> Vocabulary:
        """Return the words of some columns, in the order given."""
        return Vocabulary(self.native.take(np.asarray(columns, dtype=np.int64)))

    def sorted(self) -> Index:
        """Return the columns in the sort order of their words."""
        order: Index = self.native.sorted().astype(np.intp)
        return order

    def to_arrays(self) -> Arrays:
        """Return the words as bytes, and the end of each."""
        return {"text": np.frombuffer(self.native.text(), dtype=np.uint8), "ends": self.native.ends()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Vocabulary:
        """Return the vocabulary that :meth:`to_arrays` wrote."""
        return _restore_vocabulary(np.asarray(arrays["text"], dtype=np.uint8).tobytes(), arrays["ends"])

    @property
    def native_lookup(self) -> dict[str, Any]:
        """The arguments with which native code finds the column of a word."""
        return {"words": self.native, "bits": 0}


def _restore_vocabulary(text: bytes, ends: npt.NDArray[Any]) -> Vocabulary:
    return Vocabulary(_native.text.words(text, np.ascontiguousarray(ends, dtype=np.int64)))


class HashedVocabulary(BaseVocabulary):
    """2^bits columns that words are hashed to: constant memory for any text, and few collisions.

    The columns of greatest weight keep the name of their most frequent word, which explanations show.

    Parameters
    ----------
    bits
        The logarithm of the number of columns.
    named
        The greatest number of columns with names.

    Examples
    --------
    >>> slots, columns = HashedVocabulary(bits=10).add_words(Vocabulary(["free", "money"]), np.array([3.0, 1.0]))
    >>> len(slots), slots.name(columns[0])
    (1024, 'free')
    """

    def __init__(self, bits: int = 20, named: int = 1 << 16) -> None:
        if isinstance(bits, bool) or not isinstance(bits, int | np.integer) or not 1 <= bits <= 30:
            raise ValueError(f"bits must be a whole number from 1 to 30; got {bits!r}")
        if isinstance(named, bool) or not isinstance(named, int | np.integer) or named < 0:
            raise ValueError(f"named must be a whole number, 0 or more; got {named!r}")
        self.bits, self.named = int(bits), int(named)
        self._slots: Index = np.zeros(0, dtype=np.intp)  # the columns with names, in ascending order
        self._weights: FloatArray = np.zeros(0)  # of their words
        self._words = Vocabulary()

    def __len__(self) -> int:
        return 1 << self.bits

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HashedVocabulary):
            return NotImplemented
        return (self.bits, self.named) == (other.bits, other.named)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"HashedVocabulary(bits={self.bits}, named={self.named})"

    def name(self, column: int) -> str:
        """Return the most frequent known word of a column, or the column's number."""
        position = int(np.searchsorted(self._slots, column))
        if position < len(self._slots) and self._slots[position] == column:
            return self._words.name(position)
        return f"#{column}"

    def names(self) -> npt.NDArray[Any]:
        """Return the names of all columns."""
        names = np.array([f"#{column}" for column in range(len(self))], dtype=object)
        names[self._slots] = self._words.names()
        return names

    def columns_of(self, words: Iterable[str]) -> list[int]:
        """Return the column of each word."""
        words = list(words)
        distinct = Vocabulary(dict.fromkeys(words))
        slots = dict(zip(distinct, self.slots_of(distinct).tolist(), strict=True))
        return [slots[word] for word in words]

    def slots_of(self, words: Vocabulary) -> Index:
        """Return the column of each word."""
        return np.asarray(words.native.hashes() & np.uint64(len(self) - 1), dtype=np.intp)

    def union(self, other: HashedVocabulary) -> VocabularyUnion:
        """Return the columns, with the names of both."""
        if self.bits != other.bits:
            raise ValueError(f"vocabularies of {self.bits} and of {other.bits} bits cannot be merged")
        columns = np.arange(len(self))
        if other._slots.size:
            return VocabularyUnion(self._add_names(other._words, other._slots, other._weights), columns, columns)
        return VocabularyUnion(self, columns, columns)

    def add_words(self, words: Vocabulary, weights: FloatArray) -> tuple[HashedVocabulary, Index]:
        """Return the vocabulary with the names of more words, and the column of each word."""
        slots = self.slots_of(words)
        return self._add_names(words, slots, weights), slots

    def _add_names(self, words: Vocabulary, slots: Index, weights: FloatArray) -> HashedVocabulary:
        """Return the vocabulary with more names: the heaviest word of a column, for the heaviest columns."""
        union = self._words.union(words)
        column = np.concatenate([union.left, union.right])
        # The weight of a word that both have is the sum of its weights.
        total = np.bincount(column, np.concatenate([self._weights, weights]), len(union.vocabulary)).astype(np.float64)
        slot = np.zeros(len(union.vocabulary), dtype=np.intp)
        slot[column] = np.concatenate([self._slots, slots])
        order = np.lexsort((-total, slot))
        first = order[np.concatenate([[True], np.diff(slot[order]) > 0])] if len(order) else order
        if len(first) > self.named:
            first = np.sort(first[np.argsort(-total[first], kind="stable")[: self.named]])
        first = first[np.argsort(slot[first], kind="stable")]
        named = HashedVocabulary(self.bits, self.named)
        named._slots, named._weights, named._words = slot[first], total[first], union.vocabulary.take(first)
        return named

    def to_arrays(self) -> Arrays:
        """Return the number of columns, and those with names."""
        words = {f"words.{name}": array for name, array in self._words.to_arrays().items()}
        size = np.array([self.bits, self.named], dtype=np.int64)
        return {"size": size, "slots": self._slots.astype(np.int64), "weights": self._weights, **words}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> HashedVocabulary:
        """Return the vocabulary that :meth:`to_arrays` wrote."""
        bits, named = arrays["size"].tolist()
        slots = cls(bits, named)
        slots._words = Vocabulary.from_arrays(strip_prefix("words", arrays))
        slots._slots, slots._weights = arrays["slots"].astype(np.intp), np.asarray(arrays["weights"], dtype=np.float64)
        if not len(slots._words) == len(slots._slots) == len(slots._weights):
            raise ValueError("a hashed vocabulary must have one slot and one weight for each name")
        return slots

    @property
    def native_lookup(self) -> dict[str, Any]:
        """The arguments with which native code finds the column of a word."""
        return {"words": None, "bits": self.bits}


def strip_prefix(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return the arrays whose names begin with a prefix and a dot, by the rest of the name."""
    return {name.removeprefix(f"{prefix}."): array for name, array in arrays.items() if name.startswith(f"{prefix}.")}


def resolve_vocabulary(vocabulary: Any) -> BaseVocabulary:
    """Return a vocabulary that is given by name, as a list of words, or as it is.

    Examples
    --------
    >>> resolve_vocabulary("hashed")
    HashedVocabulary(bits=20, named=65536)
    """
    if isinstance(vocabulary, BaseVocabulary):
        return vocabulary
    if isinstance(vocabulary, str):
        if vocabulary == "exact":
            return Vocabulary()
        if vocabulary == "hashed":
            return HashedVocabulary()
        raise ValueError(
            "vocabulary must be 'exact', 'hashed', a list of words, or a vocabulary of suffice.text; "
            f"got {vocabulary!r}"
        )
    if isinstance(vocabulary, Sequence | np.ndarray):
        return Vocabulary(vocabulary)
    raise TypeError(f"vocabulary must be 'exact', 'hashed' or a list of words; got {type(vocabulary).__name__}")
