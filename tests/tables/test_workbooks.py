"""Sheets of workbooks, as openpyxl, pandas, odfpy and LibreOffice write them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import openpyxl
import pandas as pd
import pytest

import suffice
from suffice.errors import MissingExtraError
from suffice.tables import Dialect, TableError, open_table
from tests.cli.command import done, refused
from tests.requirements import find_program, require
from tests.tables.tables_data import kinds

N = 80


def sales() -> pd.DataFrame:
    random = np.random.default_rng(2)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, N), "D")
    frame = pd.DataFrame(
        {
            "order": np.arange(N) + 1000,
            "day": days,
            "amount": random.uniform(1, 900, N).round(2),
            "shop": random.choice(["north", "south"], N),
            "new": random.random(N) < 0.5,
        }
    )
    frame.loc[::9, "amount"] = None
    frame["returned"] = np.where(frame.amount.fillna(0) + random.normal(0, 50, N) > 450, "yes", "no")
    return frame


def with_pandas(path: Path) -> Path:
    sales().to_excel(path, index=False, sheet_name="Sales", engine="odf" if path.suffix == ".ods" else "openpyxl")
    return path


def with_libreoffice(path: Path) -> Path:
    require("libreoffice")
    sales().to_csv(path.with_suffix(".csv"), index=False)
    home = f"-env:UserInstallation={(path.parent / 'home').as_uri()}"
    words = [home, "--headless", "--convert-to", path.suffix[1:], "--outdir", path.parent, path.with_suffix(".csv")]
    subprocess.run([find_program("soffice"), *words], check=True, capture_output=True, timeout=120)
    return path


def sheet(path: Path, rows: list[list[Any]], **others: list[list[Any]]) -> Path:
    """Write a workbook with openpyxl, as programs do that fill in reports."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name, more in others.items():
        added = book.create_sheet(name)
        for row in more:
            added.append(row)
    book.save(path)
    return path


def cells(path: Path | str, **options: Any) -> dict[str, list[Any]]:
    (batch,) = open_table(path, **options).batches()
    found: dict[str, list[Any]] = batch.to_pydict()
    return found


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (with_pandas, "a.xlsx"),
        (with_pandas, "a.ods"),
        (with_libreoffice, "a.xlsx"),
        (with_libreoffice, "a.ods"),
        (with_libreoffice, "a.xls"),
    ],
)
def test_a_sheet_gives_the_model_of_the_data_frame(write: Callable[[Path], Path], name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name)
    frame = sales().assign(day=sales().day.dt.date)
    model, expected = suffice.fit(path, "returned", "nb"), suffice.fit(frame, "returned", "nb")
    assert kinds(model) == kinds(expected)
    assert kinds(model) == {"order": "ignore", "day": "date", "amount": "numeric", "shop": "category", "new": "boolean"}
    np.testing.assert_allclose(model.predict_proba(path), expected.predict_proba(frame), rtol=1e-12)
    assert model.description_.known()["amount"].sum() == sales().amount.notna().sum()


def test_cells_that_libreoffice_writes_as_they_are_shown_are_those_of_the_workbook(tmp_path: Path) -> None:
    require("libreoffice")
    book = openpyxl.Workbook()
    book.active.append(["amount\n(EUR)", "day", "units", "code", "returned"])
    for row, each in enumerate(sales().to_dict("records")):
        amount = None if np.isnan(each["amount"]) else each["amount"] * 10 - 2000
        book.active.append([amount, each["day"].date(), 37 * row, f"0{row % 9}", each["returned"]])
    for amount, day, units, *_ in book.active.iter_rows(min_row=2):
        amount.number_format = "#,##0.00 [$€-407];(#,##0.00) [$€-407]"
        day.number_format, units.number_format = "DD.MM.YYYY", "#,##0"
    book.save(tmp_path / "a.xlsx")
    form = "csv:Text - txt - csv (StarCalc):9,34,65535,1,,1031,false,true"  # tabs, UTF-16, as shown
    home = f"-env:UserInstallation={(tmp_path / 'home').as_uri()}"
    words = [home, "--headless", "--convert-to", form, "--outdir", tmp_path, tmp_path / "a.xlsx"]
    subprocess.run([find_program("soffice"), *words], check=True, capture_output=True, timeout=120)
    assert "(1,9" in (tmp_path / "a.csv").read_text(encoding="utf-16")
    text, workbook = (suffice.fit(tmp_path / name, "returned", "nb") for name in ("a.csv", "a.xlsx"))
    assert kinds(text) == kinds(workbook)
    assert kinds(text) == {"amount\n(EUR)": "numeric", "day": "date", "units": "numeric", "code": "category"}
    np.testing.assert_allclose(text.predict_proba(tmp_path / "a.csv"), workbook.predict_proba(tmp_path / "a.xlsx"))


