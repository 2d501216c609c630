"""suffice merge: several models as one."""

from __future__ import annotations

import click

from suffice.cli.files import load_model, save_model
from suffice.cli.options import model_output_option, quiet_option


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL MODEL...")
@model_output_option("File or URL to save the model to.", required=True)
@quiet_option
def merge(models: tuple[str, ...], output: str, quiet: bool) -> None:
    """Merge models of different rows into the model of all rows."""
    from suffice.cli.output import counted, say

    if len(models) < 2:
        raise click.UsageError("name two or more models to merge")
    whole = load_model(models[0], estimator=True)
    for path in models[1:]:
        whole = whole + load_model(path, estimator=True)
    save_model(whole, output)
    say(f"{len(models)} models of {counted(whole.rows_, 'row')} in total, saved to {output}")
