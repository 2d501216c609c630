"""Steps of additive models against dense linear algebra."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import LogisticRegression

from suffice import _native
from suffice.additive.backfitting import CONSTANT, Backfit, BinnedRows, Held, Term, Workers
from suffice.additive.bins import ColumnBins
from suffice.additive.choice import main_term, pair_term

Array = npt.NDArray[np.float64]


def chain(cells: int, first: int) -> Array:
    """Return the matrix of squared differences of neighbours from a first cell on."""
    found = np.zeros((cells, cells))
    for at in range(first + 1, cells):
        by = np.zeros(cells)
        by[at], by[at - 1] = 1.0, -1.0
        found += np.outer(by, by)
    return found


def penalty_of(term: Term) -> Array:
    """Return the penalty matrix of a term, from its definition."""
    sides = []
    for count, ordered, missing in zip((term.height, term.width), term.ordered, term.missing, strict=True):
        side = chain(count, int(missing)) if ordered else np.eye(count)
        if ordered and missing:
            side[0, 0] += 1.0
        sides.append(side)
    if term.width == 1:
        return sides[0]
    return np.kron(sides[0], np.eye(term.width)) + np.kron(np.eye(term.height), sides[1])


def numbers(count: int) -> ColumnBins:
    return ColumnBins("x", np.arange(count - 2.0))


def levels(count: int) -> ColumnBins:
    return ColumnBins("c", None, tuple(map(str, range(count - 2))))


def groups(count: int) -> npt.NDArray[np.int32]:
    return np.minimum(np.arange(256), count - 1).astype(np.int32)


TERMS = {
    "numbers": main_term(0, numbers(9), 0),
    "category": main_term(0, levels(6), 0),
    "numbers × numbers": pair_term(0, 1, [groups(5), groups(4)], [numbers(5), numbers(4)], [True, False]),
    "numbers × category": pair_term(0, 1, [groups(5), groups(4)], [numbers(5), levels(4)], [False, False]),
    "category × category": pair_term(0, 1, [groups(3), groups(7)], [levels(3), levels(7)], [False, False]),
}


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("predictors", [1, 3])
def test_a_step_solves_the_penalised_equations(name: str, predictors: int) -> None:
    term = TERMS[name]
    rng = np.random.default_rng(0)
    gradient, values = rng.normal(size=(2, term.cells, predictors))
    curvature = rng.uniform(0.5, 2.0, size=(term.cells, predictors))
    penalty = np.array([0.7, 3.0, 20.0])[:predictors]
    bins = rng.integers(0, 3, size=(2, 5)).astype(np.uint8)
    rows = BinnedRows(bins, np.zeros(5), None, None, "softmax", predictors=predictors)
    found, change, variance = values.copy(), np.empty_like(values), np.empty_like(values)
    freedom, roughness = np.zeros(predictors), np.zeros(predictors)
    _native.additive.smooth(
        rows.native_terms([term]), 0, gradient, curvature, penalty, False, found, change, variance, freedom, roughness
    )
    for k in range(predictors):
        matrix = np.diag(curvature[:, k]) + penalty[k] * penalty_of(term)
        expected = np.linalg.solve(matrix, curvature[:, k] * values[:, k] + gradient[:, k])
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-7)
        np.testing.assert_allclose(change[:, k], expected - values[:, k], rtol=1e-6, atol=1e-8)
        inverse = np.linalg.inv(matrix)
        np.testing.assert_allclose(variance[:, k], np.diag(inverse), rtol=1e-7)
        np.testing.assert_allclose(freedom[k], np.trace(inverse @ np.diag(curvature[:, k])), rtol=1e-7)
        np.testing.assert_allclose(roughness[k], expected @ penalty_of(term) @ expected, rtol=1e-7)


@pytest.mark.parametrize("predictors", [1, 3])
@pytest.mark.parametrize("bounded", [False, True])
def test_a_step_of_a_line_solves_the_penalised_equations_of_its_two_parameters(predictors: int, bounded: bool) -> None:
    bins = ColumnBins("x", np.array([1.0, 2.0, 4.0, 8.0, 9.0]), None, 0.0, 20.0)
    places = bins.places()
    term = main_term(0, bins, 0)._replace(line=places)
    rng = np.random.default_rng(0)
    gradient = (9.0 if bounded else 1.0) * rng.normal(size=(term.cells, predictors))
    values, curvature = rng.normal(size=gradient.shape), rng.uniform(0.5, 2.0, size=gradient.shape)
    penalty = np.array([0.7, 3.0, 20.0])[:predictors]
    rows = BinnedRows(np.zeros((1, 5), dtype=np.uint8), np.zeros(5), None, None, "softmax", predictors=predictors)
    found, change, variance = values.copy(), np.empty_like(values), np.empty_like(values)
    freedom, roughness = np.zeros(predictors), np.zeros(predictors)
    native = rows.native_terms([term])
    _native.additive.smooth(
        native, 0, gradient, curvature, penalty, bounded, found, change, variance, freedom, roughness
    )
    known = np.arange(term.cells) > 0
    design = np.stack([~known, known, places * known], axis=1).astype(float)
    for k in range(predictors):
        squares = design.T @ (curvature[:, k, None] * design)
        steps = design.T @ penalty_of(term) @ design
        inverse = np.linalg.inv(squares + penalty[k] * steps)
        coefficients = inverse @ design.T @ (curvature[:, k] * values[:, k] + gradient[:, k])
        expected = design @ coefficients
        by = expected - values[:, k]
        by *= min(1.0, 2.0 / np.abs(by).max()) if bounded else 1.0
        np.testing.assert_allclose(change[:, k], by, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found[:, k], values[:, k] + by, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(variance[:, k], np.diag(design @ inverse @ design.T), rtol=1e-7)
        np.testing.assert_allclose(freedom[k], np.trace(inverse @ squares), rtol=1e-7)
        np.testing.assert_allclose(roughness[k], coefficients @ steps @ coefficients, rtol=1e-6)


def test_places_of_a_line_that_do_not_fit_its_term_are_refused() -> None:
    rows = binned(10, "gaussian")
    with pytest.raises(ValueError, match="a place for each cell"):
        rows.native_terms([main_term(0, numbers(6), 0)._replace(line=np.zeros(3))])
    with pytest.raises(ValueError, match="needs an ordered column"):
        rows.native_terms([main_term(0, levels(6), 0)._replace(line=np.zeros(6))])


def binned(n: int, family: str, predictors: int = 1, power: float = 0.0, weighted: bool = False) -> BinnedRows:
    rng = np.random.default_rng(1)
    bins = rng.integers(1, 6, size=(2, n)).astype(np.uint8)
    target = {
        "gaussian": rng.normal(size=n),
        "bernoulli": rng.integers(0, 2, size=n).astype(float),
        "softmax": rng.integers(0, max(predictors, 2), size=n).astype(float),
        "tweedie": rng.gamma(2.0, size=n),
    }[family]
    weight = rng.uniform(0.5, 2.0, size=n) if weighted else None
    return BinnedRows(bins, target, weight, None, family, power, predictors)


@pytest.mark.parametrize(
    ("family", "predictors", "power"),
    [("gaussian", 1, 0.0), ("bernoulli", 1, 0.0), ("softmax", 3, 0.0), ("tweedie", 1, 1.0), ("tweedie", 1, 2.0)],
)
def test_gradients_are_the_derivatives_of_the_loss(family: str, predictors: int, power: float) -> None:
    rows = binned(40, family, predictors, power)
    scores = np.random.default_rng(2).normal(size=(40, predictors))
    gradient, curvature = rows.gradients(scores)
    step = 1e-5
    for k in range(predictors):
        moved = np.zeros_like(scores)
        moved[:, k] = step
        slope = (rows.losses(scores + moved) - rows.losses(scores - moved)) / (2 * step)
        np.testing.assert_allclose(-gradient[:, k], slope, atol=1e-8)
        if power < 2:  # gamma's curvature is the expected one
            bend = (rows.losses(scores + moved) - 2 * rows.losses(scores) + rows.losses(scores - moved)) / step**2
            np.testing.assert_allclose(curvature[:, k], bend, atol=1e-4)
    total = _native.additive.loss(rows.native(scores), 0, 40)
    np.testing.assert_allclose(total, rows.losses(scores).sum(), rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_the_rows_that_are_not_held_out(weighted: bool) -> None:
    rows = binned(1000, "bernoulli", weighted=weighted)
    term = main_term(1, numbers(6), 0)
    fit = Backfit(rows, [CONSTANT, term], held=Held(300, 650, 650))
    gradient, curvature = (np.zeros((6, 1)) for _ in range(2))
    given = rows.native(fit.scores, fit.held[:2])
    _native.additive.step(given, rows.native_terms([term]), 0, 1000, -1, None, 0, gradient, curvature)
    learned = np.r_[0:300, 650:1000]
    g, h = (each[learned, 0] for each in rows.gradients(fit.scores))
    if weighted:
        assert rows.weight is not None
        plain = BinnedRows(rows.bins, rows.target, None, None, "bernoulli").gradients(fit.scores)[0]
        np.testing.assert_allclose(g, (plain[:, 0] * rows.weight)[learned])
    np.testing.assert_allclose(gradient[:, 0], np.bincount(rows.bins[1][learned], g, minlength=6), atol=1e-12)
    np.testing.assert_allclose(curvature[:, 0], np.bincount(rows.bins[1][learned], h, minlength=6), atol=1e-12)


def test_backfitting_converges_to_the_penalised_optimum() -> None:
    rows = binned(400, "bernoulli")
    terms = [CONSTANT, main_term(0, levels(6), 0), main_term(1, levels(6), 0)]
    fit = Backfit(rows, terms, penalties=np.array([[0.0], [2.0], [2.0]]))
    for _ in range(200):
        fit.cycle(learn=False)
    design = np.concatenate([np.eye(6)[rows.bins[0]], np.eye(6)[rows.bins[1]]], axis=1)
    expected = LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-12, max_iter=10_000).fit(design, rows.target)
    np.testing.assert_allclose(fit.scores[:, 0], expected.decision_function(design), atol=1e-6)


def test_classes_share_the_penalty_of_a_column_and_not_that_of_a_pair() -> None:
    rows = binned(1000, "softmax", predictors=3)
    pair = pair_term(0, 1, [groups(6), groups(6)], [numbers(6), numbers(6)], [False, False])
    fit = Backfit(rows, [CONSTANT, main_term(0, numbers(6), 0), pair])
    for _ in range(2):
        fit.cycle(learn=True)
    np.testing.assert_array_equal(fit.penalties[1], fit.penalties[1, 0])
    assert len(np.unique(fit.penalties[2])) == 3


def test_parts_and_threads_give_the_scores_of_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = binned(1000, "gaussian", weighted=True)
    terms = [CONSTANT, main_term(0, numbers(6), 0), main_term(1, numbers(6), 0)]
    whole = Backfit(rows, terms)
    monkeypatch.setattr("suffice.additive.backfitting.PART", 130)
    with Workers(3) as workers:
        parts = Backfit(rows, terms, workers=workers)
        for _ in range(3):
            parts.cycle(learn=True, variances=True)
    monkeypatch.undo()
    for _ in range(3):
        whole.cycle(learn=True, variances=True)
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(parts.penalties, whole.penalties, rtol=1e-9)
    assert parts.variances is not None
    assert whole.variances is not None
    np.testing.assert_allclose(parts.variances, whole.variances, rtol=1e-9)


def test_bins_that_lead_out_of_a_term_are_refused() -> None:
    rows = binned(10, "gaussian")
    wide = main_term(0, numbers(6), 0)._replace(height=4)
    with pytest.raises(ValueError, match="beyond those of its term"):
        rows.native_terms([wide])
