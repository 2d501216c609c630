"""What all displays are: the data of a picture, which can be drawn as often as wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import TYPE_CHECKING, Self

from suffice.plots.style import HEIGHT, INK, LETTERS, WIDTH, canvas, headline, usual_settings, wrapped
from suffice.plots.svg import figure_to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display(ABC):
    """The data of a picture.

    A notebook shows a display that is the last thing in a cell. Elsewhere, keep it by
    ``display.figure_.savefig("name.png")``, or give the ``ax`` of a figure of your own.

    Attributes
    ----------
    ax_
        The axes that were drawn on; of several panels, the first.
    axes_
        All of them.
    figure_
        Their figure.
    """

    ax_: Axes
    axes_: tuple[Axes, ...]
    figure_: Figure
    _is_own = False  # whether the figure is this display's alone

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax
            Where to draw; a figure of its own by default.
        """
        with nullcontext() if ax is not None else usual_settings():
            rows, columns = self._grid()
            self.axes_ = tuple(canvas(ax, rows, columns, self._size()))
            self.ax_ = self.axes_[0]
            figure = self.ax_.get_figure(root=True)
            assert figure is not None  # axes come from one
            self.figure_, self._is_own = figure, ax is None
            self._draw()
        return self

    def to_svg(self, title: str | None = None) -> str:
        """Return the picture as an ``<svg>`` element for a page; see :func:`suffice.plots.figure_to_svg`."""
        if not hasattr(self, "figure_"):
            self.plot()
        return figure_to_svg(self.figure_, title)

    def _repr_html_(self) -> str | None:
        if hasattr(self, "figure_") and not self._is_own:
            return None  # who gave the axes shows them
        return f'<div style="max-width: 34em">{self.to_svg()}</div>'

    def _grid(self) -> tuple[int, int]:
        """Return how many rows and columns of panels the picture has."""
        return 1, 1

    def _size(self) -> tuple[float, float]:
        """Return the width and height of the figure, in inches."""
        return WIDTH, HEIGHT

    def _entitle(self, title: str, legend_rows: int = 0) -> None:
        """Write what is seen: at the left end of a figure of its own, or over the given axes and their legend."""
        if self._is_own:
            self.figure_.suptitle(wrapped(title), x=0.01, ha="left", fontsize=LETTERS + 1, color=INK)
        else:
            headline(self.ax_, title, legend_rows)

    @abstractmethod
    def _draw(self) -> None:
        """Draw on ``axes_``."""
