"""Design matrix of a table: numbers, category levels and words, for linear predictors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.kernels import Batch
from suffice.kernels.engine import engine_for
from suffice.kernels.inputs import underflows
from suffice.kernels.protocol import Kernels
from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block, CodedColumn, PackedNumbers
from suffice.tables.errors import TableError, squares_underflow
from suffice.tables.schema import Feature

if TYPE_CHECKING:
    from suffice.text import Vocabulary

#: Largest number of words of a text column, and least number of rows that contain a word.
WORDS = 5000
WORD_ROWS = 3
#: A standard deviation of less than this many units of a term's scale is rounding error: the column does not vary.
FLAT = 1e-7
#: Shares of the total weight: less is rounding error, and differences of less do not change the order of levels.
_LEAST_SHARE, _SAME_SHARE = 1e-10, 1e-9
#: A mean of this many standard deviations costs about one digit of sums about 0.
NEAR_ZERO = 10.0


@dataclass(frozen=True)
class Number:
    """A standardised numeric column."""

    feature: str
    centre: float
    scale: float
    gaps: bool  # whether there is an indicator column of missing cells

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [self.feature, *([f"{self.feature} missing"] if self.gaps else [])]

    def written(
        self, column: FloatArray | PackedNumbers, place: int
    ) -> tuple[npt.NDArray[Any], float, int, float, float, list[float], bool]:
        """Return the arguments for native code that writes these columns at ``place``; missing cells are the mean."""
        cells, unit = (column.cells, column.unit) if isinstance(column, PackedNumbers) else (column, 1.0)
        return np.ascontiguousarray(cells), unit, place, self.centre, self.scale, [], self.gaps


@dataclass(frozen=True)
class Levels:
    """A category: one column for each level.

    If ``apart`` is true, the first level is the reference level, without a column, which unseen levels share. A penalty
    would depend on the choice of the reference level; without a penalty and without a reference level, columns would be
    collinear.
    """

    feature: str
    levels: tuple[str, ...]  # the most frequent first
    gaps: bool
    apart: bool

    @property
    def shown(self) -> tuple[str, ...]:
        """The levels with a column."""
        return self.levels[1:] if self.apart else self.levels

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        shown = [f"{self.feature} = {level}" for level in self.shown]
        return [*shown, *([f"{self.feature} missing"] if self.gaps else [])]

    def written(self, column: CodedColumn, place: int) -> tuple[npt.NDArray[Any], int, list[int]]:
        """Return the arguments for native code that writes these columns at ``place``."""
        column_of = {level: place for place, level in enumerate(self.shown)}
        columns = [column_of.get(str(name), -1) for name in column.vocabulary]
        return np.ascontiguousarray(column.codes), place, [len(self.shown) if self.gaps else -1, *columns]


@dataclass(frozen=True)
class Words:
    """A text column: an indicator column for each frequent word."""

    feature: str
    words: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [f"{self.feature}: {word}" for word in self.words]

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        from suffice.text import Vocabulary

        return Vocabulary(self.words)

    def encode(self, texts: list[str]) -> Any:
        """Return the columns, (n, width) CSR."""
        from suffice.text import Documents, Features
        from suffice.text.count_matrix import count_features

        engine = engine_for(None, np.zeros((0, 0)))
        rows = count_features([Documents(texts)], Features(), self._vocabulary, engine).counts
        rows.data.fill(1)  # whether a word occurs, not how often
        return rows

    def scores(self, texts: list[str], coef: FloatArray) -> FloatArray:
        """Return the columns times their coefficients, (t, width), as (n, t), without the columns."""
        from suffice.text import Documents, Features
        from suffice.text.word_scores import score_words

        table = np.ascontiguousarray(coef.T)

        def score(batch: Batch, _: Kernels) -> FloatArray:
            return score_words(Features(), batch, self._vocabulary, table, presence=True)

        engine = engine_for(None, np.zeros((0, 0)))
        return np.asarray(engine.map_rows(score, Batch(Documents(texts))))


Term = Number | Levels | Words


# Terms inferred from rows.


def number_term(name: str, cells: FloatArray) -> Number:
    """Return the numeric term with the mean and standard deviation of its cells."""
    known = cells[~np.isnan(cells)]
    if not known.size or known.min() == known.max():  # whose mean may differ from it by rounding
        return Number(name, float(known[0]) if known.size else 0.0, 1.0, bool(known.size < cells.size))
    if underflows(1.0, largest := float(np.abs(known).max())):
        raise squares_underflow(name, largest)
    return Number(name, float(known.mean()), float(known.std()) or 1.0, bool(known.size < cells.size))


def levels_term(name: str, column: CodedColumn, apart: bool) -> Levels:
    """Return the category term with the levels that occur, the most frequent first."""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
    seen = [place for place in np.argsort(-counts, kind="stable") if counts[place]]
    levels = tuple(str(column.vocabulary.names[place]) for place in seen)
    return Levels(name, levels, bool((column.codes < 0).any()), apart)


def words_term(name: str, texts: list[str]) -> Words:
    """Return the text term with its frequent words."""
    from suffice.text import Documents, Features
    from suffice.text.count_matrix import count_all_features

    matrix, words = count_all_features([Documents(texts)], Features(), engine_for(None, np.zeros((0, 0))))
    rows = np.bincount(matrix.columns, minlength=len(words))
    kept = np.flatnonzero(rows >= WORD_ROWS)
    kept = np.sort(kept[np.argsort(-rows[kept], kind="stable")[:WORDS]])
    return Words(name, tuple(words.take(kept)))


# Two terms of one column, without words: each is a linear function of the other.


def unite_terms(one: Term, two: Term) -> Term:
    """Return a term that represents both."""
    if isinstance(one, Number) and isinstance(two, Number):
        return Number(one.feature, one.centre, one.scale, one.gaps or two.gaps)
    assert isinstance(one, Levels)
    assert isinstance(two, Levels)
    more = tuple(level for level in two.levels if level not in one.levels)
    return Levels(one.feature, one.levels + more, one.gaps or two.gaps, one.apart)


def map_term(term: Term, target: Term) -> tuple[FloatArray, FloatArray]:
    """Return the matrix A and the vector b that map the columns x of a term to the columns A x + b of another.

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
            A[0, -1] = -b[0]  # a missing cell is the mean of both
            if target.gaps:
                A[-1, -1] = 1.0
        return A, b
    assert isinstance(term, Levels)
    assert isinstance(target, Levels)
    shown = {level: place for place, level in enumerate(term.shown)}
    for place, level in enumerate(target.shown):
        if level in shown:
            A[place, shown[level]] = 1.0
        elif term.levels and level == term.levels[0]:  # the reference level is 1 minus the sum of the others
            A[place, :] = -1.0
            b[place] = 1.0
    if term.gaps and target.gaps:
        A[-1, -1] = 1.0
    return A, b


