"""How models of tables grow, merge and forget."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels, Parts
from suffice.statistics.base import NegativeEvidenceError
from suffice.tables.answering import Answering
from suffice.tables.blocks import Block, ranges_of
from suffice.tables.described import take_out
from suffice.tables.describing import Description
from suffice.tables.errors import TableError
from suffice.tables.ledger import Ledger, UnknownRowError
from suffice.tables.source import Watch
from suffice.tables.targets import Answers


class Algebra(Answering):
    """A model of a table that is a reading of sums."""

    def update(self, table: Any, watch: Watch | None = None) -> Self:
        """Learn from more rows: the sums are exactly those of all rows, as if they had been there from the start.

        What was chosen by held-out rows, such as the temperature of a generative model, stays. Where something is wrong
        with the table, the model stays as it was.
        """
        self._refuse_unless_exact("learn more rows exactly")
        predictor, description, ledger = copy.deepcopy(self.predictor_), copy.deepcopy(self._description), self.ledger_
        rows, ranges = 0, self.ranges_
        for block, values in self._learnt(table, watch):
            predictor.add(block, values)
            ranges = _joined(ranges, ranges_of(block))
            if self.schema_.task != "classes":
                ranges = _joined(ranges, {self.schema_.target: (float(values.min()), float(values.max()))})
            if description is not None:
                more = description.summed(block, self._codes(values), self._description_labels)
                description.remember(description.statistics_ + more)
            if ledger is not None:
                ledger = ledger.plus(block, values, self._labels)
            rows += block.rows
        predictor.settle()
        self._take(predictor, description, ledger, self.rows_ + rows)
        self.ranges_ = ranges
        return self

    def forget(self, table: Any, watch: Watch | None = None) -> dict[str, float]:
        """Unlearn rows exactly, and return a certificate.

        Without a ledger (``ledger=True`` at the fit) a sum cannot tell which rows it was taken over: rows that were
        never learned are refused where counts would be negative or spreads would be, and taken out of the sums
        otherwise. With a ledger, each row must have been learned, and as often as it is given. Where rows cannot be
        forgotten, the model stays as it was.

        Returns
        -------
        dict
            ``rows`` that were taken out, rows that are ``left``, ``digits_lost`` and ``digits_kept`` of each column's
            spread at least, and ``verified``: whether a ledger held each of these rows.
        """
        self._refuse_unless_exact("forget rows")
        predictor, description, ledger = copy.deepcopy(self.predictor_), copy.deepcopy(self._description), self.ledger_
        lost, rows = 0.0, 0
        try:
            for block, answers in self._answered(table, watch):
                values = self._values(answers)
                if ledger is not None:
                    ledger = _ledger_without(ledger, block, answers, values, self._labels)
                lost = max(lost, predictor.remove(block, values))
                if description is not None:
                    gone = description.summed(block, self._codes(values), self._description_labels)
                    lost = max(lost, take_out(description, gone))
                rows += block.rows
        except NegativeEvidenceError as error:
            raise TableError(
                f"some of these rows were never learned, or were forgotten before ({error}): nothing was forgotten"
            ) from None
        if rows >= self.rows_:
            raise TableError("these are all rows that the model has learned: nothing would be left of it")
        predictor.settle()
        self._take(predictor, description, ledger, self.rows_ - rows)
        digits = {"digits_lost": lost, "digits_kept": 15.9 - lost}
        return {"rows": rows, "left": self.rows_, **digits, "verified": ledger is not None}

    def _take(self, predictor: Any, description: Description | None, ledger: Ledger | None, rows: int) -> None:
        self.predictor_, self._description, self.ledger_ = predictor, description, ledger
        self.rows_ = self.fitted_rows_ = rows

    @property
    def _description_labels(self) -> Labels:
        return self._labels if self._bins is None else self._bins.labels

    def _refuse_unless_exact(self, what: str) -> None:
        self._check_fitted()
        if not self.predictor_.form.exact:
            raise self.predictor_.refused(what)

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, Algebra):
            return NotImplemented
        self._refuse_unless_exact("be merged")
        other._refuse_unless_exact("be merged")
        _check_alike(self, other)
        both = type(self)(**self.get_params(deep=False))
        both.predictor_ = self.predictor_.merged(other.predictor_)
        both.predictor_.settle()
        both._temper(self, other)
        both._description = None
        if self._description is not None and other._description is not None:
            both._description = copy.deepcopy(self._description)
            both._description.remember(self._description.statistics_ + _components(self, other))
        both.schema_, both.model_, both.candidates_ = self.schema_, self.model_, []
        both._labels = self._labels.union(other._labels)[0]
        both._bins, both._noise = self._bins, self._noise
        both.rows_, both.skipped_ = self.rows_ + other.rows_, self.skipped_ + other.skipped_
        both.fitted_rows_ = both.rows_
        both.ranges_ = _joined(self.ranges_, other.ranges_)
        both.ledger_ = None
        if self.ledger_ is not None and other.ledger_ is not None:
            both.ledger_ = self.ledger_.merged(other.ledger_)
        both.summed_ = self.summed_ if self.summed_ == other.summed_ else f"{self.summed_} and {other.summed_}"
        return both

    def _temper(self, one: Algebra, two: Algebra) -> None:
        """Take the temperatures of two models together: each counts by its rows.

        The sums are those of all rows; a temperature is what held-out rows of one part or the other asked for.
        """
        if self.predictor_.form.is_tempered:
            shares = [model.rows_ / model.predictor_.inner._temperature() for model in (one, two)]
            inner = self.predictor_.inner
            self.predictor_.inner = inner.with_params(temperature=(one.rows_ + two.rows_) / sum(shares))

    def __radd__(self, other: Any) -> Self:
        """Let ``sum(models)`` start from its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented


