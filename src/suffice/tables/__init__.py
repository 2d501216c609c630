"""Tables of any kind and size: columns in, answers and reasons out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.tables.choosing import Candidate
    from suffice.tables.comparing import Comparison, compare
    from suffice.tables.csv import Dialect
    from suffice.tables.errors import MissingExtraError, TableError, UsageError
    from suffice.tables.explaining import Reason, RowExplanation
    from suffice.tables.fitting import fit_in_database
    from suffice.tables.model import TableModel, fit
    from suffice.tables.outlying import Outlier, outliers
    from suffice.tables.schema import Feature, Field, Schema
    from suffice.tables.scoring import to_sql
    from suffice.tables.source import Source
    from suffice.tables.sources import FetchWarning
from suffice.tables.sources import open_table

#: Where each name lives; it is imported when it is first asked for: what looks at a table alone needs no models.
_MODULES = {
    "Candidate": "choosing",
    "Comparison": "comparing",
    "Dialect": "csv",
    "Feature": "schema",
    "FetchWarning": "sources",
    "Field": "schema",
    "MissingExtraError": "errors",
    "Outlier": "outlying",
    "Reason": "explaining",
    "RowExplanation": "explaining",
    "Schema": "schema",
    "Source": "source",
    "TableError": "errors",
    "TableModel": "model",
    "UsageError": "errors",
    "compare": "comparing",
    "fit": "model",
    "fit_in_database": "fitting",
    "open_table": "sources",
    "outliers": "outlying",
    "to_sql": "scoring",
}
__all__ = [
    "Candidate",
    "Comparison",
    "Dialect",
    "Feature",
    "FetchWarning",
    "Field",
    "MissingExtraError",
    "Outlier",
    "Reason",
    "RowExplanation",
    "Schema",
    "Source",
    "TableError",
    "TableModel",
    "UsageError",
    "compare",
    "fit",
    "fit_in_database",
    "open_table",
    "outliers",
    "to_sql",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice.tables' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.tables.{_MODULES[name]}"), name)
