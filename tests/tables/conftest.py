"""Fixtures of tables: a PostgreSQL server, started once, with a database for each module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tables.servers import postgres


@pytest.fixture(scope="session")
def _started() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, _started: str) -> str:
    """Return the address of an empty database."""
    from adbc_driver_postgresql import dbapi

    name = request.module.__name__.rpartition(".")[2]
    with dbapi.connect(_started, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"create database {name}")
    return _started.replace("/postgres?", f"/{name}?")
