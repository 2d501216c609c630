"""A table as a matrix of numbers, for models with linear predictors: levels, curves, gaps and words become columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.statistics.base import FloatArray
from suffice.tables.blocks import Block, Names
from suffice.tables.errors import TableError
from suffice.tables.schema import Feature
from suffice.tables.terms import (
    Levels,
    Number,
    Term,
    Words,
    levels_of,
    number_of,
    settled,
    translation,
    united,
    words_of,
)

#: A matrix of more columns than this is kept sparse.
WIDE = 300
#: A category with more levels than this is no use to a linear model.
LEVELS = 1000


@dataclass(frozen=True, eq=False)
class Design:
    """How rows of a table become rows of a matrix.

    Parameters
    ----------
    features
        The features of the table.
    terms
        What the matrix is made of, from left to right.
    """

    features: tuple[Feature, ...]
    terms: tuple[Term, ...]

    @cached_property
    def names(self) -> list[str]:
        """The names of the matrix's columns."""
        return [name for term in self.terms for name in term.names]

    @cached_property
    def owners(self) -> npt.NDArray[np.int64]:
        """The feature that each column of the matrix was made of, (d,)."""
        places = {feature.name: place for place, feature in enumerate(self.features)}
        return np.repeat([places[term.feature] for term in self.terms], [len(term.names) for term in self.terms])

    @cached_property
    def spans(self) -> dict[str, slice]:
        """The columns of the matrix that each feature's term has."""
        ends = np.cumsum([len(term.names) for term in self.terms]).tolist()
        return {term.feature: slice(end - len(term.names), end) for term, end in zip(self.terms, ends, strict=True)}

    @property
    def width(self) -> int:
        """How many columns the matrix has."""
        return len(self.names)

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is CSR."""
        return self.width > WIDE or any(isinstance(term, Words) for term in self.terms)

    def encode(self, block: Block) -> Any:
        """Return rows as a matrix, (n, d), dense or CSR."""
        columns = _columns(block)
        if self.is_sparse:
            parts = [_sparse(term, columns[term.feature], block.rows) for term in self.terms]
            return sparse.hstack(parts, format="csr", dtype=np.float64)
        matrix = np.empty((block.rows, self.width), order="F")  # written, and mostly read, column after column
        for term in self.terms:
            assert not isinstance(term, Words)
            term.encode(columns[term.feature], matrix[:, self.spans[term.feature]])
        return matrix

    def grouped(self, contributions: Any) -> FloatArray:
        """Return what the columns of each feature add together, (n, features), of what each column adds, (n, d)."""
        places = sparse.csr_array(
            (np.ones(self.width), (np.arange(self.width), self.owners)), shape=(self.width, len(self.features))
        )
        found: Any = contributions @ places
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    # Designs that follow the rows.

    def covering(self, block: Block) -> Design:
        """Return the design with columns for the levels and gaps of some rows that it lacks."""
        columns = _columns(block)
        levels, gaps = {}, {}
        for term in self.terms:
            column = columns[term.feature]
            if isinstance(term, Levels):
                seen = np.unique(column.codes[column.codes >= 0])
                levels[term.feature] = [str(column.vocabulary.names[code]) for code in seen]
                gaps[term.feature] = bool((column.codes < 0).any())
            else:  # a number: what is learned block by block reads no words
                gaps[term.feature] = bool(np.isnan(column).any())
        return self.completed(levels, gaps)

    def completed(self, levels: Mapping[str, Sequence[str]], gaps: Mapping[str, bool]) -> Design:
        """Return the design with columns for levels and gaps that it lacks; itself where it lacks none."""
        terms: list[Term] = []
        for term in self.terms:
            if isinstance(term, Levels):
                more = tuple(level for level in levels[term.feature] if level not in term.levels)
                terms.append(replace(term, levels=term.levels + more, gaps=term.gaps or gaps[term.feature]))
            elif isinstance(term, Number):
                terms.append(replace(term, gaps=term.gaps or gaps[term.feature]))
            else:
                terms.append(term)
        return self if tuple(terms) == self.terms else Design(self.features, tuple(terms))

    def settled(self, rows: float, mean: FloatArray, variance: FloatArray) -> Design:
        """Return the design that rows suggest, of which the means and variances of the columns are known, (d,)."""
        spans = self.spans
        terms = (settled(term, rows, mean[spans[term.feature]], variance[spans[term.feature]]) for term in self.terms)
        return Design(self.features, tuple(terms))

    def union(self, other: Design) -> Design:
        """Return a design of the same features in which the columns of both can be said."""
        theirs = {term.feature: term for term in other.terms}
        terms = (united(term, theirs[term.feature]) for term in self.terms if term.feature in theirs)
        return Design(self.features, tuple(terms))

    def into(self, other: Design) -> tuple[FloatArray, FloatArray]:
        """Return the matrix A and the vector b with which rows x of this design are rows A x + b of another."""
        A, b = np.zeros((other.width, self.width)), np.zeros(other.width)
        mine = {term.feature: term for term in self.terms}
        for target in other.terms:
            rows, columns = other.spans[target.feature], self.spans[target.feature]
            A[rows, columns], b[rows] = translation(mine[target.feature], target)
        return A, b

    # Files.

    def to_plain(self) -> dict[str, Any]:
        """Return the design as plain values."""
        return {
            "features": [list(feature) for feature in self.features],
            "terms": [[type(term).__name__, asdict(term)] for term in self.terms],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Design:
        """Return the design that :meth:`to_plain` wrote."""
        kinds: dict[str, Any] = {"Number": Number, "Levels": Levels, "Words": Words}
        terms = [
            kinds[kind](**{name: tuple(value) if isinstance(value, list) else value for name, value in each.items()})
            for kind, each in plain["terms"]
        ]
        return cls(tuple(Feature(*each) for each in plain["features"]), tuple(terms))


def _sparse(term: Term, column: Any, rows: int) -> Any:
    if not isinstance(term, Number):
        return term.encode_sparse(column)
    matrix = np.empty((rows, len(term.names)))
    term.encode(column, matrix)
    return sparse.csr_array(matrix)


def _columns(block: Block) -> dict[str, Any]:
    return {feature.name: column for feature, column in zip(block.features, block.columns, strict=True)}


def design_of(block: Block, *, curves: bool = False, text: bool = False, apart: bool = False) -> Design:
    """Return the design that rows suggest.

    Parameters
    ----------
    block
        The rows.
    curves
        Whether numbers bend.
    text
        Whether words have columns.
    apart
        Whether one level of each category has no column.
    """
    terms: list[Term] = []
    for feature, column in zip(block.features, block.columns, strict=True):
        if feature.kind == "text":
            words = words_of(feature.name, column) if text else None
            terms.extend([words] if words is not None and words.words else [])
        elif isinstance(column, Names):
            term = levels_of(feature.name, column, apart)
            terms.extend([term] if len(term.levels) <= LEVELS else [])
        else:
            terms.append(number_of(feature.name, column, curves and feature.kind != "boolean"))
    found = Design(block.features, tuple(terms))
    if not found.width:
        raise TableError("no column can be turned into numbers for a linear model: use --model nb or text")
    return found
