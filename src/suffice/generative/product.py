"""A table's p(x | y): the product of one factor per kind of column, over cells that are read as their kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.column_kinds import FEATURE_KINDS
from suffice.families.bernoulli import Bernoulli
from suffice.families.multinomial import Multinomial
from suffice.families.poisson import Poisson
from suffice.generative import columns
from suffice.generative.categories import Coded
from suffice.generative.columns import Column, Name
from suffice.generative.conditional import (
    Conditional,
    Contributions,
    Linear,
    check_reach,
    log_factorials,
    log_without_zeros,
)
from suffice.generative.event_models import Arrivals, Categories, Presences, category_table
from suffice.generative.independent import smoothed
from suffice.kernels import Batch
from suffice.kernels.engine import engine_for
from suffice.kernels.inputs import JOINT, Reading
from suffice.kernels.protocol import Kernels
from suffice.statistics import (
    DiagonalMoments,
    EventCounts,
    Labels,
    LostDigitsError,
    NamedCategoryCounts,
    Parts,
    PresenceCounts,
    Statistics,
    WordCounts,
)
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.text.documents import Documents
    from suffice.text.vocabulary import Vocabulary

#: Statistic of the columns of each kind.
SUMS: dict[str, type[Statistics]] = {
    "numeric": DiagonalMoments,
    "count": EventCounts,
    "boolean": PresenceCounts,
    "category": NamedCategoryCounts,
    "text": WordCounts,
}


@dataclass(frozen=True, eq=False)
class Bags:
    """Columns of text as counts of words, whose order is lost."""

    counts: Any  # (n, words) CSR, columns side by side
    vocabularies: tuple[Labels, ...]  # of each column

    def __getitem__(self, rows: Any) -> Bags:
        return Bags(self.counts[rows], self.vocabularies)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and words."""
        return int(self.counts.shape[0]), int(self.counts.shape[1])

    def into(self, vocabularies: tuple[Labels, ...]) -> Any:
        """Return the counts of the words of other vocabularies, (n, their words) CSR; no others are counted."""
        if vocabularies == self.vocabularies:
            return self.counts
        places: list[int] = []
        start = 0
        for mine, theirs in zip(self.vocabularies, vocabularies, strict=True):
            place = {name: start + code for code, name in enumerate(theirs)}
            places.extend(place.get(name, -1) for name in mine)
            start += len(theirs)
        return _columns_moved(self.counts, np.array(places, dtype=np.int64), start)

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> Bags:
        """Return the bags of words of columns of text.

        Examples
        --------
        >>> bags = Bags.of([["Buy now", "now, NOW!"]])
        >>> bags.vocabularies[0].names, bags.counts.toarray().tolist()
        (('buy', 'now'), [[1, 1], [0, 2]])
        """
        import scipy  # slow to import, and few rows need it

        pairs = [_counted(list(column)) for column in texts]
        return cls(
            scipy.sparse.hstack([counts for _, counts in pairs], format="csr"), tuple(names for names, _ in pairs)
        )


def _counted(texts: list[str | bytes]) -> tuple[Labels, Any]:
    """Return the vocabulary of texts, and how often each word occurs in each of them, (n, words) CSR."""
    from suffice.text import Documents, Features
    from suffice.text.count_matrix import count_all_features

    rows, vocabulary = count_all_features([Documents(texts)], Features(), engine_for(None, np.zeros((0, 0))))
    return Labels(tuple(vocabulary)), rows.counts.astype(np.int64)


def _columns_moved(counts: Any, places: npt.NDArray[np.int64], width: int) -> Any:
    """Return CSR rows with each column at its new place, without those that have none (-1)."""
    import scipy  # slow to import, and few rows need it

    moved = places[counts.indices]
    kept = moved >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    found = scipy.sparse.csr_array((counts.data[kept], moved[kept], ends), shape=(counts.shape[0], width))
    found.sort_indices()
    return found


