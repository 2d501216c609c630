"""Explanations of the rows of a table: the contribution of each column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.explain import EXPECTED_NUMBER, ClassScores, Contribution, Explanation
from suffice.tables.encoding import Block, CodedColumn
from suffice.tables.predictors.base import Effects, Predictor

if TYPE_CHECKING:
    from suffice.tables.fitted import FittedTable


def explain_rows(model: FittedTable, block: Block, batch: Any) -> list[Explanation]:
    """Return an explanation of the prediction of each row of a block."""
    found = _explain(model.predictor_, block, batch)
    if model.threshold_ is None:
        return found
    predicted = model.named(model.predictor_.predict(block)).tolist()
    return [each.compare(label) for each, label in zip(found, predicted, strict=True)]


def _explain(predictor: Predictor, block: Block, batch: Any) -> list[Explanation]:
    """Return an explanation of each row of a block, for the most probable class."""
    if predictor.model_type.reads == "text":
        from suffice.tables.predictors.text import TextPredictor

        assert isinstance(predictor, TextPredictor)
        return [replace(predictor.explain(text), row=block.first + i) for i, text in enumerate(predictor.texts(block))]
    effects_of = predictor.effects(block)
    parts, base = effects_of.parts, effects_of.base
    stacked = np.stack(parts, axis=1)  # (n, k, features) or (n, k, terms)
    names = [feature.name for feature in block.features]
    if effects_of.terms is not None:
        names = [term.name for term in effects_of.terms]
    numbers = predictor.scores(block) if predictor.task != "classes" else None
    unit = "log of the expected count" if _is_log(predictor) else EXPECTED_NUMBER
    found = []
    for row in range(block.rows):
        values = [_cell(block, batch, place, row) for place in range(len(block.features))]
        if effects_of.terms is not None:
            values = _term_values(effects_of, values, row)
        if numbers is None:
            labels = list(predictor.labels.names)
            scores = ClassScores(labels, names, values, stacked[row].tolist(), base[row].tolist())
            found.append(Explanation.of(scores, row=block.first + row))
            continue
        effects = stacked[row, 0]
        order = [place for place in np.argsort(-np.abs(effects), kind="stable") if effects[place]]
        contributions = tuple(Contribution(names[place], values[place], float(effects[place])) for place in order)
        level = float(base[row, 0])
        found.append(
            Explanation(
                prediction=float(numbers[row]),
                against=None,
                probability=None,
                base=level,
                total=level + float(effects.sum()),
                contributions=contributions,
                unit=unit,
                row=block.first + row,
            )
        )
    return found


def _is_log(predictor: Predictor) -> bool:
    return getattr(predictor.scorer, "link", None) == "log"


def _term_values(effects: Effects, cells: list[Any], row: int) -> list[Any]:
    """Return what each term reads of a row: a cell, the cells of a pair, or whether a word is present."""
    found: list[Any] = []
    for at, term in enumerate(effects.terms or ()):
        if term.word is not None and effects.words is not None:
            found.append("present" if effects.words[row, at] else "absent")
        elif len(term.features) == 1:
            found.append(cells[term.features[0]])
        else:
            shown = [cells[place] for place in term.features]
            found.append(", ".join("missing" if each is None else _shown(each) for each in shown))
    return found


def _shown(cell: Any) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _cell(block: Block, batch: Any, place: int, row: int) -> Any:
    """Return the value of a cell in the table's own type; None for a missing cell."""
    feature = block.features[place]
    if feature.part is None:
        return batch.column(feature.column)[row].as_py()
    column = block.columns[place]
    if isinstance(column, CodedColumn):
        code = int(column.codes[row])
        return None if code < 0 else column.vocabulary.names[code]
    return None if np.isnan(column[row]) else str(np.datetime64(int(column[row]), "D"))
