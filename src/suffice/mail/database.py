"""The SQLite file of a filter: schema, creation, connection, transactions, settings."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from suffice.mail.atomic_files import is_disk_full, rename_exclusive
from suffice.mail.errors import MailError
from suffice.mail.settings import Settings

#: Seconds that a writer waits for another.
TIMEOUT = 60.0

#: SQLite's application id, which identifies the file of a filter: "sfce" in ASCII.
APPLICATION = 0x73666365
#: Version of the file format.
VERSION = 1
#: Version of the feature extraction: 2 since dates of header fields are no tokens. A file without the setting has 1.
FEATURES = 2

#: base: columns of the learned state at the last compaction. names: the tokens' names, compressed, in order of arrival.
#: journal: messages learned since then. learned: each learned message and its class; recent: the tokens of the latest.
#: judged: messages marked as spam at delivery. filed, settled: the ledger of sorted mailboxes, the folder of each
#: message and the message of each file; moves: the moves of the latest runs, and the key after each, unless unfinished.
TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE base (part TEXT PRIMARY KEY, data BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE names (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE journal (
  id INTEGER PRIMARY KEY AUTOINCREMENT, features BLOB NOT NULL, day INTEGER NOT NULL,
  label INTEGER, weight REAL NOT NULL, steps INTEGER NOT NULL, was INTEGER, was_weight REAL NOT NULL, hashes BLOB
);
CREATE TABLE learned (
  id BLOB PRIMARY KEY, label INTEGER NOT NULL, weight REAL NOT NULL, day INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE recent (number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB UNIQUE NOT NULL, hashes BLOB NOT NULL);
CREATE TABLE judged (id BLOB PRIMARY KEY, label TEXT NOT NULL, day INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE filed (box BLOB, id TEXT, folder BLOB NOT NULL, PRIMARY KEY (box, id)) WITHOUT ROWID;
CREATE TABLE settled (box BLOB, folder BLOB, key BLOB, id TEXT NOT NULL, PRIMARY KEY (box, folder, key)) WITHOUT ROWID;
"""
#: Created by the first move, also in files of earlier versions.
MOVES_TABLE = """
CREATE TABLE IF NOT EXISTS moves (
  box BLOB, run INTEGER, source BLOB, key BLOB, id TEXT NOT NULL, target BLOB NOT NULL, moved BLOB,
  PRIMARY KEY (box, run, source, key)
) WITHOUT ROWID
"""


