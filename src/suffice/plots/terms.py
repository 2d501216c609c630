"""Terms of additive models: curves of numbers, bars of categories, heat maps of pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.style import (
    DOTTED,
    FONT_SIZE,
    FOREGROUND,
    HEIGHT,
    WIDTH,
    class_colour,
    class_marker,
    draw_legend,
    format_number,
    hide_spines,
    label_axes,
    line_style,
    set_axes_title,
    shorten,
)
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.additive import AdditiveTerm

#: Half-width of an error band, in standard errors.
_ERRORS = 2.0
#: Share of the height of a panel for the density of the rows.
_DENSITY = 0.16
#: Number of steps of that density, of equal widths.
_DENSITY_CELLS = 40
#: The outermost bins of a column are drawn no wider than this share of those between, or than three of them.
_OUTER = 0.15
#: Most levels of a category that are drawn.
_MAX_LEVELS = 12
#: An error band is drawn up to this share of a curve's range beyond the curve.
_BEYOND = 0.75
#: Opacity of the cell of a pair with the largest effect.
_MAX_ALPHA = 0.85
#: Most ticks of an axis of a pair.
_MAX_TICKS = 5


class TermsDisplay(Display):
    """Terms of an additive model, a panel each: what a column, or a pair, adds to the prediction.

    A column of numbers is a step curve with a band of two standard errors, above the density of the training rows; a
    point beside it is the effect of missing cells. A category has a bar for each level. A pair has a heat map, whose
    cells hold about equally many rows of each column; cells without rows are left empty. Several classes are several
    curves, or for pairs several panels; of many classes, those on which the term has the largest effects.

    Parameters
    ----------
    terms
        The terms.
    classes
        The classes, where there are more than two.
    axis_label
        What an effect is.
    title
        Title of the plot.
    most_classes
        Most classes that are drawn of a term.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import AdditiveRegressor
    >>> x, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(interactions=0).fit(x[["bmi", "sex"]], y)
    >>> [term.name for term in TermsDisplay.from_estimator(model).terms]
    ['bmi', 'sex']
    """

    def __init__(
        self,
        terms: Sequence[AdditiveTerm],
        *,
        classes: Sequence[Any] | None = None,
        axis_label: str = "effect",
        title: str = "Terms of the model",
        most_classes: int = 10,
    ) -> None:
        self.terms = list(terms)
        if not self.terms:
            raise ValueError("there are no terms to draw")
        widths = {_by_class(term).shape[-1] for term in self.terms}
        if widths != {1 if classes is None else len(classes)}:
            raise ValueError(f"the terms have values of {sorted(widths)} classes: give as many classes")
        self.classes = None if classes is None else list(classes)
        self.axis_label = axis_label
        self.title = title
        self.most_classes = most_classes
        self._panels: list[tuple[AdditiveTerm, int | None]] = []
        for term in self.terms:
            each: list[int | None] = [None]
            if len(term.columns) == 2 and classes is not None:
                each = list(self._drawn_classes(term))
            self._panels += [(term, code) for code in each]

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        terms: Sequence[Any] | None = None,
        *,
        n: int = 6,
        most_classes: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the terms of a fitted additive model.

        Parameters
        ----------
        model
            An :class:`~suffice.AdditiveClassifier` or :class:`~suffice.AdditiveRegressor`.
        terms
            Names of terms, as ``model.term`` takes them; by default those of the largest ``importance``.
        n
            Number of terms, if they are not named.
        most_classes
            Most classes that are drawn of a term, those on which it has the largest effects.
        ax
            Axes to draw on.
        """
        if not hasattr(model, "terms_"):
            raise ValueError(f"{type(model).__name__} has no terms_: give a fitted additive model")
        found = sorted(model.terms_, key=lambda term: -term.importance)[:n]
        if terms is not None:
            found = [model.term(name) for name in terms]
        if not found:
            raise ValueError("the model has no terms: every column is constant, or all terms were removed")
        classes = None
        if not hasattr(model, "classes_"):
            family = model.get_params()["family"]
            axis_label = "effect" if family == "gaussian" else "effect on the logarithm"
        elif len(model.classes_) == 2:
            axis_label = f"log-odds of {model.classes_[1]}"
        else:
            classes, axis_label = list(model.classes_), "effect on the score"
        return cls(found, classes=classes, axis_label=axis_label, most_classes=most_classes).plot(ax)

    def _drawn_classes(self, term: AdditiveTerm) -> list[int]:
        """Return the indices of the classes on which a term has the largest effects."""
        values = _by_class(term)
        effects = (np.abs(values) * term.density[..., None]).reshape(-1, values.shape[-1]).sum(axis=0)
        return sorted(np.argsort(-effects, kind="stable")[: self.most_classes].tolist())

    def _grid(self) -> tuple[int, int]:
        columns = min(len(self._panels), 2)
        return -(-len(self._panels) // columns), columns

    def _size(self) -> tuple[float, float]:
        rows, columns = self._grid()
        return columns * WIDTH, rows * HEIGHT * (1.0 if len(self._panels) == 1 else 0.85) + 0.3

    def _draw(self) -> None:
        for ax, (term, code) in zip(self.axes_, self._panels, strict=False):
            if len(term.columns) == 2:
                legend_rows = self._draw_pair(ax, term, code)
            elif term.edges[0] is not None:
                legend_rows = self._draw_numbers(ax, term, term.edges[0])
            else:
                legend_rows = self._draw_levels(ax, term)
            name = term.name if code is None or self.classes is None else f"{term.name}: {self.classes[code]}"
            if len(self._panels) > 1:
                set_axes_title(ax, name, legend_rows)
            else:
                self._set_title(name if self.title == "Terms of the model" else self.title, legend_rows)
        for ax in self.axes_[len(self._panels) :]:
            ax.set_axis_off()
        if len(self._panels) > 1 and self._owns_figure:
            self._set_title(self.title)

    def _curves(self, term: AdditiveTerm) -> list[tuple[int, FloatArray, FloatArray]]:
        """Return the index of each class, with the values and errors of the term's bins."""
        values, errors = _by_class(term), _by_class(term, errors=True)
        return [(code, values[:, code], errors[:, code]) for code in self._drawn_classes(term)]

    def _draw_numbers(self, ax: Axes, term: AdditiveTerm, edges: FloatArray) -> int:
        ends = _outer_edges(edges, term.ranges[0])
        width = float(ends[-1] - ends[0]) or 1.0
        has_missing = bool(term.density[0] > 0)
        beside = float(ends[-1]) + 0.07 * width
        handles = []
        for code, values, errors in self._curves(term):
            colour = class_colour(code)
            low, high = (np.append(v, v[-1]) for v in (values - _ERRORS * errors, values + _ERRORS * errors))
            ax.fill_between(ends, low[1:], high[1:], step="post", color=colour, alpha=0.2, linewidth=0)
            line = ax.step(
                ends,
                np.append(values[1:], values[-1]),
                where="post",
                color=colour,
                linewidth=1.5,
                linestyle=line_style(code),
            )
            handles.append(line[0])
            if has_missing:
                ax.errorbar(beside, values[0], _ERRORS * errors[0], fmt=class_marker(code), color=colour, markersize=4)
        ax.axhline(0, color=FOREGROUND, linewidth=0.8, linestyle=DOTTED)
        bottom, top = self._heights(term, ax.get_ylim())
        ax.set_ylim(bottom - (top - bottom) * _DENSITY / (1 - _DENSITY), top)
        grid = np.linspace(ends[0], ends[-1], _DENSITY_CELLS + 1)
        shares = np.diff(np.interp(grid, ends, np.append(0.0, np.cumsum(term.density[1:]))))
        ax.fill_between(
            grid,
            np.append(shares, shares[-1]) / (shares.max() or 1.0) * (_DENSITY - 0.02),
            step="post",
            color=FOREGROUND,
            alpha=0.45,
            linewidth=0,
            transform=ax.get_xaxis_transform(),
        )
        ax.set_xlim(
            ends[0] - 0.02 * width, (beside if has_missing else ends[-1]) + (0.05 if has_missing else 0.02) * width
        )
        if has_missing:
            ax.annotate(
                "missing",
                (beside, 0.02),
                xycoords=("data", "axes fraction"),
                rotation=90,
                ha="center",
                va="bottom",
                fontsize=FONT_SIZE - 2,
                color=FOREGROUND,
            )
        _format_numbers(ax.xaxis, ends[0], ends[-1])
        _format_numbers(ax.yaxis, *ax.get_ylim())
        label_axes(ax, str(term.columns[0]), self.axis_label)
        return self._draw_classes(ax, term, handles)

    def _heights(self, term: AdditiveTerm, drawn: tuple[float, float]) -> tuple[float, float]:
        """Return the range of effects that is shown: wide bands of bins with few rows are cut off."""
        values = np.concatenate([[0.0], *(values[term.density > 0] for _, values, _ in self._curves(term))])
        beyond = _BEYOND * float(np.ptp(values))
        if not beyond:
            return drawn
        return max(drawn[0], float(values.min()) - beyond), min(drawn[1], float(values.max()) + beyond)

    def _draw_levels(self, ax: Axes, term: AdditiveTerm) -> int:
        order = np.argsort(-term.density, kind="stable")
        shown = order[term.density[order] > 0][:_MAX_LEVELS]
        left_out = int((term.density > 0).sum()) - len(shown)
        curves = self._curves(term)
        space = 0.72 / len(curves)
        handles: list[Any] = []
        for code, values, errors in curves:
            at = np.arange(len(shown)) + (len(handles) - (len(curves) - 1) / 2) * space
            colours: Any = class_colour(code)
            if self.classes is None:
                colours = [class_colour(0) if value >= 0 else class_colour(1) for value in values[shown]]
            bars = ax.barh(at, values[shown], space, color=colours, alpha=0.75)
            ax.errorbar(values[shown], at, xerr=_ERRORS * errors[shown], fmt="none", ecolor=FOREGROUND, elinewidth=1.2)
            handles.append(bars)
        ax.axvline(0, color=FOREGROUND, linewidth=0.8)
        ax.set_yticks(
            range(len(shown)), [f"{shorten(term.labels[0][at], 18)} ({term.density[at]:.0%})" for at in shown]
        )
        ax.set_ylim(len(shown) - 0.4, -0.6)
        hide_spines(ax)
        _format_numbers(ax.xaxis, *ax.get_xlim())
        more = f" ({len(shown)} most frequent of {len(shown) + left_out} levels)" if left_out else ""
        label_axes(ax, f"{self.axis_label}{more}")
        return self._draw_classes(ax, term, handles)

    def _draw_pair(self, ax: Axes, term: AdditiveTerm, code: int | None) -> int:
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Patch

        values = _by_class(term)[..., code or 0]  # (a, b)
        largest = float(np.abs(values[term.density > 0]).max(initial=0.0)) or 1.0
        colours = np.empty((*values.shape, 4))
        colours[..., :3] = np.where((values >= 0)[..., None], to_rgb(class_colour(0)), to_rgb(class_colour(1)))
        colours[..., 3] = np.where(term.density > 0, _MAX_ALPHA * np.minimum(np.abs(values) / largest, 1.0), 0.0)
        a, b = values.shape
        ax.pcolormesh(np.arange(a + 1), np.arange(b + 1), np.moveaxis(colours, 0, 1), linewidth=0)
        for axis, side in ((ax.xaxis, 0), (ax.yaxis, 1)):
            at, labels = _ticks(term, side)
            is_long = side == 0 and sum(map(len, labels)) > 34
            axis.set_ticks(at, labels, rotation=90 if is_long else 0)
        label_axes(ax, str(term.columns[0]), str(term.columns[1]))
        text = format_number(float(f"{largest:.2g}"))
        ends = [(Patch(color=class_colour(1), alpha=_MAX_ALPHA), f"−{text}")]
        ends.append((Patch(color=class_colour(0), alpha=_MAX_ALPHA), f"+{text} {self.axis_label}"))
        return draw_legend(ax, ends)

    def _draw_classes(self, ax: Axes, term: AdditiveTerm, handles: Sequence[Any]) -> int:
        """Draw the legend of the classes, and return its number of rows."""
        if self.classes is None:
            return 0
        drawn = [str(self.classes[code]) for code in self._drawn_classes(term)]
        return draw_legend(ax, list(zip(handles, drawn, strict=True)))


def _by_class(term: AdditiveTerm, errors: bool = False) -> FloatArray:
    """Return the values or errors of a term, with a last axis for the classes."""
    found = term.errors if errors else term.values
    return found[..., None] if found.ndim == term.density.ndim else found


def _outer_edges(edges: FloatArray, range_: tuple[float, float]) -> FloatArray:
    """Return the edges of all bins: the outermost reach to the range of the column, but not far."""
    low, high = range_
    if not len(edges):
        return np.array([low, high if high > low else low + 1.0])
    between = float(edges[-1] - edges[0])
    if not between:
        return np.array([low, edges[0], max(high, edges[0])])
    widths = np.diff(edges)
    # Edges halfway between whole numbers: the outermost numbers are in the middle of their bins, too.
    if np.allclose([edges[0] - low, high - edges[-1]], [widths[0] / 2, widths[-1] / 2]):
        return np.concatenate([[edges[0] - widths[0]], edges, [edges[-1] + widths[-1]]])
    reach = max(_OUTER * between, 3 * float(np.median(widths)))
    # The greatest number may be the last edge: its bin is drawn with some width all the same.
    last = max(min(high, edges[-1] + reach), edges[-1] + 0.01 * between)
    return np.concatenate([[max(low, edges[0] - reach)], edges, [last]])


def _format_numbers(axis: Any, low: float, high: float) -> None:
    """Set the ticks of an axis of numbers, within a range."""
    from matplotlib.ticker import MaxNLocator

    ticks = [float(f"{tick:.6g}") for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]
    axis.set_ticks(ticks, [format_number(tick) for tick in ticks])


def _ticks(term: AdditiveTerm, side: int) -> tuple[npt.NDArray[Any], list[str]]:
    """Return positions and labels along an axis of a pair: edges between groups of numbers, or levels."""
    edges, labels = term.edges[side], term.labels[side]
    if edges is None:
        return np.arange(len(labels)) + 0.5, [shorten(label, 12) for label in labels]
    first = int(labels[0] == "missing")
    step = max(1, -(-len(edges) // _MAX_TICKS))
    places = np.arange(step // 2, len(edges), step)
    found = [format_number(float(f"{edges[at]:.3g}")) for at in places]
    if not first:
        return places + 1.0, found
    return np.concatenate([[0.5], places + 2.0]), ["missing", *found]
