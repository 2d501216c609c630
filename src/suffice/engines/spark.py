"""Rows of Spark data frames: parts stay with the executors, whose Python workers are handed them as Arrow batches."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import StorageLevel, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import StructField, StructType

from suffice.engines.spark_columns import answer_type, as_answer, check_features, read, stand_in
from suffice.engines.spread import Failure, Piece, Spread, absent, added, guarded, lacks_us, raised
from suffice.engines.spread import stand_in as made_up

R = TypeVar("R")

#: Rows are taken together until they hold this many cells: small batches cost more than they hold.
CELLS = 1 << 20
#: How many sums one task of the tree adds. Fewer come to the driver at once.
FAN = 16
#: A thing that a worker made, with its place in the order.
MADE = "part int, place int, thing binary"


@dataclass(frozen=True)
class SparkRows(Spread):
    """Parts that Spark makes: a data frame, and what is done to each part of it."""

    frame: DataFrame  #: whose columns are called c0, c1 and so on: Spark reads meaning into dots and the like
    names: tuple[str, ...] = ()  #: what they are really called
    columns: dict[str, list[str]] = field(default_factory=dict)  #: by the argument they stand for
    steps: tuple[Callable[[Any], Any], ...] = ()
    made: bool = False  #: whether the frame holds things that workers made, rather than rows

    def each(self, function: Callable[[Any], Any]) -> SparkRows:
        """Return what a function makes of each part."""
        return replace(self, steps=(*self.steps, function))

    def only(self, *names: str) -> SparkRows:
        """Return the same rows with less beside them: other columns are not read."""
        columns = {name: found for name, found in self.columns.items() if name in names}
        wanted = set(itertools.chain.from_iterable(columns.values()))
        places = [place for place, name in enumerate(self.names) if name in wanted]
        frame = self.frame.select(*(f"c{place}" for place in places)).toDF(*(f"c{i}" for i in range(len(places))))
        return replace(self, frame=frame, names=tuple(self.names[place] for place in places), columns=columns)

    def kept(self) -> SparkRows:
        """Return the parts, made once and held by the executors, on disk where memory is short."""
        made = self._run(_emitted).persist(StorageLevel.MEMORY_AND_DISK)
        return SparkRows(made, made=True)

    def released(self) -> None:
        """Let go of what is held."""
        self.frame.unpersist()

    def total(self, add: Callable[[R, R], R]) -> R | None:
        """Return all parts added up along a tree."""
        sums = self._run(partial(_added_up, add))
        with _on_executors():
            parts = sums.rdd.getNumPartitions() if hasattr(sums, "rdd") else FAN
            while parts > 2 * FAN:
                parts = -(-parts // FAN)
                sums = sums.repartition(parts, (col("part") / FAN).cast("int"))
                sums = SparkRows(sums, made=True)._run(partial(_added_up, add))
            found = sorted(sums.collect())
        total: R | None = raised(added(add, [pickle.loads(row.thing) for row in found]))
        return total

    def results(self) -> Iterator[Any]:
        """Yield the parts in order."""
        with _on_executors():
            found = sorted(self._run(_emitted).collect())
        return iter([raised(pickle.loads(row.thing)) for row in found])

    def fold(self, function: Callable[[R, Any], R], state: R) -> R:
        """Return the state after all parts, one after another: one task reads them all."""
        alone = replace(self, frame=self.frame.coalesce(1))
        with _on_executors():
            found = alone._run(partial(_folded, function, state)).collect()
        last: R = raised(pickle.loads(found[0].thing)) if found else state
        return last

    def example(self) -> Any:
        """Return a made-up row of the kind that X holds."""
        kinds = dict(zip(self.names, self.frame.schema.fields, strict=True))
        example = stand_in({name: kinds[name].dataType for name in self.columns["X"]})
        if example is not None:
            return example
        first = next(self.each(_one_row).results(), None)  # how long arrays are is known to the rows alone
        if first is None:
            raise ValueError("X has no rows")
        return first

    def answers(self, function: Callable[[Any], Any], name: str, features: Sequence[str] | None = None) -> Any:
        """Return the data frame with a column of answers more."""
        if name in self.names:
            raise ValueError(f"X has a column {name!r} already, where the answers would go: rename it")
        rows = self
        if features is not None and set(features) <= set(self.names):
            rows = replace(self, columns={**self.columns, "X": list(features)})
        beside = [key for key in rows.columns if key != "X"]
        kind = answer_type(function(made_up(rows.example(), beside)))
        schema = StructType([*self.frame.schema.fields, StructField("answer", kind)])
        found = self.frame.mapInArrow(partial(_answered, function, self.names, rows.columns), schema)
        return found.toDF(*self.names, name)

    def _run(self, task: Callable[..., Iterator[tuple[int, Any]]]) -> DataFrame:
        """Return what a task makes of all parts of each partition: a frame of things."""
        source = _things if self.made else partial(_pieces, self.names, self.columns)
        return self.frame.mapInArrow(partial(_worked, source, self.steps, task), MADE)


def spark_rows(X: Any, **beside: Any) -> SparkRows:
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
        missing = [name for name in names if name not in X.columns]
        if missing:
            raise ValueError(f"X has no column {missing[0]!r}; its columns are {X.columns}")
        columns[key] = names
    taken = set(itertools.chain.from_iterable(columns.values()))
    columns["X"] = [name for name in X.columns if name not in taken]
    if not columns["X"]:
        raise ValueError(f"X has no columns besides {sorted(taken)}: there are no features")
    if len(set(X.columns)) < len(X.columns):
        twice = next(name for name in X.columns if X.columns.count(name) > 1)
        raise ValueError(f"X has two columns called {twice!r}: rename one")
    check_features(X.schema, columns["X"])
    return SparkRows(X.toDF(*(f"c{place}" for place in range(len(X.columns)))), tuple(X.columns), columns)


# What workers do.


def _worked(
    source: Callable[[Iterable[pa.RecordBatch]], Iterator[Any]],
    steps: tuple[Callable[[Any], Any], ...],
    task: Callable[[Iterator[Any]], Iterator[tuple[int, Any]]],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield what a task makes of the parts of one partition, pickled; the worker's side of :meth:`SparkRows._run`."""
    context = TaskContext.get()
    number = context.partitionId() if context is not None else 0
    things = (_stepped(steps, number, _placed(thing, number, order)) for order, thing in enumerate(source(batches)))
    for place, thing in task(thing for thing in things if thing is not None):
        columns = [pa.array([number], pa.int32()), pa.array([place], pa.int32())]
        columns.append(pa.array([pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)], pa.binary()))
        yield pa.RecordBatch.from_arrays(columns, ["part", "place", "thing"])


