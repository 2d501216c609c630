"""Locally weighted regression: the weights of the rows at a query, and the line that they fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.animation import SteppedDisplay
from suffice.plots.inputs import resolve_feature_names
from suffice.plots.style import (
    DOTTED,
    FOREGROUND,
    HEIGHT,
    WIDTH,
    class_colour,
    draw_legend,
    format_number,
    label_axes,
    line_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.discriminative.local_fit import QueryFit


class LocalFitDisplay(SteppedDisplay):
    """The fit of locally weighted regression at queries: the curve, and at each query its line and its weights.

    Parameters
    ----------
    fits
        The fit at each query, as ``LocallyWeightedRegression.local_fit`` returns it, of one feature.
    grid, curve
        Predictions of the model over a grid of the feature, (m,) each.
    reach
        How far from its query each line is drawn.
    feature
        Name of the feature.

    Examples
    --------
    >>> from suffice import LocallyWeightedRegression
    >>> x = np.arange(8.0)[:, None]
    >>> model = LocallyWeightedRegression(bandwidth=1.0).fit(x, x[:, 0] ** 2)
    >>> display = LocalFitDisplay.from_estimator(model, [2.0, 5.0])
    >>> [fit.theta.round(2).tolist() for fit in display.fits]  # intercept and slope at each query
    [[-3.28, 4.12], [-23.44, 9.88]]
    """

    def __init__(
        self,
        fits: Sequence[QueryFit],
        grid: npt.ArrayLike,
        curve: npt.ArrayLike,
        *,
        reach: float,
        feature: str = "x",
    ) -> None:
        self.fits = tuple(fits)
        if not self.fits or any(fit.X.shape[1] != 1 for fit in self.fits):
            raise ValueError("fits must hold the fit at one query or more, each of one feature")
        self.grid = np.asarray(grid, dtype=np.float64)
        self.curve = np.asarray(curve, dtype=np.float64)
        if self.grid.shape != self.curve.shape:
            raise ValueError(f"curve must have the shape {self.grid.shape}; its shape is {self.curve.shape}")
        self.reach, self.feature = float(reach), feature

    @classmethod
    def from_estimator(
        cls, model: Any, queries: npt.ArrayLike | None = None, *, grid: int = 200, ax: Axes | None = None
    ) -> Self:
        """Draw a fitted model of one feature, and its fits at queries.

        Parameters
        ----------
        model
            A ``LocallyWeightedRegression`` of one feature and one numeric target.
        queries
            A query, or several, (m,); by default the middle of the range of the rows.
        grid
            Number of values of the feature at which the curve is drawn.
        ax
            Axes to draw on.
        """
        from suffice.discriminative import LocallyWeightedRegression

        if not isinstance(model, LocallyWeightedRegression):
            raise ValueError(f"{type(model).__name__} has no local fits: give LocallyWeightedRegression")
        names = resolve_feature_names(model)
        if len(names) != 1:
            raise ValueError(
                f"local fits are drawn over one feature, and the model has {len(names)}: {names[:8]}; fit it to one"
            )
        if grid < 2:
            raise ValueError(f"grid must be 2 or more; got {grid!r}")
        rows = model.local_fit(0.0 if queries is None else np.ravel(queries)[0]).X[:, 0]
        middle = (rows.min() + rows.max()) / 2
        asked = np.array([middle]) if queries is None else np.asarray(queries, dtype=np.float64).ravel()
        fits = [model.local_fit(query) for query in asked]
        values = np.linspace(min(rows.min(), asked.min()), max(rows.max(), asked.max()), grid)
        curve = np.asarray(model.predict(values[:, None]), dtype=np.float64)
        return cls(fits, values, curve, reach=1.5 * model.bandwidth_, feature=names[0]).plot(ax)

    def _count_steps(self) -> int:
        return len(self.fits) - 1

    def _frame_label(self, step: int) -> str:
        return f"query {format_number(float(f'{self.fits[step].query[0]:.4g}'))}"

    def _grid(self) -> tuple[int, int]:
        return 2, 1

    def _size(self) -> tuple[float, float]:
        return WIDTH, 1.5 * HEIGHT

    def _draw(self) -> None:
        ax, below = self.axes_
        first = self.fits[0]
        shown = range(len(self.fits)) if self._step is None else [self._step]
        strongest = np.max([self.fits[at].weights / self.fits[at].weights.max() for at in shown], axis=0)
        ax.scatter(first.X[:, 0], first.y, s=10, c=FOREGROUND, alpha=0.2 + 0.7 * strongest, linewidths=0)
        (curve,) = ax.plot(self.grid, self.curve, color=FOREGROUND, linewidth=1.5)
        entries: list[tuple[Any, str]] = [(curve, "fitted curve")]
        for at in shown:
            fit, colour = self.fits[at], class_colour(at)
            query = float(fit.query[0])
            line = np.linspace(query - self.reach, query + self.reach, 50)
            (drawn,) = ax.plot(line, fit.predict(line[:, None]), color=colour, linestyle=line_style(at), linewidth=1.8)
            ax.plot([query], fit.predict([[query]]), "o", color=colour, markersize=5)
            order = np.argsort(fit.X[:, 0])
            below.plot(fit.X[order, 0], fit.weights[order], color=colour, linestyle=line_style(at), linewidth=1.5)
            for panel in (ax, below):
                panel.axvline(query, color=FOREGROUND, linestyle=DOTTED, linewidth=1.0)
            if at < 6:
                entries.append((drawn, self._frame_label(at)))
        margin = 0.06 * (np.ptp(first.y) or 1.0)
        ax.set_ylim(first.y.min() - margin, first.y.max() + margin)
        below.set_ylim(0.0, 1.05 * max(float(fit.weights.max()) for fit in self.fits))
        for panel in (ax, below):
            panel.set_xlim(self.grid[0], self.grid[-1])
        rows = draw_legend(ax, entries)
        label_axes(ax, "", "target")
        label_axes(below, self.feature, "weight of a row")
        self._set_title("Locally weighted regression: the line at a query, and its weights", rows)
