"""Data frames as tables: pandas, Polars, Arrow, Dask, Spark, datasets of pyarrow, streams of frames."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from suffice.tables.errors import TableError
from suffice.tables.sources.base import BATCH, ArrowSource, Source, arrow
from suffice.tables.sources.duckdb import DuckSource
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.data.spill import Spill

#: Largest number of cells (0.8 GB of numbers) that is fetched from a cluster without ``collect=True``.
MAX_FETCHED_CELLS = 100_000_000


class FetchWarning(UserWarning):
    """Rows of a cluster were fetched to this machine."""


def open_frame(table: Any, query: str | None, collect: bool) -> Source:
    """Open a data frame, a dataset of pyarrow, or a stream of data frames."""
    pa = arrow()
    opened = _open_batches(table) if query is None else None
    if opened is not None:
        opened.categorical = _categorical_columns(table)
        return opened
    data = _arrow_dataset(table)
    if data is not None:
        return dataset_source("the dataset", data, query)
    try:
        frame = _arrow_table(_collect_frames(table), collect)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TableError(f"the table cannot be read ({str(error).splitlines()[0]})") from None
    _check_names(frame.schema.names)
    if query:
        return DuckSource("the data frame", "", query=query, frame=frame)
    source = ArrowSource("the data frame", lambda: frame.to_reader(BATCH), frame.num_rows)
    source.categorical = _categorical_columns(table)
    return source


def _categorical_columns(table: Any) -> frozenset[str]:
    """Return the columns of a categorical type of a data frame; a dictionary of an Arrow table is only an encoding."""
    if isinstance(table, arrow().Table):
        return frozenset()
    import narwhals as nw

    frame = nw.from_native(table, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return frozenset()
    types = frame.collect_schema().items()
    return frozenset(str(name) for name, dtype in types if dtype in (nw.Categorical, nw.Enum))


def _check_names(names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TableError(f"there are several columns called {repeated[0]!r}: rename them")


def _arrow_dataset(table: Any) -> Any:
    """Return a dataset of pyarrow; None for anything else."""
    module = sys.modules.get("pyarrow.dataset")  # if pyarrow is not imported, there is none
    return table if module is not None and isinstance(table, module.Dataset) else None


def _open_batches(table: Any) -> Source | None:
    """Open a stream of data frames; None for anything else."""
    if isinstance(table, Iterator):
        return _spill_frames(table)
    if callable(getattr(table, "collect_batches", None)):  # a lazy frame of Polars
        schema = table.head(0).collect().to_arrow().schema
        return BatchSource("the lazy frame", table.collect_batches, [schema])
    if callable(table) and not hasattr(table, "__arrow_c_stream__"):
        return BatchSource("the stream", table, *_survey(_start_stream(table)))
    return None


def _collect_frames(table: Any) -> Any:
    """Return a list of data frames as one table; anything else unchanged."""
    if not isinstance(table, Iterator) and (not callable(table) or hasattr(table, "__arrow_c_stream__")):
        return table
    source = _open_batches(table)
    assert source is not None
    return arrow().Table.from_batches(list(source.batches()), source.schema())


def _spill_frames(frames: Iterator[Any]) -> Source:
    """Store data frames that can be read only once: in memory if they are small, else in a temporary file."""
    from suffice.data.spill import Spill
    from suffice.data.stream import SpillWarning

    spill = Spill()
    try:
        schemas, rows = _survey(frames, spill)
        source = BatchSource("the stream", lambda: map(_unpacked, spill), schemas, rows)
    except BaseException:
        spill.close()
        raise
    weakref.finalize(source, spill.close)
    if spill.is_on_disk:
        warn_user(
            "the table is a stream that is read once, and its rows are needed several times: they were written to a "
            "temporary file, which is deleted with the table. Give a function that starts the stream to have it read "
            "again instead",
            SpillWarning,
        )
    return source


def _survey(frames: Iterator[Any], spill: Spill | None = None) -> tuple[list[Any], int]:
    """Return the schemas of data frames and their number of rows; with a spill, store them."""
    schemas: dict[Any, None] = {}
    rows = 0
    for batch in _record_batches(frames):
        schemas[batch.schema.remove_metadata()] = None
        rows += batch.num_rows
        if spill is not None:
            spill.add(_packed(batch))
    return list(schemas), rows


def _packed(batch: Any) -> Any:
    """Serialise a batch, without other rows of its buffers."""
    import numpy as np

    pa = arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _unpacked(data: Any) -> Any:
    return arrow().ipc.open_stream(data).read_all()


class BatchSource(Source):
    """A stream of data frames, which a function starts for each pass.

    Parameters
    ----------
    name
        Name of the table in messages.
    start
        Returns an iterator over data frames or Arrow batches, with the same rows at each call.
    schemas
        The distinct schemas of the data frames.
    rows
        Number of rows, if it is known.
    """

    def __init__(self, name: str, start: Callable[[], Any], schemas: Sequence[Any], rows: int | None = None) -> None:
        pa = arrow()
        self.name = name
        self._start = start
        self._rows = rows
        self._schemas = schemas
        if not schemas:
            raise TableError(f"{name} holds no rows: there is nothing to learn from")
        try:
            self._schema = pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TableError(f"the data frames of {name} differ ({error}): give each column one type") from None
        _check_names(self._schema.names)

    def schema(self) -> Any:
        """Return the names and types of the columns: those of all data frames."""
        return self._schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows in their order, of all columns or of some."""
        pa = arrow()
        empty = self._schema.empty_table()
        for batch in _record_batches(_start_stream(self._start)):
            if not batch.schema.equals(self._schema):
                table = pa.concat_tables([empty, pa.Table.from_batches([batch])], promote_options="permissive")
                batch = table.combine_chunks().to_batches()[0]
            yield batch if columns is None else batch.select(list(columns))

    def rows(self) -> int | None:
        """Return the number of rows, if it is known."""
        return self._rows

    def columns_by_file(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the columns of each of several files, or data frames."""
        return ((f"part {number} of {self.name}", each.names) for number, each in enumerate(self._schemas))


def _start_stream(start: Callable[[], Any]) -> Iterator[Any]:
    found = start()
    if not hasattr(found, "__iter__") or hasattr(found, "columns"):
        raise TypeError(
            f"a function in the place of a table must return an iterator over data frames; it returned a "
            f"{type(found).__name__}"
        )
    return iter(found)


def _record_batches(frames: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows of data frames as Arrow batches."""
    from suffice.data.stream import numbered

    for number, frame in enumerate(frames):
        with numbered(number):
            yield from (batch for batch in _arrow_table(frame, False).to_batches(BATCH) if batch.num_rows)


def _arrow_table(table: Any, collect: bool) -> Any:
    pa = arrow()
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, dict):
        return pa.table(table)
    if isinstance(table, list) and table and all(isinstance(row, dict) for row in table):
        return pa.Table.from_pylist(table)
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(table):
        return _pandas_to_arrow(table)
    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        if not collect:
            _check_fetch_size(frame, type(table))
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return frame.to_arrow()
    if hasattr(table, "__arrow_c_stream__") and not nw.dependencies.is_into_series(table):
        return pa.table(table)
    raise TypeError(f"a table is a file, a folder, a database or a data frame; got {type(table).__name__}")


