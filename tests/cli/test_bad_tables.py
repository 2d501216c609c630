"""Tables that cannot be used: exit code 1 or 2, and one sentence with the cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import done, refused, written


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Where a bad table is written."""
    return tmp_path / "t.csv"


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_no_file(table: Path, command: str) -> None:
    sentence = refused(command, table, "-t", "y", code=2)
    assert sentence == f"error: there is no file {table}: check its name and folder"


@pytest.mark.parametrize("command", ["predict", "evaluate", "impute", "outliers", "explain", "update", "forget"])
def test_no_file_for_a_model(nb: Path, table: Path, command: str) -> None:
    assert f"there is no file {table}" in refused(command, nb, table, code=2)


def test_an_empty_file(table: Path) -> None:
    assert f"{table} is empty" in refused("fit", written(table, ""), "-t", "y", code=1)


def test_a_header_alone(table: Path) -> None:
    assert f"{table} has no rows" in refused("fit", written(table, "a,y\n"), "-t", "y", code=1)


def test_a_target_of_one_value(table: Path) -> None:
    sentence = refused("fit", written(table, "a,y\n1.5,x\n2.5,x\n3.5,x\n"), "-t", "y", code=1)
    assert "the target 'y' is always 'x'" in sentence


def test_a_target_without_values(table: Path) -> None:
    sentence = refused("fit", written(table, "a,y\n1.5,\n2.5,\n3.5,NA\n"), "-t", "y", code=1)
    assert "all cells of the target 'y' are missing" in sentence


def test_a_target_with_a_value_for_every_row(houses: Path) -> None:
    sentence = refused("fit", houses, "-t", "note", code=1)
    assert "the target 'note' has" in sentence
    assert "choose another target" in sentence


def test_dates_are_no_target(houses: Path) -> None:
    assert "the target 'listed' holds dates" in refused("fit", houses, "-t", "listed", code=1)


def test_a_column_without_values_is_ignored_and_said(table: Path) -> None:
    text = "a,c,y\n" + "".join(f"{n / 3},,{'xy'[n > 9]}\n" for n in range(20))
    ran = done("fit", written(table, text), "-t", "y", "-m", "nb")
    assert "  ignored   c (all cells are missing)" in ran.lines


def test_nothing_to_predict_from(table: Path) -> None:
    sentence = refused("fit", written(table, "a,y\n,x\n,z\n,x\n"), "-t", "y", code=1)
    assert "no column is left to predict 'y' from" in sentence
    assert "a: all cells are missing" in sentence


def test_a_ragged_line(table: Path) -> None:
    sentence = refused("fit", written(table, "a,c,y\n1,2,x\n2,3\n3,3,z\n"), "-t", "y", code=1)
    assert f"line 3 of {table} has 2 cells where the first has 3" in sentence
    assert "complete the line" in sentence


def test_a_quote_that_is_never_closed(table: Path) -> None:
    text = "a,c,y\n" + "".join(f"{n},k,x\n" for n in range(30)) + '1,"open,x\n2,k,z\n'
    assert str(table) in refused("fit", written(table, text), "-t", "y", code=1)


def test_columns_of_the_same_name(table: Path) -> None:
    text = "a,a,y\n" + "".join(f"{n / 3},{n / 7},{'xy'[n > 9]}\n" for n in range(20))
    ran = done("fit", written(table, text), "-t", "y", "-m", "nb", "--json").json
    assert len({each["name"] for each in ran["columns"]}) == 2


def test_damaged_files_of_other_formats(tmp_path: Path) -> None:
    for name in ("t.parquet", "t.arrow", "t.csv.gz", "t.sqlite", "t.duckdb", "t.jsonl"):
        path = tmp_path / name
        path.write_bytes(b"no such thing, at all" * 3)
        assert str(path) in refused("fit", path, "-t", "y", code=1), name


def test_an_empty_folder(tmp_path: Path) -> None:
    assert "a folder without tables" in refused("fit", tmp_path, "-t", "y", code=1)


def test_a_folder_of_several_formats(tmp_path: Path) -> None:
    written(tmp_path / "a.csv", "a,y\n1,x\n")
    written(tmp_path / "b.jsonl", '{"a": 1}\n')
    assert "several formats (csv, json)" in refused("fit", tmp_path, "-t", "y", code=1)


# Tables that do not suit a model.


def test_columns_that_are_lacking_are_named(nb: Path, houses: Path, table: Path) -> None:
    text = houses.read_text(encoding="utf-8").replace("heating", "Heating ", 1).replace("rooms", "room_count", 1)
    for command in ("predict", "evaluate", "update"):
        sentence = refused(command, nb, written(table, text), code=1)
        assert "lacks the columns 'rooms', 'heating'" in sentence
        assert str(table) in sentence


def test_one_column_that_is_lacking_suggests_the_nearest(nb: Path, houses: Path, table: Path) -> None:
    text = houses.read_text(encoding="utf-8").replace("heating", "Heating ", 1)
    sentence = refused("predict", nb, written(table, text), code=1)
    assert "lacks the column 'heating'" in sentence
    assert "did you mean 'Heating'?" in sentence


def test_the_target_is_needed_to_evaluate(nb: Path, houses: Path, table: Path) -> None:
    lines = houses.read_text(encoding="utf-8").splitlines()
    written(table, "\n".join(line.rpartition(",")[0] for line in lines))
    assert "'sold_fast'" in refused("evaluate", nb, table, code=1)


def test_a_type_that_changed(nb: Path, houses: Path, table: Path) -> None:
    text = houses.read_text(encoding="utf-8").replace(",92.9,", ",large,", 1)
    sentence = refused("predict", nb, written(table, text), code=1)
    assert "column 'area'" in sentence
    assert "row 1 holds 'large'" in sentence
    assert "correct the cell" in sentence


def test_classes_that_the_model_does_not_know(nb: Path, houses: Path, table: Path) -> None:
    text = houses.read_text(encoding="utf-8").replace(",no\n", ",perhaps\n", 1)
    ran = done("evaluate", nb, written(table, text))
    assert "1 row of classes that the model does not know (perhaps) count as errors" in ran.err


def test_errors_have_no_dangling_punctuation(houses: Path) -> None:
    assert "?;" not in refused("fit", houses, "-t", "sold_fst", code=2)
