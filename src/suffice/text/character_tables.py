"""Tables of Unicode characters for the native tokeniser: word or space, and case and accent folding."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Accents = Literal["unicode", "ascii"] | None

CHARACTERS = 0x110000
_BLOCK, _PAGE = 4096, 256
_WORD, _SPACE = 1, 2


class CharacterTables(NamedTuple):
    """One entry for each code point, from the Unicode database of the running Python."""

    kind: npt.NDArray[np.uint8]  # (0x110000,) 1: part of a word; 2: space
    fold: npt.NDArray[np.int32]  # (0x110000,) the folded code point, or ~position of its sequence in ``longer``
    longer: npt.NDArray[np.int32]  # folded sequences of other lengths than 1: length, then code points


@lru_cache(maxsize=16)
def character_tables(lower: bool, accents: Accents, fold_digits: bool, chunks: bool = False) -> CharacterTables:
    """Return the tables for some settings of the tokeniser.

    Parameters
    ----------
    lower
        Whether letters are converted to lower case.
    accents
        ``"unicode"`` removes combining marks, ``"ascii"`` also removes all characters that are not ASCII then.
    fold_digits
        Whether every digit becomes 0.
    chunks
        Whether every character but a space is part of a word.

    Examples
    --------
    >>> tables = character_tables(lower=True, accents="unicode", fold_digits=False)
    >>> chr(tables.fold[ord("É")])
    'e'
    """
    fold = np.arange(CHARACTERS, dtype=np.int32)
    longer = [0]  # position 0: the empty sequence
    if accents == "ascii":
        fold[128:] = ~0
    if fold_digits:
        for digits in _runs(r"\d+", _printable_blocks()):
            fold[digits] = ord("0")
    fold_text = _text_folder(lower, accents)
    dropped = "" if accents == "ascii" else None
    for page in chain.from_iterable(_ranges(block, _PAGE) for block in _printable_blocks()):
        text = _text(page)
        if fold_text(text) in (text, dropped):
            continue
        for character in text:
            folded = fold_text(character)
            if folded in (character, dropped):
                continue
            if fold_digits:
                folded = re.sub(r"\d", "0", folded)
            if len(folded) == 1:
                fold[ord(character)] = ord(folded)
            else:
                fold[ord(character)] = ~len(longer)
                longer.extend([len(folded), *map(ord, folded)])
    kinds = np.where(_kinds() & _SPACE, _kinds(), _WORD).astype(np.uint8) if chunks else _kinds()
    return CharacterTables(kinds, fold, np.array(longer, dtype=np.int32))


def _text_folder(lower: bool, accents: Accents) -> Callable[[str], str]:
    """Return a function that folds case and accents of a text, character by character."""

    def fold_text(text: str) -> str:
        text = text.lower() if lower else text
        if accents is None or text.isascii():
            return text
        text = unicodedata.normalize("NFKD", text)
        if accents == "ascii":
            return "".join(filter(str.isascii, text))
        return "".join(character for character in text if not unicodedata.combining(character))

    return fold_text


@lru_cache(maxsize=1)
def _kinds() -> npt.NDArray[np.uint8]:
    kinds = np.zeros(CHARACTERS, dtype=np.uint8)
    for word in _runs(r"\w+", _printable_blocks()):
        kinds[word] |= _WORD
    for space in _runs(r"\s+", filter(_has_spaces, _ranges(range(CHARACTERS), _BLOCK))):
        kinds[space] |= _SPACE
    return kinds


def _runs(pattern: str, blocks: Iterable[range]) -> Iterator[slice]:
    """Yield the ranges of code points that a regular expression matches; a range ends with its block."""
    for block in blocks:
        for found in re.finditer(pattern, _text(block)):
            yield slice(block.start + found.start(), block.start + found.end())


@lru_cache(maxsize=1)
def _printable_blocks() -> tuple[range, ...]:
    """Return the blocks of code points with printable characters: a third, which is faster to look through.

    Code points that are not printable (not assigned, for private use, controls) are no letters or digits, and folding
    leaves them as they are.
    """
    return tuple(block for block in _ranges(range(CHARACTERS), _BLOCK) if not _is_all_escaped(block))


def _is_all_escaped(block: range) -> bool:
    """Whether ``repr`` shows every code point by its number, which takes 6 or 10 characters."""
    return len(repr(_text(block))) - 2 == len(block) * (6 if block.stop <= 0x10000 else 10)


def _has_spaces(block: range) -> bool:
    text = _text(block)
    return text.split() != [text]


def _ranges(codes: range, size: int) -> Iterator[range]:
    return (range(start, start + size) for start in range(codes.start, codes.stop, size))


def _text(codes: range) -> str:
    """Return the characters of a range of code points, surrogates included."""
    return np.arange(codes.start, codes.stop, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
