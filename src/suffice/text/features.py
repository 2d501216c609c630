"""Features of documents: n-grams of words, characters or bytes, found by the native tokeniser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any, Literal

import numpy as np

from suffice import _native
from suffice.text.character_tables import Accents, character_tables

Unit = Literal["words", "characters", "characters_in_words", "bytes", "chunks"]
_UNITS: tuple[Unit, ...] = ("words", "characters", "characters_in_words", "bytes", "chunks")
_LONGEST_NGRAM = 1_000_000


@dataclass(frozen=True)
class Features:
    """The features that are counted in a document.

    By default words as scikit-learn's ``CountVectorizer`` finds them: two or more consecutive letters, digits or
    underscores of any script, in lower case.

    Parameters
    ----------
    unit
        ``"words"``; ``"chunks"``, which are separated by spaces; ``"characters"``, spaces included;
        ``"characters_in_words"``, of one chunk with a blank on either side; or ``"bytes"`` of UTF-8, unchanged.
    runs
        The smallest and largest n of n-grams of units: ``(1, 2)`` for words and pairs of adjacent words.
    lower
        Whether letters are converted to lower case.
    accents
        ``"unicode"`` removes accents from letters; ``"ascii"`` also removes all characters that are not ASCII then.
    numbers
        ``"fold"`` replaces every digit by 0, so that 1998 and 2024 are the same word.
    shortest, longest
        The least and the greatest number of characters of a word.
    stop_words
        Words to leave out, in the form that these settings give them; ``"english"`` for scikit-learn's list.

    Examples
    --------
    >>> Features(runs=(1, 2)).of("Free MONEY now")
    ['free', 'money', 'now', 'free money', 'money now']
    >>> Features("characters", runs=(3, 3)).of("spam")
    ['spa', 'pam']
    """

    unit: Unit = "words"
    runs: tuple[int, int] = (1, 1)
    lower: bool = True
    accents: Accents = None
    numbers: Literal["keep", "fold"] = "keep"
    shortest: int = 2
    longest: int | None = None
    stop_words: Literal["english"] | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _check_choice("unit", self.unit, _UNITS)
        _check_choice("accents", self.accents, (None, "unicode", "ascii"))
        _check_choice("numbers", self.numbers, ("keep", "fold"))
        if not isinstance(self.lower, bool | np.bool_):
            raise ValueError(f"lower must be True or False; got {self.lower!r}")
        runs = tuple(self.runs) if isinstance(self.runs, Sequence | np.ndarray) else ()
        if len(runs) != 2 or not all(map(_is_whole, runs)) or not 1 <= runs[0] <= runs[1] <= _LONGEST_NGRAM:
            raise ValueError(
                f"runs must be two whole numbers, smallest and largest, up to {_LONGEST_NGRAM}, such as (1, 2); "
                f"got {self.runs!r}"
            )
        runs = (int(runs[0]), int(runs[1]))
        for name in ("shortest", "longest"):
            value = getattr(self, name)
            if not (name == "longest" and value is None) and not (_is_whole(value) and value >= 1):
                raise ValueError(f"{name} must be a whole number, 1 or more; got {value!r}")
        if self.longest is not None and self.longest < self.shortest:
            raise ValueError(f"longest must not be below shortest; got {self.longest!r} and {self.shortest!r}")
        object.__setattr__(self, "runs", runs)
        object.__setattr__(self, "stop_words", _check_stop_words(self.stop_words))

    @property
    def native(self) -> Any:
        """The tokeniser in native code."""
        return _tokeniser(self)

    @property
    def lowers(self) -> bool:
        """Whether the case of letters is changed."""
        return self.lower and self.unit != "bytes"

    def of(self, document: str | bytes) -> list[str]:
        """Return the features of one document in order, repetitions included."""
        features: list[str] = self.native.tokens(_native.text.Documents([document], 0, self.lowers), 0)
        return features


def resolve_features(features: Any) -> Features:
    """Return features that are given by name, or as they are.

    Examples
    --------
    >>> resolve_features("bigrams").runs
    (1, 2)
    """
    if isinstance(features, Features):
        return features
    if isinstance(features, str) and features in NAMED_FEATURES:
        return NAMED_FEATURES[features]
    raise ValueError(
        f"features must be {', '.join(map(repr, NAMED_FEATURES))} or suffice.text.Features(...); got {features!r}"
    )


@lru_cache(maxsize=16)
def _tokeniser(features: Features) -> Any:
    stop = None
    words = _english_stop_words() if features.stop_words == "english" else features.stop_words
    if words:
        stop = native_words(sorted(set(words)))
    chunks = features.unit == "chunks"
    tables = character_tables(features.lower, features.accents, features.numbers == "fold", chunks)
    # For native code, chunks are words: the table says that every character but a space is part of a word.
    unit = 0 if chunks else _UNITS.index(features.unit)
    return _native.text.Tokeniser(unit, *features.runs, features.shortest, features.longest or 0, *tables, stop)


def native_words(words: Iterable[str]) -> Any:
    """Return the native hash table of distinct words."""
    texts = [word.encode("utf-8", "surrogatepass") for word in words]
    return _native.text.words(b"".join(texts), np.cumsum([len(text) for text in texts], dtype=np.int64))


def _english_stop_words() -> tuple[str, ...]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return tuple(ENGLISH_STOP_WORDS)


def _check_stop_words(words: Any) -> Any:
    if words is None or (isinstance(words, str) and words == "english"):
        return words
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise ValueError(f"stop_words must be 'english' or a list of words; got {words!r}")
    words = tuple(words)
    for position, word in enumerate(words):
        if not isinstance(word, str):
            raise TypeError(f"stop_words[{position}] is {word!r} of type {type(word).__name__}; a word is a str")
    return words


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


#: The features that are given by name.
NAMED_FEATURES = {
    "words": Features(),
    "bigrams": Features(runs=(1, 2)),
    "characters": Features("characters_in_words", runs=(3, 5)),
}
