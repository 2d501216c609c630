"""Vocabularies: which column a word has. Exact ones grow; hashed ones take the same memory whatever comes."""

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
from suffice.text.features import words_of

Places = npt.NDArray[np.intp]
Arrays = dict[str, npt.NDArray[Any]]


class Union(NamedTuple):
    """Two vocabularies as one, and the columns that the words of each have in it."""

    both: Any
    mine: Places
    theirs: Places


class Columns(Stored):
    """A vocabulary: words, or slots that words fall into, each with its column. It can be kept in a file."""

    columns: ClassVar[dict[str, type[Columns]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Columns.columns[cls.__name__] = cls

    def _contents(self) -> Contents:
        return Contents(type(self).__name__, {}, {}, self.to_arrays())

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        return cls.from_arrays(contents.arrays)

    @abstractmethod
    def __len__(self) -> int:
        """How many columns there are."""

    @abstractmethod
    def name(self, column: int) -> str:
        """Return what a column is called."""

    @abstractmethod
    def names(self) -> npt.NDArray[Any]:
        """Return what all columns are called, (V,)."""

    @abstractmethod
    def union(self, other: Self) -> Union:
        """Return a vocabulary that holds both, and where the columns of each are in it."""

    @abstractmethod
    def columns_of(self, words: Iterable[str]) -> list[int]:
        """Return the column of each word, -1 for those that have none."""

    @abstractmethod
    def to_arrays(self) -> Arrays:
        """Return the vocabulary as plain arrays."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the vocabulary that :meth:`to_arrays` wrote."""

    @property
    @abstractmethod
    def places(self) -> dict[str, Any]:
        """What native code needs to know to find columns."""


class Vocabulary(Columns):
    """Exact words, in the order in which they came. Immutable: what grows is another vocabulary.

    Parameters
    ----------
    words
        Distinct words.

    Examples
    --------
    >>> both = Vocabulary(["buy", "now"]).union(Vocabulary(["now", "win"]))
    >>> both.both.names().tolist(), both.theirs.tolist()
    (['buy', 'now', 'win'], [1, 2])
    """

    def __init__(self, words: Iterable[str] | Any = ()) -> None:
        if isinstance(words, _native.text.Words):
            self.native = words
            return
        words = list(words)
        for place, word in enumerate(words):
            if not isinstance(word, str):
                raise TypeError(f"words[{place}] is {word!r} of type {type(word).__name__}; a word is a str")
        if len(set(words)) < len(words):
            twice = next(word for place, word in enumerate(words) if word in words[:place])
            raise ValueError(f"a vocabulary holds every word once; {twice!r} comes twice")
        self.native = words_of([word.encode("utf-8", "surrogatepass") for word in words])

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
        return _vocabulary, (self.native.text(), self.native.ends())

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
        """Return the column of each word, -1 for those that are not here."""
        words = list(words)
        distinct = list(dict.fromkeys(words))
        found = dict(zip(distinct, self.native.places(Vocabulary(distinct).native).tolist(), strict=True))
        return [found[word] for word in words]

    def union(self, other: Vocabulary) -> Union:
        """Return the words of both, those of the other after these."""
        mine = np.arange(len(self))
        if self.native is other.native:
            return Union(self, mine, mine)
        grown = self.native.copy()
        theirs = grown.merge(other.native).astype(np.intp)
        # Nothing new, as in most batches of a stream: the same vocabulary, and not another of the same words.
        return Union(self if len(grown) == len(self) else Vocabulary(grown), mine, theirs)

    def take(self, columns: npt.ArrayLike) -> Vocabulary:
        """Return some of the words, in the order given."""
        return Vocabulary(self.native.take(np.asarray(columns, dtype=np.int64)))

    def sorted(self) -> Places:
        """Return the columns in the order of their words."""
        order: Places = self.native.sorted().astype(np.intp)
        return order

    def to_arrays(self) -> Arrays:
        """Return the words as bytes, and where each ends."""
        return {"text": np.frombuffer(self.native.text(), dtype=np.uint8), "ends": self.native.ends()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Vocabulary:
        """Return the vocabulary that :meth:`to_arrays` wrote."""
        return _vocabulary(np.asarray(arrays["text"], dtype=np.uint8).tobytes(), arrays["ends"])

    @property
    def places(self) -> dict[str, Any]:
        """What native code needs to know to find columns."""
        return {"words": self.native, "bits": 0}


def _vocabulary(text: bytes, ends: npt.NDArray[Any]) -> Vocabulary:
    return Vocabulary(_native.text.words(text, np.ascontiguousarray(ends, dtype=np.int64)))


class HashedVocabulary(Columns):
    """2^bits slots that words fall into by their hash: the same memory for any text, and now and then a collision.

    The heaviest slots keep the name of their heaviest word, so that explanations can be read.

    Parameters
    ----------
    bits
        There are 2^bits slots.
    named
        How many slots have names at most.

    Examples
    --------
    >>> slots, columns = HashedVocabulary(bits=10).absorbed(Vocabulary(["free", "money"]), np.array([3.0, 1.0]))
    >>> len(slots), slots.name(columns[0])
    (1024, 'free')
    """

    def __init__(self, bits: int = 20, named: int = 1 << 16) -> None:
        if isinstance(bits, bool) or not isinstance(bits, int | np.integer) or not 1 <= bits <= 30:
            raise ValueError(f"bits must be a whole number from 1 to 30; got {bits!r}")
        if isinstance(named, bool) or not isinstance(named, int | np.integer) or named < 0:
            raise ValueError(f"named must be a whole number, 0 or more; got {named!r}")
        self.bits, self.named = int(bits), int(named)
        self._slots: Places = np.zeros(0, dtype=np.intp)  # those with names, rising
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
        """Return the heaviest word known of a slot, or the slot's number."""
        at = int(np.searchsorted(self._slots, column))
        if at < len(self._slots) and self._slots[at] == column:
            return self._words.name(at)
        return f"#{column}"

    def names(self) -> npt.NDArray[Any]:
        """Return what all slots are called."""
        names = np.array([f"#{column}" for column in range(len(self))], dtype=object)
        names[self._slots] = self._words.names()
        return names

    def columns_of(self, words: Iterable[str]) -> list[int]:
        """Return the slot of each word."""
        words = list(words)
        distinct = Vocabulary(dict.fromkeys(words))
        slots = dict(zip(distinct, self.slots_of(distinct).tolist(), strict=True))
        return [slots[word] for word in words]

    def slots_of(self, words: Vocabulary) -> Places:
        """Return the slot of each word."""
        return np.asarray(words.native.hashes() & np.uint64(len(self) - 1), dtype=np.intp)

    def union(self, other: HashedVocabulary) -> Union:
        """Return the slots, with the names of both."""
        if self.bits != other.bits:
            raise ValueError(f"vocabularies of {self.bits} and of {other.bits} bits do not go together")
        every = np.arange(len(self))
        if other._slots.size:
            return Union(self._naming(other._words, other._slots, other._weights), every, every)
        return Union(self, every, every)

    def absorbed(self, words: Vocabulary, weights: FloatArray) -> tuple[HashedVocabulary, Places]:
        """Return the slots with the names of more words, and the slot of each word."""
        slots = self.slots_of(words)
        return self._naming(words, slots, weights), slots

    def _naming(self, words: Vocabulary, slots: Places, weights: FloatArray) -> HashedVocabulary:
        """Return the slots with names from these words, too: of each slot the heaviest, of the heaviest slots."""
        united = self._words.union(words)
        every = np.concatenate([self._slots, slots])
        heavy = np.concatenate([self._weights, weights])
        place = np.concatenate([united.mine, united.theirs])
        # A word that both know weighs what it weighs in both; then the heaviest of each slot.
        total = np.bincount(place, heavy, len(united.both)).astype(np.float64)
        slot = np.zeros(len(united.both), dtype=np.intp)
        slot[place] = every
        order = np.lexsort((-total, slot))
        first = order[np.concatenate([[True], np.diff(slot[order]) > 0])] if len(order) else order
        if len(first) > self.named:
            first = np.sort(first[np.argsort(-total[first], kind="stable")[: self.named]])
        first = first[np.argsort(slot[first], kind="stable")]
        named = HashedVocabulary(self.bits, self.named)
        named._slots, named._weights, named._words = slot[first], total[first], united.both.take(first)
        return named

    def to_arrays(self) -> Arrays:
        """Return how many slots there are, and which have names."""
        words = {f"words.{name}": array for name, array in self._words.to_arrays().items()}
        size = np.array([self.bits, self.named], dtype=np.int64)
        return {"size": size, "slots": self._slots.astype(np.int64), "weights": self._weights, **words}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> HashedVocabulary:
        """Return the vocabulary that :meth:`to_arrays` wrote."""
        bits, named = arrays["size"].tolist()
        slots = cls(bits, named)
        slots._words = Vocabulary.from_arrays(under("words", arrays))
        slots._slots, slots._weights = arrays["slots"].astype(np.intp), np.asarray(arrays["weights"], dtype=np.float64)
        if not len(slots._words) == len(slots._slots) == len(slots._weights):
            raise ValueError("a hashed vocabulary has one slot and one weight for each name")
        return slots

    @property
    def places(self) -> dict[str, Any]:
        """What native code needs to know to find columns."""
        return {"words": None, "bits": self.bits}


def under(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return the arrays whose names begin with a prefix and a dot, by the rest of their names."""
    return {name.removeprefix(f"{prefix}."): array for name, array in arrays.items() if name.startswith(f"{prefix}.")}


def vocabulary_of(vocabulary: Any) -> Columns:
    """Return a vocabulary that may have been given by name, or as words.

    Examples
    --------
    >>> vocabulary_of("hashed")
    HashedVocabulary(bits=20, named=65536)
    """
    if isinstance(vocabulary, Columns):
        return vocabulary
    if isinstance(vocabulary, str):
        if vocabulary == "exact":
            return Vocabulary()
        if vocabulary == "hashed":
            return HashedVocabulary()
        raise ValueError(
            f"vocabulary must be 'exact', 'hashed', a list of words, or one of suffice.text's; got {vocabulary!r}"
        )
    if isinstance(vocabulary, Sequence | np.ndarray):
        return Vocabulary(vocabulary)
    raise TypeError(f"vocabulary must be 'exact', 'hashed' or a list of words; got {type(vocabulary).__name__}")
