"""Data of the elements of a page, and the templates that render them.

Sections are data: text, tables and figures. Templates are HTML; everything they insert is escaped, but for the SVG of
figures, which matplotlib writes and :func:`suffice.plots.figure_to_svg` parses and serialises again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.errors import MissingExtraError
from suffice.plots import Display, figure_to_svg
from suffice.report.formats import format_value

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ImportError:
    raise MissingExtraError("reports need Jinja2: pip install 'suffice[report]'") from None


class Column(NamedTuple):
    """A column of a table: numbers are right-aligned, prose is wrapped, the name of a graphic is for screen readers."""

    name: str
    kind: Literal["text", "number", "prose", "graphic"] = "text"


@dataclass(frozen=True)
class Table:
    """A table; it scrolls horizontally where it is wider than the page.

    Parameters
    ----------
    caption
        The caption.
    columns
        The columns.
    rows
        Cells, each a value, a :class:`Bar` or a :class:`Sparkline`; the first of each row is its header.
    compact
        Whether the table is only as wide as its cells.
    note
        A sentence below the caption.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    compact: bool = False
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A plot with a title and a caption."""

    title: str
    caption: str
    svg: Markup


def make_figure(display: Display, caption: str = "", title: str | None = None) -> Figure:
    """Return the figure of a display; the page writes the title, wrapped to its own width.

    Parameters
    ----------
    display
        The display.
    caption
        A sentence that explains the plot.
    title
        Title; that of the display by default.
    """
    if not hasattr(display, "figure_"):
        display.plot()
    drawn = display.figure_
    if title is None:
        title = " ".join(drawn.get_suptitle().split()).replace(r"\$", "$")
    drawn.suptitle("")
    label = format_value(f"{title}. {caption}" if caption else title)
    return Figure(title, caption, Markup(figure_to_svg(drawn, label)))


@dataclass(frozen=True)
class Bar:
    """A horizontal bar in a cell of a table, from the middle of the cell where it is signed.

    Parameters
    ----------
    value
        The value.
    longest
        The value of the longest bar of the column.
    signed
        Whether values can be negative.
    """

    value: float
    longest: float
    signed: bool = True

    @property
    def _finite(self) -> float:
        return float(np.nan_to_num(self.value, nan=0.0, posinf=self.longest, neginf=-self.longest))

    @property
    def is_negative(self) -> bool:
        """Whether the value is below 0."""
        return self._finite < 0

    @property
    def width(self) -> str:
        """Length of the bar, 0 to 100."""
        return f"{round(100 * min(abs(self._finite) / self.longest, 1.0) if self.longest > 0 else 0.0, 1):g}"

    @property
    def x(self) -> str:
        """Left end of the bar, -100 to 0."""
        return f"-{self.width}" if self.is_negative else "0"

    @property
    def view_box(self) -> str:
        """Range of x and y."""
        return "-100 0 200 10" if self.signed else "0 0 100 10"


@dataclass(frozen=True)
class Sparkline:
    """A histogram of the height of a line of text, and the text beside it.

    Parameters
    ----------
    counts
        Heights of the bars, (b,); no bars are drawn where it is empty.
    label
        Text alternative of the histogram.
    text
        Text beside it.
    """

    counts: npt.NDArray[Any]
    label: str
    text: str

    @property
    def path(self) -> str:
        """Path of the bars, within 96 by 20."""
        top = max(float(np.max(self.counts, initial=0.0)), 1.0)
        width = 96 / max(len(self.counts), 1)
        return "".join(
            f"M{index * width:.4g} 20v{-max(18 * count / top, 0.6):.3g}h{width * 0.86:.3g}V20z"
            for index, count in enumerate(self.counts)
            if count
        )


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Parameters
    ----------
    id
        Anchor of the section.
    title
        Heading.
    layout
        Name of the template in ``templates/sections``.
    data
        Values that the template reads as ``data``.
    """

    id: str
    title: str
    layout: str
    data: dict[str, Any]

    @property
    def template(self) -> str:
        """Path of the template."""
        return f"sections/{self.layout}.html"

    def render(self) -> str:
        """Return the section as HTML, without its heading."""
        return templates().get_template(self.template).render(data=self.data)


@cache
def templates() -> Environment:
    """Return the templates: values are formatted and escaped, and undefined names raise."""
    environment = Environment(
        loader=PackageLoader("suffice.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else format_value(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["bar"] = lambda value: isinstance(value, Bar)
    environment.tests["sparkline"] = lambda value: isinstance(value, Sparkline)
    return environment
