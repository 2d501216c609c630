"""How models get better with more rows, and where one overtakes another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from suffice.metrics import log_losses
from suffice.plots.display import Display
from suffice.plots.inputs import codes_of, labels_of
from suffice.plots.style import INK, LETTERS, colour, dashes, legend, marker, name_axes, number
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Measure = str | Callable[[Any, Any, Any], float]

#: So many crossings are labelled; more labels would lie upon each other.
_LABELLED = 2


class Crossing(NamedTuple):
    """Where the curves of two models cross."""

    one: str
    other: str
    size: float  #: how many rows they have learnt from there
    value: float  #: what both measure there


class LearningCurveDisplay(Display):
    """Learning curves: what models measure on rows held out, after learning from more and more rows.

    Parameters
    ----------
    sizes
        From how many rows the models learnt, (s,), rising.
    curves
        For each model's name, the mean of what was measured, (s,).
    spreads
        For each model's name, its standard deviation over repeats, (s,).
    measure
        What is measured.

    Attributes
    ----------
    crossings
        Where two curves cross, for each pair; between two sizes, curves are straight in the logarithm of the size.

    Examples
    --------
    >>> display = LearningCurveDisplay([10, 1000], {"quick": [0.2, 0.15], "patient": [0.3, 0.05]}, measure="error")
    >>> display.crossings
    [Crossing(one='quick', other='patient', size=100.0, value=0.175)]
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
            raise ValueError(f"sizes must be numbers above 0 that rise; got {self.sizes.tolist()}")
        self.curves = {name: self._of_size(name, curve) for name, curve in curves.items()}
        if not self.curves:
            raise ValueError("there are no curves to draw")
        self.spreads = {name: self._of_size(name, spread) for name, spread in (spreads or {}).items()}
        self.measure = measure

    def _of_size(self, name: str, values: npt.ArrayLike) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != self.sizes.shape:
            raise ValueError(f"curve {name!r} has {array.size} points; there are {self.sizes.size} sizes")
        return array

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        sizes: Sequence[int] | None = None,
        repeats: int = 10,
        random_state: int = 0,
        measure: Measure = "error",
        ax: Axes | None = None,
    ) -> Self:
        """Let models learn from more and more rows, and measure them on a third that is held out, again and again.

        Parameters
        ----------
        models
            Estimators by name; they are cloned, not fitted.
        X, y
            Rows and their targets.
        sizes
            From how many rows models learn; about eight sizes up to two thirds of the rows by default.
        repeats
            How often the rows are divided anew. All models see the same divisions.
        random_state
            Which divisions these are.
        measure
            "error" (the share of wrong classes), "log_loss", "squared_error" (of regressions), or a function of a
            fitted model, X and y.
        ax
            Where to draw.
        """
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

        measured = MEASURES[measure] if isinstance(measure, str) and measure in MEASURES else measure
        if not callable(measured):
            raise ValueError(f"measure must be one of {list(MEASURES)}, or a function; got {measure!r}")
        if not models:
            raise ValueError("there are no models to learn: give a dictionary from name to estimator")
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        labels = labels_of(y, rows)
        grouped = measure in ("error", "log_loss")
        split = (StratifiedShuffleSplit if grouped else ShuffleSplit)(
            repeats, test_size=1 / 3, random_state=random_state
        )
        divisions = list(split.split(np.zeros((rows, 1)), labels))
        most = len(divisions[0][0])
        steps = _default_sizes(len(np.unique(labels)) if grouped else 5, most) if sizes is None else np.unique(sizes)
        if steps[0] < 1 or steps[-1] > most:
            raise ValueError(f"sizes must be 1 to {most}, as a third of {rows} rows is held out; got {steps.tolist()}")
        values = {name: np.empty((repeats, len(steps))) for name in models}
        for repeat, (learnt, held) in enumerate(divisions):
            order = _classes_first(learnt, labels) if grouped else learnt
            for place, size in enumerate(steps):
                for name, model in models.items():
                    values[name][repeat, place] = _tried(model, X, labels, order[:size], held, measured)
        return cls(
            steps,
            {name: each.mean(axis=0) for name, each in values.items()},
            {name: each.std(axis=0) for name, each in values.items()},
            measure=measure.replace("_", " ") if isinstance(measure, str) else getattr(measure, "__name__", "measure"),
        ).plot(ax)

    @property
    def crossings(self) -> list[Crossing]:
        """Where two curves cross, for each pair of models, from small sizes to large."""
        return [
            Crossing(one, other, *where)
            for one, other in combinations(self.curves, 2)
            for where in _meetings(np.log(self.sizes), self.curves[one], self.curves[other])
        ]

    def _draw(self) -> None:
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

        ax = self.ax_
        entries: list[tuple[Any, str]] = []
        for place, (name, curve) in enumerate(self.curves.items()):
            if name in self.spreads:
                spread = self.spreads[name]
                ax.fill_between(
                    self.sizes, curve - spread, curve + spread, color=colour(place), alpha=0.15, linewidth=0
                )
            (line,) = ax.plot(
                self.sizes,
                curve,
                color=colour(place),
                linestyle=dashes(place),
                marker=marker(place),
                markersize=4,
                linewidth=1.8,
            )
            entries.append((line, str(name)))
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(FixedLocator(_round_sizes(self.sizes)))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        met = self.crossings
        for crossing in met:
            ax.plot(crossing.size, crossing.value, "o", markersize=10, markerfacecolor="none", color=INK)
        for crossing in met if len(met) <= _LABELLED else ():
            low = ax.get_ylim()[0]
            ax.plot([crossing.size] * 2, [low, crossing.value], color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
            text = f" {number(round(crossing.size))} rows"
            ax.text(crossing.size, low, text, color=INK, fontsize=LETTERS, va="bottom", ha="left")
            ax.set_ylim(bottom=low)
        rows = legend(ax, entries)
        name_axes(ax, "rows learnt from", f"{self.measure} on rows held out")
        self._entitle(self._title(), rows)

    def _title(self) -> str:
        met = self.crossings
        if len(self.curves) == 2 and len(met) == 1:
            one, other = self.curves
            where = f"{number(round(met[0].size))} rows"
            if self.measure.replace(" ", "_") not in MEASURES:
                return f"{one} and {other} cross at about {where}"  # which is better is not known
            ahead, behind = (other, one) if self.curves[one][-1] > self.curves[other][-1] else (one, other)
            return f"{ahead} overtakes {behind} after about {where}"
        return "What more rows are worth"


def _meetings(at: FloatArray, one: FloatArray, other: FloatArray) -> list[tuple[float, float]]:
    """Return where one curve passes the other, as (size, value): where the sign of their difference changes."""
    apart = one - other
    places = np.flatnonzero(np.isfinite(apart) & (apart != 0))  # where they are level nothing is decided yet
    found = []
    for left, right in pairwise(places):
        if apart[left] * apart[right] < 0:
            share = apart[left] / (apart[left] - apart[right])
            where = at[left] + share * (at[right] - at[left])
            found.append((float(np.round(np.exp(where), 9)), float(np.interp(where, at, one))))
    return found


def _round_sizes(sizes: FloatArray) -> list[float]:
    """Return places for ticks within a range of sizes: 1, 2 and 5 times powers of ten, not too many of them."""
    low, high = sizes[0], sizes[-1]
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    choices = [
        [float(step * power) for power in powers for step in steps if low <= step * power <= high]
        for steps in ((1, 2, 5), (1, 3), (1,))
    ]
    found = next((each for each in choices if len(each) <= 6), choices[-1])
    return found if len(found) > 1 else [float(low), float(high)]


def _default_sizes(least: int, most: int) -> npt.NDArray[np.int64]:
    return np.unique(np.geomspace(min(max(2 * least, 10), most), most, 8).round().astype(np.int64))


def _classes_first(rows: npt.NDArray[np.intp], labels: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return rows in their order, but for one of each class, which come first: no model has seen one class only."""
    _, firsts = np.unique(labels[rows], return_index=True)
    return np.concatenate([rows[np.sort(firsts)], np.delete(rows, firsts)])


def _tried(model: Any, X: Any, y: Any, learnt: Any, held: Any, measure: Callable[[Any, Any, Any], float]) -> float:
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows separate classes again and again: the curve shows what that costs
        fitted = clone(model).fit(_safe_indexing(X, learnt), y[learnt])
        return float(measure(fitted, _safe_indexing(X, held), y[held]))


def _error(model: Any, X: Any, y: Any) -> float:
    return float(np.mean(np.asarray(model.predict(X)) != y))


def _log_loss(model: Any, X: Any, y: Any) -> float:
    p = np.asarray(model.predict_proba(X))
    return float(log_losses(p[np.arange(len(p)), codes_of(np.asarray(y), model.classes_, "y")]).mean())


def _squared_error(model: Any, X: Any, y: Any) -> float:
    return float(np.mean((np.asarray(model.predict(X)) - y) ** 2))


#: What can be measured by name; less is better.
MEASURES: dict[str, Callable[[Any, Any, Any], float]] = {
    "error": _error,
    "log_loss": _log_loss,
    "squared_error": _squared_error,
}
