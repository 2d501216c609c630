"""FittedText: the text classifier of a file, which predicts and explains without scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.kernels.engine import default_engine
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents
from suffice.store.parameters import decode_parameters
from suffice.text.counts import DocumentCounts
from suffice.text.documents import batch_documents, decode_texts, is_utf8
from suffice.text.explanation import TextExplanation
from suffice.text.features import Features, resolve_features
from suffice.text.scorer import LinearScorer, explain_text, fit_scorer, is_presence


@dataclass(frozen=True, eq=False)
class FittedText:
    """A text classifier that is read from its counts, as :class:`suffice.TextClassifier` reads them.

    Examples
    --------
    >>> from suffice import TextClassifier
    >>> model = TextClassifier("multinomial", alpha=1.0, temperature=1.0).fit(["free money", "lunch"], ["spam", "ham"])
    >>> fitted = FittedText._from_contents(model._contents())
    >>> fitted.classes_, fitted.predict_proba(["money"]).round(3)
    (array(['ham', 'spam'], dtype='<U4'), array([[0.385, 0.615]]))
    """

    labels: Labels
    classes_: npt.NDArray[Any]
    features: Features
    encoding: str
    scorer: LinearScorer

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        """Return the classifier of a file with counts; a regression's has rows, and is fitted to them again."""
        settings, counts = contents.settings, contents.statistics.get("sum")
        if not isinstance(counts, DocumentCounts):
            raise TypeError(f"the sum of a text classifier must be DocumentCounts; got {type(counts).__name__}")
        labels = Labels(tuple(settings["classes"]["names"]))
        if counts.labels != labels:
            raise ValueError(f"the sum is of the classes {list(counts.labels)!r}, the model of {list(labels)!r}")
        given = decode_parameters(settings.get("fitted_parameters", settings["parameters"]))
        is_utf8(given["encoding"])  # raises for an unknown encoding
        features, form = settings["features"], settings["form"]
        scorer = fit_scorer(
            counts, form, is_presence(form, given["presence"]), SimpleNamespace(**given), default_engine()
        )
        like = np.empty(0, dtype=object) if settings["classes"]["dtype"] == "O" else None
        return cls(
            labels,
            validation.classes_array(labels, like),
            Features(**features) if isinstance(features, dict) else resolve_features(features),
            given["encoding"],
            scorer,
        )

    def predict_proba(self, texts: Sequence[str | bytes]) -> FloatArray:
        """Return p(y | text), (n, k)."""
        batches = batch_documents(decode_texts(list(texts), self.encoding, "replace"), self.features)
        scores = (self.scorer.score(each, self.features, default_engine(), "posterior") for each in batches)
        return np.concatenate([np.zeros((0, len(self.labels))), *scores])

    def explain(self, text: str | bytes) -> TextExplanation:
        """Return the contributions of the words of a text to the log-odds."""
        (plain,) = decode_texts([text], self.encoding, "replace")
        batches = batch_documents([plain], self.features)
        (found,) = (self.scorer.score(each, self.features, default_engine(), "log_posterior") for each in batches)
        return explain_text(self.scorer, self.features, plain, list(self.labels), found[0])
