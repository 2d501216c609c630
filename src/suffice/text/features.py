"""How a document becomes features: words, characters or bytes, one by one or in runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any, Literal

import numpy as np

from suffice import _native
from suffice.text.character_tables import Accents, alphabet

Unit = Literal["words", "characters", "characters_in_words", "bytes", "chunks"]
_UNITS: tuple[Unit, ...] = ("words", "characters", "characters_in_words", "bytes", "chunks")
_LONGEST_RUN = 1_000_000


@dataclass(frozen=True)
class Features:
    """What is counted of a document.

    By default words as scikit-learn's ``CountVectorizer`` finds them: two or more letters, digits or underscores of any
    script in a row, in lower case.

    Parameters
    ----------
    unit
        ``"words"``; ``"chunks"``, which is whatever stands between spaces; ``"characters"``, spaces included;
        ``"characters_in_words"``, of one chunk and a blank on either side; or ``"bytes"`` of UTF-8, as they are.
    runs
        How many units make a feature, from and to: ``(1, 2)`` for words and pairs of words next to each other.
    lower
        Whether letters become lower case.
    accents
        ``"unicode"`` takes accents off letters; ``"ascii"`` also drops what is then not ASCII.
    numbers
        ``"fold"`` makes every digit a 0, so that 1998 and 2024 are one word.
    shortest, longest
        How many characters a word has at least and at most.
    stop_words
        Words to leave out, in the form they have after all this; ``"english"`` for scikit-learn's list.

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
        if len(runs) != 2 or not all(map(_is_whole, runs)) or not 1 <= runs[0] <= runs[1] <= _LONGEST_RUN:
            raise ValueError(
                f"runs must be two whole numbers, from and to, up to {_LONGEST_RUN}, such as (1, 2); got {self.runs!r}"
            )
        runs = (int(runs[0]), int(runs[1]))
        for name in ("shortest", "longest"):
            value = getattr(self, name)
            if not (name == "longest" and value is None) and not (_is_whole(value) and value >= 1):
                raise ValueError(f"{name} must be a whole number, 1 or more; got {value!r}")
        if self.longest is not None and self.longest < self.shortest:
            raise ValueError(f"longest must not be below shortest; got {self.longest!r} and {self.shortest!r}")
        object.__setattr__(self, "runs", runs)
        object.__setattr__(self, "stop_words", _stop_words(self.stop_words))

    @property
    def native(self) -> Any:
        """The tokeniser in native code."""
        return _tokeniser(self)

    @property
    def lowers(self) -> bool:
        """Whether any letter changes its case."""
        return self.lower and self.unit != "bytes"

    def of(self, document: str | bytes) -> list[str]:
        """Return the features of one document, in their order, as often as they occur."""
        features: list[str] = self.native.tokens(_native.text.Documents([document], 0, self.lowers), 0)
        return features


def features_of(features: Any) -> Features:
    """Return features that may have been given by name.

    Examples
    --------
    >>> features_of("bigrams").runs
    (1, 2)
    """
    if isinstance(features, Features):
        return features
    if isinstance(features, str) and features in NAMED:
        return NAMED[features]
    raise ValueError(f"features must be {', '.join(map(repr, NAMED))} or suffice.text.Features(...); got {features!r}")


@lru_cache(maxsize=16)
def _tokeniser(features: Features) -> Any:
    stop = None
    words = _english() if features.stop_words == "english" else features.stop_words
    if words:
        texts = [word.encode("utf-8", "surrogatepass") for word in sorted(set(words))]
        stop = words_of(texts)
    chunks = features.unit == "chunks"
    tables = alphabet(features.lower, features.accents, features.numbers == "fold", chunks)
    # Native code reads chunks as words of other characters.
    unit = 0 if chunks else _UNITS.index(features.unit)
    return _native.text.Tokeniser(unit, *features.runs, features.shortest, features.longest or 0, *tables, stop)


def words_of(texts: list[bytes]) -> Any:
    """Return a native vocabulary of distinct words."""
    return _native.text.words(b"".join(texts), np.cumsum([len(text) for text in texts], dtype=np.int64))


def _english() -> tuple[str, ...]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return tuple(ENGLISH_STOP_WORDS)


def _stop_words(words: Any) -> Any:
    if words is None or (isinstance(words, str) and words == "english"):
        return words
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise ValueError(f"stop_words must be 'english' or a list of words; got {words!r}")
    words = tuple(words)
    for place, word in enumerate(words):
        if not isinstance(word, str):
            raise TypeError(f"stop_words[{place}] is {word!r} of type {type(word).__name__}; a word is a str")
    return words


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


#: The features that go by a name.
NAMED = {
    "words": Features(),
    "bigrams": Features(runs=(1, 2)),
    "characters": Features("characters_in_words", runs=(3, 5)),
}
