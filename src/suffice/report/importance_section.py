"""Section on feature importance: the held-out loss without a column, and its mean effect on the prediction."""

from __future__ import annotations

import numpy as np

from suffice.report.elements import Bar, Column, Section, Table
from suffice.report.formats import format_count, format_digits
from suffice.report.report_data import ReportData
from suffice.statistics.base import FloatArray
from suffice.tables import Importance, TableError
from suffice.tables.encoding import CodedColumn
from suffice.tables.predictors.base import EffectTerm

_RISES = (
    "The rise of the loss is that of held-out rows, with its standard error, if the cells of the column are shuffled; "
    "of a date, all its parts. Columns that say the same stand in for each other."
)
#: Maximum number of listed columns.
_MAX_COLUMNS = 20
#: Maximum size of the array of effects: rows by features by classes.
_MAX_EFFECTS = 4_000_000
#: Share of rows that a category must have to be named.
_MIN_SHARE = 0.02
#: Correlation of values and effects below which the effect is not monotone.
_MIN_CORRELATION = 0.5


class FeatureEffects:
    """Effects of the features, or of the terms of an additive model, on the predictions of some rows, less their mean.

    Parameters
    ----------
    data
        The model and the table.
    """

    def __init__(self, data: ReportData) -> None:
        self.features, k = data.block.features, max(len(data.classes), 1)
        self.block = data.block[data.sample_rows(max(100, _MAX_EFFECTS // (k * len(self.features))))]
        parts, _, terms, self.words = data.model.predictor_.effects(self.block)
        self.terms = terms or [EffectTerm(feature.name, (at,)) for at, feature in enumerate(self.features)]
        self.names = [term.name for term in self.terms]
        if k == 2:
            effects = (parts[1] - parts[0])[:, :, None]  # on the log-odds of the second class
        else:
            effects = np.stack(parts, axis=2)
            effects = effects - effects.mean(axis=2, keepdims=True) if k > 1 else effects
        effects = np.where(np.isfinite(effects), effects, 0.0)
        self.effects: FloatArray = effects - effects.mean(axis=0)  # (n, features, k or 1)
        self.importance: FloatArray = np.abs(self.effects).mean(axis=(0, 2))  # (features,)

    def order(self) -> list[str]:
        """Return the names of the features, the most important first; a feature has the effects of all its terms."""
        total = np.zeros(len(self.features))
        for term, importance in zip(self.terms, self.importance, strict=True):
            total[list(term.features)] += importance
        return [self.features[place].name for place in np.argsort(-total, kind="stable")]


def feature_effects(data: ReportData) -> FeatureEffects | None:
    """Return the effects of the features; None where the model has none, or reads only text."""
    if data.is_text_model:
        return None
    try:
        return FeatureEffects(data)
    except TableError:
        return None


def importance_section(data: ReportData, effects: FeatureEffects | None) -> Section | None:
    """Return the section on feature importance; None where neither effects nor the rise of the loss are known."""
    if effects is None:
        return _rises_section(data)
    rises = {each.column: _format_rise(each) for each in data.model.importance_}
    largest = float(effects.importance.max(initial=0.0))
    rows = []
    for index in np.argsort(-effects.importance, kind="stable")[:_MAX_COLUMNS].tolist():
        name, value = effects.names[index], float(effects.importance[index])
        if value > 1e-9 * largest:
            bar = Bar(value, largest, signed=False)
            columns_of = {effects.features[place].column for place in effects.terms[index].features}
            is_whole = effects.terms[index].word is None and len(columns_of) == 1
            rise = [rises.get(columns_of.pop(), "") if is_whole else ""] if rises else []
            rows.append((name, format_digits(value, 3), bar, _describe_direction(data, effects, index), *rise))
    what = "term" if len(effects.terms) > len(effects.features) else "column"
    columns = [
        Column(what),
        Column("mean effect", "number"),
        Column("bar", "graphic"),
        Column("direction", "prose"),
        *([Column("rise of the loss if shuffled", "number")] if rises else []),
    ]
    content = {
        "introduction": [
            f"Mean absolute effect of each {what} on the {effect_unit(data)}, relative to its average, over "
            f"{format_count(effects.block.rows, 'row')}.",
            _RISES if rises else "",
        ],
        "columns": Table(f"Most important {what}s", columns, rows),
    }
    return Section("importance", "Feature importance", "importance", content)


def _rises_section(data: ReportData) -> Section | None:
    """Return the section of a model without effects of columns: how much the loss of held-out rows rises."""
    found = [each for each in data.model.importance_ if each.rise > 0][:_MAX_COLUMNS]
    if not found:
        return None
    rows = [(each.column, _format_rise(each), Bar(each.rise, found[0].rise, signed=False)) for each in found]
    columns = [Column("column"), Column("rise of the loss if shuffled", "number"), Column("bar", "graphic")]
    content = {"introduction": [_RISES], "columns": Table("Most important columns", columns, rows)}
    return Section("importance", "Feature importance", "importance", content)


def _format_rise(importance: Importance) -> str:
    return f"{format_digits(importance.rise, 3)} ± {format_digits(importance.error, 2)}"


def effect_unit(data: ReportData) -> str:
    """Return the scale on which effects of columns add up."""
    if data.task == "numbers":
        return f"predicted {data.target}"
    if data.task == "counts":
        is_log = type(data.model.estimator_).__name__ in ("GLM", "AdditiveRegressor")
        return "log of the expected count" if is_log else "expected count"
    return f"log-odds of {data.classes[1]}" if len(data.classes) == 2 else "scores of the classes"


def _describe_direction(data: ReportData, effects: FeatureEffects, index: int) -> str:
    """Return which values of a feature raise the prediction, and which lower it."""
    term = effects.terms[index]
    if len(term.features) > 1:
        return "depends on both"
    column = effects.block.columns[term.features[0]]
    if term.word is not None and effects.words is not None:
        column = effects.words[:, index].astype(np.float64)
    if isinstance(column, list):
        return "depends on the words"
    code = int(np.abs(effects.effects[:, index]).mean(axis=0).argmax())  # the class with the largest effect
    effect = effects.effects[:, index, code]
    predicted = data.classes[code] if len(data.classes) > 2 else "it"
    if isinstance(column, CodedColumn):
        return _describe_categories(column, effect, predicted)
    known = np.isfinite(column)
    if not known.any() or np.ptp(column[known]) == 0 or np.ptp(effect[known]) == 0:
        return "only through missing values" if not known.all() else ""
    correlation = float(np.corrcoef(column[known], effect[known])[0, 1])
    if abs(correlation) < _MIN_CORRELATION:
        return f"{predicted if predicted != 'it' else 'effect'} is not monotone"
    raises, lowers = ("high", "low") if correlation > 0 else ("low", "high")
    if term.word is not None:
        return f"{'raises' if correlation > 0 else 'lowers'} {predicted}"
    if data.block.features[term.features[0]].kind == "boolean":
        return f"true {'raises' if correlation > 0 else 'lowers'} {predicted}"
    return f"{raises} values raise {predicted}, {lowers} values lower it"


def _describe_categories(column: CodedColumn, effect: FloatArray, predicted: str) -> str:
    names = [*map(str, column.vocabulary), "missing"]
    codes = np.where(column.codes < 0, len(names) - 1, column.codes)
    counts = np.bincount(codes, minlength=len(names))
    means = np.bincount(codes, effect, minlength=len(names)) / np.maximum(counts, 1)
    is_frequent = counts >= max(5, _MIN_SHARE * len(codes))
    highest = int(np.where(is_frequent, means, -np.inf).argmax())
    lowest = int(np.where(is_frequent, means, np.inf).argmin())
    if highest == lowest or not is_frequent.any():
        return ""
    return f"{names[highest]} raises {predicted}, {names[lowest]} lowers it"
