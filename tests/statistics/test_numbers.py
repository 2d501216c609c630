"""Numerical edge cases of statistics."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

from suffice.families import Response, SingularCovarianceError
from suffice.generative.correlated import STRUCTURES, estimate_gaussians
from suffice.generative.independent import smoothed
from suffice.kernels import ArrayEngine, Batch, ThreadEngine
from suffice.statistics import (
    CategoryCounts,
    Curvature,
    DiagonalMoments,
    EventCounts,
    FullMoments,
    Labels,
    LostDigitsError,
    NegativeEvidenceError,
    NormalEquations,
    PresenceCounts,
    TiedMoments,
)

ENGINE = ThreadEngine(2)
ONE, TWO = Labels.of([0]), Labels.of(["ham", "spam"])


def moments(values, kind=DiagonalMoments):
    return ENGINE.accumulate(kind.over(ONE), Batch(np.asarray(values, dtype=float).reshape(len(values), -1)))


def squares(sums):
    """Return the sum of each feature's squared deviations: all that a diagonal kind keeps, else a diagonal."""
    return sums.spread if isinstance(sums, DiagonalMoments) else np.diagonal(sums.spread, axis1=-2, axis2=-1)


def exact_spread(values) -> float:
    numbers = [Fraction(float(value)) for value in values]
    mean = sum(numbers) / len(numbers)
    return float(sum((number - mean) ** 2 for number in numbers))


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, -1e12])
@pytest.mark.parametrize("rows", [2, 300, 5000])
def test_an_offset_costs_no_digits(offset, rows):
    values = offset + np.random.default_rng(0).normal(size=rows)
    for kind in (DiagonalMoments, TiedMoments, FullMoments):
        assert float(moments(values, kind).spread.ravel()[0]) == pytest.approx(exact_spread(values), rel=1e-11)


def test_float32_at_an_offset_is_summed_in_float64():
    values = (1e4 + np.random.default_rng(0).normal(size=3000)).astype(np.float32)
    found = ENGINE.accumulate(DiagonalMoments.over(ONE), Batch(values[:, None]))
    assert float(found.spread[0, 0]) == pytest.approx(exact_spread(values), rel=1e-12)


