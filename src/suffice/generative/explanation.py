"""Explanations: the log-odds of a row, feature by feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.engines.choice import is_sparse
from suffice.statistics.base import FloatArray


class Reason(NamedTuple):
    """One feature's part in a row's log-odds."""

    feature: str
    value: Any
    log_odds: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why rows were given their classes: log-odds against one class, taken apart.

    ``log_odds[i, k]`` is log p(class k | row i) - log p(class ``against`` | row i). It equals ``base[i, k]``, which
    holds the prior, plus the sum of ``contributions[k][i]`` over the features.

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
    contributions
        For each class, (n, d): an array, or a CSR matrix where the rows are sparse.
    base
        The prior, and what does not depend on a row's cells, (n, k).
    """

    classes: npt.NDArray[Any]
    against: Any
    features: npt.NDArray[Any]
    values: Any
    contributions: list[Any]
    base: FloatArray

    @property
    def log_odds(self) -> FloatArray:
        """The log-odds of each class against the reference class, (n, k)."""
        return self.base + np.stack([_row_sums(part) for part in self.contributions], axis=1)

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
        one, two = self.contributions[code], self.contributions[other]
        if is_sparse(one):
            span = slice(one.indptr[row], one.indptr[row + 1])
            columns, effects = one.indices[span], one.data[span] - two.data[span]
        else:
            columns, effects = np.arange(one.shape[1]), one[row] - two[row]
        order = np.argsort(-np.abs(effects), kind="stable")
        order = order[effects[order] != 0][:n]  # what changes nothing is no reason
        return [Reason(str(self.features[columns[i]]), self.values[row, columns[i]], float(effects[i])) for i in order]

    def _pair(self, row: int, label: Any, against: Any) -> tuple[int, int]:
        return compared(self.classes, self.log_odds[row], label, against)

    def __str__(self) -> str:
        """Show the first rows, each with the strongest reasons for its class rather than the next."""
        lines = []
        log_odds = self.log_odds
        for row in range(min(len(self.base), 5)):
            code, other = self._pair(row, None, None)
            odds, base = log_odds[row, code] - log_odds[row, other], self.base[row, code] - self.base[row, other]
            lines.append(f"row {row}: {self.classes[code]!s}, log-odds {odds:+.3f} against {self.classes[other]!s}")
            lines.append(f"  {base:+9.3f}  prior and base")
            reasons = self.reasons(row, n=5)
            lines.extend(f"  {reason.log_odds:+9.3f}  {reason.feature} = {reason.value}" for reason in reasons)
        if len(self.base) > 5:
            lines.append(f"... and {len(self.base) - 5} rows more")
        return "\n".join(lines)


def _row_sums(part: Any) -> FloatArray:
    return np.asarray(part.sum(axis=1)).reshape(-1)


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
    others = np.where(np.arange(len(scores)) == one, -np.inf, scores)
    return one, int(np.argmax(others)) if len(scores) > 1 else one


def _code(classes: npt.NDArray[Any], label: Any) -> int:
    found = np.flatnonzero(classes == label)
    if not found.size:
        raise ValueError(f"unknown class {label!r}; known: {classes.tolist()!r}")
    return int(found[0])
