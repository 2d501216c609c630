"""How good predictions are: measures that are sums over rows, so that a table of any size can be gone through once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, xlogy

from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.schema import Task

#: What models are compared by.
LOSSES = {"classes": "log loss", "numbers": "squared error", "counts": "deviance"}
#: A probability below this counts as this.
_LEAST = 1e-15
#: An expected count below this counts as this.
_LEAST_RATE = 1e-6
#: Bins of the calibration curve, and of the scores that the ROC curve is drawn from.
BINS = 15
CUTS = 4001
_FAR = 20.0


def losses(task: Task, answers: FloatArray, values: npt.NDArray[Any]) -> dict[str, FloatArray]:
    """Return what each row costs, by measure.

    Parameters
    ----------
    task
        What is predicted.
    answers
        Log-scores of classes, (n, k), or expected numbers, (n,).
    values
        Codes of classes, or numbers.
    """
    if task == "classes":
        log_p = np.asarray(log_softmax(answers, axis=1))
        true = log_p[np.arange(len(values)), values]
        return {
            "log loss": -np.maximum(true, np.log(_LEAST)),
            "accuracy": (log_p.argmax(axis=1) == values).astype(np.float64),
        }
    error = values - answers
    found = {"squared error": error**2, "absolute error": np.abs(error)}
    return {"deviance": deviances(values, answers), **found} if task == "counts" else found


def deviances(values: FloatArray, expected: FloatArray) -> FloatArray:
    """Return the Poisson deviance of each row; an expectation that is no rate counts as a small one."""
    rate = np.maximum(expected, _LEAST_RATE)
    return np.asarray(2 * (xlogy(values, values / rate) - (values - rate)))


@dataclass
class Evaluation:
    """Measures of predictions, summed batch by batch.

    Examples
    --------
    >>> seen = Evaluation("classes", Labels(("no", "yes")))
    >>> seen.add(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]))
    >>> round(seen.summary()["accuracy"], 3), seen.confusion.tolist()
    (0.5, [[1, 1], [0, 0]])

    A row of a class that the model does not know has the code -1. It is an error, and its class has a probability of 0,
    which counts as 1e-15 in the log loss; it is in no row of the confusion table.

    >>> seen.add(np.array([[0.9, 0.1]]), np.array([-1]), ["maybe"])
    >>> round(seen.summary()["accuracy"], 3), seen.unknown
    (0.333, {'maybe': 1})
    """

    task: Task
    labels: Labels
    rows: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)  # rows of classes that the model does not know, by class

    def __post_init__(self) -> None:
        k = len(self.labels)
        self.confusion = np.zeros((k, k), dtype=np.int64)  # true by predicted
        self.calibration = np.zeros((3, BINS))  # rows, sum of the confidences, how many were right
        self.scores = np.zeros((2, CUTS + 1))  # rows by log-odds of the second of two classes: others, its own
        self._moments = np.zeros(3)  # of the target: rows, mean, sum of squares about it

    def add(self, answers: FloatArray, values: npt.NDArray[Any], unknown: Iterable[Any] = ()) -> None:
        """Add rows: probabilities of classes, (n, k), or expected numbers, (n,); and the truth.

        ``unknown`` are the classes of the rows whose code is -1.
        """
        self.rows += len(values)
        for name in map(str, unknown):
            self.unknown[name] = self.unknown.get(name, 0) + 1
        if self.task == "classes":
            self._add_classes(answers, values)
        else:
            self._add_numbers(answers, values)

    def _count(self, name: str, amounts: FloatArray) -> None:
        self.sums[name] = self.sums.get(name, 0.0) + float(amounts.sum())

    def _add_classes(self, p: FloatArray, codes: npt.NDArray[np.int64]) -> None:
        k = len(self.labels)
        known = codes >= 0
        best, true = p.argmax(axis=1), np.where(known, p[np.arange(len(codes)), codes], 0.0)
        self._count("log loss", -np.log(np.maximum(true, _LEAST)))
        self._count("brier", (p**2).sum(axis=1) - 2 * true + 1)
        self.confusion += np.bincount((codes * k + best)[known], minlength=k * k).reshape(k, k)
        sure = p[np.arange(len(codes)), best]
        bins = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
        for row, amounts in enumerate((None, sure, (best == codes).astype(np.float64))):
            self.calibration[row] += np.bincount(bins, amounts, BINS)
        if k == 2:
            with np.errstate(divide="ignore"):
                odds = np.clip(np.log(p[:, 1]) - np.log(p[:, 0]), -_FAR, _FAR)
            cuts = ((odds + _FAR) / (2 * _FAR) * CUTS).astype(np.int64)
            for code in (0, 1):
                self.scores[code] += np.bincount(cuts[codes == code], minlength=CUTS + 1)

    def _add_numbers(self, expected: FloatArray, values: FloatArray) -> None:
        for name, amounts in losses(self.task, expected, values).items():
            self._count(name, amounts)
        n, mean = len(values), float(values.mean()) if len(values) else 0.0
        before, level, spread = self._moments
        gap = mean - level
        total = before + n
        spread += float(((values - mean) ** 2).sum()) + gap**2 * before * n / max(total, 1)
        self._moments = np.array([total, level + gap * n / max(total, 1), spread])

    # What was found.

    def summary(self) -> dict[str, float]:
        """Return the measures by name."""
        n = max(self.rows, 1)
        means = {name: amount / n for name, amount in self.sums.items()}
        if self.task == "classes":
            found = {
                "accuracy": float(np.trace(self.confusion)) / n,
                "log loss": means.get("log loss", 0.0),
                "Brier score": means.get("brier", 0.0) / (2 if len(self.labels) == 2 else 1),
                "calibration error": self.calibration_error(),
            }
            return {**found, "ROC AUC": self.auc()} if len(self.labels) == 2 else found
        spread = self._moments[2]
        squared = means.get("squared error", 0.0)
        found = {
            "RMSE": float(np.sqrt(squared)),
            "MAE": means.get("absolute error", 0.0),
            "R²": float(1 - squared * n / spread) if spread > 0 else float("nan"),
        }
        return {"Poisson deviance": means.get("deviance", 0.0), **found} if self.task == "counts" else found

    def calibration_error(self) -> float:
        """Return how far confidence and accuracy lie apart, on average over the rows."""
        _, sure, right = self.calibration
        return float(np.abs(sure - right).sum() / max(self.rows, 1))

    def auc(self) -> float:
        """Return the probability that a row of the second class scores higher than one of the first."""
        others, own = self.scores
        if not others.sum() or not own.sum():
            return float("nan")
        below = np.concatenate([[0.0], np.cumsum(others)[:-1]])
        return float((own * (below + others / 2)).sum() / (others.sum() * own.sum()))

    def per_class(self) -> list[dict[str, Any]]:
        """Return precision, recall, F1 and the number of rows of each class."""
        right = np.diagonal(self.confusion).astype(np.float64)
        said, true = self.confusion.sum(axis=0), self.confusion.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            precision, recall = right / said, right / true
            f1 = 2 * right / (said + true)
        return [
            {"class": name, "precision": float(a), "recall": float(b), "F1": float(c), "rows": int(rows)}
            for name, a, b, c, rows in zip(self.labels, precision, recall, f1, true, strict=True)
        ]
