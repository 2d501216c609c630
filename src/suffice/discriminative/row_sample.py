"""A sample of the rows of partial_fit, and the objective of new rows plus a parabola for earlier ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.data.dataset import Piece
from suffice.data.sample import draw_rows, merge_samples, stack_rows
from suffice.discriminative.objective import NegativeLogLikelihood
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import is_foreign, is_sparse
from suffice.kernels.sparse import intact
from suffice.solvers.base import Objective, ValueGradient, ValueGradientHessian
from suffice.solvers.linear_algebra import flat, shaped
from suffice.statistics.base import FloatArray

#: The sample is refitted after this many new rows, as a share of the rows that it represents.
DUE = 0.1


@dataclass(frozen=True, eq=False)
class RowSample:
    """A uniform sample of rows, and the batches since it was last fitted.

    It has at most about a million numbers: all rows, while there are fewer.
    """

    kept: Piece
    stands_for: FloatArray  # (n,), the number of rows that each represents
    waiting: tuple[Piece, ...] = ()

    @cached_property
    def _known(self) -> npt.NDArray[Any]:
        """The targets of the sample."""
        return np.unique(self.kept["y"])

    @classmethod
    def of(cls, rows: Batch) -> Self:
        """Return the sample of a first batch."""
        return cls(*draw_rows(_piece(rows)))

    def plus(self, rows: Batch) -> Self:
        """Return the sample with one more pending batch."""
        found = replace(self, waiting=(*self.waiting, _piece(rows)))
        vars(found)["_known"] = self._known
        return found

    def settled(self) -> Self:
        """Return the sample with all pending batches merged."""
        found = self.kept, self.stands_for
        if self.waiting:
            pieces = _alike((self.kept, *self.waiting))
            more = {name: stack_rows([piece[name] for piece in pieces[1:]]) for name in self.kept}
            found = merge_samples((pieces[0], self.stands_for), draw_rows(more))
        return type(self)(*found)

    @property
    def is_due(self) -> bool:
        """Whether enough rows are pending to refit the sample."""
        since = sum(len(piece["y"]) for piece in self.waiting)
        return since >= DUE * float(self.stands_for.sum()) or self._has_new_classes()

    def _has_new_classes(self) -> bool:
        """Whether pending rows have the first target of a class; for numbers, tested while there are few."""
        if len(self._known) > 100 or not self.waiting:
            return False
        return not np.isin(self.waiting[-1]["y"], self._known).all()

    @property
    def is_whole(self) -> bool:
        """Whether every row is in the sample."""
        return bool((self.stands_for == 1).all())

    @property
    def batch(self) -> Batch:
        """The rows of the sample, weighted by the rows that each represents."""
        kept = self.kept
        weight = self.stands_for * kept["weight"]
        return Batch(kept["X"], kept["y"], weight, kept["offset"], trials=kept["trials"])

    @property
    def varies(self) -> bool:
        """Whether the targets of rows of weight above 0 differ: otherwise there may be no finite optimum."""
        y = self.kept["y"][self.kept["weight"] > 0]
        return len(y) > 1 and bool((y != y[:1]).any())

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the sample, with pending batches merged, as plain arrays."""
        settled = self.settled()
        found = {name: each for name, each in settled.kept.items() if each is not None and name != "X"}
        x = settled.kept["X"]
        if is_sparse(x):
            found |= {"data": x.data, "indices": x.indices, "ends": x.indptr, "width": np.array(x.shape[1])}
        else:
            found["X"] = x
        return {**found, "stands_for": settled.stands_for}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """Return the sample that :meth:`arrays` wrote."""
        x: Any = arrays.get("X")
        if x is None:
            shape = len(arrays["ends"]) - 1, int(arrays["width"])
            x = intact(sparse.csr_array((arrays["data"], arrays["indices"], arrays["ends"]), shape=shape))
        kept = {name: arrays.get(name) for name in ("y", "weight", "offset", "trials")}
        return cls({"X": x, **kept}, arrays["stands_for"])


def _piece(rows: Batch) -> Piece:
    """Return a copy of rows, on the host."""
    x = to_host(rows.x) if is_foreign(rows.x) else rows.x
    weight = np.ones(rows.rows) if rows.weight is None else rows.weight
    columns = {"y": rows.y, "weight": weight, "offset": rows.offset, "trials": rows.trials}
    x = sparse.csr_array(x, copy=True) if is_sparse(x) else np.array(x)
    return {"X": x, **{name: None if each is None else np.array(each) for name, each in columns.items()}}


def _alike(pieces: tuple[Piece, ...]) -> list[Piece]:
    """Return pieces that all have offsets and trials if one has them."""
    found = [dict(piece) for piece in pieces]
    for name, otherwise in (("offset", 0.0), ("trials", 1.0)):
        given = next((piece[name] for piece in found if piece[name] is not None), None)
        if given is None:
            continue
        for piece in found:
            if piece[name] is None:
                piece[name] = np.full((len(piece["y"]), *given.shape[1:]), otherwise)
    return found


@dataclass(frozen=True, eq=False)
class UpdateObjective(Objective):
    """The objective of new rows, plus a parabola at the optimum of earlier rows."""

    rows: NegativeLogLikelihood  # without a penalty, which the parabola includes
    theta: FloatArray  # (p, t), the minimum of the parabola
    past: FloatArray  # (q, q), its Hessian

    capabilities = frozenset({"hessian"})

    @property
    def weight(self) -> float:
        """The total weight of the new rows."""
        return self.rows.weight

    @property
    def unit(self) -> float:
        """The scale of one row's value."""
        return self.rows.unit

    @property
    def n_rows(self) -> int:
        """The number of new rows."""
        return self.rows.n_rows

    def value_gradient(self, theta: FloatArray) -> ValueGradient:
        """Return value and gradient."""
        value, gradient = self.rows.value_gradient(theta)
        away = flat(theta - self.theta)
        pull = self.past @ away
        return ValueGradient(value + float(away @ pull) / 2, gradient + shaped(pull, theta))

    def value_gradient_hessian(self, theta: FloatArray) -> ValueGradientHessian:
        """Return value, gradient and expected Hessian."""
        value, gradient, hessian = self.rows.value_gradient_hessian(theta)
        away = flat(theta - self.theta)
        pull = self.past @ away
        return ValueGradientHessian(value + float(away @ pull) / 2, gradient + shaped(pull, theta), hessian + self.past)
