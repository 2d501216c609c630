"""Going through a table once: what is summed, what is drawn, what is kept."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.tables.ahead import ahead
from suffice.tables.blocks import Block, KindError
from suffice.tables.cells import flat
from suffice.tables.describing import Description
from suffice.tables.drawing import Sample
from suffice.tables.errors import TableError
from suffice.tables.forms import Form
from suffice.tables.kinds import FEW_CLASSES, LOOKED_AT, infer
from suffice.tables.predictors import Predictor
from suffice.tables.schema import Schema
from suffice.tables.source import BATCH, Source, Watch, arrow
from suffice.tables.targets import Answers, Bins

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows that models are compared by, at most.
COMPARED = 30_000


@dataclass
class Read:
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

    @property
    def holds_all(self) -> bool:
        """Whether all rows were drawn."""
        return bool(self.sample.num_rows == self.rows)

    def drawn(self) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield the rows that were drawn, with codes of the classes, or numbers."""
        return self.learnt(self.sample.to_batches(BATCH))

    def again(self) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield all rows once more, read again where they were too many to hold."""
        if self.holds_all:
            return self.drawn()
        return self.learnt(ahead(self.source.batches([*self.schema.columns, self.schema.target])))

    def compared(self, seed: int) -> tuple[Block, npt.NDArray[Any]]:
        """Return some of the rows that were drawn, with their codes or numbers."""
        rows = self.sample
        if rows.num_rows > COMPARED:
            some = np.random.default_rng(seed).choice(rows.num_rows, COMPARED, replace=False)
            rows = rows.take(arrow().array(np.sort(some)))
        (batch,) = rows.combine_chunks().to_batches()
        (found,) = self.learnt([batch])
        return found

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
    return Block.of(batch, schema, first), answers


def head_of(source: Source) -> tuple[list[Any], Generator[Any, None, None], bool]:
    """Return the first batches, all batches, and whether the first are all."""
    stream = source.batches()
    held: list[Any] = []
    rows = 0
    for batch in stream:
        held.append(batch)
        rows += batch.num_rows
        if rows >= LOOKED_AT:
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


def read(
    source: Source,
    target: str,
    kinds: Any = None,
    task: str | None = None,
    most: Callable[[Schema], int] = lambda _: COMPARED,
    form: Callable[[Schema], Form | None] = lambda _: None,
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
    most
        How many rows to draw.
    form
        Which model to sum on the way, if any.
    seed
        Of the rows that are drawn.
    watch
        Told how far it is.
    """
    stream: Iterator[Any]
    held, stream, whole = head_of(source)
    if not held or not sum(batch.num_rows for batch in held):
        raise TableError(f"{source.name} has no rows: there is nothing to learn from")
    head = arrow().Table.from_batches(held)[:LOOKED_AT]
    schema = infer(head, target, kinds, task, whole, source.missing)
    said = task or (kinds or {}).get(target)
    while True:
        try:
            found = _read(
                source, stream, schema, head, Sample(most(schema), seed, source.rows()), form(schema), said, watch
            )
        except KindError as error:  # the first rows misled: once more, as all rows are
            if error.column in (kinds or {}):
                raise  # the user asked for it
            why = f"some cells are no {schema.field(error.column).kind}"
            schema = schema.with_kind(error.column, error.cure, why)
            stream = source.batches()
            continue
        alike = {} if whole else found.description.constants()
        alike = {name: value for name, value in alike.items() if name in schema.columns and name not in (kinds or {})}
        if not alike or len(alike) == len(schema.predictors):
            return found
        for name, value in alike.items():  # the first rows did not tell, and the others do not either
            schema = schema.with_kind(name, "ignore", f"always {value}")
        stream = source.batches()


def _read(
    source: Source,
    stream: Iterator[Any],
    schema: Schema,
    head: Any,
    sample: Sample,
    form: Form | None,
    said: str | None,
    watch: Watch | None,
) -> Read:
    columns = [*schema.columns, schema.target]
    bins = None if schema.task == "classes" else Bins.of(Answers.of(flat(head.column(schema.target)), schema).values)
    description = Description.over(schema.features)
    expected = source.rows()
    summed = None if form is None else Predictor.of(form, schema.task, Labels())
    statistics: Any = None
    rows = skipped = 0
    prepared = False
    labels = Labels()
    for batch in ahead(stream):
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
        if summed is not None:
            if not prepared:
                summed.prepare(block)
                prepared = True
            summed.labels = labels
            summed.add(block, answers.into(labels) if bins is None else answers.values)
        sample.add(batch)
    if statistics is None:
        raise TableError(f"no row of {source.name} has a target in {schema.target!r}: there is nothing to learn from")
    if len(labels) > 4 * FEW_CLASSES and said is None and schema.field(schema.target).type == "whole":
        raise TableError(
            f"the target {schema.target!r} takes {len(labels)} values: say whether they are classes, numbers or "
            "counts, with --task (task= in Python)"
        )
    if bins is None and len(labels) == 1:
        raise TableError(f"the target {schema.target!r} is always {labels.names[0]!r}: there is nothing to tell apart")
    description.remember(statistics)
    if summed is not None:
        summed.settle()
    return Read(source, schema, labels, bins, description, sample.table(), summed, rows - skipped, skipped)
