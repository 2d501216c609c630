"""Rows of Spark data frames: parts stay with the executors, whose Python workers read them as Arrow batches."""

from __future__ import annotations

import gc
import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, spark_partition_id
from pyspark.sql.functions import max as largest
from pyspark.sql.types import ArrayType, StructField, StructType

from suffice.data.dataset import Dataset, Piece, columns_of_answer
from suffice.data.dataset import stand_in as made_up
from suffice.data.spark_blocks import Block, LostBlockError
from suffice.data.spark_columns import (
    Placed,
    answer_type,
    as_answer,
    check_features,
    pieces,
    read,
    runs,
    stand_in,
)
from suffice.data.workers import (
    ClusterError,
    Failure,
    absent,
    added,
    check_version,
    guarded,
    lacks_us,
    own_version,
    raised,
)

R = TypeVar("R")

#: Number of sums that one task of the tree adds; at most twice as many reach the driver at once.
FAN = 8
#: A thing that a worker made: the partition it is of, its place among those of the partition, and itself.
MADE = "part int, place int, thing binary"


@dataclass(frozen=True)
class SparkDataset(Dataset):
    """Parts that Spark makes: a data frame, and what is done to each part of it."""

    frame: DataFrame  #: whose columns are called c0, c1 and so on: Spark reads meaning into dots and the like
    names: tuple[str, ...] = ()  #: their original names
    columns: dict[str, list[str]] = field(default_factory=dict)  #: by argument name
    steps: tuple[Callable[[Any], Any], ...] = ()
    made: bool = False  #: whether the frame holds things that workers made, rather than rows
    parts: int | None = None  #: how many partitions there are at most, where that is known
    origin: SparkDataset | None = None  #: what kept things were made from

    def map_parts(self, function: Callable[[Any], Any]) -> SparkDataset:
        """Return the results of a function of each part."""
        return replace(self, steps=(*self.steps, function))

    def select(self, *names: str) -> SparkDataset:
        """Return the same rows with less beside them: other columns are not read."""
        columns = {name: found for name, found in self.columns.items() if name in names}
        wanted = set(itertools.chain.from_iterable(columns.values()))
        places = [place for place, name in enumerate(self.names) if name in wanted]
        frame = self.frame.select(*(f"c{place}" for place in places)).toDF(*(f"c{i}" for i in range(len(places))))
        return replace(self, frame=frame, names=tuple(self.names[place] for place in places), columns=columns)

    def persist(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> tuple[SparkDataset, Any]:
        """Return the parts, made once and held by the executors, on their disks; and a function of each, added up."""
        kept = SparkDataset(self._run(_stored).persist(StorageLevel.MEMORY_AND_DISK), made=True, origin=self)
        try:
            total = kept.map_parts(function).reduce(add)
            with _on_executors():
                last = kept.frame.agg(largest("part")).collect()[0][0]
        except Exception:
            kept.release()
            raise
        return replace(kept, parts=0 if last is None else last + 1), total

    def release(self) -> None:
        """Release the parts."""
        with suppress(Exception):  # a stopped cluster has nothing to release
            self.frame.mapInArrow(partial(_worked, own_version(), _blocks, (), _removed), MADE).collect()
        self.frame.unpersist()

    def reduce(self, add: Callable[[R, R], R]) -> R | None:
        """Return all parts added up along a tree, in an order that does not change."""
        sums = self._run(partial(_added_up, add))
        # To ask Spark how many there are may run all that comes before: where that is not known, some more are assumed.
        left, width = FAN * FAN if self.parts is None else self.parts, 1
        while left > 2 * FAN:
            left, width = -(-left // FAN), width * FAN
            many = () if self.parts is None and _adapts(sums) else (left,)
            groups = sums.repartition(*many, (col("part") / width).cast("int")).sortWithinPartitions("part", "place")
            sums = SparkDataset(groups, made=True)._run(partial(_added_up, add))
        try:
            total: R | None = raised(added(add, _collected(sums)))
        except LostBlockError:
            return self._anew().reduce(add)
        return total

    def iterate(self) -> Iterator[Any]:
        """Yield the parts in order."""
        try:
            return iter([raised(thing) for thing in _collected(self._run(_emitted))])
        except LostBlockError:
            return self._anew().iterate()

    def fold(self, function: Callable[[R, Any], R], state: R) -> R:
        """Return the state after all parts, one after another: one task reads them all."""
        if self.origin is not None:  # what was kept lies with many executors
            return self._anew().fold(function, state)
        found = _collected(self._run(partial(_folded, function, state), alone=True))
        last: R = raised(found[0]) if found else state
        return last

    def _anew(self) -> SparkDataset:
        """Return the same made from where kept things came from: a file may be on another machine than its task."""
        assert self.origin is not None
        return replace(self.origin, steps=(*self.origin.steps, *self.steps))

    def example(self) -> Any:
        """Return a made-up row of the kind that X holds."""
        kinds = dict(zip(self.names, self.frame.schema.fields, strict=True))
        example = stand_in({name: kinds[name].dataType for name in self.columns["X"]})
        if example is not None:
            return example
        some = replace(self, frame=self.frame.limit(1))  # the length of arrays is known from rows only
        first = next(some.map_parts(_one_row).iterate(), None)
        if first is None:
            raise ValueError("X has no rows")
        return first

    def map_rows(
        self, function: Callable[[Any], Any], names: Sequence[str], features: Sequence[str] | None = None
    ) -> Any:
        """Return the data frame with the result columns added."""
        for name in names:
            if name in self.names:
                raise ValueError(f"X has a column {name!r} already, which the result would have: rename it")
        rows, kinds = self, dict(zip(self.names, self.frame.schema.fields, strict=True))
        arrays = [name for name in self.columns["X"] if isinstance(kinds[name].dataType, ArrayType)]
        if features is not None and (len(arrays) != 1 or set(features) <= set(self.names)):
            _check_there(list(features), list(self.names))
            rows = replace(self, columns={**self.columns, "X": list(features)})
        check_features({name: kinds[name].dataType for name in rows.columns["X"]})
        beside = [key for key in rows.columns if key != "X"]
        examples = columns_of_answer(function(made_up(rows.example(), beside)))
        answers = [StructField(f"answer{place}", answer_type(each)) for place, each in enumerate(examples)]
        schema = StructType([*self.frame.schema.fields, *answers])
        numbered = self.frame.select("*", spark_partition_id().alias("part"))
        found = numbered.mapInArrow(partial(_answered, own_version(), function, self.names, rows.columns), schema)
        return found.toDF(*self.names, *names)

    def _run(self, task: Callable[..., Iterator[Placed]], alone: bool = False) -> DataFrame:
        """Return what a task makes of all parts of each partition, or of all partitions alone: a frame of things."""
        source = _things if self.made else partial(pieces, self.names, self.columns)
        frame = self.frame if self.made else self.frame.select("*", spark_partition_id().alias("part"))
        frame = frame.coalesce(1) if alone else frame
        return frame.mapInArrow(partial(_worked, own_version(), source, self.steps, task), MADE)


def spark_dataset(X: Any, **beside: Any) -> SparkDataset:
    """Return the rows of a data frame; what comes beside X (``y``, ``sample_weight`` and so on) are names of columns.

    The other columns are the features. A column of arrays stands for several features.
    """
    if type(X).__module__.startswith("pyspark.pandas"):
        raise TypeError("X is of pandas on Spark: give X.to_spark(), with y as the name of a column of it")
    columns: dict[str, list[str]] = {}
    for key, value in beside.items():
        if value is None:
            continue
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"{key} must be the name of a column of X, a Spark data frame; got a {type(value).__name__}: rows of "
                "Spark have no order in which something else could be put beside them"
            )
        _check_there(names, X.columns)
        columns[key] = names
    taken = set(itertools.chain.from_iterable(columns.values()))
    columns["X"] = [name for name in X.columns if name not in taken]
    if not columns["X"]:
        raise ValueError(f"X has no columns besides {sorted(taken)}: there are no features")
    arrays = [name for name in columns["X"] if isinstance(X.schema[name].dataType, ArrayType)]
    if "y" not in beside and len(arrays) == 1:
        columns["X"] = arrays  # for predictions, key columns may stay beside the features
    if len(set(X.columns)) < len(X.columns):
        twice = next(name for name in X.columns if X.columns.count(name) > 1)
        raise ValueError(f"X has two columns called {twice!r}: rename one")
    if "y" in beside:
        check_features({name: X.schema[name].dataType for name in columns["X"]})
    return SparkDataset(X.toDF(*(f"c{place}" for place in range(len(X.columns)))), tuple(X.columns), columns)


def _adapts(frame: DataFrame) -> bool:
    """Whether Spark chooses the number of tasks by the size of the data."""
    return bool(frame.sparkSession.conf.get("spark.sql.adaptive.enabled", "true") == "true")


def _collected(made: DataFrame) -> list[Any]:
    """Return things that workers made, fetched, in order."""
    with _on_executors():
        found = sorted(made.collect(), key=lambda row: (row.part, row.place))
    return [pickle.loads(row.thing) for row in found]


def _check_there(names: list[str], columns: list[str]) -> None:
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}; its columns are {columns}")