def test_classes_far_apart_do_not_blur_each_other():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    x = rng.normal(size=(4000, 3)) + 1e9 * y[:, None]
    found = ENGINE.accumulate(TiedMoments.over(TWO), Batch(x, y))
    expected = sum(exact_spread(x[y == code, 1]) for code in (0, 1))
    assert float(found.spread[1, 1]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("first", [1e8, 1e3])
def test_an_outlier_in_the_first_row_costs_few_digits(first):
    values = np.concatenate([[first], np.random.default_rng(0).normal(size=30_000)])
    expected = exact_spread(values)
    for kind in (DiagonalMoments, TiedMoments):
        assert float(moments(values, kind).spread.ravel()[0]) == pytest.approx(expected, rel=1e-11)


def test_constant_columns_have_no_spread_at_all():
    for value in (0.1, 1e8 + 0.1, -3e-9):
        assert float(moments(np.full(10_000, value)).spread[0, 0]) == 0
        assert (moments(np.full((5000, 2), value), TiedMoments).spread == 0).all()


def test_counts_are_exact_past_float32():
    ones = np.ones((1 << 18, 1), dtype=np.float32)
    some = ENGINE.accumulate(EventCounts.over(ONE), (Batch(ones * 100) for _ in range(3)))
    assert float(some.counts[0, 0]) == 3 * 100 * (1 << 18)
    many = some.scaled(1 << 26)
    assert float((many + some - many).counts[0, 0]) == float(some.counts[0, 0])


def relative(sums):
    """Return the bound of the error of the squares, relative to them."""
    return float((sums.error.pooled().squares() / squares(sums)).max())


def test_the_bound_of_the_error_grows_with_what_is_taken_out():
    rng = np.random.default_rng(0)
    kept = moments(rng.normal(size=100))
    for size in (1e1, 1e2, 1e3, 1e4):
        gone = moments(size * rng.normal(size=100))
        left = (kept + gone) - gone
        assert abs(float(left.spread[0, 0] / kept.spread[0, 0]) - 1) <= relative(left)
        assert np.log10(relative(left) / relative(kept)) == pytest.approx(2 * np.log10(size), abs=1)
        assert left.digits_kept() == pytest.approx(-np.log10(relative(left)), abs=0.5)
    assert (kept + gone).digits_kept() == 15.9  # nothing was taken out


@pytest.mark.parametrize("value", [1.0, 1e6, 3e-7])
def test_heavy_rows_merged_into_a_light_one_can_be_taken_out_again(value):
    """The mean of all is far smaller than that of the light row, at whose size it was rounded."""
    light, heavy = (
        ENGINE.accumulate(DiagonalMoments.over(ONE), Batch(np.array([[cell]]), weight=np.array([weight])))
        for cell, weight in ((value, 0.015625), (0.0, 4.5))
    )
    left = (light + heavy) - heavy
    assert left.weight == light.weight
    np.testing.assert_allclose(left.mean, light.mean, rtol=1e-12)
    assert float(left.spread[0, 0]) <= float(left.error.squares()[0, 0]) <= 1e-10 * value**2


def test_weights_that_round_away_are_refused_and_those_that_cannot_are_gone():
    def of(weight, value=1.0):
        return ENGINE.accumulate(DiagonalMoments.over(ONE), Batch(np.array([[value]]), weight=np.array([weight])))

    assert (of(0.1) + of(0.2) - of(0.1) - of(0.2)).weight == 0
    with pytest.raises(LostDigitsError, match=r"weights\[0\] would be 1e\+15 - 1e\+15 = 0.*fit the remaining rows"):
        of(1e-3) + of(1e15) - of(1e15)
    exact = ENGINE.accumulate(DiagonalMoments.over(ONE), Batch(np.ones((3, 1)), weight=np.array([1.0, 2.0, 2.0**52])))
    assert (exact - of(2.0**52)).weight == 3


def test_a_first_row_that_hardly_weighs_does_not_spoil_the_sum():
    """The rows are summed again about their mean, where the first row was a bad guess at it."""
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(3000, 2)), np.ones(3000)
    x[0], weight[0] = 1e9, 1e-12
    gaps = np.where(rng.random(x.shape) < 0.2, np.nan, x)
    gaps[0] = 1e9
    for rows, options in ((x, ()), (gaps, (True,)), (scipy.sparse.csr_array(x), ())):
        found = ENGINE.accumulate(DiagonalMoments.over(ONE, *options), Batch(rows, weight=weight))
        dense = rows if isinstance(rows, np.ndarray) else x
        for j in range(2):
            known = ~np.isnan(dense[:, j])
            numbers = [(Fraction(w), Fraction(v)) for w, v in zip(weight[known], dense[known, j], strict=True)]
            total = sum(w for w, _ in numbers)
            mean = sum(w * v for w, v in numbers) / total
            spread = float(sum(w * (v - mean) ** 2 for w, v in numbers))
            assert float(found.spread[0, j]) == pytest.approx(spread, rel=1e-12)
            assert float(found.mean[0, j]) == pytest.approx(float(mean), rel=1e-12)
    for kind in (TiedMoments, FullMoments):
        found = ENGINE.accumulate(kind.over(ONE), Batch(x, weight=weight))
        np.testing.assert_allclose(squares(found).ravel(), moments_of_weighted(x, weight), rtol=1e-12)


def moments_of_weighted(x, weight):
    found = []
    for column in x.T:
        total = sum(map(Fraction, weight))
        mean = sum(Fraction(w) * Fraction(v) for w, v in zip(weight, column, strict=True)) / total
        found.append(float(sum(Fraction(w) * (Fraction(v) - mean) ** 2 for w, v in zip(weight, column, strict=True))))
    return found


