"""Terms of a fitted additive model: their values by bin, and the pure form in which they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.additive.backfitting import BinnedRows, Term
from suffice.additive.bins import OTHER, Bins, ColumnBins
from suffice.statistics.base import FloatArray

#: Sweeps over rows and columns of a pair's cells when its main effects are removed, and the change at which they end.
SWEEPS, SETTLED = 200, 1e-12


@dataclass(frozen=True, eq=False)
class AdditiveTerm:
    """A term of an additive model: what a column, or a pair of columns, adds to the linear predictor.

    The mean of a term over the training rows is 0, and so is that of each row and column of cells of a pair: main
    effects are in the terms of the columns.

    Parameters
    ----------
    columns
        The names of the one or two columns.
    labels
        What the bins, or groups of bins, of each column hold, in words.
    edges
        Of each column: the numbers between its bins, (b - 2,) of a term and (b - 1,) of a pair; None for categories.
    ranges
        Of each column: the least and the greatest number learned; 0 for categories.
    values
        What each cell adds: (b,), or (b1, b2) for a pair; with one more axis for the classes if there are more than
        two.
    errors
        The standard error of each value, given the other terms and the penalties.
    density
        The share of the weight of the training rows in each cell.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import AdditiveRegressor
    >>> x, _ = load_iris(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(max_bins=4, interactions=0).fit(x[["petal width (cm)"]], x["petal length (cm)"])
    >>> term = model.terms_[0]
    >>> term.labels[0]
    ('missing', 'below 0.3', '0.3 to 1.3', '1.3 to 1.8', '1.8 or more')
    >>> term.values.round(1)
    array([ 0. , -2.3, -1.1,  0.8,  1.8])
    """

    columns: tuple[Any, ...]
    labels: tuple[tuple[str, ...], ...]
    edges: tuple[FloatArray | None, ...]
    ranges: tuple[tuple[float, float], ...]
    values: FloatArray
    errors: FloatArray
    density: FloatArray
    fitted: Term  # which cell a row has

    @property
    def name(self) -> str:
        """The name of the column, or of both."""
        return " × ".join(map(str, self.columns))

    @property
    def is_line(self) -> bool:
        """Whether the values are on a straight line over the column, as held-out rows show no bend."""
        return self.fitted.line is not None

    @property
    def importance(self) -> float:
        """The mean absolute contribution over the training rows; over classes, too, if there are several."""
        size = np.abs(self.values)
        each = size if size.ndim == self.density.ndim else size.mean(axis=-1)
        return float((each * self.density).sum())

    def with_values(self, values: FloatArray) -> AdditiveTerm:
        """Return the term with other values."""
        return replace(self, values=values)

    def cell_values(self) -> FloatArray:
        """Return the values as (cells, t)."""
        return np.ascontiguousarray(self.values.reshape(self.fitted.cells, -1))


def sum_terms(bins: Bins, intercept: FloatArray, terms: Sequence[AdditiveTerm]) -> FloatArray:
    """Return the linear predictors of binned rows, (n, t)."""
    n = bins.shape[1]
    scores = np.tile(np.asarray(intercept, dtype=np.float64), (n, 1))
    if not terms or not n:
        return scores
    rows = BinnedRows(bins, np.zeros(n), None, None, "softmax", predictors=scores.shape[1])
    native = rows.native_terms([term.fitted for term in terms])
    for at, term in enumerate(terms):
        _native.additive.step(rows.native(scores), native, 0, n, at, term.cell_values(), -1, None, None)
    return scores


def pure_terms(
    terms: Sequence[Term],
    values: Sequence[FloatArray],
    errors: Sequence[FloatArray],
    bins: Bins,
    weight: FloatArray | None,
    columns: Sequence[ColumnBins],
) -> tuple[FloatArray, list[AdditiveTerm]]:
    """Return the intercept, (t,), and terms whose means are 0; main effects of pairs are added to those of columns."""
    intercept = values[0][0].copy()
    total = float(bins.shape[1] if weight is None else weight.sum())
    shares, moved = [], [each.copy() for each in values]
    for term in terms[1:]:
        cells = np.bincount(term.cell_of(bins), weights=weight, minlength=term.cells)
        shares.append(cells.astype(np.float64) / total)
    mains = {term.left: at for at, term in enumerate(terms) if at and term.right is None}
    for at, term in enumerate(terms):
        if not at or term.right is None:
            continue
        left, right, middle, pure = _without_main_effects(
            moved[at].reshape(term.height, term.width, -1), shares[at - 1]
        )
        moved[at] = pure.reshape(term.cells, -1)
        intercept += middle
        for column, table, effect in (
            (term.left, term.left_cell // term.width, left),
            (term.right, term.right_cell, right),
        ):
            own = mains[column]
            moved[own] += effect[table[: len(moved[own])]]  # type: ignore[index]
    found = []
    for at, term in enumerate(terms):
        if not at:
            continue
        if term.right is None:
            mean = shares[at - 1] @ moved[at]
            moved[at] -= mean
            intercept += mean
            _flatten_empty(term, moved[at], shares[at - 1])
        found.append(show_term(term, moved[at], errors[at], shares[at - 1], columns))
    if len(intercept) > 1:  # the same number may be added to all classes
        intercept -= intercept.mean()
        found = [each.with_values(each.values - each.values.mean(axis=-1, keepdims=True)) for each in found]
    return intercept, found


def _flatten_empty(term: Term, values: FloatArray, share: FloatArray) -> None:
    """Set bins without rows to 0 where nothing is known of them: missing cells, and other levels of a category."""
    known = range(1) if term.ordered[0] else range(term.cells)
    for cell in known:
        if share[cell] == 0:
            values[cell] = 0.0


def _without_main_effects(
    values: FloatArray, share: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return effects of rows and of columns, the mean, and the rest, whose weighted means over both are 0."""
    height, width, t = values.shape
    weight = share.reshape(height, width)
    # Cells without rows take part with a small weight, so that every mean exists.
    weight = np.where(weight > 0, weight, 1e-9)
    weight = weight / weight.sum()
    rest = values.copy()
    left, right = np.zeros((height, t)), np.zeros((width, t))
    by_row, by_column = weight.sum(axis=1), weight.sum(axis=0)
    for _ in range(SWEEPS):
        rows = np.einsum("ab,abt->at", weight, rest) / by_row[:, None]
        rest -= rows[:, None, :]
        columns = np.einsum("ab,abt->bt", weight, rest) / by_column[:, None]
        rest -= columns[None, :, :]
        left += rows
        right += columns
        if max(np.abs(rows).max(), np.abs(columns).max()) < SETTLED:
            break
    middle_left, middle_right = by_row @ left, by_column @ right
    return left - middle_left, right - middle_right, middle_left + middle_right, rest


def show_term(
    term: Term, values: FloatArray, errors: FloatArray, share: FloatArray, columns: Sequence[ColumnBins]
) -> AdditiveTerm:
    """Return a term with labels of its cells; values and errors are (cells, t), the shares of rows (cells,)."""
    t = values.shape[1]
    classes = () if t == 1 else (t,)
    used = [columns[term.left]] if term.right is None else [columns[term.left], columns[term.right]]
    sides: list[tuple[ColumnBins, npt.NDArray[np.int32] | None, int]] = (
        [(used[0], None, term.height)]
        if term.right is None
        else [(used[0], term.left_cell // term.width, term.height), (used[1], term.right_cell, term.width)]
    )
    named = [_sides(*side) for side in sides]
    grid = (term.cells,) if term.right is None else (term.height, term.width)
    return AdditiveTerm(
        tuple(each.name for each in used),
        tuple(labels for labels, _ in named),
        tuple(edges for _, edges in named),
        tuple((each.low, each.high) for each in used),
        values.reshape(*grid, *classes),
        errors.reshape(*grid, *classes),
        share.reshape(grid),
        term,
    )


def _sides(
    bins: ColumnBins, groups: npt.NDArray[np.int32] | None, count: int
) -> tuple[tuple[str, ...], FloatArray | None]:
    """Return labels of the bins or groups of a column, and the numbers between them."""
    labels = bins.labels()
    if groups is None:
        return tuple(labels), bins.edges
    members = [[at for at in range(len(bins)) if groups[at] == group] for group in range(count)]
    if bins.edges is None:
        # The first group is that of the most frequent level; missing cells and other levels without rows are put there.
        members[0] = [at for at in members[0] if at > OTHER] or members[0]
        return tuple(
            " or ".join(labels[at] for at in group[:3]) + (" …" if len(group) > 3 else "") for group in members
        ), None
    ranges, edges = [], []
    for group in members:
        known = [at for at in group if at]
        if not known:
            ranges.append("missing")
            continue
        low = bins.edges[known[0] - 2] if known[0] > 1 else None
        high = bins.edges[known[-1] - 1] if known[-1] <= len(bins.edges) else None
        if high is not None:
            edges.append(high)
        text = f"{low:.6g} to {high:.6g}" if low is not None and high is not None else ""
        text = text or (
            f"below {high:.6g}" if high is not None else f"{low:.6g} or more" if low is not None else "any number"
        )
        ranges.append(text)
    return tuple(ranges), np.array(edges)
