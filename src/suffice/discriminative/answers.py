"""What a classifier with one linear score per class answers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from suffice import afar, door
from suffice.discriminative.predictor import LinearPredictor
from suffice.engines.reading import Reading
from suffice.engines.results import named_classes
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray


class ScoredClasses(ClassifierMixin, LinearPredictor):  # type: ignore[misc]
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

    @afar.answered("score")
    def decision_function(self, X: Any) -> Any:
        """Return the log-odds of the second class, (n,), or one score per class, (n, k)."""
        self._check_fitted()
        coef, intercept = self._scores_of_classes()
        if len(coef) > 2:
            return self._read(X, coef, intercept)
        return self._read(X, coef[1:] - coef[:1], intercept[1:] - intercept[:1])[:, 0]

    def _ask(self, X: Any, reading: Reading) -> Any:
        self._check_fitted()
        return self._read(X, *self._scores_of_classes(), reading)

    @afar.answered("prediction")
    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, (n,)."""
        codes = self._ask(X, Reading("best"))
        return named_classes(self.classes_, codes)

    @afar.answered("probability")
    def predict_proba(self, X: Any) -> Any:
        """Return p(y | x), (n, k)."""
        return self._ask(X, Reading("posterior"))

    @afar.answered("log_probability")
    def predict_log_proba(self, X: Any) -> Any:
        """Return log p(y | x), (n, k)."""
        return self._ask(X, Reading("log_posterior"))

    # The file.

    def _classes_written(self) -> dict[str, Any]:
        return {"classes": {"names": list(self._labels), "dtype": self.classes_.dtype.kind}}

    def _restore_classes(self, settings: Any) -> None:
        self._labels = Labels(tuple(settings["classes"]["names"]))
        like = np.empty(0, dtype=object) if settings["classes"]["dtype"] == "O" else None
        self.classes_ = door.classes_array(self._labels, like)
