"""Displays that only reports use: candidates, histogram of the target, predictions over one or two features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.plots import FOREGROUND, Display
from suffice.plots.decision_boundary import points_on_grid
from suffice.plots.style import (
    DOTTED,
    FONT_SIZE,
    HEIGHT,
    WIDTH,
    class_colour,
    draw_legend,
    format_number,
    label_axes,
    line_style,
    shorten,
)
from suffice.statistics.base import FloatArray


class CandidatesDisplay(Display):
    """Loss of each candidate model on held-out rows, with error bars of one standard error.

    Parameters
    ----------
    names
        Names of the models, the best first.
    losses, standard_errors
        Mean loss of each, and its standard error.
    kinds
        Kind of each: "generative", "discriminative" or "baseline".
    loss_name
        Name of the loss.

    Examples
    --------
    >>> kinds = ["generative", "baseline"]
    >>> CandidatesDisplay(["nb", "baseline"], [0.4, 0.7], [0.02, 0.03], kinds, "log loss").losses.tolist()
    [0.4, 0.7]
    """

    def __init__(
        self, names: Sequence[str], losses: Any, standard_errors: Any, kinds: Sequence[str], loss_name: str
    ) -> None:
        self.names = list(names)
        self.losses = np.asarray(losses, dtype=np.float64)
        self.standard_errors = np.asarray(standard_errors, dtype=np.float64)
        self.kinds = list(kinds)
        self.loss_name = loss_name

    def _size(self) -> tuple[float, float]:
        return WIDTH, 1.1 + 0.3 * len(self.names)

    def _draw(self) -> None:
        ax = self.ax_
        ax.axvline(self.losses[0], color=FOREGROUND, linewidth=0.8, linestyle=DOTTED)
        entries: dict[str, tuple[Any, str]] = {}
        markers = {"generative": ("s", class_colour(1)), "discriminative": ("o", class_colour(0))}
        for row, kind in enumerate(self.kinds):
            marker, colour = markers.get(kind, ("D", FOREGROUND))
            handle = ax.errorbar(
                self.losses[row],
                row,
                xerr=np.nan_to_num(self.standard_errors[row]),
                fmt=marker,
                markersize=7,
                color=colour,
                elinewidth=1.8,
                capsize=3,
            )
            entries[kind] = (handle, kind)
        ax.set_yticks(range(len(self.names)), [shorten(name) for name in self.names])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_ylim(len(self.names) - 0.4, -0.6)
        ax.locator_params(axis="x", nbins=5)
        rows = draw_legend(ax, list(entries.values()))
        label_axes(ax, f"{self.loss_name} on held-out rows (lower is better)")
        self._set_title(f"{self.names[int(self.losses.argmin())]} has the lowest {self.loss_name}", rows)


class HistogramDisplay(Display):
    """Histogram of numbers.

    Parameters
    ----------
    values
        The numbers.
    name
        Name of the variable.
    integer
        Whether the values are integers.
    bins
        Maximum number of bins.

    Examples
    --------
    >>> HistogramDisplay([0.0, 1.0, 1.0, 2.0], "rooms", integer=True).counts.tolist()
    [1, 2, 1]
    """

    def __init__(self, values: Any, name: str, *, integer: bool = False, bins: int = 30) -> None:
        self.name = name
        self.edges, self.counts = histogram(np.asarray(values, dtype=np.float64), bins, integer=integer)

    def _size(self) -> tuple[float, float]:
        return WIDTH, 0.7 * HEIGHT

    def _draw(self) -> None:
        ax = self.ax_
        ax.bar(self.edges[:-1], self.counts, 0.9 * np.diff(self.edges), align="edge", color=class_colour(0))
        _format_ticks(ax.xaxis)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        label_axes(ax, self.name, "rows")
        self._set_title(f"Distribution of {self.name}")


def histogram(values: FloatArray, bins: int, *, integer: bool = False) -> tuple[FloatArray, Any]:
    """Return bin edges and counts; each bin of integers holds equally many of them."""
    values = values[np.isfinite(values)]
    if not len(values):
        return np.array([0.0, 1.0]), np.zeros(1)
    low, high = float(values.min()), float(values.max())
    if integer:
        step = max(1, int(np.ceil((high - low + 1) / bins)))
        edges = np.arange(low - 0.5, high + step, step)
    else:
        width = (high - low) or abs(low) or 1.0
        edges = np.linspace(low, high if high > low else low + width, bins + 1)
    counts, _ = np.histogram(values, edges)
    return edges, counts


class PredictionCurveDisplay(Display):
    """Predictions along one feature: the probability of each class, or the expected number.

    Parameters
    ----------
    values
        Values of the feature, (m,).
    curves
        Predictions at these values, by name, (m,) each.
    feature
        Name of the feature.
    axis_label
        What is predicted.
    x, y
        Points to draw, (n,): actual values of the feature and of the target.

    Examples
    --------
    >>> PredictionCurveDisplay([0.0, 1.0], {"no": [1.0, 0.0], "yes": [0.0, 1.0]}, "area", "probability").feature
    'area'
    """

    def __init__(
        self, values: Any, curves: dict[str, Any], feature: str, axis_label: str, *, x: Any = None, y: Any = None
    ) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.curves = {label: np.asarray(curve, dtype=np.float64) for label, curve in curves.items()}
        self.feature = feature
        self.axis_label = axis_label
        self.x, self.y = x, y

    def _draw(self) -> None:
        ax = self.ax_
        if self.x is not None:
            ax.scatter(self.x, self.y, s=9, color=class_colour(0), alpha=0.35, linewidths=0)
        entries = []
        for index, (label, curve) in enumerate(self.curves.items()):
            colour = class_colour(index if self.x is None else 1)
            (line,) = ax.plot(self.values, curve, color=colour, linestyle=line_style(index), linewidth=1.8)
            entries.append((line, label))
        if self.x is None:
            ax.set_ylim(-0.02, 1.02)
        ax.set_xlim(self.values[0], self.values[-1])
        _format_ticks(ax.xaxis, ax.yaxis)
        rows = draw_legend(ax, entries)
        label_axes(ax, self.feature, self.axis_label)
        self._set_title(f"Predictions along {self.feature}", rows)


class PredictionSurfaceDisplay(Display):
    """Expected number over two features, as contour lines.

    Parameters
    ----------
    first, second
        Grid values of the two features, (a,) and (b,).
    predictions
        Predictions on the grid, (b, a).
    features
        Names of the two features.
    target
        Name of the target.
    points
        Points to draw, (n, 2).

    Examples
    --------
    >>> features = ("area", "rooms")
    >>> PredictionSurfaceDisplay([0, 1], [0, 1], [[0, 1], [1, 2]], features, "price", [[0, 1]]).predictions.shape
    (2, 2)
    """

    def __init__(
        self, first: Any, second: Any, predictions: Any, features: tuple[str, str], target: str, points: Any
    ) -> None:
        self.first = np.asarray(first, dtype=np.float64)
        self.second = np.asarray(second, dtype=np.float64)
        self.predictions = np.asarray(predictions, dtype=np.float64)
        self.features = features
        self.target = target
        self.points = np.asarray(points, dtype=np.float64)

    def _draw(self) -> None:
        from matplotlib.ticker import MaxNLocator

        ax = self.ax_
        grid = (self.first, self.second, self.predictions)
        low, high = float(self.predictions.min()), float(self.predictions.max())
        ticks = MaxNLocator(8).tick_values(low, high if high > low else low + 1)
        levels = [level for level in ticks if low < level < high]
        points = points_on_grid(self.points, self.first, self.second)
        ax.scatter(points[:, 0], points[:, 1], s=5, color=FOREGROUND, alpha=0.35, linewidths=0, clip_on=False)
        # Layers overlap: adjacent bands would leave thin gaps in which the background shows.
        for level in levels:
            ax.contourf(*grid, [level, high + 1 + abs(high)], colors=[class_colour(0)], alpha=0.13)
        if levels:
            lines = ax.contour(*grid, levels, colors=[class_colour(0)], linewidths=1.2)
            ax.clabel(lines, fontsize=FONT_SIZE - 1, colors=FOREGROUND, fmt=format_number)
        ax.set_xlim(self.first.min(), self.first.max())
        ax.set_ylim(self.second.min(), self.second.max())
        _format_ticks(ax.xaxis, ax.yaxis)
        label_axes(ax, *self.features)
        self._set_title(f"Predicted {self.target} over {self.features[0]} and {self.features[1]}")


def _format_ticks(*axes: Any) -> None:
    """Set few ticks; numbers below ten thousand have no thousands separator, as they may be years."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for axis in axes:
        low, high = axis.get_view_interval()
        axis.set_major_locator(MaxNLocator(6, integer=bool(abs(high - low) > 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value).replace(",", "")))


