"""Logistic regression on log-count ratios: its formulas, its optimum, its conventions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import MultinomialNB, NBLogisticRegression
from suffice.discriminative.nb_logistic import CANDIDATES, Corrected, Texts
from suffice.kernels import ThreadEngine

CLASSES = [2, 3, 4]


def texts(classes: int, rows: int = 60, words: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of words, some of which one row alone has, and classes that shape them."""
    random = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    rates = random.gamma(0.5, 1.0, size=(classes, words))
    x = random.poisson(rates[y])
    alone = np.zeros((rows, 5), dtype=int)
    alone[np.arange(5) * 7, np.arange(5)] = 2
    return np.concatenate([x, alone], axis=1), y


def plain_ratios(x: np.ndarray, y: np.ndarray, alpha: float, classes: int) -> np.ndarray:
    """Return r, (t, d), as the definition has it."""
    ratios = []
    for label in range(1 if classes == 2 else 0, classes):
        p, q = alpha + x[y == label].sum(axis=0), alpha + x[y != label].sum(axis=0)
        ratios.append(np.log(p / p.sum()) - np.log(q / q.sum()))
    return np.array(ratios)


def rows_of(x: np.ndarray, binarize: float | None, norm: str | None) -> tuple[np.ndarray, np.ndarray]:
    counted = x.astype(float) if binarize is None else (x > binarize).astype(float)
    lengths = np.linalg.norm(counted, axis=1, keepdims=True)
    return counted, counted / np.where(lengths > 0, lengths, 1.0) if norm else counted


