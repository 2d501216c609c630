"""The choice of penalties and pairs of columns on held-out rows, and the fit to all rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.additive.backfitting import (
    CONSTANT,
    FEW,
    NOTHING,
    Backfit,
    BinnedRows,
    Codes,
    Held,
    Term,
    Workers,
    fit_folds,
    held_scores,
    settle_folds,
)
from suffice.additive.bins import MISSING, ColumnBins, group_bins
from suffice.additive.copies import order_by_content
from suffice.statistics.base import FloatArray

#: Cycles in which penalties are estimated, of terms of one column and with pairs; and of fits with straight lines.
CYCLES, PAIR_CYCLES, LINE_CYCLES = 6, 5, 3
#: Straight lines are tried from this many rows on.
LINE_ROWS = 1000
#: Most times that penalties are halved; most cycles after pairs were dropped.
HALVINGS, SETTLING_CYCLES = 60, 10
#: Cycles of a fit to more rows than those on which the terms were chosen, or to others.
FINAL_CYCLES = 4
#: Penalties and pairs are chosen on at most this many rows, drawn at random.
MOST_ROWS = 50_000
#: Folds by default: the first number, or the second from this many scores (rows times predictors) on.
FOLDS, FEW_FOLDS, MANY_SCORES = 5, 3, 100_000
#: Most cycles of the intercept alone at first and in the end, and the change at which it is settled.
FIRST_CYCLES, LAST_CYCLES, SETTLED = 4, 50, 1e-9
#: Groups of bins per column when pairs are ranked.
RANKING_GROUPS = 8
#: Groups of bins per column in a pair: the first number times n^(1/3), within the other two; of one predictor, and of
#: more than two classes, each of which has values of its own.
GROUPS, GROUPS_OF_CLASSES = (1.3, 4, 32), (0.42, 8, 12)
#: Pairs are sought among this many columns at most, those with the largest effects.
MOST_COLUMNS = 100
#: With interactions="auto", most pairs: this many per column, and in all.
PAIRS_PER_COLUMN, MOST_PAIRS = 4, 200
#: Pairs are not sought if the sum of the losses of all held-out rows is below this, what AIC takes for one parameter.
CERTAIN = 1.0
#: Added to the curvature of cells when pairs are ranked: cells of few rows say little.
RANKING_RIDGE = 1.0


class FittedTerms(NamedTuple):
    """The result: terms, of which the first is the intercept, with values and standard errors, (cells, t)."""

    terms: list[Term]
    values: list[FloatArray]
    errors: list[FloatArray]
    penalties: FloatArray  # (terms, t)
    freedom: FloatArray  # (terms, t)
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
    lines: int = 0  # terms that are straight lines
    line_loss: float | None = None  # with these lines; None if there are none


def main_term(column: int, bins: ColumnBins, monotone: int) -> Term:
    """Return the term of one column, with a cell for each bin."""
    cells = np.minimum(np.arange(256, dtype=np.int32), len(bins) - 1).astype(np.int32)
    return Term(column, None, cells, None, len(bins), 1, (bins.ordered, False), (bins.ordered, False), monotone)


def pair_term(
    left: int,
    right: int,
    groups: Sequence[npt.NDArray[np.int32]],
    bins: Sequence[ColumnBins],
    missing: Mapping[int, bool],
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
    the smallest held-out loss, and pairs are kept if they reduce it by more than its standard error. Terms of columns
    without pairs are straight lines if these do not increase it by more than its standard error. The fit to all rows
    has the same cycles with penalties of its own.
    """
    begun = time.perf_counter()
    counts = [np.bincount(rows.bins[j], minlength=256).astype(np.float64) for j in range(len(bins))]
    columns = [j for j in range(len(bins)) if np.count_nonzero(counts[j]) > 1]
    mains = [main_term(j, bins[j], monotone.get(j, 0)) for j in columns]
    sample, edges = _in_folds(rows, folds, random)
    many = len(sample) * sample.predictors >= FEW
    with Workers(threads if many else 1) as workers:
        # The last fit learns all rows. It has the cycles of the others, and ends where their held-out loss is smallest:
        # with small penalties, more cycles may make it larger.
        fits = [Backfit(sample, [CONSTANT, *mains], held) for held in [*edges, NOTHING]]
        for fit in fits:
            _start(fit)
        workers.map(lambda fit: fit.begin(1), fits)
        main_loss = fit_folds(fits, CYCLES, HALVINGS, workers)
        reason, candidates = "no pairs of columns to try", []
        if interactions == "auto" and _has_classes(sample) and main_loss < CERTAIN:
            reason = "columns alone are certain of the held-out rows"
        else:
            candidates = _candidates(sample, fits, bins, counts, columns, monotone, interactions, workers)
        mean_loss = main_loss / len(_tested_rows(fits))
        solution = AdditiveSolution(len(sample), len(edges), mean_loss, None, None, 0, 0, 0.0, reason)
        if candidates:
            fits, solution = _with_pairs(fits, candidates, solution, workers, isinstance(interactions, str | int))
        fits, solution = _with_lines(fits, bins, counts, solution, workers)
    found = _fitted_terms(fits[-1], solution)
    if len(sample) < len(rows):
        found = _fit_rows(rows, found, threads)
    return found._replace(solution=solution._replace(seconds=time.perf_counter() - begun))


