"""Tokens of text, compared with a plain description."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.mail.features import extract_features


def words(text: str) -> list[str]:
    """Return the distinct words of a message's text, in order."""
    tokens = extract_features([b"Content-Type: text/plain; charset=utf-8\n\n" + text.encode()]).tokens(0)
    return tokens[tokens.index("part:charset=utf-8") + 1 :]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("FREE free Free", ["FREE", "free", "Free"]),  # case is kept
        ("it is, it is", ["it", "is"]),  # each once
        ("don't stop", ["don't", "stop"]),
        ("10.5 1,000 a@b.example and/or", ["10.5", "1,000", "a@b.example", "and/or"]),
        ("end. Begin.. a,,b", ["end", "Begin", "a", "b"]),
        ("--- 'quoted' -x- .a.", ["quoted", "x", "a"]),
        ("$100!!! 50% #1", ["$100!!!", "50", "1"]),
        ("naïve Grüße привет", ["naïve", "Grüße", "привет"]),
        ("a\xa0b\u2003c “d” e…f", ["a", "b", "c", "d", "e", "f"]),
        ("5€ £3", ["5€", "£3"]),
        ("你好吗", ["你", "你好", "好吗"]),
        ("你 好", ["你", "好"]),
        ("buy你好now", ["buy", "你", "你好", "now"]),
        ("ありがとう。カタカナ", ["あ", "あり", "りが", "がと", "とう", "カ", "カタ", "タカ", "カナ"]),
        ("สวัส", ["ส", "สว", "วั", "ัส"]),
        ("한국어 말", ["한국어", "말"]),  # a script with spaces
        ("𠮷野", ["𠮷", "𠮷野"]),
        ("a" * 30, ["a" * 30]),
        ("a" * 31, ["a...30"]),
        ("a" * 59 + " " + "é" * 30, ["a...50", "é...60"]),
        ("", []),
        (" .,-'/@ ", []),
    ],
)
def test_words_of_a_text(text, found):
    assert words(text) == found


@pytest.mark.parametrize("unseen", ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\xad"])
def test_zero_width_characters_are_removed_and_reported(unseen):
    assert words(f"Via{unseen}gra {unseen}x{unseen}") == ["look:unseen-characters", "Viagra", "x"]
    subject = extract_features([f"Subject: Via{unseen}gra\n\n".encode()]).tokens(0)
    assert subject[:3] == ["header:subject", "look:unseen-characters", "subject:Viagra"]


def test_characters_with_the_same_first_byte_are_kept():
    assert words("a\u2014b\u200ec £") == ["a", "b", "c", "£"]


WITHIN, JOINS, BETWEEN, UNSPACED = "aB9_$!'-éЖ€", ".,@/", " \n\t?()*\xa0\u2009“", "你好あ"
WORD = re.compile(f"[{UNSPACED}]+|[{re.escape(WITHIN)}]+(?:[{re.escape(JOINS)}][{re.escape(WITHIN)}]+)*")


def described(text: str) -> list[str]:
    """Return words by description: runs of letters with single joints; pairs in scripts without spaces."""
    found = []
    for run in WORD.findall(text):
        if run[0] in UNSPACED:
            found += [run[0], *(run[i : i + 2] for i in range(len(run) - 1))]
        elif word := run.strip(".,-'/@"):
            size = len(word.encode())
            found.append(word if size <= 30 else f"{word[0]}...{size // 10 * 10}")
    return list(dict.fromkeys(found))


@given(st.text(WITHIN + JOINS + BETWEEN + UNSPACED, max_size=60))
def test_words_match_a_plain_description(text):
    assert words(text) == described(text)


@given(st.text(max_size=60))
def test_no_word_contains_a_space(text):
    assert not any(re.search(r"[\x00-\x20\x7f]", word) for word in words(text))


def test_long_names_are_truncated_between_characters():
    kinds = ("text/", "text/x", "text/xx")
    found = extract_features([f"Content-Type: {kind}{'é' * 100}\n\n".encode() for kind in kinds])
    assert not any("\ufffd" in token for i in range(len(kinds)) for token in found.tokens(i))
