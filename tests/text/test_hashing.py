"""Columns by hash: the same for ever, and the sum of what falls into them."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from suffice.text import CountVectorizer, HashingVectorizer, Vocabulary

from .alike import UNSEEN, check_same
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
        rows = HashingVectorizer(n_features=1 << bits, token_pattern=r"\S+").transform(HASHES)
        assert rows.indices.tolist() == [hashed % (1 << bits) for hashed in HASHES.values()]


@given(documents=st.lists(text, min_size=1, max_size=5), bits=st.integers(1, 16), binary=st.booleans())
def test_hashed_counts_are_the_counts_of_all_words_of_a_slot(documents: list[str], bits: int, binary: bool):
    hashing = HashingVectorizer(n_features=1 << bits, binary=binary)
    rows = hashing.transform(documents)
    assert rows.shape == (len(documents), 1 << bits)
    assert rows.dtype == np.int64
    assert rows.has_canonical_format
    analyze = CountVectorizer().build_analyzer()
    for row, document in zip(rows, documents, strict=True):
        slots = [int(hashing.transform([word]).indices[0]) for word in analyze(document)]
        found = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        assert found == {slot: 1 if binary else slots.count(slot) for slot in slots}


def test_hashing_needs_no_fit():
    hashing = HashingVectorizer(n_features=1 << 12)
    assert hashing.fit(PLAIN) is hashing
    check_same(hashing.transform(UNSEEN), HashingVectorizer(n_features=1 << 12).fit_transform(UNSEEN))
    assert sp.issparse(hashing.transform([]))
    assert hashing.transform([]).shape == (0, 1 << 12)


@pytest.mark.parametrize("size", [0, 1, 3, 1000, -4, 2.0, "many", None], ids=repr)
def test_a_number_of_columns_that_is_refused(size: Any):
    with pytest.raises(ValueError, match=f"n_features must be a power of two, such as .*; got {size!r}"):
        HashingVectorizer(n_features=size).fit(PLAIN)


def test_a_number_of_columns_that_is_too_large_is_named():
    with pytest.raises(ValueError, match=r"n_features"):
        HashingVectorizer(n_features=1 << 31).fit(PLAIN)