def fit_again(rows: BinnedRows, chosen: FittedTerms, threads: int) -> FittedTerms:
    """Return the terms fitted to other rows, with the penalties of a fit; the fit starts at its values."""
    begun = time.perf_counter()
    found = _fit_rows(rows, chosen, threads)
    return found._replace(solution=chosen.solution._replace(seconds=time.perf_counter() - begun))


def _in_folds(rows: BinnedRows, folds: int | None, random: np.random.RandomState) -> tuple[BinnedRows, list[Held]]:
    """Return a random sample of the rows, sorted by fold, and the rows that are held out together.

    Both depend on the contents of the rows and the seed, not on the order of the rows. Folds are stratified: rows are
    dealt in the order of their targets. Rows of a group are in one fold. If rows have times, a fold is tested by the
    rows before it.
    """
    from suffice.selection.folds import assign_folds, assign_folds_by_time

    order = order_by_content(rows)[random.permutation(len(rows))[:MOST_ROWS]]
    if folds is None:
        folds = FOLDS if len(order) * rows.predictors < MANY_SCORES else FEW_FOLDS
    folds = max(2, min(folds, len(order)))
    if rows.time is not None and np.ptp(rows.time[order]) > 0:
        fold = assign_folds_by_time(rows.time[order], folds)
        sample = rows.take(order[np.argsort(fold, kind="stable")])
        edges = _edges(fold)
        return sample, [Held(first, edges[-1], last) for first, last in _tested(sample, edges)]
    groups = None if rows.group is None else np.unique(rows.group[order], return_inverse=True)[1].astype(np.int64)
    if groups is not None and groups.max() > 0:
        strata = rows.target[order].astype(np.int64) if _has_classes(rows) else rows.target[order]
        generator = np.random.default_rng(random.randint(1 << 31))
        fold = assign_folds(strata, min(folds, int(groups.max()) + 1), generator, groups)
    else:
        order = order[np.argsort(rows.target[order], kind="stable")]
        fold = (np.arange(len(order)) + random.randint(folds)) % folds
    edges = _edges(fold)
    sample = rows.take(order[np.argsort(fold, kind="stable")])
    return sample, [Held(first, last, last) for first, last in pairwise(edges)]


def _edges(fold: Codes) -> list[int]:
    """Return the first row of each fold that has rows, and the number of rows."""
    sizes = np.bincount(fold)
    return [0, *np.cumsum(sizes[sizes > 0]).tolist()]


def _tested(sample: BinnedRows, edges: list[int]) -> list[tuple[int, int]]:
    """Return the folds after the first in which all classes have occurred; at least the last."""
    start = 1
    if _has_classes(sample):
        _, first_rows = np.unique(sample.target, return_index=True)
        start = int(np.searchsorted(edges, first_rows.max(), side="right"))
    return list(pairwise(edges))[min(start, len(edges) - 2) :]


def _has_classes(rows: BinnedRows) -> bool:
    return rows.family in ("bernoulli", "softmax")


def _tested_rows(fits: list[Backfit]) -> BinnedRows:
    """Return the rows that are tested: all, or those after the first times."""
    rows, first = fits[0].rows, fits[0].held.begin
    return rows if first == 0 else rows.take(np.arange(first, len(rows)))


def _mean_and_error(rows: BinnedRows, differences: FloatArray) -> tuple[float, float]:
    """Return the mean difference of a row's losses, and its standard error."""
    from suffice.metrics import mean_and_error

    return mean_and_error(differences, rows.weight, rows.group)


