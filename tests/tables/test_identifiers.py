"""Codes made of digits: postcodes, card numbers, telephone numbers and other long integers are no numbers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.generative.columns import infer_kinds, read_columns
from suffice.tables import TableError
from tests.cli.command import done
from tests.tables.tables_data import kinds

N = 200
RANDOM = np.random.default_rng(5)
LONG = {
    "card": [str(each) for each in RANDOM.integers(4 * 10**15, 5 * 10**15, N)],
    "spaced_card": [
        " ".join(str(each)[at : at + 4] for at in (0, 4, 8, 12)) for each in RANDOM.integers(10**15, 10**16, N)
    ],
    "hash": [str(each) for each in RANDOM.integers(10**17, 9 * 10**18, N)],
    "account": [f"{one}{two}" for one, two in RANDOM.integers(10**11, 10**12, (N, 2))],
    "barcode": [str(each) for each in RANDOM.integers(4 * 10**12, 5 * 10**12, N)],
    "telephone": [f"+49 151 {each}" for each in RANDOM.integers(10**6, 10**7, N)],
}
POSTCODES = [f"{each:05}" for each in RANDOM.choice([1067, 1069, 4103, 20095, 80331], N)]


def table(**columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame({**columns, "x": RANDOM.normal(size=N), "y": ["a", "b"] * (N // 2)})


def copied(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table as DuckDB's COPY does."""
    with duckdb.connect() as connection:
        connection.register("frame", frame)
        connection.sql(f"copy frame to '{path}' (header, delimiter ';')")
    return path


@pytest.mark.parametrize("name", LONG)
def test_long_codes_of_a_file_are_identifiers_that_predictions_copy_digit_by_digit(name: str, tmp_path: Path) -> None:
    path = copied(table(**{name: LONG[name]}), tmp_path / "a.csv")
    model = suffice.fit(path, "y", "nb")
    field = model.schema_.field(name)
    assert (field.kind, field.why) == ("ignore", "an identifier: nearly all values are distinct")
    model.save(tmp_path / "m.suffice")
    done("predict", tmp_path / "m.suffice", path, "-o", tmp_path / "p.csv")
    assert pd.read_csv(tmp_path / "p.csv", dtype=str)[name].tolist() == LONG[name]


@pytest.mark.parametrize("name", ["card", "hash", "barcode"])
@pytest.mark.parametrize("kind", ["int64", "object"])
def test_long_codes_of_a_data_frame_are_identifiers(name: str, kind: str) -> None:
    frame = table(**{name: LONG[name]}).astype({name: kind})
    assert kinds(suffice.fit(frame, "y", "nb"))[name] == "ignore"


def test_repeated_card_numbers_are_a_category(tmp_path: Path) -> None:
    path = copied(table(card=LONG["card"][:10] * 20), tmp_path / "a.csv")
    model = suffice.fit(path, "y", "nb")
    assert model.description_.levels()["card"] == tuple(sorted(LONG["card"][:10]))
    (note,) = model.schema_.notes
    assert note.startswith("column 'card': whole numbers of 16 digits are read as names; give --kind card=numeric")
    assert kinds(suffice.fit(path, "y", "nb", columns={"card": "numeric"}))["card"] == "numeric"


def test_card_numbers_among_marks_of_missing_cells_are_names(tmp_path: Path) -> None:
    path = copied(table(card=[*LONG["card"][:9], "n/a"] * 20), tmp_path / "a.csv")
    model = suffice.fit(path, "y", "nb")
    assert set(LONG["card"][:9]) <= set(model.description_.levels()["card"])
    assert "has 16 digits: read as names" in model.schema_.notes[0]


@pytest.mark.parametrize(
    "numbers",
    [
        RANDOM.integers(17 * 10**11, 18 * 10**11, N),  # milliseconds since 1970
        RANDOM.integers(100, 900, N) * 10**12,  # rounded amounts
        RANDOM.integers(10, 10**15, N),  # of any length
        RANDOM.normal(3e20, 1e20, N),
    ],
)
def test_long_quantities_are_numbers(numbers: np.ndarray, tmp_path: Path) -> None:
    frame = table(amount=numbers.tolist())
    assert kinds(suffice.fit(frame, "y", "nb"))["amount"] == "numeric"
    assert kinds(suffice.fit(copied(frame, tmp_path / "a.csv"), "y", "nb"))["amount"] == "numeric"


def test_mixed_naive_bayes_takes_long_codes_for_names() -> None:
    codes = np.array(LONG["hash"][:40], dtype=np.int64)
    assert infer_kinds(read_columns(pd.DataFrame({"code": codes, "x": np.arange(40) / 7})), None) == {
        "code": "ignore",
        "x": "numeric",
    }


def test_postcodes_with_leading_zeros_are_categories_everywhere(tmp_path: Path) -> None:
    path = copied(table(plz=POSTCODES), tmp_path / "a.csv")
    ran = done("fit", path, "-t", "y", "-m", "nb", "-o", tmp_path / "m.suffice", "--json")
    (note,) = ran.json["notes"]
    assert note.startswith("column 'plz': '0")
    assert note.endswith("begins with 0: read as names, not as numbers")
    assert {"name": "plz", "kind": "category", "why": None} in ran.json["columns"]
    model = suffice.load(tmp_path / "m.suffice")
    assert model.description_.levels()["plz"] == ("01067", "01069", "04103", "20095", "80331")
    rows = table(plz=["20095", "80331"] * 100)  # no zeros in this file
    frame = model.predict_proba(rows)
    np.testing.assert_array_equal(model.predict_proba(copied(rows, tmp_path / "b.csv")), frame)
    assert model.explain(rows[:1])[0].contributions
    with pytest.raises(TableError, match="'plz' had codes that begin with 0 at the fit, and holds int64"):
        model.predict(rows.astype({"plz": int}))


def test_postcodes_that_begin_with_zero_only_at_the_end_of_a_long_file_are_names(tmp_path: Path) -> None:
    rows = 60_000
    codes = np.repeat(np.arange(100) * 100 + 5_000, rows // 100)[::-1]
    frame = pd.DataFrame({"plz": [f"{each:05}" for each in codes * 10 - 45_000], "y": ["a", "b"] * (rows // 2)})
    frame["padding"] = "x" * 40
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert frame.plz[:50_000].str.startswith("0").sum() == 0
    model = suffice.fit(tmp_path / "a.csv", "y", "nb")
    assert model.description_.levels()["plz"][0] == "05000"
