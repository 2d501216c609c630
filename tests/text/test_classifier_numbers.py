"""The numbers: scikit-learn's naive Bayes, and smoothing and temperature against brute force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.preprocessing import normalize

from suffice import TextClassifier
from suffice.kernels import Batch, ThreadEngine
from suffice.text import CountSpec, DocumentCounts, Documents, Features, HashedVocabulary
from suffice.text.count_matrix import count_features
from suffice.text.event_models import naive_bayes
from suffice.text.smoothing import DECADES, REFINEMENT, clip_counts, leave_one_out_scores

from .corpora import (
    GENERATIVE,
    SPAM,
    SPAM_CLASSES,
    assert_no_collisions,
    classifier,
    corpus,
    each,
    each_form,
    each_generative,
    each_vocabulary,
    presence_of,
    rows_of,
)

Array = npt.NDArray[Any]
#: What models are asked, beside what they know: nothing, no words, unknown words, some of everything.
STRANGE = ["", "?! .", "never heard", "FREE free Straße never goal 東京", "x" * 1000 + " money"]


def reference(form: str, **settings: Any) -> Any:
    kind = {"bernoulli": BernoulliNB, "complement": ComplementNB}.get(form, MultinomialNB)
    return kind(**settings)


def test_words_of_these_corpora_do_not_collide() -> None:
    assert_no_collisions()


# scikit-learn.


@pytest.mark.parametrize(
    ("form", "presence"),
    [*((form, each) for form in GENERATIVE for each in (None, True)), ("multinomial", False), ("complement", False)],
)
@each_vocabulary
@pytest.mark.parametrize(
    ("alpha", "classes"),
    [
        (3.0, 2),
        (0.01, 4),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((3.0, 4), (0.01, 2), (1.0, 2), (1.0, 4))),
    ],
)
def test_naive_bayes_as_scikit_learn_reads_it(
    form: str, vocabulary: str, alpha: float, presence: bool | None, classes: int
) -> None:
    texts, y = corpus(60, classes=classes)
    model = classifier(form, vocabulary, alpha=alpha, presence=presence).fit(texts, y)
    once = presence_of(form, presence)
    beside = reference(form, alpha=alpha).fit(rows_of(texts, model, once), y)
    asked = [*corpus(30, seed=1, classes=classes)[0], *STRANGE]
    rows = rows_of(asked, model, once)
    np.testing.assert_array_equal(model.classes_, beside.classes_)
    np.testing.assert_allclose(model.predict_log_proba(asked), beside.predict_log_proba(rows), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(asked), beside.predict_proba(rows), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(asked), beside.predict(rows))


@each_generative
@pytest.mark.parametrize("features", ["words", "bigrams", "characters"])
def test_features_as_scikit_learns_vectoriser_finds_them(form: str, features: str) -> None:
    ways = {
        "words": {},
        "bigrams": {"ngram_range": (1, 2)},
        "characters": {"analyzer": "char_wb", "ngram_range": (3, 5)},
    }
    texts, y = corpus(40)
    vectoriser = CountVectorizer(binary=presence_of(form), **ways[features])
    beside = reference(form, alpha=0.3).fit(vectoriser.fit_transform(texts), y)
    model = classifier(form, features=features, alpha=0.3).fit(texts, y)
    asked = [*corpus(20, seed=1)[0], *STRANGE]
    assert set(model.vocabulary_) == set(vectoriser.vocabulary_)
    expected = beside.predict_log_proba(vectoriser.transform(asked))
    np.testing.assert_allclose(model.predict_log_proba(asked), expected, rtol=1e-9, atol=1e-9)


@each_generative
@each_vocabulary
@pytest.mark.parametrize(
    "prior", [[0.2, 0.5, 0.3], {"sport": 0.3, "business": 0.2, "private": 0.5}], ids=["list", "dict"]
)
def test_priors_that_are_given(form: str, vocabulary: str, prior: Any) -> None:
    texts, y = corpus(60)
    model = classifier(form, vocabulary, class_prior=prior).fit(texts, y)
    once = presence_of(form)
    beside = reference(form, alpha=0.5, class_prior=[0.2, 0.5, 0.3]).fit(rows_of(texts, model, once), y)
    asked = corpus(30, seed=1)[0]
    expected = beside.predict_log_proba(rows_of(asked, model, once))
    np.testing.assert_allclose(model.predict_log_proba(asked), expected, rtol=1e-9, atol=1e-9)
    if form in ("multinomial", "boolean"):  # the others say something about a text without words
        np.testing.assert_allclose(model.predict_proba([""]), [[0.2, 0.5, 0.3]])


@each_generative
@each_vocabulary
def test_a_temperature_divides_log_odds(form: str, vocabulary: str) -> None:
    texts, y = corpus(60)
    cool = classifier(form, vocabulary).fit(texts, y)
    warm = classifier(form, vocabulary, temperature=2.5).fit(texts, y)
    expected = log_softmax(cool.predict_log_proba(texts) / 2.5, axis=1)
    np.testing.assert_allclose(warm.predict_log_proba(texts), expected, rtol=1e-9, atol=1e-9)
    assert (warm.temperature_, warm.alpha_) == (2.5, 0.5)


@each_form
@each_vocabulary
def test_readings_of_one_posterior_agree(form: str, vocabulary: str) -> None:
    for classes in (2, 3):
        texts, y = corpus(60, classes=classes)
        model = classifier(form, vocabulary).fit(texts, y)
        asked = [*corpus(30, seed=1)[0], *STRANGE]
        p, log_p = model.predict_proba(asked), model.predict_log_proba(asked)
        np.testing.assert_allclose(np.exp(log_p), p, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.predict(asked), model.classes_[p.argmax(axis=1)])
        odds = model.decision_function(asked)
        np.testing.assert_allclose(odds, log_p[:, 1] - log_p[:, 0] if classes == 2 else log_p, rtol=1e-9)
        assert model.score(asked, model.predict(asked)) == 1.0


# No smoothing.


def unsmoothed(form: str, rows: Array, y: Array, asked: Array) -> Array:
    """Return log p(text, class) with zeros in place, (n, k), by the definitions."""
    scores = []
    for label in np.unique(y):
        mine = rows[y == label]
        p = mine.mean(axis=0) if form == "bernoulli" else mine.sum(axis=0) / mine.sum()
        terms = np.where(asked > 0, asked * np.log(np.where(p > 0, p, 1)) + np.where(p > 0, 0, -np.inf), 0.0)
        if form == "bernoulli":
            q = 1 - p
            terms = np.where(asked > 0, terms, np.log(np.where(q > 0, q, 1)) + np.where(q > 0, 0, -np.inf))
        scores.append(np.log(len(mine) / len(y)) + terms.sum(axis=1))
    return np.stack(scores, axis=1)


@pytest.mark.parametrize("form", ["multinomial", "boolean", "bernoulli"])
@each_vocabulary
def test_without_smoothing_classes_can_be_impossible(form: str, vocabulary: str) -> None:
    texts, y = [*SPAM, "free lunch"], np.array([*SPAM_CLASSES, "ham"])
    model = classifier(form, vocabulary, alpha=0.0).fit(texts, y)
    asked = [*texts, "free", "lunch monday", "money lunch", "is fine monday", "", "zebra"]
    once = presence_of(form)
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = unsmoothed(form, rows_of(texts, model, once), y, rows_of(asked, model, once))
    possible = np.isfinite(joint).any(axis=1)
    assert 0 < possible.sum() < len(asked)
    assert not np.isfinite(joint[possible]).all()
    expected = np.exp(joint[possible] - logsumexp(joint[possible], axis=1, keepdims=True))
    p = model.predict_proba(asked)
    np.testing.assert_allclose(p[possible], expected, rtol=1e-9, atol=1e-300)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert not np.isnan(model.predict_log_proba(asked)).any()
    np.testing.assert_array_equal(model.predict(asked)[possible], model.classes_[joint[possible].argmax(axis=1)])


@each_vocabulary
def test_without_smoothing_the_complement_has_large_weights_only(vocabulary: str) -> None:
    model = classifier("complement", vocabulary, alpha=0.0).fit(SPAM, SPAM_CLASSES)
    log_p = model.predict_log_proba([*SPAM, "zebra"])
    assert np.isfinite(log_p).all()
    np.testing.assert_array_equal(model.predict(SPAM), SPAM_CLASSES)


@each_generative
def test_auto_fits_one_class_though_there_is_nothing_to_compare(form: str) -> None:
    texts = ["free money", "money"] * 10
    model = classifier(form, alpha="auto", temperature="auto").fit(texts, ["spam"] * 20)
    np.testing.assert_array_equal(model.predict_proba(["money", "lunch"]), [[1.0], [1.0]])
    assert np.isfinite(model.alpha_)
    assert model.temperature_ > 0


# Weights.


@each_generative
def test_weights_need_not_be_whole(form: str) -> None:
    texts, y = corpus(50)
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    model = classifier(form).fit(texts, y, sample_weight=weight)
    once = presence_of(form)
    beside = reference(form, alpha=0.5).fit(rows_of(texts, model, once), y, sample_weight=weight)
    asked = corpus(30, seed=1)[0]
    expected = beside.predict_log_proba(rows_of(asked, model, once))
    np.testing.assert_allclose(model.predict_log_proba(asked), expected, rtol=1e-9, atol=1e-9)


# Smoothing and temperature, from documents that are left out.


def counted(form: str, vocabulary: Any, texts: list[str], y: Array, weight: Array | None, labels: Any) -> Any:
    once = presence_of(form)
    counting = CountSpec(vocabulary=vocabulary, events=not once, presences=once)
    codes = labels.encode(y)
    return ThreadEngine().accumulate(DocumentCounts.over(labels, counting), Batch(Documents(texts), codes, weight))


def scored(form: str, rows: Array, table: Array, words: Array, alpha: float) -> Array:
    """Return how well each class goes with one document, (k,), by the definition of each form."""
    if form == "bernoulli":
        there = (table + alpha) / (rows + 2 * alpha)[:, None]
        # The absent count, not 1 - p: for rows without documents it keeps its digits.
        gone = (rows[:, None] - table + alpha) / (rows + 2 * alpha)[:, None]
        return np.where(words > 0, np.log(there), np.log(gone)).sum(axis=1)
    if form == "complement":
        table = table.sum(axis=0) - table
    log_p = np.log(table + alpha) - np.log((table + alpha).sum(axis=1, keepdims=True))
    return (log_p @ words) * (-1 if form == "complement" else 1)


def brute_force(form: str, model: Any, alphas: Array, texts: list[str], y: Array, weight: Array | None) -> Any:
    """Return the scores (a, m, k) of sampled documents when each is forgotten, their log-priors, codes and weights."""
    return scores_of(form, alphas, forgotten_one_by_one(form, model, texts, y, weight), model.statistics_.sample)


def scores_of(form: str, alphas: Array, left: list[tuple[Array, Array, Array]], sample: Any) -> Any:
    """Do the same, of documents and of the sums that were left when each was forgotten."""
    scores = [[scored(form, rows, table, seen, float(alpha)) for alpha in alphas] for seen, rows, table in left]
    with np.errstate(divide="ignore"):
        priors = [np.zeros(len(rows)) if form == "complement" else np.log(rows) for _, rows, _ in left]
    return np.stack(scores, axis=1), np.stack(priors), sample.codes, sample.weights


def forgotten_one_by_one(
    form: str, model: Any, texts: list[str], y: Array, weight: Array | None
) -> list[tuple[Array, Array, Array]]:
    """Return the words of each sampled document, and how many rows and words are left in each class without it."""
    whole = model.statistics_
    width = len(whole.documents)
    sample = whole.sample
    once = presence_of(form)
    dense = sample.rows(width).toarray()
    weights = np.ones(len(texts)) if weight is None else weight
    kinds = rows_of(texts, model, False)
    find = CountVectorizer().build_analyzer()
    groups: dict[Any, list[int]] = {}  # documents are alike where their words are, in their order
    for place, text in enumerate(texts):
        groups.setdefault((y[place], *find(text)), []).append(place)
    found = []
    for words, code, total in zip(dense, sample.codes, sample.weights, strict=True):
        label = list(whole.labels)[code]
        alike = next(
            each
            for each in groups.values()
            if y[each[0]] == label and (kinds[each[0]] == words).all() and weights[each].sum() == total
        )
        seen = np.minimum(words, 1) if once else words
        gone = counted(form, columns_like(model), [texts[i] for i in alike], y[alike], weights[alike], whole.labels)
        left = whole - gone
        # Forgetting takes words out that no document has any more; scores are over the words of all.
        table = np.zeros((len(whole.labels), width))
        kept = left.presences if once else left.events
        exact = isinstance(model.vocabulary, str)
        places = whole.vocabulary.columns_of(left.vocabulary) if exact else np.arange(width)
        table[:, places] = kept
        found.append((seen, left.rows, table))
    return found


def columns_like(model: Any) -> Any:
    from suffice.text import Vocabulary

    return Vocabulary() if model.vocabulary == "exact" else HashedVocabulary(model.vocabulary.bits)


def mean_log_p(joint: Array, codes: Array, weights: Array, temperature: float) -> float:
    """Return the mean log-probability of the true classes; one document cannot decide everything."""
    log_p = log_softmax(joint / temperature, axis=1)[np.arange(len(codes)), codes]
    return float(np.average(np.maximum(log_p, np.log(np.finfo(float).eps)), weights=weights))


def how_warm(joint: Array, codes: Array, weights: Array, temperature: float) -> float:
    """Return how well a temperature suits documents, and that it is thought to be about 1."""
    return weights.sum() * mean_log_p(joint, codes, weights, temperature) - np.log(temperature) ** 2 / 2


def criterion(form: str, alpha: float, scores: Array, priors: Array, codes: Array, weights: Array) -> float:
    """Return how well a smoothing suits documents, and that it is thought to be about 1, give or take a decade."""
    if form == "multinomial":
        mean = np.average(scores[np.arange(len(codes)), codes], weights=weights)
    else:
        joint = scores + priors
        spans = [(np.log(0.05), 0.0), (-1.0, 1.0), (0.0, np.log(100.0))]
        found = [
            minimize_scalar(lambda t: -how_warm(joint, codes, weights, np.exp(t)), bounds=span, method="bounded")
            for span in spans
        ]
        best = min(found, key=lambda each: each.fun)
        mean = mean_log_p(joint, codes, weights, np.exp(best.x))
    return float(weights.sum() * mean - np.log10(alpha) ** 2 / 2)


def assert_best_temperature(joint: Array, codes: Array, weights: Array, temperature: float) -> None:
    tried = [how_warm(joint, codes, weights, each) for each in np.logspace(-1, 3, 401)]
    assert how_warm(joint, codes, weights, temperature) >= max(tried) - 1e-5
    assert max(tried) - min(tried) > 1  # there was something to choose


def case(seed: int, weighted: bool) -> tuple[list[str], Array, Array | None]:
    texts, y = corpus(40, seed=seed)
    texts, y = (
        [*texts, texts[0], texts[0], "", " ".join(reversed(texts[1].split()))],
        np.append(y, [y[0], y[1], y[2], y[1]]),
    )
    weight = np.random.default_rng(seed).integers(1, 4, len(y)) / 2 if weighted else None
    return texts, y, weight


@each_generative
@pytest.mark.parametrize(
    ("vocabulary", "weighted"),
    [
        ("exact", True),
        ("hashed", False),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("exact", False), ("hashed", True))),
    ],
)
def test_leaving_documents_out_is_forgetting_them(form: str, vocabulary: str, weighted: bool) -> None:
    texts, y, weight = case(3, weighted)
    model = classifier(form, vocabulary).fit(texts, y, sample_weight=weight)
    counts = model.statistics_
    assert len(counts.sample) > 35
    alphas = np.array([1e-4, 0.03, 1.0, 50.0, 1e4])
    once = presence_of(form)
    found = leave_one_out_scores(
        form, counts, once, clip_counts(counts.sample) if once else counts.sample, alphas, ThreadEngine()
    )
    expected, _, _, _ = brute_force(form, model, alphas, texts, y, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@each_generative
@pytest.mark.parametrize(
    ("seed", "weighted"),
    [(0, False), (1, True), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((0, True), (1, False)))],
)
def test_auto_is_best_for_documents_left_out(form: str, seed: int, weighted: bool) -> None:
    texts, y, weight = case(seed, weighted)
    model = classifier(form, alpha="auto", temperature="auto").fit(texts, y, sample_weight=weight)
    left = forgotten_one_by_one(form, model, texts, y, weight)
    sample = model.statistics_.sample

    def tried(alphas: Array) -> list[float]:
        scores, *others = scores_of(form, alphas, left, sample)
        return [criterion(form, alpha, each, *others) for alpha, each in zip(alphas, scores, strict=True)]

    by_decade = tried(DECADES)
    near = DECADES[int(np.argmax(by_decade))] * REFINEMENT
    every = by_decade + tried(near)
    assert np.isclose(np.concatenate([DECADES, near]), model.alpha_, rtol=1e-9).any()
    assert tried(np.array([model.alpha_]))[0] >= max(every) - 1e-5
    assert max(every) - min(every) > 1  # there was something to choose
    (mine,), priors, codes, weights = scores_of(form, np.array([model.alpha_]), left, sample)
    assert_best_temperature(mine + priors, codes, weights, model.temperature_)


@each_generative
def test_only_what_is_auto_is_chosen(form: str) -> None:
    texts, y, _ = case(0, False)
    model = classifier(form, alpha=0.7, temperature="auto").fit(texts, y)
    assert model.alpha_ == 0.7
    (mine,), priors, codes, weights = brute_force(form, model, np.array([0.7]), texts, y, None)
    assert_best_temperature(mine + priors, codes, weights, model.temperature_)
    fixed = classifier(form, alpha="auto", temperature=4.0).fit(texts, y)
    assert fixed.temperature_ == 4.0
    assert fixed.alpha_ == classifier(form, alpha="auto", temperature="auto").fit(texts, y).alpha_


@pytest.mark.parametrize("form", ["multinomial", "boolean", "bernoulli"])
def test_priors_that_are_given_calibrate_too(form: str) -> None:
    texts, y, _ = case(0, False)
    prior = np.array([0.05, 0.05, 0.9])
    model = classifier(form, alpha=0.7, temperature="auto", class_prior=prior).fit(texts, y)
    (mine,), _, codes, weights = brute_force(form, model, np.array([0.7]), texts, y, None)
    assert_best_temperature(mine + np.log(prior), codes, weights, model.temperature_)
    assert model.temperature_ != classifier(form, alpha=0.7, temperature="auto").fit(texts, y).temperature_


@each_generative
def test_few_documents_choose_nothing(form: str) -> None:
    model = classifier(form, alpha="auto", temperature="auto").fit(SPAM, SPAM_CLASSES)
    assert (model.alpha_, model.temperature_) == (1.0, 1.0)
    many = classifier(form, alpha="auto", temperature="auto").fit(SPAM * 4, SPAM_CLASSES * 4)
    assert (many.alpha_, many.temperature_) != (1.0, 1.0)


# Words that are not read.


@each_form
@pytest.mark.parametrize(
    ("settings", "way"),
    [
        ({"min_documents": 12}, {"min_df": 12}),
        ({"max_share": 0.2}, {"max_df": 0.2}),
        ({"min_documents": 9, "max_share": 0.3}, {"min_df": 9, "max_df": 0.3}),
    ],
    ids=["few", "many", "both"],
)
def test_words_in_few_or_many_documents_are_not_read(form: str, settings: Any, way: Any) -> None:
    texts, y = corpus(60)
    vectoriser = CountVectorizer(binary=presence_of(form), **way)
    rows = vectoriser.fit_transform(texts)
    model = classifier(form, **settings).fit(texts, y)
    assert set(model.vocabulary_) == set(vectoriser.vocabulary_)
    assert len(model.vocabulary_) < len(classifier(form).fit(texts, y).vocabulary_)
    if form in ("nb_logistic", "logistic"):
        return
    expected = reference(form, alpha=0.5).fit(rows, y).predict_log_proba(vectoriser.transform(texts))
    np.testing.assert_allclose(model.predict_log_proba(texts), expected, rtol=1e-9, atol=1e-9)
    # They stay in the sum.
    every = classifier(form).fit(texts, y).predict_log_proba(texts)
    model = model.with_params(min_documents=1, max_share=1.0)
    np.testing.assert_allclose(model.predict_log_proba(texts), every, rtol=1e-12, atol=1e-12)


@each_form
def test_the_words_in_most_documents_are_read(form: str) -> None:
    texts, y = corpus(60)
    whole = classifier(form).fit(texts, y)
    documents = dict(zip(whole.vocabulary_, whole.statistics_.documents, strict=True))
    for most in (1, 5, 1000):
        model = classifier(form, max_words=most).fit(texts, y)
        assert len(model.vocabulary_) == min(most, len(documents))
        dropped = [documents[word] for word in documents if word not in model.vocabulary_]
        assert min(documents[word] for word in model.vocabulary_) >= max(dropped, default=0)


@pytest.mark.parametrize("form", ["boolean", "complement"])
def test_words_that_share_a_slot_count_once_each(form: str) -> None:
    texts, y = corpus(40)
    model = classifier(form, vocabulary=HashedVocabulary(bits=3)).fit(texts, y)
    once = [" ".join(dict.fromkeys(Features().of(text))) for text in texts]
    rows = rows_of(once, model, False)  # of two words in a slot there are two
    expected = reference(form, alpha=0.5).fit(rows, y).predict_log_proba(rows)
    np.testing.assert_allclose(model.predict_log_proba(texts), expected, rtol=1e-9, atol=1e-9)


def test_the_bernoulli_model_reads_no_slots() -> None:
    with pytest.raises(ValueError, match="use an exact vocabulary, or model='boolean'"):
        TextClassifier("bernoulli", vocabulary="hashed").fit(["free"], ["spam"])


def test_counts_of_slots_with_several_words_add_up() -> None:
    texts, y = corpus(40)
    model = classifier("multinomial", vocabulary=HashedVocabulary(bits=3)).fit(texts, y)
    expected = (
        MultinomialNB(alpha=0.5).fit(rows_of(texts, model, False), y).predict_log_proba(rows_of(texts, model, False))
    )
    np.testing.assert_allclose(model.predict_log_proba(texts), expected, rtol=1e-9, atol=1e-9)


def test_a_sample_decides_where_there_are_many_documents() -> None:
    """Of more documents than are kept, those with the lowest hashes are: the same whatever the order."""
    texts, y = corpus(3000)
    texts = [f"{text} n{place}" for place, text in enumerate(texts)]
    one = classifier("multinomial", alpha="auto", temperature="auto").fit(texts, y)
    order = np.random.default_rng(0).permutation(len(y))
    two = classifier("multinomial", alpha="auto", temperature="auto").fit([texts[i] for i in order], y[order])
    assert len(one.statistics_.sample) == 1024
    assert one.alpha_ == two.alpha_
    np.testing.assert_allclose(one.temperature_, two.temperature_, rtol=1e-9)
    sample = one.statistics_.sample
    assert (
        replace(sample, weights=two.statistics_.sample.weights).hashes.tolist()
        == two.statistics_.sample.hashes.tolist()
    )


@each((*GENERATIVE, "nb_logistic", "logistic"))
@pytest.mark.parametrize("presence", [True, False])
def test_texts_are_scored_as_the_rows_that_were_learnt(form: str, presence: bool) -> None:
    """What is asked about text, without rows, is what the model itself says about rows of what counts."""
    if not presence and form in ("boolean", "bernoulli"):
        pytest.skip("this form is about presence")
    texts, y = corpus(60, seed=4)
    texts = [f"{text} {text.split()[0]}" for text in texts]  # words that occur more than once
    model = classifier(form, presence=presence).fit(texts, y)
    reading = model._scorer  # noqa: SLF001
    rows = count_features([Documents(texts)], Features(), reading.vocabulary, ThreadEngine()).counts.astype(float)
    rows.sort_indices()
    if presence:
        rows.data.fill(1.0)
    assert presence or rows.data.max() > 1
    rows = normalize(rows) if form == "logistic" else rows
    of_rows = reading.model
    if form in GENERATIVE:
        settings = {"alpha": model.alpha_, "temperature": model.temperature_}
        of_rows = naive_bayes(form, ThreadEngine(), **settings).fit(rows, y)
    np.testing.assert_allclose(model.predict_proba(texts), of_rows.predict_proba(rows), rtol=1e-9, atol=1e-12)


def test_vocabularies_that_are_given_must_be_the_same_to_merge() -> None:
    one, two = (["aa", "bb", "cc", last] for last in ("dd", "ee"))
    models = [classifier("multinomial", vocabulary=words).fit(["aa dd", "bb ee"], ["a", "b"]) for words in (one, two)]
    with pytest.raises(ValueError, match="cannot be merged"):
        models[0] + models[1]
