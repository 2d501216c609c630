"""Class conditionals p(x | y): immutable, estimated from a sum, scored by an engine's kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.families.links import array_namespace
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.errors import NonFiniteError, ScoreOverflowError
from suffice.kernels.inputs import JOINT, Reading
from suffice.kernels.libraries import is_sparse
from suffice.kernels.protocol import Kernels
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
        """The number of classes."""

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
        """Return a reading of log p(x | y) + intercept for the rows of a batch."""

    @abstractmethod
    def contributions(self, x: Any) -> Contributions:
        """Return the contribution of each feature to log p(x | y)."""

    @abstractmethod
    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return one row of each class in ``codes``."""

    def log_base(self, x: Any) -> FloatArray | None:
        """Return what the scores leave out of log p(x | y) because all classes share it, (n,); None for nothing."""
        return None


def read_distances(joint: Any, batch: Batch, kernels: Kernels, reading: Reading) -> Any:
    """Return a reading of Gaussian log p(x, y), (n, k); raise for a row so far off that no classes can be compared."""
    check_reach(joint, batch, reading)
    return kernels.read_scores(joint, reading)


def check_reach(scores: Any, batch: Batch, reading: Reading) -> None:
    """Raise for the first row whose scores under all classes are -inf, as squared distances that overflow are.

    As a density, -inf is what float64 says of it; but its classes are not compared.
    """
    if reading.what in DENSITIES:
        return
    xp = array_namespace(scores)
    if not bool(xp.any(scores[:, 0] == -xp.inf)):  # nearly always: one column is read
        return
    lost = xp.all(scores == -xp.inf, axis=1)
    if bool(xp.any(lost)):
        raise ScoreOverflowError(batch.start + int(xp.argmax(xp.astype(lost, xp.int8))))


#: Readings of scores that compare no classes.
DENSITIES = ("joint", "evidence")


