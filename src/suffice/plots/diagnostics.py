"""Diagnostics of a regression in four panels, as R draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.inputs import sample_rows
from suffice.plots.residuals import binned_means
from suffice.plots.style import DOTTED, FONT_SIZE, FOREGROUND, HEIGHT, WIDTH, class_colour, label_axes, set_axes_title
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.discriminative import Diagnostics
    from suffice.typing import MatrixLike, VectorLike

#: Rows that are named in a panel: the farthest.
NAMED = 3
#: Cook's distances whose contours are drawn.
CONTOURS = (0.5, 1.0)


class DiagnosticsDisplay(Display):
    """Residuals against fitted values, normal quantiles, scale against location, and residuals against leverage.

    The first and third panel show deviance residuals against linear predictors, the second quantile residuals (of least
    squares: standardised ones) against normal quantiles, the fourth standardised Pearson residuals against leverages,
    with contours of Cook's distance. The farthest rows have their numbers beside them.

    Parameters
    ----------
    diagnostics
        What ``model.diagnostics(X, y)`` returned.
    max_rows
        Maximum number of points of a panel; the farthest rows are always among them.

    Examples
    --------
    >>> from suffice import LinearRegression
    >>> x, y = np.arange(8.0)[:, None], np.array([0.1, 1.2, 1.8, 3.3, 4.1, 4.8, 6.3, 6.9])
    >>> display = DiagnosticsDisplay(LinearRegression().fit(x, y).diagnostics(x, y))
    >>> len(display.plot().axes_)
    4
    """

    def __init__(self, diagnostics: Diagnostics, *, max_rows: int = 1000) -> None:
        self.diagnostics = diagnostics
        self.max_rows = max_rows

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        ax: Axes | None = None,
        **rows: Any,
    ) -> Self:
        """Draw the diagnostics of a fitted regression.

        Parameters
        ----------
        model
            A fitted regression of this library.
        X, y, sample_weight, **rows
            The rows of the fit, as for its ``diagnostics``.
        ax
            Axes to draw in the place of.
        """
        if not hasattr(model, "diagnostics"):
            raise ValueError(f"{type(model).__name__} has no diagnostics: give a regression, such as LinearRegression")
        return cls(model.diagnostics(X, y, sample_weight, dfbetas=False, **rows)).plot(ax)

    def _grid(self) -> tuple[int, int]:
        return 2, 2

    def _size(self) -> tuple[float, float]:
        return 2 * WIDTH, 2 * HEIGHT

    def _draw(self) -> None:
        found = self.diagnostics
        self._draw_fitted(self.axes_[0], found)
        self._draw_quantiles(self.axes_[1], found)
        self._draw_scale(self.axes_[2], found)
        self._draw_leverage(self.axes_[3], found)

    def _draw_fitted(self, ax: Axes, found: Diagnostics) -> None:
        self._scatter(ax, found.linear_predictor, found.deviance, found.deviance)
        ax.axhline(0, color=FOREGROUND, linewidth=0.8, linestyle=DOTTED)
        self._smooth(ax, found.linear_predictor, found.deviance)
        label_axes(ax, self._predictor_name, "deviance residual")
        set_axes_title(ax, "Residuals against fitted")

    def _draw_quantiles(self, ax: Axes, found: Diagnostics) -> None:
        from scipy.stats import norm

        plain = self._is_least_squares or not np.isfinite(found.quantile).any()
        values = found.standardised_deviance if plain else found.quantile
        known = np.flatnonzero(np.isfinite(values))
        order = known[np.argsort(values[known], kind="stable")]
        expected = np.full(len(values), np.nan)
        expected[order] = norm.ppf((np.arange(len(order)) + 0.5) / max(len(order), 1))
        self._scatter(ax, expected, values, values)
        if len(order) > 1:
            low, high = np.quantile(values[known], [0.25, 0.75])
            quartile = float(norm.ppf(0.75))
            slope = (high - low) / (2 * quartile)
            ax.axline((-quartile, low), slope=slope, color=FOREGROUND, linewidth=0.8, linestyle=DOTTED)
        label_axes(ax, "normal quantile", "standardised residual" if plain else "quantile residual")
        set_axes_title(ax, "Normal Q-Q")

    def _draw_scale(self, ax: Axes, found: Diagnostics) -> None:
        root = np.sqrt(np.abs(found.standardised_deviance))
        self._scatter(ax, found.linear_predictor, root, root)
        self._smooth(ax, found.linear_predictor, root)
        ax.set_ylim(bottom=0)
        label_axes(ax, self._predictor_name, "√|standardised residual|")
        set_axes_title(ax, "Scale and location")

    def _draw_leverage(self, ax: Axes, found: Diagnostics) -> None:
        self._scatter(ax, found.leverage, found.standardised_pearson, found.cooks_distance)
        ax.axhline(0, color=FOREGROUND, linewidth=0.8, linestyle=DOTTED)
        self._smooth(ax, found.leverage, found.standardised_pearson)
        (low, high), right = ax.get_ylim(), ax.get_xlim()[1]
        leverage = np.linspace(1e-4, min(max(right, 1e-3), 0.999), 200)
        for distance in CONTOURS:
            reach = np.sqrt(distance * found.rank * (1 - leverage) / leverage)
            shown = reach < 1.5 * max(abs(low), abs(high))
            for sign in (1, -1):
                ax.plot(leverage[shown], sign * reach[shown], color=class_colour(1), linewidth=0.9, linestyle="--")
            if shown.any():
                side = 1 if reach[shown][-1] < high else -1
                end, colour = (leverage[shown][-1], side * reach[shown][-1]), class_colour(1)
                above = "bottom" if side > 0 else "top"
                ax.annotate(f"{distance:g}", end, fontsize=FONT_SIZE - 2, color=colour, ha="right", va=above)
        ax.set_xlim(0, right)
        ax.set_ylim(low, high)
        label_axes(ax, "leverage", "standardised Pearson residual")
        set_axes_title(ax, "Leverage (dashed: Cook's distance)")

    @property
    def _is_least_squares(self) -> bool:
        return "(gaussian/identity)" in self.diagnostics.title

    @property
    def _predictor_name(self) -> str:
        return "fitted value" if self._is_least_squares else "linear predictor"

    def _scatter(self, ax: Axes, x: FloatArray, y: FloatArray, how_far: FloatArray) -> None:
        """Draw rows as points, and the numbers of those that are farthest."""
        known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        far: npt.NDArray[np.intp] = known[np.argsort(-np.abs(how_far[known]), kind="stable")[:NAMED]]
        shown = np.union1d(known[sample_rows(len(known), self.max_rows, 0)], far)
        ax.scatter(x[shown], y[shown], s=12, color=class_colour(0), alpha=0.6, linewidths=0)
        middle = np.median(x[known]) if len(known) else 0.0
        for row in far:
            on_right = x[row] > middle
            ax.annotate(
                str(row),
                (x[row], y[row]),
                textcoords="offset points",
                xytext=(-4 if on_right else 4, 0),
                ha="right" if on_right else "left",
                va="center",
                fontsize=FONT_SIZE - 2,
                color=FOREGROUND,
            )

    def _smooth(self, ax: Axes, x: FloatArray, y: FloatArray) -> None:
        """Draw the means of bins of equally many rows."""
        known = np.isfinite(x) & np.isfinite(y)
        if known.sum() >= 20:
            ax.plot(*binned_means(x[known], y[known]), color=class_colour(1), linewidth=1.5)
