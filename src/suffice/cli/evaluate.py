"""suffice evaluate: measures of a model on a table."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.files import is_formula, load_model, open_table
from suffice.cli.options import json_option, model_argument, quiet_option, table_argument, table_options


@click.command()
@model_argument
@table_argument
@table_options
@json_option
@quiet_option
def evaluate(model: str, table: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Measure the predictions of MODEL on TABLE.

    Prints accuracy, log loss, Brier score, calibration error and ROC AUC, precision and recall of each class, and the
    confusion matrix; for numbers, RMSE, MAE and R². TABLE must hold the target.
    """
    from suffice.cli.output import progress_bar, say, show_json
    from suffice.tables.findings import find_evaluation_warnings

    fitted = load_model(model, formulas=True)
    source = open_table(table, **options)
    with progress_bar(quiet) as watch:
        evaluation = fitted.evaluate(source) if is_formula(fitted) else fitted.evaluate(source, watch)
    warnings = [] if is_formula(fitted) else find_evaluation_warnings(fitted, evaluation)
    if as_json:
        found: dict[str, Any] = {"rows": evaluation.rows, "measures": evaluation.summary()}
        found["warnings"] = [vars(each) for each in warnings]
        if evaluation.task == "classes":
            found |= {
                "intervals": {"accuracy": evaluation.accuracy_interval()},
                "classes": list(evaluation.labels),
                "positive": evaluation.labels.names[evaluation.positive] if len(evaluation.labels) == 2 else None,
                "confusion": evaluation.confusion,
                "per_class": evaluation.per_class(),
                "unknown_classes": evaluation.unknown,
                "calibration": {
                    "rows": evaluation.calibration[0],
                    "confidence": evaluation.calibration[1],
                    "right": evaluation.calibration[2],
                },
            }
        show_json(found)
    else:
        show_evaluation(evaluation)
    for each in warnings:
        say(each.message, "warning")


def show_evaluation(evaluation: Any) -> None:
    """Print the measures, the measures of each class, and the confusion matrix."""
    from suffice.cli.output import counted, print_line, say, show_table, shown

    print_line(counted(evaluation.rows, "row"), "bold")
    named = {"PR AUC": f"PR AUC of {evaluation.labels.names[evaluation.positive]}"} if evaluation.labels else {}
    measures = [[named.get(name, name), shown(value)] for name, value in evaluation.summary().items()]
    show_table(["measure", "value"], measures)
    if evaluation.task != "classes":
        return
    low, high = evaluation.accuracy_interval()
    print_line(f"95 % interval of the accuracy: {low:.4f} to {high:.4f}")
    if evaluation.unknown:
        say(
            f"{counted(sum(evaluation.unknown.values()), 'row')} of classes that the model does not know "
            f"({', '.join(evaluation.unknown)}) count as errors, with the probability 1e-15 in the log loss",
            "warning",
        )
    print_line()
    show_table(
        ["class", "precision", "recall", "F1", "rows"],
        [
            [str(row["class"]), *(_rounded(row[name]) for name in ("precision", "recall", "F1")), _amount(row["rows"])]
            for row in evaluation.per_class()
        ],
    )
    if len(evaluation.labels) <= 12:
        print_line()
        show_table(
            ["true \\ predicted", *map(str, evaluation.labels)],
            [
                [str(label), *map(_amount, counts)]
                for label, counts in zip(evaluation.labels, evaluation.confusion.tolist(), strict=True)
            ],
        )


def _amount(rows: float) -> str:
    """Return a number of rows, or a sum of their weights."""
    return f"{rows:,}" if isinstance(rows, int) else f"{rows:,.4g}"


def _rounded(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"