class NumberEffectsDisplay(Display):
    """Mean effect of a numeric column on the prediction over its values, above the density of the values.

    Parameters
    ----------
    values
        Mean value of each group of rows, (g,).
    means, low, high
        Mean effect of each group, and the range of nine tenths of its rows, (g,).
    edges, counts
        Histogram of the values.
    name
        Name of the column.
    label
        What the effect is.

    Examples
    --------
    >>> x = np.arange(100.0)
    >>> display = NumberEffectsDisplay.over(x, 2 * x - 99, "area", "effect", groups=4)
    >>> display.values.tolist(), display.means.tolist()
    ([12.0, 37.0, 62.0, 87.0], [-75.0, -25.0, 25.0, 75.0])
    """

    def __init__(
        self, values: Any, means: Any, low: Any, high: Any, edges: Any, counts: Any, *, name: str, label: str
    ) -> None:
        self.values, self.means, self.low, self.high, self.edges, self.counts = (
            np.asarray(each, dtype=np.float64) for each in (values, means, low, high, edges, counts)
        )
        self.name, self.label = name, label

    @classmethod
    def over(
        cls, x: FloatArray, effect: FloatArray, name: str, label: str, *, integer: bool = False, groups: int = 24
    ) -> NumberEffectsDisplay:
        """Return the display of the values of rows, (n,), and their effects."""
        order = np.argsort(x, kind="stable")
        starts = np.unique(x[order], return_index=True)[1]  # rows of one value stay together
        wanted = np.searchsorted(starts, np.linspace(0, len(x), groups + 1)[1:-1])
        cuts = starts[1:] if len(starts) <= groups else starts[np.unique(wanted[wanted < len(starts)])]
        parts = [part for part in np.split(order, cuts) if len(part)]
        low, high = np.array([np.quantile(effect[part], [0.05, 0.95]) for part in parts]).T
        edges, counts = histogram(x, 40, integer=integer)
        values, means = ([float(each[part].mean()) for part in parts] for each in (x, effect))
        return cls([round(value, 12) for value in values], means, low, high, edges, counts, name=name, label=label)

    def _draw(self) -> None:
        ax = self.ax_
        span = max(float(self.high.max() - self.low.min()), 1e-12)
        floor = float(self.low.min()) - 0.3 * span
        heights = 0.25 * span * self.counts / max(float(self.counts.max()), 1.0)
        widths = np.diff(self.edges)
        ax.bar(self.edges[:-1], heights, widths, bottom=floor, align="edge", color=FOREGROUND, alpha=0.35, linewidth=0)
        ax.axhline(0.0, color=FOREGROUND, linewidth=0.8, linestyle=DOTTED)
        ax.fill_between(self.values, self.low, self.high, color=class_colour(0), alpha=0.2, linewidth=0)
        ax.plot(self.values, self.means, color=class_colour(0), linewidth=1.8, marker="o", markersize=3)
        ax.set_ylim(floor, float(self.high.max()) + 0.06 * span)
        ax.set_xlim(self.edges[0], self.edges[-1])
        _format_ticks(ax.xaxis)
        label_axes(ax, self.name, self.label)
        self._set_title(f"Effect of {self.name}")


