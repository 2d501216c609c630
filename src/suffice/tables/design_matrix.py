"""Design matrix of a table: terms (numbers, levels, words) that rows are encoded to for linear predictors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice import _native
from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block, CodedColumn, PackedNumbers
from suffice.tables.errors import TableError
from suffice.tables.schema import Feature

#: How many places a curve bends at, at most; a column of so few values bends at each of them.
BENDS = 8
VALUES = 32
#: Words that are told apart in a column of text, and the rows that must hold one.
WORDS = 5000
WORD_ROWS = 3
#: A mean of so many standard deviations costs about a digit of the sums about 0.
NEAR_ZERO = 10.0


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

    def written(
        self, column: FloatArray | PackedNumbers, place: int
    ) -> tuple[npt.NDArray[Any], float, int, float, float, list[float], bool]:
        """Return what native code writes the columns of, from a place of each row on; a missing cell is the mean."""
        cells, unit = (column.cells, column.unit) if isinstance(column, PackedNumbers) else (column, 1.0)
        return np.ascontiguousarray(cells), unit, place, self.centre, self.scale, list(self.bends), self.gaps


@dataclass(frozen=True)
class Levels:
    """A category: one column for each level.

    Where ``apart`` is true, the first level has no column: it is what the others are not, and stands for all that was
    never seen. A penalty would then depend on which level that is; without one, columns would depend on each other.
    """

    feature: str
    levels: tuple[str, ...]  # the most frequent first
    gaps: bool
    apart: bool

    @property
    def shown(self) -> tuple[str, ...]:
        """The levels that have a column."""
        return self.levels[1:] if self.apart else self.levels

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        shown = [f"{self.feature} = {level}" for level in self.shown]
        return [*shown, *([f"{self.feature} missing"] if self.gaps else [])]

    def written(self, column: CodedColumn, place: int) -> tuple[npt.NDArray[Any], int, list[int]]:
        """Return what native code writes the columns of, from a place of each row on."""
        column_of = {level: place for place, level in enumerate(self.shown)}
        columns = [column_of.get(str(name), -1) for name in column.vocabulary]
        return np.ascontiguousarray(column.codes), place, [len(self.shown) if self.gaps else -1, *columns]


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


# What rows suggest.


def number_term(name: str, cells: FloatArray, curve: bool) -> Number:
    """Return a number with the mean and spread of its cells."""
    known = cells[~np.isnan(cells)]
    centre = float(known.mean()) if known.size else 0.0
    spread = float(known.std()) if known.size else 0.0
    bends = find_knots(known) if curve else ()
    return Number(name, centre, spread if spread > 0 else 1.0, bool(known.size < cells.size), bends)


def levels_term(name: str, column: CodedColumn, apart: bool) -> Levels:
    """Return the levels of a category that occur, the most frequent first."""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
    seen = [place for place in np.argsort(-counts, kind="stable") if counts[place]]
    levels = tuple(str(column.vocabulary.names[place]) for place in seen)
    return Levels(name, levels, bool((column.codes < 0).any()), apart)


def words_term(name: str, texts: list[str]) -> Words:
    """Return the frequent words of a text."""
    from suffice.text import CountVectorizer

    try:
        found = CountVectorizer(binary=True, min_df=WORD_ROWS, max_features=WORDS).fit(texts)
    except ValueError:  # no word is in enough rows
        return Words(name, ())
    return Words(name, tuple(map(str, found.get_feature_names_out())))


def find_knots(known: FloatArray) -> tuple[float, ...]:
    """Return where a curve through numbers may bend: between its few values, or at quantiles of many.

    Examples
    --------
    >>> find_knots(np.array([1.0, 2.0, 2.0, 3.0]))
    (2.0,)
    """
    values = np.unique(known)
    if len(values) <= VALUES:
        return tuple(values[1:-1].tolist())
    # Quantiles of the rows and of the distinct values: a column that is nearly always 0 bends beyond it, too.
    levels = np.linspace(0, 1, BENDS + 2)[1:-1]
    both = np.unique(np.concatenate([np.quantile(known, levels), np.quantile(values, levels[1::2])]))
    return tuple(both[(both > values[0]) & (both < values[-1])].tolist())


# Two terms of one column, without bends and words: each is linear in the other.


def unite_terms(one: Term, two: Term) -> Term:
    """Return a term in which both can be said."""
    if isinstance(one, Number) and isinstance(two, Number):
        return Number(one.feature, one.centre, one.scale, one.gaps or two.gaps)
    assert isinstance(one, Levels)
    assert isinstance(two, Levels)
    more = tuple(level for level in two.levels if level not in one.levels)
    return Levels(one.feature, one.levels + more, one.gaps or two.gaps, one.apart)


def map_term(term: Term, target: Term) -> tuple[FloatArray, FloatArray]:
    """Return the matrix A and the vector b with which columns x of a term are columns A x + b of another.

    Examples
    --------
    >>> celsius, kelvin = Number("t", 0.0, 1.0, False), Number("t", -273.0, 1.0, False)
    >>> map_term(celsius, kelvin)
    (array([[1.]]), array([273.]))
    """
    A, b = np.zeros((len(target.names), len(term.names))), np.zeros(len(target.names))
    if isinstance(term, Number) and isinstance(target, Number):
        A[0, 0] = term.scale / target.scale
        b[0] = (term.centre - target.centre) / target.scale
        if term.gaps:
            A[0, -1] = -b[0]  # a missing cell is the mean of either
            if target.gaps:
                A[-1, -1] = 1.0
        return A, b
    assert isinstance(term, Levels)
    assert isinstance(target, Levels)
    shown = {level: place for place, level in enumerate(term.shown)}
    for place, level in enumerate(target.shown):
        if level in shown:
            A[place, shown[level]] = 1.0
        elif term.levels and level == term.levels[0]:  # what has no column is what the others are not
            A[place, :] = -1.0
            b[place] = 1.0
    if term.gaps and target.gaps:
        A[-1, -1] = 1.0
    return A, b


def restandardise_term(term: Term, rows: float, mean: FloatArray, variance: FloatArray) -> Term:
    """Return the term that rows suggest, of which the means and variances of a term's columns are known.

    Levels and gaps that no row has are left out. So models of the same rows have the same columns, in whichever parts
    the rows came.
    """
    if isinstance(term, Number):
        gaps = term.gaps and rows * mean[-1] >= 0.5
        known = 1.0 - mean[-1] if term.gaps else 1.0
        if known * rows < 0.5:
            return Number(term.feature, term.centre, term.scale, bool(gaps))
        level = mean[0] / known
        spread = float(np.sqrt(max((variance[0] + mean[0] ** 2) / known - level**2, 0.0)))
        scale = term.scale * spread if spread > 1e-7 else term.scale
        return Number(term.feature, float(term.centre + term.scale * level), float(scale), bool(gaps))
    return drop_unused_levels(term, rows, mean)


def recentre_at_zero(term: Term) -> Term:
    """Return a number about 0 instead of its mean, where that costs no digits; other terms as they are.

    So a column that is 0 in all rows that are left after a subtraction can be told from one that has lost its digits.
    """
    near = isinstance(term, Number) and abs(term.centre) <= NEAR_ZERO * term.scale
    return replace(term, centre=0.0) if isinstance(term, Number) and near else term


def drop_unused_levels(term: Term, rows: float, mean: FloatArray) -> Term:
    """Return a term without the levels and gaps that no row has, by the means of its columns."""
    if isinstance(term, Number):
        return Number(term.feature, term.centre, term.scale, bool(term.gaps and rows * mean[-1] >= 0.5))
    assert isinstance(term, Levels)
    counts = count_levels(term, rows, mean)
    kept = sorted((level for level in term.levels if counts[level] > 0), key=lambda level: (-counts[level], level))
    return Levels(term.feature, tuple(kept), bool(term.gaps and rows * mean[-1] >= 0.5), term.apart)


def count_levels(term: Levels, rows: float, mean: FloatArray) -> dict[str, int]:
    """Return how many rows have each level, by the means of the columns."""
    counts = {level: round(rows * float(mean[place])) for place, level in enumerate(term.shown)}
    if term.apart and term.levels:
        counts[term.levels[0]] = round(rows * (1.0 - float(mean.sum())))
    return counts


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
            _native.rows.write_dense(matrix, *self._written(columns, self.spans))
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
        data, indices = np.empty((rows, self.stored)), np.empty((rows, self.stored), dtype=np.int32)
        spans: dict[str, slice] = {}
        first: list[int] = []
        for term in self._without_words:
            start, stored = self.spans[term.feature].start, _stored(term)
            spans[term.feature] = slice(len(first), len(first) + stored)
            first += range(start, start + stored)
        _native.rows.write_sparse(data, indices, np.array(first, dtype=np.int32), *self._written(columns, spans))
        ends = np.arange(0, self.stored * rows + 1, self.stored or 1, dtype=np.int32)[: rows + 1]
        return sparse.csr_array((data.ravel(), indices.ravel(), ends), shape=(rows, self.width))

    def _written(self, columns: Mapping[str, Any], spans: Mapping[str, slice]) -> tuple[list[Any], list[Any]]:
        """Return what native code writes the columns of numbers of, and those of levels; words apart."""
        numbers: list[Any] = []
        levels: list[Any] = []
        for term in self._without_words:
            place = spans[term.feature].start
            if isinstance(term, Number):
                numbers.append(term.written(columns[term.feature], place))
            elif term.names:
                levels.append(term.written(columns[term.feature], place))
        return numbers, levels

    def sum_by_feature(self, contributions: Any) -> FloatArray:
        """Return what the columns of each feature add together, (n, features), of what each column adds, (n, d)."""
        places = sparse.csr_array(
            (np.ones(self.width), (np.arange(self.width), self.owners)), shape=(self.width, len(self.features))
        )
        found: Any = contributions @ places
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    # Designs that follow the rows.

    def extend_to_rows(self, block: Block) -> Design:
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
        return self.extend(levels, gaps)

    def extend(self, levels: Mapping[str, Sequence[str]], gaps: Mapping[str, bool]) -> Design:
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

    def restandardise(self, rows: float, mean: FloatArray, variance: FloatArray) -> Design:
        """Return the design that rows suggest, of which the means and variances of the columns are known, (d,)."""
        spans = self.spans
        terms = (
            restandardise_term(term, rows, mean[spans[term.feature]], variance[spans[term.feature]])
            for term in self.terms
        )
        return Design(self.features, tuple(terms))

    def union(self, other: Design) -> Design:
        """Return a design of the same features in which the columns of both can be said."""
        theirs = {term.feature: term for term in other.terms}
        terms = (unite_terms(term, theirs[term.feature]) for term in self.terms if term.feature in theirs)
        return Design(self.features, tuple(terms))

    def map_to(self, other: Design) -> tuple[FloatArray, FloatArray]:
        """Return the matrix A and the vector b with which rows x of this design are rows A x + b of another."""
        A, b = np.zeros((other.width, self.width)), np.zeros(other.width)
        mine = {term.feature: term for term in self.terms}
        for target in other.terms:
            rows, columns = other.spans[target.feature], self.spans[target.feature]
            A[rows, columns], b[rows] = map_term(mine[target.feature], target)
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


def build_design(block: Block, *, curves: bool = False, text: bool = False, apart: bool = False) -> Design:
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
            words = words_term(feature.name, column) if text else None
            terms.extend([words] if words is not None and words.words else [])
        elif isinstance(column, CodedColumn):
            term = levels_term(feature.name, column, apart)
            terms.extend([term] if len(term.levels) <= LEVELS else [])
        else:
            terms.append(number_term(feature.name, column, curves and feature.kind != "boolean"))
    found = Design(block.features, tuple(terms))
    if not found.width:
        raise TableError("no column can be turned into numbers for a linear model: use --model nb or text")
    return found
