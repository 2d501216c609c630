"""suffice fit: a table in, a model out."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.options import (
    Named,
    file_size,
    json_option,
    kinds_of,
    model_output_option,
    opened,
    quiet_option,
    save,
    schema_options,
    table_argument,
    table_options,
)
from suffice.model_types import MODEL_TYPES

#: With fewer rows than these, held-out rows say little.
_FEW = 20


def _most_rows(context: click.Context, parameter: click.Parameter, value: str) -> int | str | None:
    if value in ("all", "auto"):
        return None if value == "all" else value
    try:
        found = int(value.replace(",", "").replace("_", ""))
    except ValueError:
        found = 0
    if found < 1:
        raise click.BadParameter(f"give a number of rows, all or auto; got {value!r}")
    return found


@click.command()
@table_argument
@schema_options
@click.option(
    "-m", "--model", type=Named(["auto", *MODEL_TYPES]), default="auto", show_default=True, help="Which model to fit."
)
@model_output_option("Where to save the model, such as model.suffice.")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Folds that are held out in turn.")
@click.option(
    "--rows",
    default="auto",
    show_default=True,
    callback=_most_rows,
    metavar="N|all|auto",
    help="Rows that regressions are fitted to: N drawn at random, all, or all where rows times parameters are no more "
    "than 2e9 and 500,000 otherwise (auto).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is drawn.")
@click.option(
    "--in-database/--no-in-database",
    default=None,
    help="Whether sums are taken by DuckDB or PostgreSQL, where the rows lie; where that is faster, otherwise.",
)
@click.option(
    "--ledger",
    is_flag=True,
    help="Keep a digest of each row (8 bytes), so that forget refuses rows that were never learned.",
)
@table_options
@json_option
@quiet_option
def fit(
    table: str,
    target: str,
    model: str,
    output: str | None,
    kind: tuple[str, ...],
    ignore: tuple[str, ...],
    task: str | None,
    folds: int,
    rows: int | str | None,
    seed: int,
    in_database: bool | None,
    ledger: bool,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Fit a model that predicts one column of TABLE from the others.

    With --model auto, generative and discriminative models are judged by rows that were held out, and the best is
    taken. nb: naive Bayes; gda: Gaussian discriminant analysis; additive: a regression on curves of the numbers.
    """
    from suffice.cli.output import say, show_json, watching
    from suffice.tables.prefetch import PrefetchedSource
    from suffice.tables.pushdown.database import choose_database

    if ledger and in_database:
        raise click.UsageError("--ledger reads every row: leave out --in-database")
    kinds = kinds_of(kind, ignore)
    source = opened(table, kinds, **how)
    if ledger or choose_database(source, in_database, model) is None:
        source = PrefetchedSource(source)  # reads while libraries are loaded
    from suffice.tables import TableModel

    fresh = TableModel(
        model,
        columns=kinds,
        task=task,
        folds=folds,
        most_rows=rows,
        random_state=seed,
        in_database=in_database,
        ledger=ledger,
    )
    with watching(quiet) as watch:
        fitted = fresh.fit(source, target, watch=watch)
    if output is not None:
        save(fitted, output)
    if as_json:
        show_json(about(fitted, source.name, output))
        return
    if quiet:
        return
    _show(fitted, source.name)
    if output is not None:
        size = file_size(output)
        say(f"saved to {output} ({size / 1000:,.0f} kB)")
    else:
        say("the model was not saved: give -o model.suffice", "warning")


def about(model: Any, name: str, output: str | None) -> dict[str, Any]:
    """Return what there is to say about a fit."""
    schema = model.schema_
    return {
        "table": name,
        "target": schema.target,
        "task": schema.task,
        "classes": list(model._labels) or None,
        "rows": model.rows_,
        "rows_without_target": model.skipped_,
        "rows_fitted": model.fitted_rows_,
        "rows_in_ledger": None if model.ledger_ is None else len(model.ledger_),
        "sums_taken": model.summed_,
        "columns": [
            {"name": field.name, "kind": field.kind, "why": field.why or None}
            for field in schema.fields
            if field.name != schema.target
        ],
        "candidates": [vars(each) for each in model.candidates_],
        "model": model.model_,
        "seconds": model.seconds_,
        "saved": output,
    }


