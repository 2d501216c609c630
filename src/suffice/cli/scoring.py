"""suffice sql: a model as a SELECT."""

from __future__ import annotations

import sys

import click

from suffice.cli.options import Named, loaded, model_argument
from suffice.printable import printable_lines


@click.command()
@model_argument
@click.option(
    "--dialect",
    type=Named(["duckdb", "postgresql"]),
    default="duckdb",
    show_default=True,
    help="The database that is to run it.",
)
@click.option(
    "--table",
    default="data",
    show_default=True,
    metavar="NAME",
    help="The table whose rows are scored; SCHEMA.TABLE is one of a schema.",
)
@click.option("--keep", multiple=True, metavar="COLUMN", help="A column to pass on, such as a key; may be repeated.")
def sql(model: str, dialect: str, table: str, keep: tuple[str, ...]) -> None:
    """Write MODEL as a SELECT, which scores the rows of a table inside DuckDB or PostgreSQL.

    It gives the prediction and, of classes, a column for the probability of each: what predict gives for the same rows,
    whichever types the table's columns have. A cell that predict refuses fails the query.
    """
    statement = loaded(model).to_sql(dialect, table=table, keep=keep) + ";\n"
    if sys.stdout.isatty():
        sys.stdout.write(printable_lines(statement))
    else:  # byte for byte: what a name or a string holds is part of the statement
        sys.stdout.buffer.write(statement.encode())
