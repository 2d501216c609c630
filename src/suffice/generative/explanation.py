"""Explanations of many rows: contributions as arrays, and one explanation for each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy

from suffice.explain import ClassScores, Explanation
from suffice.generative.conditional import log_ratio
from suffice.html_fragments import notes
from suffice.kernels.libraries import is_sparse
from suffice.statistics.base import FloatArray

#: The number of rows, and of contributions to each, that are printed.
_ROWS, _CONTRIBUTIONS = 5, 5


@dataclass(frozen=True, eq=False)
class Explanations(Sequence[Explanation]):
    """Explanations of rows: a sequence of :class:`suffice.explain.Explanation`, with all numbers as arrays.

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
        The class that the arrays of log-odds are taken against: its own are 0.
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

    def __len__(self) -> int:
        return len(self.level)

    @overload
    def __getitem__(self, row: int) -> Explanation: ...
    @overload
    def __getitem__(self, row: slice) -> list[Explanation]: ...
    def __getitem__(self, row: int | slice) -> Explanation | list[Explanation]:
        """Return the explanation of a row: of the most probable class against the next one."""
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(f"there is no row {row}: {len(self)} rows are explained")
        row = int(row) % len(self)
        columns, parts = self._row_parts(row)
        scores = ClassScores(
            self.classes.tolist(),
            [str(name) for name in self.features[columns]],
            [self.values[row, column] for column in columns],
            parts,
            self.level[row].tolist(),
            self.log_prior.tolist(),
        )
        return Explanation.of(scores, row=row)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[row] for row in range(len(self)))

    def _row_parts(self, row: int) -> tuple[npt.NDArray[np.intp], list[list[float]]]:
        """Return the columns that a row stores, and the parts of each class in them."""
        first = self.parts[0]
        if not is_sparse(first):
            return np.arange(first.shape[1]), [part[row].tolist() for part in self.parts]
        span = slice(first.indptr[row], first.indptr[row + 1])
        return first.indices[span], [part.data[span].tolist() for part in self.parts]

    @cached_property
    def contributions(self) -> list[Any]:
        """What each feature adds to the log-odds of each class, (n, d): an array, or a CSR matrix for sparse rows."""
        reference = self.parts[self._against]
        return [_log_ratio_of_parts(part, reference) for part in self.parts]

    @cached_property
    def base(self) -> FloatArray:
        """What the prior, and all that does not depend on a row's cells, add to the log-odds, (n, k)."""
        return log_ratio(self.level, self.level[:, [self._against]])

    @cached_property
    def log_odds(self) -> FloatArray:
        """The log-odds of each class against the reference class, (n, k)."""
        scores = np.where(self.impossible.all(axis=1, keepdims=True), self.log_prior, self._totals)
        return log_ratio(scores, scores[:, [self._against]])

    @property
    def impossible(self) -> npt.NDArray[np.bool_]:
        """Which classes cannot have produced each row, (n, k)."""
        return np.isneginf(self._totals)

    @property
    def _against(self) -> int:
        return int(np.flatnonzero(self.classes == self.against)[0])

    @cached_property
    def _totals(self) -> FloatArray:
        """The scores of the classes, (n, k)."""
        return np.asarray(self.level + np.stack([part.sum(axis=1).reshape(-1) for part in self.parts], axis=1))

    def __str__(self) -> str:
        """Return the first rows, each with its largest contributions."""
        shown = [f"row {each.row}\n{each.text(_CONTRIBUTIONS)}" for each in self[:_ROWS]]
        return "\n".join([*shown, *self._rest()])

    def _repr_html_(self) -> str:
        shown = [f"<p>row {each.row}</p>\n{each.html_table(_CONTRIBUTIONS)}" for each in self[:_ROWS]]
        return "\n".join([*shown, notes(self._rest())])

    def _rest(self) -> list[str]:
        rest = len(self) - _ROWS
        return [f"... and {rest} more row{'s' if rest > 1 else ''}"] if rest > 0 else []

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the explanations as plain values, one dictionary for each row."""
        return [each.to_dict() for each in self]


def _log_ratio_of_parts(part: Any, reference: Any) -> Any:
    """Return the parts of a class less those of another; sparse ones keep their stored cells, zero or not."""
    if not is_sparse(part):
        return log_ratio(part, reference)
    return scipy.sparse.csr_array((log_ratio(part.data, reference.data), part.indices, part.indptr), shape=part.shape)
