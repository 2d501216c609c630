"""Model card: what the model was fitted to, how good it is, its limits, and how rows are forgotten."""

from __future__ import annotations

import numpy as np

from suffice.report.elements import Column, Section, Table
from suffice.report.formats import format_count, format_metric, format_names, format_value
from suffice.report.report_data import ReportData
from suffice.tables import TableError
from suffice.tables.export import FORMS
from suffice.tables.export.document import export_document
from suffice.tables.model_search import is_no_better_than_baseline

#: Maximum number of columns of each kind, and of ranges, that are named.
_MAX_NAMES = 12


def model_card_section(data: ReportData) -> Section:
    """Return the model card."""
    model_type = data.model.predictor_.model_type
    classes = f": {format_names(data.classes)}" if data.task == "classes" else ""
    facts = [
        ("Prediction", f"{data.target} ({data.task}{classes})"),
        ("Model", f"{model_type.name}: {model_type.title}{_threshold(data)}"),
        ("Data", _data(data)),
        ("Columns", _columns(data)),
        ("Candidates", _candidates(data)),
        ("Quality on held-out rows", _quality(data)),
        ("Limits", _limits(data)),
        ("Forgetting rows", _forgetting(data)),
        ("Use without suffice", _export(data)),
    ]
    table = Table("Facts about the model", [Column("fact"), Column("value", "prose")], facts)
    return Section("card", "Model card", "model_card", {"facts": table})


def _threshold(data: ReportData) -> str:
    decision = data.model._decision
    if decision is None:
        return ""
    name, threshold = data.classes[decision.positive], format_value(decision.threshold)
    return f"; {name} is predicted if its probability is at least {threshold}"


def _data(data: ReportData) -> str:
    model = data.model
    found = format_count(model.rows_, "row")
    if model.fitted_rows_ < model.rows_:
        found += f", of which a random sample of {model.fitted_rows_:,} was fitted"
    if model.skipped_:
        found += f"; {format_count(model.skipped_, 'row')} without a {data.target} skipped"
    return f"{found}."


def _columns(data: ReportData) -> str:
    fields = data.schema.predictors
    kinds = dict.fromkeys(field.kind for field in fields)
    parts = [
        f"{kind}: {format_names([field.name for field in fields if field.kind == kind], _MAX_NAMES)}" for kind in kinds
    ]
    if data.schema.ignored:
        parts.append(f"ignored: {format_names([field.name for field in data.schema.ignored], _MAX_NAMES)}")
    return "; ".join(parts) + "."


def _candidates(data: ReportData) -> str:
    tried = [each for each in data.model.candidates_ if np.isfinite(each.loss)]
    if not tried:
        return "The model was specified, and not compared with others."
    return ", ".join(f"{each.model} {format_value(each.loss)}" for each in tried) + ": loss on held-out rows."


def _quality(data: ReportData) -> str:
    metrics = data.held_out_metrics
    if not metrics:
        return "Unknown: the model was not cross-validated."
    return ", ".join(f"{name} {format_metric(name, value)}" for name, value in metrics.items()) + "."


def _limits(data: ReportData) -> str:
    model = data.model
    limits = []
    if is_no_better_than_baseline(model.candidates_):
        limits.append("The model is no better than guessing.")
    if model.warnings_:
        limits.append(f"{format_count(len(model.warnings_), 'warning')} about the data: see the section on data.")
    ranges = [
        f"{feature.column} {_range(*model.ranges_[feature.name], is_date=feature.part is not None)}"
        for feature in data.schema.features
        if feature.name in model.ranges_ and feature.kind == "numeric"
    ]
    if ranges:
        limits.append(f"Predictions for numbers outside the learned ranges are extrapolated: {_first(ranges)}.")
    if any(feature.kind == "category" for feature in data.schema.features):
        limits.append("Categories that were not learned have no effect of their own.")
    limits.append("Rows of another population than the learned ones may be predicted worse.")
    return " ".join(limits)


def _range(low: float, high: float, *, is_date: bool) -> str:
    if is_date:
        return " to ".join(str(np.datetime64(int(np.floor(day)), "D")) for day in (low, high))
    return f"{format_value(low)} to {format_value(high)}"


def _first(texts: list[str]) -> str:
    more = len(texts) - _MAX_NAMES
    return ", ".join(texts[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _forgetting(data: ReportData) -> str:
    if not data.model.predictor_.model_type.exact:
        return "The model has no sums to subtract rows from: fit it again without the rows."
    ledger = data.model.ledger_
    checked = (
        "Without a ledger of the learned rows (suffice fit --ledger), it is not verified that they were learned."
        if ledger is None
        else f"The ledger of {format_count(len(ledger), 'learned row')} refuses rows that were not learned."
    )
    return (
        "suffice forget MODEL ROWS subtracts rows, exact to rounding or refused, and prints a certificate. " + checked
    )


def _export(data: ReportData) -> str:
    try:
        export_document(data.model)
    except TableError as error:
        return f"Not possible: {error}."
    return f"suffice export MODEL --to {', '.join(FORMS[:-1])} or {FORMS[-1]}."
