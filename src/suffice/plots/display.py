"""Base class of all displays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import TYPE_CHECKING, Self

from suffice.plots.style import (
    FONT_SIZE,
    FOREGROUND,
    HEIGHT,
    WIDTH,
    default_style,
    make_axes,
    set_axes_title,
    wrap_title,
)
from suffice.plots.svg import figure_to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display(ABC):
    """Data of a plot, and the method that draws it.

    A notebook shows a display that is the last expression of a cell. Elsewhere, save it with
    ``display.figure_.savefig("name.png")``, or draw on the ``ax`` of your own figure.

    Attributes
    ----------
    ax_
        The axes of the plot; of several panels, the first.
    axes_
        The axes of all panels.
    figure_
        The figure of the axes.
    """

    ax_: Axes
    axes_: tuple[Axes, ...]
    figure_: Figure
    _owns_figure = False

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax
            Axes to draw on; those of a new figure by default.
        """
        with nullcontext() if ax is not None else default_style():
            rows, columns = self._grid()
            self.axes_ = tuple(make_axes(ax, rows, columns, self._size()))
            self.ax_ = self.axes_[0]
            figure = self.ax_.get_figure(root=True)
            assert figure is not None  # axes belong to a figure
            self.figure_, self._owns_figure = figure, ax is None
            self._draw()
        return self

    def to_svg(self, title: str | None = None) -> str:
        """Return the plot as an ``<svg>`` element; see :func:`suffice.plots.figure_to_svg`."""
        if not hasattr(self, "figure_"):
            self.plot()
        return figure_to_svg(self.figure_, title)

    def _repr_html_(self) -> str | None:
        if hasattr(self, "figure_") and not self._owns_figure:
            return None  # the owner of the figure shows it
        return f'<div style="max-width: 34em">{self.to_svg()}</div>'

    def _grid(self) -> tuple[int, int]:
        """Return the number of rows and columns of panels."""
        return 1, 1

    def _size(self) -> tuple[float, float]:
        """Return the width and height of the figure, in inches."""
        return WIDTH, HEIGHT

    def _set_title(self, title: str, legend_rows: int = 0) -> None:
        """Set the title: of an own figure, left-aligned; else of the given axes, above their legend."""
        if self._owns_figure:
            self.figure_.suptitle(wrap_title(title), x=0.01, ha="left", fontsize=FONT_SIZE + 1, color=FOREGROUND)
        else:
            set_axes_title(self.ax_, title, legend_rows)

    @abstractmethod
    def _draw(self) -> None:
        """Draw on ``axes_``."""
