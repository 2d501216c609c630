"""New classes and words in later batches, batches of any size, and forgetting, which undoes learning."""

from __future__ import annotations

from collections import Counter
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from suffice.statistics import NegativeEvidenceError
from suffice.text import HashedVocabulary, Vocabulary

from .corpora import (
    DISCRIMINATIVE,
    FORMS,
    GENERATIVE,
    SPAM,
    SPAM_CLASSES,
    classifier,
    corpus,
    each,
    each_form,
    each_generative,
    each_vocabulary,
    presence_of,
)

ASKED = ["free lunch", "money money Monday x1", "", "zebra", "東京 straße, don't!", "goal of the team"]
#: Every class has a document from the start: two of them can always be told apart.
FIRST = (["free money", "lunch monday", "team goal goal"], ["business", "private", "sport"])

words = st.sampled_from(["free", "Money", "lunch", "monday", "goal", "x1", "straße", "東京", "the", "a", "!"])
# Batches without any word have a test of their own.
texts = st.lists(words, max_size=5).map(lambda some: " ".join(["so", *some]))
documents = st.lists(st.tuples(texts, st.sampled_from(FIRST[1]), st.integers(1, 3)), max_size=6)


def kept(model: Any) -> Counter[Any]:
    """Return what a discriminative model keeps: how often, by weight, each document is in each class."""
    held = model.statistics_
    # Words of an exact vocabulary may be in any order; slots of a hashed one are what they are.
    exact = isinstance(held.vocabulary, Vocabulary)
    names = held.vocabulary.names() if exact else range(len(held.vocabulary))
    found: Counter[Any] = Counter()
    for row in range(len(held)):
        inside = slice(held.counts.indptr[row], held.counts.indptr[row + 1])
        bag = frozenset(
            (names[j], int(n)) for j, n in zip(held.counts.indices[inside], held.counts.data[inside], strict=True)
        )
        found[held.labels.names[held.codes[row]], bag] += held.weights[row]
    return found


def assert_same(one: Any, two: Any, asked: Any = ASKED) -> None:
    """Compare two models by what they say of texts, and by the words they know."""
    np.testing.assert_array_equal(one.classes_, two.classes_)
    if isinstance(one.vocabulary_, Vocabulary):
        assert set(one.vocabulary_) == set(two.vocabulary_)
    if one.model_ in DISCRIMINATIVE:
        # A fit is as near to its optimum as its solver stops; what it is fitted to is the same.
        assert kept(one) == kept(two)
        if one.model_ == "logistic":  # the other also depends on which alike documents are one, with a weight
            np.testing.assert_allclose(one.predict_proba(asked), two.predict_proba(asked), atol=1e-3)
        return
    np.testing.assert_allclose(one.predict_log_proba(asked), two.predict_log_proba(asked), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.predict_proba(asked), two.predict_proba(asked), rtol=1e-12, atol=1e-12)


def lists(some: Any) -> tuple[list[str], list[str], list[float]]:
    return [each[0] for each in some], [each[1] for each in some], [float(each[2]) for each in some]


# Learning.


@each_form
@each_vocabulary
@settings(max_examples=10)
@given(data=st.data())
def test_forgetting_undoes_learning(form: str, vocabulary: str, data: st.DataObject) -> None:
    stays = [(text, label, 1) for text, label in zip(*FIRST, strict=True)] + data.draw(documents)
    goes = data.draw(documents.filter(len))
    X, y, weight = lists(data.draw(st.permutations(stays + goes)))
    model = classifier(form, vocabulary).fit(X, y, sample_weight=weight)
    model.forget(*lists(goes)[:2], sample_weight=lists(goes)[2])
    X, y, weight = lists(stays)
    assert_same(model, classifier(form, vocabulary).fit(X, y, sample_weight=weight))


