"""Locally weighted regression, which reads the rows around a query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from suffice.statistics.base import FloatArray
from suffice.tables.design_matrix import Design, build_design
from suffice.tables.encoding import Block
from suffice.tables.errors import TableError
from suffice.tables.predictors.base import EncodedRows, Predictor, ignore_warnings
from suffice.tables.predictors.linear import stack_rows

#: Largest number of columns for distances between rows.
_NEAR = 10


class LocalPredictor(Predictor):
    """Locally weighted regression, which reads the rows around a query."""

    design: Design

    def prepare(self, sample: Block) -> None:
        """Choose the columns and the scales of distances."""
        from suffice.discriminative import LocallyWeightedRegression

        if len(self.labels) > 2:
            raise TableError(f"the model 'local' predicts two classes; the target has {len(self.labels)}")
        self.design = build_design(sample)
        if self.design.width > _NEAR:
            raise TableError(
                f"the model 'local' would measure distances in {self.design.width} columns, and {_NEAR} are the "
                "most: leave some out, or use another model"
            )
        family: Any = "bernoulli" if self.task == "classes" else "gaussian"
        self.inner = LocallyWeightedRegression(bandwidth="auto", family=family, l2=1e-3)

    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Keep the rows."""
        with (
            stack_rows((self.design.encode(block), values, block.weights) for block, values in rows) as stacked,
            ignore_warnings(),
        ):
            matrix, values, weights = stacked
            self.inner.fit(np.array(matrix), values, sample_weight=weights)
        return self

    def scores(self, block: Block) -> FloatArray:
        """Return log-scores of the classes, (n, 2), or expected numbers, (n,)."""
        from suffice.discriminative.local_fit import LocalScorer, log_expit

        scorer = self.scorer
        assert isinstance(scorer, LocalScorer)
        found = scorer.values(self.design.encode(block))
        return log_expit(np.hstack([-found, found])) if self.task == "classes" else found[:, 0]

    def settings(self) -> dict[str, Any]:
        """Return the design."""
        return {"design": self.design.to_plain()}

    def restore(self, settings: Any) -> None:
        """Set the design."""
        self.design = Design.from_plain(settings["design"])
