"""Local fits on every set of kernels: each must agree with the oracle."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from suffice.kernels.engine import Batch
from suffice.kernels.native import NativeKernels
from suffice.kernels.neighbourhood import Neighbourhood
from tests.each import for_each

from . import oracle_local
from .backends import Backend, every_dtype, maybe_weighted, weights_of

every_shape = for_each("shape", ["gaussian", "epanechnikov", "tricube", "uniform"])
every_degree = for_each("degree", [0, 1, 2])


def drawn(weighted: bool = True, n: int = 150, d: int = 2, targets: int = 2) -> tuple[Batch, Batch]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n, d)) * 2, rng.normal(size=(n, targets)) + 5
    rows = Batch(x, y, weights_of(rng, n) if weighted else None)
    return Batch(rng.normal(size=(9, d)) * 3), rows


def check(backend: Backend, queries: Batch, rows: Batch, hood: Neighbourhood, squares: bool = False) -> None:
    seen = backend.kernels.local_moments(backend.batch(queries), backend.batch(rows), hood, squares)
    agree(seen, oracle_local.local_moments(queries, rows, hood, squares))


def agree(seen: Any, expected: Any) -> None:
    assert seen[0].dtype == np.int64
    for ours, truth in zip(seen, expected, strict=True):
        assert ours.shape == truth.shape
        np.testing.assert_allclose(ours, truth, rtol=1e-11, atol=1e-12 * np.abs(truth).max(initial=1e-300))


@every_shape
@every_degree
@maybe_weighted
def test_moments_equal_the_oracle(kernels_and_arrays, shape, degree, weighted):
    check(kernels_and_arrays, *drawn(weighted), Neighbourhood(shape, 1.3, degree), squares=weighted)


@every_shape
@every_degree
def test_curvature_equals_the_oracle(kernels_and_arrays, shape, degree):
    queries, rows = drawn(targets=1)
    rows = replace(rows, y=(rows.y[:, 0] > 5).astype(np.int64))
    hood = Neighbourhood(shape, 1.3, degree)
    theta = np.random.default_rng(1).normal(size=(queries.rows, hood.parameters(2))) / 4
    backend = kernels_and_arrays
    seen = backend.kernels.local_curvature(backend.batch(queries), backend.batch(rows), hood, theta)
    agree(seen, oracle_local.local_curvature(queries, rows, hood, theta))


@every_dtype
def test_types_of_rows_and_queries(kernels_and_arrays, cast):
    queries, rows = drawn()
    queries, rows = replace(queries, x=cast(queries.x)), replace(rows, x=cast(rows.x))
    check(kernels_and_arrays, queries, rows, Neighbourhood("gaussian", 1.3, 1))


@for_each("d", [1, 3, 6])
@for_each("targets", [1, 3])
def test_widths(kernels_and_arrays, d, targets):
    check(kernels_and_arrays, *drawn(d=d, targets=targets), Neighbourhood("gaussian", 2.0, 2))


@every_shape
def test_a_row_can_be_left_out(kernels_and_arrays, shape):
    _, rows = drawn()
    queries = Batch(rows.x[[3, 70, 140, 5]], np.array([3, 70, 140, -1]))
    check(kernels_and_arrays, queries, rows, Neighbourhood(shape, 0.7, 1), squares=True)


@every_shape
def test_ranges_of_queries_and_rows(kernels_and_arrays, shape):
    queries, rows = drawn()
    queries, rows = replace(queries, start=2, stop=7), replace(rows, start=11, stop=140)
    check(kernels_and_arrays, queries, rows, Neighbourhood(shape))


@for_each("bandwidth", [0.02, 0.3, 4.0])
@every_degree
def test_many_rows_of_one_feature(kernels_and_arrays, bandwidth, degree):
    """Native kernels answer from strips of rows, expanded once: in order, with gaps between them, out of order."""
    if bandwidth != 0.3 and not isinstance(kernels_and_arrays.kernels, NativeKernels):
        return  # others have no strips
    rng = np.random.default_rng(5)
    x = np.sort(np.concatenate([rng.normal(size=300), 40 + rng.random(150), np.full(35, 45.0)]))
    x[:100] = rng.permutation(x[:100])
    rows = Batch(x[:, None], rng.normal(size=(485, 2)) + np.array([0.0, 1e6]))
    queries = Batch(np.array([[-3.0], [0.01], [2.5], [7.0], [39.9], [40.5], [45.0], [60.0]]))
    check(kernels_and_arrays, queries, rows, Neighbourhood("gaussian", bandwidth, degree))
    own = np.array([3, 125, 325, 450, 484])
    check(kernels_and_arrays, Batch(rows.x[own], own), rows, Neighbourhood("gaussian", bandwidth, degree))


@every_shape
def test_far_queries_are_summed_about_the_nearest_row(kernels_and_arrays, shape):
    _, rows = drawn(weighted=False)
    queries = Batch(np.array([[1e3, 0.0], [0.0, -300.0], [40.0, 40.0]]))
    check(kernels_and_arrays, queries, rows, Neighbourhood(shape, 5.0, 1))


@for_each("d", [1, 2])
def test_an_offset_costs_no_digits(kernels_and_arrays, d):
    rng = np.random.default_rng(2)
    x = rng.integers(-400, 400, size=(100, d)) / 128  # exact beside 1e8
    rows, queries = Batch(x, rng.normal(size=100)), Batch(x[:5] + 1 / 256)
    hood, backend = Neighbourhood("gaussian", 1.0, 2), kernels_and_arrays
    near = backend.kernels.local_moments(backend.batch(queries), backend.batch(rows), hood)
    moved = replace(rows, x=x + 1e8), replace(queries, x=queries.x + 1e8)
    far = backend.kernels.local_moments(backend.batch(moved[1]), backend.batch(moved[0]), hood)
    for one, two in zip(near, far, strict=True):
        np.testing.assert_array_equal(one, two)


def test_rows_that_weigh_nothing_are_no_neighbours(kernels_and_arrays):
    queries, rows = drawn()
    sums = kernels_and_arrays.kernels.local_moments(
        kernels_and_arrays.batch(queries),
        kernels_and_arrays.batch(replace(rows, weight=np.zeros(rows.rows))),
        Neighbourhood(),
    )
    assert np.all(sums.nearest == -1)
    assert all(np.all(part == 0) for part in sums[1:])


@for_each("shape", ["gaussian", "tricube"])
def test_one_query_does_not_depend_on_the_others(kernels_and_arrays, shape):
    backend = kernels_and_arrays
    queries, rows = drawn()
    if isinstance(backend.kernels, NativeKernels):
        whole = backend.kernels.local_moments(backend.batch(queries), backend.batch(rows), Neighbourhood(shape))
        for place in range(queries.rows):
            one = replace(queries, start=place, stop=place + 1)
            alone = backend.kernels.local_moments(backend.batch(one), backend.batch(rows), Neighbourhood(shape))
            for part, all_parts in zip(alone[:4], whole[:4], strict=True):
                np.testing.assert_array_equal(part[0], all_parts[place])


def test_instruction_sets_agree(instruction_set):
    queries, rows = drawn(n=1000, d=3)
    for shape in ("gaussian", "epanechnikov", "tricube", "uniform"):
        seen = NativeKernels().local_moments(queries, rows, Neighbourhood(shape, 0.9, 2), True)
        agree(seen, oracle_local.local_moments(queries, rows, Neighbourhood(shape, 0.9, 2), True))


@for_each(
    "change, message",
    [
        (lambda q, r: (replace(q, x=np.where(np.arange(9)[:, None] == 4, np.nan, q.x)), r), "x[4, 0] is nan"),
        (lambda q, r: (q, replace(r, x=np.where(r.x == r.x[7, 1], np.inf, r.x))), "x[7, 1] is inf"),
        (lambda q, r: (q, replace(r, y=np.where(r.y == r.y[9, 1], np.nan, r.y))), "y[9, 1] is nan"),
        (lambda q, r: (q, replace(r, weight=np.where(np.arange(150) == 8, -1.0, 1.0))), "weight[8] is -1"),
        (lambda q, r: (replace(q, x=q.x[:, :1]), r), "queries have 1 features and rows have 2"),
        (lambda q, r: (replace(q, y=np.full(9, 150)), r), "y[0] is 150; the row to do without must be 0 to 149, or -1"),
        (lambda q, r: (replace(q, y=np.zeros((9, 1), dtype=int)), r), "y must have shape (9,); got (9, 1)"),
        (lambda q, r: (q, replace(r, y=None)), "y is needed"),
    ],
)
def test_refusals_name_the_culprit(kernels_and_arrays, change, message):
    queries, rows = change(*drawn())
    backend = kernels_and_arrays
    with pytest.raises(ValueError, match=re.escape(message)):
        backend.kernels.local_moments(backend.batch(queries), backend.batch(rows), Neighbourhood())


def test_theta_has_one_row_per_query(kernels_and_arrays):
    queries, rows = drawn(targets=1)
    backend = kernels_and_arrays
    with pytest.raises(ValueError, match=re.escape("theta must have shape (9, 3); got (8, 3)")):
        backend.kernels.local_curvature(backend.batch(queries), backend.batch(rows), Neighbourhood(), np.zeros((8, 3)))


def test_curvature_is_of_one_target(kernels_and_arrays):
    queries, rows = map(kernels_and_arrays.batch, drawn(targets=2))
    with pytest.raises(ValueError, match=re.escape("y must have shape (150,); got (150, 2)")):
        kernels_and_arrays.kernels.local_curvature(queries, rows, Neighbourhood(), np.zeros((9, 3)))


@for_each("wrong", [{"kernel": "box"}, {"bandwidth": 0.0}, {"bandwidth": float("nan")}, {"degree": 3}])
def test_neighbourhoods_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Neighbourhood(**wrong)
