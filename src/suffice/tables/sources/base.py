"""What every table is: a stream of Arrow batches that can be read again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from suffice.tables.errors import MissingExtraError, TableError, listed

if TYPE_CHECKING:
    import pyarrow as pa

    from suffice.tables.pushdown.database import TableDatabase

#: Told what is being done, how much of it is done, and of how much, where that is known.
Watch = Callable[[str, int, int | None], None]

#: Rows of a batch: enough for threads to share, few enough to hold several.
BATCH = 1 << 17


class Source(ABC):
    """A table that can be read, batch by batch, as often as it is asked for."""

    name: str
    missing: tuple[str, ...] = ()  # names that stand for nothing
    categorical: frozenset[str] = frozenset()  # columns of a categorical type of a data frame
    whole: frozenset[str] = frozenset()  # columns that looked like whole numbers, and are read as any numbers

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""

    @abstractmethod
    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, of all columns or of some."""

    def rows(self) -> int | None:
        """Return how many rows there are, about; None where nobody knows before they were read."""
        return None

    def read_as_written(self, columns: Iterable[str]) -> None:  # noqa: B027  (only text has a choice)
        """Read columns as the strings that they are written as, where the types of columns are found out by reading."""

    def columns_by_file(self) -> Iterable[tuple[str, Sequence[str]]]:
        """Return the columns of each of several files, or data frames, that the table is put together of."""
        return ()

    def check_same_columns(self) -> None:
        """Raise where files of the table have other columns than the first; cells are missing there otherwise."""
        first: tuple[str, Sequence[str]] | None = None
        for file, names in self.columns_by_file():
            first = first or (file, names)
            strange = sorted(set(names) ^ set(first[1]))
            if strange:
                have, lack = (file, first[0]) if strange[0] in names else (first[0], file)
                raise TableError(
                    f"{have} has a column {strange[0]!r}, which {lack} has not: give files with the same columns, or "
                    "use suffice.fit, which takes cells that are not there as missing"
                )

    def database(self) -> TableDatabase | None:
        """Return what can sum the rows where they lie; None where they must be read."""
        return None


class ArrowSource(Source):
    """A table of which Arrow can say the schema: data frames, Arrow's own files, results of other databases."""

    def __init__(
        self,
        name: str,
        opened: Callable[[], Any],
        rows: int | None = None,
        columns: Iterable[tuple[str, Sequence[str]]] = (),
    ) -> None:
        self.name = name
        self._opened = opened
        self._rows = rows
        self._columns = columns

    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""
        return self._opened().schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, of all columns or of some."""
        for batch in self._opened():
            yield batch if columns is None else batch.select(list(columns))

    def rows(self) -> int | None:
        """Return how many rows there are."""
        return self._rows

    def columns_by_file(self) -> Iterable[tuple[str, Sequence[str]]]:
        """Return the columns of each of several files."""
        return self._columns


def arrow() -> Any:
    """Return pyarrow, or say how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("reading tables needs Arrow: pip install 'suffice[tables]'") from None
    return pyarrow


def find_table(file: str, table: str, names: Sequence[str]) -> str:
    """Return a table's name: the one that is asked for, or the only one."""
    if not table and len(names) == 1:
        table = names[0]
    if table not in names:
        have = f"it has {listed(sorted(names))}" if names else "it has none"
        asked = f"{file} has no table {table!r}" if table else f"{file} is a database: say which table"
        raise TableError(f"{asked}; {have}; write {file}::name")
    return table
