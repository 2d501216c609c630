"""Common style of all displays: colours, fonts, axes, legends, and the format of numbers and labels."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import isfinite
from typing import TYPE_CHECKING, Any

from suffice.errors import MissingExtraError
from suffice.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colour of text, axes and lines that belong to no class; readable on white and on black. Nothing else has this colour,
#: so that :func:`suffice.plots.figure_to_svg` can replace it by ``currentColor``.
FOREGROUND = "#767676"

#: Colours of classes and curves. Each has a contrast of 3 or more against white and against near-black, and any two
#: differ for readers with red-green colour blindness.
PALETTE = ("#0072b2", "#d55e00", "#3fa673", "#cc66ff", "#cc0088", "#7733ff")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
LINE_STYLES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.2)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (8, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)
DOTTED = (0, (2, 3))

#: Inches. At 390 pixels across, text of 9 points is about 12 pixels high.
WIDTH, HEIGHT = 4.2, 3.2
FONT_SIZE = 9.0
#: Characters that fit on a line of a title and of a legend, across a figure of WIDTH; and maximum lengths.
TITLE_LENGTH = 52
_MAX_TITLE_LENGTH = 200
_LEGEND_LENGTH = 54
_LEGEND_ENTRY_LENGTH = 40


def require_matplotlib() -> None:
    """Raise where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("plots need matplotlib: pip install 'suffice[plots]'") from None


def default_style() -> AbstractContextManager[None]:
    """Return a context with matplotlib's default settings, so that figures do not depend on the user's."""
    require_matplotlib()
    from matplotlib import style

    return style.context("default")


def class_colour(index: int) -> str:
    """Return the colour of a class or curve; colours repeat after the last.

    Examples
    --------
    >>> class_colour(0), class_colour(6) == class_colour(0)
    ('#0072b2', True)
    """
    return PALETTE[index % len(PALETTE)]


def class_marker(index: int) -> str:
    """Return the marker of a class; classes of the same colour have different markers."""
    return MARKERS[index % len(MARKERS)]


def line_style(index: int) -> Any:
    """Return the line style of a curve; curves of the same colour have different line styles."""
    return LINE_STYLES[(index + index // len(PALETTE)) % len(LINE_STYLES)]


def make_axes(ax: Axes | None, rows: int, columns: int, size: tuple[float, float]) -> list[Axes]:
    """Return styled axes, row by row: of a new figure, or in the place of ``ax``.

    The new figure is not registered with pyplot: it opens no window and is freed with its last reference.
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
        panels = _split_axes(ax, rows, columns)
    for panel in panels:
        style_axes(panel)
    return panels


def _split_axes(ax: Axes, rows: int, columns: int) -> list[Axes]:
    spec = ax.get_subplotspec()
    figure: Any = ax.get_figure()
    if spec is None:
        raise ValueError(f"this display has {rows * columns} panels: give an ax made by subplots, or none")
    ax.set_axis_off()
    grid = spec.subgridspec(rows, columns)
    return [figure.add_subplot(grid[row, column]) for row in range(rows) for column in range(columns)]


def style_axes(ax: Axes) -> None:
    """Set the colours, font sizes and spines of axes."""
    ax.patch.set_alpha(0.0)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FOREGROUND)
        spine.set_linewidth(0.8)
    ax.tick_params(colors=FOREGROUND, labelsize=FONT_SIZE, length=3, width=0.8, which="both")
    ax.tick_params(length=0, which="minor")
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_color(FOREGROUND)
        axis.label.set_fontsize(FONT_SIZE)
        axis.get_offset_text().set_color(FOREGROUND)
        axis.get_offset_text().set_fontsize(FONT_SIZE)


def hide_spines(ax: Axes) -> None:
    """Hide the spines and tick marks; tick labels remain."""
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0)


def label_bar(ax: Axes, length: float, row: int, value: float) -> None:
    """Write a value beside the end of its horizontal bar."""
    ax.annotate(
        format_number(float(f"{value:.2g}")) if isfinite(value) else str(value),
        (length, row),
        textcoords="offset points",
        xytext=(3 if length >= 0 else -3, 0),
        ha="left" if length >= 0 else "right",
        va="center",
        color=FOREGROUND,
        fontsize=FONT_SIZE - 1,
    )


def label_axes(ax: Axes, x: str = "", y: str = "") -> None:
    """Set the axis labels, shortened to fit."""
    ax.set_xlabel(shorten(x, TITLE_LENGTH))
    ax.set_ylabel(shorten(y, 38))


def set_axes_title(ax: Axes, title: str, legend_rows: int = 0, *, max_length: int = _MAX_TITLE_LENGTH) -> None:
    """Set the title of axes above the rows of their legend, wrapped to the width of the axes."""
    figure: Any = ax.get_figure()
    inches = figure.bbox.width / figure.dpi * ax.get_position().width
    lines = wrap_title(title, max(12, int(TITLE_LENGTH * inches / WIDTH)), max_length)
    ax.set_title(lines, loc="left", fontsize=FONT_SIZE + 1, color=FOREGROUND, pad=6 + 14 * legend_rows)


def wrap_title(title: str, length: int = TITLE_LENGTH, max_length: int = _MAX_TITLE_LENGTH) -> str:
    """Return a title, shortened to a maximum length, on lines of a length."""
    return "\n".join(textwrap.wrap(shorten(title, max_length), length))


def count_legend_rows(labels: Sequence[str]) -> int:
    """Return the number of rows of a legend with these labels."""
    return -(-len(labels) // _legend_columns(labels))


def _legend_columns(labels: Sequence[str]) -> int:
    widest = max(len(shorten(label, _LEGEND_ENTRY_LENGTH)) for label in labels) + 6
    return max(1, min(len(labels), _LEGEND_LENGTH // widest))


def draw_legend(ax: Axes, entries: Sequence[tuple[Any, str]]) -> int:
    """Draw a legend of (handle, label) entries above the axes, and return its number of rows."""
    labels = [label for _, label in entries]
    ax.legend(
        [handle for handle, _ in entries],
        [shorten(label, _LEGEND_ENTRY_LENGTH) for label in labels],
        loc="lower left",
        bbox_to_anchor=(-0.02, 0.99),
        ncols=_legend_columns(labels),
        frameon=False,
        fontsize=FONT_SIZE,
        labelcolor=FOREGROUND,
        handlelength=1.6,
        columnspacing=1.2,
        borderpad=0.2,
        labelspacing=0.3,
    )
    return count_legend_rows(labels)


def shorten(text: Any, length: int = 22) -> str:
    """Return a text on one line, with an ellipsis in the middle where it is longer than ``length``.

    Examples
    --------
    >>> shorten("worst concave points = 0.18", 20)
    'worst concav… = 0.18'
    """
    plain = printable(" ".join(str(text).split()))
    end = length // 3 + 1
    cut = plain if len(plain) <= length else f"{plain[: length - end - 1]}…{plain[-end:]}"
    return cut.replace("$", r"\$")  # matplotlib reads text between two dollar signs as mathematics


def format_number(value: float) -> str:
    """Return a number as a tick label.

    Examples
    --------
    >>> [format_number(each) for each in (-0.25, 1000.0, 2500000.0, 1e-9, 0.0)]
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