@dataclass(frozen=True, eq=False)
class TextColumns:
    """Columns of text, whose words are counted where a matrix of counts is needed: scores need none."""

    columns: tuple[Sequence[str], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.columns[0]), len(self.columns)

    @cached_property
    def bags(self) -> Bags:
        """The words, counted."""
        return Bags.of(self.columns)

    @cached_property
    def documents(self) -> tuple[Documents, ...]:
        """The columns as native code reads them."""
        from suffice.text.documents import Documents

        return tuple(Documents(column) for column in self.columns)


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows of a table, kind by kind."""

    width: int  # how many columns the table has, ignored ones too
    places: Mapping[str, tuple[int, ...]]  # which columns are of each kind
    parts: Mapping[str, Any]  # of each kind that has columns: (n, d) numbers, Coded, Bags; or what a factor reads

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(next(iter(self.parts.values())).shape[0]), self.width

    def __getitem__(self, rows: Any) -> Cells:
        return replace(self, parts={kind: part[rows] for kind, part in self.parts.items()})

    @classmethod
    def of(cls, table: Sequence[Column], kinds: Mapping[Name, str]) -> Cells:
        """Return the cells of columns, checked to be of their kinds."""
        places = {
            kind: tuple(j for j, column in enumerate(table) if kinds[column.name] == kind) for kind in FEATURE_KINDS
        }
        places = {kind: found for kind, found in places.items() if found}
        return cls(len(table), places, {kind: _part(kind, [table[j] for j in found]) for kind, found in places.items()})


def _part(kind: str, table: list[Column]) -> Any:
    if kind == "text":
        return Bags.of([columns.texts(column) for column in table])
    if kind == "category":
        pairs = [columns.names(column) for column in table]
        vocabularies = tuple(names for names, _ in pairs)
        return Coded(np.stack([codes for _, codes in pairs], axis=1), vocabularies, tuple(map(len, vocabularies)))
    return np.stack([columns.numbers(column, kind) for column in table], axis=1)


# Sums.


def summarise(labels: Labels, batch: Batch, kernels: Kernels) -> Parts:
    """Return one sum for each kind of column, over a batch whose x are :class:`Cells`."""
    return Parts(tuple(_sum(kind, part, batch, kernels, labels) for kind, part in batch.x.parts.items()))


def _sum(kind: str, part: Any, batch: Batch, kernels: Kernels, labels: Labels) -> Statistics:
    match kind:
        case "category":
            return SUMS[kind].of(replace(batch, x=part.codes), kernels, labels, part.vocabularies)
        case "text":
            bags = part.bags if isinstance(part, TextColumns) else part
            return SUMS[kind].of(replace(batch, x=bags.counts), kernels, labels, bags.vocabularies)
        case "boolean":
            return SUMS[kind].of(replace(batch, x=part), kernels, labels, 0.5, True)
        case _:
            return SUMS[kind].of(replace(batch, x=part), kernels, labels, True)


def kind_of(part: Statistics) -> str:
    """Return the kind of the columns that were summed."""
    return next(kind for kind, made in SUMS.items() if type(part) is made)


def class_weights(statistics: Parts) -> FloatArray:
    """Return the weight of the rows of each class, (k,)."""
    part: Any = statistics.parts[0]  # every part knows them
    weights: FloatArray = part.weights if hasattr(part, "weights") else part.rows
    return weights


def pruned(statistics: Parts) -> Parts:
    """Return the same sums without the names that were counted no times: as if never heard of."""
    return Parts(tuple(_pruned(part) if hasattr(part, "vocabularies") else part for part in statistics.parts))


def _pruned(part: Any) -> Any:
    seen = part.counts.sum(axis=0) > 0
    if seen.all():
        return part
    ends = np.cumsum(part.sizes)
    kept = [
        Labels(tuple(name for name, is_seen in zip(names, seen[end - len(names) : end], strict=True) if is_seen))
        for names, end in zip(part.vocabularies, ends, strict=True)
    ]
    return part.take_columns(seen, tuple(kept))


# Distributions.


@dataclass(frozen=True, eq=False)
class Texts(Linear):
    """The multinomial event model of columns of text, side by side. Words of no vocabulary do not count."""

    p: tuple[FloatArray, ...] = field(kw_only=True)  # of each column, (k, words)
    lengths: FloatArray = field(kw_only=True)  # (k, columns), the words of an average row
    vocabularies: tuple[Labels, ...] = field(kw_only=True)  # of each column

    @classmethod
    def estimate(cls, statistics: WordCounts, alpha: float) -> Texts:
        """Return the event model of words whose counts had ``alpha`` added to each."""
        statistics.check_digits(alpha)
        counts = [statistics.feature(j) for j in range(len(statistics.vocabularies))]
        p = tuple(
            Multinomial.estimate(EventCounts(statistics.labels, statistics.rows, each), alpha).p if each.size else each
            for each in counts
        )
        totals = np.stack([each.sum(axis=1) for each in counts], axis=1)
        lengths = totals / np.where(statistics.rows > 0, statistics.rows, 1.0)[:, None]
        coef, zero = log_without_zeros(np.hstack(p))
        level = np.zeros(len(coef))
        veto = None if zero is None else Linear(zero, level)
        return cls(coef, level, None, None, veto, p=p, lengths=lengths, vocabularies=statistics.vocabularies)

    @cached_property
    def _by_word(self) -> list[tuple[Vocabulary, FloatArray]]:
        """The words of each column, and their coefficients, (V, k)."""
        from suffice.text.vocabulary import Vocabulary

        tables = [np.ascontiguousarray(part.T) for part in self._apart(self.coef)]
        return [(Vocabulary(names), table) for names, table in zip(self.vocabularies, tables, strict=True)]

    def scores(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return a reading of the scores of counts, or of texts."""
        if not isinstance(batch.x, TextColumns):
            return super().scores(batch, kernels, intercept, reading)
        from suffice.text.features import Features
        from suffice.text.word_scores import score_words

        joint = np.tile(self.level + intercept, (batch.rows, 1))
        for documents, (vocabulary, table) in zip(batch.x.documents, self._by_word, strict=True):
            if len(vocabulary):
                joint += score_words(Features(), replace(batch, x=documents), vocabulary, table)
        return kernels.read_scores(joint, reading)

    def _apart(self, x: Any) -> list[Any]:
        """Return the columns of text of rows of words."""
        cuts = [0, *np.cumsum([len(names) for names in self.vocabularies]).tolist()]
        return [x[:, start:end] for start, end in pairwise(cuts)]

    def log_base(self, x: Any) -> FloatArray:
        """Return the log of each column's multinomial coefficient, summed."""
        import scipy  # slow to import, and few rows need it

        totals = np.stack([part.sum(axis=1) for part in self._apart(x)], axis=1)
        return np.asarray(scipy.special.gammaln(totals + 1).sum(axis=1) - log_factorials(x))

    def contributions(self, x: Any) -> Contributions:
        """Return the sum over the words of each column."""
        parts, base = super().contributions(x)
        return Contributions([np.stack([part.sum(axis=1) for part in self._apart(each)], 1) for each in parts], base)

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return texts; the number of words is Poisson about the class's average, or ``length``."""
        texts = np.full((len(codes), len(self.p)), "", dtype=object)
        length = how.get("length")
        for j, names in enumerate(self.vocabularies):
            totals = random.poisson(self.lengths[codes, j]) if length is None else np.full(len(codes), length)
            for code in np.unique(codes) if len(names) else ():
                rows = np.flatnonzero(codes == code)
                drawn = random.choice(len(names), size=int(totals[rows].sum()), p=self.p[j][code])
                for row, some in zip(rows, np.split(drawn, np.cumsum(totals[rows])[:-1]), strict=True):
                    texts[row, j] = " ".join(str(names.names[word]) for word in some)
        return texts