def _components(one: Algebra, two: Algebra) -> Any:
    """Return the sums of another's description, whose classes stand for what they do in the first.

    Fifths of the numbers of one table are not those of another's: they become classes of their own.
    """
    assert one._description is not None
    assert two._description is not None
    statistics = two._description.statistics_
    if one._bins is None or two._bins is None or np.array_equal(one._bins.edges, two._bins.edges):
        return statistics
    start = 1 + max(int(label) for label in one._description.statistics_.labels)
    labels = Labels(tuple(start + int(label) for label in statistics.labels))
    return Parts(tuple(replace(part, labels=labels) for part in statistics.parts))


def _joined(one: dict[str, tuple[float, float]], two: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return the ranges that hold those of both."""
    spans = {name: [each[name] for each in (one, two) if name in each] for name in {**one, **two}}
    return {name: (min(low for low, _ in some), max(high for _, high in some)) for name, some in spans.items()}


def _ledger_without(ledger: Ledger, block: Block, answers: Answers, values: npt.NDArray[Any], labels: Labels) -> Ledger:
    """Return a ledger without the rows of a block, or say which of them it does not hold."""
    try:
        return ledger.minus(block, values, labels)
    except UnknownRowError as error:
        row = block.first + int(np.flatnonzero(answers.known)[error.row]) + 1
        raise TableError(
            f"row {row} was never learned, or is given more often than it was learned (it is not in the model's "
            "ledger): nothing was forgotten"
        ) from None


def _check_alike(one: Algebra, two: Algebra) -> None:
    if (one.ledger_ is None) != (two.ledger_ is None):
        raise TableError(
            "one of the models keeps a ledger of its rows and the other none: fit both with --ledger, or drop the "
            "ledger (model.ledger_ = None in Python)"
        )
    for what, mine, theirs in (
        ("form", one.model_, two.model_),
        ("target", one.schema_.target, two.schema_.target),
        ("task", one.schema_.task, two.schema_.task),
    ):
        if mine != theirs:
            raise TableError(f"models of the {what} {mine!r} and {theirs!r} cannot be merged: fit them alike")
    kinds = [{field.name: field.kind for field in model.schema_.predictors} for model in (one, two)]
    for name in {**kinds[0], **kinds[1]}:
        mine, theirs = (each.get(name, "ignore") for each in kinds)
        if mine != theirs:
            raise TableError(
                f"the models take column {name!r} for {mine} and {theirs}: fit both with --kind {name}={mine} "
                f"(columns={{{name!r}: {mine!r}}} in Python)"
            )
    if list(kinds[0]) != list(kinds[1]):
        mine, theirs = next(pair for pair in zip(*kinds, strict=True) if pair[0] != pair[1])
        raise TableError(
            f"the models read columns in different orders, {mine!r} where the other reads {theirs!r}: give both tables "
            "the same order of columns, and fit again"
        )
