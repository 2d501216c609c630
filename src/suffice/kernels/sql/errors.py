"""Errors of databases as one sentence, with a remedy."""

from __future__ import annotations

import re

_RIGHTS = re.compile(r"permission denied for (\w+(?: \w+)?) \"?([^\"\n]+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)
_ABSENT = re.compile(r"relation \"(.+?)\" does not exist")
_LOST = (
    "server closed the connection",
    "terminating connection",
    "connection is closed",
    "no connection to the server",
    "could not receive data",
    "connection not open",
    "connection already closed",
    "connection has been closed",
    "bad connection",
    "broken pipe",
    "connection reset",
)
_UNREACHED = (
    "could not connect",
    "connection refused",
    "failed to connect",
    "connection to server",
    "could not translate",
)


class DatabaseError(ValueError):
    """A query that a database cannot run; the message says why, and what to do."""


class DatabaseOverflowError(DatabaseError, OverflowError):
    """A sum that overflows float64, as reported by the database."""


class DatabaseUnderflowError(DatabaseError, ArithmeticError):
    """A product too small for float64, where a database says so and does not take it for 0."""


def explained(error: Exception, table: str = "") -> DatabaseError:
    """Return an error of a database's driver as one sentence.

    Examples
    --------
    >>> explained(RuntimeError("ERROR:  permission denied for table sales"))
    DatabaseError("the database does not let you read the table 'sales': have its owner GRANT SELECT ON sales to you")
    >>> explained(RuntimeError("server closed the connection unexpectedly"))
    DatabaseError('the connection to the database was lost: see that the server is running, and start again')
    >>> stopped = RuntimeError("canceling statement due to user request")
    >>> stopped.sqlstate = "57014"
    >>> explained(stopped)
    DatabaseError('the query was cancelled (canceling statement due to user request): start again')
    """
    text = str(error).strip()
    folded = text.casefold()
    code = str(getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or "")
    rights = _RIGHTS.search(text.partition(". SQLSTATE")[0].strip())
    if code == "42501" or rights:
        what, name = rights.groups() if rights else ("table", table or "asked for")
        right = {"schema": "USAGE ON SCHEMA", "database": "CONNECT ON DATABASE"}.get(what.casefold(), "SELECT ON")
        return DatabaseError(
            f"the database does not let you read the {what} {name!r}: have its owner GRANT {right} {name} to you"
        )
    absent = _ABSENT.search(text)
    if absent:
        return DatabaseError(f"there is no table {absent.group(1)!r} in the database: check its name and schema")
    if "underflow" in folded:
        return DatabaseUnderflowError(f"a product underflows ({_first(text)}): rescale the columns")
    if code == "22003" or "out of range" in folded:
        return DatabaseOverflowError(f"a sum overflows ({_first(text)}): rescale the columns")
    if code.startswith("57P0") or any(sign in folded for sign in _LOST):
        what = f" while {table!r} was read" if table else ""
        return DatabaseError(
            f"the connection to the database was lost{what}: see that the server is running, and start again"
        )
    if code == "57014" and "timeout" in folded:
        return DatabaseError(f"the database stopped the query ({_first(text)}): allow it more time")
    if code == "57014":
        return DatabaseError(f"the query was cancelled ({_first(text)}): start again")
    if code.startswith("08") or any(sign in folded for sign in _UNREACHED):
        return DatabaseError(f"the database says: {_first(text)}; see that the server is running and the address right")
    return DatabaseError(f"the database says: {_first(text)}")


def _first(text: str) -> str:
    """Return the first line of what a driver says, without what its library adds."""
    line = (text.splitlines() or ["nothing"])[0]
    return (
        re.sub(r"^[A-Z_]+: |\[libpq\] |Execution error \[\w+\]: |Failed to prepare query: |ERROR:\s+", "", line)
        .strip()
        .rstrip(".")
    )