def _start(fit: Backfit) -> None:
    """Set the intercept of a fit that has no values: by Newton's method; for log links, the best constant.

    That is the logarithm of Σ w y exp((1 - p) o) / Σ w exp((2 - p) o), with weights w, offsets o and power p.
    """
    rows, (first, last, _) = fit.rows, fit.held
    if rows.family == "tweedie":
        learned = np.r_[:first, last : len(rows)]
        if rows.weight is not None:
            learned = learned[rows.weight[learned] > 0]
        target = rows.target[learned]
        weight = np.ones(len(learned)) if rows.weight is None else rows.weight[learned]
        offset = np.zeros(len(learned)) if rows.offset is None else rows.offset[learned]
        positive = target > 0
        above = np.log(weight * target, where=positive, out=np.full(len(learned), -np.inf))
        total = np.logaddexp.reduce(above + (1 - rows.power) * offset)
        if not positive.any():  # counts: half of the least that other rows have
            total = np.log(rows.target[rows.target > 0].min(initial=1.0) / 2)
        fit.values[0] = total - np.logaddexp.reduce(np.log(weight) + (2 - rows.power) * offset)
    fit.scores += fit.values[0]
    _fit_intercept(fit, FIRST_CYCLES)


def _fit_intercept(fit: Backfit, cycles: int) -> None:
    """Fit the intercept alone, until it does not change."""
    alone = Backfit(fit.rows, [CONSTANT], fit.held)
    alone.scores = fit.scores
    for _ in range(cycles):
        before = alone.values[0].copy()
        alone.cycle(learn=False)
        if np.abs(alone.values[0] - before).max() < SETTLED:
            break
    fit.values[0] += alone.values[0]


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
    missing = {j: bool(counts[j][MISSING] > 0) and bins[j].ordered for j in range(len(bins))}
    factor, least, largest = GROUPS if sample.predictors == 1 else GROUPS_OF_CLASSES
    most = int(np.clip(factor * len(sample) ** (1 / 3), least, largest))
    groups = [group_bins(bins[j], counts[j], most) for j in range(len(bins))]
    if not isinstance(interactions, str | int):
        given = [pair for pair in interactions if set(pair) <= set(columns)]  # a constant column changes nothing
        return [pair_term(*pair, groups, bins, missing) for pair in given]
    free = [j for j in columns if j not in monotone]
    if len(free) > MOST_COLUMNS:
        effects = {j: float(np.mean([fit.values_of(1 + at).std() for fit in fits])) for at, j in enumerate(columns)}
        free = sorted(sorted(free, key=lambda j: -effects[j])[:MOST_COLUMNS])
    possible = list(combinations(free, 2))
    wanted = min(PAIRS_PER_COLUMN * len(columns), MOST_PAIRS) if isinstance(interactions, str) else interactions
    if not possible or not wanted:
        return []
    tested = _tested_rows(fits)
    gradient, curvature = tested.gradients(held_scores(fits))
    if sample.family in ("gaussian", "tweedie"):  # to the scale on which chance adds 1 per degree of freedom
        spread = max(float(np.mean(gradient**2)) / max(float(np.mean(curvature)), 1e-300), 1e-300)
        gradient, curvature = gradient / spread, curvature / spread
    coarse = [group_bins(bins[j], counts[j], RANKING_GROUPS) for j in range(len(bins))]

    pairs = tested.native_terms([pair_term(*pair, coarse, bins, missing) for pair in possible])
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
    rows, mains = _tested_rows(fits), len(fits[0].terms)
    before = rows.losses(held_scores(fits))
    extended = [fit.extended(candidates) for fit in fits]
    workers.map(lambda fit: fit.begin(mains), extended)
    fit_folds(extended, PAIR_CYCLES, HALVINGS, workers)
    after = rows.losses(held_scores(extended))
    gain, error = _mean_and_error(rows, before - after)
    if choose and gain > error:
        extended, after = _without_idle_pairs(extended, mains, after, workers)
        gain, error = _mean_and_error(rows, before - after)
    loss = float(np.average(after, weights=rows.weight))
    solution = solution._replace(pair_loss=loss, gain_error=error, candidates=len(candidates))
    if choose and not gain > error:
        reason = "pairs do not reduce the held-out loss by more than its standard error"
        return fits, solution._replace(reason=reason)
    reason = "pairs reduce the held-out loss by more than its standard error" if choose else "pairs were given"
    return extended, solution._replace(pairs=len(extended[0].terms) - mains, reason=reason)


