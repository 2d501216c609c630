"""Data frames of any library: the rows they hold, and nothing else."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice
from suffice.tables import FetchWarning, ReadingWarning, TableError, open_table
from tests.tables.tables_data import KINDS, houses, kinds, near, rows_of

TABLE = houses(80, missing=0.1)
ARROW = pa.Table.from_pandas(TABLE, preserve_index=False)

FRAMES = {
    "pandas": TABLE,
    "pandas, nullable": TABLE.convert_dtypes(),
    "pandas, Arrow": TABLE.convert_dtypes(dtype_backend="pyarrow"),
    "pandas, categories": TABLE.astype({"street": "category", "sold": "category"}),
    "pandas, strange index": TABLE.set_index(pd.Index(np.arange(80)[::-1] * 7)),
    "polars": pl.from_pandas(TABLE),
    "polars, NaN": pl.from_pandas(TABLE).with_columns(pl.col("area").fill_null(float("nan"))),
    "polars, categories": pl.from_pandas(TABLE).with_columns(pl.col("street", "sold").cast(pl.Categorical)),
    "polars, lazy": pl.from_pandas(TABLE).lazy(),
    "Arrow": ARROW,
    "Arrow, dictionaries": ARROW.set_column(2, "street", ARROW["street"].dictionary_encode()),
    "Arrow, large strings": ARROW.cast(
        pa.schema([(f.name, pa.large_string() if pa.types.is_string(f.type) else f.type) for f in ARROW.schema])
    ),
    "Arrow, a batch": ARROW.combine_chunks().to_batches()[0],
    "a dictionary": ARROW.to_pydict(),
    "dictionaries": ARROW.to_pylist(),
}


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_gives_the_same_model(name: str) -> None:
    model = suffice.fit(FRAMES[name], "sold", "nb")
    expected = suffice.fit(ARROW, "sold", "nb")
    assert kinds(model) == kinds(expected) == {**KINDS, "price": "numeric"}
    near(model.predict_proba(FRAMES[name]), expected.predict_proba(ARROW))
    assert model.predict(FRAMES[name]).tolist() == expected.predict(ARROW).tolist()


def test_rows_of_a_filtered_frame_bring_no_index_along() -> None:
    some = TABLE[TABLE.price > TABLE.price.median()]
    model = suffice.fit(some, "sold", "nb")
    assert set(kinds(model)) == {*KINDS, "price"}
    assert len(model.predict(TABLE)) == len(TABLE)


def test_columns_that_are_called_by_numbers() -> None:
    table = TABLE.set_axis(range(TABLE.shape[1]), axis=1)
    model = suffice.fit(table, "5", "nb")
    assert kinds(model)["0"] == "numeric"
    assert suffice.fit(table, 5, "nb").schema_.target == "5"


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ({"a": [1, 2], "y": ["p"]}, "length|rows"),
        (pd.DataFrame([[1, 2, "p"], [3, 4, "q"]], columns=["a", "a", "y"]), "several columns called 'a'"),
        (pa.Table.from_arrays([pa.array([1, 2])] * 2, names=["a", "a"]), "several columns called 'a': rename them"),
        (pd.Series([1, 2], name="y"), "Series"),
    ],
)
def test_frames_that_are_no_tables_are_refused_in_a_sentence(table: Any, what: str) -> None:
    with pytest.raises((TableError, TypeError), match=what) as caught:
        suffice.fit(table, "y", "nb")
    assert type(caught.value) in (TableError, TypeError)


def test_cells_of_several_types_become_names() -> None:
    with pytest.warns(ReadingWarning, match="10 of 30 cells .* are no numbers .'x'.: read as names"):
        model = suffice.fit(pd.DataFrame({"a": [1, "x", None, 2.5] * 10, "y": ["p", "q"] * 20}), "y", "nb")
    assert model.description_.levels() == {"a": ("1", "2.5", "x")}


@pytest.mark.parametrize("table", [None, 3, np.zeros((3, 2)), []])
def test_what_is_no_table_is_told_what_is(table: Any) -> None:
    with pytest.raises(TypeError, match="a table is a file, a folder, a database or a data frame; got"):
        open_table(table)


def test_a_target_given_apart() -> None:
    rows = TABLE.drop(columns="sold")
    model = suffice.fit(rows, TABLE.sold, "nb")
    near(model.predict_proba(rows), suffice.fit(TABLE, "sold", "nb").predict_proba(rows))
    assert model.score(rows, TABLE.sold.to_numpy()) == np.mean(model.predict(rows) == TABLE.sold)
    with pytest.raises(ValueError, match="has 80 rows and the target 3"):
        suffice.fit(rows, ["y", "n", "y"])


def test_columns_that_hold_nothing_of_use_are_left_out() -> None:
    n = len(TABLE)
    table = ARROW
    for name, cells in {
        "lists": [[1, 2]] * n,
        "structs": [{"a": 1}] * n,
        "bytes": [b"x"] * n,
        "hours": pa.array([datetime.time(1, 2)] * n),
        "nothing": pa.nulls(n),
        "blank": [" "] * n,
        "nan": np.full(n, np.nan),
    }.items():
        table = table.append_column(name, [pa.array(cells) if isinstance(cells, list) else cells])
    model = suffice.fit(table, "sold", "nb")
    why = {field.name: field.why for field in model.schema_.ignored}
    assert set(why) == {"lists", "structs", "bytes", "hours", "nothing", "blank", "nan"}
    assert why["nothing"] == why["blank"] == why["nan"] == "all cells are missing"
    assert "list" in why["lists"]
    near(model.predict_proba(table), suffice.fit(ARROW, "sold", "nb").predict_proba(ARROW))


@pytest.mark.parametrize(
    "kind", [pa.float32(), pa.decimal128(20, 8), pa.float64(), pa.dictionary(pa.int16(), pa.float64())]
)
def test_numbers_of_every_type(kind: pa.DataType) -> None:
    cells = [Decimal(round(cell, 4)).quantize(Decimal("0.0001")) for cell in TABLE.price]
    whole = pa.array(cells)
    column = whole.cast(pa.float64()).dictionary_encode() if pa.types.is_dictionary(kind) else whole.cast(kind)
    table = ARROW.set_column(4, "price", column)
    model = suffice.fit(table, "sold", "nb")
    assert kinds(model)["price"] == "numeric"
    plain = column.dictionary_decode() if pa.types.is_dictionary(kind) else column
    floats = ARROW.set_column(4, "price", pa.array([float(cell) for cell in plain.to_pylist()]))
    near(model.predict_proba(table), suffice.fit(floats, "sold", "nb").predict_proba(floats))


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.dictionary(pa.int8(), pa.int64())]
)
def test_counts_of_every_type(kind: pa.DataType) -> None:
    whole = ARROW["rooms"].cast(pa.int64())
    column = whole.dictionary_encode() if pa.types.is_dictionary(kind) else whole.cast(kind)
    model = suffice.fit(ARROW.set_column(1, "rooms", column), "sold", "nb")
    assert kinds(model)["rooms"] == "count"
    near(model.predict_proba(ARROW), suffice.fit(ARROW, "sold", "nb").predict_proba(ARROW))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_moments_of_every_unit_and_zone(unit: str, zone: str | None) -> None:
    moments = pd.date_range("2024-01-01", periods=80, freq="11h", tz=zone).as_unit(unit)
    table = TABLE.assign(seen=moments.where(np.arange(80) % 9 > 0))
    model = suffice.fit(table, "sold", "nb")
    parts = [feature.part for feature in model.schema_.features if feature.column == "seen"]
    assert parts == ["time", "month", "weekday", "hour"]
    assert np.isfinite(model.predict_proba(table)).all()


def test_moments_with_more_digits_than_microseconds() -> None:
    table = TABLE.assign(seen=pd.to_datetime(np.arange(80) * 86_400 * 10**9 + 7, unit="ns"))
    assert kinds(suffice.fit(table, "sold", "nb"))["seen"] == "date"


def test_rows_in_many_chunks() -> None:
    chunked = pa.concat_tables([ARROW.slice(start, 7) for start in range(0, 80, 7)])
    near(
        suffice.fit(chunked, "sold", "nb").predict_proba(chunked),
        suffice.fit(ARROW, "sold", "nb").predict_proba(ARROW),
        1e-12,
    )


def test_a_frame_with_no_rows_is_refused() -> None:
    with pytest.raises(TableError, match="no rows"):
        suffice.fit(TABLE[:0], "sold")


def test_lazy_frames_are_read_by_name() -> None:
    lazy = pl.from_pandas(TABLE).lazy().with_columns(twice=pl.col("area") * 2)
    np.testing.assert_allclose(rows_of(lazy)["twice"].to_numpy(), TABLE.area * 2)


def test_a_cluster_frame_is_fetched_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    import dask
    import dask.dataframe as dd

    monkeypatch.setitem(dask.config.config, "scheduler", "synchronous")  # not on a cluster that other tests started
    table = pd.DataFrame({"size": np.random.default_rng(0).normal(size=100), "sold": ["yes", "no"] * 50})
    frame = dd.from_pandas(table, npartitions=4)
    with pytest.warns(FetchWarning, match="100 rows of 2 columns, 200 cells, are fetched from Dask"):
        model = suffice.fit(frame, "sold")
    with pytest.warns(FetchWarning, match="200 cells"):
        np.testing.assert_array_equal(model.predict(frame), model.predict(table))
    monkeypatch.setattr("suffice.tables.sources.frames.MAX_FETCHED_CELLS", 199)
    for ask in (lambda: suffice.fit(frame, "sold"), lambda: model.predict(frame), lambda: model.evaluate(frame)):
        with pytest.raises(
            TableError, match=r"100 rows of 2 columns, 200 cells.*at most 199 cells.*collect=True.*Parquet"
        ):
            ask()
    fitted = suffice.fit(frame, "sold", collect=True)
    np.testing.assert_array_equal(fitted.predict(open_table(frame, collect=True)), model.predict(table))


class Exporter:
    """What exports Arrow's stream, and is a data frame of no library."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return ARROW.__arrow_c_stream__(requested_schema)


def test_whatever_exports_a_stream_of_arrow_is_a_table() -> None:
    assert rows_of(Exporter()).equals(ARROW)


def test_a_lazy_frame_may_be_collected() -> None:
    model = suffice.fit(pl.from_pandas(TABLE).lazy(), "sold", "nb", collect=True)
    near(model.predict_proba(TABLE), suffice.fit(TABLE, "sold", "nb").predict_proba(TABLE))
