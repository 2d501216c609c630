"""The page itself: its head, its sections under headings, what its words mean, and how it looks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path

import suffice
from suffice.report.markup import Section, paragraph, plural, text
from suffice.report.metrics_section import baselines, measure
from suffice.report.report_data import Seen

#: The measures in large type, and what is said under each.
_HEADLINES = {
    "classes": {
        "accuracy": "of rows get their own class",
        "ROC AUC": "chance that of two rows, one of each class, the right one is given more",
        "log loss": "mean of −log p of what came true; 0 is best",
        "calibration error": "how far probabilities are from what they promise; 0 is best",
    },
    "numbers": {
        "R²": "of the variance is explained; 1 is best",
        "RMSE": "typical error; large ones weigh more",
        "MAE": "mean error",
    },
    "counts": {
        "Poisson deviance": "0 is best",
        "R²": "of the variance is explained; 1 is best",
        "MAE": "mean error",
    },
}
_GLOSSARY = {
    "accuracy": "The share of rows whose most probable class is their own.",
    "log loss": "The mean of −log p, where p is the probability that was given to what came true. To be sure and wrong "
    "costs much.",
    "Brier score": "The mean square distance of the probabilities from what came true; 0 is best.",
    "calibration error": "The mean distance between how sure the model is and how often it is right.",
    "ROC AUC": "Of two rows, one of each class, how often the one of the second class is given the higher probability.",
    "RMSE": "The root of the mean square of the errors: about the size of a typical error, large ones weighing more.",
    "MAE": "The mean of the errors' sizes.",
    "R²": "The share of the target's variance that predictions explain: 1 is perfect, 0 no better than the mean.",
    "Poisson deviance": "How much less probable the counts are under the expected rates than under the best ones.",
    "precision": "Of the rows that are said to be of a class, the share that are.",
    "recall": "Of the rows of a class, the share that are said to be so.",
    "log-odds": "The logarithm of p divided by 1 − p. Reasons add up on this scale: +0.7 doubles the odds, −0.7 halves "
    "them.",
    "prior and base": "What is known before any column is looked at: mostly how frequent classes are.",
    "generative": "A model that describes the rows of each class, and decides by which description fits better.",
    "discriminative": "A model that learns the answer alone, without describing rows.",
    "cross-validation": "Rows are cut into parts; each is predicted by a model that has learnt from the others only.",
    "blind guess": "The best that can be said without looking at any column: always the same.",
}
_ALWAYS = ("generative", "discriminative", "cross-validation", "blind guess")
_OF_CLASSES = ("precision", "recall", "log-odds", "prior and base")


def page(seen: Seen, sections: Sequence[Section], path: Path, when: date) -> str:
    """Return the page."""
    style = (files(__package__) / "page.css").read_text(encoding="utf-8")
    title = f"Predicting {seen.target}"
    links = "".join(f'<li><a href="#{each.id}">{text(each.title)}</a></li>' for each in sections)
    parts = "".join(
        f'<section id="{each.id}" aria-labelledby="{each.id}-title">'
        f'<h2 id="{each.id}-title">{text(each.title)}</h2>{each.body}</section>'
        for each in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="suffice {text(suffice.__version__)}">\n'
        f"<title>{text(title)}: a report</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{_head(seen, title, when)}\n"
        f'<nav aria-label="Sections"><ol>{links}</ol></nav>\n<main>\n{parts}\n</main>\n'
        f"{_foot(seen, path, when)}\n</body>\n</html>\n"
    )


def _date(when: date) -> str:
    return f"{when.day} {when:%B %Y}"


def _head(seen: Seen, title: str, when: date) -> str:
    model = seen.model
    fitted = plural(model.rows_, "row")
    if model.fitted_rows_ < model.rows_:
        fitted = f"{model.fitted_rows_:,} of {fitted}, drawn at random"
    lead = paragraph(
        f"{_capital(model.predictor_.form.title)}, learnt from {fitted}; looked at on {plural(seen.rows, 'row')} of "
        f"{seen.name}."
    )
    return (
        f'<header><p class="about">A report by suffice {text(suffice.__version__)}, '
        f'<time datetime="{when.isoformat()}">{_date(when)}</time></p>'
        f"<h1>{text(title)}</h1>{lead}<dl>{_headlines(seen)}</dl></header>"
    )


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _headlines(seen: Seen) -> str:
    """Return the measures in large type: of rows held out, where the table holds the rows that were learned from."""
    here, unseen, blind = seen.evaluation.summary(), seen.held_out, baselines(seen)
    is_unseen = seen.is_learned and bool(unseen)
    found, other = (unseen, here) if is_unseen else (here, unseen)
    cards = []
    for name in [name for name in _HEADLINES[seen.task] if name in found][:3]:
        beside = f"; a blind guess: {blind[name]}" if name in blind and name not in ("ROC AUC", "R²") else ""
        if name in other:
            rows = "on the rows it learned from" if is_unseen else "on rows held out when it was fitted"
            beside += f"; {rows}: {measure(name, other[name])}"
        whose = ", on rows held out" if is_unseen else ""
        cards.append(
            f"<div><dt>{text(_capital(name) + whose)}</dt><dd>{text(measure(name, found[name]))}</dd>"
            f"<dd>{text(_HEADLINES[seen.task][name] + beside)}</dd></div>"
        )
    return "".join(cards)


def _foot(seen: Seen, path: Path, when: date) -> str:
    measures = list(seen.evaluation.summary())
    words = [*measures, *(_OF_CLASSES if seen.task == "classes" else ()), *_ALWAYS]
    glossary = "".join(
        f"<div><dt>{text(_capital(word))}</dt><dd>{text(_GLOSSARY[word])}</dd></div>"
        for word in words
        if word in _GLOSSARY
    )
    command = f"suffice report MODEL {shlex.quote(seen.name)} -o {shlex.quote(path.name)}"
    return (
        f'<footer><section aria-labelledby="words-title"><h2 id="words-title">What the words mean</h2>'
        f'<dl class="glossary">{glossary}</dl></section>'
        '<section aria-labelledby="again-title"><h2 id="again-title">To make this page again</h2>'
        f"<pre><code>{text(command)}</code></pre>"
        f"<p>Written on {_date(when)} by suffice {text(suffice.__version__)}. MODEL is the model's file.</p>"
        "</section></footer>"
    )
