"""Lists of files, functions and streams in the place of a table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from suffice.tables import TableError, open_table
from suffice.tables.prefetch import PrefetchedSource

FRAME = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})


def test_a_list_of_one_file_is_that_file(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "one.csv", index=False)
    batches = open_table([str(tmp_path / "one.csv")]).batches()
    assert sum(batch.num_rows for batch in batches) == 3


def test_databases_are_no_parts_of_a_list(tmp_path: Path) -> None:
    import duckdb

    for name in ("a.duckdb", "b.duckdb"):
        duckdb.connect(str(tmp_path / name)).close()
    with pytest.raises(TableError, match=r"a\.duckdb is a database: name one, and its table, as .*a\.duckdb::name"):
        open_table([str(tmp_path / "a.duckdb"), str(tmp_path / "b.duckdb")])


def test_files_here_and_in_an_object_store_are_no_table(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    FRAME.to_parquet(tmp_path / "here.parquet")
    with pytest.raises(ValueError, match="is on this machine, and other files of the list are in an object store"):
        open_table(["memory://there.parquet", str(tmp_path / "here.parquet")])


def test_a_function_that_returns_a_data_frame_is_told_what_to_return() -> None:
    with pytest.raises(TypeError, match="must return an iterator over data frames; it returned a DataFrame"):
        open_table(lambda: FRAME)


def test_a_stream_without_data_frames_is_no_table() -> None:
    with pytest.raises(TableError, match="holds no rows: there is nothing to learn from"):
        open_table(iter([]))


def test_arrow_streams_are_queried(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(FRAME)
    with pa.ipc.new_stream(tmp_path / "rows.arrows", table.schema) as writer:
        writer.write_table(table)
    found = open_table(str(tmp_path / "rows.arrows"), query="select a + b as c from data where a > 1")
    assert [value for batch in found.batches() for value in batch.column("c").to_pylist()] == [3.5, 5.5]


def test_a_source_that_was_started_is_read_again_from_its_beginning(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    started = PrefetchedSource(open_table(str(tmp_path / "rows.csv")))
    for _ in range(2):
        assert [batch.column("b").to_pylist() for batch in started.batches(["b"])] == [[0.5, 1.5, 2.5]]
    assert list(started.columns_by_file()) == []
