"""suffice export: a model as a file for programs without suffice."""

from __future__ import annotations

import click

from suffice.cli.files import load_model
from suffice.cli.options import Named, model_argument, output_option


@click.command()
@model_argument
@click.option(
    "--to",
    type=Named(["onnx", "python", "json"]),
    required=True,
    help="onnx: a graph for ONNX runtimes; python: a file that needs NumPy alone; json: the parameters.",
)
@output_option("File to write.", required=True)
def export(model: str, to: str, output: str) -> None:
    """Write MODEL as ONNX, as a Python file that needs NumPy alone, or as JSON.

    Each predicts the same numbers as suffice predict. The Python file reads rows of CSV: python model.py rows.csv.
    Models that read text columns, and local models, are refused.
    """
    from suffice.cli.output import say

    load_model(model).export(output, to)
    say(f"written to {output}")
