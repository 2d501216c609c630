"""Datasets of one part, of no rows, and samples of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from suffice import FamilyNB, GaussianNB, Perceptron, validation
from suffice.data import ArrayDataset, EncodedDataset, StreamDataset, as_dataset
from suffice.data.sample import draw_rows
from suffice.kernels import ArrayEngine, Batch, ThreadEngine
from suffice.kernels.errors import NonFiniteError
from suffice.statistics import DiagonalMoments

X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.where(X[:, 0] > 0, "up", "down")


class NoRows(StreamDataset):
    """A dataset that shows an example of its rows, and has none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__(partial(iter, ()))

    def example(self) -> Any:
        return X[:1]


def test_a_dataset_without_rows_is_nothing_to_learn_from() -> None:
    nothing = r"no rows \(samples\): there is nothing to learn from"
    for act in (
        lambda: Perceptron().fit(NoRows()),
        lambda: GaussianNB().fit(X, Y, unlabelled=NoRows()),
        lambda: EncodedDataset.of_parts(NoRows()),
        lambda: EncodedDataset(NoRows(), lambda batch: ThreadEngine(), 0, 2).sum(DiagonalMoments.over()),
        lambda: EncodedDataset(NoRows(), lambda batch: ThreadEngine(), 0, 2).reduce(lambda batch, engine: 1),
    ):
        with pytest.raises(ValueError, match=nothing):
            act()


def test_rows_in_memory_are_a_dataset_of_one_part() -> None:
    data = ArrayDataset({"X": X, "y": Y, "offset": X[:, 1]})
    assert [part["y"][0] for part in data.iterate()] == [Y[0]]
    assert sorted(data.select("X", "y").in_memory) == ["X", "y"]
    np.testing.assert_array_equal(data.map_rows(lambda part: part["X"].sum(axis=1), ["sum"]), X.sum(axis=1))
    np.testing.assert_array_equal(data.example(), X[:2])
    assert list(ArrayDataset(None).iterate()) == []


def test_a_sample_of_lists_says_how_many_rows_each_stands_for() -> None:
    sample, stands_for = draw_rows({"X": ["a", "b"] * 100, "y": None}, most=400)
    assert (len(sample["X"]), stands_for.sum(), sample["y"]) == (20, 200.0, None)


def test_rows_without_a_class_may_come_in_a_stream_that_is_read_once() -> None:
    expected = GaussianNB().fit(X[:10], Y[:10], unlabelled=X[10:])
    found = GaussianNB().fit(X[:10], Y[:10], unlabelled=iter([{"X": X[10:15]}, {"X": X[15:]}]))
    np.testing.assert_allclose(found.theta_, expected.theta_, rtol=1e-9)


def test_members_of_a_named_family_are_sampled() -> None:
    counts = np.random.default_rng(1).poisson(np.where(Y == "up", 9.0, 1.0)[:, None], (30, 2))
    rows, classes = FamilyNB("poisson").fit(counts, Y).sample(200, random_state=0)
    means = [rows[classes == name].mean() for name in ("down", "up")]
    assert means[0] < 3 < 6 < means[1]


def test_an_entry_of_another_argument_keeps_its_name() -> None:
    with pytest.raises(NonFiniteError, match=r"y\[3\] is nan; it must be finite"), validation.naming_cells():
        raise NonFiniteError("y", (3,), np.nan)


def test_an_engine_of_arrays_has_no_number_of_threads() -> None:
    assert ArrayEngine().n_jobs is None
    assert EncodedDataset.of_batch(Batch(X), ArrayEngine()).n_rows == 30


def test_a_stream_that_is_read_once_is_not_read_again() -> None:
    data = as_dataset(iter([(X, Y)]), y=None)
    assert len(list(data.iterate())) == 1
    with pytest.raises(TypeError, match="read once, and its rows are needed several times: give a function"):
        list(data.iterate())