def restandardise_term(term: Term, rows: float, mean: FloatArray, variance: FloatArray) -> Term:
    """Return the term inferred from rows, given the means and variances of the term's columns.

    Levels that no row has, and indicators of missing cells where none is missing, are dropped. So models of the same
    rows have the same columns, however the rows were batched.
    """
    if isinstance(term, Number):
        gaps = term.gaps and is_used(rows, mean[-1])
        known = 1.0 - mean[-1] if term.gaps else 1.0
        if not is_used(rows, known):
            return Number(term.feature, term.centre, term.scale, bool(gaps))
        level = mean[0] / known
        spread = float(np.sqrt(max((variance[0] + mean[0] ** 2) / known - level**2, 0.0)))
        scale = term.scale * spread if spread > FLAT else term.scale
        return Number(term.feature, float(term.centre + term.scale * level), float(scale), bool(gaps))
    return drop_unused_levels(term, rows, mean)


def recentre_at_zero(term: Term) -> Term:
    """Return a numeric term centred at 0 instead of the mean, if that costs no digits; other terms unchanged.

    So, after a subtraction, a column that is 0 in all remaining rows differs from one that has lost its digits.
    """
    near = isinstance(term, Number) and abs(term.centre) <= NEAR_ZERO * term.scale
    return replace(term, centre=0.0) if isinstance(term, Number) and near else term


