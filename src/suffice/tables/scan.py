"""Scan of a table in one pass: sums, a random sample, and cached rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from suffice.model_types import ModelType
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.arrow_arrays import from_numbers
from suffice.tables.cells import cell_type, combine_chunks
from suffice.tables.compact_rows import CompactRows
from suffice.tables.date_format import DateNotation, find_date_notation
from suffice.tables.encoding import (
    Bins,
    Block,
    KindError,
    Targets,
    check_roles,
    encode_names,
    encode_rows,
    encode_times,
)
from suffice.tables.errors import CellError, TableError, kind_cure
from suffice.tables.ledger import Ledger
from suffice.tables.number_format import Notation, NumberFormat, count_cells, find_notation, tell_wrong
from suffice.tables.predictors import Predictor, make_predictor
from suffice.tables.predictors.naive_bayes import Description
from suffice.tables.prefetch import prefetch
from suffice.tables.row_sample import RowSample, hash_rows, order_by_content
from suffice.tables.schema import (
    FEW_CLASSES,
    HEAD_ROWS,
    NO_ROLES,
    Roles,
    Schema,
    constant_target,
    date_parts,
    infer_schema,
)
from suffice.tables.sources.base import BATCH, HERE, NumberOptions, Source, Watch, arrow
from suffice.tables.totals import drop_total, find_total, without_total

if TYPE_CHECKING:
    import pyarrow as pa

    from suffice.tables.pushdown.sums import DatabaseSums

#: Largest number of rows that models are compared on.
COMPARISON_ROWS = 30_000
#: Largest number of distinct strings in a column of numbers.
_SURVEYED = 10_000
#: Files whose columns are compared, and columns that some of them lack that are named, at most.
_COMPARED_FILES, _NAMED = 300, 8


class ComparisonRows(NamedTuple):
    """Rows that models are compared on."""

    sample: Block
    values: npt.NDArray[Any]  # class codes, or numbers
    groups: npt.NDArray[np.int64] | None = None  # of rows that are held out together
    times: FloatArray | None = None  # of rows that are held out in their order


@dataclass
class ScanResult:
    """Result of one pass over a table."""

    source: Source
    schema: Schema
    labels: Labels  # the classes; empty if the target is a number
    bins: Bins | None  # of the numbers
    description: Description
    sample: pa.Table  # random sample of rows: all of them if they are few
    summed: Predictor | None  # the model of all rows, if the user named it and it has sums
    rows: int
    skipped: int  # rows without a target
    sums: DatabaseSums | None = None  # computes further sums in the database
    where: str = HERE  # where sums were computed
    note: str = ""  # why they were not computed in the database
    ledger: Ledger | None = None  # of the learned rows, if there is one
    kept: CompactRows | None = None  # all rows, if they are read again

    @property
    def is_sample_complete(self) -> bool:
        """Whether the sample has all rows."""
        return bool(self.sample.num_rows == self.rows)

    @property
    def has_cached_rows(self) -> bool:
        """Whether all rows are cached."""
        return self.kept is not None and self.kept.is_complete

    def close(self) -> None:
        """Delete the cached rows."""
        if self.kept is not None:
            self.kept.close()

    def sampled_rows(self) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield the sampled rows, with class codes or numbers."""
        return self._encode_batches(self.sample.to_batches(BATCH))

    def all_rows(self, packed: bool = False) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield all rows: from the sample or the cache if that has all of them, else from the source.

        With ``packed``, numbers may be :class:`~suffice.tables.encoding.PackedNumbers`.
        """
        if self.is_sample_complete:
            return self.sampled_rows()
        if self.has_cached_rows:
            assert self.kept is not None
            return self.kept.read(self.labels, packed=True) if packed else prefetch(self.kept.read(self.labels))
        return self._encode_batches(prefetch(self.source.batches(self.schema.fitted_columns)))

    def drawn_again(self, most: int, seed: int) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield at most this many rows, drawn from all rows, with class codes or numbers."""
        if self.rows <= most:
            return self.all_rows()
        if self.sample.num_rows == most:
            return self.sampled_rows()
        sample = RowSample(most, seed, lambda rows, places: (rows[0][places], rows[1][places]))
        for block, values in self.all_rows():
            sample.add((block, values), hash_rows(block, values, self.labels))
        return iter(sample.parts())

    def comparison_sample(self, seed: int) -> ComparisonRows:
        """Return the rows that models are compared on, with their class codes or numbers.

        They and their order depend on the contents of the sampled rows and on the seed alone. So folds, temperatures
        and penalties are the same for every kind of source, if the sample has all rows.
        """
        order = order_by_content(self.sampled_rows(), self.labels, seed)
        (batch,) = self.sample.take(from_numbers(order[:COMPARISON_ROWS])).combine_chunks().to_batches()
        ((block, values),) = self._encode_batches([batch])
        roles, groups, times = self.schema.roles, None, None
        if roles.group is not None:
            codes = encode_names(batch.column(roles.group), self.schema.missing).codes
            groups = np.unique(codes, return_inverse=True)[1].astype(np.int64)
            if groups.max() == 0:
                raise TableError(
                    f"the group {roles.group!r} has one value only: no group can be held out; name another column, or "
                    "leave out the group"
                )
        if roles.time is not None:
            times = encode_times(batch.column(roles.time), roles.time, self.schema)
        return ComparisonRows(block, values, groups, times)

    def _encode_batches(self, batches: Any) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield rows with class codes or numbers."""
        first = 0
        for batch in batches:
            block, targets = encode_rows(batch, self.schema, first)
            yield block, targets.into(self.labels) if self.schema.task == "classes" else targets.values
            first += batch.num_rows


def read_head(source: Source) -> tuple[list[Any], Generator[Any, None, None], bool]:
    """Return the first batches, an iterator over all batches, and whether there are no others."""
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
    """Yield the first batches, then the rest; closing this iterator closes the rest."""
    try:
        yield from held
        yield from stream
    finally:
        if isinstance(stream, Generator):
            stream.close()


class Scan(Protocol):
    """A scan of a table: by reading it, or in its database."""

    source: Source
    table_notes: tuple[str, ...]  # which rows are left out, for the user

    def head(self) -> tuple[pa.Table, bool]:
        """Return the first rows, and whether these are all."""

    def run(
        self, schema: Schema, head: pa.Table, most: int, model_type: ModelType | None, given: str | None
    ) -> ScanResult:
        """Compute the sums of all rows, and draw at most ``most``; ``given`` is the task or kind that the user set."""


def scan_table(
    table_scan: Scan,
    target: str,
    kinds: Any = None,
    task: str | None = None,
    most: Callable[[Schema], int] = lambda _: COMPARISON_ROWS,
    model_type: Callable[[Schema], ModelType | None] = lambda _: None,
    roles: Roles = NO_ROLES,
    is_part: bool = False,
) -> ScanResult:
    """Scan a table; scan it again if kinds that were inferred from the first rows do not fit all rows.

    Parameters
    ----------
    table_scan
        The scan of the table.
    target
        The column to predict.
    kinds, task
        Kinds of columns and the task that the user has set.
    most
        Maximum size of the sample.
    model_type
        Model whose sums are computed in the same pass; None for no model.
    roles
        Columns that say how rows are held out and counted.
    is_part
        Whether the target may have one value only, since rows of other tables may be added.
    """
    head, whole = _read_head(table_scan)
    if not head.num_rows:
        raise TableError(f"{table_scan.source.name} has no rows: there is nothing to learn from")
    roles.check(head.schema.names, target)
    unread = {name: role for name, role in roles.columns.items() if name not in (kinds or {})}
    kinds = {**(kinds or {}), **dict.fromkeys(unread, "ignore")}
    schema = _infer_schema(table_scan.source, head, target, kinds, task, whole, is_part)
    dotted = (
        _numbers_with_point(schema, head)
        if replace(table_scan.source.numbers, day_first=None) == NumberOptions(is_text=True)
        else []
    )
    if dotted:
        table_scan.source.read_as_written(dotted)
        head, whole = table_scan.head()
        schema = _infer_schema(table_scan.source, head, target, kinds, task, whole, is_part)
    for name, role in unread.items():
        schema = schema.with_kind(name, "ignore", f"the {role} of the rows")
    notes = (*table_scan.source.notes, *table_scan.table_notes, *_compare_files(table_scan.source, target))
    schema = replace(schema, roles=roles, table_notes=notes)
    given = task or kinds.get(target)
    settled = set(kinds)  # columns whose kind is not inferred again
    surveyed: set[str] = set()  # columns whose notation is not inferred again
    timed: set[str] = set()  # columns of dates whose parts are not inferred again
    while True:
        try:
            found = table_scan.run(schema, head, most(schema), model_type(schema), given)
        except CellError as error:  # a later cell is no number: look at all of them, and scan again
            if error.column in surveyed:
                raise
            surveyed.add(error.column)
            schema = schema.with_notation(error.column, _survey_cells(table_scan.source, schema, error))
            continue
        except KindError as error:  # the kind does not fit later rows: scan again
            if error.column in kinds:
                raise  # the user has set the kind
            if schema.field(error.column).dates is not None and error.column not in surveyed:
                surveyed.add(error.column)  # a later cell is no date in the order of the first rows
                schema = schema.with_dates(error.column, _survey_dates(table_scan.source, schema, error.column))
                if schema.field(error.column).dates is not None:
                    continue
            why = f"some cells are no {schema.field(error.column).kind}"
            schema = schema.with_kind(error.column, error.cure, why)
            settled.add(error.column)
            continue
        others = {} if whole else _revise_kinds(found, settled)
        if others:  # the sample suggests other kinds: scan again
            found.close()
            for name, kind in others.items():
                schema = schema.with_kind(name, kind, f"the first {head.num_rows:,} rows alone suggest another kind")
            settled |= set(others)
            continue
        parts = {} if whole else _revise_parts(found, timed)
        if parts:  # the hour of dates matters, or does not: scan again
            found.close()
            for name, each in parts.items():
                schema = schema.with_parts(name, each)
            timed |= set(parts)
            continue
        if len(found.labels) == 1 and not is_part:
            found.close()
            raise constant_target(target, found.labels.names[0])
        alike = {} if whole else found.description.constants()
        alike = {name: cells for name, cells in alike.items() if name in schema.columns and name not in kinds}
        if not alike or len(alike) == len(schema.predictors):
            return found
        found.close()
        for name, cells in alike.items():  # neither the first rows nor the others determine the kind
            shown = [f"{cell:g}" if isinstance(cell, float) else repr(cell) for cell in cells]
            why = f"always {shown[0]}" if shown else "all cells are missing"
            schema = schema.with_kind(name, "ignore", why, cells)


def _compare_files(source: Source, target: str) -> list[str]:
    """Return a note about columns that not all files of a table have; raise if some of them lack the target."""
    files = [
        (file, {name.casefold(): name for name in names})
        for file, names in islice(source.columns_by_file(), _COMPARED_FILES)
    ]
    shown = {key: name for _, names in reversed(files) for key, name in names.items()}
    have = Counter(key for _, names in files for key in names)
    key = target.casefold()
    lacking = [file for file, names in files if key not in names]
    if lacking and have[key]:
        raise TableError(
            f"{lacking[0]} has no column {target!r}, which is to be predicted, and {have[key]} of {len(files)} files "
            "have it: name these, or correct the file"
        )
    some = [f"{shown[key]!r} ({count} of {len(files)} files)" for key, count in have.items() if count < len(files)]
    if not some:
        return []
    more = f" and {len(some) - _NAMED} more" if len(some) > _NAMED else ""
    return [f"columns are missing in the rows of files that lack them: {', '.join(some[:_NAMED])}{more}"]


def _read_head(table_scan: Scan) -> tuple[pa.Table, bool]:
    """Return the first rows, and whether these are all; columns of numbers with other cells are read as strings."""
    seen: set[str] = set()
    while True:
        try:
            return table_scan.head()
        except CellError as error:
            if error.column in seen:
                raise
            seen.add(error.column)
            table_scan.source.read_as_written([error.column])


def _infer_schema(
    source: Source, head: pa.Table, target: str, kinds: Any, task: str | None, whole: bool, is_part: bool
) -> Schema:
    found = (source.missing, source.categorical, source.numbers)
    return infer_schema(head, target, kinds, task, whole, *found, is_part=is_part)


def _numbers_with_point(schema: Schema, head: pa.Table) -> list[str]:
    """Return columns of text that are read as numbers with a decimal point, beside others with a decimal comma.

    The point may separate thousands.
    """
    if not any(field.format is not None and field.format.decimal == "," for field in schema.fields):
        return []
    return [
        field.name
        for field in schema.fields
        if field.format is None and field.type == "number" and cell_type(head[field.name].type) == "number"
    ]


def _survey_cells(source: Source, schema: Schema, error: CellError) -> Notation:
    """Return the notation that reads all cells of a column, some of which are no numbers in the present one."""
    name = error.column
    source.read_as_written([name])
    present = schema.field(name).format or NumberFormat()
    counts: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    known = 0
    for batch in prefetch(source.batches([name])):
        column = combine_chunks(batch.column(0))
        if cell_type(column.type) != "name":
            raise error  # the types of the source are fixed
        cells, is_wrong = present.parse(column, schema.missing)
        counts = counts or count_cells(column, schema.missing)
        wrong += count_cells(column.filter(is_wrong), schema.missing)
        known += len(cells) - cells.null_count
        if len(wrong) > _SURVEYED:
            raise error
    failed = sum(wrong.values())
    common, _ = counts.most_common(1)[0]
    counts = counts | wrong
    counts[common] += max(known + failed - sum(counts.values()), 0)  # good cells of later batches
    found = find_notation(name, counts, source.numbers, is_wanted=True)
    assert found.format is not None
    is_read = re.compile(found.format.pattern).match
    if any(cell not in found.format.missing and not is_read(cell) for cell in wrong):
        told = tell_wrong([cell for cell, _ in wrong.most_common()], failed, known + failed)
        raise TableError(
            f"column {name!r} must hold numbers: {told}: correct them, give --missing TEXT (missing= in Python) for "
            f"those that stand for a missing cell, or {kind_cure(name, 'category')}"
        )
    return found


def _survey_dates(source: Source, schema: Schema, name: str) -> DateNotation:
    """Return the notation that reads all cells of a column of dates, some of which are none in the present one."""
    counts: Counter[str] = Counter()
    for batch in prefetch(source.batches([name])):
        counts += count_cells(batch.column(0), schema.missing)
    return find_date_notation(name, counts, source.numbers.day_first)


def _revise_kinds(found: ScanResult, settled: set[str]) -> dict[str, str]:
    """Return the numeric columns whose kind, inferred from the sample, differs from that of the first rows.

    So the kind of a column does not depend on the order of the rows.
    """
    formats = {field.name: field.format for field in found.schema.fields if field.format is not None}
    formats = {name: each for name, each in formats.items() if name in found.sample.schema.names}
    drawn = infer_schema(
        found.sample, found.schema.target, None, found.schema.task, False, found.schema.missing, formats=formats
    )
    kinds = {field.name: field.kind for field in drawn.fields}
    return {
        field.name: kinds[field.name]
        for field in found.schema.predictors
        if field.kind in ("numeric", "count")
        and kinds[field.name] in ("numeric", "count")
        and field.kind != kinds[field.name]
        and field.name not in settled
    }


def _revise_parts(found: ScanResult, settled: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of dates whose sampled cells have times, and those of the first rows none; or the reverse."""
    features = found.schema.features
    dates = {feature.column: place for place, feature in enumerate(features) if feature.part == "time"}
    dates = {name: place for name, place in dates.items() if name not in settled}
    if not dates:
        return {}
    blocks = [block for block, _ in found.sampled_rows()]
    has_times = {name: any((block.columns[place] % 1 > 0).any() for block in blocks) for name, place in dates.items()}
    parts = {name: date_parts(has_times=each) for name, each in has_times.items()}
    return {name: each for name, each in parts.items() if each != found.schema.field(name).parts}


