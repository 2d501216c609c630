"""suffice report: a model and a table as one HTML page."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.files import load_model, open_table
from suffice.cli.options import model_argument, output_option, quiet_option, table_argument, table_options


@click.command()
@model_argument
@table_argument
@output_option("HTML file to write.", default="report.html", show_default=True)
@click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="COLUMN",
    show_default="the two most important numbers",
    help="Column of the decision boundary; give it twice.",
)
@table_options
@quiet_option
def report(model: str, table: str, output: str, features: tuple[str, ...], quiet: bool, **options: Any) -> None:
    """Write an HTML report about MODEL on TABLE.

    The report is one file that needs no network. TABLE must hold the target.
    """
    from suffice.cli.output import progress_bar, say
    from suffice.report import report as write_report

    if features and len(features) != 2:
        raise click.UsageError(f"--feature must be given twice, once for each column; got {len(features)}")
    fitted = load_model(model, estimator=True)
    source = open_table(table, **options)
    with progress_bar(quiet) as watch:
        write_report(fitted, source, output, features=(features[0], features[1]) if features else None, watch=watch)
    say(f"written to {output}")
