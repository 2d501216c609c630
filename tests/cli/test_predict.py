"""suffice predict: predictions in every format, with the columns that identify rows."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import suffice as library
from tests.cli.command import done, process, refused, suffice, written


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file as written, whatever its format."""
    name = path.name
    if name.endswith((".csv", ".tsv")):
        text = path.read_text(encoding="utf-8")
    elif name.endswith(".gz"):
        text = gzip.decompress(path.read_bytes()).decode()
    elif name.endswith(".jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines()
        return [{key: str(cell) for key, cell in json.loads(line).items()} for line in lines]
    else:
        table = pq.read_table(path) if name.endswith(".parquet") else pa.ipc.open_file(path).read_all()
        return [{key: str(cell) for key, cell in row.items()} for row in table.to_pylist()]
    return list(csv.DictReader(io.StringIO(text), delimiter="\t" if name.endswith(".tsv") else ","))


@pytest.fixture(scope="module")
def plain(nb: Path, houses: Path) -> bytes:
    """The answers for the houses, on standard output."""
    ran = done("predict", nb, houses)
    assert ran.err == ""
    return ran.raw


@pytest.fixture(scope="module")
def expected(nb: Path, houses: Path) -> tuple[list[str], np.ndarray]:
    """The classes and the probabilities that the library gives the houses."""
    model = library.load(nb)
    return model.predict(str(houses)).tolist(), model.predict_proba(str(houses))


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", ".jsonl", ".csv.gz"])
def test_every_format_holds_the_same_answers(
    nb: Path, houses: Path, expected: tuple[list[str], np.ndarray], tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"answers{ending}"
    ran = done("predict", nb, houses, "-o", path)
    assert (ran.out, ran.err) == ("", f"800 rows written to {path}\n")
    rows = rows_of(path)
    assert list(rows[0]) == ["id", "prediction", "probability"]
    assert [row["prediction"] for row in rows] == expected[0]
    np.testing.assert_allclose([float(row["probability"]) for row in rows], expected[1].max(axis=1), rtol=1e-12)
    assert [rows[0]["id"], rows[-1]["id"]] == ["H-00001", "H-00800"]
    assert list(tmp_path.iterdir()) == [path]


def test_standard_output_is_csv_and_nothing_else(nb: Path, houses: Path, plain: bytes, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    done("predict", nb, houses, "-o", path)
    assert plain == path.read_bytes()
    assert done("predict", nb, houses, "-o", "-").raw == plain


def test_probabilities_of_every_class(nb: Path, houses: Path, expected: tuple[list[str], np.ndarray]) -> None:
    rows = list(csv.DictReader(io.StringIO(done("predict", nb, houses, "--probabilities").out)))
    found = [[float(row["p(no)"]), float(row["p(yes)"])] for row in rows]
    np.testing.assert_allclose(found, expected[1], rtol=1e-12)


def test_reasons(nb: Path, houses: Path) -> None:
    (row, *_) = csv.DictReader(io.StringIO(done("predict", nb, houses, "--explain").out))
    explained = library.load(nb).explain(pa.csv.read_csv(houses).slice(0, 1))[0]
    parts = row["reasons"].split("; ")
    assert len(parts) == 3
    for part, reason in zip(parts, explained.contributions[:3], strict=True):
        assert part.startswith(f"{reason.feature} = ")
        assert part.endswith(f"({reason.effect:+.2f})")


def test_columns_to_keep(nb: Path, houses: Path) -> None:
    header = done("predict", nb, houses, "--keep", "area", "--keep", "sold_fast").lines[0]
    assert header == '"area","sold_fast","prediction","probability"'
    columns = houses.read_text(encoding="utf-8").splitlines()[0].split(",")
    header = done("predict", nb, houses, "--keep-all").lines[0]
    assert header.replace('"', "").split(",") == [*columns, "prediction", "probability"]


def test_columns_that_the_model_does_not_know_are_kept(nb: Path, houses: Path, tmp_path: Path) -> None:
    lines = houses.read_text(encoding="utf-8").splitlines()[:3]
    table = written(tmp_path / "t.csv", "\n".join(f"{line},{end}" for line, end in zip(lines, "sxy", strict=True)))
    rows = list(csv.DictReader(io.StringIO(done("predict", nb, table).out)))
    assert [(row["id"], row["s"]) for row in rows] == [("H-00001", "x"), ("H-00002", "y")]


def test_a_column_called_prediction_is_told_apart(tmp_path: Path) -> None:
    text = "prediction,a,y\n" + "".join(f"{'uv'[n % 2]},{n},{'no' if n < 9 else 'yes'}\n" for n in range(20))
    table = written(tmp_path / "t.csv", text)
    done("fit", table, "-t", "y", "-m", "nb", "-o", tmp_path / "m.suffice")
    header = done("predict", tmp_path / "m.suffice", table, "--keep", "prediction").lines[0]
    assert header == '"prediction (given)","prediction","probability"'


def test_the_target_need_not_be_there(nb: Path, houses: Path, plain: bytes, tmp_path: Path) -> None:
    lines = houses.read_text(encoding="utf-8").splitlines()
    bare = written(tmp_path / "bare.csv", "\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    assert done("predict", nb, bare).raw == plain


def test_columns_may_come_in_any_order(nb: Path, houses: Path, plain: bytes, tmp_path: Path) -> None:
    rows = list(csv.reader(io.StringIO(houses.read_text(encoding="utf-8"))))
    turned = tmp_path / "turned.csv"
    with turned.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(row[::-1] for row in rows)
    assert done("predict", nb, turned).raw == plain


@pytest.mark.parametrize("model", ["prices", "viewings"])
def test_numbers_and_counts(request: pytest.FixtureRequest, houses: Path, model: str) -> None:
    path = request.getfixturevalue(model)
    rows = list(csv.DictReader(io.StringIO(done("predict", path, houses).out)))
    assert list(rows[0]) == ["id", "prediction"]
    expected = library.load(path).predict(str(houses))
    np.testing.assert_allclose([float(row["prediction"]) for row in rows], expected, rtol=1e-12)


def test_numbers_have_no_probabilities(prices: Path, houses: Path) -> None:
    assert "numbers" in refused("predict", prices, houses, "--probabilities", code=2)


def test_unseen_categories_are_predicted_and_said(nb: Path, houses: Path, tmp_path: Path) -> None:
    text = "".join(houses.read_text(encoding="utf-8").splitlines(keepends=True)[:3])
    table = written(tmp_path / "t.csv", text.replace("Hillside", "Moon").replace(",gas,", ",coal,"))
    ran = done("predict", nb, table)
    assert len(ran.lines) == 3
    assert ran.err.splitlines() == [
        "note: column 'district' has categories that the model has not seen: 'Moon'",
        "note: column 'heating' has categories that the model has not seen: 'coal'",
    ]
    assert done("predict", nb, table, "-q").err == ""


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_no_rows_give_a_table_without_rows(nb: Path, houses: Path, tmp_path: Path, ending: str) -> None:
    header = written(tmp_path / "t.csv", houses.read_text(encoding="utf-8").splitlines(keepends=True)[0])
    path = tmp_path / f"answers{ending}"
    done("predict", nb, header, "-o", path)
    names = pq.read_schema(path).names if ending == ".parquet" else path.read_text().strip().replace('"', "").split(",")
    assert names == ["id", "prediction", "probability"]


def test_a_long_table_is_streamed(
    nb: Path, houses: Path, expected: tuple[list[str], np.ndarray], tmp_path: Path
) -> None:
    header, *rows = houses.read_text(encoding="utf-8").splitlines(keepends=True)
    table = tmp_path / "long.csv"
    table.write_text(header + "".join(rows) * 175, encoding="utf-8")
    path = tmp_path / "answers.parquet"
    assert done("predict", nb, table, "-o", path).err == f"140,000 rows written to {path}\n"
    found = pq.read_table(path)
    assert pq.ParquetFile(path).num_row_groups > 1, "the rows came in several batches"
    assert found.column("prediction").to_pylist() == expected[0] * 175
    assert found.column("id").to_pylist()[-1] == "H-00800"


def test_the_old_answers_are_replaced(nb: Path, houses: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "answers.csv", "old")
    done("predict", nb, houses, "-o", path)
    assert len(path.read_text().splitlines()) == 801


def test_answers_may_take_the_place_of_the_table(nb: Path, houses: Path, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", houses.read_text(encoding="utf-8"))
    done("predict", nb, table, "--keep-all", "-o", table)
    assert len(table.read_text(encoding="utf-8").splitlines()) == 801


def test_a_link_stays_a_link(nb: Path, houses: Path, tmp_path: Path) -> None:
    target = written(tmp_path / "real.csv", "old")
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    done("predict", nb, houses, "-o", link)
    assert link.is_symlink()
    assert len(target.read_text().splitlines()) == 801


@pytest.mark.slow
def test_answers_go_down_a_pipe(nb: Path, houses: Path) -> None:
    ran = process("predict", nb, "-", input=houses.read_bytes())
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout == done("predict", nb, houses).raw


def test_nothing_is_written_where_a_column_is_not_there(nb: Path, houses: Path, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    assert suffice("predict", nb, houses, "--keep", "aera", "-o", path).code == 2
    assert not path.exists()


def test_cells_that_a_spreadsheet_would_run(tmp_path: Path) -> None:
    table, model, answers = tmp_path / "t.csv", tmp_path / "m", tmp_path / "a.csv"
    cells = ["=cmd|x", "+1", "-2+3+cmd", "@sum", "plain", "-foo"]
    table.write_text("=name,y\n" + "".join(f"{cell},{'uv'[row % 2]}\n" for row, cell in enumerate(cells * 4)))
    done("fit", table, "-t", "y", "-m", "nb", "--kind", "=name=category", "-o", model)
    ran = done("predict", model, table, "--keep-all", "-o", answers)
    assert "would run 16 cells" in ran.err
    assert [row["=name"] for row in rows_of(answers)] == cells * 4
    ran = done("predict", model, table, "--keep-all", "--safe-csv", "-o", answers)
    assert "formulas" not in ran.err
    assert [row["'=name"] for row in rows_of(answers)][:6] == ["'=cmd|x", "+1", "'-2+3+cmd", "'@sum", "plain", "'-foo"]


def test_cells_outside_of_the_range_of_the_fit_are_told(tmp_path: Path) -> None:
    rows = "".join(f"{row % 50 / 4 + 100},{'ab'[row % 3 == 0]}\n" for row in range(200))
    model = tmp_path / "m"
    done("fit", written(tmp_path / "t.csv", "x,y\n" + rows), "-t", "y", "-m", "nb", "-o", model)
    cents = written(tmp_path / "cents.csv", "x\n10050\n10000\n101\n")
    message = (
        "column 'x': 2 of 3 cells are outside of the range of the fit, 100 to 112.25: check their unit and notation"
    )
    assert message in done("predict", model, cents).err
    assert done("predict", model, tmp_path / "t.csv").err == ""
