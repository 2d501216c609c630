"""suffice fit --formula, and what the commands do with its model."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from suffice import formula, load
from tests.cli.command import done, suffice
from tests.formula.tables import births

FORMULA = "low ~ age + C(race, Treatment('white')) * smoke + bs(lwt, 4)"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("births") / "births.csv"
    births().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(table: Path) -> Path:
    path = table.parent / "low.suffice"
    done("fit", table, "--formula", FORMULA, "--positive", "yes", "-o", path, "--quiet")
    return path


def test_fit_prints_the_summary_and_saves_the_model(table: Path, tmp_path: Path) -> None:
    ran = done("fit", table, "--formula", FORMULA, "-o", tmp_path / "model")
    expected = formula.fit(FORMULA, births())
    assert ran.out.strip() == str(expected.summary()).strip()
    assert "race: reference level white" in ran.out
    assert "saved to" in ran.err
    assert load(tmp_path / "model").coefficients == pytest.approx(expected.coefficients)


def test_fit_as_json_with_a_family(table: Path) -> None:
    found = done("fit", table, "--formula", "visits ~ age", "--family", "poisson", "--exposure", "days", "--json").json
    expected = formula.fit("visits ~ age", births(), family="poisson", exposure="days")
    rows = {each["name"]: each["coefficient"] for each in found["summary"]["coefficients"]}
    assert rows == pytest.approx(expected.coefficients)
    assert (found["rows"], found["rows_with_missing_cells"]) == (300, 0)


def test_predictions_have_gaps_where_cells_are_missing(table: Path, model: Path) -> None:
    ran = done("predict", model, table, "--keep", "age", "--probabilities", "--explain")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    expected = load(model).predict_proba(births())
    assert len(rows) == 300
    assert [row["prediction"] for row in rows[4:6]] == ["no", ""]
    assert float(rows[0]["p(yes)"]) == pytest.approx(expected[0, 1])
    assert "smoke = True (+1.26)" in rows[0]["reasons"]
    assert "3 rows with missing cells have no prediction" in ran.err


def test_evaluate_explain_info_and_summary(table: Path, model: Path) -> None:
    found = done("evaluate", model, table, "--json").json
    assert found["rows"] == 297
    assert found["classes"] == ["no", "yes"]
    assert done("explain", model, table, "--row", 3).out.startswith("row 3\nyes: probability 0.6990")
    by_cells = done("explain", model, "age=35", "race=other", "smoke=True", "lwt=87.5").out
    assert by_cells == done("explain", model, table, "--row", 3).out.partition("\n")[2]
    info = done("info", model).out
    assert "LogisticRegression: low ~ age" in info
    assert "levels    race: black, other, white" in info
    assert done("info", model, "--json").json["rows_with_missing_cells"] == 3
    assert "bs(lwt, 4)[4]" in done("summary", model).out
    assert done("summary", model, "--json", "--level", 0.9).json["level"] == 0.9


def test_a_column_of_digits_is_read_as_text_where_asked(table: Path) -> None:
    ran = done("fit", table, "--formula", "bwt ~ hospital", "--kind", "hospital=category")
    assert "hospital[2]" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--formula", "low ~ agge"], "did you mean 'age'?"),
        (["--formula", "low ~ age", "--model", "nb"], "--model does not go with --formula"),
        (["--formula", "low ~ age", "--target", "low"], "--target does not go with --formula"),
        (["--formula", "low ~ age", "--kind", "age=numeric"], "write C(age) for a category"),
        (["--formula", "low ~ __import__('os')"], "is not a function of formulas"),
        (["--formula", "low ~ age", "--positive", "ja"], "has no level 'ja'"),
        (["--target", "low", "--family", "poisson"], "--family goes with --formula"),
        ([], "--target, or a regression with --formula"),
    ],
)
def test_wrong_usage_is_explained(words: list[str], message: str, table: Path) -> None:
    ran = suffice("fit", table, *words)
    assert ran.code == 2
    assert message in ran.err


def test_explain_asks_for_every_cell(model: Path) -> None:
    ran = suffice("explain", model, "age=35", "race=other")
    assert (ran.code, "the formula reads 'smoke': give smoke=VALUE" in ran.err) == (2, True)
    assert "smoke must" not in suffice("explain", model, "age=x", "race=other").out


@pytest.mark.parametrize("command", ["sample", "sql", "report", "merge", "update", "forget", "impute", "outliers"])
def test_other_commands_refuse_in_words(command: str, table: Path, model: Path, tmp_path: Path) -> None:
    words: dict[str, list[object]] = {
        "sample": [model],
        "sql": [model],
        "report": [model, table, "-o", tmp_path / "report.html"],
        "merge": [model, model, "-o", tmp_path / "both"],
        "outliers": [model, table],
    }
    ran = suffice(command, *words.get(command, [model, table, "-o", tmp_path / "out.csv"]))
    assert ran.code == 1
    assert "is the model of a formula" in ran.err


def test_summary_of_a_model_without_coefficients_is_refused(nb: Path) -> None:
    ran = suffice("summary", nb)
    assert ran.code == 1
    assert "coefficients" in ran.err