def _check_fetch_size(frame: Any, kind: type) -> None:
    """Warn how much of a cluster's data frame is fetched; raise if it is too much."""
    library = {"dask": "Dask", "pyspark": "Spark", "sqlframe": "Spark"}.get(kind.__module__.partition(".")[0])
    if library is None:
        return
    import narwhals as nw

    columns = len(frame.collect_schema().names())
    rows = int(frame.select(nw.len()).collect().item())
    size = f"{rows:,} rows of {columns} columns, {rows * columns:,} cells"
    if rows * columns > MAX_FETCHED_CELLS:
        raise TableError(
            f"the data frame of {library} holds {size}; of a cluster, at most {MAX_FETCHED_CELLS:,} cells are fetched. "
            "Give collect=True (suffice.fit, open_table) if there is enough memory; write it to Parquet and give the "
            "folder, which is read in batches; or fit a model on the cluster, such as "
            "suffice.MixedNB().fit(frame, 'target')"
        )
    warn_user(
        f"{size}, are fetched from {library} to this machine; collect=True (suffice.fit, open_table) does so without "
        "this warning, and models such as suffice.MixedNB are fitted where the rows are",
        FetchWarning,
    )


def _pandas_to_arrow(frame: Any) -> Any:
    """Return a pandas frame without its index as Arrow; columns of mixed types become strings."""
    pa = arrow()
    repeated = [str(name) for name in frame.columns[frame.columns.duplicated()]]
    if repeated:
        raise TableError(f"there are several columns called {repeated[0]!r}: rename them")
    columns = {}
    for name in frame.columns:
        try:
            columns[str(name)] = pa.Array.from_pandas(frame[name])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            cells = [None if gap else str(cell) for cell, gap in zip(frame[name], frame[name].isna(), strict=True)]
            columns[str(name)] = pa.array(cells, type=pa.string())
    return pa.table(columns)


def dataset_source(
    name: str, data: Any, query: str | None, columns: Sequence[tuple[str, Sequence[str]]] = ()
) -> Source:
    """Return a dataset of pyarrow as a source; rows are counted if files store their number."""
    if query:
        return DuckSource(name, "", query=query, frame=data)
    counted = getattr(getattr(data, "format", None), "default_extname", "") in ("parquet", "feather", "ipc", "arrow")
    rows = data.count_rows() if counted else None
    return ArrowSource(name, lambda: data.scanner(batch_size=BATCH).to_reader(), rows, columns)
