"""Databases that sum a table's rows where they lie, and when that is the faster way."""

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

# When sums are taken where the rows lie, and nobody has said. DuckDB hands rows over as fast as it sums them, and they
# are read anyway for the sample that models are compared by: of 1e6 rows and 20 columns of Parquet, naive Bayes takes
# 1.4 seconds of processor by reading and 2.1 by DuckDB's sums. A server's rows come over a wire: naive Bayes is always
# summed there, and so are products of few columns, which grow as the square of the columns while reading grows as their
# number (of 1e6 rows, 10 columns take 4.4 beside 3.6, and 20 take 17.7 beside 5.4). What counts is the columns of the
# matrix: a date becomes 18 of them, and a moment 41.

#: Products of so many columns of a matrix, and no more, are summed by a server sooner than rows arrive.
NARROW = 10
#: What a date and a moment become in a matrix: their time, and a column for each month, weekday and hour but one.
_DATE_COLUMNS = {"date": 1 + 11 + 6, "moment": 1 + 11 + 6 + 23}


class PushdownError(TableError):
    """Why the rows of a table cannot be summed where they lie."""


def choose_database(source: Source, wanted: bool | None, model: str = "auto") -> TableDatabase | None:
    """Return the database that sums a table: where that is wanted, or nothing is said and it is faster."""
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
    return None if wide else database  # one reading takes all sums, where some must be taken here


def is_faster_in_database(columns: int) -> bool:
    """Whether products of so many columns of a matrix are summed by a server sooner than by reading rows."""
    return columns <= NARROW


def matrix_columns(schema: pa.Schema) -> int:
    """Return how many columns a table has in a matrix; a column of names counts once, as its levels are not known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> matrix_columns(pa.schema({"area": pa.float64(), "built": pa.date32()}))
    19
    """
    return sum(_DATE_COLUMNS.get(cell_type(kind), 1) for kind in schema.types)


class TableDatabase(ABC):
    """A table in its database: what :class:`suffice.kernels.sql.SqlEngine` asks.

    Parameters
    ----------
    select
        A query that gives the table.
    """

    dialect: Dialect
    is_server: bool  # whether rows come over a wire

    def __init__(self, select: str) -> None:
        self.select = select

    @property
    def source(self) -> str:
        """What stands after FROM."""
        return f"({self.select}\n) as data"

    @abstractmethod
    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows that a query gives."""

    @abstractmethod
    def arrow(self, sql: str) -> pa.Table:
        """Return what a query gives as an Arrow table."""

    @abstractmethod
    def draw(self, select: str, share: float, rows: int, seed: int) -> Iterable[pa.RecordBatch]:
        """Yield the rows of a query that so many are to be drawn from by their contents, a known share of all.

        These are all rows; where rows come over a wire, somewhat more than are wanted, drawn there at random.
        """

    def close(self) -> None:  # noqa: B027  (few have to)
        """Let go of the table."""