def direct(x: np.ndarray, y: np.ndarray, **settings: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Return coefficients, intercepts and the least value of the stated objective, by a general minimiser."""
    full = {**NBLogisticRegression().get_params(), **settings}
    classes, alpha, l2, intercept = int(y.max()) + 1, full["alpha"], 1 / full["C"], full["fit_intercept"]
    counted, rows = rows_of(x, full["binarize"], full["norm"])
    ratios = plain_ratios(counted, y, alpha, classes)
    towards = full["towards"] * (1.0 if classes == 2 else 0.5)
    bayes = np.array(
        [
            plain_ratios(np.delete(counted, i, axis=0), np.delete(y, i), alpha, classes) @ rows[i]
            for i in range(len(rows))
        ]
    )
    shape = ratios.shape

    def value(free: np.ndarray) -> tuple[float, np.ndarray]:
        level, theta = free[: shape[0]] * intercept, free[shape[0] :].reshape(shape)
        scores = level + towards * bayes + rows @ (ratios * (theta - towards)).T
        every = np.c_[np.zeros(len(y)), scores] if classes == 2 else scores
        log_p = every - logsumexp(every, axis=1, keepdims=True)
        off = (np.exp(log_p) - np.eye(classes)[y])[:, -shape[0] :]
        slopes = (off.T @ rows) * ratios + l2 * (theta - towards)
        loss = -log_p[np.arange(len(y)), y].sum() + l2 / 2 * ((theta - towards) ** 2).sum()
        return loss, np.concatenate([off.sum(axis=0) * intercept, slopes.ravel()])

    found = minimize(value, np.zeros(shape[0] * (1 + shape[1])), jac=True, method="BFGS", options={"gtol": 1e-8})
    level, theta = found.x[: shape[0]] * intercept, found.x[shape[0] :].reshape(shape)
    return ratios * theta, level, found.fun


SETTINGS: list[dict[str, Any]] = [
    {},
    {"C": 50.0, "alpha": 1.0},
    {"towards": 0.0},
    {"towards": 2.0, "norm": None, "C": 0.5},
    {"binarize": None},
    {"binarize": 1.0, "fit_intercept": False},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("classes", CLASSES)
def test_theta_is_where_the_objective_is_least(classes: int, settings: dict[str, Any]) -> None:
    x, y = texts(classes)
    model = NBLogisticRegression(tol=1e-10, max_iter=10_000, **settings).fit(sparse.csr_array(x), y)
    coef, level, _ = direct(x, y, **settings)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-4, atol=3e-4)
    level, mine = (each - each.mean() * (classes > 2) for each in (level, model.intercept_))
    np.testing.assert_allclose(mine, level, rtol=1e-4, atol=3e-4)


@pytest.mark.parametrize("classes", CLASSES)
def test_ratios_are_those_of_the_definition(classes: int) -> None:
    x, y = texts(classes)
    model = NBLogisticRegression(alpha=0.7).fit(x, y)
    np.testing.assert_allclose(model.ratios_, plain_ratios((x > 0).astype(float), y, 0.7, classes), rtol=1e-12)


def test_held_at_naive_bayes_it_is_naive_bayes() -> None:
    x, y = texts(2)
    model = NBLogisticRegression(C=1e-09, alpha=1.0, norm=None, binarize=None, fit_intercept=False).fit(x, y)
    bayes = MultinomialNB(alpha=1.0, fit_prior=False).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), bayes.predict_proba(x), atol=1e-6)


def test_scores_are_linear_in_presence() -> None:
    x, y = texts(3)
    model = NBLogisticRegression().fit(x, y)
    _, rows = rows_of(x, 0.0, "l2")
    scores = rows @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(sparse.csr_array(x)), scores, atol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(x), scores - logsumexp(scores, axis=1, keepdims=True), atol=1e-9)
    np.testing.assert_array_equal(model.predict(x), scores.argmax(axis=1))
    np.testing.assert_array_equal(model.predict(4 * x), model.predict(x))


def test_class_weights_are_weights_of_rows() -> None:
    x, y = texts(3)
    settings: dict[str, Any] = {"tol": 1e-9, "max_iter": 5000}
    named = NBLogisticRegression(class_weight={1: 3.0}, **settings).fit(x, y)
    given = NBLogisticRegression(**settings).fit(x, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(named.coef_, given.coef_, atol=1e-6)


@pytest.mark.parametrize("classes", CLASSES)
def test_the_default_stops_where_probabilities_are_those_of_the_optimum(classes: int) -> None:
    x, y = texts(classes, rows=400, words=80)
    soon, late = (NBLogisticRegression(**more).fit(x, y) for more in ({}, {"tol": 1e-9, "max_iter": 5000}))
    losses = [-model.predict_log_proba(x)[np.arange(len(y)), y].mean() for model in (soon, late)]
    assert abs(losses[0] - losses[1]) < 2e-3
    assert soon.gap_ <= soon.tol
    assert soon.n_iter_ <= late.n_iter_


@pytest.mark.parametrize("classes", [2, 3])
def test_the_penalty_is_that_of_the_least_loss_held_out(classes: int) -> None:
    x, y = texts(classes, rows=120, seed=3)
    model = NBLogisticRegression(C="auto").fit(x, y)
    assert tuple(model.losses_) == CANDIDATES
    assert min(model.losses_, key=lambda c: model.losses_[c]) == model.C_
    np.testing.assert_allclose(model.coef_, NBLogisticRegression(C=model.C_).fit(x, y).coef_, atol=1e-12)
    # Where penalties follow each other, each ends where it would alone.
    counted = sparse.csr_array((x > 0).astype(float))
    corrected = Corrected.of(ThreadEngine(), Texts(counted, counted, y, None), classes, 1.0, 0.0, True)
    corrected.solve(5.0, 1e-9, 5000, 0)
    warm = corrected.linear(corrected.solve(2.0, 1e-9, 5000, 0).theta)[0]
    cold = NBLogisticRegression(alpha=1.0, C=0.5, towards=0.0, norm=None, tol=1e-9, max_iter=5000).fit(x, y)
    np.testing.assert_allclose(warm, cold.coef_, atol=3e-4)


def test_dense_and_sparse_rows_are_alike() -> None:
    x, y = texts(3)
    dense = NBLogisticRegression().fit(x, y)
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix):
        np.testing.assert_array_equal(NBLogisticRegression().fit(kind(x), y).coef_, dense.coef_)
    once = sparse.csr_array((x > 0).astype(float))
    parts = sparse.csr_array(
        (np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr), shape=once.shape
    )
    np.testing.assert_array_equal(NBLogisticRegression(binarize=0.7).fit(parts, y).coef_, dense.coef_)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_saved_model_answers_as_before(classes: int, tmp_path: Path) -> None:
    x, y = texts(classes)
    model = NBLogisticRegression(C="auto", class_weight="balanced").fit(x, np.array(["a", "b", "c"])[y])
    model.save(tmp_path / "model")
    again = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    for name in ("coef_", "intercept_", "ratios_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    for name in ("C_", "losses_", "gap_", "n_iter_", "n_features_in_"):
        assert getattr(again, name) == getattr(model, name)
    assert again.get_params() == model.get_params()


X, Y = texts(3)


def spoilt(value: float) -> np.ndarray:
    x = X.astype(float)
    x[4, 2] = value
    return x


COMPLAINTS: dict[str, tuple[dict[str, Any], Any, Any, str]] = {
    "negative": ({}, spoilt(-2.0), Y, r"x\[4, 2\] is -2; counts must not be negative"),
    "NaN": ({}, spoilt(np.nan), Y, r"contains NaN: X\[4, 2\] is nan"),
    "infinity": ({}, sparse.csr_array(spoilt(np.inf)), Y, r"contains infinity: X\[4, 2\] is inf"),
    "one class": ({}, X, 0 * Y, "y has one class, 0"),
    "alpha": ({"alpha": 0.0}, X, Y, "alpha must be a finite number above 0; got 0.0"),
    "C": ({"C": 0.0}, X, Y, "C must be a finite number above 0, or 'auto'; got 0.0"),
    "C in words": ({"C": "best"}, X, Y, "C must be a finite number above 0, or 'auto'; got 'best'"),
    "tol": ({"tol": -1.0}, X, Y, "tol must be a finite number above 0"),
    "towards": ({"towards": np.nan}, X, Y, "towards must be a finite number"),
    "binarize": ({"binarize": -1.0}, X, Y, "binarize must be a finite number, 0 or more, or None; got -1.0"),
    "norm": ({"norm": "l1"}, X, Y, "norm must be 'l2' or None; got 'l1'"),
    "max_iter": ({"max_iter": 0}, X, Y, "max_iter must be a whole number, 1 or more; got 0"),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_bad_input_is_named(name: str) -> None:
    settings, x, y, complaint = COMPLAINTS[name]
    with pytest.raises(ValueError, match=complaint):
        NBLogisticRegression(**settings).fit(x, y)


def test_few_rounds_are_said_to_be_too_few() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds were made, and theta is about"):
        NBLogisticRegression(max_iter=1, tol=1e-9).fit(X, Y)


def test_there_is_no_summary() -> None:
    with pytest.raises(ValueError, match="has no standard errors"):
        NBLogisticRegression().fit(X, Y).summary()


SOON = "fits stop within a tolerance of the optimum; the tests above compare them at the optimum"
NEGATIVE = "the check gives negative counts, whatever the tags say"
OTHERWISE = {
    "check_sample_weight_equivalence_on_dense_data": SOON,
    "check_sample_weight_equivalence_on_sparse_data": SOON,
    "check_class_weight_classifiers": NEGATIVE,
    "check_decision_proba_consistency": NEGATIVE,
}


@parametrize_with_checks(
    [NBLogisticRegression()],
    expected_failed_checks=lambda _: OTHERWISE,
)
def test_the_estimator_passes_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [NBLogisticRegression(binarize=None, norm=None), NBLogisticRegression(C="auto")],
    expected_failed_checks=lambda _: OTHERWISE,
)
def test_conventions_under_other_settings(estimator: Any, check: Any) -> None:
    check(estimator)
