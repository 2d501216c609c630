"""Small corpora, and the forms of model that learn from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from suffice import TextClassifier
from suffice.model_types import TEXT_MODEL_TYPES
from suffice.text import Features, HashedVocabulary

GENERATIVE = tuple(name for name, model in TEXT_MODEL_TYPES.items() if model.generative)
DISCRIMINATIVE = tuple(name for name, model in TEXT_MODEL_TYPES.items() if not model.generative)

#: Words of several scripts and cases; the first ones lean to the first class, and so on.
WORDS = [
    *("free", "Money", "WIN", "cheap", "offer", "straße", "lunch", "Monday", "fine", "meeting", "naïve", "Ünder"),
    *("goal", "match", "team", "player", "новости", "東京", "score", "don't", "x1", "snake_case", "the", "of", "and"),
]


def each(forms: tuple[str, ...]) -> Any:
    """Return the decorator of a test for forms of model."""
    return pytest.mark.parametrize("form", forms)


FORMS = (*GENERATIVE, *DISCRIMINATIVE)
each_form = each(FORMS)
each_generative = each(GENERATIVE)
each_discriminative = each(DISCRIMINATIVE)
each_vocabulary = pytest.mark.parametrize("vocabulary", ["exact", "hashed"])

SPAM = ["free money, free!", "cheap money now", "lunch on monday?", "monday is fine", "cheap cheap offer"]
SPAM_CLASSES = ["spam", "spam", "ham", "ham", "spam"]


def columns(vocabulary: str) -> Any:
    """Return the setting: few slots where it is hashed, so that tests are quick, and enough for WORDS not to meet."""
    return HashedVocabulary(bits=12) if vocabulary == "hashed" else vocabulary


def classifier(form: str, vocabulary: str = "exact", **settings: Any) -> Any:
    """Return a model with a smoothing and a temperature that are given."""
    settings = {"alpha": 0.5, "temperature": 1.0, "vocabulary": columns(vocabulary)} | settings
    if form == "bernoulli" and (
        settings["vocabulary"] == "hashed" or isinstance(settings["vocabulary"], HashedVocabulary)
    ):
        pytest.skip("the Bernoulli model reads no slots")
    return TextClassifier(form, **settings)


def corpus(n: int, seed: int = 0, classes: int = 3) -> tuple[list[str], npt.NDArray[Any]]:
    """Return texts of 1 to 12 words and their classes, of which every class has some."""
    random = np.random.default_rng(seed)
    y = random.permutation(np.concatenate([np.arange(classes), random.integers(0, classes, n - classes)]))
    texts = []
    for code in y:
        rates = np.exp(-((np.arange(len(WORDS)) - 6 * code) % len(WORDS)) / 6)
        drawn = random.choice(WORDS, random.integers(1, 13), p=rates / rates.sum())
        texts.append(random.choice([" ", ", ", "!\n"]).join(drawn))
    return texts, np.array(["business", "private", "sport", "world"])[y]


def presence_of(form: str, presence: bool | None = None) -> bool:
    """Return whether a word counts once in a document."""
    return form != "multinomial" if presence is None else presence


def rows_of(texts: list[str], model: Any, presence: bool) -> npt.NDArray[np.int64]:
    """Return documents as rows over a fitted model's columns: words as scikit-learn finds them, columns by name."""
    find = CountVectorizer().build_analyzer()
    width = len(model.vocabulary_)
    rows = np.zeros((len(texts), width), dtype=np.int64)
    for row, text in zip(rows, texts, strict=True):
        for column in model.vocabulary_.columns_of(find(text)):
            if column >= 0:
                row[column] += 1
    return np.minimum(rows, 1) if presence else rows


def assert_no_collisions() -> None:
    """Check that no two words share a slot: what is compared with exact words is then the same."""
    words = sorted({word for text in [*WORDS, *SPAM] for word in Features().of(text)})
    slots = HashedVocabulary(bits=12).columns_of(words)
    assert len(set(slots)) == len(words)
