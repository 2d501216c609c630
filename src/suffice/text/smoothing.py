"""Choice of smoothing and temperature of naive Bayes over text, by leave-one-out scores of a sample of documents.

Counts hold a sample of the documents. The score of each under the model of all other documents has a closed form:
without a document, only the counts of its own words in its own class and the total of that class are different.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from suffice import _native
from suffice.kernels import Batch, Engine
from suffice.model_types import TextModelName
from suffice.selection import tuning
from suffice.statistics.base import FloatArray
from suffice.text import DocumentCounts
from suffice.text.sample import DocumentSample

#: The smoothings that are compared: powers of ten first, then factors between the best one and its neighbours.
DECADES = np.logspace(-4, 4, 9)
REFINEMENT = np.logspace(-0.75, 0.75, 7)[[0, 1, 2, 4, 5, 6]]
_MOST_COUNTED = 1 << 20
#: The number of documents per class below which smoothing and temperature are 1.
FEWEST = 10
#: The standard deviation of the Gaussian prior of the logarithm of the smoothing, whose mean is 0.
PRIOR_DEVIATION = np.log(10.0)


@dataclass(frozen=True)
class Smoothing:
    """A smoothing and a temperature, and their leave-one-out score."""

    alpha: float
    temperature: float
    score: float


def choose_smoothing(
    name: TextModelName, counts: DocumentCounts, presence: bool, alpha: Any, prior: FloatArray | None, engine: Engine
) -> Smoothing:
    """Return the smoothing, unless it is given, and the temperature with the best leave-one-out score.

    The multinomial model is a model of documents: its smoothing maximises the probability of their words. The other
    models are not, or leave out how often words occur: their smoothing maximises the probability of the classes of
    documents, at the best temperature. So does the temperature of all models. Where documents are few, both are 1.

    Parameters
    ----------
    name
        The event model.
    counts
        The counts, with a sample of documents.
    presence
        Whether a word counts once in a document.
    alpha
        A number, or "auto".
    prior
        The class priors, (k,); None for the shares of the classes.
    engine
        The engine that scores the sample.
    """
    sample = clip_counts(counts.sample) if presence else counts.sample
    if sample.weights.sum() < FEWEST * len(counts.labels):
        return Smoothing(1.0 if isinstance(alpha, str) else float(alpha), 1.0, -np.inf)
    log_priors = _log_priors(name, counts, sample, prior)

    def score_alphas(alphas: FloatArray) -> list[tuple[float, float, FloatArray]]:
        all_scores = leave_one_out_scores(name, counts, presence, sample, alphas, engine)
        return [
            (_score(name, float(alpha), scores, log_priors, sample), float(alpha), scores)
            for alpha, scores in zip(alphas, all_scores, strict=True)
        ]

    results = score_alphas(DECADES if isinstance(alpha, str) else np.array([float(alpha)]))
    best = max(results, key=itemgetter(0))
    if isinstance(alpha, str):
        best = max([best, *score_alphas(best[1] * REFINEMENT)], key=itemgetter(0))
    score, smoothing, scores = best
    temperature = tuning.best_temperature(scores + log_priors, sample.codes, sample.weights)
    return Smoothing(smoothing, temperature, score)


def _score(
    name: TextModelName, alpha: float, scores: FloatArray, log_priors: FloatArray, sample: DocumentSample
) -> float:
    """Return the log-probability of the sample plus the log-prior of the smoothing."""
    codes, weights = sample.codes, sample.weights
    if name == "multinomial":
        mean = float(np.average(scores[np.arange(len(codes)), codes], weights=weights))
    else:
        joint = scores + log_priors
        mean = tuning.log_score(joint, codes, weights, tuning.best_temperature(joint, codes, weights))
    return weights.sum() * mean - np.log(alpha) ** 2 / (2 * PRIOR_DEVIATION**2) if alpha > 0 else mean


def clip_counts(sample: DocumentSample) -> DocumentSample:
    """Return the sample with every word counting once in a document."""
    return replace(sample, counts=np.ones_like(sample.counts))


def _log_priors(
    name: TextModelName, counts: DocumentCounts, sample: DocumentSample, prior: FloatArray | None
) -> FloatArray:
    """Return the log-priors of the classes without each document, (m, k)."""
    if name == "complement":
        return np.zeros((len(sample), len(counts.labels)))
    if prior is None:
        rows = np.tile(counts.rows, (len(sample), 1))
        rows[np.arange(len(sample)), sample.codes] -= sample.weights
        prior = np.maximum(rows, 0.0) / counts.rows.sum()
    with np.errstate(divide="ignore"):
        return np.broadcast_to(np.log(prior), (len(sample), len(counts.labels)))


def leave_one_out_scores(
    name: TextModelName,
    counts: DocumentCounts,
    presence: bool,
    sample: DocumentSample,
    alphas: FloatArray,
    engine: Engine,
) -> FloatArray:
    """Return the scores of each document under the counts of all others, (alphas, m, k)."""
    if name == "bernoulli":
        return np.stack([_leave_one_out_bernoulli(counts, sample, float(alpha)) for alpha in alphas])
    table = counts.presences if presence else counts.events
    totals = table.sum(axis=0) if name == "complement" else None
    rows = (sample.ends.astype(np.int64), sample.columns.astype(np.int64), np.asarray(sample.counts, dtype=np.float64))

    def score(batch: Batch, kernels: Any) -> FloatArray:
        scores: FloatArray = _native.text.left_out(
            np.ascontiguousarray(table),
            totals,
            *rows,
            np.ascontiguousarray(sample.codes, dtype=np.int64),
            np.ascontiguousarray(sample.weights),
            np.ascontiguousarray(alphas),
            batch.start,
            batch.stop,
        )
        return scores

    work = len(alphas) * len(counts.labels)
    return np.concatenate(list(engine.map(score, Batch(sample, work=work))), axis=1)


def _leave_one_out_bernoulli(counts: DocumentCounts, sample: DocumentSample, alpha: float) -> FloatArray:
    """Return the scores of the multivariate Bernoulli event model, (m, k)."""
    present, rows, codes = counts.presences, counts.rows, sample.codes
    document = np.repeat(np.arange(len(sample)), np.diff(sample.ends))
    scores = np.empty((len(sample), len(rows)))
    for k in range(len(rows)):
        seen = present[k, sample.columns]
        gain = np.log(seen + alpha) - np.log(rows[k] - seen + alpha)
        scores[:, k] = _log_empty(present[k], rows[k], alpha) + np.bincount(document, gain, len(sample))
        in_class = codes == k
        for weight in np.unique(sample.weights[in_class]):
            chosen = in_class & (sample.weights == weight)
            entries = chosen[document]
            left = np.maximum(seen[entries] - weight, 0.0)
            without = rows[k] - weight - seen[entries]  # the term of the word in base, which takes it for absent
            gain = np.log(left + alpha) - np.log(np.maximum(without, 0.0) + alpha)
            base = _log_empty(present[k], rows[k] - weight, alpha)
            scores[chosen, k] = base + np.bincount(document[entries], gain, len(sample))[chosen]
    return scores


def _log_empty(present: FloatArray, rows: float, alpha: float) -> float:
    """Return the log-probability of a document without words, with one logarithm for each distinct count."""
    if present.max(initial=0.0) < _MOST_COUNTED and not (present % 1).any():
        times = np.bincount(present.astype(np.int64))
        values = np.arange(len(times), dtype=np.float64)
    else:
        values, times = np.unique(present, return_counts=True)
    without = np.maximum(rows - values, 0.0) + alpha
    return float(times @ np.log(without)) - len(present) * float(np.log(max(rows, 0.0) + 2 * alpha))
