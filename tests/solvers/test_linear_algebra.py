"""Rank-deficient systems: the rank, the minimum-norm solution, dependent columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.solvers.linear_algebra import LARGE, Symmetric, dependencies


@st.composite
def matrices(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """Return columns of any units, of which some are combinations of others, and their rank."""
    size, rank = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rank = min(rank, size)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = random.normal(size=(20, rank)) @ np.c_[np.eye(rank), random.choice([-1, 1, 2], (rank, size - rank))]
    return columns * 10.0 ** random.integers(-3, 4, size), rank


@given(matrices())
def test_the_solution_is_the_smallest_that_fits(drawn: tuple[np.ndarray, int]) -> None:
    x, rank = drawn
    y = x @ (np.random.default_rng(0).normal(size=x.shape[1]) / np.abs(x).max(axis=0))
    factored = Symmetric.of(x.T @ x)
    assert factored.rank == rank
    solution = factored.solve(x.T @ y)
    np.testing.assert_allclose(x @ solution, y, rtol=1e-6, atol=1e-6 * np.abs(y).max())
    # Any other solution differs by something without effect, at right angles to the smallest.
    units = np.linalg.norm(x, axis=0)
    _, sizes, directions = np.linalg.svd(x / units)
    null = directions[rank:] / units if len(sizes) > rank else np.zeros((0, x.shape[1]))
    for direction in null:
        scale = np.linalg.norm(direction) * np.linalg.norm(solution)
        assert abs(direction @ solution) <= 1e-5 * scale


@given(matrices())
def test_the_whitener_squares_to_the_inverse(drawn: tuple[np.ndarray, int]) -> None:
    x, _ = drawn
    factored = Symmetric.of(x.T @ x)
    whitener = factored.whitener()
    assert np.array_equal(whitener, np.tril(whitener))
    for mix in np.random.default_rng(0).normal(size=(3, len(x))):
        right = x.T @ mix
        np.testing.assert_allclose(np.sum((whitener @ right) ** 2), right @ factored.solve(right), rtol=1e-5)


@given(matrices())
def test_dependent_columns_are_combinations_of_those_named(drawn: tuple[np.ndarray, int]) -> None:
    x, rank = drawn
    x = x / np.linalg.norm(x, axis=0)
    found = dependencies(x.T @ x)
    assert len(found) == x.shape[1] - rank
    for column, others in found:
        coefficients, *_ = np.linalg.lstsq(x[:, others], x[:, column], rcond=None)
        np.testing.assert_allclose(x[:, others] @ coefficients, x[:, column], atol=1e-6)


@given(st.integers(1, 6), st.integers(0, 3), st.integers(0, 10_000))
def test_an_inverse_does_not_depend_on_units(parameters: int, dependent: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, parameters))
    rows = np.hstack([rows, rows @ rng.integers(-2, 3, size=(parameters, dependent))])
    units = 10.0 ** rng.integers(-6, 7, size=rows.shape[1])
    one, other = (Symmetric.of(part.T @ part) for part in (rows, rows * units))
    assert one.rank == other.rank == parameters
    np.testing.assert_array_equal(one.undetermined, other.undetermined)
    np.testing.assert_allclose(one.inverse(), other.inverse() * np.outer(units, units), rtol=1e-6, atol=1e-9)
    if not dependent:
        np.testing.assert_allclose(one.inverse(), np.linalg.inv(rows.T @ rows), rtol=1e-6, atol=1e-12)


def test_dependent_columns_are_not_identified_and_others_are() -> None:
    x = np.random.default_rng(0).normal(size=(30, 4))
    x = np.column_stack([x, x[:, 1] + x[:, 2], np.zeros(30)])
    inverse = Symmetric.of(x.T @ x)
    assert inverse.rank == 4
    np.testing.assert_array_equal(inverse.undetermined, [False, True, True, False, True, True])
    alone = np.linalg.inv(x[:, :4].T @ x[:, :4])
    known = inverse.inverse()[np.ix_([0, 3], [0, 3])]
    np.testing.assert_allclose(known, alone[np.ix_([0, 3], [0, 3])])
    assert np.isnan(inverse.inverse()[0, 1])


def test_an_information_of_nothing_identifies_nothing() -> None:
    assert Symmetric.of(np.zeros((2, 2))).rank == 0
    assert Symmetric.of(np.zeros((2, 2))).undetermined.all()
    assert Symmetric.of(np.zeros((0, 0))).inverse().shape == (0, 0)


def test_a_curvature_that_is_not_finite_is_refused() -> None:
    with pytest.raises(FloatingPointError, match="the Hessian is not finite"):
        Symmetric.of(np.array([[np.nan, 0.0], [0.0, 1.0]]))


def test_a_large_matrix_is_solved_whether_singular_or_not() -> None:
    x = np.random.default_rng(0).normal(size=(30, LARGE + 1))
    right = x.T @ np.ones(30)
    for matrix, rank in ((x.T @ x, 30), (x.T @ x + np.eye(LARGE + 1), LARGE + 1)):
        factored = Symmetric.of(matrix)
        assert factored.rank == rank
        np.testing.assert_allclose(matrix @ factored.solve(right), right, atol=1e-6)
