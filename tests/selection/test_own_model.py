"""A classifier of one's own that is estimated from sums, in this one file: cross-validation sums its rows once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from suffice import GaussianNB
from suffice.data import Dataset
from suffice.kernels import Batch, ThreadEngine
from suffice.selection import Rows, SummedModel, cross_validate
from suffice.statistics import DiagonalMoments, Labels, Statistics


class NearestMean(ClassifierMixin, BaseEstimator):
    """The class whose mean is nearest; log p(x, y) is minus half the squared distance over ``scale``."""

    summed = 0  # rows so far

    def __init__(self, scale: float = 1.0, temperature: float = 1.0) -> None:
        self.scale = scale
        self.temperature = temperature

    def summed_parameters(self) -> dict[str, Any]:
        return {}

    def encode_rows(self, data: Dataset) -> Dataset:
        return data.map_parts(_encode)

    def sum_rows(self, rows: Rows, *, complete: bool = True) -> Statistics:
        type(self).summed += len(rows)
        return ThreadEngine().accumulate(DiagonalMoments.over(rows.labels), Batch(rows.x, rows.codes))

    def estimate_joint(self, statistics: Any) -> Any:
        return statistics.mean, self.scale

    def score_rows(self, joints: Sequence[Any], x: Any, what: Any) -> list[Any]:
        scores = [-0.5 * ((x[:, None, :] - mean) ** 2).sum(axis=2) / scale for mean, scale in joints]
        return [each.argmax(axis=1) if what == "best" else each for each in scores]

    def score_left_out(self, statistics: Any, rows: Rows) -> Any:
        own = self.sum_rows
        return np.concatenate(
            [
                self.score_rows([self.estimate_joint(statistics - own(one))], one.x, "joint")[0]
                for one in (rows.take(np.array([row])) for row in range(len(rows)))
            ]
        )


def _encode(piece: dict[str, Any]) -> Rows:
    labels, codes = Labels.discover(piece["y"])
    return Rows(np.asarray(piece["X"]), codes, None, labels, place=piece.get("place"))


def rows(n: int = 60) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[random.integers(0, 3, n)]
    return random.normal(size=(n, 2)) + (y == "a")[:, None] - (y == "c")[:, None], y


def nearest(x: Any, y: Any, asked: Any) -> Any:
    means = np.array([x[y == name].mean(axis=0) for name in "abc"])
    return np.array(list("abc"))[((asked[:, None, :] - means) ** 2).sum(axis=2).argmin(axis=1)]


def test_folds_are_scored_from_the_sums_of_the_others() -> None:
    x, y = rows()
    NearestMean.summed = 0
    found = cross_validate(NearestMean(), x, y, grid={"scale": [1.0, 2.0]}, folds=4)
    assert NearestMean.summed == len(x)
    expected = [np.mean(nearest(x[a], y[a], x[b]) == y[b]) for a, b in StratifiedKFold(4).split(x, y)]
    np.testing.assert_allclose(found.scores, [expected, expected])


def test_rows_are_left_out_one_at_a_time() -> None:
    x, y = rows(30)
    others = [np.delete(np.arange(30), row) for row in range(30)]
    expected = np.mean([nearest(x[a], y[a], x[[row]])[0] == y[row] for row, a in enumerate(others)])
    np.testing.assert_allclose(cross_validate(NearestMean(), x, y, folds="loo").scores, [[expected]])


def test_streams_are_cut_into_the_folds_of_rows_in_memory() -> None:
    x, y = rows()
    here = cross_validate(NearestMean(), x, y, folds=3, scoring="neg_log_loss")
    batches = lambda: ((x[at : at + 7], y[at : at + 7]) for at in range(0, len(x), 7))  # noqa: E731
    there = cross_validate(NearestMean(), batches, None, folds=3, scoring="neg_log_loss")
    np.testing.assert_allclose(there.scores, here.scores, rtol=1e-12)


@pytest.mark.parametrize("temperature", [0.5, 4.0])
def test_temperatures_divide_log_probabilities(temperature: float) -> None:
    x, y = rows()
    scaled = cross_validate(NearestMean(scale=temperature), x, y, scoring="neg_log_loss")
    found = cross_validate(NearestMean(temperature=temperature), x, y, scoring="neg_log_loss")
    np.testing.assert_allclose(found.scores, scaled.scores, rtol=1e-12)


def test_generative_classifiers_are_summed_models() -> None:
    assert isinstance(GaussianNB(), SummedModel)
    assert isinstance(NearestMean(), SummedModel)
