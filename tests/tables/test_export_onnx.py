"""A model written as ONNX predicts in onnxruntime as the model does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest

from suffice.tables import Dialect, MissingExtraError, TableError, TableModel, open_table
from suffice.tables.export.document import export_document
from suffice.tables.export.onnx_graph import build_onnx
from tests.tables.export_cases import (
    CASES,
    COLUMNS,
    fitted,
    formatted,
    frame,
    rows_at_edges,
    unseen_rows,
    with_threshold,
)


def session_of(model: TableModel) -> Any:
    return onnxruntime.InferenceSession(build_onnx(export_document(model)).SerializeToString())


def inputs_of(session: Any, rows: pd.DataFrame) -> dict[str, Any]:
    """Return rows as the inputs of a session."""
    found: dict[str, Any] = {}
    for each in session.get_inputs():
        cells = rows[each.name]
        if each.type == "tensor(string)":
            found[each.name] = np.array([str(cell) if pd.notna(cell) else "" for cell in cells], dtype=object)
        elif each.type == "tensor(int64)":
            found[each.name] = cells.to_numpy(dtype="datetime64[us]").astype(np.int64)
        else:
            words = {"Yes": 1.0, "no": 0.0}
            numbers = [np.nan if pd.isna(cell) else float(words.get(cell, cell)) for cell in cells.astype(object)]
            found[each.name] = np.array(numbers)
    return found


def check(model: TableModel, rows: pd.DataFrame) -> None:
    session = session_of(model)
    found = dict(
        zip([each.name for each in session.get_outputs()], session.run(None, inputs_of(session, rows)), strict=True)
    )
    if model.schema_.task == "classes":
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-6)
        assert found["label"].tolist() == model.predict(rows).tolist()
    else:
        np.testing.assert_allclose(found["prediction"], model.predict(rows), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("model", "target"), CASES)
def test_onnx_predicts_as_the_model(model: str, target: str) -> None:
    check(fitted(model, target), unseen_rows())


def test_dates_of_four_centuries_have_their_month_weekday_and_hour() -> None:
    days = pd.date_range("1899-12-31", "2301-03-01", freq="37h")
    table = pd.DataFrame({"day": days})
    hours = np.sin(days.hour) + days.month % 5 + days.day_of_week % 3
    model = TableModel("linear", task="numbers").fit(table.assign(y=hours.to_numpy()), "y")
    check(model, table.iloc[::7])


def test_a_number_at_an_edge_is_in_the_bin_above() -> None:
    model = fitted("additive", "price")
    check(model, rows_at_edges(model))


@pytest.mark.parametrize("target", ["two", "three"])
def test_the_threshold_of_a_class_is_applied(target: str) -> None:
    check(with_threshold(target), frame().head(100))


def test_a_class_whose_rows_were_forgotten_has_the_probability_0() -> None:
    table = frame()[["area", "rooms", "three"]]
    model = TableModel("nb", folds=2).fit(table, "three")
    model.forget(table[table["three"] == "1"])
    check(model, unseen_rows())


def test_formatted_numbers_are_given_as_numbers() -> None:
    (found,) = session_of(formatted()).run(None, {"price": np.array([1234.5, np.nan]), "share": np.array([12.0, 3.5])})
    rows = pd.DataFrame({"price": ["1.234,50 €", None], "share": ["12%", "3.5%"]})
    np.testing.assert_allclose(found, formatted().predict(rows), rtol=1e-9)


def test_marks_of_missing_cells_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "a,b,y\n" + "".join(f"{i % 9 if i % 5 else -999}.5,{'?uv'[i % 3]},{i % 7 % 2}\n" for i in range(90))
    )
    model = TableModel("nb").fit(open_table(path, dialect=Dialect(missing=("?", "-999.5"))), "y")
    check(model, pd.DataFrame({"a": [-999.5, 3.5], "b": ["?", "u"]}))


@pytest.mark.parametrize(("column", "cell"), [("area", np.inf), ("rooms", 2.5), ("rooms", -1.0), ("lift", 2.0)])
def test_a_cell_that_predict_refuses_has_no_prediction(column: str, cell: float) -> None:
    for model, output in ((fitted("nb", "two"), 1), (fitted("linear", "price"), 0)):
        session = session_of(model)
        rows = inputs_of(session, unseen_rows().head(3))
        rows[column][1] = cell
        found = np.isnan(session.run(None, rows)[output]).reshape(3, -1).all(axis=1)
        assert found.tolist() == [False, True, False]


def test_the_file_passes_the_checker_and_names_its_inputs_and_outputs(tmp_path: Path) -> None:
    model = onnx.load(fitted("additive", "two").export(tmp_path / "model.onnx", "onnx"))
    onnx.checker.check_model(model, full_check=True)
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    shapes = {
        each.name: [size.dim_param or size.dim_value for size in each.type.tensor_type.shape.dim]
        for each in (*inferred.graph.input, *inferred.graph.output)
    }
    columns = {name: ["rows"] for name in COLUMNS}
    assert shapes == {**columns, "label": ["rows"], "probabilities": ["rows", 2]}
    assert {each.domain for each in model.opset_import} == {"", "ai.onnx.ml"}


def test_a_column_with_the_name_of_an_output_is_refused() -> None:
    table = frame()[["area", "two"]].rename(columns={"area": "label"})
    with pytest.raises(TableError, match="column 'label' has the name of an output"):
        build_onnx(export_document(TableModel("nb").fit(table, "two")))


def test_the_extra_is_named_where_onnx_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"suffice\[onnx\]"):
        fitted("nb", "two").export(tmp_path / "model.onnx", "onnx")
    assert not (tmp_path / "model.onnx").exists()
