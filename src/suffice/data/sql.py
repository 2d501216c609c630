"""Tables of DuckDB and PostgreSQL: sums of one pass are computed in the database, other passes read batches of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from suffice.data.dataset import Dataset, Piece, first_rows
from suffice.data.stream import StreamDataset
from suffice.kernels import Batch, Expression, Relation, SqlEngine
from suffice.kernels.protocol import Kernels
from suffice.kernels.sql.dialect import POSTGRESQL, existing_path, quoted
from suffice.statistics import Labels, NamedCategoryCounts, Statistics

R = TypeVar("R")
S = TypeVar("S", bound=Statistics)

#: Rows of a batch that is read from a database.
BATCH_ROWS = 50_000


@dataclass(frozen=True)
class DatabaseSums:
    """Sums over the rows of a table, computed by its database."""

    engine: SqlEngine
    x: Relation
    y: str | None  #: the quoted name of the column of targets
    weight: Expression | None

    def find_classes(self) -> Labels:
        """Return the classes in the column of targets."""
        cells = self.engine.database.ask(f"select distinct {self.y} from {self.x.source}")
        if not cells:
            raise ValueError(f"no row has a target in {self.y}: there is nothing to learn from")
        return Labels.of([cell for (cell,) in cells])

    def sum_classes(self, summarise: Callable[[Batch, Kernels], S], labels: Labels) -> S:
        """Return the sum of a statistic whose rows have classes."""
        return self.engine.accumulate(summarise, self._batch(labels))

    def sum_targets(self, summarise: Callable[[Batch, Kernels], S]) -> S:
        """Return the sum of a statistic whose rows have targets that are numbers."""
        target = None if self.y is None else Expression(self.y, self.x.rows)
        return self.engine.accumulate(summarise, Batch(self.x, target, self.weight))

    def count_categories(self, labels: Labels) -> NamedCategoryCounts:
        """Return the counts of the categories of each column, by class; NULL is a missing cell."""
        batch = self._batch(labels)
        kernels: Any = self.engine.kernels
        counts, vocabularies = [], []
        for groups in kernels.groups(batch, len(labels)):
            known = [(code, value, weight) for code, value, weight in groups if value is not None and value == value]
            names = Labels.of([value for _, value, _ in known])
            places = {name: place for place, name in enumerate(names)}
            table = np.zeros((len(labels), len(names)))
            for code, value, weight in known:
                table[code, places[value]] += weight
            counts.append(table)
            vocabularies.append(names)
        weights = kernels.class_weights(batch, len(labels))
        return NamedCategoryCounts(labels, weights, np.hstack(counts), tuple(vocabularies))

    def _batch(self, labels: Labels) -> Batch:
        value = self.engine.database.dialect.value
        cases = [f"when {value(label)} then {code}" for code, label in enumerate(labels)]
        codes = f"case {self.y} {' '.join(cases)} end"
        return Batch(self.x, Expression(codes, self.x.rows), self.weight)


class SqlDataset(Dataset):
    """A table of DuckDB or PostgreSQL, in the place of X.

    Naive Bayes, Gaussian discriminant analysis and linear regression are fitted by aggregates that the database
    computes: rows stay there. Other models, and settings that need the rows (``"auto"``, bins, robust covariances),
    read them in batches, once for each pass.

    Parameters
    ----------
    connection
        An open connection to DuckDB, or to PostgreSQL by a driver that follows Python's database API. Nothing is
        written through it.
    table
        The name of the table, also of a temporary or registered one. Its schema may stand before it, as in
        ``shop.visits`` or ``"My Shop"."visits"``.
    columns
        The features.
    y
        The column that is predicted. Rows in which it is NULL are left out.
    sample_weight
        The column of weights, if there is one.
    dialect
        "duckdb" or "postgresql", if it cannot be inferred from the connection.

    Examples
    --------
    >>> import duckdb
    >>> from suffice import GaussianNB, LogisticRegression
    >>> connection = duckdb.connect()
    >>> _ = connection.execute("create table t as select i % 2 = 1 as odd, i + 9 * (i % 2) as x from range(20) r(i)")
    >>> table = SqlDataset(connection, "t", ["x"], y="odd")
    >>> GaussianNB().fit(table).theta_.ravel()
    array([ 9., 19.])
    >>> LogisticRegression().fit(table).coef_.round(3)
    array([[0.293]])
    """

    is_in_process = True

    def __init__(
        self,
        connection: Any,
        table: str,
        columns: Sequence[str],
        y: str | None = None,
        sample_weight: str | None = None,
        *,
        dialect: str | None = None,
    ) -> None:
        engine = SqlEngine(connection, dialect)
        self._database = engine.database
        self._table = table
        self._columns = tuple(columns)
        self._beside = {name: each for name, each in (("y", y), ("sample_weight", sample_weight)) if each is not None}
        rows = "" if y is None else f" where {quoted(y)} is not null"
        source = f"(select * from {existing_path(table, self._database)}{rows}) as data"
        ((count,),) = self._database.ask(f"select count(*) from {source}")
        self._n_rows = int(count)
        x = Relation(source, tuple(map(quoted, columns)), self._n_rows, names=self._columns)
        weight = None if sample_weight is None else Expression(quoted(sample_weight), self._n_rows)
        self._sums = DatabaseSums(engine, x, None if y is None else quoted(y), weight)

    @property
    def aggregates(self) -> DatabaseSums:
        """The sums that the database computes."""
        return self._sums

    @cached_property
    def _stream(self) -> StreamDataset:
        return StreamDataset(self._batches)

    def _batches(self) -> Iterator[Piece]:
        rows = 0
        for number, batch in enumerate(self._database.batches(self._query(), BATCH_ROWS)):
            rows += len(batch)
            yield {**self._piece(batch), "place": (number, 0)}
        if rows != self._n_rows:
            raise ValueError(
                f"the table {self._table} had {self._n_rows} rows at first, and {rows} when they were read: read it in "
                "one transaction, or wait until nothing is written to it"
            )

    def _query(self, limit: str = "") -> str:
        return f"select {', '.join(self._cells)} from {self._sums.x.source}{limit}"

    @cached_property
    def _cells(self) -> list[str]:
        """The columns that are read; of PostgreSQL's type numeric, which drivers return as text, as floats."""
        names = list(map(quoted, (*self._columns, *self._beside.values())))
        if self._database.dialect is not POSTGRESQL:
            return names
        types = self._database.ask(
            f"select {', '.join(f'pg_typeof({name})::text' for name in names)} from {self._sums.x.source} limit 1"
        )
        exact = [kind == "numeric" for kind in types[0]] if types else [False] * len(names)
        return [f"{name}::double precision" if cast else name for name, cast in zip(names, exact, strict=True)]

    def _piece(self, rows: list[tuple[Any, ...]]) -> Piece:
        import pyarrow as pa  # which DuckDB and table sources need as well

        cells = [_plain(column) for column in zip(*rows, strict=True)] or [[] for _ in self._columns]
        features = len(self._columns)
        x = pa.Table.from_arrays([pa.array(column) for column in cells[:features]], names=list(self._columns))
        beside = {name: np.array(cells[features + place]) for place, name in enumerate(self._beside)}
        return {"X": x, **beside}

    def map_parts(self, function: Callable[[Any], Any]) -> Dataset:
        """Return the results of a function of each batch of rows, which are read when they are asked for."""
        return self._stream.map_parts(function)

    def reduce(self, add: Callable[[R, R], R]) -> R | None:
        """Return all batches, added up in order."""
        return self._stream.reduce(add)

    def iterate(self) -> Iterator[Any]:
        """Yield the batches of rows."""
        return self._stream.iterate()

    def fold(self, function: Callable[[R, Any], R], state: R) -> R:
        """Return the state after all batches, one after another."""
        return self._stream.fold(function, state)

    def persist(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> tuple[Dataset, Any]:
        """Return the batches, kept in memory while they are few; and a function of each, added up."""
        return self._stream.persist(function, add)

    def release(self) -> None:
        """Keep the table: it is the user's."""

    def map_rows(
        self, function: Callable[[Any], Any], names: Sequence[str], features: Sequence[str] | None = None
    ) -> Any:
        """Return an iterator over the results of each batch."""
        return self._stream.map_rows(function, names, features)

    def example(self) -> Any:
        """Return the first rows."""
        rows = self._database.ask(self._query(" limit 2"))
        if not rows:
            raise ValueError(f"no row of {self._table} has a target: there is nothing to learn from")
        return first_rows(self._piece(rows)["X"])

    def select(self, *names: str) -> Dataset:
        """Return the same rows with these entries alone."""
        return self._stream.select(*names)


def _plain(column: tuple[Any, ...]) -> list[Any]:
    """Return cells as Arrow takes them: decimal numbers as floats."""
    return [float(cell) if isinstance(cell, Decimal) else cell for cell in column]
