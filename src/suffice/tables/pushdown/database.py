"""Databases that compute sums over the rows of a table, and when that is faster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from suffice.kernels.sql.dialect import Dialect
from suffice.model_types import MODEL_TYPES
from suffice.tables.cells import cell_type
from suffice.tables.errors import TableError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from suffice.tables.sources.base import Source

# Default of in_database. DuckDB reads rows as fast as it sums them, and rows are read anyway for the sample that models
# are compared on: for 1e6 rows and 20 columns of Parquet, naive Bayes takes 1.4 s of CPU time by reading and 2.1 s by
# sums in DuckDB. Rows of a server come over the network: naive Bayes is always summed there, and so are products of few
# columns. Their cost grows as the square of the number of columns, that of reading as the number (1e6 rows: 10 columns
# take 4.4 s against 3.6 s, 20 columns 17.7 s against 5.4 s). The columns of the matrix count: a date has 18 of them, a
# timestamp 41.

#: Largest number of matrix columns whose products a server sums faster than its rows are read.
NARROW = 10
#: Matrix columns of a date and of a timestamp: the time, and a column for each month, weekday and hour but one.
_DATE_COLUMNS = {"date": 1 + 11 + 6, "moment": 1 + 11 + 6 + 23}


class PushdownError(TableError):
    """The database of a table cannot compute the sums; the message says why."""


def choose_database(source: Source, wanted: bool | None, model: str = "auto") -> TableDatabase | None:
    """Return the database that computes the sums of a table: if the user wants it, or by default if it is faster."""
    if wanted is False:
        return None
    database = source.database()
    if database is None:
        if wanted:
            raise UsageError(
                f"{source.name} is in no database that could sum it: name a table of DuckDB or PostgreSQL or a Parquet "
                "file, or leave out in_database"
            )
        return None
    if wanted:
        return database
    if not database.is_server:
        return None
    products = model in MODEL_TYPES and MODEL_TYPES[model].exact and MODEL_TYPES[model].reads == "design"
    wide = products and not is_faster_in_database(matrix_columns(source.schema()) - 1)
    return None if wide else database  # one pass computes all sums if some must be computed here


def is_faster_in_database(columns: int) -> bool:
    """Whether a server sums products of this many matrix columns faster than its rows are read."""
    return columns <= NARROW


def matrix_columns(schema: pa.Schema) -> int:
    """Return the number of matrix columns of a table; a category counts once, as its levels are not known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> matrix_columns(pa.schema({"area": pa.float64(), "built": pa.date32()}))
    19
    """
    return sum(_DATE_COLUMNS.get(cell_type(kind), 1) for kind in schema.types)


class TableDatabase(ABC):
    """A table in its database, which :class:`suffice.kernels.sql.SqlEngine` queries.

    Parameters
    ----------
    select
        A query that returns the table.
    """

    dialect: Dialect
    is_server: bool  # whether rows come over a network

    def __init__(self, select: str) -> None:
        self.select = select

    @property
    def source(self) -> str:
        """The expression after FROM."""
        return f"({self.select}\n) as data"

    @abstractmethod
    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the result of a query as rows."""

    @abstractmethod
    def arrow(self, sql: str) -> pa.Table:
        """Return the result of a query as an Arrow table."""

    @abstractmethod
    def draw(self, select: str, share: float, rows: int, seed: int) -> Iterable[pa.RecordBatch]:
        """Yield rows of a query, from which this share is drawn by their contents.

        All rows; or, of a server, a random sample that is somewhat larger than the share.
        """

    def close(self) -> None:  # noqa: B027  (few have to)
        """Close the connection."""
