"""suffice evaluate, explain, info, sample, impute and outliers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, mean_squared_error, roc_auc_score

import suffice as library
from tests.cli.command import done, refused, written


def cells(text: str) -> list[dict[str, str]]:
    """Return the rows of a CSV text."""
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="session")
def table(houses: Path) -> list[dict[str, str]]:
    """The houses as cells."""
    return cells(houses.read_text(encoding="utf-8"))


# evaluate


def test_measures_are_those_of_scikit_learn(nb: Path, houses: Path, table: list[dict[str, str]]) -> None:
    found = done("evaluate", nb, houses, "--json").json
    p = library.load(nb).predict_proba(str(houses))
    truth = np.array([row["sold_fast"] for row in table])
    measures = found["measures"]
    assert found["rows"] == 800
    assert measures["accuracy"] == pytest.approx(accuracy_score(truth, np.array(["no", "yes"])[p.argmax(axis=1)]))
    assert measures["log loss"] == pytest.approx(log_loss(truth, p))
    assert measures["ROC AUC"] == pytest.approx(roc_auc_score(truth, p[:, 1]), abs=1e-3)  # of bins
    assert measures["Brier score"] == pytest.approx(brier_score_loss(truth == "yes", p[:, 1]))
    assert np.sum(found["confusion"]) == 800
    assert [each["class"] for each in found["per_class"]] == found["classes"] == ["no", "yes"]
    assert sum(found["calibration"]["rows"]) == 800


def test_measures_as_text(nb: Path, houses: Path) -> None:
    found = done("evaluate", nb, houses, "--json").json
    lines = done("evaluate", nb, houses).lines
    assert lines[0] == "800 rows"
    assert f"accuracy {found['measures']['accuracy']:.4g}" in [" ".join(line.split()) for line in lines]
    no, yes = (" ".join(map(str, row)) for row in found["confusion"])
    assert [" ".join(line.split()) for line in lines[-2:]] == [f"no {no}", f"yes {yes}"]
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize(("model", "target"), [("prices", "price"), ("viewings", "viewings")])
def test_measures_of_numbers(
    request: pytest.FixtureRequest, houses: Path, table: list[dict[str, str]], model: str, target: str
) -> None:
    path = request.getfixturevalue(model)
    truth = [float(row[target]) for row in table]
    error = mean_squared_error(truth, library.load(path).predict(str(houses)))
    assert done("evaluate", path, houses, "--json").json["measures"]["RMSE"] == pytest.approx(error**0.5)
    assert f"{error**0.5:.4g}" in done("evaluate", path, houses).out


def test_what_cannot_be_said_is_null(nb: Path, houses: Path, tmp_path: Path) -> None:
    lines = [line for line in houses.read_text(encoding="utf-8").splitlines() if line.endswith((",no", "sold_fast"))]
    one = written(tmp_path / "one.csv", "\n".join(lines[:4]) + "\n")
    assert done("evaluate", nb, one, "--json").json["measures"]["ROC AUC"] is None
    assert "nan" not in done("evaluate", nb, one).out


# explain


@pytest.fixture(scope="module")
def explained(nb: Path, houses: Path) -> Any:
    """The reasons that the library gives for every house."""
    return library.load(nb).explain(str(houses))


def test_rows_of_a_table(nb: Path, houses: Path, explained: Any) -> None:
    lines = done("explain", nb, houses, "-n", 2).lines
    assert "\n".join(lines) == f"row 1\n{explained[0]}\nrow 2\n{explained[1]}"


def test_rows_that_are_asked_for(nb: Path, houses: Path, explained: Any) -> None:
    found = done("explain", nb, houses, "--row", 800, "--row", 3, "--json").json
    assert [each["prediction"] for each in found] == [explained[place].prediction for place in (2, 799)]
    assert [each["row"] for each in found] == [3, 800]


def test_a_row_as_json_or_as_cells(nb: Path) -> None:
    one = done("explain", nb, '{"area": 90, "district": "Harbour"}').out
    two = done("explain", nb, "area=90", "district=Harbour").out
    assert one == two
    assert "district = Harbour" in one


def test_parts_add_up(nb: Path) -> None:
    (found,) = done("explain", nb, "area=90", "district=Harbour", "--json").json
    total = found["base"] + sum(each["effect"] for each in found["reasons"])
    assert found["total"] == pytest.approx(total)
    assert found["probability"] == pytest.approx(1 / (1 + np.exp(-found["total"])))


def test_an_empty_cell_is_missing(nb: Path) -> None:
    assert done("explain", nb, "area=").out == done("explain", nb, "{}").out


def test_a_file_with_an_equals_sign_is_a_table(nb: Path, houses: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "year=2022.csv", houses.read_text(encoding="utf-8"))
    assert done("explain", nb, path, "-n", 1).lines[0] == "row 1"


def test_what_is_no_row(nb: Path, houses: Path) -> None:
    assert "did you mean 'area'?" in refused("explain", nb, "aera=90", code=2)
    assert "is not a JSON object" in refused("explain", nb, '{"area": 90', code=2)
    assert "'foo' is neither a table nor COLUMN=VALUE" in refused("explain", nb, "foo", "bar", code=2)
    assert "holds 'abc'" in refused("explain", nb, "area=abc", code=1)
    assert "has 800 rows: there is no row 801" in refused("explain", nb, houses, "--row", 801, code=1)


def test_a_table_without_rows_has_no_reasons(nb: Path, houses: Path, tmp_path: Path) -> None:
    header = written(tmp_path / "t.csv", houses.read_text(encoding="utf-8").splitlines(keepends=True)[0])
    assert "no rows" in refused("explain", nb, header, code=1)


# info


def test_info_of_a_table_s_model(nb: Path) -> None:
    out = done("info", nb).out
    assert out.startswith("nb: naive Bayes")
    assert "predicts  sold_fast (classes: no, yes)" in out
    assert "learned   800 rows" in out
    found = done("info", nb, "--json").json
    assert (found["model"], found["rows"], found["bytes"]) == ("nb", 800, nb.stat().st_size)


def test_info_says_what_a_model_can(nb: Path, logistic: Path) -> None:
    assert "merge, forget" in done("info", nb).out
    assert "forget" not in done("info", logistic).out


def test_info_of_other_models(words: Path, tmp_path: Path) -> None:
    assert done("info", words, "--json").json["kind"] == "TextClassifier"
    x = np.random.default_rng(0).normal(size=(40, 2))
    library.GDA().fit(x, np.arange(40) % 2).save(tmp_path / "gda.model")
    assert done("info", tmp_path / "gda.model").out.startswith("GDA\n")
    assert done("info", tmp_path / "gda.model", "--json").json["classes"] == [0, 1]


# sample


def test_rows_are_drawn(nb: Path, tmp_path: Path) -> None:
    first = done("sample", nb, "-n", 50, "--seed", 1)
    assert done("sample", nb, "-n", 50, "--seed", 1).raw == first.raw
    assert done("sample", nb, "-n", 50, "--seed", 2).raw != first.raw
    rows = cells(first.out)
    assert len(rows) == 50
    assert {row["sold_fast"] for row in rows} == {"no", "yes"}
    done("sample", nb, "-n", 50, "--seed", 1, "-o", tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_bytes() == first.raw


def test_a_drawn_table_can_be_learnt(nb: Path, tmp_path: Path) -> None:
    done("sample", nb, "-n", 3000, "--seed", 1, "-o", tmp_path / "rows.parquet")
    words = ("fit", tmp_path / "rows.parquet", "-t", "sold_fast", "-m", "nb", "--json")
    assert done(*words).json["candidates"][0]["measures"]["accuracy"] > 0.6


def test_no_rows_are_a_header(nb: Path) -> None:
    assert done("sample", nb, "-n", 0).lines == done("sample", nb, "-n", 1).lines[:1]


# impute


def test_missing_cells_are_filled_in(nb: Path, houses: Path, table: list[dict[str, str]]) -> None:
    ran = done("impute", nb, houses)
    gaps = sum(cell == "" for row in table for cell in row.values())
    assert ran.err == f"{gaps} cells of 800 rows filled in\n"
    rows = cells(ran.out)
    assert not any(cell == "" for row in rows for cell in row.values())
    for before, after in zip(table, rows, strict=True):
        assert all(after[name] == cell for name, cell in before.items() if cell and name not in ("area", "price"))
        assert before["area"] == "" or float(before["area"]) == float(after["area"])


def test_cells_can_be_drawn(nb: Path, houses: Path, tmp_path: Path) -> None:
    header, *rows = houses.read_text(encoding="utf-8").splitlines(keepends=True)
    gaps = written(tmp_path / "gaps.csv", header + "".join([row for row in rows if ",," in row][:30]))
    plain, one, two, again = (
        done("impute", nb, gaps, *words).raw
        for words in ((), ("--draw",), ("--draw", "--seed", 1), ("--draw", "--seed", 1))
    )
    assert two == again
    assert len({plain, one, two}) == 3


def test_imputed_tables_are_written(nb: Path, houses: Path, tmp_path: Path) -> None:
    path = tmp_path / "whole.tsv"
    assert done("impute", nb, houses, "-o", path).err.endswith(f"written to {path}\n")
    assert len(path.read_text(encoding="utf-8").splitlines()) == 801


# outliers


def test_the_strangest_row_comes_first(nb: Path, houses: Path, tmp_path: Path) -> None:
    text = houses.read_text(encoding="utf-8")
    strange = 'H-99999,2022-06-01,9999,3,1938,true,Hillside,gas,F,"Well planned cottage",285.2,9,no\n'
    path = written(tmp_path / "t.csv", text + strange)
    found = done("outliers", nb, path, "-n", 3, "--json").json
    assert found[0]["row"] == 801
    assert found[0]["strange"][0][0] == "area"
    assert [each["log_evidence"] for each in found] == sorted(each["log_evidence"] for each in found)
    lines = done("outliers", nb, path, "-n", 3).lines
    assert lines[1].split()[:2] == ["801", "H-99999"]
    assert "area = 9999" in lines[1]


def test_cells_of_other_columns_are_shown(nb: Path, houses: Path, tmp_path: Path) -> None:
    rows = pa.csv.read_csv(houses).slice(0, 3)
    rows = rows.append_column("sure", pa.array([True, False, True])).append_column("agent", pa.array(["x", None, "z"]))
    pa.parquet.write_table(rows, tmp_path / "t.parquet")
    one, two, three = sorted(line.split() for line in done("outliers", nb, tmp_path / "t.parquet").lines[1:])
    assert (one[2:4], two[2], three[2:4]) == (["true", "x"], "false", ["true", "z"])
    assert float(two[3]) < 0, "the agent is missing"


def test_every_row_has_a_line_where_there_is_no_terminal(nb: Path, houses: Path) -> None:
    assert len(done("outliers", nb, houses, "-n", 3).lines) == 4


def test_evidence_is_the_library_s(nb: Path, houses: Path) -> None:
    evidence = np.sort(library.load(nb).log_evidence(str(houses)))[:5]
    found = done("outliers", nb, houses, "-n", 5, "--json").json
    np.testing.assert_allclose([each["log_evidence"] for each in found], evidence, rtol=1e-9)


def test_json_is_strict(nb: Path, houses: Path, tmp_path: Path) -> None:
    assert json.loads(done("outliers", nb, houses, "--json").raw)[0]["cells"]["id"].startswith("H-")
