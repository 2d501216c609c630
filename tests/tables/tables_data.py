"""Tables that the tests of this folder share: made up ones, written in every format, and real ones."""

from __future__ import annotations

import csv
import gzip
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import zstandard

from suffice.tables import TableModel, open_table
from tests.references.data import unpacked

#: What the columns of :func:`houses` are, so that parts of it agree.
KINDS = {"area": "numeric", "rooms": "count", "street": "category", "garden": "boolean"}


def houses(n: int = 200, seed: int = 0, missing: float = 0.0) -> pd.DataFrame:
    """Return a table with a column of each of four kinds, a price, and whether the house was sold."""
    random = np.random.default_rng(seed)
    sold = random.random(n) < 0.5
    table = pd.DataFrame(
        {
            "area": random.normal(80 + 25 * sold, 20),
            "rooms": random.poisson(2 + 2 * sold).astype(float),
            "street": np.where(random.random(n) < 0.7, np.where(sold, "calm", "loud"), "mixed").astype(object),
            "garden": np.where(random.random(n) < 0.3 + 0.3 * sold, "yes", "no").astype(object),
        }
    )
    table["price"] = 20 + 0.5 * table.area + 12 * (table.street == "calm") + random.normal(0, 5, n)
    table["sold"] = np.where(sold, "y", "n")
    for name in KINDS:
        table.loc[random.random(n) < missing, name] = None
    return table


def joined(*parts: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of several tables in one."""
    return pd.concat(parts, ignore_index=True)


def unheated(model: TableModel) -> TableModel:
    """Return a generative model whose posteriors are those of Bayes' rule, and not softened."""
    model.predictor_.inner = model.predictor_.inner.with_params(temperature=1.0)
    return model


def kinds(model: TableModel) -> dict[str, str]:
    """Return what a model takes its columns for."""
    return {field.name: field.kind for field in model.schema_.fields if field.name != model.schema_.target}


def rows_of(table: Any, **settings: Any) -> pa.Table:
    """Return all rows of anything that can be opened."""
    return pa.Table.from_batches(list(open_table(table, **settings).batches()))


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    """Write a text as it is, and return its path."""
    path.write_bytes(text.encode(encoding))
    return path


def _text(separator: str = ",", end: str = "\n", start: str = "") -> Callable[[pd.DataFrame, Path], str]:
    def written(table: pd.DataFrame, path: Path) -> str:
        return str(write(path, start + table.to_csv(index=False, sep=separator, lineterminator=end)))

    return written


def _packed(pack: Callable[[bytes], bytes]) -> Callable[[pd.DataFrame, Path], str]:
    def written(table: pd.DataFrame, path: Path) -> str:
        path.write_bytes(pack(table.to_csv(index=False).encode()))
        return str(path)

    return written


def _lines(table: pd.DataFrame, path: Path) -> str:
    return str(write(path, table.to_json(orient="records", lines=True, double_precision=15)))


def _json(table: pd.DataFrame, path: Path) -> str:
    return str(write(path, table.to_json(orient="records", double_precision=15)))


def _parquet(table: pd.DataFrame, path: Path) -> str:
    pa.parquet.write_table(pa.Table.from_pandas(table), path)
    return str(path)


def _feather(table: pd.DataFrame, path: Path) -> str:
    pa.feather.write_feather(pa.Table.from_pandas(table), path)
    return str(path)


def _sqlite(table: pd.DataFrame, path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        table.to_sql("houses", connection, index=False)
    return f"{path}::houses"


def _duckdb(table: pd.DataFrame, path: Path) -> str:
    with closing(duckdb.connect(str(path))) as connection:
        connection.register("frame", table)
        connection.execute("create table houses as from frame")
    return f"{path}::houses"


#: Writes a frame to a path and returns where it is, by the ending of the path.
WRITERS: dict[str, Callable[[pd.DataFrame, Path], str]] = {
    "csv": _text(),
    "tsv": _text("\t"),
    "semicolons.csv": _text(";"),
    "bars.txt": _text("|"),
    "crlf.csv": _text(end="\r\n"),
    "bom.csv": _text(start="\ufeff"),
    "csv.gz": _packed(gzip.compress),
    "csv.zst": _packed(zstandard.compress),
    "jsonl": _lines,
    "json": _json,
    "parquet": _parquet,
    "feather": _feather,
    "arrow": _feather,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
}


def near(one: Any, two: Any, tolerance: float = 1e-9) -> None:
    """Assert that numbers are equal but for rounding."""
    np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)


# Real tables.


def uci(name: str) -> Path:
    """Return a file of the UCI archive."""
    return unpacked("uci") / name


def from_arff(name: str, folder: Path) -> tuple[Path, list[str]]:
    """Write an ARFF file as CSV, and return its path and the names of its columns."""
    names: list[str] = []
    cells: list[list[str]] = []
    for line in map(str.strip, uci(f"{name}.arff").read_text(encoding="latin-1").splitlines()):
        attribute = re.match(r"@attribute\s+('[^']*'|\S+)", line, re.IGNORECASE)
        if attribute:
            names.append(attribute.group(1).strip("'"))
        elif line and not line.startswith(("%", "@")):
            cells.append([cell.strip().strip("'") for cell in line.split(",")])
    path = folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *cells])
    return path, names
