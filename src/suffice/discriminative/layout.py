"""Coordinates of a solver: columns with large means are centred, and sparse columns without values dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.data import EncodedDataset
from suffice.families.links import array_namespace
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.errors import UnderflowError
from suffice.kernels.inputs import underflows
from suffice.kernels.libraries import beside, is_sparse
from suffice.solvers import Solution
from suffice.statistics.base import FloatArray

#: A column is centred if its mean is larger than its spread by this factor: products with the intercept would cancel.
FAR = 1e3
#: Several columns with this factor are centred if they are nearly collinear otherwise.
NEAR = 10.0
#: A direction of columns of one size is nearly collinear if the squared residual is below this share.
LOST = 1e-12
#: A column is replaced by its residual on those before it if that is between these shares of the column.
ROUNDING, ENTANGLED = 1e-12, 1e-4
#: Up to so many columns are read one by one, instead of all together.
SINGLY = 32
#: CSR rows are copied without empty columns if these are at least this share.
IDLE = 0.3


@dataclass(frozen=True, eq=False)
class Layout:
    """The map from theta in a solver's coordinates to theta of X."""

    features: int
    intercept: bool
    kept: npt.NDArray[np.intp] | None = None  #: the features that are kept; all by default
    centre: FloatArray | None = None  #: (d,), the centre of each feature
    mixer: FloatArray | None = None
    """(d, d), upper triangular: the columns are (x - centre) mixer, as some are nearly combinations of others."""

    @property
    def is_plain(self) -> bool:
        """Whether the solver's coordinates are those of X."""
        return self.kept is None and self.centre is None and self.mixer is None

    def place(self, x: FloatArray) -> FloatArray:
        """Return rows of X, (n, d), without their empty columns, in the solver's coordinates."""
        x = x if self.centre is None else x - self.centre
        return x if self.mixer is None else x @ self.mixer

    def outward(self, theta: FloatArray) -> FloatArray:
        """Return theta of X."""
        theta = self._spread_out(theta)
        if self.mixer is not None:
            theta[int(self.intercept) :] = self.mixer @ theta[int(self.intercept) :]
        if self.centre is not None:
            theta[0] -= self.centre @ theta[1:]
        return theta

    def inward(self, theta: FloatArray) -> FloatArray:
        """Return theta in the solver's coordinates."""
        theta = np.array(theta, dtype=np.float64)
        if self.centre is not None:
            theta[0] += self.centre @ theta[1:]
        if self.mixer is not None:
            theta[int(self.intercept) :] = np.linalg.solve(self.mixer, theta[int(self.intercept) :])
        return theta if self.kept is None else theta[self._places()]

    def gradient_outward(self, gradient: FloatArray) -> FloatArray:
        """Return the gradient by theta of X."""
        gradient = self._spread_out(gradient)
        if self.mixer is not None:
            gradient[int(self.intercept) :] = np.linalg.solve(self.mixer.T, gradient[int(self.intercept) :])
        if self.centre is not None:
            gradient[1:] += np.outer(self.centre, gradient[0])
        return gradient

    def solution_outward(self, solution: Solution) -> Solution:
        """Return a solution whose theta, gradient and trace are those of X, without its Hessian."""
        if self.is_plain:
            return replace(solution, hessian=None)
        trace = tuple(
            step if step.theta is None else step._replace(theta=self.outward(step.theta)) for step in solution.trace
        )
        theta, gradient = self.outward(solution.theta), self.gradient_outward(solution.gradient)
        return replace(solution, theta=theta, gradient=gradient, trace=trace, hessian=None)

    def covariance_outward(self, covariance: FloatArray) -> FloatArray:
        """Return the covariance of theta of X; NaN for features that were dropped."""
        predictors = len(covariance) // (self.features + self.intercept if self.kept is None else len(self._places()))
        size = self.features + self.intercept
        if self.kept is not None:
            places = np.concatenate([place * size + self._places() for place in range(predictors)])
            whole = np.full((predictors * size, predictors * size), np.nan)
            whole[np.ix_(places, places)] = covariance
            return whole
        if self.centre is None and self.mixer is None:
            return covariance
        back = np.eye(size)
        if self.mixer is not None:
            back[int(self.intercept) :, int(self.intercept) :] = self.mixer
        if self.centre is not None:
            back[0, 1:] = -self.centre @ back[1:, 1:]
        whole = np.kron(np.eye(predictors), back)
        known = np.isfinite(np.diagonal(covariance))
        moved = whole[:, known] @ covariance[np.ix_(known, known)] @ whole[:, known].T
        moved[~known, :] = moved[:, ~known] = np.nan
        return np.asarray(moved)

    def select(self, names: list[str]) -> list[str]:
        """Return the names of the rows of theta, (p,), that are kept."""
        return names if self.kept is None else [names[place] for place in self._places()]

    def _places(self) -> npt.NDArray[np.intp]:
        assert self.kept is not None
        return np.concatenate([np.zeros(1, dtype=np.intp), self.kept + 1]) if self.intercept else self.kept

    def _spread_out(self, theta: FloatArray) -> FloatArray:
        if self.kept is None:
            return np.array(theta, dtype=np.float64)
        whole = np.zeros((self.features + self.intercept, theta.shape[1]))
        whole[self._places()] = theta
        return whole


