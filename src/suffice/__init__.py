"""Learning from sums: every model is fitted from sums of statistics over batches of rows."""

from importlib.metadata import version

__version__ = version("suffice")
__all__ = ["__version__"]
