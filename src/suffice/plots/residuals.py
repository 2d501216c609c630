"""How far predictions are from what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from suffice.families import Family, Gaussian
from suffice.plots.display import Display
from suffice.plots.inputs import some_rows
from suffice.plots.style import INK, colour, legend, name_axes
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["predicted", "residuals", "counts"]
KINDS = ("predicted", "residuals", "counts")


class ResidualsDisplay(Display):
    """Predictions of numbers beside what happened.

    Parameters
    ----------
    actual
        What happened, (n,).
    predicted
        The predicted means, (n,).
    variance
        The variance that the model expects of each, (n,), up to a factor; residuals are divided by its root (Pearson's
        residuals). None leaves them as they are.
    kind
        "predicted": what happened against predictions; "residuals": what is left, against predictions; "counts": how
        often each count happened, beside how often the model expects it (a hanging rootogram).
    most_rows
        How many points are drawn at most.
    family
        The family of counts with these means, as ``NegativeBinomial(theta=2)``; Poisson by default.

    Attributes
    ----------
    residuals
        What happened less what was predicted, (n,), in standard deviations where the variance is given.
    counts, observed, expected
        The counts 0, 1, ..., how many rows had each, and how many a model with these means expects; for whole numbers
        only, else None.

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
        most_rows: int = 600,
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
        self.most_rows = most_rows
        self.counts, self.observed, self.expected = _counted(self.actual, self.predicted, family)
        if kind == "counts" and self.counts is None:
            raise ValueError("kind='counts' is for whole numbers, 0 or more, and means above 0")

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, kind: Kind = "predicted", most_rows: int = 600, ax: Axes | None = None
    ) -> Self:
        """Draw the predictions of a fitted regression beside what happened.

        Parameters
        ----------
        model
            Any regression. Of one of this library's generalised linear models, residuals are Pearson's.
        X, y
            Rows, and what happened.
        kind, most_rows
            As for the class.
        ax
            Where to draw.
        """
        predicted = np.asarray(model.predict(X))
        if predicted.ndim != 1:
            raise ValueError(
                f"{type(model).__name__} predicts {predicted.shape[1]} numbers a row: give one column at a time"
            )
        if predicted.dtype.kind not in "biuf" or hasattr(model, "predict_proba"):
            raise ValueError(
                f"{type(model).__name__} predicts classes: use ConfusionMatrixDisplay or CalibrationDisplay"
            )
        variance = _variance(model, predicted.astype(np.float64))
        family = model._response().family if hasattr(model, "_response") else None
        family = family if isinstance(family, Family) and family.is_discrete else None
        return cls(y, predicted, variance=variance, kind=kind, most_rows=most_rows, family=family).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        prediction: Any,
        *,
        variance: npt.ArrayLike | None = None,
        kind: Kind = "predicted",
        most_rows: int = 600,
        ax: Axes | None = None,
    ) -> Self:
        """Draw predictions beside what happened.

        Parameters
        ----------
        y, prediction
            What happened and what was predicted, (n,).
        variance, kind, most_rows
            As for the class.
        ax
            Where to draw.
        """
        return cls(y, prediction, variance=variance, kind=kind, most_rows=most_rows).plot(ax)

    def _draw(self) -> None:
        {"predicted": self._draw_predicted, "residuals": self._draw_residuals, "counts": self._draw_counts}[self.kind]()

    def _points(self, values: FloatArray) -> None:
        some = some_rows(len(self.actual), self.most_rows, 0)
        self.ax_.scatter(self.predicted[some], values[some], s=12, color=colour(0), alpha=0.5, linewidths=0)

    def _draw_predicted(self) -> None:
        self._points(self.actual)
        ends = [float(self.predicted.min()), float(self.predicted.max())]
        self.ax_.plot(ends, ends, color=INK, linewidth=1.0)
        name_axes(self.ax_, "predicted", "actual")
        self._entitle("What happened, beside what was predicted (line)")

    def _draw_residuals(self) -> None:
        self._points(self.residuals)
        self.ax_.axhline(0, color=INK, linewidth=1.0)
        at, means = _running_means(self.predicted, self.residuals)
        (line,) = self.ax_.plot(at, means, color=colour(1), linewidth=1.8)
        rows = legend(self.ax_, [(line, "mean of neighbours")])
        what = "actual less predicted" if self.variance is None else "Pearson residual"
        name_axes(self.ax_, "predicted", what)
        self._entitle("What is left: a good model leaves no pattern", rows)

    def _draw_counts(self) -> None:
        ax = self.ax_
        assert self.counts is not None  # checked when they came
        assert self.observed is not None
        assert self.expected is not None
        roots = np.sqrt(self.expected)
        bars = ax.bar(
            self.counts, np.sqrt(self.observed), 0.8, roots - np.sqrt(self.observed), color=colour(0), alpha=0.6
        )
        (line,) = ax.plot(self.counts, roots, color=colour(1), marker="o", markersize=3.5, linewidth=1.5)
        ax.axhline(0, color=INK, linewidth=0.8)
        rows = legend(ax, [(line, "expected"), (bars, "observed, hung from it")])
        name_axes(ax, "count", "square root of rows")
        self._entitle("How often each count happened: a good model's bars end at zero", rows)


def _variance(model: Any, mean: FloatArray) -> FloatArray | None:
    """Return the variance that the family of a generalised linear model has at a mean; None of others."""
    if not hasattr(model, "_response"):
        return None
    response = model._response()
    if response.family is Gaussian or mean.ndim != 1 or not response.likelihood.has_deviance:
        return None
    variance: FloatArray = response.unit_variance(mean)
    return np.maximum(variance, np.finfo(np.float64).tiny)


def _counted(actual: FloatArray, predicted: FloatArray, family: Family | None) -> tuple[Any, Any, Any]:
    """Return counts, how many rows have each, and how many the family expects; None where there are no counts."""
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


def _running_means(at: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the means of neighbours along one axis, in up to twenty groups of equally many."""
    order = np.argsort(at, kind="stable")
    groups = np.array_split(order, int(np.clip(len(at) // 10, 1, 20)))
    return np.array([at[group].mean() for group in groups]), np.array([values[group].mean() for group in groups])
