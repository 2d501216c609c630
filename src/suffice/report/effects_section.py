"""Section on the effects of single columns, with the density of their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.report.displays import CategoryEffectsDisplay, NumberEffectsDisplay
from suffice.report.elements import Figure, Section, make_figure
from suffice.report.formats import format_count
from suffice.report.importance_section import FeatureEffects, effect_unit
from suffice.report.report_data import ReportData
from suffice.tables.encoding import CodedColumn

#: Maximum number of drawn columns.
_MAX_COLUMNS = 6
#: Maximum number of categories of a column.
_MAX_CATEGORIES = 12


def effects_section(data: ReportData, effects: FeatureEffects | None) -> Section | None:
    """Return the section on effects; None for models without effects, and for additive ones, whose terms are drawn."""
    if effects is None or data.model.model_ == "additive":
        return None
    figures: list[Figure] = []
    for index in np.argsort(-effects.importance, kind="stable").tolist():
        figure = _draw_effects(data, effects, index) if len(figures) < _MAX_COLUMNS else None
        if figure is not None:
            figures.append(figure)
    if not figures:
        return None
    unit = effect_unit(data)
    introduction = [
        f"What the values of a column add to the {unit}, relative to their average, over "
        f"{format_count(effects.block.rows, 'row')} of this table.",
        "Lines are means of groups of equally many rows, bands hold nine tenths of each group, grey is the density of "
        "the values. Where there are few rows, an effect is an extrapolation.",
    ]
    return Section("effects", "Effects of columns", "figures", {"introduction": introduction, "figures": figures})


def _draw_effects(data: ReportData, effects: FeatureEffects, index: int) -> Figure | None:
    """Return the plot of a term of one column; None for others, and for effects that are all 0."""
    term = effects.terms[index]
    if len(term.features) > 1 or term.word is not None or effects.importance[index] == 0:
        return None
    column: Any = effects.block.columns[term.features[0]]
    if isinstance(column, list):
        return None
    code = int(np.abs(effects.effects[:, index]).mean(axis=0).argmax())  # the class with the largest effect
    effect = effects.effects[:, index, code]
    label = f"effect on {data.classes[code]}" if len(data.classes) > 2 else "effect"
    name, feature = effects.names[index], effects.features[term.features[0]]
    if isinstance(column, CodedColumn):
        names = [*map(str, column.vocabulary), "missing"]
        codes = np.where(column.codes < 0, len(names) - 1, column.codes)
        return make_figure(CategoryEffectsDisplay.over(names, codes, effect, name, label, most=_MAX_CATEGORIES))
    known = np.isfinite(column)
    if feature.kind == "boolean":
        codes = np.where(known, np.nan_to_num(column), 2).astype(np.int64)
        names = ["false", "true", "missing"]
        return make_figure(CategoryEffectsDisplay.over(names, codes, effect, name, label, most=3))
    if known.sum() < 2 or np.ptp(column[known]) == 0:
        return None
    whole = feature.kind == "count"
    return make_figure(NumberEffectsDisplay.over(column[known], effect[known], name, label, integer=whole))
