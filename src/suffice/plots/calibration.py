"""Calibration curve (reliability diagram) of a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from suffice.metrics import (
    CalibrationCurve,
    calibration_curve,
    calibration_error,
    calibration_sums,
    quantile_calibration_sums,
)
from suffice.plots.display import Display
from suffice.plots.inputs import predict_probabilities, validate_probabilities
from suffice.plots.style import DOTTED, FOREGROUND, class_colour, draw_legend, label_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.typing import MatrixLike, VectorLike

#: Height of the highest bar of counts, as a share of the height of the axes.
_BAR_HEIGHT = 0.18


class CalibrationDisplay(Display):
    """Calibration curve: observed frequency against predicted probability, in bins.

    Parameters
    ----------
    predicted
        Mean predicted probability of the rows in each bin, (b,).
    observed
        Share of them that are of the class, (b,).
    counts
        Number of rows in each bin, (b,).
    label
        Whose probability it is: a class, or "the predicted class".

    Attributes
    ----------
    error
        Expected calibration error: mean absolute difference of observed and predicted, weighted by the number of rows.

    Examples
    --------
    >>> display = CalibrationDisplay([0.1, 0.9], [0.2, 0.8], [30, 10])
    >>> round(display.error, 6)
    0.1
    """

    def __init__(
        self, predicted: npt.ArrayLike, observed: npt.ArrayLike, counts: npt.ArrayLike, *, label: str = "the class"
    ) -> None:
        self.predicted = np.asarray(predicted, dtype=np.float64)
        self.observed = np.asarray(observed, dtype=np.float64)
        self.counts = np.asarray(counts)
        if not self.predicted.shape == self.observed.shape == self.counts.shape or self.counts.sum() <= 0:
            raise ValueError(
                "predicted, observed and counts must have one entry per bin, and some rows; their shapes are "
                f"{self.predicted.shape}, {self.observed.shape} and {self.counts.shape}"
            )
        self.label = label
        self.error = calibration_error(CalibrationCurve(self.predicted, self.observed, self.counts))

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike,
        y: VectorLike,
        *,
        bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the calibration curve of a fitted classifier.

        Parameters
        ----------
        model
            Any classifier with ``predict_proba``.
        X, y
            Test rows and their classes.
        bins
            Number of bins.
        strategy
            "uniform": bins of equal width; "quantile": bins of equally many rows.
        ax
            Axes to draw on.
        """
        p, classes = predict_probabilities(model, X)
        return cls.from_predictions(y, p, classes=classes, bins=bins, strategy=strategy, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y: VectorLike,
        p: npt.ArrayLike,
        *,
        classes: VectorLike = None,
        bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the calibration curve of probabilities: of the second of two classes, else of the predicted class.

        Parameters
        ----------
        y
            Classes of the rows, (n,).
        p
            Probabilities, (n, k); for two classes, those of the second suffice, (n,).
        classes
            The classes in the order of the probabilities; sorted by default.
        bins, strategy, ax
            As for :meth:`from_estimator`.
        """
        labels, given, known = validate_probabilities(y, p, classes)
        if len(known) == 2:
            probability, is_class, label = given[:, 1], labels == known[1], str(known[1])
        else:
            probability, label = given.max(axis=1), "the predicted class"
            is_class = labels == known[given.argmax(axis=1)]
        if strategy not in ("uniform", "quantile"):
            raise ValueError(f"strategy must be 'uniform' or 'quantile'; got {strategy!r}")
        sums = calibration_sums if strategy == "uniform" else quantile_calibration_sums
        return cls(*calibration_curve(sums(probability, is_class, bins)), label=label).plot(ax)

    def _draw(self) -> None:
        ax = self.ax_
        ax.plot([0, 1], [0, 1], color=FOREGROUND, linewidth=0.8, linestyle=DOTTED)
        heights = _BAR_HEIGHT * self.counts / self.counts.max()
        bars = ax.bar(self.predicted, heights, 0.03, color=FOREGROUND, alpha=0.4, linewidth=0)
        order = np.argsort(self.predicted, kind="stable")
        x, y = self.predicted[order], self.observed[order]
        (line,) = ax.plot(x, y, color=class_colour(0), marker="o", markersize=4, linewidth=1.8)
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.01, 1.03)
        entries = [(line, f"calibration error {self.error:.3f}"), (bars, f"{int(self.counts.sum()):,} rows")]
        rows = draw_legend(ax, entries)
        label_axes(ax, f"predicted probability of {self.label}", "observed frequency")
        self._set_title("Calibration curve", rows)
