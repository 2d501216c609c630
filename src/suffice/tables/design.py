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
#: Rows of a matrix that are written at a time, so that they stay in a cache.
_CACHED = 4096
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
        return self.width > WIDE or self.has_words

    @property
    def has_words(self) -> bool:
        """Whether some columns are words of a text."""
        return any(isinstance(term, Words) for term in self.terms)

    @cached_property
    def stored(self) -> int:
        """How many numbers a row of the matrix stores where it is CSR: one for each category; words apart."""
        return sum(map(_stored, self._without_words))

    @cached_property
    def _without_words(self) -> list[Number | Levels]:
        return [term for term in self.terms if not isinstance(term, Words)]

    def encode(self, block: Block, is_sparse: bool | None = None) -> Any:
        """Return rows as a matrix, (n, d), dense or CSR."""
        columns = _columns(block)
        if not (self.is_sparse if is_sparse is None else is_sparse):
            matrix = np.empty((block.rows, self.width))
            self._write_numbers(columns, matrix, self.spans)
            for term in self._without_words:
                if isinstance(term, Levels):
                    term.encode(columns[term.feature], matrix[:, self.spans[term.feature]])
            return matrix
        if not self.has_words:
            return self._encode_sparse(columns, block.rows)
        parts = [
            term.encode(columns[term.feature])
            if isinstance(term, Words)
            else Design(self.features, (term,))._encode_sparse(columns, block.rows)
            for term in self.terms
        ]
        return sparse.hstack(parts, format="csr", dtype=np.float64)

    def _encode_sparse(self, columns: Mapping[str, Any], rows: int) -> Any:
        """Return rows without words as CSR, in which every row stores as many numbers; some of them may be 0."""
        data, indices = np.ones((rows, self.stored)), np.empty((rows, self.stored), dtype=np.int32)
        spans: dict[str, slice] = {}
        end = 0
        for term in self._without_words:
            first, start = self.spans[term.feature].start, end
            end += _stored(term)
            spans[term.feature] = slice(start, end)
            if isinstance(term, Number):
                indices[:, start:end] = np.arange(first, first + end - start, dtype=np.int32)
            elif start < end:
                places = term.places(columns[term.feature])
                unseen = np.flatnonzero(places < 0)
                places[unseen] = 0
                data[unseen, start] = 0.0
                np.add(places, np.int32(first), out=indices[:, start])
        self._write_numbers(columns, data, spans)
        ends = np.arange(0, self.stored * rows + 1, self.stored or 1, dtype=np.int32)[: rows + 1]
        return sparse.csr_array((data.ravel(), indices.ravel(), ends), shape=(rows, self.width))

    def _write_numbers(self, columns: Mapping[str, Any], matrix: FloatArray, spans: Mapping[str, slice]) -> None:
        """Write the columns of numbers to some columns of a matrix, (n, ...)."""
        numbers = [term for term in self.terms if isinstance(term, Number)]
        for start in range(0, len(matrix), _CACHED):
            some = slice(start, start + _CACHED)
            for term in numbers:
                term.encode(columns[term.feature][some], matrix[some, spans[term.feature]])

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


def _stored(term: Number | Levels) -> int:
    """Return how many numbers of each row are stored of a term where the matrix is CSR."""
    return len(term.names) if isinstance(term, Number) else min(len(term.names), 1)


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
