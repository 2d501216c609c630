"""Naive Bayes of scikit-learn and of suffice on the same matrix: 20 Newsgroups, split by date, with headers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import naive_bayes

import suffice
from benchmarks.papers import data
from benchmarks.papers.figures import markdown

TITLE = "scikit-learn on the same split"
ARCHIVES = ["20news-bydate"]
MODELS: list[tuple[str, dict[str, Any]]] = [
    ("MultinomialNB", {"alpha": 1.0}),
    ("MultinomialNB", {"alpha": 0.01}),
    ("ComplementNB", {"alpha": 1.0}),
    ("BernoulliNB", {"alpha": 1.0}),
]


#: Text classifiers with default settings, on words, and on words and bigrams.
CLASSIFIERS = ("multinomial", "boolean", "bernoulli", "complement", "logistic", "nb_logistic")


def text_classifier_rows(train: list[str], test: list[str], y: Any, held: Any) -> list[list[str]]:
    """Return the accuracies of text classifiers with default settings."""
    rows = []
    for model in CLASSIFIERS:
        scores = [
            suffice.TextClassifier(model, features=features).fit(train, y).score(test, held)
            for features in (("words",) if model == "logistic" else ("words", "bigrams"))
        ]
        rows.append([f'`TextClassifier("{model}")`', *(f"{score:.4f}" for score in scores), *[""] * (2 - len(scores))])
    return rows


def run() -> str:
    """Measure, and return the results."""
    articles = data.articles()
    late = articles.late
    texts = np.array(articles.texts, dtype=object)
    train, test, y, held = (list(texts[~late]), list(texts[late]), articles.groups[~late], articles.groups[late])
    vectorizer = data.CountVectorizer()
    counts, more = vectorizer.fit_transform(train), vectorizer.transform(test)
    rows = []
    for name, settings in MODELS:
        ours, theirs = (
            getattr(library, name)(**settings).fit(counts, y).predict(more) for library in (suffice, naive_bayes)
        )
        arguments = ", ".join(f"{key}={value:g}" for key, value in settings.items())
        rows.append(
            [
                f"`{name}({arguments})`",
                *(f"{(each == held).mean():.4f}" for each in (ours, theirs)),
                f"{(ours != theirs).sum()} of {len(held):,}",
            ]
        )
    texts_header = ["test accuracy, default settings", "words", "words and pairs"]
    more_rows = text_classifier_rows(train, test, y, held)
    header = ["test accuracy", "suffice", "scikit-learn", "different predictions"]
    return (
        f"{markdown(header, rows)}\n\n{markdown(texts_header, more_rows)}\n\n"
        f"{len(train):,} training and {len(test):,} test articles with their headers, read as latin-1; "
        f"{counts.shape[1]:,} words of the training part, as in `CountVectorizer()`."
    )
