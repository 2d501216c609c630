"""Why a row was given its answer: what each column adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from suffice.generative.conditional import log_ratio
from suffice.generative.explanation import compared
from suffice.tables.encoding import Block, Names
from suffice.tables.predictors.base import Predictor
from suffice.tables.predictors.text import TextPredictor


class Reason(NamedTuple):
    """One column's part in the answer to a row."""

    column: str
    value: Any
    effect: float


@dataclass(frozen=True)
class RowExplanation:
    """The answer to a row, taken apart; the parts and the base add up to the total.

    Parameters
    ----------
    row
        The row's place in its table, from 0.
    prediction
        The most probable class, or the expected number.
    probability
        Of the class; None where a number is predicted.
    against
        The class it is compared with: the most probable of the others; None where a number is predicted.
    base
        The prior, and what does not depend on the row.
    total
        The log-odds of the class against the other; or the linear predictor of a number.
    reasons
        What columns add, the strongest first.
    unit
        What is added up.
    """

    row: int
    prediction: Any
    probability: float | None
    against: Any
    base: float
    total: float
    reasons: tuple[Reason, ...]
    unit: str

    def __str__(self) -> str:
        """Show the answer and the strongest reasons."""
        if self.probability is None:
            same = self.unit == "expected number"
            head = (
                f"{self.prediction:.4g}" + ("" if same else f": {self.unit} {self.total:+.4g}") + ", which adds up from"
            )
        else:
            sure = f"{self.prediction}: probability {self.probability:.4f}"
            head = f"{sure}, {self.unit} {self.total:+.3f} against {self.against}"
        lines = [head, f"  {self.base:+9.3f}  {'base' if self.probability is None else 'prior and base'}"]
        lines.extend(f"  {reason.effect:+9.3f}  {cell_shown(reason)}" for reason in self.reasons[:8])
        if len(self.reasons) > 8:
            rest = sum(reason.effect for reason in self.reasons[8:])
            lines.append(f"  {rest:+9.3f}  {len(self.reasons) - 8} others")
        return "\n".join(lines)

    def to_plain(self) -> dict[str, Any]:
        """Return the explanation as plain values."""
        found = dict(vars(self))
        found["reasons"] = [reason._asdict() for reason in self.reasons]
        return found


def cell_shown(reason: Reason) -> str:
    """Return a reason's column and value in a few words."""
    value = "missing" if reason.value is None else reason.value
    value = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"{reason.column} = {value if len(value) <= 60 else value[:57] + '...'}"


def explained(predictor: Predictor, block: Block, batch: Any) -> list[RowExplanation]:
    """Return the answer to each row of a block, taken apart."""
    if isinstance(predictor, TextPredictor):
        return [_worded(predictor, block.first + row, text) for row, text in enumerate(predictor.texts(block))]
    parts, base = predictor.effects(block)
    stacked = np.stack(parts, axis=2)  # (n, features, k)
    totals = base + stacked.sum(axis=1)
    numbers = predictor.scores(block) if predictor.task != "classes" else None
    found = []
    for row in range(block.rows):
        values = [_cell(block, batch, place, row) for place in range(len(block.features))]
        if numbers is not None:
            effects = stacked[row, :, 0]
            level, total = float(base[row, 0]), float(totals[row, 0])
            unit = "log of the expected count" if _is_log(predictor) else "expected number"
            answer: tuple[Any, Any, Any] = (float(numbers[row]), None, None)
        else:
            names = np.array(predictor.labels.names)
            one, two = compared(names, totals[row], None, None)
            effects = log_ratio(stacked[row, :, one], stacked[row, :, two])
            level = float(log_ratio(base[row, one], base[row, two]))
            total = float(log_ratio(totals[row, one], totals[row, two]))
            unit = "log-odds"
            answer = (names[one].item(), float(softmax(totals[row])[one]), names[two].item())
        order = np.argsort(-np.abs(effects), kind="stable")
        reasons = tuple(
            Reason(block.features[place].name, values[place], float(effects[place]))
            for place in order
            if effects[place]
        )
        found.append(RowExplanation(block.first + row, *answer, level, total, reasons, unit))
    return found


def _is_log(predictor: Predictor) -> bool:
    return type(predictor.inner).__name__ == "PoissonRegression"


def _cell(block: Block, batch: Any, place: int, row: int) -> Any:
    """Return a cell as the table has it; None where it is missing."""
    feature = block.features[place]
    if feature.part is None:
        return batch.column(feature.column)[row].as_py()
    column = block.columns[place]
    if isinstance(column, Names):
        code = int(column.codes[row])
        return None if code < 0 else column.vocabulary.names[code]
    return None if np.isnan(column[row]) else str(np.datetime64(int(column[row]), "D"))


def _worded(predictor: TextPredictor, row: int, text: str) -> RowExplanation:
    """Return the answer to a text, word by word."""
    found = predictor.inner.explain(text)
    answer = found.compare()
    reasons = tuple(Reason(reason.word, reason.times, reason.log_odds) for reason in found.reasons())
    return RowExplanation(
        row,
        answer.label.item(),
        float(found.probabilities.max()),
        answer.against.item(),
        answer.base,
        answer.log_odds,
        reasons,
        "log-odds",
    )
