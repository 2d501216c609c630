"""Style of the plots of the gallery: the palette of suffice.plots, readable on a light and on a dark page."""

from typing import Any


def plain(gallery: dict[str, Any], file: str) -> None:
    """Set matplotlib's defaults before each example."""
    import matplotlib as mpl
    from cycler import cycler

    from suffice.plots import FOREGROUND, PALETTE

    mpl.rcParams.update(
        {
            "axes.edgecolor": FOREGROUND,
            "axes.facecolor": "none",
            "axes.labelcolor": FOREGROUND,
            "axes.prop_cycle": cycler(color=PALETTE),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlecolor": FOREGROUND,
            "axes.titlelocation": "left",
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
            "figure.facecolor": "none",
            "figure.figsize": (7.0, 4.2),
            "legend.frameon": False,
            "legend.labelcolor": FOREGROUND,
            "savefig.transparent": True,
            "text.color": FOREGROUND,
            "xtick.color": FOREGROUND,
            "ytick.color": FOREGROUND,
        }
    )
