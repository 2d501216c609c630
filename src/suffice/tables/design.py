"""A table as a matrix of numbers, for models with linear predictors: levels, curves, gaps and words become columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.blocks import Block, Names, moved
from suffice.tables.errors import TableError
from suffice.tables.schema import Feature

#: A matrix of more columns than this is kept sparse.
WIDE = 300
#: A category with more levels than this is no use to a linear model.
LEVELS = 1000
#: How many places a curve bends at, at most; a column of so few values bends at each of them.
BENDS = 8
VALUES = 32
#: Words that are told apart in a column of text, and the rows that must hold one.
WORDS = 5000
WORD_ROWS = 3


@dataclass(frozen=True)
class Number:
    """A number, about its mean and in units of its spread; with bends, a curve of straight pieces."""

    feature: str
    centre: float
    scale: float
    gaps: bool  # whether there is a column for missing cells
    bends: tuple[float, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        bends = [f"{self.feature} > {bend:g}" for bend in self.bends]
        return [self.feature, *bends, *([f"{self.feature} missing"] if self.gaps else [])]

    def encode(self, cells: FloatArray) -> FloatArray:
        """Return the columns, (n, width); a missing cell counts as the mean."""
        known = ~np.isnan(cells)
        z = np.where(known, (cells - self.centre) / self.scale, 0.0)
        bent = [np.maximum(z - (bend - self.centre) / self.scale, 0.0) for bend in self.bends]
        return np.stack([z, *bent, *([(~known).astype(np.float64)] if self.gaps else [])], axis=1)


@dataclass(frozen=True)
class Levels:
    """A category: one column for each level but the first, which stands for all that is never seen."""

    feature: str
    levels: tuple[str, ...]  # the most frequent first
    gaps: bool

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        shown = [f"{self.feature} = {level}" for level in self.levels[1:]]
        return [*shown, *([f"{self.feature} missing"] if self.gaps else [])]

    def codes(self, column: Names) -> npt.NDArray[np.int64]:
        """Return the column that is 1 in each row, -1 where none is."""
        order = Labels(tuple(sorted(self.levels)))
        column_of = {level: place - 1 for place, level in enumerate(self.levels)}
        places = np.array([*(column_of[str(level)] for level in order), -1, -1], dtype=np.int64)
        found = places[moved(column, order, unknown=len(order))]
        return np.where(column.codes < 0, len(self.levels) - 1 if self.gaps else -1, found)

    def encode(self, column: Names) -> FloatArray:
        """Return the columns, (n, width)."""
        codes = self.codes(column)
        columns = np.zeros((len(codes), len(self.names)))
        seen = np.flatnonzero(codes >= 0)
        columns[seen, codes[seen]] = 1.0
        return columns


@dataclass(frozen=True)
class Words:
    """A text: one column for each of its frequent words, 1 in the rows that hold it."""

    feature: str
    words: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [f"{self.feature}: {word}" for word in self.words]

    def encode(self, texts: list[str]) -> Any:
        """Return the columns, (n, width) CSR."""
        from suffice.text import CountVectorizer

        return CountVectorizer(vocabulary=list(self.words), binary=True).fit(texts).transform(texts)


Term = Number | Levels | Words


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

    @property
    def width(self) -> int:
        """How many columns the matrix has."""
        return len(self.names)

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is CSR."""
        return self.width > WIDE or any(isinstance(term, Words) for term in self.terms)

    @property
    def is_straight(self) -> bool:
        """Whether the columns of two such matrices are linear in one another: they have no bends and no words."""
        return not any(isinstance(term, Words) or (isinstance(term, Number) and term.bends) for term in self.terms)

    def encode(self, block: Block) -> Any:
        """Return rows as a matrix, (n, d), dense or CSR."""
        columns = {feature.name: column for feature, column in zip(block.features, block.columns, strict=True)}
        parts = [term.encode(columns[term.feature]) for term in self.terms]
        if self.is_sparse:
            return sparse.hstack([sparse.csr_array(part) for part in parts], format="csr", dtype=np.float64)
        return np.concatenate(parts, axis=1)

    def grouped(self, contributions: Any) -> FloatArray:
        """Return what the columns of each feature add together, (n, features), of what each column adds, (n, d)."""
        places = sparse.csr_array(
            (np.ones(self.width), (np.arange(self.width), self.owners)), shape=(self.width, len(self.features))
        )
        found: Any = contributions @ places
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    def completed(self, levels: Mapping[str, Sequence[str]], gaps: Mapping[str, bool]) -> Design:
        """Return the design with columns for levels and gaps that it lacks."""
        terms: list[Term] = []
        for term in self.terms:
            if isinstance(term, Levels):
                more = tuple(level for level in levels[term.feature] if level not in term.levels)
                terms.append(replace(term, levels=term.levels + more, gaps=term.gaps or gaps[term.feature]))
            elif isinstance(term, Number):
                terms.append(replace(term, gaps=term.gaps or gaps[term.feature]))
            else:
                terms.append(term)
        return Design(self.features, tuple(terms))

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

    # Two designs.

    def union(self, other: Design) -> Design:
        """Return a design in which the columns of both can be said."""
        if not (self.is_straight and other.is_straight) or self.features != other.features:
            raise TableError("models with curves or words cannot be merged: fit one model to all rows")
        theirs = {term.feature: term for term in other.terms}
        return Design(self.features, tuple(_united(term, theirs[term.feature]) for term in self.terms))

    def into(self, other: Design) -> tuple[FloatArray, FloatArray]:
        """Return the matrix A and the vector b with which rows x of this design are rows A x + b of another."""
        A, b = np.zeros((other.width, self.width)), np.zeros(other.width)
        mine, theirs = _starts(self), _starts(other)
        for term, target in zip(self.terms, other.terms, strict=True):
            rows = slice(theirs[target.feature], theirs[target.feature] + len(target.names))
            columns = slice(mine[term.feature], mine[term.feature] + len(term.names))
            A[rows, columns], b[rows] = _translation(term, target)
        return A, b


