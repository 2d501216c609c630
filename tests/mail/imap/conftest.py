"""Servers that tests share, each test with a user of its own, and a trained filter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from suffice.mail import MailFilter
from tests.mail.imap.dovecot import Dovecot, User
from tests.mail.samples import stream
from tests.requirements import require


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[tuple[str, ...] | None], Dovecot]]:
    """Return a function that returns the server with some extensions."""
    require("imap")
    started: list[Dovecot] = []

    @cache
    def start(extensions: tuple[str, ...] | None) -> Dovecot:
        started.append(Dovecot(extensions))
        return started[-1]

    yield start
    for server in started:
        server.remove()


@pytest.fixture
def new_user(servers: Callable[[Sequence[str] | None], Dovecot]) -> Callable[..., User]:
    """Return a function that returns a new user of a server with some extensions, by default all of Dovecot's."""

    def make(*extensions: str) -> User:
        return servers(extensions or None).new_user()

    return make


@pytest.fixture
def ann(new_user: Callable[..., User]) -> User:
    """A user of a server with all extensions of Dovecot."""
    return new_user()


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a filter that has learned spam, ham and work."""
    path = tmp_path_factory.mktemp("trained") / "mail.db"
    with MailFilter(path) as mail:
        mail.learn_all(stream(300, classes=("ham", "spam", "work")))
        mail.store().query("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@pytest.fixture
def mine(tmp_path: Path, trained: bytes) -> Path:
    """A trained filter."""
    path = tmp_path / "mail.db"
    path.write_bytes(trained)
    return path
