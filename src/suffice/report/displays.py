"""Pictures that only a report has: how candidates did, how a target is distributed, what is expected along features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.plots import INK, Display
from suffice.plots.style import HEIGHT, LETTERS, WIDTH, colour, dashes, legend, name_axes, number, shortened
from suffice.statistics.base import FloatArray


class CandidatesDisplay(Display):
    """What models lose on rows held out: a dot for each, and a line of one standard error to each side.

    Examples
    --------
    >>> CandidatesDisplay(["nb", "logistic"], [0.4, 0.3], [0.02, 0.03], [True, False], "log loss").losses.tolist()
    [0.4, 0.3]
    """

    def __init__(
        self, names: Sequence[str], losses: Any, spreads: Any, generative: Sequence[bool], measure: str
    ) -> None:
        self.names = list(names)
        self.losses = np.asarray(losses, dtype=np.float64)
        self.spreads = np.asarray(spreads, dtype=np.float64)
        self.generative = list(generative)
        self.measure = measure

    def _size(self) -> tuple[float, float]:
        return WIDTH, 1.1 + 0.3 * len(self.names)

    def _draw(self) -> None:
        ax = self.ax_
        ax.axvline(self.losses[0], color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
        entries: dict[bool, tuple[Any, str]] = {}
        for row, kind in enumerate(self.generative):
            drawn = ax.errorbar(
                self.losses[row],
                row,
                xerr=np.nan_to_num(self.spreads[row]),
                fmt="s" if kind else "o",
                markersize=7,
                color=colour(int(kind)),
                elinewidth=1.8,
                capsize=3,
            )
            entries[kind] = (drawn, "describes the rows (generative)" if kind else "predicts only (discriminative)")
        ax.set_yticks(range(len(self.names)), [shortened(name) for name in self.names])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_ylim(len(self.names) - 0.4, -0.6)
        ax.locator_params(axis="x", nbins=5)
        rows = legend(ax, list(entries.values()))
        name_axes(ax, f"{self.measure} on rows held out (less is better)")
        self._entitle(f"{self.names[0]} loses least", rows)


class HistogramDisplay(Display):
    """How numbers are distributed.

    Examples
    --------
    >>> HistogramDisplay([0.0, 1.0, 1.0, 2.0], "rooms", whole=True).counts.tolist()
    [1, 2, 1]
    """

    def __init__(self, values: Any, name: str, *, whole: bool = False, bins: int = 30) -> None:
        self.name = name
        self.edges, self.counts = histogram(np.asarray(values, dtype=np.float64), bins, whole=whole)

    def _size(self) -> tuple[float, float]:
        return WIDTH, 0.7 * HEIGHT

    def _draw(self) -> None:
        ax = self.ax_
        ax.bar(self.edges[:-1], self.counts, 0.9 * np.diff(self.edges), align="edge", color=colour(0))
        _write_numbers(ax.xaxis)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        name_axes(ax, self.name)
        self._entitle(f"How {self.name} is distributed")


def histogram(values: FloatArray, bins: int, *, whole: bool = False) -> tuple[FloatArray, Any]:
    """Return edges and counts; of whole numbers, each bin holds as many of them."""
    values = values[np.isfinite(values)]
    if not len(values):
        return np.array([0.0, 1.0]), np.zeros(1)
    low, high = float(values.min()), float(values.max())
    if whole:
        step = max(1, int(np.ceil((high - low + 1) / bins)))
        edges = np.arange(low - 0.5, high + step, step)
    else:
        reach = (high - low) or abs(low) or 1.0
        edges = np.linspace(low, high if high > low else low + reach, bins + 1)
    counts, _ = np.histogram(values, edges)
    return edges, counts


class AlongDisplay(Display):
    """What is answered along one feature: the probability of each class, or the expected number.

    Examples
    --------
    >>> AlongDisplay([0.0, 1.0], {"no": [1.0, 0.0], "yes": [0.0, 1.0]}, "area", "probability").name
    'area'
    """

    def __init__(self, at: Any, curves: dict[str, Any], name: str, what: str, *, x: Any = None, y: Any = None) -> None:
        self.at = np.asarray(at, dtype=np.float64)
        self.curves = {label: np.asarray(curve, dtype=np.float64) for label, curve in curves.items()}
        self.name = name
        self.what = what
        self.x, self.y = x, y

    def _draw(self) -> None:
        ax = self.ax_
        if self.x is not None:
            ax.scatter(self.x, self.y, s=9, color=colour(0), alpha=0.35, linewidths=0)
        entries = []
        for place, (label, curve) in enumerate(self.curves.items()):
            shade = colour(place if self.x is None else 1)
            (line,) = ax.plot(self.at, curve, color=shade, linestyle=dashes(place), linewidth=1.8)
            entries.append((line, label))
        if self.x is None:
            ax.set_ylim(-0.02, 1.02)
        ax.set_xlim(self.at[0], self.at[-1])
        _write_numbers(ax.xaxis, ax.yaxis)
        rows = legend(ax, entries)
        name_axes(ax, self.name, self.what)
        self._entitle(f"What is answered along {self.name}", rows)


class SurfaceDisplay(Display):
    """The expected number over two features, as lines of equal height.

    Examples
    --------
    >>> SurfaceDisplay([0, 1], [0, 1], [[0, 1], [1, 2]], ("area", "rooms"), "price", [[0, 1]]).heights.shape
    (2, 2)
    """

    def __init__(
        self, first: Any, second: Any, heights: Any, features: tuple[str, str], target: str, points: Any
    ) -> None:
        self.first = np.asarray(first, dtype=np.float64)
        self.second = np.asarray(second, dtype=np.float64)
        self.heights = np.asarray(heights, dtype=np.float64)  # (b, a)
        self.features = features
        self.target = target
        self.points = points  # (n, 2)

    def _draw(self) -> None:
        from matplotlib.ticker import MaxNLocator

        ax = self.ax_
        low, high = float(self.heights.min()), float(self.heights.max())
        levels = MaxNLocator(8).tick_values(low, high if high > low else low + 1)
        x, y = np.asarray(self.points).T
        ax.scatter(x, y, s=5, color=INK, alpha=0.35, linewidths=0)
        # Shades lie upon each other: between neighbours that only touch, hairs of the background would show.
        for level in levels[1:]:
            if low < level < high:
                ax.contourf(
                    self.first, self.second, self.heights, [level, high + 1 + abs(high)], colors=[colour(0)], alpha=0.13
                )
        inside = [level for level in levels if low < level < high]
        if inside:
            lines = ax.contour(self.first, self.second, self.heights, inside, colors=[colour(0)], linewidths=1.2)
            ax.clabel(lines, fontsize=LETTERS - 1, colors=INK, fmt=number)
        ax.set_xlim(self.first.min(), self.first.max())
        ax.set_ylim(self.second.min(), self.second.max())
        _write_numbers(ax.xaxis, ax.yaxis)
        name_axes(ax, *self.features)
        self._entitle(f"The {self.target} that is expected over {self.features[0]} and {self.features[1]}")


def _write_numbers(*axes: Any) -> None:
    """Write few numbers on axes; whole ones below ten thousand may be years, and are written as these."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for axis in axes:
        low, high = axis.get_view_interval()
        axis.set_major_locator(MaxNLocator(6, integer=bool(abs(high - low) > 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: number(value).replace(",", "")))