@each_form
@each_vocabulary
def test_learning_and_forgetting_one_by_one(form: str, vocabulary: str) -> None:
    X, y = corpus(25)
    model = classifier(form, vocabulary)
    for text, label in zip(X, y, strict=True):
        model.partial_fit([text], [label], classes=["business", "private", "sport"])
    assert_same(model, classifier(form, vocabulary).fit(X, y))
    for text, label in zip(X[15:], y[15:], strict=True):
        model.forget([text], [label])
    assert_same(model, classifier(form, vocabulary).fit(X[:15], y[:15]))


@each_generative
@each_vocabulary
def test_what_is_chosen_is_the_same_in_any_split(form: str, vocabulary: str) -> None:
    X, y = corpus(120, seed=5)
    whole = classifier(form, vocabulary, alpha="auto", temperature="auto").fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    streamed = classifier(form, vocabulary, alpha="auto", temperature="auto")
    for part in np.split(order, [7, 60, 61]):
        streamed.partial_fit([X[i] for i in part], y[part], classes=np.unique(y))
    assert streamed.alpha_ == whole.alpha_
    np.testing.assert_allclose(streamed.temperature_, whole.temperature_, rtol=1e-5)
    np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), rtol=1e-5, atol=1e-7)
    extra, labels = corpus(30, seed=6)
    streamed.partial_fit(extra, labels).forget(extra, labels)
    assert streamed.alpha_ == whole.alpha_
    np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), rtol=1e-5, atol=1e-7)


@each_form
def test_many_small_batches_and_a_large_one(form: str) -> None:
    """Small batches wait to be added, large ones do not."""
    X, y = corpus(40)
    long = [" ".join([text] * 500) for text in X]
    model = classifier(form)
    for start in range(0, 40, 8):
        model.partial_fit(X[start : start + 8], y[start : start + 8], classes=np.unique(y))
        model.partial_fit(long[start : start + 8], y[start : start + 8])
    assert_same(model, classifier(form).fit([*X, *long], [*y, *y]))


# Classes and words that come later.


@each(FORMS)
@each_vocabulary
def test_any_split_in_any_order_is_the_whole_though_classes_are_discovered(form: str, vocabulary: str) -> None:
    for seed in range(3):
        X, y = corpus(30, seed=seed, classes=4)
        random = np.random.default_rng(seed)
        streamed = classifier(form, vocabulary)
        for part in np.split(random.permutation(30), np.sort(random.choice(29, 3, replace=False) + 1)):
            streamed.partial_fit([X[i] for i in part], y[part])
        assert_same(streamed, classifier(form, vocabulary).fit(X, y))


@each_form
def test_batches_without_any_word(form: str) -> None:
    batches = [(["", "!"], ["ham", "spam"]), (SPAM, SPAM_CLASSES), (["?", ""], ["ham", "ham"]), ([], [])]
    model = classifier(form)
    for X, y in batches:
        model.partial_fit(X, y)
    whole = classifier(form).fit(["", "!", *SPAM, "?", ""], ["ham", "spam", *SPAM_CLASSES, "ham", "ham"])
    assert_same(model, whole)
    last = classifier(form).fit(SPAM, SPAM_CLASSES)
    assert_same(last.partial_fit([""], ["ham"]), classifier(form).fit([*SPAM, ""], [*SPAM_CLASSES, "ham"]))
    assert_same(last.forget([""], ["ham"]), classifier(form).fit(SPAM, SPAM_CLASSES))


@each(FORMS)
@each_vocabulary
def test_new_classes_and_words_in_later_batches(form: str, vocabulary: str) -> None:
    model = classifier(form, vocabulary).partial_fit(SPAM, SPAM_CLASSES)
    model.partial_fit(["agenda of the meeting", "free agenda"], ["work", "ham"])
    assert model.classes_.tolist() == ["ham", "spam", "work"]
    model.partial_fit(["aardvark", "meeting monday"], ["animals", "work"])  # first in the order of classes
    whole = classifier(form, vocabulary).fit(
        [*SPAM, "agenda of the meeting", "free agenda", "aardvark", "meeting monday"],
        [*SPAM_CLASSES, "work", "ham", "animals", "work"],
    )
    assert_same(model, whole, [*ASKED, "aardvark", "agenda"])
    assert model.predict(["aardvark"]) == ["animals"]


