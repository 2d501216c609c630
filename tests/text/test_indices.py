"""Documents as lists of word indices, and words of a vocabulary that are never counted."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.text import CountVectorizer, count_indices


def test_counts_are_those_of_the_indices():
    assert count_indices([[2, 0, 2], []], words=3).toarray().tolist() == [[1, 0, 2], [0, 0, 0]]
    assert count_indices([], words=3).shape == (0, 3)
    assert count_indices([np.array([1, 1])], words=2).toarray().tolist() == [[0, 2]]


def test_wrong_indices_raise():
    with pytest.raises(ValueError, match=r"documents\[1\]\[2\] is 3; an index must be 0 to 2"):
        count_indices([[0], [1, 2, 3]], words=3)
    with pytest.raises(TypeError, match=r"documents\[0\] must be a list of whole numbers"):
        count_indices([["free"]], words=3)


def test_a_vocabulary_with_words_too_short_warns():
    with pytest.warns(UserWarning, match="1 of the 2 words of the vocabulary, the first of them 'a', are never"):
        counts = CountVectorizer(vocabulary=["a", "free"]).fit_transform(["a free lunch"])
    assert counts.toarray().tolist() == [[0, 1]]
    single = CountVectorizer(vocabulary=["a", "free"], token_pattern=r"(?u)\b\w+\b")
    assert single.fit_transform(["a free lunch"]).toarray().tolist() == [[1, 1]]