def create_database(path: Path, timeout: float) -> None:
    """Create an empty filter atomically, readable by its owner only. If another process created one, that one stays."""
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(temporary, timeout=timeout, isolation_level=None)
        try:
            create_tables(connection)
        finally:
            connection.close()
        with suppress(FileExistsError):
            _rename(temporary, path)
    except OSError as error:
        raise MailError(f"{path} cannot be created: {error.strerror}") from error
    except sqlite3.Error as error:
        raise MailError(f"{path} cannot be created: {error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _rename(temporary: Path, path: Path) -> None:
    """Rename a file; raise FileExistsError if the new name is taken."""
    try:
        path.hardlink_to(temporary)
    except OSError:  # the name is taken, or the file system has no hard links
        rename_exclusive(temporary, path)


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a filter in an empty database."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for command in TABLES.split(";"):
        connection.execute(command)
    for name, value in (("classes", ["ham", "spam"]), ("features", FEATURES)):
        connection.execute("INSERT INTO settings VALUES (?, ?)", (name, json.dumps(value)))
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute("COMMIT")


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """Open a filter; read-only if the file cannot be written, or the disk is full."""
    if not path.exists():
        raise MailError(f"there is no filter at {path}: suffice mail learn creates one")
    if not os.access(path, os.R_OK):
        raise MailError(f"{path} cannot be read: permission denied")
    if path.is_file() and path.stat().st_size == 0:
        raise MailError(f"{path} is empty, so it is not a filter: restore a copy, or remove the file and learn again")
    try:
        connection = _connect(path, timeout)
    except (OSError, sqlite3.Error) as error:
        raise MailError(f"{path} cannot be read as a filter: {error}") from error
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")  # overwrite forgotten data in the file
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        connection.close()
        raise MailError(f"{path} cannot be read as a filter: {error}") from error
    problem = None
    if application != APPLICATION:
        problem = f"{path} is not a filter of suffice: name another file"
    elif version > VERSION:
        problem = f"{path} was written by a later version of suffice (format {version}): update suffice"
    if problem:
        connection.close()
        raise MailError(problem)
    return connection


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    uri = path.absolute().as_uri()
    is_full = False
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        connection = _open_uri(uri, timeout)
        try:
            connection.execute("PRAGMA schema_version")  # reads the file, for which SQLite writes its -shm file
            return connection
        except sqlite3.Error as error:
            connection.close()
            is_full = isinstance(error, sqlite3.OperationalError) and is_disk_full(path.parent)
            if not is_full:
                raise
    # A reader without write permission must not create SQLite's -wal file, which the owner could not write then.
    # Without a -wal file, there is no writer.
    mode = "?mode=ro" if path.with_name(path.name + "-wal").exists() else "?immutable=1"
    if is_full and mode == "?mode=ro":  # SQLite reads the -wal file, and keeps what is in a -shm file in memory
        path.with_name(path.name + "-shm").touch(0o600)
        mode += "&readonly_shm=1"
    connection = _open_uri(uri + mode, timeout)
    connection.execute("PRAGMA query_only = 1")
    return connection


def _open_uri(uri: str, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(uri, timeout=timeout, isolation_level=None, uri=True, check_same_thread=False)


class Database:
    """The SQLite database of a filter.

    Parameters
    ----------
    path
        The file; None for a database in memory.
    create
        Whether a missing file is created.
    """

    def __init__(self, path: str | Path | None, *, create: bool = True) -> None:
        self.path = Path(path) if path is not None else Path(":memory:")
        self._cached_settings: tuple[list[tuple[Any, ...]], Settings] | None = None
        if path is None:
            self._connection = sqlite3.connect(":memory:", isolation_level=None)
            create_tables(self._connection)
        else:
            if create and not self.path.exists():
                create_database(self.path, TIMEOUT)
            self._connection = connect(self.path, TIMEOUT)
        status = None if path is None else self.path.stat()
        #: Device and inode of the open file; the path may name another file later.
        self.file = (status.st_dev, status.st_ino) if status else None
        self.read_only = bool(self._connection.execute("PRAGMA query_only").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def query(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._translate_errors():
            return self._connection.execute(query, values).fetchall()

    def execute(self, command: str, *values: Any) -> int:
        """Run a command, and return the number of rows that it changed."""
        with self._translate_errors():
            return self._connection.execute(command, values).rowcount

    def execute_many(self, command: str, rows: list[tuple[Any, ...]]) -> None:
        """Run a command for each row of values."""
        with self._translate_errors():
            self._connection.executemany(command, rows)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise MailError(self._describe_error(error)) from error

    def _describe_error(self, error: sqlite3.Error) -> str:
        if "locked" in str(error) or "busy" in str(error):
            return f"{self.path} has been locked by another program for more than {TIMEOUT:.0f} s: try again"
        if "full" in str(error):
            return f"{self.path} cannot be written: the disk is full"
        is_io_error = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR
        if "readonly" in str(error) or (is_io_error and is_disk_full(self.path.parent)):
            return self._why_not_written()
        if is_io_error:
            return f"{self.path} cannot be read or written ({error}): check the disk"
        return f"{self.path} is damaged ({error}): run suffice mail doctor"

    def _why_not_written(self) -> str:
        is_full = is_disk_full(self.path.parent)
        cure = "the disk is full" if is_full else "check its permissions, and those of its folder"
        return f"{self.path} cannot be written: {cure}"

    def check_writable(self) -> None:
        """Raise MailError if the file cannot be written, or the disk is full."""
        if self.file is not None and (self.read_only or is_disk_full(self.path.parent)):
            raise MailError(self._why_not_written())

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    @contextmanager
    def write_transaction(self) -> Iterator[None]:
        """Lock the file for writing; all changes are committed, or none."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def read_transaction(self) -> Iterator[None]:
        """Read the file as of one moment."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        if self.in_transaction:
            yield
            return
        self.execute(begin)
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            self._discard_cache()
            with suppress(sqlite3.Error):
                if self.in_transaction:
                    self._connection.execute("ROLLBACK")
            raise

    def _discard_cache(self) -> None:
        """Discard cached values that a failed transaction may have changed."""

    @contextmanager
    def short_timeout(self) -> Iterator[None]:
        """Wait for other writers one second at most."""
        self.execute("PRAGMA busy_timeout = 1000")
        try:
            yield
        finally:
            self.execute(f"PRAGMA busy_timeout = {TIMEOUT * 1000:.0f}")

    def data_version(self) -> int:
        """Return a number that changes when another connection writes."""
        return int(self.query("PRAGMA data_version")[0][0])

    def settings(self) -> Settings:
        """Return the settings stored in the file."""
        rows = self.query("SELECT name, value FROM settings")
        if self._cached_settings is None or self._cached_settings[0] != rows:
            self._cached_settings = rows, self._parse_settings(rows)
        return self._cached_settings[1]

    def _parse_settings(self, rows: list[tuple[Any, ...]]) -> Settings:
        values = {name: self._parse_value(name, value) for name, value in rows}
        try:
            half_life, classes = values.get("half_life"), values["classes"]
            if not isinstance(classes, list) or not all(isinstance(name, str) and name for name in classes):
                raise ValueError(f"classes must be a list of names; got {str(classes)[:60]}")
            return Settings(
                tuple(classes),
                None if half_life is None else float(half_life),
                int(values.get("tokens", Settings.tokens)),
                int(values.get("origin", 0)),
            )
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise self.damage_error(f"settings: {error}") from error

    def damage_error(self, what: str) -> MailError:
        """Return the error for content of the file that is not as it was written."""
        return MailError(f"{self.path} is damaged ({what}): run suffice mail doctor")

    def put_setting(self, name: str, value: Any) -> None:
        """Change a setting."""
        self.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", name, json.dumps(value))

    def get_setting(self, name: str, default: Any = None) -> Any:
        """Return a setting."""
        found = self.query("SELECT value FROM settings WHERE name = ?", name)
        return self._parse_value(name, found[0][0]) if found else default

    def get_integer(self, name: str, default: int = 0) -> int:
        """Return a setting that is a non-negative integer."""
        found = self.get_setting(name)
        if found is None:
            return default
        if not isinstance(found, int) or not 0 <= found < 2**53:
            raise self.damage_error(f"settings: {name} is {str(found)[:60]}, but must be a non-negative integer")
        return found

    def _parse_value(self, name: Any, text: Any) -> Any:
        if not isinstance(text, str):  # a damaged page may hold NULL or bytes although the schema says text
            raise self.damage_error(f"settings: {str(name)[:60]} is {'NULL' if text is None else 'not text'}")
        try:
            return json.loads(text)
        except (RecursionError, ValueError) as error:
            raise self.damage_error(f"settings: {str(name)[:60]}: {error}") from error
