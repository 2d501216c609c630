"""suffice report: a model and a table in, one page out."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.options import (
    loaded,
    model_argument,
    opened,
    output_option,
    quiet_option,
    table_argument,
    table_options,
)


@click.command()
@model_argument
@table_argument
@output_option("Where to write.", default="report.html", show_default=True)
@click.option("--feature", "features", multiple=True, metavar="COLUMN", help="Two columns to draw the boundary over.")
@table_options
@quiet_option
def report(model: str, table: str, output: str, features: tuple[str, ...], quiet: bool, **how: Any) -> None:
    """Write a page about MODEL and TABLE, whose target is known: one file, no network."""
    from suffice.cli.output import say, watching
    from suffice.report import report as write

    if features and len(features) != 2:
        raise click.UsageError(f"--feature goes with two columns; got {len(features)}")
    fitted = loaded(model)
    source = opened(table, **how)
    with watching(quiet) as watch:
        write(fitted, source, output, features=(features[0], features[1]) if features else None, watch=watch)
    say(f"written to {output}")
