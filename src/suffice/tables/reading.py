"""Going through a table once: what is summed, what is drawn, what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.tables.blocks import Block, KindError
from suffice.tables.describing import Description
from suffice.tables.errors import TableError
from suffice.tables.kept import Kept, Sample
from suffice.tables.kinds import LOOKED_AT, infer
from suffice.tables.schema import Schema
from suffice.tables.sources import Source, arrow
from suffice.tables.targets import Answers, Bins

if TYPE_CHECKING:
    import pyarrow as pa

Watch = Callable[[str, int, int | None], None]


@dataclass
class Read:
    """What one pass over a table leaves behind."""

    schema: Schema
    labels: Labels  # the classes; empty where the target is a number
    bins: Bins | None  # of the numbers
    description: Description
    sample: pa.Table
    kept: Kept
    rows: int
    skipped: int  # rows without a target

    def learnt(self, batches: Any) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield rows with codes of the classes, or numbers."""
        first = 0
        for batch in batches:
            block, answers = rows_of(batch, self.schema, first)
            yield block, answers.into(self.labels) if self.schema.task == "classes" else answers.values
            first += batch.num_rows


def rows_of(batch: Any, schema: Schema, first: int = 0) -> tuple[Block, Answers]:
    """Return the rows of a batch that have a target, and these targets."""
    answers = Answers.of(batch.column(schema.target), schema, first)
    if not answers.known.all():
        batch = batch.filter(arrow().array(answers.known))
        answers = Answers(answers.known, answers.labels, answers.values)
    return Block.of(batch, schema, first), answers


def head_of(source: Source) -> tuple[list[Any], Iterator[Any], bool]:
    """Return the first batches, all batches, and whether the first are all."""
    stream = source.batches()
    held: list[Any] = []
    rows = 0
    for batch in stream:
        held.append(batch)
        rows += batch.num_rows
        if rows >= LOOKED_AT:
            return held, chain(held, stream), False
    return held, iter(held), True


def read(
    source: Source,
    target: str,
    kinds: Any = None,
    task: str | None = None,
    keep: Callable[[Schema], bool] = lambda _: True,
    seed: int = 0,
    watch: Watch | None = None,
) -> Read:
    """Go through a table once, or once more where the first rows misled about a column.

    Parameters
    ----------
    source
        The table.
    target
        The column to predict.
    kinds, task
        What the user says of columns and target.
    keep
        Whether rows will be looked at again.
    seed
        Of the rows that are drawn.
    watch
        Told how far it is.
    """
    held, stream, whole = head_of(source)
    if not held or not sum(batch.num_rows for batch in held):
        raise TableError(f"{source.name} has no rows: there is nothing to learn from")
    head = arrow().Table.from_batches(held)[:LOOKED_AT]
    schema = infer(head, target, kinds, task, whole)
    while True:
        try:
            return _read(source, stream, schema, head, keep(schema), seed, watch)
        except KindError as error:  # the first rows misled: once more, as all rows are
            schema = schema.with_kind(error.column, error.cure, "some cells are no " + schema.field(error.column).kind)
            stream = source.batches()


def _read(
    source: Source, stream: Iterator[Any], schema: Schema, head: Any, keep: bool, seed: int, watch: Watch | None
) -> Read:
    columns = [*schema.columns, schema.target]
    bins = None if schema.task == "classes" else Bins.of(Answers.of(_column(head, schema.target), schema).values)
    description = Description.over(schema.features)
    kept, sample = Kept(), Sample(seed=seed)
    expected = source.rows()
    statistics: Any = None
    rows = skipped = 0
    labels = Labels()
    for batch in stream:
        batch = batch.select(columns)
        block, answers = rows_of(batch, schema, rows)
        if not answers.known.all():
            batch = batch.filter(arrow().array(answers.known))
        skipped += len(answers.known) - batch.num_rows
        rows += len(answers.known)
        if watch is not None:
            watch("reading", rows, expected)
        if not batch.num_rows:
            continue
        labels = labels.union(answers.labels)[0]
        if bins is None:
            more = description.summed(block, answers.values, answers.labels)
        else:
            more = description.summed(block, bins.codes(answers.values), bins.labels)
        statistics = more if statistics is None else statistics + more
        sample.add(batch)
        if keep:
            kept.add(batch)
    if statistics is None:
        raise TableError(f"no row of {source.name} has a target in {schema.target!r}: there is nothing to learn from")
    if bins is None and len(labels) == 1:
        raise TableError(f"the target {schema.target!r} is always {labels.names[0]!r}: there is nothing to tell apart")
    description.remember(statistics)
    return Read(schema, labels, bins, description, sample.table(), kept, rows - skipped, skipped)


def _column(table: Any, name: str) -> Any:
    column = table.column(name).combine_chunks()
    return column.chunk(0) if hasattr(column, "chunks") else column


def sampled(found: Read) -> tuple[Block, npt.NDArray[Any]]:
    """Return the rows that were drawn, and their codes or numbers."""
    (batch,) = found.sample.combine_chunks().to_batches()
    (rows,) = found.learnt([batch])
    return rows


def names_array(labels: Labels) -> npt.NDArray[Any]:
    """Return the classes as an array."""
    return np.array(labels.names)
