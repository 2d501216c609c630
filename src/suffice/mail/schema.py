"""The tables of a filter's file."""

from __future__ import annotations

#: "sfce" in ASCII: what SQLite keeps in a file's head, so that a filter's file is known for one.
APPLICATION = 0x73666365
VERSION = 1
#: How messages are read into tokens: 2 since dates of header fields are none. A file without the setting has 1.
FEATURES = 2

#: base: the memory, a column each, as of some moment. names: the tokens' names, compressed, as they came. journal: what
#: was learned since. learned: every message that was learned, and as what; recent: the tokens of the latest of them.
#: judged: what was marked as spam on its way to a mailbox. filed, settled: where the messages of a mailbox are, and
#: which file of a folder is which message.
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
