"""Columns by hash: those of models in files stay the same, those of the vectoriser are scikit-learn's."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from sklearn.feature_extraction import text as theirs
from sklearn.utils import murmurhash3_32

from suffice.text import HashedVocabulary, HashingVectorizer, Vocabulary
from tests.each import for_each

from .alike import CUTTING, DOCUMENTS, UNSEEN, check_same
from .ways import text

PLAIN = ["free money", "free lunch", "café"]

#: Models in files refer to these columns: they stay what they are in every version, on every machine.
HASHES = {
    "a": 0x940C28AFC22D6709,
    "0": 0x003C5E4780793AC0,
    "is": 0xB2C36FC1E6A356BE,
    "the": 0x3E0CDDB91E61E696,
    "free": 0x6B8097373BF7879C,
    "money": 0xEBF8CC6AA7338191,
    "viagra1": 0x5931EDCECB6240D9,
    "eightabc": 0x69B1CAC6085E20E8,
    "nine_byte": 0x9023272B3BC9979E,
    "sixteen_bytes_ab": 0x2AB9E18181101049,
    "seventeen_bytes_a": 0xE48E89E0643172B7,
    "a" * 64: 0x5A50542D9B564F26,
    "z" * 1000: 0x8AC129C660B33173,
    "café": 0x1E5A707F69EC71C2,
    "straße": 0xCAB4F105427EDF31,
    "ὀδυσσεύς": 0x03AC599E7DCC1E14,
    "中文": 0x70652409BB952BCF,
    "𐐨𐐩": 0xC853097FB10421F2,
}


def test_hashes_stay_what_they_are():
    assert dict(zip(HASHES, Vocabulary(HASHES).native.hashes().tolist(), strict=True)) == HASHES
    for bits in (1, 10, 20):
        assert HashedVocabulary(bits).columns_of(HASHES) == [hashed % (1 << bits) for hashed in HASHES.values()]


def test_murmur_hashes_are_scikit_learns():
    words = ["", *HASHES]  # of every length modulo 4, and of bytes above 127
    assert Vocabulary(words).native.murmur().tolist() == [murmurhash3_32(word, seed=0) for word in words]


@for_each("size", [1, 3, 1000, 1 << 20])
@for_each(
    "settings", [{}, {"norm": None}, {"norm": "l1", "alternate_sign": False}, {"binary": True, "dtype": np.float32}]
)
@pytest.mark.parametrize("cutting", CUTTING, ids=repr)
def test_hashed_counts_are_scikit_learns(cutting: dict[str, Any], settings: dict[str, Any], size: int):
    given_settings = {"n_features": size, **cutting, **settings}
    mine, other = HashingVectorizer(**given_settings), theirs.HashingVectorizer(**given_settings)
    check_same(mine.fit_transform(DOCUMENTS), other.fit_transform(DOCUMENTS))


@given(documents=st.lists(text, min_size=1, max_size=5), size=st.integers(1, 1 << 16))
def test_any_documents_are_hashed_as_scikit_learn_does(documents: list[str], size: int):
    check_same(
        HashingVectorizer(n_features=size).transform(documents),
        theirs.HashingVectorizer(n_features=size).transform(documents),
    )


def test_hashing_in_batches_gives_the_same():
    documents = [f"d{number % 1000} same" for number in range((1 << 16) + 100)]
    mine, other = (kind(n_features=64, norm=None) for kind in (HashingVectorizer, theirs.HashingVectorizer))
    check_same(mine.transform(documents), other.transform(documents))


def test_hashing_needs_no_fit():
    hashing = HashingVectorizer(n_features=1 << 12)
    assert hashing.fit(PLAIN) is hashing
    check_same(hashing.transform(UNSEEN), HashingVectorizer(n_features=1 << 12).fit_transform(UNSEEN))
    assert sp.issparse(hashing.transform([]))
    assert hashing.transform([]).shape == (0, 1 << 12)
    assert hashing.transform(["", "?"]).nnz == 0


@pytest.mark.parametrize("size", [0, -4, 2.0, "many", None, 1 << 31], ids=repr)
def test_a_number_of_columns_that_is_refused(size: Any):
    with pytest.raises(ValueError, match=f"'n_features' parameter .* must be an int in the range .*Got {size!r}"):
        HashingVectorizer(n_features=size).fit(PLAIN)
