"""SQL dialects and connections: names, strings and numbers in SQL, and the results of queries."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

from suffice.kernels.sql.errors import explained

#: A part of a table's name, in quotes or without; and a name that is one or several of them.
_PART = re.compile(r'"(?:[^"]|"")+"(?=\.|$)|[^".][^.]*')
_PARTS = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")
#: Files that DuckDB reads where a table is named.
_FILE = re.compile(r"/|\.(csv|tsv|json|jsonl|ndjson|parquet)(\.gz|\.zst)?$")
#: Characters that terminals and editors act on instead of showing them.
_CONTROLS = re.compile("[\\x00-\\x1f\\x7f-\\x9f]")
#: Those that a string of DuckDB has no escape for.
_UNESCAPED = re.compile("[\\x00\\x80-\\x9f]")


def _escape(control: re.Match[str]) -> str:
    code = ord(control.group())
    return f"\\x{code:02x}" if code < 128 else f"\\u{code:04x}"


def _plain(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _escaped(text: str) -> str:
    """Return a string in which control characters are escaped and backslashes doubled, and which says so."""
    return " E" + _CONTROLS.sub(_escape, _plain(text.replace("\\", "\\\\")))


@dataclass(frozen=True)
class Dialect:
    """Differences of SQL between databases.

    Parameters
    ----------
    name
        "duckdb" or "postgresql".
    title
        Title of the database.
    most
        Results that one query may have: PostgreSQL allows 1664, and plans of more take long to make.
    fence
        What ends a query within a query whose results are used many times, so that they are computed once.
    """

    name: str
    title: str
    most: int
    fence: str = ""

    def number(self, value: float) -> str:
        """Return a number, to its last digit, that is a binary one from the start: a decimal one is rounded twice.

        Examples
        --------
        >>> DUCKDB.number(0.1), DUCKDB.number(-1e-9), POSTGRESQL.number(0.1)
        ('0.1e0', '(-1e-09)', "'0.1'::float8")
        """
        text = repr(float(value))
        if self.name == "postgresql" or not math.isfinite(value):
            return f"'{text}'::float8"
        text = text if "e" in text else f"{text}e0"
        return f"({text})" if text.startswith("-") else text

    def string(self, text: str) -> str:
        r"""Return a string. Quotes are doubled; control characters are written by their codes.

        Examples
        --------
        >>> POSTGRESQL.string("Rock 'n' Roll")
        "'Rock ''n'' Roll'"
        >>> print(POSTGRESQL.string("a\\b\n"), DUCKDB.string("a\\b\n"))
         E'a\\b\x0a'  E'a\\b\x0a'
        """
        if self.name == "postgresql":
            if "\0" in text:
                raise ValueError(f"{text!r} holds a zero byte, which no string of PostgreSQL can: correct it")
            # A server may be set to read backslashes in plain strings: a string that has some says how it is read.
            return _escaped(text) if _CONTROLS.search(text) or "\\" in text else _plain(text)
        parts = [part for part in re.split(f"({_UNESCAPED.pattern})", text) if part]
        written = [
            f"chr({ord(part)})"
            if _UNESCAPED.match(part)
            else _escaped(part)
            if _CONTROLS.search(part)
            else _plain(part)
            for part in parts
        ]
        return written[0] if len(written) == 1 else f"({' || '.join(written)})" if written else "''"

    def refusal(self, before: str, cell: str, after: str, kind: str) -> str:
        """Return an expression that has no value: a query that evaluates it fails with a message.

        Parameters
        ----------
        before, after
            The message, around the cell.
        cell
            An expression of a string that depends on the row: PostgreSQL evaluates what is constant before any row.
        kind
            The type of the expression, in the words of the database.
        """
        message = f"{self.string(before)} || coalesce({cell}, 'NULL') || {self.string(after)}"
        return f"error({message})::{kind}" if self.name == "duckdb" else f"({message})::int::text::{kind}"

    def value(self, value: Any) -> str:
        """Return a cell of any plain type."""
        match value:
            case None:
                return "null"
            case bool():
                return "true" if value else "false"
            case int() | Decimal():
                return str(value) if value >= 0 else f"({value})"
            case float():
                return self.number(value)
            case str() | UUID():
                return self.string(str(value))
            case date() if not isinstance(value, datetime):
                return f"date '{value.isoformat()}'"
        raise TypeError(f"{value!r} of type {type(value).__name__} has no place in a query")

    def lookup(self, values: Iterable[float], place: str) -> str:
        """Return the number at a place, counted from 0, of a list.

        Examples
        --------
        >>> DUCKDB.lookup([0.5, 2], "b"), POSTGRESQL.lookup([0.5, 2], "b")
        ('[0.5e0, 2.0e0][b + 1]', "('{0.5,2.0}'::float8[])[b + 1]")
        """
        if self.name == "duckdb":
            return f"[{', '.join(map(self.number, values))}][{place} + 1]"
        return f"('{{{','.join(repr(float(value)) for value in values)}}}'::float8[])[{place} + 1]"

    def is_nan(self, cell: str) -> str:
        """Return the condition that a number is NaN.

        DuckDB believes what Parquet files say of their least and greatest cells, of which NaN is none: it takes a
        comparison with NaN, and even ``isnan``, for false without a look at the cells. What is finite it looks for.
        """
        if self.name == "duckdb":
            return f"(not isfinite({cell}) and not isinf({cell}))"
        return f"{cell} = {self.number(math.nan)}"

    def is_infinite(self, cell: str) -> str:
        """Return the condition that a number is infinite."""
        return f"isinf({cell})" if self.name == "duckdb" else f"abs({cell}) = {self.number(math.inf)}"

    def known(self, cell: str) -> str:
        """Return a number, NULL where it is NaN."""
        if self.name == "duckdb":
            return f"(case when isfinite({cell}) or isinf({cell}) then {cell} end)"
        return f"nullif({cell}, {self.number(math.nan)})"


def quoted(name: str) -> str:
    """Return a name of a table or column, whatever it holds.

    Examples
    --------
    >>> quoted('a "b"; drop table c')
    '"a ""b""; drop table c"'
    """
    if "\0" in name or not name:
        raise ValueError(f"{name!r} is not a valid name of a table or column")
    return '"' + name.replace('"', '""') + '"'


def quoted_path(name: str, dialect: Dialect) -> str:
    """Return the name of a table; its schema, and its database, may stand before it with dots between.

    A part may be in double quotes, as in SQL: dots within them are not separators.

    Examples
    --------
    >>> print(quoted_path("public.big", POSTGRESQL), quoted_path('"My Schema"."big.table"', POSTGRESQL))
    "public"."big" "My Schema"."big.table"
    >>> print(quoted_path("rows.parquet", DUCKDB))  # a file, which DuckDB reads
    "rows.parquet"
    """
    if dialect.name == "duckdb" and _FILE.search(name):
        return quoted(name)
    return ".".join(map(quoted, name_parts(name)))


def existing_path(name: str, database: Database) -> str:
    """Return the name of a table that is there: of one that is called so, dots and all, or of one of a schema."""
    dialect, whole = database.dialect, quoted(name)
    parts = quoted_path(name, dialect)
    if parts == whole:
        return whole
    text = dialect.string(name)
    exists = (
        f"select to_regclass({dialect.string(whole)}) is not null"
        if dialect.name == "postgresql"
        else f"select exists (select 1 from duckdb_tables() where table_name = {text} "
        f"union all select 1 from duckdb_views() where view_name = {text})"
    )
    ((found,),) = database.ask(exists)
    return whole if found else parts


def name_parts(name: str) -> list[str]:
    """Return the parts of a table's name; the whole name where it is not written as parts.

    Examples
    --------
    >>> name_parts("shop.visits"), name_parts('"a.b"'), name_parts("v1."), name_parts('say "x.y"')
    (['shop', 'visits'], ['a.b'], ['v1.'], ['say "x', 'y"'])
    """
    if not _PARTS.fullmatch(name):
        return [name]
    found = [part for part in _PART.findall(name) if part]
    return [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in found]


DUCKDB = Dialect("duckdb", "DuckDB", 1000)
POSTGRESQL = Dialect("postgresql", "PostgreSQL", 1600, " offset 0")
DIALECTS = {dialect.name: dialect for dialect in (DUCKDB, POSTGRESQL)}


def dialect_of(name: str) -> Dialect:
    """Return a dialect by its name."""
    found = DIALECTS.get({"postgres": "postgresql"}.get(name, name))
    if found is None:
        raise ValueError(f"{name!r} is not a known dialect of SQL; the dialects are {', '.join(DIALECTS)}")
    return found


class Database(Protocol):
    """A database that runs queries."""

    dialect: Dialect

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows that a query gives."""

    def batches(self, sql: str, size: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query in batches of a size."""


class Connected:
    """A database behind an open connection: of DuckDB, or of any driver that follows Python's database API.

    Parameters
    ----------
    connection
        The connection; it stays open, and nothing is written through it.
    dialect
        "duckdb" or "postgresql", if it cannot be inferred from the connection.
    """

    def __init__(self, connection: Any, dialect: str | None = None) -> None:
        self._connection = connection
        library = type(connection).__module__
        if dialect is None:
            dialect = "duckdb" if "duckdb" in library else "postgresql"
        self.dialect = dialect_of(dialect)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query; an error of the database is raised as one sentence."""
        if self.dialect is DUCKDB:  # a cursor of its own would not see registered and temporary tables
            try:
                return list(self._connection.execute(sql).fetchall())
            except Exception as error:
                raise explained(error) from None
        cursor = self._connection.cursor()
        try:
            cursor.execute(sql)
            return list(cursor.fetchall())
        except Exception as error:
            self._roll_back()
            raise explained(error) from None
        finally:
            cursor.close()

    def batches(self, sql: str, size: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query in batches of a size."""
        if self.dialect is DUCKDB:
            cursor = self._connection
        else:
            try:  # a cursor of the server: that of the client would fetch all rows
                cursor = self._connection.cursor(name="suffice", withhold=True)
            except TypeError:
                cursor = self._connection.cursor()
        try:
            cursor.execute(sql)
            while rows := cursor.fetchmany(size):
                yield list(rows)
        except Exception as error:
            self._roll_back()
            raise explained(error) from None
        finally:
            if self.dialect is not DUCKDB:
                with suppress(Exception):
                    cursor.close()

    def _roll_back(self) -> None:
        """Roll back, so that a connection can run queries after a failed one."""
        with suppress(Exception):  # the connection is closed: the first error says so
            self._connection.rollback()


def chunks(items: list[str], most: int) -> Iterable[list[str]]:
    """Yield items in batches of a size.

    Examples
    --------
    >>> list(chunks(["a", "b", "c"], 2))
    [['a', 'b'], ['c']]
    """
    return (items[start : start + most] for start in range(0, len(items), most))
