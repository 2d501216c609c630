"""The words that speak most for a class, and documents that a model writes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from .corpora import (
    FORMS,
    GENERATIVE,
    SPAM,
    SPAM_CLASSES,
    classifier,
    corpus,
    each,
    each_discriminative,
    each_form,
    each_generative,
    each_vocabulary,
    presence_of,
    rows_of,
)


def coefficients(form: str, model: Any, texts: list[str], y: Any) -> Any:
    """Return what each word adds to the log-probability of each class, (k, V), as scikit-learn has it."""
    rows = rows_of(texts, model, presence_of(form))
    if form == "bernoulli":
        log_p = BernoulliNB(alpha=0.5).fit(rows, y).feature_log_prob_
        return log_p - np.log1p(-np.exp(log_p))
    kind = ComplementNB if form == "complement" else MultinomialNB
    return kind(alpha=0.5).fit(rows, y).feature_log_prob_


@each_generative
@each_vocabulary
def test_top_words_are_farthest_from_the_mean(form: str, vocabulary: str) -> None:
    texts, y = corpus(60)
    model = classifier(form, vocabulary).fit(texts, y)
    coef = coefficients(form, model, texts, y)
    apart = coef - coef.mean(axis=0)
    for code, label in enumerate(model.classes_):
        found = model.top_words(label, n=6)
        np.testing.assert_allclose([odds for _, odds in found], np.sort(apart[code])[::-1][:6], rtol=1e-9)
        places = model.vocabulary_.columns_of([word for word, _ in found])
        np.testing.assert_allclose([odds for _, odds in found], apart[code, places], rtol=1e-9)


@each_form
def test_top_words_say_what_explanations_say(form: str) -> None:
    texts, y = corpus(60)
    model = classifier(form).fit(texts, y)
    words = list(model.vocabulary_)
    adds = np.stack([np.array(model.explain(word).scores.parts)[:, 0] for word in words], axis=1)
    apart = adds - adds.mean(axis=0)
    for code, label in enumerate(model.classes_):
        found = dict(model.top_words(label, n=len(words)))
        assert set(found) == set(words)
        np.testing.assert_allclose([found[word] for word in words], apart[code], rtol=1e-9, atol=1e-12)
        assert list(found.values()) == sorted(found.values(), reverse=True)


@each_form
@each_vocabulary
def test_how_many_and_of_which_class(form: str, vocabulary: str) -> None:
    model = classifier(form, vocabulary).fit(SPAM, SPAM_CLASSES)
    every = model.top_words(n=3)
    assert list(every) == ["ham", "spam"]
    assert every["spam"] == model.top_words("spam", n=3)
    assert [len(words) for words in every.values()] == [3, 3]
    assert len(model.top_words("ham")) == (10 if vocabulary == "hashed" else 9 + 1)
    with pytest.raises(ValueError, match=r"'eggs'.*known: \['ham', 'spam'\]"):
        model.top_words("eggs")


@each_form
def test_top_words_are_words(form: str) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    assert {word for word, _ in model.top_words("spam", n=3)} <= {"free", "money", "cheap", "now", "offer"}


@each(FORMS)
def test_top_words_of_slots_are_words(form: str) -> None:
    model = classifier(form, "hashed").fit(SPAM, SPAM_CLASSES)
    assert {word for word, _ in model.top_words("spam", n=3)} <= {"free", "money", "cheap", "now", "offer"}


@pytest.mark.parametrize("form", ["multinomial", "boolean"])
def test_top_words_without_smoothing(form: str) -> None:
    model = classifier(form, alpha=0.0).fit(SPAM, SPAM_CLASSES)
    assert {word for word, _ in model.top_words("ham", n=3)} <= {"lunch", "on", "monday", "is", "fine"}
    assert {word for word, _ in model.top_words("spam", n=3)} <= {"free", "money", "cheap", "now", "offer"}


# Documents.


def written(texts: list[str]) -> Counter[str]:
    return Counter(word for text in texts for word in text.split())


@pytest.mark.parametrize("form", ["multinomial", "boolean", "complement"])
def test_words_are_drawn_as_often_as_the_model_says(form: str) -> None:
    texts, y = corpus(200)
    model = classifier(form).fit(texts, y)
    rows = rows_of(texts, model, presence_of(form))
    p = np.exp(MultinomialNB(alpha=0.5).fit(rows, y).feature_log_prob_)
    words = list(model.vocabulary_)
    for code, label in enumerate(model.classes_):
        drawn, labels = model.sample(1500, y=label, random_state=code)
        assert (labels == label).all()
        counts = np.array([written(drawn)[word] for word in words])
        assert counts.sum() == sum(len(text.split()) for text in drawn)  # no other words
        expected = p[code] * counts.sum()
        z = (counts - expected) / np.sqrt(expected * (1 - p[code]))
        assert np.abs(z).max() < 4
        # As long as what was learned.
        lengths = np.array([len(text.split()) for text in drawn])
        mean = rows[y == label].sum(axis=1).mean()
        assert abs(lengths.mean() - mean) < 4 * np.sqrt(mean / len(drawn))


def test_words_are_there_as_often_as_the_model_says() -> None:
    texts, y = corpus(200)
    model = classifier("bernoulli").fit(texts, y)
    p = np.exp(BernoulliNB(alpha=0.5).fit(rows_of(texts, model, True), y).feature_log_prob_)
    words = list(model.vocabulary_)
    for code, label in enumerate(model.classes_):
        drawn, _ = model.sample(1500, y=label, random_state=code)
        counts = np.array([written(drawn)[word] for word in words])
        z = (counts - 1500 * p[code]) / np.sqrt(1500 * p[code] * (1 - p[code]))
        assert np.abs(z).max() < 4
        assert max(written([text]).most_common(1)[0][1] for text in drawn if text) == 1


@pytest.mark.parametrize("form", ["multinomial", "bernoulli"])
def test_what_is_written_can_be_learnt_again(form: str) -> None:
    texts, y = corpus(200)
    model = classifier(form).fit(texts, y)
    again = classifier(form).fit(*model.sample(4000, random_state=0))
    assert set(again.vocabulary_) <= set(model.vocabulary_)
    np.testing.assert_array_equal(again.classes_, model.classes_)
    asked = corpus(100, seed=1)[0]
    assert (again.predict(asked) == model.predict(asked)).mean() > 0.95
    assert np.abs(again.predict_proba(asked) - model.predict_proba(asked)).mean() < 0.03
    shares = [(y == label).mean() for label in model.classes_]
    np.testing.assert_allclose(again.statistics_.rows / 4000, shares, atol=0.03)


@each_generative
@each_vocabulary
def test_the_same_seed_draws_the_same_documents(form: str, vocabulary: str) -> None:
    model = classifier(form, vocabulary).fit(*corpus(60))
    one, two, other = (model.sample(20, random_state=seed) for seed in (0, 0, 1))
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])
    assert one[0] != other[0]
    drawn = [model.sample(20, random_state=np.random.default_rng(5))[0] for _ in range(2)]
    assert drawn[0] == drawn[1]


@each_generative
def test_classes_and_lengths_that_are_given(form: str) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    wanted = ["ham", "spam", "ham"]
    texts, labels = model.sample(3, y=wanted, random_state=0)
    assert labels.tolist() == wanted
    assert len(texts) == 3
    with pytest.raises(ValueError, match="'eggs'"):
        model.sample(2, y="eggs")
    if form != "bernoulli":
        texts, _ = model.sample(10, length=7, random_state=0)
        assert [len(text.split()) for text in texts] == [7] * 10


@each(GENERATIVE)
def test_no_documents_at_all(form: str) -> None:
    texts, labels = classifier(form).fit(SPAM, SPAM_CLASSES).sample(0)
    assert (texts, len(labels)) == ([], 0)


@each_discriminative
def test_discriminative_models_cannot_be_sampled(form: str) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    with pytest.raises(ValueError, match=f"model='{form}' is not a model of documents, and cannot draw any"):
        model.sample(3)
