"""The settings of a text classifier: which there are for reading, and what they may be."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from suffice.kernels import Engine
from suffice.text import Vocabulary
from suffice.text.event_models import DISCRIMINATIVE, GENERATIVE, Form


@dataclass(frozen=True)
class Settings:
    """How documents are read; none of this changes what is kept of them."""

    form: Form
    presence: bool
    alpha: Any
    l2: Any
    class_prior: Any
    temperature: Any
    min_documents: float
    max_share: float
    max_words: int | None
    engine: Engine


def check(classifier: Any) -> None:
    """Raise where a setting of a text classifier makes no sense, before any document is read."""
    forms = (*GENERATIVE, *DISCRIMINATIVE, "auto")
    if classifier.model not in forms:
        raise ValueError(f"model must be one of {', '.join(map(repr, forms))}; got {classifier.model!r}")
    for name in ("alpha", "l2", "temperature"):
        value = getattr(classifier, name)
        least = "above 0" if name == "temperature" else "0 or more"
        fine = value == "auto" if isinstance(value, str) else _is_number(value) and 0 <= value < np.inf
        if not fine or (name == "temperature" and not isinstance(value, str) and value == 0):
            raise ValueError(f"{name} must be a finite number, {least}, or 'auto'; got {value!r}")
    if not (_is_number(classifier.min_documents) and classifier.min_documents >= 0):
        raise ValueError(f"min_documents must be a number, 0 or more; got {classifier.min_documents!r}")
    if not (_is_number(classifier.max_share) and 0 < classifier.max_share <= 1):
        raise ValueError(f"max_share must be above 0 and at most 1; got {classifier.max_share!r}")
    if classifier.max_words is not None and not (
        isinstance(classifier.max_words, Integral) and int(classifier.max_words) >= 1
    ):
        raise ValueError(f"max_words must be a whole number, 1 or more, or None; got {classifier.max_words!r}")
    if classifier.model == "bernoulli" and not isinstance(classifier._columns, Vocabulary):
        raise ValueError(
            "model='bernoulli' asks of every word whether it is absent, and slots are many words each: use an "
            "exact vocabulary, or model='boolean'"
        )
    if classifier.presence is False and classifier.model == "bernoulli":
        raise ValueError("model='bernoulli' looks at whether words are there: presence cannot be False")
    if classifier.presence is False and classifier.model == "boolean":
        raise ValueError("model='boolean' is the multinomial model on presence: for counts, use 'multinomial'")
    if classifier.presence is not None and classifier.model == "auto":
        raise ValueError(
            "model='auto' compares forms that count words once and as often as they occur: leave presence out"
        )
    _ = classifier._features, classifier._columns


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
