"""Comparison of the vectorisers with scikit-learn's of the same name."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction import text as theirs

from suffice.text import CountVectorizer, TfidfVectorizer

DOCUMENTS = [
    "Free money! Claim your FREE prize now, now, now.",
    "Lunch at noon? The café near the Straße.",
    "",
    "free lunch: there is no free lunch, 100% free",
    "ΟΔΥΣΣΕΥΣ und İstanbul; naïve café café",
    "  \t\n ",
    "money money money, must be funny in the rich man's world",
    "noon",
    "Claim lunch money now",
]
UNSEEN = ["money for nothing", "", "Straße strasse", "wholly other things", "now " * 500, "café"]


def quietly(function: Callable[[], Any]) -> Any:
    """Call something of scikit-learn's, which warns where settings have no effect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


def check_same(mine: Any, other: Any) -> None:
    """Compare matrices in every entry and in how they are stored, but for the order within rows: here it is sorted."""
    other = other.sorted_indices()
    assert type(mine) is type(other)
    assert mine.shape == other.shape
    for part in ("indptr", "indices"):
        assert getattr(mine, part).dtype == getattr(other, part).dtype
        np.testing.assert_array_equal(getattr(mine, part), getattr(other, part))
    assert mine.dtype == other.dtype
    # What is summed over a row in another order, as lengths are, rounds in another way.
    np.testing.assert_allclose(
        mine.data, other.data, rtol=0 if mine.dtype.kind == "i" else 4 * np.finfo(mine.dtype).eps
    )
    assert mine.has_canonical_format


def check_alike(name: str, settings: dict[str, Any], documents: list[Any] = DOCUMENTS) -> None:
    """Fit both vectorisers of a name, and compare all they give; or both refuse."""
    mine, other = {
        "count": (CountVectorizer, theirs.CountVectorizer),
        "tfidf": (TfidfVectorizer, theirs.TfidfVectorizer),
    }[name]
    one, two = mine(**settings), other(**settings)
    try:
        expected = quietly(lambda: two.fit_transform(documents))
    except ValueError as refusal:
        ours = "the columns of a vocabulary must be|words of a vocabulary must be distinct"
        with pytest.raises(ValueError, match=f"{re.escape(str(refusal))}|{ours}"):
            one.fit_transform(documents)
        return
    check_same(one.fit_transform(documents), expected)
    assert one.vocabulary_ == two.vocabulary_
    names = one.get_feature_names_out()
    assert names.dtype == object
    np.testing.assert_array_equal(names, two.get_feature_names_out())
    for others in (documents, UNSEEN, ["", " "]):
        check_same(one.transform(others), two.transform(others))
    if name == "count":
        check_same(one.transform([]), two.transform([]))
    elif one.use_idf:
        np.testing.assert_array_equal(one.idf_, two.idf_)
    check_same(mine(**settings).fit(documents).transform(UNSEEN), two.transform(UNSEEN))


CUTTING: list[dict[str, Any]] = [
    {},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3)},
    {"ngram_range": (7, 9)},
    {"token_pattern": r"(?u)\b\w+\b"},
    {"token_pattern": r"\S+"},
    {"analyzer": "char"},
    {"analyzer": "char", "ngram_range": (2, 4)},
    {"analyzer": "char_wb", "ngram_range": (3, 5)},
    {"analyzer": "char_wb", "ngram_range": (1, 1)},
    {"lowercase": False},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii"},
    {"stop_words": "english"},
    {"stop_words": ["free", "money"]},
    {"stop_words": ["lunch"], "ngram_range": (1, 2)},
]
