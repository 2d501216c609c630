"""Functions of Spark's workers and driver on rows, files and errors, without a cluster."""

from __future__ import annotations

import decimal
import errno
import gc
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.requirements import require

require("spark")

import pyarrow as pa  # noqa: E402
from pyspark.ml.linalg import VectorUDT  # noqa: E402
from pyspark.sql import types as kinds  # noqa: E402

from suffice.data import spark, spark_blocks, spark_columns  # noqa: E402
from suffice.data.spark_blocks import Block, LostBlockError  # noqa: E402
from suffice.data.workers import ClusterError, Failure, own_version  # noqa: E402


def made(*things: Any) -> list[pa.RecordBatch]:
    """Return things as workers hand them on."""
    columns = [pa.array(range(len(things)), pa.int32()), pa.array([0] * len(things), pa.int32())]
    columns.append(pa.array([pickle.dumps(thing) for thing in things], pa.binary()))
    return [pa.RecordBatch.from_arrays(columns, ["part", "place", "thing"])]


def unpacked(batches: Iterator[pa.RecordBatch]) -> list[Any]:
    return [pickle.loads(thing.as_buffer()) for batch in batches for thing in batch.column("thing")]


# Files.


def test_a_block_that_the_disk_has_no_room_for_says_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(thing: Any) -> Iterator[bytes]:
        yield b"some"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},elsewhere")
    monkeypatch.setattr(spark_blocks, "pack", full)
    with pytest.raises(OSError, match="No space left on device; rows are kept there between passes"):
        Block.of(1)
    assert not list(tmp_path.iterdir())


def test_a_block_that_is_lost_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    monkeypatch.delenv("LOCAL_DIRS", raising=False)
    block = Block.of({"numbers": np.arange(3)})
    np.testing.assert_array_equal(block.read()["numbers"], [0, 1, 2])
    block.remove()
    block.remove()
    with pytest.raises(LostBlockError, match="is not here"):
        block.read()
    ((_, _, found),) = spark._things(made(block))  # noqa: SLF001
    assert isinstance(found.error, LostBlockError)


# Columns.


def test_a_partition_is_cut_into_pieces_that_are_worth_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_columns, "CELLS", 8)
    batches = [
        pa.RecordBatch.from_pydict({"c0": np.arange(float(rows)), "part": pa.array([part] * rows, pa.int32())})
        for part, rows in ((0, 3), (0, 0), (0, 2), (0, 4), (1, 1))
    ]
    found = list(spark_columns.pieces(("a",), {"X": ["a"]}, batches))
    assert [(part, place, len(piece["X"])) for part, place, piece in found] == [(0, 0, 5), (0, 1, 4), (1, 0, 1)]


def test_decimals_and_gaps_are_read_as_pandas_holds_them() -> None:
    table = pa.table({"price": [decimal.Decimal("1.5"), None], "new": [True, None]})
    frame = spark_columns.read(table, {"X": ["price", "new"]})["X"]
    np.testing.assert_array_equal(frame["price"], [1.5, np.nan])
    assert frame["new"].dtype == pd.BooleanDtype()
    nulls = spark_columns.read(pa.table({"x": [[1.0], None]}), {"X": ["x"]})
    assert "column 'x' holds null where an array of numbers should be" in str(nulls.error)


def test_columns_that_no_model_reads_are_named() -> None:
    arrays = kinds.ArrayType(kinds.DoubleType())
    with pytest.raises(TypeError, match="column 'x' holds arrays, and there are others: give one column of arrays"):
        spark_columns.check_features({"x": arrays, "z": kinds.DoubleType()})
    with pytest.raises(TypeError, match="column 'x' holds vectors of MLlib: turn them into arrays"):
        spark_columns.check_features({"x": VectorUDT()})


def test_answers_have_types_of_spark() -> None:
    assert spark_columns.answer_type(np.array([True])) == kinds.BooleanType()
    assert spark_columns.answer_type(np.ones((1, 2))) == kinds.ArrayType(kinds.DoubleType())


# Tasks.


def test_another_version_on_a_worker_is_a_failure_that_reads_all_rows() -> None:
    batches = iter(made(1, 2))
    (failure,) = unpacked(spark._worked("0.0.1", spark._things, (), spark._emitted, batches))  # noqa: SLF001
    assert isinstance(failure.error, ClusterError)
    assert not list(batches)


def test_a_fold_stops_at_the_first_failure() -> None:
    def run(*things: Any) -> Any:
        task = spark.partial(spark._folded, lambda state, thing: [*state, 1 / thing], [])  # noqa: SLF001
        return unpacked(spark._worked(own_version(), spark._things, (), task, iter(made(*things))))[0]  # noqa: SLF001

    assert run(1, 2) == [1.0, 0.5]
    assert isinstance(run(1, 0, 2).error, ZeroDivisionError)
    assert run(1, Failure(ValueError("before")), 2).error.args == ("before",)


def test_files_are_removed_and_failures_have_none() -> None:
    block = Block.of(1)
    assert not list(spark._removed(iter([(0, 0, Failure(ValueError("no"))), (0, 1, block)])))  # noqa: SLF001
    assert not Path(block.path).exists()


def test_what_was_imported_is_out_of_the_collectors_sight() -> None:
    gc.unfreeze()
    spark._spare_collections()  # noqa: SLF001
    assert gc.get_freeze_count() > 0


# The driver.


def test_executors_without_us_are_told_of() -> None:
    with (
        pytest.raises(ClusterError, match="the workers of this Spark cluster have no module 'suffice': install"),
        spark._on_executors(),  # noqa: SLF001
    ):
        raise RuntimeError("ModuleNotFoundError: No module named 'suffice'")
    with pytest.raises(RuntimeError, match="another"), spark._on_executors():  # noqa: SLF001
        raise RuntimeError("another")


def test_pandas_on_spark_is_turned_into_a_frame_first() -> None:
    there = type("DataFrame", (), {"__module__": "pyspark.pandas.frame"})()
    with pytest.raises(TypeError, match=r"X is of pandas on Spark: give X\.to_spark\(\), with y as"):
        spark.spark_dataset(there, y="y")
