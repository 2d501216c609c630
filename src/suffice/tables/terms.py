"""What a column of a table becomes in a matrix of numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray
from suffice.tables.blocks import Names

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

    def encode(self, cells: FloatArray, out: FloatArray) -> None:
        """Write the columns to ``out``, (n, width); a missing cell counts as the mean."""
        z = (cells - self.centre) / self.scale
        missing = np.isnan(z)
        if missing.any():
            z[missing] = 0.0
        out[:, 0] = z
        for place, bend in enumerate(self.bends, 1):
            np.maximum(z - (bend - self.centre) / self.scale, 0.0, out=out[:, place])
        if self.gaps:
            out[:, -1] = missing


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

    def encode(self, column: Names, out: FloatArray) -> None:
        """Write the columns to ``out``, (n, width)."""
        places = self.places(column)
        out[:] = 0.0
        seen = np.flatnonzero(places >= 0)
        out[seen, places[seen]] = 1.0

    def places(self, column: Names) -> npt.NDArray[np.int32]:
        """Return the column that is 1 in each row, (n,); -1 where none is."""
        column_of = {level: place for place, level in enumerate(self.shown)}
        places = [column_of.get(str(name), -1) for name in column.vocabulary]
        return np.array([*places, len(self.shown) if self.gaps else -1], dtype=np.int32)[column.codes]


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


def number_of(name: str, cells: FloatArray, curve: bool) -> Number:
    """Return a number with the mean and spread of its cells."""
    known = cells[~np.isnan(cells)]
    centre = float(known.mean()) if known.size else 0.0
    spread = float(known.std()) if known.size else 0.0
    bends = bends_of(known) if curve else ()
    return Number(name, centre, spread if spread > 0 else 1.0, bool(known.size < cells.size), bends)


def levels_of(name: str, column: Names, apart: bool) -> Levels:
    """Return the levels of a category that occur, the most frequent first."""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
    seen = [place for place in np.argsort(-counts, kind="stable") if counts[place]]
    levels = tuple(str(column.vocabulary.names[place]) for place in seen)
    return Levels(name, levels, bool((column.codes < 0).any()), apart)


def words_of(name: str, texts: list[str]) -> Words:
    """Return the frequent words of a text."""
    from suffice.text import CountVectorizer

    try:
        found = CountVectorizer(binary=True, min_df=WORD_ROWS, max_features=WORDS).fit(texts)
    except ValueError:  # no word is in enough rows
        return Words(name, ())
    return Words(name, tuple(map(str, found.get_feature_names_out())))


def bends_of(known: FloatArray) -> tuple[float, ...]:
    """Return where a curve through numbers may bend: between its few values, or at quantiles of many.

    Examples
    --------
    >>> bends_of(np.array([1.0, 2.0, 2.0, 3.0]))
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


def united(one: Term, two: Term) -> Term:
    """Return a term in which both can be said."""
    if isinstance(one, Number) and isinstance(two, Number):
        return Number(one.feature, one.centre, one.scale, one.gaps or two.gaps)
    assert isinstance(one, Levels)
    assert isinstance(two, Levels)
    more = tuple(level for level in two.levels if level not in one.levels)
    return Levels(one.feature, one.levels + more, one.gaps or two.gaps, one.apart)


def translation(term: Term, target: Term) -> tuple[FloatArray, FloatArray]:
    """Return the matrix A and the vector b with which columns x of a term are columns A x + b of another.

    Examples
    --------
    >>> celsius, kelvin = Number("t", 0.0, 1.0, False), Number("t", -273.0, 1.0, False)
    >>> translation(celsius, kelvin)
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


def settled(term: Term, rows: float, mean: FloatArray, variance: FloatArray) -> Term:
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
    return left_of(term, rows, mean)


def about_zero(term: Term) -> Term:
    """Return a number about 0 instead of its mean, where that costs no digits; other terms as they are.

    So a column that is 0 in all rows that are left after a subtraction can be told from one that has lost its digits.
    """
    near = isinstance(term, Number) and abs(term.centre) <= NEAR_ZERO * term.scale
    return replace(term, centre=0.0) if isinstance(term, Number) and near else term


def left_of(term: Term, rows: float, mean: FloatArray) -> Term:
    """Return a term without the levels and gaps that no row has, by the means of its columns."""
    if isinstance(term, Number):
        return Number(term.feature, term.centre, term.scale, bool(term.gaps and rows * mean[-1] >= 0.5))
    assert isinstance(term, Levels)
    counts = level_counts(term, rows, mean)
    kept = sorted((level for level in term.levels if counts[level] > 0), key=lambda level: (-counts[level], level))
    return Levels(term.feature, tuple(kept), bool(term.gaps and rows * mean[-1] >= 0.5), term.apart)


def level_counts(term: Levels, rows: float, mean: FloatArray) -> dict[str, int]:
    """Return how many rows have each level, by the means of the columns."""
    counts = {level: round(rows * float(mean[place])) for place, level in enumerate(term.shown)}
    if term.apart and term.levels:
        counts[term.levels[0]] = round(rows * (1.0 - float(mean.sum())))
    return counts