def drop_unused_levels(term: Term, rows: float, mean: FloatArray) -> Term:
    """Return a term without unused levels and missing indicators, given the means of its columns."""
    if isinstance(term, Number):
        return Number(term.feature, term.centre, term.scale, bool(term.gaps and is_used(rows, mean[-1])))
    assert isinstance(term, Levels)
    shares = level_shares(term, mean)
    used = (level for level in term.levels if is_used(rows, shares[level]))
    kept = sorted(used, key=lambda level: (-round(shares[level] / _SAME_SHARE), level))
    return Levels(term.feature, tuple(kept), bool(term.gaps and is_used(rows, mean[-1])), term.apart)


def is_used(rows: float, share: float) -> bool:
    """Whether some rows are more than rounding error: one of them without weights, or a share of any total weight.

    Examples
    --------
    >>> is_used(100.0, 0.01), is_used(1e-3, 0.01), is_used(100.0, 1e-15), is_used(1e12, 1e-13)
    (True, True, False, False)
    """
    return bool(rows * share >= min(0.5, _LEAST_SHARE * rows))


def level_shares(term: Levels, mean: FloatArray) -> dict[str, float]:
    """Return the share of each level of the weight of all rows, from the means of the columns."""
    shares = {level: float(mean[place]) for place, level in enumerate(term.shown)}
    if term.apart and term.levels:
        shares[term.levels[0]] = 1.0 - float(mean.sum())
    return shares


#: A matrix with more columns than this is sparse.
WIDE = 300
#: Largest number of levels of a category in a linear model.
LEVELS = 1000