def test_commands_read_sheets(tmp_path: Path) -> None:
    path, model = with_pandas(tmp_path / "a.xlsx"), tmp_path / "m.suffice"
    ran = done("fit", path, "-t", "returned", "-m", "nb", "-o", model, "--json", "--sheet", "Sales")
    assert ran.json["rows"] == N
    rows = done("predict", model, f"{path}::Sales", "--sheet", "1").out.splitlines()
    assert rows[0] == '"order","prediction","probability"'
    assert rows[1].startswith("1000,")
    for words in (["evaluate"], ["explain"], ["update"], ["forget"], ["outliers"], ["impute"]):
        done(*words, model, path)
    done("report", model, path, "-o", tmp_path / "r.html")
    done("predict", model, "-", stdin=path.read_bytes())
    assert "there is no" in refused("predict", model, tmp_path / "b.xlsx", code=2)
    assert "leave out --sheet" in refused("predict", model, __file__, "--sheet", "1", code=2)


def test_the_sheet_of_several_must_be_named(tmp_path: Path) -> None:
    path = sheet(tmp_path / "a.xlsx", [["x", "y"], [1, "a"]], prices=[["z"], [5]], empty=[])
    with pytest.raises(TableError, match=r"has 2 sheets, 'Sheet', 'prices': say which, with --sheet NAME"):
        open_table(path)
    assert cells(f"{path}::prices") == cells(path, dialect=Dialect(sheet="2")) == {"z": [5]}
    assert cells(path, dialect=Dialect(sheet="Sheet")) == {"x": [1], "y": ["a"]}
    with pytest.raises(TableError, match=r"has no sheet 'price'; it has .*did you mean 'prices'"):
        open_table(f"{path}::price")
    book = openpyxl.load_workbook(path)
    book["prices"].sheet_state = "hidden"
    book.save(path)
    assert cells(path) == {"x": [1], "y": ["a"]}


def test_titles_above_the_names_of_columns_are_left_out_and_told(tmp_path: Path) -> None:
    rows = [["Sales of the north"], [], ["in €", None, "draft"], ["shop", "amount\nin €", "day", "sold", None]]
    body = [
        [f"s{row % 3}", row * 1.5, date(2024, 1, 1 + row % 28), "yes" if row % 2 else "no", None] for row in range(40)
    ]
    path = sheet(tmp_path / "a.xlsx", [*rows, *body])
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("A1:D1")
    book.save(path)
    model = suffice.fit(path, "sold", "nb")
    assert list(kinds(model)) == ["shop", "amount\nin €", "day"]
    assert model.rows_ == 40
    told = "the rows above the names of the columns are left out ('Sales of the north', 'in €' and 1 more)"
    assert model.schema_.notes[0].endswith(told)
    ran = done("fit", path, "-t", "sold", "-m", "nb", "-o", tmp_path / "m.suffice", "--json")
    assert ran.json["notes"][0].endswith(told)
    assert told in done("predict", tmp_path / "m.suffice", path).err
    assert suffice.load(tmp_path / "m.suffice").schema_.notes == model.schema_.notes


def test_a_sheet_without_names_of_columns_is_refused(tmp_path: Path) -> None:
    path = sheet(tmp_path / "a.xlsx", [[1, 2.5], [3, 4.5]])
    with pytest.raises(TableError, match=r"row 1 of sheet 'Sheet' of .* has no names of columns, but '1.*--no-header"):
        open_table(path)
    assert cells(path, dialect=Dialect(header=False)) == {"column0": [1, 3], "column1": [2.5, 4.5]}


