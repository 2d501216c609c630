"""suffice evaluate: how good a model is on a table whose target is known."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.options import (
    json_option,
    loaded,
    model_argument,
    opened,
    quiet_option,
    table_argument,
    table_options,
)


@click.command()
@model_argument
@table_argument
@table_options
@json_option
@quiet_option
def evaluate(model: str, table: str, as_json: bool, quiet: bool, **how: Any) -> None:
    """Measure how well MODEL predicts TABLE, whose target is known."""
    from suffice.cli.output import show_json, watching

    fitted = loaded(model)
    source = opened(table, **how)
    with watching(quiet) as watch:
        seen = fitted.evaluate(source, watch)
    if as_json:
        found: dict[str, Any] = {"rows": seen.rows, "measures": seen.summary()}
        if seen.task == "classes":
            found |= {
                "classes": list(seen.labels),
                "confusion": seen.confusion,
                "per_class": seen.per_class(),
                "unknown_classes": seen.unknown,
                "calibration": {
                    "rows": seen.calibration[0],
                    "confidence": seen.calibration[1],
                    "right": seen.calibration[2],
                },
            }
        show_json(found)
        return
    show_evaluation(seen)


def show_evaluation(seen: Any) -> None:
    """Write measures, the measures of each class, and the confusion table."""
    from suffice.cli.output import counted, print_line, say, show_table, shown

    print_line(counted(seen.rows, "row"), "bold")
    show_table(["measure", "value"], [[name, shown(value)] for name, value in seen.summary().items()])
    if seen.task != "classes":
        return
    if seen.unknown:
        say(
            f"{counted(sum(seen.unknown.values()), 'row')} of classes that the model does not know "
            f"({', '.join(seen.unknown)}) count as errors; their probability of 0 counts as 1e-15 in the log loss",
            "warning",
        )
    print_line()
    show_table(
        ["class", "precision", "recall", "F1", "rows"],
        [
            [str(row["class"]), *(_rounded(row[name]) for name in ("precision", "recall", "F1")), f"{row['rows']:,}"]
            for row in seen.per_class()
        ],
    )
    if len(seen.labels) <= 12:
        print_line()
        show_table(
            ["true \\ predicted", *map(str, seen.labels)],
            [
                [str(label), *(f"{count:,}" for count in counts)]
                for label, counts in zip(seen.labels, seen.confusion.tolist(), strict=True)
            ],
        )


def _rounded(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"
