"""Generative or discriminative: which form of model predicts documents best that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from suffice.generative import BernoulliNB, ComplementNB, MultinomialNB
from suffice.kernels import Engine
from suffice.selection import tuning
from suffice.selection.rows import Folds, Rows
from suffice.statistics.base import FloatArray
from suffice.text import Vocabulary
from suffice.text.document_rows import Kept
from suffice.text.event_models import COUNTING, DISCRIMINATIVE, GENERATIVE, Form
from suffice.text.scorer import discriminative

FOLDS = 5
#: Of more documents than this, so many are drawn to choose by.
MOST = 20_000
ALPHAS = tuple(float(alpha) for alpha in np.logspace(-3, 1, 9))


@dataclass(frozen=True)
class Candidate:
    """A form of model, and how well it predicts held-out documents."""

    model: Form
    log_score: float  # the mean log-probability of their classes
    accuracy: float
    alpha: float | None = None  # the best smoothing, of generative forms


def candidates(kept: Kept, alpha: Any, l2: Any, engine: Engine) -> list[Candidate]:
    """Return all forms of model, the best first, judged by cross-validation.

    Every fold is summed once: the generative forms, at every smoothing, are read from the sums of the other folds. The
    discriminative ones are fitted anew for each fold.
    """
    index = _drawn(kept)
    rows = Rows(kept.counts[index].astype(np.float64), kept.codes[index], kept.weights[index], kept.labels)
    count = min(FOLDS, int(np.bincount(rows.codes, minlength=len(kept.labels)).min()))
    if count < 2:
        few = kept.labels.names[int(np.bincount(rows.codes, minlength=len(kept.labels)).argmin())]
        raise ValueError(
            f"model='auto' holds documents out to compare models, and class {few!r} has fewer than two: name a model"
        )
    split = StratifiedKFold(count, shuffle=True, random_state=0).split(rows.codes, rows.codes)
    parts = [held for _, held in split]
    exact = isinstance(kept.vocabulary, Vocabulary)
    forms = [form for form in GENERATIVE if exact or form != "bernoulli"]  # which reads no slots
    found = [_generative(form, rows, parts, alpha, engine) for form in forms]
    found += [_discriminative(form, rows, parts, alpha, l2, engine) for form in DISCRIMINATIVE]
    return sorted(found, key=lambda one: -one.log_score)


def _drawn(kept: Kept) -> Any:
    if len(kept) <= MOST:
        return np.arange(len(kept))
    return np.sort(np.random.default_rng(0).choice(len(kept), MOST, replace=False))


def _seen(form: Form, x: Any) -> Any:
    """Return rows as a form of model reads them."""
    if form in COUNTING:
        return x
    x = x.copy()
    x.data.fill(1.0)
    return x


def _generative(form: Form, rows: Rows, parts: list[Any], alpha: Any, engine: Engine) -> Candidate:
    kinds: dict[str, Any] = {"bernoulli": BernoulliNB, "complement": ComplementNB}
    folds = Folds(Rows(_seen(form, rows.x), rows.codes, rows.weight, rows.labels), parts)
    alphas = ALPHAS if isinstance(alpha, str) else (float(alpha),)
    settings = {"binarize": None} if form == "bernoulli" else {}
    models = [kinds.get(form, MultinomialNB)(alpha=each, n_jobs=engine.n_jobs, **settings) for each in alphas]
    joints = tuning.held_out(models, folds, folds.others(models[0]))
    results = [
        _judged(form, joint, folds, each) for each, joint in zip(alphas, joints, strict=True) if joint is not None
    ]
    return max(results, key=lambda one: one.log_score)


def _discriminative(form: Form, rows: Rows, parts: list[Any], alpha: Any, l2: Any, engine: Engine) -> Candidate:
    seen = _seen(form, rows.x)
    joint = []
    for held in parts:
        known = np.setdiff1d(np.arange(len(rows)), held)
        model, scale = discriminative(form, alpha, l2, engine)
        model.fit(scale(seen[known]), rows.codes[known], sample_weight=rows.weights[known])
        joint.append(model.predict_log_proba(scale(seen[held])))
    folds = Folds(rows, parts)
    return _judged(form, np.concatenate(joint), folds, None, calibrated=True)


def _judged(form: Form, joint: FloatArray, folds: Folds, alpha: float | None, calibrated: bool = False) -> Candidate:
    codes = np.concatenate([part.codes for part in folds.parts])
    weights = np.concatenate([part.weights for part in folds.parts])
    temperature = 1.0 if calibrated else tuning.best_temperature(joint, codes, weights)
    return Candidate(
        form,
        tuning.log_score(joint, codes, weights, temperature),
        float(np.average(joint.argmax(axis=1) == codes, weights=weights)),
        alpha,
    )
