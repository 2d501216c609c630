"""How good filters of mail are: what every cut costs, and how that changes as messages come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.style import HEIGHT, WIDTH, colour, dashes, headline, legend, legend_rows, marker, name_axes, number
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Curve = Sequence[npt.ArrayLike]

#: Percentages that may stand on an axis.
_TICKS = np.array([0.0001, 0.001, 0.01, 0.1, 1, 10, 50, 90, 99])
#: As far as this, logits are drawn; a whole has none.
_WHOLE = 99.9999
#: How far axes go on below their lowest tick, so that a line along it is seen: this part of it.
_MARGIN = 0.7


class SpamFilterDisplay(Display):
    """Filters compared: percent of spam missed against percent of ham lost, and the area above that curve over time.

    Both errors are on logit axes, so that from 1 to 0.1 percent is as far as from 10 to 1; better is up and to the
    left. No errors at all have a tick of their own. Between two cuts nothing is interpolated.

    Parameters
    ----------
    curves
        For each filter's name, the percentages of ham lost and of spam missed at every cut: two arrays, the first
        rising from 0 to 100, the second falling from 100 to 0.
    learning
        For each filter's name, after how many messages it was measured, rising, and (1 - area under the ROC curve) in
        percent of all messages up to there. Without it, there is no second panel.
    operating_points
        For each filter's name, the percentages of ham lost and spam missed at the cut in use, which is marked.

    Attributes
    ----------
    roca
        For each filter's name, the area above its curve, in percent: (1 - area under the ROC curve).

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
        self.curves = {name: _pair(name, curve) for name, curve in curves.items()}
        for name, (hm, sm) in self.curves.items():
            if (np.diff(hm) < 0).any() or (np.diff(sm) > 0).any() or [*hm[[0, -1]], *sm[[0, -1]]] != [0, 100, 100, 0]:
                raise ValueError(
                    f"of curve {name!r}, percentages of ham lost must rise from 0 to 100 while those of spam missed "
                    "fall from 100 to 0"
                )
        self.learning = {name: _pair(name, curve) for name, curve in (learning or {}).items()}
        self.operating_points = dict(operating_points or {})
        for name in [*self.learning, *self.operating_points]:
            if name not in self.curves:
                raise ValueError(f"there is no curve {name!r}; the curves are {list(self.curves)}")
        self.roca = {name: float(np.trapezoid(sm, hm)) / 100 for name, (hm, sm) in self.curves.items()}

    def _grid(self) -> tuple[int, int]:
        return (2, 1) if self.learning else (1, 1)

    def _size(self) -> tuple[float, float]:
        return WIDTH, HEIGHT * (1.9 if self.learning else 1.1) + 0.19 * legend_rows(self._entries())

    def _entries(self) -> list[str]:
        return [f"{name}: {number(float(f'{area:.3g}'))}" for name, area in self.roca.items()]

    def _draw(self) -> None:
        self._draw_cuts()
        if self.learning:
            self._draw_learning(self.axes_[1])

    def _draw_cuts(self) -> None:
        low, high = self._range()
        lines = []
        for place, (name, curve) in enumerate(self.curves.items()):
            hm, sm = (np.clip(errors, low, _WHOLE) / 100 for errors in curve)
            lines += self.ax_.plot(
                hm, sm, drawstyle="steps-post", color=colour(place), linestyle=dashes(place), linewidth=1.8
            )
            if name in self.operating_points:
                at = np.clip(self.operating_points[name], low, _WHOLE) / 100
                self.ax_.plot(*at[:, None], marker=marker(place), markersize=7, color=colour(place), zorder=3)
        self.ax_.set_xscale("logit")
        self.ax_.set_yscale("logit")
        self.ax_.set_xlim(_MARGIN * low / 100, high / 100)
        self.ax_.set_ylim(high / 100, _MARGIN * low / 100)  # fewer errors are further up
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            _tick(axis, low, high, zero=True, scale=100)
        rows = legend(self.ax_, list(zip(lines, self._entries(), strict=True)))
        name_axes(self.ax_, "ham lost, %", "spam missed, %")
        self._entitle("What every cut costs (area above the curve, %)", rows)

    def _range(self) -> tuple[float, float]:
        """Return the percentages at which axes start and end: below the least error, and at a half for good filters."""
        errors = np.concatenate([each for curve in self.curves.values() for each in curve])
        best = [np.maximum(*curve).min() for curve in self.curves.values()]
        return _floor(errors), 50.0 if max(best) < 30 else 99.0

    def _draw_learning(self, ax: Axes) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        areas = np.concatenate([roca for _, roca in self.learning.values()])
        low = _floor(areas)
        for place, name in enumerate(self.curves):
            if name in self.learning:
                seen, roca = self.learning[name]
                ax.plot(seen, np.maximum(roca, low), color=colour(place), linestyle=dashes(place), linewidth=1.8)
        ax.set_yscale("log")
        ax.set_ylim(_MARGIN * low, 100 if (areas > 50).any() else 50)  # half is a guess
        ax.set_xlim(left=0)
        _tick(ax.yaxis, low, 50, zero=bool((areas == 0).any()))
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        name_axes(ax, "messages so far", "area above the curve, %")
        headline(ax, "How filters learn")


def _pair(name: str, curve: Curve) -> tuple[FloatArray, FloatArray]:
    """Return both arrays of a curve."""
    if len(curve) != 2:
        raise ValueError(f"curve {name!r} has {len(curve)} arrays; there must be two")
    one, other = (np.asarray(each, dtype=np.float64) for each in curve)
    if one.ndim != 1 or one.shape != other.shape or not one.size:
        raise ValueError(
            f"the arrays of curve {name!r} have the shapes {one.shape} and {other.shape}; both must be (n,), n >= 1"
        )
    return one, other


def _floor(errors: FloatArray) -> float:
    """Return the percentage at which an axis starts: the tick below the least error that happened."""
    least = np.min(errors[errors > 0], initial=1)
    return float(_TICKS[: max(1, int(np.searchsorted(_TICKS, least)))][-1])


def _tick(axis: Axis, low: float, high: float, *, zero: bool, scale: float = 1) -> None:
    """Write percentages on an axis; the lowest stands for none at all where there is such a point."""
    from matplotlib.ticker import NullLocator

    places = _TICKS[(low <= _TICKS) & (high >= _TICKS)]
    axis.set_ticks(places / scale, ["0" if zero and place == low else number(place) for place in places])
    axis.set_minor_locator(NullLocator())
