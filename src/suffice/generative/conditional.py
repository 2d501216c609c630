"""p(x | y): how each class makes its rows look. Immutable; read from a sum, scored by an engine's kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.engines import Batch
from suffice.engines.choice import is_sparse
from suffice.engines.kernels import Kernels
from suffice.engines.reading import JOINT, Reading
from suffice.statistics.base import FloatArray

#: A row is impossible under a class when its vetoes sum to more than this.
_VETO = 1e-12


class Theta(NamedTuple):
    """The linear form of log p(x | y), up to what all classes share: x coef' + intercept."""

    coef: FloatArray  # (k, d)
    intercept: FloatArray  # (k,)


class Contributions(NamedTuple):
    """log p(x | y) feature by feature: the parts of a row and its base add up to its score."""

    parts: list[Any]  # one (n, d) array or CSR matrix per class
    base: FloatArray  # (n, k)


class Conditional(ABC):
    """The distribution of x in each class."""

    @property
    @abstractmethod
    def classes(self) -> int:
        """How many classes there are."""

    @property
    @abstractmethod
    def theta(self) -> Theta | None:
        """The linear form, where there is one."""

    @property
    def apart(self) -> Theta | None:
        """The linear form less what all classes share; where that is large, the digits it would cost are kept."""
        return self.theta

    @abstractmethod
    def scores(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return what a reading makes of log p(x | y) + intercept for the rows of a batch."""

    @abstractmethod
    def contributions(self, x: Any) -> Contributions:
        """Return log p(x | y) taken apart."""

    @abstractmethod
    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return one row of each class in ``codes``."""

    def log_base(self, x: Any) -> FloatArray | None:
        """Return what the scores leave out of log p(x | y) because all classes share it, (n,); None for nothing."""
        return None


@dataclass(frozen=True, eq=False)
class Linear(Conditional):
    """A conditional whose log is linear in x (or in which cells of x are present).

    Probabilities of zero are kept apart, since 0 times -inf is no number: ``veto`` adds up, in the same linear form,
    to more than 0 where a class cannot have produced the row.
    """

    coef: FloatArray  # (k, d), finite
    level: FloatArray  # (k,), finite
    missing: FloatArray | None = None  # (k, d), what a NaN cell adds; None: it adds nothing
    threshold: float | None = None  # x above it is present, and counts 1
    veto: Linear | None = field(default=None, repr=False)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.level)

    @property
    def theta(self) -> Theta:
        """The coefficients, with -inf where a probability is zero."""
        if self.veto is None:
            return Theta(self.coef, self.level)
        coef = np.where(self.veto.coef > 0, -np.inf, np.where(self.veto.coef < 0, np.inf, self.coef))
        return Theta(coef, np.where(self.veto.level > 0, -np.inf, self.level))

    def scores(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return what a reading makes of x coef' + level + intercept."""
        if _is_thin(batch, self.coef.shape[1]) and not (self.threshold is not None and self.threshold < 0):
            columns, narrow = narrowed(batch.x[batch.start : batch.stop])
            return self.of_columns(columns).scores(Batch(narrow), kernels, intercept, reading)
        level = self.level + intercept
        if self.veto is None:
            return self._scored(batch, kernels, level, reading)
        joint = self._scored(batch, kernels, level, JOINT)
        barred = self.veto.scores(batch, kernels, np.zeros(self.classes))
        xp = array_api_compat.array_namespace(joint)
        return kernels.read_scores(xp.where(barred > _VETO, -xp.inf, joint), reading)

    def _scored(self, batch: Batch, kernels: Kernels, level: FloatArray, reading: Reading) -> Any:
        if is_sparse(batch.x):
            try:  # sparse rows seldom miss a cell, and are read faster where they must not
                return kernels.linear_scores(batch, self.coef, level, reading, self.threshold)
            except ValueError as error:
                if " is nan" not in str(error):
                    raise
        missing = np.zeros_like(self.coef) if self.missing is None else self.missing
        return kernels.linear_scores(batch, self.coef, level, reading, self.threshold, missing)

    def of_columns(self, columns: npt.NDArray[np.intp]) -> Linear:
        """Return the linear form of rows that are 0 in all other columns."""
        missing = None if self.missing is None else self.missing[:, columns]
        veto = None if self.veto is None else self.veto.of_columns(columns)
        return Linear(self.coef[:, columns], self.level, missing, self.threshold, veto)

    def contributions(self, x: Any) -> Contributions:
        """Return x_j coef_kj for every feature, and the level as base."""
        coef, intercept = self.theta
        base = np.broadcast_to(intercept, (x.shape[0], self.classes))
        if is_sparse(x):
            stored = x.data.astype(np.float64)
            if self.threshold is not None:
                stored = (stored > self.threshold).astype(np.float64)
            terms = [_times(stored, coef[k, x.indices]) for k in range(self.classes)]
            return Contributions([sparse.csr_array((term, x.indices, x.indptr), shape=x.shape) for term in terms], base)
        values = np.asarray(x, dtype=np.float64)
        known = ~np.isnan(values)
        if self.threshold is not None:
            values = np.where(known, values > self.threshold, np.nan)
        missing = np.zeros_like(coef) if self.missing is None else self.missing
        return Contributions(
            [np.where(known, _times(np.where(known, values, 0.0), coef[k]), missing[k]) for k in range(self.classes)],
            base,
        )

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Refuse: coefficients alone generate nothing."""
        raise NotImplementedError("a linear form alone cannot be sampled from")


def _times(x: FloatArray, coef: FloatArray) -> FloatArray:
    """Return x coef, where nothing times anything is nothing."""
    return np.where(x == 0, 0.0, x * np.where((x == 0) & np.isinf(coef), 0.0, coef))


def _is_thin(batch: Batch, features: int) -> bool:
    """Whether a batch of sparse rows stores so little that most coefficients are not asked for."""
    return is_sparse(batch.x) and 8 * int(batch.x.nnz) < features


def narrowed(x: Any) -> tuple[npt.NDArray[np.intp], Any]:
    """Return the columns in which sparse rows store something, and the rows with those columns alone.

    Examples
    --------
    >>> columns, rows = narrowed(sparse.csr_array(np.array([[0, 0, 3], [0, 0, 0]])))
    >>> columns, rows.toarray().tolist()
    (array([2]), [[3], [0]])
    """
    columns, places = np.unique(x.indices, return_inverse=True)
    rows = sparse.csr_array((x.data, places.reshape(-1), x.indptr), shape=(x.shape[0], len(columns)))
    return columns.astype(np.intp), rows


def log_without_zeros(p: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Return log p with 0 in the place of log 0, and a 1 for every p of 0, if there is one."""
    if p.min(initial=1.0) > 0:
        return np.log(p), None
    nothing = p <= 0
    return np.log(np.where(nothing, 1.0, p)), nothing.astype(np.float64) if nothing.any() else None
