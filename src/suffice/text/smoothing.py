"""Smoothing and temperature of naive Bayes over text, chosen from what was counted in the one pass.

The counts come with a sample of the documents. Each of them is scored under what all other documents teach: in closed
form, since leaving a document out changes the counts of its own words in its own class, and the length of that class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from suffice import _native
from suffice.kernels import Batch, Engine
from suffice.selection import tuning
from suffice.statistics.base import FloatArray
from suffice.text import DocumentCounts
from suffice.text.event_models import Form
from suffice.text.sample import DocumentSample

#: The smoothings that are tried: every decade first, then those between the best and its neighbours.
DECADES = np.logspace(-4, 4, 9)
BETWEEN = np.logspace(-0.75, 0.75, 7)[[0, 1, 2, 4, 5, 6]]
_MANY = 1 << 20
#: With fewer documents than this for each class, there is nothing to choose by.
FEW = 10
#: Before any document, the log of the smoothing is thought to be about 0, give or take this.
WIDTH = np.log(10.0)


@dataclass(frozen=True)
class Chosen:
    """A smoothing and a temperature, and how well documents are predicted that are left out."""

    alpha: float
    temperature: float
    score: float  # the higher, the better


def choose(
    form: Form, counts: DocumentCounts, presence: bool, alpha: Any, prior: FloatArray | None, engine: Engine
) -> Chosen:
    """Return the smoothing, unless it is given, and the temperature that suit documents best that are left out.

    The multinomial model says how documents are written: its smoothing is the one under which their words are most
    probable. The other forms do not, or leave out how often words occur: theirs is the one under which the classes of
    documents are most probable, at the best temperature. So is the temperature.
    Where documents are few, both are 1.

    Parameters
    ----------
    form
        Which naive Bayes.
    counts
        What was counted, with a sample of documents.
    presence
        Whether a word counts once in a document.
    alpha
        A number, or "auto".
    prior
        The class priors, (k,); None for the classes' shares of the documents.
    engine
        What shares the work.
    """
    sample = scored_sample(counts.sample, presence)
    if sample.weights.sum() < FEW * len(counts.labels):
        return Chosen(1.0 if isinstance(alpha, str) else float(alpha), 1.0, -np.inf)
    log_priors = _log_priors(form, counts, sample, prior)

    def tried(alphas: FloatArray) -> list[tuple[float, float, FloatArray]]:
        every = left_out_scores(form, counts, presence, sample, alphas, engine)
        return [
            (_score(form, float(alpha), scores, log_priors, sample), float(alpha), scores)
            for alpha, scores in zip(alphas, every, strict=True)
        ]

    results = tried(DECADES if isinstance(alpha, str) else np.array([float(alpha)]))
    best = max(results, key=itemgetter(0))
    if isinstance(alpha, str):
        best = max([best, *tried(best[1] * BETWEEN)], key=itemgetter(0))
    score, smoothing, scores = best
    temperature = tuning.best_temperature(scores + log_priors, sample.codes, sample.weights)
    return Chosen(smoothing, temperature, score)


def _score(form: Form, alpha: float, scores: FloatArray, log_priors: FloatArray, sample: DocumentSample) -> float:
    """Return how well a smoothing suits the sample; without documents to tell, 1 suits best."""
    codes, weights = sample.codes, sample.weights
    if form == "multinomial":
        mean = float(np.average(scores[np.arange(len(codes)), codes], weights=weights))
    else:
        joint = scores + log_priors
        mean = tuning.log_score(joint, codes, weights, tuning.best_temperature(joint, codes, weights))
    return weights.sum() * mean - np.log(alpha) ** 2 / (2 * WIDTH**2) if alpha > 0 else mean


def scored_sample(sample: DocumentSample, presence: bool) -> DocumentSample:
    """Return the sample's documents with a word counting once, where that is how it counts."""
    return replace(sample, counts=np.ones_like(sample.counts)) if presence else sample


def _log_priors(form: Form, counts: DocumentCounts, sample: DocumentSample, prior: FloatArray | None) -> FloatArray:
    """Return the log-priors that each document's classes have without it, (m, k)."""
    if form == "complement":
        return np.zeros((len(sample), len(counts.labels)))
    if prior is None:
        rows = np.tile(counts.rows, (len(sample), 1))
        rows[np.arange(len(sample)), sample.codes] -= sample.weights
        prior = np.maximum(rows, 0.0) / counts.rows.sum()
    with np.errstate(divide="ignore"):
        return np.broadcast_to(np.log(prior), (len(sample), len(counts.labels)))


def left_out_scores(
    form: Form, counts: DocumentCounts, presence: bool, sample: DocumentSample, alphas: FloatArray, engine: Engine
) -> FloatArray:
    """Return the scores of documents that are left out, (alphas, m, k)."""
    if form == "bernoulli":
        return np.stack([_left_out_presences(counts, sample, float(alpha)) for alpha in alphas])
    table = counts.presences if presence else counts.events
    others = table.sum(axis=0) if form == "complement" else None
    held = (sample.ends.astype(np.int64), sample.columns.astype(np.int64), np.asarray(sample.counts, dtype=np.float64))

    def read(batch: Batch, kernels: Any) -> FloatArray:
        scores: FloatArray = _native.text.left_out(
            np.ascontiguousarray(table),
            others,
            *held,
            np.ascontiguousarray(sample.codes, dtype=np.int64),
            np.ascontiguousarray(sample.weights),
            np.ascontiguousarray(alphas),
            batch.start,
            batch.stop,
        )
        return scores

    work = len(alphas) * len(counts.labels)
    return np.concatenate(list(engine.map(read, Batch(sample.rows(table.shape[1]), work=work))), axis=1)


def _left_out_presences(counts: DocumentCounts, sample: DocumentSample, alpha: float) -> FloatArray:
    """Return the scores of the multivariate Bernoulli event model, (m, k)."""
    present, rows, codes = counts.presences, counts.rows, sample.codes
    document = np.repeat(np.arange(len(sample)), np.diff(sample.ends))
    scores = np.empty((len(sample), len(rows)))
    for k in range(len(rows)):
        seen = present[k, sample.columns]
        gain = np.log(seen + alpha) - np.log(rows[k] - seen + alpha)
        scores[:, k] = _absent(present[k], rows[k], alpha) + np.bincount(document, gain, len(sample))
        mine = codes == k
        for weight in np.unique(sample.weights[mine]):
            here = mine & (sample.weights == weight)
            inside = here[document]
            left = np.maximum(seen[inside] - weight, 0.0)
            # In its own words the document was present: taking it out leaves as many without them as before.
            without = rows[k] - weight - seen[inside]
            gain = np.log(left + alpha) - np.log(np.maximum(without, 0.0) + alpha)
            base = _absent(present[k], rows[k] - weight, alpha)
            scores[here, k] = base + np.bincount(document[inside], gain, len(sample))[here]
    return scores


def _absent(present: FloatArray, rows: float, alpha: float) -> float:
    """Return the log-probability that no word is there. Counts repeat: there are few different logarithms."""
    if present.max(initial=0.0) < _MANY and not (present % 1).any():
        times = np.bincount(present.astype(np.int64))
        values = np.arange(len(times), dtype=np.float64)
    else:
        values, times = np.unique(present, return_counts=True)
    without = np.maximum(rows - values, 0.0) + alpha
    return float(times @ np.log(without)) - len(present) * float(np.log(max(rows, 0.0) + 2 * alpha))
