"""Wang and Manning 2012: naive Bayes on short texts, and logistic regression on its log-count ratios."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.papers import data
from benchmarks.papers.figures import BLACK, BLUE, ORANGE, markdown, percent, picture
from suffice import MultinomialNB
from suffice.selection import cross_validate

TITLE = "Wang and Manning 2012: simple baselines for sentiment and topic"
ARCHIVES = ["sentiment"]
SETS = {"rt-polarity.all": "rt-polarity", "subj.all": "Subj"}
WORDS = {"words": (1, 1), "words and pairs": (1, 2)}
#: Published accuracy in per cent: naive Bayes, and the support-vector machine on its log-count ratios.
PUBLISHED: dict[tuple[str, str], tuple[float, float | None]] = {
    ("rt-polarity", "words"): (77.9, None),
    ("rt-polarity", "words and pairs"): (79.0, 79.4),
    ("Subj", "words"): (92.6, None),
    ("Subj", "words and pairs"): (93.6, 93.2),
}


def run() -> str:
    """Measure, draw, and return the results."""
    from suffice import NBLogisticRegression

    ratios = NBLogisticRegression()
    rows, measured = [], {}
    for file, name in SETS.items():
        texts, y = data.lines("sentiment", file)
        for words, ngrams in WORDS.items():
            vectorizer = data.CountVectorizer(token_pattern=r"\S+", ngram_range=ngrams, binary=True, dtype=np.float64)
            X = vectorizer.fit_transform(texts)
            folds = StratifiedKFold(10, shuffle=True, random_state=0)
            bayes = float(cross_validate(MultinomialNB(), X, y, folds=folds).best_score)
            logistic = held_out(ratios, X, y, folds)
            quoted = ["" if figure is None else f"{figure:.1f} %" for figure in PUBLISHED[name, words]]
            rows.append([f"{name}, {words}", percent(bayes), quoted[0], percent(logistic), quoted[1]])
            measured[name, words] = (bayes, logistic)
    draw(measured)
    header = ["accuracy", "`MultinomialNB`", "published MNB", "`NBLogisticRegression`", "published NBSVM"]
    return (
        f"{markdown(header, rows)}\n\n"
        "Ten folds of shuffled rows; tokens are separated by blanks; presence of tokens, not counts. Naive Bayes has "
        "α = 1. Different from the paper: the folds; the vocabulary is that of all rows; `NBLogisticRegression` with "
        f"default settings (α = {ratios.alpha}, C = {ratios.C} towards naive Bayes), with the logistic loss instead "
        "of a support-vector machine."
    )


def held_out(model: Any, X: Any, y: Any, folds: StratifiedKFold) -> float:
    """Return a model's mean accuracy on the folds."""
    return float(np.mean([model.fit(X[train], y[train]).score(X[test], y[test]) for train, test in folds.split(X, y)]))


def draw(measured: dict[tuple[str, str], tuple[float, float]]) -> None:
    """Draw accuracies and the published ones, one panel for each set."""
    with picture("sentiment", 1, len(SETS), 3.2) as (figure, panels):
        for panel, name in zip(panels, SETS.values(), strict=True):
            for side, label, colour, marker in (
                (0, "naive Bayes", BLUE, "o"),
                (1, "logistic on its ratios", ORANGE, "s"),
            ):
                place = np.arange(len(WORDS)) + (side - 0.5) * 0.3
                panel.plot(
                    place,
                    [100 * measured[name, words][side] for words in WORDS],
                    marker,
                    color=colour,
                    markersize=8,
                    label=label,
                )
                quoted = [PUBLISHED[name, words][side] for words in WORDS]
                panel.plot(place, quoted, "x", color=BLACK, markersize=7, label="published" if side else None)
            panel.set_xticks(range(len(WORDS)), list(WORDS))
            panel.set(title=name, xlim=(-0.5, len(WORDS) - 0.5))
            panel.margins(y=0.2)
            panel.grid(visible=False, axis="x")
        panels[0].set_ylabel("accuracy, %")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
