"""Databases that sum a table's rows where they lie, and when that is the faster way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from suffice.engines.sql.dialect import DUCKDB, Dialect
from suffice.tables.cells import type_of
from suffice.tables.errors import TableError, UsageError
from suffice.tables.forms import FORMS

if TYPE_CHECKING:
    import pyarrow as pa

    from suffice.tables.source import Source

# When sums are taken where the rows lie, and nobody has said. Measured by ``python -m benchmarks.sql``, in seconds of
# processor: of 1e7 rows and 20 columns of Parquet, DuckDB takes the sums of naive Bayes, and draws rows, in 3.3, while
# reading and summing them here takes 3.8; of 1e6 rows, both take 0.8. Sums of products grow as the square of the
# columns while reading grows as their number: of 1e7 rows, 5 columns take 2.4 beside 3.6, 10 take 4.2 beside 3.8, 20
# take 12.7 beside 6.1. A server's rows come over a wire: naive Bayes is always summed there, and so are products of few
# columns (of 1e6 rows, 10 columns take 4.4 beside 3.6, and 20 take 17.7 beside 5.4). What counts is the columns of the
# matrix: a date becomes 18 of them, and a moment 41.

#: Of files and DuckDB's own tables: with fewer rows than these, both ways take a fraction of a second.
MANY = 1_000_000
#: Products of so many columns of a matrix, and no more, are summed by DuckDB sooner than rows are read and multiplied.
NARROW = 6
#: The same of a server, whose rows take longer to arrive.
NARROW_ON_SERVER = 10
#: What a date and a moment become in a matrix: their time, and a column for each month, weekday and hour but one.
_DATE_COLUMNS = {"date": 1 + 11 + 6, "moment": 1 + 11 + 6 + 23}


class RowsElsewhereError(TableError):
    """Why the rows of a table cannot be summed where they lie."""


def chosen(source: Source, wanted: bool | None, model: str = "auto") -> TableDatabase | None:
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
    if not database.is_faster(source.rows()):
        return None
    products = model in FORMS and FORMS[model].exact and FORMS[model].reads == "design"
    wide = products and not database.multiplies_faster(matrix_columns(source.schema()) - 1)
    return None if wide else database  # one reading takes all sums, where some must be taken here


def matrix_columns(schema: pa.Schema) -> int:
    """Return how many columns a table has in a matrix; a column of names counts once, as its levels are not known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> matrix_columns(pa.schema({"area": pa.float64(), "built": pa.date32()}))
    19
    """
    return sum(_DATE_COLUMNS.get(type_of(kind), 1) for kind in schema.types)


class TableDatabase(ABC):
    """A table in its database: what :class:`suffice.engines.sql.SqlEngine` asks.

    Parameters
    ----------
    select
        A query that gives the table.
    """

    dialect: Dialect

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
    def draw(self, columns: str, where: str, share: float, rows: int, seed: int) -> pa.Table:
        """Return about so many rows, drawn at random; the share that they are of all is known."""

    @abstractmethod
    def is_faster(self, rows: int | None) -> bool:
        """Whether sums are taken sooner there than by reading so many rows."""

    @abstractmethod
    def multiplies_faster(self, columns: int) -> bool:
        """Whether products of so many columns of a matrix are summed sooner there than by reading rows."""

    def close(self) -> None:  # noqa: B027  (few have to)
        """Let go of the table."""


class DuckDatabase(TableDatabase):
    """DuckDB, as what sums a table.

    Parameters
    ----------
    asked
        Returns what a query gives.
    select
        A query that gives the table.
    fast
        Whether going through the table several times costs little.
    """

    dialect = DUCKDB

    def __init__(self, asked: Callable[..., Any], select: str, fast: bool) -> None:
        super().__init__(select)
        self._asked = asked
        self._fast = fast

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows that a query gives."""
        rows: list[tuple[Any, ...]] = self._asked(sql)
        return rows

    def arrow(self, sql: str) -> pa.Table:
        """Return what a query gives as an Arrow table."""
        return self._asked(sql, arrow=True)

    def draw(self, columns: str, where: str, share: float, rows: int, seed: int) -> pa.Table:
        """Return so many rows, drawn at random."""
        wanted = f"select {columns} from {self.source}{where}"
        return self.arrow(f"select * from ({wanted}) using sample {rows} rows (reservoir, {seed})")

    def is_faster(self, rows: int | None) -> bool:
        """Whether sums are taken sooner there than by reading so many rows."""
        return self._fast and rows is not None and rows >= MANY

    def multiplies_faster(self, columns: int) -> bool:
        """Whether products of so many columns of a matrix are summed sooner there than by reading rows."""
        return columns <= NARROW
