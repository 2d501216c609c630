"""Class priors with Laplace smoothing: a class without rows keeps a probability."""

from __future__ import annotations

import numpy as np
import pytest

import suffice
from suffice import GDA, BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB, TextClassifier
from suffice.selection import cross_validate

X = np.array([[1, 0], [0, 2], [3, 1], [1, 1]])
Y = ["ham", "ham", "ham", "spam"]


@pytest.mark.parametrize("model", [MultinomialNB(class_prior="laplace"), PoissonNB(priors="laplace")])
def test_a_row_more_of_each_class(model):
    model.fit(X, Y)
    np.testing.assert_allclose(model.joint_.prior, [4 / 6, 2 / 6])
    more = model.partial_fit(X[:1], ["spam"])
    np.testing.assert_allclose(more.joint_.prior, [4 / 7, 3 / 7])


@pytest.mark.parametrize("kind", [BernoulliNB, CategoricalNB])
def test_a_class_without_rows_is_possible(kind):
    rows = X > 0
    plain = kind().partial_fit(rows[:3], Y[:3], classes=["ham", "spam"])
    smoothed = kind(class_prior="laplace").partial_fit(rows[:3], Y[:3], classes=["ham", "spam"])
    assert (plain.predict_proba(rows)[:, 1] == 0).all()
    assert (smoothed.predict_proba(rows)[:, 1] > 0).all()


def test_priors_of_folds_are_smoothed():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(40, 2)), random.integers(0, 2, 40)
    found = cross_validate(GaussianNB(), x, y, {"priors": [None, "laplace"]}, scoring="neg_log_loss")
    assert found.mean[0] != found.mean[1]


def test_other_words_raise():
    with pytest.raises(ValueError, match="priors must be 'laplace', an array, a dictionary or None; got 'uniform'"):
        GDA(priors="uniform").fit(X.astype(float), ["a", "a", "b", "b"]).predict(X)
    with pytest.raises(ValueError, match="class_prior must be 'laplace'"):
        MultinomialNB(class_prior="uniform").fit(X, Y).predict(X)


def test_smoothed_priors_of_a_loaded_model(tmp_path):
    rows = X.astype(float)
    for model in (GDA("diagonal", priors="laplace", shrinkage=0.1), MultinomialNB(class_prior="laplace")):
        path = tmp_path / type(model).__name__
        model.fit(rows, ["a", "a", "b", "b"]).partial_fit(rows[:1], ["a"]).save(path)
        np.testing.assert_array_equal(suffice.load(path).predict_proba(rows), model.predict_proba(rows))
        np.testing.assert_allclose(suffice.load(path).joint_.prior, [4 / 7, 3 / 7])


def test_smoothed_priors_of_texts():
    texts, labels = ["free money", "lunch", "lunch at noon"], ["spam", "ham", "ham"]
    smoothed = TextClassifier(class_prior="laplace").fit(texts, labels)
    given = TextClassifier(class_prior=[3 / 5, 2 / 5]).fit(texts, labels)
    np.testing.assert_allclose(smoothed.predict_proba(["free lunch"]), given.predict_proba(["free lunch"]))
