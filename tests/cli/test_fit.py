"""suffice fit: output, model file and options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import suffice as library
from suffice.model_types import models_of
from tests.cli.command import Ran, done, suffice, written

#: Fewer fits, where it does not matter how well a model is judged.
FEW_FOLDS = ("--folds", 2)
#: Fewer columns of a matrix, where it does not matter which there are.
FEW_COLUMNS = ("--ignore", "listed", "--ignore", "note", "--ignore", "energy")


def kinds(*words: object) -> dict[str, str]:
    """Return what a fit takes the columns for."""
    return {each["name"]: each["kind"] for each in done("fit", *words, "--json").json["columns"]}


@pytest.fixture(scope="module")
def chosen(houses: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    """What is said where no model is named, and the file of the model."""
    path = tmp_path_factory.mktemp("chosen") / "model.suffice"
    return done("fit", houses, "--target", "sold_fast", *FEW_FOLDS, "-o", path), path


@pytest.fixture(scope="module")
def said(houses: Path) -> Ran:
    """What is said of a model that is named and not saved."""
    return done("fit", houses, "-t", "sold_fast", "-m", "nb")


def test_a_model_is_chosen_and_saved(houses: Path, chosen: tuple[Ran, Path]) -> None:
    ran, path = chosen
    model = library.load(path)
    assert model.rows_ == 800
    assert f"{houses}: 800 rows" in ran.out
    assert "sold_fast: 2 classes (no 442, yes 358)" in ran.out
    assert f"chosen: {model.model_} " in ran.out
    assert ran.err.startswith(f"saved to {path} (")
    assert list(path.parent.iterdir()) == [path]


def test_the_same_as_json(houses: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.suffice"
    found = done("fit", houses, "--target", "sold_fast", "--folds", 2, "-o", path, "--json").json
    model = library.load(path)
    assert found["table"] == str(houses)
    assert (found["target"], found["task"], found["classes"]) == ("sold_fast", "classes", ["no", "yes"])
    assert (found["rows"], found["rows_without_target"], found["rows_fitted"]) == (800, 0, 800)
    assert found["saved"] == str(path)
    assert found["seconds"] > 0
    assert found["model"] == model.model_ == found["candidates"][0]["model"]
    losses = [each["loss"] for each in found["candidates"] if each["loss"] is not None]
    assert losses == sorted(losses)
    columns = [(each["name"], each["kind"]) for each in found["columns"]]
    assert columns[:6] == [
        *(("id", "ignore"), ("listed", "date"), ("area", "numeric")),
        *(("rooms", "count"), ("built", "numeric"), ("garden", "boolean")),
    ]
    assert columns[6:] == [
        *(("district", "category"), ("heating", "category"), ("energy", "category")),
        *(("note", "text"), ("price", "numeric"), ("viewings", "count")),
    ]


def test_candidates_come_best_first_and_bear_their_kind(chosen: tuple[Ran, Path]) -> None:
    lines = chosen[0].lines
    first = next(place for place, line in enumerate(lines) if line.startswith("model")) + 1
    shown = [line.split() for line in lines[first : lines.index("", first)]]
    generative = {row[0]: row[1] for row in shown}
    assert generative["nb"] == generative["gda"] == "generative"
    assert generative["logistic"] == generative["additive"] == "discriminative"
    losses = [float(row[2]) for row in shown]
    assert losses == sorted(losses)


@pytest.mark.parametrize(
    ("target", "task", "measure"),
    [("sold_fast", "classes", "log loss"), ("price", "numbers", "RMSE"), ("viewings", "counts", "Poisson deviance")],
)
def test_the_task_is_found_out(houses: Path, target: str, task: str, measure: str) -> None:
    words = ("fit", houses, "-t", target, "-m", {"classes": "nb", "numbers": "linear", "counts": "poisson"}[task])
    assert done(*words, *FEW_FOLDS, *FEW_COLUMNS, "--json").json["task"] == task
    assert measure in done(*words, *FEW_FOLDS, *FEW_COLUMNS).out


def test_the_task_can_be_said(houses: Path) -> None:
    few = (*FEW_FOLDS, *FEW_COLUMNS, "--json")
    found = done("fit", houses, "-t", "viewings", "--task", "numbers", "-m", "linear", *few).json
    assert found["task"] == "numbers"
    found = done("fit", houses, "-t", "rooms", "--task", "classes", "-m", "nb", *few).json
    assert found["task"] == "classes"
    assert found["classes"] == sorted(found["classes"])


@pytest.mark.parametrize("model", [name for name in models_of("classes") if name != "local"])
def test_every_model_of_classes_can_be_asked_for(houses: Path, model: str) -> None:
    ignored = ("--ignore", "listed", "--ignore", "built", "--ignore", "energy")
    found = done("fit", houses, "-t", "sold_fast", "-m", model, *FEW_FOLDS, *ignored, "--json").json
    assert found["model"] == model
    assert 0.6 < found["candidates"][0]["measures"]["accuracy"] < 1


@pytest.mark.parametrize("model", [name for name in models_of("counts") if name != "local"])
def test_every_model_of_counts_can_be_asked_for(houses: Path, model: str) -> None:
    words = ("fit", houses, "-t", "viewings", "-m", model, *FEW_FOLDS, *FEW_COLUMNS, "--json")
    assert done(*words).json["model"] == model


def test_a_local_model_can_be_asked_for(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "".join(f"{n / 3},{'x' if n % 20 < 8 else 'y'}\n" for n in range(20)))
    assert done("fit", table, "-t", "b", "-m", "local", "--folds", "2", "--json").json["model"] == "local"


def test_columns_can_be_ignored_and_given_kinds(houses: Path) -> None:
    asked = ("-t", "sold_fast", "-m", "nb", "--kind", "built=category", "--kind", "rooms=numeric", "--ignore", "note")
    found = kinds(houses, *asked)
    assert (found["built"], found["rooms"], found["note"]) == ("category", "numeric", "ignore")


def test_the_reason_for_ignoring_is_given(houses: Path) -> None:
    out = done("fit", houses, "-t", "sold_fast", "-m", "nb", "--ignore", "note").out
    assert "id (an identifier: nearly all values are distinct)" in out
    assert "note (set by the user)" in out


def test_a_kind_that_does_not_suit_is_not_dropped_in_silence(houses: Path) -> None:
    ran = suffice("fit", houses, "-t", "sold_fast", "-m", "nb", "--kind", "price=count")
    assert "'price'" in ran.err


def test_missing_cells_are_counted(houses: Path, said: Ran) -> None:
    rows = [line.split(",")[2] for line in houses.read_text(encoding="utf-8").splitlines()[1:]]
    assert f"area ({100 * rows.count('') / 800:.1f} % missing)" in said.out


def test_what_stands_for_nothing_can_be_said(houses: Path) -> None:
    gas = houses.read_text(encoding="utf-8").count(",gas,")
    none = sum(line.split(",")[7] == "" for line in houses.read_text(encoding="utf-8").splitlines())
    out = done("fit", houses, "-t", "sold_fast", "-m", "nb", "--missing", "gas", "--missing", "G").out
    assert f"heating ({100 * (gas + none) / 800:.1f} % missing)" in out


def test_the_same_seed_gives_the_same_file(houses: Path, tmp_path: Path) -> None:
    def candidates(seed: int) -> list[tuple[str, float]]:
        found = done("fit", houses, "-t", "sold_fast", "-m", "nb", "--seed", seed, "--json").json
        return [(each["model"], each["loss"]) for each in found["candidates"]]

    found = candidates(3)
    assert candidates(3) == found
    assert candidates(4) != found


def test_rows_limits_what_a_model_is_fitted_to(tmp_path: Path) -> None:
    table = tmp_path / "long.csv"
    lines = (
        f"{number % 97},{number % 89},{'y' if number % 97 + number % 89 > 90 else 'n'}" for number in range(40_000)
    )
    table.write_text("a,b,c\n" + "\n".join(lines) + "\n")
    words = ("fit", table, "-t", "c", "-m", "logistic", *FEW_FOLDS)
    assert done(*words, "--rows", "35,000", "--json").json["rows_fitted"] == 35_000
    assert done(*words, "--rows", "all", "--json").json["rows_fitted"] == 40_000
    model = tmp_path / "model.suffice"
    remark = "logistic was fitted to 35,000 of 40,000 rows, drawn at random"
    assert remark in done(*words, "--rows", "35_000", "-o", model).out
    assert remark in done("info", model).out


def test_folds_change_how_models_are_judged(houses: Path) -> None:
    losses = {
        done("fit", houses, "-t", "sold_fast", "-m", "nb", "--folds", folds, "--json").json["candidates"][0]["loss"]
        for folds in (2, 10)
    }
    assert len(losses) == 2


def test_a_model_that_is_not_saved_is_remarked_upon(houses: Path, said: Ran) -> None:
    assert said.err == "note: the model was not saved: use -o model.suffice\n"
    assert done("fit", houses, "-t", "sold_fast", "-m", "nb", "-q").err == ""


def test_rows_without_a_target_are_left_out_and_said(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "".join(f"{n / 3},{'' if n % 5 == 0 else 'xy'[n % 2]}\n" for n in range(40)))
    ran = done("fit", table, "-t", "b", "-m", "nb")
    assert "8 rows without b were skipped" in ran.err
    assert ": 32 rows" in ran.out


def test_many_classes_are_cut_short(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "".join(f"{n / 3},c{n % 12}\n" for n in range(120)))
    assert re.search(r"12 classes \(c0 10, .* and 4 more\)", done("fit", table, "-t", "b", "-m", "nb").out)


def test_measures_of_many_classes_come_without_a_confusion_matrix(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", "a,b\n" + "".join(f"{n % 13 + n / 999},c{n % 13}\n" for n in range(130)))
    done("fit", table, "-t", "b", "-m", "nb", "-o", tmp_path / "m", "-q")
    out = done("evaluate", tmp_path / "m", table).out
    assert "precision" in out
    assert "true \\ predicted" not in out


def test_models_that_cannot_be_fitted_are_left_out_and_said(tmp_path: Path) -> None:
    ran = done("fit", written(tmp_path / "t.csv", "x,y\n0.5,a\n1.5,b\n2.7,a\n3.1,b\n"), "-t", "y")
    assert "note: gda was skipped: The number of samples must be more than the number of classes" in ran.err
    assert "gda " not in ran.out


def test_no_line_ends_in_blanks(said: Ran) -> None:
    assert [line for line in said.lines if line != line.rstrip()] == []


def test_quiet_prints_nothing(houses: Path, tmp_path: Path) -> None:
    ran = done("fit", houses, "-t", "sold_fast", "-m", "nb", "-q", "-o", tmp_path / "model")
    assert (ran.out, ran.err) == ("", "")
    assert done("fit", houses, "-t", "sold_fast", "-m", "nb", "-q", "--json").json["model"] == "nb"


def test_a_ledger_that_a_model_cannot_keep_is_remarked_upon(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", "x,y\n" + "0.5,a\n1.5,b\n2.5,a\n3.5,b\n" * 10)
    ran = done("fit", table, "-t", "y", "-m", "logistic", "--ledger")
    assert "note: no ledger: logistic is not fitted from sums, and cannot forget rows\n" in ran.err


def test_names_of_several_lines_are_printed_in_one(tmp_path: Path) -> None:
    rows = "".join(f"{row % 50 / 4},{'ab'[row % 50 > 20]}\n" for row in range(200))
    path = written(tmp_path / "t.csv", '"price\n(EUR)",y\n' + rows)
    ran = done("fit", path, "-t", "y", "-m", "nb")
    assert "numeric   price (EUR)\n" in ran.out
    assert "is shuffled: price (EUR) " in ran.out
    assert done("fit", path, "-t", "y", "-m", "nb", "--json").json["columns"][0]["name"] == "price\n(EUR)"