@dataclass(frozen=True, eq=False)
class Linear(Conditional):
    """A conditional whose log is linear in x (or in which cells of x are present).

    Probabilities of zero are stored separately, since 0 times -inf is NaN: ``veto``, in the same linear form, is above
    0 for rows that are impossible in a class.
    """

    coef: FloatArray  # (k, d), finite
    level: FloatArray  # (k,), finite
    missing: FloatArray | None = None  # (k, d), what a NaN cell adds; None: it adds nothing
    threshold: float | None = None  # x above it is present, and counts 1
    veto: Linear | None = field(default=None, repr=False)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.level)

    @property
    def theta(self) -> Theta:
        """The coefficients, with -inf where a probability is zero."""
        if self.veto is None:
            return Theta(self.coef, self.level)
        coef = np.where(self.veto.coef > 0, -np.inf, np.where(self.veto.coef < 0, np.inf, self.coef))
        return Theta(coef, np.where(self.veto.level > 0, -np.inf, self.level))

    def scores(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return a reading of x coef' + level + intercept."""
        if _is_thin(batch, self.coef.shape[1]) and not (self.threshold is not None and self.threshold < 0):
            columns, narrow = narrowed(batch.x[batch.start : batch.stop])
            return self.of_columns(columns).scores(Batch(narrow), kernels, intercept, reading)
        level = self.level + intercept
        if self.veto is None:
            return self._scored(batch, kernels, level, reading)
        joint = self._scored(batch, kernels, level, JOINT)
        barred = self.veto.scores(batch, kernels, np.zeros(self.classes))
        xp = array_namespace(joint)
        return kernels.read_scores(xp.where(barred > _VETO, -xp.inf, joint), reading)

    def _scored(self, batch: Batch, kernels: Kernels, level: FloatArray, reading: Reading) -> Any:
        if is_sparse(batch.x):
            try:  # sparse rows seldom miss a cell, and are read faster where they must not
                return kernels.linear_scores(batch, self.coef, level, reading, self.threshold)
            except NonFiniteError as error:
                if not np.isnan(error.value):
                    raise
        missing = np.zeros_like(self.coef) if self.missing is None else self.missing
        return kernels.linear_scores(batch, self.coef, level, reading, self.threshold, missing)

    def of_columns(self, columns: npt.NDArray[np.intp]) -> Linear:
        """Return the linear form of rows that are 0 in all other columns."""
        missing = None if self.missing is None else self.missing[:, columns]
        veto = None if self.veto is None else self.veto.of_columns(columns)
        return Linear(self.coef[:, columns], self.level, missing, self.threshold, veto)

    def contributions(self, x: Any) -> Contributions:
        """Return x_j coef_kj for every feature, -inf where its cell is impossible, and the level as base.

        A cell that sparse rows do not store has no part of its own: where its absence is impossible, the base is -inf.
        """
        base = np.tile(self.level, (x.shape[0], 1))
        if is_sparse(x):
            import scipy  # slow to import, and dense rows do not need it

            terms = self._terms(x.data, x.indices)
            if self.veto is not None and self.veto.missing is not None:
                for k, absent in enumerate(-self.veto.missing):
                    there = scipy.sparse.csr_array((absent[x.indices], x.indices, x.indptr), shape=x.shape)
                    base[absent.sum() - there.sum(axis=1) > _VETO, k] = -np.inf
            return Contributions(
                [scipy.sparse.csr_array((term, x.indices, x.indptr), shape=x.shape) for term in terms], base
            )
        return Contributions(self._terms(np.asarray(x), slice(None)), base)

    def _terms(self, x: npt.NDArray[Any], columns: Any) -> list[FloatArray]:
        """Return what cells, of these columns, add to the score of each class."""
        values = x.astype(np.float64)
        known = ~np.isnan(values)
        values = np.where(known, values if self.threshold is None else values > self.threshold, 0.0)
        terms = []
        for k in range(self.classes):
            term = np.where(
                known, values * self.coef[k, columns], 0.0 if self.missing is None else self.missing[k, columns]
            )
            if self.veto is not None:
                absent = 0.0 if self.veto.missing is None else -self.veto.missing[k, columns]
                term[known & (values * self.veto.coef[k, columns] + absent > _VETO)] = -np.inf
            terms.append(term)
        return terms

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Raise: a linear form is not a distribution."""
        raise NotImplementedError("a linear form alone cannot be sampled from")


def log_ratio(one: Any, two: Any) -> FloatArray:
    """Return the difference of two logarithms; 0 where both are the same infinity: neither is likelier.

    Examples
    --------
    >>> log_ratio([0.5, -np.inf, 0.0], [0.25, -np.inf, -np.inf])
    array([0.25, 0.  ,  inf])
    """
    one, two = np.asarray(one, dtype=np.float64), np.asarray(two, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(one == two, 0.0, one - two)


def against_average(coef: FloatArray) -> FloatArray:
    """Return coefficients of classes, (k, d), less their average over the classes.

    A class in which a feature is impossible (-inf) stays there, and so does one that needs it (inf); beside one of
    them, the other classes' average is infinite, and so is what the feature says for them.

    Examples
    --------
    >>> against_average(np.array([[-1.0, -np.inf], [-2.0, -1.0]]))
    array([[ 0.5, -inf],
           [-0.5,  inf]])
    """
    if np.isfinite(coef).all():
        return np.asarray(coef - coef.mean(axis=0))
    with np.errstate(invalid="ignore"):
        apart = np.where(np.isinf(coef), coef, coef - coef.mean(axis=0))
    alike = (coef == coef[0]).all(axis=0)  # impossible in every class: no evidence
    return np.where(np.isnan(apart) | alike, 0.0, apart)


def strongest(apart: FloatArray, own: FloatArray) -> npt.NDArray[np.intp]:
    """Return the features that speak most for a class first, by :func:`against_average`; equals by its coefficients.

    Examples
    --------
    >>> strongest(np.array([np.inf, 0.5, np.inf]), np.array([-3.0, -1.0, -2.0])).tolist()
    [2, 0, 1]
    """
    return np.lexsort((-own, -apart))


def _is_thin(batch: Batch, features: int) -> bool:
    """Whether a batch of sparse rows stores so little that most coefficients are not asked for."""
    return is_sparse(batch.x) and 8 * int(batch.x.nnz) < features


def narrowed(x: Any) -> tuple[npt.NDArray[np.intp], Any]:
    """Return the columns in which sparse rows store something, and the rows with those columns alone.

    Examples
    --------
    >>> import scipy
    >>> columns, rows = narrowed(scipy.sparse.csr_array(np.array([[0, 0, 3], [0, 0, 0]])))
    >>> columns, rows.toarray().tolist()
    (array([2]), [[3], [0]])
    """
    import scipy  # slow to import, and few rows need it

    columns, places = np.unique(x.indices, return_inverse=True)
    rows = scipy.sparse.csr_array((x.data, places.reshape(-1), x.indptr), shape=(x.shape[0], len(columns)))
    return columns.astype(np.intp), rows


def log_without_zeros(p: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Return log p with 0 in the place of log 0, and a 1 for every p of 0, if there is one."""
    if p.min(initial=1.0) > 0:
        return np.log(p), None
    nothing = p <= 0
    return np.log(np.where(nothing, 1.0, p)), nothing.astype(np.float64) if nothing.any() else None


def log_factorials(x: Any) -> FloatArray:
    """Return the sum of log x_j! of each row, (n,); missing cells add nothing."""
    import scipy  # slow to import, and few rows need it

    if is_sparse(x):
        stored: Any = scipy.sparse.csr_array((_log_factorial(x.data), x.indices, x.indptr), shape=x.shape)
        return np.asarray(stored.sum(axis=1))
    return np.asarray(_log_factorial(x if isinstance(x, np.ndarray) else to_host(x)).sum(axis=1))


def _log_factorial(x: npt.NDArray[Any]) -> FloatArray:
    import scipy  # slow to import, and few rows need it

    values = np.asarray(x, dtype=np.float64)
    return np.asarray(scipy.special.gammaln(np.where(np.isnan(values), 0.0, values) + 1))
