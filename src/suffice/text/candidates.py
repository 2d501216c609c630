"""Model selection for text: generative and discriminative models compared by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from suffice.kernels import Engine
from suffice.model_types import TextModelName
from suffice.selection import tuning
from suffice.selection.rows import Folds, Rows
from suffice.statistics.base import FloatArray
from suffice.text import Vocabulary
from suffice.text.document_rows import DocumentRows
from suffice.text.event_models import discriminative_model, naive_bayes
from suffice.text.naive_bayes import COUNTS_OCCURRENCES, DISCRIMINATIVE, GENERATIVE

FOLDS = 5
#: The greatest number of documents that are compared by; of more documents, a sample is drawn.
MOST = 20_000
ALPHAS = tuple(float(alpha) for alpha in np.logspace(-3, 1, 9))


@dataclass(frozen=True)
class Candidate:
    """A model and its held-out scores."""

    model: TextModelName
    log_score: float  # the mean log-probability of the true classes
    accuracy: float
    alpha: float | None = None  # the best smoothing, of generative models


def rank_candidates(documents: DocumentRows, alpha: Any, c: Any, engine: Engine) -> list[Candidate]:
    """Return all models, the best first, compared by cross-validation.

    Every fold is summed once: the generative models, at every smoothing, are read from the sums of the other folds. The
    discriminative ones are fitted for each fold.
    """
    index = _draw_documents(len(documents))
    rows = Rows(
        documents.counts[index].astype(np.float64), documents.codes[index], documents.weights[index], documents.labels
    )
    sizes = np.bincount(rows.codes, minlength=len(documents.labels))
    count = min(FOLDS, int(sizes.min()))
    if count < 2:
        smallest = documents.labels.names[int(sizes.argmin())]
        raise ValueError(
            f"model='auto' compares models by held-out documents, and class {smallest!r} has fewer than two: name a "
            "model"
        )
    split = StratifiedKFold(count, shuffle=True, random_state=0).split(rows.codes, rows.codes)
    parts = [held for _, held in split]
    exact = isinstance(documents.vocabulary, Vocabulary)
    names = [name for name in GENERATIVE if exact or name != "bernoulli"]  # which needs an exact vocabulary
    found = [_score_generative(name, rows, parts, alpha, engine) for name in names]
    found += [_score_discriminative(name, rows, parts, alpha, c, engine) for name in DISCRIMINATIVE]
    return sorted(found, key=lambda candidate: -candidate.log_score)


def _draw_documents(n: int) -> Any:
    if n <= MOST:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST, replace=False))


def _rows_of_model(name: TextModelName, x: Any) -> Any:
    """Return rows with every word counting once in a document, where the model counts so."""
    if name in COUNTS_OCCURRENCES:
        return x
    x = x.copy()
    x.data.fill(1.0)
    return x


def _score_generative(name: TextModelName, rows: Rows, parts: list[Any], alpha: Any, engine: Engine) -> Candidate:
    folds = Folds(Rows(_rows_of_model(name, rows.x), rows.codes, rows.weight, rows.labels), parts)
    alphas = ALPHAS if isinstance(alpha, str) else (float(alpha),)
    models = [naive_bayes(name, engine, alpha=each) for each in alphas]
    joints = tuning.held_out(models, folds, folds.others(models[0]))
    results = [
        _score(name, joint, folds, each) for each, joint in zip(alphas, joints, strict=True) if joint is not None
    ]
    return max(results, key=lambda candidate: candidate.log_score)


def _score_discriminative(
    name: TextModelName, rows: Rows, parts: list[Any], alpha: Any, c: Any, engine: Engine
) -> Candidate:
    x = _rows_of_model(name, rows.x)
    log_posterior = []
    for held in parts:
        rest = np.setdiff1d(np.arange(len(rows)), held)
        model, scale = discriminative_model(name, alpha, c, engine)
        model.fit(scale(x[rest]), rows.codes[rest], sample_weight=rows.weights[rest])
        log_posterior.append(model.predict_log_proba(scale(x[held])))
    return _score(name, np.concatenate(log_posterior), Folds(rows, parts), None, calibrated=True)


def _score(
    name: TextModelName, joint: FloatArray, folds: Folds, alpha: float | None, calibrated: bool = False
) -> Candidate:
    codes = np.concatenate([part.codes for part in folds.parts])
    weights = np.concatenate([part.weights for part in folds.parts])
    temperature = 1.0 if calibrated else tuning.best_temperature(joint, codes, weights)
    return Candidate(
        name,
        tuning.log_score(joint, codes, weights, temperature),
        float(np.average(joint.argmax(axis=1) == codes, weights=weights)),
        alpha,
    )