def lay_out(data: EncodedDataset, intercept: bool, mix: bool = False) -> tuple[EncodedDataset, Layout]:
    """Return rows in a solver's coordinates, and their layout.

    With ``mix``, columns that are nearly combinations of others are replaced by their residuals: the rows have the same
    predictors, but a penalty would be another one.
    """
    check_squares(data)
    x, layout = data.some_rows.x, Layout(data.n_features, intercept)
    if not isinstance(x, np.ndarray) and is_sparse(x):
        return _without_idle_columns(data, layout)
    if not intercept and not mix:
        return data, layout
    few = _few_rows(x)
    layout = replace(layout, centre=_far_centre(few) if intercept else None)
    mixer = _mixer(few, intercept) if mix else None
    if mixer is not None:
        layout = replace(layout, centre=few.mean(axis=0) if intercept else None, mixer=mixer)
    if layout.is_plain:
        return data, layout
    return data.transform(partial(_moved, layout), persist=True), layout


def check_squares(data: EncodedDataset) -> None:
    """Raise for a feature whose squares underflow in all rows, or whose weighted squares: it may vary.

    All rows are read only where a few leave it open; rows in parts are not, where a few are all 0.
    """
    x = data.some_rows.x
    if isinstance(x, np.ndarray) or not is_sparse(x):
        size = np.abs(_few_rows(x)).max(axis=0, initial=0.0)
        doubtful = underflows(data.weight, size) & ((size > 0) | (data.batch is not None))
        columns = np.flatnonzero(doubtful).tolist()
    else:
        cells = np.abs(x.data)
        doubtful = underflows(data.weight, cells) & (cells > 0)
        columns = []  # all
    if not doubtful.any():
        return
    size = data.reduce(
        partial(_largest_sizes, columns if len(columns) <= SINGLY else [])
    )  # the sum of those of the parts
    lost = underflows(data.weight, size) & (size > 0)
    if lost.any():
        column = int(np.argmax(lost))
        raise UnderflowError("feature", column, float(size[column]), data.weight)


