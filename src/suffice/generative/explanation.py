"""Explanations: the log-odds of a row, feature by feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.generative.conditional import log_ratio
from suffice.kernels.libraries import is_sparse
from suffice.statistics.base import FloatArray


class Reason(NamedTuple):
    """One feature's part in a row's log-odds."""

    feature: str
    value: Any
    log_odds: float


class Comparison(NamedTuple):
    """One class against another in one row."""

    label: Any
    against: Any
    log_odds: float
    base: float  # of them, what the prior and all that does not depend on the row's cells add


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why rows were given their classes: log-odds against one class, taken apart.

    ``log_odds[i, k]`` is log p(class k | row i) - log p(class ``against`` | row i). It equals ``base[i, k]``, which
    holds the prior, plus the sum of ``contributions[k][i]`` over the features.

    Without smoothing, a class may be impossible: a cell that it cannot have contributes -inf against a class that can
    have it, inf the other way round, and 0 where neither can. Where both classes are impossible, their log-odds are 0;
    where all are, those of the priors, by which the row is then predicted.

    Parameters
    ----------
    classes
        The classes, (k,).
    against
        The class that log-odds are taken against: its own are 0.
    features
        The names of the features, (d,).
    values
        The rows explained, (n, d).
    parts
        For each class, the log-probability of each cell, up to what all classes share, (n, d): an array, or a CSR
        matrix where the rows are sparse.
    level
        The log of the prior, and what does not depend on a row's cells, (n, k).
    log_prior
        The log of the prior, (k,).
    """

    classes: npt.NDArray[Any]
    against: Any
    features: npt.NDArray[Any]
    values: Any
    parts: list[Any]
    level: FloatArray
    log_prior: FloatArray

    @cached_property
    def contributions(self) -> list[Any]:
        """What each feature adds to the log-odds of each class, (n, d): an array, or a CSR matrix for sparse rows."""
        reference = self.parts[self._against]
        return [_apart(part, reference) for part in self.parts]

    @cached_property
    def base(self) -> FloatArray:
        """What the prior, and all that does not depend on a row's cells, add to the log-odds, (n, k)."""
        return log_ratio(self.level, self.level[:, [self._against]])

    @cached_property
    def log_odds(self) -> FloatArray:
        """The log-odds of each class against the reference class, (n, k)."""
        return log_ratio(self._scores, self._scores[:, [self._against]])

    @property
    def impossible(self) -> npt.NDArray[np.bool_]:
        """Which classes cannot have produced each row, (n, k)."""
        return np.isneginf(self._totals)

    @property
    def _against(self) -> int:
        return _code(self.classes, self.against)

    @cached_property
    def _totals(self) -> FloatArray:
        """The scores of the classes, (n, k)."""
        return self.level + np.stack([_row_sums(part) for part in self.parts], axis=1)

    @cached_property
    def _scores(self) -> FloatArray:
        """The same, and those of the priors where no class is possible."""
        return np.where(self.impossible.all(axis=1, keepdims=True), self.log_prior, self._totals)

    def reasons(self, row: int, label: Any = None, against: Any = None, n: int | None = None) -> list[Reason]:
        """Return what speaks for one class rather than another in one row, the strongest first.

        Parameters
        ----------
        row
            The row's position.
        label
            The class; by default the most probable one.
        against
            The other class; by default the most probable of the others.
        n
            How many reasons at most; all of them by default.
        """
        code, other = self._pair(row, label, against)
        one, two = self.parts[code], self.parts[other]
        if is_sparse(one):
            span = slice(one.indptr[row], one.indptr[row + 1])
            columns, effects = one.indices[span], log_ratio(one.data[span], two.data[span])
        else:
            columns, effects = np.arange(one.shape[1]), log_ratio(one[row], two[row])
        order = np.argsort(-np.abs(effects), kind="stable")
        order = order[effects[order] != 0][:n]  # what changes nothing is no reason
        return [Reason(str(self.features[columns[i]]), self.values[row, columns[i]], float(effects[i])) for i in order]

    def compare(self, row: int, label: Any = None, against: Any = None) -> Comparison:
        """Return the log-odds of one class against another in one row; by default of the two most probable ones."""
        one, two = self._pair(row, label, against)
        return Comparison(
            self.classes[one],
            self.classes[two],
            float(log_ratio(self._scores[row, one], self._scores[row, two])),
            float(log_ratio(self.level[row, one], self.level[row, two])),
        )

    def _pair(self, row: int, label: Any, against: Any) -> tuple[int, int]:
        return compared(self.classes, self._scores[row], label, against)

    def __str__(self) -> str:
        """Show the first rows, each with the strongest reasons for its class rather than the next."""
        lines = []
        for row in range(min(len(self.level), 5)):
            label, against, odds, base = self.compare(row)
            remark = remark_on(self.impossible[row], self._pair(row, None, None)[1])
            lines.append(f"row {row}: {label!s}, log-odds {odds:+.3f} against {against!s}{remark}")
            lines.append(f"  {base:+9.3f}  prior and base")
            reasons = self.reasons(row, n=5)
            lines.extend(f"  {reason.log_odds:+9.3f}  {reason.feature} = {reason.value}" for reason in reasons)
        if len(self.level) > 5:
            lines.append(f"... and {len(self.level) - 5} rows more")
        return "\n".join(lines)


def remark_on(impossible: npt.NDArray[np.bool_], other: int) -> str:
    """Return what is said of impossible classes, beside the log-odds against one of them."""
    if impossible.all():
        return "; no class can have produced this, and the priors decide"
    return ", which is impossible" if impossible[other] else ""


def sum_effects(effects: Sequence[float]) -> float:
    """Return the sum of effects on log-odds; 0 where some make one class impossible, and others the other.

    Examples
    --------
    >>> sum_effects([1.0, np.inf]), sum_effects([-np.inf, np.inf])
    (inf, 0.0)
    """
    both = np.inf in effects and -np.inf in effects
    return 0.0 if both else float(sum(effects))


def _row_sums(part: Any) -> FloatArray:
    return np.asarray(part.sum(axis=1)).reshape(-1)


def _apart(part: Any, reference: Any) -> Any:
    """Return the parts of a class less those of another; sparse ones keep their stored cells, zero or not."""
    if not is_sparse(part):
        return log_ratio(part, reference)
    return sparse.csr_array((log_ratio(part.data, reference.data), part.indices, part.indptr), shape=part.shape)


def compared(classes: npt.NDArray[Any], scores: FloatArray, label: Any, against: Any) -> tuple[int, int]:
    """Return the codes of a class and of the class it is compared with: by default, the best and the next best.

    Examples
    --------
    >>> compared(np.array(["ham", "spam", "work"]), np.array([0.1, 0.7, 0.2]), None, None)
    (1, 2)
    """
    one = int(np.argmax(scores)) if label is None else _code(classes, label)
    if against is not None:
        return one, _code(classes, against)
    others = [code for code in range(len(scores)) if code != one]
    return one, max(others, key=lambda code: float(scores[code]), default=one)


def _code(classes: npt.NDArray[Any], label: Any) -> int:
    found = np.flatnonzero(classes == label)
    if not found.size:
        raise ValueError(f"unknown class {label!r}; known: {classes.tolist()!r}")
    return int(found[0])
