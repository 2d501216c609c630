"""Error curves of spam filters: spam missed against ham lost, and the learning curve over a stream of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.style import (
    HEIGHT,
    WIDTH,
    class_colour,
    class_marker,
    count_legend_rows,
    draw_legend,
    format_number,
    label_axes,
    line_style,
    set_axes_title,
)
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Curve = Sequence[npt.ArrayLike]

#: Possible ticks, in percent.
_TICKS = np.array([0.0001, 0.001, 0.01, 0.1, 1, 10, 50, 90, 99])
#: Upper limit of drawn percentages: 100 % has no finite logit.
_MAX_PERCENT = 99.9999
#: Axes start at this multiple of their lowest tick, so that a line along the tick is visible.
_AXIS_START = 0.7


class SpamFilterDisplay(Display):
    """Error trade-off of spam filters: percent of spam missed against percent of ham lost, and learning curves.

    Both errors are on logit axes, as in detection error trade-off (DET) curves: from 1 to 0.1 percent is as far as from
    10 to 1; better is up and to the left. Zero errors have their own tick. Curves are not interpolated between
    thresholds.

    Parameters
    ----------
    curves
        For each filter, the percentages of ham lost and of spam missed at each threshold: two arrays, the first
        increasing from 0 to 100, the second decreasing from 100 to 0.
    learning
        For each filter, numbers of messages, increasing, and 1 - AUC in percent over all messages up to each. Without
        it, there is no second panel.
    operating_points
        For each filter, the percentages of ham lost and spam missed at the threshold in use, drawn as a marker.

    Attributes
    ----------
    roca
        For each filter, 1 - AUC (area under the ROC curve), in percent.

    Examples
    --------
    >>> curves = {"naive Bayes": ([0, 0, 1, 100], [100, 5, 0, 0])}
    >>> display = SpamFilterDisplay(curves, operating_points={"naive Bayes": (0, 5)})
    >>> display.roca
    {'naive Bayes': 0.025}
    """

    def __init__(
        self,
        curves: Mapping[str, Curve],
        learning: Mapping[str, Curve] | None = None,
        *,
        operating_points: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        if not curves:
            raise ValueError("there are no curves to draw")
        self.curves = {name: _validate_curve(name, curve) for name, curve in curves.items()}
        for name, (hm, sm) in self.curves.items():
            if (np.diff(hm) < 0).any() or (np.diff(sm) > 0).any() or [*hm[[0, -1]], *sm[[0, -1]]] != [0, 100, 100, 0]:
                raise ValueError(
                    f"in curve {name!r}, percentages of ham lost must increase from 0 to 100, and those of spam missed "
                    "decrease from 100 to 0"
                )
        self.learning = {name: _validate_curve(name, curve) for name, curve in (learning or {}).items()}
        self.operating_points = dict(operating_points or {})
        for name in [*self.learning, *self.operating_points]:
            if name not in self.curves:
                raise ValueError(f"there is no curve {name!r}; the curves are {list(self.curves)}")
        self.roca = {name: float(np.trapezoid(sm, hm)) / 100 for name, (hm, sm) in self.curves.items()}

    def _grid(self) -> tuple[int, int]:
        return (2, 1) if self.learning else (1, 1)

    def _size(self) -> tuple[float, float]:
        return WIDTH, HEIGHT * (1.9 if self.learning else 1.1) + 0.19 * count_legend_rows(self._legend_labels())

    def _legend_labels(self) -> list[str]:
        return [f"{name}: {format_number(float(f'{area:.3g}'))}" for name, area in self.roca.items()]

    def _draw(self) -> None:
        self._draw_errors()
        if self.learning:
            self._draw_learning(self.axes_[1])

    def _draw_errors(self) -> None:
        low, high = self._axis_range()
        lines = []
        for index, (name, curve) in enumerate(self.curves.items()):
            colour = class_colour(index)
            hm, sm = (np.clip(errors, low, _MAX_PERCENT) / 100 for errors in curve)
            lines += self.ax_.plot(
                hm, sm, drawstyle="steps-post", color=colour, linestyle=line_style(index), linewidth=1.8
            )
            if name in self.operating_points:
                point = np.clip(self.operating_points[name], low, _MAX_PERCENT) / 100
                self.ax_.plot(*point[:, None], marker=class_marker(index), markersize=7, color=colour, zorder=3)
        self.ax_.set_xscale("logit")
        self.ax_.set_yscale("logit")
        self.ax_.set_xlim(_AXIS_START * low / 100, high / 100)
        self.ax_.set_ylim(high / 100, _AXIS_START * low / 100)  # fewer errors are at the top
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            _set_percent_ticks(axis, low, high, zero=True, scale=100)
        rows = draw_legend(self.ax_, list(zip(lines, self._legend_labels(), strict=True)))
        label_axes(self.ax_, "ham lost, %", "spam missed, %")
        self._set_title("Errors at each threshold, with 1 − AUC in %", rows)

    def _axis_range(self) -> tuple[float, float]:
        """Return the limits of both axes in percent: the tick below the least error, and 50 for good filters."""
        errors = np.concatenate([each for curve in self.curves.values() for each in curve])
        best = [np.maximum(*curve).min() for curve in self.curves.values()]
        return _lowest_tick(errors), 50.0 if max(best) < 30 else 99.0

    def _draw_learning(self, ax: Axes) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        areas = np.concatenate([roca for _, roca in self.learning.values()])
        low = _lowest_tick(areas)
        for index, name in enumerate(self.curves):
            if name in self.learning:
                messages, roca = self.learning[name]
                areas_drawn = np.maximum(roca, low)
                ax.plot(messages, areas_drawn, color=class_colour(index), linestyle=line_style(index), linewidth=1.8)
        ax.set_yscale("log")
        ax.set_ylim(_AXIS_START * low, 100 if (areas > 50).any() else 50)  # 50 % is a random classifier
        ax.set_xlim(left=0)
        _set_percent_ticks(ax.yaxis, low, 50, zero=bool((areas == 0).any()))
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value)))
        label_axes(ax, "messages", "1 − AUC, %")
        set_axes_title(ax, "Learning curve")


def _validate_curve(name: str, curve: Curve) -> tuple[FloatArray, FloatArray]:
    """Return the two arrays of a curve."""
    if len(curve) != 2:
        raise ValueError(f"curve {name!r} has {len(curve)} arrays; there must be two")
    x, y = (np.asarray(each, dtype=np.float64) for each in curve)
    if x.ndim != 1 or x.shape != y.shape or not x.size:
        raise ValueError(
            f"the arrays of curve {name!r} have the shapes {x.shape} and {y.shape}; both must be (n,), n >= 1"
        )
    return x, y


def _lowest_tick(errors: FloatArray) -> float:
    """Return the highest tick below the least error above zero."""
    least = np.min(errors[errors > 0], initial=1)
    return float(_TICKS[: max(1, int(np.searchsorted(_TICKS, least)))][-1])


def _set_percent_ticks(axis: Axis, low: float, high: float, *, zero: bool, scale: float = 1) -> None:
    """Set ticks in percent; with ``zero``, the lowest is labelled 0, as points without errors are drawn there."""
    from matplotlib.ticker import NullLocator

    ticks = _TICKS[(low <= _TICKS) & (high >= _TICKS)]
    axis.set_ticks(ticks / scale, ["0" if zero and tick == low else format_number(tick) for tick in ticks])
    axis.set_minor_locator(NullLocator())
