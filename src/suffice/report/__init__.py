"""Reports: one page about a model of a table, which stands alone."""

from suffice.report.report_page import report

__all__ = ["report"]
