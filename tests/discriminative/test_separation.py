"""Separation is found where there is one, and only there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from suffice import GLM, PoissonRegressor, load
from suffice.discriminative import separation
from suffice.discriminative.separation import Separation, SeparationWarning, find_separation
from suffice.kernels import ArrayEngine, Batch, ThreadEngine

from ..references.data import unpacked
from .test_firth import infections

ENGINE = ThreadEngine()


def look(rows: Batch, classes: int = 2, theta: Any = None, intercept: bool = True, engine: Any = ENGINE) -> Any:
    parameters = rows.features + int(intercept)
    names = [*["intercept"] * intercept, *(f"x{place}" for place in range(rows.features))]
    theta = np.zeros((parameters, classes - 1)) if theta is None else np.asarray(theta, dtype=float)
    return find_separation(engine, rows, classes, theta, intercept, names)


def overlapping(n: int = 200, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * 10.0 ** np.arange(d) + 5
    return x, (rng.random(n) < 0.5).astype(float)


@pytest.fixture(scope="module")
def course() -> Path:
    return unpacked("cs229")


@pytest.mark.parametrize(("name", "kind"), [("ds1_a", None), ("ds1_b", "complete")])
def test_the_sets_of_the_course(course: Path, name: str, kind: str | None) -> None:
    y, *x = np.loadtxt(course / "2018-ps2" / f"{name}.csv", delimiter=",", skiprows=1).T
    found = look(Batch(np.column_stack(x), (y > 0).astype(float)))
    assert (found.kind if found else None) == kind


def test_rows_that_overlap_are_not_separated() -> None:
    x, y = overlapping()
    assert look(Batch(x, y)) is None
    assert look(Batch(sparse.csr_array(x), y)) is None
    assert look(Batch(np.ones((4, 1)), np.array([0.0, 1.0, 0.0, 1.0]))) is None
    assert look(Batch(np.zeros((0, 2)), np.zeros(0))) is None


def test_a_coefficient_near_zero_starts_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*_: Any, **__: Any) -> None:
        raise AssertionError("searched for separation")

    monkeypatch.setattr("suffice.discriminative.regression.find_separation", search)
    for seed in range(40):  # in some of these the last step exceeds a thousandth of a coefficient that is about 0
        random = np.random.default_rng(seed)
        X = random.normal(size=(100, 3))
        PoissonRegressor(tol=1e-4).fit(X, random.poisson(np.exp(0.3 * X[:, 0])))


def test_one_guilty_column_is_named_alone() -> None:
    x, y = overlapping()
    flag = np.zeros(len(y))
    guilty = np.flatnonzero(y)[:9]
    flag[guilty] = 1e-3
    found = look(Batch(np.column_stack([x, flag]), y))
    assert found.kind == "quasi-complete"
    assert found.columns == ("x4",)
    np.testing.assert_array_equal(found.rows, guilty)
    np.testing.assert_allclose(found.direction[:5] / found.direction[5], 0, atol=1e-6)
    some = ", ".join(map(str, guilty[:5]))
    assert found.message() == (
        f"x4 separates the classes quasi-completely: 9 rows ({some}, ...) are strictly on the right side and none on "
        "the wrong one, so the likelihood has no maximum and coefficients diverge; give C=1.0, or "
        "bias_reduction=True, or drop the column"
    )


def test_the_published_example_names_the_diaphragm() -> None:
    found = look(infections())
    assert found.kind == "quasi-complete"
    assert found.columns == ("x5",)


def test_two_columns_that_separate_together() -> None:
    x, _ = overlapping()
    scaled = (x - 5) / 10.0 ** np.arange(4)
    y = (scaled[:, 1] - scaled[:, 2] > 0.1).astype(float)
    found = look(Batch(x, y))
    assert found.kind == "complete"
    assert found.columns == ("x1", "x2")
    assert "x1, x2 together separate the classes completely: all 200 rows are strictly" in found.message()
    z = np.column_stack([np.ones(200), x]) @ found.direction.ravel()
    np.testing.assert_array_equal(z > 0, y > 0)


def test_a_theta_that_separates_settles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separation, "SECONDS_FOR_NAMES", 0.0)
    x, _ = overlapping(d=2)
    y = (x[:, 0] > 5).astype(float)
    theta = np.array([[-500.0], [100.0], [1e-9]])
    found = look(Batch(x, y), theta=theta)
    assert found.kind == "complete"
    assert found.columns == ("x0",)
    np.testing.assert_allclose(found.direction[1:] / found.direction[1], theta[1:] / 100)


def test_rows_without_weight_do_not_count() -> None:
    x = np.array([[0.0], [1.0], [2.0], [3.0], [9.0]])
    y = np.array([0.0, 0.0, 1.0, 1.0, 0.0])
    assert look(Batch(x, y)) is None
    found = look(Batch(x, y, np.array([1.0, 1.0, 1.0, 1.0, 0.0])))
    assert found.kind == "complete"
    np.testing.assert_array_equal(found.rows, [0, 1, 2, 3])
    part = look(Batch(x, y, start=1, stop=4))
    np.testing.assert_array_equal(part.rows, [1, 2, 3])


def test_a_proportion_is_a_row_of_both_classes() -> None:
    x = np.array([[0.0], [1.0], [2.0]])
    found = look(Batch(x, np.array([0.0, 0.5, 1.0])))
    assert found.kind == "quasi-complete"
    np.testing.assert_array_equal(found.rows, [0, 2])
    assert look(Batch(x, np.array([0.5, 0.0, 1.0]))) is None


def test_a_constant_far_off_does_not_hide_the_border() -> None:
    x = 1e9 + np.array([[0.0], [1.0], [2.0], [3.0]])
    assert look(Batch(x, np.array([0.0, 0.0, 1.0, 1.0]))).kind == "complete"
    assert look(Batch(x, np.array([0.0, 1.0, 0.0, 1.0]))) is None


def test_several_classes() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(150, 3))
    y = rng.integers(0, 3, size=150)
    assert look(Batch(x, y), 3) is None
    flag = (y == 1) & (rng.random(150) < 0.2)
    found = look(Batch(np.column_stack([x, flag]), y), 3)
    assert (found.kind, found.columns) == ("quasi-complete", ("x3",))
    np.testing.assert_array_equal(found.rows, np.flatnonzero(flag))
    assert "bias_reduction" not in found.message()
    scores = x @ rng.normal(size=(3, 3))
    best = look(Batch(x, scores.argmax(axis=1)), 3)
    assert best.kind == "complete"
    moved = np.column_stack([np.column_stack([np.ones(150), x]) @ best.direction, np.zeros(150)])
    np.testing.assert_array_equal(moved.argmax(axis=1), scores.argmax(axis=1))
    # A flag that one class never has: its rows move away from that class, and stay where they are beside the other.
    never = (y != 1) & (rng.random(150) < 0.2)
    one = look(Batch(np.column_stack([x, never]), y), 3)
    assert (one.kind, one.columns) == ("quasi-complete", ("x3",))
    np.testing.assert_array_equal(one.rows, np.flatnonzero(never))


def brute_force(lines: np.ndarray) -> str | None:
    """Return the kind of separation for constraints lines @ beta >= 0 of whole numbers, in two dimensions.

    The cone of solutions is spanned by directions along its borders, or is all on one side of one of them.
    """
    turned = lines[:, ::-1] * [1, -1]
    candidates = np.concatenate([turned, -turned, lines])
    inside = [beta for beta in candidates if (lines @ beta >= 0).all()]
    within = lines @ np.sum(inside, axis=0) if inside else np.zeros(1)
    return "complete" if (within > 0).all() else "quasi-complete" if (within > 0).any() else None


points = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 1)), min_size=1, max_size=9)


@given(points, st.booleans())
def test_two_dimensions_beside_brute_force(rows: list[tuple[int, int, int]], intercept: bool) -> None:
    table = np.array(rows)
    y = table[:, 2]
    x = table[:, :1] if intercept else table[:, :2]
    design = np.column_stack([np.ones(len(x), dtype=int), x]) if intercept else x
    found = look(Batch(x.astype(float), y.astype(float)), intercept=intercept)
    assert (found.kind if found else None) == brute_force(design * (2 * y - 1)[:, None])
    check(found, design, y)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2)), min_size=1, max_size=9))
def test_three_classes_beside_brute_force(rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows).T
    apart = {0: [[1, -1], [1, 0]], 1: [[-1, 1], [0, 1]], 2: [[-1, 0], [0, -1]]}
    lines = np.concatenate([value * np.array(apart[code]) for value, code in zip(x, y, strict=True)])
    found = look(Batch(x[:, None].astype(float), y), 3, intercept=False)
    assert (found.kind if found else None) == brute_force(lines)


def check(found: Separation | None, design: np.ndarray, y: np.ndarray) -> None:
    """The direction does what is said of it."""
    if found is not None:
        margin = (design @ found.direction).ravel() * (2 * y - 1)
        assert margin.min() >= -1e-6 * np.abs(found.direction).max()
        np.testing.assert_array_equal(np.flatnonzero(margin > 1e-6 * np.abs(found.direction).max()), found.rows)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("gap", [None, 0.3, "flag"])
def test_a_few_rows_at_a_time_give_the_answer_of_all(classes: int, gap: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(400, 3))
    scores = x @ rng.normal(size=(3, classes))
    noise = rng.gumbel(size=scores.shape) if gap != 0.3 else 0.0
    y = (scores + noise).argmax(axis=1)
    if gap == "flag":
        x = np.column_stack([x, (y == 1) & (rng.random(400) < 0.03)])
    y = y.astype(float) if classes == 2 else y
    whole = look(Batch(x, y), classes)
    assert (whole is None) == (gap is None)
    monkeypatch.setattr(separation, "ROWS", 6)
    part = look(Batch(x, y), classes)
    assert (part is None) == (whole is None)
    if whole is not None:
        assert (part.kind, part.columns) == (whole.kind, whole.columns)


@pytest.mark.needs("torch")
def test_sparse_rows_and_other_libraries_do_not_matter() -> None:
    rng = np.random.default_rng(8)
    x = rng.poisson(0.5, size=(120, 4)).astype(float)
    y = (x[:, 1] > 0).astype(float)
    weight = np.ones(120)
    whole = look(Batch(x, y, weight))
    csr = look(Batch(sparse.csr_matrix(x), y, weight))
    assert (whole.kind, whole.columns) == (csr.kind, csr.columns) == ("complete", ("x1",))
    import torch

    foreign = look(Batch(*(torch.asarray(part) for part in (x, y, weight))), engine=ArrayEngine())
    assert (foreign.kind, foreign.columns) == (whole.kind, whole.columns)


def test_a_search_that_is_given_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = overlapping()
    monkeypatch.setattr(separation, "LARGEST", 10)
    with pytest.warns(
        SeparationWarning, match="is unknown: a linear programme of 200 lines and 5 columns is too large"
    ):
        assert look(Batch(x, y)) is None


def test_rows_without_weight_separate_nothing() -> None:
    x, y = overlapping()
    assert look(Batch(x, y, np.zeros(len(y)))) is None


def test_what_does_not_fit_is_refused() -> None:
    x, y = overlapping()
    with pytest.raises(ValueError, match=r"theta must have shape \(5, 2\); got \(5, 1\)"):
        look(Batch(x, y), 3, np.zeros((5, 1)))
    with pytest.raises(ValueError, match="names must name the 5 rows of theta; got 4"):
        find_separation(ENGINE, Batch(x, y), 2, np.zeros((5, 1)), True, ["a", "b", "c", "d"])


STEPS = np.arange(1.0, 7.0)[:, None]
LATER = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
every_link = pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])


def separated(model: Any, x: Any, y: Any, words: str, **beside: Any) -> Any:
    """Fit a model that must say that it found no fit."""
    with pytest.warns(SeparationWarning, match=words):
        model.fit(x, y, **beside)
    assert not model.solution_.converged
    assert "are separated: the likelihood has no maximum" in model.solution_.reason
    ridge = "give l2 > 0" if isinstance(model, GLM) else "give alpha > 0"
    assert model.separation_.message(ridge, firth=False) in str(model.summary())
    assert "bias_reduction" not in str(model.summary())
    return model.separation_


@every_link
def test_every_binary_model_says_that_classes_are_separated(link: str) -> None:
    model = GLM("binomial", link)
    for y in (LATER, 1 - LATER):
        found = separated(model, STEPS, y, "x0 separates the classes completely: all 6 rows")
        assert found.kind == "complete"
    separated(model, STEPS, 7 * LATER, "x0 separates the classes completely", trials=[7] * 6)
    found = separated(model, STEPS, [0, 0, 0, 3, 7, 7], "quasi-completely: 5 rows", trials=[7] * 6)
    np.testing.assert_array_equal(found.rows, [0, 1, 2, 4, 5])
    assert (GLM("binomial", link).fit(STEPS, [0, 1, 0, 1, 0, 1])).separation_ is None
    assert GLM("binomial", link, l2=1.0).fit(STEPS, LATER).solution_.converged


@every_link
def test_every_binary_model_names_the_column_that_separates_some_rows(link: str) -> None:
    x, y = overlapping(d=2)
    for side in (0.0, 1.0):
        flag = (y == side) & (np.arange(len(y)) % 10 == 0)
        found = separated(GLM("binomial", link), np.column_stack([x, flag]), y, "x2 separates the classes quasi")
        assert found.columns == ("x2",)
        np.testing.assert_array_equal(found.rows, np.flatnonzero(flag))


def test_several_classes_of_a_glm() -> None:
    for y in ("aabbcc", "aaabbb"):
        found = separated(GLM("multinomial"), STEPS, list(y), "x0 separates the classes completely")
        assert found.columns == ("x0",)
    z = np.column_stack([np.ones(6), STEPS]) @ found.direction  # the predictor is that of the first class
    np.testing.assert_array_equal(z[:, 0] > 0, LATER == 0)


def test_a_target_that_does_not_vary() -> None:
    separated(GLM("binomial"), STEPS, np.zeros(6), "y is the same in all 6 rows")
    separated(PoissonRegressor(), STEPS, np.zeros(6), "y is 0 in all 6 rows")


def test_counts_that_are_all_zero_along_a_column() -> None:
    x = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 3.0], [0.0, 5.0], [0.0, 3.0]])
    found = separated(PoissonRegressor(), x, [3, 4, 0, 0, 0, 2], r"x0 separates 2 rows \(2, 3\) with y = 0")
    assert (found.kind, found.columns, found.of) == ("quasi-complete", ("x0",), "counts")
    x[3, 0] = 0.0
    assert PoissonRegressor().fit(x[:, 1:], [3, 4, 0, 0, 0, 2]).separation_ is None


def test_a_separated_model_can_be_saved(tmp_path: Path) -> None:
    with pytest.warns(SeparationWarning, match="x0 separates the classes completely"):
        model = GLM("binomial").fit(STEPS, LATER)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.solution_.converged, again.separation_) == (False, None)
    assert "separates the classes" in str(again.summary())
    with pytest.warns(SeparationWarning, match="x0 separates the classes completely"):
        model.fit(STEPS, LATER)
    assert model.fit(STEPS, [0, 1, 0, 1, 0, 1]).separation_ is None


def test_many_columns_are_not_all_listed() -> None:
    names = tuple(f"x{place}" for place in range(9))
    words = Separation("complete", names, np.arange(3), np.ones((10, 1))).message()
    assert words.startswith(
        "x0, x1, x2, x3, x4 and 4 more columns together separate the classes completely: all 3 rows"
    )
