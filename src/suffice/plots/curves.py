"""ROC curves and precision-recall curves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.metrics import Ranking, corners, precision_recall_curve, rank, roc_auc, roc_curve
from suffice.metrics import average_precision as compute_average_precision
from suffice.plots.display import Display
from suffice.plots.inputs import predict_probabilities, validate_probabilities
from suffice.plots.style import (
    DOTTED,
    FOREGROUND,
    HEIGHT,
    WIDTH,
    class_colour,
    count_legend_rows,
    draw_legend,
    label_axes,
    line_style,
)
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curves = Mapping[Any, npt.ArrayLike]


def _by_name(values: Any) -> dict[Any, FloatArray]:
    """Return curves by name; the name of a single curve is the empty string."""
    named = values if isinstance(values, Mapping) else {"": values}
    return {name: np.asarray(each, dtype=np.float64) for name, each in named.items()}


def _rank_one_vs_rest(y: Any, p: Any, classes: Any) -> dict[Any, Ranking]:
    """Return the ranking of the rows by the probability of each class; of two classes, only of the second."""
    labels, given, known = validate_probabilities(y, p, classes)
    names = known.tolist()
    codes = range(1, 2) if len(names) == 2 else range(len(names))
    rankings = {names[code]: rank(labels == names[code], given[:, code]) for code in codes}
    for label, ranking in rankings.items():
        if not ranking.positives or not ranking.negatives:
            raise ValueError(
                f"class {label!r} has {ranking.positives} of {len(labels)} rows: a curve needs rows of the class and "
                "rows of others"
            )
    return rankings


class _UnitSquareCurves(Display):
    """Curves in the unit square, one for each class against the rest."""

    _x: dict[Any, FloatArray]
    _y: dict[Any, FloatArray]

    def _validate_curves(self) -> None:
        if self._x.keys() != self._y.keys():
            raise ValueError(f"the curves must have the same names; got {list(self._x)} and {list(self._y)}")
        for name in self._x:
            if self._x[name].shape != self._y[name].shape:
                raise ValueError(
                    f"curve {name!r} has {self._x[name].size} x coordinates and {self._y[name].size} y coordinates: "
                    "there must be as many of both"
                )

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Draw the curves of a fitted classifier.

        Parameters
        ----------
        model
            Any classifier with ``predict_proba``.
        X, y
            Test rows and their classes.
        ax
            Axes to draw on.
        """
        p, classes = predict_probabilities(model, X)
        return cls.from_predictions(y, p, classes=classes, ax=ax)

    @classmethod
    def from_predictions(cls, y: Any, p: Any, *, classes: Any = None, ax: Axes | None = None) -> Self:
        """Draw the curves of predicted probabilities: of the second of two classes, else of each class.

        Parameters
        ----------
        y
            Classes of the rows, (n,).
        p
            Probabilities, (n, k); for two classes, those of the second suffice, (n,).
        classes
            The classes in the order of the probabilities; sorted by default.
        ax
            Axes to draw on.
        """
        return cls._from_rankings(_rank_one_vs_rest(y, p, classes)).plot(ax)

    @classmethod
    @abstractmethod
    def _from_rankings(cls, rankings: dict[Any, Ranking]) -> Self:
        """Return the curves of classes."""

    def _size(self) -> tuple[float, float]:
        return WIDTH, HEIGHT + 0.19 * count_legend_rows([_legend_label(name, 0.0) for name in self._x])

    def _draw_curves(self, areas: Mapping[Any, float], **options: Any) -> int:
        """Draw all curves, and return the number of rows of their legend."""
        entries: list[tuple[Any, str]] = []
        for index, name in enumerate(self._x):
            (line,) = self.ax_.plot(
                self._x[name],
                self._y[name],
                color=class_colour(index),
                linestyle=line_style(index),
                linewidth=1.8,
                **options,
            )
            entries.append((line, _legend_label(name, areas[name])))
        self.ax_.set_xlim(-0.02, 1.02)
        self.ax_.set_ylim(-0.02, 1.02)
        self.ax_.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        self.ax_.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        return draw_legend(self.ax_, entries)


