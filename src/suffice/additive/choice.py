"""The choice of penalties and pairs of columns on held-out rows, and the fit to all rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.additive.backfitting import CONSTANT, FEW, Backfit, BinnedRows, Term, Workers, fit_folds, held_scores
from suffice.additive.bins import MISSING, ColumnBins, group_bins
from suffice.statistics.base import FloatArray

#: Cycles in which penalties are estimated, of terms of one column and with pairs.
CYCLES, PAIR_CYCLES = 6, 5
#: Most times that penalties are halved.
HALVINGS = 20
#: Cycles of the fit to all rows, which starts at the mean of the folds.
FINAL_CYCLES = 5
#: Penalties and pairs are chosen on at most this many rows, drawn at random.
MOST_ROWS = 50_000
#: Folds by default: the first number, or the second from this many scores (rows times predictors) on.
FOLDS, FEW_FOLDS, MANY_SCORES = 5, 3, 100_000
#: Groups of bins per column: when pairs are ranked; and in a pair, GROUPS_PER_ROW * n^(1/3), within these bounds, the
#: last for more than two classes, each of which has values of its own.
RANKING_GROUPS, GROUPS_PER_ROW, FEWEST_GROUPS, MOST_GROUPS, MOST_GROUPS_OF_CLASSES = 8, 1.3, 4, 32, 12
#: Pairs are sought among this many columns at most, those with the largest effects.
MOST_COLUMNS = 100
#: With interactions="auto", most pairs: this many per column, and in all.
PAIRS_PER_COLUMN, MOST_PAIRS = 4, 120
#: Added to the curvature of cells when pairs are ranked: cells of few rows say little.
RANKING_RIDGE = 1.0


class FittedTerms(NamedTuple):
    """The result: terms, of which the first is the intercept, with values and standard errors, (cells, t)."""

    terms: list[Term]
    values: list[FloatArray]
    errors: list[FloatArray]
    penalties: FloatArray  # (terms, t)
    solution: AdditiveSolution


class AdditiveSolution(NamedTuple):
    """How an additive model was chosen.

    Losses are means per row of minus the log-likelihood of held-out rows, up to a constant.
    """

    rows: int  # on which penalties and pairs were chosen
    folds: int
    main_loss: float  # of terms of one column
    pair_loss: float | None  # with pairs; None if there were no candidates
    gain_error: float | None  # standard error of the difference of the losses, row by row
    candidates: int  # pairs that were tried
    pairs: int  # pairs that were kept
    seconds: float
    reason: str
    copies: int = 0  # rows that repeat others: they were added to the weight of these


def main_term(column: int, bins: ColumnBins, monotone: int) -> Term:
    """Return the term of one column, with a cell for each bin."""
    cells = np.minimum(np.arange(256, dtype=np.int32), len(bins) - 1).astype(np.int32)
    return Term(column, None, cells, None, len(bins), 1, (bins.ordered, False), (bins.ordered, False), monotone)


def pair_term(
    left: int, right: int, groups: Sequence[npt.NDArray[np.int32]], bins: Sequence[ColumnBins], missing: Sequence[bool]
) -> Term:
    """Return the term of a pair of columns, with a cell for each pair of groups of bins."""
    height, width = (int(groups[column].max()) + 1 for column in (left, right))
    return Term(
        left,
        right,
        np.ascontiguousarray(groups[left] * width, dtype=np.int32),
        np.ascontiguousarray(groups[right], dtype=np.int32),
        height,
        width,
        (bins[left].ordered, bins[right].ordered),
        (missing[left], missing[right]),
    )


def choose_and_fit(
    rows: BinnedRows,
    bins: Sequence[ColumnBins],
    monotone: dict[int, int],
    interactions: int | str | Sequence[tuple[int, int]],
    folds: int | None,
    random: np.random.RandomState,
    threads: int,
) -> FittedTerms:
    """Return the additive model of these rows.

    On folds of at most :data:`MOST_ROWS` rows, the penalty of each term is estimated, all are scaled by the factor with
    the smallest held-out loss, and pairs are kept if they reduce it by more than its standard error. Then the model
    is fitted to all rows.
    """
    begun = time.perf_counter()
    counts = [np.bincount(rows.bins[j], minlength=256).astype(np.float64) for j in range(len(bins))]
    columns = [j for j in range(len(bins)) if np.count_nonzero(counts[j]) > 1]
    mains = [main_term(j, bins[j], monotone.get(j, 0)) for j in columns]
    sample, edges = _in_folds(rows, folds, random)
    many = len(sample) * sample.predictors >= FEW
    with Workers(threads if many else 1) as workers:
        fits = [Backfit(sample, [CONSTANT, *mains], held) for held in edges]
        for fit in fits:
            _start(fit)
        main_loss = fit_folds(fits, CYCLES, HALVINGS, workers)
        candidates = _candidates(sample, fits, bins, counts, columns, monotone, interactions, workers)
        solution = AdditiveSolution(
            len(sample), len(edges), main_loss / len(sample), None, None, 0, 0, 0.0, "no pairs of columns to try"
        )
        if candidates:
            fits, solution = _with_pairs(fits, candidates, solution, workers, isinstance(interactions, str | int))
    with Workers(threads if len(rows) * rows.predictors >= FEW else 1) as workers:
        fitted = _fit_all(rows, fits, workers)
    assert fitted.variances is not None
    errors = np.sqrt(np.maximum(fitted.variances, 0.0))
    cuts = fitted.first[1:-1]
    return FittedTerms(
        fitted.terms,
        np.split(fitted.values, cuts),
        np.split(errors, cuts),
        fitted.penalties,
        solution._replace(seconds=time.perf_counter() - begun),
    )


def _in_folds(
    rows: BinnedRows, folds: int | None, random: np.random.RandomState
) -> tuple[BinnedRows, list[tuple[int, int]]]:
    """Return a random sample of the rows, sorted by fold, and the first and last row of each fold.

    Folds are stratified: rows are dealt in the order of their targets.
    """
    order = random.permutation(len(rows))[:MOST_ROWS]
    if folds is None:
        folds = FOLDS if len(order) * rows.predictors < MANY_SCORES else FEW_FOLDS
    folds = max(2, min(folds, len(order)))
    by_target = order[np.argsort(rows.target[order], kind="stable")]
    fold = (np.arange(len(order)) + random.randint(folds)) % folds
    edges = np.concatenate([[0], np.cumsum(np.bincount(fold, minlength=folds))]).tolist()
    return rows.take(by_target[np.argsort(fold, kind="stable")]), list(pairwise(edges))


def _start(fit: Backfit) -> None:
    """Set the intercept of a fit that has no values: Newton's method, from the mean of the targets for log links."""
    rows, (first, last) = fit.rows, fit.held
    if rows.family == "tweedie":
        learned = np.concatenate([rows.target[:first], rows.target[last:]])
        fit.values[0] = np.log(max(float(learned.mean()), 1e-12))
    alone = Backfit(rows, [CONSTANT], fit.held, fit.values[:1])
    for _ in range(4):
        alone.cycle(learn=False)
    fit.values[0], fit.scores = alone.values[0], alone.scores


