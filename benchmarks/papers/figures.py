"""Figures and tables in one style: colours for colour-blind readers, 900 pixels wide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[2] / "docs" / "_static"
#: Palette of Okabe and Ito, highest contrast first.
BLUE, ORANGE, GREEN, PINK, BLACK, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "legend.frameon": False,
}


@contextmanager
def picture(name: str, rows: int, columns: int, height: float) -> Iterator[tuple[Figure, list[Any]]]:
    """Yield a figure and its panels, row by row; save it as docs/_static/papers-NAME.png afterwards."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, height), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False)
        yield figure, list(panels.flat)
        figure.savefig(FOLDER / f"papers-{name}.png", dpi=100, metadata={"Software": None})


def count_sizes(panel: Any) -> None:
    """Set a logarithmic horizontal axis with plain numbers as labels."""
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:,.0f}")


def markdown(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    """Return a Markdown table whose first columns are left-aligned, and the others right-aligned."""
    rule = ["---" if place < left else "---:" for place in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, rule, *rows])


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.{digits}f} %"
