"""The fit of an additive model to rows in bins, without the estimators: it imports no scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.additive.backfitting import BinnedRows
from suffice.additive.bins import Bins, ColumnBins, widen_bins
from suffice.additive.choice import AdditiveSolution, FittedTerms, choose_and_fit, fit_again
from suffice.additive.copies import merge_copies
from suffice.additive.packing import round_errors, round_to_grid
from suffice.additive.scorer import AdditiveScorer, value_type
from suffice.additive.terms import AdditiveTerm, pure_terms
from suffice.data.dataset import Piece
from suffice.kernels.engine import permitted_threads
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray

#: Families of regressions, by the power of the variance function of Tweedie's; those but the first have a log link.
POWERS = {"gaussian": 0.0, "poisson": 1.0, "gamma": 2.0, "inverse_gaussian": 3.0}

#: Most values of a column by default, of more than two classes and this many rows: each bin has one for every class.
#: Of many classes, a column has so many bins nevertheless.
MOST_VALUES, FEWEST_BINS, MANY_ROWS = 640, 64, 1000


class EncodedRows(NamedTuple):
    """Rows in bins, (d, n), with what they predict, their weights and offsets, (n,).

    Groups and times of rows tell which are held out together.
    """

    bins: Bins
    target: FloatArray
    weight: FloatArray | None
    offset: FloatArray | None
    group: npt.NDArray[np.int64] | None = None
    time: FloatArray | None = None


#: Fits terms to rows in the bins of these columns, with penalties and pairs that it chooses or knows.
Choose = Callable[[BinnedRows, Sequence[ColumnBins]], FittedTerms]


class BinnedFit(NamedTuple):
    """A fit to rows in bins."""

    scorer: AdditiveScorer
    solution: AdditiveSolution
    terms: FittedTerms  # for a fit to other rows


def choose_by_default(rows: BinnedRows, columns: Sequence[ColumnBins]) -> FittedTerms:
    """Fit terms with the defaults of the estimators."""
    return choose_and_fit(rows, columns, {}, "auto", None, np.random.RandomState(0), permitted_threads())


def known_choice(chosen: FittedTerms, threads: int | None = None) -> Choose:
    """Return what fits terms with the penalties and pairs of a fit."""
    return lambda rows, columns: fit_again(rows, chosen, permitted_threads() if threads is None else threads)


def fit_classes(
    encoded: EncodedRows, columns: Sequence[ColumnBins], labels: Labels, choose: Choose, widen: bool = False
) -> BinnedFit:
    """Fit the scores of classes to their codes; ``widen`` merges bins where there are more than two classes."""
    k = len(labels)
    family, predictors = ("bernoulli", 1) if k == 2 else ("softmax", k)
    scorer = partial(AdditiveScorer, labels=labels)
    return _fit(encoded, columns, choose, scorer, widen, family=family, predictors=predictors)


def fit_numbers(encoded: EncodedRows, columns: Sequence[ColumnBins], family: str, choose: Choose) -> BinnedFit:
    """Fit the mean of numbers, or its logarithm, by the family of their distribution."""
    target, weight, known = encoded.target, encoded.weight, encoded.offset
    if family != "gaussian":
        if not target.any():
            raise ValueError("y is 0 in every row: the logarithm of its mean is not finite")
        scorer = partial(AdditiveScorer, labels=Labels(), link="log")
        unit = 1.0 if family == "poisson" else _mean(target, weight)  # of counts, it is one
        encoded = encoded._replace(target=target / unit)
        centre = float(np.log(unit))
        return _fit(encoded, columns, choose, scorer, centre=centre, family="tweedie", power=POWERS[family])
    centre = _mean(target, weight)
    largest = float(np.abs(target - centre).max()) or 1.0  # squares of small numbers are 0
    scale = largest * _mean(((target - centre) / largest) ** 2, weight) ** 0.5 or 1.0
    encoded = encoded._replace(target=(target - centre) / scale, offset=None if known is None else known / scale)
    scorer = partial(AdditiveScorer, labels=Labels())
    return _fit(encoded, columns, choose, scorer, centre=centre, scale=scale, family="gaussian")


def _fit(
    encoded: EncodedRows,
    columns: Sequence[ColumnBins],
    choose: Choose,
    scorer: Callable[[list[ColumnBins], FloatArray, list[AdditiveTerm]], AdditiveScorer],
    widen: bool = False,
    *,
    centre: float = 0.0,
    scale: float = 1.0,
    **family: Any,
) -> BinnedFit:
    """Fit terms to the rows; the predictor is then multiplied by a scale, and a centre added."""
    bins, target, weight, offset, group, time = encoded
    target = np.ascontiguousarray(target, dtype=np.float64)
    rows = BinnedRows(bins, target, weight, offset, group=group, time=time, **family)
    if weight is not None and not weight.all():  # what is held out, or counted, is rows that weigh
        rows = rows.take(np.flatnonzero(weight))
    rows, copies = merge_copies(rows)
    if widen and rows.predictors > 1 and len(rows) >= MANY_ROWS:
        columns, rows = _widen_all(columns, rows)
    if rows.weight is not None:  # penalties are estimated per row: the unit of the weights must not matter
        rows = replace(rows, weight=rows.weight / _mean(rows.weight))
    if rows.offset is not None:  # the intercept need not move far: its steps are short
        middle = _mean(rows.offset, rows.weight)
        rows, centre = replace(rows, offset=rows.offset - middle), centre - middle * scale
    fitted = choose(rows, columns)
    intercept, terms = pure_terms(fitted.terms, fitted.values, fitted.errors, rows.bins, rows.weight, columns)
    found = scorer(list(columns), intercept * scale + centre, [_scaled(term, scale) for term in terms])
    return BinnedFit(found, fitted.solution._replace(copies=copies), fitted)


def _mean(values: FloatArray, weight: FloatArray | None = None) -> float:
    """Return the mean of numbers, the same in any order of them: whole multiples of a small unit are added exactly.

    Examples
    --------
    >>> values = np.random.default_rng(0).random(100)
    >>> _mean(values) == _mean(values[::-1]), bool(abs(_mean(values) - values.mean()) < 1e-12)
    (True, True)
    """
    if weight is not None:
        share = weight / weight.max()  # products cannot overflow
        return _mean(values * share) / _mean(share)
    largest, digits = float(np.abs(values).max()) or 1.0, 62 - len(values).bit_length()
    whole = np.rint(np.ldexp(values / largest, digits)).astype(np.int64)
    return float(largest * (int(whole.sum()) / len(values) / 2**digits))


def _widen_all(columns: Sequence[ColumnBins], rows: BinnedRows) -> tuple[list[ColumnBins], BinnedRows]:
    """Return wider bins, and rows in these: each class has a value for every bin."""
    counts = [np.bincount(column, minlength=256) for column in rows.bins]
    most = max(MOST_VALUES // rows.predictors, FEWEST_BINS)
    wider = [widen_bins(*each, most) for each in zip(columns, counts, strict=True)]
    tables = [table for _, table in wider]
    binned = np.ascontiguousarray([table[b] for table, b in zip(tables, rows.bins, strict=True)])
    return [bins for bins, _ in wider], replace(rows, bins=binned)


def read_numbers(family: str, piece: Piece, rows: int) -> tuple[FloatArray, FloatArray | None]:
    """Return the numbers of rows, which must be in the range of the family, and the weights."""
    target = validation.numbers(piece["y"], rows)
    least = np.zeros(rows, dtype=bool) if family == "gaussian" else target < 0 if family == "poisson" else target <= 0
    if least.any():
        row = int(np.flatnonzero(least)[0])
        wanted = "0 or more" if family == "poisson" else "positive"
        raise ValueError(f"family={family!r} needs y that is {wanted}; row {row} is {target[row]:g}")
    with validation.one_of_many():
        return target, validation.weights(piece.get("sample_weight"), rows)


def _scaled(term: AdditiveTerm, scale: float) -> AdditiveTerm:
    """Return a term in other units, with numbers rounded as files have them."""
    return replace(
        term,
        values=round_to_grid(term.values * scale, value_type(term)),
        errors=round_errors(term.errors * scale),
        density=round_to_grid(term.density, value_type(term)),
    )
