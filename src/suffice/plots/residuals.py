"""Residuals of a regression: predicted against actual values, residuals, and a rootogram of counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from suffice.families import Family, Gaussian
from suffice.plots.display import Display
from suffice.plots.inputs import sample_rows
from suffice.plots.style import FOREGROUND, class_colour, draw_legend, label_axes
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.typing import MatrixLike

Kind = Literal["predicted", "residuals", "counts"]
KINDS = ("predicted", "residuals", "counts")


class ResidualsDisplay(Display):
    """Predictions of a regression against actual values.

    Parameters
    ----------
    actual
        Actual values, (n,).
    predicted
        Predicted means, (n,).
    variance
        Variance of each row under the model, (n,), up to a factor; residuals are divided by its square root (Pearson
        residuals). None leaves them undivided.
    kind
        "predicted": actual against predicted values; "residuals": residuals against predicted values; "counts":
        observed and expected frequencies of each count (hanging rootogram).
    max_rows
        Maximum number of points.
    family
        Family of the counts with these means, such as ``NegativeBinomial(theta=2)``; Poisson by default.

    Attributes
    ----------
    residuals
        Actual less predicted values, (n,), in standard deviations where the variance is given.
    counts, observed, expected
        The counts 0, 1, ..., the number of rows with each, and the number that the model expects; None where the actual
        values are not counts.

    Examples
    --------
    >>> display = ResidualsDisplay([3.0, 1.0], [4.0, 1.0], variance=[4.0, 1.0])
    >>> display.residuals.tolist()
    [-0.5, 0.0]
    """

    def __init__(
        self,
        actual: npt.ArrayLike,
        predicted: npt.ArrayLike,
        *,
        variance: npt.ArrayLike | None = None,
        kind: Kind = "predicted",
        max_rows: int = 600,
        family: Family | None = None,
    ) -> None:
        self.actual = np.asarray(actual, dtype=np.float64)
        self.predicted = np.asarray(predicted, dtype=np.float64)
        if self.actual.ndim != 1 or self.actual.shape != self.predicted.shape or not self.actual.size:
            raise ValueError(
                f"actual has the shape {self.actual.shape} and predicted {self.predicted.shape}: both must be (n,)"
            )
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}; got {kind!r}")
        self.variance = None if variance is None else np.broadcast_to(np.asarray(variance, float), self.actual.shape)
        if self.variance is not None and not (self.variance > 0).all():
            raise ValueError(f"variances must be above 0; the least is {self.variance.min():g}")
        self.residuals: FloatArray = (self.actual - self.predicted) / (
            1 if self.variance is None else self.variance**0.5
        )
        self.kind = kind
        self.max_rows = max_rows
        self.counts, self.observed, self.expected = _count_frequencies(self.actual, self.predicted, family)
        if kind == "counts" and self.counts is None:
            raise ValueError("kind='counts' needs integers, 0 or more, and means above 0")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike,
        y: npt.ArrayLike,
        *,
        kind: Kind = "predicted",
        max_rows: int = 600,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the predictions of a fitted regression against actual values.

        Parameters
        ----------
        model
            Any regression. Residuals of generalised linear models of this library are Pearson residuals.
        X, y
            Rows and their actual values.
        kind, max_rows
            As for the class.
        ax
            Axes to draw on.
        """
        predicted = np.asarray(model.predict(X))
        name = type(model).__name__
        if predicted.ndim != 1:
            raise ValueError(f"{name} predicts {predicted.shape[1]} numbers per row: give one column at a time")
        if predicted.dtype.kind not in "biuf" or hasattr(model, "predict_proba"):
            raise ValueError(f"{name} predicts classes: use ConfusionMatrixDisplay or CalibrationDisplay")
        variance = _response_variance(model, predicted.astype(np.float64))
        family = model._response().family if hasattr(model, "_response") else None
        family = family if isinstance(family, Family) and family.is_discrete else None
        return cls(y, predicted, variance=variance, kind=kind, max_rows=max_rows, family=family).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y: npt.ArrayLike,
        prediction: npt.ArrayLike,
        *,
        variance: npt.ArrayLike | None = None,
        kind: Kind = "predicted",
        max_rows: int = 600,
        ax: Axes | None = None,
    ) -> Self:
        """Draw predictions against actual values.

        Parameters
        ----------
        y, prediction
            Actual and predicted values, (n,).
        variance, kind, max_rows
            As for the class.
        ax
            Axes to draw on.
        """
        return cls(y, prediction, variance=variance, kind=kind, max_rows=max_rows).plot(ax)

    def _draw(self) -> None:
        {"predicted": self._draw_predicted, "residuals": self._draw_residuals, "counts": self._draw_counts}[self.kind]()

    def _draw_points(self, values: FloatArray) -> None:
        sample = sample_rows(len(self.actual), self.max_rows, 0)
        self.ax_.scatter(self.predicted[sample], values[sample], s=12, color=class_colour(0), alpha=0.6, linewidths=0)

    def _draw_predicted(self) -> None:
        self._draw_points(self.actual)
        ends = [float(self.predicted.min()), float(self.predicted.max())]
        self.ax_.plot(ends, ends, color=FOREGROUND, linewidth=1.0)
        if self.counts is not None:
            self.ax_.locator_params(axis="y", integer=True)
        label_axes(self.ax_, "predicted", "actual")
        self._set_title("Actual against predicted values (line: equal)")

    def _draw_residuals(self) -> None:
        self._draw_points(self.residuals)
        self.ax_.axhline(0, color=FOREGROUND, linewidth=1.0)
        x, means = binned_means(self.predicted, self.residuals)
        (line,) = self.ax_.plot(x, means, color=class_colour(1), linewidth=1.8)
        rows = draw_legend(self.ax_, [(line, "mean residual")])
        label = "residual (actual − predicted)" if self.variance is None else "Pearson residual"
        label_axes(self.ax_, "predicted", label)
        self._set_title("Residuals against predicted values", rows)

    def _draw_counts(self) -> None:
        ax = self.ax_
        assert self.counts is not None  # checked by the constructor
        assert self.observed is not None
        assert self.expected is not None
        roots = np.sqrt(self.expected)
        heights = np.sqrt(self.observed)
        bars = ax.bar(self.counts, heights, 0.8, roots - heights, color=class_colour(0), alpha=0.6)
        (line,) = ax.plot(self.counts, roots, color=class_colour(1), marker="o", markersize=3.5, linewidth=1.5)
        ax.axhline(0, color=FOREGROUND, linewidth=0.8)
        ax.locator_params(axis="x", integer=True)
        ax.use_sticky_edges = False  # leaves a margin below bars that end below zero
        ax.autoscale_view()
        rows = draw_legend(ax, [(line, "expected"), (bars, "observed, hanging from expected")])
        label_axes(ax, "count", "square root of rows")
        self._set_title("Rootogram: observed and expected counts", rows)


