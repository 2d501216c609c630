"""Log-count ratios: how much more often a feature occurs in a class than in all others, and what they say of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray

#: Features, or stored values, that are worked on together: few enough to stay in cache.
TOGETHER = 1 << 14


@dataclass(frozen=True, eq=False)
class LogRatios:
    """The smoothed counts of features in classes, as log-ratios of a class to all others.

    With n_kj the count of feature j in class k, m_kj that in all other classes, N_k and M_k their sums over the d
    features, r_kj = log (n_kj + alpha) / (N_k + d alpha) - log (m_kj + alpha) / (M_k + d alpha).

    Examples
    --------
    >>> LogRatios(np.array([[3.0, 1.0], [1.0, 3.0]]), 1.0).table().round(4)
    array([[-0.6931],
           [ 0.6931]])
    """

    counts: FloatArray  #: (k, d)
    alpha: float

    @property
    def told(self) -> FloatArray:
        """The counts of the classes with a predictor, (t, d): of two classes, the second."""
        return self.counts[1:] if len(self.counts) == 2 else self.counts

    def table(self) -> FloatArray:
        """Return the ratios, (d, t)."""
        here, others = self._sums()
        return self._logs(0.0, np.log(others / here))

    def scores(self, counted: Any, rows: Any, codes: npt.NDArray[np.int64], weight: float) -> FloatArray:
        """Return sum_j r_kj x_ij of every row i, (n, t), r being that of all rows but one like this.

        Parameters
        ----------
        counted
            What each row added to the counts, CSR.
        rows
            The rows x, CSR with values at the same places.
        codes
            The class of each row, (n,).
        weight
            How much of each row is taken out.
        """
        here, others = self._sums()
        column = codes - (len(self.counts) == 2)  # of the row's own class; -1: it has none
        single = bool((counted.data == 1).all())
        scores = rows @ self._logs(weight) if single else self._each(counted, rows, column, weight)
        size, taken = _over_rows(rows, rows.data), weight * _over_rows(counted, counted.data)
        level = np.log(np.maximum(others - taken[:, None], self.alpha) / here)
        mine = np.flatnonzero(column >= 0)
        if single:
            scores[mine, column[mine]] = self._own(rows, codes, weight)[mine]
        level[mine, column[mine]] = np.log(
            others[column[mine]] / np.maximum(here[column[mine]] - taken[mine], self.alpha)
        )
        return np.ascontiguousarray(scores + size[:, None] * level)

    def _sums(self) -> tuple[FloatArray, FloatArray]:
        """Return the smoothed sums over all features: of each class, and of all others, (t,)."""
        flat = self.alpha * self.counts.shape[1]
        sums = self.told.sum(axis=1)
        return sums + flat, self.counts.sum() - sums + flat

    def _logs(self, taken: float, level: FloatArray | float = 0.0) -> FloatArray:
        """Return log (n + alpha) / (m + alpha) + level, (d, t), with so much taken from all m."""
        told, total = self.told, self.counts.sum(axis=0)
        logs = np.empty(told.shape[::-1])
        for start in range(0, len(total), TOGETHER):
            some = slice(start, start + TOGETHER)
            here = told[:, some]
            others = np.maximum(total[some] - here - taken, 0.0)
            logs[some] = np.log((here + self.alpha) / (others + self.alpha)).T + level
        return logs

    def _own(self, rows: Any, codes: npt.NDArray[np.int64], taken: float) -> FloatArray:
        """Return what each row's own class scores, (n,), with so much of every count taken from it."""
        flat = np.repeat(codes * self.counts.shape[1], np.diff(rows.indptr)) + rows.indices
        here = self.counts.reshape(-1)[flat]
        others = self.counts.sum(axis=0)[rows.indices] - here
        logs = np.log((np.maximum(here - taken, 0.0) + self.alpha) / (others + self.alpha))
        return _over_rows(rows, rows.data * logs)

    def _each(self, counted: Any, rows: Any, column: npt.NDArray[np.int64], weight: float) -> FloatArray:
        """Return the scores, (n, t), where rows have counted each in their own measure."""
        told, total = self.told, self.counts.sum(axis=0)
        sums = np.zeros((rows.shape[0], len(told)))
        numbers = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        for start in range(0, rows.nnz, TOGETHER):
            some = slice(start, start + TOGETHER)
            place, number = rows.indices[some], numbers[some]
            here = told[:, place].T
            others = total[place][:, None] - here
            own = column[number][:, None] == np.arange(len(told))
            taken = weight * counted.data[some][:, None]
            here = np.maximum(here - np.where(own, taken, 0.0), 0.0) + self.alpha
            others = np.maximum(others - np.where(own, 0.0, taken), 0.0) + self.alpha
            np.add.at(sums, number, rows.data[some][:, None] * np.log(here / others))
        return sums


def _over_rows(rows: Any, values: FloatArray) -> FloatArray:
    """Return the sums over each row of values that stand where its own are stored, (n,)."""
    return np.asarray(type(rows)((values, rows.indices, rows.indptr), shape=rows.shape) @ np.ones(rows.shape[1]))
