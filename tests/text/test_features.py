"""Features of documents: every option compared with a line of Python; invalid options."""

from __future__ import annotations

import pickle
import re
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from suffice.text import Features
from suffice.text.features import NAMED_FEATURES, resolve_features

from .ways import text


def words(document: str) -> list[str]:
    return re.findall(r"\w+", document.lower())


@given(document=text)
def test_digits_of_every_script_become_0(document: str):
    expected = [re.sub(r"\d", "0", word) for word in words(document) if len(word) >= 2]
    assert Features(numbers="fold").of(document) == expected
    folded = re.sub(r"\d", "0", document.lower())
    assert Features("chunks", numbers="fold", shortest=1).of(document) == folded.split()


def test_numbers_are_one_word():
    assert Features(numbers="fold").of("In 1998, 2024 and ١٩٩٨: x86") == ["in", "0000", "0000", "and", "0000", "x00"]
    assert Features(numbers="keep").of("1998") == ["1998"]


def test_digits_are_folded_after_accents():
    assert Features(numbers="fold", accents="unicode").of("x² ①②") == ["x0", "00"]


@given(document=text, shortest=st.integers(1, 5), more=st.none() | st.integers(0, 4))
def test_words_are_as_long_as_asked_for(document: str, shortest: int, more: int | None):
    longest = None if more is None else shortest + more
    expected = [word for word in words(document) if shortest <= len(word) <= (longest or len(word))]
    assert Features(shortest=shortest, longest=longest).of(document) == expected
    chunks = [chunk for chunk in document.lower().split() if shortest <= len(chunk) <= (longest or len(chunk))]
    assert Features("chunks", shortest=shortest, longest=longest).of(document) == chunks


@pytest.mark.parametrize("size", [62, 63, 64, 65, 128, 129, 1000])
def test_longest_counts_characters_and_not_bytes(size: int):
    for character in "xé中𐐨":
        document = f"ab {character * size} cd"
        assert Features(longest=size).of(document) == ["ab", character * size, "cd"]
        assert Features(longest=size - 1).of(document) == ["ab", "cd"]
        # Words that are left out do not stand between their neighbours.
        assert Features(runs=(2, 2), longest=size - 1).of(document) == ["ab cd"]


@given(document=st.binary(max_size=40) | text, runs=st.sampled_from([(1, 1), (1, 3), (2, 4)]))
def test_bytes_as_they_are(document: str | bytes, runs: tuple[int, int]):
    data = document if isinstance(document, bytes) else document.encode("utf-8", "surrogatepass")
    expected = [
        _readable(data[start : start + length])
        for length in range(runs[0], runs[1] + 1)
        for start in range(len(data) - length + 1)
    ]
    assert Features("bytes", runs).of(document) == expected


