"""Models of the words alone, and of the rows around a query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.blocks import Block
from suffice.tables.design import Design, design_of
from suffice.tables.errors import TableError
from suffice.tables.matrices import stacked
from suffice.tables.predictors import Learnt, Predictor, quiet

#: In more columns than these, all rows are far from each other.
_NEAR = 10


class Written(Predictor):
    """Text classifiers, which read words."""

    reads = ("text",)

    def prepare(self, sample: Block) -> None:
        """See that there is text."""
        from suffice.text import TextClassifier

        if not any(feature.kind == "text" for feature in sample.features):
            raise TableError("the model 'text' reads text, and no column holds any: give --kind COLUMN=text")
        self.inner = TextClassifier()

    def learn(self, rows: Iterable[Learnt]) -> Self:
        """Learn from rows, block by block."""
        for block, codes in rows:
            self.add(block, codes)
        return self

    @staticmethod
    def texts(block: Block) -> list[str]:
        """Return the text of each row, of all columns that hold some."""
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
        """Learn from more rows."""
        self.inner.partial_fit(self.texts(block), np.array(self.labels.names)[values])

    def remove(self, block: Block, values: npt.NDArray[Any]) -> float:
        """Unlearn rows exactly."""
        self.inner.forget(self.texts(block), np.array(self.labels.names)[values])
        return 0.0

    def merged(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        both = Written(self.form, self.task, self.labels.union(other.labels)[0])
        both.inner = self.inner + other.inner
        return both


class Near(Predictor):
    """Locally weighted regression, which reads the rows around a query."""

    reads = ("near",)
    design: Design

    def prepare(self, sample: Block) -> None:
        """Settle the scales of distances."""
        from suffice.discriminative import LocallyWeightedRegression

        if len(self.labels) > 2:
            raise TableError(f"the model 'local' tells two classes apart; the target has {len(self.labels)}")
        self.design = design_of(sample)
        if self.design.width > _NEAR:
            raise TableError(
                f"the model 'local' would measure distances in {self.design.width} columns, of which {_NEAR} are the "
                "most: leave some out, or use another model"
            )
        family: Any = "bernoulli" if self.task == "classes" else "gaussian"
        self.inner = LocallyWeightedRegression(bandwidth="auto", family=family, l2=1e-3)

    def learn(self, rows: Iterable[Learnt]) -> Self:
        """Keep the rows."""
        with stacked((self.design.encode(block), values) for block, values in rows) as (matrix, values), quiet():
            self.inner.fit(np.array(matrix), values)
        return self

    def scores(self, block: Block) -> FloatArray:
        """Return log-scores of the classes, (n, 2), or expected numbers, (n,)."""
        with quiet():
            if self.task == "classes":
                return np.asarray(self.inner.predict_log_proba(self.design.encode(block)))
            return np.asarray(self.inner.predict(self.design.encode(block)))

    def settings(self) -> dict[str, Any]:
        """Return the design."""
        return {"design": self.design.to_plain()}

    def restore(self, settings: Any) -> None:
        """Take up the design."""
        self.design = Design.from_plain(settings["design"])
