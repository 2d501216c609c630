"""Pictures and tables in one style: colours that colour-blind readers tell apart, 900 pixels wide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[2] / "docs" / "_static"
#: The colours of Okabe and Ito, darkest contrast first.
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
    """Yield a figure and its panels, row by row; store it as docs/_static/papers-NAME.png afterwards."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, height), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False)
        yield figure, list(panels.flat)
        figure.savefig(FOLDER / f"papers-{name}.png", dpi=100, metadata={"Software": None})


def count_sizes(panel: Any) -> None:
    """Let a panel's horizontal axis count in tens, hundreds, thousands, written out."""
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:,.0f}")


def markdown(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    """Return a table whose first columns are aligned to the left, and the others to the right."""
    rule = ["---" if place < left else "---:" for place in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, rule, *rows])


def percent(share: float, digits: int = 1) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.{digits}f} %"
