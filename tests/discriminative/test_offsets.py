"""Offsets, exposures and trials in scores and predictions of classifiers, as in fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse, special

from suffice import GLM, GammaRegressor, LogisticRegression, PoissonRegressor, SoftmaxRegression

RNG = np.random.default_rng(4)
X = RNG.normal(size=(150, 2))
HOURS = RNG.uniform(0.5, 30, 150)
CALLS = RNG.poisson(HOURS * np.exp(0.4 * X[:, 0]))
SEEDS = RNG.integers(3, 40, 150)
SPROUTED = RNG.binomial(SEEDS, special.expit(X[:, 0] - 0.5))
OFTEN = RNG.integers(1, 4, 150).astype(float)
LOG = sm.families.links.Log()
CASES = {
    "poisson": (PoissonRegressor(), CALLS, {"exposure": HOURS}, sm.families.Poisson(), {"exposure": HOURS}),
    "gamma": (GammaRegressor(), HOURS + CALLS, {"exposure": HOURS}, sm.families.Gamma(LOG), {"exposure": HOURS}),
    "gaussian": (GLM(), HOURS + X[:, 0] + CALLS, {"offset": HOURS}, sm.families.Gaussian(), {"offset": HOURS}),
    "binomial": (
        GLM("binomial"),
        SPROUTED,
        {"trials": SEEDS, "offset": 0.1 * HOURS},
        sm.families.Binomial(),
        {"offset": 0.1 * HOURS},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_score_is_the_share_of_deviance_beside_the_best_level_with_offsets(name: str) -> None:
    model, y, beside, family, theirs = CASES[name]
    model.fit(X, y, OFTEN, **beside)
    target = np.column_stack([y, SEEDS - y]) if name == "binomial" else y
    fit, level = (
        sm.GLM(target, design, family=family, freq_weights=OFTEN, **theirs).fit(tol=1e-14)
        for design in (sm.add_constant(X), np.ones((len(X), 1)))
    )
    score = model.score(X, y, OFTEN, **beside)
    assert score == pytest.approx(1 - fit.deviance / level.deviance, rel=1e-6)
    assert score == pytest.approx(model.summary().inference.explained, rel=1e-6)
    assert model.score(X, y / SEEDS if name == "binomial" else y, OFTEN) < score - 0.01


def test_trials_alone_score_as_shares_do() -> None:
    model = GLM("binomial").fit(X, SPROUTED, trials=SEEDS)
    assert model.score(X, SPROUTED, trials=SEEDS) == pytest.approx(model.score(X, SPROUTED / SEEDS, SEEDS))
    with pytest.raises(ValueError, match="successes must be between 0 and the trials"):
        model.score(X, SPROUTED, trials=np.ones(150))
    with pytest.raises(ValueError, match="exposure needs a log link"):
        model.score(X, SPROUTED, trials=SEEDS, exposure=HOURS)


KNOWN = 0.2 * (HOURS - 15)
TWO = (RNG.random(150) < special.expit(X[:, 0] + KNOWN)).astype(int)
THREE = np.array(["a", "b", "c"])[TWO + (RNG.random(150) < 0.3)]


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("make", [LogisticRegression, SoftmaxRegression])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_classifiers_answer_with_the_offsets_they_learnt_with(make: Any, y: np.ndarray, rows: Any) -> None:
    x = rows(X)
    model = make().fit(x, y, offset=KNOWN)
    scores = X @ model.coef_.T + model.intercept_
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(X)), scores[:, 0] + KNOWN])
    else:
        scores[:, :-1] += KNOWN[:, None]
    probability = special.softmax(scores, axis=1)
    np.testing.assert_allclose(model.predict_proba(x, offset=KNOWN), probability, rtol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(x, offset=KNOWN), np.log(probability), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(x, offset=KNOWN), model.classes_[probability.argmax(axis=1)])
    decision = model.decision_function(x, offset=KNOWN)
    np.testing.assert_allclose(decision, scores if decision.ndim == 2 else scores[:, 1] - scores[:, 0], rtol=1e-9)
    # At the optimum the probabilities of each class sum to its rows: with the offsets, and not without.
    counts = [(y == label).sum() for label in model.classes_]
    np.testing.assert_allclose(model.predict_proba(x, offset=KNOWN).sum(axis=0), counts, rtol=1e-6)
    right = (model.predict(x, offset=KNOWN) == y).mean()
    assert model.score(x, y, offset=KNOWN) == pytest.approx(right)
    if model.coef_.shape[0] == 1:  # the offsets are those that the classes were drawn with
        assert right > model.score(x, y)


@pytest.mark.needs("torch")
def test_offsets_on_other_arrays() -> None:
    import torch

    model = LogisticRegression().fit(X, TWO, offset=KNOWN)
    there = model.predict_proba(torch.asarray(X), offset=KNOWN)
    np.testing.assert_allclose(there.numpy(), model.predict_proba(X, offset=KNOWN), rtol=1e-9)


def test_an_offset_of_another_length_is_named() -> None:
    model = LogisticRegression().fit(X, TWO, offset=KNOWN)
    with pytest.raises(ValueError, match=r"X has 150 rows and offset has 3: there must be one per row"):
        model.predict(X, offset=KNOWN[:3])
