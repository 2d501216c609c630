"""suffice export: a model as ONNX, as a Python file and as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from suffice.tables import TableModel
from tests.cli.command import done, refused


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, houses: Path) -> Path:
    path = tmp_path_factory.mktemp("export") / "model.suffice"
    TableModel("gda", columns={"note": "ignore"}, folds=2).fit(houses, "sold_fast").save(path)
    return path


def test_the_python_file_predicts_as_suffice_predict(model: Path, houses: Path, tmp_path: Path) -> None:
    assert done("export", model, "--to", "python", "-o", tmp_path / "model.py").err.startswith("written to ")
    done("predict", model, houses, "--probabilities", "-o", tmp_path / "here.csv")
    with (tmp_path / "there.csv").open("w") as out:
        subprocess.run([sys.executable, tmp_path / "model.py", houses], stdout=out, check=True)
    here, there = pd.read_csv(tmp_path / "here.csv"), pd.read_csv(tmp_path / "there.csv")
    assert here["prediction"].tolist() == there["prediction"].tolist()
    np.testing.assert_allclose(there["p(yes)"], here["p(yes)"], atol=1e-12)


def test_json_and_onnx_are_written(model: Path, tmp_path: Path) -> None:
    done("export", model, "--to", "json", "-o", tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["target"] == "sold_fast"
    done("export", model, "--to", "onnx", "-o", tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").stat().st_size > 1000


def test_what_is_written_is_said_in_json(model: Path, tmp_path: Path) -> None:
    found = done("export", model, "--to", "json", "-o", tmp_path / "model.json", "--json").json
    assert (found["to"], found["written"]) == ("json", str(tmp_path / "model.json"))
    assert "area" in found["columns"]


def test_a_text_column_is_refused_by_name(houses: Path, tmp_path: Path) -> None:
    TableModel("nb", folds=2).fit(houses, "sold_fast").save(tmp_path / "model.suffice")
    said = refused("export", tmp_path / "model.suffice", "--to", "json", "-o", tmp_path / "model.json", code=1)
    assert "column 'note' is text" in said
    assert "--ignore note" in said
    assert not (tmp_path / "model.json").exists()