def _starts(design: Design) -> dict[str, int]:
    ends = np.cumsum([len(term.names) for term in design.terms]).tolist()
    return {term.feature: end - len(term.names) for term, end in zip(design.terms, ends, strict=True)}


def _united(one: Term, two: Term) -> Term:
    if isinstance(one, Number) and isinstance(two, Number):
        return Number(one.feature, one.centre, one.scale, one.gaps or two.gaps)
    assert isinstance(one, Levels)
    assert isinstance(two, Levels)
    more = tuple(level for level in two.levels if level not in one.levels)
    return Levels(one.feature, one.levels + more, one.gaps or two.gaps)


def _translation(term: Term, target: Term) -> tuple[FloatArray, FloatArray]:
    A, b = np.zeros((len(target.names), len(term.names))), np.zeros(len(target.names))
    if isinstance(term, Number) and isinstance(target, Number):
        A[0, 0] = term.scale / target.scale
        b[0] = (term.centre - target.centre) / target.scale
        if term.gaps:
            A[0, -1] = -b[0]  # a missing cell is the mean of either
            A[-1, -1] = 1.0
        return A, b
    assert isinstance(term, Levels)
    assert isinstance(target, Levels)
    for place, level in enumerate(target.levels[1:]):
        if level in term.levels[1:]:
            A[place, term.levels.index(level) - 1] = 1.0
        elif level == term.levels[0]:  # what was left out is what the others are not
            A[place, :] = -1.0
            b[place] = 1.0
    if term.gaps:
        A[-1, -1] = 1.0
    return A, b


# Making a design.


def design_of(block: Block, *, curves: bool = False, text: bool = False, sample: Block | None = None) -> Design:
    """Return the design that rows suggest.

    Parameters
    ----------
    block
        The rows.
    curves
        Whether numbers bend.
    text
        Whether words have columns.
    sample
        Rows that bends are placed by; the rows themselves by default.
    """
    terms: list[Term] = []
    for place, (feature, column) in enumerate(zip(block.features, block.columns, strict=True)):
        if feature.kind == "text":
            terms.extend([_words(feature.name, column)] if text else [])
        elif feature.kind == "category":
            if len(column.vocabulary) <= LEVELS:
                terms.append(_levels(feature.name, column))
        else:
            bending = sample.columns[place] if sample is not None else column
            bends = bends_of(bending) if curves and feature.kind != "boolean" else ()
            terms.append(_number(feature.name, column, bends))
    terms = [term for term in terms if term.names]
    if not terms:
        raise TableError("no column can be turned into numbers for a linear model: use --model nb or text")
    return Design(block.features, tuple(terms))


def _number(name: str, cells: FloatArray, bends: tuple[float, ...]) -> Number:
    known = cells[~np.isnan(cells)]
    centre = float(known.mean()) if known.size else 0.0
    spread = float(known.std()) if known.size else 0.0
    return Number(name, centre, spread if spread > 0 else 1.0, bool(known.size < cells.size), bends)


def _levels(name: str, column: Names) -> Levels:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
    seen = [place for place in np.argsort(-counts, kind="stable") if counts[place]]
    return Levels(name, tuple(str(column.vocabulary.names[place]) for place in seen), bool((column.codes < 0).any()))


def _words(name: str, texts: list[str]) -> Words:
    from suffice.text import CountVectorizer

    try:
        found = CountVectorizer(binary=True, min_df=WORD_ROWS, max_features=WORDS).fit(texts)
    except ValueError:  # no word is in enough rows
        return Words(name, ())
    return Words(name, tuple(map(str, found.get_feature_names_out())))


def bends_of(cells: FloatArray) -> tuple[float, ...]:
    """Return where a curve through numbers may bend: between its few values, or at quantiles of many.

    Examples
    --------
    >>> bends_of(np.array([1.0, 2.0, 2.0, 3.0, np.nan]))
    (2.0,)
    """
    known = cells[~np.isnan(cells)]
    values = np.unique(known)
    if len(values) <= VALUES:
        return tuple(values[1:-1].tolist())
    # Quantiles of the rows and of the distinct values: a column that is nearly always 0 bends beyond it, too.
    levels = np.linspace(0, 1, BENDS + 2)[1:-1]
    both = np.unique(np.concatenate([np.quantile(known, levels), np.quantile(values, levels[1::2])]))
    return tuple(both[(both > values[0]) & (both < values[-1])].tolist())


def joined(matrices: Sequence[Any]) -> Any:
    """Return rows of several matrices in one."""
    if len(matrices) == 1:
        return matrices[0]
    return sparse.vstack(matrices, format="csr") if sparse.issparse(matrices[0]) else np.concatenate(matrices)
