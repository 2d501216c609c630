"""Numbers as people and programs write them: separators, currencies, marks of missing cells, stray strings."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.tables import Dialect, TableError, TableModel, open_table
from suffice.tables.export import runtime
from suffice.tables.export.document import export_document
from suffice.tables.model import ReadingWarning
from tests.cli.command import done, refused
from tests.tables.tables_data import kinds, write

N = 200


def numbers() -> np.ndarray:
    return np.random.default_rng(3).uniform(1, 9000, N).round(2)


def grouped(number: float, decimal: str, thousands: str) -> str:
    """Return a number as a spreadsheet of another country shows it."""
    return f"{number:,.2f}".replace(",", "T").replace(".", decimal).replace("T", thousands)


def table(cells: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"price": cells, "y": ["high" if each > 4500 else "low" for each in numbers()]})


def plain() -> TableModel:
    return suffice.fit(table(numbers().tolist()), "y", "nb")


def csv(frame: pd.DataFrame, path: Path, delimiter: str = ";") -> Path:
    frame.to_csv(path, sep=delimiter, index=False)
    return path


@pytest.mark.parametrize("kind", ["csv", "frame", "duckdb"])
@pytest.mark.parametrize(
    ("decimal", "thousands", "before", "after"),
    [
        (",", ".", "", ""),
        (",", "", "", ""),
        (".", ",", "$", ""),
        (",", " ", "", " €"),
        (",", "\u202f", "", "\u00a0€"),
        (".", "'", "CHF ", ""),
        (".", "\u2019", "", ""),
        (".", ",", "", "%"),
    ],
)
def test_numbers_of_other_countries_give_the_model_of_plain_numbers(
    decimal: str, thousands: str, before: str, after: str, kind: str, tmp_path: Path
) -> None:
    cells = [before + grouped(each, decimal, thousands) + after for each in numbers()]
    frame = table(cells)
    source: object = frame
    if kind == "csv":
        source = csv(frame, tmp_path / "a.csv")
    if kind == "duckdb":
        with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
            connection.sql("create table t as from frame")
        source = f"{tmp_path / 'a.duckdb'}::t"
    model = suffice.fit(source, "y", "nb")
    assert kinds(model) == {"price": "numeric"}
    (note,) = model.schema_.notes
    assert note.startswith("column 'price': ")
    expected = plain()
    np.testing.assert_array_equal(model.predict_proba(source), expected.predict_proba(table(numbers().tolist())))
    model.save(tmp_path / "m.suffice")
    again = suffice.load(tmp_path / "m.suffice")
    assert again.schema_ == model.schema_
    np.testing.assert_array_equal(again.predict_proba(source), model.predict_proba(source))


@pytest.mark.parametrize(
    ("before", "after", "decimal", "thousands"),
    [("(", ")", ".", ","), ("$ (", ")", ".", ","), ("(", " €)", ",", "."), ("", "-", ",", "."), ("-$", "", ".", ",")],
)
def test_negative_amounts_of_accountants_are_numbers(
    before: str, after: str, decimal: str, thousands: str, tmp_path: Path
) -> None:
    cells = [grouped(each, decimal, thousands) for each in numbers()]
    cells = [f"{before}{cell}{after}" if row % 5 == 0 else cell for row, cell in enumerate(cells)]
    model = suffice.fit(csv(table(cells), tmp_path / "a.csv"), "y", "nb")
    signs = np.where(np.arange(N) % 5 == 0, -1, 1)
    assert model.ranges_["price"] == ((signs * numbers()).min(), (signs * numbers()).max())
    assert (f"{cells[0]!r} is negative" in model.schema_.notes[0]) == (before != "-$")


def indian(number: float) -> str:
    """Return a number in lakhs and crores."""
    whole, decimals = f"{number:.2f}".split(".")
    head, tail = whole[:-3], whole[-3:]
    pairs = [head[max(end - 2, 0) : end] for end in range(len(head), 0, -2)][::-1]
    return ",".join([*pairs, tail]) + "." + decimals


def test_groups_of_digits_may_be_indian() -> None:
    amounts = numbers() * 1000
    frame = table([f"₹{indian(each)}" for each in amounts])
    assert f"₹{indian(1234567.8)}" == "₹12,34,567.80"
    model = suffice.fit(frame, "y", "nb")
    assert model.ranges_["price"] == pytest.approx((amounts.min(), amounts.max()))


def test_dashes_may_stand_for_decimals() -> None:
    cells = [f"CHF {each:.2f}" if row % 2 else f"CHF {int(each)}.–" for row, each in enumerate(numbers())]
    model = suffice.fit(table(cells), "y", "nb")
    assert kinds(model) == {"price": "numeric"}
    assert model.ranges_["price"][0] > 0


def test_numbers_with_one_unit_are_numbers(tmp_path: Path) -> None:
    path = csv(table([f"{each} kg" for each in numbers()]), tmp_path / "a.csv")
    model = suffice.fit(path, "y", "nb")
    assert model.schema_.notes == ("column 'price': kg left out",)
    np.testing.assert_array_equal(model.predict_proba(path), plain().predict_proba(table(numbers().tolist())))
    with pytest.raises(TableError, match=r"had strings such as '12kg' at the fit.*give strings with the unit"):
        model.predict(table(numbers().tolist()))


@pytest.mark.parametrize(
    ("before", "after", "unit"),
    [("R ", "", "R"), ("Rp", "", "Rp"), ("%", "", "%"), ("HK$", "", "HK$"), ("", " лв.", "лв.")],
)
def test_signs_of_other_currencies_and_percent_signs_may_stand_on_either_side(
    before: str, after: str, unit: str, tmp_path: Path
) -> None:
    cells = [before + grouped(each, ",", ".") + after for each in numbers()]
    cells[0] = f"-{cells[0]}"
    path = csv(table(cells), tmp_path / "a.csv")
    model = suffice.fit(path, "y", "nb")
    assert model.schema_.notes == (f"column 'price': decimal comma, thousands point, {unit} left out",)
    assert model.ranges_["price"] == (-numbers()[0], numbers()[1:].max())
    document = export_document(model)
    found = runtime.predict_proba(runtime.read_csv(str(path), document), document)
    np.testing.assert_allclose(found, model.predict_proba(path), atol=1e-12)


@pytest.mark.parametrize("cells", [["A12", "A7", "B3"], ["Q1 2024", "Q2 2024", "Q3 2024", "Q4 2024"], ["v1.2.3"] * 9])
def test_letters_before_digits_that_are_no_amounts_are_codes(cells: list[str]) -> None:
    model = suffice.fit(table([cells[row % len(cells)] for row in range(N)]).assign(x=numbers()), "y", "nb")
    assert kinds(model)["price"] in ("category", "ignore")
    assert model.schema_.notes == ()


@pytest.mark.parametrize(
    ("decimal", "thousands", "zero"), [("٫", "٬", "٠"), ("٫", "٬", "۰"), (".", ",", "０"), ("٫", "٬", "0")]
)
def test_digits_of_other_scripts_are_reported(decimal: str, thousands: str, zero: str) -> None:
    digits = {ord("0") + digit: ord(zero) + digit for digit in range(10)}
    cells = [grouped(each, decimal, thousands).translate(digits) for each in numbers()]
    with pytest.warns(ReadingWarning, match="are of another script: read as names, not as numbers; write them with 0"):
        TableModel("nb").fit(table(cells).assign(x=numbers()), "y")


@pytest.mark.parametrize("units", [("kg", "g"), ("k", "")])
def test_numbers_with_several_units_are_reported(units: tuple[str, str]) -> None:
    cells = [f"{each}{units[row % 2]}" for row, each in enumerate(numbers())]
    with pytest.warns(ReadingWarning, match=r"100 of 200 cells \(50 %\) are no numbers \("):
        model = TableModel("nb").fit(table(cells).assign(x=numbers()), "y")
    assert kinds(model)["price"] == "ignore"


def test_codes_of_digits_and_letters_are_names_without_a_word() -> None:
    model = suffice.fit(table([f"{row % 9}{'ABCDEF'[row % 6]}" for row in range(N)]), "y", "nb")
    assert (kinds(model), model.schema_.notes) == ({"price": "category"}, ())


def test_update_and_forget_read_the_cells_as_the_fit_did(tmp_path: Path) -> None:
    cells = [grouped(each, ",", ".") for each in numbers()]
    half, rest = table(cells)[:100], table(cells)[100:]
    whole = suffice.fit(csv(table(cells), tmp_path / "all.csv"), "y", "nb")
    model = suffice.fit(csv(half, tmp_path / "half.csv"), "y", "nb").update(csv(rest, tmp_path / "rest.csv"))
    np.testing.assert_allclose(model.predict_proba(rest), whole.predict_proba(rest), rtol=1e-2)
    assert model.rows_ == N
    model.forget(tmp_path / "rest.csv")
    assert model.rows_ == 100
    assert model.evaluate(tmp_path / "rest.csv").rows == 100


@pytest.mark.parametrize(
    "mark",
    ["NA", "n/a", "N.A.", "-", "--", ".", "?", "null", "None", "unknown", "#N/A", "NaN", "nil", "missing", "…", "\\N"],
)
def test_usual_marks_are_missing_numbers(mark: str, tmp_path: Path) -> None:
    cells = [mark if row % 4 == 0 else str(each) for row, each in enumerate(numbers())]
    path = csv(table(cells), tmp_path / "a.csv")
    model = suffice.fit(path, "y", "nb")
    assert kinds(model) == {"price": "numeric"}
    assert model.description_.known()["price"].sum() == 150
    assert (
        model.description_.known()["price"].sum()
        == suffice.fit(table(cells), "y", "nb").description_.known()["price"].sum()
    )


def test_a_category_may_be_called_like_a_mark(tmp_path: Path) -> None:
    frame = table([["none", "unknown", "much"][row % 3] for row in range(N)])
    model = suffice.fit(csv(frame, tmp_path / "a.csv"), "y", "nb")
    assert model.description_.levels()["price"] == ("much", "none", "unknown")


def test_marks_that_come_late_are_missing(tmp_path: Path) -> None:
    rows = 70_000
    cells = ["1.5", "2.5"] * (rows // 2) + ["-", "unknown", "abc", "2.5"]
    frame = pd.DataFrame({"a": cells, "y": (["p", "q"] * len(cells))[: len(cells)]})
    with pytest.warns(ReadingWarning, match=r"1 of 70002 cells .* no numbers \('abc'\), and read as missing"):
        model = suffice.fit(csv(frame, tmp_path / "a.csv"), "y", "nb")
    assert kinds(model) == {"a": "numeric"}
    assert model.description_.known()["a"].sum() == rows + 1
    assert "'-'" in model.schema_.notes[0]


def test_stray_strings_among_numbers_are_missing_and_reported_with_their_share(tmp_path: Path) -> None:
    cells = [str(each) for each in numbers()]
    cells[5], cells[50], cells[70], cells[99] = "err", "err", "see note", "overflow"
    path = csv(table(cells), tmp_path / "a.csv")
    with pytest.warns(ReadingWarning, match="4 of 200 cells"):
        model = suffice.fit(path, "y", "nb")
    (note,) = model.schema_.notes
    assert note == (
        "column 'price': 4 of 200 cells (2 %) are no numbers ('err', 'see note', 'overflow'), and read as missing"
    )
    assert model.description_.known()["price"].sum() == N - 4
    assert len(model.predict(path)) == N
    with pytest.raises(TableError, match="column 'price' must hold numbers; row 3 holds 'other'"):
        model.predict(csv(table(["1", "2", "other", *cells[3:]]), tmp_path / "b.csv"))


def test_a_column_of_numbers_and_many_strings_is_a_category_that_is_reported(tmp_path: Path) -> None:
    cells = [("abc", "def", "1.5", "2.5", "3.5")[row % 5] for row in range(N)]
    with pytest.warns(ReadingWarning, match=r"80 of 200 cells \(40 %\) are no numbers \('abc', 'def'\): read as names"):
        model = suffice.fit(csv(table(cells), tmp_path / "a.csv"), "y", "nb")
    assert kinds(model) == {"price": "category"}
    with pytest.raises(TableError, match=r"80 of 200 cells .* give --missing"):
        suffice.fit(tmp_path / "a.csv", "y", "nb", columns={"price": "numeric"})
    model = suffice.fit(tmp_path / "a.csv", "y", "nb", missing=("abc", "def"))
    assert kinds(model) == {"price": "numeric"}


def test_commas_that_may_be_decimal_or_thousands_are_reported_and_can_be_set(tmp_path: Path) -> None:
    cells = [f"{1 + row % 9},{100 + row}" for row in range(N)]
    path = csv(table(cells), tmp_path / "a.csv")
    with pytest.warns(ReadingWarning, match=r"'1,100' is read as 1100, and may be 1\.1: if so, give --decimal ,"):
        model = suffice.fit(path, "y", "nb")
    assert model.ranges_["price"][1] > 1000
    assert suffice.fit(path, "y", "nb", decimal=",").ranges_["price"][1] < 10
    assert suffice.fit(path, "y", "nb", thousands=",").ranges_["price"][1] > 1000
    assert suffice.fit(table(cells), "y", "nb", decimal=",").ranges_["price"][1] < 10


def test_other_columns_tell_what_a_comma_or_a_point_separates(tmp_path: Path) -> None:
    frame = table([f"{1 + row % 9},{100 + row}" for row in range(N)])
    frame["size"] = [f"{row % 7},5" for row in range(N)]
    frame["people"] = [f"{1 + row % 9}.{100 + row}" for row in range(N)]
    model = suffice.fit(csv(frame, tmp_path / "a.csv"), "y", "nb")
    assert model.ranges_["price"][1] < 10  # the decimal comma of size
    assert model.ranges_["people"][0] > 1000  # so a point separates thousands
    assert len(model.predict(tmp_path / "a.csv")) == N


def test_points_that_may_separate_thousands_are_reported_where_semicolons_separate_cells(tmp_path: Path) -> None:
    amounts = [f"{int(each):,}".replace(",", ".") for each in numbers()]
    with pytest.warns(
        ReadingWarning, match=r"'1\.\d{3}' is read as 1\.\d+, and may be 1\d{3}: if so, give --decimal ,"
    ):
        suffice.fit(csv(table(sorted(amounts)), tmp_path / "a.csv"), "y", "nb")
    model = suffice.fit(tmp_path / "a.csv", "y", "nb", decimal=",")
    assert model.ranges_["price"][1] > 8000
    suffice.fit(csv(table([f"{each:.3f}" for each in numbers()]), tmp_path / "b.csv", ","), "y", "nb")
    shares = table([f"{each / 9000:.3f}" for each in numbers()]).assign(
        w=[f"{each:.2f}".replace(".", ",") for each in numbers()]
    )
    model = suffice.fit(csv(shares, tmp_path / "c.csv"), "y", "nb")
    assert model.ranges_["price"][1] < 1.1  # 0.123 is no thousand


def test_separators_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(TableError, match="',' cannot separate both decimals and thousands"):
        suffice.fit(table(["1,5", "2,5"] * 100), "y", decimal=",", thousands=",")
    with pytest.raises(TableError, match="thousands must be"):
        suffice.fit(table(["1,5", "2,5"] * 100), "y", thousands="_")


def test_amounts_in_two_currencies_are_not_added() -> None:
    with pytest.warns(ReadingWarning, match="are no numbers"):
        model = suffice.fit(table([("$5", "€7", "$9", "€11")[row % 4] for row in range(N)]), "y", "nb")
    assert kinds(model) == {"price": "category"}


def test_a_target_with_decimal_commas_is_a_number(tmp_path: Path) -> None:
    x = np.linspace(0, 10, N)
    frame = pd.DataFrame({"x": x, "y": [grouped(each, ",", ".") for each in 3000 * x + 5]})
    model = suffice.fit(csv(frame, tmp_path / "a.csv"), "y", "linear")
    assert model.schema_.task == "numbers"
    assert model.score(tmp_path / "a.csv") > 0.99


def test_percentages_at_the_fit_and_plain_numbers_later_are_refused() -> None:
    model = suffice.fit(table([f"{each}%" for each in numbers()]), "y", "nb")
    with pytest.raises(TableError, match=r"is 12 % 12 or 0\.12"):
        model.predict(table(numbers().tolist()))


def test_predictions_read_a_table_in_another_notation_that_is_given(tmp_path: Path) -> None:
    german = csv(table([grouped(each, ",", ".") for each in numbers()]).assign(b=1), tmp_path / "german.csv")
    english = csv(table([grouped(each, ".", ",") for each in numbers()]).assign(b=1), tmp_path / "english.csv", ",")
    plain_rows = csv(table(numbers().tolist()).assign(b=1), tmp_path / "plain.csv", ",")
    for learned, others in (
        (german, {english: ("--decimal", "."), plain_rows: ("--decimal", ".")}),
        (english, {german: ("--decimal", ","), plain_rows: ()}),
        (plain_rows, {german: ("--decimal", ","), english: ("--thousands", ",")}),
    ):
        saved = tmp_path / "m.suffice"
        done("fit", learned, "-t", "y", "-m", "nb", "-o", saved)
        expected = done("predict", saved, learned, "--probabilities").out
        for other, options in others.items():
            if options:
                assert "give --missing" in refused("predict", saved, other, code=1)
            assert done("predict", saved, other, "--probabilities", *options).out == expected
            measures = done("evaluate", saved, other, "--json", *options).json["measures"]
            assert measures == done("evaluate", saved, learned, "--json").json["measures"]
            done("report", saved, other, "-o", tmp_path / "r.html", *options)
            done("update", saved, other, "-o", tmp_path / "n.suffice", *options)
            done("impute", saved, other, *options)
            done("outliers", saved, other, *options)


def test_predictions_read_dates_in_another_order_that_is_given(tmp_path: Path) -> None:
    days = pd.date_range("2024-01-01", periods=N)
    german, english = (
        csv(table(days.strftime(order).tolist()), tmp_path / f"{place}.csv")
        for place, order in enumerate(("%d/%m/%Y", "%m/%d/%Y"))
    )
    done("fit", german, "-t", "y", "-m", "nb", "-o", tmp_path / "m.suffice")
    assert "give --missing, --day-first or --month-first" in refused("predict", tmp_path / "m.suffice", english, code=1)
    expected = done("predict", tmp_path / "m.suffice", german).out
    assert done("predict", tmp_path / "m.suffice", english, "--month-first").out == expected


def test_formatted_numbers_have_no_query_and_are_not_summed_by_a_database(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.register("frame", table([grouped(each, ",", ".") for each in numbers()]))
        connection.sql("create table t as from frame")
    name = f"{tmp_path / 'a.duckdb'}::t"
    with pytest.raises(TableError, match="holds numbers as strings"):
        suffice.fit(name, "y", "nb", in_database=True)
    model = suffice.fit(name, "y", "nb")
    with pytest.raises(TableError, match="column 'price' is a string with numbers"):
        model.to_sql()


def test_money_that_postgresql_copies_is_read(server: str, tmp_path: Path) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("create table sales (price money, size float8, y text)")
        for row, each in enumerate(numbers().tolist()):
            size = "null" if row % 10 == 0 else str(row)
            cursor.execute(
                f"insert into sales values ({each}::numeric::money, {size}, '{'low' if each < 4500 else 'high'}')"
            )
        cursor.execute("select string_agg(concat_ws(E'\\t', price, coalesce(size::text, '\\N'), y), E'\\n') from sales")
        (text,) = cursor.fetchone()
    path = write(tmp_path / "a.tsv", f"price\tsize\ty\n{text}\n")
    model = suffice.fit(path, "y", "nb")
    assert kinds(model) == {"price": "numeric", "size": "numeric"}
    assert model.description_.known()["size"].sum() == 180


def test_missing_marks_can_be_given_for_data_frames() -> None:
    frame = table([-999.0 if row % 4 == 0 else each for row, each in enumerate(numbers())])
    model = suffice.fit(frame, "y", "nb", missing=("-999",))
    assert model.description_.known()["price"].sum() == 150


def test_a_source_that_is_open_takes_no_further_options(tmp_path: Path) -> None:
    source = open_table(table(["1,5"] * N), dialect=Dialect(decimal=","))
    with pytest.raises(TableError, match="open already"):
        suffice.fit(source, "y", decimal=",")
