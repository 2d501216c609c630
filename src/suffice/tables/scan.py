"""Going through a table once: what is summed, what is drawn, what is kept."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from suffice.model_types import ModelType
from suffice.statistics import Labels
from suffice.tables.cells import combine_chunks
from suffice.tables.compact_rows import CompactRows
from suffice.tables.encoding import Bins, Block, KindError, Targets
from suffice.tables.errors import TableError
from suffice.tables.ledger import Ledger
from suffice.tables.predictors import Predictor, make_predictor
from suffice.tables.predictors.naive_bayes import Description
from suffice.tables.prefetch import prefetch
from suffice.tables.row_sample import RowSample, hash_rows, order_by_content
from suffice.tables.schema import FEW_CLASSES, HEAD_ROWS, Schema, infer_schema
from suffice.tables.sources.base import BATCH, Source, Watch, arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from suffice.tables.pushdown.sums import DatabaseSums

#: Rows that models are compared by, at most.
COMPARISON_ROWS = 30_000
#: Where sums are taken of rows that are read.
HERE = "here"


@dataclass
class ScanResult:
    """What one pass over a table leaves behind."""

    source: Source
    schema: Schema
    labels: Labels  # the classes; empty where the target is a number
    bins: Bins | None  # of the numbers
    description: Description
    sample: pa.Table  # rows drawn at random: all of them where they are few
    summed: Predictor | None  # the model of all rows, where it was asked for and is a sum
    rows: int
    skipped: int  # rows without a target
    sums: DatabaseSums | None = None  # what takes more sums where the rows lie
    where: str = HERE  # where sums were taken
    note: str = ""  # why they were not taken where the rows lie
    ledger: Ledger | None = None  # of the rows, where one is kept
    kept: CompactRows | None = None  # all rows, where they are needed again

    @property
    def is_sample_complete(self) -> bool:
        """Whether all rows were drawn."""
        return bool(self.sample.num_rows == self.rows)

    @property
    def has_cached_rows(self) -> bool:
        """Whether all rows are kept in a compact form."""
        return self.kept is not None and self.kept.is_complete

    def close(self) -> None:
        """Delete the rows that are kept."""
        if self.kept is not None:
            self.kept.close()

    def sampled_rows(self) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield the rows that were drawn, with codes of the classes, or numbers."""
        return self._encode_batches(self.sample.to_batches(BATCH))

    def all_rows(self, packed: bool = False) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield all rows once more: those that were drawn or kept, where these are all; else they are read again.

        With ``packed``, numbers may be :class:`~suffice.tables.encoding.PackedNumbers`.
        """
        if self.is_sample_complete:
            return self.sampled_rows()
        if self.has_cached_rows:
            assert self.kept is not None
            return self.kept.read(self.labels, packed=True) if packed else prefetch(self.kept.read(self.labels))
        return self._encode_batches(prefetch(self.source.batches([*self.schema.columns, self.schema.target])))

    def drawn_again(self, most: int, seed: int) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield so many rows at most, drawn from all rows, with codes of the classes, or numbers."""
        if self.rows <= most:
            return self.all_rows()
        if self.sample.num_rows == most:
            return self.sampled_rows()
        sample = RowSample(most, seed, lambda rows, places: (rows[0][places], rows[1][places]))
        for block, values in self.all_rows():
            sample.add((block, values), hash_rows(block, values, self.labels))
        return iter(sample.parts())

    def comparison_sample(self, seed: int) -> tuple[Block, npt.NDArray[Any]]:
        """Return some of the rows that were drawn, with their codes or numbers.

        Which rows these are, and their order, depends on the contents of the drawn rows and on the seed alone: not on
        the order in which a file, a frame or a database gives them. So folds, temperatures and penalties are the same
        in every way of reading a table whose rows are all drawn.
        """
        order = order_by_content(self.sampled_rows(), self.labels, seed)
        (batch,) = self.sample.take(arrow().array(order[:COMPARISON_ROWS])).combine_chunks().to_batches()
        (found,) = self._encode_batches([batch])
        return found

    def _encode_batches(self, batches: Any) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield rows with codes of the classes, or numbers."""
        first = 0
        for batch in batches:
            block, answers = encode_rows(batch, self.schema, first)
            yield block, answers.into(self.labels) if self.schema.task == "classes" else answers.values
            first += batch.num_rows


def encode_rows(batch: Any, schema: Schema, first: int = 0) -> tuple[Block, Targets]:
    """Return the rows of a batch that have a target, and these targets."""
    answers = Targets.of(batch.column(schema.target), schema, first)
    if not answers.known.all():
        batch = batch.filter(arrow().array(answers.known))
    return Block.of(batch, schema, first), answers


def read_head(source: Source) -> tuple[list[Any], Generator[Any, None, None], bool]:
    """Return the first batches, all batches, and whether the first are all."""
    stream = source.batches()
    held: list[Any] = []
    rows = 0
    for batch in stream:
        held.append(batch)
        rows += batch.num_rows
        if rows >= HEAD_ROWS:
            return held, _after(held, stream), False
    return held, _after(held, iter(())), True


def _after(held: list[Any], stream: Iterator[Any]) -> Generator[Any, None, None]:
    """Yield what is held and then the rest, which is closed when this is."""
    try:
        yield from held
        yield from stream
    finally:
        if isinstance(stream, Generator):
            stream.close()


class Scan(Protocol):
    """A way of going through a table."""

    source: Source

    def head(self) -> tuple[pa.Table, bool]:
        """Return the first rows, and whether these are all."""

    def run(self, schema: Schema, head: pa.Table, most: int, form: ModelType | None, said: str | None) -> ScanResult:
        """Sum all rows, and draw some: so many at most. ``said`` is what the user says of the target."""


def scan_table(
    table_scan: Scan,
    target: str,
    kinds: Any = None,
    task: str | None = None,
    most: Callable[[Schema], int] = lambda _: COMPARISON_ROWS,
    form: Callable[[Schema], ModelType | None] = lambda _: None,
) -> ScanResult:
    """Go through a table once, or once more where the first rows misled about a column.

    Parameters
    ----------
    table_scan
        The table, and where its sums are taken.
    target
        The column to predict.
    kinds, task
        What the user says of columns and target.
    most
        How many rows to draw.
    form
        Which model to sum on the way, if any.
    """
    head, whole = table_scan.head()
    if not head.num_rows:
        raise TableError(f"{table_scan.source.name} has no rows: there is nothing to learn from")
    schema = infer_schema(head, target, kinds, task, whole, table_scan.source.missing, table_scan.source.categorical)
    said = task or (kinds or {}).get(target)
    settled = set(kinds or {})  # columns whose kind is not to be inferred again
    while True:
        try:
            found = table_scan.run(schema, head, most(schema), form(schema), said)
        except KindError as error:  # the first rows misled: once more, as all rows are
            if error.column in (kinds or {}):
                raise  # the user asked for it
            why = f"some cells are no {schema.field(error.column).kind}"
            schema = schema.with_kind(error.column, error.cure, why)
            settled.add(error.column)
            continue
        others = {} if whole else _revise_kinds(found, settled)
        if others:  # the first rows are not like all rows: once more
            found.close()
            for name, kind in others.items():
                schema = schema.with_kind(name, kind, f"the first {head.num_rows:,} rows alone suggest another kind")
            settled |= set(others)
            continue
        alike = {} if whole else found.description.constants()
        alike = {name: value for name, value in alike.items() if name in schema.columns and name not in (kinds or {})}
        if not alike or len(alike) == len(schema.predictors):
            return found
        found.close()
        for name, value in alike.items():  # the first rows did not tell, and the others do not either
            schema = schema.with_kind(name, "ignore", f"always {value}")


def _revise_kinds(found: ScanResult, settled: set[str]) -> dict[str, str]:
    """Return the columns of numbers that rows drawn from the whole table suggest another kind for than the first rows.

    So the kind of a column does not depend on the order of the rows.
    """
    drawn = infer_schema(found.sample, found.schema.target, None, found.schema.task, False, found.schema.missing)
    kinds = {field.name: field.kind for field in drawn.fields}
    return {
        field.name: kinds[field.name]
        for field in found.schema.predictors
        if field.kind in ("numeric", "count")
        and kinds[field.name] in ("numeric", "count")
        and field.kind != kinds[field.name]
        and field.name not in settled
    }


def check_labels(labels: Labels, schema: Schema, said: str | None) -> None:
    """Raise where a target has too many classes, or one only."""
    if len(labels) > 4 * FEW_CLASSES and said is None and schema.field(schema.target).type == "whole":
        raise TableError(
            f"the target {schema.target!r} takes {len(labels)} values: say whether they are classes, numbers or "
            "counts, with --task (task= in Python)"
        )
    if len(labels) == 1:
        raise TableError(f"the target {schema.target!r} is always {labels.names[0]!r}: there is nothing to tell apart")


class StreamScan:
    """A table that is read, batch by batch.

    Parameters
    ----------
    source
        The table.
    seed
        Of the rows that are drawn.
    watch
        Told how far it is.
    note
        Why sums are not taken where the rows lie, where that is worth saying.
    ledger
        An empty one, where rows are to be kept track of.
    keeps_rows
        Whether all rows are kept in a compact form, to be read again without the source.
    """

    def __init__(
        self,
        source: Source,
        seed: int = 0,
        watch: Watch | None = None,
        note: str = "",
        ledger: Ledger | None = None,
        keeps_rows: bool = False,
    ) -> None:
        self.source = source
        self.note = note
        self.ledger = ledger
        self._seed = seed
        self._watch = watch
        self._keeps_rows = keeps_rows
        self._stream: Iterator[Any] | None = None

    def head(self) -> tuple[pa.Table, bool]:
        """Return the first rows, and whether these are all."""
        held, self._stream, whole = read_head(self.source)
        return arrow().Table.from_batches(held, self.source.schema() if not held else None)[:HEAD_ROWS], whole

    def run(self, schema: Schema, head: pa.Table, most: int, form: ModelType | None, said: str | None) -> ScanResult:
        """Sum all rows while they are read, and draw some."""
        with ExitStack() as stack:
            kept = stack.enter_context(CompactRows(schema.features)) if self._keeps_rows else None
            found = self._run(schema, head, most, form, said, kept)
            stack.pop_all()
        return found

    def _run(
        self,
        schema: Schema,
        head: pa.Table,
        most: int,
        form: ModelType | None,
        said: str | None,
        kept: CompactRows | None,
    ) -> ScanResult:
        stream, self._stream = self._stream or self.source.batches(), None
        sample = RowSample(most, self._seed)
        columns = [*schema.columns, schema.target]
        bins = None
        if schema.task != "classes":
            bins = Bins.of(Targets.of(combine_chunks(head.column(schema.target)), schema).values)
        description = Description.over(schema.features)
        expected = self.source.rows()
        summed = None if form is None else make_predictor(form, schema.task, Labels())
        statistics: Any = None
        ledger = self.ledger
        rows = skipped = 0
        prepared = False
        labels = Labels()
        for batch in prefetch(stream):
            batch = batch.select(columns)
            block, answers = encode_rows(batch, schema, rows)
            if not answers.known.all():
                batch = batch.filter(arrow().array(answers.known))
            skipped += len(answers.known) - batch.num_rows
            rows += len(answers.known)
            if self._watch is not None:
                self._watch("reading", rows, expected)
            if not batch.num_rows:
                continue
            labels = labels.union(answers.labels)[0]
            if bins is None:
                more = description.sum_block(block, answers.values, answers.labels)
            else:
                more = description.sum_block(block, bins.codes(answers.values), bins.labels)
            statistics = more if statistics is None else statistics + more
            if ledger is not None:
                ledger = ledger.add_rows(block, answers.values, answers.labels)
            if summed is not None:
                if not prepared:
                    summed.prepare(block)
                    prepared = True
                summed.labels = labels
                summed.add(block, answers.into(labels) if bins is None else answers.values)
            if kept is not None:
                kept.add(block, answers)
            sample.add(batch, hash_rows(block, answers.values, answers.labels))
        if statistics is None:
            raise TableError(
                f"no row of {self.source.name} has a target in {schema.target!r}: there is nothing to learn from"
            )
        if bins is None:
            check_labels(labels, schema, said)
        description.set_statistics(statistics)
        if summed is not None:
            summed.finish_update()
        table = sample.table()
        return ScanResult(
            self.source,
            schema,
            labels,
            bins,
            description,
            table,
            summed,
            rows - skipped,
            skipped,
            note=self.note,
            ledger=ledger,
            kept=kept,
        )
