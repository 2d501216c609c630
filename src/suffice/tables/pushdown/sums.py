"""Sums over the rows of a table that its database computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from suffice.kernels import Batch
from suffice.kernels.sql.dialect import quoted
from suffice.kernels.sql.engine import Expression, Relation, SqlEngine
from suffice.statistics import (
    DiagonalMoments,
    EventCounts,
    Labels,
    NamedCategoryCounts,
    NormalEquations,
    Parts,
    PresenceCounts,
    Statistics,
)
from suffice.statistics.base import FloatArray
from suffice.tables.cells import cell_type
from suffice.tables.design_matrix import Design
from suffice.tables.encoding import Bins, KindError, Targets
from suffice.tables.errors import TableError, kind_cure
from suffice.tables.predictors.summed import SummedPredictor
from suffice.tables.pushdown.columns import SqlColumns, term_columns
from suffice.tables.pushdown.database import PushdownError, TableDatabase
from suffice.tables.schema import Feature, Schema
from suffice.tables.sources.base import arrow

#: Kinds of features that are grouped.
_GROUPED = ("category", "boolean")


@dataclass(frozen=True)
class SqlTarget:
    """The target column as SQL expressions."""

    labels: Labels  # the classes; bins of the description if the target is a number
    code: str  # expression of the class code of a row
    value: str  # expression of a numeric target
    known: str  # condition that a row has a target
    rows: int  # number of rows with a target
    skipped: int
    bins: Bins | None


def read_target(database: TableDatabase, schema: Schema, types: dict[str, Any], bins: Bins | None) -> SqlTarget:
    """Return the target as SQL; raise for a cell that does not fit the task."""
    dialect, column = database.dialect, quoted(schema.target)
    if bins is None:
        groups = database.ask(f"select {column}, count(*) from {database.source} group by 1")
        cells = [cell for cell, _ in groups]
        weights = np.array([count for _, count in groups], dtype=np.int64)
        targets = Targets.of(arrow().array([_arrow_cell(cell) for cell in cells]), schema)
        codes = np.full(len(cells), -1)
        codes[targets.known] = targets.values
        pairs = [(dialect.value(_arrow_cell(cell)), int(code)) for cell, code in zip(cells, codes, strict=True)]
        cases = " ".join(f"when {cell} then {code}" for cell, code in pairs if code >= 0)
        known = f"{column} in ({', '.join(cell for cell, code in pairs if code >= 0)})"
        rows = int(weights[targets.known].sum())
        return SqlTarget(targets.labels, f"case {column} {cases} end", "", known, rows, int(weights.sum()) - rows, None)
    if schema.field(schema.target).format is not None and cell_type(types[schema.target]) == "name":
        raise PushdownError(f"the target {schema.target!r} holds numbers as strings: cast it in a query")
    number = dialect.known(f"{column}::float8")
    counts = schema.task == "counts"
    bad = dialect.is_infinite("t") + (" or t < 0 or t <> floor(t)" if counts else "")
    numbers = f"(select {number} as t from {database.source}) as numbers"
    ((rows, known_rows, wrong),) = database.ask(
        f"select count(*), count(t), min(case when {bad} then t end) from {numbers}"
    )
    if wrong is not None:
        what = "not a count" if counts else "not a finite number"
        raise TableError(f"the target {schema.target!r} is {wrong:g} in some row, which is {what}")
    cases = " ".join(f"when {number} < {dialect.number(edge)} then {code}" for code, edge in enumerate(bins.edges))
    code = f"case {cases} else {len(bins.edges)} end" if cases else "0"
    return SqlTarget(bins.labels, code, number, f"{number} is not null", int(known_rows), int(rows - known_rows), bins)


def _arrow_cell(cell: Any) -> Any:
    """Return a target cell as a plain value."""
    return cell if cell is None or isinstance(cell, str | int | float | bool | Decimal) else str(cell)


class DatabaseSums:
    """Sums over the rows of a table that its database computes."""

    def __init__(self, database: TableDatabase, columns: SqlColumns, target: SqlTarget) -> None:
        self.database = database
        self.columns = columns
        self.target = target
        self.engine = SqlEngine(database)
        source = database.source
        if target.skipped:
            source = f"(select * from {source} where {target.known}) as data"
        self._source = source

    @property
    def _classes(self) -> int:
        return len(self.target.labels)

    def _batch(self, expressions: list[str], names: list[str], indicators: frozenset[int] = frozenset()) -> Batch:
        x = Relation(self._source, tuple(expressions), self.target.rows, None, indicators, tuple(names))
        return Batch(x, Expression(self.target.code, self.target.rows))

    def _features_of_kind(self, kind: str) -> list[Feature]:
        return [feature for feature in self.columns.schema.features if feature.kind == kind]

    # Naive Bayes.

    def parts(self) -> Parts:
        """Return the sums of naive Bayes over all columns except texts."""
        labels = self.target.labels
        parts: list[Statistics] = []
        counted = self._grouped()
        wanted: dict[str, Callable[..., Statistics]] = {
            "numeric": DiagonalMoments.over(labels, True),
            "count": EventCounts.over(labels, True),
        }
        for kind, what in wanted.items():
            features = self._features_of_kind(kind)
            if features:
                if kind == "count":
                    self._check_counts(features)
                expressions = [self.columns.number(feature) for feature in features]
                batch = self._batch(expressions, [feature.name for feature in features])
                parts.append(self._summed(what, batch))
        booleans, categories = self._features_of_kind("boolean"), self._features_of_kind("category")
        if booleans:
            tables = [counted[feature.name][1] for feature in booleans]
            present = np.stack([table[:, 1] for table in tables], axis=1)
            known = np.stack([table.sum(axis=1) for table in tables], axis=1)
            cells = known if (known < self.weights[:, None]).any() else np.zeros((self._classes, 0))
            parts.append(PresenceCounts(labels, self.weights, present, cells))
        if categories:
            vocabularies = tuple(counted[feature.name][0] for feature in categories)
            counts = np.hstack([counted[feature.name][1] for feature in categories])
            parts.append(NamedCategoryCounts(labels, self.weights, counts, vocabularies))
        return Parts(tuple(parts))

    @cached_property
    def weights(self) -> FloatArray:
        """Number of rows of each class, (k,)."""
        return self.engine.kernels.class_weights(self._batch([], []), self._classes)

    def _grouped(self) -> dict[str, tuple[Labels, FloatArray]]:
        """Return the categories of each grouped feature, and their counts in each class, (k, names)."""
        features = [feature for feature in self.columns.schema.features if feature.kind in _GROUPED]
        if not features:
            return {}
        batch = self._batch([self.columns.raw(feature) for feature in features], [each.name for each in features])
        kernels: Any = self.engine.kernels
        found = {}
        for feature, groups in zip(features, kernels.groups(batch, self._classes), strict=True):
            values = list(dict.fromkeys(value for _, value, _ in groups))
            places = {value: place for place, value in enumerate(values)}
            names = self.columns.names(feature, values)
            counts = np.zeros((self._classes, len(names.vocabulary) + 1))
            for code, value, weight in groups:
                counts[code, names.codes[places[value]]] += weight  # missing cells, -1, are the last column
            found[feature.name] = names.vocabulary, counts[:, :-1]
        return found

    def _check_counts(self, features: list[Feature]) -> None:
        """Raise if a count column has a negative number or a fraction."""
        cells = [self.columns.known_number(feature) for feature in features]
        wrong = [f"min(case when {cell} < 0 or {cell} <> floor({cell}) then {cell} end)" for cell in cells]
        (found,) = self.database.ask(f"select {', '.join(wrong)} from {self._source}")
        for feature, value in zip(features, found, strict=True):
            if value is not None:
                raise KindError(
                    f"column {feature.column!r} is {value:g} in some row, which is not a count: "
                    f"{kind_cure(feature.column, 'numeric')}",
                    feature.column,
                    "numeric",
                )

    # Matrices.

    def fit_linear(self, predictor: SummedPredictor) -> SummedPredictor:
        """Fit a model with a linear predictor, whose columns are chosen, from sums over all rows."""
        return predictor.learn_from_sums(lambda what: self._sum_design(what, predictor.design))

    def _sum_design(self, what: Any, design: Design) -> Statistics:
        """Return the sums over the rows of the design matrix."""
        by_name = {feature.name: feature for feature in design.features}
        expressions: list[str] = []
        zero_or_one: list[bool] = []
        for term in design.terms:
            columns, kinds = term_columns(term, by_name[term.feature], self.columns)
            expressions += columns
            zero_or_one += kinds
        batch = self._batch(expressions, design.names, frozenset(np.flatnonzero(zero_or_one).tolist()))
        if what is NormalEquations:
            batch = Batch(batch.x, Expression(self.target.value, self.target.rows))
            return self._summed(NormalEquations.over(), batch)
        return self._summed(what(self.target.labels), batch)

    def _summed(self, what: Callable[..., Statistics], batch: Batch) -> Statistics:
        """Return a sum; an error about a cell becomes a TableError that names the column."""
        try:
            return self.engine.accumulate(what, batch)
        except OverflowError as error:
            raise TableError(str(error)) from None
        except ValueError as error:
            raise TableError(f"{error}: correct the cells, or leave them empty") from None