@pytest.mark.parametrize("kind", [DiagonalMoments, TiedMoments, FullMoments])
@pytest.mark.parametrize("seed", range(4))
def test_rows_with_the_only_cells_of_a_class_that_are_not_0_are_forgotten(kind, seed):
    """What is left is 0 there, exactly: no rounding noise, and no sign that the rows were never learned."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((3000, 3)) < 0.1, np.round(rng.lognormal(1, 2, (3000, 3)), 2), 0.0)
    y = rng.integers(0, 2, 3000)
    x[y == 0, 1], x[:, 2] = 0.0, 0.0
    x[np.flatnonzero(y == 0)[:3], 1], x[5, 2] = np.round(rng.lognormal(1, 2, 3), 2), 3.7
    gone = np.union1d(np.flatnonzero((y == 0) & (x[:, 1] > 0)), [*range(80), 5])
    stay = np.setdiff1d(np.arange(3000), gone)
    whole, part, rest = (ENGINE.accumulate(kind.over(TWO), Batch(x[rows], y[rows])) for rows in (..., gone, stay))
    left = whole - part
    assert left.digits_kept() > 7
    scale = np.sqrt(squares(whole).reshape(-1, 3).sum(axis=0))
    np.testing.assert_allclose(left.mean, rest.mean, atol=1e-14 * scale.max())
    products = 1.0 if kind is DiagonalMoments else scale[:, None]
    np.testing.assert_allclose(left.spread / (products * scale), rest.spread / (products * scale), atol=1e-11)
    if kind is DiagonalMoments:
        assert (squares(left)[:, 2] == 0).all()
    error = left.error.pooled().squares()[0]
    assert (np.abs(squares(left).reshape(-1, 3) - squares(rest).reshape(-1, 3)) <= error).all()


def test_digits_lost_in_one_feature_are_refused_where_they_were_lost():
    rng = np.random.default_rng(0)
    calm, storm = rng.normal(size=(50, 3)), rng.normal(size=(50, 3)) * [1.0, 1e8, 1.0]
    for kind, read in (
        (DiagonalMoments, lambda sums: smoothed(sums, 1e-9, 0.0)),
        (TiedMoments, lambda sums: estimate_gaussians(sums, STRUCTURES["tied"], None)),
        (FullMoments, lambda sums: estimate_gaussians(sums, STRUCTURES["full"], None)),
    ):
        left = (moments(calm, kind) + moments(storm, kind)) - moments(storm, kind)
        with pytest.raises((LostDigitsError, SingularCovarianceError)) as refused:
            read(left)
        if isinstance(refused.value, LostDigitsError):
            assert refused.value.place == (1,)
            assert "fit the remaining rows" in str(refused.value)


def test_a_file_without_bounds_gives_a_model_that_cannot_forget():
    names = (
        "weights_error",
        "bounds",
        "depth",
        "least",
        "forgotten",
        "total_error",
        "rows_error",
        "counts_error",
        "cells_error",
    )
    rows = Batch(np.arange(6.0).reshape(3, 2), np.array([0, 1, 1]))
    for kind in (DiagonalMoments, TiedMoments, FullMoments, EventCounts, NormalEquations):
        what = kind.over() if kind is NormalEquations else kind.over(TWO)
        some = ENGINE.accumulate(what, rows)
        old = kind.from_arrays({name: array for name, array in some.to_arrays().items() if name not in names})
        assert (old + some).weight == 6
        with pytest.raises(LostDigitsError, match=r"rounding error of up to 1e\+300: fit the remaining rows"):
            old - ENGINE.accumulate(what, Batch(rows.x[:1], rows.y[:1]))


def test_what_was_never_there_is_named():
    some = ENGINE.accumulate(EventCounts.over(TWO), Batch(np.array([[1, 2], [3, 0]]), np.array([0, 1])))
    other = ENGINE.accumulate(EventCounts.over(TWO), Batch(np.array([[0, 3]]), np.array([0])))
    with pytest.raises(NegativeEvidenceError, match=r"counts\[0, 1\] would be 2 - 3 < 0"):
        some - other
    with pytest.raises(NegativeEvidenceError, match="the spread of feature"):
        moments([1.0, 1.1, 1.2, 1.3]) - moments([5.0, -5.0])


def test_a_batch_may_lack_a_class_and_bring_a_new_one():
    ham = ENGINE.accumulate(
        FullMoments.over(Labels.of(["ham"])), Batch(np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([0, 0]))
    )
    work = ENGINE.accumulate(FullMoments.over(Labels.of(["work"])), Batch(np.array([[5.0, 5.0]]), np.array([0])))
    both = ham + work
    assert both.labels.names == ("ham", "work")
    assert both.mean.tolist() == [[1.5, 3.0], [5.0, 5.0]]
    assert both.spread[1].tolist() == [[0, 0], [0, 0]]
    assert (both - work).aligned(both.labels).mean.tolist() == [[1.5, 3.0], [0, 0]]


def test_full_moments_hold_the_tied_and_the_diagonal_ones():
    rng = np.random.default_rng(0)
    batch = Batch(rng.normal(size=(200, 3)), rng.integers(0, 2, 200), rng.random(200))
    full, tied, diagonal = (
        ENGINE.accumulate(kind.over(TWO), batch) for kind in (FullMoments, TiedMoments, DiagonalMoments)
    )
    np.testing.assert_allclose(full.tied().spread, tied.spread, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(full.diagonal().spread, diagonal.spread, rtol=1e-12)


def test_weights_of_cells_are_kept_only_once_one_is_missing():
    rng = np.random.default_rng(0)
    x, y = rng.normal(1e8, 1.0, size=(90, 3)), rng.integers(0, 2, 90)
    gaps = np.where(rng.random(x.shape) < 0.3, np.nan, x)
    for kind, *options in ((DiagonalMoments,), (EventCounts,), (PresenceCounts, 1e8)):
        full, holes, more = (
            ENGINE.accumulate(kind.over(TWO, *options, True), Batch(rows, y)) for rows in (x, gaps, gaps[::-1])
        )
        assert full.cells.shape == (2, 0)
        assert full.observed.tolist() == [[(y == code).sum()] * 3 for code in range(2)]
        assert (full + full).cells.shape == (2, 0)
        assert (full + full - full).cells.shape == (2, 0)
        assert holes.cells.tolist() == [(~np.isnan(gaps[y == code])).sum(axis=0).tolist() for code in range(2)]
        for both in (full + holes, holes + full):
            assert both.cells.tolist() == (full.observed + holes.cells).tolist()
            assert both.weight == 180
        left = (full + holes) - full
        assert left.cells.tolist() == holes.cells.tolist()
        assert ((full + holes) - holes).observed.tolist() == full.observed.tolist()
        assert (holes + more).aligned(Labels.of(["ham", "spam", "work"])).observed[2].tolist() == [0, 0, 0]
        with pytest.raises(ValueError, match=r"cells must have shape \(2, 3\); got \(2, 2\)"):
            kind.from_arrays({**full.to_arrays(), "cells": np.zeros((2, 2))})
        with pytest.raises(NegativeEvidenceError, match=r"(cells|counts)\[\d, \d\] would be .* never in the sum"):
            holes - ENGINE.accumulate(kind.over(TWO, *options), Batch(x, y))


@pytest.mark.parametrize("engine", [ThreadEngine(3), ArrayEngine(5000)], ids=repr)
def test_parts_with_and_without_gaps_add_up(engine):
    rng = np.random.default_rng(0)
    x, y = rng.normal(1e8, 1.0, size=(30_000, 4)), rng.integers(0, 2, 30_000)
    x[-5000:, 1:3] = x[100:200, 3] = np.nan  # none in the middle
    found = engine.accumulate(DiagonalMoments.over(TWO, True), Batch(x, y))
    for code in range(2):
        known = ~np.isnan(x[y == code])
        values = np.where(known, x[y == code] - 1e8, 0.0)
        mean = values.sum(axis=0) / known.sum(axis=0)
        spread = np.where(known, values - mean, 0.0) ** 2
        assert found.observed[code].tolist() == known.sum(axis=0).tolist()
        np.testing.assert_allclose(found.mean[code], 1e8 + mean, rtol=1e-15)
        np.testing.assert_allclose(found.spread[code], spread.sum(axis=0), rtol=1e-8)


def test_moments_of_known_cells_merge_at_an_offset():
    rng = np.random.default_rng(1)
    x = np.where(rng.random((4000, 3)) < 0.5, np.nan, 1e8 + rng.normal(size=(4000, 3)))
    x[:2000, 1] = np.nan
    parts = [ENGINE.accumulate(DiagonalMoments.over(ONE, True), Batch(x[i::4])) for i in range(4)]
    halves = [ENGINE.accumulate(DiagonalMoments.over(ONE, True), Batch(half)) for half in (x[:2000], x[2000:])]
    for found in (sum(parts), sum(halves), sum(halves) + parts[1] - parts[1]):
        for j in range(3):
            known = x[~np.isnan(x[:, j]), j]
            assert float(found.cells[0, j]) == len(known)
            assert float(found.spread[0, j]) == pytest.approx(exact_spread(known), rel=1e-9)
    assert halves[0].mean[0, 1] == halves[0].spread[0, 1] == 0
    assert (sum(halves) - halves[0]).mean[0, 1] == halves[1].mean[0, 1]


def test_normal_equations_give_least_squares_with_and_without_intercept():
    rng = np.random.default_rng(0)
    x, w = rng.normal(5, 1, (300, 4)), rng.random(300)
    y = np.column_stack([x @ [1, 2, 3, 4] + 7, x @ [0, 1, 0, 1]]) + 0.1 * rng.normal(size=(300, 2))
    sums = ENGINE.accumulate(NormalEquations.over(), Batch(x, y, w))
    root = np.sqrt(w)[:, None]
    with_ones = np.linalg.lstsq(root * np.column_stack([np.ones(300), x]), root * y, rcond=None)[0]
    slope = np.linalg.solve(sums.xx, sums.xy)
    np.testing.assert_allclose(slope, with_ones[1:], rtol=1e-9)
    np.testing.assert_allclose(sums.mean_y - sums.mean_x @ slope, with_ones[0], rtol=1e-9)
    raw = sums.about_zero()
    through_zero = np.linalg.lstsq(root * x, root * y, rcond=None)[0]
    np.testing.assert_allclose(np.linalg.solve(raw[:4, :4], raw[:4, 4:]), through_zero, rtol=1e-9)
    residual = y - sums.mean_y - (x - sums.mean_x) @ slope
    np.testing.assert_allclose(np.diagonal(sums.yy - slope.T @ sums.xy), w @ residual**2, rtol=1e-9)


def test_log_likelihoods_at_different_points_do_not_add():
    batch = Batch(np.ones((3, 1)), np.zeros(3))

    def at(theta, **options):
        return ENGINE.accumulate(
            Curvature.over(Response.of("poisson"), np.full((2, 1), theta), *options.values()), batch
        )

    with pytest.raises(ValueError, match="taken at different theta"):
        at(0.0) + at(1.0)
    with pytest.raises(ValueError, match="with and without a Hessian"):
        at(0.0) + at(0.0, intercept=True, hessian=False)


def test_a_solver_may_move_its_theta_in_place():
    batch, theta = Batch(np.ones((3, 1)), np.zeros(3)), np.zeros((2, 1))
    before = ENGINE.accumulate(Curvature.over(Response.of("poisson"), theta), batch)
    theta += 1
    assert before.theta.tolist() == [[0], [0]]


def test_categories_of_one_feature():
    codes, y = np.array([[0, 2], [1, 1], [1, 0]]), np.array([0, 0, 1])
    found = ENGINE.accumulate(CategoryCounts.over(TWO, (2, 3)), Batch(codes, y))
    assert found.feature(0).tolist() == [[1, 1], [0, 1]]
    assert found.feature(1).tolist() == [[0, 1, 1], [1, 0, 0]]
    with pytest.raises(ValueError, match="categories do not go together"):
        found + ENGINE.accumulate(CategoryCounts.over(TWO, (3, 3)), Batch(codes, y))


def test_presence_is_above_the_threshold():
    found = ENGINE.accumulate(PresenceCounts.over(ONE, 1.0), Batch(np.array([[1.0, 2.0], [1.5, 0.0]])))
    assert found.counts.tolist() == [[1, 1]]


def test_features_of_categories_are_counted_by_feature() -> None:
    what = CategoryCounts.over(TWO, (2, 3))
    assert ENGINE.accumulate(what, Batch(np.array([[1, 2], [0, 0]]), np.array([0, 1]))).features == 2
