import numpy as np
import pytest

from suffice.statistics import Labels


def test_any_order_and_repetition_gives_one_sorted_vocabulary():
    assert Labels.of(["spam", "ham", "spam"]).names == ("ham", "spam")
    assert Labels.of(np.array([3, 1, 3])).names == (1, 3)
    assert Labels.of([2, "b", 1.5, "a"]).names == (1.5, 2, "a", "b")
    assert Labels.of(np.array([True, False])).names == (False, True)
    assert Labels.of([]).names == ()


def test_union_says_where_each_side_stands():
    both, here, there = Labels.of([1, 3]).union(Labels.of([2, 3]))
    assert both.names == (1, 2, 3)
    assert here.tolist() == [0, 2]
    assert there.tolist() == [1, 2]


def test_encode_turns_labels_into_codes_and_names_the_first_stranger():
    labels = Labels.of(["ham", "spam"])
    assert labels.encode(np.array(["spam", "ham"])).tolist() == [1, 0]
    assert labels.encode([]).tolist() == []
    with pytest.raises(ValueError, match=r"y\[2\] is 'work', which is no known class; known: \['ham', 'spam'\]"):
        labels.encode(["ham", "spam", "work", "what"])


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ([float("nan")], ValueError, "must not be NaN"),
        ([None], TypeError, "got None of type NoneType"),
        ([b"ham"], TypeError, "must be a str, int, float or bool"),
        ([np.datetime64("2026-01-01")], TypeError, "must be a str"),
    ],
)
def test_labels_without_a_stable_name_are_refused(bad, error, message):
    with pytest.raises(error, match=message):
        Labels.of(bad)


def test_unsorted_names_and_unknown_classes_are_refused():
    with pytest.raises(ValueError, match="distinct and sorted"):
        Labels(("b", "a"))
    with pytest.raises(ValueError, match="distinct and sorted"):
        Labels(("a", "a"))
    with pytest.raises(KeyError, match="unknown class 'c'"):
        Labels(("a", "b")).positions(Labels(("c",)))


@pytest.mark.parametrize("names", [(), ("ham", "spam"), (False, True), (1, 2.5, "ä€\n\"'")])
def test_bytes_there_and_back(names):
    again = Labels.from_array(Labels(names).to_array())
    assert again.names == names
    assert [type(name) for name in again] == [type(name) for name in names]


@pytest.mark.parametrize("text", [b'{"a": 1}', b'["b", "a"]', b"[null]", b"nonsense", b"\xff"])
def test_foreign_bytes_are_refused(text):
    with pytest.raises((ValueError, TypeError)):
        Labels.from_array(np.frombuffer(text, dtype=np.uint8))
