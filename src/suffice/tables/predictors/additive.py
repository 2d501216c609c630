"""Additive predictor: functions of columns and of pairs of columns, in bins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.additive.binned_fit import (
    EncodedRows,
    choose_by_default,
    fit_classes,
    fit_numbers,
    known_choice,
    read_numbers,
)
from suffice.additive.bins import MOST_BINS, Bins, ColumnBins
from suffice.additive.scorer import AdditiveScorer
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents
from suffice.tables.design_matrix import Words, words_term
from suffice.tables.encoding import Bins as TargetBins
from suffice.tables.encoding import Block, CodedColumn, PackedNumbers
from suffice.tables.errors import TableError
from suffice.tables.predictors.base import Effects, EffectTerm, Predictor
from suffice.tables.predictors.base import EncodedRows as TableRows
from suffice.tables.schema import Feature

if TYPE_CHECKING:
    from suffice.additive.choice import FittedTerms
    from suffice.tables.predictors.naive_bayes import Description
    from suffice.tables.term_summary import TermSummary

#: Largest number of words of a text column, those with the most information about the target.
MOST_WORDS = 50
#: The edge between the bins of booleans, and of rows without and with a word.
_HALF = np.array([0.5])


class AdditivePredictor(Predictor):
    """Additive models: a term for each column, for pairs of columns, and for the words of a text.

    Cells are one byte each. A column has a bin for each of its quantiles or levels, and one for missing cells. A text
    column is read as the presence of those words that are most informative about the target.
    """

    features: tuple[Feature, ...]
    words: dict[str, Words]  # of each text column: those that may be chosen, then those that are
    _columns: list[ColumnBins]  # of the features other than texts; then of the words
    _groups: npt.NDArray[np.int64] | None = None  # of the rows to be learned
    _times: FloatArray | None = None
    _terms: FittedTerms | None = None  # of the last fit, for a fit to other rows

    def prepare(self, sample: Block) -> None:
        """Choose the bins of the columns, and the frequent words of texts."""
        self.features, self._columns, self.words = sample.features, [], {}
        for feature, column in zip(sample.features, sample.columns, strict=True):
            if feature.kind == "text":
                term = words_term(feature.name, column)
                self.words |= {feature.name: term} if term.words else {}
            elif isinstance(column, CodedColumn):
                names = [str(name) for name in column.vocabulary]
                counts = np.bincount(column.codes[column.codes >= 0], minlength=len(names))
                levels = {name: count for name, count in zip(names, counts.tolist(), strict=True) if count}
                self._columns.append(ColumnBins.of_levels(feature.name, levels, MOST_BINS))
            elif feature.kind == "boolean":
                self._columns.append(ColumnBins(feature.name, _HALF, None, 0.0, 1.0))
            else:
                self._columns.append(ColumnBins.of_numbers(feature.name, column[~np.isnan(column)], MOST_BINS))
        if not self._columns and not self.words:
            raise TableError("no column has cells that an additive model can read: use --model nb or text")

    def extend_levels(self, description: Description) -> None:
        """Add bins for levels that are not in the sample, as long as there are bins left."""
        known = description.levels()
        for at, bins in enumerate(self._columns):
            if bins.levels is not None:
                more = [level for level in known[str(bins.name)] if level not in bins.levels]
                kept = more[: MOST_BINS - 1 - len(bins.levels)]
                self._columns[at] = replace(bins, levels=tuple(sorted((*bins.levels, *kept))))

    def row_size(self) -> int:
        """Return the bytes of a row while the model is fitted: its bins, target and scores."""
        words = sum(min(len(term.words), MOST_WORDS) for term in self.words.values())
        return len(self._columns) + words + 8 * (1 + 2 * max(len(self.labels), 1))

    def hold_out(self, groups: npt.NDArray[np.int64] | None, times: FloatArray | None) -> None:
        """Set groups or times of the rows to be learned, by which penalties and pairs are chosen."""
        self._groups, self._times = groups, times

    def learn_again(self, rows: Iterable[TableRows]) -> Self:
        """Fit the terms to blocks of rows, with the bins, words, pairs and penalties that were learned."""
        parts, targets, weights = [], [], []
        for block, values in rows:
            parts.append(self.encode(block))
            targets.append(values)
            weights += [] if block.weights is None else [block.weights]
        target, weight = np.concatenate(targets), np.concatenate(weights) if weights else None
        scorer, bins = self.additive, np.concatenate(parts, axis=1)
        self._fit(
            EncodedRows(bins, target.astype(np.float64), weight, None), scorer.columns, scorer.labels, self._terms
        )
        return self

    def learn(self, rows: Iterable[TableRows]) -> Self:
        """Fit the model to blocks of rows, which are kept in bins."""
        parts, targets, weights = [], [], []
        counts: dict[str, list[Any]] = {name: [] for name in self.words}
        for block, values in rows:
            parts.append(self._encode_cells(block))
            targets.append(values)
            weights += [] if block.weights is None else [block.weights]
            for name, term in self.words.items():
                counts[name].append(term.encode(_column(block, name)).astype(np.int8))
        bins, target = np.concatenate(parts, axis=1), np.concatenate(targets)
        parts.clear()
        bins = self._with_informative_words(bins, target, counts)
        labels = Labels()
        if self.task == "classes":
            present, target = np.unique(target, return_inverse=True)
            labels = Labels(tuple(self.labels.names[code] for code in present))
            if len(labels) < 2:
                raise ValueError(f"all rows are of one class, {labels.names[0]!r}: an additive model needs two")
        weight = np.concatenate(weights) if weights else None
        encoded = EncodedRows(bins, target.astype(np.float64), weight, None, self._groups, self._times)
        self._fit(encoded, self._columns, labels)
        return self

    def _fit(
        self, rows: EncodedRows, columns: Sequence[ColumnBins], labels: Labels, chosen: FittedTerms | None = None
    ) -> None:
        """Fit to rows in bins, with the penalties and pairs of a fit if one is given; keep what a file holds."""
        choose = choose_by_default if chosen is None else known_choice(chosen)
        settings: dict[str, Any] = {"features": len(columns), "feature_names": [str(each.name) for each in columns]}
        if self.task == "classes":
            fit = fit_classes(rows, columns, labels, choose, widen=chosen is None)
            dtype = validation.classes_array(labels).dtype.kind
            settings |= {"parameters": {}, "classes": {"names": list(labels), "dtype": dtype}}
        else:
            family = "poisson" if self.task == "counts" else "gaussian"
            rows = rows._replace(target=read_numbers(family, {"y": rows.target}, len(rows.target))[0])
            fit = fit_numbers(rows, columns, family, choose)
            settings |= {"parameters": {"family": family}}
        self._terms = fit.terms
        columns_and_terms, arrays = fit.scorer.written()
        settings |= columns_and_terms
        settings["solution"] = fit.solution._replace(seconds=0.0)._asdict()  # the same fit writes the same file
        kind = "AdditiveClassifier" if self.task == "classes" else "AdditiveRegressor"
        self._set_contents(Contents(kind, settings, {}, arrays))

    def _with_informative_words(self, bins: Bins, target: npt.NDArray[Any], counts: dict[str, list[Any]]) -> Bins:
        """Choose the words, and return the bins with a row for each of them."""
        if not counts:
            return bins
        import scipy

        codes = target.astype(np.int64) if self.task == "classes" else TargetBins.of(target).codes(target)
        found = [bins]
        for name, blocks in counts.items():
            matrix = scipy.sparse.vstack(blocks, format="csc")
            kept = informative_words(matrix, codes)
            self.words[name] = Words(name, tuple(self.words[name].words[at] for at in kept))
            found.append((matrix[:, kept].toarray() > 0).T.astype(np.uint8) + np.uint8(1))
        words = [word for term in self.words.values() for word in term.names]
        self._columns = [*self._columns, *(ColumnBins(word, _HALF, None, 0.0, 1.0) for word in words)]
        return np.ascontiguousarray(np.concatenate(found))

    # Rows in bins.

    def _encode_cells(self, block: Block) -> Bins:
        """Return the bins of the columns other than texts, (d, n)."""
        columns = [
            column for feature, column in zip(block.features, block.columns, strict=True) if feature.kind != "text"
        ]
        found = np.empty((len(columns), block.rows), dtype=np.uint8)
        for at, (bins, column) in enumerate(zip(self.binned, columns, strict=False)):
            if isinstance(column, CodedColumn):
                found[at] = bins.encode_codes([str(name) for name in column.vocabulary], column.codes)
            else:
                numbers = column.unpacked() if isinstance(column, PackedNumbers) else column
                found[at] = bins.encode_numbers(numbers)
        return found

    @property
    def binned(self) -> Sequence[ColumnBins]:
        """The bins of the features other than texts, then those of words."""
        return self._columns if self._inner is None and self._stored is None else self.additive.columns

    def encode(self, block: Block) -> Bins:
        """Return the bins of rows, (d, n): those of the columns, then those of the words."""
        found = [self._encode_cells(block)]
        for name, term in self.words.items():
            found.append(term.encode(_column(block, name)).toarray().T.astype(np.uint8) + np.uint8(1))
        return np.ascontiguousarray(np.concatenate(found))

    # Predictions.

    @property
    def additive(self) -> AdditiveScorer:
        """The intercept and the terms."""
        scorer = self.scorer
        assert isinstance(scorer, AdditiveScorer)
        return scorer

    def scores(self, block: Block) -> FloatArray:
        """Return log-scores of the classes, (n, k), or expected numbers, (n,)."""
        scorer, bins = self.additive, self.encode(block)
        if self.task != "classes":
            return scorer.mean(bins)
        scores = np.full((block.rows, len(self.labels)), -np.inf)  # of a class without rows
        scores[:, self.labels.positions(scorer.labels)] = scorer.class_scores(bins)
        return scores

    def effects(self, block: Block) -> Effects:
        """Return the contribution of each term to the scores."""
        scorer, bins = self.additive, self.encode(block)
        parts = scorer.contributions(bins)
        stacked = (
            np.stack(parts, axis=1) if parts else np.zeros((block.rows, 0, len(scorer.intercept)))
        )  # (n, terms, t)
        intercept = scorer.intercept
        if len(scorer.labels) == 2:
            stacked = np.concatenate([np.zeros_like(stacked), stacked], axis=2)
            intercept = np.concatenate([[0.0], intercept])
        if self.task == "classes":
            places, k = self.labels.positions(scorer.labels), len(self.labels)
            whole, base = np.zeros((*stacked.shape[:2], k)), np.full(k, -np.inf)  # of a class without rows
            whole[:, :, places], base[places] = stacked, intercept
            stacked, intercept = whole, base
        terms = self.effect_terms()
        words = np.zeros((block.rows, len(terms)), dtype=bool)
        for at, term in enumerate(terms):
            if term.word is not None:
                words[:, at] = bins[scorer.terms[at].fitted.left] > 1
        return Effects(list(np.moveaxis(stacked, 2, 0)), np.tile(intercept, (block.rows, 1)), terms, words)

    def effect_terms(self) -> list[EffectTerm]:
        """Return what each term is of."""
        places = {feature.name: at for at, feature in enumerate(self.features)}
        owners: list[tuple[int, str | None]] = [
            (places[feature.name], None) for feature in self.features if feature.kind != "text"
        ]
        owners += [(places[name], word) for name, term in self.words.items() for word in term.words]
        found = []
        for term in self.additive.terms:
            fitted = term.fitted
            used = [owners[at] for at in (fitted.left, fitted.right) if at is not None]
            word = used[0][1] if len(used) == 1 else None
            found.append(EffectTerm(term.name, tuple(place for place, _ in used), word))
        return found

    def summary(self, level: float, notes: tuple[str, ...] = ()) -> TermSummary:
        """Return the terms with their importance and effects."""
        from suffice.tables.term_summary import TermSummary

        booleans = {feature.name for feature in self.features if feature.kind == "boolean"}
        words = {name for term in self.words.values() for name in term.names}
        return TermSummary(self.additive, frozenset(booleans), frozenset(words), self.task, notes)

    # Files.

    def settings(self) -> dict[str, Any]:
        """Return the features, and the words of texts."""
        return {
            "features": [list(feature) for feature in self.features],
            "words": {name: list(term.words) for name, term in self.words.items()},
        }

    def restore(self, settings: Any) -> None:
        """Set the features and the words."""
        if "features" not in settings:
            raise ValueError("an additive model of this form, of linear splines, is no longer read: fit it again")
        self.features = tuple(Feature(*each) for each in settings["features"])
        self.words = {name: Words(name, tuple(words)) for name, words in settings["words"].items()}


def informative_words(matrix: Any, codes: npt.NDArray[np.int64], most: int = MOST_WORDS) -> list[int]:
    """Return the columns of words with the most mutual information with classes, in their order.

    Parameters
    ----------
    matrix
        Whether a row has a word, (n, words), sparse.
    codes
        The class of each row.
    most
        Largest number of columns.

    Examples
    --------
    >>> import scipy
    >>> rows = scipy.sparse.csc_array(np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 0, 0]]))
    >>> informative_words(rows, np.array([1, 1, 0, 0]), 2)
    [1, 2]
    """
    import scipy

    n, words = matrix.shape
    k = int(codes.max()) + 1
    classes = scipy.sparse.csr_array((np.ones(n), (codes, np.arange(n))), shape=(k, n))
    with_word = np.asarray((classes @ matrix.astype(np.float64)).toarray()) / n  # p(class, word), (k, words)
    share = np.bincount(codes, minlength=k)[:, None] / n
    information = np.zeros(words)
    for joint, marginal in (
        (with_word, with_word.sum(axis=0)),
        (share - with_word, 1 - with_word.sum(axis=0)),
    ):
        independent = share * marginal
        ratio = np.divide(joint, independent, out=np.ones_like(joint), where=(joint > 0) & (independent > 0))
        information += (np.maximum(joint, 0.0) * np.log(ratio)).sum(axis=0)
    best = np.argsort(-information, kind="stable")[:most]
    return sorted(int(at) for at in best if information[at] > 1e-12)


def _column(block: Block, name: str) -> Any:
    return next(column for feature, column in zip(block.features, block.columns, strict=True) if feature.name == name)
