"""Sums in a database by generated aggregates: only the results are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

from suffice.kernels.engine import Batch, Engine, named
from suffice.kernels.protocol import Kernels
from suffice.kernels.sql.dialect import Connected, Database, quoted
from suffice.kernels.sql.kernels import SqlKernels
from suffice.kernels.sql.rows import Expression, Relation

R = TypeVar("R")

__all__ = ["Expression", "Relation", "SqlEngine", "rows_of"]


class SqlEngine(Engine):
    """Sums the rows of a table or query inside the database that holds them.

    A batch's ``x`` is a :class:`Relation`; its ``y`` and ``weight`` are :class:`Expression`. Every sum is a query or a
    few; rows never leave the database. It takes the sums of one pass: class weights, events, presences, categories,
    moments and normal equations.

    Parameters
    ----------
    connection
        An open connection to DuckDB or PostgreSQL.
    dialect
        "duckdb" or "postgresql", if it cannot be inferred from the connection.

    Examples
    --------
    >>> import duckdb
    >>> from suffice.statistics import DiagonalMoments
    >>> engine = SqlEngine(duckdb.connect())
    >>> rows = rows_of(engine.database, "(values (1.0, 5), (3.0, 5)) as pairs(a, b)", ["a", "b"])
    >>> moments = engine.accumulate(DiagonalMoments.over(), Batch(rows))
    >>> moments.mean, moments.spread
    (array([[2., 5.]]), array([[2., 0.]]))
    """

    def __init__(self, connection: Any, dialect: str | None = None) -> None:
        self.database: Database = connection if hasattr(connection, "ask") else Connected(connection, dialect)
        # Other kernels are not sums that a database computes: they raise by name.
        self.kernels = cast(Kernels, SqlKernels(self.database))

    def __repr__(self) -> str:
        return f"SqlEngine({self.database.dialect.title})"

    def _map(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        for number, batch in enumerate(batches):
            yield named(function, batch, self.kernels, number)


def rows_of(database: Database, source: str, columns: Iterable[str], position: str | None = None) -> Relation:
    """Return some columns of a table as a relation, counting its rows.

    Parameters
    ----------
    database
        The database of the table.
    source
        The FROM clause: a table's quoted name, or a query in parentheses with a name.
    columns
        The names of the columns; they are quoted here.
    position
        An expression of the place of a row, from 0, where complaints shall name it.
    """
    ((rows,),) = database.ask(f"select count(*) from {source}")
    return Relation(source, tuple(map(quoted, columns)), int(rows), position)
