"""How all pictures look: one ink, one palette, letters that can be read on a telephone."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import isfinite
from typing import TYPE_CHECKING, Any

from suffice.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The colour of all text, axes and lines that stand for no class. Nothing else has it: a page may put its own in its
#: place. It can be read on white and on black.
INK = "#767676"

#: Colours of classes and curves. Each has a contrast of 3 or more against white and against near-black, and any two
#: stay apart for eyes that do not tell red from green.
PALETTE = ("#0072b2", "#d55e00", "#3fa673", "#cc66ff", "#cc0088", "#7733ff")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))

#: Inches. At 390 pixels across, letters of 9 points are about 12 pixels high.
WIDTH, HEIGHT = 4.2, 3.2
LETTERS = 9.0
LETTERS_ACROSS = 52
_LEGEND_ACROSS = 54


def require_matplotlib() -> None:
    """Raise where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'suffice[plots]'") from None


def usual_settings() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws by its own settings: pictures do not depend on a user's."""
    require_matplotlib()
    from matplotlib import style

    return style.context("default")


def colour(place: int) -> str:
    """Return the colour of the class or curve at a place; after the last comes the first again.

    Examples
    --------
    >>> colour(0), colour(6) == colour(0)
    ('#0072b2', True)
    """
    return PALETTE[place % len(PALETTE)]


def marker(place: int) -> str:
    """Return the marker of the class at a place: classes that share a colour do not share it."""
    return MARKERS[place % len(MARKERS)]


def dashes(place: int) -> Any:
    """Return the line style of the curve at a place."""
    return DASHES[(place + place // len(PALETTE)) % len(DASHES)]


def canvas(ax: Axes | None, rows: int, columns: int, size: tuple[float, float]) -> list[Axes]:
    """Return dressed axes to draw on, row by row: of a new figure, or in the place of ``ax``.

    The figure is none of pyplot's: no window opens, and nothing is left behind when it is dropped.
    """
    require_matplotlib()
    if ax is None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        figure.patch.set_alpha(0.0)
        panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    elif rows * columns == 1:
        panels = [ax]
    else:
        panels = _divided(ax, rows, columns)
    for each in panels:
        dress(each)
    return panels


def _divided(ax: Axes, rows: int, columns: int) -> list[Axes]:
    place = ax.get_subplotspec()
    figure: Any = ax.get_figure()
    if place is None:
        raise ValueError(f"this picture has {rows * columns} panels: give an ax made by subplots, or none")
    ax.set_axis_off()
    grid = place.subgridspec(rows, columns)
    return [figure.add_subplot(grid[row, column]) for row in range(rows) for column in range(columns)]


def dress(ax: Axes) -> None:
    """Give axes the ink, the letters and the spines that all pictures have."""
    ax.patch.set_alpha(0.0)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)
        spine.set_linewidth(0.8)
    ax.tick_params(colors=INK, labelsize=LETTERS, length=3, width=0.8, which="both")
    ax.tick_params(length=0, which="minor")
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_color(INK)
        axis.label.set_fontsize(LETTERS)
        axis.get_offset_text().set_color(INK)
        axis.get_offset_text().set_fontsize(LETTERS)


def bare(ax: Axes) -> None:
    """Take the spines and tick marks away; the labels of ticks stay."""
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0)


def beside_bar(ax: Axes, length: float, row: int, value: float) -> None:
    """Write a value beyond the end of its horizontal bar."""
    ax.annotate(
        number(float(f"{value:.2g}")) if isfinite(value) else str(value),
        (length, row),
        textcoords="offset points",
        xytext=(3 if length >= 0 else -3, 0),
        ha="left" if length >= 0 else "right",
        va="center",
        color=INK,
        fontsize=LETTERS - 1,
    )


def name_axes(ax: Axes, x: str = "", y: str = "") -> None:
    """Write what is on the axes."""
    ax.set_xlabel(shortened(x, LETTERS_ACROSS))
    ax.set_ylabel(shortened(y, 38))


def headline(ax: Axes, title: str, above: int = 0) -> None:
    """Write a title above axes and so many rows of their legend, on lines no longer than the axes."""
    figure: Any = ax.get_figure()
    inches = figure.bbox.width / figure.dpi * ax.get_position().width
    lines = wrapped(title, max(12, int(LETTERS_ACROSS * inches / WIDTH)))
    ax.set_title(lines, loc="left", fontsize=LETTERS + 1, color=INK, pad=6 + 14 * above)


def wrapped(title: str, across: int = LETTERS_ACROSS) -> str:
    """Return a title on as many lines as it needs."""
    return "\n".join(textwrap.wrap(shortened(title, 200), across))


def legend_rows(texts: Sequence[str]) -> int:
    """Return how many rows the entries of a legend take."""
    return -(-len(texts) // _legend_columns(texts))


def _legend_columns(texts: Sequence[str]) -> int:
    widest = max(len(shortened(text, 40)) for text in texts) + 6
    return max(1, min(len(texts), _LEGEND_ACROSS // widest))


def legend(ax: Axes, entries: Sequence[tuple[Any, str]]) -> int:
    """Write entries, (handle, text), above the picture, and return how many rows they take."""
    texts = [text for _, text in entries]
    ax.legend(
        [handle for handle, _ in entries],
        [shortened(text, 40) for text in texts],
        loc="lower left",
        bbox_to_anchor=(-0.02, 0.99),
        ncols=_legend_columns(texts),
        frameon=False,
        fontsize=LETTERS,
        labelcolor=INK,
        handlelength=1.6,
        columnspacing=1.2,
        borderpad=0.2,
        labelspacing=0.3,
    )
    return legend_rows(texts)


def shortened(text: Any, most: int = 22) -> str:
    """Return a text as it can be drawn: on one line, its middle left out where it is long.

    Examples
    --------
    >>> shortened("worst concave points = 0.18", 20)
    'worst concav… = 0.18'
    """
    plain = printable(" ".join(str(text).split()))
    end = most // 3 + 1
    cut = plain if len(plain) <= most else f"{plain[: most - end - 1]}…{plain[-end:]}"
    return cut.replace("$", r"\$")  # between two dollars, matplotlib would read mathematics


def number(value: float) -> str:
    """Return a number as it stands on an axis.

    Examples
    --------
    >>> [number(each) for each in (-0.25, 1000.0, 2500000.0, 1e-9, 0.0)]
    ['−0.25', '1,000', '2.5M', '1e−9', '0']
    """
    size = abs(value)
    if size and (size < 1e-4 or size >= 1e9):
        digits, power = f"{value:.2e}".split("e")
        text = f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    elif size >= 1e6:
        text = f"{value / 1e6:.4g}M"
    elif size >= 1e4:
        text = f"{value / 1e3:.4g}k"
    else:
        text = f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
    return text.replace("-", "−")
