"""Style of the plots of the gallery."""

from typing import Any


def plain(gallery: dict[str, Any], file: str) -> None:
    """Set matplotlib's defaults before each example."""
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.constrained_layout.use": True,
            "figure.figsize": (7.0, 4.2),
            "legend.frameon": False,
        }
    )