@each_form
@each_vocabulary
def test_classes_are_merged(form: str, vocabulary: str) -> None:
    X, y = corpus(60)
    one = classifier(form, vocabulary).fit(*_of(X, y, y != "sport"))
    two = classifier(form, vocabulary).fit(*_of(X, y, y != "business"))
    both = one + two
    assert both.classes_.tolist() == ["business", "private", "sport"]
    assert one.classes_.tolist() == ["business", "private"]
    X1, y1 = _of(X, y, y != "sport")
    X2, y2 = _of(X, y, y != "business")
    assert_same(both, classifier(form, vocabulary).fit([*X1, *X2], [*y1, *y2]))


@each(FORMS)
def test_adding_changes_neither_model(form: str) -> None:
    one = classifier(form).fit(["monday", "team team"], ["private", "sport"])
    two = classifier(form).fit(["lunch lunch team", "so free free"], ["private", "business"])
    before = one.predict_log_proba(ASKED), two.predict_log_proba(ASKED)
    _ = one + two, two + one
    assert_same(one, classifier(form).fit(["monday", "team team"], ["private", "sport"]))
    assert_same(two, classifier(form).fit(["lunch lunch team", "so free free"], ["private", "business"]))
    np.testing.assert_array_equal(one.predict_log_proba(ASKED), before[0])
    np.testing.assert_array_equal(two.predict_log_proba(ASKED), before[1])


def _of(X: list[str], y: Any, chosen: Any) -> tuple[list[str], Any]:
    return [X[i] for i in np.flatnonzero(chosen)], y[chosen]


@each_form
def test_classes_that_were_announced_are_all_there_are(form: str) -> None:
    model = classifier(form).partial_fit(SPAM, SPAM_CLASSES, classes=["spam", "ham"])
    before = model.predict_proba(SPAM)
    with pytest.raises(ValueError, match=r"y\[1\] is 'work'"):
        model.partial_fit(["free", "agenda"], ["ham", "work"])
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(["free"], ["ham"], classes=["ham", "eggs"])
    assert model.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_array_equal(model.predict_proba(SPAM), before)
    unfitted = classifier(form)
    with pytest.raises(ValueError, match=r"y\[0\] is 'spam'"):
        unfitted.partial_fit(SPAM, SPAM_CLASSES, classes=["ham", "eggs"])
    unfitted.partial_fit(SPAM, SPAM_CLASSES, classes=["ham", "spam"])
    assert_same(unfitted, model)


@each_generative
def test_an_announced_class_without_documents_has_no_probability(form: str) -> None:
    model = classifier(form).partial_fit(SPAM, SPAM_CLASSES, classes=["eggs", "ham", "spam"])
    assert model.classes_.tolist() == ["eggs", "ham", "spam"]
    p = model.predict_proba(ASKED)
    assert np.isfinite(p).all()
    if form != "complement":  # it has no priors
        np.testing.assert_array_equal(p[:, 0], 0.0)
        expected = classifier(form).fit(SPAM, SPAM_CLASSES).predict_proba(ASKED)
        np.testing.assert_allclose(p[:, 1:], expected, rtol=1e-9)


@each(DISCRIMINATIVE)
def test_an_announced_class_without_documents_is_never_predicted(form: str) -> None:
    model = classifier(form).partial_fit(SPAM, SPAM_CLASSES, classes=["eggs", "ham", "spam"])
    p = model.predict_proba(SPAM)
    assert p.shape == (len(SPAM), 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(SPAM), classifier(form).fit(SPAM, SPAM_CLASSES).predict(SPAM))


# Forgetting.