@dataclass(frozen=True, eq=False)
class Design:
    """Encoding of the rows of a table as rows of a matrix.

    Parameters
    ----------
    features
        The features of the table.
    terms
        The terms of the matrix, from left to right.
    """

    features: tuple[Feature, ...]
    terms: tuple[Term, ...]

    @cached_property
    def names(self) -> list[str]:
        """The names of the matrix's columns."""
        return [name for term in self.terms for name in term.names]

    @cached_property
    def owners(self) -> npt.NDArray[np.int64]:
        """The index of the feature of each column, (d,)."""
        places = {feature.name: place for place, feature in enumerate(self.features)}
        return np.repeat([places[term.feature] for term in self.terms], [len(term.names) for term in self.terms])

    @cached_property
    def spans(self) -> dict[str, slice]:
        """The range of columns of each feature."""
        ends = np.cumsum([len(term.names) for term in self.terms]).tolist()
        return {term.feature: slice(end - len(term.names), end) for term, end in zip(self.terms, ends, strict=True)}

    @property
    def width(self) -> int:
        """Number of columns."""
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
        """Number of entries that a CSR row stores, without words: one for each category."""
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
        import scipy  # slow to import, and dense rows do not need it

        return scipy.sparse.hstack(parts, format="csr", dtype=np.float64)

    def scores(self, block: Block, coef: FloatArray) -> FloatArray:
        """Return the rows of the matrix times coefficients, (t, d), as (n, t); columns of words are not made."""
        if not self.has_words:
            return np.asarray(self.encode(block) @ coef.T)
        places = np.repeat(
            [not isinstance(term, Words) for term in self.terms], [len(term.names) for term in self.terms]
        )
        found = Design(self.features, tuple(self._without_words)).scores(block, coef[:, places])
        columns = _columns(block)
        for term in self.terms:
            if isinstance(term, Words):
                found += term.scores(columns[term.feature], coef[:, self.spans[term.feature]])
        return found

    def _encode_sparse(self, columns: Mapping[str, Any], rows: int) -> Any:
        """Return rows without words as CSR with equally many stored entries in each row; some may be 0."""
        import scipy  # slow to import, and few rows need it

        data, indices = np.empty((rows, self.stored)), np.empty((rows, self.stored), dtype=np.int32)
        spans: dict[str, slice] = {}
        first: list[int] = []
        for term in self._without_words:
            start, stored = self.spans[term.feature].start, _stored(term)
            spans[term.feature] = slice(len(first), len(first) + stored)
            first += range(start, start + stored)
        _native.rows.write_sparse(data, indices, np.array(first, dtype=np.int32), *self._written(columns, spans))
        ends = np.arange(0, self.stored * rows + 1, self.stored or 1, dtype=np.int32)[: rows + 1]
        return scipy.sparse.csr_array((data.ravel(), indices.ravel(), ends), shape=(rows, self.width))

    def _written(self, columns: Mapping[str, Any], spans: Mapping[str, slice]) -> tuple[list[Any], list[Any]]:
        """Return the arguments for native code of numeric terms and of category terms."""
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
        """Return the sums of the effects of columns, (n, d), by feature, (n, features)."""
        if isinstance(contributions, np.ndarray):
            sums = np.zeros((len(contributions), len(self.features)))
            starts = [self.spans[term.feature].start for term in self.terms if term.names]
            if starts:
                sums[:, self.owners[starts]] = np.add.reduceat(contributions, starts, axis=1)
            return sums
        import scipy

        places = scipy.sparse.csr_array(
            (np.ones(self.width), (np.arange(self.width), self.owners)), shape=(self.width, len(self.features))
        )
        found: Any = contributions @ places
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    # Designs for other rows.

    def extend_to_rows(self, block: Block) -> Design:
        """Return the design extended by the new levels and missing indicators of some rows."""
        columns = _columns(block)
        levels, gaps = {}, {}
        for term in self.terms:
            column = columns[term.feature]
            if isinstance(term, Levels):
                seen = np.unique(column.codes[column.codes >= 0])
                levels[term.feature] = [str(column.vocabulary.names[code]) for code in seen]
                gaps[term.feature] = bool((column.codes < 0).any())
            else:  # a numeric term: models that learn block by block have no words
                gaps[term.feature] = bool(np.isnan(column).any())
        return self.extend(levels, gaps)

    def extend(self, levels: Mapping[str, Sequence[str]], gaps: Mapping[str, bool]) -> Design:
        """Return the design extended by new levels and missing indicators; itself if there are none."""
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
        """Return the design inferred from rows, given the means and variances of the columns, (d,)."""
        spans = self.spans
        terms = (
            restandardise_term(term, rows, mean[spans[term.feature]], variance[spans[term.feature]])
            for term in self.terms
        )
        return Design(self.features, tuple(terms))

    def union(self, other: Design) -> Design:
        """Return a design of the same features that represents the columns of both."""
        theirs = {term.feature: term for term in other.terms}
        terms = (unite_terms(term, theirs[term.feature]) for term in self.terms if term.feature in theirs)
        return Design(self.features, tuple(terms))

    def units(self) -> tuple[FloatArray, FloatArray]:
        """Return the centre and the scale of each column, (d,): a column is (cell - centre) / scale.

        Examples
        --------
        >>> Design((), (Number("area", 80.0, 20.0, gaps=True), Levels("kind", ("a", "b"), False, True))).units()
        (array([80.,  0.,  0.]), array([20.,  1.,  1.]))
        """
        centre, scale = np.zeros(self.width), np.ones(self.width)
        for term in self.terms:
            if isinstance(term, Number):
                start = self.spans[term.feature].start
                centre[start] = term.centre
                scale[start] = term.scale
        return centre, scale

    def map_to(self, other: Design) -> tuple[FloatArray, FloatArray]:
        """Return the matrix A and the vector b that map rows x of this design to rows A x + b of another."""
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
            for kind, each in (
                (kind, {name: each[name] for name in each if name != "bends"}) for kind, each in plain["terms"]
            )
        ]
        return cls(tuple(Feature(*each) for each in plain["features"]), tuple(terms))


def _stored(term: Number | Levels) -> int:
    """Return the number of entries that a CSR row stores for a term."""
    return len(term.names) if isinstance(term, Number) else min(len(term.names), 1)


def _columns(block: Block) -> dict[str, Any]:
    return {feature.name: column for feature, column in zip(block.features, block.columns, strict=True)}


def build_design(block: Block, *, text: bool = False, apart: bool = False) -> Design:
    """Return the design inferred from rows.

    Parameters
    ----------
    block
        The rows.
    text
        Whether text columns have terms.
    apart
        Whether each category has a reference level without a column.
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
            terms.append(number_term(feature.name, column))
    found = Design(block.features, tuple(terms))
    if not found.width:
        raise TableError("no column can be encoded as numbers for a linear model: use --model nb or text")
    return found
