"""Tables as spreadsheets, databases and libraries write them are read as the same rows; see ``written/README.md``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars
import pytest

import suffice
from suffice.tables import TableModel
from tests.cli.command import done
from tests.tables.tables_data import kinds

WRITTEN = Path(__file__).parent / "written"
KINDS = {
    **dict.fromkeys(("amount", "balance", "share", "units", "depth"), "numeric"),
    **dict.fromkeys(("day", "seen"), "date"),
    "zip": "category",
}
#: Signs that are left out of the amounts of each country.
COUNTRIES = {"de-CH": "CHF", "fr-FR": "€", "en-US": "$", "en-IN": "₹", "pl-PL": "zł", "en-ZA": "R", "tr-TR": "₺"}
COUNTRIES |= {"id-ID": "Rp"}


def plain() -> pd.DataFrame:
    """Return the rows that all files have."""
    rows = pd.read_csv(WRITTEN / "plain.csv", dtype={"zip": str}, na_values=["n/a"], parse_dates=["day", "seen"])
    return rows.assign(seen=rows.seen.dt.floor("min"))


def check(model: TableModel, table: Path | str, rows: pd.DataFrame | None = None) -> None:
    """Check that the model of a file has the kinds of the rows, and that it reads their cells."""
    rows = plain() if rows is None else rows
    expected = suffice.fit(rows, "y", "nb", folds=2)
    assert kinds(expected) == KINDS
    assert [kind for kind in kinds(model).values() if kind != "ignore"] == list(KINDS.values())
    assert model.rows_ == len(rows)
    found = model.log_evidence(table)
    found = found[found != 0]  # without an empty row
    np.testing.assert_allclose(np.sort(found), np.sort(expected.log_evidence(rows)), rtol=1e-6)


@pytest.mark.parametrize("country", COUNTRIES)
def test_spreadsheets_of_other_countries(country: str) -> None:
    path = WRITTEN / f"libreoffice_{country}.csv"
    model = suffice.fit(path, "y", "nb", folds=2)
    check(model, path)
    told = dict(note.removeprefix("column ").split(": ", 1) for note in model.schema_.notes)
    assert told["'amount'"].endswith(f"{COUNTRIES[country]} left out")
    assert told["'share'"].endswith("% left out")
    assert "'n/a' is missing" in told["'balance'"]
    assert "'01067' begins with 0" in told["'zip'"] or "'08055' begins with 0" in told["'zip'"]


@pytest.mark.parametrize("name", ["libreoffice_de-DE_unicode.txt", "libreoffice_de-DE_titled.csv"])
def test_a_spreadsheet_as_text(name: str) -> None:
    model = suffice.fit(WRITTEN / name, "y", "nb", folds=2)
    check(model, WRITTEN / name)
    above = [note for note in model.schema_.notes if "above" in note]
    assert bool(above) == ("titled" in name)


def test_a_workbook_with_titles_formulas_and_several_sheets(tmp_path: Path) -> None:
    table = f"{WRITTEN / 'libreoffice_titled.xlsx'}::Sales"
    model = suffice.fit(table, "y", "nb", folds=2)
    assert list(kinds(model)) == ["amount\n(net)", *list(KINDS)[1:]]
    check(model, table, plain().assign(share=plain().share / 100))  # a cell of 12 % holds 0.12
    ran = done("fit", table, "-t", "y", "-m", "nb", "--json", "-o", tmp_path / "m.suffice")
    assert any(
        "above the names of the columns are left out ('Sales of the north, 2024')" in n for n in ran.json["notes"]
    )


@pytest.mark.parametrize("name", ["postgresql_copy.tsv", "postgresql_copy.csv"])
def test_copy_of_postgresql(name: str) -> None:
    model = suffice.fit(WRITTEN / name, "y", "nb", folds=2, columns={"late": "ignore", "note": "ignore"})
    check(model, WRITTEN / name)
    found = suffice.fit(WRITTEN / name, "y", "nb", folds=2)
    assert kinds(found)["late"] == "boolean"


def with_duckdb(rows: pd.DataFrame, path: Path) -> None:
    duckdb.sql(f"copy (from rows) to '{path}'")


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda rows, path: rows.to_csv(path), "a.csv"),  # with the index, in a column without a name
        (lambda rows, path: rows.to_csv(path, sep=";", decimal=",", index=False), "a.csv"),
        (lambda rows, path: rows.to_csv(path, index=False, encoding="utf-16", sep="\t"), "a.txt"),
        (lambda rows, path: rows.to_json(path, orient="records", date_format="iso"), "a.json"),
        (lambda rows, path: rows.to_excel(path, index=False), "a.xlsx"),
        (lambda rows, path: polars.from_pandas(rows).write_csv(path), "a.csv"),
        (lambda rows, path: polars.from_pandas(rows).write_ndjson(path), "a.jsonl"),
        (lambda rows, path: polars.from_pandas(rows).write_csv(path, separator=";", decimal_comma=True), "a.csv"),
        (with_duckdb, "a.csv"),
        (with_duckdb, "a.json"),
        (with_duckdb, "a.parquet"),
    ],
)
def test_libraries(write: Callable[[pd.DataFrame, Path], None], name: str, tmp_path: Path) -> None:
    write(plain(), tmp_path / name)
    check(suffice.fit(tmp_path / name, "y", "nb", folds=2), tmp_path / name)