@each_form
@each_vocabulary
def test_what_was_never_learnt_is_not_forgotten(form: str, vocabulary: str) -> None:
    model = classifier(form, vocabulary).fit(SPAM, SPAM_CLASSES)
    before = model.predict_proba(SPAM)
    for X, y in [
        (["free money, free!", "free money, free!"], ["spam", "spam"]),
        (["free money, free!"], ["ham"]),
        (["free", "zebra"], ["spam", "spam"]),
        (SPAM, SPAM_CLASSES[::-1]),
    ]:
        with pytest.raises(NegativeEvidenceError, match=r"never (in the sum|learned)"):
            model.forget(X, y)
        np.testing.assert_array_equal(model.predict_proba(SPAM), before)
    with pytest.raises(ValueError, match="'work'"):
        model.forget(["free money, free!"], ["work"])
    np.testing.assert_array_equal(model.predict_proba(SPAM), before)


@each_form
def test_a_class_of_which_all_is_forgotten_stays_by_name(form: str) -> None:
    model = classifier(form).fit([*SPAM, "agenda"], [*SPAM_CLASSES, "work"]).forget(["agenda"], ["work"])
    assert model.classes_.tolist() == ["ham", "spam", "work"]
    assert "agenda" not in model.vocabulary_
    assert (model.predict(SPAM) == SPAM_CLASSES).all()


@each(FORMS)
def test_forgetting_leaves_a_given_vocabulary_alone(form: str) -> None:
    listed = ["free", "money", "monday", "lunch", "cheap"]
    model = classifier(form, vocabulary=listed).fit(SPAM, SPAM_CLASSES).forget(SPAM[:1], SPAM_CLASSES[:1])
    assert_same(model, classifier(form, vocabulary=listed).fit(SPAM[1:], SPAM_CLASSES[1:]))


@each_form
def test_a_given_vocabulary_does_not_grow(form: str) -> None:
    listed = ["free", "money", "monday", "never seen"]
    whole = classifier(form, vocabulary=listed).fit(SPAM, SPAM_CLASSES)
    assert list(whole.vocabulary_) == listed
    parts = classifier(form, vocabulary=listed).partial_fit(SPAM[:2], SPAM_CLASSES[:2], classes=["ham", "spam"])
    parts.partial_fit(SPAM[2:], SPAM_CLASSES[2:])
    assert_same(parts, whole)
    merged = classifier(form, vocabulary=listed).partial_fit(SPAM[:2], SPAM_CLASSES[:2]) + classifier(
        form, vocabulary=listed
    ).partial_fit(SPAM[2:], SPAM_CLASSES[2:])
    assert_same(merged, whole)


# Threads and settings.


@each_form
@each_vocabulary
def test_the_number_of_threads_changes_nothing(form: str, vocabulary: str) -> None:
    X, y = corpus(300)
    X = [" ".join([text] * 40) for text in X]  # enough for every thread to have a part
    one, three = (classifier(form, vocabulary, n_jobs=n).fit(X, y) for n in (1, 3))
    assert_same(one, three, X)
    if form not in DISCRIMINATIVE:
        np.testing.assert_array_equal(one.predict(X), three.predict(X))
        chosen = [each.with_params(alpha="auto").alpha_ for each in (one, three)]
        assert chosen[0] == chosen[1]


@each_generative
@pytest.mark.parametrize(
    ("vocabulary", "settings"),
    [
        (vocabulary, settings)
        for vocabulary in ("exact", "hashed")
        for settings in (
            {"alpha": 3.0},
            {"temperature": 2.0},
            {"alpha": "auto", "temperature": "auto"},
            {"class_prior": [0.7, 0.1, 0.2]},
        )
    ]
    + [("exact", {"min_documents": 5, "max_share": 0.4, "max_words": 9})],
    ids=str,
)
def test_settings_are_read_anew_without_a_second_pass(form: str, vocabulary: str, settings: Any) -> None:
    X, y = corpus(60)
    model = classifier(form, vocabulary).fit(X, y)
    before = model.predict_log_proba(X)
    held = model.statistics_
    model = model.with_params(**settings)
    assert_same(model, classifier(form, vocabulary, **settings).fit(X, y), X)
    assert model.statistics_ is held
    if not (form == "complement" and "class_prior" in settings):
        assert not np.allclose(model.predict_log_proba(X), before)


# What is refused changes nothing.