def _legend_label(name: Any, area: float) -> str:
    return f"{name}: {area:.3f}" if name != "" else f"{area:.3f}"


class RocCurveDisplay(_UnitSquareCurves):
    """Receiver operating characteristic (ROC) curve: true positive rate against false positive rate.

    Parameters
    ----------
    fpr, tpr
        False and true positive rates along the thresholds: arrays, or dictionaries from class to array.
    auc
        Area under each curve; computed by default.

    Examples
    --------
    >>> display = RocCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.auc
    {1: 0.75}
    """

    def __init__(
        self,
        fpr: npt.ArrayLike | Curves,
        tpr: npt.ArrayLike | Curves,
        *,
        auc: float | Mapping[Any, float] | None = None,
    ) -> None:
        self.fpr, self.tpr = self._x, self._y = _by_name(fpr), _by_name(tpr)
        self._validate_curves()
        if auc is None:
            auc = {name: float(np.trapezoid(self.tpr[name], self.fpr[name])) for name in self.fpr}
        self.auc = {name: float(each) for name, each in _by_name(auc).items()}

    @classmethod
    def _from_rankings(cls, rankings: dict[Any, Ranking]) -> Self:
        curves = {label: roc_curve(corners(ranking)) for label, ranking in rankings.items()}
        return cls(
            {label: curve.false_positive_rate for label, curve in curves.items()},
            {label: curve.true_positive_rate for label, curve in curves.items()},
            auc={label: roc_auc(ranking) for label, ranking in rankings.items()},
        )

    def _draw(self) -> None:
        self.ax_.plot([0, 1], [0, 1], color=FOREGROUND, linewidth=0.8, linestyle=DOTTED)
        rows = self._draw_curves(self.auc)
        label_axes(self.ax_, "false positive rate", "true positive rate (recall)")
        self._set_title("ROC curve, with the area under the curve", rows)


class PrecisionRecallDisplay(_UnitSquareCurves):
    """Precision-recall curve.

    Parameters
    ----------
    precision, recall
        Precision and recall along the thresholds: arrays, or dictionaries from class to array.
    average_precision
        Average precision of each curve; computed by default.
    prevalence
        Share of the rows that are of each class: the precision of a random classifier.

    Examples
    --------
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> {label: round(value, 3) for label, value in display.average_precision.items()}
    {1: 0.833}
    """

    def __init__(
        self,
        precision: npt.ArrayLike | Curves,
        recall: npt.ArrayLike | Curves,
        *,
        average_precision: float | Mapping[Any, float] | None = None,
        prevalence: float | Mapping[Any, float] | None = None,
    ) -> None:
        self.precision, self.recall = self._y, self._x = _by_name(precision), _by_name(recall)
        self._validate_curves()
        if average_precision is None:
            average_precision = {
                name: compute_average_precision(self.precision[name], self.recall[name]) for name in self.recall
            }
        self.average_precision = {name: float(each) for name, each in _by_name(average_precision).items()}
        self.prevalence = (
            {} if prevalence is None else {name: float(each) for name, each in _by_name(prevalence).items()}
        )

    @classmethod
    def _from_rankings(cls, rankings: dict[Any, Ranking]) -> Self:
        curves = {label: precision_recall_curve(ranking) for label, ranking in rankings.items()}
        return cls(
            {label: curve.precision for label, curve in curves.items()},
            {label: curve.recall for label, curve in curves.items()},
            prevalence={label: each.positives / (each.positives + each.negatives) for label, each in rankings.items()},
        )

    def _draw(self) -> None:
        index_of = {name: index for index, name in enumerate(self.recall)}
        for name, share in self.prevalence.items():
            self.ax_.axhline(share, color=class_colour(index_of[name]), linewidth=0.8, linestyle=DOTTED)
        rows = self._draw_curves(self.average_precision, drawstyle="steps-post")
        label_axes(self.ax_, "recall", "precision")
        self._set_title("Precision-recall curve, with the average precision", rows)
