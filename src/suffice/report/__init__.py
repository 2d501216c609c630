"""Reports: one self-contained HTML page about a model and a table."""

from suffice.report.page import report

__all__ = ["report"]
