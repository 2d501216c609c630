"""suffice compare: learning curves of several models on a table."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.files import open_table
from suffice.cli.options import (
    Named,
    column_kinds,
    json_option,
    output_option,
    quiet_option,
    role_options,
    schema_options,
    seed_option,
    table_argument,
    table_options,
)
from suffice.model_types import MODEL_TYPES


@click.command()
@table_argument
@schema_options
@role_options
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    type=Named(MODEL_TYPES),
    show_default="a few that suit the table",
    help="Model to fit; may be repeated.",
)
@click.option(
    "--measure",
    show_default="the loss that suffice fit minimises",
    help="Measure: 'log loss' or error for classes; 'squared error' for numbers; deviance for counts.",
)
@click.option("--sizes", type=click.IntRange(2), default=8, show_default=True, help="Number of training set sizes.")
@click.option("--repeats", type=click.IntRange(1), default=10, show_default=True, help="Random draws of each size.")
@seed_option()
@output_option("Figure to write (.svg, .png, .pdf).")
@table_options
@json_option
@quiet_option
def compare(
    table: str,
    target: str,
    models: tuple[str, ...],
    measure: str | None,
    sizes: int,
    repeats: int,
    seed: int,
    output: str | None,
    kind: tuple[str, ...],
    ignore: tuple[str, ...],
    task: str | None,
    group: str | None,
    time: str | None,
    weight: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Print learning curves of models on TABLE.

    Each model is fitted to more and more rows, and its loss on held-out rows is printed. Generative models need fewer
    rows; discriminative models often have the lower loss on many rows. Crossings of their curves are listed.
    """
    from suffice.cli.output import progress_bar, say, show_json
    from suffice.plots import LearningCurveDisplay
    from suffice.tables import compare as compare_models

    if output is not None:
        _check_suffix(output)
    kinds = column_kinds(kind, ignore)
    source = open_table(table, kinds, tell=False, **options)
    with progress_bar(quiet) as watch:
        found = compare_models(
            source,
            target,
            models,
            columns=kinds,
            task=task,
            measure=measure,
            sizes=sizes,
            repeats=repeats,
            seed=seed,
            group=group,
            time=time,
            weight=weight,
            watch=watch,
        )
    display = LearningCurveDisplay(found.sizes, found.curves, found.spreads, measure=found.measure)
    for each in found.warnings:
        say(each.message, "warning")
    for note in found.notes:
        say(note, "warning")
    if as_json:
        crossings = [each._asdict() for each in display.crossings]
        warnings = [vars(each) for each in found.warnings]
        show_json({**vars(found), "warnings": warnings, "crossings": crossings, "best": found.best})
    else:
        _show(found, display.crossings)
    if output is not None:
        _save_figure(display, output)
    if quiet:
        return
    if output is not None:
        say(f"figure written to {output}")
    elif not as_json:
        say("use -o curves.svg for a figure")


def _check_suffix(path: str) -> None:
    from suffice.tables.errors import UsageError

    if not path.lower().endswith((".svg", ".png", ".pdf")):
        raise UsageError(f"{path} has no suffix of a figure: use .svg, .png or .pdf")


def _save_figure(display: Any, path: str) -> None:
    """Write a figure; the file appears when it is complete."""
    from suffice.tables.table_writer import replace_file

    with replace_file(path) as temporary:
        display.plot().figure_.savefig(temporary, format=path.rsplit(".", 1)[1].lower(), dpi=160, bbox_inches="tight")


def _show(found: Any, crossings: Any) -> None:
    import math

    from suffice.cli.output import print_line, show_table

    names = list(found.curves)
    rows = []
    for place, size in enumerate(found.sizes.tolist()):
        cells = [found.curves[name][place] for name in names]
        least = min((cell for cell in cells if math.isfinite(cell)), default=math.nan)
        rows.append(
            [
                f"{size:,}",
                *(("–  " if not math.isfinite(c) else f"{c:.4g}{' ◂' if c == least else '  '}") for c in cells),
                f"{found.baseline[place]:.4g}",
            ]
        )
    kinds = {name: "generative" if found.generative[name] else "discriminative" for name in names}
    print_line(
        f"{found.measure} on held-out rows, by number of training rows ({found.rows:,} rows in the table)", "bold"
    )
    show_table(["rows", *names, "baseline"], rows)
    for kind in ("generative", "discriminative"):
        print_line(f"  {kind}: {', '.join(name for name in names if kinds[name] == kind) or 'none'}", "dim")
    print_line()
    pairs = [each for each in crossings if found.generative[each.one] != found.generative[each.other]]
    for each in pairs:
        print_line(f"{each.one} and {each.other} cross at about {each.size:,.0f} rows")
    if not pairs:
        print_line("no curve of a generative model crosses one of a discriminative model")
    error = found.spreads[found.best][-1]
    if found.curves[found.best][-1] + (error if math.isfinite(error) else 0.0) >= found.baseline[-1]:
        print_line("no better than guessing: the lowest loss is within one standard error of the baseline", "bold")
    print_line(f"lowest loss on all rows: {found.best} ({kinds[found.best]})", "bold")
