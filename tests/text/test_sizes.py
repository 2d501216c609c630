"""The smallest and the largest that can come: no documents, documents of nothing, documents of many megabytes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from suffice.kernels import Batch, ThreadEngine
from suffice.statistics.labels import ONE_CLASS
from suffice.text import (
    CountSpec,
    CountVectorizer,
    DocumentCounts,
    Documents,
    Features,
    HashedVocabulary,
    HashingVectorizer,
)

ENGINE = ThreadEngine(2)
MEGABYTE = 1 << 20


def counts(documents: list[str | bytes], **counting: Any) -> DocumentCounts:
    return ENGINE.accumulate(DocumentCounts.over(ONE_CLASS, CountSpec(**counting)), Batch(Documents(documents)))


def test_no_documents():
    nothing = Documents([])
    assert (len(nothing), nothing.shape, nothing.nnz, nothing.indptr.tolist()) == (0, (0, 1), 0, [0])
    assert counts([]).weight == 0
    assert HashingVectorizer(n_features=8).transform([]).shape == (0, 8)
    assert CountVectorizer(vocabulary=["free"]).transform([]).shape == (0, 1)
    with pytest.raises(ValueError, match="empty vocabulary"):
        CountVectorizer().fit([])


@pytest.mark.parametrize("separators", ["", " ", "\n" * 64, ". ,;" * MEGABYTE, "\u3000" * MEGABYTE, "\x00" * 1000])
def test_documents_of_separators_alone(separators: str):
    found = counts([separators, separators.encode(), ""])
    assert found.weight == 3
    assert (len(found.vocabulary), found.documents.size, len(found.sample)) == (0, 0, 0)
    rows = CountVectorizer(vocabulary=["free"]).transform([separators, f"{separators} free{separators}"])
    assert rows.toarray().tolist() == [[0], [1]]


def test_documents_of_twenty_megabytes():
    """Two of them, of one word, of many, and of one word that goes on for ever."""
    filler = "free money, lunch! "
    times = 20 * MEGABYTE // len(filler)
    found = counts([filler * times, "now " + "x" * (20 * MEGABYTE)])
    assert dict(zip(found.vocabulary, found.events[0].tolist(), strict=True)) == {
        "free": times,
        "money": times,
        "lunch": times,
        "now": 1,
        "x" * (20 * MEGABYTE): 1,
    }
    assert len(found.sample) == 2


def test_megabytes_that_are_not_ascii():
    filler = "Straße ÉCOLE 中文 ΟΔΟΣ "
    times = 4 * MEGABYTE // len(filler)
    expected = dict.fromkeys(filler.lower().split(), times)
    for document in (filler * times, (filler * times).encode()):
        found = counts([document])
        assert dict(zip(found.vocabulary, found.events[0].tolist(), strict=True)) == expected


@pytest.mark.parametrize("unit", ["characters", "characters_in_words", "bytes"])
def test_megabytes_of_characters(unit: str):
    found = counts(["ab" * MEGABYTE], features=Features(unit, (2, 2)))
    words = dict(zip(found.vocabulary, found.events[0].tolist(), strict=True))
    assert words == {
        "ab": MEGABYTE,
        "ba": MEGABYTE - 1,
        **({} if unit != "characters_in_words" else {" a": 1, "b ": 1}),
    }


@pytest.mark.slow
def test_a_document_of_a_hundred_megabytes():
    rng = np.random.default_rng(0)
    words = np.array([f"w{place}" for place in range(50_000)])
    page = " ".join(words[rng.zipf(1.2, 200_000) % len(words)])
    document = f"{page} " * (100 * MEGABYTE // len(page) + 1)
    assert len(document) > 100 * MEGABYTE
    times = len(document) // (len(page) + 1)
    once, whole = counts([page]), counts([document])
    assert list(whole.vocabulary) == list(once.vocabulary)
    np.testing.assert_array_equal(whole.events, times * once.events)
    np.testing.assert_array_equal(whole.documents, once.documents)
    hashed = counts([document], vocabulary=HashedVocabulary(10))
    assert hashed.events.sum() == whole.events.sum()


def test_a_million_documents_of_one_word():
    found = counts([f"w{place % 1000}" for place in range(200_000)] * 2)
    assert found.documents.tolist() == [400] * 1000
    assert len(found.sample) <= 1024


PEAK = """
import re
from pathlib import Path
from suffice.text import HashingVectorizer
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
HashingVectorizer(n_features=2).transform(["free money"])
before = peak()
HashingVectorizer(n_features=1 << 26).transform(["free money", "lunch"])
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.needs("linux")
def test_a_few_words_in_many_columns_take_little_memory():
    run = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 100 * 1024  # kilobytes
