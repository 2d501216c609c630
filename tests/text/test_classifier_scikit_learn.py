"""Within scikit-learn: cross-validation, grids, parameters.

``sklearn.utils.estimator_checks`` does not apply: its checks hand over tables of numbers, and this model reads text.
What they would check of parameters, of clones and of classifiers in general is checked here.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.utils import get_tags

from suffice import TextClassifier
from suffice.text import Features, HashedVocabulary

from .corpora import GENERATIVE, classifier, corpus, each, each_form, each_vocabulary

SETTINGS = {
    "model": "boolean",
    "features": Features(runs=(1, 2), stop_words=("the",)),
    "vocabulary": HashedVocabulary(bits=9),
    "presence": True,
    "alpha": 0.25,
    "C": 3.0,
    "class_prior": [0.5, 0.25, 0.25],
    "temperature": 1.5,
    "min_documents": 2,
    "max_share": 0.5,
    "max_words": 100,
    "encoding": "latin-1",
    "n_jobs": 2,
}


@each_form
@each_vocabulary
def test_cross_validation_is_a_fit_for_each_fold(form: str, vocabulary: str) -> None:
    texts, y = corpus(90)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(texts, y))
    scores = cross_val_score(classifier(form, vocabulary), texts, y, cv=folds)
    by_hand = []
    for learned, held in folds:
        model = classifier(form, vocabulary).fit([texts[i] for i in learned], y[learned])
        by_hand.append(accuracy_score(y[held], model.predict([texts[i] for i in held])))
    np.testing.assert_allclose(scores, by_hand)
    assert scores.mean() > 0.5
    losses = cross_val_score(classifier(form, vocabulary), np.array(texts), y, cv=folds, scoring="neg_log_loss")
    assert np.isfinite(losses).all()


@each(GENERATIVE)
def test_a_grid_over_smoothing_and_features(form: str) -> None:
    texts, y = corpus(90)
    grid = {"alpha": [1e-3, 1.0, 1e3], "features": ["words", "characters", Features(runs=(1, 2))]}
    search = GridSearchCV(classifier(form), grid, cv=3, scoring="neg_log_loss").fit(texts, y)
    assert len(search.cv_results_["params"]) == 9
    scores = search.cv_results_["mean_test_score"]
    assert scores.max() - scores.min() > 0.01
    best = classifier(form, **search.best_params_).fit(texts, y)
    np.testing.assert_allclose(search.predict_proba(texts), best.predict_proba(texts))
    expected = [cross_val_score(classifier(form, **search.best_params_), texts, y, cv=3, scoring="neg_log_loss").mean()]
    np.testing.assert_allclose(scores.max(), expected)


def test_a_grid_over_forms() -> None:
    texts, y = corpus(60)
    search = GridSearchCV(classifier("multinomial"), {"model": ["multinomial", "bernoulli", "complement"]}, cv=3)
    assert search.fit(texts, y).best_estimator_.model_ == search.best_params_["model"]


def test_answers_of_other_tools_of_scikit_learn() -> None:
    texts, y = corpus(90)
    held_out = cross_val_predict(classifier("multinomial"), texts, y, cv=3, method="predict_proba")
    assert held_out.shape == (90, 3)
    calibrated = CalibratedClassifierCV(classifier("multinomial"), cv=3).fit(texts, y)
    assert (calibrated.predict(texts) == y).mean() > 0.7


def test_parameters_are_what_was_given() -> None:
    model = TextClassifier(**SETTINGS)
    assert model.get_params() == SETTINGS
    assert TextClassifier().set_params(**SETTINGS).get_params() == SETTINGS
    for name, value in SETTINGS.items():
        assert model.get_params()[name] is value
    with pytest.raises(ValueError, match="smoothing=3 is alpha=3"):
        model.set_params(smoothing=3)
    with pytest.raises(TypeError, match="takes from 1 to 2 positional arguments"):
        TextClassifier("multinomial", "words")
    assert "alpha=0.25" in repr(model)


def test_settings_are_looked_at_when_it_learns() -> None:
    for settings in ({"alpha": -1}, {"model": "oracle"}, {"features": "verbs"}, {"vocabulary": "small"}):
        model = TextClassifier(**settings)
        clone(model)
        with pytest.raises(ValueError, match=f"{next(iter(settings))} must be"):
            model.fit(["free", "lunch"], ["spam", "ham"])


@each_form
def test_a_clone_has_the_settings_and_nothing_else(form: str) -> None:
    texts, y = corpus(30)
    model = classifier(form, alpha=0.3, features=Features(runs=(1, 2))).fit(texts, y)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "classes_")
    assert set(vars(again)) == set(model.get_params())
    with pytest.raises(NotFittedError):
        again.predict(texts)
    np.testing.assert_allclose(again.fit(texts, y).predict_proba(texts), model.predict_proba(texts), atol=1e-12)


@each_form
def test_fitting_leaves_settings_and_documents_alone(form: str) -> None:
    texts, y = corpus(30)
    texts[0] = texts[0].encode()
    given, labels = list(texts), y.copy()
    model = classifier(form, encoding="latin-1")
    before = model.get_params()
    model.fit(texts, y).predict(texts)
    assert texts == given
    np.testing.assert_array_equal(y, labels)
    assert model.get_params() == before


@pytest.mark.parametrize(
    "ask",
    ["predict", "predict_proba", "predict_log_proba", "decision_function", "explain", "top_words", "sample", "save"],
)
def test_questions_before_learning(ask: str) -> None:
    model = TextClassifier()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(model, ask)(*([] if ask in ("top_words", "sample") else ["x"] if ask == "save" else [["free"]]))
    for name in ("alpha_", "temperature_", "vocabulary_", "statistics_"):
        with pytest.raises(NotFittedError):
            getattr(model, name)
    assert not hasattr(model, "classes_")


def test_what_scikit_learn_is_told() -> None:
    tags = get_tags(TextClassifier())
    assert is_classifier(TextClassifier())
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert tags.target_tags.required


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 2],
        [-1, 5, 1000],
        [True, False, True],
        [1.0, 2.0, 3.0],
        ["a", "b", "c"],
        np.array(["x", "yy", 3], dtype=object),
    ],
    ids=str,
)
def test_labels_of_any_kind(labels: object) -> None:
    texts, y = corpus(60)
    given = np.asarray(labels)[np.unique(y, return_inverse=True)[1]]
    model = classifier("multinomial").fit(texts, given)
    predicted = model.predict(texts)
    assert predicted.dtype == given.dtype
    assert set(model.classes_.tolist()) == set(given.tolist())
    assert (predicted == given).mean() > 0.6
