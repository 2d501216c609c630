"""A filter's file is opened, or made: readable by its owner alone, since it knows words of somebody's mail."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

from suffice.mail.errors import MailError
from suffice.mail.schema import APPLICATION, TABLES, VERSION


def create(path: Path, patience: float) -> None:
    """Make an empty file. Where another process made it meanwhile, that one stays."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise MailError(f"{path} cannot be made: {error.strerror}") from error
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
    try:
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA application_id").fetchone()[0] == 0:
            for command in TABLES.split(";"):
                connection.execute(command)
            connection.execute("INSERT INTO settings VALUES ('classes', ?)", (json.dumps(["ham", "spam"]),))
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        raise MailError(f"{path} cannot be made: {error}") from error
    finally:
        connection.close()


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """Open a file, for reading only where it cannot be written."""
    if not path.exists():
        raise MailError(f"there is no filter at {path}: suffice mail learn makes one")
    uri = path.absolute().as_uri()
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        # Without a place for SQLite's own notes beside it, a file can only be read as one that nobody writes.
        uri += "?immutable=1" if not os.access(path.parent, os.W_OK) else "?mode=ro"
    connection = sqlite3.connect(uri, timeout=patience, isolation_level=None, uri=True, check_same_thread=False)
    try:
        if "?" in uri:
            connection.execute("PRAGMA query_only = 1")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA mmap_size = 268435456")
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        connection.close()
        raise MailError(f"{path} cannot be read as a filter: {error}") from error
    if application != APPLICATION:
        connection.close()
        raise MailError(f"{path} is not a filter of suffice's: name another file")
    if version > VERSION:
        connection.close()
        raise MailError(f"{path} was written by a later suffice (format {version}): update suffice")
    return connection
