"""The form of model that predicts held-out documents best."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import TextClassifier
from suffice.text import HashedVocabulary, candidates

from .corpora import FORMS, SPAM, SPAM_CLASSES, corpus


def test_all_forms_are_judged_and_the_best_is_taken() -> None:
    texts, y = corpus(120, seed=2)
    model = TextClassifier("auto").fit(texts, y)
    assert sorted(one.model for one in model.selection_) == sorted(FORMS)
    scores = [one.log_score for one in model.selection_]
    assert scores == sorted(scores, reverse=True)
    assert model.model_ == model.selection_[0].model
    same = TextClassifier(model.model_).fit(texts, y)
    np.testing.assert_allclose(model.predict_proba(texts), same.predict_proba(texts), atol=1e-12)


def test_judgement_is_by_documents_that_were_held_out() -> None:
    """Words that are in one document alone tell nothing about others, however well they tell it apart."""
    rng = np.random.default_rng(0)
    texts, y = [f"word{place}" for place in range(60)], rng.permutation(np.repeat(["a", "b"], 30))
    model = TextClassifier("auto").fit(texts, y)
    for one in model.selection_:
        assert one.log_score == pytest.approx(np.log(0.5), abs=0.1)


def test_a_chosen_model_goes_on_and_is_kept(tmp_path) -> None:
    import suffice

    texts, y = corpus(80, seed=3)
    model = TextClassifier("auto").fit(texts[:60], y[:60])
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    assert loaded.model_ == model.model_
    for each in (model, loaded):
        each.partial_fit(texts[60:], y[60:])
    np.testing.assert_allclose(loaded.predict_proba(texts), model.predict_proba(texts), atol=1e-12)


def test_slots_leave_out_the_form_that_asks_for_absent_words() -> None:
    texts, y = corpus(80, seed=3)
    model = TextClassifier("auto", vocabulary=HashedVocabulary(10)).fit(texts, y)
    assert sorted(one.model for one in model.selection_) == sorted(set(FORMS) - {"bernoulli"})
    assert np.isfinite(model.predict_proba(texts)).all()


def test_many_documents_are_judged_by_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, y = corpus(80, seed=3)
    every = TextClassifier("auto").fit(texts, y)
    monkeypatch.setattr(candidates, "MOST", 40)
    some = TextClassifier("auto").fit(texts, y)
    assert [one.log_score for one in some.selection_] != [one.log_score for one in every.selection_]
    assert some.statistics_.rows.sum() == 80


def test_presence_is_the_choice_of_each_form() -> None:
    with pytest.raises(ValueError, match="leave presence out"):
        TextClassifier("auto", presence=True).fit(SPAM, SPAM_CLASSES)


def test_a_class_with_one_document_cannot_be_held_out() -> None:
    with pytest.raises(ValueError, match="class 'alone' has fewer than two: name a model"):
        TextClassifier("auto").fit([*SPAM, "eggs"], [*SPAM_CLASSES, "alone"])
