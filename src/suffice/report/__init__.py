"""Reports: one page about a model of a table, which stands alone."""

from suffice.report.writing import report

__all__ = ["report"]
