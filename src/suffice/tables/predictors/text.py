"""Text predictor: naive Bayes on the words of the text columns alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block
from suffice.tables.errors import TableError
from suffice.tables.predictors.base import EncodedRows, Predictor


class TextPredictor(Predictor):
    """Text classifiers."""

    def prepare(self, sample: Block) -> None:
        """Raise if there is no text column."""
        from suffice.text import TextClassifier

        if not any(feature.kind == "text" for feature in sample.features):
            raise TableError("the model 'text' reads text, and no column holds any: give --kind COLUMN=text")
        self.inner = TextClassifier()

    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Fit the model to blocks of rows."""
        for block, codes in rows:
            self.add(block, codes)
        return self

    @staticmethod
    def texts(block: Block) -> list[str]:
        """Return the joined text columns of each row."""
        columns = [
            column for feature, column in zip(block.features, block.columns, strict=True) if feature.kind == "text"
        ]
        return list(map("\n".join, zip(*columns, strict=True)))

    def scores(self, block: Block) -> FloatArray:
        """Return the log-probabilities of the classes, (n, k)."""
        scores = np.full((block.rows, len(self.labels)), -np.inf)  # of a class without rows
        with np.errstate(divide="ignore"):
            found = self.inner.predict_log_proba(self.texts(block))
        scores[:, self.labels.positions(Labels.of(self.inner.classes_))] = found
        return scores

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Add rows."""
        names = np.array(self.labels.names)[values]
        self.inner.partial_fit(self.texts(block), names, sample_weight=block.weights)

    def remove(self, block: Block, values: npt.NDArray[Any]) -> float:
        """Subtract rows exactly."""
        self.inner.forget(self.texts(block), np.array(self.labels.names)[values], sample_weight=block.weights)
        return 0.0

    def merge(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        both = TextPredictor(self.model_type, self.task, self.labels.union(other.labels)[0])
        both.inner = self.inner + other.inner
        return both
