"""What a classifier with one linear score per class answers."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score

from suffice import door, partitioned
from suffice.discriminative.predictor import LinearPredictor, linear_scores
from suffice.engines import Batch
from suffice.engines.choice import engine_for
from suffice.engines.reading import Reading
from suffice.engines.results import beside, joined, named_classes
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray


class ScoredClasses(partitioned.ClassifierInPartsMixin, LinearPredictor):
    """A classifier with one linear score per class, whose softmax is p(y | x)."""

    classes_: npt.NDArray[Any]
    coef_: FloatArray
    intercept_: FloatArray
    _labels: Labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _two(self) -> bool:
        """Whether there are two classes, and one predictor: that of the second."""
        return len(self._labels) <= 2 and self._one_predictor_of_two

    _one_predictor_of_two: ClassVar[bool] = True

    def _scores_of_classes(self) -> tuple[FloatArray, FloatArray]:
        """Return coefficients, (k, d), and intercepts, (k,), of every class."""
        coef, intercept = self._linear()
        expected = 1 if self._two else len(self._labels)
        if len(coef) != expected:
            raise ValueError(f"coef_ has {len(coef)} rows; there must be {expected}, as fit gave it")
        if self._two:
            return np.concatenate([np.zeros_like(coef), coef]), np.concatenate([np.zeros(1), intercept])
        return coef, intercept

    @partitioned.row_wise("score")
    def decision_function(self, X: Any, *, offset: Any = None) -> Any:
        """Return the log-odds of the second class, (n,), or one score per class, (n, k).

        Parameters
        ----------
        X
            Rows, (n, d).
        offset
            A known part of each row's linear predictors, (n,), as for ``fit``.
        """
        self._check_fitted()
        coef, intercept = self._scores_of_classes()
        if len(coef) > 2:
            return self._moved(self._read(X, coef, intercept), offset)
        scores = self._read(X, coef[1:] - coef[:1], intercept[1:] - intercept[:1])
        return self._moved(scores, offset)[:, 0]

    def _moved(self, scores: Any, offset: Any) -> Any:
        """Return scores of all classes, or of the second beside the first, with the rows' offsets added."""
        known = door.per_row("offset", offset, scores.shape[0])
        if known is None:
            return scores
        classes = len(self._labels)
        moves = np.arange(classes) == 1 if self._two else np.arange(classes) < classes - 1  # one has no predictor
        shift = np.outer(known, moves)
        return scores + beside(scores, shift if scores.shape[1] > 1 else shift[:, 1:] - shift[:, :1])

    def _ask(self, X: Any, reading: Reading, offset: Any) -> Any:
        self._check_fitted()
        coef, intercept = self._scores_of_classes()
        if offset is None:
            return self._read(X, coef, intercept, reading)
        scores = Batch(self._moved(self._read(X, coef, intercept), offset))
        same = partial(linear_scores, np.eye(len(coef)), np.zeros(len(coef)), reading)
        return joined(engine_for(self.engine, scores.x).map(same, scores))

    @partitioned.row_wise("prediction")
    def predict(self, X: Any, *, offset: Any = None) -> Any:
        """Return the most probable class of each row, (n,); an offset is that of :meth:`decision_function`."""
        codes = self._ask(X, Reading("best"), offset)
        return named_classes(self.classes_, codes)

    @partitioned.row_wise("probability")
    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Return p(y | x), (n, k); an offset is that of :meth:`decision_function`."""
        return self._ask(X, Reading("posterior"), offset)

    @partitioned.row_wise("log_probability")
    def predict_log_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Return log p(y | x), (n, k); an offset is that of :meth:`decision_function`."""
        return self._ask(X, Reading("log_posterior"), offset)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their classes and weights, as for :meth:`fit`. Rows of a cluster are read once, where they are.
        offset
            As for :meth:`decision_function`; of rows that are here.
        """
        if offset is None:
            return super().score(X, y, sample_weight)
        return float(accuracy_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))

    # The file.

    def _classes_written(self) -> dict[str, Any]:
        return {"classes": {"names": list(self._labels), "dtype": self.classes_.dtype.kind}}

    def _restore_classes(self, settings: Any) -> None:
        self._labels = Labels(tuple(settings["classes"]["names"]))
        if len(self._labels) < 2:
            raise ValueError(f"a classifier has two classes at least; the file names {list(self._labels)!r}")
        like = np.empty(0, dtype=object) if settings["classes"]["dtype"] == "O" else None
        self.classes_ = door.classes_array(self._labels, like)
