"""Ways to cut documents into features, each with the settings of scikit-learn that mean the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import hypothesis.strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from suffice.text import Features

Analyzer = Callable[[str | bytes], list[str]]


class Way(NamedTuple):
    features: Features
    settings: dict[str, Any]  # of scikit-learn's CountVectorizer

    def reading(self, lower: bool, accents: Any) -> Way:
        """The same units, of characters that are read in another way."""
        features = replace(self.features, lower=lower, accents=accents)
        return Way(features, {**self.settings, "lowercase": lower, "strip_accents": accents})

    def expected(self, **settings: Any) -> Analyzer:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Your stop_words may be inconsistent")
            analyzer: Analyzer = CountVectorizer(**self.settings, **settings).build_analyzer()
        return analyzer


WAYS = {
    "words": Way(Features(), {}),
    "words of one letter": Way(Features(shortest=1), {"token_pattern": r"(?u)\b\w+\b"}),
    "one or two words": Way(Features(runs=(1, 2)), {"ngram_range": (1, 2)}),
    "two to four words": Way(
        Features(runs=(2, 4), shortest=1), {"ngram_range": (2, 4), "token_pattern": r"(?u)\b\w+\b"}
    ),
    "characters": Way(Features("characters", runs=(1, 3)), {"analyzer": "char", "ngram_range": (1, 3)}),
    "characters in words": Way(
        Features("characters_in_words", runs=(2, 5)), {"analyzer": "char_wb", "ngram_range": (2, 5)}
    ),
    "without English stop words": Way(Features(stop_words="english"), {"stop_words": "english"}),
    "pairs without some words": Way(
        Features(runs=(1, 2), stop_words=("the", "σας", "éa", "\ud800b")),
        {"ngram_range": (1, 2), "stop_words": ["the", "σας", "éa", "\ud800b"]},
    ),
}

CHUNKS = Way(Features("chunks", shortest=1), {"token_pattern": r"\S+"})

ACCENTS = (None, "unicode", "ascii")

# What is hard: cases that change length or depend on neighbours, marks, blanks of all kinds, surrogates.
HARD = (
    "ΣσςİıIßẞǅǄǆÉéŉﬁﬃΐΑ\u0345\u0301\u0307\u00ad\u200d\u200b\ufeff\ufffd\ufffe\uffff\U0010ffff\x00\x1c\x1f\x85\xa0\u2028"
    "\u3000\u1680 \t\n\r_-'.0٣৩²½Ⅷⓐ\ud800\udbff\udc00\udfff\ufdfa\u0f77각\u1100\u1161中𝒳𐐀\U0001f469ª"
)
# Words of common length, as often as not.
text = st.lists(
    st.one_of(
        st.sampled_from(HARD),
        st.characters(exclude_categories=()),
        st.characters(max_codepoint=127),
        st.sampled_from(["the", "The", "Σας", "abc", "ab", " ", "  ", "éa", "\ud800b"]),
    ),
    max_size=80,
).map("".join)
# Not all of it UTF-8: cut, overlong, of surrogates, beyond the last character.
broken = st.lists(
    st.one_of(
        st.binary(max_size=4),
        st.characters(codec="utf-8").map(str.encode),
        st.characters(codec="utf-8").map(lambda character: character.encode()[:-1]),
        st.sampled_from(
            [b"ab", b" ", b"\xed\xa0\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xf4\x90\x80\x80", b"\xce\xa3", b"\xf0\x90"]
        ),
    ),
    max_size=40,
).map(b"".join)