def _readable(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def test_capitals_of_bytes_stay():
    assert Features("bytes", (2, 2)).of("ΑΣ") == ["Α", "\x91\xce", "Σ"]
    assert Features("bytes", (1, 1), lower=True).of("aB\x00") == ["a", "B", "\x00"]


@given(document=text, runs=st.sampled_from([(1, 1), (1, 2), (3, 3)]))
def test_chunks_stand_between_blanks(document: str, runs: tuple[int, int]):
    chunks = document.lower().split()
    expected = [
        " ".join(chunks[start : start + length])
        for length in range(runs[0], runs[1] + 1)
        for start in range(len(chunks) - length + 1)
    ]
    assert Features("chunks", runs, shortest=1).of(document) == expected


@given(document=text, stop=st.lists(st.sampled_from(["the", "σας", "abc", "ab", "the abc", "", "éa"]), max_size=4))
def test_stop_words_are_left_out_before_runs_are_made(document: str, stop: list[str]):
    kept = [word for word in words(document) if len(word) >= 2 and word not in stop]
    expected = [*kept, *(" ".join(pair) for pair in pairwise(kept))]
    assert Features(runs=(1, 2), stop_words=stop).of(document) == expected


def test_english_stop_words():
    document = " ".join(sorted(ENGLISH_STOP_WORDS)) + " spam The THE"
    assert Features(stop_words="english").of(document) == ["spam"]
    assert Features(stop_words="english", lower=False).of("spam The the") == ["spam", "The"]


@pytest.mark.parametrize("given_as", [list, tuple, set, frozenset, dict.fromkeys, iter])
def test_stop_words_come_as_any_collection(given_as: Any):
    features = Features(stop_words=given_as(["free", "free", "money"]))
    assert features.of("free money now") == ["now"]
    assert features.of("free money now") == ["now"]  # also the second time
    assert pickle.loads(pickle.dumps(features)) == features


def test_documents_without_features():
    for unit in ("words", "chunks", "characters", "characters_in_words", "bytes"):
        assert Features(unit).of("") == Features(unit).of(b"") == []
    for unit in ("words", "chunks", "characters_in_words"):
        assert Features(unit).of(" \t\n\u3000" * 100) == []


REFUSED = [
    ({"unit": "letters"}, r"unit must be one of 'words', .*; got 'letters'"),
    ({"unit": None}, r"unit must be one of .*; got None"),
    ({"accents": "strip"}, r"accents must be one of None, 'unicode', 'ascii'; got 'strip'"),
    ({"accents": True}, r"accents must be one of .*; got True"),
    ({"numbers": "drop"}, r"numbers must be one of 'keep', 'fold'; got 'drop'"),
    ({"runs": (0, 1)}, r"runs must be two whole numbers.*got \(0, 1\)"),
    ({"runs": (2, 1)}, r"runs must be two whole numbers.*got \(2, 1\)"),
    ({"runs": (1, 2, 3)}, r"runs must be two whole numbers.*got \(1, 2, 3\)"),
    ({"runs": (1.0, 2)}, r"runs must be two whole numbers.*got \(1\.0, 2\)"),
    ({"runs": "12"}, r"runs must be two whole numbers.*got '12'"),
    ({"shortest": 0}, r"shortest must be a whole number, 1 or more; got 0"),
    ({"shortest": -3}, r"shortest must be a whole number, 1 or more; got -3"),
    ({"longest": 1}, r"longest must not be below shortest; got 1 and 2"),
    ({"longest": 0}, r"longest must be a whole number, 1 or more; got 0"),
    ({"lower": "no"}, r"lower must be True or False; got 'no'"),
    ({"stop_words": "german"}, r"stop_words must be 'english' or a list of words; got 'german'"),
    ({"stop_words": 5}, r"stop_words must be 'english' or a list of words; got 5"),
    ({"stop_words": ["the", 5]}, r"stop_words\[1\] is 5 of type int"),
    ({"stop_words": ["the", b"a"]}, r"stop_words\[1\] is b'a' of type bytes"),
]


@pytest.mark.parametrize(("settings", "complaint"), REFUSED, ids=[repr(settings) for settings, _ in REFUSED])
def test_a_refusal_names_the_value(settings: dict[str, Any], complaint: str):
    with pytest.raises((ValueError, TypeError), match=complaint):
        Features(**settings)


@pytest.mark.parametrize(
    "settings",
    [{"runs": 3}, {"runs": None}, {"shortest": 2.5}, {"shortest": "2"}, {"longest": 3.5}, {"longest": "long"}],
    ids=repr,
)
def test_a_refusal_names_a_value_of_another_type(settings: dict[str, Any]):
    ((name, value),) = settings.items()
    with pytest.raises((ValueError, TypeError), match=f"{name} must .*{value!r}"):
        Features(**settings)


def test_features_go_by_name():
    for name, features in NAMED_FEATURES.items():
        assert resolve_features(name) is features
    own = Features(shortest=3)
    assert resolve_features(own) is own
    for strange in ("trigrams", None, 3, ["words"]):
        with pytest.raises(ValueError, match=f"features must be 'words'.*got {re.escape(repr(strange))}"):
            resolve_features(strange)


@pytest.mark.parametrize("document", [None, 3, 2.5, ["text"], bytearray(b"ab")], ids=repr)
def test_what_is_no_document_is_refused(document: Any):
    with pytest.raises(TypeError, match=rf"documents\[0\] is of type {type(document).__name__}"):
        Features().of(document)