def _without_idle_pairs(
    fits: list[Backfit], mains: int, losses: FloatArray, workers: Workers
) -> tuple[list[Backfit], FloatArray]:
    """Return fits without as many pairs as possible, within one standard error of the loss, and their held-out losses.

    Tried are all pairs without which the held-out loss is not larger by more than its standard error. Several of them
    may stand for one effect, so that all are missed where each is not: while the loss without them is larger by more
    than its standard error, the more useful half is kept.
    """
    rows, scores = _tested_rows(fits), held_scores(fits)
    worse: dict[int, float] = {}
    for at in range(mains, len(fits[0].terms)):
        effect = _effects(fits, at, [fit.values_of(at) for fit in fits], rows)
        difference, error = _mean_and_error(rows, rows.losses(scores - effect) - losses)
        if not difference > error:
            worse[at] = difference
    tried = sorted(worse, key=lambda at: worse[at])
    while tried:
        dropped = set(tried)
        kept = [at for at in range(len(fits[0].terms)) if at not in dropped]
        reduced = [fit.reduced(kept) for fit in fits]
        settle_folds(reduced, SETTLING_CYCLES, workers)
        after = rows.losses(held_scores(reduced))
        difference, error = _mean_and_error(rows, after - losses)
        if difference <= error:
            return reduced, after
        tried = tried[: len(tried) // 2]
    return fits, losses


def _effects(fits: list[Backfit], at: int, values: Sequence[FloatArray], rows: BinnedRows) -> FloatArray:
    """Return what values of a term, one array for each fit, add to the scores of the tested rows, (n, t)."""
    cell, start = fits[0].terms[at].cell_of(rows.bins), fits[0].held.begin
    parts = [
        each[cell[fit.held.begin - start : fit.held.tested - start]] for fit, each in zip(fits, values, strict=True)
    ]
    return np.concatenate(parts)


def _with_lines(
    fits: list[Backfit],
    bins: Sequence[ColumnBins],
    counts: Sequence[FloatArray],
    solution: AdditiveSolution,
    workers: Workers,
) -> tuple[list[Backfit], AdditiveSolution]:
    """Return fits in which as many terms as possible are straight lines, within one standard error of the loss.

    Terms of columns in pairs stay curves: main effects of pairs are added to them. Tried are all terms whose best line
    does not increase the held-out loss by more than its standard error; while all together do, the worse half is
    dropped. Of few rows, the standard error says little, and of several classes, lines were worse.
    """
    rows, scores = _tested_rows(fits), held_scores(fits)
    if rows.predictors > 1 or len(rows) < LINE_ROWS:
        return fits, solution
    before = rows.losses(scores)
    paired = {column for term in fits[0].terms[1:] if term.right is not None for column in (term.left, term.right)}
    worse: dict[int, float] = {}
    for at, term in enumerate(fits[0].terms):
        if not at or not term.ordered[0] or term.left in paired or np.count_nonzero(counts[term.left][1:]) < 3:
            continue
        places = bins[term.left].places()
        bent = [_bent(fit.values_of(at), places, counts[term.left]) for fit in fits]
        after = rows.losses(scores - _effects(fits, at, bent, rows))
        difference, error = _mean_and_error(rows, after - before)
        if difference <= error:
            worse[at] = difference
    tried = sorted(worse, key=lambda at: worse[at])
    while tried:
        straight = [fit.straightened(tried, [bins[fit.terms[at].left].places() for at in tried]) for fit in fits]
        for _ in range(LINE_CYCLES):
            workers.map(Backfit.cycle_lines, straight)
        after = rows.losses(held_scores(straight))
        difference, error = _mean_and_error(rows, after - before)
        if difference <= error:
            loss = float(np.average(after, weights=rows.weight))
            return straight, solution._replace(lines=len(tried), line_loss=loss)
        tried = tried[: len(tried) // 2]
    return fits, solution


def _bent(values: FloatArray, places: FloatArray, count: FloatArray) -> FloatArray:
    """Return what values, (cells, t), differ from the straight line that fits them best."""
    weight = count[: len(values)].copy()
    weight[MISSING] = 0.0
    weight /= weight.sum()
    place, height = places - weight @ places, weight @ values
    slope = (weight * place) @ values / max(float(weight @ place**2), 1e-300)
    bent = values - height - place[:, None] * slope
    bent[MISSING] = 0.0
    return np.asarray(bent)


def _fit_rows(rows: BinnedRows, start: FittedTerms, threads: int) -> FittedTerms:
    """Return the fit to rows, with the penalties of a fit to others, which it starts at."""
    with Workers(threads if len(rows) * rows.predictors >= FEW else 1) as workers:
        fit = Backfit(rows, start.terms, NOTHING, np.concatenate(start.values), start.penalties, workers)
        fit.freedom = start.freedom
        for _ in range(FINAL_CYCLES):
            fit.cycle(learn=False)
        return _fitted_terms(fit, start.solution)


def _fitted_terms(fit: Backfit, solution: AdditiveSolution) -> FittedTerms:
    """Return the terms of a fit, with their standard errors."""
    _fit_intercept(fit, LAST_CYCLES)
    values = fit.values.copy()
    fit.cycle(learn=False, variances=True)
    assert fit.variances is not None
    errors = np.sqrt(np.maximum(fit.variances, 0.0))
    cuts = fit.first[1:-1]
    return FittedTerms(fit.terms, np.split(values, cuts), np.split(errors, cuts), fit.penalties, fit.freedom, solution)
