"""Explanations of texts: contributions of words, which add up to the log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from suffice.text import HashedVocabulary, TextExplanation

from .corpora import (
    FORMS,
    SPAM,
    SPAM_CLASSES,
    classifier,
    corpus,
    each,
    each_form,
    each_generative,
    each_vocabulary,
)

FEW = (["free money, free!", "cheap money now", "lunch on monday?", "monday is fine"], ["spam", "spam", "ham", "ham"])


def log_odds(said: TextExplanation, against: Any) -> np.ndarray:
    """The log-odds of all classes against one of them."""
    return np.array([said.compare(label, against).total for label in said.scores.classes])


def words(said: TextExplanation) -> list[str]:
    """The known words of a text."""
    return list(said.scores.features)


def spam_model(**settings: Any) -> Any:
    return classifier("multinomial", alpha=1.0, **settings).fit(*FEW)


@each_form
@each_vocabulary
@pytest.mark.parametrize(
    ("classes", "auto"),
    [(2, True), (3, False), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((2, False), (3, True)))],
)
def test_contributions_and_base_add_up_to_log_odds(form: str, vocabulary: str, classes: int, auto: bool) -> None:
    texts, y = corpus(60, classes=classes)
    how = {"alpha": "auto", "temperature": "auto"} if auto else {}
    model = classifier(form, vocabulary, **how).fit(texts, y)
    asked = [*corpus(4, seed=1)[0], "", "zebra", "free FREE zebra free lunch lunch", "goal, goal! goal 東京"]
    log_p = model.predict_log_proba(asked)
    for text, expected, p in zip(asked, log_p, model.predict_proba(asked), strict=True):
        said = model.explain(text)
        assert said.prediction == model.predict([text])[0]
        assert said.probability == pytest.approx(p.max(), rel=1e-9)
        np.testing.assert_allclose(said.scores.probabilities, p, rtol=1e-9)
        for code, against in enumerate(model.classes_):
            assert model.explain(text, against=against).against == against
            np.testing.assert_allclose(log_odds(said, against), expected - expected[code], rtol=1e-9, atol=1e-9)
            for label in model.classes_:
                pair = said.compare(label, against)
                total = pair.base + sum(each.effect for each in pair.contributions)
                assert total == pytest.approx(pair.total, rel=1e-9, abs=1e-9)


@each_form
@pytest.mark.parametrize("features", ["bigrams", "characters"])
def test_features_that_are_no_words(form: str, features: str) -> None:
    texts, y = corpus(12)
    model = classifier(form, features=features).fit(texts, y)
    text = "free Money match zebra match"
    said = model.explain(text)
    log_p = model.predict_log_proba([text])[0]
    np.testing.assert_allclose(log_odds(said, model.classes_[0]), log_p - log_p[0], rtol=1e-9, atol=1e-9)
    if features == "bigrams":
        assert "free money" in [*words(said), *said.unseen]
        assert {"zebra", "match zebra", "zebra match"} <= set(said.unseen)
        assert said.scores.values[words(said).index("match")] == 2
    else:
        assert "fre" in words(said)
        assert "zebr" in said.unseen


@each_form
def test_words_outside_the_vocabulary_are_named(form: str) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    said = model.explain("Zebra money zebra, quagga money MONEY")
    assert said.unseen == ("zebra", "quagga")
    assert words(said) == ["money"]
    assert said.scores.values == [3]
    assert "not in the vocabulary: zebra, quagga" in str(said)
    known = model.explain("money")
    if form != "multinomial":  # where a word counts once, as often as it occurs is the same
        np.testing.assert_allclose(said.scores.parts, known.scores.parts)
    else:
        np.testing.assert_allclose(said.scores.parts, 3 * np.array(known.scores.parts))


@pytest.mark.parametrize("form", ["multinomial", "boolean"])
@pytest.mark.parametrize("text", ["zebra quagga", "", "?! ."])
def test_without_a_known_word_the_priors_decide(form: str, text: str) -> None:
    model = classifier(form, class_prior={"ham": 0.2, "spam": 0.8}).fit(SPAM, SPAM_CLASSES)
    said = model.explain(text)
    assert said.default == "the priors"
    np.testing.assert_allclose(said.scores.probabilities, [0.2, 0.8])
    assert "no known words: the prediction is that of the priors" in str(said)
    assert said.contributions == ()
    assert model.explain("money").default is None
    shares = classifier(form).fit(SPAM, SPAM_CLASSES).explain(text)
    np.testing.assert_allclose(shares.scores.probabilities, [0.4, 0.6])


@each(("bernoulli", "complement"))
def test_the_priors_are_said_to_decide_only_where_they_do(form: str) -> None:
    model = classifier(form, class_prior={"ham": 0.2, "spam": 0.8}).fit(SPAM, SPAM_CLASSES)
    said = model.explain("zebra")
    assert not np.allclose(said.scores.probabilities, [0.2, 0.8])
    assert "that of the priors" not in str(said)


def test_contributions_are_ordered_by_their_absolute_value() -> None:
    texts, y = corpus(60)
    model = classifier("multinomial").fit(texts, y)
    said = model.explain("free goal goal lunch the zebra")
    log_p = model.predict_log_proba(["free goal goal lunch the zebra"])[0]
    best, second = model.classes_[np.argsort(-log_p)[:2]]
    effects = [abs(each.effect) for each in said.contributions]
    assert effects == sorted(effects, reverse=True)
    counts = {each.feature: each.value for each in said.contributions}
    assert counts == {"free": 1, "goal": 2, "lunch": 1, "the": 1}
    assert said.compare(best, second) == said
    one, other = said.compare("sport", "private"), said.compare("private", "sport")
    assert one.total == -other.total
    assert [(name, -effect) for name, _, effect in one.contributions] == [
        (name, effect) for name, _, effect in other.contributions
    ]


def test_a_class_is_compared_with_the_most_probable_other_one() -> None:
    texts, y = corpus(60)
    model = classifier("multinomial").fit(texts, y)
    said = model.explain("free goal goal lunch")
    ranked = model.classes_[np.argsort(-np.array(said.scores.totals))]
    assert said.compare(ranked[2]) == said.compare(ranked[2], ranked[0])
    assert said.compare(ranked[0]) == said.compare(ranked[0], ranked[1]) == said
    assert said.compare(against=ranked[0]).prediction == ranked[1]


@each_form
def test_a_class_that_is_not_known(form: str) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    for ask in (
        lambda: model.explain("money", against="eggs"),
        lambda: model.explain("money").compare("eggs"),
        lambda: model.explain("money").compare("ham", "eggs"),
    ):
        with pytest.raises(ValueError, match=r"'eggs'.*known: \['ham', 'spam'\]"):
            ask()


@each_form
def test_slots_are_shown_as_the_words_of_the_text(form: str) -> None:
    model = classifier(form, "hashed").fit(SPAM, SPAM_CLASSES)
    said = model.explain("Free lunch, zebra")
    assert words(said) == ["free", "lunch", "zebra"]
    assert said.unseen == ()
    assert said.default is None
    assert "#" not in str(said)


@each(FORMS)
def test_words_that_share_a_slot_add_up(form: str) -> None:
    texts, y = corpus(40)
    model = classifier(form, vocabulary=HashedVocabulary(bits=3)).fit(texts, y)
    text = " ".join(texts[:3])
    log_p = model.predict_log_proba([text])[0]
    found = log_odds(model.explain(text), model.classes_[0])
    np.testing.assert_allclose(found, log_p - log_p[0], rtol=1e-9, atol=1e-9)


@each_form
def test_bytes_and_lists(form: str) -> None:
    model = classifier(form, encoding="latin-1").fit(["café money", "lunch monday"], ["spam", "ham"])
    text = "café zebra"
    said, read = model.explain(text), model.explain(text.encode("latin-1"))
    assert words(read) == words(said) == ["café"]
    assert read.unseen == ("zebra",)
    assert read == said
    several = model.explain([text, b"money", ""])
    assert [type(each) for each in several] == [TextExplanation] * 3
    assert [words(each) for each in several] == [["café"], ["money"], []]
    assert str(several[0]) == str(said)
    assert [words(each) for each in model.explain(np.array([text, "lunch"]))] == [["café"], ["lunch"]]
    assert model.explain([]) == []
    assert [each.against for each in model.explain(["money", "lunch"], against="spam")] == ["spam", "spam"]


def test_an_explanation_is_printed_as_text() -> None:
    assert str(spam_model().explain("Free, free lunch, friend")) == (
        "spam: probability 0.8182, log-odds +1.504 against ham\n"  # 9 / 11, log(9 / 2)
        "     +0.000  prior and base\n"
        "     +2.197  free × 2\n"  # 2 log(3)
        "     -0.693  lunch\n"  # -log(2)
        "  not in the vocabulary: friend"
    )
    assert str(spam_model(class_prior=[0.75, 0.25]).explain("zebra")) == (
        "ham: probability 0.7500, log-odds +1.099 against spam\n"
        "     +1.099  prior and base\n"
        "  no known words: the prediction is that of the priors\n"
        "  not in the vocabulary: zebra"
    )


def test_an_explanation_of_a_long_text_is_printed_in_short() -> None:
    texts, y = corpus(200)
    model = classifier("multinomial").fit(texts, y)
    said = model.explain(" ".join(model.vocabulary_) + " " + " ".join(f"new{i}" for i in range(12)))
    shown = str(said).splitlines()
    assert len(said.contributions) > 12
    assert len(shown) == 2 + 10 + 1 + 1
    assert shown[-2].endswith(f"{len(said.contributions) - 10} others")
    assert shown[-1] == "  not in the vocabulary: " + ", ".join(f"new{i}" for i in range(10)) + ", …"
    numbers = [float(line.split()[0]) for line in shown[1:-1]]
    np.testing.assert_allclose(sum(numbers), said.total, atol=0.01)


@each_generative
def test_one_class_alone(form: str) -> None:
    said = classifier(form).fit(["free money"], ["spam"]).explain("money zebra")
    assert (said.prediction, said.unseen, said.contributions) == ("spam", ("zebra",), ())
    assert str(said).startswith("spam: probability 1.0000")


@each(("multinomial", "boolean", "bernoulli", "complement"))
@pytest.mark.parametrize("text", ["free", "money cheap", "free lunch", "free money cheap lunch on monday is fine now"])
def test_impossible_classes(form: str, text: str) -> None:
    model = classifier(form, alpha=0.0).fit(SPAM, SPAM_CLASSES)
    said = model.explain(text)
    assert said.prediction == model.predict([text])[0]
    log_p = model.predict_log_proba([text])[0]
    with np.errstate(invalid="ignore"):
        expected = np.where(log_p == log_p[0], 0.0, log_p - log_p[0])
    np.testing.assert_allclose(log_odds(said, model.classes_[0]), expected, atol=1e-9)
    assert not np.isnan([each.effect for each in said.contributions]).any()
    assert "nan" not in str(said)


@each_form
@each_vocabulary
def test_the_default_settings_explain_themselves(form: str, vocabulary: str) -> None:
    texts, y = corpus(60)
    model = classifier(form, vocabulary, alpha="auto", temperature="auto").fit(texts, y)
    log_p = model.predict_log_proba(texts)
    for said, expected in zip(model.explain(texts), log_p, strict=True):
        np.testing.assert_allclose(log_odds(said, model.classes_[0]), expected - expected[0], rtol=1e-9, atol=1e-9)