@dataclass(frozen=True, eq=False)
class Product(Conditional):
    """Columns that are independent given the class: one factor for each kind of column."""

    factors: Mapping[str, Conditional]

    @classmethod
    def estimate(cls, statistics: Parts, alpha: float | Mapping[str, float], var_smoothing: float) -> Product:
        """Return the product that is estimated from sums.

        Parameters
        ----------
        statistics
            One sum for each kind of column.
        alpha
            The smoothing of counts: one number, or a number for each kind.
        var_smoothing
            The smoothing of variances, as for GaussianNB.
        """
        factors = {}
        for place, part in enumerate(statistics.parts):
            kind = kind_of(part)
            try:
                factors[kind] = _factor(kind, part, strength_of(alpha, kind), var_smoothing)
            except LostDigitsError as error:
                raise LostDigitsError(str(error), (place, *error.place)) from None
        return cls(factors)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return next(iter(self.factors.values())).classes

    @property
    def theta(self) -> None:
        """None: names have no coefficients."""
        return

    def readable(self, cells: Cells) -> Cells:
        """Return cells with names as codes of the factors' vocabularies."""
        factors: Mapping[str, Any] = self.factors
        counted = {kind: part.bags if isinstance(part, TextColumns) else part for kind, part in cells.parts.items()}
        parts = {
            kind: part.into(factors[kind].vocabularies) if isinstance(part, Coded | Bags) else part
            for kind, part in counted.items()
        }
        return replace(cells, parts=parts)

    def scorable(self, cells: Cells) -> Cells:
        """Return cells that can be scored: readable ones, with texts as they are where no word is impossible."""
        texts, factor = cells.parts.get("text"), self.factors.get("text")
        if not isinstance(texts, TextColumns) or not isinstance(factor, Texts) or factor.veto is not None:
            return self.readable(cells)
        rest = {kind: part for kind, part in cells.parts.items() if kind != "text"}
        return replace(cells, parts={**self.readable(replace(cells, parts=rest)).parts, "text": texts})

    def scores(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return a reading of the sum of the factors' scores, over readable cells."""
        nothing = np.zeros(self.classes)
        joint = np.tile(intercept, (batch.rows, 1))
        for kind, factor in self.factors.items():
            own = factor.scores(replace(batch, x=batch.x.parts[kind]), kernels, nothing)
            if kind == "numeric":
                check_reach(own, batch, reading)
            joint += own
        return kernels.read_scores(joint, reading)

    def log_base(self, x: Cells) -> FloatArray:
        """Return what the factors leave out of log p(x | y), (n,)."""
        cells = self.readable(x)
        total = np.zeros(cells.shape[0])
        for kind, factor in self.factors.items():
            base = factor.log_base(cells.parts[kind])
            total += 0.0 if base is None else base
        return total

    def contributions(self, x: Cells) -> Contributions:
        """Return each column's log-probability, 0 for those that are missing or ignored."""
        parts = [np.zeros(x.shape) for _ in range(self.classes)]
        base = np.zeros((x.shape[0], self.classes))
        for kind, factor in self.factors.items():
            apart = _settled(factor, factor.contributions(x.parts[kind]))
            base += apart.base
            for whole, part in zip(parts, apart.parts, strict=True):
                whole[:, list(x.places[kind])] = part
        return Contributions(parts, base)

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return, for each kind, one list of cells for each of its columns."""
        return {kind: _shown(factor, factor.sample(codes, random, **how)) for kind, factor in self.factors.items()}


def strength_of(alpha: float | Mapping[str, float], kind: str) -> float:
    """Return the smoothing of the columns of a kind; numbers are smoothed only where a mapping says so.

    Examples
    --------
    >>> strength_of(0.5, "count"), strength_of(0.5, "numeric"), strength_of({"numeric": 2.0}, "numeric")
    (0.5, 0.0, 2.0)
    """
    otherwise = 0.0 if kind == "numeric" else 1.0
    if isinstance(alpha, Mapping):
        return float(alpha.get(kind, otherwise))
    return otherwise * float(alpha)


def _factor(kind: str, part: Any, alpha: float, var_smoothing: float) -> Conditional:
    match kind:
        case "numeric":
            return smoothed(part, var_smoothing, alpha)
        case "count":
            return Arrivals.of(Poisson.estimate(part, alpha))
        case "boolean":
            return Presences.of(Bernoulli.estimate(part, alpha), 0.5)
        case "text":
            return Texts.estimate(part, alpha)
    part.check_digits(alpha)
    sized = [category_table(part.feature(j), alpha, size) for j, size in enumerate(part.sizes)]
    return Categories(sized, part.vocabularies)


def _settled(factor: Conditional, apart: Contributions) -> Contributions:
    """Return contributions with the level of each feature, which a missing cell takes back, in its own part."""
    if not isinstance(factor, Linear) or factor.missing is None:
        return apart
    parts = [part - taken_back for part, taken_back in zip(apart.parts, factor.missing, strict=True)]
    return Contributions(parts, apart.base - factor.level)


def _shown(factor: Conditional, drawn: npt.NDArray[Any]) -> list[list[Any]]:
    """Return drawn cells, column by column, as the user's are: categories by name, presences as bool."""
    if isinstance(factor, Categories):
        # Of a column that was only ever missing, nothing is known that could be drawn.
        names = [(*vocabulary.names, None) for vocabulary in factor.vocabularies]
        return [[known[code] for code in codes] for known, codes in zip(names, drawn.T.tolist(), strict=True)]
    cells = drawn.astype(bool) if isinstance(factor, Presences) else drawn
    return [column.tolist() for column in cells.T]