def test_types_of_cells(tmp_path: Path) -> None:
    rows = [
        ["whole", "number", "truth", "day", "moment", "mixed", "text", "error", "hours", "whole", None],
        [1, 1.5, True, date(2024, 5, 1), datetime(2024, 5, 1, 8), "1,5", "7", 3, timedelta(hours=6), 5, 0.5],
        [2, None, False, "-", date(2024, 5, 2), 2, "x", "#N/A", None, 6, None],
    ]
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.active["H3"].data_type = "e"
    book.save(tmp_path / "a.xlsx")
    assert cells(tmp_path / "a.xlsx") == {
        "whole": [1, 2],
        "number": [1.5, None],
        "truth": [True, False],
        "day": [date(2024, 5, 1), None],
        "moment": [datetime(2024, 5, 1, 8), datetime(2024, 5, 2)],
        "mixed": ["1.5", "2"],
        "text": ["7", "x"],
        "error": [3, None],
        "hours": [0.25, None],
        "whole_1": [5, 6],
        "column10": [0.5, None],
    }


def test_numbers_that_are_stored_as_text_are_numbers(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["mixed", "text", "comma", "postcode", "sold"]]
    for row in range(60):
        mixed = {0: row * 10.5, 1: f"{row * 10},5", 2: "n/a"}[row % 3]
        rows.append([mixed, str(row * 3), f"{row},25", f"{row % 7:05}", "yes" if row % 2 else "no"])
    model = suffice.fit(sheet(tmp_path / "a.xlsx", rows), "sold", "nb")
    assert kinds(model) == {"mixed": "numeric", "text": "numeric", "comma": "numeric", "postcode": "category"}
    assert model.description_.known()["mixed"].sum() == 40
    assert model.ranges_["mixed"] == (0.0, 598.5)
    assert model.ranges_["comma"] == (0.25, 59.25)
    assert model.schema_.notes == (
        "column 'mixed': 'n/a' is missing",
        "column 'text': the strings are read as numbers",
        "column 'comma': decimal comma",
        "column 'postcode': '00000' begins with 0: read as names, not as numbers",
    )


def test_numbers_beside_strings_keep_their_decimals_whatever_other_columns_have(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["x", "comma", "sold"]]
    rows += [[1.125 if row else "n/a", f"{row},25", "yes" if row % 2 else "no"] for row in range(60)]
    rows[5][0] = 2.375
    model = suffice.fit(sheet(tmp_path / "a.xlsx", rows), "sold", "nb")
    assert model.ranges_["x"] == (1.125, 2.375)


def test_workbooks_of_a_folder_are_one_table(tmp_path: Path) -> None:
    sheet(tmp_path / "1.xlsx", [["x", "y"], [1, "a"], [2, "b"]])
    sheet(tmp_path / "2.xlsx", [["y", "x", "z"], ["a", "3,5", 1]])
    assert cells(tmp_path) == {"x": ["1", "2", "3.5"], "y": ["a", "b", "a"], "z": [None, None, 1]}
    assert cells(tmp_path, query="select z, count(*) as n from data group by z order by z") == {
        "z": [1, None],
        "n": [1, 2],
    }


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    for start, message in (
        (b"PK\x03\x04", r"a\.xlsx is not a workbook, or is damaged"),
        (b"a\tb\n1\t2\n", r"a\.xlsx is text, not a workbook: rename it to end in \.csv"),
        ("a\tb\n".encode("utf-16"), "is text, not a workbook"),
        (b"<html><table><tr><td>1</td></tr></table></html>", r"a\.xlsx is a web page or XML: open it in a spreadsheet"),
    ):
        (tmp_path / "a.xlsx").write_bytes(start)
        with pytest.raises(TableError, match=message):
            open_table(tmp_path / "a.xlsx")
    with pytest.raises(TableError, match="no sheet with cells"):
        open_table(sheet(tmp_path / "b.xlsx", []))


def test_without_the_extra_the_command_that_installs_it_is_told(tmp_path: Path) -> None:
    path = with_pandas(tmp_path / "a.xlsx")
    message = pytest.raises(MissingExtraError, match=r"pip install 'suffice\[excel\]'")
    with patch.dict(sys.modules, {"python_calamine": None}), message:
        open_table(path)
