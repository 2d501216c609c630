"""Section on the data: columns, their kinds, and the distribution of the target."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.report.displays import HistogramDisplay, histogram
from suffice.report.elements import Bar, Column, Figure, Section, Sparkline, Table, make_figure
from suffice.report.formats import format_count, format_names, format_share, format_short, format_value
from suffice.report.report_data import ReportData
from suffice.statistics.base import FloatArray
from suffice.tables import Field
from suffice.tables.encoding import CodedColumn

#: Maximum number of listed columns and classes.
_MAX_COLUMNS, _MAX_CLASSES = 200, 30
_SPARKLINE_BINS = 16
_NO_COUNTS = np.zeros(0)


def data_section(data: ReportData) -> Section:
    """Return the section on the data."""
    is_classification = data.task == "classes"
    return Section(
        "data",
        "Data",
        "data",
        {
            "introduction": _introduction(data),
            "columns": _columns_table(data),
            "target_figure": None if is_classification else _target_figure(data),
            "target_table": _class_table(data) if is_classification else None,
            "ignored": _ignored_table(data),
            "warnings": _warnings_table(data),
            "notes": _notes_table(data),
        },
    )


def _introduction(data: ReportData) -> list[str]:
    columns = format_count(len(data.schema.predictors), "column")
    verb = "is" if data.n_skipped == 1 else "are"
    return [
        f"{data.table_name} has {format_count(data.n_rows, 'row')} with a known {data.target}, which is predicted from "
        f"{columns}.",
        f"{format_count(data.n_skipped, 'row')} without a {data.target} {verb} skipped." if data.n_skipped else "",
        f"Plots and values are of a random sample of {format_count(data.block.rows, 'row')}."
        if data.is_sampled
        else "",
    ]


def _columns_table(data: ReportData) -> Table:
    fields = data.schema.predictors
    rows = []
    for each in fields[:_MAX_COLUMNS]:
        kind = f"{each.kind} ({each.why})" if each.why else each.kind
        rows.append((each.name, kind, _missing_share(data, each), _values(data, each)))
    caption = "Columns that the model reads, and their kinds"
    if len(fields) > _MAX_COLUMNS:
        caption += f"; the first {_MAX_COLUMNS} of {len(fields)}"
    columns = [Column("column"), Column("kind"), Column("missing", "number"), Column("values", "prose")]
    return Table(caption, columns, rows)


def _ignored_table(data: ReportData) -> Table | None:
    ignored = data.schema.ignored
    if not ignored:
        return None
    rows = [(each.name, each.why or "as specified", _missing_share(data, each)) for each in ignored]
    columns = [Column("column"), Column("reason"), Column("missing", "number")]
    return Table("Ignored columns", columns, rows, compact=True)


def _notes_table(data: ReportData) -> Table | None:
    """Return how the cells of the fit were read, such as the notation of numbers."""
    rows = [(note,) for note in data.model.schema_.notes]
    return Table("How cells are read", [Column("note", "prose")], rows, compact=True) if rows else None


def _warnings_table(data: ReportData) -> Table | None:
    rows = [(each.column or "", each.message) for each in data.model.warnings_]
    columns = [Column("column"), Column("warning", "prose")]
    return Table("Warnings of the fit", columns, rows, compact=True) if rows else None


def _missing_share(data: ReportData, field: Field) -> str:
    count = data.missing_counts.get(field.name)
    return "unknown" if count is None else format_share(count / data.n_rows)


def _values(data: ReportData, field: Field) -> Sparkline:
    """Return a sparkline of a column, and a summary of its values."""
    columns = {
        feature.name: column
        for feature, column in zip(data.block.features, data.block.columns, strict=True)
        if feature.column == field.name
    }
    if field.kind == "date":
        return _date_values(columns, field)
    column = columns[field.name]
    match field.kind:
        case "category":
            return _category_values(column)
        case "boolean":
            known = column[~np.isnan(column)]
            true = (field.truth or ("false", "true"))[1]
            text = f"{true} in {format_share(float(known.mean()))}" if len(known) else "none"
            return Sparkline(np.bincount(known.astype(int), minlength=2), text, text)
        case "text":
            lengths = np.array([len(each.split()) for each in column if each], dtype=np.float64)
            text = f"median {format_value(float(np.median(lengths)))} words" if len(lengths) else "none"
            return Sparkline(histogram(lengths, _SPARKLINE_BINS, integer=True)[1], f"lengths: {text}", text)
    return _numeric_values(column, field.kind == "count")


def _numeric_values(column: FloatArray, integer: bool) -> Sparkline:
    known = column[np.isfinite(column)]
    if not len(known):
        return Sparkline(_NO_COUNTS, "", "none")
    low, median, high = (format_value(float(each)) for each in np.quantile(known, [0, 0.5, 1]))
    text = f"{low} to {high}, median {median}"
    return Sparkline(histogram(known, _SPARKLINE_BINS, integer=integer)[1], text, text)


def _date_values(columns: dict[str, Any], field: Field) -> Sparkline:
    days = columns.get(f"{field.name}.time", _NO_COUNTS)
    known = days[np.isfinite(days)]
    parts = f"parts read: {format_names(field.parts)}"
    if not len(known):
        return Sparkline(_NO_COUNTS, "", parts)
    first, last = (str(np.datetime64(int(day), "D")) for day in (known.min(), known.max()))
    text = f"{first} to {last}"
    return Sparkline(histogram(known, _SPARKLINE_BINS)[1], text, f"{text}; {parts}")


def _category_values(column: CodedColumn) -> Sparkline:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
    order = np.argsort(-counts, kind="stable")
    total = max(int(counts.sum()), 1)
    text = ", ".join(
        f"{format_short(column.vocabulary.names[code], 40)} {format_share(float(counts[code]) / total)}"
        for code in order[:3]
    )
    n_others = len(counts) - 3
    label = text or "none"
    return Sparkline(counts[order[:_SPARKLINE_BINS]], label, f"{text}, {n_others} more" if n_others > 0 else label)


def _target_figure(data: ReportData) -> Figure:
    """Return the distribution of a numeric target, over the sample."""
    low, median, high = (format_value(float(each)) for each in np.quantile(data.targets, [0.05, 0.5, 0.95]))
    caption = f"The median is {median}; 90% of the rows are from {low} to {high}."
    return make_figure(HistogramDisplay(data.targets, data.target, integer=data.task == "counts"), caption)


def _class_table(data: ReportData) -> Table:
    """Return the frequencies of the classes, over all rows."""
    unknown = data.evaluation.unknown
    names = [*data.classes, *(f"{name} (unknown to the model)" for name in unknown)]
    counts = np.array([*data.evaluation.confusion.sum(axis=1), *unknown.values()], dtype=np.int64)
    largest = float(counts.max())
    rows = [
        (
            names[code],
            f"{counts[code]:,}",
            format_share(counts[code] / data.n_rows),
            Bar(float(counts[code]), largest, signed=False),
        )
        for code in np.argsort(-counts, kind="stable")[:_MAX_CLASSES]
    ]
    caption = f"Class frequencies of {data.target}"
    if len(counts) > _MAX_CLASSES:
        caption += f"; the {_MAX_CLASSES} most frequent of {len(counts)}"
    columns = [Column(data.target), Column("rows", "number"), Column("share", "number"), Column("bar", "graphic")]
    return Table(caption, columns, rows, compact=True)
