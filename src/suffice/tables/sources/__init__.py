"""Table sources: any table as a stream of Arrow batches."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from suffice.tables.sources.base import Source
from suffice.tables.sources.csv import Dialect
from suffice.tables.sources.files import FileOptions, open_list, open_location
from suffice.tables.sources.frames import FetchWarning, open_frame

if TYPE_CHECKING:
    from suffice.typing import TableLike

__all__ = ["Dialect", "FetchWarning", "Source", "open_table"]


def open_table(
    table: TableLike,
    *,
    query: str | None = None,
    dialect: Dialect | None = None,
    strings: Any = (),
    collect: bool = False,
) -> Source:
    """Return a table that can be streamed.

    Parameters
    ----------
    table
        A file (delimited text, Parquet, Arrow, JSON lines, workbooks; text may be compressed); a folder, a glob or a
        list of such files, where folders named ``column=value`` are columns (Hive partitions); a URL of them
        (``s3://``, ``gs://``, ``file://``); "-" for standard input; a table of a database: "file.duckdb::name",
        "file.sqlite::name" or "postgresql://...::name"; a sheet of a workbook: "file.xlsx::name"; a data frame of any
        library, a lazy frame of Polars, a dataset of pyarrow; or a source. An iterator over data frames or Arrow
        batches is stored, in a temporary file if it is large; a function that returns such an iterator is called for
        each pass. Rows of data frames of Dask and Spark are fetched, with a :class:`FetchWarning` that says how many.
    query
        A SELECT over the table, which is named ``data``; for a database, a SELECT over its tables.
    dialect
        The format of delimited text, and of numbers in strings of any table; detected by default.
    strings
        Columns of delimited text that are read as strings.
    collect
        Whether a data frame of Dask or Spark of any size is fetched without a warning; otherwise, more than 100 million
        cells are refused.

    Examples
    --------
    >>> import pandas as pd
    >>> source = open_table(pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    >>> [batch.num_rows for batch in source.batches()], source.schema().names
    ([2], ['a', 'b'])
    """
    if isinstance(table, Source):
        return table
    format_ = dialect or Dialect()
    source = _open(table, FileOptions(query, format_, list(strings)), collect)
    source.missing = source.missing or format_.missing
    source.numbers = replace(
        source.numbers, decimal=format_.decimal, thousands=format_.thousands, day_first=format_.day_first
    )
    return source


def _open(table: TableLike, how: FileOptions, collect: bool) -> Source:
    if isinstance(table, str | os.PathLike):
        return open_location(os.fspath(table), how)
    if isinstance(table, list | tuple) and table and all(isinstance(each, str | os.PathLike) for each in table):
        return open_list([os.fspath(each) for each in table], how)
    return open_frame(table, how.query, collect)