def _candidates(
    sample: BinnedRows,
    fits: list[Backfit],
    bins: Sequence[ColumnBins],
    counts: Sequence[FloatArray],
    columns: list[int],
    monotone: dict[int, int],
    interactions: int | str | Sequence[tuple[int, int]],
    workers: Workers,
) -> list[Term]:
    """Return the pairs whose cells have the largest gradients, given the terms of one column, on held-out rows."""
    missing = [bool(counts[j][MISSING] > 0) and bins[j].ordered for j in range(len(bins))]
    bound = MOST_GROUPS if sample.predictors == 1 else MOST_GROUPS_OF_CLASSES
    most = int(np.clip(GROUPS_PER_ROW * len(sample) ** (1 / 3), FEWEST_GROUPS, bound))
    groups = [group_bins(bins[j], counts[j], most) for j in range(len(bins))]
    if not isinstance(interactions, str | int):
        return [pair_term(left, right, groups, bins, missing) for left, right in interactions]
    free = [j for j in columns if j not in monotone]
    if len(free) > MOST_COLUMNS:
        effects = {j: float(np.mean([fit.values_of(1 + at).std() for fit in fits])) for at, j in enumerate(columns)}
        free = sorted(sorted(free, key=lambda j: -effects[j])[:MOST_COLUMNS])
    possible = list(combinations(free, 2))
    wanted = min(PAIRS_PER_COLUMN * len(columns), MOST_PAIRS) if isinstance(interactions, str) else interactions
    if not possible or not wanted:
        return []
    scores = held_scores(fits)
    gradient, curvature = sample.gradients(scores)
    if sample.family in ("gaussian", "tweedie"):  # to the scale on which chance adds 1 per degree of freedom
        spread = max(float(np.mean(gradient**2)) / max(float(np.mean(curvature)), 1e-300), 1e-300)
        gradient, curvature = gradient / spread, curvature / spread
    coarse = [group_bins(bins[j], counts[j], RANKING_GROUPS) for j in range(len(bins))]

    pairs = sample.native_terms([pair_term(*pair, coarse, bins, missing) for pair in possible])
    gains = np.empty(len(possible))
    shares = np.linspace(0, len(possible), min(len(possible), 16) + 1).astype(int).tolist()
    workers.map(
        lambda part: _native.additive.gains(pairs, gradient, curvature, part[0], part[1], RANKING_RIDGE, gains),
        list(pairwise(shares)),
    )
    best = [int(at) for at in np.argsort(-gains, kind="stable")[:wanted] if gains[at] > 0]
    return [pair_term(*possible[at], groups, bins, missing) for at in best]


