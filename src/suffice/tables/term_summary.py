"""Summary of an additive model: the importance of its terms, and their effects with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.additive.scorer import AdditiveScorer
from suffice.additive.terms import AdditiveTerm
from suffice.html_fragments import fragment, notes, table, title
from suffice.model_types import Task
from suffice.statistics.base import FloatArray

#: A printed table has at most this many terms.
LONGEST = 50
#: Cells with a smaller share of the rows are not shown as the lowest or highest of a term.
_LEAST_SHARE = 0.005
_HEADS = ("term", "importance", "lowest effect", "highest effect")


@dataclass(frozen=True, eq=False, repr=False)
class TermSummary:
    """The terms of an additive model, the most important first.

    The importance of a term is its mean absolute effect over the rows that were learned. Effects are on the log-odds of
    the second of two classes, on the scores of more classes, on a number, or on the logarithm of a count; their mean
    over the rows is 0. Standard errors are given the other terms and the penalties.

    Parameters
    ----------
    scorer
        The model.
    booleans, words
        Names of the columns that are booleans, and that are words of texts.
    task
        What is predicted.
    notes
        Remarks below the table.

    Examples
    --------
    >>> import suffice
    >>> from suffice.demo import houses
    >>> found = suffice.TableModel("additive", columns={"note": "ignore"}).fit(houses(), "price").summary()
    >>> found.to_dict()["terms"][0]["name"], found.frame().columns.tolist()
    ('area', ['term', 'cell', 'effect', 'std_error', 'share'])
    """

    scorer: AdditiveScorer
    booleans: frozenset[str]
    words: frozenset[str]
    task: Task
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the terms as plain values: importance, and effect, standard error and share of rows by cell."""
        return {
            "title": self._title,
            "unit": self._unit,
            "classes": list(self.scorer.labels) or None,
            "intercept": self.scorer.intercept.tolist(),
            "terms": [
                {
                    "name": term.name,
                    "importance": term.importance,
                    "cells": [list(map(str, self._labels(term, at))) for at in range(len(term.columns))],
                    "effects": term.values.tolist(),
                    "std_errors": term.errors.tolist(),
                    "shares": term.density.tolist(),
                }
                for term in self._terms
            ],
            "notes": list(self.notes),
        }

    def frame(self) -> Any:
        """Return the effects as a pandas data frame: a row for each term, cell and predictor."""
        import pandas as pd

        rows = []
        for term in self._terms:
            values, errors = term.values.reshape(term.fitted.cells, -1), term.errors.reshape(term.fitted.cells, -1)
            for cell in range(term.fitted.cells):
                for at, name in enumerate(self._predictors):
                    label, share = self._cell(term, cell), float(term.density.ravel()[cell])
                    row = (term.name, label, name, float(values[cell, at]), float(errors[cell, at]), share)
                    rows.append(row)
        columns = ["term", "cell", "class", "effect", "std_error", "share"]
        found = pd.DataFrame(rows, columns=columns)
        return found if self.scorer.labels else found.drop(columns="class")

    def __str__(self) -> str:
        rows = [_HEADS, *self._rows()]
        widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADS))]
        lines = [
            "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join([self._title, f"effects on the {self._unit}", "", *lines, *self._remarks()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = title(f"{self._title}, effects on the {self._unit}")
        return fragment(head, table(_HEADS, self._rows()), notes(self._remarks()))

    @property
    def _terms(self) -> list[AdditiveTerm]:
        return sorted(self.scorer.terms, key=lambda term: -term.importance)

    @property
    def _title(self) -> str:
        pairs = sum(len(term.columns) == 2 for term in self.scorer.terms)
        return f"additive model: {len(self.scorer.terms) - pairs} terms of columns, {pairs} of pairs"

    @property
    def _unit(self) -> str:
        labels = self.scorer.labels.names
        if len(labels) == 2:
            return f"log-odds of {labels[1]}"
        if labels:
            return "scores of the classes"
        return "log of the expected count" if self.scorer.link == "log" else "expected number"

    @property
    def _predictors(self) -> list[Any]:
        labels = self.scorer.labels.names
        return [labels[1]] if len(labels) == 2 else list(labels) or [None]

    def _rows(self) -> list[tuple[str, str, str, str]]:
        found = []
        for term in self._terms[:LONGEST]:
            values = term.values.reshape(term.fitted.cells, -1)
            errors = term.errors.reshape(values.shape)
            share = term.density.ravel()
            shown = share >= min(_LEAST_SHARE, float(share.max(initial=0.0)))
            found.append(
                (
                    term.name,
                    f"{term.importance:.4g}",
                    self._extreme(term, np.where(shown[:, None], values, np.inf).argmin(), values, errors),
                    self._extreme(term, np.where(shown[:, None], values, -np.inf).argmax(), values, errors),
                )
            )
        return found

    def _extreme(self, term: AdditiveTerm, at: Any, values: FloatArray, errors: FloatArray) -> str:
        """Return an effect with its standard error and cell, and the class if there are several."""
        cell, predictor = divmod(int(at), values.shape[1])
        of = f" {self._predictors[predictor]}:" if len(self._predictors) > 1 else ""
        value = f"{values[cell, predictor]:+.3g} ± {errors[cell, predictor]:.2g}"
        return f"{value}{of} ({self._cell(term, cell)})"

    def _cell(self, term: AdditiveTerm, cell: int) -> str:
        places = divmod(cell, term.fitted.width) if len(term.columns) == 2 else (cell,)
        return ", ".join(self._labels(term, side)[place] for side, place in enumerate(places))

    def _labels(self, term: AdditiveTerm, side: int) -> tuple[str, ...]:
        """Return what the cells of a column hold; those of booleans and words have names instead of ranges."""
        name, labels = str(term.columns[side]), term.labels[side]
        names = ("false", "true") if name in self.booleans else ("absent", "present") if name in self.words else None
        if names is None:
            return labels
        plain = {"below 0.5": names[0], "0.5 or more": names[1]}
        return tuple(plain.get(label, label) for label in labels)

    def _remarks(self) -> list[str]:
        hidden = len(self.scorer.terms) - LONGEST
        more = [f"... and {hidden} more terms: frame() and to_dict() have all"] if hidden > 0 else []
        remarks = [*more, *self.notes]
        return ["", *remarks] if remarks else []
