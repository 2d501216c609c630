"""The algebra of counts whose columns have names: whatever vocabulary each part was summed under."""

from __future__ import annotations

from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from safetensors.numpy import load, save

from suffice.kernels import Batch
from suffice.statistics import Labels, NamedCategoryCounts, NegativeEvidenceError, VocabularyCounts, WordCounts

from .kinds import ENGINE

NAMES = [["red", "blue", "green", 7, 2.5, True], ["S", "M", "L"]]
CLASSES = ["ham", "spam", "work"]


class Row(NamedTuple):
    label: str
    names: tuple[str | int | float, ...]  # one of each feature
    weight: float


rows = st.lists(
    st.builds(Row, st.sampled_from(CLASSES), st.tuples(*map(st.sampled_from, NAMES)), st.integers(0, 3).map(float)),
    max_size=8,
)


def vocabularies(some: list[Row], data: st.DataObject) -> tuple[Labels, ...]:
    """The names that some rows have, and perhaps some that they have not."""
    return tuple(
        Labels.of([*(row.names[j] for row in some), *data.draw(st.lists(st.sampled_from(names), max_size=2))])
        for j, names in enumerate(NAMES)
    )


def categories(some: list[Row], data: st.DataObject) -> VocabularyCounts:
    own = vocabularies(some, data)
    x = np.array([labels.encode([row.names[j] for row in some]) for j, labels in enumerate(own)]).T
    return summed(NamedCategoryCounts, x, some, own)


def words(some: list[Row], data: st.DataObject) -> VocabularyCounts:
    """Each row has each of its names twice."""
    own = vocabularies(some, data)
    blocks = [2 * np.eye(len(labels))[labels.encode([row.names[j] for row in some])] for j, labels in enumerate(own)]
    return summed(WordCounts, np.hstack(blocks), some, own)


def summed(kind: type[VocabularyCounts], x: np.ndarray, some: list[Row], own: tuple[Labels, ...]) -> VocabularyCounts:
    labels = Labels.of([row.label for row in some] or CLASSES[:1])
    weight = np.array([row.weight for row in some])
    return ENGINE.accumulate(kind.over(labels, own), Batch(x, labels.encode([row.label for row in some]), weight))


def table(counts: VocabularyCounts) -> dict[tuple[object, int, object], float]:
    """Every count that is not 0, by class, feature and name."""
    return {
        (label, j, name): float(value)
        for j, vocabulary in enumerate(counts.vocabularies)
        for label, line in zip(counts.labels, counts.feature(j), strict=True)
        for name, value in zip(vocabulary, line, strict=True)
        if value
    }


def brute(some: list[Row], each: float) -> dict[tuple[object, int, object], float]:
    found: dict[tuple[object, int, object], float] = {}
    for row in some:
        for j, name in enumerate(row.names):
            found[row.label, j, name] = found.get((row.label, j, name), 0.0) + each * row.weight
    return {key: value for key, value in found.items() if value}


both_kinds = pytest.mark.parametrize(("count", "each"), [(categories, 1.0), (words, 2.0)], ids=["categories", "words"])


@both_kinds
@given(parts=st.lists(rows, min_size=1, max_size=3), data=st.data())
def test_parts_under_any_vocabularies_add_up(count, each, parts, data):
    sums = [count(part, data) for part in parts]
    total = sum(sums)
    assert table(total) == brute([row for part in parts for row in part], each)
    assert sum(reversed(sums)) == total
    assert sums[0] + sum(sums[1:], type(total).zero()) == total
    for j, vocabulary in enumerate(total.vocabularies):
        assert set(vocabulary) == {name for one in sums for name in one.vocabularies[j]}
    assert type(total).from_arrays(load(save(total.to_arrays()))) == total


@both_kinds
@given(one=rows, two=rows, data=st.data())
def test_what_is_taken_away_leaves_the_vocabularies(count, each, one, two, data):
    gone = count(two, data)
    whole = count(one, data) + gone
    wider = gone.widened(tuple(Labels.of([*vocabulary, "stranger"]) for vocabulary in gone.vocabularies))
    for part in (gone, wider):
        left = whole - part
        assert table(left) == brute(one, each)
        assert left.vocabularies == whole.vocabularies
        assert type(left).from_arrays(load(save(left.to_arrays()))) == left


@both_kinds
@given(one=rows, data=st.data())
def test_names_that_are_not_there_cannot_be_taken(count, each, one, data):
    some = count(one, data)
    strange = count([Row("ham", ("purple", "S"), 1.0)], data)
    whole = count([*one, Row("ham", ("red", "S"), 1.0)], data)
    with pytest.raises(
        NegativeEvidenceError, match=r"(category|word) 'purple' of feature 0 in class 'ham' would be 0 - [12] < 0"
    ):
        whole - strange
    assert table((some + strange) - strange) == table(some)


@both_kinds
@given(one=rows, data=st.data())
def test_wider_vocabularies_hold_the_same_counts(count, each, one, data):
    some = count(one, data)
    assert some.widened(some.vocabularies) is some
    wide = tuple(Labels.of([*vocabulary, "more", -1]) for vocabulary in some.vocabularies)
    assert some.widened(wide).vocabularies == wide
    assert table(some.widened(wide)) == table(some)