def show_columns(model: Any) -> None:
    """Write what the columns are taken for."""
    from suffice.cli.output import print_line, share

    schema = model.schema_
    rows = max(model.rows_, 1)
    known = model.description_.known()
    gaps = {feature.column: 1 - float(known[feature.name].sum()) / rows for feature in schema.features}
    for kind in ("numeric", "count", "boolean", "category", "date", "text"):
        fields = [field for field in schema.predictors if field.kind == kind]
        if fields:
            names = ", ".join(
                field.name + (f" ({share(gaps[field.name])} missing)" if gaps.get(field.name, 0) > 0 else "")
                for field in fields
            )
            print_line(f"  {kind:<9} {names}")
    for field in schema.ignored:
        print_line(f"  {'ignored':<9} {field.name} ({field.why})", "dim")


def show_candidates(model: Any) -> None:
    """Write how well each model predicted rows held out."""
    from suffice.cli.output import say, share, show_table

    task = model.schema_.task
    measure = {"classes": "log loss", "numbers": "RMSE", "counts": "Poisson deviance"}[task]
    extra = "accuracy" if task == "classes" else "absolute error"
    rows = []
    for each in model.candidates_:
        if each.why:
            continue
        kind = "generative" if each.generative else "discriminative"
        other = each.measures.get(extra, float("nan"))
        rows.append(
            [
                each.model,
                kind,
                f"{each.loss:.4g} ± {each.spread:.2g}",
                share(other) if task == "classes" else f"{other:.4g}",
                f"{each.seconds:.1f}" if each.seconds else "",  # a file does not hold them
                each.title,
            ]
        )
    show_table(["model", "", measure, extra, "seconds", ""], rows, marked=0)
    for each in model.candidates_:
        if each.why:
            say(f"{each.model} was left out: {each.why}", "warning")


def drawn_rows(model: Any) -> str:
    """Return how many rows a model was fitted to, where these are not all."""
    return f"{model.model_} was fitted to {model.fitted_rows_:,} of the {model.rows_:,} rows, drawn at random"


def _show(model: Any, name: str) -> None:
    from suffice.cli.output import counted, print_line, say

    schema = model.schema_
    print_line(f"{name}: {counted(model.rows_, 'row')}", "bold")
    if schema.task == "classes":
        weights = model.description_._class_weights(model.description_.statistics_)
        classes = ", ".join(
            f"{label} {int(weight):,}" for label, weight in list(zip(model._labels, weights, strict=True))[:8]
        )
        more = f" and {len(weights) - 8} more" if len(weights) > 8 else ""
        print_line(f"  {'target':<9} {schema.target}: {len(weights)} classes ({classes}{more})")
    else:
        print_line(f"  {'target':<9} {schema.target}: {schema.task}")
    show_columns(model)
    if model.skipped_:
        say(f"{counted(model.skipped_, 'row')} without {schema.target} left out", "warning")
    print_line()
    print_line("judged by rows that were held out:")
    show_candidates(model)
    print_line()
    best, others = model.candidates_[0], [each for each in model.candidates_[1:] if not each.why]
    why = ""
    if model.model == "auto" and others:
        gap = others[0].loss - best.loss
        close = gap < max(best.spread, others[0].spread)
        why = f": {'about as good as' if close else 'better than'} {others[0].model}, the next"
    print_line(f"{'chosen' if model.model == 'auto' else 'fitted'}: {best.model} ({best.title}){why}", "bold")
    if model.rows_ < _FEW:
        say(f"{counted(model.rows_, 'row')} are too few to judge a model by", "warning")
    rate = model.rows_ / max(model.seconds_, 1e-9)
    used = "" if model.fitted_rows_ < model.rows_ else f"; {best.model} was fitted to all of them"
    print_line(f"{counted(model.rows_, 'row')} in {model.seconds_:.1f} s, {rate:,.0f} rows/s{used}")
    if model.fitted_rows_ < model.rows_:
        print_line(f"{drawn_rows(model)}: give --rows all to fit to all of them")
    if model.ledger and model.ledger_ is None:
        say(f"no ledger was kept: {best.model} is not fitted from sums, and cannot forget rows", "warning")
    if model.summed_ != "here":
        print_line(f"sums were taken {model.summed_}; rows were read to tell kinds and to compare models")
    if model.summed_note_:
        say(f"rows were read: {model.summed_note_}", "warning")