# What workers do.


def _worked(
    version: str,
    source: Callable[[Iterable[pa.RecordBatch]], Iterator[Placed]],
    steps: tuple[Callable[[Any], Any], ...],
    task: Callable[[Iterator[Placed]], Iterator[Placed]],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the results of a task for the parts of one partition, pickled; called on workers."""
    try:
        check_version("Spark cluster", own_version(), version)
        things = ((part, place, _stepped(steps, part, thing)) for part, place, thing in source(batches))
        made = task(placed for placed in things if placed[2] is not None)
    except ClusterError as error:
        for _ in batches:  # a Python worker that leaves rows unread cannot be used again
            pass
        made = iter([(0, 0, Failure(error.with_traceback(None)))])
    for part, place, thing in made:
        columns = [pa.array([part], pa.int32()), pa.array([place], pa.int32())]
        columns.append(pa.array([pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)], pa.binary()))
        yield pa.RecordBatch.from_arrays(columns, ["part", "place", "thing"])
    _spare_collections()


def _spare_collections() -> None:
    """Freeze imported objects for the garbage collector, once for each Python worker.

    Spark collects garbage after every task of a worker. Scanning all imported objects took a quarter of a second, many
    times the duration of a pass over a few rows.
    """
    if not gc.get_freeze_count():
        gc.freeze()


def _stepped(steps: tuple[Callable[[Any], Any], ...], part: int, thing: Any) -> Any:
    for step in steps:
        thing = guarded(step, part, thing)
    return thing


def _things(batches: Iterable[pa.RecordBatch]) -> Iterator[Placed]:
    """Yield what workers made before."""
    for part, place, thing in _blocks(batches):
        try:
            yield part, place, thing.read() if isinstance(thing, Block) else thing
        except LostBlockError as error:
            yield part, place, Failure(error)


def _blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[Placed]:
    """Yield what workers made before; the names of the files of what they kept."""
    for batch in batches:
        for part, place, thing in zip(*batch.columns, strict=True):
            yield part.as_py(), place.as_py(), pickle.loads(thing.as_buffer())


def _stored(things: Iterator[Placed]) -> Iterator[Placed]:
    for part, place, thing in things:
        yield part, place, thing if isinstance(thing, Failure) else Block.of(thing)


def _removed(blocks: Iterator[Placed]) -> Iterator[Placed]:
    for _, _, block in blocks:
        if isinstance(block, Block):
            block.remove()
    return iter(())


def _emitted(things: Iterator[Placed]) -> Iterator[Placed]:
    return things


def _added_up(add: Callable[[Any, Any], Any], things: Iterator[Placed]) -> Iterator[Placed]:
    first = next(things, None)
    if first is not None:
        part, place, total = first
        for _, _, thing in things:
            total = added(add, [total, thing])
        yield part, place, total


def _folded(function: Callable[[Any, Any], Any], state: Any, things: Iterator[Placed]) -> Iterator[Placed]:
    for part, _, thing in things:
        if not isinstance(state, Failure):
            state = thing if isinstance(thing, Failure) else guarded(partial(function, state), part, thing)
    yield 0, 0, state


def _one_row(piece: Piece) -> Any:
    return piece["X"][:1]


def _answered(
    version: str,
    function: Callable[[Any], Any],
    names: tuple[str, ...],
    columns: dict[str, list[str]],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield batches with the result columns added."""
    check_version("Spark cluster", own_version(), version)
    for part, batch in runs(batches):
        rows = batch.drop_columns("part")
        piece = read(pa.Table.from_batches([rows]).rename_columns(names), columns)
        for place, answer in enumerate(columns_of_answer(raised(guarded(function, part, piece)))):
            rows = rows.append_column(f"answer{place}", as_answer(answer))
        yield rows
    _spare_collections()


@contextmanager
def _on_executors() -> Iterator[None]:
    """Translate a failure of the cluster into a ClusterError."""
    try:
        yield
    except Exception as error:
        if lacks_us(error):
            raise absent(
                "Spark cluster", "point PYSPARK_PYTHON at a Python that has it, or send it along with spark.archives"
            ) from error
        raise
