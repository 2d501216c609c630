"""Base class of table sources: streams of Arrow batches that can be read several times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suffice.tables.errors import MissingExtraError, TableError, listed

if TYPE_CHECKING:
    import pyarrow as pa

    from suffice.tables.pushdown.database import TableDatabase

#: Progress callback: the current step, the amount done, and the total if it is known.
Watch = Callable[[str, int, int | None], None]

#: Where sums are computed if rows are read, as files name it.
HERE = "here"
#: Rows of a batch: enough for several threads, few enough for several batches in memory.
BATCH = 1 << 17


@dataclass(frozen=True)
class NumberOptions:
    """How numbers and dates in strings are read; None is found for each column.

    Parameters
    ----------
    decimal
        The decimal separator.
    thousands
        The separator of thousands; "" for none.
    day_first
        Whether dates begin with the day, not with the month, where both are possible.
    is_text
        Whether whole numbers may come as strings: those of delimited text, and of sheets of workbooks.
    is_typed
        Whether other numbers have a type, as in sheets: then they do not tell the notation of strings.
    """

    decimal: str | None = None
    thousands: str | None = None
    day_first: bool | None = None
    is_text: bool = False
    is_typed: bool = False

    def refuses(self, decimal: str, thousands: str) -> bool:
        """Whether the user has given other separators."""
        return self.decimal not in (None, decimal) or self.thousands not in (None, thousands)


class Source(ABC):
    """A table that is read batch by batch, any number of times."""

    name: str
    missing: tuple[str, ...] = ()  # names of missing cells
    numbers: NumberOptions = NumberOptions()  # how strings are read as numbers
    categorical: frozenset[str] = frozenset()  # columns of a categorical type of a data frame; codes in text
    notes: tuple[str, ...] = ()  # how the table is read, for the user, where that is not obvious
    whole: frozenset[str] = frozenset()  # columns of integers in the first rows, which are read as floats

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""

    @abstractmethod
    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, of all columns or of some."""

    def rows(self) -> int | None:
        """Return the approximate number of rows; None if it is unknown before they are read."""
        return None

    def read_as_written(self, columns: Iterable[str]) -> None:  # noqa: B027  (only text has a choice)
        """Read columns as strings, if the source infers the types of columns."""

    def columns_by_file(self) -> Iterable[tuple[str, Sequence[str]]]:
        """Return the columns of each of the files, or data frames, of the table."""
        return ()

    def check_same_columns(self) -> None:
        """Raise if a file of the table has other columns than the first, since its cells would be missing."""
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
        """Return the database that can compute sums over the rows; None if they must be read."""
        return None


class ArrowSource(Source):
    """A table with an Arrow schema: data frames, Arrow files, results of other databases."""

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
    """Import pyarrow; raise with the command that installs it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("reading tables needs Arrow: pip install 'suffice[tables]'") from None
    return pyarrow


def find_table(file: str, table: str, names: Sequence[str]) -> str:
    """Return the name of a table of a database: the given one, or the only one."""
    if not table and len(names) == 1:
        table = names[0]
    if table not in names:
        have = f"it has {listed(sorted(names))}" if names else "it has none"
        asked = f"{file} has no table {table!r}" if table else f"{file} is a database: say which table"
        raise TableError(f"{asked}; {have}; write {file}::name")
    return table