BAD = [
    ((["free", 3, "money"], ["ham", "ham", "spam"]), TypeError, r"documents\[1\] is of type int"),
    ((["free", None], ["ham", "ham"]), TypeError, r"documents\[1\] is of type NoneType"),
    ((["free", "money"], ["ham"]), ValueError, "2 rows and y has 1"),
    ((["free"], ["ham", "spam"]), ValueError, "1 rows and y has 2"),
    (("free", ["ham"]), ValueError, r"pass \[text\]"),
    ((["free"], None), ValueError, "y is missing"),
    ((["free"], [0.5]), ValueError, "continuous"),
]


@each_form
@pytest.mark.parametrize("method", ["fit", "partial_fit", "forget"])
def test_refused_batches_change_nothing(form: str, method: str) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    before, held, known = model.predict_proba(ASKED), model.statistics_, model.classes_.tolist()
    for batch, kind, words in BAD:
        with pytest.raises(kind, match=words):
            getattr(model, method)(*batch)
        assert model.statistics_ is held
        assert model.classes_.tolist() == known
        np.testing.assert_array_equal(model.predict_proba(ASKED), before)
    model.partial_fit(["more money"], ["spam"])
    assert_same(model, classifier(form).fit([*SPAM, "more money"], [*SPAM_CLASSES, "spam"]))


@each_form
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0], "X has 2 rows and sample_weight has 1"),
        ([-1.0, 1.0], r"sample_weight\[0\] is -1"),
        ([np.nan, 1.0], r"sample_weight\[0\] is nan"),
    ],
    ids=["short", "negative", "nan"],
)
def test_refused_weights_change_nothing(form: str, weight: Any, words: str) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    held = model.statistics_
    for method in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(ValueError, match=words):
            method(SPAM[:2], SPAM_CLASSES[:2], sample_weight=weight)
        assert model.statistics_ is held


@each_form
def test_a_stream_that_breaks_changes_nothing(form: str) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    before = model.predict_proba(ASKED)

    def stream() -> Any:
        yield ["agenda"], ["work"]
        yield ["agenda", 7], ["work", "ham"]

    with pytest.raises(TypeError, match=r"documents\[1\]"):
        model.fit(stream())
    np.testing.assert_array_equal(model.predict_proba(ASKED), before)


@each_form
def test_an_empty_batch_changes_nothing(form: str) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    before = model.predict_proba(ASKED)
    model.partial_fit([], [])
    np.testing.assert_allclose(model.predict_proba(ASKED), before, atol=1e-12)


def test_models_of_different_kinds_and_settings_do_not_merge() -> None:
    def fitted(form: str, **settings: Any) -> Any:
        return classifier(form, **settings).fit(SPAM, SPAM_CLASSES)

    with pytest.raises(TypeError, match="unsupported operand"):
        fitted("multinomial") + 3
    with pytest.raises(ValueError, match="model='multinomial' and model='bernoulli' cannot be merged"):
        fitted("multinomial") + fitted("bernoulli")
    with pytest.raises(ValueError, match="cannot be merged"):
        fitted("multinomial") + fitted("multinomial", features="bigrams")
    with pytest.raises(ValueError, match=r"vocabulary=.* cannot be merged"):
        fitted("multinomial") + fitted("multinomial", vocabulary=HashedVocabulary(10))
    with pytest.raises(ValueError, match=r"bits=9.* and .*bits=10.* cannot be merged"):
        fitted("multinomial", vocabulary=HashedVocabulary(9)) + fitted("multinomial", vocabulary=HashedVocabulary(10))
    with pytest.raises(ValueError, match="cannot be added or subtracted"):
        fitted("complement", presence=True) + fitted("complement", presence=False)


def test_presence_is_by_default_for_all_but_the_multinomial() -> None:
    for form in GENERATIVE:
        counts = classifier(form).fit(SPAM, SPAM_CLASSES).statistics_
        assert (counts.presences.size > 0) == presence_of(form)
        assert (counts.events.size > 0) != presence_of(form)
