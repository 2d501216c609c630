"""The column that is predicted: classes as codes, numbers and counts as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.blocks import names
from suffice.tables.cells import TRUTH_WORDS, as_floats, type_of
from suffice.tables.errors import TableError, listed
from suffice.tables.schema import Schema


@dataclass(frozen=True, eq=False)
class Answers:
    """What the target says of some rows.

    Parameters
    ----------
    known
        Which rows of the batch have a target; all others are left out.
    labels
        The classes among them; empty where the target is a number.
    values
        Of the rows that are known: codes of the labels, or numbers.
    """

    known: npt.NDArray[np.bool_]
    labels: Labels
    values: npt.NDArray[Any]

    @classmethod
    def of(cls, column: Any, schema: Schema, first: int = 0) -> Answers:
        """Return the targets of a batch, checked to be what the schema says."""
        kind = type_of(column.type)
        if kind == "other":
            raise TableError(f"the target {schema.target!r} holds {column.type}: predict a class or a number")
        if schema.task == "classes":
            found = names(column, schema.missing)
            known = found.codes >= 0
            plain = [_typed(str(name), schema.field(schema.target).type) for name in found.vocabulary]
            labels = Labels.of(plain)
            return cls(known, labels, labels._places(plain)[found.codes[known]])
        if kind not in ("number", "whole"):
            raise TableError(f"the target {schema.target!r} must hold numbers; it holds {column.type}")
        cells = as_floats(column)
        known = ~np.isnan(cells)
        values = cells[known]
        bad = np.isinf(values) | ((values < 0) | (values != np.floor(values)) if schema.task == "counts" else False)
        if bad.any():
            row = first + int(np.flatnonzero(known)[int(np.argmax(bad))]) + 1
            what = "no count" if schema.task == "counts" else "no number to learn from"
            raise TableError(
                f"the target {schema.target!r} is {values[np.argmax(bad)]:g} in row {row}, which is {what}"
            )
        return cls(known, Labels(), values)

    def into(self, labels: Labels) -> npt.NDArray[np.int64]:
        """Return the codes of the values in another vocabulary."""
        codes = self.places(labels)
        strange = dict.fromkeys(self.unknown(codes))
        if strange:
            raise TableError(
                f"the target holds {listed(strange)}, which the model does not know; it knows {listed(labels)}: "
                "correct the cells, or fit again"
            )
        return codes

    def places(self, labels: Labels) -> npt.NDArray[np.int64]:
        """Return the codes of the values in another vocabulary, -1 for those that it does not hold."""
        return self.values if labels == self.labels else np.asarray(labels._places(self.labels.names)[self.values])

    def unknown(self, codes: npt.NDArray[np.int64]) -> list[Any]:
        """Return the classes of the rows whose code is -1."""
        return [self.labels.names[value] for value in self.values[codes < 0].tolist()]


def _typed(name: str, kind: str) -> Any:
    """Return the name of a class as what the target was at the fit: a truth value, a number, a string."""
    if kind == "truth":
        return TRUTH_WORDS.get(name.casefold(), name)
    if kind in ("whole", "number"):
        for read in (int, float):
            try:
                return read(name)
            except ValueError:
                continue
    return name


class Bins:
    """Numbers as classes, for a description of the rows around them.

    Examples
    --------
    >>> bins = Bins.of(np.arange(100.0), 4)
    >>> bins.codes(np.array([3.0, 99.0])).tolist()
    [0, 3]
    """

    def __init__(self, edges: FloatArray) -> None:
        self.edges = np.asarray(edges, dtype=np.float64)
        self.labels = Labels(tuple(range(len(self.edges) + 1)))

    @classmethod
    def of(cls, values: FloatArray, count: int = 5) -> Bins:
        """Return bins of about as many numbers each."""
        return cls(np.unique(np.quantile(values, np.linspace(0, 1, count + 1)[1:-1])))

    def codes(self, values: FloatArray) -> npt.NDArray[np.int64]:
        """Return the bin of each number."""
        return np.searchsorted(self.edges, values, side="right").astype(np.int64)
