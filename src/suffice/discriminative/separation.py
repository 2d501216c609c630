"""Separation: directions along which the likelihood has no maximum, found by linear programming."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linprog

from suffice.discriminative.robust import CELLS, read_rows
from suffice.families import Response
from suffice.kernels import Batch, Engine, errors, inputs
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import taken
from suffice.kernels.native import is_csr
from suffice.statistics.base import FloatArray
from suffice.user_warnings import warn_user

Flags = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]

#: Margins, for columns between -1 and 1 and the largest coefficient 1: a row below the first is on the boundary, one
#: above the second strictly separated. The tolerance of the programme is smaller.
TOUCHING = 1e-7
APART = 1e-6


class Moved(NamedTuple):
    """The margins of the rows along a direction."""

    beta: FloatArray  # (p, t), for columns between -1 and 1; its largest entry is 1
    low: FloatArray  # (n,), a row's smallest margin: the score of its class less that of another
    gain: FloatArray  # (n,), a row's largest margin

    @property
    def separates(self) -> bool:
        """Whether no row has a negative margin, and some a positive one."""
        return bool(self.low.min(initial=np.inf) >= -TOUCHING and self.gain.max(initial=-np.inf) > APART)

    @property
    def complete(self) -> bool:
        """Whether all rows have positive margins."""
        return self.separates and bool(self.low.min() > APART)


@dataclass(frozen=True, eq=False)
class Cone:
    """The rows as constraints on a direction beta, (p, t): margins must not be negative.

    Columns are shifted and scaled to [-1, 1]; those of CSR, and without an intercept, are only scaled.
    """

    engine: Engine
    batch: Batch
    classes: int
    intercept: bool
    centre: FloatArray  # (d,)
    scale: FloatArray  # (d,)

    @classmethod
    def over(cls, engine: Engine, batch: Batch, classes: int, intercept: bool) -> Cone:
        """Return the constraints of a batch's rows."""
        raw = cls(engine, batch, classes, False, np.zeros(batch.features), np.ones(batch.features))
        ranges = list(engine.map(raw._ranges, batch))
        low = np.min([part[0] for part in ranges], axis=0)
        high = np.max([part[1] for part in ranges], axis=0)
        low, high = (np.where(low <= high, end, 0.0) for end in (low, high))  # without rows of weight above 0
        centre = low / 2 + high / 2 if intercept and not is_csr(batch.x) else np.zeros(batch.features)
        reach = np.maximum(high - centre, centre - low)
        return cls(engine, batch, classes, intercept, centre, np.where(reach > 0, reach, 1.0))

    @property
    def scores_of(self) -> FloatArray:
        """The matrix from predictors to scores of classes, (t, k): one class has no predictor."""
        rest = np.zeros((self.classes - 1, 1))
        return np.hstack([rest, np.eye(1)] if self.classes == 2 else [np.eye(self.classes - 1), rest])

    def inward(self, theta: FloatArray) -> FloatArray:
        """Return theta in the coordinates of the scaled columns."""
        beta = theta.copy()
        beta[int(self.intercept) :] *= self.scale[:, None]
        if self.intercept:
            beta[0] += self.centre @ theta[1:]
        return beta

    def outward(self, beta: FloatArray) -> FloatArray:
        """Return beta in the coordinates of X."""
        theta = beta.copy()
        theta[int(self.intercept) :] /= self.scale[:, None]
        if self.intercept:
            theta[0] -= self.centre @ theta[1:]
        return theta

    def design(self, x: Any) -> Any:
        """Return rows of x, scaled and with a leading 1 for an intercept: dense or CSR."""
        if is_csr(x):
            scaled = x @ sparse.diags_array(1 / self.scale)
            parts: Any = [np.ones((x.shape[0], 1)), scaled]
            return sparse.hstack(parts, "csr") if self.intercept else scaled.tocsr()
        scaled = (x - self.centre) / self.scale
        return np.column_stack([np.ones(len(x)), scaled]) if self.intercept else scaled

    def members(self, y: npt.NDArray[Any], weight: npt.NDArray[Any] | None) -> Flags:
        """Return which classes each row has observations of, (n, k)."""
        seen = np.column_stack([y < 1, y > 0]) if self.classes == 2 else y[:, None] == np.arange(self.classes)
        return seen if weight is None else seen & (weight > 0)[:, None]

    def _blocks(self, part: Batch) -> Iterator[tuple[Any, Flags]]:
        """Yield the rows of a part, dense or CSR, and which classes each has observations of."""
        width = part.x.nnz // max(1, part.x.shape[0]) if is_csr(part.x) else part.features
        height = max(1, CELLS // (width + self.classes + 1))
        for start in range(part.start, part.stop, height):
            stop = min(start + height, part.stop)
            weight = None if part.weight is None else to_host(part.weight[start:stop])
            yield read_rows(part.x, start, stop), self.members(to_host(part.y[start:stop]), weight)

    def _ranges(self, part: Batch, _: Any) -> tuple[FloatArray, FloatArray]:
        low, high = np.full(part.features, np.inf), np.full(part.features, -np.inf)
        for x, members in self._blocks(part):
            counted = x[members.any(axis=1)]
            if counted.shape[0]:
                np.minimum(low, _flat(counted.min(axis=0)), out=low)
                np.maximum(high, _flat(counted.max(axis=0)), out=high)
        return low, high

    def total(self) -> FloatArray:
        """Return the sum of all constraints, (p, t)."""
        sums = sum(self.engine.map(self._class_sums, self.batch))
        return np.asarray((self.classes * sums - np.sum(sums, axis=1, keepdims=True)) @ self.scores_of.T)

    def _class_sums(self, part: Batch, _: Any) -> FloatArray:
        sums = np.zeros((part.features + int(self.intercept), self.classes))
        for x, members in self._blocks(part):
            sums += self.design(x).T @ members.astype(np.float64)
        return sums

    def moved(self, beta: FloatArray) -> Moved:
        """Return the margins along a direction, scaled so that its largest entry is 1."""
        beta = beta / (np.abs(beta).max(initial=0.0) or 1.0)
        parts = list(self.engine.map(partial(self._margins, beta), self.batch))
        return Moved(beta, *(np.concatenate([part[place] for part in parts]) for place in (0, 1)))

    def _margins(self, beta: FloatArray, part: Batch, _: Any) -> tuple[FloatArray, FloatArray]:
        low, gain = [np.zeros(0)], [np.zeros(0)]
        for x, members in self._blocks(part):
            scores = self.design(x) @ beta @ self.scores_of
            second, first = np.partition(scores, -2, axis=1)[:, -2:].T
            rival = np.where(scores >= first[:, None], second[:, None], first[:, None])
            low.append(np.where(members, scores - rival, np.inf).min(axis=1))
            gain.append(np.where(members, scores - scores.min(axis=1, keepdims=True), -np.inf).max(axis=1))
        return np.concatenate(low), np.concatenate(gain)

    def constraints(self, rows: Positions) -> Any:
        """Return the constraints of some rows, one per line, theta column by column: they must not be negative."""
        places = np.sort(rows) + self.batch.start
        weight = None if self.batch.weight is None else _numbers(self.batch.weight, places)
        design = self.design(_numbers(self.batch.x, places))
        members = self.members(_numbers(self.batch.y, places), weight)
        lines: list[Any] = [sparse.csr_array((0, design.shape[1] * (self.classes - 1)))]
        for one in range(self.classes):
            own = design[members[:, one]]
            own = own if is_csr(own) else np.unique(own, axis=0)
            apart = self.scores_of[:, one] - np.delete(self.scores_of, one, axis=1).T  # (k - 1, t)
            lines.append(sparse.kron(apart, own, "csr"))
        return sparse.vstack(lines, "csr")


def _numbers(array: Any, places: Positions) -> Any:
    """Return some rows of an array of any library as float64 NumPy, those of a CSR matrix as CSR."""
    some = taken(array, places)
    return (some if is_csr(some) else to_host(some)).astype(np.float64, copy=False)


def _flat(values: Any) -> FloatArray:
    """Return the extremes of columns as dense arrays."""
    dense = values if isinstance(values, np.ndarray) else values.toarray()
    return np.asarray(dense, dtype=np.float64).ravel()


#: Rows of the first linear programme; as many violated ones are added each time, until there are none.
ROWS = 1_000
#: Limits of the search, in seconds and in numbers of one programme; beyond them it ends without a result. The search
#: for the fewest columns, after separation was found, is shorter.
SECONDS, SECONDS_FOR_NAMES = 30.0, 5.0
LARGEST = 30_000_000
_SOLVED = 1e-9
#: Programmes of more columns are solved by an interior-point method.
_NARROW = 200
#: If there are at most this many separating columns, they are dropped one by one while the others separate.
_FEW = 25
#: Cost of the intercept's coefficient, relative to 1 for other columns.
_NEXT_TO_NOTHING = 1e-6
_SHOWN = 5


class SeparationWarning(UserWarning):
    """The classes, or counts of 0, are separated: the likelihood has no maximum, and the coefficients are not valid."""


@dataclass(frozen=True, eq=False)
class Separation:
    """A direction of separation: along it the likelihood has no maximum.

    Examples
    --------
    >>> found = Separation("quasi-complete", ("smoker",), np.array([3, 7]), np.array([[0.0], [1.0]]))
    >>> print(found.message())
    smoker separates the classes quasi-completely: 2 rows (3, 7) are strictly on the right side and none on the wrong \
one, so the likelihood has no maximum and coefficients diverge; give C=1.0, or bias_reduction=True, or drop the column
    """

    kind: Literal["complete", "quasi-complete"]  #: complete if all rows are strictly on their side
    columns: tuple[str, ...]  #: of the direction, without the intercept; the fewest possible if they are few
    rows: Positions  #: the rows with positive margins, as positions in x
    direction: FloatArray  #: (p, t); the likelihood does not decrease along it
    of: Literal["classes", "counts"] = "classes"  #: what y holds; counts are separated where they are 0

    def message(self, ridge: str = "give C=1.0", firth: bool = True) -> str:
        """Return the separation and its cure in a sentence.

        Parameters
        ----------
        ridge
            How to give the model a ridge penalty.
        firth
            Whether the model has ``bias_reduction``.
        """
        several = len(self.columns) > 1
        some = ", ".join(self.columns[:_SHOWN])
        more = f" and {len(self.columns) - _SHOWN} more columns" if len(self.columns) > _SHOWN else ""
        rows = f"{len(self.rows)} row{'s' if len(self.rows) != 1 else ''}"
        first = ", ".join(str(row) for row in self.rows[:_SHOWN]) + (", ..." if len(self.rows) > _SHOWN else "")
        sides = (
            f"all {rows} are strictly on the right side"
            if self.kind == "complete"
            else f"{rows} ({first}) are strictly on the right side and none on the wrong one"
        )
        what = (
            f"{some}{more} {'together separate' if several else 'separates'} the classes "
            f"{'completely' if self.kind == 'complete' else 'quasi-completely'}: {sides}"
        )
        if self.of == "counts":
            what = f"y is 0 in all {rows}"
            if self.kind != "complete":
                what = f"{some}{more} {'together separate' if several else 'separates'} {rows} ({first}) with y = 0"
        if not self.columns:
            what = what if self.of == "counts" else f"y is the same in all {rows}"
            return f"{what}, so the likelihood has no maximum and the intercept diverges; y must vary"
        cure = ridge + (", or bias_reduction=True" if firth and self.direction.shape[1] == 1 else "")
        return (
            f"{what}, so the likelihood has no maximum and coefficients diverge; {cure}, or drop the "
            f"column{'s' if several else ''}"
        )


def separable_rows(response: Response, rows: Batch) -> Batch:
    """Return rows as :func:`find_separation` needs them: two classes are 0 and 1, the second with the predictor.

    With a log link a target above 0 fixes the predictor of its row, as a proportion does with other links.

    Examples
    --------
    >>> separable_rows(Response.of("poisson"), Batch(np.zeros((3, 1)), np.array([0.0, 2.0, 1.0]))).y
    array([0. , 0.5, 0.5])
    """
    y = to_host(rows.y)
    if response.link.name == "log":
        y = np.where(y > 0, 0.5, 0.0)
    elif response.family.name == "multinomial" and y.max(initial=0) < 2:
        y = (y == 0).astype(np.float64)  # the last class is the one without a predictor
    return replace(rows, y=y)


def find_separation(
    engine: Engine,
    batch: Batch,
    classes: int,
    theta: FloatArray,
    intercept: bool,
    names: Sequence[str],
    counts: bool = False,
) -> Separation | None:
    """Return a direction that separates the classes, or None if there is none and the likelihood has a maximum.

    Parameters
    ----------
    engine, batch
        The rows. For two classes y is 0 and 1 (a proportion between is a row of both); for more, the codes of the
        classes, the last of which has no predictor. Rows of weight 0 are ignored; an offset has no effect.
    classes
        The number of classes.
    theta
        The last theta of a solver, (p, t). If it has positive margins for all rows, they are separated by it.
    intercept
        Whether the first row of theta belongs to a constant 1 before the features.
    names
        Of the rows of theta, (p,).
    counts
        Whether the rows are counts, as from :func:`separable_rows`.

    Notes
    -----
    A direction separates if no row is on the wrong side and some are strictly on the right one; a linear programme
    finds one if there is one (Konis, 2007). A second decides whether all rows can be strictly on their side, a third
    finds the direction of fewest columns. A programme starts with the rows closest to the boundary; rows that its
    solution puts on the wrong side are added until there are none, so that the solution is that for all rows. Margins
    below 1e-7 of the columns' range are 0. A search of more than 30 seconds, or 30 million numbers in one programme,
    ends with a :class:`SeparationWarning` and None, which may happen with thousands of columns.

    Examples
    --------
    >>> from suffice.kernels import ThreadEngine
    >>> rows = Batch(np.array([[1.0, 0.2], [2.0, 0.9], [3.0, 0.1], [4.0, 0.8]]), np.array([0.0, 0.0, 1.0, 1.0]))
    >>> found = find_separation(ThreadEngine(), rows, 2, np.zeros((3, 1)), True, ["intercept", "dose", "age"])
    >>> found.kind, found.columns
    ('complete', ('dose',))
    """
    theta = np.asarray(theta, dtype=np.float64)
    inputs.check_theta(theta, batch.features + int(intercept))
    if theta.shape[1] != classes - 1:
        raise errors.wrong_shape("theta", f"({theta.shape[0]}, {classes - 1})", theta.shape)
    if len(names) != len(theta):
        raise ValueError(f"names must name the {len(theta)} rows of theta; got {len(names)}")
    search = _Search(Cone.over(engine, batch, classes, intercept), theta)
    try:
        found = search.find()
    except _Undecided as reason:
        warn_user(
            f"whether the classes are separated is unknown: {reason}; if coefficients are large, give a penalty",
            SeparationWarning,
        )
        return None
    if found is None:
        return None
    kind, moved = found
    used = search.support(moved.beta)
    columns = tuple(names[column] for column in np.flatnonzero(used).tolist())
    rows = np.flatnonzero(moved.gain > APART) + batch.start
    return Separation(kind, columns, rows, search.cone.outward(moved.beta), "counts" if counts else "classes")


class _Undecided(Exception):  # noqa: N818 - an end of the search, not a fault
    """The search ended without a result."""


class _Search:
    """The search for a separating direction: programmes over subsets of the rows."""

    def __init__(self, cone: Cone, theta: FloatArray) -> None:
        self.cone = cone
        self.shape = theta.shape
        self.total = cone.total()
        self.end = time.monotonic() + SECONDS
        self.start = cone.moved(cone.inward(np.where(np.isfinite(theta).all(), theta, 0.0)))
        counted = np.flatnonzero(np.isfinite(self.start.low))
        half = max(ROWS // 2, self.total.size)
        if len(counted) > 2 * half:
            closest = counted[np.argpartition(self.start.low[counted], half)[:half]]
            counted = np.union1d(closest, counted[:: -(-len(counted) // half)])
        self.rows = counted

    def find(self) -> tuple[Literal["complete", "quasi-complete"], Moved] | None:
        """Return the kind of separation and the direction of fewest columns, or None."""
        moved = self.start if self.start.complete else self._settled(self._farthest)
        if moved is None or not moved.separates:
            return None
        with suppress(_Undecided):  # there is a direction: the next programmes only refine it
            if not moved.complete:
                moved = self._settled(self._widest) or moved
            self.end = time.monotonic() + SECONDS_FOR_NAMES
            for fewer in self._fewer(moved):
                moved = fewer
        return ("complete" if moved.complete else "quasi-complete"), moved

    def support(self, beta: FloatArray) -> Flags:
        """Return which rows of a direction are not 0, (p,), without the intercept."""
        used = np.abs(beta).max(axis=1) > APART
        if self.cone.intercept:
            used[0] = False
        return np.asarray(used)

    def _settled(self, solve: Callable[[Any], tuple[FloatArray, float] | None]) -> Moved | None:
        """Return the direction that solves a programme over all rows, by adding violated ones."""
        while True:
            answer = solve(self.cone.constraints(self.rows))
            if answer is None:
                return None
            beta, floor = answer
            moved = self.cone.moved(beta)
            short = floor / (np.abs(beta).max(initial=0.0) or 1.0) - TOUCHING
            wronged = np.setdiff1d(np.flatnonzero(moved.low < short), self.rows)
            if not wronged.size:
                return moved
            worst = np.argsort(moved.low[wronged], kind="stable")[: max(ROWS, self.total.size)]
            self.rows = np.union1d(self.rows, wronged[worst])

    def _farthest(self, lines: Any) -> tuple[FloatArray, float] | None:
        """Return the direction in a box with the largest sum of margins."""
        most = np.abs(self.total).max(initial=0.0)
        if most == 0:
            return None
        answer = self._programme(-self.total.T.ravel() / most, -lines, np.zeros(lines.shape[0]), (-1, 1))
        return None if answer is None else (self._unravelled(answer), 0.0)

    def _widest(self, lines: Any) -> tuple[FloatArray, float] | None:
        """Return the direction in a box with the largest minimal margin, if that is positive."""
        parts: Any = [-lines, np.ones((lines.shape[0], 1))]
        aim = np.append(np.zeros(lines.shape[1]), -1.0)
        answer = self._programme(aim, sparse.hstack(parts, "csr"), np.zeros(lines.shape[0]), (-1, 1))
        if answer is None or answer[-1] <= APART:
            return None
        return self._unravelled(answer[:-1]), float(answer[-1])

    def _fewer(self, moved: Moved) -> Iterator[Moved]:
        """Yield directions that separate as a given one, with fewer and fewer columns."""
        moved = self._sparse(moved, np.ones(self.shape[0], dtype=bool)) or moved
        yield moved
        largest = np.argsort(-np.abs(moved.beta).max(axis=1), kind="stable")
        largest = largest[self.support(moved.beta)[largest]]
        count = 1
        while count < len(largest):  # twice as many columns each time, until they separate
            found = self._sparse(moved, np.isin(np.arange(self.shape[0]), largest[:count]))
            moved, count = (found, len(largest)) if found else (moved, 2 * count)
            yield moved
        for column in largest[::-1]:  # one column less each time, while the others separate
            used = self.support(moved.beta)
            if used[column] and 1 < used.sum() <= _FEW:
                used[column] = False
                moved = self._sparse(moved, used) or moved
                yield moved

    def _sparse(self, moved: Moved, allowed: Flags) -> Moved | None:
        """Return the direction of some columns with the smallest coefficients that separates as a given one."""
        free = np.arange(self.shape[0]) < self.cone.intercept
        entries = np.flatnonzero(np.tile(allowed | free, self.shape[1]))
        cost = np.tile(np.where(free, _NEXT_TO_NOTHING, 1.0), self.shape[1])[entries]
        floor = 1.0 if moved.complete else 0.0
        together = self.total.T.ravel() / abs(np.vdot(self.total, moved.beta))

        def solve(lines: Any) -> tuple[FloatArray, float] | None:
            most = np.full(lines.shape[0], -floor)
            parts: Any = [-lines[:, entries]]
            if not moved.complete:  # the sum of margins must be that of the given direction
                parts.append(-together[None, entries])
                most = np.append(most, -1.0)
            both: Any = [sparse.vstack(parts, "csr"), -sparse.vstack(parts, "csr")]
            answer = self._programme(np.tile(cost, 2), sparse.hstack(both, "csr"), most, (0, None))
            if answer is None:
                return None
            beta = np.zeros(together.size)
            beta[entries] = answer[: len(entries)] - answer[len(entries) :]
            return self._unravelled(beta), floor

        found = self._settled(solve)
        return found if found is not None and found.separates and found.complete >= moved.complete else None

    def _unravelled(self, beta: FloatArray) -> FloatArray:
        return np.ascontiguousarray(beta.reshape(self.shape[::-1]).T)

    def _programme(self, aim: FloatArray, lines: Any, most: FloatArray, bounds: Any) -> FloatArray | None:
        """Return the x between bounds with lines x <= most that minimises aim x; None if there is none."""
        if lines.nnz > LARGEST:
            raise _Undecided(f"a linear programme of {lines.shape[0]} lines and {lines.shape[1]} columns is too large")
        options: Any = {
            "time_limit": max(self.end - time.monotonic(), 0.0),
            "primal_feasibility_tolerance": _SOLVED,
            "dual_feasibility_tolerance": _SOLVED,
        }
        method: Any = "highs-ds" if len(aim) <= _NARROW else "highs-ipm"
        answer = linprog(aim, A_ub=lines, b_ub=most, bounds=bounds, method=method, options=options)
        undecided = {1: f"{SECONDS:g} seconds were not enough", 4: "the linear programme is numerically difficult"}
        if answer.status in undecided:
            raise _Undecided(undecided[answer.status])
        return None if answer.x is None else np.asarray(answer.x)
