"""The tokens are those of scikit-learn, whatever the text is made of."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from suffice import _native
from suffice.text import Features
from suffice.text.character_tables import character_tables

from .newsgroups import articles
from .scripts import SENTENCES
from .ways import ACCENTS, CHUNKS, WAYS, Way, broken, text

every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
every_reading = pytest.mark.parametrize("accents", ACCENTS, ids=str)
both_cases = pytest.mark.parametrize("lower", [True, False], ids=["lower", "as it is"])
readings = st.tuples(st.booleans(), st.sampled_from(ACCENTS))

CHARACTERS = np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
PLANES = [CHARACTERS[start : start + (1 << 16)] for start in range(0, len(CHARACTERS), 1 << 16)]
ASSIGNED = [*PLANES[:4], PLANES[14], PLANES[16]]  # but for the last, the planes in which characters are told apart
# Before, between and after characters; the last has a capital sigma, for which Python lowers the whole document.
SURROUNDINGS = {"alone": ("", " ", ""), "in a word": ("x", "y q", "z"), "next to a sigma": ("ΑΣ ab", " ", "")}


#: Every pair of these occurs; the others are slow.
SOME = {
    ("alone", None, True),
    ("alone", "unicode", False),
    ("in a word", "unicode", True),
    ("in a word", "ascii", False),
    ("next to a sigma", None, False),
    ("next to a sigma", "ascii", True),
}


@pytest.mark.parametrize(
    ("surroundings", "accents", "lower"),
    [
        pytest.param(*each, marks=() if each in SOME else pytest.mark.slow)
        for each in itertools.product(SURROUNDINGS, ACCENTS, (True, False))
    ],
)
def test_every_character_there_is(surroundings: str, accents: Any, lower: bool):
    before, between, after = SURROUNDINGS[surroundings]
    way = WAYS["words of one letter"].reading(lower, accents)
    expected = way.expected()
    for plane in PLANES if surroundings == "alone" and accents is None else ASSIGNED:
        document = before + between.join(plane) + after
        assert way.features.of(document) == expected(document)


@pytest.mark.parametrize(
    ("unit", "accents", "lower"),
    [
        ("characters", None, True),
        ("characters", "unicode", False),
        ("characters", "ascii", True),
        ("characters in words", None, False),
        ("characters in words", "unicode", True),
        ("characters in words", "ascii", False),
    ],
)
def test_every_character_there_is_among_its_neighbours(unit: str, accents: Any, lower: bool):
    way = WAYS[unit].reading(lower, accents)
    runs = (1, 1) if unit == "characters" else (3, 3)
    check_neighbours(Way(replace(way.features, runs=runs), {**way.settings, "ngram_range": runs}))


@pytest.mark.parametrize("accents", [None, "unicode"], ids=str)
def test_every_character_there_is_in_chunks(accents: Any):
    check_neighbours(CHUNKS.reading(True, accents))


def check_neighbours(way: Way) -> None:
    expected = way.expected()
    for plane in ASSIGNED:
        # Two of a kind, such as blanks, are another matter than one.
        document = plane + "".join(2 * character for character in plane if character.isspace())
        assert way.features.of(document) == expected(document)


@every_way
@given(document=text, reading=readings)
def test_any_text(way: Way, document: str, reading: tuple[bool, Any]):
    way = way.reading(*reading)
    assert way.features.of(document) == way.expected()(document)


@every_way
@given(document=broken, reading=readings)
def test_bytes_that_are_no_text(way: Way, document: bytes, reading: tuple[bool, Any]):
    way = way.reading(*reading)
    assert way.features.of(document) == way.expected(decode_error="replace")(document)


@both_cases
@every_reading
@every_way
def test_every_script(way: Way, accents: Any, lower: bool):
    way = way.reading(lower, accents)
    expected = way.expected()
    for script, sentence in SENTENCES.items():
        assert way.features.of(sentence) == expected(sentence), script
        # Far into the document, among ASCII, and as the bytes of a file.
        longer = f"{'plain Words ' * 9}{sentence} {'more, PLAIN words; ' * 9}{sentence}"
        assert way.features.of(longer) == expected(longer), script
        assert way.features.of(longer.encode()) == expected(longer), script


SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 80, 127, 128, 129, 192, 257)


@both_cases
@pytest.mark.parametrize("after", ["", " ", ".", "\n\n", " and More", "é", " Ж " + 70 * "q"])
def test_words_that_begin_and_end_anywhere_in_a_window(after: str, lower: bool):
    """Sixty-four bytes are read at a time: a word may end before, at and after the edge of each quarter."""
    way = WAYS["words of one letter"].reading(lower, None)
    expected = way.expected()
    letters = "aBcDeFgHiJkLmNoPqRsTuVwXyZ_0123456789" * 8
    for size in SIZES:
        for offset in (*range(19), *range(29, 36), *range(45, 51), *range(60, 68), *range(124, 131)):
            document = "." * offset + letters[:size] + after
            assert way.features.of(document) == expected(document)
            mixed = ("ab " * offset)[:offset] + letters[:size] + after
            assert way.features.of(mixed) == expected(mixed)


@every_reading
@pytest.mark.parametrize("character", list("éß\u00adİΣЖ中\u3000𝒳\u0301\ud800\ufdfa\U0001f600"), ids=ascii)
def test_other_characters_anywhere_in_a_window(character: str, accents: Any):
    way = WAYS["words"].reading(True, accents)
    expected = way.expected()
    for plain in ("a" * 140, "Ab, cd! " * 18, "." * 140):
        for place in range(140):
            document = plain[:place] + character + plain[place:]
            assert way.features.of(document) == expected(document)
            again = document[: place + 2] + character + document[place + 2 :]
            assert way.features.of(again) == expected(again)


def test_documents_of_one_buffer_do_not_run_into_each_other():
    """A document that is part of a buffer ends where it ends, though letters follow."""
    documents = ["x" * size + tail for size in range(140) for tail in ("", " ab", " é", "ΑΣ", "中", "\u00e9" * 3)]
    lengths = [len(document.encode()) for document in documents]
    ends = np.cumsum(lengths, dtype=np.int64)
    buffer = "".join(documents).encode()
    native = _native.text.Documents(buffer, ends - lengths, ends, True)
    way = WAYS["words of one letter"]
    expected = way.expected()
    for place, document in enumerate(documents):
        assert way.features.native.tokens(native, place) == expected(document)
    # Cut in the middle of characters, each part is read as if the other were not there.
    cuts = np.arange(0, len(buffer) - 3, 3, dtype=np.int64)
    native = _native.text.Documents(buffer, cuts, cuts + 3, True)
    expected = way.expected(decode_error="replace")
    for place, cut in enumerate(cuts.tolist()):
        assert way.features.native.tokens(native, place) == expected(buffer[cut : cut + 3])


@pytest.mark.parametrize("character", ["a", "Q", "é", "中", "𐐀"])
@pytest.mark.parametrize("unit", ["words", "characters in words"])
def test_words_of_a_megabyte(unit: str, character: str):
    features = WAYS[unit].features if unit == "words" else Features("characters_in_words", (5, 5))
    expected = Way(features, {} if unit == "words" else {"analyzer": "char_wb", "ngram_range": (5, 5)}).expected()
    document = f"ab {character * (1 << 20 if unit == 'words' else 1 << 14)} cd"
    assert features.of(document) == expected(document)
    assert features.of(document[:-3]) == expected(document[:-3])


@pytest.mark.parametrize("seed", range(3))
@every_way
def test_long_documents(way: Way, seed: int):
    """Thousands of words, so that all that grows has grown several times."""
    draw = random.Random(seed)
    alphabet = "abcdefghijklmnopqrstuvwxyzABC      .,;\n0123_éßЖ中𝒳" if seed else "ab "
    document = "".join(draw.choices(alphabet, k=20_000))
    assert way.features.of(document) == way.expected()(document)


def test_every_three_hundredth_article():
    for way in (WAYS["words"], WAYS["without English stop words"]):
        expected = way.expected()
        for article in articles()[::300]:
            assert way.features.of(article) == expected(article)


@pytest.mark.slow
@every_way
def test_every_article(way: Way):
    expected = way.expected()
    step = {(1, 1): 1, (1, 2): 2}.get(way.features.runs, 8)
    for article in articles()[::step]:
        assert way.features.of(article) == expected(article)


def test_letters_and_spaces_are_those_of_regular_expressions() -> None:
    kind = character_tables(lower=True, accents=None, fold_digits=True).kind
    for pattern, bit in ((r"\w", 1), (r"\s", 2)):
        expected = np.zeros(len(CHARACTERS), dtype=bool)
        expected[[found.start() for found in re.finditer(pattern, CHARACTERS)]] = True
        np.testing.assert_array_equal(kind & bit != 0, expected)
