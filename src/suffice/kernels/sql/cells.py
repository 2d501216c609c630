"""Cells of a batch in a database: the subquery of its rows, and aggregates per class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.kernels import errors, inputs
from suffice.kernels.protocol import FloatArray
from suffice.kernels.sql.dialect import Database, chunks
from suffice.kernels.sql.rows import Expression, Relation

if TYPE_CHECKING:
    from suffice.kernels.engine import Batch


#: The square of a smaller number underflows.
_SPECK = 1e-150


@dataclass(frozen=True)
class Cells:
    """The columns of a batch in a query: ``code`` and ``weight`` of each row, and the features ``x0``, ``x1`` ...

    Parameters
    ----------
    database
        The database of the relation.
    batch
        Its x is a relation; y and weight are expressions.
    classes
        The number of classes; 0 if y holds targets, which are then the last columns.
    gaps
        Features with NaN, which is treated as NULL.
    specks
        Whether there are numbers so small that the database raises when squaring them; they are treated as 0.
    """

    database: Database
    batch: Batch
    classes: int
    gaps: frozenset[int] = frozenset()
    specks: bool = False
    columns: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        x, y = self.batch.x, self.batch.y
        if not isinstance(x, Relation):
            raise TypeError(f"SqlEngine sums a Relation; x is a {type(x).__name__}: use ThreadEngine")
        columns = x.columns
        if not self.classes:
            inputs.count_targets(y)
            columns += y.columns if isinstance(y, Relation) else (y.sql,)
        else:
            inputs.check_classes(self.classes, y)
        for name in ("y", "weight"):
            given = getattr(self.batch, name)
            if given is not None and not isinstance(given, Expression | Relation):
                raise TypeError(f"{name} must be an Expression, as x is a Relation; got {type(given).__name__}")
        object.__setattr__(self, "columns", columns)

    @property
    def features(self) -> int:
        """The number of features, including targets."""
        return len(self.columns)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.batch.weight is not None

    def taking_for_gaps(self, columns: frozenset[int]) -> Cells:
        """Return the cells, with NaN of these features as NULL."""
        return replace(self, gaps=self.gaps | columns)

    def without_specks(self) -> Cells:
        """Return the cells, with numbers whose square underflows as 0."""
        if self.specks:
            raise ValueError("the products of some columns are too small for float64: rescale them")
        return replace(self, specks=True)

    def spotless(self, number: str) -> str:
        """Return a number, 0 if its square underflows."""
        if not self.specks:
            return number
        small = self.database.dialect.number(_SPECK)
        return f"case when abs({number}) < {small} then {self.database.dialect.number(0)} else {number} end"

    def select(self, columns: Any = None, more: str = "") -> str:
        """Return a query for code, weight and some features of all rows of the batch."""
        x, code = self.batch.x, "0"
        if self.classes and self.batch.y is not None:
            code = f"({self.batch.y.sql})"
        wanted = [f"{code} as code"]
        if self.weighted:
            wanted.append(f"({self.batch.weight.sql})::float8 as weight")
        wanted += [f"{self.feature(j)} as x{j}" for j in (range(self.features) if columns is None else columns)]
        return f"select {', '.join(wanted)}{more} from {x.source}{self._where()}"

    def feature(self, j: int) -> str:
        """Return a feature as a number."""
        cell = f"({self.columns[j]})::float8"
        return self.database.dialect.known(cell) if j in self.gaps else cell

    def _where(self) -> str:
        batch = self.batch
        if batch.start == 0 and batch.stop == batch.x.rows:
            return ""
        if batch.x.position is None:
            raise ValueError("a range of a relation's rows can be summed only if it has a position")
        return f" where ({batch.x.position}) >= {batch.start} and ({batch.x.position}) < {batch.stop}"

    # Aggregates per class.

    def total(self) -> str:
        """Return the aggregate of the total weight."""
        return "sum(weight)" if self.weighted else "count(*)"

    def known(self, cell: str) -> str:
        """Return the aggregate of the weight of rows in which a cell is not missing."""
        return f"sum(case when {cell} is not null then weight end)" if self.weighted else f"count({cell})"

    def unknown(self, called: str = "x") -> str:
        """Return the aggregate of the number of missing cells, without weights."""
        return f"count(*) * {self.features}" + "".join(f" - count({called}{j})" for j in range(self.features))

    def summed(self, cell: str) -> str:
        """Return the weighted sum of a cell."""
        return f"sum(weight * {cell})" if self.weighted else f"sum({cell})"

    def per_class(self, cells: str, aggregates: list[str]) -> FloatArray:
        """Return the values of aggregates over a query's rows, (k, aggregates); 0 for classes without rows.

        Weights are checked in the same query.
        """
        classes = max(self.classes, 1)
        found = np.zeros((classes, len(aggregates)))
        if not self.batch.rows:
            return found
        checks = ["min(weight)", "max(weight)", "count(*) - count(weight)"] if self.weighted else []
        start = 0
        for some in chunks([*checks, *aggregates], self.database.dialect.most):
            sums = ", ".join(some)
            for code, *values in self.database.ask(f"select code, {sums} from ({cells}) as cells group by code"):
                if code is None or not 0 <= code < classes or code != int(code):
                    raise self._bad_code(code, classes)
                numbers = [0.0 if value is None else float(value) for value in values]
                if start == 0 and self.weighted:
                    self._check_weights(*numbers[:3])
                    numbers = numbers[3:]
                found[int(code), start : start + len(numbers)] = numbers
            start += len(some) - (len(checks) if start == 0 else 0)
        return found

    def _bad_code(self, code: Any, classes: int) -> Exception:
        column = self.batch.y.sql
        shown = "null" if code is None else f"= {code}"
        row = self.first_row(f"({column}) {'is null' if code is None else shown}")
        if row is not None and code is not None:
            return errors.bad_code(row, int(code), classes)
        where = "y" if row is None else f"y[{row}]"
        return ValueError(f"{where} is {'missing' if code is None else code}; class codes must be 0 to {classes - 1}")

    def _check_weights(self, least: float, most: float, unknown: float) -> None:
        if least >= 0 and most < np.inf and not unknown:
            return
        column, dialect = f"({self.batch.weight.sql})::float8", self.database.dialect
        bad = f"{column} is null or {column} < 0 or {dialect.is_infinite(column)} or {dialect.is_nan(column)}"
        row = self.first_row(bad)
        value = np.nan if unknown else least if least < 0 else most
        if row is not None:
            ((found,),) = self.database.ask(
                f"select {column} from {self.batch.x.source} where ({self.batch.x.position}) = {row}"
            )
            raise errors.bad_weight(row, np.nan if found is None else float(found))
        raise ValueError(f"weight holds {value:g}; weights must be finite and not negative")

    def first_row(self, condition: str) -> int | None:
        """Return the position of the first row for which a condition holds, if rows have positions."""
        batch = self.batch
        if batch.x.position is None:
            return None
        where = f"{self._where()} and" if self._where() else " where"
        ((row,),) = self.database.ask(f"select min({batch.x.position}) from {batch.x.source}{where} ({condition})")
        return None if row is None else int(row)

    def named(self, j: int) -> tuple[str, int]:
        """Return the argument that a column belongs to, and its position there."""
        features = self.batch.features
        return ("x", j) if j < features else ("y", j - features)

    # Cells that are not finite.

    def strange(self) -> tuple[list[int], list[int], list[int]]:
        """Return which features have infinities, NaN and NULL."""
        dialect = self.database.dialect
        asked = []
        for j in range(self.features):
            signs = dialect.is_infinite(f"x{j}"), dialect.is_nan(f"x{j}"), f"x{j} is null"
            asked += [f"max(case when {sign} then 1 else 0 end)" for sign in signs]
        found = self.per_class(self.select(), asked).max(axis=0).reshape(-1, 3) > 0
        kinds = [np.flatnonzero(column).tolist() for column in found.T]
        return kinds[0], kinds[1], kinds[2]

    def blame(self, missing: bool) -> Cells:
        """Raise for the first cell that is not finite; return the cells, with NaN as NULL if it is allowed.

        With ``missing``, features may be NaN or NULL.
        """
        infinite, nan, unknown = self.strange()
        bad = {*infinite, *(() if missing else (*nan, *unknown))}
        for j in sorted(bad):
            raise self._not_finite(j, missing)
        return self.taking_for_gaps(frozenset(nan))

    def _not_finite(self, j: int, missing: bool) -> Exception:
        cell = self.feature(j)
        infinite, nan = self.database.dialect.is_infinite(cell), self.database.dialect.is_nan(cell)
        condition = infinite if missing else f"({infinite} or {nan} or {cell} is null)"
        name, column = self.named(j)
        source = f"{self.batch.x.source}{self._where()}{' and' if self._where() else ' where'}"
        row = self.first_row(condition)
        place = "" if row is None else f" and ({self.batch.x.position}) = {row}"
        ((value,), *_) = self.database.ask(f"select {cell} from {source} {condition}{place} limit 1")
        if row is not None:
            value = np.nan if value is None else float(value)
            one = name == "y" and isinstance(self.batch.y, Expression)
            return errors.NonFiniteError(name, (row,) if one else (row, column), value)
        shown = "NULL" if value is None else f"{value:g}"
        return ValueError(f"{self.called(j)} holds {shown}; it must be finite")

    def called(self, j: int) -> str:
        """Return the name of a column in messages, if rows have no positions."""
        name, column = self.named(j)
        if name == "x" and self.batch.x.names:
            return f"column {self.batch.x.names[column]!r}"
        return f"{'feature' if name == 'x' else 'target'} {column} of {name}"
