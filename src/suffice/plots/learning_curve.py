"""Learning curves of several models, and where they cross."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from suffice.metrics import log_losses
from suffice.plots.display import Display
from suffice.plots.inputs import encode_labels, select_rows, validate_labels
from suffice.plots.style import (
    DOTTED,
    FONT_SIZE,
    FOREGROUND,
    class_colour,
    class_marker,
    draw_legend,
    format_number,
    label_axes,
    line_style,
)
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.typing import MatrixLike, VectorLike

Measure = str | Callable[[Any, Any, Any], float]

#: Crossings are labelled up to this number; more labels would overlap.
_MAX_LABELS = 2


class Crossing(NamedTuple):
    """Where the curves of two models cross."""

    one: str
    other: str
    size: float  #: number of training rows at the crossing
    value: float  #: value of both curves at the crossing


class LearningCurveDisplay(Display):
    """Learning curves: a measure on held-out rows against the number of training rows, for each model.

    Parameters
    ----------
    sizes
        Numbers of training rows, (s,), increasing.
    curves
        For each model, the mean of the measure over repeats, (s,).
    spreads
        For each model, the standard deviation over repeats, (s,).
    measure
        Name of the measure.

    Attributes
    ----------
    crossings
        Where two curves cross, for each pair of models; between two sizes, curves are linear in the logarithm of the
        size.

    Examples
    --------
    >>> display = LearningCurveDisplay([10, 1000], {"NB": [0.2, 0.15], "logistic": [0.3, 0.05]}, measure="error")
    >>> display.crossings
    [Crossing(one='NB', other='logistic', size=100.0, value=0.175)]
    """

    def __init__(
        self,
        sizes: npt.ArrayLike,
        curves: Mapping[str, npt.ArrayLike],
        spreads: Mapping[str, npt.ArrayLike] | None = None,
        *,
        measure: str = "error",
    ) -> None:
        self.sizes = np.asarray(sizes, dtype=np.float64)
        if self.sizes.ndim != 1 or not len(self.sizes) or (np.diff(self.sizes) <= 0).any() or self.sizes[0] <= 0:
            raise ValueError(f"sizes must be above 0 and increasing; got {self.sizes.tolist()}")
        self.curves = {name: self._validate_curve(name, curve) for name, curve in curves.items()}
        if not self.curves:
            raise ValueError("there are no curves to draw")
        self.spreads = {name: self._validate_curve(name, spread) for name, spread in (spreads or {}).items()}
        self.measure = measure

    def _validate_curve(self, name: str, values: npt.ArrayLike) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != self.sizes.shape:
            raise ValueError(f"curve {name!r} has {array.size} points; there are {self.sizes.size} sizes")
        return array

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, Any],
        X: MatrixLike,
        y: VectorLike,
        *,
        sizes: Sequence[int] | None = None,
        repeats: int = 10,
        random_state: int = 0,
        measure: Measure = "error",
        ax: Axes | None = None,
    ) -> Self:
        """Fit models to training sets of increasing size, and measure them on a held-out third of the rows.

        Parameters
        ----------
        models
            Estimators by name; they are cloned before they are fitted.
        X, y
            Rows and their targets.
        sizes
            Numbers of training rows; about eight up to two thirds of the rows by default.
        repeats
            Number of random splits. All models use the same splits.
        random_state
            Seed of the splits.
        measure
            "error" (share of wrong classes), "log_loss", "squared_error" (of regressions), or a function of a fitted
            model, X and y.
        ax
            Axes to draw on.
        """
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

        function = MEASURES[measure] if isinstance(measure, str) and measure in MEASURES else measure
        if not callable(function):
            raise ValueError(f"measure must be one of {list(MEASURES)}, or a function; got {measure!r}")
        if not models:
            raise ValueError("there are no models to fit: give a dictionary from name to estimator")
        rows: Any = X
        n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        labels = validate_labels(y, n_rows)
        is_classification = measure in ("error", "log_loss")
        splitter = (StratifiedShuffleSplit if is_classification else ShuffleSplit)(
            repeats, test_size=1 / 3, random_state=random_state
        )
        splits = list(splitter.split(np.zeros((n_rows, 1)), labels))
        largest = len(splits[0][0])
        if sizes is None:
            steps = _default_sizes(len(np.unique(labels)) if is_classification else 5, largest)
        else:
            steps = np.unique(sizes)
        if steps[0] < 1 or steps[-1] > largest:
            raise ValueError(
                f"sizes must be 1 to {largest}, as a third of {n_rows} rows is held out; got {steps.tolist()}"
            )
        values = {name: np.empty((repeats, len(steps))) for name in models}
        for repeat, (train, test) in enumerate(splits):
            order = one_of_each_class_first(train, labels) if is_classification else train
            for index, size in enumerate(steps):
                for name, model in models.items():
                    values[name][repeat, index] = _fit_and_measure(model, X, labels, order[:size], test, function)
        return cls(
            steps,
            {name: each.mean(axis=0) for name, each in values.items()},
            {name: each.std(axis=0) for name, each in values.items()},
            measure=measure.replace("_", " ") if isinstance(measure, str) else getattr(measure, "__name__", "measure"),
        ).plot(ax)

    @property
    def crossings(self) -> list[Crossing]:
        """Where two curves cross, for each pair of models, in increasing order of size."""
        return [
            Crossing(one, other, *point)
            for one, other in combinations(self.curves, 2)
            for point in _find_crossings(np.log(self.sizes), self.curves[one], self.curves[other])
        ]

    def _draw(self) -> None:
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

        ax = self.ax_
        entries: list[tuple[Any, str]] = []
        for index, (name, curve) in enumerate(self.curves.items()):
            colour = class_colour(index)
            if name in self.spreads:
                spread = self.spreads[name]
                ax.fill_between(self.sizes, curve - spread, curve + spread, color=colour, alpha=0.15, linewidth=0)
            (line,) = ax.plot(
                self.sizes,
                curve,
                color=colour,
                linestyle=line_style(index),
                marker=class_marker(index),
                markersize=4,
                linewidth=1.8,
            )
            entries.append((line, str(name)))
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(FixedLocator(_tick_sizes(self.sizes)))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value)))
        crossings = self.crossings
        for crossing in crossings:
            ax.plot(crossing.size, crossing.value, "o", markersize=10, markerfacecolor="none", color=FOREGROUND)
        for crossing in crossings if len(crossings) <= _MAX_LABELS else ():
            low = ax.get_ylim()[0]
            ax.plot([crossing.size] * 2, [low, crossing.value], color=FOREGROUND, linewidth=0.8, linestyle=DOTTED)
            ax.annotate(
                f"{format_number(round(crossing.size))} rows",
                (crossing.size, low),
                textcoords="offset points",
                xytext=(4, 4),
                color=FOREGROUND,
                fontsize=FONT_SIZE,
            )
            ax.set_ylim(bottom=low)
        rows = draw_legend(ax, entries)
        label_axes(ax, "training rows", f"{self.measure} on held-out rows")
        self._set_title(self._title(), rows)

    def _title(self) -> str:
        crossings = self.crossings
        if len(self.curves) == 2 and len(crossings) == 1:
            one, other = self.curves
            size = f"{format_number(round(crossings[0].size))} rows"
            if self.measure.replace(" ", "_") not in MEASURES:
                return f"{one} and {other} cross at about {size}"  # higher may be better: the winner is not known
            better, worse = (other, one) if self.curves[one][-1] > self.curves[other][-1] else (one, other)
            return f"{better} is better than {worse} from about {size}"
        return "Learning curves" if len(self.curves) > 1 else "Learning curve"


def _find_crossings(x: FloatArray, one: FloatArray, other: FloatArray) -> list[tuple[float, float]]:
    """Return (size, value) where the sign of the difference of two curves changes."""
    difference = one - other
    indices = np.flatnonzero(np.isfinite(difference) & (difference != 0))  # equal values are no change of sign yet
    crossings = []
    for left, right in pairwise(indices):
        if difference[left] * difference[right] < 0:
            share = difference[left] / (difference[left] - difference[right])
            at = x[left] + share * (x[right] - x[left])
            crossings.append((float(np.round(np.exp(at), 9)), float(np.interp(at, x, one))))
    return crossings


def _tick_sizes(sizes: FloatArray) -> list[float]:
    """Return up to six ticks: 1, 2 and 5 times powers of ten, or fewer of them."""
    low, high = sizes[0], sizes[-1]
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    candidates = [
        [float(factor * power) for power in powers for factor in factors if low <= factor * power <= high]
        for factors in ((1, 2, 5), (1, 3), (1,))
    ]
    ticks = next((each for each in candidates if len(each) <= 6), candidates[-1])
    return ticks if len(ticks) > 1 else [float(low), float(high)]


def _default_sizes(n_classes: int, largest: int) -> npt.NDArray[np.int64]:
    smallest = min(max(2 * n_classes, 10), largest)
    return np.unique(np.geomspace(smallest, largest, 8).round().astype(np.int64))


def one_of_each_class_first(rows: npt.NDArray[np.intp], labels: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the rows with one of each class first, so that small training sets have all classes."""
    _, firsts = np.unique(labels[rows], return_index=True)
    return np.concatenate([rows[np.sort(firsts)], np.delete(rows, firsts)])


def _fit_and_measure(
    model: Any, X: Any, y: Any, train: Any, test: Any, measure: Callable[[Any, Any, Any], float]
) -> float:
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows are often separable: the curve shows the effect
        fitted = clone(model).fit(select_rows(X, train), y[train])
        return float(measure(fitted, select_rows(X, test), y[test]))


def _error(model: Any, X: Any, y: Any) -> float:
    return float(np.mean(np.asarray(model.predict(X)) != y))


def _log_loss(model: Any, X: Any, y: Any) -> float:
    p = np.asarray(model.predict_proba(X))
    return float(log_losses(p[np.arange(len(p)), encode_labels(np.asarray(y), model.classes_, "y")]).mean())


def _squared_error(model: Any, X: Any, y: Any) -> float:
    return float(np.mean((np.asarray(model.predict(X)) - y) ** 2))


#: Measures by name; lower is better.
MEASURES: dict[str, Callable[[Any, Any, Any], float]] = {
    "error": _error,
    "log_loss": _log_loss,
    "squared_error": _squared_error,
}
