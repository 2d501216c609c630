"""Tables of any kind and size: columns in, answers and reasons out."""

from suffice.tables.choosing import Candidate
from suffice.tables.csv import Dialect
from suffice.tables.errors import MissingExtraError, TableError
from suffice.tables.explaining import Reason, RowExplanation
from suffice.tables.measures import Evaluation
from suffice.tables.model import TableModel, fit
from suffice.tables.schema import Feature, Field, Schema
from suffice.tables.sources import Source, open_table

__all__ = [
    "Candidate",
    "Dialect",
    "Evaluation",
    "Feature",
    "Field",
    "MissingExtraError",
    "Reason",
    "RowExplanation",
    "Schema",
    "Source",
    "TableError",
    "TableModel",
    "fit",
    "open_table",
]
