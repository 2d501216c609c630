"""One formula over every source: the same coefficients wherever the rows are, in memory and in batches."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice import formula
from tests.formula.tables import births

TERMS = "poly(age, 3) + C(race, Treatment('white')) * smoke + bs(lwt, 4) + C(hospital) + scale(log(days)):age"
FITS: dict[str, dict[str, Any]] = {
    f"bwt ~ {TERMS}": {},
    f"low ~ {TERMS}": {},
    "visits ~ cr(lwt, 3, constraints='center') + race + offset(log(days))": {"family": "poisson"},
    "race ~ age + smoke": {},
    "bwt ~ center(age) * race - 1": {"weights": "days"},
}


def _csv(table: pd.DataFrame, folder: Path) -> Any:
    table.to_csv(folder / "births.csv", index=False)
    return folder / "births.csv"


def _parts(table: pd.DataFrame, folder: Path) -> Any:
    paths = [folder / f"part{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        table[number * 100 : (number + 1) * 100].to_parquet(path)
    return paths


def _sqlite(table: pd.DataFrame, folder: Path) -> Any:
    with sqlite3.connect(folder / "births.sqlite") as database:
        table.to_sql("births", database, index=False)
    return f"{folder / 'births.sqlite'}::births"


def _duckdb(table: pd.DataFrame, folder: Path) -> Any:
    path = folder / "births.duckdb"
    with duckdb.connect(str(path)) as database:
        database.register("frame", table)
        database.execute("create table births as select * from frame")
    return f"{path}::births"


def _functions(table: pd.DataFrame, folder: Path) -> Any:
    return lambda: (table[start : start + 37] for start in range(0, len(table), 37))


SOURCES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "polars": lambda table, folder: pl.from_pandas(table),
    "polars lazy": lambda table, folder: pl.from_pandas(table).lazy(),
    "arrow": lambda table, folder: pa.Table.from_pandas(table, preserve_index=False),
    "arrow with dictionaries": lambda table, folder: pa.Table.from_pandas(
        table.assign(race=table["race"].astype("category")), preserve_index=False
    ),
    "csv": _csv,
    "parquet files": _parts,
    "duckdb": _duckdb,
    "function": _functions,
    "iterator": lambda table, folder: iter(_functions(table, folder)()),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("text", FITS)
def test_coefficients_do_not_depend_on_the_source(source: str, text: str, tmp_path: Path) -> None:
    table = births()
    settings = FITS[text]
    expected = formula.fit(text, table, **settings)
    found = formula.fit(text, SOURCES[source](table, tmp_path), **settings)
    assert found.coefficients.keys() == expected.coefficients.keys()
    for name, value in expected.coefficients.items():
        assert found.coefficients[name] == pytest.approx(value, rel=1e-7, abs=1e-8), name
    assert (found.rows_, found.dropped_rows_) == (expected.rows_, expected.dropped_rows_)
    np.testing.assert_allclose(
        found.summary().inference.standard_errors, expected.summary().inference.standard_errors, rtol=1e-6
    )


def test_sqlite_holds_booleans_as_numbers(tmp_path: Path) -> None:
    table = births()
    source = _sqlite(table, tmp_path)
    expected = formula.fit("bwt ~ race * lwt", table)
    found = formula.fit("bwt ~ race * lwt", source)
    assert found.coefficients == pytest.approx(expected.coefficients, rel=1e-8)
    assert formula.fit("bwt ~ smoke", source).coefficients["smoke"] == pytest.approx(
        formula.fit("bwt ~ smoke", table).coefficients["smoke[True]"]
    )


@pytest.mark.parametrize("source", ["polars", "arrow", "csv", "function"])
def test_predictions_do_not_depend_on_the_source(source: str, tmp_path: Path) -> None:
    table = births()
    model = formula.fit(f"low ~ {TERMS}", table)
    expected = model.predict_proba(table)
    np.testing.assert_allclose(model.predict_proba(SOURCES[source](table, tmp_path)), expected, rtol=1e-12)
    assert np.isnan(expected[[5, 17, 40]]).all()
    assert np.isfinite(np.delete(expected, [5, 17, 40], axis=0)).all()
    assert model.predict(table)[5] is None


def test_order_of_categories_in_memory_is_kept() -> None:
    table = births()
    order = ["white", "other", "black"]
    names = ["race[other]", "race[black]"]
    as_pandas = table.assign(race=pd.Categorical(table["race"], categories=order))
    assert formula.fit("bwt ~ race", as_pandas).design.names == names
    as_polars = pl.from_pandas(table).with_columns(pl.col("race").cast(pl.Enum(order)))
    assert formula.fit("bwt ~ race", as_polars).design.names == names
    assert formula.fit(f"bwt ~ C(race, levels={order})", table).design.names == names


def test_levels_without_rows_have_no_column() -> None:
    table = births()
    table["race"] = pd.Categorical(table["race"], categories=["none", "white", "other", "black"])
    assert formula.fit("bwt ~ race", table).design.names == ["race[other]", "race[black]"]
    table.loc[table["race"] == "black", "lwt"] = np.nan  # no complete row is left of this level
    assert formula.fit("bwt ~ race + lwt", table).design.names == ["race[other]", "lwt"]


def test_blank_texts_are_missing(tmp_path: Path) -> None:
    table = births()
    table.loc[[1, 2], "race"] = ["", "  "]
    model = formula.fit("bwt ~ race", table)
    assert model.design.names == ["race[other]", "race[white]"]
    assert model.dropped_rows_ == 4
    assert formula.fit("bwt ~ race", _csv(table, tmp_path)).dropped_rows_ == 4


def test_knots_of_many_rows_in_batches_are_close_to_the_quantiles(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = 1_200_000  # more than the sample holds
    table = pd.DataFrame({"y": rng.normal(size=rows), "x": rng.gamma(2.0, size=rows)})
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "rows.parquet")
    exact = formula.fit("y ~ bs(x, 5)", table).design.transforms["bs(x, 5)"]
    found = formula.fit("y ~ bs(x, 5)", tmp_path / "rows.parquet").design.transforms["bs(x, 5)"]
    np.testing.assert_allclose(found.knots, exact.knots, rtol=0.01)
    assert (found.low, found.high) == (exact.low, exact.high)
