"""Third and fourth moments, compared with exact fractions, and Ledoit and Wolf's shrinkage."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.covariance import ledoit_wolf

from suffice.families.priors import ledoit_wolf_shrinkage
from suffice.kernels import ArrayEngine, Batch, ThreadEngine
from suffice.statistics import FullMoments, Labels, QuarticMoments

ENGINE = ThreadEngine(2)
TWO = Labels.of(["ham", "spam"])


def moments(x, engine=ENGINE):
    return engine.accumulate(QuarticMoments.over(), Batch(np.asarray(x, dtype=float)))


def full(some: QuarticMoments) -> FullMoments:
    return FullMoments(some.labels, some.weights, some.mean, some.spread)


def exact(x) -> tuple[np.ndarray, np.ndarray]:
    rows = [[Fraction(float(value)) for value in row] for row in np.asarray(x)]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    columns = [[row[j] - mean[j] for row in rows] for j in range(len(mean))]

    def sums(power: int) -> np.ndarray:
        pairs = ((one, two) for one in columns for two in columns)
        found = [float(sum(a * a * b**power for a, b in zip(one, two, strict=True))) for one, two in pairs]
        return np.array(found).reshape(len(columns), -1)

    return sums(1), sums(2)


@pytest.mark.parametrize("engine", [ENGINE, ThreadEngine(7), ArrayEngine()], ids=["2 threads", "7 threads", "array"])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_powers_are_those_of_exact_arithmetic(engine, offset):
    x = offset + np.random.default_rng(0).exponential(size=(60, 3)) * [1, 2, 3]
    found, (cubes, quartic) = moments(x, engine), exact(x)
    tolerance = 1e-12 + 1e-15 * offset
    np.testing.assert_allclose(found.quartic[0], quartic, rtol=tolerance)
    np.testing.assert_allclose(found.cubes[0], cubes, rtol=0, atol=tolerance * quartic.max())


def test_sums_of_groups_far_apart_are_those_of_all_rows():
    rng = np.random.default_rng(1)
    near, far = rng.exponential(size=(40, 3)), 50 + rng.exponential(size=(25, 3))
    both, (cubes, quartic) = moments(near) + moments(far), exact(np.vstack([near, far]))
    np.testing.assert_allclose(both.quartic[0], quartic, rtol=1e-13)
    np.testing.assert_allclose(both.cubes[0], cubes, rtol=0, atol=1e-13 * quartic.max())


def test_full_moments_are_those_of_full_moments():
    rng = np.random.default_rng(2)
    batch = Batch(rng.normal(size=(200, 3)), rng.integers(0, 2, 200), rng.random(200))
    found, expected = (ENGINE.accumulate(kind.over(TWO), batch) for kind in (QuarticMoments, FullMoments))
    np.testing.assert_array_equal(found.spread, expected.spread)
    np.testing.assert_array_equal(found.bounds, expected.bounds)
    assert found.tied() == expected.tied()
    assert found.diagonal() == expected.diagonal()


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_shrinkage_of_each_class_is_scikit_learns(layout):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 120)
    x = (rng.exponential(size=(120, 4)) @ rng.normal(size=(4, 4)) + 3 * y[:, None]) * (rng.random((120, 4)) < 0.8)
    found = ENGINE.accumulate(QuarticMoments.over(Labels.of([0, 1, 2])), Batch(layout(x), y))
    quartic = found.quartic.sum(axis=(1, 2))  # of distances
    seen = ledoit_wolf_shrinkage(found.spread / found.weights[:, None, None], found.weights, quartic)
    np.testing.assert_allclose(seen, [ledoit_wolf(x[y == code])[1] for code in range(3)], rtol=1e-10)
