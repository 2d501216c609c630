"""Local fits in native code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.kernels import errors
from suffice.kernels.native_rows import read_column, read_features, read_targets
from suffice.kernels.neighbourhood import LocalCurvature, LocalMoments, Neighbourhood, Shape

if TYPE_CHECKING:
    from suffice.kernels.batch import Batch
    from suffice.kernels.protocol import FloatArray

#: In the order of Local::Shape in native/kernels.hpp.
_NUMBERS = {shape: number for number, shape in enumerate(get_args(Shape))}


class NativeLocal:
    """The kernels of local fits; see :class:`~suffice.kernels.protocol.Kernels` for what each returns."""

    def local_moments(
        self, batch: Batch, rows: Batch, neighbourhood: Neighbourhood, squares: bool = False
    ) -> LocalMoments:
        """Return the weighted products of the local design and the targets around each query."""
        nearest, shift, products, targets, squared, _ = _local_sums(batch, rows, neighbourhood, squares, None)
        return LocalMoments(nearest, shift, products, targets, squared)

    def local_curvature(
        self, batch: Batch, rows: Batch, neighbourhood: Neighbourhood, theta: FloatArray
    ) -> LocalCurvature:
        """Return the local log-likelihood of Bernoulli targets and its derivatives around each query."""
        errors.check_local_theta(theta, batch.rows, neighbourhood.parameters(batch.features))
        sums = _local_sums(batch, rows, neighbourhood, False, np.ascontiguousarray(theta, dtype=np.float64))
        nearest, shift, hessian, gradient, _, value = sums
        return LocalCurvature(nearest, shift, value, gradient[:, :, 0], hessian)


def _local_sums(
    batch: Batch, rows: Batch, neighbourhood: Neighbourhood, squares: bool, theta: FloatArray | None
) -> tuple[Any, ...]:
    errors.check_queries(batch, rows, one_target=theta is not None)
    targets = np.ascontiguousarray(read_targets(rows), dtype=np.float64)
    weight = None if rows.weight is None else read_column("weight", rows.weight, rows)
    asked, known = read_features(batch), read_features(rows)
    try:
        nearest, *sums = _native.local_sums(
            (*asked[:3], _left_out(batch, rows, known.origin)),
            (*known[:3], weight, targets.reshape(rows.rows, -1 if rows.rows else errors.count_targets(rows.y))),
            (_NUMBERS[neighbourhood.kernel], neighbourhood.bandwidth, neighbourhood.degree, squares, theta),
        )
        return np.where(nearest < 0, -1, nearest + known.origin).astype(np.int64), *sums
    except _native.OffenceError as offence:
        what, *place = str(offence).split()
        row, column, value = int(place[0]), int(place[1]), float(place[2])
        match what:
            case "finite":
                raise errors.not_finite("x", (row + asked.origin, column), value) from None
            case "row":
                raise errors.not_finite("rows.x", (row + known.origin, column), value) from None
            case "target":
                at = (row + known.origin, column)[: len(rows.y.shape)]
                raise errors.not_finite("y", at, value) from None
            case _:
                raise errors.bad_weight(row + known.origin, value) from None


def _left_out(batch: Batch, rows: Batch, origin: int) -> npt.NDArray[np.int64] | None:
    """Return the row that each query does without, as the native code counts rows; None where none does."""
    if batch.y is None:
        return None
    places = np.ascontiguousarray(np.asarray(batch.y)[batch.start : batch.stop], dtype=np.int64)
    errors.check_left_out(places, batch, rows)
    return np.where(places < 0, -1, places - origin)
