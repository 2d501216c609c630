import numpy as np
import pytest
from scipy import sparse

from suffice.kernels import Batch, ThreadEngine
from suffice.statistics import Labels, NamedCategoryCounts, WordCounts

ENGINE = ThreadEngine(2)
TWO = Labels.of(["ham", "spam"])
COLOURS, SIZES = Labels.of(["blue", "red"]), Labels.of(["L", "M", "S"])


def categories(codes, y, vocabularies=(COLOURS, SIZES)):
    return ENGINE.accumulate(NamedCategoryCounts.over(TWO, vocabularies), Batch(np.array(codes), np.array(y)))


def test_features_stand_side_by_side():
    found = categories([[0, 2], [1, 2], [1, 0]], [0, 0, 1])
    assert found.sizes == (2, 3)
    assert found.feature(0).tolist() == [[1, 1], [0, 1]]
    assert found.feature(1).tolist() == [[0, 0, 2], [1, 0, 0]]
    assert found.rows.tolist() == [2, 1]


def test_missing_categories_add_nothing_but_their_row():
    found = categories([[0.0, np.nan], [-1.0, 2.0]], [0, 1])
    assert found.counts.tolist() == [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert found.rows.tolist() == [1, 1]


def test_a_feature_may_have_been_missing_in_every_row():
    nothing = categories([[0.0, np.nan]], [0], (COLOURS, Labels()))
    assert nothing.sizes == (2, 0)
    assert nothing.feature(1).shape == (2, 0)
    some = categories([[1, 2]], [1])
    for total in (nothing + some, some + nothing):
        assert total.vocabularies == (COLOURS, SIZES)
        assert total.counts.tolist() == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 1]]
    assert (total - some).counts.tolist() == [[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_words_are_counted_dense_and_sparse(layout):
    x = layout(np.array([[2, 0, 1], [0, 3, 0]]))
    buy, now = Labels.of(["buy"]), Labels.of(["buy", "now"])
    found = ENGINE.accumulate(WordCounts.over(TWO, [buy, now]), Batch(x, np.array([1, 0])))
    assert found.vocabularies == (buy, now)
    assert found.feature(1).tolist() == [[3, 0], [0, 1]]


def test_vocabularies_must_name_the_columns():
    batch = Batch(np.ones((2, 3)), np.array([0, 1]))
    with pytest.raises(ValueError, match=r"vocabularies of \[2\] names must sum to the 3 columns of counts"):
        ENGINE.accumulate(WordCounts.over(TWO, (COLOURS,)), batch)
    with pytest.raises(TypeError, match="must be a tuple of Labels"):
        WordCounts(TWO, np.zeros(2), np.zeros((2, 2)), (("blue", "red"),))
    some = categories([[0, 0]], [0])
    with pytest.raises(ValueError, match="counts of 2 and of 1 features do not go together"):
        some + categories([[0]], [0], (COLOURS,))
    with pytest.raises(ValueError, match="must be of 2 features; got 1"):
        some.widened([COLOURS])
    with pytest.raises(KeyError, match="the vocabulary of feature 1 lacks the category 'M'"):
        some.widened([COLOURS, Labels.of(["L", "S"])])


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (b"nonsense", "'vocabularies' must hold the bytes of JSON text"),
        (b"\xff", "'vocabularies' must hold the bytes of JSON text"),
        (b"[" * 100_000, "'vocabularies' must hold the bytes of JSON text"),
        (b'{"a": 1}', "JSON list of lists"),
        (b'["ab", "cde"]', "JSON list of lists"),
        (b'[["blue", "red"], ["S", "M", "L"]]', "holds no vocabulary at 1: class labels must be distinct and sorted"),
        (b'[["blue", null], ["L", "M", "S"]]', "holds no vocabulary at 0: a class label must be a str"),
        (b'[["blue", "red"]]', r"vocabularies of \[2\] names must sum to the 5 columns"),
    ],
)
def test_foreign_vocabularies_are_refused(stored, message):
    arrays = categories([[0, 0]], [0]).to_arrays()
    with pytest.raises(ValueError, match=message):
        NamedCategoryCounts.from_arrays({**arrays, "vocabularies": np.frombuffer(stored, dtype=np.uint8)})
    with pytest.raises(ValueError, match=r"uint8; it holds float64"):
        NamedCategoryCounts.from_arrays({**arrays, "vocabularies": np.zeros(3)})
