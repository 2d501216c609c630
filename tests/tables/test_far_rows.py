"""Rows so far from those of the fit that predictions overflow: refused by table models and by their exports."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest

from suffice.tables import TableError, TableModel
from suffice.tables.export import format_json, runtime
from suffice.tables.export.document import export_document
from tests.cli.command import refused

RANDOM = np.random.default_rng(0)
NAMES = np.array(["no", "yes"])[np.arange(80) % 2]
TABLE = pd.DataFrame({"a": RANDOM.normal(size=80) + np.arange(80) % 2, "b": RANDOM.normal(size=80), "y": NAMES})
FAR = pd.DataFrame({"a": [0.5, 1e160], "b": [1.0, 0.0]})
MODELS = {name: TableModel(name).fit(TABLE, "y") for name in ("nb", "gda-full")}

each_model = pytest.mark.parametrize("name", MODELS)


@each_model
def test_the_cell_is_named(name: str, tmp_path: Path) -> None:
    """The command wrote the class with the probability nan, and ended with exit code 0."""
    words = r"column 'a' is 1e\+160 in row 2, so far from the rows of the fit that its prediction overflows float64"
    with pytest.raises(TableError, match=words):
        MODELS[name].predict_proba(FAR)
    FAR.to_csv(tmp_path / "far.csv", index=False)
    MODELS[name].save(tmp_path / "model")
    assert "column 'a' is 1e+160 in row 2" in refused("predict", tmp_path / "model", tmp_path / "far.csv", code=1)


@each_model
def test_exports_refuse_the_row(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    document = json.loads(format_json(export_document(model)))
    with pytest.raises(ValueError, match="row 2 is so far from the rows of the fit that its prediction overflows"):
        runtime.predict(FAR.to_dict("list"), document)
    with duckdb.connect() as connection:
        connection.register("rows", FAR)
        with pytest.raises(
            duckdb.Error, match="a row is so far from the rows of the fit that its prediction overflows"
        ):
            connection.sql(model.to_sql(table="rows")).fetchall()
        connection.register("near", FAR[:1])
        assert len(connection.sql(model.to_sql(table="near")).fetchall()) == 1
    session = onnxruntime.InferenceSession(model.export(tmp_path / "model.onnx", "onnx"))
    inputs = {each.name: FAR[each.name].to_numpy() for each in session.get_inputs()}
    (probabilities,) = session.run(["probabilities"], inputs)
    assert np.isnan(probabilities[1]).all()
    np.testing.assert_allclose(probabilities[0], model.predict_proba(FAR[:1])[0], atol=1e-9)


def test_linear_scores_of_a_far_row_are_compared() -> None:
    np.testing.assert_array_equal(TableModel("gda").fit(TABLE, "y").predict_proba(FAR)[1], [0.0, 1.0])


def test_a_number_past_float64_is_refused() -> None:
    model = TableModel("linear").fit(TABLE.assign(c=100 * TABLE["a"])[["a", "c"]], "c")
    with pytest.raises(TableError, match=r"column 'a' is 1e\+307 in row 1"):
        model.predict(pd.DataFrame({"a": [1e307]}))


@pytest.mark.parametrize("kind", ["nb", "gda", "linear"])
def test_a_column_whose_squares_underflow_is_named(kind: str) -> None:
    """It was taken for a constant."""
    cells = np.random.default_rng(0).normal(size=(60, 2))
    target = cells.sum(axis=1) if kind == "linear" else np.where(cells.sum(axis=1) > 0, "yes", "no")
    frame = pd.DataFrame({"plain": cells[:, 0], "tiny": 1e-170 * cells[:, 1], "target": target})
    with pytest.raises(TableError, match=r"column 'tiny' underflow float64: .*; rescale it"):
        TableModel(kind).fit(frame, "target")
