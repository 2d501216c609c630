"""Measures of predictions: losses, ROC and precision-recall curves, calibration, confusion matrices, intervals.

SciPy is imported where it is used: a mail filter that judges loads none of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import nan, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.model_types import Task

if TYPE_CHECKING:
    from suffice.statistics import Labels

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: The loss that models are chosen by, for each task.
LOSSES: dict[Task, str] = {"classes": "log loss", "numbers": "squared error", "counts": "deviance"}
#: Lower bounds: of the probability of the true class in the log loss, and of the expected count in the deviance.
MIN_PROBABILITY = 1e-15
MIN_RATE = 1e-6
#: Bins of the calibration curve of an Evaluation, and of its histograms of log-odds, which end at ± MAX_LOG_ODDS.
CALIBRATION_BINS = 15
LOG_ODDS_BINS = 4001
MAX_LOG_ODDS = 20.0


# Losses of each row.


def row_losses(task: Task, predictions: FloatArray, values: npt.NDArray[Any]) -> dict[str, FloatArray]:
    """Return the losses of each row, and whether its class is right, by name.

    Parameters
    ----------
    task
        What is predicted.
    predictions
        Log-scores of classes, (n, k), or expected numbers, (n,).
    values
        The truth: class codes, or numbers, (n,).

    Examples
    --------
    >>> row_losses("numbers", np.array([1.0, 2.0]), np.array([1.0, 5.0]))["squared error"]
    array([0., 9.])
    """
    if task == "classes":
        with np.errstate(invalid="ignore"):  # NaN where no class can have produced a row
            gaps = predictions - predictions.max(axis=1, keepdims=True)
        log_p = gaps - np.log(np.exp(gaps).sum(axis=1, keepdims=True))  # the best class has a gap of 0: cannot overflow
        true = log_p[np.arange(len(values)), values]
        return {
            "log loss": -np.maximum(true, np.log(MIN_PROBABILITY)),
            "accuracy": (log_p.argmax(axis=1) == values).astype(np.float64),
        }
    error = values - predictions
    losses = {"squared error": error**2, "absolute error": np.abs(error)}
    return {"deviance": poisson_deviances(values, predictions), **losses} if task == "counts" else losses


def log_losses(p: FloatArray) -> FloatArray:
    """Return -log p of the probabilities that were predicted for the true classes, each at least MIN_PROBABILITY."""
    return np.asarray(-np.log(np.maximum(p, MIN_PROBABILITY)))


def poisson_deviances(values: FloatArray, expected: FloatArray) -> FloatArray:
    """Return the Poisson deviance of each row; expected counts below MIN_RATE count as MIN_RATE.

    Examples
    --------
    >>> poisson_deviances(np.array([0.0, 2.0]), np.array([0.5, 2.0]))
    array([1., 0.])
    """
    from scipy.special import xlogy

    rate = np.maximum(expected, MIN_RATE)
    return np.asarray(2 * (xlogy(values, values / rate) - (values - rate)))


def class_baseline(counts: npt.ArrayLike) -> dict[str, float]:
    """Return the measures of a model that predicts the class frequencies for every row.

    Parameters
    ----------
    counts
        The number of rows of each class, (k,).

    Examples
    --------
    >>> class_baseline([3, 1])["accuracy"]
    0.75
    """
    rows = np.asarray(counts, dtype=np.float64)
    shares = rows / rows.sum()
    known = shares[shares > 0]
    return {
        "accuracy": float(shares.max()),
        "log loss": float(-(known * np.log(known)).sum()),
        "Brier score": float(1 - (shares**2).sum()) / (2 if len(shares) == 2 else 1),
        "ROC AUC": 0.5,
    }


# ROC and precision-recall curves.


class Ranking(NamedTuple):
    """Positives and negatives at or above each score, from the highest score down; the first entry is 0."""

    false_positives: npt.NDArray[Any]  # (m,) integers, or sums of weights
    true_positives: npt.NDArray[Any]  # (m,)

    @property
    def negatives(self) -> Any:
        """Number of rows that are not of the class, or the sum of their weights."""
        return self.false_positives[-1].item()

    @property
    def positives(self) -> Any:
        """Number of rows of the class, or the sum of their weights."""
        return self.true_positives[-1].item()


class RocCurve(NamedTuple):
    """A receiver operating characteristic, from (0, 0) to (1, 1)."""

    false_positive_rate: FloatArray
    true_positive_rate: FloatArray


class PrecisionRecallCurve(NamedTuple):
    """Precision and recall, from the lowest threshold to the highest; the last point is (1, 0)."""

    precision: FloatArray
    recall: FloatArray


def rank(is_positive: BoolArray, scores: npt.NDArray[Any], weights: FloatArray | None = None) -> Ranking:
    """Return the counts that ROC and precision-recall curves are computed from; equal scores are one entry.

    With weights, they are sums of weights.

    Examples
    --------
    >>> rank(np.array([False, True, False, True]), np.array([-3.0, 2.0, 0.5, 0.5]))
    Ranking(false_positives=array([0, 0, 1, 2]), true_positives=array([0, 1, 2, 2]))
    """
    if weights is not None and not weights.all():
        counted = weights > 0
        is_positive, scores, weights = is_positive[counted], scores[counted], weights[counted]
    order = np.argsort(-scores, kind="stable")
    ordered, positive = scores[order], is_positive[order]
    last = np.append(ordered[1:] != ordered[:-1], True)[: len(ordered)]  # the last row of each score
    if weights is None:
        return Ranking(np.append(0, np.cumsum(~positive)[last]), np.append(0, np.cumsum(positive)[last]))
    weights = weights[order]
    sums = (np.append(0.0, np.cumsum(np.where(which, weights, 0.0))[last]) for which in (~positive, positive))
    return Ranking(*sums)


def rank_histograms(negatives: FloatArray, positives: FloatArray) -> Ranking:
    """Return the same from histograms of the scores of both classes, (b,), from the lowest bin to the highest.

    Examples
    --------
    >>> rank_histograms(np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0])).true_positives
    array([0, 1, 2, 2])
    """
    filled = (negatives + positives > 0)[::-1]
    below, above = (np.append(0.0, np.cumsum(each[::-1][filled])) for each in (negatives, positives))
    return Ranking(_as_counts(below), _as_counts(above))


def _as_counts(sums: FloatArray) -> npt.NDArray[Any]:
    """Return integers if all sums are whole, as they are without weights."""
    return sums.astype(np.int64) if np.array_equal(sums, np.floor(sums)) else sums


def corners(ranking: Ranking) -> Ranking:
    """Return a ranking without the entries that lie on a straight line between their neighbours, for pictures.

    Examples
    --------
    >>> corners(rank(np.array([True, True, False]), np.array([3.0, 2.0, 1.0]))).true_positives
    array([0, 2, 2])
    """
    bends = (np.diff(ranking.false_positives, 2) != 0) | (np.diff(ranking.true_positives, 2) != 0)
    kept = np.concatenate([[True], bends, [True]])
    return Ranking(ranking.false_positives[kept], ranking.true_positives[kept])


def roc_curve(ranking: Ranking) -> RocCurve:
    """Return the ROC curve; nan where there are no rows of a kind."""
    with np.errstate(invalid="ignore"):
        return RocCurve(
            ranking.false_positives / np.float64(ranking.negatives),
            ranking.true_positives / np.float64(ranking.positives),
        )


def area_above_roc(ranking: Ranking) -> float:
    """Return 1 - ROC AUC: the share of pairs of a positive and a negative in the wrong order; ties count half.

    It is computed from integers: areas close to 0 keep their digits.

    Examples
    --------
    >>> area_above_roc(rank(np.array([False, True, False, True]), np.array([-3.0, 2.0, 0.5, 0.5])))
    0.125
    """
    if not ranking.positives or not ranking.negatives:
        return nan
    wrong = np.diff(ranking.false_positives) * _positives_below(ranking)
    return float(wrong.sum().item() / (2 * ranking.positives * ranking.negatives))


def roc_auc(ranking: Ranking) -> float:
    """Return the area under the ROC curve: the share of pairs of a positive and a negative in the right order."""
    return 1 - area_above_roc(ranking)


def delong_variance(ranking: Ranking) -> float:
    """Return the variance of the ROC AUC (DeLong, DeLong and Clarke-Pearson 1988); 0 where it cannot be estimated."""
    m, n = ranking.positives, ranking.negatives
    if min(m, n) < 2:
        return 0.0
    negatives_above = ranking.false_positives[1:] + ranking.false_positives[:-1]
    by_positive = _variance(negatives_above, np.diff(ranking.true_positives)) / (2.0 * n) ** 2
    by_negative = _variance(_positives_below(ranking), np.diff(ranking.false_positives)) / (2.0 * m) ** 2
    return float(by_positive / m + by_negative / n)


def roc_placements(is_positive: BoolArray, scores: FloatArray) -> FloatArray:
    """Return, for each row, the share of rows of the other kind that are in the wrong order with it; ties count half.

    The mean over the positives, and that over the negatives, is the area above the ROC curve. Differences of the
    placements of two rankings have the variance of the difference of their areas (DeLong's).

    Examples
    --------
    >>> roc_placements(np.array([True, True, False]), np.array([2.0, 0.0, 1.0]))
    array([0. , 1. , 0.5])
    """
    placements = np.empty(len(scores))
    for mine, sign in ((is_positive, 1.0), (~is_positive, -1.0)):
        others = np.sort(-sign * scores[~mine])
        own = -sign * scores[mine]
        wrong = np.searchsorted(others, own, "left") + np.searchsorted(others, own, "right")
        placements[mine] = wrong / (2 * max(len(others), 1))
    return placements


def _positives_below(ranking: Ranking) -> IntArray:
    """Return twice the number of positives below each distinct score; ties count one."""
    return np.asarray(2 * ranking.positives - ranking.true_positives[1:] - ranking.true_positives[:-1])


def _variance(values: IntArray, counts: IntArray) -> float:
    """Return the variance of repeated integers; exactly 0 where all are equal."""
    n = int(counts.sum())
    mean = int((counts * values).sum()) / n
    return float((counts * (values - mean) ** 2).sum() / (n - 1))


def precision_recall_curve(ranking: Ranking) -> PrecisionRecallCurve:
    """Return precision and recall at every threshold.

    Examples
    --------
    >>> precision_recall_curve(rank(np.array([False, True]), np.array([0.1, 0.9])))
    PrecisionRecallCurve(precision=array([0.5, 1. , 1. ]), recall=array([1., 1., 0.]))
    """
    false, true = ranking.false_positives[:0:-1], ranking.true_positives[:0:-1]
    return PrecisionRecallCurve(
        np.append(true / (true + false), 1.0), np.append(true, 0) / np.float64(ranking.positives)
    )


def average_precision(precision: FloatArray, recall: FloatArray) -> float:
    """Return the mean of the precisions along a curve, each weighted by the recall that it adds."""
    return float(-(np.diff(recall) * precision[:-1]).sum())


# Calibration.


class CalibrationCurve(NamedTuple):
    """Predicted probabilities beside observed frequencies, in the bins that have rows."""

    predicted: FloatArray  # (b,) mean probability of the rows of a bin
    observed: FloatArray  # (b,) share of them for which it came true
    counts: npt.NDArray[Any]  # (b,) rows, or sums of their weights


def calibration_sums(
    p: FloatArray, came_true: npt.NDArray[Any], bins: int = CALIBRATION_BINS, weights: FloatArray | None = None
) -> FloatArray:
    """Return the rows of each bin, the sum of their probabilities, and how many came true: (3, bins), additive.

    Bins have equal width.

    Examples
    --------
    >>> calibration_sums(np.array([0.25, 0.75, 1.0]), np.array([0, 0, 1]), 2).tolist()
    [[1.0, 2.0], [0.25, 1.75], [0.0, 1.0]]
    """
    if bins < 1:
        raise ValueError(f"bins must be 1 or more; got {bins!r}")
    place = np.minimum((p * bins).astype(np.int64), bins - 1)  # a probability of 1 belongs to the last bin
    return _sum_by_bin(place, p, came_true, bins, weights)


def quantile_calibration_sums(p: FloatArray, came_true: npt.NDArray[Any], bins: int) -> FloatArray:
    """Return the same for bins with equal numbers of rows; fewer than ``bins`` where probabilities repeat."""
    if bins < 1:
        raise ValueError(f"bins must be 1 or more; got {bins!r}")
    edges = np.unique(np.quantile(p, np.arange(1, bins) / bins))
    return _sum_by_bin(np.searchsorted(edges, p, side="right"), p, came_true, len(edges) + 1)


def _sum_by_bin(
    place: npt.NDArray[Any],
    p: FloatArray,
    came_true: npt.NDArray[Any],
    bins: int,
    weights: FloatArray | None = None,
) -> FloatArray:
    each = np.ones(len(p)) if weights is None else weights
    return np.stack([np.bincount(place, amounts, bins) for amounts in (each, each * p, each * came_true)])


def calibration_curve(sums: FloatArray) -> CalibrationCurve:
    """Return the calibration curve of sums; bins without rows are left out."""
    rows, predicted, came_true = sums[:, sums[0] > 0]
    return CalibrationCurve(predicted / rows, came_true / rows, _as_counts(rows))


def calibration_error(curve: CalibrationCurve) -> float:
    """Return the expected calibration error: the mean of |predicted - observed| over all rows; nan without rows."""
    if not len(curve.counts):
        return nan
    return float(np.average(np.abs(curve.predicted - curve.observed), weights=curve.counts))


# Confusion matrices.


def confusion_matrix(
    codes: npt.NDArray[Any], predicted: npt.NDArray[Any], k: int, weights: FloatArray | None = None
) -> npt.NDArray[Any]:
    """Return the number of rows, or the sum of their weights, by true class and predicted class, (k, k).

    Examples
    --------
    >>> confusion_matrix(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    found = np.bincount(codes * k + predicted, weights, minlength=k * k).reshape(k, k)
    return found.astype(np.int64) if weights is None else found


class ClassMeasures(NamedTuple):
    """Measures of each class, (k,); nan where a class was never predicted, or has no rows."""

    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    rows: IntArray


def class_measures(confusion: IntArray) -> ClassMeasures:
    """Return precision, recall and F1 of each class."""
    right = np.diagonal(confusion).astype(np.float64)
    predicted, true = confusion.sum(axis=0), confusion.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return ClassMeasures(right / predicted, right / true, 2 * right / (predicted + true), true)


def describe_classes(labels: Iterable[Any], confusion: IntArray) -> list[dict[str, Any]]:
    """Return precision, recall, F1 and the number of rows of each class, by name.

    Examples
    --------
    >>> describe_classes(["no", "yes"], np.array([[3, 1], [0, 2]]))[0]
    {'class': 'no', 'precision': 1.0, 'recall': 0.75, 'F1': 0.8571428571428571, 'rows': 4}
    """
    return [
        {"class": name, "precision": float(a), "recall": float(b), "F1": float(c), "rows": rows.item()}
        for name, a, b, c, rows in zip(labels, *class_measures(confusion), strict=True)
    ]


# Confidence intervals.


def mean_and_error(
    values: FloatArray, weights: FloatArray | None = None, groups: IntArray | None = None
) -> tuple[float, float]:
    """Return a weighted mean and its standard error; rows of a group are not independent of each other.

    Parameters
    ----------
    values
        A number for each row.
    weights
        The weight of each row; 1 by default.
    groups
        The group of each row, 0, 1, …; each row is alone by default.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 3.0, 4.0])
    >>> [round(each, 3) for each in mean_and_error(values)]
    [2.5, 0.645]
    >>> [round(each, 3) for each in mean_and_error(np.tile(values, 2), groups=np.tile(np.arange(4), 2))]
    [2.5, 0.645]
    """
    weights = np.ones(len(values)) if weights is None else weights
    total = weights.sum()
    mean = float((weights * values).sum() / total)  # exactly 1 if all values are
    gaps = weights * (values - mean) / total
    if groups is not None:
        gaps = np.bincount(np.unique(groups, return_inverse=True)[1], gaps)
    m = len(gaps)
    return mean, float(np.sqrt((gaps**2).sum() * m / (m - 1))) if m > 1 else nan


def mean_interval(mean: float, error: float, rows: int, level: float = 0.95) -> tuple[float, float]:
    """Return the limits of a mean by its standard error over a number of independent rows, by Student's t.

    Examples
    --------
    >>> [round(limit, 2) for limit in mean_interval(1.0, 0.1, 5)]
    [0.72, 1.28]
    """
    from scipy.special import stdtrit

    half_width = float(stdtrit(max(rows - 1, 1), (1 + level) / 2)) * error
    return mean - half_width, mean + half_width


def share_interval(share: float, error: float, rows: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact limits of a share of a number of independent rows; fewer of them if the error is larger.

    Examples
    --------
    >>> [round(limit, 3) for limit in share_interval(0.9, 0.03, 100)]
    [0.824, 0.951]
    """
    if error > 0:
        rows = max(min(rows, round(share * (1 - share) / error**2)), 1)
    return binomial_interval(round(share * rows, 6), rows, level)  # 0.29 * 100 is less than 29


def binomial_interval(k: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact limits (Clopper and Pearson 1934) of a share of which k out of n were seen.

    A k between two integers, such as a number of pairs with ties, has the limits of both: it is rounded down for the
    lower one and up for the upper one. Without any trials the interval is (0, 1).

    Examples
    --------
    >>> [round(limit, 3) for limit in binomial_interval(0, 100)]
    [0.0, 0.036]
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    least, most = int(np.floor(k)), int(np.ceil(k))
    low = float(betaincinv(least, n - least + 1, tail)) if least else 0.0
    high = 1 - float(betaincinv(n - most, most + 1, tail)) if most < n else 1.0
    return low, high


def logit_interval(logit: float, variance: float, level: float = 0.95) -> tuple[float, float]:
    """Return the limits of a share whose logit is normally distributed.

    Examples
    --------
    >>> [round(limit, 3) for limit in logit_interval(0.0, 0.25)]
    [0.273, 0.727]
    """
    from scipy.special import expit, ndtri

    half_width = float(ndtri((1 + level) / 2)) * sqrt(variance)
    return float(expit(logit - half_width)), float(expit(logit + half_width))


# All measures of a table, in one pass.


@dataclass
class Evaluation:
    """Measures of predictions, summed batch by batch.

    Examples
    --------
    >>> from suffice.statistics import Labels
    >>> evaluation = Evaluation("classes", Labels(("no", "yes")))
    >>> evaluation.add(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]))
    >>> round(evaluation.summary()["accuracy"], 3), evaluation.confusion.tolist()
    (0.5, [[1, 1], [0, 0]])

    A row of a class that the model does not know has the code -1. It is an error, and its class has a probability of 0,
    which counts as 1e-15 in the log loss; it is in no row of the confusion matrix.

    >>> evaluation.add(np.array([[0.9, 0.1]]), np.array([-1]), ["maybe"])
    >>> round(evaluation.summary()["accuracy"], 3), evaluation.unknown
    (0.333, {'maybe': 1})
    """

    task: Task
    labels: Labels
    positive: int = 1  # code of the class, of two, whose ranking is measured
    rows: int = 0
    weight: float = 0.0  # of the rows: their number unless they have weights
    sums: dict[str, float] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)  # rows of classes that the model does not know, by class

    def __post_init__(self) -> None:
        k = len(self.labels)
        self.confusion: npt.NDArray[Any] = np.zeros((k, k), dtype=np.int64)  # true by predicted
        self.calibration = np.zeros((3, CALIBRATION_BINS))  # of the predicted class: see calibration_sums
        self.log_odds = np.zeros((2, LOG_ODDS_BINS + 1))  # of two classes: histograms of log-odds of the second
        self._moments = np.zeros(3)  # of the target: weight, mean, sum of squared deviations from it

    def add(
        self,
        predictions: FloatArray,
        values: npt.NDArray[Any],
        unknown: Iterable[Any] = (),
        weights: FloatArray | None = None,
        predicted: IntArray | None = None,
    ) -> None:
        """Add rows: probabilities of classes, (n, k), or expected numbers, (n,); and the truth.

        ``unknown`` are the classes of the rows whose code is -1. With ``weights``, counts are sums of weights.
        ``predicted`` are the predicted classes; by default the most probable ones.
        """
        self.rows += len(values)
        self.weight += len(values) if weights is None else float(weights.sum())
        for name in map(str, unknown):
            self.unknown[name] = self.unknown.get(name, 0) + 1
        if self.task == "classes":
            best = predictions.argmax(axis=1) if predicted is None else predicted
            self._add_classes(predictions, values, weights, best)
        else:
            self._add_numbers(predictions, values, weights)

    def _add_to(self, name: str, amounts: FloatArray, weights: FloatArray | None) -> None:
        self.sums[name] = self.sums.get(name, 0.0) + float((amounts if weights is None else amounts * weights).sum())

    def _add_classes(self, p: FloatArray, codes: IntArray, weights: FloatArray | None, best: IntArray) -> None:
        k = len(self.labels)
        known = codes >= 0
        true = np.where(known, p[np.arange(len(codes)), codes], 0.0)
        self._add_to("log loss", log_losses(true), weights)
        self._add_to("brier", (p**2).sum(axis=1) - 2 * true + 1, weights)
        of_known = None if weights is None else weights[known]
        self.confusion = self.confusion + confusion_matrix(codes[known], best[known], k, of_known)
        self.calibration += calibration_sums(p[np.arange(len(codes)), best], best == codes, weights=weights)
        if k == 2:
            with np.errstate(divide="ignore"):
                odds = np.clip(np.log(p[:, 1]) - np.log(p[:, 0]), -MAX_LOG_ODDS, MAX_LOG_ODDS)
            bins = ((odds + MAX_LOG_ODDS) / (2 * MAX_LOG_ODDS) * LOG_ODDS_BINS).astype(np.int64)
            for code in (0, 1):
                some = codes == code
                of_some = None if weights is None else weights[some]
                self.log_odds[code] += np.bincount(bins[some], of_some, minlength=LOG_ODDS_BINS + 1)

    def _add_numbers(self, expected: FloatArray, values: FloatArray, weights: FloatArray | None) -> None:
        for name, amounts in row_losses(self.task, expected, values).items():
            self._add_to(name, amounts, weights)
        weights = np.ones(len(values)) if weights is None else weights
        n = float(weights.sum())
        if not n:
            return
        mean = float(weights @ values / n)
        before, mean_before, squares = self._moments
        gap = mean - mean_before
        total = before + n
        squares += float(weights @ (values - mean) ** 2) + gap**2 * before * n / total
        self._moments = np.array([total, mean_before + gap * n / total, squares])

    def summary(self) -> dict[str, float]:
        """Return the measures by name."""
        n = self.weight or 1.0
        means = {name: amount / n for name, amount in self.sums.items()}
        if self.task == "classes":
            found = {
                "accuracy": float(np.trace(self.confusion)) / n,
                "base rate": float(self.confusion.sum(axis=1).max(initial=0)) / n,
                "log loss": means.get("log loss", 0.0),
                "Brier score": means.get("brier", 0.0) / (2 if len(self.labels) == 2 else 1),
                "calibration error": self.calibration_error(),
            }
            if len(self.labels) != 2:
                return found
            ranking = self.ranking()
            precision = average_precision(*precision_recall_curve(ranking)) if ranking.positives else nan
            return {**found, "ROC AUC": roc_auc(ranking), "PR AUC": precision}
        squares = self._moments[2]
        squared = means.get("squared error", 0.0)
        found = {
            "RMSE": float(np.sqrt(squared)),
            "MAE": means.get("absolute error", 0.0),
            "R²": float(1 - squared * n / squares) if squares > 0 else nan,
        }
        return {"Poisson deviance": means.get("deviance", 0.0), **found} if self.task == "counts" else found

    def accuracy_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the limits of the accuracy, of classes; rows count equally if they have weights, too."""
        share = float(np.trace(self.confusion)) / (self.weight or 1.0)
        return binomial_interval(share * self.rows, self.rows, level)

    def calibration_error(self) -> float:
        """Return the expected calibration error of the predicted class; 0 without rows."""
        return calibration_error(calibration_curve(self.calibration)) if self.rows else 0.0

    def ranking(self) -> Ranking:
        """Return the ranking of rows by the log-odds of the positive one of two classes."""
        return rank_histograms(*(self.log_odds if self.positive == 1 else self.log_odds[::-1, ::-1]))

    def per_class(self) -> list[dict[str, Any]]:
        """Return precision, recall, F1 and the number of rows of each class."""
        return describe_classes(self.labels, self.confusion)