def _placed(thing: Any, number: int, order: int) -> Any:
    """Return a piece with its place in the order of all, and a failure with its partition."""
    if isinstance(thing, dict) and "place" not in thing:
        return {**thing, "place": (number, order)}
    if isinstance(thing, Failure) and not hasattr(thing.error, "__notes__"):
        thing.error.add_note(f"in partition {number}, counted from 0")
    return thing


def _stepped(steps: tuple[Callable[[Any], Any], ...], number: int, thing: Any) -> Any:
    for step in steps:
        thing = guarded(step, number, thing)
    return thing


def _pieces(
    names: tuple[str, ...], columns: dict[str, list[str]], batches: Iterable[pa.RecordBatch]
) -> Iterator[Piece | Failure]:
    """Yield the rows of a partition, some batches of Arrow at a time."""
    held: list[pa.RecordBatch] = []
    cells = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            cells += batch.num_rows * max(batch.num_columns, 1)
        if cells >= CELLS:
            yield read(pa.Table.from_batches(held).rename_columns(names), columns)
            held, cells = [], 0
    if held:
        yield read(pa.Table.from_batches(held).rename_columns(names), columns)


def _things(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """Yield what workers made before."""
    for batch in batches:
        for thing in batch.column("thing"):
            yield pickle.loads(thing.as_buffer())


def _emitted(things: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    return enumerate(things)


def _added_up(add: Callable[[Any, Any], Any], things: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    total = None
    for thing in things:
        total = added(add, [total, thing])
    if total is not None:
        yield 0, total


def _folded(function: Callable[[Any, Any], Any], state: Any, things: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    for thing in things:
        if isinstance(state, Failure):
            break
        state = thing if isinstance(thing, Failure) else guarded(partial(function, state), 0, thing)
    yield 0, state


def _one_row(piece: Piece) -> Any:
    return piece["X"][:1]


def _answered(
    function: Callable[[Any], Any],
    names: tuple[str, ...],
    columns: dict[str, list[str]],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield batches with a column of answers more."""
    context = TaskContext.get()
    number = context.partitionId() if context is not None else 0
    for batch in batches:
        if batch.num_rows:
            piece = read(pa.Table.from_batches([batch]).rename_columns(names), columns)
            answer = raised(guarded(function, number, piece))
            yield batch.append_column("answer", as_answer(answer))


@contextmanager
def _on_executors() -> Iterator[None]:
    """Say what a failure of the cluster itself means."""
    try:
        yield
    except Exception as error:
        if lacks_us(error):
            raise absent(
                "Spark cluster", "point PYSPARK_PYTHON at a Python that has it, or send it along with spark.archives"
            ) from error
        raise
