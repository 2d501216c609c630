"""Batches as they are written: the types of the first batch hold, and JSON takes whatever a cell is."""

from __future__ import annotations

import datetime
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from suffice.tables import TableError
from suffice.tables.table_writer import Writer, replace_file, restore_integers


def written(form: str, *cells: list[Any]) -> bytes:
    """Return what batches of one column are written as."""
    stream = io.BytesIO()
    writer = Writer(stream, form)
    for each in cells:
        writer.write(pa.record_batch({"a": pa.array(each)}))
    writer.close()
    return stream.getvalue()


def test_an_error_of_another_file_is_not_said_of_the_one_that_is_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="another"), replace_file(tmp_path / "new"):
        (tmp_path / "another").read_bytes()
    assert list(tmp_path.iterdir()) == []


def test_later_batches_have_the_types_of_the_first() -> None:
    assert written("csv", [1.5, 2.5], [3, 4]) == b'"a"\n1.5\n2.5\n3\n4\n'


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_a_batch_of_another_type_is_refused_with_the_column_and_a_cure(form: str) -> None:
    with pytest.raises(
        TableError, match=r"column 'a' held double in the first rows .* later: write \.jsonl, or convert"
    ):
        written(form, [1.5], ["x"])


def test_json_takes_batches_of_any_type_and_dates() -> None:
    found = written("json", [1.5], ["x"], [datetime.date(2024, 1, 2)])
    assert found == b'{"a": 1.5}\n{"a": "x"}\n{"a": "2024-01-02"}\n'


def test_whole_numbers_stay_fractions_where_one_of_them_has_one() -> None:
    for cells, kind in (([1.0, 2.0, None], pa.int64()), ([1.0, 2.5, None], pa.float64())):
        batch = restore_integers(pa.record_batch({"a": pa.array(cells)}), frozenset({"a"}))
        assert batch.schema.field("a").type == kind
        assert batch.column(0).to_pylist() == cells
