"""suffice compare: learning curves of generative and discriminative models on one's own table."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.options import (
    Named,
    json_option,
    kinds_of,
    opened,
    output_option,
    quiet_option,
    schema_options,
    table_argument,
    table_options,
)
from suffice.model_types import MODEL_TYPES


@click.command()
@table_argument
@schema_options
@click.option("-m", "--model", "models", multiple=True, type=Named(MODEL_TYPES), help="A model; may be repeated.")
@click.option(
    "--measure",
    help="'log loss' (by which fit chooses) or error of classes; 'squared error' of numbers; deviance of counts.",
)
@click.option("--sizes", type=click.IntRange(2), default=8, show_default=True, help="How many sizes to try.")
@click.option("--repeats", type=click.IntRange(1), default=10, show_default=True, help="Draws of each size.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is drawn.")
@output_option("Where to draw the picture (.svg, .png, .pdf).")
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
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Draw learning curves on TABLE: which model to take at which size, and where the curves cross.

    A generative model learns fast and may stop early; a discriminative one learns slowly and may end lower.
    """
    from suffice.cli.output import say, show_json, watching
    from suffice.plots import LearningCurveDisplay
    from suffice.tables import compare as compared

    if output is not None:
        _check_picture(output)
    kinds = kinds_of(kind, ignore)
    source = opened(table, kinds, **how)
    with watching(quiet) as watch:
        found = compared(
            source,
            target,
            models,
            columns=kinds,
            task=task,
            measure=measure,
            sizes=sizes,
            repeats=repeats,
            seed=seed,
            watch=watch,
        )
    display = LearningCurveDisplay(found.sizes, found.curves, found.spreads, measure=found.measure)
    if as_json:
        crossings = [each._asdict() for each in display.crossings]
        show_json({**vars(found), "crossings": crossings, "best": found.best})
    else:
        _show(found, display.crossings)
    if output is not None:
        save_picture(display, output)
    if quiet:
        return
    if output is not None:
        say(f"drawn in {output}")
    elif not as_json:
        say("give -o curves.svg for the picture")


def _check_picture(path: str) -> None:
    from suffice.tables.errors import UsageError

    if not path.lower().endswith((".svg", ".png", ".pdf")):
        raise UsageError(f"{path} has no ending that says how to draw it: use .svg, .png or .pdf")


def save_picture(display: Any, path: str) -> None:
    """Draw a display into a file, which appears when it is whole."""
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
            ]
        )
    kinds = {name: "generative" if found.generative[name] else "discriminative" for name in names}
    print_line(f"{found.measure} on rows held out, by rows learnt ({found.rows:,} in the table)", "bold")
    show_table(["rows", *names], rows)
    for kind in ("generative", "discriminative"):
        print_line(f"  {kind}: {', '.join(name for name in names if kinds[name] == kind) or 'none'}", "dim")
    print_line()
    pairs = [each for each in crossings if found.generative[each.one] != found.generative[each.other]]
    for each in pairs:
        print_line(f"{each.one} and {each.other} cross at about {each.size:,.0f} rows")
    if not pairs:
        print_line("no generative model's curve crosses a discriminative one's in this range")
    print_line(f"at this size, take {found.best} ({kinds[found.best]})", "bold")
