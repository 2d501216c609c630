"""Locally weighted regression, which reads the rows around a query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.statistics.base import FloatArray
from suffice.store import Contents
from suffice.tables.design_matrix import Design, build_design
from suffice.tables.encoding import Block
from suffice.tables.errors import TableError
from suffice.tables.predictors.base import EncodedRows, Predictor, ignore_warnings
from suffice.tables.predictors.linear import stack_rows

#: Largest number of columns for distances between rows.
_NEAR = 10
#: Parameters of the estimator besides its family, as a file has them.
_PARAMETERS: dict[str, Any] = {
    "bandwidth": "auto",
    "degree": 1,
    "kernel": "gaussian",
    "l2": 1e-3,
    "max_iter": 100,
    "tol": 1e-10,
}


class LocalPredictor(Predictor):
    """Locally weighted regression, which reads the rows around a query."""

    design: Design

    def prepare(self, sample: Block) -> None:
        """Choose the columns and the scales of distances."""
        if len(self.labels) > 2:
            raise TableError(f"the model 'local' predicts two classes; the target has {len(self.labels)}")
        self.design = build_design(sample)
        if self.design.width > _NEAR:
            raise TableError(
                f"the model 'local' would measure distances in {self.design.width} columns, and {_NEAR} are the "
                "most: leave some out, or use another model"
            )

    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Keep the rows."""
        with (
            stack_rows((self.design.encode(block), values, block.weights) for block, values in rows) as stacked,
            ignore_warnings(),
        ):
            matrix, values, weights = stacked
            self._set_contents(self._fit(np.array(matrix), values, validation.weights(weights, len(values))))
        return self

    def _fit(self, matrix: FloatArray, values: npt.NDArray[Any], weights: FloatArray | None) -> Contents:
        """Choose the bandwidth, and return what the file of the estimator holds."""
        from suffice.discriminative.local_fit import LocalRows

        classes, y = None, values.astype(np.float64)[:, None]
        if self.task == "classes":
            present = np.unique(values if weights is None else values[weights > 0])
            if len(present) < 2:
                raise ValueError(f"all rows are of one class, {self.labels.names[present[0]]!r}: 'local' needs two")
            classes = {"names": present.tolist(), "dtype": present.dtype.kind}
        parameters = {**_PARAMETERS, "family": "gaussian" if classes is None else "bernoulli"}
        rows = LocalRows.of(matrix, y, weights)
        bandwidth, tried = rows.tuned(parameters, None)
        settings = {
            "parameters": parameters,
            "bandwidth": bandwidth,
            "classes": classes,
            "features": self.design.width,
            "feature_names": None,
            "shape": [],
        }
        return Contents("LocallyWeightedRegression", settings, {}, {**rows.arrays(), "leave_one_out": tried})

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
