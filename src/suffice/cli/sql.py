"""suffice sql: a model as a SELECT statement."""

from __future__ import annotations

import sys

import click

from suffice.cli.files import load_model
from suffice.cli.options import Named, model_argument
from suffice.printable import printable_lines


@click.command()
@model_argument
@click.option(
    "--dialect",
    type=Named(["duckdb", "postgresql"]),
    default="duckdb",
    show_default=True,
    help="Dialect of SQL.",
)
@click.option(
    "--table",
    default="data",
    show_default=True,
    metavar="NAME",
    help="Table to score; SCHEMA.TABLE for a table of a schema.",
)
@click.option("--keep", multiple=True, metavar="COLUMN", help="Column to keep, such as a key; may be repeated.")
def sql(model: str, dialect: str, table: str, keep: tuple[str, ...]) -> None:
    """Write MODEL as a SELECT for DuckDB or PostgreSQL.

    The SELECT scores the rows of a table inside the database. Its columns are the prediction and, for classes, the
    probability of each class: the same numbers as those of suffice predict, for any column types. The query fails
    on a cell that suffice predict refuses.
    """
    statement = load_model(model).to_sql(dialect, table=table, keep=keep) + ";\n"
    if sys.stdout.isatty():
        sys.stdout.write(printable_lines(statement))
    else:  # unchanged bytes: names and strings are part of the statement
        sys.stdout.buffer.write(statement.encode())