def _few_rows(x: Any) -> FloatArray:
    return to_host(x[:: max(x.shape[0] // 256, 1), :]).astype(np.float64, copy=False)


def _largest_sizes(columns: list[int], rows: Batch, _: Engine) -> FloatArray:
    """Return the largest absolute value of some features, or of all if none are given, (d,); 0 for others."""
    x = rows.x
    if not isinstance(x, np.ndarray) and is_sparse(x):
        sizes = np.zeros(rows.features)
        np.maximum.at(sizes, x.indices, np.abs(x.data))
        return sizes
    xp = array_namespace(x)
    if columns:
        sizes = np.zeros(rows.features)
        sizes[columns] = [max(float(xp.max(x[:, j])), -float(xp.min(x[:, j]))) for j in columns]
        return sizes
    highest, lowest = (to_host(each(x, axis=0)).astype(np.float64) for each in (xp.max, xp.min))
    return np.asarray(np.maximum(highest, -lowest))


def _moved(layout: Layout, rows: Batch, _: Engine) -> Batch:
    if layout.mixer is None and layout.centre is not None:
        return replace(rows, x=_floats(rows.x) - beside(rows.x, layout.centre))
    return replace(rows, x=beside(rows.x, layout.place(to_host(rows.x).astype(np.float64, copy=False))))


def _mixer(few: FloatArray, intercept: bool) -> FloatArray | None:
    """Return the map to columns that are not nearly combinations of others, by a few rows; None if none are.

    Products of columns know nothing of a combination below the root of rounding, as x + 1e-9 noise beside x.
    """
    if len(few) < 2 * few.shape[1] or not np.isfinite(few).all():
        return None
    columns = few - few.mean(axis=0) if intercept else few
    level = np.abs(columns).max(axis=0, initial=0.0)
    scale = np.where(level > 0, level, 1.0)
    upper: Any = np.linalg.qr(columns / scale, mode="r")
    shares = np.abs(np.diagonal(upper)) / np.maximum(np.sqrt((upper**2).sum(axis=0)), ROUNDING)
    entangled = np.flatnonzero((shares > ROUNDING) & (shares < ENTANGLED))
    if not entangled.size:
        return None
    mixer = np.eye(few.shape[1])
    for column in entangled:
        before = np.flatnonzero(shares[:column] >= ENTANGLED)
        fit = np.linalg.lstsq(columns[:, before] / scale[before], columns[:, column] / scale[column], rcond=None)[0]
        mixer[before, column] = -fit * scale[column] / scale[before]
        mixer[:, column] /= shares[column]  # of the size of the column
    return mixer


def _without_idle_columns(data: EncodedDataset, layout: Layout) -> tuple[EncodedDataset, Layout]:
    """Return sparse rows without empty columns, if these are many."""
    if layout.features < 1000:
        return data, layout
    kept = np.flatnonzero(data.reduce(_used_columns))
    if not len(kept) or len(kept) > (1 - IDLE) * layout.features:
        return data, layout
    return data.transform(partial(_narrowed, kept), persist=True), replace(layout, kept=kept)


def _used_columns(rows: Batch, _: Engine) -> npt.NDArray[np.bool_]:
    used = np.zeros(rows.features, dtype=bool)
    used[rows.x.indices] = True
    return used


def _narrowed(kept: npt.NDArray[np.intp], rows: Batch, _: Engine) -> Batch:
    x = rows.x
    number = np.zeros(rows.features, dtype=x.indices.dtype)
    number[kept] = np.arange(len(kept), dtype=x.indices.dtype)
    return replace(rows, x=type(x)((x.data, number[x.indices], x.indptr), shape=(x.shape[0], len(kept))))


def _far_centre(few: npt.NDArray[Any]) -> FloatArray | None:
    """Return the centre of each column, estimated from a few rows; None if no column needs centring.

    A column is centred if its mean is large relative to its spread. All columns are centred if some are nearly
    collinear with the intercept as they are, but not about their means, as powers of years.
    """
    few = few.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):  # kernels raise for values that are not finite
        mean = few.mean(axis=0)
        away = few - mean
        spread = np.sqrt((away * away).mean(axis=0))
    varies = (spread > 0) & np.isfinite(spread)
    far = (np.abs(mean) > FAR * spread) & varies
    near = (np.abs(mean) > NEAR * spread) & varies
    if near.sum() > max(1, far.sum()) and 2 * len(mean) < len(few):
        plain = np.column_stack([np.ones(len(few)), few[:, varies]])
        moved = np.column_stack([np.ones(len(few)), away[:, varies]])
        if _dependent(moved) < _dependent(plain):
            far = near
    return np.where(far, mean, 0.0) if far.any() else None


def _dependent(columns: FloatArray) -> int:
    """Return the number of nearly collinear directions among columns of one size."""
    values = np.linalg.eigvalsh(columns.T @ columns / np.outer(*2 * [np.sqrt((columns**2).sum(axis=0))]))
    return int((values < LOST).sum())


def _floats(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.astype(np.float64, copy=False)
    xp = array_namespace(x)
    return xp.astype(x, xp.float64)
