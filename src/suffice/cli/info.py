"""suffice info: the contents of a model file."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.files import file_size, is_formula, read_model
from suffice.cli.options import json_option, model_argument


@click.command()
@model_argument
@json_option
def info(model: str, as_json: bool) -> None:
    """Describe a model file: model, columns, cross-validation."""
    from suffice.cli.output import show_json
    from suffice.tables.fitted import FittedTable

    fitted = read_model(model)
    size = file_size(model)
    if is_formula(fitted):
        from suffice.cli.formulas import describe_formula, summary_as_json

        if as_json:
            show_json({**summary_as_json(fitted), "bytes": size})
        else:
            describe_formula(fitted, size)
        return
    if not isinstance(fitted, FittedTable):
        _show_other(fitted, size, as_json)
        return
    if as_json:
        from suffice.cli.fit import fit_summary

        fitted.seconds_ = float("nan")
        found = fit_summary(fitted, "", model)
        show_json({name: found[name] for name in found if name not in ("seconds", "table", "saved")} | {"bytes": size})
        return
    _show(fitted, size)


def _show(model: Any, size: int) -> None:
    from suffice.cli.fit import fitted_rows, show_candidates, show_columns
    from suffice.cli.output import print_line

    model_type = model.predictor_.model_type
    schema = model.schema_
    print_line(f"{model_type.name}: {model_type.title}", "bold")
    classes = ": " + ", ".join(map(str, model._labels)) if schema.task == "classes" else ""
    commands = "predict, explain, update, merge, forget" if model_type.exact else "predict, explain"
    print_line(f"  predicts  {schema.target} ({schema.task}{classes})")
    where = "" if model.summed_ == "here" else f", sums computed {model.summed_}"
    print_line(f"  learned   {model.rows_:,} rows{where}")
    if model.fitted_rows_ < model.rows_:
        print_line(f"  fitted    {fitted_rows(model)}")
    if model.threshold_ is not None:
        print_line(f"  threshold {model.positive_} if its probability is at least {model.threshold_:.4g}")
    if model.ledger_ is not None:
        print_line(f"  ledger    {len(model.ledger_):,} rows; suffice forget refuses others")
    print_line(f"  file      {size / 1000:,.0f} kB")
    print_line(f"  commands  {commands}, sample, impute, outliers")
    show_columns(model)
    if model.candidates_:
        print_line()
        show_candidates(model)


def _show_other(model: Any, size: int, as_json: bool) -> None:
    from suffice.cli.output import print_line, show_json

    found = {"kind": type(model).__name__, "bytes": size, "classes": getattr(model, "classes_", None)}
    found["form"] = getattr(model, "model_", None)
    if as_json:
        show_json(found)
        return
    print_line(str(found["kind"]), "bold")
    for label, name in (("model", "form"), ("classes", "classes"), ("bytes", "bytes")):
        if found[name] is not None:
            print_line(f"  {label:<8} {found[name]}")
