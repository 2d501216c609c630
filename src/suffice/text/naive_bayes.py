"""Naive Bayes over counts of words: p(x, y) of each event model, without the estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice import validation
from suffice.families import Bernoulli
from suffice.families.priors import check_alpha
from suffice.generative.conditional import Linear
from suffice.generative.event_models import Presences, Words, complement_weights
from suffice.generative.joint import Joint
from suffice.model_types import TEXT_MODEL_TYPES, TextModelName
from suffice.statistics import EventCounts
from suffice.statistics.base import FloatArray
from suffice.text import DocumentCounts

GENERATIVE = tuple(name for name, model in TEXT_MODEL_TYPES.items() if model.generative)
DISCRIMINATIVE = tuple(name for name, model in TEXT_MODEL_TYPES.items() if not model.generative)
#: The models that count every occurrence of a word by default; for the others a word counts once in a document.
COUNTS_OCCURRENCES = tuple(name for name, model in TEXT_MODEL_TYPES.items() if model.counts_words)


@dataclass(frozen=True, eq=False)
class WordModel:
    """An event model that was estimated from counts of words."""

    counts: EventCounts
    alpha: float
    joint: Joint

    @property
    def temperature(self) -> float:
        """The temperature of the posteriors."""
        return self.joint.temperature


def estimate_words(
    name: TextModelName,
    counts: DocumentCounts,
    presence: bool,
    alpha: float,
    class_prior: Any,
    temperature: float,
) -> WordModel:
    """Return an event model, estimated from counts.

    Parameters
    ----------
    name
        The event model.
    counts
        The counts.
    presence
        Whether a word counts once in a document.
    alpha
        Smoothing.
    class_prior
        The class priors, (k,); None for the shares of the classes.
    temperature
        The divisor of the log-posterior.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> from suffice.statistics import Labels
    >>> from suffice.text import CountSpec, Documents
    >>> batch = Batch(Documents(["free money", "lunch"]), np.array([1, 0]))
    >>> counts = ThreadEngine().accumulate(DocumentCounts.over(Labels.of(["ham", "spam"]), CountSpec()), batch)
    >>> estimate_words("multinomial", counts, False, 1.0, None, 1.0).joint.theta.coef.shape
    (2, 3)
    """
    table = counts.presences if presence else counts.events
    labels = counts.labels
    events = EventCounts(labels, counts.rows, table, np.zeros((len(labels), 0)))
    if class_prior is None:
        prior = validation.shares(labels, counts.rows)
    else:
        prior = validation.priors(class_prior, labels, "class_prior", counts.rows)
    prior = np.ones(len(labels)) if name == "complement" else prior
    conditional = _estimate(name, events, check_alpha(alpha, table.shape[1]))
    return WordModel(events, alpha, Joint(labels, prior, conditional, float(temperature)))


def _estimate(name: TextModelName, events: Any, alpha: FloatArray) -> Linear:
    match name:
        case "bernoulli":
            return Presences.of(Bernoulli.estimate(events, alpha), None)  # rows hold 0 and 1 already
        case "complement":
            return complement_weights(events, alpha)
    return Words.estimate(events, alpha)
