"""Penalised backfitting: each step fits one term to sums of gradient and curvature per cell, given the other terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.additive.bins import Bins
from suffice.statistics.base import FloatArray

Cells = npt.NDArray[np.int32]
Codes = npt.NDArray[np.int64]

#: Numbers of the families in native code: AdditiveRows::Family in native/kernels.hpp.
FAMILIES = {"gaussian": 0, "bernoulli": 1, "tweedie": 2, "softmax": 3}
#: Penalty of every term at the start, and the range in which it is estimated.
FIRST_PENALTY, LEAST_PENALTY, LARGEST_PENALTY = 10.0, 1e-3, 1e9
#: Penalties beyond this are reduced to it before all are scaled: the path must reach terms that were shrunk to 0.
PATH_START = 100.0
#: Factors of all penalties from one point of the path to the next, towards smaller and larger ones. The path ends where
#: the held-out loss falls by less than this share of what it exceeds the least loss by.
PATH_FACTOR, LARGER_FACTOR, LEAST_FALL = 0.5, 4.0, 1e-3
#: Largest factor by which a penalty changes in one step.
FACTOR = 10.0
#: Rows of a part, for threads. Sums of parts are added in order: the result does not depend on the number of threads.
PART = 1 << 16
#: Below this many scores (rows times predictors), threads cost more than they save.
FEW = 20_000


class Term(NamedTuple):
    """A term as it is fitted: the cell of each bin, or of each pair of bins, and how cells are smoothed.

    A constant is the term with one cell.
    """

    left: int  # the column
    right: int | None  # the second column of a pair
    left_cell: Cells  # (256,), by bin
    right_cell: Cells | None
    height: int
    width: int
    ordered: tuple[bool, bool]
    missing: tuple[bool, bool]  # whether group 0 of an ordered column holds missing cells
    monotone: int = 0
    line: FloatArray | None = None  # (cells,), places of the cells if the values are on a straight line

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.height * self.width

    @property
    def shape(self) -> tuple[int, int, bool, bool, bool, bool, int]:
        """The shape, as native code reads it."""
        return self.height, self.width, *self.ordered, *self.missing, self.monotone

    def cell_of(self, bins: Bins) -> npt.NDArray[np.int32]:
        """Return the cell of each row."""
        left = self.left_cell[bins[self.left]]
        if self.right is None or self.right_cell is None:
            return np.asarray(left)
        return np.asarray(left + self.right_cell[bins[self.right]])


#: The intercept: one cell.
CONSTANT = Term(0, None, np.zeros(256, dtype=np.int32), None, 1, 1, (False, False), (False, False))


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Rows of an additive model in bins, with what they predict."""

    bins: Bins  # (d, n)
    target: FloatArray  # (n,); the code of the class for softmax
    weight: FloatArray | None
    offset: FloatArray | None  # (n,), a known part of the predictor
    family: str
    power: float = 0.0
    predictors: int = 1
    group: Codes | None = None  # (n,), of rows that are held out together
    time: FloatArray | None = None  # (n,), of rows that are held out after those of earlier times

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: npt.NDArray[np.int64]) -> BinnedRows:
        """Return some rows, in this order."""
        return BinnedRows(
            np.ascontiguousarray(self.bins[:, rows]),
            self.target[rows],
            None if self.weight is None else self.weight[rows],
            None if self.offset is None else self.offset[rows],
            self.family,
            self.power,
            self.predictors,
            None if self.group is None else self.group[rows],
            None if self.time is None else self.time[rows],
        )

    def first_scores(self) -> FloatArray:
        """Return the predictors of a model without terms."""
        scores = np.zeros((len(self), self.predictors))
        return scores if self.offset is None else scores + self.offset[:, None]

    def native(self, scores: FloatArray, held: tuple[int, int] = (0, 0)) -> tuple[Any, ...]:
        """Return the rows as native code reads them."""
        return FAMILIES[self.family], self.power, self.target, self.weight, scores, held

    def native_terms(self, terms: Sequence[Term]) -> Any:
        """Return terms with the bins of their columns as native code reads them."""
        columns = [
            (
                self.bins[term.left],
                None if term.right is None else self.bins[term.right],
                term.left_cell,
                term.right_cell,
                term.line,
            )
            for term in terms
        ]
        return _native.additive.Terms(len(self), columns, [term.shape for term in terms])

    def losses(self, scores: FloatArray) -> FloatArray:
        """Return minus the log-likelihood of each row, up to a constant and without its weight."""
        y, z = self.target, scores
        if self.family == "gaussian":
            return 0.5 * (y - z[:, 0]) ** 2
        if self.family == "bernoulli":
            return np.logaddexp(0.0, np.where(y > 0.5, -z[:, 0], z[:, 0]))
        if self.family == "softmax":
            chosen = np.take_along_axis(z, y.astype(np.int64)[:, None], axis=1)[:, 0]
            largest = z.max(axis=1)
            return np.asarray(np.log(np.exp(z - largest[:, None]).sum(axis=1)) + largest - chosen)
        one, two = 1.0 - self.power, 2.0 - self.power
        mean = z[:, 0] if two == 0 else np.exp(two * z[:, 0]) / two
        return np.asarray(mean - y * (z[:, 0] if one == 0 else np.exp(one * z[:, 0]) / one))

    def least_losses(self) -> FloatArray:
        """Return the least losses that predictions can have, those of the targets themselves."""
        if self.family != "tweedie":
            return np.zeros(len(self))
        return self.losses(np.log(np.maximum(self.target, 1e-300))[:, None])

    def gradients(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient and curvature of the log-likelihood by the predictors of each row, (n, t) each."""
        gradient, curvature = np.empty_like(scores), np.empty_like(scores)
        _native.additive.gradient(self.native(scores), gradient, curvature)
        return gradient, curvature


class Workers:
    """Threads that apply a function to several items; results are in the order of the items."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, "suffice") if threads > 1 else None

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return the results of a function."""
        if self._pool is None or len(items) < 2:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()


class State(NamedTuple):
    """Values and penalties of a fit."""

    values: FloatArray
    penalties: FloatArray


class Held(NamedTuple):
    """Rows that are not learned: from ``begin`` to ``end - 1``, of which those before ``tested`` are tested."""

    begin: int = 0
    end: int = 0
    tested: int = 0


NOTHING = Held()


class Backfit:
    """A fit in progress: the values of every term, and the scores of all rows, of which some may be held out.

    Parameters
    ----------
    rows
        All rows.
    terms
        The terms, of which the first is the intercept.
    held
        The rows that are held out.
    values
        Of all cells of all terms, one term after another, (cells, t); 0 by default.
    penalties
        Of each term, (terms, t).
    workers
        Threads for parts of the rows; None: all rows in this thread.
    """

    def __init__(
        self,
        rows: BinnedRows,
        terms: list[Term],
        held: Held = NOTHING,
        values: FloatArray | None = None,
        penalties: FloatArray | None = None,
        workers: Workers | None = None,
    ) -> None:
        t = rows.predictors
        self.rows, self.terms, self.held, self._workers = rows, terms, held, workers
        self.first = np.concatenate([[0], np.cumsum([term.cells for term in terms])])
        self.values = np.zeros((self.first[-1], t)) if values is None else np.array(values)
        self.penalties = np.full((len(terms), t), FIRST_PENALTY) if penalties is None else np.array(penalties)
        self.penalties[0] = 0.0
        # A constant is not penalised where all cells are in one chain: it is the intercept's.
        self._free = np.array([term.ordered[0] and (term.width == 1 or term.ordered[1]) for term in terms], dtype=float)
        self._is_pair = np.array([term.right is not None for term in terms])[:, None]
        self.freedom = np.zeros((len(terms), t))
        self.dispersion = 1.0
        self.variances: FloatArray | None = None  # of values, (cells, t)
        self._native = rows.native_terms(terms)
        self._change = np.empty_like(self.values)
        self.scores = rows.first_scores()
        if self.values.any():
            self._move(self.values)

    def extended(self, terms: list[Term]) -> Backfit:
        """Return a fit with more terms, which starts at this one."""
        more = np.zeros((sum(term.cells for term in terms), self.rows.predictors))
        penalties = np.full((len(terms), self.rows.predictors), FIRST_PENALTY)
        values, penalties = np.concatenate([self.values, more]), np.concatenate([self.penalties, penalties])
        found = Backfit(self.rows, [*self.terms, *terms], self.held, values, penalties, self._workers)
        found.freedom[: len(self.terms)] = self.freedom
        return found

    def reduced(self, kept: list[int]) -> Backfit:
        """Return a fit with some of the terms."""
        values = np.concatenate([self.values_of(at) for at in kept])
        found = Backfit(
            self.rows, [self.terms[at] for at in kept], self.held, values, self.penalties[kept], self._workers
        )
        found.freedom = self.freedom[kept]
        return found

    def straightened(self, at: Sequence[int], places: Sequence[FloatArray]) -> Backfit:
        """Return a fit in which some terms are straight lines over the places of their cells."""
        terms = list(self.terms)
        for term, line in zip(at, places, strict=True):
            terms[term] = terms[term]._replace(line=line)
        found = Backfit(self.rows, terms, self.held, self.values, self.penalties, self._workers)
        found.freedom = self.freedom
        return found

    def values_of(self, term: int) -> FloatArray:
        """Return the values of a term, (cells, t)."""
        return self.values[self.first[term] : self.first[term + 1]]

    def begin(self, first: int) -> None:
        """Start the terms from this one on, which have no values, all at once.

        Each is fitted without the others, and all are multiplied by the factor that fits best, one for each predictor.
        So columns that say the same have equal shares of an effect: fitted one after the other, the first would have
        most of it.
        """
        before = self.scores.copy()
        gradient, curvature = self.rows.gradients(before)
        sums = [self._sums(-1, at) for at in range(first, len(self.terms))]
        for at, found in enumerate(sums, start=first):
            cells = slice(self.first[at], self.first[at + 1])
            values, change = self.values[cells], self._change[cells]
            _native.additive.smooth(
                self._native, at, *found, self.penalties[at], False, values, change, None, None, None
            )
            self._move_term(at, change)
        direction = self.scores - before
        direction[self.held.begin : self.held.end] = 0.0
        slope, bend = (gradient * direction).sum(axis=0), (curvature * direction**2).sum(axis=0)
        factor = np.clip(np.divide(slope, bend, where=bend > 0, out=np.zeros_like(bend)), 0.0, 1.0)  # (t,)
        self.values[self.first[first] :] *= factor
        self.scores = before + (self.scores - before) * factor

    def cycle(self, learn: bool, variances: bool = False) -> None:
        """Fit every term once; with ``learn``, then estimate the penalty of each from its values.

        The prior variance of a term's differences is estimated by the fixed point of Fellner and Schall: degrees of
        freedom over the sum of squared differences. Both are summed over the classes, except of pairs: curves of one
        column are about as rough for all classes, and the estimate of a single class is noisy.
        """
        if self.rows.family in ("gaussian", "tweedie"):
            self._estimate_dispersion()
        variance = np.empty_like(self.values) if learn or variances else None
        freedom, roughness = np.zeros_like(self.penalties), np.zeros_like(self.penalties)
        found = (variance, freedom, roughness) if learn or variances else (None, None, None)
        self._fit_terms(*found)
        if variances and variance is not None:
            self.variances = variance * self.dispersion
        if learn:
            self.freedom = np.maximum(freedom - self._free[:, None], 1e-3)
            degrees, squares = (
                np.where(self._is_pair, each, each.sum(axis=1, keepdims=True)) for each in (self.freedom, roughness)
            )
            wanted = self.dispersion * degrees / (squares + 1e-12)
            bounded = np.clip(wanted, self.penalties / FACTOR, self.penalties * FACTOR)
            self.penalties[1:] = np.clip(bounded[1:], LEAST_PENALTY, LARGEST_PENALTY)

    def cycle_lines(self) -> None:
        """Fit every term once, and estimate the penalties of straight lines."""
        before = self.penalties.copy()
        self.cycle(learn=True)
        curves = [at for at, term in enumerate(self.terms) if term.line is None]
        self.penalties[curves] = before[curves]

    def scale_penalties(self, factor: float) -> None:
        """Multiply all penalties by a factor."""
        start = np.minimum(self.penalties, PATH_START) if factor < 1 else self.penalties
        self.penalties = np.minimum(start * factor, LARGEST_PENALTY)

    def held_loss(self) -> float:
        """Return minus the log-likelihood of the rows that are tested."""
        return float(_native.additive.loss(self.rows.native(self.scores), self.held.begin, self.held.tested))

    def state(self) -> State:
        """Return copies of values and penalties."""
        return State(self.values.copy(), self.penalties.copy())

    def restore(self, state: State) -> None:
        """Return to an earlier state."""
        self._move(state.values - self.values)
        self.values, self.penalties = state.values.copy(), state.penalties.copy()

    # Passes over rows.

    def _fit_terms(self, variance: FloatArray | None, freedom: FloatArray | None, roughness: FloatArray | None) -> None:
        bounded = self.rows.family != "gaussian"
        if not self._in_parts:
            given = self.rows.native(self.scores, self.held[:2])
            _native.additive.cycle(
                given, self._native, self.penalties, bounded, self.values, self._change, variance, freedom, roughness
            )
            return
        moved = -1
        for at in range(len(self.terms)):
            gradient, curvature = self._sums(moved, at)
            cells = slice(self.first[at], self.first[at + 1])
            found = [
                None if each is None else each[which]
                for each, which in ((variance, cells), (freedom, at), (roughness, at))
            ]
            _native.additive.smooth(
                self._native,
                at,
                gradient,
                curvature,
                self.penalties[at],
                bounded,
                self.values[cells],
                self._change[cells],
                *found,
            )
            moved = at
        self._move_term(moved, self._change[cells])

    @property
    def _in_parts(self) -> bool:
        return self._workers is not None and len(self.rows) >= 2 * PART

    def _move(self, change: FloatArray) -> None:
        """Add a change of all values to the scores."""
        for at in range(len(self.terms)):
            self._move_term(at, np.ascontiguousarray(change[self.first[at] : self.first[at + 1]]))

    def _move_term(self, term: int, change: FloatArray) -> None:
        given = self.rows.native(self.scores, self.held[:2])
        self._over_parts(lambda part: _native.additive.step(given, self._native, *part, term, change, -1, None, None))

    def _sums(self, moved: int, term: int) -> tuple[FloatArray, FloatArray]:
        """Return gradients and curvatures of a term's cells, (cells, t) each, after the change of another term."""
        given = self.rows.native(self.scores, self.held[:2])
        change = None if moved < 0 else self._change[self.first[moved] : self.first[moved + 1]]

        def sums(part: tuple[int, int]) -> FloatArray:
            found = np.zeros((2, self.terms[term].cells, self.rows.predictors))
            _native.additive.step(given, self._native, *part, moved, change, term, found[0], found[1])
            return found

        total: FloatArray = np.sum(self._over_parts(sums), axis=0)
        return total[0], total[1]

    def _over_parts(self, function: Callable[[tuple[int, int]], Any]) -> list[Any]:
        n = len(self.rows)
        if self._workers is None or not self._in_parts:
            return [function((0, n))]
        return self._workers.map(function, [(first, min(first + PART, n)) for first in range(0, n, PART)])

    def _estimate_dispersion(self) -> None:
        """Estimate the dispersion by Pearson's statistic of the rows that are learned."""
        gradient, curvature = self.rows.gradients(self.scores)
        weighs = curvature[:, 0] > 0
        pearson = np.divide(gradient[:, 0] ** 2, curvature[:, 0], out=np.zeros(len(gradient)), where=weighs)
        first, last, _ = self.held
        total = float(pearson[:first].sum() + pearson[last:].sum())
        learned = float(np.count_nonzero(weighs[:first]) + np.count_nonzero(weighs[last:]))
        self.dispersion = max(total / max(learned - 1.0 - float(self.freedom.sum()), 0.2 * learned, 1.0), 1e-12)


def fit_folds(fits: list[Backfit], cycles: int, halvings: int, workers: Workers) -> float:
    """Fit all folds: estimate penalties, then halve them as long as the loss of rows held out decreases.

    Every fit ends at the penalties with the smallest loss, which is returned. Estimates take rows as independent: those
    of rows with groups or times may be too small, and are increased in the same way.
    """
    path = _Path(fits, workers)
    if fits[0].values[1:].any():
        path.keep()
    for cycle in range(cycles):
        workers.map(lambda fit: fit.cycle(learn=cycle > 0), fits)  # noqa: B023 - called at once
        if cycle >= min(3, cycles - 1):
            path.keep()
    is_independent = fits[0].rows.group is None and fits[0].rows.time is None
    for factor in (PATH_FACTOR,) if is_independent else (PATH_FACTOR, LARGER_FACTOR):
        worse = 0
        for _ in range(halvings):
            for fit in fits:
                fit.scale_penalties(factor)
            workers.map(lambda fit: fit.cycle(learn=False), fits)
            worse = 0 if path.keep() else worse + 1
            if worse == 2:
                break
        path.restore()
    return path.best


def settle_folds(fits: list[Backfit], cycles: int, workers: Workers) -> float:
    """Fit all folds again, with their penalties, as long as the loss of rows held out decreases; return the loss."""
    path = _Path(fits, workers)
    path.keep()
    for _ in range(cycles):
        workers.map(lambda fit: fit.cycle(learn=False), fits)
        if not path.keep():
            break
    path.restore()
    return path.best


class _Path:
    """The states that fits go through, of which that with the smallest held-out loss is kept."""

    def __init__(self, fits: list[Backfit], workers: Workers) -> None:
        self._fits, self._workers = fits, workers
        self.best, self._last, self._states = np.inf, np.inf, [fit.state() for fit in fits]
        rows, tested = fits[0].rows, np.r_[tuple(slice(fit.held.begin, fit.held.tested) for fit in fits)]
        losses = rows.least_losses()[tested]
        self._least = float(losses.sum() if rows.weight is None else losses @ rows.weight[tested])

    def keep(self) -> bool:
        """Keep this state if it is the best; return whether the loss is less than that of the state before.

        It is not compared with the best: a path that begins with a larger loss, since pairs are new, is followed to its
        end.
        """
        loss = float(sum(self._workers.map(Backfit.held_loss, self._fits)))
        fell, self._last = loss - self._least < self._last * (1.0 - LEAST_FALL), loss - self._least
        if loss < self.best:
            self.best, self._states = loss, [fit.state() for fit in self._fits]
        return fell

    def restore(self) -> None:
        """Return to the best state."""
        for fit, state in zip(self._fits, self._states, strict=True):
            fit.restore(state)
        self._last = self.best - self._least


def held_scores(fits: Iterable[Backfit]) -> FloatArray:
    """Return the scores of every tested row by the fit that did not learn it."""
    return np.concatenate([fit.scores[fit.held.begin : fit.held.tested] for fit in fits])
