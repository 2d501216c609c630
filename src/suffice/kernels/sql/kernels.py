"""The kernels as queries: each sum is one generated aggregate over the rows of a relation, or a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from suffice.kernels import errors, inputs
from suffice.kernels.protocol import FloatArray
from suffice.kernels.sql.cells import Cells
from suffice.kernels.sql.dialect import Database
from suffice.kernels.sql.moments import Moments, moments, products, squares

if TYPE_CHECKING:
    from suffice.kernels.engine import Batch

#: Columns that are grouped by in one query: GROUPING() takes no more arguments.
_GROUPED = 24


class SqlKernels:
    """Sums over relations, inside a database.

    Examples
    --------
    >>> import duckdb
    >>> from suffice.kernels import Batch
    >>> from suffice.kernels.sql.dialect import Connected
    >>> from suffice.kernels.sql.rows import Expression, Relation
    >>> rows = Relation("(values (0, 2.5), (1, 4.0), (1, 6.0)) as rows(y, a)", ("a",), 3)
    >>> SqlKernels(Connected(duckdb.connect())).event_counts(Batch(rows, Expression("y", 3)), 2)
    (array([1., 2.]), array([[ 2.5],
           [10. ]]))
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, database: Database) -> None:
        self._database = database

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise errors.UnsupportedKernelError(
            f"a database computes sums of one pass, and {name} is none: read the rows, and use ThreadEngine"
        )

    def depth(self, batch: Batch, classes: int) -> float:
        """Return how many rows are summed one after another, at most, about references up to 5 deviations away."""
        return 6.0 * batch.rows

    def class_weights(self, batch: Batch, classes: int) -> FloatArray:
        """Return the weight of the rows of each class."""
        cells = self._cells(batch, classes)
        weights = cells.per_class(cells.select(()), [cells.total()])[:, 0]
        inputs.check_overflow(weights)
        return np.asarray(weights)

    def event_counts(self, batch: Batch, classes: int, missing: bool = False) -> tuple[FloatArray, ...]:
        """Return class weights, the sum of x per class and, with ``missing``, the weight of the known cells."""
        cells = self._cells(batch, classes)
        features = range(batch.features)
        while True:
            asked = [cells.total(), *(f"min(x{j})" for j in features), *(cells.known(f"x{j}") for j in features)]
            asked += [*(cells.summed(f"x{j}") for j in features), cells.unknown()]
            sums = cells.per_class(cells.select(), asked)
            weights, least, known, counts = _cut(sums, batch.features, 3)
            if np.isfinite(counts).all() and (missing or not sums[:, -1].any()):
                break
            settled = cells.blame(missing)
            if settled.gaps == cells.gaps:
                inputs.check_overflow(weights, counts)
            cells = settled
        if (least < 0).any():
            raise self._negative(cells, int(np.flatnonzero((least < 0).any(axis=0))[0]))
        return (weights, counts, *_cells_of(weights, known, missing, cells.weighted))

    def presence_counts(
        self, batch: Batch, classes: int, threshold: float, missing: bool = False
    ) -> tuple[FloatArray, ...]:
        """Return class weights, the weight of rows with x > threshold and, with ``missing``, that of known cells."""
        inputs.check_threshold(threshold)
        features = range(batch.features)
        cells = self._cells(batch, classes)
        if not missing:
            cells.blame(missing)
        cells = cells.taking_for_gaps(frozenset(features))  # NaN is above all numbers in a database
        dialect, weight = self._database.dialect, "weight" if cells.weighted else "1"
        asked = [cells.total(), *(cells.known(f"x{j}") for j in features)]
        asked += [f"sum(case when x{j} > {dialect.number(threshold)} then {weight} else 0 end)" for j in features]
        asked += [f"max(case when {dialect.is_infinite(f'x{j}')} then 1 else 0 end)" for j in features]
        weights, known, counts, infinite = _cut(cells.per_class(cells.select(), asked), batch.features, 3)
        if infinite.any():
            cells.blame(missing)
        return (weights, counts, *_cells_of(weights, known, missing, cells.weighted))

    def category_counts(
        self, batch: Batch, classes: int, sizes: tuple[int, ...], missing: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return class weights and the weight of each category."""
        inputs.check_sizes(sizes, batch.features, 0 if missing else 1)
        weights, counts = self.class_weights(batch, classes), np.zeros((classes, sum(sizes)))
        start = 0
        for j, (size, groups) in enumerate(zip(sizes, self.groups(batch, classes), strict=True)):
            for code, value, weight in groups:
                known = value is not None and value == value
                if missing and (not known or (value < 0 and value == np.floor(float(value)))):
                    continue
                if not known or not 0 <= value < size or value != np.floor(float(value)):
                    raise self._bad_category(self._cells(batch, classes), j, value, size)
                counts[code, start + int(value)] += weight
            start += size
        return weights, counts

    def groups(self, batch: Batch, classes: int) -> list[list[tuple[int, Any, float]]]:
        """Return, of each feature, the class codes, values and weights of its distinct cells, missing ones included.

        Features may be of any type here. They are grouped by side by side, in one pass over the rows.
        """
        cells = self._cells(batch, classes)
        found: list[list[tuple[int, Any, float]]] = [[] for _ in range(batch.features)]
        for start in range(0, batch.features if batch.rows else 0, _GROUPED):
            columns = range(start, min(start + _GROUPED, batch.features))
            raw = "".join(f", {batch.x.columns[j]} as x{j}" for j in columns)
            names = ", ".join(f"x{j}" for j in columns)
            sets = ", ".join(f"(code, x{j})" for j in columns)
            asked = f"select code, grouping({names}), {cells.total()}, {names} from ({cells.select((), raw)}) as cells"
            for code, which, weight, *values in self._database.ask(f"{asked} group by grouping sets ({sets})"):
                place = len(columns) - int(which ^ ((1 << len(columns)) - 1)).bit_length()
                if code is None or not 0 <= code < classes:
                    raise cells._bad_code(code, classes)
                found[start + place].append((int(code), values[place], float(weight)))
        return found

    def diagonal_moments(self, batch: Batch, classes: int, missing: bool = False) -> tuple[FloatArray, ...]:
        """Return class weights, means, centred sums of squares and, with ``missing``, the weight of the known cells."""
        found = self._moments(batch, classes, missing, full=False)
        known = _cells_of(found.weights, found.cells, missing, batch.weight is not None)
        return (found.weights, found.mean, found.spread, *known)

    def full_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, means and centred scatter per class."""
        found = self._moments(batch, classes, False, full=True)
        return found.weights, found.mean, _square(found.spread, batch.features)

    def tied_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, means and the scatter about the class means."""
        weights, mean, scatter = self.full_moments(batch, classes)
        return weights, mean, np.asarray(scatter.sum(axis=0))

    def normal_equations(self, batch: Batch) -> tuple[float, FloatArray, FloatArray]:
        """Return the weight, the mean and the centred scatter of the rows [x, y]."""
        cells = Cells(self._database, batch, 0)
        found = moments(cells, products(cells.features))
        return float(found.weights[0]), found.mean[0], _square(found.spread, cells.features)[0]

    def _cells(self, batch: Batch, classes: int) -> Cells:
        if classes < 1:
            inputs.check_classes(classes, batch.y)
        return Cells(self._database, batch, classes)

    def _moments(self, batch: Batch, classes: int, missing: bool, full: bool) -> Moments:
        cells = self._cells(batch, classes)
        return moments(cells, (products if full else squares)(batch.features), missing)

    def _negative(self, cells: Cells, column: int) -> Exception:
        row = cells.first_row(f"{cells.feature(column)} < 0")
        if row is None:
            return ValueError(f"{cells.called(column)} is negative in some rows; counts must not be negative")
        return errors.NegativeCountError("x", (row, column), self._cell(cells, column, row))

    def _bad_category(self, cells: Cells, column: int, value: Any, size: int) -> Exception:
        shown = np.nan if value is None else float(value)
        cell = cells.feature(column)
        row = cells.first_row(
            f"{cell} is null" if value is None else f"{cell} = {self._database.dialect.number(shown)}"
        )
        if row is not None:
            return errors.bad_category((row, column), shown, size)
        rule = f"categories of feature {column} must be whole numbers 0 to {size - 1}"
        return ValueError(f"{cells.called(column)} holds {shown:g}; {rule}")

    def _cell(self, cells: Cells, column: int, row: int) -> float:
        x = cells.batch.x
        ((value,),) = self._database.ask(f"select {cells.feature(column)} from {x.source} where ({x.position}) = {row}")
        return float(value)


def _cut(sums: FloatArray, features: int, parts: int) -> tuple[FloatArray, ...]:
    """Return class weights, and the parts of sums that have an entry for each feature."""
    return (sums[:, 0], *(sums[:, 1 + part * features : 1 + (part + 1) * features] for part in range(parts)))


def _cells_of(weights: FloatArray, known: FloatArray, missing: bool, weighted: bool) -> Sequence[FloatArray]:
    """Return the weight of the known cells where that was asked for, (k, 0) where none is missing."""
    if not missing:
        return ()
    whole = np.isclose(known, weights[:, None], rtol=1e-12, atol=0.0) if weighted else known == weights[:, None]
    return (np.zeros((len(weights), 0)) if whole.all() else known,)


def _square(triangle: FloatArray, features: int) -> FloatArray:
    """Return products of pairs, (k, d (d + 1) / 2), as symmetric matrices, (k, d, d)."""
    found = np.zeros((len(triangle), features, features))
    rows, columns = np.tril_indices(features)
    found[:, rows, columns] = triangle
    found[:, columns, rows] = triangle
    return found
