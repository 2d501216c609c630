"""Hostile files of filters: an error message, never a traceback, a hang or a gigabyte of memory."""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from suffice.mail import MailError, MailFilter
from suffice.mail.dump import dump_filter
from suffice.mail.health import diagnose
from tests.mail.samples import filter_file, message, stream


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    return filter_file(tmp_path_factory.mktemp("whole"), 60, 6)


def setting(name: str, value: object) -> Callable[[sqlite3.Connection], object]:
    text = value if isinstance(value, bytes) else json.dumps(value)
    return lambda connection: connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, text))


def column(name: str, kind: str, value: float) -> Callable[[sqlite3.Connection], object]:
    """Write a value into a column of the base, with a valid checksum."""

    def put(connection: sqlite3.Connection) -> None:
        (data,) = connection.execute("SELECT data FROM base WHERE part = ?", (name,)).fetchone()
        values = np.frombuffer(data, kind).copy()
        values[-1] = value
        made = values.tobytes()
        connection.execute("UPDATE base SET data = ?, crc = ? WHERE part = ?", (made, zlib.crc32(made), name))

    return put


def doing(command: str, *values: object) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.execute(command, values)


@cache
def bomb() -> bytes:
    """Return kilobytes that decompress to 64 megabytes, more than any limit."""
    return zlib.compress(b"x" * (1 << 26))


def exploding(command: str) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.execute(command, (bomb(),))


def nulled(name: str) -> Callable[[sqlite3.Connection], object]:
    """Write NULL where the schema forbids it, like a damaged page."""

    def put(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE loose (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
        connection.execute("INSERT INTO loose VALUES (?, NULL)", (name,))
        connection.execute("INSERT INTO loose SELECT name, value FROM settings WHERE name <> ?", (name,))
        connection.execute("DROP TABLE settings")
        connection.execute("ALTER TABLE loose RENAME TO settings")

    return put


DAMAGE = {
    "a bomb in the journal": exploding("UPDATE journal SET features = ?"),
    "a journal that is cut short": doing("UPDATE journal SET features = substr(features, 1, 20)"),
    "text in the journal": doing("UPDATE journal SET features = 'x'"),
    "a billion steps": doing("UPDATE journal SET steps = 1000000000"),
    "steps below none": doing("UPDATE journal SET steps = -1"),
    "steps that are no number": doing("UPDATE journal SET steps = 'many'"),
    "infinite weight": doing("UPDATE journal SET weight = 9e999"),
    "huge weight": doing("UPDATE journal SET weight = 1e30"),
    "weight below none": doing("UPDATE journal SET weight = -1"),
    "a class that is not": doing("UPDATE journal SET label = 7"),
    "a class below none": doing("UPDATE journal SET label = -1"),
    "a class that was not": doing("UPDATE journal SET was = 9"),
    "hashes that are cut short": doing("UPDATE journal SET was = 0, hashes = x'00'"),
    "nan in weights": column("weights", "<f4", math.nan),
    "huge weights": column("weights", "<f4", 1e30),
    "huge weights of grams": column("gram_weights", "<f4", -1e30),
    "infinite counts": column("counts", "<f4", math.inf),
    "counts below none": column("counts", "<f4", -1),
    "infinite messages": column("messages", "<f8", math.inf),
    "huge mix": column("mix", "<f8", 1e200),
    "text in the base": doing("UPDATE base SET data = 'x'"),
    "no base's part": doing("DELETE FROM base WHERE part = 'mix'"),
    "no classes": setting("classes", []),
    "classes that are text": setting("classes", "hamspam"),
    "classes of numbers": setting("classes", [1, 2]),
    "classes in another order": setting("classes", ["spam", "ham"]),
    "settings that are no JSON": setting("classes", b"\xff\xfe"),
    "settings that are deep": doing("UPDATE settings SET value = ? WHERE name = 'classes'", "[" * 100_000),
    "settings that are NULL": nulled("classes"),
    "a half-life of none": setting("half_life", 0),
    "a half-life below none": setting("half_life", -3),
    "a half-life that is no number": setting("half_life", "soon"),
    "an infinite half-life": setting("half_life", math.inf),
    "tokens below none": setting("tokens", -5),
    "an endless number of tokens": setting("tokens", math.inf),
    "a version that is text": setting("version", "new"),
    "an origin far away": setting("origin", 10**12),
    "no table": doing("DROP TABLE journal"),
}


def changed(path: Path, whole: bytes, change: Callable[[sqlite3.Connection], object]) -> MailFilter:
    path.write_bytes(whole)
    connection = sqlite3.connect(path)
    with connection:
        change(connection)
    connection.close()
    return MailFilter(path)


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_filter_is_refused_with_a_message(tmp_path, whole, kind):
    with changed(tmp_path / "mail.db", whole, DAMAGE[kind]) as mail:
        with pytest.raises(MailError, match="damaged"):
            mail.classify(message("x"))
        with pytest.raises(MailError, match="damaged"):
            mail.learn_all([(message("x"), "ham")])
        assert "wrong" in [each.level for each in diagnose(mail)]


LESS = {
    "cuts that are one": (setting("cuts", [0.5]), lambda mail: mail.classify(message("x"))),
    "cuts that are text": (setting("cuts", "ab"), lambda mail: mail.classify(message("x"))),
    "cuts beyond 1": (setting("cuts", [0.5, 7]), lambda mail: mail.classify(message("x"))),
    "a bomb in the names": (exploding("INSERT INTO names (data) VALUES (?)"), lambda mail: list(dump_filter(mail))),
    "text in the names": (doing("UPDATE names SET data = 'x'"), lambda mail: list(dump_filter(mail))),
    "a class that is not": (
        doing("UPDATE learned SET label = -1"),
        lambda mail: mail.learned_as(stream(60)[0][0]),
    ),
    "a clock that is text": (
        lambda connection: (setting("half_life", 30)(connection), setting("clock", ["a", 1])(connection)),
        lambda mail: mail.classify(message("x")),
    ),
    "cuts that are NULL": (nulled("cuts"), lambda mail: mail.classify(message("x"))),
    "a last day that is NULL": (nulled("last"), lambda mail: mail.store().get_integer("last")),
    "a last day that is text": (setting("last", "monday"), lambda mail: mail.store().get_integer("last")),
}


@pytest.mark.parametrize("kind", LESS)
def test_damage_that_verdicts_do_not_read_is_refused_on_use(tmp_path, whole, kind):
    change, work = LESS[kind]
    with changed(tmp_path / "mail.db", whole, change) as mail:
        with pytest.raises(MailError, match="damaged"):
            work(mail)
        diagnose(mail)


def test_the_largest_valid_numbers_give_a_verdict(tmp_path, whole):
    def heavy(connection: sqlite3.Connection) -> None:
        for name, kind, value in (("weights", "<f4", 1e6), ("gram_weights", "<f4", -1e6), ("mix", "<f8", 1e6)):
            (data,) = connection.execute("SELECT data FROM base WHERE part = ?", (name,)).fetchone()
            made = np.full(len(data) // np.dtype(kind).itemsize, value, kind).tobytes()
            connection.execute("UPDATE base SET data = ?, crc = ? WHERE part = ?", (made, zlib.crc32(made), name))

    with changed(tmp_path / "mail.db", whole, heavy) as mail:
        assert math.isfinite(mail.classify(message("x")).log_odds)


def test_a_setting_without_a_value_is_named(tmp_path, whole):
    with (
        changed(tmp_path / "mail.db", whole, nulled("classes")) as mail,
        pytest.raises(MailError, match="settings: classes is NULL"),
    ):
        mail.classify(message("x"))