class CategoryEffectsDisplay(Display):
    """Mean effect of each category of a column on the prediction, with the share of its rows.

    Parameters
    ----------
    names
        The categories, (c,).
    means, shares
        Mean effect and share of the rows of each, (c,).
    name
        Name of the column.
    label
        What the effect is.

    Examples
    --------
    >>> codes, effect = np.array([0, 0, 1]), np.array([1.0, 3.0, -1.0])
    >>> display = CategoryEffectsDisplay.over(["gas", "oil"], codes, effect, "heating", "effect")
    >>> display.names, display.means.tolist()
    (['gas', 'oil'], [2.0, -1.0])
    """

    def __init__(self, names: list[str], means: Any, shares: Any, *, name: str, label: str) -> None:
        self.names = names
        self.means, self.shares = np.asarray(means, dtype=np.float64), np.asarray(shares, dtype=np.float64)
        self.name, self.label = name, label

    @classmethod
    def over(
        cls, names: list[str], codes: Any, effect: FloatArray, name: str, label: str, *, most: int = 12
    ) -> CategoryEffectsDisplay:
        """Return the display of the codes of rows, (n,), and their effects: of the most frequent categories."""
        counts = np.bincount(codes, minlength=len(names))
        means = np.bincount(codes, effect, minlength=len(names)) / np.maximum(counts, 1)
        frequent = [code for code in np.argsort(-counts, kind="stable")[:most] if counts[code]]
        order = sorted(frequent, key=lambda code: -means[code])
        return cls([names[code] for code in order], means[order], counts[order] / len(codes), name=name, label=label)

    def _size(self) -> tuple[float, float]:
        return WIDTH, 0.9 + 0.24 * max(len(self.names), 3)

    def _draw(self) -> None:
        ax = self.ax_
        rows = np.arange(len(self.names))
        colours = [class_colour(0) if mean >= 0 else class_colour(1) for mean in self.means]
        ax.barh(rows, self.means, 0.7, color=colours)
        ax.axvline(0.0, color=FOREGROUND, linewidth=0.8)
        ax.set_yticks(
            rows, [f"{shorten(each, 16)} ({share:.0%})" for each, share in zip(self.names, self.shares, strict=True)]
        )
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        label_axes(ax, self.label)
        self._set_title(f"Effect of {self.name}, and the share of rows")
