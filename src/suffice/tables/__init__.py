"""Tables: sources, column kinds, TableModel, model selection, and SQL."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.tables.candidates import Candidate
    from suffice.tables.decision import ThresholdMeasures
    from suffice.tables.errors import MissingExtraError, TableError, UsageError
    from suffice.tables.findings import Finding
    from suffice.tables.importance import Importance
    from suffice.tables.learning_curves import Comparison, compare
    from suffice.tables.model import ReadingWarning, TableModel, fit
    from suffice.tables.outlier_detection import Outlier, outliers
    from suffice.tables.schema import Feature, Field, Schema
    from suffice.tables.sql_export import to_sql
    from suffice.tables.term_summary import TermSummary
from suffice.tables.sources import Dialect, FetchWarning, Source, open_table

#: Module of each public name. Names are imported on first use: reading a table imports no models.
_MODULES = {
    "Candidate": "candidates",
    "Comparison": "learning_curves",
    "Feature": "schema",
    "Field": "schema",
    "Finding": "findings",
    "Importance": "importance",
    "MissingExtraError": "errors",
    "Outlier": "outlier_detection",
    "Schema": "schema",
    "TableError": "errors",
    "ReadingWarning": "model",
    "TableModel": "model",
    "TermSummary": "term_summary",
    "ThresholdMeasures": "decision",
    "UsageError": "errors",
    "compare": "learning_curves",
    "fit": "model",
    "outliers": "outlier_detection",
    "to_sql": "sql_export",
}
__all__ = [
    "Candidate",
    "Comparison",
    "Dialect",
    "Feature",
    "FetchWarning",
    "Field",
    "Finding",
    "Importance",
    "MissingExtraError",
    "Outlier",
    "ReadingWarning",
    "Schema",
    "Source",
    "TableError",
    "TableModel",
    "TermSummary",
    "ThresholdMeasures",
    "UsageError",
    "compare",
    "fit",
    "open_table",
    "outliers",
    "to_sql",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice.tables' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.tables.{_MODULES[name]}"), name)
