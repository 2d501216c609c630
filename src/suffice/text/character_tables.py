"""What every character is and becomes, as the Python that runs has it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Accents = Literal["unicode", "ascii"] | None

CHARACTERS = 0x110000
_PAGE = 256
_WORD, _SPACE = 1, 2


class Alphabet(NamedTuple):
    """Tables that native code reads."""

    kind: npt.NDArray[np.uint8]  # (0x110000,) whether a character is of a word (1), or a space (2)
    fold: npt.NDArray[np.int32]  # (0x110000,) what it becomes: a character, or ~place among the longer ones
    longer: npt.NDArray[np.int32]  # what becomes of one character that becomes none or several: how many, then which


@lru_cache(maxsize=16)
def alphabet(lower: bool, accents: Accents, fold_digits: bool, chunks: bool = False) -> Alphabet:
    """Return the tables of a way to read characters.

    Parameters
    ----------
    lower
        Whether letters become lower case.
    accents
        ``"unicode"`` takes marks off letters, ``"ascii"`` also drops what then is not ASCII.
    fold_digits
        Whether every digit becomes 0.
    chunks
        Whether all but spaces is of words.

    Examples
    --------
    >>> tables = alphabet(lower=True, accents="unicode", fold_digits=False)
    >>> chr(tables.fold[ord("É")])
    'e'
    """
    fold = np.arange(CHARACTERS, dtype=np.int32)
    longer = [0]  # at 0, what becomes nothing
    if accents == "ascii":
        fold[128:] = ~0
    if fold_digits:
        for digits in _runs(r"\d+"):
            fold[digits] = ord("0")
    read = _reading(lower, accents)
    dropped = "" if accents == "ascii" else None
    for page in _pages():
        text = _text(page)
        if read(text) in (text, dropped):
            continue
        for character in text:
            after = read(character)
            if after in (character, dropped):
                continue
            if fold_digits:
                after = re.sub(r"\d", "0", after)
            if len(after) == 1:
                fold[ord(character)] = ord(after)
            else:
                fold[ord(character)] = ~len(longer)
                longer.extend([len(after), *map(ord, after)])
    kinds = np.where(_kinds() & _SPACE, _kinds(), _WORD).astype(np.uint8) if chunks else _kinds()
    return Alphabet(kinds, fold, np.array(longer, dtype=np.int32))


def _reading(lower: bool, accents: Accents) -> Callable[[str], str]:
    """Return what becomes of a text, character by character."""

    def read(text: str) -> str:
        text = text.lower() if lower else text
        if accents is None or text.isascii():
            return text
        text = unicodedata.normalize("NFKD", text)
        if accents == "ascii":
            return "".join(filter(str.isascii, text))
        return "".join(character for character in text if not unicodedata.combining(character))

    return read


@lru_cache(maxsize=1)
def _kinds() -> npt.NDArray[np.uint8]:
    kinds = np.zeros(CHARACTERS, dtype=np.uint8)
    for word in _runs(r"\w+"):
        kinds[word] |= _WORD
    for space in _runs(r"\s+"):
        kinds[space] |= _SPACE
    return kinds


def _runs(pattern: str) -> Iterator[slice]:
    """Yield the runs of characters that a regular expression matches."""
    for found in re.finditer(pattern, _text(range(CHARACTERS))):
        yield slice(*found.span())


def _pages() -> Iterator[range]:
    return (range(start, start + _PAGE) for start in range(0, CHARACTERS, _PAGE))


def _text(codes: range) -> str:
    """Return the characters of a range, surrogates included."""
    return np.arange(codes.start, codes.stop, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
