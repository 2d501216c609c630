"""Whether probabilities mean what they say."""

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
from suffice.plots.inputs import probabilities, scored
from suffice.plots.style import INK, colour, legend, name_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The share of the picture's height that the longest bar of counts takes.
_BARS = 0.18


class CalibrationDisplay(Display):
    """A reliability curve: of rows that were given a probability, how many turned out to be so.

    Parameters
    ----------
    predicted
        The mean probability of the rows in each bin, (b,).
    observed
        The share of them that were right, (b,).
    counts
        How many rows each bin has, (b,).
    label
        What the probability is of: a class, or "the predicted class".

    Attributes
    ----------
    error
        The expected calibration error: the mean distance of both, bins weighing as many rows as they have.

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
        X: Any,
        y: Any,
        *,
        bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        ax: Axes | None = None,
    ) -> Self:
        """Draw whether a fitted model's probabilities mean what they say.

        Parameters
        ----------
        model
            Any classifier with ``predict_proba``.
        X, y
            Rows that it has not learnt from, and their classes.
        bins
            Into how many bins probabilities fall.
        strategy
            "uniform": bins as wide as each other; "quantile": with as many rows.
        ax
            Where to draw.
        """
        p, classes = probabilities(model, X)
        return cls.from_predictions(y, p, classes=classes, bins=bins, strategy=strategy, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        p: Any,
        *,
        classes: Any = None,
        bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        ax: Axes | None = None,
    ) -> Self:
        """Draw whether probabilities mean what they say: of two classes, those of the second; of more, of the best.

        Parameters
        ----------
        y
            The classes of the rows, (n,).
        p
            Their probabilities, (n, k); of two classes, those of the second may stand alone, (n,).
        classes
            The classes in the order of the probabilities; sorted by default.
        bins, strategy, ax
            As for :meth:`from_estimator`.
        """
        labels, given, known = scored(y, p, classes)
        if len(known) == 2:
            said, right, label = given[:, 1], labels == known[1], str(known[1])
        else:
            said, right, label = given.max(axis=1), labels == known[given.argmax(axis=1)], "the predicted class"
        if strategy not in ("uniform", "quantile"):
            raise ValueError(f"strategy must be 'uniform' or 'quantile'; got {strategy!r}")
        sums = calibration_sums if strategy == "uniform" else quantile_calibration_sums
        return cls(*calibration_curve(sums(said, right, bins)), label=label).plot(ax)

    def _draw(self) -> None:
        ax = self.ax_
        ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
        heights = _BARS * self.counts / self.counts.max()
        bars = ax.bar(self.predicted, heights, 0.03, color=INK, alpha=0.4, linewidth=0)
        order = np.argsort(self.predicted, kind="stable")
        at, shares = self.predicted[order], self.observed[order]
        (line,) = ax.plot(at, shares, color=colour(0), marker="o", markersize=4, linewidth=1.8)
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.01, 1.03)
        error = f"calibration error {self.error:.3f}"
        rows = legend(ax, [(line, error), (bars, f"{int(self.counts.sum()):,} rows")])
        name_axes(ax, f"probability of {self.label}", "share that turned out so")
        self._entitle("Do probabilities mean what they say?", rows)
