"""A model written as a Python file that needs NumPy alone predicts as the model does; what is refused."""

from __future__ import annotations

import csv
import datetime
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.tables import TableError, TableModel, UsageError
from suffice.tables.export import format_json, runtime
from suffice.tables.export.document import export_document
from tests.tables.export_cases import (
    CASES,
    COLUMNS,
    as_lists,
    fitted,
    formatted,
    frame,
    rows_at_edges,
    unseen_rows,
    with_threshold,
)

#: Runs a file of an exported model where only NumPy and the standard library can be imported.
ALONE = f"""
import sys
class OnlyNumpy:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {{*sys.stdlib_module_names, "numpy"}}:
            raise ImportError(f"{{name}} is not of the standard library")
sys.path.append({str(Path(np.__file__).parents[1])!r})
sys.meta_path.insert(0, OnlyNumpy())
import runpy
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run_alone(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-c", ALONE, *map(str, words)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
    assert ran.returncode == code, ran.stderr
    return ran


@pytest.mark.parametrize(("model", "target"), CASES)
def test_an_exported_model_predicts_as_the_model(model: str, target: str) -> None:
    own, rows = fitted(model, target), unseen_rows()
    document = json.loads(format_json(export_document(own)))
    found = runtime.predict(as_lists(rows), document)
    if own.schema_.task != "classes":
        np.testing.assert_allclose(found, own.predict(rows), rtol=1e-12, atol=1e-12)
        return
    p = runtime.predict_proba(as_lists(rows), document)
    np.testing.assert_allclose(p, own.predict_proba(rows), rtol=0, atol=1e-12)
    assert found.tolist() == own.predict(rows).tolist()


@pytest.mark.parametrize(("model", "target"), [("nb", "two"), ("additive", "code"), ("poisson", "visits")])
def test_the_python_file_reads_csv_and_needs_numpy_alone(model: str, target: str, tmp_path: Path) -> None:
    own, file = fitted(model, target), tmp_path / "rows.csv"
    unseen_rows().to_csv(file, index=False)
    ran = run_alone(own.export(tmp_path / "model.py", "python"), file)
    header, *cells = csv.reader(io.StringIO(ran.stdout))
    assert header[0] == "prediction"
    assert [row[0] for row in cells] == [str(cell) for cell in own.predict(file).tolist()] or model == "poisson"
    numbers = np.array([row[1:] or row for row in cells], dtype=float)
    expected = own.predict(file)[:, None] if model == "poisson" else own.predict_proba(file)
    np.testing.assert_allclose(numbers, expected, atol=1e-12)


def test_the_python_file_names_the_cell_that_it_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("area,rooms\n80\n")
    written = fitted("linear", "price").export(tmp_path / "model.py", "python")
    assert "line 2 of" in run_alone(written, tmp_path / "rows.csv", code=1).stderr
    assert "usage: python" in run_alone(written, code=1).stderr


def test_categories_that_were_numbers_are_read_from_csv_as_by_the_model(tmp_path: Path) -> None:
    i, rows = np.arange(90), tmp_path / "rows.csv"
    table = pd.DataFrame({"zip": i % 4, "flag": i % 3 > 0, "y": i % 4 + i % 3 * 0.25})
    model = TableModel("linear", columns={"zip": "category", "flag": "category"}, task="numbers").fit(table, "y")
    assert {column["type"] for column in export_document(model)["columns"]} == {"whole", "truth"}
    for text in (
        "zip;flag\n1.0;True\n3;FALSE\n;\n9;true\n",
        "zip,flag\n01,true\n3,no\n",
        "zip,flag\nx,true\n1.0,maybe\n",
    ):
        rows.write_text(text)
        document = export_document(model)
        found = runtime.predict(runtime.read_csv(str(rows), document), document)
        np.testing.assert_allclose(found, model.predict(rows), atol=1e-12)


def test_booleans_that_a_gap_made_floats_are_read_from_csv_as_by_the_model(tmp_path: Path) -> None:
    i, path = np.arange(90), tmp_path / "rows.csv"
    table = pd.DataFrame({"flag": (i % 3 > 0).astype(float), "x": i % 7, "y": i % 7 + i % 3 * 0.25})
    table.loc[::10, "flag"] = None  # pandas writes 1.0
    table.to_csv(path, index=False)
    model = TableModel("linear", task="numbers").fit(path, "y")
    assert model.schema_.field("flag").kind == "boolean"
    document = export_document(model)
    found = runtime.predict(runtime.read_csv(str(path), document), document)
    np.testing.assert_allclose(found, model.predict(path), atol=1e-12)


def test_numbers_keep_all_digits_in_json() -> None:
    document = export_document(fitted("gda-full", "three"))
    assert json.loads(format_json(document)) == document


def test_a_class_whose_rows_were_forgotten_has_the_probability_0() -> None:
    table = frame()[["area", "rooms", "three"]]
    model = TableModel("nb", folds=2).fit(table, "three")
    model.forget(table[table["three"] == "1"])
    document, rows = export_document(model), as_lists(unseen_rows())
    assert document["scored_classes"] == [0, 2]
    expected = model.predict_proba(unseen_rows())
    assert not expected[:, 1].any()
    np.testing.assert_allclose(runtime.predict_proba(rows, document), expected, atol=1e-12)


def test_a_number_at_an_edge_is_in_the_bin_above() -> None:
    model = fitted("additive", "price")
    rows = rows_at_edges(model)
    found = runtime.predict(as_lists(rows), export_document(model))
    np.testing.assert_allclose(found, model.predict(rows), atol=1e-12)


@pytest.mark.parametrize("target", ["two", "three"])
def test_the_threshold_of_a_class_is_exported(target: str) -> None:
    model, rows = with_threshold(target), frame().head(100)
    expected = model.predict(rows).tolist()
    assert expected != model.classes_[model.predict_proba(rows).argmax(axis=1)].tolist()
    assert runtime.predict(as_lists(rows), export_document(model)).tolist() == expected


def test_a_file_that_exists_is_replaced_only_by_a_complete_one(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("old")
    with pytest.raises(TableError, match="'local' cannot be exported"):
        TableModel("local", task="numbers").fit(frame()[["area", "price"]].dropna(), "price").export(path, "python")
    assert path.read_text() == "old"
    fitted("linear", "price").export(path, "python")
    assert "def predict" in path.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["model.py"]


# What is refused.


def test_a_model_with_text_is_refused_by_the_column() -> None:
    random = np.random.default_rng(0)
    words = np.array(["green house near sea", "red barn by lake", "old mill with garden", "new flat on top"])
    table = pd.DataFrame({"note": [f"{words[i % 4]} {random.integers(99)}" for i in range(80)], "x": range(80)})
    table["y"] = ["a", "b"] * 40
    for name in ("nb", "logistic", "additive"):
        model = TableModel(name, columns={"note": "text"}).fit(table, "y")
        with pytest.raises(TableError, match="column 'note' is text"):
            export_document(model)
    with pytest.raises(TableError, match="'text' cannot be exported, since its words"):
        export_document(TableModel("text", columns={"note": "text"}).fit(table, "y"))


def test_categories_of_timestamps_are_refused_by_the_column() -> None:
    model = TableModel("linear", columns={"day": "category"}).fit(frame()[["area", "day", "price"]].head(60), "price")
    with pytest.raises(TableError, match="column 'day' is a category of timestamps"):
        export_document(model)


def test_an_unknown_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'json'"):
        fitted("nb", "two").export(tmp_path / "model.json", "jsn")


def test_a_reading_of_cells_that_is_not_exported_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from suffice.tables.export import document

    monkeypatch.setattr(document, "_FIELD", {"name", "kind", "type", "why", "parts"})
    with pytest.raises(TableError, match="column 'lift' is read with truth="):
        export_document(fitted("linear", "price"))


# Cells of the Python file.


def test_strings_that_mark_missing_cells_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "".join(f"{i % 9 if i % 5 else -999}.5,{'?uv'[i % 3]},{i % 2}\n" for i in range(90)))
    source = suffice.tables.open_table(path, dialect=suffice.tables.Dialect(missing=("?", "-999.5")))
    model = TableModel("logistic").fit(source, "y")
    document = export_document(model)
    rows = {"a": ["-999.5", " 3.5 ", "-999.5"], "b": ["?", "u", "unseen"]}
    numbers = {"a": [-999.5, 3.5, None], "b": [None, " u", "unseen"]}
    expected = model.predict_proba(pd.DataFrame(rows))
    np.testing.assert_allclose(runtime.predict_proba(rows, document), expected, atol=1e-12)
    np.testing.assert_allclose(runtime.predict_proba(numbers, document), expected, atol=1e-12)


def test_formatted_numbers_are_read_as_by_the_model() -> None:
    model = formatted()
    document = json.loads(format_json(export_document(model)))
    assert document["columns"][0]["format"]["decimal"] == ","
    rows = {
        "price": ["1.234,50 €", "€ 12", "- 3,5", "−3,5 €", "N/A", None, " 1234,5 ", "(1.234,5)", "€ 12,–", "(3,5) €"],
        "share": ["12%", "3.5 %", "-1%", "−0.5%", "unknown", "", "100.0%", "(1%)", "(2)%", "0%"],
    }
    found = runtime.predict(rows, document)
    np.testing.assert_allclose(found, model.predict(pd.DataFrame(rows)), atol=1e-12)
    numbers = {"price": [1234.5, 12, -3.5, -3.5, None, np.nan, 1234.5, -1234.5, 12, -3.5], "share": rows["share"]}
    np.testing.assert_allclose(runtime.predict(numbers, document), found, atol=1e-12)
    for price, share in (("1,234.50 €", "1%"), ("1.2.3", "1%"), ("1 $", "1%"), ("1", "1"), ("1", 1.0)):
        with pytest.raises(ValueError, match=r"in row 1 (is not a number|has no unit)"):
            runtime.predict([{"price": price, "share": share}], document)


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("area", "eighty", "column 'area': 'eighty' in row 1 is not a number"),
        ("area", float("inf"), "column 'area' is inf in row 1: it must be finite"),
        ("rooms", 2.5, "column 'rooms' is 2.5 in row 1: which is not a count"),
        ("lift", "maybe", "column 'lift': 'maybe' in row 1 is neither 'no' nor 'Yes'"),
        ("day", "31.12.2024", "column 'day': '31.12.2024' in row 1 is not a date"),
        ("day", "2024-02-31", "column 'day': '2024-02-31' in row 1 is not a date"),
        ("day", "2024-02-03 10:00+02", "column 'day': '2024-02-03 10:00\\+02' in row 1 is not a date"),
    ],
)
def test_a_cell_that_predict_refuses_is_refused(column: str, cell: Any, message: str) -> None:
    document = export_document(fitted("nb", "two"))
    row = dict.fromkeys(COLUMNS) | {column: cell}
    with pytest.raises(ValueError, match=message.replace("2.5", r"2\.5")):
        runtime.predict([row], document)


def test_a_missing_column_is_named() -> None:
    document = export_document(fitted("nb", "two"))
    with pytest.raises(ValueError, match="row 1 lacks the column 'area'"):
        runtime.predict([{}], document)
    with pytest.raises(ValueError, match="the rows lack the column 'area'"):
        runtime.predict({"rooms": [1]}, document)


def test_dates_are_read_in_every_form() -> None:
    document = export_document(fitted("nb", "two"))
    moment = datetime.datetime(2001, 7, 8, 22, 30)
    zoned = moment.replace(tzinfo=datetime.UTC)
    forms = [moment, zoned, "2001-07-08 22:30", "2001-07-08T22:30:00Z", "2001-07-09T00:30+02:00", pd.Timestamp(moment)]
    p = runtime.predict_proba([dict.fromkeys(COLUMNS) | {"day": form} for form in forms], document)
    array = {name: [None] for name in COLUMNS} | {"day": np.array([moment], dtype="datetime64[ns]")}
    assert (p == runtime.predict_proba(array, document)).all()