def _with_pairs(
    fits: list[Backfit], candidates: list[Term], solution: AdditiveSolution, workers: Workers, choose: bool
) -> tuple[list[Backfit], AdditiveSolution]:
    """Return the fits with pairs, or those without if pairs do not reduce the held-out loss by its standard error."""
    rows, mains = fits[0].rows, len(fits[0].terms)
    before = rows.losses(held_scores(fits))
    extended = [fit.extended(candidates) for fit in fits]
    loss = fit_folds(extended, PAIR_CYCLES, HALVINGS, workers)
    scores = held_scores(extended)
    after = rows.losses(scores)
    gain = before - after if rows.weight is None else (before - after) * rows.weight
    error = float(gain.std() / np.sqrt(len(gain)))
    solution = solution._replace(pair_loss=loss / len(rows), gain_error=error, candidates=len(candidates))
    if choose and not gain.mean() > error:
        reason = "pairs do not reduce the held-out loss by more than its standard error"
        return fits, solution._replace(reason=reason)
    kept = list(range(len(extended[0].terms)))
    if choose:
        kept = [at for at in kept if at < mains or _helps(extended, at, rows, scores, after)]
        if len(kept) == mains:
            return fits, solution._replace(reason="no pair reduces the held-out loss by more than its standard error")
    reason = "pairs reduce the held-out loss by more than its standard error" if choose else "pairs were given"
    shortened = [fit.reduced(kept) for fit in extended]
    return shortened, solution._replace(pairs=len(kept) - mains, reason=reason)


def _helps(fits: list[Backfit], at: int, rows: BinnedRows, scores: FloatArray, losses: FloatArray) -> bool:
    """Whether the held-out loss is larger without a term, by more than the standard error of the difference."""
    cell = fits[0].terms[at].cell_of(rows.bins)
    effect = np.concatenate([fit.values_of(at)[cell[fit.held[0] : fit.held[1]]] for fit in fits])
    difference = rows.losses(scores - effect) - losses
    difference = difference if rows.weight is None else difference * rows.weight
    return bool(difference.mean() > difference.std() / np.sqrt(len(difference)))


def _fit_all(rows: BinnedRows, folds: list[Backfit], workers: Workers) -> Backfit:
    """Return the fit to all rows, with the penalties of the folds (their geometric mean)."""
    values = np.mean([fold.values for fold in folds], axis=0)
    penalties = np.exp(np.mean([np.log(np.maximum(fold.penalties, 1e-300)) for fold in folds], axis=0))
    fit = Backfit(rows, folds[0].terms, (0, 0), values, penalties, workers)
    fit.freedom = np.mean([fold.freedom for fold in folds], axis=0)
    for cycle in range(FINAL_CYCLES):
        fit.cycle(learn=False, variances=cycle == FINAL_CYCLES - 1)
    return fit
