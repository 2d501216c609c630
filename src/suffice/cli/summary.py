"""suffice summary: the coefficients of a regression, with standard errors and tests."""

from __future__ import annotations

import click

from suffice.cli.files import check_file
from suffice.cli.options import json_option, model_argument


@click.command()
@model_argument
@click.option("--level", type=click.FloatRange(0, 1, True, True), default=0.95, show_default=True, help="Of intervals.")
@json_option
def summary(model: str, level: float, as_json: bool) -> None:
    """Print the coefficients of MODEL, with standard errors, tests and intervals.

    MODEL is a regression: of a formula (suffice fit --formula), or of a table (linear, logistic, softmax, poisson).
    Coefficients are in the units and levels of the table. Of an additive model: its terms, by importance.
    """
    from suffice.cli.output import print_line, show_json

    check_file(model)
    import suffice
    from suffice.tables import TableError

    fitted = suffice.load(model)
    if not callable(getattr(fitted, "summary", None)):
        raise TableError(f"{model} is a {type(fitted).__name__}, which has no table of coefficients: use suffice info")
    found = fitted.summary(level)
    if as_json:
        show_json(found.to_dict())
        return
    print_line(str(found))
