"""suffice export: a model as a file for programs without suffice."""

from __future__ import annotations

import click

from suffice.cli.files import load_model
from suffice.cli.options import Named, json_option, model_argument, output_option


@click.command()
@model_argument
@click.option(
    "--to",
    type=Named(["onnx", "python", "json"]),
    required=True,
    help="onnx: a graph for ONNX runtimes; python: a file that needs NumPy alone; json: the parameters.",
)
@output_option("File to write.", required=True)
@json_option
def export(model: str, to: str, output: str, as_json: bool) -> None:
    """Write MODEL as ONNX, as a Python file that needs NumPy alone, or as JSON.

    Each predicts the same numbers as suffice predict. The Python file reads rows of CSV: python model.py rows.csv.
    Models that read text columns, and local models, are refused.
    """
    from suffice.cli.output import say, show_json

    fitted = load_model(model)
    fitted.export(output, to)
    if as_json:
        columns = [field.name for field in fitted.schema_.predictors]
        show_json({"model": model, "to": to, "written": output, "columns": columns, "target": fitted.schema_.target})
    else:
        say(f"written to {output}")
