"""Table sources: any table as a stream of Arrow batches."""

from __future__ import annotations

import os
from typing import Any

from suffice.tables.sources.base import Source
from suffice.tables.sources.csv import Dialect
from suffice.tables.sources.files import FileOptions, open_list, open_location
from suffice.tables.sources.frames import FetchWarning, open_frame

__all__ = ["Dialect", "FetchWarning", "Source", "open_table"]


def open_table(
    table: Any,
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
        A file (delimited text, Parquet, Arrow, JSON lines; text may be compressed), a folder, a glob or a list of such
        files, where folders called ``column=value`` are columns (Hive partitions); a URL of them (``s3://``, ``gs://``,
        ``file://``); "-" for standard input; "file.duckdb::name" or "file.sqlite::name" for a table of a database,
        "postgresql://...::name" too; a data frame of any library, a lazy frame of Polars, a dataset of pyarrow; or a
        source. An iterator over data frames or batches of Arrow is kept, in a temporary file where it is large; a
        function that returns such an iterator is called for each pass. Rows of Dask's and Spark's data frames are
        fetched, with a :class:`FetchWarning` that says how many.
    query
        A SELECT over the table, which is called ``data`` in it; over a database, a SELECT over its tables.
    dialect
        How delimited text is written, where that must be said.
    strings
        Columns of delimited text to be read as they are written.
    collect
        Whether a cluster's data frame may be fetched whatever its size, and without a warning; otherwise, more than
        100 million cells are refused.

    Examples
    --------
    >>> import pandas as pd
    >>> source = open_table(pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    >>> [batch.num_rows for batch in source.batches()], source.schema().names
    ([2], ['a', 'b'])
    """
    if isinstance(table, Source):
        return table
    how = FileOptions(query, dialect or Dialect(), list(strings))
    if isinstance(table, str | os.PathLike):
        return open_location(os.fspath(table), how)
    if isinstance(table, list | tuple) and table and all(isinstance(each, str | os.PathLike) for each in table):
        return open_list([os.fspath(each) for each in table], how)
    return open_frame(table, query, collect)
