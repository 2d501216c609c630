"""Scan of a table inside its database: sums are computed there, and only a sample of rows is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.kernels.sql.dialect import quoted
from suffice.model_types import ModelType
from suffice.statistics import Labels, Parts, Statistics
from suffice.tables.cells import combine_chunks
from suffice.tables.encoding import Bins, Targets, encode_rows
from suffice.tables.errors import TableError
from suffice.tables.predictors.naive_bayes import Description
from suffice.tables.prefetch import prefetch
from suffice.tables.pushdown.columns import SqlColumns
from suffice.tables.pushdown.database import TableDatabase
from suffice.tables.pushdown.sums import DatabaseSums, SqlTarget, read_target
from suffice.tables.row_sample import RowSample, hash_rows
from suffice.tables.scan import ScanResult, check_labels
from suffice.tables.schema import HEAD_ROWS, Feature, Schema
from suffice.tables.sources.base import HERE, Source, Watch

if TYPE_CHECKING:
    import pyarrow as pa


class DatabaseScan:
    """Scan of a table by its database; :class:`suffice.tables.scan.StreamScan` reads the rows instead."""

    table_notes: tuple[str, ...] = ()  # every row of a database counts

    def __init__(self, source: Source, database: TableDatabase, seed: int = 0, watch: Watch | None = None) -> None:
        self.source = source
        self.database = database
        self.where = f"in {database.dialect.title}"
        self._seed = seed
        self._watch = watch

    def _report(self, what: str) -> None:
        if self._watch is not None:
            self._watch(f"{what} {self.where}", 0, None)

    def head(self) -> tuple[pa.Table, bool]:
        """Return the first rows, and whether the table has no others."""
        self._report("reading the first rows")
        found = self.database.arrow(f"select * from {self.database.source} limit {HEAD_ROWS + 1}")
        return found[:HEAD_ROWS], bool(found.num_rows <= HEAD_ROWS)

    def run(
        self, schema: Schema, head: pa.Table, most: int, model_type: ModelType | None, given: str | None
    ) -> ScanResult:
        """Compute the sums, and draw a sample; sums of products follow once the matrix columns are chosen."""
        self._report("summing")
        types = {field.name: field.type for field in head.schema}
        bins = None
        if schema.task != "classes":
            bins = Bins.of(Targets.of(combine_chunks(head.column(schema.target)), schema).values)
        columns = SqlColumns(schema, types, self.database.dialect)
        target = read_target(self.database, schema, types, bins)
        if not target.rows:
            raise TableError(
                f"no row of {self.source.name} has a target in {schema.target!r}: there is nothing to learn from"
            )
        if bins is None:
            check_labels(target.labels, schema, given)
        sums = DatabaseSums(self.database, columns, target)
        description = Description.over(schema.features)
        description.set_statistics(self._described(sums))
        self._report("drawing rows")
        sample = self._drawn(schema, target, most)
        return ScanResult(
            self.source,
            schema,
            Labels() if bins is not None else target.labels,
            bins,
            description,
            sample,
            None,
            target.rows,
            target.skipped,
            sums,
            self.where + (f", of words {HERE}" if "text" in {feature.kind for feature in schema.features} else ""),
        )

    def _described(self, sums: DatabaseSums) -> Parts:
        """Return the sums of naive Bayes; text columns are read, and their words counted here."""
        parts = sums.parts()
        texts = [feature for feature in sums.columns.schema.features if feature.kind == "text"]
        return parts if not texts else Parts((*parts.parts, self._words(sums, texts)))

    def _words(self, sums: DatabaseSums, texts: list[Feature]) -> Statistics:
        schema, target = sums.columns.schema, sums.target
        names = {feature.column for feature in texts}
        kept = tuple(each for each in schema.fields if each.name in names or each.name == schema.target)
        narrow = Schema(kept, schema.target, schema.task, schema.missing)
        counter = Description.over(narrow.features)
        total: Any = None
        for batch in prefetch(self.source.batches([*narrow.columns, narrow.target])):
            block, targets = encode_rows(batch, narrow)
            codes = targets.into(target.labels) if target.bins is None else target.bins.codes(targets.values)
            more = counter.sum_block(block, codes, target.labels)
            total = more if total is None else total + more
        words: Statistics = total.parts[0]
        return words

    def _drawn(self, schema: Schema, target: SqlTarget, most: int) -> pa.Table:
        """Return a random sample of the rows with a target; all of them if they are few."""
        columns = ", ".join(map(quoted, [*schema.columns, schema.target]))
        where = f" where {target.known}" if target.skipped else ""
        select = f"select {columns} from {self.database.source}{where}"
        if target.rows <= most:
            return self.database.arrow(select)
        sample = RowSample(most, self._seed)
        for batch in prefetch(self.database.draw(select, most / target.rows, most, self._seed)):
            block, targets = encode_rows(batch, schema)
            sample.add(batch, hash_rows(block, targets.values, targets.labels))
        return sample.table()
