"""Centred moments from SQL aggregates, without cancellation: products are summed about references near the means."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.kernels import errors
from suffice.kernels.protocol import FloatArray
from suffice.kernels.sql.cells import Cells
from suffice.kernels.sql.errors import DatabaseOverflowError, DatabaseUnderflowError

#: Largest distance of a reference from a mean, in standard deviations: the squares about it then lose little more than
#: a digit when they are shifted to the mean.
_NEAR = 5.0
#: Rows for the first references.
_FIRST = 100
#: A column as it is.
_NAME = re.compile(r'"([^"]|"")+"')
#: Most updates of references: each is the mean, to the digits of the last sums.
_ROUNDS = 4


class Moments(NamedTuple):
    """Moments about references, shifted to the means."""

    weights: FloatArray  # (k,)
    mean: FloatArray  # (k, d)
    spread: FloatArray  # (k, pairs)
    cells: FloatArray  # (k, d), the weight of the rows in which each cell is not missing
    unknown: FloatArray  # (k,), the number of missing cells


Pairs = list[tuple[int, int]]


def squares(features: int) -> Pairs:
    """Return the pairs of each feature with itself."""
    return [(j, j) for j in range(features)]


def products(features: int) -> Pairs:
    """Return the pairs of any two features, each once."""
    return [(i, j) for i in range(features) for j in range(i + 1)]


def moments(cells: Cells, pairs: Pairs, missing: bool = False) -> Moments:
    """Return the centred sums of products of pairs of features, for each class.

    A first query computes references from a few rows; the sums of ``z = x - reference`` and of their products then give
    the moments about the means. If a class's mean is far from the reference, in units of its standard deviation, the
    products have cancelled: they are summed again about that mean, or are 0 if the feature is constant.
    """
    found, cells, reference = _finite(cells, pairs, missing)
    steady = np.zeros(reference.shape, dtype=bool)
    for _ in range(_ROUNDS):  # pragma: no branch: the second mean is exact to rounding, and never far
        far = _far(found, reference, pairs, cells) & ~steady
        if not far.any():
            break
        least, most = _range(cells, np.flatnonzero(far.any(axis=0)).tolist())
        steady |= far & (least == most)
        far &= ~steady
        reference = np.where(steady, least, np.where(far, found.mean, reference))
        if not far.any():
            found = found._replace(mean=np.where(steady, least, found.mean))
            break
        found = _about(cells, reference, pairs)
    spread = found.spread.copy()
    for place, (i, j) in enumerate(pairs):
        spread[steady[:, i] | steady[:, j], place] = 0.0
    return found._replace(spread=spread)


def _finite(cells: Cells, pairs: Pairs, missing: bool) -> tuple[Moments, Cells, FloatArray]:
    """Return the moments about the first references; raise if they are not finite."""
    while True:
        reference = np.tile(_first_cells(cells), (max(cells.classes, 1), 1))
        try:
            found = _about(cells, reference, pairs)
        except DatabaseUnderflowError:
            cells = cells.without_specks()
            continue
        except DatabaseOverflowError:
            whole = False
        else:
            whole = all(np.isfinite(part).all() for part in found) and (missing or not found.unknown.any())
        if whole:
            return found, cells, reference
        settled = cells.blame(missing)
        if settled.gaps == cells.gaps:
            raise _overflow(cells)
        cells = settled


def _first_cells(cells: Cells) -> FloatArray:
    """Return a cell of each feature, (d,), near the mean of a few rows: exact for a constant feature."""
    rows = cells.database.ask(f"{cells.select()} limit {_FIRST}")
    skipped = 2 if cells.weighted else 1
    found = np.zeros(cells.features)
    for j in range(cells.features):
        column = np.array([row[j + skipped] for row in rows if row[j + skipped] is not None], dtype=np.float64)
        column = column[np.isfinite(column)]
        if column.size and j not in cells.batch.x.indicators:
            with np.errstate(over="ignore"):
                found[j] = column[np.argmin(np.abs(column - column.mean()))]
    return found


def _about(cells: Cells, reference: FloatArray, pairs: Pairs) -> Moments:
    """Return the moments about references, (k, d), by one pass."""
    number = cells.database.dialect.number
    features = range(cells.features)

    def centre(j: int) -> str:
        level = reference[:, j]
        if (level == level[0]).all():
            return number(level[0])
        return f"case code {' '.join(f'when {k} then {number(each)}' for k, each in enumerate(level))} end"

    moved = [f"{cells.spotless(f'x{j} - {centre(j)}' if reference[:, j].any() else f'x{j}')} as z{j}" for j in features]
    wanted = ["code", *(["weight"] if cells.weighted else []), *moved]
    # Without the fence a server computes each cell again for every product. Plain columns need none: it would prevent
    # parallel sums.
    plain = all(map(_NAME.fullmatch, cells.columns))
    fence = "" if plain or len(pairs) == cells.features else cells.database.dialect.fence
    inner = f"select {', '.join(wanted)} from ({cells.select()}) as cells{fence}"
    known = [cells.known(f"z{j}") for j in features]
    first = [cells.summed(f"z{j}") for j in features]
    second = [cells.summed(f"z{i} * z{j}") for i, j in pairs]
    sums = cells.per_class(inner, [cells.unknown("z"), cells.total(), *known, *first, *second])
    unknown, sums = sums[:, 0], sums[:, 1:]
    d = cells.features
    weights, known_weight, sum_z, sum_zz = (
        sums[:, 0],
        sums[:, 1 : d + 1],
        sums[:, d + 1 : 2 * d + 1],
        sums[:, 2 * d + 1 :],
    )
    with np.errstate(all="ignore"):
        shift = sum_z / np.where(known_weight > 0, known_weight, 1.0)
        left = [sum_zz[:, p] - sum_z[:, i] * shift[:, j] for p, (i, j) in enumerate(pairs)]
    spread = np.stack(left, axis=1) if pairs else np.zeros((len(weights), 0))
    for place, (i, j) in enumerate(pairs):
        if i == j:  # rounding may give a negative sum
            spread[:, place] = np.where(spread[:, place] < 0, 0.0, spread[:, place])
    mean = np.where(known_weight > 0, reference + shift, 0.0)
    return Moments(weights, mean, spread, known_weight, unknown)


def _far(found: Moments, reference: FloatArray, pairs: Pairs, cells: Cells) -> npt.NDArray[np.bool_]:
    """Return which means are too far from their references, (k, d), relative to their standard deviation."""
    own = {i: place for place, (i, j) in enumerate(pairs) if i == j}
    variance = np.stack([found.spread[:, own[j]] for j in range(cells.features)], axis=1)
    variance = variance / np.where(found.cells > 0, found.cells, 1.0)
    shift = found.mean - reference
    far = (found.cells > 0) & (shift * shift > _NEAR**2 * variance)
    if cells.batch.x.indicators:
        far[:, sorted(cells.batch.x.indicators)] = False
    return np.asarray(far)


def _range(cells: Cells, columns: list[int]) -> tuple[FloatArray, FloatArray]:
    """Return the minimum and maximum of some features in each class, (k, d)."""
    asked = [f"{bound}(x{j})" for j in columns for bound in ("min", "max")]
    found = cells.per_class(cells.select(columns), asked)
    least, most = np.zeros((2, found.shape[0], cells.features))
    least[:, columns], most[:, columns] = found[:, 0::2], found[:, 1::2]
    most[:, [j for j in range(cells.features) if j not in columns]] = np.inf
    return least, most


def _overflow(cells: Cells) -> OverflowError:
    """Return the error for finite cells whose sums are not finite."""
    asked = [f"max(abs(x{j}))" for j in range(cells.features)]
    largest = cells.per_class(cells.select(), asked).max(axis=0)
    name, column = cells.named(int(np.argmax(largest)))
    if name == "x" and cells.batch.x.names:
        return OverflowError(f"the sums of {cells.called(column)} overflow float64; rescale it")
    if name == "y":
        return OverflowError(f"the sums of y overflow float64; rescale target {column}")
    return errors.feature_overflow(column)
