"""A filter's file is opened, or made: readable by its owner alone, since it knows words of somebody's mail."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from contextlib import suppress
from pathlib import Path

from suffice.mail.errors import MailError
from suffice.mail.renaming import rename
from suffice.mail.schema import APPLICATION, FEATURES, TABLES, VERSION


def create(path: Path, patience: float) -> None:
    """Make an empty filter, which appears whole. Where another process made one meanwhile, that one stays."""
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(temporary, timeout=patience, isolation_level=None)
        try:
            fill(connection)
        finally:
            connection.close()
        with suppress(FileExistsError):
            _put_in_place(temporary, path)
    except OSError as error:
        raise MailError(f"{path} cannot be made: {error.strerror}") from error
    except sqlite3.Error as error:
        raise MailError(f"{path} cannot be made: {error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _put_in_place(temporary: Path, path: Path) -> None:
    """Give a file its name, and raise FileExistsError where there is one of this name."""
    try:
        path.hardlink_to(temporary)
    except OSError:  # the name is taken, or the file system has no links
        rename(temporary, path)


def fill(connection: sqlite3.Connection) -> None:
    """Make the tables of a filter in an empty database."""
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


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """Open a filter, for reading only where it cannot be written."""
    if not path.exists():
        raise MailError(f"there is no filter at {path}: suffice mail learn makes one")
    if not os.access(path, os.R_OK):
        raise MailError(f"{path} cannot be read: permission denied")
    if path.is_file() and path.stat().st_size == 0:
        raise MailError(f"{path} is empty, which no filter is: restore a copy, or remove the file and learn again")
    try:
        connection = _connected(path, patience)
    except sqlite3.Error as error:
        raise MailError(f"{path} cannot be read as a filter: {error}") from error
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is not in the file any more
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        connection.close()
        raise MailError(f"{path} cannot be read as a filter: {error}") from error
    complaint = None
    if application != APPLICATION:
        complaint = f"{path} is not a filter of suffice's: name another file"
    elif version > VERSION:
        complaint = f"{path} was written by a later suffice (format {version}): update suffice"
    if complaint:
        connection.close()
        raise MailError(complaint)
    return connection


def _connected(path: Path, patience: float) -> sqlite3.Connection:
    uri = path.absolute().as_uri()
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return _open(uri, patience)
    # Who may only read must not make SQLite's own notes beside a file, which its owner could not write then. Where
    # there are none, nobody writes.
    noted = path.with_name(path.name + "-wal").exists()
    connection = _open(uri + ("?mode=ro" if noted else "?immutable=1"), patience)
    connection.execute("PRAGMA query_only = 1")
    return connection


def _open(uri: str, patience: float) -> sqlite3.Connection:
    return sqlite3.connect(uri, timeout=patience, isolation_level=None, uri=True, check_same_thread=False)
