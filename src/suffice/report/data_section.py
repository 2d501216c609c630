"""What the table holds: its columns, what they are taken for, and how the target is distributed."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.report.displays import HistogramDisplay, histogram
from suffice.report.markup import (
    Raw,
    Section,
    bar,
    figure,
    listed,
    paragraph,
    plural,
    share,
    shown,
    side,
    spark,
    table,
    text,
)
from suffice.report.report_data import Seen
from suffice.statistics.base import FloatArray
from suffice.tables import Field
from suffice.tables.encoding import Names

#: Columns that are listed, at most, and classes.
_COLUMNS, _CLASSES = 200, 30
_KINDS = {
    "numeric": "number",
    "count": "count",
    "boolean": "yes or no",
    "category": "category",
    "date": "date",
    "text": "text",
}


def data_section(seen: Seen) -> Section:
    """Return the section about the data."""
    below = [_target(seen)]
    if seen.schema.ignored:
        rows = [(field.name, field.why or "you said so", _gaps(seen, field)) for field in seen.schema.ignored]
        below.append(table("Columns that are left out", ["column", "why", "missing"], rows, numbers=[2], tight=True))
    return Section("data", "The data", _introduction(seen) + _columns(seen) + side(*below))


def _introduction(seen: Seen) -> str:
    drawn = f"Pictures and values are of {plural(seen.block.rows, 'row')} drawn at random." if seen.is_sample else ""
    left_out = f"{plural(seen.skipped, 'row')} without a {seen.target} {'is' if seen.skipped == 1 else 'are'} left out."
    columns = plural(len(seen.schema.predictors), "column")
    return paragraph(
        f"{seen.name} has {plural(seen.rows, 'row')} with a known {seen.target}, which is predicted from {columns}.",
        left_out if seen.skipped else "",
        drawn,
    )


def _columns(seen: Seen) -> str:
    fields = seen.schema.predictors
    rows = []
    for field in fields[:_COLUMNS]:
        picture, values = _values(seen, field)
        kind = _KINDS.get(field.kind, field.kind)
        rows.append(
            (
                field.name,
                f"{kind} ({field.why})" if field.why else kind,
                _gaps(seen, field),
                Raw(picture + text(values)),
            )
        )
    caption = "Columns that the model reads, and what they are taken for"
    if len(fields) > _COLUMNS:
        caption += f"; the first {_COLUMNS} of {len(fields)}"
    return table(caption, ["column", "kind", "missing", "values"], rows, numbers=[2], words=[3])


def _gaps(seen: Seen, field: Field) -> str:
    return share(seen.missing[field.name] / seen.rows) if field.name in seen.missing else "not known"


def _values(seen: Seen, field: Field) -> tuple[Raw, str]:
    """Return a sparkline of a column, and its values in a few words."""
    columns = {
        feature.name: column
        for feature, column in zip(seen.block.features, seen.block.columns, strict=True)
        if feature.column == field.name
    }
    if field.kind == "date":
        return _dates(columns, field)
    column = columns[field.name]
    match field.kind:
        case "category":
            return _names(column)
        case "boolean":
            known = column[~np.isnan(column)]
            true = (field.truth or ("false", "true"))[1]
            said = f"{true} in {share(float(known.mean()))}" if len(known) else "none"
            return spark(np.bincount(known.astype(int), minlength=2), said), said
        case "text":
            lengths = np.array([len(each.split()) for each in column if each], dtype=np.float64)
            said = f"median {shown(float(np.median(lengths)))} words" if len(lengths) else "none"
            return spark(histogram(lengths, 16, whole=True)[1], f"lengths: {said}"), said
    return _numbers(column, field.kind == "count")


def _numbers(column: FloatArray, whole: bool) -> tuple[Raw, str]:
    known = column[np.isfinite(column)]
    if not len(known):
        return Raw(""), "none"
    low, middle, high = (float(each) for each in np.quantile(known, [0, 0.5, 1]))
    said = f"{shown(low)} to {shown(high)}, median {shown(middle)}"
    return spark(histogram(known, 16, whole=whole)[1], said), said


def _dates(columns: dict[str, Any], field: Field) -> tuple[Raw, str]:
    days = columns.get(f"{field.name}.time", np.zeros(0))
    known = days[np.isfinite(days)]
    if not len(known):
        return Raw(""), f"their {listed(field.parts)}"
    first, last = (str(np.datetime64(int(day), "D")) for day in (known.min(), known.max()))
    said = f"{first} to {last}"
    return spark(histogram(known, 16)[1], said), f"{said}; its {listed(field.parts)} are read"


def _names(column: Names) -> tuple[Raw, str]:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
    order = np.argsort(-counts, kind="stable")
    total = max(int(counts.sum()), 1)
    names = [str(column.vocabulary.names[code]) for code in order[:3]]
    shares = [share(float(counts[code]) / total) for code in order[:3]]
    said = ", ".join(f"{_short(name)} {part}" for name, part in zip(names, shares, strict=True))
    more = len(counts) - len(names)
    return spark(counts[order[:16]], said or "none"), (f"{said}, {more} more" if more > 0 else said) or "none"


def _short(name: str) -> str:
    return name if len(name) <= 40 else name[:39] + "…"


def _target(seen: Seen) -> str:
    """Return how the target is distributed: of classes over all rows, of numbers over those that were drawn."""
    if seen.task != "classes":
        low, middle, high = (float(each) for each in np.quantile(seen.values, [0.05, 0.5, 0.95]))
        sentence = f"Half of all rows are below {shown(middle)}; nine of ten are from {shown(low)} to {shown(high)}."
        return figure(HistogramDisplay(seen.values, seen.target, whole=seen.task == "counts"), sentence)
    unknown = seen.evaluation.unknown
    names = [*seen.classes, *(f"{name} (not known to the model)" for name in unknown)]
    counts = np.array([*seen.evaluation.confusion.sum(axis=1), *unknown.values()], dtype=np.int64)
    order = np.argsort(-counts, kind="stable")[:_CLASSES]
    rows = [
        (names[code], f"{counts[code]:,}", share(counts[code] / seen.rows), _bar(counts[code], counts))
        for code in order
    ]
    caption = f"How often each {seen.target} occurs"
    if len(counts) > _CLASSES:
        caption += f"; the {_CLASSES} most frequent of {len(counts)}"
    return table(
        caption,
        [seen.target, "rows", "share", Raw('<span class="unseen">bar</span>')],
        rows,
        numbers=[1, 2],
        tight=True,
    )


def _bar(count: Any, counts: Any) -> Raw:
    return bar(float(count), float(counts.max()), signed=False)