def _response_variance(model: Any, mean: FloatArray) -> FloatArray | None:
    """Return the variance function of a generalised linear model at a mean; None of other models."""
    if not hasattr(model, "_response"):
        return None
    response = model._response()
    if response.family is Gaussian or mean.ndim != 1 or not response.likelihood.has_deviance:
        return None
    variance: FloatArray = response.unit_variance(mean)
    return np.maximum(variance, np.finfo(np.float64).tiny)


def _count_frequencies(actual: FloatArray, predicted: FloatArray, family: Family | None) -> tuple[Any, Any, Any]:
    """Return counts, and the observed and expected number of rows of each; None where values are not counts."""
    from scipy.stats import poisson

    is_count = bool((actual >= 0).all() and (actual == np.floor(actual)).all() and (predicted > 0).all())
    if not is_count or actual.max() > 10_000:
        return None, None, None
    counts = np.arange(int(actual.max()) + 1)
    observed = np.bincount(actual.astype(np.int64), minlength=len(counts)).astype(np.float64)
    if family is None:
        expected = np.array([np.sum(poisson.pmf(count, predicted)) for count in counts])
    else:
        expected = np.array([np.sum(np.exp(family.log_likelihood(count, predicted))) for count in counts])
    return counts, observed, expected


def binned_means(x: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means of x and of values in up to twenty bins of equally many rows, ordered by x."""
    order = np.argsort(x, kind="stable")
    bins = np.array_split(order, int(np.clip(len(x) // 10, 1, 20)))
    return np.array([x[rows].mean() for rows in bins]), np.array([values[rows].mean() for rows in bins])
