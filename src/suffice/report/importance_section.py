"""Why the model answers as it does: the most telling columns, and the hardest rows, taken apart."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from suffice.explain import Explanation
from suffice.report.markup import (
    Raw,
    Section,
    bar,
    paragraph,
    plural,
    share,
    shown,
    table,
    text,
)
from suffice.report.report_data import HardRow, Seen
from suffice.statistics.base import FloatArray
from suffice.tables import TableError
from suffice.tables.encoding import Names
from suffice.tables.sources.base import arrow

#: Columns and reasons that are shown, at most.
_COLUMNS, _REASONS = 20, 8
#: Numbers that effects may take: rows by features by classes.
_NUMBERS = 4_000_000
#: The share of rows that a name must have to be named as one that speaks for something.
_FREQUENT = 0.02
_PICTURE = Raw('<span class="unseen">bar</span>')


class Effects:
    """What features add to the answers to some rows, about their own mean.

    Parameters
    ----------
    seen
        The model and the table.
    """

    def __init__(self, seen: Seen) -> None:
        features, k = seen.block.features, max(len(seen.classes), 1)
        self.places = seen.some(max(100, _NUMBERS // (k * len(features))))
        self.block = seen.block[self.places]
        self.names = [feature.name for feature in features]
        parts, _ = seen.model.predictor_.effects(self.block)
        if k == 2:
            stacked = (parts[1] - parts[0])[:, :, None]  # log-odds of the second class
        else:
            stacked = np.stack(parts, axis=2)
            stacked = stacked - stacked.mean(axis=2, keepdims=True) if k > 1 else stacked
        stacked = np.where(np.isfinite(stacked), stacked, 0.0)
        self.effects: FloatArray = stacked - stacked.mean(axis=0)  # (n, features, k or 1)
        self.strengths: FloatArray = np.abs(self.effects).mean(axis=(0, 2))

    def order(self) -> list[str]:
        """Return the features, those that move answers most first."""
        return [self.names[place] for place in np.argsort(-self.strengths, kind="stable")]


def effects_of(seen: Seen) -> Effects | None:
    """Return what features add; None where the model does not say so, or says it word by word."""
    if seen.reads_text:
        return None
    try:
        return Effects(seen)
    except TableError:
        return None


def telling_section(seen: Seen, effects: Effects | None) -> Section | None:
    """Return the section about the most telling columns; None where the model does not tell, or reads words alone."""
    if effects is None:
        return None
    unit = {"classes": "score", "numbers": seen.target, "counts": "score"}[seen.task]
    if len(seen.classes) == 2:
        unit = f"log-odds of {seen.classes[1]}"
    elif seen.task == "counts":
        unit = "log of the expected count" if _is_log(seen) else "expected count"
    longest = float(effects.strengths.max(initial=0.0))
    rows = []
    for name in effects.order()[:_COLUMNS]:
        place = effects.names.index(name)
        strength = float(effects.strengths[place])
        if strength > 1e-9 * longest:
            rows.append(
                (name, _three(strength), bar(strength, longest, signed=False), _direction(seen, effects, place))
            )
    body = paragraph(
        f"How far each column moves the {unit} from its average, up or down, in the mean over "
        f"{plural(effects.block.rows, 'row')}."
    )
    head = ["column", "moves it by", _PICTURE, "how"]
    return Section(
        "telling", "What tells most", body + table("The most telling columns", head, rows, numbers=[1], words=[3])
    )


def _three(value: float) -> str:
    return shown(float(f"{value:.3g}"))


def _is_log(seen: Seen) -> bool:
    return type(seen.model.estimator_).__name__ == "PoissonRegression"


def _direction(seen: Seen, effects: Effects, place: int) -> str:
    """Return which cells speak for what."""
    column = effects.block.columns[place]
    if isinstance(column, list):
        return "by its words"
    code = int(np.abs(effects.effects[:, place]).mean(axis=0).argmax())  # the class that it moves most
    effect = effects.effects[:, place, code]
    if seen.task == "classes":
        what = seen.classes[1 if len(seen.classes) == 2 else code]
        gain, loss = f"for {what}", f"against {what}"
    else:
        gain, loss = f"more {seen.target}", f"less {seen.target}"
    if isinstance(column, Names):
        return _names_for(column, effect, gain, loss)
    known = np.isfinite(column)
    if not known.any() or np.ptp(column[known]) == 0 or np.ptp(effect[known]) == 0:
        return "only whether it is missing" if not known.all() else ""
    slope = float(np.corrcoef(column[known], effect[known])[0, 1])
    if abs(slope) < 0.5:
        return f"rises and falls {gain}"
    if seen.block.features[place].kind == "boolean":
        return f"true: {gain if slope > 0 else loss}"
    return f"high: {gain}; low: {loss}" if slope > 0 else f"low: {gain}; high: {loss}"


def _names_for(column: Names, effect: FloatArray, gain: str, loss: str) -> str:
    names = [*map(str, column.vocabulary), "missing"]
    codes = np.where(column.codes < 0, len(names) - 1, column.codes)
    counts = np.bincount(codes, minlength=len(names))
    means = np.bincount(codes, effect, minlength=len(names)) / np.maximum(counts, 1)
    frequent = counts >= max(5, _FREQUENT * len(codes))
    most = int(np.where(frequent, means, -np.inf).argmax())
    least = int(np.where(frequent, means, np.inf).argmin())
    return f"{names[most]}: {gain}; {names[least]}: {loss}" if most != least and frequent.any() else ""


# Hard rows.


def hard_section(seen: Seen) -> Section:
    """Return the section about the rows that were hardest."""
    every = [*seen.wrong, *seen.unsure]
    explained: list[Explanation | None] = [None] * len(every)
    if every:
        with suppress(TableError):  # a model without parts to show
            explained = list(seen.model.explain(arrow().Table.from_batches([row.cells for row in every])))
    cards = [_card(seen, row, why) for row, why in zip(every, explained, strict=True)]
    wrong, unsure = cards[: len(seen.wrong)], cards[len(seen.wrong) :]
    return Section("hard", "The hardest rows", _wrong(seen, wrong) + _unsure(unsure))


def _wrong(seen: Seen, cards: list[str]) -> str:
    if not cards:
        return paragraph("No row was answered wrongly.")
    if seen.task == "classes":
        what = "The row" if len(cards) == 1 else f"The {len(cards)} rows"
        say = f"{what} to whose own class the model gave least probability, and which it took for another."
    else:
        say = f"{plural(len(cards), 'row')} from which the model's answer is furthest away."
    title = "Most confidently wrong" if seen.task == "classes" else "Furthest off"
    return f'<h3>{title}</h3>{paragraph(say)}<div class="cards">{"".join(cards)}</div>'


def _unsure(cards: list[str]) -> str:
    if not cards:
        return ""
    say = "Rows for which the two most probable classes are nearly level."
    return f'<h3>Least sure</h3>{paragraph(say)}<div class="cards">{"".join(cards)}</div>'


def _card(seen: Seen, row: HardRow, why: Explanation | None) -> str:
    if seen.task == "classes":
        said, true = int(row.answer.argmax()), int(row.value)
        own = f", and {share(float(row.answer[true]))} to {seen.classes[true]}"
        if said == true:
            head, own = f"{seen.classes[said]}, and so it is", ""
        elif true >= 0:
            head = f"{seen.classes[said]}, but is {seen.classes[true]}"
        else:
            name = str(row.cells.column(seen.target)[0].as_py()).strip()
            head, own = f"{seen.classes[said]}, but is {name}", "; it does not know its class"
        lead = f"It gave {share(float(row.answer[said]))} to {seen.classes[said]}{own}."
    else:
        error = float(row.value - row.answer)
        head = f"{shown(float(row.answer))}, but is {shown(float(row.value))}"
        lead = f"That is {shown(abs(error))} too {'little' if error > 0 else 'much'}."
    title = f"<h4>Row {row.place + 1:,}: taken for {text(head, 90)}</h4>"
    quote = _quote(seen, row)
    body = _cells(seen, row) if why is None else _reasons(why, seen.reads_text)
    return f"<article>{title}{paragraph(lead)}{quote}{body}</article>"


def _quote(seen: Seen, row: HardRow) -> str:
    """Return the texts of a row whose words are the reasons."""
    if not seen.reads_text:
        return ""
    texts = [row.cells.column(field.name)[0].as_py() for field in seen.schema.predictors if field.kind == "text"]
    return "".join(f"<blockquote>{text(each, 400)}</blockquote>" for each in texts if each)


def _reasons(why: Explanation, words: bool) -> str:
    first = "prior and base" if why.probability is not None else "base"
    rows: list[tuple[str, Any]] = [(first, why.base)]
    rows.extend((_reason(each.feature, each.value, words), each.effect) for each in why.contributions[:_REASONS])
    if len(why.contributions) > _REASONS:
        rest = why.contributions[_REASONS:]
        rows.append((plural(len(rest), "other"), sum(reason.effect for reason in rest)))
    # The base of a number may be far from nothing, and would make all bars short.
    longest = max((abs(effect) for _, effect in rows[1 if why.probability is None else 0 :]), default=1.0) or 1.0
    against = "" if why.against is None else f" of {why.prediction} against {why.against}"
    caption = f"What adds up to the {why.unit}{against}: {_signed(why.total)}"
    lines = [(Raw(text(name, 60)), _signed(effect), bar(effect, longest)) for name, effect in rows]
    if why.probability is None:
        lines[0] = (*lines[0][:2], Raw(""))
    return table(caption, ["reason", "adds", _PICTURE], lines, numbers=[1])


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−") if abs(value) < 1000 else ("+" if value > 0 else "") + shown(value)


def _reason(column: str, value: Any, words: bool) -> str:
    if words:
        return f"{column} × {value}" if value > 1 else column
    return f"{column} = {shown(value)}"


def _cells(seen: Seen, row: HardRow) -> str:
    cells = [(field.name, text(row.cells.column(field.name)[0].as_py(), 60)) for field in seen.schema.predictors]
    return table("Its cells", ["column", "cell"], [(name, Raw(cell)) for name, cell in cells])
