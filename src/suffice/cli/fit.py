"""suffice fit: a model of a table."""

from __future__ import annotations

from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from suffice.cli.files import file_size, open_table, save_model
from suffice.cli.options import (
    Named,
    column_kinds,
    json_option,
    list_models,
    model_output_option,
    quiet_option,
    role_options,
    schema_options,
    seed_option,
    table_argument,
    table_options,
)
from suffice.model_types import MODEL_TYPES

#: Largest number of classes whose recall is printed.
_LISTED = 8


def _parse_rows(context: click.Context, parameter: click.Parameter, value: str) -> int | str | None:
    if value in ("all", "auto"):
        return None if value == "all" else value
    try:
        found = int(value.replace(",", "").replace("_", ""))
    except ValueError:
        found = 0
    if found < 1:
        raise click.BadParameter(f"must be a number of rows, all or auto; got {value!r}")
    return found


def _parse_cost(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        false_positive, false_negative = map(float, value.split(":"))
    except ValueError:
        raise click.BadParameter(f"must be two numbers, such as 1:10; got {value!r}") from None
    return false_positive, false_negative


@click.command(epilog=list_models(MODEL_TYPES.values()))
@table_argument
@partial(schema_options, target_required=False)
@role_options
@click.option(
    "--formula",
    metavar="FORMULA",
    help="Regression as R writes it, instead of --target: 'low ~ age + C(race) * smoke + bs(lwt, 4)'.",
)
@click.option(
    "--family", metavar="NAME", show_default="by the target", help="Family of a formula: binomial, poisson, …"
)
@click.option("--exposure", metavar="COLUMN", help="Exposure of the counts of a formula.")
@click.option(
    "--positive",
    metavar="CLASS",
    show_default="the second of two, or a rare first one",
    help="Class of --cost and --threshold, whose precision and recall are shown; class that a formula models.",
)
@click.option(
    "--cost",
    metavar="A:B",
    callback=_parse_cost,
    help="Costs of a false positive and of a false negative, such as 1:10: chooses the threshold on held-out rows.",
)
@click.option(
    "--threshold",
    type=float,
    metavar="P",
    show_default="by --cost, or the most probable class",
    help="Predict the positive class where its probability is at least this.",
)
@click.option(
    "--unseen",
    type=Named(["error", "reference"]),
    help="What a formula does with new levels at prediction: error (default), or take them for the reference level.",
)
@click.option(
    "-m", "--model", type=Named(["auto", *MODEL_TYPES]), default="auto", show_default=True, help="Model to fit."
)
@model_output_option("File or URL to save the model to, such as model.suffice.")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Cross-validation folds.")
@click.option(
    "--rows",
    default="auto",
    show_default=True,
    callback=_parse_rows,
    metavar="N|all|auto",
    help="Rows that regressions are fitted to: N drawn at random, all, or auto: all if rows times parameters are at "
    "most 2e9, else 500,000.",
)
@seed_option()
@click.option(
    "--in-database/--no-in-database",
    default=None,
    show_default="whichever is faster",
    help="Compute sums in the database (DuckDB, PostgreSQL), or read the rows.",
)
@click.option(
    "--ledger",
    is_flag=True,
    help="Keep a digest of each row (8 bytes): suffice forget then refuses rows that were never learned.",
)
@table_options
@json_option
@quiet_option
def fit(
    table: str,
    target: str | None,
    formula: str | None,
    family: str | None,
    exposure: str | None,
    positive: str | None,
    cost: tuple[float, float] | None,
    threshold: float | None,
    unseen: str | None,
    model: str,
    output: str | None,
    kind: tuple[str, ...],
    ignore: tuple[str, ...],
    task: str | None,
    group: str | None,
    time: str | None,
    weight: str | None,
    folds: int,
    rows: int | str | None,
    seed: int,
    in_database: bool | None,
    ledger: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Fit a model that predicts one column of TABLE from the others.

    --model auto fits several generative and discriminative models, compares them by cross-validation, and keeps the
    simplest within one standard error of the lowest loss. --formula fits one regression, and prints its coefficients.
    """
    from suffice.cli.output import progress_bar, say, show_json
    from suffice.tables.prefetch import PrefetchedSource
    from suffice.tables.pushdown.database import choose_database

    if ledger and in_database:
        raise click.UsageError("--ledger needs every row: leave out --in-database")
    kinds = column_kinds(kind, ignore)
    settings = {"family": family, "exposure": exposure, "unseen": unseen}
    if formula is not None:
        _check_formula_options(kinds)
        settings |= {"weights": weight, "positive": positive}
        _fit_formula(open_table(table, kinds, **options), formula, settings, output, as_json, quiet)
        return
    if target is None:
        raise click.UsageError("name the column to predict with --target, or a regression with --formula")
    given = [name for name, value in settings.items() if value is not None]
    if given:
        raise click.UsageError(f"--{given[0]} goes with --formula")
    source = open_table(table, kinds, tell=False, **options)
    roles = {"group": group, "time": time, "weight": weight}
    given = [role for role, column in roles.items() if column is not None]
    if given and in_database:
        raise click.UsageError(f"--{given[0]} is read row by row: leave out --in-database")
    if ledger or given or choose_database(source, in_database, model) is None:
        source = PrefetchedSource(source)  # reads during the imports below
    from suffice.tables.fitted import FittedTable
    from suffice.tables.fitting import fit_table

    fitted = FittedTable(
        model,
        columns=kinds,
        task=task,
        folds=folds,
        most_rows=rows,
        random_state=seed,
        in_database=in_database,
        ledger=ledger,
        **roles,
        positive=positive,
        cost=cost,
        threshold=threshold,
    )
    with progress_bar(quiet) as watch:
        fit_table(fitted, source, target, watch)
    if output is not None:
        save_model(fitted, output)
    for each in fitted.warnings_:
        say(each.message, "warning")
    if as_json:
        show_json(fit_summary(fitted, source.name, output))
        return
    if quiet:
        return
    show_fit(fitted, source.name)
    if output is not None:
        size = file_size(output)
        say(f"saved to {output} ({size / 1000:,.0f} kB)")
    else:
        say("the model was not saved: use -o model.suffice", "warning")


def _check_formula_options(kinds: dict[str, str]) -> None:
    """Raise for options that do not go with a formula."""
    context = click.get_current_context()
    alone = ("target", "model", "ignore", "task", "group", "time", "cost", "threshold", "folds", "rows", "seed")
    for name in (*alone, "in_database", "ledger"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --formula")
    for column, kind in kinds.items():
        if kind not in ("category", "text"):
            raise click.UsageError(
                f"--kind {column}={kind} does not go with --formula: write C({column}) for a category; --kind "
                f"{column}=category reads the column as text"
            )


def _fit_formula(
    source: Any, formula: str, settings: dict[str, Any], output: str | None, as_json: bool, quiet: bool
) -> None:
    """Fit the model of a formula, save it, and print its summary."""
    from suffice.cli.formulas import fit_formula, summary_as_json
    from suffice.cli.output import print_line, say, show_json

    fitted = fit_formula(source, formula, settings)
    if output is not None:
        save_model(fitted, output)
    if as_json:
        show_json({"table": source.name, **summary_as_json(fitted), "saved": output})
        return
    if quiet:
        return
    print_line(str(fitted.summary()))
    if output is not None:
        say(f"saved to {output} ({file_size(output) / 1000:,.0f} kB)")
    else:
        say("the model was not saved: use -o model.suffice", "warning")


def fit_summary(model: Any, name: str, output: str | None) -> dict[str, Any]:
    """Return the facts of a fit, as JSON shows them."""
    from suffice.tables.model_search import is_no_better_than_baseline

    schema = model.schema_
    return {
        "table": name,
        "target": schema.target,
        "task": schema.task,
        "classes": list(model._labels) or None,
        "rows": model.rows_,
        "rows_without_target": model.skipped_,
        "rows_fitted": model.fitted_rows_,
        "group": model.group,
        "time": model.time,
        "weight": model.weight,
        "rows_in_ledger": None if model.ledger_ is None else len(model.ledger_),
        "sums_taken": model.summed_,
        "columns": [
            {"name": field.name, "kind": field.kind, "why": field.why or None}
            for field in schema.fields
            if field.name != schema.target
        ],
        "notes": list(schema.notes),
        "candidates": [{**vars(each), "per_class": each.per_class(model._labels)} for each in model.candidates_],
        "no_better_than_baseline": is_no_better_than_baseline(model.candidates_),
        "warnings": [vars(each) for each in model.warnings_],
        "positive": model.positive_,
        "cost": model.cost,
        "threshold": model.threshold_,
        "thresholds": [vars(each) for each in model.thresholds_],
        "importance": [vars(each) for each in model.importance_],
        "model": model.model_,
        "seconds": model.seconds_,
        "saved": output,
    }


def show_columns(model: Any) -> None:
    """Print the kind of each column."""
    from suffice.cli.output import print_line, share
    from suffice.printable import one_line

    schema = model.schema_
    weight = float(model.description_.class_count_.sum()) or 1.0
    known = model.description_.known()
    missing = {feature.column: 1 - float(known[feature.name].sum()) / weight for feature in schema.features}
    for kind in ("numeric", "count", "boolean", "category", "date", "text"):
        fields = [field for field in schema.predictors if field.kind == kind]
        if fields:
            names = ", ".join(
                one_line(field.name)
                + (f" ({share(missing[field.name])} missing)" if missing.get(field.name, 0) > 1e-12 else "")
                for field in fields
            )
            print_line(f"  {kind:<9} {names}")
    for field in schema.ignored:
        print_line(f"  {'ignored':<9} {one_line(field.name)} ({field.why})", "dim")


def show_candidates(model: Any) -> None:
    """Print the cross-validated loss of each model."""
    from suffice.cli.output import say, share, show_table

    task = model.schema_.task
    measure = {"classes": "log loss", "numbers": "RMSE", "counts": "Poisson deviance"}[task]
    extra = "accuracy" if task == "classes" else "absolute error"
    ranked = any("PR AUC" in each.measures for each in model.candidates_)
    rows = []
    for each in model.candidates_:
        if each.why:
            continue
        kind = "–" if each.is_baseline else "generative" if each.generative else "discriminative"
        other = each.measures.get(extra, float("nan"))
        rows.append(
            [
                each.model,
                kind,
                f"{each.loss:.4g} ± {each.spread:.2g}",
                share(other) if task == "classes" else f"{other:.4g}",
                *([f"{each.measures.get('PR AUC', float('nan')):.3f}"] if ranked else []),
                f"{each.seconds:.1f}" if each.seconds else "",  # not stored in files
                each.title,
            ]
        )
    show_table(
        ["model", "", measure, extra, *(["PR AUC"] if ranked else []), "seconds", ""],
        rows,
        marked=0,
    )
    for each in model.candidates_:
        if each.why:
            say(f"{each.model} was skipped: {each.why}", "warning")


def show_held_out(model: Any) -> None:
    """Print the intervals of the loss and the accuracy of the chosen model, and the recall of each class."""
    from suffice.cli.output import counted, print_line, share

    best = model.candidates_[0]
    if not best.intervals:
        return
    measure = {"classes": "log loss", "numbers": "RMSE", "counts": "Poisson deviance"}[model.schema_.task]
    low, high = best.intervals["loss"]
    print_line(
        f"{best.model} on {counted(best.rows, 'held-out row')}, with 95 % intervals: {measure} {best.loss:.4g} "
        f"({low:.4g} to {high:.4g})"
    )
    if "accuracy" not in best.intervals:
        return
    low, high = best.intervals["accuracy"]
    accuracy = f"  accuracy {share(best.measures['accuracy'])} ({share(low)} to {share(high)})"
    found = best.per_class(model._labels)
    largest = max(found, key=lambda each: each["rows"], default=None)
    rows = sum(each["rows"] for each in found)  # or their weights
    base = f"; base rate {share(largest['rows'] / rows)} ({largest['class']})" if largest else ""
    print_line(accuracy + base)
    if found:
        recalls = ", ".join(f"{each['class']} {share(each['recall'])}" for each in found[:_LISTED] if each["rows"])
        if "PR AUC" in best.measures:
            (rare,) = (each["rows"] / rows for each in found if each["class"] == model.positive_)
            print_line(f"  PR AUC {best.measures['PR AUC']:.3f} of {model.positive_}, {share(rare)} of the rows")
        print_line(f"  recall: {recalls}{' and others' if len(found) > _LISTED else ''}")


def show_thresholds(model: Any) -> None:
    """Print what thresholds do on held-out rows, if the user asked for a threshold or a positive class."""
    from suffice.cli.output import print_line, share, show_table

    if not model.thresholds_ or (model.positive is None and model.threshold_ is None):
        return
    print_line()
    if model.threshold_ is None:
        print_line(f"thresholds of the probability of {model.positive_}, on held-out rows:")
    else:
        how = "given" if model.threshold is not None else f"lowest cost of {model.cost[0]:g}:{model.cost[1]:g}"
        print_line(f"predicts {model.positive_} if its probability is at least {model.threshold_:.4g} ({how}):", "bold")
    rows = [
        [
            f"{each.threshold:.4g}",
            *("–" if value != value else share(value) for value in (each.recall, each.precision, each.predicted)),
            *([] if each.cost is None else [f"{each.cost:.4g}"]),
        ]
        for each in model.thresholds_
    ]
    marked = next((at for at, each in enumerate(model.thresholds_) if each.threshold == model.threshold_), None)
    costs = [] if model.cost is None else ["cost of a row"]
    show_table(["threshold", "recall", "precision", "predicted", *costs], rows, marked=marked)


def show_importance(model: Any) -> None:
    """Print the columns that matter most for the loss of held-out rows."""
    from suffice.cli.output import print_line
    from suffice.printable import one_line

    found = [each for each in model.importance_ if each.rise > 2 * each.error]
    if found:
        loss = {"classes": "log loss", "numbers": "squared error", "counts": "deviance"}[model.schema_.task]
        names = ", ".join(f"{one_line(each.column)} {each.rise:.3g}" for each in found[:_LISTED])
        print_line(f"  importance, rise of the {loss} if a column is shuffled: {names}")


def fitted_rows(model: Any) -> str:
    """Return the number of rows that a model was fitted to, if these are not all."""
    return f"{model.model_} was fitted to {model.fitted_rows_:,} of {model.rows_:,} rows, drawn at random"


def show_fit(model: Any, name: str) -> None:
    """Print the columns, the models that were compared, and the model that was chosen."""
    from suffice.cli.output import counted, print_line, say
    from suffice.tables.model_search import is_no_better_than_baseline

    schema = model.schema_
    print_line(f"{name}: {counted(model.rows_, 'row')}", "bold")
    if schema.task == "classes":
        weights = model.description_.class_count_
        classes = ", ".join(
            f"{label} {weight:,.0f}" for label, weight in list(zip(model._labels, weights, strict=True))[:8]
        )
        more = f" and {len(weights) - 8} more" if len(weights) > 8 else ""
        print_line(f"  {'target':<9} {schema.target}: {len(weights)} classes ({classes}{more})")
    else:
        print_line(f"  {'target':<9} {schema.target}: {schema.task}")
    show_columns(model)
    for note in schema.notes:
        say(note, "warning")
    if model.skipped_:
        were = "was" if model.skipped_ == 1 else "were"
        say(f"{counted(model.skipped_, 'row')} without {schema.target} {were} skipped", "warning")
    print_line()
    roles = schema.roles
    how = f", by group {roles.group}" if roles.group else f", in the order of {roles.time}" if roles.time else ""
    weighted = f", weighted by {roles.weight}" if roles.weight else ""
    print_line(f"cross-validation{how}{weighted}:")
    show_candidates(model)
    print_line()
    best = model.candidates_[0]
    others = [each for each in model.candidates_[1:] if not each.why and not each.is_baseline]
    comparison = ""
    if model.model == "auto" and others:
        lowest = min([best, *others], key=lambda each: each.loss)
        comparison = f": better than {others[0].model}"
        if lowest is not best:
            comparison = f": simplest within one standard error of {lowest.model}"
    if is_no_better_than_baseline(model.candidates_):
        print_line("no better than guessing: the lowest loss is within one standard error of the baseline", "bold")
    print_line(f"{'chosen' if model.model == 'auto' else 'fitted'}: {best.model} ({best.title}){comparison}", "bold")
    show_held_out(model)
    show_importance(model)
    show_thresholds(model)
    rate = model.rows_ / max(model.seconds_, 1e-9)
    used = "" if model.fitted_rows_ < model.rows_ else f"; {best.model} was fitted to all rows"
    print_line(f"{counted(model.rows_, 'row')} in {model.seconds_:.1f} s, {rate:,.0f} rows/s{used}")
    if model.fitted_rows_ < model.rows_:
        print_line(f"{fitted_rows(model)}; use --rows all for all rows")
    if model.ledger and model.ledger_ is None:
        say(f"no ledger: {best.model} is not fitted from sums, and cannot forget rows", "warning")
    if model.summed_ != "here":
        print_line(f"sums were computed {model.summed_}; rows were read to infer column kinds and to compare models")
    if model.summed_note_:
        say(f"rows were read: {model.summed_note_}", "warning")
