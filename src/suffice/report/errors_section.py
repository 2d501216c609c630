"""Section on errors: wrong and uncertain predictions, explained."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from suffice.explain import Explanation
from suffice.report.elements import Bar, Column, Section, Table
from suffice.report.formats import format_count, format_share, format_short, format_signed, format_value
from suffice.report.report_data import HardRow, ReportData
from suffice.tables import TableError
from suffice.tables.sources.base import arrow

#: Effects that an explanation lists; the others are summed.
_MAX_EFFECTS = 8
_CELL_LENGTH, _TITLE_LENGTH, _TEXT_LENGTH = 60, 110, 400


def errors_section(data: ReportData) -> Section:
    """Return the section on errors."""
    rows = [*data.errors, *data.uncertain]
    explanations: list[Explanation | None] = [None] * len(rows)
    if rows:
        with suppress(TableError):  # the model has no explanations
            explanations = list(data.model.explain(arrow().Table.from_batches([row.cells for row in rows])))
    cards = [_card(data, row, explanation) for row, explanation in zip(rows, explanations, strict=True)]
    n_errors = len(data.errors)
    groups = [_error_group(data, cards[:n_errors]), _uncertain_group(cards[n_errors:])]
    return Section(
        "errors",
        "Errors",
        "errors",
        {"groups": [group for group in groups if group["cards"]], "has_errors": n_errors > 0},
    )


def _error_group(data: ReportData, cards: list[dict[str, Any]]) -> dict[str, Any]:
    rows = format_count(len(cards), "row")
    if data.task == "classes":
        introduction = f"{rows} with the lowest predicted probability of the actual class."
        return {"title": "Most confident errors", "introduction": introduction, "cards": cards}
    measure = "deviance" if data.task == "counts" else "absolute error"
    introduction = f"{rows} with the largest {measure}."
    return {"title": "Largest errors", "introduction": introduction, "cards": cards}


def _uncertain_group(cards: list[dict[str, Any]]) -> dict[str, Any]:
    introduction = "Rows with the smallest difference between the two highest probabilities."
    return {"title": "Least confident predictions", "introduction": introduction, "cards": cards}


def _card(data: ReportData, row: HardRow, explanation: Explanation | None) -> dict[str, Any]:
    predicted, actual, lead = _describe_class(data, row) if data.task == "classes" else _describe_number(row)
    return {
        "title": format_short(f"Row {row.index + 1:,}: predicted {predicted}, actual {actual}", _TITLE_LENGTH),
        "lead": lead,
        "texts": _texts(data, row),
        "table": _cells_table(data, row) if explanation is None else _effects_table(explanation),
    }


def _describe_class(data: ReportData, row: HardRow) -> tuple[str, str, str]:
    """Return the predicted and the actual class, and a sentence on their probabilities."""
    code, target = int(data.model.decide(row.prediction[None])[0]), int(row.target)
    predicted = data.classes[code]
    lead = f"Predicted probability: {format_share(float(row.prediction[code]))} {predicted}"
    if target < 0:
        actual = str(row.cells.column(data.target)[0].as_py()).strip()
        return predicted, actual, f"{lead}; {actual} is unknown to the model."
    if code != target:
        lead += f", {format_share(float(row.prediction[target]))} {data.classes[target]}"
    return predicted, data.classes[target], f"{lead}."


def _describe_number(row: HardRow) -> tuple[str, str, str]:
    """Return the predicted and the actual number, and a sentence on the error."""
    error = float(row.target - row.prediction)
    lead = f"The prediction is {format_value(abs(error))} too {'low' if error > 0 else 'high'}."
    return format_value(float(row.prediction)), format_value(float(row.target)), lead


def _texts(data: ReportData, row: HardRow) -> list[str]:
    """Return the texts of a row of a text model."""
    if not data.is_text_model:
        return []
    texts = [row.cells.column(field.name)[0].as_py() for field in data.schema.predictors if field.kind == "text"]
    return [format_short(text, _TEXT_LENGTH) for text in texts if text]


def _effects_table(explanation: Explanation) -> Table:
    lines = explanation.lines(_MAX_EFFECTS)
    # The base of a number can be far from 0: it has no bar, and does not scale the others.
    first = 1 if explanation.probability is None else 0
    longest = max((abs(line.effect) for line in lines[first:]), default=1.0) or 1.0
    rows = [
        (
            format_short(line.name, _CELL_LENGTH),
            format_signed(line.effect),
            Bar(line.effect, longest) if index >= first else "",
        )
        for index, line in enumerate(lines)
    ]
    against = "" if explanation.against is None else f" of {explanation.prediction} against {explanation.against}"
    caption = f"Contributions to the {explanation.unit}{against}: {format_signed(explanation.total)}"
    return Table(caption, [Column("feature"), Column("effect", "number"), Column("bar", "graphic")], rows)


def _cells_table(data: ReportData, row: HardRow) -> Table:
    cells = [
        (field.name, format_short(row.cells.column(field.name)[0].as_py(), _CELL_LENGTH))
        for field in data.schema.predictors
    ]
    return Table("Cells of the row", [Column("column"), Column("cell")], cells)