def check_labels(labels: Labels, schema: Schema, given: str | None) -> None:
    """Raise if a target has too many classes."""
    if len(labels) > 4 * FEW_CLASSES and given is None and schema.field(schema.target).type == "whole":
        raise TableError(
            f"the target {schema.target!r} takes {len(labels)} values: say whether they are classes, numbers or "
            "counts, with --task (task= in Python)"
        )


class StreamScan:
    """Scan of a table by reading it, batch by batch.

    Parameters
    ----------
    source
        The table.
    seed
        Seed of the sample.
    watch
        Progress callback.
    note
        Why sums are not computed in the database, for the user; empty without a reason.
    ledger
        An empty ledger, or None.
    keeps_rows
        Whether all rows are cached, for further passes.
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
        self._stream: Generator[Any, None, None] | None = None
        self.table_notes: tuple[str, ...] = ()

    def head(self) -> tuple[pa.Table, bool]:
        """Return the first rows, and whether these are all."""
        if self._stream is not None:
            self._stream.close()
        held, self._stream, whole = read_head(self.source)
        total = find_total(held) if whole and sum(map(len, held)) <= COMPARISON_ROWS else None
        if total is not None:
            column, word = total
            self.table_notes = (f"the last row, with {word!r} in column {column!r}, has totals, and is left out",)
            held = drop_total(held)
            self._stream = _after(held, iter(()))
        return arrow().Table.from_batches(held, self.source.schema() if not held else None)[:HEAD_ROWS], whole

    def run(
        self, schema: Schema, head: pa.Table, most: int, model_type: ModelType | None, given: str | None
    ) -> ScanResult:
        """Compute the sums while rows are read, and draw a sample."""
        with ExitStack() as stack:
            kept = stack.enter_context(CompactRows(schema.features)) if self._keeps_rows else None
            found = self._run(schema, head, most, model_type, given, kept)
            stack.pop_all()
        return found

    def _run(
        self,
        schema: Schema,
        head: pa.Table,
        most: int,
        model_type: ModelType | None,
        given: str | None,
        kept: CompactRows | None,
    ) -> ScanResult:
        again = without_total(self.source.batches()) if self.table_notes else self.source.batches()
        stream, self._stream = self._stream or again, None
        sample = RowSample(most, self._seed)
        columns = schema.fitted_columns
        bins = None
        if schema.task != "classes":
            bins = Bins.of(Targets.of(combine_chunks(head.column(schema.target)), schema).values)
        description = Description.over(schema.features)
        expected = self.source.rows()
        summed = None if model_type is None else make_predictor(model_type, schema.task, Labels())
        statistics: Any = None
        ledger = self.ledger
        rows = skipped = 0
        prepared = False
        labels = Labels()
        for batch in prefetch(stream):
            batch = batch.select(columns)
            check_roles(batch, schema, rows)
            block, targets = encode_rows(batch, schema, rows)
            if not targets.known.all():
                batch = batch.filter(from_numbers(targets.known))
            skipped += len(targets.known) - batch.num_rows
            rows += len(targets.known)
            if self._watch is not None:
                self._watch("reading", rows, expected)
            if not batch.num_rows:
                continue
            labels = labels.union(targets.labels)[0]
            if bins is None:
                more = description.sum_block(block, targets.values, targets.labels)
            else:
                more = description.sum_block(block, bins.codes(targets.values), bins.labels)
            statistics = more if statistics is None else statistics + more
            if ledger is not None:
                ledger = ledger.add_rows(block, targets.values, targets.labels)
            if summed is not None:
                if not prepared:
                    summed.prepare(block)
                    prepared = True
                summed.labels = labels
                summed.add(block, targets.into(labels) if bins is None else targets.values)
            if kept is not None:
                kept.add(block, targets)
            sample.add(batch, hash_rows(block, targets.values, targets.labels))
        if statistics is None:
            raise TableError(
                f"no row of {self.source.name} has a target in {schema.target!r}: there is nothing to learn from"
            )
        if bins is None:
            check_labels(labels, schema, given)
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
